//! `tenure explain`.

use tenure::inspect::why_not;

use super::compile::prepare;
use super::print_json;
use crate::args::{ExplainArgs, Format};
use crate::failure::Failure;
use crate::report;

/// Compiles and prints how it came to its result.
pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut job = prepare(&args.compile)?;
    job.request.dry_run = true;
    let outcome = job.compile_as(&args.compile)?;
    let compiled = outcome.single()?;
    if let Some(name) = &args.why {
        let facts = job
            .workspace
            .answer(&job.world, &job.policy, &job.request, &job.candidates)?;
        let answer = why_not(
            &job.world,
            &job.policy,
            &job.request,
            &job.candidates,
            &facts,
            &compiled.trace,
            name,
        )?;
        return match args.compile.format {
            Format::Json => print_json(&answer),
            Format::Text => super::print(&answer.to_string()),
        };
    }
    match args.compile.format {
        Format::Json => print_json(&compiled.trace),
        Format::Text => report::explanation(compiled, args.stages),
    }
}
