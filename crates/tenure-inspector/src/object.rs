//! An object: everything that was ever believed of it, on both axes of time.

use maud::{Markup, html};
use serde::Deserialize;
use tenure::time::Instant;
use tenure_workspace::Belief;

use crate::links::{Links, View};
use crate::payload;
use crate::text::{clipped, name, second};

/// The instants that are asked for. Either may be missing or empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AsOf {
    /// The instant at which it is true.
    pub valid: String,
    /// The instant at which it was known.
    pub known: String,
}

/// The page of an object. The beliefs are the oldest first; `valid` and `known` are the instants of the form as they
/// were read, of which `fault` says what is wrong.
pub(crate) fn page(
    id: &str,
    beliefs: &[Belief],
    more: bool,
    asked: &AsOf,
    at: (Option<Instant>, Option<Instant>),
    fault: Option<&str>,
) -> Markup {
    let (valid, known) = at;
    let title = beliefs
        .last()
        .map_or(id, |belief| belief.object.name.as_str());
    let holds = |belief: &Belief| {
        is_in(valid, belief.held_from, belief.held_until)
            && is_in(known, belief.tx_start, belief.tx_end)
            && (known.is_some() || belief.tx_end.is_none())
    };
    let standing: Vec<&Belief> = beliefs.iter().filter(|belief| holds(belief)).collect();
    html! {
        h1 { (name(title)) }
        p.hint.mono { (name(id)) }
        form.filter method="get" {
            label { "True at" input name="valid" size="30" value=(asked.valid) placeholder="2026-07-01 or empty: at any time"; }
            label { "Known at" input name="known" size="30" value=(asked.known) placeholder="2026-07-01T12:00:00Z or empty: now"; }
            button type="submit" { "Show as of then" }
        }
        @if let Some(fault) = fault { p.notice role="alert" { (clipped(fault, 400)) } }
        h2 { "As of then" }
        @if standing.is_empty() { p.none { "Nothing was believed of it." } }
        @for belief in &standing { (content(belief)) }
        h2 { "Everything that was ever believed" }
        @if more { p.more { "Only the oldest beliefs are shown." } }
        (axes(beliefs, &holds))
        ol.timeline {
            @for belief in beliefs {
                li {
                    b { "Believed from " (instant(belief.tx_start)) @if belief.tx_end.is_some() { " to " (instant(belief.tx_end)) } @else { ", and now" } }
                    br; "true from " (instant(belief.held_from)) @if belief.held_until.is_some() { " to " (instant(belief.held_until)) } @else { " on" }
                    ", " (belief.lifecycle) @if holds(belief) { " " span.in { "as of then" } }
                    br; span.mono.hint { (belief.revision) }
                    @if !holds(belief) { details { summary { "Its words" } (content(belief)) } }
                }
            }
        }
    }
}

fn content(belief: &Belief) -> Markup {
    let object = &belief.object;
    html! {
        div.piece {
            p.origin {
                @if let Some(kind) = object.object_type { span.chip { (kind) } " " }
                @if let Some(claim) = &object.normalized_claim { "claims " code { (clipped(&claim.to_string(), 300)) } " " }
                @if let Some(source) = object.provenance.as_ref().and_then(|provenance| provenance.source_id.as_ref()) { "from " (name(source)) }
            }
            (payload::body(&object.content, 20_000))
            @if !object.derived_from.is_empty() {
                p.origin { "made from " @for parent in &object.derived_from { @let parent = parent.to_string(); a.mono href=[Links::Server.to(View::Object(&parent))] { (parent) } " " } }
            }
        }
    }
}

fn instant(at: Option<Instant>) -> String {
    at.map_or_else(|| "the unknown".to_owned(), second)
}

fn is_in(at: Option<Instant>, from: Option<Instant>, until: Option<Instant>) -> bool {
    at.is_none_or(|at| from.is_none_or(|from| from <= at) && until.is_none_or(|until| at < until))
}

/// Both axes of time as a drawing: a rectangle for each belief, across for when it was known, up for when it is true.
fn axes(beliefs: &[Belief], holds: &impl Fn(&Belief) -> bool) -> Markup {
    let known: Vec<i64> = beliefs
        .iter()
        .flat_map(|belief| [belief.tx_start, belief.tx_end])
        .flatten()
        .map(Instant::micros)
        .collect();
    let valid: Vec<i64> = beliefs
        .iter()
        .flat_map(|belief| [belief.held_from, belief.held_until])
        .flatten()
        .map(Instant::micros)
        .collect();
    let (Some(known), Some(valid)) = (range(&known), range(&valid)) else {
        return html! {};
    };
    let scaled = |at: Option<Instant>, (least, most): (i64, i64), open: f64| match at {
        None => open,
        Some(at) => 6.0 + 88.0 * (at.micros() - least) as f64 / (most - least).max(1) as f64,
    };
    html! {
        svg.line viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="Beliefs: across, when each was known; up, when it is true" {
            rect.free x="0" y="0" width="100" height="100" {}
            @for (number, belief) in beliefs.iter().enumerate() {
                @let (left, right) = (scaled(belief.tx_start, known, 0.0), scaled(belief.tx_end, known, 100.0));
                @let (low, high) = (scaled(belief.held_from, valid, 0.0), scaled(belief.held_until, valid, 100.0));
                g class=(format!("s{}", number % 11)) {
                    rect x=(format!("{left:.1}")) y=(format!("{:.1}", 100.0 - high)) width=(format!("{:.1}", (right - left).max(0.6))) height=(format!("{:.1}", (high - low).max(0.6))) fill-opacity=(if holds(belief) { "1" } else { "0.6" }) {
                        title { "known from " (instant(belief.tx_start)) ", true from " (instant(belief.held_from)) }
                    }
                }
            }
        }
        p.hint { "Across: when it was known. Up: when it is true in the world. What has no end reaches the edge." }
    }
}

fn range(instants: &[i64]) -> Option<(i64, i64)> {
    Some((*instants.iter().min()?, *instants.iter().max()?))
}
