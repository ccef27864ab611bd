//! The quality of a payload: as its trace states it, or measured from an older trace and what the payload was made of.

use crate::Candidates;
use crate::compile::envelope::Compiled;
use crate::compile::measure::{Nearness, Standing, measure};
pub use crate::compile::quality::Quality;
use crate::compile::quality::stated;
use crate::compile::trace::Ruling;
pub use crate::input::policy::QualityMetric;
use crate::input::profile::Profile;
use crate::object::ContextObject;

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
        let trace = &compiled.trace;
        if let Some(quality) = stated(&trace.quality) {
            return quality;
        }
        let mut objects = candidates.objects().iter().peekable();
        let mut standing: Vec<(usize, Option<(&ContextObject, Profile)>)> = Vec::new();
        for (at, verdict) in trace.verdicts.iter().enumerate() {
            // A caller's trace leaves candidates out.
            let object = loop {
                match objects.next() {
                    Some(object) if *object.name() == *verdict.name => break Some(object),
                    Some(_) => {}
                    None => break None,
                }
            };
            if verdict.verdict == Ruling::Included {
                standing.push((
                    at,
                    object.map(|object| {
                        (&**object, Profile::of(object, object.revision().content()))
                    }),
                ));
            }
        }
        let standing = standing.iter().map(|(at, said)| Standing {
            verdict: &trace.verdicts[*at],
            said: said.as_ref().map(|(object, profile)| (object.revision(), profile)),
        });
        measure(trace, Nearness::Counts, standing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::Score;
    use crate::object::ObjectType;
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
        // A trace from before it was measured.
        compiled.trace.quality.clear();
        assert_eq!(Quality::of(&compiled, &candidates), whole);
    }

    #[test]
    fn evidence_without_provenance_is_missed_and_refused() {
        use crate::compile::measure::{against, refuse};
        use crate::object::section::Section;
        use crate::policy::TaskClass;

        let (mut compiled, candidates) = compiled(vec![
            object("a", "The northern station reports in pascal.", None),
            object("b", "The southern station reports in pascal.", None),
        ]);
        // A compile admits none, so one is made up.
        compiled.trace.quality.clear();
        compiled.trace.verdicts[0].section = Section::Evidence;
        let quality = Quality::of(&compiled, &candidates);
        assert_eq!(quality.provenance_coverage, Score::ZERO);
        let policy = Policy::preset("standard").unwrap();
        let (class, tokens) = (TaskClass::SafetyCritical, compiled.trace.total_tokens);
        let measured = against(&quality, &policy, class, tokens);
        let error = refuse(&measured, &policy, class).unwrap_err();
        assert_eq!(
            error.what,
            "the payload is refused: its provenance_coverage is 0"
        );
        assert!(refuse(&measured, &policy, TaskClass::Batch).is_ok());
    }
}
