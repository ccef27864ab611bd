//! Erasures over HTTP, and what is kept of a person.

use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::ObjectDocument;
use tenure::time::Instant;
use tenure_store::{Put, Store, Writing};
use tenure_workspace::keys::{Grant, Keys};

fn call(bench: &Bench, path: &str, headers: &[&str], body: &Value) -> Reply {
    let headers = [&["content-type: application/json"], headers].concat();
    bench.ask("POST", path, &headers, body.to_string().as_bytes())
}

fn post(bench: &Bench, path: &str, body: &Value) -> Reply {
    let reply = call(bench, path, &[], body);
    assert!(
        (200..300).contains(&reply.status),
        "{path}: {}",
        reply.json()
    );
    reply
}

fn erase(bench: &Bench, body: &Value) -> Reply {
    call(bench, "/api/v1/erase", &[], body)
}

/// Ada in a note, in a session and in a record of what she asked; and Bob beside her.
fn peopled(bench: &Bench) {
    let objects = json!({ "objects": [
        { "name": "note", "content": "Ada is allergic to penicillin.", "subjects": ["ada"] },
        { "name": "limit", "content": "At most 10 kW." },
    ] });
    post(bench, "/api/v1/objects", &objects);
    for (id, user, says) in [
        ("hers", "ada", "My knee hurts when it rains."),
        ("his", "bob", "Good day."),
    ] {
        let session = json!({ "id": id, "user": user, "text": says });
        post(bench, "/api/v1/sessions", &session);
        let compiled = json!({
            "request": {
                "task": { "objective": says },
                "budget": { "tokens": 900 },
                "principal": { "tenant": "local", "user": user },
            },
            "store": false,
            "record": true,
        });
        post(bench, "/api/v1/compile", &compiled);
    }
}

fn relations(known: &Value, list: &str) -> Vec<Value> {
    let list = known[list].as_array().unwrap().iter();
    list.map(|item| item["relation"].clone()).collect()
}

#[test]
fn what_an_erasure_leaves_of_a_person_is_listed_and_erased() {
    let bench = Bench::new(&[]);
    peopled(&bench);
    let known = bench.get("/api/v1/subjects/ada");
    assert_eq!(known.status, 200, "{}", known.json());
    let known = known.json();
    assert_eq!(known["objects"][0]["name"], "note");
    assert_eq!(relations(&known, "objects"), ["subject"]);
    assert_eq!(
        known["sessions"],
        json!([{ "id": "hers", "relation": "user" }])
    );
    assert_eq!(relations(&known, "records"), ["user"]);

    let erased = erase(&bench, &json!({ "subject": "ada" }));
    assert_eq!(erased.status, 200, "{}", erased.json());
    let erased = erased.json();
    assert_eq!(erased["objects"].as_array().unwrap().len(), 1);
    assert_eq!(erased["left"]["sessions"], known["sessions"]);
    assert_eq!(erased["left"]["records"], known["records"]);
    assert_eq!(bench.get("/api/v1/objects/note").status, 404);
    assert_eq!(bench.get("/api/v1/sessions/hers").status, 200);

    let everything = json!({ "subject": "ada", "everything": true });
    let once = ["idempotency-key: e1"];
    let erased = call(&bench, "/api/v1/erase", &once, &everything);
    assert_eq!(erased.status, 200, "{}", erased.json());
    assert!(erased.json().get("left").is_none());
    assert_eq!(bench.get("/api/v1/sessions/hers").status, 404);
    assert_eq!(bench.get("/api/v1/sessions/his").status, 200);
    let records = bench.get("/api/v1/records").json();
    assert_eq!(records["records"].as_array().unwrap().len(), 1);
    assert_eq!(bench.get("/api/v1/subjects/ada").status, 404);
    // The same under its key is answered again; without one, nobody is there.
    let again = call(&bench, "/api/v1/erase", &once, &everything);
    assert_eq!((again.status, again.body), (200, erased.body));
    let nobody = erase(&bench, &everything);
    assert_eq!(nobody.status, 404);
    assert!(nobody.json()["detail"].as_str().unwrap().contains("`ada`"));
}

