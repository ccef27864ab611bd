//! A person's decision on an outcome.

use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure::object::{ObjectId, OutcomeDecision, clip};
use tenure::time::Instant;
use tenure_store::{OutcomeLine, Tenant, Written};
use tenure_workspace::{as_named, object_id};

use crate::context::{Access, Context};
use crate::fields::InField;
use crate::operation::{Effect, Example, Names, Operation, Route};
use crate::reader::Reader;

/// Accept, reject or withdraw an outcome: an accepted one is compiled from the next request on
///
/// A running session gets it behind what was sent; from the next epoch on it stands in the section `karma`. A withdrawn one
/// is compiled no more. With keys, it takes that of a user with the role `reviewer`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct DecideOutcome {
    /// The id or the name of the outcome
    #[cfg_attr(feature = "cli", arg(value_name = "NAME|ID"))]
    pub outcome: String,
    /// The decision
    #[cfg_attr(feature = "cli", arg(skip = OutcomeDecision::Accept))]
    pub decision: OutcomeDecision,
    /// The person who decides; with a key, its user
    #[serde(default)]
    #[cfg_attr(feature = "cli", arg(long, value_name = "PERSON", required = true))]
    pub by: Option<String>,
}

impl Operation for DecideOutcome {
    type Answer = Written;

    const ID: &'static str = "decideOutcome";
    const ACCESS: Access = Access::Reviewer;
    const EFFECT: Effect = Effect::Writes;
    const ROUTE: Route = Route::post("/api/v1/outcomes/decision");
    const COMMANDS: Names = Names::Are(&["outcome accept", "outcome reject", "outcome withdraw"]);
    const TOOLS: Names = Names::None("only a person decides");
    const EXAMPLES: &'static [Example] = &[
        Example {
            says: "it is compiled from now on",
            input: r#"{"outcome": "bars", "decision": "accept", "by": "ada"}"#,
        },
        Example {
            says: "it is not compiled",
            input: r#"{"outcome": "bars", "decision": "reject", "by": "ada"}"#,
        },
        Example {
            says: "it is compiled no more",
            input: r#"{"outcome": "psi", "decision": "withdraw", "by": "ada"}"#,
        },
    ];

    fn run(self, context: &Context<'_>) -> Result<Written, Error> {
        decide(
            context,
            &self.outcome,
            (self.decision, None),
            self.by.as_deref(),
        )
    }
}

/// Decides on the outcome of a name or an id; where an instant is given, on the proposal that was made then.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the caller may see no such outcome, or nobody is named who decides;
/// [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when the caller may not; otherwise as [`Tenant::decide_proposal`].
pub(crate) fn decide(
    context: &Context<'_>,
    outcome: &str,
    (decision, seen): (OutcomeDecision, Option<Instant>),
    by: Option<&str>,
) -> Result<Written, Error> {
    let person = context.decider(by)?;
    let tenant = context.tenant()?;
    let outcomes = tenant.outcomes(None)?;
    let id = named(&tenant, &context.reader(None)?, outcome, &outcomes)?;
    let proposed = outcomes.iter().find(|one| one.object_id == id);
    context.check_others(proposed.and_then(|one| one.proposed_by.as_deref()))?;
    tenant
        .decide_proposal(id, seen, decision, &person, &context.writing)
        .map_err(|error| as_named(error, &[(id, outcome)]))
}

/// Returns the outcome that a reviewer names, whoever proposed it.
fn named(
    tenant: &Tenant,
    reader: &Reader,
    outcome: &str,
    outcomes: &[OutcomeLine],
) -> Result<ObjectId, Error> {
    if let Reader::Operator = reader {
        return object_id(tenant, outcome).in_field("outcome");
    }
    reader
        .existing_outcome(tenant, outcome, outcomes)
        .in_field("outcome")?
        .ok_or_else(|| {
            Error::input(format!("there is no outcome `{}`", clip(outcome))).at("outcome", None)
        })
}
