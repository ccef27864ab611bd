//! Writes that are done on a state or not at all, and once.

use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::object::Usage;
use tenure::time::Instant;

const LIMIT: &str = "/api/v1/objects/limit";
const CODER: &str = "/api/v1/registries/coder";
const OPS: &str = "/api/v1/registries/coder/ops";

fn call(bench: &Bench, method: &str, path: &str, headers: &[&str], body: &Value) -> Reply {
    let mut headers = headers.to_vec();
    headers.push("content-type: application/json");
    bench.ask(method, path, &headers, body.to_string().as_bytes())
}

fn post(bench: &Bench, path: &str, headers: &[&str], body: &Value) -> Reply {
    call(bench, "POST", path, headers, body)
}

fn get(bench: &Bench, path: &str, known: &str) -> Reply {
    bench.ask("GET", path, &[&format!("if-none-match: {known}")], b"")
}

/// The name of every block of the registry `coder`, in order.
fn order(bench: &Bench) -> String {
    let shown = bench.get(CODER).json();
    let blocks = shown["blocks"].as_array().unwrap().iter();
    blocks.map(|block| block["name"].as_str().unwrap()).collect()
}

/// A registry `coder` of the blocks a, b and c.
fn coder(bench: &Bench) {
    let new = json!({ "label": "coder", "kind": "agent" });
    for _ in 0..2 {
        let made = post(
            bench,
            "/api/v1/registries",
            &["idempotency-key: make"],
            &new,
        );
        assert_eq!(made.status, 201, "{}", made.json());
        assert_eq!(made.json()["registry"], "coder");
        assert_eq!(made.header("etag"), Some("\"0\""));
    }
    for name in ["a", "b", "c"] {
        let object =
            json!({ "name": name, "content": name, "author": "agent", "authority_level": 3 });
        let write = json!({ "operation": { "op": "write", "object": object, "at": "back" } });
        assert_eq!(post(bench, OPS, &[], &write).status, 200);
    }
    assert_eq!(order(bench), "abc");
}

fn up(name: &str) -> Value {
    json!({ "operation": { "op": "promote", "blocks": [name], "to": { "steps": 1 } } })
}

