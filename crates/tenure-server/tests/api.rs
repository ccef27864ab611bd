//! The API: the verbs of the command line over HTTP, and who may call them.

use crate::support::{Bench, Reply, Upstream, wait_for};
use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_server::{Limits, Options, Server};
use tenure_store::{Retention, Store, Writing};
use tenure_workspace::Workspace;
use tenure_workspace::keys::{Grant, KEYS_TENANT, Keys};

const NOW: Instant = Instant::from_micros(1_000);

fn call(bench: &Bench, method: &str, path: &str, headers: &[&str], body: &Value) -> Reply {
    let mut headers = headers.to_vec();
    headers.push("content-type: application/json");
    bench.ask(method, path, &headers, body.to_string().as_bytes())
}

fn post(bench: &Bench, path: &str, body: &Value) -> Reply {
    call(bench, "POST", path, &[], body)
}

fn task(objective: &str) -> Value {
    json!({
        "task": { "objective": objective },
        "budget": { "tokens": 500 },
        "as_of": { "valid": "2026-06-06T00:00:00Z" },
    })
}

fn rules() -> Value {
    json!([
        { "name": "units", "content": "Report pressure in pascal." },
        { "name": "digits", "content": "Round to three digits." },
    ])
}

/// A key for a grant, made beside the server.
fn key(store: &Store, grant: Grant) -> String {
    Keys::of(store).unwrap().create(grant, NOW).unwrap().1
}

fn operator(tenant: &str) -> Grant {
    Grant::owner(tenant)
}

#[test]
fn a_compile_is_what_the_command_line_prints() {
    let bench = Bench::new(&[]);
    let body =
        json!({ "request": task("Report the pressure."), "objects": rules(), "store": false });
    let reply = post(&bench, "/api/v1/compile", &body);
    assert_eq!(reply.status, 200, "{}", reply.json());
    let out = reply.json();
    assert_eq!(out["outcome"], "complete");
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert!(
        payload.contains("Report pressure in pascal.\n"),
        "{payload}"
    );
    assert!(out["envelope"]["total_tokens"].as_u64().unwrap() <= 500);
    assert_eq!(out["trace"]["verdicts"].as_array().unwrap().len(), 2);
    assert!(out.get("record_ids").is_none());
    // The same again, to the byte, where nothing is left to the clock.
    let mut dated = body.clone();
    dated["request"]["as_of"]["known"] = "2026-06-06T00:00:00Z".into();
    let [one, other] = [(); 2].map(|()| post(&bench, "/api/v1/compile", &dated));
    assert!(one.status == 200 && one.body == other.body);

    let explained = post(&bench, "/api/v1/explain", &dated).json();
    assert_eq!(
        explained["input_digest"],
        one.json()["trace"]["input_digest"]
    );
    let mut question = body.clone();
    question["why"] = "units".into();
    let why = post(&bench, "/api/v1/explain", &question);
    assert_eq!(
        (why.status, &why.json()["verdict"]["name"]),
        (200, &"units".into())
    );
    let pair = json!({ "before": out["trace"], "after": out["trace"] });
    let difference = post(&bench, "/api/v1/diff", &pair);
    assert_eq!(difference.status, 200, "{}", difference.json());
}

#[test]
fn what_does_not_fit_is_a_problem_that_says_what() {
    let bench = Bench::new(&[]);
    let mut request = task("Report the pressure.");
    request["budget"]["tokens"] = 5.into();
    let body = json!({ "request": request, "objects": rules() });
    let reply = post(&bench, "/api/v1/compile", &body);
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (422, Some("application/problem+json"))
    );
    let problem = reply.json();
    assert_eq!(
        (&problem["kind"], &problem["status"]),
        (&"budget".into(), &422.into())
    );
    assert!(!problem["mandatory"].as_array().unwrap().is_empty());
    let mut headers = vec![];
    for (body, said) in [
        (&b"{"[..], "detail"),
        (b"{\"request\": 7}", "detail"),
        (b"{\"requests\": {}}", "hint"),
        (b"[]", "detail"),
        (b"{\"request\": {\"task\": {\"objective\": \"x\"}, \"model\": \"gpt-4p\"}}", "hint"),
        (b"{\"request\": {\"task\": {\"objective\": \"x\"}, \"model\": \"/etc/tokenizer.json\"}}", "detail"),
        (b"{\"request\": {\"task\": {\"objective\": \"x\"}}, \"policy\": \"/etc/policy.toml\"}", "detail"),
        (b"{\"request\": {\"task\": {\"objective\": \"\\ud800\"}}}", "hint"),
        (b"{\"request\": \"\xff\"}", "detail"),
    ] {
        headers.clear();
        headers.push("content-type: application/json");
        let reply = bench.ask("POST", "/api/v1/compile", &headers, body);
        assert_eq!(reply.status, 400, "{}", String::from_utf8_lossy(body));
        assert!(reply.json()[said].is_string(), "{}", reply.json());
    }
    let plain = bench.ask(
        "POST",
        "/api/v1/compile",
        &["content-type: text/plain"],
        b"{}",
    );
    assert_eq!(plain.status, 415);
    assert_eq!(bench.get("/api/v1/compile").status, 405);
    assert_eq!(bench.get("/api/v1/nothing").status, 404);
}

#[test]
fn what_nobody_knows_is_explained_to_nobody() {
    let bench = Bench::new(&[]);
    let whole =
        json!({ "request": task("Report the pressure."), "objects": rules(), "store": false });
    for why in [json!("units"), Value::Null] {
        let mut asked = whole.clone();
        asked["why"] = why;
        let explained = post(&bench, "/api/v1/explain", &asked);
        assert_eq!(explained.status, 200, "{}", explained.json());
    }
    let with = |field: &str, value: Value| {
        let mut asked = whole.clone();
        asked[field] = value;
        post(&bench, "/api/v1/explain", &asked)
    };
    let typo = with("stor", json!(false));
    assert_eq!(typo.status, 400);
    assert_eq!(typo.json()["detail"], "unknown field `stor`");
    assert_eq!(with("why", json!(1)).status, 400);
    assert_eq!(with("store", json!("x")).status, 400);
    let described = bench.get("/openapi.json").json();
    let schema = &described["components"]["schemas"]["Question"];
    assert_eq!(schema["additionalProperties"], false, "{schema}");
    let names = |name: &str| &described["components"]["schemas"][name]["properties"];
    assert!(names("Question").get("why").is_some());
    let call = names("Call").as_object().unwrap();
    assert!(call.keys().all(|name| names("Question").get(name).is_some()));
}

