//! Files that are never read because they belong to the kernel; where a user's own files are. Files themselves are read
//! by [`tenure_adapters::read`].

use std::ffi::OsStr;
use std::fmt::Write as _;
#[cfg(unix)]
use std::fs;
use std::path::{Path, PathBuf};

/// The reason why nothing of the kernel's own file systems is read.
pub(crate) const KERNEL: &str = "a file system of the kernel, which holds no files";

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
