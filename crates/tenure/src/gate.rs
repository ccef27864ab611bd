//! The relevance gate: which blocks come near the task at all (RAMPART, 2.4, stage one).
//!
//! It works inside the compile, on what the caller may see: a hidden object neither takes a place
//! among the best nor changes anybody's score. Relevance is the built-in ranker's, or what a caller's own
//! function says of a text as a [`Fact`](crate::Fact).

use std::cmp::Reverse;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::links::Links;
use crate::num::Score;
use crate::object::ObjectType;
use crate::section::Section;
use crate::stages::normalize::Normalized;
use crate::stages::plan::Planned;
use crate::trace::Obligation;

/// How near a candidate must be to the task. With both, both must hold.
///
/// Gated are removable blocks of the elastic sections, and tools, which otherwise are all offered; tools have
/// a gate of their own where the request has one for them (`tools`). What its author made not removable
/// passes, unless it is optional; so does what something that must go in needs, what an epoch has frozen,
/// the conversation and the tools that it calls. What a passing block needs passes with it.
///
/// ```
/// use tenure::{Budget, Request, gate::Gate};
/// let request = Request { gate: Some(Gate::top(3)), ..Request::new("Set up PWM.", Budget::tokens(900)) };
/// assert!(request.validate().is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// The least relevance, from 0 to 1. The built-in ranker's is relative: the nearest of all that are
    /// gated has 1. A supplied relevance is taken as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Score>,
    /// How many pass at most: the nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
}

impl Gate {
    /// A gate for what has at least this relevance.
    pub const fn threshold(least: Score) -> Gate {
        Gate {
            threshold: Some(least),
            top_k: None,
        }
    }

    /// A gate for so many of the nearest.
    pub const fn top(k: u32) -> Gate {
        Gate {
            threshold: None,
            top_k: Some(k),
        }
    }

    /// Checks that the gate in this field of a request turns anything away.
    pub(crate) fn validate(&self, field: &str) -> Result<(), Error> {
        if *self == Gate::default() {
            return Err(Error::input(format!("the `{field}` lets everything pass"))
                .expected("a `threshold`, a `top_k`, or both"));
        }
        Ok(())
    }
}

/// How a candidate stands before the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Standing {
    /// Its relevance.
    pub relevance: Score,
    /// Its rank by relevance, counted from one.
    pub rank: u32,
    /// Whether it passes.
    pub passes: bool,
}

/// How candidates stand before a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Gating {
    /// What is gated, the nearest first.
    pub gated: Vec<Gated>,
    /// What is not, and stays whatever its relevance: its places among the candidates. What neither list
    /// names is not in force, or not for the caller to see.
    pub spared: Vec<usize>,
}

/// A candidate before the gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Gated {
    /// Its place among the candidates.
    pub candidate: usize,
    /// Its name.
    pub name: std::sync::Arc<str>,
    /// How it stands.
    #[serde(flatten)]
    pub standing: Standing,
}

/// How rows stand before a gate.
#[derive(Default)]
pub(crate) struct Standings {
    /// Those that are gated, the nearest first.
    pub(crate) by_rank: Vec<u32>,
    of: Vec<Option<Standing>>,
}

impl Standings {
    /// How a row stands; none where it is not gated.
    pub(crate) fn of(&self, row: u32) -> Option<Standing> {
        self.of.get(row as usize).copied().flatten()
    }

    /// Whether a row is turned away.
    pub(crate) fn bars(&self, row: u32) -> bool {
        self.of(row).is_some_and(|standing| !standing.passes)
    }
}

/// The rows that a gate may turn away, in order. What is idle in this task takes no place.
pub(crate) fn removable(
    planned: &Planned<'_>,
    links: &Links<'_>,
    idle: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let (live, obligations) = (&planned.resolved.live, &planned.obligations);
    let set = live.set;
    // A tool that the conversation calls must be offered with it.
    let turns = live.rows.iter();
    let turns = turns.filter(|row| set.row(**row).object_type == ObjectType::Turn);
    let called: BTreeSet<&str> = turns
        .flat_map(|row| set.object(*row).revision().tool_calls())
        .map(|call| call.name.as_str())
        .collect();
    let is_gated = |row: &u32| {
        let facts = set.row(*row);
        let section = planned.section(*row);
        let offered =
            section == Section::Tools && obligations[*row as usize] == Some(Obligation::FixedTier);
        let free = match offered {
            true => !called.contains(set.object(*row).name()),
            false => obligations[*row as usize].is_none(),
        };
        let may_go = facts.removable || facts.optional;
        free && may_go && section != Section::History && !idle(*row)
    };
    let (mut gated, rest): (Vec<u32>, Vec<u32>) = live.rows.iter().partition(|row| is_gated(row));
    let must = rest
        .into_iter()
        .filter(|row| obligations[*row as usize].is_some());
    let needed = links.needed(must);
    gated.retain(|row| !needed.contains(row));
    gated
}

/// Rows that stand before one gate, each with its relevance.
pub(crate) struct Before {
    pub(crate) gate: Gate,
    pub(crate) rows: Vec<(u32, Score)>,
}

/// How each row stands before its gate.
pub(crate) fn decide(
    set: &Normalized,
    links: &Links<'_>,
    gates: impl IntoIterator<Item = Before>,
) -> Standings {
    let mut standings = Standings {
        by_rank: Vec::new(),
        of: vec![None; set.rows.len()],
    };
    for Before { gate, rows } in gates {
        // What most comparisons rest on stands side by side.
        let keys = rows.into_iter();
        let keys = keys.map(|(row, relevance)| (Reverse(relevance), set.row(row).tie, row));
        let mut ranked: Vec<(Reverse<Score>, u64, u32)> = keys.collect();
        ranked.sort_unstable_by(|a, b| {
            let nearer = (a.0, a.1).cmp(&(b.0, b.1));
            nearer.then_with(|| set.tie_break(a.2, b.2))
        });
        for (rank, (Reverse(relevance), _, row)) in (1u32..).zip(ranked) {
            let near = gate.threshold.is_none_or(|least| relevance >= least);
            let among = gate.top_k.is_none_or(|most| rank <= most);
            standings.by_rank.push(row);
            standings.of[row as usize] = Some(Standing {
                relevance,
                rank,
                passes: near && among,
            });
        }
    }
    // What a passing row cannot stand without comes with it.
    let gated = standings.by_rank.iter().copied();
    let passing = gated.filter(|row| !standings.bars(*row));
    for row in links.needed(passing) {
        if let Some(standing) = &mut standings.of[row as usize] {
            standing.passes = true;
        }
    }
    standings
}
