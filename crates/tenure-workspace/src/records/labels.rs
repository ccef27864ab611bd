//! Labels: the candidates of a compile that mattered, as judged after the model had answered. From them follow
//! context precision (the share of the chosen candidates that mattered) and recall (the share of those that mattered
//! that were chosen).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tenure::error::{Error, ErrorKind, nearest};
use tenure::num::Score;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::trace::{Reason, Ruling, Trace, Verdict};

use super::{Records, StoredRecord, unknown, unwritable};

/// The labels of a compile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// The instant of labelling.
    pub at: Instant,
    /// The names of all candidates that mattered.
    pub relevant: Vec<String>,
}

/// The quality of a compile's choice among the candidates that it was free to choose: the candidates that have a
/// score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Choice {
    /// Of those that stand in the payload, how many mattered; null where none stands there.
    pub context_precision: Option<Score>,
    /// Of those that mattered, how many stand in the payload; null where none did.
    pub context_recall: Option<Score>,
}

impl Choice {
    fn of(verdicts: &[Verdict], labels: &Labels) -> Choice {
        let relevant: BTreeSet<&str> = labels.relevant.iter().map(String::as_str).collect();
        let (mut stand, mut mattered, mut both) = (0, 0, 0);
        for verdict in verdicts {
            let is_relevant = relevant.contains(&*verdict.name);
            let stands = verdict.verdict == Ruling::Included;
            // What has no score was not chosen among: it must stand, or left before the task was looked at.
            let is_idle = matches!(
                verdict.reason,
                Reason::NotNearTask | Reason::NotApplicable { .. }
            );
            if verdict.score.is_none() && !is_idle {
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
    /// The quality of the compile's choice; `None` without labels.
    pub fn choice(&self) -> Option<Choice> {
        let labels = self.labels.as_ref()?;
        Some(Choice::of(&self.record.trace.verdicts, labels))
    }

    /// Refuses names that no candidate has.
    fn refuse_strangers(&self, id: &str, labels: &Labels) -> Result<(), Error> {
        let verdicts = self.record.trace.verdicts.iter();
        let known: BTreeSet<&str> = verdicts.map(|verdict| &*verdict.name).collect();
        for name in &labels.relevant {
            if !known.contains(name.as_str()) {
                let what = format!("`{}` is not a candidate of `{}`", clip(name), clip(id));
                let error = Error::input(what);
                return Err(match nearest(name, known.iter().copied()) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error.expected("the name of a candidate in the trace"),
                });
            }
        }
        Ok(())
    }
}

impl Records<'_> {
    /// The account of a record with the verdicts on these candidates; none where it has them all, or none of the others can be
    /// made again.
    fn with_verdicts_on(
        &self,
        record: &StoredRecord,
        names: &[String],
    ) -> Result<Option<Trace>, Error> {
        let trace = &record.record.trace;
        if trace.rest.is_none() || names.iter().all(|name| trace.verdict(name).is_some()) {
            return Ok(None);
        }
        let names = names.iter().map(String::as_str).collect();
        Ok(Some(self.whole(record)?.brief_with(&names)))
    }

    /// Says which candidates of a compile mattered: all of them, by their names. What was said before is replaced.
    /// Returns the quality of the compile's choice.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such record, or no such candidate in
    /// it; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn label(&self, id: &str, relevant: Vec<String>, now: Instant) -> Result<Choice, Error> {
        let read = self.get(id)?;
        let whole = self.with_verdicts_on(&read, &relevant)?;
        let asked = id.to_owned();
        let labelled = self.tenant.change_record(id, move |row| {
            let mut kept = StoredRecord::read(&asked, row)?;
            if let Some(account) = &whole {
                if kept.record.trace != read.record.trace {
                    let what = format!("the record `{}` was changed meanwhile", clip(&asked));
                    return Err(Error::new(ErrorKind::Conflict, what).hint("try again"));
                }
                kept.record.trace = account.clone();
            }
            let labels = Labels {
                at: now,
                relevant: relevant.clone(),
            };
            kept.refuse_strangers(&asked, &labels)?;
            let choice = Choice::of(&kept.record.trace.verdicts, &labels);
            kept.labels = Some(labels);
            let body = serde_json::to_string(&kept).map_err(unwritable)?;
            Ok((body, choice))
        })?;
        labelled.ok_or_else(|| unknown(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_there_was_a_choice_of_counts() {
        let score = serde_json::json!({
            "relevance": 0.5, "authority": 0.5, "freshness": 0.5, "utility": 0.5, "economy": 0.5,
            "composite": 0.5, "grade": "useful",
        });
        let verdict = |name: &str, verdict: &str, is_scored: bool| -> Verdict {
            let score = is_scored.then(|| score.clone());
            let verdict = serde_json::json!({
                "name": name, "verdict": verdict, "reason": { "code": "fits" }, "section": "memory",
                "tokens": 1, "score": score,
            });
            serde_json::from_value(verdict).unwrap()
        };
        let verdicts = [
            verdict("rule", "included", false),
            verdict("secret", "denied", false),
            verdict("warm", "included", true),
            verdict("cold", "included", true),
            verdict("far", "omitted", true),
        ];
        let of = |relevant: &[&str]| {
            let labels = Labels {
                at: Instant::from_micros(1),
                relevant: relevant.iter().map(|&name| name.to_owned()).collect(),
            };
            let choice = Choice::of(&verdicts, &labels);
            let shown = |score: Option<Score>| score.map(Score::to_f64);
            (
                shown(choice.context_precision),
                shown(choice.context_recall),
            )
        };
        assert_eq!(of(&["warm", "far"]), (Some(0.5), Some(0.5)));
        // Objects that must stand, and those that could not be chosen, alter nothing.
        assert_eq!(of(&["warm", "far", "rule", "secret"]), of(&["warm", "far"]));
        assert_eq!(of(&["secret"]), (Some(0.0), None));
    }
}
