//! The verbs of the command line that take texts, bodies and numbers, over HTTP.

use crate::support::{Bench, Reply};
use serde_json::{Value, json};
use tenure::ObjectDocument;
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_store::{Put, Store, Writing};
use tenure_workspace::keys::{Grant, Keys};

fn call(bench: &Bench, path: &str, headers: &[&str], body: &Value) -> Reply {
    let headers = [&["content-type: application/json"], headers].concat();
    bench.ask("POST", path, &headers, body.to_string().as_bytes())
}

/// What is answered to a call that succeeds.
fn post(bench: &Bench, path: &str, body: &Value) -> Value {
    let reply = call(bench, path, &[], body);
    assert_eq!(reply.status, 200, "{path}: {}", reply.json());
    reply.json()
}

/// Which field a refused call names.
fn refused(bench: &Bench, path: &str, body: &Value) -> String {
    let reply = call(bench, path, &[], body);
    let problem = reply.json();
    assert_eq!(reply.status, 400, "{path} {body}: {problem}");
    problem["at"]["source"].as_str().unwrap_or_default().to_owned()
}

fn log_of(lines: usize) -> String {
    (0..lines)
        .map(|at| {
            format!(
                "2026-06-06 12:00:{:02} pump {} runs at {} degrees\n",
                at % 60,
                at % 7,
                at * 37 % 91
            )
        })
        .collect()
}

/// A key of an operator and one of a reader, of a tenant with an object that only Ana sees.
fn locked() -> (Bench, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let pay = ObjectDocument {
        user_id: Some("ana".into()),
        ..ObjectDocument::named("pay", "What Ana earns when pumps run.")
    };
    let open = ObjectDocument::named("pumps", "Pumps run at 41 degrees.");
    let acme = store.tenant("acme").unwrap();
    let puts = vec![Put::new(pay), Put::new(open)];
    acme.put(puts, &Writing::default()).unwrap();
    let keys = Keys::of(&store).unwrap();
    let key = |grant| {
        let made = keys.create(grant, Instant::from_micros(1_000));
        format!("x-api-key: {}", made.unwrap().1)
    };
    let operator = key(Grant::owner("acme"));
    let reader = key(Grant {
        operator: false,
        user: Some("bob".into()),
        clearance: Some(Classification::Restricted),
        ..Grant::owner("acme")
    });
    let bench = Bench::over(folder, store, &[], |options| options);
    (bench, operator, reader)
}

#[test]
fn a_text_is_condensed_and_its_original_read_back() {
    let bench = Bench::new(&[]);
    let text = log_of(400);
    let asked = json!({ "text": text, "tokens": 300, "task": "pump 3", "keep": true });
    let done = post(&bench, "/api/v1/condense", &asked);
    assert!(done["to"].as_u64().unwrap() <= 300, "{done}");
    assert_eq!(done["fits"], true);
    let pointer = done["pointer"].as_str().unwrap();
    assert!(done["text"].as_str().unwrap().contains(pointer));
    let original = bench.get(&format!("/api/v1/originals/{pointer}"));
    assert_eq!(original.status, 200, "{}", original.json());
    assert_eq!(original.json()["content"], text);
    assert_eq!(bench.get("/api/v1/originals/0000000000000000").status, 404);
    assert_eq!(bench.get("/api/v1/originals/x").status, 400);
    // Nothing is kept that is not asked to be.
    let asked = json!({ "text": text, "tokens": 300 });
    assert!(post(&bench, "/api/v1/condense", &asked)["pointer"].is_null());
    for (wrong, field) in [
        (json!({ "text": "x", "tokens": 0 }), "tokens"),
        (
            json!({ "text": "x", "tokens": 5, "model": "gpt-4p" }),
            "model",
        ),
    ] {
        assert_eq!(refused(&bench, "/api/v1/condense", &wrong), field);
    }
}

