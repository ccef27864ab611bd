//! The entities, as far as their reader may see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::belief::entity::{EntityType, SeenEntity};
use tenure::{Error, Principal};

use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// List the entities, with their names
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListEntities {
    /// Only those that wait for a person; `false`: only others
    #[cfg_attr(
        feature = "cli",
        arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")
    )]
    pub pending: Option<bool>,
    /// Only those of this type: person, project, document, system, tenant, tool or role
    #[cfg_attr(feature = "cli", arg(long, value_name = "TYPE"))]
    pub kind: Option<EntityType>,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// The entities that a reader may see.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Entities {
    /// The entities, by id.
    pub entities: Vec<SeenEntity>,
}

impl Operation for ListEntities {
    type Answer = Entities;

    const ID: &'static str = "listEntities";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/entities");
    const COMMANDS: Names = Names::Are(&["entity list"]);
    const TOOLS: Names = Names::None("a compile tells an agent which entities its objects name");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "those of which a person says which one they are",
        input: r#"{"pending": true}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Entities, Error> {
        let reader = context.reader(self.principal)?;
        let mut entities = context.tenant()?.entities(reader.sees().as_deref())?;
        entities.retain(|one| self.kind.is_none() || one.profile.kind == self.kind);
        entities.retain(|one| self.pending.is_none_or(|pending| one.pending == pending));
        Ok(Entities { entities })
    }
}
