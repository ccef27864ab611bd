//! A tree of source code as artifacts: one object for each file of text, in the order of their paths. A large file is its
//! outline, and its parts. What its owner has ignored is no part of it.

mod large;
mod symbols;

pub use symbols::symbols_in;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;
use tenure::error::Location;
use tenure::object::{MAX_NAME, ObjectType, clip};
use tenure::{Digest, Error, ObjectDocument, Unfetched};

use crate::collect::{Warning, WarningKind};
use crate::read::{KERNEL, is_of_the_kernel, name_of_path};
use crate::sources::check_text;
use crate::walk::PassedBy;
use tenure_adapters::read::{begins_as_text, read_up_to};

/// The most entries that a tree may have.
const MAX_ENTRIES: usize = 100_000;
/// The largest file that stands as one object, in bytes. What is larger stands as its outline and its parts.
const MAX_WHOLE: u64 = 1 << 20;
/// The largest file of a tree, in bytes: what is larger was made by a program, for a program.
const MAX_BYTES: u64 = 4 << 20;
/// The most bytes of all large files of a tree.
const MAX_LARGE: u64 = 32 << 20;
/// The longest path of a large file, so that its parts still have names.
const MAX_LARGE_NAME: usize = MAX_NAME - 80;

/// Findings in a tree.
#[derive(Default)]
pub(crate) struct Tree {
    /// The documents, each with the real path of its file.
    pub(crate) documents: Vec<(PathBuf, ObjectDocument)>,
    pub(crate) unfetched: Vec<Unfetched>,
    pub(crate) warnings: Vec<Warning>,
    /// The bytes of its large files.
    large: u64,
}

/// Reads a tree. With a prefix, names begin with it, so that several trees can stand beside each other.
pub(crate) fn read_tree(root: &Path, prefix: Option<&str>) -> Result<Tree, Error> {
    let shown = root.display().to_string();
    let metadata = fs::metadata(root)
        .map_err(|error| Error::input(format!("cannot read `{shown}`: {error}")))?;
    if !metadata.is_dir() {
        return Err(Error::input(format!("`{shown}` is not a folder"))
            .expected("a folder with source code")
            .hint("name a file without --code"));
    }
    if fs::canonicalize(root).is_ok_and(|real| is_of_the_kernel(&real)) {
        return Err(Error::input(format!("`{shown}` lies in {KERNEL}"))
            .expected("a folder of a disk, with source code"));
    }
    let mut walk = WalkBuilder::new(root);
    walk.follow_links(false).sort_by_file_name(|a, b| a.cmp(b));
    let passed_by = PassedBy::of(&mut walk, root);
    let ignores = passed_by.names_any();
    let passed = Arc::new(Mutex::new(Vec::new()));
    let passing = Arc::clone(&passed);
    walk.filter_entry(move |entry| {
        if passed_by.has(entry) {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let enters = !is_folder || !is_of_the_kernel(entry.path());
        if !enters {
            let mut passing = passing.lock().unwrap_or_else(PoisonError::into_inner);
            passing.push(entry.path().to_owned());
        }
        enters
    });
    let mut tree = Tree::default();
    if ignores {
        let ignored = Unfetched::new(shown.clone(), "what its ignore files name");
        tree.unfetched.push(ignored);
    }
    for (count, entry) in walk.build().enumerate() {
        if count >= MAX_ENTRIES {
            return Err(
                Error::input(format!("`{shown}` holds more than {MAX_ENTRIES} entries"))
                    .hint("name a smaller folder, or ignore what is generated"),
            );
        }
        let entry = entry
            .map_err(|error| Error::input(format!("cannot read the folder `{shown}`: {error}")))?;
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
            continue;
        };
        let path = entry.path();
        let name = name_in(root, prefix, path);
        if kind.is_file() {
            tree.file(path, name, entry.metadata().ok().map(|found| found.len()));
        } else {
            tree.skip(name, "not a file, or a link");
        }
    }
    for path in &*passed.lock().unwrap_or_else(PoisonError::into_inner) {
        tree.skip(name_in(root, prefix, path), KERNEL);
    }
    Ok(tree)
}

/// The name of a path in a tree.
fn name_in(root: &Path, prefix: Option<&str>, path: &Path) -> String {
    let name = name_of_path(path.strip_prefix(root).unwrap_or(path));
    match prefix {
        Some(prefix) => format!("{prefix}/{name}"),
        None => name,
    }
}

impl Tree {
    fn file(&mut self, path: &Path, name: String, bytes: Option<u64>) {
        if name.len() > MAX_NAME || name.contains(char::is_control) {
            return self.warn(clip(&name), "its path is no name of an object", path);
        }
        let Some(size) = bytes else {
            return self.warn(name, "cannot be read", path);
        };
        if size > MAX_BYTES {
            return self.warn(name, "larger than 4 MiB", path);
        }
        let is_large = size > MAX_WHOLE;
        if is_large && !begins_as_text(path) {
            return self.warn(name, "not text", path);
        }
        if is_large && (self.large + size > MAX_LARGE || name.len() > MAX_LARGE_NAME) {
            let why = "larger than 1 MiB, behind 32 MiB of such files, or in too long a path";
            return self.warn(name, why, path);
        }
        let Ok(bytes) = read_up_to(path, MAX_BYTES) else {
            return self.warn(name, "cannot be read", path);
        };
        let digest = is_large.then(|| Digest::of(&bytes));
        let text = String::from_utf8(bytes).ok();
        let Some(text) = text.filter(|text| !text.contains('\0')) else {
            return self.warn(name, "not text", path);
        };
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text).replace("\r\n", "\n");
        if text.trim().is_empty() {
            return self.skip(name, "empty");
        }
        if let Err(error) = check_text(path, &text) {
            return self.warn(name, &error.what, path);
        }
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(digest) = digest {
            self.large += size;
            let parts = large::documents(&name, &text, digest);
            self.note(
                name,
                format!(
                    "larger than 1 MiB: stands as its outline and {} parts, of which those near to the task go in",
                    parts.len() - 1
                ),
                path,
            );
            return self.documents.extend(parts.into_iter().map(|part| (real.clone(), part)));
        }
        let document = ObjectDocument {
            object_type: Some(ObjectType::Artifact),
            source_origin: Some(name.clone()),
            ..ObjectDocument::named(name, text)
        };
        self.documents.push((real, document));
    }

    fn skip(&mut self, what: String, why: &str) {
        self.unfetched.push(Unfetched::new(what, why));
    }

    fn warn(&mut self, name: String, why: &str, path: &Path) {
        self.note(name.clone(), format!("left out: {why}"), path);
        self.skip(name, why);
    }

    fn note(&mut self, name: String, what: String, path: &Path) {
        self.warnings.push(Warning {
            kind: WarningKind::Code,
            name,
            what,
            at: Some(Location {
                source: path.display().to_string(),
                line: None,
            }),
        });
    }
}
