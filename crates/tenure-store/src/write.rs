//! The path of a write, from documents to rows, whole, in one file.
//!
//! ```text
//! draft ──► inherit ──► judge ──► gate ──► settle ──► store ──► index ──► compare ──► resolve ──► note
//! (outside) └──── object by object, in order ────┘   └────────── of all objects at once ───────────┘
//! ```
//!
//! Each step takes the type that the one before it gives, so that leaving one out does not compile. Documents are drafted before
//! the transaction begins, so that sealing holds up no other writer; all that follows is one transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use tenure::error::ErrorKind;
use tenure::object::{
    Authority, ContradictionStatus, Lifecycle, ObjectId, Sealer, Usage, clip,
    inherit as lower_to_parents,
};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ObjectDocument};

use crate::belief::claims::settle_written;
use crate::belief::evidence::why_waits;
use crate::belief::judgement::{Judgement, refuse_cycle};
use crate::belief::user_stated::is_inferred;
use crate::entity::resolution::{KnownEntities, resolve_written};
use crate::rows::blobs::Blobs;
use crate::rows::engine::{BeliefRow, Change, IndexRow, RevisionRow, Stamp, Standing, Write};
use crate::rows::notes::{Withheld, WriteNote, note_cycle, note_mentions, note_on};
use crate::rows::settle::{apply, settle as settle_over};
use crate::rows::stored::{read_revision, revision_row};
use crate::rows::tombstones::with_tombstones;
use crate::tenant::alongside::any_believed;
use crate::tenant::current::Fresh;
use crate::tenant::cycles::made_from_themselves;
use crate::tenant::handle::Tenant;
use crate::tenant::index::{Wording, digests, index as index_again};
use crate::tenant::writing::{Expect, Outcome, Put, Writing, Written, WrittenObject, check};

/// The most objects of one write.
pub const MAX_BATCH: usize = 100_000;

/// The number of objects that are worth a thread.
const EACH_WORKER: usize = 500;

impl Tenant {
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

    /// Like `put`, and keeps texts in the same write.
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
        let drafts = self.draft(puts)?;
        let asked = texts.asked_with(drafts.digest());
        let (tenant, known) = (Arc::clone(&self.name), Arc::clone(&self.known));
        self.once(writing, "put", asked, move |rows| {
            texts.keep(rows)?;
            let compared = write(rows, &tenant, &drafts)?;
            let mentions = resolve(rows, &tenant, &known, &compared)?;
            Ok(note(compared, mentions))
        })
    }

    /// Drafts objects: seals what needs no parents, on all processors where it is much.
    pub(crate) fn draft(&self, puts: Vec<Put>) -> Result<Drafts, Error> {
        let drafts = self.seal_all(puts)?;
        drafts.refuse_twice()?;
        Ok(drafts)
    }

    fn seal_all(&self, puts: Vec<Put>) -> Result<Drafts, Error> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = processors.min(puts.len() / EACH_WORKER).max(1);
        let each = puts.len().div_ceil(workers);
        let mut left = puts.into_iter();
        let mut parts = (0..workers).map(|_| left.by_ref().take(each).collect::<Vec<Put>>());
        let own = parts.next().unwrap_or_default();
        let rest: Vec<Vec<Put>> = parts.collect();
        std::thread::scope(|scope| {
            let workers: Vec<_> = rest
                .into_iter()
                .zip(1..)
                .map(|(part, number)| scope.spawn(move || self.seal_part(part, number, each)))
                .collect();
            let mut drafts = self.seal_part(own, 0, each)?;
            for worker in workers {
                let sealed =
                    worker.join().map_err(|_| Error::assertion("sealing panics at nothing"))??;
                drafts.each.extend(sealed.each);
                drafts.wordings.extend(sealed.wordings);
            }
            Ok(drafts)
        })
    }

    /// Seals a part of all: the part's number, and how many there are in each before it.
    fn seal_part(&self, puts: Vec<Put>, number: usize, each: usize) -> Result<Drafts, Error> {
        let mut sealer = Sealer::default();
        let mut wording = Wording::default();
        let mut drafts = Vec::with_capacity(puts.len());
        for (put, at) in puts.into_iter().zip(number * each..) {
            let Put {
                mut document,
                expect,
            } = put;
            self.adopt(&mut document)?;
            let judgement = Judgement {
                contradiction: document.contradiction_status,
                superseded_by: document.supersession_link,
            };
            let declared = document.asked_authority();
            document.distrust(Authority::Platform);
            let object = document
                .complete()
                .and_then(|()| document.check_provenance())
                .and_then(|()| sealer.seal(document))
                .map_err(|error| error.or_at(format!("objects[{at}]"), None))?;
            let is_original = object.revision().derived_from().is_empty();
            drafts.push(Draft {
                judgement,
                declared,
                said: wording.of(&object),
                wording: number,
                row: is_original.then(|| revision_row(&object)).transpose()?,
                object,
                expect,
                lifecycle: Lifecycle::Active,
            });
        }
        Ok(Drafts {
            each: drafts,
            wordings: vec![wording],
        })
    }

    /// Makes a document the tenant's own, where it is nobody else's.
    fn adopt(&self, document: &mut ObjectDocument) -> Result<(), Error> {
        match &document.tenant_id {
            Some(tenant) if **tenant != *self.name => Err(Error::new(
                ErrorKind::Policy,
                format!("`{}` belongs to another tenant", clip(&document.name)),
            )
            .expected(format!("`{}`, or leave `tenant_id` out", clip(&self.name)))),
            _ => {
                document.tenant_id = Some(self.name.to_string());
                Ok(())
            }
        }
    }
}

