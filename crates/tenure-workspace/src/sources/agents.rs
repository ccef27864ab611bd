//! `AGENTS.md`: plain Markdown, one for each folder that needs one. The one nearest to what is worked
//! on wins.

use std::fs;
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use tenure::Error;
use tenure::num::Score;

/// The file.
pub const AGENTS_FILE: &str = "AGENTS.md";

/// The most paths of a text that are looked at.
const MAX_PATHS: usize = 256;

/// The file or folder that is worked on.
pub(crate) struct Near {
    /// As it was named.
    pub(crate) shown: String,
    /// With its links resolved, as far as it exists.
    path: PathBuf,
    is_folder: bool,
}

impl Near {
    /// The path that is worked on; it may not exist yet.
    pub(crate) fn new(path: &Path) -> Result<Near, Error> {
        let whole = std::path::absolute(path)
            .map_err(|error| Error::input(format!("cannot read `{}`: {error}", path.display())))?;
        let whole = tidy(&whole);
        // The part that exists is resolved; what is still to be made is added as it is.
        let known = whole.ancestors().find_map(|part| {
            let real = fs::canonicalize(part).ok()?;
            Some((real, whole.strip_prefix(part).ok()?.to_owned()))
        });
        let path = match known {
            Some((real, rest)) if rest.as_os_str().is_empty() => real,
            Some((real, rest)) => real.join(rest),
            None => whole,
        };
        Ok(Near {
            shown: path.display().to_string(),
            is_folder: path.is_dir(),
            path,
        })
    }

    /// The number of folders that `folder` is above the path that is worked on; `None` when it is not above it.
    pub(crate) fn distance(&self, folder: &Path) -> Option<usize> {
        let below = self.path.strip_prefix(folder).ok()?.components().count();
        Some(below.saturating_sub(usize::from(!self.is_folder)))
    }

    /// Returns whether one of these globs, relative to `root`, matches the file that is worked on. `None` when a
    /// folder is worked on, of which they say nothing.
    pub(crate) fn is_meant(&self, globs: &[String], root: &Path) -> Option<bool> {
        let relative = self.path.strip_prefix(root).ok()?;
        if self.is_folder {
            return None;
        }
        Some(is_meant(globs, relative))
    }
}

/// Returns whether one of these globs matches a path relative to the folder that they are about.
pub(crate) fn is_meant(globs: &[String], relative: &Path) -> bool {
    globs.iter().any(|glob| {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        built.is_ok_and(|glob| glob.compile_matcher().is_match(relative))
    })
}

/// The paths that a text names: words with a `/` in them.
///
/// ```
/// use tenure_workspace::sources::agents::paths_in;
/// let paths = paths_in("Fix `packages/api/src/a.rs:12` and ./web/, see https://a.example/b.");
/// assert_eq!(paths, ["packages/api/src/a.rs", "web"].map(std::path::PathBuf::from));
/// ```
pub fn paths_in(text: &str) -> Vec<PathBuf> {
    text.split(|c: char| c.is_whitespace() || "`'\"()[]<>{},;|".contains(c))
        .map(|word| word.trim_start_matches('@').trim_end_matches(['.', ':', '!', '?']))
        .filter(|word| word.contains('/') && !word.contains("://"))
        .map(|word| match word.rsplit_once(':') {
            Some((path, line)) if line.bytes().all(|byte| byte.is_ascii_digit()) => path,
            _ => word,
        })
        .map(|word| tidy(Path::new(word)))
        .filter(|path| !path.as_os_str().is_empty())
        .take(MAX_PATHS)
        .collect()
}

/// The priority of an instruction file `distance` folders above the path that is worked on: 0.9 in its folder, 0.1
/// less for each folder further up, at least 0.5.
pub(crate) fn priority(distance: usize) -> Option<Score> {
    const BY_DISTANCE: [f64; 5] = [0.9, 0.8, 0.7, 0.6, 0.5];
    Score::new(BY_DISTANCE[distance.min(4)])
}

/// The path without `.` and `..`, as far as that can be said without looking.
pub(crate) fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_ranks_highest() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/c.rs"), "").unwrap();
        let near = Near::new(&root.join("a/./b/../b/c.rs")).unwrap();
        assert_eq!(near.distance(&root.join("a/b")), Some(0));
        assert_eq!(near.distance(&root), Some(2));
        assert_eq!(near.distance(&root.join("a/x")), None);
        let to_be = Near::new(&root.join("a/new/file.rs")).unwrap();
        assert_eq!(to_be.distance(&root.join("a")), Some(1));
        let inside = Near::new(&root.join("a/b")).unwrap();
        assert_eq!(inside.distance(&root.join("a/b")), Some(0));
        let ranks: Vec<_> = (0..7).map(|at| priority(at).unwrap()).collect();
        assert!(ranks.is_sorted_by(|a, b| a >= b) && ranks[0] > ranks[1] && ranks[4] == ranks[6]);
    }

    #[test]
    fn globs_are_taken_from_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        let meant = |path: &str, glob: &str| {
            let near = Near::new(&root.join(path)).unwrap();
            near.is_meant(&[glob.to_owned()], &root)
        };
        assert_eq!(meant("src/a.ts", "**/*.{ts,tsx}"), Some(true));
        assert_eq!(meant("src/a.ts", "./src/*.ts"), Some(true));
        assert_eq!(meant("src/b/a.ts", "src/*.ts"), Some(false));
        assert_eq!(meant("src/a.ts", "[broken"), Some(false));
        assert_eq!(meant("src", "src/**"), None);
    }
}
