//! The path of a request through the gateway, whole, in one file.
//!
//! ```text
//! receive ──► fit ──► open ──► send ──► send shorter, if too long ──► inspect ──► reply ──► (record)
//! ```
//!
//! The state of the request travels along in an [`Exchange`]. Its record is handed in when the answer ends: with the last
//! byte that goes to the client (`tap.rs`), or with a failure.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use tenure::Error;
use tenure::answer::{Demands, Findings, OutputFault, RequestBody};
use tenure::wire::Format;
use tenure_workspace::records::Ending;

use super::answer::{Ahead, Answer, Failure};
use super::draft::{Draft, Inspected, Sent};
use super::fit::fit;
use super::fitted::{Fitted, OmittedTools};
use super::handling::{self, Handling};
use super::learn::{confirm, learn, teach};
use super::receive::{Kind, Received, receive};
use super::recorder::OpenRecord;
use super::reply_buffer::ReplyBuffer;
use super::tap::Tap;
use super::unpack::{self, MAX_UNPACKED, Packed};
use super::upstreams;
use super::writes::SessionWrite;
use super::{
    ADDED_HEADER, FAULT_HEADER, Gateway, LEFT_OUT_HEADER, MODE_HEADER, NOTICE_HEADER,
    OUTPUT_HEADER, RECORD_HEADER, RETRIED_HEADER, SAVED_HEADER, SESSION_HEADER,
};
use crate::app::App;
use crate::error::Refusal;
use crate::options::Mode;
use crate::protocol::Protocol;
use tenure_operations::Caller;

/// Takes a request to its upstream, and brings its answer back as it comes.
///
/// # Errors
///
/// The refusal of a request that is not received.
pub(super) async fn exchange(
    gateway: &Arc<Gateway>,
    caller: Caller,
    protocol: Protocol,
    request: Request,
) -> Result<Response, Refusal> {
    // The request, whole.
    let received = receive(gateway, caller, protocol, request).await?;
    // What goes on in its place?
    let fitted = fit(gateway, &received, None).await;
    let mut exchange = open(gateway, received, fitted).await;
    if let Some(fault) = exchange.fault_that_refuses() {
        return Ok(refuse(exchange, fault).await);
    }
    // What does the provider answer?
    let mut answer = send(&exchange).await;
    // Once more, shorter, where it finds the request too long.
    answer = send_shorter_if_too_long(&mut exchange, answer).await;
    exchange.note_unmanaged();
    // May the answer go on?
    answer = inspect(&mut exchange, answer).await;
    Ok(reply(exchange, answer).await)
}

/// A request on its way, with what is known of it so far.
struct Exchange {
    gateway: Arc<Gateway>,
    received: Received,
    fitted: Fitted,
    /// The body that goes on.
    body: Bytes,
    /// The turns of the request, while they are written.
    write: Option<SessionWrite>,
    record: OpenRecord,
    /// The id of its record, where one is kept.
    record_id: Option<String>,
    /// True if a shorter request went on after the first.
    is_shortened: bool,
    /// The faults of the answer, where it was inspected.
    findings: Option<Findings>,
}

/// Opens an exchange: begins to write the turns of its request, and begins its record.
async fn open(gateway: &Arc<Gateway>, received: Received, mut fitted: Fitted) -> Exchange {
    let app = &gateway.app;
    let mut write = None;
    match begin_write(app, &mut fitted).await {
        Ok(begun) => write = begun,
        Err(error) if fitted.fault.is_none() => fitted = fitted.unwritten(error),
        // The first fault stands.
        Err(_) => {}
    }
    let body = fitted.body.take().unwrap_or_else(|| received.body.clone());
    let is_refused = app.settings.fail_closed && fitted.fault.is_some();
    let draft = received.is_recorded().then(|| {
        let mut draft = draft(gateway, &received);
        let goes_on = Some(&body).filter(|_| !is_refused);
        draft.note_fitted(&mut fitted, goes_on, 0, &gateway.reply_memory);
        draft
    });
    let record_id = draft.as_ref().filter(|_| gateway.keeps_records);
    Exchange {
        gateway: Arc::clone(gateway),
        record_id: record_id.map(|draft| draft.id.clone()),
        record: gateway.recorder.open(draft),
        received,
        fitted,
        body,
        write,
        is_shortened: false,
        findings: None,
    }
}

