//! The nearness of each row to the task: the built-in ranker over what the caller may see.

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::compile::stages::Live;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::Note;
use crate::input::candidates::{Normalized, OPEN, UNKNOWN};
use crate::input::facts::{Asked, Facts, Need, Next};
use crate::input::policy::{Policy, Scorer};
use crate::rank::dates::{self, Days, day_of};
use crate::rank::ranker::{Dense, Question, Seen, raise_dated};
use crate::rank::vectors::VectorModel;

/// The nearness of each row, where the nearest has 1, and the facts that were used.
pub(super) struct Nearness {
    pub(super) raw: Vec<f64>,
    /// The task, and the questions that somebody took it apart into.
    pub(super) asked: Vec<AskedAbout>,
    /// The digest of the facts that a compile may depend on.
    pub(super) facts: Digest,
}

/// A text that rows are near to or not.
pub(super) struct AskedAbout {
    question: Question,
    /// The similarity of each row's vector to that of the text, as far as it is known.
    cosines: Option<Cosines>,
}

/// The vectors that ranking would use.
pub(super) fn needs(live: &Live<'_>) -> Vec<Asked> {
    live.rows
        .iter()
        .map(|row| Asked {
            need: Need::Vector {
                text: live.set.row(*row).content,
            },
            candidate: *row as usize,
        })
        .collect()
}

