//! The declarations of a file, found by the words its lines begin with: functions, classes, types, headings. No
//! parser: a line that only looks like a declaration is taken for one.

/// Words that may stand before the one that declares.
#[rustfmt::skip]
const MODIFIERS: [&str; 23] = [
    "abstract", "async", "const", "data", "declare", "default", "export", "extern", "final", "inline",
    "internal", "local", "open", "override", "partial", "private", "protected", "pub", "public",
    "sealed", "static", "unsafe", "virtual",
];
/// Words that declare what is named behind them.
#[rustfmt::skip]
const DECLARES: [&str; 22] = [
    "class", "def", "defmodule", "enum", "fn", "fun", "func", "function", "impl", "interface",
    "macro_rules!", "mod", "module", "namespace", "object", "package", "protocol", "record",
    "struct", "trait", "type", "union",
];
/// So many names are told at most.
const MOST: usize = 48;
/// The longest name that is told, in bytes.
const LONGEST: usize = 48;

/// The names that a source text declares, each once, in order.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(name) = declared(line)
            && !found.contains(&name)
        {
            found.push(name);
            if found.len() == MOST {
                break;
            }
        }
    }
    found
}

/// The headings of a Markdown text, in order.
pub(crate) fn headings(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let lines = text.lines().filter_map(|line| {
        let line = line.trim_end();
        if line.starts_with("```") {
            fenced = !fenced;
        }
        let rest = line.trim_start_matches('#');
        let level = line.len() - rest.len();
        let heading = rest.strip_prefix(' ').map(str::trim)?;
        let is = !fenced && (1..=6).contains(&level) && !heading.is_empty();
        (is && heading.len() <= 2 * LONGEST).then_some(heading)
    });
    lines.take(MOST).collect()
}

/// The name that a line declares.
fn declared(line: &str) -> Option<&str> {
    // What is declared deep inside is a detail of what encloses it.
    let text = line.trim_start();
    if line.len() - text.len() > 8 || text.is_empty() {
        return None;
    }
    let mut rest = text;
    for _ in 0..6 {
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | '<'))?;
        let word = &rest[..end];
        let after = rest[end..].trim_start();
        if DECLARES.binary_search(&word).is_ok() {
            return name(after, word);
        }
        // A constant that others can name.
        let shared = text.starts_with("export ") || after.starts_with(|c: char| c.is_uppercase());
        if matches!(word, "const" | "static") && shared && !begins(after) {
            return name(after, word);
        }
        rest = match () {
            // `pub(crate)`, `extern "C"`.
            () if word == "pub" && after.starts_with('(') => after.split_once(')')?.1.trim_start(),
            () if word == "extern" && after.starts_with('"') => {
                after.get(1..)?.split_once('"')?.1.trim_start()
            }
            () if MODIFIERS.binary_search(&word).is_ok() => after,
            () => return None,
        };
    }
    None
}

/// Returns whether a declaration goes on here.
fn begins(text: &str) -> bool {
    let word = text.split([' ', '(']).next().unwrap_or_default();
    DECLARES.binary_search(&word).is_ok() || MODIFIERS.binary_search(&word).is_ok()
}

/// The name at the start of what stands behind the word that declares.
fn name<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let mut text = text;
    if word == "func" && text.starts_with('(') {
        // Go's receiver.
        text = text.split_once(')')?.1.trim_start();
    }
    if word == "impl" {
        // `impl<T> Display for Pump<T>` is told as `Display for Pump`.
        if text.starts_with('<') {
            text = text.split_once('>')?.1.trim_start();
        }
        let end = text.find(['{', '<']).unwrap_or(text.len());
        let told = text[..end].trim();
        return (!told.is_empty() && told.len() <= LONGEST).then_some(told);
    }
    let end =
        text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '?' | '!')));
    let found = text[..end.unwrap_or(text.len())].trim_end_matches(['.', '!', '?']);
    (found.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'))
        && found.len() <= LONGEST)
        .then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(MODIFIERS.is_sorted() && DECLARES.is_sorted());
    }

    #[test]
    fn declarations_of_many_languages_are_found() {
        let rust = "//! A type of pump.\npub(crate) struct Pump<T> {\n    at: T,\n}\nimpl<T> Display for Pump<T> {\n    fn fmt(&self) {\n                fn inner() {}\n    }\n}\nextern \"C\" fn stop() {}\nlet function = 3;\n";
        assert_eq!(names(rust), ["Pump", "Display for Pump", "fmt", "stop"]);
        let python =
            "class Pump(Base):\n    async def start(self):\n        pass\ndef start():\n    pass\n";
        assert_eq!(names(python), ["Pump", "start"]);
        let script = "export default async function load(x) {}\nexport interface Props {}\nexport type Id = string;\nexport const limit = 3;\nconst inner = 3;\n";
        assert_eq!(names(script), ["load", "Props", "Id", "limit"]);
        let go = "package pumps\n\nfunc (p *Pump) Start() error {\n";
        assert_eq!(names(go), ["pumps", "Start"]);
        let java = "public final class Pump {\n    private enum State { ON }\n";
        assert_eq!(names(java), ["Pump", "State"]);
        let many: String = (0..500).map(|at| format!("fn f{at}() {{}}\n")).collect();
        assert_eq!(names(&many).len(), MOST);
        assert!(names("fn (\npub(\nextern \"\nimpl\nfunc (x\nclass 漢\n").len() <= 1);
    }

    #[test]
    fn headings_stand_outside_of_fences() {
        let text = "# Pumps\n\nText.\n```\n# no heading\n```\n## Limits #1\n#hash\n";
        assert_eq!(headings(text), ["Pumps", "Limits #1"]);
    }
}
