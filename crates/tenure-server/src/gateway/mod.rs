//! The gateway: requests in a provider's protocol go to an upstream of it, and their answers back.
//!
//! | what | where |
//! |---|---|
//! | the path of a request, step by step | `exchange.rs` |
//! | a request as it comes | `receive.rs` |
//! | a request compiled before it goes on, with objects of the store | `fit.rs`, `fitted.rs`, `side_contexts.rs` |
//! | windows learned from what providers say | `learn.rs` |
//! | upstreams, the headers that go there and back | `upstreams.rs`, `headers.rs` |
//! | the answer before it goes on, and on its way | `answer.rs`, `unpack.rs`, `tap.rs` |
//! | the turns of a session, written while the provider thinks | `writes.rs` |
//! | the record in the making, and the recorder, off the path | `draft.rs`, `reply_buffer.rs`, `recorder.rs`, `prices.rs` |
//! | what the metrics and the log tell of it | `handling.rs`, `unmanaged.rs` |
//!
//! In `observe`, bodies go through as they came. In `fit`, what does not fit is compiled first, in `full` what
//! the tenant's store has objects for, too. A request that its provider finds too long is cut and sent once more.

mod answer;
mod draft;
mod exchange;
mod fit;
mod fitted;
mod handling;
mod headers;
mod learn;
mod prices;
mod receive;
mod recorder;
mod reply_buffer;
mod side_contexts;
mod tap;
mod unmanaged;
mod unpack;
mod upstreams;
mod writes;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Request, State};
use axum::http::HeaderName;
use axum::response::Response;
use axum::routing::any;
use axum::{Extension, Router};
use tenure::Error;
use tenure_workspace::records::EXCHANGE_PREFIX;

use self::recorder::Recorder;
use self::reply_buffer::ReplyMemory;
use self::side_contexts::SideContexts;
use self::unmanaged::Warned;
use self::upstreams::Upstreams;
use crate::app::App;
use crate::http::Upstream;
use crate::protocol::Protocol;
use crate::telemetry::metrics::{What, Word};
use tenure_operations::Caller;

pub(crate) use self::handling::Handling;

/// Names the record of an exchange in its answer.
pub(crate) const RECORD_HEADER: HeaderName = HeaderName::from_static("x-tenure-record");
/// Names the mode of the gateway.
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
/// Names the notices for an operator of a request that was managed.
const NOTICE_HEADER: HeaderName = HeaderName::from_static("x-tenure-notice");

/// The gateway of a server.
pub(crate) struct Gateway {
    pub(crate) app: Arc<App>,
    upstreams: Upstreams,
    recorder: Recorder,
    /// True if records are kept, so that answers name them.
    keeps_records: bool,
    ids: Ids,
    side_contexts: SideContexts,
    warned: Warned,
    reply_memory: Arc<ReplyMemory>,
}

impl Gateway {
    /// Makes the ways to the upstreams, and starts the recorder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) where two upstreams take the same protocol;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) where the system gives no threads or no random numbers.
    pub(crate) fn new(app: Arc<App>, upstreams: Vec<Upstream>) -> Result<Gateway, Error> {
        let recorder = Recorder::start(
            app.store.clone(),
            Arc::clone(&app.workspace),
            Arc::clone(&app.relay),
            Arc::clone(&app.telemetry),
        );
        Ok(Gateway {
            upstreams: Upstreams::open(upstreams, app.settings.limits.connect)?,
            recorder: recorder?,
            keeps_records: app.store.is_some(),
            ids: Ids::new()?,
            side_contexts: SideContexts::default(),
            warned: Warned::default(),
            reply_memory: Arc::default(),
            app,
        })
    }

    /// Waits until what is queued is recorded; blocks.
    pub(crate) fn finish(&self) {
        self.recorder.finish();
    }

    /// Lets go of what is held of a tenant.
    pub(crate) fn forget(&self, tenant: &str) {
        self.side_contexts.forget(tenant);
    }

    /// Counts bytes of bodies that went through.
    fn count_bytes(&self, what: &'static str, bytes: u64) {
        let label = What { what: Word(what) };
        let counter = &self.app.telemetry.metrics.gateway_bytes;
        counter.get_or_create(&label).inc_by(bytes);
    }
}

/// Returns the routes of the providers' paths.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>(gateway: Arc<Gateway>) -> Router<S> {
    Router::new()
        .route("/v1/{*path}", any(forward))
        .route("/v1beta/{*path}", any(forward))
        .route("/v1alpha/{*path}", any(forward))
        .with_state(gateway)
}

async fn forward(
    State(gateway): State<Arc<Gateway>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Response {
    let protocol = Protocol::of(request.uri(), request.headers());
    match exchange::exchange(&gateway, caller, protocol, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.for_client(protocol),
    }
}

/// Makes the ids of exchanges, in the order in which they came, each with a number of this process.
struct Ids {
    node: u32,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Result<Ids, Error> {
        let mut node = [0; 4];
        getrandom::fill(&mut node).map_err(|error| {
            let what = format!("the system's random number generator failed: {error}");
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

    #[test]
    fn ids_are_distinct_and_in_order() {
        let ids = Ids::new().unwrap();
        let made: Vec<String> = (0..1_000).map(|at| ids.next(at)).collect();
        assert!(made.is_sorted());
        assert!(made.windows(2).all(|two| two[0] != two[1]));
    }
}
