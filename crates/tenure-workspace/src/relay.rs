//! The verb **relay**: a request on its way from an agent to its provider, made to fit.
//!
//! Agents send their whole history each time. A request is found to go on with a session by the longest
//! chain of its messages that is known under the same key; what is new is added to the session. A request
//! that fits goes on as it came. Once one does not, the session's compile takes the place of its messages,
//! and every other byte stays. Where something stands beside the messages, it always does.
//!
//! The provider's reply is added to the session when it is whole ([`Relay::reply`]). The agent's next request
//! says whether it was taken: a reply that is not in it is taken back.

mod compose;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::request::AsOf;
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
/// So many places that a session left are passed over to find one where it still is.
const GONE: u32 = 4;
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
    /// What stands beside its messages; none where they are only made to fit.
    pub beside: Option<Beside<'r>>,
}

/// What stands beside the messages of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'r> {
    /// The policy under which all of it is compiled.
    pub policy: &'r Policy,
    /// The objects.
    pub gathered: &'r Gathered,
    /// Up to when they are known.
    pub known: Instant,
    /// On whose behalf.
    pub principal: &'r Principal,
}

/// Where a request ends in its session, and what it costs: enough to add what is answered to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The session.
    pub session: String,
    format: Format,
    /// The chain of the request's messages.
    chain: Digest,
    /// The number of the last of them in the session.
    last: u64,
    /// What was sent, about, in tokens, and the room that it keeps for the answer.
    sent: u32,
    answer: u32,
}

impl Place {
    /// What was sent, about, in tokens.
    pub fn sent(&self) -> u32 {
        self.sent
    }
}

/// What becomes of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relayed {
    /// The body to send; none where it goes on as it came.
    pub body: Option<String>,
    /// Where it is in its session; none where the provider keeps the history.
    pub place: Option<Place>,
    /// The tokens that it has less than before, about.
    pub saved: u64,
}

/// Sessions of agents that know nothing of sessions. One for each process; what it forgets is in the store.
#[derive(Debug, Default)]
pub struct Relay {
    sessions: Mutex<Recent<Arc<Mutex<Session>>>>,
    chains: Mutex<Recent<Chain>>,
    /// The policy under which histories are only cut.
    cut: OnceLock<Policy>,
}

/// A session, and the number of a request's last message in it.
type Found = (Arc<Mutex<Session>>, u64);

