//! The arguments of `tenure models`, and the catalogue of whoever names a model.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Format;

/// Which models there are.
#[derive(Debug, Args)]
pub(crate) struct CatalogueArgs {
    /// A file of models, laid over the built-in ones [default: $XDG_CONFIG_HOME/tenure/models.toml,
    /// if there is one]
    #[arg(long, value_name = "FILE", env = "TENURE_CATALOGUE", value_hint = ValueHint::FilePath)]
    pub(crate) catalogue: Option<PathBuf>,
}

/// Where vectors come from.
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

/// Where relevance comes from: vectors and terms, or somebody who reads query and text.
#[derive(Debug, Args)]
pub(crate) struct RelevanceArgs {
    #[command(flatten)]
    pub(crate) embedder: EmbedderArgs,
    /// A folder with a cross-encoder (model.onnx, tokenizer.json), or a TOML file that names one or a judge
    /// behind an OpenAI-compatible endpoint: what it says takes the place of vectors and terms
    #[arg(long, value_name = "FOLDER|FILE", env = "TENURE_SCORER", value_hint = ValueHint::AnyPath)]
    pub(crate) scorer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsArgs {
    #[command(subcommand)]
    pub(crate) command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that are known
    List(ModelsListArgs),
    /// Show what is known of a model, and where it comes from
    Show(ModelsShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelsListArgs {
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// How to print the list
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
    /// How to print it
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
