//! A check that a document is JSON Schema: each keyword that its draft knows has the form that the draft gives it.
//!
//! Formats of texts (a URI, an anchor, a pattern) are not checked, and keywords that a draft does not know are
//! allowed.

use std::collections::BTreeSet;

use serde_json::Value;

use self::Draft::{Four, Seven, Six, Y2019, Y2020};
use self::Form::{
    Any, Count, Dependencies, Flag, Items, Limit, List, Names, NamesByName, Number, Positive, Rest,
    Schema, Schemas, SchemasByName, Text, Types, Vocabulary,
};

/// A draft of JSON Schema, in the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Draft {
    Four,
    Six,
    Seven,
    Y2019,
    Y2020,
}

impl Draft {
    /// The draft that a schema names, or the newest where it names none; else what it names.
    pub(crate) fn of(schema: &Value) -> Result<Draft, &str> {
        let named = schema.get("$schema").and_then(Value::as_str);
        let known = [
            ("2020-12", Y2020),
            ("2019-09", Y2019),
            ("draft-07", Seven),
            ("draft-06", Six),
            ("draft-04", Four),
        ];
        let Some(named) = named else {
            return Ok(Y2020);
        };
        let found = known.iter().find(|(part, _)| named.contains(part));
        found.map(|(_, draft)| *draft).ok_or(named)
    }
}

/// The form of a keyword's value.
#[derive(Clone, Copy)]
enum Form {
    Any,
    Text,
    Flag,
    Number,
    /// A number above 0.
    Positive,
    /// A number; in draft 4 a Boolean that says whether the limit next to it is exclusive.
    Limit,
    /// A whole number from 0.
    Count,
    List,
    /// Names, each once.
    Names,
    /// The name of a type, or several, each once.
    Types,
    Schema,
    /// A schema; in draft 4 `true` and `false` stand for one.
    Rest,
    /// One schema at least.
    Schemas,
    /// A schema, or a list of them for the places of a list.
    Items,
    SchemasByName,
    /// By name, a schema or names.
    Dependencies,
    NamesByName,
    /// By name, `true` or `false`.
    Vocabulary,
}

/// The keywords, each with the drafts that know it, first and last.
#[rustfmt::skip]
const KEYWORDS: [(&str, Form, Draft, Draft); 65] = [
    ("$anchor", Text, Y2019, Y2020), ("$comment", Text, Seven, Y2020), ("$defs", SchemasByName, Y2019, Y2020),
    ("$dynamicAnchor", Text, Y2020, Y2020), ("$dynamicRef", Text, Y2020, Y2020), ("$id", Text, Six, Y2020),
    ("$recursiveAnchor", Flag, Y2019, Y2019), ("$recursiveAnchor", Text, Y2020, Y2020),
    ("$recursiveRef", Text, Y2019, Y2020), ("$ref", Text, Six, Y2020), ("$schema", Text, Four, Y2020),
    ("$vocabulary", Vocabulary, Y2019, Y2020), ("additionalItems", Rest, Four, Y2019),
    ("additionalProperties", Rest, Four, Y2020), ("allOf", Schemas, Four, Y2020), ("anyOf", Schemas, Four, Y2020),
    ("const", Any, Six, Y2020), ("contains", Schema, Six, Y2020), ("contentEncoding", Text, Seven, Y2020),
    ("contentMediaType", Text, Seven, Y2020), ("contentSchema", Schema, Y2019, Y2020), ("default", Any, Four, Y2020),
    ("definitions", SchemasByName, Four, Y2020), ("dependencies", Dependencies, Four, Y2020),
    ("dependentRequired", NamesByName, Y2019, Y2020), ("dependentSchemas", SchemasByName, Y2019, Y2020),
    ("deprecated", Flag, Y2019, Y2020), ("description", Text, Four, Y2020), ("else", Schema, Seven, Y2020),
    ("enum", List, Four, Y2020), ("examples", List, Six, Y2020), ("exclusiveMaximum", Limit, Four, Y2020),
    ("exclusiveMinimum", Limit, Four, Y2020), ("format", Text, Four, Y2020), ("id", Text, Four, Four),
    ("if", Schema, Seven, Y2020), ("items", Items, Four, Y2019), ("items", Schema, Y2020, Y2020),
    ("maxContains", Count, Y2019, Y2020), ("maxItems", Count, Four, Y2020), ("maxLength", Count, Four, Y2020),
    ("maxProperties", Count, Four, Y2020), ("maximum", Number, Four, Y2020), ("minContains", Count, Y2019, Y2020),
    ("minItems", Count, Four, Y2020), ("minLength", Count, Four, Y2020), ("minProperties", Count, Four, Y2020),
    ("minimum", Number, Four, Y2020), ("multipleOf", Positive, Four, Y2020), ("not", Schema, Four, Y2020),
    ("oneOf", Schemas, Four, Y2020), ("pattern", Text, Four, Y2020), ("patternProperties", SchemasByName, Four, Y2020),
    ("prefixItems", Schemas, Y2020, Y2020), ("properties", SchemasByName, Four, Y2020),
    ("propertyNames", Schema, Six, Y2020), ("readOnly", Flag, Seven, Y2020), ("required", Names, Four, Y2020),
    ("then", Schema, Seven, Y2020), ("title", Text, Four, Y2020), ("type", Types, Four, Y2020),
    ("unevaluatedItems", Schema, Y2019, Y2020), ("unevaluatedProperties", Schema, Y2019, Y2020),
    ("uniqueItems", Flag, Four, Y2020), ("writeOnly", Flag, Seven, Y2020),
];

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// A part of a schema whose form is not that of its draft.
#[derive(Debug)]
pub(crate) struct Malformed {
    /// Its JSON pointer.
    pub(crate) at: String,
    pub(crate) expected: &'static str,
}

