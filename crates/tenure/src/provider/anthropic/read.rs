//! Reading messages of the Anthropic messages API.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::object::{Role, ToolCall};
use crate::provider::wire::json::{Fields, JsonPath, is_list, is_string};
use crate::provider::wire::media::{Media, Source};
use crate::provider::wire::parsed::{Lines, Messages, Parsed, Part};

const CONTENT: &str = "a text, or a list of blocks";

/// Reads a message. Its results become parts of their own, before what else it says.
pub(super) fn message(place: &JsonPath, message: &RawValue) -> Result<Parsed, Error> {
    let fields = place.fields(message)?;
    let role = match place.needed(&fields, "role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        _ => return Err(place.wrong("unknown role", "`user`, `assistant` or `system`")),
    };
    let mut parsed = Parsed::default();
    let mut turn = Lines::default();
    let mut calls = Vec::new();
    let mut texts = 0;
    let place = place.key("content");
    match fields.get("content") {
        Some(content) if is_string(content) => {
            let text = place.text(content)?;
            if text.trim().is_empty() {
                parsed.fault("empty_content");
            }
            turn.add(&text);
            texts += 1;
        }
        Some(content) if is_list(content) => {
            for (at, block) in place.list(content)?.into_iter().enumerate() {
                let place = place.at(at);
                let fields = place.fields(block)?;
                parsed.marked |= fields.get("cache_control").is_some();
                match place.needed(&fields, "type")?.as_str() {
                    "text" => {
                        let text = place.needed(&fields, "text")?;
                        if text.trim().is_empty() {
                            parsed.fault("empty_content");
                        }
                        if fields.get("citations").is_some_and(|cited| cited.get() != "[]") {
                            parsed.keep("citations", block);
                        }
                        turn.add(&text);
                        texts += 1;
                    }
                    "tool_use" => {
                        if role != Role::Assistant {
                            parsed.fault("call_by_another");
                        }
                        let input = fields.get("input").map_or("{}", RawValue::get);
                        calls.push(ToolCall {
                            arguments: Value::from(input),
                            id: place.needed(&fields, "id")?,
                            name: place.needed(&fields, "name")?,
                        });
                    }
                    "tool_result" => {
                        if role != Role::User {
                            parsed.fault("result_by_another");
                        }
                        if texts > 0 {
                            parsed.fault("result_not_first");
                        }
                        let mut lines = Lines::default();
                        result_content(&place, &fields, &mut lines, &mut parsed)?;
                        let text = lines.end(&mut parsed);
                        parsed.parts.push(Part::Result {
                            id: Some(place.needed(&fields, "tool_use_id")?),
                            name: None,
                            text,
                        });
                    }
                    kind => {
                        texts += 1;
                        other(&place, kind, &fields, block, &mut turn, &mut parsed)?;
                    }
                }
            }
        }
        Some(_) => return Err(place.wrong("neither a text nor a list", CONTENT)),
        None => return Err(place.wrong("`content` is missing", CONTENT)),
    }
    for (key, value) in fields.iter() {
        if !matches!(key, "role" | "content") {
            parsed.keep(key, value);
        }
    }
    if role != Role::Assistant && !calls.is_empty() {
        // No one else calls tools: what looks like it is kept unread.
        for call in calls.drain(..) {
            parsed.opaque.push("tool_use".to_owned());
            parsed.unread.push_str(&call.name);
            parsed.unread.push_str(call.arguments.as_str().unwrap_or_default());
        }
    }
    let text = turn.end(&mut parsed);
    if parsed.parts.is_empty() || !text.is_empty() || !calls.is_empty() || texts > 0 {
        if calls.is_empty() && texts == 0 {
            parsed.fault("empty_content");
        }
        parsed.parts.push(Part::Turn { role, text, calls });
    }
    Ok(parsed)
}

fn result_content(
    place: &JsonPath,
    fields: &Fields<'_>,
    lines: &mut Lines,
    parsed: &mut Parsed,
) -> Result<(), Error> {
    let place = place.key("content");
    match fields.get("content") {
        None => {}
        Some(content) if is_string(content) => lines.add(&place.text(content)?),
        Some(content) => {
            for (at, block) in place.list(content)?.into_iter().enumerate() {
                let place = place.at(at);
                let fields = place.fields(block)?;
                parsed.marked |= fields.get("cache_control").is_some();
                match place.needed(&fields, "type")?.as_str() {
                    "text" => lines.add(&place.needed(&fields, "text")?),
                    kind => other(&place, kind, &fields, block, lines, parsed)?,
                }
            }
        }
    }
    if fields.get("is_error").is_some_and(|error| error.get() == "true") && lines.text.is_empty() {
        lines.add("[the tool failed]");
    }
    Ok(())
}

/// A block that is neither text, call nor result: media become a line, the rest is kept unread.
fn other(
    place: &JsonPath,
    kind: &str,
    fields: &Fields<'_>,
    block: &RawValue,
    lines: &mut Lines,
    parsed: &mut Parsed,
) -> Result<(), Error> {
    let known = match kind {
        "image" => Some("image"),
        "document" => Some("document"),
        _ => None,
    };
    let media = if let Some(known) = known
        && let Some(source) = fields.get("source")
    {
        let place = place.key("source");
        let source = place.fields(source)?;
        Some(Media {
            kind: known,
            mime: place.maybe(&source, "media_type")?,
            source: match place.maybe(&source, "type")?.as_deref() {
                Some("base64") => Source::Base64(place.needed(&source, "data")?),
                Some("url") => Source::Url(place.needed(&source, "url")?),
                _ => Source::Own,
            },
        })
    } else {
        None
    };
    let signs = fields.any(&["signature", "encrypted_content"]).is_some();
    parsed.signed |= signs || kind == "redacted_thinking";
    parsed.keep_media(kind, media.as_ref(), block);
    if let Some(media) = media {
        lines.add_media(media);
    }
    Ok(())
}

/// Reads the top-level `system`: a text, or blocks of text, each an instruction of its own.
pub(super) fn system(system: &RawValue) -> Result<Messages, Error> {
    let place = JsonPath::new("system");
    let instruction = |json: &RawValue, text: String| (json.get().to_owned(), Parsed::system(text));
    if is_string(system) {
        return Ok(vec![instruction(system, place.text(system)?)]);
    }
    place
        .list(system)?
        .into_iter()
        .enumerate()
        .map(|(at, block)| {
            let place = place.at(at);
            let text = place.needed(&place.fields(block)?, "text")?;
            Ok(instruction(block, text))
        })
        .collect()
}
