//! Judgements: whether anything contradicts what is believed, what replaces it, and how far its life has come.

use std::collections::{BTreeMap, BTreeSet};

use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId};
use tenure::time::Interval;
use tenure::{Digest, Error, ErrorKind, ObjectDocument};

use crate::belief::claims::settle_claims;
use crate::belief::judgement::refuse_cycle;
use crate::belief::support::{evidenced_by, judged_with, lower, with_unsupported};
use crate::rows::engine::{BeliefRow, Change, Read, Stamp, Write};
use crate::rows::labels::Parts;
use crate::rows::settle::{Settlement, apply, confirmed, overlap, rejudge};
use crate::tenant::alongside::{
    any_believed, finds_others, head_after, name_after, only_proposed_from,
};
use crate::tenant::handle::Tenant;
use crate::tenant::index::index;
use crate::tenant::logs::{Append, append_one};
use crate::tenant::writing::{Effect, Expect, Outcome, Writing, Written, WrittenObject, expected};

/// Returns whether the body of a revision says that it was found in any of these sources.
fn names_any(body: &str, sources: &BTreeSet<String>) -> bool {
    // Most say nothing like it, and are not read.
    if !body.contains("\"source_id\"") {
        return false;
    }
    // What is damaged names no source.
    let document = serde_json::from_str::<ObjectDocument>(body).ok();
    let own = document.and_then(|document| document.provenance?.source_id);
    // What was made of several names them all.
    let mut named = own.iter().flat_map(|own| own.split(", "));
    named.any(|named| sources.contains(named.trim()))
}

/// The objects of which something names any of these sources, at a version.
struct FoundIn {
    version: u64,
    found: BTreeSet<ObjectId>,
}

/// The objects that say that they were found in any of these sources.
#[derive(Default)]
struct Named {
    /// Those of which something says so that is believed now, or that waits where nothing is.
    held: Vec<ObjectId>,
    /// Those of which only what waits beside what is believed says so.
    proposed: BTreeSet<ObjectId>,
}

impl FoundIn {
    /// Looks at all that is held: no index has the sources.
    fn read(rows: &mut dyn Read, sources: &BTreeSet<String>) -> Result<FoundIn, Error> {
        let version = rows.version()?;
        let mut found = BTreeSet::new();
        rows.each_held(None, &mut |_, row, body| {
            if names_any(body, sources) {
                found.insert(row.object);
            }
            Ok(())
        })?;
        Ok(FoundIn { version, found })
    }

    /// Those that are so now: beside them, only what was written since is looked at.
    fn now(&self, rows: &mut dyn Read, sources: &BTreeSet<String>) -> Result<Named, Error> {
        let mut ids = self.found.clone();
        ids.extend(rows.changed_since(self.version)?);
        let ids: Vec<ObjectId> = ids.into_iter().collect();
        let standing = rows.standing(&ids)?;
        let beliefs = standing.values().flat_map(|standing| &standing.beliefs);
        let bodies = rows.bodies(&beliefs.collect::<Vec<_>>())?;
        let says_so = |row: &BeliefRow| {
            bodies.get(&row.revision).is_some_and(|body| names_any(body, sources))
        };
        let mut named = Named::default();
        for (id, standing) in &standing {
            let is_believed = any_believed(&standing.beliefs);
            let (mut said, mut proposed) = (false, false);
            for row in standing.beliefs.iter().filter(|row| says_so(row)) {
                let beside = is_believed && row.waits();
                *(if beside { &mut proposed } else { &mut said }) = true;
            }
            if said {
                named.held.push(*id);
            } else if proposed {
                named.proposed.insert(*id);
            }
        }
        Ok(named)
    }
}

