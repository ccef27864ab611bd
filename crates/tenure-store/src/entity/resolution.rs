//! Resolution of the mentions in what is written, in the transaction of the write.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tenure::belief::entity::{
    Entities, EntityEntry, EntityOp, EntityType, Looked, MIN_ALIAS, Mark, Metadata, PartWeights,
    Profile, RelationType, Resolution, ResolvedMention, Resolver, SeenEntity, Sign,
};
use tenure::belief::folded as folded_name;
use tenure::num::Score;
use tenure::object::{Authority, ObjectId, default_trust};
use tenure::policy::EntityPolicy;
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::entity::audience::{Audience, Readers, SeenEntities, Sources, fresh_id};
use crate::entity::mentions::{Line, Mentions, append, unmention};
use crate::entity::session_mentions::{Session, place};
use crate::rows::engine::{Read, Write};
use crate::rows::notes::WriteNote;
use crate::rows::stored::unwritable;
use crate::rows::tombstones::NOTICE;

/// The log of the registry.
pub(crate) const LOG: &str = "entities";
/// The log of the policy whose weights a tenant's writes take.
const WEIGHTS: &str = "policy/entities";
/// The most bytes of a text in which mentions are looked for as it is written.
const MOST_TEXT: usize = 1 << 20;
/// The most entries that the mentions of one object add.
const MOST_ADDED: usize = 64;
/// The most entities that one object is said to relate to each other.
const MOST_RELATED: usize = 8;
/// The most views of which it is kept what they know.
const MOST_VIEWS: usize = 64;
/// The number of entities that may have changed before all of them are made ready anew.
const MOST_CHANGED: usize = 256;

/// Words that no object makes a name: they stand in most texts.
const COMMON: [&str; 40] = [
    "a", "all", "an", "and", "any", "are", "as", "at", "be", "but", "by", "can", "deploy", "do",
    "for", "from", "has", "have", "he", "if", "in", "is", "it", "no", "not", "of", "on", "or",
    "project", "she", "so", "that", "the", "they", "this", "to", "we", "with", "yes", "you",
];

/// The registry of a tenant as its log has it up to an entry.
#[derive(Clone, Default, Debug)]
pub(crate) struct Registry {
    last: u64,
    pub(crate) entities: Entities,
}

impl Registry {
    /// The registry as it stands, or as it stood at an instant. A tenant that has no entities pays for one question.
    pub(crate) fn read(rows: &mut dyn Read, known: Option<Instant>) -> Result<Registry, Error> {
        let last = rows.last(LOG)?;
        if last == 0 {
            return Ok(Registry::default());
        }
        let mut entries = entries(rows)?;
        if let Some(known) = known {
            entries.retain(|entry| entry.at <= known);
        }
        Ok(Registry {
            last,
            entities: folded(&entries),
        })
    }

    /// The registry as it stands now: this one, where nothing was added.
    pub(crate) fn refreshed(
        self: &Arc<Registry>,
        rows: &mut dyn Read,
    ) -> Result<Arc<Registry>, Error> {
        let last = rows.last(LOG)?;
        if last == self.last {
            return Ok(Arc::clone(self));
        }
        if last < self.last {
            return Registry::read(rows, None).map(Arc::new);
        }
        let mut fresh = Registry::clone(self);
        for (_, body) in rows.entries(LOG, self.last + 1..last + 1)? {
            // An entry that is none says that others were rewritten.
            let Ok(entry) = serde_json::from_str::<EntityEntry>(&body) else {
                return Registry::read(rows, None).map(Arc::new);
            };
            fresh.entities.apply(&entry).ok();
        }
        fresh.last = last;
        Ok(Arc::new(fresh))
    }
}

/// The entities of the tenants of a store as they were last read by a write.
#[derive(Debug, Default)]
pub(crate) struct KnownEntities(Mutex<BTreeMap<String, Known>>);

/// The entities of a tenant, of its log up to an entry.
#[derive(Debug)]
struct Known {
    last: u64,
    entities: Entities,
    asked: Asked,
    resolver: Resolver,
    /// The ids of those that have changed since the resolver was made.
    changed: BTreeSet<String>,
    sources: Sources,
}

