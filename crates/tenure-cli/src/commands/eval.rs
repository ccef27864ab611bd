//! `tenure eval`.

use tenure::ranker::Weights;
use tenure_workspace::eval::{read_sets, recall};
use tenure_workspace::read_text;

use super::{print, print_json};
use crate::args::{EvalArgs, EvalCommand, Format, RecallArgs};
use crate::failure::Failure;

/// Does what the subcommand says.
pub(crate) fn run(args: &EvalArgs) -> Result<(), Failure> {
    match &args.command {
        EvalCommand::Recall(args) => run_recall(args),
    }
}

fn run_recall(args: &RecallArgs) -> Result<(), Failure> {
    let sets = read_sets(&read_text(&args.file)?, &args.file.display().to_string())?;
    let weights = match args.alone {
        true => Weights::default().alone(),
        false => Weights::default(),
    };
    let found = recall(&sets, u64::from(args.budget), weights)?;
    match args.format {
        Format::Json => print_json(&found),
        Format::Text => print(&format!(
            "recall {:.4} in {} tokens, {:.4} among the first five ({} queries, {} units, {} sets)\n",
            found.recall, args.budget, found.recall_at_5, found.queries, found.units, found.sets
        )),
    }
}
