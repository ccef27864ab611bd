//! What a caller says in a request is never hidden from that caller, and nothing else becomes visible by it.

use crate::support::{Bench, Reply, Upstream, compiling};
use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_server::Mode;
use tenure_workspace::keys::{Grant, Keys};

const CHAT_REPLY: &str =
    r#"{"choices":[{"message":{"role":"assistant","content":"Warm."},"finish_reason":"stop"}]}"#;
const ANTHROPIC_REPLY: &str = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Warm."}],"stop_reason":"end_turn"}"#;
const ASKED: &str = "How warm is pump 7 behind the northern wall?";

fn call(bench: &Bench, method: &str, path: &str, key: &str, body: &Value) -> Reply {
    let key = format!("x-tenure-key: {key}");
    let headers = ["content-type: application/json", key.as_str()];
    bench.ask(method, path, &headers, body.to_string().as_bytes())
}

fn key(bench: &Bench, grant: Grant) -> String {
    let made = Keys::of(&bench.store).unwrap();
    let made = made.create(grant, Instant::from_micros(1_000));
    made.unwrap().1
}

/// Waits until the server knows its keys: before, every request is the owner's.
fn locked(bench: &Bench) {
    let asked = || bench.get("/api/v1/objects").status;
    crate::support::wait_for(|| (asked() == 401).then_some(()));
    let asked = || bench.post("/v1/chat/completions", b"{}").status;
    crate::support::wait_for(|| (asked() == 401).then_some(()));
}

/// A key that is cleared for what is public.
fn narrow(user: Option<&str>) -> Grant {
    Grant {
        tenant: "local".into(),
        user: user.map(str::to_owned),
        clearance: Some(Classification::Public),
        ..Grant::default()
    }
}

/// As `tenure keys create --operator` makes it, today and before.
fn operator() -> Grant {
    Grant {
        tenant: "local".into(),
        operator: true,
        ..Grant::default()
    }
}

/// The store knows something public, and something restricted that carries the id of a session.
fn knows(bench: &Bench, operator: &str, session: &str) {
    for (name, class, text) in [
        ("open", "public", "Report temperatures in kelvin."),
        ("closed", "restricted", "The northern wall hides a door."),
    ] {
        let mut object = json!({
            "name": name, "content": text, "object_type": "rule", "security_classification": class,
            "protection": "pinned",
        });
        if name == "closed" {
            object["session_id"] = json!(session);
        }
        let path = format!("/api/v1/objects/{name}");
        let put = call(bench, "PUT", &path, operator, &object);
        assert!(put.status < 300, "{}", put.json());
    }
}

fn chat(model: &str) -> Value {
    json!({ "model": model, "max_tokens": 300, "messages": [{ "role": "user", "content": ASKED }] })
}

fn header(reply: &Reply, name: &str) -> u64 {
    reply.header(name).unwrap().parse().unwrap()
}

#[test]
fn the_users_words_reach_the_model_whatever_the_key_is_cleared_for() {
    for (path, model, said) in [
        ("/v1/chat/completions", "small", CHAT_REPLY),
        ("/v1/messages", "claude-small", ANTHROPIC_REPLY),
        (
            "/v1/messages/count_tokens",
            "claude-small",
            r#"{"input_tokens":7}"#,
        ),
    ] {
        let upstream = Upstream::saying("application/json", said);
        let bench = compiling(&upstream, Mode::Full, |options| options);
        let operator = key(&bench, operator());
        let narrow = key(&bench, narrow(None));
        locked(&bench);
        // The session has its id with its first request.
        knows(&bench, &operator, "elsewhere");
        let first = call(&bench, "POST", path, &narrow, &chat(model));
        if let Some(session) = first.header("x-tenure-session") {
            knows(&bench, &operator, session);
        }
        for caller in [&narrow, &operator] {
            let reply = call(&bench, "POST", path, caller, &chat(model));
            assert_eq!((reply.status, reply.header("x-tenure-fault")), (200, None));
            let sent = upstream.seen().pop().unwrap().body;
            let sent = String::from_utf8(sent).unwrap();
            assert!(sent.contains(ASKED), "{path}: {sent}");
            assert!(sent.contains("kelvin"), "{path}: {sent}");
            // It carries the id of the first session, and is restricted; the operator's is another session.
            assert!(!sent.contains("hides a door"), "{path}: {sent}");
            // Something stands beside the words, and nothing of them was saved.
            assert_eq!(header(&reply, "x-tenure-saved-tokens"), 0);
            let added = header(&reply, "x-tenure-added-tokens");
            assert!((20..200).contains(&added), "{path}: {added}");
        }
    }
}

