//! Stage 6: how much does each object matter to the task? Six factors, one composite, one grade;
//! floors and irrelevance omit what is neither mandatory nor needed by what is; evidence stands once.

mod activation;
mod affinity;
mod gate;
mod near;
mod opposed;
mod overwritten;
mod retrieve;
mod stale;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::{Digest, DigestMap};
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::compile::pieces::ARCHIVE;
use crate::compile::score::{Grade, ScoreCard, economy, freshness};
use crate::compile::stages::Live;
use crate::compile::stages::plan::{EpochPlan, Planned};
use crate::compile::stages::settle::Settled;
use crate::compile::trace::{Factor, Note, Obligation, Reason, Stage};
use crate::input::candidates::Unfetched;
use crate::input::candidates::{Normalized, UNKNOWN};
use crate::input::facts::{Asked, Fact, Facts, Need, Needs};
use crate::input::gate::{Gate, Gated, Gating, Standing};
use crate::input::policy::Strategy;
use crate::input::policy::{Order, Policy, Scorer};
use crate::input::request::Request;
use crate::input::retrieval::RetrievalReport;
use crate::object::section::Section;
use crate::object::{DecayRule, ObjectType};

use self::activation::Idle;
use self::affinity::Nearness;
use self::gate::{Before, Standings};
use self::retrieve::Retrieved;

/// Planned objects with their scores.
pub(crate) struct Ranked<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) epoch: EpochPlan<'a>,
    pub(crate) ranking: Ranking,
}

/// The scores of a compile, what they rest on, and what follows from them.
#[derive(Clone)]
pub(crate) struct Ranking {
    /// The score of each candidate, meaningful for those that were ranked.
    pub(crate) scores: Vec<ScoreCard>,
    /// The reason why a row must be in the payload, for those that must.
    pub(crate) obligations: Vec<Option<Obligation>>,
    /// The data that other objects stand for, as long as these stand themselves.
    pub(crate) near: BTreeMap<u32, Near>,
    /// The rows that the task pins by their names.
    pub(crate) pins: BTreeSet<u32>,
    /// The guidance that is opposed, as far as it stands.
    pub(crate) opposed: Vec<Opposed>,
    /// The digest of the facts that were used.
    pub(crate) facts: Digest,
    /// The report of the retrieval plan, and what it looked for in vain.
    pub(crate) retrieval: Option<(RetrievalReport, Vec<Unfetched>)>,
}

/// Another object that says nearly the same.
#[derive(Clone, Copy)]
pub(crate) struct Near {
    pub(crate) of: u32,
    pub(crate) similarity: Score,
}

/// Guidance that asks what other guidance forbids.
#[derive(Clone, Copy)]
pub(crate) struct Opposed {
    pub(crate) asks: u32,
    pub(crate) forbids: u32,
    /// The share of the words that they have in common.
    pub(crate) shared: Score,
}

/// The facts that ranking would use.
pub(crate) fn needs(settled: &Settled<'_>, policy: &Policy, request: &Request) -> Needs {
    let live = &settled.live;
    let query = request.query_text();
    let digest = Digest::of(query.as_bytes());
    let asked = match policy.document().scorer {
        Scorer::Supplied => live
            .rows
            .iter()
            .map(|row| Asked {
                need: need(live.set, *row, digest),
                candidate: *row as usize,
            })
            .collect(),
        Scorer::Hybrid => {
            let mut asked = affinity::needs(live);
            asked.extend(activation::needs(live, policy));
            asked
        }
        Scorer::Lexical => Vec::new(),
    };
    let further = match policy.document().scorer {
        Scorer::Hybrid => request.further_texts().map(Cow::into_owned).collect(),
        Scorer::Lexical | Scorer::Supplied => Vec::new(),
    };
    Needs {
        query,
        further,
        asked,
    }
}

