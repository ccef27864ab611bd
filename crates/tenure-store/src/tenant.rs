//! The verbs over what belongs to one tenant.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::object::{
    Access, ContradictionStatus, Lifecycle, ObjectId, RevisionId, Sealer, Usage, clip, inherit,
};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Digest, Error, ObjectDocument};

use crate::blobs::Blobs;
use crate::buried::buried;
use crate::claims::settle_claims;
use crate::engine::{
    Answered, BeliefRow, Change, Engine, IndexRow, Read, RevisionRow, Stamp, Standing, Write,
    WriteRow,
};
use crate::evidence::{Lowered, fallen, leaning_on, lower};
use crate::idempotency::{check_key, repeated};
use crate::index::{Wording, digests, index};
use crate::judged::{Judged, refuse_cycle};
use crate::labels::{Sees, head_access, labelled_or_hidden, open};
pub use crate::notes::WriteNote;
use crate::notes::{note_on, note_waiting};
use crate::resolution::{KnownEntities, resolve_written};
use crate::settle::{apply, rejudge, settle};
use crate::stored::{Line, StoredObject, believed, read_revision, revision_row};
use crate::stored::{each_line, unwritable};

/// The most objects of one write.
pub const MAX_BATCH: usize = 100_000;
/// The number of objects that are worth a thread.
const EACH_WORKER: usize = 500;

/// The state of an object that its writer expects.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Expect {
    /// Nothing: the last writer wins.
    #[default]
    Any,
    /// That there is none yet.
    Absent,
    /// That this revision was written last.
    Revision(RevisionId),
}

/// An object to write.
#[derive(Clone, Debug)]
pub struct Put {
    /// The object. What only a store says of it (`tx_start`, `tx_end`, `access_count`) is not read; of when it was
    /// last used and confirmed the later instant holds.
    pub document: ObjectDocument,
    /// The expected state.
    pub expect: Expect,
}

impl Put {
    /// This object, whatever is there.
    pub fn new(document: ObjectDocument) -> Put {
        Put {
            document,
            expect: Expect::Any,
        }
    }
}

/// Options of a write.
#[derive(Clone, Default, Debug)]
pub struct Writing {
    /// A key that makes the write happen once: the same write under the same key is answered as it was
    /// the first time.
    pub idempotency_key: Option<String>,
    /// The author, for the log.
    pub author: Option<String>,
}

/// The effect of a write on one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WriteOutcome")]
#[non_exhaustive]
pub enum Outcome {
    /// It is new.
    Created,
    /// It has another revision, or is believed for another time.
    Revised,
    /// It was so already.
    Unchanged,
    /// It is judged otherwise, or believed no more.
    Judged,
    /// Nothing is left of it.
    Erased,
}

/// An object that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenObject {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name; not that of what was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its revision now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// The effect.
    pub outcome: Outcome,
    /// A note on what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<WriteNote>,
}

impl From<Lowered> for WrittenObject {
    fn from(lowered: Lowered) -> WrittenObject {
        WrittenObject {
            object_id: lowered.object,
            name: Some(lowered.name),
            revision: Some(lowered.revision),
            outcome: Outcome::Revised,
            note: None,
        }
    }
}

/// The result of a write.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The tenant's version after it: a later read may ask for at least this one.
    pub version: u64,
    /// The instant in transaction time at which it took effect.
    pub at: Instant,
    /// The objects that it touched.
    pub objects: Vec<WrittenObject>,
}

/// A handle on one tenant: the verbs of the store.
#[derive(Clone)]
pub struct Tenant {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) name: Arc<str>,
    /// The entities as they were last read, for all handles on the tenant.
    pub(crate) known: Arc<KnownEntities>,
}

impl std::fmt::Debug for Tenant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Tenant(`{}` of {})",
            clip(&self.name),
            self.engine.shown()
        )
    }
}