#[test]
fn only_operators_keep_originals_and_read_them() {
    let (bench, operator, reader) = locked();
    let asked = json!({ "text": log_of(300), "tokens": 200, "keep": true });
    let refused = call(&bench, "/api/v1/condense", &[&reader], &asked);
    assert_eq!(refused.status, 403, "{}", refused.json());
    let done = call(&bench, "/api/v1/condense", &[&operator], &asked);
    assert_eq!(done.status, 200, "{}", done.json());
    let pointer = done.json()["pointer"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/originals/{pointer}");
    let read = |key: &str| bench.ask("GET", &path, &[key], b"").status;
    // The folder of originals is of all tenants, so no key reads it.
    assert_eq!((read(&reader), read(&operator)), (403, 404));
}

#[test]
fn a_body_is_checked() {
    let bench = Bench::new(&[]);
    let body = json!({ "model": "gpt-4o", "messages": [
        { "role": "user", "content": "How warm is pump 7?" },
        { "role": "tool", "tool_call_id": "c1", "content": "41" },
    ] });
    let checked = post(&bench, "/api/v1/check", &json!({ "body": body }));
    assert_eq!(checked["target"], "openai-chat", "{checked}");
    assert!(!checked["violations"].as_array().unwrap().is_empty());
    let fine = json!({ "body": { "messages": [{ "role": "user", "content": "Hi." }] }, "target": "openai-chat" });
    assert_eq!(
        post(&bench, "/api/v1/check", &fine)["violations"],
        json!([])
    );
    assert_eq!(
        refused(&bench, "/api/v1/check", &json!({ "body": { "x": 1 } })),
        "body"
    );
    let wrong = json!({ "body": body, "model": "gpt-4p" });
    assert_eq!(refused(&bench, "/api/v1/check", &wrong), "model");
}

#[test]
fn every_trace_has_the_quality_of_its_payload() {
    let bench = Bench::new(&[]);
    let asked = json!({
        "request": { "task": { "objective": "Report the pressure." }, "budget": { "tokens": 500 } },
        "objects": [{ "name": "units", "content": "Report pressure in pascal.", "object_type": "rule" }],
    });
    let trace = post(&bench, "/api/v1/explain", &asked);
    let quality = trace["quality"].as_array().unwrap();
    assert_eq!(quality.len(), 8);
    assert!(
        quality.iter().all(|one| one["definition"].is_string()),
        "{trace}"
    );
    assert_eq!(quality[0]["missed"], true);
}

#[test]
fn answers_are_held_against_constraints_and_instructions_looked_through() {
    let bench = Bench::new(&[]);
    let constraint = |name: &str, text: &str, constraint: Value| json!({ "name": name, "content": text, "object_type": "actionable_constraint", "constraint": constraint });
    let never = constraint(
        "no-keys",
        "Never show the key of a pump.",
        json!({ "rigidity": "hard", "polarity": "negative", "patterns": ["sk-[a-z0-9]{8}"] }),
    );
    let asked = |answer: Value| json!({ "answer": answer, "objects": [never] });
    let held = |answer: Value| post(&bench, "/api/v1/check", &asked(answer));
    assert_eq!(held(json!("It is in the vault."))["broken"], json!([]));
    let broken = held(json!("It is sk-abcdef12."));
    assert_eq!(broken["broken"][0]["name"], "no-keys", "{broken}");
    assert_eq!(broken["faults"], json!(["constraint_broken"]));
    // A provider's answer is read as one.
    let whole = json!({ "choices": [{ "message": { "role": "assistant", "content": "It is sk-abcdef12." } }] });
    assert_eq!(held(whole)["broken"], broken["broken"]);
    assert_eq!(refused(&bench, "/api/v1/check", &json!({})), "body");
    let always = constraint(
        "keys",
        "Always show the key of a pump.",
        json!({ "rigidity": "hard" }),
    );
    let found = post(
        &bench,
        "/api/v1/lint",
        &json!({ "objects": [never, always] }),
    );
    let flaws: Vec<&Value> =
        found["findings"].as_array().unwrap().iter().map(|one| &one["flaw"]).collect();
    assert_eq!(flaws, ["unchecked", "contradictory"], "{found}");
}

#[test]
fn a_cache_is_planned_and_explained() {
    let bench = Bench::new(&[]);
    let body = |last: &str| {
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 100,
            "system": log_of(400),
            "messages": [{ "role": "user", "content": last }],
        })
    };
    let asked = json!({ "body": body("How warm is pump 7?"), "ttl": "5m" });
    let plan = post(&bench, "/api/v1/cache/plan", &asked);
    assert!(
        !plan["breakpoints"].as_array().unwrap().is_empty(),
        "{plan}"
    );
    let mut applied = asked.clone();
    applied["apply"] = json!(true);
    let marked = post(&bench, "/api/v1/cache/plan", &applied);
    assert_eq!(marked["plan"], plan);
    assert!(marked["body"].to_string().contains("cache_control"));
    let two = json!({ "before": body("How warm is pump 7?"), "after": body("And pump 8?") });
    let why = post(&bench, "/api/v1/cache/explain", &two);
    assert!(why["same_tokens"].as_u64().unwrap() > 1_000, "{why}");
    let unnamed = json!({ "messages": [{ "role": "user", "content": "Hi." }] });
    for (path, wrong, field) in [
        ("plan", json!({ "body": body("x"), "ttl": "soon" }), "ttl"),
        ("plan", json!({ "body": unnamed }), "model"),
        (
            "plan",
            json!({ "body": body("x"), "previous": { "x": 1 } }),
            "previous",
        ),
        (
            "explain",
            json!({ "before": body("x"), "after": { "x": 1 } }),
            "after",
        ),
    ] {
        let path = format!("/api/v1/cache/{path}");
        assert_eq!(refused(&bench, &path, &wrong), field, "{wrong}");
    }
}

