//! Values separated by commas, tabs or semicolons: what all rows share is said once, in the line
//! of names; then some rows stand for all.
//!
//! ```text
//! id,region=eu,name
//! 1,ada
//! 2,grace
//! ```

use super::lines::{Kept, irrelevant, keep};
use super::select::order;
use super::signal::{Signs, Task, add_unlike, worth};
use super::{Draft, Goal, Malformed, Method, Reading, Unit};

/// The marks that may stand between cells.
const MARKS: [u8; 3] = [b',', b'\t', b';'];
/// With fewer rows nothing is shared.
const LEAST_ROWS: usize = 3;

/// A text read as rows of cells, quotes and all.
pub(super) struct Csv<'t> {
    mark: u8,
    /// True if a quote opens that does not close.
    torn: bool,
    /// The rows without the newlines between them; the last is empty after a newline at the end.
    rows: Vec<Row<'t>>,
}

struct Row<'t> {
    text: &'t str,
    cells: Vec<&'t str>,
}

impl<'t> Csv<'t> {
    /// `None` when there is no more than one column.
    pub(super) fn read(text: &'t str) -> Option<Csv<'t>> {
        let first = text.lines().next()?;
        let most = |mark: &u8| first.bytes().filter(|byte| byte == mark).count();
        let mark = MARKS.into_iter().rev().max_by_key(most).filter(|mark| most(mark) > 0)?;
        let mut rows = Vec::new();
        let mut torn = false;
        let mut rest = Some(text);
        while let Some(text) = rest {
            let (row, after) = row(text, mark, &mut torn);
            rows.push(row);
            rest = after;
        }
        Some(Csv { mark, torn, rows })
    }

    /// The rows after the names.
    fn body(&self) -> &[Row<'t>] {
        let body = self.rows.get(1..).unwrap_or_default();
        match body.split_last() {
            Some((last, before)) if last.text.is_empty() => before,
            _ => body,
        }
    }

    /// Returns the value that all rows have in a column, where it can be said in the line of names.
    fn shared(&self, column: usize) -> Option<&'t str> {
        let value = self.body().first()?.cells.get(column)?;
        let plain = !value.is_empty()
            && !value
                .bytes()
                .any(|byte| MARKS.contains(&byte) || matches!(byte, b'"' | b'\n' | b'\r'));
        (plain && self.body().iter().all(|row| row.cells[column] == *value)).then_some(value)
    }
}

impl<'t> Csv<'t> {
    /// Returns the worth of each row for a task.
    pub(super) fn worth(&self, task: &Task) -> Vec<f64> {
        let body = self.body();
        let signs: Vec<Signs> = body.iter().map(|row| task.read(row.text)).collect();
        let mut worth = worth(task, &signs);
        // More columns than this are looked at together only, in the words of their rows.
        for column in 0..self.rows[0].cells.len().min(256) {
            let cells: Vec<Option<&str>> = body
                .iter()
                .map(|row| {
                    let cell = row.cells.get(column)?.trim_matches('"');
                    (!cell.is_empty()).then_some(cell)
                })
                .collect();
            add_unlike(&mut worth, &cells);
        }
        worth
    }

    /// The names of the columns.
    pub(super) fn names(&self) -> &[&'t str] {
        self.rows.first().map_or(&[], |row| &row.cells)
    }

    /// Returns the number of rows besides the names.
    pub(super) fn len(&self) -> usize {
        self.body().len()
    }

