//! What the database itself refuses, and that nothing of one tenant is seen by another.

use std::collections::BTreeMap;

use crate::common::server::Server;
use crate::common::{Dice, Home, document, exported, put, put_one, rounds};
use tenure::object::{Classification, ObjectId, Usage};
use tenure::time::Instant;
use tenure::{
    Budget, Digest, ErrorKind, Facts, FrameKey, ObjectDocument, Policy, Request, World, compile,
};
use tenure_store::engine::RecordRow;
use tenure_store::{Expect, Store, Tenant, Writing};

on_both_engines!(
    the_database_refuses_to_rewrite_history,
    no_name_reaches_over_the_wall,
    what_cannot_be_a_tenant_is_refused,
    a_link_to_the_object_of_another_tenant_does_nothing,
    a_link_means_the_object_of_its_own_tenant,
);

const TABLES: [&str; 20] = [
    "tenants",
    "objects",
    "revisions",
    "beliefs",
    "links",
    "subjects",
    "usage",
    "writes",
    "tombstones",
    "answers",
    "records",
    "record_objects",
    "blobs",
    "entries",
    "erasing",
    "search",
    "set_aside",
    "unsearched",
    "claims",
    "pairs",
];

fn the_database_refuses_to_rewrite_history(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "1");
    put_one(&acme, "limit", "2");
    let before = exported(&acme);
    // In a file, an object has a place, and a revision a number.
    let own = if home.is_postgresql() {
        ""
    } else {
        "place, revision_number, "
    };
    let overlapping = format!(
        "INSERT INTO beliefs ({own}tenant, object, tx_start, part, opened, tx_end, closed, revision, \
         valid_from, valid_until, contradiction, superseded_by, lifecycle) \
         SELECT {own}tenant, object, tx_start + 1000000000, part + 1, opened, NULL, NULL, revision, \
         5, 10, contradiction, superseded_by, lifecycle FROM beliefs WHERE tx_end IS NULL"
    );
    let refused = [
        (
            "UPDATE revisions SET body = '{}'",
            "a revision is immutable",
        ),
        (
            "UPDATE revisions SET tenant = 99",
            "a revision is immutable",
        ),
        (
            "DELETE FROM revisions",
            "a revision leaves by an erasure only",
        ),
        ("DELETE FROM beliefs", "a belief leaves by an erasure only"),
        (
            "UPDATE beliefs SET lifecycle = 'archived'",
            "a belief is immutable",
        ),
        (
            "UPDATE beliefs SET valid_from = 7 WHERE tx_end IS NULL",
            "a belief is immutable",
        ),
        (
            "UPDATE beliefs SET tx_end = NULL, closed = NULL",
            "a belief is immutable",
        ),
        (
            "UPDATE beliefs SET tx_end = tx_end + 1",
            "a belief is immutable",
        ),
        (
            &overlapping,
            if home.is_postgresql() {
                "beliefs_never_overlap"
            } else {
                "overlap"
            },
        ),
        (
            "UPDATE beliefs SET tx_end = tx_start - 1, closed = 1 WHERE tx_end IS NULL",
            "check",
        ),
    ];
    for (sql, said) in refused {
        let error = home.sql(sql).unwrap_err();
        assert!(error.to_lowercase().contains(said), "{sql}: {error}");
    }
    if home.is_postgresql() {
        for table in ["revisions", "beliefs"] {
            let error = home.sql(&format!("TRUNCATE {table}")).unwrap_err();
            assert!(error.contains("by an erasure only"), "{error}");
        }
    }
    assert_eq!(exported(&acme), before);
    // To end a belief is no rewriting.
    let end = "UPDATE beliefs SET tx_end = tx_start + 1, closed = opened + 1 WHERE tx_end IS NULL";
    home.sql(end).unwrap();
    assert!(acme.get(id).unwrap().is_empty());
}

