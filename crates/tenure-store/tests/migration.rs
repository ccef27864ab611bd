//! Files of older versions of the schema: brought up to date when they are opened, they answer as before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::{document, exported};
use tempfile::TempDir;
use tenure::object::ObjectId;
use tenure::{Digest, ErrorKind};
use tenure_store::{Line, Put, Resident, Store, Tenant, Writing};

/// What a store of version 1 held, written by the program of that time, and what that program said of it.
const ROWS: &str = include_str!("fixtures/version-1.sql");
const SAID: [(&str, &str); 2] = [
    ("local", include_str!("fixtures/version-1.local.jsonl")),
    ("other", include_str!("fixtures/version-1.other.jsonl")),
];
const SCHEMA: &str = include_str!("../src/rows/sqlite/0001_store.sql");
const FEWER_TREES: &str = include_str!("../src/rows/sqlite/0002_fewer_trees.sql");
const SEARCH: &str = include_str!("../src/rows/sqlite/0003_search.sql");

/// A file of version 1, with these statements after.
fn old_file(after: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let sql = format!("BEGIN; {SCHEMA} {ROWS} {after}; PRAGMA user_version = 1; COMMIT;");
    connection.execute_batch(&sql).unwrap();
    (folder, path)
}

fn lines(text: &str) -> Vec<Line> {
    let read = |line| serde_json::from_str(line).unwrap();
    text.lines().map(read).collect()
}

fn id_of(line: &Line) -> ObjectId {
    line.object.object_id.unwrap()
}

/// What was believed at each instant at which anything changed, by the lines and by the store.
fn check_the_past(tenant: &Tenant, lines: &[Line]) {
    let starts = lines.iter().filter_map(|line| line.tx_start);
    let ends = lines.iter().filter_map(|line| line.tx_end);
    let instants: BTreeSet<_> = starts.chain(ends).map(|at| at.micros()).collect();
    let ids: BTreeSet<ObjectId> = lines.iter().map(id_of).collect();
    assert!(instants.len() > 1 && ids.len() > 2);
    for at in instants {
        let at = tenure::time::Instant::from_micros(at);
        for id in &ids {
            let held = lines.iter().filter(|line| {
                id_of(line) == *id
                    && line.tx_start.unwrap() <= at
                    && line.tx_end.is_none_or(|end| at < end)
            });
            let expected: BTreeSet<Option<Digest>> = held.map(|line| line.revision).collect();
            let found = tenant.as_of(*id, at).unwrap();
            let found: BTreeSet<Option<Digest>> =
                found.iter().map(|stored| Some(stored.object.revision().id())).collect();
            assert_eq!(found, expected, "{id} at {at}");
        }
    }
    let now: BTreeMap<ObjectId, usize> =
        lines
            .iter()
            .filter(|line| line.tx_end.is_none())
            .fold(BTreeMap::new(), |mut now, line| {
                *now.entry(id_of(line)).or_default() += 1;
                now
            });
    for id in &ids {
        let held = tenant.get(*id).unwrap().len();
        assert_eq!(held, now.get(id).copied().unwrap_or(0), "{id}");
        let all = lines.iter().filter(|line| id_of(line) == *id).count();
        assert_eq!(tenant.history(*id).unwrap().len(), all, "{id}");
    }
}

