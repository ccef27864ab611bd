//! A store: an engine, and handles on its tenants.

use std::path::Path;
use std::sync::Arc;

use tenure::object::clip;
use tenure::{Error, ErrorKind};

use crate::entity::resolution::KnownEntities;
use crate::rows::engine::{Engine, Watch};
use crate::rows::mark::FileMark;
#[cfg(feature = "postgres")]
use crate::rows::postgres::Postgres;
use crate::rows::sqlite::{Machine, Outside, Sqlite};
use crate::tenant::handle::Tenant;

/// The longest name of a tenant, in bytes.
const MAX_TENANT: usize = 256;

/// An open store. Clones share its connections.
#[derive(Clone)]
pub struct Store {
    engine: Arc<dyn Engine>,
    known: Arc<KnownEntities>,
}

impl Store {
    /// Opens `sqlite://PATH`, which is made where there is no such file, or
    /// `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, which is not contacted until it is needed.
    ///
    /// On a server, the store is the schema `tenure` of the database, or another one that the parameter
    /// `schema` names. It is made and brought up to date by [`Store::migrate`] only; until then every
    /// other call fails, and says so. `sslmode=verify-full` (or `require`, which is the same here) encrypts
    /// connections, to a server whose certificate is of an authority in the file `sslrootcert`, or else of
    /// the system's. Calls block; from an async task they belong on a thread for blocking work.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when the URL has no known scheme, or is of PostgreSQL in a build without it; [`ErrorKind::Input`] when the
    /// file is not a store, or one of a newer version; [`ErrorKind::Unavailable`] when it cannot be reached.
    pub fn open(url: &str) -> Result<Store, Error> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            if path.is_empty() {
                return Err(
                    Error::new(ErrorKind::Usage, "the store `sqlite://` has no path")
                        .expected("`sqlite://PATH`"),
                );
            }
            return Store::sqlite(Path::new(path));
        }
        if url.starts_with("postgresql://") || url.starts_with("postgres://") {
            return postgresql(url);
        }
        // Nothing else of it is shown: it may hold a password.
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        Err(Error::new(
            ErrorKind::Usage,
            format!("`{}` is not the URL of a store", clip(scheme)),
        )
        .expected("`sqlite://PATH` or `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`"))
    }

    /// Opens a store in a file, which is made where there is none.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn sqlite(path: &Path) -> Result<Store, Error> {
        Store::sqlite_with(path, Arc::new(Machine))
    }

    /// Opens it with a clock and random numbers of one's own, for files that must come out the same each time.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn sqlite_with(path: &Path, outside: Arc<dyn Outside>) -> Result<Store, Error> {
        Store::in_file(path, outside, None)
    }

    /// The store in a file with this mark, which is made with it where there is none.
    ///
    /// # Errors
    ///
    /// As [`Store::open`]; [`ErrorKind::Policy`] when the file has another mark: then nothing is written.
    pub fn sqlite_marked(path: &Path, mark: FileMark) -> Result<Store, Error> {
        Store::in_file(path, Arc::new(Machine), Some(mark))
    }

    fn in_file(
        path: &Path,
        outside: Arc<dyn Outside>,
        mark: Option<FileMark>,
    ) -> Result<Store, Error> {
        let engine = Sqlite::open(path, outside, mark)?;
        let is_upgraded = engine.is_upgraded();
        let store = Store::over(Arc::new(engine));
        if is_upgraded {
            // What hinders it, the next search says.
            store.make_indexes().ok();
        }
        Ok(store)
    }

    /// Makes the indexes of terms that are not there yet.
    pub(crate) fn make_indexes(&self) -> Result<(), Error> {
        for tenant in self.engine.unsearched()? {
            self.tenant(&tenant)?.make_index_unless_damaged()?;
        }
        Ok(())
    }

    /// Opens a store that is there, to read it: nothing is made, brought up to date or written.
    ///
    /// # Errors
    ///
    /// As [`Store::open`]; [`ErrorKind::Input`] when there is no such file.
    pub fn open_to_read(url: &str) -> Result<Store, Error> {
        match url.strip_prefix("sqlite://") {
            Some(path) if !path.is_empty() => Store::file_to_read(Path::new(path), None),
            _ => Store::open(url),
        }
    }

    /// The store in a file with this mark, to read it: nothing is made, brought up to date or written.
    ///
    /// # Errors
    ///
    /// As [`Store::open_to_read`]; [`ErrorKind::Policy`] when the file has another mark.
    pub fn marked_to_read(path: &Path, mark: FileMark) -> Result<Store, Error> {
        Store::file_to_read(path, Some(mark))
    }

    fn file_to_read(path: &Path, mark: Option<FileMark>) -> Result<Store, Error> {
        let engine = Sqlite::open_to_read(path, Arc::new(Machine), mark)?;
        Ok(Store::over(Arc::new(engine)))
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    /// A store over an engine of one's own.
    pub fn over(engine: Arc<dyn Engine>) -> Store {
        Store {
            engine,
            known: Arc::default(),
        }
    }

    /// The address, without secrets.
    pub fn shown(&self) -> String {
        self.engine.shown()
    }

    /// Brings the schema up to date, and makes the indexes of terms that are not there yet; returns the versions that were
    /// applied: of a file those that opening it applied.
    /// Nodes that do this at once wait for each other; opening a file that another process brings up to date waits up
    /// to ten seconds, and then fails because another process writes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the login may not; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn migrate(&self) -> Result<Vec<u32>, Error> {
        let applied = self.engine.migrate()?;
        self.make_indexes()?;
        Ok(applied)
    }

    /// The tenants that there are, by name. On a server, only the owner of the store may ask.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the login is not the owner; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn tenants(&self) -> Result<Vec<String>, Error> {
        self.engine.tenants()
    }

    /// Subscribes to the writes of all tenants from now on. `None` on SQLite, which sends no notices: there
    /// [`Tenant::version`] is quick enough to be asked each time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn watch(&self) -> Result<Option<Box<dyn Watch>>, Error> {
        self.engine.watch()
    }

    /// A handle on one tenant. Nothing that is done with it reaches another.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when this cannot be the name of a tenant.
    pub fn tenant(&self, name: &str) -> Result<Tenant, Error> {
        if name.trim().is_empty() || name.len() > MAX_TENANT || name.contains('\0') {
            return Err(
                Error::input(format!("`{}` is not a valid name of a tenant", clip(name)))
                    .expected(format!("a name of 1 to {MAX_TENANT} bytes")),
            );
        }
        Ok(Tenant::new(
            Arc::clone(&self.engine),
            Arc::clone(&self.known),
            name,
        ))
    }
}

