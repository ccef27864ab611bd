//! The arguments of `tenure serve` and `tenure keys`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueHint};

use super::{CatalogueArgs, Format, RelevanceArgs, StoreUrl, origin};

/// The longest time that a limit may be, in seconds.
#[cfg(feature = "server")]
const LONGEST: u64 = tenure_server::Limits::LONGEST.as_secs();
#[cfg(not(feature = "server"))]
const LONGEST: u64 = u64::MAX;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The address and port to listen on
    ///
    /// Port 0 picks one. An address that other machines reach needs a key (`tenure keys create`) or --jwt.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// Record nothing; there are no keys
    #[arg(long, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// An upstream: openai=URL or anthropic=URL
    ///
    /// Or a URL alone, of what speaks both protocols. May be repeated.
    #[arg(long = "upstream", value_name = "NAME=URL")]
    pub(crate) upstreams: Vec<String>,
    /// A PEM file of authorities to trust for upstreams over TLS, in addition to the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) upstream_ca: Option<PathBuf>,
    /// Accept the tokens of an identity provider
    ///
    /// The TOML file describes it; the store's keys are accepted, too. May be repeated: a token (JWT) is checked against
    /// the file of its issuer only.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) jwt: Vec<PathBuf>,
    /// The gateway's mode: observe, fit or full
    ///
    /// observe only records requests; fit cuts those that exceed the model's window, as turns of a session; full also adds
    /// what the store knows, under the stored policy `gateway` if there is one.
    #[arg(long, value_name = "MODE", default_value = "observe")]
    pub(crate) mode: String,
    /// Refuse requests that cannot be compiled
    ///
    /// In `fit` and `full`; without it they are forwarded unchanged.
    #[arg(long)]
    pub(crate) fail_closed: bool,
    /// In `fit` and `full`: reject an answer with this fault, if it is not streamed (may be repeated):
    /// tool_not_offered, tool_left_out, arguments_no_object, arguments_schema, tool_not_called, response_schema,
    /// constraint_broken or constraint_unchecked
    #[arg(long = "reject", value_name = "FAULT")]
    pub(crate) rejects: Vec<String>,
    /// A role whose users decide between claims (may be repeated): `POST /api/v1/conflicts`, as far as they may see both
    ///
    /// Without it only an operator's key decides.
    #[arg(long = "resolver", value_name = "ROLE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) resolvers: Vec<String>,
    /// Let a user with the role `reviewer` decide on outcomes that the same user proposed
    ///
    /// Without it they decide on those of others alone.
    #[arg(long)]
    pub(crate) own_proposals: bool,
    /// The tenant while there are no keys; that of an agent which `tenure run` starts
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    /// A host name that requests may use (may be repeated), in addition to addresses and `localhost`
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// The largest request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) max_body: usize,
    /// The longest silence of an upstream, before its answer or within it, in seconds, at most a year
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=LONGEST))]
    pub(crate) upstream_timeout: u64,
    /// The seconds that requests may take to finish once the server is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) drain: u64,
    /// The most requests of one tenant in a minute [default: any number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: Option<u32>,
    /// Read the store's objects when the server starts, so that no query waits for it
    ///
    /// Of the first 16 tenants, in the background. 100,000 objects take two seconds and 480 MB, which the first query would take, too.
    #[arg(long, conflicts_with = "no_store")]
    pub(crate) warm: bool,
    /// Retire what has become too old in the store, as `tenure store sweep` does, each so many seconds; or off
    ///
    /// What is to be erased is proposed (`tenure review list`). Of several servers on one store one does it.
    #[arg(long, value_name = "SECONDS", default_value = "86400")]
    pub(crate) sweep_every: String,
    /// Erase in these sweeps what is to be erased
    #[arg(long)]
    pub(crate) sweep_hard_delete: bool,
    /// Drop the records of compiles and requests that are older than so many days, in the background; or off
    ///
    /// What is dropped can no longer be looked into or made again.
    #[arg(long, value_name = "DAYS", default_value = "30")]
    pub(crate) keep_records: String,
    /// Append a line for each request to this file
    ///
    /// The line has caller, operation and outcome, no contents.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// What is logged: off, error, warn or info
    ///
    /// JSON lines on the standard error, without contents: error is what failed on the server's side, info every request.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log: String,
    /// Send traces to this collector, as OTLP JSON over HTTP: http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Hold payloads to a quality metric (may be repeated): METRIC=LIMIT warns, METRIC=LIMIT:reject refuses
    #[arg(long = "quality", value_name = "METRIC=LIMIT[:reject]")]
    pub(crate) thresholds: Vec<String>,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
    #[command(flatten)]
    pub(crate) relevance: RelevanceArgs,
    /// The folder that keeps the originals of what is condensed with loss
    /// [default: the store, where there is one, else $XDG_STATE_HOME/tenure/originals]
    #[arg(long, value_name = "FOLDER", env = "TENURE_ORIGINALS", value_hint = ValueHint::DirPath)]
    pub(crate) originals: Option<PathBuf>,
    /// The file that holds the key of the frames [default: $XDG_STATE_HOME/tenure/frame-key]
    #[arg(long, value_name = "FILE", env = "TENURE_FRAME_KEY_FILE", value_hint = ValueHint::FilePath)]
    pub(crate) frame_key: Option<PathBuf>,
    /// The meaning of the labels of packages, a TOML file as for `tenure context`: it narrows what a caller may read of one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) labels: Option<PathBuf>,
    /// A folder whose packages operators of --tenant pack and activate at /mcp; its files are read for them
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) packages: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Make a key, and show it: this once
    Create(KeysCreateArgs),
    /// List the keys that there are, without what makes them secret
    List(KeysListArgs),
    /// Revoke a key: every server on the store refuses it within a second
    Revoke(KeysRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct KeysCreateArgs {
    /// The tenant that the key speaks for
    #[arg(long, value_name = "T")]
    pub(crate) tenant: String,
    /// The user that it speaks for [default: whom the request names]
    #[arg(long, value_name = "U")]
    pub(crate) user: Option<String>,
    /// The project that it speaks for [default: the one that the request names]
    #[arg(long, value_name = "P")]
    pub(crate) project: Option<String>,
    /// A role that it has (may be repeated)
    #[arg(long = "role", value_name = "R")]
    pub(crate) roles: Vec<String>,
    /// The most sensitive class that it may see: public, restricted, confidential or highly_restricted
    /// [default with --operator: every class]
    #[arg(long, value_name = "CLASS")]
    pub(crate) clearance: Option<String>,
    /// A web origin whose memory it may read (may be repeated)
    #[arg(long = "origin", value_name = "ORIGIN", value_parser = origin)]
    pub(crate) origins: Vec<String>,
    /// It may see objects tagged `pii`
    #[arg(long)]
    pub(crate) pii: bool,
    /// It may read and write all that the tenant has, past every access list
    #[arg(long)]
    pub(crate) operator: bool,
    /// It only reads: it writes nothing, and the gateway sends nothing for it; for the pages at /inspect
    #[arg(long)]
    pub(crate) read_only: bool,
    /// The expiry, in RFC 3339 with a zone, or a date [default: never]
    #[arg(long, value_name = "T")]
    pub(crate) expires: Option<String>,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KeysListArgs {
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct KeysRevokeArgs {
    /// The id of the key
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}
