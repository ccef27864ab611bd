//! What a store keeps, shows and proves, through the real binary and a real file.

use crate::support::{Bench, text};
use serde_json::{Value, json};

/// A folder with a store in which an object has two revisions.
fn revised() -> Bench {
    let bench = Bench::new();
    for power in [10, 12] {
        bench.file("limit.md", format!("# limit\n\nAt most {power} kW.\n"));
        bench.ok(&[
            "store", "put", "--as", "guidance", "limit.md", "--author", "anna",
        ]);
    }
    bench
}

/// The texts of what is believed.
fn contents(beliefs: &Value) -> Vec<&str> {
    let texts = beliefs.as_array().unwrap().iter();
    texts.map(|belief| belief["object"]["content"].as_str().unwrap()).collect()
}

fn compile(bench: &Bench) -> Value {
    // All of it stands, however near to the task it is.
    bench.file("all.toml", "guidance = { near = 0.0 }\n");
    bench.json(&[
        "compile",
        "--task",
        "What is the limit?",
        "--budget",
        "600",
        "--policy",
        "all.toml",
        "--record",
        "--format",
        "json",
    ])
}

#[test]
fn the_three_questions_have_three_answers() {
    let bench = revised();
    let history = bench.json(&["store", "history", "limit", "--format", "json"]);
    assert_eq!(
        contents(&history),
        ["# limit\n\nAt most 10 kW.", "# limit\n\nAt most 12 kW."]
    );
    assert_eq!(history[0]["tx_end"], history[1]["tx_start"]);
    let now = bench.json(&["store", "get", "limit", "--format", "json"]);
    assert_eq!(contents(&now), ["# limit\n\nAt most 12 kW."]);
    let then = history[0]["tx_start"].as_str().unwrap();
    let then = bench.json(&["store", "get", "limit", "--as-of", then, "--format", "json"]);
    assert_eq!(contents(&then), ["# limit\n\nAt most 10 kW."]);
    // A fact about the future leaves what holds until then.
    let id = now[0]["object"]["object_id"].as_str().unwrap();
    bench.file(
        "next.json",
        json!({ "object_id": id, "name": "limit", "content": "At most 99 kW.", "valid_from": "2099-01-01" })
            .to_string(),
    );
    bench.ok(&["store", "put", "next.json"]);
    for (at, expected) in [("2030-01-01", "12 kW"), ("2100-01-01", "99 kW")] {
        let shown = bench.ok(&["store", "get", "limit", "--valid-at", at]);
        assert!(shown.contains(expected), "{at}: {shown}");
    }
    let log = bench.json(&["store", "log", "--format", "json"]);
    let verbs: Vec<&Value> = log.as_array().unwrap().iter().map(|write| &write["verb"]).collect();
    assert_eq!(verbs, ["put", "put", "put"]);
    assert_eq!(log[0]["author"], "anna");
}

#[test]
fn a_compile_reads_the_store_and_is_replayed_byte_for_byte() {
    let bench = revised();
    bench.file("more.md", "# more\n\nAlways answer for the limit in kW.\n");
    let compiled = bench.json(&[
        "compile",
        "--as",
        "guidance",
        "more.md",
        "--task",
        "What is the limit?",
        "--budget",
        "600",
        "--record",
        "--format",
        "json",
    ]);
    let payload = compiled["envelope"]["payload"].as_str().unwrap();
    assert!(
        payload.contains("At most 12 kW.")
            && payload.contains("Always answer for the limit in kW.")
    );
    let id = compiled["record_ids"][0].as_str().unwrap();
    // What is written later, and files that change, are no part of it.
    bench
        .file("limit.md", "# limit\n\nAt most 15 kW.\n")
        .file("more.md", "# more\n\nNever mind.\n");
    bench.ok(&["store", "put", "--as", "guidance", "limit.md"]);
    let output = bench.run(&["replay", id]);
    assert_eq!(text(&output.stdout), payload);
    assert!(text(&output.stderr).contains("proven: the payload and all its inputs"));
    let replay = bench.json(&["replay", id, "--format", "json"]);
    assert_eq!(replay["proof"], "whole");
    assert_eq!(
        replay["payload_digest"],
        compiled["trace"]["payload_digest"]
    );
    // The past is compiled as it was.
    let at = bench.json(&["store", "history", "limit", "--format", "json"])[0]["tx_start"].clone();
    let old = bench.ok(&[
        "compile",
        "--task",
        "What is the limit?",
        "--budget",
        "600",
        "--known-at",
        at.as_str().unwrap(),
    ]);
    assert!(old.contains("At most 10 kW."), "{old}");
    // A request for no store reads none.
    let none = bench.ok(&[
        "compile",
        "--as",
        "guidance",
        "more.md",
        "--no-store",
        "--task",
        "x",
        "--budget",
        "600",
    ]);
    assert!(!none.contains("kW"));
    bench.refused(2, &["replay", "rec-unknown"]);
}

