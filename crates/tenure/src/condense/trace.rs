//! Stack traces: messages and causes, the first and the last frames, one's own frames rather than
//! those of libraries, each frame once.

use super::detect::is_frame;
use super::lines::{Kept, keep};
use super::log::Log;
use super::select::order;
use super::signal::{Signs, Task, worth};
use super::{Draft, Goal, Map, Method, Omission, Reading, Unit};

/// The worth of a line that is no frame.
const MESSAGE: f64 = 1_000.0;
/// The worth of a frame at an end of its trace.
const END: f64 = 100.0;
/// The worth of a frame of one's own code.
const OWN: f64 = 10.0;
/// So many frames at each end of a trace.
const ENDS: usize = 3;

/// Parts of lines that name a frame of a library.
#[rustfmt::skip]
const LIBRARIES: [&str; 32] = [
    "site-packages", "dist-packages", "node_modules", "node:internal", "/usr/lib", "/usr/local/go",
    "/rustc/", ".cargo/registry", "<frozen ", "/gems/", "/vendor/", " java.", " javax.", " jdk.",
    " sun.", " org.springframework.", " org.apache.", " org.hibernate.", " io.netty.", " kotlin.",
    " scala.", " reactor.", " core::", " std::", " alloc::", " tokio::", " System.", " Microsoft.",
    "runtime/", "lib/python3", "java.base/", "(internal/",
];

/// A text read as stack traces.
pub(super) struct Trace<'t> {
    text: &'t str,
    lines: Log<'t>,
}

impl<'t> Trace<'t> {
    pub(super) fn read(text: &'t str) -> Option<Trace<'t>> {
        let lines = Log::read(text)?;
        Some(Trace { text, lines })
    }
}

impl Trace<'_> {
    /// Returns the worth of each of its lines for a task, and whether it stood before.
    pub(super) fn worth(&self, lines: &[&str], task: &Task) -> (Vec<f64>, Vec<bool>) {
        let frames = frames(lines);
        let signs: Vec<Signs> = lines.iter().map(|line| task.read(line)).collect();
        let mut worth = worth(task, &signs);
        let mut seen: Map<&str, ()> = Map::default();
        let repeated: Vec<bool> = lines
            .iter()
            .map(|line| !line.trim().is_empty() && seen.insert(line.trim(), ()).is_some())
            .collect();
        let mut start = 0;
        while start < lines.len() {
            let end = (start..lines.len())
                .find(|at| frames[*at] != frames[start])
                .unwrap_or(lines.len());
            for at in start..end {
                worth[at] += match frames[start] {
                    _ if repeated[at] => 0.0,
                    false => MESSAGE,
                    true if at < start + ENDS || at + ENDS >= end => END,
                    true if is_own(lines[at]) => OWN,
                    true => 0.0,
                };
            }
            start = end;
        }
        (worth, repeated)
    }
}

impl Reading for Trace<'_> {
    /// Frames that repeat are folded like the lines of a log.
    fn lossless(&self) -> Option<Draft> {
        self.lines.lossless()
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let lines: Vec<&str> = self.text.lines().collect();
        let (worth, repeated) = self.worth(&lines, &Task::new(goal.task));
        let class = |at: usize| {
            if repeated[at] {
                Omission::Repeat
            } else {
                Omission::LowRelevance
            }
        };
        keep(
            &Kept {
                head: "",
                parts: &lines,
                end: "\n",
                order: &order(&worth),
                unit: Unit::Frames,
                method: Method::Selected,
                class: &class,
            },
            goal,
        )
    }
}

/// Returns the lines that are frames: those that look so, and below them what stands deeper, as the source line of a
/// Python frame.
fn frames(lines: &[&str]) -> Vec<bool> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut above: Option<usize> = None;
    lines
        .iter()
        .map(|line| {
            if is_frame(line) {
                above = Some(depth(line));
                return true;
            }
            let below = above.is_some_and(|above| depth(line) > above && !line.trim().is_empty());
            if !below {
                above = None;
            }
            below
        })
        .collect()
}

fn is_own(line: &str) -> bool {
    !LIBRARIES.iter().any(|library| line.contains(library))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_ends_and_own_frames_stay() {
        let mut text = String::from(
            "Exception in thread \"main\" java.lang.IllegalStateException: no session\n",
        );
        for at in 0..60 {
            let place = match at {
                30 => "com.shop.Cart.total(Cart.java:88)",
                _ => "org.apache.core.Filter.run(Filter.java:7)",
            };
            text.push_str(&format!("\tat {place}\n"));
            text.push_str(&format!(
                "\tat org.springframework.web.Chain.next{at}(Chain.java:{at})\n"
            ));
        }
        text.push_str("Caused by: java.net.SocketTimeoutException: read timed out\n\tat java.net.Socket.read(Socket.java:1)\n");
        let goal = Goal {
            tokens: 220,
            task: "",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Trace::read(&text).unwrap().lossy(&goal).unwrap();
        for part in [
            "IllegalStateException: no session\n",
            "Cart.java:88",
            "Caused by: java.net.SocketTimeoutException",
            "Chain.next59",
            " frames left out\n",
        ] {
            assert!(draft.text.contains(part), "{part} {}", draft.text);
        }
        assert_eq!(draft.left_out[0].class, Omission::Repeat);
        assert!(draft.text.len() / 4 <= 220);
    }

    #[test]
    fn a_frame_of_python_has_its_source_below() {
        let lines = [
            "Traceback (most recent call last):",
            "  File \"a.py\", line 1, in f",
            "    g()",
            "KeyError: 'x'",
        ];
        assert_eq!(frames(&lines), [false, true, true, false]);
        assert!(is_own(lines[1]) && !is_own("  File \"/x/site-packages/y.py\", line 1, in z"));
    }
}
