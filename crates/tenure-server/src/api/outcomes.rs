//! Outcomes and corrections, and what else waits for a person.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::{OutcomeDecision, OutcomeKind, RevisionId, clip};
use tenure::{Error, ObjectDocument};
use tenure_store::{Expect, OutcomeLine, Proposal, Sees, Tenant, WaitingKind, Writing, Written};

use super::call::{Asked, Json, Said, tenant, writing};
use super::fields::InField;
use super::objects::{Reader, existing};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Refusal;

/// The role of the people who decide on outcomes.
const REVIEWER: &str = "reviewer";

/// On whose behalf it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    principal: Option<String>,
}

/// The outcomes that the reader may see.
#[derive(Serialize, JsonSchema)]
pub(super) struct Outcomes {
    /// Each with its state, who proposed and who decided, when, for which compile, and how often the mistake was repeated.
    outcomes: Vec<Value>,
}

/// Everything that waits for a person.
#[derive(Serialize, JsonSchema)]
pub(super) struct Proposals {
    /// Each with its kind (`outcome`, `inferred`, `confirmation`, `erasure`, `entity`, `conflict`, `stale`, `judged`, `weakened`), its name, the object or
    /// the entity, since when it waits, and the command that decides it.
    proposals: Vec<Value>,
}

fn each_json<T: Serialize>(found: &[T]) -> Result<Vec<Value>, Error> {
    let each = found.iter().map(serde_json::to_value);
    each.collect::<Result<_, _>>()
        .map_err(|error| Error::assertion(format!("it is written as JSON: {error}")))
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Outcomes>, Refusal> {
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller, asked.principal.as_deref())?;
        let own = asked.principal.is_none();
        let tenant = tenant(&app, &caller)?;
        let outcomes = each_json(&seen(&tenant, &reader, own && reviewer(&caller).is_ok())?)?;
        Ok(Outcomes { outcomes })
    });
    Ok(Said(found.await?))
}

pub(super) async fn proposals(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Proposals>, Refusal> {
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller, asked.principal.as_deref())?;
        let sees = reader.sees();
        let sees = sees.as_ref().map(|sees| sees as &Sees<'_>);
        let tenant = tenant(&app, &caller)?;
        let mut proposals = tenant.proposals(app.now(), sees)?;
        if asked.principal.is_none() && reviewer(&caller).is_ok() {
            let of_anyone = reader.sees_of_anyone();
            let of_anyone = of_anyone.as_ref().map(|sees| sees as &Sees<'_>);
            let mut of_others = tenant.proposals(app.now(), of_anyone)?;
            of_others.retain(|one| one.kind == WaitingKind::Outcome);
            proposals.retain(|one| one.kind != WaitingKind::Outcome);
            proposals.append(&mut of_others);
        }
        let proposals = each_json(&proposals)?;
        Ok(Proposals { proposals })
    });
    Ok(Said(found.await?))
}

/// An outcome or a correction to propose.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Proposing {
    /// The object; its type is `outcome`, and without a name it is named after its content.
    object: ObjectDocument,
    /// The kind.
    kind: OutcomeKind,
    /// The record of the compile that it is of.
    #[serde(default)]
    record: Option<String>,
    /// The mistake that a correction corrects, in words.
    #[serde(default)]
    mistake: Option<String>,
}

pub(super) async fn propose(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(proposing): Json<Proposing>,
) -> Result<Said<Written>, Refusal> {
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let mut document = proposing.object;
        let classified = document.classify_within(caller.grant.clears());
        classified.map_err(|error| error.at("object.security_classification", None))?;
        let proposal = Proposal {
            document,
            kind: proposing.kind,
            record: proposing.record,
            mistake: proposing.mistake,
        };
        Ok(tenant(&app, &caller)?.propose_outcome(proposal, &writing)?)
    });
    Ok(Said(written.await?))
}

/// The decision on an outcome, or a repeat of its mistake.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deciding {
    /// The id or the name of the outcome.
    outcome: String,
    /// The decision.
    decision: OutcomeDecision,
}

pub(super) async fn decide(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(deciding): Json<Deciding>,
) -> Result<Said<Written>, Refusal> {
    let person = reviewer(&caller)?;
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        // Whoever proposed it: what the reviewer could see if it were theirs is decided on.
        let outcomes = tenant.outcomes(None)?;
        let reader = Reader::of(&caller, None)?;
        let id = reader.existing_outcome(&tenant, &deciding.outcome, &outcomes);
        let missing = || Error::input(format!("there is no outcome `{}`", clip(&deciding.outcome)));
        let id = id.in_field("outcome")?;
        let id = id.ok_or_else(|| missing().at("outcome", None))?;
        let proposed = outcomes.iter().find(|one| one.object_id == id);
        check_others(&app, &caller, proposed)?;
        Ok(tenant.decide_outcome(id, deciding.decision, &person, &writing)?)
    });
    Ok(Said(written.await?))
}