/// Names that somebody may choose, some of which look or sort like others.
fn hostile() -> Vec<String> {
    let mut names: Vec<String> = [
        "acme",
        "Acme",
        "ACME",
        "acme ",
        " acme",
        "a%",
        "a_me",
        "%",
        "_",
        "*",
        "acme'",
        "acme\"",
        "'; DROP TABLE tenure.objects; --",
        "' OR '1'='1",
        "acme' OR tenant <> '",
        "\\",
        "\\'",
        "../acme",
        "/etc/passwd",
        "acme/..",
        "acme&tenant=other",
        "a=b",
        "tenant=acme&schema=public",
        "acm\u{435}",
        "\u{430}cme",
        "a\u{200b}cme",
        "acme\u{301}",
        "\u{e9}",
        "e\u{301}",
        "\u{feff}acme",
        "acme\n",
        "acme\t",
        "$1",
        "${tenant}",
        "{0}",
        "null",
        "NULL",
        "None",
        "0",
        "-1",
        "tenure_app",
        "tenure.tenant",
        "default",
        "\u{202e}emca",
        "acme:1",
        "acme:",
        "\u{10ffff}",
        "ﬁ",
        "ß",
        "SS",
        "İ",
    ]
    .map(str::to_owned)
    .into();
    names.push("x".repeat(256));
    names.push("x".repeat(255));
    names
}

/// What one tenant holds, and a mark that stands in all of it.
struct Held {
    tenant: Tenant,
    mark: String,
    id: ObjectId,
    blob: Digest,
}

fn furnish(home: &Home, number: usize, name: &str) -> Held {
    let tenant = home.tenant(name);
    let mark = format!("mark-{number}-");
    let about = ObjectDocument {
        subjects: vec!["ada".into()],
        // The same id with everyone: only the tenant tells them apart.
        object_id: Some(ObjectId::from_bits(4711)),
        normalized_claim: Some("power == 10".into()),
        canonical_entity_ids: vec![mark.clone()],
        ..document("limit", &format!("{mark} parent"))
    };
    let id = put(&tenant, vec![about]).objects[0].object_id;
    let child = ObjectDocument {
        derived_from: vec![id],
        object_id: Some(ObjectId::from_bits(4712)),
        normalized_claim: Some("power == 12".into()),
        canonical_entity_ids: vec![mark.clone()],
        ..document("child", &format!("{mark} child"))
    };
    put(&tenant, vec![child]);
    let record = RecordRow {
        id: "record".into(),
        compiled_at: Instant::from_micros(1),
        body: format!("{{\"mark\":\"{mark}\"}}"),
        objects: vec![id],
    };
    tenant.put_records(vec![record]).unwrap();
    tenant.append("log", 0, vec![format!("{{\"mark\":\"{mark}\"}}")]).unwrap();
    tenant
        .record_use(vec![(
            id,
            Usage {
                access_count: number as u64 + 1,
                ..Usage::default()
            },
        )])
        .unwrap();
    let blob = tenant.put_blobs(vec![mark.clone().into()]).unwrap()[0];
    let key = Writing {
        idempotency_key: Some("key".into()),
        author: Some(mark.clone()),
    };
    tenant
        .judge(
            id,
            tenure::object::ContradictionStatus::Disputed,
            None,
            &key,
        )
        .unwrap();
    tenant.search("parent").unwrap();
    Held {
        tenant,
        mark,
        id,
        blob,
    }
}