impl Tenant {
    pub(crate) fn new(engine: Arc<dyn Engine>, known: Arc<KnownEntities>, name: &str) -> Tenant {
        Tenant {
            engine,
            name: name.into(),
            known,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version probe: how many writes there were. One look at one indexed row.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn version(&self) -> Result<u64, Error> {
        self.engine.version(&self.name)
    }

    /// Reads, in one consistent state.
    pub(crate) fn read<T>(
        &self,
        mut job: impl FnMut(&mut dyn Read) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut result = None;
        self.engine.read(&self.name, &mut |rows| {
            result = Some(job(rows)?);
            Ok(())
        })?;
        result.ok_or_else(unanswered)
    }

    /// Writes: all of it, durably, or nothing.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        mut job: impl FnMut(&mut dyn Write) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let told = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&told);
        let set = move |value: T| {
            *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        };
        self.engine.write(
            &self.name,
            Box::new(move |rows| {
                set(job(rows)?);
                Ok(())
            }),
        )?;
        let value = told.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(unanswered)
    }

    /// Writes objects: all of them, or none. An existing object is revised: beliefs about times that the new revision
    /// does not speak of stay, and so does its judgement where the document has none. An object that names its
    /// parents is lowered to what they allow.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when a document breaks a rule or stands twice; [`ErrorKind::Policy`] when it belongs to
    /// another tenant, or derived from parents that no caller may see all of; [`ErrorKind::Conflict`] when an object
    /// is not what was expected, or when the key was used for another write; [`ErrorKind::Unavailable`] when the
    /// store cannot be reached. Then nothing was written.
    pub fn put(&self, puts: Vec<Put>, writing: &Writing) -> Result<Written, Error> {
        self.put_with(puts, Blobs::default(), writing)
    }

    /// The same, and keeps texts in the same write.
    pub(crate) fn put_with(
        &self,
        puts: Vec<Put>,
        texts: Blobs,
        writing: &Writing,
    ) -> Result<Written, Error> {
        if puts.len() > MAX_BATCH {
            return Err(
                Error::input(format!("{} objects are too many for one write", puts.len()))
                    .expected(format!("at most {MAX_BATCH}")),
            );
        }
        let (drafts, wordings) = self.drafts(puts)?;
        let asked = texts.asked_with(asked(&drafts));
        let (tenant, known) = (Arc::clone(&self.name), Arc::clone(&self.known));
        self.once(writing, "put", asked, move |rows| {
            texts.keep(rows)?;
            let mut written = put(rows, &tenant, &drafts, &wordings)?;
            let changed = drafts.iter().zip(&written);
            let changed = changed.filter(|(_, one)| one.outcome != Outcome::Unchanged);
            let changed: Vec<&ContextObject> = changed.map(|(draft, _)| &*draft.object).collect();
            let waiting = resolve_written(rows, &tenant, &known, &changed)?;
            for one in written
                .iter_mut()
                .filter(|one| waiting.contains(&one.object_id))
            {
                note_waiting(&mut one.note);
            }
            Ok(written)
        })
    }

    /// Seals what needs no parents, outside of the transaction, and on all processors where it is much.
    pub(crate) fn drafts(&self, puts: Vec<Put>) -> Result<(Vec<Draft>, Vec<Wording>), Error> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = processors.min(puts.len() / EACH_WORKER).max(1);
        let each = puts.len().div_ceil(workers);
        let mut puts = puts.into_iter();
        let mut parts = (0..workers).map(|_| puts.by_ref().take(each).collect::<Vec<Put>>());
        let own = parts.next().unwrap_or_default();
        let rest: Vec<Vec<Put>> = parts.collect();
        let drafts = std::thread::scope(|scope| {
            let workers: Vec<_> = rest
                .into_iter()
                .zip(1..)
                .map(|(part, number)| scope.spawn(move || self.sealed(part, (number, each))))
                .collect();
            let (mut drafts, wording) = self.sealed(own, (0, each))?;
            let mut wordings = vec![wording];
            for worker in workers {
                let sealed = worker.join();
                let (more, wording) =
                    sealed.map_err(|_| Error::assertion("sealing panics at nothing"))??;
                drafts.extend(more);
                wordings.push(wording);
            }
            Ok::<_, Error>((drafts, wordings))
        })?;
        let (drafts, wordings) = drafts;
        let mut taken = HashSet::with_capacity(drafts.len());
        for draft in &drafts {
            if !taken.insert(draft.object.revision().object_id()) {
                return Err(Error::input(format!(
                    "the object `{}` appears twice in one write",
                    clip(draft.object.name())
                ))
                .expected("each object once")
                .hint("write its revisions one after another"));
            }
        }
        Ok((drafts, wordings))
    }

