//! Line numbers that a tool prints before each line of a file: `cat -n`, `nl`, `grep -n` on one file, the
//! readers of coding agents. They belong to the print and not to the file, and would match numbers of a task.
//!
//! ```text
//!      1→//! Pumps.        12: text        12 | text
//!      2→                  12:text         L12: text
//! ```

/// A text without the numbers of its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bare {
    /// The lines of the file.
    pub(crate) text: String,
    /// The number of the first line.
    pub(crate) first: u32,
    /// The number of the last line.
    pub(crate) last: u32,
}

/// The mark between a number and its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Arrow,
    Tab,
    Bar,
    /// A colon, or a hyphen for the lines around a match.
    Colon,
}

/// A line after its number.
#[derive(Clone, Copy)]
struct Line<'t> {
    mark: Mark,
    number: u32,
    rest: &'t str,
}

/// The most digits of a line's number.
const DIGITS: usize = 7;
/// So many lines may stand around the numbered ones: what a tool says of the file.
const AROUND: usize = 6;

/// The text without line numbers; none where it has none.
pub(crate) fn strip(text: &str) -> Option<Bare> {
    let lines: Vec<(&str, Option<Line<'_>>)> =
        text.lines().map(|line| (line, numbered(line))).collect();
    let mark = lines.iter().find_map(|(_, found)| *found)?.mark;
    let of_mark = |found: &Option<Line<'_>>| found.is_some_and(|line| line.mark == mark);
    let from = lines.iter().position(|(_, found)| of_mark(found))?;
    let until = lines.iter().rposition(|(_, found)| of_mark(found))? + 1;
    let numbered: Vec<Line<'_>> = lines[from..until]
        .iter()
        .filter_map(|(_, found)| found.filter(|line| line.mark == mark))
        .collect();
    let others = lines.iter().filter(|(line, _)| !line.trim().is_empty()).count() - numbered.len();
    let few = others * 4 <= numbered.len() || (others <= AROUND && others <= numbered.len());
    if !few || !is_gutter(mark, &numbered, &lines[from..until]) {
        return None;
    }
    // Where a space belongs to the gutter it stands on every line.
    let is_spaced = matches!(mark, Mark::Bar | Mark::Colon)
        && numbered.iter().all(|line| line.rest.is_empty() || line.rest.starts_with(' '));
    let mut bare = String::with_capacity(text.len());
    for (line, found) in &lines[from..until] {
        let whole = found.filter(|line| line.mark == mark).map_or(*line, |line| line.rest);
        let rest = whole.strip_prefix(' ').filter(|_| is_spaced).unwrap_or(whole);
        bare.push_str(rest);
        bare.push('\n');
    }
    Some(Bare {
        text: bare,
        first: numbered.first()?.number,
        last: numbered.last()?.number,
    })
}

/// Returns whether numbers that stand so are those of lines, and no column of data.
fn is_gutter(mark: Mark, numbered: &[Line<'_>], lines: &[(&str, Option<Line<'_>>)]) -> bool {
    let rises = numbered.windows(2).all(|pair| pair[0].number < pair[1].number);
    let by_one = numbered
        .windows(2)
        .all(|pair| pair[0].number.checked_add(1) == Some(pair[1].number));
    let padded = lines.first().is_some_and(|(line, _)| line.starts_with(' '));
    match mark {
        Mark::Arrow => rises,
        // Rows of a table have as many cells each.
        Mark::Tab => {
            let cells = |line: &Line<'_>| line.rest.trim_start_matches('\t').matches('\t').count();
            let first = numbered.first().map_or(0, cells);
            let is_table = first > 0 && numbered.iter().all(|line| cells(line) == first);
            by_one && (padded || (numbered.len() > 1 && !is_table))
        }
        Mark::Bar => by_one && numbered.len() > 1,
        // `12:30` is an instant.
        Mark::Colon => {
            let instants = numbered
                .iter()
                .filter(|line| line.rest.starts_with(|c: char| c.is_ascii_digit()))
                .count();
            rises && numbered.len() > 2 && instants * 2 < numbered.len()
        }
    }
}

fn numbered(line: &str) -> Option<Line<'_>> {
    let plain = line.trim_start_matches(' ');
    let text = plain.strip_prefix('L').unwrap_or(plain);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits > DIGITS {
        return None;
    }
    let number = text[..digits].parse().ok()?;
    let after = &text[digits..];
    let spaced = after.trim_start_matches(' ');
    let (mark, rest) = if let Some(rest) = after.strip_prefix('→') {
        (Mark::Arrow, rest)
    } else if let Some(rest) = after.strip_prefix('\t') {
        (Mark::Tab, rest)
    } else if let Some(rest) = spaced.strip_prefix('|').or(spaced.strip_prefix('│')) {
        (Mark::Bar, rest)
    } else if let Some(rest) = after.strip_prefix(':').or(after.strip_prefix('-')) {
        (Mark::Colon, rest)
    } else {
        return None;
    };
    Some(Line { mark, number, rest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "//! Pumps.\n\npub fn start() {\n    run(12);\n}\n";

    fn printed(form: impl Fn(usize, &str) -> String) -> String {
        FILE.lines()
            .enumerate()
            .map(|(at, line)| form(at + 9, line) + "\n")
            .collect::<String>()
    }

    #[test]
    fn every_tool_s_numbers_go() {
        for text in [
            printed(|at, line| format!("{at:6}→{line}")),
            printed(|at, line| format!("{at:6}\t{line}")),
            printed(|at, line| format!("{at}\t{line}")),
            printed(|at, line| format!("{at}: {line}")),
            printed(|at, line| format!("{at}:{line}")),
            printed(|at, line| format!("{at} | {line}")),
            printed(|at, line| format!("{at:05}| {line}")),
            printed(|at, line| format!("L{at}: {line}")),
        ] {
            let bare = strip(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((bare.text.as_str(), bare.first, bare.last), (FILE, 9, 13));
            let wrapped = format!("<file>\n{text}(End of file - total 13 lines)\n</file>\n");
            assert_eq!(strip(&wrapped).unwrap().text, FILE, "{wrapped}");
        }
    }

    #[test]
    fn data_keeps_its_numbers() {
        for text in [
            "12:00 start\n13:00 lunch\n14:00 end\n",
            "1\tada\tparis\n2\tgrace\tnew york\n3\tedsger\taustin\n",
            "id\tname\n1\tada\n",
            "1: one\n",
            "3: c\n2: b\n1: a\n",
            "12345678: too long\n12345679: for a line\n12345680: number\n",
            "We had 12 pumps.\nThen 13.\n",
            "",
        ] {
            assert_eq!(strip(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_but_numbers_goes(lines in prop::collection::vec("[a-z(){};é漢 ]{0,20}", 3..30), first in 1usize..999_000) {
            let text: String = lines.iter().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + first)).collect();
            let bare = strip(&text).unwrap();
            let expected: Vec<&str> = lines.iter().map(String::as_str).collect();
            prop_assert_eq!(bare.text.lines().collect::<Vec<_>>(), expected);
            prop_assert_eq!(bare.last as usize, first + lines.len() - 1);
        }

        #[test]
        fn any_text_is_read(text in "[ L0-9→\t|:\n漢a-]{0,80}") {
            let _ = strip(&text);
        }
    }
}
