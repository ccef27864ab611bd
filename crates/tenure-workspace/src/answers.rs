//! Answers of models, held against the constraints of sources and the request that they answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tenure::answer::{AnswerConstraint, Demands, RequestBody, Source, message};
use tenure::object::ObjectType;
use tenure::section::{Section, section_of};
use tenure::wire::Format;
use tenure::{Candidates, ContextObject, Error};

use crate::bodies::payload;

/// Rules that an answer keeps and breaks.
#[derive(Debug, Serialize)]
pub struct HeldAnswer {
    /// The number of constraints that it was held against.
    pub constraints: usize,
    /// Its faults, by their codes.
    pub faults: Vec<&'static str>,
    /// The constraints that it breaks.
    pub broken: Vec<BrokenConstraint>,
    /// The hard constraints that no machine can check, by name.
    pub unchecked: Vec<String>,
}

/// A constraint that an answer breaks.
#[derive(Debug, Serialize)]
pub struct BrokenConstraint {
    /// Its name.
    pub name: String,
    /// Thing that the answer has, or lacks.
    pub what: String,
}

/// Holds an answer, a provider's or plain text, against the hard constraints among these candidates, and against the
/// request that it answers. `source` is the name of the answer in errors.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is no answer of the format that is named.
pub fn check_answer(
    answer: &str,
    source: &str,
    format: Option<Format>,
    request: Option<&str>,
    candidates: &Candidates,
) -> Result<HeldAnswer, Error> {
    let body = request.map(|request| payload(request).unwrap_or(request));
    let seems = || body.and_then(Format::detect).or_else(|| format_of(answer));
    let said = match format.or_else(seems).filter(|_| is_message(answer)) {
        Some(format) => {
            let message = message(format, answer.as_bytes());
            (format, message.map_err(|error| error.or_at(source, None))?)
        }
        None => {
            let text = json!({ "role": "assistant", "content": answer });
            (Format::OpenAiChat, text.to_string())
        }
    };
    let mut constraints = Vec::new();
    let mut unchecked = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    for object in candidates.objects() {
        match AnswerConstraint::of(object, true) {
            Some(constraint) => constraints.push(Arc::new(constraint)),
            None if is_unchecked(object) => unchecked.push(object.name().to_owned()),
            None => sources.extend(cited_by(object)),
        }
    }
    let request = body.map(|body| RequestBody::demands(body.as_bytes()));
    let (format, message) = said;
    let found = Demands {
        format,
        request: &request.unwrap_or_default(),
        constraints: &constraints,
        sources: &sources,
        relaxed: &[],
        left_out: &BTreeMap::new(),
    }
    .check(&message);
    let broken = found.broken.into_iter().map(|broken| BrokenConstraint {
        name: broken.constraint.name.clone(),
        what: broken.what,
    });
    Ok(HeldAnswer {
        constraints: constraints.len(),
        faults: found.faults.iter().map(|fault| fault.term()).collect(),
        broken: broken.collect(),
        unchecked,
    })
}

/// Returns the names by which an answer may cite an object; none of what is no evidence and no document.
pub fn cited_by(object: &ContextObject) -> Option<Source> {
    let revision = object.revision();
    let is_source = matches!(
        section_of(revision),
        Section::Evidence | Section::Codex | Section::Recall
    );
    if !is_source {
        return None;
    }
    let id = revision.provenance().and_then(|found| found.source_id.as_deref());
    let names = std::iter::once(object.name()).chain(id);
    Some(names.map(Arc::from).collect())
}

/// Returns whether it is a hard constraint that no machine can check.
fn is_unchecked(object: &ContextObject) -> bool {
    let revision = object.revision();
    let states = revision.constraint().is_some()
        || revision.object_type() == ObjectType::ActionableConstraint;
    states && revision.is_hard_constraint() && !revision.has_validator()
}

