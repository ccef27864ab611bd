//! The cost of a body's blocks in tokens, and the zone of each.

use std::collections::BTreeMap;

use super::body::{Block, Body, Content, Kind, Part};
use super::{CacheZone, Sent};
use crate::base::tokenizer::CountKind;
use crate::compile::envelope::Envelope;
use crate::object::section::{Section, Zone};
use crate::provider::wire::Packed;
use crate::write::span::Span;
use crate::write::world::World;

/// A body with its counts.
pub(super) struct Weighed {
    /// The tokens up to the end of each block.
    pub(super) upto: Vec<u32>,
    pub(super) total: u32,
    pub(super) count: CountKind,
    pub(super) zones: Vec<CacheZone>,
    /// The number of blocks at the beginning that change least: the floor of an epoch, or tools and system.
    pub(super) floor: usize,
    /// True if the sections of a compile say what stands where.
    pub(super) has_sections: bool,
}

impl Weighed {
    /// The tokens before the block at this place.
    pub(super) fn before(&self, at: usize) -> u32 {
        at.checked_sub(1).map_or(0, |at| self.upto[at])
    }

    /// So many tokens by the vocabulary that a bound is made from, without its margin.
    pub(super) fn least(&self, world: &World, tokens: u32) -> u32 {
        if self.count != CountKind::Bounded {
            return tokens;
        }
        let percent = u64::from(world.model().margin_percent);
        u32::try_from(u64::from(tokens) * 100 / (100 + percent)).unwrap_or(u32::MAX)
    }
}

/// The zone of a section.
fn zone(section: Section, zone: Zone) -> CacheZone {
    match (zone, section) {
        (Zone::Tail, _) => CacheZone::Turn,
        (Zone::History, _) => CacheZone::Memory,
        (Zone::Floor, Section::Identity | Section::Tools) => CacheZone::Platform,
        (Zone::Floor, Section::Policy | Section::Codex) => CacheZone::Project,
        (Zone::Floor, _) => CacheZone::Memory,
    }
}

/// Counts a body.
pub(super) fn weigh(world: &World, sent: &Sent<'_>) -> Weighed {
    let own = own(world, &sent.body);
    match sent.envelope {
        Some(envelope) => compiled(world, &sent.body, envelope, &own),
        None => bare(world, &sent.body, &own),
    }
}

/// A body of which only what stands where is wanted: every block counts for nothing.
pub(super) fn uncounted(world: &World, sent: &Sent<'_>) -> Weighed {
    bare(world, &sent.body, &vec![0; sent.body.blocks.len()])
}

/// Returns the cost of each block by itself.
fn own(world: &World, body: &Body<'_>) -> Vec<u32> {
    let chat = world.model().chat;
    body.blocks
        .iter()
        .map(|block| match (&block.said, block.kind) {
            (_, Kind::Image) => world.price_packed(&Packed::of_picture(&block.bare())),
            (Content::Text { text, .. }, _) => world.price(text),
            (_, Kind::Call) => world.price(&block.bare()).saturating_add(chat.per_call),
            (_, Kind::Tool) => world.price(&block.bare()).saturating_add(chat.per_tool),
            _ => world.price_json(&block.bare()),
        })
        .collect()
}

fn sums(tokens: impl Iterator<Item = u32>) -> Vec<u32> {
    tokens
        .scan(0_u32, |sum, tokens| {
            *sum = sum.saturating_add(tokens);
            Some(*sum)
        })
        .collect()
}

/// A body of which nothing but its blocks is known: the last words that are not the model's are the turn.
fn bare(world: &World, body: &Body<'_>, own: &[u32]) -> Weighed {
    let chat = world.model().chat;
    let blocks = &body.blocks;
    let mut before = None;
    let mut offered = false;
    let tokens = blocks.iter().zip(own).map(|(block, own)| {
        let mut tokens = *own;
        let place = (block.part, block.message);
        if block.part == Part::Tools {
            tokens = tokens.saturating_add(if offered { 0 } else { chat.tools });
            offered = true;
        } else if before != Some(place) && body.format.is_some() {
            tokens = tokens.saturating_add(chat.per_message);
        }
        before = Some(place);
        tokens
    });
    let upto = sums(tokens);
    let reply = body.format.map_or(0, |_| chat.reply);
    let turn = blocks.iter().rposition(|block| block.by_model).map_or(0, |at| at + 1);
    let zones = blocks.iter().enumerate().map(|(at, block)| match block.part {
        Part::Tools => CacheZone::Platform,
        Part::System => CacheZone::Project,
        Part::Messages if at >= turn => CacheZone::Turn,
        Part::Messages => CacheZone::Memory,
    });
    let counted = |block: &Block<'_>| match (body.format, block.kind, &block.said) {
        (None, _, _) | (_, Kind::Call | Kind::Tool, _) | (_, _, Content::Text { .. }) => true,
        // A message that says nothing.
        (_, _, Content::Json { raw, .. }) => *raw == "null",
    };
    let count = match (blocks.iter().all(counted), body.format) {
        (false, _) => CountKind::Bounded,
        (true, None) => world.tokenizer().kind(),
        (true, Some(_)) => world.chat_count_kind(),
    };
    Weighed {
        total: upto.last().copied().unwrap_or(0).saturating_add(reply),
        zones: zones.collect(),
        upto,
        count,
        floor: blocks.iter().take_while(|block| block.part != Part::Messages).count(),
        has_sections: false,
    }
}

