//! The embedded engine: one SQLite file.
//!
//! One connection writes, others read. Writers that come while a transaction is being made durable
//! share the next one, each in a savepoint of its own, so that many of them pay for one flush.

mod asked;
mod decode;
mod file;
mod places;
mod rows;
mod sum;
mod whole;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode};
use tenure::time::Instant;
use tenure::{Error, ErrorKind};

use self::file::{FileAccess, FileId};
use self::rows::Rows;
use crate::rows::engine::{Damage, Engine, Read, WriteJob};
use crate::rows::mark::FileMark;

/// The migrations, in order; the version of a schema is how many of them it has.
const MIGRATIONS: &[&str] = &[
    include_str!("0001_store.sql"),
    include_str!("0002_fewer_trees.sql"),
    include_str!("0003_search.sql"),
    include_str!("0004_sums.sql"),
    include_str!("0005_index_at_write.sql"),
    include_str!("0006_claims.sql"),
    include_str!("0007_sessions.sql"),
    include_str!("0008_waiting.sql"),
    include_str!("0009_records.sql"),
];

/// The number of connections that are kept for reading.
const READERS: usize = 8;

/// The time and the random numbers that a store in a file takes from outside. With the same ones, the same writes
/// make the same file, byte for byte.
pub trait Outside: Send + Sync {
    /// The time, where there is a clock.
    fn now(&self) -> Option<Instant>;
    /// A new key of a tenant, for its keyed digests.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when there are no random numbers.
    fn key(&self) -> Result<[u8; 32], Error>;
}

/// The clock and the random numbers of the machine.
pub(crate) struct Machine;

impl Outside for Machine {
    fn now(&self) -> Option<Instant> {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let micros = i64::try_from(elapsed.as_micros()).ok()?;
        Some(Instant::from_micros(micros))
    }

    fn key(&self) -> Result<[u8; 32], Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let what = format!("the system's random number generator failed: {error}");
            Error::new(ErrorKind::Unavailable, what)
        })?;
        Ok(key)
    }
}

struct Queued {
    tenant: String,
    job: WriteJob,
    done: mpsc::Sender<Result<(), Error>>,
}

/// A store in one file.
pub(crate) struct Sqlite {
    path: PathBuf,
    file: FileId,
    access: FileAccess,
    /// The mark that every connection has to find.
    mark: Option<FileMark>,
    outside: Arc<dyn Outside>,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
    queue: Mutex<Vec<Queued>>,
    /// The versions of the schema that opening it applied, until they are asked for.
    applied: Mutex<Vec<u32>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of tables and indexes in a database.
fn tables(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

impl Sqlite {
    /// Opens the file, which is made where there is none, and brings its schema up to date. A file that cannot be
    /// written is opened to be read. With a mark, it is made so, or has it.
    pub(crate) fn open(
        path: &Path,
        outside: Arc<dyn Outside>,
        mark: Option<FileMark>,
    ) -> Result<Sqlite, Error> {
        let shown = || path.display().to_string();
        // To open a pipe would wait for ever.
        if path.exists() && !path.is_file() {
            let what = format!("the store `{}` is not a file", shown());
            return Err(Error::input(what).expected("a store of tenure, or a path without a file"));
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                Error::input(format!(
                    "cannot create the folder of the store `{}`: {error}",
                    shown()
                ))
            })?;
        }
        match file::make_private(path) {
            Err(error) if file::is_denied(&error) && path.is_file() => {
                return Sqlite::open_to_read(path, outside, mark);
            }
            made => made.map_err(|error| {
                Error::input(format!("cannot create the store `{}`: {error}", shown()))
                    .hint("name a file that can be written")
            })?,
        }
        if let Some(mark) = mark {
            mark.begin(path).map_err(|error| no_store(path, error))?;
        }
        let found = FileId::of(path)?;
        let writer = file::connect(path, FileAccess::Write)
            .and_then(|writer| file::probe(&writer).map(|()| writer));
        let writer = match writer {
            Err(error) if file::cannot_be_written(&error) => {
                return Sqlite::open_to_read(path, outside, mark);
            }
            opened => opened.map_err(|error| no_store(path, error))?,
        };
        let sqlite = Sqlite::over(path, found, (FileAccess::Write, mark), outside, writer)?;
        sqlite.is_marked(&lock(&sqlite.writer))?;
        let applied = sqlite.bring_up_to_date()?;
        *lock(&sqlite.applied) = applied;
        Ok(sqlite)
    }

