//! Rows of the file, read back into what they mean.

use rusqlite::Row;
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, Usage};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error};

use crate::rows::engine::{BeliefRow, PairRow, RecordRow, Stamp};

/// The columns of a belief, in the order in which [`belief`] reads them; the last says whether it is whole.
pub(super) const BELIEF: &str = "b.object, b.tx_start, b.part, b.opened, b.tx_end, b.closed, b.revision, \
                      b.valid_from, b.valid_until, b.contradiction, b.superseded_by, b.lifecycle, b.labels, \
                      b.sum = row_sum('beliefs', b.tenant, b.place, b.tx_start, b.part, b.object, b.opened, \
                      b.tx_end, b.closed, b.revision, b.revision_number, b.valid_from, b.valid_until, \
                      b.contradiction, b.superseded_by, b.lifecycle, b.labels)";
pub(super) const BELIEF_COLUMNS: usize = 14;

/// The columns of a judgement on a pair, in the order in which [`pair`] reads them.
pub(super) const PAIR: &str = "first, second, slot, tx_start, opened, tx_end, closed, body";
pub(super) const PAIR_COLUMNS: usize = 8;

pub(super) fn object(row: &Row<'_>, at: usize) -> rusqlite::Result<ObjectId> {
    Ok(ObjectId::from_bits(u128::from_be_bytes(row.get(at)?)))
}

pub(super) fn blob(id: ObjectId) -> [u8; 16] {
    id.bits().to_be_bytes()
}

pub(super) fn digest(row: &Row<'_>, at: usize) -> rusqlite::Result<Digest> {
    row.get(at).map(Digest::from_bytes)
}

pub(super) fn instant(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Instant>> {
    Ok(row.get::<_, Option<i64>>(at)?.map(Instant::from_micros))
}

pub(super) fn micros(instant: Option<Instant>) -> Option<i64> {
    instant.map(Instant::micros)
}

pub(super) fn version(row: &Row<'_>, at: usize) -> rusqlite::Result<u64> {
    Ok(row.get::<_, i64>(at)?.unsigned_abs())
}

pub(super) fn term<T: std::str::FromStr<Err = Error>>(
    row: &Row<'_>,
    at: usize,
) -> rusqlite::Result<T> {
    let text: String = row.get(at)?;
    text.parse().map_err(|error: Error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(at, kind, error.to_string().into())
    })
}

pub(super) fn belief(row: &Row<'_>, from: usize) -> rusqlite::Result<BeliefRow> {
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
    whole(row, from + BELIEF_COLUMNS - 1)?;
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
        labels: row.get(from + 12)?,
    })
}

pub(super) fn pair(row: &Row<'_>) -> rusqlite::Result<PairRow> {
    whole(row, PAIR_COLUMNS)?;
    let closed = match instant(row, 5)? {
        None => None,
        Some(at) => Some(Stamp {
            version: version(row, 6)?,
            at,
        }),
    };
    Ok(PairRow {
        first: object(row, 0)?,
        second: object(row, 1)?,
        slot: row.get(2)?,
        opened: Stamp {
            version: version(row, 4)?,
            at: Instant::from_micros(row.get(3)?),
        },
        closed,
        body: row.get(7)?,
    })
}

/// A belief about this object. Where an object's own row is damaged, its place may be that of another.
pub(super) fn belief_about(row: &Row<'_>, id: ObjectId) -> rusqlite::Result<BeliefRow> {
    let belief = belief(row, 0)?;
    if belief.object == id {
        return Ok(belief);
    }
    let kind = rusqlite::types::Type::Blob;
    let what = "it is about another object";
    Err(rusqlite::Error::FromSqlConversionFailure(
        0,
        kind,
        what.into(),
    ))
}

pub(super) fn any_belief(row: &Row<'_>) -> rusqlite::Result<BeliefRow> {
    belief(row, 0)
}

/// A belief that an index names as one that is held.
pub(super) fn held_belief(row: &Row<'_>) -> rusqlite::Result<BeliefRow> {
    let belief = belief(row, 0)?;
    match belief.closed {
        None => Ok(belief),
        Some(_) => {
            let kind = rusqlite::types::Type::Integer;
            let what = "an index says that it is held, and it ended";
            Err(rusqlite::Error::FromSqlConversionFailure(
                5,
                kind,
                what.into(),
            ))
        }
    }
}

/// A query that says last of each row whether it is whole.
pub(super) fn summed(select: &str, rest: &str, columns: &str) -> String {
    format!("{select}, sum = row_sum({columns}) {rest}")
}

/// Checks a row against the sum in its column `at`.
pub(super) fn whole(row: &Row<'_>, at: usize) -> rusqlite::Result<()> {
    match row.get::<_, Option<bool>>(at)? {
        Some(true) => Ok(()),
        _ => {
            let kind = rusqlite::types::Type::Integer;
            let what = "its sum is another";
            Err(rusqlite::Error::FromSqlConversionFailure(
                at,
                kind,
                what.into(),
            ))
        }
    }
}

/// A body as it can be read; what is no text is found out by its digest.
pub(super) fn lossy(row: &Row<'_>, at: usize) -> rusqlite::Result<String> {
    let body = row.get_ref(at)?.as_bytes_or_null().ok().flatten().unwrap_or_default();
    Ok(String::from_utf8_lossy(body).into_owned())
}

pub(super) fn stamp(row: &Row<'_>) -> rusqlite::Result<Stamp> {
    let (version, at) = (version(row, 0)?, Instant::from_micros(row.get(1)?));
    Ok(Stamp { version, at })
}

pub(super) fn usage(row: &Row<'_>, from: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        access_count: version(row, from)?,
        last_used: instant(row, from + 1)?,
        last_confirmed: instant(row, from + 2)?,
    })
}

pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<RecordRow> {
    whole(row, 3)?;
    Ok(RecordRow {
        id: row.get(0)?,
        compiled_at: Instant::from_micros(row.get(1)?),
        body: row.get(2)?,
        objects: Vec::new(),
    })
}