    /// Seals these, a part of all: its number, and how many there are in each before it.
    fn sealed(
        &self,
        puts: Vec<Put>,
        (number, each): (usize, usize),
    ) -> Result<(Vec<Draft>, Wording), Error> {
        let mut sealer = Sealer::default();
        let mut wording = Wording::default();
        let mut seal = |(put, at): (Put, usize)| {
            let Put {
                mut document,
                expect,
            } = put;
            match &document.tenant_id {
                Some(tenant) if **tenant != *self.name => {
                    return Err(Error::new(
                        ErrorKind::Policy,
                        format!("`{}` belongs to another tenant", clip(&document.name)),
                    )
                    .expected(format!("`{}`, or leave `tenant_id` out", clip(&self.name))));
                }
                _ => document.tenant_id = Some(self.name.to_string()),
            }
            let judged = Judged {
                contradiction: document.contradiction_status,
                superseded_by: document.supersession_link,
            };
            document.distrust_the_web();
            let object = document
                .complete()
                .and_then(|()| document.check_provenance())
                .and_then(|()| sealer.seal(document));
            let object = object.map_err(|error| error.or_at(format!("objects[{at}]"), None))?;
            let own = object.revision().derived_from().is_empty();
            Ok(Draft {
                judged,
                said: wording.of(&object),
                wording: number,
                row: own.then(|| revision_row(&object)).transpose()?,
                object,
                expect,
                lifecycle: Lifecycle::Active,
            })
        };
        let drafts = puts.into_iter().zip(number * each..).map(&mut seal);
        let drafts = drafts.collect::<Result<_, _>>()?;
        Ok((drafts, wording))
    }

    /// Runs a write, once for each key.
    pub(crate) fn once(
        &self,
        writing: &Writing,
        verb: &'static str,
        asked: Digest,
        mut job: impl FnMut(&mut dyn Write) -> Result<Vec<WrittenObject>, Error> + Send + 'static,
    ) -> Result<Written, Error> {
        let Writing {
            idempotency_key: key,
            author,
        } = writing.clone();
        key.as_deref().map(check_key).transpose()?;
        let asked = Digest::of_parts([verb.as_bytes(), asked.bytes()]);
        self.write(move |rows| {
            if let Some(key) = &key
                && let Some(before) = rows.answered(key)?
            {
                return repeat(key, asked, &before);
            }
            let stamp = rows.stamp()?;
            // The same write may have been made while this one waited for its stamp, which is taken then.
            if let Some(key) = &key
                && let Some(before) = rows.answered(key)?
            {
                rows.note("repeat", author.as_deref(), 0)?;
                return repeat(key, asked, &before);
            }
            let objects = job(rows)?;
            let touched = objects
                .iter()
                .filter(|object| object.outcome != Outcome::Unchanged);
            rows.note(verb, author.as_deref(), touched.count() as u64)?;
            let written = Written {
                version: stamp.version,
                at: stamp.at,
                objects,
            };
            if let Some(key) = &key {
                let answer = serde_json::to_string(&written).map_err(|error| unwritable(&error))?;
                rows.answer(key, &Answered { asked, answer })?;
            }
            Ok(written)
        })
    }

