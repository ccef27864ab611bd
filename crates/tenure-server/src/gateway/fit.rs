//! Requests compiled before they go on. In `fit`, what does not fit the model's window is compiled as a turn of
//! a session, and what fits goes on as it came; in `full`, what the tenant's store holds stands beside it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};
use bytes::Bytes;
use hashlink::LruCache;
use tenure::catalogue::Rule;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, Digest, Error, ErrorKind, Policy};
use tenure_store::Tenant;
use tenure_workspace::Gathered;
use tenure_workspace::relay::{
    Beside, Done, Notice, Place, Relaying, Unmanaged, Unsettled, said_window, stated,
};

use super::output::{Constraint, LeftOut};
use super::unmanaged::conversation;
use super::{Protocol, headers, session};
use crate::app::App;
use crate::caller::Caller;
use crate::clock::now;
use crate::options::Mode;
use crate::work::Unwanted;

/// The policy of `full` where the tenant keeps none of this name: what stands beside a conversation is little
/// beside it, what has nothing to do with the task is not there at all, and the conversation's own instructions
/// are its identity.
const FULL: &str = "name = \"gateway\"\nextends = \"standard\"\nrequired = []\n\
[sections.codex]\nmax = 4096\n[sections.karma]\nmax = 512\nrelevance_floor = 0.02\n\
[sections.memory]\nmax = 1024\nrelevance_floor = 0.02\n\
[sections.evidence]\nmax = 2048\n[sections.recall]\nmax = 512\nrelevance_floor = 0.02\n\
[session]\nhigh_water = 0.95\n";
/// What a tenant's own policy for the gateway is called.
const POLICY: &str = "gateway";
/// What a provider's window may depend on beside the model.
const VARIANT: HeaderName = HeaderName::from_static("anthropic-beta");
/// The most tenants of whom what stands beside is held.
const MAX_TENANTS: usize = 256;
/// How long a limit of a tenant's policy is taken as it was read, in microseconds: in `fit` hardly a request waits for it.
const FRESH: i64 = 10 * 1_000_000;
/// The most constraints of a tenant that answers are held against.
const MAX_CHECKED: usize = 64;

/// What becomes of a request.
#[derive(Default)]
pub(super) struct Fitted {
    /// What is sent instead.
    pub(super) body: Option<Bytes>,
    pub(super) place: Option<Place>,
    /// The tokens that it has fewer, or more, than it came with.
    pub(super) saved: u64,
    pub(super) added: u64,
    /// Whether any of its messages no longer stands as it was said.
    pub(super) cut: bool,
    /// The compile, for its record, with the objects that were added.
    pub(super) done: Option<Box<Done>>,
    pub(super) beside: Option<Arc<Standing>>,
    /// What it added to its session, which is to be written while the provider thinks.
    pub(super) unsettled: Option<Unsettled>,
    /// The constraints that stand in it and that its answer is held against.
    pub(super) constraints: Vec<Arc<Constraint>>,
    /// The agent's tools that are not offered, each with the code of the reason.
    pub(super) left_out: LeftOut,
    /// Why it goes on as it came, where its history would have been looked after.
    pub(super) unmanaged: Option<Unmanaged>,
    /// The conversation that it is of, where it is in no session.
    pub(super) conversation: Option<Digest>,
    /// The model that it names, where that is read.
    pub(super) model: Option<String>,
    /// What its operator should know of it, where it is managed.
    pub(super) notices: Vec<Notice>,
    /// How its provider's counts were taken, where reports of its usage say so.
    pub(super) calibrated: Option<u32>,
    /// Whom its upstream teaches if it says that the request is too long.
    pub(super) learner: Option<Learner>,
    /// What went wrong, where something did.
    pub(super) fault: Option<Error>,
}

/// What keeps to it when an upstream states its window.
#[derive(Clone)]
pub(super) enum Learner {
    /// A session.
    Session(Place),
    /// A model of which nothing is known yet: what is said of it holds for this request alone until it is confirmed.
    Model,
}

impl Fitted {
    /// A request that is not managed.
    fn unmanaged(why: Unmanaged, fault: Option<Error>) -> Fitted {
        Fitted {
            unmanaged: Some(why),
            fault,
            ..Fitted::default()
        }
    }

    /// A request that could not be made to fit.
    pub(super) fn failed(error: Error) -> Fitted {
        Fitted::unmanaged(Unmanaged::of(&error), Some(error))
    }

