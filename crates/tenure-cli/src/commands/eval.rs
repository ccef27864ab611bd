//! `tenure eval`.

use tenure::ranker::Weights;
use tenure_workspace::eval::{Quantiles, RankedBy, read_sets, recall_in_parts, similarities};
use tenure_workspace::read_text;

use super::{decomposer, embedder, print, print_json, scorer};
use crate::args::{EvalArgs, EvalCommand, Format, RecallArgs, SimilaritiesArgs};
use crate::failure::Failure;

/// Does what the subcommand says.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    match &args.command {
        EvalCommand::Recall(args) => run_recall(args),
        EvalCommand::Similarities(args) => run_similarities(args),
    }
}

fn run_similarities(args: &SimilaritiesArgs) -> Result<(), Failure> {
    let sets = read_sets(&read_text(&args.file)?, &args.file.display().to_string())?;
    let found = similarities(&sets, embedder(&args.embedder)?.as_deref())?;
    if args.format == Format::Json {
        return print_json(&found);
    }
    let line = |name: &str, of: &Quantiles| {
        format!(
            "{name:<10} {:.3}  {:.3}  {:.3}  {:.3}  {:.3}  {:.3}\n",
            of.p5, of.p25, of.p50, of.p75, of.p95, of.p99
        )
    };
    print(&format!(
        "{:<10} {:<5}  {:<5}  {:<5}  {:<5}  {:<5}  {:<5}\n{}{}",
        "BELOW",
        "5 %",
        "25 %",
        "50 %",
        "75 %",
        "95 %",
        "99 %",
        line("unrelated", &found.unrelated),
        line("related", &found.related)
    ))
}

fn run_recall(args: &RecallArgs) -> Result<(), Failure> {
    let sets = read_sets(&read_text(&args.file)?, &args.file.display().to_string())?;
    let weights = if args.alone {
        Weights::default().alone()
    } else {
        Weights::default()
    };
    let (embedder, scorer, decomposer) = (
        embedder(&args.relevance.embedder)?,
        scorer(&args.relevance)?,
        decomposer(&args.relevance)?,
    );
    let by = match (&scorer, &embedder) {
        (Some(scorer), _) => RankedBy::Scorer(&**scorer),
        (None, Some(embedder)) => RankedBy::Embedder(&**embedder, weights),
        (None, None) => RankedBy::Table(weights),
    };
    let found = recall_in_parts(&sets, u64::from(args.budget), by, decomposer.as_deref())?;
    match args.format {
        Format::Json => print_json(&found),
        Format::Text => print(&format!(
            "recall {:.4} in {} tokens, {:.4} among the first five ({} queries, {} units, {} sets)\n",
            found.recall, args.budget, found.recall_at_5, found.queries, found.units, found.sets
        )),
    }
}
