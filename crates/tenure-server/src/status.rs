//! Health, metrics, and the description of the API.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::error::Refusal;

/// The paths of this file, for the metrics.
pub(crate) const PATHS: &[&str] = &["/healthz", "/readyz", "/metrics", "/openapi.json"];

pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(health))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(openapi))
}

/// The process answers.
async fn health() -> &'static str {
    "ok\n"
}

/// The process may be given requests: it is not stopping, and its store answers.
async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Refusal> {
    crate::blocking(move || Ok(app.is_ready()?)).await?;
    Ok("ready\n")
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    match app.telemetry.metrics.text() {
        Ok(text) => {
            let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, content_type)], text).into_response()
        }
        Err(_) => Refusal::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the metrics cannot be written",
        )
        .into_response(),
    }
}

async fn openapi() -> Response {
    let text = format!("{:#}\n", crate::openapi());
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
