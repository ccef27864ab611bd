//! Sessions over the API: begun, added to, shown, compiled, given back and summarised, by whoever may.

use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_store::Store;
use tenure_workspace::keys::{Grant, Keys};

fn call(bench: &Bench, method: &str, path: &str, headers: &[&str], body: &Value) -> Reply {
    let headers = [&["content-type: application/json"], headers].concat();
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    bench.ask(method, path, &headers, &body)
}

fn post(bench: &Bench, path: &str, body: &Value) -> Reply {
    let reply = call(bench, "POST", path, &[], body);
    assert!(reply.status < 300, "{path}: {}", reply.json());
    reply
}

/// A conversation whose turns hold something to find again.
fn conversation(turns: usize) -> Value {
    let turn = |n: usize| {
        [
            json!({ "role": "user", "content": format!("Station {n}: what is the pressure?") }),
            json!({ "role": "assistant", "content": format!("Station {n} reports {} pascal. {}", n * 17, "All is calm there. ".repeat(20)) }),
        ]
    };
    (0..turns).flat_map(turn).collect()
}

#[test]
fn a_session_goes_from_its_first_message_to_its_summaries() {
    let bench = Bench::new(&[]);
    let begun = post(
        &bench,
        "/api/v1/sessions",
        &json!({ "id": "plant", "messages": conversation(30) }),
    );
    assert_eq!(begun.status, 201);
    assert_eq!(begun.json()["messages"].as_array().unwrap().len(), 60);
    let again = call(
        &bench,
        "POST",
        "/api/v1/sessions",
        &[],
        &json!({ "id": "plant" }),
    );
    assert_eq!(
        (again.status, &again.json()["kind"]),
        (409, &"conflict".into())
    );

    let said = json!({ "text": "Which station reported 170 pascal?" });
    let added = post(&bench, "/api/v1/sessions/plant/messages", &said);
    let last = added.json()["messages"][0].as_str().unwrap().to_owned();
    assert_eq!(
        added.header("etag").unwrap(),
        format!("\"{}\"", added.json()["version"])
    );

    // Pages hold every message once; an unchanged session is not sent again.
    let mut ids = Vec::new();
    let mut path = "/api/v1/sessions/plant?limit=25".to_owned();
    let tag = loop {
        let page = bench.get(&path);
        assert_eq!(page.status, 200, "{}", page.json());
        let page_json = page.json();
        assert_eq!(page_json["session"]["format"], "openai-chat");
        let messages = page_json["messages"].as_array().unwrap();
        ids.extend(messages.iter().map(|message| message["id"].clone()));
        match page_json["next"].as_str() {
            Some(next) => path = format!("/api/v1/sessions/plant?limit=25&after={next}"),
            None => break page.header("etag").unwrap().to_owned(),
        }
    };
    assert_eq!((ids.len(), &ids[60]), (61, &last.as_str().into()));
    let mut unique = ids.clone();
    unique.dedup();
    assert_eq!(unique.len(), 61);
    let known = format!("if-none-match: {tag}");
    assert_eq!(
        bench.ask("GET", "/api/v1/sessions/plant", &[&known], b"").status,
        304
    );

    // The compile takes what fits, in the session's own format, and gives the same bytes again.
    let turn = json!({ "request": { "budget": { "tokens": 2500 } }, "store": false });
    let done = post(&bench, "/api/v1/sessions/plant/compile", &turn).json();
    let payload = &done["envelope"]["payload"];
    let messages = payload["messages"].as_array().unwrap();
    assert!(messages.len() < 61, "{}", messages.len());
    assert!(
        payload.to_string().contains("Which station reported 170 pascal?"),
        "{payload}"
    );
    assert!(done["envelope"]["total_tokens"].as_u64().unwrap() <= 2500);
    assert_eq!(done["session"]["messages"], 61);
    assert!(!done["session"]["checkpoints"].as_array().unwrap().is_empty());
    let again = post(&bench, "/api/v1/sessions/plant/compile", &turn).json();
    assert_eq!(again["envelope"]["payload"], done["envelope"]["payload"]);

    // What was cut is there, by number and by what it says.
    let found = post(
        &bench,
        "/api/v1/sessions/plant/rehydrate",
        &json!({ "query": "station 170 pascal", "tokens": 400 }),
    )
    .json();
    let best = found["originals"][0]["text"].as_str().unwrap();
    assert!(best.contains("170 pascal"), "{best}");
    let first = ids[0].as_str().unwrap();
    let one = post(
        &bench,
        "/api/v1/sessions/plant/rehydrate",
        &json!({ "id": first, "carry": true }),
    )
    .json();
    assert!(
        one["originals"][0]["text"].as_str().unwrap().contains("Station 0: what"),
        "{one}"
    );
    let carried = post(&bench, "/api/v1/sessions/plant/compile", &turn).json();
    assert!(
        carried["envelope"]["payload"].to_string().contains("Station 0: what"),
        "{carried}"
    );

    let made = post(&bench, "/api/v1/sessions/plant/checkpoint", &json!({})).json();
    assert!(
        !made["checkpoints"].as_array().unwrap().is_empty(),
        "{made}"
    );

    let recorded = json!({ "request": { "budget": { "tokens": 2500 } }, "record": true });
    let done = post(&bench, "/api/v1/sessions/plant/compile", &recorded).json();
    let id = done["record_ids"][0].as_str();
    let id = id.unwrap_or_else(|| panic!("{done}"));
    let replayed = post(&bench, "/api/v1/replay", &json!({ "record_id": id })).json();
    assert!(replayed["payload_digest"].is_string(), "{replayed}");
    assert_eq!(replayed["payload_digest"], replayed["recorded_digest"]);

    let listed = bench.get("/api/v1/sessions").json();
    assert_eq!(listed["sessions"][0]["id"], "plant");
}

