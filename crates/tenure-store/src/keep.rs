//! What a tenant's store keeps beside objects: compile records, texts found by their digests, logs.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::object::{ObjectId, clip};
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::buried::buried;
use crate::buried::refuse_buried_log;
use crate::doc::unwritable;
use crate::engine::{Answered, Read, RecordRow, Write};
use crate::repeat::{check_key, repeated};
use crate::tenant::Tenant;
use crate::texts::unaltered;

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

/// What makes an append to logs happen once.
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
        let answer = before
            .as_ref()
            .map(|before| repeated(&self.key, self.asked, before));
        Ok(answer.transpose()?.map(str::to_owned))
    }
}

/// A compile record to be kept with the texts that it refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptRecord {
    /// The record.
    pub row: RecordRow,
    /// The texts that it names by their digests.
    pub texts: Vec<Vec<u8>>,
    /// The log that the texts quote, where they quote one.
    pub log: Option<String>,
    /// The record without what it says of objects and the log, JSON: what is kept, without any text, where one of them
    /// has been erased meanwhile. Without it, nothing is kept then.
    pub after_erasure: Option<String>,
}

/// An entry that holds from an instant on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dated {
    at: Instant,
    value: serde_json::Value,
}

impl Tenant {
    /// Keeps compile records.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn put_records(&self, records: Vec<RecordRow>) -> Result<(), Error> {
        self.write(move |rows| rows.put_records(&records))
    }

    /// Keeps compile records with the texts that they refer to: all of them, or none. What was erased since a compile
    /// read it does not come back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when something that a record speaks of was erased, and it says nothing without it;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn keep_records(&self, records: Vec<KeptRecord>) -> Result<(), Error> {
        self.write(move |rows| {
            rows.hold()?;
            let objects = records.iter().flat_map(|kept| &kept.row.objects);
            let objects: BTreeSet<ObjectId> = objects.copied().collect();
            let objects: Vec<ObjectId> = objects.into_iter().collect();
            let erased = buried(rows, &objects)?;
            let mut put = Vec::with_capacity(records.len());
            for kept in &records {
                let mut row = kept.row.clone();
                row.objects.retain(|object| !erased.contains(object));
                let log = kept.log.iter();
                let log = log.map(|log| refuse_buried_log(rows, log));
                let whole = row.objects.len() == kept.row.objects.len();
                match (log.collect::<Result<(), Error>>(), &kept.after_erasure) {
                    (Ok(()), _) if whole => {
                        for text in &kept.texts {
                            rows.put_blob(Digest::of(text), text)?;
                        }
                    }
                    (Err(error), _) if error.kind != ErrorKind::Policy => return Err(error),
                    (_, Some(body)) => row.body.clone_from(body),
                    (log, None) => {
                        let what = format!("what the record `{}` speaks of was erased", row.id);
                        let gone = Error::new(ErrorKind::Policy, what).hint("compile again");
                        return Err(log.err().unwrap_or(gone));
                    }
                }
                put.push(row);
            }
            rows.put_records(&put)
        })
    }

    /// Changes what a compile record says: `change` gives the new text, and what else came of it. No other
    /// write of the tenant, an erasure least of all, comes between what is read and what is put. None where
    /// there is no such record.
    ///
    /// # Errors
    ///
    /// What `change` says; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn change_record<T: Send + 'static>(
        &self,
        id: &str,
        mut change: impl FnMut(&RecordRow) -> Result<(String, T), Error> + Send + 'static,
    ) -> Result<Option<T>, Error> {
        let id = id.to_owned();
        self.write(move |rows| {
            rows.hold()?;
            let Some(row) = rows.record(&id)? else {
                return Ok(None);
            };
            let (body, came) = change(&row)?;
            rows.put_records(&[RecordRow { body, ..row }])?;
            Ok(Some(came))
        })
    }

    /// A compile record.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn record(&self, id: &str) -> Result<Option<RecordRow>, Error> {
        self.read(|rows| rows.record(id))
    }

    /// The newest records: id, and when the compile was made.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn records(&self, most: u32) -> Result<Vec<(String, Instant)>, Error> {
        self.read(|rows| rows.records(None, most))
    }

    /// The records behind the one of this id and instant, the newest first. That one need not be there any more.
    ///
    /// # Errors
    ///
    /// As [`Tenant::records`].
    pub fn records_after(
        &self,
        (id, at): (&str, Instant),
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        self.read(|rows| rows.records(Some((id, at)), most))
    }

    /// Keeps texts by their digests: policies, and the originals of what was condensed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn put_blobs(&self, blobs: Vec<Vec<u8>>) -> Result<Vec<Digest>, Error> {
        self.write(move |rows| {
            let keep = |bytes: &Vec<u8>| {
                let digest = Digest::of(bytes);
                rows.put_blob(digest, bytes).map(|()| digest)
            };
            blobs.iter().map(keep).collect()
        })
    }

    /// The text with this digest.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when it was altered; [`ErrorKind::Unavailable`] when the store cannot be
    /// reached.
    pub fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        self.read(|rows| unaltered(rows, digest))
    }

    /// The digests of all texts that are kept by them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn blobs(&self) -> Result<Vec<Digest>, Error> {
        self.read(|rows| rows.blobs())
    }

    /// Appends entries to a log, if its last number is still `after`; gives its last number then.
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

    /// Appends entries to logs: to all of them, or to none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when somebody else appended to one of them meanwhile;
    /// [`ErrorKind::Policy`] when one was erased; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn append_all(&self, appends: Vec<Append>) -> Result<(), Error> {
        self.write(move |rows| {
            rows.stamp()?;
            append_each(rows, &appends)
        })
    }

    /// As [`Tenant::append_all`], but once: `answer` is kept under the key and, where the same was done under it
    /// before, nothing is appended and what was answered then is given.
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

    /// What was answered to an append that was done under this key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key was used for something else; [`ErrorKind::Unavailable`] when the
    /// store cannot be reached.
    pub fn answered(&self, key: &WriteKey) -> Result<Option<String>, Error> {
        self.read(|rows| key.answer(rows))
    }

    /// Appends what holds from now on to a log of dated entries; gives the instant.
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

/// Appends to logs that end where their writer believes, and notes it.
fn append_each(rows: &mut dyn Write, appends: &[Append]) -> Result<(), Error> {
    for Append {
        log,
        after,
        entries,
    } in appends
    {
        if *after == 0 {
            refuse_buried_log(rows, log)?;
        }
        if !rows.append(log, *after, entries)? {
            let what = format!("somebody else appended to the log `{}`", clip(log));
            return Err(Error::new(ErrorKind::Conflict, what)
                .expected(format!("{after} as its last number"))
                .hint("read what was appended, and try again"));
        }
    }
    let logs: Vec<&str> = appends.iter().map(|append| &*append.log).collect();
    rows.note("append", Some(&logs.join(" ")), 0)
}
