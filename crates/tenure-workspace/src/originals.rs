//! Originals: the texts that condensations were made of, kept in a store or a folder so that everything that was left
//! out can be read back byte for byte.
//!
//! In a store they are found by their digests among the other texts of the tenant, and leave by an erasure. In a
//! folder, a file is named after the id of its pointer and the SHA-256 of its content. It is written once and never
//! again, and only its owner can read it. Nothing is deleted there.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use tenure::object::clip;
use tenure::{Digest, Error, FrameKey, PointerId, pointer_id};
use tenure_store::Tenant;

use crate::files::{Over, put};
use crate::read::user_folder;
use tenure_adapters::read::{MAX_FILE, open_file};

/// The default folder of originals: under `$XDG_STATE_HOME`, or `~/.local/state`, in `tenure/originals`.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no home.
pub fn default_originals_path() -> Result<PathBuf, Error> {
    user_folder("XDG_STATE_HOME", ".local/state")
        .map(|state| state.join("tenure").join("originals"))
        .ok_or_else(|| {
            Error::input("no path for originals: neither XDG_STATE_HOME nor HOME is set")
                .hint("name a folder with --originals")
        })
}

/// A pointer to an original.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// The id with which it is read back.
    pub id: PointerId,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// Its length in bytes.
    pub bytes: u64,
}

impl Pointer {
    /// The pointer to these bytes once they are kept under this key.
    pub fn to(key: &FrameKey, content: &[u8]) -> Pointer {
        let digest = Digest::of(content);
        Pointer {
            id: pointer_id(key, &digest),
            digest,
            bytes: content.len() as u64,
        }
    }

    fn file_name(&self) -> String {
        let digest = self.digest.to_string();
        format!("{}-{}", self.id, &digest["sha256:".len()..])
    }
}

/// A place where originals are kept.
///
/// ```no_run
/// use tenure_workspace::{Originals, Workspace, default_originals_path};
/// let workspace = Workspace::open_default()?;
/// let originals = Originals::at(default_originals_path()?);
/// let pointer = workspace.keep(&originals, b"a long text")?;
/// assert_eq!(workspace.rehydrate(&originals, pointer.id)?, b"a long text");
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Originals(Location);

#[derive(Clone, Debug)]
enum Location {
    Folder(Folder),
    Store(Tenant),
}

#[derive(Clone, Debug)]
struct Folder {
    folder: PathBuf,
}

impl Originals {
    /// The originals in this folder, which is made when the first is kept.
    pub fn at(folder: impl Into<PathBuf>) -> Originals {
        let folder = folder.into();
        Originals(Location::Folder(Folder { folder }))
    }

    /// The originals in this tenant's store.
    pub fn in_store(tenant: Tenant) -> Originals {
        Originals(Location::Store(tenant))
    }

    /// Chooses the place for originals: the folder that is named, else the store that is in use, else
    /// [`default_originals_path`].
    ///
    /// # Errors
    ///
    /// As [`default_originals_path`].
    pub fn chosen(folder: Option<&Path>, tenant: Option<Tenant>) -> Result<Originals, Error> {
        Ok(match (folder, tenant) {
            (Some(folder), _) => Originals::at(folder),
            (None, Some(tenant)) => Originals::in_store(tenant),
            (None, None) => Originals::at(default_originals_path()?),
        })
    }

    /// Keeps these bytes. What is kept already is only looked at: a pointer is given for nothing
    /// that could not be read back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when they are too many, when the folder cannot
    /// be written, or when the same original was altered since it was kept;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached. Then nothing
    /// is left behind.
    pub fn keep(&self, key: &FrameKey, content: &[u8]) -> Result<Pointer, Error> {
        let pointer = Pointer::to(key, content);
        if pointer.bytes > MAX_FILE {
            return Err(Error::input(format!(
                "an original of {} bytes is larger than {} MiB",
                pointer.bytes,
                MAX_FILE >> 20
            ))
            .hint("split it into smaller texts"));
        }
        match &self.0 {
            Location::Folder(folder) => folder.keep(&pointer, content)?,
            Location::Store(tenant) => {
                if tenant.blob(pointer.digest)?.is_none() {
                    tenant.put_blobs(vec![content.to_vec()])?;
                }
            }
        }
        Ok(pointer)
    }

