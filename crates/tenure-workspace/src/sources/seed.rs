//! Seed files: Markdown with YAML frontmatter, one object for each section.
//!
//! ```text
//! ---
//! name: timer-channel-map
//! priority: 0.6
//! tags: [timer, pins]
//! ---
//! TIM4 channel 2 is on PB7.
//! ```
//!
//! A page whose frontmatter is of another program (`super::foreign`) is plain Markdown with tags.
//! A file without frontmatter is plain Markdown (`super::markdown`), one object named after the file
//! unless it is long. A line `---` opens a section when a line `key:` follows; any other `---` is a thematic break of the body, and so is one in a code
//! fence.

use serde_json::Map;
use tenure::{Error, ObjectDocument};

use super::Sourced;
use super::foreign;
pub use super::frontmatter::MAX_FRONTMATTER;
use super::frontmatter::{check_depth, is_rule, mapping};
use super::markdown::{self, Split};
use super::shape::{Blocks, check_body, check_page, misspelt, without_value};
use super::skill::line_of;

pub use super::MAX_SECTIONS;

/// Reads the sections of a seed file, or plain Markdown, split by default.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line.
pub fn parse(text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
    parse_split(text, stem, Split::default())
}

/// Like `parse`, with plain Markdown split as the caller says.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line.
pub fn parse_split(text: &str, stem: &str, split: Split) -> Result<Vec<Sourced>, Error> {
    let lines: Vec<&str> = text.split('\n').collect();
    let first = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(0);
    if let Some(page) = foreign::read(text) {
        return page.documents(stem, split);
    }
    if !opens_section(&lines, first) {
        check_page(text, Blocks::Fenced)?;
        return markdown::documents(text, stem, split);
    }
    let mut sections = Vec::new();
    let mut open = first;
    while open < lines.len() {
        let close = closing(&lines, open)?;
        let next = next_section(&lines, close + 1);
        if sections.len() == MAX_SECTIONS {
            return Err(at(
                open,
                Error::input(format!("more than {MAX_SECTIONS} sections")),
            ));
        }
        let mut document = frontmatter(&lines, open, close)?;
        let body = lines[close + 1..next].join("\n");
        check_body(&body, close + 1)?;
        document.content = body.trim().to_owned();
        sections.push(Sourced::new(document, open + 1));
        open = next;
    }
    if let [only] = sections.as_mut_slice()
        && only.document.name.is_empty()
    {
        only.document.name = stem.to_owned();
        only.is_named_by_file = true;
    }
    match sections.iter().find(|section| section.document.name.is_empty()) {
        Some(section) => Err(at(
            section.line - 1,
            Error::input("a section has no `name`")
                .expected("a `name` in each section of a file with several"),
        )),
        None => Ok(sections),
    }
}

fn at(line: usize, error: Error) -> Error {
    error.at("", Some(line + 1))
}

/// Returns whether `line` is a `key:` as frontmatter begins with.
fn is_key(line: &str) -> bool {
    let Some((key, _)) = line.split_once(':') else {
        return false;
    };
    let key = key.trim_matches('"');
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

pub(crate) fn opens_section(lines: &[&str], at: usize) -> bool {
    lines.get(at).is_some_and(|line| is_rule(line))
        && lines[at + 1..]
            .iter()
            .find(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .is_some_and(|line| is_key(line))
}

/// The line that closes the frontmatter opened at `open`.
fn closing(lines: &[&str], open: usize) -> Result<usize, Error> {
    let mut bytes = 0;
    for (offset, line) in lines[open + 1..].iter().enumerate() {
        if is_rule(line) {
            return Ok(open + 1 + offset);
        }
        bytes += line.len() + 1;
        if bytes > MAX_FRONTMATTER {
            return Err(at(
                open,
                Error::input(format!(
                    "the frontmatter has more than {} KiB",
                    MAX_FRONTMATTER >> 10
                ))
                .expected("a closing `---`"),
            ));
        }
    }
    Err(at(
        open,
        Error::input("the frontmatter is not closed").expected("a closing `---`"),
    ))
}

/// The first line from `from` on that opens a section, code fences left out.
fn next_section(lines: &[&str], from: usize) -> usize {
    let mut fence: Option<&str> = None;
    for (at, line) in lines.iter().enumerate().skip(from) {
        let marker = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| marker.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if opens_section(lines, at) => return at,
            _ => {}
        }
    }
    lines.len()
}

fn frontmatter(lines: &[&str], open: usize, close: usize) -> Result<ObjectDocument, Error> {
    let yaml = lines[open + 1..close].join("\n");
    check_depth(&yaml).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        at(open + line.unwrap_or(1), error)
    })?;
    let fields = mapping(&yaml).map_or_else(|_| Map::new(), |read| read.fields);
    if let Some(field) = without_value(&fields) {
        let line = open + line_of(&yaml, field);
        let error = Error::input(format!("`{field}` has no value"));
        return Err(at(line, error).expected("a value, or leave the line out"));
    }
    serde_norway::from_str::<ObjectDocument>(&yaml).map_err(|error| {
        let text = error.to_string();
        let line = match error.location() {
            // A value that breaks a rule of its own is reported at the start of its mapping.
            Some(location) if (location.line(), location.column()) != (1, 1) => location.line(),
            _ => blamed_line(&lines[open + 1..close], &text),
        };
        let message = text.split(" at line ").next().unwrap_or(&text);
        let mut ours = tenure::error::parse_error(message);
        let is_unknown = message.contains("unknown field");
        let meant = |key: &String| Some((line_of(&yaml, key), misspelt(key)?));
        // What may restrict is told first.
        if is_unknown && let Some((line, error)) = fields.keys().find_map(meant) {
            return at(open + line, error);
        }
        if ours.hint.is_none() && is_unknown {
            ours = ours.hint(
                "a `---` with a `key:` after it opens a section; write a thematic break as `***`",
            );
        }
        if message.contains("repetition limit") {
            ours = ours.hint("aliases are expanded too often");
        }
        at(open + line, ours)
    })
}

