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
    /// Show where a request's breakpoints go, and what each prefix costs
    ///
    /// Reads the body of a request, its bare array of messages, or what `tenure compile --format json`
    /// printed. What the model's cache holds, and how, is in the catalogue (`tenure models show`).
    Plan(CachePlanArgs),
    /// Say why a request misses the cache that the one before filled
    ///
    /// Names the first byte that differs in the provider's order (tools, system, messages), the object
    /// that it belongs to where a compile says it, the cause in the providers' words, and what is cached,
    /// rewritten and lost, with the price.
    Explain(CacheExplainArgs),
}

/// Of which model's cache, and in whose form.
#[derive(Debug, Args)]
pub(crate) struct CacheOf {
    /// A model of the catalogue [default: the one that the request names]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Whose messages: openai-chat, openai-responses, anthropic or gemini [default: as they look]
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// How long prefixes are kept, and where the turn goes.
#[derive(Debug, Args)]
pub(crate) struct CachePlanArgs {
    /// The request, or `-` for standard input
    #[arg(value_name = "FILE|-", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The request before this one: its marks keep their places
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) previous: Option<PathBuf>,
    /// How long prefixes are kept: 5m or 1h [default: the shortest that the model has]
    #[arg(long, value_name = "TTL")]
    pub(crate) ttl: Option<String>,
    /// How long what stands before the history is kept [default: as the rest]
    #[arg(long, value_name = "TTL")]
    pub(crate) floor_ttl: Option<String>,
    /// Let the provider mark the last block itself (Anthropic)
    #[arg(long)]
    pub(crate) automatic: bool,
    /// The turn stays where it is in the next request, as in a chat [default: unless a compile says what
    /// the turn is]
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