#[test]
fn a_write_that_is_sent_again_is_done_once() {
    let bench = Bench::new(&[]);
    let once = ["idempotency-key: begin-1"];
    let new = json!({ "text": "Hello." });
    let replies: Vec<Value> = (0..3)
        .map(|_| {
            let reply = call(&bench, "POST", "/api/v1/sessions", &once, &new);
            assert_eq!(reply.status, 201, "{}", reply.json());
            reply.json()
        })
        .collect();
    assert!(replies[0] == replies[1] && replies[1] == replies[2]);
    let id = replies[0]["id"].as_str().unwrap();
    let path = format!("/api/v1/sessions/{id}/messages");
    let more = json!({ "messages": [{ "role": "assistant", "content": "Hi." }, { "role": "user", "content": "Go on." }] });
    let once = ["idempotency-key: more-1"];
    let sent: Vec<Value> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| call(&bench, "POST", &path, &once, &more).json()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(
        sent[0]["messages"].as_array().unwrap().len(),
        2,
        "{}",
        sent[0]
    );
    for reply in &sent {
        assert_eq!(reply["messages"], sent[0]["messages"], "{reply}");
    }
    let shown = bench.get(&format!("/api/v1/sessions/{id}")).json();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 3);
    // The key is that write's alone.
    let other = call(&bench, "POST", &path, &once, &json!({ "text": "Else." }));
    assert_eq!(other.status, 409, "{}", other.json());

    // A write that names a state is done on that state, or not at all.
    let tag = shown["version"].as_u64().unwrap();
    let named = format!("if-match: \"{tag}\"");
    let text = json!({ "text": "And now?" });
    let done = call(&bench, "POST", &path, &[&named], &text);
    assert_eq!(done.status, 200, "{}", done.json());
    let stale = call(&bench, "POST", &path, &[&named], &text);
    assert_eq!(stale.status, 412, "{}", stale.json());
    let wrong = call(&bench, "POST", &path, &["if-match: x"], &text);
    assert_eq!(wrong.status, 400);
    // Without a state and without a key, everybody's write finds its place.
    std::thread::scope(|scope| {
        for n in 0..4 {
            let (bench, path) = (&bench, &path);
            scope.spawn(move || post(bench, path, &json!({ "text": format!("At once {n}.") })));
        }
    });
    let shown = bench.get(&format!("/api/v1/sessions/{id}")).json();
    assert_eq!(shown["messages"].as_array().unwrap().len(), 8);
}