/// Returns whether it asks or forbids something whatever the task is about: it holds without being near to the task.
fn guides(set: &Normalized, row: u32) -> bool {
    let is_guidance = matches!(
        set.row(row).object_type,
        ObjectType::Preference
            | ObjectType::Rule
            | ObjectType::PolicyRule
            | ObjectType::ActionableConstraint
    );
    is_guidance || set.has_stance(row)
}

/// Returns the rows that the task pins.
fn pinned(live: &Live<'_>, request: &Request) -> BTreeSet<u32> {
    let names: BTreeSet<&str> = request.task.pins.iter().map(String::as_str).collect();
    if names.is_empty() {
        return BTreeSet::new();
    }
    live.rows
        .iter()
        .copied()
        .filter(|row| names.contains(&*live.set.name(*row)))
        .collect()
}

fn need(set: &Normalized, row: u32, query: Digest) -> Need {
    Need::Relevance {
        revision: set.row(row).revision,
        query,
    }
}

/// Scores what is left and omits what does not help.
pub(crate) fn rank<'a>(
    mut planned: Planned<'a>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Ranked<'a> {
    let set = planned.live.set;
    let count = set.rows.len();
    let mut obligations = planned.obligations.clone();
    let query = request.query_text();
    let now = request.as_of.valid;
    let nearness = affinity::nearness(&mut planned, policy, facts, &query, now, true);
    let idle = activation::idle(&mut planned, policy, request, facts, &nearness);
    let (nearness, retrieved) = retrieved(&planned, policy, request, facts, &idle, nearness);
    let Nearness {
        mut raw,
        asked,
        facts: used,
    } = nearness;
    let used = idle.used(used);
    let left = |row: u32| retrieved.as_ref().and_then(|retrieved| retrieved.left.get(&row));
    let absent = |row: u32| idle.has(row) || left(row).is_some();
    let mut marks = Vec::new();
    let gated = gated(&planned, policy, request, facts, &raw, absent, &mut marks);
    let used = if marks.is_empty() {
        used
    } else {
        Digest::of_parts([used.bytes().as_slice(), &marks])
    };
    for (row, standing) in gated.by_rank() {
        if !standing.passes {
            obligations[*row as usize] = None;
        }
    }
    // A plan says itself what is near enough.
    if request.retrieval.is_none() && policy.document().scorer != Scorer::Supplied {
        affinity::drop_unrelated(&planned, policy, &asked, &mut raw);
    }
    let relevance = relevance(&mut planned, policy, facts, &query, &raw);
    let document = policy.document();
    let stale = stale::stale(&planned, policy, request);
    let mut scores = vec![ScoreCard::NONE; count];
    for &at in &planned.live.rows {
        let row = set.row(at);
        let section = planned.epoch.section(at);
        let card = ScoreCard {
            relevance: relevance[at as usize],
            authority: row.source_authority,
            freshness: age_of(set, at, policy, now),
            currency: stale.left(at),
            utility: row.priority,
            economy: economy(row.bytes),
            confidence: row.confidence,
            ..ScoreCard::NONE
        };
        scores[at as usize] = card.weighed(&policy.section(section).factors, &document.grades);
    }
    let mut links = planned.live.links(&planned.live.rows);
    let broken = links.break_off(set);
    if planned.epoch.strategy == Strategy::Full && policy.document().order == Order::Sections {
        // The gate and a document's own conditions go before, and what never can stand need not.
        let overlong = links.overlong(set);
        for &at in &planned.live.rows {
            let barred = gated.bars(at)
                || broken.contains_key(&at)
                || overlong.contains(&at)
                || idle.has(at);
            if planned.epoch.section(at) == Section::Codex && !barred {
                obligations[at as usize].get_or_insert(Obligation::FullContext);
            }
        }
    }
    let pins = pinned(&planned.live, request);
    let live = &mut planned.live;
    let mandatory = |row: &u32| obligations[*row as usize].is_some();
    let needed = links.needed(live.rows.iter().copied().filter(mandatory));
    live.judge(Stage::Rank, |at| {
        let section = planned.epoch.section(at);
        if mandatory(&at) || needed.contains(&at) {
            return None;
        }
        if let Some(Standing {
            relevance,
            rank,
            passes: false,
        }) = gated.of(at)
        {
            return Some(Reason::GatedOut { relevance, rank });
        }
        if let Some(reason) = idle.reason(at).or_else(|| left(at)) {
            return Some(reason.clone());
        }
        // The task leans on it.
        if pins.contains(&at) {
            return None;
        }
        let card = &scores[at as usize];
        let settings = policy.section(section);
        let floors = [
            (
                Factor::Relevance,
                card.relevance,
                settings.relevance_floor,
                !guides(set, at) && !set.row(at).packed,
            ),
            (
                Factor::Freshness,
                card.current(),
                settings.freshness_floor,
                true,
            ),
            (
                Factor::Authority,
                card.authority,
                settings.authority_floor,
                true,
            ),
            (
                Factor::Relevance,
                card.relevance,
                document.unasked_floor,
                set.row(at).unasked,
            ),
        ];
        let below = floors.into_iter().find(|(_, value, floor, applies)| *applies && value < floor);
        if let Some((factor, _, floor, _)) = below {
            return Some(Reason::BelowFloor { factor, floor });
        }
        let is_irrelevant = card.grade == Grade::Irrelevant
            && section != Section::History
            && !planned.epoch.holds_for_any_task(at, policy);
        is_irrelevant.then_some(Reason::IrrelevantToActiveTask {
            needed: document.grades.minimal,
        })
    });
    // What its author protects, and what anything mandatory is kept with, is no copy's to replace.
    let protected = |row: u32| {
        obligations[row as usize] == Some(Obligation::NotRemovable) || needed.contains(&row)
    };
    let must = |row| mandatory(&row) || needed.contains(&row);
    overwritten::omit(live, policy, must);
    omit_doubles(
        live,
        |row| {
            let score = scores[row as usize].composite;
            (needed.contains(&row), mandatory(&row), score)
        },
        protected,
    );
    let near = near::find(&planned, policy, &scores, must);
    let opposed = opposed::find(&planned.live, policy, &scores, facts);
    let live = &planned.live;
    let tools = live.rows.iter().filter(|row| set.row(**row).is_tool());
    let mut stands: BTreeSet<_> = tools.map(|row| set.name(*row)).collect();
    stands.extend(planned.epoch.late.sent_tools.iter().cloned());
    let offers = planned.epoch.offers_archive;
    let tools = &mut planned.epoch.report.tools;
    tools.retain(|name| stands.contains(name) || (offers && &**name == ARCHIVE));
    let ranking = Ranking {
        scores,
        obligations,
        near,
        pins,
        opposed,
        facts: used,
        retrieval: retrieved.map(|retrieved| (retrieved.report, retrieved.unfetched)),
    };
    let Planned { live, epoch, .. } = planned;
    Ranked {
        live,
        epoch,
        ranking,
    }
}

