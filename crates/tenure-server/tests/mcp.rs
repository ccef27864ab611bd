//! The tools of agents at `/mcp`: both handshakes, the rights of keys, and what clients do wrong.

use std::net::Shutdown;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant as At;
use tenure_server::{Jwt, Options};
use tenure_store::Store;
use tenure_workspace::index::{Index, Indexing};
use tenure_workspace::keys::{Grant, Keys};

use crate::support::{Bench, Reply};

const NOW: At = At::from_micros(1_700_000_000_000_000);

const NEW: &str = "2026-07-28";
const JSON: &str = "content-type: application/json";
const ACCEPT: &str = "accept: application/json, text/event-stream";

/// A message of a client of before 2026.
fn message(id: u64, method: &str, params: &Value) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
        .to_string()
        .into_bytes()
}

fn say(bench: &Bench, at: &str, headers: &[&str], body: &[u8]) -> Reply {
    let all: Vec<&str> = [JSON, ACCEPT].iter().chain(headers).copied().collect();
    bench.ask("POST", at, &all, body)
}

/// Calls a tool at an address, with a key.
fn call(bench: &Bench, at: &str, key: &str, tool: &str, arguments: Value) -> Value {
    let own = format!("authorization: Bearer {key}");
    let params = json!({ "name": tool, "arguments": arguments });
    let reply = say(bench, at, &[&own], &message(1, "tools/call", &params));
    assert_eq!(reply.status, 200, "{:?}", reply.json());
    reply.json()
}

/// The result of a call that succeeds.
fn done(bench: &Bench, at: &str, key: &str, tool: &str, arguments: Value) -> Value {
    let answer = call(bench, at, key, tool, arguments);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer["result"]["structuredContent"].clone()
}

/// The words of a call that is refused.
fn refused(bench: &Bench, at: &str, key: &str, tool: &str, arguments: Value) -> String {
    let answer = call(bench, at, key, tool, arguments);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

fn names(reply: &Value) -> Vec<&str> {
    let tools = reply["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn user(name: Option<&str>) -> Grant {
    Grant {
        tenant: "acme".into(),
        user: name.map(str::to_owned),
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    }
}

/// A server with keys of an operator, of two users and of nobody in particular.
fn locked() -> (Bench, [String; 4]) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let shown = [
        Grant::owner("acme"),
        user(Some("ada")),
        user(Some("bob")),
        user(None),
    ];
    let shown = shown.map(|grant| keys.create(grant, NOW).unwrap().1);
    (Bench::over(folder, store, &[], |options| options), shown)
}

#[test]
fn both_handshakes_lead_to_the_same_tools() {
    let bench = Bench::new(&[]);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let reply = say(&bench, "/mcp", &[], &message(0, "initialize", &hello));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("mcp-session-id"), None);
    assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25");
    let old = say(&bench, "/mcp", &[], &message(1, "tools/list", &json!({}))).json();
    assert_eq!(names(&old).len(), 9);

    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let ask = |method: &str| {
        let headers = [
            format!("mcp-protocol-version: {NEW}"),
            format!("mcp-method: {method}"),
        ];
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        say(&bench, "/mcp", &headers, &message(2, method, &meta))
    };
    let found = ask("server/discover").json();
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEW)), "{found}");
    let new = ask("tools/list").json();
    assert_eq!(new["result"]["cacheScope"], "private");
    assert_eq!(names(&new), names(&old));
    assert_eq!(ask("tools/list").json(), new);
    // The header says another method than the message.
    let headers = [
        &format!("mcp-protocol-version: {NEW}")[..],
        "mcp-method: tools/call",
    ];
    let reply = say(&bench, "/mcp", &headers, &message(3, "tools/list", &meta));
    assert_eq!((reply.status, &reply.json()["id"]), (400, &json!(3)));
}

