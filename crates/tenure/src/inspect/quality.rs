//! The eight quality metrics of a payload, from its trace and what it was made of.
//!
//! | metric | here |
//! |---|---|
//! | utilization | tokens of the payload / budget |
//! | signal density | tokens of what is not graded irrelevant to the task / tokens of the payload |
//! | provenance coverage | evidence that says where and when it is from, and of its place there and of what found it either what they are or that they are unknown / evidence |
//! | constraint density | tokens of hard constraints, policy rules and actionable constraints / tokens of the payload |
//! | duplication | bytes of lines that stood in an object before / bytes of lines, of 20 bytes and more |
//! | staleness | 1 − freshness · currency (`hygiene` in the policy), weighted by tokens, of what has a score |
//! | injection surface | as the trace has it |
//! | fidelity | of what stands condensed, weighted by tokens; 1 where nothing does |

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Candidates;
use crate::base::num::Score;
use crate::compile::envelope::Compiled;
use crate::compile::score::{Grade, ScoreCard};
use crate::compile::trace::Ruling;
use crate::object::section::Section;
use crate::object::{ObjectType, Provenance, ProvenancePart};

/// Lines shorter than this say nothing about repetition.
const LINE: usize = 20;

/// The quality of a payload, in eight figures from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Quality {
    /// The share of the budget that is used.
    pub utilization: Score,
    /// The share of the payload that is about the task.
    pub signal_density: Score,
    /// The share of the evidence that names its source.
    pub provenance_coverage: Score,
    /// The share of the payload that forbids or demands.
    pub constraint_density: Score,
    /// The share of the payload that is there twice.
    pub duplication: Score,
    /// The age of the payload.
    pub staleness: Score,
    /// The openness of the payload to instructions in data.
    pub injection_surface: Score,
    /// The share of the condensed text that is still said.
    pub fidelity: Score,
}

/// One of the metrics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)] // as the fields of `Quality`
pub enum QualityMetric {
    Utilization,
    SignalDensity,
    ProvenanceCoverage,
    ConstraintDensity,
    Duplication,
    Staleness,
    InjectionSurface,
    Fidelity,
}

impl QualityMetric {
    /// Returns whether more of it is better.
    pub fn more_is_better(self) -> bool {
        matches!(
            self,
            QualityMetric::Utilization
                | QualityMetric::SignalDensity
                | QualityMetric::ProvenanceCoverage
                | QualityMetric::Fidelity
        )
    }
}

crate::terms! {
    QualityMetric ("quality metric") {
        Utilization = "utilization",
        SignalDensity = "signal_density",
        ProvenanceCoverage = "provenance_coverage",
        ConstraintDensity = "constraint_density",
        Duplication = "duplication",
        Staleness = "staleness",
        InjectionSurface = "injection_surface",
        Fidelity = "fidelity",
    }
}