/// The place of a block, as spans have it.
type Key = (Option<u32>, Option<u32>, Option<u32>);

/// The blocks of a body by where spans say that they stand.
pub(super) struct Places(BTreeMap<Key, usize>);

impl Places {
    pub(super) fn of(body: &Body<'_>) -> Places {
        let mut places = BTreeMap::new();
        for (at, block) in body.blocks.iter().enumerate() {
            if body.format.is_none() {
                continue;
            }
            let keys = [
                (block.message, block.block, block.tool),
                // A span may name the message alone.
                (block.message, None, block.tool),
            ];
            // What stands in a message without blocks is its first.
            let first = (block.message, Some(0), block.tool);
            for key in keys.into_iter().chain([first]) {
                places.entry(key).or_insert(at);
            }
        }
        Places(places)
    }

    /// The block that an item begins in.
    pub(super) fn block(&self, body: &Body<'_>, span: Span) -> Option<usize> {
        if body.format.is_none() {
            return body.blocks.iter().position(|block| span.end as usize <= block.range.end);
        }
        // A tool that stands in a message is no block of its own.
        let tool = span.tool.filter(|_| span.message.is_none());
        let key = (span.message, span.block, tool);
        let whole = (span.message, None, tool);
        self.0.get(&key).or_else(|| self.0.get(&whole)).copied()
    }
}

/// A compiled body: its own counts, block by block.
fn compiled(world: &World, body: &Body<'_>, envelope: &Envelope, own: &[u32]) -> Weighed {
    let chat = world.model().chat;
    let blocks = &body.blocks;
    let places = Places::of(body);
    let mut given: Vec<Option<u32>> = vec![None; blocks.len()];
    let mut zones: Vec<Option<CacheZone>> = vec![None; blocks.len()];
    let mut shared = vec![false; blocks.len()];
    let mut floor = 0;
    for section in &envelope.sections {
        let is_shared = section.name != Section::History && section.name != Section::Tools;
        for (item, at) in section
            .items
            .iter()
            .filter_map(|item| Some((item, item.span.and_then(|span| places.block(body, span))?)))
        {
            let tokens = given[at].unwrap_or(0).saturating_add(item.tokens);
            given[at] = Some(tokens);
            let zone = if item.late {
                CacheZone::Turn
            } else {
                zone(section.name, section.zone)
            };
            zones[at] = Some(zones[at].map_or(zone, |known| known.max(zone)));
            if section.zone == Zone::Floor && !item.late {
                floor = floor.max(at + 1);
            }
            shared[at] |= is_shared || item.late || item.name.starts_with('@');
        }
    }
    // What the provider adds around the texts stands with them.
    let tools = blocks.iter().position(|block| block.part == Part::Tools);
    let reply = body.format.map_or(0, |_| chat.reply).min(envelope.overhead_tokens);
    let mut around = envelope.overhead_tokens - reply;
    if let Some(first) = tools {
        let tokens = chat.tools.min(around);
        around -= tokens;
        given[first] = Some(given[first].unwrap_or(0).saturating_add(tokens));
    }
    for at in 0..blocks.len() {
        if shared[at] && blocks[at].part != Part::Tools {
            let tokens = (chat.per_message + 1).min(around);
            around -= tokens;
            given[at] = given[at].map(|given| given.saturating_add(tokens));
        }
    }
    // An item that is several blocks is counted as one.
    let mut tokens = vec![0; blocks.len()];
    let mut at = 0;
    while at < blocks.len() {
        let mut end = at + 1;
        while end < blocks.len() && given[end].is_none() {
            end += 1;
        }
        let mut left = given[at].unwrap_or(0);
        for (at, tokens) in tokens.iter_mut().enumerate().take(end).skip(at) {
            *tokens = if at + 1 == end {
                left
            } else {
                own[at].min(left)
            };
            left -= *tokens;
        }
        at = end;
    }
    let mut zone = CacheZone::Platform;
    let zones = zones.into_iter().map(|known| {
        zone = known.unwrap_or(zone);
        zone
    });
    Weighed {
        upto: sums(tokens.into_iter()),
        total: envelope.total_tokens,
        count: envelope.count,
        zones: zones.collect(),
        floor,
        has_sections: true,
    }
}
