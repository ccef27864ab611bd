//! The imports of a `CLAUDE.md`, the rules next to it and a `GEMINI.md`, and the files that may be imported.
//!
//! `@path` imports a file, relative to the file that says so. It is no import in a code span, a code
//! block or a comment, nor where no such file exists and nothing says that a file is meant (`@alice`,
//! `@scope/package`). The file must lie in the root folder after all links are resolved; a home, an
//! absolute path elsewhere and a `..` that leads out are never read.

use std::fs;
use std::path::{Path, PathBuf};

use super::agents::tidy;
use super::comments::silent;

/// The most files between a `CLAUDE.md` and a file that it imports.
pub const MAX_HOPS: usize = 5;
/// The most words of a line that are tried as one path.
const MAX_WORDS: usize = 8;
/// The most bytes of a line in which a path is looked for.
const MAX_PATH: usize = 4 << 10;
/// The largest imported file, and the largest resource of a skill, in bytes.
pub const MAX_IMPORT: u64 = 1 << 20;

/// A mention that may be an import: an `@` and what follows it. A space in a path may be written `\ `, or the path may
/// stand in quotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mention<'t> {
    /// The rest of the line, as far as a path may go.
    pub(crate) rest: &'t str,
    /// True if the line is nothing but the mention.
    pub(crate) is_line: bool,
    /// Its line in the text, counted from one.
    pub(crate) line: usize,
}

/// The mentions of a text, in order.
pub(crate) fn mentions(text: &str) -> Vec<Mention<'_>> {
    let ranges = silent(text);
    let mut silent = ranges.iter().peekable();
    let (mut found, mut line, mut counted) = (Vec::new(), 1, 0);
    for (at, _) in text.match_indices('@') {
        while silent.peek().is_some_and(|range| range.end <= at) {
            silent.next();
        }
        let starts = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        let is_word = text[at + 1..].starts_with(|c: char| !c.is_whitespace());
        if !starts || !is_word || silent.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        line += text[counted..at].matches('\n').count();
        counted = at;
        // What is code or comment is no part of a path.
        let heard = silent.peek().map_or(text.len(), |range| range.start);
        let most = text.floor_char_boundary((at + MAX_PATH).min(heard));
        let end = text[at..most].find('\n').map_or(most, |length| at + length);
        let before = text[..at].trim_end_matches([' ', '\t', '-', '*', '+']);
        found.push(Mention {
            rest: &text[at + 1..end],
            is_line: (before.is_empty() || before.ends_with('\n'))
                && (end == text.len() || text[end..].starts_with('\n')),
            line,
        });
    }
    found
}

impl Mention<'_> {
    /// The texts that may be the path: what stands in quotes, else up to so many words, the longest first.
    pub(crate) fn targets(&self) -> Vec<String> {
        let line = self.rest;
        if let Some(quote) = line.chars().next().filter(|c| ['"', '\''].contains(c))
            && let Some((quoted, _)) = line[1..].split_once(quote)
        {
            return vec![quoted.to_owned()];
        }
        let mut targets: Vec<String> = Vec::new();
        let mut target = String::new();
        let mut rest = line.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' if rest.peek() == Some(&' ') => target.extend(rest.next()),
                c if c.is_whitespace() => {
                    if !target.ends_with(char::is_whitespace) {
                        targets.push(target.clone());
                    }
                    if targets.len() == MAX_WORDS {
                        break;
                    }
                    target.push(c);
                }
                c => target.push(c),
            }
        }
        if targets.len() < MAX_WORDS && !target.ends_with(char::is_whitespace) {
            targets.push(target);
        }
        targets.reverse();
        targets
    }
}

/// The target of a mention.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A file in the root, with its links resolved.
    File(PathBuf),
    /// Something that is not read, and why.
    Refused(&'static str),
    /// Nothing: the mention is no import.
    None,
}

/// Resolves `target`, named in a file of the folder `from`. Both folders have their links resolved.
pub(crate) fn resolve(root: &Path, from: &Path, target: &str) -> Target {
    let plain =
        target.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '_']);
    let file = plain.split('#').next().unwrap_or(plain);
    let mut refused = None;
    for (at, tried) in [target, plain, file].into_iter().enumerate() {
        if tried.is_empty() || at > 0 && [target, plain][..at].contains(&tried) {
            continue;
        }
        match look(root, from, tried) {
            Ok(path) => return Target::File(path),
            Err(why) => refused = Some(refused.filter(|why| *why != MISSING).unwrap_or(why)),
        }
    }
    match refused {
        Some(MISSING | OUTSIDE) if !is_path(file) => Target::None,
        Some(why) => Target::Refused(why),
        None => Target::None,
    }
}

const MISSING: &str = "no such file";
const OUTSIDE: &str = "outside the folder that was named";

fn look(root: &Path, from: &Path, target: &str) -> Result<PathBuf, &'static str> {
    if target == "~" || target.starts_with("~/") {
        return Err("in the home folder, which is never read");
    }
    let path = from.join(target);
    if target.contains('\0') || !tidy(&path).starts_with(root) {
        return Err(OUTSIDE);
    }
    let real = fs::canonicalize(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => MISSING,
        std::io::ErrorKind::PermissionDenied => "permission denied",
        _ => "it cannot be reached: a loop of links, or a name that is too long",
    })?;
    if !real.starts_with(root) {
        return Err("a link leads outside the folder that was named");
    }
    let mut parts = real.strip_prefix(root).unwrap_or(&real).components();
    let is_hidden = parts.any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    if is_hidden && !is_markdown(&real) {
        return Err("hidden and not Markdown");
    }
    let metadata = fs::metadata(&real).map_err(|_| "it cannot be read")?;
    if metadata.is_dir() {
        return Err("a folder; name its files");
    }
    if !metadata.is_file() {
        return Err("not a file");
    }
    if metadata.len() > MAX_IMPORT {
        return Err("larger than 1 MiB");
    }
    Ok(real)
}