/// Begins the record of a request.
fn draft(gateway: &Gateway, received: &Received) -> Draft {
    Draft {
        id: gateway.ids.next(received.at.micros()),
        at: received.at,
        started: received.started,
        protocol: received.protocol,
        path: received.head.uri.path().to_owned(),
        tenant: Arc::clone(&received.caller.tenant),
        key: received.caller.key.clone(),
        grant: Arc::clone(&received.caller.grant),
        session: received.session().map(str::to_owned),
        position: None,
        format: received.kind.format(),
        mode: gateway.app.settings.mode.term(),
        client: handling::client(&received.head.headers),
        sent: Sent::default(),
        request_bytes: received.body.len() as u64,
        request: Some(received.body.clone()),
        encoding: None,
        status: None,
        head: None,
        constraints: Vec::new(),
        sources: Vec::new(),
        relaxed: Vec::new(),
        omitted_tools: OmittedTools::default(),
        inspected: None,
        unmanaged: None,
        notices: Vec::new(),
        calibrated: None,
        room: None,
        reply: ReplyBuffer::new(false, &gateway.reply_memory),
    }
}

/// Begins to write the turns that a request adds to its session, while it goes on.
///
/// # Errors
///
/// The error of the write, which is waited for where requests fail closed.
async fn begin_write(app: &App, fitted: &mut Fitted) -> Result<Option<SessionWrite>, Error> {
    let Some(turns) = fitted.turns.take() else {
        return Ok(None);
    };
    let write = SessionWrite::begin(turns, &app.telemetry);
    if !app.settings.fail_closed {
        return Ok(Some(write));
    }
    match write.await {
        Some(error) => Err(error),
        None => Ok(None),
    }
}

/// Sends what goes on to the upstream, and waits for the head of its answer.
async fn send(exchange: &Exchange) -> Result<Answer, Failure> {
    let Received {
        link, owner, head, ..
    } = &exchange.received;
    let patience = exchange.app().settings.limits.upstream;
    upstreams::send(link, *owner, head, exchange.body.clone(), patience).await
}

/// Cuts a request that its provider finds too long to the window that it names, or to nine tenths of what was sent where
/// it names none, and sends it once more.
async fn send_shorter_if_too_long(
    exchange: &mut Exchange,
    answer: Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let mut answer = answer?;
    let Some(learner) = exchange.fitted.learner.take() else {
        return Ok(answer);
    };
    if !answer.may_say_too_long() {
        return Ok(answer);
    }
    answer.read_ahead(exchange.app().settings.limits.upstream).await;
    let app = Arc::clone(&exchange.gateway.app);
    let caller = exchange.received.caller.clone();
    let Some(lesson) = learn(&app, &caller, learner, answer.packed()).await else {
        return Ok(answer);
    };
    let mut shorter = fit(&exchange.gateway, &exchange.received, lesson.window()).await;
    match begin_write(&app, &mut shorter).await {
        Ok(None) => {}
        Ok(write) => exchange.write = write,
        Err(error) => {
            exchange.fitted = shorter.unwritten(error.clone());
            if let Some(draft) = exchange.record.draft() {
                draft.unmanaged = exchange.fitted.unmanaged;
            }
            return Err(Failure {
                refusal: Refusal::from(error),
                ending: Ending::Refused,
            });
        }
    }
    let body = shorter.body.take();
    let Some(body) = body.filter(|body| *body != exchange.body) else {
        return Ok(answer);
    };
    app.telemetry.metrics.learned.inc();
    exchange.shorten(shorter, body);
    let answer = send(exchange).await;
    if let (Some(position), Some(window)) = (&exchange.fitted.position, lesson.window())
        && matches!(&answer, Ok(answer) if answer.status == StatusCode::OK)
    {
        confirm(&app, &caller, position, window).await;
    }
    answer
}

/// Reads an answer that is not streamed ahead, learns from it, and checks it; notes its head. One that broke off there, or
/// whose faults are rejected, does not go on.
async fn inspect(
    exchange: &mut Exchange,
    answer: Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let mut answer = answer?;
    if answer.is_whole_json() {
        let patience = exchange.app().settings.limits.upstream;
        let received = &exchange.received;
        match received.kind {
            Kind::Models if exchange.app().settings.mode != Mode::Observe => {
                answer.read_ahead(patience).await;
                let app = &exchange.gateway.app;
                teach(app, &received.caller, received.protocol, answer.packed());
            }
            Kind::Message(format) if exchange.fitted.position.is_some() => {
                answer.read_ahead(patience).await;
                let request = received.body.clone();
                let (fitted, headers) = (&exchange.fitted, &answer.headers);
                let inspected =
                    read_and_check(format, request, fitted, headers, &answer.ahead).await;
                exchange.note_inspected(inspected);
            }
            _ => {}
        }
    }
    if answer.is_at_end() {
        exchange.finish_write().await;
    }
    if let Some(draft) = exchange.record.draft() {
        draft.note_status(answer.status);
        draft.head = Some(exchange.received.started.elapsed());
        draft.encoding = unpack::encoding(&answer.headers);
    }
    let broken = answer.failure(&exchange.received.link);
    match broken.or_else(|| exchange.rejection()) {
        None => Ok(answer),
        Some(failure) => {
            if let Some(draft) = exchange.record.draft() {
                draft.reply.keep(&answer.ahead.bytes());
            }
            Err(failure)
        }
    }
}

