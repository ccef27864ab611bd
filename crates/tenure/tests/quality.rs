//! The eight quality metrics: each stands in the trace of every compile with its definition, each can be missed, and a
//! safety-critical compile is refused for seven of them.

use serde_json::{Value, json};
use tenure::policy::{Policy, PolicyDocument, QualityMetric};
use tenure::{Compiled, Error, ErrorKind};

use crate::support::{self, Case, STANDARD, merge, rule};

const NOTE: &str = "[quality.missed]\nsafety_critical = \"note\"\n";

fn compiled(objects: &Value, over: Value, policy: &str) -> Result<Compiled, Error> {
    let mut request = json!({
        "task": { "task_class": "safety_critical" },
        "as_of": { "valid": "2026-05-02" },
        "budget": { "tokens": 8000 },
    });
    merge(&mut request, over);
    Case::new(objects, request, policy).compile()
}

/// The metrics that a payload misses, but for utilization.
fn missed(compiled: &Compiled) -> Vec<&'static str> {
    let missed = compiled.trace.quality.iter().filter(|measured| measured.missed);
    let missed = missed.filter(|measured| measured.metric != QualityMetric::Utilization);
    missed.map(|measured| measured.metric.term()).collect()
}

/// Asserts that objects miss this metric alone, and what comes of it for each class of task.
#[track_caller]
fn misses(metric: &str, objects: &Value, over: Value, policy: &str) {
    let error = compiled(objects, over.clone(), policy).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Policy, "{error}");
    assert!(error.what.contains(&format!("its {metric} is ")), "{error}");
    let expected = error.expected.clone().unwrap_or_default();
    assert!(expected.starts_with(&format!("{metric} of at ")), "{error}");
    let noted = compiled(objects, over.clone(), &format!("{policy}{NOTE}")).unwrap();
    assert_eq!(missed(&noted), [metric]);
    let mut waits = over;
    merge(
        &mut waits,
        json!({ "task": { "task_class": "interactive" } }),
    );
    let interactive = compiled(objects, waits, policy).unwrap();
    assert!(missed(&interactive).len() <= 1);
}

/// So many lines about the pressure, each of its own, that demand nothing.
fn lines(from: usize, count: usize) -> String {
    let line = |at: usize| {
        format!(
            "Gauge {at} reports a pressure of {} pascal at noon.",
            at * 7 + 3
        )
    };
    (from..from + count).map(line).collect::<Vec<_>>().join("\n")
}

/// A passage that says of each part of its provenance what it is, or that it is unknown.
fn passage(name: &str, content: &str) -> Value {
    let mut passage = support::passage(name, content);
    passage["provenance"]["unknown"] = json!(["chunk", "lineage"]);
    passage
}

#[test]
fn every_trace_has_all_eight_with_their_definitions() {
    let objects = json!([rule(json!({ "content": "The pressure is in pascal." }))]);
    let whole = compiled(&objects, json!({}), STANDARD).unwrap();
    let told: Vec<QualityMetric> =
        whole.trace.quality.iter().map(|measured| measured.metric).collect();
    assert_eq!(told, QualityMetric::ALL);
    for measured in &whole.trace.quality {
        assert_eq!(measured.definition, measured.metric.definition());
        assert!(measured.definition.contains('/') || measured.metric == QualityMetric::Fidelity);
    }
    assert_eq!(missed(&whole), [""; 0]);
    // The budget is used too little, which is told and no more.
    assert!(whole.trace.quality[0].missed);
    let dry = compiled(&objects, json!({ "dry_run": true }), STANDARD).unwrap();
    assert_eq!(dry.trace.quality, whole.trace.quality);
    let read = tenure::Trace::from_json(&serde_json::to_string(&whole.trace).unwrap()).unwrap();
    assert_eq!(read.quality, whole.trace.quality);
}

