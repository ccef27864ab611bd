//! Long documents as parts that compete by themselves: the one that answers goes in, and no room is spent on the rest.

use std::collections::BTreeSet;
use std::ops::Range;

use tenure::ObjectDocument;

use super::Sourced;

/// A document of no more bytes stays whole.
const WHOLE: usize = 3 << 10;
/// The most bytes of a part.
const MOST: usize = 2 << 10;
/// A line is cut above this.
const LONGEST_LINE: usize = 2 * MOST;

/// The documents of a file, the long ones as their parts: `name`, `name/part-2`, …
pub(crate) fn of(documents: Vec<Sourced>) -> Vec<Sourced> {
    let mut names: BTreeSet<String> =
        documents.iter().map(|sourced| sourced.document.name.clone()).collect();
    documents
        .into_iter()
        .flat_map(|sourced| parts_of(sourced, &mut names))
        .collect()
}

/// A document as its parts, each of which begins with the headings that the document begins with.
fn parts_of(sourced: Sourced, names: &mut BTreeSet<String>) -> Vec<Sourced> {
    let text = &sourced.document.content;
    if !sourced.is_named_by_file || text.len() <= WHOLE {
        return vec![sourced];
    }
    let head = head(text);
    let parts = group(text, blocks(text, head.end));
    if parts.is_empty() {
        return vec![sourced];
    }
    let mut number = 1;
    parts
        .into_iter()
        .enumerate()
        .map(|(at, part)| {
            let (name, begins) = match at {
                0 => (sourced.document.name.clone(), &text[..part.range.start]),
                _ => (
                    loop {
                        number += 1;
                        let name = format!("{}/part-{number}", sourced.document.name);
                        if names.insert(name.clone()) {
                            break name;
                        }
                    },
                    &text[head.clone()],
                ),
            };
            Sourced {
                document: ObjectDocument {
                    name,
                    content: format!("{begins}{}{}{}", part.opens, &text[part.range], part.closes)
                        .trim_end()
                        .to_owned(),
                    ..sourced.document.clone()
                },
                line: sourced.line,
                until: None,
                is_named_by_file: true,
            }
        })
        .collect()
}

/// A part of a text, with the lines that its block begins and ends with where it is cut out of its middle: the head of a
/// table, the fences of code.
struct Part<'t> {
    range: Range<usize>,
    opens: &'t str,
    closes: &'t str,
}

/// The headings at the beginning of a text, with the white space behind them; none where they are long.
fn head(text: &str) -> Range<usize> {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() && !line.starts_with('#') {
            break;
        }
        end += line.len();
    }
    if end > MOST / 2 { 0..0 } else { 0..end }
}

/// The blocks of a text from `start` on: runs of lines without a blank one; code between fences is one.
fn blocks(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let (mut from, mut at) = (None, start);
    let mut fence: Option<&str> = None;
    for line in text[start..].split_inclusive('\n') {
        let plain = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| plain.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if plain.is_empty() && fence.is_none() {
            blocks.extend(from.take().map(|from| from..at));
        } else {
            from.get_or_insert(at);
        }
        at += line.len();
    }
    blocks.extend(from.map(|from| from..text.len()));
    blocks
}

/// Puts blocks together as long as they fit into a part, and cuts those that do not.
fn group<'t>(text: &'t str, blocks: Vec<Range<usize>>) -> Vec<Part<'t>> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    let mut open: Option<Range<usize>> = None;
    let whole = |range| Part {
        range,
        opens: "",
        closes: "",
    };
    for block in blocks {
        match &mut open {
            Some(range) if block.end - range.start <= MOST => range.end = block.end,
            _ if block.len() <= MOST => parts.extend(open.replace(block).map(whole)),
            _ => {
                parts.extend(open.take().map(whole));
                cut(text, block, &mut parts);
            }
        }
    }
    parts.extend(open.map(whole));
    parts
}

/// Cuts a long block between its lines.
fn cut<'t>(text: &'t str, block: Range<usize>, parts: &mut Vec<Part<'t>>) {
    let (opens, closes) = ends(&text[block.clone()]);
    let (first, mut from) = (block.start, block.start);
    while from < block.end {
        let rest = &text[from..block.end];
        let length = length(rest, MOST.saturating_sub(opens.len()).max(MOST / 2));
        let until = from + length;
        parts.push(Part {
            range: from..until,
            opens: if from == first { "" } else { opens },
            closes: if until == block.end { "" } else { closes },
        });
        from = until;
    }
}

