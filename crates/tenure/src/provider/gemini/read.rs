//! Reading contents of the Gemini API. Keys are taken in both of the forms that the API takes,
//! `functionCall` and `function_call`.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::object::{Role, ToolCall};
use crate::provider::wire::json::{Fields, JsonPath, is_string};
use crate::provider::wire::media::{Media, Source};
use crate::provider::wire::parsed::{Lines, Messages, Parsed, Part};

/// Reads a content. Its results become parts of their own, before what else it says.
pub(super) fn message(place: &JsonPath, message: &RawValue) -> Result<Parsed, Error> {
    let fields = place.fields(message)?;
    let role = match place.maybe(&fields, "role")?.as_deref() {
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some(_) => return Err(place.wrong("unknown role", "`user` or `model`")),
    };
    let mut parsed = Parsed::default();
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
        let is_signed = fields.any(&["thoughtSignature", "thought_signature"]).is_some();
        parsed.signed |= is_signed;
        if fields.get("thought").is_some_and(|thought| thought.get() == "true") {
            parsed.keep("thought", part);
            texts += 1;
            continue;
        }
        if let Some(call) = fields.any(&["functionCall", "function_call"]) {
            let place = place.key("functionCall");
            let fields = place.fields(call)?;
            if role != Role::Assistant {
                parsed.fault("call_by_another");
                parsed.keep("functionCall", part);
                continue;
            }
            if is_signed {
                parsed.keep("thoughtSignature", part);
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
                parsed.fault("result_by_another");
            }
            if texts > 0 {
                parsed.fault("result_not_first");
            }
            if fields.get("parts").is_some() {
                parsed.keep("functionResponse", answer);
            }
            parsed.parts.push(Part::Result {
                id: place.maybe(&fields, "id")?,
                name: Some(place.needed(&fields, "name")?),
                text: response(&place, &fields)?,
            });
        } else if let Some(text) = fields.get("text") {
            let text = place.key("text").text(text)?;
            if is_signed {
                parsed.keep("thoughtSignature", part);
            }
            turn.add(&text);
            texts += 1;
        } else {
            let media = media(&place, &fields)?;
            let mut kinds = fields.iter().map(|(key, _)| key);
            let kind = kinds.find(|key| !key.starts_with("thought")).unwrap_or("part").to_owned();
            parsed.keep_media(&kind, media.as_ref(), part);
            if let Some(media) = media {
                turn.add_media(media);
            }
            texts += 1;
        }
    }
    let is_blank = turn.text.trim().is_empty() && parsed.opaque.is_empty();
    let text = turn.end(&mut parsed);
    if parsed.parts.is_empty() || !calls.is_empty() || texts > 0 {
        if calls.is_empty() && is_blank {
            parsed.fault("empty_content");
        }
        if !calls.is_empty() && !parsed.parts.is_empty() {
            parsed.fault("result_by_another");
        }
        parsed.parts.push(Part::Turn { role, text, calls });
    }
    Ok(parsed)
}

/// Returns the output of a function: its one text where that is all there is, else its JSON.
fn response(place: &JsonPath, fields: &Fields<'_>) -> Result<String, Error> {
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

fn media(place: &JsonPath, fields: &Fields<'_>) -> Result<Option<Media>, Error> {
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

/// Reads the top-level `systemInstruction`: a text, or a content.
pub(super) fn system(value: &RawValue) -> Result<Messages, Error> {
    let place = JsonPath::new("systemInstruction");
    let text = if is_string(value) {
        place.text(value)?
    } else {
        let parsed = message(&place, value)?;
        let texts = parsed.parts.into_iter().map(|part| match part {
            Part::Turn { text, .. } | Part::Result { text, .. } => text,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    Ok(vec![(value.get().to_owned(), Parsed::system(text))])
}