    /// The same request where what it added to its session could not be written.
    pub(super) fn unwritten(self, error: Error) -> Fitted {
        let session = || Some(Digest::of(self.place.as_ref()?.session.as_bytes()));
        Fitted {
            conversation: self.conversation.or_else(session),
            model: self.model,
            notices: self.notices,
            ..Fitted::failed(error)
        }
    }
}

/// What stands beside the conversations of a tenant, for as long as its store does not change.
pub(super) struct Besides {
    of: Mutex<LruCache<String, Stands>>,
    /// The policy of tenants that keep none.
    policy: OnceLock<Policy>,
    /// The most tokens of an answer, by tenant, and when that was read.
    limits: Mutex<LruCache<String, (Instant, Option<u32>)>>,
}

impl Default for Besides {
    fn default() -> Besides {
        Besides {
            of: Mutex::new(LruCache::new(MAX_TENANTS)),
            policy: OnceLock::new(),
            limits: Mutex::new(LruCache::new(MAX_TENANTS)),
        }
    }
}

/// What is resident, and what of it stands beside.
type Stands = (Arc<Candidates>, Arc<Standing>);

/// What stands beside the conversations of a tenant.
pub(super) struct Standing {
    pub(super) gathered: Gathered,
    /// The constraints that a machine can check, and where among the candidates they are.
    constraints: Vec<(usize, Arc<Constraint>)>,
}

impl Besides {
    /// Lets go of what is held of a tenant.
    pub(super) fn forget(&self, tenant: &str) {
        let mut known = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(tenant);
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        limits.remove(tenant);
    }

    /// The most tokens that an answer may have, where the tenant's policy says so: what was read a moment ago.
    fn max_answer(&self, app: &App, tenant: &Tenant) -> Result<Option<u32>, Error> {
        let limits = || self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |read: Instant| {
            let age = now().micros().saturating_sub(read.micros());
            (0..FRESH).contains(&age)
        };
        if let Some((read, limit)) = limits().get(tenant.name()).copied()
            && is_fresh(read)
        {
            return Ok(limit);
        }
        let kept = app.workspace.kept_policy(tenant, POLICY, None)?;
        let limit = kept.and_then(|kept| kept.document().session.max_answer());
        limits().insert(tenant.name().to_owned(), (now(), limit));
        Ok(limit)
    }

    fn policy(&self) -> Result<&Policy, Error> {
        match self.policy.get() {
            Some(policy) => Ok(policy),
            None => {
                let policy = Policy::from_toml(FULL)?;
                Ok(self.policy.get_or_init(|| policy))
            }
        }
    }

    /// What the tenant believes now, without its tools: who runs them is not the agent that asks. With it, up
    /// to when it is known.
    fn get(&self, app: &App, tenant: &Tenant) -> Result<(Arc<Standing>, Instant), Error> {
        let resident = app.resident(tenant)?;
        // The clock of the store may be ahead of this machine's.
        let until = resident.latest().map_or(now(), |latest| latest.max(now()));
        let known = || self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, standing)) = known().get(tenant.name())
            && Arc::ptr_eq(of, resident.candidates())
        {
            return Ok((Arc::clone(standing), until));
        }
        let gathered = Gathered::resident_without_tools(tenant, &resident);
        let candidates = gathered.candidates.objects().iter().enumerate();
        let mut checked = 0;
        let constraints = candidates.filter_map(|(at, object)| {
            let constraint = Constraint::of(object, checked < MAX_CHECKED)?;
            checked += 1;
            Some((at, Arc::new(constraint)))
        });
        let standing = Arc::new(Standing {
            constraints: constraints.collect(),
            gathered,
        });
        let of = Arc::clone(resident.candidates());
        known().insert(tenant.name().to_owned(), (of, Arc::clone(&standing)));
        Ok((standing, until))
    }
}

/// The format of requests that ask how many tokens another would have.
fn counted(method: &Method, path: &str) -> Option<Format> {
    match path {
        _ if method != Method::POST => None,
        "/v1/responses/input_tokens" => Some(Format::OpenAiResponses),
        "/v1/messages/count_tokens" => Some(Format::Anthropic),
        _ => None,
    }
}

/// The format of requests to this path; none where they hold no conversation that is answered.
pub(super) fn format(method: &Method, path: &str) -> Option<Format> {
    match path {
        _ if method != Method::POST => None,
        "/v1/chat/completions" => Some(Format::OpenAiChat),
        "/v1/responses" => Some(Format::OpenAiResponses),
        "/v1/messages" => Some(Format::Anthropic),
        _ => None,
    }
}

