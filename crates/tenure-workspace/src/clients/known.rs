//! The agents that setup knows: where each has its configuration, and the entries by which it uses Tenure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::error::unknown_name;
use tenure::{Error, ErrorKind};

use super::document::Form;

/// The name of Tenure's entries in the configuration of a client.
pub const ENTRY: &str = "tenure";
/// The address that `tenure serve` listens on where nobody says otherwise.
pub const GATEWAY: &str = "http://127.0.0.1:7878";

/// An agent whose configuration is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor, by MCP alone.
    Cursor,
    /// opencode.
    Opencode,
    /// Gemini CLI, by MCP alone.
    GeminiCli,
}

/// The way in which a client uses Tenure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Its requests go through the gateway.
    Gateway,
    /// It starts `tenure mcp` and has its tools.
    Mcp,
}

impl Way {
    /// Returns its name.
    pub fn term(self) -> &'static str {
        match self {
            Way::Gateway => "gateway",
            Way::Mcp => "mcp",
        }
    }
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 5] = [
        Client::ClaudeCode,
        Client::Codex,
        Client::Cursor,
        Client::Opencode,
        Client::GeminiCli,
    ];

    /// Returns its name.
    pub fn term(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude-code",
            Client::Codex => "codex",
            Client::Cursor => "cursor",
            Client::Opencode => "opencode",
            Client::GeminiCli => "gemini-cli",
        }
    }

    /// Returns the name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Client::ClaudeCode => "claude",
            Client::Codex => "codex",
            Client::Cursor => "cursor",
            Client::Opencode => "opencode",
            Client::GeminiCli => "gemini",
        }
    }

    /// Returns whether its requests can be sent through the gateway by its configuration.
    pub fn takes(self, way: Way) -> bool {
        way == Way::Mcp || !matches!(self, Client::Cursor | Client::GeminiCli)
    }
}

impl FromStr for Client {
    type Err = Error;

    fn from_str(text: &str) -> Result<Client, Error> {
        let found = Client::ALL.into_iter().find(|one| one.term() == text);
        let names = Client::ALL.into_iter().map(Client::term);
        found.ok_or_else(|| Error {
            kind: ErrorKind::Usage,
            ..unknown_name("client", text, names)
        })
    }
}

/// The places of a user that clients look at.
#[derive(Clone, Debug)]
pub struct Places {
    /// Their home.
    pub home: PathBuf,
    /// The folder of configurations: `$XDG_CONFIG_HOME`, or `~/.config`.
    pub config: PathBuf,
    /// The folder of Tenure's own state: `$XDG_STATE_HOME/tenure`, or `~/.local/state/tenure`.
    pub state: PathBuf,
    /// The folder that `CLAUDE_CONFIG_DIR` names.
    pub claude: Option<PathBuf>,
    /// The folder that `CODEX_HOME` names.
    pub codex: Option<PathBuf>,
    /// The folders that programs are looked for in, as `PATH` has them.
    pub path: OsString,
}

impl Places {
    /// Returns the places of a user with this home, none of them moved by a variable.
    pub fn at(home: &Path) -> Places {
        Places {
            home: home.to_owned(),
            config: home.join(".config"),
            state: home.join(".local/state/tenure"),
            claude: None,
            codex: None,
            path: OsString::new(),
        }
    }

    /// Returns the places of the user whom the process is of, as its variables say.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no home.
    pub fn of_process() -> Result<Places, Error> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or_else(|| {
            Error::input("no home folder: the configurations of clients are below it")
                .hint("set HOME to an absolute path")
        })?;
        let named = |variable: &str| {
            let path = PathBuf::from(std::env::var_os(variable)?);
            path.is_absolute().then_some(path)
        };
        let own = Places::at(&home);
        Ok(Places {
            config: named("XDG_CONFIG_HOME").unwrap_or(own.config),
            state: named("XDG_STATE_HOME").map_or(own.state, |state| state.join("tenure")),
            claude: named("CLAUDE_CONFIG_DIR"),
            codex: named("CODEX_HOME"),
            path: std::env::var_os("PATH").unwrap_or_default(),
            home,
        })
    }

    /// Returns the program of this name, where `PATH` has one that may be run.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        std::env::split_paths(&self.path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
            .find(|path| may_be_run(path))
    }

    /// Returns the file that makes the client use Tenure in this way.
    pub fn file(&self, client: Client, way: Way) -> PathBuf {
        match client {
            Client::ClaudeCode => match (way, &self.claude) {
                (Way::Mcp, None) => self.home.join(".claude.json"),
                (Way::Mcp, Some(folder)) => folder.join(".claude.json"),
                (Way::Gateway, _) => self.folder(client).join("settings.json"),
            },
            Client::Codex => self.folder(client).join("config.toml"),
            Client::Cursor => self.folder(client).join("mcp.json"),
            Client::GeminiCli => self.folder(client).join("settings.json"),
            Client::Opencode => {
                let with_comments = self.folder(client).join("opencode.jsonc");
                // A link that leads nowhere counts: it is an error later, and not another file.
                match with_comments.symlink_metadata() {
                    Ok(_) => with_comments,
                    Err(_) => self.folder(client).join("opencode.json"),
                }
            }
        }
    }

    /// Returns the folder that the client makes for itself.
    pub fn folder(&self, client: Client) -> PathBuf {
        let below = |folder: &str| self.home.join(folder);
        match client {
            Client::ClaudeCode => self.claude.clone().unwrap_or_else(|| below(".claude")),
            Client::Codex => self.codex.clone().unwrap_or_else(|| below(".codex")),
            Client::Cursor => below(".cursor"),
            Client::GeminiCli => below(".gemini"),
            Client::Opencode => self.config.join("opencode"),
        }
    }

    /// Returns whether the client is here: its program, or what it made for itself.
    pub fn has(&self, client: Client) -> bool {
        self.program(client.program()).is_some()
            || self.folder(client).is_dir()
            || self.file(client, Way::Mcp).exists()
    }
}

