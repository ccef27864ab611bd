//! An object: everything that was ever believed of it, on both axes of time.

use std::collections::BTreeSet;

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
    /// The step of the slider on the axis of truth, where no instant is written.
    pub valid_step: String,
    /// The step of the slider on the axis of knowledge.
    pub known_step: String,
}

/// The instants that are asked for, as they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Then {
    /// The instant at which it is true; at any time without one.
    pub valid: Option<Instant>,
    /// The instant at which it was known; now without one.
    pub known: Option<Instant>,
    /// Fault of what was asked.
    pub fault: Option<String>,
}

impl AsOf {
    /// Reads the instants, of which a slider names one by its place among those at which something changed.
    pub fn read(&self, beliefs: &[Belief]) -> Then {
        let read = |text: &str, step: &str, steps: &[Instant]| match text.trim() {
            "" => Ok(step.parse().ok().and_then(|step: usize| steps.get(step).copied())),
            text => text.parse().map(Some),
        };
        let valid = read(&self.valid, &self.valid_step, &truth(beliefs));
        let known = read(&self.known, &self.known_step, &knowledge(beliefs));
        let fault = [&valid, &known].into_iter().find_map(|read| read.as_ref().err());
        Then {
            fault: fault.map(|error: &tenure::Error| error.to_string()),
            valid: valid.unwrap_or(None),
            known: known.unwrap_or(None),
        }
    }
}

/// The instants at which what is true changed, each once, in order.
fn truth(beliefs: &[Belief]) -> Vec<Instant> {
    steps(beliefs.iter().flat_map(|belief| [belief.held_from, belief.held_until]))
}

/// The instants at which what is known changed.
fn knowledge(beliefs: &[Belief]) -> Vec<Instant> {
    steps(beliefs.iter().flat_map(|belief| [belief.tx_start, belief.tx_end]))
}

fn steps(instants: impl Iterator<Item = Option<Instant>>) -> Vec<Instant> {
    let steps: BTreeSet<Instant> = instants.flatten().collect();
    steps.into_iter().collect()
}

/// A slider over the instants at which something changed; its last place is none of them. The server knows the place, so
/// that it works without script; with it, the instant is said while it moves.
fn slider(title: &str, field: &str, steps: &[Instant], at: Option<Instant>, open: &str) -> Markup {
    let place = at.map_or(steps.len(), |at| {
        steps.partition_point(|step| *step <= at).saturating_sub(1)
    });
    let names: Vec<String> = steps.iter().map(second).chain([open.to_owned()]).collect();
    let now = at.map_or_else(|| open.to_owned(), second);
    html! {
        label { (title)
            input type="range" name=(field) min="0" max=(steps.len()) value=(place) aria-valuetext=(now) data-instants=(names.join("|"));
            output { (now) }
        }
    }
}

/// The page of an object. The beliefs are the oldest first; `then` is what was `asked`, as it was read.
pub(crate) fn page(id: &str, beliefs: &[Belief], more: bool, asked: &AsOf, then: &Then) -> Markup {
    let (valid, known) = (then.valid, then.known);
    let title = beliefs.last().map_or(id, |belief| belief.object.name.as_str());
    let holds = |belief: &Belief| {
        is_in(valid, belief.held_from, belief.held_until)
            && is_in(known, belief.tx_start, belief.tx_end)
            && (known.is_some() || belief.tx_end.is_none())
    };
    let standing: Vec<&Belief> = beliefs.iter().filter(|belief| holds(belief)).collect();
    html! {
        h1 { (name(title)) }
        p.hint.mono { (name(id)) }
        form.filter.asof method="get" {
            (slider("True at", "valid_step", &truth(beliefs), valid, "any time"))
            (slider("Known at", "known_step", &knowledge(beliefs), known, "now"))
            button type="submit" { "Show as of then" }
        }
        form.filter method="get" {
            label { "True at" input name="valid" size="30" value=(asked.valid) placeholder="2026-07-01 or empty: at any time"; }
            label { "Known at" input name="known" size="30" value=(asked.known) placeholder="2026-07-01T12:00:00Z or empty: now"; }
            button type="submit" { "Show as of these instants" }
        }
        @if let Some(fault) = &then.fault { p.notice role="alert" { (clipped(fault, 400)) } }
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
                "source " span.chip { (belief.source_kind) }
                @if let Some(source) = object.provenance.as_ref().and_then(|provenance| provenance.source_id.as_ref()) { ", from " (name(source)) }
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tenure::ObjectDocument;
    use tenure::object::{Lifecycle, Provenance, SourceKind};
    use tenure_store::StoredObject;

    use super::*;

    #[test]
    fn the_page_says_what_kind_of_source_an_object_comes_from() {
        let shown = |kind| {
            let document = ObjectDocument {
                provenance: Some(Provenance {
                    source_id: Some("manual".into()),
                    source_kind: kind,
                    ..Provenance::default()
                }),
                ..ObjectDocument::named("limit", "At most 40 bar.")
            };
            let stored = StoredObject {
                object: document.seal().unwrap(),
                opened: 1,
                closed: None,
                lifecycle: Lifecycle::Active,
            };
            let beliefs = [Belief::of(&stored).unwrap()];
            page("id", &beliefs, false, &AsOf::default(), &Then::default()).into_string()
        };
        let said = |kind: &str| format!("source <span class=\"chip\">{kind}</span>, from ");
        let of_a_tool = shown(Some(SourceKind::Tool));
        assert!(of_a_tool.contains(&said("tool")), "{of_a_tool}");
        assert!(!shown(None).contains(&said("tool")));
    }
}
