//! The server itself: the listener, its connections, and how it stops.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use serde_json::json;
use socket2::{Domain, Socket, Type};
use tenure::{Error, ErrorKind};
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::access::KEYS_EVERY;
use crate::app::App;
use crate::erasure::forget_erased;
use crate::error::Refusal;
use crate::gateway::Gateway;
use crate::options::{Options, Sweeping};
use crate::slow_client::{ClientStream, MAX_HEAD};
use crate::telemetry::log::LogLevel;
use crate::telemetry::spans::{Exporter, Spans};
use crate::warm::warm;
use crate::{api, gateway, guard, protocol, status, sweeps, tasks};

/// The most threads for what blocks.
const BLOCKING_THREADS: usize = 64;
/// The longest that the last spans may take to a collector.
const LAST_SPANS: Duration = Duration::from_secs(5);
/// The time for which a connection goes on whose client has left: its last request may be nearly answered.
const FAREWELL: Duration = Duration::from_millis(500);
/// The number of clients that may wait to be accepted, where the system lets as many.
const WAITING: i32 = 4_096;
/// The most headers of a request.
const MAX_HEADERS: usize = 100;

/// A server that has its address and is about to answer.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    pub(crate) gateway: Arc<Gateway>,
    /// The schedule of sweeps, and the tenant while there are no keys.
    sweeps: Option<(Sweeping, String)>,
    /// Time for which records are kept, and the tenant while there are no keys.
    keep_records: Option<(Duration, String)>,
}

impl Server {
    /// Takes the address, and checks that what is asked for can be done.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when the address is none; [`ErrorKind::Policy`] when it can be reached from
    /// other machines and there is no key; [`ErrorKind::Unavailable`] when it is taken, or the store
    /// cannot be reached; [`ErrorKind::Input`] for what is not supported yet.
    pub fn bind(mut options: Options) -> Result<Server, Error> {
        let listen = options.listen.clone();
        let shown = tenure::object::clip(&listen);
        let address: SocketAddr = listen.parse().map_err(|_| {
            Error::new(
                ErrorKind::Usage,
                format!("`{shown}` is no address to listen on"),
            )
            .expected("ADDRESS:PORT, such as 127.0.0.1:7878 or [::1]:0")
        })?;
        let upstreams = std::mem::take(&mut options.upstreams);
        let sweeps = options
            .sweeps
            .filter(|_| options.store.is_some())
            .map(|schedule| (schedule, options.tenant.clone()));
        let keep_records = options
            .keep_records
            .filter(|_| options.store.is_some())
            .map(|time| (time, options.tenant.clone()));
        let app = Arc::new(App::new(options)?);
        let gateway = Arc::new(Gateway::new(Arc::clone(&app), upstreams)?);
        if !address.ip().is_loopback() && !app.access.is_locked() {
            return Err(Error::new(
                ErrorKind::Policy,
                format!("`{shown}` can be reached from other machines, and nobody has a key"),
            )
            .expected("a loopback address, a store with a key, or tokens of an issuer")
            .hint("`tenure keys create --tenant T` makes one"));
        }
        let taken = |error: std::io::Error| {
            let what = format!("cannot listen on `{shown}`: {error}");
            Error::new(ErrorKind::Unavailable, what)
        };
        let listener = listen_on(address).map_err(taken)?;
        Ok(Server {
            address: listener.local_addr().map_err(taken)?,
            listener,
            gateway,
            sweeps,
            keep_records,
        })
    }

    /// Returns the address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns its URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns whether every caller must show a key or a token.
    pub fn is_locked(&self) -> bool {
        self.gateway.app.access.is_locked()
    }

    /// Returns whether this is a key of the store that opens something now.
    pub fn knows_key(&self, shown: &str) -> bool {
        let app = &self.gateway.app;
        app.access.knows(shown, app.now())
    }

