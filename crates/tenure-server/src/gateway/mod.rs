//! The gateway: requests in a provider's protocol go to an upstream of it, and their answers back.
//!
//! | what | where |
//! |---|---|
//! | whose protocol a request is in, and its form of errors | `protocol.rs` |
//! | where upstreams are, and connections to them | `upstream.rs`, `pools.rs` |
//! | which headers go on, and which end here | `headers.rs` |
//! | a request compiled before it goes on | `fit.rs` |
//! | what is not managed, counted and logged | `unmanaged.rs` |
//! | what was done, for the record, the metrics and the log | `told.rs` |
//! | what the model answered, and whether it may | `output.rs`, `schema.rs` |
//! | the answer on its way: kept for the record, watched for silence | `tap.rs` |
//! | what the record says: tokens and usage | `measure.rs` |
//! | the record, off the path of the request | `recorder.rs` |
//!
//! In `observe`, bodies go through as they came. In `fit`, what does not fit is compiled first, in `full` what
//! has something beside it, too (`fit.rs`). What a provider finds too long is cut and sent once more.

mod fit;
mod headers;
mod measure;
mod output;
mod pools;
mod protocol;
mod recorder;
mod schema;
mod tap;
mod told;
mod unmanaged;
mod upstream;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant as Clock;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use axum::routing::any;
use axum::{Extension, Router};
use bytes::Bytes;
use hyper::ext::ReasonPhrase;
use tenure::Error;
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::records::{EXCHANGE_PREFIX, Ending};
use tenure_workspace::relay::{Place, Relay};

use crate::app::App;
use crate::body::whole_body;
use crate::caller::Caller;
use crate::clock::now;
use crate::error::Refusal;
use crate::metrics::{Metrics, What, Word};
use crate::options::{Limits, Mode};
pub use output::OutputFault;
use output::{Constraint, Demands, Found, LeftOut};
pub(crate) use pools::Owner;
pub(crate) use protocol::{Protocol, lacks_version};
use recorder::{Exchange, Open, Recorder};
use tap::{Ahead, Tap};
pub(crate) use told::Did;
use told::Sent;
pub(crate) use upstream::Link;
pub use upstream::Upstream;
use upstream::Upstreams;

/// Names the record of an exchange in its answer.
pub(crate) const RECORD_HEADER: HeaderName = HeaderName::from_static("x-tenure-record");
const MODE_HEADER: HeaderName = HeaderName::from_static("x-tenure-mode");
/// The tokens that the gateway took out of the request, less those that it put into it.
const SAVED_HEADER: HeaderName = HeaderName::from_static("x-tenure-saved-tokens");
/// The tokens that it put into it, less those that it took out.
const ADDED_HEADER: HeaderName = HeaderName::from_static("x-tenure-added-tokens");
/// Names the session that a request belongs to.
const SESSION_HEADER: HeaderName = HeaderName::from_static("x-tenure-session");
/// Says why a request went on as it came, by the code of the reason.
const FAULT_HEADER: HeaderName = HeaderName::from_static("x-tenure-fault");
/// Says that a provider found the request too long, and that what it answers here is a shorter one.
const RETRIED_HEADER: HeaderName = HeaderName::from_static("x-tenure-retried");
/// Says what is wrong with an answer that was not streamed.
const OUTPUT_HEADER: HeaderName = HeaderName::from_static("x-tenure-output");
/// Says how many of the agent's tools were not offered, by the codes of the reasons.
const LEFT_OUT_HEADER: HeaderName = HeaderName::from_static("x-tenure-tools-left-out");
/// What an operator should know of a request that was managed.
const NOTICE_HEADER: HeaderName = HeaderName::from_static("x-tenure-notice");
/// The most that is read of what an error says.
const MAX_ERROR: u64 = 1 << 20;
/// The most that is read of a list of models.
const MAX_LIST: u64 = 8 << 20;
/// The longest name of a session, in bytes.
const MAX_SESSION: usize = 256;

