//! The verb **relay**: a request on its way from an agent to its provider, made to fit.
//!
//! Agents send their whole history each time. A request is found to go on with a session by the longest chain of its
//! messages that is known under the same key; what is new is added to the session. A request that fits goes on as it
//! came. Once one does not, the session's compile takes the place of its messages, and every other byte stays. With a
//! side context, the session's compile always takes the place of the messages.
//!
//! The provider's reply is added to the session when it is whole ([`Relay::reply`]). The agent's next request
//! says whether it was taken: a reply that is not in it is taken back.

mod balance;
mod byte_lru;
mod calibration;
mod chains;
mod compose;
mod done;
mod history;
mod notice;
mod position;
mod prefill;
mod room;
mod tools;
mod unmanaged;
mod windows;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tenure::belief::entity::Identity;
use tenure::error::ErrorKind;
use tenure::request::AsOf;
use tenure::time::Instant;
use tenure::trace::Ruling;
use tenure::wire::{self, Conversation, Format, Renewed};
use tenure::{
    Candidates, Compiled, Digest, Error, Payload, Policy, Principal, Request, Target, World,
    conform,
};
use tenure_store::Tenant;

use crate::sessions::{Session, SessionJob};
use crate::stored::Gathered;
use crate::workspace::Workspace;
use balance::Prices;
use byte_lru::ByteLru;
use calibration::{Calibrations, Counted};
use chains::{Chain, forget_chains, log_of};
pub use done::{Done, Untouched};
pub(crate) use done::{list, task_of};
pub use notice::Notice;
pub use position::Position;
use prefill::Prefill;
use room::{Answer, Room};
pub use unmanaged::Unmanaged;
pub use windows::{Lesson, said_window, stated};
use windows::{Windows, window_log};

/// The most memory that sessions are held in, about, in bytes; others are read from the store.
const HELD: usize = 64 << 20;
/// The most memory that chains of messages are remembered in, about, in bytes; others are looked up in the store.
const CHAINS: usize = 16 << 20;
/// The most memory in which it is remembered what messages mean, about, in bytes.
const MEANINGS: usize = 8 << 20;
/// Shorter messages are read again sooner than they are looked up, in bytes.
const LONG: usize = 256;
/// The memory of a chain without its key, about, in bytes.
const CHAIN: usize = 160;
/// The most messages after the point from which a request goes on: it ends with what the agent added since the last
/// one.
const BACK: usize = 256;
/// The number of tries to find a session that others go on with at the same time.
const TRIES: u32 = 8;
/// The most positions that a session has left which are passed over to find one where it still is.
const GONE: u32 = 4;

/// The policy under which histories are cut: nothing is said that the agent did not say, so hardly anything else needs
/// room.
const POLICY: &str = "name = \"relay\"\nprecedence = false\nheadings = false\nrequired = []\n[session]\nhandoff = 1.0\nhigh_water = 1.0\n";

/// A request to relay.
#[derive(Clone, Copy, Debug)]
pub struct Relaying<'r> {
    /// The format of its body.
    pub format: Format,
    /// The model as the request names it, with what else decides how long a request its provider takes.
    pub model: &'r str,
    /// Its body.
    pub body: &'r str,
    /// The key under which it came; sessions of different keys never meet.
    pub key: &'r str,
    /// The user and the project that the key speaks for: a session that it begins is theirs.
    pub owner: (Option<&'r str>, Option<&'r str>),
    /// The session that the agent names, if it does.
    pub session: Option<&'r str>,
    /// The instant at which it came.
    pub now: Instant,
    /// The context beyond its messages; `None` where they are only made to fit.
    pub side: Option<SideInput<'r>>,
    /// The window of its model, where it is not the one of the catalogue.
    pub window: Option<u32>,
    /// Set where it is only to be counted: it is compiled as it would be sent, and is part of no session.
    pub counted: bool,
    /// The most tokens that its answer may have, where the policy says so.
    pub max_answer: Option<u32>,
}

