//! The OpenAI chat completions API.

mod answer;
mod read;
mod reply;
mod write;

use super::catalogue::CacheMark;
use super::dialect::{CacheRules, Dialect, Replies};
use super::wire::call_ids::IdRule;
use super::wire::json::{Fields, JsonPath};
use super::wire::parsed;
use super::wire::tool::Tool;
use crate::base::error::Error;

pub(crate) use read::free;

/// The format `openai-chat`.
pub(crate) const DIALECT: Dialect = Dialect {
    messages: "messages",
    system: &[],
    system_messages: true,
    bare_text: false,
    pairs_by_id: false,
    call_ids: IdRule {
        plain: false,
        // The API says so in its error (`string_above_max_length`).
        longest: 40,
        once: false,
    },
    least_answer: 0,
    tool_lists: &[],
    read: |place, messages| parsed::each(place, messages, read::message),
    read_system: |_| Ok(Vec::new()),
    tool,
    write: write::messages,
    write_tool: write::tool,
    takes_image: |_, is_result| !is_result,
    cached_apart: false,
    replies: Some(Replies {
        whole: reply::whole,
        stream: reply::stream,
        read: answer::read,
        response_format: answer::response_format,
    }),
    cache: CacheRules {
        mark: Some(CacheMark::PromptCacheBreakpoint),
        blocks: &["text", "image_url", "file"],
        before_messages: false,
        text: "text",
        content: |_| &["content", "tool_calls"],
        closed: |_, _, role| role == "assistant",
        system_blocks: None,
        apart: None,
    },
};

fn tool(place: &JsonPath, fields: &Fields<'_>) -> Result<Option<Tool>, Error> {
    let kind = place.maybe(fields, "type")?;
    match (kind.as_deref(), fields.get("function")) {
        (Some("function") | None, Some(function)) => {
            let place = place.key("function");
            Tool::read(&place, &place.fields(function)?, &["parameters"]).map(Some)
        }
        _ => Ok(None),
    }
}
