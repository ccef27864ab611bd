//! The body of an OpenAI chat completion request, and its message rules.
//!
//! The floor becomes the system message, turns become messages as they are, the tail becomes the
//! last user message, tools become `tools`. Rules (OpenAI API reference, Chat; `providers.md` 2.1):
//! each call of an assistant's message is answered by exactly one tool message before any other
//! role, and a tool message answers a call of the message before it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Error;
use crate::frame::arguments;
use crate::object::{ObjectType, Revision, Role, Tool};

/// A tool as canonical JSON: keys sorted, no white space.
pub(crate) fn tool_json(revision: &Revision, tool: &Tool) -> String {
    json!({
        "function": {
            "description": revision.content().trim(),
            "name": revision.name(),
            "parameters": tool.input_schema,
        },
        "type": "function",
    })
    .to_string()
}

/// A message in the making.
pub(crate) enum Message<'a> {
    /// Text pieces under one role.
    Text(Role, String),
    /// A turn or a result, as it is.
    Turn(&'a Revision),
}

/// The body, as bytes: the model, the messages, the tools.
pub(crate) fn body(model: &str, messages: &[Message<'_>], tools: &[&str]) -> Result<String, Error> {
    let mut out = String::from("{\"messages\":[");
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&message_json(message).to_string());
    }
    out.push_str("],\"model\":");
    out.push_str(&Value::from(model).to_string());
    if !tools.is_empty() {
        out.push_str(",\"tools\":[");
        out.push_str(&tools.join(","));
        out.push(']');
    }
    out.push('}');
    check(messages)?;
    Ok(out)
}

fn message_json(message: &Message<'_>) -> Value {
    match message {
        Message::Text(role, text) => json!({ "content": text, "role": role }),
        Message::Turn(revision) if revision.object_type() == ObjectType::ToolResult => {
            json!({ "content": revision.content(), "role": "tool", "tool_call_id": revision.tool_call_id() })
        }
        Message::Turn(revision) => {
            let role = revision.role().unwrap_or(Role::User);
            let mut json = json!({ "content": revision.content(), "role": role });
            if !revision.tool_calls().is_empty() {
                let call = |call: &crate::object::ToolCall| {
                    json!({
                        "function": { "arguments": arguments(call), "name": call.name },
                        "id": call.id,
                        "type": "function",
                    })
                };
                json["tool_calls"] = revision.tool_calls().iter().map(call).collect();
                if revision.content().trim().is_empty() {
                    json["content"] = Value::Null;
                }
            }
            json
        }
    }
}

/// Asserts the message rules on what is about to be sent.
fn check(messages: &[Message<'_>]) -> Result<(), Error> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        match message {
            Message::Turn(revision) if revision.object_type() == ObjectType::ToolResult => {
                if !revision.tool_call_id().is_some_and(|id| open.remove(id)) {
                    return Err(Error::assertion(format!(
                        "`{}` answers no open call",
                        revision.name()
                    )));
                }
            }
            _ if !open.is_empty() => {
                return Err(Error::assertion(
                    "a message stands between a call and its results",
                ));
            }
            Message::Turn(revision) => {
                open.extend(revision.tool_calls().iter().map(|call| call.id.as_str()))
            }
            Message::Text(..) => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(Error::assertion("a call has no result"))
    }
}
