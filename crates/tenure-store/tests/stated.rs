//! What was inferred and says otherwise than a stated preference: it waits, and takes its place once a person confirms it.

use std::sync::Arc;

use tenure::belief::{GateRefusal, Ground};
use tenure::object::{
    AuthorKind, Authority, Classification, Decision, Lifecycle, ObjectId, ObjectType, OutcomeKind,
};
use tenure::{ContextObject, ErrorKind, ObjectDocument};
use tenure_store::{
    Expect, Outcome, Proposal, Sees, Tenant, Waiting, WaitingKind, WriteNote, Writing,
};

use crate::common::{Home, compiled_for, document, now, put};

on_both_engines!(
    an_inferred_preference_waits_and_takes_its_place_once_a_person_confirms_it,
    what_a_person_rejects_leaves_the_stated_one,
    what_could_not_take_its_place_is_no_proposal,
    in_one_write_the_order_decides_nothing,
    what_not_all_may_see_makes_nothing_wait,
    what_asks_for_more_authority_than_it_gets_is_told_so,
    a_confirmation_after_which_nothing_stands_waits_for_a_decision,
    what_is_stated_of_several_times_is_one_pair,
    what_is_rejected_leaves_what_was_confirmed,
    a_proposed_outcome_is_not_decided_on_as_what_waits,
    a_lowered_authority_hides_no_other_note,
    what_agrees_with_what_she_prefers_now_waits_for_nobody,
    a_guess_written_over_what_somebody_stated_waits,
    each_part_that_waits_takes_its_place,
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
        flagged: Vec::new(),
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
    assert_eq!(one.other_name.as_deref(), Some("stated"));
    assert_eq!(one.why, Some(GateRefusal::StatedOtherwise));
    assert_eq!(one.texts.len(), 1);
    assert_eq!(
        one.decide,
        format!("tenure review accept {guess} --tenant acme")
    );
    // Evidence is no person.
    assert_eq!(
        acme.belief(guess, now(), None).unwrap().refused,
        Some(GateRefusal::StatedOtherwise)
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
    let error = acme.revise_belief(guess, now(), None, &Writing::default()).unwrap_err();
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
        flagged: Vec::new(),
    };
    assert_eq!(note(&acme, belief), Some(too_little));
    assert_eq!(proposed(&acme)[0].other_id, Some(id(&acme, "stated")));
    let guess = id(&acme, "belief");
    acme.retract(guess, Expect::Waiting, &Writing::default()).unwrap();
    assert_eq!(preferences(&acme), ["stated"]);
    assert!(proposed(&acme).is_empty());
    // What waits for nobody is not decided on.
    for (name, expect) in [("belief", Expect::Waiting), ("stated", Expect::Waiting)] {
        let writing = Writing::default();
        let decided = acme.confirm_seen(id(&acme, name), now(), (expect, None), &writing);
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

fn a_confirmation_after_which_nothing_stands_waits_for_a_decision(home: &Home) {
    let acme = home.tenant("acme");
    let fact = ObjectDocument {
        object_type: Some(ObjectType::IdentityFact),
        authority_level: Some(Authority::User),
        canonical_entity_ids: vec!["ada".into()],
        security_classification: Some(Classification::Public),
        ..stated("fact", "brief")
    };
    put(&acme, vec![fact]);
    put(&acme, vec![stated("stated", "long")]);
    assert_eq!(note(&acme, guessed("guess", "short")), waits());
    let [guess, fact, said] = ["guess", "fact", "stated"].map(|name| id(&acme, name));
    let writing = Writing::default();
    // It would go before what was stated, that before the fact, and the fact before it.
    let refused = acme.confirm(vec![guess], now(), &writing).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    let hint = refused.hint.unwrap();
    assert_eq!(hint, "decide between `fact` and `stated` first");
    assert_eq!(lifecycle(&acme, "guess"), Lifecycle::AwaitingConfirmation);
    assert_eq!(preferences(&acme), ["stated"]);
    // Who may not see the fact is not told of it.
    let but_the_fact = |all: &[Arc<ContextObject>]| -> Vec<bool> {
        let classes = all.iter().map(|object| object.revision().classification());
        classes.map(|class| class != Classification::Public).collect()
    };
    let sees: &Sees<'_> = &but_the_fact;
    let hidden = acme.confirm_waiting(guess, now(), Some(sees), &writing);
    let hidden = hidden.unwrap_err();
    assert_eq!(hidden.kind, ErrorKind::Conflict);
    assert!(!format!("{hidden} {:?}", hidden.hint).contains("fact"));
    // For who may not see the guess, nothing waits.
    let sees = |all: &[Arc<ContextObject>]| vec![false; all.len()];
    let sees: &Sees<'_> = &sees;
    let hidden = acme.confirm_waiting(guess, now(), Some(sees), &writing);
    let hidden = hidden.unwrap_err();
    assert!(hidden.what.ends_with("waits for nobody"), "{hidden:?}");
    acme.resolve_conflict(fact, said, Decision::First, None, None, &writing)
        .unwrap();
    acme.confirm_waiting(guess, now(), None, &writing).unwrap();
    assert_eq!(lifecycle(&acme, "guess"), Lifecycle::Active);
    assert_eq!(preferences(&acme), ["fact"]);
}

fn what_is_stated_of_several_times_is_one_pair(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![stated("stated", "long")]);
    let then = ObjectDocument {
        valid_from: Some("2024-01-01".parse().unwrap()),
        valid_until: Some("2025-01-01".parse().unwrap()),
        ..stated("stated", "brief")
    };
    put(&acme, vec![then]);
    assert_eq!(note(&acme, guessed("guess", "short")), waits());
    let guess = id(&acme, "guess");
    // Named twice, it is confirmed once.
    let written = acme.confirm(vec![guess, guess], now(), &Writing::default());
    assert_eq!(written.unwrap().objects.len(), 2);
    assert_eq!(preferences(&acme), ["guess"]);
    let conflicts = acme.conflicts(None, None).unwrap();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    assert_eq!(conflicts[0].ground, Ground::Person);
    assert!(acme.check().unwrap().is_empty());
}

fn what_is_rejected_leaves_what_was_confirmed(home: &Home) {
    let later = || ObjectDocument {
        valid_from: Some("2099-01-01".parse().unwrap()),
        ..guessed("guess", "brief")
    };
    let writing = Writing::default();
    let partly = |name: &str| {
        let acme = home.tenant(name);
        put(&acme, vec![stated("stated", "long")]);
        put(&acme, vec![guessed("guess", "short")]);
        let guess = id(&acme, "guess");
        acme.confirm(vec![guess], now(), &writing).unwrap();
        assert_eq!(note(&acme, later()), waits());
        let waiting = proposed(&acme);
        assert_eq!(waiting.len(), 1, "{waiting:?}");
        assert_eq!(waiting[0].other_id, Some(id(&acme, "stated")));
        (acme, guess)
    };
    let claims = |tenant: &Tenant| {
        let held = tenant.get(id(tenant, "guess")).unwrap().into_iter();
        let each = held.map(|one| {
            let claim = one.object.revision().normalized_claim().unwrap().to_owned();
            (one.lifecycle, claim)
        });
        each.collect::<Vec<(Lifecycle, String)>>()
    };
    let short = (Lifecycle::Active, "answers == short".to_owned());
    let (acme, guess) = partly("rejected");
    acme.reject_waiting(guess, Expect::Any, &writing).unwrap();
    assert_eq!(claims(&acme), std::slice::from_ref(&short));
    assert!(proposed(&acme).is_empty());
    let again = acme.reject_waiting(guess, Expect::Any, &writing).unwrap_err();
    assert_eq!(again.kind, ErrorKind::Conflict);
    // What waits as a whole goes as a whole, and what was made from it.
    put(&acme, vec![guessed("other", "terse")]);
    let other = id(&acme, "other");
    let made = ObjectDocument {
        derived_from: vec![other],
        ..document("made", "In short.")
    };
    put(&acme, vec![made]);
    acme.reject_waiting(other, Expect::Waiting, &writing).unwrap();
    for gone in [other, id(&acme, "made")] {
        assert_eq!(acme.get(gone).unwrap().len(), 0);
    }
    // Confirmed, the other part takes the place of what is stated, too.
    let (acme, guess) = partly("confirmed");
    acme.confirm_waiting(guess, now(), None, &writing).unwrap();
    let brief = (Lifecycle::Active, "answers == brief".to_owned());
    assert_eq!(claims(&acme), [short, brief]);
    let conflicts = acme.conflicts(None, None).unwrap();
    let grounds: Vec<Ground> = conflicts.iter().map(|one| one.ground).collect();
    assert_eq!(grounds, [Ground::Person]);
    assert!(acme.check().unwrap().is_empty());
}

fn a_proposed_outcome_is_not_decided_on_as_what_waits(home: &Home) {
    let acme = home.tenant("acme");
    let writing = Writing::default();
    let proposal = Proposal {
        document: document("pumps", "Pumps are slow."),
        kind: OutcomeKind::Correction,
        record: None,
        mistake: None,
    };
    acme.propose_outcome(proposal, &writing).unwrap();
    let pumps = id(&acme, "pumps");
    for refused in [
        acme.confirm_waiting(pumps, now(), None, &writing),
        acme.reject_waiting(pumps, Expect::Waiting, &writing),
    ] {
        assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
    }
    assert_eq!(lifecycle(&acme, "pumps"), Lifecycle::AwaitingConfirmation);
}

fn a_lowered_authority_hides_no_other_note(home: &Home) {
    let acme = home.tenant("acme");
    let same = ["chen-1", "chen-2"].map(|id| {
        let op =
            format!(r#"{{"op": "create", "id": "{id}", "name": "Mei Chen", "kind": "person"}}"#);
        (serde_json::from_str(&op).unwrap(), None)
    });
    acme.change_entities(same.into(), &Writing::default()).unwrap();
    let rule = |name: &str, text: &str| ObjectDocument {
        object_type: Some(ObjectType::PolicyRule),
        author: Some(AuthorKind::Agent),
        ..document(name, text)
    };
    let unread = ObjectDocument {
        normalized_claim: Some("whenever it rains".into()),
        ..rule("unread", "Stay in.")
    };
    let found = note(&acme, unread);
    assert!(
        matches!(found, Some(WriteNote::ClaimNotParsed { .. })),
        "{found:?}"
    );
    let about_nobody = ObjectDocument {
        normalized_claim: Some("port == 80".into()),
        ..rule("nobody", "Listen on 80.")
    };
    assert_eq!(note(&acme, about_nobody), Some(WriteNote::ClaimAboutNobody));
    let pending = rule("pending", "Mei Chen is asked first.");
    assert_eq!(note(&acme, pending), Some(WriteNote::EntityPending));
}

fn what_agrees_with_what_she_prefers_now_waits_for_nobody(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![stated("before", "long")]);
    put(&acme, vec![stated("now", "short")]);
    assert_eq!(note(&acme, guessed("same", "short")), None);
    assert!(proposed(&acme).is_empty());
    // What says otherwise than both waits in the place of the one that stands.
    assert_eq!(note(&acme, guessed("other", "brief")), waits());
    assert_eq!(proposed(&acme)[0].other_id, Some(id(&acme, "now")));
    assert!(acme.check().unwrap().is_empty());
}

fn a_guess_written_over_what_somebody_stated_waits(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![stated("wish", "long")]);
    let wish = id(&acme, "wish");
    let text = |tenant: &Tenant| {
        let held = tenant.get(wish).unwrap().into_iter();
        let active = held.filter(|one| one.lifecycle == Lifecycle::Active);
        let claims = active.map(|one| one.object.revision().normalized_claim().map(str::to_owned));
        claims.flatten().collect::<Vec<String>>()
    };
    let over = |document: ObjectDocument| ObjectDocument {
        object_id: Some(wish),
        ..document
    };
    // Another value, another slot, nothing that can be compared, and of a time that begins before: all of it is no more than a
    // proposal.
    let nothing = ObjectDocument {
        normalized_claim: None,
        ..guessed("wish", "short")
    };
    let other = ObjectDocument {
        normalized_claim: Some("tone == dry".into()),
        ..guessed("wish", "short")
    };
    let before = ObjectDocument {
        valid_from: Some("2020-01-01".parse().unwrap()),
        ..guessed("wish", "short")
    };
    for guess in [nothing, other, before, guessed("wish", "short")] {
        assert_eq!(note(&acme, over(guess)), waits());
        assert_eq!(text(&acme), ["answers == long"]);
        assert_eq!(preferences(&acme), ["wish"]);
    }
    // Evidence is no person.
    for name in ["seen", "heard", "read"] {
        let fact = ObjectDocument {
            object_type: Some(ObjectType::IdentityFact),
            ..stated(name, "short")
        };
        put(&acme, vec![fact]);
    }
    let revised = acme.revise_belief(wish, now(), None, &Writing::default());
    assert_eq!(revised.unwrap().0.claim, "answers == \"long\"");
    assert_eq!(text(&acme), ["answers == long"]);
    acme.confirm_waiting(wish, now(), None, &Writing::default()).unwrap();
    assert_eq!(text(&acme), ["answers == short"]);
    // What agrees is told in other words; and what nobody stated any more is guessed anew.
    let agrees = ObjectDocument {
        content: "Ada likes short answers.".into(),
        ..guessed("wish", "short")
    };
    assert_eq!(note(&acme, over(agrees)), None);
    assert_eq!(note(&acme, over(guessed("wish", "long"))), None);
    assert_eq!(text(&acme), ["answers == long"]);
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn each_part_that_waits_takes_its_place(home: &Home) {
    let acme = home.tenant("acme");
    let on_tone = |document, value: &str| ObjectDocument {
        normalized_claim: Some(format!("tone == {value}")),
        ..document
    };
    put(&acme, vec![stated("stated", "long")]);
    put(&acme, vec![on_tone(stated("tone", "warm"), "warm")]);
    let end = Some("2099-01-01".parse().unwrap());
    let early = ObjectDocument {
        valid_until: end,
        ..guessed("guess", "short")
    };
    assert_eq!(note(&acme, early), waits());
    let late = ObjectDocument {
        valid_from: end,
        ..on_tone(guessed("guess", "dry"), "dry")
    };
    assert_eq!(note(&acme, late), waits());
    let guess = id(&acme, "guess");
    acme.confirm_waiting(guess, now(), None, &Writing::default()).unwrap();
    assert_eq!(preferences(&acme), ["guess", "guess"]);
    let conflicts = acme.conflicts(None, None).unwrap();
    let grounds: Vec<Ground> = conflicts.iter().map(|one| one.ground).collect();
    assert_eq!(grounds, [Ground::Person, Ground::Person]);
}
