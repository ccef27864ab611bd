//! The operations of the table over HTTP: a path, a query and a body become the form, and the answer is its JSON.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::Schema;
use serde_json::{Value, json};
use tenure_operations::{Access, Caller, Effect, Entry, Input};

use super::call::{Asked, json_body, writing};
use super::parameters::ONCE;
use super::{Operation, Routed};
use crate::app::App;
use crate::error::Refusal;

/// Returns the row of an operation in the table of the API.
pub(super) fn routed(entry: &'static Entry) -> Routed {
    let is_get = entry.route.method == "get";
    let operation = Operation {
        method: entry.route.method,
        path: entry.route.path,
        id: entry.id,
        summary: entry.summary().into(),
        operator: entry.access == Access::Operator,
        effect: entry.effect,
        parameters: match entry.effect {
            Effect::Reads => &[],
            Effect::Writes => &[ONCE],
        },
        fields: if is_get {
            in_query(&entry.whole_form())
        } else {
            Vec::new()
        },
        body: (!is_get).then_some(entry.form),
        answer: entry.answer,
    };
    (operation, handler(entry))
}

/// Returns the fields of a form as parameters of a query, as OpenAPI describes them.
fn in_query(form: &Schema) -> Vec<Value> {
    let properties = form.get("properties").and_then(Value::as_object);
    let required: Vec<&str> = form
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| in_text(name, property, required.contains(&name.as_str())))
        .collect()
}

/// Returns a field as a parameter, which is a text: what takes no word or number takes JSON.
fn in_text(name: &str, property: &Value, is_required: bool) -> Value {
    let says = property["description"].as_str().unwrap_or_default();
    let mut schema = match property["anyOf"].as_array() {
        Some(choices) => choices.iter().find(|choice| choice["type"] != "null"),
        None => Some(property),
    }
    .cloned()
    .unwrap_or_default();
    if let Some(kinds) = schema["type"].as_array() {
        schema["type"] = kinds.iter().find(|kind| *kind != "null").cloned().into();
    }
    let is_whole = schema["type"] == "object" || schema["type"] == "array";
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|key, _| key != "description" && key != "default");
    }
    let (says, schema) = if is_whole {
        (format!("{says}; as JSON"), json!({ "type": "string" }))
    } else {
        (says.to_owned(), schema)
    };
    json!({
        "name": name,
        "in": "query",
        "required": is_required,
        "description": says,
        "schema": schema,
    })
}

/// Returns the handler that answers an operation.
fn handler(entry: &'static Entry) -> MethodRouter<Arc<App>> {
    let form = Arc::new(entry.whole_form());
    let filter = match entry.route.method {
        "get" => MethodFilter::GET,
        _ => MethodFilter::POST,
    };
    on(
        filter,
        move |State(app): State<Arc<App>>,
              Extension(caller): Extension<Caller>,
              path: RawPathParams,
              Asked(mut texts): Asked<Vec<(String, String)>>,
              request: Request| {
            let path = path.iter();
            texts.extend(path.map(|(name, text)| (name.to_owned(), text.to_owned())));
            answer(entry, Arc::clone(&form), app, caller, texts, request)
        },
    )
}

async fn answer(
    entry: &'static Entry,
    form: Arc<Schema>,
    app: Arc<App>,
    caller: Caller,
    texts: Vec<(String, String)>,
    request: Request,
) -> Result<Response, Refusal> {
    let writing = writing(request.headers(), &caller)?;
    let body = if request.method() == Method::GET {
        Default::default()
    } else {
        json_body(request, &app).await?
    };
    let json = crate::blocking(move || {
        let input = Input::json(&body)?.with_texts(&form, texts)?;
        let context = app.context(&caller, writing);
        if !entry.may_erase {
            return Ok(entry.call(input, &context)?);
        }
        let tenant = context.tenant()?;
        let before = tenant.version()?;
        let answer = entry.call(input, &context)?;
        if tenant.log(before, u32::MAX)?.iter().any(|write| write.verb == "erase") {
            app.forget(&tenant)?;
        }
        Ok(answer)
    })
    .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], json).into_response())
}
