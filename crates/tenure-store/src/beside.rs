//! What waits for a person, and lies beside what is believed: it takes no place until it is confirmed.
//!
//! The beliefs about an object that wait overlap no other that waits, and the others overlap none of the others. Until a person
//! decides, what waits changes nothing in what is believed; what is written since is newer, and cuts both.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use tenure::object::{Lifecycle, ObjectId, RevisionId, Sealer};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Error};

use crate::engine::{BeliefRow, Read, Stamp, Standing};
use crate::settle::{Settlement, number, overlap, without};
use crate::stored::{StoredObject, read_revision};

/// Returns whether one of these beliefs is more than a proposal.
pub(crate) fn any_believed<'r>(rows: impl IntoIterator<Item = &'r BeliefRow>) -> bool {
    rows.into_iter().any(|row| !row.waits())
}

/// Returns whether this waits beside something of the same time that does not.
pub(crate) fn is_beside(row: &BeliefRow, rows: &[BeliefRow]) -> bool {
    let over = |other: &BeliefRow| !other.waits() && overlap(other.valid, row.valid);
    row.waits() && rows.iter().any(over)
}

/// The beliefs by which an object is found: all but what waits beside others.
pub(crate) fn found(rows: &[BeliefRow]) -> impl Iterator<Item = &BeliefRow> {
    rows.iter().filter(|row| !is_beside(row, rows))
}

/// The revisions by which an object is found after a settlement, and were not before, or the other way round.
pub(crate) fn finds_others(settlement: &Settlement, current: &[BeliefRow]) -> bool {
    let after: Vec<BeliefRow> = after(settlement, current).cloned().collect();
    let revisions = |rows: &[BeliefRow]| -> BTreeSet<RevisionId> {
        found(rows).map(|row| row.revision).collect()
    };
    revisions(&after) != revisions(current)
}

/// The beliefs that a settlement leaves.
fn after<'s>(
    settlement: &'s Settlement,
    current: &'s [BeliefRow],
) -> impl Iterator<Item = &'s BeliefRow> {
    let stay = current.iter().enumerate();
    let stay = stay.filter(|(at, _)| !settlement.close.contains(at));
    stay.map(|(_, row)| row).chain(&settlement.open)
}

/// Settles what a person, or evidence, says of what is held: `believed` gives what becomes of a belief, and of what waits what is
/// believed of it from now on. That takes the place of what was believed until now, as if it were written now.
pub(crate) fn confirmed(
    current: &[BeliefRow],
    stamp: Stamp,
    believed: impl Fn(&BeliefRow) -> Option<BeliefRow>,
) -> Settlement {
    let mut close = Vec::new();
    let mut begun: Vec<(&BeliefRow, BeliefRow)> = Vec::new();
    for (at, old) in current.iter().enumerate().filter(|(_, row)| row.waits()) {
        if let Some(new) = believed(old) {
            close.push(at);
            begun.push((old, new));
        }
    }
    // The last written comes first, as of a write.
    begun.sort_by_key(|(old, _)| Reverse((old.opened, Reverse(old.part))));
    let mut open: Vec<BeliefRow> = begun.into_iter().map(|(_, new)| new).collect();
    let mut rest = Vec::new();
    for (at, old) in current.iter().enumerate().filter(|(_, row)| !row.waits()) {
        let new = believed(old).unwrap_or_else(|| old.clone());
        let mut parts = vec![old.valid];
        for over in &open {
            let left = parts.iter().flat_map(|part| cut(*part, over.valid));
            parts = left.collect();
        }
        if new == *old && parts == [old.valid] {
            continue;
        }
        close.push(at);
        let left = parts.into_iter();
        rest.extend(left.map(|valid| BeliefRow {
            valid,
            ..new.clone()
        }));
    }
    open.append(&mut rest);
    for row in &mut open {
        (row.opened, row.closed) = (stamp, None);
    }
    number(&mut open);
    Settlement { close, open }
}

/// The rest of a time without another.
fn cut(whole: Interval, part: Interval) -> Vec<Interval> {
    if overlap(whole, part) {
        without(whole, part).collect()
    } else {
        vec![whole]
    }
}