#[test]
fn a_key_has_the_rights_that_it_has_in_the_api() {
    let (bench, [owner, ada, bob, nobody]) = locked();
    let reply = say(&bench, "/mcp", &[], &message(1, "tools/list", &json!({})));
    assert_eq!(reply.status, 401);
    let listed = |key: &str, at: &str| {
        let own = format!("authorization: Bearer {key}");
        say(&bench, at, &[&own], &message(1, "tools/list", &json!({}))).json()
    };
    assert_eq!(names(&listed(&owner, "/mcp")).len(), 9);
    assert_eq!(names(&listed(&ada, "/mcp")).len(), 9);
    let reading = ["compile", "explain", "search", "rehydrate"];
    assert_eq!(names(&listed(&nobody, "/mcp")), reading);
    let narrow = listed(&ada, "/mcp?tools=write,search");
    assert_eq!(names(&narrow), ["search", "write"]);
    let own = format!("authorization: Bearer {nobody}");
    let list = message(1, "tools/list", &json!({}));
    for (at, key, status, says) in [
        ("/mcp?tools=write", &nobody, 403, "a key without a user"),
        ("/mcp?tools=writ", &ada, 400, "did you mean `write`"),
        ("/mcp?tenant=other", &ada, 400, "tenant"),
        ("/mcp?registry=a@b", &owner, 400, "registry"),
    ] {
        let own = format!("authorization: Bearer {key}");
        let reply = say(&bench, at, &[&own], &list);
        assert_eq!(reply.status, status, "{at}");
        let problem = reply.json().to_string();
        assert!(problem.contains(says), "{problem}");
    }
    let write = json!({ "name": "write", "arguments": { "name": "a", "content": "b" } });
    let unoffered = say(&bench, "/mcp", &[&own], &message(1, "tools/call", &write));
    assert_eq!(unoffered.json()["error"]["code"], -32602);
    assert!(
        refused(
            &bench,
            "/mcp",
            &ada,
            "explain",
            json!({ "task": "x", "name": "a" })
        )
        .contains("owner")
    );
    let pointer = json!({ "id": "0123456789abcdef" });
    assert!(refused(&bench, "/mcp", &ada, "rehydrate", pointer.clone()).contains("operators"));
    assert!(refused(&bench, "/mcp", &owner, "rehydrate", pointer).contains("no original"));
    // A key that is revoked opens nothing from its next request on.
    let keys = Keys::of(&bench.store).unwrap();
    let known = keys.load().unwrap();
    let found = known.iter().find(|key| key.grant.user.as_deref() == Some("bob"));
    keys.revoke(&found.unwrap().id, NOW).unwrap();
    let own = format!("authorization: Bearer {bob}");
    assert_eq!(say(&bench, "/mcp", &[&own], &list).status, 401);
}

#[test]
fn a_working_memory_is_its_users_own() {
    let (bench, [owner, ada, bob, _]) = locked();
    let secret = json!({ "name": "plan", "content": "The plugh valve opens at two bar." });
    let wrote = done(&bench, "/mcp", &ada, "write", secret);
    assert_eq!(wrote["blocks"], json!(["plan"]));
    let task = json!({ "task": "At how many bar does the plugh valve open?" });
    let payload = |key: &str, at: &str| {
        let done = done(&bench, at, key, "compile", task.clone());
        done["payloads"][0]["payload"].as_str().unwrap().to_owned()
    };
    assert!(payload(&ada, "/mcp").contains("at two bar"));
    for other in [&bob, &owner] {
        assert!(!payload(other, "/mcp").contains("at two bar"));
        let evict = json!({ "names": ["plan"] });
        assert!(!refused(&bench, "/mcp", other, "evict", evict).is_empty());
    }
    // The same words name another memory for each caller, and each name a memory.
    assert!(!payload(&bob, "/mcp?registry=agent").contains("at two bar"));
    assert!(!payload(&ada, "/mcp?registry=second").contains("at two bar"));
    // Whoever knows the label of the registry does not see what is not theirs.
    let own = format!("authorization: Bearer {owner}");
    let found = bench.ask("GET", "/api/v1/registries", &[&own], b"").json();
    let label = found[0]["registry"].as_str().unwrap().to_owned();
    let request =
        json!({ "task": { "objective": "the plugh valve" }, "budget": { "tokens": 4000 } });
    let body = json!({ "request": request, "registry": label }).to_string();
    let own = format!("authorization: Bearer {bob}");
    let spied = bench.ask("POST", "/api/v1/compile", &[JSON, &own], body.as_bytes());
    assert_eq!(spied.status, 200);
    assert!(!spied.json().to_string().contains("at two bar"));
}

