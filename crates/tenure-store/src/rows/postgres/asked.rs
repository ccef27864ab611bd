//! Statements that read by record, session, name or log, each with the index that it is to be answered by: none reads all
//! rows of a tenant. A test asks the server how it does each, over tables of which much is there.

/// A record with the objects that it speaks of.
pub(super) const RECORD: &str = "SELECT r.record, r.compiled_at, r.body, ARRAY(SELECT o.object FROM record_objects o \
     WHERE o.tenant = $1 AND o.record = r.record ORDER BY o.object) \
     FROM records r WHERE r.tenant = $1 AND r.record = $2";
/// At most `$2` records from an instant back, behind one of that instant.
pub(super) const RECORDS: &str = "SELECT record, compiled_at FROM records WHERE tenant = $1 AND compiled_at <= $3 \
     AND (compiled_at < $3 OR record > $4) ORDER BY compiled_at DESC, record LIMIT $2";
/// A page of records with what they say.
pub(super) const RECORDS_WHOLE: &str = "SELECT record, compiled_at, body, ARRAY[]::uuid[] FROM records \
     WHERE tenant = $1 AND compiled_at <= $3 \
     AND (compiled_at < $3 OR record > $4) ORDER BY compiled_at DESC, record LIMIT $2";
/// A page of the records of requests of a session.
pub(super) const RECORDS_OF: &str = r#"SELECT record, compiled_at FROM records WHERE tenant = $1
     AND session = left($5::text, 200) AND substring(body from '"session":"([^"\\]*)"') = $5::text
     AND compiled_at <= $3 AND (compiled_at < $3 OR record > $4)
     ORDER BY compiled_at DESC, record LIMIT $2"#;
/// At most `$3` records from before an instant.
pub(super) const OLD_RECORDS: &str = "SELECT record FROM records WHERE tenant = $1 AND compiled_at < $2 \
     ORDER BY compiled_at LIMIT $3";
/// At most `$3` records behind the `$2` newest.
pub(super) const OTHER_RECORDS: &str = "SELECT record FROM records WHERE tenant = $1 \
     ORDER BY compiled_at DESC, record LIMIT $3 OFFSET $2";
/// The objects of a name.
pub(super) const NAMED: &str =
    "SELECT object FROM objects WHERE tenant = $1 AND name = $2 ORDER BY place";
/// The objects of a name with their labels.
pub(super) const NAMED_LABELS: &str =
    "SELECT object, labels FROM objects WHERE tenant = $1 AND name = $2 ORDER BY place";
/// Entries of a log.
pub(super) const ENTRIES: &str = "SELECT number, body FROM entries \
     WHERE tenant = $1 AND log = $2 AND number >= $3 AND number < $4 ORDER BY number";
/// The last number of a log.
pub(super) const LAST: &str =
    "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = $1 AND log = $2";
/// The logs, each with its last number: one look for each, however many entries they have.
pub(super) const LOGS: &str = "WITH RECURSIVE found (log) AS ( \
     (SELECT log FROM entries WHERE tenant = $1 ORDER BY log LIMIT 1) UNION ALL \
     SELECT (SELECT e.log FROM entries e WHERE e.tenant = $1 AND e.log > found.log ORDER BY e.log LIMIT 1) \
     FROM found WHERE found.log IS NOT NULL) \
     SELECT log, (SELECT max(e.number) FROM entries e WHERE e.tenant = $1 AND e.log = found.log) \
     FROM found WHERE log IS NOT NULL";
/// Takes away which objects records speak of.
pub(super) const UNLINK: &str = "DELETE FROM record_objects WHERE tenant = $1 AND record = ANY($2)";
/// Takes records away.
pub(super) const DROP: &str = "DELETE FROM records WHERE tenant = $1 AND record = ANY($2)";

/// Each statement with the index that answers it, and values to ask it with after the tenant.
#[doc(hidden)]
pub const ASKED: &[(&str, &str, &[&str])] = &[
    (RECORD, "record_objects_of", &["'gw-7'"]),
    (RECORD, "records_pkey", &["'gw-7'"]),
    (RECORDS, "records_by_time", &["50", "9000", "'gw-7'"]),
    (RECORDS_WHOLE, "records_by_time", &["50", "9000", "'gw-7'"]),
    (
        RECORDS_OF,
        "records_by_session",
        &["50", "9000", "'gw-7'", "'s-7'"],
    ),
    (OLD_RECORDS, "records_by_time", &["9", "256"]),
    (OTHER_RECORDS, "records_by_time", &["100", "256"]),
    (NAMED, "objects_by_name", &["'n-7'"]),
    (NAMED_LABELS, "objects_by_name", &["'n-7'"]),
    (ENTRIES, "entries_pkey", &["'log-7'", "1", "100"]),
    (LAST, "entries_pkey", &["'log-7'"]),
    (LOGS, "entries_pkey", &[]),
    (UNLINK, "record_objects_of", &["ARRAY['gw-7']"]),
    (DROP, "records_pkey", &["ARRAY['gw-7']"]),
];
