//! Since when something counts, where an object does not say so itself (`valid_from`): read off the history of its beliefs.
//!
//! Judgements, sweeps, writes about other times, and evidence that falls open a belief anew. None of them says anything, so
//! that none makes it younger or newer. Two instants are looked for, and by one walk back through the rows that were renewed:
//!
//! - since when its **words** are written, from which its age counts ([`Status::written`](tenure::object::Status::written)): another text is another age;
//! - since when its **claim** is said, of a preference, by which it is newer than another ([`Status::recorded`](tenure::object::Status::recorded)): other words
//!   for the same claim, or another confidence in it, say nothing new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::SlotClaim;
use tenure::num::Score;
use tenure::object::{ObjectId, ObjectType, RevisionId, Sealer};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::rows::engine::{BeliefRow, Read};
use crate::rows::settle::overlap;
use crate::rows::stored::read_revision;

/// A belief with the object as it is believed, and its place.
pub(crate) type Placed = (u64, BeliefRow, Arc<ContextObject>);

/// Returns whether it counts since when an object was written or said.
pub(crate) fn counts(object: &ContextObject) -> bool {
    ages_from_writing(object) || begins_when_said(object)
}

/// Returns whether an object's own rule may make it too old, and its age counts from when it was written.
fn ages_from_writing(object: &ContextObject) -> bool {
    let revision = object.revision();
    let rule = revision.decay_rule();
    rule.is_some_and(|rule| rule.minimum_threshold > Score::ZERO)
        && revision.valid().from.is_none()
        && object.usage().last_confirmed.is_none()
}

/// Returns whether an object begins when it was said: a preference that does not say since when it holds.
fn begins_when_said(object: &ContextObject) -> bool {
    let revision = object.revision();
    revision.object_type() == ObjectType::Preference
        && revision.normalized_claim().is_some()
        && revision.valid().from.is_none()
}

/// Those of these beliefs that were opened later than their words were written or their claim was said, each with the
/// instants of that.
pub(crate) fn with_recorded(
    rows: &mut dyn Read,
    mut held: Vec<Placed>,
) -> Result<Vec<Placed>, Error> {
    held.retain(|(_, _, object)| counts(object));
    let mut walk = Walk::over(rows, held.iter().map(|(_, row, _)| row.object))?;
    let mut renewed = Vec::new();
    for (place, row, object) in held {
        let mut status = object.status().clone();
        if ages_from_writing(&object) {
            status.written = Some(walk.written(&row, &object)?);
        }
        if begins_when_said(&object) {
            status.recorded = Some(walk.said(&row, &object)?);
        }
        let later = |since: &Instant| *since < row.opened.at;
        status.written = status.written.filter(later);
        status.recorded = status.recorded.filter(later);
        if status.written.is_some() || status.recorded.is_some() {
            let object = Arc::new(object.judged(status, *object.usage()));
            renewed.push((place, row, object));
        }
    }
    Ok(renewed)
}

/// The instants since which the words of these beliefs are written, in their order.
pub(crate) fn written(
    rows: &mut dyn Read,
    held: &[(&BeliefRow, &ContextObject)],
) -> Result<Vec<Instant>, Error> {
    let mut walk = Walk::over(rows, held.iter().map(|(row, _)| row.object))?;
    held.iter().map(|(row, object)| walk.written(row, object)).collect()
}

/// The walk back from beliefs through those that they renewed.
struct Walk<'r> {
    rows: &'r mut dyn Read,
    sealer: Sealer,
    /// Of the objects about which there were several beliefs.
    histories: BTreeMap<ObjectId, Vec<BeliefRow>>,
}

