//! Files that are never read because they belong to the kernel; where a user's own files are. Files themselves are read
//! by [`tenure_adapters::read`].

use std::ffi::OsStr;
use std::fmt::Write as _;
#[cfg(unix)]
use std::fs;
use std::path::{Path, PathBuf};

use tenure_adapters::read::read_text_up_to;

/// The reason why nothing of the kernel's own file systems is read.
pub(crate) const KERNEL: &str = "a file system of the kernel, which holds no files";

/// The most bytes of a file in which git names a folder.
const MAX_POINTER: u64 = 64 << 10;

/// Returns whether a path whose links are resolved leads into a file system of the Linux kernel, such as `/proc`.
/// Reading there may block for ever, or reveal the secrets of a process.
pub(crate) fn is_of_the_kernel(real: &Path) -> bool {
    let roots = ["/proc", "/sys"].map(Path::new);
    if !cfg!(target_os = "linux") {
        return false;
    }
    if roots.iter().any(|root| real.starts_with(root)) {
        return true;
    }
    // Mounted somewhere else, it is the same device.
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let device = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        let own = device(real);
        own.is_some()
            && own != device(Path::new("/"))
            && roots.iter().any(|root| device(root) == own)
    }
    #[cfg(not(unix))]
    false
}

/// The folders in which git keeps what it knows of a work tree.
pub(crate) struct GitFolders {
    /// Of this work tree alone.
    pub(crate) folder: PathBuf,
    /// Of all work trees of the repository.
    pub(crate) common: PathBuf,
}

/// Returns the folders of the work tree that begins at `top`; none where its `.git` is no file of git's.
pub(crate) fn git_folders(top: &Path) -> Option<GitFolders> {
    let git = top.join(".git");
    let folder = match read_text_up_to(&git, MAX_POINTER) {
        // A linked work tree: its `.git` is a file that names the repository.
        Ok(text) => top.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let common = read_text_up_to(&folder.join("commondir"), MAX_POINTER)
        .map_or_else(|_| folder.clone(), |path| folder.join(path.trim()));
    Some(GitFolders { folder, common })
}

/// A file's name as objects call it. Bytes that are no UTF-8 stand as `%E9`, so that two such files are two.
pub(crate) fn name_of_file(name: &OsStr) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// A path within a folder as objects call it, with `/` between its parts.
pub(crate) fn name_of_path(path: &Path) -> String {
    path.components()
        .map(|part| name_of_file(part.as_os_str()))
        .collect::<Vec<_>>()
        .join("/")
}

/// A folder of the user's: what the variable names, or else a folder below their home. A path that
/// is not absolute counts as none.
pub(crate) fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}
