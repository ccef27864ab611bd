//! The JSON values of a text, each with its line: one document, several in a row, or one in each line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;
use tenure::Error;

/// A value, and the line of the text that it begins on.
pub(crate) type Placed<'a> = (usize, &'a RawValue);

/// The values of a text.
#[derive(Default)]
pub(crate) struct Values<'a> {
    pub(crate) all: Vec<Placed<'a>>,
    /// The lines that hold no whole value, where others do.
    pub(crate) broken: Vec<usize>,
}

/// Returns the values of a text. Where each has a line of its own, one that holds none is told apart from the others: a
/// program that is stopped leaves half a line behind.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line, when it is no JSON.
pub(crate) fn values<'a>(text: &'a str, expected: &str) -> Result<Values<'a>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = Values::default();
    let (mut line, mut counted) = (1, 0);
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = match value {
            Ok(value) => value,
            Err(error) => {
                return in_lines(text).ok_or_else(|| {
                    Error::input(format!("not JSON: {error}"))
                        .at("", Some(error.line()))
                        .expected(expected)
                });
            }
        };
        let offset = value.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..offset].matches('\n').count();
        counted = offset;
        found.all.push((line, value));
    }
    Ok(found)
}

/// The values of a text with an object in each line but for some: the first line is one.
fn in_lines(text: &str) -> Option<Values<'_>> {
    let mut found = Values::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str::<&RawValue>(line) {
            Ok(value) if value.get().starts_with('{') => found.all.push((at + 1, value)),
            _ if found.all.is_empty() => return None,
            _ => found.broken.push(at + 1),
        }
    }
    Some(found)
}

/// The fields of an object, by name; of two of one name the last, as most readers have it. What is `null` is not there.
pub(crate) struct Object<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Object<'a> {
    pub(crate) fn of(value: &'a RawValue) -> Option<Object<'a>> {
        serde_json::from_str(value.get()).ok().map(Object)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).copied().filter(|value| value.get() != "null")
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        text(self.get(key)?)
    }

    /// Returns the first of these fields that is a text.
    pub(crate) fn text_of(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// Returns whether a field is one of these texts.
    pub(crate) fn is(&self, key: &str, texts: &[&str]) -> bool {
        let value = self.text(key);
        value.is_some_and(|value| texts.contains(&value.as_str()))
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.get() == "true")
    }

    pub(crate) fn object(&self, key: &str) -> Option<Object<'a>> {
        Object::of(self.get(key)?)
    }

    pub(crate) fn list(&self, key: &str) -> Option<Vec<&'a RawValue>> {
        list(self.get(key)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (&**key, *value))
    }
}

pub(crate) fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(value.get()).ok()
}

/// Returns a text. Halves of characters that stand alone in it, as programs in JavaScript write them, become `�`: the rest
/// of the text is not lost for them.
pub(crate) fn text(value: &RawValue) -> Option<String> {
    struct Take;
    impl Visitor<'_> for Take {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }

        fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }
    struct Lossy(String);
    impl<'de> Deserialize<'de> for Lossy {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Lossy, D::Error> {
            deserializer.deserialize_bytes(Take).map(Lossy)
        }
    }
    if !value.get().starts_with('"') {
        return None;
    }
    serde_json::from_str(value.get()).ok().map(|Lossy(text)| text)
}
