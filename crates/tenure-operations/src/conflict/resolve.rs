//! A person's decision between two claims.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure::object::Decision;
use tenure_store::Written;
use tenure_workspace::as_named;

use super::refuse_itself;
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Decide which of two claims that cannot both hold stands
///
/// The decision goes before authority, time and source, and stays as long as both objects claim what was decided between.
/// Decisions that go round in a circle are refused, and so is one after which no claim on the slot stands. With keys, it takes
/// an operator's, or that of a user with a role that the server names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ResolveConflict {
    /// The id or the name of the one object
    #[cfg_attr(feature = "cli", arg(value_name = "FIRST"))]
    pub first: String,
    /// The id or the name of the other
    #[cfg_attr(feature = "cli", arg(value_name = "SECOND"))]
    pub second: String,
    /// The one that stands: first, second, both or neither
    #[cfg_attr(feature = "cli", arg(long, value_name = "WHICH"))]
    pub stands: Decision,
    /// A note on the decision
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "TEXT"))]
    pub note: Option<String>,
}

impl Operation for ResolveConflict {
    type Answer = Written;

    const ID: &'static str = "resolveConflict";
    const ACCESS: Access = Access::Resolver;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/conflicts");
    const COMMANDS: Names = Names::Are(&["conflicts resolve"]);
    const TOOLS: Names = Names::None("only a person decides");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "the later one stands",
        input: r#"{"first": "office-2025", "second": "office-2026", "stands": "second"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let tenant = context.tenant()?;
        // Only what one may see is decided on.
        let reader = context.reader(None)?;
        let first = reader.object(&tenant, &self.first, "first")?;
        let second = reader.object(&tenant, &self.second, "second")?;
        refuse_itself(first, second)?;
        tenant
            .resolve_conflict(
                first,
                second,
                self.stands,
                self.note.as_deref(),
                reader.sees().as_deref(),
                &context.writing,
            )
            .map_err(|error| as_named(error, &[(first, &self.first), (second, &self.second)]))
    }
}
