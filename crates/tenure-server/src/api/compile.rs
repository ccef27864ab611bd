//! `compile` and `explain`.

use std::sync::Arc;
use std::time::Instant as Clock;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tenure::inspect::Quality;
use tenure::object::Sealer;
use tenure::policy::{PiiRule, PolicyDocument};
use tenure::trace::View;
use tenure::{Candidates, Error, ErrorKind, ObjectDocument, Outcome, Policy, Request};
use tenure_workspace::{Ask, Choice, Done, Job, Reach, StoreAsk};

use super::call::{Json, Said, tenant};
use super::packages::{Carried, candidates};
use crate::app::App;
use crate::arriving::Traced;
use crate::error::Refusal;
use crate::telemetry::metrics::{What, Word};
use crate::telemetry::quality::observe;
use tenure_operations::Caller;
use tenure_operations::fields::{InField, read_field};

/// What is compiled.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Call {
    /// The request. Its `principal` may be less than the key grants, never more; without one, it is what
    /// the key grants.
    #[schemars(with = "Request")]
    pub(crate) request: Value,
    /// The name of a preset or of a policy that the store keeps, or a whole policy. Default: `standard`.
    #[serde(default)]
    #[schemars(with = "Option<NamedOrWhole>")]
    pub(crate) policy: Option<Value>,
    /// Objects that stand before those of the store; where both have one, this stands. Without a `principal` in the
    /// request they are the caller's own words, which no label of theirs hides from the caller.
    #[serde(default)]
    pub(crate) objects: Vec<ObjectDocument>,
    /// Packages whose items stand behind these objects: data, which the principal sees as far as their labels allow.
    #[serde(default)]
    pub(crate) packages: Vec<Carried>,
    /// A registry of the tenant's store whose blocks stand behind the objects that are sent, in its order, and
    /// before what else the store holds: `main`, or `main@17` as it stood at an entry of its log.
    #[serde(default)]
    pub(crate) registry: Option<String>,
    /// Whether the objects of the tenant's store are candidates. Default: they are, where there is a store.
    #[serde(default)]
    pub(crate) store: Option<bool>,
    /// The version of the tenant that must have been read, as a write gives it: no compile comes before
    /// that write. Default: what the store holds when it is asked.
    #[serde(default)]
    pub(crate) version: Option<u64>,
    /// Whether a record is kept, from which the compile can be made again.
    #[serde(default)]
    pub(crate) record: bool,
    /// Whose trace is given back. Default: the operator's for an operator's key, else the caller's.
    #[serde(default)]
    pub(crate) view: Option<View>,
    /// Whether the quality metrics of the payload are given back, too.
    #[serde(default)]
    pub(crate) quality: bool,
}

/// What is to be explained.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Question {
    /// What is compiled.
    #[schemars(flatten, with = "Call")]
    call: Value,
    /// The object to say about why it is in or out, and what would have let it in. Only for operators.
    #[schemars(default, with = "Option<String>")]
    why: Value,
}

// A derived `flatten` lets fields through that nobody knows.
impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Question, D::Error> {
        let mut fields = Map::deserialize(from)?;
        let why = fields.remove("why").unwrap_or_default();
        Ok(Question {
            call: Value::Object(fields),
            why,
        })
    }
}

/// A policy, as the description shows it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // only its schema is used
enum NamedOrWhole {
    Name(String),
    Whole(Box<PolicyDocument>),
}

pub(super) async fn compile(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(Traced(context)): Extension<Traced>,
    Json(call): Json<Call>,
) -> Result<Said<Answer>, Refusal> {
    let done = crate::blocking(move || {
        let wants_quality = call.quality;
        let job = prepare(&app, &caller, call, Reach::Resident)?;
        let started = Clock::now();
        let done = app.workspace.run(&job).in_field("request")?;
        let candidates = job.candidates();
        let took = started.elapsed();
        let what = Word(match &done.outcome {
            Outcome::Complete(_) => "complete",
            Outcome::Deferred { .. } => "deferred",
            Outcome::Pages { .. } => "pages",
            _ => "other",
        });
        let compiles = &app.telemetry.metrics.compiles;
        compiles.get_or_create(&What { what }).inc();
        let quality = observe(
            &app.telemetry,
            context.as_ref(),
            &done.outcome,
            candidates,
            took,
        )?;
        Ok(Answer {
            done,
            quality: wants_quality.then_some(quality),
        })
    });
    Ok(Said(done.await?))
}

/// What is answered.
#[derive(Serialize)]
pub(super) struct Answer {
    #[serde(flatten)]
    done: Done,
    /// How good each payload is.
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<Vec<Quality>>,
}

