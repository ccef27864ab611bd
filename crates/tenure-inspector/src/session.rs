//! A session: its requests, its epochs with what they cost, its checkpoints and what each stands for.

use maud::{Markup, html};
use tenure::Catalogue;
use tenure::session::Checkpoint;
use tenure_workspace::records::{Line, Listed, Talk, epoch_in_words};

use crate::exchange;
use crate::links::{Links, View};
use crate::money;
use crate::shell::table;
use crate::text::{clipped, grouped, name, percent, second};

/// The most requests, and compiles, of a session that a page shows.
const MOST: usize = 200;
/// The most statements of a checkpoint that are shown.
const STATEMENTS: usize = 40;

/// All that a page shows of a session.
#[derive(Debug, Default)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// Its requests of the gateway.
    pub talk: Option<Talk>,
    /// Its recorded compiles, the newest first.
    pub compiles: Vec<Line>,
    /// The number of its messages, where its log is there.
    pub messages: Option<u64>,
    /// Its checkpoints with the numbers of their entries.
    pub checkpoints: Vec<(u64, Checkpoint)>,
}

/// The page of a session.
pub(crate) fn page(session: &SessionView, catalogue: &Catalogue) -> Markup {
    html! {
        h1 { "Conversation " span.mono { (name(&session.id)) } }
        @if let Some(messages) = session.messages { p.lead { @if messages == 1 { "One message is" } @else { (grouped(messages)) " messages are" } " kept, byte for byte." } }
        @if let Some(talk) = &session.talk {
            (exchange::talk_head(talk, catalogue))
            h2 { "Epochs" } (epochs(talk, catalogue))
            h2 { "Requests" } (exchange::talk(talk, MOST, catalogue, Links::Server))
        }
        @if !session.compiles.is_empty() { h2 { "Compiles" } (compiles(&session.compiles)) }
        (checkpoints(&session.checkpoints))
    }
}

/// The checkpoints of a session with the numbers of their entries, and what each stands for.
pub(crate) fn checkpoints(all: &[(u64, Checkpoint)]) -> Markup {
    html! {
        h2 { "Checkpoints" }
        @if all.is_empty() { p.none { "No summary stands for any message." } }
        @for (number, checkpoint) in all.iter().take(MOST) { (one(*number, checkpoint)) }
        (crate::text::left_out(all.len(), MOST))
    }
}

/// The beginnings of epochs: why, what was kept until then, and what beginning anew cost.
fn epochs(talk: &Talk, catalogue: &Catalogue) -> Markup {
    let mut begun = Vec::new();
    let mut last: Option<(u32, usize)> = None;
    for (at, record) in talk.requests.iter().enumerate() {
        let Some(compile) = record.compile.as_deref() else {
            continue;
        };
        if last.is_none_or(|(epoch, _)| epoch != compile.epoch) {
            begun.push((at, record, compile));
            last = Some((compile.epoch, at));
        }
    }
    let head = html! {
        th.n scope="col" { "Epoch" } th scope="col" { "Begins with" } th scope="col" { "Because" } th.n scope="col" { "Sent again" } th.n scope="col" { "Costs, $" }
        th.n scope="col" { "Requests" } th.n scope="col" { "Cached" }
    };
    let rows = html! {
        @for (number, (at, record, compile)) in begun.iter().enumerate() {
            @let end = begun.get(number + 1).map_or(talk.requests.len(), |(at, ..)| *at);
            @let usage: Vec<_> = talk.requests[*at..end].iter().filter_map(|record| record.usage).collect();
            tr {
                th.n scope="row" { (compile.epoch) }
                td { a href=[Links::Server.to(View::Record(&record.record_id))] { "request " (at + 1) } ", " (second(record.at)) }
                td.why { (record.epoch_in_words().unwrap_or_default()) }
                td.n { (record.in_its_unit(compile.rewritten)) }
                td.n { @match money::rewritten(catalogue, record, compile.rewritten).filter(|_| compile.rewritten > 0) { Some(cost) => { (cost) } None => { "–" } } }
                td.n { (end - at) }
                td.n { (percent(usage.iter().map(|usage| usage.cache_read).sum(), usage.iter().map(|usage| usage.input).sum())) }
            }
        }
    };
    html! { @if begun.is_empty() { p.none { "No request of it was compiled." } } @else { (table("Epochs", head, rows)) } }
}

fn compiles(lines: &[Line]) -> Markup {
    let head = html! { th scope="col" { "At" } th scope="col" { "Compile" } th.n scope="col" { "Tokens" } th.n scope="col" { "Epoch" } th scope="col" { "Because" } };
    let rows = html! {
        @for line in lines.iter().take(MOST) {
            @if let Listed::Compile(compile) = &line.what {
                tr {
                    td.at { (second(line.at)) } td.mono { a href=[Links::Server.to(View::Record(&line.id))] { (name(&line.id)) } }
                    td.n { (grouped(u64::from(compile.total_tokens))) " of " (grouped(u64::from(compile.budget))) } td.n { (compile.epoch) } td { (epoch_in_words(compile.cause)) }
                }
            }
        }
    };
    html! { (table("Compiles", head, rows)) (crate::text::left_out(lines.len(), MOST)) }
}

fn one(number: u64, checkpoint: &Checkpoint) -> Markup {
    html! {
        details {
            summary {
                "c" (number) ": messages " (checkpoint.first) " to " (checkpoint.last) ", " (grouped(checkpoint.turns)) " of them, " (grouped(checkpoint.from)) " tokens as they were said"
                @if !checkpoint.of.is_empty() { ", made of " (checkpoint.of.len()) " summaries" }
                @if let Some(replaced) = checkpoint.replaces { ", replaces c" (replaced) }
            }
            ul {
                @for statement in checkpoint.kept.iter().chain(&checkpoint.said).take(STATEMENTS) {
                    li { "t" (statement.turn) " " (clipped(&statement.text, 600)) @if let Some(turn) = statement.corrected_in { " " span.out { "corrected in t" (turn) } } }
                }
            }
            (crate::text::left_out(checkpoint.kept.len() + checkpoint.said.len(), STATEMENTS))
        }
    }
}
