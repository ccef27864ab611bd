//! Registries in a store.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure::object::clip;
use tenure::registry::{Kind, Op, Registries};
use tenure::request::json_error;
use tenure::{Error, ObjectDocument};

use super::call::{Json, Named, Said, own, tenant};
use crate::app::{App, Caller};
use crate::error::Refusal;

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Said<Vec<Value>>, Refusal> {
    let shown = crate::blocking(move || {
        let mut kept = app
            .workspace
            .registries_of(&tenant(&app, &caller)?)?
            .registries;
        let labels: Vec<String> = kept.labels().map(str::to_owned).collect();
        let line = |label: &String| {
            let (kind, blocks) = (kept.kind(label)?, kept.view(label)?.len());
            Ok(json!({ "registry": label, "kind": kind, "blocks": blocks }))
        };
        labels.iter().map(line).collect()
    });
    Ok(Said(shown.await?))
}

/// A registry to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Its label.
    label: String,
    /// Whose it is.
    kind: Kind,
    /// The registries that it may write to.
    #[serde(default)]
    writes_to: Vec<String>,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(new): Json<New>,
) -> Result<(StatusCode, Said<Value>), Refusal> {
    let made = crate::blocking(move || {
        let mut kept = app.workspace.registries_of(&tenant(&app, &caller)?)?;
        let fresh = kept.registries.create(&new.label, new.kind)?;
        for label in &new.writes_to {
            let to = kept.registries.issue(label)?;
            kept.registries.refer(&fresh, &to)?;
        }
        kept.save()?;
        Ok(json!({ "registry": new.label, "kind": new.kind, "writes_to": new.writes_to }))
    });
    Ok((StatusCode::CREATED, Said(made.await?)))
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(label): Named,
) -> Result<Said<Value>, Refusal> {
    let shown = crate::blocking(move || {
        let mut kept = app
            .workspace
            .registries_of(&tenant(&app, &caller)?)?
            .registries;
        if !has(&kept, &label) {
            return Ok(Err(unknown(&label)));
        }
        let references: Vec<String> = kept.references(&label)?.map(str::to_owned).collect();
        let view = kept.view(&label)?;
        let blocks: Vec<_> = view.provenance().collect();
        Ok(Ok(json!({
            "summary": view.summary(),
            "references": references,
            "blocks": blocks,
        })))
    });
    Ok(Said(shown.await??))
}

/// A change of a registry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// The operation. Its blocks are named by their names; its objects are the tenant's.
    #[schemars(with = "Op<String>")]
    operation: Value,
    /// The registry on whose behalf it is done. Default: the one that is changed.
    #[serde(default)]
    actor: Option<String>,
}

pub(super) async fn apply(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(label): Named,
    Json(change): Json<Change>,
) -> Result<Said<Value>, Refusal> {
    let done = crate::blocking(move || {
        let operation = operation(change.operation, &caller)?;
        let mut kept = app.workspace.registries_of(&tenant(&app, &caller)?)?;
        if !has(&kept.registries, &label) {
            return Ok(Err(unknown(&label)));
        }
        let by = kept
            .registries
            .issue(change.actor.as_deref().unwrap_or(&label))?;
        let view = kept.registries.view(&label)?;
        let operation = operation.try_map(|name| {
            let block = view.named(&name)?;
            Ok::<_, Error>(view.address(&kept.registries, block))
        })?;
        let applied = kept.registries.apply(&by, &label, operation)?;
        kept.save()?;
        let held: Vec<Value> = applied
            .kept
            .iter()
            .map(|kept| json!({ "name": kept.name, "writer": kept.writer }))
            .collect();
        Ok(Ok(json!({
            "registry": label,
            "number": applied.number,
            "removed": applied.removed,
            "kept": held,
        })))
    });
    Ok(Said(done.await??))
}

/// The operation, whose objects are of the caller's tenant.
fn operation(mut said: Value, caller: &Caller) -> Result<Op<String>, Error> {
    let bad = |error| json_error(&error, "operation");
    for field in ["object", "prefix", "suffix"] {
        if let Some(object) = said.get_mut(field).filter(|object| object.is_object()) {
            let mut document: ObjectDocument =
                serde_json::from_value(object.take()).map_err(bad)?;
            own(&mut document, caller)?;
            *object = serde_json::to_value(document).map_err(bad)?;
        }
    }
    serde_json::from_value(said).map_err(bad)
}

fn has(registries: &Registries, label: &str) -> bool {
    registries.labels().any(|known| known == label)
}

fn unknown(label: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        format!("there is no registry `{}`", clip(label)),
    )
}
