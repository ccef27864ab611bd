//! What the store costs: durable writes, loads, reads of the past, and the settling of what is
//! resident, beside a bare loop over the driver.
//!
//! `cargo bench -p tenure-store` measures a fresh SQLite file in the folder for temporary files;
//! `TENURE_BENCH_STORE=postgresql` a PostgreSQL server of its own, started for it on a Unix socket, and
//! `TENURE_BENCH_STORE=URL` another, empty store. `-- writes|past|resident|search|bare` runs parts of it;
//! `TENURE_BENCH_MILLION=1` reads the past among 10⁶ revisions instead of 10⁵. Figures in
//! `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

#[allow(dead_code)] // the tests stop and start theirs
#[path = "../tests/common/server.rs"]
mod server;

use std::hint::black_box;
use std::time::{Duration, Instant as Clock};

use tenure::object::{ObjectType, Provenance};
use tenure::time::Instant;
use tenure::{Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World};
use tenure_store::{Put, SearchPage, Start, Store, Tenant, Writing};

fn document(number: usize) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::RetrievedPassage),
        provenance: Some(Provenance {
            source_id: Some(format!("doc-{}", number / 10)),
            retrieved_at: Some(Instant::from_micros(1_700_000_000_000_000)),
            ..Provenance::default()
        }),
        ..ObjectDocument::named(
            format!("passage-{number}"),
            format!(
                "Passage {number}: timer {} drives channel {} of bus {}. Check the level before the driver is \
                 enabled, and return the fault where the prescaler has no value; the queue must never be \
                 longer than {} entries, with or without the peripheral clock, as the settings of the \
                 controller say after each start.",
                number % 17,
                number % 5,
                number % 3,
                number % 1000
            ),
        )
    }
}

fn puts(range: std::ops::Range<usize>) -> Vec<Put> {
    range.map(|number| Put::new(document(number))).collect()
}

/// The median of so many runs, and what the last gave.
fn median<T>(runs: usize, mut run: impl FnMut(usize) -> T) -> (Duration, T) {
    let mut times = Vec::with_capacity(runs);
    let mut last = None;
    for number in 0..runs {
        let started = Clock::now();
        last = Some(black_box(run(number)));
        times.push(started.elapsed());
    }
    times.sort_unstable();
    (times[runs / 2], last.expect("at least one run"))
}

fn row(what: &str, size: impl std::fmt::Display, time: Duration, note: &str) {
    println!(
        "{what:<44} {size:>9} {:>12.1} µs  {note}",
        time.as_secs_f64() * 1e6
    );
}

fn per_second(count: usize, time: Duration) -> String {
    format!("{:.0}/s", count as f64 / time.as_secs_f64())
}

/// Whether a part is to be run: all of them, or those that are named.
fn wanted(part: &str) -> bool {
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    named.is_empty() || named.iter().any(|name| name == part)
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = std::env::var("TENURE_BENCH_STORE").ok();
    let own = || server::Server::start("fsync = on");
    let server = (named.as_deref() == Some("postgresql")).then(own);
    let url = match (&server, named) {
        (Some(server), _) => {
            server.create("bench");
            server.url("bench")
        }
        (None, Some(url)) => url,
        (None, None) => format!("sqlite://{}", folder.path().join("store.db").display()),
    };
    let store = Store::open(&url).expect("a store");
    store.migrate().expect("a schema");
    println!("{}\n", store.shown());
    if wanted("writes") {
        writes(&store);
    }
    if wanted("past") {
        past(&store);
    }
    if wanted("resident") {
        resident(&store);
    }
    if wanted("search") {
        search(&store);
    }
    if wanted("bare") {
        if url.starts_with("sqlite://") {
            bare(folder.path())
        } else {
            bare_server(&url)
        }
    }
}

fn tenant(store: &Store, name: &str) -> Tenant {
    store.tenant(name).expect("a tenant")
}

fn writes(store: &Store) {
    let one = tenant(store, "single");
    let (time, _) = median(201, |number| {
        one.put(puts(number..number + 1), &Writing::default()).expect("a write")
    });
    row("one object, one writer", 1, time, &per_second(1, time));
    for writers in [8, 64] {
        const EACH: usize = 50;
        let started = Clock::now();
        std::thread::scope(|scope| {
            for writer in 0..writers {
                let own = tenant(store, &format!("writer-{writer}"));
                scope.spawn(move || {
                    for number in 0..EACH {
                        own.put(puts(number..number + 1), &Writing::default()).expect("a write");
                    }
                });
            }
        });
        let time = started.elapsed();
        let note = per_second(writers * EACH, time);
        row(
            "one object, so many writers at once",
            writers,
            time / (writers * EACH) as u32,
            &note,
        );
    }
    for size in [100, 1_000, 10_000, 100_000] {
        let prepared: Vec<Vec<Put>> =
            (0..3).map(|run| puts(run * size..(run + 1) * size)).collect();
        let batch = tenant(store, &format!("batch-{size}"));
        let mut prepared = prepared.into_iter();
        let (time, _) = median(3, |_| {
            let puts = prepared.next().expect("a batch for each run");
            batch.put(puts, &Writing::default()).expect("a write")
        });
        row(
            "so many objects in one write",
            size,
            time,
            &per_second(size, time),
        );
    }
}

