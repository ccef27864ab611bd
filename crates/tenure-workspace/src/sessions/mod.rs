//! Sessions: conversations of any length, kept message by message in a log of the tenant's store.
//!
//! The log is append-only and holds every original, so nothing that a compile leaves out is lost
//! ([`Session::rehydrate`]). What a compile needs of it is the last epoch's mark and what came after, so
//! its cost follows the window and not the length of the session.

mod append_once;
mod asked;
mod brought;
mod compile;
mod draft;
mod draft_inputs;
mod entry;
mod exchanges;
mod idempotency;
mod instructions;
mod items;
mod judged;
mod layers;
mod listed;
mod mend;
mod messages;
mod once;
mod origin;
mod own_calls;
mod past;
mod pending;
mod recall;
mod rehydrate;
mod remake;
mod search;
mod turn;

pub(crate) use items::{Seen, outside};
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use tenure::condense::turns::Speaker;
use tenure::error::ErrorKind;
use tenure::object::{MessageStatus, ObjectId, clip};
use tenure::session::{Checkpoint, Forecast, Frontier, UserWords};
use tenure::time::Instant;
use tenure::wire::{self, Conversation, Format};
use tenure::{Error, ObjectDocument, Target, World};
use tenure_store::{Tenant, Writing, Written};

pub use brought::{Brought, read_messages};
pub use compile::{Passed, SessionCompiled, SessionJob, SessionReport};
pub use entry::{Message, Opened};
pub use idempotency::IdempotencyKey;
pub use items::{ItemForm, RequestItem};
pub use judged::{JudgedMessage, JudgedMessages, Judging};
pub use listed::ListedSession;
pub use origin::Origin;
pub use rehydrate::{Original, PASSAGES, Rehydrated, Wanted};

use entry::{Entry, Mark, Opening, SESSION_VERSION, Served};
use instructions::Instruction;
use layers::Layers;
use pending::Pending;
use turn::{Priced, PricedObject, Turn};

/// The tokens that a provider adds to a message, at most.
const AROUND: u64 = 8;

/// The logs of sessions are named so.
const PREFIX: &str = "session/";
/// The number of entries that are read at once while the last epoch is looked for.
const CHUNK: u64 = 256;
/// The longest id of a session, in bytes.
const MAX_ID: usize = 128;
/// The most messages that are added at once.
const MAX_MESSAGES: usize = 100_000;

/// A session, as far as its next compile needs it.
#[derive(Debug)]
pub struct Session {
    tenant: Tenant,
    log: String,
    /// The number of the last entry that was read.
    last: u64,
    /// The instant at which the last message was added.
    latest: Option<Instant>,
    opened: Opened,
    opening: Opening,
    opening_at: Option<u64>,
    /// The cost of the tools of its opening.
    tools_cost: Priced,
    instructions_cost: Priced,
    mark: Mark,
    frontier: Frontier,
    request: Option<Turn>,
    /// The instructions of messages before those that stand.
    standing: Vec<Instruction>,
    turns: Vec<Turn>,
    /// The messages of the window that were judged, and those that cannot stand without them, as they were said.
    aside: Vec<Turn>,
    /// Those of them that stand all the same, without their results, which answer calls that were judged.
    unanswering: BTreeSet<u64>,
    /// Set where a message may have to move from the one to the other.
    unsorted: bool,
    /// The messages that are judged, each with the entry that says so.
    judged: BTreeMap<u64, (u64, MessageStatus)>,
    /// Those that were when a request was last compiled, or the epoch began.
    judged_before: BTreeSet<u64>,
    /// The requests of this epoch, each with the number of its entry.
    served: Vec<(u64, Served)>,
    /// The messages that stand in the tail again, whole or as passages.
    carried: Vec<(u64, Option<String>)>,
    pinned: Vec<u64>,
    learned: Option<u32>,
    shortened: BTreeMap<(u64, u32), String>,
    messages: u64,
    /// Whether anything was erased since a request of this epoch.
    erased: bool,
    layers: Layers,
    /// The objects besides the messages, by name, as they were made last.
    made: Mutex<BTreeMap<String, PricedObject>>,
    /// The writes that wait, where they do.
    pending: Option<Pending>,
    /// Set where pending writes failed, so that it differs from its log.
    lost: bool,
    /// The number of times that it was read again because of that.
    generation: u64,
    /// The room for the answer that its last request kept, in tokens.
    pub(crate) keeps: Option<u32>,
    /// With which calibration of counts the next request is compiled.
    pub(crate) calibrated: Option<u32>,
    /// Set where an agent goes on with it, so that what it sent before went to a provider, compiled or as it came.
    pub(crate) goes_on: bool,
    keeping: Keeping,
}

