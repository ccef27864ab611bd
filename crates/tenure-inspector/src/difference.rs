//! The difference of two compiles, down to the first byte, with what a cache makes of it.

use maud::{Markup, html};
use tenure::cache::{Difference, Explanation, ObjectPlace};
use tenure::inspect::{Change, Diff};

use crate::links::{Links, View};
use crate::shell::table;
use crate::svg::class;
use crate::text::{clipped, grouped, name, plain};

/// The most changes of a section that are shown.
const MOST: usize = 200;
/// The bytes around the first difference that are shown.
const AROUND: usize = 160;

/// The two payloads of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Bodies<'b> {
    /// The first, as it was sent.
    pub before: &'b str,
    /// The second.
    pub after: &'b str,
}

/// The difference of two compiles. `bodies` and `cache` are there where both payloads could be made again.
pub(crate) fn page(
    before: &str,
    after: &str,
    diff: &Diff,
    bodies: Option<Bodies<'_>>,
    cache: Result<&Explanation, &str>,
) -> Markup {
    let link = |id: &str| html! { a.mono href=[Links::Server.to(View::Record(id))] { (name(id)) } };
    let delta = format!("{:+}", diff.total_token_delta);
    let thousandths = |share: u32| format!("{}.{} %", share / 10, share % 10);
    html! {
        h1 { "Difference" }
        p { "From " (link(before)) " to " (link(after)) }
        ul.figures {
            li { b { (delta) } span { "tokens" } }
            li { b { (thousandths(diff.utilization_before)) " → " (thousandths(diff.utilization_after)) } span { "of the budget" } }
            li { b { @if diff.same_payload { "same" } @else { "other" } } span { "payload, byte for byte" } }
            li { b { @if diff.inputs.is_empty() { "none" } @else { (diff.inputs.join(", ")) } } span { "of the inputs differ" } }
        }
        h2 { "The first byte that differs, and the cache" }
        @match cache { Ok(cache) => { (first(cache, bodies)) } Err(why) => { p.none { (clipped(why, 600)) } } }
        h2 { "By section and object" }
        @if diff.sections.is_empty() { p.none { "No object's verdict differs." } }
        @for section in &diff.sections {
            h3 { span class=(format!("chip {}", class(section.section))) { (section.section) } " " (format!("{:+}", section.token_delta)) " tokens" }
            (changes(&section.changes))
        }
    }
}

fn first(cache: &Explanation, bodies: Option<Bodies<'_>>) -> Markup {
    html! {
        dl.facts {
            dt { "Cause" } dd { (cache.cause.term().replace('_', " ")) }
            dt { "The same from the start" } dd { (grouped(u64::from(cache.same_tokens))) " of " (grouped(u64::from(cache.total_tokens))) " tokens, " (cache.same_blocks) " of " (cache.blocks_after) " blocks" }
            dt { "Found in the cache" } dd { (grouped(u64::from(cache.cached_tokens))) " tokens; " (grouped(u64::from(cache.missed_tokens))) " were held and are not found" }
            @if let Some(cost) = cache.input_cost { dt { "Input" } dd { "$" (cost) @if let Some(missed) = cache.miss_cost { ", of which $" (missed) " for what was held and not found" } } }
            @for changed in &cache.settings { dt { "Setting" } dd { code { (name(&changed.setting)) } " changed" } }
            @match &cache.first {
                Some(found) => { (place(found)) }
                None => { dt { "First difference" } dd { "none: what was sent before stands whole in this one" } }
            }
        }
        @if let (Some(found), Some(bodies)) = (&cache.first, bodies) {
            div.diff {
                h3 { "Before" } pre { (around(bodies.before, found.byte_before, "del")) }
                h3 { "After" } pre { (around(bodies.after, found.byte_after, "ins")) }
            }
        }
        @if !cache.notes.is_empty() { ul { @for note in &cache.notes { li { (clipped(note, 400)) } } } }
    }
}

fn place(found: &Difference) -> Markup {
    let object = |place: &Option<ObjectPlace>| match place {
        Some(place) => html! { (name(&place.object)) " in " (place.section) },
        None => html! { "no object" },
    };
    html! {
        dt { "First difference" }
        dd { "in " code { (name(&found.at)) } ": byte " (grouped(found.byte_before as u64)) " (" (object(&found.before)) ") → byte " (grouped(found.byte_after as u64)) " (" (object(&found.after)) ")" }
    }
}

/// The text around a byte, from which on it differs.
fn around(text: &str, byte: usize, mark: &str) -> Markup {
    let at = text.floor_char_boundary(byte);
    let start = text.floor_char_boundary(at.saturating_sub(AROUND));
    let end = text.floor_char_boundary((at + AROUND).min(text.len()));
    let (same, other) = (&text[start..at], &text[at..end]);
    html! {
        @if start > 0 { "…" }
        span.same { (plain(same, 4 * AROUND)) }
        @if mark == "ins" { ins { (plain(other, 4 * AROUND)) } } @else { del { (plain(other, 4 * AROUND)) } }
        @if end < text.len() { "…" }
    }
}

fn changes(changes: &[Change]) -> Markup {
    let head = html! { th scope="col" { "" } th scope="col" { "Object" } th.n scope="col" { "Tokens" } th scope="col" { "Why" } };
    let row = |change: &Change| match change {
        Change::Added {
            name: of,
            tokens,
            before,
        } => {
            html! { tr { td { span.in { "came" } } td.name { (name(of)) } td.n { "+" (grouped(u64::from(*tokens))) } td.why { "before: " (clipped(before, 400)) } } }
        }
        Change::Removed {
            name: of,
            tokens,
            after,
        } => {
            html! { tr { td { span.out { "left" } } td.name { (name(of)) } td.n { "−" (grouped(u64::from(*tokens))) } td.why { "now: " (clipped(after, 400)) } } }
        }
        Change::Modified {
            name: of,
            before,
            after,
        } => {
            html! { tr { td { "changed" } td.name { (name(of)) } td.n { (grouped(u64::from(*before))) " → " (grouped(u64::from(*after))) } td {} } }
        }
        Change::Reason {
            name: of,
            before,
            after,
        } => {
            html! { tr { td { span.hint { "out in both" } } td.name { (name(of)) } td.n {} td.why { (clipped(before, 400)) " → " (clipped(after, 400)) } } }
        }
        _ => html! {},
    };
    html! {
        (table("Changes", head, html! { @for change in changes.iter().take(MOST) { (row(change)) } }))
        (crate::text::left_out(changes.len(), MOST))
    }
}