#[test]
fn a_gate_names_what_its_caller_may_see() {
    let (bench, operator, reader) = locked();
    let asked = json!({
        "request": { "task": { "objective": "How warm do pumps run?" }, "gate": { "top_k": 5 } },
        "objects": [{ "name": "lunch", "content": "The canteen opens at noon.", "object_type": "preference" }],
    });
    let names = |key: &str| {
        let reply = call(&bench, "/api/v1/gate", &[key], &asked);
        assert_eq!(reply.status, 200, "{}", reply.json());
        let lists = reply.json();
        let of = |list: &str| {
            let list = lists[list].as_array().unwrap().iter();
            let name = |item: &Value| item["name"].as_str().or(item.as_str()).unwrap().to_owned();
            list.map(name).collect::<Vec<_>>()
        };
        let mut all = [of("kept"), of("left"), of("absent")].concat();
        all.sort();
        all
    };
    assert_eq!(names(&reader), ["lunch", "pumps"]);
    assert!(names(&operator).contains(&"pumps".to_owned()));
    let mut open = asked.clone();
    open["request"].as_object_mut().unwrap().remove("gate");
    let reply = call(&bench, "/api/v1/gate", &[&reader], &open);
    assert_eq!(
        (reply.status, &reply.json()["at"]["source"]),
        (400, &json!("request"))
    );
    let mut recorded = asked.clone();
    recorded["record"] = json!(true);
    let reply = call(&bench, "/api/v1/gate", &[&operator], &recorded);
    assert_eq!(
        (reply.status, &reply.json()["at"]["source"]),
        (400, &json!("record"))
    );
}

