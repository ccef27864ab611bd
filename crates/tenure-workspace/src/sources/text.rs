//! Text that is not Markdown: reStructuredText and AsciiDoc by their headings, plain text by its paragraphs, tables and
//! lines of JSON by their lines. What stands in the objects is what stands in the file.

use std::collections::BTreeMap;

use tenure::object::clip;
use tenure::{Error, ObjectDocument};

use super::markdown::{self, Heading, Split};
use super::{MAX_SECTIONS, Sourced};

/// The markup of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Markup {
    /// reStructuredText: a line of punctuation below a title, or above and below it.
    Rst,
    /// AsciiDoc: `== Title`.
    Asciidoc,
    /// None.
    Plain,
    /// A table whose first line names the columns.
    Table,
    /// Lines, or anything else that is cut at lines.
    Lines,
}

/// The most lines at the head of a text among which its title is looked for.
const MOST_ATTRIBUTES: usize = 64;

/// The most bytes of lines in one object: so many stand well below the limit of one item.
const MOST_OF_LINES: usize = 16 << 10;

/// The documents of a text: one, or one for each section or run of lines of a long one.
pub(super) fn documents(
    text: &str,
    stem: &str,
    split: Split,
    markup: Markup,
) -> Result<Vec<Sourced>, Error> {
    match markup {
        Markup::Rst => {
            let read = markdown::documents_at(text, stem, split, &rst_headings(text))?;
            Ok(titled(text, "", read))
        }
        Markup::Asciidoc => {
            let read = markdown::documents_at(text, stem, split, &asciidoc_headings(text))?;
            Ok(titled(text, "= ", read))
        }
        Markup::Plain => runs(text, stem, split, usize::MAX, ""),
        Markup::Lines => runs(text, stem, split, MOST_OF_LINES, ""),
        Markup::Table => {
            let first = text.lines().next();
            let head = first.filter(|line| line.len() <= MOST_OF_LINES / 4).unwrap_or("");
            runs(text, stem, split, MOST_OF_LINES, head)
        }
    }
}

/// The documents of a text, each below the title that an attribute at its head says.
fn titled(text: &str, mark: &str, mut read: Vec<Sourced>) -> Vec<Sourced> {
    let head = text.trim_start().lines().take_while(|line| !line.trim().is_empty());
    let title = head.take(MOST_ATTRIBUTES).find_map(|line| {
        let said = line.strip_prefix(":title:").or_else(|| line.strip_prefix(":page-title:"))?;
        Some(clip(said.trim())).filter(|title| !title.is_empty())
    });
    if let Some(title) = title {
        // The first part says it itself.
        for sourced in read.iter_mut().skip(1) {
            let content = &mut sourced.document.content;
            *content = format!("{mark}{title}\n\n{content}");
        }
    }
    read
}

/// A text as one document, or cut into runs: at blank lines where it has them often enough, else between lines, and
/// within a line only where it is longer than a run. Lines are cut at `most` bytes whatever the caller wants of prose.
/// Each run but the first begins with `head`.
fn runs(
    text: &str,
    stem: &str,
    split: Split,
    most: usize,
    head: &str,
) -> Result<Vec<Sourced>, Error> {
    let is_prose = most == usize::MAX;
    let limit = match split {
        Split::Never => usize::MAX,
        Split::Above(limit) if is_prose => limit,
        Split::Above(_) => most,
    };
    if text.len() <= limit {
        let mut whole = Sourced::new(ObjectDocument::named(stem, text.trim()), 1);
        whole.is_named_by_file = true;
        return Ok(vec![whole]);
    }
    let most = limit.max(1 << 10);
    let (mut sections, mut line, mut rest) = (Vec::new(), 1, text);
    while !rest.is_empty() {
        let run = &rest[..cut(rest, most, is_prose)];
        if !run.trim().is_empty() {
            if sections.len() == MAX_SECTIONS {
                let error = Error::input(format!("more than {MAX_SECTIONS} sections"));
                return Err(error.at("", Some(line)));
            }
            let number = sections.len() + 1;
            let name = if number == 1 {
                stem.to_owned()
            } else {
                format!("{stem}/part-{number}")
            };
            let begins = if number == 1 || head.is_empty() {
                String::new()
            } else {
                format!("{head}\n")
            };
            let content = format!("{begins}{}", run.trim_matches(['\n', '\r']).trim_end());
            let mut section = Sourced::new(ObjectDocument::named(name, content), line);
            section.is_named_by_file = true;
            sections.push(section);
        }
        line += run.matches('\n').count();
        rest = &rest[run.len()..];
    }
    Ok(sections)
}

/// The end of the first run of a text.
fn cut(text: &str, most: usize, is_prose: bool) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(most)];
    let paragraph = || Some(window.rfind("\n\n")? + 2).filter(|at| *at > most / 4);
    let word = || Some(window.rfind(' ')? + 1).filter(|at| *at > most / 4);
    let at = if is_prose { paragraph() } else { None };
    at.or_else(|| Some(window.rfind('\n')? + 1))
        .or_else(word)
        .unwrap_or(window.len())
}

/// The lines of a text, each with its place.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let starts: Vec<usize> = text
        .split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            start
        })
        .collect();
    let lines = text.split_inclusive('\n').map(|line| line.trim_end());
    starts.into_iter().zip(lines).collect()
}

