//! `tenure explain`.

use serde::Serialize;
use tenure::inspect::WhyNot;
use tenure::object::{Provenance, clip};
use tenure::{Error, ErrorKind, Outcome, Request, Trace};
use tenure_store::Waiting;
use tenure_workspace::Workspace;
use tenure_workspace::records::EXCHANGE_PREFIX;

use super::models::grouped;
use super::prepare::{Prepared, prepare, without_payload};
use super::print_json;
use super::review::{text_of, waiting_of};
use crate::args::{CompileArgs, ExplainArgs, Format};
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
        return why(args, &prepared, &first.trace, name);
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

/// Prints why an object is in or out, and what of it waits for a person.
fn why(args: &ExplainArgs, prepared: &Prepared, trace: &Trace, name: &str) -> Result<(), Failure> {
    let waiting = waiting(args, &prepared.job.request, name)?;
    let answer = match prepared.workspace.why_not(&prepared.job, trace, name) {
        Ok(answer) => Some(answer),
        // What waits, and of which nothing is believed, is no candidate.
        Err(error) if error.kind == ErrorKind::Input && !waiting.is_empty() => None,
        Err(error) => return Err(error.into()),
    };
    if args.compile.format == Format::Json {
        return print_json(&Why { answer, waiting });
    }
    let mut text = String::new();
    if let Some(answer) = &answer {
        let candidates = prepared.job.candidates().objects().iter();
        let place = candidates
            .filter(|object| object.name() == &*answer.verdict.name)
            .filter_map(|object| object.revision().provenance())
            .map(place_of)
            .next()
            .unwrap_or_default();
        text.push_str(&format!("{answer}{place}"));
    }
    for one in &waiting {
        text.push_str(&format!("waits for a person: {}", text_of(one)));
    }
    super::print(&text)
}

/// The answer to why an object is in or out.
#[derive(Serialize)]
struct Why {
    /// The verdict; none where the object is no candidate.
    #[serde(flatten)]
    answer: Option<WhyNot>,
    /// Parts of it that wait for a person in the store, with the commands that decide them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waiting: Vec<Waiting>,
}

/// Finds the parts of an object that wait for a person now, in the store that is read. A compile of an instant is not
/// of now.
fn waiting(args: &ExplainArgs, request: &Request, name: &str) -> Result<Vec<Waiting>, Failure> {
    let CompileArgs {
        stored,
        known_at,
        as_of,
        ..
    } = &args.compile;
    if stored.no_store || known_at.is_some() || as_of.is_some() {
        return Ok(Vec::new());
    }
    let Some(store) = super::stores::opened(&stored.url)? else {
        return Ok(Vec::new());
    };
    waiting_of(&store.tenant(&request.principal.tenant)?, name, &stored.url)
}

/// The source of an object and its place there, as a line.
fn place_of(found: &Provenance) -> String {
    let Some(source) = &found.source_id else {
        return String::new();
    };
    let bytes = found.chunk.map_or(String::new(), |chunk| {
        format!(", bytes {} to {}", grouped(chunk.start), grouped(chunk.end))
    });
    let digest = found.digest.map_or(String::new(), |digest| format!(" ({digest})"));
    format!("  from {}{bytes}{digest}\n", printable(source))
}

/// Prints what was done to a request that went through a gateway.
fn exchange(args: &ExplainArgs, id: &str) -> Result<(), Failure> {
    let store = super::stores::existing(&args.compile.stored.url, "tenure serve")?;
    let tenant = store.tenant(args.compile.tenant.as_deref().unwrap_or("local"))?;
    let workspace = Workspace::without_key()?;
    let record = workspace.records(&tenant).exchange(id)?.ok_or_else(|| {
        Error::not_found(format!("there is no record `{}`", clip(id)))
            .hint("`tenure log --format json` lists those of a conversation")
    })?;
    match args.compile.format {
        Format::Json => print_json(&super::log::Told::of(&workspace.records(&tenant), &record)?),
        Format::Text => super::print(&super::log::explained(&workspace, &tenant, &record)?),
    }
}
