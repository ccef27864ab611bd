//! Gemini CLI's chats: `session-*.json` with a list of messages, `session-*.jsonl` with a record in each line, of which a later
//! one of the same id replaces an earlier one.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tenure::object::Role;

use super::turns::{Block, Turns, arguments, output, part};
use super::{Finding, Items, Object, Placed, Read, Remarks, list};

/// Returns whether an item is a message of such a chat, or a record that belongs to one.
pub(super) fn is_message(item: &Object<'_>) -> bool {
    let says =
        item.is("type", &["user", "gemini"]) && (item.has("content") || item.has("toolCalls"));
    says && !item.has("role") || item.has("sessionId") && item.has("projectHash")
}

/// Reads the messages.
pub(super) fn read(items: &Items<'_>) -> Read {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    for (line, value) in standing(&items.all, &mut remarks) {
        let Some(message) = Object::of(value) else {
            remarks.add(line, "value", Finding::NotUnderstood);
            continue;
        };
        match message.text("type").as_deref() {
            Some("user") => {
                let blocks = content(&message, line, &mut remarks);
                turns.add(line, Role::User, blocks);
            }
            Some("gemini") => model(&message, line, &mut turns, &mut remarks),
            Some(kind @ ("info" | "error" | "warning")) => {
                remarks.add(line, kind, Finding::ShownOnly);
            }
            other => remarks.add(line, other.unwrap_or("no type"), Finding::NotUnderstood),
        }
    }
    turns.read(remarks)
}

/// The messages that stand, and the places of those that have an id.
#[derive(Default)]
struct Standing<'a> {
    all: Vec<(Option<String>, Placed<'a>)>,
    places: BTreeMap<String, usize>,
}

impl<'a> Standing<'a> {
    /// Puts a message in the place of the one of its id, or at the end.
    fn put(&mut self, line: usize, value: &'a RawValue) {
        let id = Object::of(value).and_then(|record| record.text("id"));
        let place = id.as_ref().and_then(|id| self.places.get(id));
        if let Some(place) = place {
            self.all[*place].1.1 = value;
            return;
        }
        if let Some(id) = &id {
            self.places.insert(id.clone(), self.all.len());
        }
        self.all.push((id, (line, value)));
    }

    /// Takes the message of this id back, and all behind it; everything where there is none, as the client does.
    fn rewind(&mut self, to: &str, remarks: &mut Remarks) {
        let place = self.places.get(to).copied().unwrap_or(0);
        for (id, (line, _)) in self.all.drain(place..) {
            remarks.add(line, "message", Finding::Abandoned);
            id.and_then(|id| self.places.remove(&id));
        }
    }
}

/// The messages that stand at the end of the records.
fn standing<'a>(records: &[Placed<'a>], remarks: &mut Remarks) -> Vec<Placed<'a>> {
    let mut standing = Standing::default();
    for (line, value) in records {
        let whole = Object::of(value);
        let record = whole.as_ref();
        let has = |key: &str| record.is_some_and(|record| record.has(key));
        if let Some(to) = record.and_then(|record| record.text("$rewindTo")) {
            standing.rewind(&to, remarks);
        } else if has("$set") {
            let set = record.and_then(|record| record.object("$set")?.list("messages"));
            if let Some(messages) = set {
                // What was said before the history was compressed is not what is said again after it.
                remarks.add(*line, "$set", Finding::Compacted);
                messages.into_iter().for_each(|message| standing.put(*line, message));
            }
        } else if has("sessionId") && has("projectHash") {
            let messages = record
                .and_then(|record| record.list("messages"))
                .unwrap_or_default()
                .into_iter();
            messages.for_each(|message| standing.put(*line, message));
        } else {
            standing.put(*line, value);
        }
    }
    standing.all.into_iter().map(|(_, placed)| placed).collect()
}

/// The content of a message: a text, a part, or a list of them.
fn content(message: &Object<'_>, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let Some(content) = message.get("content") else {
        return Vec::new();
    };
    parts(content, line, remarks)
}

fn parts(content: &RawValue, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let parts = list(content).unwrap_or_else(|| vec![content]);
    let mut blocks = Vec::new();
    for value in parts {
        match part(value) {
            Some(Block::Text(text)) if text.is_empty() => {}
            Some(block) => blocks.push(block),
            // Results stand with their calls, too.
            None if is_of_call(value) => {}
            None => remarks.add(line, "part", Finding::NotUnderstood),
        }
    }
    blocks
}

fn is_of_call(value: &RawValue) -> bool {
    Object::of(value).is_some_and(|part| part.has("functionResponse") || part.has("functionCall"))
}

fn model(message: &Object<'_>, line: usize, turns: &mut Turns, remarks: &mut Remarks) {
    let thoughts = message.list("thoughts").unwrap_or_default().into_iter().filter_map(|thought| {
        let thought = Object::of(thought)?;
        let texts: Vec<String> = [thought.text("subject"), thought.text("description")]
            .into_iter()
            .flatten()
            .collect();
        let (text, signature) = (texts.join("\n"), None);
        Some(Block::Thinking { text, signature })
    });
    let mut said: Vec<Block> = thoughts.collect();
    said.extend(content(message, line, remarks));
    let mut results = Vec::new();
    for call in message.list("toolCalls").unwrap_or_default() {
        let Some(call) = Object::of(call) else {
            remarks.add(line, "toolCalls", Finding::NotUnderstood);
            continue;
        };
        let id = call.text("id").unwrap_or_default();
        said.push(Block::Call {
            id: id.clone(),
            name: call.text("name").unwrap_or_default(),
            arguments: arguments(call.get("args")),
        });
        if let Some(result) = call.get("result") {
            results.push(Block::Result {
                id,
                content: result_of(result, line, remarks),
                failed: call.is("status", &["error"]),
            });
        }
    }
    turns.step(line, &mut said, &mut results);
}

/// What a call gave: parts, of which a response holds its output.
fn result_of(result: &RawValue, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let mut blocks = Vec::new();
    for value in list(result).unwrap_or_else(|| vec![result]) {
        let response = Object::of(value).and_then(|part| part.object("functionResponse"));
        let Some(response) = response else {
            blocks.extend(parts(value, line, remarks));
            continue;
        };
        let inner = response.object("response");
        let only = inner.as_ref().and_then(|inner| inner.get("output").or(inner.get("error")));
        blocks.extend(output(only.or(response.get("response"))));
        let more = response.get("parts").map(|more| parts(more, line, remarks));
        blocks.extend(more.unwrap_or_default());
    }
    blocks
}
