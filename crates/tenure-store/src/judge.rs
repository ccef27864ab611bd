//! Judgements: whether anything contradicts what is believed, what replaces it, and how far its life has come.

use std::collections::BTreeMap;

use tenure::object::{ContradictionStatus, Lifecycle, ObjectId};
use tenure::{Digest, Error, ErrorKind};

use crate::engine::{BeliefRow, Write};
use crate::evidence::{fallen, judged_with};
use crate::judged::refuse_cycle;
use crate::tenant::rejudge_all;
use crate::tenant::{Expect, Tenant, Writing, Written, WrittenObject, expected};

impl Tenant {
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
        self.once(writing, "judge", asked, move |rows| {
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
