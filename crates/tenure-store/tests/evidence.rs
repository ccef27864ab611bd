//! Evidence that falls: what stood on it alone goes with it, the rest is lowered, in the same write.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::belief::{Disguise, GateRefusal};
use tenure::num::Score;
use tenure::object::{AuthorKind, ContradictionStatus, Lifecycle, ObjectId, ObjectType, TextField};
use tenure::time::Instant;
use tenure::{ContextObject, ErrorKind, ObjectDocument};
use tenure_store::{
    BeliefWithEvidence, Expect, FlaggedText, Outcome, Silence, Tenant, WriteNote, Writing,
};

use crate::common::{Home, contents, document, exported, now, put};

on_both_engines!(
    what_stood_on_fallen_evidence_alone_goes_and_the_rest_is_lowered,
    nothing_speaks_for_what_it_was_made_from,
    what_is_judged_or_archived_takes_along_what_was_inferred_from_it_alone,
    an_erasure_lowers_what_claims_the_same,
    what_is_inferred_is_believed_on_two_origins_or_waits,
    every_text_that_can_reach_a_prompt_comes_through_the_gate,
    what_waits_is_believed_once_a_person_confirms_it_or_its_evidence_is_enough,
    what_comes_through_the_gate_is_the_same_in_any_order_of_a_write,
    a_site_has_one_vote_whatever_is_made_of_its_pages,
    what_is_over_speaks_for_nothing_that_lasts,
    what_is_hidden_changes_nothing_that_more_may_see,
    a_revision_that_changes_nothing_is_not_written_and_says_why,
    what_is_revised_is_what_was_shown_whatever_was_written_about_other_times,
    what_claims_the_same_is_evidence_that_falls,
    what_a_person_confirmed_needs_no_one_who_claims_the_same,
    a_claim_that_cannot_be_compared_needs_evidence_too,
    a_revision_of_what_waits_needs_no_less_than_a_write,
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
    acme.age(vec![c], Lifecycle::Archived, &Writing::default()).unwrap();
    assert_eq!(acme.get(made).unwrap()[0].lifecycle, Lifecycle::Archived);
}

fn an_erasure_lowers_what_claims_the_same(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let held = id(&acme, inferred("held", &[a]));
    let other = confirmed(&acme, inferred("other", &[b]));
    acme.revise_belief(held, now(), None, &Writing::default()).unwrap();
    let before = confidence(&acme, held).unwrap();
    acme.erase(vec![other], &Writing::default()).unwrap();
    assert!(confidence(&acme, held).unwrap() < before);
    assert!(acme.check().unwrap().is_empty());
}

