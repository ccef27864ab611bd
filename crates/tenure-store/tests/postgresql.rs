//! What is peculiar to PostgreSQL: migration, logins, connections that are lost, and hearing of writes.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::server::{PASSWORD, Server};
use crate::common::{Home, contents, document, exported, put_one};
use tenure::ErrorKind;
use tenure_store::{Put, Store, Writing};

fn open(database: &str) -> Store {
    Store::open(&Server::shared().url(database)).unwrap()
}

#[test]
fn a_store_is_made_by_a_migration_only() {
    let server = Server::shared();
    server.create("bare");
    let store = open("bare");
    let acme = store.tenant("acme").unwrap();
    let error = acme.version().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    assert_eq!(error.hint.as_deref(), Some("run `tenure store migrate`"));
    let put = vec![Put::new(document("limit", "1"))];
    assert_eq!(
        acme.put(put, &Writing::default()).unwrap_err().kind,
        ErrorKind::Input
    );
    // The same store works as soon as it is there.
    assert_eq!(store.migrate().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(store.migrate().unwrap().is_empty());
    put_one(&acme, "limit", "1");
    put_one(&acme, "lost", "2");

    let mut client = server.administrator("bare");
    // One of before the last migration is brought up to date.
    client
        .batch_execute(
             "DROP FUNCTION tenure.matching; DROP TABLE tenure.search, tenure.unsearched, tenure.set_aside, \
              tenure.claims, tenure.pairs; \
             ALTER TABLE tenure.records DROP COLUMN session; \
             DROP INDEX tenure.record_objects_of; \
             CREATE INDEX record_objects_by_record ON tenure.record_objects (tenant, record); \
             ALTER TABLE tenure.beliefs DROP CONSTRAINT IF EXISTS waiting_never_overlap; \
             ALTER TABLE tenure.objects DROP COLUMN labels; \
             ALTER TABLE tenure.beliefs DROP COLUMN labels CASCADE; \
             ALTER TABLE tenure.revisions DISABLE TRIGGER USER; \
             UPDATE tenure.revisions SET body = 'gone' WHERE body LIKE '%lost%'; \
             ALTER TABLE tenure.revisions ENABLE TRIGGER USER; \
             COMMENT ON SCHEMA tenure IS 'tenure store, version 1'",
        )
        .unwrap();
    let older = open("bare");
    let error = older.tenants().unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("run `tenure store migrate`"));
    assert_eq!(older.migrate().unwrap(), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(older.tenants().unwrap(), ["acme"]);
    // The index of what was there before is made, too.
    let rows = |client: &mut postgres::Client, table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM tenure.{table}");
        client.query_one(&sql, &[]).unwrap().get(0)
    };
    assert_eq!(rows(&mut client, "unsearched"), 0);
    assert_eq!(
        rows(&mut client, "search"),
        1,
        "what is damaged has no terms"
    );
    let found = older.tenant("acme").unwrap().search("limit").unwrap();
    assert_eq!(found.candidates().len(), 1);
    // What was damaged before keeps it from nothing, and is found.
    let found = older.tenant("acme").unwrap().check().unwrap();
    assert!(
        found.iter().any(|found| found.what == "revision"),
        "{found:?}"
    );
    client
        .batch_execute("COMMENT ON SCHEMA tenure IS 'tenure store, version 10'")
        .unwrap();
    let newer = open("bare");
    let error = newer.tenants().unwrap_err();
    assert!(error.hint.unwrap().contains("newer version of tenure"));
    assert_eq!(newer.migrate().unwrap_err().kind, ErrorKind::Input);
    client.batch_execute("COMMENT ON SCHEMA tenure IS NULL").unwrap();
    let error = open("bare").migrate().unwrap_err();
    assert!(error.what.contains("does not belong to tenure"), "{error}");
    client.batch_execute("DROP SCHEMA tenure CASCADE").unwrap();
    let error = acme.get(tenure::object::ObjectId::from_bits(1)).unwrap_err();
    assert_eq!(
        error.hint.as_deref(),
        Some("run `tenure store migrate`"),
        "{error}"
    );
}

#[test]
fn nodes_that_migrate_at_once_wait_for_each_other() {
    Server::shared().create("crowd");
    let applied: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let nodes: Vec<_> =
            (0..8).map(|_| scope.spawn(|| open("crowd").migrate().unwrap())).collect();
        nodes.into_iter().map(|node| node.join().unwrap()).collect()
    });
    assert_eq!(
        applied
            .iter()
            .filter(|applied| **applied == [1, 2, 3, 4, 5, 6, 7, 8, 9])
            .count(),
        1
    );
    assert_eq!(
        applied.iter().filter(|applied| applied.is_empty()).count(),
        7
    );
}

