//! The few lines of a text that say what none of its others says: for a summary in which that text no longer
//! stands. What is looked for is what the condenser of the text's type looks for: what went wrong, what the
//! task names, what is unlike the rest; of code and prose whole sentences before fragments.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::log::Log;
use super::search::worth_and_files;
use super::select::excerpt;
use super::sentences::sentences;
use super::signal::{NOTABLE, Signs, Task, add_unlike, worth};
use super::table::Csv;
use super::trace::Trace;
use super::{ContentType, declared};
use crate::rank::ranker::each_term;

/// A text in a few lines.
#[derive(Default)]
pub(crate) struct Telling {
    /// A description: the declarations, or the number of rows and their fields. Empty where there is none.
    pub(crate) about: String,
    /// The lines, in their order.
    pub(crate) lines: Vec<Line>,
}

/// A line that says what no other says.
pub(crate) struct Line {
    pub(crate) text: String,
    /// Its worth, in millionths, beside the sentences of a conversation.
    pub(crate) score: u32,
}

/// So many lines of one text at most.
const MOST: usize = 12;
/// The longest line, in bytes.
const LONGEST: usize = 240;
/// Of so few lines each says something.
const FEW: usize = 8;
/// The number of words below which a line is a fragment.
const WORDS: usize = 3;
/// A longer JSON text is read as lines.
const JSON: usize = 4 << 20;
/// More records and columns than these are not compared.
const RECORDS: usize = 20_000;
const COLUMNS: usize = 64;

/// The score of the first fact, sentence or fragment of a text, and by how much the next ones are worth less.
const FACT: (u32, u32) = (520_000, 40_000);
const SENTENCE: (u32, u32) = (440_000, 30_000);
const FRAGMENT: (u32, u32) = (240_000, 20_000);
/// No line is worth less.
const LEAST: u32 = 60_000;

/// The worth of a line in a text of lines, beside those that the task names.
const WHOLE_SENTENCE: f64 = 4.0;
const ALONE: f64 = 2.0;
const LAST: f64 = 1.0;

/// Returns the number of words of a text: terms with a letter.
pub(crate) fn words(text: &str) -> usize {
    let mut words = 0;
    each_term(text, |term| {
        words += usize::from(term.contains(char::is_alphabetic));
    });
    words
}

/// Returns whether a text says too little to stand alone.
pub(crate) fn is_fragment(text: &str) -> bool {
    words(text) < WORDS
}

/// Returns whether it is a sentence, and no fragment or title.
fn is_sentence(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['"', '\'', ')', '`', '*']);
    let ends = text.ends_with(['.', '!', '?', '。', '！', '？']) && !text.ends_with("...");
    // Code ends with a full stop by chance alone.
    let code = text.contains(['{', '}', ';', '=']) || text.contains("::");
    ends && !code && words(text) > WORDS
}

/// Returns the findings of a text of this type that are worth a line of their own.
pub(crate) fn telling(text: &str, content_type: ContentType, task: &str) -> Telling {
    let task = Task::new(task);
    match content_type {
        ContentType::Code => code(text, &task),
        ContentType::Diff => diff(text, &task),
        ContentType::Json => json(text, &task).unwrap_or_else(|| log(text, &task)),
        ContentType::Log | ContentType::Turns => log(text, &task),
        ContentType::Markdown => prose(text, listed("headings", &declared::headings(text)), &task),
        ContentType::Prose => prose(text, String::new(), &task),
        ContentType::Search => search(text, &task),
        ContentType::StackTrace => trace(text, &task).unwrap_or_else(|| log(text, &task)),
        ContentType::Table => table(text, &task).unwrap_or_else(|| log(text, &task)),
    }
}

/// Some names, with how many there are more.
pub(crate) fn listed(what: &str, names: &[&str]) -> String {
    let mut told = String::new();
    for (at, name) in names.iter().enumerate() {
        if told.len() + name.len() > LONGEST {
            told.push_str(&format!(" and {} more", names.len() - at));
            break;
        }
        told.push_str(if at == 0 { "" } else { ", " });
        told.push_str(&excerpt(name, 64));
    }
    if told.is_empty() {
        told
    } else {
        format!("{what} {told}")
    }
}