/// Whether a request asks a model, so that a record is kept of it.
fn is_recorded(method: &Method, path: &str) -> bool {
    let paths = [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/messages",
        "/v1/messages/count_tokens",
    ];
    method == Method::POST && paths.contains(&path)
}

/// Where requests go, and where what is known of them goes.
pub(crate) struct Gateway {
    upstreams: Upstreams,
    recorder: Recorder,
    records: bool,
    metrics: Arc<Metrics>,
    ids: Ids,
    besides: fit::Besides,
    warned: unmanaged::Warned,
    held: Arc<tap::Held>,
}

impl Gateway {
    pub(crate) fn new(
        upstreams: Vec<Upstream>,
        limits: &Limits,
        store: Option<Store>,
        workspace: Arc<Workspace>,
        relay: Arc<Relay>,
        metrics: Arc<Metrics>,
    ) -> Result<Gateway, Error> {
        Ok(Gateway {
            upstreams: Upstreams::open(upstreams, limits)?,
            records: store.is_some(),
            recorder: Recorder::start(store, workspace, relay, Arc::clone(&metrics))?,
            metrics,
            ids: Ids::new()?,
            besides: fit::Besides::default(),
            warned: unmanaged::Warned::default(),
            held: Arc::default(),
        })
    }

    /// Waits until what is queued is recorded; blocks.
    pub(crate) fn finish(&self) {
        self.recorder.finish();
    }

    /// Lets go of what is held of a tenant.
    pub(crate) fn forget(&self, tenant: &str) {
        self.besides.forget(tenant);
    }

    fn counted(&self, what: &'static str, bytes: u64) {
        let label = What { what: Word(what) };
        self.metrics
            .gateway_bytes
            .get_or_create(&label)
            .inc_by(bytes);
    }
}

pub(crate) fn routes() -> Router<Arc<App>> {
    let routes = Router::new().route("/v1/{*path}", any(forward));
    let routes = routes.route("/v1beta/{*path}", any(forward));
    routes.route("/v1alpha/{*path}", any(forward))
}

/// Sends a request on, and its answer back as it comes.
async fn forward(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let protocol = Protocol::of(request.uri(), request.headers());
    match exchange(&app, caller, protocol, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.for_client(protocol),
    }
}

/// Where requests of a protocol go. That no upstream takes them is no failure that passes.
fn link<'g>(gateway: &'g Gateway, protocol: Protocol, path: &str) -> Result<&'g Link, Refusal> {
    gateway.upstreams.of(protocol).ok_or_else(|| {
        let what = format!(
            "`{}` is not served: there is no upstream for the protocol `{}`",
            tenure::object::clip(path),
            protocol.term()
        );
        Refusal::new(StatusCode::NOT_FOUND, what).hint(match protocol {
            Protocol::Google => "start with --upstream URL, which takes every protocol".to_owned(),
            _ => format!("start with --upstream {}=URL", protocol.term()),
        })
    })
}

/// Whether a request asks for another protocol on its connection, such as WebSocket: none is carried through.
fn check_upgrade(headers: &HeaderMap) -> Result<(), Refusal> {
    let asked = headers.get_all(header::UPGRADE).iter();
    let mut asked = asked.filter_map(|value| value.to_str().ok());
    if asked.any(|value| value.to_ascii_lowercase().contains("websocket")) {
        let what = "WebSocket connections are not carried through";
        return Err(Refusal::new(StatusCode::NOT_IMPLEMENTED, what)
            .expected("the same request over HTTP, streamed or not"));
    }
    Ok(())
}

