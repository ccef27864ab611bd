//! A message of a session's window, with what was made of it.

use std::sync::{Arc, Mutex, OnceLock};

use tenure::ContextObject;
use tenure::object::{ObjectType, Role};
use tenure::wire::{self, ClientBlock, Format};

use super::entry::Message;

/// A message of the window.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(super) number: u64,
    pub(super) entry: wire::Entry,
    /// Whether it may be taken back.
    pub(super) reply: bool,
    pub(super) sealed: Mutex<Option<Sealed>>,
    /// What it costs, and by whose vocabulary.
    pub(super) tokens: OnceLock<(String, u64)>,
    /// The blocks that a client put into it, each with its part.
    pub(super) blocks: OnceLock<Vec<(u32, ClientBlock)>>,
}

/// The objects of a message, with the shorter forms that some of its parts have there.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) forms: Vec<(u32, String)>,
    pub(super) objects: Arc<[Arc<ContextObject>]>,
    /// What they cost, and by whose vocabulary.
    pub(super) tokens: Option<(String, u64)>,
}

/// A summary, what the user demanded, or a tail that was sent; and what it costs by whose vocabulary.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) object: Arc<ContextObject>,
    pub(super) model: String,
    pub(super) tokens: u64,
}

impl Turn {
    pub(super) fn new(number: u64, message: Message) -> Turn {
        let wire = message
            .objects
            .first()
            .and_then(|object| object.wire.as_ref());
        Turn {
            number,
            reply: message.reply,
            entry: wire::Entry {
                format: wire.map_or(Format::OpenAiChat, |wire| wire.format),
                message: String::new(),
                objects: message.objects,
                signed: message.signed,
                opaque: message.opaque,
                faults: Vec::new(),
            },
            sealed: Mutex::default(),
            tokens: OnceLock::new(),
            blocks: OnceLock::new(),
        }
    }

    /// Whether the user says something in it, besides what a client added.
    pub(super) fn is_request(&self) -> bool {
        let mut objects = (0u32..).zip(&self.entry.objects);
        objects.any(|(part, object)| {
            let is_users = object.object_type == Some(ObjectType::Turn)
                && object.role.unwrap_or(Role::User) == Role::User;
            let is_added = |(of, _): &(u32, ClientBlock)| *of == part;
            is_users
                && (!self.blocks().iter().any(is_added)
                    || !self.without(part, &|_| true).trim().is_empty())
        })
    }
}
