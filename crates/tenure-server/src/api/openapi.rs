//! The description of the API: OpenAPI 3.1, from the table and the types.

use schemars::generate::SchemaSettings;
use schemars::transform::ReplaceBoolSchemas;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use tenure::{Envelope, Trace};

use super::parameters::Takes;
use super::{Operation, Parameter, table};

/// A body of a type.
pub(super) fn shape<T: JsonSchema>(schemas: &mut SchemaGenerator) -> Schema {
    schemas.subschema_for::<T>()
}

/// A body whose form the core does not publish.
pub(super) fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

/// What a compile gives.
pub(super) fn outcome(schemas: &mut SchemaGenerator) -> Schema {
    let (envelope, trace) = (shape::<Envelope>(schemas), shape::<Trace>(schemas));
    json_schema!({
        "type": "object",
        "required": ["outcome"],
        "properties": {
            "outcome": { "enum": ["complete", "deferred", "pages"] },
            "envelope": envelope,
            "trace": trace,
            "pending": { "type": "array", "items": {}, "description": "What is left for a later turn." },
            "pages": { "type": "array", "items": {}, "description": "Payloads that each fit, with their traces." },
            "quality": { "type": "array", "items": {}, "description": "The quality metrics of each payload, where they were asked for." },
            "record_ids": { "type": "array", "items": { "type": "string" } },
        },
    })
}

/// The document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    // Generators of clients know no `true` where a schema stands.
    let mut no_booleans = ReplaceBoolSchemas::default();
    no_booleans.skip_additional_properties = true;
    let settings = settings.with_transform(no_booleans);
    let mut schemas = settings.into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for (operation, _) in table() {
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described(&operation, &mut schemas);
    }
    for (path, id, summary, content_type) in [
        (
            "/healthz",
            "health",
            "Whether the process answers",
            "text/plain",
        ),
        (
            "/readyz",
            "ready",
            "Whether the process may be given requests",
            "text/plain",
        ),
        (
            "/metrics",
            "metrics",
            "What is counted, as Prometheus reads it",
            "application/openmetrics-text",
        ),
        (
            "/openapi.json",
            "openapi",
            "This document",
            "application/json",
        ),
    ] {
        let mut answer = json!({ "description": "The answer" });
        answer["content"] = json!({ content_type: {} });
        let open = path != "/metrics";
        let mut operation = json!({
            "operationId": id,
            "summary": summary,
            "responses": { "200": answer, "default": { "$ref": "#/components/responses/Problem" } },
        });
        if open {
            operation["security"] = json!([]);
        }
        paths.insert(path.to_owned(), json!({ "get": operation }));
    }
    let mut components = schemas.take_definitions(true);
    // Generators of clients take a title for the name of a type, and two components may have the same.
    for component in components.values_mut().filter_map(Value::as_object_mut) {
        component.remove("title");
    }
    for (operation, _) in table() {
        without_path_fields(&operation, &mut components);
    }
    let whole = components.clone();
    for component in components.values_mut() {
        spell_out(component, &whole);
    }
    components.insert("Problem".into(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tenure",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A context compiler for LLM agents. Beside this API, the gateway at `/v1/` takes \
                            requests in the protocols of OpenAI and Anthropic.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "bearer": [] }, { "key": [] }, { "own": [] }, {}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {
                "Problem": {
                    "description": "What is wrong (RFC 9457)",
                    "content": {
                        "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
                    },
                },
            },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "key": { "type": "apiKey", "in": "header", "name": "x-api-key" },
                "own": { "type": "apiKey", "in": "header", "name": "x-tenure-key" },
            },
        },
    })
}

/// Takes the fields that the path of an operation has out of its body.
fn without_path_fields(operation: &Operation, components: &mut Map<String, Value>) {
    let Some(body) = operation.body else {
        return;
    };
    let reference = Value::from(body(&mut SchemaGenerator::default()));
    let name = reference["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    let Some(form) = name.and_then(|name| components.get_mut(name)) else {
        return;
    };
    for field in operation.fields.iter().filter(|field| field["in"] == "path") {
        if let Some(properties) = form["properties"].as_object_mut() {
            properties.retain(|name, _| *name != field["name"]);
        }
        if let Some(required) = form["required"].as_array_mut() {
            required.retain(|name| *name != field["name"]);
        }
    }
}