impl Tenant {
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
        self.once_with_effect(writing, "retract", asked, move |rows| {
            expected(rows, id, expect)?;
            retract_all(rows, id).map(Effect::on)
        })
    }

    /// Judges what is believed of an object now: whether anything contradicts it, and what replaces it. A judgement
    /// stays over later writes that say nothing of it. What was inferred from it alone is judged so, too, and stays so until
    /// it is judged otherwise; other beliefs that it was evidence for are lowered.
    ///
    /// # Errors
    ///
    /// As [`Tenant::retract`]; [`ErrorKind::Conflict`](tenure::ErrorKind::Conflict) when objects would replace each other in a cycle.
    pub fn judge(
        &self,
        id: ObjectId,
        contradiction: ContradictionStatus,
        superseded_by: Option<ObjectId>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let by = superseded_by.map_or(0, ObjectId::bits);
        let asked = Digest::of(format!("{id} {contradiction} {by}").as_bytes());
        self.once_with_effect(writing, "judge", asked, move |rows| {
            expected(rows, id, Expect::Any)?;
            if let Some(by) = superseded_by {
                // The call is about the other; this one is what it was given.
                expected(rows, by, Expect::Any).map_err(|error| Error {
                    kind: ErrorKind::Input,
                    ..error
                })?;
                refuse_cycle(rows, id, by, &BTreeMap::new())?;
            }
            let ids = match contradiction {
                ContradictionStatus::Clean => vec![id],
                _ => {
                    let at = rows.stamp()?.at;
                    judged_with(rows, &[id], at)?
                }
            };
            rejudge_all(rows, &ids, |row| {
                Some(BeliefRow {
                    contradiction,
                    superseded_by: if row.object == id {
                        superseded_by
                    } else {
                        row.superseded_by
                    },
                    ..row.clone()
                })
            })
            .map(Effect::on)
        })
    }

    /// Appends to a log that something was judged which is no object of the store, and judges so, in the same transaction,
    /// what the store holds as found there (`provenance.source_id`), with what was inferred from that alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when another writer appended to the log meanwhile;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached. Nothing is written then.
    pub fn judge_found_in(
        &self,
        append: Append,
        sources: BTreeSet<String>,
        contradiction: ContradictionStatus,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let mut asked = append.entries.clone();
        asked.push(append.log.clone());
        let asked = Digest::of_parts(asked.iter().map(String::as_bytes));
        // The long look holds up no other writer.
        let before = self.read(|rows| FoundIn::read(rows, &sources))?;
        self.once(writing, "judge", asked, move |rows| {
            append_one(rows, &append.log, append.after, &append.entries)?;
            let Named { held, proposed } = before.now(rows, &sources)?;
            if held.is_empty() && proposed.is_empty() {
                return Ok(Vec::new());
            }
            let at = rows.stamp()?.at;
            let mut ids: BTreeSet<ObjectId> = judged_with(rows, &held, at)?.into_iter().collect();
            let proposed = &proposed - &ids;
            ids.extend(&proposed);
            let ids: Vec<ObjectId> = ids.into_iter().collect();
            rejudge_all(rows, &ids, |row| {
                let stays = proposed.contains(&row.object) && !row.waits();
                Some(BeliefRow {
                    contradiction: if stays {
                        row.contradiction
                    } else {
                        contradiction
                    },
                    ..row.clone()
                })
            })
        })
    }

    /// Says of objects how far their lives have come; of what is archived or waits for a person, what was made from it does, too.
    ///
    /// # Errors
    ///
    /// As [`Tenant::retract`].
    pub fn age(
        &self,
        ids: Vec<ObjectId>,
        lifecycle: Lifecycle,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
        let asked = Digest::of(format!("{lifecycle} {}", named.join(" ")).as_bytes());
        self.once(writing, lifecycle.term(), asked, move |rows| {
            for id in &ids {
                expected(rows, *id, Expect::Any)?;
            }
            age_all(rows, &ids, lifecycle)
        })
    }
}

