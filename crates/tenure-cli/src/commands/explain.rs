//! `tenure explain`.

use tenure::inspect::why_not;
use tenure::object::clip;
use tenure::{Error, FrameKey, Outcome};
use tenure_workspace::Workspace;
use tenure_workspace::records::EXCHANGE_PREFIX;

use super::prepare::prepare;
use super::print_json;
use crate::args::{ExplainArgs, Format};
use crate::failure::Failure;
use crate::report;

/// Compiles and prints how it came to its result.
pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    if let [source] = args.compile.sources.as_slice()
        && let Some(id) = source.to_str()
        && id.starts_with(EXCHANGE_PREFIX)
        && !source.exists()
    {
        return exchange(args, id);
    }
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

/// Prints what was done to a request that went through a gateway.
fn exchange(args: &ExplainArgs, id: &str) -> Result<(), Failure> {
    let store = super::stores::open(&args.compile.stored.url, false)?;
    let tenant = store.tenant(args.compile.tenant.as_deref().unwrap_or("local"))?;
    let workspace = Workspace::new(FrameKey::new("none", [0; 32]))?;
    let record = workspace.exchange(&tenant, id)?;
    let record = record.ok_or_else(|| {
        Error::input(format!("there is no record `{}`", clip(id)))
            .hint("`tenure log --format json` lists those of a conversation")
    })?;
    match args.compile.format {
        Format::Json => print_json(&record),
        Format::Text => super::print(&super::log::explained(&workspace, &tenant, &record)?),
    }
}
