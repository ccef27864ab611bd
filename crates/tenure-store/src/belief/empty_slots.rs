//! Slots that a decision or a confirmation would leave empty: no claim on them would stand, and none would wait.

use std::collections::{BTreeMap, BTreeSet};

use tenure::belief::{Defeat, Ground, Judgement, Loser, SlotClaim, defeats};
use tenure::object::{ObjectId, clip};
use tenure::time::{Instant, Interval, Position};
use tenure::{Error, ErrorKind};

use crate::belief::claims::{Kept, MOST_OPPONENTS, claims_of, kept, slots_of};
use crate::rows::engine::{PairRow, Write};
use crate::rows::labels::{Sees, open_whole};
use crate::tenant::handle::Tenant;

/// The most instants of a slot that are looked at, the last ones: a write waits for it.
const MOST_INSTANTS: usize = 256;

/// The claims on one slot that are compared, by their objects.
pub(crate) struct OnSlot {
    pub(crate) ids: Vec<ObjectId>,
    claims: Vec<SlotClaim>,
    /// The decisions of persons between them.
    pub(crate) decisions: BTreeMap<(ObjectId, ObjectId), Loser>,
}

impl OnSlot {
    /// The strongest claims on a slot of entities, and those of these objects.
    pub(crate) fn read(
        rows: &mut dyn Write,
        entities: &[String],
        slot: &str,
        mut members: BTreeSet<ObjectId>,
    ) -> Result<OnSlot, Error> {
        for key in slots_of(rows, entities, slot)? {
            members.extend(rows.on_slot(key, MOST_OPPONENTS)?);
        }
        let members: Vec<ObjectId> = members.into_iter().collect();
        let (mut ids, mut claims) = (Vec::new(), Vec::new());
        for (id, own) in claims_of(rows, &members)? {
            let mut own: Vec<SlotClaim> = own
                .into_iter()
                .filter(|(entity, claim)| entities.contains(entity) && claim.claim.slot() == slot)
                .map(|(_, claim)| claim)
                .collect();
            own.dedup();
            ids.extend(own.iter().map(|_| id));
            claims.extend(own);
        }
        let mut decided: Vec<(PairRow, Kept)> = Vec::new();
        for row in rows.decided_among(&members)? {
            let kept = kept(&row)?;
            let is_named = |id: &str| entities.iter().any(|one| one == id);
            if kept.slot == slot && kept.named().into_iter().all(is_named) {
                decided.push((row, kept));
            }
        }
        // As in a compile: what needs no merge goes before what does, and what was decided last before the rest.
        decided.sort_by_key(|(row, kept)| (kept.merged.is_none(), row.opened));
        let decisions =
            decided.into_iter().map(|(row, kept)| ((row.first, row.second), kept.loser));
        Ok(OnSlot {
            ids,
            claims,
            decisions: decisions.collect(),
        })
    }

    fn holds(&self, place: usize, at: Instant) -> bool {
        self.claims[place].standing.valid.locate(at) == Position::Inside
    }

    /// The last instants at which something else may stand than before while all of these objects claim something: at most
    /// [`MOST_INSTANTS`] of them.
    pub(crate) fn instants(&self, objects: &[ObjectId]) -> Vec<Instant> {
        let parts: Vec<Vec<Interval>> = objects
            .iter()
            .map(|id| {
                let mut own: Vec<Interval> = self
                    .ids
                    .iter()
                    .zip(&self.claims)
                    .filter(|(of, _)| *of == id)
                    .map(|(_, claim)| claim.standing.valid)
                    .collect();
                own.sort_unstable_by_key(|valid| valid.from);
                own
            })
            .collect();
        // Of one object, one part holds at a time: the last that has begun.
        let holds = |all: &Vec<Interval>, at: Instant| {
            let begun = all.partition_point(|valid| valid.from.is_none_or(|from| from <= at));
            let last = all[..begun].last();
            last.is_some_and(|valid| valid.locate(at) == Position::Inside)
        };
        let valid = self.claims.iter().map(|claim| claim.standing.valid);
        let mut ends: BTreeSet<Instant> =
            valid.flat_map(|valid| [valid.from, valid.until]).flatten().collect();
        let before = ends.first().map_or(0, |first| first.micros());
        ends.insert(Instant::from_micros(before.saturating_sub(1)));
        ends.into_iter()
            .rev()
            .filter(|at| parts.iter().all(|own| holds(own, *at)))
            .take(MOST_INSTANTS)
            .collect()
    }

    /// The places of the claims that are held at an instant.
    pub(crate) fn at(&self, at: Instant) -> Vec<usize> {
        let places = 0..self.ids.len();
        places.filter(|place| self.holds(*place, at)).collect()
    }

    /// Those of these claims that do not stand under these decisions, by their places among these.
    pub(crate) fn defeats(
        &self,
        held: &[usize],
        at: Instant,
        decisions: &BTreeMap<(ObjectId, ObjectId), Loser>,
    ) -> BTreeMap<usize, Defeat> {
        let mut judged = BTreeMap::new();
        for (place, first) in held.iter().enumerate() {
            for (other, second) in held.iter().enumerate().skip(place + 1) {
                let pair = (self.ids[*first], self.ids[*second]);
                if let Some(loser) = decisions.get(&pair) {
                    judged.insert((place, other), Judgement::decided(*loser));
                }
            }
        }
        let claims: Vec<&SlotClaim> = held.iter().map(|place| &self.claims[*place]).collect();
        defeats(&claims, Some(at), &judged)
    }
}

/// Returns whether of `held` claims none stands and none waits for a decision.
pub(crate) fn is_empty_slot(held: usize, lost: &BTreeMap<usize, Defeat>) -> bool {
    lost.len() == held
        && !lost.values().any(|defeat| {
            defeat.judgement.loser == Loser::Both && defeat.judgement.ground != Ground::Person
        })
}

/// The refusal of a `decision` or a `confirmation` after which nothing would stand, where some of it is hidden. One sentence for
/// all of that: neither what it is nor how much is told.
pub(crate) fn nothing_would_stand(what: &str) -> Error {
    let what = format!("after this {what} nothing would stand, with what you may not see");
    Error::new(ErrorKind::Conflict, what)
        .expected("a claim that stands, or one that waits for a decision")
        .hint("who may see more can decide between others first")
}

impl Tenant {
    /// The names of those of these objects that a caller may see whole: of what is seen in part, the other part may be in the
    /// way.
    pub(crate) fn names_seen(
        &self,
        ids: &[ObjectId],
        sees: Option<&Sees<'_>>,
    ) -> Result<BTreeMap<ObjectId, String>, Error> {
        self.read(|rows| {
            let open: Vec<ObjectId> =
                open_whole(rows, &self.name, ids, sees)?.into_iter().collect();
            let standing = rows.standing(&open)?.into_iter();
            let names = standing.map(|(id, standing)| (id, clip(&standing.name)));
            Ok(names.collect())
        })
    }
}
