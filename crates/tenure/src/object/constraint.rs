//! Constraints in the form that a machine can check: hard constraints are enforced by validators of the model's
//! answers.

use regex::{RegexSet, RegexSetBuilder};
use serde_json::Value;

use super::document::ConstraintDocument;
use super::vocabulary::Polarity;
use crate::base::error::Error;
use crate::base::text::clip;

/// The most patterns of one constraint.
pub const MAX_PATTERNS: usize = 32;
/// The longest pattern, in bytes.
pub const MAX_PATTERN: usize = 1 << 10;
/// The longest schema of an answer, in bytes of JSON.
pub const MAX_SCHEMA: usize = 1 << 16;
/// The deepest schema of an answer, in values within each other.
const MAX_DEPTH: usize = 64;
/// The most sources that a constraint may ask an answer to name.
const MAX_CITED: u32 = 64;
/// The most memory that the patterns of one constraint take when they are compiled, in bytes: a byte of an
/// answer takes time in proportion to it.
const MAX_COMPILED: usize = 1 << 16;
/// Below this the size of what is compiled is not told apart.
const MIN_COMPILED: usize = 1 << 10;
/// The most memory that a search with them keeps for itself, in bytes.
const MAX_CACHE: usize = 1 << 17;

/// A constraint that answers are held against, ready to be asked.
///
/// ```
/// use tenure::object::ConstraintDocument;
/// let constraint: ConstraintDocument = serde_json::from_value(serde_json::json!({
///     "rigidity": "hard", "polarity": "negative", "patterns": ["sk-[A-Za-z0-9]{20,}"],
/// }))?;
/// let check = constraint.answer_check()?.unwrap();
/// assert!(check.is_kept_by(&["The key is in the vault."]));
/// assert!(!check.is_kept_by(&["It is", "sk-0123456789abcdefghij"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AnswerCheck {
    polarity: Polarity,
    size: usize,
    said: Vec<String>,
    patterns: RegexSet,
    schema: Option<Value>,
    must_cite: u32,
}

impl AnswerCheck {
    /// Returns whether the patterns ask or forbid.
    pub fn polarity(&self) -> Polarity {
        self.polarity
    }

    /// Returns the size of the compiled patterns: a power of two that is enough, in bytes; 0 without patterns.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the schema that a final answer must be an instance of.
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// Returns the number of sources that a final answer must name at least.
    pub fn must_cite(&self) -> u32 {
        self.must_cite
    }

    /// Returns whether an answer of these texts keeps the patterns. Takes time in proportion to their length times
    /// the [size](AnswerCheck::size) of the patterns.
    pub fn is_kept_by(&self, texts: &[&str]) -> bool {
        self.broken_pattern(texts).is_none()
    }

    /// Returns the first pattern that an answer of these texts does not keep: one that is forbidden and there, or asked
    /// for and not.
    pub fn broken_pattern(&self, texts: &[&str]) -> Option<&str> {
        let mut found = vec![false; self.patterns.len()];
        for text in texts {
            for at in self.patterns.matches(text) {
                found[at] = true;
            }
        }
        let breaks = self.polarity == Polarity::Negative;
        let at = found.iter().position(|found| *found == breaks)?;
        self.said.get(at).map(String::as_str)
    }
}

impl ConstraintDocument {
    /// Returns whether a machine can hold answers against it: by patterns, a schema, or the sources that they name.
    pub fn has_validator(&self) -> bool {
        !self.patterns.is_empty() || self.schema.is_some() || self.must_cite > 0
    }

    /// Returns the check that answers are held against; none where no machine can check the constraint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a pattern is no regular expression, or too large, and when the
    /// schema is none, or too large.
    pub fn answer_check(&self) -> Result<Option<AnswerCheck>, Error> {
        if !self.has_validator() {
            return Ok(None);
        }
        if self.must_cite > MAX_CITED {
            return Err(Error::input(format!("`must_cite` is {}", self.must_cite))
                .expected(format!("at most {MAX_CITED}")));
        }
        self.schema.as_ref().map_or(Ok(()), check_schema)?;
        let (patterns, size) = self.compiled_patterns()?;
        Ok(Some(AnswerCheck {
            polarity: self.polarity,
            size,
            said: self.patterns.clone(),
            patterns,
            schema: self.schema.clone(),
            must_cite: self.must_cite,
        }))
    }

    /// Returns the patterns, and the size of what is compiled.
    fn compiled_patterns(&self) -> Result<(RegexSet, usize), Error> {
        if self.patterns.is_empty() {
            return Ok((RegexSet::empty(), 0));
        }
        let count = self.patterns.len();
        if count > MAX_PATTERNS {
            return Err(Error::input(format!("`patterns` has {count} entries"))
                .expected(format!("at most {MAX_PATTERNS}")));
        }
        for pattern in &self.patterns {
            if pattern.is_empty() || pattern.len() > MAX_PATTERN {
                let what = format!("a pattern has {} bytes", pattern.len());
                return Err(Error::input(what).expected(format!("1 to {MAX_PATTERN}")));
            }
        }
        let build = |size| {
            RegexSetBuilder::new(&self.patterns)
                .size_limit(size)
                .dfa_size_limit(MAX_CACHE)
                .build()
        };
        let mut size = MIN_COMPILED;
        let mut built = build(size);
        while matches!(built, Err(regex::Error::CompiledTooBig(_))) && size < MAX_COMPILED {
            size *= 2;
            built = build(size);
        }
        let patterns = built.map_err(|error| {
            if matches!(error, regex::Error::CompiledTooBig(_)) {
                let what = "`patterns` are too large when they are compiled";
                return Error::input(what).expected(format!("at most {MAX_COMPILED} bytes")).hint(
                    "repeat less; `[0-9]` and `(?-u:\\w)` are far smaller than `\\d` and `\\w`",
                );
            }
            let said = error.to_string();
            let why = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let all = self.patterns.join("`, `");
            Error::input(format!(
                "`patterns` cannot be read: {why}: `{}`",
                clip(&all)
            ))
            .expected("regular expressions without look-around and back-references")
        })?;
        Ok((patterns, size))
    }
}

