//! The passages of candidates' texts, ready to be searched: made once for each layer and kept with it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::Candidates;
use super::rows::date_of;
use crate::base::digest::Digest;
use crate::object::{ContextObject, ObjectType};
use crate::rank::passages::split;
use crate::rank::ranker::{Dense, Index, Part, Position, Question, Seen, Unit, Weights};
use crate::rank::vectors::Vectors;

/// The passages of candidates, in their order.
///
/// ```
/// use tenure::{Candidates, ObjectDocument};
/// use tenure::ranker::{Question, Weights};
/// let seal = |name: &str, text: &str| ObjectDocument::named(name, text).seal();
/// let candidates = Candidates::new(vec![seal("manual", "The valve opens at two bar.")?, seal("menu", "Soup.")?]);
/// let passages = candidates.passages();
/// let ranked = passages.rank(&Question::of("valve"), &Weights::default(), &passages.of_candidates([0, 1]), None);
/// let best = ranked.into_iter().next().map(|(at, _)| passages.get(at).object.name());
/// assert_eq!(best, Some("manual"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug)]
pub struct Passages {
    /// Each with its first passage and its first candidate.
    layers: Vec<(usize, usize, Arc<PassageLayer>)>,
    count: usize,
    index: Index,
}

/// The passages of a run of candidates, with all that depends on these alone.
#[derive(Debug)]
pub struct PassageLayer {
    objects: Arc<[Arc<ContextObject>]>,
    /// The first passage of each object, and the end of the last one's.
    firsts: Vec<u32>,
    places: Vec<Cut>,
    terms: Arc<Part>,
    /// The vectors by the model that was first asked for.
    vectors: OnceLock<Arc<Vectors>>,
    /// Those of what stood here before.
    known: Option<Arc<Vectors>>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    object: u32,
    from: u32,
    until: u32,
    text: Digest,
}

/// A passage.
#[derive(Clone, Debug)]
pub struct Passage<'p> {
    /// The candidate's place.
    pub candidate: usize,
    /// The object.
    pub object: &'p ContextObject,
    /// The place in its text, in bytes.
    pub range: Range<usize>,
    /// The text.
    pub text: &'p str,
}

