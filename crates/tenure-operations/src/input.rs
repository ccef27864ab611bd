//! The input of an operation: JSON, with what a path and a query say of it as text.

use schemars::Schema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tenure::Error;

use crate::fields::{BODY, read_body, read_field};

/// The input of an operation.
#[derive(Default)]
pub struct Input<'a> {
    /// The body: a JSON object, or nothing.
    body: &'a [u8],
    /// The fields that stand elsewhere.
    fields: Map<String, Value>,
}

impl<'a> Input<'a> {
    /// Returns the input that a body of JSON is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is an array, which would be taken for the fields in their order.
    pub fn json(body: &'a [u8]) -> Result<Input<'a>, Error> {
        if body.trim_ascii_start().first() == Some(&b'[') {
            let error = Error::input("the request is an array").at(BODY, None);
            return Err(error.expected("a JSON object"));
        }
        Ok(Input {
            body,
            ..Input::default()
        })
    }

    /// Adds fields that are said as text, by the types that the form gives them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when one is said twice, or is not of its type.
    pub fn with_texts(
        mut self,
        form: &Schema,
        texts: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Input<'a>, Error> {
        let properties = form.get("properties").and_then(Value::as_object);
        for (name, text) in texts {
            let property = properties.and_then(|known| known.get(&name));
            let value = property.map_or(Ok(Value::String(text.clone())), |property| {
                typed(property, &text).map_err(|error| error.at(name.as_str(), None))
            })?;
            if self.fields.insert(name.clone(), value).is_some() {
                let error = Error::input(format!("duplicate field `{name}`"));
                return Err(error.at(name, None).expected("it once"));
            }
        }
        Ok(self)
    }

    /// Reads the form.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) that names the field that is wrong.
    pub(crate) fn read<T: DeserializeOwned>(mut self) -> Result<T, Error> {
        if self.fields.is_empty() && !self.body.is_empty() {
            return read_body(self.body);
        }
        if !self.body.is_empty() {
            let body: Map<String, Value> = read_body(self.body)?;
            for (name, value) in body {
                if self.fields.contains_key(&name) {
                    let error = Error::input(format!("the path says `{name}` already"));
                    return Err(error.at(name, None).expected("it once"));
                }
                self.fields.insert(name, value);
            }
        }
        read_field(Value::Object(self.fields), "")
    }
}

/// Reads a text as the value that a property takes: as JSON where that takes no text.
fn typed(property: &Value, text: &str) -> Result<Value, Error> {
    if takes_text(property) {
        return Ok(Value::String(text.to_owned()));
    }
    serde_json::from_str(text)
        .map_err(|_| Error::input("it is no JSON").expected("a JSON value, such as 17 or true"))
}

/// Returns whether a property may be a text.
fn takes_text(property: &Value) -> bool {
    let is_text = |kind: &Value| kind == "string";
    match &property["type"] {
        Value::Array(kinds) => kinds.iter().any(is_text),
        Value::Null => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|choices| property[choices].as_array())
            .flatten()
            .any(takes_text),
        kind => is_text(kind),
    }
}
