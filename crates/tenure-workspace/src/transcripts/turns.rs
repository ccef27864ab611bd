//! The turns of a conversation in the words of no provider, and the request that says them.
//!
//! Readers of forms that belong to no provider make [`Turn`]s. They are written as OpenAI's chat completions have them, or as
//! Anthropic's messages where something of them has no place there: thinking that a provider signed, a picture that a tool gave.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure::object::Role;
use tenure::wire::Format;

use super::values::{Object, text};
use super::{Finding, Read, Remarks};

/// A block of a turn.
pub(super) enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    Media(Media),
    Call {
        id: String,
        name: String,
        /// As the model wrote them: JSON.
        arguments: String,
    },
    Result {
        id: String,
        content: Vec<Block>,
        failed: bool,
    },
}

/// A picture, a document or a sound.
pub(super) struct Media {
    /// The MIME type, where it is known.
    pub(super) mime: Option<String>,
    pub(super) source: Source,
    pub(super) name: Option<String>,
}

pub(super) enum Source {
    Base64(String),
    Url(String),
}

impl Media {
    /// Media under a URL, which may hold them itself.
    pub(super) fn of_url(url: String, mime: Option<String>) -> Media {
        let held = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match held {
            Some((own, data)) => Media::of_base64(data.to_owned(), Some(own.to_owned())),
            None => Media {
                mime,
                source: Source::Url(url),
                name: None,
            },
        }
    }

    pub(super) fn of_base64(data: String, mime: Option<String>) -> Media {
        Media {
            mime,
            source: Source::Base64(data),
            name: None,
        }
    }

    pub(super) fn named(mut self, name: Option<String>) -> Media {
        self.name = name;
        self
    }

    /// Returns what it is by its type: `image`, `audio`, `video` or `document`. What has no type is taken for a picture, which
    /// is what most are.
    fn kind(&self) -> &'static str {
        match self.mime.as_deref().and_then(|mime| mime.split('/').next()) {
            Some("image") | None => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            Some(_) => "document",
        }
    }

    fn url(&self) -> String {
        match &self.source {
            Source::Base64(data) => {
                let mime = self.mime.as_deref().unwrap_or("image/png");
                format!("data:{mime};base64,{data}")
            }
            Source::Url(url) => url.clone(),
        }
    }

    /// A part of a chat message; none where it takes no such media.
    fn chat(&self) -> Option<Value> {
        match (self.kind(), &self.source) {
            ("image", _) => {
                Some(json!({ "type": "image_url", "image_url": { "url": self.url() } }))
            }
            ("audio", Source::Base64(data)) => {
                let mime = self.mime.as_deref().unwrap_or_default();
                let format = if mime.contains("mp3") || mime.contains("mpeg") {
                    "mp3"
                } else {
                    "wav"
                };
                Some(
                    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } }),
                )
            }
            ("document", Source::Base64(_)) => {
                let name = self.name.as_deref().unwrap_or("file");
                Some(
                    json!({ "type": "file", "file": { "filename": name, "file_data": self.url() } }),
                )
            }
            _ => None,
        }
    }

    /// A block of Anthropic's; none where it takes no such media.
    fn anthropic(&self) -> Option<Value> {
        let kind = self.kind();
        if !matches!(kind, "image" | "document") {
            return None;
        }
        let source = match &self.source {
            Source::Base64(data) => {
                let mime = self.mime.as_deref().unwrap_or("image/png");
                json!({ "type": "base64", "media_type": mime, "data": data })
            }
            Source::Url(url) => json!({ "type": "url", "url": url }),
        };
        Some(json!({ "type": kind, "source": source }))
    }

    /// The line in the place of media that cannot stand somewhere.
    fn line(&self) -> String {
        let more: Vec<&str> =
            [self.name.as_deref(), self.mime.as_deref()].into_iter().flatten().collect();
        let colon = if more.is_empty() { "" } else { ": " };
        format!("[{} left out{colon}{}]", self.kind(), more.join(", "))
    }
}