/// The mark of a line that underlines a title of this many letters.
fn is_rule(line: &str, letters: usize) -> Option<char> {
    let first = line.chars().next().filter(char::is_ascii_punctuation)?;
    let is_long = line.len() >= letters.max(3);
    (is_long && line.chars().all(|c| c == first)).then_some(first)
}

fn rst_headings(text: &str) -> Vec<Heading> {
    let lines = lines(text);
    // The levels are in the order in which the styles are used first.
    let mut levels: BTreeMap<(char, bool), usize> = BTreeMap::new();
    let mut found: Vec<Heading> = Vec::new();
    for at in 0..lines.len().saturating_sub(1) {
        let (start, title) = lines[at];
        let (below, rule) = lines[at + 1];
        if title.trim().is_empty() || is_rule(title, 0).is_some() {
            continue;
        }
        let Some(mark) = is_rule(rule, title.trim().chars().count()) else {
            continue;
        };
        let above = at.checked_sub(1).map(|above| lines[above]).filter(|(_, line)| *line == rule);
        if above.is_none() && title.starts_with(char::is_whitespace) {
            continue;
        }
        let next = levels.len() + 1;
        let level = *levels.entry((mark, above.is_some())).or_insert(next);
        let end = text[below..].find('\n').map_or(text.len(), |n| below + n + 1);
        found.push(Heading {
            range: above.map_or(start, |(start, _)| start)..end,
            level,
            words: title.trim().to_owned(),
        });
    }
    found
}

fn asciidoc_headings(text: &str) -> Vec<Heading> {
    let mut fence: Option<&str> = None;
    let mut found = Vec::new();
    for (start, line) in lines(text) {
        let is_fence = line.len() >= 4
            && ["----", "....", "````", "====", "****", "++++"].iter().any(|mark| {
                line.starts_with(mark) && line.bytes().all(|byte| byte == mark.as_bytes()[0])
            });
        if is_fence {
            match fence {
                Some(open) if open == line => fence = None,
                Some(_) => {}
                None => fence = Some(line),
            }
            continue;
        }
        let level = line.bytes().take_while(|byte| *byte == b'=').count();
        let words = &line[level..];
        if fence.is_none() && (1..=6).contains(&level) && words.starts_with(' ') {
            let end = text[start..].find('\n').map_or(text.len(), |n| start + n + 1);
            found.push(Heading {
                range: start..end,
                level,
                words: words.trim().to_owned(),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, limit: usize, markup: Markup) -> Vec<(String, String, usize)> {
        let read = documents(text, "a", Split::Above(limit), markup).unwrap();
        read.into_iter()
            .map(|one| (one.document.name, one.document.content, one.line))
            .collect()
    }

    #[test]
    fn headings_of_other_markups_part_a_text() {
        let rst = "=====\nTitle\n=====\n\nIntro.\n\nUse\n---\nSo.\n\n    not\n    ---\n\nMore\n----\nX.\n";
        let parts = read(rst, 1, Markup::Rst);
        let names: Vec<&str> = parts.iter().map(|(name, ..)| &**name).collect();
        assert_eq!(names, ["a/title", "a/use", "a/more"]);
        assert!(parts[1].1.starts_with("=====\nTitle\n=====\n\nUse\n---\nSo."));
        assert_eq!(parts[1].2, 7);
        let adoc = "= Title\nIntro.\n\n== Use\nSo.\n----\n== no\n----\n";
        let names: Vec<String> =
            read(adoc, 1, Markup::Asciidoc).into_iter().map(|one| one.0).collect();
        assert_eq!(names, ["a/title", "a/use"]);
    }

    #[test]
    fn an_attribute_titles_all_parts() {
        let adoc = ":page-title: Oil\n:toc:\n\n== Use\nSo.\n\n== More\nX.\n";
        let texts: Vec<String> =
            read(adoc, 1, Markup::Asciidoc).into_iter().map(|one| one.1).collect();
        assert_eq!(
            texts,
            [
                ":page-title: Oil\n:toc:",
                "= Oil\n\n== Use\nSo.",
                "= Oil\n\n== More\nX."
            ]
        );
        let rst = ":title: Grease\n\nUse\n---\nSo.\n";
        assert_eq!(read(rst, 1, Markup::Rst)[1].1, "Grease\n\nUse\n---\nSo.");
    }

    #[test]
    fn long_texts_are_cut_where_they_may_be() {
        let text = "One two three.\n\n".repeat(300);
        let parts = read(&text, 4096, Markup::Plain);
        assert_eq!((parts.len(), &*parts[1].0), (2, "a/part-2"));
        assert!(parts.iter().all(|(_, text, _)| text.ends_with("three.")));
        let table = format!("id,name\n{}", "1,pump\n".repeat(5_000));
        let parts = read(&table, 4096, Markup::Table);
        assert_eq!(parts.len(), 3);
        assert!(parts.iter().all(|(_, text, _)| text.starts_with("id,name\n1,pump\n")));
        let line = "ä".repeat(40_000);
        let parts = read(&line, 4096, Markup::Lines);
        assert_eq!(
            parts.iter().map(|part| part.1.chars().count()).sum::<usize>(),
            40_000
        );
        assert!(
            documents("", "a", Split::Never, Markup::Plain).unwrap()[0]
                .document
                .content
                .is_empty()
        );
    }
}
