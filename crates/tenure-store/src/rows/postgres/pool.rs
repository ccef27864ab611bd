//! A pool of connections, made when they are needed, up to a limit.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use postgres::{Client, Statement};
use tenure::{Error, ErrorKind};

/// The most connections at once.
const MOST: usize = 16;
/// The time that a caller waits for one of them.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection, and the statements that it has prepared.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) statements: HashMap<&'static str, Statement>,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    open: usize,
}

#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<State>,
    freed: Condvar,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection of one's own: the one that was used last, or a new one.
    pub(super) fn take(
        &self,
        connect: impl FnOnce() -> Result<Connection, Error>,
    ) -> Result<Lease<'_>, Error> {
        let deadline = Instant::now() + PATIENCE;
        let mut state = self.state();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(Lease::new(self, Some(connection)));
            }
            if state.open < MOST {
                state.open += 1;
                drop(state);
                // From here on the lease gives the place back, whatever happens.
                let mut lease = Lease::new(self, None);
                lease.connection = Some(connect()?);
                return Ok(lease);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let what = format!("all {MOST} connections to the store are in use");
                return Err(Error::new(ErrorKind::Unavailable, what).hint("try again later"));
            }
            let waited = self.freed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Drops the connections that wait: where one is broken, most often all of them are.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        let idle = std::mem::take(&mut state.idle);
        state.open -= idle.len();
        drop(state);
        self.freed.notify_all();
    }
}

/// A connection in use. It goes back to the pool only when its user says that it is fit for others.
pub(super) struct Lease<'p> {
    pool: &'p Pool,
    /// There but while it is made and when it is given back.
    connection: Option<Connection>,
    /// Set where it was used before.
    pub(super) used: bool,
    fit: bool,
}

impl<'p> Lease<'p> {
    fn new(pool: &'p Pool, connection: Option<Connection>) -> Lease<'p> {
        let used = connection.is_some();
        Lease {
            pool,
            connection,
            used,
            fit: false,
        }
    }

    /// The connection.
    pub(super) fn connection(&mut self) -> Result<&mut Connection, Error> {
        self.connection
            .as_mut()
            .ok_or_else(|| Error::new(ErrorKind::Unavailable, "the connection is gone"))
    }

    /// Gives the connection back: it is in no transaction.
    pub(super) fn keep(mut self) {
        self.fit = true;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut broken = None;
        let mut state = self.pool.state();
        match self.connection.take() {
            Some(connection) if self.fit && !connection.client.is_closed() => {
                state.idle.push(connection);
            }
            other => {
                state.open -= 1;
                broken = other;
            }
        }
        drop(state);
        self.pool.freed.notify_one();
        // Closing it may take a while, which must hold no caller up.
        drop(broken);
    }
}
