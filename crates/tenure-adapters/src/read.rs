//! Reading a text from outside: size, kind and encoding are checked before anything else sees it.

#[cfg(unix)]
use std::fs::Metadata;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use tenure::Error;

/// The largest file, in bytes.
pub const MAX_FILE: u64 = 64 << 20;

/// So many bytes of a file show whether it may be text.
const BEGINNING: u64 = 8 << 10;

/// The text of a file. A byte order mark is dropped and CRLF becomes LF, so that the same text has
/// the same digest wherever it was saved.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and, for bytes that are not UTF-8 or NUL, the line.
pub fn read_text(path: &Path) -> Result<String, Error> {
    read_text_up_to(path, MAX_FILE)
}

/// Reads a file that may have `most` bytes.
///
/// # Errors
///
/// As [`read_text`].
pub fn read_text_up_to(path: &Path, most: u64) -> Result<String, Error> {
    decode(read_up_to(path, most)?).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(path.display().to_string(), line)
    })
}

/// The bytes of a file as they are.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read, is a folder or is too large.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    read_up_to(path, MAX_FILE)
}

/// The bytes of a file that may have `most` bytes.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read, is a folder or is too large.
pub fn read_up_to(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let shown = path.display().to_string();
    let file = open_file(path).map_err(|error| failed(&shown, error))?;
    let metadata = file.metadata().map_err(|error| failed(&shown, error))?;
    if metadata.is_dir() {
        return Err(Error::input(format!("`{shown}` is a folder")).expected("a file"));
    }
    // A shell's pipe has no length; what has one need not be read to be refused.
    if metadata.is_file() && metadata.len() > most {
        return Err(too_large(&shown, most));
    }
    take(file, &shown, most)
}

/// Opens a file to read it, and never waits for one that writes: named pipes, devices and sockets are refused. The pipe of a shell (`<(command)`, `/dev/stdin`) and `/dev/null` are read as they are.
///
/// # Errors
///
/// [`InvalidInput`](io::ErrorKind::InvalidInput) with what stands there instead of a file; else what the system says.
pub fn open_file(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

        // To open a device may already be an act.
        check_kind(path, &fs::metadata(path)?)?;
        let file = fs::OpenOptions::new()
            .read(true)
            .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
            .open(path)?;
        let metadata = file.metadata()?;
        check_kind(path, &metadata)?;
        if metadata.file_type().is_fifo() {
            fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
        }
        Ok(file)
    }
    #[cfg(not(unix))]
    File::open(path)
}

#[cfg(unix)]
fn check_kind(path: &Path, found: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let kind = found.file_type();
    let is_of_shell = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|own| path.starts_with(own));
    let is_null = || fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == found.rdev());
    let what = if kind.is_fifo() && !is_of_shell {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() || kind.is_char_device() && !is_null() {
        "a device"
    } else {
        return Ok(());
    };
    let what = format!("it is {what}, not a file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// Returns whether a file may be text by its first bytes: there is no NUL among them. What cannot be read is none.
pub fn begins_as_text(path: &Path) -> bool {
    let Ok(file) = open_file(path) else {
        return false;
    };
    let mut bytes = Vec::new();
    let read = file.take(BEGINNING).read_to_end(&mut bytes);
    read.is_ok() && !bytes.contains(&0)
}

/// The bytes of what is read under this name.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read or is too large.
pub fn read_bytes_from(source: impl Read, shown: &str) -> Result<Vec<u8>, Error> {
    take(source, shown, MAX_FILE)
}

fn take(source: impl Read, shown: &str, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells a large file, and a pipe that never ends, from a full one.
    source
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(shown, error))?;
    if bytes.len() as u64 > most {
        return Err(too_large(shown, most));
    }
    Ok(bytes)
}

fn too_large(shown: &str, most: u64) -> Error {
    Error::input(format!("`{shown}` is larger than {} MiB", most >> 20))
        .hint("split it into smaller files")
}

fn failed(shown: &str, error: io::Error) -> Error {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::input(format!("cannot read `{shown}`: {reason}")).caused_by(error)
}

/// Bytes as text, or the line at which they are none.
fn decode(bytes: Vec<u8>) -> Result<String, Error> {
    let bytes = match bytes.as_slice() {
        [0xFF, 0xFE, rest @ ..] => from_utf16(rest, u16::from_le_bytes)?.into_bytes(),
        [0xFE, 0xFF, rest @ ..] => from_utf16(rest, u16::from_be_bytes)?.into_bytes(),
        _ => bytes,
    };
    let text = text_of(&bytes)?;
    if text.contains('\r') {
        return Ok(text.replace("\r\n", "\n"));
    }
    if text.len() < bytes.len() {
        return Ok(text.to_owned());
    }
    // What is text already is not copied.
    String::from_utf8(bytes).map_err(|error| Error::input(error.to_string()))
}

/// The text of UTF-16 behind its byte order mark, or the line at which it is none.
fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Error> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let refused = |text: &str| {
        Error::input("the text begins as UTF-16, and is none")
            .at("", Some(1 + text.matches('\n').count()))
            .expected("UTF-8, or UTF-16 with a byte order mark")
            .hint("save it as UTF-8")
    };
    for letter in char::decode_utf16(pairs.iter().copied().map(unit)) {
        match letter {
            Ok(letter) => text.push(letter),
            Err(_) => return Err(refused(&text)),
        }
    }
    rest.is_empty().then_some(()).ok_or_else(|| refused(&text))?;
    Ok(text)
}

/// Bytes as the text that they are but for a byte order mark; carriage returns stay.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line of what is not UTF-8 or NUL.
pub fn text_of(bytes: &[u8]) -> Result<&str, Error> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(Error::input("the text is UTF-16").expected("UTF-8").hint("save it as UTF-8"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        let line = 1 + bytes[..valid].iter().filter(|byte| **byte == b'\n').count();
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
            .hint("binary data has no place in a text"));
    }
    Ok(text)
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
        assert!(decode(b"a\n\xFF".to_vec()).unwrap_err().to_string().contains("(:2)"));
        assert_eq!(decode(b"\xFF\xFEa\0\r\0\n\0".to_vec()).unwrap(), "a\n");
        assert_eq!(
            decode(b"\xFE\xFF\0a\xD8\x3D\xDE\0".to_vec()).unwrap(),
            "a\u{1F600}"
        );
        for broken in [
            &b"\xFF\xFEa\0\n\0\x3D\xD8"[..],
            b"\xFF\xFEa\0\n\0b",
            b"\xFF\xFE\0\0a\0",
        ] {
            assert!(decode(broken.to_vec()).is_err(), "{broken:?}");
        }
        assert!(decode(b"a\n\nb\0".to_vec()).unwrap_err().to_string().contains("(:3)"));
    }
}
