//! The ranker: which units of text matter to a query, found without a model.
//!
//! BM25F (Robertson and Zaragoza, 2009, section 3.6) over fields, with stems and without stop words. Of
//! *ordered* material (turns, lines of a log, paragraphs of a file) a unit also holds shares of its
//! neighbours' terms, since an answer rarely repeats the words of the question before it, and counts for more
//! where all that stands around it is near. Whoever the query names speaks louder, and what is of a day that it names
//! counts for more. Similarities of vectors come from outside and are added by a weighted sum of scores
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

mod index;
mod scripts;
mod terms;

use std::collections::BTreeSet;
use std::sync::Arc;

pub use self::index::Question;
pub(crate) use self::index::{Dense, Index, Part, Position, Seen, normalize};
pub use self::terms::Terms;
pub(crate) use self::terms::each_term;
use crate::rank::dates::{self, Days};

/// Something that may be found. What it lacks is empty.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unit<'t> {
    /// Its name or heading.
    pub name: &'t str,
    /// Words to find it by.
    pub tags: &'t str,
    /// The speaker.
    pub speaker: &'t str,
    /// The date of speaking, as text.
    pub date: &'t str,
    /// Its purpose: why it matters, and what follows from it.
    pub purpose: &'t str,
    /// The text.
    pub text: &'t str,
    /// Its place in ordered material. Units whose places follow each other are neighbours.
    pub order: Option<u64>,
}

/// The weights of the ranker. [`Weights::default`] is what the development sets under `models/eval/` chose;
/// `docs/reference/ranking.md` tells how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// The weight of a term in the name, the tags, the speaker, the date, the purpose and the text.
    pub fields: [f64; FIELDS],
    /// The saturation of a term that is repeated (BM25's k₁).
    pub saturation: f64,
    /// The discount of longer texts (BM25's b), for the text; the other fields have none.
    pub length: f64,
    /// The shares that a unit has of the terms of the one before it, the one after it, those two places away and those
    /// three places away.
    pub neighbours: [f64; 4],
    /// The most by which a unit is raised whose section, a run of neighbours, is near as a whole, as a share of its score.
    pub section: f64,
    /// The raise of the unit that opens a section, likewise.
    pub opener: f64,
    /// The bonus of a unit whose speaker the query names, where the greatest score is 1.
    pub named: f64,
    /// The most by which a unit is raised that is of the days which the query names, as a share of its score; less by less
    /// for what is days away.
    pub dates: f64,
    /// The share of a term that counts for a word which is near to one of the query ([`Question::with_near`]).
    pub near_words: f64,
    /// The share of the vectors' similarity in the sum, where there is one.
    pub dense: f64,
    /// The share of the vectors for a turn of a conversation, which says less by itself. 0: as for all else.
    pub turns: f64,
    /// The share of an encoder of one's own beside which the built-in table's similarities are known as well. 0: the table
    /// counts for nothing then.
    pub encoder: f64,
    /// The share of the table's similarity beside such an encoder.
    pub beside: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            fields: [1.0, 1.0, 0.6, 0.3, 0.5, 1.0],
            saturation: 1.2,
            length: 0.75,
            neighbours: [0.4, 0.3, 0.2, 0.05],
            section: 0.45,
            opener: 0.1,
            named: 0.2,
            dates: 0.5,
            near_words: 0.15,
            dense: 0.45,
            turns: 0.4,
            encoder: 0.45,
            beside: 0.1,
        }
    }
}

impl Weights {
    /// Returns the weights for units that have no order. Who says a unit stays one of its fields.
    #[must_use]
    pub fn alone(self) -> Weights {
        Weights {
            neighbours: [0.0; 4],
            section: 0.0,
            opener: 0.0,
            named: 0.0,
            ..self
        }
    }
}

/// The number of a unit's fields.
pub const FIELDS: usize = 6;
const TEXT: usize = 5;

/// Units, ready to be ranked.
#[derive(Debug)]
pub struct Ranker {
    weights: Weights,
    index: Index,
    /// The day of each unit, as far as its date tells one.
    days: Vec<Option<Days>>,
}

