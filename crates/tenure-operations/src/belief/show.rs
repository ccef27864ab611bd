//! A claim with its evidence, as far as its reader may see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::{Error, ErrorKind, Principal};
use tenure_store::BeliefWithEvidence;
use tenure_workspace::as_named;

use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Show a claim with the evidence for it and against it
///
/// Evidence that shares an origin has one vote. An address counts by its site, what was inferred by what it was made
/// from. What does not count says why. On behalf of a caller, what that caller may see counts, and nothing else is shown.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct GetBelief {
    /// The id or the name of the object
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub object: String,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// A claim with its evidence.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Shown {
    /// The claim, the confidence that was stated and the one that the evidence gives, and each link.
    pub belief: BeliefWithEvidence,
}

impl Operation for GetBelief {
    type Answer = Shown;

    const ID: &'static str = "getBelief";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/beliefs");
    const COMMANDS: Names = Names::Are(&["belief show"]);
    const TOOLS: Names = Names::None("it goes past the access lists of objects");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "what speaks for it and against it",
        input: r#"{"object": "office-2026"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Shown, Error> {
        let reader = context.reader(self.principal)?;
        let tenant = context.tenant()?;
        let id = reader.object(&tenant, &self.object, "object").map_err(|error| Error {
            kind: ErrorKind::NotFound,
            ..error
        })?;
        let belief = tenant
            .belief(id, context.now(), reader.sees().as_deref())
            .map_err(|error| as_named(error, &[(id, &self.object)]))?;
        Ok(Shown { belief })
    }
}