    /// Says that an object is believed no more, and with it everything made from it. What was inferred and has other
    /// evidence stays, with the confidence that this gives it. Its history stays.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such object; [`ErrorKind::Conflict`] when it is not what was
    /// expected; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn retract(
        &self,
        id: ObjectId,
        expect: Expect,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let asked = Digest::of(id.to_string().as_bytes());
        self.once(writing, "retract", asked, move |rows| {
            expected(rows, id, expect)?;
            let ids = fallen(rows, &[id])?;
            rejudge_all(rows, &ids, |_| None)
        })
    }

    /// Adds to the counters of objects. Counters are no part of any history; those of unknown objects are
    /// dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn record_use(&self, usage: Vec<(ObjectId, Usage)>) -> Result<(), Error> {
        self.write(move |rows| rows.count(&usage))
    }

    /// The ids of the objects of this name, in the order in which they came.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn named(&self, name: &str) -> Result<Vec<ObjectId>, Error> {
        self.read(|rows| rows.named(name))
    }

    /// The current beliefs about an object, by valid time; empty if there are none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn get(&self, id: ObjectId) -> Result<Vec<StoredObject>, Error> {
        self.get_seen(id, None)
    }

    /// The same for a caller: nothing that `sees` refuses is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::get`].
    pub fn get_seen(
        &self,
        id: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<StoredObject>, Error> {
        self.read(|rows| {
            let standing = rows.standing(&[id])?.remove(&id);
            let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
            let beliefs = open(&self.name, beliefs, None, sees)?;
            stored(rows, beliefs, None)
        })
    }

    /// The object with this id, or those of this name, each as an object that has the labels of the revision that was
    /// written last, and nothing else of it. However large an object is, it costs the same. No caller sees one whose
    /// labels are damaged.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn labels(&self, named: &str) -> Result<Vec<(ObjectId, Arc<ContextObject>)>, Error> {
        self.read(|rows| {
            let found = rows.head_labels(named.parse().map_err(|_| named))?;
            let mut sealer = Sealer::default();
            let each = found.into_iter().map(|(id, labels)| {
                let object = labelled_or_hidden(&mut sealer, &self.name, id, &labels, None)?;
                Ok((id, object))
            });
            each.collect()
        })
    }

    /// The beliefs about an object at an instant. They carry the access that holds now, not that of the past:
    /// [`Status::access`](tenure::object::Status) says who that is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn as_of(&self, id: ObjectId, known: Instant) -> Result<Vec<StoredObject>, Error> {
        self.as_of_seen(id, known, None)
    }

    /// The same for a caller: nothing that `sees` refuses is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::as_of`].
    pub fn as_of_seen(
        &self,
        id: ObjectId,
        known: Instant,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<StoredObject>, Error> {
        self.read(|rows| {
            let held = rows.held(id, known)?;
            let access = access_now(rows, &self.name, id, &held)?;
            let held = open(&self.name, held, access.as_ref(), sees)?;
            stored(rows, held, access)
        })
    }

    /// Everything that was ever believed of an object, the oldest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn history(&self, id: ObjectId) -> Result<Vec<StoredObject>, Error> {
        self.history_after(id, None, u32::MAX)
    }

    /// The same, for at most `most` that were opened after an instant in transaction time, and all that were opened
    /// with the last of them.
    ///
    /// # Errors
    ///
    /// As [`Tenant::history`].
    pub fn history_after(
        &self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
    ) -> Result<Vec<StoredObject>, Error> {
        Ok(self.history_seen(id, after, most, None)?.0)
    }

    /// The same for a caller: nothing that `sees` refuses is read. Also returns the instant at which the last of all
    /// was opened, visible or not.
    ///
    /// # Errors
    ///
    /// As [`Tenant::history`].
    pub fn history_seen(
        &self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
        sees: Option<&Sees<'_>>,
    ) -> Result<(Vec<StoredObject>, Option<Instant>), Error> {
        self.read(|rows| {
            let history = rows.history_after(id, after, most)?;
            let last = history.last().map(|row| row.opened.at);
            let access = access_now(rows, &self.name, id, &history)?;
            let history = open(&self.name, history, access.as_ref(), sees)?;
            Ok((stored(rows, history, access)?, last))
        })
    }

    /// The writes after a version, the oldest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn log(&self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error> {
        self.read(|rows| rows.log(after, most))
    }

    /// The last write up to a version: that of this version, in a store that every version has a line of.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn written(&self, version: u64) -> Result<Option<Stamp>, Error> {
        self.read(|rows| rows.written(version))
    }

    /// Calls `each` with a line for every belief there ever was: by object, in the order in which they
    /// came, then by time. The same store gives the same lines. Damaged revisions that were set aside have none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] at the first revision that is not what was written, naming it;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached, and what `each` fails with.
    pub fn export(&self, each: &mut dyn FnMut(&Line) -> Result<(), Error>) -> Result<(), Error> {
        self.read(|rows| each_line(rows, each))
    }
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Unavailable, "the store gave no answer")
}