/// What somebody says without a break. Results stand in turns of their own.
pub(super) struct Turn {
    pub(super) line: usize,
    pub(super) role: Role,
    pub(super) blocks: Vec<Block>,
}

/// Turns in the making.
#[derive(Default)]
pub(super) struct Turns(Vec<Turn>);

impl Turns {
    /// Adds a turn, where anything is said.
    pub(super) fn add(&mut self, line: usize, role: Role, blocks: Vec<Block>) {
        let is_result = |block: &Block| matches!(block, Block::Result { .. });
        match self.0.last_mut() {
            // Calls that were made together are answered together.
            Some(last) if last.blocks.iter().chain(&blocks).all(is_result) => {
                last.blocks.extend(blocks)
            }
            _ if blocks.is_empty() => {}
            _ => self.0.push(Turn { line, role, blocks }),
        }
    }

    /// Adds a step of the model and what its tools gave. Both are empty from then on.
    pub(super) fn step(&mut self, line: usize, said: &mut Vec<Block>, results: &mut Vec<Block>) {
        self.add(line, Role::Assistant, std::mem::take(said));
        self.add(line, Role::User, std::mem::take(results));
    }

    /// Returns the request that says them.
    pub(super) fn read(self, mut remarks: Remarks) -> Read {
        let is_bound = |turn: &Turn| turn.blocks.iter().any(needs_blocks);
        let format = if self.0.iter().any(is_bound) {
            Format::Anthropic
        } else {
            Format::OpenAiChat
        };
        let mut body = Body::default();
        for turn in &self.0 {
            match format {
                Format::Anthropic => body.anthropic(turn, &mut remarks),
                _ => body.chat(turn, &mut remarks),
            }
        }
        let mut fields = Vec::new();
        if !body.system.is_empty() {
            fields.push(("system", format!("[{}]", body.system.join(","))));
        }
        Read {
            format,
            fields,
            messages: body.messages,
            remarks,
        }
    }
}

/// Returns whether chat completions have no place for a block.
fn needs_blocks(block: &Block) -> bool {
    match block {
        Block::Thinking { signature, .. } => signature.is_some(),
        Block::Result { content, .. } => {
            content.iter().any(|block| matches!(block, Block::Media(_)))
        }
        _ => false,
    }
}

/// A request in the making.
#[derive(Default)]
struct Body {
    /// The system's blocks before the messages, where they have a field of their own.
    system: Vec<String>,
    messages: Vec<(usize, String)>,
}

impl Body {
    /// Adds the messages of chat completions that say a turn: results first.
    fn chat(&mut self, turn: &Turn, remarks: &mut Remarks) {
        let (mut parts, mut calls, mut thinking) = (Vec::new(), Vec::new(), Vec::new());
        let mut has_media = false;
        for block in &turn.blocks {
            match block {
                Block::Text(text) => parts.push(json!({ "type": "text", "text": text })),
                Block::Thinking { text, .. } => thinking.push(text.as_str()),
                Block::Media(media) => match media.chat().filter(|_| turn.role == Role::User) {
                    Some(part) => {
                        has_media = true;
                        parts.push(part);
                    }
                    None => {
                        remarks.add(turn.line, media.kind(), Finding::MediaLeftOut);
                        parts.push(json!({ "type": "text", "text": media.line() }));
                    }
                },
                Block::Call {
                    id,
                    name,
                    arguments,
                } => calls.push(json!({
                    "id": id, "type": "function", "function": { "name": name, "arguments": arguments },
                })),
                Block::Result { id, content, .. } => {
                    let message = json!({ "role": "tool", "tool_call_id": id, "content": text_of(content) });
                    self.messages.push((turn.line, message.to_string()));
                }
            }
        }
        if parts.is_empty() && calls.is_empty() && thinking.is_empty() {
            return;
        }
        let content = match (parts.as_slice(), has_media) {
            ([], _) if calls.is_empty() => json!(""),
            ([], _) => Value::Null,
            ([only], false) => only["text"].clone(),
            _ => Value::Array(parts),
        };
        let mut message = json!({ "role": turn.role, "content": content });
        if !thinking.is_empty() {
            message["reasoning_content"] = json!(thinking.join("\n"));
        }
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        self.messages.push((turn.line, message.to_string()));
    }

