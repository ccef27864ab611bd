//! `tenure query`: what answers `query_archive`.

use std::collections::BTreeSet;
use std::fmt::Write;

use tenure::trace::View;
use tenure::{Budget, Error, ErrorKind, Principal, Request, Ruling};
use tenure_store::Tenant;
use tenure_workspace::archive::{self, Found};
use tenure_workspace::{Ask, Choice, Collect, Reach, StoreAsk};

use super::{diff, print, print_json, reading, with_embedder, without_key};
use crate::args::{Format, QueryArgs};
use crate::failure::{Failure, printable};
use crate::progress::Working;

/// Asks and prints.
pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let workspace = with_embedder(without_key(&args.catalogue)?, &args.embedder)?;
    let store = if args.no_store {
        None
    } else {
        super::stores::opened(&args.url)?
    };
    let reading = &args.reading;
    let names_none =
        args.sources.is_empty() && reading.code.is_empty() && reading.read_as.is_empty();
    if names_none && store.is_none() {
        return Err(Error::new(ErrorKind::Usage, "there is nothing to search")
            .expected("a SOURCE, --code FOLDER, or a store")
            .into());
    }
    let collect = Collect {
        tenant: Some(args.tenant.clone()),
        ..reading::options(&args.reading)?
    };
    let candidates = reading::collect(&workspace, &args.sources, &collect)?;
    let principal = Principal {
        tenant: args.tenant.clone(),
        ..Principal::owner()
    };
    let store = store.map(|store| store.tenant(&args.tenant)).transpose()?;
    let working = Working::on("searching");
    let job = workspace.prepare(
        Ask {
            request: Request {
                principal,
                model: Some(args.model.clone()),
                ..Request::new(&*args.text, Budget::default())
            },
            policy: Choice::Named("standard"),
            sources: Box::new(|| Ok(candidates)),
            store: store.map(everything),
            originals: None,
            view: View::Operator,
        },
        &workspace,
    )?;
    let asked = archive::Ask {
        text: &args.text,
        tokens: args.tokens,
        limit: args.limit,
        standing: standing(args)?,
    };
    let (world, policy, request) = (&job.world, &job.policy, &job.request);
    let found = workspace.query(world, policy, request, job.candidates(), &asked);
    drop(working);
    let found = found?;
    match args.format {
        Format::Json => print_json(&found),
        Format::Text => print(&shown(&found)),
    }
}

/// The reads of a search from a store: all objects, archived and demoted ones included.
pub(super) fn everything(tenant: Tenant) -> StoreAsk<'static> {
    StoreAsk {
        tenant,
        objects: Some(Reach::Archive),
        version: 0,
        registry: None,
        names_registries: true,
        record: false,
    }
}

/// The objects that stand whole in the result of a compile.
fn standing(args: &QueryArgs) -> Result<BTreeSet<String>, Error> {
    let Some(path) = &args.after else {
        return Ok(BTreeSet::new());
    };
    let trace = diff::trace(path)?;
    let shorter: BTreeSet<usize> =
        trace.condensed.iter().map(|condensed| condensed.candidate as usize).collect();
    let verdicts = trace.verdicts.iter().enumerate();
    let whole = verdicts
        .filter(|(at, verdict)| verdict.verdict == Ruling::Included && !shorter.contains(at));
    Ok(whole.map(|(_, verdict)| verdict.name.to_string()).collect())
}

pub(super) fn shown(found: &Found) -> String {
    let mut text = String::new();
    for passage in &found.passages {
        let _ = writeln!(
            text,
            "--- {} [{}..{}], relevance {:.2}, {} tokens\n{}\n",
            printable(&passage.name),
            passage.from,
            passage.until,
            passage.relevance.to_f64(),
            passage.tokens,
            printable(&passage.text),
        );
    }
    let _ = writeln!(
        text,
        "{} of {} passages, {} tokens; {} more match",
        found.passages.len(),
        found.among,
        found.tokens,
        found.left_out
    );
    text
}
