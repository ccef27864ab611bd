//! Erasure: nothing is left of an object and of what was made from it but tombstones, which hold keyed
//! digests only. Everything else that the tenant keeps (logs, texts found by their digests, compile
//! records) is read through for it, and rewritten or dropped.

mod fields;
mod gone;
mod logged;
mod person;

use std::collections::{BTreeMap, BTreeSet};

use tenure::object::{ObjectId, RevisionId, clip};
use tenure::{Digest, Error, ObjectDocument};

use self::gone::{Gone, TextSearch, texts};
use self::logged::Logged;
use self::person::{about, nobody, person, texts_only_in};
use crate::belief::claims::settle_claims;
use crate::belief::judge::{rejudge_all, touched};
use crate::belief::support::{evidenced_by, lower, with_unsupported};
use crate::entity::resolution::{entries, forget, of_person};
use crate::rows::engine::{Change, Read, RecordRow, Write};
use crate::rows::tombstones::{entity_tombstone, log_tombstone, tombstone_of};
use crate::tenant::alongside::{MadeFrom, Proposed, only_proposed_from};
use crate::tenant::handle::Tenant;
use crate::tenant::index::index;
use crate::tenant::lineage::with_descendants;
use crate::tenant::writing::{Outcome, Writing, Written, WrittenObject};

pub use self::gone::ERASED;
pub use self::person::{
    Mention, Person, PersonObject, PersonRecord, PersonSession, Place, Relation, Subject,
};

/// The request of an erasure.
enum Wanted {
    /// These objects.
    Objects(Vec<ObjectId>),
    /// The objects about this person.
    Subject(Subject),
    /// A person, and what is theirs: their objects, sessions and records.
    Person(Subject),
    /// A log, and the objects in it.
    Log(String),
}

/// Everything that is named by an erasure, before what it draws along.
#[derive(Default)]
struct Chosen {
    ids: BTreeSet<ObjectId>,
    /// Objects that stay without what only waits of them, or was rejected.
    proposed: Proposed,
    /// Logs that go whole.
    logs: Vec<String>,
    /// Records that go whole.
    records: Vec<String>,
    /// Entities of the registry.
    entities: BTreeSet<String>,
}

impl Tenant {
    /// Erases objects, everything that was made from them, and what records, logs and kept texts say of
    /// them; `docs/reference/erasing.md` says how far that goes. In a file their bytes are overwritten; a server keeps
    /// them in dead rows until its next `VACUUM`, and in its archives and copies as long as these are kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when one of them is neither an object of the store nor in a log;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached. Then nothing was erased.
    pub fn erase(&self, ids: Vec<ObjectId>, writing: &Writing) -> Result<Written, Error> {
        let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
        let asked = Digest::of(named.join(" ").as_bytes());
        self.erase_wanted(Wanted::Objects(ids), asked, writing)
    }

    /// Erases everything that is about a person. What is theirs and not about them stays: [`Person::own`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when nothing is kept of them and nothing names them; otherwise
    /// as [`Tenant::erase`].
    pub fn erase_subject(
        &self,
        subject: impl Into<Subject>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let subject = subject.into();
        let asked = Digest::of(subject.name.as_bytes());
        self.erase_wanted(Wanted::Subject(subject), asked, writing)
    }

    /// Erases everything that is about a person and everything that is theirs: the objects of that user, their
    /// sessions whole, and the records of what they asked, with the texts that only these records name.
    ///
    /// # Errors
    ///
    /// As [`Tenant::erase_subject`].
    pub fn erase_person(
        &self,
        subject: impl Into<Subject>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let subject = subject.into();
        let asked = Digest::of_parts([b"person".as_slice(), subject.name.as_bytes()]);
        self.erase_wanted(Wanted::Person(subject), asked, writing)
    }

    /// Erases a whole log with the objects in it, as [`Tenant::erase`] does. No log is begun under its name
    /// again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no such log; otherwise as [`Tenant::erase`].
    pub fn erase_log(&self, log: &str, writing: &Writing) -> Result<Written, Error> {
        let asked = Digest::of_parts([b"log".as_slice(), log.as_bytes()]);
        self.erase_wanted(Wanted::Log(log.to_owned()), asked, writing)
    }

