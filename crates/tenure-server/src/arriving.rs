//! The state of a request besides its contents.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::StatusCode;

use crate::error::Refusal;
use crate::telemetry::spans::Context;

/// The context of a request in a trace, if it is in one.
#[derive(Clone, Copy)]
pub(crate) struct Traced(pub(crate) Option<Context>);

/// A flag that says whether the body of a request is still on its way.
#[derive(Clone, Default)]
pub(crate) struct Arriving(Arc<AtomicBool>);

impl Arriving {
    /// Sets the flag.
    pub(crate) fn note(&self, is_arriving: bool) {
        self.0.store(is_arriving, Ordering::Relaxed);
    }

    /// Returns the refusal of a request that came to no end in time, which says whose fault it is.
    pub(crate) fn late(&self) -> Refusal {
        let (status, what) = if self.0.load(Ordering::Relaxed) {
            (
                StatusCode::REQUEST_TIMEOUT,
                "the request's body takes too long to come",
            )
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "the request took too long")
        };
        Refusal::new(status, what)
    }
}
