//! Configurations as texts whose entries are set and taken out; all else of them stays as it was written.

use serde_json::{Map, Value};
use tenure::Error;

use super::{json, toml};

/// The mark that some editors put before a text.
const BOM: &str = "\u{feff}";
/// The largest configuration that is read, in bytes.
pub(super) const LARGEST: u64 = 64 << 20;

/// The form of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

impl Form {
    /// Returns the value of a whole text. An empty one is an empty object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line where it is broken.
    pub fn value(self, text: &str) -> Result<Value, Error> {
        let text = text.strip_prefix(BOM).unwrap_or(text);
        match self {
            Form::Json => json::value(text),
            Form::Toml => toml::value(text),
        }
    }

    /// Returns the text with this entry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is broken, or has something else where the entry's place is.
    pub fn set(self, text: &str, path: &[String], value: &Value) -> Result<String, Error> {
        self.edit(text, |text| match self {
            Form::Json => json::set(text, path, value),
            Form::Toml => toml::set(text, path, value),
        })
        .and_then(|after| {
            let mut expected = self.value(text)?;
            put(&mut expected, path, value.clone());
            self.checked(after, &expected)
        })
    }

    /// Returns the text without this entry, and without the objects above it that are empty then, but for the first
    /// `stays` of them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is broken.
    pub fn take(self, text: &str, path: &[String], stays: usize) -> Result<String, Error> {
        self.edit(text, |text| match self {
            Form::Json => json::take(text, path, stays),
            Form::Toml => toml::take(text, path, stays),
        })
        .and_then(|after| {
            let left = self.value(&after)?;
            let mut expected = self.value(text)?;
            remove(&mut expected, path, stays, &left);
            self.checked(after, &expected)
        })
    }

    fn edit(
        self,
        text: &str,
        edit: impl FnOnce(&str) -> Result<String, Error>,
    ) -> Result<String, Error> {
        match text.strip_prefix(BOM) {
            Some(text) => edit(text).map(|after| format!("{BOM}{after}")),
            None => edit(text),
        }
    }

    /// Returns a text that means what it should. A configuration is a user's: nothing is written that was not read back.
    fn checked(self, after: String, expected: &Value) -> Result<String, Error> {
        if self.value(&after).ok().as_ref() == Some(expected) {
            return Ok(after);
        }
        let what = "the file cannot be changed without changing more than Tenure's entries";
        Err(Error::input(what).hint("change it by hand: docs/reference/setup.md has the entries"))
    }
}

/// Returns the value at a path.
pub fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Returns how many of the objects that lead to an entry are there.
pub(super) fn depth(value: &Value, path: &[String]) -> usize {
    let above = path.len().saturating_sub(1);
    (0..above).take_while(|&depth| at(value, &path[..=depth]).is_some()).count()
}

fn put(value: &mut Value, path: &[String], new: Value) {
    let Some((name, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if let Value::Object(object) = value {
        let inner = object.entry(name).or_insert_with(|| Value::Object(Map::new()));
        put(inner, rest, new);
    }
}

/// Removes an entry, and what is empty above it unless it is left: a comment keeps an empty object.
fn remove(value: &mut Value, path: &[String], stays: usize, left: &Value) {
    for depth in (stays.min(path.len().saturating_sub(1))..path.len()).rev() {
        let (above, name) = (&path[..depth], &path[depth]);
        let is_last = depth + 1 == path.len();
        let mut inner = Some(&mut *value);
        for name in above {
            inner = inner.and_then(|value| value.get_mut(name));
        }
        let Some(Value::Object(object)) = inner else {
            return;
        };
        let is_empty = object.get(name).is_some_and(|value| {
            let is_empty = value.as_object().is_some_and(Map::is_empty);
            is_empty && at(left, &path[..=depth]).is_none()
        });
        if is_last || is_empty {
            object.remove(name);
        }
    }
}
