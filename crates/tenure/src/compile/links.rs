//! Links between candidates that cannot stand without each other: `keep_with` closures, and the atomic groups of a
//! conversation.
//!
//! Not a stage: the plan asks whether what it froze can still stand, the ranking what the mandatory
//! brings along, and rescue ties what is left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::compile::trace::Reason;
use crate::input::candidates::Normalized;
use crate::object::section::Section;
use crate::object::{MAX_CALLS, ObjectType, ToolCall};

/// The most objects that one may bring along: the results of a turn with as many calls as it may
/// have, and as many again.
pub(crate) const MAX_CLOSURE: usize = 2 * MAX_CALLS;

/// The needs among some rows.
#[derive(Clone, Default)]
pub(crate) struct Links<'a> {
    /// The ties of a conversation: no other row of the same name will do.
    needs: BTreeMap<u32, BTreeSet<u32>>,
    needed_by: BTreeMap<u32, BTreeSet<u32>>,
    /// The names that each row is kept with.
    wants: BTreeMap<u32, &'a [String]>,
    /// The names that something is kept with.
    named: BTreeMap<&'a str, Named>,
    broken: BTreeMap<u32, Reason>,
}

/// The rows of a name. Who is kept with it needs the first that is still in: looked up when it is
/// asked for, so that many of a name may leave, and many be kept with it.
#[derive(Clone, Default)]
struct Named {
    /// In order; the first is still in.
    rows: VecDeque<u32>,
    /// The rows that are kept with the name.
    holders: BTreeSet<u32>,
}

impl<'a> Links<'a> {
    /// The links among these rows. Groups are formed over what is still in, not over all
    /// candidates: a hidden turn must not change where an exchange begins. A result follows its call at once, but where
    /// the target `pairs_by_id`.
    pub(crate) fn over(set: &'a Normalized, rows: &[u32], pairs_by_id: bool) -> Links<'a> {
        let grouped = |row: u32| {
            let section = set.row(row).section;
            section == Section::History
                || (set.row(row).rare && !set.object(row).revision().keep_with().is_empty())
        };
        let mut links = Links::default();
        if rows.iter().any(|row| grouped(*row)) {
            link_names(set, rows, &mut links);
            link_conversation(set, rows, pairs_by_id, &mut links);
        }
        links
    }

    /// Takes out what misses something that it needs, with whoever needs it, until nothing changes.
    pub(crate) fn break_off(&mut self, set: &Normalized) -> BTreeMap<u32, Reason> {
        let mut gone = BTreeMap::new();
        while let Some((row, reason)) = self.broken.pop_first() {
            gone.insert(row, reason);
            self.remove(row, set, &gone);
        }
        gone
    }

    /// The rows that need more than [`MAX_CLOSURE`] others: a chain that long is a mistake or an
    /// attack, and following it for each of its members would cost the square of its length.
    pub(crate) fn overlong(&self, set: &Normalized) -> BTreeSet<u32> {
        let mut overlong = BTreeSet::new();
        for &row in self.needs.keys().chain(self.wants.keys()) {
            if !overlong.contains(&row) && self.closure(row, MAX_CLOSURE).is_none() {
                // Whoever needs it, near or far, brings along no fewer.
                let mut open = vec![row];
                while let Some(next) = open.pop() {
                    if overlong.insert(next) {
                        open.extend(self.needed_by.get(&next).into_iter().flatten());
                        let named = self.named.get(set.object(next).name());
                        let first = named.filter(|named| named.rows.front() == Some(&next));
                        open.extend(first.into_iter().flat_map(|named| &named.holders));
                    }
                }
            }
        }
        overlong
    }

    /// All that `row` needs, itself excluded, or `None` when that is more than `most`.
    fn closure(&self, row: u32, most: usize) -> Option<BTreeSet<u32>> {
        let mut reached = BTreeSet::from([row]);
        let mut open = vec![row];
        while let Some(next) = open.pop() {
            for needed in self.direct(next) {
                if reached.insert(needed) {
                    if reached.len() - 1 > most {
                        return None;
                    }
                    open.push(needed);
                }
            }
        }
        reached.remove(&row);
        Some(reached)
    }

    /// The row and all that it needs, near and far, but for what was reached before.
    pub(crate) fn reach(&self, row: u32, reached: &mut BTreeSet<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        let mut open = vec![row];
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                found.push(next);
                open.extend(self.direct(next));
            }
        }
        found
    }

    /// All that these rows need, near and far, themselves excluded unless one needs another.
    pub(crate) fn needed(&self, rows: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        let mut reached = BTreeSet::new();
        // Most objects are kept with nothing.
        if self.needs.is_empty() && self.wants.is_empty() {
            return reached;
        }
        let mut open: Vec<u32> = rows.filter(|row| self.ties(*row)).collect();
        while let Some(next) = open.pop() {
            for needed in self.direct(next) {
                if reached.insert(needed) {
                    open.push(needed);
                }
            }
        }
        reached
    }

    /// Returns whether `row` may need others.
    pub(crate) fn ties(&self, row: u32) -> bool {
        self.needs.contains_key(&row) || self.wants.contains_key(&row)
    }

    /// All that `row` needs, itself excluded, in order.
    pub(crate) fn of(&self, row: u32) -> impl Iterator<Item = u32> + use<> {
        let needed = if self.ties(row) {
            self.closure(row, usize::MAX)
        } else {
            None
        };
        needed.into_iter().flatten()
    }

    /// Returns the direct needs of `row`.
    fn direct(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        let tied = self.needs.get(&row).into_iter().flatten().copied();
        let names = self.wants.get(&row).into_iter().copied().flatten();
        tied.chain(names.filter_map(|name| self.named.get(name.as_str())?.rows.front().copied()))
            .filter(move |needed| *needed != row)
    }

    /// From now on `row` cannot stand without `needs`.
    pub(crate) fn tie(&mut self, row: u32, needs: u32) {
        if row != needs {
            self.needs.entry(row).or_default().insert(needs);
            self.needed_by.entry(needs).or_default().insert(row);
        }
    }

    /// Takes out one row. Whoever was kept with its name turns to the next of that name.
    fn remove(&mut self, row: u32, set: &Normalized, gone: &BTreeMap<u32, Reason>) {
        for needed in self.needs.remove(&row).unwrap_or_default() {
            if let Some(holders) = self.needed_by.get_mut(&needed) {
                holders.remove(&row);
            }
        }
        for name in self.wants.remove(&row).unwrap_or_default() {
            if let Some(named) = self.named.get_mut(name.as_str()) {
                named.holders.remove(&row);
            }
        }
        let mut left = self.needed_by.remove(&row).unwrap_or_default();
        for holder in &left {
            if let Some(needs) = self.needs.get_mut(holder) {
                needs.remove(&row);
            }
        }
        if let Some(named) = self.named.get_mut(set.object(row).name()) {
            while named.rows.pop_front_if(|first| gone.contains_key(first)).is_some() {}
            if named.rows.is_empty() {
                left.append(&mut named.holders);
            }
        }
        for holder in left {
            self.broken.entry(holder).or_insert_with(|| Reason::ClosureMissing {
                name: set.name(row),
            });
        }
    }
}

