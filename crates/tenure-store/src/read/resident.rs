//! The current beliefs in memory: a compile reads them without asking the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::entity::Entities;
use tenure::object::{Access, Lifecycle, ObjectId, RevisionId, Sealer, Usage};
use tenure::time::Instant;
use tenure::{Candidates, ContextObject, Error, ErrorKind, Unfetched};

use crate::belief::claims::Decisions;
use crate::entity::mentions::Mentions;
use crate::entity::resolution::Registry;
use crate::read::beliefs::access_now;
use crate::rows::engine::{BeliefRow, Read};
use crate::rows::labels::labelled;
use crate::rows::settle::overlap;
use crate::rows::stored::believed;
use crate::tenant::damage::{Reading, StandIn, nameless};
use crate::tenant::handle::Tenant;
use crate::tenant::since::{Placed, counts, with_recorded};

/// The order of a belief among the candidates: by place, then valid time; and what waits after what it waits beside.
type Key = (u64, i64, bool);

fn key_of(place: u64, row: &BeliefRow) -> Key {
    let from = row.valid.from.map_or(i64::MIN, Instant::micros);
    (place, from, row.waits())
}

/// The keys of all that is held of the object at a place.
fn keys_at(place: u64) -> std::ops::RangeInclusive<Key> {
    (place, i64::MIN, false)..=(place, i64::MAX, true)
}

/// The number of places that share a layer of the candidates: a change in one place re-reads its layer alone.
const LAYER: u64 = 1_024;

/// The beliefs of one tenant at a version, as candidates in the order in which the objects came.
#[derive(Clone, Default, Debug)]
pub struct Resident {
    version: u64,
    /// State, shared by each version at which no belief changed: most writes are of logs and records.
    state: Arc<ResidentState>,
    registry: Arc<Registry>,
    mentioned: Mentions,
}

#[derive(Clone, Default, Debug)]
struct ResidentState {
    /// True if archived and demoted objects are candidates, too.
    whole: bool,
    latest: Option<Instant>,
    objects: BTreeMap<Key, Arc<ContextObject>>,
    places: BTreeMap<ObjectId, u64>,
    /// Kept and not compiled.
    left: BTreeMap<Key, Uncompiled>,
    /// Rows that wait, among the candidates of what is archived.
    waiting: BTreeMap<Key, BeliefRow>,
    /// Objects with the labels of those, by their labels: many have the same.
    labels: BTreeMap<Arc<str>, Arc<ContextObject>>,
    /// The revisions that are damaged.
    damaged: BTreeMap<Key, RevisionId>,
    /// The candidates by their places, and which of them are no longer so.
    layers: BTreeMap<u64, Arc<Candidates>>,
    changed: BTreeSet<u64>,
    candidates: Arc<Candidates>,
}

/// An object that is kept and not compiled.
#[derive(Clone, Debug)]
struct Uncompiled {
    name: Arc<str>,
    why: &'static str,
    /// An object with its labels.
    labels: Arc<ContextObject>,
}

impl Resident {
    /// The tenant's version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The instant at which the newest of its beliefs was opened, by the store's clock: a lower bound of the time
    /// even on a machine whose own clock is behind.
    pub fn latest(&self) -> Option<Instant> {
        self.state.latest
    }

    /// The candidates of a compile; those that are archived, demoted or await confirmation are
    /// reported as not fetched.
    pub fn candidates(&self) -> &Arc<Candidates> {
        &self.state.candidates
    }

    /// The registry of entities, as it stands or stood, of whatever its entries came from.
    pub fn entities(&self) -> &Entities {
        &self.registry.entities
    }

    /// Returns whether no text mentions an entity.
    pub fn mentions_none(&self) -> bool {
        self.mentioned.is_empty()
    }

    /// The ids of the entities that the text of an object mentions, as it was bound when it was written: known to everyone who
    /// could see the object then.
    pub fn mentions(&self, object: &ContextObject) -> &[String] {
        let revision = object.revision();
        self.mentioned.of(revision.object_id(), revision.content_digest())
    }

