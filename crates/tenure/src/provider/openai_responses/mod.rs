//! The OpenAI responses API.

mod answer;
mod read;
mod reply;
mod write;

use super::catalogue::CacheMark;
use super::dialect::{CacheRules, Dialect, Replies};
use super::wire::call_ids::IdRule;
use super::wire::json::{Fields, JsonPath};
use super::wire::tool::Tool;
use crate::base::error::Error;

pub(crate) use read::is_item;

/// The format `openai-responses`.
pub(crate) const DIALECT: Dialect = Dialect {
    messages: "input",
    system: &["instructions"],
    system_messages: true,
    bare_text: true,
    pairs_by_id: true,
    call_ids: IdRule {
        plain: false,
        // The API says so in its error (`string_above_max_length`).
        longest: 64,
        once: true,
    },
    least_answer: 0,
    tool_lists: &[],
    read: read::messages,
    read_system: read::system,
    tool,
    write: write::messages,
    write_tool: write::tool,
    takes_image: |_, _| true,
    cached_apart: false,
    replies: Some(Replies {
        whole: reply::whole,
        stream: reply::stream,
        read: answer::read,
        response_format: answer::response_format,
    }),
    cache: CacheRules {
        mark: Some(CacheMark::PromptCacheBreakpoint),
        blocks: &["input_text", "input_image", "input_file"],
        before_messages: false,
        text: "input_text",
        content,
        closed: |place, fields, role| {
            let kind = place.maybe(fields, "type").ok().flatten();
            role == "assistant" || content(kind.as_deref().unwrap_or_default()).is_empty()
        },
        system_blocks: None,
        apart: None,
    },
};

/// The fields of an item that hold its blocks.
fn content(kind: &str) -> &'static [&'static str] {
    match kind {
        "" | "message" => &["content"],
        "function_call_output" => &["output"],
        _ => &[],
    }
}

fn tool(place: &JsonPath, fields: &Fields<'_>) -> Result<Option<Tool>, Error> {
    match place.maybe(fields, "type")?.as_deref() {
        Some("function") => Tool::read(place, fields, &["parameters"]).map(Some),
        _ => Ok(None),
    }
}
