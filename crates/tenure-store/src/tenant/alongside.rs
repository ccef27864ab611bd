//! Proposals: beliefs that await a person's confirmation. They are stored with the current beliefs about the object and change
//! nothing in them until they are confirmed.
//!
//! Of one object, no two proposals overlap in valid time, and no two other beliefs do. A later write of what is believed replaces
//! both for its time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use tenure::object::{Lifecycle, ObjectId, RevisionId, Sealer};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::rows::engine::{BeliefRow, Read, Standing};
use crate::rows::settle::{Settlement, cut, overlap};
use crate::rows::stored::{StoredObject, read_revision};

/// Returns whether any of these is believed, and not only proposed.
pub(crate) fn any_believed<'r>(rows: impl IntoIterator<Item = &'r BeliefRow>) -> bool {
    rows.into_iter().any(|row| !row.waits())
}

/// Returns whether this is a proposal for a time at which something is believed.
pub(crate) fn is_alongside(row: &BeliefRow, rows: &[BeliefRow]) -> bool {
    row.waits() && rows.iter().any(|other| !other.waits() && overlap(other.valid, row.valid))
}

/// The beliefs by which a search finds an object: all but proposals for a time at which something is believed.
pub(crate) fn found(rows: &[BeliefRow]) -> impl Iterator<Item = &BeliefRow> {
    rows.iter().filter(|row| !is_alongside(row, rows))
}

/// Returns whether a search finds an object by other revisions after a settlement than before.
pub(crate) fn finds_others(settlement: &Settlement, current: &[BeliefRow]) -> bool {
    let after: Vec<BeliefRow> = settlement.after(current).cloned().collect();
    let revisions = |rows: &[BeliefRow]| -> BTreeSet<RevisionId> {
        found(rows).map(|row| row.revision).collect()
    };
    revisions(&after) != revisions(current)
}

/// The revision that counts as the last written: of what is believed, where anything is. What only waits says nothing of an
/// object about which something is believed.
pub(crate) fn head_after(standing: &Standing, settlement: &Settlement) -> RevisionId {
    let waited = |revision: RevisionId| {
        let mut all = standing.beliefs.iter();
        all.any(|row| row.waits() && row.revision == revision)
    };
    // What waited and is believed from now on is written now.
    let mut confirmed = settlement.open.iter().filter(|row| !row.waits() && waited(row.revision));
    if let Some(new) = confirmed.next() {
        return new.revision;
    }
    let believed: Vec<&BeliefRow> =
        settlement.after(&standing.beliefs).filter(|row| !row.waits()).collect();
    if believed.iter().any(|row| row.revision == standing.head) {
        return standing.head;
    }
    let last = believed.iter().max_by_key(|row| (row.opened, Reverse(row.part)));
    last.map_or(standing.head, |row| row.revision)
}

/// The head of an object that has this history, as its writes left it; none where there is no history. The order in which a
/// write opened its beliefs is not needed: what it wrote is what goes on from nothing.
pub(crate) fn head_of(history: &[BeliefRow]) -> Option<RevisionId> {
    let mut history: Vec<&BeliefRow> = history.iter().collect();
    history.sort_by_key(|row| row.opened.at);
    let mut head = None;
    let mut written: BTreeSet<(Instant, RevisionId)> = BTreeSet::new();
    let mut before: Vec<&BeliefRow> = Vec::new();
    for opened in history.chunk_by(|one, other| one.opened.at == other.opened.at) {
        let at = opened[0].opened.at;
        before.retain(|row| row.closed.is_none_or(|closed| at <= closed.at));
        let held = before.iter().chain(opened).copied();
        let is_believed = any_believed(held.filter(|row| row.held_at(at)));
        let new: Vec<&BeliefRow> = opened
            .iter()
            .copied()
            .filter(|row| !before.iter().any(|old| goes_on(old, row)))
            .collect();
        // Of several that waited, the last written counts; of several that got another confidence, that of the head.
        let rank = |row: &&&BeliefRow| {
            let own = before.iter().filter(|old| old.valid == row.valid);
            let was_head = own.clone().any(|old| Some(old.revision) == head);
            let waited = own.filter(|old| old.waits()).map(|old| {
                let since = old.opened.at;
                (since, written.contains(&(since, old.revision)))
            });
            (waited.max(), was_head, Reverse(row.valid.from))
        };
        let counts = new.iter().filter(|row| !row.waits() || !is_believed);
        if let Some(row) = counts.max_by_key(rank) {
            head = Some(row.revision);
        }
        written.extend(new.iter().map(|row| (at, row.revision)));
        before.extend(opened);
    }
    let held = history.into_iter().filter(|row| row.closed.is_none());
    let believed: Vec<&BeliefRow> = held.filter(|row| !row.waits()).collect();
    if believed.is_empty() || believed.iter().any(|row| Some(row.revision) == head) {
        return head;
    }
    let last = believed.iter().max_by_key(|row| row.opened.at);
    last.map(|row| row.revision)
}

