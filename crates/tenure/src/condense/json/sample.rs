//! Some records stand for all: the first and the last, those that the task names, those in which
//! something went wrong, those unlike the rest. What is no record is cut to an outline.

use std::fmt::Write;

use super::columns::MISSING;
use super::tables::{Table, Writer, as_cell, plan};
use super::tape::Tape;
use crate::condense::lines::some;
use crate::condense::select::{Choice, cut, excerpt, order, price, settle, write_kept};
use crate::condense::signal::{Alarm, NOTABLE, Signs, Task, add_unlike, rarity, worth};
use crate::condense::{Draft, GAP, Goal, LeftOut, Map, Method, Unit};

/// The lossy form within the goal.
pub(super) fn sample(tape: &Tape, goal: &Goal<'_>) -> Option<Draft> {
    let task = Task::new(goal.task);
    let tables = plan(tape, super::LEAST_SAVING, 1);
    let writer = Writer::new(tape, tables);
    Sample::new(tape, &writer, &task, goal)
        .and_then(|sample| settle(goal, |budget| sample.make(budget, goal)))
        .or_else(|| outline(tape, &task, goal))
}

/// Tables whose rows can be chosen.
struct Sample<'s, 't> {
    tape: &'t Tape,
    writer: &'s Writer<'t>,
    /// The document around the tables.
    frame: String,
    /// The head of each table, with the names of its columns.
    heads: Vec<String>,
    /// The cost of all of that and the counts of omissions.
    fixed: u32,
    /// Each row as it is written, of all tables.
    rows: Vec<String>,
    /// The rows at which each table ends.
    ends: Vec<usize>,
    order: Vec<u32>,
}

impl<'s, 't> Sample<'s, 't> {
    fn new(
        tape: &'t Tape,
        writer: &'s Writer<'t>,
        task: &Task,
        goal: &Goal<'_>,
    ) -> Option<Sample<'s, 't>> {
        let tables = writer.tables();
        let mut rows = Vec::new();
        let mut ends = Vec::new();
        let mut heads = Vec::new();
        let mut unlike = Vec::new();
        for table in tables {
            for row in 0..table.elements.len() {
                let mut text = String::new();
                table.write_row(tape, row, &mut text, |cell, first, out| {
                    out.push_str(as_cell(tape.slice(cell), first));
                });
                text.push('\n');
                rows.push(text);
            }
            ends.push(rows.len());
            unlike.extend(anomalies(tape, table));
            let mut head = String::new();
            table.write_columns(tape, &mut head);
            head.push('\n');
            heads.push(head);
        }
        let frame = writer.frame();
        let around = frame.len() + heads.iter().map(String::len).sum::<usize>();
        // What is fixed must leave room; an outline shortens it.
        if tables.is_empty() || around > goal.tokens as usize * 4 {
            return None;
        }
        let mut fixed = price(&frame, goal) + 1;
        for head in &heads {
            let line = "@100: 1000000 rows, an empty cell is an absent key, 1000000 left out\n";
            fixed = fixed.saturating_add(price(head, goal)).saturating_add(goal.count(line));
        }
        if fixed > goal.tokens / 2 {
            return None;
        }
        let signs: Vec<Signs> = rows.iter().map(|row| task.read(row)).collect();
        let mut worth = worth(task, &signs);
        for (worth, unlike) in worth.iter_mut().zip(unlike) {
            *worth += unlike;
        }
        Some(Sample {
            tape,
            writer,
            frame,
            heads,
            fixed,
            rows,
            ends,
            order: order(&worth),
        })
    }

    fn make(&self, budget: u32, goal: &Goal<'_>) -> Option<Draft> {
        // A row that would take more than a quarter of all is cut in its long cells.
        let longest = budget as usize;
        let mut short: Map<usize, (String, usize)> = Map::default();
        let choice = Choice {
            order: &self.order,
            ends: &self.ends,
            budget: budget.checked_sub(self.fixed)?,
            gap: goal.count(&gap(1_000_000)),
        };
        let kept = choice.make(|row| {
            let text = &self.rows[row];
            if text.len() <= longest {
                return price(text, goal);
            }
            let made = self.shorten(row, longest);
            let price = price(&made.0, goal);
            short.insert(row, made);
            price
        });
        if !kept.contains(&true) {
            return None;
        }
        let mut text = format!("{}\n", self.frame);
        let mut start = 0;
        for (number, (table, end)) in self.writer.tables().iter().zip(&self.ends).enumerate() {
            let left = kept[start..*end].iter().filter(|kept| !**kept).count();
            self.writer.write_head(number + 1, table, &mut text);
            if left > 0 {
                let _ = write!(text, ", {left} left out");
            }
            text.push('\n');
            text.push_str(&self.heads[number]);
            write_kept(
                &kept[start..*end],
                &mut text,
                |gone| gap(gone.len()),
                |row, text| {
                    let row = start + row;
                    text.push_str(short.get(&row).map_or(&self.rows[row], |(row, _)| row));
                },
            );
            start = *end;
        }
        let left = kept.iter().filter(|kept| !**kept).count();
        let bytes = short.iter().filter(|(row, _)| kept[**row]).map(|(_, (_, gone))| gone).sum();
        Some(Draft {
            text: text.trim_end().to_owned(),
            method: Method::Selected,
            left_out: left_out(Unit::Records, left, bytes),
        })
    }