fn past(store: &Store) {
    // Objects with ten revisions each, a million in all where that is asked for.
    let objects: usize = match std::env::var_os("TENURE_BENCH_MILLION") {
        Some(_) => 100_000,
        None => 10_000,
    };
    let revisions = 10 * objects;
    let tenant = tenant(store, "past");
    let mut middle = None;
    for round in 0..10 {
        let named = |number: usize| {
            let mut put = Put::new(document(number));
            put.document.content = format!("{} Round {round}.", put.document.content);
            put
        };
        let puts = (0..objects).map(named).collect();
        let written = tenant.put(puts, &Writing::default()).expect("a write");
        if round == 5 {
            middle = Some(written);
        }
    }
    let middle = middle.expect("a middle");
    let ids: Vec<_> = middle.objects.iter().step_by(997).map(|object| object.object_id).collect();
    let (time, found) = median(ids.len(), |number| {
        tenant.as_of(ids[number], middle.at).expect("a read")
    });
    assert!(found[0].object.revision().content().ends_with("Round 5."));
    row(
        "one object as of then, of so many revisions",
        revisions,
        time,
        "",
    );
    let (time, _) = median(ids.len(), |number| tenant.get(ids[number]).expect("a read"));
    row(
        "one object as of now, of so many revisions",
        revisions,
        time,
        "",
    );
    let (time, _) = median(1001, |_| tenant.version().expect("a version"));
    row("the version probe", 1, time, "");
}

fn resident(store: &Store) {
    let world = World::for_model("gpt-4o", FrameKey::new("bench", [7; 32])).expect("a world");
    let policy = Policy::preset("standard").expect("a policy");
    for tenants in [1usize, 100, 10_000] {
        for number in 0..tenants {
            let other = tenant(store, &format!("other-{tenants}-{number}"));
            other.put(puts(0..1), &Writing::default()).expect("a write");
        }
        for size in [100, 1_000, 10_000, 100_000] {
            let own = tenant(store, &format!("resident-{size}"));
            if own.version().expect("a version") == 0 {
                own.put(puts(0..size), &Writing::default()).expect("a write");
            }
            let (load, resident) = median(3, |_| own.load().expect("a load"));
            let note = format!(
                "beside {tenants} tenants; load {:.1} ms",
                load.as_secs_f64() * 1e3
            );
            let mut request =
                Request::new("Which timer drives the channel?", Budget::tokens(8_000));
            request.principal.tenant = own.name().to_owned();
            request.principal.clearance = tenure::object::Classification::HighlyRestricted;
            request.as_of = tenure::AsOf::both(Instant::from_micros(4_000_000_000_000_000));
            let candidates: &Candidates = resident.candidates();
            // Settling is what `needs` does where nobody is asked anything.
            let settle = |_| tenure::needs(&world, &policy, &request, candidates).expect("needs");
            settle(0);
            let (time, _) = median(11, settle);
            row("admit and settle so many", size, time, &note);
        }
    }
    let own = tenant(store, "resident-10000");
    let known = std::sync::Arc::new(own.load().expect("a load"));
    let (time, _) = median(101, |_| own.refresh(&known).expect("a refresh"));
    row("refresh where nothing changed", 10_000, time, "");
    let mut request = Request::new("Which timer drives the channel?", Budget::tokens(64_000));
    request.principal.tenant = own.name().to_owned();
    request.principal.clearance = tenure::object::Classification::HighlyRestricted;
    let compile = |_| {
        let fresh = own.refresh(&known).expect("a refresh");
        tenure::compile(
            &world,
            &policy,
            &request,
            fresh.candidates(),
            &Facts::none(),
        )
        .expect("a compile")
    };
    compile(0);
    let (time, _) = median(11, compile);
    row("refresh and compile into 64k tokens", 10_000, time, "");
}

fn search(store: &Store) {
    for size in [10_000usize, 100_000] {
        let own = tenant(store, &format!("search-{size}"));
        own.put(puts(0..size), &Writing::default()).expect("a write");
        let ask = |number: usize| own.search(&format!("passage {number}")).expect("a search");
        let (time, _) = median(1, ask);
        row("the first search, among so many objects", size, time, "");
        let (time, found) = median(101, |run| ask(size / 2 + run));
        let found = found.candidates().objects().len();
        assert!(found > 0, "a number stands in its passage");
        let note = format!("{found} found");
        row("a search, among so many objects", size, time, &note);
        for (start, what) in [(Start::Oldest, "oldest"), (Start::Newest, "newest")] {
            let page = SearchPage {
                start,
                most: 20,
                ..SearchPage::ALL
            };
            let ask = |_| own.search_page("passage driver", &page).expect("a search");
            let (time, found) = median(31, ask);
            assert_eq!(found.candidates().objects().len(), 20);
            let note = format!("the 20 {what}");
            row("a common word, among so many objects", size, time, &note);
        }
        let sees = |objects: &[std::sync::Arc<tenure::ContextObject>]| vec![false; objects.len()];
        let hidden = SearchPage {
            sees: Some(&sees),
            most: 20,
            ..SearchPage::ALL
        };
        let (time, _) = median(3, |_| {
            own.search_page("passage", &hidden).expect("a search")
        });
        row("the same where all are hidden", size, time, "");
        let (time, _) = median(201, |run| {
            let new = size + run;
            own.put(puts(new..new + 1), &Writing::default()).expect("a write");
        });
        row("a write, among so many objects", size, time, "");
        let (time, _) = median(21, |run| {
            let new = size + 1_000 + run;
            own.put(puts(new..new + 1), &Writing::default()).expect("a write");
            ask(new)
        });
        row(
            "a write and a search, among so many objects",
            size,
            time,
            "",
        );
        let (time, _) = median(3, |run| {
            let ids = own.named(&format!("passage-{run}")).expect("a read");
            own.erase(ids, &Writing::default()).expect("an erasure");
        });
        row("an erasure, among so many objects", size, time, "");
    }
}

