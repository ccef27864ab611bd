//! What the command says and writes when not everything fits.

use std::fs;

use crate::support::Bench;
use serde_json::Value;

const MANUAL: &str = "---\nname: page-1\nobject_type: retrieved_passage\n\
    provenance: {source_id: manual, retrieved_at: \"2026-05-01\"}\n---\nThe pump starts at 3 bar.\n\
    ---\nname: page-2\nobject_type: retrieved_passage\n\
    provenance: {source_id: manual, retrieved_at: \"2026-05-01\"}\n---\nThe pump stops at 6 bar.\n\
    ---\nname: units\nabstract: Pressure in bar.\n---\nWrite pressure in bar, as the work order does it too.\n";

fn bench(overflow: &str) -> Bench {
    let bench = Bench::new();
    bench.file("manual.md", MANUAL);
    let policy = format!("overflow = \"{overflow}\"\nprecedence = false\nrequired = [\"task\"]\n");
    bench.file("policy.toml", &policy);
    // The budget is tight: what a boundary costs depends on the key.
    bench.file("state/tenure/frame-key", "07".repeat(32));
    bench
}

const COMPILE: [&str; 8] = [
    "compile",
    "--as",
    "guidance",
    "manual.md",
    "--task",
    "pump",
    "--policy",
    "policy.toml",
];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn pages_are_printed_one_after_the_other() {
    let bench = bench("paginate");
    let args = with(&COMPILE, &["--budget", "120", "--trace", "trace.json"]);
    let text = bench.ok(&args);
    assert!(
        text.contains("PAGE 1 OF 2") && text.contains("PAGE 2 OF 2"),
        "{text}"
    );
    assert!(text.contains("part: 2 of 2;"), "{text}");
    let traces = fs::read_to_string(bench.folder.path().join("trace.json")).unwrap();
    let traces: Value = serde_json::from_str(&traces).unwrap();
    assert_eq!(traces.as_array().unwrap().len(), 2);
    let json = bench.json(&with(&COMPILE, &["--budget", "120", "--format", "json"]));
    assert_eq!(json["outcome"], "pages");
    for (at, page) in json["pages"].as_array().unwrap().iter().enumerate() {
        assert_eq!(page["envelope"]["part"]["number"], at + 1);
        assert!(page["envelope"]["total_tokens"].as_u64().unwrap() <= 120);
    }
    let explained = bench.ok(&with(
        &["explain"],
        &with(&COMPILE[1..], &["--budget", "120"]),
    ));
    assert!(explained.contains("PAGE 2 OF 2"), "{explained}");
}

#[test]
fn what_is_pending_is_named() {
    let bench = bench("defer_retrieval");
    let text = bench.ok(&with(&COMPILE, &["--budget", "100"]));
    assert!(text.contains("PENDING 2\n  page-1 ("), "{text}");
    let json = bench.json(&with(&COMPILE, &["--budget", "100", "--format", "json"]));
    assert_eq!(json["outcome"], "deferred");
    assert_eq!(json["pending"][1]["name"], "page-2");
}

#[test]
fn a_careful_task_is_refused_what_does_not_fit() {
    let bench = Bench::new();
    bench.file("manual.md", MANUAL);
    let args = [
        "compile",
        "--as",
        "guidance",
        "manual.md",
        "--task",
        "pump",
        "--budget",
        "150",
    ];
    let careful = with(&args, &["--task-class", "safety_critical"]);
    let message = bench.refused(3, &careful);
    assert!(message.contains("the policy says fail_loud"), "{message}");
    let json = bench.json(&with(&args, &["--format", "json"]));
    assert_eq!(json["outcome"], "complete");
    let message = bench.refused(1, &with(&args, &["--task-class", "careful"]));
    assert!(
        message.contains("unknown task class `careful`"),
        "{message}"
    );
}

#[test]
fn shorter_forms_are_shown() {
    let bench = bench("cascade_compress\"\nguidance = { near = 0.0 }\nname = \"near");
    let whole = bench.json(&with(&COMPILE, &["--format", "json"]));
    let tokens = whole["trace"]["total_tokens"].as_u64().unwrap() - 1;
    let tokens = tokens.to_string();
    let text = bench.ok(&with(&COMPILE, &["--budget", &tokens]));
    assert!(text.contains("ranked and fits; abstract of "), "{text}");
    let json = bench.json(&with(&COMPILE, &["--budget", &tokens, "--format", "json"]));
    let condensed = &json["trace"]["condensed"][0];
    assert_eq!(condensed["name"], "units");
    assert_eq!(condensed["form"], "abstract");
    assert_eq!(condensed["method"], "author");
    assert!(condensed["from"].as_u64() > condensed["to"].as_u64());
}

#[test]
fn what_a_payload_points_to_can_be_read_back() {
    let bench = Bench::new();
    let record = |at: usize| {
        format!(
            "{{\"id\": {at}, \"state\": \"idle\", \"load\": {}}}",
            at * 7
        )
    };
    let records: Vec<String> = (0..600).map(record).collect();
    let content = format!("[{}]", records.join(",\n"));
    let object = serde_json::json!([{
        "name": "pumps", "content": content, "object_type": "retrieved_passage",
        "provenance": { "source_id": "scada", "retrieved_at": "2026-05-01" },
    }]);
    bench.file("pumps.json", object.to_string());
    let args = [
        "compile",
        "--as",
        "guidance",
        "pumps.json",
        "--task",
        "The load of id 300",
        "--format",
        "json",
        "--budget",
    ];
    let json = bench.json(&with(&args, &["2500"]));
    let condensed = &json["trace"]["condensed"][0];
    assert_eq!(condensed["form"], "condensed");
    let pointer = condensed["pointer"].as_str().unwrap();
    assert!(json["envelope"]["payload"].as_str().unwrap().contains(pointer));
    let kept = bench.folder.path().join("state/tenure/originals");
    let files: Vec<_> = fs::read_dir(&kept).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), content);
    // Whole, nothing is kept; a dry run keeps nothing either.
    fs::remove_dir_all(&kept).unwrap();
    bench.json(&with(&args, &["90000"]));
    bench.json(&with(&args, &["2500", "--dry-run"]));
    assert!(!kept.exists());
}

#[test]
fn a_corpus_is_whole_or_asked_for() {
    let bench = Bench::new();
    bench.file(
        "book.md",
        "---\nname: book\nobject_type: artifact\n---\nThe pump starts at 3 bar.\n",
    );
    let compile = [
        "compile", "--as", "guidance", "book.md", "--task", "pump", "--budget", "900",
    ];
    let trace = |more: &[&str]| {
        let args = with(&compile, &with(more, &["--format", "json"]));
        bench.json(&args)["trace"].clone()
    };
    let full = trace(&[]);
    assert_eq!(full["strategy"], "full");
    assert_eq!(full["plan"]["context"]["documents"], 1);
    let asked = trace(&["--context", "retrieve"]);
    assert_eq!(asked["strategy"], "retrieve");
    assert_eq!(asked["plan"]["tools"][0], "query_archive");
    assert_eq!(asked["verdicts"][0]["reason"]["code"], "left_to_retrieval");
    let explained = bench.ok(&with(&["explain"], &compile[1..]));
    assert!(
        explained.contains("corpus: full (auto: 1 documents of "),
        "{explained}"
    );
    let message = bench.refused(1, &with(&compile, &["--context", "ful"])); // spellchecker:disable-line
    assert!(message.contains("did you mean `full`?"), "{message}");
    let message = bench.refused(
        3,
        &with(&compile[..6], &["--budget", "110", "--context", "full"]),
    );
    assert!(message.contains("book"), "{message}");
}
