//! The API: the workspace's verbs, as JSON. One table says what there is; the router, the description and
//! the metrics all read it.

mod bodies;
mod call;
pub(crate) mod compile;
pub(crate) mod condense;
mod erase;
mod labels;
mod memory;
pub(crate) mod objects;
mod openapi;
mod operations;
mod packages;
mod parameters;
mod query;
pub(crate) mod records;
pub(crate) mod sessions;
mod shares;
mod table;
mod words;

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use axum::extract::{MatchedPath, Request};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use axum::{Extension, Router};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::app::App;
use crate::error::Refusal;
use parameters::Parameter;
use table::table;
use tenure_operations::{Caller, Effect};

#[cfg(feature = "mcp")]
pub(crate) use call::Asked;
pub(crate) use call::tenant;
pub(crate) use openapi::document;

/// Makes the schema of a body.
type Shape = fn(&mut SchemaGenerator) -> Schema;

/// An operation of the API: what the description says of it.
struct Operation {
    method: &'static str,
    path: &'static str,
    /// Its name, for clients that are generated.
    id: &'static str,
    summary: Cow<'static, str>,
    /// Whether it goes past the access lists of objects, which only an operator's key may.
    operator: bool,
    effect: Effect,
    /// What its path, query and headers take.
    parameters: &'static [Parameter],
    /// The fields of its form that its query takes, as OpenAPI describes parameters.
    fields: Vec<Value>,
    body: Option<Shape>,
    answer: Shape,
    /// The status of an answer.
    status: u16,
}

/// What is asked with a body and changes nothing that a condition could be about.
const READS: [&str; 17] = [
    "compile",
    "explain",
    "diff",
    "query",
    "countTokens",
    "condense",
    "check",
    "lint",
    "planCache",
    "explainCache",
    "gate",
    "allocate",
    "replay",
    "activatePackage",
    "diffPackages",
    "explainPackage",
    "mergePackages",
];

type Routed = (Operation, MethodRouter<Arc<App>>);

/// The paths of the API, for the metrics.
pub(crate) fn paths() -> &'static [&'static str] {
    static PATHS: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| table().iter().map(|(operation, _)| operation.path).collect());
    &PATHS
}

/// Whether a request of the API only reads, so that it may end with its client.
pub(crate) fn only_reads(method: &Method, matched: Option<&MatchedPath>) -> bool {
    static POSTED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        table()
            .into_iter()
            .map(|(operation, _)| operation)
            .filter(|operation| operation.method == "post" && operation.effect == Effect::Reads)
            .map(|operation| operation.path)
            .collect()
    });
    method.is_safe()
        || method == Method::POST && matched.is_some_and(|path| POSTED.contains(&path.as_str()))
}

pub(crate) fn routes() -> Router<Arc<App>> {
    table().into_iter().fold(Router::new(), |router, (operation, handler)| {
        let handler = if operation.effect == Effect::Writes {
            let taken = operation.parameters;
            handler.layer(from_fn(move |request, next| {
                only_what_is_taken(taken, request, next)
            }))
        } else {
            handler
        };
        let handler = if operation.operator {
            handler.layer(from_fn(operators_only))
        } else {
            handler
        };
        router.route(operation.path, handler)
    })
}

/// Refuses a condition that a write would not heed, so that nobody relies on it.
async fn only_what_is_taken(taken: &'static [Parameter], request: Request, next: Next) -> Response {
    let unheeded = ["If-Match", "If-None-Match", "Idempotency-Key"].into_iter().find(|name| {
        request.headers().contains_key(*name)
            && !taken.iter().any(|parameter| parameter.name == *name)
    });
    let Some(name) = unheeded else {
        return next.run(request).await;
    };
    let what = format!("this write takes no `{name}`");
    Refusal::new(StatusCode::BAD_REQUEST, what)
        .at_field(name)
        .expected("a request without it")
        .hint("GET /openapi.json says which headers each write takes")
        .into_response()
}

async fn operators_only(
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Response {
    if caller.grant.operator {
        return next.run(request).await;
    }
    Refusal::new(
        StatusCode::FORBIDDEN,
        "this goes past the access lists of objects",
    )
    .expected("a key made with --operator")
    .into_response()
}
