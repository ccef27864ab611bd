//! Counting tokens: exactly where a vocabulary exists, by a labelled bound where none does.
//!
//! Text that looks like a special token (`<|endoftext|>`) counts as the ordinary text it is.
//!
//! # When counts add up
//!
//! The count of a whole is the sum of the counts of its pieces when every piece has the *block
//! form*: it starts with a character that is neither white space nor `/`, and ends with a character
//! that is not white space followed by `\n`. The pre-tokenizers of the o200k and cl100k families
//! always cut there: a run of white space ends at its last newline, and only a `/` may join a
//! newline to what follows. `tests/additivity.rs` checks it against an independent implementation.
//! A tokenizer for which this is not proven says so in [`Tokenizer::is_additive`], and each piece
//! is then priced with a margin ([`JOINT_MARGIN`]) for the joint before it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use tenure_tokens::Vocabulary;

/// The precision of a count.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// The model's own vocabulary counted the whole payload.
    Exact,
    /// The model's own vocabulary counted the text; the provider's published overheads are added.
    Published,
    /// No vocabulary exists: an upper estimate with a margin.
    Bounded,
}

impl CountKind {
    /// The word as it is written in a trace.
    pub const fn term(self) -> &'static str {
        match self {
            CountKind::Exact => "exact",
            CountKind::Published => "published",
            CountKind::Bounded => "bounded",
        }
    }
}

/// The tokens that a joint may cost with a tokenizer whose counts are not proven to add up. Adversarial fragments
/// were measured at up to 3.
pub const JOINT_MARGIN: u32 = 3;

/// Counts the tokens of a text.
pub trait Tokenizer: Send + Sync {
    /// The name by which traces refer to it.
    fn name(&self) -> &str;

    /// Returns the number of tokens of `text`, special-token text counted as ordinary text.
    fn count(&self, text: &str) -> usize;

    /// Like `count`, unless `stopped` says before the end that the count is no longer wanted. It is asked every few
    /// thousand bytes by the built-in tokenizers, once by those that do not say otherwise.
    fn count_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
        (!stopped()).then(|| self.count(text))
    }

    /// [`CountKind::Exact`] with a vocabulary, [`CountKind::Bounded`] without.
    fn kind(&self) -> CountKind;

    /// Returns whether the counts of pieces in block form are proven to add up.
    fn is_additive(&self) -> bool;

    /// Returns the precision of the count of this text. A control token in it is counted as the ordinary text that it
    /// is not for its reader, which is more.
    fn kind_of(&self, text: &str) -> CountKind {
        let mut tokens = self.control_tokens().iter();
        if tokens.any(|token| text.contains(token.as_str())) {
            CountKind::Bounded
        } else {
            self.kind()
        }
    }

    /// The texts that whoever reads with this vocabulary takes for control tokens. In words of users, memory and data
    /// they are escaped; elsewhere they make a count an upper one.
    fn control_tokens(&self) -> &[String] {
        &[]
    }
}

/// An exact counter with a built-in vocabulary, which is read when the first text is counted. It takes time in
/// proportion to the text, whatever the text, and next to no memory.
#[derive(Clone, Copy, Debug)]
pub struct Bpe {
    vocabulary: Vocabulary,
}

impl Bpe {
    /// A counter for this vocabulary.
    pub fn new(vocabulary: Vocabulary) -> Bpe {
        Bpe { vocabulary }
    }
}

impl Tokenizer for Bpe {
    fn name(&self) -> &str {
        self.vocabulary.name()
    }

    fn count(&self, text: &str) -> usize {
        self.vocabulary.count(text)
    }

    fn count_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
        self.vocabulary.count_unless(text, stopped)
    }

    fn kind(&self) -> CountKind {
        CountKind::Exact
    }

    fn is_additive(&self) -> bool {
        true
    }
}

/// An upper estimate for a model without a published vocabulary: another vocabulary's count times
/// a margin from the model catalogue, rounded up.
pub struct Bounded {
    inner: Arc<dyn Tokenizer>,
    name: String,
    margin_percent: u32,
}

impl Bounded {
    /// An estimate that adds `margin_percent` to what `inner` counts.
    pub fn new(inner: Arc<dyn Tokenizer>, margin_percent: u32) -> Bounded {
        let name = format!("{}+{margin_percent}%", inner.name());
        Bounded {
            inner,
            name,
            margin_percent,
        }
    }

    fn with_margin(&self, count: usize) -> usize {
        count + (count * self.margin_percent as usize).div_ceil(100)
    }
}

impl Tokenizer for Bounded {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str) -> usize {
        self.with_margin(self.inner.count(text))
    }

    fn count_unless(&self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
        let count = self.inner.count_unless(text, stopped)?;
        Some(self.with_margin(count))
    }

    fn kind(&self) -> CountKind {
        CountKind::Bounded
    }

    fn is_additive(&self) -> bool {
        // A sum of estimates rounded up is never below the estimate of the whole.
        self.inner.is_additive()
    }

    fn control_tokens(&self) -> &[String] {
        self.inner.control_tokens()
    }
}

/// Returns whether `text` has the block form, so that its count adds up with its neighbours'.
pub fn is_block(text: &str) -> bool {
    let starts = text.chars().next().is_some_and(|first| !first.is_whitespace() && first != '/');
    let body = text.strip_suffix('\n').unwrap_or("");
    starts && body.chars().next_back().is_some_and(|last| !last.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_in_data_are_ordinary_text() {
        let counter = Bpe::new(Vocabulary::O200k);
        assert!(counter.count("<|endoftext|>") > 1);
        assert_eq!(counter.count(""), 0);
    }

    #[test]
    fn the_block_form() {
        for (text, block) in [
            ("a\n", true),
            ("é line\nmore\n", true),
            ("a", false),
            (" a\n", false),
            ("/a\n", false),
            ("a \n", false),
            ("a\n\n", false),
            ("\n", false),
            ("", false),
            ("\u{a0}a\n", false),
        ] {
            assert_eq!(is_block(text), block, "{text:?}");
        }
    }
}
