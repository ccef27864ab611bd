//! The files of a tree that an index may hold: what ignore files name, what is hidden and what a link leads to is left out.

use std::fs::{self, File, Metadata};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use tenure::Error;
use tenure_adapters::read::open_file;

use crate::read::{KERNEL, is_of_the_kernel, name_of_path};
use crate::units::Reading;
use crate::walk::PassedBy;

/// The most entries that a scan looks at.
const MAX_ENTRIES: usize = 1_000_000;
/// The largest file that is read, in bytes.
pub(crate) const MAX_FILE: u64 = 16 << 20;
/// The longest path, in bytes.
const MAX_PATH: usize = 1_024;
/// A file that was changed within this time may change again without a sign of it.
const UNSETTLED: Duration = Duration::from_millis(100);

/// A file that was found.
pub(crate) struct Scanned {
    pub(crate) path: String,
    pub(crate) size: u64,
    /// The mark by which it is known again; empty for one that was changed just now.
    pub(crate) stamp: String,
}

/// The files that were found, by their paths, and what was left out.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) files: Vec<Scanned>,
    pub(crate) skipped: Vec<super::Skipped>,
}

impl Scan {
    fn skip(&mut self, path: String, why: impl Into<String>) {
        self.skipped.push(super::Skipped {
            path,
            why: why.into(),
        });
    }
}

/// Finds the files below a path of the root, or the file that it is.
pub(crate) fn scan(root: &Path, path: &Path, include_ignored: bool) -> Result<Scan, Error> {
    let mut walk = WalkBuilder::new(path);
    walk.follow_links(false);
    let passed_by = PassedBy::of(&mut walk, path);
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_ignored = !include_ignored && passed_by.has(entry);
        !is_ignored && (!is_folder || !is_of_the_kernel(entry.path()))
    });
    let now = SystemTime::now();
    let mut scan = Scan::default();
    if is_of_the_kernel(path) {
        return Err(Error::input(format!(
            "`{}` lies in {KERNEL}",
            path.display()
        )));
    }
    for (count, entry) in walk.build().enumerate() {
        if count >= MAX_ENTRIES {
            let what = format!("`{}` holds more than {MAX_ENTRIES} entries", path.display());
            return Err(Error::input(what)
                .hint("index a smaller folder, or put what is generated into `.ignore`"));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // A folder that cannot be read, or that went while others were.
                scan.skip(path.display().to_string(), error.to_string());
                continue;
            }
        };
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
            continue;
        };
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let name = name_of_path(relative);
        if !kind.is_file() {
            // What would not be read anyway needs no word.
            if Reading::of(&name).is_some() || entry.path().is_dir() {
                scan.skip(name, "not a file, or a link");
            }
        } else if relative.to_str().is_none()
            || name.contains(char::is_control)
            || name.len() > MAX_PATH
        {
            scan.skip(
                name.escape_debug().to_string(),
                "its path is no name of a document",
            );
        } else if Reading::of(&name).is_some() {
            match entry.metadata() {
                Ok(metadata) => scan.files.push(Scanned {
                    path: name,
                    size: metadata.len(),
                    stamp: stamp(&metadata, now),
                }),
                Err(error) => scan.skip(name, error.to_string()),
            }
        }
    }
    scan.files.sort_by(|a, b| a.path.cmp(&b.path));
    scan.files.dedup_by(|a, b| a.path == b.path);
    Ok(scan)
}

/// The mark of a file's state: its size, its times and which file it is.
fn stamp(metadata: &Metadata, now: SystemTime) -> String {
    let Ok(changed) = metadata.modified() else {
        return String::new();
    };
    if now.duration_since(changed).is_ok_and(|age| age < UNSETTLED) {
        return String::new();
    }
    let since = changed.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (size, nanos) = (metadata.len(), since.as_nanos());
        format!(
            "{size}:{nanos}:{}.{}:{}",
            metadata.ctime(),
            metadata.ctime_nsec(),
            metadata.ino()
        )
    }
    #[cfg(not(unix))]
    format!("{}:{}", metadata.len(), since.as_nanos())
}

