//! The arguments of `tenure belief`.

use clap::{Args, Subcommand};

use super::{ObjectArgs, WritingArgs};

#[derive(Debug, Args)]
pub(crate) struct BeliefArgs {
    #[command(subcommand)]
    pub(crate) command: BeliefCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BeliefCommand {
    /// Show a claim with the evidence for it and against it
    Show(ObjectArgs),
    /// Write the confidence that the evidence gives a claim into it
    ///
    /// Each origin has one vote, by the quality of its source. Repeating it changes nothing. What was inferred needs
    /// evidence of two origins.
    Revise(ReviseBeliefArgs),
    /// List the confidence that a claim had, and when
    Log(ObjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReviseBeliefArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}
