//! The answers of the OpenAI chat completions API as the message that their client sends back.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::provider::wire::json::{Fields, JsonPath};
use crate::provider::wire::stream::{Stream, object, text, unfinished};

/// The message in a whole answer.
pub(super) fn whole(place: &JsonPath, fields: &Fields<'_>) -> Result<String, Error> {
    let choices = place.key("choices");
    let message = only_choice(&choices, fields)?
        .and_then(|choice| choice.get("message"))
        .ok_or_else(|| choices.wrong("there is no message", "one choice with a message"))?;
    let mut message: Vec<(String, String)> = choices
        .fields(message)?
        .iter()
        .filter(|(key, value)| *key != "role" && !is_empty(value))
        .map(|(key, value)| (key.to_owned(), value.get().to_owned()))
        .collect();
    message.insert(0, ("role".into(), "\"assistant\"".into()));
    Ok(object(&message))
}

/// Returns a stream from its beginning.
pub(super) fn stream() -> Box<dyn Stream> {
    Box::new(Chat::default())
}

fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]")
}

/// The one choice that there is; none where an event has none.
fn only_choice<'a>(place: &JsonPath, fields: &Fields<'a>) -> Result<Option<Fields<'a>>, Error> {
    let Some(choices) = fields.get("choices") else {
        return Ok(None);
    };
    match place.list(choices)?.as_slice() {
        [] => Ok(None),
        [choice] => {
            let choice = place.fields(choice)?;
            match choice.get("index").map(RawValue::get) {
                None | Some("0") => Ok(Some(choice)),
                Some(_) => Err(several(place)),
            }
        }
        _ => Err(several(place)),
    }
}

fn several(place: &JsonPath) -> Error {
    place.wrong("there are several choices", "one")
}

/// A chat message: texts that grow, calls by their index, and what comes whole.
#[derive(Default)]
struct Chat {
    /// In the order of their first pieces.
    fields: Vec<(String, Growing)>,
    finished: bool,
}

/// A value of which pieces come.
enum Growing {
    Text(String),
    /// Lists by the index of their parts.
    Parts(BTreeMap<u64, Vec<(String, Growing)>>),
    /// Several that came whole.
    Whole(String),
    Object(Vec<(String, Growing)>),
}

impl Stream for Chat {
    fn take(&mut self, place: &JsonPath, event: &Fields<'_>) -> Result<(), Error> {
        let place = place.key("choices");
        let Some(choice) = only_choice(&place, event)? else {
            return Ok(());
        };
        if let Some(delta) = choice.get("delta") {
            let place = place.key("delta");
            grow(&place, &mut self.fields, &place.fields(delta)?, 0)?;
        }
        self.finished |= choice.get("finish_reason").is_some();
        Ok(())
    }

    fn end(self: Box<Self>, place: &JsonPath) -> Result<String, Error> {
        if !self.finished {
            return Err(unfinished(place));
        }
        let mut message = vec![("role".to_owned(), "\"assistant\"".to_owned())];
        let fields = self.fields.iter().filter(|(key, _)| key != "role");
        message.extend(
            fields
                .map(|(key, value)| (key.clone(), value.json()))
                .filter(|(_, json)| !matches!(json.as_str(), "[]" | "\"\"")),
        );
        Ok(object(&message))
    }
}

/// So deep may a piece be nested.
const DEEPEST: usize = 64;

/// Adds the pieces of a delta.
fn grow(
    place: &JsonPath,
    fields: &mut Vec<(String, Growing)>,
    delta: &Fields<'_>,
    deep: usize,
) -> Result<(), Error> {
    if deep > DEEPEST {
        return Err(place.wrong("a piece is nested too deep", "at most 64 levels"));
    }
    for (key, piece) in delta.iter() {
        let place = place.key(key);
        if piece.get() == "null" {
            continue;
        }
        let known = fields.iter_mut().find(|(known, _)| known == key);
        let first = piece.get().as_bytes().first();
        let value = match (known, first) {
            // Said once, however often it is repeated.
            (Some((_, Growing::Text(_))), Some(b'"')) if matches!(key, "role" | "id" | "type") => {
                continue;
            }
            (Some((_, Growing::Text(text))), Some(b'"')) => {
                text.push_str(&place.text(piece)?);
                continue;
            }
            (Some((_, Growing::Object(known))), Some(b'{')) => {
                grow(&place, known, &place.fields(piece)?, deep + 1)?;
                continue;
            }
            (Some((_, Growing::Parts(known))), Some(b'[')) => {
                parts(&place, known, piece, deep + 1)?;
                continue;
            }
            (Some((_, known)), _) => {
                *known = Growing::Whole(piece.get().to_owned());
                continue;
            }
            (None, Some(b'"')) => Growing::Text(place.text(piece)?),
            (None, Some(b'{')) => {
                let mut inner = Vec::new();
                grow(&place, &mut inner, &place.fields(piece)?, deep + 1)?;
                Growing::Object(inner)
            }
            (None, Some(b'[')) => {
                let mut known = BTreeMap::new();
                parts(&place, &mut known, piece, deep + 1)?;
                Growing::Parts(known)
            }
            (None, _) => Growing::Whole(piece.get().to_owned()),
        };
        fields.push((key.to_owned(), value));
    }
    Ok(())
}

fn parts(
    place: &JsonPath,
    known: &mut BTreeMap<u64, Vec<(String, Growing)>>,
    list: &RawValue,
    deep: usize,
) -> Result<(), Error> {
    for (at, part) in place.list(list)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(part)?;
        let index = fields.get("index").and_then(|at| at.get().parse().ok());
        let index = index.ok_or_else(|| place.wrong("a piece has no index", "`index`"))?;
        grow(&place, known.entry(index).or_default(), &fields, deep + 1)?;
    }
    Ok(())
}

impl Growing {
    fn json(&self) -> String {
        let fields = |fields: &[(String, Growing)]| {
            let fields = fields.iter().filter(|(key, _)| key != "index");
            object(
                &fields
                    .map(|(key, value)| (key.clone(), value.json()))
                    .collect::<Vec<_>>(),
            )
        };
        match self {
            Growing::Text(said) => text(said),
            Growing::Whole(json) => json.clone(),
            Growing::Object(inner) => fields(inner),
            Growing::Parts(parts) => {
                let parts: Vec<String> = parts.values().map(|part| fields(part)).collect();
                format!("[{}]", parts.join(","))
            }
        }
    }
}
