//! The verbs over beliefs: their evidence, and the confidence that it gives.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::{GateRefusal, SlotClaim};
use tenure::object::{Lifecycle, ObjectId, ObjectType, RevisionId, Sealer};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ErrorKind};

use crate::belief::claims::settle_claims;
use crate::belief::evidence::{BeliefWithEvidence, View, no_belief, weigh, weigh_own};
use crate::belief::expiry::weakening_of;
use crate::belief::support::{restate, with_confidence};
use crate::belief::ties::{Revised, revised_together};
use crate::belief::user_stated::is_inferred;
use crate::entity::resolution::resolve_written;
use crate::rows::engine::{BeliefRow, Change, Read, RevisionRow, Stamp, Standing, Write};
use crate::rows::labels::Sees;
use crate::rows::notes::{FlaggedText, WriteNote, note_mentions};
use crate::rows::settle::{apply, confirmed};
use crate::tenant::alongside::unbound;
use crate::tenant::current::{current, pending};
use crate::tenant::handle::Tenant;
use crate::tenant::index::index;
use crate::tenant::writing::{Outcome, Writing, Written, WrittenObject};

impl Tenant {
    /// The claim of an object, with the evidence for it and against it that is believed now, at an instant. To a caller counts
    /// what the caller may see; else what everyone may see who may see the object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when nothing is believed of it now; [`ErrorKind::Input`] when it makes no claim;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn belief(
        &self,
        id: ObjectId,
        at: Instant,
        sees: Option<&Sees<'_>>,
    ) -> Result<BeliefWithEvidence, Error> {
        let view = sees.map_or(View::Everyone, |sees| View::Caller(&self.name, sees));
        self.read(|rows| {
            let belief = weigh(rows, id, &BTreeSet::new(), at, view)?;
            if belief.object_type != ObjectType::InferredBelief {
                return Ok(belief);
            }
            Ok(BeliefWithEvidence {
                weakened: weakening_of(rows, id, at)?,
                ..belief
            })
        })
    }

    /// Writes the confidence that the evidence gives a claim at an instant into it, for the times for which it is believed, and
    /// theirs into all claims that nothing but their confidence tells from it, so that it does not count who is revised first. Doing
    /// so twice is doing so once. What was made from other objects is at most as sure as they are. What was inferred and waits is
    /// believed from then on, where its evidence is enough by now and no stated preference says otherwise. Where nothing speaks
    /// for a claim or against it, or it has that confidence already, nothing is written, and a note says so. A caller is told of
    /// the evidence that may be seen; all of it counts that everyone may see who may see the object.
    ///
    /// # Errors
    ///
    /// As [`Tenant::belief`]; [`ErrorKind::Policy`] when it is inferred and must not persist;
    /// [`ErrorKind::Conflict`] when it, or its evidence, was written meanwhile.
    pub fn revise_belief(
        &self,
        id: ObjectId,
        at: Instant,
        sees: Option<&Sees<'_>>,
        writing: &Writing,
    ) -> Result<(BeliefWithEvidence, Written), Error> {
        let none = BTreeSet::new();
        let (belief, shown, waits, all, last) = self.read(|rows| {
            let own = of_both(rows, id, at, sees)?;
            let belief = weigh_own(rows, Arc::clone(&own), &none, at, View::Everyone)?;
            let all = if belief.refused.is_some() || nothing_speaks(&belief) {
                BTreeMap::new()
            } else {
                revised_together(rows, &own, &belief, at)?
            };
            let mut shown = belief.clone();
            if let Some(sees) = sees {
                // Whoever may not see it is told that it is not there.
                let theirs = weigh_own(rows, own, &none, at, View::Caller(&self.name, sees))?;
                let seen: BTreeSet<ObjectId> =
                    theirs.evidence.iter().map(|link| link.object_id).collect();
                shown.evidence.retain(|link| seen.contains(&link.object_id));
                shown.flagged.retain(|text| text.object_id.is_none_or(|of| seen.contains(&of)));
            }
            let waits = waits(rows, &belief)?;
            let version = rows.version()?;
            Ok((belief, shown, waits, all, rows.written(version)?))
        })?;
        if let Some(refused) = belief.refused {
            let what = format!(
                "`{}` was inferred, and must not persist: {refused}{}",
                belief.name,
                FlaggedText::in_brackets(&shown.flagged)
            );
            let expected = match refused {
                GateRefusal::StatedOtherwise => "no stated preference that says otherwise",
                _ => "evidence with two votes, of which nothing is flagged, gone or over",
            };
            return Err(Error::new(ErrorKind::Policy, what)
                .expected(expected)
                .hint("`tenure belief show` lists what there is; a person may confirm it (`tenure store confirm`)"));
        }
        let own = all.get(&id);
        let confidence = own.map_or(belief.confidence, |own| own.confidence);
        let note = if nothing_speaks(&belief) {
            Some(WriteNote::NothingSpeaks)
        } else {
            (confidence < belief.confidence).then_some(WriteNote::AtMost { confidence })
        };
        let is_same = !waits && !all.values().any(Revised::is_changed);
        if is_same || note == Some(WriteNote::NothingSpeaks) {
            let last = last
                .ok_or_else(|| Error::not_found(format!("there is no belief about `{id}` now")))?;
            let written = Written {
                version: last.version,
                at: last.at,
                objects: vec![WrittenObject {
                    object_id: id,
                    name: Some(belief.name),
                    revision: Some(belief.revision),
                    outcome: Outcome::Unchanged,
                    note,
                }],
                nothing_changed: true,
            };
            return Ok((shown, written));
        }
        let asked = Digest::of(format!("{id} {} {confidence}", belief.revision).as_bytes());
        let (tenant, entities) = (Arc::clone(&self.name), Arc::clone(&self.known));
        let written = self.once(writing, "revise", asked, move |rows| {
            rows.stamp()?;
            let unbound = if waits {
                unbound(rows, &[id], |row| row.revision == belief.revision)?
            } else {
                Vec::new()
            };
            let mut all = revise(rows, &belief, at)?;
            let unbound: Vec<&ContextObject> = unbound.iter().map(|object| &**object).collect();
            let mut note = note.clone();
            let mut notes = resolve_written(rows, &tenant, &entities, &unbound)?;
            if let Some(found) = notes.remove(&id) {
                note_mentions(&mut note, found);
            }
            if let Some(own) = all.first_mut() {
                own.note = note;
            }
            Ok(all)
        })?;
        Ok((shown, written))
    }
}

