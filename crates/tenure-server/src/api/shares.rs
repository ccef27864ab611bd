//! `gate` and `allocate`: what a compile would let pass, and how it would share its budget.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tenure::section::Section;
use tenure::{Error, admitted};
use tenure_workspace::allocate::{Claims, NamedClaim};
use tenure_workspace::{GateReport, Reach};

use super::call::{Json, Said, tenant};
use super::compile::{Call, policy, prepare};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// The most other budgets of a call: each of them is a compile.
const MOST_BUDGETS: usize = 16;

/// What a question about a compile does not take.
fn only_asks(call: &Call, field: &str) -> Result<(), Error> {
    let kept = [
        ("record", call.record),
        ("view", call.view.is_some()),
        ("quality", call.quality),
    ];
    match kept.iter().find(|(_, is_set)| *is_set) {
        None => Ok(()),
        Some((name, _)) => Err(Error::input(format!(
            "nothing is compiled, so `{name}` means nothing"
        ))
        .at(format!("{field}{name}"), None)
        .expected("a call without it")),
    }
}

pub(super) async fn gate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(mut call): Json<Call>,
) -> Result<Said<GateReport>, Refusal> {
    let gated = crate::blocking(move || {
        only_asks(&call, "")?;
        call.policy.get_or_insert_with(|| json!("ordered"));
        let job = prepare(&app, &caller, call, Reach::Resident)?;
        let (world, policy, request) = (&job.world, &job.policy, &job.request);
        let gating = app
            .workspace
            .gate(world, policy, request, job.candidates())
            .in_field("request")?;
        let shown = admitted(policy, &request.principal, job.candidates());
        Ok(GateReport::of(&gating, job.candidates(), &shown))
    });
    Ok(Said(gated.await?))
}

/// What is shared: the demands of sections under a policy, claims, or what a compile would hold.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Allocation {
    /// The tokens to share. With `compile`, its request has them.
    #[serde(default)]
    budget: Option<u32>,
    /// How many tokens each section asks for; the policy says the rest.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, u32>")]
    demands: BTreeMap<Section, u32>,
    /// For demands: as for a compile.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    policy: Option<Value>,
    /// Claims of one's own instead: each with a `name` and a `demand`, and as it has them `weight`, `alpha`, `beta`,
    /// `min`, `max`, `cost`.
    #[serde(default)]
    #[schemars(with = "Vec<Value>")]
    claims: Vec<NamedClaim>,
    /// The worth that a cost of 1 takes from a token. Default: the policy's; of claims 0.
    #[serde(default)]
    sensitivity: Option<f64>,
    /// A compile instead, which is not recorded.
    #[serde(default)]
    compile: Option<Call>,
    /// Other budgets, 16 at most. Default: ½, ¾, 1, 1½ and 2 times this one.
    #[serde(default)]
    what_if: Vec<u32>,
}

impl Allocation {
    /// Checks what goes with what.
    fn check(&self) -> Result<(), Error> {
        if self.what_if.len() > MOST_BUDGETS {
            let what = format!("{} other budgets are too many", self.what_if.len());
            return Err(Error::input(what)
                .at("what_if", None)
                .expected(format!("at most {MOST_BUDGETS}")));
        }
        let given = [
            self.compile.is_some(),
            !self.claims.is_empty(),
            !self.demands.is_empty(),
        ];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err(Error::input(
                "`demands`, `claims` and `compile` exclude each other, and one is needed",
            )
            .at("demands", None)
            .expected("`demands`, `claims` or `compile`"));
        }
        let unread = [
            ("budget", self.compile.is_some() && self.budget.is_some()),
            (
                "sensitivity",
                self.compile.is_some() && self.sensitivity.is_some(),
            ),
            ("policy", self.demands.is_empty() && self.policy.is_some()),
        ];
        match unread.iter().find(|(_, is_set)| *is_set) {
            Some((field, _)) => Err(Error::input(format!("`{field}` means nothing here"))
                .at(*field, None)
                .expected("a call without it")),
            None => Ok(()),
        }
    }

    fn claims(self, app: &App, caller: &Caller) -> Result<Claims, Error> {
        if !self.claims.is_empty() {
            let sensitivity = self.sensitivity.unwrap_or(0.0);
            return Claims::named(self.claims, sensitivity, "claims");
        }
        let own = app.store.as_ref().map(|_| tenant(app, caller)).transpose()?;
        let chosen = policy(caller, self.policy.as_ref())?;
        let policy = app.workspace.chosen_policy(chosen, own.as_ref(), None).in_field("policy")?;
        let claims = Claims::from_demands(&self.demands, &policy, "demands")?;
        Ok(claims.with_sensitivity(self.sensitivity))
    }
}

pub(super) async fn allocate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(mut asked): Json<Allocation>,
) -> Result<Response, Refusal> {
    let study = crate::blocking(move || {
        asked.check()?;
        let others = std::mem::take(&mut asked.what_if);
        if let Some(call) = asked.compile.take() {
            only_asks(&call, "compile.")?;
            let mut job = prepare(&app, &caller, call, Reach::Resident).within("compile")?;
            job.request.dry_run = true;
            let (world, policy, request) = (&job.world, &job.policy, &job.request);
            let outcome = app
                .workspace
                .compile(world, policy, request, job.candidates())
                .in_field("compile.request")?;
            let study = app.workspace.allocate(&job, &outcome, &others)?;
            return Ok(Said(study.json()).into_response());
        }
        let budget = asked.budget.filter(|budget| *budget > 0).ok_or_else(|| {
            Error::input("there is no budget to share")
                .at("budget", None)
                .expected("a number of tokens, at least 1")
        })?;
        let study = asked.claims(&app, &caller)?.study(budget, &others)?;
        Ok(Said(study.json()).into_response())
    });
    study.await
}