/// An object to write, sealed: what its document says, before anything is read of the store.
pub(crate) struct Draft {
    pub(crate) object: Arc<ContextObject>,
    /// The row of its revision, where that does not depend on parents.
    row: Option<RevisionRow>,
    expect: Expect,
    pub(crate) lifecycle: Lifecycle,
    judgement: Judgement,
    /// The authority that it asks for.
    declared: Option<Authority>,
    /// The terms that it is found by, and whose numbers these are.
    said: Vec<u32>,
    wording: usize,
}

impl Draft {
    fn id(&self) -> ObjectId {
        self.object.revision().object_id()
    }

    /// The object that replaces it, as its document says.
    fn replaced_by(&self) -> Option<ObjectId> {
        self.judgement.superseded_by.filter(|by| *by != self.id())
    }

    fn makes_claim(&self) -> bool {
        self.object.revision().normalized_claim().is_some()
    }

    fn is_inferred(&self) -> bool {
        is_inferred(&self.object)
    }

    /// Returns whether it speaks for what is inferred by the same write; what was inferred itself speaks once it has come
    /// through the gate.
    fn speaks(&self) -> bool {
        let judged = self.judgement.contradiction.unwrap_or(ContradictionStatus::Clean);
        !self.is_inferred()
            && self.lifecycle == Lifecycle::Active
            && judged == ContradictionStatus::Clean
    }
}

/// The objects of one write, each once, with the terms of their texts.
pub(crate) struct Drafts {
    pub(crate) each: Vec<Draft>,
    /// One of each part that was sealed by itself.
    wordings: Vec<Wording>,
}

impl Drafts {
    fn ids(&self) -> Vec<ObjectId> {
        self.each.iter().map(Draft::id).collect()
    }

    fn refuse_twice(&self) -> Result<(), Error> {
        let mut taken = HashSet::with_capacity(self.each.len());
        match self.each.iter().find(|draft| !taken.insert(draft.id())) {
            None => Ok(()),
            Some(draft) => Err(Error::input(format!(
                "the object `{}` appears twice in one write",
                clip(draft.object.name())
            ))
            .expected("each object once")
            .hint("write its revisions one after another")),
        }
    }

