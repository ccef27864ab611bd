//! The arguments of `tenure belief`.

use clap::{Args, Subcommand};

use super::{CallerArgs, ObjectArgs, WritingArgs};

#[derive(Debug, Args)]
pub(crate) struct BeliefArgs {
    #[command(subcommand)]
    pub(crate) command: BeliefCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BeliefCommand {
    /// Show a claim with the evidence for it and against it
    ///
    /// Evidence that shares an origin has one vote. An address counts by its site, what was inferred by what it was made
    /// from. What does not count says why. With --user and the like, what that caller may see counts, and nothing else is shown.
    Show(ShowBeliefArgs),
    /// Write the confidence that the evidence gives a claim into it
    ///
    /// Independent evidence has one vote each, by the quality of its source. Where nothing changes, nothing is written. What
    /// was inferred needs two votes. Claims that only their confidence tells apart are revised at once. With --user and the like, the answer shows the evidence that this caller may see; all of
    /// it counts.
    Revise(ReviseBeliefArgs),
    /// List the confidence that a claim had, and when
    Log(ObjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowBeliefArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviseBeliefArgs {
    #[command(flatten)]
    pub(crate) object: ObjectArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
}
