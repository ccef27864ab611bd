//! Files that are there whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tenure::Error;

/// The state of the path that a file is written to.
#[derive(Clone, Copy)]
pub(crate) enum Over<'f> {
    /// Nothing. Fails with [`io::ErrorKind::AlreadyExists`] where something does; the file is its owner's alone.
    Nothing,
    /// This file, whose permissions the new one gets. What a link leads to is replaced, not the link.
    This(&'f File),
    /// This file, of whose permissions the new one gets those of its owner: it holds a secret.
    Private(&'f File),
}

/// Writes a temporary file next to the path and renames it. When this returns, the file is as durable as its folder's
/// storage; when it fails, nothing of it is left.
pub(crate) fn put(path: &Path, content: &[u8], over: Over<'_>) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(&target);
    // A temporary file is its owner's alone, and goes when something fails.
    let mut draft = tempfile::Builder::new().prefix(".tenure-").tempfile_in(folder)?;
    draft.write_all(content)?;
    if let Over::This(replaced) | Over::Private(replaced) = over {
        let mut permissions = replaced.metadata()?.permissions();
        #[cfg(unix)]
        if matches!(over, Over::Private(_)) {
            use std::os::unix::fs::PermissionsExt as _;
            permissions.set_mode(permissions.mode() & 0o700);
        }
        draft.as_file().set_permissions(permissions)?;
    }
    draft.as_file().sync_all()?;
    match over {
        Over::Nothing => draft.persist_noclobber(&target)?,
        Over::This(_) | Over::Private(_) => draft.persist(&target)?,
    };
    // The new name is as lasting as the bytes.
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

/// Opens what is only appended to, and makes it where it is not there. A pipe that nobody reads is refused: it would
/// wait for ever.
///
/// # Errors
///
/// What the system says.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};

        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let file = options.open(path).map_err(|error| match path.metadata() {
            Ok(found) if found.file_type().is_fifo() => {
                io::Error::new(error.kind(), "nobody reads from this pipe")
            }
            _ => error,
        })?;
        fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// Writes an output that a user named: readers see the old file or the new one, whole. What is not a regular file (a
/// pipe, a device) is written to as it is.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the path when it cannot be written.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), Error> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let written = if target.exists() && !target.is_file() {
        open_to_append(&target).and_then(|mut file| file.write_all(content))
    } else {
        replace(&target, content)
    };
    written.map_err(|error| {
        Error::input(format!("cannot write `{}`: {error}", path.display())).caused_by(error)
    })
}

fn replace(target: &Path, content: &[u8]) -> io::Result<()> {
    let mut draft = tempfile::Builder::new();
    draft.prefix(".tenure-");
    let all = all_may_read();
    if let Some(permissions) = &all {
        draft.permissions(permissions.clone());
    }
    let mut draft = draft.tempfile_in(folder_of(target))?;
    draft.write_all(content)?;
    draft.persist(target)?;
    Ok(())
}

/// The permissions of a new file, before the process's mask.
fn all_may_read() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    #[cfg(not(unix))]
    return None;
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.json");
        write_whole(&path, b"first").unwrap();
        let link = folder.path().join("link.json");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write_whole(&link, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let error = write_whole(&folder.path().join("no/out.json"), b"x").unwrap_err();
        assert!(error.what.contains("no/out.json"), "{error}");
        let cause = std::error::Error::source(&error).unwrap();
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        assert_eq!(kind, Some(io::ErrorKind::NotFound));
    }

    #[test]
    fn what_is_there_is_not_written_over_unless_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        put(&path, b"mine", Over::Nothing).unwrap();
        let again = put(&path, b"yours", Over::Nothing).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
            put(&path, b"new", Over::This(&File::open(&path).unwrap())).unwrap();
            assert_eq!((mode(), fs::read(&path).unwrap()), (0o640, b"new".to_vec()));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
