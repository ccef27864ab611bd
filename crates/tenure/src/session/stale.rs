//! Results of tools that no longer say how things are: the first to go.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::object::ToolCall;

/// A part of a conversation, as far as calls of tools go.
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    /// The calls in it.
    pub calls: &'s [ToolCall],
    /// The call that it answers, where it is a result.
    pub answers: Option<&'s str>,
}

/// The step that took the place of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Superseded {
    /// The step of the later result.
    pub by: usize,
    /// True if the later call changed what this one had read; else it was the same call again.
    pub changed: bool,
}

/// The names of arguments that say what is read or written.
pub(super) const PLACES: [&str; 11] = [
    "path",
    "file",
    "file_path",
    "filepath",
    "filename",
    "file_name",
    "target_file",
    "notebook_path",
    "uri",
    "url",
    "relative_path",
];
/// The words in the names of tools that change what they are given.
const CHANGES: [&str; 14] = [
    "append", "apply", "create", "delete", "edit", "insert", "modify", "move", "patch", "remove",
    "rename", "replace", "update", "write",
];

/// A call that a result answered.
struct Called<'s> {
    name: &'s str,
    arguments: Value,
}

impl Called<'_> {
    fn changes(&self) -> bool {
        changes(self.name)
    }

    fn places(&self) -> impl Iterator<Item = &str> {
        PLACES
            .iter()
            .filter_map(|name| self.arguments.get(name))
            .filter_map(Value::as_str)
    }
}

/// Returns whether a tool of this name changes what it is given.
pub(super) fn changes(name: &str) -> bool {
    has_word(name, &CHANGES)
}

/// Returns whether one of these is a word of a tool's name: `multi_edit`, `editFile` and `MultiEdit` have `edit`,
/// neither `credit` nor `edits` does.
pub(super) fn has_word(name: &str, words: &[&str]) -> bool {
    let mut word = String::new();
    let mut lower = false;
    for c in name.chars().chain([' ']) {
        if !c.is_ascii_alphanumeric() || (lower && c.is_ascii_uppercase()) {
            if words.contains(&word.as_str()) {
                return true;
            }
            word.clear();
        }
        lower = c.is_ascii_lowercase();
        if c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        }
    }
    false
}

/// Returns the step that took the place of each step, where it is a result and one did: the next result of a call of
/// the same tool with the same arguments; or, for a tool that only reads, of a call that changes the file or address
/// which it had read, as the names of tools and arguments tell.
///
/// ```
/// use tenure::object::ToolCall;
/// use tenure::session::{Step, Superseded, superseded};
/// let call = |id: &str, name: &str| ToolCall {
///     id: id.into(),
///     name: name.into(),
///     arguments: serde_json::json!({ "path": "pump.rs" }),
/// };
/// let (read, edit) = ([call("c1", "read_file")], [call("c2", "edit_file")]);
/// let calls = |calls| Step { calls, answers: None };
/// let result = |id| Step { calls: &[], answers: Some(id) };
/// let found = superseded([calls(&read), result("c1"), calls(&edit), result("c2")]);
/// assert_eq!(found[1], Some(Superseded { by: 3, changed: true }));
/// assert_eq!(found[3], None);
/// ```
pub fn superseded<'s>(steps: impl IntoIterator<Item = Step<'s>>) -> Vec<Option<Superseded>> {
    let mut calls: Vec<Called<'s>> = Vec::new();
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    let mut answered: Vec<Option<usize>> = Vec::new();
    for step in steps {
        for call in step.calls {
            // Arguments that differ only in the order of their keys are the same.
            let text = call.arguments.as_str();
            let parsed = text.and_then(|text| serde_json::from_str(text).ok());
            by_id.insert(&call.id, calls.len());
            calls.push(Called {
                name: &call.name,
                arguments: parsed.unwrap_or_else(|| call.arguments.clone()),
            });
        }
        answered.push(step.answers.and_then(|id| by_id.get(id).copied()));
    }
    let mut again: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut changed: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = vec![None; answered.len()];
    for (at, answered) in answered.iter().enumerate().rev() {
        let Some(call) = answered.map(|call| &calls[call]) else {
            continue;
        };
        let changes = call.changes();
        let repeated = again.insert((call.name, call.arguments.to_string()), at);
        let touched = call
            .places()
            .filter(|_| !changes)
            .filter_map(|place| changed.get(place).copied())
            .min();
        found[at] = match (repeated, touched) {
            (Some(by), _) => Some(Superseded { by, changed: false }),
            (None, Some(by)) => Some(Superseded { by, changed: true }),
            (None, None) => None,
        };
        if changes {
            changed.extend(call.places().map(|place| (place, at)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The steps of calls, each answered at once: the results are at the odd places.
    fn of(calls: &[(&str, Value)]) -> Vec<Option<Superseded>> {
        let calls: Vec<[ToolCall; 1]> = calls
            .iter()
            .enumerate()
            .map(|(at, (name, arguments))| {
                [ToolCall {
                    id: format!("c{at}"),
                    name: (*name).into(),
                    arguments: arguments.clone(),
                }]
            })
            .collect();
        let steps = calls.iter().flat_map(|call| {
            let called = Step {
                calls: call,
                answers: None,
            };
            let result = Step {
                calls: &[],
                answers: Some(&call[0].id),
            };
            [called, result]
        });
        superseded(steps).into_iter().skip(1).step_by(2).collect()
    }

    #[test]
    fn the_same_call_again_takes_the_place_of_the_first() {
        let (one, other) = (json!({ "tank": 1, "unit": "bar" }), json!({ "tank": 2 }));
        let text = json!("{\"unit\": \"bar\", \"tank\": 1}");
        let found = of(&[
            ("level", one.clone()),
            ("level", other),
            ("level", text),
            ("flow", one),
        ]);
        let by = |by| Some(Superseded { by, changed: false });
        assert_eq!(found, [by(5), None, None, None]);
    }

    #[test]
    fn what_is_written_is_no_longer_as_it_was_read() {
        let file = |name: &str| json!({ "file_path": name, "limit": 3 });
        let path = |name: &str| json!({ "path": name });
        let found = of(&[
            ("Read", file("a.rs")),
            ("Read", file("b.rs")),
            ("str_replace_edit", path("a.rs")),
            ("read_credit", path("a.rs")),
            ("list_updates", path("a.rs")),
            ("writeFile", path("a.rs")),
            ("Read", file("a.rs")),
        ]);
        let by = |by, changed| Some(Superseded { by, changed });
        let old = by(11, true);
        assert_eq!(found, [by(13, false), None, None, old, old, None, None]);
        // Another file, no file, and arguments that are no object change nothing.
        let found = of(&[
            ("Read", file("a.rs")),
            ("write", json!(["a.rs"])),
            ("write", json!("a.rs")),
        ]);
        assert_eq!(found, [None; 3]);
        assert!(superseded([]).is_empty());
    }
}