/// The entities that waited for a person once, by the name and the candidates with which a mention made them. Where they came with
/// an import, their ids are not what their names and the tenant's key give.
#[derive(Debug, Default)]
struct Asked(BTreeMap<(String, Vec<String>), Vec<String>>);

impl Asked {
    fn add(&mut self, entry: &EntityEntry) {
        if let EntityOp::Create {
            id,
            name,
            metadata,
            candidates,
            pending: true,
            ..
        } = &entry.does
            && entry.source.is_some()
        {
            let question = (question(name, metadata), candidates.clone());
            self.0.entry(question).or_default().push(id.clone());
        }
    }

    fn of(&self, question: &str, candidates: &[String]) -> &[String] {
        let asked = (question.to_owned(), candidates.to_vec());
        self.0.get(&asked).map_or(&[], Vec::as_slice)
    }
}

/// The question that a name raises: the same name beside another address is another question.
fn question(name: &str, metadata: &Metadata) -> String {
    match &metadata.mail {
        Some(mail) if mail != name => format!("{name} <{mail}>"),
        _ => name.to_owned(),
    }
}

/// Registry as those know it who may see the same, as far as this write has asked for it.
#[derive(Default)]
struct Seen<'k> {
    entities: SeenEntities,
    looked: Looked<'k>,
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
        let entries = entries(rows)?;
        let entities = folded(&entries);
        let mut asked = Asked::default();
        entries.iter().for_each(|entry| asked.add(entry));
        Ok(Known {
            last,
            asked,
            resolver: Resolver::new(decided(entities.seen(tenant, &|_| true)))?,
            entities,
            changed: BTreeSet::new(),
            sources: Sources::default(),
        })
    }

    /// These, followed to the last entry of their log; read anew where that cannot be, or where there are none.
    fn followed(
        known: Option<Known>,
        rows: &mut dyn Read,
        tenant: &str,
        last: u64,
    ) -> Result<Known, Error> {
        if let Some(mut own) = known
            && matches!(own.catch_up(rows, tenant, last)?, Followed::All)
        {
            return Ok(own);
        }
        Known::read(rows, tenant, last)
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
            self.asked.add(&entry);
            let about = entry.does.id().to_owned();
            let before = self.entities.meant(&about, &|_| true).map(str::to_owned);
            self.entities.apply(&entry).ok();
            let after = self.entities.meant(&about, &|_| true).map(str::to_owned);
            self.changed.extend(before.into_iter().chain(after).chain([about]));
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

/// The weights of the policy that a tenant keeps under the name `entities`; where it keeps none, or what it keeps cannot be
/// read, those that hold where nothing is said.
pub(crate) fn weights(rows: &mut dyn Read) -> Result<PartWeights, Error> {
    #[derive(Deserialize)]
    struct Kept {
        value: PolicyPart,
    }
    #[derive(Deserialize)]
    struct PolicyPart {
        #[serde(default)]
        entities: EntityPolicy,
    }
    let last = rows.last(WEIGHTS)?;
    let entry = match last {
        0 => None,
        last => rows.entries(WEIGHTS, last..last + 1)?.pop(),
    };
    Ok(entry
        .and_then(|(_, body)| serde_json::from_str::<Kept>(&body).ok())
        .map(|kept| kept.value.entities.weights)
        .filter(|weights| weights.check().is_ok())
        .unwrap_or_default())
}

/// The occasion on which the mentions of objects are resolved.
#[derive(Clone, Copy)]
pub(crate) enum Occasion<'a> {
    /// The objects are written.
    Write,
    /// Somebody asks for it, of objects that were written before: what was said then is not said again.
    Again {
        /// Author.
        by: Option<&'a str>,
    },
}

/// Outcome of the mentions of objects.
#[derive(Default)]
pub(crate) struct Named {
    /// A note on each object with a mention that waits, or with more than are resolved.
    pub(crate) notes: BTreeMap<ObjectId, WriteNote>,
    /// True if anything is known of entities that was not known before.
    pub(crate) is_new: bool,
}