    /// Returns what is held of an object, each with its labels: one for each time that it is held for, of what is not
    /// compiled the labels alone. None where nothing is. What waits counts where nothing is believed.
    pub fn held(&self, id: ObjectId) -> impl Iterator<Item = &Arc<ContextObject>> {
        let place = self.state.places.get(&id);
        place.into_iter().flat_map(|place| {
            let keys = keys_at(*place);
            let objects = self.state.objects.range(keys.clone());
            let left = self.state.left.range(keys).map(|(key, left)| (key, &left.labels));
            let all: Vec<(&Key, &Arc<ContextObject>)> = objects.chain(left).collect();
            let is_believed = all.iter().any(|((.., waits), _)| !waits);
            all.into_iter()
                .filter(move |((.., waits), _)| !(is_believed && *waits))
                .map(|(_, object)| object)
        })
    }

    /// The place of an object among all that the tenant ever had: no other has it, whatever is erased.
    pub fn place_of(&self, id: ObjectId) -> Option<u64> {
        self.state.places.get(&id).copied()
    }

    /// The damaged revisions of which no more is known than who might see them.
    pub fn damaged(&self) -> impl Iterator<Item = RevisionId> {
        self.state.damaged.values().copied()
    }

    /// Nothing yet, to which what is archived or demoted may be added.
    pub(crate) fn whole() -> Resident {
        Resident::empty(true)
    }

    fn empty(whole: bool) -> Resident {
        let state = ResidentState {
            whole,
            ..ResidentState::default()
        };
        Resident {
            version: 0,
            state: Arc::new(state),
            registry: Arc::default(),
            mentioned: Mentions::default(),
        }
    }

    pub(crate) fn put(&mut self, place: u64, row: &BeliefRow, object: Arc<ContextObject>) {
        Arc::make_mut(&mut self.state).put(place, row, object);
    }

    /// Puts in what stands in the place of damaged revisions.
    pub(crate) fn put_damaged(&mut self, damaged: Vec<StandIn>) {
        if damaged.is_empty() {
            return;
        }
        let state = Arc::make_mut(&mut self.state);
        for found in damaged {
            if found.is_aside {
                state.leave(found.place, &found.row, found.object);
                continue;
            }
            let object = believed(&found.object, &found.row, Usage::default(), None);
            state.put(found.place, &found.row, object);
        }
    }

    pub(crate) fn finish(mut self, version: u64) -> Resident {
        Arc::make_mut(&mut self.state).finish();
        self.version = version;
        self
    }
}

impl ResidentState {
    fn put(&mut self, place: u64, row: &BeliefRow, object: Arc<ContextObject>) {
        let key = key_of(place, row);
        self.places.insert(row.object, place);
        self.changed.insert(place / LAYER);
        match row.lifecycle {
            Lifecycle::Archived | Lifecycle::Demoted | Lifecycle::AwaitingConfirmation
                if !self.whole =>
            {
                self.leave_out(key, row, object);
            }
            _ => {
                if row.waits() {
                    self.waiting.insert(key, row.clone());
                }
                if let Some(revision) = object.status().damaged {
                    self.damaged.insert(key, revision);
                }
                self.objects.insert(key, object);
            }
        }
    }

    fn leave_out(&mut self, key: Key, row: &BeliefRow, object: Arc<ContextObject>) {
        let left = Uncompiled {
            name: object.name().into(),
            why: row.lifecycle.term(),
            labels: self.labels_of(row, object),
        };
        self.left.insert(key, left);
    }

    /// Takes what waits beside what is believed from among the candidates of what is archived.
    fn take_out_beside(&mut self) {
        for (key, row) in std::mem::take(&mut self.waiting) {
            let mut beside = self.objects.range(keys_at(key.0));
            let is_alongside =
                beside.any(|((.., waits), other)| !waits && overlap(other.valid(), row.valid));
            if !is_alongside {
                self.waiting.insert(key, row);
            } else if let Some(object) = self.objects.remove(&key) {
                self.damaged.remove(&key);
                self.leave_out(key, &row, object);
            }
        }
    }

    /// Leaves out a damaged revision that was set aside. Its name is for operators: here it goes by its id.
    fn leave(&mut self, place: u64, row: &BeliefRow, labels: Arc<ContextObject>) {
        let key = key_of(place, row);
        self.places.insert(row.object, place);
        self.changed.insert(place / LAYER);
        let left = Uncompiled {
            name: row.object.to_string().into(),
            why: "damaged and set aside",
            labels,
        };
        self.left.insert(key, left);
    }