/// The revision that counts as the last written: of what is believed, where anything is. What only waits says nothing of an
/// object about which something is believed.
pub(crate) fn head_after(standing: &Standing, settlement: &Settlement) -> RevisionId {
    let waited = |revision: RevisionId| {
        let mut all = standing.beliefs.iter();
        all.any(|row| row.waits() && row.revision == revision)
    };
    // What waited and is believed from now on is written now.
    let confirmed = settlement.open.iter();
    let mut confirmed = confirmed.filter(|row| !row.waits() && waited(row.revision));
    if let Some(new) = confirmed.next() {
        return new.revision;
    }
    let left: Vec<&BeliefRow> = after(settlement, &standing.beliefs).collect();
    if left.is_empty() || left.iter().any(|row| row.revision == standing.head) {
        return standing.head;
    }
    let believed = left.iter().filter(|row| !row.waits());
    let last = believed.max_by_key(|row| (row.opened, Reverse(row.part)));
    last.map_or(standing.head, |row| row.revision)
}

/// The fields that say what a revision was made from.
#[derive(Deserialize, Default)]
struct MadeFrom {
    #[serde(default)]
    derived_from: Vec<ObjectId>,
}

/// Those of these objects of which only what waits was made from any of `parents`, and not what is believed of them.
pub(crate) fn only_proposed_from(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    parents: &BTreeSet<ObjectId>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut standing = rows.standing(ids)?;
    standing
        .retain(|_, one| any_believed(&one.beliefs) && one.beliefs.iter().any(BeliefRow::waits));
    if standing.is_empty() {
        return Ok(BTreeSet::new());
    }
    let beliefs = standing.values().flat_map(|one| &one.beliefs);
    let bodies = rows.bodies(&beliefs.collect::<Vec<_>>())?;
    let names = |row: &&BeliefRow| {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        let made: MadeFrom = serde_json::from_str(body).unwrap_or_default();
        made.derived_from.iter().any(|id| parents.contains(id))
    };
    standing.retain(|_, one| {
        let mut made = one.beliefs.iter().filter(names).peekable();
        made.peek().is_some() && made.all(BeliefRow::waits)
    });
    Ok(standing.into_keys().collect())
}

/// Returns whether a revision was bound to the entities that it names: it was believed before, or was written when nothing was
/// believed of the object.
fn is_bound(revision: RevisionId, history: &[BeliefRow]) -> bool {
    let believed_before = |at: Instant| {
        let mut believed = history.iter().filter(|row| !row.waits());
        believed.any(|row| row.opened.at < at && row.closed.is_none_or(|closed| at <= closed.at))
    };
    let mut own = history.iter().filter(|row| row.revision == revision);
    own.any(|row| !row.waits() || !believed_before(row.opened.at))
}

/// Those of these objects of which something waits that is not bound to the entities that it names: it was written beside what
/// was believed, and never believed itself.
pub(crate) fn unbound(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let mut sealer = Sealer::default();
    let mut found = Vec::new();
    for (id, standing) in rows.standing(ids)? {
        let mut waiting: Vec<&BeliefRow> =
            standing.beliefs.iter().filter(|row| row.waits()).collect();
        if waiting.is_empty() {
            continue;
        }
        let history = rows.history(id)?;
        waiting.retain(|row| !is_bound(row.revision, &history));
        let bodies = rows.bodies(&waiting)?;
        for row in waiting {
            let body = bodies.get(&row.revision).map_or("", String::as_str);
            found.push(read_revision(&mut sealer, row.revision, body)?);
        }
    }
    Ok(found)
}

/// What is believed of an object, of these; all of them where all of them wait for a person.
pub fn believed_first(mut beliefs: Vec<StoredObject>) -> Vec<StoredObject> {
    let waits = |one: &StoredObject| one.lifecycle == Lifecycle::AwaitingConfirmation;
    if !beliefs.iter().all(waits) {
        beliefs.retain(|one| !waits(one));
    }
    beliefs
}
