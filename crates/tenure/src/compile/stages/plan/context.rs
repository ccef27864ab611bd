//! The switch between a corpus as a whole and retrieval.
//!
//! The whole is chosen only where it surely fits: its own cost is exact, and the cost of what stands
//! beside it is bounded from above. Each way is held against the budget at its own price: the tool that reaches the rest
//! costs itself and what a provider adds for tools, and it is not offered where it takes the room of the documents.

use std::collections::BTreeSet;

use crate::base::error::Error;
use crate::compile::pieces::{ARCHIVE, Pricing};
use crate::compile::stages::plan::Planned;
use crate::compile::trace::{ContextReport, Obligation, Reason};
use crate::input::policy::Strategy;
use crate::input::policy::{ContextMode, Order, Policy};
use crate::input::request::Request;
use crate::input::served::EpochCause;
use crate::object::section::Section;
use crate::write::world::World;

/// Chooses, and omits what is left to retrieval.
pub(super) fn choose(
    planned: &mut Planned<'_>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<(), Error> {
    let live = &planned.live;
    let set = live.set;
    let in_codex = |row: &u32| planned.epoch.section(*row) == Section::Codex;
    let corpus: Vec<u32> = live.rows.iter().copied().filter(in_codex).collect();
    if policy.document().order != Order::Sections {
        if !corpus.is_empty() {
            planned.epoch.strategy = Strategy::Documents;
        }
        return Ok(());
    }
    let mode = request.context.unwrap_or(policy.document().context.mode);
    planned.epoch.corpus = corpus.len() as u32;
    planned.epoch.share = share_of(world, policy, request);
    let served = request.served.as_ref().and_then(|ledger| ledger.strategy);
    let keeps = planned.epoch.report.cause == EpochCause::Kept;
    // What an epoch freezes it also settles; elsewhere documents come and go with each call.
    let settled = served.filter(|_| keeps && policy.freezes(Section::Codex));
    // Tools stay as they are while an epoch freezes them.
    let ledger = request.served.as_ref();
    let held = (keeps && policy.freezes(Section::Tools))
        .then(|| ledger.is_some_and(|ledger| ledger.archive));
    let mut affords_tool = true;
    planned.epoch.strategy = match (settled, mode) {
        (Some(strategy), _) => strategy,
        (None, ContextMode::Retrieve) => Strategy::Retrieve,
        (None, _) if corpus.is_empty() => Strategy::Full,
        (None, _) => {
            let pricing = Pricing {
                world,
                policy,
                target: request.target,
                task_type: request.task.task_type,
            };
            let mut scales = Scales::new(planned, pricing, request, &corpus, served)?;
            if held == Some(true) {
                scales.report.beside += std::mem::take(&mut scales.tool);
            }
            planned.epoch.report.context = Some(scales.report);
            let strategy;
            (strategy, affords_tool) = scales.strategy(mode);
            strategy
        }
    };
    let own = live
        .rows
        .iter()
        .copied()
        .find(|row| set.row(*row).section == Section::Tools && set.object(*row).name() == ARCHIVE)
        .filter(|row| {
            let broken = live.links(&live.rows).break_off(set);
            !broken.contains_key(row)
        });
    if let Some(own) = own {
        // It serves, so it stands.
        let obligation = &mut planned.obligations[own as usize];
        if planned.epoch.strategy != Strategy::Full
            && matches!(obligation, None | Some(Obligation::FixedTier))
        {
            *obligation = Some(Obligation::Archive);
        }
    } else if held.unwrap_or(planned.epoch.strategy != Strategy::Full && affords_tool) {
        planned.epoch.offers_archive = true;
        // Whoever asks for retrieval may have an archive elsewhere.
        planned.epoch.archive_may_go = held.is_none() && mode != ContextMode::Retrieve;
        planned.epoch.report.tools.retain(|name| &**name != ARCHIVE);
        planned.epoch.report.tools.push(ARCHIVE.into());
        planned.epoch.report.tools.sort();
    }
    // What an epoch left to retrieval stays there: the tail is no second corpus.
    let reaches = held == Some(true) && policy.freezes(Section::Codex);
    if planned.epoch.strategy == Strategy::Retrieve
        || (reaches && planned.epoch.strategy == Strategy::Documents)
    {
        let live = &mut planned.live;
        let links = live.standing_links();
        let must = |row: &u32| planned.obligations[*row as usize].is_some();
        let needed = links.needed(live.rows.iter().copied().filter(must));
        let epoch = &planned.epoch;
        let moved = live.rows.iter().copied().filter(|row| {
            let is_moved = epoch.section(*row) == Section::Recall;
            reaches && is_moved && set.row(*row).section == Section::Codex
        });
        let left: BTreeSet<u32> = corpus
            .into_iter()
            .chain(moved)
            .filter(|row| !must(row) && !needed.contains(row))
            .collect();
        live.judge_further(|row| left.contains(&row).then_some(Reason::LeftToRetrieval));
    }
    Ok(())
}

