//! `compile` and `explain`.

use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use tenure::inspect::{Quality, why_not};
use tenure::object::Sealer;
use tenure::policy::{PiiRule, PolicyDocument};
use tenure::request::json_error;
use tenure::time::Instant;
use tenure::trace::View;
use tenure::{
    Candidates, Error, ErrorKind, Facts, ObjectDocument, Outcome, Policy, Request, World,
};
use tenure_store::{Resident, Tenant};
use tenure_workspace::{Done, Gathered, Job, Originals, RegistryRef};

use super::call::{Json, Said, own, tenant};
use crate::app::App;
use crate::arriving::Traced;
use crate::caller::Caller;
use crate::clock::now;
use crate::error::Refusal;
use crate::metrics::{What, Word};
use crate::quality::observe;

/// The model that is compiled for when nobody names one.
pub(super) const DEFAULT_MODEL: &str = "gpt-4o";

/// What is compiled.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    /// The request. Its `principal` may be less than the key grants, never more; without one, it is what
    /// the key grants.
    #[schemars(with = "Request")]
    pub(super) request: Value,
    /// The name of a preset or of a policy that the store keeps, or a whole policy. Default: `standard`.
    #[serde(default)]
    #[schemars(with = "Option<NamedOrWhole>")]
    pub(super) policy: Option<Value>,
    /// Objects that stand before those of the store; where both have one, this stands. Without a `principal` in the
    /// request they are the caller's own words, which no label of theirs hides from the caller.
    #[serde(default)]
    pub(super) objects: Vec<ObjectDocument>,
    /// A registry of the tenant's store whose blocks stand behind the objects that are sent, in its order, and
    /// before what else the store holds: `main`, or `main@17` as it stood at an entry of its log.
    #[serde(default)]
    pub(super) registry: Option<String>,
    /// Whether the objects of the tenant's store are candidates. Default: they are, where there is a store.
    #[serde(default)]
    pub(super) store: Option<bool>,
    /// The version of the tenant that must have been read, as a write gives it: no compile comes before
    /// that write. Default: what the store holds when it is asked.
    #[serde(default)]
    pub(super) version: Option<u64>,
    /// Whether a record is kept, from which the compile can be made again.
    #[serde(default)]
    pub(super) record: bool,
    /// Whose trace is given back. Default: the operator's for an operator's key, else the caller's.
    #[serde(default)]
    pub(super) view: Option<View>,
    /// Whether the quality metrics of the payload are given back, too.
    #[serde(default)]
    pub(super) quality: bool,
}

/// What is to be explained.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Question {
    /// What is compiled.
    #[schemars(flatten)]
    call: Call,
    /// The object to say about why it is in or out, and what would have let it in. Only for operators.
    #[schemars(default)]
    why: Option<String>,
}

// A derived `flatten` lets fields through that nobody knows.
impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Question, D::Error> {
        let mut fields = Map::deserialize(from)?;
        let why = fields.remove("why").unwrap_or_default();
        let why = Option::deserialize(why).map_err(D::Error::custom)?;
        let call = Call::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(Question { call, why })
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
        let prepared = prepare(&app, &caller, call, Reach::Resident)?;
        let started = Clock::now();
        let done = prepared.run(&app)?;
        let candidates = &prepared.gathered.candidates;
        let took = started.elapsed();
        let what = Word(match &done.outcome {
            Outcome::Complete(_) => "complete",
            Outcome::Deferred { .. } => "deferred",
            Outcome::Pages { .. } => "pages",
            _ => "other",
        });
        app.metrics.compiles.get_or_create(&What { what }).inc();
        let observed = observe(&app, context.as_ref(), &done.outcome, candidates, took);
        Ok(observed.map(|quality| Answer {
            done,
            quality: wants_quality.then_some(quality),
        }))
    });
    Ok(Said(done.await??))
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
        if why.is_some() && !caller.grant.operator {
            return Err(Error::new(
                ErrorKind::Policy,
                "why an object is in or out is for operators to ask",
            ));
        }
        let mut prepared = prepare(&app, &caller, call, Reach::Resident)?;
        prepared.request.dry_run = true;
        let done = prepared.run(&app)?;
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
        let first = traces
            .next()
            .ok_or_else(|| Error::input("the compile gave nothing"))?;
        let (world, policy, request) = (&prepared.world, &prepared.policy, &prepared.request);
        let candidates = &prepared.gathered.candidates;
        let facts = app.workspace.answer(world, policy, request, candidates)?;
        let answer = why_not(world, policy, request, candidates, &facts, first, name)?;
        serde_json::to_value(answer).map_err(|error| unwritable(&error))
    });
    Ok(Said(explained.await?).into_response())
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the answer cannot be written as JSON: {error}"),
    )
}

/// Everything that a compile depends on.
pub(super) struct Prepared {
    pub(super) world: Arc<World>,
    pub(super) policy: Policy,
    pub(super) request: Request,
    pub(super) gathered: Gathered,
    /// The store that is in use.
    tenant: Option<Tenant>,
    /// The store, and when a record is kept in it.
    record: Option<(Tenant, Instant)>,
    view: View,
}

impl Prepared {
    fn run(&self, app: &App) -> Result<Done, Error> {
        self.with_job(app, |job| app.workspace.run(job))
    }

    /// What follows a compile that was made already.
    pub(super) fn finish(
        &self,
        app: &App,
        outcome: Outcome,
        facts: &Facts,
        latency: Duration,
    ) -> Result<Done, Error> {
        self.with_job(app, |job| {
            app.workspace.finish(job, outcome, facts, latency)
        })
    }

