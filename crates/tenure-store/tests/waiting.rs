//! What waits for a person beside what is believed: it takes no place until it is confirmed.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::{GateRefusal, Ground};
use tenure::object::{
    Authority, ContradictionStatus, Decision, Lifecycle, ObjectId, ObjectType, OutcomeDecision,
    OutcomeKind, OutcomeState, RetirementRule,
};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, ErrorKind, ObjectDocument};
use tenure_store::{
    Expect, Outcome, Proposal, Put, Resident, Retention, Sees, Tenant, WaitingKind, WriteNote,
    Writing,
};

use crate::common::{
    Home, compiled_for, contents, document, during, exported, fresh, histories, now, put,
};

on_both_engines!(
    what_waits_takes_no_place,
    of_two_that_wait_the_later_waits_and_what_is_written_cuts_both,
    a_confirmation_is_over_what_is_believed_then,
    a_decision_of_a_person_stays_until_what_waits_is_confirmed,
    a_compile_a_replay_a_search_and_an_export_know_both,
    what_waits_is_believed_once_its_evidence_is_enough,
    what_is_believed_does_not_fall_with_what_waits_beside_it,
    what_is_too_old_does_not_wait_in_the_place_of_a_proposal,
    names_in_what_waits_are_bound_once_it_is_confirmed,
    // The head and the name of an object.
    what_is_confirmed_is_what_an_object_is_known_by,
    what_opens_an_object_to_others_is_open_once_it_is_confirmed,
    a_proposal_gives_an_object_no_name,
    a_check_finds_an_object_known_by_what_is_not_believed,
    what_was_rejected_elsewhere_is_no_head_after_an_import,
    // Made from what waits, and what waits made from others.
    what_is_made_in_one_write_inherits_from_what_is_believed,
    what_was_rejected_ties_what_is_believed_to_nothing,
    an_erasure_takes_what_waits_and_leaves_what_is_believed,
    what_a_person_only_proposed_goes_alone_with_them,
    a_proposal_knocks_no_evidence_out,
    a_ring_over_many_is_found,
    what_is_made_from_what_waits_waits,
    what_was_made_from_what_is_put_before_a_person_waits_with_it,
    // Of what waits, each is told, and decides on, what may be seen.
    nobody_decides_on_what_is_hidden_from_them,
    what_waits_neither_hides_nor_opens_entities,
    an_outcome_is_shown_as_far_as_it_may_be_seen,
    an_outcome_that_was_retracted_is_withdrawn,
    a_hidden_part_hides_no_other_that_waits,
    one_of_several_proposals_is_decided_by_its_revision,
    a_decision_is_on_all_that_was_seen_to_wait,
    what_was_bound_before_is_not_bound_again,
);

const NAME: &str = "seat";

/// What a person says of the seat.
fn said(value: &str, from: Option<i64>, until: Option<i64>) -> ObjectDocument {
    ObjectDocument {
        subjects: vec!["ada".into()],
        normalized_claim: Some(format!("seat == {value}")),
        ..during(NAME, &format!("The seat is {value}."), from, until)
    }
}

/// What somebody infers of it, on no evidence.
fn inferred(value: &str, from: Option<i64>, until: Option<i64>) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        ..said(value, from, until)
    }
}

fn say(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    let written = put(tenant, vec![document]);
    assert_eq!(written.objects[0].note, None, "{written:?}");
    written.objects[0].object_id
}

fn propose(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    let written = put(tenant, vec![document]);
    let why = GateRefusal::TooLittleEvidence.term().to_owned();
    let waits = Some(WriteNote::AwaitsConfirmation {
        why,
        flagged: Vec::new(),
    });
    assert_eq!(written.objects[0].note, waits, "{written:?}");
    written.objects[0].object_id
}

fn quietly() -> Writing {
    Writing::default()
}

/// Returns whether an object holds at an instant of valid time.
fn holds(object: &ContextObject, instant: i64) -> bool {
    let (instant, valid) = (Instant::from_micros(instant), object.valid());
    valid.from.is_none_or(|from| from <= instant) && valid.until.is_none_or(|until| instant < until)
}

/// The word for the seat in a text.
fn word(object: &ContextObject) -> String {
    let text = object.revision().content();
    let text = text.strip_prefix("The seat is ").unwrap();
    text.trim_end_matches('.').to_owned()
}

/// The words of what is compiled of the seat, at an instant of valid time.
fn at(resident: &Resident, instant: i64) -> Vec<String> {
    let objects = resident.candidates().objects().iter();
    let own = objects.filter(|object| object.name() == NAME && holds(object, instant));
    own.map(|object| word(object)).collect()
}

/// Everything of what is believed, as it is held.
fn believed(tenant: &Tenant, id: ObjectId) -> Vec<String> {
    let held = tenant.get(id).unwrap().into_iter();
    let held = held.filter(|one| one.lifecycle != Lifecycle::AwaitingConfirmation);
    held.map(|one| format!("{} {:?} {:?}", one.opened, one.object.valid(), one.object))
        .collect()
}

fn waiting(tenant: &Tenant, id: ObjectId) -> usize {
    let held = tenant.get(id).unwrap().into_iter();
    held.filter(|one| one.lifecycle == Lifecycle::AwaitingConfirmation).count()
}

fn is_sound(tenant: &Tenant) {
    assert_eq!(tenant.check().unwrap(), []);
}

/// A name, when a proposal would hold, and what is then said at 5, 15, 25 and 35.
type Case = (&'static str, Option<i64>, Option<i64>, [&'static str; 4]);

fn what_waits_takes_no_place(home: &Home) {
    let cases: [Case; 5] = [
        ("always", None, None, ["new", "new", "new", "new"]),
        ("later", Some(20), None, ["a", "b", "new", "new"]),
        ("ends", None, Some(20), ["new", "new", "b", "b"]),
        ("between", Some(12), Some(30), ["a", "new", "new", "b"]),
        ("both", Some(5), Some(20), ["new", "new", "b", "b"]),
    ];
    for (name, from, until, confirmed) in cases {
        let acme = home.tenant(name);
        let id = say(&acme, said("a", None, None));
        say(&acme, said("b", Some(10), None));
        let before = believed(&acme, id);
        let known = Arc::new(acme.load().unwrap());
        let of = |resident: &Resident| [5, 15, 25, 35].map(|instant| at(resident, instant));
        let is_as_before = |resident: &Resident| {
            assert_eq!(of(resident), [["a"], ["b"], ["b"], ["b"]], "{name}");
        };
        assert_eq!(propose(&acme, inferred("new", from, until)), id);
        assert_eq!(
            (believed(&acme, id), waiting(&acme, id)),
            (before.clone(), 1)
        );
        let fresh = acme.refresh(&known).unwrap();
        is_as_before(&fresh);
        is_as_before(&acme.load().unwrap());
        // It is told of, with its own reason, and may be seen beside what it says otherwise.
        let unfetched = fresh.candidates().unfetched();
        assert_eq!(unfetched.len(), 1);
        assert_eq!(
            (&*unfetched[0].what, &*unfetched[0].why),
            (NAME, "awaiting_confirmation")
        );
        let proposals = acme.proposals(now(), None).unwrap();
        assert_eq!(proposals.len(), 1, "{proposals:?}");
        assert_eq!(proposals[0].kind, WaitingKind::Inferred);
        let reject = format!("tenure review reject {id} --tenant {name}");
        assert_eq!(proposals[0].otherwise, [reject]);
        is_sound(&acme);
        // Rejected, it leaves what was believed, as it was.
        acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
        assert_eq!((believed(&acme, id), waiting(&acme, id)), (before, 0));
        is_as_before(&acme.refresh(&fresh).unwrap());
        let again = acme.reject_waiting(id, Expect::Waiting, &quietly());
        assert_eq!(again.unwrap_err().kind, ErrorKind::Conflict);
        // Confirmed, it takes its place.
        propose(&acme, inferred("new", from, until));
        acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
        let after = confirmed.map(|value| vec![value.to_owned()]);
        assert_eq!(of(&acme.load().unwrap()), after, "{name}");
        assert_eq!(of(&acme.refresh(&fresh).unwrap()), after, "{name}");
        assert_eq!(waiting(&acme, id), 0);
        let again = acme.confirm_waiting(id, now(), None, &quietly());
        assert_eq!(again.unwrap_err().kind, ErrorKind::Conflict);
        is_sound(&acme);
    }
}

