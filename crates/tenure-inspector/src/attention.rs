//! The attention overlay: measured attention weights of a model, shown on the payload that it read.
//!
//! The weights come from outside, for one payload, which they name by its digest: either one for each item of the
//! envelope, in its order, or spans of bytes as the items of an envelope have them. They are compared with tokens: an
//! object that got its share has the same part of the weights as of the tokens.

use std::cmp::Reverse;

use maud::{Markup, html};
use serde::Deserialize;
use tenure::object::clip;
use tenure::{Digest, Envelope, Error, Span};

use crate::payload::{self, Spread};
use crate::shell::table;
use crate::text::{grouped, left_out, name};
use crate::weights::{Attention, LITTLE, times};

/// The most weights that are read.
pub const MOST_WEIGHTS: usize = 1_000_000;
/// The most flagged items that a page lists.
const FLAGGED: usize = 50;

/// A file of weights.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    payload: String,
    #[serde(default)]
    items: Option<Vec<f64>>,
    #[serde(default)]
    spans: Option<Vec<Weighed>>,
}

/// A span and its weight.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Weighed {
    #[serde(default)]
    message: Option<u32>,
    #[serde(default)]
    block: Option<u32>,
    #[serde(default)]
    tool: Option<u32>,
    #[serde(default)]
    start: u32,
    #[serde(default)]
    end: Option<u32>,
    weight: f64,
}

impl Attention {
    /// Reads weights.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when they are no such file, are of another payload, or are not
    /// finite numbers from 0 on; when there are too many, or not one for each item; when spans overlap or lie outside.
    pub fn read(text: &str, envelope: &Envelope) -> Result<Attention, Error> {
        let file: File =
            serde_json::from_str(text.trim_start_matches('\u{FEFF}')).map_err(|error| {
                let line = Some(error.line()).filter(|line| *line > 0);
                expected(
                    Error::input(format!("the weights cannot be read: {error}"))
                        .at("attention", line),
                )
            })?;
        let of: Digest = file.payload.parse().map_err(|_| {
            let what = format!("`{}` is no digest of a payload", clip(&file.payload));
            fault("payload", what).expected("the `payload_digest` of an envelope")
        })?;
        let own = envelope.payload_digest.ok_or_else(|| {
            Error::input("there is no payload that weights could be laid over")
                .expected("the output of a compile, or a record that can be made again")
        })?;
        if of != own {
            return Err(Error::input("the weights are of another payload")
                .at("attention: payload", None)
                .expected(format!("`{own}`, the `payload_digest` of this envelope")));
        }
        match (file.items, file.spans) {
            (Some(items), None) => Attention::of_items(&items, envelope),
            (None, Some(spans)) => Attention::of_spans(&spans, envelope),
            _ => Err(expected(fault(
                "items",
                "the file has both `items` and `spans`, or neither",
            ))),
        }
    }

    fn of_items(weights: &[f64], envelope: &Envelope) -> Result<Attention, Error> {
        let items = payload::items(envelope).len();
        if weights.len() != items {
            let what = format!("there are {} weights", grouped(weights.len() as u64));
            return Err(fault("items", what).expected(format!(
                "{}: one for each item of the envelope's sections, in their order",
                grouped(items as u64)
            )));
        }
        for (at, weight) in weights.iter().enumerate() {
            check(&format!("items[{at}]"), *weight)?;
        }
        Attention::shares(weights.to_vec(), 0.0)
    }

    fn of_spans(weighed: &[Weighed], envelope: &Envelope) -> Result<Attention, Error> {
        if weighed.len() > MOST_WEIGHTS {
            let what = format!("there are {} spans", grouped(weighed.len() as u64));
            return Err(fault("spans", what)
                .expected(format!("at most {}", grouped(MOST_WEIGHTS as u64)))
                .hint("add the weights of neighbouring tokens up"));
        }
        let mut spans = Vec::with_capacity(weighed.len());
        for (at, one) in weighed.iter().enumerate() {
            check(&format!("spans[{at}].weight"), one.weight)?;
            spans.push(Spread {
                span: Span {
                    message: one.message,
                    block: one.block,
                    tool: one.tool,
                    start: one.start,
                    end: one.end.unwrap_or(u32::MAX),
                },
                weight: one.weight,
            });
        }
        let (parts, unclaimed) = payload::spread(envelope, &spans)
            .map_err(|(at, what)| fault(&format!("spans[{at}]"), what).hint(
                "a span is `message`, `block`, `tool`, `start`, `end` as the `span` of an envelope's item; bytes count within the text that it names",
            ))?;
        Attention::shares(parts, unclaimed)
    }
}

fn fault(place: &str, what: impl Into<String>) -> Error {
    Error::input(what).at(format!("attention: {place}"), None)
}

fn expected(error: Error) -> Error {
    error.expected("`payload` (the digest) and one of `items` (numbers) and `spans` (objects with `start`, `end`, `weight`)")
}

