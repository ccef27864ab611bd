//! Stage 7: what cannot stand without what? `keep_with` closures, and the atomic groups of a
//! conversation: a call with all its results, and what follows a turn of the user with that turn.
//!
//! Groups are formed over what is still in, not over all candidates: a hidden turn must not change
//! where an exchange begins.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::ObjectType;
use crate::section::Section;
use crate::stages::normalize::Normalized;
use crate::stages::rank::{Ranked, is_user_turn};
use crate::trace::{Reason, Stage};

/// Ranked objects with what each one brings along.
pub(crate) struct Rescued<'a> {
    pub(crate) ranked: Ranked<'a>,
    /// For rows that need others: all of them, themselves excluded, transitively.
    pub(crate) closures: BTreeMap<u32, Vec<u32>>,
}

/// Omits what misses something that it needs, and lists what the others bring along.
pub(crate) fn rescue(mut ranked: Ranked<'_>) -> Rescued<'_> {
    let live = &mut ranked.planned.resolved.live;
    let set = live.set;
    let grouped = |row: u32| {
        let section = set.row(row).section;
        section == Section::History
            || (set.row(row).rare && !set.object(row).revision().keep_with().is_empty())
    };
    let entered = live.rows.len();
    if !live.rows.iter().any(|row| grouped(*row)) {
        live.pass(Stage::Rescue);
        return Rescued {
            ranked,
            closures: BTreeMap::new(),
        };
    }
    let mut links = Links::default();
    link_names(set, &live.rows, &mut links);
    link_conversation(set, &live.rows, &mut links);

    // Who misses something takes with it whoever needs it, until nothing changes.
    while let Some((row, reason)) = links.next_broken() {
        live.verdicts[row as usize] = Some(reason);
        links.remove(row, |row| set.name(row));
    }
    live.rows
        .retain(|row| live.verdicts[*row as usize].is_none());
    live.stages.push(crate::trace::StageReport {
        stage: Stage::Rescue,
        entered: entered as u32,
        left: live.rows.len() as u32,
    });
    let closures = links.closures();
    Rescued { ranked, closures }
}

#[derive(Default)]
struct Links {
    needs: BTreeMap<u32, BTreeSet<u32>>,
    needed_by: BTreeMap<u32, BTreeSet<u32>>,
    broken: BTreeMap<u32, Reason>,
}

impl Links {
    fn add(&mut self, row: u32, needs: u32) {
        if row != needs {
            self.needs.entry(row).or_default().insert(needs);
            self.needed_by.entry(needs).or_default().insert(row);
        }
    }

    fn next_broken(&mut self) -> Option<(u32, Reason)> {
        self.broken.pop_first()
    }

    fn remove(&mut self, row: u32, name: impl Fn(u32) -> std::sync::Arc<str>) {
        for needed in self.needs.remove(&row).unwrap_or_default() {
            if let Some(holders) = self.needed_by.get_mut(&needed) {
                holders.remove(&row);
            }
        }
        for holder in self.needed_by.remove(&row).unwrap_or_default() {
            self.broken
                .entry(holder)
                .or_insert_with(|| Reason::ClosureMissing { name: name(row) });
        }
    }

    fn closures(&self) -> BTreeMap<u32, Vec<u32>> {
        self.needs
            .keys()
            .map(|row| {
                let mut reached = BTreeSet::new();
                let mut open = vec![*row];
                while let Some(next) = open.pop() {
                    for needed in self.needs.get(&next).into_iter().flatten() {
                        if reached.insert(*needed) {
                            open.push(*needed);
                        }
                    }
                }
                reached.remove(row);
                (*row, reached.into_iter().collect())
            })
            .collect()
    }
}

/// `keep_with` by name: the first of that name that is still in.
fn link_names(set: &Normalized, rows: &[u32], links: &mut Links) {
    let wanted: BTreeSet<&str> = rows
        .iter()
        .filter(|row| set.row(**row).rare)
        .flat_map(|row| set.object(*row).revision().keep_with())
        .map(String::as_str)
        .collect();
    if wanted.is_empty() {
        return;
    }
    let mut named: BTreeMap<&str, u32> = BTreeMap::new();
    for &row in rows {
        let name = set.object(row).revision().name();
        if wanted.contains(name) {
            named.entry(name).or_insert(row);
        }
    }
    for &row in rows {
        for name in set.object(row).revision().keep_with() {
            match named.get(name.as_str()) {
                Some(needed) => links.add(row, *needed),
                None => {
                    links
                        .broken
                        .entry(row)
                        .or_insert_with(|| Reason::ClosureMissing {
                            name: name.as_str().into(),
                        });
                }
            }
        }
    }
}

/// Calls with their results, and turns with the user's turn that they follow. A call and its
/// results need each other; what follows a turn of the user needs that turn, so that no history
/// starts in the middle of an exchange.
fn link_conversation(set: &Normalized, rows: &[u32], links: &mut Links) {
    let history: Vec<u32> = rows
        .iter()
        .copied()
        .filter(|row| set.row(*row).section == Section::History)
        .collect();
    let mut opening: Option<u32> = None;
    let mut group: Option<CallGroup<'_>> = None;
    for &row in &history {
        let revision = set.object(row).revision();
        if set.row(row).object_type == ObjectType::ToolResult {
            let answered = group
                .as_mut()
                .is_some_and(|group| group.answer(row, revision.tool_call_id()));
            if !answered {
                links.broken.insert(row, Reason::OrphanToolResult);
            } else if let Some(opening) = opening {
                links.add(row, opening);
            }
            continue;
        }
        if let Some(group) = group.take() {
            group.close(links);
        }
        if is_user_turn(set, row) {
            opening = Some(row);
        } else if let Some(opening) = opening {
            links.add(row, opening);
        }
        if !revision.tool_calls().is_empty() {
            let open = revision
                .tool_calls()
                .iter()
                .map(|call| call.id.as_str())
                .collect();
            group = Some(CallGroup {
                caller: row,
                open,
                results: Vec::new(),
            });
        }
    }
    if let Some(group) = group {
        group.close(links);
    }
}

/// A turn that calls tools, and the results that follow it.
struct CallGroup<'a> {
    caller: u32,
    open: BTreeSet<&'a str>,
    results: Vec<u32>,
}

impl CallGroup<'_> {
    /// Whether this result answers a call that is still open.
    fn answer(&mut self, row: u32, id: Option<&str>) -> bool {
        let answers = id.is_some_and(|id| self.open.remove(id));
        if answers {
            self.results.push(row);
        }
        answers
    }

    /// Ties the group together, or breaks it when a call was not answered.
    fn close(self, links: &mut Links) {
        if self.open.is_empty() {
            for result in self.results {
                links.add(self.caller, result);
                links.add(result, self.caller);
            }
        } else {
            links.broken.insert(self.caller, Reason::UnansweredToolCall);
            for result in self.results {
                links.broken.insert(result, Reason::OrphanToolResult);
            }
        }
    }
}
