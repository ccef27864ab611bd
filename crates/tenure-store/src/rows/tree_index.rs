//! The index of a tree of documents: its files, their sections, and the words that find them, in a file of its own.
//!
//! All of it is derived from the files, so a file of another version, or one that is damaged, is made anew. Each batch of
//! files is one transaction: whatever ends a run, the index holds each file as it was read or not at all. It holds places
//! and terms, and no text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::Value as Sql;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row, Transaction,
    TransactionBehavior, params,
};
use tenure::package::HeadingTest;
use tenure::{Digest, Error, ErrorKind};

use crate::rows::mark::FileMark;

/// The version of the file's layout.
const VERSION: i64 = 1;
/// The time that one process waits for another that writes.
const BUSY: Duration = Duration::from_secs(10);
/// A term that stands in more parts than this chooses no candidates where a rarer one does.
const COMMON: u64 = 4_000;
/// The most pairs of neighbouring letters that choose headings.
const GRAMS: usize = 8;

const SCHEMA: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE files(
  id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, language TEXT NOT NULL,
  size INTEGER NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL, lines INTEGER NOT NULL,
  frontmatter TEXT NOT NULL, front INTEGER NOT NULL, labels TEXT NOT NULL, note TEXT NOT NULL) STRICT;
CREATE TABLE headings(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE parts(
  id INTEGER PRIMARY KEY, file INTEGER NOT NULL, number INTEGER NOT NULL, parent INTEGER, heading INTEGER,
  level INTEGER NOT NULL, starts INTEGER NOT NULL, ends INTEGER NOT NULL, own_ends INTEGER NOT NULL,
  first_line INTEGER NOT NULL, last_line INTEGER NOT NULL) STRICT;
CREATE INDEX parts_of_files ON parts(file);
CREATE INDEX parts_of_headings ON parts(heading) WHERE heading IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(heading, body, content='', contentless_delete=1, detail=column, tokenize='ascii');
CREATE VIRTUAL TABLE counts USING fts5vocab(words, row);
CREATE VIRTUAL TABLE grams USING fts5(text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1');
";

/// A file as an index holds it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IndexedFile {
    /// Its path, relative to the root, with `/` between its parts.
    pub path: String,
    /// The way in which it was read.
    pub kind: String,
    /// Its language; empty where none is known.
    pub language: String,
    /// Its size in bytes.
    pub size: u64,
    /// The mark by which a file that was not changed is known without reading it.
    pub stamp: String,
    /// The digest of its bytes.
    pub digest: Option<Digest>,
    /// The number of its lines.
    pub lines: u32,
    /// Its frontmatter as JSON; empty where it has none.
    pub frontmatter: String,
    /// The byte behind its frontmatter.
    pub front: u64,
    /// Its labels.
    pub labels: Vec<String>,
    /// Something that its reader should know of it; empty where there is nothing.
    pub note: String,
}

/// A part of a file: a section, or what stands before the first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IndexedPart {
    /// Its number among the sections of its file, from 0; of what stands before the first, none.
    pub number: Option<u32>,
    /// The number of the section around it.
    pub parent: Option<u32>,
    /// The words of its heading.
    pub heading: Option<String>,
    /// The level of its heading; 0 for what stands before the first.
    pub level: u8,
    /// Its first byte, and the byte behind it and all sections below it.
    pub bytes: (u64, u64),
    /// The byte behind its own text, where the next section begins.
    pub own_ends: u64,
    /// Its first line and its last.
    pub lines: (u32, u32),
}

/// A file to write, with its parts and the terms of each: those of the heading and those of the text.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FileEntry {
    /// The file.
    pub file: IndexedFile,
    /// Its parts.
    pub parts: Vec<IndexedPart>,
    /// The terms of each part.
    pub terms: Vec<(Vec<String>, Vec<String>)>,
}

/// A part that a search found.
#[derive(Clone, PartialEq, Debug)]
pub struct FoundPart {
    /// The file's path.
    pub path: String,
    /// The part.
    pub part: IndexedPart,
}

/// The numbers of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IndexCounts {
    /// Files.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Sections.
    pub sections: u64,
}

/// The index of a tree, in its file.
pub struct TreeIndex {
    connection: Connection,
}

