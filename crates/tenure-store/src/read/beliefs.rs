//! Reading what is believed, and what was.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::object::{Access, ObjectId, Sealer};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Error};

use crate::rows::engine::{BeliefRow, Read, Stamp, WriteRow};
use crate::rows::labels::{Sees, head_access, labelled_or_hidden, open};
use crate::rows::stored::{StoredObject, believed, read_revision};
use crate::tenant::handle::Tenant;
use crate::tenant::index::SearchedText;

impl Tenant {
    /// The ids of the objects of this name, in the order in which they came.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn named(&self, name: &str) -> Result<Vec<ObjectId>, Error> {
        self.read(|rows| rows.named(name))
    }

    /// The current beliefs about an object, by valid time; empty if there are none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn get(&self, id: ObjectId) -> Result<Vec<StoredObject>, Error> {
        self.get_seen(id, None)
    }

    /// Like `get`, for a caller: nothing that `sees` refuses is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::get`].
    pub fn get_seen(
        &self,
        id: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<StoredObject>, Error> {
        self.read(|rows| {
            let standing = rows.standing(&[id])?.remove(&id);
            let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
            let beliefs = open(&self.name, beliefs, None, sees)?;
            stored(rows, beliefs, None)
        })
    }

    /// The object with this id, or those of this name, each as an object that has the labels of the revision that was
    /// written last, and nothing else of it. However large an object is, it costs the same. No caller sees one whose
    /// labels are damaged.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn labels(&self, named: &str) -> Result<Vec<(ObjectId, Arc<ContextObject>)>, Error> {
        self.read(|rows| {
            let found = rows.head_labels(named.parse().map_err(|_| named))?;
            let mut sealer = Sealer::default();
            found
                .into_iter()
                .map(|(id, labels)| {
                    let object = labelled_or_hidden(&mut sealer, &self.name, id, &labels, None)?;
                    Ok((id, object))
                })
                .collect()
        })
    }

    /// Finds what waits for a person: for each part of it an object that has its labels. By a name: of the objects of
    /// that name, the waiting parts that bear it themselves.
    ///
    /// # Errors
    ///
    /// As [`Tenant::labels`].
    pub fn waiting_labels(
        &self,
        named: &str,
    ) -> Result<Vec<(ObjectId, Arc<ContextObject>)>, Error> {
        self.read(|rows| {
            let (ids, by_name) = match named.parse() {
                Ok(id) => (vec![id], false),
                Err(_) => (rows.named(named)?, true),
            };
            let standing = rows.standing(&ids)?.into_values();
            let mut waits: Vec<BeliefRow> = standing.flat_map(|one| one.beliefs).collect();
            waits.retain(BeliefRow::waits);
            if by_name {
                let bodies = rows.bodies(&waits.iter().collect::<Vec<_>>())?;
                waits.retain(|row| {
                    let body = bodies.get(&row.revision).map_or("", String::as_str);
                    let text = serde_json::from_str::<SearchedText<'_>>(body);
                    text.is_ok_and(|text| text.name == named)
                });
            }
            let mut sealer = Sealer::default();
            let each = waits.into_iter().map(|row| {
                let labels = &row.labels;
                let object = labelled_or_hidden(&mut sealer, &self.name, row.object, labels, None)?;
                Ok((row.object, object))
            });
            each.collect()
        })
    }

    /// The beliefs about an object at an instant. They carry the access that holds now, not that of the past:
    /// [`Status::access`](tenure::object::Status) says who that is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn as_of(&self, id: ObjectId, known: Instant) -> Result<Vec<StoredObject>, Error> {
        self.as_of_seen(id, known, None)
    }

    /// Like `as_of`, for a caller: nothing that `sees` refuses is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::as_of`].
    pub fn as_of_seen(
        &self,
        id: ObjectId,
        known: Instant,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<StoredObject>, Error> {
        self.read(|rows| {
            let held = rows.held(id, known)?;
            let access = access_now(rows, &self.name, id, &held)?;
            let held = open(&self.name, held, access.as_ref(), sees)?;
            stored(rows, held, access)
        })
    }

    /// Everything that was ever believed of an object, the oldest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn history(&self, id: ObjectId) -> Result<Vec<StoredObject>, Error> {
        self.history_after(id, None, u32::MAX)
    }

    /// Like `history`, for at most `most` that were opened after an instant in transaction time, and all that were
    /// opened with the last of them.
    ///
    /// # Errors
    ///
    /// As [`Tenant::history`].
    pub fn history_after(
        &self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
    ) -> Result<Vec<StoredObject>, Error> {
        Ok(self.history_seen(id, after, most, None)?.0)
    }

    /// Like `history_after`, for a caller: nothing that `sees` refuses is read. Also returns the instant at which the
    /// last of all was opened, visible or not.
    ///
    /// # Errors
    ///
    /// As [`Tenant::history`].
    pub fn history_seen(
        &self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
        sees: Option<&Sees<'_>>,
    ) -> Result<(Vec<StoredObject>, Option<Instant>), Error> {
        self.read(|rows| {
            let history = rows.history_after(id, after, most)?;
            let last = history.last().map(|row| row.opened.at);
            let access = access_now(rows, &self.name, id, &history)?;
            let history = open(&self.name, history, access.as_ref(), sees)?;
            Ok((stored(rows, history, access)?, last))
        })
    }

    /// The writes after a version, the oldest first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn log(&self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error> {
        self.read(|rows| rows.log(after, most))
    }

    /// The last write up to a version: that of this version, in a store that every version has a line of.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn written(&self, version: u64) -> Result<Option<Stamp>, Error> {
        self.read(|rows| rows.written(version))
    }
}

/// The access to an object that holds now, where some of these beliefs are of the past.
pub(crate) fn access_now(
    rows: &mut dyn Read,
    tenant: &str,
    id: ObjectId,
    beliefs: &[BeliefRow],
) -> Result<Option<Arc<Access>>, Error> {
    if beliefs.iter().all(|row| row.closed.is_none()) {
        return Ok(None);
    }
    head_access(rows, tenant, id)
}

/// The objects of these beliefs, with their counters.
fn stored(
    rows: &mut dyn Read,
    beliefs: Vec<BeliefRow>,
    access: Option<Arc<Access>>,
) -> Result<Vec<StoredObject>, Error> {
    let ids: BTreeSet<ObjectId> = beliefs.iter().map(|row| row.object).collect();
    let usage = rows.usage(Some(&ids.into_iter().collect::<Vec<_>>()))?;
    let bodies = rows.bodies(&beliefs.iter().collect::<Vec<_>>())?;
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(beliefs.len());
    for row in beliefs {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        let object = read_revision(&mut sealer, row.revision, body)?;
        let usage = usage.get(&row.object).copied().unwrap_or_default();
        let access = row.closed.and(access.clone());
        objects.push(StoredObject {
            object: believed(&object, &row, usage, access),
            opened: row.opened.version,
            closed: row.closed.map(|closed| closed.version),
            lifecycle: row.lifecycle,
        });
    }
    Ok(objects)
}

/// The parts of a list of beliefs that hold at an instant of valid time.
pub fn true_at(mut objects: Vec<StoredObject>, valid: Instant) -> Vec<StoredObject> {
    let holds = |interval: Interval| {
        interval.from.is_none_or(|from| from <= valid)
            && interval.until.is_none_or(|until| valid < until)
    };
    objects.retain(|stored| holds(stored.object.valid()));
    objects
}
