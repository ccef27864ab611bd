//! Plain Markdown: one object, or one for each section of a long file.
//!
//! A file is split at its headings when it is longer than [`Split::Above`] says, or when a heading
//! other than the one it opens with has a hint. Headings are what CommonMark says they are, outside
//! of lists and quotations: `# ATX` and underlined ones, none in a code block or a comment.
//!
//! A *hint* is an HTML comment directly under a heading, or first in the file, that sets the
//! section's fields:
//!
//! ```text
//! ## Timer channels
//! <!-- name: timer-channel-map, priority: 0.6, tags: [timer, pins] -->
//! TIM4 channel 2 is on PB7.
//! ```

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use serde::Deserialize;
use tenure::num::Score;
use tenure::{Error, ObjectDocument};

use super::MAX_SECTIONS;
use super::Sourced;
use super::frontmatter::check_depth;
use super::names::Names;

/// The largest plain Markdown that stays whole unless the caller says otherwise, in bytes: about
/// 1,000 tokens.
pub const SPLIT_ABOVE: usize = 4 << 10;
/// The longest slug of a heading, in characters.
const MAX_SLUG: usize = 60;
/// The keys that a hint may set.
const HINTS: [&str; 3] = ["name", "priority", "tags"];

/// The rule by which plain Markdown becomes one object for each section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Split {
    /// If it has more bytes than this, or a hint under a heading that it does not open with.
    Above(usize),
    /// Never; hints under such headings are text.
    Never,
}

impl Default for Split {
    fn default() -> Split {
        Split::Above(SPLIT_ABOVE)
    }
}

/// A section: a heading and what follows it, up to the next heading of any level. The first may be
/// the text before all headings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<'t> {
    /// Its text, byte for byte: the texts of all parts in order are the file's.
    pub text: &'t str,
    /// The line it begins on, counted from one.
    pub line: usize,
    /// The heading's level and words, without their markup; none before the first heading.
    pub heading: Option<(usize, String)>,
    /// The headings above it, from the outermost, as they are written.
    pub above: Vec<&'t str>,
    /// The end of the heading in `text`.
    heading_end: usize,
}

/// A heading of a text.
pub(super) struct Heading {
    pub(super) range: Range<usize>,
    pub(super) level: usize,
    pub(super) words: String,
}

fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let (mut depth, mut open) = (0, false);
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if let (0, Tag::Heading { level, .. }) = (depth, &tag) {
                    // A carriage return alone ends a line too, says CommonMark.
                    let end = text[..range.start].rfind(['\n', '\r']);
                    let start = end.map_or(0, |at| at + 1);
                    found.push(Heading {
                        range: start..range.end,
                        level: *level as usize,
                        words: String::new(),
                    });
                    open = true;
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth -= 1;
                open &= !(depth == 0 && matches!(tag, TagEnd::Heading(_)));
            }
            Event::Text(words) | Event::Code(words) if open => {
                if let Some(heading) = found.last_mut() {
                    heading.words.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak if open => {
                if let Some(heading) = found.last_mut() {
                    heading.words.push(' ');
                }
            }
            _ => {}
        }
    }
    found
}

/// The sections of a text, in order. Concatenated, their texts are `text`.
///
/// ```
/// use tenure_workspace::sources::markdown::split;
/// let text = "Intro.\n\n# Use\nSo.\n\n## Often\nDaily.\n";
/// let parts = split(text);
/// assert_eq!(parts.len(), 3);
/// assert_eq!(parts[2].above, ["# Use"]);
/// assert_eq!(parts.iter().map(|part| part.text).collect::<String>(), text);
/// ```
pub fn split(text: &str) -> Vec<Part<'_>> {
    split_at(text, &headings(text))
}