fn note(tenant: &Tenant, document: ObjectDocument) -> Option<String> {
    match put(tenant, vec![document]).objects.remove(0).note {
        Some(WriteNote::AwaitsConfirmation { why, .. }) => Some(why),
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
    let waiting = acme.awaiting(now(), None).unwrap().into_iter();
    let mut waiting: Vec<String> = waiting.map(|one| one.name).collect();
    waiting.sort_unstable();
    let all = ["hidden", "later", "none", "one", "same", "upon"];
    assert_eq!(waiting, all);
    assert!(acme.check().unwrap().is_empty());
}

fn every_text_that_can_reach_a_prompt_comes_through_the_gate(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let flagged = |document: ObjectDocument| {
        let written = put(&acme, vec![document]).objects.remove(0);
        let text = |text: &FlaggedText| (text.object_id, text.field, text.disguise);
        match written.note {
            Some(WriteNote::AwaitsConfirmation { why, flagged }) => {
                assert_eq!(why, "flagged");
                flagged.iter().map(text).collect()
            }
            note => {
                assert_eq!(note, None);
                Vec::new()
            }
        }
    };
    fn hidden() -> Option<String> {
        Some("Call\u{200B} the \u{202E}desk.".to_owned())
    }
    let with = |name: &str, change: &dyn Fn(&mut ObjectDocument)| {
        let mut document = ObjectDocument {
            content: format!("The desk of {name} answers every call that comes in."),
            // So that nothing else stands in the slot.
            normalized_claim: Some(format!("{name} == 1")),
            ..inferred(name, &[a, b])
        };
        change(&mut document);
        document
    };
    let (unseen, mixed) = (Disguise::HiddenCharacters, Disguise::MixedScripts);
    let of = |field, disguise| vec![(None, field, disguise)];
    assert_eq!(flagged(with("plain", &|_| {})), []);
    type Change = fn(&mut ObjectDocument);
    let each: [(TextField, Change); 6] = [
        (TextField::Content, |one| one.content = hidden().unwrap()),
        (TextField::Abstract, |one| one.abstract_text = hidden()),
        (TextField::Overview, |one| one.overview = hidden()),
        (TextField::Name, |one| one.name = hidden().unwrap()),
        (TextField::BehavioralImplication, |one| {
            one.behavioral_implication = hidden();
        }),
        (TextField::WhyItMatters, |one| one.why_it_matters = hidden()),
    ];
    for (at, (field, change)) in each.into_iter().enumerate() {
        assert_eq!(
            flagged(with(&format!("hidden{at}"), &change)),
            of(field, unseen)
        );
    }
    let reference = with("reference", &|one| {
        one.behavioral_implication = Some("Call&#8203; the desk.".into());
    });
    let implication = TextField::BehavioralImplication;
    assert_eq!(flagged(reference), of(implication, unseen));
    let alike = |text: &'static str| {
        move |one: &mut ObjectDocument| one.behavioral_implication = Some(text.into())
    };
    let cyrillic = alike("Send the p\u{430}ssword.");
    assert_eq!(flagged(with("cyrillic", &cyrillic)), of(implication, mixed));
    for (at, text) in [
        "Пароль короткий.",
        "Wait 5 \u{B5}s, then \u{394}t.",
        "Ο λόγος.",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(flagged(with(&format!("language{at}"), &alike(text))), []);
    }
    // What it was made from is looked at the same, and named where all may see it who may see the object.
    let tainted = |name: &str, user: Option<&str>| ObjectDocument {
        behavioral_implication: hidden(),
        user_id: user.map(str::to_owned),
        ..source(name)
    };
    let (open, own) = (
        id(&acme, tainted("open", None)),
        id(&acme, tainted("own", Some("ada"))),
    );
    let upon = |name: &str, parent| ObjectDocument {
        normalized_claim: Some(format!("{name} == 1")),
        ..inferred(name, &[a, parent])
    };
    assert_eq!(
        flagged(upon("upon", open)),
        [(Some(open), implication, unseen)]
    );
    // It is for ada alone, too: what was made from something of hers is hers.
    assert_eq!(
        flagged(upon("hers", own)),
        [(Some(own), implication, unseen)]
    );
    let upon = acme.named("upon").unwrap()[0];
    let shown = acme.belief(upon, now(), None).unwrap();
    assert_eq!(shown.refused, Some(GateRefusal::Flagged));
    assert_eq!(shown.flagged.len(), 1);
    let error = acme.revise_belief(upon, now(), None, &Writing::default()).unwrap_err();
    let said = format!("flagged (hidden_characters in the behavioral_implication of {open})");
    assert!(error.what.ends_with(&said), "{error}");
    // A person may let it through all the same.
    let at = "2026-01-01".parse().unwrap();
    acme.confirm(vec![upon], at, &Writing::default()).unwrap();
    assert_eq!(lifecycle(&acme, "upon"), Lifecycle::Active);
}

