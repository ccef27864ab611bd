//! The arguments of `tenure index`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{Format, SearchEmbedderArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct IndexArgs {
    #[command(subcommand)]
    pub(crate) command: Option<IndexCommand>,
    /// Files and folders below the root
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// Also index what is ignored (.gitignore, .ignore, .git/info/exclude, your global excludes)
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// The folder that a tree of documents begins with.
#[derive(Debug, Args)]
pub(crate) struct RootArgs {
    /// The folder that paths begin with
    ///
    /// Its `.tenure` holds the index and the packages.
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) root: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum IndexCommand {
    /// Find units by a selector, or by words
    ///
    /// A selector says what a unit is: `sections[heading=Decision]`, `sections[heading~=policy] > code_blocks`.
    /// docs/reference/packages.md has the grammar.
    Query(IndexQueryArgs),
    /// List the files of the index
    List(IndexListArgs),
    /// Compare the index with the files
    Status(IndexStatusArgs),
}

#[derive(Debug, Args)]
pub(crate) struct IndexQueryArgs {
    /// A selector, or a JSONPath that begins with `$`; with --search, words
    #[arg(value_name = "SELECTOR|WORDS")]
    pub(crate) query: String,
    /// Rank sections by their nearness to words
    #[arg(long)]
    pub(crate) search: bool,
    /// Only in this file or folder of the index (may be repeated)
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// The most units
    #[arg(long, value_name = "N", default_value = "50")]
    pub(crate) limit: usize,
    /// Print the text of each unit, too
    #[arg(long)]
    pub(crate) text: bool,
    #[command(flatten)]
    pub(crate) embedder: SearchEmbedderArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct IndexListArgs {
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct IndexStatusArgs {
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
