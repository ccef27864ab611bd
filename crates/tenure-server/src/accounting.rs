//! The accounting of every request, whatever its outcome: metrics, a span, a line of the log, one of the audit.

use std::sync::Arc;
use std::time::Instant as Clock;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};
use tenure::Error;

use crate::app::App;
use crate::error::{Cause, DAMAGED, Refusal};
use crate::gateway::{Handling, RECORD_HEADER};
use crate::protocol::Protocol;
use crate::telemetry::audit::Line;
use crate::telemetry::log::{LogLevel, bounded};
use crate::telemetry::metrics::{Answered, Routed, Word};
use crate::telemetry::spans::Context;
use tenure_operations::Caller;

/// The most bytes of a method and of a path that are written down: either may be as long as a head.
const MAX_METHOD: usize = 32;
const MAX_PATH: usize = 2_048;
/// The status of a request whose client left before its answer.
const CLIENT_LEFT: u16 = 499;

/// The accounting of a request, which is done once: with its answer, or else when it is dropped.
pub(crate) struct Accounting {
    app: Arc<App>,
    started: Clock,
    method: String,
    pub(crate) path: String,
    /// The provider whose client asks, where one does.
    pub(crate) client: Option<Protocol>,
    route: &'static str,
    /// True if it needs no key, so that it is counted and no more.
    pub(crate) is_open: bool,
    /// The context of its span.
    pub(crate) context: Option<Context>,
    /// The caller, once that is known.
    pub(crate) caller: Option<Caller>,
    closed: bool,
}

impl Accounting {
    /// Begins with a request to this route.
    pub(crate) fn open(
        app: &Arc<App>,
        request: &Request,
        route: &'static str,
        is_open: bool,
    ) -> Accounting {
        Accounting {
            app: Arc::clone(app),
            started: Clock::now(),
            method: bounded(request.method().as_str(), MAX_METHOD).into_owned(),
            path: request.uri().path().to_owned(),
            client: Protocol::has(request.uri().path())
                .then(|| Protocol::of(request.uri(), request.headers())),
            route,
            is_open,
            context: app.telemetry.spans.as_ref().and_then(|_| Context::of(request.headers())),
            caller: None,
            closed: false,
        }
    }

    /// Notes an answer; returns the answer that is given.
    pub(crate) fn close(mut self, response: Response) -> Response {
        self.closed = true;
        match self.note(&response) {
            Ok(()) => response,
            // Where the audit log takes no line, the client gets no answer.
            Err(error) => Refusal::from(error).at(self.client),
        }
    }

    fn note(&self, response: &Response) -> Result<(), Error> {
        let telemetry = &self.app.telemetry;
        let metrics = &telemetry.metrics;
        let (route, status) = (Word(self.route), response.status().as_u16());
        let took = self.started.elapsed();
        let answered = Answered {
            route: route.clone(),
            status,
        };
        metrics.requests.get_or_create(&answered).inc();
        let seconds = metrics.seconds.get_or_create(&Routed { route });
        seconds.observe(took.as_secs_f64());
        let cause = response.extensions().get::<Cause>();
        if cause.is_some_and(|cause| cause.kind == DAMAGED) {
            metrics.damaged("answer");
        }
        if self.is_open {
            return Ok(());
        }
        let record = response.headers().get(RECORD_HEADER).and_then(|record| record.to_str().ok());
        let tenant = self.caller.as_ref().map(|caller| &*caller.tenant);
        let key = self.caller.as_ref().and_then(|caller| caller.key.as_deref());
        if let (Some(spans), Some(context)) = (&telemetry.spans, &self.context) {
            let asked = (&*self.method, self.route, status);
            spans.request(context, took, asked, tenant, record);
        }
        let level = match status {
            500.. => LogLevel::Error,
            _ => LogLevel::Info,
        };
        if telemetry.log.takes(level) {
            let mut fields = json!({
                "method": self.method,
                "route": self.route,
                "status": status,
                "took_us": took.as_micros() as u64,
                "tenant": tenant,
                "key": key,
                "record": record,
                "kind": cause.map(|cause| cause.kind),
                "detail": cause.and_then(|cause| cause.detail.as_deref()),
                "trace": self.context.map(|context| context.trace_id()),
            });
            let handling = response.extensions().get::<Handling>();
            let more = handling.map(|handling| handling.fields());
            if let (Value::Object(fields), Some(Value::Object(more))) = (&mut fields, more) {
                fields.extend(more);
            }
            telemetry.log.note(level, "request", fields);
        }
        if !telemetry.audit.is_kept() {
            return Ok(());
        }
        let line = Line {
            at: self.app.now(),
            tenant: tenant.unwrap_or_default(),
            key,
            method: &self.method,
            path: &bounded(&self.path, MAX_PATH),
            status,
            record,
        };
        let noted = telemetry.audit.note(&line);
        if noted.is_err() {
            metrics.audit_failures.inc();
        }
        noted
    }
}

impl Drop for Accounting {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        let (status, kind) = if std::thread::panicking() {
            (StatusCode::INTERNAL_SERVER_ERROR.as_u16(), "internal")
        } else {
            (CLIENT_LEFT, "client_left")
        };
        let mut ungiven = Response::new(Body::empty());
        *ungiven.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
        ungiven.extensions_mut().insert(Cause { kind, detail: None });
        // The client has left, so that a failure cannot be told; it is counted.
        let _ = self.note(&ungiven);
    }
}
