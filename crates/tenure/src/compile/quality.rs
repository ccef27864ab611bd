//! The quality of a payload, in figures: what a trace says of each metric.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::Score;
use crate::input::policy::QualityMetric;

/// The quality of a payload, in eight figures from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Quality {
    /// The share of the budget that is used.
    pub utilization: Score,
    /// The share of the payload that is about the task.
    pub signal_density: Score,
    /// The share of the evidence that names its source.
    pub provenance_coverage: Score,
    /// The share of the payload that forbids or demands.
    pub constraint_density: Score,
    /// The share of the payload that is there twice.
    pub duplication: Score,
    /// The age of the payload.
    pub staleness: Score,
    /// The openness of the payload to instructions in data.
    pub injection_surface: Score,
    /// The share of the condensed text that is still said.
    pub fidelity: Score,
}

impl Quality {
    /// One of the metrics.
    pub fn get(&self, metric: QualityMetric) -> Score {
        match metric {
            QualityMetric::Utilization => self.utilization,
            QualityMetric::SignalDensity => self.signal_density,
            QualityMetric::ProvenanceCoverage => self.provenance_coverage,
            QualityMetric::ConstraintDensity => self.constraint_density,
            QualityMetric::Duplication => self.duplication,
            QualityMetric::Staleness => self.staleness,
            QualityMetric::InjectionSurface => self.injection_surface,
            QualityMetric::Fidelity => self.fidelity,
        }
    }
}

/// One metric of a payload, with what it is and what the policy wants of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The metric.
    pub metric: QualityMetric,
    /// Its value.
    pub value: Score,
    /// The way in which it is measured.
    pub definition: Cow<'static, str>,
    /// The least that the policy wants, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<Score>,
    /// The most that it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Score>,
    /// True if the value is not within these.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missed: bool,
}

/// Returns the quality that a trace states; none where it was made before it was measured.
pub(crate) fn stated(measured: &[Measured]) -> Option<Quality> {
    let value = |metric: QualityMetric| {
        let mut all = measured.iter();
        all.find(|measured| measured.metric == metric).map(|measured| measured.value)
    };
    Some(Quality {
        utilization: value(QualityMetric::Utilization)?,
        signal_density: value(QualityMetric::SignalDensity)?,
        provenance_coverage: value(QualityMetric::ProvenanceCoverage)?,
        constraint_density: value(QualityMetric::ConstraintDensity)?,
        duplication: value(QualityMetric::Duplication)?,
        staleness: value(QualityMetric::Staleness)?,
        injection_surface: value(QualityMetric::InjectionSurface)?,
        fidelity: value(QualityMetric::Fidelity)?,
    })
}
