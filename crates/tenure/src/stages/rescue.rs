//! Stage 7: what cannot stand without what? What misses something leaves, and the rest is tied.

use crate::links::{Links, MAX_CLOSURE};
use crate::stages::rank::Ranked;
use crate::trace::{Reason, Stage, StageReport};

/// Ranked objects, and what cannot stand without what.
#[derive(Clone)]
pub(crate) struct Rescued<'a> {
    pub(crate) ranked: Ranked<'a>,
    /// What each one brings along.
    pub(crate) links: Links<'a>,
}

/// Omits what misses something that it needs, and lists what the others bring along.
pub(crate) fn rescue(mut ranked: Ranked<'_>) -> Rescued<'_> {
    let live = &mut ranked.planned.resolved.live;
    let mut links = Links::over(live.set, &live.rows);
    let entered = live.rows.len() as u32;
    for (row, reason) in links.break_off(live.set) {
        live.verdicts[row as usize] = Some(reason);
    }
    for row in links.overlong(live.set) {
        live.verdicts[row as usize] = Some(Reason::ClosureTooLong {
            limit: MAX_CLOSURE as u32,
        });
    }
    let verdicts = &live.verdicts;
    live.rows.retain(|row| verdicts[*row as usize].is_none());
    live.stages.push(StageReport {
        stage: Stage::Rescue,
        entered,
        left: live.rows.len() as u32,
    });
    Rescued { ranked, links }
}
