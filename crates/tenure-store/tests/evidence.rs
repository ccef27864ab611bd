//! Evidence that falls: what stood on it alone goes with it, the rest is lowered, in the same write.

use tenure::ObjectDocument;
use tenure::num::Score;
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, ObjectType};
use tenure_store::{Expect, Outcome, Tenant, WriteNote, Writing};

use crate::common::{Home, document, exported, now, put};

on_both_engines!(
    what_stood_on_fallen_evidence_alone_goes_and_the_rest_is_lowered,
    nothing_speaks_for_what_it_was_made_from,
    what_is_judged_or_archived_takes_along_what_was_inferred_from_it_alone,
    an_erasure_lowers_what_claims_the_same,
    what_is_inferred_is_believed_on_two_origins_or_waits,
    what_waits_is_believed_once_a_person_confirms_it_or_its_evidence_is_enough,
    what_comes_through_the_gate_is_the_same_in_any_order_of_a_write,
);

fn id(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    put(tenant, vec![document]).objects[0].object_id
}

/// A source, of an origin of its own.
fn source(name: &str) -> ObjectDocument {
    ObjectDocument {
        source_origin: Some(format!("chat://{name}")),
        source_authority: Some(Score::HALF),
        ..document(name, name)
    }
}

/// A belief that was inferred from these.
fn inferred(name: &str, from: &[ObjectId]) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        confidence_score: Some(Score::from_millionths(950_000)),
        derived_from: from.to_vec(),
        ..document(name, name)
    }
}

/// A belief that a person confirmed, whatever speaks for it.
fn confirmed(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    let id = id(tenant, document);
    let at = "2026-01-01".parse().unwrap();
    tenant.confirm(vec![id], at, &Writing::default()).unwrap();
    id
}

fn confidence(tenant: &Tenant, id: ObjectId) -> Option<Score> {
    let held = tenant.get(id).unwrap();
    held.first().map(|held| held.object.revision().confidence())
}

fn what_stood_on_fallen_evidence_alone_goes_and_the_rest_is_lowered(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let alone = confirmed(&acme, inferred("alone", &[a]));
    let both = ObjectDocument {
        normalized_claim: Some("host == x".into()),
        ..inferred("both", &[a, b])
    };
    let both = id(&acme, both);
    let upon = confirmed(
        &acme,
        ObjectDocument {
            normalized_claim: Some("zone == y".into()),
            ..inferred("upon", &[alone])
        },
    );
    let summary = ObjectDocument {
        derived_from: vec![a, b],
        ..document("summary", "In short.")
    };
    let summary = id(&acme, summary);
    let before = confidence(&acme, both).unwrap();
    let full = acme.belief(both, now(), None).unwrap();
    assert_eq!(full.evidence.len(), 2);

    let written = acme.retract(a, Expect::Any, &Writing::default()).unwrap();
    for gone in [a, alone, upon, summary] {
        assert_eq!(confidence(&acme, gone), None, "{gone}");
    }
    let left = acme.belief(both, now(), None).unwrap();
    assert_eq!(left.evidence.len(), 1);
    assert!(left.confidence < full.confidence);
    assert_eq!(confidence(&acme, both), Some(left.confidence));
    assert!(left.confidence < before);
    // All of it in one write, which says so.
    let lowered = written.objects.iter().find(|one| one.object_id == both);
    assert_eq!(lowered.unwrap().outcome, Outcome::Revised);
    let history = acme.history(both).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1].opened, written.version);
    // A replay of before holds what was held then.
    let then = acme.as_of(both, history[0].object.status().transaction.from.unwrap());
    assert_eq!(then.unwrap()[0].object.revision().confidence(), before);

    // Without the last of its evidence it goes, too.
    acme.retract(b, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(confidence(&acme, both), None);
    assert!(acme.check().unwrap().is_empty());
}

