//! The mark of a file that SQLite keeps: a number in its header, drawn when the file is made. It tells the file that this
//! user's program made, or that the user accepted, from another one that came to stand in its place.

use std::fmt;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::num::NonZeroU32;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use tenure::{Error, ErrorKind};

/// The first bytes of a file that SQLite keeps.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The place of the number in the header, in bytes.
const PLACE: usize = 68;
/// The time that one process waits for another that writes.
const BUSY: Duration = Duration::from_secs(10);

/// A mark. It is drawn at random, and says nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FileMark(NonZeroU32);

/// The mark that stands in the header of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// The file is of SQLite, and has this mark, or none.
    Marked(Option<FileMark>),
    /// The file is empty: whoever began to make it was stopped.
    Empty,
    /// The file is none of SQLite, or is damaged.
    Unreadable,
}

impl FileMark {
    /// Draws a mark.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when there are no random numbers.
    pub fn draw() -> Result<FileMark, Error> {
        loop {
            let mut drawn = [0; 4];
            getrandom::fill(&mut drawn).map_err(|error| {
                let what = format!("the system's random number generator failed: {error}");
                Error::new(ErrorKind::Unavailable, what)
            })?;
            if let Some(mark) = FileMark::of_number(u32::from_be_bytes(drawn)) {
                return Ok(mark);
            }
        }
    }

    fn of_number(number: u32) -> Option<FileMark> {
        NonZeroU32::new(number).map(FileMark)
    }

    /// Reads the header of an open file. What another process wrote and SQLite has not put there yet is not seen.
    ///
    /// # Errors
    ///
    /// As reading the file.
    pub fn in_header(mut file: &std::fs::File) -> std::io::Result<Header> {
        let mut header = Vec::with_capacity(PLACE + 4);
        file.seek(SeekFrom::Start(0))?;
        file.take(PLACE as u64 + 4).read_to_end(&mut header)?;
        if header.is_empty() {
            return Ok(Header::Empty);
        }
        let number = header.get(PLACE..).and_then(|part| part.try_into().ok());
        Ok(match number {
            Some(number) if header.starts_with(MAGIC) => {
                Header::Marked(FileMark::of_number(u32::from_be_bytes(number)))
            }
            _ => Header::Unreadable,
        })
    }

    /// Reads the mark as SQLite sees it: with what is not in its place yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when SQLite cannot read the file.
    pub fn of_file(path: &Path) -> Result<Option<FileMark>, Error> {
        opened(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .and_then(|connection| FileMark::of(&connection))
            .map_err(|error| unmarked(path, error))
    }

    /// Marks a file that is there and has no mark; returns the one that it has then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when SQLite cannot read the file, [`ErrorKind::Unavailable`] when it cannot be written.
    pub fn put(path: &Path) -> Result<FileMark, Error> {
        let drawn = FileMark::draw()?;
        let failed = |error| unmarked(path, error);
        let connection = opened(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
        let mark = FileMark::of(&connection).map_err(failed)?;
        if mark.is_none() {
            drawn.set(&connection).map_err(failed)?;
        }
        connection.execute_batch("COMMIT").map_err(failed)?;
        // So that the header has it. Others that read meanwhile only delay that.
        connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
            .map_err(failed)?;
        Ok(mark.unwrap_or(drawn))
    }

    /// Makes a file with this mark where there is none, or an empty one: nothing else is in it before its mark.
    pub(crate) fn begin(self, path: &Path) -> rusqlite::Result<()> {
        if path.metadata().is_ok_and(|found| found.len() > 0) {
            return Ok(());
        }
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        self.set(&opened(path, access)?)
    }

    /// Reads the mark of the file that a connection has open.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Option<FileMark>> {
        let number: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        Ok(FileMark::of_number(number.cast_unsigned()))
    }

    fn set(self, connection: &Connection) -> rusqlite::Result<()> {
        connection.pragma_update(None, "application_id", self.0.get().cast_signed())
    }

    /// Checks that a connection has opened the file with this mark.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it is another file.
    pub(crate) fn check(self, connection: &Connection, path: &Path) -> Result<(), Error> {
        match FileMark::of(connection) {
            Ok(Some(mark)) if mark == self => Ok(()),
            Ok(_) => Err(Error::new(
                ErrorKind::Policy,
                format!("`{}` is not the file that was trusted", path.display()),
            )
            .hint(
                "nothing was read or written; another program put a file in its place meanwhile",
            )),
            Err(error) => Err(unmarked(path, error)),
        }
    }
}

fn opened(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

fn unmarked(path: &Path, error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let kind = match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => ErrorKind::Damaged,
        _ => ErrorKind::Unavailable,
    };
    let what = format!("the mark of `{}` cannot be used: {error}", path.display());
    Error::new(kind, what).caused_by(error)
}

impl fmt::Display for FileMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for FileMark {
    type Err = Error;

    fn from_str(text: &str) -> Result<FileMark, Error> {
        u32::from_str_radix(text, 16).ok().and_then(FileMark::of_number).ok_or_else(|| {
            Error::input("not the mark of a file").expected("up to 8 hexadecimal digits, not 0")
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_written_once_and_stands_in_the_header() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let header = || FileMark::in_header(&std::fs::File::open(&path).unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        assert_eq!(header(), Header::Empty);
        std::fs::write(&path, "no database").unwrap();
        assert_eq!(header(), Header::Unreadable);
        std::fs::remove_file(&path).unwrap();
        let old = Connection::open(&path).unwrap();
        old.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE a(b)").unwrap();
        drop(old);
        assert_eq!(header(), Header::Marked(None));
        let mark = FileMark::put(&path).unwrap();
        assert_eq!(header(), Header::Marked(Some(mark)));
        assert_eq!(FileMark::put(&path).unwrap(), mark);
        assert_eq!(FileMark::of_file(&path).unwrap(), Some(mark));
        assert_eq!(mark.to_string().parse::<FileMark>().unwrap(), mark);
    }
}