/// Reads and checks an answer that is there whole, on a thread for what blocks: both it and its request may be large.
async fn read_and_check(
    format: Format,
    request: Bytes,
    fitted: &Fitted,
    headers: &HeaderMap,
    ahead: &Ahead,
) -> Option<Inspected> {
    if !ahead.whole {
        return None;
    }
    let packed = Packed::of(headers, ahead.bytes());
    let constraints = fitted.constraints.clone();
    let sources = fitted.sources.clone();
    let relaxed = fitted.relaxed.clone();
    let omitted_tools = Arc::clone(&fitted.omitted_tools);
    let position = fitted.position.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let request = RequestBody::demands(&request);
        let demands = Demands {
            format,
            request: &request,
            constraints: &constraints,
            sources: &sources,
            relaxed: &relaxed,
            left_out: &omitted_tools,
        };
        let answer = packed.text(MAX_UNPACKED);
        Inspected::of(&demands, answer.as_bytes(), position.as_ref())
    });
    checked.await.ok().flatten()
}

/// Gives an answer to the client as it comes, or the reason why there is none.
async fn reply(exchange: Exchange, answer: Result<Answer, Failure>) -> Response {
    let mut labels = exchange.labels();
    exchange.label_more(&mut labels);
    let handling = exchange.count();
    let mut response = match answer {
        Ok(answer) => stream(exchange, answer),
        Err(failure) => fail(exchange, failure).await,
    };
    handling.map(|handling| response.extensions_mut().insert(handling));
    response.headers_mut().extend(labels);
    response
}

