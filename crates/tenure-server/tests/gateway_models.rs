//! Models that the catalogue does not name: by their families, and by what their upstreams state.

use std::io::Write;
use std::net::TcpStream;

use crate::support::{Bench, Reply, Seen, Upstream, answer, wait_for};
use serde_json::{Value, json};
use tenure::FrameKey;
use tenure_server::{Mode, Options};
use tenure_workspace::Workspace;

const HEAD: [&str; 1] = ["content-type: application/json"];
const CHAT: &str = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}"#;
const LIST: &str = r#"{"object":"list","data":[
    {"id":"house-7b","max_model_len":3000},{"id":"small","context_length":1000000},{"id":"acme-9","context_length":9000}
]}"#;

/// A provider that takes bodies of so many bytes, and states its window where one is longer.
fn strict(most: usize) -> Upstream {
    Upstream::new(move |seen: &Seen, to: &mut TcpStream| {
        let json = "application/json";
        let said = match seen.body.len() > most {
            _ if seen.line.starts_with("GET /v1/models") => answer("200 OK", json, LIST.as_bytes()),
            false => answer("200 OK", json, CHAT.as_bytes()),
            true => {
                let error = json!({ "error": { "message": "This model's maximum context length is 3000 tokens. However, your messages resulted in 9000 tokens." } });
                answer("400 Bad Request", json, error.to_string().as_bytes())
            }
        };
        to.write_all(&said).unwrap();
    })
}

/// A gateway with a model `small` and a family `acme`, both of 3,000 tokens.
fn bench(upstream: &Upstream) -> Bench {
    let models = tempfile::NamedTempFile::new().unwrap();
    let text = "models.small = { extends = \"gpt-4o\", window = 3000, reserve = 500 }\n\
        models.acme = { extends = \"small\", family = [\"acme\"] }\n";
    std::fs::write(models.path(), text).unwrap();
    Bench::with(&[upstream.url()], |options| {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        Options {
            workspace: workspace.load_catalogue(models.path()).unwrap(),
            mode: Mode::Fit,
            ..options
        }
    })
}

/// A conversation of so many messages, about 65 tokens each.
fn request(model: &str, turns: usize) -> Value {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let said = "the pump of this hall runs, and its pressure holds. ".repeat(5);
        json!({ "role": role, "content": format!("{at}: {said}") })
    };
    let turns: Vec<Value> = (0..turns).map(turn).collect();
    json!({ "model": model, "messages": turns, "max_tokens": 300 })
}

fn ask(bench: &Bench, request: &Value) -> Reply {
    let body = request.to_string();
    bench.ask("POST", "/v1/chat/completions", &HEAD, body.as_bytes())
}

fn fault(reply: &Reply) -> Option<&str> {
    reply.header("x-tenure-fault")
}

fn saved(reply: &Reply) -> u64 {
    let saved = reply.header("x-tenure-saved-tokens");
    saved.unwrap().parse().unwrap()
}

#[test]
fn a_name_of_a_known_family_is_managed() {
    let upstream = Upstream::saying("application/json", CHAT);
    let bench = bench(&upstream);
    for model in [
        "claude-opus-4-8",
        "claude-sonnet-4-6",
        "gpt-5.1",
        "us.anthropic.claude-opus-4-5-20251101-v1:0",
        "openai/gpt-5.1",
        "acme-7b",
    ] {
        let reply = ask(&bench, &request(model, 1));
        assert_eq!((reply.status, fault(&reply)), (200, None), "{model}");
        assert!(reply.header("x-tenure-session").is_some(), "{model}");
        let record = bench.record("local", &reply.record());
        assert!(record.resolved_by.is_some(), "{model}");
    }
    assert!(saved(&ask(&bench, &request("acme-7b", 61))) > 500);
    for model in ["my-gpt-5-killer", "llama-claude-merge", "someone/acme-7b"] {
        let reply = ask(&bench, &request(model, 61));
        assert_eq!(
            (reply.status, fault(&reply)),
            (200, Some("unknown_model")),
            "{model}"
        );
        assert_eq!(saved(&reply), 0);
    }
}

