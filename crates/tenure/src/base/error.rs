//! Errors as data: what happened, where, what was expected, and a hint.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::base::text::clip;

/// The longest name, in bytes, for which the nearest of those that are known is looked for.
const LONG_NAME: usize = 256;

/// The kind of a failure. Each has its own exit code on the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call itself is wrong.
    Usage,
    /// Something that came from outside is malformed.
    Input,
    /// The subject of the call is not there: a session, a record, an object, a key. To programs it is told as `input`.
    #[serde(rename = "input")]
    NotFound,
    /// The mandatory items do not fit.
    Budget,
    /// The policy or a permission forbids it.
    Policy,
    /// Someone else wrote first.
    Conflict,
    /// A service that the call needs cannot be reached now; the same call may succeed later.
    Unavailable,
    /// Stored data is not as it was written.
    Damaged,
    /// A promise of this crate did not hold: a bug.
    Internal,
}

/// A place in a source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Location {
    /// The file or source as the user named it.
    pub source: String,
    /// The line, counted from one, when it is known.
    pub line: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        self.line.map_or(Ok(()), |line| write!(f, ":{line}"))
    }
}

/// A mandatory item of a compile that cannot fit, with its cost.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MandatoryItem {
    /// The object's name, or the name of a piece that the compiler adds.
    pub name: String,
    /// The term of the section where it would stand.
    pub section: &'static str,
    /// The tokens that it costs.
    pub tokens: u32,
}

/// A failure, written in one style: what happened, where, what was expected, a hint.
///
/// ```
/// use tenure::{Error, ErrorKind};
/// let error = Error::new(ErrorKind::Input, "priority `7` is out of range")
///     .at("rules.md", Some(12))
///     .expected("a number from 0 to 1");
/// assert_eq!(error.to_string(), "priority `7` is out of range (rules.md:12)\nexpected: a number from 0 to 1");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// The failure, in words.
    pub what: String,
    /// The place of it.
    pub at: Option<Location>,
    /// The input that was expected instead.
    pub expected: Option<String>,
    /// Advice on what to do.
    pub hint: Option<String>,
    /// The mandatory items that do not fit, for [`ErrorKind::Budget`].
    pub mandatory: Vec<MandatoryItem>,
    /// The failure below it, which [`std::error::Error::source`] gives; it is never told to a caller.
    #[serde(skip)]
    pub cause: Option<Cause>,
}

/// A failure of a file, a database or another library, as that library says it.
#[derive(Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Two causes are the same when they say the same.
impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Cause {}

impl Error {
    /// A failure of this kind.
    pub fn new(kind: ErrorKind, what: impl Into<String>) -> Error {
        Error {
            kind,
            what: what.into(),
            at: None,
            expected: None,
            hint: None,
            mandatory: Vec::new(),
            cause: None,
        }
    }

    /// Malformed input.
    pub fn input(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Input, what)
    }

    /// Something that is not there.
    pub fn not_found(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::NotFound, what)
    }

    /// Returns an error of the kind [`ErrorKind::Damaged`]: stored data is not as it was written.
    pub fn damaged(what: impl Into<String>) -> Error {
        Error::new(ErrorKind::Damaged, what)
            .hint("`tenure store check` says what is damaged; restore the store from a copy, or set aside what is lost")
    }

    /// A feature whose types exist but whose behaviour does not yet.
    pub fn unsupported(what: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Input, format!("{what} is not supported yet"))
    }

    /// An error of a build without the Cargo feature that `what` needs. The hint says how to build with it.
    ///
    /// ```
    /// let error = tenure::Error::without_feature("PostgreSQL", "postgres");
    /// assert_eq!(error.what, "this build has no PostgreSQL: it was made without the feature `postgres`");
    /// assert!(error.hint.unwrap().ends_with("cargo install --path crates/tenure-cli --locked --features postgres`"));
    /// ```
    pub fn without_feature(what: impl fmt::Display, feature: &str) -> Error {
        Error::new(
            ErrorKind::Usage,
            format!("this build has no {what}: it was made without the feature `{feature}`"),
        )
        .hint(format!(
            "in a checkout: `cargo install --path crates/tenure-cli --locked --features {feature}`"
        ))
    }

    /// A broken promise of this crate.
    pub fn assertion(what: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Internal, format!("assertion failed: {what}"))
            .hint("this is a bug in tenure; please report it with the request and the sources")
    }

    /// Returns the failure with the one below it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
        self.cause = Some(Cause(Arc::new(cause)));
        self
    }

    /// Returns the failure with its place.
    #[must_use]
    pub fn at(mut self, source: impl Into<String>, line: Option<usize>) -> Error {
        self.at = Some(Location {
            source: source.into(),
            line,
        });
        self
    }

    /// Returns the failure with its place, unless it has one.
    #[must_use]
    pub fn or_at(self, source: impl Into<String>, line: Option<usize>) -> Error {
        if self.at.is_some() {
            self
        } else {
            self.at(source, line)
        }
    }

    /// Returns the failure with what was expected.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Error {
        self.expected = Some(expected.into());
        self
    }

    /// Returns the failure with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Error {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(at) = &self.at {
            write!(f, " ({at})")?;
        }
        for item in &self.mandatory {
            write!(
                f,
                "\n  {:>7} tokens  {}  [{}]",
                item.tokens, item.name, item.section
            )?;
        }
        if let Some(expected) = &self.expected {
            write!(f, "\nexpected: {expected}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let cause = self.cause.as_ref()?;
        Some(&*cause.0)
    }
}

