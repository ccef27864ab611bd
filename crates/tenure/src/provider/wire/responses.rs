//! Reading the items of the OpenAI responses API.
//!
//! What the model gave in one go (reasoning, messages, calls) is one turn: reasoning goes back with
//! the item that it precedes, and parallel calls are answered together.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{Fields, Place, is_string};
use super::media::{Media, Source};
use super::namer::Namer;
use super::said::{Lines, Part, Said};
use super::{Conversation, Format, chat};
use crate::base::error::Error;
use crate::object::{MAX_CALLS, Role, ToolCall};

/// The turn of the model that the items so far make.
#[derive(Default)]
struct Turn {
    message: String,
    said: Said,
    lines: Lines,
    calls: Vec<ToolCall>,
    /// Whether its last item is reasoning, which must lead to another.
    reasons: bool,
}

impl Turn {
    fn end(mut self, into: &mut Vec<(String, Said)>) {
        if self.message.is_empty() {
            return;
        }
        if self.reasons {
            self.said.fault("reasoning_without_partner");
        }
        let text = self.lines.end(&mut self.said);
        self.said.parts.push(Part::Turn {
            role: Role::Assistant,
            text,
            calls: self.calls,
        });
        into.push((self.message, self.said));
    }
}

/// What the items say, turn by turn.
pub(super) fn items(root: &Place, items: &[&RawValue]) -> Result<Vec<(String, Said)>, Error> {
    let mut all = Vec::new();
    let mut turn = Turn::default();
    for (at, item) in items.iter().enumerate() {
        let place = root.at(at);
        let fields = place.fields(item)?;
        let kind = place.maybe(&fields, "type")?;
        let kind = kind.as_deref().unwrap_or("message");
        let said = match kind {
            "message" => {
                let role = match place.needed(&fields, "role")?.as_str() {
                    "assistant" => None,
                    "system" | "developer" => Some(Role::System),
                    "user" => Some(Role::User),
                    _ => {
                        let roles = "`system`, `developer`, `user` or `assistant`";
                        return Err(place.wrong("unknown role", roles));
                    }
                };
                match role {
                    None => None,
                    Some(role) => {
                        let (mut said, mut lines) = (Said::default(), Lines::default());
                        let place = place.key("content");
                        content(&place, fields.get("content"), &mut lines, &mut said)?;
                        let text = lines.end(&mut said);
                        let calls = Vec::new();
                        said.parts.push(Part::Turn { role, text, calls });
                        Some(said)
                    }
                }
            }
            kind if is_output(kind) && fields.get("call_id").is_some() => {
                Some(result(&place, kind, &fields, item)?)
            }
            kind if is_own(kind) => None,
            kind => {
                let mut said = Said::default();
                said.keep(kind, item);
                said.parts.push(Part::Turn {
                    role: Role::User,
                    text: String::new(),
                    calls: Vec::new(),
                });
                Some(said)
            }
        };
        match said {
            Some(said) => {
                std::mem::take(&mut turn).end(&mut all);
                all.push((item.get().to_owned(), said));
            }
            None => {
                if turn.calls.len() == MAX_CALLS {
                    std::mem::take(&mut turn).end(&mut all);
                }
                turn.reasons = kind == "reasoning";
                models(&place, kind, &fields, item, &mut turn)?;
                if !turn.message.is_empty() {
                    turn.message.push(',');
                }
                turn.message.push_str(item.get());
            }
        }
    }
    turn.end(&mut all);
    Ok(all)
}

/// Whether an item of this kind answers a call.
fn is_output(kind: &str) -> bool {
    kind.ends_with("_call_output")
}

/// Whether an item of this kind is the model's own.
fn is_own(kind: &str) -> bool {
    kind == "reasoning"
        || kind == "mcp_list_tools"
        || kind == "mcp_approval_request"
        || kind == "tool_search_output"
        || kind.ends_with("_call")
}