/// The same rows by a loop over the driver that does nothing else.
fn bare(folder: &std::path::Path) {
    let connection = rusqlite::Connection::open(folder.join("bare.db")).expect("a file");
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             CREATE TABLE bodies (tenant TEXT, object BLOB, body TEXT, PRIMARY KEY (tenant, object))",
        )
        .expect("a table");
    let insert = |number: usize| {
        let document = document(number);
        let body = serde_json::to_string(&document).expect("JSON");
        let mut statement = connection
            .prepare_cached("INSERT INTO bodies VALUES (?1, ?2, ?3)")
            .expect("SQL");
        let id = (number as u128 * 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C834).to_be_bytes();
        statement.execute(rusqlite::params!["bench", id, body]).expect("an insert");
    };
    let (time, _) = median(201, insert);
    row(
        "bare driver: one row of one table",
        1,
        time,
        &per_second(1, time),
    );
    for size in [10_000usize, 100_000] {
        let from = size * 10;
        let (time, _) = median(1, |_| {
            connection.execute_batch("BEGIN").expect("a transaction");
            (from..from + size).for_each(insert);
            connection.execute_batch("COMMIT").expect("a commit");
        });
        row(
            "bare driver: so many rows of one table",
            size,
            time,
            &per_second(size, time),
        );
    }
}

/// The same rows in the same tables with the same indexes, by a loop over the driver that does nothing else:
/// a row at a time, one transaction, no wall between tenants, no triggers.
fn bare_server(url: &str) {
    let mut client = postgres::Client::connect(url, postgres::NoTls).expect("a server");
    client
        .batch_execute(
            "DROP SCHEMA IF EXISTS bare CASCADE; CREATE SCHEMA bare; \
             CREATE TABLE bare.objects (LIKE tenure.objects INCLUDING INDEXES); \
             CREATE TABLE bare.revisions (LIKE tenure.revisions INCLUDING INDEXES); \
             CREATE TABLE bare.beliefs (LIKE tenure.beliefs INCLUDING INDEXES)",
        )
        .expect("tables");
    let mut prepare = |sql: &str| client.prepare(sql).expect("SQL");
    let statements = [
        prepare("INSERT INTO bare.objects VALUES ('bench', $1, $2::text::uuid, $3, $4, 1)"),
        prepare("INSERT INTO bare.revisions VALUES ('bench', $1, $2::text::uuid, $3, $4)"),
        prepare(
            "INSERT INTO bare.beliefs VALUES ('bench', $1::text::uuid, 1, 0, 1, NULL, NULL, $2, NULL, NULL, \
             'clean', NULL, 'active')",
        ),
    ];
    let insert = |transaction: &mut postgres::Transaction<'_>, number: usize| {
        let object = document(number).seal().expect("an object");
        let body = serde_json::to_string(&*object).expect("JSON");
        let revision = object.revision();
        let (id, digest) = (revision.object_id().to_string(), revision.id());
        let (digest, content) = (&digest.bytes()[..], revision.content_digest());
        let name = object.name();
        let rows: [&[&(dyn postgres::types::ToSql + Sync)]; 3] = [
            &[&(number as i64), &id, &name, &digest],
            &[&digest, &id, &&content.bytes()[..], &body],
            &[&id, &digest],
        ];
        for (statement, values) in statements.iter().zip(rows) {
            transaction.execute(statement, values).expect("an insert");
        }
    };
    let (time, _) = median(101, |number| {
        let mut transaction = client.transaction().expect("a transaction");
        insert(&mut transaction, number);
        transaction.commit().expect("a commit");
    });
    row(
        "bare driver: the rows of one object",
        1,
        time,
        &per_second(1, time),
    );
    for size in [1_000usize, 10_000] {
        let (time, _) = median(1, |_| {
            let mut transaction = client.transaction().expect("a transaction");
            (size * 10..size * 11).for_each(|number| insert(&mut transaction, number));
            transaction.commit().expect("a commit");
        });
        row(
            "bare driver: the rows of so many objects",
            size,
            time,
            &per_second(size, time),
        );
    }
}
