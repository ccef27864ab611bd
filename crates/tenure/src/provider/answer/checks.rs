//! An answer checked against its request: the tools that it offers, the text that it asks for, the constraints that
//! stand in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::schema::Steps;
use super::{OutputFault, RequestBody};
use crate::object::{AnswerCheck, Authority, ContextObject, ObjectId, Polarity};
use crate::provider::formats::dialect;
use crate::provider::wire::Format;
use crate::provider::wire::answer::Answer;

/// The most of one answer that is checked against constraints, in bytes.
pub(super) const MAX_CHECKED: usize = 256 << 10;
/// The most work that checking one answer against constraints is worth: bytes of texts times bytes of compiled
/// patterns. A fraction of a second.
pub(super) const MAX_WORK: usize = 2 << 30;
/// The cost of a text besides its bytes.
const TEXT: usize = 64;

/// A hard constraint that answers are checked against.
#[derive(Debug)]
pub struct AnswerConstraint {
    /// The object that states it.
    pub id: ObjectId,
    /// Its name.
    pub name: String,
    /// None where it is one too many, or its patterns are too large.
    check: Option<AnswerCheck>,
}

impl AnswerConstraint {
    /// Returns the constraint that an object puts on every answer; none where a machine cannot check it. Where it is
    /// not to be checked, its patterns are not compiled.
    pub fn of(object: &ContextObject, is_checked: bool) -> Option<AnswerConstraint> {
        let revision = object.revision();
        let commands = revision.authority_level() != Authority::Data;
        let constraint = revision
            .constraint()
            .filter(|_| commands && revision.is_hard_constraint())
            .filter(|constraint| !constraint.patterns.is_empty())?;
        let check = is_checked.then(|| constraint.answer_check().ok().flatten());
        Some(AnswerConstraint {
            id: revision.object_id(),
            name: object.name().to_owned(),
            check: check.flatten(),
        })
    }

    /// Returns the size of its compiled patterns, in bytes.
    #[cfg(test)]
    pub(super) fn size(&self) -> Option<usize> {
        self.check.as_ref().map(AnswerCheck::size)
    }
}

/// The demands that an answer must meet.
#[derive(Clone, Copy, Debug)]
pub struct Demands<'r> {
    /// The format of the request.
    pub format: Format,
    /// The request, or the fields of it that say what the answer must be.
    pub request: &'r RequestBody,
    /// The constraints that stand in it.
    pub constraints: &'r [Arc<AnswerConstraint>],
    /// The tools of the request that the model was not offered, each with the code of the reason.
    pub left_out: &'r BTreeMap<String, &'static str>,
}

/// The faults found in an answer.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    /// Each fault once, in the order of [`OutputFault::ALL`].
    pub faults: Vec<OutputFault>,
    /// The constraints that it breaks.
    pub broken: Vec<Arc<AnswerConstraint>>,
}

/// The JSON that the text of an answer must be.
enum Shape<'r> {
    Object,
    Schema(&'r Value),
}

impl<'r> Demands<'r> {
    /// Checks a message; of the responses format the items of a turn, with commas between.
    pub fn check(&self, message: &str) -> Findings {
        let Ok(messages) = serde_json::from_str::<Value>(&format!("[{message}]")) else {
            // It is nested too deep to be read.
            let unchecked = Some(OutputFault::ConstraintUnchecked);
            let faults = unchecked.filter(|_| !self.constraints.is_empty());
            return Findings {
                faults: faults.into_iter().collect(),
                broken: Vec::new(),
            };
        };
        let replies = dialect(self.format).replies.as_ref();
        let answer = replies.map_or_else(Answer::default, |replies| {
            Answer::read(&messages, replies.read)
        });
        let mut steps = Steps::default();
        let mut faults = BTreeSet::new();
        self.check_calls(&answer, &mut steps, &mut faults);
        if self.lacks_shape(&answer, &mut steps) {
            faults.insert(OutputFault::ResponseSchema);
        }
        let mut broken = Vec::new();
        if !self.constraints.is_empty() {
            let is_checked;
            (broken, is_checked) = self.broken(&answer);
            if !broken.is_empty() {
                faults.insert(OutputFault::ConstraintBroken);
            }
            if !is_checked {
                faults.insert(OutputFault::ConstraintUnchecked);
            }
        }
        Findings {
            faults: faults.into_iter().collect(),
            broken,
        }
    }