    /// A row, each value with the name of its column.
    pub(super) fn named(&self, row: usize) -> String {
        let cells = self.names().iter().zip(&self.body()[row].cells);
        cells
            .filter(|(_, cell)| !cell.trim().is_empty())
            .map(|(name, cell)| format!("{}={}", name.trim(), cell.trim()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The row that `text` starts with, and what follows its newline.
fn row<'t>(text: &'t str, mark: u8, torn: &mut bool) -> (Row<'t>, Option<&'t str>) {
    let bytes = text.as_bytes();
    let (mut at, mut start) = (0, 0);
    let mut cells = Vec::new();
    loop {
        // A quote opens at the start of a cell alone, and one that never ends is an ordinary one.
        if bytes.get(at) == Some(&b'"') && at == start {
            match quoted(&text[at..]) {
                Some(end) => at += end,
                None => *torn = true,
            }
        }
        match bytes.get(at) {
            Some(&byte) if byte == mark => {
                cells.push(&text[start..at]);
                at += 1;
                start = at;
            }
            Some(b'\n') | None => {
                cells.push(&text[start..at]);
                let row = Row {
                    text: &text[..at],
                    cells,
                };
                return (row, text.get(at + 1..));
            }
            Some(_) => at += 1,
        }
    }
}

/// So long may a quoted cell be: one that does not end is not searched to the end for each row.
const LONGEST: usize = 64 * 1024;

/// The length of a quoted cell.
fn quoted(text: &str) -> Option<usize> {
    let bytes = &text.as_bytes()[..text.len().min(LONGEST)];
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'"')? + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

impl Reading for Csv<'_> {
    fn lossless(&self) -> Option<Draft> {
        let names = &self.rows.first()?.cells;
        let alike = self.body().iter().all(|row| row.cells.len() == names.len());
        // A name with `=` could be taken for one with what is shared; what a quote opens that does
        // not close depends on all that follows.
        let unclear = self.torn || self.rows[0].text.contains(['=', '"']);
        if !alike || unclear || self.body().len() < LEAST_ROWS {
            return None;
        }
        let mut shared: Vec<Option<&str>> = (0..names.len()).map(|at| self.shared(at)).collect();
        if shared.iter().all(Option::is_some) {
            *shared.last_mut()? = None;
        }
        let mut left = (0..names.len()).filter(|at| shared[*at].is_none());
        let (first, second) = (left.next()?, left.next());
        // An empty cell that is alone on the last line could be taken for none.
        let alone = second.is_none() && self.body().iter().any(|row| row.cells[first].is_empty());
        if alone || shared.iter().all(Option::is_none) {
            return None;
        }
        let mark = char::from(self.mark);
        let mut text = String::new();
        for (at, (name, shared)) in names.iter().zip(&shared).enumerate() {
            if at > 0 {
                text.push(mark);
            }
            text.push_str(name);
            if let Some(value) = shared {
                text.push('=');
                text.push_str(value);
            }
        }
        for row in self.body() {
            let cells: Vec<&str> = row
                .cells
                .iter()
                .zip(&shared)
                .filter(|(_, shared)| shared.is_none())
                .map(|(cell, _)| *cell)
                .collect();
            text.push('\n');
            text.push_str(&cells.join(mark.encode_utf8(&mut [0; 4])));
        }
        if self.body().len() + 1 < self.rows.len() {
            text.push('\n');
        }
        Some(Draft {
            text,
            method: Method::Tabulated,
            left_out: Vec::new(),
        })
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let body = self.body();
        let worth = self.worth(&Task::new(goal.task));
        let parts: Vec<&str> = body.iter().map(|row| row.text.trim_end_matches('\r')).collect();
        keep(
            &Kept {
                head: &format!("{}\n", self.rows[0].text.trim_end()),
                parts: &parts,
                end: "\n",
                order: &order(&worth),
                unit: Unit::Records,
                method: Method::Selected,
                class: &irrelevant,
            },
            goal,
        )
    }
}

/// Expands the text that [`condense`](super::condense) wrote of a table of cells.
pub fn expand(text: &str) -> Result<String, Malformed> {
    let wrong = |what, line| Malformed { what, line };
    // With one column left there is no mark, but the names have it.
    let csv = Csv::read(text).ok_or_else(|| wrong("no table", 1))?;
    let mark = char::from(csv.mark);
    let mut out = String::with_capacity(text.len() * 2);
    let mut shared = Vec::new();
    for (at, name) in csv.rows[0].cells.iter().enumerate() {
        if at > 0 {
            out.push(mark);
        }
        let (name, value) = match name.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (*name, None),
        };
        out.push_str(name);
        shared.push(value);
    }
    let rows = csv.rows.len();
    for (at, row) in csv.rows.iter().enumerate().skip(1) {
        out.push('\n');
        if at + 1 == rows && row.text.is_empty() {
            break;
        }
        let mut cells = row.cells.iter();
        for (column, shared) in shared.iter().enumerate() {
            if column > 0 {
                out.push(mark);
            }
            let cell = match shared {
                Some(value) => Some(*value),
                None => cells.next().copied(),
            };
            out.push_str(cell.ok_or_else(|| wrong("too few cells", at + 1))?);
        }
        if cells.next().is_some() {
            return Err(wrong("too many cells", at + 1));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str) -> Option<String> {
        let folded = Csv::read(text)?.lossless()?.text;
        assert_eq!(expand(&folded).as_deref(), Ok(text), "{folded}");
        Some(folded)
    }

    #[test]
    fn what_all_rows_share_is_said_once() {
        let text = "id,region,name\n1,eu,\"ada, l\"\n2,eu,\"gr\n\"\"ace\"\n3,eu,x\n";
        let expected = "id,region=eu,name\n1,\"ada, l\"\n2,\"gr\n\"\"ace\"\n3,x\n";
        assert_eq!(check(text).as_deref(), Some(expected));
        assert_eq!(
            check("a\tb\n1\t2\n1\t2\n1\t2"),
            Some("a=1\tb\n2\n2\n2".into())
        );
        assert_eq!(check("a,b=1\n1,2\n1,2\n1,2"), None);
    }

    #[test]
    fn the_names_and_what_the_task_names_stay() {
        let text = String::from("id,name,state\n")
            + &(0..400)
                .map(|at| {
                    format!(
                        "{at},item {at},{}\n",
                        if at == 250 { "broken" } else { "fine" }
                    )
                })
                .collect::<String>();
        let goal = Goal {
            tokens: 100,
            task: "item 317",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Csv::read(&text).unwrap().lossy(&goal).unwrap();
        for line in [
            "id,name,state\n0,item 0,fine\n",
            "\n317,item 317,fine\n",
            "\n250,item 250,broken\n",
            "\n399,item 399,fine",
        ] {
            assert!(draft.text.contains(line), "{line} {}", draft.text);
        }
    }

    proptest! {
        #[test]
        fn all_cells_come_back(rows in prop::collection::vec(prop::collection::vec(
            prop::sample::select(vec!["", "a", "b", "1", "=", "\"", "\"x,y\"", "\"\n\"", "a\"b", "é", "\r", ";", "\t", "\"\"\"\"", "x=1"]), 3
        ), 1..8), sharing in 0usize..3, semicolons in any::<bool>()) {
            let mark = if semicolons { ";" } else { "," };
            let rows: Vec<String> = rows.into_iter().map(|mut row| {
                if sharing < 2 {
                    row[sharing] = "same";
                }
                row.join(mark)
            }).collect();
            let text = format!("n{mark}m{mark}o\n{}", rows.join("\n"));
            check(&text);
            check(&format!("{text}\n"));
        }
    }
}
