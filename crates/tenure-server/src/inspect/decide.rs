//! Decisions that wait for a person, and the forms by which one makes them, in two steps. Each is made once: a form names
//! the state that its page showed, and is refused where somebody decided meanwhile.

use axum::extract::{Form, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tenure::object::{
    Decision, ObjectId, OutcomeDecision, OutcomeState, ReviewDecision, WaitingKind, clip,
};
use tenure::{Digest, Error, ErrorKind};
use tenure_inspector::{Asking, Frame, Waiting, pages};
use tenure_operations::conflict::ResolveConflict;
use tenure_operations::pending::DecideProposal;
use tenure_operations::{Operation, Reader, done, outcome, reviewer};
use tenure_store::{ConflictQuery, PairMark, Tenant, Writing};

use super::access::{Fault, Visit, onto};
use super::html;
use crate::api::tenant;
use crate::error::Refusal;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Done {
    done: String,
    /// The pair behind which the conflicts begin.
    after: String,
}

pub(super) async fn waiting(visit: Visit, Query(done): Query<Done>) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let after: Option<PairMark> = Some(done.after.as_str())
            .filter(|after| !after.is_empty())
            .map(str::parse)
            .transpose()?;
        let reader = Reader::of(&visit.caller.grant, None)?;
        let sees = reader.sees();
        let query = ConflictQuery {
            sees: sees.as_deref(),
            after,
            ..ConflictQuery::default()
        };
        let page = tenant.conflict_page(&query, Waiting::CONFLICTS)?;
        let waiting = Waiting {
            conflicts: page.conflicts,
            after,
            next: page.next,
            ..waits(&visit, &tenant)?
        };
        let done = match done.done.as_str() {
            "conflict" => Some("It is decided: compiles follow it from now on."),
            "entity" | "outcome" | "confirmation" => Some("It is decided."),
            _ => None,
        };
        Ok(pages::waiting(&waiting, done, &visit.frame))
    });
    Ok(html(StatusCode::OK, page.await?))
}

/// Finds what waits but for conflicts, as far as the reader may see it.
fn waits(visit: &Visit, tenant: &Tenant) -> Result<Waiting, Error> {
    let reader = Reader::of(&visit.caller.grant, None)?;
    let sees = reader.sees();
    let mut outcomes = outcome::seen(tenant, &reader, reviewer(&visit.caller.grant).is_ok())?;
    outcomes.retain(|outcome| outcome.state == OutcomeState::Proposed);
    let mut awaiting = tenant.awaiting(visit.app.now(), sees.as_deref())?;
    awaiting.retain(|object| {
        let mut known = outcomes.iter();
        !known.any(|outcome| outcome.object_id == object.object_id)
    });
    Ok(Waiting {
        entities: tenant.entities(sees.as_deref())?,
        outcomes,
        awaiting,
        ..Waiting::default()
    })
}

/// Steps of a decision.
enum Step {
    /// It is to be confirmed, on this page.
    Asked(String),
    /// It is made.
    Done,
}

