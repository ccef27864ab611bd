//! The retrieval plan: what each strategy brings, what stays away and why, and what is refused.

use serde_json::{Value, json};
use tenure::retrieval::{RetrievalStrategy, SubqueryReport};
use tenure::trace::Note;
use tenure::vectors::{VectorModel, Vectors};
use tenure::{Compiled, Digest, Facts, Reason, Ruling, compile};

use crate::support::{Case, STANDARD, merge, passage, rule};

fn library() -> Value {
    let bees = rule(json!({
        "name": "bees", "content": "Bees dance when it is warm.", "memory_kind": "episodic",
        "valid_from": "2026-01-01",
    }));
    let hives = rule(json!({
        "name": "hives", "content": "The hives stand behind the house.", "memory_kind": "episodic",
        "valid_from": "2026-03-01",
    }));
    let mut valve = passage("valve", "The third valve leaks below two bar.");
    merge(&mut valve, json!({ "keep_with": ["drawing"] }));
    let mut seal = passage("seal", "A gasket of nitrile fits all models.");
    merge(&mut seal, json!({ "canonical_entity_ids": ["valve-3"] }));
    let mut stock = passage("stock", "Row nine, upper shelf.");
    merge(&mut stock, json!({ "canonical_entity_ids": ["valve-3"] }));
    json!([
        bees,
        hives,
        valve,
        passage("drawing", "Sheet four shows it."),
        seal,
        stock,
        passage("canteen", "Lunch is at noon."),
    ])
}

fn run(subqueries: Value, over: Value) -> Compiled {
    let mut request = json!({
        "task": { "objective": "Mend what drips." }, "retrieval": { "subqueries": subqueries },
    });
    merge(&mut request, over);
    Case::plain(&library(), request, STANDARD).compile().unwrap()
}

fn report(compiled: &Compiled) -> &SubqueryReport {
    &compiled.trace.retrieval.as_ref().unwrap().subqueries[0]
}

fn brought(compiled: &Compiled) -> Vec<&str> {
    let brought = report(compiled).brought.iter();
    brought.map(|one| &*one.name).collect()
}

fn stands(compiled: &Compiled) -> Vec<&str> {
    let verdicts = compiled.trace.verdicts.iter();
    let standing = verdicts.filter(|verdict| verdict.verdict == Ruling::Included);
    standing.map(|verdict| &*verdict.name).collect()
}

#[test]
fn without_a_plan_everything_is_a_candidate() {
    let case = Case::plain(&library(), json!({}), STANDARD);
    let trace = case.compile().unwrap().trace;
    assert!(trace.retrieval.is_none());
    let json = serde_json::to_string(&trace).unwrap();
    assert!(!json.contains("\"retrieval\":"), "{json}");
    let out = trace.verdicts.iter().find(|v| v.reason.code() == "not_retrieved");
    assert!(out.is_none());
}

#[test]
fn terms_bring_what_says_them_with_what_it_needs() {
    let subqueries = json!([{ "name": "leak", "text": "Which valve leaks?", "strategy": "lexical", "limit": 1 }]);
    let out = run(subqueries, json!({}));
    assert_eq!(brought(&out), ["valve"]);
    // The drawing is nobody's answer, and the passage cannot stand without it.
    assert_eq!(stands(&out), ["valve", "drawing"]);
    for name in ["bees", "canteen"] {
        let reason = &out.trace.verdict(name).unwrap().reason;
        assert_eq!(
            *reason,
            Reason::NotRetrieved {
                subquery: None,
                rank: 0
            }
        );
    }
    // The task says nothing of a valve: what the subquery found is near all the same.
    let score = out.trace.verdict("valve").unwrap().score.unwrap();
    assert_eq!(score.relevance.to_f64(), 1.0);
    let one = &report(&out).brought[0];
    assert_eq!((one.candidate, one.hops), (2, None));
    let retrieval = out.trace.retrieval.as_ref().unwrap();
    let lineage: Vec<_> = retrieval.lineage(2).map(|(of, rank)| (&*of.name, rank)).collect();
    assert_eq!(lineage, [("leak", 1)]);
}