    /// Opens a file that is there to read it; nothing is written.
    pub(crate) fn open_to_read(
        path: &Path,
        outside: Arc<dyn Outside>,
        mark: Option<FileMark>,
    ) -> Result<Sqlite, Error> {
        if !path.is_file() {
            let what = format!("there is no store `{}`", path.display());
            return Err(Error::input(what));
        }
        let found = FileId::of(path)?;
        let (reader, access) = file::to_read(path).map_err(|error| no_store(path, error))?;
        let version: u32 = reader
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(|error| failed(path, error))?;
        let known = MIGRATIONS.len() as u32;
        if version == 0 && tables(&reader).map_err(|error| failed(path, error))? == 0 {
            // Whoever began to make it was stopped before its first commit.
            let what = format!("there is no store in `{}` yet", path.display());
            return Err(Error::input(what).hint("the next command that writes makes it"));
        }
        if version != known {
            let what = format!(
                "the store `{}` has schema version {version}",
                path.display()
            );
            let error = Error::input(what).expected(format!("version {known}"));
            return Err(if version < known {
                error.hint("run `tenure store migrate` where the file can be written")
            } else {
                error.hint("it was written by a newer version of tenure; use that one")
            });
        }
        let sqlite = Sqlite::over(path, found, (access, mark), outside, reader)?;
        sqlite.is_marked(&lock(&sqlite.writer))?;
        Ok(sqlite)
    }

    fn over(
        path: &Path,
        file: FileId,
        (access, mark): (FileAccess, Option<FileMark>),
        outside: Arc<dyn Outside>,
        writer: Connection,
    ) -> Result<Sqlite, Error> {
        // Between the two looks, another file may have come to stand there.
        file.is_still(path)?;
        Ok(Sqlite {
            path: path.to_owned(),
            file,
            access,
            mark,
            outside,
            writer: Mutex::new(writer),
            readers: Mutex::new(Vec::new()),
            queue: Mutex::new(Vec::new()),
            applied: Mutex::new(Vec::new()),
        })
    }

    fn bring_up_to_date(&self) -> Result<Vec<u32>, Error> {
        let connection = lock(&self.writer);
        let sql = |text: &str| {
            let done = connection.execute_batch(text);
            done.map_err(|error| self.failed(error))
        };
        let version = || -> Result<u32, Error> {
            connection
                .query_row("PRAGMA user_version", [], |row| row.get(0))
                .map_err(|error| self.failed(error))
        };
        let known = MIGRATIONS.len() as u32;
        if version()? == known {
            return Ok(Vec::new());
        }
        sql("BEGIN IMMEDIATE")?;
        // Another process may have done it meanwhile.
        let from = version()?;
        if from > known {
            sql("ROLLBACK")?;
            return Err(Error::input(format!(
                "the store `{}` has schema version {from}",
                self.path.display()
            ))
            .expected(format!("at most {known}"))
            .hint("it was written by a newer version of tenure; use that one"));
        }
        let tables = tables(&connection).map_err(|error| self.failed(error))?;
        if from == 0 && tables > 0 {
            sql("ROLLBACK")?;
            return Err(Error::input(format!(
                "`{}` is a database of another program",
                self.path.display()
            ))
            .expected("a store of tenure, or a path without a file"));
        }
        for (number, text) in (1..).zip(MIGRATIONS).skip(from as usize) {
            let done = connection.execute_batch(text);
            done.map_err(|error| self.as_it_is(error))?;
            sql(&format!("PRAGMA user_version = {number}"))?;
        }
        sql("COMMIT")?;
        Ok((from + 1..=known).collect())
    }

