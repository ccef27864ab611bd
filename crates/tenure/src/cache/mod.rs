//! The effect of a provider's cache on a request: where the marks go and what each prefix costs ([`plan`]), the body
//! with its marks ([`CachePlan::apply`]), and why the next request misses ([`explain`]).
//!
//! A cache holds prefixes of what a provider renders: the tools, then the system's text, then the messages. The
//! model catalogue says who decides which ([`CacheRules`]): the request by
//! its marks (Anthropic, OpenAI from GPT-5.6 on), the provider in steps of tokens (OpenAI before), the
//! provider as it likes (Gemini), or an engine in blocks of tokens (vLLM, SGLang, llama.cpp).
//!
//! ```
//! use tenure::cache::{Options, Sent, explain, plan};
//! use tenure::wire::Format;
//! use tenure::{FrameKey, World};
//!
//! let world = World::for_model("claude-opus-5-5", FrameKey::new("demo", [7; 32]))?;
//! let body = r#"{"max_tokens":9,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":"Go."}]}"#;
//! let sent = Sent::body(Format::Anthropic, body)?;
//! let plan = plan(&world, &sent, &Options::default(), None)?;
//! assert_eq!(plan.breakpoints[0].at, "system[0]");
//! let marked = plan.apply(body)?;
//! assert!(marked.contains(r#""text":"Be brief.","cache_control":{"type":"ephemeral"}}"#));
//! assert_eq!(tenure::cache::strip(Format::Anthropic, &marked)?, body);
//!
//! let later = body.replace("brief", "exact");
//! let why = explain(&world, &sent, &Sent::body(Format::Anthropic, &later)?)?;
//! assert_eq!((why.cause.term(), why.first.unwrap().at.as_str()), ("system_changed", "system[0]"));
//! # Ok::<(), tenure::Error>(())
//! ```

mod apply;
mod body;
mod explain;
mod held;
mod marks;
mod plan;
mod settings;
#[cfg(test)]
mod tests;
mod weigh;

use schemars::JsonSchema;
use serde::Serialize;

use crate::base::error::Error;
use crate::base::text::clip;
use crate::compile::envelope::{Envelope, Payload};
use crate::object::Format;
use crate::object::vocabulary::vocabulary;
use crate::provider::catalogue::{CacheRules, Cost, Price, PriceTier};

pub use apply::{lifetimes, marked, strip};
pub use body::Part;
pub use explain::{Changed, Difference, Explanation, MissCause, ObjectPlace, explain};
pub use plan::{
    Breakpoint, CachePlan, Costs, OmittedBecause, OmittedBreakpoint, Options, Why, plan,
};
pub use settings::Keeps;

use body::Body;

vocabulary! {
    /// The contents of a prefix, by how seldom they change.
    CacheZone ("cacheable zone") {
        /// Rules of the platform and the developer, and the tools.
        Platform = "platform",
        /// Policy of the tenant and the project, and the corpus.
        Project = "project",
        /// Long-lived memory, and the history, which only grows.
        Memory = "memory",
        /// The turn: what this call adds.
        Turn = "turn",
    }
}

vocabulary! {
    /// The state of a prefix in a cache.
    Held ("answer") {
        /// It does.
        Yes = "yes",
        /// It is shorter than the shortest that is held.
        No = "no",
        /// The count is a bound, or the shortest that is held is not known.
        Unsure = "unsure",
    }
}

/// A request as it is sent: a provider's body, or a compiled payload with the account of what stands
/// where in it.
pub struct Sent<'a> {
    body: Body<'a>,
    envelope: Option<&'a Envelope>,
    model: Option<String>,
}

impl<'a> Sent<'a> {
    /// The body of a request, or its bare array of messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) naming the place when it is no JSON of this form.
    pub fn body(format: Format, json: &'a str) -> Result<Sent<'a>, Error> {
        let body = Body::read(format, json)?;
        Ok(Sent {
            model: body.model.as_ref().map(|(name, _)| name.clone()),
            body,
            envelope: None,
        })
    }

    /// Returns the request of a compile. Where the target does not name the model in its body, `model` does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) after a dry run, which gives no payload.
    pub fn compiled(envelope: &'a Envelope, model: Option<&str>) -> Result<Sent<'a>, Error> {
        let body = match (&envelope.payload, envelope.target.format()) {
            (Some(Payload::Text(text)), _) => {
                let mut ends: Vec<usize> = envelope.sections.iter().filter_map(end_of).collect();
                ends.sort_unstable();
                Body::text(text, &ends)
            }
            (Some(Payload::Body(body)), Some(format)) => Body::read(format, body.get())?,
            _ => {
                return Err(Error::input("there is no payload")
                    .expected("the result of a compile that was no dry run"));
            }
        };
        let named = body.model.as_ref().map(|(name, _)| name.clone());
        Ok(Sent {
            body,
            envelope: Some(envelope),
            model: named.or(model.map(str::to_owned)),
        })
    }

    /// Returns the form of the request; none for a text.
    pub fn format(&self) -> Option<Format> {
        self.body.format
    }

    /// The model that it names.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

/// Returns the place at which a section of a text ends.
fn end_of(section: &crate::compile::envelope::SectionReport) -> Option<usize> {
    let ends = section.items.iter().filter_map(|item| item.span);
    ends.map(|span| span.end as usize).max()
}

/// A number of seconds from `5m`, `30m` or `1h`.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is none.
pub fn seconds(text: &str) -> Result<u32, Error> {
    let unit = |end: char| match end {
        'h' => Some(3_600),
        'm' => Some(60),
        's' => Some(1),
        _ => None,
    };
    let end = text.chars().next_back();
    end.and_then(|end| Some((text.strip_suffix(end)?.parse::<u32>().ok()?, unit(end)?)))
        .and_then(|(number, unit)| number.checked_mul(unit))
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| {
            Error::input(format!("`{}` is not a lifetime", clip(text)))
                .expected("5m, 30m, 1h or the like")
        })
}

/// A lifetime as providers write it.
fn lasting(seconds: u32) -> String {
    match seconds {
        hours if hours % 3_600 == 0 => format!("{}h", hours / 3_600),
        minutes if minutes % 60 == 0 => format!("{}m", minutes / 60),
        seconds => format!("{seconds}s"),
    }
}

/// Returns the cost of writing a token for this long: the price of that lifetime, or the one that there is, or, where
/// writing has no price of its own, the input's.
fn write_price(tier: &PriceTier, ttl: Option<u32>) -> Option<Price> {
    let of_ttl = match ttl {
        Some(ttl) if ttl >= 3_600 => tier.cache_write_1h,
        _ => tier.cache_write_5m,
    };
    of_ttl.or(tier.cache_write).or(tier.input)
}

/// Returns whether this many tokens are held; `least` of them where the count is a bound.
fn holds(rules: &CacheRules, least: u32, tokens: u32) -> Held {
    match rules.min_tokens {
        Some(min) if tokens < min => Held::No,
        Some(min) if least >= min => Held::Yes,
        None if rules.kind == crate::provider::catalogue::CacheKind::Prefix => Held::Yes,
        _ => Held::Unsure,
    }
}

/// The part of a prefix that is held: whole steps of it.
fn in_steps(rules: &CacheRules, tokens: u32) -> u32 {
    let step = rules.granularity.unwrap_or(1).max(1);
    tokens / step * step
}

fn cost(price: Option<Price>, tokens: u32) -> Option<Cost> {
    price.map(|price| price.of(tokens))
}

/// A place in a body, as its provider counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Position {
    /// The message, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// The block of it, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// The tool, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<u32>,
}
