//! All that can be shown of records: lists of them, and a recorded compile with its objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::inspect::QualityMetric;
use tenure::num::Score;
use tenure::time::Instant;
use tenure::trace::{EpochCause, PolicyReport, ProviderUsage, Ruling, View};
use tenure::{Candidates, ContextObject, Error, Principal, Trace};
use tenure_store::engine::RecordRow;

use super::{EXCHANGE_PREFIX, ExchangeRecord, Records, StoredRecord};

/// A record in a list, with what a list shows of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Its id.
    pub id: String,
    /// Its instant.
    pub at: Instant,
    /// The record, or the part of it that a list shows.
    pub what: Listed,
}

/// The record of a [`Line`].
#[derive(Clone, PartialEq, Debug)]
pub enum Listed {
    /// A request of the gateway.
    Exchange(Box<ExchangeRecord>),
    /// A compile.
    Compile(Box<CompileLine>),
    /// A record that cannot be read.
    Unreadable(String),
}

impl Listed {
    fn read(row: &RecordRow) -> Listed {
        let read = if row.id.starts_with(EXCHANGE_PREFIX) {
            let record = serde_json::from_str(&row.body);
            record.map(|record| Listed::Exchange(Box::new(record)))
        } else {
            let line = CompileLine::read(&row.body);
            line.map(|line| Listed::Compile(Box::new(line)))
        };
        read.unwrap_or_else(|error| {
            Listed::Unreadable(format!("the record cannot be read: {error}"))
        })
    }
}

/// The part of a compile's record that a list shows.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CompileLine {
    /// The model.
    pub model: String,
    /// The policy's name and version.
    pub policy: String,
    /// The policy itself.
    pub by: PolicyReport,
    /// The quality metrics of the payload.
    pub quality: BTreeMap<QualityMetric, Score>,
    /// The budget.
    pub budget: u32,
    /// The tokens of the payload.
    pub total_tokens: u32,
    /// The epoch's number.
    pub epoch: u32,
    /// The cause of this epoch.
    pub cause: EpochCause,
    /// The time that the compile took, in microseconds.
    pub latency_us: u64,
    /// The number of quality limits that it misses, but for that of how full it is.
    pub missed: usize,
    /// The provider's count of its use, where it is known.
    pub usage: Option<ProviderUsage>,
    /// The caller.
    pub principal: Principal,
}

/// As much of a stored record as a line needs: all else is skipped, not read.
#[derive(Deserialize)]
struct Stored {
    record: StoredCompile,
    inputs: StoredInputs,
}

#[derive(Deserialize)]
struct StoredCompile {
    compilation_latency_us: u64,
    #[serde(default)]
    usage: Option<ProviderUsage>,
    trace: StoredTrace,
}

#[derive(Deserialize)]
struct StoredTrace {
    policy: PolicyReport,
    model: String,
    budget: u32,
    total_tokens: u32,
    plan: StoredPlan,
    #[serde(default)]
    quality: Vec<StoredMetric>,
}

#[derive(Deserialize)]
struct StoredPlan {
    epoch: u32,
    cause: EpochCause,
}

#[derive(Deserialize)]
struct StoredMetric {
    metric: String,
    value: Score,
    #[serde(default)]
    missed: bool,
}

#[derive(Deserialize)]
struct StoredInputs {
    request: StoredRequest,
}

#[derive(Deserialize)]
struct StoredRequest {
    principal: Principal,
}

impl CompileLine {
    fn read(body: &str) -> Result<CompileLine, serde_json::Error> {
        let Stored { record, inputs } = serde_json::from_str(body)?;
        let trace = record.trace;
        Ok(CompileLine {
            model: trace.model,
            policy: format!("{} {}", trace.policy.name, trace.policy.version),
            budget: trace.budget,
            total_tokens: trace.total_tokens,
            epoch: trace.plan.epoch,
            cause: trace.plan.cause,
            latency_us: record.compilation_latency_us,
            // A budget is full where there is more material than room: that is no fault.
            missed: trace
                .quality
                .iter()
                .filter(|metric| {
                    metric.missed && metric.metric != QualityMetric::Utilization.term()
                })
                .count(),
            // A metric of another version of the trace is none of these.
            quality: {
                trace
                    .quality
                    .iter()
                    .filter_map(|one| Some((one.metric.parse().ok()?, one.value)))
                    .collect()
            },
            by: trace.policy,
            usage: record.usage,
            principal: inputs.request.principal,
        })
    }
}

