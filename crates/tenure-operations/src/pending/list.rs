//! All that is pending, as far as its reader may see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::object::WaitingKind;
use tenure::{Error, Principal};
use tenure_store::Waiting;

use super::waiting;
use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};

/// List what waits for a person, each with the command that decides it: none of it is compiled
///
/// Proposed outcomes, what was inferred or is too old and awaits confirmation, entities that may be others, claims that cannot
/// both hold, and objects that were made from something that has changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListProposals {
    /// Only those of this kind: outcome, inferred, confirmation, erasure, entity, conflict, stale, judged or weakened
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "KIND"))]
    pub kind: Option<WaitingKind>,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// Everything that waits for a person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proposals {
    /// Each with its kind, its name, the object or the entity, since when it waits, and the command that decides it.
    pub proposals: Vec<Waiting>,
}

impl Operation for ListProposals {
    type Answer = Proposals;

    const ID: &'static str = "listProposals";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/proposals");
    const COMMANDS: Names = Names::Are(&["review list"]);
    const TOOLS: Names = Names::None("an agent has no part in what a person decides");
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "all of it",
            input: "{}",
        },
        Example {
            says: "the outcomes",
            input: r#"{"kind": "outcome"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<Proposals, Error> {
        let is_own = self.principal.is_none();
        let reader = context.reader(self.principal)?;
        let mut proposals = waiting(context, &context.tenant()?, &reader, is_own)?;
        proposals.retain(|one| self.kind.is_none_or(|kind| one.kind == kind));
        Ok(Proposals { proposals })
    }
}
