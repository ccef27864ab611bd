//! Source code: declarations stay as they are; bodies of functions, the rest of long comments and
//! long values go, as far as they must.
//!
//! ```text
//! /// Reads a header. … 3 lines left out
//! pub fn read(input: &[u8]) -> Result<Header, Error> { … 24 lines left out }
//! ```
//!
//! Where such parts begin and end only a parser can say: the outside answers that, as [`Elidable`]
//! ranges. What is chosen here is which of them stay: what the task names and where something goes
//! wrong first, then the shortest, so that many stay. All bytes outside the ranges that go are those
//! of the original. Where even the declarations are too long, some of their lines stand for all.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lines::{Kept, irrelevant, keep};
use super::select::{order, price, settle};
use super::signal::{Alarm, NOTABLE, Signs, Task, worth};
use super::{ContentType, Draft, GAP, Goal, LeftOut, Method, Omission, Reading, Unit};
use crate::object::vocabulary::vocabulary;

/// The worth of a name that the task names, beside its words in a body.
const NAMED: f64 = 4.0;
/// The number of parts that may fail to fit before the rest is not tried.
const MISFITS: usize = 32;

/// The endings of the names of files whose text is source code that a parser may know.
const ENDINGS: [&str; 12] = [
    "cjs", "cts", "go", "js", "jsx", "mjs", "mts", "py", "pyi", "rs", "ts", "tsx",
];

vocabulary! {
    /// The text in the place of a part of source code.
    Filler ("filler") {
        /// A remark, within what encloses the part: braces, a comment.
        Inside = "inside",
        /// A statement that does nothing, with a remark: a block of Python.
        Statement = "statement",
    }
}

/// A part of a source text that can go without changing what is declared.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Elidable {
    /// Its first byte.
    pub start: u32,
    /// The byte after its last.
    pub end: u32,
    /// The number of its lines that are not blank.
    pub lines: u32,
    /// The name of what it is the body of; empty for a comment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The text in its place.
    pub filler: Filler,
}

impl Elidable {
    /// Writes the text in its place before `next`.
    fn write(&self, out: &mut String, next: &str) {
        let lines = match self.lines {
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        };
        match self.filler {
            Filler::Inside => {
                let ends = next.is_empty() || next.starts_with(['\n', '\r']);
                let space = if ends { "" } else { " " };
                out.push_str(&format!(" {GAP} {lines} left out{space}"));
            }
            Filler::Statement => out.push_str(&format!("...  # {lines} left out")),
        }
    }
}

/// The ending of a file's name, in lower case, when it says that the text is source code.
pub fn ending(name: &str) -> Option<&'static str> {
    let (_, found) = name.rsplit_once('.')?;
    ENDINGS.iter().find(|ending| found.eq_ignore_ascii_case(ending)).copied()
}

/// The text with everything elided that can be; as it is where the ranges are not of this text.
pub fn outline(text: &str, parts: &[Elidable]) -> String {
    match Code::read(text, parts) {
        Some(code) => code.write(&vec![false; parts.len()]).text,
        None => text.to_owned(),
    }
}

/// Condenses source code whose parts are known. Ranges that are not of this text are none.
pub fn condense(text: &str, parts: &[Elidable], goal: &Goal<'_>) -> super::Condensed {
    let code = Code::read(text, parts);
    let reading = code.as_ref().map(|code| code as &dyn Reading);
    super::settled(text, ContentType::Code, reading, goal)
}

/// A source text and its parts.
struct Code<'t> {
    text: &'t str,
    /// By where they start; what encloses another stands before it.
    parts: &'t [Elidable],
    /// The part that encloses each.
    parents: Vec<Option<usize>>,
    /// The ranges of the text, each with the part that it belongs to, and to none within it.
    own: Vec<(usize, Range<usize>)>,
}