#[test]
fn what_is_beyond_a_limit_says_of_which_subquery() {
    let text = "valve gasket shelf noon bees";
    let of = |limit: u32| {
        let wide = json!({ "name": "wide", "text": text, "strategy": "lexical", "limit": limit });
        let none = json!({ "name": "none", "text": "zebra", "strategy": "lexical" });
        run(json!([wide, none]), json!({}))
    };
    let out = of(2);
    assert_eq!((report(&out).matched, brought(&out).len()), (5, 2));
    let verdicts = out.trace.verdicts.iter();
    let missed: Vec<u32> = verdicts
        .filter_map(|verdict| match &verdict.reason {
            Reason::NotRetrieved {
                subquery: Some(name),
                rank,
            } => {
                assert_eq!(&**name, "wide");
                Some(*rank)
            }
            _ => None,
        })
        .collect();
    assert_eq!(missed.len(), 3);
    // The remedy holds: a limit of that rank brings it.
    let last = missed.into_iter().max().unwrap();
    assert_eq!(brought(&of(last)).len(), 5);
}

#[test]
fn links_bring_the_neighbourhood() {
    let by_name = |from: &str, hops: u32| {
        let subquery =
            json!({ "name": "around", "strategy": "neighbourhood", "from": [from], "hops": hops });
        run(json!([subquery]), json!({}))
    };
    let hops = |compiled: &Compiled| -> Vec<(String, u32)> {
        let brought = report(compiled).brought.iter();
        brought.map(|one| (one.name.to_string(), one.hops.unwrap())).collect()
    };
    let own = |pairs: &[(&str, u32)]| -> Vec<(String, u32)> {
        pairs.iter().map(|(name, hops)| ((*name).to_owned(), *hops)).collect()
    };
    // By entity.
    assert_eq!(hops(&by_name("seal", 1)), own(&[("seal", 0), ("stock", 1)]));
    // By `keep_with`, in both directions.
    assert_eq!(
        hops(&by_name("drawing", 1)),
        own(&[("drawing", 0), ("valve", 1)])
    );
    assert_eq!(
        hops(&by_name("valve", 1)),
        own(&[("valve", 0), ("drawing", 1)])
    );
    // From what is nearest to a text.
    let subquery = json!({ "name": "around", "strategy": "neighbourhood", "text": "gasket" });
    assert_eq!(
        hops(&run(json!([subquery]), json!({}))),
        own(&[("seal", 0), ("stock", 1)])
    );
    // What is not there is reported, and nothing else happens.
    let out = by_name("attic", 2);
    assert!(brought(&out).is_empty());
    assert_eq!(out.trace.unfetched[0].what, "attic");
    assert!(out.trace.unfetched[0].why.contains("`around`"));
}

#[test]
fn memories_come_by_kind_the_latest_first() {
    let subquery =
        json!({ "name": "past", "strategy": "memory", "memory_kind": "episodic", "limit": 1 });
    let out = run(json!([subquery]), json!({}));
    assert_eq!(brought(&out), ["hives"]);
    assert_eq!((report(&out).among, report(&out).matched), (2, 2));
    let reason = &out.trace.verdict("bees").unwrap().reason;
    assert_eq!(
        *reason,
        Reason::NotRetrieved {
            subquery: Some("past".into()),
            rank: 2
        }
    );
    // Any strategy may ask for one kind alone.
    let subquery = json!({ "name": "q", "text": "bees valve", "memory_kind": "episodic" });
    assert_eq!(brought(&run(json!([subquery]), json!({}))), ["bees"]);
}

#[test]
fn what_must_stand_and_other_sections_are_no_plans_business() {
    let kept = rule(json!({ "name": "kept", "content": "Sign it.", "removable": false }));
    let karma =
        rule(json!({ "name": "learned", "content": "Pumps drip.", "object_type": "outcome" }));
    let loose = rule(json!({ "name": "loose", "content": "Bees dance." }));
    let plan = json!({ "subqueries": [{ "name": "q", "text": "zebra", "strategy": "lexical" }] });
    let request = json!({ "retrieval": plan });
    let out = Case::plain(&json!([kept, karma, loose]), request, STANDARD).compile().unwrap();
    assert_eq!(stands(&out), ["kept", "learned"]);
    assert_eq!(report(&out).among, 1);
}

