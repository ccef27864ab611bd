//! Objects of a store read on somebody's behalf: each key, and each principal that an operator names, is shown what
//! the labels and lists of objects let it see, and cannot tell the rest from what is not there.

#![cfg(unix)]

use crate::server::Server;
use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::Principal;
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_store::Store;
use tenure_workspace::keys::{Grant, Keys};

const JSON: &str = "content-type: application/json";
/// Two objects of one name, and one that nobody wrote.
const ANAS_PLAN: &str = "0198a000-0000-7000-8000-000000000001";
const BOBS_PLAN: &str = "0198a000-0000-7000-8000-000000000002";
const NOBODYS: &str = "0198a000-0000-7000-8000-000000000003";

/// A server over a store of its own, with keys for an operator, for Ana of the support and for Bob, an admin.
struct Home {
    bench: Bench,
    operator: String,
    ana: String,
    bob: String,
    /// When all was written but that `moved` was closed.
    before: Instant,
}

fn grant(user: &str, role: &str) -> Grant {
    Grant {
        tenant: "acme".into(),
        user: Some(user.into()),
        roles: vec![role.into()],
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    }
}

fn bobs() -> Grant {
    Grant {
        project: Some("north".into()),
        clearance: Some(Classification::Confidential),
        pii: true,
        ..grant("bob", "admin")
    }
}

fn home(store: Store) -> Home {
    let made = Instant::from_micros(1_790_000_000_000_000);
    let keys = Keys::of(&store).unwrap();
    let key = |grant: Grant| format!("x-tenure-key: {}", keys.create(grant, made).unwrap().1);
    let operator = key(Grant {
        tenant: "acme".into(),
        operator: true,
        ..Grant::default()
    });
    let (ana, bob) = (key(grant("ana", "support")), key(bobs()));
    let bench = Bench::over(tempfile::tempdir().unwrap(), store, &[], |options| options);
    let about =
        |name: &str| json!({ "name": name, "content": format!("What {name} says of pumps.") });
    let with = |name: &str, field: &str, value: Value| {
        let mut object = about(name);
        object[field] = value;
        object
    };
    let plan = |id: &str, user: &str| {
        let mut object = with("plan", "user_id", user.into());
        object["object_id"] = id.into();
        object
    };
    let admins = json!({ "allow_roles": ["admin"] });
    let objects = json!([
        about("open"),
        with("closed", "permission_scope", admins.clone()),
        with(
            "inner",
            "permission_scope",
            json!({ "deny_roles": ["support"] })
        ),
        with("north", "project_id", "north".into()),
        with("secret", "security_classification", "confidential".into()),
        with("address", "tags", json!(["pii"])),
        about("moved"),
        plan(ANAS_PLAN, "ana"),
        plan(BOBS_PLAN, "bob"),
    ]);
    let write = |objects: Value| {
        let body = json!({ "objects": objects }).to_string();
        let reply = bench.ask(
            "POST",
            "/api/v1/objects",
            &[JSON, &operator],
            body.as_bytes(),
        );
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()["at"].as_str().map(|at| at.parse().unwrap())
    };
    let before: Option<Instant> = write(objects);
    write(json!([with("moved", "permission_scope", admins)]));
    let before = before.unwrap();
    Home {
        bench,
        operator,
        ana,
        bob,
        before,
    }
}

impl Home {
    fn get(&self, key: &str, path: &str) -> Reply {
        self.bench.ask("GET", path, &[key], b"")
    }

    /// The names in a list.
    fn names(&self, key: &str, query: &str) -> Vec<String> {
        let reply = self.get(key, &format!("/api/v1/objects{query}"));
        let page = reply.json();
        assert_eq!(reply.status, 200, "{page}");
        let lines = page["objects"].as_array().unwrap().iter();
        lines.map(|line| line["name"].as_str().unwrap().to_owned()).collect()
    }

    /// What is answered of an object that is not there, with its name in the place of another's.
    fn nothing(&self, key: &str, path: &str, name: &str) -> Value {
        let reply = self.get(key, &path.replace(name, NOBODYS));
        assert_eq!(reply.status, 404, "{path}");
        let text = String::from_utf8(reply.body).unwrap();
        serde_json::from_str(&text.replace(NOBODYS, name)).unwrap()
    }

    /// Asserts that a path gives no more than it would if the object were not there.
    fn hides(&self, key: &str, path: &str, name: &str) {
        let reply = self.get(key, path);
        assert_eq!((reply.status, reply.header("etag")), (404, None), "{path}");
        assert_eq!(reply.json(), self.nothing(key, path, name), "{path}");
    }
}

fn asked(principal: &Principal) -> String {
    named(&serde_json::to_string(principal).unwrap())
}

/// A principal in a query.
fn named(json: &str) -> String {
    let encoded = json.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    });
    format!("principal={}", encoded.collect::<String>())
}

