//! The arrays that become tables, and the form of a table.
//!
//! ```text
//! {"total":3,"items":@1,"next":null}
//! @1: 3 rows, an empty cell is an absent key
//! id,user.name,region=eu,note
//! &1=connection reset by peer
//! 17,ada,&1
//! 18,grace
//! =["not like the others"]
//! ```
//!
//! * The first line is the document, with `@n` where a table stands.
//! * A column's name is its key, or the keys of the objects around it joined by `.`; after `=`
//!   stands the value that every row has.
//! * A cell is JSON. A string stands without quotes when nothing else could be meant (see
//!   [`is_bare`]), so that a text which imitates any mark of the table keeps its quotes. Cells at
//!   the end of a row that are empty are left away.
//! * `&n` is a value that repeats, said once above the rows. `=` starts a row that has not the
//!   columns.

use std::fmt::Write;

use super::columns::{Columns, MISSING};
use super::tape::{Tape, is_number};
use crate::condense::{GAP, Map};

/// Fewer records than this are no table.
const LEAST_ROWS: usize = 4;
/// Tables inside tables, at most so deep: `expand` copies a table once a level.
pub(super) const DEPTH: usize = 4;
/// The factor by which a table inside a table must save more, for it stands far from its row.
const APART: usize = 8;
/// The least length of a text that is written once.
const LONG: usize = 12;

/// An array of like records.
#[derive(Debug)]
pub(super) struct Table<'t> {
    /// The array; `None` for values on lines of their own.
    pub(super) array: Option<usize>,
    /// Each element.
    pub(super) elements: Vec<usize>,
    /// The places at which each element's cells start, or [`MISSING`] when it has not the columns.
    places: Vec<u32>,
    cells: Vec<u32>,
    columns: Columns<'t>,
    /// The cell that all rows share, of each column.
    shared: Vec<Option<u32>>,
}

/// The tables of a document, in the order of the text.
pub(super) fn plan(tape: &Tape, least_saving: usize, depth: usize) -> Vec<Table<'_>> {
    let mut tables = Vec::new();
    // Where the tables around here end.
    let mut around: Vec<usize> = Vec::new();
    if let Some(table) = Table::new(tape, None, least_saving) {
        tables.push(table);
        around.push(tape.len());
    }
    for at in 0..tape.len() {
        while around.last().is_some_and(|end| *end <= at) {
            around.pop();
        }
        if tape.kind(at) != b'[' || around.len() >= depth {
            continue;
        }
        let saving = if around.is_empty() {
            least_saving
        } else {
            least_saving * APART
        };
        if let Some(table) = Table::new(tape, Some(at), saving) {
            tables.push(table);
            around.push(tape.node(at).next as usize);
        }
    }
    tables
}

