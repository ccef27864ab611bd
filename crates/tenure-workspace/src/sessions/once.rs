//! A conversation that a caller brings whole with each call: it is compiled as a session's next request, and nothing of it
//! is kept.

use tenure::object::Sealer;
use tenure::time::Instant;
use tenure::wire::{Conversation, Entry, Format, read_message};
use tenure::{Candidates, Error};
use tenure_store::Tenant;

use super::compile::Marks;
use super::draft::Draft;
use super::draft_inputs::DraftInputs;
use super::entry::{Message, Opened, SESSION_VERSION};
use super::{AROUND, Keeping, Session, Turn};

/// Its id, which no text shows.
const ID: &str = "messages";

/// The bytes to a token of a text, at most, but for rare ones.
const BYTES: u64 = 16;

/// The cost of an object beside the messages besides its text, at most, about, in tokens.
const FRAME: u64 = 64;

impl Session {
    /// Returns the conversation of a tenant's caller as a session in memory. A message has for its number its place among
    /// them, from 1. Where it `is_alone`, messages of the system before it stand as they came, too.
    pub(crate) fn once(
        tenant: &str,
        mut conversation: Conversation,
        is_alone: bool,
        now: Instant,
    ) -> Session {
        let said: Vec<Option<Entry>> = conversation.instructions.iter().map(as_message).collect();
        let first = if is_alone {
            1
        } else {
            1 + said.iter().flatten().count() as u64
        };
        if is_alone {
            let mut is_message = said.iter().map(Option::is_some);
            conversation.instructions.retain(|_| is_message.next() != Some(true));
            conversation.entries.splice(..0, said.into_iter().flatten());
        }
        let conversation = conversation.received(now);
        let opened = Opened {
            version: SESSION_VERSION,
            id: ID.to_owned(),
            at: now,
            user: None,
            project: None,
            format: Some(conversation.format),
            once: None,
            origin: None,
        };
        let mut session = Session::empty(Tenant::nowhere(tenant), Session::log_of(ID), opened);
        session.keeping = Keeping::Once;
        session.opening = session.opening_of(&conversation);
        session.turns.reserve_exact(conversation.entries.len());
        for (number, said) in (first..).zip(conversation.entries) {
            let mut objects = said.objects;
            for (part, object) in objects.iter_mut().enumerate() {
                object.name = format!("t{number}.{part}");
                session.own(object);
            }
            let message = Message {
                at: now,
                objects,
                signed: said.signed,
                opaque: said.opaque,
                reply: false,
                once: None,
            };
            session.turns.push(Turn::new(number, message));
            session.last = number;
        }
        session.messages = session.turns.len() as u64;
        session
    }

    /// Returns whether it is compiled once, and has no log.
    pub(super) fn is_once(&self) -> bool {
        self.keeping == Keeping::Once
    }

    /// Returns whether it is tried whether all its messages fit as they came, together with what stands beside them, into this
    /// room and, where anything does, this share of it that is a history's.
    pub(super) fn may_fit(
        &self,
        how: &DraftInputs<'_>,
        Marks { room, high, .. }: Marks,
        beside: &Candidates,
    ) -> bool {
        let objects = || self.turns.iter().flat_map(|turn| &turn.entry.objects);
        let bytes: usize = objects().map(|object| object.content.len()).sum();
        // A byte makes at most one token. Of what is alone a compile says sooner than a count whether it fits.
        let most = if beside.is_empty() {
            room * BYTES
        } else {
            high
        };
        if bytes as u64 <= most {
            return true;
        }
        let room = room.saturating_sub(self.tools_cost(how.world));
        let tokens: u64 = self.turns.iter().map(|turn| turn.cost(how.world)).sum();
        if beside.is_empty() {
            // What is sent costs a little less.
            return tokens <= room + AROUND * objects().count() as u64;
        }
        let mut left = room.checked_sub(tokens);
        for object in beside.objects().iter().take_while(|_| tokens > high) {
            let text = u64::from(how.world.price(object.revision().content()));
            left = left.and_then(|left| left.checked_sub(text + FRAME));
        }
        left.is_some()
    }

    /// The draft of a request in which all of it stands as it came.
    pub(super) fn as_it_came(&self, how: &DraftInputs<'_>) -> Result<Draft, Error> {
        let mut draft = Draft {
            entries: Vec::new(),
            objects: Vec::new(),
            unfetched: Vec::new(),
            ledger: None,
            tokens: 0,
            cut: false,
        };
        self.stand_before(how, &mut draft)?;
        let mut sealer = Sealer::default();
        for object in self.turns.iter().flat_map(|turn| &turn.entry.objects) {
            let mut document = object.clone();
            document.removable = Some(false);
            draft.objects.push(sealer.seal(document)?);
        }
        self.mend(how, true, &mut draft)?;
        self.offer_gone(how, &mut draft)?;
        Ok(draft)
    }
}

/// The system's words before the history, as a message of it, where it came among the messages and not in a field of its
/// own.
fn as_message(before: &Entry) -> Option<Entry> {
    match before.format {
        Format::OpenAiChat | Format::OpenAiResponses => {
            read_message(before.format, &before.message).ok()
        }
        _ => None,
    }
}