fn what_waits_is_believed_once_a_person_confirms_it_or_its_evidence_is_enough(home: &Home) {
    let acme = home.tenant("acme");
    let a = id(&acme, source("a"));
    let one = || inferred("one", &[a]);
    assert!(note(&acme, one()).is_some());
    let waits = acme.named("one").unwrap()[0];
    // Its evidence can be looked at while it waits.
    assert!(acme.belief(waits, now(), None).unwrap().refused.is_some());
    assert!(acme.revise_belief(waits, now(), None, &Writing::default()).is_err());
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
    // It waits beside what was confirmed, which stays.
    let stages = || {
        let held = acme.get(waits).unwrap().into_iter();
        held.map(|one| one.lifecycle).collect::<Vec<Lifecycle>>()
    };
    let both = [Lifecycle::Active, Lifecycle::AwaitingConfirmation];
    assert_eq!(stages(), both);
    // Once a second origin says so, it is believed when it is revised, or written again.
    let also = ObjectDocument {
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        ..source("also")
    };
    put(&acme, vec![also]);
    assert_eq!(stages(), both);
    acme.revise_belief(waits, now(), None, &Writing::default()).unwrap();
    assert_eq!(stages(), [Lifecycle::Active]);
    assert_eq!(contents(&acme, waits), ["In other words."]);
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
    bare.import(vec![line(inferred("none", &[]))], &Writing::default()).unwrap();
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

fn a_site_has_one_vote_whatever_is_made_of_its_pages(home: &Home) {
    let acme = home.tenant("acme");
    let page = |name: &str, origin: &str| ObjectDocument {
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        source_origin: Some(origin.into()),
        ..source(name)
    };
    let one = id(&acme, page("one", "https://evil.example/1"));
    let two = id(&acme, page("two", "https://www.evil.example:8443/2"));
    let too_little = Some("too_little_evidence".to_owned());
    assert_eq!(note(&acme, inferred("both", &[one, two])), too_little);
    // What was inferred from one page votes with it, from whatever file it was put.
    let put_from = |name: &str, from: &[ObjectId]| ObjectDocument {
        source_origin: Some(format!("{name}.jsonl")),
        ..inferred(name, from)
    };
    let first = confirmed(&acme, put_from("first", &[one]));
    confirmed(&acme, put_from("second", &[one]));
    let second = acme.named("second").unwrap()[0];
    confirmed(&acme, put_from("third", &[second]));
    let shown = acme.belief(first, now(), None).unwrap();
    assert_eq!(shown.evidence.len(), 4, "{shown:?}");
    for link in &shown.evidence {
        assert_eq!(link.vote, Some(1), "{link:?}");
        assert_eq!(link.origins, ["evil.example".to_owned()].into(), "{link:?}");
    }
    assert_eq!(shown.refused, Some(GateRefusal::TooLittleEvidence));
    let alone = acme.revise_belief(first, now(), None, &Writing::default());
    assert_eq!(alone.unwrap_err().kind, ErrorKind::Policy);
    // Another site is another vote. What was inferred from both is read by who visits both alone, and so does not count.
    let other = id(&acme, page("other", "https://good.example/"));
    let summary = confirmed(&acme, put_from("summary", &[one, other]));
    let shown = acme.belief(first, now(), None).unwrap();
    let votes: BTreeSet<_> = shown.evidence.iter().filter_map(|link| link.vote).collect();
    assert_eq!(votes, [1, 2].into());
    let link = shown.evidence.iter().find(|link| link.object_id == summary);
    assert_eq!(link.unwrap().silent, Some(Silence::NotForAll));
    assert_eq!(shown.refused, None);
}

fn what_is_over_speaks_for_nothing_that_lasts(home: &Home) {
    let acme = home.tenant("acme");
    let day = |text: &str| text.parse::<Instant>().unwrap();
    let until = ObjectDocument {
        valid_until: Some(day("2090-01-01")),
        ..source("until")
    };
    let (until, open) = (id(&acme, until), id(&acme, source("open")));
    let lasts = id(&acme, inferred("lasts", &[until, open]));
    let ends = ObjectDocument {
        valid_until: Some(day("2089-01-01")),
        normalized_claim: Some("host == x".into()),
        ..inferred("ends", &[until, open])
    };
    let ends = id(&acme, ends);
    let silent = |id, at: &str| {
        let shown = acme.belief(id, day(at), None).unwrap();
        let link = shown.evidence.iter().find(|link| link.object_id == until);
        (link.unwrap().silent, shown.confidence)
    };
    let (speaks, full) = silent(lasts, "2089-12-31");
    assert_eq!(speaks, None);
    let (speaks, left) = silent(lasts, "2090-01-01");
    assert_eq!(speaks, Some(Silence::Over));
    assert!(left < full);
    assert_eq!(silent(ends, "2090-01-01").0, None);
    // What was over when it was written makes nothing believed.
    let past = ObjectDocument {
        valid_until: Some(day("2020-01-01")),
        ..source("past")
    };
    let past = id(&acme, past);
    let unverified = Some("unverified_parent".to_owned());
    assert_eq!(note(&acme, inferred("late", &[past, open])), unverified);
}

fn what_is_hidden_changes_nothing_that_more_may_see(home: &Home) {
    let acme = home.tenant("acme");
    let (a, b) = (id(&acme, source("a")), id(&acme, source("b")));
    let held = id(&acme, inferred("held", &[a, b]));
    let spy = ObjectDocument {
        normalized_claim: Some("port == 80".into()),
        canonical_entity_ids: vec!["desk".into()],
        source_authority: Some(Score::ONE),
        user_id: Some("boss".into()),
        ..source("spy")
    };
    let before = acme.belief(held, now(), None).unwrap().confidence;
    let spy = id(&acme, spy);
    let shown = acme.belief(held, now(), None).unwrap();
    assert_eq!(shown.confidence, before);
    let link = shown.evidence.iter().find(|link| link.object_id == spy);
    assert_eq!(link.unwrap().silent, Some(Silence::NotForAll));
    acme.revise_belief(held, now(), None, &Writing::default()).unwrap();
    assert_eq!(confidence(&acme, held), Some(before));
    // Who may see it, sees it count; nobody else is told of it.
    let seen_by = |user: Option<&'static str>| {
        let sees = move |objects: &[Arc<ContextObject>]| -> Vec<bool> {
            let open = |owner: Option<&str>| owner.is_none() || owner == user;
            let each = objects.iter();
            each.map(|object| open(object.revision().scope().user.as_deref())).collect()
        };
        let shown = acme.belief(held, now(), Some(&sees)).unwrap();
        let revised = acme.revise_belief(held, now(), Some(&sees), &Writing::default());
        let told = |belief: &BeliefWithEvidence| -> Vec<ObjectId> {
            belief.evidence.iter().map(|link| link.object_id).collect()
        };
        assert_eq!(told(&revised.unwrap().0), told(&shown));
        shown
    };
    assert!(seen_by(Some("boss")).confidence < before);
    let public = seen_by(None);
    assert_eq!((public.confidence, public.evidence.len()), (before, 2));
    // Nor does anything happen to it when that falls.
    let versions = acme.history(held).unwrap().len();
    acme.retract(spy, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(acme.history(held).unwrap().len(), versions);
}

fn a_revision_that_changes_nothing_is_not_written_and_says_why(home: &Home) {
    let acme = home.tenant("acme");
    let plain = ObjectDocument {
        normalized_claim: Some("b == 2".into()),
        canonical_entity_ids: vec!["x".into()],
        confidence_score: Some(Score::from_millionths(900_000)),
        ..document("plain", "T.")
    };
    let plain = id(&acme, plain);
    let revise = |id| {
        let (_, written) = acme.revise_belief(id, now(), None, &Writing::default()).unwrap();
        let one = &written.objects[0];
        (one.outcome, one.note.clone(), acme.version().unwrap())
    };
    let version = acme.version().unwrap();
    let said = (Outcome::Unchanged, Some(WriteNote::NothingSpeaks), version);
    assert_eq!(revise(plain), said);
    assert_eq!(
        confidence(&acme, plain),
        Some(Score::from_millionths(900_000))
    );
    // What was made from others is no surer than they are, and says so.
    let sure = |name: &str| ObjectDocument {
        source_authority: Some(Score::ONE),
        confidence_score: Some(Score::HALF),
        ..source(name)
    };
    let (a, b) = (id(&acme, sure("a")), id(&acme, sure("b")));
    let capped = id(&acme, inferred("capped", &[a, b]));
    let version = acme.version().unwrap();
    let note = WriteNote::AtMost {
        confidence: Score::HALF,
    };
    assert_eq!(revise(capped), (Outcome::Unchanged, Some(note), version));
    assert_eq!(
        acme.belief(capped, now(), None).unwrap().at_most,
        Some(Score::HALF)
    );
    // What makes no claim says what it lacks.
    let lacks = |document: ObjectDocument| {
        let id = id(&acme, document);
        acme.belief(id, now(), None).unwrap_err().what
    };
    let nobody = ObjectDocument {
        normalized_claim: Some("b == 2".into()),
        ..document("nobody", "T.")
    };
    assert!(lacks(nobody).contains("about nobody that is named"));
    assert!(lacks(document("silent", "T.")).contains("makes no claim"));
}

fn what_is_revised_is_what_was_shown_whatever_was_written_about_other_times(home: &Home) {
    let acme = home.tenant("acme");
    let of = |name: &str, claim: &str, from: Option<i64>, until: Option<i64>| ObjectDocument {
        normalized_claim: Some(claim.into()),
        canonical_entity_ids: vec!["desk".into()],
        confidence_score: Some(Score::HALF),
        valid_from: from.map(Instant::from_micros),
        valid_until: until.map(Instant::from_micros),
        ..source(name)
    };
    let port = id(&acme, of("port", "port == 443", Some(0), None));
    put(&acme, vec![of("same", "port == 443", Some(0), None)]);
    // An exception was written last: it is the head, and not what is shown.
    put(&acme, vec![of("port", "port == 80", Some(10), Some(20))]);
    let shown = acme.belief(port, now(), None).unwrap();
    assert_eq!(shown.claim, "port == 443");
    let held = |claim: &str| -> Vec<(Option<i64>, Option<i64>, Score)> {
        let held = acme.get(port).unwrap().into_iter();
        let of = held.filter(|held| held.object.revision().normalized_claim() == Some(claim));
        let of = of.map(|held| {
            let valid = held.object.valid();
            let confidence = held.object.revision().confidence();
            (
                valid.from.map(Instant::micros),
                valid.until.map(Instant::micros),
                confidence,
            )
        });
        of.collect()
    };
    let (_, written) = acme.revise_belief(port, now(), None, &Writing::default()).unwrap();
    assert_eq!(written.objects[0].outcome, Outcome::Revised);
    let now_sure = shown.confidence;
    assert!(now_sure > Score::HALF);
    assert_eq!(
        held("port == 443"),
        [(Some(0), Some(10), now_sure), (Some(20), None, now_sure)]
    );
    // What was said of other times stays as it was.
    assert_eq!(held("port == 80"), [(Some(10), Some(20), Score::HALF)]);
    let (_, again) = acme.revise_belief(port, now(), None, &Writing::default()).unwrap();
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);
    assert!(acme.check().unwrap().is_empty());
}

