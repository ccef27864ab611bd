//! `tenure query`: what answers `query_archive`.

use std::collections::BTreeSet;
use std::fmt::Write;

use tenure::{AsOf, Budget, Error, ErrorKind, Policy, Principal, Request, Ruling};
use tenure_workspace::archive::{Ask, Found};
use tenure_workspace::{Collect, Gathered, Workspace};

use super::{clock, diff, print, print_json, reading, with_embedder, without_key};
use crate::args::{Format, QueryArgs};
use crate::failure::{Failure, printable};

/// Asks and prints.
pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let workspace = with_embedder(without_key(&args.catalogue)?, &args.embedder)?;
    let store = if args.no_store {
        None
    } else {
        super::stores::opened(&args.url)?
    };
    if args.sources.is_empty() && args.reading.code.is_empty() && store.is_none() {
        return Err(Error::new(ErrorKind::Usage, "there is nothing to ask")
            .expected("a SOURCE, --code FOLDER, or a store")
            .into());
    }
    let collect = Collect {
        tenant: Some(args.tenant.clone()),
        ..reading::options(&args.reading)?
    };
    let collected = workspace.collect(&args.sources, &collect)?;
    reading::warn(&collected.warnings);
    let gathered = match store {
        None => Gathered::of_sources(collected.candidates),
        Some(store) => Gathered::with_archive(collected.candidates, &store.tenant(&args.tenant)?)?,
    };
    let principal = Principal {
        tenant: args.tenant.clone(),
        ..Principal::owner()
    };
    let asked = Ask {
        text: &args.text,
        tokens: args.tokens,
        limit: args.limit,
        standing: standing(args)?,
    };
    let found = ask(&workspace, &args.model, principal, &gathered, &asked)?;
    match args.format {
        Format::Json => print_json(&found),
        Format::Text => print(&shown(&found)),
    }
}

/// Asks on behalf of somebody, as of now.
pub(super) fn ask(
    workspace: &Workspace,
    model: &str,
    principal: Principal,
    gathered: &Gathered,
    ask: &Ask<'_>,
) -> Result<Found, Error> {
    let request = Request {
        principal,
        as_of: AsOf {
            valid: clock::now(),
            // What was written within this second is known.
            known: clock::this_instant().map(|now| gathered.known_at(now)),
        },
        ..Request::new(ask.text, Budget::default())
    };
    let world = workspace.world(model)?;
    let policy = Policy::preset("standard")?;
    workspace.query(&world, &policy, &request, &gathered.candidates, ask)
}

/// What stands whole in the result of a compile.
fn standing(args: &QueryArgs) -> Result<BTreeSet<String>, Error> {
    let Some(path) = &args.after else {
        return Ok(BTreeSet::new());
    };
    let trace = diff::trace(path)?;
    let shorter: BTreeSet<usize> = trace
        .condensed
        .iter()
        .map(|condensed| condensed.candidate as usize)
        .collect();
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