    /// Answers until the process is told to stop (SIGTERM, or SIGINT), then lets what is under way
    /// come to its end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the system gives no threads.
    pub fn run(self) -> Result<(), Error> {
        let runtime = runtime()?;
        let done = runtime.block_on(async {
            let stop = stop_signal().map_err(|error| cannot_run(&error))?;
            self.serve(stop).await
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        done
    }

    /// Answers until `stop` comes, then lets what is under way come to its end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the runtime does not take the listener.
    pub async fn serve(self, stop: impl Future<Output = ()>) -> Result<(), Error> {
        let gateway = self.gateway;
        let app = Arc::clone(&gateway.app);
        let telemetry = Arc::clone(&app.telemetry);
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(|error| {
            Error::new(
                ErrorKind::Unavailable,
                format!("the server cannot listen: {error}"),
            )
        })?;
        let router = router(Arc::clone(&app), Arc::clone(&gateway));
        let watcher = tokio::spawn(watch(Arc::clone(&gateway)));
        if app.settings.warm {
            let app = Arc::clone(&app);
            tokio::task::spawn_blocking(move || warm(&app));
        }
        let (stop_sweeps, stopped) = tokio::sync::oneshot::channel();
        let sweeps = self.sweeps.map(|(schedule, tenant)| {
            let swept = sweeps::run(Arc::clone(&app), schedule, tenant, stopped);
            tokio::spawn(swept)
        });
        let (stop_dropping, stopped) = tokio::sync::oneshot::channel();
        let dropping = self.keep_records.map(|(time, tenant)| {
            let dropped = sweeps::keep_records(Arc::clone(&app), time, tenant, stopped);
            tokio::spawn(dropped)
        });
        let exporter = telemetry
            .spans
            .as_ref()
            .and_then(Spans::take_exporter)
            .map(Exporter::run)
            .map(tokio::spawn);
        let started =
            json!({ "address": self.address.to_string(), "mode": app.settings.mode.term() });
        telemetry.log.note(LogLevel::Info, "started", started);
        let places = Arc::new(Semaphore::new(app.settings.limits.connections));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(app.settings.limits.head)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD);
        let connections = GracefulShutdown::new();
        let mut served = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await;
                (place, listener.accept().await)
            };
            let (place, accepted) = tokio::select! {
                biased;
                () = &mut stop => break,
                // What is done is let go of.
                Some(_) = served.join_next() => continue,
                accepted = accepted => accepted,
            };
            let Ok((stream, _)) = accepted else {
                // Out of files, most likely; some will be closed.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let service = TowerToHyperService::new(router.clone());
            let stream = Arc::new(stream);
            let left = left(Arc::clone(&stream));
            let stream = TokioIo::new(ClientStream::new(stream, app.settings.limits.head));
            let connection = http.serve_connection(stream, service);
            let connection = connections.watch(connection);
            let counted = Counted::new(&telemetry.metrics.connections);
            served.spawn(async move {
                let _held = (counted, place);
                tokio::select! {
                    // A connection that ends badly is its client's affair.
                    _ = connection => {}
                    () = left => {}
                }
            });
        }
        app.stop();
        telemetry.log.note(LogLevel::Info, "stopping", json!({}));
        drop(listener);
        watcher.abort();
        drop((stop_sweeps, stop_dropping));
        // What is not done by then is cut off, and hands in its record before the last are stored.
        let until = Instant::now() + app.settings.limits.drain;
        let _ = tokio::time::timeout_at(until, connections.shutdown()).await;
        tasks::finish(served, until).await;
        app.requests.finish(until).await;
        for background in sweeps.into_iter().chain(dropping) {
            let _ = tokio::time::timeout_at(until, background).await;
        }
        let _ = tokio::task::spawn_blocking(move || gateway.finish()).await;
        if let Some(spans) = &telemetry.spans {
            spans.close();
        }
        if let Some(exporter) = exporter {
            let _ = tokio::time::timeout(LAST_SPANS, exporter).await;
        }
        let _ = tokio::task::spawn_blocking(move || {
            telemetry.log.note(LogLevel::Info, "stopped", json!({}));
            telemetry.log.finish();
        })
        .await;
        Ok(())
    }
}

