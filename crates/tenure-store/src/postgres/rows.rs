//! The rows of one tenant, over one transaction. However many rows a call is about, it costs a fixed
//! number of round trips: lists travel as arrays.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::BytesMut;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Row, Statement};
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId, Usage};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error, ErrorKind};

use super::pool::Connection;
use super::{Postgres, Trouble};
use crate::engine::{
    Answered, BeliefRow, Change, Read, RecordRow, RevisionRow, Stamp, Standing, Tombstone, Write,
    WriteRow, logged,
};
use crate::settle::covers_all;

/// The columns of a belief, in the order in which [`belief`] reads them.
macro_rules! belief {
    ($before:literal, $after:literal) => {
        concat!(
            $before,
            " b.object, b.tx_start, b.part, b.opened, b.tx_end, b.closed, b.revision, b.valid_from, \
             b.valid_until, b.contradiction, b.superseded_by, b.lifecycle",
            $after
        )
    };
}
const BELIEF_COLUMNS: usize = 12;

/// A record with the objects that it speaks of.
macro_rules! record {
    ($after:literal) => {
        concat!(
            "SELECT r.record, r.compiled_at, r.body, ARRAY(SELECT o.object FROM record_objects o \
             WHERE o.tenant = $1 AND o.record = r.record ORDER BY o.object) \
             FROM records r WHERE r.tenant = $1 AND ",
            $after
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

/// How many bytes of text go in one message, about; one text more may exceed it.
const MESSAGE: usize = 8 << 20;

/// How many beliefs are looked at first, where only some of them may be needed.
const FIRST_LOOK: i64 = 16;

/// The values of a statement after the first, which is the tenant.
type Values<'v> = &'v [&'v (dyn ToSql + Sync)];

fn with_tenant<'v>(tenant: &'v &str, values: Values<'v>) -> Vec<&'v (dyn ToSql + Sync)> {
    let tenant: &(dyn ToSql + Sync) = tenant;
    std::iter::once(tenant)
        .chain(values.iter().copied())
        .collect()
}

pub(super) struct Rows<'c> {
    connection: &'c mut Connection,
    postgres: &'c Postgres,
    tenant: &'c str,
    stamp: Option<Stamp>,
    noted: bool,
    trouble: Option<Trouble>,
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

    /// Whether the log has a line for the version that was given out, if any was.
    pub(super) fn logged(&self) -> Result<(), Error> {
        logged(self.stamp, self.noted)
    }

    fn check<T>(&mut self, result: Result<T, postgres::Error>) -> Result<T, Error> {
        result.map_err(|error| {
            self.trouble = Some(Trouble::of(&error));
            self.postgres.failed(&error)
        })
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(known) = self.connection.statements.get(sql) {
            return Ok(known.clone());
        }
        let prepared = self.connection.client.prepare(sql);
        let prepared = self.check(prepared)?;
        self.connection.statements.insert(sql, prepared.clone());
        Ok(prepared)
    }

    fn execute(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        let values = with_tenant(&self.tenant, values);
        let done = self.connection.client.execute(&statement, &values);
        self.check(done)
    }

    /// All rows of a query.
    fn all<T>(
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
    fn one<T>(
        &mut self,
        sql: &'static str,
        values: Values<'_>,
        read: impl FnMut(&Row) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        Ok(self.all(sql, values, read)?.pop())
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
                        each(place, belief(&row)?, get(&row, BELIEF_COLUMNS + 1)?)?;
                    }
                    Err(error) => break error,
                }
            },
        };
        self.check(Err(failed))
    }

    fn ids(&mut self, sql: &'static str, values: Values<'_>) -> Result<Vec<ObjectId>, Error> {
        self.all(sql, values, |row| object(row, 0))
    }
}

