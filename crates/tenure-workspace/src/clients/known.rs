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
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
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
    /// The key that the gateway asks for.
    pub key: Option<String>,
}

/// The header in which a gateway's key goes, beside the provider's own.
pub(super) const KEY_HEADER: &str = "x-tenure-key";
/// The place of a gateway's key in the provider of Codex's configuration.
const KEY_IN_PROVIDER: &str = "/http_headers/x-tenure-key";
/// The variable that holds the headers which Claude Code sends, a line each.
pub(super) const CLAUDE_HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// The longest key, in bytes.
const LONGEST_KEY: usize = 4096;

/// Checks that a text can be a key. What it is stands in no error.
///
/// # Errors
///
/// [`ErrorKind::Usage`] when it could not go in a header.
pub fn check_key(key: &str) -> Result<(), Error> {
    let is_one = |c: u8| c.is_ascii_graphic() && !matches!(c, b'\"' | b'\\');
    if !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(is_one) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Usage, "the key is none");
    Err(error.expected("a line as `tenure keys create` prints it"))
}

/// Returns headers of Claude Code with the gateway's key among them, in the place of one that was there.
pub(super) fn with_key(headers: &str, key: &str) -> String {
    let mut lines: Vec<String> = headers
        .lines()
        .filter(|line| {
            let name = line.split(':').next().unwrap_or_default().trim();
            !line.trim().is_empty() && !name.eq_ignore_ascii_case(KEY_HEADER)
        })
        .map(str::to_owned)
        .collect();
    lines.push(format!("{KEY_HEADER}: {key}"));
    lines.join("\n")
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

    /// Returns the value that it has where this one stands already: headers of the user stay beside the key's.
    pub(super) fn beside(&self, there: Option<&Value>) -> Value {
        match (self.key_line(), there.and_then(Value::as_str)) {
            (Some((_, key)), Some(there)) => json!(with_key(there, key)),
            _ => self.value.clone(),
        }
    }

    /// Returns what is left of a value that was changed since, without the key; none where the key is not in it.
    pub(super) fn taken_from(&self, there: &Value) -> Option<Value> {
        if let Some(key) = self.value.pointer(KEY_IN_PROVIDER) {
            let mut left = there.clone();
            let provider = left.as_object_mut()?;
            let headers = provider.get_mut("http_headers")?.as_object_mut()?;
            headers.remove(KEY_HEADER).filter(|found| found == key)?;
            if headers.is_empty() {
                provider.remove("http_headers");
            }
            return Some(left);
        }
        let (line, _) = self.key_line()?;
        let lines = there.as_str()?.lines();
        let left: Vec<&str> = lines.clone().filter(|one| *one != line).collect();
        (left.len() < lines.count()).then(|| json!(left.join("\n")))
    }

    /// Returns the header with the gateway's key, and the key, of an entry of such headers.
    fn key_line(&self) -> Option<(&str, &str)> {
        let is_own = self.path.last().is_some_and(|name| name == CLAUDE_HEADERS);
        let mut lines = self.value.as_str().filter(|_| is_own)?.lines();
        lines.find_map(|line| {
            let key = line.strip_prefix(KEY_HEADER)?.strip_prefix(": ")?;
            Some((line, key))
        })
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
                let address = Entry::new(&["env", "ANTHROPIC_BASE_URL"], json!(gateway));
                let key = wanted
                    .key
                    .as_ref()
                    .map(|key| Entry::new(&["env", CLAUDE_HEADERS], json!(with_key("", key))));
                std::iter::once(address).chain(key).collect()
            }
            (Client::Codex, Way::Gateway) => {
                let mut provider = json!({
                    "name": "Tenure",
                    "base_url": versioned,
                    "env_key": "OPENAI_API_KEY",
                    "wire_api": "responses",
                });
                if let Some(key) = &wanted.key {
                    provider["http_headers"] = json!({ KEY_HEADER: key });
                }
                vec![
                    Entry::new(&["model_provider"], json!(ENTRY)),
                    Entry::new(&["model_providers", ENTRY], provider),
                ]
            }
            (_, Way::Gateway) => ["anthropic", "openai"]
                .map(|provider| {
                    let [first, second, third] = ["provider", provider, "options"];
                    let address = [first, second, third, "baseURL"];
                    let header = [first, second, third, "headers", KEY_HEADER];
                    let key = wanted.key.as_ref().map(|key| Entry::new(&header, json!(key)));
                    std::iter::once(Entry::new(&address, json!(versioned))).chain(key)
                })
                .into_iter()
                .flatten()
                .collect(),
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
            key: None,
        };
        for client in Client::ALL {
            assert!(!client.entries(Way::Mcp, &wanted).unwrap().is_empty());
            let gateway = client.entries(Way::Gateway, &wanted);
            assert_eq!(gateway.is_ok(), client.takes(Way::Gateway), "{client:?}");
        }
        let error = Client::Cursor.entries(Way::Gateway, &wanted).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
    }

    #[test]
    fn a_key_stands_beside_the_headers_of_the_user() {
        assert_eq!(with_key("", "k"), "x-tenure-key: k");
        let own = "x-team: pumps\nX-Tenure-Key: old\n";
        assert_eq!(with_key(own, "k"), "x-team: pumps\nx-tenure-key: k");
        for none in ["", "a b", "a\nx-evil: 1", "a\"", "ä", &"k".repeat(5000)] {
            let error = check_key(none).unwrap_err();
            assert!(
                none.is_empty() || !error.to_string().contains(none),
                "{error}"
            );
        }
        check_key("tnr_00ff_aa").unwrap();
    }
}
