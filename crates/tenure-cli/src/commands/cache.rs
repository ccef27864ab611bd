//! `tenure cache`: what a provider's cache does with a request, and after another one.

use std::fmt::Write;
use std::path::Path;

use serde_json::value::RawValue;
use tenure::cache::{
    Breakpoint, CachePlan, Costs, Explanation, Held, MissCause, OmittedBecause, Options, Sent,
    explain, plan, seconds,
};
use tenure::catalogue::{CacheMark, Cost};
use tenure::wire::Format as Form;
use tenure::{Envelope, Error, World};
use tenure_workspace::{NAME_THE_TARGET, RequestBody, Workspace};

use super::models::grouped;
use super::whole_name;
use super::{flagged, print, print_bytes, print_json, read_or_stdin, usage, without_key};
use crate::args::{CacheArgs, CacheCommand, CacheExplainArgs, CacheOf, CachePlanArgs, Format};
use crate::failure::{Failure, cell};

/// Runs the part that is asked for.
pub(crate) fn run(args: &CacheArgs) -> Result<(), Failure> {
    match &args.command {
        CacheCommand::Plan(args) => run_plan(args),
        CacheCommand::Explain(args) => run_explain(args),
    }
}

/// A file with a request: a body, or the result of a compile.
pub(super) struct Read(RequestBody);

impl Read {
    pub(super) fn file(path: &Path) -> Result<Read, Error> {
        let shown = path.display().to_string();
        RequestBody::read(read_or_stdin(path)?, &shown).map(Read)
    }

    /// The envelope of a compile.
    pub(super) fn envelope(&self) -> Result<&Envelope, Error> {
        self.0.envelope().ok_or_else(|| {
            Error::input("there is no envelope, and so no list of served revisions")
                .at(self.0.source(), None)
                .expected("the output of `tenure compile --format json`")
                .hint("a trace alone does not say which revisions stand in the floor")
        })
    }

    pub(super) fn sent(&self, target: Option<&str>) -> Result<Sent<'_>, Error> {
        let target = target.map(|target| flagged("--target", whole_name(target).parse::<Form>()));
        self.0.sent(target.transpose()?).map_err(named_by_target)
    }
}

/// An error that `target` would mend, in the words of the command line.
pub(super) fn named_by_target(error: Error) -> Error {
    match error.hint.as_deref() {
        Some(NAME_THE_TARGET) => error.hint("name the provider with --target"),
        _ => error,
    }
}

/// The world of the model that was named, or that the request names.
fn world(workspace: &Workspace, of: &CacheOf, named: Option<&str>) -> Result<World, Error> {
    let named = of.model.as_deref().or(named);
    let name = named.ok_or_else(|| {
        Error::new(tenure::ErrorKind::Usage, "the request names no model").expected("--model NAME")
    })?;
    workspace.world(name).map_err(|error| match of.model {
        Some(_) => error,
        None => {
            error.hint("the request names this model; --model NAME applies the rules of another")
        }
    })
}

fn run_plan(args: &CachePlanArgs) -> Result<(), Failure> {
    let read = Read::file(&args.file)?;
    let target = args.of.target.as_deref();
    let sent = read.sent(target)?;
    let world = world(&without_key(&args.of.catalogue)?, &args.of, sent.model())?;
    let ttl = |ttl: &Option<String>| ttl.as_deref().map(|ttl| usage(seconds(ttl))).transpose();
    let mut options = Options::default();
    options.ttl = ttl(&args.ttl)?;
    options.floor_ttl = ttl(&args.floor_ttl)?;
    options.automatic = args.automatic;
    options.turn_stays = args.turn_stays.then_some(true);
    let before = args.previous.as_deref().map(Read::file).transpose()?;
    let previous = before.as_ref().map(|read| read.sent(target)).transpose()?;
    let planned = plan(&world, &sent, &options, previous.as_ref())?;
    if args.apply {
        let body = std::str::from_utf8(read.0.bytes())
            .map_err(|_| Error::input("the body is not text").expected("UTF-8"))?;
        let marked = planned.apply(body)?;
        return match args.of.format {
            Format::Text => print_bytes(marked.as_bytes()),
            Format::Json => {
                let body: Option<&RawValue> = serde_json::from_str(&marked).ok();
                print_json(&serde_json::json!({ "plan": planned, "body": body }))
            }
        };
    }
    match args.of.format {
        Format::Json => print_json(&planned),
        Format::Text => print(&shown(&planned)),
    }
}

