//! The side contexts of tenants: the objects of a tenant's store that are added to a conversation, in `full`.

use std::sync::{Arc, OnceLock};

use tenure::answer::{AnswerConstraint, Source};
use tenure::time::Instant;
use tenure::{Candidates, Error, Policy};
use tenure_store::Tenant;
use tenure_workspace::{Gathered, Job, Policies, cited_by};

use crate::app::App;
use crate::cache::Cache;

/// The policy of `full` where the tenant keeps none of this name: the side context is small against the conversation, an
/// object that has nothing to do with the task is left out, and the conversation's own instructions are its identity.
const FULL: &str = "name = \"gateway\"\nextends = \"standard\"\nrequired = []\n\
[sections.codex]\nmax = 4096\n[sections.karma]\nmax = 512\nrelevance_floor = 0.02\n\
[sections.memory]\nmax = 1024\nrelevance_floor = 0.02\n\
[sections.evidence]\nmax = 2048\n[sections.recall]\nmax = 512\nrelevance_floor = 0.02\n\
[session]\nhigh_water = 0.95\n";
/// The name of a tenant's own policy for the gateway.
pub(super) const POLICY: &str = "gateway";
/// The most tenants whose side contexts are held.
const MAX_TENANTS: usize = 256;
/// The time for which a limit of a tenant's policy is taken as it was read, in microseconds: in `fit` hardly a request
/// waits for it.
const FRESH: i64 = 10 * 1_000_000;
/// The most constraints of a tenant that answers are checked against.
const MAX_CHECKED: usize = 64;

/// The objects of a tenant that are added to its conversations.
pub(super) struct SideContext {
    pub(super) gathered: Gathered,
    /// The constraints that a machine can check, each with its place among the candidates.
    pub(super) constraints: Vec<(usize, Arc<AnswerConstraint>)>,
    /// Sources that answers may cite, likewise; empty where no constraint asks for it.
    pub(super) sources: Vec<(usize, Source)>,
}

impl SideContext {
    fn of(gathered: Gathered) -> SideContext {
        let candidates = gathered.candidates.objects().iter().enumerate();
        let mut checked = 0;
        let constraints: Vec<(usize, Arc<AnswerConstraint>)> = candidates
            .filter_map(|(at, object)| {
                let constraint = AnswerConstraint::of(object, checked < MAX_CHECKED)?;
                checked += 1;
                Some((at, Arc::new(constraint)))
            })
            .collect();
        let must_cite = constraints.iter().any(|(_, constraint)| constraint.must_cite());
        let objects = gathered.candidates.objects().iter().enumerate();
        let sources = objects
            .filter(|_| must_cite)
            .filter_map(|(at, object)| Some((at, cited_by(object)?)));
        SideContext {
            sources: sources.collect(),
            constraints,
            gathered,
        }
    }

    /// The places of its constraints among the candidates, and of what answers may cite.
    pub(super) fn watched(&self) -> impl Iterator<Item = usize> {
        self.constraints
            .iter()
            .map(|(at, _)| *at)
            .chain(self.sources.iter().map(|(at, _)| *at))
    }
}

/// The side contexts of tenants, each held for as long as its store does not change.
pub(super) struct SideContexts {
    /// By tenant, with the resident objects that they were made of.
    of: Cache<String, (Arc<Candidates>, Arc<SideContext>)>,
    /// The policy of tenants that keep none.
    policy: OnceLock<Policy>,
    /// The most tokens of an answer, by tenant, and when that was read.
    limits: Cache<String, (Instant, Option<u32>)>,
}

impl Default for SideContexts {
    fn default() -> SideContexts {
        SideContexts {
            of: Cache::of(MAX_TENANTS),
            policy: OnceLock::new(),
            limits: Cache::of(MAX_TENANTS),
        }
    }
}

impl SideContexts {
    /// Lets go of what is held of a tenant.
    pub(super) fn forget(&self, tenant: &str) {
        self.of.remove(tenant);
        self.limits.remove(tenant);
    }

    /// Returns the most tokens that an answer may have, where the tenant's policy says so, as it was read a moment ago.
    pub(super) fn max_answer(&self, app: &App, tenant: &Tenant) -> Result<Option<u32>, Error> {
        let known = self.limits.get(tenant.name()).filter(|(read, _)| {
            let age = app.now().micros().saturating_sub(read.micros());
            (0..FRESH).contains(&age)
        });
        if let Some((_, limit)) = known {
            return Ok(limit);
        }
        let kept = Policies::of(tenant).get(POLICY, None)?;
        let limit = kept.and_then(|kept| kept.document().session.max_answer());
        let read = (app.now(), limit);
        self.limits.insert(tenant.name().to_owned(), read);
        Ok(limit)
    }

    /// Returns the policy of tenants that keep none.
    pub(super) fn default_policy(&self) -> Result<&Policy, Error> {
        match self.policy.get() {
            Some(policy) => Ok(policy),
            None => {
                let policy = Policy::from_toml(FULL)?;
                Ok(self.policy.get_or_init(|| policy))
            }
        }
    }

    /// Returns what was gathered beside a conversation, without its tools, which the agent that asks does not run.
    pub(super) fn of(&self, tenant: &Tenant, job: &Job) -> Arc<SideContext> {
        let candidates = &job.gathered.candidates;
        let known = self.of.get(tenant.name());
        if let Some((of, context)) = known
            && Arc::ptr_eq(&of, candidates)
        {
            return context;
        }
        let context = Arc::new(SideContext::of(job.gathered.without_tools()));
        let made = (Arc::clone(candidates), Arc::clone(&context));
        self.of.insert(tenant.name().to_owned(), made);
        context
    }
}
