//! Reading messages of the OpenAI chat completions API.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::base::error::Error;
use crate::object::{Role, ToolCall};
use crate::provider::wire::json::{Fields, JsonPath, is_string};
use crate::provider::wire::media::{Media, Source};
use crate::provider::wire::parsed::{Lines, Parsed, Part};

/// The most bytes of a speaker's name: the API takes 64 characters.
const MAX_NAME: usize = 256;

/// Reads a message.
pub(super) fn message(place: &JsonPath, message: &RawValue) -> Result<Parsed, Error> {
    let fields = place.fields(message)?;
    let mut parsed = Parsed::default();
    let role = place.needed(&fields, "role")?;
    let mut lines = Lines::default();
    content(&place.key("content"), &fields, &mut lines, &mut parsed)?;
    if role == "tool" {
        let text = lines.end(&mut parsed);
        parsed.parts.push(Part::Result {
            id: Some(place.needed(&fields, "tool_call_id")?),
            name: None,
            text,
        });
        rest(
            &fields,
            &["role", "content", "tool_call_id", "name"],
            &mut parsed,
        );
        return Ok(parsed);
    }
    let role = match role.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "function" => {
            return Err(place
                .wrong("the role `function` is no longer taken", "the role `tool`")
                .hint("answer `tool_calls` by their ids"));
        }
        _ => {
            let roles = "`system`, `developer`, `user`, `assistant` or `tool`";
            return Err(place.wrong("unknown role", roles));
        }
    };
    let mut calls = Vec::new();
    if let Some(list) = fields.get("tool_calls") {
        let place = place.key("tool_calls");
        for (at, call) in place.list(list)?.into_iter().enumerate() {
            calls.push(tool_call(&place.at(at), call)?);
        }
    }
    if let Some(refusal) = place.maybe(&fields, "refusal")? {
        lines.add(&refusal);
    }
    if role == Role::Assistant && fields.get("content").is_none() && calls.is_empty() {
        parsed.fault("empty_content");
    }
    if role != Role::Assistant && !calls.is_empty() {
        parsed.fault("call_by_another");
        parsed.opaque.extend(calls.drain(..).map(|_| "tool_calls".to_owned()));
        parsed.unread.push_str(fields.get("tool_calls").map_or("", RawValue::get));
    }
    let text = lines.end(&mut parsed);
    parsed.parts.push(Part::Turn { role, text, calls });
    parsed.said_by = said_by(place, &fields);
    rest(
        &fields,
        &["role", "content", "tool_calls", "refusal"],
        &mut parsed,
    );
    Ok(parsed)
}

/// The name of the speaker. One that is no name is kept with the message and found by nothing.
fn said_by(place: &JsonPath, fields: &Fields<'_>) -> Option<String> {
    let name = place.text(fields.get("name")?).ok()?;
    (!name.trim().is_empty() && name.len() <= MAX_NAME).then_some(name)
}

/// Keeps all but the known fields.
fn rest(fields: &Fields<'_>, known: &[&str], parsed: &mut Parsed) {
    for (key, value) in fields.iter() {
        let is_empty = matches!(value.get(), "null" | "[]");
        if !known.contains(&key) && !is_empty {
            parsed.keep(key, value);
        }
    }
}

fn content(
    place: &JsonPath,
    fields: &Fields<'_>,
    lines: &mut Lines,
    parsed: &mut Parsed,
) -> Result<(), Error> {
    let Some(content) = fields.get("content") else {
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
            "text" => lines.add(&place.needed(&fields, "text")?),
            "refusal" => lines.add(&place.needed(&fields, "refusal")?),
            kind => {
                let media = media(&place, kind, &fields)?;
                parsed.keep_media(kind, media.as_ref(), part);
                if let Some(media) = media {
                    lines.add_media(media);
                }
            }
        }
    }
    Ok(())
}

fn media(place: &JsonPath, kind: &str, fields: &Fields<'_>) -> Result<Option<Media>, Error> {
    let inner = |key: &str| match fields.get(key) {
        Some(value) => Ok::<_, Error>(Some((place.key(key), place.key(key).fields(value)?))),
        None => Ok(None),
    };
    Ok(match kind {
        "image_url" => match inner("image_url")? {
            Some((place, image)) => Some(Media::of_url("image", place.needed(&image, "url")?)),
            None => None,
        },
        "input_audio" => Some(Media {
            kind: "audio",
            mime: None,
            source: Source::Own,
        }),
        "file" => match inner("file")? {
            Some((place, file)) => match place.maybe(&file, "file_data")? {
                Some(url) => Some(Media::of_url("document", url)),
                None => Some(Media {
                    kind: "document",
                    mime: None,
                    source: Source::Own,
                }),
            },
            None => None,
        },
        _ => None,
    })
}

fn tool_call(place: &JsonPath, call: &RawValue) -> Result<ToolCall, Error> {
    let fields = place.fields(call)?;
    let id = place.needed(&fields, "id")?;
    let (inner, key, is_json) = match place.maybe(&fields, "type")?.as_deref() {
        None | Some("function") => ("function", "arguments", true),
        Some("custom") => ("custom", "input", false),
        Some(_) => return Err(place.wrong("a call of an unknown type", "`function` or `custom`")),
    };
    let value = fields.get(inner).ok_or_else(|| {
        place.wrong(
            format!("`{inner}` is missing"),
            "the tool's name and arguments",
        )
    })?;
    let place = place.key(inner);
    let fields = place.fields(value)?;
    let text = place.maybe(&fields, key)?.unwrap_or_default();
    Ok(ToolCall {
        arguments: if is_json {
            Value::from(text)
        } else {
            free(text)
        },
        id,
        name: place.needed(&fields, "name")?,
    })
}

/// The input of a tool that takes free text, as arguments.
pub(crate) fn free(text: String) -> Value {
    Value::from(json!({ "input": text }).to_string())
}
