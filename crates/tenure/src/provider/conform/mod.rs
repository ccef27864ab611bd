//! The check that a provider takes a body: its rules on messages as dated data (`rules.toml`), and a checker that
//! shares no code with what writes bodies. Every body that a compile emits passes it.
//!
//! ```
//! use tenure::conform::check;
//! use tenure::wire::Format;
//!
//! let body = r#"{"messages": [{"role": "user", "content": "Go."}, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]}"#;
//! let found = check(Format::OpenAiChat, body, None)?;
//! assert_eq!((found[0].rule.as_str(), found[0].at.as_str()), ("result_without_call", "messages[1]"));
//! # Ok::<(), tenure::Error>(())
//! ```

mod body;
mod unread;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::text::clip;
use crate::object::Format;
use crate::provider::catalogue::{LateForm, MessageRules, Model};
use body::{Block, Body, Message, Speaker};

pub use unread::{Unread, unread};

/// A rule of one or more providers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The name by which violations and refusals refer to it.
    pub name: String,
    /// The formats whose rule it is.
    pub formats: Vec<Format>,
    /// The fact of the catalogue that must be known of the model for the rule to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The rule, in words.
    pub what: String,
    /// The document that states it.
    pub source: String,
    /// The day on which it was right. Default: the file's.
    #[serde(default)]
    pub dated: String,
}

/// A rule that a body breaks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Violation {
    /// The rule's name.
    pub rule: String,
    /// The place: `messages[3]`.
    pub at: String,
    /// The fault there.
    pub what: String,
}

/// The rules, in the order of the file.
///
/// # Errors
///
/// None: the file is part of the crate, and tested.
pub fn rules() -> Result<Vec<Rule>, Error> {
    #[derive(Deserialize)]
    struct File {
        dated: String,
        rules: Vec<Rule>,
    }
    let file: File = toml::from_str(include_str!("rules.toml"))
        .map_err(|error| Error::assertion(format!("the rules can be read: {error}")))?;
    let mut rules = file.rules;
    for rule in rules.iter_mut().filter(|rule| rule.dated.is_empty()) {
        rule.dated.clone_from(&file.dated);
    }
    Ok(rules)
}

/// The rules that a body, or a bare array of messages, breaks, in the order of its messages. Without
/// a model, rules that hold for some models only are left out.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no JSON of this form.
pub fn check(format: Format, body: &str, model: Option<&Model>) -> Result<Vec<Violation>, Error> {
    let whole = !body.trim_start().starts_with('[');
    let body = Body::read(format, body)?;
    let facts = model.and_then(|model| model.messages).unwrap_or_default();
    let mut found = Found {
        format,
        facts,
        violations: Vec::new(),
    };
    found.messages(&body);
    found.tools(&body, whole);
    let form = model.and_then(|model| model.late_tools.as_ref());
    found.late_tools(&body, whole, form.map(|late| late.form));
    match format {
        Format::OpenAiChat => found.pairs(&body.messages, &[Speaker::Tool]),
        Format::OpenAiResponses => found.items(&body),
        Format::Anthropic => found.anthropic(&body, whole),
        Format::Gemini => found.gemini(&body.messages),
    }
    Ok(found.violations)
}

struct Found {
    format: Format,
    facts: MessageRules,
    violations: Vec<Violation>,
}

/// The calls of a message: id and name.
fn calls(message: &Message) -> impl Iterator<Item = (Option<&str>, &str)> {
    message.blocks.iter().filter_map(|block| match block {
        Block::Call { id, name, .. } => Some((id.as_deref(), name.as_str())),
        _ => None,
    })
}

/// The results of a message: id and name.
fn results(message: &Message) -> impl Iterator<Item = (Option<&str>, Option<&str>)> {
    message.blocks.iter().filter_map(|block| match block {
        Block::Result { id, name } => Some((id.as_deref(), name.as_deref())),
        _ => None,
    })
}

fn has_calls(message: &Message) -> bool {
    calls(message).next().is_some()
}

impl Found {
    fn add(&mut self, rule: &str, at: &str, what: impl Into<String>) {
        self.violations.push(Violation {
            rule: rule.to_owned(),
            at: at.to_owned(),
            what: what.into(),
        });
    }

