//! Guidance that asks and guidance that forbids nearly the same. Encoders put "always" beside "never", so
//! that nearness cannot tell them apart: both stand, and the trace says so.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::num::Score;
use crate::object::Polarity;
use crate::policy::{Policy, Scorer};
use crate::ranker::each_term;
use crate::score::ScoreCard;
use crate::stages::plan::Planned;
use crate::stance::says_how;
use crate::trace::Note;

/// Of those that ask and those that forbid, so many of the best are compared with each other.
const COMPARED: usize = 48;
/// The share of its words that the shorter text must have in common with the other, with vectors and
/// without.
const SHARED: [f64; 2] = [0.4, 0.6];

/// Notes the pairs that still stand.
pub(super) fn note(
    planned: &mut Planned<'_>,
    policy: &Policy,
    scores: &[ScoreCard],
    facts: &Facts,
) {
    let live = &planned.resolved.live;
    let set = live.set;
    let stances = set.stances();
    if stances.len() < 2 {
        return;
    }
    let of = |wanted: Polarity| {
        let standing = stances
            .iter()
            .filter(|(row, own)| *own == wanted && live.is_in(*row));
        let mut rows: Vec<u32> = standing.map(|(row, _)| *row).collect();
        let score = |row: &u32| scores[*row as usize].composite;
        let better = |a: &u32, b: &u32| score(b).cmp(&score(a)).then(a.cmp(b));
        if rows.len() > COMPARED {
            rows.select_nth_unstable_by(COMPARED, better);
            rows.truncate(COMPARED);
        }
        rows.sort_unstable();
        let with_words = |row| (row, topic(set.object(row).revision().content()));
        rows.into_iter().map(with_words).collect::<Vec<_>>()
    };
    let forbidding = of(Polarity::Negative);
    if forbidding.is_empty() {
        return;
    }
    let asking = of(Polarity::Positive);
    let hybrid = policy.document().scorer == Scorer::Hybrid;
    let related = facts
        .vectors()
        .first()
        .map(|vectors| vectors.model().related);
    let mut notes = Vec::new();
    for (no, their) in &forbidding {
        for (yes, own) in &asking {
            let smaller = own.len().min(their.len());
            let shared = own.intersection(their).count() as f64 / smaller.max(1) as f64;
            if shared < SHARED[0] {
                continue;
            }
            let text = |row: u32| set.row(row).content;
            let alike = related
                .filter(|_| hybrid)
                .and_then(|related| Some(facts.similarity(&text(*yes), &text(*no))? >= related));
            if alike.unwrap_or(shared >= SHARED[1]) {
                notes.push(Note::OpposedGuidance {
                    name: set.name(*yes),
                    forbids: set.name(*no),
                    shared: Score::clamped(shared),
                });
            }
        }
    }
    planned.resolved.live.notes.extend(notes);
}

/// The words of what it is about: those that demand or forbid are not.
fn topic(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    each_term(text, |word| {
        if word.len() >= 4 && !says_how(word) {
            words.insert(word.to_owned());
        }
    });
    words
}