/// Checks a schema and all schemas in it.
pub(crate) fn check(schema: &Value, draft: Draft) -> Result<(), Malformed> {
    let mut open: Vec<(String, &Value)> = vec![(String::new(), schema)];
    while let Some((at, schema)) = open.pop() {
        let wrong = |at: String, expected| Err(Malformed { at, expected });
        let fields = match schema {
            Value::Object(fields) => fields,
            Value::Bool(_) if draft > Four => continue,
            _ if draft > Four => return wrong(at, "a schema: a mapping, true or false"),
            _ => return wrong(at, "a schema: a mapping"),
        };
        for (name, value) in fields {
            let known = KEYWORDS.iter().find(|(keyword, _, from, until)| {
                keyword == name && (*from..=*until).contains(&draft)
            });
            let Some((_, form, ..)) = known else {
                continue;
            };
            let at = format!("{at}/{}", escaped(name));
            match form.check(value, draft) {
                Ok(()) => {}
                Err(expected) => return wrong(at, expected),
            }
            open.extend(form.schemas(&at, value, draft));
        }
        if draft == Four {
            for (limit, needs) in [
                ("exclusiveMaximum", "maximum"),
                ("exclusiveMinimum", "minimum"),
            ] {
                if fields.contains_key(limit) && !fields.contains_key(needs) {
                    return wrong(
                        format!("{at}/{limit}"),
                        "the limit that it excludes, beside it",
                    );
                }
            }
        }
    }
    Ok(())
}

