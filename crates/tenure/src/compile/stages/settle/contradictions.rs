//! Claims of which two cannot both hold: which of them do not stand, in the view of who may see both.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::time::Instant;
use crate::belief::{Defeat, Ground, Judgement, Loser, SlotClaim, defeats};
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::policy::Contradictions;
use crate::object::{Decided, Decision, ObjectId};

/// The claims of the rows that are in and whole, by entity and slot: of those slots that have several.
#[derive(Default)]
pub(super) struct Slots<'a> {
    claims: Vec<Vec<(u32, &'a SlotClaim)>>,
    /// The slots of each row.
    of: BTreeMap<u32, Vec<usize>>,
    /// Quarantine of what higher authority overrides.
    quarantines: bool,
}

/// The rows that do not stand, each with the row that it falls to and the reason.
pub(super) type Defeated = BTreeMap<u32, (u32, Reason)>;

impl<'a> Slots<'a> {
    pub(super) fn of(live: &Live<'a>, rule: Contradictions) -> Slots<'a> {
        let set = live.set;
        let mut slots: BTreeMap<(&str, &str), Vec<(u32, &SlotClaim)>> = BTreeMap::new();
        let all = set.claims();
        for (row, entities, claim) in
            all.filter(|(row, ..)| live.is_in(*row) && !set.row(*row).damaged)
        {
            for entity in entities {
                let slot = (live.meanings.of.canonical(entity), claim.claim.slot());
                let claims = slots.entry(slot).or_default();
                // Two of its entities may be one.
                if claims.last().is_none_or(|(last, _)| *last != row) {
                    claims.push((row, claim));
                }
            }
        }
        let claims: Vec<Vec<(u32, &SlotClaim)>> =
            slots.into_values().filter(|claims| claims.len() > 1).collect();
        let mut of: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (slot, claims) in claims.iter().enumerate() {
            for (row, _) in claims {
                of.entry(*row).or_default().push(slot);
            }
        }
        Slots {
            claims,
            of,
            quarantines: rule == Contradictions::Quarantine,
        }
    }

    /// The slots of a row on which there are others.
    pub(super) fn on(&self, row: u32) -> &[usize] {
        self.of.get(&row).map_or(&[], Vec::as_slice)
    }

    /// Returns whether two rows claim of one slot what cannot both hold.
    pub(super) fn contradict(&self, one: u32, other: u32) -> bool {
        let claim = |slot: usize, row: u32| {
            let claims = self.claims.get(slot).into_iter().flatten();
            claims.copied().find(|(at, _)| *at == row)
        };
        self.on(one).iter().any(|slot| {
            claim(*slot, one)
                .zip(claim(*slot, other))
                .is_some_and(|((_, one), (_, other))| !one.agrees_with(other))
        })
    }

    /// The rows that claim something of a slot.
    pub(super) fn rows(&self, slot: usize) -> impl Iterator<Item = u32> {
        let claims = self.claims.get(slot).into_iter().flatten();
        claims.map(|(row, _)| *row)
    }

    /// The rows whose claims do not stand beside those of the others that take part, on all slots: each by the first of its
    /// slots. Decisions that were made on pairs hold; all other pairs are judged by their standing.
    pub(super) fn defeated(
        &self,
        live: &Live<'_>,
        at: Option<Instant>,
        takes_part: impl Fn(u32) -> bool,
    ) -> Defeated {
        let mut defeated = BTreeMap::new();
        for slot in 0..self.claims.len() {
            for (row, fall) in self.defeated_on(slot, live, at, &takes_part) {
                defeated.entry(row).or_insert(fall);
            }
        }
        defeated
    }

    /// Like `defeated`, on one slot.
    pub(super) fn defeated_on(
        &self,
        slot: usize,
        live: &Live<'_>,
        at: Option<Instant>,
        takes_part: impl Fn(u32) -> bool,
    ) -> Defeated {
        let mut reasons = BTreeMap::new();
        let claims = self
            .claims
            .get(slot)
            .into_iter()
            .flatten()
            .filter(|(row, _)| takes_part(*row))
            .copied();
        let (rows, claims): (Vec<u32>, Vec<&SlotClaim>) = claims.unzip();
        if rows.len() < 2 {
            return reasons;
        }
        let id = |place: usize| live.set.object(rows[place]).revision().object_id();
        for (place, defeat) in defeats(&claims, at, &judged(live, &rows)) {
            // One object, held for two times, contradicts no other than itself.
            if id(place) != id(defeat.by) {
                let by = rows[defeat.by];
                let reason = self.reason(live.set.name(by), &defeat);
                reasons.insert(rows[place], (by, reason));
            }
        }
        reasons
    }

    fn reason(&self, by: Arc<str>, defeat: &Defeat) -> Reason {
        let judgement = &defeat.judgement;
        if judgement.loser == Loser::Both && judgement.ground != Ground::Person {
            return Reason::ConflictingClaimUnresolved { with: by };
        }
        match judgement.ground {
            Ground::ValidFrom | Ground::Recorded => Reason::Superseded { by },
            ground => Reason::Overridden {
                by,
                ground,
                quarantined: self.quarantines && ground == Ground::Authority,
            },
        }
    }
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
    let mut decisions: Vec<(usize, &Decided)> = rows
        .iter()
        .enumerate()
        .flat_map(|(place, row)| {
            let own = set.object(*row).status().decisions.iter();
            own.flat_map(|all| all.iter()).map(move |decided| (place, decided))
        })
        .filter(|(_, decided)| {
            let merged = decided.merged.as_deref();
            let of = &live.meanings.of;
            merged.is_none_or(|[own, their]| of.canonical(own) == of.canonical(their))
        })
        .collect();
    // What was decided without a merge goes before what comes back with one.
    decisions.sort_by_key(|(_, decided)| decided.merged.is_some());
    for (place, decided) in decisions {
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
            judged.entry(pair).or_insert(judgement);
        }
    }
    judged
}
