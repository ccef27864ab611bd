//! Figures of the code, crate by crate: its size, and the habits that `tidy.rs` holds. `scripts/house` prints them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

/// Openings of doc comments that name no subject.
pub(crate) const OPENINGS: [&str; 11] = [
    "The same", "What", "How", "Whether", "Where", "Who", "Whose", "Whoever", "Why", "Which",
    "When",
];

const LONGEST_FUNCTION: usize = 100;

/// Figures of a file or of a crate's `src`.
#[derive(Clone, Default)]
pub(crate) struct Figures {
    /// Lines that are neither blank nor comment nor test.
    pub(crate) code: usize,
    pub(crate) comments: usize,
    pub(crate) tests: usize,
    /// Lines of `let x = …;` before `let x = x.…;`.
    pub(crate) shadows: Vec<String>,
    /// Lines of `let f = |…| …;` where `f` is named once more.
    pub(crate) closures: Vec<String>,
    /// Functions outside tests of more than [`LONGEST_FUNCTION`] lines.
    pub(crate) long_functions: Vec<String>,
    /// Doc comments that open with one of [`OPENINGS`].
    pub(crate) openings: Vec<String>,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.tests += other.tests;
        self.shadows.extend(other.shadows);
        self.closures.extend(other.closures);
        self.long_functions.extend(other.long_functions);
        self.openings.extend(other.openings);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let habits = [
            &self.shadows,
            &self.closures,
            &self.long_functions,
            &self.openings,
        ];
        write!(f, "{:>9}{:>9}{:>9}", self.code, self.comments, self.tests)?;
        habits.iter().try_for_each(|found| write!(f, "{:>9}", found.len()))
    }
}

/// Returns the figures of every crate's `src`, by the crate's name.
pub(crate) fn crates(root: &Path) -> BTreeMap<String, Figures> {
    let mut crates = BTreeMap::new();
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        let folder = folder.unwrap().path();
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        files.sort();
        let texts: Vec<String> =
            files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        let parsed: Vec<Vec<Token<'_>>> = texts.iter().map(|text| tokens(text)).collect();
        let tests: Vec<PathBuf> = files
            .iter()
            .zip(&parsed)
            .flat_map(|(path, tokens)| test_modules(path, tokens))
            .collect();
        let mut sum = Figures::default();
        for ((path, text), tokens) in files.iter().zip(&texts).zip(&parsed) {
            let is_test = tests
                .iter()
                .any(|test| path.starts_with(test) || *path == test.with_extension("rs"));
            let shown = path.strip_prefix(root).unwrap().display().to_string();
            sum += figures(&shown, text, tokens, is_test);
        }
        crates.insert(
            folder.file_name().unwrap().to_string_lossy().into_owned(),
            sum,
        );
    }
    crates
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Word,
    Sign,
    Literal,
    Comment,
}

#[derive(Clone, Copy)]
struct Token<'t> {
    kind: Kind,
    text: &'t str,
    /// The line that it starts on, from 0.
    line: usize,
}

/// Splits a file into words, signs, literals and comments. `::`, `->` and `=>` are one sign, others have one character.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut found, mut at, mut line) = (Vec::new(), 0, 0);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = if first.is_whitespace() {
            line += usize::from(first == '\n');
            at += first.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (
                Kind::Comment,
                rest.find("*/").map_or(rest.len(), |end| end + 2),
            )
        } else if let Some(length) = literal(rest) {
            (Kind::Literal, length)
        } else if first.is_alphanumeric() || first == '_' {
            let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
            (
                Kind::Word,
                rest.find(|c| !is_in_word(c)).unwrap_or(rest.len()),
            )
        } else if ["::", "->", "=>"].iter().any(|sign| rest.starts_with(sign)) {
            (Kind::Sign, 2)
        } else {
            (Kind::Sign, first.len_utf8())
        };
        let text = &rest[..length];
        found.push(Token { kind, text, line });
        line += text.matches('\n').count();
        at += length;
    }
    found
}