/// A recorded compile, as one reader sees it.
#[derive(Clone, Debug)]
pub struct Look {
    /// The record.
    pub record: StoredRecord,
    /// Its trace, as the reader may see it.
    pub trace: Trace,
    /// The objects of the verdicts, by their place in [`Look::trace`], as far as they are there.
    pub objects: BTreeMap<usize, Arc<ContextObject>>,
}

impl Records<'_> {
    /// The newest records behind this one, at most so many.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn lines(&self, after: Option<(&str, Instant)>, most: u32) -> Result<Vec<Line>, Error> {
        let rows = self.tenant.records_whole(after, most)?;
        let lines = rows.into_iter().map(|row| Line {
            what: Listed::read(&row),
            id: row.id,
            at: row.compiled_at,
        });
        Ok(lines.collect())
    }

    /// A record as a list has it; none where there is none of this id.
    ///
    /// # Errors
    ///
    /// As [`Records::lines`].
    pub fn listed(&self, id: &str) -> Result<Option<Listed>, Error> {
        Ok(self.tenant.record(id)?.as_ref().map(Listed::read))
    }

    /// A recorded compile in one of the two views, without its objects.
    ///
    /// # Errors
    ///
    /// As [`Records::get`]; the caller's view needs the record's policy and objects, and fails where they are gone.
    pub fn account(&self, id: &str, view: View) -> Result<Look, Error> {
        if view == View::Caller {
            return self.look(id, view);
        }
        let record = self.get(id)?;
        Ok(Look {
            trace: record.record.trace.clone(),
            record,
            objects: BTreeMap::new(),
        })
    }

    /// A recorded compile in one of the two views, with its objects.
    ///
    /// # Errors
    ///
    /// As [`Records::get`]; the caller's view needs the record's policy and objects, and fails where they are gone.
    pub fn look(&self, id: &str, view: View) -> Result<Look, Error> {
        self.look_at(self.get(id)?, view)
    }

    /// A look at a record with the verdict on every candidate, also where the record has a brief account.
    ///
    /// # Errors
    ///
    /// As [`Records::look`] and [`Records::whole`].
    pub fn look_whole(&self, id: &str, view: View) -> Result<Look, Error> {
        let mut record = self.get(id)?;
        record.record.trace = self.whole(&record)?.into_owned();
        self.look_at(record, view)
    }

    fn look_at(&self, record: StoredRecord, view: View) -> Result<Look, Error> {
        let candidates = self.candidates_of(&record);
        let trace = match view {
            View::Operator => record.record.trace.clone(),
            View::Caller => self.whole(&record)?.into_owned(),
        };
        let found = match &candidates {
            Ok(candidates) => objects_of(&trace, candidates),
            Err(_) => vec![None; trace.verdicts.len()],
        };
        let (trace, found) = match view {
            View::Operator => (trace, found),
            View::Caller => {
                let policy = self.policy_of(&record)?;
                let principal = &record.inputs.request.principal;
                let mut seen = trace.caller_view(&policy, principal, &*candidates?);
                if record.record.trace.rest.is_some() {
                    seen = seen.brief();
                }
                let mut open: Vec<_> = trace
                    .verdicts
                    .iter()
                    .zip(found)
                    .filter(|(verdict, _)| verdict.verdict != Ruling::Denied)
                    .map(|(_, object)| object)
                    .collect();
                if let Some(rest) = &seen.rest {
                    let kept = rest.places.iter().map(|place| open[*place as usize].take());
                    open = kept.collect();
                }
                (seen, open)
            }
        };
        let objects = found
            .into_iter()
            .enumerate()
            .filter_map(|(at, object)| Some((at, object?)))
            .collect();
        Ok(Look {
            record,
            trace,
            objects,
        })
    }
}

/// The object of each verdict of an account, as far as it is there. Of what was erased since, only the number is known: an
/// object stands no later among the candidates than it stood, and earlier by no more than these.
pub(super) fn objects_of(
    trace: &Trace,
    candidates: &Candidates,
) -> Vec<Option<Arc<ContextObject>>> {
    let all = candidates.objects();
    let gone = trace.candidates().saturating_sub(all.len());
    let mut next = 0;
    let verdicts = trace.verdicts.iter().enumerate();
    let found = verdicts.map(|(at, verdict)| {
        let last = match &trace.rest {
            Some(rest) => rest.places.get(at).map_or(at, |place| *place as usize),
            None => at,
        };
        let first = last.saturating_sub(gone).max(next);
        let among = all.get(first..all.len().min(last + 1))?;
        let found = among.iter().position(|object| *object.name() == *verdict.name)?;
        next = first + found + 1;
        among.get(found).cloned()
    });
    found.collect()
}
