//! Requests whose history is not looked after, and notices for an operator: each is logged with its code, at `warn` the
//! first time in its conversation (of an unknown model: the first time that its name comes) and at `info` from then on.
//! A request that is not managed is counted, too.

use serde_json::json;
use tenure::wire::{self, Format};
use tenure::{Digest, Error, ErrorKind};
use tenure_workspace::relay::Unmanaged;

use super::fitted::Fitted;
use crate::cache::Cache;
use crate::telemetry::Telemetry;
use crate::telemetry::log::{LogLevel, bounded};
use tenure_operations::Caller;

/// The most conversations that are remembered as warned of.
const MAX_WARNED: usize = 16_384;
/// The longest name of a model that is logged, in bytes.
const MAX_MODEL: usize = 200;

/// The conversations, and the names of unknown models, that were warned of, each with its reason.
pub(super) struct Warned(Cache<Digest, ()>);

impl Default for Warned {
    fn default() -> Warned {
        Warned(Cache::of(MAX_WARNED))
    }
}

impl Warned {
    /// Notes a conversation; returns whether it is the first time.
    fn is_first(&self, conversation: Digest) -> bool {
        let mut known = self.0.lock();
        if known.get(&conversation).is_some() {
            return false;
        }
        known.insert(conversation, ());
        true
    }

    /// Returns the level at which something is logged of a conversation.
    fn level(&self, tenant: &str, code: &str, conversation: &[u8]) -> LogLevel {
        let of = Digest::of_parts([tenant.as_bytes(), code.as_bytes(), conversation]);
        if self.is_first(of) {
            LogLevel::Warn
        } else {
            LogLevel::Info
        }
    }

    /// Counts and logs a request where it is not managed, and logs the notices for its operator. It is called once, when
    /// it is known what becomes of the request: one that a provider finds too long may be managed then.
    pub(super) fn note(
        &self,
        telemetry: &Telemetry,
        caller: &Caller,
        fitted: &Fitted,
        record: Option<&str>,
    ) {
        self.log_notices(telemetry, caller, fitted, record);
        if let Some(why) = fitted.unmanaged {
            let unmanaged = UnmanagedRequest {
                why,
                tenant: &caller.tenant,
                key: caller.key.as_deref(),
                conversation: fitted.conversation,
                model: fitted.model.as_deref(),
                what: fitted.fault.as_ref().and_then(loggable),
                record,
            };
            self.log_unmanaged(telemetry, &unmanaged);
        }
    }

    fn log_notices(
        &self,
        telemetry: &Telemetry,
        caller: &Caller,
        fitted: &Fitted,
        record: Option<&str>,
    ) {
        let session = fitted.position.as_ref().map(|position| position.session.as_str());
        for notice in &fitted.notices {
            let code = notice.code();
            let conversation = session.unwrap_or_default().as_bytes();
            let level = self.level(&caller.tenant, code, conversation);
            let fields = json!({
                "notice": code,
                "what": notice.to_string(),
                "tenant": &*caller.tenant,
                "key": caller.key.as_deref(),
                "session": session,
                "record": record,
            });
            telemetry.log.note(level, "notice", fields);
        }
    }

    fn log_unmanaged(&self, telemetry: &Telemetry, request: &UnmanagedRequest<'_>) {
        let code = request.why.code();
        telemetry.metrics.unmanaged(code);
        let conversation = request.conversation.as_ref().map_or(&[][..], |of| of.bytes());
        let level = match (request.why, request.model) {
            // A name that nothing is known of is the same in all conversations.
            (Unmanaged::UnknownModel, Some(model)) => self.level("", code, model.as_bytes()),
            _ => self.level(request.tenant, code, conversation),
        };
        let fields = json!({
            "reason": code,
            "tenant": request.tenant,
            "key": request.key,
            "model": request.model.map(|model| bounded(model, MAX_MODEL)),
            "what": request.what.as_deref(),
            "record": request.record,
        });
        telemetry.log.note(level, "unmanaged", fields);
    }
}

/// Returns an error as the log has it; none that quotes what a client sent.
fn loggable(error: &Error) -> Option<String> {
    let quotes = matches!(
        error.kind,
        ErrorKind::Input | ErrorKind::NotFound | ErrorKind::Usage
    );
    (!quotes).then(|| error.to_string())
}

/// A request that is not managed.
struct UnmanagedRequest<'n> {
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

/// Returns the identity of a conversation that is in no session: by the key and the session that the request names, or else
/// by its first message.
pub(super) fn conversation(
    key: &str,
    session: Option<&str>,
    format: Format,
    body: &[u8],
) -> Digest {
    let digest = match session {
        Some(session) => Some(Digest::of(session.as_bytes())),
        None => first(format, body),
    };
    let says = digest.as_ref().map_or(&[][..], |says| says.bytes());
    Digest::of_parts([key.as_bytes(), format.term().as_bytes(), says])
}

/// Returns what the first message of a body means; none where it cannot be read.
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
    use std::sync::Arc;

    use crate::telemetry::audit::Audit;
    use crate::telemetry::log::{Kept, Log};
    use crate::telemetry::metrics::Metrics;

    #[test]
    fn a_conversation_is_warned_of_once_for_each_reason() {
        let kept = Kept::default();
        let metrics = Arc::new(Metrics::new());
        let log = Log::start(
            LogLevel::Info,
            tenure_workspace::Clock::machine(),
            Box::new(kept.clone()),
            Arc::clone(&metrics),
        )
        .unwrap();
        let telemetry = Telemetry {
            spans: None,
            log,
            audit: Audit::open(None).unwrap(),
            thresholds: Vec::new(),
            tally: std::sync::Mutex::default(),
            metrics,
        };
        let warned = Warned::default();
        let body = |last: &str| {
            format!(r#"{{"messages":[{{"role":"user","content":"Hi."}},{last}],"model":"m"}}"#)
        };
        let ask = |why, body: &str, session, model: &str| {
            let conversation = conversation("key", session, Format::OpenAiChat, body.as_bytes());
            warned.log_unmanaged(
                &telemetry,
                &UnmanagedRequest {
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
        telemetry.log.finish();
        let text = kept.text();
        let levels: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["level"].as_str().unwrap().to_owned())
            .collect();
        let expected = [
            "warn", "info", "info", "warn", "warn", "info", "info", "warn", "info", "warn", "info",
        ];
        assert_eq!(levels, expected, "{text}");
        let told = telemetry.metrics.text().unwrap();
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
        assert_eq!(warned.0.lock().len(), MAX_WARNED);
    }
}