async fn exchange(
    app: &Arc<App>,
    caller: Caller,
    protocol: Protocol,
    request: Request,
) -> Result<Response, Refusal> {
    let started = Clock::now();
    let at = now();
    let gateway = &app.gateway;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    check_path(path)?;
    check_upgrade(&parts.headers)?;
    let link = link(gateway, protocol, path)?;
    let body = whole_body(&parts.headers, body, app.limits.body, app.limits.silence).await?;
    gateway.counted("request", body.len() as u64);

    let mut fitted = match app.mode {
        Mode::Observe => fit::Fitted::default(),
        _ => fit::fit(app, &caller, &parts, protocol, &body, None).await,
    };
    let mut settled = settle(app, &mut fitted);
    if app.fail_closed
        && fitted.fault.is_none()
        && let Some(settled) = settled.take()
        && let Some(error) = settled.await.ok().flatten()
    {
        fitted = fitted.unwritten(error);
    }
    let refused = fitted.fault.clone().filter(|_| app.fail_closed);
    let sent = fitted.body.take().unwrap_or_else(|| body.clone());
    let mut compiles = fitted.place.is_some();
    let learner = fitted.learner.take();
    // What is asked again goes out as it came in.
    let again = learner.is_some().then(|| parts.clone());
    let format = fit::format(&parts.method, path);
    let teaches = app.mode != Mode::Observe && fit::lists_models(&parts.method, path);
    let owner = Owner::of(&caller, &parts.headers);

    let is_conversation = is_recorded(&parts.method, path);
    let exchange = is_conversation.then(|| Exchange {
        id: gateway.ids.next(at.micros()),
        at,
        started,
        protocol,
        path: path.to_owned(),
        tenant: Arc::clone(&caller.tenant),
        key: caller.key.clone(),
        session: match &fitted.place {
            Some(place) => Some(place.session.clone()),
            None => session(&parts.headers),
        },
        place: fitted.place.clone(),
        format,
        mode: app.mode.term(),
        client: told::client(&parts.headers),
        sent: Sent::of(&mut fitted, Some(&sent).filter(|_| refused.is_none()), 0),
        request_bytes: body.len() as u64,
        request: Some(body.clone()),
        encoding: None,
        status: None,
        head: None,
        constraints: fitted.constraints.clone(),
        left_out: Arc::clone(&fitted.left_out),
        output: None,
        unmanaged: fitted.unmanaged,
        notices: fitted.notices.clone(),
        calibrated: fitted.calibrated,
        reply: tap::Kept::new(compiles, &gateway.held),
    });
    let id = exchange
        .as_ref()
        .filter(|_| gateway.records)
        .map(|exchange| exchange.id.clone());
    let mut open = gateway.recorder.open(exchange);
    if let Some(fault) = refused {
        unmanaged::note(app, &caller, &fitted, id.as_deref());
        if let Some(settled) = settled.take() {
            let _ = settled.await;
        }
        let mut response = refuse(Refusal::from(fault), protocol, open, &fitted);
        if is_conversation {
            let did = Did::of(app.mode.term(), &fitted);
            did.count(&gateway.metrics);
            response.extensions_mut().insert(did);
        }
        let headers = response.headers_mut();
        headers.insert(MODE_HEADER, HeaderValue::from_static(app.mode.term()));
        headers.extend(id.and_then(|id| Some((RECORD_HEADER, HeaderValue::try_from(id).ok()?))));
        return Ok(response);
    }
    let mut answer = send((link, owner), parts, sent.clone(), app).await;
    let mut ahead = Ahead::default();
    let mut retried = false;
    if let (Ok(found), Some(parts), Some(learner)) = (&mut answer, again, learner)
        && may_be_too_long(found.status())
    {
        ahead = Ahead::read(found.body_mut(), app.limits.upstream).await;
        let said = Packed::of(found.headers(), &ahead);
        let said = move || said.text(MAX_ERROR);
        if let Some(window) = fit::learn(app, &caller, learner, said).await {
            let said = Some(window);
            let mut shorter = fit::fit(app, &caller, &parts, protocol, &body, said).await;
            let again = settle(app, &mut shorter);
            let mut unkept = None;
            if app.fail_closed
                && let Some(again) = again
            {
                unkept = again.await.ok().flatten();
            } else {
                settled = again.or(settled);
            }
            let smaller = shorter.body.take().filter(|smaller| *smaller != sent);
            if let Some(error) = unkept {
                fitted = shorter.unwritten(error.clone());
                if let Some(exchange) = open.exchange() {
                    exchange.unmanaged = fitted.unmanaged;
                }
                answer = Err((Refusal::from(error), Ending::Refused));
            } else if let Some(smaller) = smaller {
                gateway.metrics.learned.inc();
                if let Some(exchange) = open.exchange() {
                    exchange.sent = Sent::of(&mut shorter, Some(&smaller), 1);
                }
                answer = send((link, owner), parts, smaller, app).await;
                let answered = |answer: &hyper::Response<_>| answer.status() == StatusCode::OK;
                if let Some(place) = &shorter.place
                    && answer.as_ref().is_ok_and(answered)
                {
                    fit::confirm(app, &caller, place, window).await;
                }
                (ahead, retried, fitted) = (Ahead::default(), true, shorter);
                if let Some(exchange) = open.exchange() {
                    exchange.constraints.clone_from(&fitted.constraints);
                    exchange.left_out = Arc::clone(&fitted.left_out);
                    exchange.unmanaged = fitted.unmanaged;
                    // What it reports is of the shorter one.
                    exchange.place.clone_from(&fitted.place);
                    exchange.notices.clone_from(&fitted.notices);
                    exchange.calibrated = fitted.calibrated;
                    if !compiles && let Some(place) = &fitted.place {
                        exchange.session = Some(place.session.clone());
                        exchange.reply = tap::Kept::new(true, &gateway.held);
                    }
                }
                compiles = fitted.place.is_some();
            }
        }
    }
    unmanaged::note(app, &caller, &fitted, id.as_deref());
    let mut output = None;
    let mut response = match answer {
        Ok(answer) => {
            let (mut head, mut body) = answer.into_parts();
            let headers = headers::answer(head.headers);
            if teaches && is_whole_json(head.status, &headers) {
                ahead = Ahead::read(&mut body, app.limits.upstream).await;
                let list = Packed::of(&headers, &ahead);
                fit::teach(app, &caller, protocol, move || list.text(MAX_LIST));
            }
            if let (Some(format), true) = (format, compiles)
                && is_whole_json(head.status, &headers)
            {
                ahead = Ahead::read(&mut body, app.limits.upstream).await;
                let request = open.exchange().and_then(|open| open.request.clone());
                let stands = (fitted.constraints.clone(), Arc::clone(&fitted.left_out));
                let place = fitted.place.clone();
                output = look(format, (request, place), stands, &headers, &ahead).await;
            }
            if let Some(settled) =
                settled.take_if(|_| ahead.whole || hyper::body::Body::is_end_stream(&body))
            {
                let _ = settled.await;
            }
            if let Some(exchange) = open.exchange() {
                exchange.output.clone_from(&output);
                exchange.status = Some(head.status.as_u16());
                exchange.head = Some(started.elapsed());
                let encoding = headers.get(header::CONTENT_ENCODING);
                exchange.encoding =
                    encoding.and_then(|value| value.to_str().ok().map(str::to_owned));
            }
            // Nothing of what was read ahead has gone on yet.
            let broken = ahead.broken.as_ref().map(|broken| broken.refusal(link));
            let rejected = || output.as_ref().and_then(|found| rejected(app, found));
            let rejected = || rejected().map(|refusal| (refusal, Ending::Rejected));
            if let Some((refusal, ending)) = broken.or_else(rejected) {
                if let Some(settled) = settled.take() {
                    let _ = settled.await;
                }
                if let Some(exchange) = open.exchange() {
                    exchange.reply.keep(&ahead.bytes());
                    exchange.status = Some(refusal.status().as_u16());
                }
                open.end(ending);
                refusal.for_client(protocol)
            } else {
                let tap = Tap::new(ahead, body, settled, open, app);
                let mut response = Response::new(Body::new(tap));
                let reason = head.extensions.remove::<ReasonPhrase>();
                reason.map(|reason| response.extensions_mut().insert(reason));
                *response.status_mut() = head.status;
                *response.headers_mut() = headers;
                response
            }
        }
        Err((refusal, ending)) => {
            if let Some(settled) = settled.take() {
                let _ = settled.await;
            }
            if let Some(exchange) = open.exchange() {
                exchange.status = Some(refusal.status().as_u16());
            }
            open.end(ending);
            refusal.for_client(protocol)
        }
    };
    let did = Did::of(app.mode.term(), &fitted);
    if is_conversation {
        did.count(&gateway.metrics);
        response.extensions_mut().insert(did);
    }
    let headers = response.headers_mut();
    if let Some(id) = id.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(RECORD_HEADER, id);
    }
    headers.insert(MODE_HEADER, HeaderValue::from_static(app.mode.term()));
    headers.insert(SAVED_HEADER, HeaderValue::from(fitted.saved));
    headers.insert(ADDED_HEADER, HeaderValue::from(fitted.added));
    let session = fitted.place.map(|place| place.session);
    if let Some(session) = session.and_then(|id| HeaderValue::try_from(id).ok()) {
        headers.insert(SESSION_HEADER, session);
    }
    if retried {
        headers.insert(RETRIED_HEADER, HeaderValue::from_static("too-long"));
    }
    if let Some(found) = output.filter(|found| !found.faults.is_empty()) {
        let terms: Vec<&str> = found.faults.iter().map(|fault| fault.term()).collect();
        headers.extend(HeaderValue::try_from(terms.join(", ")).map(|terms| (OUTPUT_HEADER, terms)));
    }
    if let Some(left_out) = told(&fitted.left_out) {
        headers.insert(LEFT_OUT_HEADER, left_out);
    }
    let notices: Vec<&str> = fitted.notices.iter().map(|notice| notice.code()).collect();
    if !notices.is_empty() {
        let notices = HeaderValue::try_from(notices.join(", "));
        headers.extend(notices.map(|notices| (NOTICE_HEADER, notices)));
    }
    if let Some(unmanaged) = fitted.unmanaged {
        headers.insert(FAULT_HEADER, HeaderValue::from_static(unmanaged.code()));
    }
    Ok(response)
}