#[test]
fn objects_sessions_and_messages_are_erased() {
    let bench = Bench::new(&[]);
    peopled(&bench);
    let said = json!({ "text": "The code is 7342, remember it." });
    let added = post(&bench, "/api/v1/sessions/his/messages", &said).json();
    let message = added["messages"][0].clone();
    let part = erase(&bench, &json!({ "session": "his", "messages": message }));
    assert_eq!(part.status, 200, "{}", part.json());
    let shown = bench.get("/api/v1/sessions/his").json().to_string();
    assert!(
        shown.contains("Good day.") && !shown.contains("7342"),
        "{shown}"
    );
    let whole = json!({ "session": "his" });
    for _ in 0..2 {
        let gone = call(&bench, "/api/v1/erase", &["idempotency-key: s1"], &whole);
        assert_eq!(gone.status, 200, "{}", gone.json());
    }
    assert_eq!(erase(&bench, &whole).status, 404);
    assert_eq!(erase(&bench, &json!({ "objects": ["limit"] })).status, 200);
    assert_eq!(bench.get("/api/v1/objects/limit").status, 404);
    assert_eq!(erase(&bench, &json!({ "objects": ["limit"] })).status, 404);
    for (wrong, field) in [
        (json!({}), "objects"),
        (json!({ "objects": ["note"], "subject": "ada" }), "objects"),
        (
            json!({ "objects": ["note"], "everything": true }),
            "everything",
        ),
        (json!({ "subject": "ada", "messages": "t1" }), "messages"),
        (
            json!({ "session": "hers", "messages": "first" }),
            "messages",
        ),
        (json!({ "person": "ada" }), "person"),
    ] {
        let reply = erase(&bench, &wrong);
        assert_eq!(reply.status, 400, "{wrong}: {}", reply.json());
        let problem = reply.json();
        let named =
            problem["at"]["source"] == field || problem["detail"].as_str().unwrap().contains(field);
        assert!(named, "{wrong}: {problem}");
    }
    assert_eq!(bench.get("/api/v1/objects/note").status, 200);
}

#[test]
fn only_operators_erase_and_only_their_tenants() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let note = ObjectDocument {
        subjects: vec!["ada".into()],
        ..ObjectDocument::named("note", "Ada is allergic to penicillin.")
    };
    let local = store.tenant("local").unwrap();
    let written = local.put(vec![Put::new(note)], &Writing::default());
    assert_eq!(written.unwrap().objects.len(), 1);
    let keys = Keys::of(&store).unwrap();
    let key = |grant| {
        let made = keys.create(grant, Instant::from_micros(1_000));
        format!("x-api-key: {}", made.unwrap().1)
    };
    let reader = key(Grant {
        operator: false,
        user: Some("ada".into()),
        ..Grant::owner("local")
    });
    let stranger = key(Grant::owner("other"));
    let owner = key(Grant::owner("local"));
    let bench = Bench::over(folder, store.clone(), &[], |options| options);
    let asked = json!({ "subject": "ada", "everything": true });
    let known = |key: &str| bench.ask("GET", "/api/v1/subjects/ada", &[key], b"");
    for (key, status) in [(&reader, 403), (&stranger, 404)] {
        let refused = call(&bench, "/api/v1/erase", &[key], &asked);
        assert_eq!(refused.status, status, "{}", refused.json());
        assert_eq!(known(key).status, status);
    }
    // Whom nobody knows and who is another's is told alike to a stranger.
    let nobody = bench.ask("GET", "/api/v1/subjects/eve", &[&stranger], b"");
    let detail = |reply: &Reply| reply.json()["detail"].as_str().unwrap().replace("eve", "ada");
    assert_eq!(detail(&nobody), detail(&known(&stranger)));
    assert_eq!(known(&owner).status, 200);
}