/// Runs the request's retrieval plan. What it brings is as near as the nearest of its questions says; what it leaves
/// is as if it were not there. Who must stand, and what they need, is no question's to leave; what is barred anyway
/// takes no place.
fn retrieved(
    planned: &Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
    idle: &Idle,
    nearness: Nearness,
) -> (Nearness, Option<Retrieved>) {
    let Some(plan) = &request.retrieval else {
        return (nearness, None);
    };
    let Nearness {
        mut raw,
        asked,
        facts: used,
    } = nearness;
    let live = &planned.live;
    let set = live.set;
    let mut links = live.links(&live.rows);
    let broken = links.break_off(set);
    let must = |row: &u32| planned.obligations[*row as usize].is_some();
    let needed = links.needed(live.rows.iter().copied().filter(must));
    let eligible: Vec<u32> = live
        .rows
        .iter()
        .copied()
        .filter(|&at| {
            let row = set.row(at);
            let settings = policy.section(planned.epoch.section(at));
            plan.sections.contains(&row.section)
                && !must(&at)
                && !needed.contains(&at)
                && !broken.contains_key(&at)
                && row.source_authority >= settings.authority_floor
                && age_of(set, at, policy, request.as_of.valid) >= settings.freshness_floor
                && !idle.has(at)
        })
        .collect();
    let mut retrieved = retrieve::retrieve(plan, request, live, &eligible, policy, facts);
    // What is brought comes with what it cannot stand without, which is as near as it is itself.
    let mut brought: Vec<(u32, f64)> =
        retrieved.nearness.iter().map(|(row, near)| (*row, *near)).collect();
    brought.sort_by(|(a, one), (b, other)| other.total_cmp(one).then(a.cmp(b)));
    let mut reached = BTreeSet::new();
    for (row, near) in brought {
        // The nearest comes first, so what it reaches is followed once.
        for row in links.reach(row, &mut reached) {
            retrieved.left.remove(&row);
            raw[row as usize] = raw[row as usize].max(near);
        }
    }
    for row in retrieved.left.keys() {
        raw[*row as usize] = 0.0;
    }
    let facts = Digest::of_parts([used.bytes().as_slice(), retrieved.used.bytes()]);
    let nearness = Nearness { raw, asked, facts };
    (nearness, Some(retrieved))
}

