//! Resolution of the mentions in what is written, in the transaction of the write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use tenure::belief::entity::{
    Entities, EntityEntry, EntityOp, MIN_ALIAS, PartWeights, Profile, RelationType, Resolution,
    Resolver, SeenEntity, Sign,
};
use tenure::belief::folded as folded_name;
use tenure::object::ObjectId;
use tenure::{ContextObject, Digest, Error};

use crate::engine::{Read, Write};
use crate::stored::unwritable;

/// The log of the registry.
pub(crate) const LOG: &str = "entities";
/// The most bytes of a text in which mentions are looked for as it is written.
const MOST_TEXT: usize = 1 << 20;
/// The most entries that the mentions of one object add.
const MOST_ADDED: usize = 64;
/// The most entities that one object is said to relate to each other.
const MOST_RELATED: usize = 8;
/// The number of entities that may have changed before all of them are made ready anew.
const MOST_CHANGED: usize = 256;

/// The entities of the tenants of a store as they were last read by a write.
#[derive(Debug, Default)]
pub(crate) struct KnownEntities(Mutex<BTreeMap<String, Known>>);

/// The entities of a tenant, of its log up to an entry.
#[derive(Debug)]
struct Known {
    last: u64,
    entities: Entities,
    resolver: Resolver,
    /// The ids of those that have changed since the resolver was made.
    changed: BTreeSet<String>,
}

/// The success of entities in memory in following their log.
enum Followed {
    /// To its last entry.
    All,
    /// Not at all: they are to be read anew.
    Lost,
}

/// Those that do not wait for a person: what waits is nothing that a mention may mean, whatever it is called.
pub(crate) fn decided(mut entities: Vec<SeenEntity>) -> Vec<SeenEntity> {
    entities.retain(|one| !one.pending);
    entities
}

impl Known {
    fn read(rows: &mut dyn Read, tenant: &str, last: u64) -> Result<Known, Error> {
        let entities = folded(&entries(rows)?);
        Ok(Known {
            last,
            resolver: Resolver::new(decided(entities.seen(tenant, &|_| true)))?,
            entities,
            changed: BTreeSet::new(),
        })
    }

    /// Goes on to the last entry of the log.
    fn catch_up(
        &mut self,
        rows: &mut dyn Read,
        tenant: &str,
        last: u64,
    ) -> Result<Followed, Error> {
        if last == self.last {
            return Ok(Followed::All);
        }
        if last < self.last {
            return Ok(Followed::Lost);
        }
        for (_, body) in rows.entries(LOG, self.last + 1..last + 1)? {
            // An entry that is none says that others were rewritten.
            let Ok(entry) = serde_json::from_str::<EntityEntry>(&body) else {
                return Ok(Followed::Lost);
            };
            let about = entry.does.id().to_owned();
            let before = self.entities.meant(&about, &|_| true).map(str::to_owned);
            self.entities.apply(&entry).ok();
            let after = self.entities.meant(&about, &|_| true).map(str::to_owned);
            self.changed
                .extend(before.into_iter().chain(after).chain([about]));
        }
        if self.changed.len() > MOST_CHANGED {
            return Ok(Followed::Lost);
        }
        let seen = self.entities.seen_of(&self.changed, tenant, &|_| true);
        self.resolver.replace(self.changed.clone(), decided(seen))?;
        self.last = last;
        Ok(Followed::All)
    }
}

/// Resolves the mentions of objects that this transaction writes: adds the aliases and relations of what is bound, what
/// waits for a person, and what is new. Returns the objects with a mention that waits. A tenant that has no entities pays
/// for one question.
pub(crate) fn resolve_written(
    rows: &mut dyn Write,
    tenant: &str,
    known: &KnownEntities,
    objects: &[&ContextObject],
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut waiting = BTreeSet::new();
    if objects.is_empty() {
        return Ok(waiting);
    }
    let last = rows.last(LOG)?;
    if last == 0 {
        return Ok(waiting);
    }
    let key = rows.key()?.unwrap_or_default();
    let at = rows.stamp()?.at;
    let mut all = known.0.lock().unwrap_or_else(PoisonError::into_inner);
    let own = match all.remove(tenant) {
        Some(mut own) => match own.catch_up(rows, tenant, last)? {
            Followed::All => own,
            Followed::Lost => Known::read(rows, tenant, last)?,
        },
        None => Known::read(rows, tenant, last)?,
    };
    let mut lines = Vec::new();
    let mut made = BTreeSet::new();
    for object in objects {
        let source = object.revision().object_id();
        let (operations, waits) = operations(&own, tenant, object, &key);
        if waits {
            waiting.insert(source);
        }
        for does in operations {
            let entry = EntityEntry {
                at,
                by: None,
                source: Some(source),
                does,
            };
            let line = serde_json::to_string(&entry).map_err(|error| unwritable(&error))?;
            // Two objects of one write may name the same that is new.
            let is_new = match &entry.does {
                EntityOp::Create { id, .. } => made.insert(id.clone()),
                _ => true,
            };
            if is_new {
                lines.push(line);
            }
        }
    }
    all.insert(tenant.to_owned(), own);
    if !lines.is_empty() && !rows.append(LOG, last, &lines)? {
        return Err(Error::assertion(
            "the log of entities has one writer at a time",
        ));
    }
    Ok(waiting)
}

