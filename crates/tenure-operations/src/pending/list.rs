//! All that is pending, as far as its reader may see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::{Error, Principal};
use tenure_store::{Waiting, WaitingKind};

use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::reader::Reader;

/// List what waits for a person, each with the command that decides it: none of it is compiled
///
/// Proposed outcomes, what was inferred or is too old and awaits confirmation, entities that may be others, claims that cannot
/// both hold, and objects that were made from something that has changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListProposals {
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
    const COMMANDS: Names = Names::Are(&["store proposals"]);
    const TOOLS: Names = Names::None("an agent has no part in what a person decides");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "all that is not compiled until a person decides",
        input: "{}",
    }];

    fn run(self, context: &Context<'_>) -> Result<Proposals, Error> {
        let is_own = self.principal.is_none();
        let reader = context.reader(self.principal)?;
        let tenant = context.tenant()?;
        let mut proposals = tenant.proposals(context.now(), reader.sees().as_deref())?;
        // An operator sees those of others among the rest.
        let is_operator = matches!(reader, Reader::Operator);
        if is_own && context.is_reviewer() && !is_operator {
            let mut of_others =
                tenant.proposals(context.now(), reader.sees_of_anyone().as_deref())?;
            of_others.retain(|one| one.kind == WaitingKind::Outcome);
            proposals.retain(|one| one.kind != WaitingKind::Outcome);
            proposals.append(&mut of_others);
        }
        Ok(Proposals { proposals })
    }
}
