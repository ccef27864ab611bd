//! Judgements: whether anything contradicts what is believed, what replaces it, and how far its life has come.

use std::collections::{BTreeMap, BTreeSet};

use tenure::object::{ContradictionStatus, Lifecycle, ObjectId};
use tenure::{Digest, Error, ErrorKind, ObjectDocument};

use crate::claims::settle_claims;
use crate::engine::{BeliefRow, Change, Stamp, Write};
use crate::evidence::{fallen, judged_with, leaning_on, lower};
use crate::index::index;
use crate::judged::refuse_cycle;
use crate::logs::{Append, append_one};
use crate::settle::{apply, rejudge};
use crate::tenant::Tenant;
use crate::written::{Effect, Expect, Outcome, Writing, Written, WrittenObject, expected};

/// The objects that are believed now and say that they were found in any of these sources.
fn found_in(rows: &mut dyn Write, sources: &BTreeSet<String>) -> Result<Vec<ObjectId>, Error> {
    let mut found = BTreeSet::new();
    rows.each_held(None, &mut |_, row, body| {
        // Most say nothing like it, and are not read.
        if !body.contains("\"source_id\"") {
            return Ok(());
        }
        // What is damaged names no source.
        let document = serde_json::from_str::<ObjectDocument>(body).ok();
        let own = document.and_then(|document| document.provenance?.source_id);
        // What was made of several names them all.
        let named = own.iter().flat_map(|own| own.split(", "));
        if named.map(str::trim).any(|named| sources.contains(named)) {
            found.insert(row.object);
        }
        Ok(())
    })?;
    Ok(found.into_iter().collect())
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
            let at = rows.stamp()?.at;
            let ids = fallen(rows, &[id], at)?;
            rejudge_all(rows, &ids, |_| None).map(Effect::on)
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
        self.once(writing, "judge", asked, move |rows| {
            append_one(rows, &append.log, append.after, &append.entries)?;
            let found = found_in(rows, &sources)?;
            if found.is_empty() {
                return Ok(Vec::new());
            }
            let ids = {
                let at = rows.stamp()?.at;
                judged_with(rows, &found, at)?
            };
            rejudge_all(rows, &ids, |row| {
                Some(BeliefRow {
                    contradiction,
                    ..row.clone()
                })
            })
        })
    }

    /// Says of objects how far their lives have come; of what is archived, what was made from it alone is too.
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

/// Says of these objects how far their lives have come; of what is archived, what was made from it alone is too.
pub(crate) fn age_all(
    rows: &mut dyn Write,
    ids: &[ObjectId],
    lifecycle: Lifecycle,
) -> Result<Vec<WrittenObject>, Error> {
    let all = match lifecycle {
        Lifecycle::Archived => {
            let at = rows.stamp()?.at;
            fallen(rows, ids, at)?
        }
        _ => ids.to_vec(),
    };
    rejudge_all(rows, &all, |row| {
        Some(BeliefRow {
            lifecycle,
            ..row.clone()
        })
    })
}

/// Makes whoever holds these objects in memory read them again: something was decided on them, or counted.
pub(crate) fn touched(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<Vec<WrittenObject>, Error> {
    let (mut change, mut written) = (Change::default(), Vec::new());
    for (id, standing) in rows.standing(ids)? {
        let name = standing.name;
        let object = (id, standing.place, name.clone(), standing.head);
        change.objects.push(object);
        written.push(WrittenObject {
            object_id: id,
            name: Some(name),
            revision: Some(standing.head),
            outcome: Outcome::Judged,
            note: None,
        });
    }
    rows.change(&change)?;
    Ok(written)
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
