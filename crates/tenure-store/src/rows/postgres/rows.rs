//! The rows of one tenant, over one transaction. However many rows a call is about, it costs a fixed
//! number of round trips: lists travel as arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Row, Statement};
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId, Usage};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error};

use super::pool::Connection;
use super::{Postgres, Trouble, asked};
use crate::rows::engine::{
    Answered, BeliefRow, DECIDED, Order, PairRow, PairRun, Read, RecordRow, Run, Stamp, Standing,
    Tombstone, WriteRow, logged,
};
use crate::rows::settle::{believed, covers_all, in_valid_time};

/// The columns of a belief, in the order in which [`belief`] reads them.
macro_rules! belief {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " b.object, b.tx_start, b.part, b.opened, b.tx_end, b.closed, b.revision, b.valid_from, \
             b.valid_until, b.contradiction, b.superseded_by, b.lifecycle, b.labels",
            $after
        )
    };
}
const BELIEF_COLUMNS: usize = 13;

/// A judgement on a pair, in the order in which [`pair`] reads it.
macro_rules! pair {
    ($condition:literal) => {
        concat!(
            "SELECT first, second, slot, tx_start, opened, tx_end, closed, body FROM pairs \
             WHERE tenant = $1 AND ",
            $condition
        )
    };
}

/// The rows of a table for each of the keys in `$2`: one look at an index for each, whatever the server
/// believes of the size of the table, which it knows nothing of while it is filled for the first time.
macro_rules! for_each {
    ($kind:literal, $table:literal, $columns:literal, $condition:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM unnest($2::",
            $kind,
            "[]) AS n (key), LATERAL (SELECT * FROM ",
            $table,
            " t WHERE t.tenant = $1 AND ",
            $condition,
            " OFFSET 0) AS t"
        )
    };
}

/// The most bytes of text in one message, about; the last text may exceed it.
const MESSAGE: usize = 8 << 20;

/// The number of beliefs that are read first, where only some of them may be needed.
const FIRST_LOOK: i64 = 16;

/// The values of a statement after the first, which is the tenant.
pub(super) type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

fn with_tenant<'v>(tenant: &'v &str, values: Values<'v>) -> Vec<&'v (dyn ToSql + Sync)> {
    let tenant: &(dyn ToSql + Sync) = tenant;
    std::iter::once(tenant).chain(values.iter().copied()).collect()
}

pub(super) struct Rows<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) postgres: &'c Postgres,
    pub(super) tenant: &'c str,
    pub(super) stamp: Option<Stamp>,
    pub(super) noted: bool,
    pub(super) trouble: Option<Trouble>,
}