#[test]
fn a_budget_is_shared() {
    let bench = Bench::new(&[]);
    let asked = json!({ "budget": 1000, "demands": { "evidence": 4000, "history": 500 }, "what_if": [500] });
    let study = post(&bench, "/api/v1/allocate", &asked);
    let allocated = study["allocations"].as_array().unwrap().iter();
    let allocated: u64 = allocated.map(|row| row["allocated"].as_u64().unwrap()).sum();
    assert_eq!(allocated, 1000, "{study}");
    assert_eq!(study["what_if"][0]["budget"], 500);
    let claims = json!([{ "name": "a", "demand": 10 }, { "name": "b", "demand": 900 }]);
    let study = post(
        &bench,
        "/api/v1/allocate",
        &json!({ "budget": 100, "claims": claims }),
    );
    assert_eq!(study["allocations"][1]["section"], "b");
    let compile = json!({
        "request": { "task": { "objective": "Report the pressure." }, "budget": { "tokens": 500 } },
        "objects": [{ "name": "units", "content": "Report pressure in pascal." }],
    });
    let study = post(&bench, "/api/v1/allocate", &json!({ "compile": compile }));
    assert_eq!(
        (&study["budget"], study["what_if"].as_array().unwrap().len()),
        (&json!(500), 5)
    );
    assert_eq!(bench.get("/api/v1/records").json()["records"], json!([]));
    let twice = json!([{ "name": "a", "demand": 1 }, { "name": "a", "demand": 2 }]);
    for (wrong, field) in [
        (json!({ "budget": 100 }), "demands"),
        (json!({ "demands": { "evidence": 1 } }), "budget"),
        (
            json!({ "budget": 0, "demands": { "evidence": 1 } }),
            "budget",
        ),
        (json!({ "budget": 9, "compile": compile }), "budget"),
        (json!({ "budget": 9, "claims": twice }), "claims"),
        (
            json!({ "budget": 9, "claims": claims, "policy": "standard" }),
            "policy",
        ),
        (
            json!({ "budget": 9, "demands": { "evidence": 1 }, "policy": "none" }),
            "policy",
        ),
        (
            json!({ "budget": 9, "claims": claims, "what_if": vec![7; 17] }),
            "what_if",
        ),
        (
            json!({ "budget": 9, "claims": claims, "what_if": [0] }),
            "what_if",
        ),
    ] {
        assert_eq!(
            refused(&bench, "/api/v1/allocate", &wrong),
            field,
            "{wrong}"
        );
    }
}

#[test]
fn a_write_says_who_writes_where_it_says_nothing_else() {
    let bench = Bench::new(&[]);
    for kind in ["agent", "orchestrator"] {
        let new = json!({ "label": kind, "kind": kind });
        let made = call(&bench, "/api/v1/registries", &[], &new);
        assert_eq!(made.status, 201, "{}", made.json());
        let path = format!("/api/v1/registries/{kind}/ops");
        let write = |object: Value| {
            let operation = json!({ "op": "write", "object": object, "at": "back" });
            call(&bench, &path, &[], &json!({ "operation": operation }))
        };
        let done = write(json!({ "name": "note", "content": "Remember." }));
        assert_eq!(done.status, 200, "{}", done.json());
        let shown = bench.get(&format!("/api/v1/registries/{kind}")).json();
        assert_eq!(shown["blocks"][0]["author"], kind, "{shown}");
        // Who claims to be another is refused.
        let other = write(json!({ "name": "seed", "content": "A seed.", "author": "seed" }));
        assert_eq!(other.status, 403, "{}", other.json());
        let revise = json!({ "op": "revise", "block": "note", "object": { "name": "note", "content": "Forget." } });
        let revised = call(&bench, &path, &[], &json!({ "operation": revise }));
        assert_eq!(revised.status == 200, kind == "agent", "{}", revised.json());
    }
}

