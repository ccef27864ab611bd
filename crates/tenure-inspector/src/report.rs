//! A report in one file: it opens offline, needs no script, and asks nobody for anything.

use maud::{Markup, html};
use tenure::session::Checkpoint;
use tenure::{Catalogue, Ruling, Trace};
use tenure_workspace::records::{ExchangeRecord, RequestItems, Talk};

use crate::compile::{self, Compile};
use crate::exchange;
use crate::items;
use crate::links::Links;
use crate::messages;
use crate::session;
use crate::shell;
use crate::text::{grouped, name};

/// The most rows of what is in, and of what is not.
const MOST_IN: usize = 250;
const MOST_OUT: usize = 250;
/// The most bytes of a payload.
const MOST_PAYLOAD: usize = 120_000;
/// The most findings.
const MOST_FINDINGS: usize = 50;

/// A compile as a page in one file. Of several payloads each is one compile.
pub fn of_compiles(compiles: &[Compile<'_>]) -> String {
    let title = compiles.first().map_or("Nothing", |compile| compile.named.as_str());
    let pages = compiles.len();
    let body = html! {
        @for (number, compile) in compiles.iter().enumerate() {
            @if pages > 1 { p.lead { "Payload " (number + 1) " of " (pages) } }
            (one(compile, number))
        }
    };
    shell::file(&format!("Compile {title}"), body)
}

fn one(compile: &Compile<'_>, number: usize) -> Markup {
    let trace = compile.trace;
    // Rows of several compiles would share their places.
    let is_first = number == 0;
    let (standing, left) = shown(trace);
    let href = |at: usize| {
        let is_shown = standing.0.contains(&at) || left.0.contains(&at);
        (is_first && is_shown).then(|| format!("#i{at}"))
    };
    let sections = [
        ("budget", "Budget"),
        ("out", "Left out"),
        ("in", "In the payload"),
        ("payload", "Payload"),
        ("quality", "Quality"),
        ("cache", "Cache"),
        ("stages", "Stages"),
        ("findings", "Findings"),
    ];
    let id = |of: &str| is_first.then(|| of.to_owned());
    html! {
        h1 { "Compile " span.mono { (name(&compile.named)) } }
        @if is_first {
            nav.toc aria-label="Contents" { ul { @for (id, name) in sections { li { a href=(format!("#{id}")) { (name) } } } } }
        }
        (compile::head(compile))
        (compile::facts(compile))
        h2 id=[id("budget")] { "Budget" } (compile::budget(compile, &href))
        h2 id=[id("out")] { "Left out" } (items::reasons(trace, |_| None)) (rows(compile, &left, "stayed out"))
        h2 id=[id("in")] { "In the payload" } (rows(compile, &standing, "are in"))
        h2 id=[id("payload")] { "Payload" } (payload(compile, &href))
        h2 id=[id("quality")] { "Quality" } (compile::quality(trace))
        h2 id=[id("cache")] { "Cache" }
        @match compile.cache { Some(plan) => { (compile::cache(plan)) } None => { p.none { "Without a payload nothing can be said of a cache." } } }
        h2 id=[id("stages")] { "Stages" } (compile::stages(trace))
        h2 id=[id("findings")] { "Findings" } (compile::findings(trace, MOST_FINDINGS))
    }
}

/// Places of verdicts that a page shows, and the number of all.
type Shown = (Vec<usize>, usize);

/// The places of what is in, in its order, and of what is not, the nearest to being in first: by score, then by tokens.
fn shown(trace: &Trace) -> (Shown, Shown) {
    let all = trace.verdicts.iter().enumerate();
    let (standing, mut left): (Vec<usize>, Vec<usize>) = {
        let (standing, left): (Vec<_>, Vec<_>) =
            all.partition(|(_, verdict)| verdict.verdict == Ruling::Included);
        let places = |found: Vec<(usize, _)>| found.into_iter().map(|(at, _)| at).collect();
        (places(standing), places(left))
    };
    left.sort_by_key(|at| {
        let verdict = &trace.verdicts[*at];
        let composite = verdict.score.map(|score| score.composite);
        std::cmp::Reverse((composite, verdict.tokens))
    });
    let cut = |mut places: Vec<usize>, most: usize| {
        let all = places.len();
        places.truncate(most);
        (places, all)
    };
    (cut(standing, MOST_IN), cut(left, MOST_OUT))
}

fn rows(compile: &Compile<'_>, (places, all): &Shown, what: &str) -> Markup {
    if places.is_empty() {
        return html! { p.none { "None." } };
    }
    html! {
        @if places.len() < *all {
            p.more { "The first " (grouped(places.len() as u64)) " of " (grouped(*all as u64)) " that " (what) " are shown." }
        }
        (items::rows(compile.trace, places, &compile.beside(), &|_| None))
    }
}

fn payload(compile: &Compile<'_>, href: &impl Fn(usize) -> Option<String>) -> Markup {
    let owners = compile.verdicts_of_items();
    let href = |item: usize| owners.get(item).copied().flatten().and_then(href);
    match compile.envelope {
        Some(envelope) => html! {
        (compile::attended(compile, envelope, &href))
                    (crate::payload::shown(envelope, MOST_PAYLOAD, compile.attention, href))
                },
        None => html! { p.none { "There is no payload here: a trace alone keeps none." } },
    }
}

/// The most messages of a session.
const MOST_MESSAGES: usize = 1_000;
/// The most requests of a conversation.
const MOST_REQUESTS: usize = 400;

/// A conversation as a page in one file, with its checkpoints and the numbers of their entries; `compile` is the newest
/// request of it that could be made again.
pub fn of_talk(
    talk: &Talk,
    checkpoints: &[(u64, Checkpoint)],
    catalogue: &Catalogue,
    compile: Option<&Compile<'_>>,
) -> String {
    let title = talk.session.as_deref().unwrap_or("without a session");
    let body = html! {
        h1 { "Conversation " span.mono { (name(title)) } }
        (exchange::talk_head(talk, catalogue))
        h2 { "Requests" } (exchange::talk(talk, MOST_REQUESTS, catalogue, Links::File))
        (session::checkpoints(checkpoints))
        @if let Some(compile) = compile {
            p.lead { "The newest request that could be made again:" }
            (one(compile, 0))
        }
    };
    shell::file(&format!("Conversation {title}"), body)
}

/// A session of which no request is recorded as a page in one file: its messages, and its checkpoints with the numbers of their
/// entries.
pub(crate) fn of_session(
    id: &str,
    items: &RequestItems,
    checkpoints: &[(u64, Checkpoint)],
) -> String {
    let body = html! {
        h1 { "Conversation " span.mono { (name(id)) } }
        p.lead { (grouped(items.messages())) " messages are kept; no request of it is recorded." }
        h2 { "Messages" }
        (messages::all(items, MOST_MESSAGES))
        (session::checkpoints(checkpoints))
    };
    shell::file(&format!("Conversation {id}"), body)
}

/// A request of the gateway as a page in one file, item by item, with its compile where that could be made again, or its
/// body with the proof of it where nothing was compiled.
pub fn of_exchange(
    (record, items): (&ExchangeRecord, &RequestItems),
    before: Option<&ExchangeRecord>,
    catalogue: &Catalogue,
    compile: Option<&Compile<'_>>,
    body: Option<(&str, &[u8])>,
    fault: Option<&str>,
) -> String {
    let body = html! {
        h1 { "Request " span.mono { (name(&record.record_id)) } }
        (exchange::one((record, items), before, None, catalogue, Links::File))
        @if let Some(fault) = fault { p.notice { "It could not be made again: " (crate::text::clipped(fault, 1_000)) } }
        @if let Some((proof, body)) = body { h2 { "Body" } p.hint { (crate::text::clipped(proof, 1_000)) } (crate::payload::of_body(body, MOST_PAYLOAD)) }
        @if let Some(compile) = compile { (one(compile, 0)) }
    };
    shell::file(&format!("Request {}", record.record_id), body)
}
