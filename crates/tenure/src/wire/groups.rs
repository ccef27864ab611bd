//! What of a conversation cannot be parted: a call with all its results, parallel calls, reasoning
//! with what it led to.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Entry;
use crate::object::{ObjectDocument, ObjectType};

/// The groups of a conversation, which together are all of it: each a message of its own, or one
/// that calls tools with the messages that answer it.
///
/// ```
/// use tenure::wire::{Format, groups, open_chain, read};
/// let body = r#"[
///     {"role": "user", "content": "How hot is it?"},
///     {"role": "assistant", "content": null, "tool_calls":
///         [{"id": "c1", "type": "function", "function": {"name": "sense", "arguments": "{}"}}]},
///     {"role": "tool", "tool_call_id": "c1", "content": "21 °C"},
///     {"role": "assistant", "content": "21 °C."}
/// ]"#;
/// let conversation = read(Format::OpenAiChat, body)?;
/// assert_eq!(groups(&conversation.entries), [0..1, 1..3, 3..4]);
/// assert_eq!(open_chain(&conversation.entries[..2]), Some(1..2));
/// assert_eq!(open_chain(&conversation.entries), None);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn groups<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let answers = entry.objects.iter().any(|object| {
            object
                .tool_call_id
                .as_deref()
                .is_some_and(|id| is_result(object) && open.contains(id))
        });
        match groups.last_mut() {
            Some(group) if answers => group.end = at + 1,
            _ => {
                open.clear();
                groups.push(at..at + 1);
            }
        }
        for object in &entry.objects {
            if let Some(id) = object.tool_call_id.as_deref() {
                open.remove(id);
            }
            open.extend(object.tool_calls.iter().map(|call| call.id.as_str()));
        }
    }
    groups
}

/// The last group, where a call in it waits for its result.
pub fn open_chain(entries: &[Entry]) -> Option<Range<usize>> {
    let last = groups(entries).pop()?;
    let objects = || {
        entries[last.clone()]
            .iter()
            .flat_map(|entry| &entry.objects)
    };
    let answered: BTreeSet<&str> = objects()
        .filter(|object| is_result(object))
        .filter_map(|object| object.tool_call_id.as_deref())
        .collect();
    let mut calls = objects().flat_map(|object| &object.tool_calls);
    let waits = calls.any(|call| !answered.contains(call.id.as_str()));
    waits.then_some(last)
}

fn is_result(object: &ObjectDocument) -> bool {
    object.object_type == Some(ObjectType::ToolResult)
}
