//! The arguments of `tenure log`.

use clap::Args;

use super::{CatalogueArgs, TenantArgs};

#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    /// The conversation of the newest request [default]
    #[arg(long, conflicts_with = "session")]
    pub(crate) last: bool,
    /// The conversations there are, the newest first, and the sessions of which no request is recorded
    #[arg(long, conflicts_with_all = ["session", "last", "request"])]
    pub(crate) list: bool,
    /// The conversation of this session, also one that was imported
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this request, item by item and in full, by its number in the list
    #[arg(long, value_name = "N", value_parser = request_number)]
    pub(crate) request: Option<usize>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
    #[command(flatten)]
    pub(crate) catalogue: CatalogueArgs,
}

fn request_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not the number of a request; expected a whole number from 1, as `tenure log` lists them")
    })
}
