//! Guidance that asks and guidance that forbids nearly the same. Encoders put "always" beside "never", so
//! that nearness cannot tell them apart: both stand, and the trace says so.

use crate::base::digest::DigestMap;
use crate::base::num::Score;
use crate::compile::score::ScoreCard;
use crate::compile::stages::Live;
use crate::compile::stages::rank::Opposed;
use crate::input::facts::Facts;
use crate::input::policy::{Policy, Scorer};
use crate::input::stance::Topic;
use crate::object::Polarity;

/// Of those that ask and those that forbid, so many of the best are compared with each other: no more than a
/// word has bits.
const COMPARED: usize = 48;
/// The share of its words that the shorter text must have in common with the other, with vectors and
/// without.
const SHARED: [f64; 2] = [0.4, 0.6];

/// The pairs among what is still in, by what forbids and then by what asks.
pub(super) fn find(
    live: &Live<'_>,
    policy: &Policy,
    scores: &[ScoreCard],
    facts: &Facts,
) -> Vec<Opposed> {
    let set = live.set;
    let (mut asking, mut forbidding) = (Vec::new(), Vec::new());
    for (row, polarity) in set.stances().filter(|(row, _)| live.is_in(*row)) {
        match polarity {
            Polarity::Positive => asking.push(row),
            Polarity::Negative => forbidding.push(row),
        }
    }
    if asking.is_empty() || forbidding.is_empty() {
        return Vec::new();
    }
    let asking = with_topics(live, asking, scores);
    let forbidding = with_topics(live, forbidding, scores);
    let related = facts
        .vectors()
        .first()
        .filter(|_| policy.document().scorer == Scorer::Hybrid)
        .map(|vectors| vectors.model().related);
    let content = |row: u32| set.row(row).content;
    let shared_words = SharedWords::with(&asking);
    let mut pairs = Vec::new();
    for (forbids, their) in forbidding {
        let common = shared_words.count(their);
        for ((asks, own), common) in asking.iter().zip(common) {
            let smaller = own.words().len().min(their.words().len()).max(1);
            let shared = f64::from(common) / smaller as f64;
            if shared < SHARED[0] {
                continue;
            }
            let similarity = related.map(|_| facts.similarity(&content(*asks), &content(forbids)));
            let alike = match (similarity.flatten(), related) {
                (Some(similarity), Some(related)) => similarity >= related,
                _ => shared >= SHARED[1],
            };
            if alike {
                pairs.push(Opposed {
                    asks: *asks,
                    forbids,
                    shared: Score::clamped(shared),
                });
            }
        }
    }
    pairs
}

/// The best of these rows, in order, each with its topic.
fn with_topics<'a>(
    live: &Live<'a>,
    mut rows: Vec<u32>,
    scores: &[ScoreCard],
) -> Vec<(u32, &'a Topic)> {
    let score = |row: &u32| scores[*row as usize].composite;
    if rows.len() > COMPARED {
        rows.select_nth_unstable_by(COMPARED, |a, b| score(b).cmp(&score(a)).then(a.cmp(b)));
        rows.truncate(COMPARED);
        rows.sort_unstable();
    }
    rows.into_iter().filter_map(|row| Some((row, live.set.topic(row)?))).collect()
}

/// The words of at most [`COMPARED`] topics: for each word a number with a bit for each topic that has it.
struct SharedWords {
    topics: DigestMap<u64>,
    count: usize,
}

impl SharedWords {
    fn with(topics: &[(u32, &Topic)]) -> SharedWords {
        let mut index = DigestMap::default();
        for (at, (_, topic)) in topics.iter().enumerate() {
            for word in topic.words() {
                *index.entry(u128::from(*word)).or_default() |= 1 << at;
            }
        }
        SharedWords {
            topics: index,
            count: topics.len(),
        }
    }

    /// Returns the number of words that each topic has in common with this one. All of them count at once: the first
    /// number holds the lowest bit of every topic's count, the second the next.
    fn count(&self, other: &Topic) -> impl Iterator<Item = u32> {
        let mut counts: Vec<u64> = Vec::with_capacity(8);
        for word in other.words() {
            let mut carry = match self.topics.get(&u128::from(*word)) {
                Some(topics) => *topics,
                None => continue,
            };
            for bits in &mut counts {
                (*bits, carry) = (*bits ^ carry, *bits & carry);
            }
            if carry != 0 {
                counts.push(carry);
            }
        }
        (0..self.count).map(move |at| {
            counts.iter().rev().fold(0, |count, bits| count << 1 | (bits >> at & 1) as u32)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_common_are_counted_for_all_at_once() {
        let of = |from: usize, until: usize| {
            let words: Vec<String> = (from..until).map(|at| format!("word{at}")).collect();
            Topic::of(&words.join(" "))
        };
        let topics: Vec<Topic> = (0..COMPARED).map(|at| of(at, 3 * at)).collect();
        let rows: Vec<(u32, &Topic)> = (0..).zip(&topics).collect();
        let shared = SharedWords::with(&rows);
        for (from, until) in [(0, 0), (0, 1), (10, 40), (0, 200), (47, 48)] {
            let counted: Vec<u32> = shared.count(&of(from, until)).collect();
            let expected = (0..COMPARED).map(|at| (3 * at).min(until).saturating_sub(at.max(from)));
            assert!(counted.into_iter().map(|count| count as usize).eq(expected));
        }
    }
}
