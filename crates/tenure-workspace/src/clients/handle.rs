//! The handle of a conversation: a file by which the tools of an agent find what the gateway beside it keeps.
//!
//! Whoever starts an agent with the gateway makes one, and names it to both. The gateway notes there which conversation
//! it is at; a server of tools that the agent starts reads it at each call. It holds no text and no secret, and it is
//! its owner's alone.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tenure::{Error, ErrorKind};
use tenure_adapters::read::open_file;

/// The variable that names a handle to the server of tools.
pub const HANDLE_VARIABLE: &str = "TENURE_CONVERSATION";
/// The version of the form of its file.
const VERSION: u32 = 1;
/// The most bytes of its file.
const LARGEST: u64 = 64 << 10;

/// A conversation, and whose it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversation {
    version: u32,
    /// The tenant.
    pub tenant: String,
    /// The id of the session.
    pub session: String,
}

/// A handle of a conversation.
#[derive(Debug)]
pub struct Handle {
    path: PathBuf,
    noted: Mutex<Option<Conversation>>,
}

impl Handle {
    /// Returns the handle that a file is, or will be.
    pub fn at(path: impl Into<PathBuf>) -> Handle {
        Handle {
            path: path.into(),
            noted: Mutex::new(None),
        }
    }

    /// Makes a handle in a folder of its own, which goes with the second of what is returned.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when there can be no such folder.
    pub fn make() -> Result<(Handle, TempDir), Error> {
        let mut folder = tempfile::Builder::new();
        folder.prefix("tenure-run-");
        // Only its owner can look into it.
        #[cfg(unix)]
        folder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let folder = folder.tempdir().map_err(|error| {
            let what = format!("there can be no temporary folder: {error}");
            Error::new(ErrorKind::Unavailable, what)
        })?;
        Ok((Handle::at(folder.path().join("conversation.json")), folder))
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes which conversation it leads to from now on. Readers find the one before, or this one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the file cannot be written.
    pub fn note(&self, tenant: &str, session: &str) -> Result<(), Error> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Conversation {
            version: VERSION,
            tenant: tenant.to_owned(),
            session: session.to_owned(),
        };
        if noted.as_ref() == Some(&now) {
            return Ok(());
        }
        self.write(&now).map_err(|error| {
            let what = format!("`{}` cannot be written: {error}", self.path.display());
            Error::new(ErrorKind::Unavailable, what)
        })?;
        *noted = Some(now);
        Ok(())
    }

    fn write(&self, now: &Conversation) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut draft = tempfile::NamedTempFile::new_in(folder)?;
        draft.write_all(serde_json::to_string(now)?.as_bytes())?;
        draft.persist(&self.path)?;
        Ok(())
    }

    /// Reads which conversation it leads to; none before the first, and none once the gateway has ended.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the file is no handle.
    pub fn read(&self) -> Result<Option<Conversation>, Error> {
        let wrong = |what: String| {
            let error = Error::input(format!("the handle of the conversation {what}"))
                .at(self.path.display().to_string(), None);
            error.hint(format!(
                "`tenure run` sets {HANDLE_VARIABLE}; without it there is no conversation"
            ))
        };
        let mut text = String::new();
        let file = match open_file(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(wrong(format!("cannot be read: {error}"))),
        };
        let read = file.take(LARGEST).read_to_string(&mut text);
        read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let read: Conversation =
            serde_json::from_str(&text).map_err(|_| wrong("is none".to_owned()))?;
        if read.version != VERSION {
            return Err(wrong(format!("is of the version {}", read.version)));
        }
        Ok(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_leads_to_the_last_conversation_until_its_folder_goes() {
        let (handle, folder) = Handle::make().unwrap();
        let reader = Handle::at(handle.path());
        assert_eq!(reader.read().unwrap(), None);
        for session in ["a", "a", "b <script>"] {
            handle.note("acme", session).unwrap();
            let read = reader.read().unwrap().unwrap();
            assert_eq!((&*read.tenant, &*read.session), ("acme", session));
        }
        for none in [
            "",
            "{",
            "{\"version\":2,\"tenant\":\"t\",\"session\":\"s\"}",
            "[1]",
        ] {
            std::fs::write(handle.path(), none).unwrap();
            let error = reader.read().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Input, "{none}");
        }
        std::fs::write(handle.path(), "x".repeat(1 << 20)).unwrap();
        assert!(reader.read().is_err());
        drop(folder);
        assert_eq!(reader.read().unwrap(), None);
        assert!(handle.note("acme", "c").is_err());
    }
}
