//! The bodies of chat requests, read and checked with code that shares nothing with the compiler.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tenure::policy::{Order, TaskPosition};
use tenure::section::{Section, Zone};
use tenure::{Compiled, Target};

use super::{Run, payload};

/// The body of an OpenAI chat request, read independently.
#[derive(Deserialize)]
struct Body<'a> {
    messages: Vec<Message>,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Option<String>,
    #[serde(default)]
    tool_calls: Vec<Value>,
    tool_call_id: Option<String>,
}

/// The body of an Anthropic messages request, read independently.
#[derive(Deserialize)]
struct Blocks<'a> {
    #[serde(borrow, default)]
    system: Vec<Block<'a>>,
    #[serde(borrow)]
    messages: Vec<Content<'a>>,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    text: Option<String>,
    content: Option<String>,
    name: Option<String>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
}

/// What a body holds, whatever its form.
pub(crate) struct Wire<'a> {
    /// The texts by message and block.
    pub(crate) texts: BTreeMap<(Option<u32>, Option<u32>), String>,
    /// The names and arguments of the calls.
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) tools: Vec<&'a RawValue>,
}

fn body(compiled: &Compiled) -> Body<'_> {
    serde_json::from_str(payload(compiled)).unwrap()
}

pub(crate) fn wire(compiled: &Compiled) -> Wire<'_> {
    let mut texts = BTreeMap::new();
    let mut calls = Vec::new();
    match compiled.envelope.target {
        Target::OpenAiResponses => return responses(compiled),
        Target::Gemini => return gemini(compiled),
        _ => {}
    }
    if compiled.envelope.target == Target::OpenAiChat {
        let body = body(compiled);
        for (at, message) in body.messages.into_iter().enumerate() {
            texts.insert((Some(at as u32), None), message.content.unwrap_or_default());
            for call in &message.tool_calls {
                let text = |key: &str| call["function"][key].as_str().unwrap().to_owned();
                calls.push((text("name"), text("arguments")));
            }
        }
        let tools = body.tools;
        return Wire {
            texts,
            calls,
            tools,
        };
    }
    let body: Blocks<'_> = serde_json::from_str(payload(compiled)).unwrap();
    let messages = body.messages.into_iter().enumerate();
    let messages = messages.map(|(at, message)| (Some(at as u32), message.content));
    for (message, blocks) in std::iter::once((None, body.system)).chain(messages) {
        for (at, block) in blocks.into_iter().enumerate() {
            match block.name {
                Some(name) => calls.push((name, block.input.unwrap().get().to_owned())),
                None => {
                    let text = block.text.or(block.content).unwrap();
                    texts.insert((message, Some(at as u32)), text);
                }
            }
        }
    }
    let tools = body.tools;
    Wire {
        texts,
        calls,
        tools,
    }
}

type Object<'a> = BTreeMap<String, &'a RawValue>;

fn text(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap()
}

fn responses(compiled: &Compiled) -> Wire<'_> {
    let body: Object<'_> = serde_json::from_str(payload(compiled)).unwrap();
    let mut texts = BTreeMap::new();
    let mut calls = Vec::new();
    if let Some(instructions) = body.get("instructions") {
        texts.insert((None, None), text(instructions));
    }
    let items: Vec<Object<'_>> = serde_json::from_str(body["input"].get()).unwrap();
    for (at, item) in items.iter().enumerate() {
        if item.contains_key("arguments") {
            calls.push((text(item["name"]), text(item["arguments"])));
        } else {
            let said = item.get("content").or(item.get("output")).unwrap();
            texts.insert((Some(at as u32), None), text(said));
        }
    }
    let tools = body.get("tools").map(|tools| serde_json::from_str(tools.get()).unwrap());
    Wire {
        texts,
        calls,
        tools: tools.unwrap_or_default(),
    }
}

