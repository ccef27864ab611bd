//! The arguments of `tenure trust`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::Format;

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// A folder, or what is found in one: .tenure/store.db, .tenure/context, .tenure/labels.toml, .tenure/index.db or
    /// tenure.toml
    #[arg(
        value_name = "PATH",
        required_unless_present = "list",
        conflicts_with = "list",
        value_hint = ValueHint::AnyPath
    )]
    pub(crate) paths: Vec<PathBuf>,
    /// Believe them no longer
    #[arg(long, conflicts_with = "list")]
    pub(crate) untrust: bool,
    /// List what you made or accepted, and what of it is not believed
    #[arg(long)]
    pub(crate) list: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