    /// The digest of what is asked for.
    fn digest(&self) -> Digest {
        let mut leaves = Vec::new();
        for Draft { object, expect, .. } in &self.each {
            leaves.extend_from_slice(object.revision().id().bytes());
            let status = object.status();
            leaves.push(status.contradiction as u8);
            leaves.extend_from_slice(&status.superseded_by.map_or(0, ObjectId::bits).to_be_bytes());
            if let Some(usage) = told_usage(object) {
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
                Expect::Since(since) => {
                    leaves.push(3);
                    leaves.extend_from_slice(&since.micros().to_be_bytes());
                }
                Expect::Waiting => leaves.push(4),
                Expect::Proposed(revision) => {
                    leaves.push(5);
                    leaves.extend_from_slice(revision.bytes());
                }
            }
        }
        Digest::of(&leaves)
    }

    /// The objects that these say are replaced, each with the one that replaces it.
    fn replacements(&self) -> BTreeMap<ObjectId, ObjectId> {
        self.each
            .iter()
            .filter_map(|draft| Some((draft.id(), draft.replaced_by()?)))
            .collect()
    }

    /// The objects that speak for what is inferred beside them, in whatever order they stand.
    fn speaking(&self) -> Fresh {
        let mut fresh = Fresh::default();
        if self.each.iter().any(Draft::is_inferred) {
            for draft in self.each.iter().filter(|draft| draft.speaks()) {
                fresh.insert(draft.id(), Arc::clone(&draft.object));
            }
        }
        fresh
    }
}

/// Returns what a document says of its use, where it says anything. How often it was used only a store counts.
fn told_usage(object: &ContextObject) -> Option<Usage> {
    let usage = Usage {
        access_count: 0,
        ..*object.usage()
    };
    (usage != Usage::default()).then_some(usage)
}

/// Writes drafts, in a transaction: all steps from `inherit` to `compare`.
pub(crate) fn write(
    rows: &mut dyn Write,
    tenant: &str,
    drafts: &Drafts,
) -> Result<Compared, Error> {
    let before = Before::read(rows, drafts)?;
    let mut settling = Settling::begin(rows, drafts, &before)?;
    let mut said = Said::begin(rows, drafts)?;
    for draft in &drafts.each {
        // What do its parents allow, and may it be written at all?
        let inherited = inherit(draft, tenant, &before, &mut said)?;
        // What contradicts it, and what replaces it?
        let judged = judge(rows, inherited, &before)?;
        // Does it wait for a person?
        let gated = gate(rows, judged, &before, &said)?;
        // What does it change in what is believed?
        settle(gated, &mut settling, &mut said);
    }
    // The rows that change.
    let stored = store(rows, settling, &said, drafts)?;
    // By which words is it found?
    let indexed = index(rows, stored)?;
    // Which claims cannot hold beside it?
    compare(rows, indexed, drafts)
}

/// State of the objects in the store as their write begins.
struct Before {
    stamp: Stamp,
    standing: BTreeMap<ObjectId, Standing>,
    erased: BTreeSet<ObjectId>,
    /// The objects that the write says are replaced, each with the one that replaces it.
    replaced: BTreeMap<ObjectId, ObjectId>,
    /// The digests of the terms of each wording.
    keyed: Vec<Vec<i64>>,
}

impl Before {
    fn read(rows: &mut dyn Write, drafts: &Drafts) -> Result<Before, Error> {
        let stamp = rows.stamp()?;
        let key = rows.key()?.unwrap_or_default();
        let ids = drafts.ids();
        Ok(Before {
            stamp,
            standing: rows.standing(&ids)?,
            erased: with_tombstones(rows, &ids)?,
            replaced: drafts.replacements(),
            keyed: drafts.wordings.iter().map(|one| one.keyed(&key)).collect(),
        })
    }
}

/// Objects by their ids.
type Known = BTreeMap<ObjectId, Arc<ContextObject>>;