    /// The bytes of the original with this id.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none, when what there is was kept
    /// under another key, or when it was altered since;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn read(&self, key: &FrameKey, id: PointerId) -> Result<Vec<u8>, Error> {
        match &self.0 {
            Location::Folder(folder) => folder.read(key, id),
            Location::Store(tenant) => {
                let kept = tenant.blobs()?;
                let own = kept.iter().find(|digest| pointer_id(key, digest) == id);
                let found = own.map(|digest| tenant.blob(*digest)).transpose()?;
                found.flatten().ok_or_else(|| self.missing(id))
            }
        }
    }

    /// Returns whether there could be an original of this id, for any key.
    pub(crate) fn may_hold(&self, id: PointerId) -> Result<bool, Error> {
        match &self.0 {
            Location::Folder(folder) => Ok(!folder.named(id)?.is_empty()),
            Location::Store(tenant) => Ok(!tenant.blobs()?.is_empty()),
        }
    }

    pub(crate) fn missing(&self, id: PointerId) -> Error {
        match &self.0 {
            Location::Folder(folder) => folder.missing(id),
            Location::Store(tenant) => Error::input(format!(
                "there is no original {id} of the tenant `{}` in its store",
                clip(tenant.name())
            ))
            .hint(
                "originals are found with the frame key that they were first kept with (--frame-key), also where they were \
                 imported, and leave by an erasure",
            ),
        }
    }
}

