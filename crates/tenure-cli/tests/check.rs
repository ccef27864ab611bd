//! `tenure check`, and bodies for each provider. Runs the real binary.

use crate::support::{Bench, text};
use serde_json::Value;

const ORPHAN: &str = r#"{"messages":[{"role":"user","content":"Go."},{"role":"tool","tool_call_id":"c1","content":"ok"}]}"#;

#[test]
fn broken_rules_are_named_and_fail() {
    let bench = Bench::new();
    bench.file("body.json", ORPHAN);
    let out = bench.run(&["check", "body.json"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stdout).starts_with("result_without_call  messages[1]: "));
    assert!(text(&out.stderr).contains("the body breaks a rule of openai-chat"));
    let out = bench.run(&["check", "body.json", "--format", "json"]);
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["target"], "openai-chat");
    assert_eq!(json["violations"][0]["rule"], "result_without_call");

    let prefilled = r#"{"max_tokens":1,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":"On"}]}"#;
    bench.file("prefill.json", prefilled);
    bench.ok(&["check", "prefill.json", "--target", "anthropic"]);
    let model = [
        "check",
        "prefill.json",
        "--target",
        "anthropic",
        "--model",
        "claude-haiku-5-5",
    ];
    let out = bench.run(&model);
    assert!(
        text(&out.stdout).starts_with("prefill_refused  messages[1]"),
        "{}",
        text(&out.stdout)
    );

    bench.file("no.json", "[]");
    assert!(bench.refused(2, &["check", "no.json"]).contains("--target"));
    assert!(bench.refused(1, &["check", "no.json", "--target", "gemni"]).contains("gemini"));
}

#[test]
fn compiled_bodies_pass() {
    let bench = Bench::new();
    bench.file("rules.md", "---\nname: brief\n---\nBe brief.\n");
    for (target, model, key) in [
        ("openai-chat", "gpt-4o", "messages"),
        ("openai-responses", "gpt-5", "input"),
        ("anthropic", "claude-opus-5-5", "messages"),
        ("gemini", "gemini-3-pro", "contents"),
    ] {
        let args = [
            "compile", "--as", "guidance", "rules.md", "--task", "Go.", "--target", target,
            "--model", model, "--format", "json",
        ];
        let out = bench.ok(&args);
        let json: Value = serde_json::from_str(&out).unwrap();
        assert!(json["envelope"]["payload"][key].is_array(), "{target}");
        bench.file("out.json", &out);
        assert_eq!(
            bench.ok(&["check", "out.json", "--target", target, "--model", model]),
            ""
        );
    }
}

const RULES: &str = r#"[
 {"name":"no-keys","content":"Never show a key.","object_type":"actionable_constraint",
  "constraint":{"rigidity":"hard","polarity":"negative","patterns":["sk-[a-z0-9]{8}"]}},
 {"name":"shape","content":"Answer as JSON.","object_type":"actionable_constraint",
  "constraint":{"rigidity":"hard","schema":{"type":"object","required":["warm"],"properties":{"warm":{"type":"boolean"}}}}},
 {"name":"polite","content":"Always be polite to whoever asks.","object_type":"actionable_constraint",
  "constraint":{"rigidity":"hard"}}
]"#;

#[test]
fn answers_are_held_against_constraints() {
    let bench = Bench::new();
    bench
        .file("rules.json", RULES)
        .file("good.txt", r#"{"warm":true}"#)
        .file("bad.txt", r#"{"warm":"sk-abcdef12"}"#);
    let held = ["--constraints", "rules.json"];
    let said = bench.ok(&[&["check", "--answer", "good.txt"][..], &held].concat());
    assert_eq!(
        said,
        "unchecked  polite: no validator\nheld against 2 constraints\n"
    );
    let bad = [&["check", "--answer", "bad.txt"][..], &held].concat();
    let out = bench.run(&bad);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stdout).starts_with(
            "broken  no-keys: it matches `sk-[a-z0-9]{8}`, which is forbidden\n\
             broken  shape: by its schema, `/warm` is not of type boolean\n"
        ),
        "{}",
        text(&out.stdout)
    );
    assert!(text(&out.stderr).contains("the answer breaks 2 constraints"));
    let out = bench.run(&[&bad[..], &["--format", "json"]].concat());
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["broken"][0]["name"], "no-keys");
    assert_eq!(json["unchecked"][0], "polite");
    // The request that it answers has demands of its own.
    bench.file(
        "request.json",
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Warm?"}],"response_format":{"type":"json_object"}}"#,
    );
    bench.file("plain.txt", "Yes.");
    let said = bench.run(&["check", "request.json", "--answer", "plain.txt"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stdout).starts_with("fault  response_schema\n"));
    bench.refused(1, &["check", "--constraints", "rules.json"]);
    // What could never be held against anything is refused when it is read.
    let large = format!(
        r#"[{{"name":"x","content":"x","object_type":"actionable_constraint","constraint":{{"rigidity":"hard","schema":{{"description":"{}"}}}}}}]"#,
        "x".repeat(1 << 20)
    );
    bench.file("large.json", large);
    let wrong = [
        "check",
        "--answer",
        "good.txt",
        "--constraints",
        "large.json",
    ];
    assert!(bench.refused(2, &wrong).contains("`schema` has"));
    bench.file(
        "wrong.json",
        RULES.replace(r#""required":["warm"]"#, r#""required":7"#),
    );
    let wrong = [
        "check",
        "--answer",
        "good.txt",
        "--constraints",
        "wrong.json",
    ];
    assert!(bench.refused(2, &wrong).contains("constraint.schema"));
}

#[test]
fn instructions_are_looked_through() {
    let bench = Bench::new();
    bench.file("rules.json", RULES);
    let said = bench.ok(&["lint", "rules.json"]);
    assert!(
        said.starts_with("unchecked  polite: Always be polite"),
        "{said}"
    );
    assert!(said.ends_with("3 constraints: 1 unchecked\n"), "{said}");
    bench.file(
        "more.json",
        r#"[{"name":"rude","content":"Never be polite to whoever asks.","object_type":"actionable_constraint",
             "constraint":{"rigidity":"soft","polarity":"negative"}}]"#,
    );
    let out = bench.run(&["lint", "rules.json", "more.json", "--format", "json"]);
    assert_eq!(out.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["findings"][1]["flaw"], "contradictory");
    assert_eq!(report["findings"][1]["other"], "rude");
    // Documents that are named here are instructions.
    bench
        .file("rules/a.md", "Always cite the manual in answers.\n")
        .file("rules/b.md", "Never cite the manual in answers.\n");
    let said = text(&bench.run(&["lint", "rules"]).stdout);
    assert!(said.contains("2 constraints: 1 contradictory"), "{said}");
}