fn failed(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let kind = match code {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => ErrorKind::Damaged,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Conflict,
        _ => ErrorKind::Unavailable,
    };
    let what = match code {
        Some(ErrorCode::DiskFull) => "the index cannot be written: the disk is full".to_owned(),
        _ => format!("the index cannot be used: {error}"),
    };
    let hint = match kind {
        ErrorKind::Conflict => "another process writes it; try again",
        _ => "`tenure index PATH` makes it anew, once its file is removed",
    };
    Error::new(kind, what).hint(hint).caused_by(error)
}

impl TreeIndex {
    /// Opens an index to write it. It is made where there is none, and made anew where there is one of another version, or
    /// a damaged one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the file cannot be written, [`ErrorKind::Conflict`] when another process keeps it.
    pub fn open(path: &Path, mark: Option<FileMark>) -> Result<TreeIndex, Error> {
        match TreeIndex::ready(path, mark) {
            Ok(Some(index)) => return Ok(index),
            Err(error) if error.kind != ErrorKind::Damaged => return Err(error),
            Ok(None) | Err(_) => {}
        }
        for more in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(more);
            match std::fs::remove_file(&name) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    let what = format!("cannot replace the index `{}`: {error}", path.display());
                    return Err(Error::new(ErrorKind::Unavailable, what).caused_by(error));
                }
                _ => {}
            }
        }
        TreeIndex::ready(path, mark)?.ok_or_else(|| Error::damaged("the index cannot be made anew"))
    }

    /// Opens or makes the file; nothing of one that has another version.
    fn ready(path: &Path, mark: Option<FileMark>) -> Result<Option<TreeIndex>, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if let Some(mark) = mark {
            mark.begin(path).map_err(failed)?;
        }
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        set_up(&connection).map_err(failed)?;
        if let Some(mark) = mark {
            mark.check(&connection, path)?;
        }
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            .map_err(failed)?;
        let write = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let version = version(&write).map_err(failed)?;
        let tables: i64 = write
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(failed)?;
        if version == 0 && tables == 0 {
            write.execute_batch(SCHEMA).map_err(failed)?;
            write.pragma_update(None, "user_version", VERSION).map_err(failed)?;
            write.commit().map_err(failed)?;
        } else if version != VERSION {
            return Ok(None);
        } else {
            drop(write);
        }
        Ok(Some(TreeIndex { connection }))
    }

    /// Opens an index to read it, as it stands when it is read first: what is written meanwhile changes nothing of an answer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is none, [`ErrorKind::Damaged`] when it has another version or is damaged.
    pub fn open_existing(path: &Path, mark: Option<FileMark>) -> Result<TreeIndex, Error> {
        const MAKE: &str = "`tenure index PATH` makes one";
        if !path.is_file() {
            let what = format!("there is no index `{}`", path.display());
            return Err(Error::not_found(what).hint(MAKE));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        set_up(&connection).map_err(failed)?;
        connection.execute_batch("PRAGMA query_only = ON").map_err(failed)?;
        if let Some(mark) = mark {
            mark.check(&connection, path)?;
        }
        match version(&connection).map_err(failed)? {
            VERSION => {
                // One transaction: each of its own would lock the file and ask for its state again.
                connection.execute_batch("BEGIN").map_err(failed)?;
                Ok(TreeIndex { connection })
            }
            other => Err(Error::new(
                ErrorKind::Damaged,
                format!("the index `{}` has version {other}", path.display()),
            )
            .expected(format!("version {VERSION}"))
            .hint("`tenure index PATH` makes it anew")),
        }
    }

    /// The mark and the digest of each file, by its path.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn stamps(&self) -> Result<BTreeMap<String, (String, Option<Digest>)>, Error> {
        let mut read = self
            .connection
            .prepare_cached("SELECT path, stamp, digest FROM files")
            .map_err(failed)?;
        let rows = read.query_map([], |row| {
            let digest: String = row.get(2)?;
            Ok((row.get(0)?, (row.get(1)?, digest.parse().ok())))
        });
        rows.map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
    }

    /// The paths of all files, in order.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn paths(&self) -> Result<Vec<String>, Error> {
        let mut read = self
            .connection
            .prepare_cached("SELECT path FROM files ORDER BY path")
            .map_err(failed)?;
        let rows = read.query_map([], |row| row.get(0)).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// Writes a batch in one transaction: files with their parts, further marks of files that hold what they held, and the
    /// paths of files that are gone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when it cannot be written; then nothing of the batch is.
    pub fn write(
        &mut self,
        entries: &[FileEntry],
        touched: &[(String, String)],
        gone: &[String],
    ) -> Result<(), Error> {
        let behavior = TransactionBehavior::Immediate;
        let write = self.connection.transaction_with_behavior(behavior).map_err(failed)?;
        let mut loose = BTreeSet::new();
        for path in gone {
            remove(&write, path, &mut loose).map_err(failed)?;
        }
        for (path, stamp) in touched {
            let set = "UPDATE files SET stamp = ?2 WHERE path = ?1";
            write.execute(set, params![path, stamp]).map_err(failed)?;
        }
        for entry in entries {
            remove(&write, &entry.file.path, &mut loose).map_err(failed)?;
            add(&write, entry).map_err(failed)?;
        }
        tidy(&write, &loose).map_err(failed)?;
        write.commit().map_err(failed)
    }

    /// Sets a note on the whole of the index.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::write`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        let set =
            "INSERT INTO meta VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
        self.connection.execute(set, params![name, value]).map_err(failed)?;
        Ok(())
    }

    /// A note on the whole of the index.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn get(&self, name: &str) -> Result<Option<String>, Error> {
        let get = "SELECT value FROM meta WHERE name = ?1";
        let found = self.connection.query_row(get, [name], |row| row.get(0));
        found.optional().map_err(failed)
    }

    /// The numbers of the index.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn counts(&self) -> Result<IndexCounts, Error> {
        let count = "SELECT (SELECT count(*) FROM files), (SELECT coalesce(sum(size), 0) FROM files), \
                     (SELECT count(*) FROM parts WHERE heading IS NOT NULL)";
        let counted = self.connection.query_row(count, [], |row| {
            Ok(IndexCounts {
                files: row.get::<_, i64>(0)? as u64,
                bytes: row.get::<_, i64>(1)? as u64,
                sections: row.get::<_, i64>(2)? as u64,
            })
        });
        counted.map_err(failed)
    }

    /// The digest of what was read: of all paths with the digests of their bytes.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn snapshot(&self) -> Result<Digest, Error> {
        let mut read = self
            .connection
            .prepare_cached("SELECT path, digest FROM files ORDER BY path")
            .map_err(failed)?;
        let rows: Vec<(String, String)> = read
            .query_map([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })
            .map_err(failed)?
            .collect::<Result<_, _>>()
            .map_err(failed)?;
        let parts = rows.iter().flat_map(|(path, digest)| [path.as_bytes(), digest.as_bytes()]);
        Ok(Digest::of_parts(parts))
    }

    /// All files by their paths.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn files(&self) -> Result<Vec<IndexedFile>, Error> {
        let mut read = self
            .connection
            .prepare_cached(&format!("SELECT {FILE} FROM files ORDER BY path"))
            .map_err(failed)?;
        let rows = read.query_map([], file_of).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// The file at this path.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn file(&self, path: &str) -> Result<Option<IndexedFile>, Error> {
        let mut read = self
            .connection
            .prepare_cached(&format!("SELECT {FILE} FROM files WHERE path = ?1"))
            .map_err(failed)?;
        read.query_row([path], file_of).optional().map_err(failed)
    }

    /// The parts of a file, in their order.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn parts(&self, path: &str) -> Result<Vec<IndexedPart>, Error> {
        let mut read = self
            .connection
            .prepare_cached(&format!(
                "SELECT {PART} FROM parts p LEFT JOIN headings h ON h.id = p.heading \
                 WHERE p.file = (SELECT id FROM files WHERE path = ?1) ORDER BY p.id"
            ))
            .map_err(failed)?;
        let rows = read.query_map([path], |row| part_of(row, 0)).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// All headings that stand in some file.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn headings(&self) -> Result<Vec<String>, Error> {
        let mut read = self
            .connection
            .prepare_cached("SELECT text FROM headings ORDER BY text")
            .map_err(failed)?;
        let rows = read.query_map([], |row| row.get(0)).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    /// The paths of the files that have a section with such a heading, in order.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn with_heading(&self, test: HeadingTest<'_>) -> Result<Vec<String>, Error> {
        let ids = self.headings_like(test).map_err(failed)?;
        let mut read = self
            .connection
            .prepare_cached(
                "SELECT path FROM files WHERE id IN \
                 (SELECT file FROM parts WHERE heading IN (SELECT value FROM json_each(?1))) ORDER BY path",
            )
            .map_err(failed)?;
        let ids = serde_json::Value::from(ids).to_string();
        let rows = read.query_map([ids], |row| row.get(0)).map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }

    fn headings_like(&self, test: HeadingTest<'_>) -> rusqlite::Result<Vec<i64>> {
        let passes = |text: &str| match test {
            HeadingTest::Is(wanted) => text == wanted,
            HeadingTest::Holds(wanted) => text.to_lowercase().contains(wanted),
            HeadingTest::Matches(pattern) => pattern.is_match(text),
        };
        let (query, bound) = match test {
            HeadingTest::Is(wanted) => (
                "SELECT id, text FROM headings WHERE text = ?1",
                Some(wanted.to_owned()),
            ),
            HeadingTest::Holds(wanted) if wanted.chars().count() >= 3 => (
                "SELECT id, text FROM headings WHERE id IN (SELECT rowid FROM grams WHERE grams MATCH ?1)",
                Some(grams_of(wanted)),
            ),
            _ => ("SELECT id, text FROM headings", None),
        };
        let mut read = self.connection.prepare_cached(query)?;
        let mut rows = read.query(rusqlite::params_from_iter(bound))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if passes(row.get_ref(1)?.as_str().unwrap_or_default()) {
                found.push(row.get(0)?);
            }
        }
        Ok(found)
    }

    /// The parts that are most likely meant by these terms, the likeliest first: by the weight of the rare terms that they
    /// hold, twice for one in the heading. At most `limit`.
    ///
    /// # Errors
    ///
    /// As [`TreeIndex::open_existing`].
    pub fn search(&self, terms: &[String], limit: usize) -> Result<Vec<FoundPart>, Error> {
        let ids = self.likely(terms, limit).map_err(failed)?;
        let mut read = self
            .connection
            .prepare_cached(&format!(
                "SELECT f.path, {PART} FROM parts p JOIN files f ON f.id = p.file \
                 LEFT JOIN headings h ON h.id = p.heading WHERE p.id = ?1"
            ))
            .map_err(failed)?;
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            let row = read.query_row([id], |row| {
                Ok(FoundPart {
                    path: row.get(0)?,
                    part: part_of(row, 1)?,
                })
            });
            found.extend(row.optional().map_err(failed)?);
        }
        Ok(found)
    }

    fn likely(&self, terms: &[String], limit: usize) -> rusqlite::Result<Vec<i64>> {
        let all: u64 = self.connection.query_row("SELECT count(*) FROM parts", [], |row| {
            Ok(row.get::<_, i64>(0)? as u64)
        })?;
        let mut count = self.connection.prepare_cached("SELECT doc FROM counts WHERE term = ?1")?;
        let mut known: Vec<(u64, String)> = Vec::new();
        for term in terms.iter().collect::<BTreeSet<_>>() {
            let term = written(term);
            let found: Option<i64> = count.query_row([&term], |row| row.get(0)).optional()?;
            known.extend(found.filter(|found| *found > 0).map(|found| (found as u64, term)));
        }
        known.sort();
        let rare = known.iter().take_while(|(found, _)| *found <= COMMON).count();
        let mut scores: BTreeMap<i64, u64> = BTreeMap::new();
        let mut select =
            self.connection.prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1")?;
        let mut matched = |query: String| -> rusqlite::Result<Vec<i64>> {
            select.query_map([query], |row| row.get(0))?.collect()
        };
        for (found, term) in &known[..rare] {
            for id in matched(format!("\"{term}\""))? {
                *scores.entry(id).or_default() += weight(all, *found);
            }
            for id in matched(format!("heading : \"{term}\""))? {
                *scores.entry(id).or_default() += weight(all, *found);
            }
        }
        let joined: Vec<String> =
            known[..rare].iter().map(|(_, term)| format!("\"{term}\"")).collect();
        if rare == 0 && !known.is_empty() {
            // Common words alone: what has all of them, before that what has one in its heading.
            let every: Vec<String> = known.iter().map(|(_, term)| format!("\"{term}\"")).collect();
            for (found, term) in known.iter().take(2) {
                for id in matched(format!("heading : \"{term}\""))? {
                    *scores.entry(id).or_default() += weight(all, *found) + 1;
                }
            }
            for id in matched(every.join(" AND "))? {
                *scores.entry(id).or_default() += known.len() as u64;
            }
            if scores.is_empty() {
                for id in matched(every[0].clone())? {
                    *scores.entry(id).or_default() += 1;
                }
            }
        } else if !joined.is_empty() {
            let rarest = joined.join(" OR ");
            for (found, term) in &known[rare..] {
                for id in matched(format!("({rarest}) AND \"{term}\""))? {
                    *scores.entry(id).or_default() += weight(all, *found);
                }
            }
        }
        let mut ranked: Vec<(i64, u64)> = scores.into_iter().collect();
        ranked.sort_by_key(|(id, score)| (std::cmp::Reverse(*score), *id));
        self.settle_ties(&mut ranked, limit)?;
        ranked.truncate(limit);
        Ok(ranked.into_iter().map(|(id, _)| id).collect())
    }
}

