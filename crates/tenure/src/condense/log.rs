//! Logs: lines that differ in their numbers alone become a template and what differs.
//!
//! ```text
//! &1=2026-06-06T12:{} INFO [worker-{}] served {} in {} ms
//! starting up
//! &1 00:01.004Z 3 /orders/17 35
//! &1 00:01.010Z 1 /orders/18 2
//! &+4
//! =&1 is a line that looks like a mark
//! ```
//!
//! * A *value* is a word with a digit in it: a number, an instant, an id, a path, an address.
//!   What all values of one place start or end with is part of the template.
//! * `&n` starts a line of the nth template, `&+k` says the line above k more times, `=` starts a
//!   line as it is that looks like one of these. All other lines are as they were.

use std::fmt::Write;

use super::lines::{Kept, irrelevant, keep};
use super::select::{excerpt, order, price};
use super::signal::{Alarm, Signs, Task, worth};
use super::{Draft, GAP, Goal, Malformed, Map, Method, Reading, Unit};

/// Stands in a template for a value.
const SLOT: &str = "{}";
/// The first line of a template in which something went wrong goes before all others.
const FIRST_ERROR: f64 = 2_000.0;
const FIRST_WARNING: f64 = 1_000.0;
/// Of a template with no more lines than this each line may be worth something.
const FEW: u32 = 3;

/// A text read as lines.
pub(super) struct Log<'t> {
    lines: Vec<Line<'t>>,
    /// The values of all lines.
    values: Vec<&'t str>,
    templates: Vec<Template<'t>>,
}

struct Line<'t> {
    text: &'t str,
    template: u32,
    /// The place at which its values start.
    values: u32,
}

/// Lines with the same text around their values.
struct Template<'t> {
    /// The first line.
    first: u32,
    count: u32,
    slots: Vec<Slot<'t>>,
    /// True if slots can be told from the text around them.
    writable: bool,
}

/// The common properties of the values of one place.
struct Slot<'t> {
    /// The first value.
    value: &'t str,
    /// So many bytes at the start are the same in all.
    prefix: usize,
    /// So many at the end.
    suffix: usize,
    shortest: usize,
    longest: usize,
}