impl PassageLayer {
    pub(super) fn of(
        objects: &Arc<[Arc<ContextObject>]>,
        known: Option<Arc<Vectors>>,
    ) -> PassageLayer {
        let mut firsts = Vec::with_capacity(objects.len() + 1);
        let mut places = Vec::with_capacity(objects.len());
        let mut units = Vec::with_capacity(objects.len());
        let dates: Vec<String> = objects.iter().map(|object| date_of(object)).collect();
        for (at, object) in (0u32..).zip(objects.iter()) {
            firsts.push(places.len() as u32);
            let revision = object.revision();
            let is_text = !matches!(
                revision.object_type(),
                ObjectType::ToolSchema | ObjectType::Media | ObjectType::TaskState
            );
            if !is_text {
                continue;
            }
            let ranges = split(revision.content());
            // A passage alone has no neighbours.
            let is_ordered = ranges.len() > 1;
            for (order, range) in (0u64..).zip(ranges) {
                let text = &revision.content()[range.clone()];
                places.push(Cut {
                    object: at,
                    from: range.start as u32,
                    until: range.end as u32,
                    text: Digest::of(text.as_bytes()),
                });
                let unit = Unit {
                    name: object.name(),
                    speaker: revision.said_by().unwrap_or_default(),
                    date: &dates[at as usize],
                    text,
                    ..Unit::default()
                };
                let place = is_ordered.then(|| Position {
                    material: revision.id().key(),
                    from: order,
                    until: order + 1,
                });
                units.push((unit, place));
            }
        }
        firsts.push(places.len() as u32);
        PassageLayer {
            terms: Arc::new(Part::of(units)),
            objects: Arc::clone(objects),
            firsts,
            places,
            vectors: OnceLock::new(),
            known,
        }
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The texts with their digests, in their order.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = (Digest, &str)> {
        self.places.iter().map(|place| (place.text, self.text(place)))
    }

    /// The digests of the texts, in their order.
    pub fn digests(&self) -> impl ExactSizeIterator<Item = &Digest> {
        self.places.iter().map(|place| &place.text)
    }

    /// The vectors that are kept with them.
    pub fn vectors(&self) -> Option<&Arc<Vectors>> {
        self.vectors.get()
    }

    /// Vectors of some of them, and of other texts: those of what stood in their place before.
    pub fn known_vectors(&self) -> Option<&Arc<Vectors>> {
        self.known.as_ref()
    }

    /// Keeps vectors of all of them, unless there are some already.
    pub fn keep_vectors(&self, vectors: Arc<Vectors>) {
        self.vectors.get_or_init(|| vectors);
    }

    fn text(&self, place: &Cut) -> &str {
        let content = self.objects[place.object as usize].revision().content();
        &content[place.from as usize..place.until as usize]
    }
}

impl Passages {
    pub(super) fn of(candidates: &Candidates) -> Passages {
        let (mut passage, mut candidate) = (0, 0);
        let layers: Vec<_> = candidates
            .layers()
            .map(|layer| {
                let own = Arc::clone(layer.passage_layer());
                let at = (passage, candidate);
                (passage, candidate) = (passage + own.len(), candidate + layer.len());
                (at.0, at.1, own)
            })
            .collect();
        Passages {
            index: Index::of(layers.iter().map(|(.., layer)| Arc::clone(&layer.terms))),
            count: passage,
            layers,
        }
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The runs of which they are made, in their order.
    pub fn layers(&self) -> impl Iterator<Item = &PassageLayer> {
        self.layers.iter().map(|(.., layer)| &**layer)
    }

    /// The passage at this place, which must be one of them.
    pub fn get(&self, at: usize) -> Passage<'_> {
        let after = self.layers.partition_point(|(first, ..)| *first <= at);
        let (first, candidate, layer) = &self.layers[after - 1];
        let place = &layer.places[at - first];
        Passage {
            candidate: candidate + place.object as usize,
            object: &layer.objects[place.object as usize],
            range: place.from as usize..place.until as usize,
            text: layer.text(place),
        }
    }

    /// Of each passage, whether it is of one of these candidates, which are in order.
    pub fn of_candidates(&self, wanted: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut chosen = vec![false; self.count];
        let mut layers = self.layers.iter().peekable();
        for at in wanted {
            while layers.peek().is_some_and(|(_, from, layer)| from + layer.objects.len() <= at) {
                layers.next();
            }
            let Some((first, from, layer)) = layers.peek() else {
                break;
            };
            let [start, end] = [at - from, at - from + 1].map(|at| layer.firsts[at] as usize);
            chosen[first + start..first + end].fill(true);
        }
        chosen
    }

    /// Ranks those of them that are `seen`, among each other alone; `similarities` holds that of each passage to the query
    /// where someone has vectors, 0 for what is not seen.
    pub fn rank(
        &self,
        asked: &Question,
        weights: &Weights,
        seen: &[bool],
        similarities: Option<&[f64]>,
    ) -> Nearest {
        let count = seen.iter().filter(|seen| **seen).count();
        let seen = Seen {
            rows: (count < self.count).then_some(seen),
            count,
        };
        let dense = similarities.map(|similarities| Dense {
            similarities,
            unrelated: 0.0,
            beside: None,
        });
        let scores = self.index.scores(asked, weights, seen, dense);
        let ranked = scores
            .into_iter()
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .map(|(passage, score)| Near { score, passage });
        Nearest(ranked.collect::<Vec<_>>().into())
    }
}

/// Passages that are near to a query, the nearest first; equally near ones in their order.
#[derive(Debug)]
pub struct Nearest(BinaryHeap<Near>);

impl Iterator for Nearest {
    type Item = (usize, f64);

