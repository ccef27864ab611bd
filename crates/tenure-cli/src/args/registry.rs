//! The arguments of `tenure import` and `tenure registry`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use tenure_operations::registry::CreateRegistry;

use super::{CatalogueArgs, Format, ReadingArgs, RelevanceArgs};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Files and folders, as `compile` takes them
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// The snapshot to put the blocks into; it is created if missing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) snapshot: PathBuf,
    /// The registry; it is created if missing
    #[arg(long, value_name = "LABEL", default_value = "main")]
    pub(crate) registry: String,
    /// Take only the block of this name (may be repeated)
    #[arg(long = "block", value_name = "NAME")]
    pub(crate) blocks: Vec<String>,
    /// The tenant of objects that name none [default: local]
    #[arg(long, value_name = "T")]
    pub(crate) tenant: Option<String>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// The file that holds the workspace's key [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RegistryArgs {
    #[command(subcommand)]
    pub(crate) command: RegistryCommand,
}

/// The registry of a snapshot, and the registry that acts.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// The snapshot
    #[arg(value_name = "SNAPSHOT", value_hint = ValueHint::FilePath)]
    pub(crate) snapshot: PathBuf,
    /// The registry [default: the only one]
    #[arg(long, value_name = "LABEL")]
    pub(crate) registry: Option<String>,
    /// The registry to act as [default: the registry itself]
    #[arg(long = "as", value_name = "LABEL")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RegistryCommand {
    /// Add an empty registry to a snapshot
    Create(CreateArgs),
    /// List the blocks in order, or print one
    Show(ShowArgs),
    /// Move blocks, as one group in the order given
    Promote(PromoteArgs),
    /// Reorder blocks among the places that they hold together
    Reorder(BlocksArgs),
    /// Write a block
    Write(WriteArgs),
    /// Change the text of a block that an agent wrote
    Revise(ReviseArgs),
    /// Override a block's name, priority or protection
    Set(SetArgs),
    /// Set the texts before and after all blocks; an omitted one is removed
    Wrap(WrapArgs),
    /// Set the most bytes that the registry should hold; nothing is evicted by that
    Limit(LimitArgs),
    /// Evict blocks by name, or the least valuable ones until a limit is kept
    Evict(EvictArgs),
    /// Remove every block that was written in a run
    Rollback(RollbackArgs),
    /// Report the origin of every block
    Report(TargetOnly),
    /// Show which blocks pass a relevance gate; nothing is changed
    Gate(GateArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TargetOnly {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The snapshot; it is created if missing
    #[arg(value_name = "SNAPSHOT", value_hint = ValueHint::FilePath)]
    pub(crate) snapshot: PathBuf,
    #[command(flatten)]
    pub(crate) form: CreateRegistry,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The block to print
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// List only the blocks with this tag
    #[arg(long, value_name = "TAG", conflicts_with = "name")]
    pub(crate) tag: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BlocksArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The blocks, in order
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PromoteArgs {
    #[command(flatten)]
    pub(crate) blocks: BlocksArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Move N places towards the front, or, if negative, towards the back
    #[arg(long, value_name = "N", allow_hyphen_values = true, group = "place")]
    pub(crate) steps: Option<i32>,
}

/// The target position of blocks.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Before all others
    #[arg(long, group = "place")]
    pub(crate) front: bool,
    /// After all others
    #[arg(long, group = "place")]
    pub(crate) back: bool,
    /// To this position, counted from 0
    #[arg(long, value_name = "N", group = "place")]
    pub(crate) to: Option<u32>,
    /// Right before this block
    #[arg(long, value_name = "NAME", group = "place")]
    pub(crate) before: Option<String>,
    /// Right after this block
    #[arg(long, value_name = "NAME", group = "place")]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TextArgs {
    /// The text
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    pub(crate) text: Option<String>,
    /// The file that holds the text, or `-` for standard input
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The block's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) text: TextArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The type of the block [default: rule]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) object_type: Option<String>,
    /// The run in which it is written
    #[arg(long, value_name = "RUN")]
    pub(crate) trajectory: Option<String>,
    /// A tag to find it by (may be repeated)
    #[arg(long = "tag", value_name = "TAG")]
    pub(crate) tags: Vec<String>,
    /// The priority, from 0 to 1 [default: 0.5]
    #[arg(long, value_name = "X")]
    pub(crate) priority: Option<String>,
    /// Let only its author remove, move or reword it, and make it mandatory
    #[arg(long)]
    pub(crate) not_removable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReviseArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The block
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) text: TextArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The block
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Another name
    #[arg(long, value_name = "NAME")]
    pub(crate) rename: Option<String>,
    /// Another priority, from 0 to 1
    #[arg(long, value_name = "X")]
    pub(crate) priority: Option<String>,
    /// none, pinned or verbatim
    #[arg(long, value_name = "PROTECTION")]
    pub(crate) protection: Option<String>,
    /// Whether others may remove it
    #[arg(long, value_name = "BOOL")]
    pub(crate) removable: Option<bool>,
    /// Remove earlier overrides
    #[arg(long)]
    pub(crate) reset: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WrapArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The text before
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) prefix: Option<String>,
    /// The text after
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) suffix: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LimitArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The most bytes [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct EvictArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The blocks
    #[arg(
        value_name = "NAME",
        required_unless_present = "until",
        conflicts_with = "until"
    )]
    pub(crate) names: Vec<String>,
    /// Also evict blocks that are not removable, as their author
    #[arg(long, conflicts_with = "until")]
    pub(crate) force: bool,
    /// Evict the least valuable blocks until N blocks are left
    #[arg(long, value_name = "N", group = "until")]
    pub(crate) until_blocks: Option<usize>,
    /// Evict the least valuable blocks until N bytes are left
    #[arg(long, value_name = "N", group = "until")]
    pub(crate) until_bytes: Option<u64>,
    /// Evict the least valuable blocks until N tokens are left
    #[arg(long, value_name = "N", group = "until")]
    pub(crate) until_tokens: Option<u64>,
    /// The model whose tokens are counted
    #[arg(long, value_name = "NAME", default_value = "gpt-4o")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The run
    #[arg(value_name = "RUN")]
    pub(crate) trajectory: String,
}

#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// The task that blocks should be near to
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) limits: GateLimits,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
}

/// Limits of a relevance gate.
#[derive(Debug, Args)]
pub(crate) struct GateLimits {
    /// Let only the N nearest blocks pass
    #[arg(long, value_name = "N")]
    pub(crate) top_k: Option<u32>,
    /// Let only blocks pass with at least this relevance; the nearest has 1
    #[arg(long, value_name = "X")]
    pub(crate) threshold: Option<String>,
    /// Offer only the N tools that are nearest to the task and its current step
    #[arg(long, value_name = "N")]
    pub(crate) tools_top_k: Option<u32>,
    /// Offer only tools with at least this relevance among the tools; the nearest has 1
    #[arg(long, value_name = "X")]
    pub(crate) tools_threshold: Option<String>,
}