#[test]
fn messages_are_kept_to_the_byte() {
    let bench = Bench::new(&[]);
    let message = r#"{ "role":"user",  "content":"a\u00e9b", "name":"x" }"#;
    let body =
        format!("{{\"id\":\"bytes\",\"messages\":[ {message} ],\"format\":\"openai-chat\"}}");
    let reply = bench.post("/api/v1/sessions", body.as_bytes());
    assert_eq!(reply.status, 201, "{}", reply.json());
    let shown = bench.get("/api/v1/sessions/bytes").json();
    let kept = &shown["messages"][0]["message"]["objects"][0]["wire"]["message"];
    assert_eq!(kept, message);
}

#[test]
fn a_session_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let key = |grant: Grant| {
        let keys = Keys::of(&store).unwrap();
        let made = keys.create(grant, Instant::from_micros(1_000)).unwrap();
        format!("x-tenure-key: {}", made.1)
    };
    let user = |tenant: &str, user: Option<&str>| Grant {
        tenant: tenant.into(),
        user: user.map(str::to_owned),
        clearance: Some(Classification::Public),
        ..Grant::default()
    };
    let ada = key(user("acme", Some("ada")));
    let bob = key(user("acme", Some("bob")));
    // It speaks for any user of its tenant.
    let backend = key(user("acme", None));
    let stranger = key(user("other", Some("ada")));
    let operator = key(Grant::owner("acme"));
    let bench = Bench::over(folder, store, &[], |options| options);
    let new = json!({ "id": "hers", "text": "My code is 4711." });
    let made = call(&bench, "POST", "/api/v1/sessions", &[&ada], &new);
    assert_eq!(made.status, 201, "{}", made.json());
    let mine = json!({ "id": "his", "user": "bob", "text": "x" });
    let refused = call(&bench, "POST", "/api/v1/sessions", &[&ada], &mine);
    assert_eq!(refused.status, 403, "{}", refused.json());

    let turn = json!({ "request": { "budget": { "tokens": 500 } } });
    let compile = "/api/v1/sessions/hers/compile";
    let unnamed = call(
        &bench,
        "POST",
        "/api/v1/sessions",
        &[&backend],
        &json!({ "id": "x" }),
    );
    assert_eq!(unnamed.status, 400, "{}", unnamed.json());
    for key in [&ada, &backend, &operator] {
        let done = call(&bench, "POST", compile, &[key], &turn);
        assert_eq!(done.status, 200, "{}", done.json());
        let payload = done.json()["envelope"]["payload"].to_string();
        assert!(payload.contains("4711"), "{payload}");
    }
    for key in [&bob, &stranger] {
        for (method, path, body) in [
            ("GET", "/api/v1/sessions/hers", Value::Null),
            ("POST", compile, turn.clone()),
            (
                "POST",
                "/api/v1/sessions/hers/messages",
                json!({ "text": "x" }),
            ),
            (
                "POST",
                "/api/v1/sessions/hers/rehydrate",
                json!({ "query": "code" }),
            ),
            ("POST", "/api/v1/sessions/hers/checkpoint", json!({})),
        ] {
            let reply = call(&bench, method, path, &[key], &body);
            assert_eq!(reply.status, 404, "{method} {path}");
            assert!(!String::from_utf8_lossy(&reply.body).contains("4711"));
        }
    }
    // What is nobody's is the operator's alone.
    let made = call(
        &bench,
        "POST",
        "/api/v1/sessions",
        &[&operator],
        &json!({ "id": "open" }),
    );
    assert_eq!(made.status, 201, "{}", made.json());
    for (key, status) in [(&ada, 404), (&backend, 404), (&operator, 200)] {
        let shown = bench.ask("GET", "/api/v1/sessions/open", &[key], b"");
        assert_eq!(shown.status, status);
    }
    let list = |key: &str| bench.ask("GET", "/api/v1/sessions", &[key], b"");
    let (hers, all) = (list(&ada), list(&operator));
    assert_eq!((hers.status, all.status), (200, 200));
    assert!(!String::from_utf8_lossy(&hers.body).contains("open"));
    assert!(String::from_utf8_lossy(&all.body).contains("open"));
}

