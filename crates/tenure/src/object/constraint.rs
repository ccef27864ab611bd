//! Constraints in the form that a machine can check: hard constraints are enforced by validators of the model's
//! answers.

use regex::{RegexSet, RegexSetBuilder};

use super::document::ConstraintDocument;
use super::vocabulary::Polarity;
use crate::base::error::Error;
use crate::base::text::clip;

/// The most patterns of one constraint.
pub const MAX_PATTERNS: usize = 32;
/// The longest pattern, in bytes.
pub const MAX_PATTERN: usize = 1 << 10;
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
    patterns: RegexSet,
}

impl AnswerCheck {
    /// Returns whether the constraint asks or forbids.
    pub fn polarity(&self) -> Polarity {
        self.polarity
    }

    /// Returns the size of the compiled patterns: a power of two that is enough, in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns whether an answer of these texts keeps the constraint. Takes time in proportion to their length times
    /// the [size](AnswerCheck::size) of the patterns.
    pub fn is_kept_by(&self, texts: &[&str]) -> bool {
        if self.polarity == Polarity::Negative {
            return !texts.iter().any(|text| self.patterns.is_match(text));
        }
        let mut missing = vec![true; self.patterns.len()];
        for text in texts {
            for found in self.patterns.matches(text) {
                missing[found] = false;
            }
        }
        !missing.contains(&true)
    }
}

impl ConstraintDocument {
    /// Returns whether a machine can hold an answer against it.
    pub fn has_validator(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Returns the check that answers are held against; none where no machine can check the constraint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a pattern is no regular expression, or too large.
    pub fn answer_check(&self) -> Result<Option<AnswerCheck>, Error> {
        if self.patterns.is_empty() {
            return Ok(None);
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
                return Error::input(what)
                    .expected(format!("at most {MAX_COMPILED} bytes"))
                    .hint(
                        "repeat less; `[0-9]` and `(?-u:\\w)` are far smaller than `\\d` and `\\w`",
                    );
            }
            let said = error.to_string();
            let why = said.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            let all = self.patterns.join("`, `");
            Error::input(format!(
                "`patterns` cannot be read: {why}: `{}`",
                clip(&all)
            ))
            .expected("regular expressions without look-around and back-references")
        })?;
        Ok(Some(AnswerCheck {
            polarity: self.polarity,
            size,
            patterns,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{Explicitness, ObjectDocument, Rigidity};

    fn constraint(polarity: Polarity, patterns: &[&str]) -> ConstraintDocument {
        ConstraintDocument {
            explicitness: Explicitness::Explicit,
            patterns: patterns.iter().map(|&pattern| pattern.to_owned()).collect(),
            polarity,
            rigidity: Rigidity::Hard,
        }
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
