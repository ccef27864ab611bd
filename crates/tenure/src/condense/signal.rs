//! The worth of a text's parts: the task names it, something went wrong in it, it is unlike the rest.
//!
//! Words are those of the lexical index. A word weighs more the fewer parts hold it, as in BM25,
//! so that a word which stands everywhere decides nothing.

use super::Map;
use crate::base::num::ln;
use crate::rank::ranker::each_term;

/// The most words of a task that count.
const WORDS: usize = 128;

/// The worth of a part that the task names, beside one that is unlike the rest.
const NAMED: f64 = 3.0;
/// The worth of a part with a failure in it, beside that.
const ALARM: f64 = 2.0;
/// Below this, a part is like any other.
pub(super) const NOTABLE: f64 = 0.5;

/// Words of every task: they name nothing.
#[rustfmt::skip]
pub(super) const EMPTY: [&str; 72] = [
    "a", "about", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "check", "could", "did", "do", "does", "explain", "find", "for", "from", "get", "give",
    "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "list", "look", "me",
    "my", "need", "not", "of", "on", "or", "out", "please", "s", "say", "see", "she", "should",
    "show", "so", "t", "tell", "than", "that", "the", "their", "then", "there", "these", "they",
    "this", "to", "was", "we", "what", "which", "with",
];

/// The severity of a failure.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) enum Alarm {
    /// Nothing says so.
    #[default]
    None,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

/// The signs in the words of a part.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Signs {
    /// A bit for each word of the task.
    pub(super) named: u128,
    pub(super) alarm: Alarm,
}

/// The words of a task that name something.
pub(super) struct Task {
    /// Each word with its bit, in order.
    words: Vec<(String, u8)>,
    /// True for the bytes that a word starts with.
    starts: [bool; 256],
}

impl Task {
    pub(super) fn new(task: &str) -> Task {
        let mut words: Vec<(String, u8)> = Vec::new();
        let mut starts = [false; 256];
        each_term(task, |term| {
            let known =
                EMPTY.binary_search(&term).is_ok() || words.iter().any(|(word, _)| word == term);
            if !known && words.len() < WORDS {
                starts[usize::from(term.as_bytes()[0])] = true;
                words.push((term.to_owned(), words.len() as u8));
            }
        });
        words.sort_unstable();
        Task { words, starts }
    }

    /// Returns the signs in the words of `text`.
    pub(super) fn read(&self, text: &str) -> Signs {
        let mut signs = Signs::default();
        each_term(text, |term| {
            if self.starts[usize::from(term.as_bytes()[0])]
                && let Ok(at) = self.words.binary_search_by(|(word, _)| word.as_str().cmp(term))
            {
                signs.named |= 1 << self.words[at].1;
            }
            if signs.alarm < Alarm::Error {
                signs.alarm = signs.alarm.max(alarm(term));
            }
        });
        signs
    }

    /// Returns the number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }
}

/// Returns the severity that a word gives the part that it stands in.
fn alarm(term: &str) -> Alarm {
    let starts = |words: &[&str]| words.iter().any(|word| term.starts_with(word));
    let bad = match term.as_bytes()[0] {
        b'a' => starts(&["abort"]),
        b'c' => starts(&["crash", "corrupt", "critical"]),
        b'd' => starts(&["denied", "deadlock"]),
        b'e' => term == "err" || starts(&["error", "exception", "emerg"]),
        b'f' => starts(&["fail", "fatal", "forbidden"]),
        b'k' => term == "killed",
        b'o' => term == "oom",
        b'p' => starts(&["panic"]),
        b'r' => starts(&["refused", "reject"]),
        b's' => starts(&["segfault", "severe"]),
        b't' => starts(&["timeout", "timedout", "traceback"]),
        b'u' => starts(&["unauthorized", "unreachable", "unhandled", "uncaught"]),
        _ => false,
    };
    let ends = |words: &[&str]| words.iter().any(|word| term.ends_with(word));
    if bad || (term.len() > 8 && ends(&["error", "exception", "failure", "timeout"])) {
        Alarm::Error
    } else if starts(&[
        "warn",
        "invalid",
        "unavailable",
        "deprecated",
        "deprecation",
    ]) {
        Alarm::Warning
    } else {
        Alarm::None
    }
}

/// Returns the worth of a mark that `holders` of `parts` have.
pub(super) fn rarity(parts: usize, holders: usize) -> f64 {
    let (parts, holders) = (parts as f64, holders.min(parts) as f64);
    ln(1.0 + (parts - holders + 0.5) / (holders + 0.5))
}

/// Returns the worth of each part by its words.
pub(super) fn worth(task: &Task, parts: &[Signs]) -> Vec<f64> {
    let mut named = vec![0usize; task.len()];
    let (mut errors, mut warnings) = (0, 0);
    for signs in parts {
        each_bit(signs.named, |bit| named[bit] += 1);
        errors += usize::from(signs.alarm == Alarm::Error);
        warnings += usize::from(signs.alarm >= Alarm::Warning);
    }
    let named: Vec<f64> =
        named.iter().map(|holders| NAMED * rarity(parts.len(), *holders)).collect();
    let errors = ALARM * rarity(parts.len(), errors);
    let warnings = ALARM * rarity(parts.len(), warnings) / 2.0;
    parts
        .iter()
        .map(|signs| {
            let mut sum = match signs.alarm {
                Alarm::None => 0.0,
                Alarm::Warning => warnings,
                Alarm::Error => errors,
            };
            each_bit(signs.named, |bit| sum += named[bit]);
            sum
        })
        .collect()
}