#[test]
fn a_schema_of_another_name_is_another_store() {
    let home = Home::postgresql();
    put_one(&home.tenant("acme"), "limit", "1");
    let other = Store::open(&format!("{}&schema=select", home.url)).unwrap();
    assert_eq!(other.migrate().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert!(other.tenants().unwrap().is_empty());
    let acme = other.tenant("acme").unwrap();
    put_one(&acme, "limit", "2");
    put_one(&acme, "limit", "3");
    assert_eq!(home.tenant("acme").version().unwrap(), 1);
    assert_eq!(acme.version().unwrap(), 2);
    assert!(
        other.shown().ends_with("&schema=select"),
        "{}",
        other.shown()
    );
    for schema in ["", "a\"b", "a;b", "A", &"x".repeat(64)] {
        let error = Store::open(&format!("{}&schema={schema}", home.url)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
    }
}

#[test]
fn where_the_extension_is_not_to_be_had_a_trigger_stands_in() {
    let server = Server::shared();
    server.create("plain");
    // Who may make nothing in the database makes no extension either.
    let mut client = server.administrator("plain");
    let sql = format!(
        "CREATE ROLE modest LOGIN PASSWORD '{PASSWORD}'; GRANT tenure_app TO modest; \
         CREATE SCHEMA tenure AUTHORIZATION modest"
    );
    Home::postgresql(); // makes the role `tenure_app`
    client.batch_execute(&sql).unwrap();
    let store = Store::open(&server.url_as("modest", "plain")).unwrap();
    assert_eq!(store.migrate().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let extension = client.query("SELECT FROM pg_extension WHERE extname = 'btree_gist'", &[]);
    assert!(extension.unwrap().is_empty());

    let acme = store.tenant("acme").unwrap();
    let id = put_one(&acme, "limit", "1");
    put_one(&acme, "limit", "2");
    crate::common::put(
        &acme,
        vec![crate::common::during("limit", "3", Some(5), Some(9))],
    );
    assert_eq!(contents(&acme, id), ["2", "3", "2"]);
    let copy = "INSERT INTO tenure.beliefs SELECT tenant, object, tx_start, part + 9, opened, tx_end, \
                closed, revision, valid_from, valid_until, contradiction, superseded_by, lifecycle \
                FROM tenure.beliefs WHERE tx_end IS NULL";
    let error = client.batch_execute(copy).unwrap_err();
    let error = error.as_db_error().unwrap().message().to_owned();
    assert_eq!(error, "two beliefs about one object overlap");

    // Two transactions that do not see each other's rows: the second waits, and is refused.
    let open = |tx_start: i64| {
        format!(
            "INSERT INTO tenure.beliefs VALUES ('acme', '00000000-0000-0000-0000-000000000001', \
             {tx_start}, 0, 1, NULL, NULL, '', NULL, NULL, 'clean', NULL, 'active')"
        )
    };
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let mut other = server.administrator("plain");
        let begin =
            format!("BEGIN ISOLATION LEVEL {isolation}; SELECT count(*) FROM tenure.beliefs");
        client.batch_execute(&begin).unwrap();
        other.batch_execute(&begin).unwrap();
        client.batch_execute(&open(1)).unwrap();
        let second = std::thread::spawn(move || other.batch_execute(&open(2)).is_err());
        std::thread::sleep(Duration::from_millis(50));
        client.batch_execute("COMMIT").unwrap();
        assert!(second.join().unwrap(), "{isolation}");
        let end = "UPDATE tenure.beliefs SET tx_end = 2, closed = 2 WHERE tx_start = 1; \
                   INSERT INTO tenure.erasing VALUES ('acme', '00000000-0000-0000-0000-000000000001'); \
                   DELETE FROM tenure.beliefs WHERE tx_start = 1; DELETE FROM tenure.erasing";
        client.batch_execute(end).unwrap();
    }
}

#[test]
fn no_message_holds_a_password() {
    let server = Server::shared();
    let home = Home::postgresql();
    let shown = format!(
        "{} {:?} {:?}",
        home.store.shown(),
        home.store,
        home.tenant("acme")
    );
    let mut said = vec![shown];
    let wrong = home.url.replace(PASSWORD, "wrong-4711");
    let error = Store::open(&wrong).unwrap().tenants().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    assert!(error.what.contains("password"), "{error}");
    said.push(format!("{error:?}"));
    let nowhere = server.url("nowhere");
    let error = Store::open(&nowhere).unwrap().migrate().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Input);
    said.push(format!("{error:?}"));
    for url in [
        format!("postgresql://owner:{PASSWORD}@127.0.0.1:1/x"),
        format!("postgres://owner:{PASSWORD}@nowhere.invalid/x?connect_timeout=2"),
        format!("postgresql://owner:half@{PASSWORD}@127.0.0.1:1/x"),
    ] {
        let error = Store::open(&url).unwrap().tenants().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
        assert!(error.hint.is_some());
        said.push(format!("{error:?}"));
    }
    for url in [
        format!("postgresql://owner:{PASSWORD}@host:port/x"),
        format!("postgresql://owner:%zz{PASSWORD}@host/x"),
        format!("postgresql://owner@host/x?{PASSWORD}=1"),
        format!("postgresql://owner@host/x?password={PASSWORD}&sslmode=require"),
        format!("postgresql://owner@host/x?password={PASSWORD}&sslmode=verify-full"),
        format!("mysql://owner:{PASSWORD}@host/x"),
        format!("mysql://owner@host/x?password=a@{PASSWORD}"),
    ] {
        said.push(format!("{:?}", Store::open(&url)));
    }
    for said in said {
        assert!(!said.contains("4711"), "{said}");
    }
}

#[test]
fn writes_are_heard_of() {
    let home = Home::postgresql();
    let mut watch = home.store.watch().unwrap().unwrap();
    assert_eq!(watch.next(Duration::from_millis(10)).unwrap(), None);
    for name in [
        "acme",
        "with:colons:1",
        "'; NOTIFY tenure --",
        &"é".repeat(128),
    ] {
        let tenant = home.tenant(name);
        put_one(&tenant, "limit", "1");
        put_one(&tenant, "limit", "2");
        // What fails, reads, or changes no version is not told.
        tenant.record_use(vec![]).unwrap();
        tenant.append("log", 3, vec![]).unwrap_err();
        for version in [1, 2] {
            let heard = watch.next(Duration::from_secs(10)).unwrap();
            assert_eq!(heard, Some((name.to_owned(), version)));
        }
    }
    assert_eq!(watch.next(Duration::from_millis(10)).unwrap(), None);
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE query LIKE 'LISTEN%' AND datname = current_database()";
    home.administrator().batch_execute(end).unwrap();
    let error = watch.next(Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(Home::sqlite().store.watch().unwrap().is_none());
}

#[test]
fn more_callers_than_connections_take_turns() {
    let home = Home::postgresql();
    let acme = home.tenant("acme");
    std::thread::scope(|scope| {
        for caller in 0..40 {
            let acme = &acme;
            scope.spawn(move || {
                put_one(acme, &format!("object-{caller}"), "x");
                acme.load().unwrap();
            });
        }
    });
    assert_eq!(acme.version().unwrap(), 40);
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'owner' AND datname = current_database()";
    let open: i64 = home.administrator().query_one(sql, &[]).unwrap().get(0);
    assert!((1..=16).contains(&open), "{open} connections");
}

#[test]
fn connections_that_were_cut_are_made_anew() {
    let home = Home::postgresql();
    let acme = home.tenant("acme");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| acme.load().unwrap());
        }
    });
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE usename = 'owner' AND datname = current_database()";
    for _ in 0..3 {
        home.administrator().batch_execute(cut).unwrap();
        // Nothing was under way, so nobody notices.
        put_one(&acme, "limit", "1");
        home.administrator().batch_execute(cut).unwrap();
        acme.version().unwrap();
        home.administrator().batch_execute(cut).unwrap();
        assert_eq!(exported(&acme).len(), 1);
    }
}