/// The best of these, by worth, in their order. Each has its place, its text and its worth.
fn best(mut found: Vec<(usize, String, f64)>, (first, less): (u32, u32)) -> Vec<Line> {
    found.retain(|(_, text, _)| !is_fragment(text));
    found.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    found.truncate(MOST);
    let mut scored: Vec<(usize, Line)> = (0u32..)
        .zip(found)
        .map(|(rank, (at, text, _))| {
            let score = first.saturating_sub(less.saturating_mul(rank)).max(LEAST);
            (at, Line { text, score })
        })
        .collect();
    scored.sort_by_key(|(at, _)| *at);
    scored.into_iter().map(|(_, line)| line).collect()
}

/// A text on one line, no longer than a line of a summary.
fn short(text: &str) -> String {
    excerpt(&one_line(text), LONGEST)
}

/// A text without line breaks: it cannot be taken for lines of its own.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The notable ones of these lines.
fn notable<'t>(lines: impl Iterator<Item = &'t str>, worth: &[f64]) -> Vec<Line> {
    let few = worth.len() <= FEW;
    let found = lines
        .zip(worth)
        .enumerate()
        .filter(|(_, (line, worth))| (few || **worth >= NOTABLE) && !line.trim().is_empty())
        .map(|(at, (line, worth))| (at, short(line), *worth));
    best(found.collect(), FACT)
}

fn log(text: &str, task: &Task) -> Telling {
    let Some(log) = Log::read(text) else {
        return Telling::default();
    };
    let mut worth = log.weighed(task).worth;
    let lines: Vec<&str> = log.lines().collect();
    let said = lines.iter().filter(|line| !line.trim().is_empty()).count();
    // A line unlike all others, or a sentence among fragments, says something where few are so.
    let mut add = |what: f64, is: &dyn Fn(usize) -> bool| {
        let found: Vec<usize> =
            (0..lines.len()).filter(|at| !lines[*at].trim().is_empty() && is(*at)).collect();
        if found.len() * 8 <= said || said <= FEW {
            found.into_iter().for_each(|at| worth[at] += what);
        }
    };
    add(ALONE, &|at| log.alike(at) == 1);
    add(WHOLE_SENTENCE, &|at| {
        log.alike(at) == 1 && is_sentence(lines[at])
    });
    if let Some(last) = lines.iter().rposition(|line| !line.trim().is_empty()) {
        worth[last] += LAST;
    }
    let mut about = format!("{said} lines");
    if let Some((count, template)) = log.commonest()
        && count > 2
        && !is_fragment(&template)
    {
        about.push_str(&format!(
            ", {count} like `{}`",
            excerpt(template.trim(), 80)
        ));
    }
    Telling {
        about,
        lines: notable(lines.into_iter(), &worth),
    }
}

fn table(text: &str, task: &Task) -> Option<Telling> {
    let csv = Csv::read(text)?;
    let worth = csv.worth(task);
    let few = worth.len() <= FEW;
    let mut found: Vec<(usize, f64)> = worth
        .iter()
        .enumerate()
        .filter(|(_, worth)| few || **worth >= NOTABLE)
        .map(|(at, worth)| (at, *worth))
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found.truncate(4 * MOST);
    let found = found.into_iter().map(|(at, worth)| (at, short(&csv.named(at)), worth));
    Some(Telling {
        about: format!("{} rows {}", csv.len(), listed("of", csv.names())),
        lines: best(found.collect(), FACT),
    })
}

fn search(text: &str, task: &Task) -> Telling {
    let lines: Vec<&str> = text.lines().collect();
    let (worth, files) = worth_and_files(&lines, task);
    Telling {
        about: format!("{} matches {}", lines.len(), listed("in", &files)),
        lines: notable(lines.into_iter(), &worth),
    }
}

fn trace(text: &str, task: &Task) -> Option<Telling> {
    let lines: Vec<&str> = text.lines().collect();
    let (worth, repeated) = Trace::read(text)?.worth(&lines, task);
    let each = lines.iter().zip(worth).zip(repeated).enumerate();
    let found = each
        .filter(|(_, ((line, worth), repeated))| {
            *worth >= NOTABLE && !repeated && !line.trim().is_empty()
        })
        .map(|(at, ((line, worth), _))| (at, short(line), worth));
    Some(Telling {
        about: format!("a stack trace of {} lines", lines.len()),
        lines: best(found.collect(), FACT),
    })
}

fn diff(text: &str, task: &Task) -> Telling {
    let files: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("+++ "))
        .map(|path| path.strip_prefix("b/").unwrap_or(path))
        .collect();
    let changes: Vec<&str> = text
        .lines()
        .filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        })
        .collect();
    Telling {
        about: format!("{} changed lines {}", changes.len(), listed("in", &files)),
        lines: named(&changes, task),
    }
}

