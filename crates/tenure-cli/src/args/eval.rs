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
    /// Measure the share of relevant units within a budget that is filled by rank
    Recall(RecallArgs),
    /// Measure the similarity of queries to relevant and to other units, to choose a threshold
    Similarities(SimilaritiesArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SimilaritiesArgs {
    /// JSON Lines, as for `recall`; or `-` for standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// The output format
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
    /// Rank each unit by itself, without its neighbours and section
    #[arg(long, conflicts_with = "scorer")]
    pub(crate) alone: bool,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
