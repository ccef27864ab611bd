//! Values checked against JSON Schemas, as far as their plain words say, in bounded work.

use std::borrow::Cow;

use serde_json::{Number, Value};

use crate::base::text::clip;

/// The depth to which schemas are followed.
const DEPTH: u32 = 32;
/// The work that one answer is worth, in nodes of schemas and values: a schema may be wide, or refer to itself.
const STEPS: usize = 10_000;

/// The work that is left for an answer.
pub(super) struct Steps(usize);

impl Default for Steps {
    fn default() -> Steps {
        Steps(STEPS)
    }
}

impl Steps {
    /// Returns whether a schema takes a value: types, required and additional properties, choices, parts. Other keywords
    /// are passed over, and everything is taken once the steps are used up.
    pub(super) fn takes(&mut self, schema: &Value, value: &Value) -> bool {
        self.fault(schema, value).is_none()
    }

    /// Returns where, and why, a schema does not take a value.
    pub(super) fn fault(&mut self, schema: &Value, value: &Value) -> Option<SchemaFault> {
        takes(schema, schema, value, 0, &mut self.0).err()
    }

    /// Returns whether they are used up, so that what is taken may be wrong.
    pub(super) fn are_used_up(&self) -> bool {
        self.0 == 0
    }
}

/// The part of a value that a schema does not take.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SchemaFault {
    /// The way to it, the last step first.
    at: Vec<String>,
    /// The demand of the schema there.
    expected: Cow<'static, str>,
}

impl SchemaFault {
    fn new(expected: impl Into<Cow<'static, str>>) -> SchemaFault {
        SchemaFault {
            at: Vec::new(),
            expected: expected.into(),
        }
    }

    /// Returns the fault as one of a part of the value.
    fn within(mut self, step: impl FnOnce() -> String) -> SchemaFault {
        self.at.push(step());
        self
    }
}

impl std::fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.at.is_empty() {
            f.write_str("the whole")?;
        } else {
            f.write_str("`")?;
            for step in self.at.iter().rev() {
                write!(f, "/{}", clip(step))?;
            }
            f.write_str("`")?;
        }
        write!(f, " is not {}", clip(&self.expected))
    }
}

/// Takes a cost from the steps that are left; returns whether they sufficed.
fn may(steps: &mut usize, cost: usize) -> bool {
    let left = steps.checked_sub(cost);
    *steps = left.unwrap_or(0);
    left.is_some()
}

/// Returns whether two values are the same, as far as the steps reach.
fn same(one: &Value, other: &Value, steps: &mut usize) -> bool {
    match (one, other) {
        _ if !may(steps, 1) => true,
        (Value::Array(one), Value::Array(other)) => {
            let mut both = one.iter().zip(other);
            one.len() == other.len() && both.all(|(one, other)| same(one, other, steps))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, one)| other.get(name).is_some_and(|other| same(one, other, steps)))
        }
        // A long text takes longer.
        (Value::String(one), Value::String(other)) => {
            one.len() == other.len() && (!may(steps, one.len() >> 10) || one == other)
        }
        (Value::Number(one), Value::Number(other)) => same_number(one, other),
        (one, other) => one == other,
    }
}

/// Returns whether two numbers are the same, however they are written.
fn same_number(one: &Number, other: &Number) -> bool {
    let whole = |number: &Number| {
        number.as_i128().or_else(|| {
            let number = number.as_f64()?;
            // What is larger is no whole number of JSON's.
            (number.fract() == 0.0 && number.abs() < 1e38).then_some(number as i128)
        })
    };
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.as_f64() == other.as_f64(),
        _ => false,
    }
}

