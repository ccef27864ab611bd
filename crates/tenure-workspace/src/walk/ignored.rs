//! Paths that a walk passes by: files that their owner's ignore files name, and folders of dependencies.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::{DirEntry, Match, WalkBuilder};
use tenure_adapters::read::read_up_to;

use crate::read::git_folders;

/// The files of a folder that name what is ignored. What a later one says holds over an earlier one, and all of them over
/// what git's own files say of the whole repository.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];
/// The most bytes of an ignore file that are read.
const MAX_BYTES: u64 = 1 << 20;
/// The folders in which dependencies are kept.
const VENDORED: [&str; 13] = [
    "Carthage",
    "Pods",
    "_vendor",
    "bower_components",
    "elm-stuff",
    "jspm_packages",
    "node_modules",
    "site-packages",
    "third-party",
    "third_party",
    "vendor",
    "vendored",
    "venv",
];

/// Returns whether a folder of this name holds what others wrote.
pub(super) fn is_vendored(name: &str) -> bool {
    VENDORED.binary_search(&name).is_ok()
}

/// Returns whether a path leads through a folder of dependencies.
pub(super) fn leads_through_vendored(path: &Path) -> bool {
    path.iter().any(|part| part.to_str().is_some_and(is_vendored))
}

/// The ignore files of the folders that a walk is in, the outermost first.
#[derive(Default)]
pub(super) struct Ignored(Vec<Gitignore>);

impl Ignored {
    /// Those that hold for a folder: its repository's, from the folder that holds `.git` down to its parent.
    pub(super) fn above(folder: &Path) -> Ignored {
        let mut above: Vec<&Path> = Vec::new();
        for parent in folder.ancestors() {
            if parent != folder {
                above.push(parent);
            }
            if parent.join(".git").exists() {
                let mut ignored = Ignored::default();
                above.iter().rev().for_each(|folder| ignored.enter(folder));
                return ignored;
            }
        }
        // What lies outside of all repositories is not ignored by what lies above it.
        Ignored::default()
    }

    /// Those that hold in a folder which was named although they may ignore it: what they say of what is in it does not
    /// hold where they ignore all of it.
    pub(super) fn of_named(folder: &Path) -> Ignored {
        let above = Ignored::above(folder);
        let any = folder.join("x");
        if above.has(folder, true) || above.has(&any, true) && above.has(&any, false) {
            return Ignored::default();
        }
        above
    }

    /// Adds those of a folder.
    pub(super) fn enter(&mut self, folder: &Path) {
        let mut builder = GitignoreBuilder::new(folder);
        let own = IGNORE_FILES.map(|name| folder.join(name));
        for path in of_repository(folder).into_iter().chain(own) {
            if !path.is_file() {
                continue;
            }
            let Ok(bytes) = read_up_to(&path, MAX_BYTES) else {
                continue;
            };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A line that is no glob ignores nothing, as in Git.
                let _ = builder.add_line(None, line);
            }
        }
        self.0.push(builder.build().unwrap_or_else(|_| Gitignore::empty()));
    }

    /// Leaves the innermost folder.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Returns whether a path in the innermost folder is ignored.
    pub(super) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let found = self
            .0
            .iter()
            .rev()
            .map(|ignored| ignored.matched(path, is_folder))
            .find(|matched| !matched.is_none());
        matches!(found, Some(Match::Ignore(_)))
    }
}

/// The files outside of the tree that name what is ignored in a repository that begins at this folder: its user's for all
/// repositories, then its own.
fn of_repository(folder: &Path) -> Vec<PathBuf> {
    if !folder.join(".git").exists() {
        return Vec::new();
    }
    let own = git_folders(folder).map(|git| git.common.join("info/exclude"));
    gitconfig_excludes_path().into_iter().chain(own).collect()
}

/// Paths that a walk of the crate `ignore` passes by. That crate would read the ignore files itself, and wait for ever
/// where one is a pipe.
pub(crate) struct PassedBy {
    /// The folder as the walk was told, and where it is.
    root: PathBuf,
    real: PathBuf,
    above: usize,
    ignored: Mutex<Ignored>,
}

impl PassedBy {
    /// Sets the walk of a folder up, so that it leaves the ignore files to this.
    pub(crate) fn of(walk: &mut WalkBuilder, root: &Path) -> PassedBy {
        walk.git_ignore(false)
            .git_global(false)
            .git_exclude(false)
            .ignore(false)
            .parents(false);
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let mut ignored = Ignored::above(&real);
        ignored.enter(&real);
        PassedBy {
            root: root.to_owned(),
            real,
            above: ignored.0.len() - 1,
            ignored: Mutex::new(ignored),
        }
    }

    /// Returns whether anything is ignored by name, as far as that is known before the walk.
    pub(crate) fn names_any(&self) -> bool {
        let ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
        ignored.0.iter().any(|ignored| ignored.num_ignores() > 0)
    }

    /// Returns whether an entry is ignored. The walk asks for each, folders before what is in them.
    pub(crate) fn has(&self, entry: &DirEntry) -> bool {
        let mut ignored = self.ignored.lock().unwrap_or_else(PoisonError::into_inner);
        ignored.0.truncate(self.above + entry.depth());
        let below = entry.path().strip_prefix(&self.root);
        let path = below.map_or_else(|_| entry.path().to_owned(), |below| self.real.join(below));
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_ignored = ignored.has(&path, is_folder);
        if is_folder && !is_ignored {
            ignored.enter(&path);
        }
        is_ignored
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        assert!(VENDORED.is_sorted());
        assert!(leads_through_vendored(Path::new("a/vendor/b/AGENTS.md")));
        assert!(!leads_through_vendored(Path::new("a/vendors/AGENTS.md")));
    }
}