/// The answer of a write that was made before under this key.
fn repeat(key: &str, asked: Digest, before: &Answered) -> Result<Written, Error> {
    let answer = repeated(key, asked, before)?;
    serde_json::from_str(answer).map_err(|error| unwritable(&error))
}

/// An object to write, sealed.
pub(crate) struct Draft {
    pub(crate) object: Arc<ContextObject>,
    /// The row of its revision, where that does not depend on parents.
    row: Option<RevisionRow>,
    expect: Expect,
    pub(crate) lifecycle: Lifecycle,
    judged: Judged,
    /// The terms that it is found by, and whose numbers these are.
    said: Vec<u32>,
    wording: usize,
}

/// The digest of what is asked for.
fn asked(drafts: &[Draft]) -> Digest {
    let mut leaves = Vec::new();
    for Draft { object, expect, .. } in drafts {
        leaves.extend_from_slice(object.revision().id().bytes());
        let status = object.status();
        leaves.push(status.contradiction as u8);
        leaves.extend_from_slice(&status.superseded_by.map_or(0, ObjectId::bits).to_be_bytes());
        if let Some(usage) = told(object) {
            for at in [usage.last_used, usage.last_confirmed] {
                leaves.extend_from_slice(&at.map_or(i64::MIN, Instant::micros).to_be_bytes());
            }
        }
        match expect {
            Expect::Any => leaves.push(0),
            Expect::Absent => leaves.push(1),
            Expect::Revision(revision) => {
                leaves.push(2);
                leaves.extend_from_slice(revision.bytes());
            }
        }
    }
    Digest::of(&leaves)
}

/// Returns what a document says of its use, where it says anything. How often it was used only a store counts.
fn told(object: &ContextObject) -> Option<Usage> {
    let usage = Usage {
        access_count: 0,
        ..*object.usage()
    };
    (usage != Usage::default()).then_some(usage)
}