/// Lets an answer through, piece by piece.
fn stream(exchange: Exchange, mut answer: Answer) -> Response {
    let app = &exchange.gateway.app;
    let (status, reason) = (answer.status, answer.reason.take());
    let headers = std::mem::take(&mut answer.headers);
    let tap = Tap::new(
        answer,
        exchange.write,
        exchange.record,
        &app.telemetry,
        app.settings.limits.upstream,
    );
    let mut response = Response::new(Body::new(tap));
    reason.map(|reason| response.extensions_mut().insert(reason));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Ends an exchange without an answer of the upstream.
async fn fail(mut exchange: Exchange, failure: Failure) -> Response {
    exchange.finish_write().await;
    if let Some(draft) = exchange.record.draft() {
        draft.note_status(failure.refusal.status());
    }
    exchange.record.end(failure.ending);
    failure.refusal.for_client(exchange.received.protocol)
}

/// Refuses a request that could not be managed, before anything of it goes on.
async fn refuse(exchange: Exchange, fault: Error) -> Response {
    exchange.note_unmanaged();
    let labels = exchange.labels();
    let handling = exchange.count();
    let failure = Failure {
        refusal: Refusal::from(fault),
        ending: Ending::Refused,
    };
    let mut response = fail(exchange, failure).await;
    handling.map(|handling| response.extensions_mut().insert(handling));
    response.headers_mut().extend(labels);
    response
}

impl Exchange {
    fn app(&self) -> &App {
        &self.gateway.app
    }

    /// Returns the fault for which the request is refused, where requests fail closed.
    fn fault_that_refuses(&self) -> Option<Error> {
        let fault = self.fitted.fault.clone();
        fault.filter(|_| self.app().settings.fail_closed)
    }

    /// Puts a shorter request in the place of the one that was sent.
    fn shorten(&mut self, mut shorter: Fitted, body: Bytes) {
        if let Some(draft) = self.record.draft() {
            let memory = &self.gateway.reply_memory;
            draft.note_fitted(&mut shorter, Some(&body), 1, memory);
        }
        self.fitted = shorter;
        self.body = body;
        self.is_shortened = true;
    }

    /// Notes an answer that was checked.
    fn note_inspected(&mut self, inspected: Option<Inspected>) {
        self.findings = inspected.as_ref().map(|found| found.findings.clone());
        if let Some(draft) = self.record.draft() {
            draft.inspected = inspected;
        }
    }

    /// Waits until the turns of the request are durable; an error was counted.
    async fn finish_write(&mut self) {
        if let Some(write) = self.write.take() {
            let _ = write.await;
        }
    }

    /// Counts and logs the request where it is not managed, and logs the notices for its operator.
    fn note_unmanaged(&self) {
        self.gateway.warned.note(
            &self.app().telemetry,
            &self.received.caller,
            &self.fitted,
            self.record_id.as_deref(),
        );
    }

    /// Counts the handling of a request that is recorded; returns it for the log.
    fn count(&self) -> Option<Handling> {
        if !self.received.is_recorded() {
            return None;
        }
        let handling = Handling::of(self.app().settings.mode.term(), &self.fitted);
        handling.count(&self.app().telemetry.metrics);
        Some(handling)
    }

    /// Returns the failure of an answer whose faults are rejected.
    fn rejection(&self) -> Option<Failure> {
        let findings = self.findings.as_ref()?;
        let mut faults = findings.faults.iter();
        let fault = faults.find(|fault| self.app().settings.rejects.contains(fault))?;
        let what = format!("the model's answer was rejected: {}", fault.term());
        let mut refusal = Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, what);
        let names: Vec<String> = findings
            .broken
            .iter()
            .map(|broken| {
                let name = tenure::object::clip(&broken.constraint.name);
                format!("`{name}` ({})", broken.what)
            })
            .collect();
        if *fault == OutputFault::ConstraintBroken && !names.is_empty() {
            let expected = format!("an answer that keeps {}", names.join(", "));
            refusal = refusal.expected(expected);
        }
        Some(Failure {
            refusal,
            ending: Ending::Rejected,
        })
    }

    /// Returns the headers of every answer to the client.
    fn labels(&self) -> HeaderMap {
        let mut labels = HeaderMap::new();
        let mode = HeaderValue::from_static(self.app().settings.mode.term());
        labels.insert(MODE_HEADER, mode);
        if let Some(id) = &self.record_id {
            add(&mut labels, RECORD_HEADER, id);
        }
        if let Some(unmanaged) = self.fitted.unmanaged {
            labels.insert(FAULT_HEADER, HeaderValue::from_static(unmanaged.code()));
        }
        labels
    }

    /// Adds the headers of a request that was sent on: what was done to it, and what is wrong with its answer.
    fn label_more(&self, labels: &mut HeaderMap) {
        let fitted = &self.fitted;
        labels.insert(SAVED_HEADER, HeaderValue::from(fitted.saved));
        labels.insert(ADDED_HEADER, HeaderValue::from(fitted.added));
        if let Some(position) = &fitted.position {
            add(labels, SESSION_HEADER, &position.session);
        }
        if self.is_shortened {
            labels.insert(RETRIED_HEADER, HeaderValue::from_static("too-long"));
        }
        let faults: Vec<&str> = self
            .findings
            .iter()
            .flat_map(|findings| &findings.faults)
            .map(|fault| fault.term())
            .collect();
        add(labels, OUTPUT_HEADER, &faults.join(", "));
        add(labels, LEFT_OUT_HEADER, &counts(&fitted.omitted_tools));
        let notices: Vec<&str> = fitted.notices.iter().map(|notice| notice.code()).collect();
        add(labels, NOTICE_HEADER, &notices.join(", "));
    }
}

/// Adds a header, where there is something to say that a header may hold.
fn add(labels: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::try_from(text)
        && !text.is_empty()
    {
        labels.insert(name, value);
    }
}

/// Returns the numbers of tools that were left out, by the codes of the reasons.
fn counts(omitted_tools: &OmittedTools) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for code in omitted_tools.values() {
        *counts.entry(code).or_default() += 1;
    }
    let counts = counts.iter().map(|(code, count)| format!("{code}={count}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn an_answer_is_checked_beside_the_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let call = r#"{"id":"a","type":"function","function":{"name":"jump","arguments":"{}"}}"#;
            let answer = format!(
                r#"{{"choices":[{{"message":{{"role":"assistant","content":null,"tool_calls":[{call}]}}}}]}}"#
            );
            let request = Bytes::from(r#"{"tools":[{"function":{"name":"look"}}]}"#);
            let (fitted, headers) = (Fitted::default(), HeaderMap::new());
            let ahead = |whole| Ahead {
                data: Some(Bytes::from(answer.clone())),
                broken: None,
                whole,
            };
            let (whole, part) = (ahead(true), ahead(false));
            let checked = |ahead| {
                let format = Format::OpenAiChat;
                Box::pin(read_and_check(format, request.clone(), &fitted, &headers, ahead))
            };
            let mut first = checked(&whole);
            // The task that asks for it does not do it.
            let polled = first.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            let found = first.await.unwrap();
            assert_eq!(found.findings.faults, [OutputFault::ToolNotOffered]);
            // Nothing is read of an answer that is not there whole.
            let polled = checked(&part).as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Ready(None)));
        });
    }
}