fn no_name_reaches_over_the_wall(home: &Home) {
    let names = hostile();
    let held: Vec<Held> = names
        .iter()
        .enumerate()
        .map(|(number, name)| furnish(home, number, name))
        .collect();
    let mut listed = home.store.tenants().unwrap();
    let mut expected = names.clone();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);

    let mut dice = Dice(3);
    for probe in 0..rounds(10_000, 100_000) {
        let at = dice.roll(held.len() as u64) as usize;
        let Held {
            tenant,
            mark,
            id,
            blob,
        } = &held[at];
        let other = &held[(at + 1 + dice.roll(held.len() as u64 - 1) as usize) % held.len()];
        let seen = match dice.roll(13) {
            0 => format!(
                "{:?}",
                tenant
                    .get(*id)
                    .unwrap()
                    .iter()
                    .map(|one| one.object.revision().content().to_owned())
                    .collect::<Vec<_>>()
            ),
            1 => format!("{:?}", exported(tenant)),
            2 => format!("{:?}", tenant.record("record").unwrap()),
            3 => format!("{:?}", tenant.entries("log", 0).unwrap()),
            4 => format!("{:?}", tenant.log(0, 100).unwrap()),
            5 => {
                assert_eq!(tenant.blob(other.blob).unwrap(), None);
                format!(
                    "{:?}",
                    tenant.blob(*blob).unwrap().map(|blob| String::from_utf8(blob).unwrap())
                )
            }
            6 => {
                let count = tenant.get(*id).unwrap()[0].object.usage().access_count;
                assert_eq!(count, at as u64 + 1);
                continue;
            }
            7 => {
                let resident = tenant.load().unwrap();
                let objects = resident.candidates().objects();
                assert_eq!(objects.len(), 2);
                format!(
                    "{:?}",
                    objects
                        .iter()
                        .map(|one| one.revision().content().to_owned())
                        .collect::<Vec<_>>()
                )
            }
            8 => {
                // Nobody else's revision is there to be expected.
                let theirs = other.tenant.get(*id).unwrap()[0].object.revision().id();
                let error = tenant.retract(*id, Expect::Revision(theirs), &Writing::default());
                assert_eq!(error.unwrap_err().kind, ErrorKind::Conflict);
                continue;
            }
            9 => {
                // Another's key answers nothing here.
                let key = Writing {
                    idempotency_key: Some("key".into()),
                    author: None,
                };
                let again = tenant.judge(
                    *id,
                    tenure::object::ContradictionStatus::Disputed,
                    None,
                    &key,
                );
                assert_eq!(again.unwrap().version, 4);
                continue;
            }
            10 => {
                assert_eq!(tenant.version().unwrap(), 4, "{probe}");
                continue;
            }
            11 => {
                let found = tenant.search("mark").unwrap();
                let found = found.candidates().objects();
                assert_eq!(found.len(), 2);
                let texts = found.iter();
                let texts = texts.map(|one| one.revision().content().to_owned());
                format!("{:?}", texts.collect::<Vec<_>>())
            }
            _ => {
                assert_eq!(tenant.logs().unwrap(), [("log".to_owned(), 1)]);
                format!(
                    "{:?}",
                    tenant
                        .history(*id)
                        .unwrap()
                        .iter()
                        .map(|one| one.object.revision().content().to_owned())
                        .collect::<Vec<_>>()
                )
            }
        };
        assert!(
            seen.contains(mark),
            "{:?} does not see its own: {seen}",
            tenant.name()
        );
        let foreign =
            seen.match_indices("mark-").find(|(place, _)| !seen[*place..].starts_with(mark));
        assert!(
            foreign.is_none(),
            "{:?} sees another's: {seen}",
            tenant.name()
        );
    }
    // Who erases, erases one's own.
    held[0].tenant.erase(vec![held[0].id], &Writing::default()).unwrap();
    for other in &held[1..] {
        assert_eq!(exported(&other.tenant).len(), 3);
    }
}

fn what_cannot_be_a_tenant_is_refused(home: &Home) {
    for name in ["", " ", "\n", "a\0b", &"x".repeat(257)] {
        assert_eq!(home.store.tenant(name).unwrap_err().kind, ErrorKind::Input);
    }
}

#[test]
fn rows_are_walled_off_without_any_condition() {
    let home = Home::postgresql();
    let names = hostile();
    for (number, name) in names.iter().enumerate() {
        furnish(&home, number, name);
    }
    let mut client = home.administrator();
    for name in &names {
        let mut transaction = client.transaction().unwrap();
        transaction
            .batch_execute("SET LOCAL ROLE tenure_app; SET LOCAL search_path TO tenure")
            .unwrap();
        transaction
            .execute("SELECT set_config('tenure.tenant', $1, true)", &[name])
            .unwrap();
        let mut seen = BTreeMap::new();
        for table in TABLES {
            let rows = transaction.query(&format!("SELECT tenant FROM {table}"), &[]).unwrap();
            assert!(
                rows.iter().all(|row| row.get::<_, &str>(0) == name),
                "{table}"
            );
            seen.insert(table, rows.len());
        }
        let empty: Vec<&&str> =
            seen.iter().filter(|(_, rows)| **rows == 0).map(|(table, _)| table).collect();
        assert_eq!(
            empty,
            [&"erasing", &"set_aside", &"tombstones", &"unsearched"]
        );
        // Nor does it write for another.
        for sql in [
            "UPDATE tenants SET version = 99 WHERE tenant <> current_setting('tenure.tenant')",
            "DELETE FROM objects WHERE tenant <> current_setting('tenure.tenant')",
        ] {
            assert_eq!(transaction.execute(sql, &[]).unwrap(), 0);
        }
        let smuggled = "INSERT INTO blobs (tenant, digest, bytes) VALUES ('nobody', '', '')";
        let error = transaction.execute(smuggled, &[]).unwrap_err();
        let error = error.as_db_error().unwrap().message().to_owned();
        assert!(error.contains("row-level security"), "{error}");
    }
    // Who names no tenant sees none, the owner neither; the owner lists tenants, and digests of terms.
    for role in ["tenure_app", "owner"] {
        for table in TABLES {
            let sql = format!("SELECT count(*) FROM tenure.{table}");
            let mut transaction = client.transaction().unwrap();
            transaction.batch_execute(&format!("SET LOCAL ROLE {role}")).unwrap();
            let count: i64 = transaction.query_one(&sql, &[]).unwrap().get(0);
            let listed = role == "owner" && ["tenants", "search"].contains(&table);
            assert_eq!(count > 0, listed, "{role} sees {count} rows of {table}");
        }
    }
    let missing = "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace \
                   AND relkind = 'r' AND NOT (relrowsecurity AND relforcerowsecurity)";
    assert!(client.query(missing, &[]).unwrap().is_empty());
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'tenure'";
    let tables: i64 = client.query_one(tables, &[]).unwrap().get(0);
    assert_eq!(tables, TABLES.len() as i64);
    // Every key starts with the tenant.
    let keys = "SELECT indexrelid::regclass::text FROM pg_index WHERE (indisunique OR indisexclusion) \
                AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'tenure'::regnamespace) \
                AND pg_get_indexdef(indexrelid, 1, true) <> 'tenant'";
    assert!(client.query(keys, &[]).unwrap().is_empty());
}

