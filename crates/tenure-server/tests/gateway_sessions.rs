//! The gateway in `fit` and `full`: what is answered becomes a turn of the session, what is too long goes once
//! more, and what the tenant knows stands beside the conversation.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Bench, Reply, Upstream, answer, chunk, compiling, wait_for};
use serde_json::{Value, json};
use tenure::Policy;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure_server::{Mode, Options};
use tenure_store::Store;
use tenure_workspace::Policies;
use tenure_workspace::clients::Handle;
use tenure_workspace::keys::{Grant, Keys};
use tenure_workspace::sessions::Session;

const HEAD: [&str; 1] = ["content-type: application/json"];

/// The messages of a session, as its provider has them.
fn messages(bench: &Bench, id: &str, format: Format) -> Vec<Value> {
    let tenant = bench.store.tenant("local").unwrap();
    let session = Session::open(tenant, id).unwrap();
    serde_json::from_str(&session.export(format).unwrap().messages).unwrap()
}

/// The same, once there are so many.
fn wait_for_messages(bench: &Bench, id: &str, format: Format, count: usize) -> Vec<Value> {
    wait_for(|| Some(messages(bench, id, format)).filter(|found| found.len() == count))
}

fn session(reply: &Reply) -> String {
    reply.header("x-tenure-session").unwrap().to_owned()
}

fn ask(bench: &Bench, path: &str, body: &Value) -> Reply {
    bench.ask("POST", path, &HEAD, body.to_string().as_bytes())
}

fn replies(bench: &Bench, what: &str) -> f64 {
    let line = format!("tenure_gateway_replies_total{{what=\"{what}\"}}");
    bench.metric(&line).unwrap_or_default()
}

/// Sends events as a stream, in pieces that break anywhere.
fn stream(events: &[Value], to: &mut impl Write) {
    to.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
    )
    .unwrap();
    let text: String = events.iter().map(|event| format!("event: x\ndata: {event}\n\n")).collect();
    for piece in text.as_bytes().chunks(37) {
        to.write_all(&chunk(piece)).unwrap();
    }
}

fn chat_events() -> Vec<Value> {
    let delta = |delta: Value, end: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
    let call = |call: Value| json!({ "tool_calls": [call] });
    vec![
        delta(
            json!({ "role": "assistant", "content": "Let me " }),
            Value::Null,
        ),
        delta(json!({ "content": "look, é." }), Value::Null),
        delta(
            call(
                json!({ "index": 0, "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\"" } }),
            ),
            Value::Null,
        ),
        delta(
            call(json!({ "index": 0, "function": { "arguments": ": \"pump 7\"}" } })),
            Value::Null,
        ),
        delta(json!({}), json!("tool_calls")),
        json!({ "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 3 } }),
    ]
}

fn anthropic_events() -> Vec<Value> {
    let start = |at: u32, block: Value| json!({ "type": "content_block_start", "index": at, "content_block": block });
    let delta = |at: u32, delta: Value| json!({ "type": "content_block_delta", "index": at, "delta": delta });
    let stop = |at: u32| json!({ "type": "content_block_stop", "index": at });
    vec![
        json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": { "input_tokens": 5 } } }),
        start(
            0,
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
        ),
        delta(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
        delta(
            0,
            json!({ "type": "signature_delta", "signature": "c2lnbmVk" }),
        ),
        stop(0),
        start(
            1,
            json!({ "type": "redacted_thinking", "data": "b3BhcXVl" }),
        ),
        stop(1),
        start(
            2,
            json!({ "type": "tool_use", "id": "toolu_1", "name": "look", "input": {} }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": "{\"at\": \"pump" }),
        ),
        delta(
            2,
            json!({ "type": "input_json_delta", "partial_json": " 7\"}" }),
        ),
        stop(2),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
        json!({ "type": "message_stop" }),
    ]
}

fn responses_events() -> Vec<Value> {
    let items = [
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl" }),
        json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{\"at\":\"pump 7\"}", "status": "completed" }),
    ];
    let done = |at: usize| json!({ "type": "response.output_item.done", "output_index": at, "item": items[at] });
    vec![
        json!({ "type": "response.created", "response": { "status": "in_progress", "output": [] } }),
        done(0),
        done(1),
        json!({ "type": "response.completed", "response": { "status": "completed", "output": items, "usage": { "input_tokens": 3, "output_tokens": 4 } } }),
    ]
}

/// A protocol: its path and format, the events of an answer, a request, the reply as a client sends it back, and
/// the result that follows.
type Spoken = (&'static str, Format, Vec<Value>, Value, Vec<Value>, Value);

fn protocols() -> Vec<Spoken> {
    let ask = "How warm is pump 7?";
    vec![
        (
            "/v1/chat/completions",
            Format::OpenAiChat,
            chat_events(),
            json!({ "model": "small", "stream": true, "messages": [{ "role": "user", "content": ask }] }),
            vec![json!({
                "role": "assistant", "content": "Let me look, é.", "refusal": null,
                "tool_calls": [{ "id": "c1", "type": "function", "function": { "name": "look", "arguments": "{\"at\": \"pump 7\"}" } }],
            })],
            json!({ "role": "tool", "tool_call_id": "c1", "content": "41 degrees" }),
        ),
        (
            "/v1/messages",
            Format::Anthropic,
            anthropic_events(),
            json!({ "model": "claude-small", "max_tokens": 200, "stream": true, "messages": [{ "role": "user", "content": ask }] }),
            vec![json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk" },
                { "type": "redacted_thinking", "data": "b3BhcXVl" },
                { "type": "tool_use", "id": "toolu_1", "name": "look", "input": { "at": "pump 7" } },
            ] })],
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "41 degrees" }] }),
        ),
        (
            "/v1/responses",
            Format::OpenAiResponses,
            responses_events(),
            json!({ "model": "small", "stream": true, "store": false, "input": [{ "role": "user", "content": ask }] }),
            vec![
                json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl" }),
                json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{\"at\": \"pump 7\"}" }),
            ],
            json!({ "type": "function_call_output", "call_id": "call_1", "output": "41 degrees" }),
        ),
    ]
}

