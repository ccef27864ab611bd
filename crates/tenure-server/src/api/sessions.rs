//! Sessions: conversations of any length, kept message by message.
//!
//! A session is the fold of its log, so its state has a number, which is its `ETag`. A write that names it
//! (`If-Match`) is done on that state or not at all; messages that come under an `Idempotency-Key` are added once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant as Clock;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure::object::{MessageStatus, Role, clip};
use tenure::session::Forecast;
use tenure::trace::View;
use tenure::wire::{self, Format};
use tenure::{Error, ErrorKind, ObjectDocument};
use tenure_store::Tenant;
use tenure_workspace::sessions::{
    Brought, IdempotencyKey, JudgedMessage, Judging, Opened, PASSAGES, Session, SessionSummary,
    Wanted, read_messages,
};
use tenure_workspace::transcripts::MessageForm;
use tenure_workspace::{DEFAULT_MODEL, Reach};

use super::call::{
    Asked, Json, Listing, Named, Said, conditional, expectation, names, page, tag, tenant,
    unless_known, writing,
};
use super::compile::{Call, policy, prepare};
use super::packages::Carried;
use crate::app::App;
use crate::arriving::Traced;
use crate::error::Refusal;
use crate::telemetry::quality::observe;
use tenure_operations::fields::InField;
use tenure_operations::{Caller, limit};

/// The most sessions that are looked through for a page.
const LOOKED_THROUGH: usize = 2_000;
/// How often a write is tried while others write to the session, too.
const TRIES: usize = 8;

/// A page of sessions.
#[derive(Serialize, JsonSchema)]
pub(super) struct Page {
    /// The sessions, in the order of their ids.
    sessions: Vec<Line>,
    /// What to ask for after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A session in a list.
#[derive(Serialize, JsonSchema)]
struct Line {
    id: String,
    /// How many entries its log has.
    entries: u64,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Page>, Refusal> {
    let most = limit(asked.limit)? as usize;
    let found = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let mut found = Session::list(&tenant)?;
        found.sort_by(|one, other| one.id.cmp(&other.id));
        found.retain(|line| asked.after.as_ref().is_none_or(|after| line.id > *after));
        Ok(seen(&tenant, &caller, found, most)?)
    });
    let (found, next) = found.await?;
    let sessions = found
        .into_iter()
        .map(|SessionSummary { id, entries }| Line { id, entries })
        .collect();
    Ok(Said(Page { sessions, next }))
}

/// The first of these sessions that the caller may see, and what to ask for after, where there may be more.
fn seen(
    tenant: &Tenant,
    caller: &Caller,
    listed: Vec<SessionSummary>,
    most: usize,
) -> Result<(Vec<SessionSummary>, Option<String>), Error> {
    if caller.grant.operator {
        return Ok(page(listed.into_iter(), most, |line| line.id.clone()));
    }
    let mut found = Vec::new();
    let count = listed.len();
    for (at, line) in listed.into_iter().enumerate() {
        let id = line.id.clone();
        let opened = Session::opening(tenant, &id)?;
        if opened.is_some_and(|opened| caller.sees_session(&opened)) {
            found.push(line);
        }
        if at + 1 < count && (found.len() >= most || at + 1 >= LOOKED_THROUGH) {
            return Ok((found, Some(id)));
        }
    }
    Ok((found, None))
}

/// A session to begin.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Its id. Default: a random one.
    #[serde(default)]
    id: Option<String>,
    /// Whose it is. Default: the key's user.
    #[serde(default)]
    user: Option<String>,
    /// Which project's. Default: the key's.
    #[serde(default)]
    project: Option<String>,
    /// The messages of a request of a provider, or that request: they are kept to the byte. Or the transcript of an agent or
    /// library, of the forms that `tenure session import` reads.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    messages: Option<Box<RawValue>>,
    /// Whose messages they are. Default: what they seem to be, else the session's, else `openai-chat`.
    #[serde(default)]
    format: Option<Format>,
    /// One message of this text instead.
    #[serde(default)]
    text: Option<String>,
    /// Who says it. Default: the user.
    #[serde(default)]
    role: Option<Role>,
}