#[test]
fn what_was_erased_is_nowhere_and_the_rest_is_proven() {
    let bench = revised();
    bench.file("secret.md", "# secret-name\n\nThe code is zq7342.\n");
    bench.ok(&[
        "store",
        "put",
        "--as",
        "guidance",
        "secret.md",
        "--subject",
        "bob",
    ]);
    bench.file("summary.md", "# summary\n\nThere is a code.\n");
    bench.ok(&[
        "store",
        "put",
        "--as",
        "guidance",
        "summary.md",
        "--derived-from",
        "secret",
    ]);
    let summary = bench.json(&["store", "get", "summary", "--format", "json"]);
    assert_eq!(summary[0]["object"]["subjects"], json!(["bob"]));
    let compiled = compile(&bench);
    let id = compiled["record_ids"][0].as_str().unwrap();
    assert!(compiled["envelope"]["payload"].as_str().unwrap().contains("zq7342"));
    let erased = bench.json(&["store", "erase", "--subject", "bob", "--format", "json"]);
    assert_eq!(erased["objects"].as_array().unwrap().len(), 2);
    let replay = bench.json(&["replay", id, "--format", "json"]);
    assert_eq!(
        (&replay["proof"], &replay["erased"]),
        (&json!("rest"), &json!(2))
    );
    assert_eq!(replay["unproven"], json!([]));
    let record = bench.ok(&["store", "records", id]);
    for word in ["zq7342", "secret", "summary"] {
        assert!(!record.contains(word), "{word}: {record}");
    }
    bench.refused(4, &["store", "put", "--as", "guidance", "secret.md"]);
    bench.refused(2, &["store", "history", "secret"]);
    // Not even in the bytes of the file, once its pages are written anew.
    let export = bench.ok(&["store", "export"]);
    assert!(export.contains("At most 12 kW.") && !export.contains("code"));
}

#[test]
fn what_an_erasure_leaves_of_a_person_is_listed_and_erased() {
    let bench = revised();
    bench.file("note.md", "# note\n\nBob is in room 7.\n");
    bench.ok(&["store", "put", "note.md", "--subject", "bob"]);
    bench.ok(&["session", "new", "--id", "his", "--user", "bob"]);
    let known = bench.ok(&["store", "subject", "bob"]);
    let lines: Vec<&str> = known.lines().collect();
    assert!(lines[0].starts_with("object   about "), "{known}");
    assert_eq!(lines[1..], ["session  theirs   his"]);
    let erase = ["store", "erase", "--subject", "bob"];
    let erased = bench.json(&[&erase[..], &["--format", "json"]].concat());
    assert_eq!(erased["objects"].as_array().unwrap().len(), 1);
    assert_eq!(erased["left"]["sessions"][0]["id"], "his");
    bench.ok(&[&erase[..], &["--everything"]].concat());
    assert_eq!(bench.ok(&["store", "subject", "bob"]), "");
    let refused = bench.refused(2, &erase);
    assert!(refused.contains("nothing is known of `bob`"), "{refused}");
    bench.refused(1, &["store", "erase", "note", "--everything"]);
}

#[test]
fn an_export_is_what_is_imported() {
    let bench = revised();
    bench.ok(&["store", "retract", "limit"]);
    let export = bench.ok(&["store", "export"]);
    assert_eq!(export.lines().count(), 2);
    assert_eq!(bench.ok(&["store", "export"]), export);
    bench.file("export.jsonl", &export);
    let other = ["--store", "sqlite://other.db"];
    bench.ok(&[&["store", "import", "export.jsonl"][..], &other].concat());
    assert_eq!(
        bench.ok(&[&["store", "export"][..], &other].concat()),
        export
    );
    // What is there is not imported again, and nothing of a broken import is.
    bench.refused(
        5,
        &[&["store", "import", "export.jsonl"][..], &other].concat(),
    );
    bench.file(
        "broken.jsonl",
        "{\"object\":{\"name\":\"a\",\"content\":\"A.\"}}\n{\n",
    );
    let message = bench.refused(2, &["store", "import", "broken.jsonl"]);
    assert!(message.contains("broken.jsonl:2"), "{message}");
    bench.file("altered.jsonl", export.replace("10 kW", "11 kW"));
    let third = [
        "store",
        "import",
        "altered.jsonl",
        "--store",
        "sqlite://third.db",
    ];
    assert!(bench.refused(2, &third).contains("digest"));
}