/// The one of `known` that `given` was probably meant to be.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // No one mistypes so much, and to compare it would take its time.
    if given.len() > LONG_NAME {
        return None;
    }
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness >= 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// Returns an error for a name that is not among the known ones, with all of them and the nearest.
pub fn unknown_name<'a>(noun: &str, given: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<&str> = known.collect();
    let error = Error::input(format!("unknown {noun} `{}`", clip(given)))
        .expected(format!("one of {}", names.join(", ")));
    match suggested(given, &names) {
        Some(name) => error.hint(format!("did you mean `{name}`?")),
        None => error,
    }
}

/// A security class. No class is suggested for an unknown one: the word that is nearest may stand for a lower one, and
/// `secret` would become `restricted`.
pub(crate) const A_CLASS: &str = "highly_restricted";

/// Returns the known name that may have been meant.
fn suggested<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    nearest(given, known.iter().copied()).filter(|_| !known.contains(&A_CLASS))
}

/// Turns a parser's message into an error, with the nearest known name where it lists them.
///
/// Parsers say ``unknown field `x`, expected one of `a`, `b` ``; that list is the vocabulary.
pub fn parse_error(message: &str) -> Error {
    let message = &in_plain_words(message);
    let mut names = message.split('`').skip(1).step_by(2);
    let error = Error::input(message.trim());
    if !message.contains("unknown field") && !message.contains("unknown term") {
        return match message.split_once(", expected ") {
            Some((what, expected)) => Error::input(what.trim()).expected(expected.trim()),
            None => error,
        };
    }
    let Some(given) = names.next() else {
        return error;
    };
    let known: Vec<&str> = names.collect();
    let Some(start) = message.find("unknown ") else {
        return error;
    };
    let what = message[start..].split(", expected").next().unwrap_or(message).trim();
    let error = Error::input(what);
    match suggested(given, &known) {
        // The nearest of many says more than all of them.
        Some(name) if known.len() > 16 => error.hint(format!("did you mean `{name}`?")),
        Some(name) => error
            .expected(format!("one of {}", known.join(", ")))
            .hint(format!("did you mean `{name}`?")),
        None if known.is_empty() => error.expected("no fields"),
        None => error.expected(format!("one of {}", known.join(", "))),
    }
}

/// A parser's error as ours, with the line and the nearest known name.
pub fn json_error(error: &serde_json::Error, source: &str) -> Error {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let line = (error.line() > 0).then_some(error.line());
    let mut ours = parse_error(message);
    if message.contains("recursion limit") {
        ours = ours.expected("at most 128 levels of nesting");
    }
    if message.contains("surrogate") || message.contains("hex escape") {
        ours = ours.hint(
            "a \\ud800–\\udfff escape must be one half of a pair; text must be valid Unicode",
        );
    }
    ours.at(source, line)
}

/// The words of [`json_error`] for a text that is not JSON.
pub const NOT_JSON: &str = "this is not JSON";

/// A parser's message without the words of the language that we are written in.
fn in_plain_words(message: &str) -> String {
    const WORDS: [(&str, &str); 14] = [
        ("unknown variant", "unknown term"),
        ("invalid type: ", "wrong kind of value: "),
        ("invalid value: ", "value out of range: "),
        ("expected value", NOT_JSON),
        (
            "expected u32",
            "expected a whole number from 0 to 4294967295",
        ),
        ("expected u64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a boolean", "expected true or false"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a mapping of keys to values"),
        ("sequence", "a list"),
        ("floating point", "fraction"),
        ("expected a borrowed string", "expected a string"),
        (
            "unexpected end of hex escape",
            "half of a surrogate pair stands alone",
        ),
    ];
    let plain = WORDS.iter().fold(message.to_owned(), |text, (theirs, ours)| {
        text.replace(theirs, ours)
    });
    // `expected struct Name` names a type of ours.
    match plain.find("expected struct ") {
        Some(at) => format!("{}expected a mapping of keys to values", &plain[..at]),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_messages_become_suggestions() {
        let error = parse_error("unknown field `budgt`, expected one of `budget`, `window`");
        assert_eq!(
            error.to_string(),
            "unknown field `budgt`\nexpected: one of budget, window\nhint: did you mean `budget`?"
        );
        let error = parse_error("invalid type: integer `7`, expected struct TaskState");
        assert_eq!(
            error.to_string(),
            "wrong kind of value: integer `7`\nexpected: a mapping of keys to values"
        );
    }

    #[test]
    fn a_name_without_measure_is_near_to_none() {
        let given = |extra: usize| format!("budget{}", "t".repeat(extra));
        assert_eq!(nearest(&given(1), ["budget"]), Some("budget"));
        assert_eq!(nearest(&given(LONG_NAME), ["budget"]), None);
    }
}