#[test]
fn an_operator_judges_messages_and_the_next_compile_is_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let key = |grant: Grant| {
        let keys = Keys::of(&store).unwrap();
        let made = keys.create(grant, Instant::from_micros(1_000)).unwrap();
        format!("x-tenure-key: {}", made.1)
    };
    let ada = key(Grant {
        tenant: "acme".into(),
        user: Some("ada".into()),
        clearance: Some(Classification::Public),
        ..Grant::default()
    });
    let operator = key(Grant::owner("acme"));
    let bench = Bench::over(folder, store, &[], |options| options);
    let messages = json!([
        { "role": "user", "content": "How is pump 8?" },
        { "role": "assistant", "content": "The word is cobalt." },
        { "role": "user", "content": "And pump 9?" }
    ]);
    let new = json!({ "id": "talk", "messages": messages });
    let made = call(&bench, "POST", "/api/v1/sessions", &[&ada], &new).json();
    let (first, answer, last) = (
        &made["messages"][0],
        &made["messages"][1],
        &made["messages"][2],
    );
    let judgement = "/api/v1/sessions/talk/judgement";
    let judge = |key: &str, more: &[&str], body: &Value| {
        call(&bench, "POST", judgement, &[&[key], more].concat(), body)
    };
    let turn = json!({ "request": { "budget": { "tokens": 2_000 } }, "store": false });
    let compile = |key: &str| {
        call(
            &bench,
            "POST",
            "/api/v1/sessions/talk/compile",
            &[key],
            &turn,
        )
        .json()
    };
    assert!(compile(&ada).to_string().contains("cobalt"));
    let quarantined = json!({ "messages": answer, "status": "quarantined", "reason": "planted" });
    assert_eq!(judge(&ada, &[], &quarantined).status, 403);
    assert_eq!(
        judge(&operator, &["if-match: \"1\""], &quarantined).status,
        412
    );
    assert_eq!(
        judge(&operator, &["idempotency-key: k"], &quarantined).status,
        400
    );
    let done = judge(&operator, &[], &quarantined);
    assert_eq!(done.status, 200, "{}", done.json());
    assert_eq!(done.json()["messages"], json!([answer]));
    let shown = bench.ask("GET", "/api/v1/sessions/talk", &[&ada], b"");
    assert_eq!(shown.header("etag"), done.header("etag"));
    let judged = &shown.json()["judged"][0];
    assert_eq!(
        (&judged["id"], &judged["reason"]),
        (answer, &json!("planted"))
    );
    assert_eq!(judged["role"], "operator");
    assert!(
        judged["by"].as_str().unwrap().starts_with("key "),
        "{judged}"
    );
    let next = compile(&ada);
    assert_eq!(next["session"]["cause"], "judged");
    assert!(!next.to_string().contains("cobalt"), "{next}");
    let back = json!({ "id": answer });
    let back = call(
        &bench,
        "POST",
        "/api/v1/sessions/talk/rehydrate",
        &[&ada],
        &back,
    );
    assert_eq!(back.status, 403, "{}", back.json());
    let range = json!({ "id": format!("{}-{}", first.as_str().unwrap(), last.as_str().unwrap()) });
    let back = call(
        &bench,
        "POST",
        "/api/v1/sessions/talk/rehydrate",
        &[&ada],
        &range,
    )
    .json();
    assert_eq!(back["withheld"], json!([answer]));
    for (body, what) in [
        (
            json!({ "messages": last, "status": "retracted" }),
            "is the user's last request",
        ),
        (
            json!({ "messages": "t99", "status": "retracted" }),
            "there is no message t99",
        ),
        (json!({ "messages": answer, "status": "gone" }), "gone"),
        (
            json!({ "messages": answer, "status": "clean", "reason": "" }),
            "`reason` is empty",
        ),
        (json!({ "messages": answer }), "status"),
    ] {
        let reply = judge(&operator, &[], &body);
        assert_eq!(reply.status, 400, "{body}: {}", reply.json());
        assert!(reply.json().to_string().contains(what), "{}", reply.json());
    }
    let path = "/api/v1/sessions/nobody/judgement";
    assert_eq!(
        call(&bench, "POST", path, &[&operator], &quarantined).status,
        404
    );
    let clean = json!({ "messages": answer, "status": "clean" });
    assert_eq!(judge(&operator, &[], &clean).status, 200);
    assert!(compile(&ada).to_string().contains("cobalt"));
}

