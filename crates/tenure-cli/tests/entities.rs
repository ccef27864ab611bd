//! The registry of entities: added, found in objects, reviewed, merged and split.

use serde_json::Value;

use crate::support::Bench;

fn entities(bench: &Bench) -> Vec<(String, Vec<String>, bool)> {
    let listed: Value =
        serde_json::from_str(&bench.ok(&["entity", "list", "--format", "json"])).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let entity = |one: &Value| {
        let aliases = one["profile"]["aliases"].as_array();
        let aliases = aliases.into_iter().flatten().map(text).collect();
        (text(&one["id"]), aliases, one["pending"] == true)
    };
    listed.as_array().unwrap().iter().map(entity).collect()
}

#[test]
fn names_in_an_object_are_bound_wait_or_are_new() {
    let bench = Bench::new();
    bench.ok(&[
        "entity",
        "add",
        "ada",
        "--name",
        "Ada Lovelace",
        "--kind",
        "person",
        "--mail",
        "ada@acme.example",
    ]);
    bench.ok(&[
        "entity",
        "add",
        "ada",
        "--role",
        "the CFO",
        "--since",
        "2026-01-01",
        "--until",
        "2026-07-01",
    ]);
    bench.ok(&[
        "entity",
        "add",
        "nova",
        "--name",
        "Project Nova",
        "--alias",
        "Nova",
    ]);
    let resolve = |args: &[&str]| bench.ok(&[&["entity", "resolve"], args].concat());
    let said = resolve(&["Project  NOVA"]);
    assert!(
        said.starts_with("Project  NOVA  bind\n  1  nova  (lexical 1, "),
        "{said}"
    );
    assert!(resolve(&["Ada Lovelaces"]).contains("  review\n"));
    assert!(resolve(&["Grace Hopper"]).contains("  new\n"));
    assert!(resolve(&["the CFO", "--at", "2026-03-01"]).contains("  bind\n"));
    assert!(resolve(&["the CFO", "--at", "2026-08-01"]).contains("  new\n"));

    let note = "Ask ada@acme.example about Nova, not bob@acme.example; see PLAN-7.";
    bench.file(
        "note.jsonl",
        format!("{{\"name\":\"note\",\"content\":\"{note}\"}}\n"),
    );
    bench.ok(&["store", "put", "note.jsonl"]);
    let found = resolve(&["--object", "note"]);
    assert!(found.contains("nova  bind\n"), "{found}");
    // The write has made an entity of it.
    assert!(found.contains("bob@acme.example  bind\n"), "{found}");
    resolve(&["--object", "note", "--write"]);
    let all = entities(&bench);
    assert!(all.iter().any(|(id, ..)| id.starts_with("e-")), "{all:?}");
    // What is said twice is bound the second time.
    let found = resolve(&["--object", "note"]);
    assert!(found.contains("plan-7  bind\n"), "{found}");
}

#[test]
fn marks_and_relations_are_said_and_shown() {
    let bench = Bench::new();
    let plan =
        "entity add plan --name Plan --kind document --document-id DOC-7 --path docs/plan.md";
    for command in [
        "entity add nova --name Nova --mail nova@acme.example --record-id crm:7",
        plan,
        "entity add plan --relation child --to nova",
    ] {
        bench.ok(&command.split(' ').collect::<Vec<_>>());
    }
    let shown = bench.ok(&["entity", "show", "plan"]);
    for part in [
        "path  docs/plan.md",
        "document  DOC-7",
        "child of  nova",
        "relate  plan  child of nova",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let shown = bench.ok(&["entity", "show", "nova"]);
    for part in [
        "mail  nova@acme.example",
        "record  crm:7",
        "plan  is its child",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    bench.refused(
        2,
        &[
            "entity",
            "add",
            "plan",
            "--relation",
            "child",
            "--to",
            "nobody",
        ],
    );
    let aunt = bench.refused(
        1,
        &[
            "entity",
            "add",
            "plan",
            "--relation",
            "aunt",
            "--to",
            "nova",
        ],
    );
    assert!(
        aunt.contains("--relation") && aunt.contains("sibling"),
        "{aunt}"
    );
}

#[test]
fn parts_of_names_are_questions() {
    let bench = Bench::new();
    bench.ok(&[
        "entity",
        "add",
        "sam1",
        "--name",
        "Sam Young",
        "--kind",
        "person",
    ]);
    bench.ok(&[
        "entity", "add", "sam2", "--name", "Sam Old", "--kind", "person",
    ]);
    let note = r#"{"name":"note","content":"Yesterday Sam asked for the report."}"#;
    bench.file("note.jsonl", format!("{note}\n"));
    let put = bench.ok(&["store", "put", "note.jsonl"]);
    assert!(put.contains("entity_pending"), "{put}");
    let waits = bench.ok(&["entity", "review"]);
    assert!(waits.contains("waits: is it sam1, sam2?"), "{waits}");
    let id = waits.split(' ').next().unwrap();
    bench.ok(&["entity", "review", id, "--same-as", "sam2"]);
    let found = bench.ok(&["entity", "resolve", "--object", "note"]);
    assert!(found.contains("sam2"), "{found}");
    assert_eq!(
        bench.ok(&["entity", "review"]),
        "nothing waits for a person\n"
    );
}

#[test]
fn a_merge_is_split_and_all_of_it_is_kept() {
    let bench = Bench::new();
    for id in ["ada", "countess"] {
        bench.ok(&["entity", "add", id, "--name", id]);
    }
    bench.ok(&["entity", "merge", "countess", "ada", "--author", "kim"]);
    assert_eq!(
        entities(&bench),
        [("ada".into(), vec!["countess".into()], false)]
    );
    let ring = bench.refused(5, &["entity", "merge", "ada", "countess"]);
    assert!(ring.contains("merged into itself"), "{ring}");
    bench.ok(&["entity", "split", "countess"]);
    assert_eq!(entities(&bench).len(), 2);
    let shown = bench.ok(&["entity", "show", "countess"]);
    for part in [
        "create  countess",
        "merge  countess  into ada  by kim",
        "split  countess",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert_eq!(
        bench.ok(&["entity", "review"]),
        "nothing waits for a person\n"
    );
    bench.refused(2, &["entity", "show", "nobody"]);
    bench.refused(1, &["entity", "add", "x", "--name", "X", "--kind", "persn"]);
}