/// Says of these objects how far their lives have come; of what is archived or waits for a person, what was made from it does, too.
pub(crate) fn age_all(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    lifecycle: Lifecycle,
) -> Result<Vec<WrittenObject>, Error> {
    let all = match lifecycle {
        Lifecycle::Archived | Lifecycle::AwaitingConfirmation => {
            let at = rows.stamp()?.at;
            with_unsupported(rows, ids, at)?
        }
        _ => ids.to_vec(),
    };
    if lifecycle == Lifecycle::Active {
        return activate(rows, &all, &Parts::default());
    }
    let mut written = resettle_all(rows, &all, |beliefs, stamp| {
        let is_believed = any_believed(beliefs);
        let waiting: Vec<Interval> =
            beliefs.iter().filter(|row| row.waits()).map(|row| row.valid).collect();
        rejudge(beliefs, stamp, |row| {
            // What waits beside it goes on waiting, and what would wait in the place of that stays as it is.
            let stays = is_believed
                && (row.waits()
                    || (lifecycle == Lifecycle::AwaitingConfirmation
                        && waiting.iter().any(|time| overlap(*time, row.valid))));
            Some(BeliefRow {
                lifecycle: if stays { row.lifecycle } else { lifecycle },
                ..row.clone()
            })
        })
    })?;
    if lifecycle == Lifecycle::Archived {
        written.extend(drop_proposed_from(rows, &all)?);
    }
    Ok(written)
}

/// Retracts an object, and everything that falls with it.
pub(crate) fn retract_all(rows: &mut dyn Write, id: ObjectId) -> Result<Vec<WrittenObject>, Error> {
    let at = rows.stamp()?.at;
    let ids = with_unsupported(rows, &[id], at)?;
    let mut written = rejudge_all(rows, &ids, |_| None)?;
    written.extend(drop_proposed_from(rows, &ids)?);
    Ok(written)
}

/// Ends what waits beside what is believed, and was made from any of these objects, which are gone.
fn drop_proposed_from(
    rows: &mut dyn Write,
    gone: &[ObjectId],
) -> Result<Vec<WrittenObject>, Error> {
    let parents: BTreeSet<ObjectId> = gone.iter().copied().collect();
    let children: Vec<ObjectId> = rows
        .children(gone)?
        .into_iter()
        .filter(|child| !parents.contains(child))
        .collect();
    let proposed = only_proposed_from(rows, &children, &parents)?;
    if proposed.is_empty() {
        return Ok(Vec::new());
    }
    let of: Vec<ObjectId> = proposed.keys().copied().collect();
    let mut written = rejudge_all(rows, &of, |row| {
        let made = proposed.get(&row.object).is_some_and(|made| made.contains(&row.revision));
        (!row.waits() || !made).then(|| row.clone())
    })?;
    // What was rejected before has ended.
    written.retain(|one| one.outcome != Outcome::Unchanged);
    Ok(written)
}