#[test]
fn a_policy_from_before_there_were_limits_has_none() {
    let standard = Policy::preset("standard").unwrap();
    let mut written = serde_json::to_value(standard.document()).unwrap();
    written.as_object_mut().unwrap().remove("quality");
    let read: PolicyDocument = serde_json::from_value(written.clone()).unwrap();
    let again = serde_json::to_value(&read).unwrap();
    assert_eq!(again, written);
    let noisy = json!([passage("old", "The pressure was low.")]);
    let request =
        json!({ "task": { "task_class": "safety_critical" }, "as_of": { "valid": "2027-05-02" } });
    let mut case = Case::new(&noisy, request, STANDARD);
    assert!(case.compile().is_err());
    case.policy = Policy::seal(read).unwrap();
    let compiled = case.compile().unwrap();
    assert!(
        compiled
            .trace
            .quality
            .iter()
            .all(|measured| !measured.missed && measured.most.is_none())
    );
}

#[test]
fn signal_density_is_missed_by_a_corpus_about_something_else() {
    let about = rule(json!({ "content": lines(0, 4) }));
    let other = |name: &str| json!({ "name": name, "object_type": "artifact", "content": "Bake cakes slowly. ".repeat(60) });
    misses(
        "signal_density",
        &json!([about, other("cake")]),
        json!({}),
        STANDARD,
    );
}

#[test]
fn constraint_density_is_missed_by_hard_constraints() {
    let about = rule(json!({ "content": lines(0, 120) }));
    let hard = json!({
        "name": "hard", "object_type": "actionable_constraint", "constraint": { "rigidity": "hard" },
        "content": lines(200, 20).replace("reports", "must report"),
    });
    misses(
        "constraint_density",
        &json!([about, hard]),
        json!({}),
        STANDARD,
    );
    // Where there is little else, as there is in a small payload, it is not looked at.
    assert!(compiled(&json!([hard]), json!({}), STANDARD).is_ok());
    // Sentences of guidance that demand count, and its others do not.
    let density = |content: String| {
        let whole = compiled(
            &json!([rule(json!({ "content": content }))]),
            json!({}),
            NOTE,
        )
        .unwrap();
        whole.trace.quality[3].value.to_f64()
    };
    let (none, some) = (
        lines(0, 20),
        lines(0, 10) + "\nNever report a guess. " + &lines(50, 10),
    );
    assert_eq!(density(none.clone()), 0.0);
    assert!(density(some.clone()) > 0.005 && density(some) < 0.1);
    assert!(density(none.replace("reports", "must report")) > 0.5);
}

#[test]
fn duplication_is_missed_by_lines_that_stand_twice() {
    let of = |name: &str, content: String| rule(json!({ "name": name, "content": content }));
    let objects = json!([
        of("a", lines(0, 10)),
        of("b", lines(0, 5) + "\nAnd of pressure no more."),
    ]);
    misses("duplication", &objects, json!({}), STANDARD);
}

#[test]
fn staleness_is_missed_by_what_is_old() {
    let objects = json!([
        passage("old", &lines(0, 10)),
        rule(json!({ "content": lines(20, 10) }))
    ]);
    let later = json!({ "as_of": { "valid": "2026-09-02" } });
    misses("staleness", &objects, later, STANDARD);
    assert!(compiled(&objects, json!({}), STANDARD).is_ok());
}

#[test]
fn injection_surface_is_missed_by_much_data() {
    let objects = json!([passage("new", &lines(0, 40))]);
    misses("injection_surface", &objects, json!({}), STANDARD);
}

#[test]
fn fidelity_is_missed_by_what_was_shortened_too_much() {
    let policy = "[overflow]\nsafety_critical = \"cascade_compress\"\ninteractive = \"cascade_compress\"\n\
                  [quality]\ninjection_surface = 1.0\n";
    let text = lines(0, 200).replace('\n', " ");
    let objects = json!([passage("long", &text)]);
    misses(
        "fidelity",
        &objects,
        json!({ "budget": { "tokens": 900 } }),
        policy,
    );
}

#[test]
fn limits_make_sense() {
    let error = Policy::from_toml("[quality]\nutilization = [0.9, 0.1]\n").unwrap_err();
    assert!(error.what.contains("`quality.utilization`"), "{error}");
    for wrong in [
        "[quality]\nstaleness = 1.5\n",
        "[quality.missed]\nbatch = \"shout\"\n",
        "[quality]\nage = 0.1\n",
    ] {
        assert!(Policy::from_toml(wrong).is_err(), "{wrong}");
    }
}
