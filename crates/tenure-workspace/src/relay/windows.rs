//! The windows of models as providers state them: in errors, and in their lists of models.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::session::{learned_limit, learned_window, says_too_long};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Digest, Error};
use tenure_store::Tenant;

use super::byte_lru::ByteLru;
use super::{CHAIN, Position, Relay, held_as};

/// The most memory for what is known of the windows of models, about, in bytes.
const MEMORY: usize = 1 << 20;
/// The most memory for the lists of models, about, in bytes.
const LISTS: usize = 8 << 20;
/// The time for which a statement is believed, in microseconds: a provider may raise its limit.
const BELIEVED: i64 = 24 * 3_600 * 1_000_000;
/// The time for which an unchanged list is not written again, in microseconds.
const FRESH: i64 = BELIEVED / 4;
/// The most models of a list that are kept, and the longest name of one, in bytes.
const MAX_LISTED: usize = 2_048;
const MAX_NAME: usize = 200;
/// The plausible windows, in tokens. Another number means something else.
const SANE: std::ops::RangeInclusive<u64> = 1_024..=100_000_000;
/// The fields in which lists of models state a window (2026-11-23): Anthropic's, OpenRouter's, those of LiteLLM
/// and vLLM, and others'. OpenAI states none.
const STATED_IN: [&str; 6] = [
    "max_input_tokens",
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "inputTokenLimit",
];

/// The windows of models that providers stated.
#[derive(Debug)]
pub(super) struct Windows {
    /// The windows that errors named, by the logs of the models.
    of: Mutex<ByteLru<Option<Window>>>,
    /// The windows in lists of models, by their logs.
    lists: Mutex<ByteLru<Arc<List>>>,
}

impl Default for Windows {
    fn default() -> Windows {
        Windows {
            of: Mutex::new(ByteLru::new(MEMORY)),
            lists: Mutex::new(ByteLru::new(LISTS)),
        }
    }
}

/// The longest request that the provider of a model takes, as it stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Window {
    tokens: u32,
    at: Instant,
}

/// The lesson of a provider's error about a request that is too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lesson {
    /// The longest request that it takes, in its tokens.
    Window(u32),
    /// Nothing but that a shorter one is needed.
    Shorter,
}

impl Lesson {
    /// The window that it states.
    pub fn window(self) -> Option<u32> {
        match self {
            Lesson::Window(window) => Some(window),
            Lesson::Shorter => None,
        }
    }
}

impl Window {
    fn is_believed(&self, now: Instant) -> bool {
        now.micros().saturating_sub(self.at.micros()) < BELIEVED
    }
}

/// The windows of a provider's list of models, by their names.
type List = BTreeMap<String, Window>;

