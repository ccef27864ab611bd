//! Objects as messages again: the bytes that they came in, or their meaning in another format.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::media::{Media, Source};
use super::objects::checked_parts;
use super::said::Said;
use super::{Format, Wire};
use crate::base::error::Error;
use crate::object::{ObjectDocument, ObjectType, Role, ToolCall};

/// What Gemini takes in the place of a signature that another model could not give (Google, Thought
/// signatures).
pub(crate) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Messages that were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The array of messages.
    pub messages: String,
    /// What could not be said in this format: the object, the rule, what was left out.
    pub left_out: Vec<LeftOut>,
}

/// Something that could not be said in another format.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct LeftOut {
    /// The object.
    pub name: String,
    /// The rule: `foreign_reasoning_dropped`, `foreign_block_dropped` or `media_left_out`.
    pub rule: &'static str,
    /// The kind of what was left out.
    pub what: String,
}

/// Writes turns and tools' results as messages of this format. Messages that came in it and whose parts all
/// stand together, unchanged, are written byte for byte, also where they break a rule; the rest is
/// written from what the objects say.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when an object is neither a turn, a result nor a text
/// that a turn can say.
pub fn write(objects: &[&ObjectDocument], format: Format) -> Result<Written, Error> {
    let mut out = Writer {
        format,
        messages: Vec::new(),
        names: BTreeMap::new(),
        left_out: Vec::new(),
    };
    let mut at = 0;
    while let Some(object) = objects.get(at) {
        for call in &object.tool_calls {
            out.names.insert(call.id.clone(), call.name.clone());
        }
        let run = run(&objects[at..]);
        match run {
            Some((wire, message, _, parts)) if wire.format == format => {
                out.messages.push(Message::Raw(message.to_owned()));
                at += parts;
            }
            Some((_, _, said, parts)) => {
                for (part, object) in objects[at..at + parts].iter().enumerate() {
                    out.object(object, Some((&said, part)));
                }
                out.leave_out(objects[at], &said);
                at += parts;
            }
            None => {
                out.object(object, None);
                at += 1;
            }
        }
    }
    let messages: Vec<String> = out
        .messages
        .iter()
        .flat_map(|message| message.json(format))
        .collect();
    Ok(Written {
        messages: format!("[{}]", messages.join(",")),
        left_out: out.left_out,
    })
}

/// The whole message that these objects begin with, what it says, and of how many parts.
fn run<'a>(objects: &[&'a ObjectDocument]) -> Option<(&'a Wire, &'a str, Said, usize)> {
    let wire = objects.first()?.wire.as_ref()?;
    let message = wire.message.as_deref()?;
    let parts = wire.parts as usize;
    let all = objects.get(..parts)?;
    let stands = |(at, object): (usize, &&ObjectDocument)| {
        let other = object.wire.as_ref();
        other.is_some_and(|other| other.digest == wire.digest && other.part as usize == at)
    };
    if !all.iter().enumerate().all(stands) {
        return None;
    }
    let said = checked_parts(wire, message, all.iter().copied())?;
    Some((wire, message, said, parts))
}

struct Writer {
    format: Format,
    messages: Vec<Message>,
    /// The tools of the calls so far, by id.
    names: BTreeMap<String, String>,
    left_out: Vec<LeftOut>,
}

enum Message {
    Raw(String),
    Made(Role, Vec<Block>),
}

enum Block {
    Text(String),
    Media(Media),
    Call(ToolCall),
    Result {
        id: String,
        name: String,
        content: Vec<Block>,
    },
}

impl Writer {
    /// Adds what an object says, with the media that its text has lines for.
    fn object(&mut self, object: &ObjectDocument, said: Option<(&Said, usize)>) {
        let blocks = blocks(&object.content, said);
        let blocks = blocks.into_iter().map(|block| match block {
            Block::Media(media) if !takes(self.format, object, &media) => {
                self.left_out.push(LeftOut {
                    name: object.name.clone(),
                    rule: "media_left_out",
                    what: media.kind.to_owned(),
                });
                Block::Text(media.line())
            }
            block => block,
        });
        let mut blocks: Vec<Block> = blocks.collect();
        let is_result = object.object_type == Some(ObjectType::ToolResult);
        let role = object.role.unwrap_or(Role::User);
        if is_result {
            let id = object.tool_call_id.clone().unwrap_or_default();
            let name = self.names.get(&id).cloned();
            blocks = vec![Block::Result {
                name: name.unwrap_or_else(|| "unknown".to_owned()),
                id,
                content: blocks,
            }];
        }
        let label = role == Role::System && !self.has_system();
        if label && let Some(Block::Text(text)) = blocks.first_mut() {
            *text = format!("[system]\n{text}");
        }
        blocks.extend(object.tool_calls.iter().cloned().map(Block::Call));
        if blocks.is_empty() {
            return;
        }
        let role = if label || is_result { Role::User } else { role };
        let merges = matches!(self.format, Format::Anthropic | Format::Gemini);
        match self.messages.last_mut() {
            Some(Message::Made(last, content)) if merges && *last == role => content.extend(blocks),
            _ => self.messages.push(Message::Made(role, blocks)),
        }
    }

