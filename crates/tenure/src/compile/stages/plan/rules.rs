//! The choice between all rules and those that are near to the task.
//!
//! That a rule is unlike the task says nothing about whether it applies: "never log keys" applies to "print the login request".
//! So rules leave by their scope and for want of room, and nearness alone decides only where a library of them would take
//! more of the budget than the policy gives it.

use crate::base::error::Error;
use crate::base::num::Score;
use crate::compile::pieces::Pricing;
use crate::compile::rules::is_memory;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::RulesReport;
use crate::input::policy::{Order, Policy};
use crate::input::request::Request;
use crate::object::section::Section;
use crate::write::world::World;

/// The number of rules that are priced at a time: no more than the share and a few are.
const AT_ONCE: usize = 64;

/// The most bytes around the text of a rule: a label, and what ends it.
const MOST_AROUND: u64 = 256;

/// Returns the figures of the choice; none where the policy makes none, or there are no rules.
pub(super) fn choose(
    planned: &Planned<'_>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Option<RulesReport>, Error> {
    let guidance = &policy.document().guidance;
    if guidance.rules == Score::ZERO
        || guidance.near == Score::ZERO
        || policy.document().order != Order::Sections
    {
        return Ok(None);
    }
    let live = &planned.live;
    let rules: Vec<(u32, Section)> = live
        .rows
        .iter()
        .map(|row| (*row, planned.epoch.section(*row)))
        .filter(|(row, section)| is_memory(*section) && live.set.is_rule(*row))
        .collect();
    if rules.is_empty() {
        return Ok(None);
    }
    let (budget, _) = request.budget.resolve(world.model(), request.target)?;
    let share = u64::from(budget) * u64::from(guidance.rules.millionths()) / 1_000_000;
    let report = |near_alone| RulesReport {
        rules: rules.len() as u32,
        share: u32::try_from(share).unwrap_or(u32::MAX),
        near_alone,
    };
    // No token has less than a byte: mostly it is seen at once that they fit.
    let most = |row: u32| u64::from(live.set.row(row).bytes) + MOST_AROUND;
    if rules.iter().map(|(row, _)| most(*row)).sum::<u64>() <= share {
        return Ok(Some(report(false)));
    }
    let pricing = Pricing {
        world,
        policy,
        target: request.target,
        task_type: request.task.task_type,
    };
    let mut tokens = 0;
    for some in rules.chunks(AT_ONCE) {
        // One that is too large by itself leaves the others their room.
        tokens += pricing
            .of_rows(live.set, some, &live.meanings.undecided)
            .iter()
            .map(|piece| u64::from(piece.tokens))
            .filter(|tokens| *tokens <= share)
            .sum::<u64>();
        if tokens > share {
            break;
        }
    }
    Ok(Some(report(tokens > share)))
}
