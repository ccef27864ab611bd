//! The interface to an engine: the rows that it holds, and a transaction over those of one tenant.
//!
//! All decisions are made above this line ([`Tenant`](crate::Tenant), `settle.rs`); an engine reads and writes rows,
//! one tenant at a time, and guards what must never change.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId, Usage};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error};

/// The moment of a write: the tenant's version after it, and its instant in transaction time. Both rise with every
/// write of the tenant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp {
    /// The version.
    pub version: u64,
    /// The instant.
    pub at: Instant,
}

/// A revision as it is held: immutable, found by its digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RevisionRow {
    /// The digest.
    pub revision: RevisionId,
    /// The object that it is a revision of.
    pub object: ObjectId,
    /// The digest of the content.
    pub content: Digest,
    /// The fields that decide who may see it, as JSON.
    pub labels: Arc<str>,
    /// The published form of the revision, canonical JSON.
    pub body: Arc<str>,
}

/// A belief: from one write to another, this revision was held to be true in this part of valid
/// time. Of the beliefs held at one time about one object, no two overlap in valid time that wait for a person, and no two
/// that do not: what waits lies beside what is believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BeliefRow {
    /// The object.
    pub object: ObjectId,
    /// The write that opened it.
    pub opened: Stamp,
    /// Its number among the beliefs about the object that this write opened.
    pub part: u32,
    /// The write that closed it.
    pub closed: Option<Stamp>,
    /// The revision.
    pub revision: RevisionId,
    /// The time in which it is held to be true in the world.
    pub valid: Interval,
    /// The judgement on contradictions.
    pub contradiction: ContradictionStatus,
    /// The object that replaces it.
    pub superseded_by: Option<ObjectId>,
    /// The stage of its life.
    pub lifecycle: Lifecycle,
    /// The fields of the revision that decide who may see it, as JSON: they are read before the revision is.
    pub labels: Arc<str>,
}

impl BeliefRow {
    /// Returns whether it waits for a person, and is not believed until then.
    pub fn waits(&self) -> bool {
        self.lifecycle == Lifecycle::AwaitingConfirmation
    }

    /// Returns whether it is active and nothing contradicts it: then it takes part in settlement, and is evidence.
    pub fn speaks(&self) -> bool {
        self.contradiction == ContradictionStatus::Clean && self.lifecycle == Lifecycle::Active
    }

    /// Returns whether it was held at this instant in transaction time.
    pub fn held_at(&self, known: Instant) -> bool {
        self.opened.at <= known && self.closed.is_none_or(|closed| known < closed.at)
    }
}

/// An object and what is believed of it now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Its place among the tenant's objects, in the order in which they first came.
    pub place: u64,
    /// The name it goes by.
    pub name: String,
    /// The revision that was written last; what waits for a person counts where nothing is believed.
    pub head: RevisionId,
    /// The current beliefs, and what waits beside them; empty once it is retracted.
    pub beliefs: Vec<BeliefRow>,
}

/// An object in the index of terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexRow {
    /// The object.
    pub object: ObjectId,
    /// Its place.
    pub place: u64,
    /// The keyed digests of its terms, each once.
    pub terms: Vec<i64>,
}

/// The run of places in which objects are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first place.
    pub first: u64,
    /// The last place.
    pub last: u64,
    /// The order.
    pub order: Order,
    /// The most objects.
    pub most: usize,
}

impl Run {
    /// The last place that there may be.
    pub const END: u64 = (1 << 40) - 1;

    /// All places.
    pub const ALL: Run = Run {
        first: 0,
        last: Run::END,
        order: Order::Oldest,
        most: usize::MAX,
    };

    /// Goes on behind a place; returns whether there may be more there.
    pub fn go_on(&mut self, behind: Option<&u64>) -> bool {
        let Some(place) = behind.copied() else {
            return false;
        };
        let next = match self.order {
            Order::Oldest => place.checked_add(1).map(|first| (first, self.last)),
            Order::Newest => place.checked_sub(1).map(|last| (self.first, last)),
        };
        if let Some((first, last)) = next {
            (self.first, self.last) = (first, last);
        }
        next.is_some() && self.first <= self.last
    }
}

/// The order in which objects are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Those first that came first.
    Oldest,
    /// Those first that came last.
    Newest,
}

