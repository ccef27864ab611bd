//! JSON taken apart without being written anew: values stay the bytes that they came as.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::base::text::clip;

/// The fields of an object, in order. A key that stands twice is an error: readers differ in which
/// of the two they take.
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields<'a>, D::Error> {
        struct Take;
        impl<'de> Visitor<'de> for Take {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                let mut seen = BTreeSet::new();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    if !seen.insert(key.clone()) {
                        let key = clip(&key);
                        return Err(A::Error::custom(format!("the key `{key}` stands twice")));
                    }
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Take)
    }
}

impl<'a> Fields<'a> {
    /// The value of this key, unless it is `null`.
    pub(crate) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| *value)
            .filter(|value| !is_null(value))
    }

    /// The value of the first of these keys that has one.
    pub(crate) fn any(&self, keys: &[&str]) -> Option<&'a RawValue> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
    }

    /// The object again, in its order, without these fields.
    pub(crate) fn without(&self, left_out: fn(&str, &RawValue) -> bool) -> String {
        let stays: Vec<String> = self
            .iter()
            .filter(|(key, value)| !left_out(key, value))
            .map(|(key, value)| format!("{}:{}", Value::from(key), value.get()))
            .collect();
        format!("{{{}}}", stays.join(","))
    }
}

/// Returns the object with other values under these keys; what has none gets it at the end. Every other byte
/// stays.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when the text is no JSON object, or a key stands twice.
///
/// ```
/// use tenure::wire::with_fields;
/// let body = r#"{"model": "m",  "messages": [1], "n": 1.50}"#;
/// let changed = with_fields(body, &[("messages", "[2,3]"), ("tools", "[]")])?;
/// assert_eq!(changed, r#"{"model": "m",  "messages": [2,3], "n": 1.50,"tools":[]}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn with_fields(body: &str, changes: &[(&str, &str)]) -> Result<String, Error> {
    let fields: Fields<'_> = serde_json::from_str(body)
        .map_err(|error| Error::input(format!("not a JSON object: {error}")))?;
    let mut cuts: Vec<(usize, usize, &str)> = Vec::new();
    let mut added = String::new();
    for (key, json) in changes {
        match fields.iter().find(|(known, _)| known == key) {
            Some((_, value)) => {
                let start = value.get().as_ptr() as usize - body.as_ptr() as usize;
                cuts.push((start, start + value.get().len(), json));
            }
            None => {
                let comma = if fields.0.is_empty() && added.is_empty() {
                    ""
                } else {
                    ","
                };
                added.push_str(&format!("{comma}{}:{json}", serde_json::Value::from(*key)));
            }
        }
    }
    cuts.sort_unstable();
    let end = body.rfind('}').unwrap_or(body.len());
    cuts.push((end, end, &added));
    let mut changed = String::with_capacity(body.len());
    let mut from = 0;
    for (start, end, json) in cuts {
        changed.push_str(&body[from..start]);
        changed.push_str(json);
        from = end;
    }
    changed.push_str(&body[from..]);
    Ok(changed)
}

pub(crate) fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

pub(crate) fn is_string(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

pub(crate) fn is_list(value: &RawValue) -> bool {
    value.get().starts_with('[')
}

/// A place in what is read, for messages: `messages[3].content[1]`.
#[derive(Clone, Debug)]
pub(crate) struct JsonPath(String);

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonPath {
    pub(crate) fn new(root: &str) -> JsonPath {
        JsonPath(root.to_owned())
    }

    pub(crate) fn at(&self, index: usize) -> JsonPath {
        JsonPath(format!("{}[{index}]", self.0))
    }

    pub(crate) fn key(&self, key: &str) -> JsonPath {
        JsonPath(format!("{}.{key}", self.0))
    }

    pub(crate) fn wrong(&self, what: impl Into<String>, expected: &str) -> Error {
        Error::input(what).at(self.0.clone(), None).expected(expected)
    }

    fn read<'a, T: Deserialize<'a>>(
        &self,
        value: &'a RawValue,
        expected: &str,
    ) -> Result<T, Error> {
        serde_json::from_str(value.get()).map_err(|error| {
            // A place within one value, which the reader cannot see, would only mislead.
            let told = error.to_string();
            let message = told.split(" at line ").next().unwrap_or_default();
            self.wrong(message.replace('`', "'"), expected)
        })
    }

    pub(crate) fn fields<'a>(&self, value: &'a RawValue) -> Result<Fields<'a>, Error> {
        self.read(value, "an object")
    }

    pub(crate) fn list<'a>(&self, value: &'a RawValue) -> Result<Vec<&'a RawValue>, Error> {
        self.read(value, "a list")
    }

    pub(crate) fn text(&self, value: &RawValue) -> Result<String, Error> {
        self.read(value, "a text of valid Unicode")
    }

    /// The text under a key that must be there.
    pub(crate) fn needed(&self, fields: &Fields<'_>, key: &str) -> Result<String, Error> {
        match fields.get(key) {
            Some(value) => self.key(key).text(value),
            None => Err(self.wrong(format!("`{key}` is missing"), &format!("a text `{key}`"))),
        }
    }

    /// The text under a key that may be missing.
    pub(crate) fn maybe(&self, fields: &Fields<'_>, key: &str) -> Result<Option<String>, Error> {
        fields.get(key).map(|value| self.key(key).text(value)).transpose()
    }
}
