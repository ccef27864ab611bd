//! Exact counts for other models: a `tokenizer.json` in the Hugging Face format.

use std::path::Path;
use std::sync::Arc;

use tenure::{Error, Tokenizer};

#[cfg(feature = "tokenizer-json")]
mod hugging_face;

#[cfg(feature = "tokenizer-json")]
pub use hugging_face::TokenizerJson;

/// Reads a `tokenizer.json`.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is not a tokenizer;
/// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) in a build without the feature `tokenizer-json`.
pub fn open(path: &Path) -> Result<Arc<dyn Tokenizer>, Error> {
    #[cfg(feature = "tokenizer-json")]
    return Ok(Arc::new(TokenizerJson::load(path)?));
    #[cfg(not(feature = "tokenizer-json"))]
    Err(Error::without_feature(
        "counts by a `tokenizer.json`",
        "tokenizer-json",
    ))
}
