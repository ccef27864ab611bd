//! What is put into a draft whose calls were broken off: providers refuse a call without its result, and a result without
//! its call.

use std::sync::Arc;

use tenure::object::{ObjectType, Provenance, Role, ToolCall};
use tenure::session::{Mended, Step, mended};
use tenure::time::Instant;
use tenure::{ContextObject, Error, ObjectDocument, Target, Unfetched};

use super::Session;
use super::draft::Draft;
use super::draft_inputs::DraftInputs;

/// The result of a call that has none.
const NO_RESULT: &str = "[no result: broken off]";

/// The words over the call of a result that has none.
const NO_CALL: &str = "[the call of this result is not kept]";

/// The tool of a call that is not known.
const UNKNOWN: &str = "unknown";

impl Session {
    /// Returns whether a call has no result, or a result no call.
    pub(crate) fn is_broken(&self, target: Target) -> bool {
        let objects = self.turns.iter().flat_map(|turn| &turn.entry.objects);
        let steps: Vec<Step<'_>> = objects.map(said).collect();
        mended(&steps, target.pairs_by_id()).is_some()
    }

    /// Mends the calls of a draft, and says in its `unfetched` what was missing.
    pub(super) fn mend(&self, how: &DraftInputs<'_>, draft: &mut Draft) -> Result<(), Error> {
        let objects = std::mem::take(&mut draft.objects);
        let steps: Vec<Step<'_>> = objects.iter().map(|object| step(object)).collect();
        let Some(places) = mended(&steps, how.target.pairs_by_id()) else {
            draft.objects = objects;
            return Ok(());
        };
        let mut made = 0;
        for place in places {
            match place {
                Mended::Step(at) => draft.objects.push(Arc::clone(&objects[at])),
                Mended::NoResult { step, call } => {
                    let caller = objects[step].name();
                    made += 1;
                    let document = no_result((caller, made), call, self.said_at(caller));
                    self.add(document, how, draft)?;
                    draft.unfetched.push(Unfetched::new(
                        format!("the result of `{}` that {caller} called", call.name),
                        "the call was broken off",
                    ));
                }
                Mended::NoCall { step, tool } => {
                    let result = &objects[step];
                    made += 1;
                    let id = result.revision().tool_call_id();
                    let document = no_call((result.name(), made), id, tool);
                    self.add(document, how, draft)?;
                    draft.unfetched.push(Unfetched::new(
                        format!("the call that {} answers", result.name()),
                        "the conversation does not hold it",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The instant of the message that an object stands for.
    fn said_at(&self, name: &str) -> Instant {
        let holds = |object: &ObjectDocument| object.name == name;
        let turn = self
            .turns
            .iter()
            .find(|turn| turn.entry.objects.iter().any(holds));
        let message = turn.and_then(|turn| self.message(turn.number).ok());
        message.map_or(Instant::from_micros(0), |message| message.at)
    }
}

fn said(document: &ObjectDocument) -> Step<'_> {
    Step {
        calls: &document.tool_calls,
        answers: document.tool_call_id.as_deref(),
    }
}

/// A result for a call that has none, the `nth` document that is put in.
fn no_result((caller, nth): (&str, usize), call: &ToolCall, at: Instant) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::ToolResult),
        tool_call_id: Some(call.id.clone()),
        provenance: Some(Provenance {
            retrieved_at: Some(at),
            ..Provenance::default()
        }),
        ..ObjectDocument::named(format!("{caller} no result {nth}"), NO_RESULT)
    }
}

/// A call for a result that has none.
fn no_call((result, nth): (&str, usize), id: Option<&str>, tool: Option<&str>) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::Turn),
        role: Some(Role::Assistant),
        tool_calls: vec![ToolCall {
            id: id.unwrap_or_default().to_owned(),
            name: tool.unwrap_or(UNKNOWN).to_owned(),
            arguments: serde_json::Value::Null,
        }],
        ..ObjectDocument::named(format!("{result} no call {nth}"), NO_CALL)
    }
}

fn step(object: &ContextObject) -> Step<'_> {
    let revision = object.revision();
    let is_result = revision.object_type() == ObjectType::ToolResult;
    Step {
        calls: revision.tool_calls(),
        answers: is_result.then(|| revision.tool_call_id().unwrap_or_default()),
    }
}