/// The fate of what happens to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keeping {
    /// Its log keeps it.
    Logged,
    /// Nothing is written of it, a copy that is thrown away.
    Copied,
    /// Nothing is written of it, a conversation that is compiled once and has no log.
    Once,
}

/// The summary of a session, known without reading it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// The number of entries of its log.
    pub entries: u64,
}

impl Session {
    /// The name of the log that holds a session.
    pub(crate) fn log_of(id: &str) -> String {
        format!("{PREFIX}{id}")
    }

    /// Begins a session. Without an id it gets a random one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the id cannot be one; [`ErrorKind::Conflict`] when there is such a session
    /// already; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn create(
        tenant: Tenant,
        id: Option<&str>,
        at: Instant,
        scope: (Option<String>, Option<String>),
        format: Option<Format>,
    ) -> Result<Session, Error> {
        Session::create_once(tenant, id, at, scope, format, None)
    }

    /// As [`Session::create`]; where this very write made the session already, that one is given.
    ///
    /// # Errors
    ///
    /// As [`Session::create`].
    pub fn create_once(
        tenant: Tenant,
        id: Option<&str>,
        at: Instant,
        scope: (Option<String>, Option<String>),
        format: Option<Format>,
        once: Option<IdempotencyKey>,
    ) -> Result<Session, Error> {
        Session::begin_with(tenant, id, at, scope, format, (once, None))
    }

    /// As [`Session::create`], for messages that are brought from elsewhere.
    ///
    /// # Errors
    ///
    /// As [`Session::create`].
    pub fn import(
        tenant: Tenant,
        id: Option<&str>,
        at: Instant,
        scope: (Option<String>, Option<String>),
        format: Option<Format>,
        origin: Origin,
    ) -> Result<Session, Error> {
        Session::begin_with(tenant, id, at, scope, format, (None, Some(origin)))
    }

    fn begin_with(
        tenant: Tenant,
        id: Option<&str>,
        at: Instant,
        (user, project): (Option<String>, Option<String>),
        format: Option<Format>,
        (once, origin): (Option<IdempotencyKey>, Option<Origin>),
    ) -> Result<Session, Error> {
        let id = match (id, &once) {
            (Some(id), _) => checked_id(id)?.to_owned(),
            // The same write sent again comes to the same session.
            (None, Some(once)) => once.session_id(),
            (None, None) => random_id()?,
        };
        let opened = Opened {
            version: SESSION_VERSION,
            id: id.clone(),
            at,
            user,
            project,
            format,
            once,
            origin,
        };
        let log = Session::log_of(&id);
        let appended = tenant.append(&log, 0, vec![written(&Entry::Opened(opened.clone()))?]);
        if let (Err(error), Some(once)) = (&appended, &opened.once)
            && error.kind == ErrorKind::Conflict
        {
            let there = Session::open(tenant.clone(), &id)?;
            if let Some(done) = &there.opened.once
                && once.is_repeat_of(done)?
            {
                return Ok(there);
            }
        }
        appended.map_err(|error| match error.kind {
            ErrorKind::Conflict => Error::new(
                ErrorKind::Conflict,
                format!("there is a session `{}` already", clip(&id)),
            )
            .expected("another id, or none to get a random one"),
            _ => error,
        })?;
        Ok(Session::empty(tenant, log, opened))
    }

    fn empty(tenant: Tenant, log: String, opened: Opened) -> Session {
        Session {
            tenant,
            log,
            last: 1,
            latest: Some(opened.at),
            opened,
            opening: Opening::default(),
            opening_at: None,
            tools_cost: Priced::default(),
            instructions_cost: Priced::default(),
            mark: Mark {
                cause: tenure::trace::EpochCause::First,
                rewritten: 0,
                from: 0,
                frontier: Vec::new(),
                request: None,
                opening: None,
                pinned: Vec::new(),
                learned: None,
                messages: 0,
                ledger: None,
                names_no_tool: false,
                names_tool: None,
                recalled: Vec::new(),
                words: Some(UserWords::default()),
                shortened: Vec::new(),
                compiler: tenure::COMPILER,
                standing: Some(Vec::new()),
                judged: Vec::new(),
            },
            frontier: Frontier::default(),
            request: None,
            standing: Vec::new(),
            turns: Vec::new(),
            aside: Vec::new(),
            unanswering: BTreeSet::new(),
            unsorted: false,
            judged: BTreeMap::new(),
            judged_before: BTreeSet::new(),
            served: Vec::new(),
            carried: Vec::new(),
            pinned: Vec::new(),
            learned: None,
            shortened: BTreeMap::new(),
            messages: 0,
            erased: false,
            layers: Layers::default(),
            made: Mutex::default(),
            pending: None,
            lost: false,
            generation: 0,
            keeps: None,
            goes_on: false,
            calibrated: None,
            keeping: Keeping::Logged,
        }
    }

    /// The session of this id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is none, or its log cannot be read;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn open(tenant: Tenant, id: &str) -> Result<Session, Error> {
        match Session::find(tenant.clone(), id)? {
            Some(session) => Ok(session),
            None => Err(missing(&tenant, id)?),
        }
    }

    /// The session of this id, where there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when its log cannot be read; [`ErrorKind::Unavailable`] when the store cannot be
    /// reached.
    pub fn find(tenant: Tenant, id: &str) -> Result<Option<Session>, Error> {
        let log = Session::log_of(checked_id(id)?);
        let last = tenant.last(&log)?;
        if last == 0 {
            return Ok(None);
        }
        let opened = match one(&tenant, &log, 1)? {
            Entry::Opened(opened) if opened.version == SESSION_VERSION => opened,
            Entry::Opened(opened) => {
                let what = format!("the session has version {}", opened.version);
                return Err(Error::input(what).expected(format!("version {SESSION_VERSION}")));
            }
            _ => return Err(unreadable(&log, 1, "a session begins with `opened`")),
        };
        let mut session = Session::empty(tenant, log, opened);
        session.find_epoch(last)?;
        session.catch_up()?;
        Ok(Some(session))
    }

    /// The beginning of the session of this id, where there is one: whose it is, in one read.
    ///
    /// # Errors
    ///
    /// As [`Session::find`].
    pub fn opening(tenant: &Tenant, id: &str) -> Result<Option<Opened>, Error> {
        let log = Session::log_of(checked_id(id)?);
        let Some((number, body)) = tenant.entries_in(&log, 1..2)?.into_iter().next() else {
            return Ok(None);
        };
        match parsed(&log, number, &body)? {
            Entry::Opened(opened) => Ok(Some(opened)),
            _ => Err(unreadable(&log, 1, "a session begins with `opened`")),
        }
    }

    /// The sessions of a tenant.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn list(tenant: &Tenant) -> Result<Vec<SessionSummary>, Error> {
        let logs = tenant.logs()?;
        Ok(logs
            .into_iter()
            .filter_map(|(log, entries)| {
                let id = log.strip_prefix(PREFIX)?.to_owned();
                Some(SessionSummary { id, entries })
            })
            .collect())
    }

    /// Reads back from the end to where the last epoch began, and makes that the state.
    fn find_epoch(&mut self, last: u64) -> Result<(), Error> {
        let mut end = last + 1;
        while end > 2 {
            let start = end.saturating_sub(CHUNK).max(2);
            let chunk = self.tenant.entries_in(&self.log, start..end)?;
            for (number, body) in chunk.into_iter().rev() {
                if !body.starts_with("{\"epoch\"") {
                    continue;
                }
                let Entry::Epoch(mark) = parsed(&self.log, number, &body)? else {
                    continue;
                };
                return self.begin(number, *mark);
            }
            end = start;
        }
        Ok(())
    }

    fn open_with(&mut self, opening: Opening, at: u64) {
        (self.opening, self.opening_at) = (opening, Some(at));
        self.tools_cost = Priced::default();
        self.instructions_cost = Priced::default();
    }

    /// Takes an epoch's beginning as the state: reads what the mark names, and the messages that stay.
    fn begin(&mut self, number: u64, mark: Mark) -> Result<(), Error> {
        let mut checkpoints = Vec::new();
        for at in &mark.frontier {
            let Entry::Checkpoint(checkpoint) = self.one(*at)? else {
                return Err(unreadable(&self.log, *at, "a summary is expected there"));
            };
            checkpoints.push((*at, checkpoint));
        }
        if let Some(at) = mark.opening {
            let Entry::Opening(opening) = self.one(at)? else {
                return Err(unreadable(&self.log, at, "an opening is expected there"));
            };
            self.open_with(opening, at);
        }
        self.request = match mark.request {
            Some(at) => match self.one(at)? {
                Entry::Said(message) => Some(Turn::new(at, message)),
                _ => return Err(unreadable(&self.log, at, "a message is expected there")),
            },
            None => None,
        };
        let mut standing = Vec::new();
        for place in mark.standing.iter().flatten() {
            let Entry::Said(message) = self.one(place.turn)? else {
                return Err(unreadable(
                    &self.log,
                    place.turn,
                    "a message is expected there",
                ));
            };
            standing.extend(Instruction::at(place, &message.objects));
        }
        self.standing = standing;
        self.turns.clear();
        self.aside.clear();
        self.unanswering.clear();
        self.served.clear();
        for (at, body) in self.tenant.entries_in(&self.log, mark.from..number)? {
            match parsed(&self.log, at, &body)? {
                Entry::Said(message) => {
                    self.latest = self.latest.max(Some(message.at));
                    self.turns.push(Turn::new(at, message));
                }
                Entry::Withdrawn { after } => self.turns.retain(|turn| turn.number <= after),
                _ => {}
            }
        }
        self.frontier = Frontier::new(checkpoints);
        self.pinned.clone_from(&mark.pinned);
        self.learned = mark.learned;
        self.messages = mark.messages;
        let shortened = mark.shortened.iter();
        self.shortened =
            shortened.map(|(turn, part, text)| ((*turn, *part), text.clone())).collect();
        self.carried.clear();
        let judged = mark.judged.iter();
        self.judged = judged.map(|one| (one.turn, (one.entry, one.status))).collect();
        self.judged_before = self.judged.keys().copied().collect();
        self.unsorted = !self.judged.is_empty();
        self.made = Mutex::default();
        self.erased = false;
        self.mark = mark;
        self.last = number;
        Ok(())
    }

    /// Reads what others have appended since, and all of it again where anything was erased.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the session was erased; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let lost = self.is_lost()?;
        if lost || self.catch_up()? {
            let (generation, keeps) = (self.generation + u64::from(lost), self.keeps);
            *self = Session::open(self.tenant.clone(), self.id())?;
            (self.generation, self.keeps) = (generation, keeps);
        }
        Ok(())
    }

    /// Reads what others have appended since; tells whether anything was erased.
    fn catch_up(&mut self) -> Result<bool, Error> {
        let mut erased = false;
        // The last entry that is known is there as long as the session is.
        let mut new = self.tenant.entries(&self.log, self.last - 1)?.into_iter();
        if new.next().is_none() {
            return Err(missing(&self.tenant, self.id())?);
        }
        for (number, body) in new {
            let entry = parsed(&self.log, number, &body)?;
            erased |= matches!(entry, Entry::Erased {});
            self.fold(number, entry)?;
        }
        self.set_aside();
        Ok(erased)
    }

    /// The objects of the messages that an id names, as [`Session::rehydrate`] takes it: what an erasure of
    /// them is asked for with.
    ///
    /// # Errors
    ///
    /// As [`Session::rehydrate`].
    pub fn objects_of(&self, id: &str) -> Result<Vec<ObjectId>, Error> {
        let found = self.said_as(id)?;
        found
            .into_iter()
            .flat_map(|(_, message)| message.objects)
            .map(|object| Ok(object.seal_stored()?.revision().object_id()))
            .collect()
    }

    /// Erases a session whole: its log, and what records and kept texts say of it. No session has its id
    /// again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such session; otherwise as [`Tenant::erase`].
    pub fn erase(tenant: &Tenant, id: &str, writing: &Writing) -> Result<Written, Error> {
        let log = Session::log_of(checked_id(id)?);
        // What was erased under a key before is answered, although it is not there any more.
        match tenant.erase_log(&log, writing) {
            Err(error) if error.kind == ErrorKind::Input && tenant.last(&log)? == 0 => {
                Err(missing(tenant, id)?)
            }
            erased => erased,
        }
    }

    fn fold(&mut self, number: u64, entry: Entry) -> Result<(), Error> {
        match entry {
            Entry::Opened(_) | Entry::Checkpoint(_) => {}
            Entry::Erased {} => self.erased |= !self.served.is_empty(),
            Entry::Opening(opening) => self.open_with(opening, number),
            Entry::Said(message) => {
                self.latest = self.latest.max(Some(message.at));
                self.messages += 1;
                self.turns.push(Turn::new(number, message));
                self.unsorted |= !self.aside.is_empty();
            }
            Entry::Withdrawn { after } => {
                self.messages -= self.turns_after(after).len() as u64;
                let turns = self.turns.iter().chain(&self.aside);
                let asked = turns.filter(|turn| !turn.reply && turn.number > after);
                if let Some(asked) = asked.map(|turn| turn.number).min() {
                    // What was served for a message that is taken back stands nowhere.
                    self.served.retain(|(at, _)| *at < asked);
                }
                self.turns.retain(|turn| turn.number <= after);
                self.aside.retain(|turn| turn.number <= after);
            }
            Entry::Judged(judged) => self.take_judgement(number, &judged),
            Entry::Epoch(mark) => self.begin(number, *mark)?,
            Entry::Served(served) => {
                self.served.push((number, *served));
                self.judged_before = self.judged.keys().copied().collect();
            }
            Entry::Carried { turns, passages } => self.take_over(turns, passages),
            Entry::Pinned { turn } => self.pinned.push(turn),
            Entry::Unpinned { turn } => self.pinned.retain(|pinned| *pinned != turn),
            Entry::Learned { window } => self.learned = Some(window),
            Entry::Shortened { turn, part, text } => {
                self.shortened.insert((turn, part), text);
            }
        }
        self.last = number;
        Ok(())
    }

    fn one(&self, number: u64) -> Result<Entry, Error> {
        one(&self.tenant, &self.log, number)
    }

    /// Appends entries, all or none, and makes them part of the state.
    fn push(&mut self, entries: Vec<Entry>) -> Result<(), Error> {
        self.check()?;
        let bodies: Result<Vec<String>, Error> = entries.iter().map(written).collect();
        let (after, bodies) = (self.last, bodies?);
        let appended = match &mut self.pending {
            Some(pending) => {
                pending.bodies.extend(bodies);
                // What begins an epoch is read back.
                if entries.iter().any(|entry| matches!(entry, Entry::Epoch(_))) {
                    self.flush()
                } else {
                    Ok(())
                }
            }
            None => self.tenant.append(&self.log, after, bodies).map(drop),
        };
        appended.map_err(|error| self.written_meanwhile(error))?;
        for (number, entry) in (after + 1..).zip(entries) {
            self.fold(number, entry)?;
        }
        self.set_aside();
        Ok(())
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.opened.id
    }

    /// Its beginning.
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The number of its last entry: what it is the state of.
    pub fn version(&self) -> u64 {
        self.last
    }

    /// The target that takes messages of the format that it began with.
    pub fn target(&self) -> Target {
        self.opened.format.map_or(Target::OpenAiChat, Target::from)
    }

    /// The number of its messages.
    pub fn len(&self) -> u64 {
        self.messages
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// The summaries that stand for its oldest messages, each under its number.
    pub fn checkpoints(&self) -> &[(u64, Checkpoint)] {
        self.frontier.checkpoints()
    }

    /// Adds the messages of a conversation, and takes over its instructions and tools where it has any. Returns the
    /// messages' numbers.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when another writer wrote meanwhile; [`ErrorKind::Input`] when a message cannot stand;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached. Nothing is written then.
    pub fn append(&mut self, conversation: Conversation, now: Instant) -> Result<Vec<u64>, Error> {
        self.append_as(None, conversation, now, false)
    }

    /// Adds a provider's reply that no request has brought back yet. Returns the numbers of its messages.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn append_reply(&mut self, reply: Conversation, now: Instant) -> Result<Vec<u64>, Error> {
        self.append_as(None, reply, now, true)
    }

    /// Takes the replies after this message back, so that it is the last one; returns whether it is. Nothing happens
    /// where anything else follows it. The log keeps them.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn withdraw(&mut self, after: u64) -> Result<bool, Error> {
        if !self.stands(after) {
            return Ok(false);
        }
        let follow = self.turns_after(after);
        if follow.is_empty() {
            return Ok(true);
        }
        if !follow.iter().all(|turn| turn.reply) {
            return Ok(false);
        }
        self.push(vec![Entry::Withdrawn { after }])?;
        Ok(true)
    }

    /// Takes back the one message after this one, where it has no answer and this message says all of it and more: a
    /// client whose answer broke off may add to what it asked. Returns whether it did. The log keeps it.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub(crate) fn amend(&mut self, after: u64, message: &wire::Entry) -> Result<bool, Error> {
        let follow = if self.stands(after) {
            self.turns_after(after)
        } else {
            Vec::new()
        };
        let [asked] = follow[..] else {
            return Ok(false);
        };
        if asked.reply || !asked.is_begun_by(message) {
            return Ok(false);
        }
        self.push(vec![Entry::Withdrawn { after }])?;
        Ok(true)
    }

    /// Returns whether the message of this number is one of those that no summary replaces.
    pub fn stands(&self, turn: u64) -> bool {
        let mut turns = self.turns.iter().chain(&self.aside);
        turns.any(|known| known.number == turn)
    }

    /// The number of its last message; 0 where it has none.
    pub fn last_turn(&self) -> u64 {
        let last = self.turns.last().into_iter().chain(self.aside.last());
        last.map(|turn| turn.number).max().unwrap_or(0)
    }

    fn append_as(
        &mut self,
        mut once: Option<IdempotencyKey>,
        conversation: Conversation,
        now: Instant,
        reply: bool,
    ) -> Result<Vec<u64>, Error> {
        if conversation.entries.len() > MAX_MESSAGES {
            let count = conversation.entries.len();
            return Err(Error::input(format!("there are {count} messages"))
                .expected(format!("at most {MAX_MESSAGES} at once")));
        }
        // A clock that goes back holds nothing up.
        let at = self.latest.map_or(now, |latest| latest.max(now));
        let conversation = conversation.received(at);
        let mut entries = Vec::new();
        let opening = self.opening_of(&conversation);
        if !opening.is_empty() && !opening.is_as(&self.opening) {
            entries.push(Entry::Opening(opening));
        }
        let first = self.last + 1 + entries.len() as u64;
        for (number, said) in (first..).zip(conversation.entries) {
            let mut objects = said.objects;
            for (part, object) in objects.iter_mut().enumerate() {
                object.name = format!("t{number}.{part}");
                self.own(object);
                // A message that cannot stand is refused now, not when it is compiled.
                object.clone().seal().map_err(|error| {
                    error.or_at(format!("message {}", number + 1 - first), None)
                })?;
            }
            entries.push(Entry::Said(Message {
                at,
                objects,
                signed: said.signed,
                opaque: said.opaque,
                reply,
                once: once.take(),
            }));
        }
        let last = self.last + entries.len() as u64;
        self.push(entries)?;
        Ok((first..=last).collect())
    }

    /// Says whose an object of this session is.
    fn own(&self, object: &mut ObjectDocument) {
        object.tenant_id = Some(self.tenant.name().to_owned());
        object.session_id = (!self.is_once()).then(|| self.opened.id.clone());
        object.user_id.clone_from(&self.opened.user);
        object.project_id.clone_from(&self.opened.project);
    }

    fn opening_of(&self, conversation: &Conversation) -> Opening {
        let own = |mut object: ObjectDocument| {
            self.own(&mut object);
            object
        };
        let before = &conversation.instructions;
        let instructions = before.iter().flat_map(|entry| entry.objects.clone());
        // What had to be offered once is offered from then on.
        let must = |name: &str| {
            let mut known = self.opening.tools.iter();
            known.any(|tool| tool.name == name && tool.removable == Some(false))
        };
        let tools = conversation.tools.iter().cloned().map(|mut tool| {
            if must(&tool.name) {
                tool.removable = Some(false);
            }
            own(tool)
        });
        Opening {
            instructions: instructions.map(own).collect(),
            messages: before.iter().map(|entry| entry.message.clone()).collect(),
            tools: tools.collect(),
            server_tools: conversation.server_tools.clone(),
            format: Some(conversation.format),
        }
    }

    /// Takes over what stands before the history, where it is not what is known of it.
    pub(crate) fn reopen(&mut self, conversation: &Conversation) -> Result<(), Error> {
        let opening = self.opening_of(conversation);
        if opening.is_empty() || opening.is_as(&self.opening) {
            return Ok(());
        }
        self.push(vec![Entry::Opening(opening)])
    }

    /// Offers these tools from now on, whatever the step: no gate leaves them out.
    pub(crate) fn must_offer(&mut self, names: &[&str]) -> Result<(), Error> {
        let mut opening = self.opening.clone();
        for tool in &mut opening.tools {
            if names.contains(&tool.name.as_str()) {
                tool.removable = Some(false);
            }
        }
        if opening == self.opening {
            return Ok(());
        }
        self.push(vec![Entry::Opening(opening)])
    }

    /// The window that a provider's error named.
    pub fn learned(&self) -> Option<u32> {
        self.learned
    }

    /// Returns whether any of its messages no longer stands as it was said.
    pub fn is_cut(&self) -> bool {
        !self.frontier.checkpoints().is_empty() || !self.shortened.is_empty()
    }

    /// Returns whether a request was compiled of it in this epoch.
    pub fn is_served(&self) -> bool {
        !self.served.is_empty()
    }

    /// The calibration of counts that its epoch began with; none where no request of it was compiled in this epoch.
    pub(crate) fn began_with(&self) -> Option<Option<u32>> {
        let served = self.served.last();
        served.map(|(_, served)| served.calibrated)
    }

    /// When its window is full, as its last request in this epoch has it; none before there was one.
    pub fn forecast(&self) -> Option<Forecast> {
        self.served.last().and_then(|(_, served)| served.forecast)
    }

    /// The cost of its messages that stand, about, by this vocabulary.
    pub fn cost(&self, world: &World) -> u64 {
        self.turns.iter().map(|turn| turn.cost(world)).sum()
    }

    /// The user's last words, if any.
    pub fn last_request(&self) -> Option<String> {
        let request = self.request.iter().filter(|turn| !self.is_judged(turn.number));
        let mut said = request.chain(&self.turns).flat_map(Turn::spoken);
        said.rfind(|(_, speaker, text)| *speaker == Speaker::User && !text.trim().is_empty())
            .map(|(_, _, text)| text)
    }

    /// The objects of the last messages, for a reader of what follows them.
    pub fn recent(&self) -> Vec<&ObjectDocument> {
        self.turns_after(0).into_iter().flat_map(|turn| &turn.entry.objects).collect()
    }

    /// Notes a provider's error. Where it names the window, the next compile keeps to it; returns the window.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn learn(&mut self, error: &str) -> Result<Option<u32>, Error> {
        let window = tenure::session::learned_window(error);
        if let Some(window) = window.filter(|window| Some(*window) != self.learned) {
            self.push(vec![Entry::Learned { window }])?;
        }
        Ok(window)
    }

    /// Keeps requests to a window, as the vocabulary of its model counts it.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn keep_to(&mut self, window: u32) -> Result<(), Error> {
        match self.learned {
            Some(learned) if learned <= window => Ok(()),
            _ => self.push(vec![Entry::Learned { window }]),
        }
    }

    /// Makes a message outlive every compaction.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such message; else as [`Session::append`].
    pub fn pin(&mut self, turn: u64) -> Result<(), Error> {
        self.message(turn)?;
        if self.pinned.contains(&turn) {
            return Ok(());
        }
        self.push(vec![Entry::Pinned { turn }])
    }

    /// Lets a message go that was pinned: summaries that are made from now on keep it only if it must stay anyway.
    ///
    /// # Errors
    ///
    /// As [`Session::pin`].
    pub fn unpin(&mut self, turn: u64) -> Result<(), Error> {
        self.message(turn)?;
        if !self.pinned.contains(&turn) {
            return Ok(());
        }
        self.push(vec![Entry::Unpinned { turn }])
    }

    /// The messages that are pinned, in the order in which they were.
    pub fn pinned(&self) -> &[u64] {
        &self.pinned
    }
}

