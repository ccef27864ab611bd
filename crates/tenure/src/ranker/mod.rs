//! The ranker: which units of text matter to a query, found without a model.
//!
//! BM25F (Robertson and Zaragoza, 2009, section 3.6) over fields, with stems and without stop words. Of
//! *ordered* material (turns, lines of a log, paragraphs of a file) a unit also speaks through its
//! neighbours: an answer rarely repeats the words of the question before it. Whoever the query names
//! speaks louder. Similarities of vectors come from outside and are added by a weighted sum of scores
//! that are each divided by their greatest.
//!
//! ```
//! use tenure::ranker::{Ranker, Unit, Weights};
//! let turn = |order, speaker, text| Unit { speaker, text, order: Some(order), ..Unit::default() };
//! let units = [
//!     turn(0, "Ann", "Which valve leaks?"),
//!     turn(1, "Bob", "The third."),
//!     turn(2, "Ann", "I saw a film."),
//! ];
//! let ranker = Ranker::new(&units, Weights::default());
//! let ranked = ranker.rank("Which valve did Bob find leaking?", None);
//! assert_eq!(ranked.iter().map(|(unit, _)| *unit).collect::<Vec<_>>(), [0, 1, 2]);
//! ```

mod terms;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use self::terms::Terms;
use crate::num::ln;

/// Something that may be found. What it lacks is empty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unit<'t> {
    /// Its name or heading.
    pub name: &'t str,
    /// Words to find it by.
    pub tags: &'t str,
    /// Who says it.
    pub speaker: &'t str,
    /// When it was said, as text.
    pub date: &'t str,
    /// What it says.
    pub text: &'t str,
    /// Its place in ordered material. Units at most two places apart are neighbours.
    pub order: Option<u64>,
}

/// How much everything counts. [`Weights::default`] is what the development sets under `models/eval/`
/// chose; `docs/ranking.md` tells how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// The weight of a term in the name, the tags, the speaker, the date and the text.
    pub fields: [f64; FIELDS],
    /// How soon a term that is repeated counts no more (BM25's k₁).
    pub saturation: f64,
    /// How much longer texts are discounted (BM25's b), for the text; the other fields are not.
    pub length: f64,
    /// What a unit takes over of the scores of the one before it, the one after it, the second before
    /// and the second after.
    pub neighbours: [f64; 4],
    /// What is added for a unit whose speaker the query names, where the greatest score is 1.
    pub named: f64,
    /// The share of the vectors' similarity in the sum, where there is one.
    pub dense: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            fields: [1.0, 1.0, 0.3, 0.3, 1.0],
            saturation: 1.2,
            length: 0.75,
            neighbours: [0.3, 0.1, 0.05, 0.05],
            named: 0.3,
            dense: 0.5,
        }
    }
}

impl Weights {
    /// The same weights for units that have no order and no speakers.
    #[must_use]
    pub fn alone(self) -> Weights {
        let mut fields = self.fields;
        fields[SPEAKER] = 0.0;
        Weights {
            fields,
            neighbours: [0.0; 4],
            named: 0.0,
            ..self
        }
    }
}

/// How many fields a unit has.
pub const FIELDS: usize = 5;
const SPEAKER: usize = 2;
const TEXT: usize = 4;

/// SipHash with fixed keys: the table is never iterated, so only the speed depends on it.
type FixedState = BuildHasherDefault<DefaultHasher>;

/// Units, ready to be ranked.
#[derive(Debug)]
pub struct Ranker {
    weights: Weights,
    terms: HashMap<Box<str>, u32, FixedState>,
    postings: Vec<Vec<Posting>>,
    /// What each unit's length makes of a term in its text.
    damping: Vec<f64>,
    /// The units by their order; those that have none are not here.
    ordered: Vec<(u64, u32)>,
    /// Who says each unit, as a place in `speakers`.
    said_by: Vec<Option<u32>>,
    /// The words of each speaker's name.
    speakers: Vec<Vec<Box<str>>>,
}

/// A unit that holds a term, and how often each field does, weighted: the text apart, since its length
/// counts.
#[derive(Clone, Copy, Debug)]
struct Posting {
    unit: u32,
    text: f64,
    rest: f64,
}

