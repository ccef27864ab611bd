//! The confidence that the evidence gives a claim, written into it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::{Error, Principal};
use tenure_store::{BeliefWithEvidence, Written};
use tenure_workspace::as_named;

use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Write the confidence that the evidence gives a claim into it
///
/// Independent evidence has one vote each, by the quality of its source. Where nothing changes, nothing is written. What
/// was inferred needs two votes. Claims that only their confidence tells apart are revised at once. On behalf of a caller,
/// the answer shows the evidence that this caller may see; all of it counts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ReviseBelief {
    /// The id or the name of the object
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub object: String,
    /// On whose behalf it is shown: a principal as a compile takes it, no more than the caller is
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// A belief, and the write that revised it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Revised {
    /// The claim with its evidence.
    pub belief: BeliefWithEvidence,
    /// The write: the version, the instant and the objects that it touched.
    pub written: Written,
}

impl Operation for ReviseBelief {
    type Answer = Revised;

    const ID: &'static str = "reviseBelief";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/beliefs");
    const COMMANDS: Names = Names::Are(&["belief revise"]);
    const TOOLS: Names = Names::None("only an operator revises beliefs");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "by the evidence that is there now",
        input: r#"{"object": "office-2026"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Revised, Error> {
        let reader = context.reader(self.principal)?;
        let tenant = context.tenant()?;
        let id = reader.object(&tenant, &self.object, "object")?;
        let sees = reader.sees();
        let (belief, written) = tenant
            .revise_belief(id, context.now(), sees.as_deref(), &context.writing)
            .map_err(|error| as_named(error, &[(id, &self.object)]))?;
        Ok(Revised { belief, written })
    }
}
