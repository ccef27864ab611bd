//! The standing of rows before the gates of a compile.

use crate::base::num::Score;
use crate::compile::links::Links;
use crate::compile::rules::is_critical;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::Obligation;
use crate::input::candidates::Normalized;
use crate::input::gate::{Gate, Standing};
use crate::input::policy::Policy;
use crate::object::section::Section;

/// The standing of rows before their gates.
#[derive(Default)]
pub(crate) struct Standings {
    /// Those that are gated, of each gate the nearest first.
    by_rank: Vec<(u32, Standing)>,
    /// The place of each row in `by_rank`, counted from one; 0 where it is not gated.
    places: Vec<u32>,
}

impl Standings {
    /// Those that are gated, of each gate the nearest first.
    pub(crate) fn by_rank(&self) -> &[(u32, Standing)] {
        &self.by_rank
    }

    /// Returns the standing of a row; none where it is not gated.
    pub(crate) fn of(&self, row: u32) -> Option<Standing> {
        let place = self.places.get(row as usize)?.checked_sub(1)?;
        let (_, standing) = self.by_rank.get(place as usize)?;
        Some(*standing)
    }

    /// Returns whether a row is turned away.
    pub(crate) fn bars(&self, row: u32) -> bool {
        self.of(row).is_some_and(|standing| !standing.passes)
    }
}

/// The rows that a gate may turn away, in order. What is idle in this task takes no place.
pub(crate) fn removable(
    planned: &Planned<'_>,
    links: &Links<'_>,
    policy: &Policy,
    idle: impl Fn(u32) -> bool,
) -> Vec<u32> {
    let (live, obligations) = (&planned.live, &planned.obligations);
    let set = live.set;
    // A tool that the conversation calls must be offered with it.
    let called = live.called();
    let is_gated = |row: &u32| {
        let facts = set.row(*row);
        let section = planned.epoch.section(*row);
        let offered =
            section == Section::Tools && obligations[*row as usize] == Some(Obligation::FixedTier);
        let free = if offered {
            !called.contains(set.object(*row).name())
        } else {
            obligations[*row as usize].is_none()
        };
        let may_go = facts.removable || facts.optional;
        free && may_go
            && section != Section::History
            && !is_critical(set, *row, policy)
            && !idle(*row)
    };
    let mut gated = Vec::with_capacity(live.rows.len());
    let mut must = Vec::new();
    for row in &live.rows {
        if is_gated(row) {
            gated.push(*row);
        } else if obligations[*row as usize].is_some() {
            must.push(*row);
        }
    }
    let needed = links.needed(must.into_iter());
    gated.retain(|row| !needed.contains(row));
    gated
}

/// Rows that stand before one gate, each with its relevance.
pub(crate) struct Before {
    pub(crate) gate: Gate,
    pub(crate) rows: Vec<(u32, Score)>,
}

/// Decides the standing of each row before its gate.
pub(crate) fn decide(
    set: &Normalized,
    links: &Links<'_>,
    gates: impl IntoIterator<Item = Before>,
) -> Standings {
    let mut standings = Standings {
        by_rank: Vec::new(),
        places: vec![0; set.rows.len()],
    };
    for Before { gate, rows } in gates {
        // What nearly all comparisons rest on is one number: the relevance, the greatest first, and the tie.
        let key = |(row, relevance): (u32, Score)| {
            let far = u32::MAX - relevance.millionths();
            u128::from(far) << 96 | u128::from(set.row(row).tie) << 32 | u128::from(row)
        };
        let mut ranked: Vec<u128> = rows.into_iter().map(key).collect();
        ranked.sort_unstable();
        let (row, rest) = (|key: u128| key as u32, |key: &u128| key >> 32);
        for equal in ranked.chunk_by_mut(|a, b| rest(a) == rest(b)) {
            if equal.len() > 1 {
                equal.sort_unstable_by(|a, b| set.tie_break(row(*a), row(*b)));
            }
        }
        standings.by_rank.reserve(ranked.len());
        for (rank, key) in (1u32..).zip(ranked) {
            let relevance = Score::from_millionths(u32::MAX - (key >> 96) as u32);
            let near = gate.threshold.is_none_or(|least| relevance >= least);
            let among = gate.top_k.is_none_or(|most| rank <= most);
            let standing = Standing {
                relevance,
                rank,
                passes: near && among,
            };
            standings.by_rank.push((row(key), standing));
            standings.places[row(key) as usize] = standings.by_rank.len() as u32;
        }
    }
    // What a passing row cannot stand without comes with it.
    let passing = standings.by_rank.iter().filter(|(_, standing)| standing.passes);
    for row in links.needed(passing.map(|(row, _)| *row)) {
        let place = standings.places[row as usize].checked_sub(1);
        let needed = place.and_then(|place| standings.by_rank.get_mut(place as usize));
        if let Some((_, standing)) = needed {
            standing.passes = true;
        }
    }
    standings
}
