//! The way to something that was found. It is opened step by step and no link is followed, so that what is judged is what
//! is read.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Something that was found and opened.
pub(super) struct Opened {
    path: PathBuf,
    /// Always there but for a folder on a system that opens none.
    pub(super) file: Option<File>,
    pub(super) metadata: Metadata,
    /// The sentences that speak against it.
    pub(super) flaws: Vec<String>,
}

/// A reason why a way cannot be gone.
pub(super) enum Blocked {
    /// This is a link.
    Link(PathBuf),
    /// This belongs to another user, who keeps it to themselves.
    Closed(String),
    /// This cannot be opened.
    Failed(PathBuf, io::Error),
}

/// The sentences that speak against a folder and those above it.
pub(super) fn above(base: &Path) -> Vec<String> {
    base.ancestors().filter_map(everybodys).collect()
}

/// Opens what lies at these steps below a folder; `None` where there is nothing.
pub(super) fn open(base: &Path, steps: &[&str]) -> Result<Option<Opened>, Blocked> {
    let mut flaws = above(base);
    let mut last: Option<Opened> = None;
    for step in steps {
        let path = last.as_ref().map_or(base, |last| &last.path).join(step);
        let within = last.as_ref().and_then(|last| last.file.as_ref());
        let (file, metadata) = match opened(within, &path, step) {
            Ok(opened) => opened,
            Err(_) if path.is_symlink() => return Err(Blocked::Link(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let owner =
                    path.symlink_metadata().ok().and_then(|found| other_owner(&path, &found));
                return Err(match owner {
                    Some(owner) => Blocked::Closed(owner),
                    None => Blocked::Failed(path, error),
                });
            }
        };
        flaws.extend(other_owner(&path, &metadata));
        flaws.extend(writable(&path, &metadata));
        last = Some(Opened {
            path,
            file,
            metadata,
            flaws: Vec::new(),
        });
    }
    Ok(last.map(|last| Opened { flaws, ..last }))
}

impl Opened {
    /// Opens a file within this folder; `None` where there is none.
    pub(super) fn file_within(&self, name: &str) -> io::Result<Option<File>> {
        match opened(self.file.as_ref(), &self.path.join(name), name) {
            Ok((file, metadata)) if metadata.is_file() => Ok(file),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Says that a folder above may be written by everybody, who could put another one in the place of what is below.
fn everybodys(folder: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        const STICKY: u32 = 0o1000;
        let mode = fs::metadata(folder).ok()?.permissions().mode();
        (mode & 0o002 != 0 && mode & STICKY == 0)
            .then(|| format!("everybody may write the folder `{}`", folder.display()))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// Says that this is of another user.
pub(super) fn other_owner(path: &Path, found: &Metadata) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (owner, me) = (found.uid(), rustix::process::geteuid().as_raw());
        (owner != me).then(|| {
            format!(
                "`{}` belongs to another user ({owner}; you are {me})",
                path.display()
            )
        })
    }
    #[cfg(not(unix))]
    {
        let _ = (path, found);
        None
    }
}

/// Says that others may write this.
pub(super) fn writable(path: &Path, found: &Metadata) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = found.permissions().mode() & 0o7777;
        (mode & 0o022 != 0)
            .then(|| format!("others may write `{}` (mode {mode:04o})", path.display()))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, found);
        None
    }
}

/// Opens a step without following a link, and without waiting for whoever writes to a pipe.
#[cfg(unix)]
fn opened(within: Option<&File>, path: &Path, step: &str) -> io::Result<(Option<File>, Metadata)> {
    use rustix::fs::{Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match within {
        Some(folder) => openat(folder, step, flags, Mode::empty())?,
        None => rustix::fs::open(path, flags, Mode::empty())?,
    };
    let file = File::from(opened);
    let metadata = file.metadata()?;
    Ok((Some(file), metadata))
}

#[cfg(not(unix))]
fn opened(_: Option<&File>, path: &Path, _: &str) -> io::Result<(Option<File>, Metadata)> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Err(io::Error::other("a link"));
    }
    let file = metadata.is_file().then(|| File::open(path)).transpose()?;
    Ok((file, metadata))
}

/// Makes a folder that others may not write, whatever the process's mask says.
pub(super) fn make_folder(path: &Path, is_private: bool) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, if is_private { 0o700 } else { 0o755 });
    #[cfg(not(unix))]
    let _ = is_private;
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
