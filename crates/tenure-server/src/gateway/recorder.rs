//! The recorder: a thread that counts and stores what went through, behind a bounded queue, and another that
//! adds replies to their sessions.
//!
//! A request never waits for it. When the queue is full, a record is dropped; when what is queued holds
//! too many bytes, its contents are, and the record says less. Both are counted in the metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Clock};

use bytes::Bytes;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Digest, Error, ErrorKind, World};
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::records::{EXCHANGE_RECORD_VERSION, Ending, ExchangeRecord, Kept};
use tenure_workspace::relay::{Notice, Place, Relay, Unmanaged};

use super::Protocol;
use super::measure::{Asked, MAX_UNPACKED, Prices, plain, usage};
use super::output::{self, Constraint, Demands, Found, LeftOut};
use super::tap;
use super::told::Sent;
use crate::metrics::{Metrics, What, Word};

/// The most exchanges that wait.
const QUEUE: usize = 16_384;
/// The most bytes of contents that wait.
const HELD: usize = 64 << 20;
/// The most records of one write, and how long the first waits for others.
const BATCH: usize = 512;
const LINGER: Duration = Duration::from_millis(50);
/// How often a write is tried while the store is away, and how long apart.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);
/// The most replies that wait; what is too much comes with the agent's next request.
const REPLIES: usize = 1_024;
/// The most tools that a record names as left out.
const MAX_TOOLS: usize = 256;

/// What is known of a request and its answer once both have gone.
pub(super) struct Exchange {
    pub(super) id: String,
    pub(super) at: Instant,
    pub(super) started: Clock,
    pub(super) protocol: Protocol,
    pub(super) path: String,
    pub(super) tenant: Arc<str>,
    pub(super) key: Option<Arc<str>>,
    pub(super) session: Option<String>,
    /// Where it is in the session that it was compiled of.
    pub(super) place: Option<Place>,
    /// Whose form it has, where it asks for a message.
    pub(super) format: Option<Format>,
    pub(super) mode: &'static str,
    pub(super) client: Option<String>,
    /// What went on in its place.
    pub(super) sent: Sent,
    pub(super) request_bytes: u64,
    /// The request's body, until it is let go.
    pub(super) request: Option<Bytes>,
    /// How the answer is packed.
    pub(super) encoding: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) head: Option<Duration>,
    /// The constraints that stand in it.
    pub(super) constraints: Vec<Arc<Constraint>>,
    /// The agent's tools that the model was not offered.
    pub(super) left_out: LeftOut,
    /// What is wrong with the answer, where it was looked at before it went on.
    pub(super) output: Option<Found>,
    /// Why it was not managed, where it was not.
    pub(super) unmanaged: Option<Unmanaged>,
    /// What its operator should know of it.
    pub(super) notices: Vec<Notice>,
    /// How its provider's counts were taken, where reports of its usage say so.
    pub(super) calibrated: Option<u32>,
    pub(super) reply: tap::Kept,
}

impl Exchange {
    fn held(&self) -> usize {
        let request = self.request.as_ref();
        request.map_or(0, Bytes::len) + self.sent.held(request) + self.reply.len()
    }
}

struct Job {
    exchange: Exchange,
    ending: Ending,
    took: Duration,
    held: usize,
}

/// Where exchanges are handed in. Cheap to clone.
#[derive(Clone)]
struct Outbox {
    queue: SyncSender<Job>,
    held: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
}

impl Outbox {
    /// Hands an exchange in; never waits.
    fn offer(&self, mut exchange: Exchange, ending: Ending) {
        let took = exchange.started.elapsed();
        let mut held = exchange.held();
        if self.held.load(Ordering::Relaxed) + held > HELD {
            self.metrics.dropped("contents");
            exchange.request = None;
            exchange.sent.let_go();
            exchange.reply.let_go();
            held = 0;
        }
        self.held.fetch_add(held, Ordering::Relaxed);
        let job = Job {
            exchange,
            ending,
            took,
            held,
        };
        match self.queue.try_send(job) {
            Ok(()) => drop(self.metrics.queued.inc()),
            Err(_) => {
                self.held.fetch_sub(held, Ordering::Relaxed);
                self.metrics.dropped("record");
            }
        }
    }
}

/// An exchange that is under way. Whoever lets go of it without a word was left by the client.
pub(super) struct Open {
    exchange: Option<Exchange>,
    outbox: Outbox,
}

