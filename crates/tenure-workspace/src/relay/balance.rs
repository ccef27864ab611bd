//! The tokens that a body has more or fewer than the one that came.
//!
//! Both are counted in the same way, and what stands in both is not counted at all: a body that was not changed has
//! exactly as many. A long message is counted once, however often an agent sends it.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use tenure::wire::Packed;
use tenure::{Digest, Error, World};

use super::byte_lru::ByteLru;
use super::compose::Own;
use crate::records::calibrated;

/// The most memory for what messages cost, about, in bytes.
const PRICES: usize = 8 << 20;
/// The memory of one, about, in bytes.
const PRICE: usize = 160;
/// Shorter texts are counted again sooner than they are looked up, in bytes.
const LONG: usize = 256;
/// The tokens that a provider adds to a message, about.
const AROUND: u64 = 4;

/// Fields that say how a message is built, not what the model reads.
const FORM: [&str; 11] = [
    "type",
    "role",
    "id",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "signature",
    "media_type",
    "mimeType",
    "cache_control",
    "prompt_cache_breakpoint",
];

/// The prices of long messages, by their digests.
#[derive(Debug)]
pub(super) struct Prices(Mutex<ByteLru<u64, Digest>>);

impl Default for Prices {
    fn default() -> Prices {
        Prices(Mutex::new(ByteLru::new(PRICES)))
    }
}

/// The tokens that a body has fewer, and those that it has more, than the one that came: one of them is 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Balance {
    pub(super) saved: u64,
    pub(super) added: u64,
}

impl Balance {
    /// The tokens saved and added, where the provider counts at most `percent` tokens for a hundred of the
    /// vocabulary's.
    pub(super) fn scaled(self, margin_percent: u32, percent: Option<u32>) -> (u64, u64) {
        let of = |tokens| calibrated(tokens, margin_percent, percent);
        (of(self.saved), of(self.added))
    }
}

impl Prices {
    /// Compares the tokens of a body that is sent with those of the one that came.
    pub(super) fn balance(&self, world: &World, came: &str, sent: &str) -> Result<Balance, Error> {
        let read = |body| -> Result<Own<'_>, Error> {
            serde_json::from_str(body)
                .map_err(|error| Error::input(format!("the body has no messages: {error}")))
        };
        let (came, sent) = (read(came)?, read(sent)?);
        let (before, after) = (list(came.messages), list(sent.messages));
        let (before, after) = apart(&before, &after);
        let mut fewer = self.price(world, before);
        let mut more = self.price(world, after);
        for (came, sent) in [(came.system, sent.system), (came.tools, sent.tools)] {
            let [came, sent] = [came, sent].map(|value| value.map(RawValue::get));
            if came != sent {
                fewer += self.price(world, came.as_slice());
                more += self.price(world, sent.as_slice());
            }
        }
        Ok(Balance {
            saved: fewer.saturating_sub(more),
            added: more.saturating_sub(fewer),
        })
    }

    fn price(&self, world: &World, texts: &[&str]) -> u64 {
        let each = texts.iter().map(|json| {
            if json.len() < LONG {
                return count(world, json);
            }
            let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let key = Digest::of_parts([world.model_name().as_bytes(), json.as_bytes()]);
            if let Some(tokens) = known().get(&key) {
                return *tokens;
            }
            let tokens = count(world, json);
            let mut known = known();
            known.put(key, tokens, PRICE);
            known.shrink(|_| true);
            tokens
        });
        each.sum()
    }
}

/// The messages of a list; a text instead of messages is one.
fn list(messages: &RawValue) -> Vec<&str> {
    let list: Result<Vec<&RawValue>, _> = serde_json::from_str(messages.get());
    match list {
        Ok(list) => list.into_iter().map(RawValue::get).collect(),
        Err(_) => vec![messages.get()],
    }
}

/// The parts of two lists between their common beginning and their common end.
fn apart<'l, 'b>(one: &'l [&'b str], other: &'l [&'b str]) -> (&'l [&'b str], &'l [&'b str]) {
    let same = |(one, other): &(&&str, &&str)| one == other;
    let first = one.iter().zip(other).take_while(same).count();
    let (one, other) = (&one[first..], &other[first..]);
    let last = one.iter().rev().zip(other.iter().rev()).take_while(same).count();
    (&one[..one.len() - last], &other[..other.len() - last])
}

fn count(world: &World, json: &str) -> u64 {
    match serde_json::from_str(json) {
        Ok(mut value) => {
            // Pictures cost by their size on the screen: their bytes are no text.
            let mut packed = Packed::default();
            packed.take_from(&mut value);
            AROUND + count_value(world, &value) + u64::from(world.price_packed(&packed))
        }
        Err(_) => world.tokenizer().count(json) as u64,
    }
}

fn count_value(world: &World, value: &Value) -> u64 {
    match value {
        Value::String(text) => world.tokenizer().count(text) as u64,
        Value::Array(values) => values.iter().map(|value| count_value(world, value)).sum(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| !FORM.contains(&key.as_str()))
            .map(|(_, value)| count_value(world, value))
            .sum(),
        Value::Null => 0,
        Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use tenure::FrameKey;

    use super::*;

    fn balance(came: &str, sent: &str) -> (u64, u64) {
        let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
        let Balance { saved, added } = Prices::default().balance(&world, came, sent).unwrap();
        (saved, added)
    }

    #[test]
    fn what_stands_in_both_is_not_counted() {
        let body = |texts: &[&str]| {
            let messages: Vec<String> = texts
                .iter()
                .map(|text| format!(r#"{{"role":"user","content":"{text}"}}"#))
                .collect();
            format!(r#"{{"messages":[{}]}}"#, messages.join(","))
        };
        let long = "pressure ".repeat(400);
        let (all, end) = (body(&["One.", &long, "Two."]), body(&["One.", "Two."]));
        assert_eq!(balance(&all, &all), (0, 0));
        let (saved, added) = balance(&all, &end);
        assert!((400..420).contains(&saved) && added == 0, "{saved} {added}");
        assert_eq!(balance(&end, &all), (0, saved));
        // A mark of a cache is no word, and a picture costs what pictures cost, whatever its bytes are.
        let marked = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"One.","cache_control":{"type":"ephemeral"}}]},
            {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAAAAAAAAAA"}}]}]}"#;
        let plain =
            r#"{"messages":[{"role":"user","content":"One."},{"role":"user","content":[]}]}"#;
        let (of_unknown_size, added) = balance(marked, plain);
        assert!(
            (85..2_000).contains(&of_unknown_size) && added == 0,
            "{of_unknown_size}"
        );
        assert_eq!(
            balance(r#"{"input":"One."}"#, r#"{"input":"One."}"#),
            (0, 0)
        );
    }

    #[test]
    fn what_stands_before_the_messages_counts() {
        let body = |system: &str| format!(r#"{{"system":{system},"messages":[]}}"#);
        let (own, more) = (
            body(r#""Be brief.""#),
            body(r#"[{"type":"text","text":"Be brief."},{"type":"text","text":"Report pascal."}]"#),
        );
        let (saved, added) = balance(&own, &more);
        assert!(saved == 0 && (2..6).contains(&added), "{added}");
    }
}
