//! Writes to a session under an idempotency key: a write that is sent again is done once.

use tenure::Error;
use tenure::time::Instant;
use tenure::wire::Conversation;

use super::entry::Entry;
use super::idempotency::IdempotencyKey;
use super::{CHUNK, Session, parsed};

impl Session {
    /// The messages that a write added, where it was done already. It is looked for among the newest
    /// entries of the session, 256 at least: a write is sent again soon, or not at all.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`](tenure::ErrorKind::Conflict) when the key was used for something else; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when
    /// the store cannot be reached.
    pub fn appended(&self, once: &IdempotencyKey) -> Result<Option<Vec<u64>>, Error> {
        let start = (self.last + 1).saturating_sub(CHUNK).max(1);
        for (number, body) in self.tenant.entries_in(&self.log, start..self.last + 1)? {
            if !body.contains("\"once\":") {
                continue;
            }
            let Entry::Said(message) = parsed(&self.log, number, &body)? else {
                continue;
            };
            if let Some(done) = &message.once
                && once.is_repeat_of(done)?
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
        once: IdempotencyKey,
        conversation: Conversation,
        now: Instant,
    ) -> Result<Vec<u64>, Error> {
        let messages = conversation.entries.len() as u64;
        self.append_as(Some(once.of(messages)), conversation, now, false)
    }
}
