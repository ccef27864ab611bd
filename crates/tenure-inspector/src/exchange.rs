//! A request that went through the gateway: what was done to it, and why. And a conversation of them.

use std::collections::BTreeSet;

use maud::{Markup, html};
use tenure::Catalogue;
use tenure::trace::EpochCause;
use tenure_workspace::records::{
    Bill, Count, Ending, ExchangeRecord, Net, RequestItems, Talk, unmanaged_in_words,
};

use crate::links::{Links, View};
use crate::messages;
use crate::money;
use crate::shell::table;
use crate::text::{clipped, grouped, name, percent, second};

/// The most names in a sentence.
const NAMES: usize = 12;
/// The most items of a request in a file.
const MOST_ITEMS: usize = 400;

/// The figures of a request.
pub(crate) fn head(record: &ExchangeRecord, catalogue: &Catalogue) -> Markup {
    let tokens = record.tokens();
    let saved = if record.is_too_long() {
        "fewer: as it came, it had passed the window"
    } else {
        "saved"
    };
    html! {
        ul.figures aria-label="Figures" {
            li { b { (counted(tokens.came)) } span { "tokens came" } }
            li { b { (counted(tokens.sent)) } span { "were sent" } }
            li { b { (counted(tokens.saved())) } span { (saved) } }
            li { b { (counted(tokens.added())) } span { "added" } }
            li { b { (cached(record)) } span { "read from the cache" } }
            @if let Some(cost) = money::of_exchange(catalogue, record) { li { b { "$" (cost) } span { "at the provider's prices" } } }
            li { b { (grouped(record.latency_us / 1000)) " ms" } span { "in all" } }
        }
    }
}

/// A number of tokens, with how sure it is.
pub(crate) fn counted(count: Option<Count>) -> String {
    count.map_or_else(|| "–".to_owned(), |count| count.to_string())
}

/// The share of the input that the provider read from its cache.
pub(crate) fn cached(record: &ExchangeRecord) -> String {
    match &record.usage {
        Some(usage) if usage.input > 0 => percent(usage.cache_read, usage.input),
        _ => "–".to_owned(),
    }
}

/// The account of a request, in sentences. `before` is the request before it in its conversation.
pub(crate) fn done(
    record: &ExchangeRecord,
    before: Option<&ExchangeRecord>,
    catalogue: &Catalogue,
) -> Vec<String> {
    let mut done = Vec::new();
    if let Some(code) = &record.unmanaged {
        let why = unmanaged_in_words(code).unwrap_or("of a reason that this version does not know");
        done.push(format!("It was not managed: {why} ({code})."));
    } else if record.is_as_it_came() {
        done.push("It went on as it came.".to_owned());
    }
    if let Some(compile) = record.compile.as_deref() {
        let older = before.and_then(|before| before.compile.as_deref());
        if compile.cut {
            let from = compile.from.map_or_else(
                || "All messages".to_owned(),
                |from| format!("Messages before t{from}"),
            );
            done.push(if compile.summaries.is_empty() {
                "Results are shown in a shorter form.".to_owned()
            } else {
                let summaries = compile.summaries.iter().map(|number| format!("c{number}"));
                format!("{from} are summarised: {}.", names(summaries))
            });
        }
        let stood: BTreeSet<&str> = older
            .into_iter()
            .flat_map(|older| older.included.beside())
            .map(|chosen| chosen.name.as_str())
            .collect();
        let new: Vec<String> = compile
            .included
            .beside()
            .map(|chosen| chosen.name.as_str())
            .filter(|name| !stood.contains(name))
            .map(str::to_owned)
            .collect();
        if !new.is_empty() {
            done.push(format!("Evidence was added: {}.", names(new.into_iter())));
        }
        let is_old = older.is_some_and(|older| older.epoch == compile.epoch);
        if !is_old && compile.cause != EpochCause::Kept {
            let price = match compile.rewritten {
                0 => String::new(),
                tokens => {
                    let cost = money::rewritten(catalogue, record, tokens)
                        .map(|cost| format!(", ${cost} more than from the cache"))
                        .unwrap_or_default();
                    format!(
                        "; {} tokens that were sent before are sent again{cost}",
                        record.in_its_unit(tokens)
                    )
                }
            };
            done.push(format!(
                "Epoch {} begins: {}{price}.",
                compile.epoch,
                record.epoch_in_words().unwrap_or_default()
            ));
        } else {
            done.push(format!(
                "Epoch {} goes on: the prefix is kept.",
                compile.epoch
            ));
        }
    }
    if !record.tools_left_out.is_empty() {
        done.push(format!(
            "Tools that were not offered: {}.",
            names(record.tools_left_out.keys().cloned())
        ));
    }
    if record.retries > 0 {
        done.push("Its provider found it too long; it was sent again, shorter.".to_owned());
    }
    if let Some(percent) = record.calibrated_percent {
        done.push(format!("Counts are calibrated: at most {percent} tokens of the provider for a hundred counted here."));
    }
    if !record.notices.is_empty() {
        done.push(format!(
            "Its client was told: {}.",
            names(record.notices.iter().cloned())
        ));
    }
    if let Some(fault) = &record.fault {
        done.push(format!("Compiling failed: {fault}."));
    }
    if !record.output.is_empty() {
        done.push(format!(
            "Faults of the answer: {}.",
            names(record.output.iter().cloned())
        ));
    }
    let end = record.ending.in_words();
    if !end.is_empty() {
        done.push(format!("The end: {end}."));
    }
    done
}