#[test]
fn what_was_asked_is_durable_when_the_answer_ends() {
    for (path, format, events, request, _, _) in protocols() {
        let upstream = Upstream::new(move |seen, to| {
            let body: Value = serde_json::from_slice(&seen.body).unwrap();
            if body["stream"] == true {
                stream(&events, to);
                to.write_all(b"0\r\n\r\n").unwrap();
            } else {
                // Its length is known, and nobody knows what it is.
                to.write_all(&answer("200 OK", "text/plain", b"Warm.")).unwrap();
            }
        });
        let bench = compiling(&upstream, Mode::Full, |options| options);
        for at in 0..8 {
            let mut request = request.clone();
            request["stream"] = json!(at % 2 == 0);
            request[key(format)][0]["content"] = json!(format!("{at}: How warm is pump 7?"));
            let reply = ask(&bench, path, &request);
            assert_eq!(reply.status, 200);
            // Nothing is waited for.
            let found = messages(&bench, &session(&reply), format);
            assert_eq!(found[0]["content"], request[key(format)][0]["content"]);
        }
    }
}

#[test]
fn what_is_erased_leaves_memory() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let path = "/v1/chat/completions";
    let held = || bench.metric("tenure_gateway_sessions_bytes");
    let id = session(&ask(&bench, path, &chat(&[user("How warm is it?")])));
    wait_for_messages(&bench, &id, Format::OpenAiChat, 2);
    let other = session(&ask(&bench, path, &chat(&[user("How cold is it?")])));
    wait_for_messages(&bench, &other, Format::OpenAiChat, 2);
    wait_for(|| held().filter(|held| *held > 0.0));
    let tenant = bench.store.tenant("local").unwrap();
    // Nobody asks anything meanwhile.
    Session::erase(&tenant, &id, &tenure_store::Writing::default()).unwrap();
    wait_for(|| held().filter(|held| *held == 0.0));
    // What was not erased is read again.
    let on = [
        user("How cold is it?"),
        assistant("Warm."),
        user("And now?"),
    ];
    assert_eq!(session(&ask(&bench, path, &chat(&on))), other);
}

fn key(format: Format) -> &'static str {
    match format {
        Format::OpenAiResponses => "input",
        _ => "messages",
    }
}

fn with(body: &Value, format: Format, more: &[Value]) -> Value {
    let mut body = body.clone();
    body[key(format)].as_array_mut().unwrap().extend_from_slice(more);
    body
}

#[test]
fn a_streamed_reply_is_a_turn_and_is_recognised_when_it_comes_back() {
    for (path, format, events, request, back, result) in protocols() {
        let upstream = Upstream::new(move |_, to| {
            stream(&events, to);
            to.write_all(b"0\r\n\r\n").unwrap();
        });
        for mode in [Mode::Fit, Mode::Full] {
            let bench = compiling(&upstream, mode, |options| options);
            let reply = ask(&bench, path, &request);
            assert_eq!(reply.status, 200, "{path}");
            let id = session(&reply);
            let found = wait_for_messages(&bench, &id, format, 1 + back.len());
            // As it is sent back, but for the ids that the provider gave and the fields that say nothing.
            for (found, back) in found[1..].iter().zip(&back) {
                for (field, value) in back.as_object().unwrap() {
                    if !value.is_null() && field != "arguments" {
                        assert_eq!(&found[field], value, "{path}");
                    }
                }
            }
            let mut more = back.clone();
            more.push(result.clone());
            let next = with(&request, format, &more);
            let reply = ask(&bench, path, &next);
            assert_eq!(session(&reply), id, "{path}");
            // The reply, once; the result; and the next reply.
            let count = 2 + 2 * back.len();
            let all = wait_for_messages(&bench, &id, format, count);
            assert_eq!(
                all[1 + back.len()].to_string().matches("41 degrees").count(),
                1
            );
            wait_for(|| (replies(&bench, "kept") == 2.0).then_some(()));
        }
    }
}

const CHAT_REPLY: &str = r#"{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Warm.","refusal":null}}],"usage":{"prompt_tokens":11,"completion_tokens":2}}"#;

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "content": text })
}

fn chat(messages: &[Value]) -> Value {
    json!({ "model": "small", "messages": messages })
}

#[test]
fn the_clients_word_counts_over_what_was_put_together() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let path = "/v1/chat/completions";
    let first = user("How warm is it?");
    let id = session(&ask(&bench, path, &chat(std::slice::from_ref(&first))));
    let kept = wait_for_messages(&bench, &id, Format::OpenAiChat, 2);
    assert_eq!(kept[1], assistant("Warm."));
    // It edits the reply.
    let edited = [first.clone(), assistant("Warm, I think."), user("And now?")];
    let reply = ask(&bench, path, &chat(&edited));
    assert_eq!(session(&reply), id);
    let all = wait_for_messages(&bench, &id, Format::OpenAiChat, 4);
    assert_eq!(all[..3], edited);
    assert_eq!(all[3], assistant("Warm."));
    // It asks again as if there had been none, twice: the same session, one reply.
    for kept in [3.0, 4.0] {
        let reply = ask(&bench, path, &chat(&edited));
        assert_eq!(session(&reply), id);
        wait_for(|| (replies(&bench, "kept") == kept).then_some(()));
        assert_eq!(messages(&bench, &id, Format::OpenAiChat), all);
    }
    // And goes on with it.
    let mut on = edited.to_vec();
    on.extend([assistant("Warm."), user("Still?")]);
    let reply = ask(&bench, path, &chat(&on));
    assert_eq!(session(&reply), id);
    let all = wait_for_messages(&bench, &id, Format::OpenAiChat, 6);
    assert_eq!(all[..5], on);
    // It may name the session that it was told.
    let named = format!("x-tenure-session: {id}");
    on.extend([assistant("Warm."), user("Really?")]);
    let reply = bench.ask(
        "POST",
        path,
        &[HEAD[0], &named],
        chat(&on).to_string().as_bytes(),
    );
    assert_eq!(session(&reply), id);
}

