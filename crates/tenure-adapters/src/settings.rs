//! Files that configure an encoder or a scorer: TOML, in which each key is known.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tenure::Error;

use crate::read::read_text;

/// A file of settings, or a folder that is a model and has the usual ones.
pub(crate) enum Given {
    /// The folder of a model.
    Folder(PathBuf),
    /// A file that names a model by `onnx`, its text, and the folder that its paths start from.
    Onnx { text: String, base: PathBuf },
    /// Another file, and its text.
    Endpoint(String),
}

impl Given {
    /// Opens the path and says what stands there.
    pub(crate) fn open(path: &Path) -> Result<Given, Error> {
        if path.is_dir() {
            return Ok(Given::Folder(path.to_owned()));
        }
        let text = read_text(path)?;
        let table: Option<toml::Table> = toml::from_str(&text).ok();
        Ok(if table.is_some_and(|table| table.contains_key("onnx")) {
            Given::Onnx {
                text,
                base: path.parent().unwrap_or(Path::new("")).to_owned(),
            }
        } else {
            Given::Endpoint(text)
        })
    }
}

/// Reads the settings that this text has; `what` names it in errors.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line.
pub fn from_toml<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| before.matches('\n').count() + 1);
        tenure::error::parse_error(error.message()).at(what, line)
    })
}

/// An error of these settings, which `what` named, with the file in which they stand.
pub(crate) fn in_file(path: &Path, what: &str) -> impl FnOnce(Error) -> Error {
    let (shown, what) = (path.display().to_string(), what.to_owned());
    move |error| match &error.at {
        // Of another file: a model's, say.
        Some(at) if at.source != what => error,
        at => {
            let line = at.as_ref().and_then(|at| at.line);
            error.at(shown, line)
        }
    }
}

/// The value of a variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
