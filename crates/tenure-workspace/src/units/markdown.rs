//! Markdown as its units: what CommonMark says is a heading, a paragraph, an item, a block of code, and GitHub's tables.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use tenure::package::UnitKind;

use super::{Cutter, Fineness};

/// A heading whose words are being read.
struct Open {
    range: Range<usize>,
    level: u8,
    words: String,
}

/// Cuts what begins at `start`.
pub(super) fn cut(cutter: &mut Cutter<'_>, start: usize, fineness: Fineness) {
    let text = cutter.text;
    let body = &text[start..];
    let mut heading: Option<Open> = None;
    // The sections that are open: their place and their level.
    let mut sections: Vec<(u32, u8)> = Vec::new();
    // The items and tables that are open; `None` where there were too many.
    let mut blocks: Vec<u32> = Vec::new();
    let mut depth = 0_usize;
    let is_all = fineness == Fineness::All;
    for (event, range) in Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter() {
        let range = range.start + start..range.end + start;
        match event {
            Event::Start(tag) => {
                let around =
                    blocks.last().copied().or(sections.last().map(|(at, _)| *at)).unwrap_or(0);
                match &tag {
                    Tag::Heading { level, .. } if depth == 0 => {
                        // A carriage return alone ends a line, too, says CommonMark.
                        let line = text[start..range.start].rfind(['\n', '\r']);
                        let from = line.map_or(start, |at| start + at + 1);
                        heading = Some(Open {
                            range: from..range.end,
                            level: rank(*level),
                            words: String::new(),
                        });
                    }
                    Tag::Paragraph if is_all => {
                        leaf(cutter, UnitKind::Paragraph, around, "", &range);
                    }
                    Tag::CodeBlock(kind) if is_all => {
                        let named = match kind {
                            CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next(),
                            CodeBlockKind::Indented => None,
                        };
                        let language = named.unwrap_or_default().to_lowercase();
                        leaf(cutter, UnitKind::CodeBlock, around, &language, &range);
                    }
                    Tag::Item if is_all => {
                        blocks.push(leaf(cutter, UnitKind::ListItem, around, "", &range));
                    }
                    Tag::Table(_) if is_all => {
                        blocks.push(leaf(cutter, UnitKind::Table, around, "", &range));
                    }
                    Tag::TableHead | Tag::TableRow if is_all => {
                        leaf(cutter, UnitKind::TableRow, around, "", &range);
                    }
                    _ => {}
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                match tag {
                    TagEnd::Item | TagEnd::Table if is_all => {
                        blocks.pop();
                    }
                    TagEnd::Heading(_) if depth == 0 => {
                        if let Some(open) = heading.take() {
                            section(cutter, &mut sections, open);
                        }
                    }
                    _ => {}
                }
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(open) = &mut heading {
                    open.words.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(open) = &mut heading {
                    open.words.push(' ');
                }
            }
            _ => {}
        }
    }
    close(cutter, &mut sections, 0, text.len());
}

fn rank(level: HeadingLevel) -> u8 {
    level as u8
}

/// Adds a unit with the bytes of its first character to its last.
fn leaf(
    cutter: &mut Cutter<'_>,
    kind: UnitKind,
    around: u32,
    language: &str,
    range: &Range<usize>,
) -> u32 {
    let text = &cutter.text[range.clone()];
    let rest = if kind == UnitKind::CodeBlock {
        text.trim_start_matches(['\n', '\r'])
    } else {
        text.trim_start()
    };
    let blank = text.len() - rest.len();
    let bytes = cutter.trimmed(range.start + blank, range.end);
    cutter.push(kind, Some(around), String::new(), 0, language, bytes)
}

/// Opens a section, behind the end of those that are not above it.
fn section(cutter: &mut Cutter<'_>, sections: &mut Vec<(u32, u8)>, open: Open) {
    close(cutter, sections, open.level, open.range.start);
    let parent = sections.last().map_or(0, |(at, _)| *at);
    let bytes = open.range.start as u64..open.range.end as u64;
    let name = open.words.trim().to_owned();
    let before = cutter.units.len();
    let at = cutter.push(UnitKind::Section, Some(parent), name, open.level, "", bytes);
    if cutter.units.len() > before {
        sections.push((at, open.level));
    }
}

/// Ends the sections of this level and below there.
fn close(cutter: &mut Cutter<'_>, sections: &mut Vec<(u32, u8)>, level: u8, end: usize) {
    while let Some((at, _)) = sections.pop_if(|(_, open)| *open >= level) {
        let at = at as usize;
        let Some(start) = cutter.units.get(at).map(|unit| unit.bytes.start as usize) else {
            continue;
        };
        let bytes = cutter.trimmed(start, end);
        let lines = cutter.lines.span(&bytes);
        if let Some(unit) = cutter.units.get_mut(at) {
            (unit.bytes, unit.lines) = (bytes, lines);
        }
    }
}