/// Messages, or one text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Spoken {
    /// The messages of a request of a provider, or that request: they are kept to the byte. Or the transcript of an agent or
    /// library, of the forms that `tenure session import` reads.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    messages: Option<Box<RawValue>>,
    /// Whose messages they are. Default: what they seem to be, else the session's, else `openai-chat`.
    #[serde(default)]
    format: Option<Format>,
    /// One message of this text instead.
    #[serde(default)]
    text: Option<String>,
    /// Who says it. Default: the user.
    #[serde(default)]
    role: Option<Role>,
}

/// What was added.
#[derive(Serialize, JsonSchema)]
pub(super) struct Added {
    /// The session.
    id: String,
    /// The ids of the messages.
    messages: Vec<String>,
    /// The number of the session's last entry.
    version: u64,
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(new): Json<New>,
) -> Result<Response, Refusal> {
    let said = Spoken {
        messages: new.messages,
        format: new.format,
        text: new.text,
        role: new.role,
    };
    let grant = &caller.grant;
    let user = scope(new.user, grant.user.as_ref(), "user")?;
    let project = scope(new.project, grant.project.as_ref(), "project")?;
    let once = once(&headers, &caller, &said, &[&new.id, &user, &project])?;
    let added = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        if user.is_none() && !caller.grant.operator {
            let what = "a session without a user is for operators alone";
            return Err(Error::input(what).at("user", None).expected("its `user`").into());
        }
        // What cannot be read begins no session.
        let first = if said.is_empty() {
            None
        } else {
            Some(said.read(None, &[])?)
        };
        let format = said.format.or(first.as_ref().map(|first| first.format));
        let id = new.id.as_deref();
        let made =
            Session::create_once(tenant, id, app.now(), (user, project), format, once.clone());
        let mut session = made.in_field("id")?;
        // It may have been there already.
        if !caller.sees_session(session.opened()) {
            return Err(unknown(session.id()));
        }
        let added = match first {
            Some(_) => append_to(&app, &mut session, &said, once.as_ref())?,
            None => Vec::new(),
        };
        Ok(Added::to(&session, &added))
    });
    let added = added.await?;
    let tag = tag(added.version);
    Ok((StatusCode::CREATED, [tag], Said(added)).into_response())
}

/// Whose something becomes: what a key is bound to binds.
fn scope(asked: Option<String>, own: Option<&String>, what: &str) -> Result<Option<String>, Error> {
    match (asked, own) {
        (Some(asked), Some(own)) if asked != *own => Err(Error::new(
            ErrorKind::Policy,
            format!(
                "the session is of the {what} `{}`, which is not granted",
                clip(&asked)
            ),
        )
        .expected(clip(own))),
        (asked, own) => Ok(asked.or_else(|| own.cloned())),
    }
}

impl Added {
    fn to(session: &Session, added: &[u64]) -> Added {
        Added {
            id: session.id().to_owned(),
            messages: added.iter().map(|number| format!("t{number}")).collect(),
            version: session.version(),
        }
    }
}

impl Spoken {
    fn is_empty(&self) -> bool {
        self.messages.is_none() && self.text.is_none()
    }

