//! The arguments of `tenure outcome`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{ObjectArgs, TenantArgs, WritingArgs};

#[derive(Debug, Args)]
pub(crate) struct OutcomeArgs {
    #[command(subcommand)]
    pub(crate) command: OutcomeCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomeCommand {
    /// Propose an outcome or a correction: it is kept, and not compiled until a person accepts it
    ///
    /// A correction of a mistake that an accepted one corrects already is counted as a repeat of it instead.
    Propose(ProposeArgs),
    /// Accept a proposal: it is compiled from the next request on
    ///
    /// A running session gets it behind what was sent; from the next epoch on it stands in the section `karma`.
    Accept(DecideArgs),
    /// Reject a proposal
    Reject(DecideArgs),
    /// Withdraw an accepted one: it is compiled no more
    Withdraw(DecideArgs),
    /// Count that a corrected mistake was made again
    Repeat(RepeatArgs),
    /// List the outcomes: who proposed and who decided what, when, and for which compile
    List(ListOutcomesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProposeArgs {
    /// The text, as the model is to read it
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "file",
        allow_hyphen_values = true
    )]
    pub(crate) text: Option<String>,
    /// The file with the text, or `-` for standard input
    #[arg(long, value_name = "FILE|-", conflicts_with = "text", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// A name for it [default: made from the text]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The mistake that it corrects, in words: the same words again are a repeat
    #[arg(long, value_name = "TEXT")]
    pub(crate) mistake: Option<String>,
    /// The record of the compile that it is of
    #[arg(long, value_name = "RECORD_ID")]
    pub(crate) record: Option<String>,
    /// An object that it was made from (may be repeated): it is trusted no more, and shown to no more people, than that
    #[arg(long, value_name = "NAME|ID")]
    pub(crate) derived_from: Vec<String>,
    /// The one user who may see it [default: all]
    #[arg(long, value_name = "ID")]
    pub(crate) user: Option<String>,
    /// The one project that it is for [default: all]
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DecideArgs {
    /// The person who decides
    #[arg(long, value_name = "PERSON")]
    pub(crate) by: String,
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RepeatArgs {
    /// The record of the compile after which it was made again
    #[arg(long, value_name = "RECORD_ID")]
    pub(crate) record: Option<String>,
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListOutcomesArgs {
    /// Only those in this state: proposed, accepted, rejected or withdrawn
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}
