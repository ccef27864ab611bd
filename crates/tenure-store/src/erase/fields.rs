//! The fields of an entry or a record that hold texts. Where a field holds a word of a vocabulary or an id, it stays,
//! even if an erased text was equal to it.

use serde::Deserialize;
use serde_json::Map;
use serde_json::Value;
use std::sync::Arc;
use tenure::object::ObjectId;
use tenure::{ContextObject, ObjectDocument};

/// Fields that hold ids, or who may see what: never rewritten but for ids and digests of what was erased.
const IDS: &[&str] = &[
    "allow_roles",
    "asked",
    "at",
    "author",
    "authorization_scope",
    "canonical_entity_ids",
    "compiled_at",
    "deny_roles",
    "derived_from",
    "digest",
    "frame_key",
    "id",
    "key",
    "known",
    "last_confirmed",
    "last_used",
    "means",
    "mentioned_by",
    "mentions",
    "model",
    "object_id",
    "project",
    "project_id",
    "record_id",
    "record_ids",
    "required",
    "resolved_model",
    "retrieved_at",
    "roles",
    "session",
    "session_id",
    "subjects",
    "supersession_link",
    "tags",
    "task_id",
    "tenant",
    "tenant_id",
    "tokenizer",
    "tool_call_id",
    "trajectory",
    "trajectory_id",
    "tx_end",
    "tx_start",
    "type",
    "user",
    "user_id",
    "valid",
    "valid_from",
    "valid_until",
    "version",
];

/// Fields that hold words of vocabularies. A text with spaces in one of them is a text.
const VOCABULARY: &[&str] = &[
    "applicable_task_types",
    "authority_level",
    "batch",
    "because",
    "cause",
    "class",
    "classification",
    "clearance",
    "code",
    "conflict_policy",
    "context",
    "contradiction_status",
    "count",
    "disguise",
    "ending",
    "ends",
    "equals",
    "explicitness",
    "factor",
    "fell_back",
    "field",
    "floor",
    "form",
    "format",
    "grade",
    "ground",
    "held_by",
    "history",
    "inserted_in_step",
    "interactive",
    "kind",
    "layer",
    "memory_kind",
    "method",
    "metric",
    "modality",
    "mode",
    "object_type",
    "op",
    "order",
    "outcome",
    "pii",
    "polarity",
    "protection",
    "protocol",
    "reason",
    "relation",
    "retirement_rule",
    "rigidity",
    "role",
    "rung",
    "safety_critical",
    "scorer",
    "section",
    "sections",
    "security_classification",
    "slot_cardinality",
    "source_kind",
    "speaker",
    "stage",
    "status",
    "step",
    "strategy",
    "target",
    "task_class",
    "task_position",
    "task_type",
    "timeout_class",
    "unknown",
    "unmanaged",
    "verdict",
    "view",
    "without",
    "zone",
];

/// The kind of value that a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    /// A text.
    Text,
    /// An id.
    Id,
    /// A word of a vocabulary.
    Vocabulary,
    /// A name: it is its object's, and no quotation.
    Name,
    /// A text that may be JSON, and must stay so.
    Json,
    /// An object with fields of its own, each of which is a text: the arguments of a call.
    Arguments,
}

impl Field {
    /// The kind of a field of this name within this one.
    pub(super) fn under(self, key: &str) -> Field {
        match key {
            _ if self == Field::Arguments => Field::Arguments,
            "arguments" => Field::Arguments,
            "messages" => Field::Json,
            "name" => Field::Name,
            _ if IDS.contains(&key) => Field::Id,
            _ if VOCABULARY.contains(&key) => Field::Vocabulary,
            _ => Field::Text,
        }
    }

    /// Returns whether the value of the field stays whatever it says.
    pub(super) fn is_fixed(self, text: &str) -> bool {
        match self {
            Field::Id => true,
            Field::Vocabulary => !text.contains(char::is_whitespace),
            _ => text.starts_with("sha256:") && text.len() == "sha256:".len() + 64,
        }
    }

