//! The body of an OpenAI responses request (`POST /v1/responses`).
//!
//! What leads of the system's text becomes `instructions`, the rest `input`: messages, and a
//! `function_call` or `function_call_output` item for each call and result. What came in the same form
//! goes back as it came, reasoning before the item that it led to. The request is meant for
//! `store: false`: nothing in it leans on what the provider keeps.

use serde_json::json;

use crate::object::Role;
use crate::write::render::openai_chat::{Message, Messages, additional_tools};
use crate::write::render::parts::{array, list, object, quoted};

/// The body, as bytes: the model, the tools, the instructions, the input.
pub(crate) fn body(
    messages: &Messages<'_>,
    model: &str,
    texts: &[String],
    tools: &[&str],
) -> String {
    let mut instructions = None;
    let mut input = Vec::new();
    for message in &messages.messages {
        match message {
            Message::Instructions(text) => instructions = Some(quoted(&texts[*text])),
            Message::Text(role, text) => {
                input.push(json!({ "content": texts[*text], "role": role }).to_string());
            }
            Message::Raw(raw) => input.push((*raw).to_owned()),
            Message::Tools(tools) => input.push(additional_tools(tools)),
            Message::Turn(turn) if turn.is_result() => {
                let item = json!({
                    "call_id": turn.answers(),
                    "output": turn.said.unwrap_or_default(),
                    "type": "function_call_output",
                });
                input.push(item.to_string());
            }
            Message::Turn(turn) => {
                let role = turn.revision.role().unwrap_or(Role::User);
                if let Some(said) = turn.said {
                    input.push(json!({ "content": said, "role": role }).to_string());
                }
                let calls = turn.calls().map(|(call, id)| {
                    let item = json!({
                        "arguments": call.arguments_text(),
                        "call_id": id,
                        "name": call.name,
                        "type": "function_call",
                    });
                    item.to_string()
                });
                input.extend(calls);
            }
        }
    }
    object(&[
        ("model", Some(quoted(model))),
        ("tools", list(tools)),
        ("instructions", instructions),
        ("input", Some(array(input))),
    ])
}
