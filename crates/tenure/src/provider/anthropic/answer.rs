//! Answers of Anthropic's messages.

use serde_json::Value;

use crate::provider::wire::answer::Answer;

/// Adds a message to an answer.
pub(super) fn read<'m>(message: &'m Value, answer: &mut Answer<'m>) {
    answer.add_content(&message["content"]);
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("tool_use") => answer.add_call(&block["name"], &block["input"]),
            // The provider runs it.
            Some("server_tool_use" | "mcp_tool_use") => answer.add_other_call(block),
            _ => {}
        }
    }
}

/// The field of a request that says what the text of its answer must be, in its newer or its older place.
pub(super) fn response_format(request: &Value) -> &Value {
    match &request["output_config"]["format"] {
        Value::Null => &request["output_format"],
        asked => asked,
    }
}
