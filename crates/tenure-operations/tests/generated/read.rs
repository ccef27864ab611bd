//! The operations of the table, read from their schemas. A construct of JSON Schema that stands nowhere here fails the test by
//! the name of the operation.

use std::collections::{BTreeMap, BTreeSet};

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tenure_operations::{Context, Effect, Entry, Input};

use super::types::{Definition, Field, Method, Operations, Shape, Type, pascal};

type Object = Map<String, Value>;

/// What a schema says of its values besides their type.
#[rustfmt::skip]
const NOTES: [&str; 16] = [
    "$schema", "default", "deprecated", "description", "examples", "exclusiveMaximum", "exclusiveMinimum", "format",
    "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum", "pattern", "title",
];

/// What it says of the type.
#[rustfmt::skip]
const TYPES: [&str; 14] = [
    "$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "oneOf", "patternProperties", "prefixItems",
    "properties", "required", "type", "uniqueItems",
];

/// The names that no definition has, since the written files use them.
#[rustfmt::skip]
const TAKEN: [&str; 13] = [
    "Any", "Array", "Caller", "Literal", "NotRequired", "Promise", "Record", "Sequence", "Tenant", "TypeAlias",
    "TypedDict", "Union", "WriteOptions",
];

/// Returns the operations of these entries.
pub(crate) fn operations(entries: &[Entry], context: &Context<'_>) -> Result<Operations, String> {
    let mut schemas = SchemaSettings::draft2020_12().into_generator();
    let shapes: Vec<(Value, Value)> = entries
        .iter()
        .map(|entry| {
            let mut own = |shape: fn(&mut SchemaGenerator) -> schemars::Schema| {
                Value::from(shape(&mut schemas))
            };
            (own(entry.form), own(entry.answer))
        })
        .collect();
    let mut reader = Reader::new(schemas.take_definitions(true));
    let methods = entries
        .iter()
        .zip(&shapes)
        .map(|(entry, (form, answer))| {
            method(&mut reader, entry, (form, answer), context)
                .map_err(|error| format!("{}: {error}", entry.id))
        })
        .collect::<Result<_, String>>()?;
    Ok(Operations {
        methods,
        definitions: reader.made.into_values().collect(),
    })
}

fn method(
    reader: &mut Reader,
    entry: &Entry,
    (form, answer): (&Value, &Value),
    context: &Context<'_>,
) -> Result<Method, String> {
    let mut fields = reader.form(form, &pascal(entry.id))?;
    let order = order(entry, context);
    fields.sort_by_key(|field| {
        let place = order.iter().position(|name| *name == field.name);
        (!field.is_required, place.unwrap_or(order.len()))
    });
    Ok(Method {
        id: entry.id,
        summary: entry.summary(),
        says: entry.says(),
        fields,
        answer: reader.kind(answer, &format!("{}Answer", pascal(entry.id)))?,
        writes: entry.effect == Effect::Writes,
    })
}

