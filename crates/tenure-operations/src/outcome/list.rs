//! The outcomes, as far as their reader may see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::object::OutcomeState;
use tenure::{Error, Principal};
use tenure_store::{OutcomeLine, Tenant};

use crate::context::{Access, Context};
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::reader::Reader;

/// List the outcomes and corrections: who proposed and who decided what, when, and for which compile
///
/// A caller is shown what it may see; a reviewer, what users of its tenant, project and clearance proposed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct ListOutcomes {
    /// Only those in this state: proposed, accepted, rejected or withdrawn
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "STATE"))]
    pub state: Option<OutcomeState>,
    /// On whose behalf it is read: a principal as a compile takes it, no more than the caller is
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(skip))]
    pub principal: Option<Principal>,
}

/// The outcomes that the reader may see.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcomes {
    /// Each with its state, who proposed and who decided, when, for which compile, and how often the mistake was repeated.
    pub outcomes: Vec<OutcomeLine>,
}

impl Operation for ListOutcomes {
    type Answer = Outcomes;

    const ID: &'static str = "listOutcomes";
    const ACCESS: Access = Access::Anyone;
    const EFFECT: Effect = Effect::Reads;
    const ROUTE: Route = Route::get("/api/v1/outcomes");
    const COMMANDS: Names = Names::Are(&["outcome list"]);
    const TOOLS: Names = Names::None("an agent has no part in what a person decides");
    const EXAMPLES: &'static [Example] = &[Example {
        says: "those that a person has to decide on",
        input: r#"{"state": "proposed"}"#,
    }];

    fn run(self, context: &Context<'_>) -> Result<Outcomes, Error> {
        let is_own = self.principal.is_none();
        let reader = context.reader(self.principal)?;
        let mut outcomes = seen(&context.tenant()?, &reader, is_own && context.is_reviewer())?;
        outcomes.retain(|line| self.state.is_none_or(|state| line.state == state));
        Ok(Outcomes { outcomes })
    }
}

/// Returns the outcomes that a reader may see; a reviewer sees those of all users, as if they were the reviewer's own.
///
/// # Errors
///
/// As [`Tenant::outcomes`].
pub fn seen(
    tenant: &Tenant,
    reader: &Reader,
    is_reviewer: bool,
) -> Result<Vec<OutcomeLine>, Error> {
    let sees = if is_reviewer {
        reader.sees_of_anyone()
    } else {
        reader.sees()
    };
    tenant.outcomes(sees.as_deref())
}