    /// Reads what follows `earlier` in a session of this format.
    fn read(
        &self,
        own: Option<Format>,
        earlier: &[&ObjectDocument],
    ) -> Result<wire::Conversation, Error> {
        match (&self.messages, &self.text) {
            (Some(_), Some(_)) => Err(Error::input("`messages` and `text` exclude each other")
                .at("messages", None)
                .expected("one of them")),
            (None, None) => Err(Error::input("there is no message")
                .at("messages", None)
                .expected("`messages` or `text`")),
            (None, Some(text)) => {
                let role = self.role.unwrap_or(Role::User);
                let message = json!([{ "role": role, "content": text }]).to_string();
                let read = wire::read_after(Format::OpenAiChat, &message, earlier);
                read.map_err(|error| error.at("text", None))
            }
            (Some(messages), None) => {
                // Bare roles and texts are the same in several formats.
                let said = self.format.map(MessageForm::Provider);
                let own = own.unwrap_or(Format::OpenAiChat);
                let read = read_messages(messages.get(), said, own, earlier);
                read.and_then(Brought::whole).map_err(|error| match &error.at {
                    // It counts the messages, or says where in one. Lines are the body's.
                    Some(at) if at.source.starts_with("messages") => {
                        let place = at.source.clone();
                        error.at(place, None)
                    }
                    _ => error.at("messages", None),
                })
            }
        }
    }
}

/// The write that a request is, where it comes under a key, which is its caller's own.
fn once(
    headers: &HeaderMap,
    caller: &Caller,
    said: &Spoken,
    more: &[&Option<String>],
) -> Result<Option<IdempotencyKey>, Refusal> {
    let Some(key) = writing(headers, caller)?.idempotency_key else {
        return Ok(None);
    };
    let messages = said.messages.as_ref().map(|messages| messages.get());
    let asked = json!([messages, said.format, said.text, said.role, more]);
    let by = caller.key.as_deref();
    Ok(Some(IdempotencyKey::new(
        &key,
        by,
        asked.to_string().as_bytes(),
    )?))
}

/// Adds what was said, once; whoever writes to the session meanwhile comes first.
fn append_to(
    app: &App,
    session: &mut Session,
    said: &Spoken,
    once: Option<&IdempotencyKey>,
) -> Result<Vec<u64>, Error> {
    let mut tries = 1;
    loop {
        if let Some(once) = once
            && let Some(done) = session.appended(once)?
        {
            return Ok(done);
        }
        let recent: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
        let conversation =
            said.read(session.opened().format, &recent.iter().collect::<Vec<_>>())?;
        let appended = match once {
            Some(once) => session.append_once(once.clone(), conversation, app.now()),
            None => session.append(conversation, app.now()),
        };
        match appended {
            Err(error) if error.kind == ErrorKind::Conflict && tries < TRIES => {
                tries += 1;
                session.refresh()?;
            }
            appended => return appended,
        }
    }
}

/// A session that the caller may see, if there is one of this id. Whose it is is looked at before anything else of it, so
/// that one that is hidden takes as long as one that is not there.
pub(crate) fn find(tenant: &Tenant, caller: &Caller, id: &str) -> Result<Option<Session>, Error> {
    match Session::opening(tenant, id)? {
        Some(opened) if caller.sees_session(&opened) => Session::find(tenant.clone(), id),
        _ => Ok(None),
    }
}

fn unknown(id: &str) -> Refusal {
    Error::not_found(format!("there is no session `{}`", clip(id))).into()
}

/// A session of the caller's, which they find as they expect it.
pub(crate) fn open(
    app: &App,
    caller: &Caller,
    id: &str,
    expected: Option<u64>,
) -> Result<Session, Refusal> {
    let found = find(&tenant(app, caller)?, caller, id)?;
    let session = found.ok_or_else(|| unknown(id))?;
    let version = session.version();
    if expected.is_some_and(|expected| expected != version) {
        let what = format!("another writer wrote to the session `{}`", clip(id));
        return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, what)
            .expected(format!("the ETag \"{version}\"")));
    }
    Ok(session)
}

