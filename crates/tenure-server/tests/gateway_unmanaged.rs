//! What the gateway does not manage says so: in the header, in the record and in the metric.

use crate::support::{Bench, Reply, Upstream, compiling};
use serde_json::{Value, json};
use tenure::Policy;
use tenure_server::{Mode, Options};
use tenure_workspace::Policies;
use tenure_workspace::records::Ending;

const HEAD: [&str; 1] = ["content-type: application/json"];
/// A request as Claude Code 2.1.197 makes it: its shape, in words of our own.
const CLAUDE_CODE: &str = include_str!("fixtures/claude_code.json");
const MESSAGE: &str = r#"{"id":"m","type":"message","role":"assistant","model":"claude-small","content":[{"type":"text","text":"Yes."}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":1}}"#;

fn ask(bench: &Bench, path: &str, body: &Value) -> Reply {
    bench.ask("POST", path, &HEAD, body.to_string().as_bytes())
}

fn fault(reply: &Reply) -> Option<&str> {
    reply.header("x-tenure-fault")
}

fn unmanaged(bench: &Bench, reason: &str) -> f64 {
    let line = format!("tenure_gateway_unmanaged_total{{reason=\"{reason}\"}}");
    bench.metric(&line).unwrap_or_default()
}

/// The request with so many steps of its tool behind it.
fn with_steps(request: &Value, steps: usize) -> Value {
    let mut request = request.clone();
    let messages = request["messages"].as_array_mut().unwrap();
    for at in 0..steps {
        let id = format!("toolu_{at}");
        let input = json!({ "command": format!("look {at}") });
        messages.push(json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": id, "name": "Bash", "input": input }] }));
        let said = format!(
            "{at}: {}",
            "the pump of this hall runs, and its pressure holds. ".repeat(12)
        );
        messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": said }] }));
    }
    request
}

#[test]
fn claude_code_as_shipped_is_managed() {
    let upstream = Upstream::saying("application/json", MESSAGE);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let request: Value = serde_json::from_str(CLAUDE_CODE).unwrap();
    let reply = ask(&bench, "/v1/messages?beta=true", &request);
    assert_eq!((reply.status, fault(&reply)), (200, None));
    let session = reply.header("x-tenure-session").unwrap().to_owned();
    assert_eq!(upstream.seen()[0].body, request.to_string().as_bytes());

    let long = with_steps(&request, 40);
    let reply = ask(&bench, "/v1/messages?beta=true", &long);
    assert_eq!((reply.status, fault(&reply)), (200, None));
    assert_eq!(reply.header("x-tenure-session"), Some(session.as_str()));
    let saved: u64 = reply.header("x-tenure-saved-tokens").unwrap().parse().unwrap();
    assert!(saved > 2_000, "{saved}");
    let sent: Value = serde_json::from_slice(&upstream.seen()[1].body).unwrap();
    assert_eq!(sent["context_management"], request["context_management"]);
    assert_eq!(sent["thinking"], request["thinking"]);
    assert_eq!(bench.record("local", &reply.record()).unmanaged, None);
}

#[test]
fn what_the_provider_looks_after_goes_on_as_it_came_with_the_reason() {
    let upstream = Upstream::saying("application/json", MESSAGE);
    let bench = compiling(&upstream, Mode::Fit, |options| Options {
        fail_closed: true,
        ..options
    });
    let anthropic: Value = serde_json::from_str(CLAUDE_CODE).unwrap();
    let anthropic = with_steps(&anthropic, 40);
    let responses =
        json!({ "model": "small", "input": [{ "role": "user", "content": "Hi. ".repeat(4_000) }] });
    let (edits, keeps) = ("provider_edits_history", "provider_keeps_history");
    let thinking = json!({ "type": "clear_thinking_20251015", "keep": { "type": "thinking_turns", "value": 1 } });
    let cases = [
        (
            &anthropic,
            "context_management",
            json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] }),
            edits,
        ),
        (
            &anthropic,
            "context_management",
            json!({ "edits": [{ "type": "compact_20260112" }] }),
            edits,
        ),
        (
            &anthropic,
            "context_management",
            json!({ "edits": [thinking] }),
            edits,
        ),
        (
            &anthropic,
            "context_management",
            json!({ "edits": [{ "type": "new_20270101" }] }),
            edits,
        ),
        (&anthropic, "context_management", json!("all"), edits),
        (
            &responses,
            "context_management",
            json!([{ "type": "compaction", "compact_threshold": 9 }]),
            edits,
        ),
        (&responses, "truncation", json!("auto"), edits),
        (&responses, "previous_response_id", json!("resp_1"), keeps),
        (&responses, "conversation", json!({ "id": "conv_1" }), keeps),
    ];
    for (at, (request, key, value, reason)) in cases.into_iter().enumerate() {
        let path = match request.get("input") {
            Some(_) => "/v1/responses",
            None => "/v1/messages",
        };
        let mut request = request.clone();
        request[key] = value;
        let before = unmanaged(&bench, reason);
        let reply = ask(&bench, path, &request);
        assert_eq!((reply.status, fault(&reply)), (200, Some(reason)), "{at}");
        assert_eq!(reply.header("x-tenure-saved-tokens"), Some("0"));
        assert_eq!(
            upstream.seen()[at].body,
            request.to_string().as_bytes(),
            "{at}"
        );
        let record = bench.record("local", &reply.record());
        assert_eq!(record.unmanaged.as_deref(), Some(reason), "{at}");
        assert_eq!(unmanaged(&bench, reason), before + 1.0, "{at}");
    }
}