    /// Adds the message of Anthropic's that says a turn; what the system says first has a field of its own.
    fn anthropic(&mut self, turn: &Turn, remarks: &mut Remarks) {
        let is_user = turn.role == Role::User;
        let (unsigned, blocks): (Vec<&Block>, Vec<&Block>) =
            turn.blocks.iter().partition(|block| {
                matches!(
                    block,
                    Block::Thinking {
                        signature: None,
                        ..
                    }
                )
            });
        for _ in unsigned {
            remarks.add(turn.line, "thinking", Finding::ThinkingLeftOut);
        }
        let blocks: Vec<String> = blocks
            .into_iter()
            .map(|block| anthropic(block, is_user, turn.line, remarks))
            .collect();
        if blocks.is_empty() {
            return;
        }
        if turn.role == Role::System && self.messages.is_empty() {
            self.system.extend(blocks);
            return;
        }
        let role = turn.role;
        let message = format!("{{\"role\":\"{role}\",\"content\":[{}]}}", blocks.join(","));
        self.messages.push((turn.line, message));
    }
}

fn anthropic(block: &Block, is_user: bool, line: usize, remarks: &mut Remarks) -> String {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }).to_string(),
        Block::Thinking { text, signature } => {
            let mut thinking = json!({ "type": "thinking", "thinking": text });
            if let Some(signature) = signature {
                thinking["signature"] = json!(signature);
            }
            thinking.to_string()
        }
        Block::Media(media) => match media.anthropic().filter(|_| is_user) {
            Some(block) => block.to_string(),
            None => {
                remarks.add(line, media.kind(), Finding::MediaLeftOut);
                json!({ "type": "text", "text": media.line() }).to_string()
            }
        },
        Block::Call {
            id,
            name,
            arguments,
        } => {
            // What the model wrote stays as it wrote it, numbers of any length included.
            let is_object = serde_json::from_str::<&RawValue>(arguments).is_ok()
                && arguments.trim_start().starts_with('{');
            let input = if is_object {
                arguments.clone()
            } else {
                json!({ "input": arguments }).to_string()
            };
            let (id, name) = (Value::from(id.as_str()), Value::from(name.as_str()));
            format!("{{\"type\":\"tool_use\",\"id\":{id},\"name\":{name},\"input\":{input}}}")
        }
        Block::Result {
            id,
            content,
            failed,
        } => {
            let content: Vec<String> =
                content.iter().map(|block| anthropic(block, true, line, remarks)).collect();
            let (id, content) = (Value::from(id.as_str()), content.join(","));
            let failed = if *failed { ",\"is_error\":true" } else { "" };
            format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":{id},\"content\":[{content}]{failed}}}"
            )
        }
    }
}

