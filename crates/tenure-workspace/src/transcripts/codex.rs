//! Codex's rollouts: a line for each thing that happened, and in some of them an item of OpenAI's responses.

use serde_json::Value;
use serde_json::value::RawValue;
use tenure::wire::Format;

use super::{Finding, Items, Object, Read, Remarks};

/// Kinds of lines in which the client keeps what is its own.
const OWN: [&str; 6] = [
    "session_meta",
    "turn_context",
    "world_state",
    "token_usage_record",
    "event_msg",
    "inter_agent_communication",
];

/// The field of an item that the client keeps for itself.
const CLIENTS: &str = "internal_chat_message_metadata_passthrough";

/// The beginnings of what the client says in the user's name.
const CLIENT_SAYS: [&str; 4] = [
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
];

/// Returns whether an item is such a line.
pub(super) fn is_line(item: &Object<'_>) -> bool {
    let kinds = [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
    ];
    item.is("type", &kinds) && item.object("payload").is_some()
}

/// Reads the lines.
pub(super) fn read(items: &Items<'_>) -> Read {
    let mut remarks = Remarks::default();
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    let mut fields = Vec::new();
    let mut messages: Vec<(usize, String)> = Vec::new();
    for (line, value) in &items.all {
        let fields_of = Object::of(value);
        let kind = fields_of.as_ref().and_then(|line| line.text("type"));
        let payload = fields_of.as_ref().and_then(|line| line.get("payload"));
        let (Some(kind), Some(payload)) = (kind, payload) else {
            remarks.add(*line, "no type", Finding::NotUnderstood);
            continue;
        };
        let inner = Object::of(payload);
        match (kind.as_str(), inner) {
            ("response_item", Some(item)) => match item.text("type").as_deref() {
                Some("ghost_snapshot") => {}
                Some(known) if is_item(known) => messages.push((*line, as_sent(payload, &item))),
                other => {
                    let kind = other.unwrap_or("no type");
                    remarks.add(*line, kind, Finding::NotUnderstood);
                }
            },
            ("compacted", Some(compacted)) => {
                remarks.add(*line, "compacted", Finding::Compacted);
                let summary = compacted.text("message").filter(|text| !text.trim().is_empty());
                messages.extend(summary.map(|text| (*line, user(&text))));
            }
            ("session_meta", Some(meta)) => {
                let base = meta.object("base_instructions");
                let text = base
                    .and_then(|base| base.text("text"))
                    .or_else(|| meta.text_of(&["instructions", "base_instructions"]));
                if let Some(text) = text.filter(|_| fields.is_empty()) {
                    fields.push(("instructions", Value::from(text).to_string()));
                }
            }
            ("event_msg", Some(event)) if event.is("type", &["thread_rolled_back"]) => {
                let turns = event.get("num_turns").and_then(|turns| turns.get().parse().ok());
                roll_back(&mut messages, turns.unwrap_or(0));
                remarks.add(*line, "thread_rolled_back", Finding::Abandoned);
            }
            (own, Some(_)) if OWN.contains(&own) => {}
            (kind, _) => remarks.add(*line, kind, Finding::NotUnderstood),
        }
    }
    Read {
        format: Format::OpenAiResponses,
        fields,
        messages,
        remarks,
    }
}

/// Returns whether a kind is one of the items that go back to the provider.
fn is_item(kind: &str) -> bool {
    matches!(
        kind,
        "message" | "reasoning" | "tool_search_output" | "compaction" | "context_compaction"
    ) || kind.ends_with("_call")
        || kind.ends_with("_call_output")
}

/// An item as the client sends it.
fn as_sent(payload: &RawValue, item: &Object<'_>) -> String {
    if !item.has(CLIENTS) {
        return payload.get().to_owned();
    }
    // The order of the fields is the text's.
    let mut fields: Vec<(&str, &RawValue)> =
        item.iter().filter(|(key, _)| *key != CLIENTS).collect();
    fields.sort_by_key(|(_, value)| value.get().as_ptr());
    let fields: Vec<String> = fields
        .into_iter()
        .map(|(key, value)| format!("{}:{}", Value::from(key), value.get()))
        .collect();
    format!("{{{}}}", fields.join(","))
}

fn user(text: &str) -> String {
    let text = Value::from(text);
    format!(
        "{{\"type\":\"message\",\"role\":\"user\",\"content\":[{{\"type\":\"input_text\",\"text\":{text}}}]}}"
    )
}

/// Takes the last turns back, each with what the user said at its beginning.
fn roll_back(messages: &mut Vec<(usize, String)>, turns: usize) {
    for _ in 0..turns {
        match messages.iter().rposition(|(_, message)| is_users(message)) {
            Some(at) => messages.truncate(at),
            None => return,
        }
    }
}

/// Returns whether a message is what a user typed.
fn is_users(message: &str) -> bool {
    let item = serde_json::from_str::<&RawValue>(message)
        .ok()
        .and_then(Object::of)
        .filter(|item| item.is("role", &["user"]));
    let parts = item.and_then(|item| item.list("content")).unwrap_or_default();
    let texts: Vec<String> =
        parts.into_iter().filter_map(|part| Object::of(part)?.text("text")).collect();
    !texts.is_empty()
        && !texts
            .iter()
            .all(|text| CLIENT_SAYS.iter().any(|begin| text.trim_start().starts_with(begin)))
}
