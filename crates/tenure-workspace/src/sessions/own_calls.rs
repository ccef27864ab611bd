//! The calls of Tenure's own tools in a conversation, and what they answered: no passages of it.

use std::collections::BTreeSet;

use tenure::object::{ObjectDocument, ObjectType};

use super::Message;
use super::draft::reads_originals;

/// The name under which clients offer Tenure's tools: a part of what they put before a tool's own.
const TENURE: &str = "tenure";

/// The calls of Tenure's own tools, which repeat what stands elsewhere: no passages.
#[derive(Default)]
pub(super) struct OwnCalls(BTreeSet<String>);

impl OwnCalls {
    /// Notes those that objects of a message make.
    pub(super) fn see(&mut self, objects: &[ObjectDocument]) {
        let own = objects
            .iter()
            .flat_map(|object| &object.tool_calls)
            .filter(|call| is_own(&call.name));
        self.0.extend(own.map(|call| call.id.clone()));
    }

    /// Takes them out of a message, and the results of those before it.
    pub(super) fn leave_out(&mut self, message: &mut Message) {
        self.see(&message.objects);
        message.objects.retain(|object| !self.answers(object));
        for object in &mut message.objects {
            object.tool_calls.retain(|call| !is_own(&call.name));
        }
    }

    /// Returns whether an object is the result of one of them.
    pub(super) fn answers(&self, object: &ObjectDocument) -> bool {
        let call = object.tool_call_id.as_ref();
        object.object_type == Some(ObjectType::ToolResult)
            && call.is_some_and(|call| self.0.contains(call))
    }
}

/// Returns whether a tool is one of Tenure's, as clients name those of a server.
fn is_own(tool: &str) -> bool {
    let mut parts = tool.split(|c: char| !c.is_ascii_alphanumeric());
    reads_originals(tool) || parts.any(|part| part.eq_ignore_ascii_case(TENURE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenures_tools_are_known_by_their_names() {
        for own in [
            "rehydrate",
            "mcp__tenure__search",
            "tenure.rehydrate",
            "Tenure_compile",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in ["search", "read_file", "tenured", "dehydrate"] {
            assert!(!is_own(other), "{other}");
        }
    }
}