/// Resolves the mentions of objects that this transaction writes: adds the aliases and relations of what is bound, what
/// waits for a person, and what is new. Returns a note on each object with a mention that waits, or with more than are
/// resolved. A tenant that has no entities pays for one question.
pub(crate) fn resolve_written(
    rows: &mut dyn Write,
    tenant: &str,
    known: &KnownEntities,
    objects: &[&ContextObject],
) -> Result<BTreeMap<ObjectId, WriteNote>, Error> {
    Ok(resolve_on(Occasion::Write, rows, (tenant, known), objects)?.notes)
}

/// Resolves on any occasion.
pub(crate) fn resolve_on(
    occasion: Occasion<'_>,
    rows: &mut dyn Write,
    (tenant, known): (&str, &KnownEntities),
    objects: &[&ContextObject],
) -> Result<Named, Error> {
    if objects.is_empty() {
        return Ok(Named::default());
    }
    let last = rows.last(LOG)?;
    if last == 0 {
        return Ok(Named::default());
    }
    let mut additions = Additions::begin(occasion, rows)?;
    let mut all = known.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut own = Known::followed(all.remove(tenant), rows, tenant, last)?;
    own.sources.catch_up(rows)?;
    let weights = weights(rows)?;
    let mut notes = BTreeMap::new();
    let mut sessions: BTreeMap<Vec<u8>, Session> = BTreeMap::new();
    let mut views: BTreeMap<Vec<u8>, Seen<'_>> = BTreeMap::new();
    let Known {
        entities,
        asked,
        resolver,
        sources,
        ..
    } = &mut own;
    for object in objects {
        let source = object.revision().object_id();
        let session = session_of(object, rows, &additions.key, &mut sessions)?;
        let readers = Readers::of(object);
        let view = readers.bytes()?;
        if views.len() >= MOST_VIEWS && !views.contains_key(&view) {
            views.clear();
        }
        let seen = views.entry(view).or_default();
        let mut audience = Audience::new(
            (entities, sources),
            (rows, tenant),
            readers,
            &mut seen.entities,
        );
        let earlier = match &session {
            Some(session) => audience.meant(&session.earlier)?,
            None => BTreeSet::new(),
        };
        let around = Profile {
            earlier,
            ..around(tenant, object)
        };
        let Operations {
            operations,
            mentions,
            bound,
            note,
        } = operations(
            resolver,
            (&mut audience, &mut seen.looked),
            object,
            &around,
            (&weights, &additions.key, asked),
        )?;
        if let Some(session) = session
            && names_others(object)
            && !(additions.is_again && bound.is_subset(&session.earlier))
        {
            session.speaks(source, bound)?;
        }
        notes.extend(note.map(|note| (source, note)));
        additions.add(object, operations, mentions)?;
    }
    // A write that fails leaves nothing of what it would have made of these.
    let written = objects.iter().map(|object| object.revision().object_id());
    own.sources.forget(written);
    all.insert(tenant.to_owned(), own);
    let is_new = additions.append(rows, last, sessions)?;
    Ok(Named { notes, is_new })
}

/// The session of an object, as it was read for another object of the transaction, or anew; none where it belongs to none.
fn session_of<'s>(
    object: &ContextObject,
    rows: &mut dyn Read,
    key: &[u8; 32],
    sessions: &'s mut BTreeMap<Vec<u8>, Session>,
) -> Result<Option<&'s mut Session>, Error> {
    let Some(place) = place(object)? else {
        return Ok(None);
    };
    Ok(Some(match sessions.entry(place) {
        Slot::Occupied(known) => known.into_mut(),
        Slot::Vacant(slot) => {
            let session = Session::read(rows, key, slot.key())?;
            slot.insert(session)
        }
    }))
}

/// Additions of a transaction to the log of the registry, and to that of mentions.
struct Additions<'a> {
    key: [u8; 32],
    at: Instant,
    is_again: bool,
    by: Option<&'a str>,
    lines: Vec<String>,
    mentioning: Vec<Line>,
    /// The entities that are new, each with those who know it.
    made: BTreeMap<String, Readers>,
    /// All other operations, each with those who know of it.
    said: BTreeSet<(String, Vec<u8>)>,
}