/// The object as it waits, where its own evidence is enough by now and the caller may see it; else as it is believed.
fn of_both(
    rows: &mut dyn Read,
    id: ObjectId,
    at: Instant,
    sees: Option<&Sees<'_>>,
) -> Result<Arc<ContextObject>, Error> {
    let Some(believed) = current(rows, &[id])?.remove(&id) else {
        return pending(rows, id)?.ok_or_else(|| no_belief(id));
    };
    let proposed = pending(rows, id)?.filter(|own| {
        let is_seen = sees.is_none_or(|sees| sees(std::slice::from_ref(own)) == [true]);
        is_seen && is_inferred(own) && SlotClaim::of(own).is_some()
    });
    if let Some(own) = proposed {
        let none = BTreeSet::new();
        let weighed = weigh_own(rows, Arc::clone(&own), &none, at, View::Everyone)?;
        if weighed.refused.is_none() && !nothing_speaks(&weighed) {
            return Ok(own);
        }
    }
    Ok(believed)
}

fn nothing_speaks(belief: &BeliefWithEvidence) -> bool {
    belief.evidence.iter().all(|link| link.silent.is_some())
}

/// The object as it was weighed: as it is believed, or as it waits.
fn as_weighed(
    rows: &mut dyn Read,
    belief: &BeliefWithEvidence,
) -> Result<Option<Arc<ContextObject>>, Error> {
    let id = belief.object_id;
    let is_own = |own: &Arc<ContextObject>| own.revision().id() == belief.revision;
    match current(rows, &[id])?.remove(&id).filter(is_own) {
        Some(own) => Ok(Some(own)),
        None => Ok(pending(rows, id)?.filter(is_own)),
    }
}

