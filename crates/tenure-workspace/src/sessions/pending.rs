//! A session that is held in memory: pending writes, which are made together, and its size.

use tenure::Error;
use tenure::ObjectDocument;
use tenure::error::ErrorKind;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure_store::{Append, Tenant};

use super::entry::{Entry, Opened, SESSION_VERSION};
use super::{Keeping, PREFIX, Session, random_id, written};

/// The memory of an object without its texts, and the number of copies of these: as they came, as they are sealed,
/// and as they are ranked and priced. Measured roughly, on the safe side.
const OBJECT: usize = 1 << 10;
const COPIES: usize = 4;
/// The number of times that others may write to a session's other logs before pending writes are given up.
const TRIES: u32 = 16;

/// Entries that are part of the state and not yet of the log.
#[derive(Debug)]
pub(super) struct Pending {
    /// The number of the last entry of the log.
    pub(super) after: u64,
    pub(super) bodies: Vec<String>,
    /// Writes to other logs that are made with them.
    others: Vec<Append>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.bodies.is_empty() && self.others.is_empty()
    }

    fn size(&self) -> usize {
        let bodies: usize = self.bodies.iter().map(String::len).sum();
        bodies + self.others.len() * OBJECT
    }
}

impl Session {
    /// Begins a session of this user and project with a random id, whose writes wait until [`Session::flush`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the system's random number generator failed.
    pub(crate) fn begin_deferred(
        tenant: Tenant,
        at: Instant,
        (user, project): (Option<String>, Option<String>),
        format: Format,
    ) -> Result<Session, Error> {
        let id = random_id()?;
        let opened = Opened {
            version: SESSION_VERSION,
            id: id.clone(),
            at,
            user,
            project,
            format: Some(format),
            once: None,
            origin: None,
        };
        let body = written(&Entry::Opened(opened.clone()))?;
        let mut session = Session::empty(tenant, format!("{PREFIX}{id}"), opened);
        session.pending = Some(Pending {
            after: 0,
            bodies: vec![body],
            others: Vec::new(),
        });
        Ok(session)
    }

    /// Lets writes wait from now on, until [`Session::flush`] or [`Session::refresh`]. The state goes on
    /// as if they were made.
    pub(crate) fn defer(&mut self) {
        if self.pending.is_none() {
            self.pending = Some(Pending {
                after: self.last,
                bodies: Vec::new(),
                others: Vec::new(),
            });
        }
    }

    /// Lets a write to another log wait, which is made with those to the session or not at all. The log is
    /// thought to be empty; where it is not, the write comes behind what is there.
    pub(crate) fn defer_to(&mut self, log: String, body: String) {
        self.defer();
        if let Some(pending) = &mut self.pending {
            pending.others.push(Append {
                log,
                after: 0,
                entries: vec![body],
            });
        }
    }

    /// Makes the pending writes, all at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when another writer wrote to the session meanwhile, or pending writes failed before;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached. Nothing is written then, and nothing more until
    /// the next [`Session::refresh`], which reads the session again.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let pending = self.pending.take();
        self.check()?;
        let Some(pending) = pending.filter(|pending| !pending.is_empty()) else {
            return Ok(());
        };
        let done = self.write(pending);
        self.lost = done.is_err();
        done
    }

    /// As [`Session::flush`], for entries that were added to this generation of it.
    ///
    /// # Errors
    ///
    /// As [`Session::flush`]; [`ErrorKind::Conflict`] also where it was read again since.
    pub(crate) fn flush_at(&mut self, generation: u64) -> Result<(), Error> {
        self.check_generation(generation)?;
        self.flush()
    }

    /// The number of times that it was read again because pending writes were lost.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Checks that this generation of it is current.
    pub(crate) fn check_generation(&self, generation: u64) -> Result<(), Error> {
        if self.lost || self.generation != generation {
            Err(Error::new(
                ErrorKind::Conflict,
                format!("an earlier write to the session `{}` failed", self.id()),
            ))
        } else {
            Ok(())
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        self.check_generation(self.generation)
    }

    fn write(&self, pending: Pending) -> Result<(), Error> {
        let own = (!pending.bodies.is_empty()).then(|| Append {
            log: self.log.clone(),
            after: pending.after,
            entries: pending.bodies,
        });
        let mut others = pending.others;
        let mut tries = 0;
        loop {
            let all = own.iter().chain(&others).cloned().collect();
            let error = match self.tenant.append_all(all) {
                Err(error) if error.kind == ErrorKind::Conflict => error,
                done => return done,
            };
            tries += 1;
            // Which of them is in the way is not said.
            if tries > TRIES || self.tenant.last(&self.log)? != pending.after {
                return Err(error);
            }
            let mut left = Vec::new();
            for other in others {
                let after = self.tenant.last(&other.log)?;
                // Where another writer wrote meanwhile, the last write stands: this one would be outdated already.
                if other.after == 0 || other.after == after {
                    left.push(Append { after, ..other });
                }
            }
            others = left;
            if own.is_none() && others.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns whether writes are pending.
    pub(crate) fn has_pending(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| !pending.is_empty())
    }

    /// Makes it a copy that is thrown away: nothing of what happens to it is written from now on.
    pub(crate) fn detach(&mut self) {
        self.defer();
        self.keeping = Keeping::Copied;
    }

    /// Makes the writes that wait, and tells whether any could not be made since it was read: then it is not what
    /// its log says, until [`Session::refresh`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub(crate) fn is_lost(&mut self) -> Result<bool, Error> {
        match self.flush() {
            Err(error) if error.kind == ErrorKind::Unavailable => Err(error),
            _ => Ok(self.lost),
        }
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let turns = self.request.iter().chain(&self.turns).chain(&self.aside);
        let objects = turns
            .flat_map(|turn| turn.entry.objects.iter().chain(turn.made_bare()))
            .chain(self.standing.iter().map(|one| &one.document))
            .chain(&self.opening.instructions)
            .chain(&self.opening.tools);
        let said: usize = objects.map(size_of).sum();
        let before = self.opening.messages.iter().chain(&self.opening.server_tools);
        let words = self.mark.words.iter().flat_map(|words| &words.stand).map(|words| &words.text);
        let shorter = self.shortened.values().chain(before).chain(words).map(String::len);
        let served = self.served.iter().map(|(_, served)| {
            let tail: usize = served.tail.iter().chain(&served.late).map(String::len).sum();
            let ids = served.ledger.floor.len() + served.ledger.said.len() + served.said.len();
            tail + 32 * ids + OBJECT
        });
        let made: usize = self.made.lock().map_or(0, |made| {
            made.values()
                .map(|made| made.object.revision().content())
                .map(|text| OBJECT + text.len())
                .sum()
        });
        let pending: usize = self.pending.iter().map(Pending::size).sum();
        let checkpoints = self.frontier.checkpoints().len();
        said + shorter.sum::<usize>() * COPIES
            + served.sum::<usize>()
            + pending
            + made * COPIES
            + (checkpoints + 4) * OBJECT * COPIES
    }
}

fn size_of(object: &ObjectDocument) -> usize {
    let wire = object
        .wire
        .as_ref()
        .and_then(|wire| wire.message.as_ref())
        .map_or(0, String::len);
    // What a call says stands in its message, too.
    OBJECT + (object.content.len() + wire) * COPIES
}