/// The objects that others of the write are made from, or inferred from; each object adds to them.
struct Said {
    /// Parents, as they are believed or wait.
    parents: Known,
    /// Those of them that only wait for a person.
    unconfirmed: BTreeSet<ObjectId>,
    /// The objects of the write that speak for or against what is inferred.
    fresh: Fresh,
    /// True if any object of the write is made from others.
    derives: bool,
    sealer: Sealer,
}

impl Said {
    fn begin(rows: &mut dyn Write, drafts: &Drafts) -> Result<Said, Error> {
        let (parents, unconfirmed) = parents(rows, drafts)?;
        Ok(Said {
            parents,
            unconfirmed,
            fresh: drafts.speaking(),
            derives: drafts.each.iter().any(|draft| draft.row.is_none()),
            sealer: Sealer::default(),
        })
    }

    /// Adds an object that is settled.
    fn add(&mut self, settled: &Settled) {
        let id = settled.id();
        if settled.withheld.is_some() {
            self.fresh.remove(&id);
            if !settled.is_alongside {
                self.unconfirmed.insert(id);
            }
        } else if is_inferred(&settled.object) {
            self.fresh.insert(id, Arc::clone(&settled.object));
        }
        // What is made from it is made from what is believed of it.
        if self.derives && !settled.is_alongside {
            self.parents.insert(id, Arc::clone(&settled.object));
        }
    }
}

/// The parents of these drafts that are believed now, or wait for a person; and those of them that only wait.
fn parents(rows: &mut dyn Write, drafts: &Drafts) -> Result<(Known, BTreeSet<ObjectId>), Error> {
    let named: BTreeSet<ObjectId> = drafts
        .each
        .iter()
        .flat_map(|draft| draft.object.revision().derived_from())
        .copied()
        .collect();
    if named.is_empty() {
        return Ok(Default::default());
    }
    let mut held = rows.standing(&named.into_iter().collect::<Vec<_>>())?;
    held.retain(|_, standing| !standing.beliefs.is_empty());
    let ids: Vec<ObjectId> = held.keys().copied().collect();
    let bodies = rows.heads(&ids)?;
    let mut sealer = Sealer::default();
    let mut known = Known::new();
    for (id, standing) in &held {
        let body = bodies.get(id).map_or("", String::as_str);
        known.insert(*id, read_revision(&mut sealer, standing.head, body)?);
    }
    held.retain(|_, standing| !any_believed(&standing.beliefs));
    Ok((known, held.into_keys().collect()))
}

/// An object as it is written: lowered to what its parents allow, and in the state that its writer expects.
struct Inherited<'w> {
    draft: &'w Draft,
    /// The beliefs about it so far.
    before: Option<&'w Standing>,
    object: Arc<ContextObject>,
    row: RevisionRow,
}

impl Inherited<'_> {
    fn id(&self) -> ObjectId {
        self.object.revision().object_id()
    }
}

/// Lowers an object to what its parents allow; refuses it where something else is there than its writer expects, or where it
/// was erased.
fn inherit<'w>(
    draft: &'w Draft,
    tenant: &str,
    before: &'w Before,
    said: &mut Said,
) -> Result<Inherited<'w>, Error> {
    let object = derived(draft, tenant, said)?;
    let id = object.revision().object_id();
    let standing = before.standing.get(&id);
    check(&draft.expect, object.name(), standing)?;
    if before.erased.contains(&id) {
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
    Ok(Inherited {
        draft,
        before: standing,
        object,
        row,
    })
}

