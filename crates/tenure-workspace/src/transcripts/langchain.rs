//! LangChain's messages: `model_dump` (flat), `messages_to_dict` (in `data`), `dumps` (constructors with `kwargs`).

use serde_json::value::RawValue;
use tenure::object::Role;

use super::turns::{Block, Turns, arguments, part};
use super::{Finding, Items, Object, Read, Remarks, list};

/// The types that messages have; those of chunks end in `MessageChunk`.
const TYPES: [&str; 7] = [
    "human",
    "ai",
    "tool",
    "system",
    "function",
    "chat",
    "developer",
];

/// The type of a message and its fields.
fn message<'a>(item: &Object<'a>) -> Option<(String, Option<Object<'a>>)> {
    if item.has("lc")
        && let Some(kwargs) = item.object("kwargs")
    {
        let class = item
            .list("id")
            .unwrap_or_default()
            .last()
            .and_then(|class| super::values::text(class))
            .unwrap_or_default();
        let kind = kwargs.text("type").unwrap_or(class);
        return class_of(&kind).map(|kind| (kind, Some(kwargs)));
    }
    let kind = class_of(&item.text("type")?)?;
    if let Some(data) = item.object("data") {
        return Some((kind, Some(data)));
    }
    // Flat ones say nothing of a role, as those of providers do.
    let is_flat = item.has("content") && (!item.has("role") || kind == "chat");
    is_flat.then_some((kind, None))
}

/// The type that a name means: `ai` for `AIMessageChunk`.
fn class_of(name: &str) -> Option<String> {
    let whole = name.strip_suffix("Chunk").unwrap_or(name);
    let short = whole.strip_suffix("Message").unwrap_or(whole).to_lowercase();
    TYPES.contains(&short.as_str()).then_some(short)
}

/// Returns whether an item is such a message.
pub(super) fn is_message(item: &Object<'_>) -> bool {
    message(item).is_some()
}

/// Reads the messages.
pub(super) fn read(items: &Items<'_>) -> Read {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    for (line, value) in &items.all {
        let item = Object::of(value);
        let found = item.as_ref().and_then(message);
        let (Some(item), Some((kind, fields))) = (item, found) else {
            let kind = Object::of(value).and_then(|item| item.text("type"));
            remarks.add(
                *line,
                kind.as_deref().unwrap_or("no type"),
                Finding::NotUnderstood,
            );
            continue;
        };
        let fields = fields.unwrap_or(item);
        match kind.as_str() {
            "system" | "developer" => {
                let blocks = content(&fields, *line, &mut remarks);
                turns.add(*line, Role::System, blocks);
            }
            "ai" => {
                let blocks = model(&fields, *line, &mut remarks);
                turns.add(*line, Role::Assistant, blocks);
            }
            "tool" | "function" => {
                let result = Block::Result {
                    id: fields.text_of(&["tool_call_id", "name"]).unwrap_or_default(),
                    content: content(&fields, *line, &mut remarks),
                    failed: fields.is("status", &["error"]),
                };
                turns.add(*line, Role::User, vec![result]);
            }
            "chat" if fields.is("role", &["assistant", "ai", "model"]) => {
                let blocks = model(&fields, *line, &mut remarks);
                turns.add(*line, Role::Assistant, blocks);
            }
            _ => {
                let blocks = content(&fields, *line, &mut remarks);
                turns.add(*line, Role::User, blocks);
            }
        }
    }
    turns.read(remarks)
}

/// The content of a message, less the calls in it.
fn content(fields: &Object<'_>, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let Some(content) = fields.get("content") else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    for value in list(content).unwrap_or_else(|| vec![content]) {
        match part(value) {
            Some(Block::Text(text)) if text.is_empty() => {}
            Some(block) => blocks.push(block),
            None if call(value).is_some() => {}
            None => {
                let kind = Object::of(value).and_then(|part| part.text("type"));
                remarks.add(
                    line,
                    kind.as_deref().unwrap_or("part"),
                    Finding::NotUnderstood,
                );
            }
        }
    }
    blocks
}

/// What the model said: its content, and its calls, which stand there, too, with some providers.
fn model(fields: &Object<'_>, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let more = fields.object("additional_kwargs");
    let mut blocks: Vec<Block> = more
        .as_ref()
        .and_then(|more| more.text("reasoning_content"))
        .map(|text| Block::Thinking {
            text,
            signature: None,
        })
        .into_iter()
        .collect();
    blocks.extend(content(fields, line, remarks));
    let calls = |key: &str| fields.list(key).unwrap_or_default();
    let mut read: Vec<Block> = calls("tool_calls")
        .into_iter()
        .chain(calls("invalid_tool_calls"))
        .filter_map(call)
        .collect();
    if read.is_empty() {
        let own = more.and_then(|more| more.list("tool_calls"));
        read.extend(own.unwrap_or_default().into_iter().filter_map(call));
    }
    if read.is_empty() {
        let content = fields.list("content").unwrap_or_default();
        read.extend(content.into_iter().filter_map(call));
    }
    blocks.extend(read);
    blocks
}

/// A call, in the words of LangChain, OpenAI or Anthropic.
fn call(value: &RawValue) -> Option<Block> {
    let call = Object::of(value)?;
    let is_call = !call.has("type")
        || call.is(
            "type",
            &[
                "tool_call",
                "invalid_tool_call",
                "tool_call_chunk",
                "tool_use",
                "function",
                "function_call",
                "input_json_delta",
            ],
        );
    let inner = call.object("function");
    let named = inner.as_ref().unwrap_or(&call);
    let name = named.text("name").filter(|_| is_call)?;
    let given = named.get("args").or(named.get("arguments")).or(named.get("input"));
    Some(Block::Call {
        id: call.text_of(&["call_id", "id"]).unwrap_or_default(),
        name,
        arguments: arguments(given),
    })
}