pub(super) async fn append(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    headers: HeaderMap,
    Json(said): Json<Spoken>,
) -> Result<Response, Refusal> {
    let expected = expectation(&headers)?;
    let once = once(&headers, &caller, &said, &[])?;
    let added = crate::blocking(move || {
        // What was done under the key was done on the state that was named then.
        let mut session = open(&app, &caller, &id, None)?;
        if let Some(once) = &once
            && let Some(done) = session.appended(once)?
        {
            return Ok(Added::to(&session, &done));
        }
        if expected.is_none() {
            let added = append_to(&app, &mut session, &said, once.as_ref())?;
            return Ok(Added::to(&session, &added));
        }
        let mut session = open(&app, &caller, &id, expected)?;
        let recent: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
        let conversation =
            said.read(session.opened().format, &recent.iter().collect::<Vec<_>>())?;
        let appended = match once {
            Some(once) => session.append_once(once, conversation, app.now()),
            None => session.append(conversation, app.now()),
        };
        let added = appended.map_err(|error| conditional(expected, error))?;
        Ok(Added::to(&session, &added))
    });
    let added = added.await?;
    Ok(([tag(added.version)], Said(added)).into_response())
}

/// A page of a session.
#[derive(Serialize)]
struct Shown {
    session: Opened,
    version: u64,
    messages: Vec<Value>,
    checkpoints: Vec<Value>,
    /// The messages that are quarantined or retracted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judged: Vec<JudgedMessage>,
    /// When its window is full, as of its last request.
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Forecast>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    Asked(asked): Asked<Listing>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let most = limit(asked.limit)? as usize;
    let after = match &asked.after {
        None => 0,
        Some(after) => message_number(after).in_field("after")?,
    };
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    let found = crate::blocking(move || {
        let session = open(&app, &caller, &id, None)?;
        let version = session.version();
        let (_, text) = tag(version);
        if known.is_some_and(|known| names(&known, &text)) {
            return Ok((version, None));
        }
        let page = page_of(&session, after, most)?;
        Ok((version, Some(page)))
    });
    let (version, page) = found.await?;
    Ok(unless_known(version, page))
}

/// A page of a session: the messages behind one, at most so many.
pub(crate) fn page_of(session: &Session, after: u64, most: usize) -> Result<Value, Error> {
    let (messages, more) = session.messages_after(after, most)?;
    let next = messages.last().filter(|_| more).map(|(number, _)| format!("t{number}"));
    let page = Shown {
        session: session.opened().clone(),
        version: session.version(),
        messages: messages
            .iter()
            .map(|(number, message)| json!({ "id": format!("t{number}"), "message": message }))
            .collect(),
        checkpoints: session.checkpoints().iter().map(|(number, checkpoint)| json!({ "id": format!("c{number}"), "checkpoint": checkpoint })).collect(),
        judged: session.judged()?,
        forecast: session.forecast(),
        next,
    };
    serde_json::to_value(page).map_err(Error::assertion)
}

fn message_number(id: &str) -> Result<u64, Error> {
    let digits = id.strip_prefix('t').unwrap_or_default();
    digits
        .parse()
        .map_err(|_| Error::input(format!("`{}` is no id of a message", clip(id))).expected("t17"))
}

/// A request of a session that is to be compiled.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// The request. Its task is what the user said last, its target what takes the session's own format,
    /// unless it says otherwise.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    request: Option<Value>,
    /// As for a compile.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    policy: Option<Value>,
    /// Objects that stand beside the session, before those of the store.
    #[serde(default)]
    objects: Vec<ObjectDocument>,
    /// Packages whose items stand behind these objects, as for a compile.
    #[serde(default)]
    packages: Vec<Carried>,
    /// As for a compile.
    #[serde(default)]
    registry: Option<String>,
    /// Whether the objects of the tenant's store are candidates. Default: they are.
    #[serde(default)]
    store: Option<bool>,
    /// The version of the tenant that must have been read, as a write gives it.
    #[serde(default)]
    version: Option<u64>,
    /// Whether a record is kept, from which the compile can be made again.
    #[serde(default)]
    record: bool,
    /// Whose trace is given back. Default: the operator's for an operator's key, else the caller's.
    #[serde(default)]
    view: Option<View>,
}

