//! Writes to a session that are sent again are done once: each may come under a key.

use serde::{Deserialize, Serialize};
use tenure::object::clip;
use tenure::time::Instant;
use tenure::wire::Conversation;
use tenure::{Digest, Error, ErrorKind};

use super::entry::Entry;
use super::{CHUNK, Session, parsed};

/// The longest key, in bytes: as in the rest of the store.
const MAX_KEY: usize = 256;

/// What tells one write from another, wherever it is sent from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    key: String,
    /// Of what was asked for under it.
    asked: Digest,
    /// How many messages it added.
    #[serde(default)]
    messages: u64,
}

impl Once {
    /// A write of this, under this key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the key is empty or too long.
    pub fn new(key: &str, asked: &[u8]) -> Result<Once, Error> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Error::input("the idempotency key is empty or too long")
                .expected(format!("1 to {MAX_KEY} bytes")));
        }
        Ok(Once {
            key: key.to_owned(),
            asked: Digest::of(asked),
            messages: 0,
        })
    }

    /// The id of a session that this write makes and gives no id to.
    pub(super) fn session_id(&self) -> String {
        let digest = Digest::of(self.key.as_bytes()).to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("ses-{}", hex.get(..16).unwrap_or(hex))
    }

    /// Whether what was done is what is asked for now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key is the same, and nothing else is.
    pub(super) fn is_done_by(&self, done: &Once) -> Result<bool, Error> {
        if done.key == self.key && done.asked != self.asked {
            let what = format!(
                "the idempotency key `{}` was used for another write",
                clip(&self.key)
            );
            return Err(Error::new(ErrorKind::Conflict, what).expected("a key of its own"));
        }
        Ok(done.key == self.key)
    }
}

impl Session {
    /// The messages that a write added, where it was done already. It is looked for among the newest
    /// entries of the session, 256 at least: a write is sent again soon, or not at all.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key was used for something else; [`ErrorKind::Unavailable`] when
    /// the store cannot be reached.
    pub fn appended(&self, once: &Once) -> Result<Option<Vec<u64>>, Error> {
        let start = (self.last + 1).saturating_sub(CHUNK).max(1);
        for (number, body) in self.tenant.entries_in(&self.log, start..self.last + 1)? {
            if !body.contains("\"once\":") {
                continue;
            }
            let Entry::Said(message) = parsed(&self.log, number, &body)? else {
                continue;
            };
            if let Some(done) = &message.once
                && once.is_done_by(done)?
            {
                return Ok(Some((number..number + done.messages).collect()));
            }
        }
        Ok(None)
    }

    /// As [`Session::append`], under a key by which [`Session::appended`] finds it.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn append_once(
        &mut self,
        once: Once,
        conversation: Conversation,
        now: Instant,
    ) -> Result<Vec<u64>, Error> {
        let messages = conversation.entries.len() as u64;
        self.append_as(Some(Once { messages, ..once }), conversation, now, false)
    }
}