    /// Checks the rules that hold for each message by itself.
    fn messages(&mut self, body: &Body) {
        if body.messages.is_empty() {
            self.add("no_messages", "body", "there are no messages");
        }
        for message in &body.messages {
            if message.speaker == Speaker::Unknown {
                self.add(
                    "unknown_role",
                    &message.at,
                    "a role that the API does not know",
                );
            }
            let is_empty = match self.format {
                Format::Anthropic => {
                    message.blocks.iter().any(|block| matches!(block, Block::Text { blank: true }))
                }
                Format::Gemini => false,
                Format::OpenAiChat | Format::OpenAiResponses => false,
            };
            if message.blocks.is_empty() || is_empty {
                self.add(
                    "empty_content",
                    &message.at,
                    "nothing, or white space alone, is said",
                );
            }
            if message.speaker != Speaker::Model && has_calls(message) {
                self.add(
                    "call_by_another",
                    &message.at,
                    "a call that is not the model's",
                );
            }
            for block in &message.blocks {
                let Block::Call {
                    id,
                    name,
                    is_object,
                    ..
                } = block
                else {
                    continue;
                };
                self.tool_name(name, &message.at);
                if !is_object && matches!(self.format, Format::Anthropic | Format::Gemini) {
                    self.add(
                        "call_arguments",
                        &message.at,
                        "arguments that are no object",
                    );
                }
                self.call_id(id.as_deref(), &message.at);
            }
            // Whose call the provider keeps, is known by the result alone.
            for (id, _) in results(message).filter(|_| body.continues) {
                self.call_id(id, &message.at);
            }
        }
    }

    fn call_id(&mut self, id: Option<&str>, at: &str) {
        let id = id.unwrap_or_default();
        let (is_legal, what) = match self.format {
            Format::Anthropic => (
                id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'),
                "a call without an id of letters, digits, `_` or `-`",
            ),
            Format::OpenAiChat => (
                id.chars().count() <= 40,
                "a call without an id of 1 to 40 characters",
            ),
            Format::OpenAiResponses => (
                id.chars().count() <= 64,
                "a call without an id of 1 to 64 characters",
            ),
            Format::Gemini => return,
        };
        if id.is_empty() || !is_legal {
            self.add("call_id", at, what);
        }
    }

    fn tool_name(&mut self, name: &str, at: &str) {
        let more: &[char] = match self.format {
            Format::Gemini => &['_', '-', '.', ':'],
            _ => &['_', '-'],
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || more.contains(&c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            self.add("tool_name", at, format!("a tool named `{}`", clip(name)));
        }
    }

    fn tools(&mut self, body: &Body, whole: bool) {
        let mut seen = BTreeSet::new();
        for name in &body.tools {
            self.tool_name(name, "tools");
            if !seen.insert(name) {
                self.add(
                    "duplicate_tool",
                    "tools",
                    format!("two tools named `{}`", clip(name)),
                );
            }
        }
        let user = body
            .messages
            .iter()
            .find(|message| has_calls(message) || results(message).next().is_some());
        if let Some(message) = user
            && self.format == Format::Anthropic
            && whole
            && !body.offers
        {
            self.add(
                "tool_undefined",
                &message.at,
                "a call or result, and no tools are offered",
            );
        }
    }

    /// Tools that are added or taken away in the middle of the conversation.
    fn late_tools(&mut self, body: &Body, whole: bool, form: Option<LateForm>) {
        let mut known: BTreeSet<&str> = body.tools.iter().map(String::as_str).collect();
        for message in &body.messages {
            for block in &message.blocks {
                let (name, defined) = match block {
                    Block::Added { name, defined } => (name, *defined),
                    Block::Removed { name } => (name, false),
                    _ => continue,
                };
                if form == Some(LateForm::None) {
                    let what = "the model takes no tools in the middle of a conversation";
                    self.add("late_tools_refused", &message.at, what);
                }
                let Some(name) = name else { continue };
                if defined {
                    self.tool_name(name, &message.at);
                    known.insert(name);
                } else if whole && !known.contains(name.as_str()) {
                    let what = format!("`{}` is not defined", clip(name));
                    self.add("late_tool_undefined", &message.at, what);
                }
            }
        }
    }

    /// Calls are answered by the messages that follow, before anyone else speaks.
    fn pairs(&mut self, messages: &[Message], answer: &[Speaker]) {
        let mut open: Vec<&str> = Vec::new();
        let mut asked = "";
        for message in messages {
            for (id, _) in results(message) {
                match open.iter().position(|open| Some(*open) == id) {
                    Some(at) => {
                        open.remove(at);
                    }
                    None => {
                        let id = clip(id.unwrap_or_default());
                        self.add(
                            "result_without_call",
                            &message.at,
                            format!("`{id}` answers no open call"),
                        );
                    }
                }
            }
            if !answer.contains(&message.speaker) {
                self.unanswered(&open, asked);
                open.clear();
                asked = &message.at;
                for (id, _) in calls(message) {
                    let id = id.unwrap_or_default();
                    if open.contains(&id) {
                        self.add(
                            "duplicate_call_id",
                            &message.at,
                            format!("two calls `{}`", clip(id)),
                        );
                    }
                    open.push(id);
                }
            }
        }
        self.unanswered(&open, asked);
    }

    fn unanswered(&mut self, open: &[&str], at: &str) {
        for id in open {
            self.add(
                "call_without_result",
                at,
                format!("`{}` is not answered", clip(id)),
            );
        }
    }

    /// Items of the responses API: calls and outputs find each other by id.
    fn items(&mut self, body: &Body) {
        let items = &body.messages;
        let mut asked: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<(&str, &str)> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            for (id, _) in calls(item) {
                let id = id.unwrap_or_default();
                if !asked.insert(id) {
                    self.add(
                        "duplicate_call_id",
                        &item.at,
                        format!("two calls `{}`", clip(id)),
                    );
                }
                open.push((id, &item.at));
            }
            for (id, _) in results(item) {
                match open.iter().position(|(open, _)| Some(*open) == id) {
                    Some(at) => {
                        open.remove(at);
                    }
                    None if body.continues => {}
                    None => {
                        let id = clip(id.unwrap_or_default());
                        self.add(
                            "result_without_call",
                            &item.at,
                            format!("`{id}` answers no open call"),
                        );
                    }
                }
            }
            let led = items[at + 1..].iter().find(|next| !is_reasoning(next));
            if is_reasoning(item) && led.is_none_or(|next| next.speaker != Speaker::Model) {
                self.add(
                    "reasoning_without_partner",
                    &item.at,
                    "reasoning that led to nothing",
                );
            }
        }
        for (id, at) in open {
            self.unanswered(&[id], at);
        }
    }

