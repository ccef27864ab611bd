//! The arguments of `tenure mcp`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{CallerArgs, CatalogueArgs, Format, StoreUrl};

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Offer these tools, with commas between them [default: all but `pack` and `activate`]
    #[arg(long, value_name = "TOOL,…", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// Print the tools with the tokens that their definitions cost, and serve nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// The registry that is the caller's working memory; the first write makes it
    #[arg(long, value_name = "LABEL", default_value = "agent")]
    pub(crate) registry: String,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The tenant
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    /// A file that leads to the conversation which a gateway keeps, where --session names none; `tenure run` makes one
    #[arg(long, value_name = "FILE", env = "TENURE_CONVERSATION", value_hint = ValueHint::FilePath)]
    pub(crate) conversation: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The folder that keeps the originals of what is condensed with loss [default: the store]
    #[arg(long, value_name = "FOLDER", env = "TENURE_ORIGINALS", value_hint = ValueHint::DirPath)]
    pub(crate) originals: Option<PathBuf>,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
    /// The format of --list
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
