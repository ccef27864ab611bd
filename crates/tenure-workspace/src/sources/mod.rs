//! The formats that objects are read from, by file extension.

pub mod json;
pub mod seed;

use std::path::Path;

use tenure::{Error, ObjectDocument};

/// A document with the line of its source that it begins on.
#[derive(Clone, PartialEq, Debug)]
pub struct Sourced {
    /// The document.
    pub document: ObjectDocument,
    /// The line, counted from one.
    pub line: usize,
}

/// Reads the documents of a text; `stem` names an object that has no name of its own.
pub type Parser = fn(text: &str, stem: &str) -> Result<Vec<Sourced>, Error>;

/// The parser for this file, by its extension.
pub fn parser_for(path: &Path) -> Option<Parser> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "md" | "markdown" => Some(seed::parse),
        "json" => Some(json::parse),
        _ => None,
    }
}