    fn anthropic(&mut self, body: &Body, whole: bool) {
        let messages = &body.messages;
        if messages.first().is_some_and(|first| first.speaker != Speaker::User) {
            self.add(
                "first_message_is_users",
                &messages[0].at,
                "somebody else's message is the first",
            );
        }
        if let Some(last) = messages.last()
            && last.speaker == Speaker::Model
            && self.facts.prefill == Some(false)
        {
            self.add(
                "prefill_refused",
                &last.at,
                "the assistant's message is the last",
            );
        }
        if whole && body.max_tokens.is_none_or(|tokens| tokens < 1) {
            self.add("max_tokens", "body", "no room for the answer");
        }
        if messages.len() > 100_000 {
            self.add(
                "too_many_messages",
                "body",
                format!("{} messages", messages.len()),
            );
        }
        if body.marks.len() > 4 {
            self.add(
                "too_many_breakpoints",
                "body",
                format!("{} marks", body.marks.len()),
            );
        }
        for (at, what) in &body.misplaced {
            self.add("mark_place", at, *what);
        }
        if !body.marks.is_sorted_by(|a, b| a >= b) {
            self.add(
                "ttl_order",
                "body",
                "a mark of a longer life stands behind a shorter one",
            );
        }
        for (at, message) in messages.iter().enumerate() {
            if message.speaker == Speaker::System {
                self.late(messages, at);
            }
            let said = |block: &Block| !matches!(block, Block::Result { .. });
            let first = message.blocks.iter().position(said).unwrap_or(usize::MAX);
            let is_late = |(at, block): (usize, &Block)| at > first && !said(block);
            if message.blocks.iter().enumerate().any(is_late) {
                self.add(
                    "result_not_first",
                    &message.at,
                    "something is said before a result",
                );
            }
            let last = at.checked_sub(1).map(|last| &messages[last]);
            if self.facts.merges_same_role == Some(false)
                && last.is_some_and(|last| last.speaker == message.speaker)
            {
                self.add("roles_alternate", &message.at, "the same role twice");
            }
        }
        self.blocks(messages);
    }

    fn late(&mut self, messages: &[Message], at: usize) {
        let message = &messages[at];
        if self.facts.mid_conversation_system == Some(false) {
            self.add(
                "system_refused",
                &message.at,
                "the model takes no message of the system",
            );
        }
        // Neighbours are one.
        let is_others = |message: &&Message| message.speaker != Speaker::System;
        let before = messages[..at].iter().rev().find(is_others);
        let after_user = before.is_some_and(|before| before.speaker == Speaker::User);
        let next = messages[at + 1..].iter().find(is_others);
        let leads = next.is_none_or(|next| next.speaker == Speaker::Model);
        let may_hold = |block: &Block| {
            matches!(
                block,
                Block::Text { .. } | Block::Added { .. } | Block::Removed { .. }
            )
        };
        if !(after_user && leads && message.blocks.iter().all(may_hold)) {
            self.add(
                "system_position",
                &message.at,
                "a message of the system where none may stand",
            );
        }
    }