/// The object of a draft, lowered to what its parents allow.
fn derived(draft: &Draft, tenant: &str, said: &mut Said) -> Result<Arc<ContextObject>, Error> {
    let object = &draft.object;
    let parents = object.revision().derived_from();
    if parents.is_empty() {
        return Ok(Arc::clone(object));
    }
    let mut found: Vec<&ContextObject> = Vec::with_capacity(parents.len());
    for id in parents {
        let parent = said.parents.get(id).ok_or_else(|| {
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
    lower_to_parents(&mut document, &found)?;
    // Without an id of its own, the object's id follows from the scope; it is the draft's.
    document.object_id = Some(draft.id());
    said.sealer.seal(document)
}

/// An object with the judgement on it.
struct Judged<'w> {
    inherited: Inherited<'w>,
    contradiction: ContradictionStatus,
    superseded_by: Option<ObjectId>,
}

/// Judges an object: as its writer does, or else as it was judged before.
fn judge<'w>(
    rows: &mut dyn Write,
    inherited: Inherited<'w>,
    before: &Before,
) -> Result<Judged<'w>, Error> {
    let id = inherited.id();
    let draft = inherited.draft;
    let valid = inherited.object.revision().valid();
    let (contradiction, superseded_by) = draft.judgement.over(rows, id, valid, inherited.before)?;
    if let Some(by) = draft.replaced_by() {
        refuse_cycle(rows, id, by, &before.replaced)?;
    }
    Ok(Judged {
        inherited,
        contradiction,
        superseded_by,
    })
}

/// An object with the belief that its write begins.
struct Gated<'w> {
    inherited: Inherited<'w>,
    belief: BeliefRow,
    /// The reason for which it waits for a person.
    withheld: Option<Withheld>,
    /// True if it waits, and something else is believed of it.
    is_alongside: bool,
}

/// Lets an object through, or has it wait for a person.
fn gate<'w>(
    rows: &mut dyn Write,
    judged: Judged<'w>,
    before: &Before,
    said: &Said,
) -> Result<Gated<'w>, Error> {
    let Judged {
        inherited,
        contradiction,
        superseded_by,
    } = judged;
    let withheld = withheld(rows, &inherited, said, before.stamp.at)?;
    let revision = inherited.object.revision();
    let belief = BeliefRow {
        object: inherited.id(),
        opened: before.stamp,
        part: 0,
        closed: None,
        revision: revision.id(),
        valid: revision.valid(),
        contradiction,
        superseded_by,
        lifecycle: match withheld {
            Some(_) => Lifecycle::AwaitingConfirmation,
            None => inherited.draft.lifecycle,
        },
        labels: Arc::clone(&inherited.row.labels),
    };
    let is_believed = inherited.before.is_some_and(|standing| any_believed(&standing.beliefs));
    Ok(Gated {
        is_alongside: belief.waits() && is_believed,
        inherited,
        belief,
        withheld,
    })
}

/// The reason for which something waits for a person, where there is one: it was inferred and does not come through the gate, or
/// was made from something that waits. What a person confirmed, or was let through before, in the same revision, does not wait
/// again.
fn withheld(
    rows: &mut dyn Write,
    inherited: &Inherited<'_>,
    said: &Said,
    at: Instant,
) -> Result<Option<Withheld>, Error> {
    if inherited.draft.lifecycle != Lifecycle::Active {
        return Ok(None);
    }
    let object = &inherited.object;
    let revision = object.revision();
    let mut held = inherited.before.into_iter().flat_map(|one| &one.beliefs);
    if held.any(|row| row.revision == revision.id() && row.lifecycle == Lifecycle::Active) {
        return Ok(None);
    }
    let mut made_from = revision.derived_from().iter();
    let is_unverified = made_from.any(|parent| said.unconfirmed.contains(parent));
    why_waits(rows, object, is_unverified, &said.fresh, at)
}

/// An object, and what its write does to it.
struct Settled {
    object: Arc<ContextObject>,
    outcome: Outcome,
    is_alongside: bool,
    withheld: Option<Withheld>,
    /// The authority that it asked for.
    declared: Option<Authority>,
}

impl Settled {
    fn id(&self) -> ObjectId {
        self.object.revision().object_id()
    }

    fn is_changed(&self) -> bool {
        self.outcome != Outcome::Unchanged
    }
}

