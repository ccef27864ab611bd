//! Requests compiled before they go on. In `fit`, what does not fit the model's window is compiled as a turn of
//! a session, and what fits goes on as it came; in `full`, what the tenant's store holds stands beside it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use bytes::Bytes;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, Digest, Error, ErrorKind, Policy};
use tenure_store::{Resident, Tenant};
use tenure_workspace::Gathered;
use tenure_workspace::relay::{Beside, Place, Relayed, Relaying};

use super::{Protocol, session};
use crate::app::{App, Caller, Mode, now};

/// The policy of `full` where the tenant keeps none of this name: what stands beside a conversation is little
/// beside it, and the conversation's own instructions are its identity.
const FULL: &str = "name = \"gateway\"\nextends = \"standard\"\nrequired = []\n\
[sections.codex]\nmax = 4096\n[sections.karma]\nmax = 1024\n[sections.memory]\nmax = 2048\n\
[sections.evidence]\nmax = 4096\n[sections.recall]\nmax = 1024\n";
/// What a tenant's own policy for the gateway is called.
const POLICY: &str = "gateway";
/// The most tenants of whom what stands beside is held.
const MAX_TENANTS: usize = 256;

/// What becomes of a request.
#[derive(Default)]
pub(super) struct Fitted {
    /// What is sent instead.
    pub(super) body: Option<Bytes>,
    pub(super) place: Option<Place>,
    pub(super) saved: u64,
    /// Why nothing was done where something would have been.
    pub(super) fault: Option<Error>,
}

/// What stands beside the conversations of a tenant, for as long as its store does not change.
#[derive(Default)]
pub(super) struct Besides {
    of: Mutex<BTreeMap<String, Stands>>,
    /// The policy of tenants that keep none.
    policy: OnceLock<Policy>,
}

/// What is resident, and what of it stands beside.
type Stands = (Arc<Resident>, Arc<Gathered>);

impl Besides {
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
    fn get(&self, app: &App, tenant: &Tenant) -> Result<(Arc<Gathered>, Instant), Error> {
        let resident = app.resident(tenant)?;
        // The clock of the store may be ahead of this machine's.
        let until = resident.latest().map_or(now(), |latest| latest.max(now()));
        let known = || self.of.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, gathered)) = known().get(tenant.name())
            && Arc::ptr_eq(of, &resident)
        {
            return Ok((Arc::clone(gathered), until));
        }
        let objects = resident.candidates().objects();
        let is_tool = |object: &Arc<tenure::ContextObject>| object.revision().tool().is_some();
        let gathered = if objects.iter().any(is_tool) {
            let others = objects.iter().filter(|object| !is_tool(object)).cloned();
            Gathered::of_sources(Candidates::new(others.collect()))
        } else {
            Gathered::over(Candidates::default(), tenant, &resident, None)
        };
        let gathered = Arc::new(gathered);
        let mut known = known();
        if known.len() >= MAX_TENANTS && !known.contains_key(tenant.name()) {
            known.pop_first();
        }
        known.insert(tenant.name().to_owned(), (resident, Arc::clone(&gathered)));
        Ok((gathered, until))
    }
}

/// The format of requests to this path; none where they hold no conversation.
pub(super) fn format(method: &Method, path: &str) -> Option<Format> {
    match path {
        _ if method != Method::POST => None,
        "/v1/chat/completions" => Some(Format::OpenAiChat),
        "/v1/responses" => Some(Format::OpenAiResponses),
        "/v1/messages" => Some(Format::Anthropic),
        _ => None,
    }
}

/// Makes a request fit.
pub(super) async fn fit(
    app: &Arc<App>,
    caller: &Caller,
    parts: &Parts,
    protocol: Protocol,
    body: &Bytes,
) -> Fitted {
    let packed = parts.headers.contains_key(header::CONTENT_ENCODING);
    let Some(format) = format(&parts.method, parts.uri.path()).filter(|_| !packed) else {
        return Fitted::default();
    };
    let job = (Arc::clone(app), caller.clone(), body.clone());
    let key = key(caller, &parts.headers, protocol);
    let named = session(&parts.headers);
    let done = tokio::task::spawn_blocking(move || {
        let (app, caller, body) = job;
        relay(&app, &caller, format, &body, &key, named.as_deref())
    });
    let relayed = match done.await {
        Ok(relayed) => relayed,
        Err(error) => Err(Error::assertion(format!(
            "a request was not compiled: {error}"
        ))),
    };
    match relayed {
        Ok(Relayed { body, place, saved }) => Fitted {
            body: body.map(Bytes::from),
            place,
            saved,
            fault: None,
        },
        Err(error) => Fitted {
            fault: Some(error),
            ..Fitted::default()
        },
    }
}

/// Notes that a provider found a request too long; gives whether a smaller one may help. What it said is read
/// where reading may take its time.
pub(super) async fn learn(
    app: &Arc<App>,
    caller: &Caller,
    place: &Place,
    said: impl FnOnce() -> String + Send + 'static,
) -> bool {
    let (app, caller, place) = (Arc::clone(app), caller.clone(), place.clone());
    let learned = tokio::task::spawn_blocking(move || {
        let store = app.store.as_ref();
        let tenant = store.map(|store| store.tenant(&caller.tenant)).transpose();
        match tenant {
            Ok(Some(tenant)) => app.relay.learn(&tenant, &place, &said()),
            _ => Ok(false),
        }
    });
    matches!(learned.await, Ok(Ok(true)))
}

fn relay(
    app: &App,
    caller: &Caller,
    format: Format,
    body: &[u8],
    key: &str,
    session: Option<&str>,
) -> Result<Relayed, Error> {
    let store = app.store.as_ref().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "there is no store to keep sessions in",
        )
    })?;
    let body = std::str::from_utf8(body)
        .map_err(|error| Error::input(format!("the body is not text: {error}")))?;
    #[derive(serde::Deserialize)]
    struct Asked {
        model: String,
    }
    let asked: Asked = serde_json::from_str(body)
        .map_err(|error| Error::input(format!("the body names no model: {error}")))?;
    let world = app.world_like(&asked.model)?;
    let tenant = store.tenant(&caller.tenant)?;
    let (kept, gathered, known, principal);
    let beside = match app.mode {
        Mode::Full => {
            kept = app.workspace.kept_policy(&tenant, POLICY, None)?;
            let policy = match &kept {
                Some(kept) => kept,
                None => app.gateway.besides.policy()?,
            };
            (gathered, known) = app.gateway.besides.get(app, &tenant)?;
            principal = caller.grant.principal();
            Some(Beside {
                policy,
                gathered: &gathered,
                known,
                principal: &principal,
            })
        }
        _ => None,
    };
    let relaying = Relaying {
        format,
        body,
        key,
        session,
        now: now(),
        beside,
    };
    app.relay.relay(&app.workspace, &tenant, &world, &relaying)
}

/// Whose conversations are one's own: of the same key, and of the same credentials with the provider.
fn key(caller: &Caller, headers: &HeaderMap, protocol: Protocol) -> String {
    let names = ["authorization", "x-api-key"];
    let shown = names.map(|name| headers.get(name).map_or(&[][..], |value| value.as_bytes()));
    let id = caller.key.as_deref().unwrap_or_default();
    let parts = [
        id.as_bytes(),
        protocol.term().as_bytes(),
        shown[0],
        shown[1],
    ];
    Digest::of_parts(parts).to_string()
}