impl<'t> Code<'t> {
    /// None where there is nothing to elide, or the ranges are not those of this text.
    fn read(text: &'t str, parts: &'t [Elidable]) -> Option<Code<'t>> {
        let mut parents = Vec::with_capacity(parts.len());
        let mut own = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        let end_of = |part: usize| parts[part].end as usize;
        let mut close = |open: &mut Vec<usize>, at: &mut usize, until: usize| {
            while let Some(&top) = open.last()
                && end_of(top) <= until
            {
                own.push((top, *at..end_of(top)));
                *at = end_of(top);
                open.pop();
            }
            if let Some(&top) = open.last()
                && until < usize::MAX
            {
                own.push((top, *at..until));
            }
        };
        for (part, Elidable { start, end, .. }) in parts.iter().enumerate() {
            let (start, end) = (*start as usize, *end as usize);
            let lies = start < end && text.is_char_boundary(start) && text.is_char_boundary(end);
            if !lies
                || parts
                    .get(part.wrapping_sub(1))
                    .is_some_and(|before| before.start as usize > start)
            {
                return None;
            }
            close(&mut open, &mut at, start);
            if open.last().is_some_and(|top| end_of(*top) < end) {
                return None;
            }
            parents.push(open.last().copied());
            open.push(part);
            at = start;
        }
        close(&mut open, &mut at, usize::MAX);
        (!parts.is_empty()).then_some(Code {
            text,
            parts,
            parents,
            own,
        })
    }

    /// The text without the parts that are not open.
    fn write(&self, open: &[bool]) -> Draft {
        let mut text = String::new();
        let mut at = 0;
        let mut lines = 0u32;
        for (part, open) in self.parts.iter().zip(open) {
            let (start, end) = (part.start as usize, part.end as usize);
            if *open || start < at {
                continue;
            }
            text.push_str(&self.text[at..start]);
            part.write(&mut text, &self.text[end..]);
            lines = lines.saturating_add(part.lines);
            at = end;
        }
        text.push_str(&self.text[at..]);
        let left_out = LeftOut {
            class: Omission::LowRelevance,
            unit: Unit::Lines,
            count: lines,
        };
        Draft {
            text,
            method: Method::Elided,
            left_out: vec![left_out],
        }
    }

    /// Returns the additional cost of each part when it is open and nothing within it is.
    fn prices(&self, goal: &Goal<'_>) -> Vec<u32> {
        let mut texts = vec![String::new(); self.parts.len()];
        for (part, range) in &self.own {
            texts[*part].push_str(&self.text[range.clone()]);
        }
        let mut fillers = vec![0u32; self.parts.len()];
        for (at, part) in self.parts.iter().enumerate() {
            let mut filler = String::new();
            part.write(&mut filler, "x");
            fillers[at] = goal.count(&filler);
            if let Some(parent) = self.parents[at] {
                texts[parent].push_str(&filler);
            }
        }
        texts
            .iter()
            .zip(fillers)
            .map(|(text, filler)| price(text, goal).saturating_sub(filler).max(1))
            .collect()
    }

    /// The parts in the order in which they are offered a place.
    fn ranked(&self, goal: &Goal<'_>) -> Vec<usize> {
        let task = Task::new(goal.task);
        let mut bodies = vec![Signs::default(); self.parts.len()];
        for (part, range) in &self.own {
            let read = task.read(&self.text[range.clone()]);
            let signs = &mut bodies[*part];
            signs.named |= read.named;
            signs.alarm = signs.alarm.max(read.alarm);
        }
        let name = |part: &Elidable| Signs {
            alarm: Alarm::None,
            ..task.read(&words_of(&part.name))
        };
        let names: Vec<Signs> = self.parts.iter().map(name).collect();
        let worth: Vec<f64> = worth(&task, &names)
            .into_iter()
            .zip(worth(&task, &bodies))
            .map(|(name, body)| NAMED * name + body)
            .map(|worth| if worth < NOTABLE { 0.0 } else { worth })
            .collect();
        let length = |part: usize| self.parts[part].end - self.parts[part].start;
        let mut ranked: Vec<usize> = (0..self.parts.len()).collect();
        ranked.sort_by(|a, b| {
            let by_worth = worth[*b].total_cmp(&worth[*a]);
            by_worth.then_with(|| (length(*a), a).cmp(&(length(*b), b)))
        });
        ranked
    }

    /// Returns the parts that stay within the budget; with a part stays its enclosing one.
    fn choose(&self, ranked: &[usize], prices: &[u32], closed: u32, budget: u32) -> Vec<bool> {
        let mut open = vec![false; self.parts.len()];
        let mut spent = closed;
        let mut misfits = 0;
        let mut chain = Vec::new();
        for &part in ranked {
            chain.clear();
            let mut next = Some(part).filter(|part| !open[*part]);
            let mut cost = spent;
            while let Some(at) = next
                && cost <= budget
            {
                cost = cost.saturating_add(prices[at]);
                chain.push(at);
                next = self.parents[at].filter(|parent| !open[*parent]);
            }
            if cost <= budget {
                spent = cost;
                for &at in &chain {
                    open[at] = true;
                }
            } else {
                misfits += 1;
                if misfits == MISFITS {
                    break;
                }
            }
        }
        open
    }

    /// Some lines of the declarations, where all are too many.
    fn lines(&self, closed: Draft, goal: &Goal<'_>) -> Option<Draft> {
        let task = Task::new(goal.task);
        let parts: Vec<&str> = closed.text.lines().collect();
        let signs: Vec<Signs> = parts.iter().map(|line| task.read(line)).collect();
        let kept = Kept {
            head: "",
            parts: &parts,
            end: "\n",
            order: &order(&worth(&task, &signs)),
            unit: Unit::Lines,
            method: Method::Elided,
            class: &irrelevant,
        };
        let mut draft = keep(&kept, goal)?;
        let bodies = closed.left_out.first().map_or(0, |left| left.count);
        if let Some(lines) = draft.left_out.iter_mut().find(|left| left.unit == Unit::Lines) {
            lines.count = lines.count.saturating_add(bodies);
        }
        Some(draft)
    }
}