/// Returns the standing of every row before the gate that judges it. `marks` says which vectors were used besides
/// those that `raw` comes from.
fn gated(
    planned: &Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
    raw: &[f64],
    absent: impl Fn(u32) -> bool,
    marks: &mut Vec<u8>,
) -> Standings {
    if request.gate.is_none() && request.tools.is_none() {
        return Standings::default();
    }
    let set = planned.live.set;
    let links = planned.live.standing_links();
    let rows = gate::removable(planned, &links, policy, absent);
    // Tools have their own gate, or that of all.
    let (tools, rows) = match request.tools {
        Some(_) => rows.into_iter().partition(|row| planned.epoch.section(*row) == Section::Tools),
        None => (Vec::new(), rows),
    };
    let supplied = policy.document().scorer == Scorer::Supplied;
    let query = Digest::of(request.query_text().as_bytes());
    let before = |gate: Gate, rows: Vec<u32>, raw: &[f64]| {
        let best = rows.iter().map(|row| raw[*row as usize]).fold(0.0, f64::max);
        let said = |row: u32| supplied.then(|| facts.get(&need(set, row, query))).flatten();
        let rows = rows
            .into_iter()
            .map(|row| match said(row) {
                Some(Fact::Relevance { score }) => (row, *score),
                _ => (row, planned.lifted(row, raw[row as usize], best, policy)),
            })
            .collect();
        Before { gate, rows }
    };
    let blocks = request.gate.map(|gate| before(gate, rows, raw));
    let tools = request.tools.map(|gate| {
        let text = request.step_text();
        let hybrid = policy.document().scorer == Scorer::Hybrid;
        let cosines = hybrid.then(|| affinity::cosines(set, &tools, policy, facts, &text, marks));
        let raw = affinity::among(
            set,
            &tools,
            policy,
            &affinity::question(policy, facts, &text).with_other_names(),
            request.as_of.valid,
            cosines.flatten().as_ref(),
        );
        before(gate, tools, &raw)
    });
    gate::decide(set, &links, blocks.into_iter().chain(tools))
}

/// Returns the candidates' standing before the request's gate, best first.
pub(crate) fn standings(
    mut planned: Planned<'_>,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Gating {
    let query = request.query_text();
    let now = request.as_of.valid;
    let nearness = affinity::nearness(&mut planned, policy, facts, &query, now, false);
    let idle = activation::idle(&mut planned, policy, request, facts, &nearness);
    let (Nearness { raw, .. }, retrieved) =
        retrieved(&planned, policy, request, facts, &idle, nearness);
    let absent = |row: u32| {
        let retrieved = retrieved.as_ref();
        idle.has(row) || retrieved.is_some_and(|retrieved| retrieved.left.contains_key(&row))
    };
    let mut marks = Vec::new();
    let standings = gated(&planned, policy, request, facts, &raw, absent, &mut marks);
    let rows = planned.live.rows.iter();
    let spared = rows.filter(|row| standings.of(**row).is_none() && !absent(**row));
    let gated = standings.by_rank().iter().map(|(row, standing)| Gated {
        candidate: *row as usize,
        standing: *standing,
    });
    Gating {
        gated: gated.collect(),
        spared: spared.map(|row| *row as usize).collect(),
    }
}

