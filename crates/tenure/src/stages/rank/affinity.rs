//! How near each row is to the task: the built-in ranker over what the caller may see.

use crate::digest::Digest;
use crate::facts::{Asked, Facts, Need, Next};
use crate::policy::{Policy, Scorer};
use crate::ranker::{Dense, Seen};
use crate::stages::Live;
use crate::stages::plan::Planned;
use crate::trace::Note;

/// How near each row is, where the nearest has 1, and what was used to find out.
pub(super) struct Nearness {
    pub(super) raw: Vec<f64>,
    /// The digest of the facts that a compile may depend on.
    pub(super) facts: Digest,
}

/// The vectors that ranking would use.
pub(super) fn needs(live: &Live<'_>) -> Vec<Asked> {
    let ask = |row: &u32| Asked {
        need: Need::Vector {
            text: live.set.object(*row).revision().content_digest(),
        },
        candidate: *row as usize,
    };
    live.rows.iter().map(ask).collect()
}

/// Ranks the rows that are in.
pub(super) fn nearness(
    planned: &mut Planned<'_>,
    policy: &Policy,
    facts: &Facts,
    query: &str,
) -> Nearness {
    let live = &mut planned.resolved.live;
    let (dense, facts) = match policy.document().scorer {
        Scorer::Hybrid => similarities(live, facts, query),
        Scorer::Lexical | Scorer::Supplied => (None, facts.answers_digest()),
    };
    let set = live.set;
    let seen: Option<Vec<bool>> = (live.rows.len() < set.rows.len()).then(|| {
        let mut seen = vec![false; set.rows.len()];
        live.rows.iter().for_each(|row| seen[*row as usize] = true);
        seen
    });
    let seen = Seen {
        rows: seen.as_deref(),
        count: live.rows.len(),
    };
    let dense = dense.as_ref().map(|(similarities, unrelated)| Dense {
        similarities,
        unrelated: *unrelated,
    });
    let weights = policy.document().ranking.weights();
    Nearness {
        raw: set.index().scores(query, &weights, seen, dense),
        facts,
    }
}

/// The similarity of each row that is in to the query, less than nought where its vector is missing; what
/// unrelated texts have in common; and the digest of all facts that were used. Nothing is known of a row
/// that is not in, and nothing of it is looked at.
fn similarities(
    live: &mut Live<'_>,
    facts: &Facts,
    query: &str,
) -> (Option<(Vec<f64>, f64)>, Digest) {
    let answers = facts.answers_digest();
    let mut next = Next::default();
    let asked = facts.vector(&Digest::of(query.as_bytes()), &mut Next::default());
    let (Some(model), Some(asked)) = (facts.vectors().first(), asked) else {
        if !live.rows.is_empty() {
            live.notes.push(Note::NoVectors {
                fallback: "lexical relevance".into(),
            });
        }
        return (None, answers);
    };
    let model = model.model();
    let set = live.set;
    let mut similarities = vec![0.0; set.rows.len()];
    let mut marks = Vec::with_capacity(16 * (live.rows.len() + 1));
    marks.extend_from_slice(&asked.mark.to_le_bytes());
    for &row in &live.rows {
        let text = set.object(row).revision().content_digest();
        similarities[row as usize] = match facts.vector(&text, &mut next) {
            Some(vector) => {
                marks.extend_from_slice(&vector.mark.to_le_bytes());
                vector.cosine(asked).max(0.0)
            }
            None => {
                live.notes.push(Note::FactMissing {
                    name: set.name(row),
                    fallback: "lexical relevance".into(),
                });
                -1.0
            }
        };
    }
    let used = [
        answers.bytes().as_slice(),
        model.digest.bytes(),
        model.name.as_bytes(),
        &model.unrelated.millionths().to_le_bytes(),
        &marks,
    ];
    let used = Digest::of_parts(used);
    (Some((similarities, model.unrelated.to_f64())), used)
}