#[test]
fn a_login_that_owns_nothing_works_and_lists_nobody() {
    let home = Home::postgresql();
    put_one(&home.tenant("acme"), "limit", "1");
    let server = Server::shared();
    let sql = format!(
        "CREATE ROLE worker LOGIN PASSWORD '{0}'; GRANT tenure_app TO worker; \
         CREATE ROLE stranger LOGIN PASSWORD '{0}'",
        crate::common::server::PASSWORD
    );
    home.administrator().batch_execute(&sql).unwrap();
    let worker = Store::open(&server.url_as("worker", home.database())).unwrap();
    let acme = worker.tenant("acme").unwrap();
    put_one(&acme, "limit", "2");
    assert_eq!(acme.version().unwrap(), 2);
    assert_eq!(worker.tenants().unwrap_err().kind, ErrorKind::Policy);
    assert!(worker.migrate().unwrap().is_empty());
    let stranger = Store::open(&server.url_as("stranger", home.database())).unwrap();
    let error = stranger.tenant("acme").unwrap().version().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Policy, "{error}");
    assert!(error.hint.unwrap().contains("tenure_app"));
}

#[test]
fn a_search_asks_the_index_behind_the_wall() {
    let home = Home::postgresql();
    for number in 0..40 {
        let acme = home.tenant("acme");
        put_one(&acme, &format!("limit-{number}"), &format!("word{number}"));
    }
    home.tenant("acme").search("word7").unwrap();
    let mut client = home.administrator();
    let mut ask = |role: &str, tenant: &str, sql: &str| -> Vec<String> {
        let mut transaction = client.transaction().unwrap();
        let settings = format!(
            "SET LOCAL search_path TO tenure; SET LOCAL enable_seqscan TO off; SET LOCAL ROLE {role}"
        );
        transaction.batch_execute(&settings).unwrap();
        let named = "SELECT set_config('tenure.tenant', $1, true)";
        transaction.execute(named, &[&tenant]).unwrap();
        let rows = transaction.query(sql, &[]).unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    let terms =
        "SELECT m::text FROM matching((SELECT terms FROM search LIMIT 1), 0, 99, 99, false) AS m";
    assert_eq!(ask("tenure_app", "acme", terms).len(), 1);
    // Whoever knows a digest of another tenant finds nothing by it.
    let all = "SELECT m::text FROM matching('{}', 0, 99, 99, false) AS m";
    assert_eq!(ask("tenure_app", "acme", all).len(), 40);
    assert_eq!(ask("tenure_app", "other", all).len(), 0);
    assert_eq!(ask("tenure_app", "", all).len(), 0);
    // In a table as large as others are, with what is known of it.
    let many = "INSERT INTO tenure.search SELECT 'acme', 1000 + n, ARRAY[n, n + 1, n + 2] \
                FROM generate_series(1, 5000) n; ANALYZE tenure.search";
    home.administrator().batch_execute(many).unwrap();
    let plan = "EXPLAIN SELECT place FROM search s WHERE s.tenant = \
                nullif(current_setting('tenure.tenant', true), '') AND s.terms @> '{1,2}'";
    let by_index = |lines: Vec<String>| lines.join("\n").contains("search_by_term");
    assert!(by_index(ask("owner", "acme", plan)));
    assert!(!by_index(ask("tenure_app", "acme", plan)));
}

#[test]
fn a_search_looks_at_nothing_of_the_callers() {
    let home = Home::postgresql();
    for tenant in ["acme", "other"] {
        put_one(&home.tenant(tenant), "limit", "word");
        assert_eq!(
            home.tenant(tenant).search("word").unwrap().candidates().objects().len(),
            1
        );
    }
    let mut client = home.administrator();
    let sets = "SET ROLE tenure_app; SELECT set_config('tenure.tenant', 'acme', false)";
    client.batch_execute(sets).unwrap();
    // What stands before the table in the search path would be asked as the owner, who sees all tenants.
    let shadows = "CREATE TABLE pg_temp.seen (tenants text); \
        GRANT ALL ON pg_temp.seen TO PUBLIC; \
        CREATE FUNCTION pg_temp.look() RETURNS bigint LANGUAGE plpgsql AS $f$ BEGIN \
          INSERT INTO pg_temp.seen SELECT string_agg(tenant, ',') FROM tenure.search; \
          RETURN 1; \
        END $f$; \
        CREATE VIEW pg_temp.search AS SELECT pg_temp.look() AS place, 'acme' AS tenant, '{}'::bigint[] AS terms";
    client.batch_execute(shadows).unwrap();
    for path in ["tenure", "pg_temp, tenure"] {
        let path = format!("SET search_path TO {path}");
        client.batch_execute(&path).unwrap();
        let found = "SELECT m::text FROM tenure.matching('{}', 0, 99, 99, false) AS m";
        assert_eq!(client.query(found, &[]).unwrap().len(), 1);
        let seen = client.query("SELECT tenants FROM pg_temp.seen", &[]);
        assert!(seen.unwrap().is_empty());
    }
}

/// The payload of a compile, and the reason for each object.
fn compiled(tenant: &Tenant) -> (String, Vec<(String, String)>) {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("standard").unwrap();
    let mut request = Request::new("What is the port of the pump?", Budget::tokens(4_000));
    request.principal.tenant = tenant.name().to_owned();
    request.principal.clearance = Classification::HighlyRestricted;
    let loaded = tenant.load().unwrap();
    let none = Facts::none();
    let outcome = compile(&world, &policy, &request, loaded.candidates(), &none).unwrap();
    let compiled = outcome.single().unwrap();
    let verdicts = compiled.trace.verdicts.iter();
    let verdicts = verdicts.map(|one| (one.name.to_string(), one.reason.code().to_owned()));
    let mut verdicts: Vec<(String, String)> = verdicts.collect();
    verdicts.sort_unstable();
    (format!("{:?}", compiled.envelope.payload), verdicts)
}

/// The judged pairs, by name.
fn judged(tenant: &Tenant) -> Vec<String> {
    let found = tenant.conflicts(None, None).unwrap().into_iter();
    let told = found.map(|one| {
        let (first, second) = (one.first.name, one.second.name);
        format!("{first} {second} {:?} {:?}", one.loser, one.ground)
    });
    told.collect()
}

/// Everything that a tenant holds, but for links, instants and whose it is.
fn held(tenant: &Tenant) -> Vec<String> {
    let lines = exported(tenant).into_iter();
    let told = lines.map(|line| {
        let ended = line.tx_end.is_some();
        let ObjectDocument { name, content, .. } = line.object;
        let judged = (line.lifecycle, line.contradiction);
        format!("{name} {content} {judged:?} {ended}")
    });
    let mut told: Vec<String> = told.collect();
    told.sort_unstable();
    told
}

fn numbered(number: u128, name: &str, replaced_by: Option<u128>) -> ObjectDocument {
    ObjectDocument {
        object_id: Some(ObjectId::from_bits(number)),
        supersession_link: replaced_by.map(ObjectId::from_bits),
        ..document(name, &format!("{name}: of the port of the pump."))
    }
}

fn says(document: ObjectDocument, port: u32) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some(format!("port == {port}")),
        canonical_entity_ids: vec!["pump".into()],
        ..document
    }
}

