//! The guard that every request passes first: framing, host, origin, key, rate.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant as Clock;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;

use crate::access::KEYS_EVERY;
use crate::accounting::Accounting;
use crate::app::App;
use crate::arriving::{Arriving, Traced};
use crate::error::Refusal;
use crate::failed;
use crate::mcp::{self, resource};
use crate::protocol::Protocol;
use crate::work::{WHOSE, Whose};
use tenure_operations::Caller;

/// Carries the key of this server where `Authorization` is the provider's.
pub(crate) const KEY_HEADER: HeaderName = HeaderName::from_static("x-tenure-key");
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// Says whose page a request comes from, where a browser sends it.
const FETCH_SITE: &str = "sec-fetch-site";

/// The paths that need no key.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/openapi.json", resource::METADATA];

/// Lets a request through, or answers why not. What writes through the API goes on by itself: it is
/// written whether its client waits or not, and so it is accounted for. What reads or is forwarded ends with its client.
pub(crate) async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let route = route(path, request.extensions().get::<MatchedPath>());
    #[cfg(feature = "inspector")]
    if crate::inspect::has(path) && is_link(&request) {
        return crate::inspect::onward(&request);
    }
    let accounting = Accounting::open(&app, &request, route, is_open(path));
    let matched = request.extensions().get::<MatchedPath>();
    if !path.starts_with("/api/") || crate::api::only_reads(request.method(), matched) {
        return answer(app, accounting, request, next).await;
    }
    let (answered, response) = oneshot::channel();
    let requests = Arc::clone(&app);
    requests.requests.spawn(async move {
        let _ = answered.send(answer(app, accounting, request, next).await);
    });
    response.await.unwrap_or_else(|_| failed().into_response())
}

/// The answer to a request, accounted for.
async fn answer(
    app: Arc<App>,
    mut accounting: Accounting,
    mut request: Request,
    next: Next,
) -> Response {
    let traced = Traced(accounting.context);
    request.extensions_mut().insert(traced);
    let is_resource = accounting.path == resource::PATH;
    if accounting.path.starts_with("/api/") || is_resource || is_page(&accounting.path) {
        freshen_keys(&app).await;
    }
    let shown = shown_key(request.headers(), &accounting.path).map(str::to_owned);
    let admitted = match check(&app, &request) {
        Ok(()) if accounting.is_open => Ok(None),
        Ok(()) => {
            let caller = identify(&app, shown.as_deref(), &accounting.path).await;
            caller.and_then(|caller| only_reading(caller, &request).map(Some))
        }
        Err(refusal) => Err(refusal),
    };
    let challenges = accounting.path == resource::PATH && app.access.takes_tokens();
    let challenge = challenges.then(|| resource::challenge(request.headers(), shown.is_some()));
    let response = match admitted {
        Ok(caller) => {
            let whose = caller.as_ref().map(|caller| Whose {
                turns: Arc::clone(&app.turns),
                tenant: Arc::clone(&caller.tenant),
                reads: {
                    let matched = request.extensions().get::<MatchedPath>();
                    crate::api::only_reads(request.method(), matched)
                },
            });
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller.clone());
                accounting.caller = Some(caller);
            }
            if accounting.client.is_some() {
                next.run(request).await
            } else {
                let arriving = Arriving::default();
                request.extensions_mut().insert(arriving.clone());
                let run = next.run(request);
                let run = async {
                    match whose {
                        Some(whose) => WHOSE.scope(whose, run).await,
                        None => run.await,
                    }
                };
                let done = tokio::time::timeout(app.settings.limits.answer, run).await;
                done.unwrap_or_else(|_| arriving.late().into_response())
            }
        }
        #[cfg(feature = "inspector")]
        Err(refusal) if is_page(&accounting.path) => {
            let path = request
                .uri()
                .path_and_query()
                .map_or(accounting.path.as_str(), |path| path.as_str());
            crate::inspect::refused((request.method(), path), refusal)
        }
        Err(refusal) => refusal.at(accounting.client),
    };
    let is_own = accounting.client.is_none();
    let mut response = accounting.close(response);
    if response.status() == StatusCode::UNAUTHORIZED
        && let Some(challenge) = challenge.and_then(|text| HeaderValue::try_from(text).ok())
    {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    if is_own {
        // A browser takes what is sent for what it is said to be.
        let nosniff = HeaderValue::from_static("nosniff");
        response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    }
    response
}

