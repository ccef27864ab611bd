//! The output of a search: the path of a file is said once above its matches.
//!
//! ```text
//! @src/main.rs
//! 12:fn main() {
//! 40:    main();
//! @src/lib.rs
//! 3:use main;
//! --
//! ```
//!
//! `@` starts a path, a number with a colon a match in it; any other line is as it was, after `=`
//! where it looks like one of these.

use super::detect::is_match;
use super::lines::{as_line, count, irrelevant, shortened};
use super::select::{Choice, order, price, settle, write_kept};
use super::signal::{NOTABLE, Signs, Task, worth};
use super::{Draft, GAP, Goal, Malformed, Method, Reading, Unit};

/// A text read as lines of a search.
pub(super) struct Search<'t> {
    text: &'t str,
}

impl<'t> Search<'t> {
    pub(super) fn read(text: &'t str) -> Search<'t> {
        Search { text }
    }
}

/// The path of a match and the rest, from the number on.
fn split(line: &str) -> Option<(&str, &str)> {
    is_match(line).then(|| line.split_once(':')).flatten()
}

/// Returns the worth of each line for a task. Breadth first: a line of each file comes before more of one.
fn worth_of(lines: &[&str], matches: &[Option<(&str, &str)>], task: &Task) -> Vec<f64> {
    let signs: Vec<Signs> = lines.iter().map(|line| task.read(line)).collect();
    let mut worth = worth(task, &signs);
    let mut path = None;
    for (worth, found) in worth.iter_mut().zip(matches) {
        let found = found.map(|(path, _)| path);
        if found.is_some() && found != path {
            *worth += NOTABLE;
            path = found;
        }
    }
    worth
}

/// Returns the worth of each line for a task, and the files that have matches.
pub(super) fn worth_and_files<'t>(lines: &[&'t str], task: &Task) -> (Vec<f64>, Vec<&'t str>) {
    let matches: Vec<Option<(&str, &str)>> = lines.iter().map(|line| split(line)).collect();
    let mut files: Vec<&str> = matches.iter().flatten().map(|(path, _)| *path).collect();
    files.dedup();
    (worth_of(lines, &matches, task), files)
}

/// Returns whether a line could be taken for a path or a match.
fn looks_marked(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    line.starts_with(['@', '=']) || (digits > 0 && line[digits..].starts_with(':'))
}

impl Reading for Search<'_> {
    fn lossless(&self) -> Option<Draft> {
        let mut out = String::with_capacity(self.text.len());
        let mut path = None;
        for (at, line) in self.text.split('\n').enumerate() {
            if at > 0 {
                out.push('\n');
            }
            match split(line) {
                Some((found, rest)) => {
                    if path != Some(found) {
                        out.push('@');
                        out.push_str(found);
                        out.push('\n');
                        path = Some(found);
                    }
                    out.push_str(rest);
                }
                None => {
                    if looks_marked(line) {
                        out.push('=');
                    }
                    out.push_str(line);
                }
            }
        }
        path.map(|_| Draft {
            text: out,
            method: Method::Grouped,
            left_out: Vec::new(),
        })
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let task = Task::new(goal.task);
        let lines: Vec<&str> = self.text.lines().collect();
        let matches: Vec<Option<(&str, &str)>> = lines.iter().map(|line| split(line)).collect();
        let worth = worth_of(&lines, &matches, &task);
        let order = order(&worth);
        let gap = |from: usize, to: usize| {
            let mut files: Vec<&str> =
                matches[from..to].iter().flatten().map(|(path, _)| *path).collect();
            files.dedup();
            format!(
                "{GAP} {} matches left out, in {} files\n",
                to - from,
                files.len()
            )
        };
        let gap_price = goal.count(&gap(0, 0)) + 4;
        settle(goal, |budget| {
            let longest = (budget as usize).max(40);
            let mut last = None;
            let choice = Choice {
                order: &order,
                ends: &[lines.len()],
                budget,
                gap: gap_price,
            };
            let stays = choice.make(|at| {
                let Some((path, rest)) = matches[at] else {
                    return price(&format!("{}\n", as_line(lines[at], longest)), goal);
                };
                // A path is paid for with its first match; what that leaves out, `settle` finds.
                let head = if last == Some(path) {
                    String::new()
                } else {
                    format!("@{path}\n")
                };
                last = Some(path);
                price(&format!("{head}{}\n", as_line(rest, longest)), goal)
            });
            if !stays.contains(&true) {
                return None;
            }
            let mut text = String::new();
            let mut path = None;
            let mut written = Vec::new();
            let gap = |gone: std::ops::Range<usize>| gap(gone.start, gone.end);
            write_kept(&stays, &mut text, gap, |at, text| {
                let mut line = lines[at];
                if let Some((found, rest)) = matches[at] {
                    if path != Some(found) {
                        text.push('@');
                        text.push_str(found);
                        text.push('\n');
                        path = Some(found);
                    }
                    line = rest;
                }
                text.push_str(&as_line(line, longest));
                text.push('\n');
                written.push(line);
            });
            text.truncate(text.trim_end().len());
            let mut left_out = count(&stays, Unit::Matches, &irrelevant);
            left_out.extend(shortened(written.into_iter(), longest));
            Some(Draft {
                text,
                method: Method::Selected,
                left_out,
            })
        })
    }
}

