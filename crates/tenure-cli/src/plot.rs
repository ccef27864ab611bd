//! Plots in the terminal, of block characters alone: they say the same without colour and in a file.
//!
//! Bars are scaled with whole numbers, by their edges: the parts of a row are together as long as the
//! row, and rows of the same scale can be compared by eye.

use std::fmt::Write;

/// The width of a plot, in characters.
pub(crate) const COLUMNS: usize = 80;

/// The characters of a stack's series, in an order in which neighbours differ.
pub(crate) const FILLS: [char; 5] = ['█', '░', '▓', '▚', '▒'];

/// The meaning of one part of each row.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) fill: char,
}

/// One row of stacked parts, or a note in its place.
pub(crate) struct Row {
    pub(crate) label: String,
    pub(crate) parts: Result<Vec<u32>, String>,
}

/// Rows of stacked parts, all to one scale, with a legend of what occurs.
pub(crate) fn stacked(series: &[Series], rows: &[Row], columns: usize) -> String {
    let label = |row: &Row| row.label.chars().count();
    let width = rows.iter().map(label).max().unwrap_or(0);
    let room = columns.saturating_sub(width + 1);
    let drawn = || rows.iter().filter_map(|row| row.parts.as_deref().ok());
    let whole = drawn()
        .map(|parts| parts.iter().map(|part| u64::from(*part)).sum::<u64>())
        .max()
        .unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let bar = match &row.parts {
            Ok(parts) => stack(series, parts, whole, room),
            Err(note) => clip(note, room),
        };
        let line = format!("{:>width$} {bar}", row.label);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let occurs = |at: usize| drawn().any(|parts| parts.get(at).is_some_and(|part| *part > 0));
    let mut line = " ".repeat(width);
    for (_, series) in series.iter().enumerate().filter(|(at, _)| occurs(*at)) {
        let entry = format!("{} {}", series.fill, series.name);
        let entry = clip(&entry, room);
        if line.chars().count() + 2 + entry.chars().count() > columns {
            let _ = writeln!(out, "{line}");
            line = " ".repeat(width);
        }
        let gap = if line.trim().is_empty() { " " } else { "  " };
        line.push_str(gap);
        line.push_str(&entry);
    }
    if !line.trim().is_empty() {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The parts one behind the other, of `width` characters for `whole`.
fn stack(series: &[Series], parts: &[u32], whole: u64, width: usize) -> String {
    let mut bar = String::new();
    let (mut sum, mut drawn) = (0, 0);
    for (series, part) in series.iter().zip(parts) {
        sum += u64::from(*part);
        let edge = scaled(sum, whole, width);
        bar.extend(std::iter::repeat_n(series.fill, edge - drawn));
        drawn = edge;
    }
    bar
}

/// A bar of what there is and what is missing of it, where `whole` is as long as `width`. What is
/// more than nothing is seen.
pub(crate) fn gauge(there: u32, missing: u32, whole: u32, width: usize) -> String {
    let length = |part: u32| match part {
        0 => 0,
        part => scaled(part.into(), whole.into(), width).max(1),
    };
    let total = length(there.saturating_add(missing)).min(width);
    let least = usize::from(there > 0);
    let most = total.saturating_sub(usize::from(missing > 0)).max(least);
    let filled = length(there).clamp(least, most);
    let rest = total.saturating_sub(filled);
    format!("{}{}", "█".repeat(filled), "░".repeat(rest))
}

/// `part` of `whole`, rounded to characters of `width`.
fn scaled(part: u64, whole: u64, width: usize) -> usize {
    let (part, whole, width) = (u128::from(part), u128::from(whole), width as u128);
    match whole {
        0 => 0,
        _ => ((2 * part * width + whole) / (2 * whole)) as usize,
    }
}

/// At most `width` characters of a text.
pub(crate) fn clip(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(std::iter::once('…')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(names: &[&str]) -> Vec<Series> {
        names
            .iter()
            .zip(FILLS)
            .map(|(name, fill)| Series {
                name: (*name).to_owned(),
                fill,
            })
            .collect()
    }

    fn row(label: &str, parts: &[u32]) -> Row {
        Row {
            label: label.to_owned(),
            parts: Ok(parts.to_vec()),
        }
    }

    #[test]
    fn rows_are_to_one_scale_and_the_legend_names_what_occurs() {
        let refused = Row {
            label: "5".to_owned(),
            parts: Err("10 tokens must go in".to_owned()),
        };
        let rows = [refused, row("15", &[5, 0, 10]), row("30", &[5, 0, 25])];
        assert_eq!(
            stacked(&series(&["history", "memory", "evidence"]), &rows, 33),
            concat!(
                " 5 10 tokens must go in\n",
                "15 █████▓▓▓▓▓▓▓▓▓▓\n",
                "30 █████▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n",
                "   █ history  ▓ evidence\n",
            )
        );
    }

    #[test]
    fn parts_are_together_as_long_as_their_row() {
        let thirds = [row("a", &[1, 1, 1]), row("b", &[1, 1, 0])];
        assert_eq!(
            stacked(&series(&["x", "y", "z"]), &thirds, 12),
            "a ███░░░░▓▓▓\nb ███░░░░\n  █ x  ░ y\n  ▓ z\n"
        );
        let huge = [row("", &[u32::MAX, u32::MAX])];
        assert_eq!(
            stacked(&series(&["x", "y"]), &huge, 9),
            " ████░░░░\n █ x  ░ y\n"
        );
        assert_eq!(stacked(&series(&["x"]), &[row("0", &[0])], 9), "0\n");
        assert_eq!(stacked(&[], &[], 9), "");
    }

    #[test]
    fn a_gauge_shows_the_least_of_both() {
        let check = |there, missing, expected: &str| {
            assert_eq!(
                gauge(there, missing, 100, 10),
                expected,
                "{there} {missing}"
            );
        };
        check(0, 0, "");
        check(100, 0, "██████████");
        check(50, 50, "█████░░░░░");
        check(99, 1, "█████████░");
        check(1, 99, "█░░░░░░░░░");
        check(0, 1, "░");
        check(1, 1, "█");
        assert_eq!(gauge(7, 0, 0, 10), "█");
    }

    #[test]
    fn what_is_clipped_says_so() {
        assert_eq!(clip("evidence", 8), "evidence");
        assert_eq!(clip("evidence", 5), "evid…");
    }
}