/// Returns whether a belief was inferred and waits for a person.
fn waits(rows: &mut dyn Read, belief: &BeliefWithEvidence) -> Result<bool, Error> {
    let waits = |row: &BeliefRow| row.revision == belief.revision && row.waits();
    let standing = rows.standing(&[belief.object_id])?.into_values().next();
    if !standing.is_some_and(|standing| standing.beliefs.iter().any(waits)) {
        return Ok(false);
    }
    let own = as_weighed(rows, belief)?;
    Ok(own.is_some_and(|own| is_inferred(&own)))
}

/// Writes its confidence into a belief that is, with its evidence, as it was read, and theirs into those that it is tied with.
fn revise(
    rows: &mut dyn Write,
    belief: &BeliefWithEvidence,
    at: Instant,
) -> Result<Vec<WrittenObject>, Error> {
    let id = belief.object_id;
    // From here on no other writer comes between.
    let stamp = rows.stamp()?;
    let waits = waits(rows, belief)?;
    let changed = || {
        let what = format!("`{}` or its evidence was changed meanwhile", belief.name);
        Error::new(ErrorKind::Conflict, what)
            .expected(format!(
                "the revision {}, and the same evidence",
                belief.revision
            ))
            .hint("read what is there, and try again")
    };
    let own = as_weighed(rows, belief)?.ok_or_else(changed)?;
    let again = weigh_own(rows, Arc::clone(&own), &BTreeSet::new(), at, View::Everyone);
    if !again.is_ok_and(|again| again == *belief) {
        return Err(changed());
    }
    let all = revised_together(rows, &own, belief, at)?;
    let (mut change, mut sealer) = (Change::default(), Sealer::default());
    let (mut own, mut others) = (None, Vec::new());
    for (of, one) in &all {
        let is_own = *of == id;
        let revision = one.object.revision().id();
        let standing = rows.standing(&[*of])?.remove(of).ok_or_else(changed)?;
        let waits = waits && is_own;
        let name = if waits {
            one.object.name().to_owned()
        } else {
            standing.name.clone()
        };
        let is_written = waits || one.is_changed();
        let written = WrittenObject {
            object_id: *of,
            name: Some(name.clone()),
            revision: Some(revision),
            outcome: Outcome::Unchanged,
            note: None,
        };
        let written = if is_written {
            let new = with_confidence(&mut sealer, &one.object, one.confidence)?;
            let written = WrittenObject {
                revision: Some(new.revision),
                outcome: Outcome::Revised,
                ..written
            };
            if waits {
                believe(&mut change, (*of, name), &standing, stamp, (revision, new));
            } else {
                restate(
                    &mut change,
                    *of,
                    standing,
                    stamp,
                    [(revision, new)].into(),
                    None,
                );
            }
            written
        } else {
            written
        };
        if is_own {
            own = Some(written);
        } else if is_written {
            others.push(written);
        }
    }
    rows.change(&change)?;
    if waits {
        index(rows, &[id])?;
    }
    let written: Vec<WrittenObject> = own.into_iter().chain(others).collect();
    let touched: Vec<ObjectId> = written.iter().map(|one| one.object_id).collect();
    settle_claims(rows, &touched)?;
    Ok(written)
}

/// Believes from now on what waits of an object, as another revision.
fn believe(
    change: &mut Change,
    (id, name): (ObjectId, String),
    standing: &Standing,
    stamp: Stamp,
    (revision, new): (RevisionId, RevisionRow),
) {
    let settlement = confirmed(&standing.beliefs, stamp, |row| {
        (row.revision == revision).then(|| BeliefRow {
            revision: new.revision,
            lifecycle: Lifecycle::Active,
            ..row.clone()
        })
    });
    change.objects.push((id, standing.place, name, new.revision));
    change.revisions.push(new);
    apply(change, &standing.beliefs, settlement);
}
