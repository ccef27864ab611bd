//! The log of the registry about one entity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::belief::entity::EntityEntry;

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};

/// Show everything that was ever done to an entity
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetEntityHistory {
    /// The entity's id
    pub id: String,
}

/// The log of the registry about one entity.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntityHistory {
    /// Everything that was done to it and to what was merged into it, the oldest first.
    pub entries: Vec<EntityEntry>,
}

impl Operation for GetEntityHistory {
    type Answer = EntityHistory;

    const ID: &'static str = "getEntityHistory";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/entities/history");
    const COMMANDS: Names = Names::None("`entity show` prints it below the entity");
    const TOOLS: Names = Names::None("it goes past the access lists of objects");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "all that was done to it",
        input: r#"{"id": "ada"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<EntityHistory, Error> {
        let entries = context.tenant()?.entity_history(&self.id).in_field("id")?;
        Ok(EntityHistory { entries })
    }
}