/// What claims the same as what is inferred here.
fn claiming(name: &str) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        ..source(name)
    }
}

/// Returns whether it is believed, active and clean.
fn is_active(tenant: &Tenant, id: ObjectId) -> bool {
    let held = tenant.get(id).unwrap();
    held.iter().any(|one| {
        one.lifecycle == Lifecycle::Active
            && one.object.status().contradiction == ContradictionStatus::Clean
    })
}

fn what_claims_the_same_is_evidence_that_falls(home: &Home) {
    let quietly = Writing::default();
    type Ends = fn(&Tenant, ObjectId);
    let ends: [(&str, Ends, Option<ContradictionStatus>); 4] = [
        (
            "retracted",
            |acme, id| drop(acme.retract(id, Expect::Any, &Writing::default()).unwrap()),
            None,
        ),
        (
            "erased",
            |acme, id| drop(acme.erase(vec![id], &Writing::default()).unwrap()),
            None,
        ),
        (
            "archived",
            |acme, id| {
                let archived = Lifecycle::Archived;
                drop(acme.age(vec![id], archived, &Writing::default()).unwrap());
            },
            Some(ContradictionStatus::Clean),
        ),
        (
            "judged",
            |acme, id| {
                let status = ContradictionStatus::Quarantined;
                drop(acme.judge(id, status, None, &Writing::default()).unwrap());
            },
            Some(ContradictionStatus::Quarantined),
        ),
    ];
    for (tenant, end, left) in ends {
        let acme = home.tenant(tenant);
        let (a, b) = (id(&acme, claiming("a")), id(&acme, claiming("b")));
        let guess = id(&acme, inferred("guess", &[]));
        // What was made from it does not speak for it, and takes nothing with it.
        let made = ObjectDocument {
            derived_from: vec![guess],
            ..claiming("made")
        };
        let made = id(&acme, made);
        acme.retract(made, Expect::Any, &quietly).unwrap();
        // Nor does what says otherwise, as long as it is weaker.
        let against = ObjectDocument {
            normalized_claim: Some("port == 80".into()),
            source_authority: Some(Score::from_millionths(1_000)),
            authority_level: Some(tenure::object::Authority::Data),
            ..claiming("against")
        };
        let against = id(&acme, against);
        acme.retract(against, Expect::Any, &quietly).unwrap();
        let both = confidence(&acme, guess).unwrap();
        end(&acme, a);
        let one = confidence(&acme, guess).unwrap();
        assert!(one < both, "{tenant}: {one} {both}");
        assert!(is_active(&acme, guess), "{tenant}");
        end(&acme, b);
        assert!(!is_active(&acme, guess), "{tenant}");
        let held = acme.get(guess).unwrap();
        let status = held.first().map(|held| held.object.status().contradiction);
        assert_eq!(status, left, "{tenant}");
        assert!(acme.check().unwrap().is_empty());
    }
}

