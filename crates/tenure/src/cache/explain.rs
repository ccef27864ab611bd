//! The reason why the cache finds no more of a request: the first byte that differs from the request before, whose it
//! is, and what that costs.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use super::body::{Body, Part};
use super::settings::{self, Keeps};
use super::weigh::{Places, Weighed, weigh};
use super::{Sent, cost, write_price};
use crate::base::error::Error;
use crate::base::tokenizer::CountKind;
use crate::object::section::Section;
use crate::object::vocabulary::vocabulary;
use crate::provider::catalogue::{CacheKind, Cost};
use crate::write::world::World;

vocabulary! {
    /// The cause of a cache miss, in the providers' own words (Anthropic, cache diagnostics).
    MissCause ("cause of a miss") {
        /// Nothing that was sent changed.
        None = "none",
        /// Another model.
        ModelChanged = "model_changed",
        /// The tools, or something that is rendered before them.
        ToolsChanged = "tools_changed",
        /// The system's text, or something that is rendered with it.
        SystemChanged = "system_changed",
        /// The messages, or something that is rendered with them.
        MessagesChanged = "messages_changed",
    }
}

/// An object of a compile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ObjectPlace {
    /// The section that it stands in.
    pub section: Section,
    /// Its name. One that starts with `@` is a piece that the compiler adds.
    pub object: Arc<str>,
}

/// The first byte that differs, in the provider's order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Difference {
    /// The block that it stands in: `messages[3].content[0]`.
    pub at: String,
    /// The byte of the body before, counted from 0.
    pub byte_before: usize,
    /// The byte of the body after.
    pub byte_after: usize,
    /// The object that it belonged to, where a compile says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<ObjectPlace>,
    /// The object that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<ObjectPlace>,
}

/// A setting that changed, and what outlives that.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Changed {
    /// The setting: `tool_choice`.
    pub setting: String,
    /// The part that is still found.
    pub keeps: Keeps,
}

/// The part of a request that the cache finds after another request.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Explanation {
    /// The cause of the miss.
    pub cause: MissCause,
    /// The settings that changed, outside the blocks.
    pub settings: Vec<Changed>,
    /// The first byte that differs; none where the request before stands whole in this one.
    pub first: Option<Difference>,
    /// The blocks of both that are the same, from the first on.
    pub same_blocks: u32,
    /// The blocks of the request before.
    pub blocks_before: u32,
    /// The blocks of this one.
    pub blocks_after: u32,
    /// The precision of the counts.
    pub count: CountKind,
    /// The tokens of this request.
    pub total_tokens: u32,
    /// The tokens of both that are the same, from the first on.
    pub same_tokens: u32,
    /// The tokens that the cache held after the request before.
    pub held_tokens: u32,
    /// The tokens of this request that it finds.
    pub cached_tokens: u32,
    /// Those that it does not.
    pub rewritten_tokens: u32,
    /// Those that it held and does not find.
    pub missed_tokens: u32,
    /// True if the marks are a plan's, because the bodies have none.
    pub planned_marks: bool,
    /// The cost of this request's input, where prices are known.
    pub input_cost: Option<Cost>,
    /// The share of that cost that was held and not found.
    pub miss_cost: Option<Cost>,
    /// Other findings.
    pub notes: Vec<String>,
}