fn run_explain(args: &CacheExplainArgs) -> Result<(), Failure> {
    let (before, after) = (Read::file(&args.before)?, Read::file(&args.after)?);
    let target = args.of.target.as_deref();
    let (before, after) = (before.sent(target)?, after.sent(target)?);
    let world = world(
        &without_key(&args.of.catalogue)?,
        &args.of,
        after.model().or(before.model()),
    )?;
    let why = explain(&world, &before, &after)?;
    match args.of.format {
        Format::Json => print_json(&why),
        Format::Text => print(&explained(&why)),
    }
}

// --- for people -----------------------------------------------------------------------------------

fn dollars(cost: Option<Cost>) -> String {
    cost.map_or("-".to_owned(), |cost| cost.to_string())
}

fn lasting(ttl: Option<u32>) -> String {
    match ttl {
        None => "-".to_owned(),
        Some(hours) if hours % 3_600 == 0 => format!("{}h", hours / 3_600),
        Some(ttl) => format!("{}m", ttl / 60),
    }
}

fn shown(plan: &CachePlan) -> String {
    let mut out = String::new();
    let kind = plan.kind.map_or("not known", |kind| kind.term());
    let target = plan.target.map_or("text", |target| target.term());
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{} ({target}), cache {kind}{}: {} tokens ({}) in {} blocks\n",
        cell(&plan.model),
        plan.mark.map_or(String::new(), |mark: CacheMark| format!(", marks `{mark}`")),
        grouped(plan.total_tokens),
        plan.count.term(),
        grouped(plan.blocks),
    );
    let head = [
        "TTL", "TOKENS", "HELD", "WRITE", "READ", "ZONE", "WHY", "BEHIND",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(plan.breakpoints.iter().map(|point: &Breakpoint| {
        [
            lasting(point.ttl_seconds),
            grouped(point.tokens),
            match point.held {
                Held::Unsure => format!("{}?", grouped(point.held_tokens)),
                _ => grouped(point.held_tokens),
            },
            dollars(point.write),
            dollars(point.read),
            point.zone.to_string(),
            point.why.to_string(),
            cell(&point.at),
        ]
    }));
    if plan.breakpoints.is_empty() {
        out.push_str("no breakpoints\n");
    } else {
        out.push_str(&super::models::table(&rows, &[1, 2, 3, 4]));
    }
    for left_out in &plan.left_out {
        let because = match left_out.because {
            OmittedBecause::BelowMinimum => {
                let min = plan.min_tokens.map_or(String::new(), grouped);
                format!(
                    "{} tokens, below the minimum of {min}",
                    grouped(left_out.tokens)
                )
            }
            _ => "the provider takes no more".to_owned(),
        };
        let _ = writeln!(out, "not behind {}: {because}", cell(&left_out.at));
    }
    if let Some(key) = &plan.prompt_cache_key {
        let _ = writeln!(out, "prompt_cache_key {key}");
    }
    if let Some(Costs {
        uncached,
        first,
        again,
        ..
    }) = plan.cost
    {
        let _ = writeln!(
            out,
            "\ninput in US dollars: {uncached} without a cache, {first} when nothing is held yet, {again} \
             when all is"
        );
    }
    for note in &plan.notes {
        let _ = writeln!(out, "note: {}", cell(note));
    }
    out
}

/// An explanation for people.
pub(super) fn explained(why: &Explanation) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {} of {} blocks stand as they stood, {} of {} tokens ({})",
        why.cause,
        grouped(why.same_blocks),
        grouped(why.blocks_before),
        grouped(why.same_tokens),
        grouped(why.total_tokens),
        why.count.term(),
    );
    if let Some(first) = &why.first {
        let _ = writeln!(
            out,
            "first difference: {}, byte {} (before: byte {})",
            cell(&first.at),
            first.byte_after,
            first.byte_before
        );
        let places = [("before", &first.before), ("after", &first.after)];
        for (when, place) in places {
            if let Some(place) = place {
                let _ = writeln!(out, "  {when}: {} [{}]", cell(&place.object), place.section);
            }
        }
    } else if why.cause == MissCause::None {
        let _ = writeln!(out, "nothing that was sent before changed");
    }
    for changed in &why.settings {
        let _ = writeln!(
            out,
            "setting `{}` changed: keeps {}",
            cell(&changed.setting),
            changed.keeps
        );
    }
    let _ = writeln!(
        out,
        "held {}, found {}, rewritten {}, of which {} were held",
        grouped(why.held_tokens),
        grouped(why.cached_tokens),
        grouped(why.rewritten_tokens),
        grouped(why.missed_tokens),
    );
    if let Some(cost) = why.input_cost {
        let _ = writeln!(
            out,
            "input in US dollars: {cost}, of which the miss is {}",
            dollars(why.miss_cost)
        );
    }
    for note in &why.notes {
        let _ = writeln!(out, "note: {}", cell(note));
    }
    out
}