#[test]
fn a_key_makes_a_write_happen_once_and_expectations_are_kept() {
    let bench = revised();
    bench.file("a.md", "# a\n\nOne.\n");
    let put = [
        "store",
        "put",
        "--as",
        "guidance",
        "a.md",
        "--idempotency-key",
        "k1",
        "--format",
        "json",
    ];
    let first = bench.json(&put);
    assert_eq!(bench.json(&put), first);
    bench.file("a.md", "# a\n\nTwo.\n");
    bench.refused(5, &put);
    bench.refused(5, &["store", "put", "--as", "guidance", "a.md", "--new"]);
    let revision = first["objects"][0]["revision"].as_str().unwrap();
    bench.ok(&[
        "store", "put", "--as", "guidance", "a.md", "--over", revision,
    ]);
    let message = bench.refused(
        5,
        &[
            "store", "put", "--as", "guidance", "a.md", "--over", revision,
        ],
    );
    assert!(message.contains("expected:"), "{message}");
}

#[test]
fn what_is_too_old_is_retired_by_its_own_rule() {
    let bench = Bench::new();
    let old = |name: &str, rule: &str| {
        json!({
            "name": name, "content": "Was so.", "valid_from": "2020-01-01", "retirement_rule": rule,
            "decay_rule": { "half_life_days": 30, "minimum_threshold": 0.1 },
        })
    };
    let rules = [
        "archive",
        "hard_delete",
        "demote_to_archival",
        "trigger_user_confirmation",
    ];
    for rule in rules {
        bench.file(&format!("{rule}.json"), old(rule, rule).to_string());
        bench.ok(&["store", "put", &format!("{rule}.json")]);
    }
    let sweep = |more: &[&str]| {
        bench.json(
            &[
                &["store", "sweep", "--format", "json", "--at", "2021-01-01"],
                more,
            ]
            .concat(),
        )
    };
    assert_eq!(
        sweep(&["--dry-run"])["retired"].as_array().unwrap().len(),
        4
    );
    assert_eq!(sweep(&[])["retired"].as_array().unwrap().len(), 4);
    assert_eq!(sweep(&[])["retired"].as_array().unwrap().len(), 0);
    let list = bench.json(&["store", "list", "--format", "json"]);
    let names: Vec<&Value> =
        list["objects"].as_array().unwrap().iter().map(|o| &o["name"]).collect();
    assert_eq!(names, Vec::<&Value>::new());
    let unfetched = list["unfetched"].as_array().unwrap();
    let waits: Vec<&Value> = unfetched
        .iter()
        .filter(|left| left["why"] == "awaiting_confirmation")
        .map(|left| &left["what"])
        .collect();
    assert_eq!(unfetched.len(), 4);
    assert_eq!(waits, ["hard_delete", "trigger_user_confirmation"]);
    let shown = bench.ok(&["review", "list"]);
    assert!(
        shown.contains("erase it?") && shown.contains("does it hold?"),
        "{shown}"
    );
    bench.ok(&["store", "confirm", "hard_delete"]);
    bench.ok(&["store", "retract", "trigger_user_confirmation"]);
    let shown = bench.ok(&["review", "list"]);
    assert_eq!(shown, "nothing waits for a person\n");
    assert_eq!(sweep(&["--hard-delete"])["retired"], json!([]));
    bench.ok(&["store", "confirm", "archive"]);
    assert_eq!(
        sweep(&["--dry-run"])["retired"].as_array().unwrap().len(),
        0
    );
}

