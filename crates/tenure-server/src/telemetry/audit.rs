//! The audit log: one JSON line for each request that had to show who it is. No contents, no secrets.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
use tenure_workspace::open_to_append;

/// A line of the audit log: who did what, with its outcome.
#[derive(Serialize)]
pub(crate) struct Line<'l> {
    pub(crate) at: Instant,
    pub(crate) tenant: &'l str,
    /// The id of the key, not the key; or `jwt:` and the subject of the token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<&'l str>,
    pub(crate) method: &'l str,
    /// The path without its query.
    pub(crate) path: &'l str,
    pub(crate) status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<&'l str>,
}

/// The file, which is only appended to, each line with one write.
pub(crate) struct Audit {
    file: Option<Mutex<File>>,
}

impl Audit {
    /// The log in this file, or none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Audit, Error> {
        Ok(Audit {
            file: path
                .map(|path| {
                    open_to_append(path).map(Mutex::new).map_err(|error| {
                        Error::input(format!(
                            "the audit log `{}` cannot be opened: {error}",
                            path.display()
                        ))
                    })
                })
                .transpose()?,
        })
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Appends a line.
    pub(crate) fn note(&self, line: &Line<'_>) -> Result<(), Error> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(
                ErrorKind::Unavailable,
                format!("the audit log cannot be written: {error}"),
            )
        };
        let mut text = serde_json::to_vec(line).map_err(|error| failed(&error))?;
        text.push(b'\n');
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&text).map_err(|error| failed(&error))
    }
}
