//! Knowledge of the registry, reader by reader: an object adds to it what everyone knows who may see the object.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use tenure::belief::entity::{Entities, EntityView, Resolver, SeenEntity, SeesObject};
use tenure::object::{Access, ObjectId, Sealer};
use tenure::{ContextObject, Digest, Error};

use crate::rows::engine::Read;
use crate::rows::labels::{believed_labels, labelled_or_hidden};
use crate::rows::stored::unwritable;

/// The most different labels that are kept.
const MOST_KNOWN: usize = 4_096;

/// Those who may see an object.
#[derive(Clone, Debug)]
pub(crate) struct Readers {
    access: Access,
    /// The origins on the web for which alone it is read.
    sites: BTreeSet<String>,
}

impl Readers {
    pub(crate) fn of(object: &ContextObject) -> Readers {
        Readers {
            access: object.access(),
            sites: object.sites(),
        }
    }

    /// Returns whether these are all of those who may see something else, or more.
    pub(crate) fn flows_to(&self, to: &Readers) -> bool {
        self.access.flows_to(&to.access) && self.sites.is_subset(&to.sites)
    }

    /// These, as bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, Error> {
        let Access {
            scope,
            classification,
            personal,
        } = &self.access;
        let who = (&**scope, classification.term(), personal);
        let bytes = if self.sites.is_empty() {
            serde_json::to_vec(&who)
        } else {
            serde_json::to_vec(&(who, &self.sites))
        };
        bytes.map_err(|error| unwritable(&error))
    }
}

/// Readers of the objects that the registry came from, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The tenant's version that this is of.
    version: u64,
    /// The readers of each belief that is held of an object; none where nothing is believed of it.
    readers: HashMap<ObjectId, Vec<Arc<Readers>>>,
    /// Readers by the labels: few are shared by many.
    known: HashMap<Arc<str>, Arc<Readers>>,
}

impl Sources {
    /// Forgets what has changed.
    pub(crate) fn catch_up(&mut self, rows: &mut dyn Read) -> Result<(), Error> {
        let version = rows.version()?;
        if version < self.version {
            self.readers.clear();
        } else if version > self.version && !self.readers.is_empty() {
            for id in rows.changed_since(self.version)? {
                self.readers.remove(&id);
            }
        }
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
            self.readers.clear();
        }
        // This write has no effect yet, and may have none: what has this version then is looked at again.
        self.version = version.saturating_sub(1);
        Ok(())
    }

    /// Forgets who may see these objects.
    pub(crate) fn forget(&mut self, ids: impl IntoIterator<Item = ObjectId>) {
        for id in ids {
            self.readers.remove(&id);
        }
    }

    /// Reads what is not known of these.
    fn read(
        &mut self,
        rows: &mut dyn Read,
        tenant: &str,
        ids: &BTreeSet<ObjectId>,
    ) -> Result<(), Error> {
        let missing: Vec<ObjectId> =
            ids.iter().filter(|id| !self.readers.contains_key(id)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.readers.extend(missing.iter().map(|id| (*id, Vec::new())));
        let mut sealer = Sealer::default();
        for (id, labels) in believed_labels(rows, &missing)? {
            let readers = match self.known.get(&labels) {
                Some(readers) => Arc::clone(readers),
                None => {
                    let object = labelled_or_hidden(&mut sealer, tenant, id, &labels, None)?;
                    let readers = Arc::new(Readers::of(&object));
                    self.known.insert(labels, Arc::clone(&readers));
                    readers
                }
            };
            self.readers.entry(id).or_default().push(readers);
        }
        Ok(())
    }

    /// Returns whether all of these may see all that is believed of an object, and something is.
    fn is_open(&self, source: ObjectId, to: &Readers) -> bool {
        self.readers
            .get(&source)
            .is_some_and(|all| !all.is_empty() && all.iter().all(|one| one.flows_to(to)))
    }
}

/// The entities as a caller knows them, by id; `None` where the caller knows all of an entity.
pub(crate) type SeenEntities = BTreeMap<String, Option<Arc<[SeenEntity]>>>;

/// The registry as everyone knows it who may see one object. What only some of them may see changes nothing of what an object
/// adds: all of them see that.
pub(crate) struct Audience<'k, 'r> {
    entities: &'k Entities,
    sources: &'k mut Sources,
    rows: &'r mut dyn Read,
    tenant: &'k str,
    readers: Readers,
    /// Entities as they see them, as far as they were asked for.
    seen: &'r mut SeenEntities,
    /// The first failure to read.
    failed: Option<Error>,
}