#[test]
fn records_are_printed_in_the_forms_that_others_read() {
    let bench = revised();
    let compiled = compile(&bench);
    let id = compiled["record_ids"][0].as_str().unwrap();
    let form = |form: &str| bench.json(&["store", "records", id, "--form", form]);
    let principle = form("principle");
    let objects = &principle["state_compilation_metadata"]["compiled_objects"];
    assert_eq!(objects[0]["object_type"], "rule");
    assert_eq!(
        principle["compiled_prompt_tokens"],
        compiled["trace"]["total_tokens"]
    );
    let prefill = form("prefill");
    let shares = prefill["section_allocations"].as_object().unwrap();
    assert!(
        shares.values().all(|share| share["overflow"] == false),
        "{shares:?}"
    );
    assert!(shares.values().any(|share| share["used"].as_u64() > Some(0)));
    assert_eq!(prefill["output_hash"], compiled["trace"]["payload_digest"]);
    assert_eq!(prefill["trace_id"].as_str().unwrap().len(), 36);
    let span = form("otlp")["resourceSpans"][0]["scopeSpans"][0]["spans"][0].clone();
    assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
    let keys: Vec<&str> = span["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["key"].as_str().unwrap())
        .collect();
    assert!(keys.contains(&"gen_ai.operation.name") && keys.contains(&"tenure.record.id"));
    let prov = form("prov");
    let generated = prov["wasGeneratedBy"]["_:g"]["prov:entity"].as_str().unwrap();
    assert!(prov["entity"].get(generated).is_some());
    assert_eq!(prov["used"].as_object().unwrap().len(), 1);
    bench.ok(&["store", "sweep", "--records-keep", "0"]);
    bench.refused(2, &["store", "records", id]);
}

#[test]
fn a_store_that_was_only_begun_is_none_yet() {
    let bench = Bench::new();
    bench.file("s.db", "");
    let check = ["store", "check", "--store", "sqlite://s.db"];
    let told = bench.refused(2, &check);
    assert!(told.contains("there is no store in `s.db` yet"), "{told}");
    let file = bench.folder.path().join("s.db");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 0);
    bench.file("one.md", "# One\n\nThe pump is hot.\n");
    bench.ok(&["store", "put", "one.md", "--store", "sqlite://s.db"]);
    bench.ok(&check);
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let bench = Bench::new();
    bench.refused(2, &["store", "list"]);
    bench.refused(1, &["store", "list", "--store", "mysql://x"]);
    bench.refused(1, &["store", "list", "--store", "sqlite://"]);
    bench.file(
        "text.db",
        "This is no database, and long enough to be looked at as one.",
    );
    bench.refused(2, &["store", "list", "--store", "sqlite://text.db"]);
    let kept = std::fs::read_to_string(bench.folder.path().join("text.db")).unwrap();
    assert!(kept.starts_with("This is no database"));
    bench.file("a.md", "# a\n\nOne.\n");
    let message = bench.refused(
        1,
        &[
            "compile", "--as", "guidance", "a.md", "--task", "x", "--record",
        ],
    );
    assert!(message.contains("no store"), "{message}");
    bench.file(
        "foreign.json",
        json!({ "name": "f", "content": "F.", "tenant_id": "other" }).to_string(),
    );
    bench.refused(4, &["store", "put", "foreign.json"]);
    let secret = bench.refused(
        1,
        &["store", "list", "--store", "mysql://anna:hunter2@host/db"],
    );
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn tenants_see_nothing_of_each_other() {
    let bench = revised();
    for hostile in [
        "acme&x=1",
        "a' OR '1'='1",
        "../local",
        "local ",
        "LOCAL",
        "lоcal",
    ] {
        let list = bench.json(&["store", "list", "--tenant", hostile, "--format", "json"]);
        assert_eq!(list["objects"], json!([]), "{hostile}");
        bench.refused(2, &["store", "get", "limit", "--tenant", hostile]);
        let out = bench.ok(&[
            "compile",
            "--task",
            "What is the limit?",
            "--budget",
            "600",
            "--tenant",
            hostile,
        ]);
        assert!(!out.contains("kW"), "{out}");
    }
}

#[test]
fn registries_live_in_a_store_as_logs() {
    let bench = Bench::new();
    bench.file("seeds/a.md", "# a\n\nAlpha.\n").file("seeds/b.md", "# b\n\nBeta.\n");
    let both = |args: &[&str]| {
        let in_store = bench.json(&[args, &["--format", "json"]].concat());
        let in_file: Vec<&str> = args
            .iter()
            .map(|arg| if *arg == URL { "agent.snapshot" } else { *arg })
            .collect();
        assert_eq!(
            in_store,
            bench.json(&[&in_file[..], &["--format", "json"]].concat())
        );
        in_store
    };
    const URL: &str = "sqlite://agent.db";
    both(&["import", "seeds", "--snapshot", URL, "--registry", "main"]);
    both(&["registry", "promote", URL, "b", "--front"]);
    both(&[
        "registry",
        "write",
        URL,
        "tip",
        "--text",
        "Look at the tip.",
    ]);
    both(&["registry", "create", URL, "other", "--writes-to", "main"]);
    both(&["registry", "show", URL, "--registry", "main"]);
    let shown = both(&["registry", "show", URL, "tip", "--registry", "main"]);
    let store = ["--store", URL];
    let log = bench.json(&[&["store", "log", "--format", "json"][..], &store].concat());
    assert_eq!(log.as_array().unwrap().len(), 4);
    // What is erased is in no log, and the log still folds.
    let id = shown["object"]["object_id"].as_str().unwrap();
    bench.ok(&[&["store", "erase", id][..], &store].concat());
    let left = bench.ok(&["registry", "show", URL, "--registry", "main"]);
    assert!(left.contains("erased-") && !left.contains("tip"), "{left}");
    let bytes = std::fs::read(bench.folder.path().join("agent.db")).unwrap();
    let log = text(&bytes);
    assert!(log.contains("Alpha.") && !log.contains("Look at the tip."));
}

#[test]
fn a_policy_is_the_one_of_the_instant() {
    let bench = revised();
    let policy = |version: &str, headings: bool| {
        let text = format!("name = \"ours\"\nversion = \"{version}\"\nheadings = {headings}\n");
        bench.file("ours.toml", text);
        bench.json(&["store", "policy", "ours.toml", "--format", "json"])["at"].clone()
    };
    let first = policy("1.0.0", true);
    policy("2.0.0", false);
    let version = |more: &[&str]| {
        let args = [
            "compile", "--task", "x", "--budget", "600", "--policy", "ours", "--format", "json",
        ];
        bench.json(&[&args[..], more].concat())["trace"]["policy"]["version"].clone()
    };
    assert_eq!(version(&[]), "2.0.0");
    assert_eq!(version(&["--known-at", first.as_str().unwrap()]), "1.0.0");
    bench.file("preset.toml", "name = \"standard\"\n");
    bench.refused(2, &["store", "policy", "preset.toml"]);
    bench.refused(2, &["compile", "--task", "x", "--policy", "theirs"]);
}

#[test]
fn a_compile_takes_a_registry_of_the_store_and_is_proven() {
    let bench = Bench::new();
    bench.file("seeds/a.md", "# Rules\n\n- Report pressure in pascal.\n");
    bench.file("seeds/b.md", "# Valve\n\n- The valve opens at two bar.\n");
    let url = "sqlite://agent.db";
    let store = ["--store", url];
    let with = |args: &[&str]| bench.json(&[args, &store, &["--format", "json"]].concat());
    bench.ok(&["import", "seeds", "--snapshot", url, "--registry", "main"]);
    bench.ok(&["registry", "create", url, "empty"]);
    let compile = |registry: &str, more: &[&str]| {
        let args = [
            "compile",
            "--task",
            "Report.",
            "--budget",
            "600",
            "--policy",
            "ordered",
            "--as-of",
            "2026-01-01T00:00:00Z",
            "--known-at",
            "2126-01-01T00:00:00Z",
            "--stored-registry",
            registry,
        ];
        with(&[&args[..], more].concat())
    };
    let names = |out: &Value| -> Vec<String> {
        let verdicts = out["trace"]["verdicts"].as_array().unwrap().iter();
        verdicts.map(|verdict| verdict["name"].as_str().unwrap().to_owned()).collect()
    };
    // It stands as the log has it, at the entry that is named.
    let entries = with(&["store", "log"]).as_array().unwrap().len();
    assert!(entries > 0);
    let at = |entry: u32| compile(&format!("main@{entry}"), &[]);
    let order =
        |out: &Value| names(out).into_iter().filter(|name| name != "task").collect::<Vec<_>>();
    let whole = with(&[
        "compile",
        "--task",
        "Report.",
        "--budget",
        "600",
        "--policy",
        "ordered",
        "--stored-registry",
        "main",
        "--record",
    ]);
    let blocks = order(&whole);
    assert_eq!(blocks.len(), 2, "{blocks:?}");
    let id = whole["record_ids"][0].as_str().unwrap().to_owned();
    let record = with(&["store", "records", &id]);
    let read = &record["inputs"]["registry"];
    assert_eq!(read["label"], "main");
    let entry = read["entry"].as_u64().unwrap() as u32;
    assert_eq!(order(&at(entry)), blocks);
    assert_eq!(order(&at(1)).len(), 1);
    // What is done to the registry afterwards changes the next compile, and neither the entry nor the record.
    bench.ok(&[
        "registry",
        "promote",
        url,
        &blocks[1],
        "--front",
        "--registry",
        "main",
    ]);
    let now = with(&[
        "compile",
        "--task",
        "Report.",
        "--budget",
        "600",
        "--policy",
        "ordered",
        "--stored-registry",
        "main",
    ]);
    assert_eq!(order(&now), [blocks[1].clone(), blocks[0].clone()]);
    assert_eq!(order(&at(entry)), blocks);
    let replayed = bench.json(&[&["replay", &id, "--format", "json"][..], &store].concat());
    assert_eq!(replayed["proof"], "whole", "{replayed}");
    assert_eq!(replayed["payload"], whole["envelope"]["payload"]);
    // One that nothing was done to is empty; a source stands before a block of the same name.
    for empty in ["empty", "empty@0"] {
        let args = [
            "compile",
            "--task",
            "Report.",
            "--store",
            url,
            "--stored-registry",
            empty,
        ];
        let output = bench.run(&args);
        assert!(output.status.success() && text(&output.stderr).contains("no objects"));
    }
    let beside = with(&[
        "compile",
        "--as",
        "guidance",
        "seeds/a.md",
        "--task",
        "Report.",
        "--budget",
        "600",
        "--stored-registry",
        "main",
    ]);
    assert_eq!(order(&beside).len(), 2);
    for registry in ["other", "main@99", "main@x", ""] {
        let args = [
            "compile",
            "--task",
            "x",
            "--store",
            url,
            "--stored-registry",
            registry,
        ];
        bench.refused(2, &args);
    }
    // A registry has no clock. Only who looks from an instant is told so.
    let request = |as_of: &str| {
        bench.file(
            "request.json",
            format!("{{\"task\": {{\"objective\": \"Report.\"}}, \"budget\": {{\"tokens\": 600}}, \"as_of\": {as_of}}}"),
        );
        ["compile", "--request", "request.json", "--store", url]
    };
    for now in ["{}", "{\"valid\": \"2026-01-01T00:00:00Z\"}"] {
        let args = request(now);
        let out = bench.json(
            &[
                &args[..],
                &["--stored-registry", "main", "--format", "json"],
            ]
            .concat(),
        );
        assert_eq!(order(&out).len(), 2, "{now}");
    }
    let args = request("{\"known\": \"2126-01-01T00:00:00Z\"}");
    let refused = bench.refused(2, &[&args[..], &["--stored-registry", "main"]].concat());
    assert!(refused.contains("main@17"), "{refused}");
    bench.ok(&[&args[..], &["--stored-registry", "main@1"]].concat());
    // A label holds no `@`, and what is another tenant's is not imported into this one's registries.
    for made in [
        &["registry", "create", url, "main@1"][..],
        &["import", "seeds", "--snapshot", url, "--registry", "main@1"],
        &["registry", "create", "file.snapshot", "main@1"],
    ] {
        let refused = bench.refused(2, made);
        assert!(refused.contains("the label `main@1` holds"), "{refused}");
    }
    let theirs = [
        "import",
        "seeds",
        "--snapshot",
        url,
        "--registry",
        "theirs",
        "--tenant",
        "acme",
    ];
    let refused = bench.refused(4, &theirs);
    assert!(refused.contains("belongs to another tenant"), "{refused}");
    let back = [
        "compile",
        "--task",
        "x",
        "--store",
        url,
        "--stored-registry",
        "main",
        "--known-at",
        "2026-01-01",
    ];
    bench.refused(2, &back);
    bench.refused(
        1,
        &[
            "compile",
            "seeds",
            "--task",
            "x",
            "--stored-registry",
            "main",
        ],
    );
}

#[test]
fn kept_texts_go_from_store_to_store() {
    let bench = Bench::new();
    let items = (0..200)
        .map(|n| json!({ "item": n, "worker": format!("worker {n}"), "note": "all is well" }));
    let log = Value::from_iter(items).to_string();
    bench.file("run.json", log.clone());
    let store = ["--store", "sqlite://one.db"];
    let run = |args: &[&str]| bench.ok(&[args, &store].concat());
    let said = run(&["condense", "run.json", "--to", "150"]);
    let id = said.lines().last().unwrap().to_owned();
    assert_eq!(run(&["rehydrate", &id]), log);
    bench.file(
        "objects.jsonl",
        "{\"object\": {\"name\": \"limit\", \"content\": \"Two bar.\"}}\n",
    );
    run(&["store", "import", "objects.jsonl"]);
    // Without the flag there are objects alone; with it the same bytes each time.
    let plain = run(&["store", "export"]);
    assert!(!plain.contains("text_digest"));
    let whole = run(&["store", "export", "--texts"]);
    assert_eq!(whole, run(&["store", "export", "--texts"]));
    assert!(whole.starts_with(&plain) && whole.contains("worker 199"));
    let limited = [
        "store",
        "export",
        "--texts",
        "--texts-limit",
        "1000",
        "--out",
        "less.jsonl",
    ];
    let refused = bench.refused(2, &[&limited[..], &store].concat());
    assert!(refused.contains("--texts-limit") && !bench.folder.path().join("less.jsonl").exists());
    // Not even the objects, of which there are few enough.
    let printed = bench.run(&[&limited[..5], &store].concat());
    assert_eq!((printed.status.code(), printed.stdout), (Some(2), vec![]));
    // Elsewhere the pointer leads to the same bytes.
    bench.file("whole.jsonl", whole.clone());
    let other = ["--store", "sqlite://two.db"];
    bench.ok(&[&["store", "import", "whole.jsonl"][..], &other].concat());
    assert_eq!(bench.ok(&[&["rehydrate", &id][..], &other].concat()), log);
    // Not with another key, and what is missing then is said.
    let foreign = ["rehydrate", &id, "--frame-key", "another-key"];
    let message = bench.refused(2, &[&foreign[..], &other].concat());
    assert!(
        message.contains("there is no original") && message.contains("the frame key"),
        "{message}"
    );
    assert_eq!(
        bench.ok(&[&["store", "export", "--texts"][..], &other].concat()),
        whole
    );
    // What does not match its digest is refused, and nothing of it stays.
    let text = whole.lines().find(|line| line.contains("text_digest")).unwrap();
    for broken in [
        text.replace("worker 199", "worker 198"),
        text.replace("\"text\":", "\"base64\":"),
        text.replace("\"text\":", "\"words\":"),
    ] {
        bench.file("broken.jsonl", broken);
        let third = ["--store", "sqlite://three.db"];
        bench.refused(
            2,
            &[&["store", "import", "broken.jsonl"][..], &third].concat(),
        );
        assert!(
            !bench
                .ok(&[&["store", "export", "--texts"][..], &third].concat())
                .contains("worker")
        );
    }
}

/// A line of an export with this text.
fn text_line(text: &str) -> String {
    let digest = tenure::Digest::of(text.as_bytes());
    let text = json!(text);
    format!("{{\"text_digest\":\"{digest}\",\"text\":{text}}}")
}

#[test]
fn what_was_erased_is_not_imported_again() {
    let bench = Bench::new();
    let secret = "Ada lives at 12 Analytical Street.";
    bench.file("ada.md", secret);
    bench.ok(&["store", "put", "--as", "guidance", "ada.md"]);
    bench.file("kept.jsonl", text_line(&format!("> {secret}")));
    bench.ok(&["store", "import", "kept.jsonl"]);
    bench.ok(&["store", "erase", "ada"]);
    let message = bench.refused(4, &["store", "import", "kept.jsonl"]);
    assert!(message.contains("was erased"), "{message}");
    let left = bench.ok(&["store", "export", "--texts"]);
    assert_eq!(left, "");
}

#[test]
fn objects_and_texts_are_imported_together_or_not_at_all() {
    let bench = revised();
    let export = bench.ok(&["store", "export"]);
    bench.file(
        "whole.jsonl",
        format!("{export}{}\n", text_line("an original")),
    );
    let output = bench.run(&["store", "import", "whole.jsonl"]);
    assert_eq!(output.status.code(), Some(5));
    assert_eq!(bench.ok(&["store", "export", "--texts"]), export);
    let other = ["--store", "sqlite://other.db"];
    bench.ok(&[&["store", "import", "whole.jsonl"][..], &other].concat());
    let whole = bench.ok(&[&["store", "export", "--texts"][..], &other].concat());
    assert!(whole.starts_with(&export) && whole.contains("an original"));
}

#[test]
fn a_text_is_known_in_whatever_order_its_line_is_written() {
    let bench = Bench::new();
    let digest = tenure::Digest::of(b"an original");
    bench.file(
        "sorted.jsonl",
        format!("  {{ \"text\": \"an original\", \"text_digest\": \"{digest}\" }}\r\n\n"),
    );
    bench.ok(&["store", "import", "sorted.jsonl"]);
    let kept = bench.ok(&["store", "export", "--texts"]);
    assert!(kept.contains("an original"), "{kept}");
    // What such a line lacks is said of a text, not of an object.
    bench.file(
        "bare.jsonl",
        format!("\n{{\"words\": 1, \"text_digest\": \"{digest}\"}}"),
    );
    let message = bench.refused(2, &["store", "import", "bare.jsonl"]);
    assert!(
        message.contains("bare.jsonl:2") && message.contains("base64"),
        "{message}"
    );
}

#[test]
fn what_an_export_writes_an_import_reads_however_much_it_is() {
    let bench = Bench::new();
    // 12 MiB of what JSON writes with six letters each.
    let mut lines = String::new();
    for letter in ['\u{1}', '\u{2}', '\u{3}'] {
        let text = letter.to_string().repeat(4 << 20);
        lines.push_str(&format!("{}\n", text_line(&text)));
    }
    bench.file("large.jsonl", lines);
    bench.ok(&["store", "import", "large.jsonl"]);
    bench.ok(&["store", "export", "--texts", "--out", "whole.jsonl"]);
    let whole = std::fs::read(bench.folder.path().join("whole.jsonl")).unwrap();
    assert!(whole.len() > 64 << 20);
    let other = ["--store", "sqlite://other.db"];
    bench.ok(&[&["store", "import", "whole.jsonl"][..], &other].concat());
    bench.ok(&[
        &["store", "export", "--texts", "--out", "again.jsonl"][..],
        &other,
    ]
    .concat());
    let again = std::fs::read(bench.folder.path().join("again.jsonl")).unwrap();
    assert!(again == whole);
}

#[test]
fn a_search_shows_what_the_caller_may_see() {
    let bench = Bench::new();
    let own = json!({ "name": "manual", "content": "The relief valve opens at two bar.", "security_classification": "public" });
    let secret = json!({ "name": "fault", "content": "The relief valve of unit 7 leaks.",
        "security_classification": "restricted" });
    let fitters = json!({ "name": "fitters", "content": "Relief valves: call Ann.", "security_classification": "public", "permission_scope": { "allow_roles": ["fitter"] } });
    let menu = json!({ "name": "menu", "content": "Soup on Monday." });
    let past = json!({ "name": "old", "content": "A relief valve of brass.", "valid_until": "2001-01-01" });
    for (name, object) in [
        ("own.json", own),
        ("secret.json", secret),
        ("fitters.json", fitters),
        ("menu.json", menu),
        ("past.json", past),
    ] {
        bench.file(name, object.to_string());
        bench.ok(&["store", "put", name]);
    }
    let search = |query: &str, args: &[&str]| {
        let asked = ["store", "search", query, "--format", "json"];
        bench.json(&[&asked[..], args].concat())
    };
    let names = |found: &Value| -> Vec<String> {
        let passages = found["passages"].as_array().unwrap().iter();
        let mut names: Vec<String> =
            passages.map(|passage| passage["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let public = ["--clearance", "public"];
    let found = search("RELIEF valves", &public);
    assert_eq!(names(&found), ["manual"]);
    // What is hidden is not counted, and the best of what is seen is the best.
    assert_eq!(found["among"], 1);
    assert_eq!(found["left_out"], 0);
    assert_eq!(found["passages"][0]["relevance"].as_f64(), Some(1.0));
    assert_eq!(names(&search("relief", &[])), ["fault", "manual"]);
    let fitter = search("relief", &["--role", "fitter", "--clearance", "public"]);
    assert_eq!(names(&fitter), ["fitters", "manual"]);
    let one = search("relief", &["--limit", "1"]);
    assert_eq!(names(&one).len(), 1);
    assert_eq!(one["left_out"], 1);
    assert_eq!(names(&search("relief soup", &[])), [""; 0]);
    assert_eq!(names(&search("-soup* OR \"", &[])), ["menu"]);
    assert_eq!(names(&search("relief", &["--tenant", "other"])), [""; 0]);
    assert!(bench.ok(&["store", "search", "soup"]).contains("Soup on Monday."));
    let refused = bench.refused(2, &["store", "search", "the of"]);
    assert!(refused.contains("only stop words"), "{refused}");
    bench.refused(1, &["store", "search", "soup", "--limit", "0"]);
    // What is gone is not found.
    bench.ok(&["store", "erase", "menu"]);
    assert_eq!(names(&search("soup", &[])), [""; 0]);
}

#[test]
fn lines_are_read_from_standard_input() {
    use std::io::Write as _;
    let bench = Bench::new();
    let mut command = bench.command(&["store", "import", "-"]);
    let mut import = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let line = json!({ "object": { "name": "lamp", "content": "The lamp is green." } });
    writeln!(import.stdin.take().unwrap(), "{line}").unwrap();
    assert!(import.wait().unwrap().success());
    assert!(bench.ok(&["store", "get", "lamp"]).contains("The lamp is green."));
}

#[test]
fn many_objects_are_put_from_lines_and_counted() {
    let bench = Bench::new();
    let lines: String = (0..300)
        .map(|at| format!("{{\"name\":\"fact-{at}\",\"content\":\"Pump {at} is new.\"}}\n"))
        .collect();
    bench.file("facts.jsonl", &lines);
    let said = bench.ok(&["store", "put", "facts.jsonl"]);
    assert!(
        said.starts_with("300 objects (300 created), version 1 at ") && said.lines().count() == 1,
        "{said}"
    );
    let changed = lines.replace("Pump 7 is new.", "Pump 7 is old.");
    bench.file(
        "facts.jsonl",
        format!("{changed}\n{{\"name\":\"more\",\"content\":\"x\"}}\n"),
    );
    let said = bench.ok(&["store", "put", "facts.jsonl", "--verbose"]);
    assert_eq!(said.lines().count(), 302, "{said}");
    assert!(
        said.contains("revised") && said.contains("fact-7\n"),
        "{said}"
    );
    let json = bench.json(&["store", "put", "facts.jsonl", "--format", "json"]);
    assert_eq!(json["objects"].as_array().unwrap().len(), 301);
    assert!(json["objects"][0]["object_id"].is_string());
    // As over HTTP, what states no type is data.
    let kept = bench.json(&["store", "get", "fact-7", "--format", "json"]);
    assert_eq!(kept[0]["object"]["object_type"], "artifact", "{kept}");
    // A mistake is named by its line, and nothing is written.
    bench.file("facts.jsonl", format!("{lines}{{\"name\":\"bad\"}}\n"));
    let message = bench.refused(2, &["store", "put", "facts.jsonl"]);
    assert!(message.contains("facts.jsonl:301"), "{message}");
    // Rows of something else are documents, as in a compile.
    bench.file("rows.jsonl", "{\"id\":1,\"text\":\"Pump 1 is new.\"}\n");
    let said = bench.ok(&["store", "put", "rows.jsonl", "--verbose"]);
    assert!(said.contains("rows"), "{said}");
}
