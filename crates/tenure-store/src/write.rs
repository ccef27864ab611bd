//! Writing objects: sealed, lowered to what their parents allow, settled over what is believed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use tenure::error::ErrorKind;
use tenure::object::{
    Authority, ContradictionStatus, Lifecycle, ObjectId, ObjectType, RevisionId, Sealer, Usage,
    clip, inherit,
};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error};

use crate::belief::claims::settle_written;
use crate::belief::evidence::why_waits;
use crate::belief::judgement::{Judged, refuse_cycle};
use crate::belief::user_stated::is_inferred;
use crate::entity::resolution::resolve_written;
use crate::rows::blobs::Blobs;
use crate::rows::engine::{BeliefRow, Change, IndexRow, RevisionRow, Standing, Write};
use crate::rows::notes::{Withheld, note_mentions, note_on, note_ring};
use crate::rows::settle::{apply, settle};
use crate::rows::stored::{read_revision, revision_row};
use crate::rows::tombstones::buried;
use crate::tenant::alongside::any_believed;
use crate::tenant::current::Fresh;
use crate::tenant::cycles::made_from_themselves;
use crate::tenant::handle::Tenant;
use crate::tenant::index::{Wording, digests, index};
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
        let (drafts, wordings) = self.drafts(puts)?;
        let asked = texts.asked_with(asked(&drafts));
        let (tenant, known) = (Arc::clone(&self.name), Arc::clone(&self.known));
        self.once(writing, "put", asked, move |rows| {
            texts.keep(rows)?;
            let (mut written, stored) = put(rows, &tenant, &drafts, &wordings)?;
            // As it is stored: what is made from others has no more trust and no wider circle than they.
            let changed: Vec<&ContextObject> = stored
                .iter()
                .zip(&written)
                .filter(|(_, one)| one.outcome != Outcome::Unchanged)
                // The names in what waits beside what is believed are bound when it is confirmed.
                .filter(|(stored, _)| !stored.beside)
                .map(|(stored, _)| &*stored.object)
                .collect();
            let mut notes = resolve_written(rows, &tenant, &known, &changed)?;
            for one in &mut written {
                if let Some(found) = notes.remove(&one.object_id) {
                    note_mentions(&mut one.note, found);
                }
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
            // A rule without a word on its authority asks to command, too.
            let commands = matches!(
                document.object_type,
                Some(ObjectType::PolicyRule | ObjectType::ActionableConstraint | ObjectType::Rule)
            );
            let declared = document
                .authority_level
                .or_else(|| commands.then_some(Authority::Developer));
            document.distrust(Authority::Platform);
            let object = document
                .complete()
                .and_then(|()| document.check_provenance())
                .and_then(|()| sealer.seal(document))
                .map_err(|error| error.or_at(format!("objects[{at}]"), None))?;
            let own = object.revision().derived_from().is_empty();
            Ok(Draft {
                judged,
                declared,
                said: wording.of(&object),
                wording: number,
                row: own.then(|| revision_row(&object)).transpose()?,
                object,
                expect,
                lifecycle: Lifecycle::Active,
            })
        };
        let drafts = puts
            .into_iter()
            .zip(number * each..)
            .map(&mut seal)
            .collect::<Result<_, _>>()?;
        Ok((drafts, wording))
    }
}

/// An object as it was written.
pub(crate) struct Stored {
    object: Arc<ContextObject>,
    /// True if it waits for a person, and something else is believed of it.
    beside: bool,
}

/// An object to write, sealed.
pub(crate) struct Draft {
    pub(crate) object: Arc<ContextObject>,
    /// The row of its revision, where that does not depend on parents.
    row: Option<RevisionRow>,
    expect: Expect,
    pub(crate) lifecycle: Lifecycle,
    judged: Judged,
    /// The authority that it asks for.
    declared: Option<Authority>,
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
) -> Result<(Vec<WrittenObject>, Vec<Stored>), Error> {
    let stamp = rows.stamp()?;
    let key = rows.key()?.unwrap_or_default();
    let mut stored = Vec::with_capacity(drafts.len());
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
    let (mut known, mut unconfirmed) = parents(rows, drafts)?;
    let derives = drafts.iter().any(|draft| draft.row.is_none());
    let mut sealer = Sealer::default();
    let links = drafts.iter().filter_map(|draft| {
        let id = draft.object.revision().object_id();
        let by = draft.judged.superseded_by.filter(|by| *by != id)?;
        Some((id, by))
    });
    let replaced: BTreeMap<ObjectId, ObjectId> = links.collect();
    let mut fresh = spoken(drafts);
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
        let withheld = withheld(rows, draft, &object, before, (&fresh, &unconfirmed))?;
        let waits = withheld.is_some();
        let belief = BeliefRow {
            object: id,
            opened: stamp,
            part: 0,
            closed: None,
            revision: revision.id(),
            valid: revision.valid(),
            contradiction,
            superseded_by,
            lifecycle: if waits {
                Lifecycle::AwaitingConfirmation
            } else {
                draft.lifecycle
            },
            labels: Arc::clone(&row.labels),
        };
        let beside = belief.waits() && before.is_some_and(|one| any_believed(&one.beliefs));
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
            // What only waits beside it names nothing.
            let (name, head) = match before.filter(|_| beside) {
                Some(before) => (before.name.clone(), before.head),
                None => (object.name().to_owned(), revision.id()),
            };
            change.objects.push((id, own, name, head));
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
            note: note_on(&object, withheld, draft.declared),
        });
        if waits {
            fresh.remove(&id);
            if !beside {
                unconfirmed.insert(id);
            }
        } else if is_inferred(&object) {
            fresh.insert(id, Arc::clone(&object));
        }
        stored.push(Stored {
            object: Arc::clone(&object),
            beside,
        });
        // What is made from it is made from what is believed of it.
        if derives && !beside {
            known.insert(id, object);
        }
    }
    let new: Vec<&ContextObject> = stored
        .iter()
        .zip(&written)
        .filter(|(_, one)| one.outcome != Outcome::Unchanged)
        .map(|(stored, _)| &*stored.object)
        .collect();
    let rings = made_from_themselves(rows, &new, &known)?;
    let in_rings = written.iter_mut();
    for one in in_rings.filter(|one| rings.contains(&one.object_id)) {
        note_ring(&mut one.note);
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
    let revised: Vec<ObjectId> = written
        .iter()
        .filter(|one| one.outcome == Outcome::Revised)
        .map(|one| one.object_id)
        .collect();
    let mut claiming = rows.claiming(&revised)?;
    let said = drafts
        .iter()
        .filter(|draft| draft.object.revision().normalized_claim().is_some());
    claiming.extend(said.map(|draft| draft.object.revision().object_id()));
    let changed: Vec<ObjectId> = written
        .iter()
        .filter(|one| one.outcome != Outcome::Unchanged)
        .map(|one| one.object_id)
        .filter(|id| claiming.contains(id))
        .collect();
    let at_hand = stored
        .iter()
        .map(|one| &one.object)
        .filter(|object| object.revision().normalized_claim().is_some())
        .map(|object| (object.revision().id(), Arc::clone(object)));
    settle_written(rows, &changed, &at_hand.collect())?;
    Ok((written, stored))
}