impl EntityView for Audience<'_, '_> {
    fn view(&mut self, entity: &SeenEntity) -> Option<Arc<[SeenEntity]>> {
        // Of many hidden ones nothing else is asked.
        let source = self.entities.source_alone(&entity.id);
        if source.is_some_and(|source| {
            self.sources.readers.contains_key(&source)
                && !self.sources.is_open(source, &self.readers)
        }) {
            return Some(Vec::new().into());
        }
        if let Some(seen) = self.seen.get(&entity.id) {
            return seen.clone();
        }
        let seen = self.look(&entity.id).unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            Some(Vec::new().into())
        });
        self.seen.insert(entity.id.clone(), seen.clone());
        seen
    }

    fn expect(&mut self, entities: &[&SeenEntity]) {
        let sources = entities.iter().filter_map(|one| self.entities.source_alone(&one.id));
        let read = self.sources.read(self.rows, self.tenant, &sources.collect());
        if let Err(error) = read {
            self.failed.get_or_insert(error);
        }
    }
}

impl<'k, 'r> Audience<'k, 'r> {
    /// Those who are `readers`, and what they were found to know before.
    pub(crate) fn new(
        (entities, sources): (&'k Entities, &'k mut Sources),
        (rows, tenant): (&'r mut dyn Read, &'k str),
        readers: Readers,
        seen: &'r mut SeenEntities,
    ) -> Audience<'k, 'r> {
        Audience {
            entities,
            sources,
            rows,
            tenant,
            readers,
            seen,
            failed: None,
        }
    }

    /// The first failure to read, once.
    pub(crate) fn failure(&mut self) -> Option<Error> {
        self.failed.take()
    }

    fn look(&mut self, id: &str) -> Result<Option<Arc<[SeenEntity]>>, Error> {
        let members = self.entities.members(id);
        let mut sources = BTreeSet::new();
        self.entities.sources_about(&members, &mut sources);
        self.sources.read(self.rows, self.tenant, &sources)?;
        let sees = |source| self.sources.is_open(source, &self.readers);
        if sources.iter().all(|source| sees(*source)) {
            return Ok(None);
        }
        let seen = self.entities.seen_of(&members, self.tenant, &sees);
        Ok(Some(seen.into()))
    }

    /// Asks the registry of these ids as they know it.
    fn ask<'i, A>(
        &mut self,
        ids: impl IntoIterator<Item = &'i str>,
        answer: impl FnOnce(&Entities, &SeesObject<'_>) -> A,
    ) -> Result<A, Error> {
        let mut sources = BTreeSet::new();
        self.entities.sources_of_all(ids.into_iter().map(|id| id as &str), &mut sources);
        self.sources.read(self.rows, self.tenant, &sources)?;
        Ok(answer(self.entities, &|source| {
            self.sources.is_open(source, &self.readers)
        }))
    }

    /// The entity that an id means to them, where it is decided.
    pub(crate) fn decided(&mut self, id: &str) -> Result<Option<String>, Error> {
        self.ask([id], |entities, sees| {
            entities.decided(id, sees).map(str::to_owned)
        })
    }

    /// The id of an entity that is new to them with this name, and of what it may be; and whether there is one with it. `before`
    /// are those that were new by the same words.
    pub(crate) fn id_of(
        &mut self,
        key: &[u8; 32],
        name: &str,
        candidates: &[String],
        before: &[String],
    ) -> Result<(String, bool), Error> {
        let id = fresh_id(key, name, candidates, None);
        if !self.entities.holds(&id) {
            // It may have come from elsewhere.
            for before in before {
                if self.holds(before)? {
                    return Ok((before.clone(), true));
                }
            }
            return Ok((id, false));
        }
        if self.holds(&id)? {
            return Ok((id, true));
        }
        // One that they know nothing of has it.
        let id = fresh_id(key, name, candidates, Some(&self.readers.bytes()?));
        let is_known = self.entities.holds(&id);
        Ok((id, is_known))
    }

    /// The entity with this id, as they know it.
    pub(crate) fn entity(&mut self, resolver: &Resolver, id: &str) -> Option<SeenEntity> {
        // It may be merged in the view of others.
        let entity = resolver.entity(self.entities.meant(id, &|_| true)?)?;
        match self.view(entity) {
            None => (entity.id == id).then(|| entity.clone()),
            Some(seen) => seen.iter().find(|one| one.id == id).cloned(),
        }
    }

    /// Returns whether an id is one of theirs.
    pub(crate) fn holds(&mut self, id: &str) -> Result<bool, Error> {
        self.ask([id], |entities, sees| entities.meant(id, sees).is_some())
    }

    /// The entities that these mean to them.
    pub(crate) fn meant(&mut self, ids: &BTreeSet<String>) -> Result<BTreeSet<String>, Error> {
        self.ask(ids.iter().map(String::as_str), |entities, sees| {
            ids.iter()
                .filter_map(|id| entities.meant(id, sees))
                .map(str::to_owned)
                .collect()
        })
    }
}

/// The id of an entity that is new: of its name, of what it may be and, where another has that id, of who knows it.
pub(crate) fn fresh_id(
    key: &[u8; 32],
    name: &str,
    candidates: &[String],
    who: Option<&[u8]>,
) -> String {
    let mut parts = vec![&b"entity"[..], name.as_bytes()];
    parts.extend(who);
    parts.extend(candidates.iter().map(String::as_bytes));
    let digest = Digest::keyed(key, &parts).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    format!("e-{}", hex.get(..16).unwrap_or(hex))
}