impl TreeIndex {
    /// Orders those that are as likely as the last one that stays by their places: an index that grew has other numbers than
    /// one that was made at once, and chooses the same parts.
    fn settle_ties(&self, ranked: &mut [(i64, u64)], limit: usize) -> rusqlite::Result<()> {
        let Some((_, cutoff)) = limit.checked_sub(1).and_then(|last| ranked.get(last).copied())
        else {
            return Ok(());
        };
        let above = ranked.partition_point(|(_, score)| *score > cutoff);
        let until = ranked.partition_point(|(_, score)| *score >= cutoff);
        if until <= limit {
            return Ok(());
        }
        let mut place = self.connection.prepare_cached(
            "SELECT f.path, p.starts FROM parts p JOIN files f ON f.id = p.file WHERE p.id = ?1",
        )?;
        let mut ties: Vec<(String, i64, i64)> = ranked[above..until]
            .iter()
            .map(|(id, _)| {
                place.query_row([id], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, *id))
                })
            })
            .collect::<Result<_, _>>()?;
        ties.sort();
        for (slot, (.., id)) in ranked[above..until].iter_mut().zip(ties) {
            slot.0 = id;
        }
        Ok(())
    }
}

/// The weight of a term that stands in so many of all parts: the rarer, the more.
fn weight(all: u64, found: u64) -> u64 {
    1 + u64::from((all / found.max(1)).max(1).ilog2())
}

