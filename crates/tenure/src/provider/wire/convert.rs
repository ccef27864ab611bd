//! Objects as messages again: the bytes that they came in, or their meaning in another format.

use std::collections::BTreeMap;

use super::block::Block;
use super::call_ids::CallIds;
use super::media::{Media, Source};
use super::objects::checked_parts;
use super::parsed::Parsed;
use super::{Format, Wire};
use crate::base::error::Error;
use crate::object::{ObjectDocument, ObjectType, Role, ToolCall};
use crate::provider::dialect::Dialect;
use crate::provider::formats::dialect;

/// Messages that were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    /// The array of messages.
    pub messages: String,
    /// The parts that could not be said in this format, each with the object and the rule.
    pub left_out: Vec<OmittedPart>,
}

/// Something that could not be said in another format.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct OmittedPart {
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
        dialect: dialect(format),
        messages: Vec::new(),
        names: BTreeMap::new(),
        ids: CallIds::new(dialect(format).call_ids),
        left_out: Vec::new(),
    };
    let mut at = 0;
    while let Some(object) = objects.get(at) {
        for call in &object.tool_calls {
            out.names.insert(call.id.clone(), call.name.clone());
        }
        let run = run(&objects[at..]);
        match run {
            Some((wire, message, parsed, parts))
                if wire.format == format
                    && !parsed.must_be_renamed(out.dialect.call_ids)
                    && (!parsed.is_plain() || out.leaves(&objects[at..at + parts])) =>
            {
                out.messages.push(Message::Raw(message.to_owned()));
                let kept = objects[at..at + parts].iter();
                kept.flat_map(|object| &object.tool_calls)
                    .for_each(|call| out.ids.keep(&call.id));
                at += parts;
            }
            Some((_, _, parsed, parts)) => {
                for (part, object) in objects[at..at + parts].iter().enumerate() {
                    out.object(object, Some((&parsed, part)));
                }
                out.leave_out(objects[at], &parsed);
                at += parts;
            }
            None => {
                out.object(object, None);
                at += 1;
            }
        }
    }
    let messages: Vec<String> =
        out.messages.iter().flat_map(|message| message.json(out.dialect)).collect();
    Ok(Written {
        messages: format!("[{}]", messages.join(",")),
        left_out: out.left_out,
    })
}

/// The whole message that these objects begin with, what it says, and of how many parts.
fn run<'a>(objects: &[&'a ObjectDocument]) -> Option<(&'a Wire, &'a str, Parsed, usize)> {
    let wire = objects.first()?.wire.as_ref()?;
    let message = wire.message.as_deref()?;
    let parts = wire.parts as usize;
    let all = objects.get(..parts)?;
    let stands = |(at, object): (usize, &&ObjectDocument)| {
        object
            .wire
            .as_ref()
            .is_some_and(|other| other.digest == wire.digest && other.part as usize == at)
    };
    if !all.iter().enumerate().all(stands) {
        return None;
    }
    let parsed = checked_parts(wire, message, all.iter().copied())?;
    Some((wire, message, parsed, parts))
}

struct Writer<'o> {
    dialect: &'static Dialect,
    messages: Vec<Message>,
    /// The tools of the calls so far, by id.
    names: BTreeMap<String, String>,
    ids: CallIds<'o>,
    left_out: Vec<OmittedPart>,
}

enum Message {
    Raw(String),
    Made(Role, Vec<Block>),
}

impl<'o> Writer<'o> {
    /// Returns whether the ids of these objects' calls stay as they came.
    fn leaves(&self, objects: &[&ObjectDocument]) -> bool {
        objects.iter().all(|object| {
            let mut calls = object.tool_calls.iter();
            let mut answers = object.tool_call_id.iter();
            calls.all(|call| self.ids.leaves(&call.id, false))
                && answers.all(|id| self.ids.leaves(id, true))
        })
    }