fn a_link_to_the_object_of_another_tenant_does_nothing(home: &Home) {
    let [acme, plain, globex] = ["acme", "plain", "globex"].map(|name| home.tenant(name));
    let theirs = says(numbered(1, "theirs", None), 8080);
    let theirs = put(&globex, vec![theirs]).objects[0].object_id;
    let before = exported(&globex);
    let at_globex = || (compiled(&globex), judged(&globex), exported(&globex));
    let untouched = at_globex();
    for (tenant, link) in [(&acme, Some(1)), (&plain, None)] {
        put(tenant, vec![numbered(2, "note", link)]);
        put(tenant, vec![says(numbered(3, "a", link), 80)]);
        put(tenant, vec![says(numbered(4, "b", None), 443)]);
        let summary = ObjectDocument {
            derived_from: vec![ObjectId::from_bits(2)],
            ..numbered(5, "summary", None)
        };
        put(tenant, vec![summary]);
    }
    let linked = exported(&acme).into_iter();
    let linked = linked.filter(|line| line.superseded_by == Some(theirs));
    assert_eq!(linked.count(), 2);
    let same = |when: &str| {
        assert_eq!(compiled(&acme), compiled(&plain), "{when}");
        assert_eq!(judged(&acme), judged(&plain), "{when}");
        assert_eq!(held(&acme), held(&plain), "{when}");
        assert!(acme.check().unwrap().is_empty(), "{when}");
    };
    same("written");
    let reasons: BTreeMap<String, String> = compiled(&acme).1.into_iter().collect();
    assert_eq!((&*reasons["note"], &*reasons["summary"]), ("fits", "fits"));
    assert_eq!(judged(&acme), ["a b Both Tie"]);
    assert_eq!(at_globex(), untouched);
    // Nobody says so of an object that is not there.
    let status = tenure::object::ContradictionStatus::Clean;
    let note = ObjectId::from_bits(2);
    let refused = acme.judge(note, status, Some(theirs), &Writing::default());
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
    // Neither side's erasure reaches the other.
    for tenant in [&acme, &plain] {
        let gone = vec![ObjectId::from_bits(3)];
        let erased = tenant.erase(gone, &Writing::default()).unwrap();
        assert_eq!(erased.objects.len(), 1);
    }
    same("erased");
    assert_eq!(exported(&globex), before);
    let kept = exported(&acme);
    globex.erase(vec![theirs], &Writing::default()).unwrap();
    assert_eq!(exported(&globex), []);
    assert_eq!(exported(&acme), kept);
    same("theirs is erased");
}

