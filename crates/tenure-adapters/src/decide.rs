//! An external point that decides who may pack and who may read: a service that is asked about each item, behind the labels.
//! It can only narrow what they allow. It is off by default: it takes a file of settings. Any failure denies.
//!
//! ```
//! use tenure::{Error, Principal, package::Action};
//! use tenure_adapters::decide::{AskedItem, Decider};
//!
//! struct NoDrafts;
//!
//! impl Decider for NoDrafts {
//!     fn decide(&self, _: Action, _: &Principal, items: &[AskedItem<'_>]) -> Result<Vec<bool>, Error> {
//!         Ok(items.iter().map(|item| !item.path.starts_with("drafts/")).collect())
//!     }
//! }
//! ```

use std::path::Path;

use serde::Serialize;
use tenure::package::{Action, UnitKind};
use tenure::{Digest, Error, Principal};

#[cfg(feature = "http")]
pub use service::Service;

/// An item that is asked about. Its text is no part of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AskedItem<'i> {
    /// The digest of its text.
    pub digest: Digest,
    /// The labels that its document had when it was packed.
    pub labels: &'i [String],
    /// Its headings, the outermost first, or its name.
    pub name: &'i str,
    /// The path of its file, relative to the root.
    pub path: &'i str,
    /// The kind of the unit.
    pub unit_kind: UnitKind,
}

/// Decides about items.
pub trait Decider: Send + Sync {
    /// Returns for each item, in their order, whether the caller may do this with it.
    ///
    /// # Errors
    ///
    /// Any failure of the decision point. The caller then denies, and fails with this error.
    fn decide(
        &self,
        action: Action,
        caller: &Principal,
        items: &[AskedItem<'_>],
    ) -> Result<Vec<bool>, Error>;
}

/// Opens what this TOML file names: a service (`url`), with the variable that holds its key (`key_env`) and how long it may
/// take (`timeout_s`).
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line;
/// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) in a build without the feature `http`.
pub fn open(path: &Path) -> Result<Box<dyn Decider>, Error> {
    #[cfg(feature = "http")]
    {
        use crate::settings::{in_file, variable};
        let text = crate::read::read_text(path)?;
        let service = Service::from_toml(&text, &variable);
        Ok(Box::new(service.map_err(in_file(path, service::WHAT))?))
    }
    #[cfg(not(feature = "http"))]
    {
        let _ = path;
        Err(crate::without_http())
    }
}

#[cfg(feature = "http")]
mod service {
    use serde::{Deserialize, Serialize};
    use tenure::package::Action;
    use tenure::{Error, Principal};

    use super::{AskedItem, Decider};
    use crate::openai::{self, Answer, Api};
    use crate::settings::from_toml;

    /// The word that an error has for settings whose file it does not know.
    pub(super) const WHAT: &str = "decision point";
    /// The most bytes of an answer.
    const MAX_ANSWER: usize = 1 << 20;

    /// A service that is asked by `POST {url}/decide`.
    #[derive(Debug)]
    pub struct Service(Api);

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        url: String,
        key_env: Option<String>,
        #[serde(default = "openai::timeout")]
        timeout_s: u64,
    }

    #[derive(Serialize)]
    struct Question<'q> {
        action: Action,
        caller: &'q Principal,
        items: &'q [AskedItem<'q>],
    }

    #[derive(Deserialize)]
    struct Decision {
        allowed: Vec<bool>,
    }

    impl Service {
        /// A service as this TOML says; `variable` gives the value of the variable that holds the key.
        ///
        /// # Errors
        ///
        /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it makes no sense, or the variable has no value.
        pub fn from_toml(
            text: &str,
            variable: &dyn Fn(&str) -> Option<String>,
        ) -> Result<Service, Error> {
            let settings: Settings = from_toml(text, WHAT)?;
            Ok(Service(Api::new(
                &settings.url,
                "decide",
                "the decision point at",
                settings.key_env.as_deref(),
                settings.timeout_s,
                variable,
            )?))
        }

        fn read(&self, answer: Answer, wanted: usize) -> Result<Vec<bool>, Error> {
            let answer = match answer {
                Answer::Given(answer) => answer,
                Answer::Filtered(error) => return Err(error),
            };
            let decision: Option<Decision> = serde_json::from_slice(&answer).ok();
            decision
                .map(|decision| decision.allowed)
                .filter(|allowed| allowed.len() == wanted)
                .ok_or_else(|| {
                    let said = self.0.failed("an answer that is no decision");
                    said.expected(format!("`{{\"allowed\": […]}}` with {wanted} booleans"))
                })
        }
    }

    impl Decider for Service {
        fn decide(
            &self,
            action: Action,
            caller: &Principal,
            items: &[AskedItem<'_>],
        ) -> Result<Vec<bool>, Error> {
            if items.is_empty() {
                return Ok(Vec::new());
            }
            let question = Question {
                action,
                caller,
                items,
            };
            let body = serde_json::to_vec(&question).map_err(|error| self.0.failed(error));
            let bodies = std::iter::once(body.map(|body| (body, MAX_ANSWER)));
            let answers = self.0.ask(bodies, 1, |_, answer| self.read(answer, items.len()))?;
            Ok(answers.into_iter().next().unwrap_or_default())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::embed::answering::server;
        use tenure::Digest;
        use tenure::package::UnitKind;

        fn ask(url: &str) -> Result<Vec<bool>, Error> {
            let settings = format!("url = \"{url}\"\ntimeout_s = 5\nkey_env = \"KEY\"");
            let service = Service::from_toml(&settings, &|_| Some("secret".to_owned()))?;
            let labels = ["internal".to_owned()];
            let item = |path| AskedItem {
                digest: Digest::of(b"text"),
                labels: &labels,
                name: "Decision",
                path,
                unit_kind: UnitKind::Section,
            };
            let items = [item("a.md"), item("b.md")];
            service.decide(Action::Read, &Principal::owner(), &items)
        }

        #[test]
        fn a_service_decides_about_each_item_and_sees_no_text() {
            let answer = ("200 OK", "{\"allowed\": [true, false]}".to_owned());
            let (url, told) = server(vec![answer]);
            assert_eq!(ask(&url).unwrap(), [true, false]);
            let asked = told.recv().unwrap();
            assert!(asked.starts_with("POST /v1/decide "), "{asked}");
            assert!(asked.contains("Bearer secret") && asked.contains("\"action\":\"read\""));
            assert!(asked.contains("\"path\":\"b.md\"") && !asked.contains("\"text\""));
        }

        #[test]
        fn whatever_is_no_decision_allows_nothing() {
            for (status, body) in [
                ("200 OK", "{\"allowed\": [true]}"),
                ("200 OK", "{\"allowed\": [true, true, true]}"),
                ("200 OK", "{\"allowed\": true}"),
                ("200 OK", "yes"),
                ("204 No Content", ""),
                ("403 Forbidden", "{\"allowed\": [true, true]}"),
                ("500 Internal Server Error", ""),
            ] {
                let (url, _told) = server(vec![(status, body.to_owned())]);
                assert!(ask(&url).is_err(), "{status} {body}");
            }
            assert!(ask("http://127.0.0.1:1").is_err());
            assert!(ask("ftp://x").is_err());
        }
    }
}