fn names(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(NAMES);
    let shown = all[..all.len() - more].join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The kind of what went wrong, in a word; none where nothing did.
pub(crate) fn fault(record: &ExchangeRecord) -> Option<&'static str> {
    if record.fault.is_some() {
        return Some("fault");
    }
    match record.ending {
        Ending::Whole if !record.output.is_empty() => Some("answer"),
        Ending::Whole if record.status.is_some_and(|status| status >= 400) => Some("error"),
        Ending::Whole => None,
        Ending::ClientLeft => Some("left"),
        Ending::Refused => Some("refused"),
        Ending::Rejected => Some("rejected"),
        _ => Some("upstream"),
    }
}

/// A request as a whole, with its items.
pub(crate) fn one(
    (record, items): (&ExchangeRecord, &RequestItems),
    before: Option<&ExchangeRecord>,
    number: Option<usize>,
    catalogue: &Catalogue,
    links: Links,
) -> Markup {
    let sentences = done(record, before, catalogue);
    html! {
        (head(record, catalogue))
        h2 { "What was done to " @match number { Some(number) => { "request " (number) } None => { "it" } } }
        @if sentences.is_empty() { p.none { "Nothing." } } @else { ul { @for sentence in &sentences { li { (clipped(sentence, 2_000)) } } } }
        dl.facts {
            dt { "At" } dd { (second(record.at)) }
            dt { "Client" } dd { (name(record.client.as_deref().unwrap_or("unnamed"))) }
            dt { "Model" } dd { (name(record.model.as_deref().unwrap_or("none"))) @if let Some(resolved) = &record.resolved_model { " → " (name(resolved)) } }
            dt { "Mode" } dd { (name(&record.mode)) }
            dt { "Path" } dd.mono { (name(&record.path)) }
            @if let Some(session) = &record.session {
                dt { "Session" }
                dd { @match links.to(View::Session(session)) { Some(href) => { a href=(href) { (name(session)) } } None => { (name(session)) } } }
            }
            @if let Some(status) = record.status { dt { "Status" } dd { (status) } }
            @if let Some(usage) = &record.usage {
                dt { "The provider counts" } dd { (grouped(usage.input)) " in, " (grouped(usage.cache_read)) " read from the cache, " (grouped(usage.cache_write)) " written to it, " (grouped(usage.output)) " out" }
            }
            @if let Some(digest) = record.request_digest { dt { "Came" } dd.mono { (digest) ", " (grouped(record.request_bytes)) " bytes" } }
            @if let Some(digest) = record.sent_digest { dt { "Sent" } dd.mono { (digest) ", " (grouped(record.sent_bytes.unwrap_or(0))) " bytes" } }
        }
        h2 { "Item by item" }
        @match links {
            Links::File => { (messages::all(items, MOST_ITEMS)) }
            Links::Server => { (messages::forms(items, |form| Some(format!("{}?form={}", links.to(View::Part(&record.record_id, "items"))?, form.term())))) }
        }
    }
}

