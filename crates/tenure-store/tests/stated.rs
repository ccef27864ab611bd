//! What was inferred and says otherwise than a stated preference: it waits, and takes its place once a person confirms it.

use tenure::ErrorKind;
use tenure::ObjectDocument;
use tenure::belief::{GateRefusal, Ground};
use tenure::object::{AuthorKind, Authority, Lifecycle, ObjectId, ObjectType};
use tenure_store::{Expect, Outcome, Tenant, Waiting, WaitingKind, WriteNote, Writing};

use crate::common::{Home, compiled_for, document, now, put};

on_both_engines!(
    an_inferred_preference_waits_and_takes_its_place_once_a_person_confirms_it,
    what_a_person_rejects_leaves_the_stated_one,
    what_could_not_take_its_place_is_no_proposal,
    in_one_write_the_order_decides_nothing,
    what_not_all_may_see_makes_nothing_wait,
    what_asks_for_more_authority_than_it_gets_is_told_so,
);

fn stated(name: &str, value: &str) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::Preference),
        user_id: Some("ada".into()),
        normalized_claim: Some(format!("answers == {value}")),
        ..document(name, &format!("Ada wants {value} answers."))
    }
}

/// The same, as an agent wrote it.
fn guessed(name: &str, value: &str) -> ObjectDocument {
    ObjectDocument {
        author: Some(AuthorKind::Agent),
        ..stated(name, value)
    }
}

fn id(tenant: &Tenant, name: &str) -> ObjectId {
    tenant.named(name).unwrap()[0]
}

fn lifecycle(tenant: &Tenant, name: &str) -> Lifecycle {
    tenant.get(id(tenant, name)).unwrap()[0].lifecycle
}

fn waits() -> Option<WriteNote> {
    Some(WriteNote::AwaitsConfirmation {
        why: GateRefusal::StatedOtherwise.term().to_owned(),
    })
}

fn note(tenant: &Tenant, document: ObjectDocument) -> Option<WriteNote> {
    put(tenant, vec![document]).objects.remove(0).note
}

fn proposed(tenant: &Tenant) -> Vec<Waiting> {
    tenant.proposals(now(), None).unwrap()
}

/// The preferences that a compile for Ada takes in.
fn preferences(tenant: &Tenant) -> Vec<String> {
    compiled_for(tenant, "ada", "Answer Ada.")
}

fn an_inferred_preference_waits_and_takes_its_place_once_a_person_confirms_it(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![stated("stated", "long")]);
    assert_eq!(note(&acme, guessed("guess", "short")), waits());
    let guess = id(&acme, "guess");
    let held = acme.get(guess).unwrap();
    let level = held[0].object.revision().authority_level();
    assert_eq!(level, Authority::Memory);
    assert_eq!(preferences(&acme), ["stated"]);
    let waiting = proposed(&acme);
    let [one] = &waiting[..] else {
        panic!("{waiting:?}");
    };
    assert_eq!((one.kind, &*one.name), (WaitingKind::Inferred, "guess"));
    assert_eq!(one.other_id, Some(id(&acme, "stated")));
    assert_eq!(
        one.decide,
        format!("tenure store confirm {guess} --tenant acme")
    );
    // Evidence is no person.
    assert_eq!(
        acme.belief(guess, now(), None).unwrap().refused,
        Some(GateRefusal::TooLittleEvidence)
    );
    put(
        &acme,
        vec![ObjectDocument {
            authority_level: Some(Authority::Memory),
            object_type: Some(ObjectType::IdentityFact),
            ..stated("seen", "short")
        }],
    );
    put(
        &acme,
        vec![ObjectDocument {
            authority_level: Some(Authority::Memory),
            object_type: Some(ObjectType::IdentityFact),
            ..stated("heard", "short")
        }],
    );
    let error = acme
        .revise_belief(guess, now(), None, &Writing::default())
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Policy);
    assert_eq!(lifecycle(&acme, "guess"), Lifecycle::AwaitingConfirmation);
    // What is stated meanwhile is older than the confirmation, too.
    put(&acme, vec![stated("again", "very_long")]);
    let writing = Writing {
        author: Some("kim".into()),
        ..Writing::default()
    };
    let written = acme.confirm(vec![guess], now(), &writing).unwrap();
    assert_eq!(written.objects.len(), 3, "{written:?}");
    assert_eq!(preferences(&acme), ["guess"]);
    assert!(proposed(&acme).is_empty());
    let conflicts = acme.conflicts(None, None).unwrap();
    let decided = conflicts.iter().filter(|one| one.ground == Ground::Person);
    let by: Vec<Option<&str>> = decided.map(|one| one.by.as_deref()).collect();
    assert_eq!(by, [Some("kim"), Some("kim")]);
    // Written again as it is, it waits no more; what the user states since stands.
    let same = put(&acme, vec![guessed("guess", "short")]);
    assert_eq!(same.objects[0].outcome, Outcome::Unchanged);
    put(&acme, vec![stated("later", "brief")]);
    assert_eq!(preferences(&acme), ["later"]);
    assert!(acme.check().unwrap().is_empty());
}

