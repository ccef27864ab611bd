//! Labels: which candidates of a compile mattered, as somebody said after the model had answered. With them,
//! context precision and recall (the Tenure Principle's trace) are numbers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tenure::error::{Error, nearest};
use tenure::num::Score;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::trace::{Ruling, Trace};
use tenure_store::Tenant;
use tenure_store::engine::RecordRow;

use super::{StoredRecord, unwritable};
use crate::workspace::Workspace;

/// What somebody said of a compile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// When.
    pub at: Instant,
    /// The names of all candidates that mattered.
    pub relevant: Vec<String>,
}

/// How well a compile chose among what it had a choice of: the candidates that have a score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Choice {
    /// Of those that stand in the payload, how many mattered; null where none stands there.
    pub context_precision: Option<Score>,
    /// Of those that mattered, how many stand in the payload; null where none did.
    pub context_recall: Option<Score>,
}

impl Choice {
    fn of(trace: &Trace, labels: &Labels) -> Choice {
        let relevant: BTreeSet<&str> = labels.relevant.iter().map(String::as_str).collect();
        let (mut stand, mut mattered, mut both) = (0, 0, 0);
        for verdict in &trace.verdicts {
            let is_relevant = relevant.contains(&*verdict.name);
            let stands = verdict.verdict == Ruling::Included;
            // What must stand was not chosen.
            if stands && verdict.score.is_none() {
                continue;
            }
            stand += u32::from(stands);
            mattered += u32::from(is_relevant);
            both += u32::from(stands && is_relevant);
        }
        let share = |whole: u32| {
            let millionths = (u64::from(both) * 1_000_000).checked_div(u64::from(whole))?;
            Some(Score::from_millionths(u32::try_from(millionths).ok()?))
        };
        Choice {
            context_precision: share(stand),
            context_recall: share(mattered),
        }
    }
}

impl StoredRecord {
    /// How well the compile chose, where somebody said what mattered.
    pub fn choice(&self) -> Option<Choice> {
        let labels = self.labels.as_ref()?;
        Some(Choice::of(&self.record.trace, labels))
    }
}

impl Workspace {
    /// Says which candidates of a compile mattered: all of them, by their names. What was said before is
    /// replaced. Gives how well the compile chose.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no such record, or no such candidate in
    /// it; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn label(
        &self,
        tenant: &Tenant,
        id: &str,
        relevant: Vec<String>,
        now: Instant,
    ) -> Result<Choice, Error> {
        let mut kept = self.stored_record(tenant, id)?;
        let verdicts = kept.record.trace.verdicts.iter();
        let known: BTreeMap<&str, ()> = verdicts.map(|verdict| (&*verdict.name, ())).collect();
        for name in &relevant {
            if !known.contains_key(name.as_str()) {
                let what = format!("`{}` is no candidate of `{}`", clip(name), clip(id));
                let error = Error::input(what);
                return Err(match nearest(name, known.keys().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.expected("the name of a candidate, as the trace has it"),
                });
            }
        }
        let labels = Labels { at: now, relevant };
        let choice = Choice::of(&kept.record.trace, &labels);
        kept.labels = Some(labels);
        let row = tenant.record(id)?;
        tenant.put_records(vec![RecordRow {
            id: id.to_owned(),
            compiled_at: kept.record.compiled_at,
            body: serde_json::to_string(&kept).map_err(unwritable)?,
            objects: row.map(|row| row.objects).unwrap_or_default(),
        }])?;
        Ok(choice)
    }
}