#[test]
fn a_write_of_a_registry_under_a_key_is_done_once() {
    let bench = Bench::new(&[]);
    coder(&bench);
    let first = post(&bench, OPS, &["idempotency-key: k1"], &up("c"));
    assert_eq!(first.status, 200, "{}", first.json());
    assert_eq!(first.header("etag"), Some("\"4\""));
    assert_eq!(order(&bench), "acb");
    let evict = json!({ "operation": { "op": "evict", "blocks": ["b"] } });
    let gone = post(&bench, OPS, &["idempotency-key: k2"], &evict);
    assert_eq!(gone.json()["removed"], json!(["b"]));
    // Sent again it is answered as it was, whatever was done since, and though it expected another state.
    for (key, said, change) in [("k1", &first, up("c")), ("k2", &gone, evict)] {
        let key = format!("idempotency-key: {key}");
        let again = post(&bench, OPS, &[&key, "if-match: \"3\""], &change);
        assert_eq!(again.status, 200);
        assert_eq!(again.json(), said.json());
        assert_eq!(again.header("etag"), said.header("etag"));
    }
    assert_eq!(order(&bench), "ac");
    let other = post(&bench, OPS, &["idempotency-key: k1"], &up("a"));
    assert_eq!(other.status, 409, "{}", other.json());
    let other = json!({ "label": "other", "kind": "agent" });
    let other = post(
        &bench,
        "/api/v1/registries",
        &["idempotency-key: make"],
        &other,
    );
    assert_eq!(other.status, 409, "{}", other.json());
    assert_eq!(
        bench.get("/api/v1/registries").json().as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_write_of_a_registry_says_which_authority_it_lowered() {
    let bench = Bench::new(&[]);
    coder(&bench);
    let found = json!({ "name": "page", "content": "Open the valve.", "object_type": "rule", "authority_level": 1, "source_origin": "https://pumps.example/valve" });
    let write = json!({ "operation": { "op": "write", "object": found, "at": "back" } });
    // Sent again it says the same.
    for _ in 0..2 {
        let reply = post(&bench, OPS, &["idempotency-key: k1"], &write);
        assert_eq!(reply.status, 200, "{}", reply.json());
        let lowered = json!([{ "name": "page", "asked": 1, "has": 4 }]);
        assert_eq!(reply.json()["lowered"], lowered, "{}", reply.json());
    }
    let own =
        json!({ "name": "own", "content": "Close it.", "author": "agent", "authority_level": 3 });
    let write = json!({ "operation": { "op": "write", "object": own, "at": "back" } });
    assert_eq!(post(&bench, OPS, &[], &write).json()["lowered"], json!([]));
    let import = json!({ "objects": [{ "name": "other", "content": "Open it.", "object_type": "rule", "authority_level": 1, "source_origin": "mailto:eve@pumps.example" }] });
    let imported = post(&bench, &format!("{CODER}/import"), &[], &import);
    assert_eq!(
        imported.json()["lowered"][0]["has"],
        4,
        "{}",
        imported.json()
    );
}

#[test]
fn a_write_under_a_key_that_is_sent_several_times_at_once_is_done_once() {
    let bench = Bench::new(&[]);
    let new = json!({ "label": "coder", "kind": "agent" });
    let object = json!({ "name": "a", "content": "a", "author": "agent", "authority_level": 3 });
    let write = json!({ "operation": { "op": "write", "object": object, "at": "back" } });
    let evict = json!({ "operation": { "op": "evict", "blocks": ["a"] } });
    for (path, key, body, status) in [
        ("/api/v1/registries", "idempotency-key: 1", new, 201),
        (OPS, "idempotency-key: 2", write, 200),
        (OPS, "idempotency-key: 3", evict, 200),
    ] {
        let replies: Vec<Reply> = std::thread::scope(|scope| {
            let ask = || scope.spawn(|| post(&bench, path, &[key], &body));
            let asked: Vec<_> = (0..8).map(|_| ask()).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        });
        for reply in &replies {
            assert_eq!(reply.status, status, "{}", reply.json());
            assert_eq!(reply.body, replies[0].body);
        }
    }
    assert_eq!(bench.get(CODER).header("etag"), Some("\"2\""));
}

#[test]
fn a_write_of_a_registry_is_done_on_the_state_that_it_names() {
    let bench = Bench::new(&[]);
    coder(&bench);
    let read = bench.get(CODER).header("etag").unwrap().to_owned();
    assert_eq!(read, "\"3\"");
    let late = post(&bench, OPS, &["if-match: \"1\""], &up("c"));
    assert_eq!(late.status, 412, "{}", late.json());
    assert_eq!(late.json()["expected"], "the ETag \"3\"");
    assert_eq!(order(&bench), "abc");
    let done = post(&bench, OPS, &[&format!("if-match: {read}")], &up("c"));
    assert_eq!((done.status, order(&bench).as_str()), (200, "acb"));
    assert_eq!(done.header("etag"), Some("\"4\""));
    assert_eq!(bench.get(CODER).header("etag"), Some("\"4\""));
    for wrong in ["3", "W/\"3\"", "\"sha256:0\""] {
        let reply = post(&bench, OPS, &[&format!("if-match: {wrong}")], &up("c"));
        assert_eq!(reply.status, 400, "{wrong}");
    }
}

#[test]
fn a_write_refuses_the_conditions_that_it_does_not_heed() {
    let bench = Bench::new(&[]);
    coder(&bench);
    let new = json!({ "id": "s1", "text": "Report." });
    assert_eq!(post(&bench, "/api/v1/sessions", &[], &new).status, 201);
    let session = |verb: &str| format!("/api/v1/sessions/s1/{verb}");
    let pin = json!({ "message": "t2" });
    for (path, header, body) in [
        (session("checkpoint"), "Idempotency-Key: k", json!({})),
        (session("pin"), "Idempotency-Key: k", pin.clone()),
        (session("unpin"), "idempotency-key: k", pin.clone()),
        (
            session("learn"),
            "idempotency-key: k",
            json!({ "error": "" }),
        ),
        (session("compile"), "idempotency-key: k", json!({})),
        (
            session("rehydrate"),
            "if-match: \"1\"",
            json!({ "id": "t2" }),
        ),
        ("/api/v1/sessions".into(), "if-match: \"1\"", json!({})),
        (OPS.into(), "if-none-match: *", up("c")),
        (
            "/api/v1/objects".into(),
            "if-match: \"1\"",
            json!({ "objects": [] }),
        ),
    ] {
        let reply = post(&bench, &path, &[header], &body);
        assert_eq!(reply.status, 400, "{path} {header}");
        let detail = reply.json()["detail"].to_string().to_ascii_lowercase();
        let name = header.split(':').next().unwrap().to_ascii_lowercase();
        assert!(detail.contains(&name), "{detail}");
    }
    assert_eq!(order(&bench), "abc");
    assert_eq!(post(&bench, &session("pin"), &[], &pin).status, 200);
    // What only reads is the same however often it is asked.
    let count = json!({ "text": "a", "model": "gpt-4o" });
    let counted = post(&bench, "/api/v1/tokens", &["idempotency-key: k"], &count);
    assert_eq!(counted.status, 200);
}

#[test]
fn the_description_says_what_may_be_answered_with_304() {
    let bench = Bench::new(&[]);
    let new = json!({ "id": "s1", "text": "Report." });
    assert_eq!(post(&bench, "/api/v1/sessions", &[], &new).status, 201);
    let limit = json!({ "name": "limit", "content": "At most 10 kW." });
    assert_eq!(call(&bench, "PUT", LIMIT, &[], &limit).status, 201);
    coder(&bench);
    let described = bench.get("/openapi.json").json();
    for (path, asked) in [
        ("/api/v1/objects/{object}", LIMIT),
        ("/api/v1/sessions/{session}", "/api/v1/sessions/s1"),
        (
            "/api/v1/sessions/{session}/export",
            "/api/v1/sessions/s1/export",
        ),
        ("/api/v1/registries/{label}", CODER),
    ] {
        let described = &described["paths"][path]["get"];
        let said = described["responses"].get("304").is_some();
        let parameters = described["parameters"].as_array().unwrap();
        let taken = parameters.iter().any(|known| known["name"] == "If-None-Match");
        let tag = bench.get(asked).header("etag").unwrap().to_owned();
        let done = get(&bench, asked, &tag).status == 304;
        assert_eq!((said, taken, done), (true, true, true), "{path}");
    }
}

#[test]
fn the_tag_of_an_object_changes_with_what_is_shown() {
    let bench = Bench::new(&[]);
    let store = &bench.store;
    let source = json!({ "name": "source", "content": "Measured." });
    let source = call(&bench, "PUT", "/api/v1/objects/source", &[], &source).json();
    let source = source["objects"][0]["object_id"].clone();
    let limit =
        |text: &str| json!({ "name": "limit", "content": text, "derived_from": [source.clone()] });
    let made = call(&bench, "PUT", LIMIT, &[], &limit("At most 10 kW."));
    assert_eq!(made.status, 201, "{}", made.json());
    let first = bench.get(LIMIT);
    let tag = first.header("etag").unwrap();
    let known = |tag: &str| get(&bench, LIMIT, tag).status;
    assert_eq!(known(tag), 304);
    assert_eq!(known(&format!("\"x\", W/{tag}")), 304);

    let tenant = store.tenant("local").unwrap();
    let id = tenant.named("limit").unwrap()[0];
    let usage = Usage {
        last_confirmed: Some(Instant::from_micros(5)),
        ..Usage::default()
    };
    tenant.record_use(vec![(id, usage)]).unwrap();
    let second = get(&bench, LIMIT, tag);
    assert_eq!(second.status, 200);
    assert_ne!(second.body, first.body);
    let newer = second.header("etag").unwrap();
    assert_ne!(newer, tag);
    assert_eq!(known(newer), 304);

    // Who sees less of it has another tag: the ids of other objects are operators' to see.
    let ana = "%7B%22tenant%22%3A%22local%22%2C%22clearance%22%3A%22restricted%22%7D";
    let less = bench.get(&format!("{LIMIT}?principal={ana}"));
    assert_eq!(less.status, 200, "{}", less.json());
    assert_ne!(less.body, second.body);
    let theirs = less.header("etag").unwrap();
    assert_ne!(theirs, newer);
    assert_eq!(
        theirs.split_once('.').unwrap().0,
        newer.split_once('.').unwrap().0
    );

    // A write is over the revision, whatever was said of it meanwhile.
    let over = |tag: &str| format!("if-match: {tag}");
    let put = call(
        &bench,
        "PUT",
        LIMIT,
        &[&over(tag)],
        &limit("At most 11 kW."),
    );
    assert_eq!(put.status, 200, "{}", put.json());
    let late = call(
        &bench,
        "PUT",
        LIMIT,
        &[&over(newer)],
        &limit("At most 12 kW."),
    );
    assert_eq!(late.status, 412);
    let written = put.header("etag").unwrap();
    assert!(!written.contains('.'), "{written}");
    let put = call(
        &bench,
        "PUT",
        LIMIT,
        &[&over(written)],
        &limit("At most 12 kW."),
    );
    assert_eq!(put.status, 200, "{}", put.json());
    let last = bench.get(LIMIT).header("etag").unwrap().to_owned();
    let deleted = call(&bench, "DELETE", LIMIT, &[&over(&last)], &Value::Null);
    assert_eq!(deleted.status, 200);
    assert_eq!(known(&last), 404);
}
