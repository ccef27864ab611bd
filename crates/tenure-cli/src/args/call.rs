//! The arguments of an operation: its form, and where it is done.

use clap::Args;

use super::Format;

// An operation that reads. Its form says what it does.
#[derive(Debug, Args)]
pub(crate) struct Call<O: Args> {
    #[command(flatten)]
    pub(crate) form: O,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

// An operation that writes.
#[derive(Debug, Args)]
pub(crate) struct Write<O: Args> {
    #[command(flatten)]
    pub(crate) form: O,
    #[command(flatten)]
    pub(crate) writing: WritingArgs,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

/// The store.
#[derive(Debug, Args)]
pub(crate) struct StoreUrl {
    /// The store, sqlite://PATH or postgres://… [default: the project's]
    ///
    /// The project's store is `.tenure/store.db` of the nearest folder upwards that has one, else of the current folder.
    #[arg(long, value_name = "URL", env = "TENURE_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct TenantArgs {
    #[command(flatten)]
    pub(crate) url: StoreUrl,
    /// The tenant
    #[arg(long, value_name = "T", default_value = "local")]
    pub(crate) tenant: String,
    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// Options of a write.
#[derive(Debug, Args)]
pub(crate) struct WritingArgs {
    /// An idempotency key: a repeated write with it has no further effect
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// The author, for the log
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
}