/// Takes an item of the model into its turn.
fn models(
    place: &Place,
    kind: &str,
    fields: &Fields<'_>,
    item: &RawValue,
    turn: &mut Turn,
) -> Result<(), Error> {
    let said = &mut turn.said;
    match kind {
        "message" => {
            let content_place = place.key("content");
            content(&content_place, fields.get("content"), &mut turn.lines, said)?;
            if let Some(phase) = fields.get("phase") {
                said.keep("phase", phase);
            }
        }
        "function_call" => turn.calls.push(ToolCall {
            arguments: Value::from(place.needed(fields, "arguments")?),
            id: place.needed(fields, "call_id")?,
            name: place.needed(fields, "name")?,
        }),
        "custom_tool_call" => turn.calls.push(ToolCall {
            arguments: chat::free(place.needed(fields, "input")?),
            id: place.needed(fields, "call_id")?,
            name: place.needed(fields, "name")?,
        }),
        kind => {
            if let Some(tool) = kind.strip_suffix("_call")
                && let Some(id) = place.maybe(fields, "call_id")?
            {
                turn.calls.push(ToolCall {
                    arguments: Value::from("{}"),
                    id,
                    name: tool.to_owned(),
                });
            }
            said.signed |= fields.get("encrypted_content").is_some();
            said.keep(kind, item);
        }
    }
    Ok(())
}

fn result(place: &Place, kind: &str, fields: &Fields<'_>, item: &RawValue) -> Result<Said, Error> {
    let (mut said, mut lines) = (Said::default(), Lines::default());
    let output = fields.get("output");
    if matches!(kind, "function_call_output" | "custom_tool_call_output") {
        content(&place.key("output"), output, &mut lines, &mut said)?;
    } else {
        lines.add_media(Media {
            kind: "output",
            mime: None,
            source: Source::Own,
        });
        said.keep(kind, item);
    }
    let text = lines.end(&mut said);
    said.parts.push(Part::Result {
        id: Some(place.needed(fields, "call_id")?),
        name: None,
        text,
    });
    Ok(said)
}

/// A text, or parts of text and media.
fn content(
    place: &Place,
    content: Option<&RawValue>,
    lines: &mut Lines,
    said: &mut Said,
) -> Result<(), Error> {
    let Some(content) = content else {
        return Ok(());
    };
    if is_string(content) {
        lines.add(&place.text(content)?);
        return Ok(());
    }
    for (at, part) in place.list(content)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(part)?;
        said.marked |= fields.get("prompt_cache_breakpoint").is_some();
        match place.needed(&fields, "type")?.as_str() {
            "input_text" | "output_text" | "text" => lines.add(&place.needed(&fields, "text")?),
            "refusal" => lines.add(&place.needed(&fields, "refusal")?),
            kind => {
                let own = |kind: &'static str| Media {
                    kind,
                    mime: None,
                    source: Source::Own,
                };
                let url = |key: &str| place.maybe(&fields, key);
                let media = match kind {
                    "input_image" => Some(match url("image_url")? {
                        Some(url) => Media::of_url("image", url),
                        None => own("image"),
                    }),
                    "input_file" => Some(match url("file_data")?.or(url("file_url")?) {
                        Some(url) => Media::of_url("document", url),
                        None => own("document"),
                    }),
                    _ => None,
                };
                said.keep_media(kind, media.as_ref(), part);
                if let Some(media) = media {
                    lines.add_media(media);
                }
            }
        }
    }
    Ok(())
}

/// The top-level `instructions`: a text, or items.
pub(super) fn instructions(
    conversation: &mut Conversation,
    value: &RawValue,
    namer: &mut Namer,
) -> Result<(), Error> {
    if super::json::is_null(value) {
        return Ok(());
    }
    let place = Place::new("instructions");
    let text = if is_string(value) {
        place.text(value)?
    } else {
        let mut lines = Lines::default();
        for (_, said) in items(&place, &place.list(value)?)? {
            for part in said.parts {
                let (Part::Turn { text, .. } | Part::Result { text, .. }) = part;
                lines.add(&text);
            }
        }
        lines.text
    };
    let said = Said {
        parts: vec![Part::Turn {
            role: Role::System,
            text,
            calls: Vec::new(),
        }],
        ..Said::default()
    };
    let entry = namer.instruction(Format::OpenAiResponses, value.get().to_owned(), said);
    conversation.instructions.push(entry);
    Ok(())
}