#[test]
fn a_model_of_no_known_family_is_cut_once_its_upstream_states_a_limit() {
    let upstream = strict(8_000);
    let bench = bench(&upstream);
    let (short, long) = (request("house-7b", 3), request("house-7b", 61));
    // Nothing is known yet, and nothing is asked.
    let reply = ask(&bench, &short);
    assert_eq!((reply.status, fault(&reply)), (200, Some("unknown_model")));
    assert_eq!(upstream.seen().len(), 1);
    // It is too long, which its upstream says: it goes once more, shorter.
    let reply = ask(&bench, &long);
    assert_eq!((reply.status, fault(&reply)), (200, None));
    assert_eq!(reply.header("x-tenure-retried"), Some("too-long"));
    let session = reply.header("x-tenure-session").unwrap().to_owned();
    let seen = upstream.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[1].body, long.to_string().as_bytes());
    assert!(seen[2].body.len() < 8_000);
    let record = bench.record("local", &reply.record());
    assert_eq!(
        (record.session, record.unmanaged),
        (Some(session.clone()), None)
    );
    assert_eq!(record.resolved_by.as_deref(), Some("stated"));
    // It is managed then: only the first one counts as unmanaged.
    let line = "tenure_gateway_unmanaged_total{reason=\"unknown_model\"}";
    assert_eq!(bench.metric(line), Some(1.0));
    // From then on it is cut at once.
    let reply = ask(&bench, &long);
    assert_eq!((reply.status, fault(&reply)), (200, None));
    assert_eq!(reply.header("x-tenure-retried"), None);
    assert_eq!(reply.header("x-tenure-session"), Some(session.as_str()));
    assert!(saved(&reply) > 500);
    assert_eq!(upstream.seen().len(), 4);
    // It is made again with what was known.
    let record = bench.record("local", &reply.record());
    let asked = json!({ "record_id": record.record_id }).to_string();
    let again = bench.post("/api/v1/replay", asked.as_bytes());
    assert_eq!(
        again.status,
        200,
        "{}",
        String::from_utf8_lossy(&again.body)
    );
    assert_eq!(again.json()["proof"], "whole");
    // Another model is as unknown as before.
    let other = ask(&bench, &request("house-8b", 3));
    assert_eq!(fault(&other), Some("unknown_model"));
}

#[test]
fn what_an_error_quotes_of_a_request_is_no_window_of_another() {
    let upstream = Upstream::new(move |seen: &Seen, to: &mut TcpStream| {
        let is_odd = String::from_utf8_lossy(&seen.body).contains("odd");
        let error =
            "`user`: \"I have a context window of 3000 tokens, you sent 9000 tokens\" is no user";
        let error = json!({ "error": { "message": error } }).to_string();
        let (status, text) = if is_odd {
            ("400 Bad Request", error.as_str())
        } else {
            ("200 OK", CHAT)
        };
        let said = answer(status, "application/json", text.as_bytes());
        to.write_all(&said).unwrap();
    });
    let bench = bench(&upstream);
    let mut odd = request("house-7b", 61);
    odd["user"] = json!("odd");
    let reply = ask(&bench, &odd);
    assert_eq!(reply.status, 400);
    // It went once more, shorter, as what the error said may have been so; what was answered then says that it was not.
    assert_eq!(upstream.seen().len(), 2);
    for model in ["house-7b", "house-8b"] {
        let reply = ask(&bench, &request(model, 61));
        assert_eq!((reply.status, fault(&reply)), (200, Some("unknown_model")));
        assert_eq!(saved(&reply), 0);
    }
}

#[test]
fn a_list_of_models_teaches_windows_and_raises_none_that_is_known() {
    let upstream = strict(usize::MAX);
    let bench = bench(&upstream);
    let long = request("house-7b", 61);
    assert_eq!(fault(&ask(&bench, &long)), Some("unknown_model"));
    let saved_of_acme = saved(&ask(&bench, &request("acme-9", 61)));
    assert!(saved_of_acme > 500);

    let list = bench.get("/v1/models");
    assert_eq!((list.status, list.body.as_slice()), (200, LIST.as_bytes()));
    let reply = wait_for(|| Some(ask(&bench, &long)).filter(|reply| fault(reply).is_none()));
    assert!(saved(&reply) > 500);
    // What the catalogue says of a model is not raised; what it says of a family is.
    assert!(saved(&ask(&bench, &request("small", 61))) > 500);
    let other = json!({ "role": "user", "content": "Something else." });
    let mut acme = request("acme-9", 61);
    acme["messages"][0] = other;
    assert_eq!(saved(&ask(&bench, &acme)), 0);
    // A prefix of the window that stays is no window.
    assert_eq!(
        fault(&ask(&bench, &request("house-7bx", 3))),
        Some("unknown_model")
    );
}
