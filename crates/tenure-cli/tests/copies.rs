//! A copy of a store: what is exported and imported elsewhere says and compiles the same.

use crate::support::Bench;

const OBJECTS: &str = r#"{"name":"badge","object_type":"project_decision","content":"The office badge of Ada Lovelace says Chicago.","normalized_claim":"office == Chicago","canonical_entity_ids":["ada"]}
{"name":"lease","object_type":"project_decision","content":"The lease of Ada's office says Denver.","normalized_claim":"office == Denver","canonical_entity_ids":["lovelace"]}
{"name":"secret","object_type":"project_decision","content":"Eve knows that the office is in Reno.","normalized_claim":"office == Reno","canonical_entity_ids":["ada"],"user_id":"eve"}
"#;

/// A store with entities that were merged, a decision and outcomes; and the instant before the decision.
fn told(bench: &Bench) -> String {
    bench.ok(&["entity", "add", "ada", "--name", "Ada Lovelace"]);
    bench.ok(&["entity", "add", "lovelace", "--name", "A. Lovelace"]);
    bench.file("objects.jsonl", OBJECTS);
    bench.ok(&["store", "put", "objects.jsonl"]);
    bench.ok(&["entity", "merge", "lovelace", "ada", "--author", "kim"]);
    let log = bench.json(&["store", "log", "--format", "json"]);
    let last = log.as_array().unwrap().last().unwrap();
    let before = last["at"].as_str().unwrap().to_owned();
    let decide = [
        "conflicts",
        "resolve",
        "lease",
        "badge",
        "--stands",
        "first",
        "--author",
        "kim",
    ];
    bench.ok(&decide);
    for (name, text) in [
        ("bars", "Valves of the office are listed in bar."),
        ("late", "The office opens late."),
    ] {
        let mistake = ["--mistake", "psi in the list"];
        let propose = ["outcome", "propose", "--name", name, "--text", text];
        bench.ok(&[&propose[..], if name == "bars" { &mistake } else { &[] }].concat());
    }
    bench.ok(&["outcome", "accept", "bars", "--by", "ada"]);
    before
}

#[test]
fn a_copy_of_a_store_says_and_compiles_the_same() {
    let bench = Bench::new();
    let before = told(&bench);
    let out = bench.run(&["store", "export"]);
    let export = String::from_utf8(out.stdout).unwrap();
    let note = String::from_utf8(out.stderr).unwrap();
    assert!(
        note.starts_with("note: ") && note.contains("the mistake of 1 correction is left out"),
        "{note}"
    );
    bench.file("export.jsonl", &export);
    let copy = ["--store", "sqlite://copy.db"];
    bench.ok(&[&["store", "import", "export.jsonl"][..], &copy].concat());
    let mut asked: Vec<Vec<&str>> = Vec::new();
    for caller in [
        &["--user", "ada"][..],
        &["--user", "eve"],
        &["--clearance", "public"],
    ] {
        for known in [&[][..], &["--known-at", &before]] {
            let compile = [
                "compile",
                "--task",
                "Where is the office of Ada Lovelace?",
                "--budget",
                "2000",
            ];
            asked.push([&compile[..], caller, known].concat());
        }
    }
    for words in [
        "entity list",
        "entity show ada",
        "entity show lovelace",
        "conflicts list",
        "conflicts show lease badge",
        "outcome list",
        "belief show badge",
        "belief log badge",
        "review list",
        "store export",
        "store history badge",
    ] {
        asked.push(words.split(' ').collect());
    }
    for asked in asked {
        let [one, other] = [&[][..], &copy].map(|store| {
            let out = bench.run(&[&asked[..], store].concat());
            assert!(out.status.success(), "{asked:?}");
            // The commands that it proposes name the store.
            String::from_utf8(out.stdout).unwrap().replace(" --store sqlite://copy.db", "")
        });
        assert!(!one.is_empty(), "{asked:?}");
        assert_eq!(one, other, "{asked:?}");
    }
    // Both know who decided.
    let shown = ["conflicts", "show", "lease", "badge", "--format", "json"];
    let shown = bench.json(&[&shown[..], &copy].concat());
    assert!(shown.to_string().contains("\"by\":\"kim\""), "{shown}");
}

#[test]
fn a_line_that_cannot_be_is_named_and_nothing_is_written() {
    let bench = Bench::new();
    told(&bench);
    let export = bench.ok(&["store", "export"]);
    let copy = ["--store", "sqlite://copy.db"];
    let refused = |code: i32, lines: String, told: &[&str]| {
        bench.file("broken.jsonl", &lines);
        let message = bench.refused(
            code,
            &[&["store", "import", "broken.jsonl"][..], &copy].concat(),
        );
        for part in told {
            assert!(message.contains(part), "{message}");
        }
    };
    let at = |part: &str| 1 + export.lines().position(|line| line.contains(part)).unwrap();
    // A blank line counts, as it does in an editor.
    let place = format!("broken.jsonl:{}", at("\"accept\"") + 1);
    let without = format!(
        "\n{}",
        export.replace("\"does\":\"propose\"", "\"does\":\"repeat\"")
    );
    let first = format!("broken.jsonl:{}", at("\"propose\"") + 1);
    refused(2, without, &[&first, "no outcome that was proposed"]);
    refused(
        2,
        format!("\n{}", export.replace("\"accept\"", "\"applaud\"")),
        &[&place, "outcome.does", "`withdraw` or `repeat`"],
    );
    let place = format!("broken.jsonl:{}", at("\"op\":\"merge\""));
    refused(
        2,
        export.replace("\"into\":\"ada\"", "\"into\":\"eve\""),
        &[&place, "no entity `eve`"],
    );
    let lines: Vec<&str> = export.lines().skip(1).collect();
    refused(
        2,
        lines.join("\n"),
        &["broken.jsonl:", "no line before has the object"],
    );
    // Nothing of it is there.
    bench.file("export.jsonl", &export);
    bench.ok(&[&["store", "import", "export.jsonl"][..], &copy].concat());
    assert_eq!(
        bench.ok(&[&["store", "export"][..], &copy].concat()),
        export
    );
}
