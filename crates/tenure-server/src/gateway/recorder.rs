//! The recorder: a thread that makes records of exchanges and stores them, behind a bounded queue, and another that
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

use tenure::answer::{self, Demands, Findings, OutputFault, ProviderUsage, RequestBody};
use tenure::object::clip;
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind, World};
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::records::{EXCHANGE_RECORD_VERSION, Ending, ExchangeRecord, Kept, spent};
use tenure_workspace::relay::{Position, Relay};

use super::draft::{Draft, Inspected};
use super::prices::Prices;
use super::unpack::{MAX_UNPACKED, plain};
use crate::telemetry::Telemetry;
use crate::telemetry::log::bounded;
use crate::telemetry::metrics::{What, Word};

/// The most drafts that wait.
const QUEUE: usize = 16_384;
/// The most bytes of contents that wait.
const HELD: usize = 64 << 20;
/// The most records of one write, and the longest that the first waits for others.
const BATCH: usize = 512;
const LINGER: Duration = Duration::from_millis(50);
/// The number of times that a write is tried while the store is away, and the time between.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);
/// The most replies that wait; what is too much comes with the agent's next request.
const REPLIES: usize = 1_024;
/// The most tools that a record names as left out.
const MAX_TOOLS: usize = 256;
/// The most bytes of a model's name that are kept.
const MAX_MODEL: usize = 256;

/// A draft that is complete.
struct Job {
    draft: Draft,
    ending: Ending,
    took: Duration,
    held: usize,
}

/// The way to the recorder. Cheap to clone.
#[derive(Clone)]
struct Outbox {
    queue: SyncSender<Job>,
    held: Arc<AtomicUsize>,
    telemetry: Arc<Telemetry>,
}

impl Outbox {
    /// Hands a draft in; never waits.
    fn offer(&self, mut draft: Draft, ending: Ending) {
        let metrics = &self.telemetry.metrics;
        let took = draft.started.elapsed();
        let mut held = draft.held();
        if self.held.load(Ordering::Relaxed) + held > HELD {
            metrics.dropped("contents");
            draft.let_go();
            held = 0;
        }
        self.held.fetch_add(held, Ordering::Relaxed);
        let job = Job {
            draft,
            ending,
            took,
            held,
        };
        match self.queue.try_send(job) {
            Ok(()) => drop(metrics.queued.inc()),
            Err(_) => {
                self.held.fetch_sub(held, Ordering::Relaxed);
                metrics.dropped("record");
            }
        }
    }
}

/// The record of an exchange that is under way, if one is made. One that is dropped before its end was left by its
/// client.
pub(super) struct OpenRecord {
    draft: Option<Draft>,
    outbox: Outbox,
}

impl OpenRecord {
    pub(super) fn draft(&mut self) -> Option<&mut Draft> {
        self.draft.as_mut()
    }

    /// Hands the draft in, once.
    pub(super) fn end(&mut self, ending: Ending) {
        if let Some(draft) = self.draft.take() {
            self.outbox.offer(draft, ending);
        }
    }
}

impl Drop for OpenRecord {
    fn drop(&mut self) {
        // OpenAI's clients leave with the last event, before the end of the body.
        let is_whole = self.draft.as_ref().is_some_and(|draft| {
            draft.status == Some(200) && draft.encoding.is_none() && draft.reply.has_last_event()
        });
        self.end(if is_whole {
            Ending::Whole
        } else {
            Ending::ClientLeft
        });
    }
}

/// The recorder of a server.
pub(super) struct Recorder {
    outbox: Outbox,
    /// The one that makes records, then the one that adds replies, which ends with it.
    threads: Mutex<Vec<JoinHandle<()>>>,
    stop: SyncSender<()>,
}

