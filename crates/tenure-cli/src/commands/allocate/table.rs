//! The answer for people: the shares, what a token is worth, other budgets, and a plot of them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Deref;

use tenure::allocate::Certificate;
use tenure::{Error, ErrorKind};
use tenure_workspace::allocate::{Row, Shares, Study};

use crate::failure::cell;
use crate::plot::{self, COLUMNS, FILLS, Series, clip, gauge};
use crate::report::{BOLD, DIM, LISTED, shadow_price, worth};

/// The longest name in the table of shares, and in the one of other budgets.
const NAME: usize = 16;
const SHORT_NAME: usize = 9;
/// The longest bar next to a share, and the shortest that is still useful.
const BAR: usize = 24;
const SHORTEST_BAR: usize = 6;
const BAR_HEADER: &str = "█ given ░ not";
/// The most rows of the plot: with its title and legend it has 16 lines.
const ROWS: usize = 12;

/// A budget with its shares, or why it has none.
type Answer<'s> = (u32, Result<&'s Shares, &'s Error>);

/// A study as a table.
pub(super) struct Table<'s>(pub(super) &'s Study);

impl Deref for Table<'_> {
    type Target = Study;

    fn deref(&self) -> &Study {
        self.0
    }
}

impl Table<'_> {
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.put_shares(&mut out);
        self.put_reading(&mut out);
        let answers = self.answers();
        let ranked = self.ranked(&answers);
        self.put_answers(&mut out, &answers, &ranked);
        self.put_plot(&mut out, &answers, &ranked);
        out.truncate(out.trim_end_matches('\n').len() + 1);
        out
    }

    /// The share of each section, with a bar of what it asked for.
    fn put_shares(&self, out: &mut String) {
        let rows = &self.shares.rows;
        if rows.is_empty() {
            return;
        }
        let costly = rows.iter().any(|row| row.cost > 0.0);
        let mut header = vec!["SECTION", "MIN", "MAX", "DEMAND"];
        header.extend(costly.then_some("COST"));
        header.push("ALLOCATED");
        if self.shares.mandatory.is_some() {
            header.extend(["USED", "FLOW-BACK"]);
        }
        header.push("MARGINAL");
        let listed = &rows[..rows.len().min(LISTED)];
        let cells = |row: &Row| {
            let mut cells = vec![short(&row.section, NAME), count(row.min)];
            cells.push(match row.max {
                0 => "–".to_owned(),
                max => count(max),
            });
            cells.push(count(row.demand));
            cells.extend(costly.then(|| plain(row.cost)));
            cells.push(count(row.allocated));
            cells.extend([row.used, row.flow_back].into_iter().flatten().map(count));
            cells.push(if row.allocated >= row.cap() {
                "full".to_owned()
            } else {
                worth(row.marginal)
            });
            cells
        };
        let cells: Vec<_> = listed.iter().map(cells).collect();
        let mut lines = lay_out(&header, &cells, true, 2);
        if width(&lines) > COLUMNS {
            lines = lay_out(&header, &cells, true, 1);
        }
        let width = width(&lines);
        let room = COLUMNS.saturating_sub(width + 2).min(BAR);
        let largest = listed.iter().map(|row| row.demand).max().unwrap_or(0);
        if room >= SHORTEST_BAR && largest > 0 {
            if room >= BAR_HEADER.chars().count() {
                let _ = write!(lines[0], "  {BAR_HEADER}");
            }
            for (line, row) in lines.iter_mut().skip(1).zip(listed) {
                let missing = row.demand.saturating_sub(row.allocated);
                let bar = gauge(row.allocated, missing, largest, room);
                let _ = write!(line, "  {DIM}{bar}{DIM:#}");
            }
        }
        put(out, &lines);
        if rows.len() > LISTED {
            let more = rows.len() - LISTED;
            let _ = writeln!(out, "… and {more} more; `--format json` lists all");
        }
        out.push('\n');
    }

    /// Writes how the budget adds up, the worth of a token, and why no other allocation is worth more.
    fn put_reading(&self, out: &mut String) {
        let shares = &self.shares;
        let must = shares
            .mandatory
            .map_or_else(String::new, |tokens| format!("{tokens} must go in, "));
        let _ = writeln!(
            out,
            "budget {}: {must}{} allocated, {} unspent",
            shares.budget,
            shares.allocated(),
            shares.certificate.unspent
        );
        if shares.rows.is_empty() {
            let _ = writeln!(
                out,
                "nothing is shared: there is nothing that may be left out\n"
            );
            return;
        }
        let least = |row: &Row| u64::from(row.min.min(row.cap()));
        let least: u64 = shares.rows.iter().map(least).sum();
        let room = u64::from(shares.budget - shares.mandatory.unwrap_or(0));
        if let Some(over @ 1..) = least.checked_sub(room) {
            let _ = writeln!(
                out,
                "the minimums exceed what there is by {over} tokens; they are granted in order"
            );
        }
        if self.sensitivity > 0.0 {
            let none = if shares.rows.iter().any(|row| row.cost > 0.0) {
                ""
            } else {
                ", but no section has a cost"
            };
            let taken = plain(self.sensitivity);
            let _ = writeln!(
                out,
                "a cost of 1 takes {taken} from the worth of a token{none}"
            );
        }
        let _ = writeln!(out, "{}", shadow_price(shares.lambda, self.whose));
        let _ = writeln!(out, "{}\n", proof(&shares.certificate));
    }

    /// The other budgets in order, with this one among them.
    fn answers(&self) -> Vec<Answer<'_>> {
        let mut answers: Vec<Answer<'_>> =
            self.what_if.iter().map(|row| (row.budget, row.shares.as_ref())).collect();
        let own = self.shares.budget;
        if let Err(at) = answers.binary_search_by_key(&own, |answer| answer.0) {
            answers.insert(at, (own, Ok(&self.shares)));
        }
        answers
    }

    /// The sections with a demand, those with most tokens first: in the largest budget that has
    /// shares, where the most sections have some.
    fn ranked<'s>(&'s self, answers: &[Answer<'s>]) -> Vec<&'s str> {
        let mut shared = answers.iter().filter_map(|(_, shares)| shares.ok());
        let largest = shared.next_back().unwrap_or(&self.shares);
        let rows = largest.rows.iter().filter(|row| row.demand > 0);
        let mut ranked: Vec<&Row> = rows.collect();
        ranked.sort_by_key(|row| std::cmp::Reverse(row.allocated));
        ranked.iter().map(|row| row.section.as_str()).collect()
    }

    /// The first of the ranked sections, in the order in which they stand.
    fn shown(&self, first: &[&str]) -> Vec<&str> {
        let rows = self.shares.rows.iter().map(|row| row.section.as_str());
        rows.filter(|section| first.contains(section)).collect()
    }

    fn label(&self, budget: u32) -> String {
        let mark = if budget == self.shares.budget {
            "▸ "
        } else {
            ""
        };
        format!("{mark}{budget}")
    }

    /// One row for each budget, with as many sections as there is room for.
    fn put_answers(&self, out: &mut String, answers: &[Answer<'_>], ranked: &[&str]) {
        let table = |sections: &[&str]| {
            let more = ranked.len() - sections.len();
            let mut header = vec!["BUDGET".to_owned(), "ALLOCATED".to_owned()];
            header.push("ONE MORE".to_owned());
            header.extend(sections.iter().map(|section| short(section, SHORT_NAME)));
            header.extend((more > 0).then(|| format!("{more} more")));
            let cells = |(budget, shares): &Answer<'_>| {
                let mut cells = vec![self.label(*budget)];
                let Ok(shares) = shares else {
                    return cells;
                };
                let tokens: Vec<u32> = sections.iter().map(|one| shares.of(one)).collect();
                let rest = shares.allocated() - tokens.iter().sum::<u32>();
                cells.push(count(shares.allocated()));
                cells.push(if shares.lambda > 0.0 {
                    worth(shares.lambda)
                } else {
                    "–".to_owned()
                });
                cells.extend(tokens.into_iter().map(count));
                cells.extend((more > 0).then(|| count(rest)));
                cells
            };
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let cells: Vec<_> = answers.iter().map(cells).collect();
            lay_out(&header, &cells, false, 2)
        };
        // At most ten columns of the least width fit next to the first three.
        let most = ranked.len().min(10);
        let mut lines = (0..=most)
            .rev()
            .map(|n| table(&self.shown(&ranked[..n])))
            .into_iter()
            .find(|lines| width(lines) <= COLUMNS)
            .unwrap_or_default();
        for (line, (_, shares)) in lines.iter_mut().skip(1).zip(answers) {
            if let Err(error) = shares {
                let why = match error.kind {
                    ErrorKind::Budget => cell(&error.what),
                    _ => "the model's window has no room for it".to_owned(),
                };
                let room = COLUMNS.saturating_sub(line.chars().count() + 2);
                let _ = write!(line, "  {}", clip(&why, room));
            }
        }
        put(out, &lines);
        out.push('\n');
    }

    /// Plots how the shares grow with the budget.
    fn put_plot(&self, out: &mut String, answers: &[Answer<'_>], ranked: &[&str]) {
        if ranked.is_empty() {
            return;
        }
        let sections = self.shown(&ranked[..ranked.len().min(FILLS.len())]);
        let more = ranked.len() - sections.len();
        let named = |name: &str, fill: char| Series {
            name: short(name, NAME),
            fill,
        };
        let mut series = vec![named("must go in", '/')];
        series.extend(sections.iter().zip(FILLS).map(|(one, fill)| named(one, fill)));
        series.push(named(&format!("{more} more"), '+'));
        series.push(named("unspent", '·'));
        let parts = |shares: &Shares| {
            let tokens: Vec<u32> = sections.iter().map(|one| shares.of(one)).collect();
            let rest = shares.allocated() - tokens.iter().sum::<u32>();
            let first = [shares.mandatory.unwrap_or(0)];
            let last = [rest, shares.certificate.unspent];
            first.into_iter().chain(tokens).chain(last).collect()
        };
        let row = |(budget, shares): &Answer<'_>| plot::Row {
            label: self.label(*budget),
            parts: match shares {
                Ok(shares) => Ok(parts(shares)),
                Err(_) => Err("does not fit".to_owned()),
            },
        };
        let own = answers.iter().position(|(budget, _)| *budget == self.shares.budget);
        let picked = spread(answers.len(), own.unwrap_or(0));
        let rows: Vec<plot::Row> = picked.into_iter().map(|at| row(&answers[at])).collect();
        let _ = writeln!(out, "{BOLD}SHARES OF EACH BUDGET{BOLD:#}");
        out.push_str(&plot::stacked(&series, &rows, COLUMNS));
    }
}