impl Folder {
    fn keep(&self, pointer: &Pointer, content: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(pointer.file_name());
        if fs::symlink_metadata(&path).is_err() {
            match self.put(&path, content) {
                Ok(()) => return Ok(()),
                // Another process kept the same meanwhile.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::input(format!(
                        "cannot keep the original in `{}`: {error}",
                        self.folder.display()
                    ))
                    .hint("name a writable folder with --originals"));
                }
            }
        }
        read_whole(&path, &pointer.digest).map(drop)
    }

    fn read(&self, key: &FrameKey, id: PointerId) -> Result<Vec<u8>, Error> {
        let named = self.named(id)?;
        let own = named.iter().find(|(digest, _)| pointer_id(key, digest) == id);
        match own {
            Some((digest, path)) => read_whole(path, digest),
            None if named.is_empty() => Err(self.missing(id)),
            None => Err(Error::input(format!(
                "the original {id} in `{}` was kept under another key",
                self.folder.display()
            ))
            .hint("name the key that it was kept under with --frame-key")),
        }
    }

    pub(crate) fn missing(&self, id: PointerId) -> Error {
        Error::input(format!(
            "there is no original {id} in `{}`",
            self.folder.display()
        ))
        .hint(
            "originals are found with the frame key that they were first kept with, in a store also where they were imported: \
             name it with --frame-key, or another folder with --originals",
        )
    }

    /// The files named after this id, with the digests in their names, in the order of these. Only
    /// one is of the workspace's own key.
    fn named(&self, id: PointerId) -> Result<Vec<(Digest, PathBuf)>, Error> {
        let failed = |error: std::io::Error| {
            Error::input(format!(
                "cannot read the originals in `{}`: {error}",
                self.folder.display()
            ))
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let prefix = format!("{id}-");
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let hex = name.to_str().and_then(|name| name.strip_prefix(&prefix));
            if let Some(Ok(digest)) = hex.map(|hex| format!("sha256:{hex}").parse()) {
                found.push((digest, entry.path()));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Writes a temporary file and renames it, so that half an original is never read.
    fn put(&self, path: &Path, content: &[u8]) -> std::io::Result<()> {
        let mut folders = fs::DirBuilder::new();
        folders.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
        folders.create(&self.folder)?;
        put(path, content, Over::Nothing)
    }
}

/// The bytes of a kept file, which must have this digest.
fn read_whole(path: &Path, digest: &Digest) -> Result<Vec<u8>, Error> {
    let failed = |error: std::io::Error| {
        Error::input(format!(
            "cannot read the original `{}`: {error}",
            path.display()
        ))
    };
    let altered = || {
        Error::input(format!(
            "the original `{}` was altered since it was kept",
            path.display()
        ))
        .expected(format!("a file with the digest {digest}"))
        .hint("remove the file and condense its source again")
    };
    // What is not a file may be a pipe that never ends.
    if !fs::symlink_metadata(path).map_err(failed)?.is_file() {
        return Err(altered());
    }
    let mut content = Vec::new();
    // One byte more than allowed tells a file that is too large from a full one.
    open_file(path)
        .map_err(failed)?
        .take(MAX_FILE + 1)
        .read_to_end(&mut content)
        .map_err(failed)?;
    if Digest::of(&content) != *digest {
        return Err(altered());
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Workspace;

    fn key(byte: u8) -> FrameKey {
        FrameKey::new("test", [byte; 32])
    }

    fn bench() -> (tempfile::TempDir, Originals) {
        let folder = tempfile::tempdir().unwrap();
        let originals = Originals::at(folder.path().join("a/originals"));
        (folder, originals)
    }

    fn folder_of(originals: &Originals) -> &Path {
        match &originals.0 {
            Location::Folder(folder) => &folder.folder,
            Location::Store(_) => unreachable!("these are in a folder"),
        }
    }

    fn files(originals: &Originals) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder_of(originals)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn bytes_come_back_as_they_were() {
        let (_folder, originals) = bench();
        let all: Vec<u8> = (0..=255).collect();
        for content in [&b""[..], b"a\r\n b \n", b"\xEF\xBB\xBFno newline", &all] {
            let pointer = originals.keep(&key(1), content).unwrap();
            assert_eq!(pointer, Pointer::to(&key(1), content));
            assert_eq!(originals.read(&key(1), pointer.id).unwrap(), content);
        }
        assert_eq!(files(&originals).len(), 4);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_them() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, originals) = bench();
        originals.keep(&key(1), b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder_of(&originals)), 0o700);
        assert_eq!(mode(&files(&originals)[0]), 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_kept_is_never_written_again() {
        use std::os::unix::fs::MetadataExt;
        let (_folder, originals) = bench();
        let first = originals.keep(&key(1), b"once").unwrap();
        let stamp = || {
            let found = fs::metadata(&files(&originals)[0]).unwrap();
            (
                found.ino(),
                found.mtime(),
                found.mtime_nsec(),
                found.nlink(),
            )
        };
        let before = stamp();
        let again = std::thread::scope(|scope| {
            let keepers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| originals.keep(&key(1), b"once").unwrap()))
                .collect();
            keepers.into_iter().all(|keeper| keeper.join().unwrap() == first)
        });
        assert!(again);
        assert_eq!(stamp(), before);
        assert_eq!(files(&originals).len(), 1);
    }

    #[test]
    fn those_who_keep_the_same_at_once_agree() {
        let (_folder, originals) = bench();
        let content = vec![b'x'; 100_000];
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| originals.keep(&key(1), &content).unwrap());
            }
        });
        assert_eq!(files(&originals).len(), 1);
    }

    #[test]
    fn missing_foreign_and_altered_are_told_apart() {
        let (_folder, originals) = bench();
        let absent = Pointer::to(&key(1), b"never kept").id;
        let says = |result: Result<Vec<u8>, Error>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind, tenure::ErrorKind::Input);
            error.what
        };
        assert!(says(originals.read(&key(1), absent)).contains("there is no original"));
        let pointer = originals.keep(&key(1), b"kept").unwrap();
        assert!(says(originals.read(&key(1), absent)).contains("there is no original"));
        assert!(says(originals.read(&key(2), pointer.id)).contains("another key"));
        let path = &files(&originals)[0];
        for altered in [&b"kepT"[..], b"", b"kept and more"] {
            fs::write(path, altered).unwrap();
            assert!(says(originals.read(&key(1), pointer.id)).contains("altered"));
            // It is neither mended nor pointed to.
            let kept = originals.keep(&key(1), b"kept").map(|_| Vec::new());
            assert!(says(kept).contains("altered"));
            assert_eq!(fs::read(path).unwrap(), altered);
        }
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        assert!(says(originals.read(&key(1), pointer.id)).contains("altered"));
    }

    #[test]
    fn a_planted_file_is_not_read() {
        let (_folder, originals) = bench();
        let pointer = originals.keep(&key(1), b"kept").unwrap();
        // Its digest is right, and it sorts first; its id is not of this digest.
        let planted = (0..)
            .map(|number| format!("planted {number}"))
            .find(|text| Digest::of(text.as_bytes()) < pointer.digest)
            .unwrap();
        let name = Pointer {
            digest: Digest::of(planted.as_bytes()),
            ..pointer
        };
        fs::write(folder_of(&originals).join(name.file_name()), &planted).unwrap();
        fs::write(
            folder_of(&originals).join(format!("{}-short", pointer.id)),
            "x",
        )
        .unwrap();
        assert_eq!(originals.read(&key(1), pointer.id).unwrap(), b"kept");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_or_a_pipe_in_its_place_is_not_followed() {
        let (folder, originals) = bench();
        let pointer = originals.keep(&key(1), b"kept").unwrap();
        let path = files(&originals).remove(0);
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(originals.read(&key(1), pointer.id).is_err());
        assert!(originals.keep(&key(1), b"kept").is_err());
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        let originals = Originals::at(file.join("originals"));
        let error = originals.keep(&key(1), b"kept").unwrap_err();
        assert!(error.what.contains("cannot keep the original"), "{error}");
        assert!(error.hint.is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let large = vec![0; MAX_FILE as usize + 1];
        let error = bench().1.keep(&key(1), &large).unwrap_err();
        assert!(error.what.contains("64 MiB"), "{error}");
    }

    #[test]
    fn a_vain_search_makes_no_key() {
        let (folder, originals) = bench();
        let path = folder.path().join("frame-key");
        let workspace = Workspace::open(&path).unwrap();
        let absent = Pointer::to(&key(1), b"x").id;
        assert!(workspace.rehydrate(&originals, absent).is_err());
        assert!(!path.exists());
        let kept = workspace.keep(&originals, b"x").unwrap();
        assert_eq!(workspace.pointer(b"x").unwrap(), kept);
        assert_eq!(workspace.rehydrate(&originals, kept.id).unwrap(), b"x");
    }

    #[test]
    fn a_store_keeps_them_until_an_erasure() {
        let folder = tempfile::tempdir().unwrap();
        let store = tenure_store::Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("acme").unwrap();
        let originals = Originals::in_store(tenant.clone());
        let workspace = Workspace::new(key(1)).unwrap();
        let text = b"The door of the archive opens with the code 7342.\nSo it is.";
        let pointer = workspace.keep(&originals, text).unwrap();
        assert_eq!(workspace.keep(&originals, text).unwrap(), pointer);
        let places = [Originals::at(folder.path().join("none")), originals.clone()];
        let read = workspace.rehydrate_from(&places, pointer.id).unwrap();
        assert_eq!(read, text);
        for missing in [
            Workspace::new(key(2)).unwrap().rehydrate(&originals, pointer.id),
            workspace.rehydrate(
                &Originals::in_store(store.tenant("other").unwrap()),
                pointer.id,
            ),
            workspace.rehydrate_from(&places[..1], pointer.id),
        ] {
            assert!(missing.unwrap_err().what.contains("there is no original"));
        }

        let fact = "The door of the archive opens with the code 7342.";
        let put = tenure_store::Put::new(tenure::ObjectDocument::named("door", fact));
        let writing = tenure_store::Writing::default();
        let written = tenant.put(vec![put], &writing).unwrap();
        tenant.erase(vec![written.objects[0].object_id], &writing).unwrap();
        assert!(workspace.rehydrate(&originals, pointer.id).is_err());
    }
}