    /// Adds the faults of the calls: whether each was offered and says what the tool's schema demands, and whether the
    /// forced one is there.
    fn check_calls(
        &self,
        answer: &Answer<'_>,
        steps: &mut Steps,
        faults: &mut BTreeSet<OutputFault>,
    ) {
        let tools = self.request.offered();
        if self.request.names_all_tools(&tools) {
            for (name, arguments) in &answer.calls {
                if self.left_out.contains_key(*name) {
                    faults.insert(OutputFault::ToolLeftOut);
                }
                faults.extend(fault_of_call(&tools, name, arguments, steps));
            }
        }
        let is_called = |name: Option<&str>| match name {
            Some(name) => answer.called.contains(&name),
            None => !answer.called.is_empty(),
        };
        let forced = self.request.forced_tool().filter(|_| !answer.refuses);
        if forced.is_some_and(|name| !is_called(name)) {
            faults.insert(OutputFault::ToolNotCalled);
        }
    }

    /// Returns whether the text is not the JSON that the request asks for. A call, or a refusal, comes before it.
    fn lacks_shape(&self, answer: &Answer<'_>, steps: &mut Steps) -> bool {
        let Some(shape) = self.shape() else {
            return false;
        };
        if !answer.is_final() || answer.refuses {
            return false;
        }
        let value = serde_json::from_str::<Value>(&answer.last_text());
        !value.is_ok_and(|value| match shape {
            Shape::Object => value.is_object(),
            Shape::Schema(schema) => steps.takes(schema, &value),
        })
    }

    fn shape(&self) -> Option<Shape<'r>> {
        let request = self.request.value();
        let replies = dialect(self.format).replies.as_ref()?;
        let asked = (replies.response_format)(request);
        let named = asked.get("json_schema").unwrap_or(asked);
        match asked["type"].as_str()? {
            "json_object" => Some(Shape::Object),
            "json_schema" => named.get("schema").map(Shape::Schema),
            _ => None,
        }
    }

    /// Returns the constraints that an answer breaks, and whether all of it was checked against all of them.
    fn broken(&self, answer: &Answer<'_>) -> (Vec<Arc<AnswerConstraint>>, bool) {
        let excerpt = answer.excerpt(MAX_CHECKED);
        let mut is_checked = excerpt.is_whole;
        let mut left = MAX_WORK;
        let mut broken = Vec::new();
        for constraint in self.constraints {
            let Some(check) = &constraint.check else {
                is_checked = false;
                continue;
            };
            // What must be said is said at the end.
            let texts = match check.polarity() {
                Polarity::Positive if !answer.is_final() || answer.refuses => continue,
                Polarity::Positive => excerpt.texts.get(..excerpt.said).unwrap_or_default(),
                _ => &excerpt.texts,
            };
            let size: usize = texts.iter().map(|text| text.len() + TEXT).sum();
            let Some(rest) = left.checked_sub(size.saturating_mul(check.size())) else {
                is_checked = false;
                continue;
            };
            left = rest;
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            if !check.is_kept_by(&texts) {
                broken.push(Arc::clone(constraint));
            }
        }
        (broken, is_checked)
    }
}

/// Returns the fault of a call, if it has one.
fn fault_of_call(
    tools: &BTreeMap<&str, Option<&Value>>,
    name: &str,
    arguments: &Value,
    steps: &mut Steps,
) -> Option<OutputFault> {
    let Some(schema) = tools.get(name) else {
        return Some(OutputFault::ToolNotOffered);
    };
    if !arguments.is_object() {
        return Some(OutputFault::ArgumentsNoObject);
    }
    let is_taken = schema.is_none_or(|schema| steps.takes(schema, arguments));
    (!is_taken).then_some(OutputFault::ArgumentsSchema)
}
