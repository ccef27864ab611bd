//! opencode's sessions, as `opencode export` writes them: messages with an `info`, and `parts`, of which a tool's is both its
//! call and its result.

use serde_json::value::RawValue;
use tenure::object::Role;

use super::turns::{Block, Media, Turns, arguments, output, said};
use super::{Finding, Items, Object, Read, Remarks};

/// Kinds of parts in which the client keeps what is its own.
const OWN: [&str; 5] = ["step-finish", "snapshot", "patch", "agent", "retry"];

/// Returns whether an item is such a message.
pub(super) fn is_message(item: &Object<'_>) -> bool {
    let info = item.object("info");
    info.is_some_and(|info| info.has("role")) && item.list("parts").is_some()
}

/// Reads the messages.
pub(super) fn read(items: &Items<'_>) -> Read {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for (line, value) in &items.all {
        let item = Object::of(value);
        let role = item.as_ref().and_then(|item| item.object("info")?.text("role"));
        let parts = item.as_ref().and_then(|item| item.list("parts"));
        match (role.as_deref(), parts) {
            (Some("user"), Some(parts)) => user(*line, &parts, &mut turns, &mut remarks),
            (Some("assistant"), Some(parts)) => model(*line, &parts, &mut turns, &mut remarks),
            (other, _) => remarks.add(*line, other.unwrap_or("no role"), Finding::NotUnderstood),
        }
    }
    turns.read(remarks)
}

fn user(line: usize, parts: &[&RawValue], turns: &mut Turns, remarks: &mut Remarks) {
    let blocks = parts.iter().filter_map(|value| plain(line, value, remarks)).collect();
    turns.add(line, Role::User, blocks);
}

fn model(line: usize, parts: &[&RawValue], turns: &mut Turns, remarks: &mut Remarks) {
    let (mut now, mut results) = (Vec::new(), Vec::new());
    for value in parts {
        let part = Object::of(value);
        let kind = part.as_ref().and_then(|part| part.text("type"));
        match (kind.as_deref(), part) {
            (Some("step-start"), _) => turns.step(line, &mut now, &mut results),
            (Some("reasoning"), Some(part)) => now.extend(thinking(&part)),
            (Some("tool"), Some(part)) => {
                let (call, result) = tool(&part);
                now.push(call);
                results.extend(result);
            }
            _ => now.extend(plain(line, value, remarks)),
        }
    }
    turns.step(line, &mut now, &mut results);
}

/// A part that either may bring.
fn plain(line: usize, value: &RawValue, remarks: &mut Remarks) -> Option<Block> {
    let part = Object::of(value)?;
    let kind = part.text("type").unwrap_or_default();
    match kind.as_str() {
        // The client's user sees it, and the model does not.
        "text" if part.is_true("ignored") => {
            remarks.add(line, "text", Finding::ShownOnly);
            None
        }
        "text" => said(part.text("text")),
        "file" => {
            let mime = part.text("mime");
            let name = part.text("filename");
            Some(Block::Media(
                Media::of_url(part.text("url")?, mime).named(name),
            ))
        }
        "compaction" => {
            remarks.add(line, "compaction", Finding::Compacted);
            None
        }
        "subtask" => {
            remarks.add(line, "subtask", Finding::SideChain);
            None
        }
        own if OWN.contains(&own) => None,
        kind => {
            remarks.add(line, kind, Finding::NotUnderstood);
            None
        }
    }
}

/// What the model thought. Anthropic's signature is in what the client keeps of the provider.
fn thinking(part: &Object<'_>) -> Option<Block> {
    let own = part.object("metadata").and_then(|metadata| metadata.object("anthropic"));
    let signature = own.and_then(|own| own.text("signature"));
    let text = part.text("text").unwrap_or_default();
    let is_empty = text.is_empty() && signature.is_none();
    (!is_empty).then_some(Block::Thinking { text, signature })
}

/// A call, and its result where it came to one.
fn tool(part: &Object<'_>) -> (Block, Option<Block>) {
    let id = part.text("callID").unwrap_or_default();
    let state = part.object("state");
    let input = state.as_ref().and_then(|state| state.get("input"));
    let call = Block::Call {
        id: id.clone(),
        name: part.text("tool").unwrap_or_default(),
        arguments: arguments(input),
    };
    let result = state.and_then(|state| {
        let failed = state.is("status", &["error"]);
        let given = state.get(if failed { "error" } else { "output" });
        if !failed && !state.is("status", &["completed"]) {
            return None;
        }
        let mut content = output(given);
        let pictures =
            state.list("attachments").unwrap_or_default().into_iter().filter_map(|picture| {
                let picture = Object::of(picture)?;
                Some(Block::Media(Media::of_url(
                    picture.text("url")?,
                    picture.text("mime"),
                )))
            });
        content.extend(pictures);
        Some(Block::Result {
            id,
            content,
            failed,
        })
    });
    (call, result)
}
