//! Requests whose history is not looked after, and what else an operator should know: each is logged with its code, at
//! `warn` the first time in its conversation (of an unknown model: the first time that its name comes) and at `info`
//! from then on. What is not managed is counted, too.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde_json::json;
use tenure::wire::{self, Format};
use tenure::{Digest, Error, ErrorKind};
use tenure_workspace::relay::Unmanaged;

use super::fit::Fitted;
use crate::app::App;
use crate::caller::Caller;
use crate::log::{Log, LogLevel, bounded};
use crate::metrics::Metrics;

/// The most conversations that are remembered as warned of; the oldest is forgotten first.
const MAX_WARNED: usize = 16_384;
/// The longest name of a model that is logged, in bytes.
const MAX_MODEL: usize = 200;

/// The conversations, and the names of unknown models, that were warned of, each with its reason.
#[derive(Default)]
pub(super) struct Warned {
    of: Mutex<(BTreeSet<Digest>, VecDeque<Digest>)>,
}

impl Warned {
    /// Notes a conversation; gives whether it is the first time.
    fn is_first(&self, conversation: Digest) -> bool {
        let mut of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *of;
        if !known.insert(conversation) {
            return false;
        }
        order.push_back(conversation);
        if order.len() > MAX_WARNED
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }

    /// At which level something is logged of a conversation.
    fn level(&self, tenant: &str, code: &str, conversation: &[u8]) -> LogLevel {
        let of = Digest::of_parts([tenant.as_bytes(), code.as_bytes(), conversation]);
        if self.is_first(of) {
            LogLevel::Warn
        } else {
            LogLevel::Info
        }
    }

    /// Counts and logs a request that is not managed.
    fn note(&self, log: &Log, metrics: &Metrics, noted: &Noted<'_>) {
        let code = noted.why.code();
        metrics.unmanaged(code);
        let conversation = noted.conversation.as_ref().map_or(&[][..], |of| of.bytes());
        let level = match (noted.why, noted.model) {
            // A name that nothing is known of is the same in all conversations.
            (Unmanaged::UnknownModel, Some(model)) => self.level("", code, model.as_bytes()),
            _ => self.level(noted.tenant, code, conversation),
        };
        let fields = json!({
            "reason": code,
            "tenant": noted.tenant,
            "key": noted.key,
            "model": noted.model.map(|model| bounded(model, MAX_MODEL)),
            "what": noted.what.as_deref(),
            "record": noted.record,
        });
        log.note(level, "unmanaged", fields);
    }
}

/// Logs what an operator should know of a request that is managed.
fn tell(app: &App, caller: &Caller, fitted: &Fitted, record: Option<&str>) {
    let session = fitted.place.as_ref().map(|place| place.session.as_str());
    for notice in &fitted.notices {
        let code = notice.code();
        let conversation = session.unwrap_or_default().as_bytes();
        let level = app.gateway.warned.level(&caller.tenant, code, conversation);
        let fields = json!({
            "notice": code,
            "what": notice.to_string(),
            "tenant": &*caller.tenant,
            "key": caller.key.as_deref(),
            "session": session,
            "record": record,
        });
        app.log.note(level, "notice", fields);
    }
}

/// Counts and logs a request where it is not managed, and logs what else an operator should know of it. It is said once,
/// when it is known what becomes of the request: one that a provider finds too long may be managed then.
pub(super) fn note(app: &App, caller: &Caller, fitted: &Fitted, record: Option<&str>) {
    tell(app, caller, fitted, record);
    if let Some(why) = fitted.unmanaged {
        let noted = Noted {
            why,
            tenant: &caller.tenant,
            key: caller.key.as_deref(),
            conversation: fitted.conversation,
            model: fitted.model.as_deref(),
            what: fitted.fault.as_ref().and_then(told),
            record,
        };
        app.gateway.warned.note(&app.log, &app.metrics, &noted);
    }
}

/// An error as the log has it: none that quotes what a client sent.
fn told(error: &Error) -> Option<String> {
    let quotes = matches!(
        error.kind,
        ErrorKind::Input | ErrorKind::NotFound | ErrorKind::Usage
    );
    (!quotes).then(|| error.to_string())
}