fn takes(
    root: &Value,
    schema: &Value,
    value: &Value,
    depth: u32,
    steps: &mut usize,
) -> Result<(), SchemaFault> {
    let fails = |expected: &'static str| Err(SchemaFault::new(expected));
    if !may(steps, 1) {
        return Ok(());
    }
    let Some(says) = schema.as_object().filter(|_| depth < DEPTH) else {
        return if *schema == Value::Bool(false) {
            fails("allowed there")
        } else {
            Ok(())
        };
    };
    let listed = |word: &str| says.get(word).and_then(Value::as_array);
    let reference = says.get("$ref").and_then(Value::as_str);
    let cost = listed("type").map_or(0, Vec::len)
        + listed("required").map_or(0, Vec::len)
        + value.as_object().map_or(0, serde_json::Map::len)
        + reference.map_or(0, |path| path.len() >> 6);
    if !may(steps, cost) {
        return Ok(());
    }
    if let Some(kinds) = says.get("type").filter(|kinds| !is_of(kinds, value)) {
        let kinds = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            kind => vec![kind.as_str().unwrap_or_default()],
        };
        return Err(SchemaFault::new(format!("of type {}", kinds.join(" or "))));
    }
    if !listed("enum").is_none_or(|all| all.iter().any(|one| same(one, value, steps))) {
        return fails("one of the values in `enum`");
    }
    if let Some(only) = says.get("const")
        && !same(only, value, steps)
    {
        return fails("the value of `const`");
    }
    let mut takes =
        |schema: &Value, value: &Value| takes(root, schema, value, depth + 1, &mut *steps);
    if let Some(path) = reference
        && let Some(there) = path.strip_prefix('#').and_then(|path| root.pointer(path))
    {
        takes(there, value)?;
    }
    for (word, expected) in [
        ("anyOf", "what a schema of `anyOf` takes"),
        ("oneOf", "what a schema of `oneOf` takes"),
    ] {
        if !listed(word).is_none_or(|all| all.iter().any(|one| takes(one, value).is_ok())) {
            return fails(expected);
        }
    }
    for one in listed("allOf").into_iter().flatten() {
        takes(one, value)?;
    }
    if let Some(fields) = value.as_object() {
        let known = says.get("properties").and_then(Value::as_object);
        let mut missing = listed("required")
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .filter(|name| !fields.contains_key(*name));
        if let Some(name) = missing.next() {
            return Err(SchemaFault::new(format!("complete: `{name}` is missing")));
        }
        for (name, value) in fields {
            let schema = match (
                known.and_then(|known| known.get(name)),
                says.get("additionalProperties"),
            ) {
                (Some(schema), _) => schema,
                // A pattern may name it.
                (None, Some(schema)) if !says.contains_key("patternProperties") => schema,
                _ => continue,
            };
            takes(schema, value).map_err(|fault| fault.within(|| name.clone()))?;
        }
        return Ok(());
    }
    if let (Some(items), Some(schema)) = (value.as_array(), says.get("items"))
        && !says.contains_key("prefixItems")
    {
        for (at, item) in items.iter().enumerate() {
            takes(schema, item).map_err(|fault| fault.within(|| at.to_string()))?;
        }
    }
    Ok(())
}