/// Returns whether a text is what a provider answers with, whole or streamed, and not what a model says.
fn is_message(answer: &str) -> bool {
    let answer = answer.trim_start();
    let streams = ["data:", "event:", ":"].iter().any(|start| answer.starts_with(start));
    streams || format_of(answer).is_some()
}

/// Returns the format of a provider's answer that is there whole.
fn format_of(answer: &str) -> Option<Format> {
    let value: Value = serde_json::from_str(answer).ok()?;
    if value["choices"].is_array() {
        Some(Format::OpenAiChat)
    } else if value["object"] == "response" || value["output"].is_array() {
        Some(Format::OpenAiResponses)
    } else if value["type"] == "message" && value["content"].is_array() {
        Some(Format::Anthropic)
    } else if value["candidates"].is_array() {
        Some(Format::Gemini)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::ObjectDocument;

    fn candidates(documents: Value) -> Candidates {
        let documents: Vec<ObjectDocument> = serde_json::from_value(documents).unwrap();
        let objects = documents.into_iter().map(|document| document.seal().unwrap());
        Candidates::new(objects.collect())
    }

    fn rules() -> Candidates {
        let constraint = |name: &str, constraint: Value| json!({ "name": name, "content": "As it says.", "object_type": "actionable_constraint", "constraint": constraint });
        let schema = json!({ "type": "object", "required": ["at"], "properties": { "at": { "type": "string" } } });
        candidates(json!([
            constraint("no-keys", json!({ "rigidity": "hard", "polarity": "negative", "patterns": ["sk-[a-z0-9]{8,}"] })),
            constraint("shape", json!({ "rigidity": "hard", "schema": schema })),
            constraint("cites", json!({ "rigidity": "hard", "must_cite": 1 })),
            constraint("polite", json!({ "rigidity": "hard" })),
            { "name": "gauge", "content": "The gauge reads pascal.", "object_type": "retrieved_passage",
              "provenance": { "source_id": "manual-3", "retrieved_at": "2026-05-01" } },
        ]))
    }

    #[test]
    fn an_answer_is_told_what_it_breaks_and_how() {
        let broken = |answer: &str| {
            let held = check_answer(answer, "answer", None, None, &rules()).unwrap();
            assert_eq!(
                (held.constraints, held.unchecked),
                (3, vec!["polite".to_owned()])
            );
            held.broken
                .into_iter()
                .map(|broken| format!("{}: {}", broken.name, broken.what))
                .collect::<Vec<_>>()
        };
        assert_eq!(broken(r#"{"at":"manual-3"}"#), Vec::<String>::new());
        assert_eq!(
            broken("The key is sk-0123456789."),
            [
                "no-keys: it matches `sk-[a-z0-9]{8,}`, which is forbidden",
                "shape: it is no JSON",
                "cites: it names 0 of its sources, and must name 1",
            ]
        );
        assert_eq!(
            broken(r#"{"at":1,"by":"gauge"}"#),
            ["shape: by its schema, `/at` is not of type string"]
        );
        // A longer word is no citation.
        assert_eq!(
            broken(r#"{"at":"manual-35 gauges"}"#),
            ["cites: it names 0 of its sources, and must name 1"]
        );
        let body = json!({ "choices": [{ "message": { "role": "assistant", "content": "{\"at\":\"manual-3\"}" } }] });
        assert_eq!(broken(&body.to_string()), Vec::<String>::new());
    }

    #[test]
    fn an_answer_is_held_against_its_request() {
        let request = json!({ "model": "gpt-4o", "messages": [], "response_format": { "type": "json_object" } });
        let of = |answer: &str| {
            let held = check_answer(
                answer,
                "answer",
                None,
                Some(&request.to_string()),
                &Candidates::new(Vec::new()),
            );
            held.unwrap().faults
        };
        assert_eq!(of("Warm."), ["response_schema"]);
        assert_eq!(of("{}"), Vec::<&str>::new());
    }
}