/// Returns the policy's share of the window in tokens.
fn share_of(world: &World, policy: &Policy, request: &Request) -> u32 {
    let window = u64::from(request.budget.window.unwrap_or(world.model().window));
    let share = u64::from(policy.document().context.share.millionths());
    u32::try_from(window * share / 1_000_000).unwrap_or(u32::MAX)
}

/// The figures that the choice rests on.
struct Scales {
    /// The policy's share of the window in tokens, whatever was served before.
    share: u64,
    report: ContextReport,
    /// The cost of the cheapest document.
    least: u64,
    /// The cost of the tool that reaches the rest, with what the provider adds where it is the only one.
    tool: u64,
}

impl Scales {
    fn new(
        planned: &Planned<'_>,
        pricing: Pricing<'_>,
        request: &Request,
        corpus: &[u32],
        served: Option<Strategy>,
    ) -> Result<Scales, Error> {
        let Pricing { world, policy, .. } = pricing;
        let live = &planned.live;
        let set = live.set;
        let (budget, _) = request.budget.resolve(world.model(), request.target)?;
        let priced = |rows: &[u32]| -> Vec<u64> {
            let placed: Vec<(u32, Section)> =
                rows.iter().map(|row| (*row, planned.epoch.section(*row))).collect();
            pricing
                .of_rows(set, &placed, &live.meanings.undecided)
                .into_iter()
                .map(|piece| u64::from(piece.tokens))
                .collect()
        };
        let costs = priced(corpus);
        let too_long = |rows: &[u32], costs: &[u64]| {
            let both = rows.iter().zip(costs);
            both.filter(|(row, cost)| **cost > u64::from(policy.limit(set.row(**row).authority)))
                .count() as u32
        };

        // What must stand beside it, and what the corpus brings along.
        let mut beside: BTreeSet<u32> = live
            .rows
            .iter()
            .copied()
            .filter(|row| planned.obligations[*row as usize].is_some())
            .collect();
        let links = live.standing_links();
        beside.extend(links.needed(beside.iter().copied().chain(corpus.iter().copied())));
        for row in corpus {
            beside.remove(row);
        }
        let beside: Vec<u32> = beside.into_iter().collect();
        let needed = priced(&beside);
        let too_long = too_long(corpus, &costs) + too_long(&beside, &needed);
        let rows: u64 = needed.iter().sum();
        let minimums = Section::ALL
            .iter()
            .filter(|section| !section.tier().is_fixed() && **section != Section::Codex)
            .map(|section| u64::from(policy.section(*section).min));
        let window = u64::from(request.budget.window.unwrap_or(world.model().window));
        let share = u64::from(policy.document().context.share.millionths());
        let percent = match served {
            None => 100,
            Some(Strategy::Full) => 105,
            Some(_) => 95,
        };
        let placed = live.rows.iter().map(|row| (*row, planned.epoch.section(*row)));
        let marks = pricing.most_marks(set, placed);
        let tools = &planned.epoch.report.tools;
        let (own_tools, tool) = if tools.is_empty() {
            (0, pricing.around_tools())
        } else {
            (pricing.around_tools(), 0)
        };
        let archive = if tools.iter().any(|name| &**name == ARCHIVE) {
            0
        } else {
            u64::from(pricing.archive()?.piece.tokens)
        };
        let report = ContextReport {
            mode: request.context.unwrap_or(policy.document().context.mode),
            documents: corpus.len() as u32,
            too_long,
            corpus: costs.iter().sum(),
            threshold: window * share * percent / 100_000_000,
            beside: rows + pricing.most_around(request) + own_tools + marks + minimums.sum::<u64>(),
            budget,
        };
        Ok(Scales {
            share: u64::from(share_of(world, policy, request)),
            report,
            least: costs.into_iter().min().unwrap_or(0),
            tool: tool + archive,
        })
    }

    /// The way to the corpus, and whether the tool that reaches the rest of it is offered.
    fn strategy(&self, mode: ContextMode) -> (Strategy, bool) {
        let ContextReport {
            too_long,
            corpus,
            threshold,
            beside,
            budget,
            ..
        } = self.report;
        let fits = |tokens: u64| beside.saturating_add(tokens) <= u64::from(budget);
        let has_room = self.least <= self.share;
        let fits_whole = too_long == 0 && corpus < threshold && fits(corpus);
        if mode == ContextMode::Full || fits_whole {
            (Strategy::Full, false)
        } else if has_room && fits(self.least.saturating_add(self.tool)) {
            (Strategy::Documents, true)
        } else if has_room && fits(self.least) || !fits(self.tool) {
            // Beside the tool no document stands, or not even the tool: it would cost more than what it is offered for.
            (Strategy::Documents, false)
        } else {
            (Strategy::Retrieve, true)
        }
    }
}
