//! A client that is started with the gateway: by its environment and arguments alone, so that no configuration is written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::json;
use tenure::error::unknown_name;
use tenure::{Error, ErrorKind};
use tenure_adapters::read::read_text;

use super::known::{Client, ENTRY, Entry, Places, Wanted, Way};

/// A client that can be started with the gateway.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
}

impl Agent {
    /// All of them.
    pub const ALL: [Agent; 3] = [Agent::Claude, Agent::Codex, Agent::Opencode];

    /// Returns the client whose configuration it has.
    pub fn client(self) -> Client {
        match self {
            Agent::Claude => Client::ClaudeCode,
            Agent::Codex => Client::Codex,
            Agent::Opencode => Client::Opencode,
        }
    }

    /// Returns the variables that name the address of its provider: where one is set, requests go on to it.
    pub fn addresses(self) -> &'static [(&'static str, &'static str)] {
        const ANTHROPIC: (&str, &str) = ("anthropic", "ANTHROPIC_BASE_URL");
        const OPENAI: (&str, &str) = ("openai", "OPENAI_BASE_URL");
        match self {
            Agent::Claude => &[ANTHROPIC],
            Agent::Codex => &[OPENAI],
            Agent::Opencode => &[ANTHROPIC, OPENAI],
        }
    }
}

impl FromStr for Agent {
    type Err = Error;

    fn from_str(text: &str) -> Result<Agent, Error> {
        let name = |one: &Agent| one.client().program();
        let found = Agent::ALL.into_iter().find(|one| name(one) == text);
        let names = Agent::ALL.iter().map(name);
        found.ok_or_else(|| Error {
            kind: ErrorKind::Usage,
            ..unknown_name("client", text, names)
        })
    }
}

/// The command that starts a client with a gateway.
#[derive(Debug)]
pub struct Launch {
    /// Its program.
    pub program: PathBuf,
    /// Its arguments: those of the user, and what names the gateway.
    pub arguments: Vec<OsString>,
    /// The variables that are set for it.
    pub variables: Vec<(&'static str, String)>,
    /// The variable that it reads the key of its provider from, where it can have it from nowhere else.
    pub needs: Option<&'static str>,
}

impl Launch {
    /// Returns how to start a client with these arguments so that its requests go to this address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when the client is not installed; [`ErrorKind::Input`] when settings that the user gives it
    /// cannot be read.
    pub fn of(
        agent: Agent,
        places: &Places,
        gateway: &str,
        arguments: Vec<OsString>,
    ) -> Result<Launch, Error> {
        let name = agent.client().program();
        let program = places.program(name).ok_or_else(|| {
            Error::not_found(format!(
                "`{name}` is not installed: no folder of PATH has it"
            ))
        })?;
        let (arguments, variables) = match agent {
            // The variable alone would lose against an address in the user's settings.
            Agent::Claude => (
                with_settings(gateway, arguments)?,
                vec![("ANTHROPIC_BASE_URL", gateway.to_owned())],
            ),
            Agent::Codex => {
                let versioned = format!("{gateway}/v1");
                let provider = [
                    ("name", "Tenure"),
                    ("base_url", &versioned),
                    ("env_key", "OPENAI_API_KEY"),
                    ("wire_api", "responses"),
                ];
                let settings = provider.map(|(name, value)| {
                    format!("model_providers.{ENTRY}.{name}={}", json!(value))
                });
                let named = format!("model_provider=\"{ENTRY}\"");
                let settings = std::iter::once(named).chain(settings);
                let settings = settings.flat_map(|setting| ["-c".into(), setting.into()]);
                (settings.chain(arguments).collect(), Vec::new())
            }
            Agent::Opencode => {
                let own = std::env::var(OPENCODE).unwrap_or_default();
                let content = with_gateway(Client::Opencode, gateway, &own);
                let content = content.map_err(|error| error.at(OPENCODE, None))?;
                (arguments, vec![(OPENCODE, content)])
            }
        };
        Ok(Launch {
            program,
            arguments,
            variables,
            needs: (agent == Agent::Codex).then_some("OPENAI_API_KEY"),
        })
    }
}

/// The variable that holds a configuration of opencode.
const OPENCODE: &str = "OPENCODE_CONFIG_CONTENT";

/// Returns a configuration in which the client's requests go through the gateway.
fn with_gateway(client: Client, gateway: &str, text: &str) -> Result<String, Error> {
    let wanted = Wanted {
        gateway: gateway.to_owned(),
        command: String::new(),
        arguments: Vec::new(),
    };
    let entries = client.entries(Way::Gateway, &wanted)?;
    let set = |text: String, entry: &Entry| client.form().set(&text, &entry.path, &entry.value);
    let text = entries.iter().try_fold(text.to_owned(), set)?;
    Ok(client.form().value(&text)?.to_string())
}

/// Returns the arguments of Claude Code with settings that name the gateway. Of two settings it takes the last, so those of
/// the user, a text or a file, become part of these.
fn with_settings(gateway: &str, arguments: Vec<OsString>) -> Result<Vec<OsString>, Error> {
    const OPTION: &str = "--settings";
    let mut own = None;
    let mut others = Vec::new();
    let mut given = arguments.into_iter();
    while let Some(argument) = given.next() {
        let joined = argument.to_str().and_then(|text| text.strip_prefix(OPTION));
        match joined {
            Some("") => own = given.next(),
            Some(rest) if rest.starts_with('=') => own = Some(rest[1..].into()),
            _ => others.push(argument),
        }
    }
    let text = match &own {
        None => String::new(),
        Some(own) => match own.to_str() {
            Some(text) if text.trim_start().starts_with('{') => text.to_owned(),
            _ => read_text(Path::new(own))?,
        },
    };
    let settings = with_gateway(Client::ClaudeCode, gateway, &text);
    let settings = settings.map_err(|error| error.at(OPTION, None))?;
    let first = [OPTION.into(), settings.into()];
    Ok(first.into_iter().chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_installed_is_named() {
        let places = Places::at(Path::new("/nowhere"));
        let launch = Launch::of(Agent::Codex, &places, "http://127.0.0.1:1", Vec::new());
        let error = launch.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(error.what.contains("`codex`"), "{error}");
        let error = "cursor".parse::<Agent>().unwrap_err();
        assert!(error.to_string().contains("opencode"), "{error}");
    }

    #[test]
    fn settings_of_the_user_stand_beside_the_gateway() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        std::fs::write(&file, "{\"model\": \"opus\"} // mine").unwrap();
        let file = file.display().to_string();
        let given = |arguments: &[&str]| {
            let arguments = arguments.iter().map(OsString::from).collect();
            with_settings("http://h", arguments).map(|all| {
                let all = all.into_iter().map(|one| one.into_string().unwrap());
                all.collect::<Vec<_>>()
            })
        };
        let env = "\"env\":{\"ANTHROPIC_BASE_URL\":\"http://h\"}";
        let alone = format!("{{{env}}}");
        assert_eq!(
            given(&["-p", "x"]).unwrap(),
            ["--settings", &alone, "-p", "x"]
        );
        let both = format!("{{{env},\"model\":\"opus\"}}");
        let joined = format!("--settings={file}");
        for own in [
            &["-p", "--settings", &file][..],
            &["-p", &joined],
            &["--settings", "{\"model\":\"opus\"}", "-p"],
        ] {
            assert_eq!(given(own).unwrap(), ["--settings", &both, "-p"]);
        }
        assert!(given(&["--settings", "/nowhere"]).is_err());
        assert!(given(&["--settings", "{"]).is_err());
    }
}
