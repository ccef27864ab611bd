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
use crate::object::{ContextObject, ObjectType, Revision, Role, Tool};
use crate::policy::{Order, Policy, TaskPosition};
use crate::section::{Section, Zone};

/// A tool as canonical JSON: keys sorted, no white space.
pub(crate) fn tool_json(object: &ContextObject, tool: &Tool) -> String {
    json!({
        "function": {
            "description": object.revision().content().trim(),
            "name": object.name(),
            "parameters": tool.input_schema,
        },
        "type": "function",
    })
    .to_string()
}

/// Whose words a piece of text is: the tail and the task are the user's, the rest the system's. In
/// registry order only the task that the compiler adds leaves the one flow.
pub(crate) fn role(policy: &Policy, section: Section, is_candidate: bool) -> Role {
    let is_task = matches!(section, Section::Task | Section::Query) && !is_candidate;
    let is_users = match policy.document().order {
        Order::Sections => policy.zone(section) == Zone::Tail,
        Order::Registry => is_task,
    };
    if is_users { Role::User } else { Role::System }
}

/// Whether text of this section is a message of its own: it stands between turns, so how many
/// messages there are would otherwise depend on which of its neighbours fit.
pub(crate) fn is_alone(policy: &Policy, section: Section) -> bool {
    policy.document().order == Order::Sections && section == Section::History
}

/// How many messages the texts of these sections share: pieces of one role that stand together make
/// one. More sections never make fewer, so the count for all candidates is a bound for any choice.
pub(crate) fn shared_messages(
    policy: &Policy,
    candidates: &[bool; Section::COUNT],
    added: &[bool; Section::COUNT],
) -> u32 {
    // The roles of the texts in their order; `None` where messages of the history part them.
    let mut flow = Vec::new();
    let text = |present: bool, role: Role| present.then_some(Some(role));
    if policy.document().order == Order::Registry {
        let task = added[Section::Task.index()] || added[Section::Query.index()];
        let before = policy.document().task_position == TaskPosition::Before;
        flow.extend(text(added[Section::Identity.index()], Role::System));
        flow.extend(text(task && before, Role::User));
        flow.extend(text(candidates.contains(&true), Role::System));
        flow.extend(text(task && !before, Role::User));
    } else {
        let mut sections = Section::ALL.to_vec();
        sections.sort_by_key(|section| policy.place(*section));
        for section in sections {
            let at = section.index();
            if section != Section::History {
                flow.extend(text(
                    candidates[at] || added[at],
                    role(policy, section, false),
                ));
            } else {
                flow.extend(candidates[at].then_some(None));
            }
        }
    }
    flow.dedup();
    flow.iter().flatten().count() as u32
}

/// What a turn says: nothing when it only calls tools.
pub(crate) fn spoken(revision: &Revision) -> Option<&str> {
    let silent = !revision.tool_calls().is_empty() && revision.content().trim().is_empty();
    (!silent).then(|| revision.content())
}

/// A message in the making.
pub(crate) enum Message<'a> {
    /// Text pieces under one role.
    Text(Role, String),
    /// One text piece that shares its message with no other.
    Alone(Role, String),
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
        Message::Text(role, text) | Message::Alone(role, text) => {
            json!({ "content": text, "role": role })
        }
        Message::Turn(revision) if revision.object_type() == ObjectType::ToolResult => {
            json!({ "content": revision.content(), "role": "tool", "tool_call_id": revision.tool_call_id() })
        }
        Message::Turn(revision) => {
            let role = revision.role().unwrap_or(Role::User);
            let mut json = json!({ "content": spoken(revision), "role": role });
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
            Message::Text(..) | Message::Alone(..) => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(Error::assertion("a call has no result"))
    }
}