impl Open {
    pub(super) fn exchange(&mut self) -> Option<&mut Exchange> {
        self.exchange.as_mut()
    }

    /// Hands the exchange in, once.
    pub(super) fn end(&mut self, ending: Ending) {
        if let Some(exchange) = self.exchange.take() {
            self.outbox.offer(exchange, ending);
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // OpenAI's clients leave with the last event, before the end of the body.
        let is_said = self.exchange.as_ref().is_some_and(|exchange| {
            exchange.status == Some(200) && exchange.encoding.is_none() && exchange.reply.is_said()
        });
        self.end(if is_said {
            Ending::Whole
        } else {
            Ending::ClientLeft
        });
    }
}

/// The recorder of a server.
pub(super) struct Recorder {
    outbox: Outbox,
    /// The recorder's own, then the one that adds replies, which ends with it.
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: SyncSender<()>,
}

impl Recorder {
    pub(super) fn start(
        store: Option<Store>,
        workspace: Arc<Workspace>,
        relay: Arc<Relay>,
        metrics: Arc<Metrics>,
    ) -> Result<Recorder, Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let (stop, stopped) = sync_channel(1);
        let held = Arc::new(AtomicUsize::new(0));
        let (replies, waiting) = sync_channel(REPLIES);
        let scribe = Scribe {
            waiting,
            store: store.clone(),
            relay: Arc::clone(&relay),
            metrics: Arc::clone(&metrics),
        };
        let desk = Desk {
            replies,
            jobs,
            stopped,
            held: Arc::clone(&held),
            store,
            relay,
            workspace,
            metrics: Arc::clone(&metrics),
            worlds: BTreeMap::new(),
            prices: Prices::default(),
        };
        let threads = vec![
            spawn("tenure-recorder", move || desk.work())?,
            spawn("tenure-replies", move || scribe.work())?,
        ];
        Ok(Recorder {
            outbox: Outbox {
                queue,
                held,
                metrics,
            },
            threads: Mutex::new(threads),
            stop,
        })
    }

    /// Begins an exchange, or nothing where none is to be recorded.
    pub(super) fn open(&self, exchange: Option<Exchange>) -> Open {
        Open {
            exchange,
            outbox: self.outbox.clone(),
        }
    }

    /// Waits until everything that was handed in is recorded, or cannot be.
    pub(super) fn finish(&self) {
        let _ = self.stop.try_send(());
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    let thread = std::thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(|error| {
        let what = format!("the system gives no thread: {error}");
        Error::new(ErrorKind::Unavailable, what)
    })
}

/// A reply for its session.
struct Reply {
    tenant: Arc<str>,
    place: Place,
    message: String,
    at: Instant,
}

/// Adds replies to their sessions.
struct Scribe {
    waiting: Receiver<Reply>,
    store: Option<Store>,
    relay: Arc<Relay>,
    metrics: Arc<Metrics>,
}

impl Scribe {
    fn work(self) {
        while let Ok(reply) = self.waiting.recv() {
            let Some(store) = &self.store else { continue };
            let added = store.tenant(&reply.tenant).and_then(|tenant| {
                self.relay
                    .reply(&tenant, &reply.place, &reply.message, reply.at)
            });
            self.metrics.replied(match added {
                Ok(true) => "kept",
                Ok(false) => "overtaken",
                Err(_) => "failed",
            });
        }
    }
}

/// The thread's own.
struct Desk {
    replies: SyncSender<Reply>,
    jobs: Receiver<Job>,
    stopped: Receiver<()>,
    held: Arc<AtomicUsize>,
    store: Option<Store>,
    relay: Arc<Relay>,
    workspace: Arc<Workspace>,
    metrics: Arc<Metrics>,
    /// By the names of the catalogue, of which there are so many: a name from outside takes no place.
    worlds: BTreeMap<String, Option<Arc<World>>>,
    prices: Prices,
}

impl Desk {
    fn work(mut self) {
        let mut stopping = false;
        while !stopping {
            let mut batch: BTreeMap<Arc<str>, Vec<(ExchangeRecord, Kept)>> = BTreeMap::new();
            let mut size = 0;
            let mut until: Option<Clock> = None;
            while size < BATCH {
                stopping = stopping || self.stopped.try_recv().is_ok();
                let wait = match until {
                    _ if stopping => Duration::ZERO,
                    Some(until) => until.saturating_duration_since(Clock::now()),
                    None => LINGER,
                };
                match self.jobs.recv_timeout(wait) {
                    Ok(job) => {
                        until.get_or_insert_with(|| Clock::now() + LINGER);
                        size += 1;
                        let tenant = Arc::clone(&job.exchange.tenant);
                        let record = self.record(job);
                        batch.entry(tenant).or_default().push(record);
                    }
                    Err(RecvTimeoutError::Timeout) if until.is_some() || stopping => break,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        stopping = true;
                        break;
                    }
                }
            }
            // What is still queued when the server stops is taken in further rounds.
            stopping = stopping && size < BATCH;
            for (tenant, batch) in batch {
                self.keep(&tenant, &batch);
            }
        }
    }

