//! The room for an answer, and what a provider reports of its counts, as the gateway tells them.

use std::io::Write as _;

use crate::support::{Bench, Reply, Upstream, answer, compiling};
use serde_json::{Value, json};
use tenure::{FrameKey, Policy};
use tenure_server::{Mode, Options};
use tenure_workspace::{Policies, Workspace};

const HEAD: [&str; 1] = ["content-type: application/json"];
const CHAT: &str = r#"{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;

fn ask(bench: &Bench, path: &str, body: &Value) -> Reply {
    let reply = bench.ask("POST", path, &HEAD, body.to_string().as_bytes());
    assert_eq!(reply.header("x-tenure-fault"), None);
    reply
}

fn talk(model: &str, name: &str, turns: usize, max_tokens: u32) -> Value {
    let said = (0..turns * 2 + 1).map(|at| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let text = format!("Turn {at} of {name}. {}", "so many words ".repeat(60));
        json!({ "role": role, "content": text })
    });
    json!({ "model": model, "max_tokens": max_tokens, "messages": said.collect::<Vec<_>>() })
}

#[test]
fn a_large_room_is_told_and_a_policy_lowers_it() {
    let upstream = Upstream::saying("application/json", CHAT);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let path = "/v1/chat/completions";
    let request = talk("small", "one", 4, 1_800);
    let reply = ask(&bench, path, &request);
    assert_eq!(
        (reply.status, reply.header("x-tenure-notice")),
        (200, Some("answer_room"))
    );
    let sent: Value = serde_json::from_slice(&upstream.seen()[0].body).unwrap();
    assert_eq!(sent["max_tokens"], 1_800);
    assert_ne!(sent["messages"], request["messages"]);
    assert_eq!(
        bench.record("local", &reply.record()).notices,
        ["answer_room"]
    );
    // What asks for little is told nothing.
    let reply = ask(&bench, path, &talk("small", "two", 4, 100));
    assert_eq!(reply.header("x-tenure-notice"), None);
    assert!(bench.record("local", &reply.record()).notices.is_empty());

    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let policy =
        Policy::from_toml("name = \"gateway\"\nsession.max_answer_tokens = 300\n").unwrap();
    let tenant = bench.store.tenant("local").unwrap();
    Policies::of(&tenant).keep(&policy).unwrap();
    let request = talk("small", "three", 4, 1_800);
    let reply = ask(&bench, path, &request);
    assert_eq!(reply.header("x-tenure-notice"), Some("answer_lowered"));
    let sent = String::from_utf8(upstream.seen()[2].body.clone()).unwrap();
    assert_eq!(sent, request.to_string().replace("1800", "300"));
    assert_eq!(
        bench.record("local", &reply.record()).notices,
        ["answer_lowered"]
    );
}

#[test]
fn reports_of_whole_answers_calibrate_counts() {
    let upstream = Upstream::new(|seen, to| {
        let tokens = seen.body.len() / 4;
        let (read, rest) = (tokens / 2, tokens - tokens / 2);
        let body = json!({
            "content": [{ "type": "text", "text": "Yes." }], "role": "assistant", "stop_reason": "end_turn",
            "usage": { "input_tokens": rest - 10, "cache_creation_input_tokens": 10, "cache_read_input_tokens": read, "output_tokens": 1 },
        });
        let said = String::from_utf8_lossy(&seen.body).into_owned();
        // What fails says nothing, whatever it reports.
        let status = if said.contains("of failing") {
            "503 Busy"
        } else {
            "200 OK"
        };
        let _ = to.write_all(&answer(
            status,
            "application/json",
            body.to_string().as_bytes(),
        ));
    });
    let models = tempfile::NamedTempFile::new().unwrap();
    let text =
        "models.claude-mine = { extends = \"claude-opus-5-5\", window = 12000, reserve = 500 }\n";
    std::fs::write(models.path(), text).unwrap();
    let bench = Bench::with(&[upstream.url()], |options| {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        Options {
            workspace: workspace.load_catalogue(models.path()).unwrap(),
            mode: Mode::Fit,
            ..options
        }
    });
    let path = "/v1/messages";
    let calibrated = |name: &str, turns: usize| {
        let reply = ask(&bench, path, &talk("claude-mine", name, turns, 400));
        let record = bench.record("local", &reply.record());
        (
            record.calibrated_percent,
            upstream.seen().last().unwrap().body.len(),
        )
    };
    for at in 0..25 {
        ask(
            &bench,
            path,
            &talk("claude-mine", &format!("failing {at}"), 7, 400),
        );
    }
    for at in 0..20 {
        let (percent, _) = calibrated(&format!("talk {at}"), 7);
        assert_eq!(percent.is_some(), at > 2, "{at}");
    }
    let (percent, whole) = calibrated("long", 19);
    let percent = percent.unwrap();
    assert!(
        (100..=150).contains(&percent) && percent % 5 == 0,
        "{percent}"
    );
    // It fits by what the provider counts, and would not by the catalogue's bound.
    let (_, other) = calibrated("other", 19);
    assert!(whole > 30_000 && other > 30_000, "{whole} {other}");
}
