//! The things that a tenant keeps of a person: objects about them, their sessions, records of what they asked.
//!
//! A person has one name, by which objects call them among their `subjects`, and requests and sessions as their user. What
//! came under one of their keys is theirs, too, where it says no user: sessions and records did not say one at first.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::{ObjectId, clip};
use tenure::policy::PolicyDocument;
use tenure::time::Instant;
use tenure::{Digest, Error, ObjectDocument};

use super::logged::{Logged, each_body, each_entry, session_log};
use super::with_everything_made_from;
use crate::entity::resolution::{entries, of_person};
use crate::rows::engine::Read;
use crate::rows::stored::unwritable;
use crate::tenant::alongside::{Proposed, only_proposed};
use crate::tenant::handle::Tenant;

/// The number of objects whose heads are read at once.
const CHUNK: usize = 1_000;

/// The relation of something to a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Relation {
    /// It is about them: an object that has them among its subjects, or a session or a record that holds one.
    Subject,
    /// It was made from something that is about them.
    Derived,
    /// It is theirs: an object or a session of the user, or a record of what the user asked.
    User,
}

/// A person by name, with the ids of the keys that speak for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subject {
    /// The name.
    pub name: String,
    /// The ids of their keys in this tenant.
    pub keys: Vec<String>,
}

impl From<&str> for Subject {
    fn from(name: &str) -> Subject {
        Subject {
            name: name.to_owned(),
            keys: Vec::new(),
        }
    }
}

/// Everything that a tenant keeps of a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Person {
    /// The person's name.
    pub subject: String,
    /// The objects, in the order of their ids.
    pub objects: Vec<PersonObject>,
    /// The sessions, in the order of their ids.
    pub sessions: Vec<PersonSession>,
    /// The records, the newest first.
    pub records: Vec<PersonRecord>,
    /// The entities of the registry that are this person: with that id or mail address, and those that mean it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// The places that name the person and are neither theirs nor about them. No erasure of the person takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<Mention>,
    /// The number of sessions that belong to no user. The person may have spoken in them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ownerless_sessions: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The kind of a place that names a person.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Place {
    /// A key that speaks for them.
    Key,
    /// A log.
    Log,
    /// An object.
    Object,
    /// A record.
    Record,
}

/// A place that names a person and is neither theirs nor about them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Mention {
    /// The kind of the place.
    pub place: Place,
    /// Its id or name.
    pub id: String,
    /// The reason why it stays, in words.
    pub why: String,
}

impl Mention {
    fn of_key(id: &str) -> Mention {
        Mention {
            place: Place::Key,
            id: id.to_owned(),
            why: "it speaks for them; `tenure keys revoke` ends it, and the log of keys only grows"
                .into(),
        }
    }

    fn of_log(log: &str) -> Mention {
        let why = match log {
            crate::pending::outcomes::LOG => "it keeps who proposed and decided",
            _ if log.starts_with("session/") => {
                "somebody else's session names them, or a judgement of theirs stands in it"
            }
            _ => "an entry names them, such as one that says who changed something",
        };
        Mention {
            place: Place::Log,
            id: log.to_owned(),
            why: why.into(),
        }
    }

    fn of_object(id: ObjectId) -> Mention {
        Mention {
            place: Place::Object,
            id: id.to_string(),
            why: "it names them and does not say that it is about them".into(),
        }
    }

    fn of_record(id: &str) -> Mention {
        Mention {
            place: Place::Record,
            id: id.to_owned(),
            why: "it is of somebody else's request".into(),
        }
    }
}

/// An object that is about a person, or theirs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PersonObject {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name, where it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its relation to the person.
    pub relation: Relation,
}

/// A session that is a person's, or holds something about them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PersonSession {
    /// Its id.
    pub id: String,
    /// Its relation to the person.
    pub relation: Relation,
}

/// A record of what a person asked, or that lists an object about them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PersonRecord {
    /// Its id.
    pub record_id: String,
    /// The instant of the compile.
    pub compiled_at: Instant,
    /// Its relation to the person.
    pub relation: Relation,
}

