//! Shares from a request: dry runs at this budget and at the others.

use tenure::{Error, Outcome, Trace};

use super::{Row, Shares, Study, must_share, what_if};
use crate::job::Job;
use crate::workspace::Workspace;

impl Workspace {
    /// **allocate**: how the budget of a request is shared, by the outcome of its compile, and how other budgets would
    /// be: those that are asked for, or some around this one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when the policy's sections share nothing; as
    /// [`tenure::compile`].
    pub fn allocate(&self, job: &Job, outcome: &Outcome, others: &[u32]) -> Result<Study, Error> {
        must_share(&job.policy)?;
        let shares = first(job, outcome)?;
        let mut request = job.request.clone();
        request.dry_run = true;
        let what_if = what_if(&shares, others, |budget| {
            request.budget.tokens = Some(budget);
            let (world, policy, candidates) = (&job.world, &job.policy, job.candidates());
            let outcome = self.compile(world, policy, &request, candidates)?;
            first(job, &outcome)
        })?;
        Ok(Study {
            sensitivity: job.policy.document().cost_sensitivity,
            whose: "the policy's",
            shares,
            what_if,
        })
    }
}

/// The shares of the payload; of several, which share alike, of the first.
fn first(job: &Job, outcome: &Outcome) -> Result<Shares, Error> {
    match outcome.compiled().next() {
        Some(compiled) => Ok(shares(job, &compiled.trace)),
        None => Err(Error::input("the compile ended without a payload")),
    }
}

/// The shares in a trace. Tokens that the sections neither have nor leave are mandatory.
fn shares(job: &Job, trace: &Trace) -> Shares {
    let certificate = trace.certificate.unwrap_or_default();
    let rows: Vec<Row> = trace
        .allocations
        .iter()
        .map(|report| Row {
            section: report.section.to_string(),
            min: report.min,
            max: report.max,
            demand: report.demand,
            cost: job.policy.section(report.section).cost,
            allocated: report.allocated,
            used: Some(report.used),
            flow_back: Some(report.flow_back),
            marginal: report.marginal.unwrap_or(0.0),
        })
        .collect();
    let allocated: u32 = rows.iter().map(|row| row.allocated).sum();
    Shares {
        budget: trace.budget,
        mandatory: Some(trace.budget - allocated - certificate.unspent),
        lambda: trace.lambda.unwrap_or(0.0),
        certificate,
        rows,
    }
}