/// The changes to the registry by the mentions of an object; true if one of them waits.
fn operations(
    known: &Known,
    tenant: &str,
    object: &ContextObject,
    key: &[u8; 32],
) -> (Vec<EntityOp>, bool) {
    let revision = object.revision();
    let around = Profile {
        tenant: tenant.to_owned(),
        project: revision.scope().project.as_deref().map(str::to_owned),
        source_authority: Some(revision.source_authority()),
        confidence: Some(revision.confidence()),
        at: object.valid().from,
        ..Profile::default()
    };
    let text = revision.content();
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (found, _) = known
        .resolver
        .text(&text[..end], &around, &PartWeights::default());
    let (mut operations, mut bound, mut waits) = (Vec::new(), BTreeSet::new(), false);
    for mention in found {
        let candidates = mention.resolved.candidates.iter();
        let candidates: Vec<String> = candidates.map(|(id, _)| id.clone()).collect();
        let fresh = match (mention.resolved.outcome, mention.sign) {
            (Resolution::Bind, _) => {
                bound.extend(candidates);
                continue;
            }
            (Resolution::Review, _) => {
                waits = true;
                true
            }
            // A path and a role say too little to be something of their own.
            (_, Sign::Mail | Sign::DocumentId) => !known.resolver.knows(&mention.name),
            _ => false,
        };
        let id = fresh_id(key, &mention.name, &candidates);
        if fresh && operations.len() < MOST_ADDED && !known.entities.holds(&id) {
            operations.push(EntityOp::Create {
                id,
                name: mention.name,
                kind: mention.mention.kind,
                project: mention.mention.project,
                metadata: mention.mention.metadata,
                confidence: None,
                pending: mention.resolved.outcome == Resolution::Review,
                candidates,
            });
        }
    }
    operations.extend(aliases(known, object));
    operations.extend(relations(known, &bound));
    operations.truncate(MOST_ADDED);
    (operations, waits)
}

/// The names that an object gives the one entity that it is about.
fn aliases(known: &Known, object: &ContextObject) -> Vec<EntityOp> {
    let (about, names) = object.revision().names();
    let [about] = about else { return Vec::new() };
    let Some(entity) = known.resolver.entity(about) else {
        return Vec::new();
    };
    let has = |name: &String| {
        let mut known = std::iter::once(&entity.profile.name).chain(&entity.profile.aliases);
        known.any(|one| folded_name(one) == folded_name(name))
    };
    let is_long = |name: &&String| folded_name(name).chars().nth(MIN_ALIAS - 1).is_some();
    let fresh = names.iter().filter(is_long).filter(|name| !has(name));
    let named = fresh.map(|alias| EntityOp::Alias {
        id: about.clone(),
        alias: alias.clone(),
    });
    // What cannot be a name is none, whatever an object says.
    named.filter(|named| named.check().is_ok()).collect()
}

/// The relations between entities that one object speaks of, where there are none yet.
fn relations(known: &Known, bound: &BTreeSet<String>) -> Vec<EntityOp> {
    let bound: Vec<&String> = bound.iter().take(MOST_RELATED).collect();
    let pairs = bound.iter().enumerate().flat_map(|(at, id)| {
        let later = bound.get(at + 1..).unwrap_or_default().iter();
        later.map(move |to| (*id, *to))
    });
    let fresh = pairs.filter(|(id, to)| {
        let entity = known.resolver.entity(id);
        entity.is_some_and(|one| one.relations.iter().all(|(_, other)| other != *to))
    });
    fresh
        .map(|(id, to)| EntityOp::Relate {
            id: id.clone(),
            relation: RelationType::CrossReference,
            to: to.clone(),
        })
        .collect()
}

/// The id of an entity that is new: of its name, and of what it may be.
fn fresh_id(key: &[u8; 32], name: &str, candidates: &[String]) -> String {
    let mut parts = vec![&b"entity"[..], name.as_bytes()];
    parts.extend(candidates.iter().map(String::as_bytes));
    let digest = Digest::keyed(key, &parts).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    format!("e-{}", hex.get(..16).unwrap_or(hex))
}

/// The entries of the log that can be read. What came from an erased object is gone with it.
pub(crate) fn entries(rows: &mut dyn Read) -> Result<Vec<EntityEntry>, Error> {
    let entries = rows.entries(LOG, 1..u64::MAX)?.into_iter();
    Ok(entries
        .filter_map(|(_, body)| serde_json::from_str(&body).ok())
        .collect())
}

/// The registry that these entries make. An entry that speaks of what was erased changes nothing.
pub(crate) fn folded<'e>(entries: impl IntoIterator<Item = &'e EntityEntry>) -> Entities {
    let mut entities = Entities::default();
    for entry in entries {
        entities.apply(entry).ok();
    }
    entities
}