/// `keep_with` by name: the first of that name that is still in.
fn link_names<'a>(set: &'a Normalized, rows: &[u32], links: &mut Links<'a>) {
    let wanted: BTreeSet<&str> = rows
        .iter()
        .filter(|row| set.row(**row).rare)
        .flat_map(|row| set.object(*row).revision().keep_with())
        .map(String::as_str)
        .collect();
    if wanted.is_empty() {
        return;
    }
    for &row in rows {
        let name = set.object(row).name();
        if wanted.contains(name) {
            links.named.entry(name).or_default().rows.push_back(row);
        }
    }
    for &row in rows {
        let wants = set.object(row).revision().keep_with();
        for name in wants {
            match links.named.get_mut(name.as_str()) {
                Some(named) => {
                    named.holders.insert(row);
                }
                None => {
                    links.broken.entry(row).or_insert_with(|| Reason::ClosureMissing {
                        name: name.as_str().into(),
                    });
                }
            }
        }
        if !wants.is_empty() {
            links.wants.insert(row, wants);
        }
    }
}

/// Calls with their results, and turns with the user's turn that they follow. A call and its
/// results need each other; what follows a turn of the user needs that turn, so that no history
/// starts in the middle of an exchange.
fn link_conversation(set: &Normalized, rows: &[u32], pairs_by_id: bool, links: &mut Links<'_>) {
    let history: Vec<u32> = rows
        .iter()
        .copied()
        .filter(|row| set.row(*row).section == Section::History)
        .collect();
    let mut opening: Option<u32> = None;
    let mut waiting = Waiting::default();
    for &row in &history {
        let revision = set.object(row).revision();
        if set.row(row).object_type == ObjectType::ToolResult {
            if !waiting.answer(row, revision.tool_call_id()) {
                links.broken.insert(row, Reason::OrphanToolResult);
            } else if let Some(opening) = opening {
                links.tie(row, opening);
            }
            continue;
        }
        if !pairs_by_id {
            waiting.close(links);
        }
        if set.is_user_turn(row) {
            opening = Some(row);
        } else if let Some(opening) = opening {
            links.tie(row, opening);
        }
        if !revision.tool_calls().is_empty() {
            waiting.call(row, revision.tool_calls());
        }
    }
    waiting.close(links);
}

/// The turns that called tools, whose results may still come.
#[derive(Default)]
struct Waiting<'a> {
    groups: Vec<CallGroup<'a>>,
    /// In which group each call waits for its result: the latest of that id.
    of: BTreeMap<&'a str, usize>,
}

impl<'a> Waiting<'a> {
    fn call(&mut self, caller: u32, calls: &'a [ToolCall]) {
        let group = self.groups.len();
        self.of.extend(calls.iter().map(|call| (call.id.as_str(), group)));
        self.groups.push(CallGroup {
            caller,
            open: calls.iter().map(|call| call.id.as_str()).collect(),
            results: Vec::new(),
        });
    }

    /// Returns whether this result answers a call that is still open.
    fn answer(&mut self, row: u32, id: Option<&str>) -> bool {
        id.and_then(|id| self.of.remove(id))
            .and_then(|group| self.groups.get_mut(group))
            .is_some_and(|group| group.answer(row, id))
    }

    /// No more results come.
    fn close(&mut self, links: &mut Links<'_>) {
        self.of.clear();
        for group in self.groups.drain(..) {
            group.close(links);
        }
    }
}

/// A turn that calls tools, and the results that follow it.
struct CallGroup<'a> {
    caller: u32,
    open: BTreeSet<&'a str>,
    results: Vec<u32>,
}

impl CallGroup<'_> {
    /// Returns whether this result answers a call that is still open.
    fn answer(&mut self, row: u32, id: Option<&str>) -> bool {
        let answers = id.is_some_and(|id| self.open.remove(id));
        if answers {
            self.results.push(row);
        }
        answers
    }

    /// Ties the group together, or breaks it when a call was not answered.
    fn close(self, links: &mut Links<'_>) {
        if self.open.is_empty() {
            for result in self.results {
                links.tie(self.caller, result);
                links.tie(result, self.caller);
            }
        } else {
            links.broken.insert(self.caller, Reason::UnansweredToolCall);
            for result in self.results {
                links.broken.insert(result, Reason::OrphanToolResult);
            }
        }
    }
}
