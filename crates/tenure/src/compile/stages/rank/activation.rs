//! Objects that are out of place in this task by their own conditions: the types of task that they apply to, what
//! they are good for, and what they speak of.

use std::collections::BTreeSet;

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::belief::entity::RelationType;
use crate::compile::rules::is_memory;
use crate::compile::stages::Live;
use crate::compile::stages::plan::Planned;
use crate::compile::stages::rank::affinity::{self, Least, Nearness};
use crate::compile::trace::{Note, Reason};
use crate::input::candidates::Normalized;
use crate::input::facts::{Asked, Fact, Facts, Need, Next};
use crate::input::policy::{Order, Policy, Scorer};
use crate::input::request::Request;
use crate::object::section::Section;
use crate::object::{ObjectType, Protection};

use crate::rank::ranker::terms_of;

/// The rows that are idle in this task, with the reasons.
pub(super) struct Idle {
    /// In order.
    rows: Vec<(u32, Reason)>,
    /// The vectors that were used.
    marks: Vec<u8>,
}

impl Idle {
    pub(super) fn has(&self, row: u32) -> bool {
        self.reason(row).is_some()
    }

    /// The reason why a row is idle, where it is.
    pub(super) fn reason(&self, row: u32) -> Option<&Reason> {
        let at = self.rows.binary_search_by_key(&row, |(row, _)| *row);
        Some(&self.rows.get(at.ok()?)?.1)
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

/// Returns the purpose of a row where it says so and is held against it: every type is where the policy holds all
/// memory and guidance against the task, elsewhere preferences alone.
fn why<'s>(set: &'s Normalized, row: u32, policy: &Policy) -> Option<&'s str> {
    let facts = set.row(row);
    if !facts.rare {
        return None;
    }
    let held = facts.object_type == ObjectType::Preference
        || (policy.document().guidance.near > Score::ZERO && is_memory(facts.section));
    held.then(|| set.object(row).revision().rare().why_it_matters.as_deref())
        .flatten()
}

/// The vectors that would be used.
pub(super) fn needs<'l>(
    live: &'l Live<'_>,
    policy: &'l Policy,
) -> impl Iterator<Item = Asked> + 'l {
    live.rows.iter().filter_map(|row| {
        let why = why(live.set, *row, policy)?;
        Some(Asked {
            need: Need::Vector {
                text: Digest::of(why.as_bytes()),
            },
            candidate: *row as usize,
        })
    })
}

/// Finds what is idle. What says what it is good for is active where that is near the task. By their vectors, texts
/// that are less similar than unrelated ones are not near and those that speak of the same are; between these
/// thresholds of the model, and without vectors, a common word decides. Where the policy holds all memory and guidance
/// against the task, what does not say so is active where its own text is near, and what its author marks as always
/// needed, or something active cannot stand without, is never held against it.
pub(super) fn idle(
    planned: &mut Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
    nearness: &Nearness,
) -> Idle {
    let live = &mut planned.live;
    let set = live.set;
    let query = request.query_text();
    let terms = std::cell::LazyCell::new(|| terms_of(&query));
    let hybrid = policy.document().scorer == Scorer::Hybrid;
    let asked = facts
        .vector(&Digest::of(query.as_bytes()), &mut Next::default())
        .filter(|_| hybrid)
        .zip(facts.vectors().first());
    let mut marks = Vec::new();
    let mut missing = Vec::new();
    let mut is_near = |row: u32, why: &str, query: &BTreeSet<String>| {
        if let Some((asked, vectors)) = asked {
            let model = vectors.model();
            match facts.vector(&Digest::of(why.as_bytes()), &mut Next::default()) {
                // Of a language that the model does not know.
                Some(vector) if vector.is_unsure() || asked.is_unsure() => {
                    marks.extend_from_slice(&vector.mark.to_le_bytes());
                    return nearness.asked.iter().any(|asked| asked.shares_a_word(why));
                }
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
    let mut rows = Vec::new();
    let epoch = &planned.epoch;
    // What somebody prefers is active where it is good for something, however it is put.
    for &row in live.rows.iter().filter(|row| set.row(**row).rare) {
        let own = &set.object(row).revision().rare().task_types;
        let wanted = request.task.task_type;
        if !own.is_empty() && !wanted.is_some_and(|wanted| own.contains(&wanted)) {
            rows.push((row, Reason::NotApplicable { task_type: wanted }));
        } else if let Some(why) = why(set, row, policy)
            && !(set.row(row).object_type != ObjectType::Preference
                && epoch.holds_for_any_task(row, policy))
            && !is_near(row, why, &terms)
        {
            rows.push((row, Reason::NotNearTask));
        }
    }
    live.notes.extend(missing);
    let mut idle = Idle { rows, marks };
    let far = far(planned, policy, request, facts, nearness, &idle);
    if !far.is_empty() {
        idle.rows.extend(far.into_iter().map(|row| (row, Reason::NotNearTask)));
        idle.rows.sort_unstable_by_key(|(row, _)| *row);
    }
    idle
}

/// The rows whose own text is not near the task, in order: of memory and guidance that says nothing of what it is good
/// for.
fn far(
    planned: &Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
    nearness: &Nearness,
    idle: &Idle,
) -> Vec<u32> {
    let least = policy.document().guidance.near;
    if least == Score::ZERO || policy.document().order != Order::Sections {
        return Vec::new();
    }
    let live = &planned.live;
    let set = live.set;
    // A plan says itself what is near enough.
    let asked = |section: Section| {
        request.retrieval.as_ref().is_some_and(|plan| plan.sections.contains(&section))
    };
    let is_held = |row: &u32| {
        let found = set.row(*row);
        is_memory(planned.epoch.section(*row))
            && planned.obligations[*row as usize].is_none()
            && found.removable
            && found.protection != Protection::Pinned
            // What the caller says in the request and leaves to the budget alone.
            && !(found.said && found.optional)
            && !asked(found.section)
            && !planned.epoch.holds_for_any_task(*row, policy)
            && !request.task.pins.iter().any(|pin| **pin == *set.name(*row))
            && !idle.has(*row)
            && why(set, *row, policy).is_none()
    };
    let held: Vec<u32> = live.rows.iter().copied().filter(is_held).collect();
    if held.is_empty() {
        return held;
    }
    let query = request.query_text();
    let near = affinity::reached(set, &nearness.asked, &held, Least::Of(least.to_f64()));
    let supplied = policy.document().scorer == Scorer::Supplied;
    let digest = Digest::of(query.as_bytes());
    // One that only stands beside it in some text is near by its own words, or not.
    let is_kin = |row: &u32| {
        live.meanings
            .relation(*row)
            .filter(|relation| *relation != RelationType::CrossReference)
            .is_some_and(|kin| policy.document().entities.lift(kin) > Score::ZERO)
    };
    let mut far: Vec<u32> = held
        .into_iter()
        .filter(|row| {
            if planned.related.contains(row) || is_kin(row) {
                return false;
            }
            let need = || Need::Relevance {
                revision: set.row(*row).revision,
                query: digest,
            };
            if supplied && let Some(Fact::Relevance { score }) = facts.get(&need()) {
                return *score < least;
            }
            !near[*row as usize]
        })
        .collect();
    if !far.is_empty() {
        let links = live.standing_links();
        let is_active = |row: &u32| far.binary_search(row).is_err() && !idle.has(*row);
        let needed = links.needed(live.rows.iter().copied().filter(is_active));
        if !needed.is_empty() {
            far.retain(|row| !needed.contains(row));
        }
    }
    far
}
