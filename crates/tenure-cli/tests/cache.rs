//! `tenure cache`, and `tenure compile` with `--cache` and `--previous`. Runs the real binary.

use crate::support::{Bench, text};
use serde_json::Value;

const BODY: &str = r#"{"model":"claude-opus-4-5","max_tokens":9,"system":"Be brief.","messages":[{"role":"user","content":"Go."}]}"#;

const CATALOGUE: &str = "[models.claude-opus-4-5]\ncache = { min_tokens = 4 }\n\
    prices = [{ input = \"5.00\", cache_read = \"0.50\", cache_write_5m = \"6.25\", cache_write_1h = \"10.00\" }]\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("body.json", BODY).file("models.toml", CATALOGUE);
    bench.file("rules.md", "---\nname: brief\nprotection: pinned\n---\nBe brief about the pump.\n---\nname: metric\nprotection: pinned\n---\nUse metric units.\n");
    bench
}

const MINE: [&str; 2] = ["--catalogue", "models.toml"];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    args.iter().chain(more).copied().collect()
}

#[test]
fn a_plan_is_shown_and_applied() {
    let bench = bench();
    let plan = bench.json(&with(
        &["cache", "plan", "body.json", "--format", "json"],
        &MINE,
    ));
    assert_eq!(plan["kind"], "explicit");
    assert_eq!(plan["target"], "anthropic-messages");
    let points = plan["breakpoints"].as_array().unwrap();
    let places: Vec<&str> = points.iter().map(|point| point["at"].as_str().unwrap()).collect();
    assert_eq!(places, ["system", "messages[0].content"]);
    for key in [
        "zone",
        "why",
        "tokens",
        "held",
        "held_tokens",
        "ttl_seconds",
        "write",
        "read",
    ] {
        assert!(!points[0][key].is_null(), "{key}");
    }
    assert!(plan["cost"]["first"].as_str().unwrap().starts_with("0.00"));
    let shown = bench.ok(&with(&["cache", "plan", "body.json"], &MINE));
    assert!(
        shown.contains("cache explicit, marks `cache_control`"),
        "{shown}"
    );

    let mixed = ["cache", "plan", "body.json", "--floor-ttl", "1h", "--apply"];
    let marked = bench.ok(&with(&mixed, &MINE));
    let system = r#""system":[{"cache_control":{"type":"ephemeral","ttl":"1h"},"text":"Be brief.","type":"text"}]"#;
    assert!(marked.contains(system), "{marked}");
    bench.file("marked.json", &marked);
    bench.ok(&["check", "marked.json", "--model", "claude-opus-4-5"]);
    // What has marks is left alone.
    assert_eq!(
        bench.ok(&with(&["cache", "plan", "marked.json", "--apply"], &MINE)),
        marked
    );
    // The marks are no change.
    let why = bench.json(&with(
        &[
            "cache",
            "explain",
            "body.json",
            "marked.json",
            "--format",
            "json",
        ],
        &MINE,
    ));
    assert_eq!(why["cause"], "none");
}

#[test]
fn a_miss_is_explained() {
    let bench = bench();
    bench.file(
        "later.json",
        BODY.replace("Go.", "Go on.").replace("brief", "brisk"),
    );
    let args = with(&["cache", "explain", "body.json", "later.json"], &MINE);
    let why = bench.json(&with(&args, &["--format", "json"]));
    assert_eq!(why["cause"], "system_changed");
    assert_eq!(why["first"]["at"], "system");
    let byte = BODY.find("brief").unwrap() + 3;
    assert_eq!(why["first"]["byte_before"], byte);
    assert_eq!(why["cached_tokens"], 0);
    let shown = bench.ok(&args);
    assert!(
        shown.starts_with("system_changed: 0 of 2 blocks"),
        "{shown}"
    );
    assert!(shown.contains("of which the miss is 0.00"), "{shown}");
}