fn of_two_that_wait_the_later_waits_and_what_is_written_cuts_both(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    propose(&acme, inferred("early", Some(0), Some(20)));
    propose(&acme, inferred("late", Some(10), Some(30)));
    assert_eq!(waiting(&acme, id), 2);
    let says = |instant| at(&acme.load().unwrap(), instant);
    assert_eq!([5, 15, 25].map(says), [["a"], ["a"], ["a"]]);
    // What is written since is newer than what waits.
    say(&acme, said("b", Some(5), Some(15)));
    assert_eq!(waiting(&acme, id), 2);
    assert_eq!([2, 7, 12, 17].map(says), [["a"], ["b"], ["b"], ["a"]]);
    // Written again, it is as it was; so is what waits.
    let again = put(&acme, vec![said("b", Some(5), Some(15))]);
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);
    let again = put(&acme, vec![inferred("late", Some(15), Some(30))]);
    assert_ne!(again.objects[0].outcome, Outcome::Created);
    is_sound(&acme);
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(
        [2, 7, 12, 17, 35].map(says),
        [["early"], ["b"], ["b"], ["late"], ["a"]]
    );
    // All of it retracted, nothing waits either.
    propose(&acme, inferred("never", None, None));
    acme.retract(id, Expect::Any, &quietly()).unwrap();
    assert!(acme.get(id).unwrap().is_empty());
    is_sound(&acme);
}

fn a_confirmation_is_over_what_is_believed_then(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let first = acme.get(id).unwrap()[0].object.revision().id();
    propose(&acme, inferred("new", Some(10), None));
    // Whoever read what is believed may write on; whoever proposed may propose on.
    let proposed = acme.get(id).unwrap()[1].object.revision().id();
    let expecting = |document, revision| {
        let expect = Expect::Revision(revision);
        acme.put(vec![Put { document, expect }], &quietly())
    };
    expecting(inferred("newer", Some(10), None), proposed).unwrap();
    let late = expecting(inferred("newest", Some(10), None), proposed);
    assert_eq!(late.unwrap_err().kind, ErrorKind::Conflict);
    expecting(said("b", None, Some(20)), first).unwrap();
    let says = |instant| at(&acme.load().unwrap(), instant);
    assert_eq!([5, 15, 25].map(says), [["b"], ["b"], ["a"]]);
    // It is archived meanwhile: what waits goes on waiting.
    acme.age(vec![id], Lifecycle::Archived, &quietly()).unwrap();
    assert_eq!(waiting(&acme, id), 1);
    assert_eq!(acme.load().unwrap().candidates().objects().len(), 0);
    assert_eq!(acme.load_archive().unwrap().candidates().objects().len(), 2);
    let seen = Expect::Since(acme.awaiting(now(), None).unwrap()[0].since);
    acme.confirm_seen(id, now(), (seen, None), &quietly()).unwrap();
    assert_eq!([5, 15, 25].map(says), [["b"], ["b"], ["newer"]]);
    // What was judged of a proposal says nothing of what is written.
    let quarantined = ObjectDocument {
        contradiction_status: Some(ContradictionStatus::Quarantined),
        ..inferred("bad", None, None)
    };
    propose(&acme, quarantined);
    say(&acme, said("good", None, None));
    assert_eq!([5, 15, 25].map(says), [["good"], ["good"], ["good"]]);
    let held = acme.get(id).unwrap();
    assert_eq!(held.len(), 1);
    let status = held[0].object.status().contradiction;
    assert_eq!(status, ContradictionStatus::Clean);
    is_sound(&acme);
}

fn a_decision_of_a_person_stays_until_what_waits_is_confirmed(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let other = ObjectDocument {
        name: "other".into(),
        ..said("z", None, None)
    };
    let other = say(&acme, other);
    acme.resolve_conflict(id, other, Decision::First, None, None, &quietly())
        .unwrap();
    let decided = || {
        let conflicts = acme.conflicts(None, None).unwrap();
        conflicts.iter().any(|one| one.ground == Ground::Person)
    };
    assert!(decided());
    let compiled = || compiled_for(&acme, "ada", "Where is the seat?");
    assert_eq!(compiled(), [NAME]);
    propose(&acme, inferred("new", None, None));
    assert!(decided());
    assert_eq!(compiled(), [NAME]);
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    assert!(decided());
    propose(&acme, inferred("new", None, None));
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert!(!decided());
    // As of a write, its claim is compared with the others.
    let conflicts = acme.conflicts(None, None).unwrap();
    assert_eq!(conflicts.len(), 1);
    let parties = [&conflicts[0].first, &conflicts[0].second];
    let claims: Vec<&String> = parties.iter().flat_map(|party| &party.claims).collect();
    assert!(
        claims.iter().any(|claim| claim.contains("new")),
        "{conflicts:?}"
    );
    is_sound(&acme);
}

fn a_compile_a_replay_a_search_and_an_export_know_both(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("mahogany", None, None));
    let before = now();
    propose(&acme, inferred("walnut", None, None));
    let between = now();
    assert_eq!(compiled_for(&acme, "ada", "The seat?"), [NAME]);
    let found = |query: &str| at(&acme.search(query).unwrap(), 0);
    assert_eq!(found("mahogany"), ["mahogany"]);
    assert!(found("walnut").is_empty());
    let archive = acme.load_archive().unwrap();
    assert_eq!(at(&archive, 0), ["mahogany"]);
    // What is brought elsewhere is the same there.
    let lines = exported(&acme);
    assert_eq!(lines.len(), 2);
    let elsewhere = Home::sqlite();
    let copy = elsewhere.tenant("acme");
    copy.import(lines.clone(), &quietly()).unwrap();
    assert_eq!(exported(&copy), lines);
    assert_eq!(at(&copy.load().unwrap(), 0), ["mahogany"]);
    let head = |tenant: &Tenant| {
        let expect = Expect::Revision(tenant.get(id).unwrap()[0].object.revision().id());
        let document = said("oak", Some(50), None);
        tenant.put(vec![Put { document, expect }], &quietly()).unwrap();
    };
    head(&copy);
    is_sound(&copy);
    // Two that wait at once are none.
    let mut twice = lines.clone();
    twice.push(lines[1].clone());
    let refused = Home::sqlite().tenant("acme").import(twice, &quietly());
    assert_eq!(refused.unwrap_err().kind, ErrorKind::Input);
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(found("walnut"), ["walnut"]);
    assert!(found("mahogany").is_empty());
    for known in [before, between] {
        let then = acme.load_as_of(known).unwrap();
        assert_eq!(at(&then, 0), ["mahogany"]);
        let replayed = acme.load_for_replay(known, known).unwrap();
        assert_eq!(at(&replayed, 0), ["mahogany"]);
        assert_eq!(
            replayed.candidates().unfetched().len(),
            usize::from(known == between)
        );
    }
    let stages = |known| {
        let held = acme.as_of(id, known).unwrap().into_iter();
        held.map(|one| one.lifecycle).collect::<Vec<Lifecycle>>()
    };
    let both = [Lifecycle::Active, Lifecycle::AwaitingConfirmation];
    assert_eq!(stages(before), [Lifecycle::Active]);
    assert_eq!(stages(between), both);
    // What is believed may be newer than what waits.
    propose(&acme, inferred("oak", None, None));
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    propose(&acme, inferred("pine", None, None));
    acme.age(vec![id], Lifecycle::Demoted, &quietly()).unwrap();
    let renewed = [Lifecycle::Demoted, Lifecycle::AwaitingConfirmation];
    assert_eq!(stages(now()), renewed);
    is_sound(&acme);
    acme.erase(vec![id], &quietly()).unwrap();
    assert!(exported(&acme).is_empty());
    is_sound(&acme);
}