/// Returns whether a file is there and may be run.
fn may_be_run(path: &Path) -> bool {
    let Ok(found) = path.metadata() else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        found.is_file() && found.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    found.is_file()
}

/// The address and the program that a client is to use.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The gateway's address, without `/v1`.
    pub gateway: String,
    /// The program that serves tools.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// An entry of a configuration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The names that lead to it.
    pub path: Vec<String>,
    /// Its value.
    pub value: Value,
}

impl Entry {
    fn new(path: &[&str], value: Value) -> Entry {
        Entry {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            value,
        }
    }

    /// Returns its path as one word, for messages.
    pub fn name(&self) -> String {
        self.path.join(".")
    }
}

impl Client {
    /// Returns the form of its configuration.
    pub fn form(self) -> Form {
        match self {
            Client::Codex => Form::Toml,
            _ => Form::Json,
        }
    }

    /// Returns the entries by which it uses Tenure in this way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when it cannot.
    pub fn entries(self, way: Way, wanted: &Wanted) -> Result<Vec<Entry>, Error> {
        if !self.takes(way) {
            let what = format!(
                "{} has no setting for an address of its provider",
                self.term()
            );
            return Err(Error::new(ErrorKind::Usage, what).expected("--mcp"));
        }
        let (gateway, command, arguments) = (&wanted.gateway, &wanted.command, &wanted.arguments);
        let versioned = format!("{gateway}/v1");
        Ok(match (self, way) {
            (Client::ClaudeCode, Way::Gateway) => {
                vec![Entry::new(&["env", "ANTHROPIC_BASE_URL"], json!(gateway))]
            }
            (Client::Codex, Way::Gateway) => vec![
                Entry::new(&["model_provider"], json!(ENTRY)),
                Entry::new(
                    &["model_providers", ENTRY],
                    json!({
                        "name": "Tenure",
                        "base_url": versioned,
                        "env_key": "OPENAI_API_KEY",
                        "wire_api": "responses",
                    }),
                ),
            ],
            (_, Way::Gateway) => ["anthropic", "openai"]
                .map(|provider| {
                    let path = ["provider", provider, "options", "baseURL"];
                    Entry::new(&path, json!(versioned))
                })
                .into(),
            (Client::ClaudeCode, Way::Mcp) => vec![Entry::new(
                &["mcpServers", ENTRY],
                json!({ "type": "stdio", "command": command, "args": arguments }),
            )],
            (Client::Codex, Way::Mcp) => vec![Entry::new(
                &["mcp_servers", ENTRY],
                json!({ "command": command, "args": arguments }),
            )],
            (Client::Opencode, Way::Mcp) => {
                let mut line = vec![command];
                line.extend(arguments);
                let value = json!({ "type": "local", "command": line, "enabled": true });
                vec![Entry::new(&["mcp", ENTRY], value)]
            }
            (Client::Cursor | Client::GeminiCli, Way::Mcp) => vec![Entry::new(
                &["mcpServers", ENTRY],
                json!({ "command": command, "args": arguments }),
            )],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_offered() {
        for client in Client::ALL {
            assert_eq!(client.term().parse::<Client>().unwrap(), client);
            assert_eq!(serde_json::to_value(client).unwrap(), client.term());
        }
        let error = "claude".parse::<Client>().unwrap_err();
        assert!(error.to_string().contains("claude-code"), "{error}");
    }

    #[test]
    fn variables_move_the_files_of_their_client_alone() {
        let mut places = Places::at(Path::new("/home/ada"));
        let file = |places: &Places, client, way| places.file(client, way).display().to_string();
        assert_eq!(
            file(&places, Client::ClaudeCode, Way::Mcp),
            "/home/ada/.claude.json"
        );
        places.claude = Some("/c".into());
        places.codex = Some("/x".into());
        for (client, way, path) in [
            (Client::ClaudeCode, Way::Mcp, "/c/.claude.json"),
            (Client::ClaudeCode, Way::Gateway, "/c/settings.json"),
            (Client::Codex, Way::Mcp, "/x/config.toml"),
            (Client::Cursor, Way::Mcp, "/home/ada/.cursor/mcp.json"),
            (
                Client::GeminiCli,
                Way::Mcp,
                "/home/ada/.gemini/settings.json",
            ),
            (
                Client::Opencode,
                Way::Gateway,
                "/home/ada/.config/opencode/opencode.json",
            ),
        ] {
            assert_eq!(file(&places, client, way), path);
        }
    }

    #[test]
    fn who_has_no_address_to_set_says_so() {
        let wanted = Wanted {
            gateway: GATEWAY.into(),
            command: "tenure".into(),
            arguments: vec!["mcp".into()],
        };
        for client in Client::ALL {
            assert!(!client.entries(Way::Mcp, &wanted).unwrap().is_empty());
            let gateway = client.entries(Way::Gateway, &wanted);
            assert_eq!(gateway.is_ok(), client.takes(Way::Gateway), "{client:?}");
        }
        let error = Client::Cursor.entries(Way::Gateway, &wanted).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
    }
}
