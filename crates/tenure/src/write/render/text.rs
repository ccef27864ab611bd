//! The payload as one text: the pieces one after another.

use serde_json::json;

use crate::object::{ContextObject, Tool};

/// A tool as one line of canonical JSON.
pub(crate) fn tool_line(object: &ContextObject, tool: &Tool) -> String {
    let mut line = json!({
        "authorization_scope": tool.authorization_scope,
        "description": object.revision().content().trim(),
        "input_schema": tool.input_schema,
        "name": object.name(),
        "output_schema": tool.output_schema,
        "protocol": tool.protocol,
        "timeout_class": tool.timeout_class,
    });
    if let Some(fields) = line.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    format!("{line}\n")
}