#[test]
fn objects_and_texts_are_imported_into_a_registry() {
    let bench = Bench::new(&[]);
    let path = "/api/v1/registries/main/import";
    let import = json!({
        "objects": [{ "name": "units", "content": "Report pressure in pascal." }],
        "documents": [{ "path": "rules/digits.md", "text": "# digits\n\nRound to three digits.\n" }],
    });
    let once = ["idempotency-key: i1"];
    let done = call(&bench, path, &once, &import);
    assert_eq!(
        (done.status, &done.json()["imported"]),
        (200, &json!(2)),
        "{}",
        done.json()
    );
    assert_eq!(done.json()["registry"]["blocks"], 2);
    let tag = done.header("etag").unwrap().to_owned();
    let again = call(&bench, path, &once, &import);
    assert_eq!((again.status, again.json()), (200, done.json()));
    // A block of the name is there; none of them comes.
    let more = json!({ "objects": [
        { "name": "tone", "content": "Be brief." }, { "name": "units", "content": "Report bar." },
    ] });
    assert_eq!(call(&bench, path, &[], &more).status, 400);
    let chosen = json!({ "objects": more["objects"], "blocks": ["tone"] });
    let stale = call(&bench, path, &["if-match: \"0\""], &chosen);
    assert_eq!(stale.status, 412, "{}", stale.json());
    let fresh = format!("if-match: {tag}");
    let added = call(&bench, path, &[&fresh], &chosen);
    assert_eq!((added.status, &added.json()["imported"]), (200, &json!(1)));
    let shown = bench.get("/api/v1/registries/main").json();
    assert_eq!(shown["blocks"].as_array().unwrap().len(), 3);
    for (wrong, field) in [
        (
            json!({ "objects": [{ "name": "x", "content": "" }, { "name": "", "content": "y" }] }),
            "objects[0]",
        ),
        (
            json!({ "documents": [{ "path": "x.bin", "text": "x" }] }),
            "documents[0]",
        ),
        (json!({ "blocks": ["none"] }), "blocks"),
    ] {
        assert_eq!(refused(&bench, path, &wrong), field, "{wrong}");
    }
    let (bench, _, reader) = locked();
    assert_eq!(call(&bench, path, &[&reader], &import).status, 403);
}

#[test]
fn an_audit_says_of_what_its_reader_may_see_what_is_left_to_types() {
    let (bench, operator, reader) = locked();
    let audit = |key: &str, query: &str| {
        let path = format!("/api/v1/audit{query}");
        bench.ask("GET", &path, &[key], b"")
    };
    let all = audit(&operator, "").json();
    let objects = all["objects"].as_array().unwrap();
    let names: Vec<&Value> = objects.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["pay", "pumps"]);
    let left = objects[1]["by_type"].as_array().unwrap();
    let policy = left.iter().find(|one| one["question"] == "conflict_policy");
    assert_eq!(policy.unwrap()["answer"], "protocols");
    // Of what is hidden nothing is said, not even that there is more.
    let seen = audit(&reader, "").json();
    let objects = seen["objects"].as_array().unwrap();
    assert!(objects.iter().all(|one| one["name"] != "pay"), "{seen}");
    let first = audit(&operator, "?limit=1").json();
    let next = first["next"].as_str().unwrap();
    let second = audit(&operator, &format!("?limit=1&after={next}")).json();
    assert_eq!(second["objects"][0]["name"], "pumps");
    let lost = audit(&operator, "?after=00000000-0000-4000-8000-000000000001");
    assert_eq!(lost.status, 400);
    assert_eq!(lost.json()["at"]["source"], "after");
}

