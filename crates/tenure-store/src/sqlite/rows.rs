//! The rows of one tenant, over one connection.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId, Usage};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error, ErrorKind};

use super::{Clock, failed};
use crate::engine::{
    Answered, BeliefRow, Change, Read, RecordRow, Stamp, Standing, Tombstone, Write, WriteRow,
    logged,
};
use crate::settle::covers_all;

/// The columns of a belief, in the order in which [`belief`] reads them.
const BELIEF: &str = "b.object, b.tx_start, b.part, b.opened, b.tx_end, b.closed, b.revision, \
                      b.valid_from, b.valid_until, b.contradiction, b.superseded_by, b.lifecycle";
const BELIEF_COLUMNS: usize = 12;

pub(super) struct Rows<'c> {
    connection: &'c Connection,
    path: &'c Path,
    tenant: &'c str,
    clock: &'c Clock,
    stamp: Option<Stamp>,
    noted: bool,
}

impl<'c> Rows<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        path: &'c Path,
        tenant: &'c str,
        clock: &'c Clock,
    ) -> Rows<'c> {
        Rows {
            connection,
            path,
            tenant,
            clock,
            stamp: None,
            noted: false,
        }
    }

    /// Whether the log has a line for the version that was given out, if any was.
    pub(super) fn finish(self) -> Result<(), Error> {
        logged(self.stamp, self.noted)
    }

    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| match error {
            // A row that this version did not write.
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Error::input(format!(
                "the store `{}` holds a row that cannot be read: {error}",
                self.path.display()
            )),
            error => failed(self.path, &error),
        })
    }

    fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    fn execute(&self, sql: &str, values: impl Params) -> Result<usize, Error> {
        self.check(
            self.statement(sql)
                .and_then(|mut statement| statement.execute(values)),
        )
    }

    /// All rows of a query.
    fn all<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let rows = || {
            let mut statement = self.statement(sql)?;
            statement.query_map(values, read)?.collect()
        };
        self.check(rows())
    }

    /// The only row of a query, if there is one.
    fn one<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        let row = || self.statement(sql)?.query_row(values, read).optional();
        self.check(row())
    }

    /// Calls `each` with the rows of a query of beliefs as they come: they may be more than memory holds.
    fn stream(
        &self,
        sql: &str,
        values: impl Params,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = self.check(self.statement(sql))?;
        let mut rows = self.check(statement.query(values))?;
        while let Some(row) = self.check(rows.next())? {
            let place = self.check(version(row, BELIEF_COLUMNS))?;
            let belief = self.check(belief(row, 0))?;
            let body = self.check(row.get_ref(BELIEF_COLUMNS + 1))?;
            let body = body
                .as_str()
                .map_err(|error| failed(self.path, &error.into()))?;
            each(place, belief, body)?;
        }
        Ok(())
    }

    /// Runs a statement for each of these rows.
    fn execute_all<T>(
        &self,
        sql: &str,
        rows: &[T],
        mut run: impl FnMut(&mut CachedStatement<'c>, &T) -> rusqlite::Result<usize>,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut statement = self.check(self.statement(sql))?;
        for row in rows {
            self.check(run(&mut statement, row))?;
        }
        Ok(())
    }

    fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<ObjectId>, Error> {
        self.all(sql, values, |row| object(row, 0))
    }
}

fn object(row: &Row<'_>, at: usize) -> rusqlite::Result<ObjectId> {
    Ok(ObjectId::from_bits(u128::from_be_bytes(row.get(at)?)))
}

fn blob(id: ObjectId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

fn digest(row: &Row<'_>, at: usize) -> rusqlite::Result<Digest> {
    row.get(at).map(Digest::from_bytes)
}

fn instant(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Instant>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Instant::from_micros))
}

fn micros(instant: Option<Instant>) -> Option<i64> {
    instant.map(Instant::micros)
}

fn version(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(at)?.unsigned_abs())
}

fn term<T: std::str::FromStr<Err = Error>>(row: &Row<'_>, at: usize) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    text.parse().map_err(|error: Error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(at, kind, error.to_string().into())
    })
}

