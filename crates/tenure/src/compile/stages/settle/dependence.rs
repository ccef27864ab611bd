//! The order in which it is decided what is stale and what falls: a stale row defeats nothing and replaces nothing, and what was
//! made from a row that falls is stale. So each is decided once, after all that it depends on. Only what depends on itself,
//! one way or another, is looked at again, as long as something changes; a row that changes its mind [`TURNS`] times goes
//! round and round, and does not stand.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::stale::{Opened, Parents};
use super::{ClaimsAt, cycles, replacements};
use crate::compile::stages::Live;
use crate::object::ObjectId;

/// The times that a row which depends on itself may turn out stale before it stays so.
const TURNS: u8 = 64;

/// Something to decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// Asks whether the row is stale.
    Stale(u32),
    /// Asks whether the row is replaced.
    Superseded(u32),
    /// Asks whether all are there that would replace each other in this ring.
    Ring(usize),
    /// Asks for the claims on the slot that do not stand.
    Slot(usize),
}

/// The answers so far.
struct Answers<'s, 'a> {
    live: &'s Live<'a>,
    claims: ClaimsAt<'s, 'a>,
    /// The rows of each object, where one is said to be replaced.
    rows: BTreeMap<ObjectId, Vec<u32>>,
    /// The objects that would replace each other in a ring, were all there.
    rings: BTreeMap<ObjectId, usize>,
    /// The objects of each ring.
    members: BTreeMap<usize, Vec<ObjectId>>,
    /// The rings of which all are there.
    closed: BTreeSet<usize>,
    parents: &'s BTreeMap<u32, Parents>,
    /// The rows that are stale, each with the row of what has changed.
    stale: BTreeMap<u32, u32>,
    superseded: BTreeMap<u32, u32>,
    /// Of each slot, the rows that do not stand, each with the row that it falls to.
    defeated: BTreeMap<usize, BTreeMap<u32, u32>>,
    turns: BTreeMap<u32, u8>,
    /// The objects that the row that was last asked about was made from, one way or another.
    origins: RefCell<Option<(u32, BTreeSet<ObjectId>)>>,
}

/// The rows that are stale, each with the row of what has changed.
pub(super) fn stale(
    live: &Live<'_>,
    opened: &BTreeMap<ObjectId, Opened>,
    claims: ClaimsAt<'_, '_>,
) -> BTreeMap<u32, u32> {
    let parents = super::stale::parents(live, opened);
    let mut answers = Answers::new(live, claims, &parents);
    for group in answers.groups() {
        if let [one] = group.as_slice() {
            answers.decide(*one);
        } else {
            answers.settle(&group);
        }
    }
    answers.stale
}

impl<'s, 'a> Answers<'s, 'a> {
    fn new(
        live: &'s Live<'a>,
        claims: ClaimsAt<'s, 'a>,
        parents: &'s BTreeMap<u32, Parents>,
    ) -> Answers<'s, 'a> {
        let set = live.set;
        let mut rows: BTreeMap<ObjectId, Vec<u32>> = BTreeMap::new();
        let mut rings = BTreeMap::new();
        let mut members: BTreeMap<usize, Vec<ObjectId>> = BTreeMap::new();
        if live.rows.iter().any(|row| set.row(*row).superseded) {
            for row in &live.rows {
                let id = set.object(*row).revision().object_id();
                rows.entry(id).or_default().push(*row);
            }
            rings = cycles(set, &replacements(live, &BTreeMap::new()));
            for (id, ring) in &rings {
                members.entry(*ring).or_default().push(*id);
            }
        }
        Answers {
            live,
            claims,
            rows,
            rings,
            members,
            closed: BTreeSet::new(),
            parents,
            stale: BTreeMap::new(),
            superseded: BTreeMap::new(),
            defeated: BTreeMap::new(),
            turns: BTreeMap::new(),
            origins: RefCell::default(),
        }
    }