/// Puts a type in the place of a reference to it that has further properties beside it: generators of clients pass over
/// those.
fn spell_out(schema: &mut Value, components: &Map<String, Value>) {
    match schema {
        Value::Object(object) => {
            let named = |reference: &Value| {
                let name = reference.as_str()?.rsplit('/').next()?;
                components.get(name)?.as_object().cloned()
            };
            if object.contains_key("properties")
                && let Some(mut whole) = object.get("$ref").and_then(named)
            {
                object.remove("$ref");
                for (key, own) in std::mem::take(object) {
                    match (whole.get_mut(&key), own) {
                        (Some(Value::Object(there)), Value::Object(own)) => there.extend(own),
                        (Some(Value::Array(there)), Value::Array(own)) => there.extend(own),
                        (_, own) => {
                            whole.insert(key, own);
                        }
                    }
                }
                *object = whole;
            }
            gather_words(object);
            object.values_mut().for_each(|inner| spell_out(inner, components));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| spell_out(inner, components)),
        _ => {}
    }
}

/// Makes one enumeration of the words that a value may be, where each stands by itself so that it is described: generators
/// of clients take the first of them for the only one.
fn gather_words(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get_mut("oneOf") else {
        return;
    };
    let is_word = |choice: &Value| choice["const"].is_string();
    if choices.iter().filter(|choice| is_word(choice)).count() < 2 {
        return;
    }
    let (words, rest): (Vec<Value>, Vec<Value>) =
        std::mem::take(choices).into_iter().partition(is_word);
    let said = words
        .iter()
        .map(|choice| {
            let says = choice["description"].as_str().unwrap_or_default();
            format!(
                "- `{}`: {says}",
                choice["const"].as_str().unwrap_or_default()
            )
        })
        .collect::<Vec<String>>()
        .join("\n");
    let all: Vec<&Value> = words.iter().map(|choice| &choice["const"]).collect();
    let mut words = json!({ "type": "string", "enum": all });
    if !rest.is_empty() {
        words["description"] = json!(said);
        *choices = std::iter::once(words).chain(rest).collect();
        return;
    }
    object.remove("oneOf");
    let before = object.get("description").and_then(Value::as_str);
    words["description"] = match before {
        Some(before) => json!(format!("{before}\n\n{said}")),
        None => json!(said),
    };
    if let Value::Object(words) = words {
        object.extend(words);
    }
}

fn described(operation: &Operation, schemas: &mut SchemaGenerator) -> Value {
    let answer = (operation.answer)(schemas);
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "responses": {
            "200": {
                "description": "The answer",
                "content": { "application/json": { "schema": answer } },
            },
            "default": { "$ref": "#/components/responses/Problem" },
        },
    });
    if operation.status == 201 || matches!(operation.id, "createSession" | "putObject") {
        described["responses"]["201"] = described["responses"]["200"].clone();
    }
    let takes = |name| operation.parameters.iter().any(|known| known.name == name);
    if operation.method == "get" && takes("If-None-Match") {
        described["responses"]["304"] =
            json!({ "description": "It is what `If-None-Match` names" });
    }
    if operation.operator {
        described["description"] = json!("Needs an operator's key, where there are keys.");
    }
    let parameters = operation.parameters.iter().map(|parameter| {
        let Parameter {
            name,
            place,
            says,
            takes,
        } = parameter;
        let schema = match takes {
            Takes::Text => json!({ "type": "string" }),
            Takes::Count => {
                json!({ "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 })
            }
            Takes::Instant => json!({ "type": "string", "format": "date-time" }),
            Takes::Id => json!({ "type": "string", "format": "uuid" }),
            Takes::OneOf(words) => json!({ "enum": words }),
            Takes::Form(form) => json!({ "type": "string", "pattern": form }),
        };
        json!({
            "name": name,
            "in": place,
            "required": *place == "path",
            "description": says,
            "schema": schema,
        })
    });
    let parameters: Vec<Value> = parameters.chain(operation.fields.iter().cloned()).collect();
    if !parameters.is_empty() {
        described["parameters"] = parameters.into();
    }
    if let Some(body) = operation.body {
        described["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": body(schemas) } },
        });
    }
    described
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "kind", "detail"],
        "properties": {
            "type": { "type": "string", "description": "`urn:tenure:problem:` and the kind" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "kind": { "enum": ["usage", "input", "budget", "policy", "conflict", "unavailable", "internal"] },
            "detail": { "type": "string", "description": "What happened" },
            "at": { "type": "object", "description": "Where: `source` is the field of the request, as a path such as `request.budget.tokens`, or the parameter or header" },
            "expected": { "type": "string", "description": "What was expected instead" },
            "hint": { "type": "string", "description": "What to do about it" },
            "mandatory": { "type": "array", "items": {}, "description": "What must go in and does not fit" },
        },
    })
}
