//! A session as it was.

use tenure::Error;
use tenure_store::Tenant;

use super::entry::Entry;
use super::{CHUNK, Session, parsed};

impl Session {
    /// The session as it was behind this entry of its log, and whether anything of it was erased since: a copy of
    /// which nothing is written. None where it is gone, or has no such entry.
    ///
    /// # Errors
    ///
    /// As [`Session::find`].
    pub(crate) fn past(
        tenant: &Tenant,
        id: &str,
        after: u64,
    ) -> Result<Option<(Session, bool)>, Error> {
        let Some(now) = Session::find(tenant.clone(), id)? else {
            return Ok(None);
        };
        if after == 0 || now.last < after {
            return Ok(None);
        }
        let mut past = Session::empty(tenant.clone(), now.log.clone(), now.opened.clone());
        past.find_epoch(after)?;
        for (number, body) in tenant.entries_in(&past.log, past.last + 1..after + 1)? {
            let entry = parsed(&past.log, number, &body)?;
            past.fold(number, entry)?;
        }
        past.set_aside();
        past.detach();
        let (mut start, mut erased) = (after + 1, false);
        while start <= now.last && !erased {
            let end = (start + CHUNK).min(now.last + 1);
            for (number, body) in tenant.entries_in(&past.log, start..end)? {
                erased |= matches!(parsed(&past.log, number, &body)?, Entry::Erased {});
            }
            start = end;
        }
        Ok(Some((past, erased)))
    }
}
