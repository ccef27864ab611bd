//! The judgement that a write passes on an object: what contradicts it, what replaces it.

use std::collections::{BTreeMap, BTreeSet};

use tenure::Error;
use tenure::error::ErrorKind;
use tenure::object::{ContradictionStatus, ObjectId};
use tenure::time::Interval;

use crate::rows::engine::{BeliefRow, Standing, Write};
use crate::rows::settle::overlap;
use crate::tenant::alongside::any_believed;

/// A writer's judgement of an object, as far as the writer gives one.
pub(crate) struct Judgement {
    pub(crate) contradiction: Option<ContradictionStatus>,
    pub(crate) superseded_by: Option<ObjectId>,
}

impl Judgement {
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
                let last = all.iter().filter_map(|row| row.closed).max();
                all.retain(|row| row.closed == last);
                all
            }
            _ => Vec::new(),
        };
        let held: Vec<&BeliefRow> = before
            .iter()
            .flat_map(|before| &before.beliefs)
            .filter(|row| overlap(row.valid, valid))
            .chain(&retracted)
            .collect();
        // What only waits says nothing against what is believed.
        let is_believed = any_believed(held.iter().copied());
        let held = held.iter().filter(|row| !is_believed || !row.waits());
        let known = held.max_by_key(|row| (row.contradiction, row.superseded_by.is_some()));
        let contradiction = known.map(|row| row.contradiction);
        let contradiction = self.contradiction.or(contradiction);
        Ok((
            contradiction.unwrap_or(ContradictionStatus::Clean),
            self.superseded_by.or(known.and_then(|row| row.superseded_by)),
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
            let what = format!("`{id}` would replace itself through `{by}`");
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
