//! `tenure gate`: the blocks that are near enough to a task.

use std::fmt::Write;

use tenure::gate::{Gate, Gating};
use tenure::{AsOf, Budget, Candidates, Error, ErrorKind, Policy, Request};
use tenure_workspace::{Collect, DEFAULT_MODEL, GateReport, Workspace};

use super::{asking_scorer, gates, print, print_json, reading, with_relevance};
use crate::args::{Format, GateLimits, GateSourcesArgs, RelevanceArgs};
use crate::failure::{Failure, cell};
use crate::progress::Working;

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

/// Gates and prints.
pub(crate) fn run(args: &GateSourcesArgs) -> Result<(), Failure> {
    gates_of(&args.limits)?;
    let collect = Collect {
        registry: args.registry.clone(),
        ..reading::options(&args.reading)?
    };
    let workspace = workspace(&args.relevance)?;
    let candidates = &reading::collect(&workspace, &args.sources, &collect)?;
    let working = Working::on("ranking");
    let gating = gating(
        &workspace,
        &args.task,
        &args.limits,
        &args.relevance,
        candidates,
    );
    drop(working);
    let gating = gating?;
    let all: Vec<usize> = (0..candidates.len()).collect();
    let report = GateReport::of(&gating, candidates, &all);
    match args.format {
        Format::Json => print_json(&report),
        Format::Text => print(&text(&report)),
    }
}

fn text(report: &GateReport) -> String {
    let mut out = format!("{:<6}  {:>5}  {:>9}  NAME\n", "", "RANK", "RELEVANCE");
    let both = [("kept", &report.kept), ("left", &report.left)];
    for (word, block) in both
        .into_iter()
        .flat_map(|(word, blocks)| blocks.iter().map(move |block| (word, block)))
    {
        let rank = block.rank.map_or("-".to_owned(), |rank| rank.to_string());
        let relevance = block.relevance.map_or("-".to_owned(), |relevance| relevance.to_string());
        let _ = writeln!(
            out,
            "{word:<6}  {rank:>5}  {relevance:>9}  {}",
            cell(&block.name)
        );
    }
    for name in &report.absent {
        let _ = writeln!(out, "absent  {:>5}  {:>9}  {}", "-", "-", cell(name));
    }
    out
}
