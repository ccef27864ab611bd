//! Judgements: whether anything contradicts what is believed, what replaces it, and how far its life has come.

use std::collections::{BTreeMap, BTreeSet};

use tenure::error::ErrorKind;
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId};
use tenure::time::Interval;
use tenure::{Digest, Error};

use crate::engine::{BeliefRow, Change, Stamp, Standing, Write};
use crate::settle::{overlap, rejudge};
use crate::tenant::{
    Expect, Outcome, Tenant, Writing, Written, WrittenObject, apply, expected, with_descendants,
};

impl Tenant {
    /// Judges what is believed of an object now: whether anything contradicts it, and what replaces it. A judgement
    /// stays over later writes that say nothing of it.
    ///
    /// # Errors
    ///
    /// As [`Tenant::retract`]; [`ErrorKind::Conflict`] when objects would replace each other in a cycle.
    pub fn judge(
        &self,
        id: ObjectId,
        contradiction: ContradictionStatus,
        superseded_by: Option<ObjectId>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let by = superseded_by.map_or(0, ObjectId::bits);
        let asked = Digest::of(format!("{id} {contradiction} {by}").as_bytes());
        self.once(writing, "judge", asked, move |rows| {
            expected(rows, id, Expect::Any)?;
            if let Some(by) = superseded_by {
                expected(rows, by, Expect::Any)?;
                refuse_cycle(rows, id, by, &BTreeMap::new())?;
            }
            rejudge_all(rows, &[id], |row| {
                Some(BeliefRow {
                    contradiction,
                    superseded_by,
                    ..row.clone()
                })
            })
        })
    }

    /// Says of objects and of everything made from them how far their lives have come.
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
            let all = match lifecycle {
                Lifecycle::Archived => with_descendants(rows, &ids)?,
                _ => ids.clone(),
            };
            rejudge_all(rows, &all, |row| {
                Some(BeliefRow {
                    lifecycle,
                    ..row.clone()
                })
            })
        })
    }
}

/// What a writer says of how an object is judged, where the writer says anything of it.
pub(crate) struct Judged {
    pub(crate) contradiction: Option<ContradictionStatus>,
    pub(crate) superseded_by: Option<ObjectId>,
}

impl Judged {
    /// The judgement on what is written: what the writer says, or else what was judged before of that time. Only who
    /// says so makes clean what was not.
    pub(crate) fn over(
        &self,
        rows: &mut dyn Write,
        id: ObjectId,
        valid: Interval,
        before: Option<&Standing>,
    ) -> Result<(ContradictionStatus, Option<ObjectId>), Error> {
        let retracted = match before {
            // What was retracted is judged as it was then, for whatever time.
            Some(before) if before.beliefs.is_empty() => {
                let mut all = rows.history(id)?;
                let last = all
                    .iter()
                    .filter_map(|row| row.closed)
                    .max_by_key(|end| end.version);
                all.retain(|row| row.closed == last);
                all
            }
            _ => Vec::new(),
        };
        let held = before.iter().flat_map(|before| &before.beliefs);
        let held = held
            .filter(|row| overlap(row.valid, valid))
            .chain(&retracted);
        let known = held.max_by_key(|row| (row.contradiction, row.superseded_by.is_some()));
        let contradiction = known.map(|row| row.contradiction);
        let contradiction = self.contradiction.or(contradiction);
        Ok((
            contradiction.unwrap_or(ContradictionStatus::Clean),
            self.superseded_by
                .or(known.and_then(|row| row.superseded_by)),
        ))
    }
}

/// Refuses a judgement after which objects would replace each other in a cycle. `fresh` is what the same write says.
pub(crate) fn refuse_cycle(
    rows: &mut dyn Write,
    id: ObjectId,
    by: ObjectId,
    fresh: &BTreeMap<ObjectId, ObjectId>,
) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    let mut open = vec![by];
    while let Some(at) = open.pop() {
        if at == id {
            let what = format!("`{id}` would replace itself by way of `{by}`");
            return Err(Error::new(ErrorKind::Conflict, what)
                .expected("an object that it does not replace")
                .hint("judge the other one first"));
        }
        if !seen.insert(at) {
            continue;
        }
        match fresh.get(&at) {
            Some(next) => open.push(*next),
            // At another time, something else may replace it.
            None => {
                let standing = rows.standing(&[at])?.remove(&at);
                let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
                open.extend(beliefs.iter().filter_map(|row| row.superseded_by));
            }
        }
    }
    Ok(())
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
    for (id, standing) in rows.standing(ids)? {
        let settlement = rejudge(&standing.beliefs, stamp, &judge);
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
        });
    }
    rows.change(&change)?;
    Ok(written)
}
