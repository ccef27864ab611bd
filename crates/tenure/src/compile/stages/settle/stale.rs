//! Objects that were made from others, which have changed since or do not stand.

use std::collections::BTreeMap;

use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::candidates::UNKNOWN;
use crate::object::{ObjectId, ObjectType};

/// An object that others were made from.
pub(super) struct Opened {
    /// The rows of its parts.
    parts: Vec<u32>,
    /// Since when it is believed: the latest of its parts counts.
    from: i64,
}

/// The rows among these, which the caller was admitted to, by their objects, and since when each is believed.
pub(super) fn opened(live: &Live<'_>) -> BTreeMap<ObjectId, Opened> {
    let set = live.set;
    let derives = |row: &u32| !set.object(*row).revision().derived_from().is_empty();
    if !live.rows.iter().any(derives) {
        return BTreeMap::new();
    }
    let mut opened: BTreeMap<ObjectId, Opened> = BTreeMap::new();
    for row in &live.rows {
        let id = set.object(*row).revision().object_id();
        let from = set.row(*row).tx_from;
        let parts = Vec::new();
        let known = opened.entry(id).or_insert(Opened { parts, from });
        known.from = known.from.max(from);
        known.parts.push(*row);
    }
    opened
}

/// The objects that a row was made from, of those that the caller was admitted to.
pub(super) struct Parents {
    /// Since when the row itself is believed.
    own: i64,
    /// The row that speaks for each, and since when that is believed.
    known: Vec<(u32, i64)>,
}

/// The parents of the rows that are in. An object that does not say since when it is believed is of no store, and
/// follows nothing.
pub(super) fn parents(
    live: &Live<'_>,
    opened: &BTreeMap<ObjectId, Opened>,
) -> BTreeMap<u32, Parents> {
    let set = live.set;
    let mut all = BTreeMap::new();
    for row in &live.rows {
        let own = set.row(*row).tx_from;
        if own == UNKNOWN {
            continue;
        }
        let parents = set
            .object(*row)
            .revision()
            .derived_from()
            .iter()
            .filter_map(|parent| opened.get(parent))
            .filter(|parent| !parent.parts.contains(row));
        // What it says of now speaks, and not what it said of a time that is over.
        let now = |parts: &[u32]| {
            let mut last = parts.iter().filter(|part| !is_expired(live, **part));
            last.next().or(parts.first()).copied()
        };
        let known: Vec<(u32, i64)> =
            parents.filter_map(|parent| Some((now(&parent.parts)?, parent.from))).collect();
        if !known.is_empty() {
            all.insert(*row, Parents { own, known });
        }
    }
    all
}

impl Parents {
    /// The rows that speak for them.
    pub(super) fn rows(&self) -> impl Iterator<Item = u32> {
        self.known.iter().map(|(parent, _)| *parent)
    }

    /// The row of what has changed, where the row that was made from these is stale since some `fell`: it was made from something
    /// that was written or judged after it, or that does not stand, or from nothing but what is over. What was inferred stands on
    /// any that is left.
    pub(super) fn stale(
        &self,
        live: &Live<'_>,
        row: u32,
        fell: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let set = live.set;
        let fell = |parent: u32| is_contradicted(live, parent) || fell(parent);
        let is_inferred = set.object(row).revision().object_type() == ObjectType::InferredBelief;
        // What was inferred stands on what is left.
        let is_held =
            is_inferred && self.rows().any(|parent| !fell(parent) && !is_expired(live, parent));
        let mut each = self.known.iter().copied();
        let changed = each.find(|(parent, from)| {
            if fell(*parent) {
                !is_held
            } else {
                self.own < *from
            }
        });
        let all_expired = || self.rows().all(|parent| is_expired(live, parent));
        let changed = changed.or_else(|| self.known.first().copied().filter(|_| all_expired()));
        changed.map(|(parent, _)| parent)
    }
}

/// Returns whether a row was left out since its time is over, or since it is too old.
fn is_expired(live: &Live<'_>, row: u32) -> bool {
    matches!(
        live.verdicts[row as usize],
        Some(
            Reason::ExpiredValidTime { .. }
                | Reason::Decayed { .. }
                | Reason::AwaitingConfirmation { .. }
        )
    )
}

/// Returns whether a row was left out since it was judged so.
fn is_contradicted(live: &Live<'_>, row: u32) -> bool {
    matches!(
        live.verdicts[row as usize],
        Some(Reason::Contradicted { .. })
    )
}
