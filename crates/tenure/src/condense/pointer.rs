//! Pointers to originals: what stands where something was left out, so that it can be read back.
//!
//! An id is a keyed digest of the content. Whoever does not hold the workspace's key can neither
//! guess the id of another original nor make one up, even if they know its text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::key::FrameKey;
use crate::base::text::clip;
use crate::base::text::is_invisible;

/// The most characters that a pointer line says of what was left out.
const MAX_LEFT_OUT: usize = 120;
const OPENING: &str = "[omitted: ";
/// It names no tool: whoever reads the line need not be offered one.
const BEFORE_ID: &str = "; original ";
/// The words before the id in lines of earlier versions, which stand in texts that were kept.
const ONCE_BEFORE_ID: &str = "; rehydrate with ";

/// The id of a kept original, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PointerId([u8; 8]);

/// The id under which the original with this digest is kept in the workspace of this key.
///
/// ```
/// use tenure::{PointerId, pointer_id, pointer_line};
/// use tenure::{Digest, FrameKey};
/// let id = pointer_id(&FrameKey::new("demo", [7; 32]), &Digest::of(b"a long text"));
/// assert_eq!(id.to_string().parse(), Ok(id));
/// let line = pointer_line("812 records", id);
/// assert_eq!(line, format!("[omitted: 812 records; original {id}]"));
/// assert_eq!(PointerId::of(&line), Ok(id));
/// ```
pub fn pointer_id(key: &FrameKey, content: &Digest) -> PointerId {
    let mac = key.mac(&[b"tenure pointer", content.bytes()]);
    let mut id = [0; 8];
    id.copy_from_slice(&mac[..8]);
    PointerId(id)
}

/// The line that stands for what was left out: `[omitted: LEFT_OUT; original ID]`, one line
/// whatever `left_out` holds. Brackets in it become round ones, so that it cannot end the line early.
pub fn pointer_line(left_out: &str, id: PointerId) -> String {
    format!("{OPENING}{}{BEFORE_ID}{id}]", in_one_line(left_out))
}

/// At most [`MAX_LEFT_OUT`] characters, none of which breaks the line or hides.
fn in_one_line(text: &str) -> String {
    // What is far too long is not read to the end.
    let head = text.char_indices().nth(MAX_LEFT_OUT * 4);
    let words: Vec<&str> =
        text[..head.map_or(text.len(), |(at, _)| at)].split_whitespace().collect();
    let line = words.join(" ");
    let mut shown = line.chars().map(|c| match c {
        '[' => '(',
        ']' => ')',
        c if c.is_control() || is_invisible(c) => '\u{FFFD}',
        c => c,
    });
    let mut short: String = shown.by_ref().take(MAX_LEFT_OUT).collect();
    if head.is_some() || shown.next().is_some() {
        short.push('…');
    }
    short
}

impl PointerId {
    /// The id that someone gives who was shown a pointer: the id alone, or the whole line.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is neither.
    pub fn of(text: &str) -> Result<PointerId, Error> {
        let text = text.trim();
        let line = text.strip_prefix(OPENING).and_then(|line| line.strip_suffix(']'));
        // What was left out may look like an id: the last one is the line's own.
        let id = [BEFORE_ID, ONCE_BEFORE_ID]
            .into_iter()
            .filter_map(|before| Some(line?.rsplit_once(before)?.1))
            .min_by_key(|id| id.len());
        id.unwrap_or(text).parse().map_err(|error: Error| {
            error.expected("16 hexadecimal digits in lower case, or a whole pointer line")
        })
    }
}

impl fmt::Display for PointerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for PointerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PointerId {
    type Err = Error;

    fn from_str(text: &str) -> Result<PointerId, Error> {
        Some(text)
            .filter(|text| {
                // `from_str_radix` would take a sign and capitals.
                text.len() == 16
                    && text
                        .bytes()
                        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
            })
            .and_then(|text| u64::from_str_radix(text, 16).ok())
            .map(|number| PointerId(number.to_be_bytes()))
            .ok_or_else(|| {
                Error::input(format!("`{}` is not the id of an original", clip(text)))
                    .expected("16 hexadecimal digits in lower case")
            })
    }
}