fn nothing_speaks_for_what_it_was_made_from(home: &Home) {
    let acme = home.tenant("acme");
    let a = id(&acme, source("a"));
    let first = confirmed(&acme, inferred("first", &[a]));
    let echo = confirmed(&acme, inferred("echo", &[first]));
    // They claim the same, and the one was made from the other: that is no evidence of its own.
    assert_eq!(acme.belief(first, now(), None).unwrap().evidence.len(), 1);
    acme.retract(a, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(confidence(&acme, first), None);
    assert_eq!(confidence(&acme, echo), None);
}

fn what_is_judged_or_archived_takes_along_what_was_inferred_from_it_alone(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let alone = confirmed(&acme, inferred("alone", &[a]));
    let both = ObjectDocument {
        normalized_claim: Some("host == x".into()),
        ..inferred("both", &[a, b])
    };
    let both = id(&acme, both);
    let status = ContradictionStatus::Quarantined;
    acme.judge(a, status, None, &Writing::default()).unwrap();
    let judged = |id: ObjectId| acme.get(id).unwrap()[0].object.status().contradiction;
    assert_eq!([judged(a), judged(alone)], [status; 2]);
    assert_eq!(judged(both), ContradictionStatus::Clean);
    assert_eq!(
        confidence(&acme, both),
        Some(acme.belief(both, now(), None).unwrap().confidence)
    );

    let c = id(&acme, source("c"));
    let made = confirmed(
        &acme,
        ObjectDocument {
            normalized_claim: Some("zone == y".into()),
            ..inferred("made", &[c])
        },
    );
    acme.age(vec![c], Lifecycle::Archived, &Writing::default())
        .unwrap();
    assert_eq!(acme.get(made).unwrap()[0].lifecycle, Lifecycle::Archived);
}

fn an_erasure_lowers_what_claims_the_same(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let held = id(&acme, inferred("held", &[a]));
    let other = confirmed(&acme, inferred("other", &[b]));
    acme.revise_belief(held, now(), &Writing::default()).unwrap();
    let before = confidence(&acme, held).unwrap();
    acme.erase(vec![other], &Writing::default()).unwrap();
    assert!(confidence(&acme, held).unwrap() < before);
    assert!(acme.check().unwrap().is_empty());
}

fn note(tenant: &Tenant, document: ObjectDocument) -> Option<String> {
    match put(tenant, vec![document]).objects.remove(0).note {
        Some(WriteNote::AwaitsConfirmation { why }) => Some(why),
        _ => None,
    }
}

fn lifecycle(tenant: &Tenant, name: &str) -> Lifecycle {
    let id = tenant.named(name).unwrap()[0];
    tenant.get(id).unwrap()[0].lifecycle
}

fn what_is_inferred_is_believed_on_two_origins_or_waits(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let too_little = || Some("too_little_evidence".to_owned());
    assert_eq!(note(&acme, inferred("none", &[])), too_little());
    assert_eq!(note(&acme, inferred("one", &[a])), too_little());
    // Several objects of one origin are one.
    let same = ObjectDocument {
        source_origin: Some("chat://a".into()),
        ..source("again")
    };
    let same = id(&acme, same);
    assert_eq!(note(&acme, inferred("same", &[a, same])), too_little());
    // What waits itself speaks for nothing.
    let waits = acme.named("one").unwrap()[0];
    assert_eq!(
        note(&acme, inferred("upon", &[a, waits])),
        Some("unverified_parent".to_owned())
    );
    assert_eq!(note(&acme, inferred("two", &[a, b])), None);
    assert_eq!(lifecycle(&acme, "two"), Lifecycle::Active);
    let hidden = ObjectDocument {
        content: "The port is 443.\u{e0041}\u{e0042}".into(),
        normalized_claim: Some("host == x".into()),
        ..inferred("hidden", &[a, b])
    };
    assert_eq!(note(&acme, hidden), Some("flagged".to_owned()));
    // What makes no claim is no less held to what it was made from.
    let status = ContradictionStatus::Quarantined;
    let summary = |name: &str| ObjectDocument {
        normalized_claim: None,
        ..inferred(name, &[a])
    };
    assert_eq!(note(&acme, summary("summary")), None);
    acme.judge(a, status, None, &Writing::default()).unwrap();
    assert_eq!(
        note(&acme, summary("later")),
        Some("unverified_parent".to_owned())
    );
    // None that waits is compiled, and each is a proposal.
    let believed = acme.load().unwrap();
    let believed = believed.candidates().objects().iter();
    let mut believed: Vec<&str> = believed.map(|object| object.name()).collect();
    believed.sort_unstable();
    assert_eq!(believed, ["a", "again", "b", "summary", "two"]);
    let waiting = acme.awaiting(None).unwrap().into_iter();
    let mut waiting: Vec<String> = waiting.map(|one| one.name).collect();
    waiting.sort_unstable();
    let all = ["hidden", "later", "none", "one", "same", "upon"];
    assert_eq!(waiting, all);
    assert!(acme.check().unwrap().is_empty());
}

fn what_waits_is_believed_once_a_person_confirms_it_or_its_evidence_is_enough(home: &Home) {
    let acme = home.tenant("acme");
    let a = id(&acme, source("a"));
    let one = || inferred("one", &[a]);
    assert!(note(&acme, one()).is_some());
    let waits = acme.named("one").unwrap()[0];
    // Its evidence can be looked at while it waits.
    assert!(acme.belief(waits, now(), None).unwrap().refused.is_some());
    assert!(acme.revise_belief(waits, now(), &Writing::default()).is_err());
    let at = "2026-01-01".parse().unwrap();
    acme.confirm(vec![waits], at, &Writing::default()).unwrap();
    assert_eq!(lifecycle(&acme, "one"), Lifecycle::Active);
    // Written again as it was, it does not wait again; in other words, it does.
    let again = put(&acme, vec![one()]);
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);
    let other = ObjectDocument {
        content: "In other words.".into(),
        ..one()
    };
    assert!(note(&acme, other.clone()).is_some());
    assert_eq!(lifecycle(&acme, "one"), Lifecycle::AwaitingConfirmation);
    // Once a second origin says so, it is believed when it is revised, or written again.
    let also = ObjectDocument {
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        ..source("also")
    };
    put(&acme, vec![also]);
    assert_eq!(lifecycle(&acme, "one"), Lifecycle::AwaitingConfirmation);
    acme.revise_belief(waits, now(), &Writing::default()).unwrap();
    assert_eq!(lifecycle(&acme, "one"), Lifecycle::Active);
    // An export holds what was decided, and an import of it decides nothing anew.
    let lines = exported(&acme);
    let copy = home.tenant("copy");
    let lines = lines.into_iter().map(|mut line| {
        line.object.tenant_id = None;
        line.revision = None;
        line
    });
    copy.import(lines.collect(), &Writing::default()).unwrap();
    assert_eq!(lifecycle(&copy, "one"), Lifecycle::Active);
    // As new objects they come through the gate like any others.
    let bare = home.tenant("bare");
    let line = |document: ObjectDocument| {
        let line = serde_json::json!({ "object": document });
        serde_json::from_value::<tenure_store::Line>(line).unwrap()
    };
    bare.import(vec![line(inferred("none", &[]))], &Writing::default())
        .unwrap();
    assert_eq!(lifecycle(&bare, "none"), Lifecycle::AwaitingConfirmation);
}

fn what_comes_through_the_gate_is_the_same_in_any_order_of_a_write(home: &Home) {
    let says = |name: &str| ObjectDocument {
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        ..source(name)
    };
    let all = [inferred("guess", &[]), says("a"), says("b")];
    for (at, order) in [[0, 1, 2], [1, 0, 2], [2, 1, 0]].into_iter().enumerate() {
        let tenant = home.tenant(&format!("t{at}"));
        put(&tenant, order.map(|at: usize| all[at].clone()).to_vec());
        assert_eq!(lifecycle(&tenant, "guess"), Lifecycle::Active);
    }
    // One that is judged in the same write speaks for nothing.
    let tenant = home.tenant("judged");
    let mut judged = all;
    judged[2].contradiction_status = Some(ContradictionStatus::Disputed);
    put(&tenant, judged.to_vec());
    assert_eq!(lifecycle(&tenant, "guess"), Lifecycle::AwaitingConfirmation);
}
