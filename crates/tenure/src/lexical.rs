//! Lexical relevance: BM25 (Robertson and Zaragoza, 2009) over names, tags and contents.
//!
//! The postings depend on the candidates alone and are kept with them. The statistics (how many
//! objects hold a term, how long objects are on average) are taken over the objects that the
//! caller may see, at each compile, so that a hidden object changes no score.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::num::ln;
use crate::object::ContextObject;

/// Saturation of the term frequency.
const K1: f64 = 1.2;
/// Weight of the length.
const B: f64 = 0.75;
/// The longest term, in bytes.
const MAX_TERM: usize = 64;

/// SipHash with fixed keys: the table is never iterated, so only the speed depends on it.
type FixedState = BuildHasherDefault<DefaultHasher>;

/// Which objects hold which terms.
#[derive(Debug, Default)]
pub(crate) struct Index {
    terms: HashMap<Box<str>, u32, FixedState>,
    postings: Vec<Vec<Posting>>,
    lengths: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    row: u32,
    frequency: u32,
}

impl Index {
    /// The index of these objects; row numbers are their places.
    pub(crate) fn build<'a>(objects: impl Iterator<Item = &'a ContextObject>) -> Index {
        let mut index = Index::default();
        for (row, object) in objects.enumerate() {
            let row = row as u32;
            let mut length = 0;
            let revision = object.revision();
            let texts = [object.name(), revision.content()].into_iter();
            for text in texts.chain(revision.tags()) {
                each_term(text, |term| {
                    length += 1;
                    index.add(term, row);
                });
            }
            index.lengths.push(length);
        }
        index
    }

    fn add(&mut self, term: &str, row: u32) {
        let id = match self.terms.get(term) {
            Some(id) => *id,
            None => {
                let id = self.postings.len() as u32;
                self.terms.insert(term.into(), id);
                self.postings.push(Vec::new());
                id
            }
        };
        let postings = &mut self.postings[id as usize];
        match postings.last_mut() {
            Some(last) if last.row == row => last.frequency += 1,
            _ => postings.push(Posting { row, frequency: 1 }),
        }
    }

    /// The BM25 score of each row for `query`, over the rows for which `sees` holds. The sums run in
    /// the order of the query's sorted terms, so they are the same on every platform.
    pub(crate) fn scores(&self, query: &str, sees: &Seen<'_>) -> Vec<f64> {
        let mut terms: Vec<(&str, u32)> = Vec::new();
        each_term(query, |term| {
            let known = self.terms.get_key_value(term);
            terms.extend(known.map(|(term, id)| (&**term, *id)));
        });
        terms.sort_unstable();
        terms.dedup();
        let mut scores = vec![0.0; self.lengths.len()];
        if terms.is_empty() {
            return scores;
        }
        let count = sees.count as f64;
        let total: u64 = match sees.rows {
            None => self.lengths.iter().map(|length| u64::from(*length)).sum(),
            Some(rows) => self
                .lengths
                .iter()
                .zip(rows)
                .filter(|(_, seen)| **seen)
                .map(|(length, _)| u64::from(*length))
                .sum(),
        };
        let mean = (total as f64 / count).max(1.0);
        let damping = |length: &u32| K1 * (1.0 - B + B * f64::from(*length) / mean);
        let damping: Vec<f64> = self.lengths.iter().map(damping).collect();
        for (_, id) in terms {
            let postings = &self.postings[id as usize];
            let visible =
                |posting: &&Posting| sees.rows.is_none_or(|rows| rows[posting.row as usize]);
            let holders = match sees.rows {
                None => postings.len(),
                Some(_) => postings.iter().filter(visible).count(),
            } as f64;
            let rarity = ln(1.0 + (count - holders + 0.5) / (holders + 0.5));
            for posting in postings.iter().filter(visible) {
                let row = posting.row as usize;
                let frequency = f64::from(posting.frequency);
                scores[row] += rarity * (frequency * (K1 + 1.0) / (frequency + damping[row]));
            }
        }
        scores
    }
}

/// The rows that count.
pub(crate) struct Seen<'a> {
    /// One flag a row, or `None` when all count.
    pub(crate) rows: Option<&'a [bool]>,
    /// How many count.
    pub(crate) count: usize,
}

/// Calls `found` for each term of `text`: a run of letters and digits in lower case; an ideograph,
/// kana or hangul syllable is a term of its own.
pub(crate) fn each_term(text: &str, mut found: impl FnMut(&str)) {
    let mut term = String::with_capacity(MAX_TERM);
    for c in text.chars() {
        let alone = matches!(u32::from(c), 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF);
        if !c.is_alphanumeric() || alone {
            if !term.is_empty() {
                found(&term);
                term.clear();
            }
            if alone && c.is_alphanumeric() {
                found(c.encode_utf8(&mut [0; 4]));
            }
        } else if term.len() < MAX_TERM {
            if c.is_ascii() {
                term.push(c.to_ascii_lowercase());
            } else {
                term.extend(c.to_lowercase());
            }
        }
    }
    if !term.is_empty() {
        found(&term);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectDocument;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        each_term(text, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn terms_are_runs_of_letters_and_digits() {
        assert_eq!(
            terms("TIM4's init_gpio(PB7)"),
            ["tim4", "s", "init", "gpio", "pb7"]
        );
        assert_eq!(terms("漢字 ÉTÉ"), ["漢", "字", "été"]);
    }

    #[test]
    fn rare_terms_weigh_more_and_hidden_rows_count_for_nothing() {
        let objects: Vec<_> = ["timer timer pin", "timer bus", "can bus"]
            .iter()
            .enumerate()
            .map(|(at, text)| ObjectDocument::new(format!("o{at}"), *text).seal().unwrap())
            .collect();
        let index = Index::build(objects.iter().map(|object| &**object));
        let all = index.scores(
            "timer can",
            &Seen {
                rows: None,
                count: 3,
            },
        );
        assert!(all[2] > all[1] && all[0] > all[1]);
        let narrow = index.scores(
            "timer can",
            &Seen {
                rows: Some(&[true, true, false]),
                count: 2,
            },
        );
        let alone = Index::build(objects[..2].iter().map(|object| &**object)).scores(
            "timer can",
            &Seen {
                rows: None,
                count: 2,
            },
        );
        assert_eq!(narrow[..2], alone[..]);
        assert_eq!(narrow[2], 0.0);
    }
}
