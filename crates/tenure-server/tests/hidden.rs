//! What is hidden from a caller is refused before it is read: it costs what an object costs that is not there, however
//! large it is, and whatever became of its row.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::time::{Duration, Instant as Clock};

use serde_json::{Value, json};
use support::{Bench, Reply};
use tenure::object::{Classification, Lifecycle};
use tenure::time::Instant;
use tenure_store::Writing;
use tenure_workspace::keys::{Grant, Keys};

const JSON: &str = "content-type: application/json";

/// A server, and the keys of an operator and of somebody who sees little.
fn home() -> (Bench, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = tenure_store::Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let key = |grant: Grant| {
        let made = Instant::from_micros(1_790_000_000_000_000);
        format!("x-tenure-key: {}", keys.create(grant, made).unwrap().1)
    };
    let acme = Grant {
        tenant: "acme".into(),
        ..Grant::default()
    };
    let operator = key(Grant {
        operator: true,
        ..acme.clone()
    });
    let ana = key(Grant {
        user: Some("ana".into()),
        clearance: Some(Classification::Restricted),
        ..acme
    });
    let bench = Bench::over(folder, store, &[], |options| options);
    let secret = |name: &str, content: String| json!({ "name": name, "content": content, "security_classification": "confidential" });
    let objects = json!([
        { "name": "open", "content": "The pump is blue." },
        secret("small", "The pump is red.".into()),
        secret("large", format!("The pump is red. {}", "And so on. ".repeat(100_000))),
        secret("lost", "The pump is green.".into()),
        secret("past", "The pump was green.".into()),
    ]);
    let put = |objects: Value| {
        let body = json!({ "objects": objects }).to_string();
        let headers = [JSON, &operator];
        let reply = bench.ask("POST", "/api/v1/objects", &headers, body.as_bytes());
        assert_eq!(reply.status, 200, "{}", reply.json());
    };
    put(objects);
    put(json!([secret("past", "The pump is grey.".into())]));
    (bench, operator, ana)
}

const PATHS: [&str; 3] = ["", "/history", "?as_of=2100-01-01"];

fn get(bench: &Bench, key: &str, path: &str) -> Reply {
    bench.ask("GET", &format!("/api/v1/objects{path}"), &[key], b"")
}

#[test]
fn what_is_hidden_is_refused_before_it_is_read() {
    let (bench, operator, ana) = home();
    assert_eq!(get(&bench, &operator, "?search=pump").status, 200);
    // Whoever reads these rows finds them damaged.
    let connection = rusqlite::Connection::open(bench.folder.path().join("store.db")).unwrap();
    let sql = "DROP TRIGGER revisions_never_change; UPDATE revisions SET body = 'gone' WHERE body LIKE '%gre%'";
    connection.execute_batch(sql).unwrap();
    for name in ["lost", "past"] {
        for more in PATHS {
            let path = format!("/{name}{more}");
            assert_eq!(get(&bench, &operator, &path).status, 500, "{path}");
            let hidden = get(&bench, &ana, &path);
            let absent = get(&bench, &ana, &format!("/none{more}"));
            assert_eq!((hidden.status, absent.status), (404, 404), "{path}");
            let text = |reply: Reply| String::from_utf8(reply.body).unwrap();
            assert_eq!(text(hidden), text(absent).replace("none", name));
        }
    }
    // Nor does a search read them.
    let pumps = get(&bench, &operator, "?search=pump").json();
    assert!(pumps["damaged"].as_u64().is_some(), "{pumps}");
    let pumps = get(&bench, &ana, "?search=pump").json();
    assert_eq!(pumps["objects"].as_array().unwrap().len(), 1);
    assert_eq!(pumps.get("damaged"), None);
    // Nor the rows that say what it is called.
    let sql =
        "UPDATE objects SET name = 'altered' WHERE name IN ('small', 'large', 'lost', 'past')";
    connection.execute_batch(sql).unwrap();
    assert_eq!(get(&bench, &operator, "?search=pump").status, 500);
    assert_eq!(get(&bench, &ana, "?search=pump").json(), pumps);
}