#[test]
fn objects_are_written_read_and_remembered() {
    let bench = Bench::new(&[]);
    let path = "/api/v1/objects/limit";
    let limit = |text: &str| json!({ "name": "limit", "content": text });
    let absent = ["if-none-match: *"];
    let first = call(&bench, "PUT", path, &absent, &limit("At most 10 kW."));
    assert_eq!(first.status, 201, "{}", first.json());
    let tag = first.header("etag").unwrap().to_owned();
    assert_eq!(
        call(&bench, "PUT", path, &absent, &limit("At most 11 kW.")).status,
        412
    );

    let got = bench.get(path);
    let seen = got.header("etag").unwrap();
    assert_eq!(got.status, 200);
    assert_eq!(seen.split_once('.').unwrap().0, tag.trim_end_matches('"'));
    assert_eq!(got.json()[0]["object"]["content"], "At most 10 kW.");
    let cached = format!("if-none-match: {seen}");
    assert_eq!(bench.ask("GET", path, &[&cached], b"").status, 304);

    let over = format!("if-match: {tag}");
    let second = call(&bench, "PUT", path, &[&over], &limit("At most 12 kW."));
    assert_eq!(second.status, 200, "{}", second.json());
    assert_eq!(
        call(&bench, "PUT", path, &[&over], &limit("At most 13 kW.")).status,
        412
    );
    assert_eq!(bench.ask("GET", path, &[&cached], b"").status, 200);

    let history = |asked: &str| bench.get(&format!("{path}/history{asked}")).json();
    let whole = history("");
    assert_eq!(whole["beliefs"].as_array().unwrap().len(), 2);
    assert!(whole.get("next").is_none());
    let page = history("?limit=1");
    assert_eq!(page["beliefs"], json!([whole["beliefs"][0]]));
    let next = page["next"].as_str().unwrap().replace('+', "%2B");
    let page = history(&format!("?limit=1&after={next}"));
    assert_eq!(page, json!({ "beliefs": [whole["beliefs"][1]] }));
    let next = whole["beliefs"][1]["tx_start"].as_str().unwrap();
    let page = history(&format!("?after={}", next.replace('+', "%2B")));
    assert_eq!(page, json!({ "beliefs": [] }));
    for wrong in ["?limit=0", "?after=yesterday", "?before=1"] {
        assert_eq!(bench.get(&format!("{path}/history{wrong}")).status, 400);
    }
    let at = first.json()["at"].as_str().unwrap().replace('+', "%2B");
    let then = bench.get(&format!("{path}?as_of={at}")).json();
    assert_eq!(then[0]["object"]["content"], "At most 10 kW.");

    assert_eq!(
        call(&bench, "PUT", "/api/v1/objects/other", &[], &limit("x")).status,
        400
    );
    assert_eq!(
        call(&bench, "DELETE", path, &[&over], &Value::Null).status,
        412
    );
    let second_tag = format!("if-match: {}", second.header("etag").unwrap());
    assert_eq!(
        call(&bench, "DELETE", path, &[&second_tag], &Value::Null).status,
        200
    );
    for gone in [
        path,
        "/api/v1/objects/nothing",
        "/api/v1/objects/nothing/history",
    ] {
        assert_eq!(bench.get(gone).status, 404, "{gone}");
    }
    assert_eq!(bench.get(&format!("{path}/history")).status, 200);
    assert_eq!(bench.get("/api/v1/objects/%ff%fe").status, 400);
    assert_eq!(bench.get("/api/v1/objects/%00").status, 404);
    for wrong in [
        "if-match: \"x\"",
        "if-match: sha256:00",
        "if-none-match: \"a\"",
    ] {
        assert_eq!(
            call(&bench, "PUT", path, &[wrong], &limit("x")).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn a_write_happens_once_for_a_key() {
    let bench = Bench::new(&[]);
    let once = ["idempotency-key: a"];
    let body = json!({ "objects": rules() });
    let first = call(&bench, "POST", "/api/v1/objects", &once, &body);
    assert_eq!(first.status, 200, "{}", first.json());
    assert_eq!(
        call(&bench, "POST", "/api/v1/objects", &once, &body).body,
        first.body
    );
    let other = json!({ "objects": [{ "name": "else", "content": "x" }] });
    assert_eq!(
        call(&bench, "POST", "/api/v1/objects", &once, &other).status,
        409
    );
    assert_eq!(bench.get("/api/v1/objects/else").status, 404);
    // A key is what the description says, wherever it is taken.
    for wrong in ["a b".to_owned(), String::new(), "é".into(), "x".repeat(257)] {
        let once = format!("idempotency-key: {wrong}");
        for (path, body) in [
            ("/api/v1/objects", &other),
            ("/api/v1/sessions", &json!({})),
        ] {
            let reply = call(&bench, "POST", path, &[&once], body);
            assert_eq!(reply.status, 400, "{wrong}: {path}");
        }
    }
}

#[test]
fn a_list_comes_in_pages() {
    let bench = Bench::new(&[]);
    let objects: Vec<Value> = (0..25)
        .map(|at| json!({ "name": format!("o{at}"), "content": format!("text {at}") }))
        .collect();
    assert_eq!(
        post(&bench, "/api/v1/objects", &json!({ "objects": objects })).status,
        200
    );
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let page = bench.get(&format!("/api/v1/objects?limit=10{after}")).json();
        let lines = page["objects"].as_array().unwrap().clone();
        assert!(lines.len() <= 10);
        names.extend(lines.iter().map(|line| line["name"].as_str().unwrap().to_owned()));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    let expected: Vec<String> = (0..25).map(|at| format!("o{at}")).collect();
    assert_eq!(names, expected);
    // Records come in pages, too, the newest first, also where several are of one instant.
    let acme = bench.store.tenant("local").unwrap();
    let record = |number: i64| tenure_store::engine::RecordRow {
        id: format!("rec-{number:02}"),
        compiled_at: Instant::from_micros(1_700_000_000_000_000 + number / 7),
        objects: Vec::new(),
        body: "{}".into(),
    };
    acme.put_records((0..25).map(record).collect()).unwrap();
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let listed = bench.get(&format!("/api/v1/records?limit=10{after}")).json();
        let lines = listed["records"].as_array().unwrap();
        assert!(lines.len() <= 10);
        ids.extend(lines.iter().map(|line| line["record_id"].as_str().unwrap().to_owned()));
        let Some(next) = listed["next"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    let mut expected: Vec<i64> = (0..25).collect();
    expected.sort_by_key(|number| (-(number / 7), *number));
    let expected: Vec<String> = expected.iter().map(|number| format!("rec-{number:02}")).collect();
    assert_eq!(ids, expected);
    for wrong in ["after=x", "after=yesterday/rec-1", "limit=0", "before=x"] {
        let reply = bench.get(&format!("/api/v1/records?{wrong}"));
        assert_eq!(reply.status, 400, "{wrong}");
    }
    for wrong in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limits=1",
        "after=x",
        "as_of=yesterday",
    ] {
        assert_eq!(
            bench.get(&format!("/api/v1/objects?{wrong}")).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn labels_make_precision_and_recall_numbers() {
    let bench = Bench::new(&[]);
    let fact = |name: &str, content: &str| json!({ "name": name, "content": content, "object_type": "preference" });
    let pumps = "Pump 7 runs at 41 degrees. ".repeat(20);
    let objects = [
        fact("warm", &pumps),
        fact("cold", &pumps.replace("41", "12")),
        fact("far", &"The canteen opens at noon. ".repeat(60)),
    ];
    post(&bench, "/api/v1/objects", &json!({ "objects": objects }));
    let body = json!({ "request": { "task": { "objective": "How warm is pump 7?" }, "budget": { "tokens": 620 } }, "record": true });
    let done = post(&bench, "/api/v1/compile", &body).json();
    let id = done["record_ids"][0].as_str().unwrap().to_owned();
    let verdicts = done["trace"]["verdicts"].as_array().unwrap();
    let stands = |name: &str| {
        let of = verdicts.iter().find(|verdict| verdict["name"] == name);
        of.unwrap()["verdict"] == "included"
    };
    assert_eq!(
        ["warm", "cold", "far"].map(stands),
        [true, true, false],
        "{done}"
    );
    let metrics = |id: &str| {
        bench.get(&format!("/api/v1/records/{id}?form=principle")).json()["observability_metrics"]
            .clone()
    };
    assert!(metrics(&id)["context_precision"].is_null());
    let path = format!("/api/v1/records/{id}/labels");
    let label = |names: Value| post(&bench, &path, &json!({ "relevant": names }));
    for (relevant, precision, recall) in [
        (json!(["warm"]), json!(0.5), json!(1.0)),
        (json!(["warm", "cold"]), json!(1.0), json!(1.0)),
        (json!(["warm", "cold", "far"]), json!(1.0), json!(0.666666)),
        (json!(["far"]), json!(0.0), json!(0.0)),
        (json!([]), json!(0.0), Value::Null),
        (json!(["warm", "far"]), json!(0.5), json!(0.5)),
    ] {
        let said = label(relevant.clone());
        assert_eq!(said.status, 200, "{}", said.json());
        let said = said.json();
        assert_eq!(
            (&said["context_precision"], &said["context_recall"]),
            (&precision, &recall),
            "{relevant}"
        );
        let kept = metrics(&id);
        assert_eq!(
            (&kept["context_precision"], &kept["context_recall"]),
            (&precision, &recall)
        );
    }
    let count = bench.metric("tenure_compile_labelled_count{metric=\"context_recall\"}");
    assert_eq!(count, Some(5.0));
    // It can still be made again.
    let replay = post(&bench, "/api/v1/replay", &json!({ "record_id": id }));
    assert_eq!(replay.json()["proof"], "whole");
    let wrong = label(json!(["worm"]));
    assert_eq!(wrong.status, 400);
    assert!(
        wrong.json()["hint"].as_str().unwrap().contains("`warm`"),
        "{}",
        wrong.json()
    );
    assert_eq!(
        post(
            &bench,
            "/api/v1/records/rec-0/labels",
            &json!({ "relevant": [] })
        )
        .status,
        404
    );
}

#[test]
fn a_stored_compile_is_recorded_and_replayed() {
    let bench = Bench::new(&[]);
    post(&bench, "/api/v1/objects", &json!({ "objects": rules() }));
    let body = json!({ "request": { "task": { "objective": "Report the pressure." }, "budget": { "tokens": 500 } }, "record": true });
    let done = post(&bench, "/api/v1/compile", &body).json();
    let id = done["record_ids"][0].as_str().unwrap_or_else(|| panic!("{done}"));
    let replay = post(&bench, "/api/v1/replay", &json!({ "record_id": id }));
    assert_eq!(replay.status, 200, "{}", replay.json());
    assert_eq!(replay.json()["proof"], "whole");
    assert_eq!(replay.json()["payload"], done["envelope"]["payload"]);
    assert_eq!(
        bench.get("/api/v1/records").json()["records"][0]["record_id"],
        id
    );
    for form in ["record", "principle", "prefill", "otlp", "prov"] {
        assert_eq!(
            bench.get(&format!("/api/v1/records/{id}?form={form}")).status,
            200,
            "{form}"
        );
    }
    assert_eq!(
        bench.get(&format!("/api/v1/records/{id}?form=x")).status,
        400
    );
    assert_eq!(bench.get("/api/v1/records/rec-0").status, 404);
    assert_eq!(
        post(&bench, "/api/v1/replay", &json!({ "record_id": "rec-0" })).status,
        404
    );
    // What is written is in the next compile.
    let more = json!({ "objects": [{ "name": "more", "content": "State the temperature, too." }] });
    post(&bench, "/api/v1/objects", &more);
    let next = post(&bench, "/api/v1/compile", &body).json();
    assert!(
        next["envelope"]["payload"]
            .as_str()
            .unwrap()
            .contains("State the temperature, too.")
    );
}

#[test]
fn words_and_registries_are_there() {
    let bench = Bench::new(&[]);
    let counted = post(
        &bench,
        "/api/v1/tokens",
        &json!({ "text": "hello world", "model": "gpt-4o" }),
    )
    .json();
    assert_eq!(
        (&counted["tokens"], &counted["count"]),
        (&2.into(), &"exact".into())
    );
    let models = bench.get("/api/v1/models").json();
    assert!(models.as_array().unwrap().iter().any(|model| model["name"] == "gpt-4o"));
    assert_eq!(bench.get("/api/v1/models/gpt-4o").json()["name"], "gpt-4o");
    assert_eq!(bench.get("/api/v1/models/gpt-4p").status, 404);
    // A file is not for callers to name, and none is asked for.
    let unknown = post(
        &bench,
        "/api/v1/tokens",
        &json!({ "text": "hello", "model": "gpt-4p" }),
    );
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["expected"], "a model of the catalogue");

    let new = json!({ "label": "coder", "kind": "agent" });
    assert_eq!(post(&bench, "/api/v1/registries", &new).status, 201);
    assert!(post(&bench, "/api/v1/registries", &new).status >= 400);
    let write = json!({ "operation": { "op": "write", "object": { "name": "note", "content": "Remember.", "author": "agent", "authority_level": 3, "protection": "pinned" }, "at": "back" } });
    let done = post(&bench, "/api/v1/registries/coder/ops", &write);
    assert_eq!(done.status, 200, "{}", done.json());
    let shown = bench.get("/api/v1/registries/coder");
    let known = format!("if-none-match: {}", shown.header("etag").unwrap());
    let same = bench.ask("GET", "/api/v1/registries/coder", &[&known], b"");
    assert_eq!(
        (same.status, same.header("etag")),
        (304, shown.header("etag"))
    );
    assert!(same.body.is_empty());
    let other = bench.ask(
        "GET",
        "/api/v1/registries/coder",
        &["if-none-match: \"0\""],
        b"",
    );
    assert_eq!(other.status, 200);
    let shown = shown.json();
    assert_eq!(shown["blocks"][0]["name"], "note");
    // A compile takes it by its label, as it stands or stood, and its record says which.
    let request = json!({ "task": { "objective": "Report." }, "budget": { "tokens": 500 } });
    let of = |registry: &str| json!({ "request": request, "registry": registry, "store": false, "record": true });
    let done = post(&bench, "/api/v1/compile", &of("coder"));
    assert_eq!(done.status, 200, "{}", done.json());
    let compiled = done.json();
    assert!(compiled["envelope"]["payload"].to_string().contains("Remember."));
    let id = compiled["record_ids"][0].as_str().unwrap();
    let record = bench.get(&format!("/api/v1/records/{id}")).json();
    assert_eq!(
        record["inputs"]["registry"],
        json!({ "label": "coder", "entry": 1 })
    );
    // What was read of it is read again as soon as it is changed, though nothing else was written.
    let unrecorded = json!({ "request": request, "registry": "coder", "store": false });
    for _ in 0..2 {
        let again = post(&bench, "/api/v1/compile", &unrecorded).json();
        assert!(again["envelope"]["payload"].to_string().contains("Remember."));
    }
    let evict = json!({ "operation": { "op": "evict", "blocks": ["note"] } });
    assert_eq!(
        post(&bench, "/api/v1/registries/coder/ops", &evict).status,
        200
    );
    assert_eq!(bench.get("/api/v1/registries").json()[0]["blocks"], 0);
    let now = post(&bench, "/api/v1/compile", &unrecorded).json();
    assert!(!now["envelope"]["payload"].to_string().contains("Remember."));
    let then = post(&bench, "/api/v1/compile", &of("coder@1")).json();
    assert_eq!(then["envelope"]["payload"], compiled["envelope"]["payload"]);
    let replayed = post(&bench, "/api/v1/replay", &json!({ "record_id": id })).json();
    assert_eq!(replayed["proof"], "whole", "{replayed}");
    assert_eq!(replayed["payload"], compiled["envelope"]["payload"]);
    for wrong in ["cdoer", "coder@9", "coder@", ""] {
        assert_eq!(
            post(&bench, "/api/v1/compile", &of(wrong)).status,
            400,
            "{wrong}"
        );
    }
    assert_eq!(bench.get("/api/v1/registries/nobody").status, 404);
}

// --- keys and tenants -----------------------------------------------------------------------------

#[test]
fn once_there_is_a_key_everybody_must_show_one() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    assert_eq!(bench.get("/api/v1/objects").status, 200);
    let shown = key(&bench.store, operator("acme"));
    wait_for(|| (bench.get("/api/v1/objects").status == 401).then_some(()));
    for open in ["/healthz", "/readyz", "/openapi.json"] {
        assert_eq!(bench.get(open).status, 200, "{open}");
    }
    for closed in ["/metrics", "/api/v1/models", "/v1/models"] {
        assert_eq!(bench.get(closed).status, 401, "{closed}");
    }
    let bad = shown.replace("tnr_", "tnr_0");
    for header in [
        "authorization: Bearer sk-1".to_owned(),
        format!("authorization: Basic {shown}"),
        format!("x-tenure-key: {bad}"),
        format!("x-api-key: {}", &shown[..shown.len() - 1]),
        format!("authorization: {shown}"),
    ] {
        assert_eq!(
            bench.ask("GET", "/api/v1/objects", &[&header], b"").status,
            401,
            "{header}"
        );
    }
    for header in [
        format!("authorization: Bearer {shown}"),
        format!("x-api-key: {shown}"),
        format!("x-tenure-key: {shown}"),
    ] {
        assert_eq!(
            bench.ask("GET", "/api/v1/objects", &[&header], b"").status,
            200,
            "{header}"
        );
    }
    // For the gateway, the usual headers are the provider's.
    let provider = "authorization: Bearer sk-provider";
    let bearer = format!("authorization: Bearer {shown}");
    assert_eq!(
        bench.ask("POST", "/v1/responses", &[&bearer], b"{}").status,
        401
    );
    let own = format!("x-tenure-key: {shown}");
    let reply = bench.ask("POST", "/v1/responses", &[provider, &own], b"{}");
    assert_eq!(reply.status, 200);
    let seen = upstream.only();
    assert_eq!(seen.header("authorization"), Some("Bearer sk-provider"));
    assert!(!format!("{seen:?}").contains("tnr_"));
    let record = bench.record("acme", &reply.record());
    assert!(shown.contains(record.key.as_deref().unwrap()));
}

#[test]
fn a_revoked_key_opens_nothing_within_a_second_or_two() {
    let bench = Bench::new(&[]);
    let keys = Keys::of(&bench.store).unwrap();
    let (made, shown) = keys.create(operator("acme"), NOW).unwrap();
    let header = format!("x-tenure-key: {shown}");
    let status = || bench.ask("GET", "/api/v1/objects", &[&header], b"").status;
    wait_for(|| (bench.get("/api/v1/objects").status == 401).then_some(()));
    assert_eq!(status(), 200);
    keys.revoke(&made.id, NOW).unwrap();
    let started = std::time::Instant::now();
    wait_for(|| (status() == 401).then_some(()));
    assert!(started.elapsed().as_secs_f32() < 3.0);
    // The last key is gone: nobody is let in, rather than everybody.
    assert_eq!(bench.get("/api/v1/objects").status, 401);
}

fn locked() -> (Bench, String, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let acme = key(&store, operator("acme"));
    let other = key(&store, operator("other"));
    let reader = key(
        &store,
        Grant {
            tenant: "acme".into(),
            roles: vec!["reader".into()],
            clearance: Some(Classification::Restricted),
            ..Grant::default()
        },
    );
    let bench = Bench::over(folder, store, &[], |options| options);
    let header = |key: String| format!("x-tenure-key: {key}");
    (bench, header(acme), header(other), header(reader))
}

#[test]
fn no_tenant_reaches_another() {
    let (bench, acme, other, _) = locked();
    let secret = json!({ "name": "plan", "content": "The secret plan of acme." });
    let put = call(&bench, "PUT", "/api/v1/objects/plan", &[&acme], &secret);
    assert_eq!(put.status, 201);
    let id = put.json()["objects"][0]["object_id"].as_str().unwrap().to_owned();
    let compile = json!({ "request": task("Say the plan."), "record": true });
    let done = call(&bench, "POST", "/api/v1/compile", &[&acme], &compile).json();
    assert!(
        done["envelope"]["payload"].as_str().unwrap().contains("secret plan"),
        "{done}"
    );
    let record = done["record_ids"][0].as_str().unwrap();
    call(
        &bench,
        "POST",
        "/api/v1/registries",
        &[&acme],
        &json!({ "label": "mine", "kind": "agent" }),
    );

    let probes: Vec<(&str, String, Value)> = vec![
        ("GET", "/api/v1/objects".into(), Value::Null),
        ("GET", format!("/api/v1/objects/{id}"), Value::Null),
        ("GET", "/api/v1/objects/plan".into(), Value::Null),
        ("GET", "/api/v1/objects/plan/history".into(), Value::Null),
        ("GET", "/api/v1/objects/acme%2Fplan".into(), Value::Null),
        (
            "GET",
            "/api/v1/objects/..%2F..%2Facme%2Fplan".into(),
            Value::Null,
        ),
        ("GET", "/api/v1/objects?tenant=acme".into(), Value::Null),
        ("GET", format!("/api/v1/objects?after={id}"), Value::Null),
        ("GET", "/api/v1/records".into(), Value::Null),
        ("GET", format!("/api/v1/records/{record}"), Value::Null),
        (
            "GET",
            format!("/api/v1/records/{record}?form=otlp"),
            Value::Null,
        ),
        (
            "POST",
            "/api/v1/replay".into(),
            json!({ "record_id": record }),
        ),
        (
            "POST",
            format!("/api/v1/records/{record}/labels"),
            json!({ "relevant": [] }),
        ),
        ("GET", "/api/v1/registries".into(), Value::Null),
        ("GET", "/api/v1/registries/mine".into(), Value::Null),
        ("POST", "/api/v1/compile".into(), compile.clone()),
        (
            "POST",
            "/api/v1/compile".into(),
            json!({ "request": { "task": { "objective": "x" }, "principal": { "tenant": "acme" } } }),
        ),
        (
            "POST",
            "/api/v1/objects".into(),
            json!({ "objects": [{ "name": "x", "content": "y", "tenant_id": "acme" }] }),
        ),
        (
            "POST",
            "/api/v1/objects".into(),
            json!({ "objects": [{ "name": "x", "content": "y", "derived_from": [id] }] }),
        ),
        ("DELETE", format!("/api/v1/objects/{id}"), Value::Null),
        ("DELETE", "/api/v1/objects/plan".into(), Value::Null),
    ];
    for (method, path, body) in &probes {
        let reply = call(&bench, method, path, &[&other], body);
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        for theirs in ["secret plan", record, "mine"] {
            let asked = path.contains(theirs) || body.to_string().contains(theirs);
            assert!(asked || !text.contains(theirs), "{method} {path}: {text}");
        }
        assert!(reply.status < 500, "{method} {path}: {text}");
    }
    // Nothing of it is gone or changed.
    let kept = bench.ask("GET", "/api/v1/objects/plan", &[&acme], b"");
    let revision = |reply: &Reply| reply.header("etag").unwrap()[..72].to_owned();
    assert_eq!((kept.status, revision(&kept)), (200, revision(&put)));
    assert!(
        call(&bench, "GET", "/api/v1/objects", &[&other], &Value::Null).json()["objects"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_key_sees_no_more_than_it_is_granted() {
    let (bench, acme, _, reader) = locked();
    let objects = json!({ "objects": [
        { "name": "open", "content": "Everybody reads this." },
        { "name": "closed", "content": "Only admins read this.", "permission_scope": { "allow_roles": ["admin"] } },
        { "name": "inner", "content": "Readers never read this.", "permission_scope": { "deny_roles": ["reader"] } },
        { "name": "secret", "content": "Few read this.", "security_classification": "confidential" },
    ]});
    let written = call(&bench, "POST", "/api/v1/objects", &[&acme], &objects);
    assert_eq!(written.status, 200, "{}", written.json());
    let compile = json!({ "request": task("Read all of it.") });
    let done = call(&bench, "POST", "/api/v1/compile", &[&reader], &compile);
    assert_eq!(done.status, 200, "{}", done.json());
    let text = String::from_utf8_lossy(&done.body).into_owned();
    assert!(text.contains("Everybody reads this."));
    for hidden in [
        "Only admins",
        "closed",
        "Few read",
        "\"secret\"",
        "Readers never",
    ] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    // A role cannot be left at home.
    let mut fewer = compile.clone();
    fewer["request"]["principal"] = json!({ "tenant": "acme", "clearance": "restricted" });
    let done = call(&bench, "POST", "/api/v1/compile", &[&reader], &fewer);
    let text = String::from_utf8_lossy(&done.body).into_owned();
    assert!(
        text.contains("Everybody reads this.") && !text.contains("Readers never"),
        "{text}"
    );
    for more in [
        json!({ "tenant": "acme", "roles": ["admin"] }),
        json!({ "tenant": "acme", "origins": ["https://bank.example"] }),
        json!({ "tenant": "acme", "roles": ["reader"], "clearance": "confidential" }),
        json!({ "tenant": "acme", "pii_authorized": true }),
        json!({ "tenant": "other" }),
        json!({ "roles": ["reader"] }),
    ] {
        let mut asked = compile.clone();
        asked["request"]["principal"] = more;
        let reply = call(&bench, "POST", "/api/v1/compile", &[&reader], &asked);
        assert_eq!(reply.status, 403, "{asked}: {}", reply.json());
    }
    let mut operators = compile.clone();
    operators["view"] = "operator".into();
    assert_eq!(
        call(&bench, "POST", "/api/v1/compile", &[&reader], &operators).status,
        403
    );
    let mut why = compile.clone();
    why["why"] = "closed".into();
    assert_eq!(
        call(&bench, "POST", "/api/v1/explain", &[&reader], &why).status,
        403
    );
    for path in ["/api/v1/registries", "/metrics"] {
        assert_eq!(
            bench.ask("GET", path, &[&reader], b"").status,
            403,
            "{path}"
        );
    }
    assert_eq!(
        bench.ask("GET", "/api/v1/models", &[&reader], b"").status,
        200
    );
}

/// A registry `notes` of acme, what changes it, and what a key compiles of it.
fn registry_of_acme(bench: &Bench, acme: &str) {
    let new = json!({ "label": "notes", "kind": "agent" });
    let made = call(bench, "POST", "/api/v1/registries", &[acme], &new);
    assert_eq!(made.status, 201, "{}", made.json());
}

fn change(bench: &Bench, acme: &str, operation: &Value) -> Reply {
    let body = json!({ "operation": operation });
    call(
        bench,
        "POST",
        "/api/v1/registries/notes/ops",
        &[acme],
        &body,
    )
}

fn changed(bench: &Bench, acme: &str, operation: &Value) -> u64 {
    let done = change(bench, acme, operation);
    assert_eq!(done.status, 200, "{operation}: {}", done.json());
    done.json()["number"].as_u64().unwrap()
}

fn note(name: &str, content: &str, more: Value) -> Value {
    let mut object = json!({ "name": name, "content": content, "author": "agent", "authority_level": 3, "protection": "pinned" });
    let fields = object.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    object
}

fn write(object: Value) -> Value {
    json!({ "op": "write", "object": object, "at": "back" })
}

fn of_registry(bench: &Bench, key: &str, registry: &str) -> Reply {
    let body = json!({
        "request": task("Say it."), "registry": registry, "store": false, "record": true,
    });
    call(bench, "POST", "/api/v1/compile", &[key], &body)
}

/// What the payload of such a compile says.
fn said(bench: &Bench, key: &str, registry: &str) -> String {
    let reply = of_registry(bench, key, registry);
    assert_eq!(reply.status, 200, "{registry}: {}", reply.json());
    reply.json()["envelope"]["payload"].to_string()
}

#[test]
fn the_blocks_of_a_registry_are_its_tenants() {
    let (bench, acme, _, reader) = locked();
    registry_of_acme(&bench, &acme);
    changed(
        &bench,
        &acme,
        &write(note("plan", "Ship on Monday.", json!({}))),
    );
    let explicit = note("memo", "Call the yard.", json!({ "tenant_id": "acme" }));
    changed(&bench, &acme, &write(explicit));
    let prefix = note("notes:prefix", "Read this first.", json!({}));
    changed(&bench, &acme, &json!({ "op": "wrap", "prefix": prefix }));
    for key in [&acme, &reader] {
        let said = said(&bench, key, "notes");
        for text in ["Ship on Monday.", "Call the yard.", "Read this first."] {
            assert!(said.contains(text), "{text}: {said}");
        }
    }
    // What is another's is no block of it, wherever the operation has it.
    for tenant in ["other", "local"] {
        let theirs = note("theirs", "Of another.", json!({ "tenant_id": tenant }));
        for operation in [
            write(theirs.clone()),
            json!({ "op": "revise", "block": "plan", "object": theirs }),
            json!({ "op": "wrap", "prefix": theirs }),
            json!({ "op": "wrap", "suffix": theirs }),
        ] {
            let refused = change(&bench, &acme, &operation);
            assert_eq!(refused.status, 403, "{operation}: {}", refused.json());
        }
    }
    for wrong in [json!(3), json!({ "op": "write" }), write(json!("text"))] {
        assert_eq!(change(&bench, &acme, &wrong).status, 400, "{wrong}");
    }
}

#[test]
fn the_past_of_a_registry_is_shown_to_whom_it_is_open_now() {
    let (bench, acme, _, reader) = locked();
    registry_of_acme(&bench, &acme);
    let open = note("plan", "Ship on Monday.", json!({}));
    let first = changed(&bench, &acme, &write(open));
    let mut past = vec![(format!("notes@{first}"), "Monday")];
    assert!(said(&bench, &reader, &past[0].0).contains("Monday"));
    let closed = note(
        "plan",
        "Ship on Friday.",
        json!({ "security_classification": "confidential" }),
    );
    let revise = json!({ "op": "revise", "block": "plan", "object": closed });
    changed(&bench, &acme, &revise);
    let hidden_to_the_reader = |past: &[(String, &str)]| {
        for (registry, text) in past {
            let theirs = said(&bench, &reader, registry);
            assert!(!theirs.contains(text), "{registry}: {theirs}");
            let own = said(&bench, &acme, registry);
            assert!(own.contains(text), "{registry}: {own}");
        }
    };
    hidden_to_the_reader(&past);
    // Nor does the name that a block goes by change that, nor that it stands there no longer.
    let rename = json!({ "op": "override", "block": "plan", "overrides": { "name": "old" } });
    changed(&bench, &acme, &rename);
    hidden_to_the_reader(&past);
    changed(&bench, &acme, &json!({ "op": "evict", "blocks": ["old"] }));
    hidden_to_the_reader(&past);
    // An object that was taken out and written again is the same object.
    let memo = note("memo", "Call the yard.", json!({}));
    let second = changed(&bench, &acme, &write(memo));
    changed(&bench, &acme, &json!({ "op": "evict", "blocks": ["memo"] }));
    past.push((format!("notes@{second}"), "yard"));
    assert!(said(&bench, &reader, &past[1].0).contains("yard"));
    let admins = json!({ "permission_scope": { "allow_roles": ["admin"] } });
    changed(
        &bench,
        &acme,
        &write(note("memo", "Call the agent.", admins)),
    );
    let theirs = said(&bench, &reader, &past[1].0);
    assert!(!theirs.contains("yard"), "{theirs}");
    // What was opened since is what it was then.
    let secret = json!({ "security_classification": "confidential" });
    let third = changed(
        &bench,
        &acme,
        &write(note("key", "The key is red.", secret)),
    );
    let revise = json!({ "op": "revise", "block": "key", "object": note("key", "The key is gone.", json!({})) });
    changed(&bench, &acme, &revise);
    assert!(said(&bench, &reader, "notes").contains("The key is gone."));
    assert!(!said(&bench, &reader, &format!("notes@{third}")).contains("The key is"));
    // A replay reads what the compile read, with the access of then.
    let compiled = of_registry(&bench, &reader, &past[0].0).json();
    let id = compiled["record_ids"][0].as_str().unwrap();
    let again = json!({ "record_id": id });
    let replayed = call(&bench, "POST", "/api/v1/replay", &[&acme], &again).json();
    assert_eq!(replayed["proof"], "whole", "{replayed}");
    assert_eq!(replayed["payload"], compiled["envelope"]["payload"]);
}

#[test]
fn which_registries_there_are_is_for_operators() {
    let (bench, acme, _, _) = locked();
    registry_of_acme(&bench, &acme);
    let anna = Grant {
        tenant: "acme".into(),
        user: Some("anna".into()),
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    };
    let anna = format!("x-tenure-key: {}", key(&bench.store, anna));
    let begun = json!({ "id": "talk", "messages": [{ "role": "user", "content": "Say it." }] });
    let begin = || call(&bench, "POST", "/api/v1/sessions", &[&anna], &begun).status;
    wait_for(|| (begin() == 201).then_some(()));
    for wrong in ["note", "note@1"] {
        let turn = json!({ "registry": wrong, "store": false });
        let path = "/api/v1/sessions/talk/compile";
        let told = call(&bench, "POST", path, &[&anna], &turn);
        for reply in [told, of_registry(&bench, &anna, wrong)] {
            let error = reply.json();
            assert_eq!(reply.status, 400, "{error}");
            assert_eq!(error["detail"], "unknown registry `note`");
            assert!(!error.to_string().contains("notes"), "{error}");
        }
        let own = of_registry(&bench, &acme, wrong);
        assert_eq!(own.status, 400);
        assert!(own.json().to_string().contains("did you mean `notes`"));
    }
}

#[test]
fn a_label_is_no_entry_of_another_registry() {
    let (bench, acme, _, _) = locked();
    registry_of_acme(&bench, &acme);
    let plan = write(note("plan", "Ship on Monday.", json!({})));
    assert_eq!(changed(&bench, &acme, &plan), 1);
    let new = json!({ "label": "notes@1", "kind": "agent" });
    let refused = call(&bench, "POST", "/api/v1/registries", &[&acme], &new);
    assert_eq!(refused.status, 400, "{}", refused.json());
    assert!(refused.json()["detail"].as_str().unwrap().contains('@'));
    assert!(said(&bench, &acme, "notes@1").contains("Monday"));
    // One that an earlier version let in is the one that its label means, and has entries itself.
    let tenant = bench.store.tenant("acme").unwrap();
    let last = tenant.entries("registries", 0).unwrap().len() as u64;
    let made = json!({ "registry": { "label": "notes@1", "kind": "agent" } }).to_string();
    tenant.append("registries", last, vec![made]).unwrap();
    let body = json!({ "operation": write(note("own", "Its own block.", json!({}))) });
    let path = "/api/v1/registries/notes@1/ops";
    let done = call(&bench, "POST", path, &[&acme], &body);
    assert_eq!(done.status, 200, "{}", done.json());
    for named in ["notes@1", "notes@1@1"] {
        let said = said(&bench, &acme, named);
        assert!(
            said.contains("Its own block.") && !said.contains("Monday"),
            "{named}: {said}"
        );
    }
    assert!(said(&bench, &acme, "notes").contains("Monday"));
}

#[test]
fn the_keys_themselves_are_out_of_reach() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let forbidden = Grant::owner(KEYS_TENANT);
    assert!(Keys::of(&store).unwrap().create(forbidden, NOW).is_err());
    let bench = Bench::new(&[]);
    let body = json!({ "request": { "task": { "objective": "x" }, "principal": { "tenant": KEYS_TENANT } } });
    assert_eq!(post(&bench, "/api/v1/compile", &body).status, 403);
}

#[test]
fn a_tenant_that_asks_too_often_waits_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let [a, b] =
        ["a", "b"].map(|tenant| format!("x-tenure-key: {}", key(&store, operator(tenant))));
    let bench = Bench::over(folder, store, &[], |options| Options {
        limits: Limits::default().with_rate(Some(5)),
        ..options
    });
    let statuses: Vec<u16> =
        (0..7).map(|_| bench.ask("GET", "/api/v1/models", &[&a], b"").status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    let refused = bench.ask("GET", "/api/v1/models", &[&a], b"");
    assert_eq!(refused.header("retry-after"), Some("12"));
    assert_eq!(bench.ask("GET", "/api/v1/models", &[&b], b"").status, 200);
}

#[test]
fn an_address_that_others_reach_needs_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        Options {
            listen: "0.0.0.0:0".into(),
            store: Some(store),
            ..Options::new(Workspace::new(tenure::FrameKey::new("test", [7; 32])).unwrap())
        }
    };
    let Err(error) = Server::bind(open()) else {
        panic!("it was let in")
    };
    assert_eq!(error.kind, tenure::ErrorKind::Policy);
    assert!(error.to_string().contains("tenure keys create"), "{error}");
    key(open().store.as_ref().unwrap(), operator("acme"));
    assert!(Server::bind(open()).is_ok());
    let wrong = Options {
        listen: "localhost".into(),
        ..open()
    };
    assert!(Server::bind(wrong).is_err());
    let full = Options {
        mode: "full".parse().unwrap(),
        store: None,
        listen: "127.0.0.1:0".into(),
        ..open()
    };
    let Err(error) = Server::bind(full) else {
        panic!("it was let in")
    };
    assert!(error.what.contains("there is no store"), "{error}");
}

// --- the description ------------------------------------------------------------------------------

#[test]
fn the_committed_description_is_that_of_the_server() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/openapi.json");
    let text = format!("{:#}\n", tenure_server::openapi());
    if std::env::var("UPDATE_SCHEMAS").is_ok_and(|value| value == "1") {
        std::fs::write(path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == text,
        "schemas/openapi.json is not what the server says.\n\
         If that was meant to change: UPDATE_SCHEMAS=1 cargo test -p tenure-server --test runner api::"
    );
    let bench = Bench::new(&[]);
    assert_eq!(bench.get("/openapi.json").body, text.as_bytes());
}

#[test]
fn everything_that_is_described_is_there() {
    let bench = Bench::new(&[]);
    let document = tenure_server::openapi();
    let mut operations = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let real = path
                .replace("{object}", "x")
                .replace("{name}", "x")
                .replace("{label}", "x")
                .replace("{record}", "x")
                .replace("{session}", "x");
            let reply = call(&bench, &method.to_uppercase(), &real, &[], &json!({}));
            let found = reply.status != 405 && (reply.status != 404 || path.contains('{'));
            assert!(found, "{method} {path}: {}", reply.status);
            assert!(reply.status < 500, "{method} {path}: {}", reply.status);
            assert!(operation["operationId"].is_string());
            operations += 1;
        }
    }
    assert!(operations > 20, "{operations}");
    // Every reference leads somewhere.
    let text = document.to_string();
    for reference in text.split("\"$ref\":\"#/").skip(1) {
        let target = reference.split('"').next().unwrap();
        assert!(
            document.pointer(&format!("/{target}")).is_some(),
            "{target}"
        );
    }
}

/// The operations whose answers have no form of their own in the description. A new one needs a form: this number only
/// goes down.
const WITHOUT_A_FORM: usize = 16;

#[test]
fn answers_have_a_form_of_their_own() {
    let document = tenure_server::openapi();
    let mut without = Vec::new();
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let answers = operation["responses"].as_object().unwrap();
            let mut good = answers.iter().filter(|(status, _)| status.starts_with('2'));
            let is_bare = |answer: &Value| {
                let content = answer["content"].as_object();
                let schema =
                    content.and_then(|kinds| kinds.values().next()).map(|kind| &kind["schema"]);
                schema.is_some_and(|schema| *schema == json!({}) || *schema == json!(true))
            };
            if good.any(|(_, answer)| is_bare(answer)) {
                without.push(operation["operationId"].clone());
            }
        }
    }
    assert_eq!(without.len(), WITHOUT_A_FORM, "{without:?}");
}