/// The lines that each part of a block begins and ends with: the names of a table's columns, the fences of code.
fn ends(block: &str) -> (&str, &str) {
    let mut lines = block.split_inclusive('\n');
    let (first, second) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let is_rule = second.contains("--") && second.trim().chars().all(|c| "|-:+ ".contains(c));
    if first.len() + second.len() > MOST / 2 {
        ("", "")
    } else if is_rule {
        (&block[..first.len() + second.len()], "")
    } else if first.starts_with("```") {
        (first, "```")
    } else if first.starts_with("~~~") {
        (first, "~~~")
    } else {
        ("", "")
    }
}

/// The length of the lines that fit. A line is cut only where no part could hold it: behind a sentence, else behind a word.
fn length(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    let window = &text[..text.floor_char_boundary(most)];
    let line = text.find('\n').map_or(text.len(), |at| at + 1);
    match window.rfind('\n') {
        Some(at) => at + 1,
        None if line <= LONGEST_LINE => line,
        None => window
            .rfind(". ")
            .or_else(|| window.rfind(' '))
            .map_or(window.len(), |at| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up(text: &str) -> Vec<(String, String)> {
        let mut whole = Sourced::new(ObjectDocument::named("doc", text), 1);
        whole.is_named_by_file = true;
        let parts = of(vec![whole]).into_iter().map(|part| part.document);
        parts.map(|part| (part.name, part.content)).collect()
    }

    #[test]
    fn a_long_section_is_parts_below_its_headings() {
        let paragraph = "The pump runs at five bar, and the valve opens at two. ".repeat(12);
        let text = format!("# Hall\n\n## Pumps\n\n{}", [&*paragraph; 6].join("\n\n"));
        let parts = cut_up(&text);
        let names: Vec<&str> = parts.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["doc", "doc/part-2"]);
        for (_, content) in &parts {
            assert!(content.starts_with("# Hall\n\n## Pumps\n\nThe pump") && content.len() < 2_300);
        }
        let short = "Short.\n\n".repeat(100);
        assert_eq!(cut_up(&short).len(), 1);
    }

    #[test]
    fn tables_and_code_keep_what_they_begin_with() {
        let rows: String = (0..200).map(|at| format!("| pump-{at} | {at} bar |\n")).collect();
        let parts = cut_up(&format!(
            "# Pumps\n\n| name | pressure |\n|---|---|\n{rows}"
        ));
        assert!(parts.len() > 1);
        for (_, content) in &parts {
            assert!(content.starts_with("# Pumps\n\n| name | pressure |\n|---|---|\n| pump-"));
            assert!(content.ends_with("bar |"));
        }
        let lines = "    let value = step(value);\n".repeat(200);
        let parts = cut_up(&format!("```rust\n{lines}```\n"));
        assert!(parts.len() > 1);
        for (_, content) in &parts {
            assert!(content.starts_with("```rust\n") && content.ends_with("```"));
        }
    }

    #[test]
    fn names_that_a_file_has_are_not_given_again() {
        let text = "The pump runs at five bar.\n\n".repeat(200);
        let of_name = |name: &str| {
            let mut sourced = Sourced::new(ObjectDocument::named(name, &*text), 1);
            sourced.is_named_by_file = true;
            sourced
        };
        let parts = of(vec![of_name("log"), of_name("log/part-2")]);
        let names: BTreeSet<String> = parts.iter().map(|part| part.document.name.clone()).collect();
        assert_eq!(names.len(), parts.len());
    }

    proptest::proptest! {
        #[test]
        fn all_of_a_text_stands_in_its_parts(
            pieces in proptest::collection::vec((0..PIECES.len(), 1..300usize), 1..8),
        ) {
            let text: String = pieces.iter().map(|(at, times)| PIECES[*at].repeat(*times)).collect();
            let parts = cut_up(&text);
            let all: String = parts.iter().map(|(_, content)| &**content).collect();
            let words = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
            proptest::prop_assert!(words(&all) >= words(&text));
            for (_, content) in parts {
                proptest::prop_assert!(content.len() <= LONGEST_LINE + 2 * MOST, "{}", content.len());
            }
        }
    }

    const PIECES: [&str; 9] = [
        "A line of prose that goes on for a while, and ends.\n",
        "\n",
        "| a | b |\n|---|---|\n",
        "| 1 | 2 |\n",
        "```\n",
        "# Heading\n",
        "- an item\n",
        "日本語の文章です。",
        "word ",
    ];
}
