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
    Parts(Parts),
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

/// The parts of a list by their index. Servers that count badly give one index to several calls: their ids tell them
/// apart.
type Parts = BTreeMap<u64, Vec<Part>>;

type Part = Vec<(String, Growing)>;

/// The calls of one index that may grow at a time.
const INTERLEAVED: usize = 64;

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
                let more = place.text(piece)?;
                // Some servers repeat the name with each piece.
                if key != "name" || *text != more {
                    text.push_str(&more);
                }
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

fn parts(place: &JsonPath, known: &mut Parts, list: &RawValue, deep: usize) -> Result<(), Error> {
    for (at, part) in place.list(list)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(part)?;
        let index = fields.get("index").and_then(|at| at.get().parse().ok());
        let id = fields
            .get("id")
            .filter(|id| id.get().starts_with('"'))
            .map(|id| place.text(id))
            .transpose()?
            .filter(|id| !id.is_empty());
        // Pieces without an index or an id belong to what came last.
        let same = known.entry(index.unwrap_or(u64::MAX)).or_default();
        let mut latest = (0..same.len()).rev().take(INTERLEAVED);
        let part = match latest.find(|at| is_of(&same[*at], id.as_deref())) {
            Some(at) => &mut same[at],
            None => same.push_mut(Part::new()),
        };
        grow(&place, part, &fields, deep + 1)?;
    }
    Ok(())
}

/// Returns whether a piece with this id belongs to a part.
fn is_of(part: &Part, id: Option<&str>) -> bool {
    let known = part.iter().find_map(|(key, value)| match value {
        Growing::Text(known) if key == "id" && !known.is_empty() => Some(known.as_str()),
        _ => None,
    });
    known.is_none() || id.is_none() || known == id
}

impl Growing {
    fn json(&self) -> String {
        let fields = |fields: &[(String, Growing)]| {
            let fields = fields.iter().filter(|(key, _)| key != "index");
            object(&fields.map(|(key, value)| (key.clone(), value.json())).collect::<Vec<_>>())
        };
        match self {
            Growing::Text(said) => text(said),
            Growing::Whole(json) => json.clone(),
            Growing::Object(inner) => fields(inner),
            Growing::Parts(parts) => {
                let parts: Vec<String> =
                    parts.values().flatten().map(|part| fields(part)).collect();
                format!("[{}]", parts.join(","))
            }
        }
    }
}