    /// An object with the labels of this one, without its content. Who may see what is past depends on more.
    fn labels_of(&mut self, row: &BeliefRow, object: Arc<ContextObject>) -> Arc<ContextObject> {
        let access = object.status().access.clone();
        if let (Some(known), None) = (self.labels.get(&row.labels), &access) {
            return Arc::clone(known);
        }
        let tenant = &object.revision().scope().tenant;
        let no_object = ObjectId::from_bits(0);
        let sealed = labelled(
            &mut Sealer::default(),
            tenant,
            no_object,
            &row.labels,
            access.clone(),
        );
        let Ok(labels) = sealed else {
            return object;
        };
        if access.is_none() {
            self.labels.insert(Arc::clone(&row.labels), Arc::clone(&labels));
        }
        labels
    }

    fn remove(&mut self, id: ObjectId) {
        let Some(place) = self.places.remove(&id) else {
            return;
        };
        self.changed.insert(place / LAYER);
        let keys = keys_at(place);
        let state: Vec<Key> = self.objects.range(keys.clone()).map(|(key, _)| *key).collect();
        state.iter().for_each(|key| drop(self.objects.remove(key)));
        let left: Vec<Key> = self.left.range(keys).map(|(key, _)| *key).collect();
        left.iter().for_each(|key| drop(self.left.remove(key)));
        self.damaged.retain(|(at, ..), _| *at != place);
        self.waiting.retain(|(at, ..), _| *at != place);
    }

    /// Removes an erased object, and all that was made of the texts that stood beside it: nothing of it is kept there.
    fn erase(&mut self, id: ObjectId) {
        if let Some(place) = self.places.get(&id) {
            self.layers.remove(&(place / LAYER));
        }
        self.remove(id);
    }

    fn finish(&mut self) {
        self.take_out_beside();
        let unfetched = self.left.values().map(|left| Unfetched {
            what: left.name.to_string(),
            why: left.why.to_owned(),
            labels: Some(Arc::clone(&left.labels)),
        });
        let opened = self.objects.values().filter_map(|object| object.status().transaction.from);
        self.latest = opened.max();
        for layer in std::mem::take(&mut self.changed) {
            let first = *keys_at(layer * LAYER).start();
            let last = *keys_at(layer * LAYER + (LAYER - 1)).end();
            let objects: Vec<_> =
                self.objects.range(first..=last).map(|(_, object)| Arc::clone(object)).collect();
            if objects.is_empty() {
                self.layers.remove(&layer)
            } else {
                let mut fresh = Candidates::new(objects);
                if let Some(stood) = self.layers.get(&layer) {
                    fresh = fresh.following(stood);
                }
                self.layers.insert(layer, Arc::new(fresh))
            };
        }
        let candidates = Candidates::layered(self.layers.values().cloned());
        self.candidates = Arc::new(candidates.with_unfetched(unfetched.collect()));
    }
}

