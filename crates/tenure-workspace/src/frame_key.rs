//! The workspace's frame key: made once, kept with the user's other state, never printed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tenure::digest::Digest;
use tenure::{Error, FrameKey};

use crate::files::{Over, put};
use crate::read::user_folder;

/// The default path of the key: under `$XDG_STATE_HOME`, or `~/.local/state`, in `tenure/frame-key`.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no home.
pub fn default_frame_key_path() -> Result<PathBuf, Error> {
    user_folder("XDG_STATE_HOME", ".local/state")
        .map(|state| state.join("tenure").join("frame-key"))
        .ok_or_else(|| {
            Error::input("no path for the frame key: neither XDG_STATE_HOME nor HOME is set")
                .hint("name a file with --frame-key")
        })
}

/// The key in this file, made with fresh randomness when the file does not exist.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the file holds no key or cannot be made.
pub fn load_frame_key(path: &Path) -> Result<FrameKey, Error> {
    let shown = path.display().to_string();
    if !path.exists() {
        make(path).map_err(|error| {
            Error::input(format!("cannot create the frame key `{shown}`: {error}"))
                .hint("name a writable file with --frame-key")
        })?;
    }
    let text = tenure_adapters::read::read_text(path)?;
    let secret = parse(text.trim()).ok_or_else(|| {
        Error::input("the file is not a frame key")
            .at(&shown, None)
            .expected("64 hexadecimal digits")
    })?;
    let id = Digest::of_parts([b"tenure frame key id".as_slice(), &secret]).to_string();
    Ok(FrameKey::new(
        format!("k-{}", &id["sha256:".len()..][..8]),
        secret,
    ))
}

fn parse(text: &str) -> Option<[u8; 32]> {
    // A key is as long as a digest, and is read the same way.
    format!("sha256:{text}").parse::<Digest>().ok().map(|key| *key.bytes())
}

/// Writes a fresh key, unless another process has written one meanwhile: no process reads half a key, and two
/// processes that start at once agree on one.
fn make(path: &Path) -> io::Result<()> {
    let mut secret = [0u8; 32];
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    let hex = Digest::from_bytes(secret).to_string();
    fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    let line = format!("{}\n", &hex["sha256:".len()..]);
    match put(path, line.as_bytes(), Over::Nothing) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/frame-key");
        let first = load_frame_key(&path).unwrap();
        assert_eq!(first, load_frame_key(&path).unwrap());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        // Many at once agree on one.
        let other = folder.path().join("c/frame-key");
        let keys: Vec<FrameKey> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| load_frame_key(&other).unwrap())).collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(fs::read_dir(other.parent().unwrap()).unwrap().count(), 1);
        assert!(!format!("{first:?}").contains(&fs::read_to_string(&path).unwrap()[..16]));
        fs::write(&path, "short").unwrap();
        assert!(load_frame_key(&path).is_err());
    }
}