    fn next(&mut self) -> Option<(usize, f64)> {
        self.0.pop().map(|near| (near.passage, near.score))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl ExactSizeIterator for Nearest {}

/// A passage with its score. The nearer is the greater.
#[derive(Debug)]
struct Near {
    score: f64,
    passage: usize,
}

impl Ord for Near {
    fn cmp(&self, other: &Near) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then_with(|| other.passage.cmp(&self.passage))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Near) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Near {
    fn eq(&self, other: &Near) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Near {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectDocument;
    use proptest::prelude::*;

    /// A text, and who says it.
    type Said = (String, &'static str);

    fn object((text, by): &Said) -> Arc<ContextObject> {
        let said_by = (!by.is_empty()).then(|| (*by).to_owned());
        ObjectDocument {
            said_by,
            valid_from: "2023-02-14".parse().ok(),
            ..ObjectDocument::named("text", text.as_str())
        }
        .seal()
        .unwrap()
    }

    fn candidates(texts: &[&Said]) -> Candidates {
        Candidates::new(texts.iter().map(|text| object(text)).collect())
    }

    /// The texts of the nearest with their scores.
    fn ranked(candidates: &Candidates, seen: &[usize], query: &str) -> Vec<(String, f64)> {
        let passages = candidates.passages();
        let seen = passages.of_candidates(seen.iter().copied());
        let ranked = passages.rank(&Question::of(query), &Weights::default(), &seen, None);
        ranked.map(|(at, score)| (passages.get(at).text.to_owned(), score)).collect()
    }

    fn text() -> impl Strategy<Value = Said> {
        let words = prop::sample::select(vec!["pump", "valve", "lamp", "film"]);
        let paragraph =
            (words, 1..260usize).prop_map(|(word, times)| format!("{word} ").repeat(times));
        let text = prop::collection::vec(paragraph, 1..4).prop_map(|texts| texts.join("\n\n"));
        (text, prop::sample::select(vec!["", "", "Ann", "Lamp"]))
    }

    #[test]
    fn passages_are_found_by_who_says_them_and_by_their_day() {
        let said = |text: &str, by| (text.to_owned(), by);
        let all = [
            said("The lamp is red.", "Bob"),
            said("The lamp is green.", "Ann"),
        ];
        let candidates = candidates(&all.iter().collect::<Vec<_>>());
        let first = |query: &str| ranked(&candidates, &[0, 1], query)[0].0.clone();
        assert_eq!(first("What did Ann say of the lamp?"), "The lamp is green.");
        assert_eq!(first("What did Bob say of the lamp?"), "The lamp is red.");
        assert_eq!(ranked(&candidates, &[0, 1], "2023-02-14").len(), 2);
    }

    proptest! {
        /// Nothing changes by what is not seen, nor by where layers begin.
        #[test]
        fn passages_are_ranked_as_if_there_were_no_others(
            texts in prop::collection::vec((text(), any::<bool>()), 0..7),
            cut in 0..7usize,
            query in "(pump |valve |lamp |ann |2023-02-14 ){0,3}",
        ) {
            let all: Vec<&Said> = texts.iter().map(|(text, _)| text).collect();
            let (one, other) = all.split_at(cut.min(all.len()));
            let layers = [one, other].map(|part| Arc::new(candidates(part)));
            let layered = Candidates::layered(layers);
            let seen: Vec<usize> = (0..all.len()).filter(|at| texts[*at].1).collect();
            let alone: Vec<&Said> = seen.iter().map(|at| all[*at]).collect();
            let expected = ranked(&candidates(&alone), &(0..alone.len()).collect::<Vec<_>>(), &query);
            prop_assert_eq!(ranked(&layered, &seen, &query), expected);
            for at in 0..layered.passages().len() {
                let passage = layered.passages().get(at);
                let content = layered.objects()[passage.candidate].revision().content();
                prop_assert_eq!(&content[passage.range], passage.text);
            }
        }
    }
}
