//! Traces for OpenTelemetry: spans of requests, compiles and exchanges, sent as OTLP JSON over HTTP to a
//! collector. No contents: a compile is its counts and digests.
//!
//! A request that brings a `traceparent` (W3C Trace Context) continues that trace, or is left out of it where
//! that says so; another begins one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Uri, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tenure::inspect::{Quality, QualityMetric};
use tenure::{Compiled, Error};
use tenure_workspace::Clock;
use tenure_workspace::records::ExchangeRecord;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::metrics::Metrics;
use crate::http::{Link, Owner, Upstream};

/// The most spans that wait, and the most of one call.
const QUEUE: usize = 8_192;
const BATCH: usize = 512;
/// The longest that the first span of a call waits for others.
const LINGER: Duration = Duration::from_secs(1);
/// The longest that a collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most exchanges whose request is remembered until their end.
const OPEN: usize = 16_384;
/// The version of the attributes.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The context of a span: its trace, itself, and the span that it is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Context {
    trace: [u8; 16],
    span: [u8; 8],
    parent: Option<[u8; 8]>,
}

impl Context {
    /// Begins the context of a request; none where it is not to be traced, or the system gives no ids.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Context> {
        let mut random = [0; 24];
        getrandom::fill(&mut random).ok()?;
        let (mut trace, mut span) = ([0; 16], [0; 8]);
        trace.copy_from_slice(&random[..16]);
        span.copy_from_slice(&random[16..]);
        let named = headers.get("traceparent").and_then(|value| value.to_str().ok());
        match named.and_then(traceparent) {
            Some((_, _, false)) => None,
            Some((trace, parent, true)) => Some(Context {
                trace,
                span,
                parent: Some(parent),
            }),
            None => Some(Context {
                trace,
                span,
                parent: None,
            }),
        }
    }

    /// A span within this one.
    fn child(&self) -> Option<Context> {
        let mut span = [0; 8];
        getrandom::fill(&mut span).ok()?;
        Some(Context {
            span,
            parent: Some(self.span),
            ..*self
        })
    }

    /// The trace, as other tools write it.
    pub(crate) fn trace_id(&self) -> String {
        hex(&self.trace)
    }
}

/// Reads a `traceparent`: the trace, the span, and whether it is sampled; none where it is malformed.
fn traceparent(text: &str) -> Option<([u8; 16], [u8; 8], bool)> {
    let mut parts = text.trim().split('-');
    let (version, trace, span, flags) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let later = parts.next().is_some();
    if version.len() != 2 || version == "ff" || (version == "00" && later) {
        return None;
    }
    u8::from_str_radix(version, 16).ok()?;
    let trace: [u8; 16] = bytes_of(trace)?;
    let span: [u8; 8] = bytes_of(span)?;
    let [flags]: [u8; 1] = bytes_of(flags)?;
    (trace != [0; 16] && span != [0; 8]).then_some((trace, span, flags & 1 == 1))
}

fn bytes_of<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if text.len() != 2 * N || !text.as_bytes().iter().all(lower) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The queue of spans for a collector.
pub(crate) struct Spans {
    queue: Mutex<Option<Sender<Value>>>,
    /// The requests of exchanges that go on, by the ids of their records.
    open: Mutex<BTreeMap<String, Context>>,
    /// The task that sends them, until the server runs it.
    exporter: Mutex<Option<Exporter>>,
    clock: Clock,
    metrics: Arc<Metrics>,
}

/// Sends spans to the collector.
pub(crate) struct Exporter {
    spans: Receiver<Value>,
    link: Link,
    metrics: Arc<Metrics>,
}

impl Spans {
    /// Makes the queue for a collector: a URL, below which `/v1/traces` is.
    pub(crate) fn to(
        collector: Upstream,
        clock: Clock,
        metrics: Arc<Metrics>,
    ) -> Result<Spans, Error> {
        let (queue, spans) = channel(QUEUE);
        let link = Link::open(collector, PATIENCE)?;
        let exporter = Exporter {
            spans,
            link,
            metrics: Arc::clone(&metrics),
        };
        Ok(Spans {
            queue: Mutex::new(Some(queue)),
            open: Mutex::default(),
            exporter: Mutex::new(Some(exporter)),
            clock,
            metrics,
        })
    }

