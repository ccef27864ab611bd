//! The entities that the objects of a session spoke of: a log for each session, among those who may see the same.
//!
//! The name of a log is a digest under the tenant's key, so an import derives it again, from a revision that belongs to the session.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tenure::object::{ObjectId, RevisionId, Scope};
use tenure::{ContextObject, Digest, Error};

use crate::entity::mentions::{LOG as MENTIONS, SESSION_MENTIONS};
use crate::rows::engine::{Read, Write};
use crate::rows::stored::{each_of, unwritable};

/// The number of a session's entries in which its earlier entities are looked for.
const MOST_EARLIER: u64 = 64;

/// The entities that one object of a session spoke of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spoken {
    source: ObjectId,
    spoke: BTreeSet<String>,
}

/// The entities that an object of a session spoke of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpokenLine {
    /// The object.
    pub object_id: ObjectId,
    /// A revision of it that belongs to the session.
    pub revision: RevisionId,
    /// The ids of the entities.
    pub entities: BTreeSet<String>,
}

/// The entities that the earlier objects of a session spoke of, and what this transaction adds to its log.
#[derive(Default)]
pub(crate) struct Session {
    log: String,
    last: u64,
    pub(crate) earlier: BTreeSet<String>,
    lines: Vec<String>,
}

impl Session {
    /// Reads that of a session, among what the same people may see: what others spoke of there is no reference.
    pub(crate) fn read(
        rows: &mut dyn Read,
        key: &[u8; 32],
        place: &[u8],
    ) -> Result<Session, Error> {
        let log = log_of(key, place);
        let last = rows.last(&log)?;
        let first = last.saturating_sub(MOST_EARLIER - 1).max(1);
        let mut earlier = BTreeSet::new();
        for (_, body) in rows.entries(&log, first..last + 1)? {
            // What came from an erased object is gone with it.
            if let Ok(spoken) = serde_json::from_str::<Spoken>(&body) {
                earlier.extend(spoken.spoke);
            }
        }
        Ok(Session {
            log,
            last,
            earlier,
            lines: Vec::new(),
        })
    }

    /// Takes over what an object of it speaks of.
    pub(crate) fn speaks(
        &mut self,
        source: ObjectId,
        spoke: BTreeSet<String>,
    ) -> Result<(), Error> {
        if spoke.is_empty() {
            return Ok(());
        }
        self.earlier.extend(spoke.iter().cloned());
        let spoken = Spoken { source, spoke };
        let line = serde_json::to_string(&spoken).map_err(|error| unwritable(&error))?;
        self.lines.push(line);
        Ok(())
    }

    /// Returns whether this transaction adds to it.
    pub(crate) fn is_longer(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Adds what this transaction spoke of.
    pub(crate) fn append(&self, rows: &mut dyn Write) -> Result<(), Error> {
        if self.lines.is_empty() || rows.append(&self.log, self.last, &self.lines)? {
            return Ok(());
        }
        Err(Error::assertion(
            "the log of what a session spoke of has one writer at a time",
        ))
    }
}

fn log_of(key: &[u8; 32], place: &[u8]) -> String {
    let digest = Digest::keyed(key, &[&b"session"[..], place]).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    format!("{SESSION_MENTIONS}{}", hex.get(..32).unwrap_or(hex))
}

/// The session of an object, as those know it who may see the object; none where it belongs to no session.
pub(crate) fn place(object: &ContextObject) -> Result<Option<Vec<u8>>, Error> {
    let revision = object.revision();
    if revision.scope().session.is_none() {
        return Ok(None);
    }
    let scope = Scope {
        task: None,
        ..Scope::clone(revision.scope())
    };
    let place = (scope, revision.classification().term());
    let sites = object.sites();
    let place = if sites.is_empty() {
        serde_json::to_vec(&place)
    } else {
        serde_json::to_vec(&(place, sites))
    };
    Ok(Some(place.map_err(|error| unwritable(&error))?))
}

/// Mentions of the sessions of a tenant, on the way into an export.
pub(crate) struct Exported {
    key: [u8; 32],
    /// The objects that spoke of something.
    sources: BTreeSet<ObjectId>,
    /// The logs of sessions, by what a copy names them by, too.
    logs: BTreeMap<Vec<u8>, String>,
    /// The first revision of an object that belongs to the session of a log.
    revisions: BTreeMap<(ObjectId, String), RevisionId>,
}

impl Exported {
    pub(crate) fn read(rows: &mut dyn Read) -> Result<Exported, Error> {
        let mut sources = BTreeSet::new();
        for (log, _) in rows.logs()? {
            if !log.starts_with(SESSION_MENTIONS) || log == MENTIONS {
                continue;
            }
            each_of(rows, &log, &mut |spoken: Spoken| {
                sources.insert(spoken.source);
                Ok(())
            })?;
        }
        Ok(Exported {
            key: rows.key()?.unwrap_or_default(),
            sources,
            logs: BTreeMap::new(),
            revisions: BTreeMap::new(),
        })
    }

    /// Looks at a revision that is exported.
    pub(crate) fn see(&mut self, object: &ContextObject) -> Result<(), Error> {
        let id = object.revision().object_id();
        if !self.sources.contains(&id) {
            return Ok(());
        }
        if let Some(place) = place(object)? {
            let log = log_of(&self.key, &place);
            let revision = (id, log.clone());
            self.revisions.entry(revision).or_insert(object.revision().id());
            self.logs.insert(place, log);
        }
        Ok(())
    }

    /// Calls `each` with a line for everything that an object spoke of, session by session.
    pub(crate) fn each(
        &self,
        rows: &mut dyn Read,
        each: &mut dyn FnMut(SpokenLine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for log in self.logs.values() {
            each_of(rows, log, &mut |Spoken { source, spoke }| {
                self.revisions.get(&(source, log.clone())).map_or(Ok(()), |revision| {
                    each(SpokenLine {
                        object_id: source,
                        revision: *revision,
                        entities: spoke,
                    })
                })
            })?;
        }
        Ok(())
    }
}