/// Makes whoever holds these objects in memory read them again: something was decided on them, or counted.
pub(crate) fn touched(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<Vec<WrittenObject>, Error> {
    let mut change = Change::default();
    let objects = rows
        .standing(ids)?
        .into_iter()
        .map(|(id, standing)| (id, standing.place, standing.name, standing.head));
    change.objects.extend(objects);
    rows.change(&change)?;
    let mut written = left_alone(rows, ids)?;
    for one in &mut written {
        one.outcome = Outcome::Judged;
    }
    Ok(written)
}

/// These objects as they are, in the answer of a write that changes nothing in them.
pub(crate) fn left_alone(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<WrittenObject>, Error> {
    let standing = rows.standing(ids)?.into_iter();
    let objects = standing.map(|(id, standing)| WrittenObject {
        object_id: id,
        name: Some(standing.name),
        revision: Some(standing.head),
        outcome: Outcome::Unchanged,
        note: None,
    });
    Ok(objects.collect())
}

/// Makes what waits of these objects, and what was retired, believed: these parts of them.
pub(crate) fn activate(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    parts: &Parts,
) -> Result<Vec<WrittenObject>, Error> {
    resettle_all(rows, ids, |beliefs, stamp| {
        confirmed(beliefs, stamp, |row| {
            parts.have(row).then(|| BeliefRow {
                lifecycle: Lifecycle::Active,
                ..row.clone()
            })
        })
    })
}

/// Judges what is believed of these objects, and what waits.
pub(crate) fn rejudge_all(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    judge: impl Fn(&BeliefRow) -> Option<BeliefRow>,
) -> Result<Vec<WrittenObject>, Error> {
    resettle_all(rows, ids, |beliefs, stamp| rejudge(beliefs, stamp, &judge))
}

/// Settles anew what is believed of these objects.
pub(crate) fn resettle_all(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    settled: impl Fn(&[BeliefRow], Stamp) -> Settlement,
) -> Result<Vec<WrittenObject>, Error> {
    let stamp: Stamp = rows.stamp()?;
    let mut change = Change::default();
    let mut written = Vec::new();
    let (mut unsaid, mut fell, mut back) = (Vec::new(), Vec::new(), Vec::new());
    for (id, standing) in rows.standing(ids)? {
        let settlement = settled(&standing.beliefs, stamp);
        if finds_others(&settlement, &standing.beliefs) {
            unsaid.push(id);
        }
        let head = head_after(&standing, &settlement);
        let name = name_after(rows, &standing, head)?;
        let ended: BTreeSet<RevisionId> = settlement
            .close
            .iter()
            .map(|at| &standing.beliefs[*at])
            .filter(|row| row.speaks())
            .map(|row| row.revision)
            .collect();
        let mut begun = settlement.open.iter().filter(|row| row.speaks()).peekable();
        if !ended.is_empty() && begun.peek().is_none() {
            fell.push(id);
        }
        if begun.any(|row| !ended.contains(&row.revision)) {
            back.push(id);
        }
        let outcome = if settlement.close.is_empty() {
            Outcome::Unchanged
        } else {
            change.objects.push((id, standing.place, name.clone(), head));
            Outcome::Judged
        };
        apply(&mut change, &standing.beliefs, settlement);
        written.push(WrittenObject {
            object_id: id,
            name: Some(name),
            revision: Some(head),
            outcome,
            note: None,
        });
    }
    rows.change(&change)?;
    index(rows, &unsaid)?;
    let leaning = evidenced_by(rows, &fell)?;
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tenure::object::Provenance;

    use super::*;
    use crate::tenant::store::Store;
    use crate::tenant::writing::Put;

    #[test]
    fn what_is_written_after_the_look_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("store.db").display());
        let tenant = Store::open(&url).unwrap().tenant("acme").unwrap();
        let put = |name: &str, source: &str| {
            let provenance = Provenance {
                source_id: Some(source.into()),
                ..Provenance::default()
            };
            let document = ObjectDocument {
                provenance: Some(provenance),
                ..ObjectDocument::named(name, format!("{name} of {source}"))
            };
            let written = tenant.put(vec![Put::new(document)], &Writing::default());
            written.unwrap().objects[0].object_id
        };
        let [stays, leaves, gone, erased] =
            ["stays", "leaves", "gone", "erased"].map(|name| put(name, "turn 7, turn 8"));
        let later = put("later", "turn 1");
        let sources = BTreeSet::from(["turn 8".to_owned()]);
        let before = tenant.read(|rows| FoundIn::read(rows, &sources)).unwrap();
        assert_eq!(before.found, [stays, leaves, gone, erased].into());
        put("leaves", "turn 1");
        put("later", "turn 8");
        let quietly = Writing::default();
        tenant.retract(gone, Expect::Any, &quietly).unwrap();
        tenant.erase(vec![erased], &quietly).unwrap();
        let now = tenant.read(|rows| before.now(rows, &sources)).unwrap();
        assert_eq!(BTreeSet::from_iter(now.held), [stays, later].into());
    }
}