/// Returns whether a path needs no key.
fn is_open(path: &str) -> bool {
    #[cfg(feature = "inspector")]
    if crate::inspect::is_open(path) {
        return true;
    }
    OPEN.contains(&path)
}

/// Returns whether a path is a page of the inspector.
fn is_page(path: &str) -> bool {
    #[cfg(feature = "inspector")]
    return crate::inspect::has(path);
    #[cfg(not(feature = "inspector"))]
    {
        let _ = path;
        false
    }
}

/// Returns whether a form only changes what its reader is shown.
fn is_shown(path: &str) -> bool {
    #[cfg(feature = "inspector")]
    return crate::inspect::only_shows(path);
    #[cfg(not(feature = "inspector"))]
    {
        let _ = path;
        false
    }
}

/// Refuses what writes, or goes to a provider, to a key that only reads.
fn only_reading(caller: Caller, request: &Request) -> Result<Caller, Refusal> {
    let path = request.uri().path();
    let matched = request.extensions().get::<MatchedPath>();
    let reads = !Protocol::has(path) && crate::api::only_reads(request.method(), matched);
    if !caller.grant.read_only || reads || is_shown(path) {
        return Ok(caller);
    }
    Err(Refusal::new(StatusCode::FORBIDDEN, "the key only reads")
        .expected("a key made without --read-only"))
}

/// Reads the keys again where another node made or revoked one, so that the next request here knows.
/// A store that does not say so in time says nothing: the keys that are known stay. While there are none, no request
/// is held up for one: the first is found within [`KEYS_EVERY`].
async fn freshen_keys(app: &Arc<App>) {
    if !app.access.has_keys() {
        return;
    }
    let fresh = Arc::clone(app);
    let refresh = crate::blocking(move || Ok(fresh.access.refresh()?));
    let _ = tokio::time::timeout(KEYS_EVERY, refresh).await;
}

/// The route of a path in the metrics: one of a small set.
fn route(path: &str, matched: Option<&MatchedPath>) -> &'static str {
    if Protocol::has(path) {
        return match path {
            "/v1/chat/completions" => "/v1/chat/completions",
            "/v1/responses" => "/v1/responses",
            "/v1/messages" => "/v1/messages",
            "/v1/messages/count_tokens" => "/v1/messages/count_tokens",
            _ => "/v1/*",
        };
    }
    if is_page(path) {
        return "/inspect/*";
    }
    let Some(matched) = matched else {
        return "none";
    };
    let known = crate::status::PATHS.iter().chain(mcp::PATHS).chain(crate::api::paths());
    let mut found = known.filter(|known| **known == matched.as_str());
    found.next().copied().unwrap_or("other")
}

/// Checks that a request is for this server, and from no page of another.
fn check(app: &App, request: &Request) -> Result<(), Refusal> {
    let headers = request.headers();
    let host = host(request)?;
    if !is_ours(&host, &app.settings.hosts) {
        return Err(Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!(
                "`{}` is no name of this server",
                tenure::object::clip(&host)
            ),
        )
        .expected("an address, `localhost`, or a name given with --host"));
    }
    check_origin(headers, &host)?;
    check_site(request)
}

/// Returns the caller, if they may ask.
async fn identify(app: &App, shown: Option<&str>, path: &str) -> Result<Caller, Refusal> {
    let caller = app.access.caller(shown, app.now()).await?.ok_or_else(|| {
        let (what, expected) = if app.access.takes_tokens() {
            ("no valid key or token was shown", "a key or token")
        } else {
            ("no valid key was shown", "a key")
        };
        let place = if Protocol::has(path) {
            "of this server in `x-tenure-key`, beside the provider's own"
        } else {
            "in `Authorization: Bearer`, `x-api-key` or `x-tenure-key`"
        };
        Refusal::new(StatusCode::UNAUTHORIZED, what)
            .expected(format!("{expected} {place}"))
            .hint("`tenure keys create --tenant T` makes one")
    })?;
    if path == "/metrics" && !caller.grant.operator {
        return Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "the key is no operator's",
        ));
    }
    app.rates.take(&caller.tenant, Clock::now()).map_err(|wait| {
        Refusal::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!(
                "`{}` has asked too often",
                tenure::object::clip(&caller.tenant)
            ),
        )
        .retry_after(wait)
    })?;
    Ok(caller)
}