    /// Checks that a connection has opened the file that has this store's mark.
    fn is_marked(&self, connection: &Connection) -> Result<(), Error> {
        self.mark.map_or(Ok(()), |mark| mark.check(connection, &self.path))
    }

    /// Returns whether opening it brought its schema up to date.
    pub(crate) fn is_upgraded(&self) -> bool {
        !lock(&self.applied).is_empty()
    }

    /// The error of a migration that failed: migrations check whether anything would be lost.
    fn as_it_is(&self, error: rusqlite::Error) -> Error {
        // The name of the check that the migrations make.
        let is_check = |told: &String| told.contains("nothing_is_lost");
        if !matches!(&error, rusqlite::Error::SqliteFailure(_, Some(told)) if is_check(told)) {
            return self.failed(error);
        }
        Error::input(format!("the store `{}` is damaged", self.path.display()))
            .expected("a store file with all its rows")
            .hint("the file was not changed; restore it from a copy, or read the rest with the version that wrote it")
            .caused_by(error)
    }

    fn failed(&self, error: rusqlite::Error) -> Error {
        failed(&self.path, error)
    }

    /// Checks that the file was opened to be written, and is still there.
    fn is_writable(&self) -> Result<(), Error> {
        if self.access != FileAccess::Write {
            let what = format!("the store `{}` is read-only", self.path.display());
            return Err(Error::new(ErrorKind::Unavailable, what)
                .hint("nothing was written; make its file and folder writable"));
        }
        self.file.is_still(&self.path)
    }

    fn reader(&self) -> Result<Connection, Error> {
        self.file.is_still(&self.path)?;
        if let Some(kept) = lock(&self.readers).pop() {
            return Ok(kept);
        }
        let opened = match self.access {
            // Others may have begun to write it since.
            FileAccess::Unchanging => file::to_read(&self.path).map(|(reader, _)| reader),
            access => file::connect(&self.path, access),
        };
        let reader = opened.map_err(|error| self.failed(error))?;
        self.is_marked(&reader)?;
        Ok(reader)
    }

    fn keep_reader(&self, connection: Connection) {
        // It would go on to read past what others write.
        if self.access == FileAccess::Unchanging {
            return;
        }
        let mut readers = lock(&self.readers);
        if readers.len() < READERS {
            readers.push(connection);
        }
    }

    /// Runs the jobs in one transaction, each so that its failure undoes nothing of the others.
    fn run(&self, connection: &Connection, jobs: &mut [Queued]) -> Vec<Result<(), Error>> {
        let broken = |error: rusqlite::Error, jobs: &[Queued]| {
            let error = self.failed(error);
            jobs.iter().map(|_| Err(error.clone())).collect()
        };
        if !connection.is_autocommit() {
            // A job that panicked left its transaction open.
            if let Err(error) = connection.execute_batch("ROLLBACK") {
                return broken(error, jobs);
            }
        }
        if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
            return broken(error, jobs);
        }
        if let [only] = jobs {
            // Alone, it needs no savepoint, which would cost a copy of every page that it changes.
            return vec![self.run_alone(connection, only)];
        }
        let mut results: Vec<Result<(), Error>> = Vec::with_capacity(jobs.len());
        for queued in jobs.iter_mut() {
            let result = self.run_one(connection, queued);
            if connection.is_autocommit() {
                // Some failures, such as a full disk, undo the whole transaction.
                let error = result.err().unwrap_or_else(|| self.lost());
                return jobs.iter().map(|_| Err(error.clone())).collect();
            }
            results.push(result);
        }
        if let Err(error) = connection.execute_batch("COMMIT") {
            if !connection.is_autocommit() {
                // Nothing more can be done if this fails; the next writer tries it again.
                connection.execute_batch("ROLLBACK").ok();
            }
            return broken(error, jobs);
        }
        results
    }

    fn run_alone(&self, connection: &Connection, queued: &mut Queued) -> Result<(), Error> {
        let mut rows = Rows::new(connection, &self.path, &queued.tenant, &*self.outside);
        let result = (queued.job)(&mut rows).and_then(|()| rows.finish()).and_then(|()| {
            let committed = connection.execute_batch("COMMIT");
            committed.map_err(|error| self.failed(error))
        });
        if !connection.is_autocommit() {
            // Nothing more can be done if this fails; the next writer tries it again.
            connection.execute_batch("ROLLBACK").ok();
        }
        result
    }

    fn run_one(&self, connection: &Connection, queued: &mut Queued) -> Result<(), Error> {
        let sql = |text: &str| {
            let done = connection.execute_batch(text);
            done.map_err(|error| self.failed(error))
        };
        sql("SAVEPOINT job")?;
        let mut rows = Rows::new(connection, &self.path, &queued.tenant, &*self.outside);
        let result = (queued.job)(&mut rows).and_then(|()| rows.finish());
        if result.is_err() && !connection.is_autocommit() {
            sql("ROLLBACK TO job")?;
        }
        if !connection.is_autocommit() {
            sql("RELEASE job")?;
        }
        result
    }

    fn lost(&self) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("the store `{}` gave up a transaction", self.path.display()),
        )
    }
}

