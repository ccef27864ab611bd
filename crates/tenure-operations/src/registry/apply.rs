//! A change of a registry.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::Error;
use tenure::registry::{Applied, LoweredAuthority, Op};
use tenure_workspace::registries;

use super::change::{Change, changed};
use super::{NO_COMMAND, Once};
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Numbering, Operation, Route};

/// Change a registry by an operation
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyOp {
    /// The registry's label
    pub label: String,
    /// The operation. Its blocks are named by their names; its objects are the tenant's
    #[schemars(with = "Op<String>")]
    pub operation: Value,
    /// The registry on whose behalf it is done [default: the one that is changed]
    #[serde(default)]
    pub actor: Option<String>,
}

/// The effect of a change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AppliedOp {
    /// The registry.
    pub registry: String,
    /// The number of the change in its log.
    pub number: u64,
    /// The names of the blocks that were taken out.
    pub removed: Vec<Arc<str>>,
    /// The blocks that a rollback left, because others wrote them.
    pub kept: Vec<KeptBlock>,
    /// The objects that have less authority than they asked for.
    pub lowered: Vec<LoweredAuthority>,
}

/// A block that a change left where it is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeptBlock {
    /// Its name.
    pub name: Arc<str>,
    /// The registry that wrote it.
    pub writer: Arc<str>,
}

impl AppliedOp {
    fn of<Block>(
        registry: String,
        done: Applied<Block>,
        lowered: Vec<LoweredAuthority>,
    ) -> AppliedOp {
        let kept = done.kept.into_iter().map(|kept| KeptBlock {
            name: kept.name,
            writer: kept.writer,
        });
        AppliedOp {
            registry,
            number: done.number,
            removed: done.removed,
            kept: kept.collect(),
            lowered,
        }
    }
}

impl Operation for ApplyOp {
    type Answer = AppliedOp;

    const ID: &'static str = "applyOp";
    const ACCESS: Access = Access::Operator;
    const EFFECT: Effect = Effect::Writes;
    const STATE: Numbering = Numbering::Expected;
    const ROUTE: Route = Route::post("/api/v1/registries/{label}/ops");
    const COMMANDS: Names = NO_COMMAND;
    const TOOLS: Names = Names::None(
        "`write`, `promote`, `evict` and `rollback` are parts of it, on the agent's own",
    );
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "a block behind all others",
            input: r#"{"label": "notes", "operation": {"op": "write", "object": {"name": "tone", "content": "Be brief."}, "at": "back"}}"#,
        },
        Example {
            says: "without one",
            input: r#"{"label": "notes", "operation": {"op": "evict", "blocks": ["units"]}}"#,
        },
    ];

    fn number(done: &AppliedOp) -> Option<u64> {
        Some(done.number)
    }

    fn run(self, context: &Context<'_>) -> Result<AppliedOp, Error> {
        let ApplyOp {
            label,
            operation,
            actor,
        } = self;
        let once = Once::new(context, &json!(["apply", label, operation, actor]))?;
        let tenant = context.tenant()?;
        let kept = context.workspace.registries_of(&tenant)?;
        let change = Change { operation, actor };
        // What was done under the key was done on the state that was named then.
        let (number, lowered) = match once.before(&tenant)? {
            Some(number) => (number, change.lowered(&kept, context, &label)?),
            None => {
                let (kept, done) = changed(kept, context, &label, change, context.expected)?;
                let lowered = done.lowered.clone();
                let before = once.save(kept, done.number);
                match before.map_err(|error| context.unexpected(error))? {
                    None => return Ok(AppliedOp::of(label, done, lowered)),
                    Some(number) => (number, lowered),
                }
            }
        };
        let done = registries::applied_at(&tenant, &label, number)?;
        Ok(AppliedOp::of(label, done, lowered))
    }
}