/// Refuses a request that could not be managed; its record says so.
fn refuse(refusal: Refusal, protocol: Protocol, mut open: Open, fitted: &fit::Fitted) -> Response {
    if let Some(exchange) = open.exchange() {
        exchange.status = Some(refusal.status().as_u16());
    }
    open.end(Ending::Refused);
    let mut response = refusal.for_client(protocol);
    if let Some(unmanaged) = fitted.unmanaged {
        let code = HeaderValue::from_static(unmanaged.code());
        response.headers_mut().insert(FAULT_HEADER, code);
    }
    response
}

/// How many tools were left out, by the codes of the reasons.
fn told(left_out: &LeftOut) -> Option<HeaderValue> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in left_out.values() {
        *counts.entry(code).or_default() += 1;
    }
    let counts = counts.iter().map(|(code, count)| format!("{code}={count}"));
    let counts: Vec<String> = counts.collect();
    HeaderValue::try_from(counts.join(", "))
        .ok()
        .filter(|told| !told.is_empty())
}

/// What becomes of the writing of a session: why it failed, where it did.
type Settled = tokio::task::JoinHandle<Option<Error>>;

/// Writes what a request added to its session, while it goes on.
fn settle(app: &Arc<App>, fitted: &mut fit::Fitted) -> Option<Settled> {
    let unsettled = fitted.unsettled.take()?;
    let metrics = Arc::clone(&app.metrics);
    Some(tokio::task::spawn_blocking(move || {
        let error = unsettled.settle().err()?;
        metrics.dropped("turns");
        Some(error)
    }))
}