    fn record(&mut self, job: Job) -> (ExchangeRecord, Kept) {
        let Job {
            mut exchange,
            ending,
            took,
            held,
        } = job;
        self.metrics.queued.dec();
        self.held.fetch_sub(held, Ordering::Relaxed);
        let asked = exchange
            .request
            .as_deref()
            .map(Asked::read)
            .unwrap_or_default();
        let world = asked.model.as_deref().and_then(|model| self.world(model));
        let found = asked.model.as_deref();
        let found = found.and_then(|model| self.workspace.catalogue().resolve(model));
        let resolved_by = match found {
            Some(found) => Some(found.rule.term()),
            // Nothing is known of it but what its upstream stated.
            None => exchange.place.as_ref().map(|_| "stated"),
        };
        let resolved_by = resolved_by.map(str::to_owned);
        let prices = &mut self.prices;
        let request_tokens = world.as_ref().map(|world| asked.tokens(world, prices));
        let sent_tokens = match (&exchange.sent.body, &world) {
            (Some(sent), _) if Some(sent) == exchange.request.as_ref() => request_tokens,
            (Some(sent), Some(world)) => Some(Asked::read(sent).tokens(world, prices)),
            _ => None,
        };
        let resolved_model = exchange
            .sent
            .done
            .as_ref()
            .map(|done| done.model().to_owned());
        let resolved_model = resolved_model.filter(|name| Some(name) != asked.model.as_ref());
        let count = world.map(|world| world.tokenizer().kind());
        let response_bytes = exchange.reply.bytes;
        let encoding = exchange.encoding.as_deref();
        let parts = plain(encoding, exchange.reply.parts(), MAX_UNPACKED);
        let usage = usage(exchange.protocol, &parts);
        let protocol = exchange.protocol.term();
        let is_whole = matches!(ending, Ending::Whole) && exchange.status == Some(200);
        if let (Some(place), Some(usage), true) = (&exchange.place, &usage, is_whole) {
            self.calibrate(&exchange.tenant, place, usage.input);
        }
        let mut output = exchange.output;
        if let Some(format) = exchange.format
            && is_whole
        {
            let demands = Demands {
                format,
                request: &asked.body,
                constraints: &exchange.constraints,
                left_out: &exchange.left_out,
            };
            let unseen = output.is_none();
            let message = match parts.as_slice() {
                _ if !unseen && exchange.place.is_none() => Ok(String::new()),
                [whole] => output::message(format, whole),
                _ => Err(Error::input("the answer was not kept whole")),
            };
            if let (Ok(message), true) = (&message, unseen) {
                output = Some(demands.look(&output::finished(exchange.place.as_ref(), message)));
            }
            if let Some(place) = exchange.place {
                let at = exchange.at;
                let reply = message.map(|message| Reply {
                    tenant: Arc::clone(&exchange.tenant),
                    place,
                    message,
                    at,
                });
                match reply.map(|reply| self.replies.try_send(reply)) {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => self.metrics.replied("dropped"),
                    Err(_) => self.metrics.replied("unread"),
                }
            }
        } else if exchange.place.is_some() {
            let rejected = matches!(ending, Ending::Rejected | Ending::Refused);
            let what = if rejected { "rejected" } else { "incomplete" };
            self.metrics.replied(what);
        }
        let Found { faults, broken } = output.unwrap_or_default();
        for fault in &faults {
            self.metrics.output_fault(fault.term());
        }
        if let Some(usage) = &usage {
            self.metrics.spent(protocol, usage);
        }
        let what = Word(match ending {
            Ending::Whole => "whole",
            Ending::ClientLeft => "client_left",
            Ending::UpstreamBroke => "upstream_broke",
            Ending::UpstreamFailed => "upstream_failed",
            Ending::UpstreamSilent => "upstream_silent",
            Ending::Rejected => "rejected",
            Ending::Refused => "refused",
        });
        self.metrics
            .gateway_ended
            .get_or_create(&What { what })
            .inc();
        let request_digest = exchange.request.as_deref().map(Digest::of);
        let sent_digest = exchange
            .sent
            .digest(exchange.request.as_ref().zip(request_digest));
        let compiled = exchange.sent.compile(&self.workspace);
        let compiled = compiled.unwrap_or_else(|_| {
            // The store is away, for one: the record says less.
            self.metrics.dropped("compile");
            None
        });
        let (compile, kept) = compiled.unzip();
        let cache_key = asked.body["prompt_cache_key"].as_str();
        let record = ExchangeRecord {
            version: EXCHANGE_RECORD_VERSION,
            record_id: exchange.id,
            at: exchange.at,
            mode: exchange.mode.into(),
            client: exchange.client,
            resolved_model,
            prompt_cache_key: cache_key.map(clip),
            sent_bytes: exchange.sent.bytes,
            sent_digest,
            sent_tokens,
            saved: exchange.sent.saved,
            added: exchange.sent.added,
            fault: exchange.sent.fault,
            retries: exchange.sent.retries,
            compile,
            protocol: protocol.into(),
            path: exchange.path,
            key: exchange.key.as_deref().map(str::to_owned),
            session: exchange.session,
            streamed: asked.streamed,
            model: asked.model,
            request_bytes: exchange.request_bytes,
            request_digest,
            request_tokens,
            count,
            status: exchange.status,
            response_bytes,
            usage,
            head_latency_us: exchange.head.map(micros),
            latency_us: micros(took),
            ending,
            output: faults.iter().map(|fault| fault.term().to_owned()).collect(),
            broken: broken.iter().map(|constraint| constraint.id).collect(),
            tools_left_out: exchange
                .left_out
                .iter()
                .take(MAX_TOOLS)
                .map(|(name, code)| (clip(name), (*code).to_owned()))
                .collect(),
            resolved_by,
            unmanaged: exchange.unmanaged.map(|why| why.code().to_owned()),
            notices: exchange
                .notices
                .iter()
                .map(|notice| notice.code().to_owned())
                .collect(),
            calibrated_percent: exchange.calibrated,
        };
        (record, kept.unwrap_or_default())
    }