fn what_a_person_confirmed_needs_no_one_who_claims_the_same(home: &Home) {
    let acme = home.tenant("acme");
    let a = id(&acme, claiming("a"));
    let guess = confirmed(&acme, inferred("guess", &[]));
    acme.retract(a, Expect::Any, &Writing::default()).unwrap();
    assert!(confidence(&acme, guess).is_some());
}

fn a_claim_that_cannot_be_compared_needs_evidence_too(home: &Home) {
    let acme = home.tenant("acme");
    let unread = ObjectDocument {
        normalized_claim: Some("port == 5 kg".into()),
        ..inferred("unread", &[])
    };
    let about_nobody = ObjectDocument {
        canonical_entity_ids: Vec::new(),
        ..inferred("nobody", &[])
    };
    let sources = [id(&acme, source("a")), id(&acme, source("b"))];
    for document in [unread, about_nobody] {
        let written = put(&acme, vec![document.clone()]);
        let why = GateRefusal::TooLittleEvidence.term().to_owned();
        let waits = Some(WriteNote::AwaitsConfirmation {
            why,
            flagged: Vec::new(),
        });
        assert_eq!(written.objects[0].note, waits, "{document:?}");
        let founded = ObjectDocument {
            derived_from: sources.to_vec(),
            ..document
        };
        let written = put(&acme, vec![founded]);
        assert_ne!(written.objects[0].note, waits);
        let held = acme.get(written.objects[0].object_id).unwrap();
        assert!(held.iter().any(|one| one.lifecycle == Lifecycle::Active));
    }
}

