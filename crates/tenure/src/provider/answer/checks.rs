//! An answer checked against its request: the tools that it offers, the text that it asks for, the constraints that
//! stand in it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::relax::{Nullable, relax};
use super::schema::Steps;
use super::{OutputFault, RequestBody};
use crate::base::text::clip;
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
    /// None where it is one too many, or its validators are too large.
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
            .filter(|constraint| constraint.has_validator())?;
        let check = is_checked.then(|| constraint.answer_check().ok().flatten());
        Some(AnswerConstraint {
            id: revision.object_id(),
            name: object.name().to_owned(),
            check: check.flatten(),
        })
    }

    /// Returns whether it asks answers to name sources.
    pub fn must_cite(&self) -> bool {
        self.check.as_ref().is_some_and(|check| check.must_cite() > 0)
    }

    /// Returns the schema that it asks answers to be of.
    pub fn schema(&self) -> Option<&Value> {
        self.check.as_ref()?.schema()
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
    /// The evidence and documents that stand in it, each by the names that an answer may cite it by.
    pub sources: &'r [Source],
    /// The fields of the answer's schema that may be null though the request does not say so: it was sent relaxed.
    pub relaxed: &'r [String],
    /// The tools of the request that the model was not offered, each with the code of the reason.
    pub left_out: &'r BTreeMap<String, &'static str>,
}

/// A piece of evidence, or a document, by the names that an answer may cite it by.
pub type Source = Vec<Arc<str>>;

/// A constraint that an answer breaks.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The constraint.
    pub constraint: Arc<AnswerConstraint>,
    /// The words for what the answer has, or lacks.
    pub what: String,
}

/// The faults found in an answer.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    /// Each fault once, in the order of [`OutputFault::ALL`].
    pub faults: Vec<OutputFault>,
    /// The constraints that it breaks.
    pub broken: Vec<Broken>,
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
            (broken, is_checked) = self.broken(&answer, &mut steps);
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
            Shape::Schema(schema) => match self.relaxed(schema) {
                Some(relaxed) => steps.takes(&relaxed, &value),
                None => steps.takes(schema, &value),
            },
        })
    }

    /// Returns the schema as it was sent, where it was sent relaxed.
    fn relaxed(&self, schema: &Value) -> Option<Value> {
        if self.relaxed.is_empty() {
            return None;
        }
        let relaxed = relax(schema, Nullable::Type, &mut |path, _| {
            !self.relaxed.iter().any(|known| known == path)
        });
        relaxed.ok().map(|relaxed| relaxed.schema)
    }

    fn shape(&self) -> Option<Shape<'r>> {
        shape(self.format, self.request)
    }

    /// Returns the constraints that an answer breaks, and whether all of it was checked against all of them.
    fn broken(&self, answer: &Answer<'_>, steps: &mut Steps) -> (Vec<Broken>, bool) {
        let excerpt = answer.excerpt(MAX_CHECKED);
        let mut is_checked = excerpt.is_whole;
        let mut left = MAX_WORK;
        let mut broken = Vec::new();
        // What must be said is said at the end.
        let is_said = answer.is_final() && !answer.refuses;
        let said = excerpt.texts.get(..excerpt.said).unwrap_or_default();
        for constraint in self.constraints {
            let Some(check) = &constraint.check else {
                is_checked = false;
                continue;
            };
            let mut breaks = |what: String| {
                broken.push(Broken {
                    constraint: Arc::clone(constraint),
                    what,
                });
            };
            if is_said {
                if let Some(schema) = check.schema()
                    && let Some(what) = of_schema(schema, &answer.last_text(), steps)
                {
                    breaks(what);
                    continue;
                }
                is_checked &= check.schema().is_none() || !steps.are_used_up();
                let texts = said.iter().map(|text| &**text);
                if let Some(what) = uncited(check.must_cite(), self.sources, texts) {
                    breaks(what);
                    continue;
                }
            }
            let texts = match check.polarity() {
                Polarity::Positive if !is_said => continue,
                Polarity::Positive => said,
                _ => &excerpt.texts,
            };
            let size: usize = texts.iter().map(|text| text.len() + TEXT).sum();
            let Some(rest) = left.checked_sub(size.saturating_mul(check.size())) else {
                is_checked = false;
                continue;
            };
            left = rest;
            let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
            if let Some(pattern) = check.broken_pattern(&texts) {
                let pattern = clip(pattern);
                breaks(match check.polarity() {
                    Polarity::Positive => format!("nothing in it matches `{pattern}`"),
                    _ => format!("it matches `{pattern}`, which is forbidden"),
                });
            }
        }
        (broken, is_checked)
    }
}

fn shape(format: Format, request: &RequestBody) -> Option<Shape<'_>> {
    let replies = dialect(format).replies.as_ref()?;
    let asked = (replies.response_format)(request.value());
    let named = asked.get("json_schema").unwrap_or(asked);
    match asked["type"].as_str()? {
        "json_object" => Some(Shape::Object),
        "json_schema" => named.get("schema").map(Shape::Schema),
        _ => None,
    }
}

/// The form that a request asks its answer to have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum AskedForm<'r> {
    /// Nothing.
    Any,
    /// That it is a JSON object, or something that is not read.
    Other,
    /// A JSON Schema.
    Schema(&'r Value),
}

impl RequestBody {
    /// Returns what it says of the form of its answer.
    pub fn asked_form(&self, format: Format) -> AskedForm<'_> {
        match shape(format, self) {
            Some(Shape::Schema(schema)) => AskedForm::Schema(schema),
            Some(Shape::Object) => AskedForm::Other,
            None => {
                let replies = dialect(format).replies.as_ref();
                let asked = replies.map(|replies| (replies.response_format)(self.value()));
                match asked {
                    Some(asked) if asked.is_null() || asked["type"] == "text" => AskedForm::Any,
                    _ => AskedForm::Other,
                }
            }
        }
    }
}

/// Returns why a text is not what a schema asks for.
fn of_schema(schema: &Value, text: &str, steps: &mut Steps) -> Option<String> {
    match serde_json::from_str::<Value>(text) {
        Ok(value) => Some(format!("by its schema, {}", steps.fault(schema, &value)?)),
        Err(_) => Some("it is no JSON".to_owned()),
    }
}

/// Returns why texts name too few of the sources; where fewer stand than are asked for, all of them are.
fn uncited<'t>(
    least: u32,
    sources: &[Source],
    texts: impl Iterator<Item = &'t str> + Clone,
) -> Option<String> {
    let least = (least as usize).min(sources.len());
    if least == 0 {
        return None;
    }
    let named = sources
        .iter()
        .filter(|source| source.iter().any(|name| texts.clone().any(|text| names(text, name))))
        .take(least)
        .count();
    (named < least).then(|| format!("it names {named} of its sources, and must name {least}"))
}

/// Returns whether a text has a name that is no part of a longer word.
fn names(text: &str, name: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            !is_word(before.chars().next_back()) && !is_word(after.chars().next())
        })
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
