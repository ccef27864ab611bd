//! Reading a text from outside: size, kind and encoding are checked before anything else sees it;
//! where a user's own files are.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use tenure::Error;

/// The largest file, in bytes.
pub(crate) const MAX_FILE: u64 = 64 << 20;

/// A folder of the user's: what the variable names, or else a folder below their home. A path that
/// is not absolute counts as none.
pub(crate) fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

/// The text of a file. A byte order mark is dropped and CRLF becomes LF, so that the same text has
/// the same digest wherever it was saved.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and, for bytes that are not UTF-8 or NUL, the line.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let shown = path.display().to_string();
    let failed = |error: std::io::Error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        Error::input(format!("cannot read `{shown}`: {reason}"))
    };
    let file = fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(Error::input(format!("`{shown}` is a folder")).expected("a file"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells a large file, and a pipe that never ends, from a full one.
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(
            Error::input(format!("`{shown}` is larger than {} MiB", MAX_FILE >> 20))
                .hint("split it into smaller files"),
        );
    }
    decode(bytes).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(shown, line)
    })
}

/// Bytes as text, or the line at which they are none.
pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<String, Error> {
    if bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
        bytes.drain(..3);
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Error::input("the text is UTF-16")
            .expected("UTF-8")
            .hint("save it as UTF-8"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..valid]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        Error::input(format!("byte {valid} is not UTF-8"))
            .at("", Some(line))
            .expected("UTF-8")
            .hint("save it as UTF-8")
    })?;
    if let Some(at) = text.find('\0') {
        let line = 1 + text[..at].matches('\n').count();
        return Err(Error::input("a NUL character stands in the text")
            .at("", Some(line))
            .expected("text")
            .hint("binary data does not belong into an object's content"));
    }
    Ok(if text.contains('\r') {
        text.replace("\r\n", "\n")
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utf8_without_mark_and_with_plain_newlines() {
        assert_eq!(
            decode(b"\xEF\xBB\xBFa\r\nb\rc".to_vec()).unwrap(),
            "a\nb\rc"
        );
        assert!(
            decode(b"a\n\xFF".to_vec())
                .unwrap_err()
                .to_string()
                .contains("(:2)")
        );
        assert!(
            decode(b"\xFF\xFEa\0".to_vec())
                .unwrap_err()
                .to_string()
                .contains("UTF-16")
        );
        assert!(
            decode(b"a\n\nb\0".to_vec())
                .unwrap_err()
                .to_string()
                .contains("(:3)")
        );
    }
}