    fn has_system(&self) -> bool {
        matches!(self.format, Format::OpenAiChat | Format::OpenAiResponses)
    }

    fn leave_out(&mut self, object: &ObjectDocument, said: &Said) {
        let media = [
            "image",
            "document",
            "image_url",
            "input_image",
            "input_file",
            "file",
            "input_audio",
        ];
        let media =
            |kind: &str| media.contains(&kind) || kind.ends_with("Data") || kind.ends_with("_data");
        for kind in said.opaque.iter().filter(|kind| !media(kind)) {
            let reasoning = [
                "reasoning",
                "thinking",
                "redacted_thinking",
                "thought",
                "thoughtSignature",
            ];
            let rule = if reasoning.contains(&kind.as_str()) {
                "foreign_reasoning_dropped"
            } else {
                "foreign_block_dropped"
            };
            self.left_out.push(LeftOut {
                name: object.name.clone(),
                rule,
                what: kind.clone(),
            });
        }
    }
}

/// A text as blocks: its lines for media become the media. Without any it stands as it is, white
/// space and all, unless it is blank.
fn blocks(text: &str, said: Option<(&Said, usize)>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = text;
    let mut from = 0;
    if let Some((said, part)) = said {
        for found in said.media.iter().filter(|found| found.part == part) {
            let before = text.get(from..found.line.start).unwrap_or_default();
            blocks.push(Block::Text(before.trim_matches('\n').to_owned()));
            blocks.push(Block::Media(found.media.clone()));
            from = found.line.end;
            rest = text
                .get(from..)
                .unwrap_or_default()
                .trim_start_matches('\n');
        }
    }
    blocks.push(Block::Text(rest.to_owned()));
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.trim().is_empty()));
    blocks
}

/// Whether a format takes these media in what an object becomes.
fn takes(format: Format, object: &ObjectDocument, media: &Media) -> bool {
    let is_image = media.kind == "image";
    let is_result = object.object_type == Some(ObjectType::ToolResult);
    let is_users = object.role == Some(Role::User) || is_result;
    let has_source = !matches!(media.source, Source::Own);
    let inline = matches!(media.source, Source::Base64(_));
    is_users
        && has_source
        && match format {
            Format::OpenAiChat => is_image && !is_result,
            Format::OpenAiResponses => is_image,
            Format::Anthropic => is_image,
            Format::Gemini => is_image && inline && !is_result,
        }
}

/// The arguments of a call as the text of an object.
fn arguments(call: &ToolCall) -> String {
    let text = match &call.arguments {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => "{}".to_owned(),
        other => other.to_string(),
    };
    let is_object = serde_json::from_str::<Map<String, Value>>(&text).is_ok();
    match (is_object, text.is_empty()) {
        (true, _) => text,
        (false, true) => "{}".to_owned(),
        (false, false) => json!({ "input": text }).to_string(),
    }
}

fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().map(|block| match block {
        Block::Text(text) => text.clone(),
        Block::Media(media) => media.line(),
        Block::Call(_) | Block::Result { .. } => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

impl Message {
    /// The message, or in the OpenAI formats the messages, that say this.
    fn json(&self, format: Format) -> Vec<String> {
        match self {
            Message::Raw(message) => vec![message.clone()],
            Message::Made(role, blocks) => match format {
                Format::OpenAiChat => chat(*role, blocks),
                Format::OpenAiResponses => responses(*role, blocks),
                Format::Anthropic => vec![blocks_json("content", role.term(), blocks, anthropic)],
                Format::Gemini => {
                    let role = match role {
                        Role::Assistant => "model",
                        _ => "user",
                    };
                    vec![blocks_json("parts", role, blocks, gemini)]
                }
            },
        }
    }
}

fn blocks_json(key: &str, role: &str, blocks: &[Block], each: fn(&Block) -> String) -> String {
    let blocks: Vec<String> = blocks.iter().map(each).collect();
    format!("{{\"role\":\"{role}\",\"{key}\":[{}]}}", blocks.join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn anthropic(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text)),
        Block::Media(media) => {
            let source = match &media.source {
                Source::Base64(data) => json!({
                    "data": data, "media_type": media.mime, "type": "base64",
                }),
                Source::Url(url) => json!({ "type": "url", "url": url }),
                Source::Own => Value::Null,
            };
            format!("{{\"type\":\"image\",\"source\":{source}}}")
        }
        Block::Call(call) => format!(
            "{{\"type\":\"tool_use\",\"id\":{},\"name\":{},\"input\":{}}}",
            quoted(&call.id),
            quoted(&call.name),
            arguments(call)
        ),
        Block::Result { id, content, .. } => {
            let content: Vec<String> = content.iter().map(anthropic).collect();
            format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{},\"content\":[{}]}}",
                quoted(id),
                content.join(",")
            )
        }
    }
}