/// Makes a request fit; where nothing else is known of its model, into the window that its provider said it has.
pub(super) async fn fit(
    app: &Arc<App>,
    caller: &Caller,
    parts: &Parts,
    protocol: Protocol,
    body: &Bytes,
    said: Option<u32>,
) -> Fitted {
    let (method, path) = (&parts.method, parts.uri.path());
    let counted = counted(method, path);
    let Some(format) = format(method, path).or(counted) else {
        let why = asks_otherwise(method, path).then_some(Unmanaged::OtherForm);
        return Fitted {
            unmanaged: why,
            ..Fitted::default()
        };
    };
    let key = key(caller, &parts.headers, protocol);
    let session = session(&parts.headers);
    if is_packed(&parts.headers) {
        let fault = Error::input("the body is packed, so it cannot be read")
            .expected("a body without `Content-Encoding`");
        return Fitted {
            conversation: Some(conversation(&key, session.as_deref(), format, &[])),
            ..Fitted::unmanaged(Unmanaged::PackedBody, Some(fault))
        };
    }
    let variant = parts.headers.get_all(VARIANT).iter();
    let variant: Vec<u8> = variant
        .flat_map(|value| value.as_bytes().to_vec())
        .collect();
    let came = Came {
        format,
        counted: counted.is_some(),
        body: body.clone(),
        key,
        session,
        variant: String::from_utf8_lossy(&variant).into_owned(),
        said,
    };
    let (app, caller) = (Arc::clone(app), caller.clone());
    let (tell, told) = tokio::sync::oneshot::channel();
    let turn = app.turns.take(&caller.tenant).await;
    let unwanted = Unwanted::default();
    let _left = unwanted.when_dropped();
    tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let relayed = unwanted.watched(|| relay(&app, &caller, &came));
        let fitted = relayed.unwrap_or_else(Fitted::failed);
        // Where the client has left, nobody else will write it.
        if let Err(fitted) = tell.send(came.noted(fitted))
            && fitted.unsettled.is_some_and(|kept| kept.settle().is_err())
        {
            app.metrics.dropped("turns");
        }
    });
    told.await
        .unwrap_or_else(|_| Fitted::failed(Error::assertion("a request was not compiled")))
}