/// A decision on what awaits confirmation.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Confirmation {
    /// It holds: it is believed from now on. What was inferred takes the place of a stated preference that says otherwise.
    Confirm,
    /// It does not hold: it is retracted.
    Retract,
}

/// What awaits confirmation, and the decision on it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Confirming {
    /// The id or the name of the object.
    object: String,
    /// The decision.
    decision: Confirmation,
    /// The one revision that is decided on, where several wait. Default: all that waits.
    #[serde(default)]
    revision: Option<RevisionId>,
}

pub(super) async fn confirm(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(confirming): Json<Confirming>,
) -> Result<Said<Written>, Refusal> {
    reviewer(&caller)?;
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        // Only what the reviewer may see is decided on.
        let reader = Reader::of(&caller, None)?;
        let id = reader.existing_to_decide(&tenant, &confirming.object);
        let missing = || Error::input(format!("there is no object `{}`", clip(&confirming.object)));
        let id = id.in_field("object")?;
        let id = id.ok_or_else(|| missing().at("object", None))?;
        let sees = reader.sees();
        let sees = sees.as_ref().map(|sees| sees as &Sees<'_>);
        let expect = confirming
            .revision
            .map_or(Expect::Waiting, Expect::Proposed);
        let done = match confirming.decision {
            Confirmation::Confirm => tenant.confirm_seen(id, app.now(), (expect, sees), &writing),
            Confirmation::Retract => tenant.reject_seen(id, (expect, sees), &writing),
        };
        Ok(done.in_field("object")?)
    });
    Ok(Said(written.await?))
}

/// The outcomes that a reader may see; a reviewer sees those of all users, as if they were the reviewer's own.
pub(crate) fn seen(
    tenant: &Tenant,
    reader: &Reader,
    reviews: bool,
) -> Result<Vec<OutcomeLine>, Error> {
    if reviews {
        let sees = reader.sees_of_anyone();
        return tenant.outcomes(sees.as_ref().map(|sees| sees as &Sees<'_>));
    }
    let sees = reader.sees();
    tenant.outcomes(sees.as_ref().map(|sees| sees as &Sees<'_>))
}

/// Refuses a decision on what the reviewer proposed, by this key or another of the same user, unless the server allows it.
pub(crate) fn check_others(
    app: &App,
    caller: &Caller,
    proposed: Option<&OutcomeLine>,
) -> Result<(), Refusal> {
    let by = proposed.and_then(|one| one.proposed_by.as_deref()?.strip_prefix("key "));
    let is_own = by.is_some_and(|by| {
        let user = app.access.user_of(by);
        caller.key.as_deref() == Some(by) || (user.is_some() && user == caller.grant.user)
    });
    if !is_own || app.settings.own_proposals {
        return Ok(());
    }
    let what = "the outcome was proposed by the same user";
    let refusal = Refusal::new(StatusCode::FORBIDDEN, what).expected("another reviewer's key");
    Err(refusal.hint("`tenure serve --own-proposals` lets reviewers decide on their own"))
}

/// The person behind a key, who may decide on outcomes.
pub(crate) fn reviewer(caller: &Caller) -> Result<String, Refusal> {
    let grant = &caller.grant;
    let is_reviewer = grant.roles.iter().any(|role| role == REVIEWER);
    match &grant.user {
        Some(person) if is_reviewer => Ok(person.clone()),
        _ => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "only a person decides on what waits for one".to_owned(),
        )
        .expected("a key of a user with the role `reviewer`")),
    }
}

/// A corrected mistake that was made again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Repeating {
    /// The id or the name of the correction.
    outcome: String,
    /// The record of the compile after which it was made again.
    #[serde(default)]
    record: Option<String>,
}

pub(super) async fn repeat(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(repeating): Json<Repeating>,
) -> Result<Said<Written>, Refusal> {
    let writing: Writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let id = existing(&tenant, &repeating.outcome).in_field("outcome")?;
        let missing = || {
            Error::input(format!(
                "there is no outcome `{}`",
                clip(&repeating.outcome)
            ))
        };
        let id = id.ok_or_else(|| missing().at("outcome", None))?;
        Ok(tenant.repeat_mistake(id, repeating.record.as_deref(), &writing)?)
    });
    Ok(Said(written.await?))
}