    /// Adds what an object says, with the media that its text has lines for.
    fn object(&mut self, object: &'o ObjectDocument, parsed: Option<(&Parsed, usize)>) {
        let mut blocks: Vec<Block> = blocks(&object.content, parsed)
            .into_iter()
            .map(|block| match block {
                Block::Media(media) if !self.takes(object, &media) => {
                    self.left_out.push(OmittedPart {
                        name: object.name.clone(),
                        rule: "media_left_out",
                        what: media.kind.to_owned(),
                    });
                    Block::Text(media.line())
                }
                block => block,
            })
            .collect();
        let is_result = object.object_type == Some(ObjectType::ToolResult);
        let role = object.role.unwrap_or(Role::User);
        if is_result {
            let id = object.tool_call_id.as_deref().unwrap_or_default();
            let name = self.names.get(id).cloned();
            blocks = vec![Block::Result {
                name: name.unwrap_or_else(|| "unknown".to_owned()),
                id: self.ids.answered(id).into_owned(),
                content: blocks,
            }];
        }
        let label = role == Role::System && !self.dialect.system_messages;
        if label && let Some(Block::Text(text)) = blocks.first_mut() {
            *text = format!("[system]\n{text}");
        }
        blocks.extend(object.tool_calls.iter().map(|call| {
            Block::Call(ToolCall {
                id: self.ids.call(&call.id).into_owned(),
                ..call.clone()
            })
        }));
        if blocks.is_empty() {
            return;
        }
        let role = if label || is_result { Role::User } else { role };
        let by_turns = !self.dialect.system_messages;
        match self.messages.last_mut() {
            Some(Message::Made(last, content)) if by_turns && *last == role => {
                content.extend(blocks)
            }
            _ => self.messages.push(Message::Made(role, blocks)),
        }
    }

    /// Returns whether the format takes these media in what an object becomes.
    fn takes(&self, object: &ObjectDocument, media: &Media) -> bool {
        let is_result = object.object_type == Some(ObjectType::ToolResult);
        let is_users = object.role == Some(Role::User) || is_result;
        let has_source = !matches!(media.source, Source::Own);
        is_users
            && has_source
            && media.kind == "image"
            && (self.dialect.takes_image)(&media.source, is_result)
    }

    fn leave_out(&mut self, object: &ObjectDocument, parsed: &Parsed) {
        let media = [
            "image",
            "document",
            "image_url",
            "input_image",
            "input_file",
            "file",
            "input_audio",
        ];
        let is_media =
            |kind: &str| media.contains(&kind) || kind.ends_with("Data") || kind.ends_with("_data");
        for kind in parsed.opaque.iter().filter(|kind| !is_media(kind)) {
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
            self.left_out.push(OmittedPart {
                name: object.name.clone(),
                rule,
                what: kind.clone(),
            });
        }
    }
}

/// A text as blocks: its lines for media become the media. Without any it stands as it is, white
/// space and all, unless it is blank.
fn blocks(text: &str, parsed: Option<(&Parsed, usize)>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut rest = text;
    let mut from = 0;
    if let Some((parsed, part)) = parsed {
        for found in parsed.media.iter().filter(|found| found.part == part) {
            let before = text.get(from..found.line.start).unwrap_or_default();
            blocks.push(Block::Text(before.trim_matches('\n').to_owned()));
            blocks.push(Block::Media(found.media.clone()));
            from = found.line.end;
            rest = text.get(from..).unwrap_or_default().trim_start_matches('\n');
        }
    }
    blocks.push(Block::Text(rest.to_owned()));
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.trim().is_empty()));
    blocks
}

impl Message {
    /// The message, or in the OpenAI formats the messages, that say this.
    fn json(&self, dialect: &Dialect) -> Vec<String> {
        match self {
            Message::Raw(message) => vec![message.clone()],
            Message::Made(role, blocks) => (dialect.write)(*role, blocks),
        }
    }
}