impl<'r> Walk<'r> {
    fn over(
        rows: &'r mut dyn Read,
        ids: impl Iterator<Item = ObjectId>,
    ) -> Result<Walk<'r>, Error> {
        let ids: BTreeSet<ObjectId> = ids.collect();
        let mut histories: BTreeMap<ObjectId, Vec<BeliefRow>> = BTreeMap::new();
        if !ids.is_empty() {
            for row in rows.renewed(&ids.into_iter().collect::<Vec<_>>())? {
                histories.entry(row.object).or_default().push(row);
            }
        }
        Ok(Walk {
            rows,
            sealer: Sealer::default(),
            histories,
        })
    }

    /// The instant since which the words of a belief are written: the same revision, or of something inferred the same but for
    /// its confidence, which follows from the evidence.
    fn written(&mut self, row: &BeliefRow, object: &ContextObject) -> Result<Instant, Error> {
        let Some(history) = self.histories.get(&row.object) else {
            return Ok(row.opened.at);
        };
        let revision = object.revision();
        if revision.valid().from.is_some() {
            // Its age counts from there.
            return Ok(row.opened.at);
        }
        let bodies = match revision.object_type() {
            ObjectType::InferredBelief => self.rows.bodies(&history.iter().collect::<Vec<_>>())?,
            _ => BTreeMap::new(),
        };
        let words = |revision| {
            let mut body: serde_json::Value = serde_json::from_str(bodies.get(&revision)?).ok()?;
            body.as_object_mut()?.remove("confidence_score");
            Some(body)
        };
        let own = words(row.revision);
        back(row, history, |ended| {
            let same = ended.iter().filter(|before| {
                before.revision == row.revision || (own.is_some() && words(before.revision) == own)
            });
            Ok(same.map(|before| before.opened.at).max())
        })
    }

    /// The instant since which the claim of a belief is said, for its time and scope, without a gap in any part of it.
    fn said(&mut self, row: &BeliefRow, object: &ContextObject) -> Result<Instant, Error> {
        let Some(history) = self.histories.get(&row.object) else {
            return Ok(row.opened.at);
        };
        let mut known: BTreeMap<RevisionId, bool> = BTreeMap::from([(row.revision, true)]);
        back(row, history, |ended| {
            let ended: Vec<&BeliefRow> = ended
                .iter()
                .copied()
                .filter(|before| overlap(before.valid, row.valid))
                .collect();
            let unread: Vec<&BeliefRow> = ended
                .iter()
                .copied()
                .filter(|before| !known.contains_key(&before.revision))
                .collect();
            if !unread.is_empty() {
                for (revision, body) in self.rows.bodies(&unread)? {
                    // What is damaged says nothing that could be the same.
                    let before = read_revision(&mut self.sealer, revision, &body);
                    let is_same = before.is_ok_and(|before| claims_same(&before, object));
                    known.insert(revision, is_same);
                }
            }
            let says = |before: &&BeliefRow| known.get(&before.revision) == Some(&true);
            let (waited, held): (Vec<&BeliefRow>, Vec<&BeliefRow>) =
                ended.into_iter().partition(|before| before.waits());
            let first = |of: &[&BeliefRow]| of.iter().map(|before| before.opened.at).min();
            if !held.is_empty() && held.iter().all(says) {
                return Ok(first(&held));
            }
            // It waited beside what ended when it was confirmed.
            let is_same = |before: &&BeliefRow| {
                (held.is_empty() || before.revision == row.revision) && says(before)
            };
            Ok(first(&waited).filter(|_| waited.iter().all(is_same)))
        })
    }
}

/// Goes back from a belief through what ended when it began, as long as `before` says from when on that said the same.
fn back(
    row: &BeliefRow,
    history: &[BeliefRow],
    mut before: impl FnMut(&[&BeliefRow]) -> Result<Option<Instant>, Error>,
) -> Result<Instant, Error> {
    let mut since = row.opened.at;
    loop {
        let ended: Vec<&BeliefRow> = history
            .iter()
            .filter(|before| {
                before.closed.is_some_and(|closed| closed.at == since) && before.opened.at < since
            })
            .collect();
        match before(&ended)? {
            Some(first) => since = first,
            None => return Ok(since),
        }
    }
}

/// Returns whether two revisions claim the same: of the same, for the same people and the same time.
fn claims_same(one: &ContextObject, other: &ContextObject) -> bool {
    let says = |object: &ContextObject| {
        let (about, said) = SlotClaim::of(object)?;
        let revision = object.revision();
        let multiple = said.multiple;
        Some((about, said.claim, multiple, said.scope, revision.valid()))
    };
    one.revision().object_type() == other.revision().object_type() && says(one) == says(other)
}