/// The similarities of each unit to a query.
#[derive(Clone, Copy, Debug)]
pub struct Similar<'s> {
    /// By the encoder that is asked.
    pub by: &'s [f64],
    /// By the built-in table, where that stands beside an encoder of one's own.
    pub beside: Option<&'s [f64]>,
}

impl Ranker {
    /// Reads the units.
    pub fn new(units: &[Unit<'_>], weights: Weights) -> Ranker {
        let placed = units.iter().map(|unit| {
            let place = unit.order.map(|order| Position {
                material: 0,
                from: order,
                until: order.saturating_add(1),
            });
            (*unit, place)
        });
        let index = Index::of([Arc::new(Part::of(placed))]);
        let days = units.iter().map(|unit| dates::day_named(unit.date));
        Ranker {
            weights,
            index,
            days: days.collect(),
        }
    }

    /// Returns the number of units.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The units with their scores from 0 to 1, the best first; equal ones in their own order. `dense`
    /// holds each unit's similarity to the query, where someone has vectors.
    pub fn rank(&self, query: &str, dense: Option<&[f64]>) -> Vec<(usize, f64)> {
        let similar = dense.map(|by| Similar { by, beside: None });
        self.rank_by(&Question::of(query), similar)
    }

    /// Ranks for a question that was read already, with the similarities of an encoder of one's own and of the built-in
    /// table.
    pub fn rank_by(&self, asked: &Question, similar: Option<Similar<'_>>) -> Vec<(usize, f64)> {
        let scores = self.scores_by(asked, similar);
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().enumerate().collect();
        ranked.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
        ranked
    }

    /// The score of each unit, from 0 to 1.
    pub fn scores(&self, query: &str, dense: Option<&[f64]>) -> Vec<f64> {
        let similar = dense.map(|by| Similar { by, beside: None });
        self.scores_by(&Question::of(query), similar)
    }

    fn scores_by(&self, asked: &Question, similar: Option<Similar<'_>>) -> Vec<f64> {
        let all = Seen {
            rows: None,
            count: self.len(),
        };
        // What is unlike the query is not less than unlike.
        let positive = |similarity: &f64| if *similarity > 0.0 { *similarity } else { 0.0 };
        let whole = |dense: &[f64]| {
            let is_whole = dense.len() == self.len();
            is_whole.then(|| dense.iter().map(positive).collect::<Vec<f64>>())
        };
        let similarities = similar.and_then(|similar| whole(similar.by));
        let beside = similar.and_then(|similar| similar.beside).and_then(whole);
        let dense = similarities.as_deref().map(|similarities| Dense {
            similarities,
            unrelated: 0.0,
            beside: beside.as_deref(),
        });
        let mut scores = self.index.scores(asked, &self.weights, all, dense);
        if self.weights.dates > 0.0 {
            let among = self.days.iter().copied().flatten().reduce(Days::with);
            let named = among.map_or(Vec::new(), |_| dates::named(asked.text(), None, among));
            raise_dated(&mut scores, &named, self.weights.dates, |unit| {
                self.days[unit]
            });
        }
        scores
    }
}

/// Raises what is of the days that the query names, or near them. What is not near at all stays so.
pub(crate) fn raise_dated(
    scores: &mut [f64],
    asked: &[Days],
    weight: f64,
    days: impl Fn(usize) -> Option<Days>,
) {
    if asked.is_empty() {
        return;
    }
    for (unit, score) in scores.iter_mut().enumerate() {
        if *score > 0.0
            && let Some(days) = days(unit)
        {
            let near = asked.iter().map(|asked| asked.nearness(days));
            *score *= 1.0 + weight * near.fold(0.0, f64::max);
        }
    }
    normalize(scores);
}

/// The terms of a text that may carry meaning: four bytes or more, so that `the` is near nothing.
pub(crate) fn terms_of(text: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    each_term(text, |term| {
        if term.len() >= 4 {
            terms.insert(term.to_owned());
        }
    });
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Unit<'_> {
        Unit {
            text,
            ..Unit::default()
        }
    }