/// Makes a decision, or the page that asks for it.
async fn step(
    frame: Frame,
    kind: &'static str,
    job: impl FnOnce() -> Result<Step, Refusal> + Send + 'static,
) -> Result<Response, Fault> {
    match crate::blocking(job).await {
        Ok(Step::Asked(page)) => Ok(html(StatusCode::OK, page)),
        Ok(Step::Done) => Ok(onto(&format!("/inspect/waiting?done={kind}"), None)),
        Err(refusal) if refusal.status() == StatusCode::CONFLICT => {
            Ok(html(StatusCode::CONFLICT, pages::meanwhile(&frame)))
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// The page of the second step, where the form is of the first.
fn asked(sure: &str, frame: &Frame, asking: &Asking<'_>) -> Option<Step> {
    (sure != "yes").then(|| Step::Asked(pages::sure(asking, frame)))
}

/// A decision between two claims.
#[derive(Deserialize)]
pub(super) struct Deciding {
    token: String,
    first: String,
    second: String,
    /// The instant since which the two were so judged, as the page showed it.
    since: String,
    stands: String,
    #[serde(default)]
    note: String,
    #[serde(default)]
    sure: String,
}

pub(super) async fn conflict(visit: Visit, Form(form): Form<Deciding>) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    visit.app.context(&visit.caller, Writing::default()).check_resolver()?;
    step(visit.frame.clone(), "conflict", move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let id = |text: &str| text.parse::<ObjectId>().map_err(Error::input);
        let (first, second) = (id(&form.first)?, id(&form.second)?);
        let stands: Decision = form.stands.parse()?;
        let reader = Reader::of(&visit.caller.grant, None)?;
        let sees = reader.sees();
        let judged = tenant.conflict_history(first, second, sees.as_deref())?;
        let now = judged
            .iter()
            .find(|judged| judged.tx_end.is_none())
            .filter(|now| now.tx_start.to_string() == form.since)
            .ok_or_else(meanwhile)?;
        let asking = Asking {
            what: format!(
                "On {} of {}: {}.",
                quoted(&now.slot),
                quoted(&now.entity),
                match stands {
                    Decision::First => format!(
                        "{} stands, {} does not",
                        quoted(&now.first.name),
                        quoted(&now.second.name)
                    ),
                    Decision::Second => format!(
                        "{} stands, {} does not",
                        quoted(&now.second.name),
                        quoted(&now.first.name)
                    ),
                    Decision::Both => format!(
                        "{} and {} both stand",
                        quoted(&now.first.name),
                        quoted(&now.second.name)
                    ),
                    _ => format!(
                        "neither {} nor {} stands",
                        quoted(&now.first.name),
                        quoted(&now.second.name)
                    ),
                },
            ),
            then: "Every compile follows this from now on. Somebody may decide again.",
            action: "/inspect/waiting/conflict",
            fields: vec![
                ("first", &form.first),
                ("second", &form.second),
                ("since", &form.since),
                ("stands", &form.stands),
                ("note", &form.note),
            ],
        };
        if let Some(step) = asked(&form.sure, &visit.frame, &asking) {
            return Ok(step);
        }
        let state = [&*form.first, &form.second, &form.since];
        let resolve = ResolveConflict {
            first: form.first.clone(),
            second: form.second.clone(),
            stands,
            note: Some(form.note.clone()).filter(|note| !note.is_empty()),
        };
        decided(&visit, resolve, &state)
    })
    .await
}

/// A decision on an entity under review.
#[derive(Deserialize)]
pub(super) struct Reviewed {
    token: String,
    id: String,
    /// The entity that it is; none where it is one of its own.
    #[serde(default)]
    into: String,
    #[serde(default)]
    sure: String,
}

pub(super) async fn entity(visit: Visit, Form(form): Form<Reviewed>) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    visit.check_writes()?;
    step(visit.frame.clone(), "entity", move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let entities = tenant.entities(None)?;
        let found = entities
            .iter()
            .find(|entity| entity.id == form.id)
            .filter(|found| found.pending)
            .ok_or_else(meanwhile)?;
        let same_as = Some(form.into.clone()).filter(|into| !into.is_empty());
        let what = same_as.as_deref().map_or("one of its own".to_owned(), quoted);
        let asking = Asking {
            what: format!(
                "The entity {} ({}) is {what}.",
                quoted(&found.profile.name),
                clip(&found.id)
            ),
            then: "Names are resolved so from now on. What was merged can be split again.",
            action: "/inspect/waiting/entity",
            fields: vec![("id", &form.id), ("into", &form.into)],
        };
        if let Some(step) = asked(&form.sure, &visit.frame, &asking) {
            return Ok(step);
        }
        let entries = tenant.entity_history(&form.id)?.len().to_string();
        let accept = DecideProposal {
            same_as,
            ..proposal(&form.id, WaitingKind::Entity, ReviewDecision::Accept)
        };
        decided(&visit, accept, &["entity", &form.id, &entries])
    })
    .await
}

/// A decision on an outcome, or on what awaits confirmation.
#[derive(Deserialize)]
pub(super) struct Decided {
    token: String,
    id: String,
    /// The instant since which it waits, as the page showed it.
    since: String,
    decision: String,
    #[serde(default)]
    sure: String,
}

impl Decided {
    fn fields(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("id", &self.id),
            ("since", &self.since),
            ("decision", &self.decision),
        ]
    }
}