    fn with_job<T>(&self, app: &App, then: impl FnOnce(&Job<'_>) -> T) -> T {
        then(&Job {
            world: &self.world,
            policy: &self.policy,
            request: &self.request,
            gathered: &self.gathered,
            originals: &|| Originals::chosen(app.originals.as_deref(), self.tenant.clone()),
            record: self.record.as_ref().map(|(tenant, at)| (tenant, *at)),
            view: self.view,
        })
    }
}

/// Which of a store's objects are candidates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those that a compile takes.
    Resident,
    /// Those that are archived or demoted, too.
    Archive,
}

pub(super) fn prepare(
    app: &App,
    caller: &Caller,
    call: Call,
    reach: Reach,
) -> Result<Prepared, Error> {
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
    let mut request = request(caller, call.request)?;
    let world = app.world(request.model.as_deref().unwrap_or(DEFAULT_MODEL))?;
    request.model = Some(world.model_name().to_owned());
    let looks_back = request.as_of.known.is_some();
    let instant = now();
    let second = Instant::from_micros(instant.micros() - instant.micros().rem_euclid(1_000_000));
    request.as_of.valid.get_or_insert(second);
    let wanted = call.store.unwrap_or(app.store.is_some());
    let tenant = if wanted || call.record || call.registry.is_some() {
        Some(tenant(app, caller)?)
    } else {
        None
    };
    let policy = policy(
        app,
        caller,
        tenant.as_ref(),
        call.policy,
        request.as_of.known,
    )?;
    let mut sealer = Sealer::default();
    let mut objects = Vec::with_capacity(call.objects.len());
    for mut document in call.objects {
        own(&mut document, caller)?;
        document.distrust_the_web();
        objects.push(sealer.seal(document)?);
    }
    let mut sources = if own_words {
        Candidates::new(objects).said()
    } else {
        Candidates::new(objects)
    };
    let mut read = None;
    if let (Some(registry), Some(tenant)) = (&call.registry, &tenant) {
        // Which registries there are is for operators to know.
        let registry = RegistryRef::find(tenant, registry, caller.grant.operator)?;
        registry.check(looks_back)?;
        let found = app.registry(tenant, &registry)?;
        sources = found.behind(sources);
        read = Some(found.read.clone());
    }
    let gathered = match &tenant {
        Some(tenant) if wanted => {
            let least = call.version.unwrap_or(0);
            if looks_back {
                let resident = match (request.as_of.known, reach) {
                    (Some(known), Reach::Resident) => Arc::new(tenant.load_as_of(known)?),
                    (Some(known), Reach::Archive) => Arc::new(tenant.load_archive_as_of(known)?),
                    (None, _) => app.resident(tenant)?,
                };
                at_least(least, &resident)?;
                Gathered::over(sources, tenant, &resident, request.as_of.known)
            } else {
                // Now is when the store is read: what was written before is known.
                let resident = match reach {
                    Reach::Resident => app.resident(tenant)?,
                    Reach::Archive => app.archive(tenant)?,
                };
                at_least(least, &resident)?;
                let gathered = Gathered::over(sources, tenant, &resident, None);
                request.as_of.known = Some(gathered.known_at(now()));
                gathered
            }
        }
        _ => {
            request.as_of.known.get_or_insert(second);
            Gathered::of_sources(sources)
        }
    };
    Ok(Prepared {
        world,
        policy,
        request,
        gathered: gathered.with_registry(read),
        record: tenant
            .clone()
            .filter(|_| call.record)
            .map(|tenant| (tenant, now())),
        tenant,
        view,
    })
}

/// A store that lags behind a write that the request names is not read as if it did not.
fn at_least(version: u64, resident: &Resident) -> Result<(), Error> {
    let read = resident.version();
    if version <= read {
        return Ok(());
    }
    let what = format!("the store has not come to version {version} yet: it is at {read}");
    Err(Error::new(ErrorKind::Unavailable, what)
        .hint("try again, or name a version that a write gave"))
}

/// The request, on behalf of no more than the caller is.
fn request(caller: &Caller, value: Value) -> Result<Request, Error> {
    let unnamed = value.get("principal").is_none();
    let mut request: Request =
        serde_json::from_value(value).map_err(|error| json_error(&error, "request"))?;
    request.principal = if unnamed {
        caller.grant.principal()
    } else {
        caller.grant.bind(request.principal)?
    };
    request.validate()?;
    Ok(request)
}

/// The policy that is asked for. One that the caller brings grants nothing that the caller was not granted.
pub(super) fn policy(
    app: &App,
    caller: &Caller,
    tenant: Option<&Tenant>,
    asked: Option<Value>,
    known: Option<Instant>,
) -> Result<Policy, Error> {
    match asked {
        None => Policy::preset("standard"),
        Some(Value::String(name)) => match (Policy::preset(&name), tenant) {
            (Err(error), Some(tenant)) => {
                let kept = app.workspace.kept_policy(tenant, &name, known)?;
                kept.ok_or(error)
            }
            (preset, _) => preset,
        },
        Some(whole) => {
            let document: PolicyDocument =
                serde_json::from_value(whole).map_err(|error| json_error(&error, "policy"))?;
            if document.pii == PiiRule::Off && !(caller.grant.pii || caller.grant.operator) {
                let what = "the policy shows personal data, which is not granted";
                return Err(Error::new(ErrorKind::Policy, what).expected("`pii` = `tagged`"));
            }
            Policy::seal(document)
        }
    }
}