fn belief(row: &Row<'_>, from: usize) -> rusqlite::Result<BeliefRow> {
    let stamp = |version_at: usize, at: usize| -> rusqlite::Result<Option<Stamp>> {
        let Some(at) = instant(row, from + at)? else {
            return Ok(None);
        };
        let version = version(row, from + version_at)?;
        Ok(Some(Stamp { version, at }))
    };
    let missing = || {
        rusqlite::Error::InvalidColumnType(from + 1, "tx_start".into(), rusqlite::types::Type::Null)
    };
    let superseded: Option<[u8; 16]> = row.get(from + 10)?;
    Ok(BeliefRow {
        object: object(row, from)?,
        opened: stamp(3, 1)?.ok_or_else(missing)?,
        part: row.get(from + 2)?,
        closed: stamp(5, 4)?,
        revision: digest(row, from + 6)?,
        valid: Interval {
            from: instant(row, from + 7)?,
            until: instant(row, from + 8)?,
        },
        contradiction: term::<ContradictionStatus>(row, from + 9)?,
        superseded_by: superseded.map(|bits| ObjectId::from_bits(u128::from_be_bytes(bits))),
        lifecycle: term::<Lifecycle>(row, from + 11)?,
    })
}

fn stamp(row: &Row<'_>) -> rusqlite::Result<Stamp> {
    let (version, at) = (version(row, 0)?, Instant::from_micros(row.get(1)?));
    Ok(Stamp { version, at })
}

fn usage(row: &Row<'_>, from: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        access_count: version(row, from)?,
        last_used: instant(row, from + 1)?,
        last_confirmed: instant(row, from + 2)?,
    })
}

