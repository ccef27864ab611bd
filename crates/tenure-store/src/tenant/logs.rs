//! Logs of a tenant: numbered entries that are only ever appended.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::rows::engine::{Answered, Read, Write};
use crate::rows::idempotency::{check_key, repeated};
use crate::rows::stored::unwritable;
use crate::rows::tombstones::refuse_erased_log;
use crate::tenant::handle::Tenant;

/// Entries for a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Append {
    /// The log.
    pub log: String,
    /// The number of its last entry, as the writer knows it.
    pub after: u64,
    /// The entries.
    pub entries: Vec<String>,
}

/// An idempotency key for an append to logs, with the digest of the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WriteKey {
    key: String,
    /// Of what is asked for under it.
    asked: Digest,
}

impl WriteKey {
    /// An append that does this, under this key: one of the tenant's keys of writes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the key is empty or too long.
    pub fn new(key: &str, asked: &[u8]) -> Result<WriteKey, Error> {
        check_key(key)?;
        Ok(WriteKey {
            key: key.to_owned(),
            asked: Digest::of_parts([b"append".as_slice(), asked]),
        })
    }

    fn answer(&self, rows: &mut (impl Read + ?Sized)) -> Result<Option<String>, Error> {
        let before = rows.answered(&self.key)?;
        let answer = before.as_ref().map(|before| repeated(&self.key, self.asked, before));
        Ok(answer.transpose()?.map(str::to_owned))
    }
}

/// An entry that holds from an instant on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dated {
    at: Instant,
    value: serde_json::Value,
}

impl Tenant {
    /// Appends entries to a log, if its last number is still `after`; returns its new last number.
    ///
    /// # Errors
    ///
    /// As [`Tenant::append_all`].
    pub fn append(&self, log: &str, after: u64, entries: Vec<String>) -> Result<u64, Error> {
        let last = after + entries.len() as u64;
        self.append_all(vec![Append {
            log: log.to_owned(),
            after,
            entries,
        }])?;
        Ok(last)
    }

    /// Appends entries to all of these logs, or to none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when another writer appended to one of them meanwhile; [`ErrorKind::Policy`] when one
    /// was erased; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn append_all(&self, appends: Vec<Append>) -> Result<(), Error> {
        self.write(move |rows| {
            rows.stamp()?;
            append_each(rows, &appends)
        })
    }

    /// As [`Tenant::append_all`], but idempotent: `answer` is kept under the key. If the same append was done under
    /// it before, nothing is appended and the answer of then is returned; `None` otherwise.
    ///
    /// # Errors
    ///
    /// As [`Tenant::append_all`]; [`ErrorKind::Conflict`] when the key was used for something else.
    pub fn append_once(
        &self,
        appends: Vec<Append>,
        key: &WriteKey,
        answer: &str,
    ) -> Result<Option<String>, Error> {
        let (key, answer) = (key.clone(), answer.to_owned());
        self.write(move |rows| {
            rows.stamp()?;
            if let Some(before) = key.answer(rows)? {
                rows.note("repeat", None, 0)?;
                return Ok(Some(before));
            }
            append_each(rows, &appends)?;
            let asked = key.asked;
            let answer = answer.clone();
            rows.answer(&key.key, &Answered { asked, answer })?;
            Ok(None)
        })
    }

    /// The answer to the append that was done under this key; `None` if there was none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key was used for something else; [`ErrorKind::Unavailable`] when the
    /// store cannot be reached.
    pub fn answered(&self, key: &WriteKey) -> Result<Option<String>, Error> {
        self.read(|rows| key.answer(rows))
    }

    /// Appends a value that holds from now on to a log of dated entries; returns the instant.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn append_dated(&self, log: &str, value: serde_json::Value) -> Result<Instant, Error> {
        let log = log.to_owned();
        self.write(move |rows| {
            let stamp = rows.stamp()?;
            let last = rows.last(&log)?;
            let dated = Dated {
                at: stamp.at,
                value: value.clone(),
            };
            let body = serde_json::to_string(&dated).map_err(|error| unwritable(&error))?;
            rows.append(&log, last, &[body])?;
            rows.note("append", Some(&log), 0)?;
            Ok(stamp.at)
        })
    }

    /// The last entry of a log of dated entries, or what was the last at an instant.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn dated(
        &self,
        log: &str,
        known: Option<Instant>,
    ) -> Result<Option<serde_json::Value>, Error> {
        for (_, body) in self.entries(log, 0)?.into_iter().rev() {
            let dated: Dated = serde_json::from_str(&body).map_err(|error| unwritable(&error))?;
            if known.is_none_or(|known| dated.at <= known) {
                return Ok(Some(dated.value));
            }
        }
        Ok(None)
    }

    /// The logs, with the number of the last entry of each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn logs(&self) -> Result<Vec<(String, u64)>, Error> {
        self.read(|rows| rows.logs())
    }

    /// The number of the last entry of a log; 0 where it has none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn last(&self, log: &str) -> Result<u64, Error> {
        self.read(|rows| rows.last(log))
    }

    /// The entries of a log in this range of numbers, in order; the first is 1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn entries_in(&self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error> {
        self.read(|rows| rows.entries(log, range.clone()))
    }

    /// The entries of a log after a number, in order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn entries(&self, log: &str, after: u64) -> Result<Vec<(u64, String)>, Error> {
        self.entries_in(log, after.saturating_add(1)..u64::MAX)
    }
}

/// Appends to a log that ends where its writer believes.
pub(crate) fn append_one(
    rows: &mut dyn Write,
    log: &str,
    after: u64,
    entries: &[String],
) -> Result<(), Error> {
    if after == 0 {
        refuse_erased_log(rows, log)?;
    }
    if !rows.append(log, after, entries)? {
        let what = format!("another writer appended to the log `{}`", clip(log));
        return Err(Error::new(ErrorKind::Conflict, what)
            .expected(format!("{after} as its last number"))
            .hint("read what was appended, and try again"));
    }
    Ok(())
}

/// Appends to logs that end where their writer believes, and notes it.
fn append_each(rows: &mut dyn Write, appends: &[Append]) -> Result<(), Error> {
    for Append {
        log,
        after,
        entries,
    } in appends
    {
        append_one(rows, log, *after, entries)?;
    }
    let logs: Vec<&str> = appends.iter().map(|append| &*append.log).collect();
    rows.note("append", Some(&logs.join(" ")), 0)
}