    /// Returns the task that sends them, once.
    pub(crate) fn take_exporter(&self) -> Option<Exporter> {
        let mut exporter = self.exporter.lock().unwrap_or_else(PoisonError::into_inner);
        exporter.take()
    }

    /// Returns the instant, in nanoseconds since 1970.
    fn now(&self) -> i128 {
        i128::from(self.clock.now().micros()) * 1_000
    }

    /// Adds the span of a request that was answered.
    pub(crate) fn request(
        &self,
        context: &Context,
        took: Duration,
        asked: (&str, &str, u16),
        tenant: Option<&str>,
        record: Option<&str>,
    ) {
        let (method, route, status) = asked;
        let mut attributes = vec![
            text("http.request.method", method),
            text("http.route", route),
            number("http.response.status_code", u64::from(status)),
        ];
        attributes.extend(tenant.map(|tenant| text("tenure.tenant", tenant)));
        if let Some(record) = record {
            attributes.push(text("tenure.record.id", record));
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            if open.len() >= OPEN {
                open.pop_first();
            }
            open.insert(record.to_owned(), *context);
        }
        let end = self.now();
        let name = format!("{method} {route}");
        let start = end - took.as_nanos() as i128;
        let failed = status >= 500;
        self.offer(span(context, &name, 2, (start, end), attributes, failed));
    }

    /// Adds the span of a compile within a request.
    pub(crate) fn compile(
        &self,
        request: Option<&Context>,
        compiled: &Compiled,
        quality: &Quality,
        took: Duration,
    ) {
        let Some(context) = request.and_then(Context::child) else {
            return;
        };
        let trace = &compiled.trace;
        let mut attributes = vec![
            text("gen_ai.operation.name", "retrieval"),
            text("gen_ai.request.model", &trace.model),
            text("tenure.policy.name", &trace.policy.name),
            text("tenure.policy.version", &trace.policy.version),
            text("tenure.input.digest", &trace.input_digest.to_string()),
            number("tenure.budget.tokens", u64::from(trace.budget)),
            number("tenure.payload.tokens", u64::from(trace.total_tokens)),
            number("tenure.candidates", trace.verdicts.len() as u64),
        ];
        let digest = trace.payload_digest.map(|digest| digest.to_string());
        attributes.extend(digest.map(|digest| text("tenure.payload.digest", &digest)));
        attributes.extend(QualityMetric::ALL.iter().map(|&metric| {
            let value = quality.get(metric).to_f64();
            json!({ "key": format!("tenure.quality.{}", metric.term()), "value": { "doubleValue": value } })
        }));
        let end = self.now();
        let when = (end - took.as_nanos() as i128, end);
        let name = "retrieval tenure.compile";
        self.offer(span(&context, name, 1, when, attributes, false));
    }

