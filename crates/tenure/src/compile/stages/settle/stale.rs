//! Objects that were made from others, which have changed since or do not stand.

use std::collections::BTreeMap;

use super::Falls;
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

/// The rows that were made from something that was written or judged after them, or that does not stand, or from nothing
/// but what is over, each with that. What was inferred stands on any that is left. What a row itself took the place of does
/// not make it stale.
/// An object that does not say since when it is believed is of no store, and follows nothing.
pub(super) fn stale(
    live: &Live<'_>,
    opened: &BTreeMap<ObjectId, Opened>,
    falls: &Falls,
) -> BTreeMap<u32, Reason> {
    let set = live.set;
    let mut stale: BTreeMap<u32, Reason> = BTreeMap::new();
    if opened.is_empty() {
        return stale;
    }
    // What was made from something stale is stale, so it is looked for until nothing more is.
    loop {
        let before = stale.len();
        for row in &live.rows {
            let own = set.row(*row).tx_from;
            if own == UNKNOWN || stale.contains_key(row) {
                continue;
            }
            let revision = set.object(*row).revision();
            let parents = revision.derived_from().iter();
            let parents = parents.filter_map(|parent| opened.get(parent));
            let parents = parents.filter(|parent| !parent.parts.contains(row));
            // What it says of now speaks, and not what it said of a time that is over.
            let now = |parts: &[u32]| {
                let mut last = parts.iter().filter(|part| !is_expired(live, **part));
                last.next().or(parts.first()).copied()
            };
            let known: Vec<(u32, i64)> = parents
                .filter_map(|parent| Some((now(&parent.parts)?, parent.from)))
                .collect();
            let is_other = |by: u32| set.object(by).revision().object_id() != revision.object_id();
            let fell = |parent: u32| {
                stale.contains_key(&parent)
                    || is_contradicted(live, parent)
                    || falls.by(parent).is_some_and(is_other)
            };
            let stands = |parent: u32| !fell(parent) && !is_expired(live, parent);
            // What was inferred stands on what is left.
            let is_held = revision.object_type() == ObjectType::InferredBelief
                && known.iter().any(|(parent, _)| stands(*parent));
            let mut each = known.iter().copied();
            let changed = each.find(
                |(parent, from)| {
                    if fell(*parent) { !is_held } else { own < *from }
                },
            );
            let all_expired = known.iter().all(|(parent, _)| is_expired(live, *parent));
            let changed = changed.or_else(|| known.first().copied().filter(|_| all_expired));
            if let Some((parent, _)) = changed {
                let of = set.name(parent);
                stale.insert(*row, Reason::Stale { of });
            }
        }
        if stale.len() == before {
            return stale;
        }
    }
}

/// Returns whether a row was left out since its time is over, or since it is too old.
fn is_expired(live: &Live<'_>, row: u32) -> bool {
    matches!(
        live.verdicts[row as usize],
        Some(Reason::ExpiredValidTime { .. } | Reason::Decayed { .. })
    )
}

/// Returns whether a row was left out since it was judged so.
fn is_contradicted(live: &Live<'_>, row: u32) -> bool {
    matches!(
        live.verdicts[row as usize],
        Some(Reason::Contradicted { .. })
    )
}
