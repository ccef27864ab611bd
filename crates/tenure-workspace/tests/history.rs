//! A conversation that comes whole with each call and is kept nowhere: what fits stands as it came, what does not is cut
//! and condensed as a session's.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::{Candidates, ErrorKind, Principal};
use tenure_workspace::embedded::{Call, Embedded, Ran, parsed, sealed};

fn embedded() -> (tempfile::TempDir, Embedded) {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "7".repeat(64)).unwrap();
    let embedded = Embedded::open(Some(key), None, None).unwrap();
    (folder, embedded)
}

fn call(target: &str, budget: u64, more: Value) -> Call {
    let mut request = json!({
        "target": target,
        "budget": { "tokens": budget },
        "principal": Principal::owner(),
    });
    let mut call = more;
    if let Some(fields) = call["request"].as_object() {
        request.as_object_mut().unwrap().extend(fields.clone());
    }
    call["request"] = request;
    parsed(&call.to_string(), "call").unwrap()
}

fn compiled(
    embedded: &Embedded,
    call: Call,
    kept: Option<Arc<Candidates>>,
    body: &Value,
) -> Result<Ran, tenure::Error> {
    embedded.compile(call, kept, Some((&body.to_string(), None)), None)
}

fn text(ran: &Ran) -> &str {
    let payload = ran.page(0).unwrap().envelope.payload.as_ref();
    payload.unwrap().as_str()
}

fn request(ran: &Ran) -> Value {
    serde_json::from_str(text(ran)).unwrap()
}

/// A log of some 20,000 tokens, with one line unlike all others.
fn log() -> String {
    let line = |at: usize| match at {
        451 => "2026-01-01 ERROR worker 451 failed: disk full, code 8813".to_owned(),
        _ => format!("2026-01-01 INFO worker {at} started on port {}", at * 7),
    };
    (0..900).map(line).collect::<Vec<_>>().join("\n")
}

/// A loop in which a tool has just given a result, in each provider's form.
fn loops(result: &str) -> [(&'static str, &'static str, Value); 4] {
    let asks = "Which worker failed, with which code?";
    [
        (
            "openai-chat",
            "messages",
            json!({ "messages": [
                { "role": "system", "content": "Be brief.  " },
                { "role": "user", "content": asks },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{}" } }
                ] },
                { "role": "tool", "tool_call_id": "c1", "content": result },
            ] }),
        ),
        (
            "anthropic-messages",
            "messages",
            json!({ "tools": [{ "name": "read", "input_schema": { "type": "object" } }], "messages": [
                { "role": "user", "content": asks },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "c1", "name": "read", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": result }] },
            ] }),
        ),
        (
            "openai-responses",
            "input",
            json!({ "input": [
                { "role": "developer", "content": "Be brief.  " },
                { "role": "user", "content": asks },
                { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}" },
                { "type": "function_call_output", "call_id": "c1", "output": result },
            ] }),
        ),
        (
            "gemini",
            "contents",
            json!({ "contents": [
                { "role": "user", "parts": [{ "text": asks }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "read", "args": {} } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "read", "response": { "output": result } } }] },
            ] }),
        ),
    ]
}

#[test]
fn what_fits_stands_as_it_came_and_what_does_not_is_condensed() {
    let (_folder, embedded) = embedded();
    let log = log();
    for (target, field, body) in loops(&log) {
        let whole = compiled(&embedded, call(target, 60_000, json!({})), None, &body).unwrap();
        assert_eq!(request(&whole)[field], body[field], "{target}");
        let count = body[field].as_array().unwrap().len();
        if target != "openai-responses" {
            let places: Vec<_> = (0..count).map(Some).collect();
            assert_eq!(whole.places(0).unwrap(), places, "{target}");
        }
        // As exactly as it is counted.
        let tokens = u64::from(whole.page(0).unwrap().envelope.total_tokens);
        let exact = compiled(&embedded, call(target, tokens, json!({})), None, &body).unwrap();
        assert_eq!(request(&exact)[field], body[field], "{target}");

        let less = || compiled(&embedded, call(target, 4_000, json!({})), None, &body).unwrap();
        let short = less();
        assert!(short.page(0).unwrap().envelope.total_tokens <= 4_000);
        assert!(text(&short).contains("code 8813"), "{target}");
        assert_eq!(text(&short), text(&less()), "{target}");
        let before = body[field].as_array().unwrap();
        let stand = request(&short)[field].as_array().unwrap().clone();
        assert_eq!(stand[..count - 1], before[..count - 1], "{target}");
    }
}