impl<'t> Table<'t> {
    fn new(tape: &'t Tape, array: Option<usize>, least_saving: usize) -> Option<Table<'t>> {
        let (length, elements) = match array {
            Some(at) => (tape.slice(at).len(), tape.children(at)),
            None => (tape.text.len(), tape.roots()),
        };
        if length < least_saving {
            return None;
        }
        let elements: Vec<usize> = elements.collect();
        let objects = elements.iter().filter(|at| tape.kind(**at) == b'{').count();
        if elements.len() < LEAST_ROWS || objects * 4 < elements.len() * 3 {
            return None;
        }
        let columns = Columns::learn(tape, elements.iter().copied())?;
        let mut cells = Vec::with_capacity(elements.len() * columns.leaves);
        let place = |at: &usize| {
            let place = cells.len() as u32;
            let fits = tape.kind(*at) == b'{' && columns.cells(tape, *at, &mut cells);
            if fits { place } else { MISSING }
        };
        let places: Vec<u32> = elements.iter().map(place).collect();
        let written: usize = cells
            .iter()
            .map(|cell| {
                1 + if *cell == MISSING {
                    0
                } else {
                    tape.slice(*cell as usize).len()
                }
            })
            .sum();
        let apart: usize = elements
            .iter()
            .zip(&places)
            .filter(|(_, place)| **place == MISSING)
            .map(|(at, _)| tape.slice(*at).len() + 2)
            .sum();
        if written + apart + least_saving > length {
            return None;
        }
        let mut table = Table {
            array,
            elements,
            places,
            cells,
            columns,
            shared: Vec::new(),
        };
        table.shared = table.find_shared(tape);
        Some(table)
    }

    /// The cells of this row, or `None` when it has not the columns.
    pub(super) fn row(&self, row: usize) -> Option<&[u32]> {
        let place = self.places[row];
        (place != MISSING)
            .then(|| &self.cells[place as usize..place as usize + self.columns.leaves])
    }

    /// Returns the number of columns.
    pub(super) fn width(&self) -> usize {
        self.columns.leaves
    }

    /// Returns whether all rows share the cell of this column.
    pub(super) fn is_shared(&self, column: usize) -> bool {
        self.shared[column].is_some()
    }

    fn find_shared(&self, tape: &Tape) -> Vec<Option<u32>> {
        let mut rows = self.cells.chunks_exact(self.columns.leaves);
        let Some(first) = rows.next() else {
            return vec![None; self.columns.leaves];
        };
        let mut shared: Vec<Option<u32>> =
            first.iter().map(|cell| (*cell != MISSING).then_some(*cell)).collect();
        for row in rows {
            for (shared, cell) in shared.iter_mut().zip(row) {
                let same = |value: &u32| {
                    *cell != MISSING && tape.slice(*value as usize) == tape.slice(*cell as usize)
                };
                *shared = shared.filter(same);
            }
        }
        // What holds tables is not said once: each table stands in one place.
        for shared in &mut shared {
            *shared = shared.filter(|at| !matches!(tape.kind(*at as usize), b'[' | b'{'));
        }
        // A row needs something to stand on its line.
        if shared.iter().all(Option::is_some)
            && let Some(last) = shared.last_mut()
        {
            *last = None;
        }
        shared
    }

    /// Writes the line of column names, with what all rows share.
    pub(super) fn write_columns(&self, tape: &Tape, out: &mut String) {
        let paths = self.columns.paths();
        for (at, (path, shared)) in paths.iter().zip(&self.shared).enumerate() {
            if at > 0 {
                out.push(',');
            }
            for (level, key) in path.iter().enumerate() {
                if level > 0 {
                    out.push('.');
                }
                let bare = &key[1..key.len() - 1];
                out.push_str(if is_bare_key(bare) { bare } else { key });
            }
            if let Some(value) = shared {
                out.push('=');
                out.push_str(as_cell(tape.slice(*value as usize), false));
            }
        }
    }

    /// Writes one row; `value` writes a cell.
    pub(super) fn write_row(
        &self,
        tape: &Tape,
        row: usize,
        out: &mut String,
        mut value: impl FnMut(usize, bool, &mut String),
    ) {
        let start = out.len();
        if let Some(cells) = self.row(row) {
            let mut filled = start;
            let visible = cells.iter().zip(&self.shared).filter(|(_, shared)| shared.is_none());
            for (at, (cell, _)) in visible.enumerate() {
                if at > 0 {
                    out.push(',');
                }
                if *cell != MISSING {
                    value(*cell as usize, at == 0, out);
                    filled = out.len();
                }
            }
            // Empty cells at the end are left away.
            out.truncate(filled);
        }
        if out.len() == start {
            out.push('=');
            let at = self.elements[row];
            match tape.kind(at) {
                b'[' | b'{' => value(at, false, out),
                _ => out.push_str(tape.slice(at)),
            }
        }
    }
}

/// A document with its tables, as it is written.
pub(super) struct Writer<'t> {
    tape: &'t Tape,
    tables: Vec<Table<'t>>,
    /// Each array that is a table: its node, the node after it, its number.
    arrays: Vec<(u32, u32, usize)>,
}

