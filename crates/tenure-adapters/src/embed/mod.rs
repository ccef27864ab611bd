//! Dense vectors from a table learned once and shipped inside: no model, no download, microseconds.
//!
//! A text's vector is the weighted sum of one stored vector for each of its word pieces, cut to
//! unit length. The table was fitted so that these sums point where the sentence embeddings of
//! all-MiniLM-L6-v2 point (`models/static/README.md`). Sums are of integers and the rounding uses
//! only the exact operations of IEEE 754, so a text has the same bytes as its vector everywhere.
//!
//! ```
//! use tenure_adapters::embed::StaticTable;
//! let table = StaticTable::builtin()?;
//! let [cat, kitten, tax] = ["my cat is asleep", "the kitten naps", "file the tax return"].map(|text| table.embed(text));
//! assert!(cat.similarity(&kitten) > cat.similarity(&tax));
//! # Ok::<(), tenure::Error>(())
//! ```

#[cfg(feature = "http")]
#[cfg(test)]
pub(crate) mod answering;
mod embedder;
#[cfg(feature = "http")]
mod endpoint;
mod near_words;
#[cfg(feature = "onnx")]
mod onnx;
mod table;
mod wordpiece;

use std::path::Path;

use tenure::Error;

use crate::settings::{Given, in_file, variable};

pub use embedder::{Embedder, Vectorizer, builtin_model};
#[cfg(feature = "http")]
pub use endpoint::Endpoint;
pub use near_words::NearWords;
#[cfg(feature = "onnx")]
pub use onnx::OnnxEncoder;
pub use table::{DIMENSIONS, StaticTable, Vector};
pub use wordpiece::LONGEST_WORD;

/// Name in errors of settings of an encoder whose file is not known.
const WHAT: &str = "embedder";

/// Opens the encoder at this path: a folder with a model in the ONNX format, or a TOML file that names one (`onnx`) or
/// an OpenAI-compatible endpoint (`url`). `library` is the ONNX Runtime that runs a model.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line, or what is wrong with the model;
/// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) in a build without the feature `onnx` or `http`.
pub fn open(path: &Path, library: Option<&Path>) -> Result<Box<dyn Embedder>, Error> {
    match Given::open(path)? {
        #[cfg(feature = "onnx")]
        Given::Folder(folder) => Ok(Box::new(OnnxEncoder::open(&folder, library)?)),
        #[cfg(feature = "onnx")]
        Given::Onnx { text, base } => {
            let encoder = OnnxEncoder::from_toml(&text, &base, library);
            Ok(Box::new(encoder.map_err(in_file(path, WHAT))?))
        }
        #[cfg(not(feature = "onnx"))]
        Given::Folder(_) | Given::Onnx { .. } => Err(crate::without_onnx()),
        #[cfg(feature = "http")]
        Given::Endpoint(text) => {
            let endpoint = Endpoint::from_toml(&text, &variable);
            Ok(Box::new(endpoint.map_err(in_file(path, WHAT))?))
        }
        #[cfg(not(feature = "http"))]
        Given::Endpoint(_) => Err(crate::without_http()),
    }
}

#[cfg(test)]
mod tests;