/// Where a chain of messages leads.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Chain {
    session: String,
    /// The number of its last message there.
    last: u64,
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
        let mut relayed = Relayed {
            body: None,
            place: None,
            saved: 0,
        };
        if conversation.rest.iter().any(is_own) {
            return Ok(relayed);
        }
        let (session, chain, last) = self.session(tenant, asked, &conversation)?;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        // The same request may have been answered meanwhile: its answer is no part of this one.
        if !session.withdraw(last)? {
            return Ok(relayed);
        }
        let around = around(&conversation, world);
        let answer = answer(&conversation).unwrap_or(world.model().reserve);
        let window = world.model().window;
        let window = session.learned().map_or(window, |known| known.min(window));
        let room = window.saturating_sub(answer);
        let whole = session.cost(world) + u64::from(around) + tools(&conversation, world);
        let place = relayed.place.insert(Place {
            session: session.id().to_owned(),
            format: asked.format,
            chain,
            last,
            sent: u32::try_from(whole).unwrap_or(u32::MAX),
            answer,
        });
        let beside = asked.beside.filter(|_| !is_begun(&conversation));
        let stands = beside.filter(|beside| !beside.gathered.candidates.is_empty());
        let goes_on = session.is_cut() || asked.beside.is_some() && session.is_served();
        if !goes_on && whole <= u64::from(room) && stands.is_none() {
            return Ok(relayed);
        }
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
        let owner = || Principal {
            tenant: tenant.name().to_owned(),
            ..Principal::owner()
        };
        let second = asked.now.micros() - asked.now.micros().rem_euclid(1_000_000);
        let request = Request {
            task: TaskState::new(task),
            task_said: true,
            principal: beside.map_or_else(owner, |beside| beside.principal.clone()),
            as_of: match beside {
                Some(beside) => AsOf {
                    valid: Some(Instant::from_micros(second)),
                    known: Some(beside.known),
                },
                None => AsOf::default(),
            },
            budget: Budget {
                tokens: Some(room.saturating_sub(around).max(1)),
                window: Some(window),
                reserve: Some(answer),
            },
            target: target(asked.format),
            ..Request::default()
        };
        let nothing;
        let (policy, gathered) = match beside {
            Some(beside) => (beside.policy, beside.gathered),
            None => {
                nothing = Gathered::of_sources(Candidates::default());
                (self.cut()?, &nothing)
            }
        };
        let compiled = workspace.compile_session(
            &mut session,
            &SessionJob {
                world,
                policy,
                request: &request,
                beside: gathered,
                instructions: false,
                now: asked.now,
            },
        )?;
        let envelope = &compiled.outcome.single()?.envelope;
        let payload = envelope.payload.as_ref();
        let payload = payload
            .and_then(|payload| std::str::from_utf8(payload.bytes()).ok())
            .ok_or_else(|| Error::assertion("a compiled body is text"))?;
        let body = compose::compose(asked, &conversation, payload)?;
        let body = compose::marked(world, asked, &conversation, body);
        let sent = envelope.total_tokens.saturating_add(around);
        // What the same bytes cost in what was compiled.
        let less = asked.body.len().saturating_sub(body.len()) as u64;
        relayed.saved = less * u64::from(envelope.total_tokens) / payload.len().max(1) as u64;
        place.sent = sent;
        relayed.body = Some(body);
        Ok(relayed)
    }

    fn cut(&self) -> Result<&Policy, Error> {
        match self.cut.get() {
            Some(cut) => Ok(cut),
            None => {
                let cut = Policy::from_toml(POLICY)?;
                Ok(self.cut.get_or_init(|| cut))
            }
        }
    }

    /// Adds a provider's reply to the session of its request: the message as
    /// [`wire::reply`] gives it. Gives whether it was added: not where the session has gone on meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the message cannot be read; [`ErrorKind::Conflict`] when somebody else
    /// writes to the session; [`ErrorKind::Unavailable`] when the store cannot be reached. The reply then comes
    /// with the agent's next request.
    pub fn reply(
        &self,
        tenant: &Tenant,
        place: &Place,
        message: &str,
        now: Instant,
    ) -> Result<bool, Error> {
        let reply = wire::read(place.format, &format!("[{message}]"))?;
        let session = self.held(tenant, &place.session)?;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.refresh()?;
        if session.last_turn() != place.last || reply.entries.is_empty() {
            return Ok(false);
        }
        let chain = extended(place.chain, &reply).pop().unwrap_or(place.chain);
        session.append_reply(reply, now)?;
        self.note(tenant, &chain, session.id(), session.last_turn())?;
        Ok(true)
    }

    /// Notes a provider's error: where it says how long a request may be, the session keeps to it from now on.
    /// Gives whether it keeps to less than what was sent, so that sending it again may help.
    ///
    /// Where the provider counts more than this vocabulary does, the window is as much smaller.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when somebody else writes to the session; [`ErrorKind::Unavailable`] when the
    /// store cannot be reached.
    pub fn learn(&self, tenant: &Tenant, place: &Place, error: &str) -> Result<bool, Error> {
        let Some(limit) = tenure::session::learned_limit(error) else {
            return Ok(false);
        };
        let session = self.held(tenant, &place.session)?;
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.refresh()?;
        let window = limit.in_our_tokens(place.sent, place.answer);
        session.keep_to(window)?;
        Ok(window < place.sent.saturating_add(place.answer))
    }

    /// The session that a request goes on with, with what is new in it, the chain of its messages and the
    /// number of the last.
    fn session(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        conversation: &Conversation,
    ) -> Result<(Arc<Mutex<Session>>, Digest, u64), Error> {
        let chains = chains(asked, asked.session, conversation);
        let found = self.goes_on(tenant, asked, conversation, &chains, None)?;
        if let Some((session, last)) = found {
            return Ok((session, chains[conversation.entries.len()], last));
        }
        // An agent may name the session that it was told, and did not name before.
        if let Some(named) = asked.session {
            let chains = self::chains(asked, None, conversation);
            let found = self.goes_on(tenant, asked, conversation, &chains, Some(named))?;
            if let Some((session, last)) = found {
                return Ok((session, chains[conversation.entries.len()], last));
            }
        }
        let chain = chains[conversation.entries.len()];
        let scope = (None, None);
        let mut session =
            Session::create(tenant.clone(), None, asked.now, scope, Some(asked.format))?;
        session.append(conversation.clone(), asked.now)?;
        let last = session.last_turn();
        self.note(tenant, &chain, session.id(), last)?;
        let id = session.id().to_owned();
        let session = Arc::new(Mutex::new(session));
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.put(held_as(tenant, &id), Arc::clone(&session), HELD);
        Ok((session, chain, last))
    }

    /// The session that the longest known chain leads to, if the request goes on with it, and the number of the
    /// request's last message there.
    fn goes_on(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        conversation: &Conversation,
        chains: &[Digest],
        named: Option<&str>,
    ) -> Result<Option<Found>, Error> {
        let count = conversation.entries.len();
        let mut gone = 0;
        for length in (1..=count).rev().take(BACK) {
            let Some(chain) = self.chain(tenant, &chains[length])? else {
                continue;
            };
            if named.is_some_and(|named| named != chain.session) {
                break;
            }
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
            let mut last = chain.last;
            if open.last_turn() != last {
                // Another node may know better.
                let known = self.stored(tenant, &log_of(&chains[length]))?;
                last = known.map_or(last, |known| known.last);
            }
            // An agent may go on without the last reply, or from an earlier place: then the session has gone
            // another way.
            if !open.withdraw(last)? {
                // A reply that was taken back is no place to go on from: what it answered may be one.
                gone += 1;
                if open.stands(last) || gone > GONE {
                    break;
                }
                continue;
            }
            if length < count {
                let new = Conversation {
                    entries: conversation.entries[length..].to_vec(),
                    ..conversation.clone()
                };
                open.append(new, asked.now)?;
                last = open.last_turn();
                self.note(tenant, &chains[count], open.id(), last)?;
            }
            drop(open);
            return Ok(Some((session, last)));
        }
        Ok(None)
    }

    fn held(&self, tenant: &Tenant, id: &str) -> Result<Arc<Mutex<Session>>, Error> {
        let key = held_as(tenant, id);
        let held = || self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = held().held.get(&key) {
            return Ok(Arc::clone(session));
        }
        // Nobody else's session waits for the store.
        let session = Arc::new(Mutex::new(Session::open(tenant.clone(), id)?));
        let mut sessions = held();
        if let Some(session) = sessions.held.get(&key) {
            return Ok(Arc::clone(session));
        }
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
        self.stored(tenant, &log)
    }

    fn stored(&self, tenant: &Tenant, log: &str) -> Result<Option<Chain>, Error> {
        let stored = tenant.entries(log, 0)?;
        let last = stored.last();
        Ok(last.and_then(|(_, body)| serde_json::from_str(body).ok()))
    }

    fn note(
        &self,
        tenant: &Tenant,
        digest: &Digest,
        session: &str,
        last: u64,
    ) -> Result<(), Error> {
        let chain = Chain {
            session: session.to_owned(),
            last,
        };
        let log = log_of(digest);
        let body = serde_json::to_string(&chain)
            .map_err(|error| Error::assertion(format!("a chain is plain data: {error}")))?;
        match tenant.append(&log, 0, vec![body.clone()]) {
            Err(error) if error.kind == ErrorKind::Conflict => {
                let stored = tenant.entries(&log, 0)?;
                let known = stored.last();
                let said = known.and_then(|(_, body)| serde_json::from_str::<Chain>(body).ok());
                // What a session said before it was taken back and is said again; what another session says
                // stands.
                if said.is_some_and(|said| said.session != chain.session) {
                    return Ok(());
                }
                let after = known.map_or(0, |(number, _)| *number);
                match tenant.append(&log, after, vec![body]) {
                    Err(error) if error.kind == ErrorKind::Conflict => return Ok(()),
                    appended => appended?,
                };
            }
            appended => drop(appended?),
        }
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.put(held_as(tenant, &log), chain, CHAINS);
        Ok(())
    }
}