impl Engine for Sqlite {
    fn shown(&self) -> String {
        format!("sqlite://{}", self.path.display())
    }

    fn migrate(&self) -> Result<Vec<u32>, Error> {
        Ok(std::mem::take(&mut *lock(&self.applied)))
    }

    fn read(
        &self,
        tenant: &str,
        job: &mut dyn FnMut(&mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let connection = self.reader()?;
        let sql = |text: &str| {
            let done = connection.execute_batch(text);
            done.map_err(|error| self.failed(error))
        };
        sql("BEGIN")?;
        let result = job(&mut Rows::new(
            &connection,
            &self.path,
            tenant,
            &*self.outside,
        ));
        sql("ROLLBACK")?;
        self.keep_reader(connection);
        result
    }

    fn write(&self, tenant: &str, job: WriteJob) -> Result<(), Error> {
        self.is_writable()?;
        let (done, told) = mpsc::channel();
        lock(&self.queue).push(Queued {
            tenant: tenant.to_owned(),
            job,
            done,
        });
        let connection = lock(&self.writer);
        // The writer before may have taken this job along.
        if let Ok(result) = told.try_recv() {
            return result.and_then(|()| self.file.is_still(&self.path));
        }
        let mut jobs = std::mem::take(&mut *lock(&self.queue));
        let results = self.run(&connection, &mut jobs);
        drop(connection);
        for (queued, result) in jobs.into_iter().zip(results) {
            // Who no longer listens has panicked.
            queued.done.send(result).ok();
        }
        told.recv().unwrap_or_else(|_| Err(self.lost()))?;
        // What went to a file that is no longer there is not kept.
        self.file.is_still(&self.path)
    }

    fn forget(&self) -> Result<(), Error> {
        // Deleted rows are overwritten in the file; here those that the log of writes still holds.
        lock(&self.writer)
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                row.get::<_, i64>(0)
            })
            .map(drop)
            .map_err(|error| self.failed(error))
    }

    fn version(&self, tenant: &str) -> Result<u64, Error> {
        let connection = self.reader()?;
        let version = Rows::new(&connection, &self.path, tenant, &*self.outside).version();
        self.keep_reader(connection);
        version
    }

    fn tenants(&self) -> Result<Vec<String>, Error> {
        let connection = self.reader()?;
        let read = || -> rusqlite::Result<Vec<String>> {
            let columns = sum::TENANT;
            let sql =
                format!("SELECT tenant, sum = row_sum({columns}) FROM tenants ORDER BY tenant");
            let mut statement = connection.prepare_cached(&sql)?;
            statement
                .query_map([], |row| decode::whole(row, 1).and_then(|()| row.get(0)))?
                .collect()
        };
        let tenants = read().map_err(|error| self.failed(error));
        self.keep_reader(connection);
        tenants
    }

    fn unsearched(&self) -> Result<Vec<String>, Error> {
        let connection = self.reader()?;
        let read = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT t.tenant FROM unsearched u JOIN tenants t ON t.number = u.tenant ORDER BY t.tenant";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let tenants = read().map_err(|error| self.failed(error));
        self.keep_reader(connection);
        tenants
    }

    fn probe(&self) -> Result<(), Error> {
        let connection = self.reader()?;
        let found = whole::probe(&connection, MIGRATIONS.len() as u32)
            .map_err(|error| self.failed(error))?;
        self.keep_reader(connection);
        match found {
            None => Ok(()),
            Some(what) => {
                let shown = self.path.display();
                Err(Error::damaged(format!(
                    "the store `{shown}` is damaged: {what}"
                )))
            }
        }
    }

    fn check(&self) -> Result<Vec<Damage>, Error> {
        let connection = self.reader()?;
        let found = whole::check(&connection).map_err(|error| self.failed(error))?;
        self.keep_reader(connection);
        Ok(found)
    }

    fn rebuild(&self) -> Result<(), Error> {
        self.is_writable()?;
        whole::rebuild(&lock(&self.writer)).map_err(|error| self.failed(error))
    }
}

