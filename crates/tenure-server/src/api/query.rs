//! `query`: what answers `query_archive`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure::{AsOf, Error, ObjectDocument, Principal};
use tenure_workspace::Reach;
use tenure_workspace::archive::{Ask, Found};

use super::call::{Json, Said};
use super::compile::{Call, prepare};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// What is looked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// What passages should say something about.
    text: String,
    /// The most tokens of all passages together. Default: 4000.
    #[serde(default)]
    tokens: Option<u32>,
    /// The most passages. Default: as many as fit.
    #[serde(default)]
    limit: Option<u32>,
    /// The names of objects that stand before the model already, whole: they are not told again.
    #[serde(default)]
    standing: Vec<String>,
    /// On whose behalf: no more than the key grants. Default: what it grants.
    #[serde(default)]
    #[schemars(with = "Option<Principal>")]
    principal: Option<Value>,
    /// From when it is looked, what was archived or demoted then included. Default: now.
    #[serde(default)]
    #[schemars(with = "Option<AsOf>")]
    as_of: Option<Value>,
    /// By whose vocabulary tokens are counted.
    #[serde(default)]
    model: Option<String>,
    /// As for a compile: it says how passages are ranked.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    policy: Option<Value>,
    /// Objects that are looked into before those of the store.
    #[serde(default)]
    objects: Vec<ObjectDocument>,
    /// Whether the tenant's store is looked into, what is archived or demoted included. Default: it is, where
    /// there is one.
    #[serde(default)]
    store: Option<bool>,
    /// The version of the tenant that must have been read, as a write gives it.
    #[serde(default)]
    version: Option<u64>,
}

/// The error of the request that a query is made into, at the query's own fields.
fn as_asked(error: Error) -> Error {
    let Some(at) = &error.at else { return error };
    let field = match at.source.strip_prefix("request.") {
        Some("task.objective") => "text".to_owned(),
        Some(field) => field.to_owned(),
        None => return error,
    };
    error.at(field, None)
}

pub(super) async fn query(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(query): Json<Query>,
) -> Result<Said<Found>, Refusal> {
    let found = crate::blocking(move || {
        let mut request = json!({ "task": { "objective": query.text } });
        let more = [
            ("principal", query.principal),
            ("as_of", query.as_of),
            ("model", query.model.map(Value::String)),
        ];
        for (name, value) in more {
            if let Some(value) = value {
                request[name] = value;
            }
        }
        let call = Call {
            request,
            policy: query.policy,
            objects: query.objects,
            packages: Vec::new(),
            registry: None,
            store: query.store,
            version: query.version,
            record: false,
            view: None,
            quality: false,
        };
        let job = prepare(&app, &caller, call, Reach::Archive).map_err(as_asked)?;
        let ask = Ask {
            tokens: query.tokens.unwrap_or(4_000),
            limit: query.limit,
            standing: query.standing.into_iter().collect(),
            ..Ask::new(&query.text)
        };
        let (world, policy, request) = (&job.world, &job.policy, &job.request);
        let found = app.workspace.query(world, policy, request, job.candidates(), &ask);
        Ok(found.in_field("text")?)
    });
    Ok(Said(found.await?))
}