/// A term as the index writes it: letters and digits of ASCII are themselves, others are written out.
fn written(term: &str) -> String {
    if term.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return term.to_ascii_lowercase();
    }
    let bytes = term.bytes().map(|byte| format!("{byte:02x}"));
    format!("u{}", bytes.collect::<String>())
}

/// The letters of a text, three by three, as a query that asks for all.
fn grams_of(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let grams = letters.windows(3).take(GRAMS).map(|gram| {
        let gram: String = gram.iter().collect();
        format!("\"{}\"", gram.replace('"', "\"\""))
    });
    grams.collect::<Vec<_>>().join(" AND ")
}

const FILE: &str =
    "path, kind, language, size, stamp, digest, lines, frontmatter, front, labels, note";
const PART: &str =
    "p.number, p.parent, h.text, p.level, p.starts, p.ends, p.own_ends, p.first_line, p.last_line";

fn file_of(row: &Row<'_>) -> rusqlite::Result<IndexedFile> {
    let labels: String = row.get(9)?;
    let digest: String = row.get(5)?;
    Ok(IndexedFile {
        path: row.get(0)?,
        kind: row.get(1)?,
        language: row.get(2)?,
        size: row.get::<_, i64>(3)? as u64,
        stamp: row.get(4)?,
        digest: digest.parse().ok(),
        lines: row.get(6)?,
        frontmatter: row.get(7)?,
        front: row.get::<_, i64>(8)? as u64,
        labels: serde_json::from_str(&labels).unwrap_or_default(),
        note: row.get(10)?,
    })
}