pub(super) async fn explain(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(Question { call, why }): Json<Question>,
) -> Result<Response, Refusal> {
    let explained = crate::blocking(move || {
        let why: Option<String> = read_field(why, "why")?;
        let call: Call = read_field(call, "")?;
        if why.is_some() && !caller.grant.operator {
            let what = "why an object is in or out is for operators to ask";
            return Err(Error::new(ErrorKind::Policy, what).into());
        }
        let mut job = prepare(&app, &caller, call, Reach::Resident)?;
        job.request.dry_run = true;
        let done = app.workspace.run(&job).in_field("request")?;
        let mut traces = done.outcome.compiled().map(|compiled| &compiled.trace);
        let Some(name) = &why else {
            let traces: Vec<Value> = traces
                .map(serde_json::to_value)
                .collect::<Result<_, _>>()
                .map_err(|error| unwritable(&error))?;
            return Ok(match <[Value; 1]>::try_from(traces) {
                Ok([trace]) => trace,
                Err(pages) => Value::Array(pages),
            });
        };
        let first = traces.next().ok_or_else(|| Error::input("the compile gave nothing"))?;
        let answer = app.workspace.why_not(&job, first, name).in_field("why")?;
        Ok(serde_json::to_value(answer).map_err(|error| unwritable(&error))?)
    });
    Ok(Said(explained.await?).into_response())
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the answer cannot be written as JSON: {error}"),
    )
}

/// Makes ready what a call asks for, as far as the caller may.
pub(crate) fn prepare(app: &App, caller: &Caller, call: Call, reach: Reach) -> Result<Job, Error> {
    let view = match call.view {
        None if caller.grant.operator => View::Operator,
        None => View::Caller,
        Some(View::Operator) if !caller.grant.operator => {
            return Err(
                Error::new(ErrorKind::Policy, "the operator's view is for operators")
                    .expected("caller"),
            );
        }
        Some(view) => view,
    };
    // Who compiles for another asks what that one may see; who compiles for themselves knows what they send.
    let own_words = call.request.get("principal").is_none();
    let request = request(caller, call.request)?;
    let principal = request.principal.clone();
    if call.record && caller.grant.read_only {
        let what = "the key only reads, and a record is written";
        return Err(Error::new(ErrorKind::Policy, what).at("record", None).expected("no `record`"));
    }
    let wants_objects = call.store.unwrap_or(app.store.is_some());
    let store = if wants_objects || call.record || call.registry.is_some() {
        Some(StoreAsk {
            tenant: tenant(app, caller)?,
            objects: wants_objects.then_some(reach),
            version: call.version.unwrap_or(0),
            registry: call.registry.as_deref(),
            // Which registries there are is for operators to know.
            names_registries: caller.grant.operator,
            record: call.record,
        })
    } else {
        None
    };
    let own = store.as_ref().map(|store: &StoreAsk<'_>| &store.tenant);
    let chosen = policy(caller, call.policy.as_ref())?;
    let chosen = app
        .workspace
        .chosen_policy(chosen, own, request.as_of.known)
        .in_field("policy")?;
    let ask = Ask {
        request,
        policy: Choice::Given(Box::new(chosen)),
        sources: Box::new(|| {
            let own = sources(caller, call.objects, own_words)?;
            candidates(app, &principal, call.packages, own)
        }),
        store,
        originals: app.settings.originals.clone(),
        view,
    };
    // Whatever else names no field is the registry's.
    let field = call.registry.as_ref().map_or("request", |_| "registry");
    app.workspace.prepare(ask, app).in_field(field)
}

/// The objects that a call brings.
pub(super) fn sources(
    caller: &Caller,
    documents: Vec<ObjectDocument>,
    own_words: bool,
) -> Result<Candidates, Error> {
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(documents.len());
    for (at, mut document) in documents.into_iter().enumerate() {
        caller.own(&mut document)?;
        let within = format!("objects[{at}]");
        document.complete().in_field(&within)?;
        document.untyped_is_data();
        document.distrust(caller.grant.authority());
        document.check_provenance().in_field(&within)?;
        objects.push(sealer.seal(document).in_field(&within)?);
    }
    let sources = Candidates::new(objects);
    Ok(if own_words { sources.said() } else { sources })
}

/// The request, on behalf of no more than the caller is.
fn request(caller: &Caller, value: Value) -> Result<Request, Error> {
    let unnamed = value.get("principal").is_none();
    let mut request: Request = read_field(value, "request")?;
    request.principal = if unnamed {
        caller.grant.principal()
    } else {
        caller.grant.bind(request.principal)?
    };
    request.validate().within("request")?;
    Ok(request)
}

/// The policy that is asked for. One that the caller brings grants nothing that the caller was not granted.
pub(super) fn policy<'a>(caller: &Caller, asked: Option<&'a Value>) -> Result<Choice<'a>, Error> {
    match asked {
        None => Ok(Choice::Named("standard")),
        Some(Value::String(name)) => Ok(Choice::Named(name)),
        Some(whole) => {
            let document: PolicyDocument = read_field(whole.clone(), "policy")?;
            if document.pii == PiiRule::Off && !(caller.grant.pii || caller.grant.operator) {
                let what = "the policy shows personal data, which is not granted";
                return Err(Error::new(ErrorKind::Policy, what).expected("`pii` = `tagged`"));
            }
            let sealed = Policy::seal(document).in_field("policy")?;
            Ok(Choice::Given(Box::new(sealed)))
        }
    }
}
