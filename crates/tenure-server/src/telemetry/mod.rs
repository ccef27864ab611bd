//! Telemetry: what the server counts, traces, logs and audits. It stands below the state that requests share and below the
//! gateway.

pub(crate) mod audit;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod quality;
pub(crate) mod spans;
pub(crate) mod tally;

use std::path::Path;
use std::sync::{Arc, Mutex};

use tenure::Error;
use tenure_workspace::Clock;

use crate::http::Upstream;

use self::audit::Audit;
use self::log::{Log, LogLevel};
use self::metrics::Metrics;
use self::quality::Threshold;
use self::spans::Spans;
use self::tally::Tally;

/// The telemetry of a server.
pub(crate) struct Telemetry {
    pub(crate) metrics: Arc<Metrics>,
    /// None without a collector.
    pub(crate) spans: Option<Spans>,
    pub(crate) log: Log,
    pub(crate) audit: Audit,
    /// The limits that payloads are held to.
    pub(crate) thresholds: Vec<Threshold>,
    /// Tally of what went through the gateway since the start.
    pub(crate) tally: Mutex<Tally>,
}

/// The parts of a server's options that telemetry is made from.
pub(crate) struct TelemetryOptions<'o> {
    pub(crate) clock: Clock,
    pub(crate) log: LogLevel,
    /// The collector of traces.
    pub(crate) otlp: Option<Upstream>,
    pub(crate) audit: Option<&'o Path>,
    pub(crate) thresholds: Vec<Threshold>,
}

impl Telemetry {
    /// Starts the log, and opens the audit log and the connection to the collector.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the system gives no thread, or the audit log
    /// cannot be opened.
    pub(crate) fn start(options: TelemetryOptions<'_>) -> Result<Telemetry, Error> {
        let metrics = Arc::new(Metrics::new());
        let spans = options
            .otlp
            .map(|collector| Spans::to(collector, options.clock.clone(), Arc::clone(&metrics)));
        let log = Log::start(
            options.log,
            options.clock.clone(),
            Box::new(std::io::stderr()),
            Arc::clone(&metrics),
        )?;
        Ok(Telemetry {
            spans: spans.transpose()?,
            log,
            audit: Audit::open(options.audit)?,
            thresholds: options.thresholds,
            tally: Mutex::default(),
            metrics,
        })
    }
}