    /// Erases the objects that `choose` names in the transaction of the erasure itself; none is no error.
    pub(crate) fn erase_chosen(
        &self,
        asked: Digest,
        writing: &Writing,
        choose: impl Fn(&mut dyn Write) -> Result<Vec<ObjectId>, Error> + Send + 'static,
    ) -> Result<Written, Error> {
        self.once(writing, "erase", asked, move |rows| {
            let ids = choose(rows)?;
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            erase(rows, &Wanted::Objects(ids))
        })
        .and_then(|written| self.engine.forget().map(|()| written))
    }

    fn erase_wanted(
        &self,
        wanted: Wanted,
        asked: Digest,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.once(writing, "erase", asked, move |rows| erase(rows, &wanted))
            .and_then(|written| self.engine.forget().map(|()| written))
    }

    /// Returns whether this is the keyed digest that an erasure left in the place of something.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn is_tombstone(&self, digest: Digest) -> Result<bool, Error> {
        self.read(|rows| Ok(!rows.tombstones(&[digest])?.is_empty()))
    }
}

fn erase(rows: &mut dyn Write, wanted: &Wanted) -> Result<Vec<WrittenObject>, Error> {
    rows.stamp()?;
    let logged = Logged::read(rows)?;
    let chosen = chosen(rows, &logged, wanted)?;
    let Some(key) = rows.key()? else {
        return Ok(Vec::new());
    };
    let quoted = with_everything_made_from(rows, &logged, chosen.ids)?;
    let ids = with_what_leans_on(rows, &logged, &chosen.logs, &quoted)?;
    let proposed = with_proposed_from(rows, chosen.proposed, &ids)?;
    let mut gone = Gone::new(key, ids.iter().copied());
    if let Wanted::Person(subject) = wanted {
        gone.forget_user(&subject.name);
    }
    let mut tombstones: Vec<Digest> = ids.iter().map(|id| tombstone_of(&key, *id)).collect();
    let sought = |id: &ObjectId| {
        if quoted.contains(id) {
            TextSearch::Sought
        } else {
            TextSearch::Common
        }
    };
    for id in &ids {
        let history = rows.history(*id)?;
        for (revision, body) in rows.bodies(&history.iter().collect::<Vec<_>>())? {
            tombstones.push(gone.add(*id, revision, &body, sought(id)));
        }
    }
    for (id, object) in logged.documents(rows, &ids)? {
        let body = serde_json::to_string(&*object)
            .map_err(|error| crate::rows::stored::unwritable(&error))?;
        tombstones.push(gone.add(id, object.revision().id(), &body, sought(&id)));
    }
    for (id, revisions) in &proposed {
        tombstones.extend(add_proposed(rows, &mut gone, *id, revisions)?);
    }
    gone.seal()?;
    let dropped = quoting(rows, &gone)?;
    for (digest, object) in &dropped {
        tombstones.push(gone.add_blob(*digest, *object));
    }
    let mut dropped: Vec<Digest> = dropped.into_iter().map(|(digest, _)| digest).collect();
    dropped.extend(texts_only_in(rows, &logged, &chosen.records)?);
    gone.seal()?;
    tombstones.extend(chosen.logs.iter().map(|log| log_tombstone(&key, log)));
    let person = match wanted {
        Wanted::Subject(subject) | Wanted::Person(subject) => Some(&subject.name),
        _ => None,
    };
    let entities = chosen.entities.iter().chain(person);
    tombstones.extend(entities.map(|id| entity_tombstone(&key, id)));
    let mut forgotten = chosen.logs;
    rows.erase_records(&chosen.records)?;
    let records = rewritten_records(rows, &gone, &ids)?;
    let gone_ids: Vec<ObjectId> = ids.iter().copied().collect();
    let leaning = evidenced_by(rows, &gone_ids)?;
    let at = rows.stamp()?.at;
    let mut falls = with_unsupported(rows, &gone_ids, at)?;
    falls.retain(|id| !ids.contains(id));
    rows.erase(&gone_ids, &tombstones)?;
    let mut left = leave_out(rows, &proposed)?;
    // What was inferred since the erased claimed the same is no part of it, but stands on it no more.
    left.extend(rejudge_all(rows, &falls, |_| None)?);
    let lowered = lower(rows, &leaning)?;
    let claiming: Vec<ObjectId> = lowered
        .iter()
        .map(|lowered| lowered.object)
        .chain(proposed.into_keys())
        .collect();
    settle_claims(rows, &claiming)?;
    rows.drop_blobs(&dropped)?;
    rows.put_records(&records)?;
    logged.rewrite(rows, &gone, &mut forgotten)?;
    forget(rows, &chosen.entities)?;
    for log in &forgotten {
        rows.drop_log(log)?;
    }
    let erased = ids.into_iter().map(|object_id| WrittenObject {
        object_id,
        name: None,
        revision: None,
        outcome: Outcome::Erased,
        note: None,
    });
    Ok(erased.chain(left).chain(lowered.into_iter().map(WrittenObject::from)).collect())
}

