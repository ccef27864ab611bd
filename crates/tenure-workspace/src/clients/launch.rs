//! A client that is started with the gateway: by its environment and arguments alone, so that no configuration is written.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use serde_json::json;
use tenure::error::unknown_name;
use tenure::{Error, ErrorKind};

use super::known::{Client, Places};

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
    /// The arguments that come before the user's.
    pub arguments: Vec<OsString>,
    /// The variables that are set for it.
    pub variables: Vec<(&'static str, String)>,
    /// The variable that it reads the key of its provider from, where it can have it from nowhere else.
    pub needs: Option<&'static str>,
}

impl Launch {
    /// Returns how to start a client so that its requests go to this address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when the client is not installed.
    pub fn of(agent: Agent, places: &Places, gateway: &str) -> Result<Launch, Error> {
        let name = agent.client().program();
        let program = places.program(name).ok_or_else(|| {
            Error::not_found(format!(
                "`{name}` is not installed: no folder of PATH has it"
            ))
        })?;
        let versioned = format!("{gateway}/v1");
        let (arguments, variables) = match agent {
            // The variable alone would lose against an address in the user's settings.
            Agent::Claude => {
                let settings = json!({ "env": { "ANTHROPIC_BASE_URL": gateway } });
                let settings = vec!["--settings".into(), settings.to_string().into()];
                (settings, vec![("ANTHROPIC_BASE_URL", gateway.to_owned())])
            }
            Agent::Codex => {
                let provider = [
                    ("name", "Tenure"),
                    ("base_url", &versioned),
                    ("env_key", "OPENAI_API_KEY"),
                    ("wire_api", "responses"),
                ];
                let settings = provider
                    .map(|(name, value)| format!("model_providers.tenure.{name}={}", json!(value)));
                let settings =
                    std::iter::once("model_provider=\"tenure\"".to_owned()).chain(settings);
                let arguments = settings.flat_map(|setting| ["-c".into(), setting.into()]);
                (arguments.collect(), Vec::new())
            }
            Agent::Opencode => {
                let options = json!({ "options": { "baseURL": versioned } });
                let settings = json!({ "provider": { "anthropic": options, "openai": options } });
                (
                    Vec::new(),
                    vec![("OPENCODE_CONFIG_CONTENT", settings.to_string())],
                )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_not_installed_is_named() {
        let places = Places::at(std::path::Path::new("/nowhere"));
        let error = Launch::of(Agent::Codex, &places, "http://127.0.0.1:1").unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
        assert!(error.what.contains("`codex`"), "{error}");
        let error = "cursor".parse::<Agent>().unwrap_err();
        assert!(error.to_string().contains("opencode"), "{error}");
    }
}
