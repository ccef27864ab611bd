//! The pages at `/inspect`: who sees what, what a page may do, and decisions that are made once.

use crate::support::{Bench, Reply, Upstream};
use serde_json::{Value, json};
use tenure::object::Classification;
use tenure_workspace::Clock;
use tenure_workspace::keys::{Grant, Keys};

/// A bench with keys: of an operator, of an operator who only reads, of ann and of bob.
struct Scene {
    bench: Bench,
    keys: Keys,
    operator: String,
    reader: String,
    ann: String,
    bob: String,
    /// A person who decides on outcomes.
    rita: String,
    reader_id: String,
}

const ANSWER: &str = r#"{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":2,"total_tokens":102,"prompt_tokens_details":{"cached_tokens":64}}}"#;

impl Scene {
    fn new() -> Scene {
        let upstream = Upstream::saying("application/json", ANSWER);
        let bench = Bench::new(&[format!("openai={}", upstream.url())]);
        let keys = Keys::of(&bench.store).unwrap();
        let now = Clock::machine().now();
        let grant = |user: Option<&str>, operator: bool, read_only: bool| Grant {
            tenant: "acme".into(),
            user: user.map(str::to_owned),
            operator,
            read_only,
            clearance: Some(Classification::Restricted),
            ..Grant::default()
        };
        let made = |grant| keys.create(grant, now).unwrap();
        let (_, operator) = made(grant(None, true, false));
        let (reader_key, reader) = made(grant(None, true, true));
        let (_, ann) = made(grant(Some("ann"), false, false));
        let (_, bob) = made(grant(Some("bob"), false, false));
        let mut reviewing = grant(Some("rita"), false, false);
        reviewing.roles = vec!["reviewer".into()];
        let (_, rita) = made(reviewing);
        // The first key is found within a second.
        crate::support::wait_for(|| (bench.get("/api/v1/models").status == 401).then_some(()));
        Scene {
            bench,
            operator,
            reader,
            ann,
            bob,
            rita,
            reader_id: reader_key.id,
            keys,
        }
    }

    fn page(&self, path: &str, key: &str) -> Reply {
        let cookie = format!("cookie: tenure_key={key}");
        self.bench.ask("GET", path, &[&cookie], b"")
    }

    fn text(&self, path: &str, key: &str) -> String {
        let reply = self.page(path, key);
        let text = String::from_utf8(reply.body).unwrap();
        assert_eq!(reply.status, 200, "{path}: {text}");
        text
    }

    fn form(&self, path: &str, key: &str, body: &str) -> Reply {
        let cookie = format!("cookie: tenure_key={key}");
        let headers = [
            cookie.as_str(),
            "content-type: application/x-www-form-urlencoded",
            "origin: http://localhost",
        ];
        self.bench.ask("POST", path, &headers, body.as_bytes())
    }

    fn api(&self, method: &str, path: &str, key: &str, body: &Value) -> Reply {
        let shown = format!("x-tenure-key: {key}");
        let headers = [shown.as_str(), "content-type: application/json"];
        self.bench.ask(method, path, &headers, body.to_string().as_bytes())
    }

    /// A recorded compile of ann's, with an object that only the chief may see.
    fn compiled(&self) -> String {
        let call = json!({
            "record": true,
            "request": {
                "principal": { "tenant": "acme", "user": "ann", "clearance": "restricted" },
                "task": { "objective": "Report the pressure." },
                "budget": { "tokens": 2000 },
            },
            "objects": [
                { "name": "<script>units", "object_type": "rule", "content": "Report pressure in pascal." },
                { "name": "secret-of-the-chief", "object_type": "rule", "content": "The northern station is closed.", "permission_scope": { "allow_roles": ["chief"] } },
            ],
        });
        let reply = self.api("POST", "/api/v1/compile", &self.operator, &call);
        let done = reply.json();
        assert_eq!(reply.status, 200, "{done}");
        done["record_ids"][0].as_str().unwrap().to_owned()
    }

    fn token(&self, key: &str) -> String {
        let page = self.text("/inspect/waiting", key);
        let after = page.split("name=\"token\" value=\"").nth(1).unwrap();
        after.split('"').next().unwrap().to_owned()
    }
}

