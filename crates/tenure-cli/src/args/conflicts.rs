//! The arguments of `tenure conflicts`.

use clap::{Args, Subcommand, ValueEnum};

use super::{TenantArgs, WritingArgs};

#[derive(Debug, Args)]
pub(crate) struct ConflictsArgs {
    #[command(subcommand)]
    pub(crate) command: ConflictsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConflictsCommand {
    /// List the pairs of claims that cannot both hold, and which of the two stands
    ///
    /// What loses by its source is disputed, as both are where neither stands; all else that loses is overridden. A policy that
    /// quarantines what higher authority overrides acts in its own compiles: their traces say quarantined, the list does not.
    List(ListConflictsArgs),
    /// Show what was ever judged of the claims of two objects
    Show(ShowConflictArgs),
    /// Decide which of two claims stands
    ///
    /// The decision goes before authority, time and source, and stays as long as both objects claim what was decided between.
    /// Decisions that go round in a circle are refused, and so is one after which no claim on the slot stands.
    Resolve(ResolveConflictArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListConflictsArgs {
    /// List only those in which nothing says which stands
    #[arg(long)]
    pub(crate) unresolved: bool,
    /// List only those about the entity of this id, or about one that is merged with it
    #[arg(long, value_name = "ID")]
    pub(crate) entity: Option<String>,
    /// List only those on this slot
    #[arg(long, value_name = "NAME")]
    pub(crate) slot: Option<String>,
    /// List those of this instant in transaction time [default: now]
    #[arg(long, value_name = "T")]
    pub(crate) as_of: Option<String>,
    /// The most pairs [default: 50 as text, in JSON all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// List those behind this place, which a list that is cut ends with
    #[arg(long, value_name = "FIRST/SECOND")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stands {
    /// The claim of the object that is named first
    First,
    /// The claim of the other one
    Second,
    /// Both claims
    Both,
    /// None of the two
    Neither,
}

#[derive(Debug, Args)]
pub(crate) struct ResolveConflictArgs {
    /// The name or id of the one object
    #[arg(value_name = "FIRST")]
    pub(crate) first: String,
    /// The name or id of the other
    #[arg(value_name = "SECOND")]
    pub(crate) second: String,
    /// The one that stands
    #[arg(long, value_enum)]
    pub(crate) stands: Stands,
    /// A note on the decision
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}