pub(super) async fn compile(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(Traced(context)): Extension<Traced>,
    Named(id): Named,
    headers: HeaderMap,
    Json(turn): Json<Turn>,
) -> Result<Response, Refusal> {
    let expected = expectation(&headers)?;
    let done = crate::blocking(move || {
        let mut session = open(&app, &caller, &id, expected)?;
        let (call, names_principal) = call(&session, turn)?;
        let mut job = prepare(&app, &caller, call, Reach::Resident)?;
        if !names_principal {
            let principal = &mut job.request.principal;
            let opened = session.opened();
            principal.user = principal.user.take().or_else(|| opened.user.clone());
            principal.project = principal.project.take().or_else(|| opened.project.clone());
        }
        let started = Clock::now();
        let done = app
            .workspace
            .run_session(&mut session, &mut job)
            .in_field("request")
            .map_err(|error| conditional(expected, error))?;
        // The session holds already that this was sent: what misses a threshold is told, not refused.
        let took = started.elapsed();
        let _ = observe(
            &app.telemetry,
            context.as_ref(),
            &done.outcome,
            job.candidates(),
            took,
        );
        Ok((session.version(), done))
    });
    let (version, done) = done.await?;
    Ok(([tag(version)], Said(done)).into_response())
}

/// The compile that a turn asks for, and whether it says on whose behalf.
fn call(session: &Session, turn: Turn) -> Result<(Call, bool), Error> {
    let mut request = turn.request.unwrap_or_else(|| json!({}));
    let Some(fields) = request.as_object_mut() else {
        return Err(Error::input("the request is no JSON object").at("request", None));
    };
    if !fields.contains_key("task") {
        let said = session.last_request().ok_or_else(|| {
            Error::input("the session has no request of the user, and `task` says none")
                .at("request.task", None)
                .hint("append a message, or give the request a task")
        })?;
        fields.insert("task".into(), json!({ "objective": said }));
    }
    if !fields.contains_key("target") {
        fields.insert("target".into(), json!(session.target()));
    }
    let names_principal = fields.contains_key("principal");
    let call = Call {
        request,
        policy: turn.policy,
        objects: turn.objects,
        packages: turn.packages,
        registry: turn.registry,
        store: turn.store,
        version: turn.version,
        record: turn.record,
        view: turn.view,
        quality: false,
    };
    Ok((call, names_principal))
}

/// What is to be given back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Back {
    /// A message (`t17`), several (`t17-t20`) or what a summary stands for (`c40`).
    #[serde(default)]
    id: Option<String>,
    /// A question instead: the passages that say something about it are given.
    #[serde(default)]
    query: Option<String>,
    /// For a query: the most tokens of what is given. Default: 1500.
    #[serde(default)]
    tokens: Option<u32>,
    /// Whether what is found stands in the tail of the next requests, until the epoch ends.
    #[serde(default)]
    carry: bool,
    /// By whose vocabulary tokens are counted.
    #[serde(default)]
    model: Option<String>,
}

pub(super) async fn rehydrate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    Json(back): Json<Back>,
) -> Result<Response, Refusal> {
    let found = crate::blocking(move || {
        let mut session = open(&app, &caller, &id, None)?;
        let field = if back.id.is_some() { "id" } else { "query" };
        let wanted = match (back.id, back.query) {
            (Some(id), None) => Wanted::Id(id),
            (None, Some(text)) => Wanted::Query {
                text,
                tokens: back.tokens.unwrap_or(PASSAGES),
            },
            _ => {
                return Err(
                    Error::input("`id` and `query` exclude each other, and one is needed")
                        .at("id", None)
                        .expected("`id` or `query`")
                        .into(),
                );
            }
        };
        let world = app.world(back.model.as_deref().unwrap_or(DEFAULT_MODEL)).in_field("model")?;
        let found = session.rehydrate(&wanted, world.tokenizer()).in_field(field)?;
        if back.carry {
            session.carry_over(&found)?;
        }
        Ok((session.version(), found))
    });
    let (version, found) = found.await?;
    Ok(([tag(version)], Said(found)).into_response())
}