    /// The questions that the answer to one depends on.
    fn depends_on(&self, question: Question) -> Vec<Question> {
        let set = self.live.set;
        let is_stale = |row: u32| {
            let known = self.parents.contains_key(&row);
            known.then_some(Question::Stale(row))
        };
        let is_superseded = |row: u32| {
            let may = self.live.is_in(row) && set.row(row).superseded;
            may.then_some(Question::Superseded(row))
        };
        match question {
            Question::Stale(row) => {
                let parents = self.parents.get(&row).into_iter().flat_map(|parents| parents.rows());
                parents
                    .flat_map(|row| {
                        let slots = self.claims.0.on(row).iter().map(|slot| Question::Slot(*slot));
                        is_stale(row).into_iter().chain(is_superseded(row)).chain(slots)
                    })
                    .collect()
            }
            Question::Superseded(row) => {
                let object = set.object(row);
                let by = object.status().superseded_by;
                let rows = by.and_then(|by| self.rows.get(&by)).into_iter().flatten();
                let ring = self
                    .rings
                    .get(&object.revision().object_id())
                    .map(|ring| Question::Ring(*ring));
                rows.filter_map(|row| is_stale(*row)).chain(ring).collect()
            }
            Question::Ring(ring) => {
                let ids = self.members.get(&ring).into_iter().flatten();
                ids.filter_map(|id| self.rows.get(id))
                    .flatten()
                    .filter_map(|row| is_stale(*row))
                    .collect()
            }
            Question::Slot(slot) => {
                let rows = self.claims.0.rows(slot);
                rows.flat_map(|row| is_stale(row).into_iter().chain(is_superseded(row)))
                    .collect()
            }
        }
    }

    /// The questions on which it depends what is stale, in groups that depend on themselves, each after those that it
    /// depends on. (Tarjan's algorithm, without recursion.)
    fn groups(&self) -> Vec<Vec<Question>> {
        let mut found: BTreeMap<Question, (usize, usize)> = BTreeMap::new();
        let mut open: Vec<Question> = Vec::new();
        let mut is_open: BTreeSet<Question> = BTreeSet::new();
        let mut groups = Vec::new();
        for root in self.parents.keys().map(|row| Question::Stale(*row)) {
            if found.contains_key(&root) {
                continue;
            }
            let mut way: Vec<(Question, std::vec::IntoIter<Question>)> = Vec::new();
            let mut next = Some(root);
            loop {
                if let Some(question) = next.take() {
                    let number = found.len();
                    found.insert(question, (number, number));
                    open.push(question);
                    is_open.insert(question);
                    way.push((question, self.depends_on(question).into_iter()));
                }
                let Some((question, rest)) = way.last_mut() else {
                    break;
                };
                let question = *question;
                if let Some(other) = rest.next() {
                    match found.get(&other).copied() {
                        None => next = Some(other),
                        Some((number, _)) if is_open.contains(&other) => {
                            lower(&mut found, question, number);
                        }
                        Some(_) => {}
                    }
                    continue;
                }
                way.pop();
                let Some((number, least)) = found.get(&question).copied() else {
                    continue;
                };
                if let Some((above, _)) = way.last() {
                    lower(&mut found, *above, least);
                }
                if number == least {
                    let from = open.iter().rposition(|one| *one == question).unwrap_or(0);
                    let mut group = open.split_off(from);
                    for one in &group {
                        is_open.remove(one);
                    }
                    group.sort_unstable();
                    groups.push(group);
                }
            }
        }
        groups
    }

    /// Decides what depends on itself: again and again, until nothing changes.
    fn settle(&mut self, group: &[Question]) {
        let mut dependents: BTreeMap<Question, Vec<Question>> = BTreeMap::new();
        for question in group {
            for other in self.depends_on(*question) {
                dependents.entry(other).or_default().push(*question);
            }
        }
        let mut queue: VecDeque<Question> = group.iter().copied().collect();
        let mut queued: BTreeSet<Question> = group.iter().copied().collect();
        while let Some(question) = queue.pop_front() {
            queued.remove(&question);
            if self.decide(question) {
                for other in dependents.get(&question).into_iter().flatten() {
                    if queued.insert(*other) {
                        queue.push_back(*other);
                    }
                }
            }
        }
    }

