//! Unified differences: headers and changed lines stay before the lines around them.

use super::lines::{Kept, irrelevant, keep};
use super::select::order;
use super::signal::{NOTABLE, Signs, Task, worth};
use super::{Draft, Goal, Method, Reading, Unit};

/// The worth of the header of a file.
const FILE: f64 = 1_000.0;
/// The worth of the header of a hunk.
const HUNK: f64 = 500.0;
/// The worth of a changed line.
const CHANGE: f64 = 100.0;

/// A text read as a unified difference.
pub(super) struct Diff<'t> {
    text: &'t str,
}

#[derive(Clone, Copy, PartialEq)]
enum Line {
    File,
    Hunk,
    Change,
    Context,
    /// Ids and modes, which say nothing of the content.
    Index,
}

impl<'t> Diff<'t> {
    pub(super) fn read(text: &'t str) -> Diff<'t> {
        Diff { text }
    }
}

/// Returns the kind of each line. Inside a hunk, whose header says how long it is, `--- ` is a removed line.
fn kinds(lines: &[&str]) -> Vec<Line> {
    let (mut old, mut new) = (0u64, 0u64);
    let kind = |line: &&str| {
        let inside = old > 0 || new > 0;
        match line.bytes().next() {
            Some(b'-') if inside => {
                old = old.saturating_sub(1);
                Line::Change
            }
            Some(b'+') if inside => {
                new = new.saturating_sub(1);
                Line::Change
            }
            Some(b' ') | None if inside => {
                old = old.saturating_sub(1);
                new = new.saturating_sub(1);
                Line::Context
            }
            Some(b'\\') => Line::Context,
            _ => {
                (old, new) = (0, 0);
                if let Some(lengths) = hunk(line) {
                    (old, new) = lengths;
                    Line::Hunk
                } else if line.starts_with("index ") {
                    Line::Index
                } else {
                    Line::File
                }
            }
        }
    };
    lines.iter().map(kind).collect()
}

/// Returns the numbers of old and new lines of a hunk.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(old)?, length(new)?))
}

impl Reading for Diff<'_> {
    /// All of a difference is content.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let task = Task::new(goal.task);
        let lines: Vec<&str> = self.text.lines().collect();
        let kinds = kinds(&lines);
        let signs: Vec<Signs> = lines.iter().map(|line| task.read(line)).collect();
        let mut worth = worth(&task, &signs);
        // How far the nearest changed line is, from either side.
        let mut far = vec![u32::MAX; lines.len()];
        let mut distance = u32::MAX;
        let mut step = |at: usize, far: &mut u32| {
            distance = match kinds[at] {
                Line::Change => 0,
                Line::Context => distance.saturating_add(1),
                Line::File | Line::Hunk | Line::Index => u32::MAX,
            };
            *far = distance.min(*far);
        };
        for (at, far) in far.iter_mut().enumerate() {
            step(at, far);
        }
        for (at, far) in far.iter_mut().enumerate().rev() {
            step(at, far);
        }
        for (at, worth) in worth.iter_mut().enumerate() {
            *worth += match kinds[at] {
                Line::File => FILE,
                Line::Hunk => HUNK,
                Line::Change => CHANGE,
                Line::Context => NOTABLE + 1.0 / f64::from(far[at].max(1)),
                Line::Index => 0.0,
            };
        }
        keep(
            &Kept {
                head: "",
                parts: &lines,
                end: "\n",
                order: &order(&worth),
                unit: Unit::Lines,
                method: Method::Selected,
                class: &irrelevant,
            },
            goal,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stay_before_what_is_around_them() {
        let context =
            |from: usize| (from..from + 40).map(|at| format!(" line {at}\n")).collect::<String>();
        let text = format!(
            "diff --git a/x b/x\nindex 12ab..34cd 100644\n--- a/x\n+++ b/x\n@@ -1,82 +1,82 @@ fn f\n{}--- old\n+++ new\n{}-a\n+b\n",
            context(0),
            context(40),
        );
        let goal = Goal {
            tokens: 60,
            task: "",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Diff::read(&text).lossy(&goal).unwrap();
        for line in [
            "--- a/x\n+++ b/x\n@@ -1,82",
            " line 39\n--- old\n+++ new\n line 40\n",
            "-a\n+b",
        ] {
            assert!(draft.text.contains(line), "{line} {}", draft.text);
        }
        assert!(!draft.text.contains("line 10\n") && !draft.text.contains("index"));
    }
}