/// Explains what the cache of the model finds of the second request, sent after the first.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when the requests are of different forms.
pub fn explain(world: &World, before: &Sent<'_>, after: &Sent<'_>) -> Result<Explanation, Error> {
    let (a, b) = (&before.body, &after.body);
    if a.format != b.format {
        let name = |body: &Body<'_>| body.format.map_or("text", |format| format.term());
        return Err(
            Error::input(format!("one request is {}, the other {}", name(a), name(b)))
                .expected("two requests of one form: no cache has a prefix in common"),
        );
    }
    let (counted_a, counted_b) = (weigh(world, before), weigh(world, after));
    let same = a.shared(b);
    let differs = same < a.blocks.len() && same < b.blocks.len();
    let another_model =
        before.model.is_some() && after.model.is_some() && before.model != after.model;
    let settings = changed(a, b)?;
    let kept = settings.iter().map(|changed| changed.keeps).min();
    let kept = if another_model {
        Some(Keeps::Nothing)
    } else {
        kept
    };
    // How many blocks the settings leave.
    let limit = kept.map_or(usize::MAX, |kept| {
        b.blocks.iter().take_while(|block| stays(block.part, kept)).count()
    });
    let shared = same.min(limit);
    let mut found = Explanation {
        cause: MissCause::None,
        first: None,
        same_blocks: same as u32,
        blocks_before: a.blocks.len() as u32,
        blocks_after: b.blocks.len() as u32,
        count: counted_a.count.max(counted_b.count),
        total_tokens: counted_b.total,
        same_tokens: counted_b.before(same),
        held_tokens: 0,
        cached_tokens: 0,
        rewritten_tokens: 0,
        missed_tokens: 0,
        planned_marks: false,
        input_cost: None,
        miss_cost: None,
        notes: Vec::new(),
        settings,
    };
    let mut partial = 0;
    if differs {
        let byte = differing(a, b, same);
        if let Some(byte) = byte {
            partial = common(world, b, &counted_b, same, byte);
        }
        found.same_tokens += partial;
        found.first = Some(difference(before, after, same, byte));
    }
    found.cause = if another_model {
        MissCause::ModelChanged
    } else if limit <= same && limit < a.blocks.len() {
        match kept {
            Some(Keeps::Nothing) => MissCause::ToolsChanged,
            Some(Keeps::Tools) => MissCause::SystemChanged,
            _ => MissCause::MessagesChanged,
        }
    } else if differs {
        match b.blocks[same].part.min(a.blocks[same].part) {
            Part::Tools => MissCause::ToolsChanged,
            Part::System => MissCause::SystemChanged,
            Part::Messages => MissCause::MessagesChanged,
        }
    } else {
        MissCause::None
    };
    if another_model && let (Some((_, at_a)), Some((_, at_b))) = (&a.model, &b.model) {
        found.first = Some(Difference {
            at: "model".to_owned(),
            byte_before: *at_a,
            byte_after: *at_b,
            before: None,
            after: None,
        });
    }
    count(
        world,
        before,
        after,
        (&counted_a, &counted_b),
        shared,
        if limit < same { 0 } else { partial },
        &mut found,
    )?;
    Ok(found)
}

/// Returns whether blocks of this part are still found.
fn stays(part: Part, kept: Keeps) -> bool {
    match kept {
        Keeps::Nothing => false,
        Keeps::Tools => part == Part::Tools,
        Keeps::ToolsAndSystem => part != Part::Messages,
        Keeps::Prefix => true,
    }
}

/// The settings that differ, those that lose most first.
fn changed(a: &Body<'_>, b: &Body<'_>) -> Result<Vec<Changed>, Error> {
    let differ = settings::all()?
        .iter()
        .filter(|setting| Some(setting.format) == b.format)
        .filter(|setting| {
            let name = setting.name.as_str();
            a.settings.get(name) != b.settings.get(name)
        });
    let mut changed: Vec<Changed> = differ
        .map(|setting| Changed {
            setting: setting.name.clone(),
            keeps: setting.keeps,
        })
        .collect();
    changed.sort_by_key(|changed| changed.keeps);
    Ok(changed)
}

/// The first byte that differs of what two blocks say; none where their messages differ around them.
fn differing(a: &Body<'_>, b: &Body<'_>, at: usize) -> Option<usize> {
    let (a, b) = (&a.blocks[at], &b.blocks[at]);
    let head = |block: &super::body::Block<'_>| block.head.as_ref().map(|(head, _)| head.clone());
    if head(a) != head(b) || a.part != b.part {
        return None;
    }
    let (a, b) = (a.bare(), b.bare());
    let mut byte = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    while !(a.is_char_boundary(byte) && b.is_char_boundary(byte)) {
        byte -= 1;
    }
    Some(byte)
}

/// At least how many tokens of a block stand before this byte: the last token may end behind it.
fn common(world: &World, body: &Body<'_>, counted: &Weighed, at: usize, byte: usize) -> u32 {
    let bare = body.blocks[at].bare();
    let tokens = world.tokenizer().count(bare.get(..byte).unwrap_or_default());
    let whole = counted.upto[at] - counted.before(at);
    u32::try_from(tokens).unwrap_or(u32::MAX).min(whole).saturating_sub(1)
}

fn difference(before: &Sent<'_>, after: &Sent<'_>, at: usize, byte: Option<usize>) -> Difference {
    let (a, b) = (&before.body.blocks[at], &after.body.blocks[at]);
    let place = |block: &super::body::Block<'_>| match (byte, &block.head) {
        (Some(byte), _) => block.place(byte),
        (None, Some((_, start))) => *start,
        (None, None) => block.range.start,
    };
    Difference {
        at: b.at.clone(),
        byte_before: place(a),
        byte_after: place(b),
        before: owner(before, at, byte.unwrap_or(0)),
        after: owner(after, at, byte.unwrap_or(0)),
    }
}

