//! What handlers are called with, and what they call.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
use tenure_store::{Tenant, Writing};

use crate::app::App;
use crate::arriving::Arriving;
use crate::body::whole_body;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::{self, BODY, InField, read_body};

/// A body of JSON.
pub(super) struct Json<T>(pub(super) T);

/// The largest body that is read where connections are served; a larger one would hold others up.
const SMALL: usize = 64 << 10;

impl<T: DeserializeOwned + Send + 'static> FromRequest<Arc<App>> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Json<T>, Refusal> {
        let body = json_body(request, app).await?;
        let small = body.len() <= SMALL;
        let read = move || {
            // An array would be taken for the fields in their order.
            if body.trim_ascii_start().first() == Some(&b'[') {
                let error = Error::input("the request is an array").at(BODY, None);
                return Err(Refusal::from(error.expected("a JSON object")));
            }
            Ok(read_body(&body)?)
        };
        Ok(Json(if small {
            read()?
        } else {
            crate::blocking(read).await?
        }))
    }
}

/// Reads a body that is said to be JSON.
pub(super) async fn json_body(request: Request, app: &App) -> Result<Bytes, Refusal> {
    let media_type = request
        .headers()
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the request is not said to be JSON",
        )
        .expected("`Content-Type: application/json`"));
    }
    let limits = &app.settings.limits;
    let arriving = request.extensions().get::<Arriving>().cloned().unwrap_or_default();
    arriving.note(true);
    let (parts, body) = request.into_parts();
    let body = whole_body(&parts.headers, body, limits.body, limits.silence).await?;
    arriving.note(false);
    Ok(body)
}

/// What a path names.
pub(super) struct Named(pub(super) String);

impl FromRequestParts<Arc<App>> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Named, Refusal> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(name)) => Ok(Named(name)),
            Err(_) => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "the path names something that is no text",
            )
            .at_field("path")),
        }
    }
}

/// The query of a request.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Asked<T>, Refusal> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(asked)) => Ok(Asked(asked)),
            Err(error) => {
                let text = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), ToString::to_string);
                // A value that is wrong stands behind the name of its parameter.
                let (field, rest) = text
                    .split_once(": ")
                    .filter(|(field, _)| field.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'))
                    .unwrap_or(("query", &text));
                let field = fields::named(rest).unwrap_or(field);
                Err(tenure::error::parse_error(rest).at(field, None).into())
            }
        }
    }
}

/// An answer of JSON.
pub(super) struct Said<T>(pub(super) T);

impl<T: Serialize> IntoResponse for Said<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
            Err(error) => {
                let what = format!("the answer cannot be written as JSON: {error}");
                Refusal::from(Error::new(ErrorKind::Internal, what)).into_response()
            }
        }
    }
}

/// The caller's part of the store.
pub(crate) fn tenant(app: &App, caller: &Caller) -> Result<Tenant, Error> {
    let store = app.store.as_ref().ok_or_else(|| {
        Error::new(ErrorKind::Unavailable, "the server has no store")
            .hint("start it with --store URL")
    })?;
    store.tenant(&caller.tenant)
}

/// How a request writes.
pub(super) fn writing(headers: &HeaderMap, caller: &Caller) -> Result<Writing, Refusal> {
    let key = headers.get("idempotency-key").map(|key| {
        let text = key.to_str().unwrap_or_default();
        match text.len() {
            1..=256 if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(text.to_owned()),
            _ => Err(
                Refusal::new(StatusCode::BAD_REQUEST, "the idempotency key is none")
                    .at_field("Idempotency-Key")
                    .expected("1 to 256 visible ASCII characters"),
            ),
        }
    });
    Ok(Writing {
        idempotency_key: key.transpose()?,
        author: caller.key.as_ref().map(|key| format!("key {key}")),
    })
}

/// The state of a log that a write expects.
pub(super) fn expectation(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(tag) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = tag.to_str().unwrap_or_default().trim();
    let number = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .and_then(|number| number.parse().ok());
    number.map(Some).ok_or_else(|| {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            "`If-Match` is not the ETag of a read",
        )
        .at_field("If-Match")
        .expected("\"17\"")
    })
}

/// A conflict with the state that was named is a precondition that failed.
pub(super) fn conditional(expected: Option<u64>, error: Error) -> Refusal {
    if expected.is_some() && error.kind == ErrorKind::Conflict {
        return Refusal::new(StatusCode::PRECONDITION_FAILED, error.what);
    }
    error.into()
}

/// The tag of a state of a log: its number.
pub(super) fn tag(version: u64) -> (HeaderName, String) {
    (header::ETAG, format!("\"{version}\""))
}

/// What something is, or that it is as its reader knows it.
pub(super) fn unless_known(version: u64, said: Option<impl Serialize>) -> Response {
    match said {
        None => (StatusCode::NOT_MODIFIED, [tag(version)]).into_response(),
        Some(said) => ([tag(version)], Said(said)).into_response(),
    }
}

/// Whether a header names this tag.
pub(super) fn names(value: &HeaderValue, tag: &str) -> bool {
    let text = value.to_str().unwrap_or_default();
    let mut known = text.split(',').map(|known| known.trim().trim_start_matches("W/"));
    known.any(|known| known == tag)
}

/// An instant of a query.
pub(super) fn instant(text: Option<&str>, name: &str) -> Result<Option<Instant>, Error> {
    text.map(|text| {
        let parsed: Result<Instant, Error> = text.parse();
        parsed.in_field(name)
    })
    .transpose()
}

/// What a list is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    pub(super) limit: Option<u32>,
    pub(super) after: Option<String>,
}

/// A page of a list, and what to ask for after where there is more. Where several stand under one mark, a
/// page does not end between them.
pub(super) fn page<T, M: PartialEq>(
    list: impl Iterator<Item = T>,
    most: usize,
    mark: impl Fn(&T) -> M,
) -> (Vec<T>, Option<M>) {
    let (mut page, mut last) = (Vec::new(), None);
    for item in list {
        let next = Some(mark(&item));
        if page.len() >= most && next != last {
            return (page, last);
        }
        page.push(item);
        last = next;
    }
    (page, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_between_marks() {
        let page = |most| page([1, 1, 2, 3, 3, 3].into_iter(), most, |item| *item);
        assert_eq!(page(1), (vec![1, 1], Some(1)));
        assert_eq!(page(3), (vec![1, 1, 2], Some(2)));
        assert_eq!(page(4), (vec![1, 1, 2, 3, 3, 3], None));
        assert_eq!(page(9), (vec![1, 1, 2, 3, 3, 3], None));
        let none: (Vec<u8>, Option<u8>) = super::page([].into_iter(), 1, |item| *item);
        assert_eq!(none, (vec![], None));
    }
}