fn what_waits_is_believed_once_its_evidence_is_enough(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    propose(&acme, inferred("new", Some(10), None));
    let revise = || acme.revise_belief(id, now(), None, &quietly());
    revise().unwrap();
    assert_eq!(waiting(&acme, id), 1);
    for name in ["seen", "heard"] {
        let evidence = ObjectDocument {
            name: name.into(),
            ..said("new", None, None)
        };
        put(&acme, vec![evidence]);
    }
    revise().unwrap();
    assert_eq!(waiting(&acme, id), 0);
    let says = |instant| at(&acme.load().unwrap(), instant);
    assert_eq!([5, 15].map(says), [["a"], ["new"]]);
    assert_eq!(contents(&acme, id).len(), 2);
    is_sound(&acme);
}

fn what_is_believed_does_not_fall_with_what_waits_beside_it(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let page = say(&acme, document("page", "A page."));
    let made = ObjectDocument {
        derived_from: vec![page],
        ..inferred("new", None, None)
    };
    propose(&acme, made);
    acme.retract(page, Expect::Any, &quietly()).unwrap();
    // The proposal goes with what it was made from.
    assert_eq!((waiting(&acme, id), contents(&acme, id).len()), (0, 1));
    assert_eq!(at(&acme.load().unwrap(), 0), ["a"]);
    // Who may see the proposal decides nothing of who sees what is believed.
    let hidden = ObjectDocument {
        object_id: Some(id),
        user_id: Some("eve".into()),
        ..inferred("hidden", None, None)
    };
    put(&acme, vec![hidden]);
    assert_eq!(waiting(&acme, id), 1);
    assert_eq!(compiled_for(&acme, "ada", "The seat?"), [NAME]);
    let labels = acme.labels(&id.to_string()).unwrap();
    assert_eq!(labels[0].1.revision().scope().user, None);
    is_sound(&acme);
}

fn what_is_too_old_does_not_wait_in_the_place_of_a_proposal(home: &Home) {
    let acme = home.tenant("acme");
    let old = |document| ObjectDocument {
        decay_rule: Some(
            serde_json::from_str(r#"{"half_life_days": 10.0, "minimum_threshold": 0.5}"#).unwrap(),
        ),
        retirement_rule: Some(RetirementRule::TriggerUserConfirmation),
        ..document
    };
    let id = say(&acme, old(said("a", None, None)));
    let proposed = inferred("new", None, None);
    propose(&acme, proposed);
    let later: Instant = "2099-01-01".parse().unwrap();
    let sweep = || {
        let swept = acme.sweep(later, Retention::default(), false, &quietly());
        swept.unwrap().retired.len()
    };
    // It waits already, for somebody to decide on the proposal.
    assert_eq!(sweep(), 0);
    acme.age(vec![id], Lifecycle::AwaitingConfirmation, &quietly()).unwrap();
    assert_eq!((waiting(&acme, id), believed(&acme, id).len()), (1, 1));
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    assert_eq!(sweep(), 1);
    assert_eq!((waiting(&acme, id), believed(&acme, id).len()), (1, 0));
    acme.confirm(vec![id], later, &quietly()).unwrap();
    assert_eq!(at(&acme.load().unwrap(), 0), ["a"]);
    is_sound(&acme);
}

fn names_in_what_waits_are_bound_once_it_is_confirmed(home: &Home) {
    let acme = home.tenant("acme");
    let create = r#"{"op": "create", "id": "nova", "name": "Nova Pumps", "kind": "project"}"#;
    acme.change_entities(
        vec![(serde_json::from_str(create).unwrap(), None)],
        &quietly(),
    )
    .unwrap();
    let id = say(&acme, said("a", None, None));
    let named = ObjectDocument {
        content: "The seat is of Nova Pumps.".into(),
        ..inferred("new", None, None)
    };
    propose(&acme, named);
    assert!(acme.load().unwrap().mentions_none());
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    let resident = acme.load().unwrap();
    let objects = resident.candidates().objects();
    assert_eq!(resident.mentions(&objects[0]), ["nova"]);
    is_sound(&acme);
}

/// The instants of the small world.
const WORLD: std::ops::Range<i64> = 0..6;

#[derive(Clone, Debug)]
enum Step {
    Say(Option<i64>, Option<i64>),
    Propose(Option<i64>, Option<i64>),
    Confirm,
    Reject,
    Retract,
}

fn step() -> impl Strategy<Value = Step> {
    let bound = || prop::option::of(WORLD);
    let time = || {
        (bound(), bound()).prop_filter("no time at all", |(from, until)| {
            from.is_none() || until.is_none() || from < until
        })
    };
    prop_oneof![
        3 => time().prop_map(|(from, until)| Step::Say(from, until)),
        5 => time().prop_map(|(from, until)| Step::Propose(from, until)),
        2 => Just(Step::Confirm),
        2 => Just(Step::Reject),
        1 => Just(Step::Retract),
    ]
}

/// What is said of each instant, and what waits apart from it.
#[derive(Clone, Default, Debug)]
struct World {
    said: [Option<usize>; 6],
    waits: [Option<usize>; 6],
}

impl World {
    fn take(&mut self, number: usize, step: &Step) {
        let within = |from: &Option<i64>, until: &Option<i64>, instant: i64| {
            from.is_none_or(|from| from <= instant) && until.is_none_or(|until| instant < until)
        };
        for instant in WORLD {
            let place = instant as usize;
            match step {
                Step::Say(from, until) if within(from, until, instant) => {
                    (self.said[place], self.waits[place]) = (Some(number), None);
                }
                Step::Propose(from, until) if within(from, until, instant) => {
                    self.waits[place] = Some(number);
                }
                Step::Confirm => {
                    self.said[place] = self.waits[place].take().or(self.said[place]);
                }
                Step::Reject => self.waits[place] = None,
                Step::Retract => *self = World::default(),
                _ => {}
            }
        }
    }

    fn says(&self, instant: i64) -> Vec<String> {
        let said = self.said[instant as usize];
        said.map(|number| number.to_string()).into_iter().collect()
    }

    fn proposes(&self, instant: i64) -> Vec<String> {
        let waits = self.waits[instant as usize];
        waits.map(|number| number.to_string()).into_iter().collect()
    }
}

proptest! {
    #![proptest_config(histories(24, 10_000))]

    // What compiles at any instant, now and as of each write, is what a replay of the writes says that holds what waits apart.
    #[test]
    fn what_compiles_is_what_was_said_and_confirmed(steps in prop::collection::vec(step(), 1..14)) {
        let (home, name) = fresh();
        let acme = home.tenant(&name);
        let mut world = World::default();
        let mut past: Vec<(Instant, World)> = Vec::new();
        let mut resident = Arc::new(acme.load().unwrap());
        let mut id = None;
        for (number, step) in steps.iter().enumerate() {
            let text = number.to_string();
            match (step, id) {
                (Step::Say(from, until), _) => id = Some(say(&acme, said(&text, *from, *until))),
                (Step::Propose(from, until), _) => {
                    id = Some(propose(&acme, inferred(&text, *from, *until)));
                }
                (_, None) => continue,
                (Step::Confirm, Some(id)) => {
                    let done = acme.confirm_waiting(id, now(), None, &quietly());
                    prop_assert!(done.is_ok() || world.waits == [None; 6], "{:?}", done);
                }
                (Step::Reject, Some(id)) => drop(acme.reject_waiting(id, Expect::Waiting, &quietly())),
                (Step::Retract, Some(id)) => drop(acme.retract(id, Expect::Any, &quietly()).unwrap()),
            }
            world.take(number, step);
            resident = acme.refresh(&resident).unwrap();
            for instant in WORLD {
                prop_assert_eq!(at(&resident, instant), world.says(instant), "{:?} at {}", steps, instant);
            }
            let version = acme.version().unwrap();
            past.push((acme.written(version).unwrap().unwrap().at, world.clone()));
            // What waits is kept apart, and lasts as long.
            let held = id.map_or_else(Vec::new, |id| acme.get(id).unwrap());
            for instant in WORLD {
                let own = held.iter().filter(|one| one.lifecycle == Lifecycle::AwaitingConfirmation);
                let own = own.map(|one| &*one.object).filter(|object| holds(object, instant));
                let own: Vec<String> = own.map(word).collect();
                prop_assert_eq!(own, world.proposes(instant), "{:?} at {}", steps, instant);
            }
        }
        let copy = Home::in_memory();
        let copy = copy.tenant(&name);
        copy.import(exported(&acme), &quietly()).unwrap();
        if id.is_some() {
            prop_assert_eq!(head(&copy), head(&acme), "{:?}", steps);
        }
        for tenant in [&acme, &copy] {
            for (known, world) in &past {
                let then = tenant.load_as_of(*known).unwrap();
                let held = id.map_or_else(Vec::new, |id| tenant.as_of(id, *known).unwrap());
                for instant in WORLD {
                    prop_assert_eq!(at(&then, instant), world.says(instant), "{:?} at {}", steps, instant);
                    let own = held.iter().map(|one| &*one.object);
                    let own: Vec<String> = own.filter(|object| holds(object, instant)).map(word).collect();
                    let both = [world.says(instant), world.proposes(instant)].concat();
                    let both: BTreeSet<String> = both.into_iter().collect();
                    prop_assert_eq!(own.len(), both.len());
                    prop_assert_eq!(own.into_iter().collect::<BTreeSet<String>>(), both);
                }
            }
            prop_assert_eq!(tenant.check().unwrap(), []);
        }
        let revisions: BTreeSet<String> = exported(&copy).iter().map(|line| format!("{line:?}")).collect();
        let own: BTreeSet<String> = exported(&acme).iter().map(|line| format!("{line:?}")).collect();
        prop_assert_eq!(revisions, own);
    }
}

// The head and the name of an object.

/// The users whose labels an object is found by.
fn known_to(tenant: &Tenant, named: &str) -> Vec<Option<String>> {
    let found = tenant.labels(named).unwrap().into_iter();
    let user =
        |object: &ContextObject| object.revision().scope().user.as_deref().map(str::to_owned);
    found.map(|(_, object)| user(&object)).collect()
}

fn of_user(user: &str, document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        user_id: Some(user.into()),
        ..document
    }
}

