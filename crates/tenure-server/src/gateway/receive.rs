//! A request as it comes: whole, for an upstream that there is, on a path that leads nowhere else.

use std::sync::Arc;
use std::time::Instant as Clock;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use bytes::Bytes;
use tenure::time::Instant;
use tenure::wire::Format;

use super::{Gateway, SESSION_HEADER, headers};
use crate::body::whole_body;
use crate::error::Refusal;
use crate::http::{Link, Owner};
use crate::protocol::Protocol;
use tenure_operations::Caller;

/// The longest name of a session, in bytes.
const MAX_SESSION: usize = 256;

/// A request that has come whole.
pub(super) struct Received {
    pub(super) at: Instant,
    pub(super) started: Clock,
    pub(super) caller: Caller,
    pub(super) protocol: Protocol,
    /// The upstream that it is for, and the owner of its connection there.
    pub(super) link: Arc<Link>,
    pub(super) owner: Owner,
    pub(super) head: Parts,
    pub(super) body: Bytes,
    pub(super) kind: Kind,
}

/// The kind of a request, by its method and path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// It asks for a message.
    Message(Format),
    /// It asks how many tokens such a request would have.
    Count(Format),
    /// It asks a model in a form that holds no conversation of messages.
    OtherForm,
    /// It asks for the provider's list of models, or for the entry of one.
    Models,
    Other,
}

impl Kind {
    /// Returns the kind of a request.
    pub(super) fn of(method: &Method, path: &str) -> Kind {
        if method == Method::GET {
            let rest = path.strip_prefix("/v1/models");
            let lists = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            return if lists { Kind::Models } else { Kind::Other };
        }
        if method != Method::POST {
            return Kind::Other;
        }
        match path {
            "/v1/chat/completions" => Kind::Message(Format::OpenAiChat),
            "/v1/responses" => Kind::Message(Format::OpenAiResponses),
            "/v1/messages" => Kind::Message(Format::Anthropic),
            "/v1/responses/input_tokens" => Kind::Count(Format::OpenAiResponses),
            "/v1/messages/count_tokens" => Kind::Count(Format::Anthropic),
            "/v1/complete"
            | "/v1/completions"
            | "/v1/messages/batches"
            | "/v1/responses/compact" => Kind::OtherForm,
            _ => match path.rsplit_once(':') {
                Some((_, "generateContent" | "streamGenerateContent")) => Kind::OtherForm,
                _ => Kind::Other,
            },
        }
    }

    /// Returns the format of a request for a message.
    pub(super) fn format(self) -> Option<Format> {
        match self {
            Kind::Message(format) => Some(format),
            _ => None,
        }
    }
}

impl Received {
    /// Returns whether a record is kept of it: it asks a model, or how Anthropic would count it.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self.kind, Kind::Message(_) | Kind::Count(Format::Anthropic))
    }

    /// Returns the session that it names.
    pub(super) fn session(&self) -> Option<&str> {
        let session = self.head.headers.get(SESSION_HEADER)?.to_str().ok()?;
        (session.len() <= MAX_SESSION).then_some(session)
    }
}

/// Receives a request whole.
///
/// # Errors
///
/// A refusal of a path that climbs, of another protocol on the connection, of a protocol without an upstream, and of a
/// body that does not come or is too large.
pub(super) async fn receive(
    gateway: &Gateway,
    caller: Caller,
    protocol: Protocol,
    request: Request,
) -> Result<Received, Refusal> {
    let started = Clock::now();
    let at = gateway.app.now();
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    check_path(path)?;
    check_upgrade(&head.headers)?;
    let link = gateway.upstreams.of(protocol);
    let link = Arc::clone(link.ok_or_else(|| no_upstream(protocol, path))?);
    let limits = &gateway.app.settings.limits;
    let body = whole_body(&head.headers, body, limits.body, limits.silence).await?;
    gateway.count_bytes("request", body.len() as u64);
    Ok(Received {
        at,
        started,
        kind: Kind::of(&head.method, path),
        owner: headers::owner(&caller, &head.headers),
        caller,
        protocol,
        link,
        head,
        body,
    })
}

/// Returns the refusal of a protocol that no upstream takes, which is no failure that passes.
fn no_upstream(protocol: Protocol, path: &str) -> Refusal {
    let what = format!(
        "`{}` is not served: there is no upstream for the protocol `{}`",
        tenure::object::clip(path),
        protocol.term()
    );
    Refusal::new(StatusCode::NOT_FOUND, what).hint(match protocol {
        Protocol::Google => "start with --upstream URL, which takes every protocol".to_owned(),
        _ => format!("start with --upstream {}=URL", protocol.term()),
    })
}

/// Refuses another protocol on a connection, such as WebSocket: none is carried through.
fn check_upgrade(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut asked = headers.get_all(header::UPGRADE).iter().filter_map(|value| value.to_str().ok());
    if asked.any(|value| value.to_ascii_lowercase().contains("websocket")) {
        let what = "WebSocket connections are not carried through";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, what)
            .expected("the same request over HTTP, streamed or not"));
    }
    Ok(())
}

/// Refuses a path that climbs: it would leave the part of the upstream that is meant.
fn check_path(path: &str) -> Result<(), Refusal> {
    let plain = path
        .replace("%2e", ".")
        .replace("%2E", ".")
        .replace("%2f", "/")
        .replace("%2F", "/")
        .replace("%5c", "\\")
        .replace("%5C", "\\");
    let climbs = plain.split(['/', '\\']).any(|part| part == ".." || part == ".");
    if climbs {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "the path has a part `.` or `..`",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_climbs_is_refused() {
        for path in [
            "/v1/../admin",
            "/v1/./x",
            "/v1/%2e%2E/admin",
            "/v1/a/%2e./b",
            "/v1/..%2fadmin",
            "/v1/..%5cadmin",
        ] {
            assert!(check_path(path).is_err(), "{path}");
        }
        for path in [
            "/v1/messages",
            "/v1/models/gpt-4.1",
            "/v1/models/a..b",
            "/v1/x/...",
            "/v1/%2e%2ea",
        ] {
            assert!(check_path(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn the_kind_of_a_request_is_its_paths() {
        let post = |path| Kind::of(&Method::POST, path);
        assert_eq!(post("/v1/messages"), Kind::Message(Format::Anthropic));
        assert_eq!(
            post("/v1/responses/input_tokens"),
            Kind::Count(Format::OpenAiResponses)
        );
        assert_eq!(
            post("/v1beta/models/g:streamGenerateContent"),
            Kind::OtherForm
        );
        assert_eq!(post("/v1/completions"), Kind::OtherForm);
        assert_eq!(post("/v1/models"), Kind::Other);
        let get = |path| Kind::of(&Method::GET, path);
        assert_eq!(
            (get("/v1/models"), get("/v1/models/m")),
            (Kind::Models, Kind::Models)
        );
        assert_eq!(
            (get("/v1/modelsx"), get("/v1/messages")),
            (Kind::Other, Kind::Other)
        );
    }
}