    /// Decides one question by what is known; says whether the answer changed.
    fn decide(&mut self, question: Question) -> bool {
        match question {
            Question::Stale(row) => {
                let turns = self.turns.get(&row).copied().unwrap_or(0);
                let Some(parents) = self.parents.get(&row).filter(|_| turns < TURNS) else {
                    return false;
                };
                let id = |row: u32| self.live.set.object(row).revision().object_id();
                // What a row itself took the place of does not make it stale, nor does what something made from it did.
                let fell = |parent: u32| {
                    self.stale.contains_key(&parent)
                        || self
                            .falls_to(parent)
                            .is_some_and(|by| id(by) != id(row) && !self.is_made_from(by, id(row)))
                };
                let changed = parents.stale(self.live, row, fell);
                let was = self.stale.contains_key(&row);
                match changed {
                    Some(of) => {
                        if !was {
                            self.turns.insert(row, turns + 1);
                        }
                        self.stale.insert(row, of);
                        !was
                    }
                    None => self.stale.remove(&row).is_some(),
                }
            }
            Question::Superseded(row) => {
                let now = self.replaced_by(row);
                let before = match now {
                    Some(by) => self.superseded.insert(row, by),
                    None => self.superseded.remove(&row),
                };
                before != now
            }
            Question::Ring(ring) => {
                let is_closed = self.is_closed(ring);
                let was = self.closed.contains(&ring);
                if is_closed {
                    self.closed.insert(ring);
                } else {
                    self.closed.remove(&ring);
                }
                was != is_closed
            }
            Question::Slot(slot) => {
                let (slots, at) = self.claims;
                let lost = slots.defeated_on(slot, self.live, at, |row| {
                    !self.stale.contains_key(&row) && !self.superseded.contains_key(&row)
                });
                let now = lost.into_iter().map(|(row, (by, _))| (row, by)).collect();
                self.defeated.get(&slot) != Some(&now) && {
                    self.defeated.insert(slot, now);
                    true
                }
            }
        }
    }

    /// Returns whether a row was made from an object, one way or another.
    fn is_made_from(&self, row: u32, object: ObjectId) -> bool {
        let mut origins = self.origins.borrow_mut();
        if origins.as_ref().is_none_or(|(of, _)| *of != row) {
            let rows = |row: u32| self.parents.get(&row).into_iter().flat_map(Parents::rows);
            let mut all = BTreeSet::new();
            let mut open: Vec<u32> = rows(row).collect();
            while let Some(row) = open.pop() {
                if all.insert(self.live.set.object(row).revision().object_id()) {
                    open.extend(rows(row));
                }
            }
            *origins = Some((row, all));
        }
        origins.as_ref().is_some_and(|(_, all)| all.contains(&object))
    }

    /// The last row of an object that is not stale.
    fn last(&self, id: ObjectId) -> Option<u32> {
        let mut rows = self.rows.get(&id)?.iter().rev();
        rows.find(|row| !self.stale.contains_key(row)).copied()
    }

    fn superseded_by(&self, row: u32) -> Option<ObjectId> {
        self.live.set.object(row).status().superseded_by
    }

    /// Returns whether the objects of a ring are there, each of them replaced by the next.
    fn is_closed(&self, ring: usize) -> bool {
        let ids = self.members.get(&ring).map_or(&[][..], Vec::as_slice);
        let mut seen = BTreeSet::new();
        let mut next = ids.first().copied();
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            next = self.last(id).and_then(|row| self.superseded_by(row));
        }
        next.is_some() && next == ids.first().copied() && seen.len() == ids.len()
    }

    /// The row that this one is replaced by, as far as it is there; none where it would come round.
    fn replaced_by(&self, row: u32) -> Option<u32> {
        let own = self.live.set.object(row).revision().object_id();
        let ring = self.rings.get(&own);
        if ring.is_some_and(|ring| self.closed.contains(ring)) {
            return None;
        }
        let by = self.last(self.superseded_by(row)?);
        by.filter(|by| *by != row)
    }

    /// The row that a row falls to, if it does.
    fn falls_to(&self, row: u32) -> Option<u32> {
        let superseded = self.superseded.get(&row).copied();
        let slots = || self.claims.0.on(row).iter();
        superseded.or_else(|| slots().find_map(|slot| self.defeated.get(slot)?.get(&row).copied()))
    }
}

/// Notes that a question leads back to another of this number.
fn lower(found: &mut BTreeMap<Question, (usize, usize)>, question: Question, number: usize) {
    if let Some((_, least)) = found.get_mut(&question) {
        *least = number.min(*least);
    }
}