pub(crate) fn put(
    rows: &mut dyn Write,
    tenant: &str,
    drafts: &[Draft],
    wordings: &[Wording],
) -> Result<Vec<WrittenObject>, Error> {
    let stamp = rows.stamp()?;
    let key = rows.key()?.unwrap_or_default();
    let keyed: Vec<Vec<i64>> = wordings.iter().map(|wording| wording.keyed(&key)).collect();
    let mut indexed = Vec::with_capacity(drafts.len());
    let mut mixed = Vec::new();
    let ids: Vec<ObjectId> = drafts
        .iter()
        .map(|draft| draft.object.revision().object_id())
        .collect();
    let standing = rows.standing(&ids)?;
    let buried = buried(rows, &ids)?;
    let new = ids.iter().filter(|id| !standing.contains_key(id)).count() as u64;
    let mut place = if new > 0 { rows.take_places(new)? } else { 0 };
    let mut change = Change::default();
    let mut written = Vec::with_capacity(drafts.len());
    let mut known = parents(rows, drafts)?;
    let derives = drafts.iter().any(|draft| draft.row.is_none());
    let mut sealer = Sealer::default();
    let links = drafts.iter().filter_map(|draft| {
        let id = draft.object.revision().object_id();
        let by = draft.judged.superseded_by.filter(|by| *by != id)?;
        Some((id, by))
    });
    let replaced: BTreeMap<ObjectId, ObjectId> = links.collect();
    for draft in drafts {
        let object = derived(tenant, draft, &known, &mut sealer)?;
        let revision = object.revision();
        let id = revision.object_id();
        let before = standing.get(&id);
        check(&draft.expect, object.name(), before)?;
        if buried.contains(&id) {
            return Err(Error::new(
                ErrorKind::Policy,
                format!("the object `{}` was erased", clip(object.name())),
            )
            .hint("write it under another name or id"));
        }
        let row = match &draft.row {
            Some(row) => row.clone(),
            None => revision_row(&object)?,
        };
        let (contradiction, superseded_by) =
            draft.judged.over(rows, id, revision.valid(), before)?;
        if let Some(by) = draft.judged.superseded_by.filter(|by| *by != id) {
            refuse_cycle(rows, id, by, &replaced)?;
        }
        let belief = BeliefRow {
            object: id,
            opened: stamp,
            part: 0,
            closed: None,
            revision: revision.id(),
            valid: revision.valid(),
            contradiction,
            superseded_by,
            lifecycle: draft.lifecycle,
            labels: Arc::clone(&row.labels),
        };
        let outcome = match before {
            None => Outcome::Created,
            Some(before) if holds(before, &belief) => Outcome::Unchanged,
            Some(_) => Outcome::Revised,
        };
        if outcome != Outcome::Unchanged {
            let own = before.map(|before| before.place).unwrap_or_else(|| {
                place += 1;
                place - 1
            });
            change
                .objects
                .push((id, own, object.name().to_owned(), revision.id()));
            change.revisions.push(row);
            let current = before.map_or(&[][..], |before| &before.beliefs);
            let settlement = settle(current, belief);
            if settlement.leaves_only(revision.id(), current) {
                indexed.push(IndexRow {
                    object: id,
                    place: own,
                    terms: digests(draft.said.iter().copied(), &keyed[draft.wording]),
                });
            } else {
                mixed.push(id);
            }
            apply(&mut change, current, settlement);
            let parents = revision.derived_from().iter();
            change.links.extend(parents.map(|parent| (id, *parent)));
            let subjects = revision.subjects().iter();
            change
                .subjects
                .extend(subjects.map(|subject| (id, subject.clone())));
        }
        written.push(WrittenObject {
            object_id: id,
            name: Some(object.name().to_owned()),
            revision: Some(revision.id()),
            outcome,
            note: note_on(&object),
        });
        if derives {
            known.insert(id, object);
        }
    }
    rows.change(&change)?;
    let told: Vec<(ObjectId, Usage)> = drafts
        .iter()
        .filter_map(|draft| Some((draft.object.revision().object_id(), told(&draft.object)?)))
        .collect();
    if !told.is_empty() {
        rows.count(&told)?;
    }
    rows.index(&indexed)?;
    index(rows, &mixed)?;
    let revised = written.iter().filter(|one| one.outcome == Outcome::Revised);
    let revised: Vec<ObjectId> = revised.map(|one| one.object_id).collect();
    let mut claiming = rows.claiming(&revised)?;
    let claims = |draft: &&Draft| draft.object.revision().normalized_claim().is_some();
    let said = drafts.iter().filter(claims);
    claiming.extend(said.map(|draft| draft.object.revision().object_id()));
    let changed = written
        .iter()
        .filter(|one| one.outcome != Outcome::Unchanged);
    let changed: Vec<ObjectId> = changed
        .map(|one| one.object_id)
        .filter(|id| claiming.contains(id))
        .collect();
    settle_claims(rows, &changed)?;
    Ok(written)
}