impl Relay {
    /// Notes a provider's error: where it says how long a request may be, the session keeps to it from now on; where it
    /// only says that the request is too long, to nine tenths of what was sent. Returns what was learned where the
    /// session now keeps to less than was sent, so that sending it again may help.
    ///
    /// Where the provider counts more than this vocabulary does, the session's window is as much smaller.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](tenure::ErrorKind::Conflict) when another writer writes to the session;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn learn(
        &self,
        tenant: &Tenant,
        position: &Position,
        error: &str,
    ) -> Result<Option<Lesson>, Error> {
        let both = position.sent.saturating_add(position.answer);
        let (lesson, window) = match learned_limit(error) {
            Some(limit) => (
                Lesson::Window(limit.window),
                limit.in_our_tokens(position.sent, position.answer),
            ),
            None if says_too_long(error) => (Lesson::Shorter, both - position.sent / 10),
            None => return Ok(None),
        };
        self.see(tenant)?;
        let held = self.held(tenant, &position.session)?;
        let mut session = held.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut session)?;
        session.keep_to(window)?;
        Ok((window < both).then_some(lesson))
    }

    /// Notes that a provider answered a shorter request: what it said of its window ([`Relay::learn`]) is so, and
    /// all sessions of the model keep to it for a day.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn confirm(
        &self,
        tenant: &Tenant,
        position: &Position,
        window: u32,
        now: Instant,
    ) -> Result<(), Error> {
        self.believe(tenant, &position.model, window, now)
    }

    fn believe(&self, tenant: &Tenant, log: &str, tokens: u32, now: Instant) -> Result<(), Error> {
        let window = Window { tokens, at: now };
        tenant.append_dated(log, plain(&window)?)?;
        let mut windows = self.windows.of.lock().unwrap_or_else(PoisonError::into_inner);
        windows.put(held_as(tenant, log), Some(window), CHAIN + log.len());
        windows.shrink(|_| true);
        Ok(())
    }

    /// The window of a model as errors said it, in its provider's tokens.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn learned(
        &self,
        tenant: &Tenant,
        format: Format,
        model: &str,
        now: Instant,
    ) -> Result<Option<u32>, Error> {
        let log = window_log(format, model);
        let key = held_as(tenant, &log);
        let windows = || self.windows.of.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = windows().get(&key).copied();
        let last = match cached {
            Some(known) => known,
            None => {
                let stored =
                    tenant.dated(&log, None)?.and_then(|value| serde_json::from_value(value).ok());
                let mut windows = windows();
                let size = CHAIN + key.len();
                windows.put(key, stored, size);
                windows.shrink(|_| true);
                stored
            }
        };
        Ok(last.filter(|known| known.is_believed(now)).map(|known| known.tokens))
    }

    /// Notes what a provider's list of models states of their windows ([`stated`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn teach(
        &self,
        tenant: &Tenant,
        format: Format,
        stated: &[(String, u32)],
        now: Instant,
    ) -> Result<(), Error> {
        let before = self.list(tenant, format)?;
        let is_news = |(name, tokens): &(String, u32)| {
            before.get(name).is_none_or(|known| {
                known.tokens != *tokens || now.micros().saturating_sub(known.at.micros()) > FRESH
            })
        };
        if !stated.iter().any(is_news) {
            return Ok(());
        }
        let mut list: List = before
            .iter()
            .filter(|(_, window)| window.is_believed(now))
            .map(|(name, window)| (name.clone(), *window))
            .collect();
        for (name, tokens) in stated {
            if list.len() < MAX_LISTED || list.contains_key(name) {
                let window = Window {
                    tokens: *tokens,
                    at: now,
                };
                list.insert(name.clone(), window);
            }
        }
        tenant.append_dated(&list_log(format), plain(&list)?)?;
        self.hold(tenant, format, Arc::new(list));
        Ok(())
    }

    /// The window of a model as its provider's list of models states it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn listed(
        &self,
        tenant: &Tenant,
        format: Format,
        name: &str,
        now: Instant,
    ) -> Result<Option<u32>, Error> {
        let list = self.list(tenant, format)?;
        let known = list.get(name).filter(|known| known.is_believed(now));
        Ok(known.map(|known| known.tokens))
    }

    fn list(&self, tenant: &Tenant, format: Format) -> Result<Arc<List>, Error> {
        let log = list_log(format);
        let mut lists = self.windows.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(&held_as(tenant, &log)) {
            return Ok(Arc::clone(list));
        }
        drop(lists);
        let stored = tenant.dated(&log, None)?;
        let list: Option<List> = stored.and_then(|value| serde_json::from_value(value).ok());
        let list = Arc::new(list.unwrap_or_default());
        self.hold(tenant, format, Arc::clone(&list));
        Ok(list)
    }

    fn hold(&self, tenant: &Tenant, format: Format, list: Arc<List>) {
        let names: usize = list.keys().map(String::len).sum();
        let size = CHAIN + names + list.len() * CHAIN;
        let mut lists = self.windows.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.put(held_as(tenant, &list_log(format)), list, size);
        lists.shrink(|_| true);
    }
}

/// The window that an error states of a model of which nothing was known. It may quote what a client sent: it holds for
/// that request alone until a shorter one is answered ([`Relay::confirm`]).
///
/// ```
/// use tenure_workspace::relay::said_window;
/// assert_eq!(said_window("This model's maximum context length is 8192 tokens."), Some(8_192));
/// assert_eq!(said_window("This model's maximum context length is 7 tokens."), None);
/// ```
pub fn said_window(error: &str) -> Option<u32> {
    let window = learned_window(error)?;
    SANE.contains(&window.into()).then_some(window)
}

