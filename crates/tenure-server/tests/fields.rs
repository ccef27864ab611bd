//! The field of a request that is wrong: every 400 names it.

use crate::support::Bench;
use serde_json::{Value, json};

/// A request without a fault, for others to have one.
fn request(more: Value) -> Value {
    let mut request = json!({ "task": { "objective": "Report." }, "budget": { "tokens": 900 } });
    let fields = request.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    json!({ "request": request })
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

/// Asks; what is wrong with the answer if it is no 400 that names the field.
fn wrong(
    bench: &Bench,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &[u8],
    field: &str,
) -> Option<String> {
    let all = [&["content-type: application/json"], headers].concat();
    let reply = bench.ask(method, path, &all, body);
    let problem = reply.json();
    let told = problem["detail"].as_str().is_some_and(|detail| !detail.is_empty());
    if reply.status == 400 && problem["at"]["source"] == field && told {
        return None;
    }
    let body = String::from_utf8_lossy(body);
    Some(format!(
        "{method} {path} {headers:?} {body}\n  not `{field}`: {problem}\n"
    ))
}

/// Checks that nothing is wrong.
fn all_name_it(wrong: impl Iterator<Item = Option<String>>) {
    let wrong: String = wrong.flatten().collect();
    assert!(wrong.is_empty(), "{wrong}");
}

fn filled() -> Bench {
    let bench = Bench::new(&[]);
    for (path, body) in [
        (
            "objects",
            json!({ "objects": [{ "name": "limit", "content": "At most 10 kW." }] }),
        ),
        ("registries", json!({ "label": "main", "kind": "agent" })),
        ("sessions", json!({ "id": "s", "text": "How warm is it?" })),
        ("compile", with(request(json!({})), "record", json!(true))),
    ] {
        let path = format!("/api/v1/{path}");
        let made = bench.post(&path, body.to_string().as_bytes());
        assert!(made.status < 300, "{path}: {}", made.json());
    }
    bench
}

#[test]
fn a_body_names_the_field_that_is_wrong() {
    let bench = filled();
    let mut found = Vec::new();
    let wrong_object =
        |object: Value| json!({ "objects": [{ "name": "a", "content": "A." }, object] });
    let typed = |field: &str, value: Value| with(request(json!({})), field, value);
    for (path, body, field) in [
        ("compile", json!({}), "request"),
        ("compile", json!({ "requests": {} }), "requests"),
        ("compile", json!({ "request": 7 }), "request"),
        (
            "compile",
            json!({ "request": { "task": {} } }),
            "request.task.objective",
        ),
        (
            "compile",
            request(json!({ "budget": { "tokens": "many" } })),
            "request.budget.tokens",
        ),
        (
            "compile",
            request(json!({ "budget": { "tokens": 0 } })),
            "request.budget.tokens",
        ),
        ("compile", request(json!({ "budgt": {} })), "request.budgt"),
        (
            "compile",
            request(json!({ "version": 99 })),
            "request.version",
        ),
        (
            "compile",
            request(json!({ "task": { "objective": " " } })),
            "request.task.objective",
        ),
        ("compile", request(json!({ "query": "" })), "request.query"),
        ("compile", request(json!({ "gate": {} })), "request.gate"),
        (
            "compile",
            request(json!({ "gate": { "top_k": "x" } })),
            "request.gate.top_k",
        ),
        (
            "compile",
            request(json!({ "model": "gpt-4p" })),
            "request.model",
        ),
        (
            "compile",
            request(json!({ "target": "fax" })),
            "request.target",
        ),
        (
            "compile",
            request(json!({ "as_of": { "valid": "soon" } })),
            "request.as_of.valid",
        ),
        (
            "compile",
            request(json!({ "retrieval": { "subqueries": [] } })),
            "request.retrieval",
        ),
        (
            "compile",
            request(json!({ "principal": { "roles": 7 } })),
            "request.principal.roles",
        ),
        ("compile", typed("policy", json!("none")), "policy"),
        (
            "compile",
            typed("policy", json!({ "name": "x", "orders": 1 })),
            "policy.orders",
        ),
        ("compile", typed("registry", json!("none")), "registry"),
        ("compile", typed("registry", json!("main@99")), "registry"),
        ("compile", typed("store", json!("yes")), "store"),
        ("compile", typed("version", json!(-1)), "version"),
        ("compile", typed("view", json!("mine")), "view"),
        (
            "compile",
            typed("objects", json!([{ "name": "a" }, { "content": "B." }])),
            "objects[0]",
        ),
        (
            "compile",
            typed("objects", json!([{ "name": "", "content": "x" }])),
            "objects[0]",
        ),
        (
            "compile",
            typed("objects", json!([{ "name": "a", "content": 7 }])),
            "objects[0].content",
        ),
        ("explain", typed("why", json!(7)), "why"),
        ("explain", typed("policies", json!("x")), "policies"),
        (
            "explain",
            request(json!({ "budget": { "tokens": "x" } })),
            "request.budget.tokens",
        ),
        ("explain", typed("why", json!("nobody")), "why"),
        ("gate", request(json!({})), "request"),
        ("query", json!({}), "text"),
        ("query", json!({ "text": " " }), "text"),
        ("query", json!({ "text": "x", "model": "gpt-4p" }), "model"),
        (
            "query",
            json!({ "text": "x", "principal": { "roles": 7 } }),
            "principal.roles",
        ),
        (
            "query",
            json!({ "text": "x", "as_of": { "known": 7 } }),
            "as_of.known",
        ),
        ("query", json!({ "text": "x", "policy": "none" }), "policy"),
        ("tokens", json!({ "text": "x" }), "model"),
        ("tokens", json!({ "text": "x", "model": "gpt-4p" }), "model"),
        ("diff", json!({ "before": 7, "after": {} }), "after.version"),
        ("replay", json!({ "record_id": 7 }), "record_id"),
        (
            "objects",
            wrong_object(json!({ "content": "B." })),
            "objects[1]",
        ),
        (
            "objects",
            wrong_object(json!({ "name": "b", "content": "B.", "priority": 7 })),
            "objects[1].priority",
        ),
        (
            "objects",
            wrong_object(json!({ "name": "b", "content": "" })),
            "objects[1]",
        ),
        (
            "objects/limit/judgement",
            json!({ "contradiction_status": "bad" }),
            "contradiction_status",
        ),
        (
            "objects/limit/judgement",
            json!({ "contradiction_status": "overridden", "superseded_by": "none" }),
            "superseded_by",
        ),
        (
            "registries",
            json!({ "label": "a@b", "kind": "agent" }),
            "label",
        ),
        (
            "registries",
            json!({ "label": "b", "kind": "human" }),
            "kind",
        ),
        (
            "registries",
            json!({ "label": "b", "kind": "agent", "writes_to": ["none"] }),
            "writes_to",
        ),
        (
            "registries/main/ops",
            json!({ "operation": 7 }),
            "operation",
        ),
        (
            "registries/main/ops",
            json!({ "operation": { "op": "write", "object": { "name": "x" }, "at": "back" } }),
            "operation.object",
        ),
        (
            "registries/main/ops",
            json!({ "operation": { "op": "evict", "blocks": ["none"] } }),
            "operation",
        ),
        (
            "registries/main/ops",
            json!({ "operation": { "op": "evict", "blocks": [] }, "actor": "none" }),
            "actor",
        ),
        ("sessions", json!({ "id": "a b" }), "id"),
        (
            "sessions",
            json!({ "text": "x", "messages": [] }),
            "messages",
        ),
        (
            "sessions",
            json!({ "messages": [{ "role": "nobody", "content": "x" }], "format": "openai-chat" }),
            "messages[0]",
        ),
        ("sessions", json!({ "text": "x", "role": "nobody" }), "role"),
        ("sessions/s/messages", json!({}), "messages"),
        ("sessions/s/messages", json!({ "messages": 7 }), "messages"),
        ("sessions/s/compile", json!({ "request": 7 }), "request"),
        (
            "sessions/s/compile",
            json!({ "request": { "budget": { "tokens": 0 } } }),
            "request.budget.tokens",
        ),
        ("sessions/s/compile", json!({ "policy": "none" }), "policy"),
        ("sessions/s/rehydrate", json!({}), "id"),
        ("sessions/s/rehydrate", json!({ "id": "x" }), "id"),
        (
            "sessions/s/rehydrate",
            json!({ "query": "x", "model": "gpt-4p" }),
            "model",
        ),
        ("sessions/s/checkpoint", json!({ "keep": -1 }), "keep"),
        (
            "sessions/s/checkpoint",
            json!({ "policy": "none" }),
            "policy",
        ),
        (
            "sessions/s/checkpoint",
            json!({ "model": "gpt-4p" }),
            "model",
        ),
        ("sessions/s/pin", json!({ "message": "first" }), "message"),
        ("sessions/s/pin", json!({ "message": "t99" }), "message"),
        ("sessions/s/learn", json!({}), "error"),
    ] {
        let body = body.to_string();
        found.push(wrong(
            &bench,
            "POST",
            &format!("/api/v1/{path}"),
            &[],
            body.as_bytes(),
            field,
        ));
    }
    let empty = json!({ "name": "limit", "content": "" }).to_string();
    let empty = empty.as_bytes();
    found.push(wrong(
        &bench,
        "PUT",
        "/api/v1/objects/limit",
        &[],
        empty,
        "body",
    ));
    let limit = json!({ "name": "other", "content": "x" }).to_string();
    found.push(wrong(
        &bench,
        "PUT",
        "/api/v1/objects/limit",
        &[],
        limit.as_bytes(),
        "name",
    ));
    for broken in [&b"[]"[..], b"{", b"", b"7", b"{} {}"] {
        found.push(wrong(&bench, "POST", "/api/v1/erase", &[], broken, "body"));
    }
    let record = bench.get("/api/v1/records").json();
    let record = record["records"][0]["record_id"].as_str().unwrap();
    let labels = format!("/api/v1/records/{record}/labels");
    let worm = json!({ "relevant": ["worm"] }).to_string();
    found.push(wrong(
        &bench,
        "POST",
        &labels,
        &[],
        worm.as_bytes(),
        "relevant",
    ));
    all_name_it(found.into_iter());
}

#[test]
fn a_parameter_and_a_header_are_named() {
    let bench = filled();
    let mut found = Vec::new();
    for (path, field) in [
        ("objects?limit=0", "limit"),
        ("objects?limit=x", "limit"),
        ("objects?limits=1", "limits"),
        ("objects?after=x", "after"),
        (
            "objects?after=00000000-0000-8000-8000-000000000000",
            "after",
        ),
        ("objects?as_of=yesterday", "as_of"),
        ("objects?search=x&as_of=2026-06-06T00:00:00Z", "search"),
        ("objects?principal=[]", "principal"),
        ("objects?principal=%7B%22roles%22:7%7D", "principal.roles"),
        ("objects/limit?valid_at=x", "valid_at"),
        ("objects/limit/history?after=x", "after"),
        ("records?after=x", "after"),
        ("records/r?form=x", "form"),
        ("sessions?limit=1001", "limit"),
        ("sessions/s?after=x", "after"),
        ("sessions/s/export?format=x", "format"),
        ("originals/x", "pointer"),
    ] {
        found.push(wrong(
            &bench,
            "GET",
            &format!("/api/v1/{path}"),
            &[],
            b"",
            field,
        ));
    }
    let limit = json!({ "name": "limit", "content": "x" }).to_string();
    for (headers, field) in [
        (vec!["if-match: x"], "If-Match"),
        (vec!["if-none-match: x"], "If-None-Match"),
        (vec!["if-match: \"x\"", "if-none-match: *"], "If-None-Match"),
        (vec!["idempotency-key: a b"], "Idempotency-Key"),
    ] {
        found.push(wrong(
            &bench,
            "PUT",
            "/api/v1/objects/limit",
            &headers,
            limit.as_bytes(),
            field,
        ));
    }
    found.push(wrong(
        &bench,
        "POST",
        "/api/v1/sessions/s/pin",
        &["if-match: x"],
        b"{\"message\":\"t1\"}",
        "If-Match",
    ));
    found.push(wrong(
        &bench,
        "POST",
        "/api/v1/sessions",
        &["if-match: \"1\""],
        b"{}",
        "If-Match",
    ));
    all_name_it(found.into_iter());
}

#[test]
fn what_would_do_nothing_is_refused_and_no_filter_is_passed_over() {
    let bench = filled();
    let make = |name: &str, value: &str| {
        json!({ "name": name, "content": value, "object_type": "project_decision",
            "normalized_claim": format!("office == {value}"), "canonical_entity_ids": ["ada"] })
    };
    let both = json!({ "objects": [make("badge", "Chicago"), make("lease", "Denver")] });
    let made = bench.post("/api/v1/objects", both.to_string().as_bytes());
    assert!(made.status < 300, "{}", made.json());
    let bodies = [
        ("objects", json!({ "objects": [] }), "objects"),
        ("entities", json!({ "operations": [] }), "operations"),
        (
            "entities/resolve",
            json!({ "mention": { "name": " " } }),
            "mention.name",
        ),
        (
            "objects",
            json!({ "objects": [{ "name": "a", "content": "A.", "canonical_entity_ids": [" "] }] }),
            "objects[0]",
        ),
        (
            "objects",
            json!({ "objects": [{ "name": "a", "content": "A.", "provenance": { "source_kind": 3 } }] }),
            "objects[0].provenance.source_kind",
        ),
        (
            "proposals/decision",
            json!({ "object": "badge", "decision": 3 }),
            "decision",
        ),
    ];
    all_name_it(bodies.iter().map(|(path, body, field)| {
        let (path, body) = (format!("/api/v1/{path}"), body.to_string());
        wrong(&bench, "POST", &path, &[], body.as_bytes(), field)
    }));
    let pair = "/api/v1/conflicts?first=badge&second=lease";
    let narrowed = [
        "entity=ada",
        "slot=office",
        "unresolved=true",
        "as_of=2026-06-06",
        "limit=5",
        "after=00",
    ];
    all_name_it(narrowed.iter().map(|filter| {
        let field = filter.split('=').next().unwrap();
        wrong(&bench, "GET", &format!("{pair}&{filter}"), &[], b"", field)
    }));
    let same = "/api/v1/conflicts?first=badge&second=badge";
    all_name_it([wrong(&bench, "GET", same, &[], b"", "second")].into_iter());
    let shown = bench.ask("GET", pair, &[], b"").json();
    assert_eq!(shown["conflicts"][0]["slot"], "office", "{shown}");

    let unknown = bench.ask("GET", "/api/v1/entities/history?id=nobody", &[], b"");
    assert_eq!(unknown.status, 404, "{}", unknown.json());
    let alias = json!({ "operations": [
        { "op": "create", "id": "ada", "name": "Ada Lovelace" },
        { "op": "alias", "id": "ada", "alias": "Ada" },
    ] });
    let said = bench.post("/api/v1/entities", alias.to_string().as_bytes());
    assert_eq!(said.json().get("nothing_changed"), None, "{}", said.json());
    let again = json!({ "operations": [{ "op": "alias", "id": "ada", "alias": "Ada" }] });
    let said = bench.post("/api/v1/entities", again.to_string().as_bytes());
    assert_eq!(said.json()["nothing_changed"], true, "{}", said.json());
}
