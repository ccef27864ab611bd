//! The entities that the texts of objects mention, bound as the objects were written: a log beside that of the registry.
//!
//! A line is about one text of one object, so that it holds for no other text and for each revision with that one, and has its
//! instant, so that a compile of the past is told what was bound then.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::ObjectId;
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::rows::engine::{Read, Write};
use crate::rows::stored::unwritable;
use crate::rows::tombstones::NOTICE;

/// The prefix of the logs of what the objects of a session spoke of.
pub(crate) const SESSION_MENTIONS: &str = "entities/";
/// The log. It stands among those of what sessions spoke of: an erasure takes from all of them.
pub(crate) const LOG: &str = "entities/mentions";
/// The number of entries that are read at once.
const CHUNK: u64 = 256;

/// The entities that the text of an object mentions, as everyone knows them who may see it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The instant of the write.
    pub(crate) at: Instant,
    /// The object.
    pub(crate) source: ObjectId,
    /// The digest of the text.
    pub(crate) text: Digest,
    /// The ids of the entities.
    pub(crate) mentions: BTreeSet<String>,
}

/// The ids of entities, by objects and the digests of their texts.
type Texts = BTreeMap<(ObjectId, Digest), Arc<[String]>>;

/// The entities that the texts of objects mention, as their log has it up to an entry.
#[derive(Clone, Default, Debug)]
pub(crate) struct Mentions {
    last: u64,
    /// Texts that were read long ago, beside those that were read since: these are what is copied as the log grows.
    older: Arc<Texts>,
    newer: Texts,
}

/// The number of texts that are copied as the log of what is mentioned grows.
const MOST_NEWER: usize = 1_024;

impl Mentions {
    /// These as they stand, or as they stood at an instant.
    pub(crate) fn read(rows: &mut dyn Read, known: Option<Instant>) -> Result<Mentions, Error> {
        let last = rows.last(LOG)?;
        let mut all = Mentions {
            last,
            ..Mentions::default()
        };
        if last > 0 {
            all.add(rows, 1..last + 1, known)?;
            all.age();
        }
        Ok(all)
    }

    /// These as they stand now.
    pub(crate) fn refreshed(&self, rows: &mut dyn Read) -> Result<Mentions, Error> {
        let last = rows.last(LOG)?;
        if last < self.last {
            return Mentions::read(rows, None);
        }
        let mut fresh = self.clone();
        if last > self.last && !fresh.add(rows, self.last + 1..last + 1, None)? {
            // Others were rewritten.
            return Mentions::read(rows, None);
        }
        fresh.last = last;
        if fresh.newer.len() > MOST_NEWER {
            fresh.age();
        }
        Ok(fresh)
    }

    /// Adds these entries. Returns whether all of them could be read.
    fn add(
        &mut self,
        rows: &mut dyn Read,
        entries: Range<u64>,
        known: Option<Instant>,
    ) -> Result<bool, Error> {
        let mut whole = true;
        let Range { mut start, end } = entries;
        while start < end {
            let next = end.min(start + CHUNK);
            for (_, body) in rows.entries(LOG, start..next)? {
                let Ok(line) = serde_json::from_str::<Line>(&body) else {
                    whole = false;
                    continue;
                };
                if known.is_none_or(|known| line.at <= known) {
                    let mentions: Vec<String> = line.mentions.into_iter().collect();
                    self.newer.insert((line.source, line.text), mentions.into());
                }
            }
            start = next;
        }
        Ok(whole)
    }

    fn age(&mut self) {
        let newer = std::mem::take(&mut self.newer);
        Arc::make_mut(&mut self.older).extend(newer);
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.older.is_empty() && self.newer.is_empty()
    }

    /// The ids of the entities that a text of an object mentions.
    pub(crate) fn of(&self, object: ObjectId, text: Digest) -> &[String] {
        let text = (object, text);
        self.newer
            .get(&text)
            .or_else(|| self.older.get(&text))
            .map_or(&[], |ids| &**ids)
    }
}

/// Adds what this write mentions.
pub(crate) fn append(rows: &mut dyn Write, lines: &[Line]) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = lines
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()
        .map_err(|error| unwritable(&error))?;
    let last = rows.last(LOG)?;
    if rows.append(LOG, last, &lines)? {
        return Ok(());
    }
    Err(Error::assertion(
        "the log of what texts mention has one writer at a time",
    ))
}

/// Takes these entities out of what sessions spoke of and texts mention, whatever spoke of them.
pub(crate) fn unmention(rows: &mut dyn Write, ids: &BTreeSet<String>) -> Result<(), Error> {
    let logs: Vec<String> = rows
        .logs()?
        .into_iter()
        .map(|(log, _)| log)
        .filter(|log| log.starts_with(SESSION_MENTIONS))
        .collect();
    for log in logs {
        let mut changed = Vec::new();
        let mut next = 1;
        loop {
            let chunk = rows.entries(&log, next..next + CHUNK)?;
            let Some((last, _)) = chunk.last() else { break };
            next = last + 1;
            for (number, body) in chunk {
                let Ok(mut line) = serde_json::from_str::<Value>(&body) else {
                    continue;
                };
                let mut lost = false;
                let mut rest = 0;
                for field in ["spoke", "mentions"] {
                    if let Some(said) = line.get_mut(field).and_then(Value::as_array_mut) {
                        let before = said.len();
                        said.retain(|id| id.as_str().is_none_or(|id| !ids.contains(id)));
                        lost |= said.len() < before;
                        rest += said.len();
                    }
                }
                if lost {
                    let left = if rest == 0 {
                        NOTICE.to_owned()
                    } else {
                        line.to_string()
                    };
                    changed.push((number, left));
                }
            }
        }
        if changed.is_empty() {
            continue;
        }
        rows.rewrite(&log, &changed)?;
        // Who holds them in memory reads them anew.
        let last = rows.last(&log)?;
        rows.append(&log, last, &[NOTICE.to_owned()])?;
    }
    Ok(())
}