fn each_bit(mut bits: u128, mut found: impl FnMut(usize)) {
    while bits != 0 {
        found(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

/// Adds to each part's worth what its value in one column says: a value that is rare where few
/// different ones are, a column that few have, a number far from the others.
pub(super) fn add_unlike(worth: &mut [f64], column: &[Option<&str>]) {
    let parts = column.len();
    let rare = (parts / 50).max(1);
    if parts < 8 {
        return;
    }
    let filled = column.iter().flatten().count();
    if filled <= rare {
        let value = rarity(parts, filled);
        for (worth, cell) in worth.iter_mut().zip(column) {
            *worth += if cell.is_some() { value } else { 0.0 };
        }
        return;
    }
    let mut counts: Map<&str, usize> = Map::default();
    for &value in column.iter().flatten() {
        *counts.entry(value).or_default() += 1;
        if counts.len() > KINDS {
            break;
        }
    }
    if counts.len() <= KINDS.min(parts / 4) {
        for (worth, cell) in worth.iter_mut().zip(column) {
            let count = cell.and_then(|value| counts.get(value)).copied();
            if let Some(count) = count.filter(|count| *count <= rare) {
                *worth += rarity(parts, count);
            }
        }
    }
    add_outliers(worth, column, filled);
}

/// With more different values than this, each is rare.
const KINDS: usize = 32;

/// So many times the median distance from the median is far.
const FAR: f64 = 10.0;

/// Numbers that are far from the others, the few farthest.
fn add_outliers(worth: &mut [f64], column: &[Option<&str>], filled: usize) {
    let number = |cell: &Option<&str>| {
        let text = (*cell)?;
        let start = text.as_bytes().first()?;
        let value: f64 =
            (start.is_ascii_digit() || *start == b'-').then(|| text.parse().ok())??;
        value.is_finite().then_some(value)
    };
    let numbers: Vec<Option<f64>> = column.iter().map(number).collect();
    let mut sorted: Vec<f64> = numbers.iter().flatten().copied().collect();
    if sorted.len() * 10 < filled * 9 {
        return;
    }
    let middle = sorted.len() / 2;
    let median = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    for value in &mut sorted {
        *value = (*value - median).abs();
    }
    let spread = *sorted.select_nth_unstable_by(middle, f64::total_cmp).1;
    let limit = spread * FAR;
    let count = sorted.iter().filter(|value| **value > limit).count();
    // Where many are far the values are of several kinds, and none is an outlier.
    if count > 0 && spread > 0.0 && count <= (filled / 50).max(1) {
        let value = rarity(filled, count);
        for (worth, number) in worth.iter_mut().zip(&numbers) {
            let is_far = number.is_some_and(|number| (number - median).abs() > limit);
            *worth += if is_far { value } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_words_are_in_order() {
        assert!(EMPTY.is_sorted());
    }

    #[test]
    fn a_rare_word_of_the_task_outweighs_a_common_one() {
        let task = Task::new("Why did payment ORD-4711 fail?");
        let texts = [
            "payment ord-1",
            "payment ORD-4711",
            "payment ord-3",
            "timeout ord-4",
        ];
        let signs: Vec<Signs> = texts.iter().map(|text| task.read(text)).collect();
        let worth = worth(&task, &signs);
        assert!(worth[1] > worth[3] && worth[3] > worth[0], "{worth:?}");
        assert_eq!(signs[3].alarm, Alarm::Error);
        assert_eq!(
            task.read("no mirror, a NullPointerException").alarm,
            Alarm::Error
        );
        assert_eq!(task.read("no mirror of terrors").alarm, Alarm::None);
    }

    #[test]
    fn what_is_unlike_the_rest_stands_out() {
        let mut states = vec![Some("ok"); 100];
        states[40] = Some("stuck");
        let mut worth = vec![0.0; 100];
        add_unlike(&mut worth, &states);
        assert!(worth[40] > 3.0 && worth.iter().filter(|worth| **worth > 0.0).count() == 1);

        let numbers: Vec<String> = (0..100)
            .map(|n| (if n == 7 { 90_000 } else { 100 + n % 9 }).to_string())
            .collect();
        let sizes: Vec<Option<&str>> = numbers.iter().map(|size| Some(size.as_str())).collect();
        let mut worth = vec![0.0; 100];
        add_unlike(&mut worth, &sizes);
        assert!(worth[7] > worth[8]);

        let mut notes = vec![None; 100];
        notes[3] = Some("x");
        let mut worth = vec![0.0; 100];
        add_unlike(&mut worth, &notes);
        assert!(worth[3] > 3.0);
    }
}
