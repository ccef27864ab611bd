//! Requests made to fit before they go on: what does not fit the model's window is compiled as a turn of a
//! session, what fits goes on as it came.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use bytes::Bytes;
use tenure::wire::Format;
use tenure::{Digest, Error, ErrorKind};
use tenure_workspace::relay::{Relayed, Relaying};

use super::{Protocol, session};
use crate::app::{App, Caller, now};

/// What becomes of a request.
#[derive(Default)]
pub(super) struct Fitted {
    /// What is sent instead.
    pub(super) body: Option<Bytes>,
    pub(super) session: Option<String>,
    pub(super) saved: u64,
    /// Why nothing was done where something would have been.
    pub(super) fault: Option<Error>,
}

/// The format of requests to this path; none where they hold no conversation.
fn format(method: &Method, path: &str) -> Option<Format> {
    match path {
        _ if method != Method::POST => None,
        "/v1/chat/completions" => Some(Format::OpenAiChat),
        "/v1/responses" => Some(Format::OpenAiResponses),
        "/v1/messages" => Some(Format::Anthropic),
        _ => None,
    }
}

/// Makes a request fit.
pub(super) async fn fit(
    app: &Arc<App>,
    caller: &Caller,
    parts: &Parts,
    protocol: Protocol,
    body: &Bytes,
) -> Fitted {
    let packed = parts.headers.contains_key(header::CONTENT_ENCODING);
    let Some(format) = format(&parts.method, parts.uri.path()).filter(|_| !packed) else {
        return Fitted::default();
    };
    let job = (Arc::clone(app), caller.clone(), body.clone());
    let key = key(caller, &parts.headers, protocol);
    let named = session(&parts.headers);
    let done = tokio::task::spawn_blocking(move || {
        let (app, caller, body) = job;
        relay(&app, &caller, format, &body, &key, named.as_deref())
    });
    let relayed = match done.await {
        Ok(relayed) => relayed,
        Err(error) => Err(Error::assertion(format!(
            "a request was not compiled: {error}"
        ))),
    };
    match relayed {
        Ok(Relayed {
            body,
            session,
            saved,
        }) => Fitted {
            body: body.map(Bytes::from),
            session,
            saved,
            fault: None,
        },
        Err(error) => Fitted {
            fault: Some(error),
            ..Fitted::default()
        },
    }
}

fn relay(
    app: &App,
    caller: &Caller,
    format: Format,
    body: &[u8],
    key: &str,
    session: Option<&str>,
) -> Result<Relayed, Error> {
    let store = app.store.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "there is no store to keep sessions in",
        )
    })?;
    let body = std::str::from_utf8(body)
        .map_err(|error| Error::input(format!("the body is not text: {error}")))?;
    #[derive(serde::Deserialize)]
    struct Asked {
        model: String,
    }
    let asked: Asked = serde_json::from_str(body)
        .map_err(|error| Error::input(format!("the body names no model: {error}")))?;
    let world = app.world_like(&asked.model)?;
    let tenant = store.tenant(&caller.tenant)?;
    let relaying = Relaying {
        format,
        body,
        key,
        session,
        now: now(),
    };
    app.relay.relay(&app.workspace, &tenant, &world, &relaying)
}

/// Whose conversations are one's own: of the same key, and of the same credentials with the provider.
fn key(caller: &Caller, headers: &HeaderMap, protocol: Protocol) -> String {
    let names = ["authorization", "x-api-key"];
    let shown = names.map(|name| headers.get(name).map_or(&[][..], |value| value.as_bytes()));
    let id = caller.key.as_deref().unwrap_or_default();
    let parts = [
        id.as_bytes(),
        protocol.term().as_bytes(),
        shown[0],
        shown[1],
    ];
    Digest::of_parts(parts).to_string()
}
