//! The attachment of small units, omitted because they are far from the task, to objects that stand. The affinity of a
//! unit u to an object s is the weighted sum of five parts: the relevance of u, the fit of u to s, the relevance of s,
//! whether both are of one source, and whether u speaks of what is being done. Where it does not suffice, u fits s whose
//! entity is a parent, a child or a sibling of its own, or the same: one unit for each such entity of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::belief::entity::{Identities, RelationType};
use crate::compile::stages::rank::Ranked;
use crate::compile::trace::{Affinity, Attachment, EntityLink, Factor, Reason};
use crate::input::candidates::Normalized;
use crate::input::facts::{Facts, Next};
use crate::input::policy::{Order, Overflow, Policy, Rescue, Scorer};
use crate::input::request::Request;
use crate::input::task::Progress;
use crate::object::ContextObject;
use crate::object::section::Section;
use crate::rank::ranker::each_term;
use crate::rank::ranker::terms_of;

/// The most units that are looked at: the nearest to the task.
const POOL: usize = 256;
/// The most objects that units may be attached to: those with the highest scores.
const HOSTS: usize = 64;

/// The units with what each is attached to, the best first.
pub(super) fn attach(
    ranked: &Ranked<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Vec<(u32, u32, Attachment)> {
    let settings = &policy.document().rescue;
    // On several pages nothing is short of room, and what is attached would drag its host along.
    let paginates = policy.overflow(request.task.class()) == Overflow::Paginate;
    if settings.most == 0 || paginates || policy.document().order != Order::Sections {
        return Vec::new();
    }
    let live = &ranked.live;
    let set = live.set;
    let score = |row: u32| &ranked.ranking.scores[row as usize];
    let mut pool: Vec<u32> = (0u32..)
        .zip(&live.verdicts)
        .filter(|(row, verdict)| is_unit(ranked, policy, *row, verdict.as_ref()))
        .map(|(row, _)| row)
        .collect();
    if pool.is_empty() {
        return Vec::new();
    }
    pool.sort_by(|a, b| {
        let relevance = score(*b).relevance.cmp(&score(*a).relevance);
        relevance.then_with(|| set.tie_break(*a, *b))
    });
    let mut hosts: Vec<u32> =
        live.rows.iter().copied().filter(|row| set.row(*row).is_loose()).collect();
    hosts.sort_by(|a, b| {
        let composite = score(*b).composite.cmp(&score(*a).composite);
        composite.then_with(|| set.tie_break(*a, *b))
    });
    hosts.truncate(HOSTS);
    let kin = Kin::of(&live.meanings.of, set, &hosts);
    // What is next to what stands is looked at, too, however far it is.
    let mut beside = 0;
    let mut place = 0;
    pool.retain(|unit| {
        place += 1;
        let is_kin = place > POOL && beside < POOL && kin.has(set, *unit);
        beside += usize::from(is_kin);
        place <= POOL || is_kin
    });

    let active = active_terms(request);
    let hybrid = policy.document().scorer == Scorer::Hybrid;
    let vector = |row: u32| {
        let text = set.row(row).content;
        let vector = facts.vector(&text, &mut Next::default());
        vector.filter(|_| hybrid)
    };
    let hosts: Vec<_> = hosts
        .into_iter()
        .map(|row| (row, vector(row), words(set.object(row))))
        .collect();
    let mut best: Vec<(u32, u32, Attachment)> = Vec::new();
    for unit in pool {
        let object = set.object(unit);
        let (own, own_words) = (vector(unit), words(object));
        let is_active = !active.is_empty() && !active.is_disjoint(&terms(object));
        let affinity = |(host, theirs, their_words): &(u32, _, BTreeSet<String>)| {
            let fit = match (own, *theirs) {
                (Some(own), Some(theirs)) => Score::clamped(own.cosine(theirs)),
                _ => overlap(&own_words, their_words),
            };
            let parts = Affinity {
                task: score(unit).relevance,
                fit,
                selected: score(*host).relevance,
                same: whether(same_source(object, set.object(*host))),
                active: whether(is_active),
            };
            let own = weigh(settings, &parts);
            let by = if own < settings.least {
                kin.between(set, unit, *host)
            } else {
                None
            };
            match by {
                None => (*host, own, parts, None),
                by => {
                    let fit = Score::ONE;
                    let parts = Affinity { fit, ..parts };
                    (*host, weigh(settings, &parts), parts, by)
                }
            }
        };
        let fitting = hosts
            .iter()
            .map(affinity)
            .filter(|(_, affinity, ..)| *affinity >= settings.least);
        // The first of equal ones: hosts stand in their order.
        let chosen = fitting.reduce(|one, other| if other.1 > one.1 { other } else { one });
        if let Some((host, affinity, parts, by)) = chosen {
            let to = set.name(host);
            best.push((
                unit,
                host,
                Attachment {
                    to,
                    affinity,
                    parts,
                    by,
                },
            ));
        }
    }
    best.sort_by(|a, b| {
        let affinity = b.2.affinity.cmp(&a.2.affinity);
        affinity.then_with(|| set.tie_break(a.0, b.0))
    });
    // No evidence stands twice.
    let evidence = |row: u32| set.row(row).section == Section::Evidence;
    let digest = |row: u32| set.row(row).content;
    let standing = live.rows.iter().copied().filter(|row| evidence(*row));
    let mut stands: BTreeSet<Digest> = standing.map(digest).collect();
    best.retain(|(unit, _, _)| !evidence(*unit) || stands.insert(digest(*unit)));
    // Of all that is about a neighbour, one.
    let mut neighbours: BTreeSet<String> = BTreeSet::new();
    best.retain(|(_, _, attachment)| {
        attachment.by.as_ref().is_none_or(|by| neighbours.insert(by.entity.clone()))
    });
    best.truncate(settings.most as usize);
    best
}

/// The entities of the objects that units may be attached to.
struct Kin<'i> {
    of: &'i Identities,
    /// The rows that name each, by its canonical id.
    hosts: BTreeMap<&'i str, BTreeSet<u32>>,
}