/// The requests of a conversation, at most `most` of them, the newest last.
pub(crate) fn talk(talk: &Talk, most: usize, catalogue: &Catalogue, links: Links) -> Markup {
    let all = &talk.requests;
    let first = all.len().saturating_sub(most);
    let head = html! {
        th.n scope="col" { "#" } th scope="col" { "At" } th scope="col" { "Model" } th.n scope="col" { "Came" } th.n scope="col" { "Sent" } th.n scope="col" { "Cached" }
        th.n scope="col" { "Cost, $" } th scope="col" { "What was done" }
    };
    let rows = html! {
        @for (at, record) in all.iter().enumerate().skip(first) {
            @let before = at.checked_sub(1).and_then(|at| all.get(at));
            tr id=(format!("r{}", at + 1)) {
                th.n scope="row" { @match links.to(View::Record(&record.record_id)) { Some(href) => { a href=(href) { (at + 1) } } None => { (at + 1) } } }
                td.at { (second(record.at)) }
                td.name { (name(record.model.as_deref().unwrap_or("none"))) }
                td.n { (counted(record.tokens().came)) } td.n { (counted(record.tokens().sent)) } td.n { (cached(record)) }
                td.n { @match money::of_exchange(catalogue, record) { Some(cost) => { (cost) } None => { "–" } } }
                td.why { @for sentence in done(record, before, catalogue) { (clipped(&sentence, 600)) " " } }
            }
        }
    };
    html! {
        @if talk.more { p.more { "There may be older requests that were not looked for." } }
        @if first > 0 { p.more { "The first " (grouped(first as u64)) " of " (grouped(all.len() as u64)) " requests are left out." } }
        (table("Requests", head, rows))
    }
}

/// The cost of requests, and an estimate of their cost as they came.
pub(crate) fn net(net: &Net) -> Markup {
    html! { @for sentence in net.sentences() { p.hint { (sentence) "." } } }
}

/// The figures of a conversation.
pub(crate) fn talk_head(talk: &Talk, catalogue: &Catalogue) -> Markup {
    let all = &talk.requests;
    let sum = |of: fn(&ExchangeRecord) -> u64| all.iter().map(of).sum::<u64>();
    let input = sum(|record| record.usage.map_or(0, |usage| usage.input));
    let read = sum(|record| record.usage.map_or(0, |usage| usage.cache_read));
    let costs: Vec<_> =
        all.iter().filter_map(|record| money::of_exchange(catalogue, record)).collect();
    let cost = costs.iter().fold(tenure::catalogue::Cost::default(), |sum, cost| sum + *cost);
    let epochs: BTreeSet<u32> =
        all.iter().filter_map(|record| Some(record.compile.as_ref()?.epoch)).collect();
    html! {
        ul.figures aria-label="Figures" {
            li { b { (grouped(all.len() as u64)) } span { "requests" } }
            li { b { (grouped(input)) } span { "tokens sent, as the provider counts" } }
            li { b { (percent(read, input)) } span { "of the input read from the cache" } }
            li { b { (epochs.len()) } span { "epochs" } }
            @if !costs.is_empty() { li { b { "$" (cost) } span { "for " (costs.len()) " requests whose prices are known" } } }
        }
        (net(&Bill::of(catalogue, all)))
    }
}
