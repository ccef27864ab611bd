//! The verdicts as lists. A compile shows what went in and a summary of the rest, an explanation all of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal as _;

use anstyle::Style;
use tenure::num::Score;
use tenure::trace::{Condensed, Factor, Reason};
use tenure::{Ruling, Trace, Unfetched, Verdict};
use tenure_workspace::{HIDDEN, NO_FORMAT};

use super::{BOLD, DIM, GREEN, LISTED, RED, YELLOW};
use crate::failure::printable;

/// The most that is listed one by one where a summary says as much.
const FEW: usize = 10;
/// The names in a line of a summary.
const NAMED: usize = 3;

/// A verdict and the candidate's number.
type Row<'t> = (usize, &'t Verdict);

/// Writes what went in, and a summary by reason of what did not.
pub(super) fn summaries(text: &mut String, trace: &Trace) {
    list(text, trace, Ruling::Included, false);
    for ruling in [Ruling::Omitted, Ruling::Denied] {
        let rows = rows(trace, ruling);
        if rows.len() <= FEW {
            list(text, trace, ruling, false);
            continue;
        }
        let (title, mark, style) = look(ruling);
        heading(text, title, rows.len());
        let named = rows.iter().map(|(_, verdict)| {
            let reason = &verdict.reason;
            (
                reason.code().to_owned(),
                (reason.sentence(), &*verdict.name),
            )
        });
        for line in by_reason(named) {
            let _ = writeln!(text, "{style}{mark}{style:#} {}", cut(&line));
        }
        text.push('\n');
    }
    let left = &trace.unfetched;
    if left.len() <= FEW {
        unread(text, trace);
        return;
    }
    heading(text, "NOT READ", left.len());
    let (formless, other): (Vec<&Unfetched>, Vec<&Unfetched>) =
        left.iter().partition(|one| one.why == NO_FORMAT);
    if !formless.is_empty() {
        let kinds = kinds(formless.iter().map(|one| &*one.what));
        let line = format!("{:>5}  {NO_FORMAT} ({kinds})", formless.len());
        let _ = writeln!(text, "  {}", cut(&printable(&line)));
    }
    let named = other.iter().map(|one| {
        let kind = match kind_of(&one.why) {
            hidden if hidden == HIDDEN => format!("{HIDDEN}; `--as KIND PATH` reads it"),
            kind => kind,
        };
        (kind.clone(), (kind, &*one.what))
    });
    for line in by_reason(named) {
        let _ = writeln!(text, "  {}", cut(&line));
    }
    text.push('\n');
}

/// The endings of these files, the most frequent first.
fn kinds<'n>(files: impl Iterator<Item = &'n str>) -> String {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let name = file.rsplit('/').next().unwrap_or(file);
        let ending = name.rfind('.').filter(|at| *at > 0).map_or("no ending", |at| &name[at..]);
        *found.entry(ending).or_default() += 1;
    }
    let mut kinds: Vec<(&str, usize)> = found.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown: Vec<String> = kinds
        .iter()
        .take(NAMED)
        .map(|(ending, count)| format!("{count} {ending}"))
        .collect();
    let rest = if kinds.len() > NAMED { ", …" } else { "" };
    format!("{}{rest}", shown.join(", "))
}

/// Every verdict with its scores.
pub(super) fn whole(text: &mut String, trace: &Trace) {
    for ruling in [Ruling::Included, Ruling::Omitted, Ruling::Denied] {
        list(text, trace, ruling, true);
    }
    unread(text, trace);
}

/// The title of a summary.
fn heading(text: &mut String, title: &str, count: usize) {
    let _ = writeln!(
        text,
        "{BOLD}{title} {count}{BOLD:#}  {DIM}`tenure explain` lists them{DIM:#}"
    );
}

fn look(ruling: Ruling) -> (&'static str, char, Style) {
    match ruling {
        Ruling::Included => ("INCLUDED", '✓', GREEN),
        Ruling::Denied => ("DENIED", '⊘', RED),
        _ => ("OMITTED", '✗', YELLOW),
    }
}

/// The verdicts of a ruling: what went in as it was brought, what did not by its score.
fn rows(trace: &Trace, ruling: Ruling) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = trace
        .verdicts
        .iter()
        .enumerate()
        .filter(|(_, verdict)| verdict.verdict == ruling)
        .collect();
    if ruling != Ruling::Included {
        rows.sort_by_key(|row| std::cmp::Reverse(row.1.score.map(|score| score.composite)));
    }
    rows
}

