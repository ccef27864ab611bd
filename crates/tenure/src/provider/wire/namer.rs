//! Names the objects of a conversation.

use std::collections::BTreeMap;

use super::parsed::{Parsed, Part};
use super::{Entry, Format, Wire};
use crate::base::digest::Digest;
use crate::object::{ObjectDocument, ObjectType, Protection, ToolCall};

/// The mark between an id that a turn gives to several calls and the number of the call.
const AGAIN: char = '~';

/// Returns whether this id of ours is for what the provider calls so: where it gave none, or one to several calls of a
/// turn, it is not the same.
pub(super) fn stands_for(ours: &str, given: &str) -> bool {
    let number = ours.strip_prefix(given).and_then(|rest| rest.strip_prefix(AGAIN));
    given.is_empty()
        || ours == given
        || number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Names the objects of a conversation, and knows which calls are open.
pub(super) struct Namer {
    /// The number of the history's objects.
    count: usize,
    calls: usize,
    rules: usize,
    /// The calls that wait for their results: id and tool.
    open: Vec<(String, String)>,
}

impl Namer {
    pub(super) fn after(earlier: &[&ObjectDocument]) -> Namer {
        let mut namer = Namer {
            count: earlier.len(),
            calls: 0,
            rules: 0,
            open: Vec::new(),
        };
        for object in earlier {
            namer.calls += object.tool_calls.len();
            match &object.tool_call_id {
                Some(id) => namer.open.retain(|(open, _)| open != id),
                None => namer.called(&object.tool_calls),
            }
        }
        namer
    }

    pub(super) fn is_first(&self) -> bool {
        self.count == 0
    }

    fn called(&mut self, calls: &[ToolCall]) {
        if !calls.is_empty() {
            let open = calls.iter().map(|call| (call.id.clone(), call.name.clone()));
            self.open = open.collect();
        }
    }

    /// A message of the history.
    pub(super) fn entry(&mut self, format: Format, message: String, parsed: Parsed) -> Entry {
        let digest = Digest::of(message.as_bytes());
        let parts = parsed.parts.len() as u32;
        let verbatim = parsed.signed || !parsed.opaque.is_empty();
        let mut objects = Vec::with_capacity(parsed.parts.len());
        for (part, one) in parsed.parts.into_iter().enumerate() {
            let mut object = self.object(one);
            if object.role.is_some() {
                object.said_by.clone_from(&parsed.said_by);
            }
            object.protection = verbatim.then_some(Protection::Verbatim);
            object.wire = Some(Wire {
                digest,
                format,
                message: (part == 0).then(|| message.clone()),
                part: part as u32,
                parts,
            });
            objects.push(object);
        }
        Entry {
            format,
            message,
            objects,
            signed: parsed.signed,
            opaque: parsed.opaque,
            faults: parsed.faults,
        }
    }

    fn object(&mut self, part: Part) -> ObjectDocument {
        self.count += 1;
        match part {
            Part::Turn {
                role,
                text,
                mut calls,
            } => {
                let mut given: BTreeMap<String, u32> = BTreeMap::new();
                for call in &mut calls {
                    self.calls += 1;
                    if call.id.is_empty() {
                        call.id = format!("call-{}", self.calls);
                        continue;
                    }
                    let times = given.entry(call.id.clone()).or_default();
                    *times += 1;
                    if *times > 1 {
                        call.id = format!("{}{AGAIN}{times}", call.id);
                    }
                }
                self.called(&calls);
                ObjectDocument {
                    object_type: Some(ObjectType::Turn),
                    role: Some(role),
                    tool_calls: calls,
                    ..ObjectDocument::named(format!("turn-{:05}", self.count), text)
                }
            }
            Part::Result { id, name, text } => {
                let open = self
                    .open
                    .iter()
                    .position(|(open, tool)| match (&id, &name) {
                        (Some(id), _) if !id.is_empty() => stands_for(open, id),
                        (_, Some(name)) => tool == name,
                        (_, None) => true,
                    })
                    .map(|at| self.open.remove(at).0);
                // A result that answers nothing keeps a name by which it is found to be an orphan.
                let id = open
                    .or(id.filter(|id| !id.is_empty()))
                    .unwrap_or_else(|| format!("no-call-{}", self.count));
                ObjectDocument {
                    object_type: Some(ObjectType::ToolResult),
                    tool_call_id: Some(id),
                    ..ObjectDocument::named(format!("result-{:05}", self.count), text)
                }
            }
        }
    }

    /// Text of the system before the history: a rule of the developer, where it says anything.
    pub(super) fn instruction(&mut self, format: Format, message: String, parsed: Parsed) -> Entry {
        let text = parsed
            .parts
            .iter()
            .map(|part| match part {
                Part::Turn { text, .. } | Part::Result { text, .. } => text.as_str(),
            })
            .collect::<Vec<&str>>()
            .join("\n");
        let mut objects = Vec::new();
        if !text.trim().is_empty() {
            self.rules += 1;
            let name = format!("instructions-{}", self.rules);
            objects.push(ObjectDocument {
                object_type: Some(ObjectType::PolicyRule),
                protection: Some(Protection::Verbatim),
                ..ObjectDocument::named(name, text)
            });
        }
        Entry {
            format,
            message,
            objects,
            signed: parsed.signed,
            opaque: parsed.opaque,
            faults: parsed.faults,
        }
    }
}
