//! Requests compiled before they go on. In `fit`, what does not fit the model's window is compiled as a turn of
//! a session, and what fits goes on as it came; in `full`, objects of the tenant's store are added to it.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, header};
use bytes::Bytes;
use tenure::catalogue::Rule;
use tenure::trace::View;
use tenure::wire::Format;
use tenure::{Candidates, Error, ErrorKind, Request, World};
use tenure_store::{Resident, Tenant};
use tenure_workspace::relay::{Position, Relaying, SideInput, Unmanaged};
use tenure_workspace::{Ask, Choice, Job, Reach, Reader, StoreAsk};

use super::fitted::{Fitted, Learner};
use super::receive::{Kind, Received};
use super::side_contexts::POLICY;
use super::unmanaged::conversation;
use super::{Gateway, headers};
use crate::app::App;
use crate::options::Mode;
use crate::work::Unwanted;
use tenure_operations::Caller;

/// A header that a provider's window may depend on, besides the model.
const VARIANT: HeaderName = HeaderName::from_static("anthropic-beta");

/// Makes a request fit, on a thread for what blocks. `window` is what the provider said that its model has, which counts
/// where nothing else is known of the model. In `observe`, nothing is done.
pub(super) async fn fit(
    gateway: &Arc<Gateway>,
    received: &Received,
    window: Option<u32>,
) -> Fitted {
    let app = &gateway.app;
    if app.settings.mode == Mode::Observe {
        return Fitted::default();
    }
    let (format, counted) = match received.kind {
        Kind::Message(format) => (format, false),
        Kind::Count(format) => (format, true),
        Kind::OtherForm => return Fitted::unmanaged(Unmanaged::OtherForm, None),
        Kind::Models | Kind::Other => return Fitted::default(),
    };
    let headers = &received.head.headers;
    let key = headers::conversations_key(&received.caller, headers, received.protocol);
    if is_packed(headers) {
        let fault = Error::input("the body is packed, so it cannot be read")
            .expected("a body without `Content-Encoding`");
        return Fitted {
            conversation: Some(conversation(&key, received.session(), format, &[])),
            ..Fitted::unmanaged(Unmanaged::PackedBody, Some(fault))
        };
    }
    let variant: Vec<u8> = headers
        .get_all(VARIANT)
        .iter()
        .flat_map(|value| value.as_bytes().to_vec())
        .collect();
    let turn = Turn {
        caller: received.caller.clone(),
        format,
        counted,
        body: received.body.clone(),
        key,
        session: received.session().map(str::to_owned),
        variant: String::from_utf8_lossy(&variant).into_owned(),
        window,
    };
    let gateway = Arc::clone(gateway);
    let (give, fitted) = tokio::sync::oneshot::channel();
    let permit = app.turns.take(&received.caller.tenant).await;
    let unwanted = Unwanted::default();
    let _left = unwanted.when_dropped();
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let fitted = unwanted.watched(|| compile(&gateway, &turn));
        let fitted = turn.noted(fitted.unwrap_or_else(Fitted::failed));
        // Where the client has left, its turns are written here.
        if let Err(fitted) = give.send(fitted)
            && fitted.turns.is_some_and(|turns| turns.write().is_err())
        {
            gateway.app.telemetry.metrics.dropped("turns");
        }
    });
    let fitted = fitted.await;
    fitted.unwrap_or_else(|_| Fitted::failed(Error::assertion("a request was not compiled")))
}

