//! `tenure gate`: the blocks that are near enough to a task.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use tenure::gate::{Gate, Gating, Standing};
use tenure::num::Score;
use tenure::{AsOf, Budget, Candidates, Error, ErrorKind, Policy, Request};
use tenure_workspace::{Collect, DEFAULT_MODEL, Workspace};

use super::{asking_scorer, gates, print, print_json, reading, with_relevance};
use crate::args::{Format, GateLimits, GateSourcesArgs, RelevanceArgs};
use crate::failure::{Failure, cell};

/// Evaluates the gate of a task for these candidates.
pub(super) fn gating(
    workspace: &Workspace,
    task: &str,
    limits: &GateLimits,
    relevance: &RelevanceArgs,
    candidates: &Candidates,
) -> Result<Gating, Error> {
    let now = Some(workspace.clock().second());
    let (gate, tools) = gates_of(limits)?;
    let request = Request {
        gate,
        tools,
        as_of: AsOf {
            valid: now,
            known: now,
        },
        ..Request::new(task, Budget::default())
    };
    // Nothing is counted and nothing framed: any model and key will do.
    let world = workspace.world(DEFAULT_MODEL)?;
    let policy = asking_scorer(Policy::preset("ordered")?, relevance)?;
    workspace.gate(&world, &policy, &request, candidates)
}

/// A workspace that gates with these vectors, or this scorer.
pub(super) fn workspace(relevance: &RelevanceArgs) -> Result<Workspace, Error> {
    with_relevance(Workspace::without_key()?, relevance)
}

/// The gates that the arguments ask for, one at least.
fn gates_of(limits: &GateLimits) -> Result<(Option<Gate>, Option<Gate>), Error> {
    match gates::gates_of(limits)? {
        (None, None) => Err(
            Error::new(ErrorKind::Usage, "the gate lets everything pass").expected(
                "--top-k N, --threshold X, or both; for tools --tools-top-k or --tools-threshold",
            ),
        ),
        gates => Ok(gates),
    }
}

/// A block of the gated registry, or one that the gate leaves.
#[derive(Serialize)]
struct Block<'c> {
    name: &'c str,
    /// None when it stays whatever its relevance.
    relevance: Option<Score>,
    rank: Option<u32>,
}

#[derive(Serialize)]
struct Report<'c> {
    /// In their order.
    kept: Vec<Block<'c>>,
    /// In their order.
    left: Vec<Block<'c>>,
    /// Blocks that are not in force, in their order.
    absent: Vec<&'c str>,
}

/// Gates and prints.
pub(crate) fn run(args: &GateSourcesArgs) -> Result<(), Failure> {
    gates_of(&args.limits)?;
    let collect = Collect {
        registry: args.registry.clone(),
        ..reading::options(&args.reading)?
    };
    let workspace = workspace(&args.relevance)?;
    let collected = workspace.collect(&args.sources, &collect)?;
    reading::warn(&collected.warnings);
    let candidates = &collected.candidates;
    let gating = gating(
        &workspace,
        &args.task,
        &args.limits,
        &args.relevance,
        candidates,
    )?;
    let gated = gating.gated.iter();
    let standings: BTreeMap<usize, Standing> = gated
        .map(|gated| (gated.candidate, gated.standing))
        .collect();
    let mut report = Report {
        kept: Vec::new(),
        left: Vec::new(),
        absent: Vec::new(),
    };
    for (at, object) in candidates.objects().iter().enumerate() {
        let name = object.name();
        let standing = standings.get(&at);
        let block = Block {
            name,
            relevance: standing.map(|standing| standing.relevance),
            rank: standing.map(|standing| standing.rank),
        };
        match standing {
            Some(standing) if standing.passes => report.kept.push(block),
            Some(_) => report.left.push(block),
            None if gating.spared.contains(&at) => report.kept.push(block),
            None => report.absent.push(name),
        }
    }
    match args.format {
        Format::Json => print_json(&report),
        Format::Text => print(&report.text()),
    }
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut out = format!("{:<6}  {:>5}  {:>9}  NAME\n", "", "RANK", "RELEVANCE");
        let both = [("kept", &self.kept), ("left", &self.left)];
        for (word, block) in both
            .into_iter()
            .flat_map(|(word, blocks)| blocks.iter().map(move |block| (word, block)))
        {
            let rank = block.rank.map_or("-".to_owned(), |rank| rank.to_string());
            let relevance = block
                .relevance
                .map_or("-".to_owned(), |relevance| relevance.to_string());
            let _ = writeln!(
                out,
                "{word:<6}  {rank:>5}  {relevance:>9}  {}",
                cell(block.name)
            );
        }
        for name in &self.absent {
            let _ = writeln!(out, "absent  {:>5}  {:>9}  {}", "-", "-", cell(name));
        }
        out
    }
}
