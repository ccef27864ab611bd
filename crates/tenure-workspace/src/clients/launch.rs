//! A client that is started with the gateway: by its environment and arguments alone, so that no configuration is written.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::{Value, json};
use tenure::error::unknown_name;
use tenure::{Error, ErrorKind};
use tenure_adapters::read::read_text;

use super::document::at;
use super::handle::HANDLE_VARIABLE;
use super::known::{CLAUDE_HEADERS, Client, ENTRY, KEY_HEADER, Places, Wanted, Way, with_key};

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
    /// Returns how to start a client with these arguments so that its requests go to this gateway. A key goes by variables
    /// alone: arguments can be read by whoever lists processes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when the client is not installed; [`ErrorKind::Input`] when settings that the user gives it
    /// cannot be read; [`ErrorKind::Policy`] when its settings would take the place of the key.
    pub fn of(
        agent: Agent,
        places: &Places,
        gateway: &Beside,
        arguments: Vec<OsString>,
    ) -> Result<Launch, Error> {
        let Beside { url, key, .. } = gateway;
        let name = agent.client().program();
        let program = places.program(name).ok_or_else(|| {
            Error::not_found(format!(
                "`{name}` is not installed: no folder of PATH has it"
            ))
        })?;
        let mut variables = Vec::new();
        let arguments = match agent {
            // The variable alone would lose against an address in the user's settings.
            Agent::Claude => {
                variables.push(("ANTHROPIC_BASE_URL", url.clone()));
                if let Some(key) = key {
                    let own = std::env::var(CLAUDE_HEADERS).unwrap_or_default();
                    variables.push((CLAUDE_HEADERS, with_key(&own, key)));
                }
                let (arguments, settings) = with_settings(url, arguments)?;
                if key.is_some() {
                    check_headers(places, &settings)?;
                }
                arguments
            }
            Agent::Codex => {
                let versioned = format!("{url}/v1");
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
                let mut settings: Vec<String> = std::iter::once(named).chain(settings).collect();
                if let Some(key) = key {
                    variables.push((KEY_VARIABLE, key.clone()));
                    let header = format!("{{{}={}}}", json!(KEY_HEADER), json!(KEY_VARIABLE));
                    settings.push(format!("model_providers.{ENTRY}.env_http_headers={header}"));
                }
                settings.extend(gateway.handle.as_ref().and_then(|_| passed_on(places)));
                settings
                    .into_iter()
                    .flat_map(|setting| ["-c".into(), setting.into()])
                    .chain(arguments)
                    .collect()
            }
            Agent::Opencode => {
                let own = std::env::var(OPENCODE).unwrap_or_default();
                let content = with_gateway(Client::Opencode, url, key.as_deref(), &own)
                    .map_err(|error| error.at(OPENCODE, None))?;
                variables.push((OPENCODE, content));
                arguments
            }
        };
        if let Some(handle) = &gateway.handle {
            let path = handle.to_str().ok_or_else(|| {
                Error::input("the folder of temporary files has no path in UTF-8")
            })?;
            variables.push((HANDLE_VARIABLE, path.to_owned()));
        }
        Ok(Launch {
            program,
            arguments,
            variables,
            needs: (agent == Agent::Codex).then_some("OPENAI_API_KEY"),
        })
    }
}

/// The gateway that a client is started with.
#[derive(Clone, Default, Debug)]
pub struct Beside {
    /// Its address, without `/v1`.
    pub url: String,
    /// The key that it asks for.
    pub key: Option<String>,
    /// The file by which the client's tools find the conversation that the gateway is at.
    pub handle: Option<PathBuf>,
}

/// The variable that holds a configuration of opencode.
const OPENCODE: &str = "OPENCODE_CONFIG_CONTENT";
/// The variable that holds the key of a gateway.
pub const KEY_VARIABLE: &str = "TENURE_KEY";

