//! Dense vectors from a table learned once and shipped inside: no model, no download, microseconds.
//!
//! A text's vector is the weighted sum of one stored vector for each of its word pieces, cut to
//! unit length. The table was fitted so that these sums point where the sentence embeddings of
//! all-MiniLM-L6-v2 point (`models/static/README.md`). Sums are of integers and the rounding uses
//! only the exact operations of IEEE 754, so a text has the same bytes as its vector everywhere.
//!
//! ```
//! use tenure_workspace::embed::StaticTable;
//! let table = StaticTable::builtin()?;
//! let [cat, kitten, tax] = ["my cat is asleep", "the kitten naps", "file the tax return"].map(|text| table.embed(text));
//! assert!(cat.similarity(&kitten) > cat.similarity(&tax));
//! # Ok::<(), tenure::Error>(())
//! ```

mod embedder;
mod endpoint;
mod table;
mod wordpiece;

pub(crate) use embedder::Vectorizer;
pub use embedder::{Embedder, builtin_model};
pub use endpoint::Endpoint;
pub use table::{DIMENSIONS, Rarity, StaticTable, Vector, Weights};
pub use wordpiece::LONGEST_WORD;

#[cfg(test)]
mod tests;
