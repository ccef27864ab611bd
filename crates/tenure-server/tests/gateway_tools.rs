//! The agent's own tools in `full`: which of them an epoch offers, where the tenant's policy has a gate for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use support::{Bench, Reply, Seen, Upstream, answer, compiling};
use tenure::{FrameKey, Policy};
use tenure_server::Mode;
use tenure_workspace::Workspace;

const HEAD: [&str; 1] = ["content-type: application/json"];
const CHAT: &str = "/v1/chat/completions";
const TOOLS: [(&str, &str); 4] = [
    ("paint", "Draws a picture from a description."),
    ("send_mail", "Sends an e-mail to a person."),
    ("read_thermometer", "Reads the temperature of a pump."),
    ("book_flight", "Books a flight between two cities."),
];

/// Answers a chat: with a call of the tool that the last message asks for, else with a text.
fn upstream() -> Upstream {
    Upstream::new(|seen, to| {
        let body: Value = serde_json::from_slice(&seen.body).unwrap();
        let last = body["messages"]
            .as_array()
            .and_then(|all| all.last().cloned());
        let said = last.unwrap_or_default()["content"].to_string();
        let called = TOOLS
            .iter()
            .find(|(name, _)| said.contains(&format!("call {name}")));
        let message = match called {
            Some((name, _)) => {
                json!({ "role": "assistant", "content": null, "tool_calls": [call(name)] })
            }
            None => json!({ "role": "assistant", "content": "Done." }),
        };
        let reply =
            json!({ "choices": [{ "index": 0, "finish_reason": "stop", "message": message }] });
        let bytes = answer("200 OK", "application/json", reply.to_string().as_bytes());
        std::io::Write::write_all(to, &bytes).unwrap();
    })
}

fn call(name: &str) -> Value {
    json!({ "id": format!("call_{name}"), "type": "function", "function": { "name": name, "arguments": "{}" } })
}

fn said(role: &str, text: &str) -> Value {
    json!({ "role": role, "content": text })
}

fn tool(name: &str, says: &str) -> Value {
    let schema = json!({ "type": "object" });
    json!({ "type": "function", "function": { "name": name, "description": says, "parameters": schema } })
}

fn chat(messages: &[Value]) -> Value {
    let tools: Vec<Value> = TOOLS.iter().map(|(name, says)| tool(name, says)).collect();
    json!({ "model": "small", "messages": messages, "tools": tools })
}

/// A gateway whose tenant has a policy for tools.
fn gated(upstream: &Upstream, gate: &str) -> Bench {
    let bench = compiling(upstream, Mode::Full, |options| options);
    let text = format!(
        "name = \"gateway\"\nheadings = false\nprecedence = false\nrequired = []\n[session]\n{gate}\n"
    );
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let tenant = bench.store.tenant("local").unwrap();
    let policy = Policy::from_toml(&text).unwrap();
    workspace.keep_policy(&tenant, &policy).unwrap();
    bench
}

fn ask(bench: &Bench, path: &str, body: &Value) -> Reply {
    let reply = bench.ask("POST", path, &HEAD, body.to_string().as_bytes());
    let said = String::from_utf8_lossy(&reply.body);
    assert_eq!(
        (reply.status, reply.header("x-tenure-fault")),
        (200, None),
        "{said}"
    );
    reply
}

/// The names of the tools that were offered.
fn offered(seen: &Seen) -> Vec<String> {
    let body: Value = serde_json::from_slice(&seen.body).unwrap();
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
        name.unwrap().to_owned()
    };
    body["tools"].as_array().unwrap().iter().map(name).collect()
}

fn left_out(reply: &Reply) -> Option<&str> {
    reply.header("x-tenure-tools-left-out")
}