fn gemini(compiled: &Compiled) -> Wire<'_> {
    let body: Object<'_> = serde_json::from_str(payload(compiled)).unwrap();
    let mut texts = BTreeMap::new();
    let mut calls = Vec::new();
    let mut parts = |message: Option<u32>, content: &Object<'_>| {
        let parts: Vec<Object<'_>> = serde_json::from_str(content["parts"].get()).unwrap();
        for (at, part) in parts.iter().enumerate() {
            let inner = |key: &str| -> Option<Value> {
                part.get(key).map(|value| serde_json::from_str(value.get()).unwrap())
            };
            if let Some(call) = part.get("functionCall") {
                let call: BTreeMap<String, Box<RawValue>> =
                    serde_json::from_str(call.get()).unwrap();
                calls.push((text(&call["name"]), call["args"].get().to_owned()));
                continue;
            }
            let said = match inner("functionResponse") {
                Some(answer) => answer["response"]["result"].as_str().unwrap().to_owned(),
                None => text(part["text"]),
            };
            texts.insert((message, Some(at as u32)), said);
        }
    };
    if let Some(system) = body.get("systemInstruction") {
        parts(None, &serde_json::from_str(system.get()).unwrap());
    }
    let contents: Vec<Object<'_>> = serde_json::from_str(body["contents"].get()).unwrap();
    for (at, content) in contents.iter().enumerate() {
        parts(Some(at as u32), content);
    }
    let mut tools = Vec::new();
    if let Some(offered) = body.get("tools") {
        let offered: Vec<Object<'_>> = serde_json::from_str(offered.get()).unwrap();
        assert_eq!(offered.len(), 1);
        tools = serde_json::from_str(offered[0]["functionDeclarations"].get()).unwrap();
    }
    Wire {
        texts,
        calls,
        tools,
    }
}

/// The rules of the payload's target, over the body as JSON.
pub(crate) fn legal(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    match real.envelope.target {
        Target::OpenAiChat => openai(run, real),
        Target::AnthropicMessages => anthropic(run, real),
        target => conforms(run, real, target),
    }
}

/// The crate's own checker, which shares nothing with what writes bodies, finds nothing to say; and
/// the fields are the known ones in the order that caches want.
fn conforms(run: &Run, real: &Compiled, target: Target) -> Result<(), TestCaseError> {
    let format = target.format().unwrap();
    let found = tenure::conform::check(format, payload(real), Some(run.world.model())).unwrap();
    prop_assert_eq!(found, []);
    ordered(real)
}

/// The fields of a body stand in the order in which they change: seldom first.
fn ordered(real: &Compiled) -> Result<(), TestCaseError> {
    const ORDER: [&str; 9] = [
        "model",
        "tools",
        "system",
        "systemInstruction",
        "instructions",
        "messages",
        "input",
        "contents",
        "max_tokens",
    ];
    let text = payload(real);
    let body: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
    let fields = ORDER.iter().filter_map(|key| {
        let value = body.get(*key)?;
        Some(format!("\"{key}\":{}", value.get()))
    });
    let fields: Vec<String> = fields.collect();
    prop_assert_eq!(text, format!("{{{}}}", fields.join(",")));
    Ok(())
}

/// Whether a provider takes this for an id, and, when it is short, for a tool's name.
fn is_id(text: &Value) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.as_str().is_some_and(|text| !text.is_empty() && text.chars().all(legal))
}

fn is_tool_name(name: &Value) -> bool {
    is_id(name) && name.as_str().unwrap().len() <= 64
}

fn has_keys(value: &Value, keys: &[&str]) -> bool {
    let object = value.as_object().unwrap();
    object.keys().map(String::as_str).eq(keys.iter().copied())
}