impl Ranker {
    /// Reads the units.
    pub fn new(units: &[Unit<'_>], weights: Weights) -> Ranker {
        let mut ranker = Ranker {
            weights,
            terms: HashMap::default(),
            postings: Vec::new(),
            damping: Vec::with_capacity(units.len()),
            ordered: Vec::new(),
            said_by: Vec::with_capacity(units.len()),
            speakers: Vec::new(),
        };
        let mut terms = Terms::default();
        let mut lengths = Vec::with_capacity(units.len());
        let mut speakers: HashMap<&str, u32, FixedState> = HashMap::default();
        for (number, unit) in (0u32..).zip(units) {
            let fields = [unit.name, unit.tags, unit.speaker, unit.date, unit.text];
            let mut length = 0u32;
            for (field, text) in fields.into_iter().enumerate() {
                let weight = weights.fields[field];
                terms.each(text, |term| {
                    length += u32::from(field == TEXT);
                    ranker.add(term, number, field == TEXT, weight);
                });
            }
            lengths.push(length);
            ranker
                .ordered
                .extend(unit.order.map(|order| (order, number)));
            let said_by = (!unit.speaker.trim().is_empty()).then(|| {
                *speakers.entry(unit.speaker).or_insert_with(|| {
                    ranker.speakers.push(terms::words(unit.speaker));
                    ranker.speakers.len() as u32 - 1
                })
            });
            ranker.said_by.push(said_by);
        }
        ranker.ordered.sort_unstable();
        let total: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        let mean = (total as f64 / units.len().max(1) as f64).max(1.0);
        let b = weights.length;
        let damping = lengths
            .iter()
            .map(|length| 1.0 - b + b * f64::from(*length) / mean);
        ranker.damping = damping.collect();
        ranker
    }

    fn add(&mut self, term: &str, unit: u32, in_text: bool, weight: f64) {
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
        if postings.last().is_none_or(|last| last.unit != unit) {
            let (text, rest) = (0.0, 0.0);
            postings.push(Posting { unit, text, rest });
        }
        if let Some(posting) = postings.last_mut() {
            match in_text {
                true => posting.text += weight,
                false => posting.rest += weight,
            }
        }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.damping.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.damping.is_empty()
    }

    /// The units with their scores from 0 to 1, the best first; equal ones in their own order. `dense`
    /// holds each unit's similarity to the query, where somebody has vectors.
    pub fn rank(&self, query: &str, dense: Option<&[f64]>) -> Vec<(usize, f64)> {
        let scores = self.scores(query, dense);
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
        ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        ranked
    }

    /// The score of each unit, from 0 to 1.
    pub fn scores(&self, query: &str, dense: Option<&[f64]>) -> Vec<f64> {
        let mut scores = self.lexical(query);
        normalize(&mut scores);
        if let Some(dense) = dense.filter(|dense| dense.len() == scores.len()) {
            // What is unlike the query is not less than unlike.
            let positive = |similarity: &f64| if *similarity > 0.0 { *similarity } else { 0.0 };
            let mut dense: Vec<f64> = dense.iter().map(positive).collect();
            normalize(&mut dense);
            let share = self.weights.dense;
            for (score, dense) in scores.iter_mut().zip(&dense) {
                *score = (1.0 - share) * *score + share * dense;
            }
        }
        let mut scores = self.with_neighbours(scores);
        normalize(&mut scores);
        self.raise_named(query, &mut scores);
        normalize(&mut scores);
        scores
    }

    /// BM25F. The sums run in the order of the query's sorted terms, so they are the same on every
    /// platform.
    fn lexical(&self, query: &str) -> Vec<f64> {
        let mut asked: Vec<(&str, u32)> = Vec::new();
        Terms::default().each(query, |term| {
            let known = self.terms.get_key_value(term);
            asked.extend(known.map(|(term, id)| (&**term, *id)));
        });
        asked.sort_unstable();
        asked.dedup();
        let mut scores = vec![0.0; self.len()];
        let count = self.len() as f64;
        let k1 = self.weights.saturation;
        for (_, id) in asked {
            let postings = &self.postings[id as usize];
            let holders = postings.len() as f64;
            let rarity = ln(1.0 + (count - holders + 0.5) / (holders + 0.5));
            for Posting { unit, text, rest } in postings {
                let unit = *unit as usize;
                let frequency = text / self.damping[unit] + rest;
                scores[unit] += rarity * frequency * (k1 + 1.0) / (k1 + frequency);
            }
        }
        scores
    }

    fn with_neighbours(&self, scores: Vec<f64>) -> Vec<f64> {
        if self.ordered.is_empty() || self.weights.neighbours == [0.0; 4] {
            return scores;
        }
        let [before, after, second_before, second_after] = self.weights.neighbours;
        let mut raised = scores.clone();
        for (at, (order, unit)) in self.ordered.iter().enumerate() {
            let near = |steps: i64| -> f64 {
                let place = at as i64 + steps;
                let other = usize::try_from(place)
                    .ok()
                    .and_then(|place| self.ordered.get(place));
                let close =
                    |(other, _): &&(u64, u32)| other.abs_diff(*order) <= steps.unsigned_abs();
                other
                    .filter(close)
                    .map_or(0.0, |(_, unit)| scores[*unit as usize])
            };
            raised[*unit as usize] += before * near(-1)
                + after * near(1)
                + second_before * near(-2)
                + second_after * near(2);
        }
        raised
    }

    /// Raises what is said by whom the query names.
    fn raise_named(&self, query: &str, scores: &mut [f64]) {
        if self.speakers.is_empty() || self.weights.named == 0.0 {
            return;
        }
        let words = terms::words(query);
        let named = |name: &Vec<Box<str>>| name.iter().any(|word| words.contains(word));
        let named: Vec<bool> = self.speakers.iter().map(named).collect();
        for (score, said_by) in scores.iter_mut().zip(&self.said_by) {
            if said_by.is_some_and(|speaker| named[speaker as usize]) {
                *score += self.weights.named;
            }
        }
    }
}

/// Divides by the greatest, where there is one above 0.
fn normalize(scores: &mut [f64]) {
    let greatest = scores.iter().copied().fold(0.0, f64::max);
    if greatest > 0.0 {
        scores.iter_mut().for_each(|score| *score /= greatest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Unit<'_> {
        Unit {
            text,
            ..Unit::default()
        }
    }

    fn order(units: &[Unit<'_>], query: &str) -> Vec<usize> {
        let ranker = Ranker::new(units, Weights::default());
        ranker
            .rank(query, None)
            .into_iter()
            .map(|(unit, _)| unit)
            .collect()
    }

    #[test]
    fn stems_meet_and_stop_words_do_not_count() {
        let units = [
            text("It is what it is, and that is that."),
            text("Pumps were leaking."),
        ];
        assert_eq!(order(&units, "Is it so that the pump leaks?"), [1, 0]);
    }

    #[test]
    fn other_scripts_are_found() {
        let units = [
            text("泵在三巴时启动"),
            text("阀门已经关闭"),
            text("المضخة تعمل"),
            text("पंप चालू है"),
        ];
        for (query, found) in [("启动泵", 0), ("阀门", 1), ("المضخة", 2), ("पंप", 3)]
        {
            assert_eq!(order(&units, query)[0], found, "{query}");
        }
    }

    #[test]
    fn nothing_is_found_by_nothing() {
        let units = [text("a"), text(""), text("\u{0}\u{FEFF}")];
        for query in ["", " ", "...", "\u{0}"] {
            let ranker = Ranker::new(&units, Weights::default());
            assert!(ranker.scores(query, None).iter().all(|score| *score == 0.0));
        }
        assert!(
            Ranker::new(&[], Weights::default())
                .rank("x", None)
                .is_empty()
        );
        let long = "word ".repeat(200_000);
        assert_eq!(order(&[text(&long), text("word")], &long).len(), 2);
    }

    #[test]
    fn vectors_count_by_their_share_and_only_where_they_are_whole() {
        let units = [text("pump"), text("valve"), text("film")];
        let ranker = Ranker::new(&units, Weights::default());
        let lexical = ranker.scores("pump", None);
        assert_eq!(lexical, [1.0, 0.0, 0.0]);
        let both = ranker.scores("pump", Some(&[0.1, 0.8, -0.5]));
        assert!(both[0] > 0.0 && both[1] > 0.0 && both[2] == 0.0);
        assert_eq!(ranker.scores("pump", Some(&[0.1])), lexical);
        let odd = ranker.scores("pump", Some(&[f64::NAN, -0.0, 0.0]));
        assert!(odd.iter().all(|score| score.is_finite()));
    }

    #[test]
    fn neighbours_end_where_the_order_has_a_gap() {
        let at = |order, text| Unit {
            order: Some(order),
            text,
            ..Unit::default()
        };
        let units = [at(0, "pump"), at(1, "x"), at(4, "y"), at(2, "z")];
        let scores = Ranker::new(&units, Weights::default()).scores("pump", None);
        assert!(scores[0] > scores[1] && scores[1] > scores[3] && scores[3] > 0.0);
        assert_eq!(scores[2], 0.0);
    }
}
