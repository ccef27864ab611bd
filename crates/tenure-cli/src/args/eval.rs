//! The arguments of `tenure eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{EmbedderArgs, Format, RelevanceArgs, tokens};

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: EvalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// How much of what queries need stands in a budget that is filled by rank
    Recall(RecallArgs),
    /// How similar the vectors find queries and what answers them, and what does not: what a
    /// threshold is chosen by
    Similarities(SimilaritiesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SimilaritiesArgs {
    /// JSON Lines, as for `recall`; or `-` for standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct RecallArgs {
    /// JSON Lines, a set on each: {"units": [{"id", "text", "speaker"?, "date"?, "name"?, "order"?}],
    /// "queries": [{"text", "relevant": [ids]}]}; or `-` for standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The budget; a unit costs a token for each four characters of `speaker: text`, rounded up
    #[arg(long, value_name = "N", value_parser = tokens, allow_hyphen_values = true)]
    pub(crate) budget: u32,
    /// Look at each unit by itself: no neighbours, no speakers
    #[arg(long, conflicts_with = "scorer")]
    pub(crate) alone: bool,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