#[cfg(feature = "postgres")]
fn postgresql(url: &str) -> Result<Store, Error> {
    Ok(Store::over(Arc::new(Postgres::open(url)?)))
}

#[cfg(not(feature = "postgres"))]
fn postgresql(_: &str) -> Result<Store, Error> {
    Err(Error::without_feature("PostgreSQL", "postgres"))
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Store({})", self.shown())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use super::*;
    use crate::rows::mark::Header;

    #[test]
    fn a_store_is_opened_by_its_mark_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (
            folder.path().join("store.db"),
            folder.path().join("other.db"),
        );
        let mark = FileMark::draw().unwrap();
        let store = Store::sqlite_marked(&path, mark).unwrap();
        // It is there while the store is open, too.
        let file = std::fs::File::open(&path).unwrap();
        assert_eq!(
            FileMark::in_header(&file).unwrap(),
            Header::Marked(Some(mark))
        );
        drop(store);
        Store::sqlite_marked(&path, mark).unwrap();
        Store::marked_to_read(&path, mark).unwrap();
        drop(Store::sqlite(&other).unwrap());
        let before = std::fs::read(&other).unwrap();
        for error in [
            Store::sqlite_marked(&other, mark).unwrap_err(),
            Store::marked_to_read(&other, mark).unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::Policy, "{error}");
        }
        assert_eq!(std::fs::read(&other).unwrap(), before);
    }
}