/// Whether the policy puts anything before the conversation, and the task not before that.
fn floor_opens(run: &Run, real: &Compiled) -> bool {
    let document = run.policy.document();
    let before =
        document.order == Order::Registry && document.task_position == TaskPosition::Before;
    let floor = real.envelope.sections.iter().any(|section| {
        section.zone == Zone::Floor
            && section.items.iter().any(|item| !item.late)
            && section.name != Section::Tools
            && document.order == Order::Sections
    });
    (floor || document.precedence) && !before
}

/// The rules of the Anthropic messages API, over the body as JSON.
fn anthropic(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let text = payload(real);
    let body: Value = serde_json::from_str(text).unwrap();
    // Canonical, but for arguments that are text already.
    let canonical = text.replace("{\"raw\":  1}", "{\"raw\":1}");
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&canonical).unwrap();
    for (key, value) in &fields {
        prop_assert_eq!(body[key].to_string(), value.get());
    }
    ordered(real)?;
    let known = ["max_tokens", "messages", "model", "system", "tools"];
    let keys = body.as_object().unwrap().keys();
    prop_assert!(keys.map(String::as_str).all(|key| known.contains(&key)));
    prop_assert_eq!(body["model"].as_str(), Some(run.world.model_name()));
    let answer = body["max_tokens"].as_u64().unwrap();
    let window = run.request.budget.window;
    let window = window.unwrap_or(run.world.model().window);
    prop_assert!(answer >= 1 && u64::from(real.envelope.budget) + answer <= u64::from(window));

    let none = Vec::new();
    let list = |value: Option<&Value>| match value {
        Some(value) => value.as_array().unwrap().clone(),
        None => none.clone(),
    };
    let is_text = |block: &Value| {
        let blank = block["text"].as_str().is_none_or(|text| text.trim().is_empty());
        block["type"] == "text" && has_keys(block, &["text", "type"]) && !blank
    };
    prop_assert!(body.get("system").is_none_or(|system| system != &Value::from(none.clone())));
    prop_assert!(list(body.get("system")).iter().all(is_text));
    if floor_opens(run, real) {
        prop_assert!(body.get("system").is_some());
    }
    let tools = list(body.get("tools"));
    for tool in &tools {
        prop_assert!(has_keys(tool, &["description", "input_schema", "name"]));
        prop_assert!(is_tool_name(&tool["name"]), "{}", tool);
        prop_assert_eq!(&tool["input_schema"]["type"], "object");
    }
    let names: BTreeSet<_> = tools.iter().map(|tool| tool["name"].to_string()).collect();
    prop_assert_eq!(names.len(), tools.len());

    // What the system says between them, where the model takes that, follows the user.
    let all = body["messages"].as_array().unwrap();
    let rules = run.world.model().messages.unwrap_or_default();
    let by_system = |message: &&Value| message["role"] == "system";
    for (at, message) in all.iter().enumerate() {
        if !by_system(&message) {
            continue;
        }
        prop_assert_eq!(rules.mid_conversation_system, Some(true));
        prop_assert!(at > 0 && all[at - 1]["role"] == "user");
        let next = all.get(at + 1);
        prop_assert!(next.is_none_or(|next| next["role"] == "assistant"));
        let blocks = message["content"].as_array().unwrap();
        prop_assert!(!blocks.is_empty());
        for block in blocks {
            let tool = &block["tool"]["definition"];
            let adds = block["type"] == "tool_addition" && is_tool_name(&tool["name"]);
            prop_assert!(
                is_text(block) || (adds && run.request.late_tools),
                "{}",
                block
            );
        }
    }
    let messages: Vec<&Value> = all.iter().filter(|message| !by_system(message)).collect();
    prop_assert!(messages.len() % 2 == 1, "it begins and ends with the user");
    let mut ids: BTreeSet<String> = BTreeSet::new();
    let mut asked: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        prop_assert!(has_keys(message, &["content", "role"]));
        let role = message["role"].as_str().unwrap();
        prop_assert_eq!(role, if at % 2 == 0 { "user" } else { "assistant" });
        let blocks = message["content"].as_array().unwrap();
        prop_assert!(!blocks.is_empty());
        // What was asked is answered here, first, and nothing else is.
        let (answers, rest) = blocks.split_at(asked.len().min(blocks.len()));
        let mut answered = Vec::new();
        for block in answers {
            prop_assert_eq!(&block["type"], "tool_result", "{}", message);
            prop_assert!(has_keys(block, &["content", "tool_use_id", "type"]));
            prop_assert!(block["content"].is_string());
            answered.push(block["tool_use_id"].as_str().unwrap().to_owned());
        }
        asked.sort();
        answered.sort();
        prop_assert_eq!(&answered, &asked);
        asked.clear();
        for block in rest {
            match block["type"].as_str().unwrap() {
                "text" => prop_assert!(is_text(block), "{}", block),
                "tool_use" => {
                    prop_assert_eq!(role, "assistant");
                    prop_assert!(has_keys(block, &["id", "input", "name", "type"]));
                    prop_assert!(block["input"].is_object() && is_tool_name(&block["name"]));
                    prop_assert!(is_id(&block["id"]));
                    let id = block["id"].as_str().unwrap().to_owned();
                    prop_assert!(ids.insert(id.clone()), "`{}` twice", id);
                    asked.push(id);
                }
                other => prop_assert!(false, "a block of type {}", other),
            }
        }
    }
    prop_assert!(asked.is_empty(), "unanswered: {:?}", asked);
    prop_assert!(ids.is_empty() || !tools.is_empty());
    Ok(())
}