/// The path of a file within the root, as documents are named; an error for one outside.
pub(crate) fn within(root: &Path, path: &Path) -> Result<(PathBuf, String), Error> {
    let shown = path.display();
    let real = fs::canonicalize(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::not_found(format!("`{shown}` does not exist"))
            .expected("a file or a folder")
            .hint("a path starts in the folder that you are in, or with `/`"),
        _ => Error::input(format!("cannot read `{shown}`: {error}")).caused_by(error),
    })?;
    let Ok(relative) = real.strip_prefix(root) else {
        let what = format!("`{shown}` lies outside the root `{}`", root.display());
        return Err(Error::input(what).hint("name the folder that holds both with `--root`"));
    };
    let name = name_of_path(relative);
    Ok((real, name))
}

/// The bytes of a document of the root. No link is followed, and nothing outside of the root is read, whatever happens to
/// the path while it is.
pub(crate) fn read_inside(root: &Path, name: &str) -> Result<Vec<u8>, Error> {
    let gone = |why: String| Error::not_found(format!("cannot read `{name}`: {why}"));
    let relative = Path::new(name);
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || name.is_empty() {
        return Err(Error::input(format!("`{name}` is no path within the root")));
    }
    let path = root.join(relative);
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => gone("no such file".to_owned()),
        _ => gone(error.to_string()).caused_by(error),
    };
    let named = fs::symlink_metadata(&path).map_err(told)?;
    if !named.is_file() {
        return Err(gone("it is no file, or a link".to_owned()));
    }
    if named.len() > MAX_FILE {
        let what = format!("`{name}` is larger than {} MiB", MAX_FILE >> 20);
        return Err(Error::input(what).hint("split it into smaller files"));
    }
    let file = open_file(&path).map_err(told)?;
    let opened = file.metadata().map_err(told)?;
    let real = real_path(&file, &path).map_err(told)?;
    if !real.starts_with(root) || !is_same(&named, &opened) {
        return Err(gone(
            "it leads out of the root, or was replaced while it was read".to_owned(),
        ));
    }
    let mut bytes = Vec::with_capacity(opened.len() as usize);
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(told)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(Error::input(format!(
            "`{name}` is larger than {} MiB",
            MAX_FILE >> 20
        )));
    }
    Ok(bytes)
}

/// The path of an open file without links. Where the system knows it of the file itself, nobody can swap it meanwhile.
fn real_path(file: &File, path: &Path) -> std::io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        if let Ok(real) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            return Ok(real);
        }
    }
    fs::canonicalize(path)
}

fn is_same(named: &Metadata, opened: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (named.dev(), named.ino()) == (opened.dev(), opened.ino())
    }
    #[cfg(not(unix))]
    {
        opened.is_file() && named.len() == opened.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn nothing_outside_the_root_is_read() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("root");
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(root.parent().unwrap().join("secret.md"), "x").unwrap();
        fs::write(root.join("docs/a.md"), "y").unwrap();
        symlink(
            root.parent().unwrap().join("secret.md"),
            root.join("docs/link.md"),
        )
        .unwrap();
        symlink(root.parent().unwrap(), root.join("up")).unwrap();
        assert_eq!(read_inside(&root, "docs/a.md").unwrap(), b"y");
        for bad in [
            "docs/link.md",
            "../secret.md",
            "up/secret.md",
            "/etc/passwd",
            "",
            "docs",
            "docs/../docs/a.md",
            "b.md",
        ] {
            assert!(read_inside(&root, bad).is_err(), "{bad}");
        }
        let scan = scan(&root, &root, false).unwrap();
        let paths: Vec<&str> = scan.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["docs/a.md"]);
        assert_eq!(scan.skipped.len(), 2);
        assert!(within(&root, &root.join("docs/link.md")).is_err());
    }
}
