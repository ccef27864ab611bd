//! A provider's cache by Anthropic's rules, as strict as they are told: a prefix is written at a mark and
//! found at a mark or up to 20 blocks before one; four marks at most, longer lifetimes first, nothing short.

use std::collections::BTreeSet;

use serde_json::Value;
use tenure::Digest;

/// The shortest prefix that is held, in tokens.
const LEAST: u64 = 1_024;
/// How many blocks a mark looks at, its own included.
const LOOKED_AT: usize = 20;

/// What the cache did with one request, in tokens.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Used {
    pub(crate) total: u64,
    pub(crate) read: u64,
}

/// Prefixes that were written, by their digests.
#[derive(Default)]
pub(crate) struct Cache {
    written: BTreeSet<Digest>,
}

/// A block as it is rendered, and the lifetime of its mark in seconds.
struct Block {
    text: String,
    mark: Option<u32>,
}

impl Cache {
    /// Answers a request, or panics where the provider would refuse its marks.
    pub(crate) fn send(&mut self, body: &str) -> Used {
        let body: Value = serde_json::from_str(body).unwrap();
        let blocks = blocks(&body);
        let own = blocks.iter().enumerate();
        let own = own.filter_map(|(at, block)| Some((at, block.mark?)));
        // The provider's own, on the last block.
        let automatic = body.get("cache_control").map(lifetime);
        let automatic = automatic.map(|ttl| (blocks.len() - 1, ttl));
        let marks: Vec<(usize, u32)> = own.chain(automatic).collect();
        assert!(marks.len() <= 4, "more than four marks: {marks:?}");
        let is_ordered = marks.windows(2).all(|pair| pair[0].1 >= pair[1].1);
        assert!(is_ordered, "a longer lifetime behind a shorter: {marks:?}");
        let mut prefix = Digest::of(b"");
        let mut total = 0;
        let prefixes: Vec<(Digest, u64)> = blocks
            .iter()
            .map(|block| {
                prefix = Digest::of_parts([prefix.bytes().as_slice(), block.text.as_bytes()]);
                total += block.text.len() as u64 / 4;
                (prefix, total)
            })
            .collect();
        let looked_at = marks.iter().flat_map(|(mark, _)| {
            let first = (mark + 1).saturating_sub(LOOKED_AT);
            first..=*mark
        });
        let found = looked_at.filter(|at| self.written.contains(&prefixes[*at].0));
        let read = found.map(|at| prefixes[at].1).max().unwrap_or(0);
        let long = marks.iter().filter(|(at, _)| prefixes[*at].1 >= LEAST);
        self.written.extend(long.map(|(at, _)| prefixes[*at].0));
        Used { total, read }
    }
}

fn blocks(body: &Value) -> Vec<Block> {
    let list = |value: &Value| match value {
        Value::String(text) => vec![serde_json::json!({ "type": "text", "text": text })],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let tools = list(&body["tools"]).into_iter().map(|tool| ("tool", tool));
    let system = list(&body["system"]).into_iter().map(|block| ("system", block));
    let messages = body["messages"].as_array().unwrap();
    let said = messages.iter().flat_map(|message| {
        let role = message["role"].as_str().unwrap();
        list(&message["content"]).into_iter().map(move |block| (role, block))
    });
    tools.chain(system).chain(said).map(|(role, block)| of(role, block)).collect()
}

fn of(role: &str, mut block: Value) -> Block {
    let mark = block.as_object_mut().unwrap().remove("cache_control");
    let signed = ["thinking", "redacted_thinking"].iter().any(|kind| block["type"] == *kind);
    let empty = block["type"] == "text" && block["text"].as_str().unwrap().trim().is_empty();
    assert!(
        mark.is_none() || !(signed || empty),
        "this block takes no mark: {block}"
    );
    Block {
        mark: mark.as_ref().map(lifetime),
        text: format!("{role}\0{block}"),
    }
}

fn lifetime(mark: &Value) -> u32 {
    match mark["ttl"].as_str() {
        Some("1h") => 3_600,
        _ => 300,
    }
}
