//! The Gemini API: `generateContent`.

mod read;
mod write;

use super::dialect::{CacheRules, Dialect};
use super::wire::call_ids::IdRule;
use super::wire::json::{Fields, JsonPath};
use super::wire::media::Source;
use super::wire::parsed;
use super::wire::tool::Tool;
use crate::base::error::Error;

pub(crate) use write::NO_SIGNATURE;

/// The format `gemini`.
pub(crate) const DIALECT: Dialect = Dialect {
    messages: "contents",
    system: &["systemInstruction", "system_instruction"],
    system_messages: false,
    bare_text: false,
    pairs_by_id: false,
    call_ids: IdRule::ANY,
    least_answer: 0,
    tool_lists: &["functionDeclarations", "function_declarations"],
    read: |place, messages| parsed::each(place, messages, read::message),
    read_system: read::system,
    tool,
    write: write::messages,
    write_tool: write::tool,
    takes_image: |source, is_result| matches!(source, Source::Base64(_)) && !is_result,
    cached_apart: false,
    replies: None,
    cache: CacheRules {
        mark: None,
        blocks: &[],
        before_messages: false,
        text: "text",
        content: |_| &["parts"],
        closed: |_, _, _| true,
        system_blocks: Some("parts"),
        apart: None,
    },
};

fn tool(place: &JsonPath, fields: &Fields<'_>) -> Result<Option<Tool>, Error> {
    if fields.get("name").is_none() {
        return Ok(None);
    }
    let keys = [
        "parametersJsonSchema",
        "parameters_json_schema",
        "parameters",
    ];
    Tool::read(place, fields, &keys).map(Some)
}
