//! The parts that can go of a text whose language is known, found in the tree of its parser.

use std::ops::{ControlFlow, Range};

use tenure::condense::code::{Elidable, Filler};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree, TreeCursor};

use super::Language;

/// Longer texts are no source code that somebody wrote; parsing takes some forty times the text.
const LONGEST: usize = 4 << 20;
/// The parser reports after each so many steps; it gives up after a report for each so many bytes,
/// and some more. It counts its steps, not the time, so that the answer is always the same.
const REPORTS: usize = 1_000;
const BYTES_FOR_REPORT: usize = 32;
/// A value that takes more lines than this is long.
const VALUE: usize = 8;
/// Least saving that is worth a remark.
const LEAST: usize = 48;
/// Depth below which nothing is of interest to anybody.
const DEEPEST: usize = 64;

/// The parts of a text by where they start; none of one that the parser gives up.
pub(super) fn parts(text: &str, language: Language) -> Vec<Elidable> {
    let Some(tree) = parse(text, language) else {
        return Vec::new();
    };
    let mut found = Finder {
        text,
        language,
        parts: Vec::new(),
    };
    found.walk(&mut tree.walk());
    let mut parts = found.parts;
    parts.sort_by_key(|part| (part.start, std::cmp::Reverse(part.end)));
    nested(parts)
}

/// The tree of a text, unless it is too long or its parser gives up.
pub(super) fn parse(text: &str, language: Language) -> Option<Tree> {
    if text.len() > LONGEST {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&language.grammar()).ok()?;
    let most = REPORTS + text.len() / BYTES_FOR_REPORT;
    let mut reports = 0;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > most {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(options),
    )
}

/// The parts that lie within each other or apart, and not too deep.
fn nested(mut parts: Vec<Elidable>) -> Vec<Elidable> {
    let mut open: Vec<u32> = Vec::new();
    parts.retain(|part| {
        while open.last().is_some_and(|end| *end <= part.start) {
            open.pop();
        }
        let within = open.last().is_none_or(|end| part.end <= *end);
        let stays = within && open.len() < DEEPEST;
        if stays {
            open.push(part.end);
        }
        stays
    });
    parts
}

/// Walks a tree and finds parts.
struct Finder<'t> {
    text: &'t str,
    language: Language,
    parts: Vec<Elidable>,
}

