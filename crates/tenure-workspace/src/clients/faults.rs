//! Faults of a configuration.

use tenure::{Error, ErrorKind};

/// Returns the error of something else where an object should be.
pub(super) fn no_object(path: &[String]) -> Error {
    match path {
        [] => Error::input("the file holds no object").expected("an object, in braces"),
        _ => Error::input(format!("`{}` is no object", path.join(".")))
            .expected("an object with an entry for each name"),
    }
}

/// Returns the error of a text that is broken in this line.
pub(super) fn broken(what: &str, line: usize) -> Error {
    Error::new(
        ErrorKind::Input,
        format!("the file cannot be read: {}", what.trim_end()),
    )
    .at("", Some(line))
}
