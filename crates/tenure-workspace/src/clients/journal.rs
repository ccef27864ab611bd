//! The journal of a setup: what each file was before, and what was put into it. It is what an undo goes by.

use std::fs;
use std::io::ErrorKind as Io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::{Digest, Error};
use tenure_adapters::read::{open_file, read_bytes, read_text};

use super::known::{Client, Entry, Places};
use crate::files::{Over, put};

/// The version of this form.
const VERSION: u32 = 1;

/// An entry that was set.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetEntry {
    #[serde(flatten)]
    pub(super) entry: Entry,
    /// The value that stood there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Value>,
    /// The number of objects above it that were there before.
    pub(super) stays: usize,
}

/// A file that was changed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptFile {
    /// The file, as the client looks for it.
    pub(super) path: PathBuf,
    /// The copy of what it was; none where there was no file.
    pub(super) copy: Option<PathBuf>,
    /// The digest of the copy.
    pub(super) before: Option<Digest>,
    /// The digest of what was written.
    pub(super) after: Digest,
    /// The mode that it had, where another was written with its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<u32>,
    /// The folders that were made for it, the uppermost first.
    pub(super) folders: Vec<PathBuf>,
    pub(super) entries: Vec<SetEntry>,
}

impl KeptFile {
    /// Returns what the file was, where the copy is still what was kept.
    pub(super) fn original(&self) -> Option<Option<Vec<u8>>> {
        let (Some(copy), Some(before)) = (&self.copy, self.before) else {
            return Some(None);
        };
        let bytes = read_bytes(copy).ok()?;
        (Digest::of(&bytes) == before).then_some(Some(bytes))
    }
}

/// Record of what was set up of one client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Journal {
    version: u32,
    client: Client,
    pub(super) files: Vec<KeptFile>,
}

impl Journal {
    pub(super) fn new(client: Client) -> Journal {
        Journal {
            version: VERSION,
            client,
            files: Vec::new(),
        }
    }

    fn path(places: &Places, client: Client) -> PathBuf {
        Journal::folder(places).join(format!("{}.json", client.term()))
    }

    fn folder(places: &Places) -> PathBuf {
        places.state.join("setup")
    }

    /// Reads the journal of a client, where there is one.
    pub(super) fn read(places: &Places, client: Client) -> Result<Option<Journal>, Error> {
        let path = Journal::path(places, client);
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let text = read_text(&path)?;
        let shown = path.display().to_string();
        let journal: Journal = serde_json::from_str(&text).map_err(|error| {
            Error::input(format!("the journal of a setup cannot be read: {error}"))
                .at(&shown, Some(error.line()))
                .hint("take Tenure's entries out by hand, and delete this file")
        })?;
        if journal.version > VERSION {
            return Err(Error::input(format!(
                "the journal of a setup has version {}, and this program knows {VERSION}",
                journal.version
            ))
            .at(shown, None)
            .hint("undo it with the program that made it"));
        }
        Ok(Some(journal))
    }

    pub(super) fn of(&self, path: &Path) -> Option<&KeptFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Puts what a file was in safety, and returns where.
    pub(super) fn copy(
        places: &Places,
        client: Client,
        path: &Path,
        content: &[u8],
    ) -> Result<PathBuf, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let digest = Digest::of(content).to_string();
        let digest = &digest["sha256:".len()..][..8];
        let copy = Journal::folder(places).join(format!("{}.{digest}.{name}", client.term()));
        keep(&copy, content)?;
        Ok(copy)
    }

    /// Writes the journal; without files it is removed.
    pub(super) fn write(&self, places: &Places) -> Result<(), Error> {
        let path = Journal::path(places, self.client);
        if self.files.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != Io::NotFound => Err(unwritten(&path, &error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Error::input(format!("the journal cannot be written: {error}")))?;
        keep(&path, format!("{text}\n").as_bytes())
    }
}

/// Writes a file of the journal's, which is its owner's alone.
fn keep(path: &Path, content: &[u8]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| match open_file(path) {
            Ok(there) => put(path, content, Over::This(&there)),
            Err(_) => put(path, content, Over::Nothing),
        })
        .map_err(|error| unwritten(path, &error))
}

pub(super) fn unwritten(path: &Path, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        Io::PermissionDenied | Io::ReadOnlyFilesystem => Some("who runs this may not write there"),
        _ => None,
    };
    let error = Error::input(format!("cannot write `{}`: {error}", path.display()));
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