#[test]
fn a_conversation_of_another_is_none() {
    let (bench, [owner, ada, bob, _]) = locked();
    let begin = |key: &str, id: &str| {
        let own = format!("authorization: Bearer {key}");
        let body = json!({ "id": id, "text": "The boiler may get 95 degrees hot." }).to_string();
        bench.ask("POST", "/api/v1/sessions", &[JSON, &own], body.as_bytes())
    };
    let made = begin(&ada, "talk").json();
    let message = json!({ "id": made["messages"][0] });
    let at = "/mcp?session=talk";
    for key in [&ada, &owner] {
        let said = done(&bench, at, key, "rehydrate", message.clone());
        let text = said["originals"][0]["text"].as_str().unwrap();
        assert!(text.contains("95 degrees"), "{text}");
    }
    // Neither by its address nor by the id of a message in it.
    let told = refused(&bench, at, &bob, "rehydrate", message.clone());
    assert!(told.contains("no session"), "{told}");
    for tool in ["search", "compile"] {
        let field = if tool == "search" { "query" } else { "task" };
        let told = refused(&bench, at, &bob, tool, json!({ field: "boiler" }));
        assert!(told.contains("no session"), "{tool}: {told}");
    }
    assert_eq!(begin(&bob, "other").status, 201);
    let told = refused(
        &bench,
        "/mcp?session=other",
        &bob,
        "rehydrate",
        json!({ "id": "t999" }),
    );
    assert!(!told.contains("95"), "{told}");
}

#[test]
fn what_is_no_message_is_answered() {
    let bench = Bench::new(&[]);
    let list = message(1, "tools/list", &json!({}));
    let answered = |body: &[u8]| {
        let reply = say(&bench, "/mcp", &[], body);
        let answer = reply.json();
        (
            reply.status,
            answer["error"]["code"].clone(),
            answer["id"].clone(),
        )
    };
    let invalid = |id: Value| (400, json!(-32600), id);
    let batch = [b"[".as_slice(), &list, b",", &list, b"]"].concat();
    assert_eq!(answered(&batch), invalid(Value::Null));
    assert_eq!(answered(b"{\"id\": 3, "), (400, json!(-32700), Value::Null));
    assert_eq!(
        answered(b"{\"jsonrpc\": \"2.0\", \"id\": 4}"),
        invalid(json!(4))
    );
    for id in ["{}", "true", "1.5", "[]"] {
        let body = format!("{{\"jsonrpc\": \"2.0\", \"id\": {id}, \"method\": \"tools/list\"}}");
        assert_eq!(answered(body.as_bytes()), invalid(Value::Null), "{id}");
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{{\"a\":{nested}}}}}");
    assert_eq!(say(&bench, "/mcp", &[], nested.as_bytes()).status, 400);
    let unknown = json!({ "jsonrpc": "2.0", "method": "notifications/of-tomorrow" }).to_string();
    assert_eq!(say(&bench, "/mcp", &[], unknown.as_bytes()).status, 202);
    // A request that is given up twice, or that there never was.
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    for _ in 0..2 {
        let reply = say(&bench, "/mcp", &[], cancel.to_string().as_bytes());
        assert_eq!(reply.status, 202);
    }
    let plain = bench.ask("POST", "/mcp", &[ACCEPT, "content-type: text/plain"], &list);
    assert_eq!(plain.status, 415);
    let closed = bench.ask("POST", "/mcp", &[JSON, "accept: application/json"], &list);
    assert_eq!(closed.status, 406);
    assert_eq!(
        closed.header("content-type"),
        Some("application/problem+json")
    );
    for method in ["GET", "DELETE", "PUT"] {
        let reply = bench.ask(method, "/mcp", &[ACCEPT], b"");
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("POST")),
            "{method}"
        );
    }
    assert_eq!(say(&bench, "/mcp", &[], &list).status, 200);
}

#[test]
fn pages_of_other_origins_get_nothing() {
    let bench = Bench::new(&[]);
    let list = message(1, "tools/list", &json!({}));
    for (headers, status) in [
        (&["origin: https://evil.example"][..], 403),
        (&["origin: null"], 403),
        (&["host: evil.example", "origin: http://evil.example"], 421),
        (&["sec-fetch-site: cross-site"], 403),
        (&["host: localhost", "origin: http://localhost"], 200),
    ] {
        assert_eq!(
            say(&bench, "/mcp", headers, &list).status,
            status,
            "{headers:?}"
        );
    }
}

#[test]
fn a_message_of_100_mb_is_refused_before_it_is_read() {
    let bench = Bench::new(&[]);
    let large = "x".repeat(100 << 20);
    let params = json!({ "name": "write", "arguments": { "name": "a", "content": large } });
    let reply = say(&bench, "/mcp", &[], &message(1, "tools/call", &params));
    assert_eq!(reply.status, 413);
    assert_eq!(
        say(&bench, "/mcp", &[], &message(2, "tools/list", &json!({}))).status,
        200
    );
}