fn held_as(tenant: &Tenant, id: &str) -> String {
    format!("{}\0{id}", tenant.name())
}

fn log_of(digest: &Digest) -> String {
    format!("chain/{}", digest.to_string().trim_start_matches("sha256:"))
}

/// The digests of the chains that a request begins with, the empty one first.
fn chains(asked: &Relaying<'_>, session: Option<&str>, conversation: &Conversation) -> Vec<Digest> {
    let scope = [asked.key, asked.format.term(), session.unwrap_or_default()];
    let chain = Digest::of_parts(scope.map(str::as_bytes));
    let mut chains = vec![chain];
    chains.extend(extended(chain, conversation));
    chains
}

/// The chains that messages make behind this one: by what they say, however they are written.
fn extended(mut chain: Digest, conversation: &Conversation) -> Vec<Digest> {
    let entries = conversation.entries.iter();
    let each = entries.map(|entry| {
        let says = wire::meaning(entry.format, &entry.message);
        chain = Digest::of_parts([chain.bytes().as_slice(), says.bytes()]);
        chain
    });
    each.collect()
}

/// Whether the model's answer is begun already: nothing may stand behind its beginning.
fn is_begun(conversation: &Conversation) -> bool {
    let last = conversation.entries.last();
    last.is_some_and(|entry| {
        let mut said = entry.objects.iter();
        said.any(|object| object.role == Some(tenure::object::Role::Assistant))
    })
}

/// What stands around the messages, in tokens, at most.
fn around(conversation: &Conversation, world: &World) -> u32 {
    let before = conversation.instructions.iter();
    let tools = conversation.server_tools.iter();
    let texts = before.map(|entry| &entry.message).chain(tools);
    let texts: u32 = texts.map(|text| world.price(text)).sum();
    texts.saturating_add(MARGIN)
}

/// What the agent's tools cost, at most.
fn tools(conversation: &Conversation, world: &World) -> u64 {
    let each = conversation.tools.iter().map(|tool| {
        let schema = tool.input_schema.as_ref().map(ToString::to_string);
        let texts = [&tool.name, &tool.content, &schema.unwrap_or_default()];
        let texts: u64 = texts.iter().map(|text| u64::from(world.price(text))).sum();
        texts + u64::from(MARGIN) / 4
    });
    each.sum()
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
