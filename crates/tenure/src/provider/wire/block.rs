//! The blocks of a message that is written from what objects say.

use serde_json::{Map, Value, json};

use super::media::Media;
use crate::object::ToolCall;

/// A block, in the words of no provider.
pub(crate) enum Block {
    Text(String),
    Media(Media),
    Call(ToolCall),
    Result {
        id: String,
        name: String,
        content: Vec<Block>,
    },
}

/// The arguments of a call as the text of an object.
pub(crate) fn arguments(call: &ToolCall) -> String {
    let text = match &call.arguments {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    let is_object = serde_json::from_str::<Map<String, Value>>(&text).is_ok();
    match (is_object, text.is_empty()) {
        (true, _) => text,
        (false, true) => "{}".to_owned(),
        (false, false) => json!({ "input": text }).to_string(),
    }
}

/// The text of these blocks, a line for each that is media.
pub(crate) fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().map(|block| match block {
        Block::Text(text) => text.clone(),
        Block::Media(media) => media.line(),
        Block::Call(_) | Block::Result { .. } => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A message of one role, whose blocks stand under `key`.
pub(crate) fn blocks_json(
    key: &str,
    role: &str,
    blocks: &[Block],
    each: fn(&Block) -> String,
) -> String {
    let blocks: Vec<String> = blocks.iter().map(each).collect();
    format!("{{\"role\":\"{role}\",\"{key}\":[{}]}}", blocks.join(","))
}

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
