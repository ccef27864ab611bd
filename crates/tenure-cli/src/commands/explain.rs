//! `tenure explain`.

use tenure::Outcome;
use tenure::inspect::why_not;

use super::compile::prepare;
use super::print_json;
use crate::args::{ExplainArgs, Format};
use crate::failure::Failure;
use crate::report;

/// Compiles and prints how it came to its result.
pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let mut job = prepare(&args.compile)?;
    job.note_if_empty();
    job.request.dry_run = true;
    let outcome = job.compile_as(&args.compile)?.outcome;
    // Of several pages, what is said of one object is said of the first.
    let Some(first) = outcome.compiled().next() else {
        return Ok(());
    };
    if let Some(name) = &args.why {
        let facts =
            job.workspace
                .answer(&job.world, &job.policy, &job.request, job.candidates())?;
        let answer = why_not(
            &job.world,
            &job.policy,
            &job.request,
            job.candidates(),
            &facts,
            &first.trace,
            name,
        )?;
        return match args.compile.format {
            Format::Json => print_json(&answer),
            Format::Text => super::print(&answer.to_string()),
        };
    }
    match args.compile.format {
        Format::Json => match &outcome {
            Outcome::Pages { pages } => {
                let traces: Vec<_> = pages.iter().map(|page| &page.trace).collect();
                print_json(&traces)
            }
            _ => print_json(&first.trace),
        },
        Format::Text => report::explanation(&outcome, args.stages),
    }
}