/// The objects of these drafts that speak for what is inferred beside them, in whatever order they stand; what was
/// inferred itself speaks once it has come through the gate.
fn spoken(drafts: &[Draft]) -> Fresh {
    let inferred = |draft: &Draft| is_inferred(&draft.object);
    if !drafts.iter().any(inferred) {
        return Fresh::default();
    }
    let stands = |draft: &&Draft| {
        let judged = draft.judged.contradiction;
        !inferred(draft)
            && draft.lifecycle == Lifecycle::Active
            && judged.unwrap_or(ContradictionStatus::Clean) == ContradictionStatus::Clean
    };
    let mut fresh = Fresh::default();
    for draft in drafts.iter().filter(stands) {
        let object = &draft.object;
        fresh.insert(object.revision().object_id(), Arc::clone(object));
    }
    fresh
}

/// The reason for which something waits for a person, where there is one: it was inferred and does not come through the gate, or was
/// made from something `unconfirmed`. What a person confirmed, or was let through before, in the same revision, does not wait again.
fn withheld(
    rows: &mut dyn Write,
    draft: &Draft,
    object: &ContextObject,
    before: Option<&Standing>,
    (fresh, unconfirmed): (&Fresh, &BTreeSet<ObjectId>),
) -> Result<Option<Withheld>, Error> {
    let mut made_from = object.revision().derived_from().iter();
    let is_unverified = made_from.any(|parent| unconfirmed.contains(parent));
    if draft.lifecycle != Lifecycle::Active {
        return Ok(None);
    }
    let mut held = before.into_iter().flat_map(|before| &before.beliefs);
    let revision = object.revision().id();
    if held.any(|row| row.revision == revision && row.lifecycle == Lifecycle::Active) {
        return Ok(None);
    }
    let at = rows.stamp()?.at;
    why_waits(rows, object, is_unverified, fresh, at)
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

/// Objects by their ids.
type Known = BTreeMap<ObjectId, Arc<ContextObject>>;

/// The parents of these drafts that are believed now, or wait for a person; and those of them that only wait.
fn parents(rows: &mut dyn Write, drafts: &[Draft]) -> Result<(Known, BTreeSet<ObjectId>), Error> {
    let ids: BTreeSet<ObjectId> = drafts
        .iter()
        .flat_map(|draft| draft.object.revision().derived_from())
        .copied()
        .collect();
    if ids.is_empty() {
        return Ok(Default::default());
    }
    let standing = rows.standing(&ids.into_iter().collect::<Vec<_>>())?;
    let held = standing
        .iter()
        .filter(|(_, standing)| !standing.beliefs.is_empty());
    let unconfirmed = held
        .clone()
        .filter(|(_, standing)| !any_believed(&standing.beliefs))
        .map(|(id, _)| *id)
        .collect();
    let heads: Vec<(ObjectId, RevisionId)> =
        held.map(|(id, standing)| (*id, standing.head)).collect();
    let ids: Vec<ObjectId> = heads.iter().map(|(id, _)| *id).collect();
    let bodies = rows.heads(&ids)?;
    let mut sealer = Sealer::default();
    let known = heads.into_iter().map(|(id, head)| {
        let body = bodies.get(&id).map_or("", String::as_str);
        Ok((id, read_revision(&mut sealer, head, body)?))
    });
    Ok((known.collect::<Result<_, Error>>()?, unconfirmed))
}

/// The object of a draft, lowered to what its parents allow.
fn derived(
    tenant: &str,
    draft: &Draft,
    known: &Known,
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