/// The lines of code that the task names or that say that something goes wrong.
fn named(lines: &[&str], task: &Task) -> Vec<Line> {
    let signs: Vec<Signs> = lines.iter().map(|line| task.read(line)).collect();
    let worth = worth(task, &signs);
    let each = lines.iter().zip(&signs).zip(worth).enumerate();
    let found = each
        .filter(|(_, ((_, signs), worth))| signs.named != 0 && *worth >= NOTABLE)
        .map(|(at, ((line, _), worth))| (at, short(line), worth));
    best(found.collect(), FRAGMENT)
}

fn code(text: &str, task: &Task) -> Telling {
    let comments = comments(text);
    let said: Vec<&str> = comments
        .iter()
        .flat_map(|comment| sentences(comment))
        .filter(|sentence| is_sentence(sentence) && !is_notice(sentence))
        .collect();
    let (alone, alike) = apart(&said);
    let mut lines = ranked(&alone, task, FACT);
    lines.extend(ranked(&alike, task, SENTENCE));
    let code: Vec<&str> = text.lines().filter(|line| comment(line).is_none()).collect();
    lines.extend(named(&code, task));
    Telling {
        about: listed("declares", &declared::names(text)),
        lines,
    }
}

/// The sentences that are unlike all others of their text, where few are so, and the rest. Unlike is a sentence of
/// which half of the words stand in no other.
fn apart<'t>(said: &[&'t str]) -> (Vec<&'t str>, Vec<&'t str>) {
    let terms = |sentence: &str| {
        let mut terms = BTreeSet::new();
        each_term(sentence, |term| {
            terms.insert(term.to_owned());
        });
        terms
    };
    let terms: Vec<BTreeSet<String>> = said.iter().map(|sentence| terms(sentence)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for term in terms.iter().flatten() {
        *counts.entry(term).or_default() += 1;
    }
    let alone: Vec<bool> = terms
        .iter()
        .map(|terms| {
            let own = terms.iter().filter(|term| counts[term.as_str()] == 1);
            own.count() * 2 >= terms.len()
        })
        .collect();
    let count = alone.iter().filter(|alone| **alone).count();
    if said.len() <= FEW || count * 4 > said.len() {
        return (Vec::new(), said.to_vec());
    }
    let (mut unlike, mut alike) = (Vec::new(), Vec::new());
    for (sentence, alone) in said.iter().zip(alone) {
        let of = if alone { &mut unlike } else { &mut alike };
        of.push(*sentence);
    }
    (unlike, alike)
}

/// Sentences: what the task names, the first one, those that say why.
fn ranked(said: &[&str], task: &Task, scores: (u32, u32)) -> Vec<Line> {
    let signs: Vec<Signs> = said.iter().map(|sentence| task.read(sentence)).collect();
    let found = worth(task, &signs).into_iter().enumerate().map(|(at, worth)| {
        let first = f64::from(u8::from(at == 0));
        let why = f64::from(u8::from(says_why(said[at])));
        (at, short(said[at]), worth + first + why)
    });
    best(found.collect(), scores)
}

fn says_why(sentence: &str) -> bool {
    let lower = format!(" {} ", sentence.to_lowercase());
    let words = [
        " because",
        " so that ",
        " since ",
        " else ",
        " otherwise",
        " must ",
        " never ",
        " why ",
    ];
    words.iter().any(|word| lower.contains(word))
}

/// Returns whether a sentence is of a licence, which every file has.
fn is_notice(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["copyright", "licen", "warrant"].iter().any(|word| lower.contains(word))
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim();
    let marks = [
        "//!", "///", "//", "/**", "/*", "* ", "# ", "-- ", ";; ", "<!--",
    ];
    let rest = marks.iter().find_map(|mark| text.strip_prefix(mark))?;
    Some(rest.trim().trim_end_matches("*/").trim_end_matches("-->").trim())
}

/// The comments and doc strings of a source text, each as one text.
fn comments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    // What closes the doc string that is open.
    let mut closes: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim();
        let quotes = ["\"\"\"", "'''"].into_iter().find(|mark| trimmed.contains(mark));
        let said = match (closes, quotes) {
            (Some(mark), _) => {
                if trimmed.contains(mark) {
                    closes = None;
                }
                Some(trimmed.trim_matches(['"', '\'']))
            }
            (None, Some(mark)) if trimmed.starts_with(mark) => {
                if trimmed.matches(mark).count() == 1 {
                    closes = Some(mark);
                }
                open = false;
                Some(trimmed.trim_matches(['"', '\'']))
            }
            _ => comment(line),
        };
        match said {
            Some(said) if open && !said.is_empty() => {
                if let Some(last) = found.last_mut() {
                    last.push(' ');
                    last.push_str(said);
                }
            }
            Some(said) if !said.is_empty() => found.push(said.to_owned()),
            _ => {}
        }
        open = said.is_some_and(|said| !said.is_empty());
    }
    found
}