/// Keeps one of each evidence: the highest standing, then the first. Judged last, so that what is
/// omitted for another reason takes no place. What its author protects stands beside a copy: no one
/// displaces it by saying the same.
fn omit_doubles<K: Ord>(
    live: &mut Live<'_>,
    standing: impl Fn(u32) -> K,
    protected: impl Fn(u32) -> bool,
) {
    let set = live.set;
    let key = |row: u32| {
        let row = set.row(row);
        (row.section == Section::Evidence).then(|| row.content.key())
    };
    let mut kept: DigestMap<u32> = DigestMap::default();
    for &row in &live.rows {
        if let Some(key) = key(row) {
            let best = kept.entry(key).or_insert(row);
            if standing(row) > standing(*best) {
                *best = row;
            }
        }
    }
    live.judge_further(|row| {
        let of = *kept.get(&key(row)?)?;
        (of != row && !protected(row)).then(|| Reason::Duplicate { of: set.name(of) })
    });
}

impl Planned<'_> {
    /// A row's relevance where the best has 1. Speaking of an entity that the task speaks of
    /// lifts it halfway to the top; of one that is next to such an entity, by a share of that.
    fn lifted(&self, row: u32, raw: f64, best: f64, policy: &Policy) -> Score {
        let share = if best > 0.0 { raw / best } else { 0.0 };
        Score::clamped(if self.related.contains(&row) {
            0.5 + share / 2.0
        } else if let Some(relation) = self.live.meanings.relation(row) {
            let lift = policy.document().entities.lift(relation).to_f64() / 2.0;
            lift + share * (1.0 - lift)
        } else {
            share
        })
    }
}

/// Relevance from 0 to 1 for each row: the best of a section counts 1.
fn relevance(
    planned: &mut Planned<'_>,
    policy: &Policy,
    facts: &Facts,
    query: &str,
    raw: &[f64],
) -> Vec<Score> {
    let live = &planned.live;
    let set = live.set;
    let mut best = [0.0f64; Section::COUNT];
    for &row in &live.rows {
        let best = &mut best[planned.epoch.section(row).index()];
        *best = best.max(raw[row as usize]);
    }
    let mut scores = vec![Score::ZERO; set.rows.len()];
    for &row in &live.rows {
        let best = best[planned.epoch.section(row).index()];
        scores[row as usize] = planned.lifted(row, raw[row as usize], best, policy);
    }
    if policy.document().scorer == Scorer::Supplied {
        let digest = Digest::of(query.as_bytes());
        let mut missing = Vec::new();
        for &row in &live.rows {
            match facts.get(&need(set, row, digest)) {
                Some(Fact::Relevance { score }) => scores[row as usize] = *score,
                _ => missing.push(Note::FactMissing {
                    name: set.name(row),
                    fallback: "the built-in ranker".into(),
                }),
            }
        }
        planned.live.notes.extend(missing);
    }
    scores
}

/// Freshness by the object's own decay rule, else by its type's half-life.
fn age_of(set: &Normalized, at: u32, policy: &Policy, now: Option<Instant>) -> Score {
    let row = set.row(at);
    let own: Option<DecayRule> = if row.rare {
        set.object(at).revision().rare().decay_rule
    } else {
        None
    };
    let half_life = own.and_then(|rule| rule.half_life_days).or_else(|| {
        let table = &policy.document().half_life_days;
        if table.is_empty() {
            None
        } else {
            table.get(&row.object_type).copied()
        }
    });
    if half_life.is_none() {
        return Score::ONE;
    }
    let since = (row.since != UNKNOWN).then(|| Instant::from_micros(row.since));
    freshness(since, now, half_life)
}