/// The changes of one write to the objects of a tenant.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Change {
    /// Objects that are new or were written again: id, place, name, head.
    pub objects: Vec<(ObjectId, u64, String, RevisionId)>,
    /// Revisions that are new, or known already.
    pub revisions: Vec<RevisionRow>,
    /// Beliefs that end: the object, and the stamp and the part that they were opened with.
    pub close: Vec<(ObjectId, Stamp, u32)>,
    /// Beliefs that begin.
    pub open: Vec<BeliefRow>,
    /// Links from an object to one that it was made from.
    pub links: Vec<(ObjectId, ObjectId)>,
    /// Whom an object is about.
    pub subjects: Vec<(ObjectId, String)>,
}

/// A claim of an object on a slot, as the index of claims has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ClaimKey {
    /// The keyed digest of the entity and the slot.
    pub slot: i64,
    /// The authority.
    pub level: u8,
    /// The negative begin of its time; the greatest number where it is unknown.
    pub behind: i64,
}

/// A judgement on the claims of two objects on one slot, from one write to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PairRow {
    /// The object with the lower id.
    pub first: ObjectId,
    /// The other one.
    pub second: ObjectId,
    /// The keyed digest of the entity and the slot.
    pub slot: i64,
    /// The write that opened it.
    pub opened: Stamp,
    /// The write that closed it.
    pub closed: Option<Stamp>,
    /// The judgement, JSON.
    pub body: String,
}

/// The part of a judgement that says that a person decided so: nothing else writes its quotation marks bare.
pub(crate) const DECIDED: &str = r#""ground":"person""#;

/// A run of judgements on pairs, by the ids of both objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairRun<'r> {
    /// The instant at which they were held; now where none is given.
    pub known: Option<Instant>,
    /// The pair behind which it begins.
    pub after: Option<(ObjectId, ObjectId)>,
    /// The most judgements.
    pub most: u32,
    /// The parts that the judgements have, as they are written; an empty one is in all.
    pub having: [&'r str; 3],
}

/// A line of the tenant's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteRow {
    /// Its version and instant.
    pub stamp: Stamp,
    /// The kind of write.
    pub verb: String,
    /// The author, if named.
    pub author: Option<String>,
    /// The number of objects that it touched.
    pub objects: u64,
}

/// An erased object: nothing of it is left but this.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tombstone {
    /// The keyed digest of its id, or of a revision's digest.
    pub digest: Digest,
    /// The version and the instant of the erasure.
    pub erased: Stamp,
}

/// A compile record as it is held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordRow {
    /// The record's id.
    pub id: String,
    /// The instant of the compile.
    pub compiled_at: Instant,
    /// The record, JSON.
    pub body: String,
    /// The objects that it speaks of.
    pub objects: Vec<ObjectId>,
}

/// The answer to a request that was made before under the same key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    /// The digest of what was asked.
    pub asked: Digest,
    /// The answer, JSON.
    pub answer: String,
}

