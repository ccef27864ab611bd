//! All that can be shown of records: lists of them, and a recorded compile with its objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::inspect::QualityMetric;
use tenure::num::Score;
use tenure::time::Instant;
use tenure::trace::{EpochCause, PolicyReport, ProviderUsage, Ruling, View};
use tenure::{ContextObject, Error, Principal, Trace};

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
    /// The number of quality limits that it misses.
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
            missed: trace.quality.iter().filter(|metric| metric.missed).count(),
            // A metric of another version of the trace is none of these.
            quality: {
                let known = trace.quality.iter();
                let known = known.filter_map(|one| Some((one.metric.parse().ok()?, one.value)));
                known.collect()
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
        let listed = match after {
            None => self.tenant.records(most)?,
            Some(after) => self.tenant.records_after(after, most)?,
        };
        let mut lines = Vec::with_capacity(listed.len());
        for (id, at) in listed {
            if let Some(what) = self.listed(&id)? {
                lines.push(Line { id, at, what });
            }
        }
        Ok(lines)
    }

    /// A record as a list has it; none where there is none of this id.
    ///
    /// # Errors
    ///
    /// As [`Records::lines`].
    pub fn listed(&self, id: &str) -> Result<Option<Listed>, Error> {
        let Some(row) = self.tenant.record(id)? else {
            return Ok(None);
        };
        let read = if id.starts_with(EXCHANGE_PREFIX) {
            let record = serde_json::from_str(&row.body);
            record.map(|record| Listed::Exchange(Box::new(record)))
        } else {
            let line = CompileLine::read(&row.body);
            line.map(|line| Listed::Compile(Box::new(line)))
        };
        Ok(Some(read.unwrap_or_else(|error| {
            Listed::Unreadable(format!("the record cannot be read: {error}"))
        })))
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
        let record = self.get(id)?;
        let candidates = self.candidates_of(&record);
        let trace = &record.record.trace;
        let mut objects = BTreeMap::new();
        if let Ok(candidates) = &candidates {
            let mut left = candidates.objects().iter().peekable();
            let mut place = 0;
            for verdict in &trace.verdicts {
                let object = left.next_if(|object| *object.name() == *verdict.name);
                if view == View::Caller && verdict.verdict == Ruling::Denied {
                    continue;
                }
                if let Some(object) = object {
                    objects.insert(place, Arc::clone(object));
                }
                place += 1;
            }
        }
        let trace = match view {
            View::Operator => trace.clone(),
            View::Caller => {
                let policy = self.policy_of(&record)?;
                let principal = &record.inputs.request.principal;
                trace.caller_view(&policy, principal, &*candidates?)
            }
        };
        Ok(Look {
            record,
            trace,
            objects,
        })
    }
}
