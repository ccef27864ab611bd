//! The report of a gate: which blocks stay before a task, which it leaves.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use tenure::Candidates;
use tenure::gate::{Gating, Standing};
use tenure::num::Score;

/// A block of the gated registry, or one that the gate leaves.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct GatedBlock {
    /// Its name.
    pub name: String,
    /// Its relevance to the task; none if it stays whatever its relevance.
    pub relevance: Option<Score>,
    /// Its rank by relevance, from 1; none with no relevance.
    pub rank: Option<u32>,
}

/// The answer of a gate, in the order of the candidates.
#[derive(Clone, PartialEq, Default, Debug, Serialize, JsonSchema)]
pub struct GateReport {
    /// Those that stay.
    pub kept: Vec<GatedBlock>,
    /// Those that the gate leaves.
    pub left: Vec<GatedBlock>,
    /// The names of those that are not in force.
    pub absent: Vec<String>,
}

impl GateReport {
    /// The report on these candidates, as far as `shown` has their places, which rise.
    pub fn of(gating: &Gating, candidates: &Candidates, shown: &[usize]) -> GateReport {
        let gated = gating.gated.iter();
        let standings: BTreeMap<usize, Standing> =
            gated.map(|gated| (gated.candidate, gated.standing)).collect();
        let mut report = GateReport::default();
        let objects = candidates.objects().iter().enumerate();
        for (at, object) in objects.filter(|(at, _)| shown.binary_search(at).is_ok()) {
            let standing = standings.get(&at);
            let block = GatedBlock {
                name: object.name().to_owned(),
                relevance: standing.map(|standing| standing.relevance),
                rank: standing.map(|standing| standing.rank),
            };
            match standing {
                Some(standing) if standing.passes => report.kept.push(block),
                Some(_) => report.left.push(block),
                None if gating.spared.contains(&at) => report.kept.push(block),
                None => report.absent.push(block.name),
            }
        }
        report
    }
}