/// Whether an answer of this status may say that the request is too long.
fn may_be_too_long(status: StatusCode) -> bool {
    let statuses = [
        StatusCode::BAD_REQUEST,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::UNPROCESSABLE_ENTITY,
    ];
    statuses.contains(&status)
}

/// Whether an answer is a message that is not streamed.
fn is_whole_json(status: StatusCode, headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    status == StatusCode::OK && kind.starts_with("application/json")
}

/// What was read of an answer, as it came.
struct Packed {
    encoding: Option<String>,
    data: Bytes,
}

impl Packed {
    fn of(headers: &HeaderMap, ahead: &Ahead) -> Packed {
        let encoding = headers.get(header::CONTENT_ENCODING);
        Packed {
            encoding: encoding.and_then(|value| value.to_str().ok().map(str::to_owned)),
            data: ahead.bytes(),
        }
    }

    /// What it says, unpacked as far as `most` bytes. It may take its time.
    fn text(&self, most: u64) -> String {
        let data = vec![self.data.to_vec()];
        let parts = measure::plain(self.encoding.as_deref(), data, most);
        let said = parts.iter().map(|part| String::from_utf8_lossy(part));
        said.collect()
    }
}

/// What is wrong with a whole answer; none where it was not looked at.
async fn look(
    format: tenure::wire::Format,
    (request, place): (Option<Bytes>, Option<Place>),
    (constraints, left_out): (Vec<Arc<Constraint>>, LeftOut),
    headers: &HeaderMap,
    ahead: &Ahead,
) -> Option<Found> {
    let request = request.filter(|_| ahead.whole)?;
    let answer = Packed::of(headers, ahead);
    // Both may be large: they are not read where connections are served.
    let looked = tokio::task::spawn_blocking(move || {
        let asked = measure::Asked::demands(&request);
        let demands = Demands {
            format,
            request: &asked.body,
            constraints: &constraints,
            left_out: &left_out,
        };
        let answer = answer.text(measure::MAX_UNPACKED);
        let message = output::message(format, answer.as_bytes()).ok()?;
        Some(demands.look(&output::finished(place.as_ref(), &message)))
    });
    looked.await.ok().flatten()
}

