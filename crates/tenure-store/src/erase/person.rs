//! The things that a tenant keeps of a person: objects about them, their sessions, records of what they asked.
//!
//! A person has one name, by which objects call them among their `subjects`, and requests and sessions as their user.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::{ObjectId, clip};
use tenure::policy::PolicyDocument;
use tenure::time::Instant;
use tenure::{Digest, Error, ObjectDocument};

use super::logged::{Logged, each_entry, session_log};
use super::with_everything_made_from;
use crate::beside::{Proposed, only_proposed};
use crate::engine::Read;
use crate::resolution::{entries, of_person};
use crate::stored::unwritable;
use crate::tenant::Tenant;

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
    /// Returns whether nothing is kept of them.
    pub fn is_unknown(&self) -> bool {
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
        self.objects
            .retain(|object| object.relation == Relation::User);
        self.sessions
            .retain(|session| session.relation == Relation::User);
        self.records
            .retain(|record| record.relation == Relation::User);
        self
    }

    /// The logs of the sessions that are theirs.
    pub(super) fn own_logs(&self) -> Vec<String> {
        let own = self.sessions.iter();
        let own = own.filter(|session| session.relation == Relation::User);
        own.map(|session| session_log(&session.id)).collect()
    }

    /// The ids of the records of what they asked.
    pub(super) fn own_records(&self) -> Vec<String> {
        let own = self.records.iter();
        let own = own.filter(|record| record.relation == Relation::User);
        own.map(|record| record.record_id.clone()).collect()
    }
}

impl Tenant {
    /// Lists everything that is kept of a person: the objects about them and what was made from these, their own
    /// objects, sessions and records. It reads all logs and records of the tenant. Of an unknown person the lists are
    /// empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn person(&self, subject: &str) -> Result<Person, Error> {
        self.read(|rows| {
            let logged = Logged::read(rows)?;
            Ok(person(rows, &logged, subject)?.0)
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
    subject: &str,
) -> Result<(Person, Proposed), Error> {
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
    let sessions = sessions(rows, logged, subject, &with_derived)?;
    let records = records(rows, subject, &sessions, &with_derived)?;
    let mut names = names(rows, logged, relations.keys().copied())?;
    let object = |(object_id, relation)| PersonObject {
        object_id,
        name: names.remove(&object_id),
        relation,
    };
    let found = Person {
        subject: subject.to_owned(),
        objects: relations.into_iter().map(object).collect(),
        sessions,
        records,
        entities: of_person(&entries(rows)?, subject).into_iter().collect(),
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
        let ever = rows.renewed(chunk)?.into_iter();
        let ever = ever.filter(|row| row.waits() && is_own(&row.labels));
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
    let mut names: BTreeMap<ObjectId, String> = documents
        .map(|(id, object)| (id, object.name().to_owned()))
        .collect();
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    let standing = rows.standing(&ids)?.into_iter();
    names.extend(standing.map(|(id, standing)| (id, standing.name)));
    Ok(names)
}

fn sessions(
    rows: &mut dyn Read,
    logged: &Logged,
    subject: &str,
    about: &BTreeSet<ObjectId>,
) -> Result<Vec<PersonSession>, Error> {
    let holding = logged.logs_with(about);
    let mut found = Vec::new();
    for (log, id) in logged.sessions() {
        let mut is_own = false;
        for (_, body) in rows.entries(log, 1..2)? {
            let opened: Value = serde_json::from_str(&body).map_err(|error| unwritable(&error))?;
            is_own |= opened.pointer("/opened/user").and_then(Value::as_str) == Some(subject);
        }
        let relation = if is_own {
            Relation::User
        } else if holding.contains(log) {
            Relation::Subject
        } else {
            continue;
        };
        let id = id.to_owned();
        found.push(PersonSession { id, relation });
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(found)
}

fn records(
    rows: &mut dyn Read,
    subject: &str,
    sessions: &[PersonSession],
    about: &BTreeSet<ObjectId>,
) -> Result<Vec<PersonRecord>, Error> {
    let own = sessions.iter();
    let own = own.filter(|session| session.relation == Relation::User);
    let own: BTreeSet<&str> = own.map(|session| session.id.as_str()).collect();
    let mut found = Vec::new();
    for (record_id, compiled_at) in rows.records(None, u32::MAX)? {
        let Some(record) = rows.record(&record_id)? else {
            continue;
        };
        let body: Value = serde_json::from_str(&record.body).map_err(|error| unwritable(&error))?;
        let says = |field: &str| body.pointer(field).and_then(Value::as_str);
        let users = [
            "/inputs/request/principal/user",
            "/compile/request/principal/user",
        ];
        let is_own = users.into_iter().any(|user| says(user) == Some(subject))
            || says("/session").is_some_and(|session| own.contains(session));
        let relation = if is_own {
            Relation::User
        } else if record.objects.iter().any(|id| about.contains(id)) {
            Relation::Subject
        } else {
            continue;
        };
        found.push(PersonRecord {
            record_id,
            compiled_at,
            relation,
        });
    }
    Ok(found)
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
        let found = finder.find_iter(text);
        let found = found.filter_map(|found| all.get(found.pattern().as_usize()));
        found.copied().collect()
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