#[test]
fn an_incomplete_reply_is_not_kept_and_no_turn_is_lost() {
    let events = chat_events();
    let count = std::sync::Arc::new(AtomicUsize::new(0));
    let asked = std::sync::Arc::clone(&count);
    let upstream = Upstream::new(move |_, to| match asked.fetch_add(1, Ordering::SeqCst) {
        // It breaks off in the middle.
        0 => {
            stream(&events[..3], to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        }
        // It ends in order, without the end of the message.
        1 => {
            stream(&events[..3], to);
            to.write_all(b"0\r\n\r\n").unwrap();
        }
        // It says that it failed.
        2 => {
            let failed = json!({ "error": { "message": "overloaded" } });
            stream(&[events[0].clone(), failed], to);
            to.write_all(b"0\r\n\r\n").unwrap();
        }
        3 => to.write_all(&answer("500 Oh", "application/json", b"{}")).unwrap(),
        _ => to
            .write_all(&answer("200 OK", "application/json", CHAT_REPLY.as_bytes()))
            .unwrap(),
    });
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let path = "/v1/chat/completions";
    let first = chat(&[user("How warm is it?")]);
    let mut id = None;
    for _ in 0..4 {
        let mut client = bench.connect();
        client.send("POST", path, &HEAD, first.to_string().as_bytes());
        let head = client.head().unwrap();
        let found = session(&head);
        assert_eq!(id.get_or_insert(found.clone()), &found);
        client.rest_of(&head);
    }
    let id = id.unwrap();
    wait_for(|| (replies(&bench, "incomplete") == 2.0).then_some(()));
    wait_for(|| (replies(&bench, "unread") == 2.0).then_some(()));
    assert_eq!(messages(&bench, &id, Format::OpenAiChat).len(), 1);
    let reply = ask(&bench, path, &first);
    assert_eq!(session(&reply), id);
    wait_for_messages(&bench, &id, Format::OpenAiChat, 2);
}

/// A conversation of so many turns of some hundred tokens, which ends with the user.
fn long(turns: usize) -> Vec<Value> {
    let said = "the pump is warm and the valve is open ".repeat(12);
    let turn = |at: usize| {
        if at.is_multiple_of(2) {
            user(&format!("{at}: {said}"))
        } else {
            assistant(&format!("{at}: {said}"))
        }
    };
    (0..turns).map(turn).collect()
}

#[test]
fn what_a_provider_finds_too_long_goes_once_more() {
    let limit = 2_000_usize;
    let upstream = Upstream::new(move |seen, to| {
        // A provider whose vocabulary needs more tokens than ours.
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let tokens = body["messages"].to_string().len() / 3;
        let said = if tokens > limit {
            let message = format!(
                "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens."
            );
            let body =
                json!({ "error": { "message": message, "code": "context_length_exceeded" } });
            answer(
                "400 Bad Request",
                "application/json",
                body.to_string().as_bytes(),
            )
        } else {
            answer("200 OK", "application/json", CHAT_REPLY.as_bytes())
        };
        to.write_all(&said).unwrap();
    });
    let body = chat(&long(15));
    let path = "/v1/chat/completions";
    // Without sessions, its error is the client's.
    let bench = compiling(&upstream, Mode::Observe, |options| options);
    assert_eq!(ask(&bench, path, &body).status, 400);
    for mode in [Mode::Fit, Mode::Full] {
        let before = upstream.seen().len();
        let bench = compiling(&upstream, mode, |options| options);
        let reply = ask(&bench, path, &body);
        let seen = upstream.seen();
        assert_eq!(
            (reply.status, seen.len() - before),
            (200, 2),
            "{}",
            String::from_utf8_lossy(&reply.body)
        );
        assert_eq!(reply.header("x-tenure-retried"), Some("too-long"));
        assert_eq!(bench.metric("tenure_gateway_learned_total"), Some(1.0));
        assert_eq!(seen[before].body, body.to_string().as_bytes());
        assert!(seen[before + 1].body.len() < seen[before].body.len());
        // The session knows now: nothing is sent in vain.
        let reply = ask(&bench, path, &body);
        assert_eq!((reply.status, upstream.seen().len() - before), (200, 3));
        assert_eq!(reply.header("x-tenure-retried"), None);
        assert_eq!(upstream.seen()[before + 2].body, seen[before + 1].body);
        // So do all sessions of the model, once the shorter one was answered.
        let logs = || bench.store.tenant("local").unwrap().logs().unwrap();
        wait_for(|| logs().iter().find(|(log, _)| log.starts_with("window/")).map(drop));
        let mut another = body.clone();
        another["messages"][0]["content"] =
            json!(format!("Again: {}", "the pump is warm ".repeat(20)));
        let reply = ask(&bench, path, &another);
        assert_eq!(
            (reply.status, reply.header("x-tenure-retried")),
            (200, None)
        );
        assert_eq!(upstream.seen().len() - before, 4);
    }
}

#[test]
fn a_refusal_without_a_number_goes_once_more_and_teaches_its_session_alone() {
    let upstream = Upstream::new(|seen, to| {
        let said = if seen.body.len() > 6_000 {
            let message = "Please reduce the length of the messages or completion.";
            let body =
                json!({ "error": { "message": message, "code": "context_length_exceeded" } });
            answer(
                "400 Bad Request",
                "application/json",
                body.to_string().as_bytes(),
            )
        } else {
            answer("200 OK", "application/json", CHAT_REPLY.as_bytes())
        };
        to.write_all(&said).unwrap();
    });
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let body = chat(&long(15));
    let mut another = body.clone();
    another["messages"][0]["content"] = json!(format!("Again: {}", "the pump is warm ".repeat(20)));
    let path = "/v1/chat/completions";
    let mut sent = 0;
    for (asked, times, retried) in [
        (&body, 2, Some("too-long")),
        // Its session knows now, and no other: nobody said what the window is.
        (&body, 1, None),
        (&another, 2, Some("too-long")),
    ] {
        let reply = ask(&bench, path, asked);
        sent += times;
        assert_eq!(
            (reply.status, upstream.seen().len()),
            (200, sent),
            "{}",
            String::from_utf8_lossy(&reply.body)
        );
        assert_eq!(reply.header("x-tenure-retried"), retried);
    }
    let logs = bench.store.tenant("local").unwrap().logs().unwrap();
    assert!(logs.iter().all(|(log, _)| !log.starts_with("window/")));
}

#[test]
fn an_error_that_teaches_nothing_passes_as_it_came() {
    let said = json!({ "error": { "message": "This model's maximum context length is 100 tokens, you sent 900 tokens." } });
    let bodies = [said.to_string(), "no".to_owned(), "x".repeat(3 << 20)];
    for body in bodies {
        let sent = body.clone();
        let upstream = Upstream::new(move |_, to| {
            let _ = to.write_all(&answer(
                "400 Bad Request",
                "application/json",
                sent.as_bytes(),
            ));
        });
        let bench = compiling(&upstream, Mode::Fit, |options| options);
        // Less than a request costs cannot be reached: there is nothing to cut.
        let request = chat(&[user("How warm is it?")]);
        let reply = ask(&bench, "/v1/chat/completions", &request);
        assert_eq!(reply.status, 400);
        assert_eq!(reply.body, body.as_bytes());
        assert_eq!(upstream.seen().len(), 1);
    }
}

#[test]
fn calls_that_nobody_asked_for_are_told() {
    let call = |name: &str, arguments: &str| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": name, "arguments": arguments } });
        json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [call] } }] })
            .to_string()
    };
    let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } }, "required": ["at"] });
    let tool = json!({ "type": "function", "function": { "name": "look", "parameters": schema } });
    let request = json!({ "model": "small", "messages": [user("How warm?")], "tools": [tool] });
    let cases = [
        (call("look", r#"{"at":"x"}"#), None),
        (call("jump", "{}"), Some("tool_not_offered")),
        (call("look", "{}"), Some("arguments_schema")),
    ];
    for (answered, told) in cases {
        let body = answered.clone();
        let upstream = Upstream::new(move |_, to| {
            to.write_all(&answer("200 OK", "application/json", body.as_bytes())).unwrap();
        });
        for mode in [Mode::Observe, Mode::Fit, Mode::Full] {
            let bench = compiling(&upstream, mode, |options| options);
            let reply = ask(&bench, "/v1/chat/completions", &request);
            assert_eq!(reply.body, answered.as_bytes());
            let header = told.filter(|_| mode != Mode::Observe);
            assert_eq!(reply.header("x-tenure-output"), header);
            let record = bench.record("local", &reply.record());
            assert_eq!(record.output, told.into_iter().collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_call_is_rejected_where_nothing_was_offered() {
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "jump", "arguments": "{}" } });
    let body = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": { "role": "assistant", "content": null, "tool_calls": [call] } }] });
    let upstream = Upstream::new(move |_, to| {
        let body = body.to_string();
        let _ = to.write_all(&answer("200 OK", "application/json", body.as_bytes()));
    });
    let mut request = json!({ "model": "small", "messages": [user("How warm?")] });
    for tools in [None, Some(json!([]))] {
        if let Some(tools) = tools {
            request["tools"] = tools;
        }
        for mode in [Mode::Fit, Mode::Full] {
            let bench = compiling(&upstream, mode, |options| Options {
                rejects: vec!["tool_not_offered".parse().unwrap()],
                ..options
            });
            let reply = ask(&bench, "/v1/chat/completions", &request);
            assert_eq!(
                (reply.status, reply.header("x-tenure-output")),
                (422, Some("tool_not_offered"))
            );
            let record = bench.record("local", &reply.record());
            assert_eq!(record.output, ["tool_not_offered"]);
        }
    }
}

/// A chat completion that says this.
fn saying(text: &str) -> String {
    json!({ "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": text } }], "usage": { "prompt_tokens": 7, "completion_tokens": 2 } })
        .to_string()
}

