//! Confirming: what a person says still holds, or holds after all.

use std::collections::BTreeSet;

use tenure::belief::{Ground, Loser};
use tenure::object::{Lifecycle, ObjectId, Usage};
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::claims::{Kept, judged, pair_row, slot_key};
use crate::engine::{BeliefRow, Change, PairRow, Write};
use crate::held::held_or_waiting;
use crate::judge::rejudge_all;
use crate::outcomes::refuse_proposed;
use crate::stated::{Stated, in_place_of};
use crate::tenant::Tenant;
use crate::written::{Expect, Outcome, Writing, Written, WrittenObject, expected};

impl Tenant {
    /// Records that these objects were confirmed: they are young again, and none waits for confirmation. What was inferred, and
    /// waited because a preference says otherwise, takes the place of that.
    ///
    /// # Errors
    ///
    /// As [`Tenant::age`].
    pub fn confirm(
        &self,
        ids: Vec<ObjectId>,
        at: Instant,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.confirm_expected(ids, at, Expect::Any, writing)
    }

    /// The same of objects that are in an expected state.
    ///
    /// # Errors
    ///
    /// As [`Tenant::confirm`]; [`ErrorKind::Conflict`](tenure::ErrorKind::Conflict) when one of them is not what was expected.
    pub fn confirm_expected(
        &self,
        ids: Vec<ObjectId>,
        at: Instant,
        expect: Expect,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
        let usage = Usage {
            last_confirmed: Some(at),
            ..Usage::default()
        };
        let by = writing.author.clone();
        self.once(
            writing,
            "confirm",
            Digest::of(named.join(" ").as_bytes()),
            move |rows| {
                for id in &ids {
                    expected(rows, *id, expect)?;
                }
                refuse_proposed(rows, &ids)?;
                let mut replaced = Vec::new();
                for id in &ids {
                    let Some(own) = held_or_waiting(rows, *id)? else {
                        continue;
                    };
                    let now = rows.stamp()?.at;
                    let stated = in_place_of(rows, &own, now)?;
                    replaced.extend(take_place(rows, *id, &stated, by.as_deref())?);
                }
                let counted: Vec<(ObjectId, Usage)> = ids.iter().map(|id| (*id, usage)).collect();
                rows.count(&counted)?;
                // What was not waiting is younger, too.
                let standing = rows.standing(&ids)?.into_iter();
                let younger = standing.map(|(id, held)| (id, held.place, held.name, held.head));
                rows.change(&Change {
                    objects: younger.collect(),
                    ..Change::default()
                })?;
                let mut written = rejudge_all(rows, &ids, |row| {
                    Some(BeliefRow {
                        lifecycle: Lifecycle::Active,
                        ..row.clone()
                    })
                })?;
                replaced.retain(|one| !ids.contains(&one.object_id));
                written.extend(replaced);
                Ok(written)
            },
        )
    }
}

/// Decides for something inferred, and against the preferences that say otherwise: a person confirmed it. It is to be believed
/// in the same write, after this.
fn take_place(
    rows: &mut dyn Write,
    id: ObjectId,
    stated: &[Stated],
    by: Option<&str>,
) -> Result<Vec<WrittenObject>, Error> {
    let Some(key) = rows.key()?.filter(|_| !stated.is_empty()) else {
        return Ok(Vec::new());
    };
    let stamp = rows.stamp()?;
    let known = rows.pairs(Some(&[id]), None)?;
    let (mut close, mut open) = (Vec::new(), Vec::new());
    for one in stated {
        let (first, second) = (id.min(one.object), id.max(one.object));
        let slot = slot_key(&key, &one.entity, one.own.claim.slot());
        let (ours, theirs) = ([(&*one.entity, &one.own)], [(&*one.entity, &one.their)]);
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
    rows.change_pairs(&close, &open)?;
    let ids: BTreeSet<ObjectId> = stated.iter().map(|one| one.object).collect();
    let (mut change, mut written) = (Change::default(), Vec::new());
    for (id, standing) in rows.standing(&ids.into_iter().collect::<Vec<_>>())? {
        // Whoever holds what is believed in memory reads it again.
        change
            .objects
            .push((id, standing.place, standing.name.clone(), standing.head));
        written.push(WrittenObject {
            object_id: id,
            name: Some(standing.name),
            revision: Some(standing.head),
            outcome: Outcome::Judged,
            note: None,
        });
    }
    rows.change(&change)?;
    Ok(written)
}
