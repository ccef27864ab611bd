//! The arguments of `tenure belief`.

use clap::{Args, Subcommand};
use tenure_operations::belief::{GetBelief, ReviseBelief};

use super::{Call, CallerArgs, ObjectArgs, Write};

#[derive(Debug, Args)]
pub(crate) struct BeliefArgs {
    #[command(subcommand)]
    pub(crate) command: BeliefCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BeliefCommand {
    Show(ShowBeliefArgs),
    Revise(ReviseBeliefArgs),
    /// List the confidence that a claim had, and when
    Log(ObjectArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowBeliefArgs {
    #[command(flatten)]
    pub(crate) call: Call<GetBelief>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReviseBeliefArgs {
    #[command(flatten)]
    pub(crate) call: Write<ReviseBelief>,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
}