impl<'i> Kin<'i> {
    /// Those of these rows; none where no entity is next to another.
    fn of(of: &'i Identities, set: &'i Normalized, rows: &[u32]) -> Kin<'i> {
        let mut hosts: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
        for row in rows.iter().filter(|_| of.relates_any()) {
            for id in entities(set, *row) {
                hosts.entry(of.canonical(id)).or_default().insert(*row);
            }
        }
        Kin { of, hosts }
    }

    /// The rows beside an entity of a unit, each with both entities and the relation of the first.
    fn beside(
        &self,
        set: &'i Normalized,
        unit: u32,
    ) -> impl Iterator<Item = (&'i str, RelationType, &'i str, &BTreeSet<u32>)> {
        entities(set, unit)
            .iter()
            .filter(|_| !self.hosts.is_empty())
            .flat_map(move |id| {
                let id = self.of.canonical(id);
                self.of
                    .near(id)
                    .filter(|(_, relation)| *relation != RelationType::CrossReference)
                    .filter_map(move |(to, relation)| Some((id, relation, to, self.hosts.get(to)?)))
            })
    }

    fn has(&self, set: &'i Normalized, unit: u32) -> bool {
        self.beside(set, unit).next().is_some()
    }

    /// The entity of a unit that is next to one of a host.
    fn between(&self, set: &'i Normalized, unit: u32, host: u32) -> Option<EntityLink> {
        let mut beside = self.beside(set, unit);
        let (id, relation, to, _) = beside.find(|(.., rows)| rows.contains(&host))?;
        Some(EntityLink {
            entity: id.to_owned(),
            relation: Some(relation),
            of: Some(to.to_owned()),
        })
    }
}

/// The ids of the entities that a row names.
fn entities(set: &Normalized, row: u32) -> &[String] {
    if set.row(row).rare {
        &set.object(row).revision().rare().entities
    } else {
        &[]
    }
}

/// Returns whether a row is small, was omitted for its distance from the task alone, and needs nothing.
fn is_unit(ranked: &Ranked<'_>, policy: &Policy, row: u32, verdict: Option<&Reason>) -> bool {
    let far = matches!(
        verdict,
        Some(
            Reason::IrrelevantToActiveTask { .. }
                | Reason::BelowFloor {
                    factor: Factor::Relevance,
                    ..
                }
                | Reason::NotNearTask
        )
    );
    if !far {
        return false;
    }
    let set = ranked.live.set;
    // What says what it is good for is good for that alone.
    let has_purpose = || set.object(row).revision().why_it_matters().is_some();
    if verdict == Some(&Reason::NotNearTask) && has_purpose() {
        return false;
    }
    let (facts, section) = (set.row(row), ranked.epoch.section(row));
    let settings = policy.section(section);
    let score = &ranked.ranking.scores[row as usize];
    facts.is_loose()
        && facts.bytes <= policy.document().rescue.max_bytes
        && !policy.freezes(section)
        && score.freshness >= settings.freshness_floor
        && score.authority >= settings.authority_floor
        && set.object(row).revision().keep_with().is_empty()
}

fn weigh(settings: &Rescue, parts: &Affinity) -> Score {
    let sum = settings.task.times(parts.task).millionths()
        + settings.fit.times(parts.fit).millionths()
        + settings.selected.times(parts.selected).millionths()
        + settings.same.times(parts.same).millionths()
        + settings.active.times(parts.active).millionths();
    Score::from_millionths(sum)
}

const fn whether(yes: bool) -> Score {
    if yes { Score::ONE } else { Score::ZERO }
}

fn same_source(one: &ContextObject, other: &ContextObject) -> bool {
    let sources = |object: &ContextObject| {
        let revision = object.revision();
        let found = revision.provenance().and_then(|found| found.source_id.clone());
        (revision.source_origin().map(str::to_owned), found)
    };
    let (one, other) = (sources(one), sources(other));
    (one.0.is_some() && one.0 == other.0) || (one.1.is_some() && one.1 == other.1)
}

/// The words of an object's name and tags: what it is about where no one has vectors.
fn words(object: &ContextObject) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let texts = [object.name()].into_iter().chain(object.revision().tags());
    for text in texts {
        each_term(text, |word| {
            words.insert(word.to_owned());
        });
    }
    words
}

/// The share of the smaller set that the larger one holds, too.
fn overlap(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Score {
    let smaller = one.len().min(other.len());
    if smaller == 0 {
        return Score::ZERO;
    }
    let both = one.intersection(other).count();
    Score::clamped(both as f64 / smaller as f64)
}

/// The words of an object's text that may carry meaning.
fn terms(object: &ContextObject) -> BTreeSet<String> {
    terms_of(object.revision().content())
}

/// The words of what is being done and what waits to be done, K(q).
fn active_terms(request: &Request) -> BTreeSet<String> {
    let task = &request.task;
    let doing = task.subtasks.iter().filter(|part| part.status == Progress::InProgress);
    let waiting = task.pending.iter().map(|pending| pending.action.as_str());
    let texts = doing.map(|part| part.title.as_str()).chain(waiting);
    texts.flat_map(terms_of).collect()
}
