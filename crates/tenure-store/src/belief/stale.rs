//! Stale objects: a compile leaves them out since what they were made from has changed. They are found without reading
//! what nothing was made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::object::{Lifecycle, ObjectId, Sealer};
use tenure::request::AsOf;
use tenure::time::Instant;
use tenure::{Candidates, ContextObject, Error, Policy, Principal, Request};

use crate::belief::claims::Decisions;
use crate::rows::engine::Read;
use crate::rows::labels::{Sees, open};
use crate::rows::settle::in_valid_time;
use crate::rows::stored::{believed, read_revision};
use crate::tenant::since::{Placed, with_recorded};

/// The most objects that are read at once.
pub(crate) const AT_ONCE: usize = 4_096;

/// An object that was made from something that has changed since.
pub(crate) struct Stale {
    pub(crate) object: Arc<ContextObject>,
    /// Object that has changed.
    pub(crate) of: ObjectId,
}

/// Finds what a compile of this caller leaves out as stale at an instant, under the policy `standard`, by id: one part
/// of each object. What is damaged is reported by the check.
pub(crate) fn stale(
    rows: &mut dyn Read,
    tenant: &str,
    now: Instant,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<Stale>, Error> {
    let made = rows.made()?;
    if made.is_empty() {
        return Ok(Vec::new());
    }
    let mut around = Around::new(tenant, sees);
    around.read_all(rows, made)?;
    let objects = around.believed(rows)?;
    // The caller sees all that is left: no label hides it again.
    let candidates = Candidates::new(objects.clone()).said();
    let request = Request {
        principal: Principal {
            tenant: tenant.to_owned(),
            ..Principal::default()
        },
        as_of: AsOf {
            valid: Some(now),
            known: None,
        },
        ..Request::default()
    };
    let found = tenure::stale(&Policy::preset("standard")?, &request, &candidates)?;
    let mut stale: BTreeMap<ObjectId, Stale> = BTreeMap::new();
    for (at, of) in found {
        let object = Arc::clone(&objects[at]);
        let of = objects[of].revision().object_id();
        let id = object.revision().object_id();
        stale.entry(id).or_insert(Stale { object, of });
    }
    Ok(stale.into_values().collect())
}

/// The active beliefs that decide what is stale, as far as a caller may see them: about what was made from others and
/// what that was made from; about what claims something of the slots of these parents; and about what replaces any of them.
struct Around<'s> {
    tenant: &'s str,
    sees: Option<&'s Sees<'s>>,
    sealer: Sealer,
    read: BTreeSet<ObjectId>,
    placed: Vec<Placed>,
    /// Objects that others were made from, and the slots that were looked at for it.
    parents: BTreeSet<ObjectId>,
    slots: BTreeSet<i64>,
}

impl<'s> Around<'s> {
    fn new(tenant: &'s str, sees: Option<&'s Sees<'s>>) -> Around<'s> {
        Around {
            tenant,
            sees,
            sealer: Sealer::default(),
            read: BTreeSet::new(),
            placed: Vec::new(),
            parents: BTreeSet::new(),
            slots: BTreeSet::new(),
        }
    }

    /// Reads these objects, and what they lead to.
    fn read_all(&mut self, rows: &mut dyn Read, ids: Vec<ObjectId>) -> Result<(), Error> {
        let mut next = ids;
        while !next.is_empty() {
            next.retain(|id| self.read.insert(*id));
            let mut found = BTreeSet::new();
            for ids in next.chunks(AT_ONCE) {
                self.read_some(rows, ids, &mut found)?;
            }
            next = found.into_iter().collect();
        }
        Ok(())
    }

    fn read_some(
        &mut self,
        rows: &mut dyn Read,
        ids: &[ObjectId],
        found: &mut BTreeSet<ObjectId>,
    ) -> Result<(), Error> {
        let standing = rows.standing(ids)?;
        let places: BTreeMap<ObjectId, u64> =
            standing.iter().map(|(id, standing)| (*id, standing.place)).collect();
        let held = standing
            .into_values()
            .flat_map(|one| one.beliefs)
            .filter(|row| row.lifecycle == Lifecycle::Active);
        // Before the bodies of what is hidden are read.
        let held = open(self.tenant, held.collect(), None, self.sees)?;
        let bodies = rows.bodies(&held.iter().collect::<Vec<_>>())?;
        let mut parents = BTreeSet::new();
        for row in held {
            let body = bodies.get(&row.revision).map_or("", String::as_str);
            let Ok(object) = read_revision(&mut self.sealer, row.revision, body) else {
                continue;
            };
            parents.extend(object.revision().derived_from());
            found.extend(row.superseded_by);
            let place = places.get(&row.object).copied().unwrap_or_default();
            self.placed.push((place, row, object));
        }
        parents.retain(|id| self.parents.insert(*id));
        let parents: Vec<ObjectId> = parents.into_iter().collect();
        for slot in rows.slots(&parents)? {
            if self.slots.insert(slot) {
                found.extend(rows.on_slot(slot, u32::MAX)?);
            }
        }
        found.extend(parents);
        Ok(())
    }

    /// The objects as they are believed, in the order in which a compile takes them.
    fn believed(self, rows: &mut dyn Read) -> Result<Vec<Arc<ContextObject>>, Error> {
        let ids: Vec<ObjectId> = self.read.into_iter().collect();
        let usage = rows.usage(Some(&ids))?;
        let decisions = Decisions::read(rows, Some(&ids), None)?;
        let mut all = BTreeMap::new();
        for (place, row, object) in self.placed {
            let usage = usage.get(&row.object).copied().unwrap_or_default();
            let object = decisions.on(believed(&object, &row, usage, None));
            all.insert((place, in_valid_time(&row)), (place, row, object));
        }
        for (place, row, object) in with_recorded(rows, all.values().cloned().collect())? {
            all.insert((place, in_valid_time(&row)), (place, row, object));
        }
        Ok(all.into_values().map(|(_, _, object)| object).collect())
    }
}