/// Returns whether a belief holds already: alone in its time, with the same revision and judgement.
fn holds(before: &Standing, belief: &BeliefRow) -> bool {
    before.beliefs.iter().any(|old| {
        let same = BeliefRow {
            opened: old.opened,
            part: old.part,
            // They follow from the revision, in whatever words.
            labels: Arc::clone(&old.labels),
            ..belief.clone()
        };
        *old == same
    })
}

fn check(expect: &Expect, name: &str, before: Option<&Standing>) -> Result<(), Error> {
    let conflict = |what: String, expected: String| {
        Err(
            Error::new(ErrorKind::Conflict, format!("`{}` {what}", clip(name)))
                .expected(expected)
                .hint("read what is there, and try again"),
        )
    };
    match (expect, before) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => conflict("already exists".into(), "no such object".into()),
        (Expect::Revision(revision), None) => {
            conflict("is not there".into(), format!("the revision {revision}"))
        }
        (Expect::Revision(revision), Some(before)) if before.head == *revision => Ok(()),
        (Expect::Revision(revision), Some(before)) => conflict(
            format!("has the revision {}", before.head),
            format!("the revision {revision}"),
        ),
    }
}

/// The parents of these drafts that are believed now.
fn parents(
    rows: &mut dyn Write,
    drafts: &[Draft],
) -> Result<BTreeMap<ObjectId, Arc<ContextObject>>, Error> {
    let ids: BTreeSet<ObjectId> = drafts
        .iter()
        .flat_map(|draft| draft.object.revision().derived_from())
        .copied()
        .collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let standing = rows.standing(&ids.into_iter().collect::<Vec<_>>())?;
    let believed = standing
        .iter()
        .filter(|(_, standing)| !standing.beliefs.is_empty());
    let heads: Vec<(ObjectId, RevisionId)> = believed
        .map(|(id, standing)| (*id, standing.head))
        .collect();
    let ids: Vec<ObjectId> = heads.iter().map(|(id, _)| *id).collect();
    let bodies = rows.heads(&ids)?;
    let mut sealer = Sealer::default();
    let mut read = |(id, head)| {
        let body = bodies.get(&id).map_or("", String::as_str);
        Ok((id, read_revision(&mut sealer, head, body)?))
    };
    heads.into_iter().map(&mut read).collect()
}

/// The object of a draft, lowered to what its parents allow.
fn derived(
    tenant: &str,
    draft: &Draft,
    known: &BTreeMap<ObjectId, Arc<ContextObject>>,
    sealer: &mut Sealer,
) -> Result<Arc<ContextObject>, Error> {
    let object = &draft.object;
    let parents = object.revision().derived_from();
    if parents.is_empty() {
        return Ok(Arc::clone(object));
    }
    let mut found: Vec<&ContextObject> = Vec::with_capacity(parents.len());
    for id in parents {
        let parent = known.get(id).ok_or_else(|| {
            Error::input(format!(
                "`{}` is derived from `{id}`, which `{}` does not have",
                clip(object.name()),
                clip(tenant)
            ))
            .expected("parents that exist, or precede it in the same write")
        })?;
        found.push(parent);
    }
    let mut document = object.to_document()?;
    inherit(&mut document, &found)?;
    // Without an id of its own, the object's id follows from the scope; it is the draft's.
    document.object_id = Some(object.revision().object_id());
    sealer.seal(document)
}

/// Checks that an object is in the expected state.
pub(crate) fn expected(rows: &mut dyn Write, id: ObjectId, expect: Expect) -> Result<(), Error> {
    let standing = rows.standing(&[id])?.remove(&id);
    if standing.is_none() && expect == Expect::Any {
        return Err(Error::not_found(format!("there is no object `{id}`")));
    }
    let name = standing
        .as_ref()
        .map_or_else(|| id.to_string(), |standing| standing.name.clone());
    check(&expect, &name, standing.as_ref())
}

