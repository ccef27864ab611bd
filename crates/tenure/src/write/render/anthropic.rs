//! The body of an Anthropic messages request (`POST /v1/messages`), and its message rules.
//!
//! What stands before the history becomes `system`, one text block for each section, so that a
//! section's end is a joint between blocks. Turns become messages, their calls `tool_use` and their
//! results `tool_result` blocks; other text becomes the user's, one block for each section. Neighbours
//! of one role share a message. `max_tokens` is what the compile kept for the answer.
//!
//! The API has no system role among the messages: a turn of the system, and text of the system that
//! stands behind the history, are blocks of the user, the turn under the label `[system]`. So they
//! keep their place, and nothing that was sent changes, and they never gain rank.
//!
//! Where the model takes a message of the system in the middle of a conversation (the catalogue's
//! `mid_conversation_system`), a turn of the system that stands between the user and the assistant is one, and what
//! the system says late, with the tools that it adds, is one behind all else.
//!
//! The gathering of messages serves Gemini, too, which differs in its words alone.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::json;

use crate::object::{Revision, Role, ToolCall};
use crate::provider::target::Target;
use crate::provider::wire::block::arguments;
use crate::provider::wire::{self, Outgoing};
use crate::write::render::openai_chat::Turn;
use crate::write::render::parts::{BodyPosition, array, list, object, quoted};

/// The blocks and messages of a body in the making.
pub(crate) struct Messages<'a> {
    /// True if what the model said in two messages becomes one: Gemini takes a call only after words of the user.
    splices: bool,
    /// The texts of the system, by their places among the texts.
    pub(crate) system: Vec<usize>,
    pub(crate) messages: Vec<Message<'a>>,
    /// The tools of the calls so far, by id.
    names: BTreeMap<&'a str, &'a str>,
}

pub(crate) struct Message<'a> {
    pub(crate) role: Role,
    pub(crate) content: Content<'a>,
}

