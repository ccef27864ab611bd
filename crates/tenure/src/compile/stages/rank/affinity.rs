//! The nearness of each row to the task: the built-in ranker over what the caller may see.

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::compile::stages::Live;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::Note;
use crate::condense::sentences::acknowledges;
use crate::input::candidates::{Normalized, OPEN, UNKNOWN};
use crate::input::facts::{Asked, Facts, Need, Next};
use crate::input::policy::{Policy, Scorer};
use crate::rank::dates::{self, Days, day_of};
use crate::rank::ranker::{Dense, Question, Seen, raise_dated};
use crate::rank::vectors::{Vector, VectorModel};

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
    /// The share of its nearness that counts.
    weight: f64,
}

/// The least that a word must tell for thanks to be about something: `Thanks, and the valve?`
const RARE: f64 = 0.4;
/// The most terms of a task that may go on with what the user said before: `And in pascal?`
const MOST_OF_FOLLOWING: usize = 6;
/// The weight of what the user said before, where it ranks and where it lets in.
const BEFORE_RANKS: f64 = 0.5;
const BEFORE_LETS_IN: f64 = 0.85;

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
    let before = before(live, query, whole.len());
    let mut asked = vec![AskedAbout {
        question: whole,
        cosines: dense,
        weight: 1.0,
    }];
    let mut marks = Vec::new();
    // What one of the questions is about is as near as what all of it is about.
    let parts = facts.subqueries(query).iter().map(|text| (text.as_str(), 1.0, 1.0));
    for (text, ranks, weight) in
        parts.chain(before.map(|text| (text, BEFORE_RANKS, BEFORE_LETS_IN)))
    {
        let rows = &live.rows;
        let cosines = match policy.document().scorer {
            Scorer::Hybrid => cosines(set, rows, policy, facts, text, &mut marks),
            Scorer::Lexical | Scorer::Supplied => None,
        };
        let question = question(policy, facts, text);
        let near = among(set, rows, policy, &question, now, cosines.as_ref());
        for (raw, near) in raw.iter_mut().zip(near) {
            *raw = raw.max(ranks * near);
        }
        asked.push(AskedAbout {
            question,
            cosines,
            weight,
        });
    }
    let facts = if marks.is_empty() || !accounts {
        used
    } else {
        Digest::of_parts([used.bytes().as_slice(), &marks])
    };
    Nearness { raw, asked, facts }
}

/// The user's words before the task, where that is short enough to go on with them: of the turns that stand, the last
/// one that the task does not repeat.
fn before<'l>(live: &Live<'l>, query: &str, terms: usize) -> Option<&'l str> {
    if terms > MOST_OF_FOLLOWING {
        return None;
    }
    let set = live.set;
    let turns = live.rows.iter().rev().filter(|row| set.is_user_turn(**row));
    turns
        .map(|row| set.object(*row).revision().content())
        .find(|said| !said.trim().is_empty() && !query.contains(said.trim()))
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

impl AskedAbout {
    /// Returns which of these rows have to do with the text, by row: those whose similarity, with half the share of the
    /// words that both have, is at least this much; where no vectors are known, those whose words are evidence enough.
    fn reach(&self, set: &Normalized, rows: &[u32], least: Least) -> Vec<bool> {
        let mut seen = vec![false; set.rows.len()];
        rows.iter().for_each(|row| seen[*row as usize] = true);
        let seen = Seen {
            rows: Some(&seen),
            count: rows.len(),
        };
        let shared = set.index().shared(&self.question, seen);
        if shared.rarest < RARE && acknowledges(self.question.text()) {
            return vec![false; set.rows.len()];
        }
        let mut near = vec![false; set.rows.len()];
        for &row in rows {
            let at = row as usize;
            near[at] = match self.known(row) {
                None => self.weight * shared.evidence[at] >= 1.0,
                Some(_) if shared.cites[at] => true,
                // A word that everything says is no subject, nor is a number.
                Some((cosines, cosine)) if shared.says_little => cosine >= cosines.related,
                Some((cosines, cosine)) => {
                    let least = match least {
                        _ if self.question.asks_by_numbers() => cosines.related,
                        Least::Halfway => cosines.halfway,
                        Least::Of(least) => least,
                    };
                    self.weight * (cosine + shared.overlap[at] / 2.0) >= least
                }
            };
        }
        near
    }