/// Like `split`, at these headings.
fn split_at<'t>(text: &'t str, headings: &[Heading]) -> Vec<Part<'t>> {
    let mut cuts: Vec<usize> = headings.iter().map(|heading| heading.range.start).collect();
    cuts.push(text.len());
    let mut parts = Vec::with_capacity(cuts.len());
    // What stands before the first heading is a part of its own, unless it is blank or a hint.
    let lead = &text[..cuts[0]];
    let bare = comment_at(lead, 0).is_some_and(|found| {
        is_hint(&lead[found.inner.clone()]) && lead[found.outer.end..].trim().is_empty()
    });
    let joins = !headings.is_empty() && (lead.trim().is_empty() || bare);
    if !joins {
        parts.push(Part {
            text: lead,
            line: 1,
            heading: None,
            above: Vec::new(),
            heading_end: 0,
        });
    }
    let mut open: Vec<&Heading> = Vec::new();
    let mut line = 1;
    let mut counted = 0;
    for (at, heading) in headings.iter().enumerate() {
        while open.last().is_some_and(|above| above.level >= heading.level) {
            open.pop();
        }
        let start = if at == 0 && joins { 0 } else { cuts[at] };
        line += text[counted..start].matches('\n').count();
        counted = start;
        parts.push(Part {
            text: &text[start..cuts[at + 1]],
            line,
            heading: Some((heading.level, heading.words.trim().to_owned())),
            above: open.iter().map(|above| text[above.range.clone()].trim()).collect(),
            heading_end: heading.range.end - start,
        });
        open.push(heading);
    }
    parts
}

/// The documents of a plain text: one, or one for each section.
///
/// A section is named `stem/slug-of-its-heading`, the second of one name `stem/slug-2`; the text
/// before the first heading is named `stem`. Its content begins with the headings above it, so that
/// it stands alone. A heading with nothing of its own but sections below it stands in those.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line of a hint that is malformed.
pub fn documents(text: &str, stem: &str, split_when: Split) -> Result<Vec<Sourced>, Error> {
    let parts = split(text);
    let hints = parts.iter().map(Hints::of).collect();
    documents_of(text, stem, split_when, &parts, hints)
}

/// Makes documents of a text in another markup, with these headings, which has no hints.
pub(super) fn documents_at(
    text: &str,
    stem: &str,
    split_when: Split,
    headings: &[Heading],
) -> Result<Vec<Sourced>, Error> {
    let parts = split_at(text, headings);
    let hints = parts.iter().map(|_| Hints::default()).collect();
    documents_of(text, stem, split_when, &parts, hints)
}