/// Whether a body is packed.
fn is_packed(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Whether a request asks a model in a form that holds no conversation of messages.
fn asks_otherwise(method: &Method, path: &str) -> bool {
    let paths = [
        "/v1/complete",
        "/v1/completions",
        "/v1/messages/batches",
        "/v1/responses/compact",
    ];
    let generates = path
        .rsplit_once(':')
        .is_some_and(|(_, action)| ["generateContent", "streamGenerateContent"].contains(&action));
    method == Method::POST && (generates || paths.contains(&path))
}

/// A request as it came.
struct Came {
    format: Format,
    /// Whether it is only counted.
    counted: bool,
    body: Bytes,
    /// Under which credentials.
    key: String,
    /// The session that it names.
    session: Option<String>,
    variant: String,
    /// The window of its model, as its provider said it of this request.
    said: Option<u32>,
}

impl Came {
    /// Says of a request that is not managed which conversation it is of, and which model it asks.
    fn noted(&self, mut fitted: Fitted) -> Fitted {
        if fitted.unmanaged.is_some() {
            let session = self.session.as_deref();
            fitted.conversation = Some(conversation(&self.key, session, self.format, &self.body));
            fitted.model = asked_model(&self.body).ok();
        }
        fitted
    }
}

/// The model that a body names.
fn asked_model(body: &[u8]) -> Result<String, Error> {
    #[derive(serde::Deserialize)]
    struct Asked {
        model: String,
    }
    let asked: Asked = serde_json::from_slice(body)
        .map_err(|error| Error::input(format!("the body names no model: {error}")))?;
    Ok(asked.model)
}

/// Notes that a provider found a request too long; gives its window where a smaller one may help. What it said is
/// read where reading may take its time.
pub(super) async fn learn(
    app: &Arc<App>,
    caller: &Caller,
    learner: Learner,
    said: impl FnOnce() -> String + Send + 'static,
) -> Option<u32> {
    let (app, caller) = (Arc::clone(app), caller.clone());
    let learned = tokio::task::spawn_blocking(move || {
        let store = app.store.as_ref();
        let tenant = store.map(|store| store.tenant(&caller.tenant)).transpose();
        match tenant {
            Ok(Some(tenant)) => match learner {
                Learner::Session(place) => app.relay.learn(&tenant, &place, &said()),
                Learner::Model => Ok(said_window(&said())),
            },
            _ => Ok(None),
        }
    });
    learned.await.ok()?.ok()?
}

/// Notes that a provider's window is what it said, so that the next request finds it.
pub(super) async fn confirm(app: &Arc<App>, caller: &Caller, place: &Place, window: u32) {
    let (app, caller, place) = (Arc::clone(app), caller.clone(), place.clone());
    let confirmed = tokio::task::spawn_blocking(move || {
        let Some(store) = &app.store else { return };
        let tenant = store.tenant(&caller.tenant);
        let confirmed = tenant.and_then(|tenant| app.relay.confirm(&tenant, &place, window, now()));
        // It is learned again then.
        drop(confirmed);
    });
    let _ = confirmed.await;
}

/// Whether a request asks for the provider's list of models, or for the entry of one.
pub(super) fn lists_models(method: &Method, path: &str) -> bool {
    let rest = path.strip_prefix("/v1/models");
    method == Method::GET && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Notes what a provider's list of models states of their windows.
pub(super) fn teach(
    app: &Arc<App>,
    caller: &Caller,
    protocol: Protocol,
    list: impl FnOnce() -> String + Send + 'static,
) {
    let (app, caller) = (Arc::clone(app), caller.clone());
    let format = match protocol {
        Protocol::OpenAi => Format::OpenAiChat,
        Protocol::Anthropic => Format::Anthropic,
        Protocol::Google => Format::Gemini,
    };
    tokio::task::spawn_blocking(move || {
        let Some(store) = &app.store else { return };
        let stated = stated(&list());
        if stated.is_empty() {
            return;
        }
        let tenant = store.tenant(&caller.tenant);
        let taught = tenant.and_then(|tenant| app.relay.teach(&tenant, format, &stated, now()));
        // The next list says it again.
        drop(taught);
    });
}

fn relay(app: &App, caller: &Caller, came: &Came) -> Result<Fitted, Error> {
    let store = app.store.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "there is no store to keep sessions in",
        )
    })?;
    let body = std::str::from_utf8(&came.body)
        .map_err(|error| Error::input(format!("the body is not text: {error}")))?;
    let asked = asked_model(&came.body)?;
    let model = format!("{asked}\0{}", came.variant);
    let tenant = store.tenant(&caller.tenant)?;
    let listed = app.relay.listed(&tenant, came.format, &asked, now())?;
    let (world, window) = match app.world_like(&asked)? {
        // What is known of the model itself is not raised by what others say of it.
        Some((world, Rule::Exact | Rule::Version)) => {
            let window = listed.map(|listed| listed.min(world.model().window));
            (world, window)
        }
        Some((world, _)) => (world, listed),
        None => {
            let learned = app.relay.learned(&tenant, came.format, &model, now())?;
            let window = listed.into_iter().chain(came.said).min();
            if window.or(learned).is_none() {
                let fault = app.world(&asked).err();
                return Ok(Fitted {
                    learner: Some(Learner::Model),
                    ..Fitted::unmanaged(Unmanaged::UnknownModel, fault)
                });
            }
            (app.unknown_world()?, window)
        }
    };
    let mut standing = None;
    let (kept, stands, watched, known, principal);
    let beside = match app.mode {
        Mode::Full => {
            kept = app.workspace.kept_policy(&tenant, POLICY, None)?;
            let policy = match &kept {
                Some(kept) => kept,
                None => app.gateway.besides.policy()?,
            };
            (stands, known) = app.gateway.besides.get(app, &tenant)?;
            standing = Some(Arc::clone(&stands));
            principal = caller.grant.principal();
            watched = stands
                .constraints
                .iter()
                .map(|(at, _)| *at)
                .collect::<Vec<_>>();
            Some(Beside {
                policy,
                gathered: &stands.gathered,
                watched: &watched,
                known,
                principal: &principal,
            })
        }
        _ => None,
    };
    let max_answer = match &beside {
        Some(beside) => beside.policy.document().session.max_answer(),
        None => app.gateway.besides.max_answer(app, &tenant)?,
    };
    let relaying = Relaying {
        format: came.format,
        model: &model,
        body,
        key: &came.key,
        session: came.session.as_deref(),
        now: now(),
        beside,
        window,
        counted: came.counted,
        max_answer,
    };
    let (relayed, unsettled) = app
        .relay
        .relay_ahead(&app.workspace, &tenant, &world, &relaying)?;
    let constraints = standing.iter().flat_map(|standing| &standing.constraints);
    let constraints = constraints.filter(|(at, _)| relayed.stand.contains(at));
    let constraints = constraints.map(|(_, constraint)| Arc::clone(constraint));
    Ok(Fitted {
        constraints: constraints.collect(),
        body: relayed.body.map(Bytes::from),
        learner: relayed.place.clone().map(Learner::Session),
        place: relayed.place,
        saved: relayed.saved,
        added: relayed.added,
        cut: relayed.done.as_ref().is_some_and(|done| done.cut()),
        beside: standing.filter(|_| relayed.done.is_some()),
        done: relayed.done,
        unsettled: Some(unsettled),
        left_out: Arc::new(relayed.left_out),
        unmanaged: relayed.unmanaged,
        conversation: None,
        model: Some(asked),
        notices: relayed.notices,
        calibrated: relayed.calibrated,
        fault: relayed.unmanaged.and_then(Unmanaged::fault),
    })
}