fn part_of(row: &Row<'_>, from: usize) -> rusqlite::Result<IndexedPart> {
    let byte = |at: usize| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(from + at)? as u64);
    let heading: Option<String> = row.get(from + 2)?;
    Ok(IndexedPart {
        number: match heading {
            Some(_) => Some(row.get(from)?),
            None => None,
        },
        parent: row.get(from + 1)?,
        level: row.get(from + 3)?,
        bytes: (byte(4)?, byte(5)?),
        own_ends: byte(6)?,
        lines: (row.get(from + 7)?, row.get(from + 8)?),
        heading,
    })
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.execute_batch(
        "PRAGMA cache_size = -32768; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
    )?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Removes a file with its parts; `loose` gets the headings that may stand nowhere any more.
fn remove(write: &Transaction<'_>, path: &str, loose: &mut BTreeSet<i64>) -> rusqlite::Result<()> {
    let id: Option<i64> = write
        .prepare_cached("SELECT id FROM files WHERE path = ?1")?
        .query_row([path], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(()) };
    let mut headings = write.prepare_cached(
        "SELECT DISTINCT heading FROM parts WHERE file = ?1 AND heading IS NOT NULL",
    )?;
    for heading in headings.query_map([id], |row| row.get(0))? {
        loose.insert(heading?);
    }
    write
        .prepare_cached("DELETE FROM words WHERE rowid IN (SELECT id FROM parts WHERE file = ?1)")?
        .execute([id])?;
    write.prepare_cached("DELETE FROM parts WHERE file = ?1")?.execute([id])?;
    write.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([id])?;
    Ok(())
}

