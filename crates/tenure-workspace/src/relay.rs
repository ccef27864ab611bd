//! The verb **relay**: a request on its way from an agent to its provider, made to fit.
//!
//! Agents send their whole history each time. A request is found to go on with a session by the longest
//! chain of its messages that is known under the same key; what is new is added to the session. A request
//! that fits goes on as it came. Once one does not, the session's compile takes the place of its messages,
//! and every other byte stays.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure::error::ErrorKind;
use tenure::time::Instant;
use tenure::wire::{self, Conversation, Format};
use tenure::{
    Budget, Candidates, Digest, Error, Policy, Principal, Request, Target, TaskState, World,
};
use tenure_store::Tenant;

use crate::sessions::{Session, SessionJob};
use crate::stored::Gathered;
use crate::workspace::Workspace;

/// How many sessions are held in memory.
const HELD: usize = 256;
/// How many chains of messages are remembered; others are looked up in the store.
const CHAINS: usize = 65_536;
/// How far back a request may go on from: it ends with what the agent added since the last one.
const BACK: usize = 256;
/// What is kept beside the counted tokens for what a provider adds.
const MARGIN: u32 = 64;
/// The longest text that ranks, in bytes.
const MAX_ASKED: usize = 16 << 10;

/// The policy under which histories are cut: nothing is said that the agent did not say.
const POLICY: &str = "name = \"relay\"\nprecedence = false\nheadings = false\nrequired = []\n[session]\nhandoff = 1.0\n";

/// Fields by which a provider keeps or shortens the history itself: it must not be done twice.
const PROVIDERS_OWN: [&str; 4] = [
    "previous_response_id",
    "conversation",
    "context_management",
    "truncation",
];

/// A request to relay.
#[derive(Clone, Copy, Debug)]
pub struct Relaying<'r> {
    /// Whose form it has.
    pub format: Format,
    /// Its body.
    pub body: &'r str,
    /// Under which key it came; sessions of different keys never meet.
    pub key: &'r str,
    /// The session that the agent names, if it does.
    pub session: Option<&'r str>,
    /// When.
    pub now: Instant,
}

/// What becomes of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relayed {
    /// The body to send; none where it goes on as it came.
    pub body: Option<String>,
    /// The session that it belongs to; none where the provider keeps the history.
    pub session: Option<String>,
    /// The tokens that it has less than before, about.
    pub saved: u64,
}

/// Sessions of agents that know nothing of sessions. One for each process; what it forgets is in the store.
#[derive(Debug, Default)]
pub struct Relay {
    sessions: Mutex<Recent<Arc<Mutex<Session>>>>,
    chains: Mutex<Recent<Chain>>,
}

/// Where a chain of messages leads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Chain {
    session: String,
    /// How many messages it has.
    messages: u64,
}

/// The newest of some things, by their keys.
#[derive(Debug)]
struct Recent<T> {
    held: BTreeMap<String, T>,
    order: VecDeque<String>,
}