#[test]
fn nothing_is_too_small_for_a_long_history_but_its_last_request() {
    let (_folder, embedded) = embedded();
    let said = (0..200).map(|at| match at % 2 {
        0 => json!({ "role": "user", "content": format!("What of valve {at}? ").repeat(20) }),
        _ => json!({ "role": "assistant", "content": format!("Valve {at} is shut. ").repeat(20) }),
    });
    let mut messages: Vec<Value> = said.collect();
    messages.push(json!({ "role": "user", "content": "And of valve 201?" }));
    for budget in [12_000, 3_000, 1_000, 500] {
        let call = call("openai-chat", budget, json!({}));
        let ran = compiled(&embedded, call, None, &json!({ "messages": messages }));
        let ran = ran.unwrap_or_else(|error| panic!("{budget}: {error}"));
        let places = ran.places(0).unwrap();
        assert_eq!(places.last(), Some(&Some(200)));
        for (place, stands) in places.iter().zip(request(&ran)["messages"].as_array().unwrap()) {
            if let Some(place) = place {
                assert_eq!(stands, &messages[*place]);
            }
        }
    }
    messages.push(json!({ "role": "user", "content": "Buy eggs. ".repeat(400) }));
    let call = call("openai-chat", 500, json!({}));
    let error = compiled(&embedded, call, None, &json!({ "messages": messages })).err();
    assert_eq!(error.unwrap().kind, ErrorKind::Budget);
}

#[test]
fn objects_beside_a_history_stand_as_before() {
    let (_folder, embedded) = embedded();
    let rule = json!({ "object_type": "policy_rule", "authority_level": 1, "name": "units", "content": "Report pressure in pascal." });
    let body = json!({ "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "What is the pressure of valve 3?" },
    ] });
    let beside = call("openai-chat", 2_000, json!({ "objects": [rule] }));
    let ran = compiled(&embedded, beside, None, &body).unwrap();
    let said = request(&ran)["messages"][0]["content"].to_string();
    for text in [
        "Instructions rank",
        "Be brief.",
        "Report pressure in pascal.",
    ] {
        assert!(said.contains(text), "{said}");
    }
    assert_eq!(ran.places(0).unwrap(), [None, Some(1)]);
    // Kept objects are no less beside it; none of them is nothing.
    let documents = vec![serde_json::from_value(rule).unwrap()];
    let kept = Arc::new(sealed(documents, "local").unwrap());
    let ran = compiled(
        &embedded,
        call("openai-chat", 2_000, json!({})),
        Some(kept),
        &body,
    )
    .unwrap();
    assert!(text(&ran).contains("Report pressure in pascal."));
    let none = Some(Arc::new(Candidates::default()));
    let ran = compiled(
        &embedded,
        call("openai-chat", 2_000, json!({})),
        none,
        &body,
    )
    .unwrap();
    assert_eq!(request(&ran)["messages"], body["messages"]);
}

#[test]
fn evidence_has_its_share_beside_a_history_that_would_take_all() {
    let (_folder, embedded) = embedded();
    let said = (0..60).map(|at| match at % 2 {
        0 => json!({ "role": "user", "content": format!("What of valve {at}? ").repeat(10) }),
        _ => json!({ "role": "assistant", "content": format!("Valve {at} is shut. ").repeat(10) }),
    });
    let mut messages: Vec<Value> = said.collect();
    messages.push(json!({ "role": "user", "content": "At which pressure does valve 7 open?" }));
    let body = json!({ "messages": messages });
    let alone = compiled(
        &embedded,
        call("openai-chat", 60_000, json!({})),
        None,
        &body,
    )
    .unwrap();
    let tokens = u64::from(alone.page(0).unwrap().envelope.total_tokens) + 100;
    let digest = format!("sha256:{}", "0".repeat(64));
    let passage = json!({
        "object_type": "retrieved_passage", "name": "manual", "authority_level": 4,
        "content": "Valve 7 opens at a pressure of 9417 millibar. ".repeat(12),
        "provenance": { "source_id": "manual", "digest": digest, "retrieved_at": "2026-01-01T00:00:00Z" },
    });
    let beside = call("openai-chat", tokens, json!({ "objects": [passage] }));
    let ran = compiled(&embedded, beside, None, &body).unwrap();
    assert!(text(&ran).contains("9417 millibar"));
    let last = request(&ran)["messages"].to_string();
    assert!(last.contains("At which pressure does valve 7 open?"));
}
