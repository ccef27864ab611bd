//! All that a tenant keeps of what it believes, and the texts that are kept, line by line.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tenure::belief::entity::{Entities, EntityEntry};
use tenure::object::{ObjectId, Usage};
use tenure::{Digest, Error};

use crate::copy::export_rows::{CarriedLine, ConflictLine, MentionLine, UsageLine};
use crate::entity::mentions;
use crate::entity::resolution::{entries, folded, take_up};
use crate::entity::session_mentions;
use crate::pending::outcomes::{self, mistakes};
use crate::rows::blobs::{TextLine, unaltered};
use crate::rows::engine::Read;
use crate::rows::stored::{Line, each_line, each_of};
use crate::tenant::handle::Tenant;

/// The number of objects whose judgements are read at once.
const AT_ONCE: usize = 256;

/// A line of an export.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ExportLine<'l> {
    /// A belief about an object.
    Belief(&'l Line),
    /// A line of what else is kept.
    Carried(&'l CarriedLine),
    /// A text that is kept by its digest.
    Text(&'l TextLine),
}

/// Counts of what an export leaves out, since it means something under the tenant's own key alone.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NotExported {
    /// The number of corrections of which the mistake is known by a keyed digest: the copy does not know its words again.
    pub mistakes: usize,
}

impl Tenant {
    /// Counts what an export leaves out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn not_exported(&self) -> Result<NotExported, Error> {
        self.read(|rows| {
            Ok(NotExported {
                mistakes: mistakes(rows)?,
            })
        })
    }

    /// Calls `each` with a line for every belief there ever was (by object, in the order in which they came, then by time), and
    /// then for everything else that a copy needs to compile the same: counters, the registry of entities, what texts mention and
    /// sessions spoke of, the judgements on pairs of claims, and what was done with outcomes. The same store gives the same
    /// lines. Damaged revisions that were set aside have none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](tenure::ErrorKind::Damaged) at the first revision that is not what was written, naming it;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached, and what `each` fails with.
    pub fn export(
        &self,
        each: &mut dyn FnMut(ExportLine<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.read(|rows| lines(rows, each))
    }

    /// Calls `each` with the lines of [`Tenant::export`], and then with every text that is kept by its digest,
    /// in the order of the digests. It is called for nothing where all texts together have more bytes than `most`,
    /// or one of them was altered.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when they have more;
    /// [`ErrorKind::Damaged`](tenure::ErrorKind::Damaged) when one was altered; what `each` says;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn export_with_texts(
        &self,
        most: u64,
        each: &mut dyn FnMut(ExportLine<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.read(|rows| {
            let digests = rows.blobs()?;
            let mut left = most;
            for digest in &digests {
                let bytes = listed(rows, *digest)?;
                left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
                    Error::input(format!("the kept texts have more than {most} bytes"))
                        .hint("allow more with --texts-limit")
                })?;
            }
            lines(rows, each)?;
            for digest in digests {
                let bytes = listed(rows, digest)?;
                each(ExportLine::Text(&TextLine::of(digest, bytes)))?;
            }
            Ok(())
        })
    }
}

fn lines(
    rows: &mut dyn Read,
    each: &mut dyn FnMut(ExportLine<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut spoken = session_mentions::Exported::read(rows)?;
    let left_out = each_line(rows, &mut |line, object| {
        spoken.see(object)?;
        each(ExportLine::Belief(line))
    })?;
    each_carried(rows, &spoken, &left_out, &mut |line| {
        each(ExportLine::Carried(line))
    })
}

/// A text that the list of all names.
fn listed(rows: &mut dyn Read, digest: Digest) -> Result<Vec<u8>, Error> {
    unaltered(rows, digest)?.ok_or_else(|| {
        Error::damaged(format!("the text {digest} is listed but missing"))
            .hint("`tenure store check` lists the other damage")
    })
}

/// Calls `each` with a line for all of it, but for what is about objects that are `left_out`.
fn each_carried(
    rows: &mut dyn Read,
    spoken: &session_mentions::Exported,
    left_out: &BTreeSet<ObjectId>,
    each: &mut dyn FnMut(&CarriedLine) -> Result<(), Error>,
) -> Result<(), Error> {
    for (object_id, usage) in rows.usage(None)? {
        let Usage {
            access_count,
            last_used,
            last_confirmed,
        } = usage;
        if usage != Usage::default() && !left_out.contains(&object_id) {
            each(&CarriedLine::Usage(UsageLine {
                object_id,
                access_count,
                last_used,
                last_confirmed,
            }))?;
        }
    }
    for entry in registry(rows)? {
        each(&CarriedLine::Entity(Box::new(entry)))?;
    }
    each_of(rows, mentions::LOG, &mut |line: mentions::Line| {
        if left_out.contains(&line.source) {
            return Ok(());
        }
        each(&CarriedLine::Mention(MentionLine {
            at: line.at,
            object_id: line.source,
            text_digest: line.text,
            entities: line.mentions,
        }))
    })?;
    spoken.each(rows, &mut |line| each(&CarriedLine::Spoken(line)))?;
    each_conflict(rows, &mut |line| {
        if left_out.contains(&line.first) || left_out.contains(&line.second) {
            return Ok(());
        }
        each(&CarriedLine::Conflict(Box::new(line)))
    })?;
    outcomes::each_entry(rows, &mut |entry| {
        if left_out.contains(&entry.object_id) {
            return Ok(());
        }
        each(&CarriedLine::Outcome(entry))
    })
}

/// The entries of the registry, the oldest first, but for those that speak of an entity that is no more, since it was erased: they
/// have no effect at any instant.
fn registry(rows: &mut dyn Read) -> Result<Vec<EntityEntry>, Error> {
    let mut all = entries(rows)?;
    // One that was taken over from elsewhere is behind those that were there, however old it is.
    all.sort_by_key(|entry| entry.at);
    let now = folded(&all);
    let mut entities = Entities::default();
    all.retain(|entry| take_up(&mut entities, entry, &|id| now.holds(id)).is_ok());
    Ok(all)
}

/// Calls `each` with every judgement on a pair that there ever was: in the order in which the first objects came.
fn each_conflict(
    rows: &mut dyn Read,
    each: &mut dyn FnMut(ConflictLine) -> Result<(), Error>,
) -> Result<(), Error> {
    let ids: Vec<ObjectId> = rows.objects()?.into_iter().map(|(_, id)| id).collect();
    for ids in ids.chunks(AT_ONCE) {
        let mut by_first: BTreeMap<ObjectId, Vec<ConflictLine>> = BTreeMap::new();
        for row in rows.pairs_ever(ids)? {
            let line = ConflictLine::of(&row)?;
            by_first.entry(row.first).or_default().push(line);
        }
        for id in ids {
            let mut lines = by_first.remove(id).unwrap_or_default();
            // The digests of slots differ between stores.
            lines.sort_by(|one, other| {
                let place = |line: &ConflictLine| {
                    let of = (line.second, line.tx_start, line.slot.clone());
                    (of, line.entity.clone(), line.merged.clone())
                };
                place(one).cmp(&place(other))
            });
            lines.into_iter().try_for_each(&mut *each)?;
        }
    }
    Ok(())
}
