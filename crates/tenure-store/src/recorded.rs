//! The instant at which an author said what a belief says.
//!
//! Judgements, sweeps, writes about other times, and revisions that change neither the claim nor its time open a belief
//! anew. None of them says the claim again, so none makes it newer than what was said since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::SlotClaim;
use tenure::object::{ObjectId, ObjectType, RevisionId, Sealer, Status};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::engine::{BeliefRow, Read};
use crate::settle::overlap;
use crate::stored::read_revision;

/// A belief with the object as it is believed, and its place.
pub(crate) type Placed = (u64, BeliefRow, Arc<ContextObject>);

/// Returns whether it counts when an object was said: a preference that does not say since when it holds begins then.
pub(crate) fn counts(object: &ContextObject) -> bool {
    let revision = object.revision();
    revision.object_type() == ObjectType::Preference
        && revision.normalized_claim().is_some()
        && revision.valid().from.is_none()
}

/// Those of these beliefs that were opened later than what they say was said, each with the instant of that.
pub(crate) fn with_recorded(
    rows: &mut dyn Read,
    mut held: Vec<Placed>,
) -> Result<Vec<Placed>, Error> {
    held.retain(|(_, _, object)| counts(object));
    if held.is_empty() {
        return Ok(held);
    }
    let ids: BTreeSet<ObjectId> = held.iter().map(|(_, row, _)| row.object).collect();
    let mut histories: BTreeMap<ObjectId, Vec<BeliefRow>> = BTreeMap::new();
    for row in rows.renewed(&ids.into_iter().collect::<Vec<_>>())? {
        histories.entry(row.object).or_default().push(row);
    }
    let mut renewed = Vec::new();
    let mut sealer = Sealer::default();
    for (place, row, object) in held {
        let Some(history) = histories.get(&row.object) else {
            continue;
        };
        let since = said_since(rows, &mut sealer, &row, &object, history)?;
        if since < row.opened.at {
            let status = Status {
                recorded: Some(since),
                ..object.status().clone()
            };
            let object = Arc::new(object.judged(status, *object.usage()));
            renewed.push((place, row, object));
        }
    }
    Ok(renewed)
}

/// The instant since which what a belief says was said, without a gap.
fn said_since(
    rows: &mut dyn Read,
    sealer: &mut Sealer,
    row: &BeliefRow,
    object: &ContextObject,
    history: &[BeliefRow],
) -> Result<Instant, Error> {
    let mut known: BTreeMap<RevisionId, bool> = BTreeMap::from([(row.revision, true)]);
    let mut since = row.opened.at;
    loop {
        let ended = history.iter().filter(|before| {
            let closed = before.closed.is_some_and(|closed| closed.at == since);
            closed && before.opened.at < since && overlap(before.valid, row.valid)
        });
        let ended: Vec<&BeliefRow> = ended.collect();
        let Some(first) = ended.iter().map(|before| before.opened.at).min() else {
            return Ok(since);
        };
        let unread = ended.iter().copied();
        let unread: Vec<&BeliefRow> = unread
            .filter(|before| !known.contains_key(&before.revision))
            .collect();
        if !unread.is_empty() {
            for (revision, body) in rows.bodies(&unread)? {
                // What is damaged says nothing that could be the same.
                let before = read_revision(sealer, revision, &body);
                known.insert(
                    revision,
                    before.is_ok_and(|before| is_same(&before, object)),
                );
            }
        }
        let says = |before: &&BeliefRow| known.get(&before.revision) == Some(&true);
        if !ended.iter().all(says) {
            return Ok(since);
        }
        since = first;
    }
}

/// Returns whether two revisions say the same: of the same, for the same people and the same time.
fn is_same(one: &ContextObject, other: &ContextObject) -> bool {
    let says = |object: &ContextObject| {
        let (about, said) = SlotClaim::of(object)?;
        let revision = object.revision();
        let multiple = said.multiple;
        Some((about, said.claim, multiple, said.scope, revision.valid()))
    };
    one.revision().object_type() == other.revision().object_type() && says(one) == says(other)
}
