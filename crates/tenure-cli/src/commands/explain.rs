//! `tenure explain`.

use tenure::object::clip;
use tenure::{Error, Outcome};
use tenure_workspace::Workspace;
use tenure_workspace::records::EXCHANGE_PREFIX;

use super::prepare::{prepare, without_payload};
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
    without_payload(&args.compile)?;
    let mut prepared = prepare(&args.compile)?;
    prepared.note_if_empty();
    prepared.job.request.dry_run = true;
    let outcome = prepared.compile_as(&args.compile)?.outcome;
    // Of several pages, what is said of one object is said of the first.
    let Some(first) = outcome.compiled().next() else {
        return Ok(());
    };
    if let Some(name) = &args.why {
        let answer = prepared
            .workspace
            .why_not(&prepared.job, &first.trace, name)?;
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
    let store = super::stores::existing(&args.compile.stored.url, "tenure serve")?;
    let tenant = store.tenant(args.compile.tenant.as_deref().unwrap_or("local"))?;
    let workspace = Workspace::without_key()?;
    let record = workspace.exchange(&tenant, id)?;
    let record = record.ok_or_else(|| {
        Error::not_found(format!("there is no record `{}`", clip(id)))
            .hint("`tenure log --format json` lists those of a conversation")
    })?;
    match args.compile.format {
        Format::Json => print_json(&record),
        Format::Text => super::print(&super::log::explained(&workspace, &tenant, &record)?),
    }
}
