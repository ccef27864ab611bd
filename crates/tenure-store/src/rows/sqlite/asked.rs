//! Statements that read by record, session, name or log: each names the index that it is answered by, so that none reads
//! all rows of a tenant. A test asks the engine how it does each.

/// A record.
pub(super) const RECORD: &str =
    "FROM records INDEXED BY records_by_id WHERE tenant = ?1 AND record = ?2";
/// The objects that a record speaks of.
pub(super) const RECORD_OBJECTS: &str = "FROM record_objects INDEXED BY record_objects_of WHERE tenant = ?1 AND record = ?2 ORDER BY object";
/// At most `?2` records from an instant back, behind one of that instant.
pub(super) const RECORDS: &str = "FROM records INDEXED BY records_by_time WHERE tenant = ?1 AND compiled_at <= ?3 \
     AND (compiled_at < ?3 OR record > ?4) ORDER BY compiled_at DESC, record LIMIT ?2";
/// A page of the records of requests of a session.
pub(super) const RECORDS_OF: &str = "FROM records INDEXED BY records_by_session \
     WHERE tenant = ?1 AND record >= 'gw-' AND record < 'gw.' \
     AND (CASE WHEN json_valid(body) THEN json_extract(body, '$.session') END) = ?5 \
     AND compiled_at <= ?3 AND (compiled_at < ?3 OR record > ?4) \
     ORDER BY compiled_at DESC, record LIMIT ?2";
/// At most `?3` records from before an instant.
pub(super) const OLD_RECORDS: &str = "FROM records INDEXED BY records_by_time \
     WHERE tenant = ?1 AND compiled_at < ?2 ORDER BY compiled_at LIMIT ?3";
/// At most `?3` records behind the `?2` newest.
pub(super) const OTHER_RECORDS: &str = "FROM records INDEXED BY records_by_time \
     WHERE tenant = ?1 ORDER BY compiled_at DESC, record LIMIT ?3 OFFSET ?2";
/// The objects of a name.
pub(super) const NAMED: &str = "FROM objects INDEXED BY objects_by_name \
     WHERE tenant = ?1 AND name = ?2 ORDER BY place";
/// Entries of a log.
pub(super) const ENTRIES: &str =
    "FROM entries WHERE tenant = ?1 AND log = ?2 AND number >= ?3 AND number < ?4 ORDER BY number";
/// The last number of a log.
pub(super) const LAST: &str =
    "SELECT coalesce(max(number), 0) FROM entries WHERE tenant = ?1 AND log = ?2";
/// The logs, each with its last number: one look for each, however many entries they have.
pub(super) const LOGS: &str = "WITH RECURSIVE found (log) AS ( \
     SELECT min(log) FROM entries WHERE tenant = ?1 UNION ALL \
     SELECT (SELECT min(e.log) FROM entries e WHERE e.tenant = ?1 AND e.log > found.log) \
     FROM found WHERE found.log IS NOT NULL) \
     SELECT log, (SELECT max(e.number) FROM entries e WHERE e.tenant = ?1 AND e.log = found.log) \
     FROM found WHERE log IS NOT NULL";
/// Takes away which objects a record speaks of.
pub(super) const UNLINK: &str =
    "DELETE FROM record_objects INDEXED BY record_objects_of WHERE tenant = ?1 AND record = ?2";
/// Takes a record away.
pub(super) const DROP: &str = "DELETE FROM records WHERE tenant = ?1 AND record = ?2";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rusqlite::Connection;

    use super::super::{MIGRATIONS, sum};
    use super::*;

    /// Each statement with what its plan must say, by which columns it searches.
    const EACH: [(&str, &str); 11] = [
        (RECORD, "records_by_id (tenant=? AND record=?)"),
        (RECORD_OBJECTS, "record_objects_of (tenant=? AND record=?)"),
        (RECORDS, "records_by_time (tenant=? AND compiled_at<?)"),
        (
            RECORDS_OF,
            "records_by_session (tenant=? AND <expr>=? AND compiled_at<?)",
        ),
        (OLD_RECORDS, "records_by_time (tenant=? AND compiled_at<?)"),
        (NAMED, "objects_by_name (tenant=? AND name=?)"),
        (
            ENTRIES,
            "PRIMARY KEY (tenant=? AND log=? AND number>? AND number<?)",
        ),
        (LAST, "PRIMARY KEY (tenant=? AND log=?)"),
        (LOGS, "PRIMARY KEY (tenant=? AND log>?)"),
        (UNLINK, "record_objects_of (tenant=? AND record=?)"),
        (DROP, "records_by_id (tenant=? AND record=?)"),
    ];

    #[test]
    fn what_is_asked_by_record_session_or_name_is_found_by_an_index() {
        let file = Connection::open_in_memory().unwrap();
        sum::register(&file).unwrap();
        for migration in MIGRATIONS {
            file.execute_batch(migration).unwrap();
        }
        for (statement, by) in EACH {
            let select = if statement.starts_with("FROM") {
                "SELECT *"
            } else {
                ""
            };
            let sql = format!("EXPLAIN QUERY PLAN {select} {statement}");
            let mut plan = file.prepare(&sql).unwrap();
            for at in 1..=plan.parameter_count() {
                plan.raw_bind_parameter(at, 1).unwrap();
            }
            let mut rows = plan.raw_query();
            let mut plan: Vec<String> = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                plan.push(row.get(3).unwrap());
            }
            assert!(
                plan.iter().any(|step| step.contains(by)),
                "{statement}: {plan:?}"
            );
            // What the steps before found is no table.
            let scans = |step: &&String| step.starts_with("SCAN") && *step != "SCAN found";
            assert_eq!(plan.iter().find(scans), None, "{statement}");
            let whole = |step: &&String| step.ends_with("(tenant=?)") && !step.contains("COVERING");
            let whole = plan.iter().filter(whole);
            // The first log is the first row of the tenant.
            let most = usize::from(statement == LOGS);
            assert!(whole.count() <= most, "{statement}: {plan:?}");
        }
    }
}
