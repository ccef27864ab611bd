//! Answers checked against their requests, provider by provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::checks::{MAX_CHECKED, MAX_WORK};
use super::*;
use crate::object::ObjectDocument;

fn faults(format: Format, request: &Value, message: &str) -> Vec<OutputFault> {
    let demands = Demands {
        format,
        request: &RequestBody(request.clone()),
        constraints: &[],
        sources: &[],
        relaxed: &[],
        left_out: &BTreeMap::new(),
    };
    demands.check(message).faults
}

#[test]
fn what_a_request_offers_that_cannot_be_read_is_not_looked_at() {
    let call = r#"{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}"#;
    let look = r#""tools":[{"type":"function","name":"look"}]"#;
    let late = r#"{"type":"additional_tools","tools":[{"type":"function","name":"look"}]}"#;
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for body in [
        format!("{{{look},{look}}}"),
        format!("{{{look},\"tool_choice\":{deep}}}"),
        format!("{{\"input\":[{late}],\"input\":[{late}]}}"),
        "{".to_owned(),
    ] {
        let asked = RequestBody::demands(body.as_bytes());
        assert_eq!(
            faults(Format::OpenAiResponses, asked.value(), call),
            [],
            "{body}"
        );
    }
    let nothing = RequestBody::demands(br#"{"input":"Look."}"#);
    let found = faults(Format::OpenAiResponses, nothing.value(), call);
    assert_eq!(found, [OutputFault::ToolNotOffered]);
}

#[test]
fn all_calls_of_an_answer_share_their_steps() {
    let again: Vec<Value> = (0..20).map(|_| json!({ "$ref": "#" })).collect();
    let wide = json!({ "allOf": again });
    let tool = json!({ "type": "function", "name": "look", "parameters": wide });
    let call = r#"{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}"#;
    let calls = vec![call; 20_000].join(",");
    let request = json!({ "tools": [tool] });
    assert_eq!(faults(Format::OpenAiResponses, &request, &calls), []);
}

#[test]
fn the_text_is_what_the_request_asks_for() {
    let schema = json!({ "type": "object", "required": ["warm"], "properties": { "warm": { "type": "boolean" } } });
    let look = json!({ "type": "function", "function": { "name": "look" } });
    let chat = json!({ "tools": [look], "response_format": { "type": "json_schema", "json_schema": { "name": "w", "schema": schema } } });
    let responses =
        json!({ "text": { "format": { "type": "json_schema", "name": "w", "schema": schema } } });
    let messages =
        json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
    let older = json!({ "output_format": { "type": "json_schema", "schema": schema } });
    let said = |format, text: &str| match format {
        Format::OpenAiChat => json!({ "role": "assistant", "content": text }).to_string(),
        Format::Anthropic => {
            let (one, other) = text.split_at(text.len() / 2);
            let blocks = [one, other].map(|text| json!({ "type": "text", "text": text }));
            json!({ "role": "assistant", "content": blocks }).to_string()
        }
        _ => {
            let item = |phase: &str, text: &str| json!({ "type": "message", "phase": phase, "content": [{ "type": "output_text", "text": text }] });
            format!(
                "{},{}",
                item("commentary", "Let me see."),
                item("final_answer", text)
            )
        }
    };
    for (format, request) in [
        (Format::OpenAiChat, &chat),
        (Format::OpenAiResponses, &responses),
        (Format::Anthropic, &messages),
        (Format::Anthropic, &older),
    ] {
        let faults = |text: &str| faults(format, request, &said(format, text));
        assert_eq!(faults(r#" {"warm": true} "#), [], "{request}");
        for wrong in [
            "",
            "Yes.",
            "{\"warm\":1}",
            "{\"warm\":true",
            "[]",
            "```json\n{\"warm\":true}\n```",
        ] {
            assert_eq!(
                faults(wrong),
                [OutputFault::ResponseSchema],
                "{wrong} {request}"
            );
        }
    }
    let any = json!({ "response_format": { "type": "json_object" } });
    assert_eq!(
        faults(Format::OpenAiChat, &any, &said(Format::OpenAiChat, "{}")),
        []
    );
    assert_eq!(
        faults(Format::OpenAiChat, &any, &said(Format::OpenAiChat, "[]")),
        [OutputFault::ResponseSchema]
    );
    // A call, and a refusal, come before it.
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let called = json!({ "role": "assistant", "content": "Let me look.", "tool_calls": [call] });
    let refused = json!({ "role": "assistant", "content": null, "refusal": "I cannot." });
    for message in [called, refused] {
        assert_eq!(
            faults(Format::OpenAiChat, &chat, &message.to_string()),
            [],
            "{message}"
        );
    }
}

#[test]
fn a_forced_tool_is_called() {
    let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
    let request =
        |choice: Value| json!({ "tools": [tool("look"), tool("note")], "tool_choice": choice });
    let said = |blocks: Value| json!({ "role": "assistant", "content": blocks }).to_string();
    let text = said(json!([{ "type": "text", "text": "No." }]));
    let called = said(json!([{ "type": "tool_use", "id": "1", "name": "look", "input": {} }]));
    let of = |choice: Value, message: &str| faults(Format::Anthropic, &request(choice), message);
    for choice in [
        json!({ "type": "any" }),
        json!({ "type": "tool", "name": "look" }),
    ] {
        assert_eq!(of(choice.clone(), &called), []);
        assert_eq!(of(choice, &text), [OutputFault::ToolNotCalled]);
    }
    assert_eq!(
        of(json!({ "type": "tool", "name": "note" }), &called),
        [OutputFault::ToolNotCalled]
    );
    for choice in [json!({ "type": "auto" }), json!("auto"), json!(null)] {
        assert_eq!(of(choice, &text), []);
    }
    let chat = json!({ "tool_choice": { "type": "function", "function": { "name": "look" } }, "tools": [{ "function": { "name": "look" } }] });
    let text = r#"{"role":"assistant","content":"No."}"#;
    assert_eq!(
        faults(Format::OpenAiChat, &chat, text),
        [OutputFault::ToolNotCalled]
    );
}

#[test]
fn constraints_are_held_against_what_is_said_and_called() {
    let constraint = |name: &str, constraint: Value| {
        let mut document = ObjectDocument::named(name, "As it says.");
        document.constraint = Some(serde_json::from_value(constraint).unwrap());
        AnswerConstraint::of(&document.seal().unwrap(), true)
    };
    let never = json!({ "rigidity": "hard", "polarity": "negative", "patterns": ["rm -rf"] });
    let always = json!({ "rigidity": "hard", "patterns": ["\\[[0-9]+\\]"] });
    let soft = json!({ "rigidity": "soft", "patterns": ["x"] });
    let unchecked = json!({ "rigidity": "hard" });
    assert!(constraint("a", soft).is_none() && constraint("a", unchecked).is_none());
    let all: Vec<Arc<AnswerConstraint>> =
        [constraint("never", never), constraint("always", always)]
            .into_iter()
            .flatten()
            .map(Arc::new)
            .collect();
    let demands = Demands {
        format: Format::OpenAiChat,
        request: &RequestBody(json!({})),
        constraints: &all,
        sources: &[],
        relaxed: &[],
        left_out: &BTreeMap::new(),
    };
    let broken = |message: Value| {
        let found = demands.check(&message.to_string());
        let is_broken = found.faults.contains(&OutputFault::ConstraintBroken);
        assert_eq!(found.broken.is_empty(), !is_broken);
        found
            .broken
            .iter()
            .map(|broken| broken.constraint.name.clone())
            .collect::<Vec<_>>()
    };
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    let calls = |arguments: &str| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": "run", "arguments": arguments } });
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    };
    assert!(broken(said("It is warm [1].")).is_empty());
    assert_eq!(broken(said("It is warm.")), ["always"]);
    assert_eq!(broken(said("Run rm -rf / [1]")), ["never"]);
    // However a call writes it. What must be said is not said with a call.
    assert_eq!(
        broken(calls(r#"{"command":["sh","\u0072m -rf /"]}"#)),
        ["never"]
    );
    assert!(broken(calls(r#"{"command":"ls"}"#)).is_empty());
    // No more is looked at than what an answer is worth, and that is told.
    let long = said(&format!("{}é rm -rf [1]", "x".repeat(MAX_CHECKED - 1)));
    assert_eq!(broken(long.clone()), ["always"]);
    let unchecked = [
        OutputFault::ConstraintBroken,
        OutputFault::ConstraintUnchecked,
    ];
    assert_eq!(demands.check(&long.to_string()).faults, unchecked);
}

fn never(patterns: &[&str], is_checked: bool) -> Arc<AnswerConstraint> {
    let mut document = ObjectDocument::named("never", "As it says.");
    let constraint = json!({ "rigidity": "hard", "polarity": "negative", "patterns": patterns });
    document.constraint = Some(serde_json::from_value(constraint).unwrap());
    let object = document.seal().unwrap();
    Arc::new(AnswerConstraint::of(&object, is_checked).unwrap())
}

#[test]
fn whatever_a_tool_is_passed_is_held_against_constraints() {
    let constraints = [never(&["rm -rf"], true)];
    let deep = |depth: usize| format!("{}\"rm -rf\"{}", "[".repeat(depth), "]".repeat(depth));
    let responses = |item: Value| (Format::OpenAiResponses, item.to_string());
    let chat = |fields: Value| {
        let mut message = json!({ "role": "assistant", "content": null });
        for (name, value) in fields.as_object().unwrap() {
            message[name] = value.clone();
        }
        (Format::OpenAiChat, message.to_string())
    };
    let blocks = |blocks: Value| {
        let message = json!({ "role": "assistant", "content": blocks });
        (Format::Anthropic, message.to_string())
    };
    let function = |arguments: &str| json!({ "name": "run", "arguments": arguments });
    let arguments =
        |arguments: &str| chat(json!({ "tool_calls": [{ "function": function(arguments) }] }));
    for (format, message) in [
        responses(json!({ "type": "custom_tool_call", "name": "run", "input": "rm -rf /" })),
        responses(
            json!({ "type": "local_shell_call", "action": { "command": ["sh", "rm -rf /"] } }),
        ),
        responses(json!({ "type": "web_search_call", "action": { "query": "rm -rf" } })),
        responses(json!({ "type": "mcp_call", "name": "run", "arguments": "{\"a\":\"rm -rf\"}" })),
        chat(json!({ "tool_calls": [{ "custom": { "name": "run", "input": "rm -rf /" } }] })),
        chat(json!({ "function_call": function("{\"a\":\"rm -rf\"}") })),
        responses(json!({ "type": "mcp_call", "arguments": "{\"a\":\"rm \\u002drf\"}" })),
        // No strict JSON, or too deep.
        arguments("{'a': 'rm -rf'}"),
        arguments(&deep(200)),
        blocks(
            json!([{ "type": "server_tool_use", "name": "bash", "input": { "command": "rm -rf /" } }]),
        ),
        // In two pieces.
        blocks(json!([{ "type": "text", "text": "rm " }, { "type": "text", "text": "-rf" }])),
    ] {
        let demands = Demands {
            format,
            request: &RequestBody(json!({ "tools": [{ "name": "run" }] })),
            constraints: &constraints,
            sources: &[],
            relaxed: &[],
            left_out: &BTreeMap::new(),
        };
        let breaks = |message: &str| {
            let faults = demands.check(message).faults;
            faults.contains(&OutputFault::ConstraintBroken)
        };
        assert!(breaks(&message), "{message}");
        assert!(!breaks(&message.replace("rm", "ls")), "{message}");
    }
    let demands = Demands {
        format: Format::Anthropic,
        request: &RequestBody(json!({})),
        constraints: &constraints,
        sources: &[],
        relaxed: &[],
        left_out: &BTreeMap::new(),
    };
    let deep = format!(
        "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{}}}]}}",
        deep(130)
    );
    assert_eq!(
        demands.check(&deep).faults,
        [OutputFault::ConstraintUnchecked]
    );
}

#[test]
fn what_is_not_looked_at_is_told() {
    let text = "ab".repeat(60_000);
    let message = json!({ "role": "assistant", "content": text }).to_string();
    let slow = never(&["a[ab]{800}[c-z]"], true);
    let slow_size = slow.size().unwrap();
    let faults = |constraints: &[Arc<AnswerConstraint>]| {
        let demands = Demands {
            format: Format::OpenAiChat,
            request: &RequestBody(json!({})),
            constraints,
            sources: &[],
            relaxed: &[],
            left_out: &BTreeMap::new(),
        };
        demands.check(&message).faults
    };
    assert!(slow_size * text.len() > MAX_WORK);
    // A slow one keeps nobody from looking at others.
    let constraints = [slow, never(&["abba"], true)];
    assert_eq!(faults(&constraints), [OutputFault::ConstraintUnchecked]);
    let constraints = [constraints[0].clone(), never(&["baba"], true)];
    assert_eq!(
        faults(&constraints),
        [
            OutputFault::ConstraintBroken,
            OutputFault::ConstraintUnchecked
        ]
    );
    assert_eq!(
        faults(&[never(&["c"], false)]),
        [OutputFault::ConstraintUnchecked]
    );
    assert_eq!(faults(&[never(&["c"], true)]), []);
}

#[test]
fn whoever_runs_a_tool_it_was_called() {
    let of = |format, choice: Value, message: Value| {
        faults(
            format,
            &json!({ "tools": [{ "type": "any" }], "tool_choice": choice,
            "text": { "format": { "type": "json_object" } } }),
            &message.to_string(),
        )
    };
    let item = |kind: &str| json!({ "type": kind, "status": "completed" });
    let responses = |kind| of(Format::OpenAiResponses, json!("required"), item(kind));
    assert_eq!(responses("local_shell_call"), []);
    assert_eq!(responses("web_search_call"), [OutputFault::ResponseSchema]);
    assert_eq!(
        responses("reasoning"),
        [OutputFault::ToolNotCalled, OutputFault::ResponseSchema]
    );
    let search = json!({ "type": "server_tool_use", "id": "1", "name": "web_search", "input": {} });
    let searched = json!({ "role": "assistant", "content": [search] });
    for choice in [
        json!({ "type": "any" }),
        json!({ "type": "tool", "name": "web_search" }),
    ] {
        assert_eq!(of(Format::Anthropic, choice, searched.clone()), []);
    }
    let other = json!({ "type": "tool", "name": "note" });
    assert_eq!(
        of(Format::Anthropic, other, searched),
        [OutputFault::ToolNotCalled]
    );
}

#[test]
fn where_nothing_is_offered_every_call_is_invented() {
    let of_functions = json!({ "name": "jump", "arguments": "{}" });
    let chat = json!({ "role": "assistant", "tool_calls": [{ "id": "a", "type": "function", "function": of_functions }] });
    let older = json!({ "role": "assistant", "function_call": of_functions });
    let responses =
        json!({ "type": "function_call", "call_id": "c", "name": "jump", "arguments": "{}" });
    let block = json!({ "type": "tool_use", "id": "1", "name": "jump", "input": {} });
    let anthropic = json!({ "role": "assistant", "content": [block] });
    let calls = [
        (Format::OpenAiChat, &chat),
        (Format::OpenAiChat, &older),
        (Format::OpenAiResponses, &responses),
        (Format::Anthropic, &anthropic),
    ];
    for (format, message) in calls {
        for request in [json!({}), json!({ "tools": [] }), json!({ "tools": null })] {
            let found = faults(format, &request, &message.to_string());
            assert_eq!(found, [OutputFault::ToolNotOffered], "{request} {message}");
        }
    }
    let said = r#"{"role":"assistant","content":"It is warm."}"#;
    assert_eq!(faults(Format::OpenAiChat, &json!({}), said), []);
    // Offered in the older form, in a message, or in a prompt that the provider keeps.
    let jump = json!({ "name": "jump", "parameters": { "type": "object" } });
    let functions = json!({ "functions": [jump] });
    assert_eq!(
        faults(Format::OpenAiChat, &functions, &older.to_string()),
        []
    );
    let items = json!([{ "type": "message", "role": "user", "content": "Jump." }, { "type": "additional_tools", "role": "developer", "tools": [jump] }]);
    let definition =
        json!({ "type": "tool_definition", "definition": { "name": "jump", "input_schema": {} } });
    let system =
        json!({ "role": "system", "content": [{ "type": "tool_addition", "tool": definition }] });
    for (format, body, message) in [
        (
            Format::OpenAiResponses,
            json!({ "input": items }),
            &responses,
        ),
        (
            Format::OpenAiResponses,
            json!({ "prompt": { "id": "pmpt_1" } }),
            &responses,
        ),
        (
            Format::Anthropic,
            json!({ "messages": [{ "role": "user", "content": "Jump." }, system] }),
            &anthropic,
        ),
    ] {
        let asked = RequestBody::demands(body.to_string().as_bytes());
        assert_eq!(
            faults(format, asked.value(), &message.to_string()),
            [],
            "{body}"
        );
    }
    // What a model or a tool wrote offers nothing.
    let items =
        json!([{ "type": "function_call_output", "call_id": "c", "output": items.to_string() }]);
    let claimed =
        json!({ "role": "user", "content": [{ "type": "tool_addition", "tool": definition }] });
    for (format, body, message) in [
        (
            Format::OpenAiResponses,
            json!({ "input": items }),
            &responses,
        ),
        (
            Format::Anthropic,
            json!({ "messages": [claimed] }),
            &anthropic,
        ),
    ] {
        let asked = RequestBody::demands(body.to_string().as_bytes());
        let found = faults(format, asked.value(), &message.to_string());
        assert_eq!(found, [OutputFault::ToolNotOffered], "{body}");
    }
}

#[test]
fn a_tool_of_a_namespace_is_called_by_its_own_name() {
    let tool = |name: &str, field: &str| json!({ "type": "function", "name": name, "parameters": { "type": "object", "required": [field] } });
    let spaces = json!({ "tools": [
        { "type": "namespace", "name": "mcp__a", "tools": [tool("look", "at"), tool("write", "text")] },
        { "type": "namespace", "name": "mcp__b", "tools": [tool("look", "into")] },
        { "type": "mcp", "tools": [tool("hidden", "x")] },
    ] });
    let faults_of = |name: &str, arguments: &str| {
        let call = json!({ "type": "function_call", "call_id": "c", "name": name, "namespace": "mcp__a", "arguments": arguments });
        faults(Format::OpenAiResponses, &spaces, &call.to_string())
    };
    assert_eq!(faults_of("write", r#"{"text":"x"}"#), []);
    assert_eq!(faults_of("write", "{}"), [OutputFault::ArgumentsSchema]);
    assert_eq!(faults_of("hidden", "{}"), [OutputFault::ToolNotOffered]);
    // Two are called alike: which one is meant is not looked into.
    assert_eq!(faults_of("look", "{}"), []);
    // A namespace is no tool.
    assert_eq!(faults_of("mcp__a", "{}"), [OutputFault::ToolNotOffered]);
}

#[test]
fn a_flat_tool_is_not_held_against_one_of_a_namespace_that_is_called_alike() {
    let tool = |field: &str| json!({ "type": "function", "name": "look", "parameters": { "type": "object", "required": [field] } });
    let space = json!({ "type": "namespace", "name": "mcp__a", "tools": [tool("at")] });
    let call = |arguments: &str| json!({ "type": "function_call", "call_id": "c", "name": "look", "arguments": arguments });
    for tools in [json!([space, tool("path")]), json!([tool("path"), space])] {
        let asked = json!({ "tools": tools });
        for arguments in [r#"{"path":"x"}"#, r#"{"at":"x"}"#] {
            let found = faults(
                Format::OpenAiResponses,
                &asked,
                &call(arguments).to_string(),
            );
            assert_eq!(found, [], "{tools} {arguments}");
        }
    }
    // Where both take the same, that is what is asked.
    let asked = json!({ "tools": [space, tool("at")] });
    let found = faults(Format::OpenAiResponses, &asked, &call("{}").to_string());
    assert_eq!(found, [OutputFault::ArgumentsSchema]);
}

#[test]
fn calls_are_held_against_what_was_offered() {
    let schema = json!({ "type": "object", "required": ["at"] });
    let chat = json!({ "tools": [{ "type": "function", "function": { "name": "look", "parameters": schema } }] });
    let called = |name: &str, arguments: &str| {
        let call = json!({ "id": "a", "type": "function", "function": { "name": name, "arguments": arguments } });
        json!({ "role": "assistant", "tool_calls": [call] }).to_string()
    };
    let faults_of =
        |name: &str, arguments: &str| faults(Format::OpenAiChat, &chat, &called(name, arguments));
    assert_eq!(faults_of("look", r#"{"at":"x"}"#), []);
    assert_eq!(faults_of("look", ""), [OutputFault::ArgumentsSchema]);
    assert_eq!(
        faults_of("look", "{\"at\":"),
        [OutputFault::ArgumentsNoObject]
    );
    assert_eq!(faults_of("jump", "{}"), [OutputFault::ToolNotOffered]);
    let messages = json!({ "tools": [{ "name": "look", "input_schema": schema }, { "type": "bash_20250124", "name": "bash" }] });
    let blocks = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "1", "name": "bash", "input": { "command": "ls" } },
        { "type": "server_tool_use", "id": "2", "name": "web_search", "input": {} },
        { "type": "tool_use", "id": "3", "name": "look", "input": {} },
    ] });
    assert_eq!(
        faults(Format::Anthropic, &messages, &blocks.to_string()),
        [OutputFault::ArgumentsSchema]
    );
    let responses =
        json!({ "tools": [{ "type": "function", "name": "look", "parameters": schema }] });
    let items = r#"{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"c","name":"peek","arguments":"{}"}"#;
    assert_eq!(
        faults(Format::OpenAiResponses, &responses, items),
        [OutputFault::ToolNotOffered]
    );
}

#[test]
fn an_answer_may_say_that_it_does_not_know_where_its_schema_was_relaxed() {
    let schema = json!({ "type": "object", "required": ["at", "depth"], "properties": {
        "at": { "type": "string" }, "depth": { "type": "number" } } });
    let request = RequestBody(
        json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "a", "schema": schema } } }),
    );
    let relaxed = ["depth".to_owned()];
    let faults = |relaxed: &[String], text: &str| {
        let demands = Demands {
            format: Format::OpenAiChat,
            request: &request,
            constraints: &[],
            sources: &[],
            relaxed,
            left_out: &BTreeMap::new(),
        };
        let message = json!({ "role": "assistant", "content": text });
        demands.check(&message.to_string()).faults
    };
    let unknown = r#"{"at":"north","depth":null}"#;
    assert_eq!(faults(&[], unknown), [OutputFault::ResponseSchema]);
    assert_eq!(faults(&relaxed, unknown), []);
    // What is known is held to the schema as it was asked for.
    for wrong in [
        r#"{"at":null,"depth":1}"#,
        r#"{"at":"north","depth":"deep"}"#,
        r#"{"at":"north"}"#,
    ] {
        assert_eq!(
            faults(&relaxed, wrong),
            [OutputFault::ResponseSchema],
            "{wrong}"
        );
    }
}

#[test]
fn constraints_say_what_an_answer_breaks() {
    let constraint = |name: &str, constraint: Value| {
        let mut document = ObjectDocument::named(name, "As it says.");
        document.constraint = Some(serde_json::from_value(constraint).unwrap());
        AnswerConstraint::of(&document.seal().unwrap(), true).map(Arc::new)
    };
    let schema = json!({ "type": "object", "required": ["sure"], "properties": { "sure": { "type": "boolean" } } });
    let all: Vec<_> = [
        constraint("shape", json!({ "rigidity": "hard", "schema": schema })),
        constraint("cites", json!({ "rigidity": "hard", "must_cite": 2 })),
    ]
    .into_iter()
    .flatten()
    .collect();
    let source = |names: &[&str]| -> Source { names.iter().map(|name| Arc::from(*name)).collect() };
    let three = [
        source(&["manual", "doc-7"]),
        source(&["log"]),
        source(&["map"]),
    ];
    let broken = |sources: &[Source], message: Value| {
        let demands = Demands {
            format: Format::OpenAiChat,
            request: &RequestBody(json!({})),
            constraints: &all,
            sources,
            relaxed: &[],
            left_out: &BTreeMap::new(),
        };
        let found = demands.check(&message.to_string()).broken;
        found.into_iter().map(|broken| broken.what).collect::<Vec<_>>()
    };
    let said = |text: &str| json!({ "role": "assistant", "content": text });
    assert_eq!(
        broken(&three, said(r#"{"sure":true,"by":["doc-7","log"]}"#)),
        Vec::<String>::new()
    );
    let once = "it names 1 of its sources, and must name 2";
    // Two names of one source are one source, and part of a word is none.
    assert_eq!(
        broken(
            &three,
            said(r#"{"sure":true,"by":["doc-7","manual","logs"]}"#)
        ),
        [once]
    );
    assert_eq!(broken(&three, said("[doc-7] [map]")), ["it is no JSON"]);
    assert_eq!(
        broken(&three, said(r#"{"sure":1,"by":"doc-7, map"}"#)),
        ["by its schema, `/sure` is not of type boolean"]
    );
    // No more can be named than stand.
    assert_eq!(
        broken(&three[..1], said(r#"{"sure":true,"by":"manual"}"#)),
        Vec::<String>::new()
    );
    assert_eq!(broken(&[], said(r#"{"sure":true}"#)), Vec::<String>::new());
    // A call, or a refusal, is no final answer.
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "run", "arguments": "{}" } });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    assert_eq!(broken(&three, calls), Vec::<String>::new());
}
