//! Stage 7: what cannot stand without what? What misses something leaves, and the rest is tied. Small
//! units that did not matter by themselves are attached to what stands and fits them.

mod attach;

use std::collections::BTreeMap;

use crate::compile::links::{Links, MAX_CLOSURE};
use crate::compile::stages::Live;
use crate::compile::stages::plan::EpochPlan;
use crate::compile::stages::rank::{Ranked, Ranking};
use crate::compile::trace::{Attachment, Reason, Stage, StageReport};
use crate::input::facts::Facts;
use crate::input::policy::Policy;
use crate::input::request::Request;

/// Ranked objects, and what cannot stand without what.
pub(crate) struct Rescued<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) epoch: EpochPlan<'a>,
    pub(crate) ranking: Ranking,
    /// The rows that each one brings along.
    pub(crate) links: Links<'a>,
    /// The attachments, by the unit that is attached.
    pub(crate) attached: BTreeMap<u32, Attachment>,
}

/// Omits what misses something that it needs, and lists what the others bring along; attaches units.
pub(crate) fn rescue<'a>(
    mut ranked: Ranked<'a>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Rescued<'a> {
    let live = &mut ranked.live;
    let mut links = live.links(&live.rows);
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
    let mut attached = BTreeMap::new();
    for (row, to, attachment) in attach::attach(&ranked, policy, request, facts) {
        let live = &mut ranked.live;
        live.verdicts[row as usize] = None;
        live.rows.push(row);
        links.tie(row, to);
        attached.insert(row, attachment);
    }
    let Ranked {
        mut live,
        epoch,
        ranking,
    } = ranked;
    live.rows.sort_unstable();
    live.stages.push(StageReport {
        stage: Stage::Rescue,
        entered,
        left: live.rows.len() as u32,
    });
    Rescued {
        live,
        epoch,
        ranking,
        links,
        attached,
    }
}