/// Checks that a schema of answers is a mapping, and not too large: an answer is held against it each time.
fn check_schema(schema: &Value) -> Result<(), Error> {
    if !schema.is_object() {
        return Err(Error::input("`schema` is no mapping").expected("a JSON Schema"));
    }
    let size = schema.to_string().len();
    if size > MAX_SCHEMA {
        return Err(Error::input(format!("`schema` has {size} bytes"))
            .expected(format!("at most {MAX_SCHEMA}")));
    }
    if depth(schema) > MAX_DEPTH {
        return Err(Error::input("`schema` is nested too deep")
            .expected(format!("at most {MAX_DEPTH} values within each other"))
            .hint("name what is repeated in `$defs`, and refer to it"));
    }
    Ok(())
}

/// Returns how many values stand within each other.
fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(fields) => open.extend(fields.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Explicitness, ObjectDocument, Rigidity};
    use serde_json::json;

    fn constraint(polarity: Polarity, patterns: &[&str]) -> ConstraintDocument {
        ConstraintDocument {
            explicitness: Explicitness::Explicit,
            must_cite: 0,
            patterns: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
            polarity,
            rigidity: Rigidity::Hard,
            schema: None,
        }
    }

    #[test]
    fn a_schema_of_answers_is_a_schema_of_bounded_size() {
        let of = |schema: Value| ConstraintDocument {
            schema: Some(schema),
            ..constraint(Polarity::Positive, &[])
        };
        let recursive = json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
        assert!(of(recursive.clone()).has_validator());
        assert!(of(recursive).answer_check().unwrap().is_some());
        let mut deep = json!({ "type": "string" });
        for _ in 0..MAX_DEPTH {
            deep = json!({ "items": deep });
        }
        for wrong in [
            json!("object"),
            json!(true),
            json!({ "description": "x".repeat(1 << 20) }),
            deep,
        ] {
            let error = of(wrong).answer_check().unwrap_err();
            assert!(
                error.what.starts_with("`schema` ") && error.expected.is_some(),
                "{error}"
            );
        }
        let many = ConstraintDocument {
            must_cite: MAX_CITED + 1,
            ..constraint(Polarity::Positive, &[])
        };
        assert!(many.answer_check().is_err());
        assert!(!constraint(Polarity::Positive, &[]).has_validator());
    }

    #[test]
    fn what_is_forbidden_stands_nowhere_and_what_is_asked_somewhere() {
        let keeps = |polarity, patterns: &[&str], texts: &[&str]| {
            let check = constraint(polarity, patterns).answer_check();
            check.unwrap().unwrap().is_kept_by(texts)
        };
        let forbidden = ["(?i)\\bguarantee", "rm -rf"];
        assert!(keeps(Polarity::Negative, &forbidden, &["It may hold."]));
        assert!(!keeps(
            Polarity::Negative,
            &forbidden,
            &["Yes.", "We GUARANTEE it."]
        ));
        assert!(keeps(Polarity::Negative, &forbidden, &[]));
        let asked = ["^Summary:", "\\[\\d+\\]"];
        assert!(keeps(
            Polarity::Positive,
            &asked,
            &["Summary: warm", "as [1] says"]
        ));
        assert!(!keeps(Polarity::Positive, &asked, &["Summary: warm"]));
        assert!(!keeps(Polarity::Positive, &asked, &[]));
        let none = constraint(Polarity::Negative, &[]).answer_check().unwrap();
        assert!(none.is_none());
    }

    #[test]
    fn a_constraint_that_cannot_be_checked_is_refused_when_it_is_written() {
        let long = "x".repeat(MAX_PATTERN + 1);
        let many = ["x"; MAX_PATTERNS + 1];
        let wrong: [&[&str]; 8] = [
            &["("],
            &["(?=x)"],
            &[""],
            &[&long],
            &many,
            &["(\\w{1000}){1000}"],
            // Every byte of an answer would be held against all its states.
            &["a[ab]{12000}[c-z]"],
            &["\\w{20}"],
        ];
        for patterns in wrong {
            let document = ObjectDocument {
                constraint: Some(constraint(Polarity::Negative, patterns)),
                ..ObjectDocument::named("no-keys", "Never show a key.")
            };
            let error = document.seal().unwrap_err();
            assert!(error.what.starts_with("object `no-keys`: "), "{error}");
            assert!(
                !error.what.contains('\n') && error.expected.is_some(),
                "{error}"
            );
        }
        let size = |pattern: &str| {
            let check = constraint(Polarity::Negative, &[pattern]).answer_check();
            check.unwrap().unwrap().size()
        };
        assert_eq!(size("rm -rf"), MIN_COMPILED);
        assert!(size("sk-[A-Za-z0-9]{20,}") <= 1 << 12);
        assert!(size("(?-u:\\w)+@[a-z]+") < size("\\d{3}-\\d{4}"));
        // What it is checked by is part of what it says.
        let id = |patterns: &[&str]| {
            let document = ObjectDocument {
                constraint: Some(constraint(Polarity::Negative, patterns)),
                ..ObjectDocument::named("no-keys", "Never show a key.")
            };
            document.seal().unwrap().revision().id()
        };
        assert_ne!(id(&["a"]), id(&["b"]));
        assert_eq!(id(&["a"]), id(&["a"]));
    }
}
