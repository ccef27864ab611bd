//! The arguments of `tenure conflicts`.

use clap::{Args, Subcommand};
use tenure_operations::conflict::{ListConflicts, ResolveConflict};

use super::{Call, TenantArgs, Write};

#[derive(Debug, Args)]
pub(crate) struct ConflictsArgs {
    #[command(subcommand)]
    pub(crate) command: ConflictsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConflictsCommand {
    List(Call<ListConflicts>),
    /// Show what was ever judged of the claims of two objects
    Show(ShowConflictArgs),
    Resolve(Write<ResolveConflict>),
}

#[derive(Debug, Args)]
pub(crate) struct ShowConflictArgs {
    /// The name or id of the one object
    #[arg(value_name = "FIRST")]
    pub(crate) first: String,
    /// The name or id of the other
    #[arg(value_name = "SECOND")]
    pub(crate) second: String,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}