impl<'a> Additions<'a> {
    fn begin(occasion: Occasion<'a>, rows: &mut dyn Write) -> Result<Additions<'a>, Error> {
        let (is_again, by) = match occasion {
            Occasion::Write => (false, None),
            Occasion::Again { by } => (true, by),
        };
        Ok(Additions {
            key: rows.key()?.unwrap_or_default(),
            at: rows.stamp()?.at,
            is_again,
            by,
            lines: Vec::new(),
            mentioning: Vec::new(),
            made: BTreeMap::new(),
            said: BTreeSet::new(),
        })
    }

    /// Adds what an object says of entities, and the entities that it mentions.
    fn add(
        &mut self,
        object: &ContextObject,
        operations: Vec<EntityOp>,
        mut mentions: BTreeSet<String>,
    ) -> Result<(), Error> {
        let source = object.revision().object_id();
        for mut does in operations {
            if !self.is_first(object, &mut does, &mut mentions)? {
                continue;
            }
            let entry = EntityEntry {
                at: self.at,
                by: self.by.map(str::to_owned),
                source: Some(source),
                does,
            };
            let line = serde_json::to_string(&entry).map_err(|error| unwritable(&error))?;
            self.lines.push(line);
        }
        if !mentions.is_empty() {
            self.mentioning.push(Line {
                at: self.at,
                source,
                text: object.revision().content_digest(),
                mentions,
            });
        }
        Ok(())
    }

    /// Returns whether an object is the first to say this. A new entity whose id another one has gets an id of its own.
    fn is_first(
        &mut self,
        object: &ContextObject,
        does: &mut EntityOp,
        mentions: &mut BTreeSet<String>,
    ) -> Result<bool, Error> {
        let readers = Readers::of(object);
        // Two objects of one write may name the same that is new: one entity, where all know it who may see the other.
        if let EntityOp::Create {
            id,
            name,
            candidates,
            ..
        } = does
        {
            let known = self.made.get(id);
            if known.is_some_and(|first| !first.flows_to(&readers)) {
                let own = fresh_id(&self.key, name, candidates, Some(&readers.bytes()?));
                if mentions.remove(id) {
                    mentions.insert(own.clone());
                }
                *id = own;
            }
            return Ok(match self.made.entry(id.clone()) {
                Slot::Occupied(_) => false,
                Slot::Vacant(slot) => {
                    slot.insert(readers);
                    true
                }
            });
        }
        // The first object says it for all who may see the others.
        let operation = serde_json::to_string(does).map_err(|error| unwritable(&error))?;
        Ok(self.said.insert((operation, readers.bytes()?)))
    }

    /// Appends all of it to the logs; returns whether there is anything.
    fn append(
        mut self,
        rows: &mut dyn Write,
        last: u64,
        sessions: BTreeMap<Vec<u8>, Session>,
    ) -> Result<bool, Error> {
        if self.is_again && !self.mentioning.is_empty() {
            let known = Mentions::read(rows, None)?;
            self.mentioning.retain(|line| {
                let known = known.of(line.source, line.text);
                known.len() != line.mentions.len()
                    || !known.iter().all(|id| line.mentions.contains(id))
            });
        }
        let is_spoken = sessions.values().any(Session::is_longer);
        let is_new = !self.lines.is_empty() || !self.mentioning.is_empty() || is_spoken;
        for session in sessions.into_values() {
            session.append(rows)?;
        }
        append(rows, &self.mentioning)?;
        if !self.lines.is_empty() && !rows.append(LOG, last, &self.lines)? {
            return Err(Error::assertion(
                "the log of entities has one writer at a time",
            ));
        }
        Ok(is_new)
    }
}

/// The mentions of an object that was written before, as a write of it would find them now, and whether there are more.
pub(crate) fn mentions_of(
    rows: &mut dyn Read,
    tenant: &str,
    object: &ContextObject,
) -> Result<(Vec<ResolvedMention>, bool), Error> {
    let last = rows.last(LOG)?;
    let Known {
        entities,
        resolver,
        mut sources,
        ..
    } = Known::read(rows, tenant, last)?;
    let key = rows.key()?.unwrap_or_default();
    let weights = weights(rows)?;
    let earlier = match place(object)? {
        Some(place) => Session::read(rows, &key, &place)?.earlier,
        None => BTreeSet::new(),
    };
    let mut seen = Seen::default();
    let mut audience = Audience::new(
        (&entities, &mut sources),
        (rows, tenant),
        Readers::of(object),
        &mut seen.entities,
    );
    let around = Profile {
        earlier: audience.meant(&earlier)?,
        ..around(tenant, object)
    };
    let view = (&mut audience, &mut seen.looked);
    let found = find(&resolver, view, object, &around, &weights);
    audience.failure().map_or(Ok(found), Err)
}

/// The effects of the mentions of an object on the registry.
struct Operations {
    operations: Vec<EntityOp>,
    /// The entities that its text mentions.
    mentions: BTreeSet<String>,
    /// The entities that it speaks of.
    bound: BTreeSet<String>,
    /// The note on them: what is left out is said before what waits, which `tenure review list` shows anyway.
    note: Option<WriteNote>,
}

/// The surroundings of all mentions of an object.
fn around(tenant: &str, object: &ContextObject) -> Profile {
    let revision = object.revision();
    // What says nothing of its source is not known to be a bad one.
    let usual = default_trust(revision.authority_level());
    let stated = |trust: Score| (trust != usual).then_some(trust);
    Profile {
        tenant: tenant.to_owned(),
        project: revision.scope().project.as_deref().map(str::to_owned),
        source_authority: stated(revision.source_authority()),
        confidence: stated(revision.confidence()),
        at: object.valid().from,
        ..Profile::default()
    }
}

/// Returns whether what an object calls others counts: data names what it likes.
fn names_others(object: &ContextObject) -> bool {
    object.revision().authority_level() < Authority::Data
}

/// The mentions of an object, as far as everyone who may see it knows the registry, and whether there are more.
fn find<'r>(
    resolver: &'r Resolver,
    (audience, looked): (&mut Audience<'_, '_>, &mut Looked<'r>),
    object: &ContextObject,
    around: &Profile,
    weights: &PartWeights,
) -> (Vec<ResolvedMention>, bool) {
    let text = object.revision().content();
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (mut found, is_cut) = resolver.text_in(&text[..end], around, weights, (audience, looked));
    if !names_others(object) {
        for mention in &mut found {
            mention.resolved.alias = None;
        }
    }
    (found, is_cut || end < text.len())
}

/// The changes to the registry by the mentions of an object, as far as everyone who may see it knows the registry.
fn operations<'r>(
    resolver: &'r Resolver,
    (audience, looked): (&mut Audience<'_, '_>, &mut Looked<'r>),
    object: &ContextObject,
    around: &Profile,
    (weights, key, asked): (&PartWeights, &[u8; 32], &Asked),
) -> Result<Operations, Error> {
    let (found, mut is_cut) = find(resolver, (audience, looked), object, around, weights);
    let (mut operations, mut bound, mut waits) = (Vec::new(), BTreeSet::new(), false);
    let (mut mentions, mut called) = (BTreeSet::new(), Vec::new());
    for mut mention in found {
        let candidates: Vec<String> =
            mention.resolved.candidates.iter().map(|(id, _)| id.clone()).collect();
        let beside = mention
            .mention
            .metadata
            .mail
            .clone()
            .filter(|_| mention.sign == Sign::DisplayName);
        let is_new = mention.resolved.outcome == Resolution::New;
        let fresh = beside
            .as_ref()
            .filter(|_| is_new)
            .filter(|mail| !resolver.knows(mail, audience));
        let is_question = match (mention.resolved.outcome, mention.sign) {
            (Resolution::Bind, _) => {
                let alias = mention.resolved.alias.zip(candidates.first());
                called.extend(alias.map(|(alias, id)| EntityOp::Alias {
                    id: id.clone(),
                    alias,
                }));
                bound.extend(candidates);
                continue;
            }
            (Resolution::Review, _) => true,
            // A path and a role say too little to be something of their own.
            (_, Sign::Mail | Sign::DocumentId) if !resolver.knows(&mention.name, audience) => false,
            // Whoever is new is known by the address, as where that stands alone.
            _ => match fresh {
                Some(mail) => {
                    mention.name.clone_from(mail);
                    mention.mention.kind = Some(EntityType::Person);
                    false
                }
                None => continue,
            },
        };
        let question = question(&mention.name, &mention.mention.metadata);
        let before = if is_question {
            asked.of(&question, &candidates)
        } else {
            &[]
        };
        let (id, is_known) = audience.id_of(key, &question, &candidates, before)?;
        let is_full = operations.len() >= MOST_ADDED;
        if is_question {
            if let Some(meant) = audience.decided(&id)? {
                // Of several, another text may mean another one.
                if candidates.len() == 1 {
                    bound.insert(meant);
                }
                continue;
            }
            waits = true;
        } else if is_known || !is_full {
            mentions.insert(id.clone());
        }
        is_cut |= !is_known && is_full;
        if !is_known && !is_full {
            operations.push(EntityOp::Create {
                id,
                name: mention.name,
                kind: mention.mention.kind,
                project: mention.mention.project,
                metadata: mention.mention.metadata,
                confidence: None,
                pending: is_question,
                candidates,
            });
        }
    }
    operations.extend(aliases(resolver, audience, object));
    operations.append(&mut called);
    operations.extend(relations(resolver, audience, &bound));
    is_cut |= operations.len() > MOST_ADDED;
    operations.truncate(MOST_ADDED);
    mentions.extend(bound.iter().cloned());
    // An object may say itself which entities it is about.
    let (about, _) = object.revision().names();
    for id in about.iter().take(MOST_RELATED) {
        if audience.holds(id)? {
            bound.insert(id.clone());
        }
    }
    if let Some(error) = audience.failure() {
        return Err(error);
    }
    let note = if is_cut {
        Some(WriteNote::MentionsCut)
    } else {
        waits.then_some(WriteNote::EntityPending)
    };
    Ok(Operations {
        operations,
        mentions,
        bound,
        note,
    })
}

/// The names that an object gives the one entity that it is about. Data names what it likes: its names are none.
fn aliases(
    resolver: &Resolver,
    audience: &mut Audience<'_, '_>,
    object: &ContextObject,
) -> Vec<EntityOp> {
    let (about, names) = object.revision().names();
    let ([about], true) = (about, names_others(object)) else {
        return Vec::new();
    };
    let Some(entity) = audience.entity(resolver, about) else {
        return Vec::new();
    };
    let has = |name: &String| {
        let mut known = entity.profile.names();
        known.any(|one| folded_name(one) == folded_name(name))
    };
    let named =
        names
            .iter()
            .filter(|name| is_name(name) && !has(name))
            .map(|alias| EntityOp::Alias {
                id: about.clone(),
                alias: alias.clone(),
            });
    // What cannot be a name is none, whatever an object says.
    named.filter(|named| named.check().is_ok()).collect()
}

/// The relations between entities that one object speaks of, where there are none yet.
fn relations(
    resolver: &Resolver,
    audience: &mut Audience<'_, '_>,
    bound: &BTreeSet<String>,
) -> Vec<EntityOp> {
    let bound: Vec<&String> = bound.iter().take(MOST_RELATED).collect();
    let mut fresh = Vec::new();
    for (at, id) in bound.iter().enumerate() {
        let Some(entity) = audience.entity(resolver, id) else {
            continue;
        };
        let later = bound.get(at + 1..).unwrap_or_default().iter();
        let new = later.filter(|to| entity.relations.iter().all(|(_, other)| other != **to));
        fresh.extend(new.map(|to| EntityOp::Relate {
            id: (*id).clone(),
            relation: RelationType::CrossReference,
            to: (*to).clone(),
        }));
    }
    fresh
}

/// Returns whether an object may give a name: not too short, and more than a word that any text has.
fn is_name(name: &str) -> bool {
    let name = folded_name(name);
    name.chars().nth(MIN_ALIAS - 1).is_some() && !COMMON.contains(&name.as_str())
}

/// The entries of the log that can be read. What came from an erased object is gone with it.
pub(crate) fn entries(rows: &mut dyn Read) -> Result<Vec<EntityEntry>, Error> {
    let entries = rows.entries(LOG, 1..u64::MAX)?.into_iter();
    Ok(entries.filter_map(|(_, body)| serde_json::from_str(&body).ok()).collect())
}

/// The entities that a person is in these entries: the one with this id or this mail address, and those that mean it.
pub(crate) fn of_person(entries: &[EntityEntry], subject: &str) -> BTreeSet<String> {
    let is_theirs = |mail: &String| folded_name(mail) == folded_name(subject);
    let (mut people, mut own) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        match &entry.does {
            EntityOp::Create {
                id, kind, metadata, ..
            } if kind.is_none_or(|kind| kind == EntityType::Person) => {
                people.insert(id);
                if id == subject || metadata.mail.as_ref().is_some_and(is_theirs) {
                    own.insert(id);
                }
            }
            EntityOp::Mark {
                id,
                mark: Mark::Mail,
                value: Some(mail),
            } if is_theirs(mail) && people.contains(id) => {
                own.insert(id);
            }
            _ => {}
        }
    }
    let entities = folded(entries);
    own.into_iter().flat_map(|id| entities.members(id)).collect()
}