/// Why an answer does not go to the client, if it does not.
fn rejected(app: &App, found: &Found) -> Option<Refusal> {
    let mut faults = found.faults.iter();
    let fault = faults.find(|fault| app.rejects.contains(fault))?;
    let what = format!("the model's answer was rejected: {}", fault.term());
    let refusal = Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, what);
    let names: Vec<String> = found
        .broken
        .iter()
        .map(|constraint| tenure::object::clip(&constraint.name))
        .collect();
    Some(match (fault, names.is_empty()) {
        (OutputFault::ConstraintBroken, false) => {
            refusal.expected(format!("an answer that keeps `{}`", names.join("`, `")))
        }
        _ => refusal,
    })
}

/// Sends a request to an upstream and waits for the head of its answer.
async fn send(
    (link, owner): (&Link, Owner),
    parts: axum::http::request::Parts,
    body: Bytes,
    app: &App,
) -> Result<hyper::Response<hyper::body::Incoming>, (Refusal, Ending)> {
    let failed = |refusal| (refusal, Ending::UpstreamFailed);
    let uri = link.uri(&parts.uri).map_err(failed)?;
    let mut headers = headers::request(parts.headers, body.is_empty());
    if let Some(protocol) = link.protocol() {
        protocol.keep_keys(&mut headers);
    }
    let mut request = hyper::Request::new(http_body_util::Full::new(body));
    *request.method_mut() = parts.method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    match tokio::time::timeout(app.limits.upstream, link.request(owner, request)).await {
        Ok(Ok(answer)) if answer.status().is_informational() => {
            Err(failed(upstream::unasked(link, answer.status())))
        }
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(failed(upstream::failure(link, &error))),
        Err(_) => {
            let seconds = app.limits.upstream.as_secs_f32();
            let what = format!("the upstream `{}` was silent for {seconds} s", link.shown());
            let refusal = Refusal::new(StatusCode::GATEWAY_TIMEOUT, what);
            Err((refusal, Ending::UpstreamSilent))
        }
    }
}