/// The seat, by an id that does not follow from whom it belongs to.
fn same(document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        object_id: Some(ObjectId::from_bits(99)),
        ..document
    }
}

fn eve() -> Option<String> {
    Some("eve".to_owned())
}

/// Writes over what is believed of an object, as whoever read it.
fn can_be_written_over(tenant: &Tenant, id: ObjectId, document: ObjectDocument) {
    let held = tenant.get(id).unwrap();
    let expect = Expect::Revision(held[0].object.revision().id());
    tenant.put(vec![Put { document, expect }], &quietly()).unwrap();
}

fn what_is_confirmed_is_what_an_object_is_known_by(home: &Home) {
    for by_evidence in [false, true] {
        let acme = home.tenant(if by_evidence { "evidence" } else { "person" });
        let id = say(&acme, same(said("bonn", None, None)));
        propose(&acme, same(of_user("eve", inferred("ulm", None, None))));
        assert_eq!(known_to(&acme, NAME), [None]);
        let before = now();
        if by_evidence {
            for name in ["one", "two", "three"] {
                let speaks = ObjectDocument {
                    name: name.into(),
                    ..said("ulm", None, None)
                };
                put(&acme, vec![speaks]);
            }
            acme.revise_belief(id, now(), None, &quietly()).unwrap();
        } else {
            acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
        }
        assert_eq!(at(&acme.load().unwrap(), 0), ["ulm"]);
        // By its labels it is found, its past is read, and what is made from it inherits.
        assert_eq!(known_to(&acme, NAME), [eve()]);
        assert_eq!(known_to(&acme, &id.to_string()), [eve()]);
        let past = acme.as_of(id, before).unwrap().remove(0).object;
        let access = past.status().access.as_ref().unwrap();
        assert_eq!(access.scope.user.as_deref(), Some("eve"));
        let note = ObjectDocument {
            derived_from: vec![id],
            ..document("note", "About the seat.")
        };
        put(&acme, vec![note]);
        assert_eq!(known_to(&acme, "note"), [eve()]);
        is_sound(&acme);
        can_be_written_over(&acme, id, same(of_user("eve", said("oak", Some(50), None))));
        is_sound(&acme);
    }
}

fn what_opens_an_object_to_others_is_open_once_it_is_confirmed(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, same(of_user("ada", said("bonn", None, None))));
    propose(&acme, same(inferred("ulm", Some(10), None)));
    assert_eq!(known_to(&acme, NAME), [Some("ada".to_owned())]);
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(known_to(&acme, NAME), [None]);
    // What was judged since says nothing else.
    acme.age(vec![id], Lifecycle::Demoted, &quietly()).unwrap();
    assert_eq!(known_to(&acme, NAME), [None]);
    is_sound(&acme);
    propose(&acme, same(of_user("eve", inferred("oak", None, None))));
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    assert_eq!(known_to(&acme, NAME), [None]);
    is_sound(&acme);
}

fn a_proposal_gives_an_object_no_name(home: &Home) {
    let acme = home.tenant("acme");
    let named = |document| {
        same(ObjectDocument {
            name: "town".into(),
            ..document
        })
    };
    let id = say(&acme, same(said("bonn", None, None)));
    let found = |name: &str| acme.named(name).unwrap();
    propose(&acme, named(inferred("ulm", None, None)));
    assert_eq!((found(NAME), found("town")), (vec![id], vec![]));
    is_sound(&acme);
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    assert_eq!((found(NAME), found("town")), (vec![id], vec![]));
    propose(&acme, named(inferred("ulm", None, None)));
    let confirmed = acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(confirmed.objects[0].name.as_deref(), Some("town"));
    assert_eq!((found(NAME), found("town")), (vec![], vec![id]));
    is_sound(&acme);
    // So does a belief that its evidence confirms.
    propose(&acme, same(inferred("bonn", None, None)));
    for name in ["one", "two", "three"] {
        let speaks = ObjectDocument {
            name: name.into(),
            ..said("bonn", None, None)
        };
        put(&acme, vec![speaks]);
    }
    acme.revise_belief(id, now(), None, &quietly()).unwrap();
    assert_eq!((found(NAME), found("town")), (vec![id], vec![]));
    is_sound(&acme);
}

fn a_check_finds_an_object_known_by_what_is_not_believed(home: &Home) {
    // In a file, each row has a sum that no statement from outside gives: see the tests of `check.rs`.
    if !home.is_postgresql() {
        return;
    }
    let acme = home.tenant("acme");
    let id = say(&acme, same(said("bonn", None, None)));
    propose(&acme, same(of_user("eve", inferred("ulm", None, None))));
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    is_sound(&acme);
    for altered in [
        "head = (SELECT b.revision FROM beliefs b WHERE b.object = objects.object AND b.tx_end IS NOT NULL \
         AND b.lifecycle = 'active')",
        "labels = '{}'",
        "name = 'town'",
    ] {
        home.sql(&format!("UPDATE objects SET {altered}")).unwrap();
        let found = acme.check().unwrap();
        assert_eq!(found.len(), 1, "{altered}: {found:?}");
        assert!(found[0].repairable);
        acme.repair(&quietly()).unwrap();
        is_sound(&acme);
        assert_eq!(known_to(&acme, NAME), [eve()]);
        assert_eq!(acme.named(NAME).unwrap(), [id]);
    }
}