fn add(write: &Transaction<'_>, entry: &FileEntry) -> rusqlite::Result<()> {
    let file = &entry.file;
    let labels = serde_json::Value::from(file.labels.clone()).to_string();
    let digest = file.digest.map(|digest| digest.to_string()).unwrap_or_default();
    write
        .prepare_cached(
            "INSERT INTO files(path, kind, language, size, stamp, digest, lines, frontmatter, front, labels, note) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            file.path,
            file.kind,
            file.language,
            file.size as i64,
            file.stamp,
            digest,
            file.lines,
            file.frontmatter,
            file.front as i64,
            labels,
            file.note
        ])?;
    let id = write.last_insert_rowid();
    for (at, part) in entry.parts.iter().enumerate() {
        let heading = part.heading.as_deref().map(|text| heading_id(write, text)).transpose()?;
        write
            .prepare_cached(
                "INSERT INTO parts(file, number, parent, heading, level, starts, ends, own_ends, first_line, last_line) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                id,
                part.number.unwrap_or_default(),
                part.parent,
                heading.map_or(Sql::Null, Sql::Integer),
                part.level,
                part.bytes.0 as i64,
                part.bytes.1 as i64,
                part.own_ends as i64,
                part.lines.0,
                part.lines.1
            ])?;
        let row = write.last_insert_rowid();
        if let Some((heading, body)) = entry.terms.get(at) {
            write
                .prepare_cached("INSERT INTO words(rowid, heading, body) VALUES (?1, ?2, ?3)")?
                .execute(params![row, line(heading), line(body)])?;
        }
    }
    Ok(())
}

fn line(terms: &[String]) -> String {
    let mut line = String::with_capacity(terms.iter().map(|term| term.len() + 1).sum());
    for term in terms {
        if term.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            line.push_str(term)
        } else {
            line.push_str(&written(term))
        }
        line.push(' ');
    }
    line
}

