//! Tasks that outlive the connections that they came by, and are waited for when the server stops.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;
use tokio::time::Instant;

/// Those that are under way.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts one.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// Waits for those that there are; what is not done by then is cut off.
    pub(crate) async fn finish(&self, until: Instant) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        finish(tasks, until).await;
    }
}

/// Waits for tasks; what is not done by then is cut off, and has let go of what it held.
pub(crate) async fn finish(mut tasks: JoinSet<()>, until: Instant) {
    let all = async { while tasks.join_next().await.is_some() {} };
    let _ = tokio::time::timeout_at(until, all).await;
    tasks.shutdown().await;
}
