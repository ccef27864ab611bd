//! Confirming and rejecting what waits for a person: what a person says still holds, holds after all, or does not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::{Ground, Loser, SlotClaim};
use tenure::object::{ObjectId, Usage, clip};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ErrorKind};

use crate::belief::claims::{Kept, judged, pair_row, slot_key};
use crate::belief::empty_slots::{OnSlot, is_empty_slot, nothing_would_stand};
use crate::belief::judge::{activate, rejudge_all, retract_all, touched};
use crate::belief::user_stated::{UserStated, in_place_of};
use crate::entity::resolution::resolve_written;
use crate::pending::outcomes::refuse_proposed;
use crate::rows::engine::{BeliefRow, PairRow, Write};
use crate::rows::labels::{Parts, Sees};
use crate::rows::notes::{WriteNote, note_mentions};
use crate::tenant::alongside::unbound;
use crate::tenant::current::all_pending;
use crate::tenant::handle::Tenant;
use crate::tenant::writing::{Expect, Outcome, Writing, Written, WrittenObject, check, expected};

impl Tenant {
    /// Records that these objects were confirmed: they are young again, and none waits for confirmation. What waited takes the
    /// place of what is believed of the object for its time, as if it were written now; what was inferred, and waited because a
    /// preference says otherwise, takes the place of that, too.
    ///
    /// # Errors
    ///
    /// As [`Tenant::age`]; [`ErrorKind::Conflict`] when one of them is an outcome that is only proposed, and when what was
    /// inferred would take the place of a preference so that no claim of its slot stands.
    pub fn confirm(
        &self,
        ids: Vec<ObjectId>,
        at: Instant,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.confirmed(ids, at, (Expect::Any, Parts::default()), None, writing)
    }

    /// Confirms what waits for a person, and of that those parts alone that a caller may see: what is hidden stays
    /// as it is, as if it did not wait. Errors name what the caller may see.
    ///
    /// # Errors
    ///
    /// As [`Tenant::confirm`]; [`ErrorKind::Conflict`] when nothing of it waits that the caller may see; [`ErrorKind::Input`]
    /// when it is an outcome that is only proposed.
    pub fn confirm_waiting(
        &self,
        id: ObjectId,
        at: Instant,
        sees: Option<&Sees<'_>>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.confirm_seen(id, at, (Expect::Waiting, sees), writing)
    }

    /// Confirms an object that is in an expected state; with [`Expect::Since`], what the caller may see of what waits
    /// was last written or judged then; with [`Expect::Proposed`], that revision alone is confirmed, and what else
    /// waits goes on waiting.
    ///
    /// # Errors
    ///
    /// As [`Tenant::confirm_waiting`]; [`ErrorKind::Conflict`] when it is not what was expected.
    pub fn confirm_seen(
        &self,
        id: ObjectId,
        at: Instant,
        (expect, sees): (Expect, Option<&Sees<'_>>),
        writing: &Writing,
    ) -> Result<Written, Error> {
        let parts = self.read(|rows| Parts::of(rows, &self.name, id, sees))?;
        let expected = (expect, parts.of_revision(expect.proposed()));
        self.confirmed(vec![id], at, expected, sees, writing)
    }

    /// Says that what waits of an object does not hold: it is retracted. What is believed of the object stays as it is; where
    /// nothing is, everything made from it is retracted, too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when it does not wait, or is not what was expected; [`ErrorKind::Input`] when it is an outcome
    /// that is only proposed; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn reject_waiting(
        &self,
        id: ObjectId,
        expect: Expect,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.reject_seen(id, (expect, None), writing)
    }

