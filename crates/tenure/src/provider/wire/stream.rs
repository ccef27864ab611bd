//! An answer that comes as a stream of events, and what whole answers and streams share.

use serde_json::value::RawValue;

use super::json::{Fields, JsonPath};
use crate::base::error::Error;

/// The message that grows from the events of a stream.
pub(crate) trait Stream {
    /// Takes the next event.
    fn take(&mut self, place: &JsonPath, event: &Fields<'_>) -> Result<(), Error>;
    /// Returns the message; an error where the stream is not at its end.
    fn end(self: Box<Self>, place: &JsonPath) -> Result<String, Error>;
}

/// The text as JSON.
pub(crate) fn json<'t>(place: &JsonPath, text: &'t str) -> Result<&'t RawValue, Error> {
    serde_json::from_str(text)
        .map_err(|error| place.wrong(format!("not JSON: {error}"), "what a provider answers"))
}

/// The error of an answer that stops before its end.
pub(crate) fn unfinished(place: &JsonPath) -> Error {
    place.wrong("the answer is not at its end", "a whole answer")
}

/// An object of these fields, each with its JSON.
pub(crate) fn object(fields: &[(String, String)]) -> String {
    let fields = fields.iter().map(|(key, value)| format!("{}:{value}", text(key)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// A text as a JSON string.
pub(crate) fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