/// Stands between a store and its server, and cuts every connection right after it passed on a `COMMIT`.
fn cutter(armed: Arc<AtomicBool>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, armed) = (client.unwrap(), Arc::clone(&armed));
            let server = UnixStream::connect(Server::shared().socket()).unwrap();
            let (mut back, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut back, &mut to));
            std::thread::spawn(move || pass_on(client, server, &armed));
        }
    });
    folder
}

fn pass_on(mut client: UnixStream, mut server: UnixStream, armed: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut bytes) {
        let commits = bytes[..count].windows(6).any(|word| word == b"COMMIT");
        if commits && armed.swap(false, Ordering::Relaxed) {
            client.shutdown(std::net::Shutdown::Both).ok();
        }
        if server.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn who_was_not_answered_is_told_that_nobody_knows() {
    let home = Home::postgresql();
    let armed = Arc::new(AtomicBool::new(false));
    let folder = cutter(Arc::clone(&armed));
    let url = home.url.split_once("host=").unwrap().0.to_owned();
    let store = Store::open(&format!("{url}host={}", folder.path().display())).unwrap();
    let acme = store.tenant("acme").unwrap();
    put_one(&acme, "limit", "1");
    armed.store(true, Ordering::Relaxed);
    let writing = Writing {
        idempotency_key: Some("key".into()),
        author: None,
    };
    let put = || vec![Put::new(document("limit", "2"))];
    let error = acme.put(put(), &writing).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert!(
        error.what.contains("unknown whether the write took effect"),
        "{error}"
    );
    assert!(error.hint.unwrap().contains("idempotency key"));
    // It did, so to repeat it changes nothing.
    assert_eq!(acme.put(put(), &writing).unwrap().version, 2);
    assert_eq!(acme.version().unwrap(), 2);
    assert_eq!(exported(&acme).len(), 2);
}
