//! The arguments of `tenure log`.

use clap::Args;

use super::TenantArgs;

const EXAMPLES: &str = "\
Examples:
  tenure log                                  the newest conversation, request by request
  tenure log --session ses-5f0c2a91           that of a session
  tenure log --request 7                      all that is known of its seventh request
  tenure log --last --format json             the records themselves
  tenure log --store postgres://db --tenant acme";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
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