fn documents_of(
    text: &str,
    stem: &str,
    split_when: Split,
    parts: &[Part<'_>],
    hints: Vec<Hints>,
) -> Result<Vec<Sourced>, Error> {
    let divides = match split_when {
        Split::Never => false,
        Split::Above(limit) => {
            text.len() > limit || hints.iter().skip(1).any(|found| found.hint.is_some())
        }
    };
    if !divides || parts.len() == 1 {
        let hint = match hints.first() {
            Some(found) => found.parse(&parts[0])?,
            None => Hint::default(),
        };
        let blank = text.len() - text.trim_start().len();
        let line = 1 + text[..blank].matches('\n').count();
        let rest = hints.first().map_or(String::new(), |found| found.without(parts[0].text));
        let content = format!("{rest}{}", &text[parts[0].text.len()..]);
        return Ok(vec![Sourced {
            is_named_by_file: hint.name.is_none(),
            document: hint.apply(ObjectDocument::named(stem, content.trim())),
            line,
            until: None,
        }]);
    }
    if parts.len() > MAX_SECTIONS {
        return Err(Error::input(format!("more than {MAX_SECTIONS} sections"))
            .at("", Some(parts[MAX_SECTIONS].line)));
    }
    let mut read = Vec::with_capacity(parts.len());
    for (part, found) in parts.iter().zip(&hints) {
        read.push(found.parse(part)?);
    }
    let mut names = Names::taken(read.iter().filter_map(|hint| hint.name.clone()));
    let mut sections = Vec::with_capacity(parts.len());
    for (at, (part, hint)) in parts.iter().zip(read).enumerate() {
        let own = hints[at].without(part.text);
        let level = part.heading.as_ref().map(|(level, _)| *level);
        let next = parts.get(at + 1).and_then(|next| next.heading.as_ref());
        let leads = next.zip(level).is_some_and(|((next, _), level)| *next > level);
        let bare = part.text[part.heading_end..].trim().is_empty();
        if bare && leads && hints[at].hint.is_none() {
            continue;
        }
        let name = match (&hint.name, &part.heading) {
            (Some(name), _) => name.clone(),
            (None, None) => names.free(stem.to_owned()),
            (None, Some((_, words))) => names.free(format!("{stem}/{}", slug(words))),
        };
        let mut content = part.above.join("\n\n");
        if !content.is_empty() {
            content.push_str("\n\n");
        }
        content.push_str(own.trim());
        if content.trim().is_empty() {
            continue;
        }
        sections.push(Sourced {
            is_named_by_file: hint.name.is_none(),
            document: hint.apply(ObjectDocument::named(name, content.trim())),
            line: part.line,
            until: None,
        });
    }
    Ok(sections)
}

/// A heading's words as a part of a name: letters and digits in lower case, joined by hyphens.
fn slug(words: &str) -> String {
    let mut slug = String::new();
    for c in words.chars().flat_map(char::to_lowercase).take(MAX_SLUG) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    match slug.trim_matches('-') {
        "" => "section".to_owned(),
        slug => slug.to_owned(),
    }
}

/// The range of a comment, and its text.
struct Comment {
    outer: Range<usize>,
    inner: Range<usize>,
}

/// The comment that stands at `from`, after white space.
fn comment_at(text: &str, from: usize) -> Option<Comment> {
    let start = from + text[from..].len() - text[from..].trim_start().len();
    let inner = start + 4..start + 4 + text[start..].strip_prefix("<!--")?.find("-->")?;
    Some(Comment {
        outer: start..inner.end + 3,
        inner,
    })
}

/// Returns whether a comment means to be a hint: it begins with one of the keys, or with one edit of one, so that a
/// slip is an error and `<!-- status: draft -->` is a comment.
fn is_hint(comment: &str) -> bool {
    let Some((key, _)) = comment.trim_start().split_once(':') else {
        return false;
    };
    let is_word = key.bytes().all(|c| c.is_ascii_lowercase());
    is_word && HINTS.iter().any(|known| is_slip(known.as_bytes(), key.as_bytes()))
}

/// Returns whether two words are the same up to one letter that is missing, added, another, or swapped with the next.
fn is_slip(a: &[u8], b: &[u8]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([], []) => true,
        ([_, a @ ..], b) if a == b => true,
        (a, [_, b @ ..]) if a == b => true,
        ([a, c, x @ ..], [d, b, y @ ..]) if (a, c) == (b, d) && x == y => true,
        ([_, a @ ..], [_, b @ ..]) => a == b,
        _ => false,
    }
}

/// The hint of a part, if it has one.
#[derive(Default)]
struct Hints {
    hint: Option<Comment>,
    /// A second one, where there may be one only.
    second: Option<Comment>,
}

impl Hints {
    fn of(part: &Part<'_>) -> Hints {
        let read = |from: usize| {
            comment_at(part.text, from).filter(|found| is_hint(&part.text[found.inner.clone()]))
        };
        // First in the file, or under the heading.
        let first = if part.line == 1 { read(0) } else { None };
        let under = part.heading.as_ref().and_then(|_| read(part.heading_end));
        match (first, under) {
            (Some(first), under) => Hints {
                hint: Some(first),
                second: under,
            },
            (None, under) => Hints {
                hint: under,
                second: None,
            },
        }
    }

    fn parse(&self, part: &Part<'_>) -> Result<Hint, Error> {
        let line = |at: usize| part.line + part.text[..at].matches('\n').count();
        if let Some(second) = &self.second {
            return Err(Error::input("one section has two hints")
                .at("", Some(line(second.outer.start)))
                .expected("one, directly under the heading"));
        }
        let Some(found) = &self.hint else {
            return Ok(Hint::default());
        };
        let inner = part.text[found.inner.clone()].trim();
        let first = line(found.inner.start);
        check_depth(inner).map_err(|error| error.at("", Some(first)))?;
        serde_norway::from_str::<Hint>(&format!("{{{inner}}}"))
            .map_err(|error| malformed(&error, inner, first))
            .and_then(|hint| match &hint.name {
                Some(name) if name.trim().is_empty() => {
                    Err(Error::input("the hint's `name` is empty")
                        .at("", Some(first))
                        .expected("a name, or leave the key out"))
                }
                _ => Ok(hint),
            })
    }