/// Returns whether a value is of the type, or one of the types, that a schema names.
fn is_of(kinds: &Value, value: &Value) -> bool {
    let is = |kind: &Value| match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => true,
    };
    match kinds {
        Value::Array(kinds) => kinds.iter().any(is),
        kind => is(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schemas_take_what_they_say() {
        let schema = json!({
            "type": "object",
            "properties": {
                "at": { "type": "string" },
                "n": { "type": ["integer", "null"] },
                "mode": { "enum": ["a", "b"] },
                "deep": { "$ref": "#/$defs/point" },
                "list": { "type": "array", "items": { "anyOf": [{ "type": "string" }, { "const": 1 }] } },
            },
            "required": ["at"],
            "additionalProperties": false,
            "$defs": { "point": { "type": "object", "required": ["x"], "properties": { "next": { "$ref": "#/$defs/point" } } } },
        });
        let takes = |value: Value| takes(&schema, &schema, &value, 0, &mut STEPS.clone()).is_ok();
        for good in [
            json!({ "at": "x" }),
            json!({ "at": "x", "n": 3.0, "mode": "b", "list": ["a", 1] }),
            json!({ "at": "x", "n": null, "deep": { "x": 1, "next": { "x": 2 } } }),
        ] {
            assert!(takes(good.clone()), "{good}");
        }
        for bad in [
            json!({}),
            json!({ "at": 1 }),
            json!({ "at": "x", "n": 1.5 }),
            json!({ "at": "x", "mode": "c" }),
            json!({ "at": "x", "other": 1 }),
            json!({ "at": "x", "list": [2] }),
            json!({ "at": "x", "deep": { "x": 1, "next": {} } }),
        ] {
            assert!(!takes(bad.clone()), "{bad}");
        }
        let endless = json!({ "$ref": "#" });
        assert!(super::takes(&endless, &endless, &json!(1), 0, &mut 100).is_ok());
        let said = |value: Value| {
            let fault = Steps::default().fault(&schema, &value);
            fault.map(|fault| fault.to_string()).unwrap_or_default()
        };
        assert_eq!(said(json!({ "at": "x" })), "");
        assert_eq!(said(json!([])), "the whole is not of type object");
        assert_eq!(
            said(json!({})),
            "the whole is not complete: `at` is missing"
        );
        assert_eq!(
            said(json!({ "at": "x", "n": 1.5 })),
            "`/n` is not of type integer or null"
        );
        assert_eq!(
            said(json!({ "at": "x", "other": 1 })),
            "`/other` is not allowed there"
        );
        let list = json!({ "at": "x", "list": ["a", 2] });
        assert_eq!(
            said(list),
            "`/list/1` is not what a schema of `anyOf` takes"
        );
        let deep = json!({ "at": "x", "deep": { "x": 1, "next": {} } });
        assert_eq!(said(deep), "`/deep/next` is not complete: `x` is missing");
    }

    #[test]
    fn a_schema_is_followed_as_far_as_steps_reach() {
        // Each of these would be looked at more often than there are atoms.
        let again: Vec<Value> = (0..20).map(|_| json!({ "$ref": "#" })).collect();
        let wide = json!({ "allOf": again.clone() });
        let choice = json!({ "anyOf": again.clone(), "oneOf": again });
        let nearly = [vec![1; 49], vec![2]].concat();
        let long = json!({ "enum": vec![json!({ "a": nearly }); 1_000] });
        let arguments = json!({ "a": vec![1; 50] });
        for schema in [&wide, &choice, &long] {
            let mut steps = STEPS;
            assert!(takes(schema, schema, &arguments, 0, &mut steps).is_ok());
            assert_eq!(steps, 0);
        }
        // What is wrong before they are used up is told.
        let narrow = json!({ "type": "array", "allOf": wide["allOf"] });
        assert!(takes(&narrow, &narrow, &arguments, 0, &mut STEPS.clone()).is_err());
        let same = |one: Value, other: Value| same(&one, &other, &mut STEPS.clone());
        assert!(same(json!({ "a": [1, "b"] }), json!({ "a": [1, "b"] })));
        // Numbers are what they are worth.
        for (one, other) in [
            (json!(1), json!(1.0)),
            (json!(0), json!(-0.0)),
            (json!(1e20), json!(1e20)),
        ] {
            assert!(same(one.clone(), other.clone()) && same(other, one));
        }
        for (one, other) in [
            (json!(1), json!(1.5)),
            (
                json!(9_007_199_254_740_993_u64),
                json!(9_007_199_254_740_992.0),
            ),
            (json!(1), json!("1")),
            (json!(u64::MAX), json!(u64::MAX as f64)),
        ] {
            assert!(!same(one.clone(), other.clone()) && !same(other, one));
        }
        let one = json!({ "enum": [1], "const": 1 });
        assert!(takes(&one, &one, &json!(1.0), 0, &mut STEPS.clone()).is_ok());
        for other in [
            json!({ "a": [1, "c"] }),
            json!({ "b": [1, "b"] }),
            json!({ "a": [1] }),
            json!([]),
        ] {
            assert!(!same(json!({ "a": [1, "b"] }), other));
        }
    }
}