fn check(place: &str, weight: f64) -> Result<(), Error> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(fault(place, format!("{weight} is no weight")).expected("a number from 0 on"))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

/// An important item, and what it got.
struct Flag {
    item: usize,
    because: String,
    ratio: f64,
    /// The place in the payload of its first token, from 0 to 1.
    stands: f64,
}

/// The findings: important objects that got little attention, with the reason why they are important, and the
/// attention of each section beside its share of the tokens.
pub(crate) fn summary(
    envelope: &Envelope,
    attention: &Attention,
    important: impl Fn(usize) -> Option<String>,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let items = payload::items(envelope);
    let whole: u32 = items.iter().map(|(_, item)| item.tokens).sum();
    let mut flags = Vec::new();
    let mut before = 0u32;
    for (at, (_, item)) in items.iter().enumerate() {
        let stands = f64::from(before) / f64::from(whole.max(1));
        before += item.tokens;
        let why = important(at);
        let ratio = attention.ratio(at, item.tokens, whole);
        if let (Some(because), Some(ratio)) = (why, ratio.filter(|ratio| *ratio < LITTLE)) {
            flags.push(Flag {
                item: at,
                because,
                ratio,
                stands,
            });
        }
    }
    // The worst first: what fell short by most tokens.
    flags.sort_by_key(|flag| {
        Reverse(((LITTLE - flag.ratio) * f64::from(items[flag.item].1.tokens) * 1e3) as u64)
    });
    let head = html! { th scope="col" { "Important text" } th scope="col" { "Because" } th.n scope="col" { "Tokens" } th scope="col" { "Got" } th.n scope="col" { "Stands at" } };
    let rows = html! {
        @for flag in flags.iter().take(FLAGGED) {
            @let (section, item) = items[flag.item];
            tr {
                th.name scope="row" { @match href(flag.item) { Some(href) => { a href=(href) { (name(&item.name)) } } None => { (name(&item.name)) } } " " span.chip { (section) } }
                td { (flag.because) } td.n { (grouped(u64::from(item.tokens))) } td { span.bad { (times(flag.ratio)) } } td.n { (percent(flag.stands)) }
            }
        }
    };
    html! {
        p.lead {
            "Weights from outside, compared with tokens: 1× is the share that its length would give. "
            (percent(attention.unclaimed)) " of them fell on what no object claims. Nothing of them is kept."
        }
        @if flags.is_empty() { p { span.in { "Nothing important got less than half of its share." } } }
        @else {
            p.notice { (grouped(flags.len() as u64)) " important " @if flags.len() == 1 { "object" } @else { "objects" } " got less than half of their share: look at where they stand and how they are written." }
            (table("Important text that got little", head, rows))
            (left_out(flags.len(), FLAGGED))
        }
        h3 { "By section" }
        (by_section(envelope, attention, whole))
    }
}

fn by_section(envelope: &Envelope, attention: &Attention, whole: u32) -> Markup {
    let head = html! { th scope="col" { "Section" } th.n scope="col" { "Tokens" } th.n scope="col" { "Of the tokens" } th.n scope="col" { "Of the weights" } th scope="col" { "Got" } };
    let mut at = 0;
    let sections: Vec<_> = envelope
        .sections
        .iter()
        .map(|section| {
            let parts = attention.parts.get(at..at + section.items.len()).unwrap_or_default();
            at += section.items.len();
            (section.name, section.tokens, parts.iter().sum::<f64>())
        })
        .collect();
    let rows = html! {
        @for (section, tokens, part) in sections {
            @let share = f64::from(tokens) / f64::from(whole.max(1));
            tr {
                th scope="row" { span.chip { (section) } }
                td.n { (grouped(u64::from(tokens))) } td.n { (percent(share)) } td.n { (percent(part)) }
                td {
                    @if tokens > 0 {
                        @let ratio = part / share;
                        @if ratio < LITTLE && section.tier().is_fixed() { span.bad { (times(ratio)) ", though it never leaves" } } @else { (times(ratio)) }
                    } @else { "–" }
                }
            }
        }
    };
    table("Attention by section", head, rows)
}

/// The form for weights on a server.
pub(crate) fn form(action: Option<String>, digest: Option<Digest>, token: &str) -> Markup {
    html! {
        details {
            summary { "Lay attention weights over it" }
            p.hint {
                "JSON: " code { "{\"payload\": \"" @if let Some(digest) = digest { (digest) } @else { "…" } "\", \"items\": [0.1, …]}" }
                ", one weight for each item, or " code { "\"spans\": [{\"message\": 0, \"start\": 0, \"end\": 9, \"weight\": 0.1}, …]" } ". Nothing of it is kept."
            }
            form.filter method="post" action=[action] {
                input type="hidden" name="token" value=(token);
                label { "Weights" textarea name="weights" rows="6" cols="60" required spellcheck="false" {} }
                button type="submit" { "Show" }
            }
        }
    }
}
