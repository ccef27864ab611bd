//! The files of a provider's memory tool, as a store keeps them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tenure_workspace::Reach;
use tenure_workspace::Reader as _;
use tenure_workspace::memory_files::{MemoryCommand, MemoryFiles};

use super::call::{Json, Said, tenant};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;

/// What a command did.
#[derive(Serialize, JsonSchema)]
pub(super) struct Told {
    /// The answer for the model, as the content of the tool's result.
    result: String,
}

pub(super) async fn run(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(command): Json<MemoryCommand>,
) -> Result<Said<Told>, Refusal> {
    let grant = Arc::clone(&caller.grant);
    if !grant.operator && grant.user.is_none() {
        let what = "files of the memory tool are a user's own, and the key has none";
        return Err(Refusal::new(StatusCode::FORBIDDEN, what).expected("a key made with --user"));
    }
    let done = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let objects = app.objects(&tenant, Reach::Archive)?;
        let principal = grant.principal();
        let author = caller.key.as_ref().map(|key| format!("key {key}"));
        let by = (author, app.now());
        let files = MemoryFiles::of(&tenant, objects.candidates(), &principal, by);
        Ok(files.run(&command)?)
    });
    let result = done.await?;
    Ok(Said(Told { result }))
}
