//! The operations of the table over HTTP: a path, a query and a body become the form, and the answer is its JSON.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawPathParams, Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::Schema;
use serde_json::{Value, json};
use tenure::{Error, ErrorKind};
use tenure_operations::{Access, Caller, Context, Effect, Entry, IF_MATCH, Input, Numbering};

use super::call::{Asked, expectation, json_body, names, tag, writing};
use super::parameters::{IF_NEWER, IF_STATE, ONCE};
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
        parameters: match (entry.effect, entry.state) {
            (Effect::Reads, Numbering::None) => &[],
            (Effect::Reads, _) => &[IF_NEWER],
            (Effect::Writes, Numbering::Expected) => &[IF_STATE, ONCE],
            (Effect::Writes, _) => &[ONCE],
        },
        fields: beside_the_body(entry),
        body: (!is_get).then_some(entry.form),
        answer: entry.answer,
        status: entry.route.status,
    };
    (operation, handler(entry))
}

/// Returns the fields of a form that the path has, and those of a read that the query has, as OpenAPI describes them.
fn beside_the_body(entry: &Entry) -> Vec<Value> {
    let form = entry.whole_form();
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
        .filter_map(|(name, property)| {
            let place = if entry.in_path().any(|field| field == name) {
                "path"
            } else if entry.route.method == "get" {
                "query"
            } else {
                return None;
            };
            let is_required = required.contains(&name.as_str());
            Some(in_text((name, place), property, is_required))
        })
        .collect()
}

/// Returns a field as a parameter, which is a text: what takes no word or number takes JSON.
fn in_text((name, place): (&str, &str), property: &Value, is_required: bool) -> Value {
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
        "in": place,
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
    let is_get = request.method() == Method::GET;
    let known = request.headers().get(header::IF_NONE_MATCH).cloned().filter(|_| is_get);
    let expected = expectation(request.headers())?;
    let body = if is_get {
        Default::default()
    } else {
        json_body(request, &app).await?
    };
    let answered = crate::blocking(move || {
        let input = Input::json(&body)?.with_texts(&form, texts)?;
        let context = Context {
            expected,
            ..app.context(&caller, writing)
        };
        if !entry.may_erase {
            return entry.answer(input, &context).map_err(refused);
        }
        let tenant = context.tenant()?;
        let before = tenant.version()?;
        let answer = entry.answer(input, &context)?;
        if tenant.log(before, u32::MAX)?.iter().any(|write| write.verb == "erase") {
            app.forget(&tenant)?;
        }
        Ok(answer)
    })
    .await?;
    let json = [(header::CONTENT_TYPE, "application/json")];
    let status = StatusCode::from_u16(entry.route.status).unwrap_or_default();
    let Some(tag) = answered.number.map(tag) else {
        return Ok((status, json, answered.json).into_response());
    };
    if known.is_some_and(|known| names(&known, &tag.1)) {
        return Ok((StatusCode::NOT_MODIFIED, [tag]).into_response());
    }
    Ok((status, json, [tag], answered.json).into_response())
}

/// The refusal of a call: a conflict with the state that was named is a precondition that failed.
fn refused(error: Error) -> Refusal {
    let is_state = error.at.as_ref().is_some_and(|at| at.source == IF_MATCH);
    if is_state && error.kind == ErrorKind::Conflict {
        return Refusal::with_status(StatusCode::PRECONDITION_FAILED, error);
    }
    error.into()
}