impl<'c> Rows<'c> {
    pub(super) fn new(
        connection: &'c mut Connection,
        postgres: &'c Postgres,
        tenant: &'c str,
    ) -> Rows<'c> {
        Rows {
            connection,
            postgres,
            tenant,
            stamp: None,
            noted: false,
            trouble: None,
        }
    }

    /// The stamp that was made, and what went wrong, whatever came of it above.
    pub(super) fn finish(self) -> (Option<Stamp>, Option<Trouble>) {
        (self.stamp, self.trouble)
    }

    /// Checks that the log has a line for the version that was given out, if any was.
    pub(super) fn logged(&self) -> Result<(), Error> {
        logged(self.stamp, self.noted)
    }

    pub(super) fn check<T>(&mut self, result: Result<T, postgres::Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.trouble = Some(Trouble::of(&error));
            self.postgres.failed(error)
        })
    }

    pub(super) fn statement(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(known) = self.connection.statements.get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.connection.client.prepare(sql);
        let prepared = self.check(prepared)?;
        self.connection.statements.insert(sql, prepared.clone());
        Ok(prepared)
    }

    pub(super) fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        let values = with_tenant(&self.tenant, values);
        let done = self.connection.client.execute(&statement, &values);
        self.check(done)
    }

    /// All rows of a query.
    pub(super) fn all<T>(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
        read: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let statement = self.statement(sql)?;
        let values = with_tenant(&self.tenant, values);
        let rows = self.connection.client.query(&statement, &values);
        self.check(rows)?.iter().map(read).collect()
    }

    /// The only row of a query, if there is one.
    pub(super) fn one<T>(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
        read: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.all(sql, values, read)?.pop())
    }

    /// The value of the tenant's row. Where the row is missing but the tenant has written, the row was lost.
    pub(super) fn unless_lost<T>(&mut self, found: Option<T>) -> Result<Option<T>, Error> {
        if found.is_none() {
            self.unless_written(|rows| {
                // Outside of a transaction its first write may have come between the two looks.
                let known = "SELECT 1 FROM tenants WHERE tenant = $1";
                Ok(rows.one(known, &[], |_| Ok(()))?.is_none())
            })?;
        }
        Ok(found)
    }

    /// Checks that the tenant has not written, unless it turns out that its row is not lost.
    pub(super) fn unless_written(
        &mut self,
        is_lost: impl FnOnce(&mut Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let written = "SELECT 1 FROM writes WHERE tenant = $1 LIMIT 1";
        if self.one(written, &[], |_| Ok(()))?.is_some() && is_lost(self)? {
            return Err(self.postgres.lost(self.tenant));
        }
        Ok(())
    }

    /// Calls `each` with the rows of a query of beliefs as they come: they may be more than memory holds.
    fn stream(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let statement = self.statement(sql)?;
        let values = with_tenant(&self.tenant, values);
        let failed = match self.connection.client.query_raw(&statement, values) {
            Err(error) => error,
            Ok(mut rows) => loop {
                match rows.next() {
                    Ok(None) => return Ok(()),
                    Ok(Some(row)) => {
                        let place = number(&row, BELIEF_COLUMNS)?;
                        // A revision that is lost is found out by its digest.
                        let body: Option<&str> = get(&row, BELIEF_COLUMNS + 1)?;
                        each(place, belief(&row)?, body.unwrap_or_default())?;
                    }
                    Err(error) => break error,
                }
            },
        };
        self.check(Err(failed))
    }

    pub(super) fn ids(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
    ) -> Result<Vec<ObjectId>, Error> {
        self.all(sql, values, |row| object(row, 0))
    }
}

/// An id as a `uuid`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(pub(super) ObjectId);

impl ToSql for Id {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        out.extend_from_slice(&self.0.bits().to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Id, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Id(ObjectId::from_bits(u128::from_be_bytes(
            raw.try_into()?,
        ))))
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::UUID
    }
}

/// Each id once.
pub(super) fn ids(ids: &[ObjectId]) -> Vec<Id> {
    let ids: BTreeSet<ObjectId> = ids.iter().copied().collect();
    ids.into_iter().map(Id).collect()
}

pub(super) fn digests(digests: &[Digest]) -> Vec<&[u8]> {
    digests.iter().map(bytes).collect()
}

pub(super) fn bytes(digest: &Digest) -> &[u8] {
    digest.bytes()
}

pub(super) fn unreadable(what: &dyn std::fmt::Display) -> Error {
    Error::damaged(format!("the store holds a row that was altered: {what}"))
}

fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, Error> {
    row.try_get(at).map_err(|error| unreadable(&error))
}

fn object(row: &Row, at: usize) -> Result<ObjectId, Error> {
    Ok(get::<Id>(row, at)?.0)
}

fn array<const N: usize>(row: &Row, at: usize) -> Result<[u8; N], Error> {
    let bytes: &[u8] = get(row, at)?;
    bytes.try_into().map_err(|error| unreadable(&error))
}

fn digest(row: &Row, at: usize) -> Result<Digest, Error> {
    array(row, at).map(Digest::from_bytes)
}

fn instant(row: &Row, at: usize) -> Result<Option<Instant>, Error> {
    Ok(get::<Option<i64>>(row, at)?.map(Instant::from_micros))
}

pub(super) fn micros(instant: Option<Instant>) -> Option<i64> {
    instant.map(Instant::micros)
}

