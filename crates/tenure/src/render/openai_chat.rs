//! The body of an OpenAI chat completion request, and its message rules.
//!
//! The floor becomes the system message, turns become messages as they are, other history becomes
//! system messages between them, the tail becomes the last user message, tools become `tools`.
//! Rules (OpenAI API reference, Chat Completions): each call of an assistant's message is answered
//! by exactly one tool message before any other role, and a tool message answers a call of the
//! message before it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Error;
use crate::frame::arguments;
use crate::object::{ObjectType, Revision, Role, Tool};
use crate::render::chat::{Place, array};

/// A tool as the API takes it.
pub(crate) fn tool(name: &str, description: &str, tool: &Tool) -> Value {
    json!({
        "function": {
            "description": description,
            "name": name,
            "parameters": tool.input_schema,
        },
        "type": "function",
    })
}

/// The messages of a body in the making.
#[derive(Default)]
pub(crate) struct Messages<'a>(Vec<Message<'a>>);

enum Message<'a> {
    /// Text pieces under one role, by their place among the texts.
    Text(Role, usize),
    /// A turn or a result, and what it says.
    Turn(&'a Revision, Option<&'a str>),
}

impl<'a> Messages<'a> {
    /// Adds a message for a text.
    pub(crate) fn text(&mut self, role: Role, text: usize) -> Place {
        self.0.push(Message::Text(role, text));
        self.last()
    }

    /// Adds a turn or a tool's result.
    pub(crate) fn turn(&mut self, revision: &'a Revision, said: Option<&'a str>) -> Place {
        self.0.push(Message::Turn(revision, said));
        self.last()
    }

    fn last(&self) -> Place {
        Place {
            message: Some(self.0.len() as u32 - 1),
            block: None,
        }
    }

    /// The body, as bytes: the model, the messages, the tools.
    pub(crate) fn body(
        &self,
        model: &str,
        texts: &[String],
        tools: &[&str],
    ) -> Result<String, Error> {
        self.check()?;
        let messages = self.0.iter().map(|message| message.json(texts).to_string());
        let mut out = format!(
            "{{\"messages\":{},\"model\":{}",
            array(messages),
            Value::from(model)
        );
        if !tools.is_empty() {
            out.push_str(",\"tools\":");
            out.push_str(&array(tools));
        }
        out.push('}');
        Ok(out)
    }

    /// Asserts the message rules on what is about to be sent.
    fn check(&self) -> Result<(), Error> {
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for message in &self.0 {
            match message {
                Message::Turn(revision, _) if revision.object_type() == ObjectType::ToolResult => {
                    let id = revision.tool_call_id().unwrap_or_default();
                    if !open.remove(id) {
                        return Err(Error::assertion(format!("`{id}` answers no open call")));
                    }
                }
                _ if !open.is_empty() => {
                    return Err(Error::assertion(
                        "a message stands between a call and its results",
                    ));
                }
                Message::Turn(revision, _) => {
                    open.extend(revision.tool_calls().iter().map(|call| call.id.as_str()));
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
}

impl Message<'_> {
    fn json(&self, texts: &[String]) -> Value {
        match self {
            Message::Text(role, text) => json!({ "content": texts[*text], "role": role }),
            Message::Turn(revision, said) if revision.object_type() == ObjectType::ToolResult => {
                json!({ "content": said.unwrap_or_default(), "role": "tool", "tool_call_id": revision.tool_call_id() })
            }
            Message::Turn(revision, said) => {
                let role = revision.role().unwrap_or(Role::User);
                let mut json = json!({ "content": said, "role": role });
                if !revision.tool_calls().is_empty() {
                    let call = |call: &crate::object::ToolCall| {
                        json!({
                            "function": { "arguments": arguments(call), "name": call.name },
                            "id": call.id,
                            "type": "function",
                        })
                    };
                    json["tool_calls"] = revision.tool_calls().iter().map(call).collect();
                }
                json
            }
        }
    }
}
