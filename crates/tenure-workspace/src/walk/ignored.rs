//! What a walk passes by: files that their owner's ignore files name, and folders of dependencies.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tenure_adapters::read::read_up_to;

/// The files that name what is ignored. What a later one says holds over an earlier one.
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
    path.iter()
        .any(|part| part.to_str().is_some_and(is_vendored))
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

    /// Adds those of a folder.
    pub(super) fn enter(&mut self, folder: &Path) {
        let mut builder = GitignoreBuilder::new(folder);
        for name in IGNORE_FILES {
            let path = folder.join(name);
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
        self.0
            .push(builder.build().unwrap_or_else(|_| Gitignore::empty()));
    }

    /// Leaves the innermost folder.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// Returns whether a path in the innermost folder is ignored.
    pub(super) fn has(&self, path: &Path, is_folder: bool) -> bool {
        let mut found = self
            .0
            .iter()
            .rev()
            .map(|ignored| ignored.matched(path, is_folder));
        let found = found.find(|matched| !matched.is_none());
        matches!(found, Some(Match::Ignore(_)))
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
