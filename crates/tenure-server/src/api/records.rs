//! Records, and compiles made again.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::object::clip;
use tenure::{Error, ErrorKind};

use super::call::{Asked, Json, Named, Said, limit, tenant};
use crate::app::{App, Caller};
use crate::error::Refusal;

/// How many records are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    limit: Option<u32>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Vec<Value>>, Refusal> {
    let most = limit(asked.limit)?;
    let records = crate::blocking(move || tenant(&app, &caller)?.records(most));
    let shown = |(id, at)| json!({ "record_id": id, "compiled_at": at });
    Ok(Said(records.await?.into_iter().map(shown).collect()))
}

/// In which form a record is asked for.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    #[default]
    Record,
    Principle,
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
    let shown = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let workspace = &app.workspace;
        if tenant.record(&id)?.is_none() {
            return Ok(Err(unknown(&id)));
        }
        if let (Form::Record, Some(exchange)) = (asked.form, workspace.exchange(&tenant, &id)?) {
            return json_of(&exchange).map(Ok);
        }
        let record = workspace.stored_record(&tenant, &id)?;
        let shown = match asked.form {
            Form::Record => json_of(&record)?,
            Form::Principle => json_of(&workspace.principle(&tenant, &record)?)?,
            Form::Otlp => json_of(&workspace.otlp(&tenant, &record)?)?,
            Form::Prov => json_of(&workspace.prov(&tenant, &record)?)?,
        };
        Ok(Ok(shown))
    });
    Ok(Said(shown.await??))
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
            return Ok(Err(unknown(&id)));
        }
        let replay = app.workspace.replay(&tenant, &id)?;
        Ok(Ok(replay.to_json(&id)))
    });
    Ok(Said(shown.await??))
}

fn unknown(id: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        format!("there is no record `{}`", clip(id)),
    )
}

fn json_of(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the record cannot be written as JSON: {error}"),
        )
    })
}
