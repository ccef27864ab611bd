//! A session that is held in memory: writes that wait to be made together, and how much room it takes.

use tenure::Error;
use tenure::ObjectDocument;
use tenure::error::ErrorKind;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure_store::{Append, Tenant};

use super::entry::{Entry, Opened, SESSION_VERSION};
use super::{PREFIX, Session, random_id, written};

/// What an object takes beside its texts, and how often these are there: as they came, as they are sealed, and
/// as they are ranked and priced. Measured roughly, on the safe side.
const OBJECT: usize = 1 << 10;
const COPIES: usize = 4;

/// Entries that are part of the state and not yet of the log.
#[derive(Debug)]
pub(super) struct Pending {
    /// The number of the last entry of the log.
    pub(super) after: u64,
    pub(super) bodies: Vec<String>,
}

impl Session {
    /// Begins a session with a random id, whose writes wait until [`Session::settle`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the system gives no random numbers.
    pub(crate) fn begin_deferred(
        tenant: Tenant,
        at: Instant,
        format: Format,
    ) -> Result<Session, Error> {
        let id = random_id()?;
        let opened = Opened {
            version: SESSION_VERSION,
            id: id.clone(),
            at,
            user: None,
            project: None,
            format: Some(format),
            once: None,
        };
        let body = written(&Entry::Opened(opened.clone()))?;
        let mut session = Session::empty(tenant, format!("{PREFIX}{id}"), opened);
        session.pending = Some(Pending {
            after: 0,
            bodies: vec![body],
        });
        Ok(session)
    }

    /// Lets writes wait from now on, until [`Session::settle`] or [`Session::refresh`]. The state goes on
    /// as if they were made.
    pub(crate) fn defer(&mut self) {
        if self.pending.is_none() {
            self.pending = Some(Pending {
                after: self.last,
                bodies: Vec::new(),
            });
        }
    }

    /// Makes the writes that wait, and beside them one to another log that is thought to be empty: all at
    /// once. Gives whether the other one was made; somebody else may have made it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when somebody else wrote to the session meanwhile;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached. Nothing is written then, and the next
    /// [`Session::refresh`] reads the session anew.
    pub(crate) fn settle(&mut self, beside: Option<Append>) -> Result<bool, Error> {
        let own = self.pending.take().filter(|own| !own.bodies.is_empty());
        let own = own.map(|own| Append {
            log: self.log.clone(),
            after: own.after,
            entries: own.bodies,
        });
        let all: Vec<Append> = own.iter().cloned().chain(beside.clone()).collect();
        if all.is_empty() {
            return Ok(false);
        }
        let mut done = self.tenant.append_all(all).map(|()| beside.is_some());
        if let (Err(error), Some(_)) = (&done, beside)
            && error.kind == ErrorKind::Conflict
        {
            // Which of the two is in the way is not said.
            done = match own.clone() {
                Some(own) => self.tenant.append_all(vec![own]).map(|()| false),
                None => Ok(false),
            };
        }
        self.lost |= done.is_err() && own.is_some();
        done
    }

    /// Makes it a copy that is thrown away: nothing of what happens to it is written from now on.
    pub(crate) fn detach(&mut self) {
        self.defer();
        self.detached = true;
    }

    /// Makes the writes that wait, and tells whether any could not be made since it was read: then it is not what
    /// its log says, until [`Session::refresh`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub(crate) fn is_lost(&mut self) -> Result<bool, Error> {
        match self.settle(None) {
            Err(error) if error.kind == ErrorKind::Unavailable => Err(error),
            _ => Ok(self.lost),
        }
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        let turns = self.request.iter().chain(&self.turns);
        let objects = turns
            .flat_map(|turn| &turn.entry.objects)
            .chain(&self.opening.instructions)
            .chain(&self.opening.tools);
        let said: usize = objects.map(size_of).sum();
        let before = self
            .opening
            .messages
            .iter()
            .chain(&self.opening.server_tools);
        let shorter = self.shortened.values().chain(before).map(String::len);
        let served = self.served.iter().map(|(_, served)| {
            let tail: usize = served.tail.iter().map(String::len).sum();
            let ids = served.ledger.floor.len() + served.ledger.said.len() + served.said.len();
            tail + 32 * ids + OBJECT
        });
        let made = self.made.lock().map_or(0, |made| made.len());
        let checkpoints = self.frontier.checkpoints().len();
        said + shorter.sum::<usize>() * COPIES
            + served.sum::<usize>()
            + (made + checkpoints + 4) * OBJECT * COPIES
    }
}

fn size_of(object: &ObjectDocument) -> usize {
    let wire = object.wire.as_ref().and_then(|wire| wire.message.as_ref());
    let wire = wire.map_or(0, String::len);
    // What a call says stands in its message, too.
    OBJECT + (object.content.len() + wire) * COPIES
}
