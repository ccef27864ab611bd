//! What is stale depends on what falls, and what falls on what is stale: a stale row defeats nothing and replaces nothing, and
//! what was made from a row that falls is stale. Each is decided once, after all that it depends on. Only what depends on
//! itself, one way or another, is looked at again, as long as something changes; a row that changes its mind [`TURNS`]
//! times goes round and round, and does not stand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::contradictions::Slots;
use super::stale::{Opened, Parents};
use super::{Retractions, cycles, latest};
use crate::base::time::Instant;
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::object::ObjectId;

/// The times that a row which depends on itself may turn out stale before it stays so.
const TURNS: u8 = 64;

/// Something to decide.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// Is the row stale?
    Stale(u32),
    /// Is the row replaced?
    Superseded(u32),
    /// Which claims on the slot do not stand?
    Slot(usize),
}

/// The answers so far.
struct Answers<'s, 'a> {
    live: &'s Live<'a>,
    slots: &'s Slots<'a>,
    at: Option<Instant>,
    /// The rows of each object, where one is said to be replaced.
    rows: BTreeMap<ObjectId, Vec<u32>>,
    /// The objects that would replace each other in a ring, were all there.
    rings: BTreeMap<ObjectId, usize>,
    parents: &'s BTreeMap<u32, Parents>,
    stale: BTreeMap<u32, Reason>,
    superseded: BTreeMap<u32, u32>,
    /// Of each slot, the rows that do not stand, each with the row that it falls to.
    defeated: BTreeMap<usize, BTreeMap<u32, u32>>,
    turns: BTreeMap<u32, u8>,
}

/// The rows that are stale.
pub(super) fn stale(
    live: &Live<'_>,
    opened: &BTreeMap<ObjectId, Opened>,
    slots: &Slots<'_>,
    at: Option<Instant>,
) -> BTreeMap<u32, Reason> {
    let parents = super::stale::parents(live, opened);
    let mut answers = Answers::new(live, slots, at, &parents);
    for group in answers.groups() {
        match group.as_slice() {
            [one] => drop(answers.decide(*one)),
            _ => answers.settle(&group),
        }
    }
    answers.stale
}

impl<'s, 'a> Answers<'s, 'a> {
    fn new(
        live: &'s Live<'a>,
        slots: &'s Slots<'a>,
        at: Option<Instant>,
        parents: &'s BTreeMap<u32, Parents>,
    ) -> Answers<'s, 'a> {
        let set = live.set;
        let mut rows: BTreeMap<ObjectId, Vec<u32>> = BTreeMap::new();
        let mut rings = BTreeMap::new();
        if live.rows.iter().any(|row| set.row(*row).superseded) {
            for row in &live.rows {
                let id = set.object(*row).revision().object_id();
                rows.entry(id).or_default().push(*row);
            }
            rings = cycles(set, &latest(live, |_| true));
        }
        Answers {
            live,
            slots,
            at,
            rows,
            rings,
            parents,
            stale: BTreeMap::new(),
            superseded: BTreeMap::new(),
            defeated: BTreeMap::new(),
            turns: BTreeMap::new(),
        }
    }

    /// What the answer to a question depends on.
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
                let parents = self.parents.get(&row).into_iter();
                let parents = parents.flat_map(|parents| parents.rows());
                let each = parents.flat_map(|row| {
                    let slots = self.slots.of(row).iter();
                    let slots = slots.map(|slot| Question::Slot(*slot));
                    let own = is_stale(row).into_iter().chain(is_superseded(row));
                    own.chain(slots)
                });
                each.collect()
            }
            Question::Superseded(row) => {
                let object = set.object(row);
                let ring = self.rings.get(&object.revision().object_id());
                let ring = self.rings.iter().filter(|(_, of)| Some(*of) == ring);
                let ring = ring.map(|(id, _)| *id);
                let ids = object.status().superseded_by.into_iter().chain(ring);
                let rows = ids.flat_map(|id| self.rows.get(&id)).flatten();
                rows.filter_map(|row| is_stale(*row)).collect()
            }
            Question::Slot(slot) => {
                let rows = self.slots.rows(slot);
                let each = rows.flat_map(|row| is_stale(row).into_iter().chain(is_superseded(row)));
                each.collect()
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
                    group.iter().for_each(|one| drop(is_open.remove(one)));
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
                let changed = parents.changed(self.live, row, self);
                let was = self.stale.contains_key(&row);
                match changed {
                    Some(reason) => {
                        if !was {
                            self.turns.insert(row, turns + 1);
                        }
                        self.stale.insert(row, reason);
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
            Question::Slot(slot) => {
                let takes_part = |row: u32| {
                    !self.stale.contains_key(&row) && !self.superseded.contains_key(&row)
                };
                let lost = self.slots.lost(self.live, slot, self.at, takes_part);
                let now = lost.into_iter().map(|(row, (by, _))| (row, by)).collect();
                self.defeated.get(&slot) != Some(&now) && {
                    self.defeated.insert(slot, now);
                    true
                }
            }
        }
    }

    /// The row that this one is replaced by, as far as it is there; none where it would come round.
    fn replaced_by(&self, row: u32) -> Option<u32> {
        let set = self.live.set;
        let last = |id: ObjectId| {
            let rows = self.rows.get(&id)?.iter().rev();
            let mut there = rows.filter(|row| !self.stale.contains_key(row));
            there.next().copied()
        };
        let status = |row: u32| set.object(row).status().superseded_by;
        let by = last(status(row)?).filter(|by| *by != row)?;
        let own = set.object(row).revision().object_id();
        if self.rings.contains_key(&own) {
            let mut at = own;
            for _ in 0..=self.rings.len() {
                let Some(next) = last(at).and_then(status).filter(|next| *next != at) else {
                    break;
                };
                if next == own && last(own).is_some() {
                    return None;
                }
                at = next;
            }
        }
        Some(by)
    }
}

impl Retractions for Answers<'_, '_> {
    fn is_stale(&self, row: u32) -> bool {
        self.stale.contains_key(&row)
    }

    fn by(&self, row: u32) -> Option<u32> {
        let superseded = self.superseded.get(&row).copied();
        let slots = || self.slots.of(row).iter();
        superseded.or_else(|| {
            slots().find_map(|slot| self.defeated.get(slot)?.get(&row).copied())
        })
    }
}

/// Notes that a question leads back to another of this number.
fn lower(found: &mut BTreeMap<Question, (usize, usize)>, question: Question, number: usize) {
    if let Some((_, least)) = found.get_mut(&question) {
        *least = number.min(*least);
    }
}
