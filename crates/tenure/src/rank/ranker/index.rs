//! The terms of units, and the units' neighbours. What is made here depends on the units alone; what counts beside
//! them (which of them are seen, how rare a term is among those, the weights) comes with each question.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::{Arc, OnceLock};

use super::scripts;
use super::terms::{self, Terms};
use super::{FIELDS, TEXT, Unit, Weights};
use crate::base::num::ln;

/// SipHash with fixed keys: the table is never iterated, so only the speed depends on it.
type FixedState = BuildHasherDefault<DefaultHasher>;

/// Units, ready to be ranked under any weights, among any of them.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Each with the number of its first unit. Where the parts are cut changes no score.
    parts: Vec<(u32, Arc<Part>)>,
    /// The places of all units that have one, in order.
    places: Arc<[Placed]>,
    /// The neighbours of each unit where all are seen, once they are asked for.
    neighbours: OnceLock<Vec<Neighbours>>,
    units: usize,
}

/// The unit before a unit in ordered material, and the one after it; [`NOBODY`] where there is none.
#[derive(Clone, Copy, Debug)]
struct Neighbours {
    before: u32,
    after: u32,
}

const NOBODY: u32 = u32::MAX;
const ALONE: Neighbours = Neighbours {
    before: NOBODY,
    after: NOBODY,
};
/// The most units of a section. A longer run says nothing of its units.
const MAX_SECTION: usize = 64;

/// Units that were read together. Their numbers begin with 0.
#[derive(Debug, Default)]
pub(crate) struct Part {
    terms: HashMap<Box<str>, u32, FixedState>,
    postings: Vec<Vec<Posting>>,
    /// The number of terms in the text of each unit.
    lengths: Vec<u32>,
    total: u64,
    /// The places of the units in ordered material, in their order; those that have none are not here.
    places: Arc<[Placed]>,
    /// The speaker of each unit, as a number in `speakers`.
    said_by: Vec<Option<u32>>,
    /// The speakers by the words of their names.
    speakers: BTreeMap<Vec<Box<str>>, u32>,
}

/// A unit that holds a term, and how often its text does and each of its other fields.
#[derive(Clone, Copy, Debug)]
struct Posting {
    unit: u32,
    text: u32,
    rest: [u8; FIELDS - 1],
}

/// The place of a unit in ordered material. A unit that ends where the next one begins is its neighbour.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Position {
    /// The material, the same in every part.
    pub(crate) material: u128,
    /// The beginning.
    pub(crate) from: u64,
    /// The beginning of the next one at the latest.
    pub(crate) until: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Placed {
    place: Position,
    unit: u32,
}

/// The units that count.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// One flag a unit, or `None` when all count.
    pub(crate) rows: Option<&'a [bool]>,
    /// The number of those that count.
    pub(crate) count: usize,
}

impl Seen<'_> {
    fn has(&self, unit: u32) -> bool {
        self.rows.is_none_or(|rows| rows[unit as usize])
    }
}

/// Words that name the same where tools are described; what an abbreviation stands for is said in each of its words.
const OTHER_NAMES: [&[&str]; 29] = [
    &["pr", "pull"],
    &["mr", "merge"],
    &["repo", "repository"],
    &["issue", "ticket", "bug"],
    &["dir", "directory", "folder"],
    &["msg", "message"],
    &["mail", "email", "letter"],
    &["db", "database"],
    &["config", "configuration", "settings"],
    &["env", "environment"],
    &["doc", "document", "documentation"],
    &["auth", "authentication", "login"],
    &["img", "image", "picture", "photo"],
    &["cmd", "command", "shell"],
    &["exec", "execute", "run"],
    &["rm", "remove", "delete", "erase"],
    &["create", "add", "make", "new"],
    &["edit", "update", "change", "modify"],
    &["ls", "list", "show"],
    &["search", "find", "look", "grep"],
    &["get", "fetch", "read", "retrieve"],
    &["cal", "calendar", "meeting", "appointment"],
    &["org", "organization"],
    &["func", "function"],
    &["param", "parameter", "arg", "argument"],
    &["pkg", "package"],
    &["dep", "dependency"],
    &["url", "link", "page", "website"],
    &["chat", "channel", "slack"],
];
/// The weight of another name for what a question says.
const OTHER_NAME: f64 = 0.5;

