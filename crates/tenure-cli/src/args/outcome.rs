//! The arguments of `tenure outcome`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use tenure_operations::outcome::{DecideOutcome, ListOutcomes, ProposeOutcome, RepeatMistake};

use super::{Call, Write};

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    #[command(subcommand)]
    pub(crate) command: OutcomeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomeCommand {
    Propose(ProposeArgs),
    /// Accept a proposal: `tenure review accept`
    #[command(hide = true)]
    Accept(Write<DecideOutcome>),
    /// Reject a proposal: `tenure review reject`
    #[command(hide = true)]
    Reject(Write<DecideOutcome>),
    /// Withdraw an accepted one: it is compiled no more
    Withdraw(Write<DecideOutcome>),
    Repeat(Write<RepeatMistake>),
    List(Call<ListOutcomes>),
}

#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    #[command(flatten)]
    pub(crate) call: Write<ProposeOutcome>,
    /// The file with the text, or `-` for standard input
    #[arg(
        long,
        value_name = "FILE|-",
        conflicts_with = "content",
        required_unless_present = "content",
        value_hint = ValueHint::FilePath
    )]
    pub(crate) file: Option<PathBuf>,
}
