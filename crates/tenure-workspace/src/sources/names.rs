//! Names of objects, made of those of files and headings, and no longer than names may be.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tenure::Digest;
use tenure::object::MAX_NAME;
use unicode_normalization::char::is_combining_mark;

/// The longest path that names the objects of its file, in bytes, so that its sections still have names.
const MAX_PATH_IN_NAME: usize = MAX_NAME - 80;

/// The name of objects without one of their own: their file's path, but for the ending of Markdown. Where a section's
/// name would be too long with it, the file's name alone, with a mark of its path.
pub(crate) fn name_of(origin: &str) -> Cow<'_, str> {
    let lower = origin.to_ascii_lowercase();
    let ending = [".markdown", ".md", ".mdx", ".json"]
        .into_iter()
        .find(|ending| lower.ends_with(ending));
    of_path(&origin[..origin.len() - ending.map_or(0, str::len)])
}

/// A path as a name, with its ending.
pub(crate) fn of_path(path: &str) -> Cow<'_, str> {
    if path.len() <= MAX_PATH_IN_NAME {
        return Cow::Borrowed(path);
    }
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    Cow::Owned(cut(file, MAX_PATH_IN_NAME, path))
}

/// The name, or where it is too long its start with a mark of the whole.
pub(crate) fn fitting(name: String) -> String {
    if name.len() <= MAX_NAME {
        name
    } else {
        cut(&name, MAX_NAME, &name)
    }
}

/// The start of a text, with a mark of `whole`, in at most so many bytes. No character is parted from what belongs to it.
fn cut(text: &str, most: usize, whole: &str) -> String {
    let digest = Digest::of(whole.as_bytes()).to_string();
    let mark = &digest[digest.len() - 8..];
    let mut end = text.floor_char_boundary(most - mark.len() - 1);
    while end > 0 && is_within(text, end) {
        end = text.floor_char_boundary(end - 1);
    }
    format!("{}~{mark}", &text[..end])
}

/// Returns whether what stands behind a place belongs to the character before it.
fn is_within(text: &str, at: usize) -> bool {
    const JOINER: char = '\u{200D}';
    text[at..].chars().next().is_some_and(|c| {
        is_combining_mark(c) || c == JOINER || ('\u{1F3FB}'..='\u{1F3FF}').contains(&c)
    }) || text[..at].ends_with(JOINER)
}

/// The names of the objects of a file, none of them twice.
#[derive(Default)]
pub(crate) struct Names {
    taken: BTreeSet<String>,
    /// The last number that a name was given.
    last: BTreeMap<String, usize>,
}

impl Names {
    /// Those of a file whose author gave these.
    pub(crate) fn taken(names: impl Iterator<Item = String>) -> Names {
        Names {
            taken: names.collect(),
            last: BTreeMap::new(),
        }
    }

    /// The first of `name`, `name-2`, `name-3`, … that is free.
    pub(crate) fn free(&mut self, name: String) -> String {
        let first = fitting(name.clone());
        if self.taken.insert(first.clone()) {
            return first;
        }
        let last = self.last.entry(name.clone()).or_insert(1);
        loop {
            *last += 1;
            let given = fitting(format!("{name}-{last}"));
            if self.taken.insert(given.clone()) {
                return given;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters_and_stay_apart() {
        assert_eq!(name_of("guide/a.MD"), "guide/a");
        assert_eq!(fitting("a".repeat(MAX_NAME)), "a".repeat(MAX_NAME));
        for unit in ["ポ", "กี่", "ด้", "क्षि", "👩‍👩‍👧", "👍🏽", "e\u{301}", "a"]
        {
            let long = unit.repeat(MAX_NAME + 1);
            let (one, other) = (fitting(long.clone()), fitting(format!("{long}x")));
            assert!(one.len() <= MAX_NAME && one != other, "{one}");
            let kept = one.rsplit_once('~').unwrap().0;
            assert!(long.starts_with(kept));
            let next = long[kept.len()..].chars().next().unwrap();
            assert!(!is_combining_mark(next) && next != '\u{200D}', "{one}");
            let path = |folder: &str| format!("{}/{folder}/{unit}.md", "x/".repeat(90));
            let (one, other) = (path("a"), path("b"));
            assert!(name_of(&one) != name_of(&other) && name_of(&one).starts_with(unit));
            assert!(name_of(&format!("{long}.md")).len() <= MAX_PATH_IN_NAME);
        }
    }
}
