//! Protocols of providers: where requests in them go, which keys go with them, and in which form they are refused.

use axum::http::{HeaderMap, HeaderName, Uri, header};
use serde_json::{Value, json};
use tenure::wire::Format;

/// The protocol of a provider.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Protocol {
    OpenAi,
    Anthropic,
    /// Only an upstream that takes every protocol is asked in it.
    Google,
}

/// The beginnings of the paths of providers.
const VERSIONS: [&str; 3] = ["/v1/", "/v1beta/", "/v1alpha/"];
/// The endings of Google's paths, behind a colon. Names of OpenAI's fine-tuned models have colons, too.
const ACTIONS: [&str; 8] = [
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
    "batchGenerateContent",
    "predict",
    "predictLongRunning",
];
/// Headers that hold the key of one provider alone.
const KEYS: [(HeaderName, Protocol); 3] = [
    (HeaderName::from_static("x-api-key"), Protocol::Anthropic),
    (HeaderName::from_static("x-goog-api-key"), Protocol::Google),
    // As Azure has it.
    (HeaderName::from_static("api-key"), Protocol::OpenAi),
];

impl Protocol {
    /// Returns the format of its messages; of OpenAI's two, the older.
    pub(crate) fn format(self) -> Format {
        match self {
            Protocol::OpenAi => Format::OpenAiChat,
            Protocol::Anthropic => Format::Anthropic,
            Protocol::Google => Format::Gemini,
        }
    }

    pub(crate) fn term(self) -> &'static str {
        match self {
            Protocol::OpenAi => "openai",
            Protocol::Anthropic => "anthropic",
            Protocol::Google => "google",
        }
    }

    /// Returns the protocol of a request: by its path, or where several have the path, by whose key it shows.
    pub(crate) fn of(uri: &Uri, headers: &HeaderMap) -> Protocol {
        let path = uri.path();
        let is_under = |base: &str| {
            let rest = path.strip_prefix(base);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let action = path.rsplit('/').next().and_then(|last| last.rsplit_once(':'));
        let acts = action.is_some_and(|(_, action)| ACTIONS.contains(&action));
        if acts || is_under("/v1beta") || is_under("/v1alpha") {
            return Protocol::Google;
        }
        if is_under("/v1/messages") || headers.contains_key("anthropic-version") {
            return Protocol::Anthropic;
        }
        if is_under("/v1/chat") || is_under("/v1/responses") {
            return Protocol::OpenAi;
        }
        let query = uri.query().unwrap_or_default();
        if headers.contains_key("x-goog-api-key")
            || query.split('&').any(|one| one.starts_with("key="))
        {
            return Protocol::Google;
        }
        if headers.contains_key("x-api-key") && !headers.contains_key(header::AUTHORIZATION) {
            Protocol::Anthropic
        } else {
            Protocol::OpenAi
        }
    }

    /// Returns whether a path is one of a provider's, so that its client reads the answer.
    pub(crate) fn has(path: &str) -> bool {
        VERSIONS.iter().any(|version| path.starts_with(version))
    }

    /// Removes the keys of other providers.
    pub(crate) fn keep_keys(self, headers: &mut HeaderMap) {
        for (name, whose) in &KEYS {
            if *whose != self {
                headers.remove(name);
            }
        }
    }

    /// Returns an error in the form that its clients read.
    pub(crate) fn error(self, status: u16, code: &str, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        match self {
            Protocol::OpenAi => json!({
                "error": { "message": message, "type": kind, "param": null, "code": code },
            }),
            Protocol::Anthropic => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
            }),
            Protocol::Google => {
                let term = match status {
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    404 => "NOT_FOUND",
                    409 => "ABORTED",
                    429 => "RESOURCE_EXHAUSTED",
                    501 => "UNIMPLEMENTED",
                    502 | 503 => "UNAVAILABLE",
                    504 => "DEADLINE_EXCEEDED",
                    500.. => "INTERNAL",
                    _ => "INVALID_ARGUMENT",
                };
                json!({ "error": { "code": status, "message": message, "status": term } })
            }
        }
    }
}

/// Returns the protocol of a path that lacks its version, as clients ask whose base URL lacks it.
pub(crate) fn lacks_version(path: &str) -> Option<Protocol> {
    match path {
        "/chat/completions" | "/responses" | "/embeddings" | "/models" => Some(Protocol::OpenAi),
        "/messages" | "/messages/count_tokens" => Some(Protocol::Anthropic),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn of(uri: &str, header: &'static str) -> Protocol {
        let mut headers = HeaderMap::new();
        if !header.is_empty() {
            headers.insert(header, HeaderValue::from_static("1"));
        }
        Protocol::of(&uri.parse().unwrap(), &headers)
    }

    #[test]
    fn a_request_has_its_protocol() {
        for (uri, header, protocol) in [
            ("/v1/chat/completions", "", Protocol::OpenAi),
            ("/v1/chat/completions", "x-goog-api-key", Protocol::OpenAi),
            ("/v1/responses", "x-api-key", Protocol::OpenAi),
            ("/v1/messagesx", "", Protocol::OpenAi),
            ("/v1/models", "", Protocol::OpenAi),
            ("/v1/models/ft:gpt-4o:acme::predictor", "", Protocol::OpenAi),
            ("/v1/messages/count_tokens", "", Protocol::Anthropic),
            ("/v1/messages", "x-goog-api-key", Protocol::Anthropic),
            ("/v1/models", "anthropic-version", Protocol::Anthropic),
            ("/v1/models", "x-api-key", Protocol::Anthropic),
            ("/v1/models", "x-goog-api-key", Protocol::Google),
            ("/v1/models?pageSize=5&key=AIza", "", Protocol::Google),
            ("/v1beta/models", "", Protocol::Google),
            ("/v1beta/openai/chat/completions", "", Protocol::Google),
            (
                "/v1/models/gemini-2.5-pro:generateContent",
                "",
                Protocol::Google,
            ),
            (
                "/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent?alt=sse",
                "authorization",
                Protocol::Google,
            ),
        ] {
            assert_eq!(of(uri, header), protocol, "{uri} {header}");
        }
    }

    #[test]
    fn a_key_stays_with_its_provider() {
        for (protocol, kept) in [
            (Protocol::OpenAi, ["authorization", "api-key"]),
            (Protocol::Anthropic, ["authorization", "x-api-key"]),
            (Protocol::Google, ["authorization", "x-goog-api-key"]),
        ] {
            let mut headers = HeaderMap::new();
            for name in ["authorization", "x-api-key", "x-goog-api-key", "api-key"] {
                headers.insert(name, HeaderValue::from_static("secret"));
            }
            protocol.keep_keys(&mut headers);
            let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
            assert_eq!(names, kept);
        }
    }
}