impl Person {
    /// Returns whether nothing is kept of them, and nothing names them.
    pub fn is_unknown(&self) -> bool {
        self.has_nothing() && self.mentions.is_empty()
    }

    /// Returns whether nothing is theirs or about them.
    pub fn has_nothing(&self) -> bool {
        self.objects.is_empty()
            && self.sessions.is_empty()
            && self.records.is_empty()
            && self.entities.is_empty()
    }

    /// The part that is theirs and not about them, which [`Tenant::erase_subject`] leaves and
    /// [`Tenant::erase_person`] erases.
    #[must_use]
    pub fn own(mut self) -> Person {
        self.entities.clear();
        self.objects.retain(|object| object.relation == Relation::User);
        self.sessions.retain(|session| session.relation == Relation::User);
        self.records.retain(|record| record.relation == Relation::User);
        self
    }

    /// The logs of the sessions that are theirs.
    pub(super) fn own_logs(&self) -> Vec<String> {
        self.sessions
            .iter()
            .filter(|session| session.relation == Relation::User)
            .map(|session| session_log(&session.id))
            .collect()
    }

    /// The ids of the records of what they asked.
    pub(super) fn own_records(&self) -> Vec<String> {
        self.records
            .iter()
            .filter(|record| record.relation == Relation::User)
            .map(|record| record.record_id.clone())
            .collect()
    }
}

impl Tenant {
    /// Lists everything that is kept of a person: the objects about them and what was made from these, their own
    /// objects, sessions and records, and what else names them. It reads all logs and records of the tenant. Of an
    /// unknown person the lists are empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn person(&self, subject: impl Into<Subject>) -> Result<Person, Error> {
        let subject = subject.into();
        self.read(|rows| {
            let logged = Logged::read(rows)?;
            Ok(person(rows, &logged, &subject)?.0)
        })
    }
}

/// The stored objects about a person; and those about them only in revisions that wait or were rejected.
pub(super) fn about(
    rows: &mut dyn Read,
    subject: &str,
) -> Result<(BTreeSet<ObjectId>, Proposed), Error> {
    let ids = rows.about(subject)?;
    let proposed = only_proposed(rows, &ids, |made| {
        made.subjects.iter().any(|who| who == subject)
    })?;
    let mut about: BTreeSet<ObjectId> = ids.into_iter().collect();
    about.retain(|id| !proposed.contains_key(id));
    Ok((about, proposed))
}

/// Reads everything that is kept of a person; and says of which objects only what waits, or was rejected, is so.
pub(super) fn person(
    rows: &mut dyn Read,
    logged: &Logged,
    asked: &Subject,
) -> Result<(Person, Proposed), Error> {
    let subject = asked.name.as_str();
    let (mut about, mut proposed) = about(rows, subject)?;
    about.extend(logged.about(subject));
    let with_derived = with_everything_made_from(rows, logged, about.clone())?;
    let mut relations: BTreeMap<ObjectId, Relation> = BTreeMap::new();
    let (mut own, once_proposed) = users_objects(rows, subject)?;
    let all: Vec<ObjectId> = own.union(&once_proposed).copied().collect();
    let own_proposed = only_proposed(rows, &all, |made| made.user_id.as_deref() == Some(subject))?;
    own.retain(|id| !own_proposed.contains_key(id));
    own.extend(logged.of_user(subject));
    relations.extend(own_proposed.keys().map(|id| (*id, Relation::User)));
    relations.extend(proposed.keys().map(|id| (*id, Relation::Subject)));
    relations.extend(own.iter().map(|id| (*id, Relation::User)));
    for (id, revisions) in own_proposed {
        proposed.entry(id).or_default().extend(revisions);
    }
    proposed.retain(|id, _| !own.contains(id) && !with_derived.contains(id));
    for id in &with_derived {
        let relation = if about.contains(id) {
            Relation::Subject
        } else {
            Relation::Derived
        };
        relations.insert(*id, relation);
    }
    let mut kept = read_records(rows, asked)?;
    let (sessions, ownerless_sessions) = sessions(rows, logged, (subject, &kept), &with_derived)?;
    let records = records(&mut kept, &sessions, &with_derived);
    let related: BTreeSet<ObjectId> = relations.keys().copied().collect();
    let entities: Vec<String> = of_person(&entries(rows)?, subject).into_iter().collect();
    let mut mentions: Vec<Mention> = asked.keys.iter().map(|id| Mention::of_key(id)).collect();
    mentions.extend(logs_naming(rows, logged, subject, (&related, &sessions))?);
    mentions.extend(objects_naming(rows, subject, &related)?);
    let naming = kept.iter().filter(|kept| kept.names_them && kept.relation.is_none());
    mentions.extend(naming.map(|kept| Mention::of_record(&kept.id)));
    let mut names = names(rows, logged, relations.keys().copied())?;
    let found = Person {
        subject: subject.to_owned(),
        objects: relations
            .into_iter()
            .map(|(object_id, relation)| PersonObject {
                object_id,
                name: names.remove(&object_id),
                relation,
            })
            .collect(),
        sessions,
        records,
        entities,
        mentions,
        ownerless_sessions,
    };
    Ok((found, proposed))
}