/// A path that an upstream takes as it is written: what climbs would leave the part of it that is meant.
fn check_path(path: &str) -> Result<(), Refusal> {
    let plain = path.replace("%2e", ".").replace("%2E", ".");
    let plain = plain
        .replace("%2f", "/")
        .replace("%2F", "/")
        .replace("%5c", "\\")
        .replace("%5C", "\\");
    let climbs = plain
        .split(['/', '\\'])
        .any(|part| part == ".." || part == ".");
    if climbs {
        return Err(Refusal::new(
            StatusCode::BAD_REQUEST,
            "the path has a part `.` or `..`",
        ));
    }
    Ok(())
}

fn session(headers: &HeaderMap) -> Option<String> {
    let session = headers.get(SESSION_HEADER)?.to_str().ok()?;
    (session.len() <= MAX_SESSION).then(|| session.to_owned())
}

/// Makes ids of exchanges: in the order in which they came, and of this process.
struct Ids {
    node: u32,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Result<Ids, Error> {
        let mut node = [0; 4];
        getrandom::fill(&mut node).map_err(|error| {
            let what = format!("the system gives no random numbers: {error}");
            Error::new(tenure::ErrorKind::Unavailable, what)
        })?;
        Ok(Ids {
            node: u32::from_ne_bytes(node),
            next: AtomicU64::new(0),
        })
    }

    fn next(&self, micros: i64) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed) & 0xff_ffff;
        let mut id = String::with_capacity(32);
        let _ = write!(
            id,
            "{EXCHANGE_PREFIX}{micros:014x}{:08x}{number:06x}",
            self.node
        );
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn an_answer_is_looked_at_beside_the_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let call = r#"{"id":"a","type":"function","function":{"name":"jump","arguments":"{}"}}"#;
            let answer = format!(
                r#"{{"choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{call}]}}}}]}}"#
            );
            let request = Bytes::from(r#"{"tools":[{"function":{"name":"look"}}]}"#);
            let headers = HeaderMap::new();
            let whole = Ahead::of(answer.clone(), true);
            let part = Ahead::of(answer, false);
            let looked = |ahead| {
                let format = tenure::wire::Format::OpenAiChat;
                let request = (Some(request.clone()), None);
                let stands = (Vec::new(), LeftOut::default());
                Box::pin(look(format, request, stands, &headers, ahead))
            };
            let mut first = looked(&whole);
            // Whoever asks for it does not do it.
            let polled = first.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            assert_eq!(first.await.unwrap().faults, [OutputFault::ToolNotOffered]);
            // Nothing is read of an answer that is not there whole.
            let polled = looked(&part).as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Ready(None)));
        });
    }

    #[test]
    fn an_error_is_unpacked_as_far_as_it_is_read() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&vec![b' '; 8 << 20]).unwrap();
        let said = Packed {
            encoding: Some("gzip".into()),
            data: packed.finish().unwrap().into(),
        };
        assert_eq!(said.text(MAX_ERROR).len() as u64, MAX_ERROR);
    }

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
    fn ids_are_distinct_and_in_order() {
        let ids = Ids::new().unwrap();
        let made: Vec<String> = (0..1_000).map(|at| ids.next(at)).collect();
        assert!(made.is_sorted());
        assert!(made.windows(2).all(|two| two[0] != two[1]));
    }
}
