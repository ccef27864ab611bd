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
//! Rules, with where they are stated. API reference, Messages: `max_tokens` is at least 1; a message
//! is the user's or the assistant's; the first is the user's; `system` stands beside the messages.
//! Guide, Tool use: each `tool_use` is answered by one `tool_result` in the next message, whose
//! content starts with the results; `input` is an object. Guide, Prefilling: newer models take no
//! last message of the assistant. The API's errors: "roles must alternate", "`tool_use` ids must be
//! unique", "text content blocks must contain non-whitespace text", "Requests which include `tool_use`
//! or `tool_result` blocks must define tools".

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::error::Error;
use crate::frame::arguments;
use crate::object::{ObjectType, Revision, Role, Tool, ToolCall};
use crate::render::chat::{Place, array, speaker};

/// A tool as the API takes it.
pub(crate) fn tool(name: &str, description: &str, tool: &Tool) -> Value {
    json!({ "description": description, "input_schema": tool.input_schema, "name": name })
}

/// The arguments of a call: a text stays as it is but for the white space around it.
pub(crate) fn input(call: &ToolCall) -> String {
    arguments(call).trim().to_owned()
}

/// The blocks and messages of a body in the making.
#[derive(Default)]
pub(crate) struct Messages<'a> {
    /// The texts of the system, by their places among the texts.
    system: Vec<usize>,
    messages: Vec<Message<'a>>,
}

struct Message<'a> {
    role: Role,
    content: Vec<Block<'a>>,
}

enum Block<'a> {
    /// Text pieces, by their place among the texts.
    Text(usize),
    /// What a turn says.
    Said(&'a str),
    ToolUse(&'a ToolCall),
    ToolResult {
        id: &'a str,
        content: &'a str,
    },
}

impl<'a> Messages<'a> {
    /// Adds a block for a text.
    pub(crate) fn text(&mut self, role: Role, text: usize) -> Place {
        if role == Role::System {
            self.system.push(text);
            return Place {
                message: None,
                block: Some(self.system.len() as u32 - 1),
            };
        }
        self.add(role, [Block::Text(text)])
    }

    /// Adds a turn that says `said`, or a tool's result.
    pub(crate) fn turn(&mut self, revision: &'a Revision, said: Option<&'a str>) -> Place {
        let role = match speaker(revision) {
            Some(Role::Assistant) => Role::Assistant,
            _ => Role::User,
        };
        if revision.object_type() == ObjectType::ToolResult {
            let id = revision.tool_call_id().unwrap_or_default();
            let content = said.unwrap_or_default();
            return self.add(role, [Block::ToolResult { id, content }]);
        }
        let said = said.map(Block::Said);
        let calls = revision.tool_calls().iter().map(Block::ToolUse);
        self.add(role, said.into_iter().chain(calls))
    }

    /// Adds blocks to the last message, or to a new one where the last is another's.
    fn add(&mut self, role: Role, blocks: impl IntoIterator<Item = Block<'a>>) -> Place {
        if self.messages.last().is_none_or(|last| last.role != role) {
            let content = Vec::new();
            self.messages.push(Message { role, content });
        }
        let at = self.messages.len() - 1;
        let content = &mut self.messages[at].content;
        let block = content.len();
        content.extend(blocks);
        Place {
            message: Some(at as u32),
            block: Some(block as u32),
        }
    }

    /// The body, as bytes.
    pub(crate) fn body(
        &self,
        model: &str,
        max_tokens: u32,
        texts: &[String],
        tools: &[&str],
    ) -> Result<String, Error> {
        self.check(max_tokens, texts, tools)?;
        let messages = self.messages.iter().map(|message| {
            let content = array(message.content.iter().map(|block| block.json(texts)));
            let role = message.role;
            format!("{{\"content\":{content},\"role\":\"{role}\"}}")
        });
        let mut out = format!(
            "{{\"max_tokens\":{max_tokens},\"messages\":{},\"model\":{}",
            array(messages),
            Value::from(model)
        );
        if !self.system.is_empty() {
            out.push_str(",\"system\":");
            out.push_str(&array(
                self.system.iter().map(|text| text_json(&texts[*text])),
            ));
        }
        if !tools.is_empty() {
            out.push_str(",\"tools\":");
            out.push_str(&array(tools));
        }
        out.push('}');
        Ok(out)
    }

    /// Asserts the message rules on what is about to be sent.
    fn check(&self, max_tokens: u32, texts: &[String], tools: &[&str]) -> Result<(), Error> {
        let holds = |holds: bool, rule: &str| {
            if holds {
                Ok(())
            } else {
                Err(Error::assertion(rule))
            }
        };
        holds(max_tokens > 0, "the answer has room")?;
        let is_users = |message: Option<&Message<'_>>| {
            message.is_some_and(|message| message.role == Role::User)
        };
        holds(
            is_users(self.messages.first()),
            "the first message is the user's",
        )?;
        holds(
            is_users(self.messages.last()),
            "the last message is the user's",
        )?;
        holds(
            self.messages
                .windows(2)
                .all(|pair| pair[0].role != pair[1].role),
            "the roles alternate",
        )?;
        let blocks = self.messages.iter().flat_map(|message| &message.content);
        let said = blocks.clone().filter_map(|block| block.said(texts));
        let mut said = said.chain(self.system.iter().map(|text| texts[*text].as_str()));
        holds(said.all(|text| !text.trim().is_empty()), "no text is blank")?;
        let mut blocks = blocks;
        holds(
            !tools.is_empty() || blocks.all(|block| block.said(texts).is_some()),
            "who calls tools is offered some",
        )?;

        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: BTreeSet<&str> = BTreeSet::new();
        for message in &self.messages {
            let is_result = |block: &&Block<'_>| matches!(block, Block::ToolResult { .. });
            let results = message.content.iter().take_while(is_result).count();
            for (at, block) in message.content.iter().enumerate() {
                if let Block::ToolResult { id, .. } = block {
                    holds(at < results, "the results stand first in their message")?;
                    holds(open.remove(id), "a result answers a call just before it")?;
                }
            }
            holds(open.is_empty(), "the next message answers every call")?;
            for block in &message.content {
                if let Block::ToolUse(call) = block {
                    holds(seen.insert(&call.id), "no two calls have one id")?;
                    open.insert(&call.id);
                }
            }
        }
        holds(open.is_empty(), "every call is answered")
    }
}