    /// A row with its long cells cut, and how many bytes they lack.
    fn shorten(&self, row: usize, longest: usize) -> (String, usize) {
        let number = self.ends.partition_point(|end| *end <= row);
        let start = if number == 0 {
            0
        } else {
            self.ends[number - 1]
        };
        let table = &self.writer.tables()[number];
        let each = (longest / table.width().max(1)).max(32);
        let mut text = String::new();
        let mut gone = 0;
        table.write_row(self.tape, row - start, &mut text, |cell, first, out| {
            let cell = as_cell(self.tape.slice(cell), first);
            out.push_str(&excerpt(cell, each));
            gone += cut(cell, each).len();
        });
        gone += cut(&text, longest).len();
        (excerpt(&text, longest) + "\n", gone)
    }
}

fn gap(rows: usize) -> String {
    format!("{GAP} {rows} left out\n")
}

fn left_out(unit: Unit, count: usize, bytes: usize) -> Vec<LeftOut> {
    let bytes = some(Unit::Bytes, bytes);
    some(unit, count).into_iter().chain(bytes).collect()
}

/// Returns the anomaly of each row: its unlikeness to the rest.
fn anomalies(tape: &Tape, table: &Table<'_>) -> Vec<f64> {
    let rows = table.elements.len();
    let mut worth = vec![0.0; rows];
    let apart = (0..rows).filter(|row| table.row(*row).is_none()).count();
    let value = rarity(rows, apart);
    for (row, worth) in worth.iter_mut().enumerate() {
        if table.row(row).is_none() {
            *worth += value;
        }
    }
    for column in 0..table.width() {
        if table.is_shared(column) {
            continue;
        }
        let column: Vec<Option<&str>> = (0..rows)
            .map(|row| {
                let cell = table.row(row)?[column];
                (cell != MISSING).then(|| tape.slice(cell as usize))
            })
            .collect();
        add_unlike(&mut worth, &column);
    }
    worth
}

/// The limits of a value in an outline.
#[derive(Clone, Copy)]
struct Limits {
    /// Bytes of a string.
    string: usize,
    /// Elements or entries at the start of a container.
    children: usize,
    /// Levels.
    depth: usize,
}

/// From the most to the least that an outline shows.
const LIMITS: [Limits; 8] = [
    Limits {
        string: 2000,
        children: 200,
        depth: 32,
    },
    Limits {
        string: 1000,
        children: 64,
        depth: 16,
    },
    Limits {
        string: 400,
        children: 32,
        depth: 12,
    },
    Limits {
        string: 200,
        children: 16,
        depth: 8,
    },
    Limits {
        string: 120,
        children: 8,
        depth: 6,
    },
    Limits {
        string: 80,
        children: 4,
        depth: 5,
    },
    Limits {
        string: 48,
        children: 2,
        depth: 3,
    },
    Limits {
        string: 32,
        children: 1,
        depth: 2,
    },
];

/// The value with its long strings cut, and of its long containers the first, the last and the
/// notable children.
fn outline(tape: &Tape, task: &Task, goal: &Goal<'_>) -> Option<Draft> {
    let marks = Marks::new(tape, task);
    LIMITS.iter().find_map(|limits| {
        let most = (goal.tokens as usize).saturating_mul(6);
        let (text, left, bytes) = write_outline(tape, &marks, *limits, most)?;
        (price(&text, goal) <= goal.tokens).then(|| Draft {
            text,
            method: Method::Outlined,
            left_out: left_out(Unit::Values, left, bytes),
        })
    })
}

/// The leaves that are notable, in the order of the tape.
struct Marks(Vec<u32>);

