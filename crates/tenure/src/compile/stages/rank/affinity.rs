//! The nearness of each row to the task: the built-in ranker over what the caller may see.

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::compile::stages::Live;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::Note;
use crate::input::candidates::Normalized;
use crate::input::facts::{Asked, Facts, Need, Next};
use crate::input::policy::{Policy, Scorer};
use crate::rank::ranker::{Dense, Seen};

/// The nearness of each row, where the nearest has 1, and the facts that were used.
pub(super) struct Nearness {
    pub(super) raw: Vec<f64>,
    /// By row, what is known of the similarity of its vector to that of the task.
    pub(super) cosines: Option<Vec<f64>>,
    /// The digest of the facts that a compile may depend on.
    pub(super) facts: Digest,
}

/// The vectors that ranking would use.
pub(super) fn needs(live: &Live<'_>) -> Vec<Asked> {
    let ask = |row: &u32| Asked {
        need: Need::Vector {
            text: live.set.row(*row).content,
        },
        candidate: *row as usize,
    };
    live.rows.iter().map(ask).collect()
}

/// Ranks the rows that are in. The digest of what was used costs about as much as the ranking: it is that of no
/// facts unless it `accounts` for them.
pub(super) fn nearness(
    planned: &mut Planned<'_>,
    policy: &Policy,
    facts: &Facts,
    query: &str,
    accounts: bool,
) -> Nearness {
    let live = &mut planned.live;
    let (dense, facts) = match policy.document().scorer {
        Scorer::Hybrid => similarities(live, facts, query, accounts),
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
    let similarities = dense;
    let dense = similarities
        .as_ref()
        .map(|(similarities, unrelated)| Dense {
            similarities,
            unrelated: *unrelated,
        });
    let weights = policy.document().ranking.weights();
    let raw = set.index().scores(query, &weights, seen, dense);
    Nearness {
        raw,
        cosines: similarities.map(|(similarities, _)| similarities),
        facts,
    }
}

/// From how much on an object is related to the task: its similarity and half the share of the words that both have.
const RELATED: f64 = 0.45;
/// From how much on, where the best has at least [`SURE`]: then the task is one that these objects are about.
const RELATED_AMONG: f64 = 0.25;
const SURE: f64 = 0.6;

/// Returns how near these rows are to a text, by row: the similarity, and half the share of the words that both have;
/// without a vector the words alone. It is comparable across texts and tasks, as [`Nearness::raw`] is not.
pub(super) fn near(set: &Normalized, text: &str, cosines: &[f64], rows: &[u32]) -> Vec<f64> {
    let mut seen = vec![false; set.rows.len()];
    rows.iter().for_each(|row| seen[*row as usize] = true);
    let mut near = set.index().overlaps(
        text,
        Seen {
            rows: Some(&seen),
            count: rows.len(),
        },
    );
    for &row in rows {
        let (cosine, near) = (cosines[row as usize], &mut near[row as usize]);
        if cosine >= 0.0 {
            *near = cosine + *near / 2.0;
        }
    }
    near
}

/// Takes their nearness from the rows that have nothing to do with the task, in sections that have a floor of
/// relevance: the nearest of what is unrelated is still the nearest. Where no vectors are known, the terms alone
/// decide as they are.
pub(super) fn drop_unrelated(
    planned: &Planned<'_>,
    policy: &Policy,
    query: &str,
    cosines: &[f64],
    raw: &mut [f64],
) {
    let live = &planned.live;
    let set = live.set;
    let has_floor =
        |row: &u32| policy.section(planned.epoch.section(*row)).relevance_floor > Score::ZERO;
    let rows: Vec<u32> = live.rows.iter().copied().filter(has_floor).collect();
    if rows.is_empty() {
        return;
    }
    let near = near(set, query, cosines, &rows);
    let near = |row: u32| near[row as usize];
    let best = rows.iter().map(|row| near(*row)).fold(0.0, f64::max);
    let least = if best >= SURE { RELATED_AMONG } else { RELATED };
    let mut related = vec![false; set.rows.len()];
    rows.iter()
        .for_each(|row| related[*row as usize] = near(*row) >= least);
    let mut there = vec![false; set.rows.len()];
    live.rows.iter().for_each(|row| there[*row as usize] = true);
    let there = Seen {
        rows: Some(&there),
        count: live.rows.len(),
    };
    set.index().mark_neighbours(&mut related, there);
    for row in rows {
        if !related[row as usize] {
            raw[row as usize] = 0.0;
        }
    }
}

/// The similarity of each row that is in to the query, less than 0 where its vector is missing; what
/// unrelated texts have in common; and the digest of all facts that were used. Nothing is known of a row
/// that is not in, and nothing of it is looked at.
fn similarities(
    live: &mut Live<'_>,
    facts: &Facts,
    query: &str,
    accounts: bool,
) -> (Option<(Vec<f64>, f64)>, Digest) {
    let answers = if accounts {
        facts.answers_digest()
    } else {
        Facts::none().answers_digest()
    };
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
    let mut marks = Vec::with_capacity(if accounts {
        16 * (live.rows.len() + 1)
    } else {
        16
    });
    marks.extend_from_slice(&asked.mark.to_le_bytes());
    for &row in &live.rows {
        let text = set.row(row).content;
        similarities[row as usize] = match facts.vector(&text, &mut next) {
            Some(vector) => {
                if accounts {
                    marks.extend_from_slice(&vector.mark.to_le_bytes());
                }
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

/// Returns the nearness of these rows to a text, compared with each other alone, by their terms and by these vectors.
pub(super) fn among(
    set: &Normalized,
    rows: &[u32],
    policy: &Policy,
    text: &str,
    cosines: Option<&Cosines>,
) -> Vec<f64> {
    let mut seen = vec![false; set.rows.len()];
    rows.iter().for_each(|row| seen[*row as usize] = true);
    let seen = Seen {
        rows: Some(&seen),
        count: rows.len(),
    };
    let dense = cosines.map(|cosines| Dense {
        similarities: &cosines.of,
        unrelated: cosines.unrelated,
    });
    let weights = policy.document().ranking.weights();
    set.index().scores(text, &weights, seen, dense)
}

/// The similarity of rows to a text.
pub(super) struct Cosines {
    /// By row; less than 0 where no one knows.
    pub(super) of: Vec<f64>,
    /// The similarity of unrelated texts.
    pub(super) unrelated: f64,
}

/// Returns the similarity of these rows to a text whose vector was supplied. `marks` says which vectors were used.
pub(super) fn cosines(
    set: &Normalized,
    rows: &[u32],
    facts: &Facts,
    text: &str,
    marks: &mut Vec<u8>,
) -> Option<Cosines> {
    let mut next = Next::default();
    let model = facts.vectors().first()?.model();
    let asked = facts.vector(&Digest::of(text.as_bytes()), &mut Next::default())?;
    marks.extend_from_slice(model.digest.bytes());
    marks.extend_from_slice(&asked.mark.to_le_bytes());
    let mut of = vec![-1.0; set.rows.len()];
    for &row in rows {
        let text = set.row(row).content;
        if let Some(vector) = facts.vector(&text, &mut next) {
            marks.extend_from_slice(&vector.mark.to_le_bytes());
            of[row as usize] = vector.cosine(asked).max(0.0);
        }
    }
    Some(Cosines {
        of,
        unrelated: model.unrelated.to_f64(),
    })
}