#[test]
fn answers_keep_the_constraints_and_the_schema_or_do_not_go_on() {
    let said = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let says = std::sync::Arc::clone(&said);
    let upstream = Upstream::new(move |seen, to| {
        let text = says.lock().unwrap().clone();
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        if body["stream"] == true {
            let delta = json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": text }, "finish_reason": "stop" }] });
            stream(&[delta], to);
            to.write_all(b"0\r\n\r\n").unwrap();
        } else {
            to.write_all(&answer(
                "200 OK",
                "application/json",
                saying(&text).as_bytes(),
            ))
            .unwrap();
        }
    });
    let rejecting = |rejects: &[&str]| {
        let rejects = rejects.iter().map(|term| term.parse().unwrap()).collect();
        let bench = compiling(&upstream, Mode::Full, |options| Options {
            rejects,
            ..options
        });
        know(
            &bench,
            &json!({
                "name": "no-keys", "content": "Never show a key.", "object_type": "actionable_constraint",
                "constraint": { "rigidity": "hard", "polarity": "negative", "patterns": ["sk-[a-z0-9]{8}"] },
            }),
        );
        bench
    };
    let path = "/v1/chat/completions";
    let plain = chat(&[user("What is the key?")]);
    let mut shaped = chat(&[user("Is pump 7 warm?")]);
    shaped["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "w", "schema": { "type": "object", "required": ["warm"] } } });
    let mut streamed = plain.clone();
    streamed["stream"] = json!(true);
    let cases = [
        (&plain, "It is in the vault.", None),
        (&plain, "It is sk-abcdef12.", Some("constraint_broken")),
        (&shaped, "{\"warm\":true}", None),
        (&shaped, "Yes.", Some("response_schema")),
        (&streamed, "It is sk-abcdef12.", Some("constraint_broken")),
    ];
    for rejects in [&[][..], &["constraint_broken", "response_schema"]] {
        let bench = rejecting(rejects);
        let mut rejected = 0.0;
        for (at, (request, text, told)) in cases.iter().enumerate() {
            *said.lock().unwrap() = (*text).to_owned();
            let mut request = (*request).clone();
            request["messages"][0]["content"] = json!(format!("{at}: What is it?"));
            let reply = ask(&bench, path, &request);
            let is_streamed = request["stream"] == true;
            let goes_on = told.is_none() || rejects.is_empty() || is_streamed;
            assert_eq!(
                reply.header("x-tenure-output"),
                told.filter(|_| !is_streamed),
                "{text}"
            );
            let record = bench.record("local", &reply.record());
            assert_eq!(
                record.output,
                told.iter().map(|&told| told.to_owned()).collect::<Vec<_>>()
            );
            assert_eq!(
                record.broken.len(),
                usize::from(*told == Some("constraint_broken"))
            );
            if goes_on {
                let said = if is_streamed {
                    string(&reply.body).contains(text)
                } else {
                    reply.json()["choices"][0]["message"]["content"] == *text
                };
                assert!(reply.status == 200 && said, "{}", string(&reply.body));
                continue;
            }
            rejected += 1.0;
            // What the model said is nowhere in it; what it cost is known.
            let body = string(&reply.body);
            assert_eq!(reply.status, 422, "{body}");
            assert!(
                body.contains(told.unwrap()) && !body.contains("sk-a"),
                "{body}"
            );
            assert_eq!(
                body.contains("no-keys"),
                *told == Some("constraint_broken"),
                "{body}"
            );
            assert_eq!(
                (record.status, record.usage.map(|usage| usage.input)),
                (Some(422), Some(7))
            );
            wait_for(|| (replies(&bench, "rejected") == rejected).then_some(()));
            // It is no turn: the agent may ask again.
            let id = session(&reply);
            assert_eq!(messages(&bench, &id, Format::OpenAiChat).len(), 1);
        }
    }
}

#[test]
fn schemas_of_answers_are_added_and_force_nothing_where_the_policy_says_so() {
    let said = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let sent = std::sync::Arc::new(std::sync::Mutex::new(Value::Null));
    let (says, sees) = (std::sync::Arc::clone(&said), std::sync::Arc::clone(&sent));
    let upstream = Upstream::new(move |seen, to| {
        *sees.lock().unwrap() = serde_json::from_slice(&seen.body).unwrap();
        let text = says.lock().unwrap().clone();
        let answer = answer("200 OK", "application/json", saying(&text).as_bytes());
        to.write_all(&answer).unwrap();
    });
    let path = "/v1/chat/completions";
    let schema = json!({ "type": "object", "required": ["pressure", "depth"], "additionalProperties": false,
        "properties": { "pressure": { "type": "number" }, "depth": { "type": "number" } } });
    let shape = json!({ "type": "json_schema", "json_schema": { "name": "w", "strict": true, "schema": schema } });
    let mut shaped = chat(&[user("What is the pressure of pump 7?")]);
    shaped["response_format"] = shape.clone();
    let plain = chat(&[user("Is it warm?")]);
    let unknown = r#"{"pressure":3,"depth":null}"#;
    *said.lock().unwrap() = unknown.to_owned();
    for (policy, relaxes) in [
        ("", false),
        (
            "[answers]\nrelax_schemas = true\nadd_schemas = true\n",
            true,
        ),
    ] {
        let bench = compiling(&upstream, Mode::Full, |options| options);
        know(
            &bench,
            &json!({
                "name": "shape", "content": "Say how warm it is.", "object_type": "actionable_constraint",
                "constraint": { "rigidity": "hard", "schema": { "type": "object", "required": ["warm"], "properties": { "warm": { "type": "boolean" } } } },
            }),
        );
        if !policy.is_empty() {
            let policy = format!("name = \"gateway\"\nrequired = []\n{policy}");
            let tenant = bench.store.tenant("local").unwrap();
            Policies::of(&tenant).keep(&Policy::from_toml(&policy).unwrap()).unwrap();
        }
        let reply = ask(&bench, path, &shaped);
        let body = sent.lock().unwrap().clone();
        let mut expected = shape.clone();
        if relaxes {
            expected["json_schema"]["schema"]["properties"]["depth"]["type"] =
                json!(["number", "null"]);
        }
        assert_eq!(body["response_format"], expected, "{policy}");
        // The answer is held against the client's own schema, but for what may be null.
        let faults = reply.header("x-tenure-output").unwrap_or_default();
        assert_eq!(faults.contains("response_schema"), !relaxes, "{faults}");
        // Its shape is not that of the constraint.
        assert!(faults.contains("constraint_broken"), "{faults}");
        ask(&bench, path, &plain);
        let body = sent.lock().unwrap().clone();
        let added = &body["response_format"]["json_schema"]["schema"]["required"];
        assert_eq!(
            *added,
            if relaxes {
                json!(["warm"])
            } else {
                Value::Null
            }
        );
    }
}

/// Agents read an answer with what it was begun with, and so do constraints and the session.
#[test]
fn a_begun_answer_is_looked_at_and_kept_as_a_whole() {
    let upstream = Upstream::new(|_, to| {
        let said = json!({
            "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-4-5", "stop_reason": "end_turn",
            "content": [{ "type": "text", "text": "abcdef12." }], "usage": { "input_tokens": 7, "output_tokens": 2 },
        });
        let said = answer("200 OK", "application/json", said.to_string().as_bytes());
        to.write_all(&said).unwrap();
    });
    let bench = compiling(&upstream, Mode::Full, |options| options);
    know(
        &bench,
        &json!({
            "name": "no-keys", "content": "Never show a key.", "object_type": "actionable_constraint",
            "constraint": { "rigidity": "hard", "polarity": "negative", "patterns": ["sk-[a-z0-9]{8}"] },
        }),
    );
    for (begun, told) in [("It is sk-", Some("constraint_broken")), ("It is ", None)] {
        let begins = json!({ "role": "assistant", "content": begun });
        let messages_sent = [user(&format!("What follows {begun}?")), begins];
        let body =
            json!({ "model": "claude-opus-4-5", "max_tokens": 99, "messages": messages_sent });
        let reply = ask(&bench, "/v1/messages", &body);
        assert_eq!((reply.status, reply.header("x-tenure-output")), (200, told));
        let record = bench.record("local", &reply.record());
        assert_eq!(record.broken.len(), told.iter().len());
        let id = session(&reply);
        wait_for_messages(&bench, &id, Format::Anthropic, 2);
        let kept = messages(&bench, &id, Format::Anthropic);
        assert_eq!(kept[1]["content"][0]["text"], format!("{begun}abcdef12."));
    }
}

/// Writes an object into the store through the API.
/// Stores what is always needed, whatever is asked.
fn know(bench: &Bench, object: &Value) {
    let mut object = object.clone();
    if object["object_type"] != "tool_schema" {
        object["protection"] = "pinned".into();
    }
    let name = object["name"].as_str().unwrap();
    let path = format!("/api/v1/objects/{name}");
    let reply = bench.ask("PUT", &path, &HEAD, object.to_string().as_bytes());
    assert!(
        reply.status < 300,
        "{} {}",
        reply.status,
        String::from_utf8_lossy(&reply.body)
    );
}

fn string(body: &[u8]) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}

