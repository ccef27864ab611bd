//! The rows of one tenant, over one connection.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row, params};
use tenure::object::{Lifecycle, ObjectId, RevisionId, Usage, clip};
use tenure::time::Instant;
use tenure::{Digest, Error};

use super::decode::{
    BELIEF, BELIEF_COLUMNS, PAIR, any_belief, belief_about, blob, digest, held_belief, lossy,
    object, pair, record, stamp, summed, usage, version, whole,
};
use super::places::{MAX_PLACE, parse_ranges, ranges, search_row, words};
use super::{Outside, asked, failed, sum};
use crate::rows::engine::{
    Answered, BeliefRow, DECIDED, Order, PairRow, PairRun, Read, RecordRow, Run, Stamp, Standing,
    Tombstone, WriteRow, logged,
};
use crate::rows::settle::{believed, covers_all, in_valid_time};

/// The place of the object `?2` of the tenant `?1`.
const PLACE: &str = "(SELECT o.place FROM objects o WHERE o.tenant = ?1 AND o.object = ?2)";

/// The most objects whose histories one statement reads.
const ASKED_AT_ONCE: usize = 4_096;

/// The number of no tenant.
const NO_TENANT: i64 = 0;

pub(super) struct Rows<'c> {
    pub(super) connection: &'c Connection,
    pub(super) path: &'c Path,
    pub(super) tenant: &'c str,
    pub(super) outside: &'c dyn Outside,
    pub(super) stamp: Option<Stamp>,
    pub(super) noted: bool,
    /// The number of the tenant, once it is known.
    pub(super) number: Option<i64>,
    /// The places of the objects that this write changed.
    pub(super) touched: BTreeSet<u64>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        path: &'c Path,
        tenant: &'c str,
        outside: &'c dyn Outside,
    ) -> Rows<'c> {
        Rows {
            connection,
            path,
            tenant,
            outside,
            stamp: None,
            noted: false,
            number: None,
            touched: BTreeSet::new(),
        }
    }

    /// Notes which objects were changed. Says whether the log has a line for the version that was given
    /// out, if any was.
    pub(super) fn finish(self) -> Result<(), Error> {
        if let (Some(stamp), Some(number), false) =
            (self.stamp, self.number, self.touched.is_empty())
        {
            let sql = "INSERT INTO changes (tenant, version, places, sum) \
                       VALUES (?1, ?2, ?3, row_sum('changes', ?1, ?2, ?3))";
            let values = params![number, stamp.version as i64, ranges(&self.touched)];
            self.execute(sql, values)?;
        }
        logged(self.stamp, self.noted)
    }

    /// The number of the tenant; of one that was never written, that of no tenant.
    pub(super) fn number(&mut self) -> Result<i64, Error> {
        if let Some(number) = self.number {
            return Ok(number);
        }
        let sql = summed(
            "SELECT number",
            "FROM tenants WHERE tenant = ?1",
            sum::TENANT,
        );
        let found = self.one(&sql, [self.tenant], |row| {
            whole(row, 1)?;
            row.get(0)
        })?;
        self.number = self.unless_lost(found)?;
        Ok(self.number.unwrap_or(NO_TENANT))
    }

    /// The value of the tenant's row. Where the row is missing but the tenant has written, the row was lost.
    fn unless_lost<T>(&self, found: Option<T>) -> Result<Option<T>, Error> {
        if found.is_none() && self.stamp.is_none() {
            let there = |sql| self.one(sql, [self.tenant], |_| Ok(())).map(|row| row.is_some());
            // Outside of a transaction its first write may have come between the two looks.
            if there("SELECT 1 FROM writes WHERE tenant = ?1 LIMIT 1")?
                && !there("SELECT 1 FROM tenants WHERE tenant = ?1")?
            {
                return Err(Error::damaged(format!(
                    "the store `{}` has lost the row of the tenant `{}`",
                    self.path.display(),
                    clip(self.tenant)
                )));
            }
        }
        Ok(found)
    }

    /// Says of the tenant's row that it is as this transaction left it.
    pub(super) fn seal_tenant(&self) -> Result<(), Error> {
        let sql = format!(
            "UPDATE tenants SET sum = row_sum({}) WHERE tenant = ?1",
            sum::TENANT
        );
        self.execute(&sql, [self.tenant]).map(drop)
    }

    pub(super) fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, Error> {
        result.map_err(|error| failed(self.path, error))
    }

    pub(super) fn statement(&self, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
        self.connection.prepare_cached(sql)
    }

    pub(super) fn execute(&self, sql: &str, values: impl Params) -> Result<usize, Error> {
        self.check(self.statement(sql).and_then(|mut statement| statement.execute(values)))
    }

    /// Compares the last entry of a log with what was written. One that is missing in the index of names has a damaged name.
    fn stands(&mut self, log: &str, last: u64) -> Result<(), Error> {
        let found = self.entries(log, last..last.saturating_add(1))?;
        if found.is_empty() {
            Err(Error::damaged(format!(
                "entry {last} of the log `{log}` is missing in the index of names"
            )))
        } else {
            Ok(())
        }
    }

    /// All rows of a query.
    pub(super) fn all<T>(
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
    pub(super) fn one<T>(
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
        read: fn(&Row<'_>) -> rusqlite::Result<BeliefRow>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut statement = self.check(self.statement(sql))?;
        let mut rows = self.check(statement.query(values))?;
        while let Some(row) = self.check(rows.next())? {
            let place = self.check(version(row, BELIEF_COLUMNS))?;
            let belief = self.check(read(row))?;
            // What is no text any more is found out by its digest.
            let body = self
                .check(row.get_ref(BELIEF_COLUMNS + 1))?
                .as_bytes_or_null()
                .ok()
                .flatten()
                .unwrap_or_default();
            each(place, belief, &String::from_utf8_lossy(body))?;
        }
        Ok(())
    }

    pub(super) fn ids(&self, sql: &str, values: impl Params) -> Result<Vec<ObjectId>, Error> {
        self.all(sql, values, |row| object(row, 0))
    }
}

impl Read for Rows<'_> {
    fn version(&mut self) -> Result<u64, Error> {
        let sql = summed(
            "SELECT version",
            "FROM tenants WHERE tenant = ?1",
            sum::TENANT,
        );
        let found = self.one(&sql, [self.tenant], |row| {
            whole(row, 1)?;
            version(row, 0)
        })?;
        Ok(self.unless_lost(found)?.unwrap_or(0))
    }

    fn key(&mut self) -> Result<Option<[u8; 32]>, Error> {
        let sql = summed("SELECT key", "FROM tenants WHERE tenant = ?1", sum::TENANT);
        let found = self.one(&sql, [self.tenant], |row| {
            whole(row, 1)?;
            row.get(0)
        })?;
        self.unless_lost(found)
    }

    fn standing(&mut self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Standing>, Error> {
        let tenant = self.number()?;
        let held = format!(
            "SELECT {BELIEF} FROM beliefs b INDEXED BY beliefs_held \
             WHERE b.tenant = ?1 AND b.place = ?2 AND b.tx_end IS NULL \
             ORDER BY b.valid_from, b.lifecycle = 'awaiting_confirmation'"
        );
        let mut held = self.check(self.statement(&held))?;
        let sql = summed(
            "SELECT place, name, head",
            "FROM objects WHERE tenant = ?1 AND object = ?2",
            sum::OBJECT,
        );
        let mut objects = self.check(self.statement(&sql))?;
        // In the order of the tree, neighbours are looked for together.
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        let mut found = BTreeMap::new();
        for id in ids {
            let standing = objects.query_row(params![tenant, blob(id)], |row| {
                whole(row, 3)?;
                Ok(Standing {
                    place: version(row, 0)?,
                    name: row.get(1)?,
                    head: digest(row, 2)?,
                    beliefs: Vec::new(),
                })
            });
            let Some(mut standing) = self.check(standing.optional())? else {
                continue;
            };
            let beliefs = held
                .query_map(params![tenant, standing.place as i64], held_belief)
                .and_then(Iterator::collect);
            standing.beliefs = self.check(beliefs)?;
            found.insert(id, standing);
        }
        Ok(found)
    }

    fn named(&mut self, name: &str) -> Result<Vec<ObjectId>, Error> {
        let tenant = self.number()?;
        let sql = summed("SELECT object", asked::NAMED, sum::OBJECT);
        self.all(&sql, params![tenant, name], |row| {
            whole(row, 1)?;
            object(row, 0)
        })
    }

    fn head_labels(
        &mut self,
        wanted: Result<ObjectId, &str>,
    ) -> Result<Vec<(ObjectId, Arc<str>)>, Error> {
        let tenant = self.number()?;
        let select = "SELECT object, labels";
        let read = |row: &Row<'_>| {
            whole(row, 2)?;
            Ok((object(row, 0)?, row.get(1)?))
        };
        match wanted {
            Ok(id) => {
                let from = "FROM objects WHERE tenant = ?1 AND object = ?2";
                let sql = summed(select, from, sum::OBJECT);
                self.all(&sql, params![tenant, blob(id)], read)
            }
            Err(name) => {
                let sql = summed(select, asked::NAMED, sum::OBJECT);
                self.all(&sql, params![tenant, name], read)
            }
        }
    }

    fn held_labels(&mut self, ids: &[ObjectId]) -> Result<Vec<(ObjectId, Arc<str>)>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b INDEXED BY beliefs_held \
             WHERE b.tenant = ?1 AND b.place = {PLACE} AND b.tx_end IS NULL"
        );
        let mut labels = Vec::with_capacity(ids.len());
        for id in ids {
            let held = self.all(&sql, params![tenant, blob(*id)], held_belief)?;
            labels.extend(held.into_iter().map(|row| (row.object, row.labels)));
        }
        Ok(labels)
    }

    fn children(&mut self, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT child FROM links WHERE tenant = ?1 AND parent = ?2 ORDER BY child";
        let mut children = Vec::new();
        for id in ids {
            children.append(&mut self.ids(sql, params![self.tenant, blob(*id)])?);
        }
        Ok(children)
    }

    fn made(&mut self) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT DISTINCT child FROM links INDEXED BY links_by_child WHERE tenant = ?1 \
                   ORDER BY child";
        self.ids(sql, [self.tenant])
    }

    fn at_stage(&mut self, stage: Lifecycle) -> Result<Vec<BeliefRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b INDEXED BY beliefs_held \
             WHERE b.tenant = ?1 AND b.tx_end IS NULL AND b.lifecycle = ?2 \
             ORDER BY b.place, b.valid_from"
        );
        self.all(&sql, params![tenant, stage.term()], held_belief)
    }

    fn over(&mut self, at: Instant) -> Result<Vec<BeliefRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b INDEXED BY beliefs_held \
             WHERE b.tenant = ?1 AND b.tx_end IS NULL AND b.valid_until <= ?2 \
             ORDER BY b.place, b.valid_from"
        );
        self.all(&sql, params![tenant, at.micros()], held_belief)
    }

    fn about(&mut self, subject: &str) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM subjects WHERE tenant = ?1 AND subject = ?2 ORDER BY object";
        self.ids(sql, params![self.tenant, subject])
    }

    fn bodies(&mut self, beliefs: &[&BeliefRow]) -> Result<BTreeMap<RevisionId, String>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT r.body FROM beliefs b CROSS JOIN revisions r ON r.number = b.revision_number \
             WHERE b.tenant = ?1 AND b.place = {PLACE} AND b.tx_start = ?3 AND b.part = ?4"
        );
        let mut bodies = BTreeMap::new();
        for row in beliefs {
            let (at, part) = (row.opened.at.micros(), row.part);
            let values = params![tenant, blob(row.object), at, part];
            let body = self.one(&sql, values, |row| lossy(row, 0))?;
            bodies.extend(body.map(|body: String| (row.revision, body)));
        }
        Ok(bodies)
    }

    fn heads(&mut self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, String>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT r.body FROM objects o CROSS JOIN revisions r ON r.number = o.head_number \
                   WHERE o.tenant = ?1 AND o.object = ?2";
        let mut heads = BTreeMap::new();
        for id in ids {
            let body = self.one(sql, params![tenant, blob(*id)], |row| lossy(row, 0))?;
            heads.extend(body.map(|body: String| (*id, body)));
        }
        Ok(heads)
    }

    fn history_after(
        &mut self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
    ) -> Result<Vec<BeliefRow>, Error> {
        let tenant = self.number()?;
        let next = format!("b.tenant = ?1 AND b.place = {PLACE} AND b.tx_start > ?3");
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE {next} AND b.tx_start <= (SELECT max(tx_start) FROM \
             (SELECT b.tx_start FROM beliefs b WHERE {next} ORDER BY b.tx_start LIMIT ?4)) \
             ORDER BY b.tx_start, b.valid_from, b.part"
        );
        let after = after.map_or(i64::MIN, Instant::micros);
        self.all(&sql, params![tenant, blob(id), after, most], |row| {
            belief_about(row, id)
        })
    }

    fn renewed(&mut self, ids: &[ObjectId]) -> Result<Vec<BeliefRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF}, n.key FROM json_each(?2) n \
             CROSS JOIN objects o ON o.tenant = ?1 AND o.object = unhex(n.value) \
             CROSS JOIN beliefs b ON b.tenant = ?1 AND b.place = o.place \
             WHERE EXISTS (SELECT 1 FROM beliefs e WHERE e.tenant = ?1 AND e.place = o.place \
             AND (e.tx_start, e.part) <> (b.tx_start, b.part)) \
             ORDER BY n.key, b.tx_start, b.valid_from, b.part"
        );
        let mut renewed = Vec::new();
        for ids in ids.chunks(ASKED_AT_ONCE) {
            let named = hex_list(ids);
            let mut all = self.all(&sql, params![tenant, named], |row| {
                let at: u32 = row.get(BELIEF_COLUMNS)?;
                let id = ids.get(at as usize).ok_or(rusqlite::Error::InvalidQuery)?;
                belief_about(row, *id)
            })?;
            renewed.append(&mut all);
        }
        Ok(renewed)
    }

    fn held(&mut self, id: ObjectId, known: Instant) -> Result<Vec<BeliefRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE b.tenant = ?1 AND b.place = {PLACE} \
             AND b.tx_start <= ?3 ORDER BY b.tx_start DESC, b.part DESC"
        );
        let older = format!(
            "SELECT {BELIEF} FROM beliefs b WHERE b.tenant = ?1 AND b.place = {PLACE} \
             AND (b.tx_start, b.part) < (?4, ?5) AND b.tx_start <= ?3 \
             AND b.lifecycle = 'awaiting_confirmation' AND (b.tx_end IS NULL OR b.tx_end > ?3)"
        );
        let read = || -> rusqlite::Result<Vec<BeliefRow>> {
            let mut statement = self.statement(&sql)?;
            let mut rows = statement.query(params![tenant, blob(id), known.micros()])?;
            let mut held: Vec<BeliefRow> = Vec::new();
            while let Some(row) = rows.next()? {
                let belief = belief_about(row, id)?;
                if belief.held_at(known) {
                    let (at, part) = (belief.opened.at.micros(), belief.part);
                    held.push(belief);
                    // What is older cannot be held as well, for beliefs do not overlap, but for what waits beside them.
                    if covers_all(believed(&held)) {
                        let values = params![tenant, blob(id), known.micros(), at, part];
                        let mut statement = self.statement(&older)?;
                        let mut rows = statement.query(values)?;
                        while let Some(row) = rows.next()? {
                            held.push(belief_about(row, id)?);
                        }
                        break;
                    }
                }
            }
            held.sort_by_key(in_valid_time);
            Ok(held)
        };
        self.check(read())
    }

    fn each_held(
        &mut self,
        known: Option<Instant>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tenant = self.number()?;
        let (by, held) = match known {
            None => ("INDEXED BY beliefs_held", "b.tx_end IS NULL"),
            Some(_) => (
                "",
                "b.tx_start <= ?2 AND (b.tx_end IS NULL OR b.tx_end > ?2)",
            ),
        };
        let sql = format!(
            "SELECT {BELIEF}, b.place, r.body FROM beliefs b {by} \
             LEFT JOIN revisions r ON r.number = b.revision_number \
             WHERE b.tenant = ?1 AND {held} \
             ORDER BY b.place, b.valid_from, b.lifecycle = 'awaiting_confirmation'"
        );
        match known {
            None => self.stream(&sql, [tenant], held_belief, each),
            Some(known) => self.stream(&sql, params![tenant, known.micros()], any_belief, each),
        }
    }

    fn each_ever(
        &mut self,
        each: &mut dyn FnMut(BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {BELIEF}, b.place, r.body FROM beliefs b \
             LEFT JOIN revisions r ON r.number = b.revision_number \
             WHERE b.tenant = ?1 ORDER BY b.place, b.tx_start, b.valid_from, b.part"
        );
        self.stream(&sql, [tenant], any_belief, &mut |_, belief, body| {
            each(belief, body)
        })
    }

    fn changed_since(&mut self, version: u64) -> Result<Vec<ObjectId>, Error> {
        let tenant = self.number()?;
        let sql = summed(
            "SELECT places",
            "FROM changes WHERE tenant = ?1 AND version > ?2",
            sum::CHANGE,
        );
        let read = |row: &Row<'_>| {
            whole(row, 1)?;
            let text: String = row.get(0)?;
            parse_ranges(&text).ok_or_else(|| {
                let kind = rusqlite::types::Type::Text;
                rusqlite::Error::FromSqlConversionFailure(0, kind, "these are no places".into())
            })
        };
        let mut places = self.all(&sql, params![tenant, version as i64], read)?.concat();
        places.sort_unstable();
        // From place to place, past all beliefs of each; what was erased meanwhile has none.
        let sql = "SELECT place, object FROM beliefs \
                   WHERE tenant = ?1 AND place >= ?2 AND place <= ?3 ORDER BY place LIMIT 1";
        let mut changed = Vec::new();
        let mut next = 0;
        for (first, last) in places {
            next = next.max(first);
            while next <= last {
                let found = self.one(sql, params![tenant, next as i64, last as i64], |row| {
                    Ok((self::version(row, 0)?, object(row, 1)?))
                })?;
                let Some((place, id)) = found else { break };
                changed.push(id);
                next = place + 1;
            }
            next = next.max(last.saturating_add(1));
        }
        Ok(changed)
    }

    fn is_unsearched(&mut self) -> Result<bool, Error> {
        let tenant = self.number()?;
        let sql = "SELECT 1 FROM unsearched WHERE tenant = ?1";
        Ok(self.one(sql, [tenant], |_| Ok(()))?.is_some())
    }

    fn matching(&mut self, terms: &[i64], run: &Run) -> Result<Vec<u64>, Error> {
        let tenant = self.number()?;
        let start = search_row(tenant, 0)?;
        let (first, last) = (
            start + run.first as i64,
            start + run.last.min(MAX_PLACE) as i64,
        );
        // What waits stands for what the index has of it.
        let sql = "SELECT row, terms FROM fresh_terms WHERE row BETWEEN ?1 AND ?2 ORDER BY row";
        let wanted: Vec<String> = terms.iter().map(|term| words(&[*term])).collect();
        let fresh = self.all(sql, [first, last], |row| {
            // What is no text any more has no terms, which a check tells.
            let terms = row.get_ref(1)?.as_bytes_or_null().ok().flatten();
            let terms = String::from_utf8_lossy(terms.unwrap_or_default());
            let has_all = wanted.iter().all(|wanted| terms.contains(wanted.as_str()));
            Ok((row.get::<_, i64>(0)?, has_all))
        })?;
        let order = match run.order {
            Order::Oldest => "rowid",
            Order::Newest => "rowid DESC",
        };
        let sql = format!(
            "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY {order} LIMIT ?4"
        );
        let most = i64::try_from(run.most.saturating_add(fresh.len())).unwrap_or(i64::MAX);
        let values = params![words(terms), first, last, most];
        let mut found: Vec<i64> = self.all(&sql, values, |row| row.get(0))?;
        found.retain(|row| fresh.binary_search_by_key(row, |(fresh, _)| *fresh).is_err());
        found.extend(fresh.iter().filter(|(_, has_all)| *has_all).map(|(row, _)| row));
        match run.order {
            Order::Oldest => found.sort_unstable(),
            Order::Newest => found.sort_unstable_by_key(|row| std::cmp::Reverse(*row)),
        }
        found.truncate(run.most);
        Ok(found.into_iter().map(|row| (row - start) as u64).collect())
    }

    fn placed(&mut self, places: &[u64]) -> Result<Vec<ObjectId>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT object FROM beliefs WHERE tenant = ?1 AND place = ?2 LIMIT 1";
        let mut objects = Vec::with_capacity(places.len());
        for place in places {
            objects.extend(self.one(sql, params![tenant, *place as i64], |row| object(row, 0))?);
        }
        Ok(objects)
    }

    fn objects(&mut self) -> Result<Vec<(u64, ObjectId)>, Error> {
        let tenant = self.number()?;
        let from = "FROM objects WHERE tenant = ?1 ORDER BY place";
        let sql = summed("SELECT place, object", from, sum::OBJECT);
        self.all(&sql, [tenant], |row| {
            whole(row, 2)?;
            Ok((version(row, 0)?, object(row, 1)?))
        })
    }

    fn usage(&mut self, ids: Option<&[ObjectId]>) -> Result<BTreeMap<ObjectId, Usage>, Error> {
        let Some(ids) = ids else {
            let select = "SELECT object, access_count, last_used, last_confirmed";
            let sql = summed(select, "FROM usage WHERE tenant = ?1", sum::USAGE);
            let rows = self.all(&sql, [self.tenant], |row| {
                whole(row, 4)?;
                Ok((object(row, 0)?, usage(row, 1)?))
            })?;
            return Ok(rows.into_iter().collect());
        };
        let select = "SELECT access_count, last_used, last_confirmed";
        let from = "FROM usage WHERE tenant = ?1 AND object = ?2";
        let sql = summed(select, from, sum::USAGE);
        let mut found = BTreeMap::new();
        for id in ids {
            let row = self.one(&sql, params![self.tenant, blob(*id)], |row| {
                whole(row, 3)?;
                usage(row, 0)
            })?;
            found.extend(row.map(|usage| (*id, usage)));
        }
        Ok(found)
    }

    fn log(&mut self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error> {
        let from = "FROM writes WHERE tenant = ?1 AND version > ?2 ORDER BY version LIMIT ?3";
        let sql = summed(
            "SELECT version, at, verb, author, objects",
            from,
            sum::WRITE,
        );
        self.all(&sql, params![self.tenant, after as i64, most], |row| {
            whole(row, 5)?;
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
        let from = "FROM writes WHERE tenant = ?1 AND version <= ?2 ORDER BY version DESC LIMIT 1";
        let sql = summed("SELECT version, at", from, sum::WRITE);
        self.one(&sql, params![self.tenant, version as i64], |row| {
            whole(row, 2)?;
            stamp(row)
        })
    }

    fn tombstones(&mut self, digests: &[Digest]) -> Result<Vec<Tombstone>, Error> {
        let from = "FROM tombstones WHERE tenant = ?1 AND digest = ?2";
        let sql = summed("SELECT version, at", from, sum::TOMBSTONE);
        let mut found = Vec::new();
        for digest in digests {
            found.extend(self.one(&sql, params![self.tenant, digest.bytes()], |row| {
                whole(row, 2)?;
                let (version, at) = (version(row, 0)?, Instant::from_micros(row.get(1)?));
                let erased = Stamp { version, at };
                Ok(Tombstone {
                    digest: *digest,
                    erased,
                })
            })?);
        }
        Ok(found)
    }

    fn any_tombstone(&mut self) -> Result<bool, Error> {
        let sql = "SELECT 1 FROM tombstones WHERE tenant = ?1 LIMIT 1";
        Ok(self.one(sql, [self.tenant], |_| Ok(()))?.is_some())
    }

    fn answered(&mut self, key: &str) -> Result<Option<Answered>, Error> {
        let from = "FROM answers WHERE tenant = ?1 AND key = ?2";
        let sql = summed("SELECT asked, answer", from, sum::ANSWER);
        self.one(&sql, params![self.tenant, key], |row| {
            whole(row, 2)?;
            let (asked, answer) = (digest(row, 0)?, row.get(1)?);
            Ok(Answered { asked, answer })
        })
    }

    fn record(&mut self, id: &str) -> Result<Option<RecordRow>, Error> {
        let columns = "SELECT record, compiled_at, body";
        let sql = summed(columns, asked::RECORD, sum::RECORD);
        let Some(mut record) = self.one(&sql, params![self.tenant, id], record)? else {
            return Ok(None);
        };
        let sql = summed("SELECT object", asked::RECORD_OBJECTS, sum::RECORD_OBJECT);
        record.objects = self.all(&sql, params![self.tenant, id], |row| {
            whole(row, 1)?;
            object(row, 0)
        })?;
        Ok(Some(record))
    }

    fn records(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        let sql = summed("SELECT record, compiled_at", asked::RECORDS, sum::RECORD);
        // Every id comes behind the empty text.
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        self.all(&sql, params![self.tenant, most, at, id], |row| {
            whole(row, 2)?;
            Ok((row.get(0)?, Instant::from_micros(row.get(1)?)))
        })
    }

    fn records_whole(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<RecordRow>, Error> {
        let columns = "SELECT record, compiled_at, body";
        let sql = summed(columns, asked::RECORDS, sum::RECORD);
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        self.all(&sql, params![self.tenant, most, at, id], record)
    }

    fn records_of(
        &mut self,
        session: &str,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        let sql = summed("SELECT record, compiled_at", asked::RECORDS_OF, sum::RECORD);
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        self.all(&sql, params![self.tenant, most, at, id, session], |row| {
            whole(row, 2)?;
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
        let logs: Vec<(String, u64)> = self.all(asked::LOGS, [self.tenant], |row| {
            Ok((row.get(0)?, version(row, 1)?))
        })?;
        for (log, last) in &logs {
            self.stands(log, *last)?;
        }
        Ok(logs)
    }

    fn last(&mut self, log: &str) -> Result<u64, Error> {
        let found = self.all(asked::LAST, params![self.tenant, log], |row| {
            version(row, 0)
        })?;
        let last = found.first().copied().unwrap_or(0);
        if last > 0 {
            self.stands(log, last)?;
        }
        Ok(last)
    }

    fn entries(&mut self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error> {
        let sql = summed("SELECT number, body", asked::ENTRIES, sum::ENTRY);
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let values = params![self.tenant, log, bound(range.start), bound(range.end)];
        self.all(&sql, values, |row| {
            whole(row, 2)?;
            Ok((version(row, 0)?, row.get(1)?))
        })
    }

    fn on_slot(&mut self, slot: i64, most: u32) -> Result<Vec<ObjectId>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT object FROM claims WHERE tenant = ?1 AND slot = ?2 \
                   ORDER BY level, behind, object LIMIT ?3";
        self.ids(sql, params![tenant, slot, most])
    }

    fn slots(&mut self, ids: &[ObjectId]) -> Result<BTreeSet<i64>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT slot FROM claims WHERE tenant = ?1 AND object = ?2";
        let mut found = BTreeSet::new();
        for id in ids {
            found.extend(self.all(sql, params![tenant, blob(*id)], |row| row.get::<_, i64>(0))?);
        }
        Ok(found)
    }

    fn claiming(&mut self, ids: &[ObjectId]) -> Result<BTreeSet<ObjectId>, Error> {
        let tenant = self.number()?;
        let sql = "SELECT 1 FROM claims WHERE tenant = ?1 AND object = ?2 LIMIT 1";
        let mut found = BTreeSet::new();
        for id in ids {
            if self.one(sql, params![tenant, blob(*id)], |_| Ok(()))?.is_some() {
                found.insert(*id);
            }
        }
        Ok(found)
    }

    fn pairs(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error> {
        self.pairs_having("", of, known)
    }

    fn decided(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error> {
        self.pairs_having(DECIDED, of, known)
    }

    fn decided_among(&mut self, ids: &[ObjectId]) -> Result<Vec<PairRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {PAIR}, sum = row_sum({}) FROM pairs \
             WHERE tenant = ?1 AND first = ?2 AND second IN (SELECT unhex(value) FROM json_each(?3)) \
             AND tx_end IS NULL AND (instr(body, ?4) OR {damaged})",
            sum::PAIR,
            damaged = damaged_pair(),
        );
        let named = hex_list(ids);
        let mut found = BTreeMap::new();
        for id in ids {
            for row in self.all(&sql, params![tenant, blob(*id), named, DECIDED], pair)? {
                found.insert((row.first, row.second, row.slot, row.opened), row);
            }
        }
        Ok(found.into_values().collect())
    }

    fn pair_run(&mut self, run: &PairRun<'_>) -> Result<Vec<PairRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {PAIR}, sum = row_sum({}) FROM pairs \
             WHERE tenant = ?1 AND ?2 IS NOT NULL AND (first, second) > (?3, ?4) AND {} \
             AND (instr(body, ?5) AND instr(body, ?6) AND instr(body, ?7) OR {damaged}) \
             ORDER BY first, second, slot, tx_start LIMIT ?8",
            sum::PAIR,
            held_pairs(run.known),
            damaged = damaged_pair(),
        );
        let none = ObjectId::from_bits(0);
        let (first, second) = run.after.unwrap_or((none, none));
        let [one, two, three] = run.having;
        let at = run.known.map_or(0, Instant::micros);
        let values = params![
            tenant,
            at,
            blob(first),
            blob(second),
            one,
            two,
            three,
            run.most
        ];
        self.all(&sql, values, pair)
    }

    fn pair_history(&mut self, first: ObjectId, second: ObjectId) -> Result<Vec<PairRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {PAIR}, sum = row_sum({}) FROM pairs \
             WHERE tenant = ?1 AND first = ?2 AND second = ?3 ORDER BY tx_start, slot",
            sum::PAIR
        );
        self.all(&sql, params![tenant, blob(first), blob(second)], pair)
    }

    fn pairs_ever(&mut self, first: &[ObjectId]) -> Result<Vec<PairRow>, Error> {
        let tenant = self.number()?;
        let sql = format!(
            "SELECT {PAIR}, sum = row_sum({}) FROM pairs \
             WHERE tenant = ?1 AND first = ?2 ORDER BY second, tx_start, slot",
            sum::PAIR
        );
        let mut found = Vec::new();
        for id in first {
            found.extend(self.all(&sql, params![tenant, blob(*id)], pair)?);
        }
        Ok(found)
    }

    fn set_aside(&mut self) -> Result<BTreeSet<RevisionId>, Error> {
        let sql = "SELECT revision FROM set_aside WHERE tenant = ?1";
        let found = self.all(sql, [self.tenant], |row| digest(row, 0))?;
        Ok(found.into_iter().collect())
    }
}

impl Rows<'_> {
    /// The judgements on pairs whose bodies have this part.
    fn pairs_having(
        &mut self,
        part: &str,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error> {
        let tenant = self.number()?;
        let select = format!("SELECT {PAIR}, sum = row_sum({})", sum::PAIR);
        let held = format!(
            "?2 IS NOT NULL AND {} AND (instr(body, ?3) OR {})",
            held_pairs(known),
            damaged_pair()
        );
        let at = known.map_or(0, Instant::micros);
        let Some(ids) = of else {
            let sql = format!(
                "{select} FROM pairs WHERE tenant = ?1 AND {held} ORDER BY first, second, slot, tx_start"
            );
            return self.all(&sql, params![tenant, at, part], pair);
        };
        let mut found = BTreeMap::new();
        for side in PAIR_SIDES {
            let sql = format!("{select} FROM {side} = ?4 AND {held}");
            for id in ids {
                for row in self.all(&sql, params![tenant, at, part, blob(*id)], pair)? {
                    found.insert((row.first, row.second, row.slot, row.opened), row);
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// These ids as a JSON array of their digits, for `json_each` and `unhex`.
fn hex_list(ids: &[ObjectId]) -> String {
    let each = ids.iter().map(|id| format!("\"{:032x}\"", id.bits()));
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}

/// The condition that a judgement on a pair is damaged: what it says then is nothing to choose it by.
fn damaged_pair() -> String {
    format!("sum IS NOT row_sum({})", sum::PAIR)
}

/// The condition that a judgement on a pair is held now, or was at the instant `?2`.
const fn held_pairs(known: Option<Instant>) -> &'static str {
    match known {
        None => "tx_end IS NULL",
        Some(_) => "tx_start <= ?2 AND (tx_end IS NULL OR ?2 < tx_end)",
    }
}

/// The pairs in which an object is the one or the other. Left to itself, the planner reads all pairs of a tenant for the latter.
pub(super) const PAIR_SIDES: [&str; 2] = [
    "pairs WHERE tenant = ?1 AND first",
    "pairs INDEXED BY pairs_by_second WHERE tenant = ?1 AND second",
];
