//! Writes of one tenant: a new object costs one row in each of three tables.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use rusqlite::{Row, params};
use tenure::object::{ObjectId, RevisionId, Usage};
use tenure::time::Instant;
use tenure::{Digest, Error};

use super::decode::{blob, micros, stamp, version, whole};
use super::places::{search_row, words};
use super::rows::Rows;
use super::{asked, sum};
use crate::rows::engine::{
    Answered, Change, ClaimKey, IndexRow, PairRow, Read as _, RecordRow, Stamp, Write,
};

/// Among how many of the newest beliefs about an object a revision is looked for that may be there already.
const NEWEST: i64 = 16;

/// The most rows of the index that wait, and the most that one write adds to them.
const FRESH: usize = 128;
const FRESH_TERMS: usize = 1 << 14;

/// Puts a row into the index, or among those that wait.
const SEARCH: &str = "INSERT OR REPLACE INTO search (rowid, terms) VALUES (?1, ?2)";
const WAIT: &str = "INSERT OR REPLACE INTO fresh_terms (row, terms) VALUES (?1, ?2)";

/// The row numbers of the revisions of a change.
type Numbers = HashMap<(ObjectId, RevisionId), i64>;

impl Rows<'_> {
    /// The place of an object.
    fn place(&mut self, id: ObjectId) -> Result<Option<u64>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT place, sum = row_sum({}) FROM objects WHERE tenant = ?1 AND object = ?2",
            sum::OBJECT
        );
        self.one(&sql, params![tenant, blob(id)], |row| {
            whole(row, 1)?;
            version(row, 0)
        })
    }

    /// The row number and the labels of a revision, if one of the newest beliefs about an object has it.
    fn number_of(
        &mut self,
        place: u64,
        revision: RevisionId,
        newest: i64,
    ) -> Result<Option<(i64, String)>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT revision_number, labels FROM (SELECT revision, revision_number, labels FROM beliefs \
                   WHERE tenant = ?1 AND place = ?2 ORDER BY tx_start DESC, part DESC LIMIT ?4) \
                   WHERE revision = ?3 LIMIT 1";
        let values = params![tenant, place as i64, revision.bytes(), newest];
        self.one(sql, values, |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The row number and the labels of a revision that a belief about an object has, or had.
    fn number_kept(&mut self, place: u64, revision: RevisionId) -> Result<(i64, String), Error> {
        let newest = self.number_of(place, revision, NEWEST)?;
        let found = match newest {
            Some(found) => Some(found),
            None => self.number_of(place, revision, -1)?,
        };
        found.ok_or_else(|| Error::assertion("a belief is about a revision that is kept"))
    }

    /// Returns whether an object has this name and this head already.
    fn is_so(&mut self, id: ObjectId, name: &str, head: RevisionId) -> Result<bool, Error> {
        let tenant = self.number()?;
        let sql =
            "SELECT 1 FROM objects WHERE tenant = ?1 AND object = ?2 AND name = ?3 AND head = ?4";
        let values = params![tenant, blob(id), name, head.bytes()];
        Ok(self.one(sql, values, |_| Ok(()))?.is_some())
    }

    /// Keeps the revisions of a change.
    fn keep_revisions(
        &mut self,
        change: &Change,
        places: &HashMap<ObjectId, u64>,
    ) -> Result<Numbers, Error> {
        let tenant = self.number()?;
        let revised: BTreeSet<ObjectId> = change.close.iter().map(|(id, ..)| *id).collect();
        let mut numbers = Numbers::with_capacity(change.revisions.len());
        let sql = "INSERT INTO revisions (tenant, place, content, body) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.check(self.statement(sql))?;
        for row in &change.revisions {
            let key = (row.object, row.revision);
            let Some(place) = places.get(&row.object) else {
                return Err(Error::assertion("a revision comes with its object"));
            };
            if numbers.contains_key(&key) {
                continue;
            }
            let known = if revised.contains(&row.object) {
                let known = self.number_of(*place, row.revision, NEWEST)?;
                known.map(|(number, _)| number)
            } else {
                None
            };
            let number = match known {
                Some(number) => number,
                None => {
                    let values = params![tenant, *place as i64, row.content.bytes(), row.body];
                    self.check(insert.insert(values))?
                }
            };
            numbers.insert(key, number);
        }
        Ok(numbers)
    }

    /// Keeps which object was made from which, and whom objects are about.
    fn link(
        &self,
        links: &[(ObjectId, ObjectId)],
        subjects: &[(ObjectId, String)],
    ) -> Result<(), Error> {
        for (child, parent) in links {
            let sql = "INSERT INTO links (tenant, parent, child) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            self.execute(sql, params![self.tenant, blob(*parent), blob(*child)])?;
        }
        for (id, subject) in subjects {
            let sql = "INSERT INTO subjects (tenant, object, subject) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            self.execute(sql, params![self.tenant, blob(*id), subject])?;
        }
        Ok(())
    }

    /// Puts into the index what waits, once it is much: a part of the index for each write would cost as much as the
    /// write.
    fn gather_fresh(&self) -> Result<(), Error> {
        let sql = "SELECT count(*) FROM (SELECT 1 FROM fresh_terms LIMIT ?1)";
        let waiting = self.one(sql, [FRESH as i64 + 1], |row| row.get::<_, i64>(0))?;
        if waiting.unwrap_or(0) <= FRESH as i64 {
            return Ok(());
        }
        let sql = "INSERT OR REPLACE INTO search (rowid, terms) SELECT row, terms FROM fresh_terms ORDER BY row";
        self.execute(sql, [])?;
        self.execute("DELETE FROM fresh_terms", []).map(drop)
    }

    /// The place of an object that is there, or is written in this change.
    fn place_in(
        &mut self,
        places: &mut HashMap<ObjectId, u64>,
        id: ObjectId,
    ) -> Result<u64, Error> {
        if let Some(place) = places.get(&id) {
            return Ok(*place);
        }
        let place = self
            .place(id)?
            .ok_or_else(|| Error::assertion("a belief is about an object that is there"))?;
        places.insert(id, place);
        Ok(place)
    }
}

