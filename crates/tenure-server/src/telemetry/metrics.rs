//! Metrics, as Prometheus reads them.

use std::fmt::{Error as FmtError, Write};
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tenure::catalogue::Cost;
use tenure::trace::ProviderUsage;

/// Times, in seconds: from a tenth of a millisecond to the patience of a client.
const TIMES: [f64; 14] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0,
];

/// A word of a small set: labels never come from outside.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Word(pub(crate) &'static str);

impl EncodeLabelValue for Word {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> Result<(), FmtError> {
        encoder.write_str(self.0)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(crate) struct Answered {
    pub(crate) route: Word,
    pub(crate) status: u16,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(crate) struct Routed {
    pub(crate) route: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(crate) struct Spent {
    pub(crate) protocol: Word,
    pub(crate) kind: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Priced {
    protocol: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(crate) struct What {
    pub(crate) what: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Because {
    reason: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(crate) struct Metered {
    pub(crate) metric: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Handled {
    mode: Word,
    cut: Word,
    fault: Word,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
struct Changed {
    mode: Word,
    what: Word,
}

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) untold: Family<What, Counter>,
    pub(crate) compile_seconds: Histogram,
    pub(crate) quality: Family<Metered, Histogram, fn() -> Histogram>,
    pub(crate) quality_missed: Family<What, Counter>,
    pub(crate) labelled: Family<Metered, Histogram, fn() -> Histogram>,
    pub(crate) decayed: Counter,
    pub(crate) requests: Family<Answered, Counter>,
    pub(crate) seconds: Family<Routed, Histogram, fn() -> Histogram>,
    pub(crate) connections: Gauge,
    pub(crate) gateway_bytes: Family<What, Counter>,
    pub(crate) gateway_ended: Family<What, Counter>,
    unmanaged: Family<Because, Counter>,
    handled: Family<Handled, Counter>,
    changed: Family<Changed, Counter>,
    replies: Family<What, Counter>,
    output_faults: Family<What, Counter>,
    pub(crate) learned: Counter,
    pub(crate) sessions: Gauge,
    pub(crate) tokens: Family<Spent, Counter>,
    dollars: Family<Priced, Counter<f64, AtomicU64>>,
    pub(crate) recorded: Counter,
    pub(crate) dropped: Family<What, Counter>,
    pub(crate) queued: Gauge,
    pub(crate) compiles: Family<What, Counter>,
    pub(crate) audit_failures: Counter,
    damaged: Family<What, Counter>,
    resident: Gauge<i64, std::sync::atomic::AtomicI64>,
}

fn times() -> Histogram {
    Histogram::new(TIMES)
}

/// Shares of a whole: finest where the targets of the quality metrics are.
const SHARES: [f64; 12] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 0.85, 0.9, 0.95, 1.0,
];

fn shares() -> Histogram {
    Histogram::new(SHARES)
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        let mut registry = Registry::with_prefix("tenure");
        let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Which build this is", build);
        let metrics = Metrics {
            untold: Family::default(),
            compile_seconds: times(),
            quality: Family::new_with_constructor(shares as fn() -> Histogram),
            quality_missed: Family::default(),
            labelled: Family::new_with_constructor(shares as fn() -> Histogram),
            decayed: Counter::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(times as fn() -> Histogram),
            connections: Gauge::default(),
            gateway_bytes: Family::default(),
            gateway_ended: Family::default(),
            unmanaged: Family::default(),
            handled: Family::default(),
            changed: Family::default(),
            replies: Family::default(),
            output_faults: Family::default(),
            learned: Counter::default(),
            sessions: Gauge::default(),
            tokens: Family::default(),
            dollars: Family::default(),
            recorded: Counter::default(),
            dropped: Family::default(),
            queued: Gauge::default(),
            compiles: Family::default(),
            audit_failures: Counter::<u64, AtomicU64>::default(),
            damaged: Family::default(),
            resident: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register(
            "http_requests",
            "Answers, by route and status",
            metrics.requests.clone(),
        );
        registry.register_with_unit(
            "http_request",
            "From a request to the head of its answer",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register(
            "http_connections",
            "Open connections",
            metrics.connections.clone(),
        );
        registry.register(
            "gateway_bytes",
            "Bytes of bodies that went through",
            metrics.gateway_bytes.clone(),
        );
        registry.register(
            "gateway_exchanges",
            "How exchanges ended",
            metrics.gateway_ended.clone(),
        );
        registry.register(
            "gateway_unmanaged",
            "Requests that went on as they came, or were refused, by the reason",
            metrics.unmanaged.clone(),
        );
        registry.register(
            "gateway_requests",
            "Requests to models, by the mode, whether their history was cut, and why they were not managed",
            metrics.handled.clone(),
        );
        registry.register(
            "gateway_changed_tokens",
            "Tokens that were taken out of requests (saved) and put into them (added)",
            metrics.changed.clone(),
        );
        registry.register(
            "gateway_replies",
            "What became of replies: whether they stand in their sessions",
            metrics.replies.clone(),
        );
        registry.register(
            "gateway_output_faults",
            "What was wrong with answers",
            metrics.output_faults.clone(),
        );
        registry.register(
            "gateway_learned",
            "Requests that were too long for their provider and went again, shorter",
            metrics.learned.clone(),
        );
        registry.register_with_unit(
            "gateway_sessions",
            "Memory that sessions are held in, about",
            Unit::Bytes,
            metrics.sessions.clone(),
        );
        registry.register(
            "gateway_tokens",
            "Tokens that providers say were used",
            metrics.tokens.clone(),
        );
        registry.register_with_unit(
            "gateway_spend",
            "What the usage that providers report costs, where the model's prices are known",
            Unit::Other("dollars".into()),
            metrics.dollars.clone(),
        );
        registry.register(
            "records_kept",
            "Exchanges whose record is stored",
            metrics.recorded.clone(),
        );
        registry.register(
            "records_dropped",
            "What the recorder let go, because its queue was full or the store was away",
            metrics.dropped.clone(),
        );
        registry.register(
            "records_queued",
            "Exchanges that wait to be recorded",
            metrics.queued.clone(),
        );
        registry.register(
            "compiles",
            "Compiles over the API, by outcome",
            metrics.compiles.clone(),
        );
        registry.register_with_unit(
            "compile",
            "How long compiles over the API took",
            Unit::Seconds,
            metrics.compile_seconds.clone(),
        );
        registry.register(
            "compile_quality",
            "The quality metrics of payloads",
            metrics.quality.clone(),
        );
        registry.register(
            "compile_quality_missed",
            "Payloads that missed a threshold, by metric",
            metrics.quality_missed.clone(),
        );
        registry.register(
            "compile_labelled",
            "Context precision and recall of compiles whose candidates were labelled",
            metrics.labelled.clone(),
        );
        registry.register(
            "compile_decayed",
            "Candidates that were left out because they are too old",
            metrics.decayed.clone(),
        );
        registry.register(
            "telemetry_dropped",
            "Log lines and spans that nobody took",
            metrics.untold.clone(),
        );
        registry.register(
            "audit_failures",
            "Lines that the audit log would not take",
            metrics.audit_failures.clone(),
        );
        registry.register(
            "store_damaged",
            "What was found in the store that is not what was written",
            metrics.damaged.clone(),
        );
        registry.register_with_unit(
            "process_resident_memory",
            "Memory of the process that is in use",
            Unit::Bytes,
            metrics.resident.clone(),
        );
        // What should stay at nothing is there from the start, so that a board can tell nothing from unknown.
        for what in ["record", "contents", "compile", "turns", "conversation"] {
            metrics.dropped.get_or_create(&What { what: Word(what) }).inc_by(0);
        }
        for what in ["revision", "answer", "store"] {
            metrics.damaged.get_or_create(&What { what: Word(what) }).inc_by(0);
        }
        Metrics {
            registry,
            ..metrics
        }
    }

    /// Counts what was to be told and was not.
    pub(crate) fn untold(&self, what: &'static str) {
        self.untold_many(what, 1);
    }

    pub(crate) fn untold_many(&self, what: &'static str, count: u64) {
        let what = What { what: Word(what) };
        self.untold.get_or_create(&what).inc_by(count);
    }

    pub(crate) fn dropped(&self, what: &'static str) -> &Self {
        self.dropped.get_or_create(&What { what: Word(what) }).inc();
        self
    }

    /// Counts what the store holds and was not written: a revision that a compile leaves out, an answer that is not
    /// given, the store as a whole.
    pub(crate) fn damaged(&self, what: &'static str) {
        self.damaged.get_or_create(&What { what: Word(what) }).inc();
    }

    pub(crate) fn unmanaged(&self, reason: &'static str) {
        let label = Because {
            reason: Word(reason),
        };
        self.unmanaged.get_or_create(&label).inc();
    }

    pub(crate) fn replied(&self, what: &'static str) {
        self.replies.get_or_create(&What { what: Word(what) }).inc();
    }

    /// Counts a request to a model.
    pub(crate) fn handled(&self, mode: &'static str, cut: &'static str, fault: &'static str) {
        let label = Handled {
            mode: Word(mode),
            cut: Word(cut),
            fault: Word(fault),
        };
        self.handled.get_or_create(&label).inc();
    }

    /// Counts the tokens by which a request changed.
    pub(crate) fn changed(&self, mode: &'static str, saved: u64, added: u64) {
        for (what, tokens) in [("saved", saved), ("added", added)] {
            let label = Changed {
                mode: Word(mode),
                what: Word(what),
            };
            self.changed.get_or_create(&label).inc_by(tokens);
        }
    }

    pub(crate) fn output_fault(&self, what: &'static str) {
        let label = What { what: Word(what) };
        self.output_faults.get_or_create(&label).inc();
    }

    pub(crate) fn spent(&self, protocol: &'static str, usage: &ProviderUsage) {
        let parts = [
            ("input", usage.input),
            ("cache_read", usage.cache_read),
            ("cache_write", usage.cache_write),
            ("output", usage.output),
        ];
        for (kind, tokens) in parts {
            let label = Spent {
                protocol: Word(protocol),
                kind: Word(kind),
            };
            self.tokens.get_or_create(&label).inc_by(tokens);
        }
    }

    /// Counts what an exchange costs.
    pub(crate) fn cost(&self, protocol: &'static str, cost: Cost) {
        let label = Priced {
            protocol: Word(protocol),
        };
        let dollars = cost.picos() as f64 / 1e12;
        self.dollars.get_or_create(&label).inc_by(dollars);
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self) -> Result<String, FmtError> {
        if let Some(bytes) = resident_memory() {
            self.resident.set(bytes);
        }
        let mut out = String::new();
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// Returns the resident memory of this process in bytes, where the system says so.
fn resident_memory() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_in_the_text() {
        let metrics = Metrics::new();
        let route = Word("gateway");
        metrics.requests.get_or_create(&Answered { route, status: 200 }).inc();
        metrics.dropped("record");
        metrics.spent(
            "openai",
            &ProviderUsage {
                input: 7,
                ..ProviderUsage::default()
            },
        );
        let text = metrics.text().unwrap();
        for line in [
            "tenure_http_requests_total{route=\"gateway\",status=\"200\"} 1",
            "tenure_records_dropped_total{what=\"record\"} 1",
            "tenure_gateway_tokens_total{protocol=\"openai\",kind=\"input\"} 7",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