    /// The calls of one turn of the model are answered in the next turn of the user. Neighbours of one
    /// role are one turn.
    fn blocks(&mut self, messages: &[Message]) {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<(&str, &str)> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let begins = at == 0 || messages[at - 1].speaker != message.speaker;
            // Words of the user between a call and its result part them.
            let answers = results(message).next().is_some();
            if message.speaker == Speaker::User && !open.is_empty() && !begins && answers {
                let before = &messages[at - 1];
                if before.blocks.iter().any(|block| !matches!(block, Block::Result { .. })) {
                    self.add(
                        "result_not_first",
                        &message.at,
                        "something is said before a result",
                    );
                }
            }
            for (id, _) in results(message) {
                match open.iter().position(|(open, _)| Some(*open) == id) {
                    Some(at) => {
                        open.remove(at);
                    }
                    None => {
                        let id = clip(id.unwrap_or_default());
                        self.add(
                            "result_without_call",
                            &message.at,
                            format!("`{id}` answers no open call"),
                        );
                    }
                }
            }
            let ends = messages.get(at + 1).is_none_or(|next| next.speaker != message.speaker);
            if message.speaker != Speaker::Model && ends {
                for (id, asked) in std::mem::take(&mut open) {
                    self.unanswered(&[id], asked);
                }
            }
            for (id, _) in calls(message) {
                let id = id.unwrap_or_default();
                if !seen.insert(id) {
                    self.add(
                        "duplicate_call_id",
                        &message.at,
                        format!("two calls `{}`", clip(id)),
                    );
                }
                open.push((id, &message.at));
            }
        }
        for (id, asked) in open {
            self.unanswered(&[id], asked);
        }
    }

    fn gemini(&mut self, messages: &[Message]) {
        if let Some(first) = messages.first()
            && first.speaker != Speaker::User
        {
            self.add(
                "first_message_is_users",
                &first.at,
                "the model's message is the first",
            );
        }
        if let Some(last) = messages.last()
            && last.speaker != Speaker::User
        {
            self.add(
                "last_message_is_users",
                &last.at,
                "the model's message is the last",
            );
        }
        for (at, message) in messages.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &messages[before]);
            let next = messages.get(at + 1);
            if has_calls(message) {
                if before.is_some_and(|before| before.speaker != Speaker::User) {
                    self.add(
                        "call_after_user",
                        &message.at,
                        "a call behind words of the model",
                    );
                }
                let mut waits: Vec<&str> = calls(message).map(|(_, name)| name).collect();
                for (_, name) in next.into_iter().flat_map(results) {
                    if let Some(at) = waits.iter().position(|waits| Some(*waits) == name) {
                        waits.remove(at);
                    }
                }
                self.unanswered(&waits, &message.at);
            }
            let mut asked: Vec<&str> =
                before.into_iter().flat_map(calls).map(|(_, name)| name).collect();
            for (_, name) in results(message) {
                match asked.iter().position(|asked| Some(*asked) == name) {
                    Some(at) => {
                        asked.remove(at);
                    }
                    None => {
                        let name = clip(name.unwrap_or_default());
                        self.add(
                            "result_without_call",
                            &message.at,
                            format!("`{name}` answers no open call"),
                        );
                    }
                }
            }
        }
        self.signatures(messages);
    }

    /// In the current turn, from the last words of the user on, calls carry their signatures.
    fn signatures(&mut self, messages: &[Message]) {
        if self.facts.signed_calls != Some(true) {
            return;
        }
        let turn = messages
            .iter()
            .rposition(|message| {
                message.speaker == Speaker::User && results(message).next().is_none()
            })
            .unwrap_or(0);
        for message in &messages[turn..] {
            let first = message.blocks.iter().find_map(|block| match block {
                Block::Call { signed, .. } => Some(*signed),
                _ => None,
            });
            if first == Some(false) {
                self.add(
                    "thought_signature_missing",
                    &message.at,
                    "a call without its signature",
                );
            }
        }
    }
}

fn is_reasoning(message: &Message) -> bool {
    message.blocks.iter().any(|block| matches!(block, Block::Reasoning))
}

#[cfg(test)]
mod tests;
