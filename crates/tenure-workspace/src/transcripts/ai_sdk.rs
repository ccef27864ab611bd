//! The AI SDK's messages: those of its interface (`UIMessage`, with `parts`), and those that it sends (`ModelMessage`).

use serde_json::value::RawValue;
use tenure::object::Role;

use super::turns::{Block, Media, Turns, arguments, output, part as plain, said};
use super::{Finding, Items, Object, Read, Remarks, list};

/// Kinds of parts that say nothing to the model.
const SHOWN: [&str; 3] = ["source-url", "source-document", "source"];

/// Returns whether an item is such a message.
pub(super) fn is_message(item: &Object<'_>) -> bool {
    let shown = item.list("parts").is_some_and(|parts| {
        let mut parts = parts.into_iter().filter_map(Object::of);
        parts.any(|part| part.has("type"))
    });
    let mut sent = item.list("content").unwrap_or_default().into_iter().filter_map(Object::of);
    item.has("role")
        && (shown
            || item.list("toolInvocations").is_some_and(|calls| !calls.is_empty())
            || sent.any(|part| {
                part.is("type", &["tool-call", "tool-result"])
                    || part.is("type", &["file", "image"]) && is_own(&part)
            }))
}

/// Returns whether a part of a message that is sent is the SDK's own and no provider's.
fn is_own(part: &Object<'_>) -> bool {
    part.has("mediaType") || part.has("image") || part.has("mimeType")
}

/// Reads the messages.
pub(super) fn read(items: &Items<'_>) -> Read {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    for (line, value) in &items.all {
        let item = Object::of(value);
        let role = item.as_ref().and_then(|item| item.text("role"));
        let role = match role.as_deref() {
            Some("system") => Role::System,
            Some("user" | "tool") => Role::User,
            Some("assistant") => Role::Assistant,
            other => {
                remarks.add(*line, other.unwrap_or("no role"), Finding::NotUnderstood);
                continue;
            }
        };
        let Some(item) = item else { continue };
        let own = item.list("parts").filter(|parts| !parts.is_empty());
        let content = item
            .get("content")
            .map(|content| list(content).unwrap_or_else(|| vec![content]));
        let parts = own.or(content).unwrap_or_default();
        let mut said = Step {
            line: *line,
            role,
            now: Vec::new(),
            results: Vec::new(),
        };
        for value in parts {
            said.part(value, &mut turns, &mut remarks);
        }
        if !item.has("parts") {
            for call in item.list("toolInvocations").unwrap_or_default() {
                said.call(&Object::of(call), None);
            }
        }
        said.end(&mut turns);
    }
    turns.read(remarks)
}

/// What one message says, up to a result that something follows.
struct Step {
    line: usize,
    role: Role,
    now: Vec<Block>,
    results: Vec<Block>,
}

impl Step {
    fn part(&mut self, value: &RawValue, turns: &mut Turns, remarks: &mut Remarks) {
        let part = Object::of(value);
        let kind = part.as_ref().and_then(|part| part.text("type")).unwrap_or_default();
        let static_tool = kind
            .strip_prefix("tool-")
            .filter(|_| part.as_ref().is_some_and(|part| part.has("state")));
        match kind.as_str() {
            "step-start" => self.end(turns),
            "dynamic-tool" => self.call(&part, None),
            "tool-invocation" => {
                self.call(&part.and_then(|part| part.object("toolInvocation")), None)
            }
            _ if static_tool.is_some() => self.call(&part, static_tool),
            "tool-call" => self.call(&part, None),
            "tool-result" => {
                let Some(part) = part else { return };
                let id = part.text("toolCallId").unwrap_or_default();
                let given = part.get("output").or(part.get("result"));
                let (content, failed) = result(given);
                self.results.push(Block::Result {
                    id,
                    content,
                    failed,
                });
            }
            "reasoning" => {
                let Some(part) = part else { return };
                let own = part
                    .object("providerMetadata")
                    .or(part.object("providerOptions"))
                    .and_then(|own| own.object("anthropic"));
                let signature =
                    part.text("signature").or(own.and_then(|own| own.text("signature")));
                let text = part.text_of(&["text", "reasoning"]).unwrap_or_default();
                self.say(Block::Thinking { text, signature }, turns);
            }
            "file" | "image" => {
                let media = part.as_ref().and_then(media);
                match media.or_else(|| plain(value)) {
                    Some(block) => self.say(block, turns),
                    None => remarks.add(self.line, &kind, Finding::NotUnderstood),
                }
            }
            shown if SHOWN.contains(&shown) || shown.starts_with("data-") => {
                remarks.add(self.line, shown, Finding::ShownOnly);
            }
            _ => match plain(value) {
                Some(Block::Text(text)) if text.is_empty() => {}
                Some(block) => self.say(block, turns),
                None => remarks.add(self.line, &kind, Finding::NotUnderstood),
            },
        }
    }

    /// Says something. Behind results it is the next step.
    fn say(&mut self, block: Block, turns: &mut Turns) {
        if !self.results.is_empty() {
            self.end(turns);
        }
        self.now.push(block);
    }

    /// Takes a call, and its result where it has one.
    fn call(&mut self, part: &Option<Object<'_>>, name: Option<&str>) {
        let Some(part) = part else { return };
        let id = part.text("toolCallId").unwrap_or_default();
        let name = name.map(str::to_owned).or_else(|| part.text("toolName"));
        self.now.push(Block::Call {
            id: id.clone(),
            name: name.unwrap_or_default(),
            arguments: arguments(part.get("input").or(part.get("args")).or(part.get("rawInput"))),
        });
        let failed = part.is("state", &["output-error", "output-denied"]);
        let given = part.get("output").or(part.get("result")).or(part.get("errorText"));
        if given.is_some() || failed {
            let content = output(given);
            self.results.push(Block::Result {
                id,
                content,
                failed,
            });
        }
    }

    fn end(&mut self, turns: &mut Turns) {
        if self.role == Role::Assistant {
            return turns.step(self.line, &mut self.now, &mut self.results);
        }
        turns.add(self.line, Role::User, std::mem::take(&mut self.results));
        turns.add(self.line, self.role, std::mem::take(&mut self.now));
    }
}

/// A file: a URL, or bytes in base64.
fn media(part: &Object<'_>) -> Option<Block> {
    let is_image = part.is("type", &["image"]);
    let mime = part
        .text_of(&["mediaType", "mimeType"])
        .or_else(|| is_image.then(|| "image/png".to_owned()));
    let data = part.text_of(&["url", "data", "image"])?;
    let is_url = data.starts_with("data:") || data.contains("://");
    let media = if is_url {
        Media::of_url(data, mime)
    } else {
        Media::of_base64(data, mime)
    };
    Some(Block::Media(media.named(part.text("filename"))))
}

/// The output of a tool in a message that is sent, and whether it failed.
fn result(given: Option<&RawValue>) -> (Vec<Block>, bool) {
    let wrapped = given
        .and_then(Object::of)
        .filter(|output| output.has("type") && output.has("value"));
    let Some(wrapped) = wrapped else {
        return (output(given), false);
    };
    let failed = wrapped.is("type", &["error-text", "error-json", "execution-denied"]);
    if !wrapped.is("type", &["content"]) {
        return (output(wrapped.get("value")), failed);
    }
    let parts = wrapped.list("value").unwrap_or_default();
    let blocks = parts.into_iter().filter_map(|value| {
        let part = Object::of(value)?;
        if part.is("type", &["text"]) {
            return said(part.text("text"));
        }
        media(&part)
    });
    (blocks.collect(), false)
}
