//! Reading the items of the OpenAI responses API.
//!
//! What the model gave in one go (reasoning, messages, calls) is one turn: reasoning goes back with
//! the item that it precedes, and parallel calls are answered together.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::object::{MAX_CALLS, Role, ToolCall};
use crate::provider::openai_chat;
use crate::provider::wire::json::{Fields, JsonPath, is_null, is_string};
use crate::provider::wire::meaning::is_made_up;
use crate::provider::wire::media::{Media, Source};
use crate::provider::wire::parsed::{Lines, Messages, Parsed, Part};

/// The turn of the model that the items so far make.
#[derive(Default)]
struct Turn {
    message: String,
    parsed: Parsed,
    lines: Lines,
    calls: Vec<ToolCall>,
    /// True if its last item is reasoning, which must lead to another.
    reasons: bool,
}

impl Turn {
    fn end(mut self, into: &mut Vec<(String, Parsed)>) {
        if self.message.is_empty() {
            return;
        }
        if self.reasons {
            self.parsed.fault("reasoning_without_partner");
        }
        let text = self.lines.end(&mut self.parsed);
        self.parsed.parts.push(Part::Turn {
            role: Role::Assistant,
            text,
            calls: self.calls,
        });
        into.push((self.message, self.parsed));
    }
}

/// Reads items, turn by turn.
pub(super) fn messages(root: &JsonPath, items: &[&RawValue]) -> Result<Messages, Error> {
    let mut all = Vec::new();
    let mut turn = Turn::default();
    for (at, item) in items.iter().enumerate() {
        let place = root.at(at);
        let fields = place.fields(item)?;
        let named = place.maybe(&fields, "type")?;
        let kind = named.as_deref().unwrap_or("message");
        let has_made_up = fields.iter().any(|(key, value)| is_made_up(key, value));
        if has_made_up && kind == "reasoning" {
            // Of another model, in the words of an SDK: the API takes no reasoning but its own.
            continue;
        }
        let said = if has_made_up {
            fields.without(is_made_up)
        } else {
            item.get().to_owned()
        };
        let parsed = match kind {
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
                        let (mut parsed, mut lines) = (Parsed::default(), Lines::default());
                        let place = place.key("content");
                        content(&place, fields.get("content"), &mut lines, &mut parsed)?;
                        let text = lines.end(&mut parsed);
                        let calls = Vec::new();
                        parsed.parts.push(Part::Turn { role, text, calls });
                        Some(parsed)
                    }
                }
            }
            kind if is_output(kind) && fields.get("call_id").is_some() => {
                Some(result(&place, kind, &fields, item)?)
            }
            kind if is_own(kind) => None,
            kind => {
                let mut parsed = Parsed::default();
                parsed.keep(kind, item);
                parsed.parts.push(Part::Turn {
                    role: Role::User,
                    text: String::new(),
                    calls: Vec::new(),
                });
                Some(parsed)
            }
        };
        match parsed {
            Some(parsed) => {
                std::mem::take(&mut turn).end(&mut all);
                all.push((said, parsed));
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
                turn.message.push_str(&said);
            }
        }
    }
    turn.end(&mut all);
    Ok(all)
}

/// Returns whether an item of this kind answers a call.
fn is_output(kind: &str) -> bool {
    kind.ends_with("_call_output")
}

/// Returns whether an item of this kind is the model's own.
fn is_own(kind: &str) -> bool {
    kind == "reasoning"
        || kind == "mcp_list_tools"
        || kind == "mcp_approval_request"
        || kind == "tool_search_output"
        || kind.ends_with("_call")
}

/// Returns whether a kind is one that items have.
pub(crate) fn is_item(kind: &str) -> bool {
    let others = [
        "message",
        "item_reference",
        "mcp_approval_response",
        "additional_tools",
        "compaction",
        "context_compaction",
    ];
    others.contains(&kind) || is_output(kind) || is_own(kind)
}

/// Takes an item of the model into its turn.
fn models(
    place: &JsonPath,
    kind: &str,
    fields: &Fields<'_>,
    item: &RawValue,
    turn: &mut Turn,
) -> Result<(), Error> {
    let parsed = &mut turn.parsed;
    match kind {
        "message" => {
            let content_place = place.key("content");
            content(
                &content_place,
                fields.get("content"),
                &mut turn.lines,
                parsed,
            )?;
            if let Some(phase) = fields.get("phase") {
                parsed.keep("phase", phase);
            }
        }
        "function_call" => turn.calls.push(ToolCall {
            arguments: Value::from(place.needed(fields, "arguments")?),
            id: place.needed(fields, "call_id")?,
            name: place.needed(fields, "name")?,
        }),
        "custom_tool_call" => turn.calls.push(ToolCall {
            arguments: openai_chat::free(place.needed(fields, "input")?),
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
            parsed.signed |= fields.get("encrypted_content").is_some();
            parsed.keep(kind, item);
        }
    }
    Ok(())
}

fn result(
    place: &JsonPath,
    kind: &str,
    fields: &Fields<'_>,
    item: &RawValue,
) -> Result<Parsed, Error> {
    let (mut parsed, mut lines) = (Parsed::default(), Lines::default());
    let output = fields.get("output");
    if matches!(kind, "function_call_output" | "custom_tool_call_output") {
        content(&place.key("output"), output, &mut lines, &mut parsed)?;
    } else {
        lines.add_media(Media {
            kind: "output",
            mime: None,
            source: Source::Own,
        });
        parsed.keep(kind, item);
    }
    let text = lines.end(&mut parsed);
    parsed.parts.push(Part::Result {
        id: Some(place.needed(fields, "call_id")?),
        name: None,
        text,
    });
    Ok(parsed)
}

/// A text, or parts of text and media.
fn content(
    place: &JsonPath,
    content: Option<&RawValue>,
    lines: &mut Lines,
    parsed: &mut Parsed,
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
        parsed.marked |= fields.get("prompt_cache_breakpoint").is_some();
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
                parsed.keep_media(kind, media.as_ref(), part);
                if let Some(media) = media {
                    lines.add_media(media);
                }
            }
        }
    }
    Ok(())
}

/// Reads the top-level `instructions`: a text, or items.
pub(super) fn system(value: &RawValue) -> Result<Messages, Error> {
    if is_null(value) {
        return Ok(Vec::new());
    }
    let place = JsonPath::new("instructions");
    let text = if is_string(value) {
        place.text(value)?
    } else {
        let mut lines = Lines::default();
        for (_, parsed) in messages(&place, &place.list(value)?)? {
            for part in parsed.parts {
                let (Part::Turn { text, .. } | Part::Result { text, .. }) = part;
                lines.add(&text);
            }
        }
        lines.text
    };
    Ok(vec![(value.get().to_owned(), Parsed::system(text))])
}
