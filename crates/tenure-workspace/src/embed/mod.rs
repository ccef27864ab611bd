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
mod onnx;
mod table;
mod wordpiece;

use std::path::Path;

use tenure::Error;

use crate::settings::{Given, in_file, variable};

pub(crate) use embedder::Vectorizer;
pub use embedder::{Embedder, builtin_model};
pub use endpoint::Endpoint;
pub use onnx::OnnxEncoder;
pub use table::{DIMENSIONS, Rarity, StaticTable, Vector, Weights};
pub use wordpiece::LONGEST_WORD;

/// What an error calls settings of an encoder whose file it does not know.
const WHAT: &str = "embedder";

/// The encoder that stands here: a folder with a model in the ONNX format, or a TOML file that names one (`onnx`) or
/// an OpenAI-compatible endpoint (`url`). `library` is the ONNX Runtime that runs a model.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line, or what is wrong with the model.
pub fn open(path: &Path, library: Option<&Path>) -> Result<Box<dyn Embedder>, Error> {
    Ok(match Given::open(path)? {
        Given::Folder(folder) => Box::new(OnnxEncoder::open(&folder, library)?),
        Given::Onnx { text, base } => {
            let encoder = OnnxEncoder::from_toml(&text, &base, library);
            Box::new(encoder.map_err(in_file(path, WHAT))?)
        }
        Given::Endpoint(text) => {
            Box::new(Endpoint::from_toml(&text, &variable).map_err(in_file(path, WHAT))?)
        }
    })
}

#[cfg(test)]
mod tests;
