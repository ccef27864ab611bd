//! The arguments of `tenure setup`, `tenure run` and `tenure doctor`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{CatalogueArgs, Format, ServeArgs, StoreUrl};

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// claude-code, codex, cursor, opencode or gemini-cli
    #[arg(value_name = "CLIENT")]
    pub(crate) client: String,
    /// It sends its requests through the gateway, which has to run (`tenure serve`)
    #[arg(long)]
    pub(crate) gateway: bool,
    /// It starts `tenure mcp`, and has its tools [default, where nothing is chosen]
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Take out what was set up
    ///
    /// A file that has not been changed since is restored byte for byte. Of one that was changed, the entries go and the
    /// change stays.
    #[arg(long, conflicts_with_all = ["gateway", "key", "mcp", "url", "store", "force"])]
    pub(crate) undo: bool,
    /// The gateway's address, without /v1 [default: http://127.0.0.1:7878]
    #[arg(long, value_name = "URL", requires = "gateway")]
    pub(crate) url: Option<String>,
    /// The key that the gateway asks for [default: TENURE_KEY]
    ///
    /// Setup writes it into the client's configuration, next to the provider's key, and hides it in its output;
    /// `--undo` removes it.
    #[arg(long, value_name = "KEY", requires = "gateway")]
    pub(crate) key: Option<String>,
    /// The store of the tools [default: that of the folder in which the client starts them]
    #[arg(long, value_name = "URL")]
    pub(crate) store: Option<String>,
    /// Write without asking
    #[arg(short, long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Show the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write even if the client is not installed
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// claude, codex or opencode
    #[arg(value_name = "CLIENT")]
    pub(crate) client: String,
    /// The client's own arguments, after `--`
    #[arg(value_name = "ARGS", last = true, value_hint = ValueHint::CommandWithArguments)]
    pub(crate) arguments: Vec<OsString>,
    /// Where the store has keys: the one that the client shows [default: one that opens this gateway alone]
    ///
    /// That one has the rights of the store's owner in --tenant.
    #[arg(long, value_name = "KEY", env = "TENURE_KEY", hide_env_values = true)]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The address and port that the gateway would listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub(crate) listen: String,
    /// An upstream, as for `tenure serve` (may be repeated) [default: those of Anthropic and OpenAI]
    #[arg(long = "upstream", value_name = "NAME=URL")]
    pub(crate) upstreams: Vec<String>,
    /// Also ask upstreams and a store on a server, over the network; no credentials go to upstreams
    #[arg(long)]
    pub(crate) online: bool,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
    /// The output format; JSON is for support, and holds no secrets
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