/// An id as a `uuid`.
#[derive(Clone, Copy, Debug)]
struct Id(ObjectId);

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
fn ids(ids: &[ObjectId]) -> Vec<Id> {
    let ids: BTreeSet<ObjectId> = ids.iter().copied().collect();
    ids.into_iter().map(Id).collect()
}

fn digests(digests: &[Digest]) -> Vec<&[u8]> {
    digests.iter().map(bytes).collect()
}

fn bytes(digest: &Digest) -> &[u8] {
    digest.bytes()
}

fn unreadable(what: &dyn std::fmt::Display) -> Error {
    Error::input(format!("the store holds a row that cannot be read: {what}"))
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

fn micros(instant: Option<Instant>) -> Option<i64> {
    instant.map(Instant::micros)
}

fn number(row: &Row, at: usize) -> Result<u64, Error> {
    Ok(get::<i64>(row, at)?.unsigned_abs())
}

fn stamp(row: &Row, version_at: usize, at: usize) -> Result<Option<Stamp>, Error> {
    let Some(at) = instant(row, at)? else {
        return Ok(None);
    };
    let version = number(row, version_at)?;
    Ok(Some(Stamp { version, at }))
}

fn stamped(row: &Row, version_at: usize, at: usize) -> Result<Stamp, Error> {
    stamp(row, version_at, at)?.ok_or_else(|| unreadable(&"it has no stamp"))
}

fn term<T: std::str::FromStr<Err = Error>>(row: &Row, at: usize) -> Result<T, Error> {
    let text: &str = get(row, at)?;
    text.parse().map_err(|error: Error| unreadable(&error))
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

/// Parts of a list, each with at most so many bytes of text that they fit one message.
fn messages<T>(mut list: &[T], size: impl Fn(&T) -> usize) -> impl Iterator<Item = &[T]> {
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
        Ok(found.unwrap_or(0))
    }

    fn key(&mut self) -> Result<Option<[u8; 32]>, Error> {
        let sql = "SELECT key FROM tenants WHERE tenant = $1";
        self.one(sql, &[], |row| array(row, 0))
    }

    fn standing(&mut self, of: &[ObjectId]) -> Result<BTreeMap<ObjectId, Standing>, Error> {
        let sql = for_each!(
            "uuid",
            "objects",
            "t.object, t.place, t.name, t.head",
            "t.object = n.key"
        );
        let read = |row: &Row| {
            let standing = Standing {
                place: number(row, 1)?,
                name: get(row, 2)?,
                head: digest(row, 3)?,
                beliefs: Vec::new(),
            };
            Ok((object(row, 0)?, standing))
        };
        let of = ids(of);
        let found = self.all(sql, &[&of], read)?;
        let mut found: BTreeMap<ObjectId, Standing> = found.into_iter().collect();
        if found.is_empty() {
            return Ok(found);
        }
        let sql = belief!(
            "SELECT",
            " FROM unnest($2::uuid[]) AS n (key), LATERAL (SELECT * FROM beliefs t \
             WHERE t.tenant = $1 AND t.object = n.key AND t.tx_end IS NULL OFFSET 0) AS b \
             ORDER BY b.object, b.valid_from NULLS FIRST"
        );
        for belief in self.all(sql, &[&of], belief)? {
            if let Some(standing) = found.get_mut(&belief.object) {
                standing.beliefs.push(belief);
            }
        }
        Ok(found)
    }

    fn named(&mut self, name: &str) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM objects WHERE tenant = $1 AND name = $2 ORDER BY place";
        self.ids(sql, &[&name])
    }

    fn children(&mut self, of: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
        let sql = for_each!("uuid", "links", "DISTINCT t.child", "t.parent = n.key");
        self.ids(sql, &[&ids(of)])
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

    fn history(&mut self, id: ObjectId) -> Result<Vec<BeliefRow>, Error> {
        let sql = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = $2 \
             ORDER BY b.tx_start, b.valid_from NULLS FIRST, b.part"
        );
        self.all(sql, &[&Id(id)], belief)
    }

    fn held(&mut self, id: ObjectId, known: Instant) -> Result<Vec<BeliefRow>, Error> {
        // From that instant back, until what was held covers all of valid time: what is older cannot
        // be held as well, for beliefs do not overlap.
        let sql = belief!(
            "SELECT",
            " FROM beliefs b WHERE b.tenant = $1 AND b.object = $2 AND (b.tx_start, b.part) < ($3, $4) \
             ORDER BY b.tx_start DESC, b.part DESC LIMIT $5"
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
            if all || covers_all(held.iter().map(|belief| belief.valid)) {
                break;
            }
            look = (look * 8).min(10_000);
        }
        held.sort_by_key(|belief| belief.valid.from.map(Instant::micros));
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
             JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.valid_from NULLS FIRST"
        );
        let then = belief!(
            "SELECT",
            ", o.place, r.body FROM objects o \
             JOIN beliefs b ON b.tenant = $1 AND b.object = o.object \
             AND b.tx_start <= $2 AND (b.tx_end IS NULL OR b.tx_end > $2) \
             JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.valid_from NULLS FIRST"
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
             JOIN revisions r ON r.tenant = $1 AND r.revision = b.revision \
             WHERE o.tenant = $1 ORDER BY o.place, b.tx_start, b.valid_from NULLS FIRST, b.part"
        );
        self.stream(sql, &[], &mut |_, belief, body| each(belief, body))
    }

    fn changed_since(&mut self, version: u64) -> Result<Vec<ObjectId>, Error> {
        let sql = "SELECT object FROM objects WHERE tenant = $1 AND changed > $2 ORDER BY place";
        self.ids(sql, &[&(version as i64)])
    }

    fn indexed(&mut self) -> Result<u64, Error> {
        let sql = "SELECT version FROM searched WHERE tenant = $1";
        Ok(self.one(sql, &[], |row| number(row, 0))?.unwrap_or(0))
    }

    fn matching(&mut self, terms: &[i64]) -> Result<Vec<ObjectId>, Error> {
        // The tenant is the transaction's; it is named once more for what comes back.
        let sql = "SELECT o.object FROM matching($2) AS m (object) \
                   JOIN objects o ON o.tenant = $1 AND o.object = m.object";
        self.ids(sql, &[&terms])
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
        self.one(record!("r.record = $2"), &[&id], record)
    }

    fn records(
        &mut self,
        after: Option<(&str, Instant)>,
        most: u32,
    ) -> Result<Vec<(String, Instant)>, Error> {
        let sql = "SELECT record, compiled_at FROM records WHERE tenant = $1 AND compiled_at <= $3 \
                   AND (compiled_at < $3 OR record > $4) ORDER BY compiled_at DESC, record LIMIT $2";
        // Every id comes behind the empty text.
        let (id, at) = after.map_or(("", i64::MAX), |(id, at)| (id, at.micros()));
        self.all(sql, &[&i64::from(most), &at, &id], |row| {
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
        let sql =
            "SELECT log, max(number) FROM entries WHERE tenant = $1 GROUP BY log ORDER BY log";
        self.all(sql, &[], |row| Ok((get(row, 0)?, number(row, 1)?)))
    }

    fn last(&mut self, log: &str) -> Result<u64, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = $1 AND log = $2";
        let found = self.all(sql, &[&log], |row| number(row, 0))?;
        Ok(found.first().copied().unwrap_or(0))
    }

    fn entries(&mut self, log: &str, range: Range<u64>) -> Result<Vec<(u64, String)>, Error> {
        let sql = "SELECT number, body FROM entries \
                   WHERE tenant = $1 AND log = $2 AND number >= $3 AND number < $4 ORDER BY number";
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (start, end) = (bound(range.start), bound(range.end));
        self.all(sql, &[&log, &start, &end], |row| {
            Ok((number(row, 0)?, get(row, 1)?))
        })
    }
}