#[test]
fn who_has_no_key_signs_in_and_a_revoked_key_ends_it() {
    let scene = Scene::new();
    let asked = scene.bench.get("/inspect/trends?x=1");
    assert_eq!(asked.status, 303);
    let place = asked.header("location").unwrap();
    assert_eq!(place, "/inspect/sign-in?back=%2Finspect%2Ftrends%3Fx%3D1");
    let form = scene.bench.get(place);
    let text = String::from_utf8(form.body).unwrap();
    assert!(form.status == 200 && text.contains("value=\"/inspect/trends?x=1\""));

    let send = |body: String| {
        let headers = [
            "content-type: application/x-www-form-urlencoded",
            "origin: http://localhost",
        ];
        scene.bench.ask("POST", "/inspect/sign-in", &headers, body.as_bytes())
    };
    let wrong = send("key=tnr_none_none&back=%2Finspect%2Ftrends".into());
    assert!(wrong.header("set-cookie").is_none());
    assert!(wrong.header("location").unwrap().contains("failed=1"));
    let right = send(format!(
        "key={}&back=https%3A%2F%2Fevil.example",
        scene.reader
    ));
    assert_eq!(right.header("location"), Some("/inspect"));
    let cookie = right.header("set-cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(cookie.contains("Path=/inspect;"), "{cookie}");

    // The cookie opens the pages, and nothing else.
    assert_eq!(scene.page("/inspect", &scene.reader).status, 200);
    assert_eq!(scene.page("/api/v1/models", &scene.reader).status, 401);
    scene.keys.revoke(&scene.reader_id, Clock::machine().now()).unwrap();
    assert_eq!(scene.page("/inspect", &scene.reader).status, 303);
}

#[test]
fn a_page_may_load_and_do_nothing_but_its_own() {
    let scene = Scene::new();
    let id = scene.compiled();
    for path in [
        "/inspect".to_owned(),
        format!("/inspect/records/{id}"),
        format!("/inspect/records/{id}/items"),
        format!("/inspect/records/{id}/payload"),
        format!("/inspect/records/{id}/item?at=0"),
        format!("/inspect/records/{id}/diff?before={id}"),
        "/inspect/registries".to_owned(),
        "/inspect/waiting".to_owned(),
        "/inspect/trends".to_owned(),
    ] {
        let reply = scene.page(&path, &scene.operator);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert_eq!(reply.status, 200, "{path}: {text}");
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        assert_eq!(reply.header("x-frame-options"), Some("DENY"));
        assert!(
            !text.contains("<script>units") && !text.contains("style="),
            "{path}"
        );
    }
    let style = scene.bench.get("/inspect/style.css");
    assert!(style.status == 200 && style.header("content-type").unwrap().starts_with("text/css"));
}

#[test]
fn a_reader_sees_what_they_could_have_asked_for() {
    let scene = Scene::new();
    let id = scene.compiled();
    let path = format!("/inspect/records/{id}");
    let items = format!("{path}/items");
    assert!(scene.text(&items, &scene.operator).contains("secret-of-the-chief"));
    // Ann's view has nothing of what she was not admitted to; for bob and for a stranger there is nothing.
    let seen = scene.text(&items, &scene.ann);
    assert!(seen.contains("units") && !seen.contains("secret-of-the-chief"));
    assert!(scene.text(&path, &scene.ann).contains("caller's view"));
    assert!(scene.text("/inspect", &scene.ann).contains(&id));
    assert!(!scene.text("/inspect", &scene.bob).contains(&id));
    for part in ["", "/items", "/payload", "/item?at=0"] {
        assert_eq!(scene.page(&format!("{path}{part}"), &scene.bob).status, 404);
    }
    assert_eq!(
        scene.page(&format!("{path}/diff?before={id}"), &scene.bob).status,
        404
    );
    let guessed = scene.page("/inspect/records/cmp-0", &scene.bob);
    let hidden = scene.page(&path, &scene.bob);
    assert_eq!(guessed.body, hidden.body);
    assert_eq!(scene.page("/inspect/registries/x", &scene.ann).status, 404);
    assert_eq!(scene.page("/inspect/objects/x", &scene.ann).status, 404);
    assert_eq!(scene.page("/inspect/sessions/x", &scene.ann).status, 404);
    // A path without a page is one that says so, with the headers of all.
    for path in [
        "/inspect/",
        "/inspect/nothing",
        "/inspect/records/",
        "/inspect/a/b?c=d",
    ] {
        let nowhere = scene.page(path, &scene.ann);
        assert_eq!(nowhere.status, 404, "{path}");
        for header in [
            "content-security-policy",
            "x-frame-options",
            "referrer-policy",
        ] {
            assert!(nowhere.header(header).is_some(), "{path}: {header}");
        }
    }
}

#[test]
fn a_key_that_only_reads_writes_nothing_and_sends_nothing() {
    let scene = Scene::new();
    let id = scene.compiled();
    let object = json!({ "objects": [{ "name": "a", "content": "b" }] });
    let written = scene.api("POST", "/api/v1/objects", &scene.reader, &object);
    assert_eq!(written.status, 403, "{}", written.json());
    let call = json!({ "record": true, "request": { "task": { "objective": "x" }, "budget": { "tokens": 900 } } });
    assert_eq!(
        scene.api("POST", "/api/v1/compile", &scene.reader, &call).status,
        403
    );
    let chat = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Hello" }] });
    assert_eq!(
        scene.api("POST", "/v1/chat/completions", &scene.reader, &chat).status,
        403
    );
    // It reads, through the API and as pages.
    assert_eq!(
        scene
            .api(
                "GET",
                &format!("/api/v1/records/{id}"),
                &scene.reader,
                &Value::Null
            )
            .status,
        200
    );
    assert!(scene.text("/inspect", &scene.reader).contains("reads only"));
    let body = format!("token={}&id=x&sure=yes", scene.token(&scene.reader));
    assert_eq!(
        scene.form("/inspect/waiting/entity", &scene.reader, &body).status,
        403
    );
}

#[test]
fn a_request_of_the_gateway_is_explained() {
    let scene = Scene::new();
    let chat = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Hello" }] });
    let answered = scene.api("POST", "/v1/chat/completions", &scene.operator, &chat);
    assert_eq!(answered.status, 200);
    let id = answered.record();
    scene.bench.record("acme", &id);
    let page = scene.text(&format!("/inspect/records/{id}"), &scene.operator);
    assert!(
        page.contains("It went on as it came.") && page.contains("64.0 %"),
        "{page}"
    );
    assert!(scene.text("/inspect?kind=requests", &scene.operator).contains(&id));
    assert!(!scene.text("/inspect?kind=compiles", &scene.operator).contains(&id));
    assert!(!scene.text("/inspect?q=no-such-model", &scene.operator).contains(&id));
    assert_eq!(
        scene.page(&format!("/inspect/records/{id}"), &scene.ann).status,
        404
    );
    assert!(scene.text("/inspect/trends", &scene.operator).contains("gpt-4o"));
}

#[test]
fn two_tabs_decide_one_conflict_once() {
    let scene = Scene::new();
    let claim = |name: &str, value: &str| {
        json!({ "name": name, "object_type": "project_decision", "content": format!("The rollout is {value}."),
                "normalized_claim": format!("rollout.status == {value}"), "canonical_entity_ids": ["rollout"], "security_classification": "public" })
    };
    let objects = json!({ "objects": [claim("one", "open"), claim("other", "closed")] });
    let written = scene.api("POST", "/api/v1/objects", &scene.operator, &objects);
    assert_eq!(written.status, 200, "{}", written.json());
    let page = scene.text("/inspect/waiting", &scene.operator);
    let value = |name: &str| {
        let after = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
        let after = after.unwrap_or_else(|| panic!("{name}: {page}"));
        after.split('"').next().unwrap().to_owned()
    };
    let (first, second, since) = (
        value("first"),
        value("second"),
        value("since").replace(':', "%3A"),
    );
    let token = scene.token(&scene.operator);
    let body = |token: &str, stands: &str, sure: &str| {
        format!(
            "token={token}&first={first}&second={second}&since={since}&stands={stands}&note=&sure={sure}"
        )
    };
    let decide = |body: &str| scene.form("/inspect/waiting/conflict", &scene.operator, body).status;
    // Not without the proof that a page of this reader sent it, nor unconfirmed, nor from another site.
    assert_eq!(decide(&body("x", "first", "yes")), 403);
    assert_eq!(
        decide(&body(&scene.token(&scene.reader), "first", "yes")),
        403
    );
    // The first step asks, and does nothing.
    let asked = scene.form(
        "/inspect/waiting/conflict",
        &scene.operator,
        &body(&token, "first", ""),
    );
    let asked = (asked.status, String::from_utf8(asked.body).unwrap());
    assert!(
        asked.0 == 200 && asked.1.contains("Are you sure?"),
        "{}",
        asked.1
    );
    assert!(asked.1.contains("name=\"sure\" value=\"yes\"") && asked.1.contains("stands, “"));
    let cookie = format!("cookie: tenure_key={}", scene.operator);
    let foreign = [
        cookie.as_str(),
        "content-type: application/x-www-form-urlencoded",
        "origin: https://evil.example",
    ];
    let sent = body(&token, "first", "yes");
    let foreign = scene.bench.ask(
        "POST",
        "/inspect/waiting/conflict",
        &foreign,
        sent.as_bytes(),
    );
    assert_eq!(foreign.status, 403);

    assert_eq!(decide(&body(&token, "first", "yes")), 303);
    // The other tab shows what no longer is.
    assert_eq!(decide(&body(&token, "second", "yes")), 409);
    let page = scene.text(&format!("/inspect/objects/{first}"), &scene.operator);
    assert!(page.contains("Everything that was ever believed"), "{page}");
    assert!(
        scene
            .text(
                &format!("/inspect/objects/{first}?known=2020-01-01"),
                &scene.operator
            )
            .contains("Nothing was believed")
    );
    assert!(
        scene
            .text(
                &format!("/inspect/objects/{first}?valid=yesterday"),
                &scene.operator
            )
            .contains("role=\"alert\"")
    );
}

#[test]
fn who_follows_a_link_from_elsewhere_is_led_on() {
    let scene = Scene::new();
    let link = [
        "sec-fetch-site: cross-site",
        "sec-fetch-mode: navigate",
        "sec-fetch-dest: document",
    ];
    let reply = scene.bench.ask("GET", "/inspect/trends", &link, b"");
    let text = String::from_utf8(reply.body).unwrap();
    assert!(
        reply.status == 200 && text.contains("0;url=/inspect/trends"),
        "{text}"
    );
    // A page of another site can neither embed one nor read it.
    let image = [
        "sec-fetch-site: cross-site",
        "sec-fetch-mode: no-cors",
        "sec-fetch-dest: image",
    ];
    assert_eq!(
        scene.bench.ask("GET", "/inspect/trends", &image, b"").status,
        403
    );
}

#[test]
fn a_page_is_told_of_new_requests_until_its_key_is_revoked() {
    use std::io::Read;

    let scene = Scene::new();
    let mut client = scene.bench.connect();
    let cookie = format!("cookie: tenure_key={}", scene.reader);
    client.send("GET", "/inspect/live", &[&cookie], b"");
    let head = client.head().unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    scene.compiled();
    let mut told = String::new();
    let mut buffer = [0; 256];
    while !told.contains("event: request") {
        let read = client.stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    scene.keys.revoke(&scene.reader_id, Clock::machine().now()).unwrap();
    while !told.contains("event: end") {
        let read = client.stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

/// The value of a field of the form on a page that has this action.
fn field(page: &str, action: &str, name: &str) -> String {
    let form = page.split(&format!("action=\"/inspect/waiting/{action}\"")).nth(1);
    let form = form.unwrap_or_else(|| panic!("no form {action}: {page}"));
    let after = form.split(&format!("name=\"{name}\" value=\"")).nth(1);
    let value = after.unwrap_or_else(|| panic!("no field {name}: {page}"));
    value.split('"').next().unwrap().replace(':', "%3A")
}

#[test]
fn outcomes_and_confirmations_are_decided_once_by_who_may() {
    let scene = Scene::new();
    let proposal = json!({ "kind": "correction", "mistake": "psi in the list", "object": { "name": "bars", "content": "Valves are listed in bar." } });
    let made = scene.api("POST", "/api/v1/outcomes", &scene.operator, &proposal);
    assert_eq!(made.status, 200, "{}", made.json());
    let asked = json!({ "objects": [{ "name": "asked", "object_type": "rule", "content": "The pump is warm.",
        "decay_rule": { "half_life_days": 1, "minimum_threshold": 0.2 }, "retirement_rule": "trigger_user_confirmation" }] });
    let written = scene.api("POST", "/api/v1/objects", &scene.operator, &asked);
    assert_eq!(written.status, 200, "{}", written.json());
    let tenant = scene.bench.store.tenant("acme").unwrap();
    let far = "2100-01-01".parse().unwrap();
    let swept = tenant.sweep(far, Default::default(), false, &Default::default());
    assert_eq!(swept.unwrap().retired.len(), 1);

    let send = |key: &str, action: &str, decision: &str, sure: &str| {
        let page = scene.text("/inspect/waiting", key);
        let token = scene_token(&page, key, &scene);
        let shown = scene.text("/inspect/waiting", &scene.rita);
        let (id, since) = (field(&shown, action, "id"), field(&shown, action, "since"));
        let body = format!("token={token}&id={id}&since={since}&decision={decision}&sure={sure}");
        (format!("/inspect/waiting/{action}"), body)
    };
    let post = |key: &str, (path, body): &(String, String)| scene.form(path, key, body);
    // An operator's key is no person; who only reads decides nothing: the rule is that of the API.
    let refused = [
        (&scene.operator, "outcome", "accept"),
        (&scene.operator, "confirmation", "confirm"),
        (&scene.reader, "confirmation", "confirm"),
        (&scene.ann, "outcome", "accept"),
    ];
    for (key, action, decision) in refused {
        let form = send(key, action, decision, "yes");
        assert_eq!(post(key, &form).status, 403, "{form:?}");
    }
    for (key, action, decision, done) in [
        (&scene.rita, "outcome", "accept", "accepted"),
        (&scene.rita, "confirmation", "confirm", "active"),
    ] {
        // Another site's page, another reader's proof, the first step: nothing is done.
        let form = send(key, action, decision, "yes");
        let cookie = format!("cookie: tenure_key={key}");
        let foreign = [
            cookie.as_str(),
            "content-type: application/x-www-form-urlencoded",
            "origin: https://evil.example",
        ];
        let sent = scene.bench.ask("POST", &form.0, &foreign, form.1.as_bytes());
        assert_eq!(sent.status, 403);
        let stolen = form.1.replacen("token=", "token=x", 1);
        assert_eq!(scene.form(&form.0, key, &stolen).status, 403);
        let wrong = send(key, action, "perhaps", "yes");
        assert_eq!(post(key, &wrong).status, 400);
        let first = post(key, &send(key, action, decision, ""));
        let text = String::from_utf8(first.body).unwrap();
        assert!(
            first.status == 200 && text.contains("Are you sure?"),
            "{text}"
        );
        let before = tenant.version().unwrap();
        // Two tabs: the second gets a page that says so, and nothing is done twice.
        assert_eq!(post(key, &form).status, 303, "{done}");
        let after = tenant.version().unwrap();
        assert_eq!(after, before + 1, "{done}");
        let late = post(key, &form);
        let text = String::from_utf8(late.body).unwrap();
        assert_eq!(late.status, 409);
        assert!(
            text.contains("decided already") && text.contains("href=\"/inspect/waiting\""),
            "{text}"
        );
        assert_eq!(tenant.version().unwrap(), after);
    }
    let outcomes = tenant.outcomes(None).unwrap();
    assert_eq!(outcomes[0].decided_by.as_deref(), Some("rita"));
    assert_eq!(
        tenant.awaiting("2026-06-06".parse().unwrap(), None).unwrap(),
        []
    );
    let page = scene.text("/inspect/waiting", &scene.operator);
    assert!(!page.contains("waiting/confirmation") && !page.contains("Valves are listed"));
}

/// The proof of a reader's forms, of whichever page has one.
fn scene_token(page: &str, key: &str, scene: &Scene) -> String {
    if page.contains("name=\"token\"") {
        return scene.token(key);
    }
    "none".to_owned()
}

#[test]
fn weights_are_laid_over_a_payload_and_kept_nowhere() {
    let scene = Scene::new();
    let id = scene.compiled();
    let path = format!("/inspect/records/{id}/payload");
    let page = scene.text(&path, &scene.reader);
    let digest = page.split("&quot;payload&quot;: &quot;").nth(1).unwrap();
    let digest = digest.split("&quot;").next().unwrap().to_owned();
    let token = scene.token(&scene.reader);
    let tenant = scene.bench.store.tenant("acme").unwrap();
    let version = tenant.version().unwrap();
    let send = |key: &str, token: &str, weights: &Value| {
        let encoded: String =
            weights.to_string().bytes().map(|byte| format!("%{byte:02X}")).collect();
        let body = format!("token={token}&weights={encoded}");
        scene.form(&format!("/inspect/records/{id}/attention"), key, &body)
    };
    let spans = json!({ "payload": digest, "spans": [{ "start": 0, "end": 1, "weight": 1 }] });
    let reply = send(&scene.reader, &token, &spans);
    let text = String::from_utf8(reply.body).unwrap();
    assert_eq!(reply.status, 200, "{text}");
    assert!(
        text.contains("Attention by section") && text.contains("0.00× its share"),
        "{text}"
    );
    for (weights, what) in [
        (
            json!({ "payload": format!("sha256:{}", "0".repeat(64)), "items": [1] }),
            "another payload",
        ),
        (json!({ "payload": digest, "items": [-1] }), "weights"),
        (
            json!({ "payload": digest, "spans": [{ "start": 5, "end": 1, "weight": 1 }] }),
            "ends where it begins",
        ),
    ] {
        let reply = send(&scene.reader, &token, &weights);
        let text = String::from_utf8(reply.body).unwrap();
        assert!(reply.status == 400 && text.contains(what), "{text}");
    }
    // Neither without the proof, nor of what one may not see.
    assert_eq!(send(&scene.reader, "x", &spans).status, 403);
    let bobs = scene.token(&scene.bob);
    assert_eq!(send(&scene.bob, &bobs, &spans).status, 404);
    let huge = scene.form(
        &format!("/inspect/records/{id}/attention"),
        &scene.reader,
        &"x".repeat(9 << 20),
    );
    assert_eq!(huge.status, 413);
    assert_eq!(tenant.version().unwrap(), version);
}

#[test]
fn who_is_no_operator_sees_their_own_and_guesses_nothing() {
    let scene = Scene::new();
    let call = json!({
        "record": true,
        "request": {
            "principal": { "tenant": "acme", "user": "ann", "session": "plant-talk", "clearance": "restricted" },
            "task": { "objective": "Report the pressure." },
            "budget": { "tokens": 2000 },
        },
        "objects": [{ "name": "units", "object_type": "rule", "content": "Report pressure in pascal." }],
    });
    let done = scene.api("POST", "/api/v1/compile", &scene.ann, &call);
    let id = done.json()["record_ids"][0].as_str().unwrap().to_owned();
    let chat = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Hello" }] });
    let request = scene.api("POST", "/v1/chat/completions", &scene.ann, &chat).record();
    scene.bench.record("acme", &request);
    let object = json!({ "objects": [{ "name": "anns-rule", "object_type": "rule", "content": "Pumps are warm.", "permission_scope": { "allow_roles": ["chief"] } }] });
    assert_eq!(
        scene.api("POST", "/api/v1/objects", &scene.operator, &object).status,
        200
    );
    let registry = json!({ "label": "notes", "kind": "agent" });
    assert_eq!(
        scene.api("POST", "/api/v1/registries", &scene.operator, &registry).status,
        201
    );

    // Their own: the list with both, the compile in all its parts, its conversation, their request, their figures.
    let list = scene.text("/inspect", &scene.ann);
    assert!(list.contains(&id) && list.contains(&request), "{list}");
    let of = |part: &str| format!("/inspect/records/{id}{part}");
    for part in ["", "/items", "/payload", "/item?at=0"] {
        assert!(scene.text(&of(part), &scene.ann).contains("units") || part.is_empty());
    }
    let payload = scene.text(&of("/payload"), &scene.ann);
    assert!(payload.contains("Report pressure in pascal."), "{payload}");
    let talk = scene.text("/inspect/sessions/plant-talk", &scene.ann);
    assert!(talk.contains(&id), "{talk}");
    let own = scene.text(&format!("/inspect/records/{request}"), &scene.ann);
    assert!(own.contains("64.0 %"), "{own}");
    assert!(scene.text("/inspect/trends", &scene.ann).contains("gpt-4o"));
    assert!(scene.text("/inspect/waiting", &scene.ann).contains("There are none."));

    // Of others: the same as what does not exist, byte for byte.
    let list = scene.text("/inspect", &scene.bob);
    assert!(!list.contains(&id) && !list.contains(&request));
    let same = |real: &str, none: &str, key: &str| {
        let (real, none) = (scene.page(real, key), scene.page(none, key));
        assert_eq!((real.status, none.status), (404, 404));
        assert_eq!(real.body, none.body);
    };
    for part in ["", "/items", "/payload", "/item?at=0"] {
        for known in [&id, &request] {
            let real = format!("/inspect/records/{known}{part}");
            same(&real, &format!("/inspect/records/cmp-0{part}"), &scene.bob);
        }
    }
    let diff = |before: &str| format!("/inspect/records/{id}/diff?before={before}");
    same(
        &diff(&id),
        "/inspect/records/cmp-0/diff?before=cmp-1",
        &scene.bob,
    );
    same(
        "/inspect/sessions/plant-talk",
        "/inspect/sessions/none",
        &scene.bob,
    );
    same(
        "/inspect/objects/anns-rule",
        "/inspect/objects/none",
        &scene.ann,
    );
    same(
        "/inspect/registries/notes",
        "/inspect/registries/none",
        &scene.ann,
    );
    let token = scene.token(&scene.bob);
    let weights = format!("token={token}&weights=%7B%7D");
    let send = |id: &str| {
        scene.form(
            &format!("/inspect/records/{id}/attention"),
            &scene.bob,
            &weights,
        )
    };
    let (real, none) = (send(&id), send("cmp-0"));
    assert_eq!((real.status, none.status), (404, 404));
    assert_eq!(real.body, none.body);
}

#[test]
fn an_object_is_shown_as_of_a_step_of_the_slider() {
    let scene = Scene::new();
    for (from, bar) in [("2025-01-01", 3), ("2025-06-01", 4), ("2026-01-01", 6)] {
        let said = json!({ "objects": [{ "name": "pressure", "object_type": "rule", "valid_from": from, "content": format!("The pump stands at {bar} bar.") }] });
        let written = scene.api("POST", "/api/v1/objects", &scene.operator, &said);
        assert_eq!(written.status, 200, "{}", written.json());
    }
    let then = |query: &str| {
        let page = scene.text(
            &format!("/inspect/objects/pressure{query}"),
            &scene.operator,
        );
        let then = page.split("As of then</h2>").nth(1).unwrap();
        let then = then.split("<h2>").next().unwrap();
        [3, 4, 6].map(|bar| then.contains(&format!("at {bar} bar")))
    };
    let page = scene.text("/inspect/objects/pressure", &scene.operator);
    assert!(
        page.contains("type=\"range\" name=\"valid_step\" min=\"0\" max=\"3\" value=\"3\""),
        "{page}"
    );
    assert_eq!(then(""), [true, true, true]);
    assert_eq!(then("?valid_step=0&known_step=99"), [true, false, false]);
    assert_eq!(then("?valid_step=1"), [false, true, false]);
    assert_eq!(then("?valid_step=2"), [false, false, true]);
    // The last place is no instant; what is no place is none, either. What is written comes first.
    assert_eq!(then("?valid_step=3"), [true, true, true]);
    assert_eq!(then("?valid_step=-1&known_step=x"), [true, true, true]);
    assert_eq!(then("?valid=2025-03-01&valid_step=2"), [true, false, false]);
    // When only the first was known, it held without an end.
    assert_eq!(then("?known_step=0&valid_step=2"), [true, false, false]);
    let script = scene.bench.get("/inspect/live.js");
    assert_eq!(script.status, 200);
}