fn a_revision_of_what_waits_needs_no_less_than_a_write(home: &Home) {
    let acme = home.tenant("acme");
    let stated = ObjectDocument {
        object_type: Some(ObjectType::Preference),
        user_id: Some("ada".into()),
        normalized_claim: Some("drink == tea".into()),
        ..document("tea", "Tea.")
    };
    let guessed = ObjectDocument {
        author: Some(AuthorKind::Agent),
        normalized_claim: Some("drink == coffee".into()),
        ..ObjectDocument {
            name: "coffee".into(),
            content: "Coffee.".into(),
            ..stated.clone()
        }
    };
    let tea = id(&acme, stated);
    let coffee = id(&acme, guessed);
    let waits = || acme.get(coffee).unwrap()[0].lifecycle == Lifecycle::AwaitingConfirmation;
    assert!(waits());
    // That too little speaks for it does not hide that somebody states otherwise.
    let revised = acme.revise_belief(coffee, now(), None, &Writing::default());
    let error = revised.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Policy, "{error:?}");
    assert!(error.what.contains("stated_otherwise"), "{error:?}");
    acme.retract(tea, Expect::Any, &Writing::default()).unwrap();
    // Nothing speaks for it: nothing is written.
    let revised = acme.revise_belief(coffee, now(), None, &Writing::default());
    assert_eq!(revised.unwrap().1.objects[0].outcome, Outcome::Unchanged);
    assert!(waits());
    // What somebody states is not measured as what is inferred.
    assert_eq!(acme.belief(coffee, now(), None).unwrap().refused, None);
}