impl<'t> Writer<'t> {
    pub(super) fn new(tape: &'t Tape, tables: Vec<Table<'t>>) -> Writer<'t> {
        let arrays = tables
            .iter()
            .enumerate()
            .filter_map(|(at, table)| {
                let node = table.array?;
                Some((node as u32, tape.node(node).next, at + 1))
            })
            .collect();
        Writer {
            tape,
            tables,
            arrays,
        }
    }

    pub(super) fn has_tables(&self) -> bool {
        !self.tables.is_empty()
    }

    pub(super) fn tables(&self) -> &[Table<'t>] {
        &self.tables
    }

    /// The whole, without a newline at the end.
    pub(super) fn write(&self) -> String {
        let mut out = self.frame();
        out.reserve(self.tape.text.len() / 2);
        for (number, table) in self.tables.iter().enumerate() {
            self.write_table(number + 1, table, &mut out);
        }
        out
    }

    /// The document, with references in the place of tables.
    pub(super) fn frame(&self) -> String {
        if self.tables.first().is_some_and(|table| table.array.is_none()) {
            return LINES.to_owned();
        }
        let mut out = String::new();
        self.write_span(0, self.tape.len(), self.tape.text.len(), &mut out);
        out
    }

    /// Writes the value at `at`, with references in the place of tables.
    fn write_value(&self, at: usize, out: &mut String) {
        let node = self.tape.node(at);
        self.write_span(at, node.next as usize, node.end as usize, out);
    }

    /// Writes the nodes from `from` to `to`, whose text ends at `end`.
    fn write_span(&self, from: usize, to: usize, end: usize, out: &mut String) {
        let text = &self.tape.text;
        let mut written = self.tape.node(from).start as usize;
        let first = |from: usize| move |array: &(u32, u32, usize)| (array.0 as usize) < from;
        let mut at = self.arrays.partition_point(first(from));
        while let Some((start, next, number)) = self.arrays.get(at)
            && (*start as usize) < to
        {
            let node = self.tape.node(*start as usize);
            out.push_str(&text[written..node.start as usize]);
            let _ = write!(out, "@{number}");
            written = node.end as usize;
            // Tables inside this one are referred to in its rows.
            at += self.arrays[at..].partition_point(first(*next as usize));
        }
        out.push_str(&text[written..end]);
    }

    fn write_table(&self, number: usize, table: &Table<'t>, out: &mut String) {
        let tape = self.tape;
        out.push('\n');
        self.write_head(number, table, out);
        out.push('\n');
        table.write_columns(tape, out);
        let said = self.said_once(table);
        let mut numbers: Map<&str, usize> = Map::default();
        for (at, value) in said.iter().enumerate() {
            let _ = write!(out, "\n&{}=", at + 1);
            out.push_str(as_cell(value, false));
            numbers.insert(value, at + 1);
        }
        for row in 0..table.elements.len() {
            out.push('\n');
            table.write_row(tape, row, out, |cell, first, out| {
                let slice = tape.slice(cell);
                let number = (slice.len() >= LONG).then(|| numbers.get(slice)).flatten();
                if let Some(number) = number {
                    let _ = write!(out, "&{number}");
                } else if matches!(tape.kind(cell), b'[' | b'{') {
                    self.write_value(cell, out);
                } else {
                    out.push_str(as_cell(slice, first));
                }
            });
        }
    }

    /// Writes what a table says of itself.
    pub(super) fn write_head(&self, number: usize, table: &Table<'t>, out: &mut String) {
        let _ = write!(out, "@{number}: {} rows", table.elements.len());
        if table.cells.contains(&MISSING) {
            out.push_str(ABSENT);
        }
    }

    /// The values of a table that repeat so often that they are better said once, the most
    /// frequent first.
    fn said_once(&self, table: &Table<'t>) -> Vec<&'t str> {
        let mut counts: Map<&str, usize> = Map::default();
        let mut found: Vec<(&str, usize)> = Vec::new();
        for row in table.cells.chunks_exact(table.columns.leaves) {
            let visible = row.iter().zip(&table.shared).filter(|(_, shared)| shared.is_none());
            for (&cell, _) in visible.filter(|(cell, _)| **cell != MISSING) {
                let slice = self.tape.slice(cell as usize);
                if slice.len() >= LONG && slice.starts_with('"') {
                    let at = *counts.entry(slice).or_insert(found.len());
                    match found.get_mut(at) {
                        Some((_, count)) => *count += 1,
                        None => found.push((slice, 1)),
                    }
                }
            }
        }
        // In tokens of about four bytes: a mark costs two, an entry the value and three.
        found.retain(|(value, count)| {
            let tokens = value.len() / 4;
            *count >= 3 && count * (tokens - 2) > tokens + 3
        });
        found.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        found.into_iter().map(|(value, _)| value).collect()
    }
}

/// Stands for a document of values on lines of their own.
pub(super) const LINES: &str = "@1 one a line";
const ABSENT: &str = ", an empty cell is an absent key";

/// A scalar as a cell: a string without its quotes where it can stand so.
pub(super) fn as_cell(slice: &str, first: bool) -> &str {
    match slice.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if is_bare(inner, first) => inner,
        _ => slice,
    }
}

/// Returns whether the inside of a string can stand as a cell without quotes: it could be no other value and no mark,
/// and what starts and ends a line with it has the block form.
pub(super) fn is_bare(inner: &str, first: bool) -> bool {
    let bytes = inner.as_bytes();
    let (Some(&start), Some(&end)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let lead = match start {
        b'[' | b'{' | b'"' | b'@' | b'&' | b'=' => false,
        b'/' => !first,
        b'0'..=b'9' | b'-' => !is_number(inner),
        b'n' | b't' | b'f' => !matches!(inner, "null" | "true" | "false"),
        0x80.. => inner.chars().next().is_some_and(|c| !c.is_whitespace() && c != GAP),
        _ => start > b' ',
    };
    let tail = match end {
        0x80.. => inner.chars().next_back().is_some_and(|c| !c.is_whitespace()),
        _ => end > b' ',
    };
    lead && tail && !bytes.iter().any(|byte| matches!(byte, b',' | b'\\'))
}

/// Returns whether a key can stand in the line of columns without quotes.
fn is_bare_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}
