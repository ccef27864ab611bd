//! The inverse of a JSON condensation.

use super::tables::{DEPTH, LINES};
use super::tape::{is_number, value_length};
use crate::condense::Malformed;

/// Expands the output that [`condense`](super::super::condense) made of JSON without loss to the values it was made
/// of: the same tokens in the same order, without white space between them; what followed where the original broke
/// off, as it was.
///
/// The result may be far longer than the text, as long as the text says.
pub fn expand(text: &str) -> Result<String, Malformed> {
    let mut lines = Lines {
        text,
        at: 0,
        number: 0,
    };
    let mut document = lines.next("nothing")?.to_owned();
    if !document.starts_with('@') {
        while !lines.peek().is_none_or(|line| line.starts_with('@')) {
            document.push('\n');
            document.push_str(lines.next("")?);
        }
    }
    let mut tables = Vec::new();
    let mut rest = None;
    while let Some(line) = lines.peek().filter(|line| !line.is_empty()) {
        if let Some(closed) = line.strip_prefix("@rest ") {
            lines.next("")?;
            let closed: usize = closed.parse().map_err(|_| lines.wrong("how much is open"))?;
            rest = Some((closed, &text[lines.at.min(text.len())..]));
            break;
        }
        tables.push(Table::read(&mut lines, tables.len() + 1)?);
    }
    if rest.is_none() && text.get(lines.at..).is_some_and(|left| !left.is_empty()) {
        return Err(lines.wrong("something follows the last table"));
    }
    // Inner tables come after the one they are in.
    let mut done: Vec<Option<Done>> = Vec::new();
    done.resize_with(tables.len(), || None);
    for at in (0..tables.len()).rev() {
        let separator = if at == 0 && document == LINES {
            '\n'
        } else {
            ','
        };
        done[at] = Some(tables[at].expand(separator, at, &mut done)?);
    }
    let mut out = String::with_capacity(text.len() * 2);
    if document == LINES {
        let whole = done
            .first_mut()
            .and_then(Option::take)
            .ok_or_else(|| lines.wrong("no table of lines"))?;
        // Lines stand in no brackets.
        out.push_str(&whole.text[1..whole.text.len() - 1]);
    } else {
        substitute(&document, &mut done, 0, &mut out).map_err(|what| lines.wrong(what))?;
    }
    if done.iter().any(Option::is_some) {
        return Err(lines.wrong("a table without its place"));
    }
    if let Some((closed, rest)) = rest {
        let kept = out.len().checked_sub(closed);
        out.truncate(kept.ok_or_else(|| lines.wrong("more is open than there is"))?);
        out.push_str(rest);
    }
    Ok(out)
}

/// A table as JSON, and how many tables are inside each other in it.
struct Done {
    text: String,
    depth: usize,
}

struct Lines<'t> {
    text: &'t str,
    at: usize,
    number: usize,
}

impl<'t> Lines<'t> {
    fn peek(&self) -> Option<&'t str> {
        let rest = self.text.get(self.at..)?;
        Some(rest.split_once('\n').map_or(rest, |(line, _)| line))
    }

    fn next(&mut self, wanted: &'static str) -> Result<&'t str, Malformed> {
        let line = self.peek().ok_or_else(|| self.wrong(wanted))?;
        self.at += line.len() + 1;
        self.number += 1;
        Ok(line)
    }

    fn wrong(&self, what: &'static str) -> Malformed {
        Malformed {
            what,
            line: self.number,
        }
    }
}

/// A table as it was read.
struct Table<'t> {
    columns: Vec<Column<'t>>,
    /// The shared texts, as JSON.
    said: Vec<String>,
    rows: Vec<&'t str>,
    /// The line of the first row.
    first: usize,
}

struct Column<'t> {
    /// The keys, as JSON writes them.
    path: Vec<String>,
    /// The cells that all rows share.
    shared: Option<Cell<'t>>,
}