/// Returns whether Codex has no key of OpenAI's but a login with ChatGPT, whose requests go to an address of their own.
pub fn codex_is_signed_in(places: &Places) -> bool {
    let file = places.folder(Client::Codex).join("auth.json");
    let text = read_text(&file).unwrap_or_default();
    let login: Value = serde_json::from_str(&text).unwrap_or_default();
    login["tokens"].is_object() && !login["OPENAI_API_KEY"].is_string()
}

/// Returns the setting by which Codex passes the handle on to Tenure's tools, where it has them: to the servers that it
/// starts it passes the variables alone that are named to it.
fn passed_on(places: &Places) -> Option<String> {
    let text = read_text(&places.file(Client::Codex, Way::Mcp)).ok()?;
    let value = Client::Codex.form().value(&text).ok()?;
    let server = value.get("mcp_servers")?.get(ENTRY)?;
    let mut named = server.get("env_vars").and_then(Value::as_array).cloned().unwrap_or_default();
    // Others are written in a form of their own, which is left alone.
    if !named.iter().all(Value::is_string) {
        return None;
    }
    named.push(json!(HANDLE_VARIABLE));
    let named = Value::Array(named);
    Some(format!("mcp_servers.{ENTRY}.env_vars={named}"))
}

/// Refuses settings of Claude Code that name headers: those would take the place of the variable with the key.
fn check_headers(places: &Places, given: &str) -> Result<(), Error> {
    let own = places.file(Client::ClaudeCode, Way::Gateway);
    let here = ["settings.json", "settings.local.json"].map(|name| Path::new(".claude").join(name));
    let texts = std::iter::once(own).chain(here).map(|file| {
        (
            file.display().to_string(),
            read_text(&file).unwrap_or_default(),
        )
    });
    for (name, text) in texts.chain([("--settings".to_owned(), given.to_owned())]) {
        let value = Client::ClaudeCode.form().value(&text).unwrap_or_default();
        let path = ["env".to_owned(), CLAUDE_HEADERS.to_owned()];
        if at(&value, &path).is_some() {
            let what = format!(
                "the settings of Claude Code name {CLAUDE_HEADERS}, which would take the place of the gateway's key"
            );
            let error = Error::new(ErrorKind::Policy, what).at(name, None);
            return Err(error.hint(format!(
                "set {CLAUDE_HEADERS} as a variable for this run: it goes beside the key"
            )));
        }
    }
    Ok(())
}

/// Returns a configuration in which the client's requests go through the gateway.
fn with_gateway(
    client: Client,
    gateway: &str,
    key: Option<&str>,
    text: &str,
) -> Result<String, Error> {
    let wanted = Wanted {
        gateway: gateway.to_owned(),
        command: String::new(),
        arguments: Vec::new(),
        key: key.map(str::to_owned),
    };
    let entries = client.entries(Way::Gateway, &wanted)?;
    let text = entries.iter().try_fold(text.to_owned(), |text, entry| {
        client.form().set(&text, &entry.path, &entry.value)
    })?;
    Ok(client.form().value(&text)?.to_string())
}

/// Returns the arguments of Claude Code with settings that name the gateway, and the settings. Of two settings it takes the
/// last, so those of the user, a text or a file, become part of these.
fn with_settings(
    gateway: &str,
    arguments: Vec<OsString>,
) -> Result<(Vec<OsString>, String), Error> {
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
    let settings = with_gateway(Client::ClaudeCode, gateway, None, &text)
        .map_err(|error| error.at(OPTION, None))?;
    let first = [OPTION.into(), settings.clone().into()];
    Ok((first.into_iter().chain(others).collect(), settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_installed_is_named() {
        let places = Places::at(Path::new("/nowhere"));
        let launch = Launch::of(Agent::Codex, &places, &Beside::default(), Vec::new());
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
            with_settings("http://h", arguments).map(|(all, _)| {
                all.into_iter().map(|one| one.into_string().unwrap()).collect::<Vec<_>>()
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
