//! `CLAUDE.md` and the rules next to it: their paths, their imports, and the files that may be imported.
//!
//! `@path` imports a file, relative to the file that says so. It is no import in a code span, a code
//! block or a comment, nor where no such file exists and nothing says that a file is meant (`@alice`,
//! `@scope/package`). The file must lie in the root folder after all links are resolved; a home, an
//! absolute path elsewhere and a `..` that leads out are never read.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Map, Value};

use super::agents::{AGENTS_FILE, tidy};

/// The most files between a `CLAUDE.md` and a file that it imports.
pub const MAX_HOPS: usize = 5;
/// The largest imported file, and the largest resource of a skill, in bytes.
pub const MAX_IMPORT: u64 = 1 << 20;

/// The instruction files that are known by name or place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `AGENTS.md`, which imports nothing.
    Agents,
    /// `CLAUDE.md`, `CLAUDE.local.md`.
    Claude,
    /// A file below `.claude/rules`.
    Rule,
}

impl Kind {
    /// The kind of this file, if it is one of them. `path` has its links resolved.
    pub(crate) fn of(path: &Path) -> Option<Kind> {
        match path.file_name()?.to_str()? {
            AGENTS_FILE => return Some(Kind::Agents),
            "CLAUDE.md" | "CLAUDE.local.md" => return Some(Kind::Claude),
            name if !name.ends_with(".md") => return None,
            _ => {}
        }
        let parts: Vec<_> = path.parent()?.components().map(|part| part.as_os_str()).collect();
        let is_rule = parts.windows(2).any(|pair| pair[0] == ".claude" && pair[1] == "rules");
        is_rule.then_some(Kind::Rule)
    }
}

/// The folder that an instruction file speaks for: its own, or the one that holds the `.claude` that
/// it, or its `rules`, stands in.
pub(crate) fn project_of(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    let rules = folder.ancestors().find(|part| part.ends_with(".claude/rules"));
    let dotted = match rules {
        Some(rules) => rules.parent(),
        None => Some(folder).filter(|folder| folder.ends_with(".claude")),
    };
    dotted.and_then(Path::parent).unwrap_or(folder).to_owned()
}

/// The globs that a rule is limited to: a list, or one text with commas between them.
pub(crate) fn globs(fields: &Map<String, Value>) -> Vec<String> {
    let texts: Vec<&str> = match fields.get("paths") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let globs = texts.into_iter().flat_map(outside_braces);
    globs.filter(|glob| !glob.is_empty()).collect()
}

/// The pieces between commas that stand in no `{…}`.
fn outside_braces(text: &str) -> Vec<String> {
    let (mut pieces, mut depth) = (vec![String::new()], 0usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match pieces.last_mut() {
            Some(piece) if c != ',' || depth > 0 => piece.push(c),
            _ => pieces.push(String::new()),
        }
    }
    pieces.iter().map(|piece| piece.trim().to_owned()).collect()
}

/// A mention that may be an import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mention {
    /// The text behind the `@`.
    pub(crate) target: String,
    /// Its line in the text, counted from one.
    pub(crate) line: usize,
}

/// The mentions of a text, in order.
pub(crate) fn mentions(text: &str) -> Vec<Mention> {
    let ranges = silent(text);
    let mut silent = ranges.iter().peekable();
    let (mut found, mut line, mut counted) = (Vec::new(), 1, 0);
    for (at, _) in text.match_indices('@') {
        while silent.peek().is_some_and(|range| range.end <= at) {
            silent.next();
        }
        let starts = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        if !starts || silent.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        line += text[counted..at].matches('\n').count();
        counted = at;
        let mut target = String::new();
        let mut rest = text[at + 1..].chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                // A space in a path is written `\ `.
                '\\' if rest.peek() == Some(&' ') => target.extend(rest.next()),
                c if c.is_whitespace() => break,
                c => target.push(c),
            }
        }
        if !target.is_empty() {
            found.push(Mention { target, line });
        }
    }
    found
}

/// The ranges of a text that are code or comment, in order and disjoint.
fn silent(text: &str) -> Vec<Range<usize>> {
    let mut code: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        if matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))) {
            code.push(range);
        }
    }
    let mut comments = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("<!--").map(|at| from + at) {
        from = at + 4;
        let place = code.partition_point(|range| range.end <= at);
        if code.get(place).is_some_and(|range| range.contains(&at)) {
            continue;
        }
        if let Some(length) = text[from..].find("-->") {
            from += length + 3;
            comments.push(at..from);
        } else {
            break;
        }
    }
    code.extend(comments);
    code.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(code.len());
    for range in code {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
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
        let found: Vec<_> = mentions(text).into_iter().map(|one| (one.target, one.line)).collect();
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

    #[test]
    fn an_instruction_file_speaks_for_its_project_and_no_more() {
        let speaks = |path: &str| project_of(Path::new(path)).display().to_string();
        assert_eq!(speaks("/p/CLAUDE.md"), "/p");
        assert_eq!(speaks("/p/.claude/CLAUDE.md"), "/p");
        assert_eq!(speaks("/p/.claude/rules/api/a.md"), "/p");
        assert_eq!(speaks("/home/.claude/work/CLAUDE.md"), "/home/.claude/work");
    }

    #[test]
    fn globs_are_a_list_or_a_line() {
        let read = |yaml: &str| globs(&super::super::frontmatter::mapping(yaml).unwrap().fields);
        assert_eq!(
            read("paths: src/**/*.{ts,tsx}, lib/*\n"),
            ["src/**/*.{ts,tsx}", "lib/*"]
        );
        assert_eq!(
            read("paths:\n  - **/*.ts\n  - \"a b/*\"\n"),
            ["**/*.ts", "a b/*"]
        );
        assert!(read("description: x\n").is_empty());
    }
}
