//! Reading contents of the Gemini API. Keys are taken in both of the forms that the API takes,
//! `functionCall` and `function_call`.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{Fields, Place, is_string};
use super::media::{Media, Source};
use super::namer::Namer;
use super::said::{Lines, Part, Said};
use super::{Conversation, Format};
use crate::base::error::Error;
use crate::object::{Role, ToolCall};

/// What a content says. Its results become parts of their own, before what else it says.
pub(super) fn message(place: &Place, message: &RawValue) -> Result<Said, Error> {
    let fields = place.fields(message)?;
    let role = match place.maybe(&fields, "role")?.as_deref() {
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some(_) => return Err(place.wrong("unknown role", "`user` or `model`")),
    };
    let mut said = Said::default();
    let mut turn = Lines::default();
    let mut calls = Vec::new();
    let mut texts = 0;
    let place = place.key("parts");
    let parts = match fields.get("parts") {
        Some(parts) => place.list(parts)?,
        None => Vec::new(),
    };
    for (at, part) in parts.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(part)?;
        let is_signed = fields
            .any(&["thoughtSignature", "thought_signature"])
            .is_some();
        said.signed |= is_signed;
        if fields
            .get("thought")
            .is_some_and(|thought| thought.get() == "true")
        {
            said.keep("thought", part);
            texts += 1;
            continue;
        }
        if let Some(call) = fields.any(&["functionCall", "function_call"]) {
            let place = place.key("functionCall");
            let fields = place.fields(call)?;
            if role != Role::Assistant {
                said.fault("call_by_another");
                said.keep("functionCall", part);
                continue;
            }
            if is_signed {
                said.keep("thoughtSignature", part);
            }
            calls.push(ToolCall {
                arguments: Value::from(fields.get("args").map_or("{}", RawValue::get)),
                id: place.maybe(&fields, "id")?.unwrap_or_default(),
                name: place.needed(&fields, "name")?,
            });
        } else if let Some(answer) = fields.any(&["functionResponse", "function_response"]) {
            let place = place.key("functionResponse");
            let fields = place.fields(answer)?;
            if role != Role::User {
                said.fault("result_by_another");
            }
            if texts > 0 {
                said.fault("result_not_first");
            }
            if fields.get("parts").is_some() {
                said.keep("functionResponse", answer);
            }
            said.parts.push(Part::Result {
                id: place.maybe(&fields, "id")?,
                name: Some(place.needed(&fields, "name")?),
                text: response(&place, &fields)?,
            });
        } else if let Some(text) = fields.get("text") {
            let text = place.key("text").text(text)?;
            if is_signed {
                said.keep("thoughtSignature", part);
            }
            turn.add(&text);
            texts += 1;
        } else {
            let media = media(&place, &fields)?;
            let mut kinds = fields.iter().map(|(key, _)| key);
            let kind = kinds.find(|key| !key.starts_with("thought"));
            let kind = kind.unwrap_or("part").to_owned();
            said.keep_media(&kind, media.as_ref(), part);
            if let Some(media) = media {
                turn.add_media(media);
            }
            texts += 1;
        }
    }
    let is_blank = turn.text.trim().is_empty() && said.opaque.is_empty();
    let text = turn.end(&mut said);
    if said.parts.is_empty() || !calls.is_empty() || texts > 0 {
        if calls.is_empty() && is_blank {
            said.fault("empty_content");
        }
        if !calls.is_empty() && !said.parts.is_empty() {
            said.fault("result_by_another");
        }
        said.parts.push(Part::Turn { role, text, calls });
    }
    Ok(said)
}

/// What a function returned: its one text where that is all there is, else its JSON.
fn response(place: &Place, fields: &Fields<'_>) -> Result<String, Error> {
    let Some(response) = fields.get("response") else {
        return Ok(String::new());
    };
    let place = place.key("response");
    let inner = place.fields(response)?;
    let mut values = inner.iter();
    match (values.next(), values.next()) {
        (Some(("result" | "output", text)), None) if is_string(text) => place.text(text),
        _ => Ok(response.get().to_owned()),
    }
}

fn media(place: &Place, fields: &Fields<'_>) -> Result<Option<Media>, Error> {
    let (value, key, is_inline) = match (
        fields.any(&["inlineData", "inline_data"]),
        fields.any(&["fileData", "file_data"]),
    ) {
        (Some(value), _) => (value, "inlineData", true),
        (None, Some(value)) => (value, "fileData", false),
        (None, None) => return Ok(None),
    };
    let place = place.key(key);
    let fields = place.fields(value)?;
    let text = |keys: &[&str]| fields.any(keys).map(|text| place.text(text)).transpose();
    let mime = text(&["mimeType", "mime_type"])?;
    let kind = match mime.as_deref().and_then(|mime| mime.split('/').next()) {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "document",
    };
    let source = if is_inline {
        Source::Base64(text(&["data"])?.unwrap_or_default())
    } else {
        Source::Url(text(&["fileUri", "file_uri"])?.unwrap_or_default())
    };
    Ok(Some(Media { kind, mime, source }))
}

/// The top-level `systemInstruction`.
pub(super) fn system(
    conversation: &mut Conversation,
    value: &RawValue,
    namer: &mut Namer,
) -> Result<(), Error> {
    let place = Place::new("systemInstruction");
    let text = if is_string(value) {
        place.text(value)?
    } else {
        let said = message(&place, value)?;
        let texts = said.parts.into_iter().map(|part| match part {
            Part::Turn { text, .. } | Part::Result { text, .. } => text,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    let said = Said {
        parts: vec![Part::Turn {
            role: Role::System,
            text,
            calls: Vec::new(),
        }],
        ..Said::default()
    };
    let entry = namer.instruction(Format::Gemini, value.get().to_owned(), said);
    conversation.instructions.push(entry);
    Ok(())
}