    /// Rejects those parts of an object alone that wait, and that a caller may see: what is hidden stays as it is, as
    /// if it did not wait. With [`Expect::Proposed`], that revision alone is rejected.
    ///
    /// # Errors
    ///
    /// As [`Tenant::reject_waiting`]; [`ErrorKind::Conflict`] when nothing of it waits that the caller may see.
    pub fn reject_seen(
        &self,
        id: ObjectId,
        (expect, sees): (Expect, Option<&Sees<'_>>),
        writing: &Writing,
    ) -> Result<Written, Error> {
        let asked = asked(&[id], expect);
        let parts = self
            .read(|rows| Parts::of(rows, &self.name, id, sees))?
            .of_revision(expect.proposed());
        self.once(writing, "reject", asked, move |rows| {
            if expect.proposed().is_none() {
                expected_to_wait(rows, id, Expect::Waiting, &parts)?;
            }
            expected_to_wait(rows, id, expect, &parts)?;
            refuse_outcomes(rows, &[id], Expect::Waiting)?;
            let standing = rows.standing(&[id])?.remove(&id);
            let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
            let ends = |row: &BeliefRow| row.waits() && parts.have(row);
            if !beliefs.iter().all(ends) {
                return rejudge_all(rows, &[id], |row| (!ends(row)).then(|| row.clone()));
            }
            retract_all(rows, id)
        })
    }

    fn confirmed(
        &self,
        mut ids: Vec<ObjectId>,
        at: Instant,
        (expect, parts): (Expect, Parts),
        sees: Option<&Sees<'_>>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let mut known = BTreeSet::new();
        ids.retain(|id| known.insert(*id));
        let asked = asked(&ids, expect);
        let by = writing.author.clone();
        let (tenant, entities) = (Arc::clone(&self.name), Arc::clone(&self.known));
        let done = self.once_unless(writing, "confirm", asked, move |rows| {
            for id in &ids {
                expected_to_wait(rows, *id, expect, &parts)?;
            }
            refuse_outcomes(rows, &ids, expect)?;
            refuse_gone(rows, &ids)?;
            let now = rows.stamp()?.at;
            let mut replaced: BTreeMap<ObjectId, Vec<UserStated>> = BTreeMap::new();
            for id in &ids {
                let mut stated = Vec::new();
                for own in all_pending(rows, *id, &parts)? {
                    stated.append(&mut in_place_of(rows, &own, now)?);
                }
                take_place(rows, *id, &stated, by.as_deref())?;
                replaced.insert(*id, stated);
            }
            let unbound = unbound(rows, &ids, |row| parts.have(row))?;
            let mut written = believe(rows, &ids, at, &parts)?;
            let unbound: Vec<&ContextObject> = unbound.iter().map(|object| &**object).collect();
            let mut notes = resolve_written(rows, &tenant, &entities, &unbound)?;
            for one in &mut written {
                if let Some(found) = notes.remove(&one.object_id) {
                    note_mentions(&mut one.note, found);
                }
            }
            for (id, stated) in &replaced {
                if let Some(found) = refusal(rows, *id, stated)? {
                    return Ok(Err(found));
                }
            }
            let others: BTreeSet<ObjectId> = replaced
                .values()
                .flatten()
                .map(|one| one.object)
                .filter(|id| !ids.contains(id))
                .collect();
            written.extend(touched(rows, &others.into_iter().collect::<Vec<_>>())?);
            Ok(Ok(written))
        })?;
        match done {
            Ok(written) => Ok(written),
            Err(refused) => Err(self.told_of(&refused, sees)?),
        }
    }

    /// The error of a refused confirmation, which names what the caller may see.
    fn told_of(&self, refused: &Refused, sees: Option<&Sees<'_>>) -> Result<Error, Error> {
        let names = self.names_seen(&refused.decide, sees)?;
        let [one, other] = refused.decide.map(|id| names.get(&id));
        let (Some(one), Some(other)) = (one, other) else {
            return Ok(nothing_would_stand("confirmation"));
        };
        let slot = clip(&refused.slot);
        let what = format!("after this confirmation no claim on `{slot}` would stand");
        Ok(Error::new(ErrorKind::Conflict, what)
            .expected("a claim that stands, or one that waits for a decision")
            .hint(format!("decide between `{one}` and `{other}` first")))
    }
}

/// The digest of what is asked for.
fn asked(ids: &[ObjectId], expect: Expect) -> Digest {
    let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
    let mut asked = named.join(" ");
    if let Some(revision) = expect.proposed() {
        asked.push_str(&format!(" {revision}"));
    }
    Digest::of(asked.as_bytes())
}

/// Checks that an object is as a person expects who decides on what waits of it. What they may not see does not wait for them; of
/// several parts, it waits so since the last of them came.
fn expected_to_wait(
    rows: &mut dyn Write,
    id: ObjectId,
    expect: Expect,
    parts: &Parts,
) -> Result<(), Error> {
    if !matches!(
        expect,
        Expect::Waiting | Expect::Since(_) | Expect::Proposed(_)
    ) {
        return expected(rows, id, expect);
    }
    let mut standing = rows.standing(&[id])?.remove(&id);
    let mut name = id.to_string();
    if let Some(one) = &mut standing {
        let mut heads = one.beliefs.iter().filter(|row| row.revision == one.head);
        if heads.all(|row| parts.show(row)) {
            name.clone_from(&one.name);
        }
        one.beliefs.retain(|row| row.waits() && parts.show(row));
        if matches!(expect, Expect::Since(_)) {
            let last = one.beliefs.iter().map(|row| row.opened).max();
            one.beliefs.retain(|row| Some(row.opened) == last);
        }
    }
    check(&expect, &name, standing.as_ref())
}

/// Refuses outcomes that are only proposed. Who decides on what waits is told that these are decided on elsewhere.
fn refuse_outcomes(rows: &mut dyn Write, ids: &[ObjectId], expect: Expect) -> Result<(), Error> {
    let refused = refuse_proposed(rows, ids);
    refused.map_err(|error| match (error.kind, expect) {
        (ErrorKind::Conflict, Expect::Waiting | Expect::Proposed(_)) => Error {
            kind: ErrorKind::Input,
            ..error
        }
        .expected("what was inferred, or is too old")
        .hint("`tenure outcome`, or POST /api/v1/outcomes/decision, accepts it or rejects it"),
        _ => error,
    })
}

/// Refuses objects of which nothing is believed, and nothing waits.
fn refuse_gone(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<(), Error> {
    let standing = rows.standing(ids)?;
    standing.values().find(|one| one.beliefs.is_empty()).map_or(Ok(()), |gone| {
        let what = format!("nothing is believed of `{}` now", clip(&gone.name));
        Err(Error::new(ErrorKind::Conflict, what)
            .expected("an object that is believed, or waits for a person")
            .hint("it was retracted: write it again to believe it"))
    })
}

/// Decides for something inferred, and against the preferences that say otherwise: a person confirmed it. It is to be believed
/// in the same write, after this.
fn take_place(
    rows: &mut dyn Write,
    id: ObjectId,
    stated: &[UserStated],
    by: Option<&str>,
) -> Result<(), Error> {
    let Some(key) = rows.key()?.filter(|_| !stated.is_empty()) else {
        return Ok(());
    };
    let stamp = rows.stamp()?;
    let known = rows.pairs(Some(&[id]), None)?;
    // Both may say so of several times: they are one pair on each slot.
    let mut parts: BTreeMap<(ObjectId, &str, &str), Vec<&UserStated>> = BTreeMap::new();
    for one in stated {
        let of = (one.object, one.entity.as_str(), one.own.claim.slot());
        parts.entry(of).or_default().push(one);
    }
    let (mut close, mut open) = (Vec::new(), Vec::new());
    for ((object, entity, slot), parts) in &parts {
        let (first, second) = (id.min(*object), id.max(*object));
        let slot = slot_key(&key, entity, slot);
        let theirs: Vec<(&str, &SlotClaim)> =
            parts.iter().map(|one| (*entity, &one.their)).collect();
        let ours: Vec<(&str, &SlotClaim)> = parts.iter().map(|one| (*entity, &one.own)).collect();
        let (loser, kept) = if first == id {
            (Loser::Second, judged(&ours, &theirs))
        } else {
            (Loser::First, judged(&theirs, &ours))
        };
        let Some(kept) = kept else { continue };
        let decided = Kept {
            loser,
            ground: Ground::Person,
            by: by.map(str::to_owned),
            ..kept
        };
        let row = PairRow {
            first,
            second,
            slot,
            opened: stamp,
            closed: None,
            body: String::new(),
        };
        let same = |row: &&PairRow| (row.first, row.second, row.slot) == (first, second, slot);
        close.extend(known.iter().filter(same).cloned());
        open.push(pair_row(&row, &decided)?);
    }
    rows.change_pairs(&close, &open)
}

/// Makes these parts of objects active, and all of the objects as young as what is confirmed at this instant.
fn believe(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    at: Instant,
    parts: &Parts,
) -> Result<Vec<WrittenObject>, Error> {
    let usage = Usage {
        last_confirmed: Some(at),
        ..Usage::default()
    };
    let counted: Vec<(ObjectId, Usage)> = ids.iter().map(|id| (*id, usage)).collect();
    rows.count(&counted)?;
    // What was not waiting is younger, too.
    touched(rows, ids)?;
    let mut written = activate(rows, ids, parts)?;
    for one in &mut written {
        if one.outcome == Outcome::Unchanged {
            one.note = Some(WriteNote::Renewed);
        }
    }
    Ok(written)
}

/// The reason for which a confirmation is refused: no claim on a slot would stand.
struct Refused {
    slot: String,
    /// The two between which something is to be decided first.
    decide: [ObjectId; 2],
}

/// The reason against what was just confirmed in the place of these preferences, if there is one.
fn refusal(
    rows: &mut dyn Write,
    id: ObjectId,
    stated: &[UserStated],
) -> Result<Option<Refused>, Error> {
    let objects: BTreeSet<ObjectId> = stated.iter().map(|one| one.object).collect();
    let slots = stated.iter().map(|one| (one.entity.as_str(), one.own.claim.slot()));
    for (entity, slot) in slots.collect::<BTreeSet<_>>() {
        let found = left_bare(rows, id, &objects, (entity, slot))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The refusal of what was just confirmed if, at an instant at which it holds, nothing of its slot stands and nothing waits: of
/// the claims that the store compares, whoever may see them.
fn left_bare(
    rows: &mut dyn Write,
    id: ObjectId,
    stated: &BTreeSet<ObjectId>,
    (entity, slot): (&str, &str),
) -> Result<Option<Refused>, Error> {
    let mut members = stated.clone();
    members.insert(id);
    let on_slot = OnSlot::read(rows, &[entity.to_owned()], slot, members)?;
    for at in on_slot.instants(&[id]) {
        let held = on_slot.at(at);
        let lost = on_slot.defeats(&held, at, &on_slot.decisions);
        if !is_empty_slot(held.len(), &lost) {
            continue;
        }
        // It cannot be decided on yet: what it falls to can, and that falls to another.
        let own = (0..held.len()).find(|place| on_slot.ids[held[*place]] == id);
        let by = |place: usize| lost.get(&place).map(|defeat| defeat.by);
        if let Some(wins) = own.and_then(by)
            && let Some(over) = by(wins)
        {
            return Ok(Some(Refused {
                decide: [wins, over].map(|place| on_slot.ids[held[place]]),
                slot: slot.to_owned(),
            }));
        }
    }
    Ok(None)
}
