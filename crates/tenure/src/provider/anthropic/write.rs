//! Writing messages of the Anthropic messages API.

use serde_json::{Value, json};

use crate::object::Role;
use crate::provider::wire::block::{Block, arguments, blocks_json, quoted};
use crate::provider::wire::media::Source;

/// The message that says these blocks.
pub(super) fn messages(role: Role, blocks: &[Block]) -> Vec<String> {
    vec![blocks_json("content", role.term(), blocks, block)]
}

fn block(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text)),
        Block::Media(media) => {
            let source = match &media.source {
                Source::Base64(data) => json!({
                    "data": data, "media_type": media.mime, "type": "base64",
                }),
                Source::Url(url) => json!({ "type": "url", "url": url }),
                Source::Own => Value::Null,
            };
            format!("{{\"type\":\"image\",\"source\":{source}}}")
        }
        Block::Call(call) => format!(
            "{{\"type\":\"tool_use\",\"id\":{},\"name\":{},\"input\":{}}}",
            quoted(&call.id),
            quoted(&call.name),
            arguments(call)
        ),
        Block::Result { id, content, .. } => {
            let content: Vec<String> = content.iter().map(self::block).collect();
            format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":[{}]}}",
                quoted(id),
                content.join(",")
            )
        }
    }
}

/// A tool as the API takes it.
pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({ "description": description, "input_schema": schema, "name": name })
}