fn heading_id(write: &Transaction<'_>, text: &str) -> rusqlite::Result<i64> {
    let found = write
        .prepare_cached("SELECT id FROM headings WHERE text = ?1")?
        .query_row([text], |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    write
        .prepare_cached("INSERT INTO headings(text) VALUES (?1)")?
        .execute([text])?;
    let id = write.last_insert_rowid();
    write
        .prepare_cached("INSERT INTO grams(rowid, text) VALUES (?1, ?2)")?
        .execute(params![id, text.to_lowercase()])?;
    Ok(id)
}

/// Removes the headings that stand nowhere any more.
fn tidy(write: &Transaction<'_>, loose: &BTreeSet<i64>) -> rusqlite::Result<()> {
    for id in loose {
        let stands: bool = write
            .prepare_cached("SELECT EXISTS(SELECT 1 FROM parts WHERE heading = ?1)")?
            .query_row([id], |row| row.get(0))?;
        if !stands {
            write.prepare_cached("DELETE FROM grams WHERE rowid = ?1")?.execute([id])?;
            write.prepare_cached("DELETE FROM headings WHERE id = ?1")?.execute([id])?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use super::*;
    use tenure::package::Selector;

    fn entry(path: &str, headings: &[&str], words: &str) -> FileEntry {
        let parts: Vec<IndexedPart> = headings
            .iter()
            .enumerate()
            .map(|(at, heading)| IndexedPart {
                number: Some(at as u32),
                heading: Some((*heading).to_owned()),
                level: 1,
                bytes: (0, 9),
                own_ends: 9,
                lines: (1, 2),
                parent: None,
            })
            .collect();
        let split = |text: &str| text.to_lowercase().split(' ').map(str::to_owned).collect();
        FileEntry {
            file: IndexedFile {
                path: path.to_owned(),
                kind: "markdown".to_owned(),
                stamp: "1".to_owned(),
                digest: Some(Digest::of(words.as_bytes())),
                ..IndexedFile::default()
            },
            terms: headings.iter().map(|heading| (split(heading), split(words))).collect(),
            parts,
        }
    }

    #[test]
    fn files_are_replaced_whole_and_headings_go_with_the_last_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        let mut index = TreeIndex::open(&path, None).unwrap();
        let first = entry("a.md", &["Access Policy", "Über uns"], "pump valve");
        let second = entry("b.md", &["Access Policy", "Notes"], "pump film");
        index.write(&[first, second], &[], &[]).unwrap();
        let like = |index: &TreeIndex, test| index.with_heading(test).unwrap();
        assert_eq!(like(&index, HeadingTest::Holds("policy")), ["a.md", "b.md"]);
        assert_eq!(like(&index, HeadingTest::Holds("über")), ["a.md"]);
        assert_eq!(like(&index, HeadingTest::Holds("t")), ["b.md"]);
        assert_eq!(like(&index, HeadingTest::Is("Notes")), ["b.md"]);
        let selector = Selector::new("sections[heading~=/^N/]").unwrap();
        let pattern = selector.reaches()[0].heading.unwrap();
        assert_eq!(like(&index, pattern), ["b.md"]);
        let before = index.snapshot().unwrap();
        index
            .write(&[entry("b.md", &["Other"], "lamp")], &[], &["a.md".into()])
            .unwrap();
        assert_eq!(index.headings().unwrap(), ["Other"]);
        assert!(like(&index, HeadingTest::Holds("policy")).is_empty());
        assert!(index.search(&["pump".into()], 5).unwrap().is_empty());
        assert_eq!(index.search(&["lamp".into()], 5).unwrap()[0].path, "b.md");
        assert_ne!(index.snapshot().unwrap(), before);
        assert_eq!(index.counts().unwrap().files, 1);
    }

    #[test]
    fn a_damaged_or_foreign_index_is_made_anew_when_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.db");
        assert_eq!(
            TreeIndex::open_existing(&path, None).err().unwrap().kind,
            ErrorKind::NotFound
        );
        std::fs::write(&path, "no database, whatever it says".repeat(100)).unwrap();
        assert_eq!(
            TreeIndex::open_existing(&path, None).err().unwrap().kind,
            ErrorKind::Damaged
        );
        drop(TreeIndex::open(&path, None).unwrap());
        let raw = Connection::open(&path).unwrap();
        raw.pragma_update(None, "user_version", 99).unwrap();
        drop(raw);
        let error = TreeIndex::open_existing(&path, None).err().unwrap();
        assert!(error.what.contains("version 99"), "{error}");
        assert_eq!(
            TreeIndex::open(&path, None).unwrap().counts().unwrap().files,
            0
        );
    }

    #[test]
    fn rare_words_weigh_more_and_headings_most() {
        let folder = tempfile::tempdir().unwrap();
        let mut index = TreeIndex::open(&folder.path().join("index.db"), None).unwrap();
        let many: Vec<FileEntry> = (0..40)
            .map(|at| entry(&format!("{at:02}.md"), &["Plain"], "pump"))
            .chain([
                entry("rare.md", &["Plain"], "pump valve"),
                entry("title.md", &["Valve"], "pump valve"),
            ])
            .collect();
        index.write(&many, &[], &[]).unwrap();
        let found = index.search(&["pump".into(), "valve".into()], 3).unwrap();
        let paths: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
        assert_eq!(paths[..2], ["title.md", "rare.md"]);
    }
}