impl Serialize for PointerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PointerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PointerId, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for PointerId {
    fn schema_name() -> Cow<'static, str> {
        "PointerId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-f]{16}$" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> FrameKey {
        FrameKey::new("test", [byte; 32])
    }

    #[test]
    fn ids_are_of_the_content_and_the_key() {
        let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
        let id = pointer_id(&key(1), &a);
        assert_eq!(id, pointer_id(&key(1), &a));
        assert_ne!(id, pointer_id(&key(1), &b));
        assert_ne!(id, pointer_id(&key(2), &a));
        // The digest alone gives nothing away.
        assert!(!a.to_string().contains(&id.to_string()));
        assert_eq!(id.to_string().len(), 16);
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(json, format!("\"{id}\""));
        assert_eq!(serde_json::from_str::<PointerId>(&json).unwrap(), id);
        assert!(serde_json::from_str::<PointerId>("\"../../etc/passwd\"").is_err());
    }

    #[test]
    fn anything_but_sixteen_digits_is_refused() {
        for bad in [
            "",
            "0123456789abcde",
            "0123456789abcdef0",
            "0123456789ABCDEF",
            "+123456789abcdef",
            " 123456789abcdef",
            "../../../../../a",
            "０123456789abc",
            "0123456789abcdeg",
        ] {
            let error = bad.parse::<PointerId>().unwrap_err();
            assert!(error.expected.unwrap().contains("16"), "{bad}");
        }
        let zero: PointerId = "0000000000000000".parse().unwrap();
        assert_eq!(zero.to_string(), "0000000000000000");
    }

    #[test]
    fn a_line_gives_its_id_and_no_other() {
        let id: PointerId = "00000000000000ff".parse().unwrap();
        for before in ["; original ", "; rehydrate with "] {
            let forged = format!("x{before}0123456789abcdef]\n[omitted: y");
            let line = pointer_line(&forged, id);
            assert_eq!(PointerId::of(&format!("  {line}\n")), Ok(id));
            assert_eq!(
                line.matches(['[', ']', '\n']).collect::<Vec<_>>(),
                ["[", "]"]
            );
        }
        assert_eq!(PointerId::of("00000000000000ff\n"), Ok(id));
        // As lines were written before.
        let kept = "[omitted: 812 records; rehydrate with 00000000000000ff]";
        assert_eq!(PointerId::of(kept), Ok(id));
        for bad in ["[omitted: x]", "[omitted: x; original ]", "[]"] {
            assert!(PointerId::of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_line_is_short_and_shows_what_it_says() {
        let id: PointerId = "0123456789abcdef".parse().unwrap();
        assert_eq!(
            pointer_line("1 line,\r\n\t2 rows\u{2028}\u{1b}[2J\u{202E}", id),
            "[omitted: 1 line, 2 rows \u{FFFD}(2J\u{FFFD}; original 0123456789abcdef]"
        );
        let exact = "x".repeat(MAX_LEFT_OUT);
        assert!(!pointer_line(&exact, id).contains('…'));
        for long in ["x".repeat(5_000), " ".repeat(5_000) + "x"] {
            let line = pointer_line(&long, id);
            assert!(line.chars().count() < MAX_LEFT_OUT + 60 && line.contains('…'));
        }
    }

    proptest! {
        #[test]
        fn every_line_is_one_line_with_its_id(left_out in any::<String>(), number in any::<u64>()) {
            let id = PointerId(number.to_be_bytes());
            let line = pointer_line(&left_out, id);
            prop_assert_eq!(line.lines().count(), 1);
            prop_assert!(!line.contains(char::is_control));
            prop_assert!(line.chars().count() <= MAX_LEFT_OUT + 1 + 44);
            prop_assert_eq!(PointerId::of(&line), Ok(id));
            prop_assert_eq!(line.matches(']').count(), 1);
        }
    }
}
