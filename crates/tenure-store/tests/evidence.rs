//! Evidence that falls: what stood on it alone goes with it, the rest is lowered, in the same write.

use tenure::ObjectDocument;
use tenure::num::Score;
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, ObjectType};
use tenure_store::{Expect, Outcome, Tenant, Writing};

use crate::common::{Home, document, put};

on_both_engines!(
    what_stood_on_fallen_evidence_alone_goes_and_the_rest_is_lowered,
    nothing_speaks_for_what_it_was_made_from,
    what_is_judged_or_archived_takes_along_what_was_inferred_from_it_alone,
    an_erasure_lowers_what_claims_the_same,
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

fn confidence(tenant: &Tenant, id: ObjectId) -> Option<Score> {
    let held = tenant.get(id).unwrap();
    held.first().map(|held| held.object.revision().confidence())
}

fn what_stood_on_fallen_evidence_alone_goes_and_the_rest_is_lowered(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let alone = id(&acme, inferred("alone", &[a]));
    let both = ObjectDocument {
        normalized_claim: Some("host == x".into()),
        ..inferred("both", &[a, b])
    };
    let both = id(&acme, both);
    let upon = id(
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
    let full = acme.belief(both).unwrap();
    assert_eq!(full.evidence.len(), 2);

    let written = acme.retract(a, Expect::Any, &Writing::default()).unwrap();
    for gone in [a, alone, upon, summary] {
        assert_eq!(confidence(&acme, gone), None, "{gone}");
    }
    let left = acme.belief(both).unwrap();
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
    let first = id(&acme, inferred("first", &[a]));
    let echo = id(&acme, inferred("echo", &[first]));
    // They claim the same, and the one was made from the other: that is no evidence of its own.
    assert_eq!(acme.belief(first).unwrap().evidence.len(), 1);
    acme.retract(a, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(confidence(&acme, first), None);
    assert_eq!(confidence(&acme, echo), None);
}

fn what_is_judged_or_archived_takes_along_what_was_inferred_from_it_alone(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let alone = id(&acme, inferred("alone", &[a]));
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
        Some(acme.belief(both).unwrap().confidence)
    );

    let c = id(&acme, source("c"));
    let made = id(
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
    let other = id(&acme, inferred("other", &[b]));
    acme.revise_belief(held, &Writing::default()).unwrap();
    let before = confidence(&acme, held).unwrap();
    acme.erase(vec![other], &Writing::default()).unwrap();
    assert!(confidence(&acme, held).unwrap() < before);
    assert!(acme.check().unwrap().is_empty());
}