impl Write for Rows<'_> {
    fn stamp(&mut self) -> Result<Stamp, Error> {
        if let Some(stamp) = self.stamp {
            return Ok(stamp);
        }
        // What is damaged would look whole once it is written again.
        self.number()?;
        let now = self.outside.now().map_or(0, Instant::micros);
        let key = self.outside.key()?;
        // A clock that stands still or goes back holds up no transaction time.
        let sql = "INSERT INTO tenants (tenant, version, at, key) VALUES (?1, 1, ?2, ?3) \
                   ON CONFLICT (tenant) DO UPDATE SET version = version + 1, at = max(at + 1, excluded.at) \
                   RETURNING version, at, number";
        let made = self.check(self.statement(sql).and_then(|mut statement| {
            statement.query_row(params![self.tenant, now, key], |row| {
                Ok((stamp(row)?, row.get(2)?))
            })
        }))?;
        let (stamp, number) = made;
        (self.stamp, self.number) = (Some(stamp), Some(number));
        self.seal_tenant()?;
        Ok(stamp)
    }

    fn take_places(&mut self, count: u64) -> Result<u64, Error> {
        let sql = "UPDATE tenants SET places = places + ?2 WHERE tenant = ?1 RETURNING places - ?2";
        let taken = self.one(sql, params![self.tenant, count as i64], |row| {
            version(row, 0)
        })?;
        self.seal_tenant()?;
        Ok(taken.unwrap_or(0))
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let (tenant, changed) = (self.number()?, stamp.version as i64);
        let mut places: HashMap<ObjectId, u64> = HashMap::with_capacity(change.objects.len());
        for (id, place, ..) in &change.objects {
            places.insert(*id, *place);
            self.touched.insert(*place);
        }
        let mut numbers = self.keep_revisions(change, &places)?;
        // In the order of the tree; what stands twice is as it is said last.
        let mut objects: Vec<_> = change.objects.iter().collect();
        objects.sort_by_key(|(id, ..)| *id);
        let sql = "INSERT INTO objects (tenant, object, place, name, head, head_number, labels, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, row_sum('objects', ?1, ?2, ?3, ?4, ?5, ?6, ?7)) \
                   ON CONFLICT (tenant, object) DO UPDATE SET name = excluded.name, head = excluded.head, \
                   head_number = excluded.head_number, labels = excluded.labels, sum = excluded.sum";
        let labels: HashMap<_, &str> = change
            .revisions
            .iter()
            .map(|row| ((row.object, row.revision), &*row.labels))
            .collect();
        let mut insert = self.check(self.statement(sql))?;
        for (id, place, name, head) in objects {
            let key = (*id, *head);
            let (number, labels) = match (numbers.get(&key), labels.get(&key)) {
                (Some(number), Some(labels)) => (*number, Cow::Borrowed(*labels)),
                // What was only judged otherwise has the name and the head that it had.
                _ if self.is_so(*id, name, *head)? => continue,
                _ => {
                    let (number, labels) = self.number_kept(*place, *head)?;
                    (number, Cow::Owned(labels))
                }
            };
            let (place, head) = (*place as i64, head.bytes());
            let values = params![tenant, blob(*id), place, name, head, number, labels];
            self.check(insert.execute(values))?;
        }
        let sql = "UPDATE beliefs SET tx_end = ?5, closed = ?6, sum = row_sum('beliefs', tenant, place, tx_start, \
                   part, object, opened, ?5, ?6, revision, revision_number, valid_from, valid_until, \
                   contradiction, superseded_by, lifecycle, labels) \
                   WHERE tenant = ?1 AND place = ?2 AND tx_start = ?3 AND part = ?4";
        let mut end = self.check(self.statement(sql))?;
        for (id, opened, part) in &change.close {
            let place = self.place_in(&mut places, *id)?;
            let (at, until) = (opened.at.micros(), stamp.at.micros());
            let values = params![tenant, place as i64, at, part, until, changed];
            self.check(end.execute(values))?;
        }
        let sql = "INSERT OR FAIL INTO beliefs (tenant, place, tx_start, part, object, opened, revision, \
                   revision_number, valid_from, valid_until, contradiction, superseded_by, lifecycle, \
                   tx_end, closed, labels, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, \
                   row_sum('beliefs', ?1, ?2, ?3, ?4, ?5, ?6, ?14, ?15, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?16))";
        let mut open = self.check(self.statement(sql))?;
        for row in &change.open {
            let place = self.place_in(&mut places, row.object)?;
            let key = (row.object, row.revision);
            let number = match numbers.get(&key) {
                Some(number) => *number,
                None => {
                    let (number, _) = self.number_kept(place, row.revision)?;
                    numbers.insert(key, number);
                    number
                }
            };
            self.check(open.execute(params![
                tenant,
                place as i64,
                row.opened.at.micros(),
                row.part,
                blob(row.object),
                row.opened.version as i64,
                row.revision.bytes(),
                number,
                micros(row.valid.from),
                micros(row.valid.until),
                row.contradiction.term(),
                row.superseded_by.map(blob),
                row.lifecycle.term(),
                row.closed.map(|closed| closed.at.micros()),
                row.closed.map(|closed| closed.version as i64),
                row.labels,
            ]))?;
        }
        self.link(&change.links, &change.subjects)
    }

    fn set_claims(&mut self, objects: &[(ObjectId, Vec<ClaimKey>)]) -> Result<(), Error> {
        let tenant = self.number()?;
        for (id, claims) in objects {
            let sql = "DELETE FROM claims WHERE tenant = ?1 AND object = ?2";
            self.execute(sql, params![tenant, blob(*id)])?;
            let sql = "INSERT INTO claims (tenant, slot, level, behind, object) \
                       VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";
            for claim in claims {
                let values = params![tenant, claim.slot, claim.level, claim.behind, blob(*id)];
                self.execute(sql, values)?;
            }
        }
        Ok(())
    }

    fn change_pairs(&mut self, close: &[PairRow], open: &[PairRow]) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let tenant = self.number()?;
        let (at, version) = (stamp.at.micros(), stamp.version as i64);
        let sql = "UPDATE pairs SET tx_end = ?6, closed = ?7, \
                   sum = row_sum('pairs', tenant, first, second, slot, tx_start, opened, ?6, ?7, body) \
                   WHERE tenant = ?1 AND first = ?2 AND second = ?3 AND slot = ?4 AND tx_start = ?5";
        for row in close {
            let opened = row.opened.at.micros();
            let values = params![
                tenant,
                blob(row.first),
                blob(row.second),
                row.slot,
                opened,
                at,
                version
            ];
            self.execute(sql, values)?;
        }
        let sql = "INSERT INTO pairs (tenant, first, second, slot, tx_start, opened, body, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, row_sum('pairs', ?1, ?2, ?3, ?4, ?5, ?6, NULL, NULL, ?7))";
        for row in open {
            let values = params![
                tenant,
                blob(row.first),
                blob(row.second),
                row.slot,
                at,
                version,
                row.body
            ];
            self.execute(sql, values)?;
        }
        Ok(())
    }

    fn put_pairs(&mut self, pairs: &[PairRow]) -> Result<(), Error> {
        let tenant = self.number()?;
        let sql = "INSERT INTO pairs (tenant, first, second, slot, tx_start, opened, tx_end, closed, body, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
                           row_sum('pairs', ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9))";
        for row in pairs {
            let values = params![
                tenant,
                blob(row.first),
                blob(row.second),
                row.slot,
                row.opened.at.micros(),
                row.opened.version as i64,
                row.closed.map(|closed| closed.at.micros()),
                row.closed.map(|closed| closed.version as i64),
                row.body
            ];
            self.execute(sql, values)?;
        }
        Ok(())
    }

    fn note(&mut self, verb: &str, author: Option<&str>, objects: u64) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let sql = "INSERT INTO writes (tenant, version, at, verb, author, objects, sum) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, row_sum('writes', ?1, ?2, ?3, ?4, ?5, ?6))";
        let (version, at) = (stamp.version as i64, stamp.at.micros());
        self.execute(
            sql,
            params![self.tenant, version, at, verb, author, objects as i64],
        )?;
        self.noted = true;
        Ok(())
    }

    fn hold(&mut self) -> Result<(), Error> {
        // A file has one writer at a time.
        Ok(())
    }

    fn index(&mut self, objects: &[IndexRow]) -> Result<(), Error> {
        let tenant = self.number()?;
        let terms: usize = objects.iter().map(|row| row.terms.len()).sum();
        let is_much = objects.len() > FRESH || terms > FRESH_TERMS;
        let into = if is_much { SEARCH } else { WAIT };
        let mut insert = self.check(self.statement(into))?;
        for IndexRow { place, terms, .. } in objects {
            let row = search_row(tenant, *place)?;
            if terms.is_empty() {
                self.execute("DELETE FROM search WHERE rowid = ?1", [row])?;
            } else {
                self.check(insert.execute(params![row, words(terms)]))?;
            }
            if is_much || terms.is_empty() {
                self.execute("DELETE FROM fresh_terms WHERE row = ?1", [row])?;
            }
        }
        if !is_much {
            self.gather_fresh()?;
        }
        Ok(())
    }

    fn set_unsearched(&mut self) -> Result<(), Error> {
        let tenant = self.number()?;
        let sql = "INSERT INTO unsearched (tenant) VALUES (?1) ON CONFLICT DO NOTHING";
        self.execute(sql, [tenant]).map(drop)
    }

    fn set_searched(&mut self) -> Result<(), Error> {
        let tenant = self.number()?;
        let sql = "DELETE FROM unsearched WHERE tenant = ?1";
        self.execute(sql, [tenant]).map(drop)
    }

    fn count(&mut self, usage: &[(ObjectId, Usage)]) -> Result<(), Error> {
        let tenant = self.number()?;
        let sql = "INSERT INTO usage (tenant, object, access_count, last_used, last_confirmed) \
                   SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM objects WHERE tenant = ?6 AND object = ?2) \
                   ON CONFLICT (tenant, object) DO UPDATE SET \
                   access_count = access_count + excluded.access_count, \
                   last_used = max(coalesce(last_used, excluded.last_used), coalesce(excluded.last_used, last_used)), \
                   last_confirmed = max(coalesce(last_confirmed, excluded.last_confirmed), \
                                        coalesce(excluded.last_confirmed, last_confirmed))";
        let seal = format!(
            "UPDATE usage SET sum = row_sum({}) WHERE tenant = ?1 AND object = ?2",
            sum::USAGE
        );
        let ids: Vec<ObjectId> = usage.iter().map(|(id, _)| *id).collect();
        // What is damaged would look whole once it is added to.
        self.usage(Some(&ids))?;
        for (id, usage) in usage {
            let count = usage.access_count as i64;
            let (used, confirmed) = (micros(usage.last_used), micros(usage.last_confirmed));
            self.execute(
                sql,
                params![self.tenant, blob(*id), count, used, confirmed, tenant],
            )?;
            self.execute(&seal, params![self.tenant, blob(*id)])?;
        }
        Ok(())
    }

    fn erase(&mut self, ids: &[ObjectId], digests: &[Digest]) -> Result<(), Error> {
        let stamp = self.stamp()?;
        let tenant = self.number()?;
        for id in ids {
            if let Some(place) = self.place(*id)? {
                let row = search_row(tenant, place)?;
                self.execute("DELETE FROM search WHERE rowid = ?1", [row])?;
                self.execute("DELETE FROM fresh_terms WHERE row = ?1", [row])?;
                let values = (tenant, place as i64);
                self.execute(
                    "INSERT INTO erasing (tenant, place) VALUES (?1, ?2)",
                    values,
                )?;
                let numbers =
                    "SELECT revision_number FROM beliefs WHERE tenant = ?1 AND place = ?2";
                self.execute(
                    &format!(
                        "DELETE FROM blobs WHERE tenant = ?3 AND digest IN \
                         (SELECT content FROM revisions WHERE number IN ({numbers}))"
                    ),
                    params![tenant, place as i64, self.tenant],
                )?;
                self.execute(
                    &format!("DELETE FROM revisions WHERE number IN ({numbers})"),
                    values,
                )?;
                for table in ["beliefs", "erasing"] {
                    self.execute(
                        &format!("DELETE FROM {table} WHERE tenant = ?1 AND place = ?2"),
                        values,
                    )?;
                }
                self.execute(
                    "DELETE FROM objects WHERE tenant = ?1 AND object = ?2",
                    params![tenant, blob(*id)],
                )?;
            }
            let values = || (self.tenant, blob(*id));
            self.execute(
                "DELETE FROM answers WHERE tenant = ?1 AND instr(answer, ?2)",
                params![self.tenant, id.to_string()],
            )?;
            self.execute(
                "DELETE FROM claims WHERE tenant = ?1 AND object = ?2",
                params![tenant, blob(*id)],
            )?;
            self.execute(
                "DELETE FROM pairs WHERE tenant = ?1 AND (first = ?2 OR second = ?2)",
                params![tenant, blob(*id)],
            )?;
            for table in ["subjects", "usage", "record_objects"] {
                self.execute(
                    &format!("DELETE FROM {table} WHERE tenant = ?1 AND object = ?2"),
                    values(),
                )?;
            }
            self.execute(
                "DELETE FROM links WHERE tenant = ?1 AND (parent = ?2 OR child = ?2)",
                values(),
            )?;
        }
        // What a row had stays in the index until its parts are merged.
        self.execute("INSERT INTO search (search) VALUES ('optimize')", [])?;
        for digest in digests {
            let sql = "INSERT INTO tombstones (tenant, digest, version, at, sum) \
                       VALUES (?1, ?2, ?3, ?4, row_sum('tombstones', ?1, ?2, ?3, ?4)) ON CONFLICT DO NOTHING";
            let (version, at) = (stamp.version as i64, stamp.at.micros());
            self.execute(sql, params![self.tenant, digest.bytes(), version, at])?;
        }
        Ok(())
    }

    fn erase_revisions(&mut self, id: ObjectId, revisions: &[RevisionId]) -> Result<(), Error> {
        let tenant = self.number()?;
        let Some(place) = self.place(id)? else {
            return Ok(());
        };
        let own = (tenant, place as i64);
        self.execute("INSERT INTO erasing (tenant, place) VALUES (?1, ?2)", own)?;
        let numbers =
            "SELECT revision_number FROM beliefs WHERE tenant = ?1 AND place = ?2 AND revision";
        for revision in revisions {
            self.execute(
                &format!(
                    "DELETE FROM blobs WHERE tenant = ?4 AND digest IN \
                     (SELECT content FROM revisions WHERE number IN ({numbers} = ?3) \
                     EXCEPT SELECT content FROM revisions WHERE number IN ({numbers} <> ?3))"
                ),
                params![tenant, place as i64, revision.bytes(), self.tenant],
            )?;
            let values = params![tenant, place as i64, revision.bytes()];
            let sql = format!("DELETE FROM revisions WHERE number IN ({numbers} = ?3)");
            self.execute(&sql, values)?;
            let sql = "DELETE FROM beliefs WHERE tenant = ?1 AND place = ?2 AND revision = ?3";
            self.execute(sql, values)?;
        }
        self.execute("DELETE FROM erasing WHERE tenant = ?1 AND place = ?2", own)?;
        self.execute(
            "DELETE FROM answers WHERE tenant = ?1 AND instr(answer, ?2)",
            params![self.tenant, id.to_string()],
        )?;
        for (table, of) in [("links", "child"), ("subjects", "object")] {
            let sql = format!("DELETE FROM {table} WHERE tenant = ?1 AND {of} = ?2");
            self.execute(&sql, params![self.tenant, blob(id)])?;
        }
        Ok(())
    }

    fn answer(&mut self, key: &str, answered: &Answered) -> Result<(), Error> {
        let sql = "INSERT INTO answers (tenant, key, asked, answer, sum) \
                   VALUES (?1, ?2, ?3, ?4, row_sum('answers', ?1, ?2, ?3, ?4))";
        self.execute(
            sql,
            params![self.tenant, key, answered.asked.bytes(), answered.answer],
        )?;
        Ok(())
    }

    fn put_records(&mut self, records: &[RecordRow]) -> Result<(), Error> {
        for record in records {
            // A record keeps the instant that it was first given.
            let known = self.record(&record.id)?;
            let at = known.map_or(record.compiled_at, |known| known.compiled_at);
            let sql = "INSERT INTO records (tenant, record, compiled_at, body, sum) \
                       VALUES (?1, ?2, ?3, ?4, row_sum('records', ?1, ?2, ?3, ?4)) \
                       ON CONFLICT (tenant, record) DO UPDATE SET body = excluded.body, sum = excluded.sum";
            self.execute(
                sql,
                params![self.tenant, record.id, at.micros(), record.body],
            )?;
            self.execute(asked::UNLINK, params![self.tenant, record.id])?;
            for id in &record.objects {
                let sql = "INSERT INTO record_objects (tenant, object, record, sum) \
                           VALUES (?1, ?2, ?3, row_sum('record_objects', ?1, ?2, ?3)) ON CONFLICT DO NOTHING";
                self.execute(sql, params![self.tenant, blob(*id), record.id])?;
            }
        }
        Ok(())
    }

    fn old_records(
        &mut self,
        before: Option<Instant>,
        keep: Option<u64>,
        most: u32,
    ) -> Result<Vec<String>, Error> {
        let id = |row: &Row<'_>| row.get(0);
        if let Some(before) = before {
            let sql = format!("SELECT record {}", asked::OLD_RECORDS);
            let old = self.all(&sql, params![self.tenant, before.micros(), most], id)?;
            if !old.is_empty() {
                return Ok(old);
            }
        }
        let Some(keep) = keep else {
            return Ok(Vec::new());
        };
        let sql = format!("SELECT record {}", asked::OTHER_RECORDS);
        let keep = i64::try_from(keep).unwrap_or(i64::MAX);
        self.all(&sql, params![self.tenant, keep, most], id)
    }

    fn erase_records(&mut self, ids: &[String]) -> Result<(), Error> {
        for sql in [asked::UNLINK, asked::DROP] {
            for id in ids {
                self.execute(sql, params![self.tenant, id])?;
            }
        }
        Ok(())
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
        let last = self.one(asked::LAST, params![self.tenant, log], |row| {
            version(row, 0)
        })?;
        if last.unwrap_or(0) != after {
            return Ok(false);
        }
        for (number, body) in (after + 1..).zip(entries) {
            let sql = "INSERT INTO entries (tenant, log, number, body, sum) \
                       VALUES (?1, ?2, ?3, ?4, row_sum('entries', ?1, ?2, ?3, ?4))";
            self.execute(sql, params![self.tenant, log, number as i64, body])?;
        }
        Ok(true)
    }

    fn rewrite(&mut self, log: &str, entries: &[(u64, String)]) -> Result<(), Error> {
        for (number, body) in entries {
            let sql = "UPDATE entries SET body = ?4, sum = row_sum('entries', ?1, ?2, ?3, ?4) \
                       WHERE tenant = ?1 AND log = ?2 AND number = ?3";
            self.execute(sql, params![self.tenant, log, *number as i64, body])?;
        }
        Ok(())
    }

    fn put_aside(&mut self, revisions: &[RevisionId]) -> Result<(), Error> {
        let stamp = self.stamp()?;
        for revision in revisions {
            let sql = "INSERT INTO set_aside (tenant, revision, at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            self.execute(
                sql,
                params![self.tenant, revision.bytes(), stamp.at.micros()],
            )?;
        }
        Ok(())
    }

    fn relink(
        &mut self,
        links: &[(ObjectId, ObjectId)],
        subjects: &[(ObjectId, String)],
        lossy: Option<&[ObjectId]>,
    ) -> Result<(), Error> {
        if let Some(lossy) = lossy {
            let kept: Vec<String> =
                lossy.iter().map(|id| format!("\"{:032X}\"", id.bits())).collect();
            let kept = format!("[{}]", kept.join(","));
            for (table, of) in [("links", "child"), ("subjects", "object")] {
                let sql = format!(
                    "DELETE FROM {table} WHERE tenant = ?1 \
                     AND hex({of}) NOT IN (SELECT value FROM json_each(?2))"
                );
                self.execute(&sql, params![self.tenant, kept])?;
            }
        }
        self.link(links, subjects)
    }

    fn drop_log(&mut self, log: &str) -> Result<(), Error> {
        let sql = "DELETE FROM entries WHERE tenant = ?1 AND log = ?2";
        self.execute(sql, params![self.tenant, log])?;
        Ok(())
    }
}
