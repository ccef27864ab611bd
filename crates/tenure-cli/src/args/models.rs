//! The arguments of `tenure models`, and those of every command that names a model.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Format;

/// The catalogue of models.
#[derive(Debug, Args)]
pub(crate) struct CatalogueArgs {
    /// A file of models, laid over the built-in ones
    ///
    /// Default: $XDG_CONFIG_HOME/tenure/models.toml, if there is one.
    #[arg(long, value_name = "FILE", env = "TENURE_CATALOGUE", value_hint = ValueHint::FilePath)]
    pub(crate) catalogue: Option<PathBuf>,
}

/// The source of vectors.
#[derive(Debug, Args)]
pub(crate) struct EmbedderArgs {
    /// A folder with a sentence encoder (model.onnx, tokenizer.json), or a TOML file that names one or an
    /// OpenAI-compatible endpoint for embeddings [default: the built-in table]
    #[arg(long, value_name = "FOLDER|FILE", env = "TENURE_EMBEDDER", value_hint = ValueHint::AnyPath)]
    pub(crate) embedder: Option<PathBuf>,
    /// The ONNX Runtime library that runs such models, as libonnxruntime.so; nothing is downloaded
    #[arg(long, value_name = "FILE", env = "ORT_DYLIB_PATH", value_hint = ValueHint::FilePath)]
    pub(crate) onnxruntime: Option<PathBuf>,
}

/// An encoder whose vectors rank a search. No variable of the environment names it: what a search finds would depend on that.
#[derive(Debug, Args)]
pub(crate) struct SearchEmbedderArgs {
    /// With --search, rank by the vectors of this encoder, too: a folder (model.onnx, tokenizer.json), or a TOML file that
    /// names one or an OpenAI-compatible endpoint
    #[arg(long, value_name = "FOLDER|FILE", value_hint = ValueHint::AnyPath)]
    pub(crate) embedder: Option<PathBuf>,
    /// The ONNX Runtime library that runs such models, as libonnxruntime.so; nothing is downloaded
    #[arg(long, value_name = "FILE", env = "ORT_DYLIB_PATH", value_hint = ValueHint::FilePath)]
    pub(crate) onnxruntime: Option<PathBuf>,
}

/// The source of relevance: vectors and terms, or a model that reads query and text.
#[derive(Debug, Args)]
pub(crate) struct RelevanceArgs {
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// A folder with a cross-encoder (model.onnx, tokenizer.json), or a TOML file that names one or a judge behind an
    /// OpenAI-compatible endpoint: its scores replace vectors and terms
    #[arg(long, value_name = "FOLDER|FILE", env = "TENURE_SCORER", value_hint = ValueHint::AnyPath)]
    pub(crate) scorer: Option<PathBuf>,
    /// A TOML file that names a model behind an OpenAI-compatible endpoint, which takes the task apart into questions:
    /// what one of them asks for is found as well
    #[arg(long, value_name = "FILE", env = "TENURE_DECOMPOSER", value_hint = ValueHint::FilePath)]
    pub(crate) decomposer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the known models
    List(ModelsListArgs),
    /// Show a model's entry, and its origin
    Show(ModelsShowArgs),
    /// List what is old, what has no price, and what your file changes of the built-in entries
    ///
    /// Fails where an entry or its prices are older than `--older-than` days, with `--strict` where anything is found.
    Check(ModelsCheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelsCheckArgs {
    /// The days after which an entry or its prices are old
    #[arg(long, value_name = "DAYS", default_value_t = 180)]
    pub(crate) older_than: u32,
    /// Fail on missing prices and on overrides, too
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsListArgs {
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsShowArgs {
    /// The model
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