#[derive(Clone, Copy)]
enum Cell<'t> {
    Missing,
    /// A number, a word, a string in quotes; an array or an object, perhaps with tables in it.
    Json(&'t str),
    /// The inside of a string.
    Bare(&'t str),
    /// The number of a value that is said once.
    Said(usize),
}

impl<'t> Table<'t> {
    fn read(lines: &mut Lines<'t>, number: usize) -> Result<Table<'t>, Malformed> {
        let head = lines.next("a table")?;
        let rows = head
            .strip_prefix(&format!("@{number}: "))
            .and_then(|rest| rest.split_once(" rows"))
            .and_then(|(rows, _)| rows.parse::<usize>().ok())
            .ok_or_else(|| lines.wrong("the head of a table"))?;
        let names = lines.next("the names of columns")?;
        let columns = columns(names).ok_or_else(|| lines.wrong("the name of a column"))?;
        let mut said = Vec::new();
        while let Some(line) = lines.peek() {
            let mark = format!("&{}=", said.len() + 1);
            let Some(value) = line.strip_prefix(&mark) else {
                break;
            };
            lines.next("")?;
            match cell(value) {
                Some((Cell::Bare(inner), "")) => said.push(format!("\"{inner}\"")),
                Some((Cell::Json(json), "")) => said.push(json.to_owned()),
                _ => return Err(lines.wrong("a value that is said once")),
            }
        }
        let first = lines.number + 1;
        let mut found = Vec::with_capacity(rows.min(lines.text.len()));
        for _ in 0..rows {
            found.push(lines.next("a row")?);
        }
        Ok(Table {
            columns,
            said,
            rows: found,
            first,
        })
    }

    fn expand(
        &self,
        separator: char,
        at: usize,
        done: &mut [Option<Done>],
    ) -> Result<Done, Malformed> {
        let mut text = String::from("[");
        let mut depth = 0;
        for (row, line) in self.rows.iter().enumerate() {
            if row > 0 {
                text.push(separator);
            }
            let inner = match line.strip_prefix('=') {
                Some(json) => substitute(json, done, at + 1, &mut text),
                None => self.row(line, at, done, &mut text),
            };
            depth = depth.max(inner.map_err(|what| Malformed {
                what,
                line: self.first + row,
            })?);
        }
        text.push(']');
        if depth >= DEPTH {
            return Err(Malformed {
                what: "tables too deep inside each other",
                line: self.first,
            });
        }
        Ok(Done {
            text,
            depth: depth + 1,
        })
    }

    /// Writes the object of one row.
    fn row(
        &self,
        line: &str,
        at: usize,
        done: &mut [Option<Done>],
        out: &mut String,
    ) -> Result<usize, &'static str> {
        let mut depth = 0;
        let mut rest = Some(line);
        let mut open: &[String] = &[];
        out.push('{');
        let mut first = true;
        for column in &self.columns {
            let value = match column.shared {
                Some(shared) => shared,
                None => match rest {
                    None => Cell::Missing,
                    Some(text) => {
                        let (value, after) = cell(text).ok_or("a cell")?;
                        rest = match after.strip_prefix(',') {
                            Some(after) => Some(after),
                            None if after.is_empty() => None,
                            None => return Err("a cell does not end"),
                        };
                        value
                    }
                },
            };
            if matches!(value, Cell::Missing) {
                continue;
            }
            let (around, key) = match column.path.split_last() {
                Some((key, around)) => (around, key),
                None => return Err("a column without a name"),
            };
            let same = open.iter().zip(around).take_while(|(a, b)| a == b).count();
            for _ in same..open.len() {
                out.push('}');
            }
            if !first {
                out.push(',');
            }
            for outer in &around[same..] {
                out.push_str(outer);
                out.push_str(":{");
            }
            open = around;
            first = false;
            out.push_str(key);
            out.push(':');
            match value {
                Cell::Missing => {}
                Cell::Bare(inner) => {
                    out.push('"');
                    out.push_str(inner);
                    out.push('"');
                }
                Cell::Said(number) => {
                    let said = number.checked_sub(1).and_then(|at| self.said.get(at));
                    out.push_str(said.ok_or("a mark that stands for nothing")?);
                }
                Cell::Json(json) => depth = depth.max(substitute(json, done, at + 1, out)?),
            }
        }
        for _ in 0..=open.len() {
            out.push('}');
        }
        match rest {
            Some(_) => Err("more cells than columns"),
            None => Ok(depth),
        }
    }
}

/// Reads the line of column names.
fn columns(line: &str) -> Option<Vec<Column<'_>>> {
    let mut columns = Vec::new();
    let mut rest = line;
    loop {
        let mut path = Vec::new();
        loop {
            let end = if rest.starts_with('"') {
                value_length(rest)?
            } else {
                rest.find([',', '=', '.']).unwrap_or(rest.len())
            };
            let (key, after) = rest.split_at(end);
            path.push(if key.starts_with('"') {
                key.to_owned()
            } else {
                format!("\"{key}\"")
            });
            rest = after;
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None => break,
            }
        }
        let mut shared = None;
        if let Some(value) = rest.strip_prefix('=') {
            let (value, after) = cell(value)?;
            shared = Some(value);
            rest = after;
        }
        columns.push(Column { path, shared });
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(columns),
        }
    }
}

/// The cell that `text` starts with, and what follows it.
fn cell(text: &str) -> Option<(Cell<'_>, &str)> {
    let end = match text.bytes().next() {
        Some(b'"' | b'[' | b'{') => value_length(text)?,
        _ => text.find(',').unwrap_or(text.len()),
    };
    let (cell, rest) = text.split_at(end);
    let value = match cell.bytes().next() {
        None => Cell::Missing,
        Some(b'"' | b'[' | b'{' | b'@') => Cell::Json(cell),
        Some(b'&') => Cell::Said(cell[1..].parse().ok()?),
        _ if is_number(cell) || matches!(cell, "null" | "true" | "false") => Cell::Json(cell),
        _ => Cell::Bare(cell),
    };
    Some((value, rest))
}

/// Writes JSON in which `@n` stands for tables, the first of them no lower than `least`, counted
/// from 0; how deep the tables in it are.
fn substitute(
    json: &str,
    done: &mut [Option<Done>],
    least: usize,
    out: &mut String,
) -> Result<usize, &'static str> {
    let bytes = json.as_bytes();
    let (mut written, mut at, mut depth) = (0, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at += value_length(&json[at..]).ok_or("a string does not end")?,
            b'@' => {
                out.push_str(&json[written..at]);
                let digits =
                    bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number: usize =
                    json[at + 1..at + 1 + digits].parse().map_err(|_| "a table has no number")?;
                let table = number
                    .checked_sub(1)
                    .filter(|at| *at >= least)
                    .and_then(|at| done.get_mut(at))
                    .and_then(Option::take)
                    .ok_or("no such table here")?;
                out.push_str(&table.text);
                depth = depth.max(table.depth);
                at += 1 + digits;
                written = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(&json[written..]);
    Ok(depth)
}
