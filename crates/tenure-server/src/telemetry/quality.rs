//! The quality of payloads: counted always, and held to thresholds that warn or refuse.

use std::str::FromStr;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tenure::inspect::{Quality, QualityMetric};
use tenure::num::Score;
use tenure::{Candidates, Compiled, Error, ErrorKind, Outcome};

use super::Telemetry;
use super::log::LogLevel;
use super::metrics::{Metered, What, Word};
use super::spans::Context;
use crate::error::Refusal;

/// A limit that a metric must not fall below, or rise above: `METRIC=LIMIT`, or `METRIC=LIMIT:reject`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threshold {
    metric: QualityMetric,
    limit: Score,
    reject: bool,
}

impl FromStr for Threshold {
    type Err = Error;

    fn from_str(text: &str) -> Result<Threshold, Error> {
        let wrong = || {
            Error::new(
                ErrorKind::Usage,
                format!("`{}` is no threshold", tenure::object::clip(text)),
            )
            .expected("METRIC=LIMIT or METRIC=LIMIT:reject, such as injection_surface=0.1:reject")
        };
        let (metric, limit) = text.split_once('=').ok_or_else(wrong)?;
        let (limit, reject) = match limit.split_once(':') {
            None => (limit, false),
            Some((limit, "warn")) => (limit, false),
            Some((limit, "reject")) => (limit, true),
            Some(_) => return Err(wrong()),
        };
        let limit = limit.parse().ok().and_then(Score::new).ok_or_else(wrong)?;
        Ok(Threshold {
            metric: metric.parse()?,
            limit,
            reject,
        })
    }
}

impl Threshold {
    fn is_met_by(&self, value: Score) -> bool {
        if self.metric.more_is_better() {
            value >= self.limit
        } else {
            value <= self.limit
        }
    }

    fn refusal(&self, value: Score) -> Refusal {
        let (metric, limit) = (self.metric.term(), self.limit);
        let bound = if self.metric.more_is_better() {
            "at least"
        } else {
            "at most"
        };
        let what = format!("the payload's {metric} is {value}");
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, what).expected(format!("{bound} {limit}"))
    }
}

/// Counts the outcome of a compile, and holds it to the thresholds.
///
/// # Errors
///
/// The refusal of the first payload that misses a threshold and must not go out.
pub(crate) fn observe(
    telemetry: &Telemetry,
    request: Option<&Context>,
    outcome: &Outcome,
    candidates: &Candidates,
    took: Duration,
) -> Result<Vec<Quality>, Refusal> {
    let metrics = &telemetry.metrics;
    metrics.compile_seconds.observe(took.as_secs_f64());
    let mut refused = None;
    let mut all = Vec::new();
    for compiled in outcome.compiled() {
        let quality = Quality::of(compiled, candidates);
        for &metric in QualityMetric::ALL {
            let label = Metered {
                metric: Word(metric.term()),
            };
            let seen = metrics.quality.get_or_create(&label);
            seen.observe(quality.get(metric).to_f64());
        }
        // The policy's own limits, where the server has none for the metric. A small request uses little of its budget.
        let missed = compiled.trace.quality.iter().filter(|measured| {
            let mut own = telemetry
                .thresholds
                .iter()
                .filter(|threshold| threshold.metric == measured.metric);
            measured.missed && measured.metric != QualityMetric::Utilization && own.next().is_none()
        });
        for measured in missed {
            let what = What {
                what: Word(measured.metric.term()),
            };
            metrics.quality_missed.get_or_create(&what).inc();
        }
        metrics.decayed.inc_by(decayed(compiled));
        if let Some(spans) = &telemetry.spans {
            spans.compile(request, compiled, &quality, took);
        }
        for threshold in &telemetry.thresholds {
            let value = quality.get(threshold.metric);
            if threshold.is_met_by(value) {
                continue;
            }
            let what = What {
                what: Word(threshold.metric.term()),
            };
            metrics.quality_missed.get_or_create(&what).inc();
            telemetry.log.note(
                LogLevel::Warn,
                "quality",
                json!({
                    "metric": threshold.metric.term(),
                    "value": value,
                    "limit": threshold.limit,
                    "rejected": threshold.reject,
                    "input_digest": compiled.trace.input_digest,
                    "trace": request.map(Context::trace_id),
                }),
            );
            if threshold.reject && refused.is_none() {
                refused = Some(threshold.refusal(value));
            }
        }
        all.push(quality);
    }
    match refused {
        Some(refusal) => Err(refusal),
        None => Ok(all),
    }
}

/// Counts the candidates that were left out because they are too old.
fn decayed(compiled: &Compiled) -> u64 {
    let verdicts = compiled.trace.verdicts.iter();
    let old = verdicts.filter(|verdict| verdict.reason.is_age());
    old.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_says_which_way_it_binds() {
        let threshold = |text: &str| text.parse::<Threshold>().unwrap();
        let half = Score::HALF;
        let surface = threshold("injection_surface=0.1:reject");
        assert!(surface.reject && !surface.is_met_by(half) && surface.is_met_by(Score::ZERO));
        let density = threshold("signal_density=0.7");
        assert!(!density.reject && !density.is_met_by(half) && density.is_met_by(Score::ONE));
        assert!(threshold("staleness=0.5:warn").is_met_by(half));
        for wrong in [
            "",
            "staleness",
            "staleness=2",
            "staleness=x",
            "staleness=0.1:stop",
            "age=0.1",
        ] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
        let error = "stalenes=0.1".parse::<Threshold>().unwrap_err();
        assert!(error.to_string().contains("staleness"), "{error}");
    }
}