fn everybody_reads_what_is_theirs(home: &Home) {
    let all = [
        "open", "closed", "inner", "north", "secret", "address", "moved", "plan", "plan",
    ];
    let bobs = [
        "open", "closed", "inner", "north", "secret", "address", "moved", "plan",
    ];
    assert_eq!(home.names(&home.operator, ""), all);
    assert_eq!(home.names(&home.ana, ""), ["open", "plan"]);
    assert_eq!(home.names(&home.bob, ""), bobs);
    // The past is shown to whom the present shows it.
    let then = format!("?as_of={}", home.before);
    assert_eq!(home.names(&home.operator, &then), all);
    assert_eq!(home.names(&home.ana, &then), ["open", "plan"]);
    assert_eq!(home.names(&home.bob, &then), bobs);
    assert_eq!(home.names(&home.ana, "?search=pumps"), ["open", "plan"]);
    assert!(home.names(&home.ana, "?search=secret").is_empty());
    assert_eq!(home.names(&home.bob, "?search=secret%20pumps"), ["secret"]);
    // A page ends, and goes on, among what is shown.
    let page = home.get(&home.ana, "/api/v1/objects?limit=1").json();
    let next = page["next"].as_str().unwrap();
    assert_eq!(home.names(&home.ana, &format!("?after={next}")), ["plan"]);
    let behind = |id: &str| home.get(&home.ana, &format!("/api/v1/objects?after={id}"));
    let (hidden, none) = (behind(BOBS_PLAN), behind(NOBODYS));
    let text = |reply: Reply| String::from_utf8(reply.body).unwrap();
    assert_eq!((hidden.status, none.status), (400, 400));
    assert_eq!(text(hidden), text(none).replace(NOBODYS, BOBS_PLAN));

    for name in [
        "closed", "inner", "north", "secret", "address", "moved", BOBS_PLAN,
    ] {
        home.hides(&home.ana, &format!("/api/v1/objects/{name}"), name);
        home.hides(&home.ana, &format!("/api/v1/objects/{name}/history"), name);
        let then = format!("/api/v1/objects/{name}?as_of={}", home.before);
        home.hides(&home.ana, &then, name);
    }
    let history = home.get(&home.bob, "/api/v1/objects/moved/history").json();
    assert_eq!(history["beliefs"].as_array().unwrap().len(), 2, "{history}");
    // Of two that have a name, each reads the one that they see.
    for (key, id) in [(&home.ana, ANAS_PLAN), (&home.bob, BOBS_PLAN)] {
        let plan = home.get(key, "/api/v1/objects/plan");
        assert!(plan.header("etag").is_some());
        assert_eq!(plan.json()[0]["object"]["object_id"], id);
    }
    assert_eq!(home.get(&home.operator, "/api/v1/objects/plan").status, 400);
    // Who reads does not write.
    let open = json!({ "name": "open", "content": "Otherwise." }).to_string();
    for (method, path) in [
        ("PUT", "/api/v1/objects/open"),
        ("DELETE", "/api/v1/objects/open"),
    ] {
        let reply = home.bench.ask(method, path, &[JSON, &home.bob], open.as_bytes());
        assert_eq!(reply.status, 403, "{method}");
    }
}

fn what_is_shown_names_nothing_else(home: &Home) {
    let made =
        json!({ "name": "made", "content": "What was made of it.", "derived_from": [ANAS_PLAN] });
    let body = json!({ "objects": [made] }).to_string();
    let lines = [JSON, &home.operator];
    let reply = home.bench.ask("POST", "/api/v1/objects", &lines, body.as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.json());
    for path in ["made", "made/history"] {
        let path = format!("/api/v1/objects/{path}");
        let first = |key| {
            let reply = home.get(key, &path);
            assert_eq!(reply.status, 200, "{}", reply.json());
            let shown = reply.json();
            shown.get("beliefs").unwrap_or(&shown)[0]["object"].clone()
        };
        assert_eq!(first(&home.operator)["derived_from"], json!([ANAS_PLAN]));
        assert_eq!(first(&home.ana).get("derived_from"), None);
    }
}