/// Returns whether a file's text is guidance; otherwise it is data.
pub(crate) fn is_markdown(path: &Path) -> bool {
    path.extension()
        .map(|end| end.to_string_lossy().to_ascii_lowercase())
        .is_some_and(|end| ["md", "markdown", "mdc"].contains(&end.as_str()))
}

/// Returns whether a mention must mean a file: it begins like a path, or ends in an extension.
fn is_path(target: &str) -> bool {
    if ["/", "./", "../", "~/"].iter().any(|start| target.starts_with(start)) {
        return true;
    }
    let name = target.rsplit('/').next().unwrap_or(target);
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=8).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_stand_in_prose_alone() {
        let text = "See @README and a@b.example.\n@docs/a\\ b.md, `@no` ``\n@no``\n\n```sh\n@no\n```\n\n    @no\n\n<!-- @no\n@no -->\n- @~/x.md\n| t | @t.md |\n`<!--` @last.\n";
        let mentions = mentions(text);
        let found: Vec<_> =
            mentions.iter().map(|one| (one.targets().pop().unwrap(), one.line)).collect();
        let expected = [
            ("README", 1),
            ("docs/a b.md,", 2),
            ("~/x.md", 13),
            ("t.md", 14),
            ("last.", 15),
        ];
        assert_eq!(
            found,
            expected.map(|(target, line)| (target.to_owned(), line))
        );
    }

    #[test]
    fn a_path_may_have_spaces() {
        let targets = |text: &str| {
            let mention = mentions(text).remove(0);
            (mention.targets(), mention.is_line)
        };
        let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            targets("- @my notes/a.md"),
            (all(&["my notes/a.md", "my"]), true)
        );
        assert_eq!(
            targets("@\"my notes/a.md\", say"),
            (all(&["my notes/a.md"]), true)
        );
        assert_eq!(
            targets("@my\\ notes/a.md  "),
            (all(&["my notes/a.md"]), true)
        );
        assert_eq!(targets("See @a `b`"), (all(&["a"]), false));
        assert_eq!(targets("@ü  b"), (all(&["ü  b", "ü"]), true));
        assert_eq!(targets(&"@a ".repeat(50)).0.len(), MAX_WORDS);
        assert_eq!(targets("@\"a b").0.last().unwrap(), "\"a");
    }

    #[test]
    fn targets_stay_in_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let outer = folder.path().canonicalize().unwrap();
        let root = outer.join("root");
        fs::create_dir_all(root.join("docs/deep")).unwrap();
        fs::write(outer.join("secret.md"), "x").unwrap();
        fs::write(root.join("a.md"), "x").unwrap();
        fs::write(root.join("Makefile"), "x").unwrap();
        fs::write(root.join(".env"), "SECRET=x").unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "x").unwrap();
        fs::write(root.join(".git/notes.md"), "x").unwrap();
        fs::write(root.join("big.md"), "x".repeat((1 << 20) + 1)).unwrap();
        let from = root.join("docs");
        let leads = |target: &str| resolve(&root, &from, target);
        let file = |name: &str| Target::File(root.join(name));
        assert_eq!(leads("../a.md"), file("a.md"));
        assert_eq!(leads("deep/../../a.md)."), file("a.md"));
        assert_eq!(leads("../a.md#part"), file("a.md"));
        assert_eq!(leads("../Makefile,"), file("Makefile"));
        assert_eq!(leads(root.join("a.md").to_str().unwrap()), file("a.md"));
        assert_eq!(leads("../../secret.md"), Target::Refused(OUTSIDE));
        assert_eq!(leads("/etc/passwd"), Target::Refused(OUTSIDE));
        assert_eq!(
            leads("~/.claude/me.md"),
            Target::Refused("in the home folder, which is never read")
        );
        assert_eq!(leads("../.env"), Target::Refused("hidden and not Markdown"));
        assert_eq!(
            leads("../.git/config"),
            Target::Refused("hidden and not Markdown")
        );
        assert_eq!(leads("../.git/notes.md"), file(".git/notes.md"));
        assert_eq!(leads("gone.md"), Target::Refused(MISSING));
        assert_eq!(leads("deep"), Target::Refused("a folder; name its files"));
        assert_eq!(leads("../big.md"), Target::Refused("larger than 1 MiB"));
        for none in [
            "alice",
            "tanstack/react-query",
            "types/node",
            "v1.2.",
            "deep2/x",
        ] {
            assert_eq!(leads(none), Target::None, "{none}");
        }
        #[cfg(unix)]
        {
            let link =
                |to: &str, name: &str| std::os::unix::fs::symlink(to, root.join(name)).unwrap();
            link("../secret.md", "out.md");
            link("loop.md", "loop.md");
            link("a.md", "in.md");
            assert_eq!(
                leads("../out.md"),
                Target::Refused("a link leads outside the folder that was named")
            );
            assert!(matches!(leads("../loop.md"), Target::Refused(why) if why.contains("loop")));
            assert_eq!(leads("../in.md"), file("a.md"));
        }
    }
}