    /// Adds the spans of exchanges with providers that are over.
    pub(crate) fn exchanges<'e>(
        &self,
        tenant: &str,
        exchanges: impl Iterator<Item = &'e ExchangeRecord>,
    ) {
        for exchange in exchanges {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let request = open.remove(&exchange.record_id);
            drop(open);
            let Some(context) = request.and_then(|request| request.child()) else {
                continue;
            };
            let mut attributes = vec![
                text("gen_ai.operation.name", "chat"),
                text("gen_ai.provider.name", &exchange.protocol),
                text("tenure.tenant", tenant),
                text("tenure.record.id", &exchange.record_id),
                text("tenure.mode", &exchange.mode),
            ];
            let model = exchange.model.as_deref().unwrap_or_default();
            attributes.push(text("gen_ai.request.model", model));
            let session = exchange.session.as_deref();
            attributes.extend(session.map(|id| text("gen_ai.conversation.id", id)));
            if let Some(usage) = exchange.usage {
                // Counts from a cache are part of the input, as the attributes have it.
                attributes.extend([
                    number("gen_ai.usage.input_tokens", usage.input),
                    number("gen_ai.usage.output_tokens", usage.output),
                    number("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
                    number(
                        "gen_ai.usage.cache_creation.input_tokens",
                        usage.cache_write,
                    ),
                ]);
            }
            let status = exchange.status.map(u64::from);
            attributes.extend(status.map(|status| number("http.response.status_code", status)));
            let start = i128::from(exchange.at.micros()) * 1_000;
            let end = start + i128::from(exchange.latency_us) * 1_000;
            let failed = exchange.status.is_none_or(|status| status >= 500);
            let name = format!("chat {model}");
            self.offer(span(
                &context,
                name.trim_end(),
                3,
                (start, end),
                attributes,
                failed,
            ));
        }
    }

    fn offer(&self, span: Value) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = queue.as_ref().map(|queue| queue.try_send(span));
        if !matches!(taken, Some(Ok(()))) {
            self.metrics.untold("span");
        }
    }

    /// Lets the exporter come to its end.
    pub(crate) fn close(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        drop(queue.take());
    }
}

impl Exporter {
    /// Sends what is handed in, until nothing more can be.
    pub(crate) async fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(first) = self.spans.recv().await {
            batch.push(first);
            let more = async {
                while batch.len() < BATCH {
                    match self.spans.recv().await {
                        Some(span) => batch.push(span),
                        None => break,
                    }
                }
            };
            let _ = tokio::time::timeout(LINGER, more).await;
            let count = batch.len() as u64;
            let body = document(std::mem::take(&mut batch));
            let sent = tokio::time::timeout(PATIENCE, send(&self.link, body)).await;
            if sent != Ok(true) {
                self.metrics.untold_many("span", count);
            }
        }
    }
}

/// Sends a document; returns whether the collector took it.
async fn send(link: &Link, document: Value) -> bool {
    let path = Uri::from_static("/v1/traces");
    let Ok(uri) = link.uri(&path) else {
        return false;
    };
    let request = hyper::Request::post(uri)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(document.to_string())));
    let Ok(request) = request else {
        return false;
    };
    let Ok(answer) = link.request(Owner::server(), request).await else {
        return false;
    };
    let taken = answer.status().is_success();
    // Read to its end, so that the connection may be used again.
    let _ = answer.into_body().collect().await;
    taken
}

fn document(spans: Vec<Value>) -> Value {
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [
                text("service.name", "tenure"),
                text("service.version", env!("CARGO_PKG_VERSION")),
            ] },
            "scopeSpans": [{
                "scope": { "name": "tenure", "version": env!("CARGO_PKG_VERSION") },
                "schemaUrl": SCHEMA_URL,
                "spans": spans,
            }],
        }],
    })
}

/// A span; `kind` is 1 within the process, 2 for who answers, 3 for who asks.
fn span(
    context: &Context,
    name: &str,
    kind: u8,
    (start, end): (i128, i128),
    attributes: Vec<Value>,
    failed: bool,
) -> Value {
    let mut span = json!({
        "traceId": hex(&context.trace),
        "spanId": hex(&context.span),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": end.to_string(),
        "attributes": attributes,
        "status": if failed { json!({ "code": 2 }) } else { json!({}) },
    });
    if let Some(parent) = context.parent {
        span["parentSpanId"] = hex(&parent).into();
    }
    span
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_the_standard_has_it() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let (trace, span, sampled) = traceparent(good).unwrap();
        assert_eq!(hex(&trace), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((hex(&span).as_str(), sampled), ("00f067aa0ba902b7", true));
        let off = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
        assert!(!traceparent(off).unwrap().2);
        // A later version may say more.
        let later = "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x";
        assert!(traceparent(later).is_some());
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert_eq!(traceparent(wrong), None, "{wrong}");
        }
    }
}
