//! Decisions that wait for a person, and the forms by which an operator makes them. Each is made once: a form names the
//! state that its page showed, and is refused where somebody decided meanwhile.

use axum::extract::{Form, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tenure::belief::entity::EntityOp;
use tenure::object::{Decision, ObjectId};
use tenure::{Digest, Error, ErrorKind};
use tenure_inspector::pages;
use tenure_store::{Sees, Writing};

use super::access::{Fault, Visit, onto};
use super::html;
use crate::api::objects::Reader;
use crate::api::tenant;
use crate::error::Refusal;

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Done {
    done: String,
}

pub(super) async fn waiting(visit: Visit, Query(done): Query<Done>) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let reader = Reader::of(&visit.caller, None)?;
        let sees = reader.sees();
        let sees = sees.as_ref().map(|sees| sees as &Sees<'_>);
        let conflicts = tenant.conflicts(None, sees)?;
        let entities = tenant.entities(sees)?;
        let done = match done.done.as_str() {
            "conflict" => Some("It is decided: compiles follow it from now on."),
            "entity" => Some("It is decided."),
            _ => None,
        };
        Ok(pages::waiting(&conflicts, &entities, done, &visit.frame))
    });
    Ok(html(StatusCode::OK, page.await?))
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
    check_sure(&form.sure)?;
    let decided = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let id = |text: &str| text.parse::<ObjectId>().map_err(Error::input);
        let (first, second) = (id(&form.first)?, id(&form.second)?);
        let stands: Decision = form.stands.parse()?;
        let judged = tenant.conflict_history(first, second, None)?;
        let now = judged.iter().find(|judged| judged.tx_end.is_none());
        if now.is_none_or(|now| now.tx_start.to_string() != form.since) {
            return Err(meanwhile());
        }
        let note = Some(form.note.as_str()).filter(|note| !note.is_empty());
        let of = [form.first.as_str(), &form.second, &form.since];
        let writing = writing(&visit, &of);
        let written = tenant.resolve_conflict(first, second, stands, note, &writing);
        written.map(drop).map_err(same_time)
    });
    decided.await?;
    Ok(onto("/inspect/waiting?done=conflict", None))
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
    check_sure(&form.sure)?;
    let decided = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let entities = tenant.entities(None)?;
        let found = entities.iter().find(|entity| entity.id == form.id);
        if found.is_none_or(|found| !found.pending) {
            return Err(meanwhile());
        }
        let id = form.id.clone();
        let operation = match form.into.as_str() {
            "" => EntityOp::Confirm { id },
            into => EntityOp::Merge {
                id,
                into: into.to_owned(),
            },
        };
        let entries = tenant.entity_history(&form.id)?.len().to_string();
        let writing = writing(&visit, &["entity", &form.id, &entries]);
        let written = tenant.change_entities(vec![(operation, None)], &writing);
        written.map(drop).map_err(same_time)
    });
    decided.await?;
    Ok(onto("/inspect/waiting?done=entity", None))
}

fn check_sure(sure: &str) -> Result<(), Refusal> {
    if sure == "yes" {
        return Ok(());
    }
    Err(
        Refusal::new(StatusCode::BAD_REQUEST, "the decision is not confirmed")
            .expected("the box that says that you are sure"),
    )
}

/// A write that is done once for a state that a page showed, by this reader.
fn writing(visit: &Visit, state: &[&str]) -> Writing {
    let parts = state.iter().map(|part| part.as_bytes());
    Writing {
        idempotency_key: Some(format!("inspect:{}", Digest::of_parts(parts))),
        author: visit.caller.key.as_ref().map(|key| format!("key {key}")),
    }
}

fn meanwhile() -> Refusal {
    Refusal::new(
        StatusCode::CONFLICT,
        "somebody decided meanwhile, or the claims have changed",
    )
    .hint("load the page again")
}

/// Another decision for the same state is a conflict.
fn same_time(error: Error) -> Refusal {
    match error.kind {
        ErrorKind::Conflict => meanwhile(),
        _ => error.into(),
    }
}
