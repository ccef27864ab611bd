//! All that a tenant keeps of what it believes, and the texts that are kept, line by line.

use serde::Serialize;
use tenure::{Digest, Error};

use crate::blobs::{TextLine, unaltered};
use crate::carried::{CarriedLine, each_carried};
use crate::engine::Read;
use crate::outcomes::mistakes;
use crate::spoken;
use crate::stored::{Line, each_line};
use crate::tenant::Tenant;

/// A line of an export.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ExportLine<'l> {
    /// A belief about an object.
    Belief(&'l Line),
    /// What else is kept.
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
    let mut spoken = spoken::Exported::read(rows)?;
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
