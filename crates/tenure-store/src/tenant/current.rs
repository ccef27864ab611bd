//! Beliefs of now, and those that begin in this write: a write looks at them to judge what is inferred.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::SlotClaim;
use tenure::object::{ContradictionStatus, ObjectId, Sealer, Usage};
use tenure::{ContextObject, Error};

use crate::rows::engine::{BeliefRow, Read};
use crate::rows::labels::Parts;
use crate::rows::stored::{believed, read_revision};

/// The most objects on a slot whose claims are evidence: the strongest.
pub(crate) const MOST_EVIDENCE: u32 = 1_024;

/// The objects that are believed now, active and clean, each at the latest time for which it is.
pub(crate) fn current(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeMap<ObjectId, Arc<ContextObject>>, Error> {
    current_where(rows, ids, Err)
}

/// Finds those that are whole: what is damaged is reported by the check.
pub(crate) fn current_whole(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeMap<ObjectId, Arc<ContextObject>>, Error> {
    current_where(rows, ids, |_| Ok(()))
}

fn current_where(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    damaged: impl Fn(Error) -> Result<(), Error>,
) -> Result<BTreeMap<ObjectId, Arc<ContextObject>>, Error> {
    let standing = rows.standing(ids)?;
    let beliefs: Vec<_> = standing
        .values()
        .flat_map(|standing| &standing.beliefs)
        .filter(|row| row.speaks())
        .collect();
    let bodies = rows.bodies(&beliefs)?;
    let mut sealer = Sealer::default();
    let mut held: BTreeMap<ObjectId, Arc<ContextObject>> = BTreeMap::new();
    for row in beliefs {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        let object = match read_revision(&mut sealer, row.revision, body) {
            Ok(object) => object,
            Err(error) => {
                damaged(error)?;
                continue;
            }
        };
        let object = believed(&object, row, Usage::default(), None);
        let later = held.get(&row.object);
        if later.is_none_or(|later| later.valid().from < object.valid().from) {
            held.insert(row.object, object);
        }
    }
    Ok(held)
}

/// The object as it is believed, or waits for a person.
pub(crate) fn current_or_pending(
    rows: &mut dyn Read,
    id: ObjectId,
) -> Result<Option<Arc<ContextObject>>, Error> {
    if let Some(own) = current(rows, &[id])?.remove(&id) {
        return Ok(Some(own));
    }
    pending(rows, id)
}

/// The object as it waits for a person, of the latest time for which it does.
pub(crate) fn pending(
    rows: &mut dyn Read,
    id: ObjectId,
) -> Result<Option<Arc<ContextObject>>, Error> {
    let standing = rows.standing(&[id])?.remove(&id);
    let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
    let waits = |row: &&BeliefRow| row.contradiction == ContradictionStatus::Clean && row.waits();
    let Some(row) = beliefs.iter().rev().find(waits) else {
        return Ok(None);
    };
    let bodies = rows.bodies(&[row])?;
    let body = bodies.get(&row.revision).map_or("", String::as_str);
    let object = read_revision(&mut Sealer::default(), row.revision, body)?;
    Ok(Some(believed(&object, row, Usage::default(), None)))
}

/// The object as each part of it waits for a person, by valid time: of these parts.
pub(crate) fn all_pending(
    rows: &mut dyn Read,
    id: ObjectId,
    parts: &Parts,
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let standing = rows.standing(&[id])?.remove(&id);
    let mut waits = standing.map_or(Vec::new(), |standing| standing.beliefs);
    waits.retain(|row| {
        row.contradiction == ContradictionStatus::Clean && row.waits() && parts.have(row)
    });
    let bodies = rows.bodies(&waits.iter().collect::<Vec<_>>())?;
    let mut sealer = Sealer::default();
    waits
        .iter()
        .map(|row| {
            let body = bodies.get(&row.revision).map_or("", String::as_str);
            let object = read_revision(&mut sealer, row.revision, body)?;
            Ok(believed(&object, row, Usage::default(), None))
        })
        .collect()
}

/// Objects that the same write makes, by id.
#[derive(Default)]
pub(crate) struct Fresh {
    objects: BTreeMap<ObjectId, Arc<ContextObject>>,
    /// The ids of those with a claim on a slot of an entity.
    by_slot: BTreeMap<(String, String), BTreeSet<ObjectId>>,
}

impl Fresh {
    /// Adds an object.
    pub(crate) fn insert(&mut self, id: ObjectId, object: Arc<ContextObject>) {
        if let Some((entities, claim)) = SlotClaim::of(&object) {
            for entity in entities {
                let slot = (entity, claim.claim.slot().to_owned());
                self.by_slot.entry(slot).or_default().insert(id);
            }
        }
        self.objects.insert(id, object);
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, id: &ObjectId) {
        self.objects.remove(id);
    }

    /// The object with this id.
    pub(crate) fn get(&self, id: &ObjectId) -> Option<&Arc<ContextObject>> {
        self.objects.get(id)
    }

    /// Those with a claim on a slot of one of these entities: so many as the store gives of a slot.
    pub(crate) fn on_slot(&self, entities: &[String], slot: &str) -> BTreeSet<ObjectId> {
        let each = entities
            .iter()
            .filter_map(|entity| {
                let slot = (entity.clone(), slot.to_owned());
                self.by_slot.get(&slot)
            })
            .flat_map(|ids| ids.iter().take(MOST_EVIDENCE as usize));
        each.filter(|id| self.objects.contains_key(id)).copied().collect()
    }
}
