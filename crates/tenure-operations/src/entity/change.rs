//! Changes of the registry of entities.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure::belief::entity::EntityOp;
use tenure_store::Written;

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::reader::{existing, unknown};

/// Add, name, mark, relate, merge and split entities, and take names, marks and relations away
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeEntities {
    /// The operations, in order: all of it, or nothing
    pub operations: Vec<EntityOp>,
    /// The id or the name of the object that it comes from: it acts only for who may see that [default: somebody says so]
    #[serde(default)]
    pub source: Option<String>,
}

impl Operation for ChangeEntities {
    type Answer = Written;

    const ID: &'static str = "changeEntities";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/entities");
    const COMMANDS: Names =
        Names::None("`entity add`, `remove`, `merge` and `split` are parts of it");
    const TOOLS: Names = Names::None("what an agent writes names entities by itself");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "another name of an entity",
        input: r#"{"operations": [{"op": "alias", "id": "ada", "alias": "Ada of Acme"}]}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        let tenant = context.tenant()?;
        let source = match &self.source {
            None => None,
            Some(named) => {
                let found = existing(&tenant, named).in_field("source")?;
                Some(found.ok_or_else(|| unknown(named))?)
            }
        };
        let operations = self.operations.into_iter().map(|op| (op, source)).collect();
        tenant.change_entities(operations, &context.writing).in_field("operations")
    }
}