    /// The part's text without its hint, which is not for the model.
    fn without(&self, text: &str) -> String {
        match &self.hint {
            None => text.to_owned(),
            Some(found) => {
                let before = text[..found.outer.start].trim_end_matches([' ', '\t']);
                let after = text[found.outer.end..].trim_start_matches([' ', '\t']);
                format!("{before}{}", after.strip_prefix('\n').unwrap_or(after))
            }
        }
    }
}

fn malformed(error: &serde_norway::Error, inner: &str, line: usize) -> Error {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    // The parser blames the start of the mapping; the key or value that it quotes is nearer.
    let quoted = message.split('`').nth(1).and_then(|word| inner.find(word));
    let offset = quoted.map_or(0, |at| inner[..at].matches('\n').count());
    let ours = tenure::error::parse_error(message);
    let ours = match ours.expected {
        Some(_) => ours,
        None => ours.expected("`name: x, priority: 0.8, tags: [a, b]`, each of them once"),
    };
    let ours = match ours.hint {
        Some(_) => ours,
        None => ours.hint("a comment that begins with another word is not a hint"),
    };
    ours.at("", Some(line + offset))
}

/// The content of a hint.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Hint {
    name: Option<String>,
    priority: Option<Score>,
    tags: Vec<String>,
}

impl Hint {
    fn apply(self, document: ObjectDocument) -> ObjectDocument {
        ObjectDocument {
            name: self.name.unwrap_or(document.name),
            priority: self.priority.or(document.priority),
            tags: self.tags,
            ..document
        }
    }
}

