//! pydantic-ai's messages: requests and responses, whose parts say what they are in `part_kind`.

use serde_json::value::RawValue;
use tenure::object::Role;

use super::turns::{Block, Media, Turns, arguments, output, said};
use super::values::text;
use super::{Finding, Items, Object, Read, Remarks, list};

/// Kinds of parts in which the library keeps what is its own.
const OWN: [&str; 5] = [
    "instruction-digest",
    "capability-load-delta",
    "model-settings-delta",
    "tool-availability-delta",
    "cache-point",
];

/// Returns whether an item is such a message.
pub(super) fn is_message(item: &Object<'_>) -> bool {
    item.is("kind", &["request", "response"]) && item.list("parts").is_some()
}

/// Reads the messages.
pub(super) fn read(items: &Items<'_>) -> Read {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    let mut instructions = None;
    for (line, value) in &items.all {
        let Some(message) = Object::of(value).filter(is_message) else {
            let kind = Object::of(value).and_then(|item| item.text("kind"));
            remarks.add(
                *line,
                kind.as_deref().unwrap_or("no kind"),
                Finding::NotUnderstood,
            );
            continue;
        };
        let parts = message.list("parts").unwrap_or_default();
        if message.is("kind", &["response"]) {
            response(&parts, *line, &mut turns, &mut remarks);
            continue;
        }
        // They stand in each request again.
        let new = message.text("instructions").filter(|text| !text.is_empty());
        if new.is_some() && new != instructions {
            turns.add(*line, Role::System, said(new.clone()).into_iter().collect());
            instructions = new;
        }
        for value in parts {
            request(value, *line, &mut turns, &mut remarks);
        }
    }
    turns.read(remarks)
}

fn request(value: &RawValue, line: usize, turns: &mut Turns, remarks: &mut Remarks) {
    let Some(part) = Object::of(value) else {
        return remarks.add(line, "part", Finding::NotUnderstood);
    };
    let kind = part.text("part_kind").unwrap_or_default();
    match kind.as_str() {
        "system-prompt" | "instruction" | "instruction-baseline" | "instruction-delta" => {
            turns.add(
                line,
                Role::System,
                said(part.text("content")).into_iter().collect(),
            );
        }
        "user-prompt" => {
            let blocks = content(part.get("content"), line, remarks);
            turns.add(line, Role::User, blocks);
        }
        // A retry that answers no call is the library's word to the model.
        "retry-prompt" | "retry-feedback" if !part.has("tool_name") => {
            turns.add(line, Role::User, output(part.get("content")));
        }
        "tool-return" | "retry-prompt" => {
            let result = result(&part, kind == "retry-prompt", line, remarks);
            turns.add(line, Role::User, vec![result]);
        }
        own if OWN.contains(&own) => {}
        kind => remarks.add(line, kind, Finding::NotUnderstood),
    }
}

fn response(parts: &[&RawValue], line: usize, turns: &mut Turns, remarks: &mut Remarks) {
    let (mut now, mut results) = (Vec::new(), Vec::new());
    for value in parts {
        let Some(part) = Object::of(value) else {
            remarks.add(line, "part", Finding::NotUnderstood);
            continue;
        };
        let kind = part.text("part_kind").unwrap_or_default();
        match kind.as_str() {
            "text" => {
                // The provider ran a tool by itself, and went on.
                if !results.is_empty() {
                    turns.step(line, &mut now, &mut results);
                }
                now.extend(said(part.text("content")));
            }
            "thinking" => now.push(Block::Thinking {
                text: part.text("content").unwrap_or_default(),
                signature: part.text("signature").filter(|_| is_anthropics(&part)),
            }),
            "tool-call" | "builtin-tool-call" => now.push(Block::Call {
                id: part.text("tool_call_id").unwrap_or_default(),
                name: part.text("tool_name").unwrap_or_default(),
                arguments: arguments(part.get("args")),
            }),
            "builtin-tool-return" => results.push(result(&part, false, line, remarks)),
            "file" => now.extend(part.get("content").and_then(media)),
            "compaction" => {
                remarks.add(line, "compaction", Finding::Compacted);
                now.extend(said(part.text("content")));
            }
            own if OWN.contains(&own) => {}
            kind => remarks.add(line, kind, Finding::NotUnderstood),
        }
    }
    turns.step(line, &mut now, &mut results);
}

/// Signatures of other providers bind nothing of Anthropic's.
fn is_anthropics(part: &Object<'_>) -> bool {
    let provider = part.text("provider_name");
    provider.is_none_or(|provider| {
        ["anthropic", "bedrock", "google-vertex-anthropic"].contains(&provider.as_str())
    })
}

fn result(part: &Object<'_>, failed: bool, line: usize, remarks: &mut Remarks) -> Block {
    let given = part.get("content");
    // What tools give is JSON of any form; media in it are marked by their kind.
    let is_media = |value: &RawValue| media(value).is_some();
    let held = given.and_then(list).unwrap_or_default();
    let content = if given.is_some_and(is_media) || held.iter().any(|value| is_media(value)) {
        content(given, line, remarks)
    } else {
        output(given)
    };
    Block::Result {
        id: part.text("tool_call_id").unwrap_or_default(),
        content,
        failed: failed || part.is("outcome", &["failed", "denied", "retried"]),
    }
}

/// A text, or a list of texts and media.
fn content(content: Option<&RawValue>, line: usize, remarks: &mut Remarks) -> Vec<Block> {
    let Some(content) = content else {
        return Vec::new();
    };
    let mut blocks = Vec::new();
    for value in list(content).unwrap_or_else(|| vec![content]) {
        let part = Object::of(value);
        let kind = part.as_ref().and_then(|part| part.text("kind"));
        if let Some(text) = text(value) {
            blocks.extend(said(Some(text)));
        } else if let Some(media) = media(value) {
            blocks.push(media);
        } else if matches!(kind.as_deref(), Some("text" | "text-content")) {
            blocks.extend(said(
                part.and_then(|part| part.text_of(&["content", "text"])),
            ));
        } else if !matches!(kind.as_deref(), Some("cache-point")) {
            remarks.add(
                line,
                kind.as_deref().unwrap_or("part"),
                Finding::NotUnderstood,
            );
        }
    }
    blocks
}

/// Media: bytes in base64, or a URL.
fn media(value: &RawValue) -> Option<Block> {
    let part = Object::of(value)?;
    let kind = part.text("kind")?;
    let mime = part.text("media_type").or_else(|| {
        let family = kind.strip_suffix("-url")?;
        let mime = match family {
            "document" => "application/pdf",
            "audio" => "audio/wav",
            "video" => "video/mp4",
            _ => "image/png",
        };
        Some(mime.to_owned())
    });
    let media = match kind.as_str() {
        // The library writes base64 for URLs, whose alphabet providers do not take.
        "binary" => Media::of_base64(part.text("data")?.replace('-', "+").replace('_', "/"), mime),
        kind if kind.ends_with("-url") => Media::of_url(part.text("url")?, mime),
        _ => return None,
    };
    Some(Block::Media(media))
}