/// Makes what requests are answered on.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(|error| cannot_run(&error))
}

pub(crate) fn cannot_run(error: &std::io::Error) -> Error {
    let what = format!("the server cannot run: {error}");
    Error::new(ErrorKind::Unavailable, what)
}

/// Comes when the client of a connection has left and what was ready for it had time to go. It is found out here because
/// a connection is not read, so that its end is not seen, while bytes of a further request wait.
async fn left(stream: Arc<TcpStream>) {
    loop {
        let ready = stream.ready(Interest::READABLE).await;
        let has_left = ready.is_ok_and(|ready| ready.is_read_closed());
        tokio::time::sleep(FAREWELL).await;
        if has_left {
            return;
        }
    }
}

/// A connection in the count of those that are open, however it ends.
struct Counted(Gauge);

impl Counted {
    fn new(gauge: &Gauge) -> Counted {
        gauge.inc();
        Counted(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Takes an address. The standard library lets 128 clients wait to be accepted; of a crowd that comes at
/// once, the others would try again after a second.
fn listen_on(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // What is left of a server that ended does not hold the address, as in the standard library.
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(WAITING)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn router(app: Arc<App>, gateway: Arc<Gateway>) -> Router {
    let router = Router::new()
        .merge(status::routes())
        .merge(gateway::routes(gateway))
        .merge(api::routes());
    #[cfg(feature = "inspector")]
    let router = router.merge(crate::inspect::routes());
    #[cfg(feature = "mcp")]
    let router = router.merge(crate::mcp::routes());
    router
        .fallback(not_found)
        .method_not_allowed_fallback(not_allowed)
        .layer(middleware::from_fn_with_state(
            Arc::clone(&app),
            guard::guard,
        ))
        .with_state(app)
}

async fn not_found(State(_): State<Arc<App>>, request: Request) -> Response {
    let path = request.uri().path();
    let what = format!("there is nothing at `{}`", tenure::object::clip(path));
    let refusal = Refusal::new(StatusCode::NOT_FOUND, what);
    match protocol::lacks_version(path) {
        Some(protocol) => refusal
            .expected(format!("`/v1{path}`"))
            .hint("the base URL of the client lacks `/v1`")
            .for_client(protocol),
        None => refusal.hint("GET /openapi.json says what there is").into_response(),
    }
}

async fn not_allowed(request: Request) -> Refusal {
    let what = format!(
        "`{}` cannot be done here",
        tenure::object::clip(request.method().as_str())
    );
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, what)
}

/// Keeps what is known of the keys fresh, and lets go of what was erased.
async fn watch(gateway: Arc<Gateway>) {
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    loop {
        tokio::time::sleep(KEYS_EVERY).await;
        let (gateway, seen) = (Arc::clone(&gateway), Arc::clone(&seen));
        let looked = tokio::task::spawn_blocking(move || {
            let app = &gateway.app;
            // A store that is away says nothing about keys: those that are known stay.
            let _ = app.access.refresh();
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = forget_erased(&gateway, &mut seen);
            let held = i64::try_from(app.relay.bytes()).unwrap_or(i64::MAX);
            app.telemetry.metrics.sessions.set(held);
        });
        let _ = looked.await;
    }
}

/// Comes when the process is told to stop.
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    {
        Ok(async {
            let _ = tokio::signal::ctrl_c().await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_panics_is_counted_out() {
        let gauge = Gauge::default();
        let counted = Counted::new(&gauge);
        assert_eq!(gauge.get(), 1);
        let ended = std::thread::spawn(move || {
            let _counted = counted;
            panic!("as a connection may");
        });
        assert!(ended.join().is_err());
        assert_eq!(gauge.get(), 0);
    }
}
