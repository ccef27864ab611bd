//! Answers of OpenAI's chat completions.

use serde_json::Value;

use crate::provider::wire::answer::Answer;

/// Adds a message to an answer.
pub(super) fn read<'m>(message: &'m Value, answer: &mut Answer<'m>) {
    answer.add_content(&message["content"]);
    answer.refuses |= message["refusal"].is_string();
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    for function in calls.clone().filter_map(|call| call.get("function")) {
        answer.add_call(&function["name"], &function["arguments"]);
    }
    for call in calls.filter(|call| call.get("function").is_none()) {
        answer.asks = true;
        answer.add_other_call(call.get("custom").unwrap_or(call));
    }
    // The older form of one call.
    if let Some(call) = message.get("function_call").filter(|call| call.is_object()) {
        answer.add_call(&call["name"], &call["arguments"]);
    }
}

/// The field of a request that says what the text of its answer must be.
pub(super) fn response_format(request: &Value) -> &Value {
    &request["response_format"]
}