impl Read for Rows<'_> {
    fn version(&mut self) -> Result<u64, Error> {
        let sql = "SELECT version FROM tenants WHERE tenant = ?1";
        let found = self.one(sql, [self.tenant], |row| version(row, 0))?;
        Ok(found.unwrap_or(0))
    }

    fn key(&mut self) -> Result<Option<[u8; 32]>, Error> {
        let sql = "SELECT key FROM tenants WHERE tenant = ?1";
        self.one(sql, [self.tenant], |row| row.get(0))
    }

    fn standing(&mut self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Standing>, Error> {
        let beliefs = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE b.tenant = ?1 AND b.object = ?2 \
             AND b.tx_end IS NULL ORDER BY b.valid_from"
        );
        let sql = "SELECT place, name, head FROM objects WHERE tenant = ?1 AND object = ?2";
        let mut found = BTreeMap::new();
        for id in ids {
            let read = |row: &Row<'_>| {
                Ok(Standing {
                    place: version(row, 0)?,
                    name: row.get(1)?,
                    head: digest(row, 2)?,
                    beliefs: Vec::new(),
                })
            };
            let Some(mut standing) = self.one(sql, params![self.tenant, blob(*id)], read)? else {
                continue;
            };
            standing.beliefs = self.all(&beliefs, params![self.tenant, blob(*id)], |row| {
                belief(row, 0)
            })?;
            found.insert(*id, standing);
        }
        Ok(found)
    }

    fn named(&mut self, name: &str) -> Result<Vec<ObjectId>, Error> {
        // Left to itself, SQLite walks through all places to find them in order.
        let sql = "SELECT object FROM objects INDEXED BY objects_by_name \
                   WHERE tenant = ?1 AND name = ?2 ORDER BY place";
        self.ids(sql, params![self.tenant, name])
    }

    fn children(&mut self, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT child FROM links WHERE tenant = ?1 AND parent = ?2 ORDER BY child";
        let mut children = Vec::new();
        for id in ids {
            children.append(&mut self.ids(sql, params![self.tenant, blob(*id)])?);
        }
        Ok(children)
    }

    fn about(&mut self, subject: &str) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM subjects WHERE tenant = ?1 AND subject = ?2 ORDER BY object";
        self.ids(sql, params![self.tenant, subject])
    }

    fn bodies(&mut self, revisions: &[RevisionId]) -> Result<BTreeMap<RevisionId, String>, Error> {
        let sql = "SELECT body FROM revisions WHERE tenant = ?1 AND revision = ?2";
        let mut bodies = BTreeMap::new();
        for revision in revisions {
            let body = self.one(sql, params![self.tenant, revision.bytes()], |row| {
                row.get(0)
            })?;
            bodies.extend(body.map(|body: String| (*revision, body)));
        }
        Ok(bodies)
    }

    fn history(&mut self, id: ObjectId) -> Result<Vec<BeliefRow>, Error> {
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE b.tenant = ?1 AND b.object = ?2 \
             ORDER BY b.tx_start, b.valid_from, b.part"
        );
        self.all(&sql, params![self.tenant, blob(id)], |row| belief(row, 0))
    }

    fn held(&mut self, id: ObjectId, known: Instant) -> Result<Vec<BeliefRow>, Error> {
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE b.tenant = ?1 AND b.object = ?2 \
             AND b.tx_start <= ?3 ORDER BY b.tx_start DESC, b.part DESC"
        );
        let read = || -> rusqlite::Result<Vec<BeliefRow>> {
            let mut statement = self.statement(&sql)?;
            let mut rows = statement.query(params![self.tenant, blob(id), known.micros()])?;
            let mut held: Vec<BeliefRow> = Vec::new();
            while let Some(row) = rows.next()? {
                let belief = belief(row, 0)?;
                if belief.held_at(known) {
                    held.push(belief);
                    // What is older cannot be held as well: beliefs do not overlap.
                    if covers_all(held.iter().map(|belief| belief.valid)) {
                        break;
                    }
                }
            }
            held.sort_by_key(|belief| belief.valid.from.map(Instant::micros));
            Ok(held)
        };
        self.check(read())
    }

    fn each_held(
        &mut self,
        known: Option<Instant>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let held = match known {
            None => "b.tx_end IS NULL",
            Some(_) => "b.tx_start <= ?2 AND (b.tx_end IS NULL OR b.tx_end > ?2)",
        };
        let sql = format!(
            "SELECT {BELIEF}, o.place, r.body FROM objects o \
             CROSS JOIN beliefs b ON b.tenant = ?1 AND b.object = o.object AND {held} \
             CROSS JOIN revisions r ON r.tenant = ?1 AND r.revision = b.revision \
             WHERE o.tenant = ?1 ORDER BY o.place, b.valid_from"
        );
        match known {
            None => self.stream(&sql, [self.tenant], each),
            Some(known) => self.stream(&sql, params![self.tenant, known.micros()], each),
        }
    }

    fn each_ever(
        &mut self,
        each: &mut dyn FnMut(BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = format!(
            "SELECT {BELIEF}, o.place, r.body FROM objects o \
             CROSS JOIN beliefs b ON b.tenant = ?1 AND b.object = o.object \
             CROSS JOIN revisions r ON r.tenant = ?1 AND r.revision = b.revision \
             WHERE o.tenant = ?1 ORDER BY o.place, b.tx_start, b.valid_from, b.part"
        );
        self.stream(&sql, [self.tenant], &mut |_, belief, body| {
            each(belief, body)
        })
    }

    fn changed_since(&mut self, version: u64) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM objects INDEXED BY objects_by_change \
                   WHERE tenant = ?1 AND changed > ?2 ORDER BY place";
        self.ids(sql, params![self.tenant, version as i64])
    }

    fn objects(&mut self) -> Result<Vec<(u64, ObjectId)>, Error> {
        let sql = "SELECT place, object FROM objects WHERE tenant = ?1 ORDER BY place";
        self.all(sql, [self.tenant], |row| {
            Ok((version(row, 0)?, object(row, 1)?))
        })
    }

    fn usage(&mut self, ids: Option<&[ObjectId]>) -> Result<BTreeMap<ObjectId, Usage>, Error> {
        let Some(ids) = ids else {
            let sql = "SELECT object, access_count, last_used, last_confirmed FROM usage WHERE tenant = ?1";
            let rows = self.all(sql, [self.tenant], |row| {
                Ok((object(row, 0)?, usage(row, 1)?))
            })?;
            return Ok(rows.into_iter().collect());
        };
        let sql = "SELECT access_count, last_used, last_confirmed FROM usage WHERE tenant = ?1 AND object = ?2";
        let mut found = BTreeMap::new();
        for id in ids {
            let row = self.one(sql, params![self.tenant, blob(*id)], |row| usage(row, 0))?;
            found.extend(row.map(|usage| (*id, usage)));
        }
        Ok(found)
    }

    fn log(&mut self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error> {
        let sql = "SELECT version, at, verb, author, objects FROM writes \
                   WHERE tenant = ?1 AND version > ?2 ORDER BY version LIMIT ?3";
        self.all(sql, params![self.tenant, after as i64, most], |row| {
            Ok(WriteRow {
                stamp: Stamp {
                    version: version(row, 0)?,
                    at: Instant::from_micros(row.get(1)?),
                },
                verb: row.get(2)?,
                author: row.get(3)?,
                objects: version(row, 4)?,
            })
        })
    }

    fn written(&mut self, version: u64) -> Result<Option<Stamp>, Error> {
        let sql = "SELECT version, at FROM writes WHERE tenant = ?1 AND version <= ?2 \
                   ORDER BY version DESC LIMIT 1";
        self.one(sql, params![self.tenant, version as i64], stamp)
    }

    fn tombstones(&mut self, digests: &[Digest]) -> Result<Vec<Tombstone>, Error> {
        let sql = "SELECT 1 FROM tombstones WHERE tenant = ?1 LIMIT 1";
        let any = self.one(sql, [self.tenant], |_| Ok(()))?;
        let digests = any.map_or(&[][..], |()| digests);
        let sql = "SELECT version, at FROM tombstones WHERE tenant = ?1 AND digest = ?2";
        let mut found = Vec::new();
        for digest in digests {
            let read = |row: &Row<'_>| {
                let (version, at) = (version(row, 0)?, Instant::from_micros(row.get(1)?));
                let erased = Stamp { version, at };
                Ok(Tombstone {
                    digest: *digest,
                    erased,
                })
            };
            found.extend(self.one(sql, params![self.tenant, digest.bytes()], read)?);
        }
        Ok(found)
    }

    fn answered(&mut self, key: &str) -> Result<Option<Answered>, Error> {
        let sql = "SELECT asked, answer FROM answers WHERE tenant = ?1 AND key = ?2";
        self.one(sql, params![self.tenant, key], |row| {
            let (asked, answer) = (digest(row, 0)?, row.get(1)?);
            Ok(Answered { asked, answer })
        })
    }

    fn record(&mut self, id: &str) -> Result<Option<RecordRow>, Error> {
        let sql = "SELECT record, compiled_at, body FROM records WHERE tenant = ?1 AND record = ?2";
        let Some(mut record) = self.one(sql, params![self.tenant, id], record)? else {
            return Ok(None);
        };
        let sql =
            "SELECT object FROM record_objects WHERE tenant = ?1 AND record = ?2 ORDER BY object";
        record.objects = self.ids(sql, params![self.tenant, id])?;
        Ok(Some(record))
    }

    fn records(&mut self, most: u32) -> Result<Vec<(String, Instant)>, Error> {
        let sql = "SELECT record, compiled_at FROM records WHERE tenant = ?1 \
                   ORDER BY compiled_at DESC, record LIMIT ?2";
        self.all(sql, params![self.tenant, most], |row| {
            Ok((row.get(0)?, Instant::from_micros(row.get(1)?)))
        })
    }

    fn blob(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT bytes FROM blobs WHERE tenant = ?1 AND digest = ?2";
        self.one(sql, params![self.tenant, digest.bytes()], |row| row.get(0))
    }

    fn blobs(&mut self) -> Result<Vec<Digest>, Error> {
        let sql = "SELECT digest FROM blobs WHERE tenant = ?1 ORDER BY digest";
        self.all(sql, [self.tenant], |row| digest(row, 0))
    }

    fn logs(&mut self) -> Result<Vec<(String, u64)>, Error> {
        let sql =
            "SELECT log, max(number) FROM entries WHERE tenant = ?1 GROUP BY log ORDER BY log";
        self.all(sql, [self.tenant], |row| {
            Ok((row.get(0)?, version(row, 1)?))
        })
    }

    fn last(&mut self, log: &str) -> Result<u64, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = ?1 AND log = ?2";
        let found = self.all(sql, params![self.tenant, log], |row| version(row, 0))?;
        Ok(found.first().copied().unwrap_or(0))
    }

    fn entries(&mut self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error> {
        let sql = "SELECT number, body FROM entries \
                   WHERE tenant = ?1 AND log = ?2 AND number >= ?3 AND number < ?4 ORDER BY number";
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let values = params![self.tenant, log, bound(range.start), bound(range.end)];
        self.all(sql, values, |row| Ok((version(row, 0)?, row.get(1)?)))
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<RecordRow> {
    Ok(RecordRow {
        id: row.get(0)?,
        compiled_at: Instant::from_micros(row.get(1)?),
        body: row.get(2)?,
        objects: Vec::new(),
    })
}

impl Write for Rows<'_> {
    fn stamp(&mut self) -> Result<Stamp, Error> {
        if let Some(stamp) = self.stamp {
            return Ok(stamp);
        }
        let now = (self.clock)().map_or(0, Instant::micros);
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let what = format!("the system gives no random numbers: {error}");
            Error::new(ErrorKind::Unavailable, what)
        })?;
        // A clock that stands still or goes back holds up no transaction time.
        let sql = "INSERT INTO tenants (tenant, version, at, key) VALUES (?1, 1, ?2, ?3) \
                   ON CONFLICT (tenant) DO UPDATE SET version = version + 1, at = max(at + 1, excluded.at) \
                   RETURNING version, at";
        let stamp = self.check(self.statement(sql).and_then(|mut statement| {
            statement.query_row(params![self.tenant, now, key], stamp)
        }))?;
        self.stamp = Some(stamp);
        Ok(stamp)
    }

    fn take_places(&mut self, count: u64) -> Result<u64, Error> {
        let sql = "UPDATE tenants SET places = places + ?2 WHERE tenant = ?1 RETURNING places - ?2";
        let taken = self.one(sql, params![self.tenant, count as i64], |row| {
            version(row, 0)
        })?;
        Ok(taken.unwrap_or(0))
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let changed = stamp.version as i64;
        let sql = "INSERT INTO objects (tenant, place, object, name, head, changed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                   ON CONFLICT (tenant, place) DO UPDATE SET \
                   name = excluded.name, head = excluded.head, changed = excluded.changed";
        self.execute_all(sql, &change.objects, |statement, row| {
            let (id, place, name, head) = row;
            let (place, head) = (*place as i64, head.bytes());
            statement.execute(params![self.tenant, place, blob(*id), name, head, changed])
        })?;
        let sql = "INSERT INTO revisions (tenant, revision, object, content, body) \
                   VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, revision) DO NOTHING";
        self.execute_all(sql, &change.revisions, |statement, row| {
            let (revision, content) = (row.revision.bytes(), row.content.bytes());
            let object = blob(row.object);
            statement.execute(params![self.tenant, revision, object, content, row.body])
        })?;
        let sql = "UPDATE beliefs SET tx_end = ?5, closed = ?6 \
                   WHERE tenant = ?1 AND object = ?2 AND tx_start = ?3 AND part = ?4";
        self.execute_all(sql, &change.close, |statement, (id, opened, part)| {
            let (at, end) = (opened.at.micros(), stamp.at.micros());
            statement.execute(params![self.tenant, blob(*id), at, part, end, changed])
        })?;
        let sql = "INSERT INTO beliefs (tenant, object, tx_start, part, opened, revision, valid_from, \
                   valid_until, contradiction, superseded_by, lifecycle, tx_end, closed) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        self.execute_all(sql, &change.open, |statement, row| {
            statement.execute(params![
                self.tenant,
                blob(row.object),
                row.opened.at.micros(),
                row.part,
                row.opened.version as i64,
                row.revision.bytes(),
                micros(row.valid.from),
                micros(row.valid.until),
                row.contradiction.term(),
                row.superseded_by.map(blob),
                row.lifecycle.term(),
                row.closed.map(|closed| closed.at.micros()),
                row.closed.map(|closed| closed.version as i64),
            ])
        })?;
        for (child, parent) in &change.links {
            let sql = "INSERT INTO links (tenant, parent, child) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            self.execute(sql, params![self.tenant, blob(*parent), blob(*child)])?;
        }
        for (id, subject) in &change.subjects {
            let sql = "INSERT INTO subjects (tenant, object, subject) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            self.execute(sql, params![self.tenant, blob(*id), subject])?;
        }
        Ok(())
    }

    fn note(&mut self, verb: &str, author: Option<&str>, objects: u64) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let sql = "INSERT INTO writes (tenant, version, at, verb, author, objects) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (version, at) = (stamp.version as i64, stamp.at.micros());
        self.execute(
            sql,
            params![self.tenant, version, at, verb, author, objects as i64],
        )?;
        self.noted = true;
        Ok(())
    }

    fn count(&mut self, usage: &[(ObjectId, Usage)]) -> Result<(), Error> {
        let sql = "INSERT INTO usage (tenant, object, access_count, last_used, last_confirmed) \
                   SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM objects WHERE tenant = ?1 AND object = ?2) \
                   ON CONFLICT (tenant, object) DO UPDATE SET \
                   access_count = access_count + excluded.access_count, \
                   last_used = max(coalesce(last_used, excluded.last_used), coalesce(excluded.last_used, last_used)), \
                   last_confirmed = max(coalesce(last_confirmed, excluded.last_confirmed), \
                                        coalesce(excluded.last_confirmed, last_confirmed))";
        for (id, usage) in usage {
            let count = usage.access_count as i64;
            let (used, confirmed) = (micros(usage.last_used), micros(usage.last_confirmed));
            self.execute(sql, params![self.tenant, blob(*id), count, used, confirmed])?;
        }
        Ok(())
    }

    fn erase(&mut self, ids: &[ObjectId], digests: &[Digest]) -> Result<(), Error> {
        let stamp = self.stamp()?;
        for id in ids {
            let values = || (self.tenant, blob(*id));
            self.execute(
                "INSERT INTO erasing (tenant, object) VALUES (?1, ?2)",
                values(),
            )?;
            self.execute(
                "DELETE FROM blobs WHERE tenant = ?1 AND digest IN \
                 (SELECT r.content FROM beliefs b CROSS JOIN revisions r \
                  ON r.tenant = ?1 AND r.revision = b.revision WHERE b.tenant = ?1 AND b.object = ?2)",
                values(),
            )?;
            // By way of the beliefs, which have an index for it.
            self.execute(
                "DELETE FROM revisions WHERE tenant = ?1 AND revision IN \
                 (SELECT revision FROM beliefs WHERE tenant = ?1 AND object = ?2)",
                values(),
            )?;
            self.execute(
                "DELETE FROM answers WHERE tenant = ?1 AND instr(answer, ?2)",
                params![self.tenant, id.to_string()],
            )?;
            for table in ["objects", "beliefs", "subjects", "usage", "record_objects"] {
                self.execute(
                    &format!("DELETE FROM {table} WHERE tenant = ?1 AND object = ?2"),
                    values(),
                )?;
            }
            self.execute(
                "DELETE FROM links WHERE tenant = ?1 AND (parent = ?2 OR child = ?2)",
                values(),
            )?;
            self.execute(
                "DELETE FROM erasing WHERE tenant = ?1 AND object = ?2",
                values(),
            )?;
        }
        for digest in digests {
            let sql = "INSERT INTO tombstones (tenant, digest, version, at) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT DO NOTHING";
            let (version, at) = (stamp.version as i64, stamp.at.micros());
            self.execute(sql, params![self.tenant, digest.bytes(), version, at])?;
        }
        Ok(())
    }

    fn answer(&mut self, key: &str, answered: &Answered) -> Result<(), Error> {
        let sql = "INSERT INTO answers (tenant, key, asked, answer) VALUES (?1, ?2, ?3, ?4)";
        self.execute(
            sql,
            params![self.tenant, key, answered.asked.bytes(), answered.answer],
        )?;
        Ok(())
    }

    fn put_records(&mut self, records: &[RecordRow]) -> Result<(), Error> {
        for record in records {
            let sql = "INSERT INTO records (tenant, record, compiled_at, body) VALUES (?1, ?2, ?3, ?4) \
                       ON CONFLICT (tenant, record) DO UPDATE SET body = excluded.body";
            let at = record.compiled_at.micros();
            self.execute(sql, params![self.tenant, record.id, at, record.body])?;
            self.execute(
                "DELETE FROM record_objects WHERE tenant = ?1 AND record = ?2",
                params![self.tenant, record.id],
            )?;
            for id in &record.objects {
                let sql = "INSERT INTO record_objects (tenant, object, record) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
                self.execute(sql, params![self.tenant, blob(*id), record.id])?;
            }
        }
        Ok(())
    }

    fn drop_records(&mut self, before: Option<Instant>, keep: Option<u64>) -> Result<u64, Error> {
        let old = "SELECT record FROM records WHERE tenant = ?1 AND (compiled_at < ?2 OR record NOT IN \
                   (SELECT record FROM records WHERE tenant = ?1 ORDER BY compiled_at DESC, record LIMIT ?3))";
        let before = before.map_or(i64::MIN, Instant::micros);
        let keep = keep.map_or(-1, |keep| i64::try_from(keep).unwrap_or(-1));
        let values = || (self.tenant, before, keep);
        self.execute(
            &format!("DELETE FROM record_objects WHERE tenant = ?1 AND record IN ({old})"),
            values(),
        )?;
        let dropped = self.execute(
            &format!("DELETE FROM records WHERE tenant = ?1 AND record IN ({old})"),
            values(),
        )?;
        Ok(dropped as u64)
    }

    fn put_blob(&mut self, digest: Digest, bytes: &[u8]) -> Result<(), Error> {
        let sql =
            "INSERT INTO blobs (tenant, digest, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        self.execute(sql, params![self.tenant, digest.bytes(), bytes])?;
        Ok(())
    }

    fn drop_blobs(&mut self, digests: &[Digest]) -> Result<(), Error> {
        for digest in digests {
            let sql = "DELETE FROM blobs WHERE tenant = ?1 AND digest = ?2";
            self.execute(sql, params![self.tenant, digest.bytes()])?;
        }
        Ok(())
    }

    fn append(&mut self, log: &str, after: u64, entries: &[String]) -> Result<bool, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = ?1 AND log = ?2";
        let last = self.one(sql, params![self.tenant, log], |row| version(row, 0))?;
        if last.unwrap_or(0) != after {
            return Ok(false);
        }
        for (number, body) in (after + 1..).zip(entries) {
            let sql = "INSERT INTO entries (tenant, log, number, body) VALUES (?1, ?2, ?3, ?4)";
            self.execute(sql, params![self.tenant, log, number as i64, body])?;
        }
        Ok(true)
    }

    fn rewrite(&mut self, log: &str, entries: &[(u64, String)]) -> Result<(), Error> {
        for (number, body) in entries {
            let sql = "UPDATE entries SET body = ?4 WHERE tenant = ?1 AND log = ?2 AND number = ?3";
            self.execute(sql, params![self.tenant, log, *number as i64, body])?;
        }
        Ok(())
    }

    fn drop_log(&mut self, log: &str) -> Result<(), Error> {
        let sql = "DELETE FROM entries WHERE tenant = ?1 AND log = ?2";
        self.execute(sql, params![self.tenant, log])?;
        Ok(())
    }
}
