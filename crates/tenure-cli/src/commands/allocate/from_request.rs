//! Shares from a request: dry runs at this budget and at the others.

use tenure::{Error, Trace};

use super::{Row, Shares, Study, must_share, policy_sensitivity, section_cost, what_if};
use crate::args::AllocateArgs;
use crate::commands::compile::{Job, prepare};

/// Compiles at each budget.
pub(super) fn study(args: &AllocateArgs) -> Result<Study, Error> {
    let mut job = prepare(&args.compile)?;
    must_share(&job.policy)?;
    job.request.dry_run = true;
    let shares = shares(&job, &job.compile_as(&args.compile)?.single()?.trace);
    let mut request = job.request.clone();
    let what_if = what_if(&shares, &args.what_if, |budget| {
        request.budget.tokens = Some(budget);
        let outcome = job
            .workspace
            .compile(&job.world, &job.policy, &request, &job.candidates)?;
        Ok(self::shares(&job, &outcome.single()?.trace))
    })?;
    Ok(Study {
        sensitivity: policy_sensitivity(&job.policy),
        whose: "the policy's",
        shares,
        what_if,
    })
}

/// What a trace says of the shares. What the sections neither have nor leave had to go in.
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
            cost: section_cost(job.policy.section(report.section)),
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