/// Returns the fields of a form in their order, which a schema does not keep: the refusal of a field that no form has lists them.
fn order(entry: &Entry, context: &Context<'_>) -> Vec<String> {
    let input = Input::json(br#"{"?": 0}"#).unwrap();
    let refusal = entry.call(input, context).err();
    let expected = refusal.and_then(|error| error.expected).unwrap_or_default();
    let names = expected.trim_start_matches("one of ").split(", ");
    names.map(str::to_owned).collect()
}

/// Reads schemas that refer to definitions.
pub(crate) struct Reader {
    schemas: BTreeMap<String, Object>,
    made: BTreeMap<String, Definition>,
    /// The definitions that are being read.
    open: BTreeSet<String>,
}

impl Reader {
    pub(crate) fn new(schemas: Map<String, Value>) -> Reader {
        let objects = schemas.into_iter().map(|(name, schema)| match schema {
            Value::Object(object) => (pascal(&name), object),
            _ => (pascal(&name), Map::new()),
        });
        Reader {
            schemas: objects.collect(),
            made: BTreeMap::new(),
            open: BTreeSet::new(),
        }
    }

    /// Returns the definitions that were read.
    pub(crate) fn definitions(self) -> Vec<Definition> {
        self.made.into_values().collect()
    }

    /// Returns the type that a schema is of. `name` is that of an object without one of its own.
    pub(crate) fn kind(&mut self, schema: &Value, name: &str) -> Result<Type, String> {
        let schema = match schema {
            Value::Bool(true) => return Ok(Type::Any),
            Value::Object(schema) => schema,
            schema => return Err(format!("the schema {schema} of {name} is not known")),
        };
        let is_known = |key: &&String| {
            TYPES.contains(&key.as_str()) || NOTES.contains(&key.as_str()) || key.starts_with("x-")
        };
        if let Some(key) = schema.keys().find(|key| !is_known(key)) {
            return Err(format!("`{key}` in the schema of {name} is not known"));
        }
        if let Some(all) = schema.get("allOf").and_then(Value::as_array) {
            let mut whole = without(schema, &["allOf"]);
            for part in all {
                whole = merged(&whole, &self.whole(part)?);
            }
            return self.kind(&Value::Object(whole), name);
        }
        if let Some(target) = schema.get("$ref") {
            if has_type(&without(schema, &["$ref"])) {
                let whole = self.whole(&Value::Object(schema.clone()))?;
                return self.kind(&Value::Object(whole), name);
            }
            return self.named(target);
        }
        if let Some(word) = schema.get("const") {
            return Ok(word_of(word));
        }
        if let Some(words) = schema.get("enum").and_then(Value::as_array) {
            return Ok(Type::one_of(words.iter().map(word_of)));
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array) {
                return self.choice(&without(schema, &[key]), choices, name);
            }
        }
        match schema.get("type") {
            Some(Value::Array(types)) => {
                let each = types.iter().map(|one| {
                    let mut own = schema.clone();
                    own.insert("type".into(), one.clone());
                    self.kind(&Value::Object(own), name)
                });
                Ok(Type::one_of(each.collect::<Result<Vec<_>, _>>()?))
            }
            Some(Value::String(one)) => self.simple(one, schema, name),
            _ if schema.contains_key("properties") => self.object(schema, name),
            None if !has_type(schema) => Ok(Type::Any),
            _ => Err(format!("the schema of {name} has no type")),
        }
    }

    fn simple(&mut self, kind: &str, schema: &Object, name: &str) -> Result<Type, String> {
        Ok(match kind {
            "null" => Type::Null,
            "boolean" => Type::Bool,
            "integer" => Type::Whole,
            "number" => Type::Number,
            "string" => Type::Text,
            "array" => {
                let item = |at: usize| format!("{name}{at}");
                match schema.get("prefixItems").and_then(Value::as_array) {
                    Some(places) => {
                        let each = places.iter().enumerate();
                        let each = each.map(|(at, place)| self.kind(place, &item(at + 1)));
                        Type::Places(each.collect::<Result<_, _>>()?)
                    }
                    None => {
                        let items = schema.get("items").unwrap_or(&Value::Bool(true));
                        Type::List(Box::new(self.kind(items, name)?))
                    }
                }
            }
            "object" => self.object(schema, name)?,
            _ => return Err(format!("the type `{kind}` of {name} is not known")),
        })
    }

    /// Returns the type of an object: a definition of its own where it has fields.
    fn object(&mut self, schema: &Object, name: &str) -> Result<Type, String> {
        if !schema.contains_key("properties") {
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let values = patterns
                .into_iter()
                .flat_map(|patterns| patterns.values())
                .chain(schema.get("additionalProperties"))
                .filter(|values| **values != Value::Bool(false));
            let kinds = values.map(|values| self.kind(values, name));
            let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
            let kind = if kinds.is_empty() {
                Type::Any
            } else {
                Type::one_of(kinds)
            };
            return Ok(Type::Map(Box::new(kind)));
        }
        let is_own = self.open.contains(name) && !self.made.contains_key(name);
        let name = if is_own {
            name.to_owned()
        } else {
            self.fresh(name)
        };
        // Its place is taken while its fields are read.
        self.open.insert(name.clone());
        let fields = self.fields(schema, &name)?;
        let more = schema.get("additionalProperties");
        let shape = Shape::Object {
            fields,
            is_open: more.is_some_and(|more| *more != Value::Bool(false)),
        };
        self.define(&name, schema, shape)?;
        Ok(Type::Named(name))
    }

    /// Returns the fields of a form, each of which becomes an argument.
    pub(crate) fn form(&mut self, schema: &Value, name: &str) -> Result<Vec<Field>, String> {
        let form = self.whole(schema)?;
        let is_known = |key: &&String| {
            ["properties", "required", "type"].contains(&key.as_str())
                || NOTES.contains(&key.as_str())
                || *key == "additionalProperties" && form[*key] == Value::Bool(false)
        };
        match form.keys().find(|key| !is_known(key)) {
            Some(key) => Err(format!("`{key}` in the schema of a form is not known")),
            None => self.fields(&form, name),
        }
    }

    fn fields(&mut self, schema: &Object, name: &str) -> Result<Vec<Field>, String> {
        let required = schema.get("required").and_then(Value::as_array);
        let properties = schema.get("properties").and_then(Value::as_object);
        let each = properties.into_iter().flatten();
        each.map(|(field, property)| {
            let says = property["description"].as_str().unwrap_or_default();
            Ok(Field {
                name: field.clone(),
                says: says.to_owned(),
                is_required: required.is_some_and(|all| all.iter().any(|one| one == field)),
                kind: self.kind(property, &format!("{name}{}", pascal(field)))?,
            })
        })
        .collect()
    }

    /// Returns the type of a value that is of one of several: each with the fields that stand beside them.
    fn choice(&mut self, base: &Object, choices: &[Value], name: &str) -> Result<Type, String> {
        let mut kinds = Vec::new();
        for (at, choice) in choices.iter().enumerate() {
            let inner = if has_type(base) {
                Value::Object(merged(base, &self.whole(choice)?))
            } else {
                choice.clone()
            };
            let own = tag(&inner).unwrap_or_else(|| (at + 1).to_string());
            let is_alone = choices.iter().filter(|one| one["type"] != "null").count() == 1;
            let name = if is_alone {
                name.to_owned()
            } else {
                format!("{name}{own}")
            };
            kinds.push(self.kind(&inner, &name)?);
        }
        Ok(Type::one_of(kinds))
    }

    /// Returns the type that a reference names. What is a text or a number stands as one.
    fn named(&mut self, target: &Value) -> Result<Type, String> {
        let name = pascal(target.as_str().and_then(|path| path.rsplit('/').next()).unwrap_or(""));
        let named = Type::Named(name.clone());
        if self.open.contains(&name) || self.made.contains_key(&name) {
            return Ok(named);
        }
        let schema = self.schemas.get(&name).cloned();
        let schema = schema.ok_or_else(|| format!("there is no schema {target}"))?;
        self.open.insert(name.clone());
        let kind = self.kind(&Value::Object(schema.clone()), &name)?;
        self.open.remove(&name);
        if matches!(kind, Type::Choice(_) | Type::Places(_) | Type::Word(_)) {
            self.define(&name, &schema, Shape::Other(kind))?;
            return Ok(named);
        }
        Ok(kind)
    }

    fn define(&mut self, name: &str, schema: &Object, shape: Shape) -> Result<(), String> {
        if TAKEN.contains(&name) {
            return Err(format!("no type is called {name}"));
        }
        let own = schema.get("description").and_then(Value::as_str);
        let mut says = own.unwrap_or_default().to_owned();
        let words = schema.get("oneOf").and_then(Value::as_array);
        let words = words.into_iter().flatten().filter_map(|choice| {
            let (word, says) = (choice["const"].as_str()?, choice["description"].as_str()?);
            Some(format!("- `{word}`: {says}"))
        });
        let words: Vec<String> = words.collect();
        if !words.is_empty() {
            says = format!("{says}\n\n{}", words.join("\n"));
        }
        let definition = Definition {
            name: name.to_owned(),
            says,
            shape,
        };
        self.made.insert(name.to_owned(), definition);
        Ok(())
    }

    /// Returns a name that no other type has.
    fn fresh(&self, wanted: &str) -> String {
        let is_taken = |name: &String| {
            let has = [
                self.schemas.contains_key(name),
                self.made.contains_key(name),
                self.open.contains(name),
            ];
            has.contains(&true)
        };
        let more = (2..).map(|number| format!("{wanted}{number}"));
        std::iter::once(wanted.to_owned())
            .chain(more)
            .find(|name| !is_taken(name))
            .unwrap_or_default()
    }

    /// Returns a schema with what it refers to in the place of the reference.
    fn whole(&self, schema: &Value) -> Result<Object, String> {
        let Value::Object(schema) = schema else {
            return Err(format!("the schema {schema} is no object"));
        };
        let Some(target) = schema.get("$ref").and_then(Value::as_str) else {
            return Ok(schema.clone());
        };
        let name = pascal(target.rsplit('/').next().unwrap_or_default());
        let found = self.schemas.get(&name);
        let found = found.ok_or_else(|| format!("there is no schema {target}"))?;
        Ok(merged(found, &without(schema, &["$ref"])))
    }
}

fn word_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        word => Type::Word(word.clone()),
    }
}

fn without(schema: &Object, keys: &[&str]) -> Object {
    let kept = schema.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Returns whether a schema says anything of the type.
fn has_type(schema: &Object) -> bool {
    let is_object = schema.get("type") == Some(&json!("object"));
    let says_more = |key: &String| TYPES.contains(&key.as_str()) && (key != "type" || !is_object);
    schema.keys().any(says_more)
}

/// Returns the schema of values that are of both.
fn merged(one: &Object, other: &Object) -> Object {
    let mut whole = one.clone();
    for (key, value) in other {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(there)), Value::Object(more)) if key == "properties" => {
                there.extend(more.clone());
            }
            (Some(Value::Array(there)), Value::Array(more)) if key == "required" => {
                there.extend(more.iter().cloned());
            }
            _ => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
    whole
}

/// Returns what tells an object apart from the others that may stand in its place: its one field, or the word in one.
fn tag(schema: &Value) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    let word = properties.values().find_map(|property| property["const"].as_str());
    let only = properties.keys().next().filter(|_| properties.len() == 1);
    word.or(only.map(String::as_str)).map(pascal)
}
