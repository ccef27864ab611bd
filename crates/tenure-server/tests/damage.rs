//! A server over a store that is not what was written.

use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_workspace::keys::{Grant, Keys};

fn put(bench: &Bench, object: &Value) -> Reply {
    let path = format!("/api/v1/objects/{}", object["name"].as_str().unwrap());
    let headers = ["content-type: application/json"];
    bench.ask("PUT", &path, &headers, object.to_string().as_bytes())
}

/// Alters the file past the store.
fn alter(bench: &Bench, sql: &str) {
    let path = bench.folder.path().join("store.db");
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = format!("DROP TRIGGER IF EXISTS revisions_never_change; {sql}");
    connection.execute_batch(&sql).unwrap();
}

fn compile(bench: &Bench) -> Reply {
    let call = json!({
        "request": { "task": { "objective": "Report." }, "budget": { "tokens": 900 } },
    });
    bench.post("/api/v1/compile", call.to_string().as_bytes())
}

#[test]
fn one_damaged_revision_keeps_nobody_from_being_answered() {
    let bench = Bench::new(&[]);
    put(
        &bench,
        &json!({ "name": "limit", "content": "At most 10 kW." }),
    );
    put(
        &bench,
        &json!({ "name": "note", "content": "The pump is blue." }),
    );
    alter(
        &bench,
        "UPDATE revisions SET body = replace(body, 'At most', 'At least')",
    );
    // By itself it is no answer, and the failure is not the caller's.
    for path in ["/api/v1/objects/limit", "/api/v1/objects/limit/history"] {
        let reply = bench.get(path);
        assert_eq!(reply.status, 500, "{path}");
        assert_eq!(reply.json()["kind"], "damaged");
        assert!(!String::from_utf8_lossy(&reply.body).contains("At least"));
    }
    assert_eq!(bench.get("/api/v1/objects/note").status, 200);
    // Among others, it is left out, and said to be.
    let listed = bench.get("/api/v1/objects").json();
    assert_eq!(listed["objects"].as_array().unwrap().len(), 1);
    assert_eq!(listed["damaged"], 1);
    let compiled = compile(&bench);
    assert_eq!(compiled.status, 200);
    let text = String::from_utf8_lossy(&compiled.body).into_owned();
    assert!(
        text.contains("blue") && !text.contains("At least"),
        "{text}"
    );
    let verdicts = compiled.json()["trace"]["verdicts"].clone();
    let verdicts = verdicts.as_array().unwrap();
    let limit = verdicts.iter().find(|verdict| verdict["name"] == "limit");
    assert_eq!(limit.unwrap()["reason"]["code"], "damaged");
    let query = json!({ "text": "At least" });
    let found = bench.post("/api/v1/query", query.to_string().as_bytes());
    assert_eq!(found.json()["passages"], json!([]));
    // It is counted, once for the revision and once for each answer that was not given.
    let counted =
        |what: &str| bench.metric(&format!("tenure_store_damaged_total{{what=\"{what}\"}}"));
    assert_eq!(counted("revision"), Some(1.0));
    assert_eq!(counted("answer"), Some(2.0));
    assert_eq!(bench.get("/readyz").status, 200);
    // What must go in fails the compile.
    put(
        &bench,
        &json!({ "name": "must", "content": "At most 3 bar.", "removable": false }),
    );
    alter(
        &bench,
        "UPDATE revisions SET body = replace(body, '3 bar', '9 bar')",
    );
    let fresh = Bench::over(
        tempfile::tempdir().unwrap(),
        bench.store.clone(),
        &[],
        |options| options,
    );
    let failed = compile(&fresh);
    assert_eq!(failed.status, 500);
    assert_eq!(failed.json()["kind"], "damaged");
}

#[test]
fn a_store_that_is_damaged_as_a_whole_is_not_ready() {
    let bench = Bench::new(&[]);
    put(
        &bench,
        &json!({ "name": "limit", "content": "At most 10 kW." }),
    );
    assert_eq!(bench.get("/readyz").status, 200);
    alter(&bench, "UPDATE tenants SET version = version + 7");
    assert_eq!(bench.get("/readyz").status, 503);
    assert_eq!(bench.get("/healthz").status, 200);
    assert_eq!(bench.get("/api/v1/objects/limit").status, 500);
}

#[test]
fn a_lost_tenant_is_damage() {
    let bench = Bench::new(&[]);
    put(
        &bench,
        &json!({ "name": "limit", "content": "At most 10 kW." }),
    );
    alter(&bench, "DELETE FROM tenants");
    assert_eq!(bench.get("/readyz").status, 503);
    for path in ["/api/v1/objects/limit", "/api/v1/objects"] {
        assert_eq!(bench.get(path).status, 500, "{path}");
    }
    assert_eq!(
        put(&bench, &json!({ "name": "other", "content": "1" })).status,
        500
    );
}