/// Takes everything out of the registry's log that was said of these entities.
pub(crate) fn forget(rows: &mut dyn Write, ids: &BTreeSet<String>) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let speaks = |does: &EntityOp| {
        let other = match does {
            EntityOp::Merge { into, .. } => Some(into),
            EntityOp::Relate { to, .. } | EntityOp::RemoveRelation { to, .. } => Some(to),
            _ => None,
        };
        let named = std::iter::once(does.id())
            .chain(other.map(String::as_str))
            .into_iter()
            .any(|id| ids.contains(id));
        // Who may be one of them has their name.
        let may_be = matches!(does, EntityOp::Create { candidates, pending: true, .. }
            if candidates.iter().any(|id| ids.contains(id)));
        named || may_be
    };
    let mut changed = Vec::new();
    for (number, body) in rows.entries(LOG, 1..u64::MAX)? {
        let entry = serde_json::from_str::<EntityEntry>(&body);
        if entry.is_ok_and(|entry| speaks(&entry.does)) {
            changed.push((number, NOTICE.to_owned()));
        }
    }
    rows.rewrite(LOG, &changed)?;
    let last = rows.last(LOG)?;
    rows.append(LOG, last, &[NOTICE.to_owned()])?;
    unmention(rows, ids)
}

/// The registry that these entries make. An entry that speaks of what was erased changes nothing.
pub(crate) fn folded<'e>(entries: impl IntoIterator<Item = &'e EntityEntry>) -> Entities {
    let mut entities = Entities::default();
    for entry in entries {
        entities.apply(entry).ok();
    }
    entities
}

