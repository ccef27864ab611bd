//! The arguments of `tenure log`.

use clap::Args;

use super::TenantArgs;

#[derive(Debug, Args)]
pub(crate) struct ConversationArgs {
    /// The conversation of the newest request [default]
    #[arg(long, conflicts_with = "session")]
    pub(crate) last: bool,
    /// The conversation of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only this request, in full, by its number in the list
    #[arg(long, value_name = "N", value_parser = request_number)]
    pub(crate) request: Option<usize>,
    #[command(flatten)]
    pub(crate) tenant: TenantArgs,
}

fn request_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not the number of a request; expected a whole number from 1, as `tenure log` lists them")
    })
}