#[test]
fn no_body_that_asks_a_model_is_passed_in_silence() {
    let upstream = Upstream::saying("application/json", MESSAGE);
    for mode in [Mode::Fit, Mode::Full] {
        let bench = compiling(&upstream, mode, |options| options);
        let body = json!({ "model": "small", "messages": [{ "role": "user", "content": "Hi." }] });
        let body = body.to_string();
        let head = [HEAD[0], "content-encoding: gzip"];
        for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
            let reply = bench.ask("POST", path, &head, body.as_bytes());
            assert_eq!(
                (reply.status, fault(&reply)),
                (200, Some("packed_body")),
                "{path}"
            );
            let record = bench.record("local", &reply.record());
            assert_eq!(record.unmanaged.as_deref(), Some("packed_body"));
        }
        // Nothing is packed here.
        let head = [HEAD[0], "content-encoding: identity"];
        let reply = bench.ask("POST", "/v1/chat/completions", &head, body.as_bytes());
        assert_eq!((reply.status, fault(&reply)), (200, None));
        let prompt = json!({ "model": "small", "prompt": "Hi." });
        for path in [
            "/v1/completions",
            "/v1/messages/batches",
            "/v1/responses/compact",
            "/v1/models/gemini-3-pro:generateContent",
        ] {
            let reply = ask(&bench, path, &prompt);
            assert_eq!(
                (reply.status, fault(&reply)),
                (200, Some("other_form")),
                "{path}"
            );
        }
        // What asks no model is none of this.
        let reply = ask(
            &bench,
            "/v1/embeddings",
            &json!({ "model": "small", "input": "Hi." }),
        );
        assert_eq!((reply.status, fault(&reply)), (200, None));
    }
    // What only goes through is not managed by anyone's wish.
    let bench = compiling(&upstream, Mode::Observe, |options| options);
    let reply = ask(
        &bench,
        "/v1/messages",
        &serde_json::from_str(CLAUDE_CODE).unwrap(),
    );
    assert_eq!((reply.status, fault(&reply)), (200, None));
    assert_eq!(bench.record("local", &reply.record()).unmanaged, None);
}

