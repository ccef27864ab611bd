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
    /// A TOML file that names an OpenAI-compatible endpoint for embeddings [default: the built-in table]
    #[arg(long, value_name = "FILE", env = "TENURE_EMBEDDER", value_hint = ValueHint::FilePath)]
    pub(crate) embedder: Option<PathBuf>,
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
