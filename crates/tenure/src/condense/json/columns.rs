//! The columns that like records share.
//!
//! A column is a key, or the path of a key when every record holds the same kind of object under
//! it. Columns stand in an order in which most records have their keys; a record that has them in
//! another order, or a key twice, does not fit and stands as it is.

use super::tape::Tape;

/// A cell whose record lacks the column.
pub(super) const MISSING: u32 = u32::MAX;

/// With more columns than this, records are not alike.
const MOST: usize = 256;
/// The depth to which nested objects become columns.
const DEPTH: usize = 4;

/// One key of the records, as it was written, quotes included.
#[derive(Debug)]
struct Column<'t> {
    key: &'t str,
    /// The columns of the objects under it.
    inner: Vec<Column<'t>>,
    /// The number of records that have it.
    filled: u32,
    /// In how many of them it holds an object with keys.
    objects: u32,
    /// The number of keys of those objects together.
    keys: u32,
}

/// The columns of an array of records.
#[derive(Debug)]
pub(super) struct Columns<'t> {
    tree: Vec<Column<'t>>,
    /// The number of columns with cells of their own.
    pub(super) leaves: usize,
}

impl<'t> Columns<'t> {
    /// The columns of these elements, of which those that are objects count; `None` when the
    /// objects are not alike.
    pub(super) fn learn(
        tape: &'t Tape,
        elements: impl Iterator<Item = usize>,
    ) -> Option<Columns<'t>> {
        let mut tree = Vec::new();
        for at in elements.filter(|at| tape.kind(*at) == b'{') {
            if !learn(&mut tree, tape, at, 0) {
                return None;
            }
        }
        settle(&mut tree);
        let leaves = count(&tree);
        (1..=MOST).contains(&leaves).then_some(Columns { tree, leaves })
    }

    /// Appends the cells of the object at `at`, or nothing when it does not fit.
    pub(super) fn cells(&self, tape: &'t Tape, at: usize, cells: &mut Vec<u32>) -> bool {
        let before = cells.len();
        let fits = fill(&self.tree, tape, at, cells);
        if !fits {
            cells.truncate(before);
        }
        fits
    }

    /// Each leaf's path of keys, in order.
    pub(super) fn paths(&self) -> Vec<Vec<&'t str>> {
        let mut paths = Vec::with_capacity(self.leaves);
        walk(&self.tree, &mut Vec::new(), &mut paths);
        paths
    }
}

/// Adds the keys of one object; whether it may still be like the others.
fn learn<'t>(columns: &mut Vec<Column<'t>>, tape: &'t Tape, object: usize, depth: usize) -> bool {
    let mut place = 0;
    let mut children = tape.children(object);
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        let key = tape.slice(key);
        let found = match columns.get(place) {
            Some(column) if column.key == key => place,
            _ => match columns.iter().position(|column| column.key == key) {
                Some(found) => found,
                None if columns.len() == MOST => return false,
                None => {
                    columns.insert(
                        place,
                        Column {
                            key,
                            inner: Vec::new(),
                            filled: 0,
                            objects: 0,
                            keys: 0,
                        },
                    );
                    place
                }
            },
        };
        let column = &mut columns[found];
        column.filled += 1;
        // An object under it is looked into as long as all were objects so far.
        let is_record = tape.kind(value) == b'{' && tape.children(value).next().is_some();
        if is_record && depth + 1 < DEPTH && column.objects + 1 == column.filled {
            column.keys += (tape.children(value).count() / 2) as u32;
            if learn(&mut column.inner, tape, value, depth + 1) {
                column.objects += 1;
            }
        }
        place = place.max(found + 1);
    }
    true
}

/// Forgets inner columns where the values are not objects with mostly the same keys.
fn settle(columns: &mut [Column<'_>]) {
    for column in columns {
        let alike = column.objects == column.filled
            && column.inner.len() as u64 * u64::from(column.objects) <= 2 * u64::from(column.keys);
        if alike {
            settle(&mut column.inner);
        } else {
            column.inner.clear();
        }
    }
}

fn count(columns: &[Column<'_>]) -> usize {
    columns.iter().map(|column| count(&column.inner).max(1)).sum()
}

fn walk<'t>(columns: &[Column<'t>], path: &mut Vec<&'t str>, paths: &mut Vec<Vec<&'t str>>) {
    for column in columns {
        path.push(column.key);
        if column.inner.is_empty() {
            paths.push(path.clone());
        } else {
            walk(&column.inner, path, paths);
        }
        path.pop();
    }
}

/// Appends one cell for each leaf; whether the object has its keys in the order of the columns.
fn fill(columns: &[Column<'_>], tape: &Tape, object: usize, cells: &mut Vec<u32>) -> bool {
    let mut place = 0;
    let mut children = tape.children(object);
    while let (Some(key), Some(value)) = (children.next(), children.next()) {
        let key = tape.slice(key);
        let Some(skipped) = columns[place..].iter().position(|column| column.key == key) else {
            return false;
        };
        for column in &columns[place..place + skipped] {
            cells.extend(std::iter::repeat_n(
                MISSING,
                count(std::slice::from_ref(column)),
            ));
        }
        let column = &columns[place + skipped];
        if column.inner.is_empty() {
            cells.push(value as u32);
        } else {
            // An object without keys would look like a missing one.
            let is_record = tape.kind(value) == b'{' && tape.children(value).next().is_some();
            if !is_record || !fill(&column.inner, tape, value, cells) {
                return false;
            }
        }
        place += skipped + 1;
    }
    cells.extend(std::iter::repeat_n(MISSING, count(&columns[place..])));
    true
}