/// The text of these blocks.
fn text_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.clone()),
        Block::Media(media) => Some(media.line()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A text, where it says anything.
pub(super) fn said(text: Option<String>) -> Option<Block> {
    text.filter(|text| !text.is_empty()).map(Block::Text)
}

/// What a tool gave, whatever JSON it is: a text as it is, else the JSON itself.
pub(super) fn output(value: Option<&RawValue>) -> Vec<Block> {
    let Some(value) = value else {
        return Vec::new();
    };
    let read = text(value).unwrap_or_else(|| compact(value));
    said(Some(read)).into_iter().collect()
}

/// The arguments of a call: JSON as it stands, or in a text.
pub(super) fn arguments(value: Option<&RawValue>) -> String {
    match value {
        None => "{}".to_owned(),
        Some(value) => text(value).unwrap_or_else(|| compact(value)),
    }
}

/// JSON without the white space between its values, which is the file's. Numbers keep their digits.
fn compact(value: &RawValue) -> String {
    let (mut in_text, mut escaped) = (false, false);
    value
        .get()
        .chars()
        .filter(|c| {
            let keep = in_text || !c.is_ascii_whitespace();
            in_text ^= *c == '"' && !escaped;
            escaped = in_text && *c == '\\' && !escaped;
            keep
        })
        .collect()
}

/// A part of a message as the APIs of OpenAI, Anthropic and Google have it, and libraries after them: a text, thinking, or
/// media. None where it is none of these.
pub(super) fn part(value: &RawValue) -> Option<Block> {
    if let Some(text) = text(value) {
        return Some(Block::Text(text));
    }
    let part = Object::of(value)?;
    let kind = part.text("type").unwrap_or_default();
    let mime = part.text_of(&["mime_type", "mimeType", "media_type", "mediaType"]);
    let name = part.text_of(&["filename", "name"]);
    match kind.as_str() {
        "text" | "input_text" | "output_text" | "text-plain" => part.text("text").map(Block::Text),
        "refusal" => part.text("refusal").map(Block::Text),
        "thinking" | "reasoning" => {
            let text = part.text_of(&["thinking", "reasoning", "text"]).or_else(|| summary(&part));
            let signature = part.text("signature");
            let extras = part.object("extras");
            let signature = signature.or_else(|| extras?.text("signature"));
            Some(Block::Thinking {
                text: text.unwrap_or_default(),
                signature,
            })
        }
        "image_url" => {
            let url = part.text("image_url").or_else(|| part.object("image_url")?.text("url"))?;
            Some(Block::Media(Media::of_url(url, None)))
        }
        "input_image" => Some(Block::Media(Media::of_url(part.text("image_url")?, None))),
        "input_audio" => {
            let audio = part.object("input_audio")?;
            let mime = format!("audio/{}", audio.text("format").unwrap_or_default());
            Some(Block::Media(Media::of_base64(
                audio.text("data")?,
                Some(mime),
            )))
        }
        "image" | "document" | "file" | "audio" | "video" | "media" => {
            let mime = mime.or_else(|| default_mime(&kind));
            media(&part, mime).map(|media| Block::Media(media.named(name)))
        }
        // Google's parts have no type.
        "" => {
            if let Some(text) = part.text("text") {
                return Some(if part.is_true("thought") {
                    Block::Thinking {
                        text,
                        signature: None,
                    }
                } else {
                    Block::Text(text)
                });
            }
            let inline = part.object("inlineData").or_else(|| part.object("inline_data"));
            let file = part.object("fileData").or_else(|| part.object("file_data"));
            media(&inline.or(file)?, None).map(Block::Media)
        }
        _ => None,
    }
}

/// The texts of a summary of reasoning, as the responses API has it.
fn summary(part: &Object<'_>) -> Option<String> {
    let summary = part.list("summary")?;
    let texts = summary.into_iter().filter_map(|one| Object::of(one)?.text("text"));
    Some(texts.collect::<Vec<_>>().join("\n"))
}

/// The type of media of which nothing but their kind is known.
fn default_mime(kind: &str) -> Option<String> {
    let mime = match kind {
        "image" => "image/png",
        "audio" => "audio/wav",
        "video" => "video/mp4",
        _ => "application/pdf",
    };
    Some(mime.to_owned())
}

/// Media by whichever field holds them: bytes in base64, or an address.
fn media(part: &Object<'_>, mime: Option<String>) -> Option<Media> {
    let own = part.text_of(&["mime_type", "mimeType", "media_type", "mediaType"]);
    let mime = own.or(mime);
    if let Some(source) = part.object("source").or_else(|| part.object("file")) {
        return media(&source, mime);
    }
    if let Some(data) = part.text_of(&[
        "base64",
        "data",
        "file_data",
        "image",
        "url",
        "file_url",
        "fileUri",
        "file_uri",
    ]) {
        let is_url = data.starts_with("data:") || data.contains("://");
        return Some(if is_url {
            Media::of_url(data, mime)
        } else {
            Media::of_base64(data, mime)
        });
    }
    None
}