impl Tenant {
    /// Loads all current beliefs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn load(&self) -> Result<Resident, Error> {
        self.load_now(false)
    }

    /// Loads all current beliefs, those about archived and demoted objects included, which are found only when asked
    /// for.
    ///
    /// # Errors
    ///
    /// As [`Tenant::load`].
    pub fn load_archive(&self) -> Result<Resident, Error> {
        self.load_now(true)
    }

    fn load_now(&self, whole: bool) -> Result<Resident, Error> {
        self.read(|rows| {
            let version = rows.version()?;
            let usage = rows.usage(None)?;
            let decisions = Decisions::read(rows, None, None)?;
            let mut reading = Reading::of(rows)?;
            let mut resident = Resident::empty(whole);
            resident.registry = Arc::new(Registry::read(rows, None)?);
            resident.mentioned = Mentions::read(rows, None)?;
            let mut said: Vec<Placed> = Vec::new();
            rows.each_held(None, &mut |place, row, body| {
                if let Some(object) = reading.read(place, &row, body)? {
                    let usage = usage.get(&row.object).copied().unwrap_or_default();
                    let object = decisions.on(believed(&object, &row, usage, None));
                    if counts(&object) {
                        said.push((place, row.clone(), Arc::clone(&object)));
                    }
                    resident.put(place, &row, object);
                }
                Ok(())
            })?;
            for (place, row, object) in with_recorded(rows, said)? {
                resident.put(place, &row, object);
            }
            resident.put_damaged(reading.stand_ins(rows, &self.name)?);
            Ok(resident.finish(version))
        })
    }

    /// Brings a `Resident` up to date: only changes are read, and nothing but the version where there is none.
    ///
    /// # Errors
    ///
    /// As [`Tenant::load`].
    pub fn refresh(&self, known: &Arc<Resident>) -> Result<Arc<Resident>, Error> {
        if self.version()? == known.version {
            return Ok(Arc::clone(known));
        }
        let fresh = self.read(|rows| {
            let version = rows.version()?;
            let mut resident = Resident::clone(known);
            resident.registry = known.registry.refreshed(rows)?;
            resident.mentioned = known.mentioned.refreshed(rows)?;
            let erased = erased_since(rows, known)?;
            let changed = rows.changed_since(known.version)?;
            if erased.is_empty() && changed.is_empty() {
                resident.version = version;
                return Ok(resident);
            }
            let state = Arc::make_mut(&mut resident.state);
            erased.into_iter().for_each(|id| state.erase(id));
            let usage = rows.usage(Some(&changed))?;
            let decisions = Decisions::read(rows, Some(&changed), None)?;
            let mut reading = Reading::of(rows)?;
            let standing = rows.standing(&changed)?;
            let beliefs = standing.values().flat_map(|standing| &standing.beliefs);
            let bodies = rows.bodies(&beliefs.collect::<Vec<_>>())?;
            let mut said: Vec<Placed> = Vec::new();
            for (id, standing) in standing {
                state.remove(id);
                for row in &standing.beliefs {
                    let body = bodies.get(&row.revision).map_or("", String::as_str);
                    if let Some(object) = reading.read(standing.place, row, body)? {
                        let usage = usage.get(&id).copied().unwrap_or_default();
                        let object = decisions.on(believed(&object, row, usage, None));
                        if counts(&object) {
                            said.push((standing.place, row.clone(), Arc::clone(&object)));
                        }
                        state.put(standing.place, row, object);
                    }
                }
            }
            for (place, row, object) in with_recorded(rows, said)? {
                state.put(place, &row, object);
            }
            resident.put_damaged(reading.stand_ins(rows, &self.name)?);
            Ok(resident.finish(version))
        })?;
        Ok(Arc::new(fresh))
    }

    /// The beliefs at an instant. A caller who compiles over it must also be admitted to what each object is now.
    ///
    /// # Errors
    ///
    /// As [`Tenant::load`].
    pub fn load_as_of(&self, known: Instant) -> Result<Resident, Error> {
        self.load_past(known, None, false)
    }

    /// Like `load_as_of`, with what was archived or demoted then: what could be found by asking for it.
    ///
    /// # Errors
    ///
    /// As [`Tenant::load`].
    pub fn load_archive_as_of(&self, known: Instant) -> Result<Resident, Error> {
        self.load_past(known, None, true)
    }

    /// The beliefs at an instant, with the access that held at another: the input of a compile that ran at `ran`.
    /// Only an operator's replay may show it.
    ///
    /// # Errors
    ///
    /// As [`Tenant::load`].
    pub fn load_for_replay(&self, known: Instant, ran: Instant) -> Result<Resident, Error> {
        self.load_past(known, Some(ran), false)
    }

    fn load_past(
        &self,
        known: Instant,
        ran: Option<Instant>,
        whole: bool,
    ) -> Result<Resident, Error> {
        self.read(|rows| {
            let version = rows.version()?;
            let decisions = Decisions::read(rows, None, Some(known))?;
            let confirmed = confirmed_by(rows, ran.unwrap_or(known))?;
            let mut state: Vec<(u64, BeliefRow, Arc<ContextObject>)> = Vec::new();
            let mut reading = Reading::of(rows)?;
            rows.each_held(Some(known), &mut |place, row, body| {
                if let Some(object) = reading.read(place, &row, body)? {
                    state.push((place, row, object));
                }
                Ok(())
            })?;
            let mut access: BTreeMap<ObjectId, Option<Arc<Access>>> = BTreeMap::new();
            let mut resident = Resident::empty(whole);
            // A compile that is made again was told of the registry then.
            if ran.is_none() {
                resident.registry = Arc::new(Registry::read(rows, Some(known))?);
                resident.mentioned = Mentions::read(rows, Some(known))?;
            }
            for found in reading.stand_ins(rows, &self.name)? {
                if found.is_aside {
                    resident.put_damaged(vec![found]);
                } else {
                    state.push((found.place, found.row, found.object));
                }
            }
            let mut sealer = Sealer::default();
            let mut said: Vec<Placed> = Vec::new();
            for (place, mut row, mut object) in state {
                let over = |at: Instant| row.closed.is_some_and(|closed| closed.at <= at);
                let now = match access.get(&row.object) {
                    _ if !ran.map_or(row.closed.is_some(), over) => None,
                    Some(known) => known.clone(),
                    None => {
                        let now = match ran {
                            None => {
                                access_now(rows, &self.name, row.object, std::slice::from_ref(&row))
                            }
                            Some(ran) => access_at(rows, &self.name, row.object, ran),
                        };
                        match now {
                            // Who may see it now is lost.
                            Err(error) if error.kind == ErrorKind::Damaged => {
                                object =
                                    nameless(&mut sealer, &self.name, row.object, row.revision)?;
                                None
                            }
                            now => {
                                let now = now?;
                                access.insert(row.object, now.clone());
                                now
                            }
                        }
                    }
                };
                // What ended later was open then.
                row.closed = None;
                let usage = confirmed.get(&row.object).copied().unwrap_or_default();
                let object = decisions.on(believed(&object, &row, usage, now));
                if counts(&object) {
                    said.push((place, row.clone(), Arc::clone(&object)));
                }
                resident.put(place, &row, object);
            }
            for (place, row, object) in with_recorded(rows, said)? {
                resident.put(place, &row, object);
            }
            Ok(resident.finish(version))
        })
    }
}

