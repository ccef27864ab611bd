//! The arguments of `tenure report`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{CatalogueArgs, StoreUrl};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A trace or the output of a compile as JSON (`-` for standard input), or the id of a record or of a session in the
    /// store
    #[arg(value_name = "TRACE|RECORD|SESSION", value_hint = ValueHint::AnyPath)]
    pub(crate) what: String,
    /// Write the page to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,
    /// Lay the weights in this JSON file over the payload (`-` for standard input), and list important text that got little
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) attention: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The tenant
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}