/// Returns whether a belief is an older one, or what is left of it, perhaps judged otherwise.
fn goes_on(old: &BeliefRow, new: &BeliefRow) -> bool {
    let is_same = old.revision == new.revision && (new.waits() || !old.waits());
    is_same && cut(new.valid, old.valid).is_empty()
}

/// The name that an object goes by once this revision is its head.
pub(crate) fn name_after(
    rows: &mut dyn Read,
    standing: &Standing,
    head: RevisionId,
) -> Result<String, Error> {
    let mut all = standing.beliefs.iter();
    let new = all.find(|row| row.revision == head && head != standing.head);
    let Some(new) = new else {
        return Ok(standing.name.clone());
    };
    let bodies = rows.bodies(&[new])?;
    let body = bodies.get(&head).map_or("", String::as_str);
    // What is damaged has no name.
    let object = read_revision(&mut Sealer::default(), head, body);
    Ok(object.map_or_else(|_| standing.name.clone(), |object| object.name().to_owned()))
}

/// The revisions of objects that wait, or were rejected, and were never believed.
pub(crate) type Proposed = BTreeMap<ObjectId, BTreeSet<RevisionId>>;

/// Those of these objects of which only what waits, or was rejected, says something, and not what is or was believed of them;
/// with the revisions that say it. What is damaged, and was believed, may say anything.
pub(crate) fn only_proposed(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    says_so: impl Fn(&MadeFrom) -> bool,
) -> Result<Proposed, Error> {
    if ids.is_empty() {
        return Ok(Proposed::new());
    }
    let mut ever: BTreeMap<ObjectId, Vec<BeliefRow>> = BTreeMap::new();
    for row in rows.renewed(ids)? {
        ever.entry(row.object).or_default().push(row);
    }
    ever.retain(|_, all| any_believed(&*all) && all.iter().any(BeliefRow::waits));
    if ever.is_empty() {
        return Ok(Proposed::new());
    }
    let bodies = rows.bodies(&ever.values().flatten().collect::<Vec<_>>())?;
    let candidates: Vec<ObjectId> = ever.keys().copied().collect();
    let standing = rows.standing(&candidates)?;
    let mut proposed = Proposed::new();
    for (id, all) in &ever {
        let (waited, believed): (Vec<&BeliefRow>, Vec<&BeliefRow>) = all
            .iter()
            .filter(|row| {
                bodies
                    .get(&row.revision)
                    .and_then(|body| serde_json::from_str(body).ok())
                    .is_none_or(|made| says_so(&made))
            })
            .partition(|row| row.waits());
        let waited: BTreeSet<RevisionId> = waited.iter().map(|row| row.revision).collect();
        // Where nothing else is left, it is all that there is of the object.
        let is_head = standing.get(id).is_none_or(|one| waited.contains(&one.head));
        if believed.is_empty() && !waited.is_empty() && !is_head {
            proposed.insert(*id, waited);
        }
    }
    Ok(proposed)
}

/// The fields that say what a revision was made from, and whose it is.
#[derive(Deserialize, Default)]
pub(crate) struct MadeFrom {
    #[serde(default)]
    pub(crate) derived_from: Vec<ObjectId>,
    #[serde(default)]
    pub(crate) subjects: Vec<String>,
    #[serde(default)]
    pub(crate) user_id: Option<String>,
}

/// Those of these objects of which only what waits, or was rejected, was made from any of `parents`, with the revisions that were.
pub(crate) fn only_proposed_from(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    parents: &BTreeSet<ObjectId>,
) -> Result<Proposed, Error> {
    only_proposed(rows, ids, |made| {
        made.derived_from.iter().any(|id| parents.contains(id))
    })
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

/// The proposals for these objects, of the beliefs that are `asked`, whose names are not bound to entities yet: something else was
/// believed when they were written, and they never were.
pub(crate) fn unbound(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    asked: impl Fn(&BeliefRow) -> bool,
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let mut sealer = Sealer::default();
    let mut found = Vec::new();
    for (id, standing) in rows.standing(ids)? {
        let mut waiting: Vec<&BeliefRow> =
            standing.beliefs.iter().filter(|row| row.waits() && asked(row)).collect();
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

/// Keeps of these the beliefs of an object; all of them where all of them wait for a person.
pub fn believed_first(mut beliefs: Vec<StoredObject>) -> Vec<StoredObject> {
    let waits = |one: &StoredObject| one.lifecycle == Lifecycle::AwaitingConfirmation;
    if !beliefs.iter().all(waits) {
        beliefs.retain(|one| !waits(one));
    }
    beliefs
}
