//! Pairs of claims that cannot both hold because the entities that they are about were merged, in the view of who may see why.
//!
//! Whether they are a pair depends on the view, so no write keeps a judgement on them: it is made as somebody asks, by the function
//! that a compile takes. What a person decides between them is kept with the ids that the two objects name, and shown and
//! acts where both ids mean one.

use std::collections::{BTreeMap, BTreeSet};

use tenure::Error;
use tenure::belief::SlotClaim;
use tenure::belief::entity::{EntityEntry, EntityOp};
use tenure::object::{ObjectId, Sealer, Usage};
use tenure::time::Instant;

use crate::belief::claims::{Kept, MOST_OPPONENTS, judged, kept, pair_row, slot_key};
use crate::entity::resolution::{LOG, entries, folded};
use crate::rows::engine::{PairRow, Read, Stamp};
use crate::rows::labels::{Sees, open_whole};
use crate::rows::stored::{believed, read_revision};

/// The registry in a view, and what is asked of it here.
pub(crate) struct Merges {
    entities: tenure::belief::entity::Entities,
    /// The instant of the last merge of each id.
    at: BTreeMap<String, Instant>,
    seen: BTreeSet<ObjectId>,
}

/// A claim, with the ids of the one entity that it names.
type Claim = (BTreeSet<String>, SlotClaim);

/// The claims on slots, by canonical id and slot, by object.
type Slots = BTreeMap<(String, String), BTreeMap<ObjectId, Claimant>>;

/// The claims of an object on a slot.
struct Claimant {
    claims: Vec<Claim>,
    /// The latest write of them.
    opened: Stamp,
}

impl Merges {
    /// The merges as they stand, or stood at an instant, for a caller; none where nothing is merged.
    pub(crate) fn read(
        rows: &mut dyn Read,
        tenant: &str,
        known: Option<Instant>,
        sees: Option<&Sees<'_>>,
    ) -> Result<Option<Merges>, Error> {
        if rows.last(LOG)? == 0 {
            return Ok(None);
        }
        let mut all: Vec<EntityEntry> = entries(rows)?;
        all.retain(|entry| known.is_none_or(|known| entry.at <= known));
        let mut at = BTreeMap::new();
        for entry in &all {
            if let EntityOp::Merge { id, .. } = &entry.does {
                at.insert(id.clone(), entry.at);
            }
        }
        let entities = folded(&all);
        at.retain(|id, _| entities.is_merged(id));
        if at.is_empty() {
            return Ok(None);
        }
        let mut sources = BTreeSet::new();
        entities.sources_of_all(at.keys().map(String::as_str), &mut sources);
        // What came from an object acts while that is believed.
        let mut held = Vec::with_capacity(sources.len());
        for source in sources {
            let is_held = match known {
                None => !rows.held_labels(&[source])?.is_empty(),
                Some(known) => !rows.held(source, known)?.is_empty(),
            };
            if is_held {
                held.push(source);
            }
        }
        let seen = open_whole(rows, tenant, &held, sees)?;
        Ok(Some(Merges { entities, at, seen }))
    }

    /// The canonical id of an id in this view.
    pub(crate) fn meant<'e>(&'e self, id: &'e str) -> Option<&'e str> {
        self.entities.meant(id, &|source| self.seen.contains(&source))
    }

    /// Returns whether a merge makes these one, in this view.
    pub(crate) fn join(&self, [one, other]: &[String; 2]) -> bool {
        self.meant(one).is_some_and(|one| Some(one) == self.meant(other))
    }