#[test]
fn an_epoch_offers_the_tools_that_it_began_with() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let mut messages = vec![said("user", "What is the temperature of pump 7?")];
    let reply = ask(&bench, CHAT, &chat(&messages));
    assert_eq!(left_out(&reply), Some("gated_out=3"));
    let first = upstream.only();
    assert_eq!(offered(&first), ["read_thermometer"]);
    let body: Value = serde_json::from_slice(&first.body).unwrap();
    assert_eq!(body["tools"][0], tool(TOOLS[2].0, TOOLS[2].1));
    let record = bench.record("local", &reply.record());
    let gone = ["book_flight", "paint", "send_mail"].map(|name| (name.into(), "gated_out".into()));
    assert_eq!(record.tools_left_out, BTreeMap::from(gone));

    // What is asked next has other tools near it: they wait for the end of the epoch.
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "Then draw a picture of it."));
    let reply = ask(&bench, CHAT, &chat(&messages));
    assert_eq!(offered(&upstream.seen()[1]), ["read_thermometer"]);
    assert_eq!(left_out(&reply), Some("next_epoch=3"));
    let prefix = |seen: &Seen| {
        let body = String::from_utf8(seen.body.clone()).unwrap();
        body[body.find("\"tools\"").unwrap()..].to_owned()
    };
    assert_eq!(prefix(&upstream.seen()[1]), prefix(&first));

    // A model may know of it all the same: that is told, and what the conversation calls is offered.
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "call send_mail"));
    let reply = ask(&bench, CHAT, &chat(&messages));
    assert_eq!(reply.header("x-tenure-output"), Some("tool_left_out"));
    let record = bench.record("local", &reply.record());
    assert_eq!(record.output, ["tool_left_out"]);
    messages
        .push(json!({ "role": "assistant", "content": null, "tool_calls": [call("send_mail")] }));
    messages.push(json!({ "role": "tool", "tool_call_id": "call_send_mail", "content": "Sent." }));
    ask(&bench, CHAT, &chat(&messages));
    let last = upstream.seen().pop().unwrap();
    assert!(offered(&last).contains(&"send_mail".to_owned()), "{last:?}");
    let sent = String::from_utf8(last.body).unwrap();
    let broken = tenure::conform::check(tenure::wire::Format::OpenAiChat, &sent, None).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn what_a_request_forces_is_offered_from_then_on() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let mut messages = vec![said("user", "What is the temperature of pump 7?")];
    ask(&bench, CHAT, &chat(&messages));
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "Go on."));
    let mut forced = chat(&messages);
    forced["tool_choice"] = json!({ "type": "function", "function": { "name": "paint" } });
    ask(&bench, CHAT, &forced);
    let with_paint = offered(&upstream.seen()[1]);
    assert!(with_paint.contains(&"paint".to_owned()), "{with_paint:?}");
    assert!(with_paint.len() < TOOLS.len(), "{with_paint:?}");
    // The choice is the agent's, the list is the epoch's.
    ask(&bench, CHAT, &chat(&messages));
    assert_eq!(offered(&upstream.seen()[2]), with_paint);
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "And now?"));
    ask(&bench, CHAT, &chat(&messages));
    assert_eq!(offered(&upstream.seen()[3]), with_paint);
    // One that asks for it at once has it at once.
    let mut other = chat(&[said("user", "Something else altogether.")]);
    other["tool_choice"] = forced["tool_choice"].clone();
    ask(&bench, CHAT, &other);
    assert!(offered(&upstream.seen()[4]).contains(&"paint".to_owned()));
}

#[test]
fn a_tool_that_joins_waits_and_one_that_is_gone_ends_the_epoch() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let first = said("user", "What is the temperature of pump 7?");
    ask(&bench, CHAT, &chat(std::slice::from_ref(&first)));
    // The same conversation, asked again with one more tool.
    let mut more = chat(&[first]);
    let tools = more["tools"].as_array_mut().unwrap();
    tools.insert(0, tool("temperature_of_pump", "The temperature of pump 7."));
    let reply = ask(&bench, CHAT, &more);
    assert_eq!(offered(&upstream.seen()[1]), ["read_thermometer"]);
    assert_eq!(left_out(&reply), Some("next_epoch=4"));
    let tools = more["tools"].as_array_mut().unwrap();
    tools.retain(|tool| tool["function"]["name"] != "read_thermometer");
    ask(&bench, CHAT, &more);
    assert_eq!(offered(&upstream.seen()[2]), ["temperature_of_pump"]);
}

#[test]
fn each_protocol_keeps_what_its_provider_runs() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let asked = "What is the temperature of pump 7?";
    let named = |key: &str| {
        let each = TOOLS.map(|(name, says)| {
            let mut tool = json!({ "name": name, "description": says });
            tool[key] = json!({ "type": "object" });
            if key == "parameters" {
                tool["type"] = "function".into();
            }
            tool
        });
        let mut each = each.to_vec();
        each.insert(
            1,
            json!({ "type": "web_search_20250305", "name": "web_search" }),
        );
        each
    };
    let messages = json!({
        "model": "claude-small", "max_tokens": 100, "messages": [said("user", asked)],
        "tools": named("input_schema"),
    });
    let responses = json!({ "model": "small", "input": asked, "tools": named("parameters") });
    for (path, body) in [("/v1/messages", messages), ("/v1/responses", responses)] {
        let reply = ask(&bench, path, &body);
        assert_eq!(left_out(&reply), Some("gated_out=3"), "{path}");
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(offered(&seen), ["web_search", "read_thermometer"], "{path}");
    }
    // What is counted is what would be sent.
    let counted = json!({
        "model": "claude-small", "messages": [said("user", asked)], "tools": named("input_schema"),
    });
    ask(&bench, "/v1/messages/count_tokens", &counted);
    let seen = upstream.seen().pop().unwrap();
    assert_eq!(offered(&seen), ["web_search", "read_thermometer"]);
}

#[test]
fn a_list_is_never_empty_and_without_a_gate_it_goes_on_as_it_came() {
    let upstream = upstream();
    // Nothing is as near as that by what a tool is called.
    let bench = gated(&upstream, "tools_threshold = 1.0");
    let body = chat(&[said("user", "Xyzzy.")]);
    let reply = ask(&bench, CHAT, &body);
    assert_eq!(left_out(&reply), None);
    assert_eq!(offered(&upstream.only()), TOOLS.map(|(name, _)| name));
    let bench = compiling(&upstream, Mode::Full, |options| options);
    ask(&bench, CHAT, &body);
    let came = upstream.seen().pop().unwrap();
    assert_eq!(String::from_utf8(came.body).unwrap(), body.to_string());
}
