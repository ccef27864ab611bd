//! Exact token counts with the vocabularies of OpenAI's models, in time in proportion to the text, whatever the text, and
//! with next to no memory beyond it.
//!
//! ```
//! use tenure_tokens::Vocabulary;
//! assert_eq!(Vocabulary::O200k.count("hello world"), 2);
//! assert_eq!(Vocabulary::O200k.count(&"=".repeat(64_000)), 1_000);
//! ```
//!
//! | what | where |
//! |---|---|
//! | a text cut into pieces, as the vocabulary's pattern says | `cut.rs` |
//! | how many tokens a piece is | `merge.rs` |
//! | the tokens and the table that finds them | `table.rs`; `build.rs` writes it, `place.rs` says where each token stands |
//!
//! Text that looks like a special token (`<|endoftext|>`) is the ordinary text it is.

mod cut;
mod merge;
mod place;
mod table;

use cut::Pieces;
use merge::Merger;
use table::Table;

/// Bytes that are counted before it is asked again whether to stop.
const BETWEEN_STOPS: usize = 64 << 10;

/// A vocabulary that is built in and ready to count: nothing is read or made at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vocabulary {
    /// GPT-4o and later.
    O200k,
    /// GPT-4 and GPT-3.5.
    Cl100k,
}

impl Vocabulary {
    /// All of them.
    pub const ALL: [Vocabulary; 2] = [Vocabulary::O200k, Vocabulary::Cl100k];

    /// The encoding's name.
    pub const fn name(self) -> &'static str {
        match self {
            Vocabulary::O200k => "o200k_base",
            Vocabulary::Cl100k => "cl100k_base",
        }
    }

    /// The vocabulary of this name.
    pub fn named(name: &str) -> Option<Vocabulary> {
        Vocabulary::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Counts the tokens of a text.
    pub fn count(self, text: &str) -> usize {
        // Nothing stops it.
        self.count_unless(text, &|| false).unwrap_or(text.len())
    }

    /// Counts the tokens of a text, unless `stopped` says before the end that the answer is no longer wanted. It is
    /// asked about every 64 KiB.
    pub fn count_unless(self, text: &str, stopped: &dyn Fn() -> bool) -> Option<usize> {
        let mut merger = Merger::new(Table::of(self));
        let (mut tokens, mut since) = (0, 0);
        for piece in Pieces::of(self, text) {
            tokens += merger.count(piece.as_bytes(), stopped)?;
            since += piece.len();
            if since >= BETWEEN_STOPS {
                since = 0;
                if stopped() {
                    return None;
                }
            }
        }
        Some(tokens)
    }

    /// The bytes of the tokens, in the order of their ids.
    pub fn tokens(self) -> impl ExactSizeIterator<Item = &'static [u8]> {
        Table::of(self).tokens()
    }
}