    /// Returns whether a text has a word in common with this one.
    pub(super) fn shares_a_word(&self, text: &str) -> bool {
        self.question.shares_a_word(text)
    }

    fn known(&self, row: u32) -> Option<(&Cosines, f64)> {
        let cosines = self.cosines.as_ref()?;
        let cosine = cosines.of[row as usize];
        (cosine >= 0.0 && !cosines.unsure[row as usize]).then_some((cosines, cosine))
    }
}

/// The nearness from which on a row has to do with a text.
#[derive(Clone, Copy)]
pub(super) enum Least {
    /// Halfway from that of unrelated texts to that of texts which speak of the same, as their model says.
    Halfway,
    /// This much.
    Of(f64),
}

/// Returns which of these rows have to do with anything that is asked about, by row.
pub(super) fn reached(
    set: &Normalized,
    asked: &[AskedAbout],
    rows: &[u32],
    least: Least,
) -> Vec<bool> {
    let mut reached = vec![false; set.rows.len()];
    for asked in asked {
        for (reached, near) in reached.iter_mut().zip(asked.reach(set, rows, least)) {
            *reached |= near;
        }
    }
    reached
}

/// Takes their nearness from the rows that have nothing to do with the task, in sections that have a floor of
/// relevance, but for what somebody chose with a package: the nearest of what is unrelated is still the nearest. What
/// nothing chose is held in every section.
pub(super) fn drop_unrelated(
    planned: &Planned<'_>,
    policy: &Policy,
    asked: &[AskedAbout],
    raw: &mut [f64],
) {
    let live = &planned.live;
    let set = live.set;
    let is_held = |row: &u32| {
        let has_floor = policy.section(planned.epoch.section(*row)).relevance_floor > Score::ZERO;
        (has_floor || set.row(*row).unasked && policy.document().unasked_floor > Score::ZERO)
            && !set.row(*row).packed
    };
    let rows: Vec<u32> = live.rows.iter().copied().filter(is_held).collect();
    if rows.is_empty() {
        return;
    }
    let mut related = reached(set, asked, &rows, Least::Halfway);
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
    let mut unsure = vec![asked.is_unsure(); set.rows.len()];
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
                unsure[row as usize] |= vector.is_unsure();
                cosine(vector, asked)
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
    (Some(Cosines::by(model, similarities, unsure, beside)), used)
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

/// The similarity of two texts; less than 0 where the model knows no word of the first.
fn cosine(of: Vector<'_>, asked: Vector<'_>) -> f64 {
    if of.is_zero() {
        return -1.0;
    }
    of.cosine(asked).max(0.0)
}

/// The similarity of rows to a text.
pub(super) struct Cosines {
    /// By row; less than 0 where no one knows.
    pub(super) of: Vec<f64>,
    /// By row: true if it says nothing of what is related, for the model hardly knows the language of one of the two.
    unsure: Vec<bool>,
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
    fn by(
        model: &VectorModel,
        of: Vec<f64>,
        unsure: Vec<bool>,
        beside: Option<Vec<f64>>,
    ) -> Cosines {
        let (unrelated, related) = (model.unrelated.to_f64(), model.related.to_f64());
        Cosines {
            of,
            unsure,
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
    let mut unsure = vec![asked.is_unsure(); set.rows.len()];
    for &row in rows {
        let text = set.row(row).content;
        if let Some(vector) = facts.vector(&text, &mut next) {
            marks.extend_from_slice(&vector.mark.to_le_bytes());
            unsure[row as usize] |= vector.is_unsure();
            of[row as usize] = cosine(vector, asked);
        }
    }
    let beside = beside(set, rows, policy, facts, text, marks);
    Some(Cosines::by(model, of, unsure, beside))
}