    /// The judgements on pairs that only a merge makes, of objects that a caller may see: the first `most` that are wanted, by the
    /// ids of both objects, and what else there is of the last two.
    pub(crate) fn pairs(
        &self,
        rows: &mut dyn Read,
        tenant: &str,
        (known, sees): (Option<Instant>, Option<&Sees<'_>>),
        most: usize,
        is_wanted: &dyn Fn(&PairRow) -> bool,
    ) -> Result<Vec<PairRow>, Error> {
        let Some(key) = rows.key()? else {
            return Ok(Vec::new());
        };
        let slots = self.slots(rows, tenant, known, sees)?;
        let mut pairs = First::new(most);
        for ((entity, _), claimants) in slots {
            // The strongest stand against all, as in a write.
            let mut all: Vec<(ObjectId, Claimant)> = claimants.into_iter().collect();
            let strength = |claimant: &Claimant| {
                let standings = claimant.claims.iter().map(|(_, claim)| &claim.standing);
                standings
                    .map(|standing| {
                        let from = standing.valid.from.map(Instant::micros);
                        (standing.authority, std::cmp::Reverse(from))
                    })
                    .min()
            };
            all.sort_by_cached_key(|(id, claimant)| (strength(claimant), *id));
            for (place, (id, one)) in all.iter().enumerate() {
                for (other_id, other) in all.iter().take(MOST_OPPONENTS as usize).take(place) {
                    let row = self.pair(&key, &entity, (*id, one), (*other_id, other))?;
                    if let Some(row) = row.filter(is_wanted) {
                        pairs.add(row);
                    }
                }
            }
        }
        Ok(pairs.into_rows())
    }

    /// The judgements on two objects, with those that a merge makes, but for what is decided between the two.
    pub(crate) fn with_made(
        &self,
        rows: &mut dyn Read,
        tenant: &str,
        sees: Option<&Sees<'_>>,
        (first, second): (ObjectId, ObjectId),
        mut judged: Vec<PairRow>,
    ) -> Result<Vec<PairRow>, Error> {
        let open = judged.iter().filter(|row| row.closed.is_none());
        let known = self.acting(open.cloned().collect())?;
        judged.extend(self.pairs(rows, tenant, (None, sees), usize::MAX, &|row| {
            (row.first, row.second) == (first, second) && !known.contains(&pair_on_slot(row))
        })?);
        Ok(judged)
    }

    /// The pairs and slots of those of these judgements that a merge makes in this view.
    pub(crate) fn acting(&self, judged: Vec<PairRow>) -> Result<BTreeSet<PairOnSlot>, Error> {
        let mut acting = BTreeSet::new();
        for row in judged {
            let kept = kept(&row)?;
            if kept.merged.as_ref().is_some_and(|ids| self.join(ids)) {
                acting.insert((row.first, row.second, kept.slot));
            }
        }
        Ok(acting)
    }

    fn pair(
        &self,
        key: &[u8; 32],
        entity: &str,
        one: (ObjectId, &Claimant),
        other: (ObjectId, &Claimant),
    ) -> Result<Option<PairRow>, Error> {
        let ((first, ours), (second, theirs)) = if one.0 < other.0 {
            (one, other)
        } else {
            (other, one)
        };
        let mut opened = ours.opened.max(theirs.opened);
        let pairs = ours
            .claims
            .iter()
            .flat_map(|ours| theirs.claims.iter().map(move |theirs| (ours, theirs)));
        let mut latest: Option<(Option<Instant>, &Claim, &Claim)> = None;
        for (ours, theirs) in pairs {
            let Some(judgement) = ours.1.against(&theirs.1) else {
                continue;
            };
            // What both name themselves is judged by writes.
            if !ours.0.is_disjoint(&theirs.0) {
                return Ok(None);
            }
            let from = judgement.window.from;
            if latest.is_none_or(|(known, ..)| known <= from) {
                latest = Some((from, ours, theirs));
            }
        }
        let Some((_, ours, theirs)) = latest else {
            return Ok(None);
        };
        let Some(kept) = judged(&[(entity, &ours.1)], &[(entity, &theirs.1)]) else {
            return Ok(None);
        };
        let (Some(own), Some(their)) = (ours.0.first(), theirs.0.first()) else {
            return Ok(None);
        };
        let joined = self
            .entities
            .joined_by(own, their, &|source| self.seen.contains(&source))
            .into_iter();
        for at in joined.filter_map(|id| self.at.get(id)) {
            opened.at = opened.at.max(*at);
        }
        let merged = Some([own.clone(), their.clone()]);
        let kept = Kept { merged, ..kept };
        let row = PairRow {
            first,
            second,
            slot: pair_key(key, &kept),
            opened,
            closed: None,
            body: String::new(),
        };
        pair_row(&row, &kept).map(Some)
    }

    /// The claims on the slots of entities that are merged, by canonical id and slot, by object.
    fn slots(
        &self,
        rows: &mut dyn Read,
        tenant: &str,
        known: Option<Instant>,
        sees: Option<&Sees<'_>>,
    ) -> Result<Slots, Error> {
        let mut sealer = Sealer::default();
        let mut found: Vec<(ObjectId, Vec<String>, SlotClaim, Stamp)> = Vec::new();
        rows.each_held(known, &mut |_, row, body| {
            if !row.speaks() || !body.contains("\"normalized_claim\"") {
                return Ok(());
            }
            // What is damaged claims nothing.
            let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                return Ok(());
            };
            let object = believed(&object, &row, Usage::default(), None);
            if let Some((entities, claim)) = SlotClaim::of(&object)
                && entities.iter().any(|id| self.entities.is_merged(id))
            {
                found.push((row.object, entities, claim, row.opened));
            }
            Ok(())
        })?;
        let ids: Vec<ObjectId> = found
            .iter()
            .map(|(id, ..)| *id)
            .collect::<BTreeSet<ObjectId>>()
            .into_iter()
            .collect();
        let open = open_whole(rows, tenant, &ids, sees)?;
        let mut slots = Slots::new();
        for (id, entities, claim, opened) in found {
            if !open.contains(&id) {
                continue;
            }
            let mut named: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for entity in &entities {
                if let Some(canonical) = self.meant(entity) {
                    named.entry(canonical).or_default().insert(entity.clone());
                }
            }
            for (canonical, entities) in named {
                let slot = (canonical.to_owned(), claim.claim.slot().to_owned());
                let own = slots.entry(slot).or_default().entry(id).or_insert_with(|| Claimant {
                    claims: Vec::new(),
                    opened,
                });
                own.opened = own.opened.max(opened);
                own.claims.push((entities, claim.clone()));
            }
        }
        Ok(slots)
    }
}

