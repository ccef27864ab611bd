//! The arguments of `tenure context`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{CallerArgs, CatalogueArgs, Format, RootArgs, SearchEmbedderArgs};

#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) command: ContextCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// Pack units of documents into a package
    ///
    /// Asks a selector of files (--source) or of the index (--path narrows it), searches the index by words (--search), or
    /// follows a manifest. What the budget leaves out is listed. The id is the digest of what is packed.
    Pack(Box<ContextPackArgs>),
    /// Activate a package: print it as Markdown, and record it for compiles
    ///
    /// The items are framed as data; --raw prints them plain. Works where the sources are gone or changed, and says so.
    /// `tenure compile --activation` takes what is activated.
    Activate(ContextActivateArgs),
    /// End an activation
    ///
    /// Further compiles do not have its items; what was sent stays. `activate` begins it again.
    Deactivate(ContextDeactivateArgs),
    /// Compare a package's items with their sources now: same, moved, changed, gone
    Explain(ContextOneArgs),
    /// Ask a package's recipes again, keep the result as its next version, and say what changed
    Refresh(ContextRefreshArgs),
    /// List the packages, or the activations
    List(ContextListArgs),
    /// Show a package with its items and what the budget left out
    Show(ContextOneArgs),
    /// Compare two packages item by item
    Diff(ContextDiffArgs),
    /// Put packages together, and say where they do not agree
    Merge(ContextMergeArgs),
    /// Write a package to a file
    Export(ContextExportArgs),
    /// Take a package from a file, once it is what its id names
    Import(ContextImportArgs),
    /// Assent to the proposed version of a reviewed package
    Accept(ContextAcceptArgs),
    /// Remove the packages that have expired, and name those that are due for review
    Sweep(ContextSweepArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ContextPackArgs {
    /// A selector, or a JSONPath that begins with `$`; with --search, words
    #[arg(value_name = "SELECTOR|WORDS", required_unless_present = "manifest")]
    pub(crate) query: Option<String>,
    /// A file or folder to read, without an index (may be repeated)
    #[arg(long = "source", value_name = "FILE", num_args = 1.., conflicts_with_all = ["paths", "search"], value_hint = ValueHint::AnyPath)]
    pub(crate) source_files: Vec<PathBuf>,
    /// Only in this file or folder of the index (may be repeated)
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Rank sections of the index by words
    #[arg(long)]
    pub(crate) search: bool,
    /// The most units that the query finds [default: 1000, with --search 10]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// A manifest in YAML or JSON
    ///
    /// Its keys: title, intent, namespace, budget, retrieval_recipes, name, retention, reviewed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["query", "source_files", "paths", "search", "limit"])]
    pub(crate) manifest: Option<PathBuf>,
    /// Its name, which versions share [default: from title or query]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The title
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Its use, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(crate) intent: Option<String>,
    /// A coordinate such as `project:plant` (may be repeated)
    ///
    /// project, user, agent, thread, task, or a word of one's own.
    #[arg(long = "namespace", value_name = "WORD:NAME")]
    pub(crate) coordinates: Vec<String>,
    /// The most items
    #[arg(long, value_name = "N")]
    pub(crate) max_items: Option<u32>,
    /// The most tokens of all texts together
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u32>,
    /// Tokens of --max-tokens that stay free
    #[arg(long, value_name = "N")]
    pub(crate) reserve: Option<u32>,
    /// The model whose tokens are counted, or a path to a tokenizer.json [default: gpt-4o]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The instant from which it is not activated any more
    #[arg(long, value_name = "T")]
    pub(crate) until: Option<String>,
    /// The instant from which it is due for review
    #[arg(long, value_name = "T")]
    pub(crate) review: Option<String>,
    /// New versions must be accepted by a person: for principles and norms
    #[arg(long)]
    pub(crate) reviewed: bool,
    /// Summaries from elsewhere, as JSON Lines of `{"digest": …, "summary": …}`
    ///
    /// The digest is that of the item's text, as `tenure context show --format json` has it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) summaries: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) embedder: SearchEmbedderArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// The meaning of labels.
#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// What labels and trust zones mean (TOML)
    ///
    /// Default: .tenure/labels.toml below the root, if there is one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) labels: Option<PathBuf>,
    /// A TOML file that names an external decision point, which may narrow what labels allow: `url`, `key_env`, `timeout_s`
    ///
    /// Off without this option. It is asked by POST {url}/decide about each item's path, name, labels and digest, never its
    /// text. Where it does not answer, nothing is allowed.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) decisions: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ContextActivateArgs {
    /// A package's id or the beginning of it, a name, or an exported file
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,
    /// Its place, such as `thread:wp-7`: its objects are seen there alone
    #[arg(
        long,
        value_name = "WORD:NAME",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) target: String,
    /// Print the items plain, for a person
    #[arg(long)]
    pub(crate) raw: bool,
    /// Name the items that the caller may not read
    #[arg(long)]
    pub(crate) operator: bool,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextDeactivateArgs {
    /// An activation's id or the beginning of it, or a target: all of its activations
    #[arg(value_name = "ACTIVATION|TARGET")]
    pub(crate) activation: String,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextOneArgs {
    /// A package's id or the beginning of it, a name, or an exported file
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextRefreshArgs {
    /// A package's id or the beginning of it, or a name
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,
    #[command(flatten)]
    pub(crate) embedder: SearchEmbedderArgs,
    #[command(flatten)]
    pub(crate) labels: LabelArgs,
    #[command(flatten)]
    pub(crate) caller: CallerArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextListArgs {
    /// List the activations instead
    #[arg(long)]
    pub(crate) activations: bool,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextDiffArgs {
    /// The first package
    #[arg(value_name = "BEFORE")]
    pub(crate) before: String,
    /// The second
    #[arg(value_name = "AFTER")]
    pub(crate) after: String,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextMergeArgs {
    /// The packages; where two have a unit with two texts, the one named first stands
    #[arg(value_name = "PACKAGE", required = true, num_args = 2..)]
    pub(crate) packages: Vec<String>,
    /// The name of the result
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextExportArgs {
    /// A package's id or the beginning of it, or a name
    #[arg(value_name = "PACKAGE")]
    pub(crate) package: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) root: RootArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ContextImportArgs {
    /// An exported package, or `-` for standard input
    #[arg(value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextAcceptArgs {
    /// A name, or the id of a proposal
    #[arg(value_name = "PROPOSAL")]
    pub(crate) package: String,
    /// Who assents
    #[arg(long, value_name = "WHO")]
    pub(crate) by: String,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct ContextSweepArgs {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) root: RootArgs,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
