//! Records, and compiles made again.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::object::clip;
use tenure::time::Instant;
use tenure::trace::View;
use tenure::{Error, ErrorKind};

use tenure_workspace::records::{EXCHANGE_PREFIX, Listed, Records};

use super::call::{Asked, Json, Listing, Named, Said, page, tenant};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::{Caller, limit};

/// A page of records.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordPage")]
pub(super) struct Page {
    /// The records, the newest first.
    records: Vec<Line>,
    /// What to ask for after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A record in a list.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordLine")]
struct Line {
    record_id: String,
    compiled_at: Instant,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Page>, Refusal> {
    let most = limit(asked.limit)?;
    let after = asked.after.as_deref().map(place).transpose()?;
    if !caller.grant.operator {
        return crate::blocking(move || {
            let tenant = tenant(&app, &caller)?;
            let records = app.workspace.records(&tenant);
            let (lines, next) = caller.seen_records(&records, after, most as usize, |_| true)?;
            let records = lines.into_iter().map(|line| Line {
                record_id: line.id,
                compiled_at: line.at,
            });
            Ok(Said(Page {
                records: records.collect(),
                next,
            }))
        })
        .await;
    }
    let found = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        // One more says whether there is more.
        Ok(match &after {
            None => tenant.records(most + 1)?,
            Some((id, at)) => tenant.records_after((id, *at), most + 1)?,
        })
    });
    let lines = found.await?.into_iter().map(|(record_id, compiled_at)| Line {
        record_id,
        compiled_at,
    });
    let (records, next) = page(lines, most as usize, |line| {
        format!("{}/{}", line.compiled_at, line.record_id)
    });
    Ok(Said(Page { records, next }))
}

/// Where a page begins: behind a record, which may be gone since.
fn place(mark: &str) -> Result<(String, Instant), Error> {
    let parts = mark.split_once('/');
    parts
        .and_then(|(at, id)| Some((id.to_owned(), at.parse().ok()?)))
        .ok_or_else(|| {
            Error::input(format!("`{}` is no place in the list", clip(mark)))
                .at("after", None)
                .expected("`next` of the page before")
        })
}

/// In which form a record is asked for.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Record,
    Principle,
    Prefill,
    Otlp,
    Prov,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shown {
    #[serde(default)]
    form: Form,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    Asked(asked): Asked<Shown>,
) -> Result<Said<Value>, Refusal> {
    let shown = crate::blocking(move || in_form(&app, &caller, &id, asked.form));
    Ok(Said(shown.await?))
}

/// A record, as far as the caller may see it.
pub(crate) fn read(app: &App, caller: &Caller, id: &str) -> Result<Value, Refusal> {
    in_form(app, caller, id, Form::Record)
}

fn in_form(app: &App, caller: &Caller, id: &str, form: Form) -> Result<Value, Refusal> {
    let tenant = tenant(app, caller)?;
    let records = app.workspace.records(&tenant);
    if !caller.grant.operator {
        return seen(&records, caller, id, form);
    }
    if tenant.record(id)?.is_none() {
        return Err(unknown(id));
    }
    if let Some(exchange) = records.exchange(id)? {
        match form {
            Form::Record => return Ok(json_of(&exchange)?),
            Form::Principle => return Ok(exchange.principle(&tenant)),
            Form::Prefill => return Ok(exchange.prefill()),
            _ => {}
        }
    }
    let record = records.get(id)?;
    Ok(match form {
        Form::Record => json_of(&record)?,
        Form::Principle => json_of(&records.principle(&record)?)?,
        Form::Prefill => json_of(&records.prefill(&record)?)?,
        Form::Otlp => json_of(&records.otlp(&record)?)?,
        Form::Prov => json_of(&records.prov(&record)?)?,
    })
}

/// A record of what the caller asked, without what only operators may know: objects that were hidden, and what a compile is
/// made again from.
fn seen(records: &Records<'_>, caller: &Caller, id: &str, form: Form) -> Result<Value, Refusal> {
    let found = records
        .listed(id)?
        .filter(|found| caller.sees_record(found))
        .ok_or_else(|| unknown(id))?;
    if !matches!(form, Form::Record) {
        let what = "the other forms of a record are for operators";
        let error = Error::new(ErrorKind::Policy, what).at("form", None);
        return Err(error.expected("`record`").into());
    }
    match found {
        Listed::Exchange(record) => Ok(json_of(&caller.exchange_as_seen(*record))?),
        _ => {
            let look = records.account(id, View::Caller)?;
            let mut record = json_of(&look.record.record)?;
            record["trace"] = json_of(&look.trace)?;
            let request = json_of(&look.record.inputs.request)?;
            Ok(json!({ "record": record, "inputs": { "request": request } }))
        }
    }
}

/// Which compile is made again.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Again {
    /// The id of its record.
    record_id: String,
}

pub(super) async fn replay(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(Again { record_id: id }): Json<Again>,
) -> Result<Said<Value>, Refusal> {
    let shown = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        if tenant.record(&id)?.is_none() {
            return Err(unknown(&id));
        }
        if id.starts_with(EXCHANGE_PREFIX) {
            let replay = app.workspace.records(&tenant).replay_exchange(&id)?;
            return Ok(replay.to_json()?);
        }
        let replay = app.workspace.records(&tenant).replay(&id)?;
        Ok(replay.to_json(&id))
    });
    Ok(Said(shown.await?))
}

pub(super) fn unknown(id: &str) -> Refusal {
    Error::not_found(format!("there is no record `{}`", clip(id))).into()
}

fn json_of(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the record cannot be written as JSON: {error}"),
        )
    })
}