impl Reading for Code<'_> {
    /// White space may mean something, and names are what they are.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let closed = self.write(&vec![false; self.parts.len()]);
        let tokens = price(&closed.text, goal);
        if tokens > goal.tokens {
            return self.lines(closed, goal);
        }
        let (ranked, prices) = (self.ranked(goal), self.prices(goal));
        let chosen = settle(goal, |budget| {
            Some(self.write(&self.choose(&ranked, &prices, tokens, budget)))
        });
        Some(chosen.unwrap_or(closed))
    }
}

/// A name with a space before each capital that follows a small letter: `readHeader` has two words.
fn words_of(name: &str) -> String {
    let mut words = String::with_capacity(name.len() * 2 + 8);
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            words.push(' ');
        }
        small = c.is_lowercase() || c.is_numeric();
        words.push(c);
    }
    if words.len() > name.len() {
        // As it is, too: the task may write it so.
        words.push(' ');
        words.push_str(name);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str, body: &str, name: &str) -> Elidable {
        let start = text.find(body).unwrap();
        Elidable {
            start: start as u32,
            end: (start + body.len()) as u32,
            lines: body.lines().filter(|line| !line.trim().is_empty()).count() as u32,
            name: name.to_owned(),
            filler: Filler::Inside,
        }
    }

    fn goal<'g>(tokens: u32, task: &'g str, count: &'g dyn Fn(&str) -> usize) -> Goal<'g> {
        Goal {
            tokens,
            task,
            count,
            lossless_only: false,
        }
    }

    #[test]
    fn what_the_task_names_keeps_its_body() {
        let body = |word: &str| {
            format!(
                "\n    {word}();\n    {word}();\n    {}\n",
                "step();\n    ".repeat(20)
            )
        };
        let text = format!(
            "fn parseHeader() {{{}}}\nfn write_body() {{{}}}\nfn close() {{{}}}\n",
            body("a"),
            body("b"),
            body("c")
        );
        let parts = [
            part(&text, &body("a"), "parseHeader"),
            part(&text, &body("b"), "write_body"),
            part(&text, &body("c"), "close"),
        ];
        let count = |text: &str| text.len();
        let task = "Why does the header not parse?";
        let done = condense(&text, &parts, &goal(400, task, &count));
        assert_eq!(done.method, Method::Elided);
        assert!(done.fits && !done.lossless, "{}", done.text);
        assert!(done.text.contains(&format!("fn parseHeader() {{{}}}\n", body("a"))));
        assert!(
            done.text.contains("fn write_body() { … 22 lines left out }\n"),
            "{}",
            done.text
        );
        assert_eq!(done.left_out[0].count, 44);
        assert_eq!(
            outline(&text, &parts),
            "fn parseHeader() { … 22 lines left out }\nfn write_body() { … 22 lines left out }\n\
             fn close() { … 22 lines left out }\n"
        );
    }

    #[test]
    fn a_part_stays_with_what_encloses_it() {
        let inner = format!("\n{}", "deep();\n".repeat(30));
        let middle = format!("\n fn needle() {{{inner}}}\n{}", "more();\n".repeat(5));
        let text = format!(
            "fn outer() {{{middle}}}\nfn other() {{{}}}\n",
            "x();\n".repeat(90)
        );
        let parts = [
            part(&text, &middle, "outer"),
            part(&text, &inner, "needle"),
            part(&text, &"x();\n".repeat(90), "other"),
        ];
        let done = condense(&text, &parts, &goal(500, "the needle", &|text| text.len()));
        assert!(done.text.contains(&middle), "{}", done.text);
        assert!(done.text.ends_with("fn other() { … 90 lines left out }\n"));
    }

    #[test]
    fn ranges_of_another_text_are_none() {
        let text = "fn é() {\n}\n";
        let at = |start, end| Elidable {
            start,
            end,
            lines: 1,
            name: String::new(),
            filler: Filler::Inside,
        };
        for parts in [
            vec![at(4, 6)],
            vec![at(0, 99)],
            vec![at(5, 5)],
            vec![at(6, 8), at(0, 2)],
            vec![at(0, 5), at(3, 8)],
        ] {
            assert!(Code::read(text, &parts).is_none(), "{parts:?}");
            assert_eq!(outline(text, &parts), text);
        }
        assert!(Code::read(text, &[at(0, 8), at(0, 8), at(0, 3), at(8, 9)]).is_some());
    }

    #[test]
    fn names_fall_into_words() {
        assert_eq!(
            words_of("readHTTPHeader2Go"),
            "read HTTPHeader2 Go readHTTPHeader2Go"
        );
        assert_eq!(words_of("read_header"), "read_header");
        assert_eq!(ending("src/Main.RS"), Some("rs"));
        assert_eq!(ending("notes.md"), None);
        assert!(ENDINGS.is_sorted());
    }
}