/// A query and the terms that it asks for.
#[derive(Clone, Debug)]
pub struct Question {
    query: String,
    /// Each with its weight: 1 + ln of how often it is asked for.
    terms: BTreeMap<Box<str>, f64>,
    /// The terms of words that are near to its own, which it does not ask for itself.
    near: BTreeSet<Box<str>>,
}

impl Question {
    /// Reads a query.
    pub fn of(query: &str) -> Question {
        let mut times: BTreeMap<Box<str>, u32> = BTreeMap::new();
        Terms::default().each_asked(query, |term| match times.get_mut(term) {
            Some(times) => *times = times.saturating_add(1),
            None => {
                times.insert(term.into(), 1);
            }
        });
        let terms = times.into_iter().map(|(term, times)| match times {
            1 => (term, 1.0),
            _ => (term, 1.0 + ln(f64::from(times))),
        });
        Question {
            query: query.to_owned(),
            terms: terms.collect(),
            near: BTreeSet::new(),
        }
    }

    /// Returns the question with words that say nearly what its own do. What holds one of its terms counts for a little
    /// more if it holds some of these, too ([`Weights::near_words`]); alone they find nothing.
    #[must_use]
    pub fn with_near<'w>(mut self, words: impl IntoIterator<Item = &'w str>) -> Question {
        let mut terms = Terms::default();
        for word in words {
            terms.each_asked(word, |term| {
                if !self.terms.contains_key(term) && !self.near.contains(term) {
                    self.near.insert(term.into());
                }
            });
        }
        self
    }

    /// Returns the question with other words for what is done with tools and what they are about (`PR`: pull request), for
    /// half a word each.
    #[must_use]
    pub(crate) fn with_other_names(mut self) -> Question {
        let mut terms = Terms::default();
        let mut others: Vec<Box<str>> = Vec::new();
        for names in OTHER_NAMES {
            let mut known: Vec<Box<str>> = Vec::new();
            for name in names {
                terms.each_asked(name, |term| known.push(term.into()));
            }
            if known.iter().any(|term| self.terms.contains_key(term)) {
                others.extend(known);
            }
        }
        for term in others {
            self.terms.entry(term).or_insert(OTHER_NAME);
        }
        self
    }

    /// Returns the query.
    pub fn text(&self) -> &str {
        &self.query
    }

    /// Returns whether at least half of its terms are numbers.
    pub(crate) fn asks_by_numbers(&self) -> bool {
        let numbers = self.terms.keys().filter(|term| is_number(term)).count();
        numbers > 0 && 2 * numbers >= self.terms.len()
    }

    /// Returns whether a text holds a word that it asks for.
    pub(crate) fn shares_a_word(&self, text: &str) -> bool {
        let mut shares = false;
        Terms::default().each(text, |term| {
            let says = !is_number(term) && !term.contains(scripts::is_hiragana);
            shares |= says && self.terms.contains_key(term);
        });
        shares
    }

    /// Returns the number of its terms.
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }
}

/// The similarities by vectors.
#[derive(Clone, Copy)]
pub(crate) struct Dense<'a> {
    /// The similarity of each unit to the query; less than 0 where it is not known.
    pub(crate) similarities: &'a [f64],
    /// The similarity that texts without a common subject may have. A unit without a term of the query that is no
    /// nearer than that is not near at all.
    pub(crate) unrelated: f64,
    /// The similarity by the built-in table, where the other is that of an encoder of one's own; 0 where it is not known.
    pub(crate) beside: Option<&'a [f64]>,
}