/// Returns the host that the client believes it talks to.
fn host(request: &Request) -> Result<String, Refusal> {
    let mut named = request
        .headers()
        .get_all(header::HOST)
        .iter()
        .map(|value| value.to_str().unwrap_or_default());
    let (first, second) = (named.next(), named.next());
    let whole = request.uri().authority().map(|authority| authority.as_str());
    match (first, second, whole) {
        (Some(host), None, None) if !host.is_empty() => Ok(host.to_owned()),
        (Some(host), None, Some(whole)) if host == whole => Ok(host.to_owned()),
        _ => Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "the request does not say once whom it is for",
        )
        .expected("one `Host` header")),
    }
}

/// Returns whether a host is this server: an address, which no page can make a browser take for another, or a
/// name that is known to lead here.
fn is_ours(host: &str, names: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A page may only ask the server that it is from.
fn check_origin(headers: &HeaderMap, host: &str) -> Result<(), Refusal> {
    let mut named = headers.get_all(header::ORIGIN).iter();
    let (Some(origin), second) = (named.next(), named.next()) else {
        return Ok(());
    };
    if second.is_some() {
        let what = "the request does not say once which origin it comes from";
        return Err(Refusal::new(StatusCode::BAD_REQUEST, what).expected("one `Origin` header"));
    }
    let from = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    match from {
        Some((_, from)) if from.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "the request comes from a page of another origin",
        )),
    }
}

/// A browser names no origin where a page reads without asking, with an image or a script, but it says that the page is
/// another's. A link that is followed leads to a page of this server only.
fn check_site(request: &Request) -> Result<(), Refusal> {
    let says = |name: &str, words: &[&str]| {
        request
            .headers()
            .get(name)
            .is_some_and(|value| words.iter().any(|word| value == *word))
    };
    let is_other = says(FETCH_SITE, &["cross-site", "same-site"]);
    let navigates = says("sec-fetch-mode", &["navigate"]) && says("sec-fetch-dest", &["document"]);
    let may_be_led_to = OPEN.contains(&request.uri().path()) && request.method().is_safe();
    if is_other && !(navigates && may_be_led_to) {
        let what = "the request comes from a page of another site";
        return Err(Refusal::new(StatusCode::FORBIDDEN, what));
    }
    Ok(())
}

/// Returns whether somebody followed a link from another site.
#[cfg(feature = "inspector")]
fn is_link(request: &Request) -> bool {
    let says =
        |name: &str, word: &str| request.headers().get(name).is_some_and(|value| value == word);
    let is_other = says(FETCH_SITE, "cross-site") || says(FETCH_SITE, "same-site");
    let navigates = says("sec-fetch-mode", "navigate") && says("sec-fetch-dest", "document");
    request.method() == axum::http::Method::GET && is_other && navigates
}

/// The key of this server, or the token, that a request shows.
fn shown_key<'h>(headers: &'h HeaderMap, path: &str) -> Option<&'h str> {
    #[cfg(feature = "inspector")]
    if crate::inspect::has(path) {
        return crate::inspect::shown_key(headers);
    }
    let text = |name: HeaderName| headers.get(name)?.to_str().ok();
    let own = text(KEY_HEADER);
    if own.is_some() || Protocol::has(path) {
        return own;
    }
    text(header::AUTHORIZATION)
        .and_then(|value| {
            let (scheme, key) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
        })
        .or_else(|| text(API_KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_lead_here_are_ours() {
        let names = ["tenure.internal".to_owned()];
        for host in [
            "127.0.0.1:7878",
            "127.0.0.1",
            "[::1]:80",
            "[::1]",
            "localhost",
            "LOCALHOST:1",
            "10.1.2.3:7878",
            "tenure.internal:443",
            "Tenure.Internal",
        ] {
            assert!(is_ours(host, &names), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example:7878",
            "[::1",
            "[evil]",
        ] {
            assert!(!is_ours(host, &[]) || host == "[::1", "{host}");
        }
    }
}