/// The access to an object that holds now, where some of these beliefs are of the past.
pub(crate) fn access_now(
    rows: &mut dyn Read,
    tenant: &str,
    id: ObjectId,
    beliefs: &[BeliefRow],
) -> Result<Option<Arc<Access>>, Error> {
    if beliefs.iter().all(|row| row.closed.is_none()) {
        return Ok(None);
    }
    head_access(rows, tenant, id)
}

/// The objects of these beliefs, with their counters.
fn stored(
    rows: &mut dyn Read,
    beliefs: Vec<BeliefRow>,
    access: Option<Arc<Access>>,
) -> Result<Vec<StoredObject>, Error> {
    let ids: BTreeSet<ObjectId> = beliefs.iter().map(|row| row.object).collect();
    let usage = rows.usage(Some(&ids.into_iter().collect::<Vec<_>>()))?;
    let bodies = rows.bodies(&beliefs.iter().collect::<Vec<_>>())?;
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(beliefs.len());
    for row in beliefs {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        let object = read_revision(&mut sealer, row.revision, body)?;
        let usage = usage.get(&row.object).copied().unwrap_or_default();
        let access = row.closed.and(access.clone());
        objects.push(StoredObject {
            object: believed(&object, &row, usage, access),
            opened: row.opened.version,
            closed: row.closed.map(|closed| closed.version),
            lifecycle: row.lifecycle,
        });
    }
    Ok(objects)
}

/// The parts of a list of beliefs that hold at an instant of valid time.
pub fn true_at(mut objects: Vec<StoredObject>, valid: Instant) -> Vec<StoredObject> {
    let holds = |interval: Interval| {
        interval.from.is_none_or(|from| from <= valid)
            && interval.until.is_none_or(|until| valid < until)
    };
    objects.retain(|stored| holds(stored.object.valid()));
    objects
}

/// Judges what is believed of these objects.
pub(crate) fn rejudge_all(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    judge: impl Fn(&BeliefRow) -> Option<BeliefRow>,
) -> Result<Vec<WrittenObject>, Error> {
    let stamp: Stamp = rows.stamp()?;
    let mut change = Change::default();
    let mut written = Vec::new();
    let (mut unsaid, mut fell, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for (id, standing) in rows.standing(ids)? {
        let settlement = rejudge(&standing.beliefs, stamp, &judge);
        if settlement.ends_any(&standing.beliefs) {
            unsaid.push(id);
        }
        let speaks = |row: &BeliefRow| {
            row.contradiction == ContradictionStatus::Clean && row.lifecycle == Lifecycle::Active
        };
        let mut ended = settlement.close.iter().map(|at| &standing.beliefs[*at]);
        match (ended.any(speaks), settlement.open.iter().any(speaks)) {
            (true, false) => fell.push(id),
            (false, true) => back.push(id),
            _ => {}
        }
        let outcome = if settlement.close.is_empty() {
            Outcome::Unchanged
        } else {
            change
                .objects
                .push((id, standing.place, standing.name.clone(), standing.head));
            Outcome::Judged
        };
        apply(&mut change, &standing.beliefs, settlement);
        written.push(WrittenObject {
            object_id: id,
            name: Some(standing.name),
            revision: Some(standing.head),
            outcome,
            note: None,
        });
    }
    rows.change(&change)?;
    index(rows, &unsaid)?;
    let leaning = leaning_on(rows, &fell)?;
    let lowered = lower(rows, &leaning)?;
    let mut changed: Vec<ObjectId> = change.objects.iter().map(|(id, ..)| *id).collect();
    changed.extend(lowered.iter().map(|lowered| lowered.object));
    written.extend(lowered.into_iter().map(WrittenObject::from));
    let mut claiming = rows.claiming(&changed)?;
    claiming.extend(back);
    let claiming: Vec<ObjectId> = claiming.into_iter().collect();
    settle_claims(rows, &claiming)?;
    Ok(written)
}
