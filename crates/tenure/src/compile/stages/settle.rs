//! Stage 4: what holds at the instants asked for? Valid and transaction time, the store's
//! judgements, supersession.

mod contradictions;
mod retired;
mod stale;

use std::collections::{BTreeMap, BTreeSet};

use crate::base::error::Error;
use crate::base::time::Instant;
use crate::compile::stages::Live;
use crate::compile::stages::resolve::Resolved;
use crate::compile::trace::{Note, Reason, Stage};
use crate::input::candidates::{Normalized, OPEN, UNKNOWN};
use crate::input::policy::{Contradictions, Derived, Policy};
use crate::input::request::Request;
use crate::object::{ContradictionStatus, ObjectId};

/// Admitted objects that hold, and which of them speak of an entity that the task speaks of.
pub(crate) struct Settled<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) related: BTreeSet<u32>,
}

/// Says whether what is too old by its own rule is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retirement {
    /// It is.
    Applies,
    /// It is not: what was retired is found by whoever looks for it.
    Waived,
}

/// Omits what does not hold. Fails where the store damaged something that would have to go in.
pub(crate) fn settle<'a>(
    resolved: Resolved<'a>,
    policy: &Policy,
    request: &Request,
    retirement: Retirement,
) -> Result<Settled<'a>, Error> {
    let Resolved { mut live, related } = resolved;
    let follows = policy.document().derived == Derived::Follow;
    let opened = if follows {
        stale::opened(&live)
    } else {
        BTreeMap::new()
    };
    let set = live.set;
    let now = request.as_of.valid.map(Instant::micros);
    let known = request.as_of.known.map(Instant::micros);
    let is_current = |at: u32| {
        let row = set.row(at);
        now.is_none_or(|now| now < row.valid_until)
            && known.is_none_or(|known| row.tx_from <= known && known < row.tx_until)
    };
    let retired = match retirement {
        Retirement::Applies => retired::retired(&live, policy, request.as_of.valid, is_current),
        Retirement::Waived => BTreeMap::new(),
    };
    // Supersession is a judgement on a pair: it holds only where the caller sees both, and only
    // while the one that replaces holds itself.
    let in_time = |at: u32| {
        let row = set.row(at);
        now.is_none_or(|now| row.valid_from <= now)
            && is_current(at)
            && row.contradiction == ContradictionStatus::Clean
            && !retired.contains_key(&at)
    };
    let replacements: BTreeMap<ObjectId, u32> =
        if live.rows.iter().any(|row| set.row(*row).superseded) {
            let present = live.rows.iter().filter(|row| in_time(**row));
            present
                .map(|row| (set.object(*row).revision().object_id(), *row))
                .collect()
        } else {
            BTreeMap::new()
        };
    let cycles = cycles(set, &replacements);
    let mut lost = None;
    live.judge(Stage::Settle, |at| {
        let row = set.row(at);
        if let Some(now) = now {
            if row.valid_from != UNKNOWN && now < row.valid_from {
                return Some(Reason::NotYetValid {
                    valid_from: Instant::from_micros(row.valid_from),
                });
            }
            if row.valid_until != OPEN && now >= row.valid_until {
                return Some(Reason::ExpiredValidTime {
                    valid_until: Instant::from_micros(row.valid_until),
                });
            }
        }
        if let Some(known) = known {
            if row.tx_from != UNKNOWN && known < row.tx_from {
                return Some(Reason::NotYetKnown {
                    tx_start: Instant::from_micros(row.tx_from),
                });
            }
            if row.tx_until != OPEN && known >= row.tx_until {
                return Some(Reason::NoLongerHeld {
                    tx_end: Instant::from_micros(row.tx_until),
                });
            }
        }
        if row.contradiction != ContradictionStatus::Clean {
            return Some(Reason::Contradicted {
                status: row.contradiction,
            });
        }
        if let Some(reason) = retired.get(&at) {
            return Some(reason.clone());
        }
        if row.superseded
            && let Some(link) = set.object(at).status().superseded_by
            && let Some(by) = replacements.get(&link)
            && *by != at
            && !cycles.contains_key(&set.object(at).revision().object_id())
        {
            return Some(Reason::Superseded { by: set.name(*by) });
        }
        if row.damaged
            && let Some(revision) = set.object(at).status().damaged
        {
            let fixed = row.section.tier().is_fixed() || !row.removable;
            if fixed && !row.optional {
                lost.get_or_insert((at, revision));
            }
            return Some(Reason::Damaged {
                revision: revision.into(),
            });
        }
        None
    });
    if let Some((at, revision)) = lost {
        let what = format!(
            "the stored revision {revision} of `{}` is damaged, and it must go in",
            set.name(at)
        );
        return Err(Error::damaged(what));
    }
    note_cycles(&mut live, &cycles);
    if policy.document().contradictions == Contradictions::Settle {
        let defeated = contradictions::defeated(&live, request.as_of.valid);
        live.judge_further(|at| defeated.get(&at).cloned());
    }
    let stale = stale::stale(&live, &opened);
    live.judge_further(|at| stale.get(&at).cloned());
    Ok(Settled { live, related })
}

/// The objects that replace each other in a cycle, each with a number that the objects of its cycle share. Which of
/// them stands is for a judgement to say, so none of them is taken for replaced.
fn cycles(set: &Normalized, replacements: &BTreeMap<ObjectId, u32>) -> BTreeMap<ObjectId, usize> {
    let next = |id: ObjectId| {
        let row = replacements.get(&id)?;
        let link = set.object(*row).status().superseded_by?;
        (link != id && replacements.contains_key(&link)).then_some(link)
    };
    let mut seen: BTreeMap<ObjectId, usize> = BTreeMap::new();
    let mut cycles = BTreeMap::new();
    for (walk, start) in replacements.keys().enumerate() {
        let mut at = *start;
        while !seen.contains_key(&at) {
            seen.insert(at, walk);
            let Some(link) = next(at) else { break };
            at = link;
        }
        // Back on its own path, which was not known before, it has come round.
        while seen.get(&at) == Some(&walk)
            && next(at).is_some()
            && cycles.insert(at, walk).is_none()
        {
            let Some(link) = next(at) else { break };
            at = link;
        }
    }
    cycles
}

/// Notes each cycle with the candidates that it is made of.
fn note_cycles(live: &mut Live<'_>, cycles: &BTreeMap<ObjectId, usize>) {
    if cycles.is_empty() {
        return;
    }
    let set = live.set;
    let mut told = BTreeSet::new();
    let mut names: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for row in &live.rows {
        let id = set.object(*row).revision().object_id();
        if let Some(cycle) = cycles.get(&id)
            && told.insert(id)
        {
            names.entry(*cycle).or_default().push(set.name(*row));
        }
    }
    let notes = names.into_values();
    let notes = notes.map(|names| Note::SupersessionCycle { names });
    live.notes.extend(notes);
}