impl<T> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent {
            held: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T> Recent<T> {
    fn put(&mut self, key: String, value: T, most: usize) {
        if self.held.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > most {
            if let Some(oldest) = self.order.pop_front() {
                self.held.remove(&oldest);
            }
        }
    }
}

impl Relay {
    /// Relays a request for a model of this world.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the body cannot be read or made legal; [`ErrorKind::Budget`] when even the
    /// newest messages do not fit; [`ErrorKind::Unavailable`] when the store cannot be reached. The
    /// request can still go on as it came.
    pub fn relay(
        &self,
        workspace: &Workspace,
        tenant: &Tenant,
        world: &World,
        asked: &Relaying<'_>,
    ) -> Result<Relayed, Error> {
        let conversation = wire::read(asked.format, asked.body)?;
        let is_own = |(key, json): &(String, String)| {
            PROVIDERS_OWN.contains(&key.as_str())
                && !matches!(json.as_str(), "null" | "\"disabled\"")
        };
        if conversation.rest.iter().any(is_own) {
            return Ok(Relayed {
                body: None,
                session: None,
                saved: 0,
            });
        }
        let session = self.session(tenant, asked, &conversation)?;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let around = around(&conversation, world);
        let answer = answer(&conversation).unwrap_or(world.model().reserve);
        let room = world.model().window.saturating_sub(answer);
        let whole = session.cost(world) + u64::from(around);
        let id = session.id().to_owned();
        if !session.is_cut() && whole <= u64::from(room) && session.learned().is_none() {
            return Ok(Relayed {
                body: None,
                session: Some(id),
                saved: 0,
            });
        }
        let before = world.price(asked.body);
        let mut task = session.last_request().unwrap_or_default();
        if task.len() > MAX_ASKED {
            let mut end = MAX_ASKED;
            while !task.is_char_boundary(end) {
                end -= 1;
            }
            task.truncate(end);
        }
        if task.trim().is_empty() {
            task = "Continue.".to_owned();
        }
        let request = Request {
            task: TaskState::new(task),
            task_said: true,
            principal: Principal {
                tenant: tenant.name().to_owned(),
                ..Principal::owner()
            },
            budget: Budget {
                tokens: Some(room.saturating_sub(around).max(1)),
                window: Some(world.model().window),
                reserve: Some(answer),
            },
            target: target(asked.format),
            ..Request::default()
        };
        let compiled = workspace.compile_session(
            &mut session,
            &SessionJob {
                world,
                policy: &Policy::from_toml(POLICY)?,
                request: &request,
                beside: &Gathered::of_sources(Candidates::default()),
                instructions: false,
                now: asked.now,
            },
        )?;
        let envelope = &compiled.outcome.single()?.envelope;
        let payload = envelope.payload.as_ref();
        let payload = payload.and_then(|payload| std::str::from_utf8(payload.bytes()).ok());
        let messages: Messages<'_> = payload
            .and_then(|payload| serde_json::from_str(payload).ok())
            .ok_or_else(|| Error::assertion("a compiled body has messages"))?;
        let messages = with_instructions(asked, &conversation, messages.messages.get())?;
        let body = wire::with_fields(asked.body, &[(field(asked.format), &messages)])?;
        let saved = u64::from(before.saturating_sub(world.price(&body)));
        Ok(Relayed {
            body: Some(body),
            session: Some(id),
            saved,
        })
    }

    /// Notes a provider's error: where it says how long a request may be, the session keeps to it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn learn(&self, tenant: &Tenant, session: &str, error: &str) -> Result<bool, Error> {
        if tenure::session::learned_window(error).is_none() {
            return Ok(false);
        }
        let session = self.held(tenant, session)?;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.refresh()?;
        Ok(session.learn(error)?.is_some())
    }

    /// The session that a request goes on with, with what is new in it.
    fn session(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        conversation: &Conversation,
    ) -> Result<Arc<Mutex<Session>>, Error> {
        let chains = chains(asked, conversation);
        let count = conversation.entries.len();
        for length in (1..=count).rev().take(BACK) {
            let Some(chain) = self.chain(tenant, &chains[length])? else {
                continue;
            };
            let found = self.held(tenant, &chain.session).and_then(|session| {
                let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
                open.refresh()?;
                drop(open);
                Ok(session)
            });
            let session = match found {
                // It was erased: what is sent now begins another.
                Err(error) if error.kind == ErrorKind::Input => break,
                found => found?,
            };
            let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
            // An agent may go on from an earlier place: then the session has gone another way.
            if open.len() != chain.messages {
                break;
            }
            if length < count {
                let new = Conversation {
                    entries: conversation.entries[length..].to_vec(),
                    ..conversation.clone()
                };
                open.append(new, asked.now)?;
                self.note(tenant, &chains[count], open.id(), open.len())?;
            }
            drop(open);
            return Ok(session);
        }
        let scope = (None, None);
        let mut session =
            Session::create(tenant.clone(), None, asked.now, scope, Some(asked.format))?;
        session.append(conversation.clone(), asked.now)?;
        self.note(tenant, &chains[count], session.id(), session.len())?;
        let id = session.id().to_owned();
        let session = Arc::new(Mutex::new(session));
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.put(held_as(tenant, &id), Arc::clone(&session), HELD);
        Ok(session)
    }