/// The words that name the head of the seat.
fn head(tenant: &Tenant) -> String {
    let expect = Expect::Revision(Digest::of(b"none"));
    let document = said("nothing", None, None);
    let refused = tenant.put(vec![Put { document, expect }], &quietly());
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert!(refused.what.contains("has the revision"), "{refused}");
    refused.what
}

fn what_was_rejected_elsewhere_is_no_head_after_an_import(home: &Home) {
    let elsewhere = || {
        if home.is_postgresql() {
            Home::postgresql()
        } else {
            Home::sqlite()
        }
    };
    let acme = home.tenant("acme");
    let ada = Some("ada".to_owned());
    let is_known = |name: &str, to: &Option<String>| {
        let there = elsewhere();
        let copy = there.tenant("acme");
        let written = copy.import(exported(&acme), &quietly()).unwrap();
        for tenant in [&acme, &copy] {
            assert_eq!(known_to(tenant, name), std::slice::from_ref(to), "{name}");
            is_sound(tenant);
        }
        written.objects[0].name.clone()
    };
    let id = say(&acme, same(said("bonn", None, None)));
    let proposed = || {
        let other = ObjectDocument {
            name: "town".into(),
            ..of_user("eve", inferred("ulm", None, None))
        };
        propose(&acme, same(other));
    };
    let reject = || {
        acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    };
    proposed();
    assert_eq!(is_known(NAME, &None).as_deref(), Some(NAME));
    reject();
    assert_eq!(is_known(NAME, &None).as_deref(), Some(NAME));
    // What was written last counts, not what is of the latest time; so does it once all is judged anew.
    say(&acme, same(of_user("ada", said("ulm", Some(10), Some(20)))));
    is_known(NAME, &ada);
    acme.age(vec![id], Lifecycle::Demoted, &quietly()).unwrap();
    is_known(NAME, &ada);
    proposed();
    acme.retract(id, Expect::Any, &quietly()).unwrap();
    assert_eq!(is_known(NAME, &ada), None);
    // Where nothing was believed, it is all that there is.
    proposed();
    assert_eq!(is_known("town", &eve()).as_deref(), Some("town"));
    reject();
    assert_eq!(is_known("town", &eve()), None);
}

// Made from what waits, and what waits made from others.

/// What somebody infers of this object, whoever may see it.
fn inferred_of(id: ObjectId, value: &str, user: Option<&str>) -> ObjectDocument {
    ObjectDocument {
        object_id: Some(id),
        user_id: user.map(str::to_owned),
        ..inferred(value, None, None)
    }
}

fn made_from(name: &str, parents: Vec<ObjectId>) -> ObjectDocument {
    ObjectDocument {
        derived_from: parents,
        ..document(name, &format!("The {name} is made."))
    }
}

fn what_is_made_in_one_write_inherits_from_what_is_believed(home: &Home) {
    let acme = home.tenant("acme");
    let private = ObjectDocument {
        user_id: Some("ada".into()),
        ..said("a", None, None)
    };
    let id = say(&acme, private);
    let rest = say(&acme, document("rest", "Made from nothing."));
    let written = put(
        &acme,
        vec![
            ObjectDocument {
                derived_from: vec![rest],
                ..inferred_of(id, "new", None)
            },
            made_from("b", vec![id]),
            ObjectDocument {
                object_id: Some(rest),
                ..made_from("rest", vec![id])
            },
        ],
    );
    assert_eq!(waiting(&acme, id), 1);
    for at in [1, 2] {
        let made = acme.get(written.objects[at].object_id).unwrap();
        assert_eq!(
            made[0].object.revision().scope().user.as_deref(),
            Some("ada")
        );
        // The ring is closed by what waits alone.
        assert_eq!(written.objects[at].note, None, "{written:?}");
    }
    is_sound(&acme);
}

fn what_was_rejected_ties_what_is_believed_to_nothing(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let page = say(&acme, document("page", "A page."));
    let made = ObjectDocument {
        derived_from: vec![page],
        ..inferred("new", None, None)
    };
    propose(&acme, made.clone());
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    let before = believed(&acme, id);
    acme.retract(page, Expect::Any, &quietly()).unwrap();
    assert_eq!(believed(&acme, id), before);
    // Another waits that was made from something else: it goes on waiting, and goes with that.
    let [page, other] = ["page", "other"].map(|name| say(&acme, document(name, "A page.")));
    propose(&acme, made);
    let made = ObjectDocument {
        derived_from: vec![other],
        ..inferred("newer", None, None)
    };
    propose(&acme, made.clone());
    acme.retract(page, Expect::Any, &quietly()).unwrap();
    assert_eq!((believed(&acme, id), waiting(&acme, id)), (before, 1));
    // Confirmed, it falls with what it was made from.
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(at(&acme.load().unwrap(), 0), ["newer"]);
    acme.retract(other, Expect::Any, &quietly()).unwrap();
    assert!(acme.get(id).unwrap().is_empty());
    is_sound(&acme);
}

/// Everything that a tenant exports, as text.
fn said_anywhere(tenant: &Tenant) -> String {
    let lines = exported(tenant).into_iter();
    lines.map(|line| format!("{line:?}\n")).collect()
}

fn an_erasure_takes_what_waits_and_leaves_what_is_believed(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    for rejected in [true, false] {
        let page = say(&acme, document(&format!("page {rejected}"), "Zephyr says."));
        let made = ObjectDocument {
            derived_from: vec![page],
            ..inferred("of zephyr", None, None)
        };
        propose(&acme, made);
        if rejected {
            acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
        }
        let before = believed(&acme, id);
        let resident = acme.load().unwrap();
        let erased = acme.erase(vec![page], &quietly()).unwrap();
        let gone = erased.objects.iter();
        let gone = gone.filter(|one| one.outcome == Outcome::Erased);
        let gone: Vec<ObjectId> = gone.map(|one| one.object_id).collect();
        assert_eq!(gone, [page]);
        assert_eq!((believed(&acme, id), waiting(&acme, id)), (before, 0));
        let left = said_anywhere(&acme);
        assert!(!left.to_lowercase().contains("zephyr"), "{left}");
        assert!(!left.contains(&page.to_string()), "{left}");
        assert_eq!(at(&acme.refresh(&Arc::new(resident)).unwrap(), 0), ["a"]);
        is_sound(&acme);
    }
    // It may be written on, and proposed again.
    propose(&acme, inferred("new", None, None));
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(at(&acme.load().unwrap(), 0), ["new"]);
    is_sound(&acme);
}

fn what_a_person_only_proposed_goes_alone_with_them(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let before = believed(&acme, id);
    for everything in [true, false] {
        let mine = ObjectDocument {
            subjects: vec!["eve".into()],
            ..inferred_of(id, "of eve", everything.then_some("eve"))
        };
        put(&acme, vec![mine]);
        assert_eq!(waiting(&acme, id), 1);
        if everything {
            acme.erase_person("eve", &quietly()).unwrap();
        } else {
            acme.erase_subject("eve", &quietly()).unwrap();
        }
        assert_eq!(
            (believed(&acme, id), waiting(&acme, id)),
            (before.clone(), 0)
        );
        let left = said_anywhere(&acme);
        assert!(
            !left.contains("\"eve\"") && !left.contains("of eve"),
            "{left}"
        );
        assert!(acme.person("eve").unwrap().is_unknown());
        is_sound(&acme);
    }
    // Theirs, and about another; rejected, too.
    for rejected in [false, true] {
        put(&acme, vec![inferred_of(id, "of eve", Some("eve"))]);
        assert_eq!(waiting(&acme, id), 1);
        if rejected {
            acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
        }
        acme.erase_person("eve", &quietly()).unwrap();
        assert_eq!(
            (believed(&acme, id), waiting(&acme, id)),
            (before.clone(), 0)
        );
        let left = said_anywhere(&acme);
        assert!(
            !left.contains("\"eve\"") && !left.contains("of eve"),
            "{left}"
        );
    }
    is_sound(&acme);
}