#[test]
fn an_idempotency_key_is_its_callers() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let key = |user: Option<&str>| {
        let grant = Grant {
            tenant: "acme".into(),
            user: user.map(str::to_owned),
            clearance: Some(Classification::Public),
            ..Grant::default()
        };
        let made = Keys::of(&store).unwrap().create(grant, Instant::from_micros(1_000));
        format!("x-tenure-key: {}", made.unwrap().1)
    };
    let (ada, bob) = (key(Some("ada")), key(Some("bob")));
    let hers_too = key(Some("ada"));
    let backend = key(None);
    let bench = Bench::over(folder, store, &[], |options| options);
    let once = "idempotency-key: begin-1";
    let begin = |key: &str, body: &Value| {
        let reply = call(&bench, "POST", "/api/v1/sessions", &[key, once], body);
        (reply.status, reply.json())
    };
    let new = json!({ "text": "My code is 4711." });
    let mut ids = Vec::new();
    for key in [&ada, &bob, &hers_too] {
        let (status, made) = begin(key, &new);
        assert_eq!((status, begin(key, &new)), (201, (201, made.clone())));
        let id = made["id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/sessions/{id}");
        assert_eq!(bench.ask("GET", &path, &[key], b"").status, 200);
        ids.push(id);
    }
    assert!(ids[0] != ids[1] && ids[0] != ids[2], "{ids:?}");
    // Who speaks for several users says under a key for whom.
    let for_user = |user: &str| json!({ "user": user, "text": "Hello." });
    assert_eq!(begin(&backend, &for_user("ada")).0, 201);
    assert_eq!(begin(&backend, &for_user("bob")).0, 409);
    // Nor does an id with a key open what is another's.
    let named = |id: &str| json!({ "id": id, "text": "My code is 4711." });
    assert_eq!(begin(&ada, &named("hers")).0, 201);
    assert_eq!(begin(&bob, &named("hers")).0, 409);

    // Two keys of one user add to one session: the same words twice are two messages.
    let path = "/api/v1/sessions/hers/messages";
    let more = json!({ "text": "Go on." });
    let once = "idempotency-key: more-1";
    let add =
        |key: &str| call(&bench, "POST", path, &[key, once], &more).json()["messages"].clone();
    let added = [add(&ada), add(&hers_too), add(&backend)];
    assert_eq!(added, [json!(["t3"]), json!(["t4"]), json!(["t5"])]);
    assert_eq!([add(&ada), add(&hers_too), add(&backend)], added);
}

#[test]
fn what_is_no_message_is_said_so() {
    let bench = Bench::new(&[]);
    post(&bench, "/api/v1/sessions", &json!({ "id": "a" }));
    let add = "/api/v1/sessions/a/messages";
    for (path, body) in [
        (add, json!({})),
        (add, json!({ "messages": [], "text": "x" })),
        (add, json!({ "messages": 7 })),
        (
            add,
            json!({ "messages": [{ "role": "king", "content": "x" }] }),
        ),
        (add, json!({ "message": "x" })),
        ("/api/v1/sessions", json!({ "id": "../../etc" })),
        ("/api/v1/sessions", json!({ "id": "" })),
        ("/api/v1/sessions/a/compile", json!({})),
        ("/api/v1/sessions/a/compile", json!({ "request": 7 })),
        ("/api/v1/sessions/a/rehydrate", json!({})),
        ("/api/v1/sessions/a/rehydrate", json!({ "id": "t9" })),
        ("/api/v1/sessions/a/rehydrate", json!({ "id": "x" })),
    ] {
        let reply = call(&bench, "POST", path, &[], &body);
        assert_eq!(reply.status, 400, "{path} {body}: {}", reply.json());
        assert!(reply.json()["detail"].is_string());
    }
    assert_eq!(bench.get("/api/v1/sessions/a?after=x").status, 400);
    // The fields of an object, in their order, are no object.
    assert_eq!(bench.post("/api/v1/sessions", b" [null, null]").status, 400);
    assert_eq!(bench.get("/api/v1/sessions/b").status, 404);
    assert_eq!(bench.get("/api/v1/sessions/..%2f..").status, 400);
}