    fn held(&self, tenant: &Tenant, id: &str) -> Result<Arc<Mutex<Session>>, Error> {
        let key = held_as(tenant, id);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.held.get(&key) {
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(Mutex::new(Session::open(tenant.clone(), id)?));
        sessions.put(key, Arc::clone(&session), HELD);
        Ok(session)
    }

    /// Where a chain leads, as it is remembered or as the store says.
    fn chain(&self, tenant: &Tenant, digest: &Digest) -> Result<Option<Chain>, Error> {
        let log = log_of(digest);
        let key = held_as(tenant, &log);
        let known = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = known.held.get(&key) {
            return Ok(Some(chain.clone()));
        }
        drop(known);
        let stored = tenant.entries_in(&log, 1..2)?;
        let chain = stored
            .first()
            .and_then(|(_, body)| serde_json::from_str(body).ok());
        Ok(chain)
    }

    fn note(
        &self,
        tenant: &Tenant,
        digest: &Digest,
        session: &str,
        messages: u64,
    ) -> Result<(), Error> {
        let chain = Chain {
            session: session.to_owned(),
            messages,
        };
        let log = log_of(digest);
        let body = serde_json::to_string(&chain)
            .map_err(|error| Error::assertion(format!("a chain is plain data: {error}")))?;
        match tenant.append(&log, 0, vec![body]) {
            // Somebody else sent the same: theirs stands.
            Err(error) if error.kind == ErrorKind::Conflict => return Ok(()),
            appended => appended?,
        };
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.put(held_as(tenant, &log), chain, CHAINS);
        Ok(())
    }
}

#[derive(Deserialize)]
struct Messages<'b> {
    #[serde(borrow, alias = "input", alias = "contents")]
    messages: &'b RawValue,
}

fn held_as(tenant: &Tenant, id: &str) -> String {
    format!("{}\0{id}", tenant.name())
}

fn log_of(digest: &Digest) -> String {
    format!("chain/{}", digest.to_string().trim_start_matches("sha256:"))
}

/// The digests of the chains that a request begins with, the empty one first.
fn chains(asked: &Relaying<'_>, conversation: &Conversation) -> Vec<Digest> {
    let scope = [
        asked.key,
        asked.format.term(),
        asked.session.unwrap_or_default(),
    ];
    let mut chain = Digest::of_parts(scope.map(str::as_bytes));
    let mut chains = vec![chain];
    for entry in &conversation.entries {
        chain = Digest::of_parts([chain.bytes().as_slice(), entry.message.as_bytes()]);
        chains.push(chain);
    }
    chains
}

/// What stands around the messages, in tokens, at most.
fn around(conversation: &Conversation, world: &World) -> u32 {
    let before = conversation.instructions.iter();
    let tools = conversation.server_tools.iter();
    let texts = before.map(|entry| &entry.message).chain(tools);
    let texts: u32 = texts.map(|text| world.price(text)).sum();
    texts.saturating_add(MARGIN)
}

/// The room that the request keeps for the answer.
fn answer(conversation: &Conversation) -> Option<u32> {
    const NAMES: [&str; 3] = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
    let named = |name: &&str| {
        let (_, json) = conversation.rest.iter().find(|(key, _)| key == name)?;
        json.parse().ok()
    };
    NAMES.iter().find_map(named)
}

fn target(format: Format) -> Target {
    match format {
        Format::OpenAiResponses => Target::OpenAiResponses,
        Format::Anthropic => Target::AnthropicMessages,
        Format::Gemini => Target::Gemini,
        _ => Target::OpenAiChat,
    }
}

fn field(format: Format) -> &'static str {
    match format {
        Format::OpenAiResponses => "input",
        Format::Gemini => "contents",
        _ => "messages",
    }
}

/// The compiled messages behind the instructions, where a format has both in one array.
fn with_instructions(
    asked: &Relaying<'_>,
    conversation: &Conversation,
    messages: &str,
) -> Result<String, Error> {
    if !matches!(asked.format, Format::OpenAiChat | Format::OpenAiResponses) {
        return Ok(messages.to_owned());
    }
    let whole: Messages<'_> = serde_json::from_str(asked.body)
        .map_err(|error| Error::input(format!("the body has no messages: {error}")))?;
    let own: Vec<&RawValue> = match serde_json::from_str(whole.messages.get()) {
        Ok(own) => own,
        // A text instead of messages.
        Err(_) => return Ok(messages.to_owned()),
    };
    let is_own = |message: &&&RawValue| {
        let mut before = conversation.instructions.iter();
        before.any(|entry| entry.message == message.get())
    };
    let before: Vec<&str> = own.iter().take_while(is_own).map(|own| own.get()).collect();
    let rest = messages.trim_start_matches('[').trim_start();
    if before.is_empty() {
        return Ok(messages.to_owned());
    }
    let comma = if rest.starts_with(']') { "" } else { "," };
    Ok(format!("[{}{comma}{rest}", before.join(",")))
}