pub(super) fn number(row: &Row, at: usize) -> Result<u64, Error> {
    Ok(get::<i64>(row, at)?.unsigned_abs())
}

fn stamp(row: &Row, version_at: usize, at: usize) -> Result<Option<Stamp>, Error> {
    let Some(at) = instant(row, at)? else {
        return Ok(None);
    };
    let version = number(row, version_at)?;
    Ok(Some(Stamp { version, at }))
}

pub(super) fn stamped(row: &Row, version_at: usize, at: usize) -> Result<Stamp, Error> {
    stamp(row, version_at, at)?.ok_or_else(|| unreadable(&"it has no stamp"))
}

fn term<T: std::str::FromStr<Err = Error>>(row: &Row, at: usize) -> Result<T, Error> {
    let text: &str = get(row, at)?;
    text.parse().map_err(|error: Error| unreadable(&error))
}

fn pair(row: &Row) -> Result<PairRow, Error> {
    Ok(PairRow {
        first: object(row, 0)?,
        second: object(row, 1)?,
        slot: get(row, 2)?,
        opened: stamped(row, 4, 3)?,
        closed: stamp(row, 6, 5)?,
        body: get(row, 7)?,
    })
}

fn belief(row: &Row) -> Result<BeliefRow, Error> {
    Ok(BeliefRow {
        object: object(row, 0)?,
        opened: stamped(row, 3, 1)?,
        part: get::<i32>(row, 2)?.unsigned_abs(),
        closed: stamp(row, 5, 4)?,
        revision: digest(row, 6)?,
        valid: Interval {
            from: instant(row, 7)?,
            until: instant(row, 8)?,
        },
        contradiction: term::<ContradictionStatus>(row, 9)?,
        superseded_by: get::<Option<Id>>(row, 10)?.map(|id| id.0),
        lifecycle: term::<Lifecycle>(row, 11)?,
        labels: get::<&str>(row, 12)?.into(),
    })
}

fn usage(row: &Row) -> Result<(ObjectId, Usage), Error> {
    let usage = Usage {
        access_count: number(row, 1)?,
        last_used: instant(row, 2)?,
        last_confirmed: instant(row, 3)?,
    };
    Ok((object(row, 0)?, usage))
}

fn record(row: &Row) -> Result<RecordRow, Error> {
    let objects: Vec<Id> = get(row, 3)?;
    Ok(RecordRow {
        id: get(row, 0)?,
        compiled_at: Instant::from_micros(get(row, 1)?),
        body: get(row, 2)?,
        objects: objects.into_iter().map(|id| id.0).collect(),
    })
}

/// Parts of a list, each with few enough bytes of text to fit one message.
pub(super) fn messages<T>(
    mut list: &[T],
    size: impl Fn(&T) -> usize,
) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let mut left = MESSAGE;
        let fit = list.iter().take_while(|one| {
            let open = left > 0;
            left = left.saturating_sub(size(one) + 64);
            open
        });
        let (part, rest) = list.split_at(fit.count());
        list = rest;
        (!part.is_empty()).then_some(part)
    })
}