#[test]
fn what_the_tenant_knows_stands_beside_the_conversation() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    let path = "/v1/chat/completions";
    let body = r#"{"model": "small", "temperature": 0.30, "messages": [{"role":"system","content":"Be brief."}, {"role": "user",  "content": "How warm is pump 7?"}], "metadata": {"a": [1, 2.50]}}"#;
    // Nothing is known: it goes on as it came.
    ask_raw(&bench, path, body);
    assert_eq!(string(&upstream.seen()[0].body), body);

    know(
        &bench,
        &json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule" }),
    );
    let reply = ask_raw(&bench, path, body);
    assert_eq!(reply.header("x-tenure-fault"), None);
    assert_eq!(reply.header("x-tenure-mode"), Some("full"));
    let first = string(&upstream.seen()[1].body);
    assert!(
        first.starts_with(r#"{"model": "small", "temperature": 0.30, "messages": [{"role":"system","content":"Be brief."},"#),
        "{first}"
    );
    assert!(first.contains(r#""metadata": {"a": [1, 2.50]}"#), "{first}");
    assert!(first.contains("Report temperatures in kelvin."), "{first}");
    assert!(
        first.contains(r#"{"role": "user",  "content": "How warm is pump 7?"}"#),
        "{first}"
    );
    let broken = tenure::conform::check(Format::OpenAiChat, &first, None).unwrap();
    assert!(broken.is_empty(), "{broken:?}");

    // What was sent stays, to the byte, when the conversation goes on.
    let id = session(&reply);
    wait_for_messages(&bench, &id, Format::OpenAiChat, 2);
    let next = body.replace(
        "}], \"metadata\"",
        "}, {\"role\":\"assistant\",\"content\":\"Warm.\"}, {\"role\":\"user\",\"content\":\"And pump 8?\"}], \"metadata\"",
    );
    let reply = ask_raw(&bench, path, &next);
    assert_eq!(session(&reply), id);
    let second = string(&upstream.seen()[2].body);
    let prefix = &first[..first.rfind("], \"metadata\"").unwrap()];
    assert!(second.starts_with(prefix), "{first}\n{second}");
    assert_eq!(second.matches("Report temperatures in kelvin.").count(), 1);
    assert_eq!(second.matches("And pump 8?").count(), 1);
}

fn ask_raw(bench: &Bench, path: &str, body: &str) -> Reply {
    let reply = bench.ask("POST", path, &HEAD, body.as_bytes());
    assert_eq!(reply.status, 200, "{}", string(&reply.body));
    reply
}

#[test]
fn full_keeps_what_is_the_clients_and_marks_the_cache() {
    let said = r#"{"content":[{"type":"text","text":"Warm."}],"role":"assistant","stop_reason":"end_turn"}"#;
    let upstream = Upstream::saying("application/json", said);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    know(
        &bench,
        &json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule" }),
    );
    // A tool of the store is nobody's here to run.
    know(
        &bench,
        &json!({ "name": "drain", "content": "Drains a tank.", "object_type": "tool_schema", "input_schema": { "type": "object" } }),
    );
    // Long enough for its provider's cache.
    let brief = "Be brief, be exact, and say what you do not know. ".repeat(800);
    let image = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aGVsbG8=" } });
    let request = json!({
        "model": "claude-opus-4-5", "max_tokens": 100, "temperature": 0.5,
        "system": [{ "type": "text", "text": brief, "cache_control": { "type": "ephemeral" } }],
        "tools": [{ "name": "look", "description": "Looks.", "input_schema": { "type": "object" } }],
        "messages": [{ "role": "user", "content": [image, { "type": "text", "text": "What is this?", "cache_control": { "type": "ephemeral" } }] }],
    });
    let reply = ask(&bench, "/v1/messages", &request);
    assert_eq!((reply.status, reply.header("x-tenure-fault")), (200, None));
    let sent = string(&upstream.only().body);
    let body: Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(body["tools"].as_array().unwrap().len(), 1, "{sent}");
    assert_eq!(body["tools"][0]["name"], "look");
    assert_eq!(
        (&body["temperature"], &body["max_tokens"]),
        (&json!(0.5), &json!(100))
    );
    assert_eq!(body["system"][0]["text"], brief.as_str());
    assert!(body["system"].to_string().contains("kelvin"), "{sent}");
    assert_eq!(body["messages"][0]["content"][0], image);
    let marks = sent.matches("cache_control").count();
    assert!((1..=4).contains(&marks), "{sent}");
    let broken = tenure::conform::check(Format::Anthropic, &sent, None).unwrap();
    assert!(broken.is_empty(), "{broken:?}");

    // What the provider shortens itself is left alone. What is counted is what is sent.
    let mut managed = request.clone();
    managed["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    ask(&bench, "/v1/messages", &managed);
    assert_eq!(string(&upstream.seen()[1].body), managed.to_string());
    let counted = ask(&bench, "/v1/messages/count_tokens", &request);
    assert_eq!(counted.status, 200);
    assert_eq!(counted.header("x-tenure-session"), None);
    assert_eq!(string(&upstream.seen()[2].body), sent);
}

#[test]
fn counting_is_of_what_is_sent_and_changes_nothing() {
    let reply = r#"{"content":[{"type":"text","text":"Warm."}],"role":"assistant","stop_reason":"end_turn"}"#;
    let upstream = Upstream::new(move |seen, to| {
        let said = if seen.line.contains("input_tokens") || seen.line.contains("count_tokens") {
            r#"{"input_tokens":7}"#
        } else {
            reply
        };
        to.write_all(&answer("200 OK", "application/json", said.as_bytes())).unwrap();
    });
    let last = |upstream: &Upstream| string(&upstream.seen().last().unwrap().body);
    for mode in [Mode::Fit, Mode::Full] {
        let bench = compiling(&upstream, mode, |options| options);
        know(
            &bench,
            &json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule" }),
        );
        let sessions = || Session::list(&bench.store.tenant("local").unwrap()).unwrap().len();
        for turns in [1, 21] {
            let request =
                json!({ "model": "claude-small", "max_tokens": 500, "messages": long(turns) });
            let before = sessions();
            for _ in 0..2 {
                let counted = ask(&bench, "/v1/messages/count_tokens", &request);
                assert_eq!(
                    (counted.status, counted.json()),
                    (200, json!({ "input_tokens": 7 }))
                );
            }
            assert_eq!(sessions(), before);
            let counted = last(&upstream);
            ask(&bench, "/v1/messages", &request);
            assert_eq!(last(&upstream), counted, "{mode:?}");
            let came = request.to_string();
            let (is_longer, is_shorter) = (counted.len() > came.len(), counted.len() < came.len());
            assert_eq!(
                (is_shorter, is_longer),
                (turns > 1, mode == Mode::Full && turns == 1)
            );
        }
        let request = json!({ "model": "small", "input": long(21) });
        ask(&bench, "/v1/responses/input_tokens", &request);
        assert!(last(&upstream).len() < request.to_string().len());
    }
}

#[test]
fn a_begun_answer_is_the_last_message_also_in_full() {
    let said = r#"{"content":[{"type":"text","text":"warm."}],"role":"assistant","stop_reason":"end_turn"}"#;
    let upstream = Upstream::saying("application/json", said);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    know(
        &bench,
        &json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule" }),
    );
    let begun = |turns: usize, begin: &str| {
        let mut messages = long(turns);
        messages.push(assistant(begin));
        json!({ "model": "claude-small", "max_tokens": 200, "messages": messages })
    };
    // What fits stays as it came, with what stands beside it.
    let short = begun(1, "{\"warm\":");
    let id = session(&ask(&bench, "/v1/messages", &short));
    let sent: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    assert_eq!(sent["messages"], short["messages"]);
    assert!(sent["system"].to_string().contains("kelvin"), "{sent}");
    wait_for_messages(&bench, &id, Format::Anthropic, 2);
    // What does not is cut, and still ends with it.
    let reply = ask(&bench, "/v1/messages", &begun(21, "It is "));
    assert_eq!((reply.status, reply.header("x-tenure-fault")), (200, None));
    let sent: Value = serde_json::from_slice(&upstream.seen()[1].body).unwrap();
    let messages = sent["messages"].as_array().unwrap();
    assert!(messages.len() < 22);
    assert!(
        messages.last().unwrap()["content"].to_string().contains("It is "),
        "{sent}"
    );
    assert_eq!(messages.last().unwrap()["role"], "assistant");
    assert!(sent["system"].to_string().contains("kelvin"), "{sent}");
}

#[test]
fn conversations_under_other_credentials_are_others() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let body = chat(&[user("How warm is it?")]).to_string();
    let of = |header: &str| {
        let reply = bench.ask(
            "POST",
            "/v1/chat/completions",
            &[HEAD[0], header],
            body.as_bytes(),
        );
        session(&reply)
    };
    let headers = [
        "authorization: Bearer a",
        "authorization: Bearer b",
        "x-api-key: a",
        "api-key: a",
        "api-key: b",
    ];
    let ids: Vec<String> = headers.iter().map(|header| of(header)).collect();
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(of(headers[at]), *id);
        assert!(!ids[..at].contains(id), "{}", headers[at]);
    }
    // It went on to the provider, and is nowhere else.
    let seen = upstream.seen();
    assert!(seen.iter().any(|seen| seen.header("api-key") == Some("a")));
    let tenant = bench.store.tenant("local").unwrap();
    for (log, _) in tenant.logs().unwrap() {
        for (_, entry) in tenant.entries(&log, 0).unwrap() {
            assert!(
                !entry.contains("Bearer a") && !entry.contains("api-key"),
                "{entry}"
            );
        }
    }
}

#[test]
fn responses_get_it_with_their_instructions() {
    let said = r#"{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Warm."}]}]}"#;
    let upstream = Upstream::saying("application/json", said);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    know(
        &bench,
        &json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule" }),
    );
    let request = json!({ "model": "small", "instructions": "Be brief.", "input": "How warm is it?", "reasoning": { "effort": "low" } });
    let reply = ask(&bench, "/v1/responses", &request);
    assert_eq!((reply.status, reply.header("x-tenure-fault")), (200, None));
    let body: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    let instructions = body["instructions"].as_str().unwrap();
    assert!(
        instructions.starts_with("Be brief.\n\n") && instructions.contains("kelvin"),
        "{body}"
    );
    assert_eq!(body["reasoning"], json!({ "effort": "low" }));
    let id = session(&reply);
    let found = wait_for_messages(&bench, &id, Format::OpenAiResponses, 2);
    assert!(found[1].to_string().contains("Warm."));
}

#[test]
fn full_fails_open_or_closed() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let rule = json!({ "name": "units", "content": "Report it. ".repeat(4_000), "object_type": "policy_rule" });
    let request = chat(&[user("How warm is it?")]);
    let open = compiling(&upstream, Mode::Full, |options| options);
    know(&open, &rule);
    let reply = ask(&open, "/v1/chat/completions", &request);
    assert_eq!(
        (reply.status, reply.header("x-tenure-fault")),
        (200, Some("does_not_fit"))
    );
    assert_eq!(string(&upstream.only().body), request.to_string());
    let closed = compiling(&upstream, Mode::Full, |options| Options {
        fail_closed: true,
        ..options
    });
    know(&closed, &rule);
    let reply = ask(&closed, "/v1/chat/completions", &request);
    assert_eq!(reply.status / 100, 4);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn each_tenant_has_its_own_policy_and_objects() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Full, |options| options);
    let keys = Keys::of(&bench.store).unwrap();
    let made = Instant::from_micros(1_790_000_000_000_000);
    let key = |tenant: &str| keys.create(Grant::owner(tenant), made).unwrap().1;
    let (acme, other) = (key("acme"), key("other"));
    let ask_as = |key: &str, method: &str, path: &str, body: &Value| {
        let key = format!("x-tenure-key: {key}");
        bench.ask(method, path, &[HEAD[0], &key], body.to_string().as_bytes())
    };
    // Keys are looked at once in a second.
    wait_for(|| (bench.get("/api/v1/objects").status == 401).then_some(()));
    let rule = json!({ "name": "units", "content": "Report temperatures in kelvin.", "object_type": "rule", "protection": "pinned" });
    let written = ask_as(&acme, "PUT", "/api/v1/objects/units", &rule);
    assert!(written.status < 300, "{}", string(&written.body));
    let text = "name = \"gateway\"\nheadings = false\nprecedence = false\nrequired = []\n";
    let tenant = bench.store.tenant("acme").unwrap();
    Policies::of(&tenant).keep(&Policy::from_toml(text).unwrap()).unwrap();
    let request = chat(&[user("How warm is it?")]);
    let path = "/v1/chat/completions";
    let first = ask_as(&acme, "POST", path, &request);
    let second = ask_as(&other, "POST", path, &request);
    assert_eq!((first.status, second.status), (200, 200));
    let seen = upstream.seen();
    let sent = string(&seen[0].body);
    assert!(sent.contains("kelvin") && !sent.contains("# "), "{sent}");
    assert_eq!(string(&seen[1].body), request.to_string());
    assert_ne!(session(&first), session(&second));
    for seen in seen {
        assert_eq!(seen.header("x-tenure-key"), None);
    }
}

