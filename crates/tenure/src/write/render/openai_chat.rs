//! The body of an OpenAI chat completion request.
//!
//! The floor becomes the system message, turns become messages as they are, other history becomes
//! system messages between them, the tail becomes the last user message, tools become `tools`. A turn
//! that says nothing and calls nothing is left out.

use std::borrow::Cow;

use serde_json::json;

use crate::object::{ObjectType, Revision, Role, ToolCall};
use crate::provider::target::Target;
use crate::provider::wire::Outgoing;
use crate::write::render::parts::{BodyPosition, list, object, quoted};

/// The messages of a body in the making.
pub(crate) struct Messages<'a> {
    /// True if these are items, of which a turn may be several.
    responses: bool,
    /// True if text of the system that leads stands beside the messages.
    apart: bool,
    pub(crate) messages: Vec<Message<'a>>,
    /// The number of messages or items in the body.
    count: u32,
}

pub(crate) enum Message<'a> {
    /// Text of the system that stands beside the messages, by its place among the texts.
    Instructions(usize),
    /// Text pieces under one role, by their place among the texts.
    Text(Role, usize),
    Turn(Turn<'a>),
    /// A message that goes back as it came.
    Raw(&'a str),
    /// Tools that are offered in the middle of the conversation.
    Tools(Vec<&'a str>),
}

/// A turn or a result.
pub(crate) struct Turn<'a> {
    pub(crate) revision: &'a Revision,
    pub(crate) said: Option<&'a str>,
    /// The ids of its calls, or that of the call that it answers.
    pub(crate) ids: Vec<Cow<'a, str>>,
}

impl Turn<'_> {
    pub(crate) fn is_result(&self) -> bool {
        self.revision.object_type() == ObjectType::ToolResult
    }

    /// Its calls, each with its id.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&ToolCall, &str)> {
        let ids = self.ids.iter().map(|id| &**id);
        self.revision.tool_calls().iter().zip(ids)
    }

    /// The id of the call that it answers.
    pub(crate) fn answers(&self) -> &str {
        self.ids.first().map_or("", |id| id)
    }
}

impl<'a> Messages<'a> {
    pub(crate) fn new(target: Target, speaks: bool) -> Messages<'a> {
        let responses = target == Target::OpenAiResponses;
        Messages {
            responses,
            // Someone must speak in the input.
            apart: responses && speaks,
            messages: Vec::new(),
            count: 0,
        }
    }

    /// Adds a message for a text.
    pub(crate) fn text(&mut self, role: Role, text: usize) -> BodyPosition {
        if self.apart && role == Role::System && self.messages.is_empty() {
            self.messages.push(Message::Instructions(text));
            return BodyPosition {
                message: None,
                block: None,
            };
        }
        self.push(Message::Text(role, text), 1)
    }

    /// Adds a tool in the middle of the conversation, to those that stand last. Gives its place among them.
    pub(crate) fn late_tool(&mut self, json: &'a str) -> (BodyPosition, u32) {
        if let Some(Message::Tools(tools)) = self.messages.last_mut() {
            tools.push(json);
            let place = BodyPosition {
                message: Some(self.count - 1),
                block: None,
            };
            return (place, tools.len() as u32 - 1);
        }
        (self.push(Message::Tools(vec![json]), 1), 0)
    }

    /// Adds a turn or a tool's result.
    pub(crate) fn turn(&mut self, turn: Turn<'a>) -> BodyPosition {
        let calls = turn.revision.tool_calls().len() as u32;
        let is_result = turn.is_result();
        let said = turn.said.filter(|said| is_result || !said.trim().is_empty());
        let items = match (self.responses, said.is_some()) {
            (true, says) => u32::from(says) + calls,
            (false, says) => u32::from(says || calls > 0),
        };
        self.push(Message::Turn(Turn { said, ..turn }), items)
    }

    /// Adds what goes back as it came.
    pub(crate) fn raw(&mut self, raw: &'a Outgoing, parts: usize) -> BodyPosition {
        // Several items that are one turn stand with commas between.
        let items = if self.responses {
            crate::provider::wire::items(&raw.message)
        } else {
            parts as u32
        };
        self.push(Message::Raw(&raw.message), items)
    }

    fn push(&mut self, message: Message<'a>, items: u32) -> BodyPosition {
        self.messages.push(message);
        let at = self.count;
        self.count += items;
        BodyPosition {
            message: Some(at),
            block: None,
        }
    }

    /// The body, as bytes: the model, the tools, the messages.
    pub(crate) fn body(&self, model: &str, texts: &[String], tools: &[&str]) -> String {
        let messages: Vec<String> =
            self.messages.iter().filter_map(|message| message.json(texts)).collect();
        object(&[
            ("model", Some(quoted(model))),
            ("tools", list(tools)),
            (
                "messages",
                Some(crate::write::render::parts::array(messages)),
            ),
        ])
    }
}

/// Tools that are offered from this place on (OpenAI, responses).
pub(crate) fn additional_tools(tools: &[&str]) -> String {
    object(&[
        ("role", Some(quoted("developer"))),
        ("tools", list(tools)),
        ("type", Some(quoted("additional_tools"))),
    ])
}

impl Message<'_> {
    fn json(&self, texts: &[String]) -> Option<String> {
        let json = match self {
            Message::Raw(raw) => return Some((*raw).to_owned()),
            Message::Tools(tools) => return Some(additional_tools(tools)),
            Message::Instructions(text) => json!({ "content": texts[*text], "role": "system" }),
            Message::Text(role, text) => json!({ "content": texts[*text], "role": role }),
            Message::Turn(turn) if turn.is_result() => {
                json!({ "content": turn.said.unwrap_or_default(), "role": "tool", "tool_call_id": turn.answers() })
            }
            Message::Turn(turn) if turn.said.is_none() && turn.ids.is_empty() => return None,
            Message::Turn(turn) => {
                let role = turn.revision.role().unwrap_or(Role::User);
                let mut json = json!({ "content": turn.said, "role": role });
                if !turn.ids.is_empty() {
                    let calls = turn.calls().map(|(call, id)| {
                        json!({
                            "function": { "arguments": call.arguments_text(), "name": call.name },
                            "id": id,
                            "type": "function",
                        })
                    });
                    json["tool_calls"] = calls.collect();
                }
                json
            }
        };
        Some(json.to_string())
    }
}