/// Returns whether a body is packed.
fn is_packed(headers: &HeaderMap) -> bool {
    let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
    encodings.any(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// A turn of a conversation, as it came.
struct Turn {
    caller: Caller,
    format: Format,
    /// True if it is only counted.
    counted: bool,
    body: Bytes,
    /// The key of its caller's conversations.
    key: String,
    /// The session that it names.
    session: Option<String>,
    variant: String,
    /// The window of its model, as its provider said it of this request.
    window: Option<u32>,
}

impl Turn {
    /// Notes on a request that is not managed which conversation it is of, and which model it asks.
    fn noted(&self, mut fitted: Fitted) -> Fitted {
        if fitted.unmanaged.is_some() {
            let session = self.session.as_deref();
            fitted.conversation = Some(conversation(&self.key, session, self.format, &self.body));
            fitted.model = asked_model(&self.body).ok();
        }
        fitted
    }
}

/// Returns the model that a body names.
fn asked_model(body: &[u8]) -> Result<String, Error> {
    #[derive(serde::Deserialize)]
    struct Asked {
        model: String,
    }
    let asked: Asked = serde_json::from_slice(body)
        .map_err(|error| Error::input(format!("the body names no model: {error}")))?;
    Ok(asked.model)
}

/// Prepares a turn and compiles it as the next of its session.
fn compile(gateway: &Gateway, turn: &Turn) -> Result<Fitted, Error> {
    let app = &*gateway.app;
    let store = app.store.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "there is no store to keep sessions in",
        )
    })?;
    let body = std::str::from_utf8(&turn.body)
        .map_err(|error| Error::input(format!("the body is not text: {error}")))?;
    let asked = asked_model(&turn.body)?;
    let model = format!("{asked}\0{}", turn.variant);
    let tenant = store.tenant(&turn.caller.tenant)?;
    let Some(target) = target(app, &tenant, turn, &asked, &model)? else {
        let fault = app.world(&asked).err();
        return Ok(Fitted {
            learner: Some(Learner::Model),
            ..Fitted::unmanaged(Unmanaged::UnknownModel, fault)
        });
    };
    let side = match app.settings.mode {
        Mode::Full => Some(prepare_side(gateway, &tenant, &turn.caller, &target.world)?),
        _ => None,
    };
    let context = side.as_ref().map(|job| gateway.side_contexts.of(&tenant, job));
    let max_answer = match &side {
        Some(job) => job.policy.document().session.max_answer(),
        None => gateway.side_contexts.max_answer(app, &tenant)?,
    };
    let watched: Vec<usize> = context.iter().flat_map(|context| context.watched()).collect();
    let input = side.as_ref().zip(context.as_ref()).map(|(job, context)| SideInput {
        policy: &job.policy,
        gathered: &context.gathered,
        watched: &watched,
        known: job.request.as_of.known.unwrap_or_else(|| app.now()),
        principal: &job.request.principal,
        identities: &job.request.identities,
    });
    let grant = &turn.caller.grant;
    let relaying = Relaying {
        format: turn.format,
        model: &model,
        body,
        key: &turn.key,
        owner: (grant.user.as_deref(), grant.project.as_deref()),
        session: turn.session.as_deref(),
        now: app.now(),
        side: input,
        window: target.window,
        counted: turn.counted,
        max_answer,
    };
    let (relayed, turns) =
        app.relay.relay_ahead(&app.workspace, &tenant, &target.world, &relaying)?;
    if relayed.reads_originals && !turn.counted {
        note(app, &tenant, relayed.position.as_ref());
    }
    let constraints = context
        .iter()
        .flat_map(|context| &context.constraints)
        .filter(|(at, _)| relayed.stand.contains(at))
        .map(|(_, constraint)| Arc::clone(constraint));
    let sources = context
        .iter()
        .flat_map(|context| &context.sources)
        .filter(|(at, _)| relayed.stand.contains(at))
        .map(|(_, source)| source.clone());
    Ok(Fitted {
        sources: sources.collect(),
        relaxed: relayed.relaxed.clone(),
        constraints: constraints.collect(),
        body: relayed.body.map(Bytes::from),
        learner: relayed.position.clone().map(Learner::Session),
        position: relayed.position,
        saved: relayed.saved,
        added: relayed.added,
        cut: relayed.done.as_ref().is_some_and(|done| done.cut()),
        side_context: context.filter(|_| relayed.done.is_some()),
        done: relayed.done,
        untouched: relayed.untouched,
        turns: Some(turns),
        omitted_tools: Arc::new(relayed.left_out),
        unmanaged: relayed.unmanaged,
        conversation: None,
        model: Some(asked),
        notices: relayed.notices,
        calibrated: relayed.calibrated,
        room: relayed.room,
        fault: relayed.unmanaged.and_then(Unmanaged::fault),
    })
}

/// Notes for the tools of the agent which conversation this is: a call of them comes from one that offers them.
fn note(app: &App, tenant: &Tenant, position: Option<&Position>) {
    let handle = app.settings.conversation.as_ref();
    if let Some((handle, position)) = handle.zip(position)
        && handle.note(tenant.name(), &position.session).is_err()
    {
        app.telemetry.metrics.dropped("conversation");
    }
}