#[test]
fn what_was_asked_is_durable_when_the_upstream_fails() {
    let upstream = Upstream::new(|_, to| to.shutdown(std::net::Shutdown::Both).unwrap());
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    for at in 0..8 {
        let asked = user(&format!("{at}: how warm is it?"));
        let reply = ask(
            &bench,
            "/v1/chat/completions",
            &chat(std::slice::from_ref(&asked)),
        );
        assert_eq!(reply.status, 502);
        let found = messages(&bench, &session(&reply), Format::OpenAiChat);
        assert_eq!(found, [asked]);
    }
}

#[test]
fn a_handle_leads_to_the_conversation_that_offers_the_tools() {
    let upstream = Upstream::saying("application/json", r#"{"content":[]}"#);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("conversation.json");
    let handle = Handle::at(&path);
    let bench = compiling(&upstream, Mode::Fit, |options| Options {
        conversation: Some(Handle::at(&path)),
        ..options
    });
    let asked = |about: &str, tool: &str| {
        let body = json!({
            "model": "claude-small", "max_tokens": 100,
            "messages": [{ "role": "user", "content": format!("Look after {about}.") }],
            "tools": [{ "name": tool, "input_schema": { "type": "object" } }],
        });
        session(&ask(&bench, "/v1/messages", &body))
    };
    let read = || handle.read().unwrap().map(|found| (found.tenant, found.session));
    // A title is asked for, then the task, then another title.
    asked("the title", "look");
    assert_eq!(read(), None);
    let task = asked("pump 7", "mcp__tenure__rehydrate");
    assert_eq!(read(), Some(("local".to_owned(), task.clone())));
    let title = asked("another title", "look");
    assert_ne!(title, task);
    assert_eq!(read(), Some(("local".to_owned(), task.clone())));
    let next = asked("pump 8", "mcp__tenure__rehydrate");
    assert_ne!(next, task);
    assert_eq!(read(), Some(("local".to_owned(), next)));
}

#[test]
fn a_key_of_its_own_opens_one_server_and_is_in_no_store() {
    let upstream = Upstream::saying("application/json", r#"{"content":[]}"#);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let keys = Keys::of(&store).unwrap();
    keys.create(
        Grant::owner("acme"),
        Instant::from_micros(1_700_000_000_000_000),
    )
    .unwrap();
    let bench = Bench::over(folder, store, &[upstream.url()], |options| Options {
        own_key: Some("tnr_run_5ec1e7".into()),
        ..options
    });
    let body = json!({ "model": "claude-opus-4-5", "max_tokens": 9, "messages": [{ "role": "user", "content": "Hi." }] });
    let asked = |key: &str| {
        let own = format!("x-tenure-key: {key}");
        let head = [HEAD[0], &own];
        bench.ask("POST", "/v1/messages", &head, body.to_string().as_bytes()).status
    };
    assert_eq!(asked("tnr_run_5ec1e7"), 200);
    for other in ["", "tnr_run_5ec1e", "tnr_run_5ec1e78", "run", "tnr_run"] {
        assert_eq!(asked(other), 401, "{other}");
    }
    assert_eq!(keys.load().unwrap().iter().count(), 1);
    // It does not go to the provider.
    assert!(!format!("{:?}", upstream.seen()[0].headers).contains("5ec1e7"));
}
