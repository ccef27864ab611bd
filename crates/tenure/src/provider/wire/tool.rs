//! A tool as a request describes it.

use serde_json::Value;

use super::json::{Fields, JsonPath};
use crate::base::error::Error;

/// A tool, as any provider describes it.
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Option<Value>,
}

impl Tool {
    /// The description; of a tool without one, the name.
    pub(crate) fn content(&self) -> &str {
        match self.description.trim() {
            "" => &self.name,
            _ => &self.description,
        }
    }
}

impl Tool {
    /// Reads a tool whose schema stands under the first of these keys that it has.
    pub(crate) fn read(
        place: &JsonPath,
        fields: &Fields<'_>,
        schema: &[&str],
    ) -> Result<Tool, Error> {
        Ok(Tool {
            name: place.needed(fields, "name")?,
            description: place.maybe(fields, "description")?.unwrap_or_default(),
            schema: fields
                .any(schema)
                .map(|json| -> Result<Value, Error> {
                    serde_json::from_str(json.get()).map_err(|error| {
                        place.wrong(format!("the schema cannot be read: {error}"), "JSON Schema")
                    })
                })
                .transpose()?,
        })
    }
}