fn a_proposal_knocks_no_evidence_out(home: &Home) {
    let acme = home.tenant("acme");
    let evidence = ["seen", "heard"].map(|name| {
        let evidence = ObjectDocument {
            name: name.into(),
            ..said("new", None, None)
        };
        say(&acme, evidence)
    });
    let guess = ObjectDocument {
        name: "guess".into(),
        derived_from: evidence.to_vec(),
        ..inferred("new", None, None)
    };
    let guess = say(&acme, guess);
    let speaks = || {
        let belief = acme.belief(guess, now(), None).unwrap();
        belief.evidence.iter().map(|link| link.object_id).collect::<Vec<_>>()
    };
    let before = speaks();
    assert_eq!(before.len(), 2);
    let over = ObjectDocument {
        name: "seen".into(),
        derived_from: vec![guess],
        ..inferred("old", None, None)
    };
    put(&acme, vec![over]);
    assert_eq!(waiting(&acme, evidence[0]), 1);
    assert_eq!(speaks(), before);
    // Rejected, it does so no more.
    acme.reject_waiting(evidence[0], Expect::Waiting, &quietly()).unwrap();
    assert_eq!(speaks(), before);
    is_sound(&acme);
}

fn a_ring_over_many_is_found(home: &Home) {
    let acme = home.tenant("acme");
    let roots: Vec<ObjectDocument> =
        (0..300).map(|number| document(&format!("root {number}"), "A root.")).collect();
    let roots = put(&acme, roots).objects;
    let roots: Vec<ObjectId> = roots.iter().map(|one| one.object_id).collect();
    let top = say(&acme, made_from("top", roots.clone()));
    let drafts = |of: &str, parent: ObjectId| -> Vec<ObjectDocument> {
        let names = (0..300).map(|number| format!("{of} {number}"));
        names.map(|name| made_from(&name, vec![parent])).collect()
    };
    let written = put(&acme, drafts("deep", top));
    assert!(written.objects.iter().all(|one| one.note.is_none()));
    // Wherever it is closed.
    let closing = ObjectDocument {
        object_id: Some(roots[7]),
        ..made_from("root 7", vec![top])
    };
    let mut closed = drafts("deep 2", top);
    closed.push(closing);
    let written = put(&acme, closed);
    let noted = written.objects.iter().filter(|one| one.note.is_some());
    let noted: Vec<ObjectId> = noted.map(|one| one.object_id).collect();
    assert_eq!(noted, [roots[7]]);
    is_sound(&acme);
}

// Of what waits, each is told, and decides on, what may be seen.

/// The same for one user alone, of an object that is there already.
fn of_user_over(user: &str, id: ObjectId, document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        object_id: Some(id),
        user_id: Some(user.into()),
        ..document
    }
}

/// What anybody may see.
fn anybody(all: &[Arc<ContextObject>]) -> Vec<bool> {
    let users = all.iter().map(|one| &one.revision().scope().user);
    users.map(Option::is_none).collect()
}

fn nobody_decides_on_what_is_hidden_from_them(home: &Home) {
    let acme = home.tenant("acme");
    let sees: &Sees<'_> = &anybody;
    let confirm = |id| acme.confirm_waiting(id, now(), Some(sees), &quietly());
    let reject = |id| acme.reject_seen(id, (Expect::Waiting, Some(sees)), &quietly());
    let id = say(&acme, said("a", None, None));
    let before = believed(&acme, id);
    let hidden = of_user_over("eve", id, inferred("hidden", Some(0), Some(10)));
    assert_eq!(propose(&acme, hidden), id);
    // It is as if nothing waited.
    for refused in [confirm(id), reject(id)] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict);
        assert_eq!(refused.what, "`seat` waits for nobody");
    }
    assert_eq!((believed(&acme, id), waiting(&acme, id)), (before, 1));
    assert!(acme.waiting_labels(NAME).unwrap()[0].1.revision().scope().user.is_some());
    // Of two parts, the one that they see is decided on.
    let says = |instant| at(&acme.load().unwrap(), instant);
    let open = |value| ObjectDocument {
        object_id: Some(id),
        ..inferred(value, Some(20), None)
    };
    propose(&acme, open("open"));
    confirm(id).unwrap();
    assert_eq!(
        ([5, 25].map(says), waiting(&acme, id)),
        ([vec!["a".to_owned()], vec!["open".into()]], 1)
    );
    propose(&acme, open("other"));
    reject(id).unwrap();
    assert_eq!(
        ([5, 25].map(says), waiting(&acme, id)),
        ([vec!["a".to_owned()], vec!["open".into()]], 1)
    );
    acme.reject_waiting(id, Expect::Waiting, &quietly()).unwrap();
    assert_eq!(waiting(&acme, id), 0);
    is_sound(&acme);
    // Where nothing is believed, what is hidden goes on waiting.
    let acme = home.tenant("other");
    let id = propose(&acme, inferred("open", Some(20), None));
    propose(
        &acme,
        of_user_over("eve", id, inferred("hidden", Some(0), Some(10))),
    );
    acme.reject_seen(id, (Expect::Waiting, Some(sees)), &quietly()).unwrap();
    assert_eq!(waiting(&acme, id), 1);
    // Who may see only what waits decides on it, and is not told how the rest is named.
    let acme = home.tenant("third");
    let id = say(
        &acme,
        ObjectDocument {
            user_id: Some("ada".into()),
            ..said("a", None, None)
        },
    );
    let named = ObjectDocument {
        name: "town".into(),
        object_id: Some(id),
        ..inferred("new", None, None)
    };
    propose(&acme, named);
    let seen = acme.waiting_labels(&id.to_string()).unwrap();
    assert_eq!(anybody(&[Arc::clone(&seen[0].1)]), [true]);
    let late = acme.reject_seen(
        id,
        (Expect::Since(Instant::from_micros(7)), Some(sees)),
        &quietly(),
    );
    let late = late.unwrap_err().what;
    assert_eq!(late, format!("`{id}` was changed meanwhile"));
    acme.confirm_waiting(id, now(), Some(sees), &quietly()).unwrap();
    assert_eq!(waiting(&acme, id), 0);
}