/// The ids of entities that an operation speaks of.
pub(crate) fn ids_in(does: &EntityOp) -> Vec<&str> {
    let mut ids = vec![does.id()];
    match does {
        EntityOp::Create { candidates, .. } => ids.extend(candidates.iter().map(String::as_str)),
        EntityOp::Merge { into, .. } => ids.push(into),
        EntityOp::Relate { to, .. } | EntityOp::RemoveRelation { to, .. } => ids.push(to),
        _ => {}
    }
    ids
}

/// Applies an entry that goes from one tenant to another. Some have no effect any more and are history, and no error: what takes
/// something back that was erased, and what was said of an entity that was erased and has come back since, which `comes` says.
///
/// # Errors
///
/// As [`Entities::apply`].
pub(crate) fn take_up(
    entities: &mut Entities,
    entry: &EntityEntry,
    comes: &dyn Fn(&str) -> bool,
) -> Result<(), Error> {
    let does = &entry.does;
    let takes_back = matches!(
        does,
        EntityOp::Split { .. }
            | EntityOp::Confirm { .. }
            | EntityOp::Mark { value: None, .. }
            | EntityOp::RemoveAlias { .. }
            | EntityOp::RemoveRole { .. }
            | EntityOp::RemoveRelation { .. }
    );
    let ids = ids_in(does);
    let is_early = ids.iter().any(|id| !entities.holds(id));
    let is_new = matches!(does, EntityOp::Create { .. });
    let is_history =
        !is_new && (takes_back || is_early) && ids.iter().all(|id| entities.holds(id) || comes(id));
    match entities.apply(entry) {
        Err(_) if is_history => Ok(()),
        done => done,
    }
}
