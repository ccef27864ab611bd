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

/// The words over a call that stands once more, for its late result. What was sent stays as it was sent, and a second
/// result of one call is legal nowhere: a call of its own is the one form that every target takes, keeps the words a
/// result of a tool, and needs no epoch to end.
const LATE: &str = "[the same call: its result came late]";

/// The words over the call of a result that has none.
const NO_CALL: &str = "[the call of this result is not kept]";

/// The tool of a call that is not known.
const UNKNOWN: &str = "unknown";

impl Session {
    /// Returns whether a call has no result, or a result no call.
    pub(crate) fn is_broken(&self, target: Target) -> bool {
        let objects = self.turns.iter().flat_map(|turn| &turn.entry.objects);
        let steps: Vec<Step<'_>> = objects.clone().map(said).collect();
        let sent = self.sent_among(objects.map(|object| &*object.name));
        mended(&steps, &sent, target.pairs_by_id()).is_some()
    }

    /// Mends the calls of a draft, and says in its `unfetched` what was missing.
    pub(super) fn mend(
        &self,
        how: &DraftInputs<'_>,
        ends: bool,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let objects = std::mem::take(&mut draft.objects);
        let steps: Vec<Step<'_>> = objects.iter().map(|object| step(object)).collect();
        let mut sent = self.sent_among(objects.iter().map(|object| object.name()));
        if ends {
            sent.clear();
        }
        let Some(places) = mended(&steps, &sent, how.target.pairs_by_id()) else {
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
                Mended::Late { step, call } => {
                    let result = objects[step].name();
                    made += 1;
                    self.add(calls((result, made), call.clone(), LATE), how, draft)?;
                    draft.unfetched.push(Unfetched::new(
                        format!("{result} behind its call"),
                        "the call was sent before its result came",
                    ));
                }
                Mended::NoCall { step, tool } => {
                    let result = &objects[step];
                    made += 1;
                    let id = result.revision().tool_call_id();
                    let call = ToolCall {
                        id: id.unwrap_or_default().to_owned(),
                        name: tool.unwrap_or(UNKNOWN).to_owned(),
                        arguments: serde_json::Value::Null,
                    };
                    self.add(calls((result.name(), made), call, NO_CALL), how, draft)?;
                    draft.unfetched.push(Unfetched::new(
                        format!("the call that {} answers", result.name()),
                        "the conversation does not hold it",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The places, among the objects of these names, of the first parts of messages behind this epoch's requests.
    fn sent_among<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<usize> {
        let mut served = self.served.iter().map(|(at, _)| *at).peekable();
        let mut sent = Vec::new();
        for (place, name) in names.enumerate() {
            let turn = name
                .strip_prefix('t')
                .and_then(|name| name.split_once('.'))
                .and_then(|(turn, _)| turn.parse::<u64>().ok());
            while served.next_if(|at| turn.is_some_and(|turn| *at < turn)).is_some() {
                sent.push(place);
            }
        }
        sent
    }

    /// The instant of the message that an object stands for.
    fn said_at(&self, name: &str) -> Instant {
        self.turns
            .iter()
            .find(|turn| turn.entry.objects.iter().any(|object| object.name == name))
            .and_then(|turn| self.message(turn.number).ok())
            .map_or(Instant::from_micros(0), |message| message.at)
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

/// A call for a result, the `nth` document that is put in, with words over it.
fn calls((result, nth): (&str, usize), call: ToolCall, words: &str) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::Turn),
        role: Some(Role::Assistant),
        tool_calls: vec![call],
        ..ObjectDocument::named(format!("{result} no call {nth}"), words)
    }
}

fn said(document: &ObjectDocument) -> Step<'_> {
    Step {
        calls: &document.tool_calls,
        answers: document.tool_call_id.as_deref(),
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
