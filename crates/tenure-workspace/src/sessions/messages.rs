//! The messages of a session, read from its log.

use tenure::Error;
use tenure::object::clip;
use tenure::wire::{self, Format};

use super::entry::Entry;
use super::{CHUNK, Message, Session, parsed};

impl Session {
    /// The message of this number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn message(&self, turn: u64) -> Result<Message, Error> {
        let none = || {
            Error::input(format!(
                "there is no message t{turn} in `{}`",
                clip(self.id())
            ))
            .hint("`tenure session show` lists them")
        };
        // A number that was never written is its caller's fault, and no damage.
        if turn == 0 || turn > self.last {
            return Err(none());
        }
        match self.one(turn)? {
            Entry::Said(message) => Ok(message),
            _ => Err(none()),
        }
    }

    /// Calls `each` with every message and its number, in order. Replies that were taken back are left out.
    ///
    /// # Errors
    ///
    /// What `each` says; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn each_message(
        &self,
        each: &mut dyn FnMut(u64, Message) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut start = 2;
        // What may still be taken back: replies, and the message before them.
        let mut held: Vec<(u64, Message)> = Vec::new();
        while start <= self.last {
            let end = (start + CHUNK).min(self.last + 1);
            for (number, body) in self.tenant.entries_in(&self.log, start..end)? {
                match parsed(&self.log, number, &body)? {
                    Entry::Said(message) if message.reply => held.push((number, message)),
                    Entry::Said(message) => {
                        for (number, before) in held.drain(..) {
                            each(number, before)?;
                        }
                        held.push((number, message));
                    }
                    Entry::Withdrawn { after } => held.retain(|(number, _)| *number <= after),
                    _ => {}
                }
            }
            start = end;
        }
        for (number, message) in held {
            each(number, message)?;
        }
        Ok(())
    }

    /// At most `most` messages after the one of this number, in order, and whether there are more.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn messages_after(
        &self,
        after: u64,
        most: usize,
    ) -> Result<(Vec<(u64, Message)>, bool), Error> {
        let mut page: Vec<(u64, Message)> = Vec::new();
        let mut start = after.saturating_add(1).max(2);
        while start <= self.last {
            let end = (start + CHUNK).min(self.last + 1);
            for (number, body) in self.tenant.entries_in(&self.log, start..end)? {
                match parsed(&self.log, number, &body)? {
                    // A reply is known to stay once something else follows it.
                    Entry::Said(message) => {
                        if page.len() > most && !message.reply {
                            page.truncate(most);
                            return Ok((page, true));
                        }
                        page.push((number, message));
                    }
                    Entry::Withdrawn { after } => page.retain(|(number, _)| *number <= after),
                    _ => {}
                }
            }
            start = end;
        }
        let more = page.len() > most;
        page.truncate(most);
        Ok((page, more))
    }

    /// The messages of the session in a provider's format, without what stands before them: those that came in it, byte for
    /// byte.
    ///
    /// # Errors
    ///
    /// As [`tenure::wire::write()`].
    pub fn export(&self, format: Format) -> Result<wire::Written, Error> {
        let mut objects = Vec::new();
        self.each_message(&mut |_, message| {
            objects.extend(message.objects);
            Ok(())
        })?;
        wire::write(&objects.iter().collect::<Vec<_>>(), format)
    }

    /// The session as a request of a provider: what stands before the messages, and they. What came in its format is written
    /// byte for byte.
    ///
    /// # Errors
    ///
    /// As [`tenure::wire::write_request()`].
    pub fn export_request(&self, format: Format) -> Result<wire::WrittenRequest, Error> {
        let mut objects = Vec::new();
        self.each_message(&mut |_, message| {
            objects.extend(message.objects);
            Ok(())
        })?;
        let objects: Vec<_> = objects.iter().collect();
        wire::write_request(&self.before(), &objects, format)
    }

    /// What stands before the messages.
    pub fn before(&self) -> wire::Before<'_> {
        wire::Before {
            format: self.opening.format.or(self.opened.format),
            messages: &self.opening.messages,
            instructions: &self.opening.instructions,
            tools: &self.opening.tools,
            server_tools: &self.opening.server_tools,
        }
    }
}