/// The error for a file that cannot be opened: a file that never was a store is not a damaged one.
fn no_store(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            Error::input(format!("`{}` is not a SQLite database", path.display()))
                .expected("a store of tenure, or a path without a file")
        }
        _ => failed(path, error),
    }
}

fn failed(path: &Path, error: rusqlite::Error) -> Error {
    told(path, &error).caused_by(error)
}

/// A failure of SQLite in the words of this project.
fn told(path: &Path, error: &rusqlite::Error) -> Error {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnName, InvalidColumnType,
        Utf8Error,
    };
    let shown = path.display();
    // A row that this version did not write.
    if let FromSqlConversionFailure(..)
    | InvalidColumnType(..)
    | InvalidColumnName(..)
    | Utf8Error(..)
    | IntegralValueOutOfRange(..) = error
    {
        return Error::damaged(format!(
            "the store `{shown}` holds a row that was altered: {error}"
        ));
    }
    let unavailable = |what: String| Error::new(ErrorKind::Unavailable, what);
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => unavailable(format!(
            "there is no room on the disk for the store `{shown}`"
        ))
        .hint("nothing was written; make room and try again"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            unavailable(format!("another process writes to the store `{shown}`"))
                .hint("nothing was written; try again")
        }
        Some(ErrorCode::NotADatabase) => {
            Error::damaged(format!("`{shown}` is no longer a SQLite database"))
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::damaged(format!("the store `{shown}` is damaged: {error}"))
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            Error::input(format!("cannot write the store `{shown}`: {error}"))
        }
        _ => unavailable(format!("the store `{shown}` failed: {error}")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_pairs_of_an_object_are_found_by_an_index() {
        let file = Connection::open_in_memory().unwrap();
        sum::register(&file).unwrap();
        for migration in MIGRATIONS {
            file.execute_batch(migration).unwrap();
        }
        for (side, column) in rows::PAIR_SIDES.iter().zip(["first", "second"]) {
            for held in ["tx_end IS NULL", "tx_start <= ?2 AND tx_end > ?2"] {
                let sql = format!("EXPLAIN QUERY PLAN SELECT body FROM {side} = ?3 AND {held}");
                let mut plan = file.prepare(&sql).unwrap();
                let bound = rusqlite::params![1, 0, [0u8; 16]];
                let plan: Vec<String> = plan
                    .query_map(bound, |row| row.get::<_, String>(3))
                    .unwrap()
                    .map(Result::unwrap)
                    .collect();
                let by = format!("(tenant=? AND {column}=?");
                assert!(plan.iter().all(|step| step.contains(&by)), "{plan:?}");
            }
        }
    }
}