impl Part {
    /// Reads units, each with its place in ordered material if it has one.
    pub(crate) fn of<'u>(units: impl IntoIterator<Item = (Unit<'u>, Option<Position>)>) -> Part {
        let mut part = Part::default();
        let mut terms = Terms::default();
        let mut places = Vec::new();
        for (unit, place) in units {
            let number = part.lengths.len() as u32;
            places.extend(place.map(|place| Placed {
                place,
                unit: number,
            }));
            part.add(&unit, &mut terms);
        }
        places.sort_unstable();
        part.places = places.into();
        part.postings.iter_mut().for_each(Vec::shrink_to_fit);
        part
    }

    fn add(&mut self, unit: &Unit<'_>, terms: &mut Terms) {
        let number = self.lengths.len() as u32;
        let fields = [
            unit.name,
            unit.tags,
            unit.speaker,
            unit.date,
            unit.purpose,
            unit.text,
        ];
        let mut length = 0u32;
        for (field, text) in fields.into_iter().enumerate() {
            terms.each(text, |term| {
                length += u32::from(field == TEXT);
                let posting = self.posting(term, number);
                match posting.rest.get_mut(field) {
                    Some(count) => *count = count.saturating_add(1),
                    None => posting.text = posting.text.saturating_add(1),
                }
            });
        }
        self.lengths.push(length);
        self.total += u64::from(length);
        let said_by = (!unit.speaker.trim().is_empty()).then(|| {
            let next = self.speakers.len() as u32;
            let words = terms::words(unit.speaker);
            *self.speakers.entry(words).or_insert(next)
        });
        self.said_by.push(said_by);
    }

    fn posting(&mut self, term: &str, unit: u32) -> &mut Posting {
        let id = match self.terms.get(term) {
            Some(id) => *id as usize,
            None => {
                let id = self.postings.len();
                self.terms.insert(term.into(), id as u32);
                self.postings.push(Vec::new());
                id
            }
        };
        let postings = &mut self.postings[id];
        let last = postings.len().saturating_sub(1);
        match postings.get(last) {
            Some(posting) if posting.unit == unit => &mut postings[last],
            _ => {
                postings.push(Posting {
                    unit,
                    text: 0,
                    rest: [0; FIELDS - 1],
                });
                let last = postings.len() - 1;
                &mut postings[last]
            }
        }
    }

    /// The units that hold a term.
    fn holders(&self, term: &str) -> &[Posting] {
        self.terms.get(term).map_or(&[], |id| &self.postings[*id as usize])
    }
}

impl Index {
    /// The units of these parts, one part after the other.
    pub(crate) fn of(parts: impl IntoIterator<Item = Arc<Part>>) -> Index {
        let mut index = Index::default();
        for part in parts {
            index.parts.push((index.units as u32, Arc::clone(&part)));
            index.units += part.lengths.len();
        }
        index.places = match &*index.parts {
            [(_, part)] => Arc::clone(&part.places),
            parts => {
                let mut places: Vec<Placed> = parts
                    .iter()
                    .flat_map(|(first, part)| {
                        part.places.iter().map(move |placed| Placed {
                            unit: first + placed.unit,
                            ..*placed
                        })
                    })
                    .collect();
                places.sort(); // Merges what is in order already.
                places.into()
            }
        };
        index
    }

    /// Returns the number of units.
    pub(crate) fn len(&self) -> usize {
        self.units
    }

    /// The score of each unit that is seen, from 0 to 1, where the greatest is 1; 0 for the others.
    pub(crate) fn scores(
        &self,
        question: &Question,
        weights: &Weights,
        seen: Seen<'_>,
        dense: Option<Dense<'_>>,
    ) -> Vec<f64> {
        let mut scores = self.lexical(question, weights, seen);
        normalize(&mut scores);
        if let Some(dense) = dense {
            self.add_dense(&mut scores, dense, weights);
        }
        if self.raise_sections(&mut scores, weights, seen) {
            normalize(&mut scores);
        }
        if self.raise_named(&question.query, &mut scores, weights, seen) {
            normalize(&mut scores);
        }
        scores
    }

