//! Labels: what mattered of a compile, said afterwards.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::num::Score;

use super::call::{Json, Named, Said, tenant};
use super::records::unknown;
use crate::app::App;
use crate::error::Refusal;
use crate::telemetry::metrics::{Metered, Word};
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// What mattered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Mattered {
    /// The names of all candidates that mattered, as the trace has them. What was said before is replaced.
    relevant: Vec<String>,
}

/// How well a compile chose among the candidates that have a score.
#[derive(Serialize, JsonSchema)]
pub(super) struct Chosen {
    /// Of those that stand in the payload, how many mattered; null where none stands there.
    context_precision: Option<Score>,
    /// Of those that mattered, how many stand in the payload; null where none did.
    context_recall: Option<Score>,
}

pub(super) async fn label(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    Json(Mattered { relevant }): Json<Mattered>,
) -> Result<Said<Chosen>, Refusal> {
    let labelled = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        if tenant.record(&id)?.is_none() {
            return Err(unknown(&id));
        }
        let choice = app
            .workspace
            .records(&tenant)
            .label(&id, relevant, app.now())
            .in_field("relevant")?;
        let metrics = [
            ("context_precision", choice.context_precision),
            ("context_recall", choice.context_recall),
        ];
        for (metric, value) in metrics {
            let Some(value) = value else { continue };
            let metric = Metered {
                metric: Word(metric),
            };
            let seen = app.telemetry.metrics.labelled.get_or_create(&metric);
            seen.observe(value.to_f64());
        }
        Ok(Chosen {
            context_precision: choice.context_precision,
            context_recall: choice.context_recall,
        })
    });
    Ok(Said(labelled.await?))
}