#[test]
fn what_is_hidden_by_its_origin_is_as_what_is_not_there() {
    let (bench, operator, ana) = home();
    let belief = |name: &str, id: u8| {
        json!({
            "name": name, "content": "The pump is pink.", "object_type": "inferred_belief",
            "origins": ["https://a.example/pumps"],
            "object_id": format!("00000000-0000-8000-8000-0000000000{id:02x}"),
        })
    };
    let twin = json!({ "name": "twin", "content": "The pump is cyan." });
    let objects = json!([belief("belief", 1), belief("twin", 2), twin]);
    let reply = bench.ask(
        "POST",
        "/api/v1/objects",
        &[JSON, &operator],
        json!({ "objects": objects }).to_string().as_bytes(),
    );
    assert_eq!(reply.status, 200, "{}", reply.json());
    let text = |reply: Reply| String::from_utf8(reply.body).unwrap();
    for more in PATHS {
        let path = format!("/belief{more}");
        assert_eq!(get(&bench, &operator, &path).status, 200, "{path}");
        let hidden = get(&bench, &ana, &path);
        let absent = get(&bench, &ana, &format!("/none{more}"));
        assert_eq!((hidden.status, absent.status), (404, 404), "{path}");
        assert_eq!(text(hidden), text(absent).replace("none", "belief"));
        // Of two that share a name, the one is no secret, and the other is.
        let twin = get(&bench, &ana, &format!("/twin{more}"));
        assert_eq!(twin.status, 200, "{}", twin.json());
        assert!(!text(twin).contains("pink"));
    }
}