/// The proof that no other allocation is worth more.
fn proof(certificate: &Certificate) -> String {
    if !certificate.holds() {
        return "not proven to be optimal".to_owned();
    }
    match (certificate.least_given, certificate.lambda) {
        (_, None) => "optimal: every section has all that it may have".to_owned(),
        (None, Some(best)) => format!(
            "optimal: minimums alone are given, the best token left out is worth {}",
            worth(best)
        ),
        (Some(least), Some(best)) => format!(
            "optimal: the least token given is worth {}, the best left out {}",
            worth(least),
            worth(best)
        ),
    }
}

/// At most [`ROWS`] of `places` places, evenly spread, with one that must be among them.
fn spread(places: usize, own: usize) -> BTreeSet<usize> {
    if places <= ROWS {
        return (0..places).collect();
    }
    let steps = ROWS - 2;
    (0..=steps).map(|step| step * (places - 1) / steps).chain([own]).collect()
}

/// Cells in columns as wide as the widest of them, the first from the left or all from the right. A
/// row that ends early is filled up.
fn lay_out(header: &[&str], rows: &[Vec<String>], names: bool, gap: usize) -> Vec<String> {
    let chars = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = header.iter().map(|name| chars(name)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(chars(cell));
        }
    }
    let gap = " ".repeat(gap);
    let line = |cells: &[&str]| {
        let aligned = cells.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if names && at == 0 {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            }
        });
        aligned.collect::<Vec<_>>().join(&gap)
    };
    let body = rows.iter().map(|row| {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        line(&cells)
    });
    std::iter::once(line(header)).chain(body).collect()
}

