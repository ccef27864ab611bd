//! When a preference is active, by the vectors of what it is good for; and guidance that is opposed.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::num::Score;
use tenure::trace::Note;
use tenure::vectors::{VectorModel, Vectors};
use tenure::{Compiled, Digest, Facts, Need, Reason, compile, needs};

use crate::support::{Case, STANDARD, rule};

/// Vectors that differ by an angle whose cosine is known.
fn facts(pairs: &[(&str, f32)]) -> Facts {
    let model = VectorModel {
        dimensions: 2,
        unrelated: Score::new(0.2).unwrap(),
        related: Score::new(0.6).unwrap(),
        ..VectorModel::new("test", Digest::of(b"test"))
    };
    let mut vectors = Vectors::new(model);
    for (text, cosine) in pairs {
        let vector = [*cosine, (1.0 - cosine * cosine).max(0.0).sqrt()];
        vectors.add(Digest::of(text.as_bytes()), &vector).unwrap();
    }
    let mut facts = Facts::none();
    facts.add_vectors(Arc::new(vectors)).unwrap();
    facts
}

fn run(case: &Case, facts: &Facts) -> Compiled {
    let outcome = compile(
        &case.world,
        &case.policy,
        &case.request,
        &case.candidates,
        facts,
    );
    outcome.unwrap().single().unwrap().clone()
}

const TASK: &str = "Report the pressure.";

fn preference(why: &str) -> Case {
    let likes = rule(
        json!({ "object_type": "preference", "why_it_matters": why, "content": "In pascal." }),
    );
    Case::new(&json!([likes]), json!({}), STANDARD)
}

#[test]
fn nearness_activates_what_no_word_does_and_keeps_out_what_a_word_alone_lets_in() {
    let reason = |why: &str, cosine: f32| {
        let facts = facts(&[(TASK, 1.0), (why, cosine), ("In pascal.", 0.5)]);
        run(&preference(why), &facts).trace.verdict("x").unwrap().reason.clone()
    };
    let (same, apart) = (
        "Whoever reads the pressure gauge.",
        "Whoever writes of bars.",
    );
    // Above the model's `related`, and below its `unrelated`, words do not matter.
    assert_eq!(reason(apart, 0.7), Reason::Fits);
    assert_eq!(reason(same, 0.1), Reason::NotNearTask);
    // Between them they do.
    assert_eq!(reason(same, 0.4), Reason::Fits);
    assert_eq!(reason(apart, 0.4), Reason::NotNearTask);
}

#[test]
fn the_vector_of_a_reason_is_asked_for_and_its_want_is_said() {
    let why = "Whoever reads the pressure gauge.";
    let case = preference(why);
    let asked = needs(&case.world, &case.policy, &case.request, &case.candidates).unwrap();
    let texts: Vec<&str> = asked.vectors(&case.candidates).map(|(_, text)| text).collect();
    assert_eq!(texts, ["In pascal.", why]);
    let of = |text: &str| Need::Vector {
        text: Digest::of(text.as_bytes()),
    };
    assert!(asked.asked.iter().any(|asked| asked.need == of(why)));

    let without = run(&case, &facts(&[(TASK, 1.0), ("In pascal.", 0.5)]));
    let missing = Note::FactMissing {
        name: "x".into(),
        fallback: "the words of why_it_matters".into(),
    };
    assert!(
        without.trace.notes.contains(&missing),
        "{:?}",
        without.trace.notes
    );
    let with = run(
        &case,
        &facts(&[(TASK, 1.0), ("In pascal.", 0.5), (why, 0.9)]),
    );
    assert!(with.trace.notes.is_empty());
    // What was used is part of what the compile depends on.
    assert_ne!(with.trace.inputs.facts, without.trace.inputs.facts);
}

fn opposed(objects: Value, facts: &Facts) -> usize {
    let case = Case::new(&objects, json!({}), STANDARD);
    let notes = run(&case, facts).trace.notes;
    let opposed = |note: &&Note| matches!(note, Note::OpposedGuidance { .. });
    notes.iter().filter(opposed).count()
}

#[test]
fn opposites_are_flagged_where_they_speak_of_the_same() {
    let (yes, no) = (
        "Always quote the manual to customers.",
        "Never quote the manual to strangers.",
    );
    let pair = |no: Value| json!([rule(json!({ "name": "yes", "content": yes })), no]);
    let forbids = pair(rule(json!({ "name": "no", "content": no })));
    let at = |cosine: f32| facts(&[(TASK, 0.5), (yes, 1.0), (no, cosine)]);
    assert_eq!(opposed(forbids.clone(), &at(0.9)), 1);
    assert_eq!(opposed(forbids.clone(), &at(0.3)), 0);
    // Both stand.
    let case = Case::new(&forbids, json!({}), STANDARD);
    let trace = run(&case, &at(0.9)).trace;
    assert!(trace.verdicts.iter().all(|verdict| verdict.reason == Reason::Fits));
    // A constraint says by itself whether it forbids.
    let stated = rule(json!({
        "name": "no", "content": "Quote the manual to strangers.",
        "constraint": { "polarity": "negative", "rigidity": "soft" },
    }));
    let text = "Quote the manual to strangers.";
    assert_eq!(
        opposed(
            pair(stated),
            &facts(&[(TASK, 0.5), (yes, 1.0), (text, 0.9)])
        ),
        1
    );
    // What asks twice is not opposed.
    let again = rule(json!({ "name": "no", "content": "You must quote the manual to customers." }));
    assert_eq!(opposed(pair(again), &at(0.9)), 0);
}