/// Changes of a write, as far as its objects are settled.
struct Settling<'w> {
    before: &'w Before,
    objects: Vec<Settled>,
    change: Change,
    /// The place of the next object that is new.
    place: u64,
    /// The terms of objects of which the write says all that is believed.
    terms: Vec<IndexRow>,
    /// The objects of which more is believed than the write says.
    mixed: Vec<ObjectId>,
}

impl<'w> Settling<'w> {
    fn begin(
        rows: &mut dyn Write,
        drafts: &Drafts,
        before: &'w Before,
    ) -> Result<Settling<'w>, Error> {
        let new = drafts
            .each
            .iter()
            .filter(|draft| !before.standing.contains_key(&draft.id()))
            .count();
        let place = match new {
            0 => 0,
            count => rows.take_places(count as u64)?,
        };
        Ok(Settling {
            before,
            objects: Vec::with_capacity(drafts.each.len()),
            change: Change::default(),
            place,
            terms: Vec::with_capacity(drafts.each.len()),
            mixed: Vec::new(),
        })
    }

    /// Adds the rows of an object that changes.
    fn change(&mut self, gated: Gated<'_>) {
        let Gated {
            inherited:
                Inherited {
                    draft,
                    before,
                    object,
                    row,
                },
            belief,
            is_alongside,
            ..
        } = gated;
        let id = belief.object;
        let revision = object.revision();
        let place = match before {
            Some(before) => before.place,
            None => {
                self.place += 1;
                self.place - 1
            }
        };
        // What only waits alongside something believed names nothing.
        let (name, head) = match before.filter(|_| is_alongside) {
            Some(before) => (before.name.clone(), before.head),
            None => (object.name().to_owned(), revision.id()),
        };
        self.change.objects.push((id, place, name, head));
        self.change.revisions.push(row);
        let current = before.map_or(&[][..], |before| &before.beliefs);
        let settlement = settle_over(current, belief);
        if settlement.leaves_only(revision.id(), current) {
            self.terms.push(IndexRow {
                object: id,
                place,
                terms: digests(
                    draft.said.iter().copied(),
                    &self.before.keyed[draft.wording],
                ),
            });
        } else {
            self.mixed.push(id);
        }
        apply(&mut self.change, current, settlement);
        let parents = revision.derived_from().iter();
        self.change.links.extend(parents.map(|parent| (id, *parent)));
        let subjects = revision.subjects().iter();
        self.change.subjects.extend(subjects.map(|subject| (id, subject.clone())));
    }
}