/// The line that a message about a value or a repeated key speaks of, counted from one.
fn blamed_line(lines: &[&str], message: &str) -> usize {
    let Some(quoted) = message.split('`').nth(1) else {
        return 1;
    };
    let quoted = quoted.to_lowercase();
    let names_key = |line: &str| line.split(':').next().is_some_and(|key| key.trim() == quoted);
    let found = if message.contains("duplicate") {
        lines.iter().rposition(|line| names_key(line))
    } else {
        lines.iter().position(|line| {
            line.split_once(':')
                .is_some_and(|(_, value)| value.to_lowercase().contains(&quoted))
                || names_key(line)
        })
    };
    found.map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        parse(text, "stem").unwrap().into_iter().map(|one| one.document.name).collect()
    }

    fn refused(text: &str, what: &str, line: usize) {
        let error = parse(text, "stem").unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(error.at.and_then(|at| at.line), Some(line), "{text:?}");
    }

    #[test]
    fn plain_markdown_is_one_object_named_after_its_file() {
        let one = parse("\n# Rules\n\n---\n\nBe brief.\n", "agents").unwrap();
        assert_eq!(
            one[0].document,
            ObjectDocument::named("agents", "# Rules\n\n---\n\nBe brief.")
        );
    }

    #[test]
    fn sections_and_thematic_breaks() {
        let text = "---\nname: a\n---\nOne.\n\n---\n\nStill one.\n\n```yaml\n---\nname: fenced\n---\n```\n---\nname: b\npriority: 1\n---\nTwo.\n";
        assert_eq!(names(text), ["a", "b"]);
        let sections = parse(text, "stem").unwrap();
        assert!(sections[0].document.content.contains("Still one."));
        assert!(sections[0].document.content.contains("name: fenced"));
        assert_eq!(sections[1].line, 15);
        assert_eq!(names("---\npriority: 0.5\n---\nx\n"), ["stem"]);
    }

    #[test]
    fn yaml_is_not_clever() {
        let one = parse("---\nname: no\ntags: [on, 1.0]\n---\nx", "stem");
        assert!(one.is_err() || one.unwrap()[0].document.name == "no");
        assert_eq!(names("---\nname: no\n---\nx"), ["no"]);
    }

    #[test]
    fn mistakes_name_their_line() {
        refused("---\nname: a\n", "not closed", 1);
        refused(
            "---\nname: a\npriority: 7\n---\nx",
            "not a number from 0 to 1",
            3,
        );
        refused(
            "---\nname: a\npriority: .nan\n---\nx",
            "not a number from 0 to 1",
            3,
        );
        refused(
            "---\nname: a\npriorty: 0.5\n---\nx",
            "did you mean `priority`?",
            3,
        );
        refused(
            "---\nname: a\n---\nx\n---\npriority: 0.5\n---\ny",
            "no `name`",
            5,
        );
        refused("---\nname: [\n---\nx", "", 2);
        refused("---\nname: a\nname: b\n---\nx", "duplicate", 3);
        refused(
            &format!("---\nname: a\n#{}\n---\nx", "x".repeat(70_000)),
            "64 KiB",
            1,
        );
        let bomb = "---\nname: a\nobject_type: rule\ntags: &a [x, x, x, x, x, x, x, x, x]\naliases: *a\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n---\nx";
        assert!(parse(bomb, "stem").is_err());
        let deep = format!("---\nname: a\ninput_schema: {}\n---\nx", "[".repeat(500));
        assert!(parse(&deep, "stem").is_err());
    }
}