/// A gateway of the mode `full` whose tenant keeps this policy and knows one rule.
fn full(upstream: &Upstream, fail_closed: bool, required: &str) -> Bench {
    let bench = compiling(upstream, Mode::Full, |options| Options {
        fail_closed,
        ..options
    });
    let text = format!("name = \"gateway\"\nextends = \"standard\"\nrequired = [{required}]\n");
    let tenant = bench.store.tenant("local").unwrap();
    let policy = Policy::from_toml(&text).unwrap();
    Policies::of(&tenant).keep(&policy).unwrap();
    let rule =
        json!({ "name": "units", "content": "Report pressure in pascal.", "object_type": "rule" });
    let put = bench.ask(
        "PUT",
        "/api/v1/objects/units",
        &HEAD,
        rule.to_string().as_bytes(),
    );
    assert!(put.status < 300, "{}", put.json());
    bench
}

/// Makes what is asked in a conversation an object of another tenant, as no request could: it is hidden from everyone here.
fn hidden(bench: &Bench, asked: &Value) {
    let first = ask(bench, "/v1/chat/completions", asked);
    assert_eq!((first.status, fault(&first)), (200, None));
    let session = first.header("x-tenure-session").unwrap();
    let tenant = bench.store.tenant("local").unwrap();
    let log = format!("session/{session}");
    bench.record("local", &first.record());
    // The answer is in its session.
    let entries = crate::support::wait_for(|| {
        let entries = tenant.entries(&log, 0).unwrap();
        let said = entries.iter().filter(|(_, body)| body.contains("\"said\":{\"at\""));
        (said.count() == 2).then_some(entries)
    });
    let (_, said) = &entries[1];
    assert!(said.contains("How warm"), "{said}");
    let last = entries.last().unwrap().0;
    let others = said.replace("\"tenant_id\":\"local\"", "\"tenant_id\":\"other\"");
    let others = others.replace("\"t2.0\"", &format!("\"t{}.0\"", last + 1));
    tenant.append(&log, last, vec![others]).unwrap();
    // The chain that ends with what is asked leads there.
    let logs = tenant.logs().unwrap().into_iter();
    let chains = logs.filter(|(log, _)| log.starts_with("chain/"));
    let chains = chains.filter_map(|(log, _)| {
        let (number, body) = tenant.entries(&log, 0).unwrap().pop()?;
        body.contains("\"last\":2}").then_some((log, number, body))
    });
    for (log, number, body) in chains.collect::<Vec<_>>() {
        let body = body.replace("\"last\":2}", &format!("\"last\":{}}}", last + 1));
        tenant.append(&log, number, vec![body]).unwrap();
    }
}

#[test]
fn a_body_without_what_it_must_hold_is_refused_and_recorded_where_nothing_else_may_go_on() {
    let answer =
        r#"{"choices":[{"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}"#;
    let asked = json!({ "model": "small", "messages": [{ "role": "user", "content": "How warm is pump 7?" }] });
    for (reason, required) in [("required_missing", "\"karma\""), ("request_missing", "")] {
        for fail_closed in [false, true] {
            let upstream = Upstream::saying("application/json", answer);
            let bench = full(&upstream, fail_closed, required);
            if reason == "request_missing" {
                hidden(&bench, &asked);
            }
            let before = upstream.seen().len();
            let reply = ask(&bench, "/v1/chat/completions", &asked);
            assert_eq!(fault(&reply), Some(reason), "{}", reply.json());
            let record = bench.record("local", &reply.record());
            assert_eq!(record.unmanaged.as_deref(), Some(reason));
            assert_eq!(record.status, Some(reply.status));
            assert!(record.fault.is_some());
            assert_eq!(unmanaged(&bench, reason), 1.0);
            let sent = upstream.seen();
            if fail_closed {
                assert_eq!((reply.status, sent.len()), (403, before));
                assert!(reply.json()["error"]["message"].is_string());
                assert_eq!(reply.header("x-tenure-mode"), Some("full"));
                assert_eq!(
                    (record.ending, record.sent_bytes, record.sent_digest),
                    (Ending::Refused, None, None)
                );
            } else {
                assert_eq!((reply.status, sent.len()), (200, before + 1));
                assert_eq!(sent[before].body, asked.to_string().as_bytes());
                assert_eq!(record.ending, Ending::Whole);
            }
        }
    }
}
