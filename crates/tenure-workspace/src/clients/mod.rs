//! The agents that use Tenure: their own configuration, set up and undone, and how one is started with the gateway.
//!
//! ```text
//! known.rs      the clients: files, entries
//! faults.rs     what can be wrong with a configuration
//! document.rs   a text whose entries are set and taken out (json.rs, toml.rs); the rest stays byte for byte
//! journal.rs    what each file was before
//! setup.rs      the plan of a setup or an undo, and doing it
//! diff.rs       the plan, as lines
//! launch.rs     a client started with its provider's address, without a configuration
//! handle.rs     by which its tools find the gateway's conversation
//! ```

mod diff;
mod document;
mod faults;
mod handle;
mod journal;
mod json;
mod known;
mod launch;
mod setup;
mod toml;

use std::path::PathBuf;

use serde::Serialize;
use tenure::Error;

pub use document::{Form, at};
pub use handle::{Conversation, HANDLE_VARIABLE, Handle};
pub use known::{Client, ENTRY, Entry, GATEWAY, Places, Wanted, Way, check_key};
pub use launch::{Agent, Beside, KEY_VARIABLE, Launch, codex_is_signed_in};
pub use setup::{Change, Plan};

/// A client's use of Tenure, as its configuration says.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Use {
    /// The client.
    pub client: Client,
    /// Its program, where there is one.
    pub program: Option<PathBuf>,
    /// True if it is here at all.
    pub installed: bool,
    /// The address that its requests go to, where its configuration names one.
    pub gateway: Option<String>,
    /// The program that it starts for tools.
    pub command: Option<String>,
    /// True if the entries are of `tenure setup`, which can undo them.
    pub undoable: bool,
}

impl Use {
    /// Reads the configuration of a client.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line when it is broken.
    pub fn of(places: &Places, client: Client) -> Result<Use, Error> {
        let found = |way: Way| -> Result<Option<serde_json::Value>, Error> {
            if !client.takes(way) {
                return Ok(None);
            }
            let path = places.file(client, way);
            if path.symlink_metadata().is_err() {
                return Ok(None);
            }
            let text = tenure_adapters::read::read_text(&path)?;
            let value = client.form().value(&text);
            value.map(Some).map_err(|error| setup::in_file(error, &path))
        };
        let named = |value: &Option<serde_json::Value>, path: &[&str]| {
            let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
            let found = at(value.as_ref()?, &path)?;
            // opencode has the program and its arguments in one list.
            let first = found.get(0).unwrap_or(found);
            first.as_str().map(str::to_owned)
        };
        let (gateway, mcp) = (found(Way::Gateway)?, found(Way::Mcp)?);
        let gateway = match client {
            Client::ClaudeCode => named(&gateway, &["env", "ANTHROPIC_BASE_URL"]),
            Client::Codex => named(&gateway, &["model_provider"])
                .and_then(|name| named(&gateway, &["model_providers", &name, "base_url"])),
            Client::Opencode => ["anthropic", "openai"]
                .into_iter()
                .find_map(|name| named(&gateway, &["provider", name, "options", "baseURL"])),
            Client::Cursor | Client::GeminiCli => None,
        };
        let servers = match client {
            Client::Codex => "mcp_servers",
            Client::Opencode => "mcp",
            _ => "mcpServers",
        };
        Ok(Use {
            client,
            program: places.program(client.program()),
            installed: places.has(client),
            gateway,
            command: named(&mcp, &[servers, ENTRY, "command"]),
            undoable: journal::Journal::read(places, client)?.is_some(),
        })
    }
}