    /// BM25F (Robertson and Zaragoza, 2009, section 3.6), where a unit holds shares of the terms of its neighbours, too:
    /// an answer rarely repeats the words of the question before it. The sums run in the order of the query's sorted
    /// terms, so they are the same on every platform.
    fn lexical(&self, question: &Question, weights: &Weights, seen: Seen<'_>) -> Vec<f64> {
        let asked: Vec<(&str, f64)> = question
            .terms
            .iter()
            .map(|(term, weight)| (&**term, *weight))
            .filter(|(term, _)| {
                let mut parts = self.parts.iter();
                parts.any(|(_, part)| part.terms.contains_key(*term))
            })
            .collect();
        let mut scores = vec![0.0; self.len()];
        if asked.is_empty() || seen.count == 0 {
            return scores;
        }
        let statistics = self.statistics(weights, seen);
        let (numbers, words): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|(term, _)| is_number(term));
        // A number alone makes nothing relevant, unless nothing else that is seen is asked for.
        let only_numbers = !words.iter().any(|(term, _)| {
            self.parts.iter().any(|(first, part)| {
                let mut holders = part.holders(term).iter();
                holders.any(|held| seen.has(first + held.unit))
            })
        });
        let neighbours = self.neighbours(weights, seen);
        let mut frequencies = vec![0.0; self.len()];
        let mut holding: Vec<u32> = Vec::new();
        let numbers = numbers.into_iter().map(|asked| (asked, !only_numbers));
        let words = words.into_iter().map(|asked| (asked, false));
        for ((term, weight), is_weak) in words.chain(numbers) {
            let rarity = weight * self.rarity(term, seen);
            if neighbours.is_empty() {
                // The same numbers as below, with nothing to wait for.
                self.each_holder(term, seen, |unit, length, held| {
                    let score = &mut scores[unit as usize];
                    let frequency = statistics.frequency(length, held);
                    if frequency > 0.0 && (!is_weak || *score > 0.0) {
                        *score += rarity * statistics.saturated(frequency);
                    }
                });
                continue;
            }
            self.each_holder(term, seen, |unit, length, held| {
                let frequency = statistics.frequency(length, held);
                let mut add = |unit: u32, frequency: f64| {
                    let sum = &mut frequencies[unit as usize];
                    if *sum == 0.0 && frequency > 0.0 {
                        holding.push(unit);
                    }
                    *sum += frequency;
                };
                add(unit, frequency);
                each_neighbour(&neighbours, unit, weights, |unit, share| {
                    add(unit, share * frequency);
                });
            });
            for unit in holding.drain(..) {
                let frequency = std::mem::take(&mut frequencies[unit as usize]);
                let score = &mut scores[unit as usize];
                if !is_weak || *score > 0.0 {
                    *score += rarity * statistics.saturated(frequency);
                }
            }
        }
        if weights.near_words > 0.0 {
            self.add_near(question, &statistics, seen, &mut scores);
        }
        scores
    }

    /// Adds what near words are worth to what holds terms of the question already. Neighbours have no share of them: that
    /// would find no more, and cost as much as the question itself several times over.
    fn add_near(
        &self,
        question: &Question,
        statistics: &Statistics<'_>,
        seen: Seen<'_>,
        scores: &mut [f64],
    ) {
        for term in &question.near {
            let worth = statistics.weights.near_words * self.rarity(term, seen);
            self.each_holder(term, seen, |unit, length, held| {
                let score = &mut scores[unit as usize];
                if *score > 0.0 {
                    *score += worth * statistics.saturated(statistics.frequency(length, held));
                }
            });
        }
    }

    /// Calls `found` for each unit that is seen and holds a term, with the length of its text.
    fn each_holder(&self, term: &str, seen: Seen<'_>, mut found: impl FnMut(u32, u32, &Posting)) {
        for (first, part) in &self.parts {
            for held in part.holders(term) {
                let unit = first + held.unit;
                if seen.has(unit) {
                    found(unit, part.lengths[held.unit as usize], held);
                }
            }
        }
    }

    /// The rarity of a term among what is seen.
    fn rarity(&self, term: &str, seen: Seen<'_>) -> f64 {
        rarity(self.holders(term, seen), seen.count)
    }

    /// The number of units that are seen and hold a term.
    fn holders(&self, term: &str, seen: Seen<'_>) -> usize {
        self.parts
            .iter()
            .map(|(first, part)| {
                let holders = part.holders(term);
                if seen.rows.is_none() {
                    return holders.len();
                }
                holders.iter().filter(|held| seen.has(first + held.unit)).count()
            })
            .sum()
    }

    fn statistics<'w>(&self, weights: &'w Weights, seen: Seen<'_>) -> Statistics<'w> {
        let total: u64 = match seen.rows {
            None => self.parts.iter().map(|(_, part)| part.total).sum(),
            Some(rows) => {
                let all = self.parts.iter().flat_map(|(_, part)| &part.lengths);
                all.zip(rows)
                    .filter(|(_, seen)| **seen)
                    .map(|(length, _)| u64::from(*length))
                    .sum()
            }
        };
        let mean = (total as f64 / seen.count as f64).max(1.0);
        Statistics {
            weights,
            share: weights.length / mean,
        }
    }

    /// Returns what the terms say of each unit that is seen: whether it has to do with the query, and how many words both share.
    pub(crate) fn shared(&self, question: &Question, seen: Seen<'_>) -> Shared {
        let mut shared = Shared {
            evidence: vec![0.0; self.len()],
            overlap: vec![0.0; self.len()],
            cites: vec![false; self.len()],
            rarest: 0.0,
            says_little: false,
        };
        let (mut asked, mut known, mut said) = (0.0, 0.0, 0.0);
        let mut words_of = vec![0u32; self.len()];
        let (numbers, words): (Vec<&Box<str>>, Vec<_>) =
            question.terms.keys().partition(|term| is_number(term));
        for term in &words {
            let holders = self.holders(term, seen);
            let telling = telling(term, holders, seen.count);
            asked += 1.0;
            if COURTESY.binary_search(&&***term).is_err() {
                said += telling;
            }
            if holders > 0 {
                known += telling;
                shared.rarest = shared.rarest.max(telling);
            }
            self.each_holder(term, seen, |unit, _, _| {
                words_of[unit as usize] += 1;
                shared.evidence[unit as usize] += telling;
                shared.overlap[unit as usize] += (telling / TELLING).min(1.0);
            });
        }
        // What holds two words, and nearly all that is known of the question, is what it is about, however common.
        let covers: Vec<bool> = shared
            .evidence
            .iter()
            .zip(words_of)
            .map(|(evidence, words)| words > 1 && *evidence >= COVERED * known)
            .collect();
        // A number says something of what it is said of: `pump 39`.
        for term in numbers.iter().filter(|_| !words.is_empty()) {
            let telling = telling(term, self.holders(term, seen), seen.count);
            said += telling;
            self.each_holder(term, seen, |unit, _, _| {
                let evidence = &mut shared.evidence[unit as usize];
                if *evidence > 0.0 {
                    *evidence += telling;
                    shared.cites[unit as usize] = true;
                }
            });
        }
        // A long question shares words with everything.
        let enough = TELLING * f64::max(1.0, (known / SHORT).sqrt());
        let lengths = self.parts.iter().flat_map(|(_, part)| &part.lengths);
        for (overlap, length) in shared.overlap.iter_mut().zip(lengths) {
            *overlap = (*overlap / f64::min(asked, f64::from(*length)).max(1.0)).min(1.0);
        }
        for (evidence, covers) in shared.evidence.iter_mut().zip(covers) {
            *evidence = f64::max(*evidence / enough, f64::from(u8::from(covers)));
        }
        for (cites, evidence) in shared.cites.iter_mut().zip(&shared.evidence) {
            *cites &= *evidence >= 1.0;
        }
        shared.says_little = asked > 0.0 && said < LITTLE;
        shared
    }

    /// Marks the neighbours of what is marked, in ordered material, as far as it is seen.
    pub(crate) fn mark_neighbours(&self, marked: &mut [bool], seen: Seen<'_>) {
        let line: Vec<(&Placed, bool)> = self
            .places
            .iter()
            .filter(|placed| seen.has(placed.unit))
            .map(|placed| (placed, marked[placed.unit as usize]))
            .collect();
        for pair in line.windows(2) {
            let [(one, is_one), (next, is_next)] = pair else {
                continue;
            };
            if are_close(one, next) {
                marked[next.unit as usize] |= is_one;
                marked[one.unit as usize] |= is_next;
            }
        }
    }

    /// The weighted sum with the similarities, each divided by the greatest.
    fn add_dense(&self, scores: &mut [f64], dense: Dense<'_>, weights: &Weights) {
        let Dense {
            similarities,
            unrelated,
            beside,
        } = dense;
        let beside = beside.filter(|_| weights.encoder > 0.0);
        let (share, other) = match beside {
            Some(_) => (weights.encoder, weights.beside),
            None => (weights.dense, 0.0),
        };
        let turns = if beside.is_none() && weights.turns > 0.0 {
            self.turns()
        } else {
            Vec::new()
        };
        let (most, most_beside) = (greatest(similarities), beside.map_or(0.0, greatest));
        if most <= 0.0 && most_beside <= 0.0 {
            return;
        }
        let part = |similarity: f64, most: f64| if most > 0.0 { similarity / most } else { 0.0 };
        for (unit, (score, similarity)) in scores.iter_mut().zip(similarities).enumerate() {
            if *similarity < 0.0 {
                continue; // Nobody knows: the terms alone decide.
            }
            // Not a number is no similarity.
            let is_alike = *score > 0.0 || *similarity >= unrelated;
            let near = *similarity > 0.0 && is_alike;
            let dense = if near { part(*similarity, most) } else { 0.0 };
            let beside = beside.map_or(0.0, |of| of[unit]);
            let share = match turns.get(unit) {
                Some(true) => weights.turns,
                _ => share,
            };
            let near = beside > 0.0 && is_alike;
            let table = if near { part(beside, most_beside) } else { 0.0 };
            *score = (1.0 - share - other) * *score + share * dense + other * table;
        }
    }

    /// Returns which units are turns of a conversation: somebody says them, and they have an order. Empty where none is.
    fn turns(&self) -> Vec<bool> {
        if self.parts.iter().all(|(_, part)| part.speakers.is_empty()) {
            return Vec::new();
        }
        let mut turns = vec![false; self.units];
        let said_by = self.parts.iter().flat_map(|(_, part)| &part.said_by);
        let is_said: Vec<bool> = said_by.map(Option::is_some).collect();
        for Placed { unit, .. } in &*self.places {
            turns[*unit as usize] = is_said[*unit as usize];
        }
        turns
    }

    /// The neighbours of each unit among those that are seen, or nothing where none of them counts. What is not seen
    /// stands between no two.
    fn neighbours(&self, weights: &Weights, seen: Seen<'_>) -> Cow<'_, [Neighbours]> {
        if weights.neighbours == [0.0; 4] || self.places.len() < 2 {
            return Cow::Borrowed(&[]);
        }
        if seen.rows.is_some() {
            return Cow::Owned(self.linked(seen));
        }
        Cow::Borrowed(self.neighbours.get_or_init(|| self.linked(seen)))
    }

    fn linked(&self, seen: Seen<'_>) -> Vec<Neighbours> {
        let mut neighbours = vec![ALONE; self.units];
        let mut line = self.places.iter().filter(|placed| seen.has(placed.unit));
        let Some(mut one) = line.next() else {
            return neighbours;
        };
        for next in line {
            if are_close(one, next) {
                neighbours[one.unit as usize].after = next.unit;
                neighbours[next.unit as usize].before = one.unit;
            }
            one = next;
        }
        neighbours
    }

    /// Raises what stands in a section that is near as a whole, by the mean of its three best, and what opens one. A
    /// section is a run of neighbours; what has none is a section by itself. What is not near at all stays so.
    fn raise_sections(&self, scores: &mut [f64], weights: &Weights, seen: Seen<'_>) -> bool {
        if weights.section == 0.0 && weights.opener == 0.0 {
            return false;
        }
        let line: Vec<&Placed> =
            self.places.iter().filter(|placed| seen.has(placed.unit)).collect();
        let runs: Vec<&[&Placed]> = line
            .chunk_by(|one, next| are_close(one, next))
            .filter(|run| (2..=MAX_SECTION).contains(&run.len()))
            .collect();
        // The mean of the three best of each unit's section.
        let mut means = scores.to_vec();
        for run in &runs {
            let mut best = [0.0f64; 3];
            for placed in *run {
                let mut score = scores[placed.unit as usize];
                for best in &mut best {
                    if score > *best {
                        std::mem::swap(best, &mut score);
                    }
                }
            }
            let mean = best.iter().sum::<f64>() / run.len().min(3) as f64;
            for placed in *run {
                means[placed.unit as usize] = mean;
            }
        }
        let most = greatest(&means);
        if most <= 0.0 {
            return false;
        }
        for (score, mean) in scores.iter_mut().zip(means) {
            *score *= 1.0 + weights.section * (mean / most);
        }
        for run in runs {
            scores[run[0].unit as usize] *= 1.0 + weights.opener;
        }
        true
    }

    /// Raises what is said by whom the query names.
    fn raise_named(
        &self,
        query: &str,
        scores: &mut [f64],
        weights: &Weights,
        seen: Seen<'_>,
    ) -> bool {
        if weights.named == 0.0 || self.parts.iter().all(|(_, part)| part.speakers.is_empty()) {
            return false;
        }
        let mut any = false;
        let words: BTreeSet<Box<str>> = terms::words(query).into_iter().collect();
        for (first, part) in &self.parts {
            let mut named = vec![false; part.speakers.len()];
            for (name, speaker) in &part.speakers {
                named[*speaker as usize] = name.iter().any(|word| words.contains(word));
            }
            let units = (*first..).zip(&part.said_by);
            for (unit, said_by) in units {
                let by = said_by.filter(|_| seen.has(unit));
                any |= by.is_some();
                if by.is_some_and(|speaker| named[speaker as usize]) {
                    scores[unit as usize] += weights.named;
                }
            }
        }
        any
    }
}