#[test]
fn a_session_is_pinned_taught_and_taken_elsewhere() {
    let bench = Bench::new(&[]);
    let said = conversation(12);
    let begun = post(
        &bench,
        "/api/v1/sessions",
        &json!({ "id": "plant", "messages": said }),
    );
    let first = begun.json()["messages"][1].as_str().unwrap().to_owned();
    // A message that is pinned outlives every summary.
    let path = "/api/v1/sessions/plant";
    let pinned = post(&bench, &format!("{path}/pin"), &json!({ "message": first }));
    assert_eq!(pinned.json(), json!({ "id": "plant", "pinned": [first] }));
    let tag = pinned.header("etag").unwrap().to_owned();
    let again = post(&bench, &format!("{path}/pin"), &json!({ "message": first }));
    assert_eq!(again.header("etag"), Some(tag.as_str()));
    let stale = call(
        &bench,
        "POST",
        &format!("{path}/unpin"),
        &["if-match: \"1\""],
        &json!({ "message": first }),
    );
    assert_eq!(stale.status, 412);
    let made = post(&bench, &format!("{path}/checkpoint"), &json!({}));
    assert!(
        made.json().to_string().contains("\"pinned\":true"),
        "{}",
        made.json()
    );
    let let_go = call(
        &bench,
        "POST",
        &format!("{path}/unpin"),
        &[&format!("if-match: {}", made.header("etag").unwrap())],
        &json!({ "message": first }),
    );
    assert_eq!(let_go.json()["pinned"], json!([]));
    // A provider's error teaches the window; another says nothing.
    let error = "prompt is too long: 210,000 tokens > 9,000 maximum";
    let learned = post(&bench, &format!("{path}/learn"), &json!({ "error": error }));
    assert_eq!(learned.json(), json!({ "id": "plant", "window": 9_000 }));
    let nothing = post(
        &bench,
        &format!("{path}/learn"),
        &json!({ "error": "overloaded" }),
    );
    assert_eq!(nothing.json()["window"], Value::Null);
    assert_eq!(nothing.header("etag"), learned.header("etag"));
    for (verb, body) in [
        ("pin", json!({ "message": "17" })),
        ("pin", json!({ "message": "t99999" })),
        ("unpin", json!({ "message": "t0" })),
        ("unpin", json!({})),
        ("learn", json!({ "error": 7 })),
    ] {
        let reply = call(&bench, "POST", &format!("{path}/{verb}"), &[], &body);
        assert_eq!(reply.status, 400, "{verb} {body}: {}", reply.json());
    }
    for verb in ["pin", "unpin", "learn"] {
        let body = json!({ "message": "t2", "error": "x" });
        let body = match verb {
            "learn" => json!({ "error": body["error"] }),
            _ => json!({ "message": body["message"] }),
        };
        let path = format!("/api/v1/sessions/nobody/{verb}");
        assert_eq!(call(&bench, "POST", &path, &[], &body).status, 404);
    }
    // What is exported is what came in, and begins the same session elsewhere.
    let exported = bench.get(&format!("{path}/export"));
    assert_eq!(exported.status, 200);
    assert_eq!(exported.header("etag"), nothing.header("etag"));
    let exported = exported.json();
    assert_eq!(exported["format"], "openai-chat");
    assert_eq!(exported["messages"], said);
    assert_eq!(exported["left_out"], json!([]));
    let other =
        json!({ "id": "copy", "messages": exported["messages"], "format": exported["format"] });
    assert_eq!(post(&bench, "/api/v1/sessions", &other).status, 201);
    assert_eq!(
        bench.get("/api/v1/sessions/copy/export").json()["messages"],
        said
    );
    let anthropic = bench.get(&format!("{path}/export?format=anthropic-messages")).json();
    assert_eq!(anthropic["messages"].as_array().unwrap().len(), 24);
    for wrong in ["format=word", "form=gemini"] {
        assert_eq!(bench.get(&format!("{path}/export?{wrong}")).status, 400);
    }
    assert_eq!(bench.get("/api/v1/sessions/nobody/export").status, 404);
}