/// Two objects and the slot on which they are judged.
pub(crate) type PairOnSlot = (ObjectId, ObjectId, String);

/// The two objects of a judgement and its slot; no slot where it cannot be read.
pub(crate) fn pair_on_slot(row: &PairRow) -> PairOnSlot {
    let slot = kept(row).map_or(String::new(), |kept| kept.slot);
    (row.first, row.second, slot)
}

/// The first judgements, by the ids of both objects, of those that are added; what is of the same two objects stays together.
struct First {
    most: usize,
    count: usize,
    rows: BTreeMap<(ObjectId, ObjectId), Vec<PairRow>>,
}

impl First {
    fn new(most: usize) -> First {
        First {
            most,
            count: 0,
            rows: BTreeMap::new(),
        }
    }

    fn add(&mut self, row: PairRow) {
        let of = (row.first, row.second);
        self.rows.entry(of).or_default().push(row);
        self.count += 1;
        while let Some(last) = self.rows.last_entry() {
            let without = self.count - last.get().len();
            if without < self.most {
                break;
            }
            last.remove();
            self.count = without;
        }
    }

    fn into_rows(self) -> Vec<PairRow> {
        let mut rows: Vec<PairRow> = self.rows.into_values().flatten().collect();
        rows.sort_by_key(|row| (row.first, row.second, row.slot));
        rows
    }
}

/// The key of a judgement: of the entity and the slot; of a pair that a merge makes, of the two ids and the slot.
pub(crate) fn pair_key(key: &[u8; 32], kept: &Kept) -> i64 {
    match &kept.merged {
        Some(ids) => slot_key(key, &ids.join("\u{1f}"), &kept.slot),
        None => slot_key(key, &kept.entity, &kept.slot),
    }
}
