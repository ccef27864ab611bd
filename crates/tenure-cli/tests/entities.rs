//! The registry of entities: added, found in objects, reviewed, merged and split.

use serde_json::{Value, json};

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
    let entities = listed["entities"].as_array().unwrap();
    entities.iter().map(entity).collect()
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
fn the_name_beside_a_known_address_is_shown_before_it_is_kept() {
    let bench = Bench::new();
    let note = json!({ "name": "note", "object_type": "project_decision", "content": "K. Lee <kim@acme.example> asked." });
    bench.file("note.jsonl", note.to_string());
    bench.ok(&["store", "put", "note.jsonl"]);
    bench.ok(&[
        "entity",
        "add",
        "kim",
        "--name",
        "Kim Lee",
        "--kind",
        "person",
        "--mail",
        "kim@acme.example",
    ]);
    let shown = bench.ok(&["entity", "resolve", "--object", "note"]);
    for part in [
        "k. lee <kim@acme.example>  bind\n",
        "    another name of it: K. Lee\n",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    let shown = bench.ok(&["entity", "resolve", "K. Lee", "--mail", "kim@acme.example"]);
    assert!(shown.contains("another name of it: K. Lee"), "{shown}");
    assert_eq!(entities(&bench), [("kim".to_owned(), vec![], false)]);
    bench.ok(&["entity", "resolve", "--object", "note", "--write"]);
    let all = [("kim".to_owned(), vec!["K. Lee".to_owned()], false)];
    assert_eq!(entities(&bench), all);
    let found = bench.ok(&["entity", "resolve", "--object", "note", "--format", "json"]);
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found[0]["sign"], "display_name");
    assert_eq!(found[0]["resolved"]["alias"], Value::Null);
    // What the object says of itself is not said beside it.
    let said = bench.refused(
        1,
        &[
            "entity",
            "resolve",
            "--object",
            "note",
            "--mail",
            "x@y.example",
        ],
    );
    assert!(said.contains("--object"), "{said}");
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

#[test]
fn what_was_said_of_an_entity_is_taken_away_and_given_back() {
    let bench = Bench::new();
    let run = |command: &str| bench.ok(&command.split(' ').collect::<Vec<_>>());
    let refused = |code: i32, command: &[&str]| bench.refused(code, command);
    run("entity add nova --name Nova --kind project --mail nova@acme.example --path docs/nova.md");
    run("entity add helix --name Helix --kind system");
    run("entity add nova --alias Star --role lead --relation parent --to helix");
    let before = run("entity show nova");
    for part in [
        "also Star",
        "mail  nova@acme.example",
        "path  docs/nova.md",
        "parent of  helix",
        "lead  ",
    ] {
        assert!(before.contains(part), "{part}: {before}");
    }
    run("entity remove nova --alias STAR --role lead --relation parent --to helix --mail --path");
    let shown = run("entity show nova");
    let (now, history) = shown.split_once("  create  ").unwrap();
    for part in ["Star", "nova@", "docs", "helix", "lead"] {
        assert!(!now.contains(part), "{part}: {now}");
    }
    // Its history keeps what there was, and what took it away.
    for part in [
        "alias  nova  Star",
        "remove  nova  alias STAR",
        "remove  nova  mail",
        "remove  nova  parent of helix",
    ] {
        assert!(history.contains(part), "{part}: {history}");
    }
    let missing = refused(2, &["entity", "remove", "nova", "--alias", "Star"]);
    assert!(
        missing.contains("`nova` has not the alias `Star`"),
        "{missing}"
    );
    let nothing = refused(1, &["entity", "remove", "nova"]);
    assert!(nothing.contains("--alias"), "{nothing}");
    // A mark is given to one that is there, in the place of another.
    run("entity add nova --alias Star --mail star@acme.example");
    run("entity add nova --mail n@acme.example");
    let shown = run("entity show nova");
    assert!(
        shown.contains("also Star") && shown.contains("  mail  n@acme.example\n"),
        "{shown}"
    );
    for (code, wrong, part) in [
        (
            2,
            &["entity", "add", "x", "--name", "X", "--path", ""][..],
            "path of an entity is empty",
        ),
        (
            2,
            &["entity", "add", "nova", "--mail", " "],
            "mail of an entity is empty",
        ),
        (
            2,
            &["entity", "add", "x", "--name", "X", "--of-project", ""],
            "project of an entity is empty",
        ),
        (
            2,
            &[
                "entity",
                "add",
                "nova",
                "--role",
                "CFO",
                "--since",
                "2026-02-01",
                "--until",
                "2026-01-01",
            ],
            "not after its begin",
        ),
        (1, &["entity", "add", "nova", "--kind", "person"], "--name"),
    ] {
        let said = refused(code, wrong);
        assert!(said.contains(part), "{wrong:?}: {said}");
    }
    run("entity add nova --relation parent --to helix");
    let ring = refused(
        5,
        &[
            "entity",
            "add",
            "helix",
            "--relation",
            "parent",
            "--to",
            "nova",
        ],
    );
    assert!(ring.contains("cannot be a parent"), "{ring}");
}

#[test]
fn a_list_is_of_a_kind_or_of_those_that_wait() {
    let bench = Bench::new();
    let run = |command: &str| bench.ok(&command.split(' ').collect::<Vec<_>>());
    run("entity add nova --name Nova --kind project");
    run("entity add mei-1 --name Mei --kind person");
    let of = |command: &str| run(command).lines().count();
    assert_eq!((of("entity list"), of("entity list --kind person")), (2, 1));
    assert!(run("entity list --pending").starts_with("no entity matches"));
    let none: Value = serde_json::from_str(&run("entity list --pending --format json")).unwrap();
    assert_eq!(none["entities"].as_array().unwrap().len(), 0);
    // What waits for no decision is decided on by other verbs.
    for decided in [&["--new"][..], &["--same-as", "nova"]] {
        let review = [&["entity", "review", "mei-1"][..], decided].concat();
        let said = bench.refused(5, &review);
        assert!(said.contains("`mei-1` waits for no decision"), "{said}");
    }
    let wrong = bench.refused(1, &["entity", "list", "--kind", "robot"]);
    assert!(
        wrong.contains("--kind") && wrong.contains("person"),
        "{wrong}"
    );
}

#[test]
fn objects_are_listed_by_the_kind_of_their_source() {
    let bench = Bench::new();
    let lines = [
        r#"{"name":"rule","content":"Keep it short."}"#,
        r#"{"name":"wish","content":"Likes tea.","object_type":"preference","user_id":"ada"}"#,
        r#"{"name":"page","content":"Obey.","source_origin":"https://a.example/x"}"#,
        r#"{"name":"call","content":"Obey.","provenance":{"source_kind":"tool","source_id":"crm"}}"#,
    ];
    bench.file("all.jsonl", lines.join("\n"));
    bench.ok(&["store", "put", "all.jsonl"]);
    let names = |kinds: &[&str]| -> Vec<String> {
        let listed = bench.ok(&[&["store", "list"], kinds].concat());
        let lines = listed.lines().map(|line| line.rsplit("  ").next().unwrap_or_default());
        lines.map(|name| name.trim().to_owned()).collect()
    };
    assert_eq!(names(&[]).len(), 4);
    assert_eq!(names(&["--source-kind", "web"]), ["page"]);
    assert_eq!(
        names(&["--source-kind", "tool", "--source-kind", "user"]),
        ["wish", "call"]
    );
    let json: Value = serde_json::from_str(&bench.ok(&[
        "store",
        "list",
        "--source-kind",
        "tool",
        "--format",
        "json",
    ]))
    .unwrap();
    assert_eq!(json["objects"][0]["source_kind"], "tool");
    // What comes from a tool is data, unless whoever names it says otherwise.
    let shown = bench.ok(&["store", "get", "call"]);
    assert!(shown.contains("\n  source    tool, crm\n"), "{shown}");
    let got = bench.ok(&["store", "get", "call", "--format", "json"]);
    assert!(
        got.contains("\"authority_level\": 4") || got.contains("\"authority_level\":4"),
        "{got}"
    );
    let wrong = bench.refused(1, &["store", "list", "--source-kind", "wiki"]);
    assert!(
        wrong.contains("--source-kind") && wrong.contains("system_of_record"),
        "{wrong}"
    );
    bench.file(
        "bad.jsonl",
        r#"{"name":"x","content":"y","provenance":{"source_kind":"wiki"}}"#,
    );
    let wrong = bench.refused(2, &["store", "put", "bad.jsonl"]);
    assert!(
        wrong.contains("wiki") && wrong.contains("system_of_record"),
        "{wrong}"
    );
}

#[test]
fn what_changes_nothing_says_so() {
    let bench = Bench::new();
    let same = "nothing changed: it was so already\n";
    let said = bench.refused(1, &["entity", "add", "nova"]);
    assert!(
        said.contains("--name <NAME>") && said.contains("--alias <NAME>"),
        "{said}"
    );
    let add = |more: &[&str]| bench.ok(&[&["entity", "add", "nova"], more].concat());
    assert!(add(&["--name", "Project Nova"]).starts_with("version 1 "));
    for more in [
        &["--alias", "NV"][..],
        &["--mail", "nova@acme.example"],
        &["--role", "the CFO", "--since", "2026-01-01"],
        &["--alias", "Nova One", "--alias", "Nova Two"],
    ] {
        assert!(add(more).starts_with("version "), "{more:?}");
        assert!(add(more).starts_with(same), "{more:?}");
    }
    assert!(add(&["--alias", "Project Nova"]).starts_with(same));
    // Of several the one that is new is taken.
    let some = add(&["--alias", "NV", "--alias", "Nova Three"]);
    assert!(some.starts_with("version "), "{some}");
    let json = add(&["--alias", "NV", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["nothing_changed"], true);
    let shown = bench.ok(&["entity", "show", "nova"]);
    assert_eq!(shown.matches("  alias  nova  NV  ").count(), 1, "{shown}");
    // A retry under a key is answered as it was.
    let keyed = ["--alias", "Keyed", "--idempotency-key", "k"];
    let first = add(&keyed);
    assert!(first.starts_with("version "), "{first}");
    assert_eq!(add(&keyed), first);

    bench.file(
        "all.jsonl",
        "{\"name\":\"q\",\"content\":\"what time is it?\"}\n{\"name\":\"n\",\"content\":\"Project Nova, says kim@acme.example.\"}\n",
    );
    bench.ok(&["store", "put", "all.jsonl"]);
    let resolve = |object: &str| bench.ok(&["entity", "resolve", "--object", object, "--write"]);
    assert_eq!(resolve("q"), "nothing changed: it names no entity\n");
    // What the write of it made is known now, and stands beside the others, once; so is what is known since then.
    assert!(resolve("n").starts_with("version "));
    assert!(resolve("n").starts_with(same));
    bench.ok(&["entity", "add", "desk", "--name", "Kim@acme.example"]);
    let waits = resolve("n");
    assert!(waits.starts_with("version "), "{waits}");
    assert!(waits.contains("entity_pending"), "{waits}");
    assert!(resolve("n").starts_with(same));
    // What the write of an object put before a person is asked once.
    bench.ok(&[
        "entity",
        "add",
        "ada",
        "--name",
        "Ada Lovelace",
        "--kind",
        "person",
    ]);
    bench.file(
        "visit.jsonl",
        "{\"name\":\"visit\",\"content\":\"A. Lovelace came at noon.\"}\n",
    );
    bench.ok(&["store", "put", "visit.jsonl"]);
    assert!(resolve("visit").starts_with(same));
    let pending = bench.ok(&["entity", "list", "--pending"]);
    assert_eq!(pending.matches("a. lovelace").count(), 1, "{pending}");
    let json = [
        "entity", "resolve", "--object", "q", "--write", "--format", "json",
    ];
    let json: Value = serde_json::from_str(&bench.ok(&json)).unwrap();
    assert_eq!(json["nothing_changed"], true, "{json}");

    for (verb, done) in [
        (
            &["store", "judge", "n", "--status", "disputed"][..],
            "judged ",
        ),
        (&["store", "retract", "n"], "judged "),
    ] {
        let first = bench.ok(verb);
        assert!(first.starts_with(done) && !first.contains(same), "{first}");
        let again = bench.ok(verb);
        assert!(
            again.starts_with("unchanged ") && again.contains(same),
            "{again}"
        );
    }
    // What holds is younger now; what was retracted does not hold.
    let renewed = bench.ok(&["store", "confirm", "q"]);
    assert!(renewed.contains("  renewed: "), "{renewed}");
    let gone = bench.refused(5, &["store", "confirm", "n"]);
    assert!(gone.contains("nothing is believed of `n` now"), "{gone}");
}

#[test]
fn bad_ids_and_empty_names_are_refused() {
    let bench = Bench::new();
    for id in ["a\nb", "a\u{200b}b", "a\u{1b}[31m"] {
        let said = bench.refused(2, &["entity", "add", id, "--name", "X"]);
        assert!(said.contains("is no id of an entity"), "{said}");
    }
    let said = bench.refused(2, &["entity", "add", "a", "--name", " "]);
    assert!(said.contains("a name of an entity is empty"), "{said}");
    bench.ok(&["entity", "add", "a", "--name", "X"]);
    let said = bench.refused(2, &["entity", "resolve", " "]);
    assert!(
        said.contains("the mention is empty") && said.contains("--object NAME"),
        "{said}"
    );
}

#[test]
fn a_wrong_line_of_json_names_its_field() {
    let bench = Bench::new();
    let page = |part: &str| {
        format!(
            "{{\"name\":\"a\",\"content\":\"x\"}}\n{{\"name\":\"b\",\"content\":\"y\",{part}}}\n"
        )
    };
    for (part, told) in [
        (
            r#""provenance":{"source_kind":3}"#,
            "`provenance.source_kind`: wrong kind of value: integer `3`",
        ),
        (r#""priority":"high""#, "`priority`: "),
        (
            r#""canonical_entity_ids":["nova"," "]"#,
            "`canonical_entity_ids[1]` is blank",
        ),
        (r#""valid_until":"31.12.9999""#, "`valid_until`: "),
    ] {
        bench.file("bad.jsonl", page(part));
        let said = bench.refused(2, &["store", "put", "bad.jsonl"]);
        assert!(
            said.contains(told) && said.contains("bad.jsonl:2"),
            "{part}: {said}"
        );
        let line = format!("{{\"object\":{{\"name\":\"b\",\"content\":\"y\",{part}}}}}\n");
        bench.file("lines.jsonl", format!("\n{line}"));
        let said = bench.refused(2, &["store", "import", "lines.jsonl"]);
        let (start, field) = told.split_once('`').unwrap();
        let blank = told.contains("blank");
        let inner = if blank {
            told.to_owned()
        } else {
            format!("{start}`object.{field}")
        };
        let place = if blank { "objects[0]" } else { "lines.jsonl:2" };
        assert!(
            said.contains(&inner) && said.contains(place),
            "{part}: {said}"
        );
    }
    bench.file("last.jsonl", page(r#""valid_until":"9999-12-31""#));
    bench.ok(&["store", "put", "last.jsonl"]);
    let got = bench.ok(&["store", "get", "b"]);
    assert!(got.contains("to 9999-12-31T00:00:00Z"), "{got}");
}

#[test]
fn names_that_are_left_out_are_told_of() {
    let bench = Bench::new();
    let put = |name: &str, count: u32| {
        let ids: String = (0..count).map(|at| format!("OPS-{at} ")).collect();
        bench.file(
            "ids.jsonl",
            json!({ "name": name, "content": ids }).to_string(),
        );
        bench.ok(&["store", "put", "ids.jsonl"])
    };
    // A tenant without entities resolves nothing as it writes, and leaves nothing out.
    let said = put("many", 10_100);
    assert!(!said.contains("mentions_cut"), "{said}");
    let resolve = ["entity", "resolve", "--object", "many", "--format", "json"];
    let found = bench.run(&resolve);
    let all: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 10_000);
    let told = String::from_utf8(found.stderr).unwrap();
    let expected = "it names more than is resolved at once: these are 10000 names of it";
    assert!(told.contains(expected), "{told}");
    bench.ok(&["entity", "add", "nova", "--name", "Nova"]);
    let said = put("few", 64);
    assert!(!said.contains("mentions_cut"), "{said}");
    let said = put("more", 64 + 65);
    let note = "more: mentions_cut: it names more than one write adds to the registry";
    assert!(said.starts_with(note), "{said}");
}
