//! The Anthropic messages API.

mod answer;
mod read;
mod reply;
mod write;

use super::catalogue::CacheMark;
use super::dialect::{CacheRules, Dialect, Replies};
use super::wire::call_ids::IdRule;
use super::wire::json::{Fields, JsonPath, is_list};
use super::wire::parsed;
use super::wire::tool::Tool;
use crate::base::error::Error;

/// The format `anthropic`.
pub(crate) const DIALECT: Dialect = Dialect {
    messages: "messages",
    system: &["system"],
    system_messages: false,
    bare_text: false,
    pairs_by_id: false,
    call_ids: IdRule {
        plain: true,
        longest: usize::MAX,
        once: true,
    },
    least_answer: 1,
    tool_lists: &[],
    read: |place, messages| parsed::each(place, messages, read::message),
    read_system: read::system,
    tool,
    write: write::messages,
    write_tool: write::tool,
    takes_image: |_, _| true,
    cached_apart: true,
    replies: Some(Replies {
        whole: reply::whole,
        stream: reply::stream,
        read: answer::read,
        response_format: answer::response_format,
    }),
    cache: CacheRules {
        mark: Some(CacheMark::CacheControl),
        blocks: &["text", "image", "tool_use", "tool_result", "document"],
        before_messages: true,
        text: "text",
        content: |_| &["content"],
        closed: |place, fields, _| is_signed(place, fields),
        system_blocks: None,
        apart: Some("web_search"),
    },
};

fn tool(place: &JsonPath, fields: &Fields<'_>) -> Result<Option<Tool>, Error> {
    match place.maybe(fields, "type")?.as_deref() {
        Some("custom") | None => Tool::read(place, fields, &["input_schema"]).map(Some),
        _ => Ok(None),
    }
}

/// Returns whether the provider signed any of it, so that it must go back as it is.
fn is_signed(place: &JsonPath, fields: &Fields<'_>) -> bool {
    let Some(content) = fields.get("content").filter(|content| is_list(content)) else {
        return false;
    };
    let blocks = place.list(content).unwrap_or_default();
    blocks.into_iter().any(|block| {
        let Ok(fields) = place.fields(block) else {
            return true;
        };
        let kind = place.maybe(&fields, "type").ok().flatten().unwrap_or_default();
        let signs = ["signature", "encrypted_content", "thoughtSignature"];
        ["thinking", "redacted_thinking", "compaction"].contains(&kind.as_str())
            || fields.any(&signs).is_some()
    })
}
