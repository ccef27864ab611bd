//! The measuring of a payload's quality, from its trace and what stands in it. Each metric's definition stands in
//! [`QualityMetric::definition`].

use crate::base::digest::DigestMap;
use crate::base::error::{Error, ErrorKind};
use crate::base::num::Score;
use crate::compile::quality::{Measured, Quality};
use crate::compile::score::{Grade, ScoreCard};
use crate::compile::trace::{Obligation, Reason, Trace, Verdict};
use crate::input::policy::{Policy, QualityMetric, TaskClass};
use crate::input::profile::Profile;
use crate::object::section::Section;
use crate::object::{Provenance, ProvenancePart, Revision};

/// An object that stands in the payload.
pub(crate) struct Standing<'s> {
    pub(crate) verdict: &'s Verdict,
    /// None where it is not known what it says.
    pub(crate) said: Option<(&'s Revision, &'s Profile)>,
}

/// The weight of nearness to the task as a measure of what stands.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Nearness {
    /// An object that is not near at all is not about the task.
    Counts,
    /// There is no task, or the policy knows nothing irrelevant.
    IsNoMeasure,
}

impl Nearness {
    pub(crate) fn of(policy: &Policy, query: &str) -> Nearness {
        let knows_irrelevant = policy.document().grades.minimal > Score::ZERO;
        if knows_irrelevant && !query.trim().is_empty() {
            Nearness::Counts
        } else {
            Nearness::IsNoMeasure
        }
    }
}

/// Measures what stands.
pub(crate) fn measure<'s>(
    trace: &Trace,
    nearness: Nearness,
    standing: impl Iterator<Item = Standing<'s>>,
) -> Quality {
    let total = u64::from(trace.total_tokens);
    let (mut noise, mut constraints, mut again) = (0u64, 0u64, 0u64);
    let (mut evidence, mut sourced) = (0u64, 0u64);
    let (mut aged, mut stale) = (0u64, 0u64);
    let (least, _) = standing.size_hint();
    let mut seen: DigestMap<()> =
        DigestMap::with_capacity_and_hasher(least.next_power_of_two(), Default::default());
    for Standing { verdict, said } in standing {
        let tokens = u64::from(verdict.tokens);
        if !is_about_the_task(verdict, nearness) {
            noise += tokens;
        }
        if let Some(score) = &verdict.score {
            aged += tokens;
            stale += tokens * u64::from(score.current().complement().millionths());
        }
        let Some((revision, profile)) = said else {
            continue;
        };
        constraints += profile.constraint_tokens(verdict.tokens);
        if verdict.section == Section::Evidence {
            evidence += 1;
            let provenance = revision.provenance();
            sourced +=
                u64::from(provenance.is_some_and(|found| is_whole(found, verdict.score.as_ref())));
        }
        let mut repeated = 0u64;
        for (line, bytes) in profile.lines() {
            if seen.insert(u128::from(*line), ()).is_some() {
                repeated += u64::from(*bytes);
            }
        }
        again += (tokens * repeated).checked_div(u64::from(profile.bytes())).unwrap_or(0);
    }
    let condensed = trace.condensed.iter().filter_map(|condensed| {
        let tokens = u64::from(condensed.to);
        Some((tokens, u64::from(condensed.fidelity?.millionths())))
    });
    let (shortened, kept) = condensed.fold((0, 0), |(all, kept), (tokens, fidelity)| {
        (all + tokens, kept + tokens * fidelity)
    });
    Quality {
        utilization: share(total, u64::from(trace.budget), Score::ZERO),
        signal_density: share(noise, total, Score::ZERO).complement(),
        provenance_coverage: share(sourced, evidence, Score::ONE),
        constraint_density: share(constraints, total, Score::ZERO),
        duplication: share(again, total, Score::ZERO),
        staleness: mean(stale, aged, Score::ZERO),
        injection_surface: trace.injection_surface,
        fidelity: mean(kept, shortened, Score::ONE),
    }
}

/// Returns whether an object that stands is about the task: its tier or its author demands it, it belongs to the
/// conversation, or it is near the task; and it is not graded irrelevant.
fn is_about_the_task(verdict: &Verdict, nearness: Nearness) -> bool {
    let Some(score) = &verdict.score else {
        return true;
    };
    let because = match verdict.reason {
        Reason::Mandatory { because } => Some(because),
        _ => None,
    };
    let is_demanded =
        verdict.section.tier().is_fixed() || because == Some(Obligation::NotRemovable);
    let is_near = nearness == Nearness::IsNoMeasure
        || verdict.section == Section::History
        || score.relevance > Score::ZERO;
    is_demanded || (is_near && score.grade != Grade::Irrelevant)
}

/// Returns each metric with what the policy wants of it.
pub(crate) fn against(
    quality: &Quality,
    policy: &Policy,
    class: TaskClass,
    tokens: u32,
) -> Vec<Measured> {
    let limits = policy.document().quality.as_ref();
    QualityMetric::ALL
        .iter()
        .map(|metric| {
            let bounds =
                limits.map(|limits| limits.bounds(*metric, class, tokens)).unwrap_or_default();
            let value = quality.get(*metric);
            Measured {
                metric: *metric,
                value,
                definition: metric.definition().into(),
                least: bounds.least,
                most: bounds.most,
                missed: !bounds.hold(value),
            }
        })
        .collect()
}

/// Refuses a payload whose quality is not what the policy wants of a task of this class.
pub(crate) fn refuse(
    measured: &[Measured],
    policy: &Policy,
    class: TaskClass,
) -> Result<(), Error> {
    let Some(limits) = &policy.document().quality else {
        return Ok(());
    };
    let missed: Vec<&Measured> = measured
        .iter()
        .filter(|measured| measured.missed && limits.refuses(measured.metric, class))
        .collect();
    if missed.is_empty() {
        return Ok(());
    }
    let found: Vec<String> = missed
        .iter()
        .map(|measured| format!("its {} is {}", measured.metric, measured.value))
        .collect();
    let wanted: Vec<String> = missed
        .iter()
        .flat_map(|measured| {
            let least = measured.least.map(|least| ("at least", least));
            let most = measured.most.map(|most| ("at most", most));
            least
                .into_iter()
                .chain(most)
                .map(|(bound, limit)| format!("{} of {bound} {limit}", measured.metric))
        })
        .collect();
    let what = format!("the payload is refused: {}", found.join(", "));
    Err(Error::new(ErrorKind::Policy, what)
        .expected(wanted.join(", "))
        .hint(format!(
            "`[quality]` of the policy has the limits; `missed = {{ {class} = \"note\" }}` there lets it pass"
        )))
}

/// Returns whether a provenance is whole. What its author does not say of its authority is the object's own; of its
/// relevance the compile's score.
fn is_whole(found: &Provenance, score: Option<&ScoreCard>) -> bool {
    let mut open = found.open_parts();
    found.is_complete()
        && open.all(|part| match part {
            ProvenancePart::Authority => true,
            ProvenancePart::Relevance => score.is_some(),
            ProvenancePart::Chunk | ProvenancePart::Lineage => false,
        })
}

/// A part of a whole; of nothing, what there is to say then.
fn share(part: u64, whole: u64, of_nothing: Score) -> Score {
    mean(part.saturating_mul(1_000_000), whole, of_nothing)
}

/// So many millionths together, of so many.
fn mean(millionths: u64, count: u64, of_nothing: Score) -> Score {
    match millionths.checked_div(count) {
        Some(mean) => Score::from_millionths(u32::try_from(mean).unwrap_or(u32::MAX)),
        None => of_nothing,
    }
}