#[test]
fn a_call_ends_with_its_client() {
    let bench = Bench::new(&[]);
    let task = "pump ".repeat(800_000);
    let params = json!({ "name": "compile", "arguments": { "task": task } });
    for _ in 0..20 {
        let mut client = bench.connect();
        client.send(
            "POST",
            "/mcp",
            &[JSON, ACCEPT],
            &message(1, "tools/call", &params),
        );
        client.shut(Shutdown::Both);
    }
    let mut client = bench.connect();
    let started = Instant::now();
    client.send(
        "POST",
        "/mcp",
        &[JSON, ACCEPT],
        &message(2, "tools/list", &json!({})),
    );
    assert_eq!(client.reply().status, 200);
    // A call that needs a turn gets one: those that were left have given theirs back.
    let found = json!({ "name": "search", "arguments": { "query": "boiler" } });
    assert_eq!(
        say(&bench, "/mcp", &[], &message(3, "tools/call", &found)).status,
        200
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn tokens_are_asked_for_where_they_are_taken() {
    let metadata = "/.well-known/oauth-protected-resource/mcp";
    let bench = Bench::new(&[]);
    assert_eq!(bench.get(metadata).status, 404);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("jwt.toml");
    // The public key of an example in RFC 8037.
    let key = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "d1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
    let keys = json!({ "keys": [key] }).to_string();
    std::fs::write(folder.path().join("keys.json"), keys).unwrap();
    let text = "issuer = \"https://id.example.com/\"\naudience = \"tenure\"\njwks = \"keys.json\"\ntenant = \"acme\"\n";
    std::fs::write(&file, text).unwrap();
    let bench = Bench::with(&[], |options| Options {
        jwt: vec![Jwt::open(&file).unwrap()],
        hosts: vec!["tenure.example.com".into()],
        ..options
    });
    let said = bench.get(metadata).json();
    assert_eq!(said["resource"], "http://localhost/mcp");
    assert_eq!(
        said["authorization_servers"],
        json!(["https://id.example.com/"])
    );
    let outside = ["host: tenure.example.com", "x-forwarded-proto: https"];
    let said = bench.ask("GET", metadata, &outside, b"").json();
    assert_eq!(said["resource"], "https://tenure.example.com/mcp");
    let list = message(1, "tools/list", &json!({}));
    let reply = say(&bench, "/mcp", &outside, &list);
    assert_eq!(reply.status, 401);
    let challenge = format!(
        "Bearer realm=\"tenure\", resource_metadata=\"https://tenure.example.com{metadata}\""
    );
    assert_eq!(reply.header("www-authenticate"), Some(&*challenge));
    let reply = say(&bench, "/mcp", &["authorization: Bearer x"], &list);
    let challenge = reply.header("www-authenticate").unwrap();
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
}

#[test]
fn files_of_a_memory_tool_are_their_users_own() {
    let (bench, [owner, ada, bob, nobody]) = locked();
    let run = |key: &str, command: &Value| {
        let own = format!("authorization: Bearer {key}");
        let body = command.to_string();
        bench.ask("POST", "/api/v1/memory", &[JSON, &own], body.as_bytes())
    };
    let text = "The plugh valve opens at two bar.";
    let create = json!({ "command": "create", "path": "/memories/plan", "file_text": text });
    let made = run(&ada, &create).json();
    assert_eq!(
        made["result"],
        "File created successfully at: /memories/plan"
    );
    let view = json!({ "command": "view", "path": "/memories/plan" });
    let seen = run(&ada, &view).json();
    assert!(seen["result"].as_str().unwrap().contains("at two bar"));
    for other in [&bob, &owner] {
        let reply = run(other, &view);
        assert_eq!(reply.status, 404);
        let words = "The path /memories/plan does not exist. Please provide a valid path.";
        assert_eq!(reply.json()["detail"], words);
    }
    assert_eq!(run(&nobody, &view).status, 403);
    let unknown = json!({ "command": "burn", "path": "/memories/plan" });
    assert_eq!(run(&ada, &unknown).status, 400);
    // What stands there is found like any other object, by whoever may see it.
    let found = |key: &str| {
        let query = json!({ "query": "plugh valve" });
        done(&bench, "/mcp", key, "search", query).to_string()
    };
    assert!(found(&ada).contains("at two bar"));
    assert!(!found(&bob).contains("at two bar"));
    let delete = json!({ "command": "delete", "path": "/memories/plan" });
    assert_eq!(run(&ada, &delete).status, 200);
    assert!(!found(&ada).contains("at two bar"));
    assert_eq!(run(&ada, &create).status, 200);
}

#[test]
fn an_outcome_is_proposed_and_only_a_person_decides_on_it() {
    let (bench, [owner, ada, bob, nobody]) = locked();
    let text = "The plugh seal of pump 7 is turned to the left.";
    let lesson =
        json!({ "content": text, "name": "plugh-seal", "mistake": "It was turned to the right." });
    let said = done(&bench, "/mcp", &ada, "propose", lesson.clone());
    assert_eq!(
        (&said["state"], &said["name"]),
        (&json!("proposed"), &json!("plugh-seal"))
    );
    let own = format!("authorization: Bearer {nobody}");
    let params = json!({ "name": "propose", "arguments": lesson });
    let reply = say(&bench, "/mcp", &[&own], &message(1, "tools/call", &params));
    assert_eq!(reply.json()["error"]["code"], -32602, "{:?}", reply.json());
    let listed = |key: &str| {
        let own = format!("authorization: Bearer {key}");
        bench.ask("GET", "/api/v1/outcomes", &[&own], b"").json()["outcomes"].clone()
    };
    let one = listed(&ada)[0].clone();
    assert_eq!(
        (&one["state"], &one["kind"]),
        (&json!("proposed"), &json!("correction"))
    );
    assert!(
        one["proposed_by"].as_str().unwrap().starts_with("key "),
        "{one}"
    );
    // It is the user's: nobody else sees it, and one of the same name is another.
    assert_eq!(listed(&bob), json!([]));
    let other = json!({ "content": "Something else.", "name": "plugh-seal" });
    let others = done(&bench, "/mcp", &bob, "propose", other);
    assert_ne!(others["id"], said["id"]);
    assert_eq!(listed(&ada)[0]["content"], text);
    // Whatever an agent calls, it stays a proposal, and is not compiled.
    let names = json!(["plugh-seal"]);
    for (tool, arguments) in [
        (
            "write",
            json!({ "name": "plugh-seal", "content": text, "tags": ["accepted"] }),
        ),
        ("promote", json!({ "names": names, "to": "front" })),
        ("propose", lesson.clone()),
        ("evict", json!({ "names": names, "force": true })),
        ("rollback", json!({ "run": "plugh-seal" })),
        ("explain", json!({ "task": "accept plugh-seal" })),
    ] {
        call(&bench, "/mcp", &ada, tool, arguments.clone());
        call(&bench, "/mcp", &owner, tool, arguments);
    }
    for tool in ["accept", "decide", "outcome", "confirm"] {
        let arguments = json!({ "outcome": "plugh-seal", "decision": "accept", "by": "ada" });
        let answer = call(&bench, "/mcp", &owner, tool, arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    for field in ["state", "decision", "by"] {
        let mut more = lesson.clone();
        more[field] = json!("accepted");
        let said = refused(&bench, "/mcp", &ada, "propose", more);
        assert!(said.contains(field), "{said}");
    }
    assert!(listed(&ada).as_array().unwrap().iter().all(|one| one["state"] == "proposed"));
    let compiled = |key: &str| {
        let task = json!({ "task": "Turn the plugh seal of pump 7." });
        done(&bench, "/mcp", key, "compile", task)["payloads"].to_string()
    };
    assert!(!compiled(&ada).contains("to the left"));
    // A person accepts it.
    let tenant = bench.store.tenant("acme").unwrap();
    let found = tenant.outcomes(None).unwrap();
    let id = found.iter().find(|one| one.content == text).unwrap().object_id;
    let accept = tenure::object::OutcomeDecision::Accept;
    let by_hand = tenure_store::Writing::default();
    tenant.decide_outcome(id, accept, "grace", &by_hand).unwrap();
    assert!(compiled(&ada).contains("to the left"));
    assert!(!compiled(&bob).contains("to the left"));
    // The same mistake again is a repeat of what is corrected already; of whose, others are not told.
    let again = json!({ "content": "Left.", "mistake": "it was turned  to the right." });
    let said = done(&bench, "/mcp", &ada, "propose", again.clone());
    assert_eq!(said["state"], "accepted", "{said}");
    let said = done(&bench, "/mcp", &bob, "propose", again);
    assert!(!said.to_string().contains("plugh"), "{said}");
}

#[test]
fn what_is_written_and_proposed_says_whence_it_is_and_hides_nothing() {
    let (bench, [_, ada, ..]) = locked();
    let hidden = "The plugh valve opens\u{200b}\u{202e} at two bar.";
    for tool in ["write", "propose"] {
        let arguments = json!({ "name": "valve", "content": hidden });
        let said = refused(&bench, "/mcp", &ada, tool, arguments);
        assert!(said.contains("content"), "{tool}: {said}");
    }
    let tenant = bench.store.tenant("acme").unwrap();
    for (source, level) in [
        ("https://pumps.example/valve", "4"),
        ("mailto:eve@pumps.example", "4"),
        ("docs/valve.md", "3"),
    ] {
        let lesson = json!({ "content": format!("The plugh valve opens, says {source}."), "source": source, "about": ["grace"] });
        let said = done(&bench, "/mcp", &ada, "propose", lesson);
        let name = said["name"].as_str().unwrap().to_owned();
        let all = tenant.outcomes(None).unwrap();
        let id = all.iter().find(|one| one.name == name).unwrap().object_id;
        let accept = tenure::object::OutcomeDecision::Accept;
        let by_hand = tenure_store::Writing::default();
        tenant.decide_outcome(id, accept, "grace", &by_hand).unwrap();
        let resident = tenant.load().unwrap();
        let object = resident.held(id).next().unwrap();
        let revision = object.revision();
        assert_eq!(revision.authority_level().to_string(), level, "{source}");
        assert_eq!(revision.subjects(), ["grace"]);
        let from = revision.provenance().unwrap().source_id.as_deref();
        assert_eq!(from, Some(source));
    }
    // It is about her, so it goes with her.
    let erased = tenant.erase_subject("grace", &tenure_store::Writing::default()).unwrap();
    assert_eq!(erased.objects.len(), 3);
}

#[test]
fn packages_are_for_operators_of_the_servers_own_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir_all(&root).unwrap();
    std::fs::write(
        root.join("plan.md"),
        "# Plan\n\n## Valve\n\nThe plugh valve opens at two bar.\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("outside.md"),
        "# Outside\n\nNobody's plugh.\n",
    )
    .unwrap();
    Index::update(&root, std::slice::from_ref(&root), Indexing::default()).unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let grants = [
        Grant::owner("acme"),
        user(Some("ada")),
        Grant::owner("other"),
    ];
    let [owner, ada, other] = grants.map(|grant| keys.create(grant, NOW).unwrap().1);
    let packages = Some(root.clone());
    let bench = Bench::over(folder, store, &[], |options| Options {
        tenant: "acme".into(),
        packages,
        ..options
    });
    let at = "/mcp?tools=compile,pack,activate";
    let listed = |key: &str, at: &str| {
        let own = format!("authorization: Bearer {key}");
        say(&bench, at, &[&own], &message(1, "tools/list", &json!({}))).json()
    };
    assert_eq!(names(&listed(&owner, at)), ["compile", "pack", "activate"]);
    assert_eq!(names(&listed(&owner, "/mcp")).len(), 9);
    for key in [&ada, &other] {
        assert_eq!(names(&listed(key, at)), ["compile"]);
        let reply = say(
            &bench,
            "/mcp?tools=pack",
            &[&format!("authorization: Bearer {key}")],
            &message(1, "tools/list", &json!({})),
        );
        assert_eq!(reply.status, 403);
    }
    let valve = json!({ "name": "valves", "query": "sections[heading~=Valve]" });
    let packed = done(&bench, at, &owner, "pack", valve);
    assert_eq!(
        (&packed["version"], &packed["items"]),
        (&json!(1), &json!(1))
    );
    let outside =
        json!({ "name": "out", "query": "plugh", "search": true, "sources": ["../outside.md"] });
    let said = refused(&bench, at, &owner, "pack", outside);
    assert!(said.contains("sources"), "{said}");
    let active = done(
        &bench,
        at,
        &owner,
        "activate",
        json!({ "package": "valves" }),
    );
    assert!(active["content"].as_str().unwrap().contains("at two bar"));
    let compiled = |key: &str, at: &str| {
        let task = json!({ "task": "At what pressure does the plugh valve open?" });
        done(&bench, at, key, "compile", task)["payloads"].to_string()
    };
    assert!(compiled(&owner, at).contains("at two bar"));
    assert!(!compiled(&ada, at).contains("at two bar"));
    let read = json!({ "uri": "tenure://packages/valves" });
    let read = |key: &str| {
        let own = format!("authorization: Bearer {key}");
        say(
            &bench,
            "/mcp",
            &[&own],
            &message(1, "resources/read", &read),
        )
        .json()
    };
    assert!(
        read(&owner)["result"]["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("two bar")
    );
    assert!(read(&ada)["error"].is_object());
}