fn what_waits_neither_hides_nor_opens_entities(home: &Home) {
    let acme = home.tenant("acme");
    let change = |text: &str, source| {
        let operation = serde_json::from_str(text).unwrap();
        acme.change_entities(vec![(operation, source)], &quietly()).unwrap();
    };
    // What is about somebody is personal, and not for all who see the others.
    let open = ObjectDocument {
        subjects: Vec::new(),
        normalized_claim: None,
        ..said("a", None, None)
    };
    let id = say(&acme, open);
    change(
        r#"{"op": "create", "id": "acme", "name": "Acme Pumps", "kind": "project"}"#,
        None,
    );
    change(
        r#"{"op": "alias", "id": "acme", "alias": "Zephyr Quux"}"#,
        Some(id),
    );
    let mentions = |name: &str| {
        put(&acme, vec![document(name, "Zephyr Quux opens late.")]);
        let resident = acme.load().unwrap();
        let own = resident.candidates().objects().iter().find(|one| one.name() == name);
        let found = resident.mentions(own.unwrap()).iter();
        found.map(ToString::to_string).collect::<Vec<String>>()
    };
    assert_eq!(mentions("first"), ["acme"]);
    // Who may see the proposal decides nothing of who knows the alias.
    propose(
        &acme,
        of_user_over("eve", id, inferred("hidden", None, None)),
    );
    assert_eq!(mentions("second"), ["acme"]);
    // What waits opens nothing of what is hidden.
    let acme = home.tenant("other");
    let change = |text: &str, source| {
        let operation = serde_json::from_str(text).unwrap();
        acme.change_entities(vec![(operation, source)], &quietly()).unwrap();
    };
    let id = say(
        &acme,
        ObjectDocument {
            user_id: Some("ada".into()),
            ..said("a", None, None)
        },
    );
    change(
        r#"{"op": "create", "id": "acme", "name": "Acme Pumps", "kind": "project"}"#,
        None,
    );
    change(
        r#"{"op": "alias", "id": "acme", "alias": "Zephyr Quux"}"#,
        Some(id),
    );
    let aliases = || {
        let seen = acme.entities(Some(&anybody)).unwrap().into_iter();
        seen.flat_map(|one| one.profile.aliases).collect::<Vec<String>>()
    };
    assert!(aliases().is_empty());
    propose(
        &acme,
        ObjectDocument {
            object_id: Some(id),
            ..inferred("open", None, None)
        },
    );
    assert!(aliases().is_empty());
    acme.confirm_waiting(id, now(), None, &quietly()).unwrap();
    assert_eq!(aliases(), ["Zephyr Quux"]);
}

fn an_outcome_is_shown_as_far_as_it_may_be_seen(home: &Home) {
    let acme = home.tenant("acme");
    let proposal = |content: &str, from, until| Proposal {
        document: ObjectDocument {
            object_type: None,
            ..during("bars", content, from, until)
        },
        kind: OutcomeKind::Outcome,
        record: None,
        mistake: None,
    };
    let proposed = acme.propose_outcome(proposal("In bar.", Some(0), Some(10)), &quietly());
    let id = proposed.unwrap().objects[0].object_id;
    let hidden = proposal("In psi.", Some(20), None);
    let hidden = Proposal {
        document: of_user_over("eve", id, hidden.document),
        ..hidden
    };
    acme.propose_outcome(hidden, &quietly()).unwrap();
    let shown = |sees: Option<&Sees<'_>>| {
        let lines = acme.outcomes(sees).unwrap().into_iter();
        lines.map(|line| line.content).collect::<Vec<String>>()
    };
    assert_eq!(shown(None), ["In psi."]);
    assert_eq!(shown(Some(&anybody)), ["In bar."]);
    assert!(shown(Some(&|all| vec![false; all.len()])).is_empty());
}

fn an_outcome_that_was_retracted_is_withdrawn(home: &Home) {
    let acme = home.tenant("acme");
    let proposal = |name: &str| Proposal {
        document: ObjectDocument {
            object_type: None,
            ..document(name, "In bar.")
        },
        kind: OutcomeKind::Correction,
        record: None,
        mistake: Some("in psi".into()),
    };
    let states = || {
        let lines = acme.outcomes(None).unwrap().into_iter();
        lines.map(|line| line.state).collect::<Vec<OutcomeState>>()
    };
    let decide = |id, decision| acme.decide_outcome(id, decision, "ada", &quietly());
    let propose = |name: &str| {
        let written = acme.propose_outcome(proposal(name), &quietly());
        written.unwrap().objects[0].object_id
    };
    let bars = propose("bars");
    acme.retract(bars, Expect::Any, &quietly()).unwrap();
    assert_eq!(states(), [OutcomeState::Withdrawn]);
    for decision in [
        OutcomeDecision::Accept,
        OutcomeDecision::Reject,
        OutcomeDecision::Withdraw,
    ] {
        let error = decide(bars, decision).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict, "{error:?}");
    }
    // It may be proposed anew; and once accepted and retracted, its mistake is no repeat.
    assert_eq!(propose("bars"), bars);
    decide(bars, OutcomeDecision::Accept).unwrap();
    assert_eq!(states(), [OutcomeState::Accepted]);
    assert_eq!(propose("again"), bars);
    acme.retract(bars, Expect::Any, &quietly()).unwrap();
    assert_eq!(states(), [OutcomeState::Withdrawn]);
    assert!(acme.repeat_mistake(bars, None, &quietly()).is_err());
    assert_ne!(propose("again"), bars);
}

fn a_hidden_part_hides_no_other_that_waits(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    propose(
        &acme,
        of_user_over("eve", id, inferred("hidden", Some(0), Some(10))),
    );
    let sees: &Sees<'_> = &anybody;
    assert!(acme.awaiting(now(), Some(sees)).unwrap().is_empty());
    propose(&acme, inferred("open", Some(20), None));
    for sees in [Some(sees), None] {
        assert_eq!(acme.awaiting(now(), sees).unwrap().len(), 1);
        let all = acme.proposals(now(), sees).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].object_id, Some(id));
    }
}

fn one_of_several_proposals_is_decided_by_its_revision(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    propose(&acme, inferred("early", Some(0), Some(10)));
    propose(&acme, inferred("late", Some(10), None));
    let shown = || acme.proposals(now(), None).unwrap()[0].clone();
    let both = shown();
    assert_eq!((both.revisions.len(), both.texts.len()), (2, 2));
    let of = |text: &str| {
        let at = both.texts.iter().position(|own| own.contains(text)).unwrap();
        Expect::Proposed(both.revisions[at])
    };
    let (early, late) = (of("early"), of("late"));
    let confirm = |expect| acme.confirm_seen(id, now(), (expect, None), &quietly());
    let reject = |expect| acme.reject_seen(id, (expect, None), &quietly());
    // What a caller may not see waits for them no more than what is gone, and its revision is not told.
    let nobody: &Sees<'_> = &|all: &[Arc<ContextObject>]| vec![false; all.len()];
    let hidden = acme.confirm_seen(id, now(), (early, Some(nobody)), &quietly());
    let hidden = hidden.unwrap_err();
    assert_eq!(hidden.kind, ErrorKind::Conflict);
    assert_eq!(hidden.expected.as_deref(), Some("what awaits confirmation"));
    // One is rejected, and the other goes on waiting; what is believed stays.
    reject(early).unwrap();
    assert_eq!(shown().texts, ["The seat is late."]);
    let held = acme.get(id).unwrap();
    assert!(held.iter().any(|one| one.lifecycle == Lifecycle::Active
        && one.object.revision().content() == "The seat is a."));
    // What is gone is said to be, with what there is.
    let Expect::Proposed(left) = late else {
        unreachable!()
    };
    for decided in [confirm(early), reject(early)] {
        let refused = decided.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Conflict);
        assert!(refused.what.contains("has no proposal"), "{refused}");
        assert_eq!(refused.expected, Some(format!("one that waits: {left}")));
    }
    propose(&acme, inferred("again", Some(0), Some(10)));
    // The other is confirmed, and the new one goes on waiting.
    confirm(late).unwrap();
    assert_eq!(shown().texts, ["The seat is again."]);
    let active = acme
        .get(id)
        .unwrap()
        .into_iter()
        .filter(|one| one.lifecycle == Lifecycle::Active);
    let texts: BTreeSet<String> =
        active.map(|one| one.object.revision().content().to_owned()).collect();
    assert_eq!(
        texts,
        BTreeSet::from(["The seat is a.".to_owned(), "The seat is late.".to_owned()])
    );
    // Without a word on it, all are decided.
    propose(&acme, inferred("more", Some(20), None));
    reject(Expect::Waiting).unwrap();
    assert_eq!(acme.proposals(now(), None).unwrap(), []);
    assert!(acme.check().unwrap().is_empty());
}