/// The words that a question and units have in common.
pub(crate) struct Shared {
    /// From 1 on the unit has to do with the question: they share a rare word, or two that not everything says.
    pub(crate) evidence: Vec<f64>,
    /// The share of the words of the shorter of both that they have in common, each counted by how much it tells.
    pub(crate) overlap: Vec<f64>,
    /// True if the unit has to do with the question by a number that both say: `pump 39` among a hundred pumps.
    pub(crate) cites: Vec<bool>,
    /// The most that a word of the question tells which any unit holds.
    pub(crate) rarest: f64,
    /// True if the question has no word that tells anything: `thanks!` where every second unit thanks.
    pub(crate) says_little: bool,
}

/// The least that the words tell which a related unit has in common with a question: one word that few units hold, or two
/// that many do.
const TELLING: f64 = 0.65;
/// The least that the words of a question tell which is about anything.
const LITTLE: f64 = 0.5;
/// Stems of words that are said to be polite, in the order of their letters.
const COURTESY: [&str; 18] = [
    "alright", "awesom", "bye", "cool", "fine", "good", "great", "hello", "hey", "hi", "nice",
    "ok", "okay", "perfect", "pleas", "sure", "thank", "yes",
];
/// The share of what is known of a question that makes up for how common its words are.
const COVERED: f64 = 0.75;
/// The terms of a question, by how much they tell, from which on more must be in common.
const SHORT: f64 = 4.0;
/// The units without a term that are thought to stand beside those that there are: what all of six say is their subject.
const OTHERS: usize = 100;
/// The worth of a pair of characters with hiragana, an ending mostly, and of a word that says nothing in another language;
/// and that of a character that is asked for alone.
const OF_ENDINGS: f64 = 0.5;
const ALONE_ASKED: f64 = 0.75;