/// The object that a byte of a block belongs to.
fn owner(sent: &Sent<'_>, at: usize, byte: usize) -> Option<ObjectPlace> {
    let envelope = sent.envelope?;
    let body = &sent.body;
    let block = &body.blocks[at];
    let places = Places::of(body);
    let byte = match body.format {
        None => block.range.start + byte,
        Some(_) => byte,
    };
    let items = envelope.sections.iter().flat_map(|section| {
        section.items.iter().filter_map(|item| Some((section.name, item, item.span?)))
    });
    // What is several blocks begins in one before.
    let of_message = |span: crate::compile::envelope::Span| {
        span.message == block.message && span.tool == block.tool
    };
    let mut last = None;
    for (section, item, span) in items {
        let Some(begins) = places.block(body, span) else {
            continue;
        };
        let place = || ObjectPlace {
            section,
            object: Arc::clone(&item.name),
        };
        if begins == at && (span.start as usize..span.end as usize).contains(&byte) {
            return Some(place());
        }
        if begins <= at && of_message(span) && body.format.is_some() {
            last = Some(place());
        }
    }
    last
}

/// Counts what is held, found and missed, and what it costs.
fn count(
    world: &World,
    before: &Sent<'_>,
    after: &Sent<'_>,
    (counted_a, counted_b): (&Weighed, &Weighed),
    shared: usize,
    partial: u32,
    found: &mut Explanation,
) -> Result<(), Error> {
    let Some(rules) = &world.model().cache else {
        found.rewritten_tokens = found.total_tokens;
        found.notes.push("how this model's input is cached is not known".to_owned());
        return Ok(());
    };
    let marks = (
        super::held::marks(world, before, counted_a)?,
        super::held::marks(world, after, counted_b)?,
    );
    let same = counted_b.before(shared) + partial;
    found.held_tokens = super::held::written(rules, world, counted_a, &marks.0);
    let marks_of = (&marks.0, &marks.1);
    found.cached_tokens = super::held::found(rules, world, counted_b, marks_of, shared, same);
    found.cached_tokens = found.cached_tokens.min(found.total_tokens);
    found.rewritten_tokens = found.total_tokens - found.cached_tokens;
    let missed = found.held_tokens.saturating_sub(found.cached_tokens);
    found.missed_tokens = missed.min(found.rewritten_tokens);
    found.planned_marks =
        rules.kind == CacheKind::Explicit && (marks.0.is_planned || marks.1.is_planned);
    if found.planned_marks {
        found
            .notes
            .push("unmarked bodies are taken with the marks that a plan gives them".to_owned());
    }
    if rules.kind == CacheKind::Implicit {
        found
            .notes
            .push("the provider promises nothing: at most so much is found".to_owned());
    }
    if rules.min_tokens.is_none() && super::holds(rules, u32::MAX, u32::MAX) == super::Held::Unsure
    {
        found
            .notes
            .push("the shortest prefix that is held is not known of this model".to_owned());
    }
    let Some(tier) = world.model().price_of(found.total_tokens) else {
        return Ok(());
    };
    let writes = match rules.kind {
        CacheKind::Explicit => write_price(tier, rules.ttl_seconds.first().copied()),
        _ => tier.cache_write.or(tier.input),
    };
    // What stands before the last mark is written, what stands behind it is not.
    let last = marks.1.writes.iter().map(|at| counted_b.upto[*at]).max();
    let last = match rules.kind {
        CacheKind::Explicit => last.unwrap_or(0),
        _ => found.total_tokens,
    };
    let written = last.saturating_sub(found.cached_tokens);
    let rest = found.rewritten_tokens.saturating_sub(written);
    let read = tier.cache_read.or(tier.input);
    let parts = [
        (read, found.cached_tokens),
        (writes, written),
        (tier.input, rest),
    ];
    found.input_cost = parts.into_iter().try_fold(Cost::default(), |sum, (price, tokens)| {
        Some(sum + cost(price, tokens)?)
    });
    let lost = cost(writes, found.missed_tokens);
    found.miss_cost = lost.and_then(|lost| Some(lost.less(cost(read, found.missed_tokens)?)));
    Ok(())
}