/// Adds what only waits of objects, or was rejected, and was made from any of those that go; with what is known to go.
fn with_proposed_from(
    rows: &mut dyn Read,
    mut proposed: Proposed,
    gone: &BTreeSet<ObjectId>,
) -> Result<Proposed, Error> {
    let mut children = rows.children(&gone.iter().copied().collect::<Vec<_>>())?;
    children.retain(|id| !gone.contains(id));
    for (id, revisions) in only_proposed_from(rows, &children, gone)? {
        proposed.entry(id).or_default().extend(revisions);
    }
    proposed.retain(|id, _| !gone.contains(id));
    Ok(proposed)
}

/// Adds revisions of an object that stays to what is searched for; returns their tombstones.
fn add_proposed(
    rows: &mut dyn Read,
    gone: &mut Gone,
    id: ObjectId,
    revisions: &BTreeSet<RevisionId>,
) -> Result<Vec<Digest>, Error> {
    let history = rows.history(id)?;
    let bodies = rows.bodies(&history.iter().collect::<Vec<_>>())?;
    let (go, stay): (BTreeMap<RevisionId, String>, BTreeMap<RevisionId, String>) =
        bodies.into_iter().partition(|(revision, _)| revisions.contains(revision));
    let stay = stay
        .values()
        .filter_map(|body| serde_json::from_str::<ObjectDocument>(body).ok());
    let mut kept = BTreeSet::new();
    for document in stay {
        kept.extend(texts(&document).map(str::to_owned));
    }
    let go = go.iter();
    Ok(go.map(|(revision, body)| gone.add_revision(*revision, body, &kept)).collect())
}

/// Removes these revisions, and keeps what the others say they were made from, and whom they are about.
fn leave_out(rows: &mut dyn Write, proposed: &Proposed) -> Result<Vec<WrittenObject>, Error> {
    let ids: Vec<ObjectId> = proposed.keys().copied().collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut change = Change::default();
    for (id, revisions) in proposed {
        rows.erase_revisions(*id, &revisions.iter().copied().collect::<Vec<_>>())?;
        let history = rows.history(*id)?;
        for body in rows.bodies(&history.iter().collect::<Vec<_>>())?.into_values() {
            // What is damaged names nothing.
            let made: MadeFrom = serde_json::from_str(&body).unwrap_or_default();
            let parents = made.derived_from.into_iter();
            change.links.extend(parents.map(|parent| (*id, parent)));
            let subjects = made.subjects.into_iter();
            change.subjects.extend(subjects.map(|who| (*id, who)));
        }
    }
    rows.change(&change)?;
    index(rows, &ids)?;
    touched(rows, &ids)
}

