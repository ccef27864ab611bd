//! The field of a request that is wrong, named in the error: a path such as `request.budget.tokens` or `objects[2].name`,
//! a parameter, or a header.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Deserializer, Segment, Track};
use tenure::request::{NOT_JSON, json_error};
use tenure::{Error, ErrorKind};

/// The name of the body as a whole.
pub const BODY: &str = "body";

/// Names the field of which an input is wrong.
pub trait InField {
    /// Names this field where it fails for an input that names no place.
    fn in_field(self, field: &str) -> Self;

    /// Names the place of the error as one within this field.
    fn within(self, field: &str) -> Self;
}

impl<T> InField for Result<T, Error> {
    fn in_field(self, field: &str) -> Result<T, Error> {
        self.map_err(|error| match error.kind {
            ErrorKind::Input | ErrorKind::NotFound | ErrorKind::Usage => error.or_at(field, None),
            _ => error,
        })
    }

    fn within(self, field: &str) -> Result<T, Error> {
        self.map_err(|error| match &error.at {
            None => error.at(field, None),
            Some(at) => {
                let (inner, line) = (join(field, &at.source), at.line);
                error.at(inner, line)
            }
        })
    }
}

fn join(field: &str, inner: &str) -> String {
    match inner {
        "" => field.to_owned(),
        _ if field.is_empty() || inner.starts_with('[') => format!("{field}{inner}"),
        _ => format!("{field}.{inner}"),
    }
}

/// Reads a body of JSON.
pub fn read_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(body);
    // A number where a word is expected is said to be no JSON: as a value it is told apart.
    let read = read(&mut json, "").or_else(|error| match serde_json::from_slice(body) {
        Ok(value) if error.what == NOT_JSON => read_field(value, ""),
        _ => Err(error),
    })?;
    json.end().map_err(|error| json_error(&error, BODY))?;
    Ok(read)
}

/// Reads JSON that is the field of a request.
pub fn read_field<T: DeserializeOwned>(value: Value, field: &str) -> Result<T, Error> {
    read(value, field)
}

fn read<'de, T, D>(json: D, field: &str) -> Result<T, Error>
where
    T: Deserialize<'de>,
    D: serde::Deserializer<'de, Error = serde_json::Error>,
{
    let mut track = Track::new();
    let read = T::deserialize(Deserializer::new(json, &mut track));
    read.map_err(|error| {
        let mut path = field.to_owned();
        for segment in track.path().iter() {
            path = match segment {
                Segment::Seq { index } => format!("{path}[{index}]"),
                Segment::Map { key } => join(&path, key),
                // Which of several forms it is read as stands nowhere in the JSON.
                Segment::Enum { .. } | Segment::Unknown => path,
            };
        }
        let error = json_error(&error, &path);
        let path = match named(&error.what) {
            Some(name) if !path.ends_with(name) => join(&path, name),
            _ => path,
        };
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(if path.is_empty() { BODY } else { &path }, line)
    })
}

/// The field that a parser's message names, which is wrong itself.
pub fn named(message: &str) -> Option<&str> {
    let rest = ["unknown field `", "missing field `", "duplicate field `"]
        .into_iter()
        .find_map(|start| message.split_once(start))?
        .1;
    rest.split('`').next()
}