#[test]
fn a_file_of_version_1_answers_as_before() {
    let (_folder, path) = old_file("");
    for applied in [vec![2, 3, 4, 5, 6, 7, 8, 9], Vec::new()] {
        let store = Store::sqlite(&path).unwrap();
        assert_eq!(store.migrate().unwrap(), applied);
        assert!(store.migrate().unwrap().is_empty());
        assert_eq!(store.tenants().unwrap(), ["local", "other"]);
        for (name, said) in SAID {
            let tenant = store.tenant(name).unwrap();
            let lines = lines(said);
            assert_eq!(exported(&tenant), lines);
            check_the_past(&tenant, &lines);
            // What changed since nothing was known is everything.
            let loaded = tenant.load().unwrap();
            let fresh = tenant.refresh(&Arc::new(Resident::default())).unwrap();
            assert_eq!(fresh.version(), loaded.version());
            let texts = |resident: &Resident| -> Vec<String> {
                let objects = resident.candidates().objects().iter();
                objects.map(|object| object.revision().content().to_owned()).collect()
            };
            assert_eq!(texts(&fresh), texts(&loaded));
            assert!(texts(&loaded).len() > 2);
        }
    }
    // What was written before is found without anything being written.
    let url = format!("sqlite://{}", path.display());
    let read = Store::open_to_read(&url).unwrap();
    for (name, said) in SAID {
        let tenant = read.tenant(name).unwrap();
        for line in lines(said).iter().filter(|line| line.tx_end.is_none()) {
            let found = tenant.search(&line.object.name).unwrap();
            let objects = found.candidates().objects().iter();
            let ids: Vec<ObjectId> = objects.map(|object| object.revision().object_id()).collect();
            assert!(ids.contains(&id_of(line)), "{}", line.object.name);
        }
    }
    let store = Store::sqlite(&path).unwrap();
    let local = store.tenant("local").unwrap();
    assert_eq!(local.version().unwrap(), 7);
    let log = local.log(0, 100).unwrap();
    let verbs: Vec<&str> = log.iter().map(|write| write.verb.as_str()).collect();
    assert_eq!(verbs[3..6], ["put", "retract", "erase"]);
    // A record, the counters, the names, what an answer said, and what was erased stand as they stood.
    let (record, _) = &local.records(9).unwrap()[0];
    let record = local.record(record).unwrap().unwrap();
    assert!(record.body.contains("payload") && !record.objects.is_empty());
    let limit = local.named("limit").unwrap()[0];
    let confirmed = local.get(limit).unwrap()[0].object.usage().last_confirmed;
    assert!(confirmed.is_some());
    let ada = Put::new(document("ada", "Ada again."));
    let refused = local.put(vec![ada], &Writing::default()).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
    let again = Writing {
        idempotency_key: Some("second".into()),
        author: None,
    };
    let ada: ObjectId = "623cc920-25f6-871c-8c22-77053fed90fe".parse().unwrap();
    assert_eq!(local.erase(vec![ada], &again).unwrap().version, 6);

    // It is written as any other: by revisions, by what makes older ones hold again, and by erasures.
    let loaded = Arc::new(local.load().unwrap());
    let before = exported(&local).len();
    crate::common::put(&local, vec![document("limit", "At most 14 kW.")]);
    crate::common::put(&local, vec![document("lamp", "The lamp is green.")]);
    assert_eq!(local.version().unwrap(), 9);
    assert_eq!(exported(&local).len(), before + 2);
    let fresh = local.refresh(&loaded).unwrap();
    assert_eq!(
        fresh.candidates().objects().len(),
        loaded.candidates().objects().len() + 1
    );
    local.erase(vec![limit], &Writing::default()).unwrap();
    assert!(local.history(limit).unwrap().is_empty());
    let kept = exported(&local);
    assert!(kept.iter().all(|line| line.object.name != "limit"));
}

#[test]
fn a_damaged_file_of_version_3_is_brought_up_to_date() {
    let damage = [
        "DROP TRIGGER revisions_never_change; UPDATE revisions SET body = 'gone' WHERE number = 1",
        "DROP TRIGGER revisions_never_change; UPDATE revisions SET body = '[1]' WHERE number = 1",
        "DROP TRIGGER revisions_stay; DELETE FROM revisions WHERE number = 1",
    ];
    for sql in damage {
        let (_folder, path) = old_file(&format!(
            "{FEWER_TREES} {SEARCH} {sql}; PRAGMA user_version = 3"
        ));
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA user_version = 3").unwrap();
        let store = Store::sqlite(&path).unwrap();
        assert_eq!(store.migrate().unwrap(), [4, 5, 6, 7, 8, 9], "{sql}");
        let found = SAID.iter().flat_map(|(name, _)| {
            let tenant = store.tenant(name).unwrap();
            let found = tenant.check().unwrap();
            tenant.repair(&Writing::default()).unwrap();
            assert!(tenant.check().unwrap().is_empty(), "{sql}");
            found
        });
        let found: Vec<String> = found.map(|found| found.what).collect();
        assert!(found.contains(&"revision".to_owned()), "{sql}: {found:?}");
    }
}

#[test]
fn a_file_that_lacks_rows_stays_as_it_is() {
    let lost = "DROP TRIGGER revisions_stay; DELETE FROM revisions WHERE rowid = 1";
    let (_folder, path) = old_file(lost);
    let error = Store::sqlite(&path).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    assert!(error.what.contains("is damaged"), "{error}");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let ask = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    assert_eq!(ask("PRAGMA user_version").unwrap(), 1);
    assert_eq!(ask("SELECT count(changed) FROM objects").unwrap(), 8);
}