impl Quality {
    /// The quality of a payload that was made of these candidates.
    ///
    /// ```
    /// # use tenure::inspect::Quality;
    /// # use tenure::{Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World};
    /// # let world = World::for_model("gpt-4o", FrameKey::new("example", [7; 32]))?;
    /// let rule = ObjectDocument::rule("units", "Report pressure in pascal.").seal()?;
    /// let candidates = Candidates::new(vec![rule]);
    /// let budget = Budget { tokens: Some(500), ..Budget::default() };
    /// let request = Request::new("Report the pressure.", budget);
    /// let policy = Policy::preset("standard")?;
    /// let outcome = tenure::compile(&world, &policy, &request, &candidates, &Facts::none())?;
    /// let quality = Quality::of(outcome.single()?, &candidates);
    /// assert!(quality.utilization.to_f64() < 0.85 && quality.duplication.millionths() == 0);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn of(compiled: &Compiled, candidates: &Candidates) -> Quality {
        let (trace, total) = (&compiled.trace, u64::from(compiled.trace.total_tokens));
        let (mut relevant, mut constraints) = (0, 0);
        let (mut evidence, mut sourced) = (0, 0);
        let (mut aged, mut stale) = (0, 0);
        let (mut lines, mut again) = (0, 0);
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut objects = candidates.objects().iter().peekable();
        for verdict in &trace.verdicts {
            // A caller's trace leaves candidates out.
            let object = loop {
                match objects.next() {
                    Some(object) if *object.name() == *verdict.name => break Some(object),
                    Some(_) => {}
                    None => break None,
                }
            };
            if verdict.verdict != Ruling::Included {
                continue;
            }
            let tokens = u64::from(verdict.tokens);
            let score = verdict.score.as_ref();
            if score.is_none_or(|score| score.grade != Grade::Irrelevant) {
                relevant += tokens;
            }
            if let Some(score) = score {
                aged += tokens;
                stale += tokens * u64::from(score.current().complement().millionths());
            }
            let Some(object) = object else { continue };
            let revision = object.revision();
            let kind = revision.object_type();
            if revision.is_hard_constraint()
                || matches!(
                    kind,
                    ObjectType::PolicyRule | ObjectType::ActionableConstraint
                )
            {
                constraints += tokens;
            }
            if verdict.section == Section::Evidence {
                evidence += 1;
                let provenance = revision.provenance();
                sourced += u64::from(provenance.is_some_and(|found| is_whole(found, score)));
            }
            let own = revision.content().lines().map(str::trim);
            let own: BTreeSet<&str> = own.filter(|line| line.len() >= LINE).collect();
            for line in own {
                lines += line.len() as u64;
                if !seen.insert(line) {
                    again += line.len() as u64;
                }
            }
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
            signal_density: share(relevant, total, Score::ZERO),
            provenance_coverage: share(sourced, evidence, Score::ONE),
            constraint_density: share(constraints, total, Score::ZERO),
            duplication: share(again, lines, Score::ZERO),
            staleness: mean(stale, aged, Score::ZERO),
            injection_surface: trace.injection_surface,
            fidelity: mean(kept, shortened, Score::ONE),
        }
    }

    /// One of the metrics.
    pub fn get(&self, metric: QualityMetric) -> Score {
        match metric {
            QualityMetric::Utilization => self.utilization,
            QualityMetric::SignalDensity => self.signal_density,
            QualityMetric::ProvenanceCoverage => self.provenance_coverage,
            QualityMetric::ConstraintDensity => self.constraint_density,
            QualityMetric::Duplication => self.duplication,
            QualityMetric::Staleness => self.staleness,
            QualityMetric::InjectionSurface => self.injection_surface,
            QualityMetric::Fidelity => self.fidelity,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::PermissionScope;
    use crate::{
        Budget, ContextObject, Facts, FrameKey, ObjectDocument, Policy, Principal, Request, World,
        compile,
    };
    use std::sync::Arc;

    fn object(name: &str, content: &str, kind: Option<ObjectType>) -> Arc<ContextObject> {
        let mut document = ObjectDocument::named(name, content);
        document.object_type = kind;
        document.seal().unwrap()
    }

    fn compiled(objects: Vec<Arc<ContextObject>>) -> (Compiled, Candidates) {
        let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
        let candidates = Candidates::new(objects);
        let budget = Budget {
            tokens: Some(1_000),
            ..Budget::default()
        };
        let request = Request::new("Report the pressure of the northern station.", budget);
        let policy = Policy::preset("standard").unwrap();
        let outcome = compile(&world, &policy, &request, &candidates, &Facts::none()).unwrap();
        (outcome.single().unwrap().clone(), candidates)
    }

    #[test]
    fn what_is_measured_is_what_stands() {
        let plain = object(
            "a",
            "The northern station reports its pressure in pascal.",
            None,
        );
        let (alone, candidates) = compiled(vec![Arc::clone(&plain)]);
        let alone = Quality::of(&alone, &candidates);
        assert_eq!(alone.duplication, Score::ZERO);
        assert_eq!(alone.provenance_coverage, Score::ONE);
        assert_eq!(alone.fidelity, Score::ONE);

        let rule = "Never report a pressure without its unit, whoever asks for it.";
        let again = "The northern station reports its pressure in pascal.\nIt is calm today.";
        let (more, candidates) = compiled(vec![
            plain,
            object("b", rule, Some(ObjectType::PolicyRule)),
            object("c", again, None),
        ]);
        let more = Quality::of(&more, &candidates);
        assert!(more.constraint_density > alone.constraint_density);
        assert!(more.duplication > Score::ZERO && more.duplication < Score::HALF);
        assert!(more.utilization > alone.utilization);
    }

    #[test]
    fn evidence_is_covered_where_it_leaves_nothing_open() {
        let of = |more: serde_json::Value| {
            let mut provenance = serde_json::json!({
                "source_id": "manual", "retrieved_at": "2026-06-01T00:00:00Z",
            });
            for (key, value) in more.as_object().unwrap() {
                provenance[key] = value.clone();
            }
            let document = ObjectDocument {
                object_type: Some(ObjectType::RetrievedPassage),
                provenance: serde_json::from_value(provenance).unwrap(),
                ..ObjectDocument::named("page", "The northern station reports in pascal.")
            };
            let (compiled, candidates) = compiled(vec![document.seal().unwrap()]);
            Quality::of(&compiled, &candidates).provenance_coverage
        };
        let place = serde_json::json!({ "start": 0, "end": 9 });
        assert_eq!(of(serde_json::json!({})), Score::ZERO);
        assert_eq!(of(serde_json::json!({ "chunk": place })), Score::ZERO);
        assert_eq!(of(serde_json::json!({ "lineage": "bm25" })), Score::ZERO);
        let whole = serde_json::json!({ "chunk": place, "lineage": "bm25" });
        assert_eq!(of(whole), Score::ONE);
        let unknown = serde_json::json!({ "unknown": ["chunk", "lineage"] });
        assert_eq!(of(unknown), Score::ONE);
        // A file that was read whole was found by no query.
        let read = serde_json::json!({ "retrieved_at": null, "digest": crate::Digest::of(b"x") });
        assert_eq!(of(read), Score::ONE);
    }

    #[test]
    fn the_callers_view_measures_the_same() {
        let mut hidden = ObjectDocument::named("b", "The northern station is secret.");
        hidden.permission_scope = Some(PermissionScope {
            allow_roles: vec!["chief".into()],
            ..PermissionScope::default()
        });
        let (mut compiled, candidates) = compiled(vec![
            object("a", "The northern station reports in pascal.", None),
            hidden.seal().unwrap(),
            object("c", "The southern station reports in bar.", None),
        ]);
        let whole = Quality::of(&compiled, &candidates);
        let policy = Policy::preset("standard").unwrap();
        let caller = Principal::default();
        compiled.trace = compiled.trace.caller_view(&policy, &caller, &candidates);
        assert_eq!(compiled.trace.verdicts.len(), 2);
        assert_eq!(Quality::of(&compiled, &candidates), whole);
    }
}
