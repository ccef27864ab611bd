//! Stage 4: what holds at the instants asked for? Valid and transaction time, the store's
//! judgements, supersession.

mod contradictions;
mod dependence;
mod mandatory;
mod retired;
mod stale;

use std::collections::{BTreeMap, BTreeSet};

use self::contradictions::{Defeated, Slots};
use crate::base::error::Error;
use crate::base::time::Instant;
use crate::belief::Ground;
use crate::compile::stages::Live;
use crate::compile::stages::resolve::Resolved;
use crate::compile::trace::{Note, Reason, Stage};
use crate::input::candidates::{Normalized, OPEN, Row, UNKNOWN};
use crate::input::policy::{Contradictions, Derived, Policy};
use crate::input::request::Request;
use crate::object::{Authority, ContradictionStatus, ObjectId};

/// Admitted objects that hold, and which of them speak of an entity that the task speaks of.
pub(crate) struct Settled<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) related: BTreeSet<u32>,
    /// The rows that were left out as stale, each with the row of what has changed.
    pub(crate) stale: BTreeMap<u32, u32>,
    /// The refusal of a compile, where nothing says which of two claims stands and one of them must.
    pub(crate) disputed: Option<Error>,
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
    let retired = match retirement {
        Retirement::Applies => retired::retired(&live, policy, request.as_of.valid, |at| {
            let row = set.row(at);
            now.is_none_or(|now| now < row.valid_until)
                && known.is_none_or(|known| row.tx_from <= known && known < row.tx_until)
        }),
        Retirement::Waived => BTreeMap::new(),
    };
    live.judge(Stage::Settle, |at| {
        let out = out_of_time(set.row(at), now, known);
        out.or_else(|| retired.get(&at).cloned())
    });
    let shadows = mandatory::shadows(&live);
    if !shadows.is_empty() {
        live.judge_further(|at| {
            let by = set.name(*shadows.get(&at)?);
            let (ground, quarantined) = (Ground::Authority, false);
            Some(Reason::Overridden {
                by,
                ground,
                quarantined,
            })
        });
    }
    let slots = match policy.document().contradictions {
        Contradictions::Keep => Slots::default(),
        rule => Slots::of(&live, rule),
    };
    let claims = (&slots, request.as_of.valid);
    let mut stale = if opened.is_empty() {
        BTreeMap::new()
    } else {
        dependence::stale(&live, &opened, claims)
    };
    let falls = Falls::of(&live, &stale, claims);
    let (kept, disputed) = match mandatory::kept(&live, &slots, &falls.defeated, policy) {
        Ok(kept) => (kept, None),
        Err(refusal) => (BTreeSet::new(), Some(refusal)),
    };
    let mut lost = None;
    let mut damaged = |at: u32| {
        let row = set.row(at);
        let revision = set.object(at).status().damaged.filter(|_| row.damaged)?;
        if mandatory::is_mandatory(set, at) {
            lost.get_or_insert((at, revision));
        }
        Some(Reason::Damaged {
            revision: revision.into(),
        })
    };
    note_cycles(&mut live, &falls.cycles);
    live.judge_further(|at| {
        falls
            .superseded
            .get(&at)
            .map(|by| Reason::Superseded { by: set.name(*by) })
            .or_else(|| damaged(at))
            .or_else(|| stale.get(&at).map(|of| Reason::Stale { of: set.name(*of) }))
            .or_else(|| {
                let (_, reason) = falls.defeated.get(&at).filter(|_| !kept.contains(&at))?;
                Some(reason.clone())
            })
    });
    if let Some((at, revision)) = lost {
        let what = format!(
            "the stored revision {revision} of `{}` is damaged, and it must go in",
            set.name(at)
        );
        return Err(Error::damaged(what));
    }
    stale.retain(|at, _| matches!(live.verdicts[*at as usize], Some(Reason::Stale { .. })));
    Ok(Settled {
        live,
        related,
        stale,
        disputed,
    })
}

/// The reason for which a row does not hold at the instants asked for, or was judged so, if there is one.
fn out_of_time(row: &Row, now: Option<i64>, known: Option<i64>) -> Option<Reason> {
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
    (row.contradiction != ContradictionStatus::Clean).then_some(Reason::Contradicted {
        status: row.contradiction,
    })
}

/// The rows that fall to others, each with the row that it falls to.
#[derive(Default)]
struct Falls {
    superseded: BTreeMap<u32, u32>,
    defeated: Defeated,
    cycles: BTreeMap<ObjectId, usize>,
}

/// The claims by their slots, and the instant for which they are compared, if for one.
type ClaimsAt<'c, 'a> = (&'c Slots<'a>, Option<Instant>);

impl Falls {
    /// The falls where these rows are stale and defeat nothing.
    fn of(live: &Live<'_>, stale: &BTreeMap<u32, u32>, (slots, at): ClaimsAt<'_, '_>) -> Falls {
        let mut falls = Falls::default();
        let set = live.set;
        // Supersession is a judgement on a pair: it holds only where the caller sees both, and only while the one that
        // replaces holds itself.
        if live.rows.iter().any(|row| set.row(*row).superseded) {
            let replacements = replacements(live, stale);
            falls.cycles = cycles(set, &replacements);
            for row in live.rows.iter().filter(|row| set.row(**row).superseded) {
                let object = set.object(*row);
                let by = object.status().superseded_by.and_then(|by| replacements.get(&by));
                let authority = set.row(*row).authority;
                // What commands is not replaced by what has less to say.
                let may = |by: &&u32| {
                    authority > Authority::Developer || set.row(**by).authority <= authority
                };
                if let Some(by) = by.filter(|by| *by != row).filter(may)
                    && !falls.cycles.contains_key(&object.revision().object_id())
                {
                    falls.superseded.insert(*row, *by);
                }
            }
        }
        falls.defeated = slots.defeated(live, at, |row| {
            !stale.contains_key(&row) && !falls.superseded.contains_key(&row)
        });
        falls
    }
}

/// The objects that may replace others, each with the last of its rows that is not stale.
fn replacements(live: &Live<'_>, stale: &BTreeMap<u32, u32>) -> BTreeMap<ObjectId, u32> {
    let present = live.rows.iter().filter(|row| !stale.contains_key(row));
    present
        .map(|row| (live.set.object(*row).revision().object_id(), *row))
        .collect()
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
    let notes = names.into_values().map(|names| Note::SupersessionCycle { names });
    live.notes.extend(notes);
}