#[test]
fn mistakes_are_named() {
    let bench = bench();
    bench
        .file("no.json", "{\"messages\":[7]}")
        .file("nameless.json", "{\"contents\":[]}");
    bench.file(
        "other.json",
        BODY.replace("claude-opus-4-5", "claude-opus-9"),
    );
    for (code, args, said) in [
        (
            2,
            &["cache", "plan", "no.json", "--target", "anthropic"][..],
            "messages[0]",
        ),
        (
            2,
            &["cache", "plan", "rules.md"],
            "the format of the messages is unknown",
        ),
        (1, &["cache", "plan", "nameless.json"], "--model"),
        (
            2,
            &["cache", "plan", "other.json"],
            "unknown model `claude-opus-9`",
        ),
        (
            1,
            &["cache", "plan", "body.json", "--ttl", "soon"],
            "5m, 30m, 1h",
        ),
        (
            2,
            &["cache", "plan", "body.json", "--ttl", "30m"],
            "5m or 1h",
        ),
        (
            2,
            &[
                "cache",
                "plan",
                "body.json",
                "--ttl",
                "1h",
                "--floor-ttl",
                "5m",
            ],
            "shorter",
        ),
        (
            2,
            &["cache", "explain", "body.json", "nameless.json"],
            "of one form",
        ),
        (
            2,
            &["cache", "explain", "body.json", "missing.json"],
            "missing.json",
        ),
    ] {
        let message = bench.refused(code, args);
        assert!(message.contains(said), "{args:?}: {message}");
    }
}

const COMPILE: [&str; 12] = [
    "compile",
    "--as",
    "guidance",
    "rules.md",
    "--as-of",
    "2026-06-06",
    "--budget",
    "3000",
    "--format",
    "json",
    "--task",
    "Describe the pump.",
];

#[test]
fn a_compile_writes_its_breakpoints_and_its_spans_still_fit() {
    let bench = bench();
    let over = "[models.claude-opus-4-5]\ncache = { min_tokens = 1 }\n[models.\"gpt-5.6\"]\ncache = { min_tokens = 1 }\n";
    bench.file("low.toml", over);
    let low = ["--catalogue", "low.toml"];
    for (target, model, mark) in [
        ("anthropic", "claude-opus-4-5", "cache_control"),
        ("openai-chat", "gpt-5.6", "prompt_cache_breakpoint"),
        ("openai-responses", "gpt-5.6", "prompt_cache_key"),
        ("openai-chat", "gpt-4o", "prompt_cache_key"),
        ("gemini", "gemini-3-pro", ""),
        ("text", "gpt-4o", ""),
    ] {
        let args = with(
            &with(&COMPILE, &["--target", target, "--model", model]),
            &low,
        );
        let plain = bench.json(&args);
        let out = bench.run(&with(&args, &["--cache"]));
        assert!(out.status.success(), "{}", text(&out.stderr));
        let marked: Value = serde_json::from_slice(&out.stdout).unwrap();
        let payload = marked["envelope"]["payload"].to_string();
        assert!(payload.contains(mark), "{target}: {payload}");
        assert_eq!(
            marked["envelope"]["total_tokens"],
            plain["envelope"]["total_tokens"]
        );
        if mark.is_empty() {
            assert_eq!(marked["envelope"]["payload"], plain["envelope"]["payload"]);
            continue;
        }
        assert_ne!(
            marked["envelope"]["payload_digest"],
            plain["envelope"]["payload_digest"]
        );
        assert_eq!(
            marked["envelope"]["payload_digest"],
            marked["trace"]["payload_digest"]
        );
        bench.file("out.json", &out.stdout);
        bench.ok(&["check", "out.json", "--model", model]);
        let plan = bench.json(&with(
            &["cache", "plan", "out.json", "--format", "json"],
            &low,
        ));
        assert_eq!(plan["total_tokens"], plain["envelope"]["total_tokens"]);
        // The source map leads to the text, wherever it stands now.
        let sections = marked["envelope"]["sections"].as_array().unwrap();
        let items = sections.iter().flat_map(|section| section["items"].as_array().unwrap());
        let item = items.clone().find(|item| item["name"] == "metric").unwrap();
        let span = &item["span"];
        let payload = &marked["envelope"]["payload"];
        let content = match span["message"].as_u64() {
            Some(at) => &payload["messages"][at as usize]["content"],
            None if payload["system"].is_null() => &payload["instructions"],
            None => &payload["system"],
        };
        let content = match span["block"].as_u64() {
            Some(block) => &content[block as usize]["text"],
            None => content,
        };
        let range =
            span["start"].as_u64().unwrap() as usize..span["end"].as_u64().unwrap() as usize;
        assert!(
            content.as_str().unwrap()[range].contains("Use metric units."),
            "{target}: {content}"
        );
    }
    bench.refused(1, &with(&COMPILE, &["--cache", "--record"]));
}