impl Finder<'_> {
    fn walk(&mut self, cursor: &mut TreeCursor<'_>) {
        // How many bodies are around, and where each of them ends.
        let mut bodies: Vec<usize> = Vec::new();
        // The comments that follow each other line by line.
        let mut run: Option<Range<usize>> = None;
        loop {
            let node = cursor.node();
            while bodies.last().is_some_and(|end| *end <= node.start_byte()) {
                bodies.pop();
            }
            let is_comment = node.is_extra() && node.kind().ends_with("comment");
            if is_comment && bodies.is_empty() {
                let range = self.trimmed(node.byte_range());
                match &mut run {
                    Some(run) if self.follows(run, range.start) => run.end = range.end,
                    _ => {
                        self.comment(run.replace(range));
                    }
                }
            } else if run.as_ref().is_some_and(|run| run.end <= node.start_byte()) {
                self.comment(run.take());
            }
            if let Some(body) = self.language.body(node) {
                // Deeper ones are dropped in the end; reading them all takes too long.
                if bodies.len() < DEEPEST
                    && let Some(range) = self.inside(body, node)
                {
                    self.part(range, self.name(node, body), self.language.filler());
                }
                bodies.push(body.end_byte());
            } else if bodies.is_empty() {
                self.value(node);
            }
            let deeper = !is_comment && cursor.goto_first_child();
            while !deeper && !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    self.comment(run);
                    return;
                }
            }
        }
    }

    /// Returns the part of a body that can go: without its delimiters, its doc string, and only where the parser knows
    /// where it ends.
    fn inside(&mut self, body: Node<'_>, of: Node<'_>) -> Option<Range<usize>> {
        if body.has_error() || body.is_missing() {
            return None;
        }
        if self.language == Language::Python {
            let mut range = self.trimmed(body.byte_range());
            if let Some(doc) = doc_string(body) {
                self.string_rest(doc);
                range.start = doc.next_named_sibling()?.start_byte();
            }
            return Some(range);
        }
        let range = body.byte_range();
        let text = &self.text[range.clone()];
        let enclosed = text.len() > 2 && text.starts_with('{') && text.ends_with('}');
        (enclosed && of.start_byte() <= range.start).then(|| range.start + 1..range.end - 1)
    }

    /// The rest of a long value, or of a doc string of a module or a class.
    fn value(&mut self, node: Node<'_>) {
        if self.language == Language::Python && matches!(node.kind(), "module" | "block") {
            if let Some(doc) = doc_string(node) {
                self.string_rest(doc);
            }
            return;
        }
        if self.language.is_value(node) && !node.has_error() {
            let range = node.byte_range();
            let text = &self.text[range.clone()];
            let ends = text.starts_with(['[', '{', '(']) && text.ends_with([']', '}', ')']);
            if ends && text.lines().count() > VALUE {
                let name = std::iter::successors(node.parent(), Node::parent)
                    .take(3)
                    .filter_map(|of| self.field_name(of))
                    .next();
                self.part(
                    range.start + 1..range.end - 1,
                    name.unwrap_or_default(),
                    Filler::Inside,
                );
            }
        }
    }

    /// All but the first line of a doc string.
    fn string_rest(&mut self, doc: Node<'_>) {
        let range = doc.byte_range();
        let text = &self.text[range.clone()];
        let quotes = ["\"\"\"", "'''"].into_iter();
        if let Some(quote) = quotes.into_iter().find(|quote| text.ends_with(quote)) {
            self.rest(range.start..range.end - quote.len());
        }
    }

    /// All but the first line of comments.
    fn comment(&mut self, run: Option<Range<usize>>) {
        let Some(mut run) = run else {
            return;
        };
        if self.text[run.clone()].ends_with("*/") {
            run.end -= 2;
        }
        self.rest(run);
    }

    /// All after the first line that says something.
    fn rest(&mut self, range: Range<usize>) {
        let text = &self.text[range.clone()];
        let Some(says) = text.find(char::is_alphanumeric) else {
            return;
        };
        let Some(line) = text[says..].find('\n') else {
            return;
        };
        let first = text[..says + line].trim_end().len();
        self.part(
            range.start + first..range.end,
            String::new(),
            Filler::Inside,
        );
    }

    /// Returns whether a comment that starts there goes on what other comments began.
    fn follows(&self, run: &Range<usize>, start: usize) -> bool {
        let next = self
            .text
            .get(run.end..start)
            .is_some_and(|text| text.trim().is_empty() && text.matches('\n').count() == 1);
        let is_block = |at: usize| self.text[at..].starts_with("/*");
        next && !is_block(run.start) && !is_block(start)
    }

    /// Without white space at its end.
    fn trimmed(&self, range: Range<usize>) -> Range<usize> {
        let length = self.text[range.clone()].trim_end().len();
        range.start..range.start + length
    }

    fn part(&mut self, range: Range<usize>, name: String, filler: Filler) {
        let text = &self.text[range.clone()];
        if text.len() < LEAST {
            return;
        }
        let lines = text
            .lines()
            .filter(|line| !line.trim_matches([' ', '\t', '\r', '*', '/', '!', '#']).is_empty());
        let (Ok(start), Ok(end)) = (range.start.try_into(), range.end.try_into()) else {
            return;
        };
        self.parts.push(Elidable {
            start,
            end,
            lines: (lines.count() as u32).max(1),
            name,
            filler,
        });
    }

    /// The name of what a body belongs to: its own, or that of what it is the value of, or what
    /// stands before it on its line.
    fn name(&self, of: Node<'_>, body: Node<'_>) -> String {
        self.field_name(of)
            .or_else(|| of.parent().and_then(|parent| self.field_name(parent)))
            .unwrap_or_else(|| {
                let before = &self.text[..body.start_byte()];
                let line = before.rfind('\n').map_or(0, |at| at + 1);
                excerpt(before[line..].trim())
            })
    }

    fn field_name(&self, node: Node<'_>) -> Option<String> {
        let named = ["name", "declarator", "key", "property", "left"]
            .into_iter()
            .filter_map(|field| node.child_by_field_name(field))
            .next()?;
        Some(excerpt(&self.text[named.byte_range()]))
    }
}

/// A name of a length that names have.
fn excerpt(name: &str) -> String {
    let line = name.lines().next().unwrap_or_default();
    line[..line.floor_char_boundary(80)].to_owned()
}

/// The statement that documents a block of Python.
fn doc_string(block: Node<'_>) -> Option<Node<'_>> {
    let first = block.named_child(0)?;
    let is_string = first.named_child(0).is_some_and(|child| child.kind() == "string");
    (first.kind() == "expression_statement" && first.named_child_count() == 1 && is_string)
        .then_some(first)
}
