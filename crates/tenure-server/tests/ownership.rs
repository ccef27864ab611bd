//! What comes in under a user's key is that user's: conversations that the gateway keeps, records, erasures.

use serde_json::{Value, json};
use tenure::FrameKey;
use tenure::object::Classification;
use tenure::time::Instant as At;
use tenure_server::{Mode, Options};
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::keys::{Grant, Keys};

use crate::server::Server;
use crate::support::{Bench, Reply, Upstream, answer};

const NOW: At = At::from_micros(1_700_000_000_000_000);
const JSON: &str = "content-type: application/json";
const SECRET: &str = "my knee hurts when it rains on Tuesdays";

fn grant(user: Option<&str>) -> Grant {
    Grant {
        tenant: "acme".into(),
        user: user.map(str::to_owned),
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    }
}

/// A gateway with keys: an operator's, ada's, bob's, one of no user, and the operator's of another tenant.
struct Home {
    bench: Bench,
    _upstream: Upstream,
    keys: [String; 5],
}

impl Home {
    fn new(store: Store, mode: Mode) -> Home {
        let upstream = Upstream::new(|_, to| {
            let said = json!({
                "role": "assistant", "stop_reason": "end_turn",
                "usage": { "input_tokens": 10, "output_tokens": 3 },
                "content": [{ "type": "text", "text": "That is the weather." }],
            });
            let said = said.to_string();
            let _ = std::io::Write::write_all(
                to,
                &answer("200 OK", "application/json", said.as_bytes()),
            );
        });
        let keys = Keys::of(&store).unwrap();
        let grants = [
            Grant::owner("acme"),
            grant(Some("ada")),
            grant(Some("bob")),
            grant(None),
            Grant::owner("other"),
        ];
        let keys = grants.map(|grant| keys.create(grant, NOW).unwrap().1);
        let models = tempfile::NamedTempFile::new().unwrap();
        let text = "models.claude-small = { extends = \"claude-opus-4-5\", window = 3000, reserve = 500 }\n";
        std::fs::write(models.path(), text).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let workspace = workspace.load_catalogue(models.path()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::over(folder, store, &[upstream.url()], |options| Options {
            workspace,
            mode,
            ..options
        });
        Home {
            bench,
            _upstream: upstream,
            keys,
        }
    }

    fn ask(&self, who: usize, method: &str, path: &str, body: &Value) -> Reply {
        let key = format!("x-tenure-key: {}", self.keys[who]);
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.bench.ask(method, path, &[JSON, &key], body.as_bytes())
    }

    fn get(&self, who: usize, path: &str) -> Reply {
        self.ask(who, "GET", path, &Value::Null)
    }

    /// Speaks to the model, and returns the ids of the session and the record.
    fn speak(&self, who: usize, turns: usize, says: &str) -> (Option<String>, String) {
        let turn = |at: usize| {
            let role = if at.is_multiple_of(2) {
                "user"
            } else {
                "assistant"
            };
            let text = format!("Turn {at}: {says}. ") + &"The pump runs and is warm. ".repeat(12);
            json!({ "role": role, "content": text })
        };
        let turns: Vec<Value> = (0..turns).map(turn).collect();
        let body = json!({ "model": "claude-small", "max_tokens": 200, "messages": turns });
        let reply = self.ask(who, "POST", "/v1/messages", &body);
        assert_eq!(
            reply.status,
            200,
            "{}",
            String::from_utf8_lossy(&reply.body)
        );
        let record = reply.record();
        self.bench.record("acme", &record);
        (reply.header("x-tenure-session").map(str::to_owned), record)
    }

    fn ids(&self, who: usize, list: &str, id: &str) -> Vec<String> {
        let reply = self.get(who, &format!("/api/v1/{list}"));
        assert_eq!(reply.status, 200, "{}", reply.json());
        let listed = reply.json();
        let listed = listed[list].as_array().unwrap().iter();
        let mut ids: Vec<String> = listed.map(|one| one[id].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }
}

const OPERATOR: usize = 0;
const ADA: usize = 1;
const BOB: usize = 2;
const NOBODY: usize = 3;
const STRANGER: usize = 4;

fn a_conversation_of_the_gateway_is_its_users(store: Store) {
    let home = Home::new(store, Mode::Fit);
    // One that fits and goes on as it came, and one that is cut.
    let (short, first) = home.speak(ADA, 1, "good morning, my knee hurts");
    let (long, second) = home.speak(ADA, 61, SECRET);
    let (his, bobs) = home.speak(BOB, 61, "the boiler is cold");
    let (nobodys, loose) = home.speak(NOBODY, 1, "who am I");
    let (short, long) = (short.unwrap(), long.unwrap());
    let (his, nobodys) = (his.unwrap(), nobodys.unwrap());
    for session in [&short, &long] {
        let path = format!("/api/v1/sessions/{session}");
        let shown = home.get(ADA, &path);
        assert_eq!(shown.status, 200, "{}", shown.json());
        assert_eq!(shown.json()["session"]["user"], "ada");
        assert_eq!(home.get(OPERATOR, &path).status, 200);
        for other in [BOB, STRANGER] {
            // Another's and none are told alike.
            let hidden = home.get(other, &path);
            let none = home.get(other, "/api/v1/sessions/none");
            let told = hidden.json()["detail"].as_str().unwrap().replace(session, "none");
            assert_eq!(
                (hidden.status, told),
                (404, none.json()["detail"].as_str().unwrap().to_owned())
            );
        }
        let asked = json!({ "query": "knee" });
        let back = format!("{path}/rehydrate");
        let found = home.ask(ADA, "POST", &back, &asked);
        assert!(String::from_utf8_lossy(&found.body).contains("knee"));
        assert_eq!(home.ask(BOB, "POST", &back, &asked).status, 404);
    }
    let mut hers = vec![short.clone(), long.clone()];
    hers.sort();
    assert_eq!(home.ids(ADA, "sessions", "id"), hers);
    assert_eq!(home.ids(BOB, "sessions", "id"), std::slice::from_ref(&his));
    assert_eq!(home.ids(OPERATOR, "sessions", "id").len(), 4);
    let mut records = vec![first.clone(), second.clone()];
    records.sort();
    assert_eq!(home.ids(ADA, "records", "record_id"), records);
    assert_eq!(
        home.ids(BOB, "records", "record_id"),
        std::slice::from_ref(&bobs)
    );
    for record in &records {
        let path = format!("/api/v1/records/{record}");
        assert_eq!(home.get(ADA, &path).json()["user"], "ada");
        assert_eq!(home.get(BOB, &path).status, 404);
        let page = |who: usize| {
            let cookie = format!("cookie: tenure_key={}", home.keys[who]);
            let path = format!("/inspect/records/{record}");
            home.bench.ask("GET", &path, &[&cookie], b"").status
        };
        assert_eq!((page(ADA), page(BOB), page(OPERATOR)), (200, 404, 200));
    }
    for form in ["principle", "prefill", "otlp", "prov"] {
        let path = format!("/api/v1/records/{second}?form={form}");
        assert_eq!(home.get(ADA, &path).status, 403, "{form}");
    }
    // What is nobody's is an operator's alone, but for the key that it came by.
    let path = format!("/api/v1/sessions/{nobodys}");
    assert_eq!(
        (home.get(ADA, &path).status, home.get(NOBODY, &path).status),
        (404, 404)
    );
    assert_eq!(home.get(OPERATOR, &path).status, 200);
    assert_eq!(
        home.get(NOBODY, &format!("/api/v1/records/{loose}")).status,
        200
    );
    // Over MCP, too.
    let read = |who: usize| {
        let params = json!({ "uri": format!("tenure://sessions/{long}") });
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
        let key = format!("authorization: Bearer {}", home.keys[who]);
        let accept = "accept: application/json, text/event-stream";
        let reply = home.bench.ask(
            "POST",
            "/mcp",
            &[JSON, accept, &key],
            body.to_string().as_bytes(),
        );
        reply.json().to_string().contains("knee")
    };
    assert_eq!((read(ADA), read(BOB), read(OPERATOR)), (true, false, true));

    let known = home.get(OPERATOR, "/api/v1/subjects/ada").json();
    assert_eq!(known["sessions"].as_array().unwrap().len(), 2, "{known}");
    assert_eq!(known["records"].as_array().unwrap().len(), 2, "{known}");
    let asked = json!({ "subject": "ada", "everything": true });
    let erased = home.ask(OPERATOR, "POST", "/api/v1/erase", &asked);
    assert_eq!(erased.status, 200, "{}", erased.json());
    let left = &erased.json()["left"];
    assert_eq!(left["sessions"], json!([]));
    assert_eq!(left["records"], json!([]));
    assert_eq!(left["mentions"][0]["place"], "key", "{left}");
    assert!(left["mentions"][0]["why"].as_str().unwrap().contains("revoke"));
    assert_eq!(left["ownerless_sessions"], 1);
    let tenant = home.bench.store.tenant("acme").unwrap();
    for (log, _) in tenant.logs().unwrap() {
        let entries = format!("{:?}", tenant.entries(&log, 0).unwrap());
        assert!(!entries.contains("knee"), "{log}: {entries}");
    }
    for blob in tenant.blobs().unwrap() {
        let text = tenant.blob(blob).unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("knee"));
    }
    let mut stays = vec![his, nobodys];
    stays.sort();
    assert_eq!(home.ids(OPERATOR, "sessions", "id"), stays);
    assert!(home.ids(ADA, "records", "record_id").is_empty());
    // Her key is there still: she is not unknown, and another of whom there is nothing is.
    let known = home.get(OPERATOR, "/api/v1/subjects/ada");
    assert_eq!(known.status, 200, "{}", known.json());
    assert_eq!(home.get(OPERATOR, "/api/v1/subjects/eve").status, 404);
    assert_eq!(home.get(STRANGER, "/api/v1/subjects/ada").status, 404);
    // What she says from now on begins another conversation.
    let (again, _) = home.speak(ADA, 61, SECRET);
    assert_ne!(again.as_ref(), Some(&long));
    assert_eq!(home.ids(ADA, "sessions", "id"), [again.unwrap()]);
}

fn what_is_only_passed_on_is_its_users_too(store: Store) {
    let home = Home::new(store, Mode::Observe);
    let (_, hers) = home.speak(ADA, 1, SECRET);
    let (_, his) = home.speak(BOB, 1, "the boiler is cold");
    assert_eq!(home.ids(ADA, "records", "record_id"), [hers]);
    let asked = json!({ "subject": "ada", "everything": true });
    let erased = home.ask(OPERATOR, "POST", "/api/v1/erase", &asked);
    assert_eq!(erased.status, 200, "{}", erased.json());
    assert_eq!(home.ids(OPERATOR, "records", "record_id"), [his]);
}

fn objects_of_the_store_stand_in_a_record_for_whom_they_were_compiled(store: Store) {
    let home = Home::new(store, Mode::Full);
    for (name, class) in [("limits", "restricted"), ("salary", "highly_restricted")] {
        let object = json!({
            "name": name, "content": format!("The pump has {name} of 10 kW."),
            "object_type": "identity_fact", "security_classification": class,
        });
        let reply = home.ask(OPERATOR, "PUT", &format!("/api/v1/objects/{name}"), &object);
        assert_eq!(reply.status, 201, "{}", reply.json());
    }
    let (session, record) = home.speak(ADA, 61, SECRET);
    let shown = home.get(ADA, &format!("/api/v1/records/{record}"));
    assert_eq!(shown.status, 200, "{}", shown.json());
    assert!(
        !shown.json().to_string().contains("salary"),
        "{}",
        shown.json()
    );
    assert_eq!(
        home.get(BOB, &format!("/api/v1/records/{record}")).status,
        404
    );
    let path = format!("/api/v1/sessions/{}", session.unwrap());
    assert_eq!(
        (home.get(ADA, &path).status, home.get(BOB, &path).status),
        (200, 404)
    );
}

fn a_record_of_a_compile_is_its_users(store: Store) {
    let home = Home::new(store, Mode::Observe);
    let object = |name: &str, class: &str| {
        let object = json!({
            "name": name, "content": format!("The {name} of the pump is 10 kW."),
            "object_type": "identity_fact", "security_classification": class,
        });
        let reply = home.ask(OPERATOR, "PUT", &format!("/api/v1/objects/{name}"), &object);
        assert_eq!(reply.status, 201, "{}", reply.json());
    };
    object("limit", "restricted");
    object("salary", "highly_restricted");
    let asked = json!({
        "request": { "task": { "objective": "What is the limit of the pump?" }, "budget": { "tokens": 900 } },
        "record": true,
    });
    let done = home.ask(ADA, "POST", "/api/v1/compile", &asked);
    assert_eq!(done.status, 200, "{}", done.json());
    let ids = home.ids(ADA, "records", "record_id");
    assert_eq!(ids.len(), 1);
    assert!(home.ids(BOB, "records", "record_id").is_empty());
    let path = format!("/api/v1/records/{}", ids[0]);
    let shown = home.get(ADA, &path);
    assert_eq!(shown.status, 200, "{}", shown.json());
    let shown = shown.json().to_string();
    assert!(
        shown.contains("limit") && !shown.contains("salary"),
        "{shown}"
    );
    assert_eq!(home.get(BOB, &path).status, 404);
    assert!(home.get(OPERATOR, &path).json().to_string().contains("salary"));
}

fn all(store: &dyn Fn(&str) -> Store) {
    a_conversation_of_the_gateway_is_its_users(store("one"));
    what_is_only_passed_on_is_its_users_too(store("two"));
    objects_of_the_store_stand_in_a_record_for_whom_they_were_compiled(store("three"));
    a_record_of_a_compile_is_its_users(store("four"));
}

#[test]
fn over_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    all(&|name| Store::sqlite(&folder.path().join(name)).unwrap());
}

#[test]
fn over_postgresql() {
    all(&|name| {
        let server = Server::shared();
        let name = format!("ownership_{name}");
        server.create(&name);
        let store = Store::open(&server.url(&name)).unwrap();
        store.migrate().unwrap();
        store
    });
}
