//! The state that travels through the stages: the rows that are still in, and the verdicts on the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::belief::about;
use crate::belief::entity::{Identities, RelationType};
use crate::compile::links::Links;
use crate::compile::trace::{EntityLink, Note, Reason, Ruling, Stage, StageReport};
use crate::input::candidates::Normalized;
use crate::object::ObjectType;
use crate::provider::target::Target;

/// The rows that are still in, and the verdicts on the others.
#[derive(Clone)]
pub(crate) struct Live<'a> {
    pub(crate) set: &'a Normalized,
    /// True if the target finds the results of a call by its id, wherever behind it they stand.
    pub(crate) pairs_by_id: bool,
    /// The candidates that are still in, in registry order.
    pub(crate) rows: Vec<u32>,
    /// The verdict on each candidate, once it has one.
    pub(crate) verdicts: Vec<Option<Reason>>,
    pub(crate) notes: Vec<Note>,
    pub(crate) stages: Vec<StageReport>,
    /// The meanings of entities' ids to the caller.
    pub(crate) meanings: Arc<Meanings>,
}

/// The meanings of entities' ids to the caller, and what follows for the rows.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meanings {
    pub(crate) of: Identities,
    /// The rows that are in and speak of an entity that a person has yet to decide: they say no more than their claim.
    pub(crate) undecided: BTreeSet<u32>,
    /// The rows that speak of an entity which the registry found in the task, or of one that is next to such a one.
    pub(crate) spoken: BTreeMap<u32, EntityLink>,
}

impl Meanings {
    /// The relation of what a row speaks of to an entity of the task, where it is next to one and not that itself.
    pub(crate) fn relation(&self, row: u32) -> Option<RelationType> {
        let relation = self.spoken.get(&row)?.relation;
        relation.filter(|relation| *relation != RelationType::SameAs)
    }
}

impl<'a> Live<'a> {
    pub(crate) fn new(set: &'a Normalized, target: Target) -> Live<'a> {
        let count = set.rows.len() as u32;
        Live {
            set,
            pairs_by_id: target.pairs_by_id(),
            rows: (0..count).collect(),
            verdicts: vec![None; count as usize],
            notes: Vec::new(),
            stages: vec![StageReport {
                stage: Stage::Normalize,
                entered: count,
                left: count,
            }],
            meanings: Arc::default(),
        }
    }

    /// Gives each row that `judge` has a reason against its verdict, and keeps the others.
    pub(crate) fn judge(&mut self, stage: Stage, judge: impl FnMut(u32) -> Option<Reason>) {
        let entered = self.rows.len() as u32;
        self.stages.push(StageReport {
            stage,
            entered,
            left: entered,
        });
        self.judge_further(judge);
    }

    /// Judges what the last stage left once more, as part of that stage.
    pub(crate) fn judge_further(&mut self, mut judge: impl FnMut(u32) -> Option<Reason>) {
        let verdicts = &mut self.verdicts;
        self.rows.retain(|row| match judge(*row) {
            None => true,
            reason => {
                verdicts[*row as usize] = reason;
                false
            }
        });
        if let Some(report) = self.stages.last_mut() {
            report.left = self.rows.len() as u32;
        }
    }

    /// Reports a stage that lets everything through.
    pub(crate) fn pass(&mut self, stage: Stage) {
        let count = self.rows.len() as u32;
        self.stages.push(StageReport {
            stage,
            entered: count,
            left: count,
        });
    }

    /// Returns the needs among these rows.
    pub(crate) fn links(&self, rows: &[u32]) -> Links<'a> {
        Links::over(self.set, rows, self.pairs_by_id)
    }

    /// Returns the needs among those rows that can stand: of a name, the first of them is needed.
    pub(crate) fn standing_links(&self) -> Links<'a> {
        let mut links = self.links(&self.rows);
        links.break_off(self.set);
        links
    }

    /// Returns whether a candidate is still in.
    pub(crate) fn is_in(&self, row: u32) -> bool {
        self.verdicts[row as usize].is_none()
    }

    /// The canonical ids of the entities that a row is about, where its own are others; none of what the caller may not
    /// see.
    pub(crate) fn canonical_ids(&self, row: u32, reason: &Reason) -> Vec<String> {
        let of = &self.meanings.of;
        if of.is_empty() || reason.ruling() == Ruling::Denied {
            return Vec::new();
        }
        let ids = about(self.set.object(row)).map(str::to_owned);
        of.changed(&ids.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The canonical ids of the entities that the text of a row mentions; none of what the caller may not see.
    pub(crate) fn mentions(&self, row: u32, reason: &Reason) -> Vec<String> {
        if reason.ruling() == Ruling::Denied {
            return Vec::new();
        }
        let id = self.set.object(row).revision().id();
        self.meanings.of.mentions(id).map(str::to_owned).collect()
    }

    /// The names of the tools that the conversation calls.
    pub(crate) fn called(&self) -> BTreeSet<&'a str> {
        let set = self.set;
        self.rows
            .iter()
            .filter(|row| set.row(**row).object_type == ObjectType::Turn)
            .flat_map(|row| set.object(*row).revision().tool_calls())
            .map(|call| call.name.as_str())
            .collect()
    }
}
