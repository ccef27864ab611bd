//! What needs no store: differences, counts, models.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::inspect::{Diff, diff as difference};
use tenure::{CountKind, Error, ErrorKind, Trace};
use tenure_workspace::KnownModel;

use super::call::{Json, Named, Said};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::fields::InField;

/// Two traces.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    /// The one.
    before: Box<Trace>,
    /// The other.
    after: Box<Trace>,
}

pub(super) async fn diff(Json(pair): Json<Pair>) -> Result<Said<Diff>, Refusal> {
    Ok(Said(
        crate::blocking(move || Ok(difference(&pair.before, &pair.after))).await?,
    ))
}

/// A text to count.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    /// The text.
    text: String,
    /// A model of the catalogue.
    model: String,
}

/// A count.
#[derive(Serialize, JsonSchema)]
pub(super) struct Counted {
    /// How many tokens.
    tokens: usize,
    /// How many bytes.
    bytes: usize,
    /// The model.
    model: String,
    /// What counted.
    tokenizer: String,
    /// What the count is worth.
    count: CountKind,
}

pub(super) async fn tokens(
    State(app): State<Arc<App>>,
    Json(asked): Json<Text>,
) -> Result<Said<Counted>, Refusal> {
    Ok(Said(
        crate::blocking(move || {
            let world = app.world(&asked.model).in_field("model")?;
            let tokenizer = world.tokenizer();
            Ok(Counted {
                tokens: tokenizer.count(&asked.text),
                count: tokenizer.kind_of(&asked.text),
                bytes: asked.text.len(),
                model: asked.model,
                tokenizer: tokenizer.name().to_owned(),
            })
        })
        .await?,
    ))
}

pub(super) async fn models(State(app): State<Arc<App>>) -> Result<Response, Refusal> {
    let catalogue = app.workspace.catalogue();
    let models: Vec<KnownModel<'_>> = catalogue
        .names()
        .map(|name| KnownModel::of(catalogue, name))
        .collect::<Result<_, _>>()?;
    Ok(Said(models).into_response())
}

pub(super) async fn model(
    State(app): State<Arc<App>>,
    Named(name): Named,
) -> Result<Response, Refusal> {
    let catalogue = app.workspace.catalogue();
    match KnownModel::of(catalogue, &name) {
        Ok(known) => Ok(Said(known).into_response()),
        Err(error) => Err(Error {
            kind: ErrorKind::NotFound,
            expected: None,
            ..error
        }
        .into()),
    }
}