/// The windows that a provider's list of models, or its entry for one, states. Of several statements about a model
/// the smallest counts; implausible numbers are ignored.
///
/// ```
/// use tenure_workspace::relay::stated;
/// let list = r#"{"data": [{"id": "a", "context_length": 32768}, {"id": "b"}]}"#;
/// assert_eq!(stated(list), [("a".to_owned(), 32_768)]);
/// ```
pub fn stated(list: &str) -> Vec<(String, u32)> {
    let Ok(list) = serde_json::from_str::<Value>(list) else {
        return Vec::new();
    };
    let models = ["data", "models"]
        .iter()
        .find_map(|key| list.get(key)?.as_array())
        .map_or(std::slice::from_ref(&list), Vec::as_slice);
    models.iter().filter_map(window_in).take(MAX_LISTED).collect()
}

/// The window that the entry of a model states, with its name.
fn window_in(model: &Value) -> Option<(String, u32)> {
    let id = model.get("id").or_else(|| model.get("name"))?.as_str()?;
    let name = id.strip_prefix("models/").unwrap_or(id);
    if name.is_empty() || name.len() > MAX_NAME {
        return None;
    }
    let places = [
        Some(model),
        model.get("top_provider"),
        model.get("model_info"),
    ];
    let said = places.into_iter().flatten().flat_map(|place| {
        STATED_IN
            .iter()
            .filter_map(|field| place.get(field)?.as_u64())
            .filter(|tokens| SANE.contains(tokens))
    });
    let tokens = u32::try_from(said.min()?).ok()?;
    Some((name.to_owned(), tokens))
}

fn plain(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value)
        .map_err(|error| Error::assertion(format!("a window is plain data: {error}")))
}

/// The log of what errors say of the window of a model.
pub(super) fn window_log(format: Format, model: &str) -> String {
    let model = Digest::of_parts([format.term().as_bytes(), model.as_bytes()]);
    format!("window/{}", model.to_string().trim_start_matches("sha256:"))
}

/// The log of what a provider's list of models states. OpenAI's two forms have one list.
fn list_log(format: Format) -> String {
    let of = match format {
        Format::OpenAiResponses => Format::OpenAiChat,
        other => other,
    };
    format!("windows/{}", of.term())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_state_windows() {
        let list = r#"{"data": [
            {"id": "anthropic's", "type": "model", "max_input_tokens": 1000000, "max_tokens": 128000},
            {"id": "openai's", "object": "model", "created": 1735689600, "owned_by": "openai"},
            {"id": "open/router's", "context_length": 400000, "top_provider": {"context_length": 272000}},
            {"id": "vllm's", "max_model_len": 8192},
            {"id": "a", "context_window": "8192"}, {"id": "b", "context_window": -1},
            {"id": "c", "context_window": 8192.5}, {"id": "d", "context_window": 7},
            {"id": "e", "context_window": 1e30}, {"id": "f", "context_window": 99999999999},
            {"id": 7, "context_window": 8192}, {"context_window": 8192}, 7, null, []
        ]}"#;
        let expected = [
            ("anthropic's".to_owned(), 1_000_000),
            ("open/router's".to_owned(), 272_000),
            ("vllm's".to_owned(), 8_192),
        ];
        assert_eq!(stated(list), expected);
        let one = r#"{"id": "one", "max_input_tokens": 200000}"#;
        assert_eq!(stated(one), [("one".to_owned(), 200_000)]);
        let google = r#"{"models": [{"name": "models/g", "inputTokenLimit": 1048576}]}"#;
        assert_eq!(stated(google), [("g".to_owned(), 1_048_576)]);
        let many = (0..9_000).map(|at| format!(r#"{{"id": "m{at}", "context_length": 9000}}"#));
        let many = format!("[{}]", many.collect::<Vec<_>>().join(","));
        assert_eq!(stated(&many), []);
        assert_eq!(stated(&format!(r#"{{"data": {many}}}"#)).len(), MAX_LISTED);
        let long = format!(r#"{{"id": "{}", "context_length": 9000}}"#, "a".repeat(500));
        for hostile in ["", "{", "7", "\"x\"", &"[".repeat(100_000), &long] {
            assert_eq!(stated(hostile), []);
        }
    }
}
