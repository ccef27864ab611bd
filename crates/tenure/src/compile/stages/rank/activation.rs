//! Objects that are out of place in this task by their own conditions: the types of task that they apply to, and what
//! a preference is good for.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::Digest;
use crate::compile::stages::Live;
use crate::compile::stages::plan::Planned;
use crate::compile::trace::{Note, Reason};
use crate::input::candidates::Normalized;
use crate::input::facts::{Asked, Facts, Need, Next};
use crate::input::policy::{Policy, Scorer};
use crate::input::request::Request;
use crate::object::ObjectType;

use crate::rank::ranker::terms_of;

/// The rows that are idle in this task, with the reasons.
pub(super) struct Idle {
    pub(super) rows: BTreeMap<u32, Reason>,
    /// The vectors that were used.
    marks: Vec<u8>,
}

impl Idle {
    pub(super) fn has(&self, row: u32) -> bool {
        self.rows.contains_key(&row)
    }

    /// The digest of the facts that were used, these included.
    pub(super) fn used(&self, others: Digest) -> Digest {
        if self.marks.is_empty() {
            others
        } else {
            Digest::of_parts([others.bytes().as_slice(), &self.marks])
        }
    }
}

/// Returns the purpose of a preference, where it says so.
fn why(set: &Normalized, row: u32) -> Option<&str> {
    let facts = set.row(row);
    let preference = facts.rare && facts.object_type == ObjectType::Preference;
    let why = || set.object(row).revision().rare().why_it_matters.as_deref();
    preference.then(why).flatten()
}

/// The vectors that would be used.
pub(super) fn needs(live: &Live<'_>) -> impl Iterator<Item = Asked> {
    live.rows.iter().filter_map(|row| {
        let why = why(live.set, *row)?;
        Some(Asked {
            need: Need::Vector {
                text: Digest::of(why.as_bytes()),
            },
            candidate: *row as usize,
        })
    })
}

/// Finds what is idle. A preference is active where what it is good for is near the task. By their vectors, texts
/// that are less similar than unrelated ones are not near and those that speak of the same are; between these
/// thresholds of the model, and without vectors, a common word decides.
pub(super) fn idle(
    planned: &mut Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Idle {
    let live = &mut planned.live;
    let set = live.set;
    let query = request.query_text();
    let terms = std::cell::LazyCell::new(|| terms_of(&query));
    let hybrid = policy.document().scorer == Scorer::Hybrid;
    let asked = facts.vector(&Digest::of(query.as_bytes()), &mut Next::default());
    let asked = asked.filter(|_| hybrid).zip(facts.vectors().first());
    let mut marks = Vec::new();
    let mut missing = Vec::new();
    let mut is_near = |row: u32, why: &str, query: &BTreeSet<String>| {
        if let Some((asked, vectors)) = asked {
            let model = vectors.model();
            match facts.vector(&Digest::of(why.as_bytes()), &mut Next::default()) {
                Some(vector) => {
                    marks.extend_from_slice(&vector.mark.to_le_bytes());
                    marks.extend_from_slice(&model.related.millionths().to_le_bytes());
                    let similarity = vector.cosine(asked);
                    if similarity < model.unrelated.to_f64() {
                        return false;
                    }
                    if similarity >= model.related.to_f64() {
                        return true;
                    }
                }
                None => missing.push(Note::FactMissing {
                    name: set.name(row),
                    fallback: "the words of why_it_matters".into(),
                }),
            }
        }
        !terms_of(why).is_disjoint(query)
    };
    let mut rows = BTreeMap::new();
    for &row in live.rows.iter().filter(|row| set.row(**row).rare) {
        let own = &set.object(row).revision().rare().task_types;
        let wanted = request.task.task_type;
        if !own.is_empty() && !wanted.is_some_and(|wanted| own.contains(&wanted)) {
            rows.insert(row, Reason::NotApplicable { task_type: wanted });
        } else if let Some(why) = why(set, row)
            && !is_near(row, why, &terms)
        {
            rows.insert(row, Reason::NotNearTask);
        }
    }
    live.notes.extend(missing);
    Idle { rows, marks }
}