impl Relaying<'_> {
    /// The room for an answer where the request names none, in tokens: 0 where requests always name it.
    fn reserve(&self, world: &World) -> u32 {
        match (self.format, self.counted) {
            (Format::Anthropic, true) => 0,
            _ => world.model().reserve,
        }
    }

    /// Returns whether the agent's tools are gated.
    fn gates(&self) -> bool {
        self.side
            .map(|beside| beside.policy.document())
            .is_some_and(|policy| policy.session.tools().is_some())
    }
}

/// The side context of a request: a policy and objects beyond the agent's messages.
#[derive(Clone, Copy, Debug)]
pub struct SideInput<'r> {
    /// The policy under which all of it is compiled.
    pub policy: &'r Policy,
    /// The objects.
    pub gathered: &'r Gathered,
    /// The objects that [`Relayed::stand`] reports on, by their indices among the candidates.
    pub watched: &'r [usize],
    /// The instant up to which they are known.
    pub known: Instant,
    /// The principal on whose behalf they are read.
    pub principal: &'r Principal,
    /// The meanings of entities' ids to that principal.
    pub identities: &'r [Identity],
}

/// The result of relaying a request.
#[derive(Clone, PartialEq, Debug)]
pub struct Relayed {
    /// The body to send; `None` where it is forwarded unchanged.
    pub body: Option<String>,
    /// The reason why it was not managed, where the gateway should have managed its history.
    pub unmanaged: Option<Unmanaged>,
    /// Its position in its session; `None` where it is not managed.
    pub position: Option<Position>,
    /// The tokens that it has fewer than it came with: both counted in the same way, and scaled by `calibrated`.
    pub saved: u64,
    /// The tokens that it has more than it came with.
    pub added: u64,
    /// The watched objects that stand in it.
    pub stand: Vec<usize>,
    /// The fields of the agent's own schema of the answer that may be null.
    pub relaxed: Vec<String>,
    /// The agent's tools that are not offered, where the policy has a gate for them: each with the code of the
    /// reason, as traces have it.
    pub left_out: BTreeMap<String, &'static str>,
    /// True if it offers its model the tool that reads originals.
    pub reads_originals: bool,
    /// Notices for its operator.
    pub notices: Vec<Notice>,
    /// The most tokens that its provider counts for a hundred of the vocabulary's, where reports of its usage say so:
    /// it was made to fit by that.
    pub calibrated: Option<u32>,
    /// The most tokens of input that its provider takes beside its answer; `None` where it is not managed.
    pub room: Option<u32>,
    /// Its compile; `None` where it is forwarded unchanged, or only counted.
    pub done: Option<Box<Done>>,
    /// Its messages, where they are forwarded unchanged and its session holds them.
    pub untouched: Option<Box<Untouched>>,
}

impl Relayed {
    /// A request that is not managed.
    fn unmanaged(why: Unmanaged) -> Relayed {
        Relayed {
            unmanaged: Some(why),
            ..Relayed::as_it_came()
        }
    }

    /// A request that is forwarded unchanged.
    fn as_it_came() -> Relayed {
        Relayed {
            body: None,
            unmanaged: None,
            position: None,
            saved: 0,
            added: 0,
            stand: Vec::new(),
            relaxed: Vec::new(),
            left_out: BTreeMap::new(),
            reads_originals: false,
            notices: Vec::new(),
            calibrated: None,
            room: None,
            done: None,
            untouched: None,
        }
    }
}

/// The inputs of a request's compile.
#[derive(Clone, Copy)]
struct Work<'w> {
    workspace: &'w Workspace,
    tenant: &'w Tenant,
    world: &'w World,
    asked: &'w Relaying<'w>,
    conversation: &'w Conversation,
    prefill: Option<&'w Prefill>,
    renewed: Option<&'w Renewed>,
}

