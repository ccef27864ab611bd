//! Compile records, and the texts that they refer to by their digests: kept, changed, listed.

use std::collections::BTreeSet;

use tenure::error::ErrorKind;
use tenure::object::ObjectId;
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::rows::blobs::unaltered;
use crate::rows::engine::RecordRow;
use crate::rows::tombstones::{refuse_erased_log, with_tombstones};
use crate::tenant::handle::Tenant;

/// The most records that one write drops.
const DROPPED_AT_ONCE: u32 = 256;

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
            let objects: Vec<ObjectId> = records
                .iter()
                .flat_map(|kept| &kept.row.objects)
                .copied()
                .collect::<BTreeSet<ObjectId>>()
                .into_iter()
                .collect();
            let erased = with_tombstones(rows, &objects)?;
            let mut put = Vec::with_capacity(records.len());
            for kept in &records {
                let mut row = kept.row.clone();
                row.objects.retain(|object| !erased.contains(object));
                let log = kept.log.iter().map(|log| refuse_erased_log(rows, log));
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
                        let what = format!("an object of the record `{}` was erased", row.id);
                        let gone = Error::new(ErrorKind::Policy, what).hint("compile again");
                        return Err(log.err().unwrap_or(gone));
                    }
                }
                put.push(row);
            }
            rows.put_records(&put)
        })
    }

    /// Changes what a compile record says: `change` returns the new text and a value, which is returned. No other
    /// write of the tenant, such as an erasure, comes between the read and the write. `None` if there is no such
    /// record.
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

    /// Drops the records that were compiled before an instant, and all but the newest `keep`; returns how many. Each write
    /// drops some of them, so that others come in between.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn drop_records(&self, before: Option<Instant>, keep: Option<u64>) -> Result<u64, Error> {
        let mut dropped = 0;
        loop {
            let done = self.write(move |rows| {
                let old = rows.old_records(before, keep, DROPPED_AT_ONCE)?;
                rows.erase_records(&old)?;
                Ok(old.len() as u64)
            })?;
            dropped += done;
            if done == 0 {
                return Ok(dropped);
            }
        }
    }

    /// The newest records behind this one, or all, without the objects that they speak of.
    ///
    /// # Errors
    ///
    /// As [`Tenant::records`].
    pub fn records_whole(
        &self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<RecordRow>, Error> {
        self.read(|rows| rows.records_whole(after, most))
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

    /// The newest records of requests of a session, behind the one of this id and instant where there is one. Of a session
    /// with a long name, records of others that begin alike may be among them. `None` where the store has no index that
    /// could tell: JSON writes the name with escapes.
    ///
    /// # Errors
    ///
    /// As [`Tenant::records`].
    pub fn records_of_session(
        &self,
        session: &str,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Option<Vec<(String, Instant)>>, Error> {
        let is_plain = |character: char| !character.is_control() && !"\"\\".contains(character);
        if !session.chars().all(is_plain) {
            return Ok(None);
        }
        self.read(|rows| rows.records_of(session, after, most)).map(Some)
    }

    /// Keeps texts by their digests: policies, and the originals of what was condensed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn put_blobs(&self, blobs: Vec<Vec<u8>>) -> Result<Vec<Digest>, Error> {
        self.write(move |rows| {
            blobs
                .iter()
                .map(|bytes| {
                    let digest = Digest::of(bytes);
                    rows.put_blob(digest, bytes).map(|()| digest)
                })
                .collect()
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
}
