//! Schemas of answers that force nothing to be made up: what a required field asks for may be `null` where nothing that
//! the model is given speaks of it.
//!
//! The field stays required, so that providers that demand it of all fields take the schema; only its type grows. What an
//! answer does say of it is held to what the original schema says: the relaxed one takes that or `null`, and nothing else.

use serde_json::{Map, Value, json};

use crate::base::error::Error;
use crate::rank::ranker::each_term;

/// The longest schema of an answer that is relaxed, in bytes of JSON.
const MAX_RELAXED: usize = 1 << 18;
/// The depth to which its fields are followed.
const DEPTH: usize = 16;
/// The most fields that are looked at.
const MAX_FIELDS: usize = 1_000;

/// A relaxed schema.
#[derive(Clone, PartialEq, Debug)]
pub struct Relaxed {
    /// The schema.
    pub schema: Value,
    /// The fields that may be null, each as the path of names to it, `*` for the items of a list, parted by `/`.
    pub fields: Vec<String>,
}

/// The way in which a format says that a field may be null.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nullable {
    /// `null` joins the type.
    Type,
    /// A keyword beside the type, as OpenAPI has it.
    Keyword,
}

/// Relaxes a schema where a required field has no support.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no mapping, or too large.
///
/// ```
/// use serde_json::json;
/// use tenure::answer::{Nullable, relax};
/// let schema = json!({ "type": "object", "required": ["pressure"], "properties": { "pressure": { "type": "number" } } });
/// let relaxed = relax(&schema, Nullable::Type, &mut |_, _| false)?;
/// assert_eq!(relaxed.fields, ["pressure"]);
/// assert_eq!(relaxed.schema["properties"]["pressure"]["type"], json!(["number", "null"]));
/// assert_eq!(relaxed.schema["required"], json!(["pressure"]));
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn relax(
    schema: &Value,
    nullable: Nullable,
    has_support: &mut dyn FnMut(&str, &str) -> bool,
) -> Result<Relaxed, Error> {
    if !schema.is_object() {
        return Err(
            Error::input("the schema of the answer is no mapping").expected("a JSON Schema")
        );
    }
    let size = schema.to_string().len();
    if size > MAX_RELAXED {
        return Err(
            Error::input(format!("the schema of the answer has {size} bytes"))
                .expected(format!("at most {MAX_RELAXED}")),
        );
    }
    let mut relaxed = Relaxed {
        schema: schema.clone(),
        fields: Vec::new(),
    };
    let mut walk = Walk {
        nullable,
        has_support,
        fields: &mut relaxed.fields,
        left: MAX_FIELDS,
    };
    walk.within(&mut relaxed.schema, "", 0);
    Ok(relaxed)
}

struct Walk<'w> {
    nullable: Nullable,
    has_support: &'w mut dyn FnMut(&str, &str) -> bool,
    fields: &'w mut Vec<String>,
    left: usize,
}

impl Walk<'_> {
    /// Relaxes the fields of an object, or of the items of a list. References are not followed: a schema may refer to
    /// itself, and others may refer to the same.
    fn within(&mut self, schema: &mut Value, path: &str, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let required: Vec<String> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
        if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for (name, field) in fields {
                let Some(left) = self.left.checked_sub(1) else {
                    return;
                };
                self.left = left;
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}/{name}")
                };
                if field.get("properties").is_some() || field.get("items").is_some() {
                    self.within(field, &path, depth + 1);
                } else if required.contains(name)
                    && !may_be_null(field)
                    && !(self.has_support)(&path, name)
                {
                    add_null(field, self.nullable);
                    self.fields.push(path);
                }
            }
        }
        if let Some(items) = schema.get_mut("items").filter(|items| items.is_object()) {
            let path = if path.is_empty() {
                "*".to_owned()
            } else {
                format!("{path}/*")
            };
            self.within(items, &path, depth + 1);
        }
    }
}

/// Returns whether a field's schema takes `null` as it is.
fn may_be_null(field: &Value) -> bool {
    let is_null = |kind: &Value| kind == "null";
    let listed = |word: &str| {
        let all = field[word].as_array();
        all.is_some_and(|all| all.iter().any(|one| is_null(&one["type"])))
    };
    let kinds = &field["type"];
    is_null(kinds)
        || kinds.as_array().is_some_and(|kinds| kinds.iter().any(is_null))
        || field["nullable"] == true
        || listed("anyOf")
        || listed("oneOf")
        || field.as_object().is_some_and(Map::is_empty)
}