/// Ranks the rows that are in. The digest of what was used costs about as much as the ranking: it is that of no
/// facts unless it `accounts` for them.
pub(super) fn nearness(
    planned: &mut Planned<'_>,
    policy: &Policy,
    facts: &Facts,
    query: &str,
    now: Option<Instant>,
    accounts: bool,
) -> Nearness {
    let live = &mut planned.live;
    let (dense, used) = match policy.document().scorer {
        Scorer::Hybrid => similarities(live, policy, facts, query, accounts),
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
    let weights = policy.document().ranking.weights();
    let parts = dense.as_ref().map(Cosines::dense);
    let whole = question(policy, facts, query);
    let mut raw = set.index().scores(&whole, &weights, seen, parts);
    raise_days(&mut raw, &live.rows, set, policy, query, now);
    let mut asked = vec![AskedAbout {
        question: whole,
        cosines: dense,
    }];
    let mut marks = Vec::new();
    for text in facts.subqueries(query) {
        let rows = &live.rows;
        let cosines = match policy.document().scorer {
            Scorer::Hybrid => cosines(set, rows, policy, facts, text, &mut marks),
            Scorer::Lexical | Scorer::Supplied => None,
        };
        // What one of the questions is about is as near as what all of it is about.
        let question = question(policy, facts, text);
        let near = among(set, rows, policy, &question, now, cosines.as_ref());
        for (raw, near) in raw.iter_mut().zip(near) {
            *raw = raw.max(near);
        }
        asked.push(AskedAbout { question, cosines });
    }
    let facts = if marks.is_empty() || !accounts {
        used
    } else {
        Digest::of_parts([used.bytes().as_slice(), &marks])
    };
    Nearness { raw, asked, facts }
}

/// Reads a question, with the words that are near to its own where the policy has vectors decide.
pub(super) fn question(policy: &Policy, facts: &Facts, text: &str) -> Question {
    let question = Question::of(text);
    match policy.document().scorer {
        Scorer::Hybrid => question.with_near(facts.near_words(text)),
        Scorer::Lexical | Scorer::Supplied => question,
    }
}

/// Raises what is of the days that a text names, told from the instant of the request where that is known.
fn raise_days(
    raw: &mut [f64],
    rows: &[u32],
    set: &Normalized,
    policy: &Policy,
    text: &str,
    now: Option<Instant>,
) {
    let weight = policy.document().ranking.dates.to_f64();
    if weight == 0.0 {
        return;
    }
    let now = now.map(|now| day_of(now.micros()));
    // A date without a year is looked for in all years that there are, where nobody knows what today is.
    let among = if now.is_none() {
        rows.iter().filter_map(|row| days_of(set, *row)).reduce(Days::with)
    } else {
        None
    };
    let asked = dates::named(text, now, among);
    raise_dated(raw, &asked, weight, |row| days_of(set, row as u32));
}

/// The days on which a row was true; of one whose end is open, the day on which it was said.
fn days_of(set: &Normalized, row: u32) -> Option<Days> {
    let row = set.row(row);
    if row.since == UNKNOWN {
        return None;
    }
    let first = day_of(row.since);
    let last = match row.valid_until {
        OPEN => first,
        until => day_of(until.saturating_sub(1)).max(first),
    };
    Some(Days { first, last })
}

/// The share of a text's words that it has in common with the task, from which on it is related where no vectors are known.
const SHARED: f64 = 0.25;

impl AskedAbout {
    /// Returns how near these rows are to the text, by row: the similarity, and half the share of the words that both
    /// have; without a vector the words alone. It is comparable across texts and tasks, as [`Nearness::raw`] is not.
    fn near(&self, set: &Normalized, rows: &[u32]) -> Vec<f64> {
        let mut seen = vec![false; set.rows.len()];
        rows.iter().for_each(|row| seen[*row as usize] = true);
        let seen = Seen {
            rows: Some(&seen),
            count: rows.len(),
        };
        let mut near = set.index().overlaps(&self.question, seen);
        for &row in rows {
            if let Some((_, cosine)) = self.known(row) {
                let near = &mut near[row as usize];
                *near = cosine + *near / 2.0;
            }
        }
        near
    }

    /// The nearness from which on a row is related to the text.
    fn least(&self, row: u32) -> f64 {
        match self.known(row) {
            None => SHARED,
            // The vector of a question of numbers is one of numbers, and a number is no subject.
            Some((cosines, _)) if self.question.asks_by_numbers() => cosines.related,
            Some((cosines, _)) => cosines.halfway,
        }
    }

    fn known(&self, row: u32) -> Option<(&Cosines, f64)> {
        let cosines = self.cosines.as_ref()?;
        let cosine = cosines.of[row as usize];
        (cosine >= 0.0).then_some((cosines, cosine))
    }
}

/// Returns how near these rows are to what is asked about, by row, where vectors are known: to the nearest of it.
pub(super) fn near(set: &Normalized, asked: &[AskedAbout], rows: &[u32]) -> Option<Vec<f64>> {
    asked.first()?.cosines.as_ref()?;
    let mut nearest = vec![0.0f64; set.rows.len()];
    for asked in asked {
        for (nearest, near) in nearest.iter_mut().zip(asked.near(set, rows)) {
            *nearest = nearest.max(near);
        }
    }
    Some(nearest)
}

/// Takes their nearness from the rows that have nothing to do with the task, in sections that have a floor of
/// relevance, but for what somebody chose with a package: the nearest of what is unrelated is still the nearest. A row is related whose similarity, with half the share of
/// the words that both have, is halfway from that of unrelated texts to that of texts which speak of the same; where no
/// vectors are known, one that has a quarter of its words in common with the task.
pub(super) fn drop_unrelated(
    planned: &Planned<'_>,
    policy: &Policy,
    asked: &[AskedAbout],
    raw: &mut [f64],
) {
    let live = &planned.live;
    let set = live.set;
    let is_held = |row: &u32| {
        policy.section(planned.epoch.section(*row)).relevance_floor > Score::ZERO
            && !set.row(*row).packed
    };
    let rows: Vec<u32> = live.rows.iter().copied().filter(is_held).collect();
    if rows.is_empty() {
        return;
    }
    let mut related = vec![false; set.rows.len()];
    for asked in asked {
        let near = asked.near(set, &rows);
        for &row in &rows {
            related[row as usize] |= near[row as usize] >= asked.least(row);
        }
    }
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

/// The similarity of each row that is in to the query, and the digest of all facts that were used. Nothing is known of a row
/// that is not in, and nothing of it is looked at.
fn similarities(
    live: &mut Live<'_>,
    policy: &Policy,
    facts: &Facts,
    query: &str,
    accounts: bool,
) -> (Option<Cosines>, Digest) {
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
    let used = |marks: &[u8]| {
        Digest::of_parts([
            answers.bytes().as_slice(),
            model.digest.bytes(),
            model.name.as_bytes(),
            &model.unrelated.millionths().to_le_bytes(),
            marks,
        ])
    };
    if asked.is_zero() && !query.trim().is_empty() {
        live.notes.push(Note::TaskNotEncoded {
            model: model.name.clone(),
            fallback: "lexical relevance".into(),
        });
        return (None, used(&asked.mark.to_le_bytes()));
    }
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
    let mut noted = Vec::new();
    let beside = beside(set, &live.rows, policy, facts, query, &mut noted);
    if accounts {
        marks.extend_from_slice(&noted);
    }
    let used = used(&marks);
    (Some(Cosines::by(model, similarities, beside)), used)
}

/// The similarity of these rows to a text by the built-in table, where it stands beside an encoder of one's own and the policy
/// asks for both; 0 where it is not known. `marks` says which vectors were used.
fn beside(
    set: &Normalized,
    rows: &[u32],
    policy: &Policy,
    facts: &Facts,
    text: &str,
    marks: &mut Vec<u8>,
) -> Option<Vec<f64>> {
    if policy.document().ranking.encoder == Score::ZERO {
        return None;
    }
    let model = facts.beside().first()?.model();
    let asked = facts.vector_beside(&Digest::of(text.as_bytes()), &mut Next::default())?;
    marks.extend_from_slice(model.digest.bytes());
    marks.extend_from_slice(&asked.mark.to_le_bytes());
    let mut next = Next::default();
    let mut of = vec![0.0; set.rows.len()];
    for &row in rows {
        if let Some(vector) = facts.vector_beside(&set.row(row).content, &mut next) {
            marks.extend_from_slice(&vector.mark.to_le_bytes());
            of[row as usize] = vector.cosine(asked).max(0.0);
        }
    }
    Some(of)
}

/// Returns the nearness of these rows to a question, compared with each other alone, by their terms and by these vectors.
pub(super) fn among(
    set: &Normalized,
    rows: &[u32],
    policy: &Policy,
    asked: &Question,
    now: Option<Instant>,
    cosines: Option<&Cosines>,
) -> Vec<f64> {
    let mut seen = vec![false; set.rows.len()];
    rows.iter().for_each(|row| seen[*row as usize] = true);
    let seen = Seen {
        rows: Some(&seen),
        count: rows.len(),
    };
    let weights = policy.document().ranking.weights();
    let dense = cosines.map(Cosines::dense);
    let mut raw = set.index().scores(asked, &weights, seen, dense);
    raise_days(&mut raw, rows, set, policy, asked.text(), now);
    raw
}

/// The similarity of rows to a text.
pub(super) struct Cosines {
    /// By row; less than 0 where no one knows.
    pub(super) of: Vec<f64>,
    /// The similarity of unrelated texts.
    pub(super) unrelated: f64,
    /// The similarity halfway from that to what texts have that speak of the same.
    halfway: f64,
    /// The similarity of texts that speak of the same.
    related: f64,
    /// The similarity by the built-in table, where the other is that of an encoder of one's own.
    beside: Option<Vec<f64>>,
}

impl Cosines {
    fn by(model: &VectorModel, of: Vec<f64>, beside: Option<Vec<f64>>) -> Cosines {
        let (unrelated, related) = (model.unrelated.to_f64(), model.related.to_f64());
        Cosines {
            of,
            unrelated,
            halfway: (unrelated + related) / 2.0,
            related,
            beside,
        }
    }

    fn dense(&self) -> Dense<'_> {
        Dense {
            similarities: &self.of,
            unrelated: self.unrelated,
            beside: self.beside.as_deref(),
        }
    }
}

/// Returns the similarity of these rows to a text whose vector was supplied. `marks` says which vectors were used.
pub(super) fn cosines(
    set: &Normalized,
    rows: &[u32],
    policy: &Policy,
    facts: &Facts,
    text: &str,
    marks: &mut Vec<u8>,
) -> Option<Cosines> {
    let mut next = Next::default();
    let model = facts.vectors().first()?.model();
    let asked = facts.vector(&Digest::of(text.as_bytes()), &mut Next::default())?;
    marks.extend_from_slice(model.digest.bytes());
    marks.extend_from_slice(&asked.mark.to_le_bytes());
    if asked.is_zero() {
        return None; // No word of it is known.
    }
    let mut of = vec![-1.0; set.rows.len()];
    for &row in rows {
        let text = set.row(row).content;
        if let Some(vector) = facts.vector(&text, &mut next) {
            marks.extend_from_slice(&vector.mark.to_le_bytes());
            of[row as usize] = vector.cosine(asked).max(0.0);
        }
    }
    let beside = beside(set, rows, policy, facts, text, marks);
    Some(Cosines::by(model, of, beside))
}