pub(crate) enum Content<'a> {
    Blocks(Vec<Block<'a>>),
    /// The whole message, as it came.
    Raw(&'a str),
}

pub(crate) enum Block<'a> {
    /// Text pieces, by their place among the texts.
    Text(usize),
    /// The text of a turn.
    Said(&'a str),
    ToolUse {
        id: Cow<'a, str>,
        call: &'a ToolCall,
    },
    ToolResult {
        id: Cow<'a, str>,
        /// The tool that was called.
        name: &'a str,
        content: &'a str,
    },
    /// A tool that is offered from here on, as its definition.
    ToolAddition(&'a str),
    /// A block as it came.
    Raw(String),
}

impl<'a> Messages<'a> {
    pub(crate) fn new(target: Target) -> Messages<'a> {
        Messages {
            splices: target == Target::Gemini,
            system: Vec::new(),
            messages: Vec::new(),
            names: BTreeMap::new(),
        }
    }

    /// Adds a block for a text.
    pub(crate) fn text(&mut self, role: Role, text: usize) -> BodyPosition {
        if role == Role::System {
            self.system.push(text);
            return BodyPosition {
                message: None,
                block: Some(self.system.len() as u32 - 1),
            };
        }
        self.add(role, [Block::Text(text)])
    }

    /// Adds a turn that says `said`, or a tool's result. Blank words are left out: no block may be
    /// blank.
    pub(crate) fn turn(&mut self, turn: Turn<'a>) -> BodyPosition {
        let is_result = turn.is_result();
        let Turn {
            revision,
            said,
            ids,
        } = turn;
        let role = match revision.speaker() {
            Some(Role::Assistant) => Role::Assistant,
            _ => Role::User,
        };
        if is_result {
            let called = revision.tool_call_id().unwrap_or_default();
            let name = self.names.get(called).copied().unwrap_or_default();
            let content = said.unwrap_or_default();
            return self.add(
                role,
                ids.into_iter().map(|id| Block::ToolResult { id, name, content }),
            );
        }
        self.called(revision);
        let said = said.filter(|said| !said.trim().is_empty()).map(Block::Said);
        let calls = ids
            .into_iter()
            .zip(revision.tool_calls())
            .map(|(id, call)| Block::ToolUse { id, call });
        self.add(role, said.into_iter().chain(calls))
    }

    fn called(&mut self, revision: &'a Revision) {
        let calls = revision.tool_calls().iter();
        self.names.extend(calls.map(|call| (call.id.as_str(), call.name.as_str())));
    }

    /// Returns whether the system may speak next: behind the user, or in the message that is its own already.
    pub(crate) fn takes_system(&self) -> bool {
        let last = self.messages.last();
        last.is_some_and(|last| matches!(last.role, Role::User | Role::System))
    }

    /// Adds a message of the system in the middle of the conversation.
    pub(crate) fn late(&mut self, revision: &'a Revision) -> BodyPosition {
        self.add(Role::System, [Block::Said(revision.content())])
    }

    /// Adds what the system says behind all that was said.
    pub(crate) fn late_text(&mut self, text: usize) -> BodyPosition {
        self.add(Role::System, [Block::Text(text)])
    }

    /// Adds a tool behind all that was said.
    pub(crate) fn late_tool(&mut self, json: &'a str) -> BodyPosition {
        self.add(Role::System, [Block::ToolAddition(json)])
    }

    /// Adds what goes back as it came.
    pub(crate) fn raw(&mut self, raw: &'a Outgoing, parts: &[&'a Revision]) -> BodyPosition {
        parts.iter().for_each(|part| self.called(part));
        if self.is_one(raw.role) && self.ends_with(raw.role) {
            let blocks = wire::blocks(&raw.message);
            return self.add(raw.role, blocks.into_iter().map(Block::Raw));
        }
        self.messages.push(Message {
            role: raw.role,
            content: Content::Raw(&raw.message),
        });
        BodyPosition {
            message: Some(self.messages.len() as u32 - 1),
            block: None,
        }
    }

    /// Returns whether neighbours of this role become one message, also where they came as messages: of the system
    /// there is only one between the user and the model.
    fn is_one(&self, role: Role) -> bool {
        role == Role::System || (self.splices && role == Role::Assistant)
    }

    fn ends_with(&self, role: Role) -> bool {
        self.messages.last().is_some_and(|last| last.role == role)
    }

    /// Adds blocks to the last message, or to a new one where the last is another's or goes back as
    /// it came.
    fn add(&mut self, role: Role, blocks: impl IntoIterator<Item = Block<'a>>) -> BodyPosition {
        let mut blocks = blocks.into_iter().peekable();
        let (at, is_one) = (self.messages.len(), self.is_one(role));
        if blocks.peek().is_none() {
            // Nothing is said: it stands empty where the next would stand.
            return BodyPosition {
                message: Some(at as u32),
                block: Some(0),
            };
        }
        if let Some(last) = self.messages.last_mut()
            && last.role == role
        {
            if let Content::Raw(raw) = last.content
                && is_one
            {
                let raw = wire::blocks(raw).into_iter().map(Block::Raw);
                last.content = Content::Blocks(raw.collect());
            }
            if let Content::Blocks(content) = &mut last.content {
                let block = content.len();
                content.extend(blocks);
                return BodyPosition {
                    message: Some(at as u32 - 1),
                    block: Some(block as u32),
                };
            }
        }
        self.messages.push(Message {
            role,
            content: Content::Blocks(blocks.collect()),
        });
        BodyPosition {
            message: Some(at as u32),
            block: Some(0),
        }
    }

    /// The body, as bytes: the model, the tools, the system, the messages, and last the room for the
    /// answer, which may differ from call to call.
    pub(crate) fn body(
        &self,
        model: &str,
        max_tokens: u32,
        texts: &[String],
        tools: &[&str],
    ) -> String {
        let messages = self.messages.iter().map(|message| match &message.content {
            Content::Raw(raw) => (*raw).to_owned(),
            Content::Blocks(blocks) => {
                let content = array(blocks.iter().map(|block| block.json(texts)));
                let role = message.role;
                format!("{{\"content\":{content},\"role\":\"{role}\"}}")
            }
        });
        let system: Vec<String> = self.system.iter().map(|text| text_json(&texts[*text])).collect();
        object(&[
            ("model", Some(quoted(model))),
            ("tools", list(tools)),
            ("system", list(&system)),
            ("messages", Some(array(messages))),
            ("max_tokens", Some(max_tokens.to_string())),
        ])
    }
}

fn text_json(text: &str) -> String {
    json!({ "text": text, "type": "text" }).to_string()
}

impl Block<'_> {
    fn json(&self, texts: &[String]) -> String {
        match self {
            Block::Text(text) => text_json(&texts[*text]),
            Block::Said(text) => text_json(text),
            Block::ToolUse { id, call } => format!(
                "{{\"id\":{},\"input\":{},\"name\":{},\"type\":\"tool_use\"}}",
                quoted(id),
                arguments(call),
                quoted(&call.name)
            ),
            Block::ToolResult { id, content, .. } => {
                json!({ "content": content, "tool_use_id": id, "type": "tool_result" }).to_string()
            }
            Block::ToolAddition(json) => format!(
                "{{\"tool\":{{\"definition\":{json},\"type\":\"tool_definition\"}},\"type\":\"tool_addition\"}}"
            ),
            Block::Raw(raw) => raw.clone(),
        }
    }
}
