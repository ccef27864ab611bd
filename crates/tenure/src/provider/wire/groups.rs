//! The groups of a conversation that cannot be parted: a call with all its results, parallel calls, reasoning with
//! what it led to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Entry;
use crate::object::{ObjectDocument, ObjectType};
use crate::provider::formats::dialect;

/// The groups of a conversation, which together are all of it: each a message of its own, or one
/// that calls tools with the messages that answer it and what stands between them.
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
    // Where each call stands that waits for its result: the latest of that id.
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, entry) in entries.into_iter().enumerate() {
        let results = entry.objects.iter().filter(|object| is_result(object));
        let answered = results.filter_map(|object| open.get(object.tool_call_id.as_deref()?));
        match answered.min() {
            Some(caller) => {
                let first = groups.partition_point(|group| group.end <= *caller);
                groups.truncate(first + 1);
                if let Some(group) = groups.last_mut() {
                    group.end = at + 1;
                }
            }
            None => {
                if !dialect(entry.format).pairs_by_id {
                    open.clear();
                }
                groups.push(at..at + 1);
            }
        }
        for object in &entry.objects {
            if let Some(id) = object.tool_call_id.as_deref() {
                open.remove(id);
            }
            open.extend(object.tool_calls.iter().map(|call| (call.id.as_str(), at)));
        }
    }
    groups
}

/// The last group, where a call in it waits for its result.
pub fn open_chain(entries: &[Entry]) -> Option<Range<usize>> {
    let last = groups(entries).pop()?;
    let objects = || entries[last.clone()].iter().flat_map(|entry| &entry.objects);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::wire::{Format, read};

    #[test]
    fn what_stands_between_a_call_and_its_result_is_of_their_group() {
        let call = |id: &str| {
            format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#)
        };
        let result = |id: &str| {
            format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"x"}}"#)
        };
        let says = r#"{"role":"user","content":"Go on."}"#.to_owned();
        for (items, expected) in [
            (
                vec![
                    says.clone(),
                    call("a"),
                    says.clone(),
                    result("a"),
                    says.clone(),
                ],
                vec![(0, 1), (1, 4), (4, 5)],
            ),
            (
                vec![call("a"), says.clone(), call("b"), result("a"), result("b")],
                vec![(0, 5)],
            ),
            (
                vec![
                    call("a"),
                    says.clone(),
                    call("b"),
                    result("b"),
                    says.clone(),
                    result("a"),
                ],
                vec![(0, 6)],
            ),
            // An id again: the latest call of it is answered.
            (
                vec![
                    call("a"),
                    result("a"),
                    says.clone(),
                    call("a"),
                    says.clone(),
                    result("a"),
                ],
                vec![(0, 2), (2, 3), (3, 6)],
            ),
            (
                vec![call("a"), says.clone(), result("b")],
                vec![(0, 1), (1, 2), (2, 3)],
            ),
        ] {
            let body = format!("[{}]", items.join(","));
            let conversation = read(Format::OpenAiResponses, &body).unwrap();
            let found: Vec<_> = groups(&conversation.entries)
                .iter()
                .map(|group| (group.start, group.end))
                .collect();
            assert_eq!(found, expected, "{body}");
        }
    }
}