fn what_a_person_rejects_leaves_the_stated_one(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![stated("stated", "long")]);
    let belief = ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        subjects: vec!["ada".into()],
        author: None,
        ..guessed("belief", "short")
    };
    // It waits for its evidence; a person may say so all the same.
    let too_little = WriteNote::AwaitsConfirmation {
        why: GateRefusal::TooLittleEvidence.term().to_owned(),
    };
    assert_eq!(note(&acme, belief), Some(too_little));
    assert_eq!(proposed(&acme)[0].other_id, Some(id(&acme, "stated")));
    let guess = id(&acme, "belief");
    acme.retract(guess, Expect::Waiting, &Writing::default())
        .unwrap();
    assert_eq!(preferences(&acme), ["stated"]);
    assert!(proposed(&acme).is_empty());
    // What waits for nobody is not decided on.
    for (name, expect) in [("belief", Expect::Waiting), ("stated", Expect::Waiting)] {
        let decided =
            acme.confirm_expected(vec![id(&acme, name)], now(), expect, &Writing::default());
        assert_eq!(decided.unwrap_err().kind, ErrorKind::Conflict, "{name}");
    }
}

fn what_could_not_take_its_place_is_no_proposal(home: &Home) {
    let acme = home.tenant("acme");
    // What was inferred first is no answer to what is stated since.
    assert_eq!(note(&acme, guessed("guess", "short")), None);
    let since = ObjectDocument {
        valid_from: Some("2026-06-06".parse().unwrap()),
        ..stated("stated", "long")
    };
    put(&acme, vec![since]);
    assert_eq!(lifecycle(&acme, "guess"), Lifecycle::Active);
    assert_eq!(preferences(&acme), ["stated"]);
    // Nor is what says that it held before, what agrees, and what the developer prefers otherwise.
    let before = ObjectDocument {
        valid_from: Some("2026-01-01".parse().unwrap()),
        ..guessed("before", "short")
    };
    assert_eq!(note(&acme, before), None);
    assert_eq!(note(&acme, guessed("agrees", "long")), None);
    let other = ObjectDocument {
        normalized_claim: Some("tone == dry".into()),
        authority_level: Some(Authority::Developer),
        ..stated("house", "dry")
    };
    put(&acme, vec![other]);
    let tone = ObjectDocument {
        normalized_claim: Some("tone == warm".into()),
        ..guessed("tone", "warm")
    };
    assert_eq!(note(&acme, tone), None);
    // Data proposes nothing.
    let data = ObjectDocument {
        authority_level: Some(Authority::Data),
        ..guessed("data", "short")
    };
    assert_eq!(note(&acme, data), None);
    assert!(proposed(&acme).is_empty());
    // One that became too old and is confirmed is no newer than it was.
    let old = id(&acme, "guess");
    acme.age(
        vec![old],
        Lifecycle::AwaitingConfirmation,
        &Writing::default(),
    )
    .unwrap();
    acme.confirm(vec![old], now(), &Writing::default()).unwrap();
    assert!(!preferences(&acme).contains(&"guess".to_owned()));
}

fn in_one_write_the_order_decides_nothing(home: &Home) {
    for (number, stated_first) in [true, false].into_iter().enumerate() {
        let acme = home.tenant(&format!("acme{number}"));
        let mut both = vec![stated("stated", "long"), guessed("guess", "short")];
        if !stated_first {
            both.reverse();
        }
        put(&acme, both);
        assert_eq!(lifecycle(&acme, "guess"), Lifecycle::AwaitingConfirmation);
        assert_eq!(preferences(&acme), ["stated"]);
    }
}

fn what_not_all_may_see_makes_nothing_wait(home: &Home) {
    let acme = home.tenant("acme");
    let secret = ObjectDocument {
        canonical_entity_ids: vec!["ada".into()],
        user_id: Some("boss".into()),
        ..stated("secret", "long")
    };
    put(&acme, vec![secret]);
    let open = ObjectDocument {
        canonical_entity_ids: vec!["ada".into()],
        user_id: None,
        ..guessed("guess", "short")
    };
    assert_eq!(note(&acme, open), None);
    assert_eq!(lifecycle(&acme, "guess"), Lifecycle::Active);
}

fn what_asks_for_more_authority_than_it_gets_is_told_so(home: &Home) {
    let acme = home.tenant("acme");
    let lowered = |declared, authority| {
        Some(WriteNote::AuthorityLowered {
            declared,
            authority,
        })
    };
    let rule = |name: &str| ObjectDocument {
        object_type: Some(ObjectType::PolicyRule),
        ..document(name, "Send mail to nobody.")
    };
    assert_eq!(note(&acme, rule("rule")), None);
    let (developer, data) = (Authority::Developer, Authority::Data);
    let web = ObjectDocument {
        source_origin: Some("https://a.example/x".into()),
        ..rule("web")
    };
    assert_eq!(note(&acme, web), lowered(developer, data));
    let agent = ObjectDocument {
        author: Some(AuthorKind::Agent),
        ..rule("agent")
    };
    assert_eq!(note(&acme, agent), lowered(developer, data));
    let page = ObjectDocument {
        authority_level: Some(Authority::Platform),
        derived_from: vec![id(&acme, "web")],
        ..rule("made")
    };
    assert_eq!(note(&acme, page), lowered(Authority::Platform, data));
    // Who does not ask is not told.
    let summary = ObjectDocument {
        derived_from: vec![id(&acme, "web")],
        ..document("summary", "In short.")
    };
    assert_eq!(note(&acme, summary), None);
}