/// What is to be summarised.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Summary {
    /// The most tokens of messages that stay as they were said; the newest always do. Default: 0.
    #[serde(default)]
    keep: u64,
    /// What the summaries are for.
    #[serde(default)]
    task: String,
    /// As for a compile: it says how long summaries are.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    policy: Option<Value>,
    /// By whose vocabulary tokens are counted.
    #[serde(default)]
    model: Option<String>,
}

pub(super) async fn checkpoint(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    headers: HeaderMap,
    Json(asked): Json<Summary>,
) -> Result<Response, Refusal> {
    let expected = expectation(&headers)?;
    let done = crate::blocking(move || {
        let mut session = open(&app, &caller, &id, expected)?;
        let world = app.world(asked.model.as_deref().unwrap_or(DEFAULT_MODEL)).in_field("model")?;
        let tenant = tenant(&app, &caller)?;
        let choice = policy(&caller, asked.policy.as_ref())?;
        let policy = app.workspace.chosen_policy(choice, Some(&tenant), None).in_field("policy")?;
        let made = match session.checkpoint(&world, &policy, &asked.task, asked.keep) {
            Ok(made) => made,
            Err(error) => return Err(conditional(expected, error)),
        };
        let stands: Vec<Value> = session
            .checkpoints()
            .iter()
            .map(|(number, found)| json!({ "id": format!("c{number}"), "checkpoint": found }))
            .collect();
        let made: Vec<String> = made.iter().map(|number| format!("c{number}")).collect();
        let said = json!({ "id": session.id(), "made": made, "checkpoints": stands });
        Ok((session.version(), said))
    });
    let (version, said) = done.await?;
    Ok(([tag(version)], Said(said)).into_response())
}

/// A message that is pinned, or let go.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// The message: `t17`.
    message: String,
}

pub(super) async fn pin(
    app: State<Arc<App>>,
    caller: Extension<Caller>,
    id: Named,
    headers: HeaderMap,
    pin: Json<Pin>,
) -> Result<Response, Refusal> {
    pinned(app, caller, id, headers, pin, Session::pin).await
}

pub(super) async fn unpin(
    app: State<Arc<App>>,
    caller: Extension<Caller>,
    id: Named,
    headers: HeaderMap,
    pin: Json<Pin>,
) -> Result<Response, Refusal> {
    pinned(app, caller, id, headers, pin, Session::unpin).await
}

async fn pinned(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    headers: HeaderMap,
    Json(pin): Json<Pin>,
    apply: fn(&mut Session, u64) -> Result<(), Error>,
) -> Result<Response, Refusal> {
    let turn = message_number(&pin.message).in_field("message")?;
    write(app, caller, id, &headers, move |session| {
        apply(session, turn).in_field("message")?;
        let pinned = session.pinned().iter().map(|turn| format!("t{turn}"));
        as_json(&Pinned {
            id: session.id().to_owned(),
            pinned: pinned.collect(),
        })
    })
    .await
}

/// The messages that are pinned now.
#[derive(Serialize, JsonSchema)]
pub(super) struct Pinned {
    /// The session.
    id: String,
    /// The messages: `t17`.
    pinned: Vec<String>,
}

/// A judgement on messages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageJudgement {
    /// A message (`t17`), several (`t17-t20`) or what a summary stands for (`c40`). A call and its results are judged
    /// together.
    messages: String,
    /// The judgement. `clean` takes an earlier one back.
    status: MessageStatus,
    /// The reason, in words.
    #[serde(default)]
    reason: Option<String>,
}

/// The effect of a judgement.
#[derive(Serialize, JsonSchema)]
pub(super) struct JudgedMessages {
    /// The session.
    id: String,
    /// The judgement.
    status: MessageStatus,
    /// The messages that it changed: `t17`.
    messages: Vec<String>,
    /// Those of them that were not named: calls and results.
    also: Vec<String>,
    /// The objects of the store that were found in them, and what fell with those.
    objects: Vec<tenure_store::WrittenObject>,
}