fn prose(text: &str, about: String, task: &Task) -> Telling {
    let all = sentences(text);
    let (whole, parts): (Vec<&str>, Vec<&str>) = all.iter().partition(|said| is_sentence(said));
    let mut lines = ranked(&whole, task, SENTENCE);
    lines.extend(ranked(&parts, task, FRAGMENT));
    Telling { about, lines }
}

fn json(text: &str, task: &Task) -> Option<Telling> {
    if text.len() > JSON {
        return None;
    }
    let values: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .take(RECORDS)
        .collect::<Result<_, _>>()
        .ok()?;
    let records: Vec<&Value> = match &values[..] {
        [one] => longest(one, 4).iter().take(RECORDS).collect(),
        _ => values.iter().collect(),
    };
    let mut leaves = Vec::new();
    if let [one] = &values[..] {
        leaf(one, String::new(), 4, &mut leaves);
    }
    let mut keys: Vec<&str> = Vec::new();
    for record in &records {
        let fields = record.as_object().into_iter().flatten();
        for (key, _) in fields {
            if keys.len() < COLUMNS && !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
    }
    let bare = |value: &Value| match value {
        Value::String(text) => excerpt(&one_line(text), 80),
        other => excerpt(&other.to_string(), 80),
    };
    let said: Vec<String> = records
        .iter()
        .map(|record| match record.as_object() {
            Some(fields) => fields
                .iter()
                .take(COLUMNS)
                .map(|(key, value)| format!("{key}={}", bare(value)))
                .collect::<Vec<_>>()
                .join(", "),
            None => bare(record),
        })
        .collect();
    let signs: Vec<Signs> = said.iter().map(|record| task.read(record)).collect();
    let mut worth = worth(task, &signs);
    for key in &keys {
        let column: Vec<Option<String>> = records
            .iter()
            .map(|record| record.get(key).filter(|cell| !cell.is_null()).map(bare))
            .collect();
        let cells: Vec<Option<&str>> = column.iter().map(Option::as_deref).collect();
        add_unlike(&mut worth, &cells);
    }
    let mut lines = notable(said.iter().map(String::as_str), &worth);
    let leaves = packed(leaves).into_iter().enumerate();
    lines.extend(best(
        leaves.map(|(at, line)| (at, line, 0.0)).collect(),
        FRAGMENT,
    ));
    let about = match records.len() {
        0 => String::new(),
        count => format!("{count} records {}", listed("of", &keys)),
    };
    Some(Telling { about, lines })
}

/// The longest list of records in a value.
fn longest(value: &Value, depth: u32) -> &[Value] {
    match value {
        Value::Array(list) if list.first().is_some_and(Value::is_object) => list,
        Value::Object(fields) if depth > 0 => {
            let inner = fields.values().map(|value| longest(value, depth - 1));
            // The first of those that are as long.
            inner.rev().max_by_key(|list| list.len()).unwrap_or_default()
        }
        _ => &[],
    }
}

/// Short values together on a line: alone they are fragments.
fn packed(leaves: Vec<String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for leaf in leaves.iter().map(|leaf| short(leaf)) {
        match lines.last_mut() {
            Some(line) if line.len() + leaf.len() < LONGEST => {
                line.push_str(", ");
                line.push_str(&leaf);
            }
            _ => lines.push(leaf),
        }
    }
    lines
}

/// The values that stand in no list, each with where it stands.
fn leaf(value: &Value, path: String, depth: u32, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if depth > 0 => {
            for (key, value) in fields.iter().take(COLUMNS) {
                let joint = if path.is_empty() { "" } else { "." };
                leaf(value, format!("{path}{joint}{key}"), depth - 1, found);
            }
        }
        Value::String(text) => found.push(format!("{path}: {text}")),
        Value::Bool(_) | Value::Number(_) => found.push(format!("{path}: {value}")),
        _ => {}
    }
}