impl Write for Rows<'_> {
    fn stamp(&mut self) -> Result<Stamp, Error> {
        if let Some(stamp) = self.stamp {
            return Ok(stamp);
        }
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| {
            let what = format!("the system gives no random numbers: {error}");
            Error::new(ErrorKind::Unavailable, what)
        })?;
        // The row stays locked until the end of the transaction. The clock is read once it is, and one
        // that stands still or goes back holds up no transaction time.
        let sql = "INSERT INTO tenants AS t (tenant, version, at, key) \
                   VALUES ($1, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $2) \
                   ON CONFLICT (tenant) DO UPDATE SET version = t.version + 1, at = \
                   greatest(t.at + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) \
                   RETURNING version, at";
        let made = self.one(sql, &[&key.as_slice()], |row| stamped(row, 0, 1))?;
        let made = made.ok_or_else(|| unreadable(&"a tenant has no stamp"))?;
        self.stamp = Some(made);
        Ok(made)
    }

    fn take_places(&mut self, count: u64) -> Result<u64, Error> {
        let sql = "UPDATE tenants SET places = places + $2 WHERE tenant = $1 RETURNING places - $2";
        let values: Values<'_> = &[&(count as i64)];
        Ok(self.one(sql, values, |row| number(row, 0))?.unwrap_or(0))
    }

    fn change(&mut self, change: &Change) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let (version, at) = (version as i64, at.micros());
        if !change.objects.is_empty() {
            // What stands twice is as it is said last.
            let objects: BTreeMap<u64, _> = change
                .objects
                .iter()
                .map(|(id, place, name, head)| (*place, (Id(*id), name.as_str(), bytes(head))))
                .collect();
            let places: Vec<i64> = objects.keys().map(|place| *place as i64).collect();
            let of: Vec<Id> = objects.values().map(|(id, _, _)| *id).collect();
            let names: Vec<&str> = objects.values().map(|(_, name, _)| *name).collect();
            let heads: Vec<&[u8]> = objects.values().map(|(_, _, head)| *head).collect();
            let sql = "INSERT INTO objects (tenant, place, object, name, head, changed) \
                       SELECT $1, n.place, n.object, n.name, n.head, $2 \
                       FROM unnest($3::bigint[], $4::uuid[], $5::text[], $6::bytea[]) \
                       AS n (place, object, name, head) \
                       ON CONFLICT (tenant, place) DO UPDATE SET \
                       name = excluded.name, head = excluded.head, changed = excluded.changed";
            let values: Values<'_> = &[&version, &places, &of, &names, &heads];
            self.execute(sql, values)?;
        }
        // In the order of its key, what comes together is written together.
        let mut revisions: Vec<&RevisionRow> = change.revisions.iter().collect();
        revisions.sort_unstable_by_key(|row| row.revision);
        for rows in messages(&revisions, |row| row.body.len()) {
            let revisions: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.revision)).collect();
            let of: Vec<Id> = rows.iter().map(|row| Id(row.object)).collect();
            let contents: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.content)).collect();
            let bodies: Vec<&str> = rows.iter().map(|row| &*row.body).collect();
            let sql = "INSERT INTO revisions (tenant, revision, object, content, body) SELECT $1, n.* \
                       FROM unnest($2::bytea[], $3::uuid[], $4::bytea[], $5::text[]) AS n \
                       ON CONFLICT (tenant, revision) DO NOTHING";
            self.execute(sql, &[&revisions, &of, &contents, &bodies])?;
        }
        if !change.close.is_empty() {
            let of: Vec<Id> = change.close.iter().map(|(id, ..)| Id(*id)).collect();
            let starts: Vec<i64> = change
                .close
                .iter()
                .map(|(_, at, _)| at.at.micros())
                .collect();
            let parts: Vec<i32> = change.close.iter().map(|(.., part)| *part as i32).collect();
            // By their places in the table, which nobody changes meanwhile: see `for_each`.
            let sql = "UPDATE beliefs SET tx_end = $2, closed = $3 \
                       WHERE tenant = $1 AND ctid = ANY (ARRAY(SELECT t.ctid \
                       FROM unnest($4::uuid[], $5::bigint[], $6::integer[]) AS n (object, tx_start, part), \
                       LATERAL (SELECT b.ctid FROM beliefs b WHERE b.tenant = $1 AND b.object = n.object \
                       AND b.tx_start = n.tx_start AND b.part = n.part OFFSET 0) AS t))";
            let values: Values<'_> = &[&at, &version, &of, &starts, &parts];
            self.execute(sql, values)?;
        }
        if !change.open.is_empty() {
            let mut open: Vec<&BeliefRow> = change.open.iter().collect();
            open.sort_unstable_by_key(|row| (row.object, row.part));
            self.open(&open)?;
        }
        if !change.links.is_empty() {
            let children: Vec<Id> = change.links.iter().map(|(child, _)| Id(*child)).collect();
            let parents: Vec<Id> = change.links.iter().map(|(_, parent)| Id(*parent)).collect();
            let sql = "INSERT INTO links (tenant, parent, child) SELECT $1, n.* \
                       FROM unnest($2::uuid[], $3::uuid[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&parents, &children])?;
        }
        if !change.subjects.is_empty() {
            let of: Vec<Id> = change.subjects.iter().map(|(id, _)| Id(*id)).collect();
            let subjects: Vec<&str> = change
                .subjects
                .iter()
                .map(|(_, who)| who.as_str())
                .collect();
            let sql = "INSERT INTO subjects (tenant, object, subject) SELECT $1, n.* \
                       FROM unnest($2::uuid[], $3::text[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&of, &subjects])?;
        }
        Ok(())
    }

    fn note(&mut self, verb: &str, author: Option<&str>, objects: u64) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let sql = "INSERT INTO writes (tenant, version, at, verb, author, objects) \
                   VALUES ($1, $2, $3, $4, $5, $6)";
        let (version, at, objects) = (version as i64, at.micros(), objects as i64);
        self.execute(sql, &[&version, &at, &verb, &author, &objects])?;
        self.noted = true;
        Ok(())
    }

    fn hold(&mut self) -> Result<(), Error> {
        let sql = "SELECT version FROM tenants WHERE tenant = $1 FOR UPDATE";
        self.one(sql, &[], |_| Ok(())).map(drop)
    }

    fn index(&mut self, objects: &[(ObjectId, Vec<i64>)]) -> Result<(), Error> {
        let (full, empty): (Vec<_>, Vec<_>) =
            objects.iter().partition(|(_, terms)| !terms.is_empty());
        let empty: Vec<Id> = empty.iter().map(|(id, _)| Id(*id)).collect();
        let sql = "DELETE FROM search WHERE tenant = $1 AND object = ANY($2)";
        self.execute(sql, &[&empty])?;
        // There are no arrays of arrays of several lengths, so all terms travel as one list, and of each object
        // how many of them are its own.
        for part in messages(&full, |(_, terms)| 8 * terms.len()) {
            let of: Vec<Id> = part.iter().map(|(id, _)| Id(*id)).collect();
            let terms: Vec<i64> = part.iter().flat_map(|(_, terms)| terms).copied().collect();
            let mut end = 0;
            let ends = part.iter().map(|(_, terms)| {
                end += terms.len() as i32;
                end
            });
            let ends: Vec<i32> = ends.collect();
            let sql = "INSERT INTO search (tenant, object, terms) \
                       SELECT $1, n.object, ($4::bigint[])[n.start + 1:n.stop] FROM \
                       (SELECT object, stop, lag(stop, 1, 0) OVER (ORDER BY stop) AS start \
                        FROM unnest($2::uuid[], $3::integer[]) AS u (object, stop)) AS n \
                       ON CONFLICT (tenant, object) DO UPDATE SET terms = excluded.terms";
            self.execute(sql, &[&of, &ends, &terms])?;
        }
        Ok(())
    }

    fn set_indexed(&mut self, version: u64) -> Result<(), Error> {
        let sql = "INSERT INTO searched (tenant, version) VALUES ($1, $2) \
                   ON CONFLICT (tenant) DO UPDATE SET version = excluded.version";
        self.execute(sql, &[&(version as i64)])?;
        Ok(())
    }

    fn count(&mut self, usage: &[(ObjectId, Usage)]) -> Result<(), Error> {
        // Each object once, and in one order: two writers cannot wait for each other.
        let mut sums: BTreeMap<ObjectId, Usage> = BTreeMap::new();
        for (id, usage) in usage {
            let sum = sums.entry(*id).or_default();
            sum.access_count = sum.access_count.saturating_add(usage.access_count);
            sum.last_used = sum.last_used.max(usage.last_used);
            sum.last_confirmed = sum.last_confirmed.max(usage.last_confirmed);
        }
        let of: Vec<Id> = sums.keys().copied().map(Id).collect();
        let counts: Vec<i64> = sums.values().map(|sum| sum.access_count as i64).collect();
        let used: Vec<Option<i64>> = sums.values().map(|sum| micros(sum.last_used)).collect();
        let confirmed: Vec<Option<i64>> = sums
            .values()
            .map(|sum| micros(sum.last_confirmed))
            .collect();
        let sql = "INSERT INTO usage AS u (tenant, object, access_count, last_used, last_confirmed) \
                   SELECT $1, n.* FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[]) \
                   AS n (object, access_count, last_used, last_confirmed) \
                   WHERE EXISTS (SELECT FROM objects o WHERE o.tenant = $1 AND o.object = n.object) \
                   ORDER BY n.object ON CONFLICT (tenant, object) DO UPDATE SET \
                   access_count = u.access_count + excluded.access_count, \
                   last_used = greatest(u.last_used, excluded.last_used), \
                   last_confirmed = greatest(u.last_confirmed, excluded.last_confirmed)";
        self.execute(sql, &[&of, &counts, &used, &confirmed])?;
        Ok(())
    }

    fn erase(&mut self, of: &[ObjectId], labels: &[Digest]) -> Result<(), Error> {
        let Stamp { version, at } = self.stamp()?;
        let (version, at) = (version as i64, at.micros());
        let of = ids(of);
        for sql in [
            "INSERT INTO erasing (tenant, object) SELECT $1, unnest($2::uuid[])",
            "DELETE FROM blobs WHERE tenant = $1 AND digest IN (SELECT r.content FROM revisions r \
             JOIN beliefs b ON b.tenant = $1 AND b.revision = r.revision \
             WHERE r.tenant = $1 AND b.object = ANY($2))",
            "DELETE FROM objects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM search WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM revisions WHERE tenant = $1 AND revision IN \
             (SELECT b.revision FROM beliefs b WHERE b.tenant = $1 AND b.object = ANY($2))",
            "DELETE FROM beliefs WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM subjects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM usage WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM record_objects WHERE tenant = $1 AND object = ANY($2)",
            "DELETE FROM links WHERE tenant = $1 AND (parent = ANY($2) OR child = ANY($2))",
            "DELETE FROM erasing WHERE tenant = $1 AND object = ANY($2)",
        ] {
            self.execute(sql, &[&of])?;
        }
        let names: Vec<String> = of.iter().map(|id| id.0.to_string()).collect();
        let sql = "DELETE FROM answers a WHERE a.tenant = $1 AND EXISTS \
                   (SELECT FROM unnest($2::text[]) AS n (id) WHERE position(n.id IN a.answer) > 0)";
        self.execute(sql, &[&names])?;
        let sql = "INSERT INTO tombstones (tenant, digest, version, at) \
                   SELECT $1, unnest($2::bytea[]), $3, $4 ON CONFLICT DO NOTHING";
        self.execute(sql, &[&digests(labels), &version, &at])?;
        Ok(())
    }

    fn answer(&mut self, key: &str, answered: &Answered) -> Result<(), Error> {
        let sql = "INSERT INTO answers (tenant, key, asked, answer) VALUES ($1, $2, $3, $4)";
        let asked = bytes(&answered.asked);
        self.execute(sql, &[&key, &asked, &answered.answer])?;
        Ok(())
    }

    fn put_records(&mut self, records: &[RecordRow]) -> Result<(), Error> {
        // Each record once, and in one order: two writers cannot wait for each other.
        let records: BTreeMap<&str, &RecordRow> = records
            .iter()
            .map(|record| (record.id.as_str(), record))
            .collect();
        let records: Vec<&RecordRow> = records.into_values().collect();
        for records in messages(&records, |record| record.body.len()) {
            let names: Vec<&str> = records.iter().map(|record| record.id.as_str()).collect();
            let times: Vec<i64> = records
                .iter()
                .map(|record| record.compiled_at.micros())
                .collect();
            let bodies: Vec<&str> = records.iter().map(|record| record.body.as_str()).collect();
            let sql = "INSERT INTO records (tenant, record, compiled_at, body) SELECT $1, n.* \
                       FROM unnest($2::text[], $3::bigint[], $4::text[]) AS n \
                       ON CONFLICT (tenant, record) DO UPDATE SET body = excluded.body";
            self.execute(sql, &[&names, &times, &bodies])?;
            let sql = "DELETE FROM record_objects WHERE tenant = $1 AND record = ANY($2)";
            self.execute(sql, &[&names])?;
            let of = records.iter().flat_map(|record| {
                record
                    .objects
                    .iter()
                    .map(|id| (record.id.as_str(), Id(*id)))
            });
            let (names, of): (Vec<&str>, Vec<Id>) = of.unzip();
            let sql = "INSERT INTO record_objects (tenant, record, object) SELECT $1, n.* \
                       FROM unnest($2::text[], $3::uuid[]) AS n ON CONFLICT DO NOTHING";
            self.execute(sql, &[&names, &of])?;
        }
        Ok(())
    }

    fn drop_records(&mut self, before: Option<Instant>, keep: Option<u64>) -> Result<u64, Error> {
        let sql = "WITH dropped AS ( \
                     DELETE FROM records r WHERE r.tenant = $1 AND (r.compiled_at < $2 OR r.record NOT IN \
                     (SELECT k.record FROM records k WHERE k.tenant = $1 \
                      ORDER BY k.compiled_at DESC, k.record LIMIT $3)) RETURNING r.record), \
                   unlinked AS ( \
                     DELETE FROM record_objects o USING dropped d \
                     WHERE o.tenant = $1 AND o.record = d.record) \
                   SELECT count(*) FROM dropped";
        let before = before.map_or(i64::MIN, Instant::micros);
        let keep = keep.and_then(|keep| i64::try_from(keep).ok());
        let dropped = self.one(sql, &[&before, &keep], |row| number(row, 0))?;
        Ok(dropped.unwrap_or(0))
    }

    fn put_blob(&mut self, digest: Digest, content: &[u8]) -> Result<(), Error> {
        let sql =
            "INSERT INTO blobs (tenant, digest, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.execute(sql, &[&bytes(&digest), &content])?;
        Ok(())
    }

    fn drop_blobs(&mut self, of: &[Digest]) -> Result<(), Error> {
        let sql = "DELETE FROM blobs WHERE tenant = $1 AND digest = ANY($2)";
        self.execute(sql, &[&digests(of)])?;
        Ok(())
    }

    fn append(&mut self, log: &str, after: u64, entries: &[String]) -> Result<bool, Error> {
        let sql = "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = $1 AND log = $2";
        let last = self.one(sql, &[&log], |row| number(row, 0))?;
        if last.unwrap_or(0) != after {
            return Ok(false);
        }
        let mut last = after as i64;
        for part in messages(entries, String::len) {
            let bodies: Vec<&str> = part.iter().map(String::as_str).collect();
            let sql = "INSERT INTO entries (tenant, log, number, body) SELECT $1, $2, $3 + n.number, n.body \
                       FROM unnest($4::text[]) WITH ORDINALITY AS n (body, number)";
            self.execute(sql, &[&log, &last, &bodies])?;
            last += part.len() as i64;
        }
        Ok(true)
    }

    fn rewrite(&mut self, log: &str, entries: &[(u64, String)]) -> Result<(), Error> {
        for part in messages(entries, |(_, body)| body.len()) {
            let numbers: Vec<i64> = part.iter().map(|(number, _)| *number as i64).collect();
            let bodies: Vec<&str> = part.iter().map(|(_, body)| body.as_str()).collect();
            let sql = "UPDATE entries e SET body = n.body \
                       FROM unnest($3::bigint[], $4::text[]) AS n (number, body) \
                       WHERE e.tenant = $1 AND e.log = $2 AND e.number = n.number";
            self.execute(sql, &[&log, &numbers, &bodies])?;
        }
        Ok(())
    }

    fn drop_log(&mut self, log: &str) -> Result<(), Error> {
        let sql = "DELETE FROM entries WHERE tenant = $1 AND log = $2";
        self.execute(sql, &[&log])?;
        Ok(())
    }
}

