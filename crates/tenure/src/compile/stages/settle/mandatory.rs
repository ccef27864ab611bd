//! Objects that must stand and may not be left out over a dispute.
//!
//! Of two claims that nothing tells apart neither stands. That is right for what informs; a rule that must be there would be gone
//! without a word. So such a compile fails, or the rule that stood before stays.

use std::collections::{BTreeMap, BTreeSet};

use super::Defeated;
use super::contradictions::Slots;
use crate::base::error::{Error, ErrorKind};
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::candidates::{Normalized, UNKNOWN};
use crate::input::policy::{DisputedRules, Policy};
use crate::object::{Authority, ObjectId};

/// Returns whether a row must be in the payload whatever else is there.
pub(super) fn is_mandatory(set: &Normalized, row: u32) -> bool {
    let row = set.row(row);
    !row.optional && (row.section.tier().is_fixed() || !row.removable)
}

/// The mandatory rows that stay although others dispute them, by the policy.
///
/// # Errors
///
/// [`ErrorKind::Policy`] that names two which dispute each other, where the policy keeps neither.
pub(super) fn kept(
    live: &Live<'_>,
    slots: &Slots<'_>,
    defeated: &Defeated,
    policy: &Policy,
) -> Result<BTreeSet<u32>, Error> {
    let set = live.set;
    let mut disputed: Vec<(u32, u32)> = defeated
        .iter()
        .filter_map(|(row, (by, reason))| {
            let is_open = matches!(reason, Reason::ConflictingClaimUnresolved { .. });
            (is_open && is_mandatory(set, *row)).then_some((*row, *by))
        })
        .collect();
    if let Some((row, by)) = disputed.first()
        && policy.document().disputed_rules == DisputedRules::Refuse
    {
        return Err(refusal(set, *row, *by));
    }
    // The earlier first; each falls to what stays before it.
    disputed.sort_by_key(|(row, _)| (set.row(*row).tx_from, *row));
    let mut kept: Vec<u32> = Vec::new();
    for (row, by) in disputed {
        let since = set.row(row).tx_from;
        match kept.iter().find(|kept| slots.contradict(**kept, row)) {
            Some(kept) if since == UNKNOWN || set.row(*kept).tx_from == since => {
                return Err(refusal(set, row, *kept));
            }
            Some(_) => {}
            None if since == UNKNOWN => return Err(refusal(set, row, by)),
            None => kept.push(row),
        }
    }
    Ok(kept.into_iter().collect())
}

fn refusal(set: &Normalized, row: u32, other: u32) -> Error {
    let (name, other) = (set.name(row), set.name(other));
    let what =
        format!("`{name}` must go in, and `{other}` contradicts it: nothing says which stands");
    Error::new(ErrorKind::Policy, what)
        .expected("a decision between the two, or one of them that is newer, of higher authority or retired")
        .hint(format!(
            "`tenure conflicts resolve {name} {other} --stands first` decides; the policy's `disputed_rules = \"earlier\"` keeps the one that stood before"
        ))
}

/// The rows that another row of their object outranks, each with that row: who names an object of their own like a rule of the
/// platform or the developer hides none.
pub(super) fn shadows(live: &Live<'_>) -> BTreeMap<u32, u32> {
    let set = live.set;
    let id = |row: u32| set.object(row).revision().object_id();
    let lower: BTreeMap<ObjectId, u32> = set
        .outranked
        .iter()
        .filter(|row| live.is_in(**row))
        .map(|row| (id(*row), *row))
        .collect();
    if lower.is_empty() {
        return BTreeMap::new();
    }
    let rows = live.rows.iter().copied();
    rows.filter(|row| set.row(*row).authority <= Authority::Developer)
        .filter_map(|row| Some((*lower.get(&id(row))?, row)))
        .filter(|(row, over)| set.row(*over).authority < set.row(*row).authority)
        .collect()
}
