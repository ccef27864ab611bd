//! Conversations whose calls come from another provider, or were broken off, go on: for each target the compile is legal,
//! the words are there, and what is exported passes the check.

use serde_json::{Value, json};

use crate::support::{Bench, text};

const TARGETS: [(&str, &str); 4] = [
    ("openai-chat", "gpt-4o"),
    ("openai-responses", "gpt-5"),
    ("anthropic-messages", "claude-haiku-4-5"),
    ("gemini", "gemini-2.5-flash"),
];

fn call(id: &str, arguments: &str) -> Value {
    let function = json!({ "name": "look", "arguments": arguments });
    json!({ "id": id, "type": "function", "function": function })
}

fn calls(calls: &[Value]) -> Value {
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn result(id: &str, content: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": content })
}

fn user(content: &str) -> Value {
    json!({ "role": "user", "content": content })
}

/// Imports a conversation, compiles it for each target and exports it in each format; returns the payloads.
fn go_on(name: &str, messages: &[Value]) -> Vec<String> {
    let bench = Bench::new();
    let function =
        json!({ "name": "look", "description": "Looks.", "parameters": { "type": "object" } });
    let body = json!({
        "model": "gpt-4o",
        "tools": [{ "type": "function", "function": function }],
        "messages": messages,
    });
    let imported = bench.fed(&["session", "import", "-", "--id", "s"], body.to_string());
    assert!(
        imported.status.success(),
        "{name}: {}",
        text(&imported.stderr)
    );
    let mut payloads = Vec::new();
    for (target, model) in TARGETS {
        let args = [
            "session",
            "compile",
            "s",
            "--budget",
            "4000",
            "--payload",
            "--target",
            target,
            "--model",
            model,
        ];
        let payload = bench.ok(&args);
        assert_eq!(bench.ok(&args), payload, "{name} {target}");
        let checked = bench.fed(&["check", "-", "--target", target], &payload);
        assert!(
            checked.status.success(),
            "{name} {target}: {}\n{payload}",
            text(&checked.stdout)
        );
        payloads.push(payload);
    }
    for (format, _) in TARGETS {
        let format = format.trim_end_matches("-messages");
        let exported = bench.ok(&["session", "export", "s", "--to", format]);
        let target = if format == "anthropic" {
            "anthropic-messages"
        } else {
            format
        };
        let checked = bench.fed(&["check", "-", "--target", target], &exported);
        let told = text(&checked.stdout);
        let is_broken = [
            "call_without_result",
            "result_without_call",
            "result_not_first",
        ]
        .iter()
        .any(|rule| told.contains(rule));
        let ends = told.contains("last_message") || told.contains("tool_undefined");
        assert!(
            checked.status.success() || is_broken || ends,
            "{name} {format}: {told}\n{exported}"
        );
        assert!(
            !told.contains("call_id"),
            "{name} {format}: {told}\n{exported}"
        );
    }
    payloads
}

#[test]
fn ids_of_other_providers_are_renamed() {
    let long = "x".repeat(85);
    for id in [
        "call_abc|fc_0123",
        "functions.look:0",
        "call 1",
        "aufruf_ü",
        "a/b",
        "",
        &long,
    ] {
        let payloads = go_on(
            id,
            &[
                user("Which tickets are open?"),
                calls(&[call(id, r#"{"q":"a"}"#)]),
                result(id, "Open: 17."),
                user("Close it."),
            ],
        );
        for payload in payloads {
            assert!(payload.contains("Open: 17."), "{id}: {payload}");
        }
    }
}

#[test]
fn an_id_that_is_used_again_is_one_of_its_own() {
    let mut messages = vec![user("Go.")];
    for round in 0..3 {
        messages.push(calls(&[call("call_0", "{}"), call("call_0", "{}")]));
        messages.push(result("call_0", &format!("first {round}")));
        messages.push(result("call_0", &format!("second {round}")));
    }
    messages.push(user("And now?"));
    for payload in go_on("again", &messages) {
        for said in ["first 0", "second 1", "second 2"] {
            assert!(payload.contains(said), "{payload}");
        }
    }
}

#[test]
fn arguments_become_what_each_target_takes() {
    let digits = format!(r#"{{"n": {}}}"#, "9".repeat(400));
    for arguments in [
        "",
        " ",
        "null",
        "[1,2]",
        r#""x""#,
        r#"{}{"q":"a"}"#,
        r#"{"q": "a"#,
        r#"{"q": NaN}"#,
        "{'q': 'a'}",
        r#"{"q":"\ud83d"}"#,
        r#"{"x":1e400}"#,
        &digits,
    ] {
        let payloads = go_on(
            arguments,
            &[
                user("Look."),
                calls(&[call("c1", arguments)]),
                result("c1", "Seen."),
                user("Go on."),
            ],
        );
        let body: Value = serde_json::from_str(&payloads[2]).unwrap();
        let input = &body["messages"][1]["content"][0]["input"];
        assert!(input.is_object(), "{arguments}: {input}");
        if !arguments.trim().is_empty() {
            assert_eq!(input["input"], arguments, "{arguments}");
        }
    }
}

#[test]
fn calls_that_were_broken_off_stop_nothing() {
    let called = || calls(&[call("c1", "{}"), call("c2", "{}")]);
    let conversations = [
        (
            "no result",
            vec![user("Go."), called(), user("Still there?")],
        ),
        (
            "one result",
            vec![
                user("Go."),
                called(),
                result("c2", "Half."),
                user("Still there?"),
            ],
        ),
        ("the newest", vec![user("Go."), called()]),
        (
            "the newest, half",
            vec![user("Go."), called(), result("c1", "Half.")],
        ),
        (
            "no call",
            vec![user("Go."), result("c9", "Half."), user("Still there?")],
        ),
        (
            "no call, first",
            vec![result("c9", "Half."), user("Still there?")],
        ),
        (
            "twice",
            vec![
                user("Go."),
                calls(&[call("c1", "{}")]),
                result("c1", "Half."),
                result("c1", "Whole."),
                user("Well?"),
            ],
        ),
        (
            "late",
            vec![
                user("Go."),
                called(),
                result("c1", "Half."),
                user("Wait."),
                result("c2", "Whole."),
                user("Well?"),
            ],
        ),
    ];
    for (name, messages) in conversations {
        let said: Vec<&str> =
            messages.iter().filter_map(|message| message["content"].as_str()).collect();
        for payload in go_on(name, &messages) {
            for said in &said {
                assert!(payload.contains(said), "{name}: {said} in {payload}");
            }
        }
    }
}
