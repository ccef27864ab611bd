//! Marks of a cache in JSON: where they stand, how they are written in and taken back.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::provider::wire::json::{JsonPath, is_list};

/// The depth at which blocks stand in a block: the content of a result.
const DEPTH: u32 = 3;
/// The seconds for which Anthropic keeps a prefix whose mark names no lifetime.
pub(super) const SHORT: u32 = 300;

pub(super) fn is_mark(key: &str) -> bool {
    ["cache_control", "prompt_cache_breakpoint"].contains(&key)
}

/// The marks of a block.
#[derive(Default)]
pub(super) struct Found {
    /// The bytes to leave out, ascending, on the body's scale.
    pub(super) cuts: Vec<Range<usize>>,
    /// The lifetime of the block's own mark, in seconds.
    pub(super) own: Option<u32>,
    pub(super) any: bool,
}

/// The lifetime that a mark asks for, in seconds.
pub(super) fn lifetime(mark: &RawValue) -> u32 {
    let mark: Option<serde_json::Value> = serde_json::from_str(mark.get()).ok();
    mark.as_ref()
        .and_then(|mark| mark.get("ttl")?.as_str())
        .and_then(|ttl| super::seconds(ttl).ok())
        .unwrap_or(SHORT)
}

/// The marks of a block that starts at this place.
pub(super) fn find(value: &RawValue, start: usize) -> Found {
    let mut found = Found::default();
    search(value, start, value.get(), DEPTH, &mut found);
    found
}

fn search(value: &RawValue, start: usize, whole: &str, depth: u32, found: &mut Found) {
    let json = value.get();
    let may = json.contains("cache_control") || json.contains("prompt_cache_breakpoint");
    if depth == 0 || !may {
        return;
    }
    let place = JsonPath::new("block");
    let at = |inner: &RawValue| start + (inner.get().as_ptr().addr() - whole.as_ptr().addr());
    if is_list(value) {
        for inner in place.list(value).unwrap_or_default() {
            search(inner, start, whole, depth, found);
        }
        return;
    }
    let Ok(fields) = place.fields(value) else {
        return;
    };
    let fields: Vec<(&str, &RawValue)> = fields.iter().collect();
    // Where the value before ends: behind it stands the comma.
    let mut before = None;
    let mut open = at(value) + 1;
    for (index, (key, inner)) in fields.iter().enumerate() {
        let end = at(inner) + inner.get().len();
        if is_mark(key) {
            found.any |= inner.get() != "null";
            if depth == DEPTH && inner.get() != "null" {
                found.own = Some(lifetime(inner));
            }
            let range = match (before, fields.get(index + 1)) {
                (Some(before), _) => before..end,
                // The first field goes with the comma behind it.
                (None, Some(_)) => {
                    let rest = &whole[end - start..];
                    let comma = rest.find(',').map_or(0, |comma| comma + 1);
                    let space = rest[comma..].len() - rest[comma..].trim_start().len();
                    open..end + comma + space
                }
                (None, None) => open..end,
            };
            open = range.end;
            found.cuts.push(range);
            before = before.map(|_| end);
        } else {
            if ["content", "output"].contains(key) {
                search(inner, start, whole, depth - 1, found);
            }
            before = Some(end);
        }
    }
}

/// The JSON without these bytes.
pub(super) fn cut<'a>(json: &'a str, start: usize, cuts: &[Range<usize>]) -> Cow<'a, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut from = 0;
    for cut in cuts {
        out.push_str(json.get(from..cut.start - start).unwrap_or_default());
        from = cut.end - start;
    }
    out.push_str(json.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Returns the place of a byte of a text in the JSON string that the text is written as, quotes included.
pub(super) fn raw_place(raw: &str, byte: usize) -> usize {
    let bytes = raw.as_bytes();
    let (mut at, mut said) = (1, 0);
    while said < byte && at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            said += 1;
            continue;
        }
        let hex = |from: usize| u32::from_str_radix(raw.get(from..from + 4)?, 16).ok();
        let (taken, char) = match bytes.get(at + 1) {
            Some(b'u') => match hex(at + 2) {
                // One half of a pair: the other follows.
                Some(0xD800..0xDC00) => (12, 4),
                Some(code) => (6, char::from_u32(code).map_or(3, char::len_utf8)),
                None => (6, 1),
            },
            _ => (2, 1),
        };
        if said + char > byte {
            break;
        }
        at += taken;
        said += char;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(json: &str) -> String {
        let value: &RawValue = serde_json::from_str(json).unwrap();
        cut(json, 0, &find(value, 0).cuts).into_owned()
    }

    #[test]
    fn marks_go_wherever_they_stand_and_nothing_else_does() {
        for (marked, plain) in [
            (r#"{"a":1,"cache_control":{}}"#, r#"{"a":1}"#),
            (r#"{"a":1 , "cache_control" : {"x":[1,2]} }"#, r#"{"a":1 }"#),
            (r#"{"cache_control":{}, "a":1}"#, r#"{"a":1}"#),
            (r#"{"cache_control":{}}"#, "{}"),
            (
                r#"{"a":1,"prompt_cache_breakpoint":{},"b":2}"#,
                r#"{"a":1,"b":2}"#,
            ),
            (
                r#"{"cache_control":1,"prompt_cache_breakpoint":{},"b":"cache_control"}"#,
                r#"{"b":"cache_control"}"#,
            ),
            (
                r#"{"content":[{"text":"x","cache_control":{}},{"text":"y"}],"type":"t"}"#,
                r#"{"content":[{"text":"x"},{"text":"y"}],"type":"t"}"#,
            ),
            (
                r#"{"input":{"cache_control":1}}"#,
                r#"{"input":{"cache_control":1}}"#,
            ),
        ] {
            assert_eq!(bare(marked), plain, "{marked}");
        }
    }

    #[test]
    fn a_byte_of_a_text_is_found_in_its_json() {
        let text = "a\n\"é😀\\z";
        for raw in [
            serde_json::to_string(text).unwrap(),
            r#""a\u000a\"\u00e9\ud83d\ude00\\z""#.to_owned(),
        ] {
            let z = text.len() - 1;
            assert_eq!(raw.as_bytes()[raw_place(&raw, z)], b'z', "{raw}");
            assert_eq!(raw_place(&raw, 0), 1);
            assert_eq!(raw_place(&raw, text.len()), raw.len() - 1);
        }
    }
}