/// The rules of the OpenAI chat API, over the body as JSON.
fn openai(run: &Run, real: &Compiled) -> Result<(), TestCaseError> {
    let whole: Value = serde_json::from_str(payload(real)).unwrap();
    let keys: Vec<&str> = whole.as_object().unwrap().keys().map(String::as_str).collect();
    prop_assert!(keys.iter().all(|key| ["messages", "model", "tools"].contains(key)));
    prop_assert_eq!(whole["model"].as_str(), Some(run.world.model_name()));
    let body = body(real);
    prop_assert!(!body.messages.is_empty());

    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in &body.messages {
        prop_assert!(
            ["system", "user", "assistant", "tool"].contains(&message.role.as_str()),
            "{}",
            message.role
        );
        if message.role == "tool" {
            let id = message.tool_call_id.as_deref().unwrap();
            prop_assert!(open.remove(id), "`{}` answers nothing", id);
        } else {
            prop_assert!(open.is_empty(), "unanswered: {:?}", open);
            prop_assert!(message.tool_call_id.is_none());
        }
        prop_assert!(message.role == "assistant" || message.tool_calls.is_empty());
        let empty = message.content.as_ref().is_none_or(|content| content.trim().is_empty());
        prop_assert!(!empty || (!message.tool_calls.is_empty() && message.content.is_none()));
        for call in &message.tool_calls {
            prop_assert_eq!(call["type"].as_str(), Some("function"));
            prop_assert!(call["function"]["arguments"].is_string());
            prop_assert!(is_tool_name(&call["function"]["name"]));
        }
        open.extend(message.tool_calls.iter().map(|call| call["id"].as_str().unwrap()));
        prop_assert!(open.len() >= message.tool_calls.len());
    }
    prop_assert!(open.is_empty(), "unanswered: {:?}", open);

    let mut names = BTreeSet::new();
    for tool in &body.tools {
        let tool: Value = serde_json::from_str(tool.get()).unwrap();
        prop_assert_eq!(tool["type"].as_str(), Some("function"));
        let function = &tool["function"];
        prop_assert!(is_tool_name(&function["name"]), "{}", function);
        prop_assert!(function["parameters"].is_object());
        prop_assert!(names.insert(function["name"].to_string()));
    }
    if floor_opens(run, real) {
        prop_assert_eq!(&body.messages[0].role, "system");
    }
    Ok(())
}