impl<'t> Log<'t> {
    pub(super) fn read(text: &'t str) -> Option<Log<'t>> {
        if text.len() > (u32::MAX / 2) as usize {
            return None;
        }
        let mut log = Log {
            lines: Vec::new(),
            values: Vec::new(),
            templates: Vec::new(),
        };
        let mut known: Map<Box<str>, u32> = Map::default();
        let mut around = String::new();
        for text in text.split('\n') {
            let values = log.values.len();
            around.clear();
            let mut written = 0;
            // In what tells templates apart, this stands for a value; values are never neighbours.
            let plain = !text.contains('\0');
            if plain {
                each_value(text, |start, end| {
                    around.push_str(&text[written..start]);
                    around.push('\0');
                    log.values.push(&text[start..end]);
                    written = end;
                });
            } else {
                around.push_str("\0\0");
            }
            around.push_str(&text[written..]);
            let found = &log.values[values..];
            let template = match known.get(around.as_str()) {
                Some(&at) => {
                    let template = &mut log.templates[at as usize];
                    template.count += 1;
                    for (slot, value) in template.slots.iter_mut().zip(found) {
                        slot.add(value);
                    }
                    at
                }
                None => {
                    let at = log.templates.len() as u32;
                    log.templates.push(Template {
                        first: log.lines.len() as u32,
                        count: 1,
                        slots: found.iter().map(|value| Slot::new(value)).collect(),
                        writable: plain && !around.contains(SLOT),
                    });
                    known.insert(around.as_str().into(), at);
                    at
                }
            };
            log.lines.push(Line {
                text,
                template,
                values: values as u32,
            });
        }
        for slot in log.templates.iter_mut().flat_map(|template| &mut template.slots) {
            slot.settle();
        }
        Some(log)
    }

    fn values(&self, line: &Line<'t>) -> &[&'t str] {
        let start = line.values as usize;
        &self.values[start..start + self.templates[line.template as usize].slots.len()]
    }

    /// The text of a template with its slots; how many bytes of it are slots.
    fn write_template(&self, template: &Template<'t>, out: &mut String) -> usize {
        let line = &self.lines[template.first as usize];
        let (mut written, mut at, mut slots) = (0, 0, 0);
        each_value(line.text, |start, end| {
            let slot = template.slots.get(at);
            at += 1;
            if let Some(slot) = slot.filter(|slot| !slot.is_constant()) {
                out.push_str(&line.text[written..start + slot.prefix]);
                out.push_str(SLOT);
                written = end - slot.suffix;
                slots += SLOT.len();
            }
        });
        out.push_str(&line.text[written..]);
        slots
    }

    fn fold(&self) -> Option<Draft> {
        let mut out = String::new();
        // Which templates pay, and the numbers they get.
        let mut numbers = vec![0usize; self.templates.len()];
        let mut number = 0;
        for (template, slot) in self.templates.iter().zip(&mut numbers) {
            if template.count < 2 || !template.writable {
                continue;
            }
            let start = out.len();
            let _ = write!(out, "&{}=", number + 1);
            let head = out.len();
            let slots = self.write_template(template, &mut out);
            let fixed = out.len() - head - slots;
            out.push('\n');
            // A line of it keeps the mark and a space before each value.
            let line = 4 + slots / SLOT.len();
            let saved = (fixed.saturating_sub(line)).saturating_mul(template.count as usize);
            if saved > out.len() - start {
                number += 1;
                *slot = number;
            } else {
                out.truncate(start);
            }
        }
        let mut repeats = 0u32;
        let mut before: Option<&str> = None;
        for (at, line) in self.lines.iter().enumerate() {
            if before == Some(line.text) && !line.text.is_empty() {
                repeats += 1;
                continue;
            }
            if repeats > 0 {
                let _ = writeln!(out, "&+{repeats}");
                repeats = 0;
            }
            before = Some(line.text);
            let number = numbers[line.template as usize];
            if number > 0 {
                let _ = write!(out, "&{number}");
                let slots = &self.templates[line.template as usize].slots;
                for (slot, value) in slots.iter().zip(self.values(line)) {
                    if !slot.is_constant() {
                        out.push(' ');
                        out.push_str(&value[slot.prefix..value.len() - slot.suffix]);
                    }
                }
            } else {
                if line.text.starts_with(['&', '=']) {
                    out.push('=');
                }
                out.push_str(line.text);
            }
            if at + 1 < self.lines.len() {
                out.push('\n');
            }
        }
        if repeats > 0 {
            let _ = write!(out, "&+{repeats}");
        }
        Some(Draft {
            text: out,
            method: Method::Folded,
            left_out: Vec::new(),
        })
    }

    /// Returns a summary of the templates with their numbers of lines, in about `tokens`.
    fn summary(&self, alarms: &[Alarm], tokens: u32, goal: &Goal<'_>) -> String {
        let mut several: Vec<&Template<'_>> =
            self.templates.iter().filter(|template| template.count > 1).collect();
        several.sort_by_key(|template| {
            std::cmp::Reverse((alarms.get(template.first as usize).copied(), template.count))
        });
        let mut out = String::new();
        let (mut spent, mut told) = (0u32, 0u32);
        let mut text = String::new();
        for template in &several {
            text.clear();
            self.write_template(template, &mut text);
            let line = format!("{GAP} {} × {}\n", template.count, excerpt(text.trim(), 200));
            spent = spent.saturating_add(price(&line, goal));
            if spent > tokens {
                break;
            }
            told += template.count;
            out.push_str(&line);
        }
        let others = (alarms.len() as u32).saturating_sub(told);
        if told > 0 && others > 0 {
            let _ = writeln!(out, "{GAP} {others} × another line");
        }
        out
    }
}

/// The worths of a log's lines.
pub(super) struct Weighed {
    pub(super) worth: Vec<f64>,
    alarms: Vec<Alarm>,
}

impl<'t> Log<'t> {
    /// Returns the worth of each line for a task; after the last newline is no line.
    pub(super) fn weighed(&self, task: &Task) -> Weighed {
        let ends = self.lines.last().is_some_and(|line| line.text.is_empty());
        let lines = &self.lines[..self.lines.len() - usize::from(ends)];
        let mut signs: Vec<Signs> = lines.iter().map(|line| task.read(line.text)).collect();
        let alarms: Vec<Alarm> = signs.iter().map(|signs| signs.alarm).collect();
        // Of many lines that went wrong in the same way, the first one stands for all.
        for (at, (line, signs)) in lines.iter().zip(&mut signs).enumerate() {
            let template = &self.templates[line.template as usize];
            if template.first as usize != at && template.count > FEW {
                signs.alarm = Alarm::None;
            }
        }
        let mut worth = worth(task, &signs);
        for template in &self.templates {
            let first = template.first as usize;
            match alarms.get(first) {
                Some(Alarm::Error) => worth[first] += FIRST_ERROR,
                Some(Alarm::Warning) => worth[first] += FIRST_WARNING,
                Some(Alarm::None) | None => {}
            }
        }
        Weighed { worth, alarms }
    }

