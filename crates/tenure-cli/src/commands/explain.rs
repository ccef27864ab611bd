//! `tenure explain`.

use tenure::object::{Provenance, clip};
use tenure::{Error, Outcome};
use tenure_workspace::Workspace;
use tenure_workspace::records::EXCHANGE_PREFIX;

use super::models::grouped;
use super::prepare::{prepare, without_payload};
use super::print_json;
use crate::args::{ExplainArgs, Format};
use crate::failure::{Failure, printable};
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
            Format::Text => {
                let candidates = prepared.job.candidates().objects().iter();
                let name = &*answer.verdict.name;
                let place = candidates.filter(|object| object.name() == name);
                let place = place.filter_map(|object| object.revision().provenance());
                let place = place.map(place_of).next().unwrap_or_default();
                super::print(&format!("{answer}{place}"))
            }
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

/// The source of an object and its place there, as a line.
fn place_of(found: &Provenance) -> String {
    let Some(source) = &found.source_id else {
        return String::new();
    };
    let bytes = found.chunk.map_or(String::new(), |chunk| {
        format!(", bytes {} to {}", grouped(chunk.start), grouped(chunk.end))
    });
    let digest = found
        .digest
        .map_or(String::new(), |digest| format!(" ({digest})"));
    format!("  from {}{bytes}{digest}\n", printable(source))
}

/// Prints what was done to a request that went through a gateway.
fn exchange(args: &ExplainArgs, id: &str) -> Result<(), Failure> {
    let store = super::stores::existing(&args.compile.stored.url, "tenure serve")?;
    let tenant = store.tenant(args.compile.tenant.as_deref().unwrap_or("local"))?;
    let workspace = Workspace::without_key()?;
    let record = workspace.records(&tenant).exchange(id)?;
    let record = record.ok_or_else(|| {
        Error::not_found(format!("there is no record `{}`", clip(id)))
            .hint("`tenure log --format json` lists those of a conversation")
    })?;
    match args.compile.format {
        Format::Json => print_json(&record),
        Format::Text => super::print(&super::log::explained(&workspace, &tenant, &record)?),
    }
}