#[test]
fn outcomes_are_proposed_by_programs_and_decided_by_people() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let key = |grant| {
        let made = keys.create(grant, Instant::from_micros(1_000));
        format!("x-api-key: {}", made.unwrap().1)
    };
    let operator = key(Grant::owner("acme"));
    let person = |user: &str, roles: &[&str]| {
        key(Grant {
            operator: false,
            user: Some(user.into()),
            roles: roles.iter().map(|role| (*role).to_owned()).collect(),
            clearance: Some(Classification::Restricted),
            ..Grant::owner("acme")
        })
    };
    let (ada, bob) = (person("ada", &["reviewer"]), person("bob", &[]));
    let bench = Bench::over(folder, store, &[], |options| options);
    let outcomes = "/api/v1/outcomes";
    let proposal = json!({
        "kind": "correction", "mistake": "psi in the list",
        "object": { "name": "bars", "content": "Valves are listed in bar." },
    });
    let refused = call(&bench, outcomes, &[&bob], &proposal);
    assert_eq!(refused.status, 403, "{}", refused.json());
    let made = call(&bench, outcomes, &[&operator], &proposal);
    assert_eq!(made.status, 200, "{}", made.json());
    let waiting = bench.ask("GET", "/api/v1/proposals", &[&ada], b"").json();
    assert_eq!(waiting["proposals"][0]["name"], "bars");
    let decide = |key: &str, outcome: &str, decision: &str| {
        let asked = json!({ "outcome": outcome, "decision": decision });
        call(&bench, "/api/v1/outcomes/decision", &[key], &asked)
    };
    // Neither a program nor a person without the role decides.
    for key in [&operator, &bob] {
        let refused = decide(key, "bars", "accept");
        assert_eq!(refused.status, 403, "{}", refused.json());
    }
    let wrong = decide(&ada, "bars", "agree");
    assert_eq!(wrong.status, 400, "{}", wrong.json());
    assert_eq!(decide(&ada, "nothing", "accept").status, 400);
    assert_eq!(decide(&ada, "bars", "accept").status, 200);
    assert_eq!(decide(&ada, "bars", "accept").status, 409);
    let again = call(&bench, outcomes, &[&operator], &proposal);
    assert_eq!(again.json()["objects"][0]["outcome"], "unchanged");
    let counted = json!({ "outcome": "bars" });
    let counted = call(&bench, "/api/v1/outcomes/repeat", &[&operator], &counted);
    assert_eq!(counted.status, 200, "{}", counted.json());
    let listed = bench.ask("GET", outcomes, &[&ada], b"").json();
    let line = &listed["outcomes"][0];
    assert_eq!(
        (&line["state"], &line["decided_by"], &line["repeats"]),
        (&json!("accepted"), &json!("ada"), &json!(2))
    );
    let waiting = bench.ask("GET", "/api/v1/proposals", &[&ada], b"").json();
    assert_eq!(waiting["proposals"], json!([]));
    // What was inferred, and says otherwise than what she stated, waits for her in the same way.
    let prefers = |name: &str, author: &str, value: &str| {
        json!({ "name": name, "content": value, "object_type": "preference", "user_id": "ada", "author": author,
            "normalized_claim": format!("answers == {value}") })
    };
    let objects = json!({ "objects": [prefers("stated", "seed", "long"), prefers("guess", "agent", "short")] });
    let written = call(&bench, "/api/v1/objects", &[&operator], &objects).json();
    let note = json!({ "code": "awaits_confirmation", "why": "stated_otherwise" });
    assert_eq!(written["objects"][1]["note"], note, "{written}");
    let waiting = bench.ask("GET", "/api/v1/proposals", &[&ada], b"").json();
    let shown = &waiting["proposals"][0];
    assert_eq!(
        (&shown["kind"], &shown["other_id"]),
        (&json!("inferred"), &written["objects"][0]["object_id"])
    );
    let decide = |key: &str, object: &str| {
        let asked = json!({ "object": object, "decision": "confirm" });
        call(&bench, "/api/v1/proposals/decision", &[key], &asked).status
    };
    for (key, status) in [(&operator, 403), (&bob, 403), (&ada, 200), (&ada, 409)] {
        assert_eq!(decide(key, "guess"), status);
    }
    let asked = format!(
        "/api/v1/conflicts?principal={}",
        "%7B%22tenant%22%3A%22acme%22%2C%22user%22%3A%22ada%22%2C%22roles%22%3A%5B%22reviewer%22%5D%2C%22clearance%22%3A%22restricted%22%7D"
    );
    let conflicts = bench.ask("GET", &asked, &[&ada], b"").json();
    assert_eq!(conflicts["conflicts"][0]["ground"], "person", "{conflicts}");
    let proposal = json!({ "kind": "correction", "object": { "name": "pumps", "content": "Pumps are slow." } });
    call(&bench, outcomes, &[&operator], &proposal);
    assert_eq!(decide(&ada, "pumps"), 400);
}

#[test]
fn what_is_inferred_on_too_little_is_written_and_waits() {
    let (bench, operator, _) = locked();
    let guess = json!({ "name": "guess", "content": "It is blue.", "object_type": "inferred_belief",
        "normalized_claim": "colour == blue", "canonical_entity_ids": ["desk"] });
    let objects = json!({ "objects": [guess] });
    let written = call(&bench, "/api/v1/objects", &[&operator], &objects).json();
    let note = json!({ "code": "awaits_confirmation", "why": "too_little_evidence" });
    assert_eq!(written["objects"][0]["note"], note, "{written}");
    let waiting = bench.ask("GET", "/api/v1/proposals", &[&operator], b"").json();
    let id = &written["objects"][0]["object_id"];
    let shown = &waiting["proposals"][0];
    assert_eq!(
        (&shown["kind"], &shown["object_id"]),
        (&json!("inferred"), id)
    );
    let confirm = format!(
        "tenure review accept {} --tenant acme",
        id.as_str().unwrap()
    );
    assert_eq!(shown["decide"], confirm);
}

