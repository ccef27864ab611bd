//! Vectors of texts by models of a user's own, in a file of their own, so that no text is asked about twice. All of it can be
//! made again, so a file that is damaged is made anew, and of more than 200,000 the oldest go.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};
use tenure::{Digest, Error, ErrorKind};

use crate::rows::mark::FileMark;

/// The most vectors that are kept.
const MOST: usize = 200_000;
const BUSY: Duration = Duration::from_secs(10);
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS vectors(
  id INTEGER PRIMARY KEY, model BLOB NOT NULL, text BLOB NOT NULL, vector BLOB NOT NULL, UNIQUE(model, text)) STRICT;";

/// Vectors in a file.
#[derive(Debug)]
pub struct VectorCache {
    connection: Connection,
}

fn failed(error: rusqlite::Error) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the kept vectors could not be used: {error}"),
    )
}

impl VectorCache {
    /// Opens the file, or makes it. With a mark, a file that has another is made anew.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when it can be neither read nor made.
    pub fn open(path: &Path, mark: Option<FileMark>) -> Result<VectorCache, Error> {
        match VectorCache::ready(path, mark) {
            Err(error) if !is_damaged(&error) => Err(failed(error)),
            Ok(Some(ready)) => Ok(ready),
            Ok(None) | Err(_) => {
                for ending in ["", "-wal", "-shm"] {
                    let mut name = path.as_os_str().to_owned();
                    name.push(ending);
                    let _ = std::fs::remove_file(name);
                }
                let ready = VectorCache::ready(path, mark).map_err(failed)?;
                ready.ok_or_else(|| Error::damaged("the kept vectors cannot be made anew"))
            }
        }
    }

    /// Opens or makes the file; nothing of one that has another mark, or that a link leads to.
    fn ready(path: &Path, mark: Option<FileMark>) -> rusqlite::Result<Option<VectorCache>> {
        if mark.is_some() && path.is_symlink() {
            return Ok(None);
        }
        mark.map_or(Ok(()), |mark| mark.begin(path))?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        if mark.is_some() && FileMark::of(&connection)? != mark {
            return Ok(None);
        }
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Some(VectorCache { connection }))
    }

    /// The vectors of these texts by a model, as far as they are kept and have so many components.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the file cannot be read.
    pub fn known(
        &self,
        model: &Digest,
        dimensions: u32,
        texts: &[Digest],
    ) -> Result<Vec<Option<Vec<i8>>>, Error> {
        let mut read = self
            .connection
            .prepare_cached("SELECT vector FROM vectors WHERE model = ?1 AND text = ?2")
            .map_err(failed)?;
        texts
            .iter()
            .map(|text| {
                let found: Option<Vec<u8>> = read
                    .query_row(params![model.bytes(), text.bytes()], |row| row.get(0))
                    .optional()
                    .map_err(failed)?;
                let whole = found.filter(|vector| vector.len() == dimensions as usize);
                Ok(whole.map(|vector| vector.into_iter().map(|byte| byte as i8).collect()))
            })
            .collect()
    }

    /// Keeps vectors of a model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the file cannot be written; then none of them is kept.
    pub fn keep(&mut self, model: &Digest, vectors: &[(Digest, &[i8])]) -> Result<(), Error> {
        let write = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        for (text, vector) in vectors {
            let bytes: Vec<u8> = vector.iter().map(|component| *component as u8).collect();
            let insert = "INSERT OR REPLACE INTO vectors(model, text, vector) VALUES (?1, ?2, ?3)";
            write
                .execute(insert, params![model.bytes(), text.bytes(), bytes])
                .map_err(failed)?;
        }
        let trim = "DELETE FROM vectors WHERE id <= (SELECT max(id) FROM vectors) - ?1";
        write.execute(trim, [MOST as i64]).map_err(failed)?;
        write.commit().map_err(failed)
    }
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt)
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_by_its_model_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        let [one, other] = [b"one", b"two"].map(|model| Digest::of(model));
        let texts = [b"a", b"b", b"c"].map(|text| Digest::of(text));
        let mut cache = VectorCache::open(&path, None).unwrap();
        cache
            .keep(&one, &[(texts[0], &[1, -128, 127]), (texts[1], &[0, 0, 0])])
            .unwrap();
        cache.keep(&one, &[(texts[0], &[1, -2, 3])]).unwrap();
        drop(cache);
        let cache = VectorCache::open(&path, None).unwrap();
        let known = cache.known(&one, 3, &texts).unwrap();
        assert_eq!(known, [Some(vec![1, -2, 3]), Some(vec![0, 0, 0]), None]);
        assert_eq!(cache.known(&other, 3, &texts).unwrap(), [None, None, None]);
        // A model of another size knows none of them.
        assert_eq!(cache.known(&one, 2, &texts).unwrap(), [None, None, None]);
    }

    #[test]
    fn a_damaged_file_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        std::fs::write(&path, "no database at all, but some text".repeat(100)).unwrap();
        let mut cache = VectorCache::open(&path, None).unwrap();
        let (model, text) = (Digest::of(b"m"), Digest::of(b"t"));
        cache.keep(&model, &[(text, &[7])]).unwrap();
        assert_eq!(cache.known(&model, 1, &[text]).unwrap(), [Some(vec![7])]);
        assert!(VectorCache::open(folder.path(), None).is_err());
    }
}
