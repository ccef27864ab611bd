//! Sessions as a list shows them: when they last went on, and whose they are.

use serde::Serialize;
use tenure::Error;
use tenure::time::Instant;
use tenure_store::Tenant;

use super::entry::Entry;
use super::{Session, parsed};

/// The number of entries that are read at once, from the end, for the last one that is dated.
const CHUNK: u64 = 16;

/// A session in a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// The number of entries of its log.
    pub entries: u64,
    /// The instant of its last entry.
    pub last: Option<Instant>,
    /// The client of its last request, as it names itself; of a session that was imported, the source of that.
    pub client: Option<String>,
    /// The model of its last request, or the one that its import names.
    pub model: Option<String>,
}

impl Session {
    /// The instant of the last entry that is dated, of a log with so many entries.
    ///
    /// # Errors
    ///
    /// As [`Session::find`].
    pub(crate) fn last_at(
        tenant: &Tenant,
        id: &str,
        entries: u64,
    ) -> Result<Option<Instant>, Error> {
        let log = Session::log_of(id);
        let mut end = entries + 1;
        while end > 1 {
            let start = end.saturating_sub(CHUNK).max(1);
            let chunk = tenant.entries_in(&log, start..end)?;
            for (number, body) in chunk.into_iter().rev() {
                let at = match parsed(&log, number, &body)? {
                    Entry::Opened(opened) => Some(opened.at),
                    Entry::Said(message) => Some(message.at),
                    Entry::Served(served) => Some(served.at),
                    _ => None,
                };
                if at.is_some() {
                    return Ok(at);
                }
            }
            end = start;
        }
        Ok(None)
    }
}
