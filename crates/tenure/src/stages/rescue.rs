//! Stage 7: what cannot stand without what? What misses something leaves, and the rest is tied.

use std::collections::BTreeMap;

use crate::stages::links::Links;
use crate::stages::rank::Ranked;
use crate::trace::{Stage, StageReport};

/// Ranked objects with what each one brings along.
pub(crate) struct Rescued<'a> {
    pub(crate) ranked: Ranked<'a>,
    /// For rows that need others: all of them, themselves excluded, transitively.
    pub(crate) closures: BTreeMap<u32, Vec<u32>>,
}

/// Omits what misses something that it needs, and lists what the others bring along.
pub(crate) fn rescue(mut ranked: Ranked<'_>) -> Rescued<'_> {
    let live = &mut ranked.planned.resolved.live;
    let mut links = Links::over(live.set, &live.rows);
    let entered = live.rows.len() as u32;
    for (row, reason) in links.break_off(live.set) {
        live.verdicts[row as usize] = Some(reason);
    }
    let verdicts = &live.verdicts;
    live.rows.retain(|row| verdicts[*row as usize].is_none());
    live.stages.push(StageReport {
        stage: Stage::Rescue,
        entered,
        left: live.rows.len() as u32,
    });
    let closures = links.closures();
    Rescued { ranked, closures }
}