// --- what the archive holds -----------------------------------------------------------------------

#[test]
fn a_query_finds_passages_of_what_its_caller_may_see() {
    let (bench, acme, _, _) = locked();
    let headers = ["content-type: application/json", acme.as_str()];
    let send =
        |path: &str, body: Value| bench.ask("POST", path, &headers, body.to_string().as_bytes());
    let filler = "The lamp on the panel is green while the machine is at rest.\n\n".repeat(60);
    let manual = format!("{filler}The relief valve opens at two bar.\n\n{filler}");
    let objects = json!({ "objects": [
        { "name": "manual", "content": manual },
        { "name": "menu", "content": "Soup on Monday." },
        { "name": "roster", "content": "The relief valve is checked by Ana.", "permission_scope": { "allow_roles": ["shift"] } },
    ] });
    let written = send("/api/v1/objects", objects);
    assert_eq!(written.status, 200, "{}", written.json());
    let question = json!({ "text": "At what pressure does the relief valve open?", "tokens": 400 });
    let found = send("/api/v1/query", question.clone());
    assert_eq!(found.status, 200, "{}", found.json());
    let found = found.json();
    let best = &found["passages"][0];
    assert_eq!(best["name"], "manual");
    assert!(best["text"].as_str().unwrap().contains("two bar"), "{best}");
    assert!(found["tokens"].as_u64().unwrap() <= 400);
    // What stands already is not told again; sent objects stand before the store's.
    let mut rest = question.clone();
    rest["standing"] = json!(["manual"]);
    rest["objects"] =
        json!([{ "name": "note", "content": "The relief valve opens at three bar." }]);
    let rest = send("/api/v1/query", rest).json();
    assert_eq!(rest["passages"][0]["name"], "note", "{rest}");
    let names = |found: &Value| -> Vec<String> {
        let passages = found["passages"].as_array().unwrap().iter();
        passages.map(|passage| passage["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&rest).contains(&"manual".to_owned()));
    // A written object is found by the next query.
    let more = json!({ "objects": [{ "name": "addendum", "content": "The relief valve opens at four bar now." }] });
    send("/api/v1/objects", more);
    let mut all = question.clone();
    all["tokens"] = json!(8_000);
    assert!(names(&send("/api/v1/query", all.clone()).json()).contains(&"addendum".to_owned()));
    // Whoever lacks the role does not find it, nor does another tenant; nobody asks for more than is granted.
    let plain = Grant {
        tenant: "acme".into(),
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    };
    let ask_as = |grant: Grant, body: &Value| {
        let own = format!("authorization: Bearer {}", key(&bench.store, grant));
        let headers = ["content-type: application/json", own.as_str()];
        crate::support::wait_for(|| {
            let reply = bench.ask(
                "POST",
                "/api/v1/query",
                &headers,
                body.to_string().as_bytes(),
            );
            (reply.status != 401).then_some(reply)
        })
    };
    let seen = ask_as(plain.clone(), &all).json();
    assert!(
        names(&seen).contains(&"manual".to_owned()) && !names(&seen).contains(&"roster".to_owned())
    );
    let shift = Grant {
        roles: vec!["shift".into()],
        ..plain.clone()
    };
    assert!(names(&ask_as(shift, &all).json()).contains(&"roster".to_owned()));
    assert!(names(&ask_as(operator("elsewhere"), &all).json()).is_empty());
    let mut more = all.clone();
    more["principal"] = json!({ "tenant": "acme", "roles": ["shift"] });
    assert_eq!(ask_as(plain, &more).status, 403);
    for wrong in [
        json!({ "text": " " }),
        json!({ "text": "x", "tokens": 0 }),
        json!({ "text": "x", "limit": 0 }),
        json!({ "text": "x", "model": "gpt-4p" }),
        json!({ "text": "x", "version": 1_000_000 }),
        json!({ "query": "x" }),
        json!({}),
    ] {
        let status = send("/api/v1/query", wrong.clone()).status;
        assert!(status == 400 || status == 503, "{wrong}: {status}");
    }
}

#[test]
fn an_object_in_the_form_without_names_is_taken() {
    let bench = Bench::new(&[]);
    let id = "6f1b0c3e-8f7e-4f0e-9f55-0f4c5a1c2d3e";
    let printed = json!({
        "object_id": id, "content": "The limit is nine kilowatts.", "normalized_claim": "limit == 9",
        "object_type": "retrieved_passage", "canonical_entity_ids": [],
        "source_origin": "https://docs.example/limits", "source_authority": 0.9, "confidence_score": 0.9,
        "security_classification": "public", "permission_scope": {},
        "valid_from": "2026-01-01T00:00:00Z", "valid_until": null, "tx_start": "2026-01-02T00:00:00Z",
        "tx_end": null, "last_confirmed": "2026-06-01T00:00:00Z", "why_it_matters": "It says the limit.",
        "applicable_task_types": [], "contradiction_status": "clean", "supersession_link": null,
        "decay_rule": {}, "retirement_rule": "archive",
    });
    let put = call(
        &bench,
        "PUT",
        &format!("/api/v1/objects/{id}"),
        &[],
        &printed,
    );
    assert_eq!(put.status, 201, "{}", put.json());
    let name = put.json()["objects"][0]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("retrieved_passage-"), "{name}");
    // By the name that follows from its content it is the same object.
    let again = call(
        &bench,
        "PUT",
        &format!("/api/v1/objects/{name}"),
        &[],
        &printed,
    );
    assert_eq!(again.json()["objects"][0]["outcome"], "unchanged");
    let many = post(&bench, "/api/v1/objects", &json!({ "objects": [printed] }));
    assert_eq!(many.json()["objects"][0]["outcome"], "unchanged");
    let compile =
        json!({ "request": task("What is the limit?"), "objects": [printed], "store": false });
    let compiled = post(&bench, "/api/v1/compile", &compile);
    assert_eq!(
        compiled.json()["trace"]["verdicts"][0]["name"],
        name.as_str()
    );
    let mut wrong = printed.clone();
    wrong["source_origin"] = json!("limits.md");
    let refused = post(&bench, "/api/v1/objects", &json!({ "objects": [wrong] }));
    assert_eq!(refused.status, 400);
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("is no URI"),
        "{}",
        refused.json()
    );
}

#[test]
fn a_query_of_the_past_finds_what_was_archived_then() {
    let (bench, acme, _, _) = locked();
    let headers = ["content-type: application/json", acme.as_str()];
    let send =
        |path: &str, body: Value| bench.ask("POST", path, &headers, body.to_string().as_bytes());
    let old = json!({ "objects": [{
        "name": "old-limit", "content": "The limit was nine kilowatts.", "valid_from": "2020-01-01",
        "decay_rule": { "half_life_days": 10.0, "minimum_threshold": 0.5 }, "retirement_rule": "archive",
    }] });
    assert_eq!(send("/api/v1/objects", old).status, 200);
    let tenant = bench.store.tenant("acme").unwrap();
    let at = "2021-01-01T00:00:00Z".parse().unwrap();
    let swept = tenant.sweep(at, Retention::default(), false, &Writing::default());
    assert_eq!(swept.unwrap().retired.len(), 1);
    let archived = tenant.load_archive().unwrap().latest().unwrap();
    let found = |as_of: Value| {
        let query = json!({ "text": "How many kilowatts?", "as_of": as_of });
        let found = send("/api/v1/query", query);
        assert_eq!(found.status, 200, "{}", found.json());
        found.json()["passages"].as_array().unwrap().len()
    };
    assert_eq!(found(json!({})), 1);
    assert_eq!(found(json!({ "known": archived.to_string() })), 1);
    assert_eq!(found(json!({ "known": "2020-06-01T00:00:00Z" })), 0);
    // A compile of then takes it no more than one of now does.
    let compiled = send(
        "/api/v1/compile",
        json!({ "request": {
            "task": { "objective": "How many kilowatts?" }, "budget": { "tokens": 500 },
            "as_of": { "known": archived.to_string() },
        } }),
    );
    let compiled = compiled.json();
    assert_eq!(
        compiled["trace"]["unfetched"][0]["what"], "old-limit",
        "{compiled}"
    );
}

#[test]
fn a_passage_without_provenance_is_refused_wherever_it_is_brought() {
    let bench = Bench::new(&[]);
    let page = json!({
        "name": "page", "content": "The pressure is 1 bar.", "object_type": "retrieved_passage",
        "provenance": { "source_id": "manual" },
    });
    let registry = json!({ "label": "coder", "kind": "agent" });
    assert_eq!(post(&bench, "/api/v1/registries", &registry).status, 201);
    let write = json!({ "operation": { "op": "write", "object": &page, "at": "back" } });
    let compile = json!({ "request": task("Report the pressure."), "objects": [&page] });
    for (method, path, body) in [
        ("POST", "/api/v1/compile", compile),
        ("POST", "/api/v1/objects", json!({ "objects": [&page] })),
        ("PUT", "/api/v1/objects/page", page.clone()),
        ("POST", "/api/v1/registries/coder/ops", write),
    ] {
        let reply = call(&bench, method, path, &[], &body);
        let told = reply.json().to_string();
        assert_eq!(reply.status, 400, "{path}: {told}");
        let what = "`page` is a retrieved_passage without `provenance.retrieved_at`";
        assert!(told.contains(what), "{path}: {told}");
    }
}