/// A name in at most `width` characters. What is too long loses its middle: names that begin alike
/// often end differently.
fn short(name: &str, width: usize) -> String {
    let name: Vec<char> = cell(name).chars().collect();
    if name.len() <= width {
        return name.into_iter().collect();
    }
    let head = width / 2;
    let tail = name.len() - (width - head - 1);
    let (head, tail) = (&name[..head], &name[tail..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// The width of a table.
fn width(lines: &[String]) -> usize {
    lines.first().map_or(0, |line| line.chars().count())
}

/// Writes a table: the first line is its header.
fn put(out: &mut String, lines: &[String]) {
    for (at, line) in lines.iter().enumerate() {
        let _ = match at {
            0 => writeln!(out, "{BOLD}{line}{BOLD:#}"),
            _ => writeln!(out, "{line}"),
        };
    }
}

/// A number of tokens in at most seven characters.
fn count(tokens: u32) -> String {
    match tokens {
        0..10_000_000 => tokens.to_string(),
        _ => format!("{:.1}M", f64::from(tokens) / 1e6),
    }
}

/// A number in few characters.
fn plain(number: f64) -> String {
    if number != 0.0 && !(1e-4..1e5).contains(&number) {
        return format!("{number:.1e}");
    }
    let digits = format!("{number:.4}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let counts = [0, 9_999_999, 10_000_000, u32::MAX].map(count);
        assert_eq!(counts, ["0", "9999999", "10.0M", "4295.0M"]);
        let numbers = [0.0, 1.0, 0.25, 1e-9, 3.5e200].map(plain);
        assert_eq!(numbers, ["0", "1", "0.25", "1.0e-9", "3.5e200"]);
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(short("evidence", 9), "evidence");
        assert_eq!(short("claim number 17", 9), "clai…r 17");
        assert_eq!(short("a\u{1b}\nb", 16), "a\\u{1b}\\nb");
    }

    #[test]
    fn many_rows_are_thinned_and_ours_stays() {
        assert_eq!(spread(5, 2).len(), 5);
        let rows = spread(1_000, 777);
        assert!(rows.len() <= ROWS && rows.contains(&777) && rows.contains(&999));
    }

    #[test]
    fn columns_are_aligned() {
        let rows = vec![
            vec!["a".to_owned(), "100".to_owned()],
            vec!["bcd".to_owned()],
        ];
        assert_eq!(
            lay_out(&["X", "N"], &rows, true, 2),
            ["X      N", "a    100", "bcd"]
        );
    }
}
