//! What is put into a draft whose calls were broken off: providers refuse a call without its result, and a result without
//! its call.

use std::sync::Arc;

use tenure::object::{ObjectType, Provenance, Role, ToolCall};
use tenure::session::{Mended, Step, mended};
use tenure::time::Instant;
use tenure::{ContextObject, Error, ObjectDocument, Unfetched};

use super::Session;
use super::draft::Draft;
use super::draft_inputs::DraftInputs;

/// The result of a call that has none.
const NO_RESULT: &str = "[no result: broken off]";

/// The words over the call of a result that has none.
const NO_CALL: &str = "[the call of this result is not kept]";

/// The tool of a call that nobody knows.
const UNKNOWN: &str = "unknown";

impl Session {
    /// Mends the calls of a draft, and says in its `unfetched` what was missing.
    pub(super) fn mend(&self, how: &DraftInputs<'_>, draft: &mut Draft) -> Result<(), Error> {
        let objects = std::mem::take(&mut draft.objects);
        let steps: Vec<Step<'_>> = objects.iter().map(|object| step(object)).collect();
        let Some(places) = mended(&steps, how.target.pairs_by_id()) else {
            draft.objects = objects;
            return Ok(());
        };
        let (mut broken, mut lost) = (0, 0);
        for place in places {
            match place {
                Mended::Step(at) => draft.objects.push(Arc::clone(&objects[at])),
                Mended::NoResult { step, call } => {
                    broken += 1;
                    let caller = objects[step].name();
                    let mut document =
                        ObjectDocument::named(format!("{caller} no result {broken}"), NO_RESULT);
                    document.object_type = Some(ObjectType::ToolResult);
                    document.tool_call_id = Some(call.id.clone());
                    document.provenance = Some(Provenance {
                        retrieved_at: Some(self.said_at(caller)),
                        ..Provenance::default()
                    });
                    self.add(document, how, draft)?;
                    draft.unfetched.push(Unfetched::new(
                        format!("the result of `{}` that {caller} called", call.name),
                        "the call was broken off",
                    ));
                }
                Mended::NoCall { step, tool } => {
                    lost += 1;
                    let result = &objects[step];
                    let id = result.revision().tool_call_id().unwrap_or_default();
                    let mut document =
                        ObjectDocument::named(format!("{} no call {lost}", result.name()), NO_CALL);
                    document.object_type = Some(ObjectType::Turn);
                    document.role = Some(Role::Assistant);
                    document.tool_calls = vec![ToolCall {
                        id: id.to_owned(),
                        name: tool.unwrap_or(UNKNOWN).to_owned(),
                        arguments: serde_json::Value::Null,
                    }];
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

fn step(object: &ContextObject) -> Step<'_> {
    let revision = object.revision();
    let is_result = revision.object_type() == ObjectType::ToolResult;
    Step {
        calls: revision.tool_calls(),
        answers: is_result.then(|| revision.tool_call_id().unwrap_or_default()),
    }
}
