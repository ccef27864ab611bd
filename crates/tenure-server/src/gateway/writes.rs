//! The turns that a request adds to its session, written while its provider thinks.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tenure::Error;
use tenure_workspace::relay::PendingWrites;
use tokio::task::JoinHandle;

use crate::telemetry::Telemetry;

/// A write that is under way; it ends with the error of what could not be written. One that is dropped goes on.
pub(super) struct SessionWrite(JoinHandle<Option<Error>>);

impl SessionWrite {
    /// Begins to write turns, on a thread for what blocks.
    pub(super) fn begin(turns: PendingWrites, telemetry: &Arc<Telemetry>) -> SessionWrite {
        let telemetry = Arc::clone(telemetry);
        SessionWrite(tokio::task::spawn_blocking(move || {
            let error = turns.write().err()?;
            telemetry.metrics.dropped("turns");
            Some(error)
        }))
    }
}

impl Future for SessionWrite {
    type Output = Option<Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Error>> {
        let written = Pin::new(&mut self.0).poll(context);
        written.map(|written| written.ok().flatten())
    }
}
