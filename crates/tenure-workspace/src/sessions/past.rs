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

    /// The session as it stands in the request that was compiled behind this entry of its log: with what that compile
    /// noted. And whether anything of it was erased since.
    ///
    /// # Errors
    ///
    /// As [`Session::find`].
    pub(crate) fn sent(
        tenant: &Tenant,
        id: &str,
        after: u64,
    ) -> Result<Option<(Session, bool)>, Error> {
        let Some((mut sent, erased)) = Session::past(tenant, id, after)? else {
            return Ok(None);
        };
        let (mut noted, mut start) = (Vec::new(), after + 1);
        'log: loop {
            let entries = tenant.entries_in(&sent.log, start..start + CHUNK)?;
            if entries.is_empty() {
                break;
            }
            for (number, body) in entries {
                let entry = parsed(&sent.log, number, &body)?;
                match entry {
                    Entry::Checkpoint(_) | Entry::Shortened { .. } | Entry::Epoch(_) => {
                        noted.push((number, entry));
                    }
                    Entry::Served(_) => {
                        noted.push((number, entry));
                        for (number, entry) in noted {
                            sent.fold(number, entry)?;
                        }
                        break 'log;
                    }
                    // The same request, sent again, notes nothing.
                    _ => break 'log,
                }
            }
            start += CHUNK;
        }
        sent.set_aside();
        Ok(Some((sent, erased)))
    }
}