/// The things that are named; each must be somewhere.
fn chosen(rows: &mut dyn Write, logged: &Logged, wanted: &Wanted) -> Result<Chosen, Error> {
    match wanted {
        Wanted::Objects(ids) => {
            let standing = rows.standing(ids)?;
            let known = |id: &&ObjectId| standing.contains_key(id) || logged.holds(**id);
            match ids.iter().find(|id| !known(id)) {
                Some(missing) => Err(Error::input(format!("there is no object `{missing}`"))),
                None => Ok(Chosen {
                    ids: ids.iter().copied().collect(),
                    ..Chosen::default()
                }),
            }
        }
        Wanted::Subject(subject) => {
            let (mut ids, proposed) = about(rows, &subject.name)?;
            ids.extend(logged.about(&subject.name));
            let entities = of_person(&entries(rows)?, &subject.name);
            let is_unknown = ids.is_empty() && proposed.is_empty() && entities.is_empty();
            if is_unknown && person(rows, logged, subject)?.0.is_unknown() {
                return Err(nobody(&subject.name));
            }
            Ok(Chosen {
                ids,
                proposed,
                entities,
                ..Chosen::default()
            })
        }
        Wanted::Person(subject) => {
            let (known, proposed) = person(rows, logged, subject)?;
            if known.is_unknown() {
                return Err(nobody(&subject.name));
            }
            let logs = known.own_logs();
            let mut ids: BTreeSet<ObjectId> =
                known.objects.iter().map(|known| known.object_id).collect();
            ids.retain(|id| !proposed.contains_key(id));
            ids.extend(logs.iter().flat_map(|log| logged.of_log(log)));
            Ok(Chosen {
                ids,
                proposed,
                logs,
                records: known.own_records(),
                entities: known.entities.into_iter().collect(),
            })
        }
        Wanted::Log(log) if rows.last(log)? > 0 => Ok(Chosen {
            ids: logged.of_log(log),
            logs: vec![log.clone()],
            ..Chosen::default()
        }),
        Wanted::Log(log) => Err(Error::input(format!("there is no log `{}`", clip(log)))),
    }
}

/// These objects and what was made from them, in the store and in logs.
fn with_everything_made_from(
    rows: &mut dyn Read,
    logged: &Logged,
    mut ids: BTreeSet<ObjectId>,
) -> Result<BTreeSet<ObjectId>, Error> {
    loop {
        let before = ids.len();
        let named: Vec<ObjectId> = ids.iter().copied().collect();
        ids.extend(with_descendants(rows, &named)?);
        ids.extend(logged.made_from(&ids));
        if ids.len() == before {
            return Ok(ids);
        }
    }
}

/// These objects and what cannot stay without them, whose texts are not looked for anywhere else: what
/// stands before the conversation of a session that goes, the results of a call and the call of a result.
fn with_what_leans_on(
    rows: &mut dyn Read,
    logged: &Logged,
    whole_logs: &[String],
    quoted: &BTreeSet<ObjectId>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut ids = quoted.clone();
    ids.extend(whole_logs.iter().flat_map(|log| logged.opening_of(log)));
    loop {
        let before = ids.len();
        ids.extend(logged.grouped_with(rows, &ids)?);
        ids = with_everything_made_from(rows, logged, ids)?;
        if ids.len() == before {
            return Ok(ids);
        }
    }
}

/// The kept texts that are one of those erased, or quote one; each with the object that it is.
fn quoting(rows: &mut dyn Write, gone: &Gone) -> Result<Vec<(Digest, Option<ObjectId>)>, Error> {
    let mut found = Vec::new();
    for digest in rows.blobs()? {
        let Some(bytes) = rows.blob(digest)? else {
            continue;
        };
        let object = gone.kept_as(&bytes);
        let known = gone.knows(&digest.to_string());
        if known || object.is_some() || gone.quoted_by(&bytes) {
            found.push((digest, object));
        }
    }
    Ok(found)
}

/// The records that speak of what is erased, without it.
fn rewritten_records(
    rows: &mut dyn Write,
    gone: &Gone,
    ids: &BTreeSet<ObjectId>,
) -> Result<Vec<RecordRow>, Error> {
    let mut rewritten = Vec::new();
    for (name, _) in rows.records(None, u32::MAX)? {
        let Some(record) = rows.record(&name)? else {
            continue;
        };
        let listed = record.objects.iter().any(|id| ids.contains(id));
        if !listed && !gone.holds(record.body.as_bytes()) {
            continue;
        }
        rewritten.push(RecordRow {
            body: gone.scrub_record(&record.body, &record.objects)?,
            objects: record.objects.iter().copied().filter(|id| !ids.contains(id)).collect(),
            ..record
        });
    }
    Ok(rewritten)
}