/// Returns the length of the string, character or lifetime that `rest` starts with.
fn literal(rest: &str) -> Option<usize> {
    let start = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - start.len();
    if let Some(raw) = start.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if prefix < 2 && raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let length = raw[hashes + 1..].find(&end)?;
            return Some(prefix + 1 + hashes + 1 + length + end.len());
        }
    }
    let mark = start.chars().next().filter(|mark| prefix < 2 && ['"', '\''].contains(mark))?;
    let mut characters = start.char_indices().skip(1);
    let (_, second) = characters.clone().next()?;
    if mark == '\'' && second != '\\' && characters.clone().nth(1).is_none_or(|(_, c)| c != '\'') {
        let end = start[1..].find(|c: char| !c.is_alphanumeric() && c != '_');
        return Some(prefix + 1 + end.unwrap_or(start.len() - 1));
    }
    while let Some((at, c)) = characters.next() {
        if c == '\\' {
            characters.next();
        } else if c == mark {
            return Some(prefix + at + 1);
        }
    }
    None
}

/// Returns the place of the sign that closes what the sign at `open` opens.
fn close(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Returns the first of these signs from `at` on that no bracket opened after `at` holds; the brackets of `at` end it.
fn outside(tokens: &[Token<'_>], mut at: usize, signs: &[&str]) -> Option<usize> {
    loop {
        match tokens.get(at)?.text {
            sign if signs.contains(&sign) => return Some(at),
            "(" | "[" | "{" => at = close(tokens, at) + 1,
            ")" | "]" | "}" => return None,
            _ => at += 1,
        }
    }
}

fn is(tokens: &[Token<'_>], at: usize, texts: &[&str]) -> bool {
    let found = tokens.get(at..).unwrap_or_default();
    found.len() >= texts.len() && texts.iter().zip(found).all(|(text, token)| *text == token.text)
}

/// Returns the places of what each `#[cfg(test)]` or `#[cfg(all(test, …))]` holds: from its `#` to the end of its item.
fn test_items(tokens: &[Token<'_>]) -> Vec<(usize, usize)> {
    (0..tokens.len())
        .filter(|at| {
            is(tokens, *at, &["#", "[", "cfg", "(", "test", ")"])
                || is(tokens, *at, &["#", "[", "cfg", "(", "all", "(", "test"])
        })
        .filter_map(|at| {
            let end = outside(tokens, close(tokens, at + 1) + 1, &[";", "{"])?;
            let is_block = tokens[end].text == "{";
            Some((at, if is_block { close(tokens, end) } else { end }))
        })
        .collect()
}

/// Returns the folders of the modules that this file declares for tests alone.
fn test_modules(path: &Path, tokens: &[Token<'_>]) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap().to_string_lossy();
    let folder = if ["mod", "lib", "main"].contains(&&*stem) {
        path.parent().unwrap().to_owned()
    } else {
        path.with_extension("")
    };
    let ends = test_items(tokens).into_iter().map(|(_, end)| end);
    ends.filter(|end| tokens[*end].text == ";" && tokens[end - 2].text == "mod")
        .map(|end| folder.join(tokens[end - 1].text))
        .collect()
}

fn figures(path: &str, text: &str, all: &[Token<'_>], is_test: bool) -> Figures {
    let tokens: Vec<Token<'_>> =
        all.iter().filter(|token| token.kind != Kind::Comment).copied().collect();
    let lines: Vec<&str> = text.lines().collect();
    let mut is_tested = vec![is_test; lines.len()];
    for (start, end) in test_items(&tokens) {
        is_tested[tokens[start].line..=tokens[end].line].fill(true);
    }
    let mut is_code = vec![false; lines.len()];
    for token in &tokens {
        is_code[token.line..][..token.text.lines().count()].fill(true);
    }
    let mut found = Figures::default();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let sum = match (is_tested[at], is_code[at]) {
            (true, _) => &mut found.tests,
            (false, true) => &mut found.code,
            (false, false) => &mut found.comments,
        };
        *sum += 1;
        let is_opening = |mark: &str| {
            let text = line.trim_start().strip_prefix(mark);
            let is_first = at == 0 || !lines[at - 1].trim_start().starts_with(mark.trim_end());
            is_first && text.is_some_and(opens_badly)
        };
        if is_opening("/// ") || is_opening("//! ") {
            found.openings.push(format!("{path}:{}: {}", at + 1, line.trim()));
        }
    }
    let place = |at: usize| format!("{path}:{}", tokens[at].line + 1);
    for at in 0..tokens.len() {
        if is_shadow_chain(&tokens, at) {
            found.shadows.push(place(at));
        }
        if is_closure_used_once(&tokens, at) {
            found.closures.push(place(at));
        }
        let length = function_length(&tokens, at).unwrap_or(0);
        if length > LONGEST_FUNCTION && !is_tested[tokens[at].line] {
            found.long_functions.push(format!("{} has {length} lines", place(at)));
        }
    }
    found
}

fn opens_badly(text: &str) -> bool {
    OPENINGS.iter().any(|opening| {
        let rest = text.strip_prefix(opening);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// The name that a `let` at `at` binds, and the place of its expression.
fn binding<'t>(tokens: &[Token<'t>], at: usize) -> Option<(&'t str, usize)> {
    if tokens.get(at)?.text != "let" {
        return None;
    }
    let name = at + 1 + usize::from(is(tokens, at + 1, &["mut"]));
    let equals = match tokens.get(name + 1)?.text {
        "=" => name + 1,
        ":" => (name + 2..tokens.len()).find(|at| {
            ["=", ";"].contains(&tokens[*at].text) && !is_in_angles(tokens, name + 2, *at)
        })?,
        _ => return None,
    };
    (tokens[equals].text == "=").then_some((tokens[name].text, equals + 1))
}

/// Whether what stands at `at` stands in `<…>` that opened after `from`.
fn is_in_angles(tokens: &[Token<'_>], from: usize, at: usize) -> bool {
    let count = |sign: &str| tokens[from..at].iter().filter(|token| token.text == sign).count();
    count("<") > count(">") || count("[") > count("]")
}

/// Two `let` statements in a row that bind one name, the second from a method or field of the first.
fn is_shadow_chain(tokens: &[Token<'_>], at: usize) -> bool {
    let chained = || {
        let (name, value) = binding(tokens, at)?;
        let next = outside(tokens, value, &[";"])? + 1;
        let (second, value) = binding(tokens, next)?;
        Some(name == second && is(tokens, value, &[name, "."]))
    };
    chained().unwrap_or(false)
}

/// A `let` of a closure that the rest of its block names once.
fn is_closure_used_once(tokens: &[Token<'_>], at: usize) -> bool {
    let uses = || {
        let (name, value) = binding(tokens, at)?;
        let value = value + usize::from(is(tokens, value, &["move"]));
        let end = outside(tokens, value, &[";"]).filter(|_| is(tokens, value, &["|"]))?;
        let mut depth = 0;
        let rest = tokens[end..].iter().take_while(|token| {
            match token.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth >= 0
        });
        let length = rest.count();
        let is_use = |at: &usize| {
            let is_other = tokens[at - 1].text == "." || is(tokens, at + 1, &[":"]);
            tokens[*at].text == name && !is_other
        };
        Some((end..end + length).filter(is_use).count())
    };
    uses() == Some(1)
}

/// Lines of the function whose `fn` stands at `at`, from there to its last brace.
fn function_length(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    if tokens[at].text != "fn" || tokens.get(at + 1)?.kind != Kind::Word {
        return None;
    }
    let body = outside(tokens, at, &["{", ";"]).filter(|body| tokens[*body].text == "{")?;
    Some(tokens[close(tokens, body)].line - tokens[at].line + 1)
}

/// Prints the figures; with a habit's name as argument, the places of it.
#[cfg(not(test))]
fn main() {
    let crates = crates(Path::new("."));
    let asked = std::env::args().nth(1);
    let places = |found: &Figures| match asked.as_deref() {
        Some("shadows") => found.shadows.clone(),
        Some("closures") => found.closures.clone(),
        Some("long") => found.long_functions.clone(),
        Some("docs") => found.openings.clone(),
        _ => Vec::new(),
    };
    if asked.is_some() {
        crates.values().flat_map(places).for_each(|place| println!("{place}"));
        return;
    }
    println!(
        "{:<18}     code comments    tests  shadows closures     long     docs",
        "crate"
    );
    let mut sum = Figures::default();
    for (name, figures) in crates {
        println!("{name:<18}{figures}");
        sum += figures;
    }
    println!("{:<18}{sum}", "all");
}
