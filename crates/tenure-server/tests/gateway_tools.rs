//! The agent's own tools in `full`: which of them an epoch offers, where the tenant's policy has a gate for them.

use std::collections::BTreeMap;

use crate::support::{Bench, Reply, Seen, Upstream, answer, compiling};
use serde_json::{Value, json};
use tenure::{FrameKey, Policy};
use tenure_server::Mode;
use tenure_workspace::{Policies, Workspace};

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
        let last = body["messages"].as_array().and_then(|all| all.last().cloned());
        let said = last.unwrap_or_default()["content"].to_string();
        let called = TOOLS.iter().find(|(name, _)| said.contains(&format!("call {name}")));
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
    let tenant = bench.store.tenant("local").unwrap();
    let policy = Policy::from_toml(&text).unwrap();
    Policies::of(&tenant).keep(&policy).unwrap();
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

/// How many requests the sessions of the tenant note as sent.
fn noted(bench: &Bench) -> usize {
    let tenant = bench.store.tenant("local").unwrap();
    let logs = tenant.logs().unwrap();
    let sessions = logs.iter().filter(|(log, _)| log.starts_with("session/"));
    let entries = sessions.flat_map(|(log, _)| tenant.entries(log, 0).unwrap());
    let served = entries.filter(|(_, body)| body.starts_with("{\"served\""));
    served.count()
}

#[test]
fn what_is_never_sent_is_not_noted() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let mut forced = chat(&[said("user", "What is the temperature of pump 7?")]);
    forced["tool_choice"] = json!({ "type": "function", "function": { "name": "paint" } });
    let reply = ask(&bench, CHAT, &forced);
    bench.record("local", &reply.record());
    assert_eq!(offered(&upstream.only()), ["paint", "read_thermometer"]);
    assert_eq!(noted(&bench), 1);
    let bench = gated(&upstream, "tools_threshold = 1.0");
    let reply = ask(&bench, CHAT, &chat(&[said("user", "Xyzzy.")]));
    bench.record("local", &reply.record());
    assert_eq!(noted(&bench), 1);
}

#[test]
fn all_tools_take_their_room_where_none_would_be_left() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_threshold = 1.0");
    let long = "It has a number of settings that are described at length. ".repeat(24);
    let tools = TOOLS.map(|(name, _)| tool(name, &long));
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    let cost = |of: &Value| world.tokenizer().count(&of.to_string());
    // What is said fits by itself.
    let mut messages = Vec::new();
    while cost(&json!(messages)) < 1_700 {
        let text = format!("Plugh {}. ", messages.len()).repeat(12);
        messages.push(said("user", &text));
        messages.push(said("assistant", &text));
    }
    messages.push(said("user", "Xyzzy."));
    let mut body = chat(&messages);
    body["tools"] = json!(tools);
    let reply = ask(&bench, CHAT, &body);
    assert_eq!(left_out(&reply), None);
    let sent: Value = serde_json::from_slice(&upstream.only().body).unwrap();
    assert_eq!(sent["tools"], body["tools"]);
    let (tools, history) = (cost(&sent["tools"]), cost(&sent["messages"]));
    // The window has 3,000 tokens, of which 500 are the answer's.
    assert!(
        tools > 1_000 && tools + history < 2_500,
        "{tools} {history}"
    );
    assert!(tools + cost(&body["messages"]) > 2_500);
    // The next request of the epoch goes on with them, and what was sent stays.
    messages.push(said("assistant", "Done."));
    messages.push(said("user", "And now?"));
    body["messages"] = json!(messages);
    ask(&bench, CHAT, &body);
    let next: Value = serde_json::from_slice(&upstream.seen()[1].body).unwrap();
    assert_eq!(next["tools"], sent["tools"]);
}

#[test]
fn what_is_found_by_the_agents_own_search_and_what_finds_it_stay() {
    let upstream = upstream();
    let bench = gated(&upstream, "tools_top_k = 1");
    let schema = json!({ "type": "object" });
    let deferred = |name: &str, says: &str| json!({ "name": name, "description": says, "input_schema": schema, "defer_loading": true });
    let plain =
        json!({ "name": "find_tools", "description": "Looks for tools.", "input_schema": schema });
    let mut tools = TOOLS.map(|(name, says)| deferred(name, says)).to_vec();
    tools.push(plain);
    let asked = [said("user", "What is the temperature of pump 7?")];
    let mut body =
        json!({ "model": "claude-small", "max_tokens": 100, "messages": asked, "tools": tools });
    let reply = ask(&bench, "/v1/messages", &body);
    assert_eq!(left_out(&reply), None);
    assert_eq!(offered(&upstream.seen()[0]).len(), 5);
    // Where the provider finds them, the others are gated.
    let another = json!({ "name": "read_pressure", "description": "Reads the temperature of pump 7.", "input_schema": schema });
    let own = json!({ "type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25" });
    tools.extend([another, own]);
    body["tools"] = json!(tools);
    body["messages"] = json!([said("user", "What is the temperature of pump 8?")]);
    let reply = ask(&bench, "/v1/messages", &body);
    assert_eq!(left_out(&reply), Some("gated_out=1"));
    assert!(!offered(&upstream.seen()[1]).contains(&"find_tools".to_owned()));
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