/// The last confirmation of each object, as far as it was made by an instant. Of several the last alone is known.
fn confirmed_by(rows: &mut dyn Read, at: Instant) -> Result<BTreeMap<ObjectId, Usage>, Error> {
    let each = rows.usage(None)?.into_iter().filter_map(|(id, usage)| {
        let last_confirmed = usage.last_confirmed.filter(|confirmed| *confirmed <= at)?;
        let usage = Usage {
            last_confirmed: Some(last_confirmed),
            ..Usage::default()
        };
        Some((id, usage))
    });
    Ok(each.collect())
}

/// The access to an object at an instant: that of the revision that was written last before it.
fn access_at(
    rows: &mut dyn Read,
    tenant: &str,
    id: ObjectId,
    at: Instant,
) -> Result<Option<Arc<Access>>, Error> {
    let history = rows.history(id)?;
    let before = || history.iter().filter(|row| row.opened.at <= at);
    // What waits counts where nothing is believed.
    let is_believed = before().any(|row| !row.waits() && row.held_at(at));
    let before = before().filter(|row| !is_believed || !row.waits());
    let Some(last) = before.max_by_key(|row| (row.opened.at, std::cmp::Reverse(row.part))) else {
        return Ok(None);
    };
    let object = labelled(&mut Sealer::default(), tenant, id, &last.labels, None)?;
    Ok(Some(Arc::new(object.access())))
}

/// The objects that were erased since, which leave no row that could say so.
fn erased_since(rows: &mut dyn Read, known: &Resident) -> Result<Vec<ObjectId>, Error> {
    let erased = rows.log(known.version, u32::MAX)?.iter().any(|write| write.verb == "erase");
    if !erased {
        return Ok(Vec::new());
    }
    let there: BTreeSet<ObjectId> = rows.objects()?.into_iter().map(|(_, id)| id).collect();
    let gone = known.state.places.keys().filter(|id| !there.contains(id));
    Ok(gone.copied().collect())
}