    /// The lines, without the one after the last newline.
    pub(super) fn lines(&self) -> impl ExactSizeIterator<Item = &'t str> + '_ {
        let ends = self.lines.last().is_some_and(|line| line.text.is_empty());
        let lines = &self.lines[..self.lines.len() - usize::from(ends)];
        lines.iter().map(|line| line.text)
    }

    /// Returns the number of lines with the template of this one.
    pub(super) fn alike(&self, line: usize) -> u32 {
        self.templates[self.lines[line].template as usize].count
    }

    /// The template that most lines have, with how many, where several have one.
    pub(super) fn commonest(&self) -> Option<(u32, String)> {
        let most = self
            .templates
            .iter()
            .filter(|template| template.count > 1)
            .max_by_key(|template| (template.count, std::cmp::Reverse(template.first)))?;
        let mut text = String::new();
        self.write_template(most, &mut text);
        Some((most.count, text))
    }
}

impl Reading for Log<'_> {
    fn lossless(&self) -> Option<Draft> {
        self.fold()
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let Weighed { worth, alarms } = self.weighed(&Task::new(goal.task));
        let lines = &self.lines[..worth.len()];
        let head = self.summary(&alarms, goal.tokens / 3, goal);
        let parts: Vec<&str> = lines.iter().map(|line| line.text).collect();
        keep(
            &Kept {
                head: &head,
                parts: &parts,
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

impl<'t> Slot<'t> {
    fn new(value: &'t str) -> Slot<'t> {
        Slot {
            value,
            prefix: value.len(),
            suffix: value.len(),
            shortest: value.len(),
            longest: value.len(),
        }
    }

    fn add(&mut self, value: &str) {
        let same = |(a, b): &(u8, u8)| a == b;
        let pairs = self.value.bytes().zip(value.bytes());
        self.prefix = pairs.take(self.prefix).take_while(same).count();
        let pairs = self.value.bytes().rev().zip(value.bytes().rev());
        self.suffix = pairs.take(self.suffix).take_while(same).count();
        self.shortest = self.shortest.min(value.len());
        self.longest = self.longest.max(value.len());
    }

    /// Returns whether all values are the same.
    fn is_constant(&self) -> bool {
        self.prefix == self.longest && self.shortest == self.longest
    }

    /// Cuts what is common to whole words, so that something of each value is left.
    fn settle(&mut self) {
        if self.is_constant() {
            return;
        }
        let bytes = self.value.as_bytes();
        let most = self.prefix.min(self.shortest - 1);
        self.prefix =
            (1..=most).rev().find(|at| !bytes[*at - 1].is_ascii_alphanumeric()).unwrap_or(0);
        let most = self.suffix.min(self.shortest - self.prefix - 1);
        self.suffix = (1..=most)
            .rev()
            .find(|length| !bytes[bytes.len() - *length].is_ascii_alphanumeric())
            .unwrap_or(0);
    }
}

/// Calls `found` with the place of each value: a word of letters, digits and what joins them that
/// has a digit in it.
fn each_value(line: &str, mut found: impl FnMut(usize, usize)) {
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if KIND[usize::from(bytes[at])] == 0 {
            at += 1;
            continue;
        }
        let start = at;
        let mut kinds = 0;
        while at < bytes.len() && KIND[usize::from(bytes[at])] != 0 {
            kinds |= KIND[usize::from(bytes[at])];
            at += 1;
        }
        if kinds & DIGIT != 0 {
            // A mark at the end belongs to the sentence.
            let mut end = at;
            while KIND[usize::from(bytes[end - 1])] == JOINT {
                end -= 1;
            }
            found(start, end);
        }
    }
}

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const JOINT: u8 = 4;

/// The kind of a byte in a value; 0 where none is.
const KIND: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut at = 0;
    while at < 256 {
        kinds[at] = match at as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER,
            b':' | b'.' | b'-' | b'+' | b'/' => JOINT,
            _ => 0,
        };
        at += 1;
    }
    kinds
};

/// Expands the lines that [`condense`](super::condense) folded.
///
/// The result may be far longer than the text, as long as the text says.
pub fn expand(text: &str) -> Result<String, Malformed> {
    let mut out = String::with_capacity(text.len() * 2);
    let mut templates: Vec<Vec<&str>> = Vec::new();
    let mut legend = true;
    // Where the line above starts and ends in the result.
    let mut above: Option<(usize, usize)> = None;
    for (number, line) in text.split('\n').enumerate() {
        let wrong = |what| Malformed {
            what,
            line: number + 1,
        };
        if legend {
            let mark = format!("&{}=", templates.len() + 1);
            if let Some(template) = line.strip_prefix(&mark) {
                templates.push(template.split(SLOT).collect());
                continue;
            }
            legend = false;
        }
        if let Some(times) = line.strip_prefix("&+") {
            let times: usize = times.parse().map_err(|_| wrong("how often a line is said"))?;
            let (start, end) = above.ok_or_else(|| wrong("no line above"))?;
            let again = out[start..end].to_owned();
            for _ in 0..times {
                out.push('\n');
                out.push_str(&again);
            }
            continue;
        }
        if above.is_some() {
            out.push('\n');
        }
        let start = out.len();
        if let Some(rest) = line.strip_prefix('&') {
            let mut values = rest.split(' ');
            let template = values
                .next()
                .and_then(|number| number.parse::<usize>().ok())
                .and_then(|number| templates.get(number.checked_sub(1)?))
                .ok_or_else(|| wrong("a line of no template"))?;
            for (at, part) in template.iter().enumerate() {
                if at > 0 {
                    out.push_str(values.next().ok_or_else(|| wrong("too few values"))?);
                }
                out.push_str(part);
            }
            if values.next().is_some() {
                return Err(wrong("too many values"));
            }
        } else {
            out.push_str(line.strip_prefix('=').unwrap_or(line));
        }
        above = Some((start, out.len()));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folded(text: &str) -> String {
        Log::read(text).unwrap().fold().unwrap().text
    }

    #[track_caller]
    fn check(text: &str) {
        let folded = folded(text);
        assert_eq!(expand(&folded).as_deref(), Ok(text), "{folded}");
    }

    #[test]
    fn lines_that_differ_in_numbers_become_a_template() {
        let text = "starting up\n\
            2026-06-06T12:00:01.004Z INFO [worker-3] served /orders/17, 200, in 35 ms.\n\
            2026-06-06T12:00:01.010Z INFO [worker-1] served /orders/18, 200, in 2 ms.\n\
            2026-06-06T12:00:02.000Z INFO [worker-1] served /users/9, 200, in 2 ms.\n\
            2026-06-06T12:00:02.000Z INFO [worker-1] served /users/9, 200, in 2 ms.\n\
            2026-06-06T12:00:02.000Z INFO [worker-1] served /users/9, 200, in 2 ms.\n\
            &1 is no mark\n=nor this\n";
        let expected = "&1=2026-06-06T12:00:{} INFO [worker-{}] served /{}, 200, in {} ms.\n\
            starting up\n\
            &1 01.004Z 3 orders/17 35\n\
            &1 01.010Z 1 orders/18 2\n\
            &1 02.000Z 1 users/9 2\n\
            &+2\n\
            =&1 is no mark\n==nor this\n";
        assert_eq!(folded(text), expected);
        check(text);
    }

    #[test]
    fn the_ends_of_a_text_come_back() {
        for text in [
            "",
            "\n",
            "\n\n\n",
            "a",
            "a\na\na",
            "a\na\na\n",
            "a\r\na\r\n",
            "x1\n\nx1\n\n",
            "&",
            "=",
            "&+1\n&+1",
        ] {
            check(text);
        }
    }

    #[test]
    fn what_nobody_folded_is_refused() {
        for text in [
            "&1",
            "&+1",
            "&1=a {}\n&1",
            "&1=a {}\n&1 1 2",
            "a\n&+x",
            "&0 1",
        ] {
            assert!(expand(text).is_err(), "{text:?}");
        }
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => (0u32..100, 0u32..3).prop_map(|(a, b)| format!("12:00:{a:02} INFO worker-{b} did job v1-{a} of {b}.")),
            2 => (0u32..9).prop_map(|a| format!("&{a} job {a}")),
            1 => (0u32..4).prop_map(|a| format!("&{a}=job {{}} {a}")),
            1 => prop::sample::select(vec!["", " ", "=", "&", "&+2", "&1", "&1=", "{}", "a {} 1", "\0 1", "1 \0", "2 3", "\t1\r", "=&1", "…", "a long line that repeats, with 1 number"]).prop_map(str::to_owned),
            1 => "[ -~é漢]{0,30}",
            1 => "[0-9:./+a-c &={}-]{0,24}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        #[test]
        fn all_lines_come_back(lines in prop::collection::vec((line(), 1usize..4), 0..30)) {
            let mut text = String::new();
            for (line, times) in &lines {
                text.push_str(&format!("{line}\n").repeat(*times));
            }
            check(&text);
            check(text.trim_end_matches('\n'));
        }

        #[test]
        fn anything_expands_or_is_refused(text in "[&=+0-2{} a\n]{0,60}") {
            let _ = expand(&text);
        }
    }
}