fn gemini(block: &Block) -> String {
    match block {
        Block::Text(text) => format!("{{\"text\":{}}}", quoted(text)),
        Block::Media(media) => {
            let data = match &media.source {
                Source::Base64(data) => data.as_str(),
                Source::Url(_) | Source::Own => "",
            };
            let inline = json!({ "data": data, "mimeType": media.mime });
            format!("{{\"inlineData\":{inline}}}")
        }
        Block::Call(call) => format!(
            "{{\"functionCall\":{{\"name\":{},\"args\":{}}},\"thoughtSignature\":\"{NO_SIGNATURE}\"}}",
            quoted(&call.name),
            arguments(call)
        ),
        Block::Result { name, content, .. } => {
            let response = json!({ "result": text_of(content) });
            format!(
                "{{\"functionResponse\":{{\"name\":{},\"response\":{response}}}}}",
                quoted(name)
            )
        }
    }
}

fn chat(role: Role, blocks: &[Block]) -> Vec<String> {
    let mut messages = Vec::new();
    let mut content = Vec::new();
    let mut calls = Vec::new();
    for block in blocks {
        match block {
            Block::Call(call) => calls.push(format!(
                "{{\"id\":{},\"type\":\"function\",\"function\":{{\"name\":{},\"arguments\":{}}}}}",
                quoted(&call.id),
                quoted(&call.name),
                quoted(&call.arguments_text())
            )),
            Block::Result { id, content, .. } => messages.push(format!(
                "{{\"role\":\"tool\",\"tool_call_id\":{},\"content\":{}}}",
                quoted(id),
                quoted(&text_of(content))
            )),
            Block::Text(text) => content.push(json!({ "text": text, "type": "text" })),
            Block::Media(media) => content.push(json!({
                "image_url": { "url": media.url() }, "type": "image_url",
            })),
        }
    }
    if content.is_empty() && calls.is_empty() {
        return messages;
    }
    let has_media = blocks.iter().any(|block| matches!(block, Block::Media(_)));
    let content = match (content.is_empty(), has_media) {
        (true, _) => "null".to_owned(),
        (false, true) => Value::Array(content).to_string(),
        (false, false) => quoted(&text_of(blocks)),
    };
    let calls = if calls.is_empty() {
        String::new()
    } else {
        format!(",\"tool_calls\":[{}]", calls.join(","))
    };
    messages.push(format!(
        "{{\"role\":\"{role}\",\"content\":{content}{calls}}}"
    ));
    messages
}

fn responses(role: Role, blocks: &[Block]) -> Vec<String> {
    let kind = match role {
        Role::Assistant => "output_text",
        _ => "input_text",
    };
    let part = |block: &&Block| match block {
        Block::Media(media) => json!({ "image_url": media.url(), "type": "input_image" }),
        block => json!({ "text": text_of(std::slice::from_ref(*block)), "type": kind }),
    };
    let content = |blocks: &[&Block]| {
        if blocks.iter().any(|block| matches!(block, Block::Media(_))) {
            return Value::Array(blocks.iter().map(part).collect()).to_string();
        }
        let texts = blocks
            .iter()
            .map(|block| text_of(std::slice::from_ref(*block)));
        quoted(&texts.collect::<Vec<_>>().join("\n"))
    };
    let is_said = |block: &&Block| matches!(block, Block::Text(_) | Block::Media(_));
    let said: Vec<&Block> = blocks.iter().filter(is_said).collect();
    let mut items = Vec::new();
    if !said.is_empty() {
        items.push(format!(
            "{{\"role\":\"{role}\",\"content\":{}}}",
            content(&said)
        ));
    }
    for block in blocks {
        match block {
            Block::Call(call) => items.push(format!(
                "{{\"type\":\"function_call\",\"call_id\":{},\"name\":{},\"arguments\":{}}}",
                quoted(&call.id),
                quoted(&call.name),
                quoted(&call.arguments_text())
            )),
            Block::Result {
                id, content: inner, ..
            } => items.push(format!(
                "{{\"type\":\"function_call_output\",\"call_id\":{},\"output\":{}}}",
                quoted(id),
                content(&inner.iter().collect::<Vec<_>>())
            )),
            Block::Text(_) | Block::Media(_) => {}
        }
    }
    items
}