/// The entries that a request added to its session, not yet written. If it is dropped, the session's next request
/// writes them.
#[derive(Debug)]
#[must_use = "what is not written is not durable"]
pub struct PendingWrites {
    /// The session, and its generation.
    session: Option<(Arc<Mutex<Session>>, u64)>,
    chains: Arc<Mutex<ByteLru<Chain>>>,
}

impl PendingWrites {
    /// Writes them; they are durable when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when another writer wrote to the session meanwhile; [`ErrorKind::Unavailable`] when
    /// the store cannot be reached. The session is then as it was before, and the agent's next request brings what is
    /// missing.
    pub fn write(self) -> Result<(), Error> {
        let Some((session, generation)) = self.session else {
            return Ok(());
        };
        let mut session = session.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = session.flush_at(generation);
        if settled.is_err() {
            forget_chains(&self.chains, session.id());
        }
        settled
    }
}

/// The sessions of agents that do not know of sessions. One for each process; everything that it forgets is in the
/// store.
#[derive(Debug)]
pub struct Relay {
    sessions: Mutex<ByteLru<Arc<Mutex<Session>>>>,
    chains: Arc<Mutex<ByteLru<Chain>>>,
    /// The meanings of long messages, by the digests of their bytes: agents send them again with each request.
    meanings: Mutex<ByteLru<Digest, Digest>>,
    prices: Prices,
    windows: Windows,
    calibrations: Calibrations,
    /// The version of each tenant before anything of it was read.
    since: Mutex<BTreeMap<String, u64>>,
    /// The policy under which histories are only cut.
    cut: OnceLock<Policy>,
}

impl Default for Relay {
    fn default() -> Relay {
        Relay::holding(HELD)
    }
}

/// The session that a request goes on with.
struct FoundSession {
    session: Arc<Mutex<Session>>,
    /// The generation of the session: it is another once writes that waited were lost.
    generation: u64,
    /// The number of the request's last message in it.
    last: u64,
    /// The chain of the request's messages.
    chain: Digest,
}

/// Returns whether the rules of the provider, read on their own, say so, too, of a call without its result or a result
/// without its call: of a kind of call that is not known, only they do.
fn breaks_pairs(asked: &Relaying<'_>) -> Result<bool, Error> {
    let broken = conform::check(asked.format, asked.body, None)?;
    let pairs = ["call_without_result", "result_without_call"];
    Ok(broken.iter().any(|found| pairs.contains(&&*found.rule)))
}

impl Relay {
    /// Returns a relay that holds sessions in about this many bytes.
    pub fn holding(bytes: usize) -> Relay {
        Relay {
            sessions: Mutex::new(ByteLru::new(bytes)),
            chains: Arc::new(Mutex::new(ByteLru::new(CHAINS))),
            meanings: Mutex::new(ByteLru::new(MEANINGS)),
            prices: Prices::default(),
            windows: Windows::default(),
            calibrations: Calibrations::default(),
            since: Mutex::default(),
            cut: OnceLock::new(),
        }
    }