/// Settles an object over what is believed of it, and adds it to what the next objects are made from and inferred from.
fn settle(mut gated: Gated<'_>, settling: &mut Settling<'_>, said: &mut Said) {
    let settled = Settled {
        object: Arc::clone(&gated.inherited.object),
        outcome: match gated.inherited.before {
            None => Outcome::Created,
            Some(before) if holds(before, &gated.belief) => Outcome::Unchanged,
            Some(_) => Outcome::Revised,
        },
        is_alongside: gated.is_alongside,
        withheld: gated.withheld.take(),
        declared: gated.inherited.draft.declared,
    };
    if settled.is_changed() {
        settling.change(gated);
    }
    said.add(&settled);
    settling.objects.push(settled);
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

/// Objects whose rows are written.
struct Stored {
    objects: Vec<Settled>,
    /// Those that are made from themselves.
    cyclic: BTreeSet<ObjectId>,
    terms: Vec<IndexRow>,
    mixed: Vec<ObjectId>,
}

/// Writes the rows that change, and what the documents say of their use.
fn store(
    rows: &mut dyn Write,
    settling: Settling<'_>,
    said: &Said,
    drafts: &Drafts,
) -> Result<Stored, Error> {
    let Settling {
        objects,
        change,
        terms,
        mixed,
        ..
    } = settling;
    let changed: Vec<&ContextObject> =
        objects.iter().filter(|one| one.is_changed()).map(|one| &*one.object).collect();
    let cyclic = made_from_themselves(rows, &changed, &said.parents)?;
    rows.change(&change)?;
    let told: Vec<(ObjectId, Usage)> = drafts
        .each
        .iter()
        .filter_map(|draft| Some((draft.id(), told_usage(&draft.object)?)))
        .collect();
    if !told.is_empty() {
        rows.count(&told)?;
    }
    Ok(Stored {
        objects,
        cyclic,
        terms,
        mixed,
    })
}

/// Objects that are found by their words.
struct Indexed {
    objects: Vec<Settled>,
    cyclic: BTreeSet<ObjectId>,
}

/// Indexes what changed.
fn index(rows: &mut dyn Write, stored: Stored) -> Result<Indexed, Error> {
    let Stored {
        objects,
        cyclic,
        terms,
        mixed,
    } = stored;
    rows.index(&terms)?;
    index_again(rows, &mixed)?;
    Ok(Indexed { objects, cyclic })
}

/// Objects whose claims are judged against all others on their slots: nothing is left but the names in them.
pub(crate) struct Compared {
    objects: Vec<Settled>,
    cyclic: BTreeSet<ObjectId>,
}

/// Judges the claims of what changed against the others on their slots.
fn compare(rows: &mut dyn Write, indexed: Indexed, drafts: &Drafts) -> Result<Compared, Error> {
    let Indexed { objects, cyclic } = indexed;
    let revised: Vec<ObjectId> = objects
        .iter()
        .filter(|one| one.outcome == Outcome::Revised)
        .map(Settled::id)
        .collect();
    // An object makes a claim, or made one.
    let mut claiming = rows.claiming(&revised)?;
    let making = drafts.each.iter().filter(|draft| draft.makes_claim());
    claiming.extend(making.map(Draft::id));
    let changed: Vec<ObjectId> = objects
        .iter()
        .filter(|one| one.is_changed())
        .map(Settled::id)
        .filter(|id| claiming.contains(id))
        .collect();
    let at_hand = objects
        .iter()
        .map(|one| &one.object)
        .filter(|object| object.revision().normalized_claim().is_some())
        .map(|object| (object.revision().id(), Arc::clone(object)));
    settle_written(rows, &changed, &at_hand.collect())?;
    Ok(Compared { objects, cyclic })
}

/// Notes on objects with names that wait for a person, by object.
type MentionNotes = BTreeMap<ObjectId, WriteNote>;

/// Binds the names in what changed to entities: as it is stored, since what is made from others has no more trust and no wider
/// circle than they. The names in what waits alongside something believed are bound when it is confirmed.
fn resolve(
    rows: &mut dyn Write,
    tenant: &str,
    known: &KnownEntities,
    compared: &Compared,
) -> Result<MentionNotes, Error> {
    let changed: Vec<&ContextObject> = compared
        .objects
        .iter()
        .filter(|one| one.is_changed() && !one.is_alongside)
        .map(|one| &*one.object)
        .collect();
    resolve_written(rows, tenant, known, &changed)
}

/// Says what became of each object, with the note that its writer is to read.
pub(crate) fn note(compared: Compared, mut mentions: MentionNotes) -> Vec<WrittenObject> {
    let Compared { objects, cyclic } = compared;
    let noted = objects.into_iter().map(|settled| {
        let object_id = settled.id();
        let revision = settled.object.revision().id();
        let mut note = note_on(&settled.object, settled.withheld, settled.declared);
        if cyclic.contains(&object_id) {
            note_cycle(&mut note);
        }
        if let Some(found) = mentions.remove(&object_id) {
            note_mentions(&mut note, found);
        }
        WrittenObject {
            object_id,
            name: Some(settled.object.name().to_owned()),
            revision: Some(revision),
            outcome: settled.outcome,
            note,
        }
    });
    noted.collect()
}
