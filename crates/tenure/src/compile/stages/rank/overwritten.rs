//! Of objects of one authority that claim one slot of the same entities the later one stands alone, where the policy says
//! so.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::time::Instant;
use crate::belief::{Standing, about};
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::candidates::UNKNOWN;
use crate::input::policy::Policy;
use crate::object::claim::{Op, WrittenClaim};
use crate::object::{Authority, ObjectType, SlotCardinality};

/// Omits what a later object overwrites. What `must` stand does, whatever is said later. A claim about nobody may be about
/// anything: it overwrites nothing, but a preference and a fact about a user, which are about the user whom nobody names.
pub(super) fn omit(live: &mut Live<'_>, policy: &Policy, must: impl Fn(u32) -> bool) {
    if !policy.document().guidance.last_writer() {
        return;
    }
    let set = live.set;
    let meanings = Arc::clone(&live.meanings);
    // The rows of a slot, of the same entities and the same people, each with when it came to hold.
    let mut slots: BTreeMap<_, Vec<(i64, i64, u32)>> = BTreeMap::new();
    for &at in live.rows.iter().filter(|row| set.row(**row).rare) {
        let row = set.row(at);
        let rare = set.object(at).revision().rare();
        let single = rare.slot_cardinality != Some(SlotCardinality::Multiple);
        let claim = rare.normalized_claim.as_deref().and_then(WrittenClaim::read);
        let Some(claim) = claim.filter(|claim| claim.op == Op::Is && single) else {
            continue;
        };
        if row.authority == Authority::Data {
            continue;
        }
        let canonical = about(set.object(at)).map(|id| meanings.of.canonical(id));
        let mut entities: Vec<&str> = canonical.collect();
        entities.sort_unstable();
        let kind = set.object(at).revision().object_type();
        let of_user = matches!(kind, ObjectType::Preference | ObjectType::IdentityFact);
        if entities.is_empty() && !of_user {
            continue;
        }
        if !meanings.of.is_empty() {
            entities.dedup();
        }
        let slot = claim.slot.into_owned();
        let scope = set.scopes[row.scope as usize].as_ref();
        let rows = slots.entry((slot, entities, row.authority, scope)).or_default();
        let standing = Standing::of(set.object(at));
        let begin = standing.begin().map_or(UNKNOWN, Instant::micros);
        rows.push((begin, row.tx_from, at));
    }
    let mut over = BTreeMap::new();
    for rows in slots.values().filter(|rows| rows.len() > 1) {
        let Some((_, _, last)) = rows.iter().max() else {
            continue;
        };
        let earlier = rows.iter().map(|(_, _, row)| *row);
        over.extend(earlier.filter(|row| row != last).map(|row| (row, *last)));
    }
    if over.is_empty() {
        return;
    }
    live.judge_further(|row| {
        let by = over.get(&row).filter(|_| !must(row))?;
        Some(Reason::Overwritten { by: set.name(*by) })
    });
}