    fn order(units: &[Unit<'_>], query: &str) -> Vec<usize> {
        let ranker = Ranker::new(units, Weights::default());
        ranker.rank(query, None).into_iter().map(|(unit, _)| unit).collect()
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
        assert!(Ranker::new(&[], Weights::default()).rank("x", None).is_empty());
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
    fn an_encoder_of_ones_own_counts_beside_the_table() {
        let units = [text("pump"), text("valve"), text("film")];
        let ranker = Ranker::new(&units, Weights::default());
        let by = |own: &[f64], table: Option<&[f64]>| {
            let beside = table;
            let ranked = ranker.rank_by(&Question::of("gasket"), Some(Similar { by: own, beside }));
            ranked.into_iter().map(|(unit, _)| unit).collect::<Vec<_>>()
        };
        assert_eq!(by(&[0.2, 0.5, 0.4], None), [1, 2, 0]);
        assert_eq!(by(&[0.2, 0.5, 0.45], Some(&[0.1, 0.1, 0.9])), [2, 1, 0]);
        // What is not whole counts for nothing.
        assert_eq!(by(&[0.2, 0.5, 0.4], Some(&[0.9])), [1, 2, 0]);
    }

    #[test]
    fn near_words_raise_what_the_query_finds_and_find_nothing_alone() {
        let units = [
            text("the doctor left home"),
            text("the doctor asked patients"),
            text("her patients"),
        ];
        let ranker = Ranker::new(&units, Weights::default());
        let asked = Question::of("Which doctor?");
        let scores = |asked: &Question| ranker.scores_by(asked, None);
        let plain = scores(&asked);
        assert_eq!(plain[..2], [1.0, 1.0]);
        let near = scores(&asked.clone().with_near(["patient", "doctors", "medicine", "the"]));
        assert!(near[1] > near[0]);
        assert_eq!(near[2], 0.0);
        // The query's own words, and what says nothing, are no near words.
        assert_eq!(scores(&asked.with_near(["doctors", "the", ""])), plain);
    }

    #[test]
    fn what_is_of_the_day_that_is_asked_about_comes_first() {
        let on = |date, text| Unit {
            date,
            text,
            ..Unit::default()
        };
        let units = [
            on("2 May 2021", "the pump was repaired"),
            on("2023-05-07", "the pump was repaired"),
            on("8 June, 2023", "the pump was repaired"),
            on("", "the pump was repaired"),
            on("7 May 2023", "a film"),
        ];
        assert_eq!(
            order(&units, "When was the pump repaired?")[..4],
            [0, 1, 2, 3]
        );
        for query in [
            "Was the pump repaired on May 7, 2023?",
            "pump repaired in May 2023",
        ] {
            assert_eq!(order(&units, query)[..2], [1, 2], "{query}");
        }
        // A month of no year is that of each.
        assert_eq!(order(&units, "pump repaired in June")[0], 2);
        let weights = Weights {
            dates: 0.0,
            ..Weights::default()
        };
        let scores = Ranker::new(&units, weights).scores("pump in June 1990", None);
        assert_eq!(scores[4], 0.0);
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

    #[test]
    fn a_section_that_is_near_raises_all_of_it_but_what_is_not_near_at_all() {
        let at = |order, text| Unit {
            order: Some(order),
            text,
            ..Unit::default()
        };
        // The same words, once among others about pumps and once alone.
        let units = [
            at(0, "a pump starts"),
            at(1, "the valve is blue"),
            at(2, "pump and valve"),
            at(9, "a film"),
            at(10, "the valve is blue"),
            at(11, "popcorn"),
        ];
        let weights = Weights {
            neighbours: [0.0; 4],
            ..Weights::default()
        };
        let scores = Ranker::new(&units, weights).scores("pump valve", None);
        assert!(scores[1] > scores[4] && scores[4] > 0.0, "{scores:?}");
        assert_eq!((scores[3], scores[5]), (0.0, 0.0));
        let flat = Ranker::new(&units, weights.alone()).scores("pump valve", None);
        assert_eq!(flat[1], flat[4]);
    }

    #[test]
    fn a_name_tells_itself_from_its_words() {
        let units = [
            text("brake gauge pulley brake gauge pulley brake gauge pulley"),
            text("def brake_gauge_pulley(): return 0"),
            text("sendHTTPReply"),
        ];
        assert_eq!(order(&units, "What is wrong in brake_gauge_pulley?")[0], 1);
        assert_eq!(order(&units, "send the reply")[0], 2);
    }

    /// Its text, who says it, its place, whether it is seen, and how similar it is.
    type Drawn = (String, &'static str, Option<u64>, bool, u8);

    fn drawn() -> impl Strategy<Value = Drawn> {
        let word = prop::sample::select(vec!["pump", "valve", "7", "41", "film", "漢"]);
        let words = prop::collection::vec(word, 0..5).prop_map(|words| words.join(" "));
        let speaker = prop::sample::select(vec!["", "", "Ann", "Bob"]);
        (
            words,
            speaker,
            prop::option::of(0..6u64),
            any::<bool>(),
            0..5u8,
        )
    }

    proptest! {
        /// Unseen units count for nothing: scores are those of an index that never held them.
        #[test]
        fn what_is_not_seen_changes_nothing(
            all in prop::collection::vec(drawn(), 1..9),
            query in "(pump |valve |7 |41 |Ann ){0,4}",
            is_dense in any::<bool>(),
        ) {
            let index = |units: &[&Drawn]| {
                let units = units.iter().map(|(text, speaker, order, ..)| {
                    let unit = Unit { text, speaker, ..Unit::default() };
                    let place = |from: u64| Position { material: 1, from, until: from + 2 };
                    (unit, order.map(place))
                });
                Index::of([Arc::new(Part::of(units))])
            };
            let scores = |units: &[&Drawn], rows: Option<&[bool]>| {
                let count = rows.map_or(units.len(), |rows| rows.iter().filter(|row| **row).count());
                let is_seen = |at: usize| rows.is_none_or(|rows| rows[at]);
                let similarities: Vec<f64> = units
                    .iter()
                    .enumerate()
                    .map(|(at, unit)| if is_seen(at) { f64::from(unit.4) / 5.0 } else { 0.0 })
                    .collect();
                let dense = Dense { similarities: &similarities, unrelated: 0.3, beside: None };
                let weights = Weights::default();
                let asked = Question::of(&query).with_near(["film", "valves"]);
                index(units).scores(&asked, &weights, Seen { rows, count }, is_dense.then_some(dense))
            };
            let each: Vec<_> = all.iter().collect();
            let rows: Vec<bool> = all.iter().map(|unit| unit.3).collect();
            let seen: Vec<_> = all.iter().filter(|unit| unit.3).collect();
            let wide: Vec<f64> = scores(&each, Some(&rows))
                .into_iter()
                .zip(&rows)
                .filter(|(_, seen)| **seen)
                .map(|(score, _)| score)
                .collect();
            prop_assert_eq!(wide, scores(&seen, None));
            let neighbours = |units: &[&Drawn], rows: Option<&[bool]>| {
                let is_seen = |at: usize| rows.is_none_or(|rows| rows[at]);
                let mut marked: Vec<bool> = units
                    .iter()
                    .enumerate()
                    .map(|(at, unit)| is_seen(at) && unit.4 == 0)
                    .collect();
                index(units).mark_neighbours(&mut marked, Seen { rows, count: 0 });
                marked
                    .into_iter()
                    .enumerate()
                    .filter(|(at, _)| is_seen(*at))
                    .map(|(_, is_marked)| is_marked)
                    .collect::<Vec<_>>()
            };
            prop_assert_eq!(neighbours(&each, Some(&rows)), neighbours(&seen, None));
        }
    }
}