/// Lets a field be `null`, whatever else it says.
fn add_null(field: &mut Value, nullable: Nullable) {
    let Some(says) = field.as_object_mut() else {
        return;
    };
    if nullable == Nullable::Keyword {
        says.insert("nullable".into(), true.into());
        return;
    }
    let is_plain = ["anyOf", "oneOf", "allOf", "$ref", "const", "not", "if"]
        .iter()
        .all(|word| !says.contains_key(*word));
    match says.get_mut("type") {
        Some(Value::Array(kinds)) if is_plain => kinds.push("null".into()),
        Some(kind) if is_plain => *kind = json!([kind.clone(), "null"]),
        _ => {
            // What describes it stays outside.
            let describes = ["title", "description"].map(|word| (word, says.remove(word)));
            let own = Value::Object(std::mem::take(says));
            says.insert("anyOf".into(), json!([own, { "type": "null" }]));
            for (word, text) in describes {
                text.map(|text| says.insert(word.into(), text));
            }
            return;
        }
    }
    if let Some(Value::Array(values)) = says.get_mut("enum") {
        values.push(Value::Null);
    }
}

/// Returns the words of a field's name, as they are found in texts: those of `lastReading` as of `last_reading`.
pub(crate) fn words_of(name: &str) -> Vec<String> {
    let mut spelt = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            spelt.push(' ');
        }
        spelt.push(if c.is_alphanumeric() { c } else { ' ' });
        small = c.is_lowercase();
    }
    let mut words = Vec::new();
    each_term(&spelt, |term| words.push(term.to_owned()));
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::answer::schema::Steps;

    fn relaxed(schema: &Value) -> Relaxed {
        relax(schema, Nullable::Type, &mut |_, name| {
            name.starts_with("known")
        })
        .unwrap()
    }

    #[test]
    fn what_is_known_is_asked_for_as_before() {
        let schema = json!({
            "type": "object", "additionalProperties": false,
            "required": ["known", "depth", "mode", "unit", "at", "readings", "next"],
            "properties": {
                "known": { "type": "string" },
                "depth": { "type": "integer", "description": "In metres." },
                "mode": { "type": "string", "enum": ["a", "b"] },
                "unit": { "const": "m" },
                "free": { "type": "string" },
                "maybe": { "type": ["string", "null"] },
                "at": { "type": "object", "required": ["lat"], "properties": { "lat": { "type": "number" } } },
                "readings": { "type": "array", "items": { "type": "object", "required": ["value"], "properties": { "value": { "type": "number" } } } },
                "next": { "$ref": "#", "title": "Next" },
            },
        });
        let relaxed = relaxed(&schema);
        assert_eq!(
            relaxed.fields,
            [
                "at/lat",
                "depth",
                "mode",
                "next",
                "readings/*/value",
                "unit"
            ]
        );
        assert_eq!(relaxed.schema["required"], schema["required"]);
        let fields = &relaxed.schema["properties"];
        for same in ["known", "free", "maybe"] {
            assert_eq!(fields[same], schema["properties"][same]);
        }
        assert_eq!(fields["mode"]["enum"], json!(["a", "b", null]));
        assert_eq!(
            fields["next"],
            json!({ "title": "Next", "anyOf": [{ "$ref": "#" }, { "type": "null" }] })
        );
        let takes = |schema: &Value, value: &Value| Steps::default().takes(schema, value);
        let nothing = json!({ "known": "x", "depth": null, "mode": null, "unit": null, "at": { "lat": null },
            "readings": [{ "value": null }], "next": null });
        assert!(takes(&relaxed.schema, &nothing) && !takes(&schema, &nothing));
        // What is known is held to what it was held to, and nothing may be left out.
        for (field, wrong) in [
            ("known", json!(null)),
            ("depth", json!("deep")),
            ("mode", json!("c")),
        ] {
            let mut said = nothing.clone();
            said[field] = wrong;
            assert!(!takes(&relaxed.schema, &said), "{field}");
        }
        let mut missing = nothing.clone();
        missing.as_object_mut().unwrap().remove("depth");
        assert!(!takes(&relaxed.schema, &missing));
        // Once relaxed, nothing is left to relax.
        assert_eq!(
            super::tests::relaxed(&relaxed.schema).fields,
            Vec::<String>::new()
        );
        let openapi = relax(&schema, Nullable::Keyword, &mut |_, _| false).unwrap();
        assert_eq!(openapi.schema["properties"]["depth"]["nullable"], true);
    }

    #[test]
    fn a_schema_that_is_too_much_is_refused_or_followed_as_far_as_it_goes() {
        assert!(relax(&json!([]), Nullable::Type, &mut |_, _| false).is_err());
        let large = json!({ "description": "x".repeat(1 << 20) });
        let error = relax(&large, Nullable::Type, &mut |_, _| false).unwrap_err();
        assert!(error.to_string().contains("at most 262144"), "{error}");
        let mut deep = json!({ "type": "string" });
        for _ in 0..40 {
            deep = json!({ "type": "object", "required": ["a"], "properties": { "a": deep } });
        }
        assert_eq!(relaxed(&deep).fields, Vec::<String>::new());
        let names: Vec<String> = (0..5_000).map(|at| format!("f{at}")).collect();
        let fields: Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
        let wide = json!({ "required": names, "properties": fields });
        assert_eq!(relaxed(&wide).fields.len(), MAX_FIELDS);
        assert_eq!(
            words_of("lastReading_of-pump").len(),
            words_of("last reading of pump").len()
        );
    }
}
