//! The quality of payloads: its eight metrics, their limits, and what a payload that misses one comes to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskClass;
use crate::base::num::Score;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// One of the eight quality metrics of a payload, each from 0 to 1.
    QualityMetric ("quality metric") {
        /// The share of the budget that is used.
        Utilization = "utilization",
        /// The share of the payload that is about the task.
        SignalDensity = "signal_density",
        /// The share of the evidence that names its source.
        ProvenanceCoverage = "provenance_coverage",
        /// The share of the payload that forbids or demands.
        ConstraintDensity = "constraint_density",
        /// The share of the payload that is there twice.
        Duplication = "duplication",
        /// The age of the payload.
        Staleness = "staleness",
        /// The openness of the payload to instructions in data.
        InjectionSurface = "injection_surface",
        /// The share of the condensed text that is still said.
        Fidelity = "fidelity",
    }
}

impl QualityMetric {
    /// Returns whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            QualityMetric::Utilization
                | QualityMetric::SignalDensity
                | QualityMetric::ProvenanceCoverage
                | QualityMetric::Fidelity
        )
    }

    /// Returns how it is measured.
    pub const fn definition(self) -> &'static str {
        match self {
            QualityMetric::Utilization => {
                "tokens of the payload / tokens that it may have: the window less the answer, or the budget"
            }
            QualityMetric::SignalDensity => {
                "1 - tokens of objects that are not about the task / tokens; what its tier demands, and history, is"
            }
            QualityMetric::ProvenanceCoverage => {
                "pieces of evidence that say of each part of their provenance what it is or that it is unknown / pieces of evidence"
            }
            QualityMetric::ConstraintDensity => {
                "tokens of constraints, and of sentences of guidance that demand or forbid / tokens"
            }
            QualityMetric::Duplication => {
                "tokens of lines of 20 bytes and more that stand in an object before / tokens"
            }
            QualityMetric::Staleness => {
                "sum of (1 - freshness * currency) * tokens / sum of tokens, of the objects that have a score"
            }
            QualityMetric::InjectionSurface => {
                "sum of tokens of data * (1 - isolation of the mechanism that holds it) / tokens"
            }
            QualityMetric::Fidelity => {
                "share of its numbers, names, denials and claims that condensed text still says, by tokens"
            }
        }
    }
}

vocabulary! {
    /// The fate of a payload that misses a limit of its quality.
    OnMiss ("fate of a payload") {
        /// It goes out, and the trace says so.
        Note = "note",
        /// The compile fails, but for utilization.
        Refuse = "refuse",
    }
}

/// The limits of the quality metrics, and what a payload that misses one comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityPolicy {
    /// The least and the most of the budget that is to be used. Never a reason to refuse.
    pub utilization: [Score; 2],
    /// The least signal density.
    pub signal_density: Score,
    /// The least provenance coverage.
    pub provenance_coverage: Score,
    /// The most constraint density. Above it soft constraints leave.
    pub constraint_density: Score,
    /// The most constraint density of safety-critical tasks.
    pub constraint_density_critical: Score,
    /// The tokens of a payload above which its constraint density is looked at.
    pub constraints_above: u32,
    /// The most duplication.
    pub duplication: Score,
    /// The most staleness.
    pub staleness: Score,
    /// The most injection surface.
    pub injection_surface: Score,
    /// The least fidelity.
    pub fidelity: Score,
    /// The fate of a payload that misses a limit, by the class of the task.
    pub missed: MissedByClass,
}

/// The fate of a payload that misses a limit, for each class of task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MissedByClass {
    /// Someone waits for the answer.
    pub interactive: OnMiss,
    /// No one waits.
    pub batch: OnMiss,
    /// A wrong answer does harm.
    pub safety_critical: OnMiss,
}

/// The bounds of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The least value, where there is one.
    pub least: Option<Score>,
    /// The most.
    pub most: Option<Score>,
}

impl Bounds {
    /// Returns whether a value is within them.
    pub fn hold(&self, value: Score) -> bool {
        self.least.is_none_or(|least| value >= least) && self.most.is_none_or(|most| value <= most)
    }
}

impl QualityPolicy {
    /// Returns the most constraint density of a task of this class.
    pub fn most_constraints(&self, class: TaskClass) -> Score {
        match class {
            TaskClass::SafetyCritical => self.constraint_density_critical,
            _ => self.constraint_density,
        }
    }

    /// Returns the bounds of a metric, for a payload of so many tokens.
    pub fn bounds(&self, metric: QualityMetric, class: TaskClass, tokens: u32) -> Bounds {
        let least = |least| Bounds {
            least: Some(least),
            most: None,
        };
        let most = |most| Bounds {
            least: None,
            most: Some(most),
        };
        match metric {
            QualityMetric::Utilization => Bounds {
                most: Some(self.utilization[1]),
                ..least(self.utilization[0])
            },
            QualityMetric::SignalDensity => least(self.signal_density),
            QualityMetric::ProvenanceCoverage => least(self.provenance_coverage),
            QualityMetric::ConstraintDensity if tokens <= self.constraints_above => {
                Bounds::default()
            }
            QualityMetric::ConstraintDensity => most(self.most_constraints(class)),
            QualityMetric::Duplication => most(self.duplication),
            QualityMetric::Staleness => most(self.staleness),
            QualityMetric::InjectionSurface => most(self.injection_surface),
            QualityMetric::Fidelity => least(self.fidelity),
        }
    }

    /// Returns whether a payload that misses this metric's bounds is refused.
    pub fn refuses(&self, metric: QualityMetric, class: TaskClass) -> bool {
        let fate = match class {
            TaskClass::SafetyCritical => self.missed.safety_critical,
            TaskClass::Batch => self.missed.batch,
            TaskClass::Interactive => self.missed.interactive,
        };
        fate == OnMiss::Refuse && metric != QualityMetric::Utilization
    }

    /// Returns what is wrong with it.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let [least, most] = self.utilization;
        (least > most).then_some("`quality.utilization`: the least is above the most")
    }
}
