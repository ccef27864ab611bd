//! The registries of a tenant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::registry::Kind;

use super::NO_COMMAND;
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// List the registries
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRegistries {}

/// A registry that there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedRegistry {
    /// Its label.
    pub registry: String,
    /// The kind.
    pub kind: Kind,
    /// The number of its blocks.
    pub blocks: usize,
}

impl Operation for ListRegistries {
    type Answer = Vec<ListedRegistry>;

    const ID: &'static str = "listRegistries";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/registries");
    const COMMANDS: Names = NO_COMMAND;
    const TOOLS: Names = Names::None("an agent has one working memory");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "all of them",
        input: "{}",
    }];

    fn run(self, context: &Context<'_>) -> Result<Vec<ListedRegistry>, Error> {
        let mut kept = context.workspace.registries_of(&context.tenant()?)?.registries;
        let labels: Vec<String> = kept.labels().map(str::to_owned).collect();
        labels
            .into_iter()
            .map(|registry| {
                let (kind, blocks) = (kept.kind(&registry)?, kept.view(&registry)?.len());
                Ok(ListedRegistry {
                    registry,
                    kind,
                    blocks,
                })
            })
            .collect()
    }
}
