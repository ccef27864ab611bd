//! Bodies of requests: the rules that one breaks, what a provider's cache does with one.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure::cache::{CachePlan, Explanation, Options, Sent, explain as difference, plan, seconds};
use tenure::conform::{Unread, Violation};
use tenure::inspect::LintReport;
use tenure::wire::Format;
use tenure::{Error, ObjectDocument, World};
use tenure_workspace::{HeldAnswer, RequestBody, check_answer, check_body};

use super::call::{Json, Said};
use super::compile::sources;
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// A body to check, or an answer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Checked {
    /// The body of a request to a provider, its messages, or the answer of a compile. With `answer` the request that it
    /// answers, where its tools and the schema that it asks for count, too.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    body: Option<Box<RawValue>>,
    /// The answer of a provider, or what a model says as a text: it is held against the hard constraints among `objects`.
    #[serde(default)]
    answer: Option<Value>,
    /// The objects with the constraints, and the evidence that the answer may cite.
    #[serde(default)]
    objects: Vec<ObjectDocument>,
    /// Whose form it has. Default: what it seems to have.
    #[serde(default)]
    target: Option<Format>,
    /// A model whose own rules count, too.
    #[serde(default)]
    model: Option<String>,
}

/// The rules that a body breaks, or what an answer does.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Broken {
    Body {
        target: Format,
        violations: Vec<Violation>,
        /// What the rules could not be held against, since its kind is not known.
        unread: Vec<Unread>,
    },
    Answer(HeldAnswer),
}

pub(super) async fn check(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(asked): Json<Checked>,
) -> Result<Said<Broken>, Refusal> {
    let found = crate::blocking(move || {
        if let Some(answer) = &asked.answer {
            let candidates = sources(&caller, asked.objects, true)?;
            let answer = match answer {
                Value::String(text) => text.clone(),
                message => message.to_string(),
            };
            let body = asked.body.as_deref().map(RawValue::get);
            let held = check_answer(&answer, "answer", asked.target, body, &candidates)?;
            return Ok(Broken::Answer(held));
        }
        let Some(body) = &asked.body else {
            return Err(Error::input("there is nothing to check")
                .at("body", None)
                .expected("the body of a request, or an `answer`")
                .into());
        };
        let world = asked.model.as_deref().map(|model| world(&app, model)).transpose()?;
        let checked = check_body(body.get(), "body", asked.target, world.as_deref())?;
        Ok(Broken::Body {
            target: checked.target,
            violations: checked.violations,
            unread: checked.unread,
        })
    });
    Ok(Said(found.await?))
}

/// Instructions to look through.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Linted {
    /// The objects.
    objects: Vec<ObjectDocument>,
}

pub(super) async fn lint(
    Extension(caller): Extension<Caller>,
    Json(asked): Json<Linted>,
) -> Result<Said<LintReport>, Refusal> {
    let found = crate::blocking(move || {
        let candidates = sources(&caller, asked.objects, true)?;
        Ok(tenure::inspect::lint(&candidates))
    });
    Ok(Said(found.await?))
}

fn world(app: &App, model: &str) -> Result<Arc<World>, Error> {
    app.world(model).in_field("model")
}

/// The world of the model that is named, or that a request names.
fn world_of(app: &App, named: Option<&str>, sent: Option<&str>) -> Result<Arc<World>, Error> {
    match (named, sent) {
        (None, None) => Err(Error::input("the request names no model")
            .at("model", None)
            .expected("a model of the catalogue")),
        (Some(named), _) => world(app, named),
        (None, Some(sent)) => world(app, sent).map_err(|error| {
            error.hint("the request names this model; `model` applies the rules of another")
        }),
    }
}

/// A request whose cache is planned.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Planned {
    /// The body of a request to a provider, or the answer of a compile.
    #[schemars(with = "Value")]
    body: Box<RawValue>,
    /// The request before it.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    previous: Option<Box<RawValue>>,
    /// Whose form they have. Default: what they seem to have.
    #[serde(default)]
    target: Option<Format>,
    /// The model. Default: the one that the request names.
    #[serde(default)]
    model: Option<String>,
    /// How long prefixes are to last: `5m`, `1h`. Default: the shortest that the model has.
    #[serde(default)]
    ttl: Option<String>,
    /// The same for all before the history.
    #[serde(default)]
    floor_ttl: Option<String>,
    /// Whether the provider marks the last block itself, where it can.
    #[serde(default)]
    automatic: bool,
    /// Whether the turn stays where it is in the next request, as in a chat.
    #[serde(default)]
    turn_stays: Option<bool>,
    /// Whether the body is given back with the plan's marks.
    #[serde(default)]
    apply: bool,
}

/// A plan, and the body with its marks.
#[derive(Serialize)]
struct Marked<'a> {
    plan: CachePlan,
    body: &'a RawValue,
}

fn read(body: &RawValue, field: &str) -> Result<RequestBody, Error> {
    RequestBody::read(body.get().to_owned(), field)
}

fn lifetime(text: Option<&String>, field: &str) -> Result<Option<u32>, Error> {
    text.map(|text| seconds(text).in_field(field)).transpose()
}

pub(super) async fn plan_cache(
    State(app): State<Arc<App>>,
    Json(asked): Json<Planned>,
) -> Result<Response, Refusal> {
    let planned = crate::blocking(move || {
        let body = read(&asked.body, "body")?;
        let sent = body.sent(asked.target)?;
        let previous = asked.previous.as_deref().map(|body| read(body, "previous")).transpose()?;
        let before: Option<Sent<'_>> =
            previous.as_ref().map(|body| body.sent(asked.target)).transpose()?;
        let world = world_of(&app, asked.model.as_deref(), sent.model())?;
        let mut options = Options::default();
        options.ttl = lifetime(asked.ttl.as_ref(), "ttl")?;
        options.floor_ttl = lifetime(asked.floor_ttl.as_ref(), "floor_ttl")?;
        options.automatic = asked.automatic;
        options.turn_stays = asked.turn_stays;
        let planned = plan(&world, &sent, &options, before.as_ref());
        let plan = planned.in_field("body")?;
        if !asked.apply {
            return Ok(Said(plan).into_response());
        }
        let text = std::str::from_utf8(body.bytes())
            .map_err(|_| Error::input("the body is not text").at("body", None))?;
        let marked = plan.apply(text)?;
        let body: &RawValue = serde_json::from_str(&marked).map_err(|_| {
            Error::input("the payload is no body that takes marks").at("body", None)
        })?;
        Ok(Said(Marked { plan, body }).into_response())
    });
    planned.await
}

/// Two requests, one after the other.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Successive {
    /// The body of the first, or the answer of its compile.
    #[schemars(with = "Value")]
    before: Box<RawValue>,
    /// The same of the second.
    #[schemars(with = "Value")]
    after: Box<RawValue>,
    /// Whose form they have. Default: what they seem to have.
    #[serde(default)]
    target: Option<Format>,
    /// The model. Default: the one that they name.
    #[serde(default)]
    model: Option<String>,
}

pub(super) async fn explain_cache(
    State(app): State<Arc<App>>,
    Json(asked): Json<Successive>,
) -> Result<Said<Explanation>, Refusal> {
    let explained = crate::blocking(move || {
        let (before, after) = (read(&asked.before, "before")?, read(&asked.after, "after")?);
        let (before, after) = (before.sent(asked.target)?, after.sent(asked.target)?);
        let named = after.model().or(before.model());
        let world = world_of(&app, asked.model.as_deref(), named)?;
        Ok(difference(&world, &before, &after).in_field("after")?)
    });
    Ok(Said(explained.await?))
}