/// Expands the lines that [`condense`](super::condense) grouped.
pub fn expand(text: &str) -> Result<String, Malformed> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut path = None;
    let mut first = true;
    for (number, line) in text.split('\n').enumerate() {
        if let Some(found) = line.strip_prefix('@') {
            path = Some(found);
            continue;
        }
        if !first {
            out.push('\n');
        }
        first = false;
        if looks_marked(line) && !line.starts_with('=') {
            out.push_str(path.ok_or(Malformed {
                what: "a match without a path",
                line: number + 1,
            })?);
            out.push(':');
        }
        out.push_str(line.strip_prefix('=').unwrap_or(line));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str) {
        if let Some(draft) = Search::read(text).lossless() {
            assert_eq!(expand(&draft.text).as_deref(), Ok(text), "{}", draft.text);
        }
    }

    #[test]
    fn a_path_is_said_once() {
        let text =
            "src/a.rs:12:fn a() {\nsrc/a.rs:40:5:a();\n--\nsrc/b.rs:3:use a;\n@x\n7:no path\n";
        let grouped = Search::read(text).lossless().unwrap().text;
        assert_eq!(
            grouped,
            "@src/a.rs\n12:fn a() {\n40:5:a();\n--\n@src/b.rs\n3:use a;\n=@x\n=7:no path\n"
        );
        check(text);
    }

    #[test]
    fn something_of_each_file_and_what_the_task_names_stay() {
        let text: String = (0..500)
            .map(|at| {
                format!(
                    "src/f{}.rs:{}:    call_{}();\n",
                    at / 50,
                    at % 50 + 1,
                    at * 3
                )
            })
            .collect();
        let goal = Goal {
            tokens: 300,
            task: "who does call_741?",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Search::read(&text).lossy(&goal).unwrap();
        for file in 0..10 {
            assert!(
                draft.text.contains(&format!("@src/f{file}.rs\n")),
                "{}",
                draft.text
            );
        }
        assert!(
            draft.text.contains("\n48:    call_741();\n"),
            "{}",
            draft.text
        );
        assert!(draft.text.len() / 4 <= 300);
    }

    proptest! {
        #[test]
        fn all_lines_come_back(lines in prop::collection::vec(prop_oneof![
            "(a/b|c[.]rs|@d/e|=f/):[0-9]{1,3}:[ -~é]{0,9}",
            "[@=0-9:a./\\-]{0,8}",
        ], 0..20)) {
            check(&lines.join("\n"));
            check(&(lines.join("\n") + "\n"));
        }
    }
}