fn list(text: &mut String, trace: &Trace, ruling: Ruling, scores: bool) {
    let rows = rows(trace, ruling);
    if rows.is_empty() {
        return;
    }
    let (title, mark, style) = look(ruling);
    let width = trace
        .verdicts
        .iter()
        .map(|verdict| verdict.name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(4, 32);
    let _ = writeln!(text, "{BOLD}{title} {}{BOLD:#}", rows.len());
    let _ = writeln!(
        text,
        "  {DIM}{:<width$} {:<9} {:>6} {:>5}  REASON{DIM:#}",
        "NAME", "SECTION", "TOKENS", "SCORE"
    );
    for (candidate, verdict) in rows.iter().take(LISTED) {
        let score =
            compared(verdict).map_or_else(String::new, |score| format!("{:.2}", score.to_f64()));
        let line = format!(
            "{:<width$} {:<9} {:>6} {score:>5}  {}",
            printable(&verdict.name),
            verdict.section,
            verdict.tokens,
            printable(&said(trace, *candidate, verdict)),
        );
        let _ = writeln!(text, "{style}{mark}{style:#} {}", cut(&line));
        if scores && let Some(card) = &verdict.score {
            let _ = writeln!(
                text,
                "  {DIM}{}: relevance {:.2} authority {:.2} freshness {:.2} utility {:.2} economy {:.2}{DIM:#}",
                card.grade,
                card.relevance.to_f64(),
                card.authority.to_f64(),
                card.freshness.to_f64(),
                card.utility.to_f64(),
                card.economy.to_f64()
            );
        }
    }
    more(text, rows.len());
}

/// The score that a verdict shows: where one factor was below its floor, that factor, else the composite.
fn compared(verdict: &Verdict) -> Option<Score> {
    let card = verdict.score?;
    let Reason::BelowFloor { factor, .. } = verdict.reason else {
        return Some(card.composite);
    };
    Some(match factor {
        Factor::Relevance => card.relevance,
        Factor::Freshness => card.current(),
        Factor::Authority => card.authority,
        _ => card.composite,
    })
}

/// Lists what was not read.
fn unread(text: &mut String, trace: &Trace) {
    let left = &trace.unfetched;
    if left.is_empty() {
        return;
    }
    let _ = writeln!(text, "{BOLD}NOT READ {}{BOLD:#}", left.len());
    for one in left.iter().take(LISTED) {
        let line = printable(&format!("{}: {}", one.what, one.why));
        let _ = writeln!(text, "  {}", cut(&line));
    }
    more(text, left.len());
}

/// Ends a list of so many.
pub(super) fn more(text: &mut String, of: usize) {
    if of > LISTED {
        let _ = writeln!(
            text,
            "  … and {} more; `--format json` lists all",
            of - LISTED
        );
    }
    text.push('\n');
}

/// A line for each kind of reason, the most frequent first: how many, why, and the first of them. The kind stands for
/// reasons that are not all the same.
fn by_reason<'n>(named: impl Iterator<Item = (String, (String, &'n str))>) -> Vec<String> {
    let mut found: BTreeMap<String, Vec<(String, &str)>> = BTreeMap::new();
    for (kind, one) in named {
        found.entry(kind).or_default().push(one);
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, ones)| std::cmp::Reverse(ones.len()));
    let mut lines: Vec<String> = found
        .iter()
        .take(FEW)
        .map(|(kind, ones)| {
            let first: Vec<&str> = ones.iter().take(NAMED).map(|(_, name)| *name).collect();
            let is_one = ones.iter().all(|(why, _)| *why == ones[0].0);
            let why = if is_one {
                ones[0].0.clone()
            } else {
                kind.replace('_', " ")
            };
            let rest = if ones.len() > NAMED { ", …" } else { "" };
            let first = first.join(", ");
            printable(&format!("{:>5}  {why} ({first}{rest})", ones.len()))
        })
        .collect();
    if found.len() > FEW {
        lines.push(format!("       … and {} more reasons", found.len() - FEW));
    }
    lines
}

/// The reason without the names in it, so that like reasons are counted as one.
fn kind_of(why: &str) -> String {
    let why = why.split_once(" (imported by").map_or(why, |(why, _)| why);
    why.split('`')
        .enumerate()
        .map(|(at, part)| if at % 2 == 0 { part } else { "…" })
        .collect()
}

/// Cuts a line to the width of the terminal, where there is one, less the two columns before it.
fn cut(line: &str) -> String {
    let is_terminal = std::io::stdout().is_terminal();
    let size = is_terminal.then(terminal_size::terminal_size).flatten();
    let Some((width, _)) = size else {
        return line.to_owned();
    };
    let width = usize::from(width.0).saturating_sub(2).max(20);
    let mut letters = line.char_indices();
    match (letters.nth(width - 1), letters.next()) {
        (Some((end, _)), Some(_)) => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

/// The reason in words, and the form that stands where it is a shorter one.
fn said(trace: &Trace, candidate: usize, verdict: &Verdict) -> String {
    let mut sentence = verdict.reason.sentence();
    if let Some(retrieval) = &trace.retrieval {
        for (subquery, rank) in retrieval.lineage(candidate) {
            let _ = write!(sentence, "; {rank} of `{}`", subquery.name);
        }
    }
    let known = |condensed: &&Condensed| condensed.candidate as usize == candidate;
    let Some(shorter) = trace.condensed.iter().find(known) else {
        return sentence;
    };
    let Condensed {
        from, form, method, ..
    } = shorter;
    let fidelity = shorter.fidelity.map_or_else(String::new, |fidelity| {
        format!(" ({method}, fidelity {:.2})", fidelity.to_f64())
    });
    format!("{sentence}; {form} of {from} tokens{fidelity}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_reasons_are_one_line() {
        let rows = [
            ("no_room", "needs 7", "a"),
            ("no_room", "needs 8", "b"),
            ("no_room", "needs 7", "d"),
            ("no_room", "needs 7", "e"),
            ("over_limit", "longer than 9", "c"),
        ];
        let lines = by_reason(
            rows.into_iter()
                .map(|(kind, why, name)| (kind.to_owned(), (why.to_owned(), name))),
        );
        assert_eq!(
            lines,
            ["    4  no room (a, b, d, …)", "    1  longer than 9 (c)"]
        );
        assert_eq!(
            kind_of("of skill `x`; not asked for"),
            "of skill …; not asked for"
        );
    }
}
