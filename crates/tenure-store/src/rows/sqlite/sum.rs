//! Sums of rows: each row that no digest of its own holds together has one over all of its other columns, which
//! every read of it compares. A disk that gives back something else than it was given is noticed and never
//! served. It is no guard against someone who can write the file.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};
use tenure::Digest;

/// The tables whose rows have a sum, with the columns that it is over.
pub(super) const SUMMED: [(&str, &str); 12] = [
    ("tenants", TENANT),
    ("objects", OBJECT),
    ("beliefs", BELIEF),
    ("usage", USAGE),
    ("writes", WRITE),
    ("changes", CHANGE),
    ("tombstones", TOMBSTONE),
    ("answers", ANSWER),
    ("records", RECORD),
    ("record_objects", RECORD_OBJECT),
    ("entries", ENTRY),
    ("pairs", PAIR),
];

pub(super) const TENANT: &str = "'tenants', number, tenant, version, at, places, key";
pub(super) const OBJECT: &str = "'objects', tenant, object, place, name, head, head_number, labels";
pub(super) const BELIEF: &str = "'beliefs', tenant, place, tx_start, part, object, opened, tx_end, closed, revision, \
                                 revision_number, valid_from, valid_until, contradiction, superseded_by, lifecycle, labels";
pub(super) const USAGE: &str = "'usage', tenant, object, access_count, last_used, last_confirmed";
pub(super) const WRITE: &str = "'writes', tenant, version, at, verb, author, objects";
pub(super) const CHANGE: &str = "'changes', tenant, version, places";
pub(super) const TOMBSTONE: &str = "'tombstones', tenant, digest, version, at";
pub(super) const ANSWER: &str = "'answers', tenant, key, asked, answer";
pub(super) const RECORD: &str = "'records', tenant, record, compiled_at, body";
pub(super) const RECORD_OBJECT: &str = "'record_objects', tenant, object, record";
pub(super) const PAIR: &str =
    "'pairs', tenant, first, second, slot, tx_start, opened, tx_end, closed, body";
pub(super) const ENTRY: &str = "'entries', tenant, log, number, body";

/// Adds the function to a connection.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("row_sum", -1, flags, row_sum)
}

/// The first 64 bits of the SHA-256 of all values, each with its type and its length.
fn row_sum(values: &Context<'_>) -> Result<i64> {
    let mut bytes = Vec::with_capacity(256);
    let mut add = |kind: u8, value: &[u8]| {
        bytes.push(kind);
        bytes.extend_from_slice(&(value.len() as u64).to_le_bytes());
        bytes.extend_from_slice(value);
    };
    for at in 0..values.len() {
        match values.get_raw(at) {
            ValueRef::Null => add(0, &[]),
            ValueRef::Integer(value) => add(1, &value.to_le_bytes()),
            ValueRef::Real(value) => add(2, &value.to_le_bytes()),
            ValueRef::Text(value) => add(3, value),
            ValueRef::Blob(value) => add(4, value),
        }
    }
    Ok((Digest::of(&bytes).key() >> 64) as i64)
}
