//! Beliefs: claims with the evidence for them and against them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::Error;
use tenure::object::clip;
use tenure_store::BeliefWithEvidence;

use super::call::{Asked, Json, Said, tenant, writing};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::Reader;
use tenure_operations::fields::InField;

/// The belief that is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    object: String,
    principal: Option<String>,
}

/// A claim with its evidence.
#[derive(Serialize, JsonSchema)]
pub(super) struct Shown {
    /// The claim, the confidence that was stated and the one that the evidence gives, and each link.
    belief: Value,
}

fn json(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value)
        .map_err(|error| Error::assertion(format!("a belief is written as JSON: {error}")))
}

fn shown(belief: &BeliefWithEvidence) -> Result<Shown, Error> {
    let belief = json(belief)?;
    Ok(Shown { belief })
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Which>,
) -> Result<Said<Shown>, Refusal> {
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, asked.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let id = reader.existing(&tenant, &asked.object)?;
        let missing = || Error::not_found(format!("there is no object `{}`", clip(&asked.object)));
        let sees = reader.sees();
        let belief = tenant.belief(id.ok_or_else(missing)?, app.now(), sees.as_deref())?;
        Ok(shown(&belief)?)
    });
    Ok(Said(found.await?))
}

/// The belief to revise.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Revising {
    /// The id or the name of the object.
    object: String,
    /// The principal on whose behalf it is revised, no more than the key grants: the answer shows the evidence that they may
    /// see. Default: all of it.
    #[serde(default)]
    principal: Option<Value>,
}

/// A belief, and the write that revised it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Revised {
    /// The claim with its evidence.
    belief: Value,
    /// The write: the version, the instant and the objects that it touched.
    written: Value,
}

pub(super) async fn revise(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(revising): Json<Revising>,
) -> Result<Said<Revised>, Refusal> {
    let writing = writing(&headers, &caller)?;
    let done = crate::blocking(move || {
        let principal = revising.principal.as_ref().map(Value::to_string);
        let reader = Reader::of(&caller.grant, principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let id = reader
            .existing(&tenant, &revising.object)
            .in_field("object")?;
        let missing = || Error::input(format!("there is no object `{}`", clip(&revising.object)));
        let id = id.ok_or_else(|| missing().at("object", None))?;
        let sees = reader.sees();
        let (belief, written) = tenant.revise_belief(id, app.now(), sees.as_deref(), &writing)?;
        let Shown { belief } = shown(&belief)?;
        let written = json(&written)?;
        Ok(Revised { belief, written })
    });
    Ok(Said(done.await?))
}