fn a_decision_is_on_all_that_was_seen_to_wait(home: &Home) {
    let acme = home.tenant("acme");
    let id = say(&acme, said("a", None, None));
    let since = || Expect::Since(acme.awaiting(now(), None).unwrap()[0].since);
    propose(&acme, inferred("seen", Some(0), Some(10)));
    let seen = since();
    propose(&acme, inferred("unseen", Some(10), None));
    for late in [
        acme.confirm_seen(id, now(), (seen, None), &quietly()),
        acme.reject_waiting(id, seen, &quietly()),
    ] {
        assert_eq!(late.unwrap_err().kind, ErrorKind::Conflict);
    }
    assert_eq!(waiting(&acme, id), 2);
    // What only others see to wait changes nothing of a decision.
    let sees: &Sees<'_> = &anybody;
    let open = Expect::Since(acme.awaiting(now(), Some(sees)).unwrap()[0].since);
    propose(
        &acme,
        of_user_over("eve", id, inferred("hidden", Some(30), None)),
    );
    assert_eq!(waiting(&acme, id), 3);
    let by = |expect| acme.confirm_seen(id, now(), (expect, Some(sees)), &quietly());
    // But that it cut what they saw.
    assert_eq!(by(open).unwrap_err().kind, ErrorKind::Conflict);
    by(Expect::Since(
        acme.awaiting(now(), Some(sees)).unwrap()[0].since,
    ))
    .unwrap();
    let says = |instant| at(&acme.load().unwrap(), instant);
    assert_eq!([5, 15, 35].map(says), [["seen"], ["unseen"], ["a"]]);
    acme.reject_waiting(id, since(), &quietly()).unwrap();
    assert_eq!(waiting(&acme, id), 0);
    is_sound(&acme);
}

fn what_was_bound_before_is_not_bound_again(home: &Home) {
    let change = |tenant: &Tenant, text: &str| {
        let operation = serde_json::from_str(text).unwrap();
        tenant.change_entities(vec![(operation, None)], &quietly()).unwrap();
    };
    let named = |document| ObjectDocument {
        content: "Acme Pumps has a seat.".into(),
        aliases: vec!["Zephyr Quux".into()],
        canonical_entity_ids: vec!["acme".into()],
        authority_level: Some(Authority::Memory),
        ..document
    };
    let aliases = |tenant: &Tenant| {
        let seen = tenant.entities(None).unwrap().into_iter();
        seen.flat_map(|one| one.profile.aliases).collect::<Vec<String>>()
    };
    let create = r#"{"op": "create", "id": "acme", "name": "Acme Pumps", "kind": "project"}"#;
    let remove = r#"{"op": "remove_alias", "id": "acme", "alias": "Zephyr Quux"}"#;
    // What was believed, and waits because it is too old, or was asked about.
    let acme = home.tenant("old");
    change(&acme, create);
    let id = say(&acme, named(said("a", None, None)));
    assert_eq!(aliases(&acme), ["Zephyr Quux"]);
    change(&acme, remove);
    acme.age(vec![id], Lifecycle::AwaitingConfirmation, &quietly()).unwrap();
    acme.confirm(vec![id], now(), &quietly()).unwrap();
    assert!(aliases(&acme).is_empty());
    // What was written when nothing was believed was bound then.
    let acme = home.tenant("first");
    change(&acme, create);
    let id = say(&acme, said("a", None, None));
    acme.retract(id, Expect::Any, &quietly()).unwrap();
    propose(&acme, named(inferred("new", None, None)));
    assert_eq!(aliases(&acme), ["Zephyr Quux"]);
    change(&acme, remove);
    acme.confirm(vec![id], now(), &quietly()).unwrap();
    assert!(aliases(&acme).is_empty());
    // What was written beside a belief is bound once.
    let acme = home.tenant("beside");
    change(&acme, create);
    let id = say(&acme, said("a", None, None));
    propose(&acme, named(inferred("new", None, None)));
    assert!(aliases(&acme).is_empty());
    acme.confirm(vec![id], now(), &quietly()).unwrap();
    assert_eq!(aliases(&acme), ["Zephyr Quux"]);
}

/// The names of what a compile may take in.
fn active(tenant: &Tenant) -> Vec<String> {
    let resident = tenant.load().unwrap();
    let objects = resident.candidates().objects().iter();
    objects.map(|object| object.name().to_owned()).collect()
}

fn what_is_made_from_what_waits_waits(home: &Home) {
    let acme = home.tenant("acme");
    let guess = propose(&acme, inferred("left", None, None));
    let unverified = |written: &[tenure_store::WrittenObject]| {
        let why = GateRefusal::UnverifiedParent.term().to_owned();
        let waits = Some(WriteNote::AwaitsConfirmation {
            why,
            flagged: Vec::new(),
        });
        written.iter().filter(|one| one.note == waits).count()
    };
    // Of whatever type, in the same write, and one from the other.
    let summary = made_from("summary", vec![guess]);
    let written = put(&acme, vec![summary]).objects;
    assert_eq!(unverified(&written), 1);
    let summary = written[0].object_id;
    let rule = ObjectDocument {
        object_type: Some(ObjectType::Rule),
        ..made_from("rule", vec![summary])
    };
    let other = ObjectDocument {
        object_id: Some(ObjectId::from_bits(7)),
        ..inferred("right", None, None)
    };
    let other = ObjectDocument {
        name: "other".into(),
        ..other
    };
    let of_other = made_from("of other", vec![ObjectId::from_bits(7)]);
    let plain = document("plain", "Plain.");
    let written = put(&acme, vec![rule, other, of_other, plain]).objects;
    assert_eq!(unverified(&written), 2, "{written:?}");
    assert_eq!(active(&acme), ["plain"]);
    let waits = acme.awaiting(now(), None).unwrap().into_iter();
    let waits = waits.map(|one| (one.name, one.why.unwrap()));
    let (evidence, parent) = (
        GateRefusal::TooLittleEvidence,
        GateRefusal::UnverifiedParent,
    );
    let waits: Vec<(String, GateRefusal)> = waits.collect();
    assert_eq!(
        waits,
        [
            (NAME.to_owned(), evidence),
            ("summary".to_owned(), parent),
            ("rule".to_owned(), parent),
            ("other".to_owned(), evidence),
            ("of other".to_owned(), parent),
        ]
    );
    // A person confirms one after the other.
    acme.confirm(vec![guess], now(), &quietly()).unwrap();
    acme.confirm(vec![summary], now(), &quietly()).unwrap();
    assert_eq!(active(&acme), [NAME, "summary", "plain"]);
    let compiled = compiled_for(&acme, "ada", "How is the summary made?");
    assert!(
        compiled.iter().any(|name| name == "summary"),
        "{compiled:?}"
    );
    // What was rejected takes along what was made from it.
    acme.reject_waiting(ObjectId::from_bits(7), Expect::Any, &quietly()).unwrap();
    let left = acme.proposals(now(), None).unwrap().into_iter();
    let left: Vec<String> = left.map(|one| one.name).collect();
    assert_eq!(left, ["rule"]);
    is_sound(&acme);
}

fn what_was_made_from_what_is_put_before_a_person_waits_with_it(home: &Home) {
    let acme = home.tenant("acme");
    let note = say(&acme, document("note", "The note."));
    let summary = say(&acme, made_from("summary", vec![note]));
    say(&acme, made_from("of summary", vec![summary]));
    let waits = Lifecycle::AwaitingConfirmation;
    acme.age(vec![note], waits, &quietly()).unwrap();
    assert!(active(&acme).is_empty());
    acme.confirm(vec![note, summary], now(), &quietly()).unwrap();
    assert_eq!(active(&acme), ["note", "summary"]);
    is_sound(&acme);
}
