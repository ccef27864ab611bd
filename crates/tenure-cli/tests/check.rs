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
    assert!(
        bench
            .refused(1, &["check", "no.json", "--target", "gemni"])
            .contains("gemini")
    );
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