/// The error of an erasure of somebody of whom nothing is kept.
pub(super) fn nobody(subject: &str) -> Error {
    Error::not_found(format!("nothing is known of `{}`", clip(subject))).expected(
        "a person as `subjects` of objects, or the user of sessions and requests, name them",
    )
}

/// The stored objects whose user this is, or that of what waits beside what is believed of them; and those of which something once
/// waited that was theirs.
fn users_objects(
    rows: &mut dyn Read,
    user: &str,
) -> Result<(BTreeSet<ObjectId>, BTreeSet<ObjectId>), Error> {
    #[derive(Deserialize)]
    struct Owner {
        user_id: Option<String>,
    }
    let ids: Vec<ObjectId> = rows.objects()?.into_iter().map(|(_, id)| id).collect();
    let (mut found, mut waited) = (BTreeSet::new(), BTreeSet::new());
    let is_own = |body: &str| {
        let owner = serde_json::from_str::<Owner>(body).ok();
        owner.and_then(|owner| owner.user_id).as_deref() == Some(user)
    };
    for chunk in ids.chunks(CHUNK) {
        let held = rows.held_labels(chunk)?.into_iter();
        found.extend(held.filter(|(_, labels)| is_own(labels)).map(|(id, _)| id));
        let ever = rows
            .renewed(chunk)?
            .into_iter()
            .filter(|row| row.waits() && is_own(&row.labels));
        waited.extend(ever.map(|row| row.object));
        // A damaged body names no user: its revision is found by other means alone.
        let own = rows.heads(chunk)?.into_iter();
        found.extend(own.filter(|(_, body)| is_own(body)).map(|(id, _)| id));
    }
    Ok((found, waited))
}

fn names(
    rows: &mut dyn Read,
    logged: &Logged,
    ids: impl Iterator<Item = ObjectId>,
) -> Result<BTreeMap<ObjectId, String>, Error> {
    let ids: BTreeSet<ObjectId> = ids.collect();
    let documents = logged.documents(rows, &ids)?.into_iter();
    let mut names: BTreeMap<ObjectId, String> =
        documents.map(|(id, object)| (id, object.name().to_owned())).collect();
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    let standing = rows.standing(&ids)?.into_iter();
    names.extend(standing.map(|(id, standing)| (id, standing.name)));
    Ok(names)
}