fn what_is_hidden_leaves_no_gap_in_a_history(home: &Home) {
    // Every other revision was the admins' alone; now it is open.
    for round in 0..9 {
        let mut object = json!({ "name": "turns", "content": format!("Round {round}.") });
        if round % 2 == 1 {
            object["permission_scope"] = json!({ "allow_roles": ["admin"] });
        }
        let body = json!({ "objects": [object] }).to_string();
        let lines = [JSON, &home.operator];
        let reply = home.bench.ask("POST", "/api/v1/objects", &lines, body.as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.json());
    }
    let pages = |key: &str, limit: usize| {
        let (mut rounds, mut sizes, mut after) = (Vec::new(), Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/objects/turns/history?limit={limit}{after}");
            let page = home.get(key, &path).json();
            let beliefs = page["beliefs"].as_array().unwrap();
            sizes.push(beliefs.len());
            let content = |belief: &Value| belief["object"]["content"].as_str().unwrap().to_owned();
            rounds.extend(beliefs.iter().map(content));
            match page["next"].as_str() {
                Some(next) => after = format!("&after={}", next.replace('+', "%2B")),
                None => return (rounds, sizes),
            }
        }
    };
    let rounds = |step| -> Vec<String> {
        let rounds = (0..9).step_by(step);
        rounds.map(|round| format!("Round {round}.")).collect()
    };
    assert_eq!(pages(&home.operator, 4), (rounds(1), vec![4, 4, 1]));
    assert_eq!(pages(&home.ana, 2), (rounds(2), vec![2, 2, 1]));
    assert_eq!(pages(&home.ana, 5), (rounds(2), vec![5]));
}

fn an_operator_reads_as_another_and_nobody_as_more(home: &Home) {
    for (key, grant) in [(&home.ana, grant("ana", "support")), (&home.bob, bobs())] {
        let as_them = asked(&grant.principal());
        assert_eq!(
            home.names(&home.operator, &format!("?{as_them}")),
            home.names(key, "")
        );
        assert_eq!(home.names(key, &format!("?{as_them}")), home.names(key, ""));
    }
    let ana = asked(&grant("ana", "support").principal());
    for path in ["secret", "moved/history"] {
        let path = format!("/api/v1/objects/{path}?{ana}");
        assert_eq!(home.get(&home.operator, &path).status, 404, "{path}");
    }
    let path = |more: Value| {
        let mut principal = json!({ "tenant": "acme", "user": "ana", "roles": ["support"] });
        for (field, value) in more.as_object().unwrap() {
            principal[field] = value.clone();
        }
        format!("/api/v1/objects?{}", named(&principal.to_string()))
    };
    for more in [
        json!({ "user": "bob" }),
        json!({ "roles": ["admin"] }),
        json!({ "clearance": "confidential" }),
        json!({ "pii_authorized": true }),
        json!({ "origins": ["https://bank.example"] }),
        json!({ "tenant": "other" }),
    ] {
        assert_eq!(
            home.get(&home.ana, &path(more.clone())).status,
            403,
            "{more}"
        );
    }
    // Less than the key grants is less; a role stays.
    let fewer = json!({ "tenant": "acme", "user": "bob", "clearance": "restricted" });
    let fewer = home.names(&home.bob, &format!("?{}", named(&fewer.to_string())));
    assert_eq!(fewer, ["open", "closed", "inner", "north", "moved", "plan"]);
    for wrong in ["ana", "[]", "{\"tenant\": 1}", "{\"name\": \"ana\"}"] {
        let path = format!("/api/v1/objects?{}", named(wrong));
        assert_eq!(home.get(&home.operator, &path).status, 400, "{wrong}");
    }
    let both = format!("/api/v1/objects?search=pumps&as_of={}", home.before);
    assert_eq!(home.get(&home.operator, &both).status, 400);
}

fn a_policy_of_ones_own_grants_nothing(home: &Home) {
    let mut policy =
        serde_json::to_value(tenure::Policy::preset("standard").unwrap().document()).unwrap();
    policy["pii"] = "off".into();
    let request = json!({ "task": { "objective": "Pumps." }, "budget": { "tokens": 2000 } });
    let compile = json!({ "request": request, "policy": policy }).to_string();
    let query = json!({ "text": "address pumps", "policy": policy }).to_string();
    for (path, body) in [
        ("/api/v1/compile", &compile),
        ("/api/v1/explain", &compile),
        ("/api/v1/query", &query),
    ] {
        let ask = |key: &String| home.bench.ask("POST", path, &[JSON, key], body.as_bytes());
        assert_eq!(ask(&home.ana).status, 403, "{path}");
        let bobs = ask(&home.bob);
        assert_eq!(bobs.status, 200, "{path}");
        assert!(
            String::from_utf8_lossy(&bobs.body).contains("address"),
            "{path}"
        );
    }
}

fn all(home: &Home) {
    everybody_reads_what_is_theirs(home);
    an_operator_reads_as_another_and_nobody_as_more(home);
    what_is_shown_names_nothing_else(home);
    what_is_hidden_leaves_no_gap_in_a_history(home);
    a_policy_of_ones_own_grants_nothing(home);
}

#[test]
fn over_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    all(&home(
        Store::sqlite(&folder.path().join("store.db")).unwrap(),
    ));
}

#[test]
fn over_postgresql() {
    let server = Server::shared();
    server.create("reading");
    let store = Store::open(&server.url("reading")).unwrap();
    store.migrate().unwrap();
    all(&home(store));
}
