//! All that is believed, and the texts that are kept, line by line.

use serde::Serialize;
use tenure::{Digest, Error};

use crate::blobs::{TextLine, unaltered};
use crate::engine::Read;
use crate::outcomes::proposed_outcomes;
use crate::resolution::Registry;
use crate::stored::{Line, each_line};
use crate::tenant::Tenant;

/// A line of an export.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum ExportLine<'l> {
    /// A belief about an object.
    Belief(&'l Line),
    /// A text that is kept by its digest.
    Text(&'l TextLine),
}

/// Counts of what a tenant holds besides its objects, and an export leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NotExported {
    /// The number of entities of the registry.
    pub entities: usize,
    /// The number of decisions between claims that people made and that hold now.
    pub decisions: usize,
    /// The number of outcomes. An export has their objects, but not who proposed them or who decided.
    pub outcomes: usize,
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
                entities: Registry::read(rows, None)?.entities.len(),
                decisions: rows.decided(None, None)?.len(),
                outcomes: proposed_outcomes(rows)?,
            })
        })
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
            each_line(rows, &mut |line| each(ExportLine::Belief(line)))?;
            for digest in digests {
                let bytes = listed(rows, digest)?;
                each(ExportLine::Text(&TextLine::of(digest, bytes)))?;
            }
            Ok(())
        })
    }
}

/// A text that the list of all names.
fn listed(rows: &mut dyn Read, digest: Digest) -> Result<Vec<u8>, Error> {
    unaltered(rows, digest)?.ok_or_else(|| {
        Error::damaged(format!("the text {digest} is listed but missing"))
            .hint("`tenure store check` lists the other damage")
    })
}
