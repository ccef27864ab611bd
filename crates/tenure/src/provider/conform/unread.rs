//! Items and parts of kinds that the check does not know, against which no rule was held.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::error::Error;
use crate::base::text::clip;
use crate::object::Format;

/// A message, or a part of one, that is of no kind that the check knows. What it is may be legal: nobody looked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// The place: `input[3]`.
    pub at: String,
    /// Its kind.
    pub kind: String,
}

/// The items of OpenAI's responses that do not end in `_call` or `_call_output`.
const ITEMS: [&str; 12] = [
    "message",
    "reasoning",
    "item_reference",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "tool_search_output",
    "additional_tools",
    "compaction",
    "context_compaction",
    "program_output",
    "shell_output",
];

/// The fields of which a part of Gemini's has one.
const PARTS: [&str; 14] = [
    "text",
    "thought",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];

/// Returns what of a body, or of a bare array of messages, the check does not know, and how many messages there are.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no JSON.
///
/// ```
/// use tenure::conform::unread;
/// use tenure::wire::Format;
/// let (unread, all) = unread(Format::OpenAiResponses, r#"[{"type": "human", "content": "Hello."}]"#)?;
/// assert_eq!((unread[0].at.as_str(), unread[0].kind.as_str(), all), ("input[0]", "human", 1));
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn unread(format: Format, body: &str) -> Result<(Vec<Unread>, usize), Error> {
    let body: Value =
        serde_json::from_str(body).map_err(|error| Error::input(format!("not JSON: {error}")))?;
    let key = match format {
        Format::OpenAiResponses => "input",
        Format::Gemini => "contents",
        _ => "messages",
    };
    let messages = body
        .as_array()
        .or_else(|| body[key].as_array())
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut unread = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let at = format!("{key}[{at}]");
        match format {
            Format::OpenAiResponses => {
                let kind = message["type"].as_str().unwrap_or("message");
                let is_known = ITEMS.contains(&kind)
                    || kind.ends_with("_call")
                    || kind.ends_with("_call_output");
                if !is_known {
                    let kind = clip(kind);
                    unread.push(Unread { at, kind });
                }
            }
            Format::Gemini => {
                let unknown = message["parts"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate()
                    .filter(|(_, part)| PARTS.iter().all(|key| part.get(key).is_none()));
                unread.extend(unknown.map(|(part, value)| Unread {
                    at: format!("{at}.parts[{part}]"),
                    kind: clip(&value.as_object().map_or_else(String::new, |fields| {
                        fields.keys().cloned().collect::<Vec<_>>().join(", ")
                    })),
                }));
            }
            // Whoever says something there must have a role, which is a rule.
            _ => {}
        }
    }
    Ok((unread, messages.len()))
}
