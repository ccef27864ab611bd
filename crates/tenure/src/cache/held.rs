//! The contents of a cache after one request, and the part that the next request finds again.

use super::body::Body;
use super::plan::{CachePlan, Options, plan_weighed};
use super::weigh::Weighed;
use super::{Held, Sent, holds, in_steps};
use crate::base::error::Error;
use crate::provider::catalogue::{CacheKind, CacheMark, CacheRules};
use crate::write::world::World;

/// The blocks behind which prefixes are written, and those behind which they are looked for.
pub(super) struct Marks {
    pub(super) writes: Vec<usize>,
    pub(super) reads: Vec<usize>,
    /// True if they are a plan's, because the body has none.
    pub(super) is_planned: bool,
}

/// The marks of a request, or those of a plan where it has none.
pub(super) fn marks(world: &World, sent: &Sent<'_>, weighed: &Weighed) -> Result<Marks, Error> {
    let body = &sent.body;
    let plan = plan_weighed(world, sent, weighed, &Options::default(), None)?;
    let mut places = of_plan(body, &plan);
    let rules = world.model().cache.as_ref();
    let is_openai = plan.mark == Some(CacheMark::PromptCacheBreakpoint);
    if is_openai && body.is_marked && !body.json.contains("\"mode\":\"explicit\"") {
        // The provider's own, near the latest words that are not the model's.
        let last = body.blocks.iter().rposition(|block| !block.by_model);
        places.extend(last.filter(|last| !places.contains(last)));
        places.sort_unstable();
    }
    let most = rules.and_then(|rules| rules.breakpoints).unwrap_or(u32::MAX) as usize;
    let first = places.len().saturating_sub(most);
    Ok(Marks {
        writes: places[first..].to_vec(),
        reads: places,
        is_planned: !body.is_marked,
    })
}

fn of_plan(body: &Body<'_>, plan: &CachePlan) -> Vec<usize> {
    plan.breakpoints
        .iter()
        .filter(|point| point.marks)
        .filter_map(|point| body.blocks.iter().position(|block| block.at == point.at))
        .collect()
}

/// The most tokens that the cache holds of a request that was sent.
pub(super) fn written(rules: &CacheRules, world: &World, weighed: &Weighed, marks: &Marks) -> u32 {
    let enough = |tokens: &u32| holds(rules, weighed.least(world, *tokens), *tokens) != Held::No;
    match rules.kind {
        CacheKind::Explicit => {
            let tokens = marks.writes.iter().map(|at| weighed.upto[*at]);
            tokens.filter(enough).max().unwrap_or(0)
        }
        CacheKind::None => 0,
        _ => weighed
            .upto
            .last()
            .copied()
            .filter(enough)
            .map_or(0, |tokens| in_steps(rules, tokens)),
    }
}

/// Returns the number of tokens of the next request that are found: of its first `shared` blocks, which the last one
/// had, too, and of `same` tokens.
pub(super) fn found(
    rules: &CacheRules,
    world: &World,
    after: &Weighed,
    (before_marks, after_marks): (&Marks, &Marks),
    shared: usize,
    same: u32,
) -> u32 {
    let enough = |tokens: &u32| holds(rules, after.least(world, *tokens), *tokens) != Held::No;
    match rules.kind {
        CacheKind::Explicit => {
            let found = before_marks.writes.iter().copied().filter(|entry| *entry < shared).filter(
                |entry| {
                    after_marks.reads.iter().any(|mark| {
                        let back = (*mark).checked_sub(*entry);
                        back.is_some_and(|back| match rules.lookback_blocks {
                            Some(blocks) => back < blocks as usize,
                            None => back == 0,
                        })
                    })
                },
            );
            found.map(|entry| after.upto[entry]).filter(enough).max().unwrap_or(0)
        }
        CacheKind::None => 0,
        _ => Some(same).filter(enough).map_or(0, |tokens| in_steps(rules, tokens)),
    }
}
