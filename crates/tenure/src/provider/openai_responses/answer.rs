//! Answers of OpenAI's responses.

use serde_json::Value;

use crate::provider::wire::answer::Answer;

/// The kinds of calls that the provider runs itself.
const HOSTED: [&str; 5] = [
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
];

/// Adds an item to an answer.
pub(super) fn read<'m>(item: &'m Value, answer: &mut Answer<'m>) {
    match item["type"].as_str() {
        Some("function_call") => answer.add_call(&item["name"], &item["arguments"]),
        Some("message") => {
            if item["phase"] != "commentary" {
                answer.last = answer.texts.len();
            }
            answer.add_content(&item["content"]);
        }
        Some(kind) if kind.ends_with("_call") || kind == "mcp_approval_request" => {
            answer.asks |= !HOSTED.contains(&kind);
            answer.add_other_call(item);
        }
        _ => {}
    }
}

/// The field of a request that says what the text of its answer must be.
pub(super) fn response_format(request: &Value) -> &Value {
    &request["text"]["format"]
}
