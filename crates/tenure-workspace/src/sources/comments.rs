//! HTML comments in instruction files: they are for the people who write these, and command nothing. What looks like one
//! in code is code.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

const OPENS: &str = "<!--";
const CLOSES: &str = "-->";

/// The comments of a text.
struct Comments {
    /// Those that are closed, in order and disjoint.
    closed: Vec<Range<usize>>,
    /// The place of one that is never closed, which is text.
    unclosed: Option<usize>,
}

/// The ranges of a text that are code, in order and disjoint.
fn code(text: &str) -> Vec<Range<usize>> {
    Parser::new_ext(text, Options::empty())
        .into_offset_iter()
        .filter(|(event, _)| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))))
        .map(|(_, range)| range)
        .collect()
}

/// The comments of a text outside of its code.
fn comments(text: &str, code: &[Range<usize>]) -> Comments {
    let mut found = Comments {
        closed: Vec::new(),
        unclosed: None,
    };
    let mut from = 0;
    while let Some(at) = text[from..].find(OPENS).map(|at| from + at) {
        from = at + OPENS.len();
        let place = code.partition_point(|range| range.end <= at);
        if code.get(place).is_some_and(|range| range.contains(&at)) {
            continue;
        }
        // `<!-->` is a whole comment.
        let inner = at + 2;
        let Some(length) = text[inner..].find(CLOSES) else {
            found.unclosed = Some(at);
            break;
        };
        from = inner + length + CLOSES.len();
        found.closed.push(at..from);
    }
    found
}

/// The ranges of a text that are code or comment, in order and disjoint.
pub(super) fn silent(text: &str) -> Vec<Range<usize>> {
    let mut ranges = code(text);
    ranges.extend(comments(text, &ranges).closed);
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => apart.push(range),
        }
    }
    apart
}

/// The line of a text on which a comment begins that is never closed.
pub(crate) fn unclosed(text: &str) -> Option<usize> {
    let at = comments(text, &code(text)).unclosed?;
    Some(1 + text[..at].matches('\n').count())
}

/// The text without its comments, and without the lines that these have for themselves.
pub(crate) fn without_comments(text: &str) -> String {
    if !text.contains(OPENS) {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let (mut from, mut line, mut is_blank) = (0, 0, true);
    for comment in comments(text, &code(text)).closed {
        let before = &text[from..comment.start];
        if let Some(at) = before.rfind('\n') {
            line = kept.len() + at + 1;
            is_blank = before[at..].trim().is_empty();
        } else {
            is_blank = is_blank && before.trim().is_empty();
        }
        kept.push_str(before);
        from = comment.end;
        let rest = text[from..].trim_start_matches([' ', '\t', '\r']);
        if is_blank && (rest.is_empty() || rest.starts_with('\n')) {
            kept.truncate(line);
            from = text.len() - rest.strip_prefix('\n').unwrap_or(rest).len();
        }
    }
    kept.push_str(&text[from..]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_outside_of_code_are_left_out() {
        for (text, kept) in [
            ("a <!-- b --> c", "a  c"),
            ("a\n<!-- b\n\n```\nc -->\nd\n", "a\nd\n"),
            ("a\n  <!-- b --> <!-- c -->\nd", "a\nd"),
            ("<!-->a", "a"),
            ("<!--->a --> b", "a --> b"),
            ("`<!-- a -->` <!-- b -->", "`<!-- a -->` "),
            ("~~~\n<!-- a -->\n~~~\n", "~~~\n<!-- a -->\n~~~\n"),
            ("x\n\n    <!-- a -->\n", "x\n\n    <!-- a -->\n"),
            ("a <!-- b `-->` c", "a ` c"),
            ("a <!-- never\n\nclosed", "a <!-- never\n\nclosed"),
            ("ä<!-- ö -->ü", "äü"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_comments(text), kept, "{text:?}");
        }
        assert_eq!(unclosed("a\n<!-- b -->\n<!-- c\n"), Some(3));
        assert_eq!(unclosed("`<!--`\n"), None);
    }
}