pub(super) async fn judge(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    headers: HeaderMap,
    Json(judgement): Json<MessageJudgement>,
) -> Result<Response, Refusal> {
    let author = writing(&headers, &caller)?.author;
    let judging = Judging {
        status: judgement.status,
        by: caller.grant.user.clone().or(author),
        role: Some("operator".to_owned()),
        reason: judgement.reason,
    };
    let now = app.now();
    write(app, caller, id, &headers, move |session| {
        let judged = session.judge(&judgement.messages, &judging, now).in_field("messages")?;
        as_json(&JudgedMessages {
            id: judged.session,
            status: judged.status,
            messages: judged.messages,
            also: judged.also,
            objects: judged.objects,
        })
    })
    .await
}

/// What was learned of a model's window.
#[derive(Serialize, JsonSchema)]
pub(super) struct Learned {
    /// The session.
    id: String,
    /// The tokens of the window; none where the error does not say.
    window: Option<u32>,
}

fn as_json(said: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(said).map_err(Error::assertion)
}

/// What a provider said.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Lesson {
    /// The provider's error, as it came.
    error: String,
}

pub(super) async fn learn(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    headers: HeaderMap,
    Json(lesson): Json<Lesson>,
) -> Result<Response, Refusal> {
    write(app, caller, id, &headers, move |session| {
        let window = session.learn(&lesson.error)?;
        as_json(&Learned {
            id: session.id().to_owned(),
            window,
        })
    })
    .await
}

/// Writes to a session, in the state that the request expects or, where it expects none, whatever others write.
async fn write(
    app: Arc<App>,
    caller: Caller,
    id: String,
    headers: &HeaderMap,
    apply: impl Fn(&mut Session) -> Result<Value, Error> + Send + 'static,
) -> Result<Response, Refusal> {
    let expected = expectation(headers)?;
    let done = crate::blocking(move || {
        let mut session = open(&app, &caller, &id, expected)?;
        let mut tries = 1;
        loop {
            match apply(&mut session) {
                Ok(said) => return Ok((session.version(), said)),
                Err(error)
                    if error.kind == ErrorKind::Conflict && expected.is_none() && tries < TRIES =>
                {
                    tries += 1;
                    session.refresh()?;
                }
                Err(error) => return Err(conditional(expected, error)),
            }
        }
    });
    let (version, said) = done.await?;
    Ok(([tag(version)], Said(said)).into_response())
}

/// In whose form a session is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exported {
    format: Option<Format>,
}

pub(super) async fn export(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
    Asked(asked): Asked<Exported>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    let found = crate::blocking(move || {
        let session = open(&app, &caller, &id, None)?;
        let version = session.version();
        if known.is_some_and(|known| names(&known, &tag(version).1)) {
            return Ok((version, None));
        }
        let format = asked.format.or(session.opened().format).unwrap_or(Format::OpenAiChat);
        let written = session.export_request(format)?;
        let raw = |json: String| {
            RawValue::from_string(json)
                .map_err(|error| Error::assertion(format!("what is written is JSON: {error}")))
        };
        let messages = raw(written.messages)?;
        let fields = written
            .fields
            .into_iter()
            .map(|(name, json)| Ok((name, raw(json)?)))
            .collect::<Result<_, Error>>()?;
        let left_out = written.left_out;
        let said = Transcript {
            format,
            fields,
            messages,
            left_out,
        };
        Ok((version, Some(said)))
    });
    let (version, said) = found.await?;
    Ok(unless_known(version, said))
}

/// A session as a provider takes it.
#[derive(Serialize)]
struct Transcript {
    format: Format,
    /// What stands before the messages: the system's text where it has a field of its own, and the tools.
    fields: BTreeMap<&'static str, Box<RawValue>>,
    /// Byte for byte, where they came in this format.
    messages: Box<RawValue>,
    /// What the format has no place for.
    left_out: Vec<tenure::wire::OmittedPart>,
}