/// The level as a number, which `HeadingLevel` is cast to.
const _: () = assert!(HeadingLevel::H1 as usize == 1 && HeadingLevel::H6 as usize == 6);

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, split: Split) -> Vec<(String, String)> {
        documents(text, "stem", split)
            .unwrap()
            .into_iter()
            .map(|one| (one.document.name, one.document.content))
            .collect()
    }

    fn pair(name: &str, content: &str) -> (String, String) {
        (name.to_owned(), content.to_owned())
    }

    #[test]
    fn a_short_file_is_whole_and_a_long_one_is_split() {
        let text = "Lead.\n\n# A b!\n\nOne.\n\n## Sub\nTwo.\n\n### A B\n\nUnder\n=====\nThree.\n";
        assert_eq!(named(text, Split::default()), [pair("stem", text.trim())]);
        assert_eq!(named(text, Split::Never), [pair("stem", text.trim())]);
        assert_eq!(
            named(text, Split::Above(10)),
            [
                pair("stem", "Lead."),
                pair("stem/a-b", "# A b!\n\nOne."),
                pair("stem/sub", "# A b!\n\n## Sub\nTwo."),
                pair("stem/a-b-2", "# A b!\n\n## Sub\n\n### A B"),
                pair("stem/under", "Under\n=====\nThree."),
            ]
        );
    }

    #[test]
    fn a_heading_without_text_stands_in_what_is_below_it() {
        let text = "# Title\n\n## One\nx\n\n## Two\ny\n\n# Last\n";
        assert_eq!(
            named(text, Split::Above(0)),
            [
                pair("stem/one", "# Title\n\n## One\nx"),
                pair("stem/two", "# Title\n\n## Two\ny"),
                pair("stem/last", "# Last"),
            ]
        );
    }

    #[test]
    fn headings_are_those_of_commonmark() {
        let text = "# A\n```\n# no\n```\n> # no\n\n- # no\n\n    # no\n\n<!--\n# no\n-->\n#no\n\n~~~md\n## no\n```\n## no\n~~~\n   ## *B* `c` ##\nx\n";
        let found: Vec<_> = split(text).into_iter().map(|part| part.heading).collect();
        assert_eq!(
            found,
            [Some((1, "A".to_owned())), Some((2, "B c".to_owned()))]
        );
    }

    #[test]
    fn a_carriage_return_alone_ends_a_line() {
        let text = "# A\r# B\rx\r\r## C\ry\n";
        let parts = split(text);
        let texts: Vec<&str> = parts.iter().map(|part| part.text).collect();
        assert_eq!(texts, ["# A\r", "# B\rx\r\r", "## C\ry\n"]);
        assert!(documents(text, "stem", Split::Above(0)).is_ok());
    }

    #[test]
    fn hints_set_a_sections_fields() {
        let text = "# A\nx\n\n## B\n\n<!-- name: b, priority: 0.8,\n tags: [p, q] -->\ny\n\n## C\n<!-- TODO: later -->\nz\n<!-- name: no -->\n";
        let read = documents(text, "stem", Split::default()).unwrap();
        let names: Vec<_> = read.iter().map(|one| one.document.name.as_str()).collect();
        assert_eq!(names, ["stem/a", "b", "stem/c"]);
        assert_eq!(read[1].document.priority, tenure::num::Score::new(0.8));
        assert_eq!(read[1].document.tags, ["p", "q"]);
        assert_eq!(read[1].document.content, "# A\n\n## B\n\ny");
        assert!(read[2].document.content.contains("TODO"));
        assert!(read[2].document.content.contains("name: no"));
        assert_eq!(read[2].line, 10);
        // First in the file, a hint speaks of the whole, or of the first section.
        let whole = "<!-- name: w -->\n\n# A\nx\n";
        assert_eq!(named(whole, Split::default()), [pair("w", "# A\nx")]);
        let under = "# A\n<!-- name: w -->\nx\n";
        assert_eq!(named(under, Split::default()), [pair("w", "# A\nx")]);
        // What is never split keeps the comments as its text.
        assert_eq!(named(text, Split::Never).len(), 1);
    }

    #[test]
    fn malformed_hints_name_their_line() {
        let refused = |text: &str, what: &str, line: usize| {
            let error = documents(text, "stem", Split::default()).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(
                error.at.as_ref().and_then(|at| at.line),
                Some(line),
                "{error}"
            );
        };
        refused(
            "# A\nx\n# B\n\n<!-- name: b,\npriorty: 1 -->\n",
            "did you mean `priority`?",
            6,
        );
        refused("<!-- piority: 1 -->\nx", "did you mean `priority`?", 1);
        refused("<!-- tgas: [a] -->\nx", "did you mean `tags`?", 1);
        refused("<!-- names: a -->\nx", "did you mean `name`?", 1);
        refused(
            "# A\n<!-- priority: 7 -->\nx",
            "not a number from 0 to 1",
            2,
        );
        refused("# A\n<!-- name: a, name: b -->\nx", "duplicate", 2);
        refused("# A\n<!-- name: '' -->\nx", "is empty", 2);
        refused("# A\n<!-- name: [ -->\nx", "expected: a string", 2);
        refused("# A\n<!-- name: a, b -->\nx", "unknown field `b`", 2);
        refused("# A\n<!-- name: \"a -->\nx", "tags: [a, b]", 2);
        refused("<!-- name: a -->\n# A\n<!-- name: b -->\nx", "two hints", 3);
        for ordinary in [
            "<!-- note: x -->",
            "<!-- name -->",
            "<!-- Name: x -->",
            "<!-- prettier-ignore -->",
            "<!-- status: draft -->",
            "<!-- task: x, project: y -->",
            "<!-- a tool: generated 2026-06-06 | source: 1.4.0 -->",
            "<!-- name: open",
        ] {
            let text = format!("# A\n{ordinary}\nx");
            assert_eq!(named(&text, Split::default()), [pair("stem", &text)]);
        }
    }

    #[test]
    fn names_are_free_of_each_other() {
        let text = "# A\n1\n# A\n2\n# A 2\n3\n# !\n4\n# \n5\n# B\n<!-- name: stem/a-2 -->\n6\n";
        let names: Vec<_> = named(text, Split::Above(0)).into_iter().map(|one| one.0).collect();
        assert_eq!(
            names,
            [
                "stem/a",
                "stem/a-3",
                "stem/a-2-2",
                "stem/section",
                "stem/section-2",
                "stem/a-2"
            ]
        );
    }
}