/// There is no session of this id.
fn missing(tenant: &Tenant, id: &str) -> Result<Error, Error> {
    let ids = Session::list(tenant)?;
    let near = tenure::error::nearest(id, ids.iter().map(|found| found.id.as_str()));
    let error = Error::not_found(format!("there is no session `{}`", clip(id)));
    Ok(match near {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`tenure session list` shows what there is"),
    })
}

fn checked_id(id: &str) -> Result<&str, Error> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    if id.is_empty() || id.len() > MAX_ID || !id.chars().all(legal) {
        return Err(
            Error::input(format!("`{}` cannot be the id of a session", clip(id))).expected(
                format!("1 to {MAX_ID} letters, digits, `_`, `-`, `.` or `:`"),
            ),
        );
    }
    Ok(id)
}

fn random_id() -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        let what = format!("the system's random number generator failed: {error}");
        Error::new(ErrorKind::Unavailable, what)
    })?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("ses-{hex}"))
}

fn written(entry: &Entry) -> Result<String, Error> {
    serde_json::to_string(entry)
        .map_err(|error| Error::input(format!("a session's entry cannot be written: {error}")))
}

fn one(tenant: &Tenant, log: &str, number: u64) -> Result<Entry, Error> {
    let found = tenant.entries_in(log, number..number.saturating_add(1))?;
    let (number, body) =
        found.first().ok_or_else(|| unreadable(log, number, "there is no such entry"))?;
    parsed(log, *number, body)
}

fn parsed(log: &str, number: u64, body: &str) -> Result<Entry, Error> {
    serde_json::from_str(body).map_err(|error| unreadable(log, number, &error.to_string()))
}

fn unreadable(log: &str, number: u64, why: &str) -> Error {
    Error::damaged(format!(
        "entry {number} of the log `{}` cannot be read: {why}",
        clip(log)
    ))
}