#[test]
fn what_is_left_out_is_named_to_whom_it_is_open() {
    let (bench, operator, ana) = home();
    let compiled = |key: &str, view: &str| {
        let call = json!({
            "request": { "task": { "objective": "Report." }, "budget": { "tokens": 900 } },
            "view": view,
        });
        let reply = bench.ask(
            "POST",
            "/api/v1/compile",
            &[JSON, key],
            call.to_string().as_bytes(),
        );
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()["trace"].clone()
    };
    let tenant = bench.store.tenant("acme").unwrap();
    let [open, small, lost] = ["open", "small", "lost"].map(|name| tenant.named(name).unwrap()[0]);
    let connection = rusqlite::Connection::open(bench.folder.path().join("store.db")).unwrap();
    let sql = "DROP TRIGGER revisions_never_change; UPDATE revisions SET body = 'gone' WHERE body LIKE '%is green%'";
    connection.execute_batch(sql).unwrap();
    tenant.repair(&Writing::default()).unwrap();
    let before = compiled(&ana, "caller");
    assert_eq!(
        before.get("unfetched"),
        None,
        "what was set aside is hidden"
    );
    let archive = |id| tenant.age(vec![id], Lifecycle::Archived, &Writing::default());
    archive(small).unwrap();
    // Nothing shows what became of what is hidden, no digest either.
    let after = compiled(&ana, "caller");
    assert_eq!(
        after["inputs"]["candidates"],
        before["inputs"]["candidates"]
    );
    for part in ["verdicts", "stages", "unfetched"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    archive(open).unwrap();
    let names = |trace: &Value| {
        let left = trace["unfetched"].as_array().unwrap().iter();
        left.map(|one| one["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&compiled(&ana, "caller")), ["open"]);
    let all = names(&compiled(&operator, "operator"));
    assert_eq!(all, ["open", "small", &lost.to_string()]);
}

/// Prints what the clock says; asserts nothing of it.
#[test]
fn what_is_hidden_takes_as_long_as_what_is_not_there() {
    let (bench, _, ana) = home();
    let paths = PATHS.map(|more| (format!("/NAME{more}"), 404));
    for (path, status) in paths.into_iter().chain([("?search=NAME".into(), 200)]) {
        let mut times = [("none", vec![]), ("small", vec![]), ("large", vec![])];
        for _ in 0..40 {
            for (name, times) in &mut times {
                let started = Clock::now();
                let reply = get(&bench, &ana, &path.replace("NAME", name));
                times.push(started.elapsed());
                assert_eq!(reply.status, status);
            }
        }
        let middle = times.map(|(name, mut times)| {
            times.sort();
            (name, times[times.len() / 2])
        });
        println!("{status} of {path}: {middle:?}");
        assert!(middle.iter().all(|(_, time)| *time < Duration::from_secs(5)));
    }
}

#[test]
fn a_role_decides_between_claims_that_it_sees_where_the_server_says_so() {
    let served = |resolvers: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let store = tenure_store::Store::sqlite(&folder.path().join("store.db")).unwrap();
        let keys = Keys::of(&store).unwrap();
        let key = |user: Option<&str>, roles: &[&str], operator: bool| {
            let grant = Grant {
                tenant: "acme".into(),
                user: user.map(str::to_owned),
                roles: roles.iter().map(|role| (*role).to_owned()).collect(),
                operator,
                clearance: Some(Classification::Restricted),
                ..Grant::default()
            };
            let made = Instant::from_micros(1_790_000_000_000_000);
            format!("x-tenure-key: {}", keys.create(grant, made).unwrap().1)
        };
        let all = [
            key(None, &[], true),
            key(Some("ana"), &["arbiter"], false),
            key(Some("bob"), &["reviewer"], false),
            // A role alone is nobody.
            key(None, &["arbiter"], false),
        ];
        let resolvers = resolvers.iter().map(|role| (*role).to_owned()).collect();
        let bench = Bench::over(folder, store, &[], |options| tenure_server::Options {
            resolvers,
            ..options
        });
        (bench, all)
    };
    let claim = |name: &str, value: u32, user: Option<&str>| {
        json!({
            "name": name, "content": format!("It is {value}."), "user_id": user, "security_classification": "restricted",
            "normalized_claim": format!("port == {value}"), "canonical_entity_ids": ["desk"],
        })
    };
    let decide = |bench: &Bench, key: &str, second: &str| {
        let body = json!({ "first": "open", "second": second, "stands": "first" }).to_string();
        bench.ask("POST", "/api/v1/conflicts", &[JSON, key], body.as_bytes())
    };
    for resolvers in [&[][..], &["arbiter"]] {
        let (bench, [operator, ana, bob, nobody]) = served(resolvers);
        let objects = json!([
            claim("open", 1, None),
            claim("other", 2, None),
            claim("hers", 3, Some("eve"))
        ]);
        let body = json!({ "objects": objects }).to_string();
        let put = bench.ask(
            "POST",
            "/api/v1/objects",
            &[JSON, &operator],
            body.as_bytes(),
        );
        assert_eq!(put.status, 200, "{}", put.json());
        // The page for decisions has the forms of who may decide over the API.
        for (key, may) in [
            (&operator, true),
            (&ana, !resolvers.is_empty()),
            (&bob, false),
        ] {
            let cookie = key.replace("x-tenure-key: ", "cookie: tenure_key=");
            let page = bench.ask("GET", "/inspect/waiting", &[&cookie], b"");
            let page = String::from_utf8(page.body).unwrap();
            assert!(page.contains("port == 1"), "{page}");
            assert_eq!(page.contains("waiting/conflict\""), may, "{page}");
        }
        let may = if resolvers.is_empty() { 403 } else { 200 };
        assert_eq!(decide(&bench, &ana, "other").status, may);
        for none in [&bob, &nobody] {
            let refused = decide(&bench, none, "other");
            assert_eq!(refused.status, 403);
            assert!(
                refused.json().to_string().contains("--resolver"),
                "{}",
                refused.json()
            );
        }
        // What she may not see is not there for her.
        let [hidden, missing] = ["hers", "none"].map(|second| decide(&bench, &ana, second));
        assert_eq!(hidden.status, missing.status);
        assert_eq!(
            hidden.json().to_string().replace("hers", "none"),
            missing.json().to_string()
        );
        assert_eq!(decide(&bench, &operator, "hers").status, 200);
        // The list has pages, for each of what they may see.
        let pages = |key: &str, query: &str| {
            let reply = bench.ask("GET", &format!("/api/v1/conflicts{query}"), &[key], b"");
            assert_eq!(reply.status, 200, "{}", reply.json());
            let found = reply.json();
            let next = found["next"].as_str().map(str::to_owned);
            (found["conflicts"].as_array().unwrap().len(), next)
        };
        let (count, next) = pages(&operator, "?limit=2");
        assert_eq!(count, 2);
        let after = format!("?limit=2&after={}", next.unwrap());
        assert_eq!(pages(&operator, &after), (1, None));
        assert_eq!(pages(&ana, "?limit=2"), (1, None));
        assert_eq!(pages(&operator, "?entity=desk&slot=port").0, 3);
        assert_eq!(pages(&operator, "?entity=table").0, 0);
        let waits = if resolvers.is_empty() { 2 } else { 1 };
        assert_eq!(pages(&operator, "?unresolved=true").0, waits);
        let wrong = bench.ask("GET", "/api/v1/conflicts?after=2", &[&operator], b"");
        assert_eq!(
            (wrong.status, &wrong.json()["at"]["source"]),
            (400, &json!("after")),
            "{}",
            wrong.json()
        );
    }
}