pub(super) async fn outcome(visit: Visit, Form(form): Form<Decided>) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    reviewer(&visit.caller.grant)?;
    step(visit.frame.clone(), "outcome", move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let id: ObjectId = form.id.parse().map_err(Error::input)?;
        let decision: OutcomeDecision = form.decision.parse()?;
        let waiting = waits(&visit, &tenant)?;
        let mut proposed = waiting.outcomes.iter();
        let found = proposed
            .find(|one| one.object_id == id && one.proposed_at.to_string() == form.since)
            .ok_or_else(meanwhile)?;
        visit
            .app
            .context(&visit.caller, Writing::default())
            .check_others(found.proposed_by.as_deref())?;
        let asking = Asking {
            what: format!(
                "{} {}: {}",
                capital(decision.term()),
                quoted(&found.name),
                clip(&found.content)
            ),
            then: match decision {
                OutcomeDecision::Accept => "Compiles may take it from now on. It can be withdrawn.",
                _ => "No compile takes it. It can be proposed anew.",
            },
            action: "/inspect/waiting/outcome",
            fields: form.fields(),
        };
        if let Some(step) = asked(&form.sure, &visit.frame, &asking) {
            return Ok(step);
        }
        let decision = match decision {
            OutcomeDecision::Accept => ReviewDecision::Accept,
            _ => ReviewDecision::Reject,
        };
        let decide = DecideProposal {
            // Somebody may have proposed it in other words since it was read.
            since: Some(found.proposed_at),
            ..proposal(&form.id, WaitingKind::Outcome, decision)
        };
        decided(&visit, decide, &["outcome", &form.id, &form.since])
    })
    .await
}

pub(super) async fn confirmation(
    visit: Visit,
    Form(form): Form<Decided>,
) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    reviewer(&visit.caller.grant)?;
    step(visit.frame.clone(), "confirmation", move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let id: ObjectId = form.id.parse().map_err(Error::input)?;
        let decision: ReviewDecision = form.decision.parse()?;
        let holds = match decision {
            ReviewDecision::Confirm => true,
            ReviewDecision::Retract => false,
            other => {
                let what = format!("`{other}` is no decision on an object");
                return Err(Error::input(what).expected("confirm or retract").into());
            }
        };
        let waiting = waits(&visit, &tenant)?;
        let mut awaiting = waiting.awaiting.iter();
        let found = awaiting
            .find(|one| one.object_id == id && one.since.to_string() == form.since)
            .ok_or_else(meanwhile)?;
        let named = quoted(&found.name);
        let asking = Asking {
            what: if holds {
                format!("{named} still holds.")
            } else {
                format!("{named} holds no more.")
            },
            then: if holds {
                "It counts as confirmed now, and compiles may take it. It takes the place of what was believed of the object for its time."
            } else {
                "It is retracted. What is believed of the object stays; if nothing is, what was made from it alone is retracted, too. Its history stays."
            },
            action: "/inspect/waiting/confirmation",
            fields: form.fields(),
        };
        if let Some(step) = asked(&form.sure, &visit.frame, &asking) {
            return Ok(step);
        }
        let decide = DecideProposal {
            // Somebody may have confirmed it, or written it again, since it was read.
            since: Some(found.since),
            ..proposal(&form.id, WaitingKind::Confirmation, decision)
        };
        decided(&visit, decide, &["confirmation", &form.id, &form.since])
    })
    .await
}

/// A decision on what waits, without its details.
fn proposal(id: &str, kind: WaitingKind, decision: ReviewDecision) -> DecideProposal {
    DecideProposal {
        object: id.to_owned(),
        decision,
        kind: Some(kind),
        revision: None,
        stands: None,
        same_as: None,
        note: None,
        by: None,
        since: None,
    }
}

/// Makes a decision, once for a state that a page showed.
fn decided<O: Operation>(visit: &Visit, decision: O, state: &[&str]) -> Result<Step, Refusal> {
    let context = visit.app.context(&visit.caller, writing(visit, state));
    done(decision, &context)?;
    Ok(Step::Done)
}

/// A name of somebody else in a sentence.
fn quoted(name: &str) -> String {
    format!("“{}”", clip(name))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A write that is done once for a state that a page showed, by this reader.
fn writing(visit: &Visit, state: &[&str]) -> Writing {
    let parts = state.iter().map(|part| part.as_bytes());
    Writing {
        idempotency_key: Some(format!("inspect:{}", Digest::of_parts(parts))),
        author: visit.caller.key.as_ref().map(|key| format!("key {key}")),
    }
}

/// The refusal of a decision on what is no longer as its page showed it.
fn meanwhile() -> Refusal {
    Error::new(
        ErrorKind::Conflict,
        "somebody decided meanwhile, or what the page showed has changed",
    )
    .into()
}