impl Marks {
    fn new(tape: &Tape, task: &Task) -> Marks {
        let leaves: Vec<u32> = (0..tape.len())
            .filter(|at| !matches!(tape.kind(*at), b'[' | b'{'))
            .map(|at| at as u32)
            .collect();
        let signs: Vec<Signs> =
            leaves.iter().map(|at| task.read(tape.slice(*at as usize))).collect();
        let worth = worth(task, &signs);
        Marks(
            leaves
                .iter()
                .zip(worth.iter().zip(&signs))
                .filter_map(|(at, (worth, signs))| {
                    let marked = signs.named != 0 || signs.alarm > Alarm::None;
                    (marked && *worth >= 2.0 * NOTABLE).then_some(*at)
                })
                .collect(),
        )
    }

    fn any(&self, from: usize, to: usize) -> bool {
        let at = self.0.partition_point(|mark| (*mark as usize) < from);
        self.0.get(at).is_some_and(|mark| (*mark as usize) < to)
    }
}

/// A step of writing an outline.
enum Step {
    Node { at: usize, depth: usize },
    Text(&'static str),
    Gap(usize),
}

/// An outline of at most `most` bytes, how many values it leaves out, and how many bytes of the
/// others; `None` when it is longer.
fn write_outline(
    tape: &Tape,
    marks: &Marks,
    limits: Limits,
    most: usize,
) -> Option<(String, usize, usize)> {
    let mut out = String::new();
    let (mut left, mut bytes) = (0, 0);
    let mut steps: Vec<Step> = Vec::new();
    push_children(
        tape,
        marks,
        limits,
        tape.roots().collect(),
        "\n",
        0,
        &mut steps,
    );
    while let Some(step) = steps.pop() {
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Gap(gone) => {
                left += gone;
                let _ = write!(out, "{GAP} {gone} left out");
            }
            Step::Node { at, depth } => {
                let slice = tape.slice(at);
                let open = match tape.kind(at) {
                    b'[' => "[",
                    b'{' => "{",
                    b'"' => {
                        let inner = &slice[1..slice.len() - 1];
                        bytes += cut(inner, limits.string).len();
                        let _ = write!(out, "\"{}\"", excerpt(inner, limits.string));
                        continue;
                    }
                    _ => {
                        bytes += cut(slice, limits.string).len();
                        out.push_str(&excerpt(slice, limits.string));
                        continue;
                    }
                };
                out.push_str(open);
                let is_object = open == "{";
                steps.push(Step::Text(if is_object { "}" } else { "]" }));
                let children: Vec<usize> = if is_object {
                    tape.children(at).step_by(2).collect()
                } else {
                    tape.children(at).collect()
                };
                let deep = depth >= limits.depth;
                if deep && !children.is_empty() && !marks.any(at, tape.node(at).next as usize) {
                    steps.push(Step::Gap(children.len()));
                } else {
                    push_children(tape, marks, limits, children, ",", depth + 1, &mut steps);
                }
            }
        }
        if out.len() > most {
            return None;
        }
    }
    Some((out, left, bytes))
}

/// Puts off the children that are shown, with what is between them.
fn push_children(
    tape: &Tape,
    marks: &Marks,
    limits: Limits,
    children: Vec<usize>,
    separator: &'static str,
    depth: usize,
    steps: &mut Vec<Step>,
) {
    // At this level, a key stands before its value.
    let is_entry = |at: usize| separator == "," && tape.is_key(at);
    let end = |at: usize| {
        if is_entry(at) {
            tape.node(at + 1).next as usize
        } else {
            tape.node(at).next as usize
        }
    };
    let last = children.len().saturating_sub(1);
    let mut marked = 0;
    let shown: Vec<bool> = children
        .iter()
        .enumerate()
        .map(|(place, at)| {
            let named = marked < limits.children * 4 && marks.any(*at, end(*at));
            marked += usize::from(named);
            named || place < limits.children || place == last
        })
        .collect();
    // What is pushed last is written first.
    let mut gone = 0;
    let mut after = false;
    for place in (0..children.len()).rev() {
        if !shown[place] {
            gone += 1;
            continue;
        }
        if gone > 0 {
            if after {
                steps.push(Step::Text(separator));
            }
            steps.push(Step::Gap(gone));
            gone = 0;
            after = true;
        }
        if after {
            steps.push(Step::Text(separator));
        }
        let at = children[place];
        if is_entry(at) {
            steps.push(Step::Node { at: at + 1, depth });
            steps.push(Step::Text(":"));
        }
        steps.push(Step::Node { at, depth });
        after = true;
    }
}
