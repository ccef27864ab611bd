//! The arguments of `tenure cache`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{CatalogueArgs, Format};

#[derive(Debug, Args)]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    pub(crate) command: CacheCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show the best cache breakpoints of a request, and the cost of each prefix
    ///
    /// Reads the body of a request, its bare array of messages, or the output of `tenure compile --format json`. The
    /// rules of the model's cache are in the catalogue (`tenure models show`).
    Plan(CachePlanArgs),
    /// Explain why a request misses the cache that the previous one filled
    ///
    /// Names the first byte that differs in the provider's order (tools, system, messages), the object that it
    /// belongs to if a compile names it, the cause in the provider's words, and the tokens that are cached, rewritten
    /// and lost, with their price.
    Explain(CacheExplainArgs),
}

/// The model and the format of a request.
#[derive(Debug, Args)]
pub(crate) struct CacheOf {
    /// A model of the catalogue [default: the one that the request names]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The format of the messages: openai-chat, openai-responses, anthropic or gemini [default: detected]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Options of a plan: lifetimes, and the place of the turn.
#[derive(Debug, Args)]
pub(crate) struct CachePlanArgs {
    /// The request, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The request before this one: its marks keep their places
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) previous: Option<PathBuf>,
    /// The lifetime of prefixes: 5m or 1h [default: the model's shortest]
    #[arg(long, value_name = "TTL")]
    pub(crate) ttl: Option<String>,
    /// The lifetime of the prefix before the history [default: as --ttl]
    #[arg(long, value_name = "TTL")]
    pub(crate) floor_ttl: Option<String>,
    /// Let the provider mark the last block itself (Anthropic)
    #[arg(long)]
    pub(crate) automatic: bool,
    /// Assume that the turn stays in place in the next request, as in a chat [default: yes, unless a compile says
    /// what the turn is]
    #[arg(long)]
    pub(crate) turn_stays: bool,
    /// Print the body with its marks instead
    #[arg(long)]
    pub(crate) apply: bool,
    #[command(flatten)]
    pub(crate) of: CacheOf,
}

#[derive(Debug, Args)]
pub(crate) struct CacheExplainArgs {
    /// The request that was sent before
    #[arg(value_name = "BEFORE", value_hint = ValueHint::FilePath)]
    pub(crate) before: PathBuf,
    /// The request after it
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    pub(crate) after: PathBuf,
    #[command(flatten)]
    pub(crate) of: CacheOf,
}