#[test]
fn the_call_before_keeps_what_it_served() {
    let bench = bench();
    let args = with(
        &COMPILE,
        &["--target", "anthropic", "--model", "claude-opus-4-5"],
    );
    let args = with(&args, &MINE);
    let first = bench.run(&with(&args, &["--trace", "trace.json"]));
    bench.file("first.json", &first.stdout);
    let more = ["--previous", "first.json", "--query", "And the valve?"];
    let second = bench.json(&with(&args, &more));
    assert_eq!(second["trace"]["plan"]["cause"], "kept");
    let first: Value = serde_json::from_slice(&first.stdout).unwrap();
    assert!(first.get("cache").is_none());
    assert_eq!(
        second["envelope"]["payload"]["system"],
        first["envelope"]["payload"]["system"]
    );
    let why = &second["cache"];
    assert!(why["same_blocks"].as_u64().unwrap() >= 1);
    // A rule more ends the epoch, and the explanation names what it changed.
    bench.file("rules.md", "---\nname: brief\n---\nBe short about the pump.\n---\nname: metric\n---\nUse metric units.\n");
    let third = bench.json(&with(&args, &["--previous", "first.json"]));
    assert_eq!(third["trace"]["plan"]["cause"], "frozen_gone");
    assert_eq!(third["cache"]["cause"], "system_changed");
    assert_eq!(third["cache"]["first"]["before"]["object"], "brief");
    assert_eq!(third["cache"]["first"]["after"]["object"], "brief");
    let message = bench.refused(2, &with(&args, &["--previous", "trace.json"]));
    assert!(message.contains("no list of served revisions"), "{message}");
}

#[test]
fn a_message_that_came_from_the_provider_is_marked_and_its_span_is_still_all_of_it() {
    let bench = bench();
    let store = ["--store", "sqlite://store.db"];
    bench.file("conversation.json", BODY);
    bench.file(
        "low.toml",
        "[models.claude-opus-4-5]\ncache = { min_tokens = 1 }\n",
    );
    bench.ok(&with(&["store", "migrate"], &store));
    let id = bench.ok(&with(&["session", "import", "conversation.json"], &store));
    let args = [
        "session",
        "compile",
        id.trim(),
        "--task",
        "Go.",
        "--budget",
        "4000",
        "--format",
        "json",
    ];
    let model = [
        "--target",
        "anthropic",
        "--model",
        "claude-opus-4-5",
        "--catalogue",
        "low.toml",
        "--cache",
    ];
    let out = bench.run(&with(&with(&args, &model), &store));
    assert!(out.status.success(), "{}", text(&out.stderr));
    let out: Value = serde_json::from_slice(&out.stdout).unwrap();
    let sections = out["envelope"]["sections"].as_array().unwrap();
    let history = sections.iter().find(|section| section["name"] == "history").unwrap();
    let span = &history["items"][0]["span"];
    assert!(span.get("block").is_none(), "{span}");
    let messages = out["envelope"]["payload"]["messages"].as_array().unwrap();
    // In a session what a request ends with stays: it is marked to its very end.
    let last = messages.last().unwrap()["content"].as_array().unwrap();
    assert_eq!(last.last().unwrap()["cache_control"]["type"], "ephemeral");
    let message = &messages[0];
    assert_eq!(
        span["end"].as_u64().unwrap() as usize,
        message.to_string().len()
    );
}
