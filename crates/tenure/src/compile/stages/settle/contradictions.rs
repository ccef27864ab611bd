//! Claims of which two cannot both hold: which of them do not stand, in the view of who may see both.

use std::collections::BTreeMap;

use crate::base::time::Instant;
use crate::belief::{Defeat, Ground, Judgement, Loser, SlotClaim, defeats};
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::object::{Decision, ObjectId};

/// The rows whose claims do not stand beside those of the others that take part, each with the row that it falls to and the
/// reason. Decisions that were made on pairs hold; all other pairs are judged by their standing.
pub(super) fn defeated(
    live: &Live<'_>,
    at: Option<Instant>,
    takes_part: impl Fn(u32) -> bool,
) -> BTreeMap<u32, (u32, Reason)> {
    let set = live.set;
    let mut slots: BTreeMap<(&str, &str), Vec<(u32, &SlotClaim)>> = BTreeMap::new();
    for (row, entities, claim) in set.claims().filter(|(row, ..)| takes_part(*row)) {
        for entity in entities {
            let slot = (live.meanings.of.canonical(entity), claim.claim.slot());
            let claims = slots.entry(slot).or_default();
            // Two of its entities may be one.
            if claims.last().is_none_or(|(last, _)| *last != row) {
                claims.push((row, claim));
            }
        }
    }
    let mut reasons = BTreeMap::new();
    for claims in slots.into_values().filter(|claims| claims.len() > 1) {
        let rows: Vec<u32> = claims.iter().map(|(row, _)| *row).collect();
        let claims: Vec<SlotClaim> = claims.into_iter().map(|(_, claim)| claim.clone()).collect();
        let id = |place: usize| set.object(rows[place]).revision().object_id();
        let judged = judged(live, &rows);
        for (place, defeat) in defeats(&claims, at, &judged) {
            // One object, held for two times, contradicts no other than itself.
            if id(place) != id(defeat.by) {
                let by = rows[defeat.by];
                reasons
                    .entry(rows[place])
                    .or_insert_with(|| (by, reason(live, by, &defeat)));
            }
        }
    }
    reasons
}

/// The decisions between these rows, by their places, the lower first.
fn judged(live: &Live<'_>, rows: &[u32]) -> BTreeMap<(usize, usize), Judgement> {
    let set = live.set;
    let mut judged = BTreeMap::new();
    let decides = |row: &&u32| set.object(**row).status().decisions.is_some();
    if !rows.iter().any(|row| decides(&row)) {
        return judged;
    }
    let mut places: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate() {
        let id = set.object(*row).revision().object_id();
        places.entry(id).or_default().push(place);
    }
    for (place, row) in rows.iter().enumerate() {
        let decisions = set.object(*row).status().decisions.iter();
        for decided in decisions.flat_map(|all| all.iter()) {
            for other in places.get(&decided.other).into_iter().flatten() {
                let judgement = Judgement::decided(match decided.stands {
                    Decision::First => Loser::Second,
                    Decision::Second => Loser::First,
                    Decision::Both => Loser::Neither,
                    Decision::Neither => Loser::Both,
                });
                let (pair, judgement) = if place < *other {
                    ((place, *other), judgement)
                } else {
                    ((*other, place), judgement.swapped())
                };
                judged.insert(pair, judgement);
            }
        }
    }
    judged
}

fn reason(live: &Live<'_>, by: u32, defeat: &Defeat) -> Reason {
    let judgement = &defeat.judgement;
    let name = live.set.name(by);
    if judgement.loser == Loser::Both {
        return Reason::ConflictingClaimUnresolved { with: name };
    }
    match judgement.ground {
        Ground::ValidFrom | Ground::Recorded => Reason::Superseded { by: name },
        ground => Reason::Overridden { by: name, ground },
    }
}