    /// The value that a text is, where it is looked through by its parts, and what these are.
    pub(super) fn inner(self, text: &str) -> Option<(Value, Field)> {
        let field = match self {
            Field::Json => Field::Text,
            Field::Arguments => Field::Arguments,
            _ => return None,
        };
        Some((parsed(text)?, field))
    }
}

/// The value that a text of JSON is.
pub(super) fn json_of(value: &Value) -> Option<Value> {
    parsed(value.as_str()?)
}

fn parsed(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    (value.is_object() || value.is_array()).then_some(value)
}

/// The id of an object, where this is one: its own, or the one that follows from its name and scope.
pub(super) fn id_of(fields: &Map<String, Value>) -> Option<ObjectId> {
    match fields.get("object_id") {
        Some(id) => id.as_str()?.parse().ok(),
        None if fields.contains_key("content") && fields.contains_key("name") => {
            Some(sealed(fields)?.revision().object_id())
        }
        None => None,
    }
}

pub(super) fn sealed(fields: &Map<String, Value>) -> Option<Arc<ContextObject>> {
    let document = ObjectDocument::deserialize(&Value::Object(fields.clone()));
    document.ok()?.seal_stored().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Notes of every property of a schema whether it can be any text.
    fn properties(value: &Value, of: &Value, found: &mut BTreeMap<String, bool>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| properties(value, of, found)),
            Value::Object(fields) => {
                if let Some(Value::Object(own)) = fields.get("properties") {
                    for (name, schema) in own {
                        if let Some(free) = is_free(schema, of) {
                            *found.entry(name.clone()).or_default() |= free;
                        }
                    }
                }
                fields.values().for_each(|value| properties(value, of, found));
            }
            _ => {}
        }
    }

    /// Returns whether a string of this schema may be any text; `None` where it is not a string.
    fn is_free(schema: &Value, of: &Value) -> Option<bool> {
        let fields = schema.as_object()?;
        if fields.contains_key("enum") || fields.contains_key("const") {
            return fields.get("const").is_none_or(Value::is_string).then_some(false);
        }
        if let Some(name) = fields.get("$ref").and_then(Value::as_str) {
            return is_free(of.pointer(name.trim_start_matches('#'))?, of);
        }
        let kind = fields.get("type");
        if kind.is_some_and(|kind| {
            kind == "string" || kind.as_array().is_some_and(|all| all.contains(&"string".into()))
        }) {
            return Some(!fields.contains_key("format") && !fields.contains_key("pattern"));
        }
        let all = ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|key| fields.get(key)?.as_array())
            .flatten()
            .chain(fields.get("items"));
        all.filter_map(|schema| is_free(schema, of)).reduce(|a, b| a | b)
    }

    #[test]
    fn whatever_the_schemas_keep_to_a_vocabulary_is_no_text() {
        let mut found = BTreeMap::new();
        for schema in ["envelope", "object", "op", "request", "trace"] {
            let path = format!("{}/../../schemas/{schema}.json", env!("CARGO_MANIFEST_DIR"));
            let schema: Value =
                serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            properties(&schema, &schema, &mut found);
        }
        assert!(found.len() > 60, "{found:?}");
        let digests = [
            "candidates",
            "chosen_for",
            "digest",
            "facts",
            "floor_for",
            "input_digest",
            "payload_digest",
            "pointer",
            "policy",
            "request",
            "revision",
            "said",
            "settings",
            "whole",
            "world",
        ];
        for (name, free) in &found {
            let known = Field::Text.under(name);
            if !free && !digests.contains(&name.as_str()) {
                assert!(
                    matches!(known, Field::Id | Field::Vocabulary),
                    "{name} is taken for a text"
                );
            }
            if *free {
                assert_ne!(known, Field::Vocabulary, "{name} may be any text");
            }
        }
    }
}