/// Reads of one tenant, in one consistent state.
pub trait Read {
    /// The tenant's version; 0 where nothing was written.
    fn version(&mut self) -> Result<u64, Error>;
    /// The tenant's key, for keyed digests; made with its first write.
    fn key(&mut self) -> Result<Option<[u8; 32]>, Error>;
    /// The objects with these ids that there are.
    fn standing(&mut self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Standing>, Error>;
    /// The ids of the objects of this name, in the order of their places.
    fn named(&mut self, name: &str) -> Result<Vec<ObjectId>, Error>;
    /// The labels of the revisions that were written last: of the object with this id, or of those of this name.
    fn head_labels(
        &mut self,
        wanted: Result<ObjectId, &str>,
    ) -> Result<Vec<(ObjectId, Arc<str>)>, Error>;
    /// The labels of every belief that is held about these objects now, proposals included.
    fn held_labels(&mut self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, Arc<str>)>, Error>;
    /// The ids of what was made from any of these.
    fn children(&mut self, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Error>;
    /// The ids of what was made from others, and of what once was.
    fn made(&mut self) -> Result<Vec<ObjectId>, Error>;
    /// The beliefs held now that are at this stage of their life, by place, then valid time. No other is read.
    fn at_stage(&mut self, stage: Lifecycle) -> Result<Vec<BeliefRow>, Error>;
    /// The beliefs held now whose time ends at this instant or before it, by place, then valid time. No other is read.
    fn over(&mut self, at: Instant) -> Result<Vec<BeliefRow>, Error>;
    /// The ids of what is about this person.
    fn about(&mut self, subject: &str) -> Result<Vec<ObjectId>, Error>;
    /// The bodies of the revisions that these beliefs are about.
    fn bodies(&mut self, beliefs: &[&BeliefRow]) -> Result<BTreeMap<RevisionId, String>, Error>;
    /// The bodies of the revisions of these objects that were written last.
    fn heads(&mut self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, String>, Error>;
    /// Every belief about an object, the oldest first.
    fn history(&mut self, id: ObjectId) -> Result<Vec<BeliefRow>, Error> {
        self.history_after(id, None, u32::MAX)
    }
    /// Like `history`, for at most `most` beliefs that were opened after an instant, and all that were opened with the
    /// last of them.
    fn history_after(
        &mut self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
    ) -> Result<Vec<BeliefRow>, Error>;
    /// Every belief about those of these objects about which there were several, the oldest of each first.
    fn renewed(&mut self, ids: &[ObjectId]) -> Result<Vec<BeliefRow>, Error>;
    /// The beliefs about an object at an instant in transaction time.
    fn held(&mut self, id: ObjectId, known: Instant) -> Result<Vec<BeliefRow>, Error>;
    /// Calls `each` with the place and the body of every belief held at an instant (now where none
    /// is given), by place, then valid time.
    fn each_held(
        &mut self,
        known: Option<Instant>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// Calls `each` with the body of every belief that there ever was: by place, then as in a history.
    fn each_ever(
        &mut self,
        each: &mut dyn FnMut(BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// The ids of the objects that were written or judged after this version.
    fn changed_since(&mut self, version: u64) -> Result<Vec<ObjectId>, Error>;
    /// Returns whether the index of terms is still to be made of what the tenant had before writes made it.
    fn is_unsearched(&mut self) -> Result<bool, Error>;
    /// The places of the objects of this run that have all these terms, in its order.
    fn matching(&mut self, terms: &[i64], run: &Run) -> Result<Vec<u64>, Error>;
    /// The objects that are at these places, in their order.
    fn placed(&mut self, places: &[u64]) -> Result<Vec<ObjectId>, Error>;
    /// Every object with its place, by place.
    fn objects(&mut self) -> Result<Vec<(u64, ObjectId)>, Error>;
    /// The counters of these objects, or of all.
    fn usage(&mut self, ids: Option<&[ObjectId]>) -> Result<BTreeMap<ObjectId, Usage>, Error>;
    /// The log: at most `most` writes after this version, the oldest first.
    fn log(&mut self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error>;
    /// The last write up to this version.
    fn written(&mut self, version: u64) -> Result<Option<Stamp>, Error>;
    /// Returns whether anything was erased.
    fn any_tombstone(&mut self) -> Result<bool, Error>;
    /// The tombstones with these digests.
    fn tombstones(&mut self, digests: &[Digest]) -> Result<Vec<Tombstone>, Error>;
    /// The answer that was given under this key.
    fn answered(&mut self, key: &str) -> Result<Option<Answered>, Error>;
    /// A record.
    fn record(&mut self, id: &str) -> Result<Option<RecordRow>, Error>;
    /// The ids of at most `most` records, the newest first, from behind `after` on: a record's id and instant.
    fn records(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error>;
    /// A page of records, each without the objects that it speaks of.
    fn records_whole(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<RecordRow>, Error>;
    /// A page of the ids of the records of requests of this session alone. A name that JSON writes with escapes is not looked for.
    fn records_of(
        &mut self,
        session: &str,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error>;
    /// A text that is found by its digest: a policy, or the original of what was condensed.
    fn blob(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, Error>;
    /// The digests of all texts that are found by them.
    fn blobs(&mut self) -> Result<Vec<Digest>, Error>;
    /// The names of the logs, with the number of the last entry of each.
    fn logs(&mut self) -> Result<Vec<(String, u64)>, Error>;
    /// The number of the last entry of a log; 0 where it has none.
    fn last(&mut self, log: &str) -> Result<u64, Error>;
    /// The entries of a log in this range of numbers, the first being 1.
    fn entries(&mut self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error>;
    /// At most `most` objects with a claim on this slot, the strongest first.
    fn on_slot(&mut self, slot: i64, most: u32) -> Result<Vec<ObjectId>, Error>;
    /// The slots that these objects have claims on.
    fn slots(&mut self, ids: &[ObjectId]) -> Result<BTreeSet<i64>, Error>;
    /// Those of these objects that are in the index of claims.
    fn claiming(&mut self, ids: &[ObjectId]) -> Result<BTreeSet<ObjectId>, Error>;
    /// The judgements on pairs that were held at an instant (now where none is given): those that one of these objects
    /// is in, or all.
    fn pairs(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error>;
    /// Those of them that a person made.
    fn decided(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error>;
    /// The judgements on pairs that a person made and that are held now, of which both objects are among these: whatever else
    /// they are in is not read.
    fn decided_among(&mut self, ids: &[ObjectId]) -> Result<Vec<PairRow>, Error>;
    /// A run of judgements on pairs.
    fn pair_run(&mut self, run: &PairRun<'_>) -> Result<Vec<PairRow>, Error>;
    /// Every judgement on two objects, the oldest first.
    fn pair_history(&mut self, first: ObjectId, second: ObjectId) -> Result<Vec<PairRow>, Error>;
    /// Every judgement on two objects of which the first is one of these, by both, the oldest first.
    fn pairs_ever(&mut self, first: &[ObjectId]) -> Result<Vec<PairRow>, Error>;
    /// The damaged revisions that are left out.
    fn set_aside(&mut self) -> Result<BTreeSet<RevisionId>, Error>;
}

/// Writes of one tenant. All of them take effect, or none.
pub trait Write: Read {
    /// The stamp of this write. The first call makes it, and holds up other writers of the tenant. A caller that
    /// takes one must note the write: an engine refuses a version without a line in the log.
    fn stamp(&mut self) -> Result<Stamp, Error>;
    /// Takes places for new objects; returns the first of them.
    fn take_places(&mut self, count: u64) -> Result<u64, Error>;
    /// Changes objects.
    fn change(&mut self, change: &Change) -> Result<(), Error>;
    /// Replaces the claims of these objects in the index of claims.
    fn set_claims(&mut self, objects: &[(ObjectId, Vec<ClaimKey>)]) -> Result<(), Error>;
    /// Ends judgements on pairs, and begins others.
    fn change_pairs(&mut self, close: &[PairRow], open: &[PairRow]) -> Result<(), Error>;
    /// Puts in judgements on pairs that were made elsewhere, with the instants at which they were held there.
    fn put_pairs(&mut self, pairs: &[PairRow]) -> Result<(), Error>;
    /// Notes a write in the log.
    fn note(&mut self, verb: &str, author: Option<&str>, objects: u64) -> Result<(), Error>;
    /// Holds up other writers of the tenant from now on, where the engine does not do so anyway.
    fn hold(&mut self) -> Result<(), Error>;
    /// Indexes these terms of objects in the place of those that were; without any, they leave the index.
    fn index(&mut self, objects: &[IndexRow]) -> Result<(), Error>;
    /// Says that the index of terms is to be made anew.
    fn set_unsearched(&mut self) -> Result<(), Error>;
    /// Says that the index of terms holds all objects.
    fn set_searched(&mut self) -> Result<(), Error>;
    /// Adds to the counters of objects.
    fn count(&mut self, usage: &[(ObjectId, Usage)]) -> Result<(), Error>;
    /// Removes every row of these objects, the index of terms included, and the answers that name them, but no record, and leaves
    /// tombstones.
    fn erase(&mut self, ids: &[ObjectId], digests: &[Digest]) -> Result<(), Error>;
    /// Removes these revisions of an object and the beliefs about them, with its links to parents and to subjects, and the answers
    /// that name it.
    fn erase_revisions(&mut self, id: ObjectId, revisions: &[RevisionId]) -> Result<(), Error>;
    /// Keeps an answer under a key.
    fn answer(&mut self, key: &str, answered: &Answered) -> Result<(), Error>;
    /// Puts in records, or replaces those of the same id.
    fn put_records(&mut self, records: &[RecordRow]) -> Result<(), Error>;
    /// At most `most` records that were compiled before this instant or, where there is none such, that stand behind the
    /// `keep` newest.
    fn old_records(
        &mut self,
        before: Option<Instant>,
        keep: Option<u64>,
        most: u32,
    ) -> Result<Vec<String>, Error>;
    /// Removes these records.
    fn erase_records(&mut self, ids: &[String]) -> Result<(), Error>;
    /// Keeps a text by its digest.
    fn put_blob(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), Error>;
    /// Removes texts: only an erasure does.
    fn drop_blobs(&mut self, digests: &[Digest]) -> Result<(), Error>;
    /// Appends entries to a log whose last number is `after`; says whether it was.
    fn append(&mut self, log: &str, after: u64, entries: &[String]) -> Result<bool, Error>;
    /// Replaces the text of entries of a log: only an erasure does.
    fn rewrite(&mut self, log: &str, entries: &[(u64, String)]) -> Result<(), Error>;
    /// Leaves out these damaged revisions from now on.
    fn put_aside(&mut self, revisions: &[RevisionId]) -> Result<(), Error>;
    /// Replaces the links to parents and to subjects with these. Rows of the `lossy` objects stay; with `None`, all
    /// rows stay.
    fn relink(
        &mut self,
        links: &[(ObjectId, ObjectId)],
        subjects: &[(ObjectId, String)],
        lossy: Option<&[ObjectId]>,
    ) -> Result<(), Error>;
    /// Removes a log: only an erasure does.
    fn drop_log(&mut self, log: &str) -> Result<(), Error>;
}

/// Checks that a write that took a stamp was noted in the log: a version without a line in the log could not be
/// traced.
pub(crate) fn logged(stamp: Option<Stamp>, noted: bool) -> Result<(), Error> {
    match stamp {
        Some(stamp) if !noted => Err(Error::assertion(format!(
            "version {} has a line in the log",
            stamp.version
        ))),
        _ => Ok(()),
    }
}

/// Something in a store that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Damage {
    /// The tenant, if it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The kind: `file`, `rows`, `tenant`, `revision`, `text`, `log`, `record`, `derived`.
    pub what: String,
    /// The id, or a description of the damage.
    pub which: String,
    /// True if a repair restores it or leaves it out.
    pub repairable: bool,
}

/// A job over a transaction. It may run more than once, and only the last run counts.
pub type WriteJob = Box<dyn FnMut(&mut dyn Write) -> Result<(), Error> + Send>;

/// A place where rows are kept.
pub trait Engine: Send + Sync {
    /// The address, without secrets.
    fn shown(&self) -> String;
    /// Brings the schema up to date; returns the versions that were applied.
    fn migrate(&self) -> Result<Vec<u32>, Error>;
    /// Reads, in one consistent state.
    fn read(
        &self,
        tenant: &str,
        job: &mut dyn FnMut(&mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error>;
    /// Writes: when this returns, what the job did is durable, or nothing of it was done.
    fn write(&self, tenant: &str, job: WriteJob) -> Result<(), Error>;
    /// Lets go of the bytes of what was erased, as far as an engine can.
    fn forget(&self) -> Result<(), Error> {
        Ok(())
    }
    /// The version probe: one look at one indexed row.
    fn version(&self, tenant: &str) -> Result<u64, Error>;
    /// Checks the store as a whole: that it is there, its schema, and the rows of tenants.
    fn probe(&self) -> Result<(), Error> {
        Ok(())
    }
    /// Lists the damage that belongs to no single tenant. Writes nothing.
    fn check(&self) -> Result<Vec<Damage>, Error> {
        Ok(Vec::new())
    }
    /// Rebuilds what follows from other rows, for all tenants.
    fn rebuild(&self) -> Result<(), Error> {
        Ok(())
    }
    /// The tenants that there are.
    fn tenants(&self) -> Result<Vec<String>, Error>;
    /// Those whose index of terms is still to be made.
    fn unsearched(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
    /// Subscribes to writes from now on; `None` where the engine sends no notice.
    fn watch(&self) -> Result<Option<Box<dyn Watch>>, Error> {
        Ok(None)
    }
}

/// Receives a notice of each write right after it took effect, so that a cache knows when to look again. Versions may
/// come out of order, and a writer that dies right after its write sends none: the version probe is the truth.
pub trait Watch: Send {
    /// The tenant that was written, and its version then; nothing where there was none for so long.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when nothing is heard any more: what
    /// was written meanwhile is known by the version probe only.
    fn next(&mut self, timeout: Duration) -> Result<Option<(String, u64)>, Error>;
}
