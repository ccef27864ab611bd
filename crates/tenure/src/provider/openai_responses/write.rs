//! Writing items of the OpenAI responses API.

use serde_json::{Value, json};

use crate::object::Role;
use crate::provider::wire::block::{Block, quoted, text_of};

/// The items that say these blocks: the message first.
pub(super) fn messages(role: Role, blocks: &[Block]) -> Vec<String> {
    let kind = match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    };
    let part = |block: &&Block| match block {
        Block::Media(media) => json!({ "image_url": media.url(), "type": "input_image" }),
        block => json!({ "text": text_of(std::slice::from_ref(*block)), "type": kind }),
    };
    let content = |blocks: &[&Block]| {
        if blocks.iter().any(|block| matches!(block, Block::Media(_))) {
            return Value::Array(blocks.iter().map(part).collect()).to_string();
        }
        let texts = blocks.iter().map(|block| text_of(std::slice::from_ref(*block)));
        quoted(&texts.collect::<Vec<_>>().join("\n"))
    };
    let parsed: Vec<&Block> = blocks
        .iter()
        .filter(|block| matches!(block, Block::Text(_) | Block::Media(_)))
        .collect();
    let mut items = Vec::new();
    if !parsed.is_empty() {
        items.push(format!(
            "{{\"role\":\"{role}\",\"content\":{}}}",
            content(&parsed)
        ));
    }
    for block in blocks {
        match block {
            Block::Call(call) => items.push(format!(
                "{{\"type\":\"function_call\",\"call_id\":{},\"name\":{},\"arguments\":{}}}",
                quoted(&call.id),
                quoted(&call.name),
                quoted(&call.arguments_text())
            )),
            Block::Result {
                id, content: inner, ..
            } => items.push(format!(
                "{{\"type\":\"function_call_output\",\"call_id\":{},\"output\":{}}}",
                quoted(id),
                content(&inner.iter().collect::<Vec<_>>())
            )),
            Block::Text(_) | Block::Media(_) => {}
        }
    }
    items
}

/// A tool as the API takes it. Without `strict`, a schema would be read as a strict one.
pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "name": name,
        "parameters": schema,
        "strict": false,
        "type": "function",
    })
}