/// Returns how much it tells that a unit holds a term which so many of all hold, from 0 to 1, for one that no other holds.
fn telling(term: &str, holders: usize, count: usize) -> f64 {
    let all = count + OTHERS;
    let worth = if term.contains(scripts::is_hiragana) || scripts::says_nothing_elsewhere(term) {
        OF_ENDINGS
    } else if scripts::is_one_character(term) {
        ALONE_ASKED
    } else {
        1.0
    };
    worth * rarity(holders.max(1), all) / rarity(1, all)
}

/// The rarity of a term that so many of all units hold.
fn rarity(holders: usize, all: usize) -> f64 {
    let (all, holders) = (all as f64, holders as f64);
    ln(1.0 + (all - holders + 0.5) / (holders + 0.5))
}

/// The numbers by which the terms of a question are weighed.
struct Statistics<'w> {
    weights: &'w Weights,
    /// The discount of a text for each of its terms.
    share: f64,
}

impl Statistics<'_> {
    /// The weighted frequency of a term in a unit whose text has so many terms.
    fn frequency(&self, length: u32, held: &Posting) -> f64 {
        let fields = &self.weights.fields;
        let damping = 1.0 - self.weights.length + self.share * f64::from(length);
        let mut frequency = fields[TEXT] * f64::from(held.text) / damping;
        if held.rest != [0; FIELDS - 1] {
            for (weight, times) in fields.iter().zip(held.rest) {
                frequency += weight * f64::from(times);
            }
        }
        frequency
    }

    fn saturated(&self, frequency: f64) -> f64 {
        let k1 = self.weights.saturation;
        frequency * (k1 + 1.0) / (k1 + frequency)
    }
}

