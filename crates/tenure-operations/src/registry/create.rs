//! A new registry.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tenure::Error;
use tenure::registry::{Kind, Registries};

use super::{NO_COMMAND, Once};
use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Numbering, Operation, Route};

/// Make a registry
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct CreateRegistry {
    /// Its label
    #[cfg_attr(feature = "cli", arg(value_name = "LABEL"))]
    pub label: String,
    /// The kind: an agent's writes guidance and data, an orchestrator's also rules and tools
    #[cfg_attr(
        feature = "cli",
        arg(long, value_name = "KIND", default_value = "agent")
    )]
    pub kind: Kind,
    /// A registry that it may write to (may be repeated)
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "LABEL"))]
    pub writes_to: Vec<String>,
}

/// A registry that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MadeRegistry {
    /// Its label.
    pub registry: String,
    /// The kind.
    pub kind: Kind,
    /// The registries that it may write to.
    pub writes_to: Vec<String>,
}

impl Operation for CreateRegistry {
    type Answer = MadeRegistry;

    const ID: &'static str = "createRegistry";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const STATE: Numbering = Numbering::Numbered;
    const ROUTE: Route = Route::create("/api/v1/registries");
    const COMMANDS: Names = NO_COMMAND;
    const TOOLS: Names = Names::None("`write` begins the working memory");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "an agent's",
        input: r#"{"label": "planner", "kind": "agent", "writes_to": ["notes"]}"#,
    }];

    fn number(_: &MadeRegistry) -> Option<u64> {
        Some(0)
    }

    fn run(self, context: &Context<'_>) -> Result<MadeRegistry, Error> {
        let asked = json!(["create", self.label, self.kind, self.writes_to]);
        let once = Once::new(context, &asked)?;
        let tenant = context.tenant()?;
        let mut kept = context.workspace.registries_of(&tenant)?;
        if once.before(&tenant)?.is_none() {
            self.make(&mut kept.registries)?;
            once.save(kept, 0)?;
        }
        Ok(self.into())
    }
}

impl CreateRegistry {
    /// Makes the registry, and lets it write to those that it names.
    ///
    /// # Errors
    ///
    /// As [`Registries::create`], [`Registries::issue`] and [`Registries::refer`].
    pub fn make(&self, registries: &mut Registries) -> Result<(), Error> {
        let fresh = registries.create(&self.label, self.kind).in_field("label")?;
        for label in &self.writes_to {
            let to = registries.issue(label).in_field("writes_to")?;
            registries.refer(&fresh, &to).in_field("writes_to")?;
        }
        Ok(())
    }
}

impl From<CreateRegistry> for MadeRegistry {
    fn from(made: CreateRegistry) -> MadeRegistry {
        MadeRegistry {
            registry: made.label,
            kind: made.kind,
            writes_to: made.writes_to,
        }
    }
}