#[test]
fn a_file_that_is_replaced_or_removed_gets_no_writes() {
    let bench = Bench::new(&[]);
    let limit = json!({ "name": "limit", "content": "At most 10 kW." });
    assert_eq!(put(&bench, &limit).status, 201);
    let path = bench.folder.path().join("store.db");
    let away = bench.folder.path().join("away.db");
    std::fs::rename(&path, &away).unwrap();
    assert_eq!(put(&bench, &limit).status, 503);
    assert_eq!(bench.get("/readyz").status, 503);
    std::fs::copy(&away, &path).unwrap();
    assert_eq!(put(&bench, &limit).status, 503);
    assert_eq!(bench.get("/readyz").status, 503);
    std::fs::rename(&away, &path).unwrap();
    assert_eq!(put(&bench, &limit).status, 200);
    assert_eq!(bench.get("/readyz").status, 200);
}

#[test]
fn a_judgement_is_an_operators_and_stays() {
    let bench = Bench::new(&[]);
    put(
        &bench,
        &json!({ "name": "limit", "content": "At most 10 kW." }),
    );
    put(
        &bench,
        &json!({ "name": "other", "content": "At most 3 bar." }),
    );
    let judge = |status: &str, by: Value| {
        let body = json!({ "contradiction_status": status, "superseded_by": by });
        bench.post(
            "/api/v1/objects/limit/judgement",
            body.to_string().as_bytes(),
        )
    };
    assert_eq!(judge("quarantined", json!("other")).status, 200);
    put(
        &bench,
        &json!({ "name": "limit", "content": "At most 99 kW." }),
    );
    let shown = bench.get("/api/v1/objects/limit").json();
    assert_eq!(shown[0]["object"]["contradiction_status"], "quarantined");
    assert!(!String::from_utf8_lossy(&compile(&bench).body).contains("99 kW"));
    assert_eq!(judge("clean", json!("limit")).status, 409);
    assert_eq!(judge("fine", json!(null)).status, 400);
    assert_eq!(judge("clean", json!(null)).status, 200);
    assert!(String::from_utf8_lossy(&compile(&bench).body).contains("99 kW"));
    let nobodys = bench.post(
        "/api/v1/objects/nobodys/judgement",
        br#"{"contradiction_status":"clean"}"#,
    );
    assert_eq!(nobodys.status, 404);
}

#[test]
fn a_plain_key_is_refused_on_every_way_to_a_judgement() {
    let folder = tempfile::tempdir().unwrap();
    let store = tenure_store::Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let made = Instant::from_micros(1_790_000_000_000_000);
    let key = |operator: bool| {
        let grant = Grant {
            tenant: "acme".into(),
            roles: vec!["writer".into()],
            clearance: Some(Classification::Restricted),
            operator,
            ..Grant::default()
        };
        format!("x-tenure-key: {}", keys.create(grant, made).unwrap().1)
    };
    let (operator, plain) = (key(true), key(false));
    let bench = Bench::over(folder, store, &[], |options| options);
    let ask = |key: Option<&str>, method: &str, path: &str, body: &Value| {
        let headers: Vec<&str> =
            ["content-type: application/json"].into_iter().chain(key).collect();
        bench.ask(method, path, &headers, body.to_string().as_bytes())
    };
    let limit = json!({ "name": "limit", "content": "At most 10 kW." });
    let mut judged = limit.clone();
    judged["contradiction_status"] = "clean".into();
    let path = "/api/v1/objects/limit";
    let judgement = "/api/v1/objects/limit/judgement";
    assert_eq!(ask(Some(&operator), "PUT", path, &limit).status, 201);
    let status = json!({ "contradiction_status": "quarantined" });
    assert_eq!(ask(Some(&operator), "POST", judgement, &status).status, 200);
    let tenant = bench.store.tenant("acme").unwrap();
    let version = tenant.version().unwrap();
    let clean = json!({ "contradiction_status": "clean" });
    let block = json!({ "op": "write", "object": judged });
    for (method, path, body) in [
        ("POST", judgement, &clean),
        ("PUT", path, &judged),
        ("POST", "/api/v1/objects", &json!({ "objects": [judged] })),
        ("DELETE", path, &json!(null)),
        ("POST", "/api/v1/registries", &json!({ "label": "notes" })),
        ("POST", "/api/v1/registries/notes/ops", &block),
    ] {
        assert_eq!(
            ask(Some(&plain), method, path, body).status,
            403,
            "{method} {path}"
        );
        assert_eq!(ask(None, method, path, body).status, 401, "{method} {path}");
    }
    assert_eq!(tenant.version().unwrap(), version);
    let shown = ask(Some(&plain), "GET", path, &json!(null)).json();
    assert_eq!(shown[0]["object"]["contradiction_status"], "quarantined");
    assert_eq!(ask(Some(&operator), "POST", judgement, &clean).status, 200);
}
