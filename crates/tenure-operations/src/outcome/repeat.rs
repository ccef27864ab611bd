//! The repeat of a corrected mistake.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure_store::Written;
use tenure_workspace::{as_named, object_id};

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Count that a corrected mistake was made again
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct RepeatMistake {
    /// The id or the name of the correction
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub outcome: String,
    /// The record of the compile after which it was made again
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "RECORD_ID"))]
    pub record: Option<String>,
}

impl Operation for RepeatMistake {
    type Answer = Written;

    const ID: &'static str = "repeatMistake";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/outcomes/repeat");
    const COMMANDS: Names = Names::Are(&["outcome repeat"]);
    const TOOLS: Names = Names::None("`propose` with the same mistake counts it");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "once more",
        input: r#"{"outcome": "psi"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let tenant = context.tenant()?;
        let id = object_id(&tenant, &self.outcome).in_field("outcome")?;
        tenant
            .repeat_mistake(id, self.record.as_deref(), &context.writing)
            .map_err(|error| as_named(error, &[(id, &self.outcome)]))
    }
}