impl Rows<'_> {
    /// Opens beliefs.
    fn open(&mut self, rows: &[&BeliefRow]) -> Result<(), Error> {
        let of: Vec<Id> = rows.iter().map(|row| Id(row.object)).collect();
        let starts: Vec<i64> = rows.iter().map(|row| row.opened.at.micros()).collect();
        let parts: Vec<i32> = rows.iter().map(|row| row.part as i32).collect();
        let opened: Vec<i64> = rows.iter().map(|row| row.opened.version as i64).collect();
        let revisions: Vec<&[u8]> = rows.iter().map(|row| bytes(&row.revision)).collect();
        let from: Vec<Option<i64>> = rows.iter().map(|row| micros(row.valid.from)).collect();
        let until: Vec<Option<i64>> = rows.iter().map(|row| micros(row.valid.until)).collect();
        let contradictions: Vec<&str> = rows.iter().map(|row| row.contradiction.term()).collect();
        let superseded: Vec<Option<Id>> =
            rows.iter().map(|row| row.superseded_by.map(Id)).collect();
        let lifecycles: Vec<&str> = rows.iter().map(|row| row.lifecycle.term()).collect();
        let ends = rows.iter().map(|row| row.closed);
        let ends: Vec<Option<i64>> = ends.map(|end| Some(end?.at.micros())).collect();
        let closed = rows.iter().map(|row| row.closed);
        let closed: Vec<Option<i64>> = closed.map(|end| Some(end?.version as i64)).collect();
        let sql = "INSERT INTO beliefs (tenant, object, tx_start, part, opened, revision, valid_from, \
                   valid_until, contradiction, superseded_by, lifecycle, tx_end, closed) SELECT $1, n.* \
                   FROM unnest($2::uuid[], $3::bigint[], $4::integer[], $5::bigint[], $6::bytea[], \
                   $7::bigint[], $8::bigint[], $9::text[], $10::uuid[], $11::text[], $12::bigint[], \
                   $13::bigint[]) AS n";
        let values: Values<'_> = &[
            &of,
            &starts,
            &parts,
            &opened,
            &revisions,
            &from,
            &until,
            &contradictions,
            &superseded,
            &lifecycles,
            &ends,
            &closed,
        ];
        self.execute(sql, values)?;
        Ok(())
    }
}