fn text_json(text: &str) -> String {
    json!({ "text": text, "type": "text" }).to_string()
}

impl Block<'_> {
    fn said<'b>(&'b self, texts: &'b [String]) -> Option<&'b str> {
        match self {
            Block::Text(text) => Some(&texts[*text]),
            Block::Said(text) => Some(text),
            Block::ToolUse(_) | Block::ToolResult { .. } => None,
        }
    }

    fn json(&self, texts: &[String]) -> String {
        match self {
            Block::Text(text) => text_json(&texts[*text]),
            Block::Said(text) => text_json(text),
            Block::ToolUse(call) => format!(
                "{{\"id\":{},\"input\":{},\"name\":{},\"type\":\"tool_use\"}}",
                Value::from(call.id.as_str()),
                input(call),
                Value::from(call.name.as_str())
            ),
            Block::ToolResult { id, content } => {
                json!({ "content": content, "tool_use_id": id, "type": "tool_result" }).to_string()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether messages of these blocks pass: `u` and `a` are texts of a role, a digit a call of the
    /// assistant, a digit after `=` its result.
    fn passes(blocks: &str, tools: &[&str]) -> bool {
        let calls: Vec<ToolCall> = (0..4)
            .map(|n| ToolCall {
                id: n.to_string(),
                name: "f".into(),
                arguments: Value::Null,
            })
            .collect();
        let mut messages = Messages::default();
        for block in blocks.split(' ') {
            let call = |digit: &str| &calls[digit.parse::<usize>().unwrap()];
            match (block, block.strip_prefix('=')) {
                ("u", _) => messages.add(Role::User, [Block::Text(0)]),
                ("a", _) => messages.add(Role::Assistant, [Block::Said("Yes.")]),
                ("blank", _) => messages.add(Role::User, [Block::Said(" \n")]),
                (_, Some(digit)) => {
                    let id = &call(digit).id;
                    let content = "";
                    messages.add(Role::User, [Block::ToolResult { id, content }])
                }
                (digit, None) => messages.add(Role::Assistant, [Block::ToolUse(call(digit))]),
            };
        }
        messages.check(1, &["Hello.".to_owned()], tools).is_ok()
    }

    #[test]
    fn broken_rules_are_noticed() {
        let legal = [
            "u",
            "u a u",
            "u a 0 =0 u",
            "u 0 1 =1 =0 a u",
            "u 0 =0 1 =1",
            "u u a a u",
        ];
        for blocks in legal {
            assert!(passes(blocks, &["{}"]), "{blocks}");
        }
        let broken = [
            "a u",
            "u a",
            "blank",
            "u 0 u",
            "u 0 1 =0",
            "u 0 u =0",
            "u 0 =0 =0",
            "u 0 =1",
            "u =0",
            "u 0 =0 u =1",
            "u 0 =0 0 =0",
            "u 0",
        ];
        for blocks in broken {
            assert!(!passes(blocks, &["{}"]), "{blocks}");
        }
        assert!(passes("u", &[]) && !passes("u 0 =0", &[]));
        let messages = Messages::default();
        assert!(messages.check(1, &[], &[]).is_err());
    }
}