/// Whose conversations are one's own: of the same key, and of the same credentials with the provider.
fn key(caller: &Caller, headers: &HeaderMap, protocol: Protocol) -> String {
    let id = caller.key.as_deref().unwrap_or_default();
    let own = [id.as_bytes(), protocol.term().as_bytes()];
    let parts = own.into_iter().chain(headers::credentials(headers));
    Digest::of_parts(parts).to_string()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use tenure::{CountKind, FrameKey, Tokenizer};
    use tenure_store::Store;
    use tenure_workspace::Workspace;
    use tenure_workspace::keys::Grant;

    use super::*;
    use crate::Options;
    use crate::work::Stopping;

    /// A tokenizer that takes its time until it is let go of, and notes how often it began and was stopped.
    #[derive(Default)]
    struct Slow {
        began: AtomicUsize,
        stopped: AtomicUsize,
        go: AtomicBool,
    }

    impl Tokenizer for &'static Slow {
        fn name(&self) -> &str {
            "slow"
        }

        fn count(&self, text: &str) -> usize {
            self.count_unless(text, &|| false).unwrap_or(0)
        }

        fn count_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
            self.began.fetch_add(1, Ordering::SeqCst);
            while !self.go.load(Ordering::SeqCst) {
                if stopped() {
                    self.stopped.fetch_add(1, Ordering::SeqCst);
                    return None;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Some(text.len() / 4)
        }

        fn kind(&self) -> CountKind {
            CountKind::Exact
        }

        fn is_additive(&self) -> bool {
            true
        }
    }

    async fn until(is_so: impl Fn() -> bool) {
        for _ in 0..2_000 {
            if is_so() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("it never came");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_is_prepared_no_further_once_its_client_has_left() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let app = Arc::new(
            App::new(Options {
                store: Some(store),
                mode: Mode::Fit,
                ..Options::new(workspace)
            })
            .unwrap(),
        );
        let slow: &'static Slow = Box::leak(Box::default());
        let world = app.workspace.world("gpt-4").unwrap();
        let world = world.counted_by(|_| Arc::new(Stopping(Arc::new(slow))));
        let known = app.known_worlds.lock();
        known.unwrap().insert("gpt-4".into(), Arc::new(world));
        let caller = Caller {
            tenant: "local".into(),
            key: None,
            grant: Arc::new(Grant::owner("local".to_owned())),
        };
        let start = |text: &str| {
            let request = axum::http::Request::post("/v1/chat/completions").body(());
            let (parts, ()) = request.unwrap().into_parts();
            let body =
                format!(r#"{{"model":"gpt-4","messages":[{{"role":"user","content":"{text}"}}]}}"#);
            let (app, caller, body) = (Arc::clone(&app), caller.clone(), Bytes::from(body));
            tokio::spawn(
                async move { fit(&app, &caller, &parts, Protocol::OpenAi, &body, None).await },
            )
        };
        // More than have turns at once.
        let asked: Vec<_> = (0..20).map(|at| start(&format!("Hello {at}"))).collect();
        let began = || slow.began.load(Ordering::SeqCst);
        until(|| began() >= 4).await;
        asked.iter().for_each(tokio::task::JoinHandle::abort);
        until(|| slow.stopped.load(Ordering::SeqCst) == began()).await;
        // None of those that waited for a turn begins.
        assert!(began() < 20, "{}", began());
        // An agent that asks again goes on.
        slow.go.store(true, Ordering::SeqCst);
        let fitted = start("Hello 0").await.unwrap();
        assert!(fitted.place.is_some() && fitted.fault.is_none());
    }
}