    /// Notes what a provider reports of a request that it answered whole.
    fn calibrate(&self, tenant: &str, place: &Place, input: u64) {
        let Some(store) = &self.store else { return };
        let tenant = store.tenant(tenant);
        let noted = tenant.and_then(|tenant| self.relay.reported(&tenant, place, input));
        // The next report says as much.
        drop(noted);
    }

    /// The world of a model, as the catalogue resolves its name.
    fn world(&mut self, model: &str) -> Option<Arc<World>> {
        let name = self.workspace.catalogue().resolve(model)?.name;
        if let Some(world) = self.worlds.get(name) {
            return world.clone();
        }
        let name = name.to_owned();
        let world = self.workspace.world(&name).ok().map(Arc::new);
        self.worlds.insert(name, world.clone());
        world
    }

    /// Stores records; waits a while for a store that is away.
    fn keep(&self, tenant: &str, records: &[(ExchangeRecord, Kept)]) {
        if let Some(spans) = self.metrics.spans.get() {
            let records = records.iter().map(|(record, _)| record);
            spans.exchanges(tenant, records, &self.metrics);
        }
        let Some(store) = &self.store else { return };
        for tries in 1..=TRIES {
            let kept = store
                .tenant(tenant)
                .and_then(|tenant| self.workspace.keep_exchanges(&tenant, records));
            match kept {
                Ok(()) => {
                    self.metrics.recorded.inc_by(records.len() as u64);
                    return;
                }
                Err(error) if error.kind == ErrorKind::Unavailable && tries < TRIES => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => break,
            }
        }
        let what = What {
            what: Word("record"),
        };
        self.metrics
            .dropped
            .get_or_create(&what)
            .inc_by(records.len() as u64);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
