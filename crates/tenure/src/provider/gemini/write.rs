//! Writing contents of the Gemini API.

use serde_json::{Value, json};

use crate::object::Role;
use crate::provider::wire::block::{Block, arguments, blocks_json, quoted, text_of};
use crate::provider::wire::media::Source;

/// The word that Gemini takes in the place of a signature that another model could not give (Google, Thought
/// signatures).
pub(crate) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The content that says these blocks.
pub(super) fn messages(role: Role, blocks: &[Block]) -> Vec<String> {
    let role = match role {
        Role::Assistant => "model",
        _ => "user",
    };
    vec![blocks_json("parts", role, blocks, part)]
}

fn part(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{{\"text\":{}}}", quoted(text)),
        Block::Media(media) => {
            let data = match &media.source {
                Source::Base64(data) => data.as_str(),
                Source::Url(_) | Source::Own => "",
            };
            let inline = json!({ "data": data, "mimeType": media.mime });
            format!("{{\"inlineData\":{inline}}}")
        }
        Block::Call(call) => format!(
            "{{\"functionCall\":{{\"name\":{},\"args\":{}}},\"thoughtSignature\":\"{NO_SIGNATURE}\"}}",
            quoted(&call.name),
            arguments(call)
        ),
        Block::Result { name, content, .. } => {
            let response = json!({ "result": text_of(content) });
            format!(
                "{{\"functionResponse\":{{\"name\":{},\"response\":{response}}}}}",
                quoted(name)
            )
        }
    }
}

/// A tool as the API takes it.
pub(super) fn tool(name: &str, description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "name": name,
        "parametersJsonSchema": schema,
    })
}
