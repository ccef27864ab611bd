//! An account in brief: what went in, what was near, and counts of the rest. Its size follows from what was asked, not from
//! how much there was to choose among; a compile that is made again gives the whole one.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::Digest;
use crate::compile::trace::{Left, Reason, Rest, Ruling, Trace, Verdict};

/// The most candidates of whom every verdict is kept.
const FEW: usize = 64;
/// The number of those that stayed out with the greatest scores.
const NEAR: usize = 12;
/// The most that left for one reason other than how near they are, and the most of all of these.
const OF_ONE_REASON: usize = 2;
const OF_OTHER_REASONS: usize = 12;
/// The most sources that were not fetched, and the most findings of one code.
const UNFETCHED: usize = 16;
const FINDINGS: u32 = 4;

/// Returns whether a candidate left for how near it is, and not for what it is.
fn is_distance(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::NotNearTask
            | Reason::BelowFloor { .. }
            | Reason::IrrelevantToActiveTask { .. }
            | Reason::GatedOut { .. }
            | Reason::NotRetrieved { .. }
            | Reason::LeftToRetrieval
            | Reason::NoRoom { .. }
            | Reason::OverShare { .. }
            | Reason::AfterStop { .. }
            | Reason::NotWorthItsCost { .. }
    )
}

impl Trace {
    /// The number of candidates.
    pub fn candidates(&self) -> usize {
        let rest = self.rest.iter().flat_map(|rest| rest.reasons.values());
        self.verdicts.len() + rest.map(|left| left.candidates as usize).sum::<usize>()
    }

    /// The digest of the account.
    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// A brief account: the verdicts on what went in, on what was near and on some of what left for another reason, and
    /// counts of the rest. An account of few candidates stays whole, and so does a brief one.
    #[must_use]
    pub fn brief(&self) -> Trace {
        self.brief_with(&BTreeSet::new())
    }

    /// A brief account with the verdicts on the candidates of these names as well.
    #[must_use]
    pub fn brief_with(&self, names: &BTreeSet<&str>) -> Trace {
        if self.verdicts.len() <= FEW || self.rest.is_some() {
            return self.clone();
        }
        let kept = self.kept(names);
        let mut reasons: BTreeMap<String, Left> = BTreeMap::new();
        let mut verdicts = Vec::with_capacity(kept.len());
        for (at, verdict) in (0..).zip(&self.verdicts) {
            if kept.contains(&at) {
                verdicts.push(verdict.clone());
                continue;
            }
            let left = reasons.entry(verdict.reason.code().to_owned()).or_insert(Left {
                verdict: verdict.verdict,
                candidates: 0,
                tokens: 0,
                aged: 0,
            });
            left.candidates += 1;
            left.aged += u32::from(verdict.reason.is_age());
            left.tokens += u64::from(verdict.tokens);
        }
        let places: Vec<u32> = kept.into_iter().collect();
        let place = |candidate: u32| places.binary_search(&candidate).ok().map(|at| at as u32);
        let mut notes: BTreeMap<String, u32> = BTreeMap::new();
        let shown = self
            .notes
            .iter()
            .filter(|note| {
                let of_code = notes.entry(note.code()).or_default();
                *of_code += 1;
                *of_code <= FINDINGS
            })
            .cloned()
            .collect();
        notes.values_mut().for_each(|count| *count = count.saturating_sub(FINDINGS));
        notes.retain(|_, count| *count > 0);
        let mut brief = Trace {
            verdicts,
            unfetched: self.unfetched.iter().take(UNFETCHED).cloned().collect(),
            notes: shown,
            ..self.clone()
        };
        brief.condensed.retain_mut(|one| {
            let found = place(one.candidate);
            one.candidate = found.unwrap_or_default();
            found.is_some()
        });
        brief.evicted.retain_mut(|one| {
            let found = place(one.candidate);
            one.candidate = found.unwrap_or_default();
            found.is_some()
        });
        let subqueries = brief.retrieval.iter_mut().flat_map(|of| &mut of.subqueries);
        for subquery in subqueries {
            subquery.brought.retain_mut(|one| {
                let found = place(one.candidate);
                one.candidate = found.unwrap_or_default();
                found.is_some()
            });
        }
        brief.rest = Some(Rest {
            reasons,
            whole: self.digest(),
            unfetched: self.unfetched.len().saturating_sub(UNFETCHED) as u32,
            notes,
            places,
        });
        brief
    }

    /// The places of the verdicts that a brief account keeps.
    fn kept(&self, names: &BTreeSet<&str>) -> BTreeSet<u32> {
        let all = || (0..).zip(&self.verdicts);
        let mut kept: BTreeSet<u32> = all()
            .filter(|(_, verdict)| {
                verdict.verdict == Ruling::Included || names.contains(&*verdict.name)
            })
            .map(|(at, _)| at)
            .collect();
        kept.extend(self.condensed.iter().map(|one| one.candidate));
        kept.extend(self.evicted.iter().map(|one| one.candidate));
        let mut near: Vec<(u32, &Verdict)> = all()
            .filter(|(_, verdict)| verdict.verdict != Ruling::Included && verdict.score.is_some())
            .collect();
        near.sort_by_key(|(at, verdict)| {
            (
                std::cmp::Reverse(verdict.score.map(|score| score.composite)),
                *at,
            )
        });
        kept.extend(near.iter().take(NEAR).map(|(at, _)| *at));
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let others: Vec<u32> = all()
            .filter(|(_, verdict)| {
                let is_other = verdict.verdict != Ruling::Included && !is_distance(&verdict.reason);
                let of_it = seen.entry(verdict.reason.code()).or_default();
                *of_it += usize::from(is_other);
                is_other && *of_it <= OF_ONE_REASON
            })
            .map(|(at, _)| at)
            .take(OF_OTHER_REASONS)
            .collect();
        kept.extend(others);
        kept
    }
}
