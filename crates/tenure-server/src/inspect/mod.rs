//! The inspector: pages at `/inspect` that show what was compiled and forwarded, made by `tenure-inspector` from the
//! records that there are anyway. No request of an agent passes here.
//!
//! A reader signs in with a key of this server, which a cookie then shows; it is checked with every request, so that a
//! revoked key ends it. Nothing that a page shows comes from anywhere but its server, and nothing in it runs.

mod access;
mod decide;
mod kept;
mod live;
mod records;
mod views;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tenure_inspector as pages;

use crate::app::App;
use crate::error::Refusal;

use access::{Fault, Secret};
pub(crate) use kept::KeptPages;

/// The policy of what a page may load and do: its own style and script, forms to its own server, and to be framed by nobody.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The most bytes of a form with weights.
const WEIGHTS: usize = 8 << 20;

/// The paths that need no key.
const OPEN: [&str; 3] = [pages::STYLE_PATH, pages::SCRIPT_PATH, "/inspect/sign-in"];

/// Returns whether a path is one of the inspector's.
pub(crate) fn has(path: &str) -> bool {
    path.strip_prefix(pages::ROOT)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a path needs no key.
pub(crate) fn is_open(path: &str) -> bool {
    OPEN.contains(&path)
}

/// Returns whether a form of this path keeps nothing: the end of a visit, and weights that are laid over a payload.
pub(crate) fn only_shows(path: &str) -> bool {
    let of_record = path.strip_prefix("/inspect/records/");
    path == "/inspect/sign-out" || of_record.is_some_and(|rest| rest.ends_with("/attention"))
}

/// The key that a cookie shows.
pub(crate) fn shown_key(headers: &HeaderMap) -> Option<&str> {
    access::cookie(headers)
}

/// The answer to who followed a link from another site: a page of this server that leads on, since only then a browser
/// shows the cookie.
pub(crate) fn onward(request: &Request) -> Response {
    let path = request.uri().path_and_query().map_or("/inspect", |path| path.as_str());
    dressed(html(StatusCode::OK, pages::onward(path)))
}

/// The answer to a reader who is refused before any page is made: who has no key is asked to sign in.
pub(crate) fn refused(request: (&axum::http::Method, &str), refusal: Refusal) -> Response {
    let (method, path) = request;
    if refusal.status() == StatusCode::UNAUTHORIZED && method.is_safe() {
        let to = format!("/inspect/sign-in?back={}", pages::encode(path));
        let place = HeaderValue::from_str(&to);
        if let Ok(place) = place {
            return dressed((StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response());
        }
    }
    dressed(Fault::from(refusal).into_response())
}

pub(crate) fn routes() -> Router<Arc<App>> {
    let secret = Secret::new();
    Router::new()
        .route(pages::ROOT, get(records::overview))
        .route("/inspect/sign-in", get(access::form).post(access::sign_in))
        .route("/inspect/sign-out", post(access::sign_out))
        .route("/inspect/live", get(live::live))
        .route("/inspect/records/{id}", get(records::record))
        .route("/inspect/records/{id}/items", get(records::items))
        .route("/inspect/records/{id}/candidates", get(records::candidates))
        .route("/inspect/records/{id}/message", get(records::message))
        .route("/inspect/records/{id}/payload", get(records::payload))
        .route(
            "/inspect/records/{id}/attention",
            post(records::attention).layer(DefaultBodyLimit::max(WEIGHTS)),
        )
        .route("/inspect/records/{id}/item", get(records::item))
        .route("/inspect/records/{id}/diff", get(records::difference))
        .route("/inspect/sessions/{id}", get(records::session))
        .route("/inspect/objects/{id}", get(views::object))
        .route("/inspect/registries", get(views::registries))
        .route("/inspect/registries/{label}", get(views::registry))
        .route("/inspect/waiting", get(decide::waiting))
        .route("/inspect/waiting/conflict", post(decide::conflict))
        .route("/inspect/waiting/entity", post(decide::entity))
        .route("/inspect/waiting/outcome", post(decide::outcome))
        .route("/inspect/waiting/confirmation", post(decide::confirmation))
        .route("/inspect/trends", get(views::trends))
        .route(pages::STYLE_PATH, get(style))
        .route(pages::SCRIPT_PATH, get(script))
        .route("/inspect/", any(nowhere))
        .route("/inspect/{*rest}", any(nowhere))
        .layer(Extension(secret))
        .layer(from_fn(dress))
}

/// The answer for a path without a page.
async fn nowhere() -> Fault {
    access::nothing().into()
}

async fn dress(request: Request, next: Next) -> Response {
    dressed(next.run(request).await)
}

/// The answer with the headers that every page has.
fn dressed(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let fresh = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(fresh);
    response
}

fn html(status: StatusCode, page: String) -> Response {
    (
        status,
        [(header::CONTENT_TYPE, "text/html; charset=utf-8")],
        page,
    )
        .into_response()
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", pages::STYLE)
}

async fn script() -> Response {
    asset("text/javascript; charset=utf-8", pages::SCRIPT)
}

fn asset(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "private, max-age=300"),
    ];
    (headers, text).into_response()
}
