//! The body of a Gemini generateContent request. The model stands in its URL.
//!
//! Messages are gathered as for Anthropic: what stands before the history becomes `systemInstruction`,
//! turns become contents of the user or the model, calls `functionCall` and results `functionResponse`
//! parts. A model that wants its calls back signed takes a fixed word in the place of a signature that
//! another model could not give (Google, Thought signatures).

use serde_json::json;

use crate::object::Role;
use crate::provider::gemini::NO_SIGNATURE;
use crate::provider::wire::block::arguments;
use crate::write::render::anthropic::{Block, Content, Message, Messages};
use crate::write::render::parts::{array, list, object, quoted};

/// The body, as bytes: the tools, the system's instruction, the contents. `signs`: calls go back signed.
pub(crate) fn body(
    messages: &Messages<'_>,
    texts: &[String],
    tools: &[&str],
    signs: bool,
) -> String {
    let tools = list(tools).map(|tools| format!("[{{\"functionDeclarations\":{tools}}}]"));
    let system: Vec<String> = messages.system.iter().map(|text| text_json(&texts[*text])).collect();
    let system = list(&system).map(|parts| format!("{{\"parts\":{parts}}}"));
    let contents = messages.messages.iter().map(|message| content(message, texts, signs));
    object(&[
        ("tools", tools),
        ("systemInstruction", system),
        ("contents", Some(array(contents))),
    ])
}

fn content(message: &Message<'_>, texts: &[String], signs: bool) -> String {
    let blocks = match &message.content {
        Content::Raw(raw) => return (*raw).to_owned(),
        Content::Blocks(blocks) => blocks,
    };
    let first = blocks
        .iter()
        .position(|block| matches!(block, Block::ToolUse { .. } | Block::Raw(_)));
    let parts = blocks.iter().enumerate().map(|(at, block)| match block {
        Block::Text(text) => text_json(&texts[*text]),
        Block::Said(text) => text_json(text),
        Block::ToolUse { call, .. } => {
            let signature = if signs && first == Some(at) {
                format!(",\"thoughtSignature\":\"{NO_SIGNATURE}\"")
            } else {
                String::new()
            };
            let (args, name) = (arguments(call), quoted(&call.name));
            format!("{{\"functionCall\":{{\"args\":{args},\"name\":{name}}}{signature}}}")
        }
        Block::ToolResult { name, content, .. } => {
            json!({ "functionResponse": { "name": name, "response": { "result": content } } })
                .to_string()
        }
        // Gemini takes no tools late: none comes here.
        Block::ToolAddition(_) => String::new(),
        Block::Raw(raw) => raw.clone(),
    });
    let role = match message.role {
        Role::Assistant => "model",
        _ => "user",
    };
    format!("{{\"parts\":{},\"role\":\"{role}\"}}", array(parts))
}

fn text_json(text: &str) -> String {
    json!({ "text": text }).to_string()
}
