//! The words of a person through the real gateway: they stand whole after every cut, and the record counts them.
use serde_json::{Value, json};
use tenure::FrameKey;
use tenure_server::{Mode, Options};
use tenure_workspace::Workspace;

use crate::support::{Bench, Upstream};

const ANSWER: &str = r#"{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"That part is in order.","refusal":null}}],"usage":{"prompt_tokens":11,"completion_tokens":2}}"#;

/// A gateway for a model with a window of 50,000 tokens.
fn bench(upstream: &Upstream, mode: Mode) -> Bench {
    let models = tempfile::NamedTempFile::new().unwrap();
    let text = "models.mine = { extends = \"gpt-4o\", window = 50000, reserve = 500 }\n";
    std::fs::write(models.path(), text).unwrap();
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let workspace = workspace.load_catalogue(models.path()).unwrap();
    Bench::with(&[upstream.url()], |options| Options {
        workspace,
        mode,
        ..options
    })
}

/// A result of some 4,000 tokens.
fn result(at: usize) -> String {
    let line = |line: usize| {
        let n = (at * 131 + line * 7_919) % 9_973;
        format!(
            "2026-05-07T10:14:07Z INFO [http] GET /api/orders/{n} 200 in {} ms\n",
            n % 97
        )
    };
    (0..160).map(line).collect()
}

/// What a person says in turn `at`: every second time it is something that no one says again.
fn said(at: usize) -> String {
    const NAMES: [&str; 6] = ["alder", "beech", "cedar", "elm", "fir", "hazel"];
    match at % 2 {
        0 => format!(
            "The crate from {} in bay {at} is Ragnhild's.",
            NAMES[at / 2 % 6]
        ),
        _ => "Go on with the next part.".to_owned(),
    }
}

#[test]
fn thirty_sentences_of_a_person_reach_the_provider_after_every_cut() {
    for mode in [Mode::Fit, Mode::Full] {
        let upstream = Upstream::saying("application/json", ANSWER);
        let bench = bench(&upstream, mode);
        let mut messages: Vec<Value> = Vec::new();
        let (mut cuts, mut epoch, mut last) = (0, None, None);
        for at in 0..60 {
            messages.push(json!({ "role": "user", "content": said(at) }));
            let body = json!({ "model": "mine", "max_tokens": 400, "messages": messages });
            let head = ["content-type: application/json"];
            let body = body.to_string();
            let reply = bench.ask("POST", "/v1/chat/completions", &head, body.as_bytes());
            assert_eq!(reply.status, 200);
            let record = bench.record("local", &reply.record());
            assert_eq!(record.fault, None);
            if let Some(compile) = record.compile.as_deref().filter(|compile| compile.cut) {
                cuts += u32::from(epoch != Some(compile.epoch));
                epoch = Some(compile.epoch);
                last = Some(compile.clone());
            }
            let arguments = json!({ "service": format!("web-{at}") }).to_string();
            let function = json!({ "name": "logs", "arguments": arguments });
            let call =
                json!({ "id": format!("call_{at}"), "type": "function", "function": function });
            messages.extend([
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                json!({ "role": "tool", "tool_call_id": format!("call_{at}"), "content": result(at) }),
                json!({ "role": "assistant", "content": format!("Part {at} is in order.") }),
            ]);
        }
        let seen = upstream.seen();
        let sent = String::from_utf8(seen.last().unwrap().body.clone()).unwrap();
        let there = (0..60).step_by(2).filter(|at| sent.contains(&said(*at)));
        let there = there.count();
        println!("{mode:?}: {there} of 30 after {cuts} cuts");
        assert_eq!(there, 30);
        assert!(cuts >= 5, "{cuts}");
        let words = last.unwrap().words.unwrap();
        assert!(words.whole >= 40 && words.shortened == 0, "{words:?}");
    }
}
