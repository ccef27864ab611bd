//! The published forms of what is stored: an object with a belief about it, and a line of an export.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tenure::object::{
    Access, ContradictionStatus, Lifecycle, ObjectId, RevisionId, Sealer, Status, Usage,
};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Error, ObjectDocument};

use crate::rows::engine::{BeliefRow, Read, RevisionRow, Stamp};
use crate::rows::labels::labels_of;

/// A revision and one belief about it.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The object, with the store's judgement and its counters.
    pub object: Arc<ContextObject>,
    /// The tenant's version since which this is believed.
    pub opened: u64,
    /// The version since which it is not.
    pub closed: Option<u64>,
    /// The stage of its life.
    pub lifecycle: Lifecycle,
}

/// One line of an export: a revision, and a belief about it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Since when it is believed; a line without it is written as new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_start: Option<Instant>,
    /// Since when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// Since when it is held to be true in the world; missing means unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_from: Option<Instant>,
    /// Since when not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Instant>,
    /// The stage of its life.
    #[serde(default = "active", skip_serializing_if = "is_active")]
    pub lifecycle: Lifecycle,
    /// The judgement on contradictions.
    #[serde(default = "clean", skip_serializing_if = "is_clean")]
    pub contradiction: ContradictionStatus,
    /// The object that replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<ObjectId>,
    /// The revision's digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// The revision, in its published form.
    pub object: ObjectDocument,
}

fn active() -> Lifecycle {
    Lifecycle::Active
}

fn is_active(lifecycle: &Lifecycle) -> bool {
    *lifecycle == Lifecycle::Active
}

fn clean() -> ContradictionStatus {
    ContradictionStatus::Clean
}

fn is_clean(status: &ContradictionStatus) -> bool {
    *status == ContradictionStatus::Clean
}

/// The row of a revision.
pub(crate) fn revision_row(object: &ContextObject) -> Result<RevisionRow, Error> {
    let revision = object.revision();
    let bare = object.judged(Status::default(), Usage::default());
    Ok(RevisionRow {
        revision: revision.id(),
        object: revision.object_id(),
        content: revision.content_digest(),
        labels: labels_of(object)?,
        body: serde_json::to_string(&bare)
            .map_err(|error| {
                Error::input(format!("the object cannot be written as JSON: {error}"))
            })?
            .into(),
    })
}

/// The revision of a row, which must have the digest that it was stored under.
pub(crate) fn read_revision(
    sealer: &mut Sealer,
    revision: RevisionId,
    body: &str,
) -> Result<Arc<ContextObject>, Error> {
    // The error shows nothing of the body: it is not what was written.
    let altered = || Error::damaged(format!("the stored revision {revision} is damaged"));
    let document: ObjectDocument = serde_json::from_str(body).map_err(|_| altered())?;
    let object = sealer.seal(document).map_err(|_| altered())?;
    if object.revision().id() == revision {
        Ok(object)
    } else {
        Err(altered())
    }
}

/// An object as it is believed. `access` is who may see it now, where this is not what is believed now.
pub(crate) fn believed(
    object: &ContextObject,
    row: &BeliefRow,
    usage: Usage,
    access: Option<Arc<Access>>,
) -> Arc<ContextObject> {
    let status = Status {
        transaction: Interval {
            from: Some(row.opened.at),
            until: row.closed.map(|closed| closed.at),
        },
        recorded: None,
        contradiction: row.contradiction,
        superseded_by: row.superseded_by,
        written: None,
        valid: (row.valid != object.revision().valid()).then_some(row.valid),
        access,
        damaged: object.status().damaged,
        decisions: None,
        asked: None,
        outranked: false,
    };
    Arc::new(object.judged(status, usage))
}

impl Line {
    /// The belief of a line that says since when it is believed.
    pub(crate) fn belief(
        &self,
        object: &ContextObject,
        opened: Instant,
        version: u64,
        part: u32,
        labels: Arc<str>,
    ) -> BeliefRow {
        let stamp = |at| Stamp { version, at };
        BeliefRow {
            object: object.revision().object_id(),
            opened: stamp(opened),
            part,
            closed: self.tx_end.map(stamp),
            revision: object.revision().id(),
            valid: Interval {
                from: self.held_from,
                until: self.held_until,
            },
            contradiction: self.contradiction,
            superseded_by: self.superseded_by,
            lifecycle: self.lifecycle,
            labels,
        }
    }
}

pub(crate) fn unwritable(error: &serde_json::Error) -> Error {
    Error::damaged(format!("a row cannot be read or written as JSON: {error}"))
}

/// Calls `each` with a line for every belief there ever was, and its revision. Returns the objects that have none, since all of
/// their revisions are damaged and set aside.
pub(crate) fn each_line(
    rows: &mut dyn Read,
    each: &mut dyn FnMut(&Line, &ContextObject) -> Result<(), Error>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let aside = rows.set_aside()?;
    let mut sealer = Sealer::default();
    let (mut passed, mut told) = (BTreeSet::new(), None);
    rows.each_ever(&mut |row, body| {
        let revision = match read_revision(&mut sealer, row.revision, body) {
            Err(_) if aside.contains(&row.revision) => {
                // The beliefs about one object come one after another.
                if told != Some(row.object) {
                    passed.insert(row.object);
                }
                return Ok(());
            }
            read => read?,
        };
        told = Some(row.object);
        passed.remove(&row.object);
        let object = serde_json::from_str(body).map_err(|error| unwritable(&error))?;
        let line = Line {
            tx_start: Some(row.opened.at),
            tx_end: row.closed.map(|closed| closed.at),
            held_from: row.valid.from,
            held_until: row.valid.until,
            lifecycle: row.lifecycle,
            contradiction: row.contradiction,
            superseded_by: row.superseded_by,
            revision: Some(row.revision),
            object,
        };
        each(&line, &revision)
    })?;
    Ok(passed)
}

/// The number of entries that are read at once.
const AT_ONCE: u64 = 1_024;

/// Calls `each` with the entries of a log that can be read. What came from an erased object cannot.
pub(crate) fn each_of<T: DeserializeOwned>(
    rows: &mut dyn Read,
    log: &str,
    each: &mut dyn FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut next = 1;
    loop {
        let chunk = rows.entries(log, next..next + AT_ONCE)?;
        let Some((last, _)) = chunk.last() else {
            return Ok(());
        };
        next = last + 1;
        for (_, body) in chunk {
            if let Ok(entry) = serde_json::from_str(&body) {
                each(entry)?;
            }
        }
    }
}