impl Recorder {
    /// Starts the threads.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the system gives none.
    pub(super) fn start(
        store: Option<Store>,
        workspace: Arc<Workspace>,
        relay: Arc<Relay>,
        telemetry: Arc<Telemetry>,
    ) -> Result<Recorder, Error> {
        let (queue, jobs) = sync_channel(QUEUE);
        let (stop, stopped) = sync_channel(1);
        let held = Arc::new(AtomicUsize::new(0));
        let (replies, waiting) = sync_channel(REPLIES);
        let scribe = Scribe {
            waiting,
            store: store.clone(),
            relay: Arc::clone(&relay),
            telemetry: Arc::clone(&telemetry),
        };
        let desk = Desk {
            replies,
            jobs,
            stopped,
            held: Arc::clone(&held),
            store,
            relay,
            workspace,
            telemetry: Arc::clone(&telemetry),
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
                telemetry,
            },
            threads: Mutex::new(threads),
            stop,
        })
    }

    /// Begins a record, or none where none is to be made.
    pub(super) fn open(&self, draft: Option<Draft>) -> OpenRecord {
        OpenRecord {
            draft,
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
    position: Position,
    message: Arc<str>,
    at: Instant,
}

/// Adds replies to their sessions.
struct Scribe {
    waiting: Receiver<Reply>,
    store: Option<Store>,
    relay: Arc<Relay>,
    telemetry: Arc<Telemetry>,
}

impl Scribe {
    fn work(self) {
        while let Ok(reply) = self.waiting.recv() {
            let Some(store) = &self.store else { continue };
            let added = store.tenant(&reply.tenant).and_then(|tenant| {
                self.relay.reply(&tenant, &reply.position, &reply.message, reply.at)
            });
            self.telemetry.metrics.replied(match added {
                Ok(true) => "kept",
                Ok(false) => "overtaken",
                Err(_) => "failed",
            });
        }
    }
}

/// Makes records and stores them.
struct Desk {
    replies: SyncSender<Reply>,
    jobs: Receiver<Job>,
    stopped: Receiver<()>,
    held: Arc<AtomicUsize>,
    store: Option<Store>,
    relay: Arc<Relay>,
    workspace: Arc<Workspace>,
    telemetry: Arc<Telemetry>,
    /// By the names of the catalogue, which are bounded: a name from outside takes no place.
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
                        let tenant = Arc::clone(&job.draft.tenant);
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

    /// Makes a record of a draft, and counts what it says.
    fn record(&mut self, job: Job) -> (ExchangeRecord, Kept) {
        let Job {
            mut draft,
            ending,
            took,
            held,
        } = job;
        self.telemetry.metrics.queued.dec();
        self.held.fetch_sub(held, Ordering::Relaxed);
        let request = draft.request.as_deref();
        let asked = request.map(RequestBody::read).unwrap_or_default();
        let model = asked.model().map(|model| bounded(model, MAX_MODEL).into_owned());
        let world = model.as_deref().and_then(|model| self.world(model));
        // One that is managed by what its upstream stated is counted as it was managed.
        let is_managed = draft.position.is_some();
        let world = world.or_else(|| is_managed.then(|| self.unknown_world())?);
        let (request_tokens, sent_tokens) = self.tokens(&draft, &asked, world.as_deref());
        let resolved_by = self.resolved_by(&draft, model.as_deref());
        let reply = std::mem::take(&mut draft.reply);
        let response_bytes = reply.bytes;
        let parts = plain(draft.encoding.as_deref(), reply.parts(), MAX_UNPACKED);
        let usage = answer::usage(draft.protocol.format(), &parts);
        let Findings { faults, broken } =
            self.take_reply(&mut draft, &ending, &asked, &parts, usage);
        self.count(&draft, &ending, usage.as_ref(), &faults);
        let request_digest = draft.request.as_deref().map(Digest::of);
        let sent_digest = draft.sent.digest(draft.request.as_ref().zip(request_digest));
        let resolved_model = draft.sent.done.as_ref().map(|done| done.model().to_owned());
        let priced = resolved_model.as_deref().or(model.as_deref());
        let cost = priced
            .zip(usage.as_ref())
            .and_then(|(model, usage)| spent(self.workspace.catalogue(), model, usage));
        if let Some(cost) = cost {
            self.telemetry.metrics.cost(draft.protocol.term(), cost);
        }
        let compiled = draft.sent.compile().unwrap_or_else(|_| {
            // The store is away, for one: the record says less.
            self.telemetry.metrics.dropped("compile");
            None
        });
        let (compile, kept) = compiled.unzip();
        let (body, untouched) = draft.sent.kept().unzip();
        let record = ExchangeRecord {
            version: EXCHANGE_RECORD_VERSION,
            record_id: draft.id,
            at: draft.at,
            mode: draft.mode.into(),
            client: draft.client,
            resolved_model: resolved_model.filter(|name| Some(name) != model.as_ref()),
            prompt_cache_key: asked.cache_key().map(clip),
            sent_bytes: draft.sent.bytes,
            sent_digest,
            sent_tokens,
            saved: draft.sent.saved,
            added: draft.sent.added,
            fault: draft.sent.fault,
            retries: draft.sent.retries,
            compile,
            body,
            protocol: draft.protocol.term().into(),
            path: draft.path,
            key: draft.key.as_deref().map(str::to_owned),
            user: draft.grant.user.clone(),
            project: draft.grant.project.clone(),
            session: draft.session,
            streamed: asked.is_streamed(),
            model,
            request_bytes: draft.request_bytes,
            request_digest,
            request_tokens,
            count: world.as_ref().map(|world| world.tokenizer().kind()),
            margin_percent: world.as_ref().map(|world| world.model().margin_percent),
            room: draft.room.map(u64::from),
            status: draft.status,
            response_bytes,
            usage,
            head_latency_us: draft.head.map(micros),
            latency_us: micros(took),
            ending,
            output: faults.iter().map(|fault| fault.term().to_owned()).collect(),
            broken: broken.iter().map(|broken| broken.constraint.id).collect(),
            tools_left_out: draft
                .omitted_tools
                .iter()
                .take(MAX_TOOLS)
                .map(|(name, code)| (clip(name), (*code).to_owned()))
                .collect(),
            resolved_by,
            unmanaged: draft.unmanaged.map(|why| why.code().to_owned()),
            notices: draft.notices.iter().map(|notice| notice.code().to_owned()).collect(),
            calibrated_percent: draft.calibrated,
        };
        let tokens = record.tokens();
        let [saved, added] =
            [tokens.saved(), tokens.added()].map(|count| count.map_or(0, |count| count.tokens));
        self.telemetry.metrics.changed(draft.mode, saved, added);
        let tally = self.telemetry.tally.lock();
        tally
            .unwrap_or_else(PoisonError::into_inner)
            .add(self.workspace.catalogue(), &record);
        (record, kept.or(untouched).unwrap_or_default())
    }

    /// Returns the tokens of a request as it came and as it went on, where its model is known.
    fn tokens(
        &mut self,
        draft: &Draft,
        asked: &RequestBody,
        world: Option<&World>,
    ) -> (Option<u64>, Option<u64>) {
        let Some(world) = world else {
            return (None, None);
        };
        let came = self.prices.tokens(world, asked);
        let sent = match &draft.sent.body {
            Some(sent) if Some(sent) == draft.request.as_ref() => Some(came),
            Some(sent) => Some(self.prices.tokens(world, &RequestBody::read(sent))),
            None => None,
        };
        (Some(came), sent)
    }

    /// Returns how the model of a request was found.
    fn resolved_by(&self, draft: &Draft, model: Option<&str>) -> Option<String> {
        let found = model.and_then(|model| self.workspace.catalogue().resolve(model));
        let term = match found {
            Some(found) => Some(found.rule.term()),
            // Nothing is known of it but what its upstream stated.
            None => draft.position.as_ref().map(|_| "stated"),
        };
        term.map(str::to_owned)
    }

    /// Takes the reply of a whole answer for its session, and what its provider reports of the request; returns the
    /// faults of the answer.
    fn take_reply(
        &self,
        draft: &mut Draft,
        ending: &Ending,
        asked: &RequestBody,
        parts: &[Vec<u8>],
        usage: Option<ProviderUsage>,
    ) -> Findings {
        let mut inspected = draft.inspected.take();
        let position = draft.position.take();
        let is_whole = matches!(ending, Ending::Whole) && draft.status == Some(200);
        if let (Some(position), Some(usage), true) = (&position, usage, is_whole) {
            self.calibrate(&draft.tenant, position, usage.input);
        }
        let metrics = &self.telemetry.metrics;
        if let Some(format) = draft.format
            && is_whole
        {
            let demands = Demands {
                format,
                request: asked,
                constraints: &draft.constraints,
                sources: &draft.sources,
                relaxed: &draft.relaxed,
                left_out: &draft.omitted_tools,
            };
            if inspected.is_none()
                && let [whole] = parts
            {
                inspected = Inspected::of(&demands, whole, position.as_ref());
            }
            if let Some(position) = position {
                let message = inspected.as_ref().and_then(|found| found.message.clone());
                let reply = message.map(|message| Reply {
                    tenant: Arc::clone(&draft.tenant),
                    position,
                    message,
                    at: draft.at,
                });
                match reply.map(|reply| self.replies.try_send(reply)) {
                    Some(Ok(())) => {}
                    Some(Err(_)) => metrics.replied("dropped"),
                    None => metrics.replied("unread"),
                }
            }
        } else if position.is_some() {
            let rejected = matches!(ending, Ending::Rejected | Ending::Refused);
            let what = if rejected { "rejected" } else { "incomplete" };
            metrics.replied(what);
        }
        inspected.map(|found| found.findings).unwrap_or_default()
    }

    /// Counts the end of an exchange.
    fn count(
        &self,
        draft: &Draft,
        ending: &Ending,
        usage: Option<&ProviderUsage>,
        faults: &[OutputFault],
    ) {
        let metrics = &self.telemetry.metrics;
        for fault in faults {
            metrics.output_fault(fault.term());
        }
        if let Some(usage) = usage {
            metrics.spent(draft.protocol.term(), usage);
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
        metrics.gateway_ended.get_or_create(&What { what }).inc();
    }

    /// Notes the tokens that a provider reports of a request that it answered whole.
    fn calibrate(&self, tenant: &str, position: &Position, input: u64) {
        let Some(store) = &self.store else { return };
        let tenant = store.tenant(tenant);
        let noted = tenant.and_then(|tenant| self.relay.reported(&tenant, position, input));
        // The next report says as much.
        drop(noted);
    }

    /// Returns the world of a model, as the catalogue resolves its name.
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

    /// Returns the world of models that the catalogue does not know.
    fn unknown_world(&mut self) -> Option<Arc<World>> {
        self.worlds
            .entry(String::new())
            .or_insert_with(|| self.workspace.unknown_world().ok().map(Arc::new))
            .clone()
    }

    /// Stores records; waits a while for a store that is away.
    fn keep(&self, tenant: &str, records: &[(ExchangeRecord, Kept)]) {
        if let Some(spans) = &self.telemetry.spans {
            let records = records.iter().map(|(record, _)| record);
            spans.exchanges(tenant, records);
        }
        let Some(store) = &self.store else { return };
        for tries in 1..=TRIES {
            let kept = store
                .tenant(tenant)
                .and_then(|tenant| self.workspace.records(&tenant).keep_exchanges(records));
            match kept {
                Ok(()) => {
                    self.telemetry.metrics.recorded.inc_by(records.len() as u64);
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
        self.telemetry.metrics.dropped.get_or_create(&what).inc_by(records.len() as u64);
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