/// Returns whether one ends where the next begins.
fn are_close(one: &Placed, next: &Placed) -> bool {
    one.place.material == next.place.material && next.place.from <= one.place.until
}

/// Calls `found` for each unit that holds a share of this one's terms, with the share: those up to three places away.
fn each_neighbour(
    neighbours: &[Neighbours],
    unit: u32,
    weights: &Weights,
    mut found: impl FnMut(u32, f64),
) {
    if neighbours.is_empty() {
        return;
    }
    let [before, after, second, third] = weights.neighbours;
    // The one behind this unit has it before itself.
    let mut walk = |shares: [f64; 3], step: fn(Neighbours) -> u32| {
        let mut at = unit;
        for share in shares {
            at = step(neighbours[at as usize]);
            if at == NOBODY {
                break;
            }
            found(at, share);
        }
    };
    walk([before, second, third], |of| of.after);
    walk([after, second, third], |of| of.before);
}

fn is_number(term: &str) -> bool {
    term.bytes().all(|byte| byte.is_ascii_digit())
}

/// Divides by the greatest, where there is one above 0.
pub(crate) fn normalize(scores: &mut [f64]) {
    let most = greatest(scores);
    if most > 0.0 && most != 1.0 {
        scores.iter_mut().for_each(|score| *score /= most);
    }
}

/// The greatest of some numbers; 0 where none is above it. What is not a number is passed over.
fn greatest(numbers: &[f64]) -> f64 {
    // Side by side: one after the other, each comparison would wait for the one before.
    let (steps, rest) = numbers.as_chunks::<8>();
    let mut most = [0.0f64; 8];
    let greater = |one: f64, other: f64| if other > one { other } else { one };
    for step in steps {
        for (most, number) in most.iter_mut().zip(step) {
            *most = greater(*most, *number);
        }
    }
    most.iter().chain(rest).copied().fold(0.0, greater)
}