impl Read for Rows<'_> {
    fn version(&mut self) -> Result<u64, Error> {
        let sql = "SELECT version FROM tenants WHERE tenant = $1";
        let found = self.one(sql, &[], |row| number(row, 0))?;
        Ok(self.unless_lost(found)?.unwrap_or(0))
    }

    fn key(&mut self) -> Result<Option<[u8; 32]>, Error> {
        let sql = "SELECT key FROM tenants WHERE tenant = $1";
        let found = self.one(sql, &[], |row| array(row, 0))?;
        self.unless_lost(found)
    }

    fn standing(&mut self, of: &[ObjectId]) -> Result<BTreeMap<ObjectId, Standing>, Error> {
        let sql = for_each!(
            "uuid",
            "objects",
            "t.object, t.place, t.name, t.head",
            "t.object = n.key"
        );
        let of = ids(of);
        let mut found: BTreeMap<ObjectId, Standing> = self
            .all(sql, &[&of], |row| {
                let standing = Standing {
                    place: number(row, 1)?,
                    name: get(row, 2)?,
                    head: digest(row, 3)?,
                    beliefs: Vec::new(),
                };
                Ok((object(row, 0)?, standing))
            })?
            .into_iter()
            .collect();
        if found.is_empty() {
            return Ok(found);
        }
        let sql = belief!(
            "SELECT",
            " FROM unnest($2::uuid[]) AS n (key), LATERAL (SELECT * FROM beliefs t \
             WHERE t.tenant = $1 AND t.object = n.key AND t.tx_end IS NULL OFFSET 0) AS b \
             ORDER BY b.object, b.valid_from NULLS FIRST, b.lifecycle = 'awaiting_confirmation'"
        );
        for belief in self.all(sql, &[&of], belief)? {
            if let Some(standing) = found.get_mut(&belief.object) {
                standing.beliefs.push(belief);
            }
        }
        Ok(found)
    }

    fn named(&mut self, name: &str) -> Result<Vec<ObjectId>, Error> {
        self.ids(asked::NAMED, &[&name])
    }

    fn head_labels(
        &mut self,
        wanted: Result<ObjectId, &str>,
    ) -> Result<Vec<(ObjectId, Arc<str>)>, Error> {
        let read = |row: &Row| Ok((object(row, 0)?, get::<&str>(row, 1)?.into()));
        match wanted {
            Ok(id) => {
                let sql = "SELECT object, labels FROM objects WHERE tenant = $1 AND object = $2";
                self.all(sql, &[&Id(id)], read)
            }
            Err(name) => self.all(asked::NAMED_LABELS, &[&name], read),
        }
    }

    fn held_labels(&mut self, of: &[ObjectId]) -> Result<Vec<(ObjectId, Arc<str>)>, Error> {
        let sql = for_each!(
            "uuid",
            "beliefs",
            "t.object, t.labels",
            "t.object = n.key AND t.tx_end IS NULL"
        );
        self.all(sql, &[&ids(of)], |row| {
            Ok((object(row, 0)?, get::<&str>(row, 1)?.into()))
        })
    }

    fn children(&mut self, of: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
        let sql = for_each!("uuid", "links", "DISTINCT t.child", "t.parent = n.key");
        self.ids(sql, &[&ids(of)])
    }

    fn made(&mut self) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT DISTINCT child FROM links WHERE tenant = $1 ORDER BY child";
        self.ids(sql, &[])
    }

    fn at_stage(&mut self, stage: Lifecycle) -> Result<Vec<BeliefRow>, Error> {
        let sql = belief!(
            "SELECT",
            " FROM beliefs b JOIN objects o ON o.tenant = $1 AND o.object = b.object \
             WHERE b.tenant = $1 AND b.tx_end IS NULL AND b.lifecycle = $2 \
             ORDER BY o.place, b.valid_from NULLS FIRST"
        );
        self.all(sql, &[&stage.term()], belief)
    }

    fn over(&mut self, at: Instant) -> Result<Vec<BeliefRow>, Error> {
        let sql = belief!(
            "SELECT",
            " FROM beliefs b JOIN objects o ON o.tenant = $1 AND o.object = b.object \
             WHERE b.tenant = $1 AND b.tx_end IS NULL AND b.valid_until <= $2 \
             ORDER BY o.place, b.valid_from NULLS FIRST"
        );
        self.all(sql, &[&at.micros()], belief)
    }

    fn about(&mut self, subject: &str) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM subjects WHERE tenant = $1 AND subject = $2 ORDER BY object";
        self.ids(sql, &[&subject])
    }

    fn bodies(&mut self, beliefs: &[&BeliefRow]) -> Result<BTreeMap<RevisionId, String>, Error> {
        let revisions: Vec<RevisionId> = beliefs.iter().map(|row| row.revision).collect();
        let sql = for_each!(
            "bytea",
            "revisions",
            "t.revision, t.body",
            "t.revision = n.key"
        );
        let bodies = self.all(sql, &[&digests(&revisions)], |row| {
            Ok((digest(row, 0)?, get(row, 1)?))
        })?;
        Ok(bodies.into_iter().collect())
    }

    fn heads(&mut self, of: &[ObjectId]) -> Result<BTreeMap<ObjectId, String>, Error> {
        let sql = "SELECT n.key, t.body FROM unnest($2::uuid[]) AS n (key), LATERAL \
                   (SELECT r.body FROM objects o JOIN revisions r ON r.tenant = $1 AND r.revision = o.head \
                    WHERE o.tenant = $1 AND o.object = n.key OFFSET 0) AS t";
        let heads = self.all(sql, &[&ids(of)], |row| Ok((object(row, 0)?, get(row, 1)?)))?;
        Ok(heads.into_iter().collect())
    }

    fn history_after(
        &mut self,
        id: ObjectId,
        after: Option<Instant>,
        most: u32,
    ) -> Result<Vec<BeliefRow>, Error> {
        let sql = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = $2 AND b.tx_start > $3 AND b.tx_start <= \
             (SELECT max(tx_start) FROM (SELECT n.tx_start FROM beliefs n WHERE n.tenant = $1 AND n.object = $2 \
              AND n.tx_start > $3 ORDER BY n.tx_start LIMIT $4) AS next) \
             ORDER BY b.tx_start, b.valid_from NULLS FIRST, b.part"
        );
        let after = after.map_or(i64::MIN, Instant::micros);
        self.all(sql, &[&Id(id), &after, &i64::from(most)], belief)
    }

    fn renewed(&mut self, of: &[ObjectId]) -> Result<Vec<BeliefRow>, Error> {
        let sql = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = ANY($2::uuid[]) AND EXISTS (SELECT FROM beliefs o \
             WHERE o.tenant = $1 AND o.object = b.object AND (o.tx_start, o.part) <> (b.tx_start, b.part)) \
             ORDER BY b.object, b.tx_start, b.valid_from NULLS FIRST, b.part"
        );
        self.all(sql, &[&ids(of)], belief)
    }

    fn held(&mut self, id: ObjectId, known: Instant) -> Result<Vec<BeliefRow>, Error> {
        // From that instant back, until what was held covers all of valid time: what is older cannot
        // be held as well, for beliefs do not overlap, but for what waits beside them.
        let sql = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = $2 AND (b.tx_start, b.part) < ($3, $4) \
             ORDER BY b.tx_start DESC, b.part DESC LIMIT $5"
        );
        let older = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = $2 AND (b.tx_start, b.part) < ($3, $4) \
             AND b.lifecycle = 'awaiting_confirmation' AND (b.tx_end IS NULL OR b.tx_end > $5)"
        );
        let mut held: Vec<BeliefRow> = Vec::new();
        let mut look = FIRST_LOOK;
        // No belief has this part: it stands after all of its instant.
        let mut before = (known.micros(), i32::MAX);
        loop {
            let values: Values<'_> = &[&Id(id), &before.0, &before.1, &look];
            let seen = self.all(sql, values, belief)?;
            let all = (seen.len() as i64) < look;
            if let Some(last) = seen.last() {
                before = (last.opened.at.micros(), last.part as i32);
            }
            held.extend(seen.into_iter().filter(|belief| belief.held_at(known)));
            if all {
                break;
            }
            if covers_all(believed(&held)) {
                let values: Values<'_> = &[&Id(id), &before.0, &before.1, &known.micros()];
                held.extend(self.all(older, values, belief)?);
                break;
            }
            look = (look * 8).min(10_000);
        }
        held.sort_by_key(in_valid_time);
        Ok(held)
    }

    fn each_held(
        &mut self,
        known: Option<Instant>,
        each: &mut dyn FnMut(u64, BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let now = belief!(
            "SELECT",
            ", o.place, r.body FROM objects o \
             JOIN beliefs b ON b.tenant = $1 AND b.object = o.object AND b.tx_end IS NULL \
             LEFT JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.valid_from NULLS FIRST, b.lifecycle = 'awaiting_confirmation'"
        );
        let then = belief!(
            "SELECT",
            ", o.place, r.body FROM objects o \
             JOIN beliefs b ON b.tenant = $1 AND b.object = o.object \
             AND b.tx_start <= $2 AND (b.tx_end IS NULL OR b.tx_end > $2) \
             LEFT JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.valid_from NULLS FIRST, b.lifecycle = 'awaiting_confirmation'"
        );
        let known = micros(known);
        let values: Vec<&(dyn ToSql + Sync)> = known.iter().map(|known| known as _).collect();
        let sql = if known.is_some() { then } else { now };
        self.stream(sql, &values, each)
    }

    fn each_ever(
        &mut self,
        each: &mut dyn FnMut(BeliefRow, &str) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let sql = belief!(
            "SELECT",
            ", o.place, r.body FROM objects o \
             JOIN beliefs b ON b.tenant = $1 AND b.object = o.object \
             LEFT JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.tx_start, b.valid_from NULLS FIRST, b.part"
        );
        self.stream(sql, &[], &mut |_, belief, body| each(belief, body))
    }

    fn changed_since(&mut self, version: u64) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM objects WHERE tenant = $1 AND changed > $2 ORDER BY place";
        self.ids(sql, &[&(version as i64)])
    }

    fn is_unsearched(&mut self) -> Result<bool, Error> {
        let sql = "SELECT FROM unsearched WHERE tenant = $1";
        Ok(self.one(sql, &[], |_| Ok(()))?.is_some())
    }

    fn matching(&mut self, terms: &[i64], run: &Run) -> Result<Vec<u64>, Error> {
        // The tenant is the transaction's: a value that is not used would have no type.
        let sql = "SELECT m FROM matching($2, $3, $4, $5, $6) AS m WHERE $1::text IS NOT NULL";
        let most = i64::try_from(run.most).unwrap_or(i64::MAX);
        let (first, last) = (run.first as i64, run.last as i64);
        let backwards = run.order == Order::Newest;
        let values: Values<'_> = &[&terms, &first, &last, &most, &backwards];
        self.all(sql, values, |row| number(row, 0))
    }

    fn placed(&mut self, places: &[u64]) -> Result<Vec<ObjectId>, Error> {
        let wanted: Vec<i64> = places.iter().map(|place| *place as i64).collect();
        let sql = "SELECT place, object FROM objects WHERE tenant = $1 AND place = ANY($2)";
        let read = |row: &Row| Ok((number(row, 0)?, object(row, 1)?));
        let found: BTreeMap<u64, ObjectId> = self.all(sql, &[&wanted], read)?.into_iter().collect();
        let found = places.iter().filter_map(|place| found.get(place));
        Ok(found.copied().collect())
    }

    fn objects(&mut self) -> Result<Vec<(u64, ObjectId)>, Error> {
        let sql = "SELECT place, object FROM objects WHERE tenant = $1 ORDER BY place";
        self.all(sql, &[], |row| Ok((number(row, 0)?, object(row, 1)?)))
    }

    fn usage(&mut self, of: Option<&[ObjectId]>) -> Result<BTreeMap<ObjectId, Usage>, Error> {
        let found = match of {
            None => self.all(
                "SELECT object, access_count, last_used, last_confirmed FROM usage WHERE tenant = $1",
                &[],
                usage,
            ),
            Some(of) => self.all(
                for_each!("uuid", "usage", "t.object, t.access_count, t.last_used, t.last_confirmed", "t.object = n.key"),
                &[&ids(of)],
                usage,
            ),
        };
        Ok(found?.into_iter().collect())
    }

    fn log(&mut self, after: u64, most: u32) -> Result<Vec<WriteRow>, Error> {
        let sql = "SELECT version, at, verb, author, objects FROM writes \
                   WHERE tenant = $1 AND version > $2 ORDER BY version LIMIT $3";
        let values: Values<'_> = &[&(after as i64), &i64::from(most)];
        self.all(sql, values, |row| {
            Ok(WriteRow {
                stamp: stamped(row, 0, 1)?,
                verb: get(row, 2)?,
                author: get(row, 3)?,
                objects: number(row, 4)?,
            })
        })
    }

    fn written(&mut self, version: u64) -> Result<Option<Stamp>, Error> {
        let sql = "SELECT version, at FROM writes WHERE tenant = $1 AND version <= $2 \
                   ORDER BY version DESC LIMIT 1";
        self.one(sql, &[&(version as i64)], |row| stamped(row, 0, 1))
    }

    fn any_tombstone(&mut self) -> Result<bool, Error> {
        let sql = "SELECT 1 FROM tombstones WHERE tenant = $1 LIMIT 1";
        Ok(self.one(sql, &[], |_| Ok(()))?.is_some())
    }

    fn tombstones(&mut self, of: &[Digest]) -> Result<Vec<Tombstone>, Error> {
        let sql = for_each!(
            "bytea",
            "tombstones",
            "t.digest, t.version, t.at",
            "t.digest = n.key"
        );
        self.all(sql, &[&digests(of)], |row| {
            Ok(Tombstone {
                digest: digest(row, 0)?,
                erased: stamped(row, 1, 2)?,
            })
        })
    }

    fn answered(&mut self, key: &str) -> Result<Option<Answered>, Error> {
        let sql = "SELECT asked, answer FROM answers WHERE tenant = $1 AND key = $2";
        self.one(sql, &[&key], |row| {
            let (asked, answer) = (digest(row, 0)?, get(row, 1)?);
            Ok(Answered { asked, answer })
        })
    }

    fn record(&mut self, id: &str) -> Result<Option<RecordRow>, Error> {
        self.one(asked::RECORD, &[&id], record)
    }

    fn records(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        // Every id comes behind the empty text.
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        self.all(asked::RECORDS, &[&i64::from(most), &at, &id], |row| {
            Ok((get(row, 0)?, Instant::from_micros(get(row, 1)?)))
        })
    }

    fn records_whole(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<RecordRow>, Error> {
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        let values: Values<'_> = &[&i64::from(most), &at, &id];
        self.all(asked::RECORDS_WHOLE, values, record)
    }

    fn records_of(
        &mut self,
        session: &str,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        let values: Values<'_> = &[&i64::from(most), &at, &id, &session];
        self.all(asked::RECORDS_OF, values, |row| {
            Ok((get(row, 0)?, Instant::from_micros(get(row, 1)?)))
        })
    }

    fn blob(&mut self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT bytes FROM blobs WHERE tenant = $1 AND digest = $2";
        self.one(sql, &[&bytes(&digest)], |row| get(row, 0))
    }

    fn blobs(&mut self) -> Result<Vec<Digest>, Error> {
        let sql = "SELECT digest FROM blobs WHERE tenant = $1 ORDER BY digest";
        self.all(sql, &[], |row| digest(row, 0))
    }

    fn logs(&mut self) -> Result<Vec<(String, u64)>, Error> {
        self.all(asked::LOGS, &[], |row| Ok((get(row, 0)?, number(row, 1)?)))
    }

    fn last(&mut self, log: &str) -> Result<u64, Error> {
        let found = self.all(asked::LAST, &[&log], |row| number(row, 0))?;
        Ok(found.first().copied().unwrap_or(0))
    }

    fn entries(&mut self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error> {
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (start, end) = (bound(range.start), bound(range.end));
        self.all(asked::ENTRIES, &[&log, &start, &end], |row| {
            Ok((number(row, 0)?, get(row, 1)?))
        })
    }

    fn on_slot(&mut self, slot: i64, most: u32) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM claims WHERE tenant = $1 AND slot = $2 \
                   ORDER BY level, behind, object LIMIT $3";
        self.ids(sql, &[&slot, &i64::from(most)])
    }

    fn slots(&mut self, of: &[ObjectId]) -> Result<BTreeSet<i64>, Error> {
        let sql = for_each!("uuid", "claims", "DISTINCT t.slot", "t.object = n.key");
        let found = self.all(sql, &[&ids(of)], |row| get::<i64>(row, 0))?;
        Ok(found.into_iter().collect())
    }

    fn claiming(&mut self, of: &[ObjectId]) -> Result<BTreeSet<ObjectId>, Error> {
        let sql = for_each!("uuid", "claims", "DISTINCT t.object", "t.object = n.key");
        Ok(self.ids(sql, &[&ids(of)])?.into_iter().collect())
    }

    fn pairs(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error> {
        let at = micros(known);
        let Some(of) = of else {
            let sql = pair!(
                "(CASE WHEN $2::bigint IS NULL THEN tx_end IS NULL \
                 ELSE tx_start <= $2 AND (tx_end IS NULL OR $2 < tx_end) END) \
                 ORDER BY first, second, slot, tx_start"
            );
            return self.all(sql, &[&at], pair);
        };
        let sql = pair!(
            "(first = ANY($3) OR second = ANY($3)) AND (CASE WHEN $2::bigint IS NULL THEN tx_end IS NULL \
             ELSE tx_start <= $2 AND (tx_end IS NULL OR $2 < tx_end) END) \
             ORDER BY first, second, slot, tx_start"
        );
        self.all(sql, &[&at, &ids(of)], pair)
    }

    fn decided(
        &mut self,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Vec<PairRow>, Error> {
        let at = micros(known);
        let of = of.map(ids);
        let sql = pair!(
            "($3::uuid[] IS NULL OR first = ANY($3) OR second = ANY($3)) \
             AND (CASE WHEN $2::bigint IS NULL THEN tx_end IS NULL \
             ELSE tx_start <= $2 AND (tx_end IS NULL OR $2 < tx_end) END) AND position($4::text IN body) > 0 \
             ORDER BY first, second, slot, tx_start"
        );
        self.all(sql, &[&at, &of, &DECIDED], pair)
    }

    fn decided_among(&mut self, of: &[ObjectId]) -> Result<Vec<PairRow>, Error> {
        let sql = pair!(
            "first = ANY($2) AND second = ANY($2) AND tx_end IS NULL AND position($3::text IN body) > 0 \
             ORDER BY first, second, slot, tx_start"
        );
        self.all(sql, &[&ids(of), &DECIDED], pair)
    }

    fn pair_run(&mut self, run: &PairRun<'_>) -> Result<Vec<PairRow>, Error> {
        let sql = pair!(
            "(first, second) > ($3, $4) AND (CASE WHEN $2::bigint IS NULL THEN tx_end IS NULL \
             ELSE tx_start <= $2 AND (tx_end IS NULL OR $2 < tx_end) END) \
             AND position($5::text IN body) > 0 AND position($6::text IN body) > 0 AND position($7::text IN body) > 0 \
             ORDER BY first, second, slot, tx_start LIMIT $8"
        );
        let none = ObjectId::from_bits(0);
        let (first, second) = run.after.unwrap_or((none, none));
        let [one, two, three] = run.having;
        let (at, most) = (micros(run.known), i64::from(run.most));
        let values: Values<'_> = &[&at, &Id(first), &Id(second), &one, &two, &three, &most];
        self.all(sql, values, pair)
    }

    fn pair_history(&mut self, first: ObjectId, second: ObjectId) -> Result<Vec<PairRow>, Error> {
        let sql = pair!("first = $2 AND second = $3 ORDER BY tx_start, slot");
        self.all(sql, &[&Id(first), &Id(second)], pair)
    }

    fn pairs_ever(&mut self, first: &[ObjectId]) -> Result<Vec<PairRow>, Error> {
        let sql = pair!("first = ANY($2) ORDER BY first, second, tx_start, slot");
        self.all(sql, &[&ids(first)], pair)
    }

    fn set_aside(&mut self) -> Result<BTreeSet<RevisionId>, Error> {
        let sql = "SELECT revision FROM set_aside WHERE tenant = $1";
        let found = self.all(sql, &[], |row| digest(row, 0))?;
        Ok(found.into_iter().collect())
    }
}
