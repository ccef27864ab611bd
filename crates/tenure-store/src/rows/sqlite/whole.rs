//! The check of a whole file, and the rebuilding of what follows from other rows.

use rusqlite::{Connection, OptionalExtension as _, Result};

use super::sum::SUMMED;
use crate::rows::engine::Damage;

/// The most findings about the file itself.
const MOST: u32 = 100;

/// The tables whose rows are counted.
const TALLIED: [&str; 7] = [
    "record_objects",
    "usage",
    "tombstones",
    "answers",
    "records",
    "blobs",
    "entries",
];

/// Finds what is wrong with the store as a whole: its schema, or the row of a tenant.
pub(super) fn probe(connection: &Connection, known: u32) -> Result<Option<String>> {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != known {
        return Ok(Some(format!("its schema has version {version}")));
    }
    for table in SUMMED.map(|(table, _)| table).into_iter().chain(["revisions", "blobs"]) {
        let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        let found = connection.query_row(sql, [table], |_| Ok(())).optional()?;
        if found.is_none() {
            return Ok(Some(format!("its table `{table}` is missing")));
        }
    }
    if let Some((table, columns)) = SUMMED.first()
        && differing(connection, table, columns)? > 0
    {
        return Ok(Some("the row of a tenant is not what was written".into()));
    }
    // From tenant to tenant, past all writes of each.
    let sql = "SELECT w.tenant, EXISTS (SELECT 1 FROM tenants t WHERE t.tenant = w.tenant) \
               FROM writes w WHERE w.tenant > ?1 ORDER BY w.tenant LIMIT 1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut after = String::new();
    loop {
        let next = statement.query_row([&after], |row| Ok((row.get(0)?, row.get::<_, bool>(1)?)));
        match next.optional()? {
            None => return Ok(None),
            Some((_, false)) => return Ok(Some("the row of a tenant is lost".into())),
            Some((tenant, true)) => after = tenant,
        }
    }
}

/// The number of rows of a table that do not match their sums.
fn differing(connection: &Connection, table: &str, columns: &str) -> Result<u64> {
    let sql =
        format!("SELECT count(*) FROM {table} NOT INDEXED WHERE sum IS NOT row_sum({columns})");
    connection
        .query_row(&sql, [], |row| row.get::<_, i64>(0))
        .map(i64::unsigned_abs)
}

/// Finds what is damaged in the file.
pub(super) fn check(connection: &Connection) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    let mut add = |what: &str, which: String, repairable: bool| {
        found.push(Damage {
            tenant: None,
            what: what.into(),
            which,
            repairable,
        });
    };
    let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MOST})"))?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    for line in lines {
        match line {
            Ok(line) if line == "ok" => {}
            // Indexes are made of the tables that they are over.
            Ok(line) => {
                let derived = line.contains("missing from index")
                    || line.contains("wrong # of entries in index")
                    || line.contains("for FTS5 table");
                add("file", line, derived);
            }
            Err(error) => {
                add("file", error.to_string(), false);
                break;
            }
        }
    }
    for (table, columns) in SUMMED {
        let derived = matches!(table, "changes" | "usage");
        match differing(connection, table, columns) {
            Ok(0) => {}
            Ok(rows) => add("rows", format!("{rows} of `{table}`"), derived),
            Err(error) => add("rows", format!("`{table}` cannot be read: {error}"), false),
        }
    }
    for (sql, which) in [
        (
            "SELECT count(*) FROM (SELECT tenant, opened AS version FROM beliefs NOT INDEXED \
             UNION SELECT tenant, closed FROM beliefs NOT INDEXED WHERE closed IS NOT NULL) b \
             WHERE NOT EXISTS (SELECT 1 FROM changes c WHERE c.tenant = b.tenant AND c.version = b.version)",
            "of `changes` are lost",
        ),
        (
            "SELECT count(*) FROM revisions r WHERE NOT EXISTS (SELECT 1 FROM tenants t WHERE t.number = r.tenant)",
            "of `revisions` are of no tenant",
        ),
    ] {
        match connection.query_row(sql, [], |row| row.get::<_, i64>(0)) {
            Ok(0) => {}
            Ok(rows) => add("rows", format!("{rows} {which}"), which.contains("changes")),
            Err(error) => add("rows", error.to_string(), false),
        }
    }
    for table in TALLIED {
        let sql = format!(
            "SELECT count(*) FROM (SELECT tenant, count(*) AS rows FROM {table} NOT INDEXED GROUP BY tenant) c \
             FULL JOIN (SELECT * FROM tallies WHERE name = '{table}') t ON t.tenant = c.tenant \
             WHERE coalesce(c.rows, 0) <> coalesce(t.rows, 0)"
        );
        match connection.query_row(&sql, [], |row| row.get::<_, i64>(0)) {
            Ok(0) => {}
            Ok(_) => add(
                "rows",
                format!("`{table}` has more or fewer than were written"),
                true,
            ),
            Err(error) => add(
                "rows",
                format!("`{table}` cannot be counted: {error}"),
                false,
            ),
        }
    }
    let orphans = "SELECT count(*) FROM beliefs b NOT INDEXED WHERE NOT EXISTS \
                   (SELECT 1 FROM objects o WHERE o.tenant = b.tenant AND o.object = b.object AND o.place = b.place)";
    match connection.query_row(orphans, [], |row| row.get::<_, i64>(0)) {
        Ok(0) => {}
        Ok(rows) => add(
            "rows",
            format!("{rows} of `beliefs` are about no object"),
            false,
        ),
        Err(error) => add("rows", format!("`beliefs` cannot be read: {error}"), false),
    }
    Ok(found)
}

/// Rebuilds indexes, the lists of what each write changed and the index of terms, drops counters that are damaged, and
/// counts the rows that are left as all that there are.
pub(super) fn rebuild(connection: &Connection) -> Result<()> {
    let count = |table: &str| {
        format!(
            "INSERT INTO tallies SELECT tenant, '{table}', count(*) FROM {table} GROUP BY tenant;"
        )
    };
    let tallies: String = TALLIED.into_iter().map(count).collect();
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; REINDEX; \
         DELETE FROM usage WHERE sum IS NOT row_sum('usage', tenant, object, access_count, last_used, last_confirmed); \
         DELETE FROM changes; \
         INSERT INTO changes (tenant, version, places) \
         SELECT tenant, version, group_concat(place || '-' || place) FROM ( \
           SELECT tenant, opened AS version, place FROM beliefs UNION \
           SELECT tenant, closed, place FROM beliefs WHERE closed IS NOT NULL ORDER BY 1, 2, 3) \
         GROUP BY tenant, version; \
         UPDATE changes SET sum = row_sum('changes', tenant, version, places); \
         DELETE FROM tallies; {tallies} \
         INSERT INTO search (search) VALUES ('delete-all'); DELETE FROM fresh_terms; \
         INSERT OR IGNORE INTO unsearched SELECT number FROM tenants; COMMIT",
    ))
    .inspect_err(|_| {
        // Nothing more can be done if this fails; the next writer tries it again.
        connection.execute_batch("ROLLBACK").ok();
    })
}
