//! The arguments of `tenure review`.

use clap::{Args, Subcommand};
use tenure_operations::pending::{DecideProposal, GetProposal, ListProposals};

use super::{Call, Write};

#[derive(Debug, Args)]
pub(crate) struct ReviewArgs {
    #[command(subcommand)]
    pub(crate) command: ReviewCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ReviewCommand {
    List(Call<ListProposals>),
    Show(Call<GetProposal>),
    /// Do what is proposed
    ///
    /// An outcome is compiled, what was inferred is believed, what is too old is confirmed, an erasure is done, of two claims
    /// stands what `--stands` says, an entity is one of its own or what `--same-as` says. `review show` says it of each entry.
    Accept(Write<DecideProposal>),
    /// Do not do what is proposed
    ///
    /// An outcome is not compiled, what waits of an object is retracted, an erasure is not done. `review show` says it of each
    /// entry.
    Reject(Write<DecideProposal>),
    /// Compile neither of two claims until somebody decides again
    ///
    /// All other kinds go on waiting by themselves, and are not held.
    Hold(Write<DecideProposal>),
}
