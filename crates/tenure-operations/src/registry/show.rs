//! One registry with its blocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::registry::{Lineage, Registries, Summary};

use super::{NO_COMMAND, check_known};
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Numbering, Operation, Route};

/// Show a registry with its blocks, in order
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRegistry {
    /// The registry's label
    pub label: String,
}

/// A registry with its blocks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegistryShown {
    /// Its numbers.
    pub summary: Summary,
    /// The registries that it may write to.
    pub references: Vec<String>,
    /// The blocks, in order, each with where it comes from.
    pub blocks: Vec<Lineage>,
}

impl RegistryShown {
    /// Returns the registry of a label.
    ///
    /// # Errors
    ///
    /// As [`Registries::view`].
    pub fn of(registries: &mut Registries, label: &str) -> Result<RegistryShown, Error> {
        let view = registries.view(label)?;
        Ok(RegistryShown {
            summary: view.summary(),
            references: registries.references(label)?.map(str::to_owned).collect(),
            blocks: view.provenance().collect(),
        })
    }
}

impl Operation for GetRegistry {
    type Answer = RegistryShown;

    const ID: &'static str = "getRegistry";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Reads;
    const STATE: Numbering = Numbering::Numbered;
    const ROUTE: Route = Route::get("/api/v1/registries/{label}");
    const COMMANDS: Names = NO_COMMAND;
    const TOOLS: Names = Names::None("each change of the working memory answers its blocks");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "its blocks",
        input: r#"{"label": "notes"}"#,
    }];

    fn number(shown: &RegistryShown) -> Option<u64> {
        Some(shown.summary.operations)
    }

    fn run(self, context: &Context<'_>) -> Result<RegistryShown, Error> {
        let mut kept = context.workspace.registries_of(&context.tenant()?)?.registries;
        check_known(&kept, &self.label)?;
        RegistryShown::of(&mut kept, &self.label)
    }
}