/// The sessions of a person, and how many belong to nobody.
fn sessions(
    rows: &mut dyn Read,
    logged: &Logged,
    (subject, kept): (&str, &[ReadRecord]),
    about: &BTreeSet<ObjectId>,
) -> Result<(Vec<PersonSession>, u64), Error> {
    let holding = logged.logs_with(about);
    let (mut found, mut ownerless) = (Vec::new(), 0);
    for (log, id) in logged.sessions() {
        let mut owner = None;
        for (_, body) in rows.entries(log, 1..2)? {
            let opened: Value = serde_json::from_str(&body).map_err(|error| unwritable(&error))?;
            let user = opened.pointer("/opened/user").and_then(Value::as_str);
            owner = user.map(str::to_owned);
        }
        let is_own = match &owner {
            Some(owner) => owner == subject,
            None => came_by_their_keys_alone(id, kept),
        };
        let relation = if is_own {
            Relation::User
        } else {
            ownerless += u64::from(owner.is_none());
            if !holding.contains(log) {
                continue;
            }
            Relation::Subject
        };
        let id = id.to_owned();
        found.push(PersonSession { id, relation });
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Ok((found, ownerless))
}

/// Returns whether requests of a session came under keys of the person and under no other: clients name sessions, too.
fn came_by_their_keys_alone(session: &str, kept: &[ReadRecord]) -> bool {
    let mut came = kept
        .iter()
        .filter(|kept| kept.session.as_deref() == Some(session))
        .map(|kept| kept.under_their_key)
        .peekable();
    came.peek().is_some() && came.all(|theirs| theirs)
}

/// The part of a record that says whose it is.
struct ReadRecord {
    id: String,
    compiled_at: Instant,
    objects: Vec<ObjectId>,
    session: Option<String>,
    /// Set where it says that it is of the person.
    is_theirs: bool,
    /// Set where it came under one of their keys.
    under_their_key: bool,
    names_them: bool,
    relation: Option<Relation>,
}

fn read_records(rows: &mut dyn Read, asked: &Subject) -> Result<Vec<ReadRecord>, Error> {
    let named = as_json(&asked.name);
    let mut found = Vec::new();
    for (id, compiled_at) in rows.records(None, u32::MAX)? {
        let Some(record) = rows.record(&id)? else {
            continue;
        };
        let body: Value = serde_json::from_str(&record.body).map_err(|error| unwritable(&error))?;
        let says = |field: &str| body.pointer(field).and_then(Value::as_str);
        let mut users = [
            "/user",
            "/inputs/request/principal/user",
            "/compile/request/principal/user",
        ]
        .into_iter()
        .filter_map(says);
        let key = says("/key").filter(|key| asked.keys.iter().any(|own| own == key));
        let user = users.next();
        found.push(ReadRecord {
            session: says("/session").map(str::to_owned),
            is_theirs: match user {
                Some(user) => user == asked.name || users.any(|user| user == asked.name),
                None => key.is_some(),
            },
            under_their_key: key.is_some(),
            names_them: record.body.contains(&named),
            relation: None,
            objects: record.objects,
            id,
            compiled_at,
        });
    }
    Ok(found)
}

/// A text as it stands in JSON, with its quotation marks.
fn as_json(text: &str) -> String {
    Value::from(text).to_string()
}

fn records(
    kept: &mut [ReadRecord],
    sessions: &[PersonSession],
    about: &BTreeSet<ObjectId>,
) -> Vec<PersonRecord> {
    let own: BTreeSet<&str> = sessions
        .iter()
        .filter(|session| session.relation == Relation::User)
        .map(|session| session.id.as_str())
        .collect();
    let mut found = Vec::new();
    for record in kept {
        let in_own = |session: &String| own.contains(session.as_str());
        record.relation = if record.is_theirs || record.session.as_ref().is_some_and(in_own) {
            Some(Relation::User)
        } else if record.objects.iter().any(|id| about.contains(id)) {
            Some(Relation::Subject)
        } else {
            None
        };
        found.extend(record.relation.map(|relation| PersonRecord {
            record_id: record.id.clone(),
            compiled_at: record.compiled_at,
            relation,
        }));
    }
    found
}

/// Returns whether a log is of the registry of entities.
fn is_of_entities(log: &str) -> bool {
    let whole = [crate::entity::resolution::LOG, crate::entity::mentions::LOG];
    whole.contains(&log) || log.starts_with(crate::entity::mentions::SESSION_MENTIONS)
}

/// The logs with an entry that names a person and holds nothing that is theirs or about them.
fn logs_naming(
    rows: &mut dyn Read,
    logged: &Logged,
    subject: &str,
    (related, sessions): (&BTreeSet<ObjectId>, &[PersonSession]),
) -> Result<Vec<Mention>, Error> {
    let named = as_json(subject);
    let own: BTreeSet<String> = sessions
        .iter()
        .filter(|session| session.relation == Relation::User)
        .map(|session| session_log(&session.id))
        .collect();
    let holding = logged.entries_with(related);
    let mut found = Vec::new();
    // What the registry of entities says of a person is listed as their entities; an id may be of something else.
    let logs = logged.names().iter().filter(|log| !is_of_entities(log));
    for log in logs.filter(|log| !own.contains(*log)) {
        let mut names = false;
        each_body(rows, log, &mut |number, body| {
            names |= body.contains(&named) && !holding.contains(&(log.as_str(), number));
            Ok(())
        })?;
        if names {
            found.push(Mention::of_log(log));
        }
    }
    Ok(found)
}

/// The objects that name a person, and are neither theirs nor about them.
fn objects_naming(
    rows: &mut dyn Read,
    subject: &str,
    related: &BTreeSet<ObjectId>,
) -> Result<Vec<Mention>, Error> {
    let named = as_json(subject);
    let ids: Vec<ObjectId> = rows
        .objects()?
        .into_iter()
        .map(|(_, id)| id)
        .filter(|id| !related.contains(id))
        .collect();
    let mut found = BTreeSet::new();
    for chunk in ids.chunks(CHUNK) {
        let heads = rows.heads(chunk)?.into_iter();
        found.extend(heads.filter(|(_, body)| body.contains(&named)).map(|(id, _)| id));
    }
    Ok(found.into_iter().map(Mention::of_object).collect())
}

/// The kept texts that these records name and nothing that stays does, and the originals of the objects among them.
/// Policies are nobody's words, and stay.
pub(super) fn texts_only_in(
    rows: &mut dyn Read,
    logged: &Logged,
    dropped: &[String],
) -> Result<Vec<Digest>, Error> {
    let kept: BTreeSet<Digest> = rows.blobs()?.into_iter().collect();
    if dropped.is_empty() || kept.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<Digest> = kept.iter().copied().collect();
    let finder = AhoCorasick::new(all.iter().map(Digest::to_string)).map_err(|error| {
        Error::input(format!(
            "too many texts are kept to be looked through: {error}"
        ))
    })?;
    let named_in = |text: &str| -> BTreeSet<Digest> {
        finder
            .find_iter(text)
            .filter_map(|found| all.get(found.pattern().as_usize()))
            .copied()
            .collect()
    };
    let (mut named, mut stay) = (BTreeSet::new(), BTreeSet::new());
    for (id, _) in rows.records(None, u32::MAX)? {
        let Some(record) = rows.record(&id)? else {
            continue;
        };
        let names = named_in(&record.body);
        if dropped.contains(&id) {
            named.extend(names);
        } else {
            stay.extend(names);
        }
    }
    for log in logged.names() {
        each_entry(rows, log, &mut |_, entry| {
            stay.extend(named_in(&entry.to_string()));
            Ok(())
        })?;
    }
    let mut gone = BTreeSet::new();
    for digest in named.difference(&stay) {
        let Some(bytes) = rows.blob(*digest)? else {
            continue;
        };
        if serde_json::from_slice::<PolicyDocument>(&bytes).is_ok() {
            continue;
        }
        gone.insert(*digest);
        if let Ok(object) = serde_json::from_slice::<ObjectDocument>(&bytes) {
            let original = Digest::of(object.content.as_bytes());
            gone.extend(kept.get(&original).filter(|text| !stay.contains(text)));
        }
    }
    Ok(gone.into_iter().collect())
}