#[test]
fn an_operators_key_sees_every_class_unless_it_says_otherwise() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    let whole = key(&bench, operator());
    locked(&bench);
    let object = json!({ "name": "closed", "content": "The northern wall hides a door.", "object_type": "rule",
        "security_classification": "highly_restricted" });
    let put = call(&bench, "PUT", "/api/v1/objects/closed", &whole, &object);
    assert!(put.status < 300, "{}", put.json());
    let less = Grant {
        clearance: Some(Classification::Confidential),
        ..operator()
    };
    for (caller, sees) in [(whole, true), (key(&bench, less), false)] {
        let asked = || {
            call(
                &bench,
                "POST",
                "/v1/chat/completions",
                &caller,
                &chat("small"),
            )
        };
        crate::support::wait_for(|| (asked().status == 200).then_some(()));
        let sent = String::from_utf8(upstream.seen().pop().unwrap().body).unwrap();
        assert!(sent.contains(ASKED), "{sent}");
        assert_eq!(sent.contains("hides a door"), sees, "{sent}");
    }
}

#[test]
fn a_session_says_what_was_said_in_it_and_opens_nothing_else() {
    let bench = Bench::new(&[]);
    let operator = key(&bench, operator());
    let ana = key(&bench, narrow(Some("ana")));
    locked(&bench);
    knows(&bench, &operator, "hers");
    let new = json!({ "id": "hers", "text": ASKED });
    let begun = call(&bench, "POST", "/api/v1/sessions", &ana, &new);
    assert_eq!(begun.status, 201, "{}", begun.json());
    let path = "/api/v1/sessions/hers/compile";
    let turn = json!({ "record": true });
    let reply = call(&bench, "POST", path, &ana, &turn);
    assert_eq!(reply.status, 200, "{}", reply.json());
    let told = reply.json();
    let payload = told["envelope"]["payload"].to_string();
    assert!(
        payload.contains(ASKED) && payload.contains("kelvin"),
        "{payload}"
    );
    assert!(!payload.contains("hides a door"), "{payload}");
    // What was recorded is compiled again from what is kept, to the same digests.
    let id = told["record_ids"][0].as_str().unwrap();
    let replayed = call(
        &bench,
        "POST",
        "/api/v1/replay",
        &operator,
        &json!({ "record_id": id }),
    );
    assert_eq!(replayed.json()["proof"], "whole", "{}", replayed.json());
}

#[test]
fn who_compiles_for_themselves_sees_what_they_send_and_who_compiles_for_another_asks_what_that_one_sees()
 {
    let bench = Bench::new(&[]);
    let caller = key(&bench, narrow(None));
    locked(&bench);
    let ask = |request: Value| {
        let body = json!({
            "request": request, "store": false,
            "objects": [{ "name": "units", "content": "Report pressure in pascal." }],
        });
        let asked = || call(&bench, "POST", "/api/v1/compile", &caller, &body);
        let reply = crate::support::wait_for(|| Some(asked()).filter(|reply| reply.status != 401));
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()["envelope"]["payload"].as_str().unwrap().contains("pascal")
    };
    let request =
        json!({ "task": { "objective": "Report the pressure." }, "budget": { "tokens": 400 } });
    assert!(ask(request.clone()));
    let mut for_another = request;
    for_another["principal"] = json!({ "tenant": "local", "user": "bob", "clearance": "public" });
    let body = json!({ "request": for_another, "store": false, "policy": { "name": "any", "required": [] },
        "objects": [{ "name": "units", "content": "Report pressure in pascal." }] });
    let reply = call(&bench, "POST", "/api/v1/compile", &caller, &body);
    let text = reply.json().to_string();
    assert!(!text.contains("in pascal"), "{text}");
}
