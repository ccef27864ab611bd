//! Writing messages of the OpenAI chat completions API.

use serde_json::{Value, json};

use crate::object::Role;
use crate::provider::wire::block::{Block, quoted, text_of};

/// The messages that say these blocks: results first, each a message of its own.
pub(super) fn messages(role: Role, blocks: &[Block]) -> Vec<String> {
    let mut messages = Vec::new();
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Call(call) => calls.push(format!(
                "{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                quoted(&call.id),
                quoted(&call.name),
                quoted(&call.arguments_text())
            )),
            Block::Result { id, content, .. } => messages.push(format!(
                "{{\"role\":\"tool\",\"tool_call_id\":{},\"content\":{}}}",
                quoted(id),
                quoted(&text_of(content))
            )),
            Block::Text(text) => content.push(json!({ "text": text, "type": "text" })),
            Block::Media(media) => content.push(json!({
                "image_url": { "url": media.url() }, "type": "image_url",
            })),
        }
    }
    if content.is_empty() && calls.is_empty() {
        return messages;
    }
    let has_media = blocks.iter().any(|block| matches!(block, Block::Media(_)));
    let content = match (content.is_empty(), has_media) {
        (true, _) => "null".to_owned(),
        (false, true) => Value::Array(content).to_string(),
        (false, false) => quoted(&text_of(blocks)),
    };
    let calls = if calls.is_empty() {
        String::new()
    } else {
        format!(",\"tool_calls\":[{}]", calls.join(","))
    };
    messages.push(format!(
        "{{\"role\":\"{role}\",\"content\":{content}{calls}}}"
    ));
    messages
}

/// A tool as the API takes it.
pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "function": {
            "description": description,
            "name": name,
            "parameters": schema,
        },
        "type": "function",
    })
}