#[test]
fn a_reviewer_decides_on_what_they_may_see_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    let key = |grant| {
        let made = keys.create(grant, Instant::from_micros(1_000));
        format!("x-api-key: {}", made.unwrap().1)
    };
    let operator = key(Grant::owner("acme"));
    let reviewer = |user: &str| {
        key(Grant {
            operator: false,
            user: Some(user.into()),
            roles: vec!["reviewer".into()],
            clearance: Some(Classification::Restricted),
            ..Grant::owner("acme")
        })
    };
    let (ada, bob) = (reviewer("ada"), reviewer("bob"));
    let bench = Bench::over(folder, store, &[], |options| options);
    let write = |object: serde_json::Value| {
        let objects = json!({ "objects": [object] });
        let written = call(&bench, "/api/v1/objects", &[&operator], &objects);
        assert_eq!(written.status, 200, "{}", written.json());
        written.json()["objects"][0]["object_id"].clone()
    };
    let guess = |id: &serde_json::Value, name: &str| {
        json!({ "object_id": id, "name": name, "content": "It is blue.", "object_type": "inferred_belief",
            "normalized_claim": "colour == blue", "canonical_entity_ids": ["desk"] })
    };
    let decide = |key: &str, object: &serde_json::Value, decision: &str| {
        let asked = json!({ "object": object, "decision": decision });
        call(&bench, "/api/v1/proposals/decision", &[key], &asked)
    };
    let listed = |key: &str| {
        let waiting = bench.ask("GET", "/api/v1/proposals", &[key], b"").json();
        waiting["proposals"].as_array().unwrap().len()
    };
    let seat = write(json!({ "name": "seat", "content": "It is red." }));
    let alone = write(json!({ "name": "sofa", "content": "It is red." }));
    let mut hidden = guess(&seat, "seat");
    hidden["user_id"] = json!("ada");
    assert_eq!(write(hidden), seat);
    assert_eq!((listed(&ada), listed(&bob)), (1, 0));
    // For who may not see the proposal, it is as if there were none.
    for decision in ["confirm", "retract"] {
        let (refused, none) = (
            decide(&bob, &seat, decision),
            decide(&bob, &alone, decision),
        );
        assert_eq!(refused.status, 409, "{}", refused.json());
        let told = refused.json().to_string().replace("seat", "sofa");
        assert_eq!(told, none.json().to_string());
    }
    assert_eq!(listed(&ada), 1);
    assert_eq!(decide(&ada, &seat, "confirm").status, 200);
    assert_eq!(listed(&ada), 0);
    // Of several, one is decided by its revision. One that is gone is a conflict, which says which ones there are.
    let lamp = write(json!({ "name": "lamp", "content": "It is red." }));
    for (text, from, until) in [
        ("blue", "2026-01-01", "2026-02-01"),
        ("green", "2026-02-01", "2026-03-01"),
    ] {
        let mut part = guess(&lamp, "lamp");
        part["content"] = json!(text);
        part["valid_from"] = json!(from);
        part["valid_until"] = json!(until);
        write(part);
    }
    let shown = bench.ask("GET", "/api/v1/proposals", &[&ada], b"").json();
    let revisions = shown["proposals"][0]["revisions"].clone();
    let decide_one = |revision: &serde_json::Value, decision: &str| {
        let asked = json!({ "object": lamp, "decision": decision, "revision": revision });
        call(&bench, "/api/v1/proposals/decision", &[&ada], &asked)
    };
    assert_eq!(decide_one(&revisions[0], "retract").status, 200);
    let gone = decide_one(&revisions[0], "confirm");
    assert_eq!(gone.status, 409);
    let left = revisions[1].as_str().unwrap();
    assert!(gone.json().to_string().contains(left), "{}", gone.json());
    assert_eq!(decide_one(&json!("blue"), "confirm").status, 400);
    assert_eq!(decide_one(&revisions[1], "confirm").status, 200);
    assert_eq!(listed(&ada), 0);
    // Who may see the proposal alone decides on it.
    let mine = write(json!({ "name": "mine", "content": "It is red.", "user_id": "bob" }));
    for decision in ["retract", "confirm"] {
        assert_eq!(decide(&ada, &mine, decision).status, 400);
        write(guess(&mine, "mine"));
        assert_eq!(listed(&ada), 1);
        let done = decide(&ada, &mine, decision);
        assert_eq!(done.status, 200, "{}", done.json());
        assert_eq!(listed(&ada), 0);
    }
    // What others proposed stands where it came, as for who sees all of it.
    let inferred = |name: &str| {
        json!({ "name": name, "content": "It is so.", "object_type": "inferred_belief",
        "normalized_claim": format!("{name} == 1"), "canonical_entity_ids": ["desk"] })
    };
    write(inferred("before"));
    let proposal = json!({ "object": { "name": "bars", "content": "In bar.", "user_id": "bob" } });
    let proposed = call(&bench, "/api/v1/outcomes", &[&operator], &proposal);
    assert_eq!(proposed.status, 200, "{}", proposed.json());
    write(inferred("after"));
    let names = |key: &str| -> Vec<String> {
        let waiting = bench.ask("GET", "/api/v1/proposals", &[key], b"").json();
        let all = waiting["proposals"].as_array().unwrap().iter();
        all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&ada), names(&operator));
    assert!(names(&ada).contains(&"bars".to_owned()));
    // She sees it with what each decision does, and decides on it; an erasure is an operator's.
    let entry = "/api/v1/proposals/entry?object=bars";
    let shown = bench.ask("GET", entry, &[&ada], b"").json();
    assert_eq!(shown["outcome"]["content"], "In bar.", "{shown}");
    assert_eq!(shown["choices"][0]["decision"], "accept", "{shown}");
    assert_eq!(bench.ask("GET", entry, &[&bob], b"").status, 200);
    assert_eq!(decide(&operator, &json!("bars"), "accept").status, 403);
    assert_eq!(decide(&ada, &json!("bars"), "accept").status, 200);
    assert_eq!(bench.ask("GET", entry, &[&ada], b"").status, 404);
    let claim = |name: &str, port: u32| {
        json!({ "name": name, "content": name, "object_type": "rule",
            "normalized_claim": format!("port == {port}"), "canonical_entity_ids": ["desk"] })
    };
    write(claim("one", 80));
    write(claim("other", 443));
    // Nor does a reviewer resolve conflicts, unless the server says so.
    assert_eq!(decide(&ada, &json!("one"), "hold").status, 403);
    assert_eq!(decide(&operator, &json!("one"), "hold").status, 200);
}

#[test]
fn whom_to_ask_follows_from_where_both_come_from() {
    let (bench, operator, _) = locked();
    let claim = |name: &str, port: u16, kind: &str| {
        json!({
            "name": name, "content": format!("The port is {port}."), "authority_level": 4, "source_authority": 0.5,
            "normalized_claim": format!("port == {port}"), "canonical_entity_ids": ["desk"],
            "provenance": { "source_kind": kind },
        })
    };
    for (kind, actions) in [
        (
            "system_of_record",
            json!(["system_of_record", "user_question"]),
        ),
        ("tool", json!(["tool_lookup", "user_question"])),
        ("document", json!(["user_question"])),
    ] {
        let objects =
            json!({ "objects": [claim("one", 80, kind), claim("other", 443, "document")] });
        let written = call(&bench, "/api/v1/objects", &[&operator], &objects);
        assert_eq!(written.status, 200, "{}", written.json());
        let shown = bench
            .ask(
                "GET",
                "/api/v1/conflicts?unresolved=true",
                &[&operator],
                b"",
            )
            .json();
        assert_eq!(shown["conflicts"][0]["actions"], actions, "{kind}: {shown}");
    }
}