impl Form {
    /// Checks a value, but for the schemas in it.
    fn check(self, value: &Value, draft: Draft) -> Result<(), &'static str> {
        // In draft 4, 1.0 is no whole number.
        let is_count = |value: &Value| match value.as_f64() {
            Some(number) if draft > Four => number >= 0.0 && number.fract() == 0.0,
            _ => value.is_u64(),
        };
        let names = |value: &Value, least: usize| {
            let Some(names) = value.as_array() else {
                return false;
            };
            let texts: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
            texts.len() == names.len() && names.len() >= least
        };
        let by_name = |each: &dyn Fn(&Value) -> bool| {
            let fields = value.as_object();
            fields.is_some_and(|fields| fields.values().all(each))
        };
        let of_draft = usize::from(draft == Four);
        let (holds, expected) = match self {
            Any | Schema => (true, ""),
            Text => (value.is_string(), "a text"),
            Flag => (value.is_boolean(), "true or false"),
            Number => (value.is_number(), "a number"),
            Positive => (
                value.as_f64().is_some_and(|number| number > 0.0),
                "a number above 0",
            ),
            Limit if draft == Four => (value.is_boolean(), "true or false"),
            Limit => (value.is_number(), "a number"),
            Count => (is_count(value), "a whole number from 0"),
            List => (value.is_array(), "a list"),
            Names => (names(value, of_draft), "a list of names, each once"),
            Types => {
                let is_type =
                    |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
                let several =
                    names(value, 1) && value.as_array().is_some_and(|all| all.iter().all(is_type));
                let expected = "array, boolean, integer, null, number, object or string, or a list of these, each once";
                (is_type(value) || several, expected)
            }
            Rest => (true, ""),
            Schemas => (
                value.as_array().is_some_and(|schemas| !schemas.is_empty()),
                "a list of one schema at least",
            ),
            Items => (
                value.as_array().is_none_or(|schemas| !schemas.is_empty()),
                "a schema, or a list of one at least",
            ),
            SchemasByName => (value.is_object(), "a mapping of names to schemas"),
            Dependencies => (
                by_name(&|value| !value.is_array() || names(value, of_draft)),
                "a mapping of names to schemas or lists of names",
            ),
            NamesByName => (
                by_name(&|value| names(value, 0)),
                "a mapping of names to lists of names",
            ),
            Vocabulary => (
                by_name(&Value::is_boolean),
                "a mapping of names to true or false",
            ),
        };
        if holds { Ok(()) } else { Err(expected) }
    }

    /// The schemas in a value of this form, each with its place.
    fn schemas<'v>(self, at: &str, value: &'v Value, draft: Draft) -> Vec<(String, &'v Value)> {
        let by_name = |fields: &'v serde_json::Map<String, Value>| -> Vec<(String, &'v Value)> {
            fields
                .iter()
                .filter(|(_, value)| !value.is_array() || !matches!(self, Dependencies))
                .map(|(name, value)| (format!("{at}/{}", escaped(name)), value))
                .collect()
        };
        let one = || vec![(at.to_owned(), value)];
        match (self, value) {
            (Rest, Value::Bool(_)) if draft == Four => Vec::new(),
            (Schema | Rest, _) => one(),
            (Schemas | Items, Value::Array(schemas)) => schemas
                .iter()
                .enumerate()
                .map(|(place, schema)| (format!("{at}/{place}"), schema))
                .collect(),
            (Items, _) => one(),
            (SchemasByName | Dependencies, Value::Object(fields)) => by_name(fields),
            _ => Vec::new(),
        }
    }
}

/// A name as it stands in a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The verdict of another implementation.
    fn oracle(schema: &Value, draft: Draft) -> bool {
        match draft {
            Four => jsonschema::draft4::meta::is_valid(schema),
            Six => jsonschema::draft6::meta::is_valid(schema),
            Seven => jsonschema::draft7::meta::is_valid(schema),
            Y2019 => jsonschema::draft201909::meta::is_valid(schema),
            Y2020 => jsonschema::draft202012::meta::is_valid(schema),
        }
    }

    #[test]
    fn drafts_are_known_by_their_names() {
        let of = |name: &str| Draft::of(&json!({ "$schema": name })).map_err(str::to_owned);
        assert_eq!(
            of("https://json-schema.org/draft/2020-12/schema"),
            Ok(Y2020)
        );
        assert_eq!(of("http://json-schema.org/draft-07/schema#"), Ok(Seven));
        assert_eq!(of("draft-03"), Err("draft-03".to_owned()));
        assert_eq!(Draft::of(&json!({})), Ok(Y2020));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let schema = json!({ "properties": { "a/b": { "anyOf": [{}, { "type": "strin" }] } } });
        let error = check(&schema, Y2020).unwrap_err();
        assert_eq!(error.at, "/properties/a~1b/anyOf/1/type");
        assert!(error.expected.contains("string"));
    }

    /// Values of all kinds, some of which are schemas.
    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-1..3).prop_map(Value::from),
            Just(json!(1.0)),
            Just(json!(0.5)),
            prop::sample::select(&["object", "string", "a", "b"][..]).prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
        ];
        // `$schema` is a URI, and of texts nothing more is asked here.
        let words: Vec<&'static str> = KEYWORDS
            .iter()
            .map(|(word, ..)| *word)
            .filter(|word| *word != "$schema")
            .collect();
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let word = prop::sample::select(words.clone()).prop_map(str::to_owned);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner.clone(), 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
                prop::collection::btree_map(word, inner, 1..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn another_implementation_says_the_same(schema in value()) {
            for draft in [Four, Six, Seven, Y2019, Y2020] {
                let ours = check(&schema, draft);
                prop_assert_eq!(ours.is_ok(), oracle(&schema, draft), "{:?} {}: {:?}", draft, schema, ours);
            }
        }
    }
}