fn a_link_means_the_object_of_its_own_tenant(home: &Home) {
    let [here, there] = ["here", "there"].map(|name| home.tenant(name));
    let both = |link: Option<u128>| {
        vec![
            says(numbered(1, "new", None), 443),
            says(numbered(2, "old", link), 80),
        ]
    };
    put(&there, both(None));
    let untouched = (compiled(&there), judged(&there), exported(&there));
    put(&here, both(Some(1)));
    let reason = |name: &str| {
        let all: BTreeMap<String, String> = compiled(&here).1.into_iter().collect();
        all[name].clone()
    };
    assert_eq!(
        (reason("new").as_str(), reason("old").as_str()),
        ("fits", "superseded")
    );
    let at_there = || (compiled(&there), judged(&there), exported(&there));
    assert_eq!(at_there(), untouched);
    let (kept, told) = (exported(&here), (compiled(&here), judged(&here)));
    // What the other tenant's object of the same id becomes is nothing to this one's.
    let new = ObjectId::from_bits(1);
    there.retract(new, Expect::Any, &Writing::default()).unwrap();
    assert_eq!((compiled(&here), judged(&here)), told);
    put(&there, both(None));
    there.erase(vec![new], &Writing::default()).unwrap();
    assert_eq!((compiled(&here), judged(&here)), told);
    assert_eq!(exported(&here), kept);
    // Without its own, the old one stands again; the other tenant has what it had.
    let there_now = exported(&there);
    here.erase(vec![new], &Writing::default()).unwrap();
    assert_eq!(reason("old"), "fits");
    assert_eq!(exported(&there), there_now);
    assert!(here.check().unwrap().is_empty() && there.check().unwrap().is_empty());
}