/// A request that is not managed.
struct Noted<'n> {
    why: Unmanaged,
    tenant: &'n str,
    key: Option<&'n str>,
    /// The conversation that it is of.
    conversation: Option<Digest>,
    model: Option<&'n str>,
    /// The error, where there was one.
    what: Option<String>,
    /// Its record.
    record: Option<&'n str>,
}

/// The identity of a conversation that is in no session: by the key and the session that the request names, or else
/// by its first message.
pub(super) fn conversation(
    key: &str,
    session: Option<&str>,
    format: Format,
    body: &[u8],
) -> Digest {
    let says = match session {
        Some(session) => Some(Digest::of(session.as_bytes())),
        None => first(format, body),
    };
    let says = says.as_ref().map_or(&[][..], |says| says.bytes());
    Digest::of_parts([key.as_bytes(), format.term().as_bytes(), says])
}

/// What the first message of a body means; none where it cannot be read.
fn first(format: Format, body: &[u8]) -> Option<Digest> {
    #[derive(serde::Deserialize)]
    struct Begins<'b> {
        #[serde(borrow, alias = "input")]
        messages: &'b serde_json::value::RawValue,
    }
    let begins: Begins<'_> = serde_json::from_slice(body).ok()?;
    let messages: Result<Vec<&serde_json::value::RawValue>, _> =
        serde_json::from_str(begins.messages.get());
    Some(match messages {
        Ok(messages) => wire::meaning(format, messages.first()?.get()),
        // One text is a request of its own.
        Err(_) => Digest::of(begins.messages.get().as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_conversation_is_warned_of_once_for_each_reason() {
        let kept = Kept::default();
        let metrics = Arc::new(Metrics::new());
        let log = Log::start(LogLevel::Info, Box::new(kept.clone()), Arc::clone(&metrics)).unwrap();
        let warned = Warned::default();
        let body = |last: &str| {
            format!(r#"{{"messages":[{{"role":"user","content":"Hi."}},{last}],"model":"m"}}"#)
        };
        let ask = |why, body: &str, session, model: &str| {
            let conversation = conversation("key", session, Format::OpenAiChat, body.as_bytes());
            warned.note(
                &log,
                &metrics,
                &Noted {
                    why,
                    tenant: "acme",
                    key: None,
                    conversation: Some(conversation),
                    model: Some(model),
                    what: None,
                    record: None,
                },
            );
        };
        let asked = |why, body: &str, session| ask(why, body, session, "m");
        let one = body(r#"{"role":"user","content":"One."}"#);
        let two = body(r#"{"role":"user","content":"Two."}"#);
        let other = r#"{"messages":[{"role":"user","content":"Ho."}],"model":"m"}"#;
        asked(Unmanaged::UnknownModel, &one, None);
        asked(Unmanaged::UnknownModel, &two, None);
        asked(Unmanaged::UnknownModel, other, None);
        asked(Unmanaged::ProviderEditsHistory, &two, None);
        asked(Unmanaged::ProviderEditsHistory, &one, Some("named"));
        asked(Unmanaged::ProviderEditsHistory, other, Some("named"));
        // A model is unknown once, whatever the conversation.
        ask(Unmanaged::UnknownModel, other, Some("named"), "m");
        ask(Unmanaged::UnknownModel, &one, None, "another");
        ask(Unmanaged::UnknownModel, other, None, "another");
        // What cannot be read is all one conversation of its key.
        asked(Unmanaged::Unreadable, "{", None);
        asked(Unmanaged::Unreadable, "[", None);
        log.finish();
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let levels: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["level"].as_str().unwrap().to_owned())
            .collect();
        let expected = [
            "warn", "info", "info", "warn", "warn", "info", "info", "warn", "info", "warn", "info",
        ];
        assert_eq!(levels, expected, "{text}");
        let told = metrics.text().unwrap();
        assert!(
            told.contains(r#"tenure_gateway_unmanaged_total{reason="unknown_model"} 6"#),
            "{told}"
        );
    }

    #[test]
    fn memory_is_bounded() {
        let warned = Warned::default();
        let digest = |at: usize| Digest::of(&at.to_le_bytes());
        for at in 0..=MAX_WARNED {
            assert!(warned.is_first(digest(at)));
        }
        assert!(!warned.is_first(digest(MAX_WARNED)));
        // The oldest one has left, and is warned of again.
        assert!(warned.is_first(digest(0)));
        assert_eq!(warned.of.lock().unwrap().0.len(), MAX_WARNED);
    }
}