/// A model as far as it is known.
struct Target {
    world: Arc<World>,
    /// Its window, where that is not the catalogue's.
    window: Option<u32>,
}

/// Returns the model that a turn is for; none where nothing is known of it.
fn target(
    app: &App,
    tenant: &Tenant,
    turn: &Turn,
    asked: &str,
    model: &str,
) -> Result<Option<Target>, Error> {
    let listed = app.relay.listed(tenant, turn.format, asked, app.now())?;
    match app.world_like(asked)? {
        // What is known of the model itself is not raised by what others say of it.
        Some((world, Rule::Exact | Rule::Version)) => {
            let window = listed.map(|listed| listed.min(world.model().window));
            Ok(Some(Target { world, window }))
        }
        Some((world, _)) => Ok(Some(Target {
            world,
            window: listed,
        })),
        None => {
            let learned = app.relay.learned(tenant, turn.format, model, app.now())?;
            let window = listed.into_iter().chain(turn.window).min();
            if window.or(learned).is_none() {
                return Ok(None);
            }
            let world = app.unknown_world()?;
            Ok(Some(Target { world, window }))
        }
    }
}

/// Makes ready what stands beside a conversation, in `full`: the policy that its tenant keeps for the gateway, and what the
/// tenant believes now.
fn prepare_side(
    gateway: &Gateway,
    tenant: &Tenant,
    caller: &Caller,
    world: &Arc<World>,
) -> Result<Job, Error> {
    let app = &*gateway.app;
    let ask = Ask {
        request: Request {
            principal: caller.grant.principal(),
            ..Request::default()
        },
        policy: Choice::Kept(POLICY, gateway.side_contexts.default_policy()?),
        sources: Box::new(|| Ok(Candidates::default())),
        store: Some(StoreAsk {
            tenant: tenant.clone(),
            objects: Some(Reach::Resident),
            version: 0,
            registry: None,
            names_registries: false,
            record: false,
        }),
        originals: None,
        view: View::Operator,
    };
    let world = Arc::clone(world);
    app.workspace.prepare(ask, &TurnReader { app, world })
}

/// Reads for a turn: its model is as far as it is known.
struct TurnReader<'a> {
    app: &'a App,
    world: Arc<World>,
}

impl Reader for TurnReader<'_> {
    fn world(&self, _model: &str) -> Result<Arc<World>, Error> {
        Ok(Arc::clone(&self.world))
    }

    fn objects(&self, tenant: &Tenant, reach: Reach) -> Result<Arc<Resident>, Error> {
        self.app.objects(tenant, reach)
    }
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
    use crate::http::Link;
    use crate::protocol::Protocol;
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
        let options = Options {
            store: Some(store),
            mode: Mode::Fit,
            ..Options::new(workspace)
        };
        let app = Arc::new(App::new(options).unwrap());
        let gateway = Arc::new(Gateway::new(Arc::clone(&app), Vec::new()).unwrap());
        let slow: &'static Slow = Box::leak(Box::default());
        let world = app
            .workspace
            .world("gpt-4")
            .unwrap()
            .counted_by(|_| Arc::new(Stopping(Arc::new(slow))));
        app.know_world("gpt-4", Arc::new(world));
        let caller = Caller {
            tenant: "local".into(),
            key: None,
            grant: Arc::new(Grant::owner("local".to_owned())),
        };
        let link = Link::open("http://localhost".parse().unwrap(), Duration::ZERO);
        let link = Arc::new(link.unwrap());
        let start = |text: &str| {
            let request = axum::http::Request::post("/v1/chat/completions").body(());
            let (head, ()) = request.unwrap().into_parts();
            let body =
                format!(r#"{{"model":"gpt-4","messages":[{{"role":"user","content":"{text}"}}]}}"#);
            let received = Received {
                at: app.now(),
                started: std::time::Instant::now(),
                kind: Kind::of(&head.method, head.uri.path()),
                owner: headers::owner(&caller, &head.headers),
                caller: caller.clone(),
                protocol: Protocol::OpenAi,
                link: Arc::clone(&link),
                head,
                body: Bytes::from(body),
            };
            let gateway = Arc::clone(&gateway);
            tokio::spawn(async move { fit(&gateway, &received, None).await })
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
        assert!(fitted.position.is_some() && fitted.fault.is_none());
    }
}
