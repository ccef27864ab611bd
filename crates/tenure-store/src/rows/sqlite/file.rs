//! The file of a store: which one it is, how it may be opened, and connections to it.

use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Result};
use tenure::{Error, ErrorKind};

use super::sum;

/// The time that one process waits for another that writes.
const BUSY: Duration = Duration::from_secs(10);

/// The characters that would end the path within a URI.
const NO_PATH: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#').add(b' ');

/// The access to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileAccess {
    /// It is read and written.
    Write,
    /// It is read; others may write it, too, and have put files next to it for that.
    Read,
    /// It is read where nothing stands next to it. What reading it puts there is gone when it is closed, which takes a
    /// connection that could write.
    ReadAlone,
    /// It is read, in a place where it cannot be written.
    Unchanging,
}

/// The identity of the file that a path led to (device and inode): a path outlives its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileId(Option<(u64, u64)>);

impl FileId {
    pub(super) fn of(path: &Path) -> std::result::Result<FileId, Error> {
        let gone = |reason: &dyn std::fmt::Display| {
            let what = format!(
                "the file of the store `{}` is gone: {reason}",
                path.display()
            );
            Error::new(ErrorKind::Unavailable, what)
        };
        let found = std::fs::metadata(path).map_err(|error| gone(&error))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            Ok(FileId(Some((found.dev(), found.ino()))))
        }
        #[cfg(not(unix))]
        {
            let _ = found;
            Ok(FileId(None))
        }
    }

    /// Checks that the path still leads to this file.
    pub(super) fn is_still(self, path: &Path) -> std::result::Result<(), Error> {
        let hint = "nothing was read or written; put the file back, or start again with the one that is there";
        match FileId::of(path).map_err(|error| error.hint(hint))? {
            now if now == self => Ok(()),
            _ => {
                let what = format!(
                    "the file of the store `{}` was replaced by another",
                    path.display()
                );
                Err(Error::new(ErrorKind::Unavailable, what).hint(hint))
            }
        }
    }
}

/// Makes the file readable by its owner alone, where there is none.
pub(super) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Returns whether writing a file is denied.
pub(super) fn is_denied(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Returns whether it is the error of a connection whose folder may not be written, either.
pub(super) fn cannot_be_written(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(
        error.sqlite_error_code(),
        Some(ReadOnly | CannotOpen | PermissionDenied)
    )
}

/// Checks that a connection can be read.
pub(super) fn probe(connection: &Connection) -> Result<()> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// A connection with what every one of them needs: full durability, and room to cache. What is written goes
/// to its place when 32 MiB of it wait: a large write would pay for that at once otherwise.
pub(super) fn connect(path: &Path, access: FileAccess) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        FileAccess::Write | FileAccess::ReadAlone => {
            let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE;
            Connection::open_with_flags(path, flags)?
        }
        FileAccess::Read => {
            let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY;
            Connection::open_with_flags(path, flags)?
        }
        FileAccess::Unchanging => {
            let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let shown = path.to_string_lossy();
            let path = utf8_percent_encode(&shown, NO_PATH);
            Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?
        }
    };
    connection.busy_timeout(BUSY)?;
    if access == FileAccess::ReadAlone {
        connection.execute_batch("PRAGMA query_only = ON")?;
    }
    if access == FileAccess::Write {
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    }
    connection.execute_batch(
        "PRAGMA cache_size = -65536; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; \
         PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 8192;",
    )?;
    // The plan of a statement follows from its text alone. Otherwise each value that is compared with what a partial index
    // holds prepares it anew.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    sum::register(&connection)?;
    Ok(connection)
}

/// A connection that only reads, and how. A file is taken for one that does not change only where this process may write
/// neither it nor its folder, and no other left anything next to it: who takes it so reads past what is written later.
pub(super) fn to_read(path: &Path) -> Result<(Connection, FileAccess)> {
    let open = |access| -> Result<(Connection, FileAccess)> {
        let connection = connect(path, access)?;
        probe(&connection)?;
        Ok((connection, access))
    };
    let stands = |more: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(more);
        Path::new(&name).exists()
    };
    let is_alone = !stands("-wal") && !stands("-shm");
    let may_write = std::fs::OpenOptions::new().append(true).open(path).is_ok();
    if is_alone && may_write {
        match open(FileAccess::ReadAlone) {
            Err(error) if cannot_be_written(&error) => {}
            opened => return opened,
        }
    }
    match open(FileAccess::Read) {
        // Nothing can be put next to it.
        Err(error) if is_alone && !may_write && cannot_be_written(&error) => {
            open(FileAccess::Unchanging)
        }
        opened => opened,
    }
}
