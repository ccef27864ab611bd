//! The readers: signing in and out, the proof that a form is of this server, what a reader may see.

use std::sync::Arc;

use axum::extract::{Form, FromRequestParts, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tenure::trace::View;
use tenure::{Digest, Error};
use tenure_inspector as pages;
use tenure_inspector::Frame;

use super::html;
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::reviewer;
use tenure_store::Writing;

/// The cookie that shows the key.
const COOKIE: &str = "tenure_key";
/// The longest key or token that is taken, in bytes.
const MOST_KEY: usize = 3_500;
/// The time after which a browser forgets the cookie, in seconds.
const FORGET: u32 = 12 * 60 * 60;

/// The secret of this process that proofs of forms are made with.
#[derive(Clone)]
pub(super) struct Secret(Arc<[u8; 32]>);

impl Secret {
    /// A random one; of a machine without randomness all forms are refused.
    pub(super) fn new() -> Secret {
        let mut bytes = [0; 32];
        let _ = getrandom::fill(&mut bytes);
        Secret(Arc::new(bytes))
    }

    /// The proof that a form comes from a page that was made for this caller.
    fn token(&self, caller: &Caller) -> String {
        if *self.0 == [0; 32] {
            return String::new();
        }
        let key = caller.key.as_deref().unwrap_or_default();
        Digest::of_parts([&self.0[..], caller.tenant.as_bytes(), key.as_bytes()]).to_string()
    }
}

/// A visit of a reader.
pub(super) struct Visit {
    pub(super) app: Arc<App>,
    pub(super) caller: Caller,
    pub(super) frame: Frame,
}

impl FromRequestParts<Arc<App>> for Visit {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Visit, Fault> {
        let extensions = &parts.extensions;
        let (Some(caller), Some(secret)) = (extensions.get::<Caller>(), extensions.get::<Secret>())
        else {
            return Err(Refusal::from(Error::assertion("the guard knows who looks")).into());
        };
        Ok(Visit {
            app: Arc::clone(app),
            frame: Frame {
                reader: caller.key.as_deref().map(str::to_owned),
                token: secret.token(caller),
                operator: caller.grant.operator,
                writes: caller.grant.operator && !caller.grant.read_only,
                reviews: reviewer(&caller.grant).is_ok() && !caller.grant.read_only,
                resolves: app.context(caller, Writing::default()).check_resolver().is_ok()
                    && !caller.grant.read_only,
            },
            caller: caller.clone(),
        })
    }
}

impl Visit {
    /// The view of traces that the reader has.
    pub(super) fn view(&self) -> View {
        if self.caller.grant.operator {
            View::Operator
        } else {
            View::Caller
        }
    }

    /// Refuses a form that did not come from a page of this server for this reader.
    pub(super) fn check_form(&self, token: &str) -> Result<(), Refusal> {
        if self.frame.token.is_empty() || token != self.frame.token {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the form is of no page that was made for you",
            )
            .hint("load the page again, and send its form"));
        }
        Ok(())
    }

    /// Refuses a reader who may not decide.
    pub(super) fn check_writes(&self) -> Result<(), Refusal> {
        if self.frame.writes {
            return Ok(());
        }
        Err(
            Refusal::new(StatusCode::FORBIDDEN, "the key may not decide")
                .expected("an operator's key that does not only read"),
        )
    }
}

/// A failure as a page.
pub(super) struct Fault(Refusal);

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        Fault(refusal)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault(error.into())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let status = self.0.status();
        let title = status.canonical_reason().unwrap_or("Error");
        let error = self.0.into_error();
        let hint = error.hint.as_deref().or(error.expected.as_deref());
        html(
            status,
            pages::message(title, &error.what, hint, &Frame::default()),
        )
    }
}

/// Nothing that the reader may see. What is not there and what is hidden are the same.
pub(super) fn nothing() -> Refusal {
    Error::not_found("there is nothing here that you may see").into()
}

/// The key that the cookie of a request shows.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let mut found = cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    found.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}

#[derive(Deserialize)]
pub(super) struct Back {
    #[serde(default)]
    back: String,
    #[serde(default)]
    failed: String,
}

/// A path of the inspector: where a reader wanted to go.
fn way(back: &str) -> &str {
    let path = back.split(['?', '#']).next().unwrap_or_default();
    let is_plain =
        back.bytes().all(|byte| byte.is_ascii_graphic()) && !back.contains(['\\', '"', '<', '>']);
    if super::has(path) && !super::is_open(path) && is_plain {
        back
    } else {
        pages::ROOT
    }
}

pub(super) async fn form(State(app): State<Arc<App>>, Query(asked): Query<Back>) -> Response {
    let page = pages::sign_in(
        way(&asked.back),
        !asked.failed.is_empty(),
        app.access.takes_tokens(),
    );
    html(StatusCode::OK, page)
}

#[derive(Deserialize)]
pub(super) struct Shown {
    key: String,
    #[serde(default)]
    back: String,
}

pub(super) async fn sign_in(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(shown): Form<Shown>,
) -> Result<Response, Fault> {
    let key = shown.key.trim();
    let fits = key.len() <= MOST_KEY
        && key
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\'));
    let fresh = Arc::clone(&app);
    let _ = crate::blocking(move || Ok(fresh.access.refresh()?)).await;
    let caller = if fits {
        app.access.caller(Some(key), app.now()).await.unwrap_or(None)
    } else {
        None
    };
    let back = way(&shown.back);
    if caller.is_none() {
        let place = format!("/inspect/sign-in?failed=1&back={}", pages::encode(back));
        return Ok(onto(&place, None));
    }
    Ok(onto(back, Some(&set_cookie(key, FORGET, &headers))))
}

pub(super) async fn sign_out(
    visit: Visit,
    headers: HeaderMap,
    Form(form): Form<Token>,
) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    Ok(onto("/inspect/sign-in", Some(&set_cookie("", 0, &headers))))
}

#[derive(Deserialize)]
pub(super) struct Token {
    token: String,
}

/// The cookie, which no script reads and no other site's request carries; behind a proxy that speaks TLS it is never
/// shown without it.
fn set_cookie(key: &str, lives: u32, headers: &HeaderMap) -> String {
    let secure = headers.get("x-forwarded-proto").is_some_and(|proto| proto == "https");
    let secure = if secure { "; Secure" } else { "" };
    format!("{COOKIE}={key}; Path=/inspect; Max-Age={lives}; HttpOnly; SameSite=Strict{secure}")
}

/// Leads to another page.
pub(super) fn onto(place: &str, cookie: Option<&str>) -> Response {
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::LOCATION,
        HeaderValue::from_str(place).unwrap_or(HeaderValue::from_static(pages::ROOT)),
    );
    if let Some(Ok(cookie)) = cookie.map(HeaderValue::from_str) {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_led_back_to_the_inspector_alone() {
        for back in ["/inspect", "/inspect/records/gw-1?at=3"] {
            assert_eq!(way(back), back);
        }
        for back in [
            "",
            "/",
            "//evil.example",
            "https://evil.example/inspect",
            "/inspectors",
            "/inspect/sign-in",
            "/inspect/\\evil",
            "/inspect/a b",
            "javascript:alert(1)",
        ] {
            assert_eq!(way(back), "/inspect", "{back}");
        }
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            HeaderValue::from_static("a=b; tenure_key=tnr_x_y"),
        );
        assert_eq!(cookie(&headers), Some("tnr_x_y"));
        headers.clear();
        assert_eq!(cookie(&headers), None);
    }
}