#[test]
fn floors_come_before_limits() {
    let mut weak = passage("weak", "pumps pumps pumps");
    merge(&mut weak, json!({ "source_authority": 0.1 }));
    let objects = json!([weak, passage("sound", "One of the pumps.")]);
    let plan = json!({ "subqueries": [{ "name": "q", "text": "pumps", "strategy": "lexical", "limit": 1 }] });
    let policy = "[sections.evidence]\nauthority_floor = 0.3";
    let out = Case::plain(&objects, json!({ "retrieval": plan }), policy).compile().unwrap();
    assert_eq!(brought(&out), ["sound"]);
    assert_eq!(
        out.trace.verdict("weak").unwrap().reason.code(),
        "below_floor"
    );
}

#[test]
fn vectors_answer_where_they_are_supplied_and_their_want_is_said() {
    let subqueries = json!([
        { "name": "like", "text": "dripping", "strategy": "dense", "threshold": 0.5 },
        { "name": "both", "text": "canteen" },
    ]);
    let request = json!({ "retrieval": { "subqueries": subqueries } });
    let case = Case::plain(&library(), request.clone(), STANDARD);
    let with = |facts: &Facts| {
        let outcome = compile(
            &case.world,
            &case.policy,
            &case.request,
            &case.candidates,
            facts,
        );
        outcome.unwrap().single().unwrap().clone()
    };
    // Nobody supplied any.
    let out = with(&Facts::none());
    let reports = &out.trace.retrieval.as_ref().unwrap().subqueries;
    let fell = |at: usize| reports[at].fell_back;
    assert_eq!([fell(0), fell(1)], [Some(RetrievalStrategy::Lexical); 2]);
    assert!(out.trace.notes.iter().any(|note| matches!(note, Note::NoVectors { .. })));

    let model = VectorModel {
        dimensions: 2,
        ..VectorModel::new("test", Digest::of(b"test"))
    };
    let mut vectors = Vectors::new(model);
    let mut add =
        |text: &str, vector: [f32; 2]| vectors.add(Digest::of(text.as_bytes()), &vector).unwrap();
    for object in case.candidates.objects() {
        let leaks = object.name() == "valve";
        add(
            object.revision().content(),
            if leaks { [1.0, 0.1] } else { [0.1, 1.0] },
        );
    }
    add(&case.request.query_text(), [0.0, 1.0]);
    add("dripping", [1.0, 0.0]);
    add("canteen", [0.5, 0.5]);
    let mut facts = Facts::none();
    facts.add_vectors(std::sync::Arc::new(vectors)).unwrap();
    let out = with(&facts);
    assert_eq!(brought(&out), ["valve"]);
    assert_eq!(report(&out).fell_back, None);
    // The vectors of subqueries are part of what the compile depends on.
    let without = with(&Facts::none());
    assert_ne!(out.trace.inputs.facts, without.trace.inputs.facts);

    let refused = Case::plain(&library(), request, "scorer = \"lexical\"").compile().unwrap_err();
    assert!(
        refused.what.contains("`like`") && refused.what.contains("`lexical`"),
        "{refused}"
    );
}

#[test]
fn the_hidden_takes_no_place_and_changes_nothing() {
    let plan = json!({ "subqueries": [
        { "name": "q", "text": "valve", "strategy": "lexical", "limit": 1 },
        { "name": "n", "strategy": "neighbourhood", "from": ["secret"], "hops": 3 },
    ] });
    let request = json!({ "retrieval": plan });
    let alone = Case::plain(&library(), request.clone(), STANDARD);
    let mut objects = library();
    let mut secret = passage("secret", "valve valve valve");
    merge(
        &mut secret,
        json!({ "tenant_id": "other", "canonical_entity_ids": ["valve-3"] }),
    );
    objects.as_array_mut().unwrap().insert(0, secret);
    let beside = Case::plain(&objects, request, STANDARD);
    let [one, other] = [&alone, &beside].map(|case| {
        let compiled = case.compile().unwrap();
        let view =
            compiled
                .trace
                .caller_view(&case.policy, &case.request.principal, &case.candidates);
        (
            compiled.envelope.payload_digest,
            serde_json::to_value(view).unwrap(),
        )
    });
    assert_eq!(one, other);
}