    /// Relays a request for a model of this world. Its entries in the session are durable when this returns.
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
        let (relayed, pending) = self.relay_ahead(workspace, tenant, world, asked)?;
        pending.write()?;
        Ok(relayed)
    }

    /// As [`Relay::relay`], without the write: the caller makes it while the provider answers.
    ///
    /// # Errors
    ///
    /// As [`Relay::relay`].
    pub fn relay_ahead(
        &self,
        workspace: &Workspace,
        tenant: &Tenant,
        world: &World,
        asked: &Relaying<'_>,
    ) -> Result<(Relayed, PendingWrites), Error> {
        let mut conversation = wire::read(asked.format, asked.body)?;
        if asked.gates() {
            tools::spare_deferred(&mut conversation);
        }
        if let Some(why) = history::provider_owns(&conversation.rest)? {
            return Ok((Relayed::unmanaged(why), self.settled()));
        }
        let prefill = Prefill::take(&mut conversation);
        if prefill.is_some() && conversation.entries.is_empty() {
            return Ok((Relayed::unmanaged(Unmanaged::NothingAsked), self.settled()));
        }
        let renewed = Renewed::take(&mut conversation);
        self.see(tenant)?;
        let work = Work {
            workspace,
            tenant,
            world,
            asked,
            conversation: &conversation,
            prefill: prefill.as_ref(),
            renewed: renewed.as_ref(),
        };
        for _ in 0..TRIES {
            let found = self.session(tenant, asked, &conversation)?;
            if let Some(relayed) = self.compile_in(&work, found)? {
                return Ok(relayed);
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "too many other requests are continuing the same conversation",
        )
        .hint("send the request again"))
    }

    /// Pending writes without an entry.
    fn settled(&self) -> PendingWrites {
        PendingWrites {
            session: None,
            chains: Arc::clone(&self.chains),
        }
    }

    /// Compiles the request in the session that was found for it; `None` where another request has meanwhile
    /// continued the session from elsewhere.
    fn compile_in(
        &self,
        work: &Work<'_>,
        found: FoundSession,
    ) -> Result<Option<(Relayed, PendingWrites)>, Error> {
        let Work {
            tenant,
            asked,
            conversation,
            ..
        } = *work;
        let FoundSession {
            session,
            generation,
            last,
            chain,
        } = found;
        let mut pending = self.settled();
        let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.counted {
            open.detach()
        } else {
            open.defer()
        }
        // Another request may have found meanwhile that it differs from its log, added an answer, which is not part
        // of this request, or brought other tools.
        let mut is_still = || {
            open.check_generation(generation)?;
            Ok(open.withdraw(last)? && open.reopen(conversation).map(|()| true)?)
        };
        let compiled = match is_still() {
            Ok(false) => return Ok(None),
            // A tokenizer may end it, where no one waits for it any more.
            Ok(true) => catch_unwind(AssertUnwindSafe(|| {
                self.compile(work, &mut open, (chain, last))
            })),
            Err(error) => Ok(Err(error)),
        };
        if asked.counted {
            // What waits in this session is let go of with it.
            let relayed = Relayed {
                position: None,
                ..compiled.unwrap_or_else(|ended| resume_unwind(ended))?
            };
            return Ok(Some((relayed, pending)));
        }
        pending.session = Some((Arc::clone(&session), generation));
        let (key, size) = (held_as(tenant, open.id()), open.size());
        drop(open);
        self.weigh(&key, size);
        match compiled {
            Ok(Ok(relayed)) => Ok(Some((relayed, pending))),
            Ok(Err(error)) => {
                pending.write()?;
                Err(error)
            }
            Err(ended) => {
                // What is not written, the agent's next request brings again.
                drop(pending.write());
                resume_unwind(ended)
            }
        }
    }

    fn compile(
        &self,
        work: &Work<'_>,
        session: &mut Session,
        (chain, last): (Digest, u64),
    ) -> Result<Relayed, Error> {
        let Work {
            workspace,
            tenant,
            world,
            asked,
            conversation,
            prefill,
            renewed,
        } = *work;
        let beside = asked.side;
        let mut relayed = Relayed {
            reads_originals: session.reading_tool().is_some(),
            ..Relayed::as_it_came()
        };
        let begins = prefill.map_or(0, |prefill| prefill.price(world));
        let renews = room::renewed(renewed, world);
        let around =
            room::around(conversation, world).saturating_add(begins).saturating_add(renews);
        let asks = match (room::answer(conversation), asked.counted) {
            (Some(asks), _) => asks,
            (None, false) => asked.reserve(world),
            // What is only counted does not say what the request itself will have to say.
            (None, true) => self.kept(tenant, session.id()).unwrap_or_else(|| asked.reserve(world)),
        };
        session.keeps = Some(asks);
        let model = world.model();
        let known = asked.window.unwrap_or(model.window);
        let learned = self.learned(tenant, asked.format, asked.model, asked.now)?;
        let window = learned.map_or(known, |learned| learned.min(known));
        let answer = Answer::of(conversation, model, (asks, window), asked.max_answer);
        let room = Room {
            window,
            answer,
            learned: session.learned(),
            around,
        };
        relayed.room = Some(window.saturating_sub(answer.kept));
        // What an epoch began with holds until it ends.
        let known = self.calibrated(tenant, asked, world)?;
        session.calibrated = session.began_with().unwrap_or(known);
        let budget = room.budget(world, session.calibrated);
        let whole = session.cost(world) + session.tools_cost(world);
        let position = relayed.position.insert(Position {
            session: session.id().to_owned(),
            format: asked.format,
            model: window_log(asked.format, asked.model),
            chain,
            last,
            sent: around.saturating_add(u32::try_from(whole).unwrap_or(u32::MAX)),
            answer: answer.asked,
            prefill: prefill.map(|prefill| prefill.message().to_owned()),
            counted: None,
        });
        position.counted = Counted::of(asked, conversation, world, position.sent);
        let stands = beside.filter(|beside| !beside.gathered.candidates.is_empty());
        let gates = beside.is_some()
            && asked.gates()
            && !conversation.tools.is_empty()
            && !tools::are_looked_for(conversation);
        let goes_on = session.is_cut()
            || beside.is_some() && session.is_served()
            // What is judged does not go on, however often its client sends it.
            || session.leaves_out()
            // The provider would refuse it, or was sent it mended: a late result changes nothing of that.
            || session.is_broken(asked.format.into()) && (session.is_served() || breaks_pairs(asked)?);
        let fits = whole <= u64::from(budget.tokens.unwrap_or(0));
        if !goes_on && fits && stands.is_none() && !gates {
            relayed.body = answer.lower(asked.body)?;
            relayed.notices = answer.notices(window, false);
            relayed.calibrated = session.calibrated;
            if !asked.counted {
                relayed.untouched = Untouched::of(session, asked.body).map(Box::new);
            }
            return Ok(relayed);
        }
        if !room::holds_instructions((conversation, renews), session, world, window)? {
            return Ok(Relayed::unmanaged(Unmanaged::InstructionsTooLong));
        }
        let owner = || Principal {
            tenant: tenant.name().to_owned(),
            user: session.opened().user.clone(),
            project: session.opened().project.clone(),
            ..Principal::owner()
        };
        let (response_schema, adds_schema) = beside.map_or((None, false), |beside| {
            compose::asked_form(asked, beside.policy)
        });
        let asks_schema = response_schema.is_some();
        let request = Request {
            response_schema,
            task: task_of(session),
            task_said: true,
            principal: beside.map_or_else(owner, |beside| beside.principal.clone()),
            as_of: match beside {
                Some(beside) => AsOf {
                    valid: Some(asked.now.second()),
                    known: Some(beside.known),
                },
                None => AsOf::default(),
            },
            budget,
            target: Target::from(asked.format),
            identities: beside.map_or_else(Vec::new, |beside| beside.identities.to_vec()),
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
        let recalibrated;
        let mut job = SessionJob {
            world,
            policy,
            request: &request,
            beside: gathered,
            instructions: false,
            now: asked.now,
        };
        let gate = policy.document().session.tools().filter(|_| gates);
        let mut unnoted = workspace.compile_unnoted(session, &job, gate)?;
        if session.calibrated != known && unnoted.begins() {
            session.calibrated = known;
            recalibrated = Request {
                budget: room.budget(world, known),
                ..request.clone()
            };
            job.request = &recalibrated;
            unnoted = workspace.compile_unnoted(session, &job, gate)?;
        }
        let mut gated = gates;
        if gates {
            let beside = gathered.candidates.len();
            let mut left_out = tools::left_out(unnoted.compiled(), beside)?;
            let named = tools::named(conversation);
            let missing: Vec<&str> = left_out
                .keys()
                .filter(|name| named.contains(*name))
                .map(String::as_str)
                .collect();
            if !missing.is_empty() {
                session.must_offer(&missing)?;
                unnoted = workspace.compile_unnoted(session, &job, gate)?;
                left_out = tools::left_out(unnoted.compiled(), beside)?;
            }
            if tools::is_none_left(conversation, &left_out) {
                // All of them go on, and take their room from the history.
                unnoted = workspace.compile_unnoted(session, &job, None)?;
                left_out.clear();
                gated = false;
            }
            relayed.left_out = left_out;
        }
        // Whatever hid it: a body that does not ask what was asked is not sent, and nothing is noted of it.
        let trace = &unnoted.compiled().outcome.single()?.trace;
        if !session.asks_in(trace, gathered.candidates.len()) {
            // All of it goes on, and not only what stands of it: of that nothing was counted.
            position.counted = None;
            return Ok(Relayed {
                unmanaged: Some(Unmanaged::RequestMissing),
                left_out: BTreeMap::new(),
                ..relayed
            });
        }
        let (after, goes_on) = (session.version(), !session.is_unsent());
        let compiled = unnoted.note(session, asked.now)?;
        if !asked.counted {
            let done = Done::of(&job, (session, after), (goes_on, gated), &compiled)?;
            relayed.done = Some(Box::new(done));
        }
        let Compiled { envelope, trace } = compiled.outcome.single()?;
        if let Some(beside) = beside {
            // The conversation's own stand before them.
            let own = trace.verdicts.len() - beside.gathered.candidates.len();
            let stands = |at: &usize| {
                trace
                    .verdicts
                    .get(own + at)
                    .is_some_and(|verdict| verdict.verdict == Ruling::Included)
            };
            relayed.stand = beside.watched.iter().copied().filter(stands).collect();
        }
        let payload = envelope
            .payload
            .as_ref()
            .map(Payload::as_str)
            .ok_or_else(|| Error::assertion("a compiled body is text"))?;
        // Nothing to relax: the agent's own words stand.
        let is_relaxed = envelope.served.relaxed.as_ref().is_some_and(|fields| !fields.is_empty());
        let schema = envelope
            .response_schema
            .as_ref()
            .filter(|_| adds_schema || asks_schema && is_relaxed);
        if asks_schema && is_relaxed {
            relayed.relaxed = envelope.served.relaxed.clone().unwrap_or_default();
        }
        let left_out = &relayed.left_out;
        let body = compose::compose(asked, conversation, payload, left_out, schema)?;
        let body = compose::with_renewed(asked, renewed, body)?;
        let body = compose::marked(world, asked, (conversation, renewed), body);
        let body = match prefill {
            Some(prefill) => prefill.behind(asked, conversation, &body)?,
            None => body,
        };
        let sent = envelope.total_tokens.saturating_add(around);
        let balance = self.prices.balance(world, asked.body, &body)?;
        (relayed.saved, relayed.added) = balance.scaled(model.margin_percent, session.calibrated);
        position.sent = sent;
        position.counted = Counted::of(asked, conversation, world, sent);
        relayed.notices = answer.notices(window, session.is_cut());
        relayed.calibrated = session.calibrated;
        relayed.body = Some(answer.lower(&body)?.unwrap_or(body));
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

    /// Adds a provider's reply to the session of its request: the message as [`wire::reply`] gives it. Returns
    /// whether it was added: not where the session has gone on meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the message cannot be read; [`ErrorKind::Conflict`] when another writer writes to
    /// the session; [`ErrorKind::Unavailable`] when the store cannot be reached. The reply then comes with the
    /// agent's next request.
    pub fn reply(
        &self,
        tenant: &Tenant,
        position: &Position,
        message: &str,
        now: Instant,
    ) -> Result<bool, Error> {
        let reply = wire::read(position.format, &position.adds(message))?;
        self.see(tenant)?;
        let held = self.held(tenant, &position.session)?;
        let mut session = held.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut session)?;
        // Another writer may have a message of this number, too: the chain tells them apart.
        let stands = self
            .stored(tenant, &log_of(&position.chain))?
            .is_some_and(|at| at.session == position.session && at.last == position.last);
        if !stands || session.last_turn() != position.last || reply.entries.is_empty() {
            return Ok(false);
        }
        let digest = self.extended(position.chain, &reply).pop().unwrap_or(position.chain);
        session.defer();
        session.append_reply(reply, now)?;
        self.note(tenant, &digest, &mut session)?;
        let (generation, size) = (session.generation(), session.size());
        drop(session);
        self.weigh(&held_as(tenant, &position.session), size);
        let pending = PendingWrites {
            session: Some((held, generation)),
            chains: Arc::clone(&self.chains),
        };
        pending.write()?;
        Ok(true)
    }

    /// Lets go of all that is held of a tenant, where something of it was erased.
    pub fn forget(&self, tenant: &str) {
        let begin = format!("{tenant}\0");
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.remove(tenant);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|key, _| !key.starts_with(&begin));
        drop(sessions);
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.retain(|key, _| !key.starts_with(&begin));
        drop(since);
    }

    /// The memory in which sessions are held, about, in bytes.
    pub fn bytes(&self) -> usize {
        let sessions = self.sessions.lock();
        sessions.unwrap_or_else(PoisonError::into_inner).bytes()
    }

    /// The tenants of whom sessions are held, each with its version before anything of it was read.
    pub fn tenants(&self) -> BTreeMap<String, u64> {
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions
            .keys()
            .filter_map(|key| {
                let (tenant, _) = key.split_once('\0')?;
                Some((tenant.to_owned(), since.get(tenant).copied().unwrap_or(0)))
            })
            .collect()
    }

    /// Notes the version of a tenant of whom nothing was read yet.
    fn see(&self, tenant: &Tenant) -> Result<(), Error> {
        let since = || self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since().contains_key(tenant.name()) {
            return Ok(());
        }
        let version = tenant.version()?;
        since().entry(tenant.name().to_owned()).or_insert(version);
        Ok(())
    }

    /// Finds the session that a request goes on with, or begins one, and adds the request's new messages to it.
    fn session(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        conversation: &Conversation,
    ) -> Result<FoundSession, Error> {
        let count = conversation.entries.len();
        let chains = self.chains(asked, asked.session, conversation);
        let mut found = self.goes_on(tenant, asked, conversation, &chains, None)?;
        // An agent may name the session that it was told, and did not name before.
        if let (None, Some(named)) = (&found, asked.session) {
            let unnamed = self.chains(asked, None, conversation);
            found = self.goes_on(tenant, asked, conversation, &unnamed, Some(named))?;
        }
        let digest = chains[count];
        if let Some(found) = found {
            return Ok(found);
        }
        let (user, project) = asked.owner;
        let scope = (user.map(str::to_owned), project.map(str::to_owned));
        let mut session = Session::begin_deferred(tenant.clone(), asked.now, scope, asked.format)?;
        session.append(conversation.clone(), asked.now)?;
        let (last, generation) = (session.last_turn(), session.generation());
        let (key, size) = (held_as(tenant, session.id()), session.size());
        let session = Arc::new(Mutex::new(session));
        if !asked.counted {
            let mut held = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            held.put(key, Arc::clone(&session), size);
            drop(held);
            let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
            self.note(tenant, &digest, &mut open)?;
        }
        Ok(FoundSession {
            session,
            generation,
            last,
            chain: digest,
        })
    }

    /// The session that the longest known chain leads to, if the request goes on with it.
    fn goes_on(
        &self,
        tenant: &Tenant,
        asked: &Relaying<'_>,
        conversation: &Conversation,
        chains: &[Digest],
        named: Option<&str>,
    ) -> Result<Option<FoundSession>, Error> {
        let count = conversation.entries.len();
        // Sessions that have gone another way, and how many places they left.
        let (mut gone, mut passed) = (Vec::new(), 0);
        for length in (1..=count).rev().take(BACK) {
            let Some(mut chain) = self.chain(tenant, &chains[length])? else {
                continue;
            };
            if gone.contains(&chain.session) {
                continue;
            }
            if named.is_some_and(|named| named != chain.session) {
                break;
            }
            let open = || {
                if asked.counted {
                    // A copy of its own, which no other request works with.
                    Session::open(tenant.clone(), &chain.session).map(Mutex::new).map(Arc::new)
                } else {
                    self.held(tenant, &chain.session)
                }
            };
            let found = open().and_then(|session| {
                let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
                let lost = self.refresh(&mut open)?;
                drop(open);
                Ok((session, lost))
            });
            let (session, lost) = match found {
                // It was erased: what is sent now begins another.
                Err(error) if error.kind == ErrorKind::NotFound => break,
                found => found?,
            };
            let mut open = session.lock().unwrap_or_else(PoisonError::into_inner);
            if lost || open.last_turn() != chain.last {
                // Another node may know better.
                match self.stored(tenant, &log_of(&chains[length]))? {
                    Some(known) if known.session == chain.session => chain = known,
                    _ if lost => continue,
                    _ => {}
                }
            }
            let mut last = chain.last;
            // An agent may go on without the last reply, or from an earlier place: then the session has gone
            // another way.
            open.defer();
            let stands = open.withdraw(last)?;
            let stands = stands
                || conversation
                    .entries
                    .get(length)
                    .map_or(Ok(false), |message| open.amend(last, message))?;
            if !stands {
                // A reply that was taken back is no place to go on from: what it answered may be one. Where it
                // stands, another conversation began alike, and another session may be the one to go on with.
                if open.stands(last) {
                    gone.push(chain.session);
                }
                passed += 1;
                if passed > GONE {
                    break;
                }
                continue;
            }
            open.goes_on |= length < count;
            if length < count {
                open.append(conversation.without_first(length), asked.now)?;
                last = open.last_turn();
                if !asked.counted {
                    self.note(tenant, &chains[count], &mut open)?;
                }
            } else {
                open.reopen(conversation)?;
            }
            let generation = open.generation();
            drop(open);
            return Ok(Some(FoundSession {
                session,
                generation,
                last,
                chain: chains[count],
            }));
        }
        Ok(None)
    }

    /// Reads what others appended to a session. Returns whether it had lost pending writes; then its chains are
    /// forgotten, too.
    fn refresh(&self, session: &mut Session) -> Result<bool, Error> {
        let lost = session.is_lost();
        if !matches!(lost, Ok(false)) {
            forget_chains(&self.chains, session.id());
        }
        session.refresh()?;
        lost
    }

    /// Notes what a session takes now, and lets go of what takes too much.
    fn weigh(&self, key: &str, size: usize) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.weigh(key, size);
        // A session that is in use or has pending writes stays: it must not be read from the store meanwhile.
        sessions.shrink(|session| {
            Arc::strong_count(session) == 1
                && session.try_lock().is_ok_and(|open| !open.has_pending())
        });
    }

    /// The room for the answer that the last request of a session kept, where it is held.
    fn kept(&self, tenant: &Tenant, id: &str) -> Option<u32> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let session = sessions.get(&held_as(tenant, id)).map(Arc::clone)?;
        drop(sessions);
        let session = session.lock().unwrap_or_else(PoisonError::into_inner);
        session.keeps
    }

    fn held(&self, tenant: &Tenant, id: &str) -> Result<Arc<Mutex<Session>>, Error> {
        let key = held_as(tenant, id);
        let held = || self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = held().get(&key) {
            return Ok(Arc::clone(session));
        }
        // No other session waits for the store.
        let session = Session::open(tenant.clone(), id)?;
        let size = session.size();
        let session = Arc::new(Mutex::new(session));
        let mut sessions = held();
        if let Some(session) = sessions.get(&key) {
            return Ok(Arc::clone(session));
        }
        sessions.put(key, Arc::clone(&session), size);
        Ok(session)
    }
}

fn held_as(tenant: &Tenant, id: &str) -> String {
    format!("{}\0{id}", tenant.name())
}
