//! Claims that cannot both hold, as writes settle them: the same on both engines, in whatever order writes come.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::entity::{Entities, EntityEntry, EntityOp};
use tenure::belief::{Ground, Loser, SlotClaim, defeats};
use tenure::num::Score;
use tenure::object::{
    Authority, ConflictPolicy, ContradictionStatus, Decision, Lifecycle, ObjectId, Provenance,
    SlotCardinality,
};
use tenure::time::Instant;
use tenure::{ContextObject, ErrorKind, ObjectDocument};
use tenure_store::{
    Conflict, ConflictQuery, Expect, MOST_OPPONENTS, Put, ResolverAction, Store, Tenant, WriteNote,
    Writing,
};

use crate::common::{Home, document, put, rounds};

on_both_engines!(
    a_conflict_is_judged_decided_and_gone,
    a_claim_that_is_none_is_noted,
    who_may_not_see_both_is_told_of_neither,
    nothing_of_an_erased_claim_is_left,
    an_imported_history_is_settled,
    many_claims_on_one_slot_are_judged_against_the_strongest,
    two_nodes_settle_one_slot,
    a_pair_that_a_merge_makes_is_listed_decided_and_taken_back,
    decisions_do_not_go_round_in_a_circle,
    a_decision_after_which_nothing_stands_waits_for_another,
    a_claim_that_comes_late_may_leave_nothing,
    a_decision_ends_when_one_says_something_else,
    a_history_says_what_was_claimed_then,
    a_decision_that_rests_stays_as_it_is,
    conflicts_come_in_pages,
);

fn claims(name: &str, claim: &str) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some(claim.into()),
        canonical_entity_ids: vec!["desk".into()],
        ..document(name, claim)
    }
}

fn ids(tenant: &Tenant, documents: Vec<ObjectDocument>) -> Vec<ObjectId> {
    let written = put(tenant, documents).objects;
    written.iter().map(|object| object.object_id).collect()
}

fn conflicts(tenant: &Tenant) -> Vec<Conflict> {
    tenant.conflicts(None, None).unwrap()
}

/// The name of the one that stands, or of none.
fn stands(conflict: &Conflict) -> Option<&str> {
    match conflict.loser {
        Loser::First => Some(&conflict.second.name),
        Loser::Second => Some(&conflict.first.name),
        _ => None,
    }
}

fn a_conflict_is_judged_decided_and_gone(home: &Home) {
    let acme = home.tenant("acme");
    let both = ids(
        &acme,
        vec![claims("a", "port == 80"), claims("b", "port == 443")],
    );
    ids(
        &acme,
        vec![claims("c", "host == x"), document("d", "no claim")],
    );
    let found = conflicts(&acme);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].loser, found[0].ground),
        (Loser::Both, Ground::Tie)
    );
    assert_eq!(found[0].status, ContradictionStatus::Disputed);
    assert_eq!(found[0].actions, [ResolverAction::UserQuestion]);
    assert_eq!(
        (found[0].entity.as_str(), found[0].slot.as_str()),
        ("desk", "port")
    );
    let loaded = Arc::new(acme.load().unwrap());

    let by = Writing {
        author: Some("ada".into()),
        ..Writing::default()
    };
    let note = Some("asked the owner");
    acme.resolve_conflict(both[1], both[0], Decision::First, note, None, &by)
        .unwrap();
    let found = conflicts(&acme);
    assert_eq!(stands(&found[0]), Some("b"));
    assert_eq!(
        (found[0].by.as_deref(), found[0].note.as_deref()),
        (Some("ada"), note)
    );
    // Who holds what is believed in memory is told, and a replay of before is not.
    let fresh = acme.refresh(&loaded).unwrap();
    for resident in [&*fresh, &acme.load().unwrap()] {
        let objects = resident.candidates().objects().iter();
        let decided: Vec<(&str, Decision)> = objects
            .flat_map(|object| {
                let decisions = object.status().decisions.iter();
                decisions.flat_map(|all| all.iter().map(|one| (object.name(), one.stands)))
            })
            .collect();
        assert_eq!(decided, [("a", Decision::Second), ("b", Decision::First)]);
    }
    let before = acme.load_as_of(loaded.latest().unwrap()).unwrap();
    let objects = before.candidates().objects();
    assert!(
        objects
            .iter()
            .all(|object| object.status().decisions.is_none())
    );

    // One that agrees ends the conflict, and the decision with it.
    put(&acme, vec![claims("a", "port > 400")]);
    assert_eq!(conflicts(&acme), []);
    let late = acme
        .resolve_conflict(both[0], both[1], Decision::Both, None, None, &by)
        .unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    // What comes back is judged anew, and the history stays.
    put(&acme, vec![claims("a", "port == 80")]);
    assert_eq!(conflicts(&acme)[0].ground, Ground::Tie);
    let history = acme.conflict_history(both[1], both[0], None).unwrap();
    let grounds: Vec<Ground> = history.iter().map(|one| one.ground).collect();
    assert_eq!(grounds, [Ground::Tie, Ground::Person, Ground::Tie]);
    assert!(
        history[1]
            .tx_end
            .is_some_and(|end| end < history[2].tx_start)
    );
    // Neither what is retracted, nor archived, nor judged takes part.
    for gone in 0..3 {
        match gone {
            0 => drop(
                acme.retract(both[0], Expect::Any, &Writing::default())
                    .unwrap(),
            ),
            1 => drop(
                acme.age(vec![both[0]], Lifecycle::Archived, &Writing::default())
                    .unwrap(),
            ),
            _ => {
                let status = ContradictionStatus::Quarantined;
                acme.judge(both[0], status, None, &Writing::default())
                    .unwrap();
            }
        }
        assert_eq!(conflicts(&acme), [], "{gone}");
        acme.age(vec![both[0]], Lifecycle::Active, &Writing::default())
            .unwrap();
        put(&acme, vec![claims("a", "port == 80")]);
        assert_eq!(conflicts(&acme).len(), usize::from(gone < 2), "{gone}");
    }
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn a_claim_that_is_none_is_noted(home: &Home) {
    let acme = home.tenant("acme");
    let written = put(
        &acme,
        vec![claims("a", "port == 80 kg"), claims("b", "port == 443")],
    );
    let Some(WriteNote::ClaimNotParsed { why }) = &written.objects[0].note else {
        panic!("{written:?}");
    };
    assert!(why.contains("with a unit"), "{why}");
    assert_eq!(written.objects[1].note, None);
    assert_eq!(conflicts(&acme), []);
}

fn who_may_not_see_both_is_told_of_neither(home: &Home) {
    let acme = home.tenant("acme");
    let hidden = ObjectDocument {
        user_id: Some("eve".into()),
        ..claims("b", "port == 443")
    };
    let both = ids(&acme, vec![claims("a", "port == 80"), hidden]);
    assert_eq!(conflicts(&acme).len(), 1);
    let sees = |objects: &[Arc<tenure::ContextObject>]| {
        let open = objects
            .iter()
            .map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    assert_eq!(acme.conflicts(None, Some(&sees)).unwrap(), []);
    assert_eq!(
        acme.conflict_history(both[0], both[1], Some(&sees))
            .unwrap(),
        []
    );
    assert_eq!(home.tenant("other").conflicts(None, None).unwrap(), []);
}

fn nothing_of_an_erased_claim_is_left(home: &Home) {
    let acme = home.tenant("acme");
    let both = ids(
        &acme,
        vec![claims("a", "port == 80"), claims("b", "port == 443")],
    );
    acme.erase(vec![both[0]], &Writing::default()).unwrap();
    assert_eq!(conflicts(&acme), []);
    assert_eq!(acme.conflict_history(both[0], both[1], None).unwrap(), []);
}

fn an_imported_history_is_settled(home: &Home) {
    let (acme, other) = (home.tenant("acme"), home.tenant("other"));
    ids(&acme, vec![claims("a", "port == 80")]);
    ids(&acme, vec![claims("b", "port == 443")]);
    let mut lines = crate::common::exported(&acme);
    lines.iter_mut().for_each(|line| {
        line.object.tenant_id = None;
        line.revision = None;
    });
    other.import(lines, &Writing::default()).unwrap();
    assert_eq!(conflicts(&other).len(), 1);
}

fn many_claims_on_one_slot_are_judged_against_the_strongest(home: &Home) {
    let acme = home.tenant("acme");
    let many = 3 * MOST_OPPONENTS;
    let documents = (0..many).map(|number| ObjectDocument {
        valid_from: Some(Instant::from_micros(i64::from(number))),
        ..claims(&format!("c{number}"), &format!("port == {number}"))
    });
    put(&acme, documents.collect());
    let found = conflicts(&acme);
    let most = (many * MOST_OPPONENTS) as usize;
    assert!(
        found.len() >= many as usize - 1 && found.len() <= most,
        "{}",
        found.len()
    );
    // The newest stands, whatever was judged when it came.
    let lost: BTreeSet<&str> = found
        .iter()
        .map(|conflict| match conflict.loser {
            Loser::First => conflict.first.name.as_str(),
            _ => conflict.second.name.as_str(),
        })
        .collect();
    assert!(!lost.contains(format!("c{}", many - 1).as_str()));
    assert_eq!(lost.len(), many as usize - 1);
}

fn two_nodes_settle_one_slot(home: &Home) {
    let stores = [
        Store::open(&home.url).unwrap(),
        Store::open(&home.url).unwrap(),
    ];
    std::thread::scope(|scope| {
        for (node, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                let acme = store.tenant("acme").unwrap();
                for number in 0..6 {
                    let name = format!("{node}-{number}");
                    let put = Put::new(claims(&name, &format!("port == {node}{number}")));
                    // A file that another process writes is asked again.
                    while acme.put(vec![put.clone()], &Writing::default()).is_err() {}
                }
            });
        }
    });
    // Each pair of the twelve was judged by the one that came later.
    assert_eq!(conflicts(&home.tenant("acme")).len(), 12 * 11 / 2);
}

fn create(id: &str) -> EntityOp {
    let op = serde_json::json!({ "op": "create", "id": id, "name": format!("the {id}") });
    serde_json::from_value(op).unwrap()
}

fn merge(id: &str, into: &str) -> EntityOp {
    EntityOp::Merge {
        id: id.into(),
        into: into.into(),
    }
}

fn change(tenant: &Tenant, op: EntityOp, source: Option<ObjectId>) {
    let done = tenant.change_entities(vec![(op, source)], &Writing::default());
    done.unwrap();
}

fn about(name: &str, entity: &str, claim: &str) -> ObjectDocument {
    ObjectDocument {
        canonical_entity_ids: vec![entity.into()],
        ..claims(name, claim)
    }
}

fn a_pair_that_a_merge_makes_is_listed_decided_and_taken_back(home: &Home) {
    let acme = home.tenant("acme");
    let hidden = ObjectDocument {
        user_id: Some("eve".into()),
        ..document("memo", "The bench is a desk.")
    };
    let all = ids(
        &acme,
        vec![
            about("a", "desk", "port == 80"),
            about("b", "table", "port == 443"),
            about("c", "bench", "port == 8080"),
            hidden,
        ],
    );
    for id in ["desk", "table", "bench"] {
        change(&acme, create(id), None);
    }
    let sees = |objects: &[Arc<tenure::ContextObject>]| {
        let open = objects
            .iter()
            .map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    let pairs = |sees: Option<&tenure_store::Sees<'_>>| {
        let found = acme.conflicts(None, sees).unwrap().into_iter();
        found
            .map(|one| {
                let names = format!("{} {} {}", one.first.name, one.second.name, one.entity);
                (names, one.merged.unwrap(), one.ground)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(conflicts(&acme), []);
    let before = acme.load().unwrap().latest();
    change(&acme, merge("table", "desk"), None);
    let ids_of = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
    let open = ("a b desk".to_owned(), ids_of("desk", "table"), Ground::Tie);
    assert_eq!(pairs(None), std::slice::from_ref(&open));
    let found = &conflicts(&acme)[0];
    assert_eq!(found.actions, [ResolverAction::UserQuestion]);
    assert_eq!(found.first.claims, ["port == 80"]);
    assert_eq!(found.second.claims, ["port == 443"]);
    assert!(found.tx_start > before.unwrap());
    assert_eq!(acme.conflicts(before, None).unwrap(), []);
    let now = acme.written(acme.version().unwrap()).unwrap().unwrap().at;
    assert_eq!(acme.proposals(now, None).unwrap().len(), 1);

    // A merge that came from a hidden object makes pairs for who may see that alone, while it is believed.
    change(&acme, merge("bench", "desk"), Some(all[3]));
    assert_eq!(pairs(None).len(), 3);
    assert_eq!(pairs(Some(&sees)), std::slice::from_ref(&open));
    let history = |one: usize, other: usize, sees: Option<&tenure_store::Sees<'_>>| {
        acme.conflict_history(all[one], all[other], sees)
            .unwrap()
            .len()
    };
    assert_eq!((history(0, 2, None), history(0, 2, Some(&sees))), (1, 0));
    acme.retract(all[3], Expect::Any, &Writing::default())
        .unwrap();
    assert_eq!(pairs(None), std::slice::from_ref(&open));

    // What somebody decides stays while both collide, and acts while both are one.
    acme.resolve_conflict(
        all[1],
        all[0],
        Decision::First,
        None,
        None,
        &Writing::default(),
    )
    .unwrap();
    let decided = (
        "a b desk".to_owned(),
        ids_of("desk", "table"),
        Ground::Person,
    );
    assert_eq!(pairs(Some(&sees)), std::slice::from_ref(&decided));
    put(
        &acme,
        vec![ObjectDocument {
            content: "Port 443 it is.".into(),
            ..about("b", "table", "port == 443")
        }],
    );
    assert_eq!(pairs(None), std::slice::from_ref(&decided));
    change(&acme, EntityOp::Split { id: "table".into() }, None);
    assert_eq!(conflicts(&acme), []);
    assert_eq!(history(0, 1, None), 0);
    let refused = acme
        .resolve_conflict(
            all[2],
            all[0],
            Decision::First,
            None,
            None,
            &Writing::default(),
        )
        .unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    change(&acme, merge("table", "desk"), None);
    assert_eq!(pairs(None), std::slice::from_ref(&decided));
    put(&acme, vec![about("b", "table", "port == 80")]);
    assert_eq!(conflicts(&acme), []);
    put(&acme, vec![about("b", "table", "port == 443")]);
    assert_eq!(pairs(None), [open]);
    assert_eq!(history(0, 1, None), 2);
    // Two that name one id are judged by writes, whatever is merged.
    put(&acme, vec![about("d", "desk", "port == 443")]);
    assert_eq!(
        conflicts(&acme)
            .iter()
            .filter(|one| one.merged.is_none())
            .count(),
        1
    );
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn decide(tenant: &Tenant, one: ObjectId, other: ObjectId) -> Result<(), tenure::Error> {
    let stands = Decision::First;
    let done = tenant.resolve_conflict(one, other, stands, None, None, &Writing::default());
    done.map(drop)
}

fn decisions_do_not_go_round_in_a_circle(home: &Home) {
    let acme = home.tenant("acme");
    let hidden = ObjectDocument {
        user_id: Some("eve".into()),
        ..claims("d", "port == 4")
    };
    let all = ids(
        &acme,
        vec![
            claims("a", "port == 1"),
            claims("b", "port == 2"),
            claims("c", "port == 3"),
            hidden,
        ],
    );
    decide(&acme, all[0], all[1]).unwrap();
    decide(&acme, all[1], all[2]).unwrap();
    let refused = decide(&acme, all[2], all[0]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert!(
        refused
            .what
            .ends_with("circle: `c` over `a` over `b` over `c`"),
        "{refused}"
    );
    assert!(refused.hint.unwrap().contains("--stands both"));
    // What was decided can be decided anew, and then the other way is free.
    let both = Decision::Both;
    acme.resolve_conflict(all[0], all[1], both, None, None, &Writing::default())
        .unwrap();
    decide(&acme, all[2], all[0]).unwrap();
    // The same two, the other way, are no circle.
    decide(&acme, all[0], all[2]).unwrap();
    // What a caller may not see is not named, and not decided.
    decide(&acme, all[2], all[3]).unwrap();
    decide(&acme, all[3], all[0]).unwrap_err();
    let sees = |objects: &[Arc<ContextObject>]| {
        let open = objects
            .iter()
            .map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    acme.resolve_conflict(all[0], all[2], both, None, None, &Writing::default())
        .unwrap();
    decide(&acme, all[3], all[0]).unwrap();
    let by = |one: usize, other: usize| {
        let stands = Decision::First;
        acme.resolve_conflict(
            all[one],
            all[other],
            stands,
            None,
            Some(&sees),
            &Writing::default(),
        )
        .unwrap_err()
    };
    // `c` over the hidden one, that over `a`, and `a` over `c`.
    let refused = by(0, 2);
    assert!(
        refused.what.ends_with("in a circle of 3 objects"),
        "{refused}"
    );
    let refused = by(0, 3);
    assert!(
        refused.what.starts_with("there is no open conflict"),
        "{refused}"
    );
}

fn since(name: &str, year: i64, claim: &str) -> ObjectDocument {
    ObjectDocument {
        valid_from: Some(Instant::from_micros(year)),
        ..claims(name, claim)
    }
}

/// The names of the claims on the slot `port` that stand at an instant, for who may see all.
fn standing_at(tenant: &Tenant, at: i64) -> Vec<String> {
    let resident = tenant.load().unwrap();
    let objects = resident.candidates().objects();
    let at = Instant::from_micros(at);
    let held: Vec<(&Arc<ContextObject>, SlotClaim)> = objects
        .iter()
        .filter_map(|object| Some((object, SlotClaim::of(object)?.1)))
        .filter(|(_, claim)| claim.standing.valid.locate(at) == tenure::time::Position::Inside)
        .collect();
    let mut judged = BTreeMap::new();
    for (place, (object, _)) in held.iter().enumerate() {
        for decided in object.status().decisions.iter().flat_map(|all| all.iter()) {
            let other = held
                .iter()
                .position(|(other, _)| other.revision().object_id() == decided.other);
            if let Some(other) = other.filter(|other| place < *other) {
                let loser = match decided.stands {
                    Decision::First => Loser::Second,
                    Decision::Second => Loser::First,
                    Decision::Both => Loser::Neither,
                    _ => Loser::Both,
                };
                judged.insert((place, other), tenure::belief::Judgement::decided(loser));
            }
        }
    }
    let claims: Vec<SlotClaim> = held.iter().map(|(_, claim)| claim.clone()).collect();
    let lost = defeats(&claims, Some(at), &judged);
    let stand = held.iter().enumerate();
    let stand = stand.filter(|(place, _)| !lost.contains_key(place));
    stand
        .map(|(_, (object, _))| object.name().to_owned())
        .collect()
}

fn a_decision_after_which_nothing_stands_waits_for_another(home: &Home) {
    let acme = home.tenant("acme");
    let all = ids(
        &acme,
        vec![
            since("a", 1, "port == 1"),
            since("b", 2, "port == 2"),
            since("c", 3, "port == 3"),
        ],
    );
    assert_eq!(standing_at(&acme, 5), ["c"]);
    // The oldest over the newest: but the one between has replaced it, and was replaced itself.
    let refused = decide(&acme, all[0], all[2]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert_eq!(
        refused.what,
        "after this decision no claim on `port` would stand: `a` falls to `b` by valid_from"
    );
    assert_eq!(
        refused.hint.as_deref(),
        Some("decide between `a` and `b` first")
    );
    assert_eq!(standing_at(&acme, 5), ["c"]);
    decide(&acme, all[0], all[1]).unwrap();
    decide(&acme, all[0], all[2]).unwrap();
    assert_eq!(standing_at(&acme, 5), ["a"]);
}

// No write is refused for what was decided before: where a claim comes late that goes before the one that was decided for, and
// behind the one that was decided against, none of the three stands until somebody decides on it, too.
fn a_claim_that_comes_late_may_leave_nothing(home: &Home) {
    let acme = home.tenant("acme");
    let all = ids(
        &acme,
        vec![since("a", 1, "port == 1"), since("c", 3, "port == 3")],
    );
    decide(&acme, all[0], all[1]).unwrap();
    assert_eq!(standing_at(&acme, 5), ["a"]);
    let late = ids(&acme, vec![since("b", 2, "port == 2")])[0];
    assert_eq!(standing_at(&acme, 5), [] as [&str; 0]);
    decide(&acme, all[0], late).unwrap();
    assert_eq!(standing_at(&acme, 5), ["a"]);
}

fn a_decision_ends_when_one_says_something_else(home: &Home) {
    let acme = home.tenant("acme");
    let both = ids(
        &acme,
        vec![claims("a", "port == 80"), claims("b", "port == 443")],
    );
    let decided = || {
        conflicts(&acme)
            .iter()
            .any(|one| one.ground == Ground::Person)
    };
    let a = || claims("a", "port == 80");
    let said_otherwise = [
        claims("a", "port == 81"),
        ObjectDocument {
            valid_from: Some(Instant::from_micros(9)),
            ..a()
        },
        ObjectDocument {
            valid_until: Some(Instant::from_micros(9)),
            ..a()
        },
        ObjectDocument {
            canonical_entity_ids: vec!["table".into()],
            ..a()
        },
        claims("a", "host == 80"),
    ];
    for other in said_otherwise {
        put(&acme, vec![a()]);
        acme.retract(both[0], Expect::Any, &Writing::default())
            .unwrap();
        put(&acme, vec![a()]);
        decide(&acme, both[0], both[1]).unwrap();
        // Other words, another confidence, the same claim written otherwise, in two parts: it says the same.
        for same in [
            ObjectDocument {
                content: "The port is 80.".into(),
                ..a()
            },
            ObjectDocument {
                confidence_score: Some(Score::from_millionths(500_000)),
                ..claims("a", "port  ==  80.0")
            },
            ObjectDocument {
                valid_from: Some(Instant::from_micros(50)),
                content: "Still 80.".into(),
                ..a()
            },
        ] {
            put(&acme, vec![same]);
            assert!(decided());
        }
        let status = ContradictionStatus::Clean;
        acme.judge(both[1], status, None, &Writing::default())
            .unwrap();
        assert!(decided());
        put(&acme, vec![other.clone()]);
        assert!(!decided(), "{other:?}");
    }
    // The history keeps it, with its end; what comes next is judged by the protocols.
    put(&acme, vec![claims("b", "port == 444")]);
    acme.retract(both[0], Expect::Any, &Writing::default())
        .unwrap();
    put(&acme, vec![a()]);
    let history = acme.conflict_history(both[0], both[1], None).unwrap();
    let persons: Vec<&Conflict> = history
        .iter()
        .filter(|one| one.ground == Ground::Person)
        .collect();
    assert_eq!(persons.len(), 5);
    assert!(persons.iter().all(|one| one.tx_end.is_some()));
    assert_eq!(history.last().unwrap().ground, Ground::Tie);
    // The claim of the other one counts as much.
    decide(&acme, both[0], both[1]).unwrap();
    put(&acme, vec![claims("b", "port == 443")]);
    assert!(!decided());
}

fn a_history_says_what_was_claimed_then(home: &Home) {
    let acme = home.tenant("acme");
    let both = ids(
        &acme,
        vec![claims("a", "port == 80"), claims("b", "port == 443")],
    );
    let first = acme.load().unwrap().latest();
    decide(&acme, both[0], both[1]).unwrap();
    put(
        &acme,
        vec![ObjectDocument {
            user_id: Some("eve".into()),
            ..claims("a", "port == 81")
        }],
    );
    put(&acme, vec![claims("a", "port == 82")]);
    put(&acme, vec![since("a", 4, "port == 83")]);
    let said = |sees: Option<&tenure_store::Sees<'_>>| {
        let history = acme.conflict_history(both[0], both[1], sees).unwrap();
        let a = history.into_iter().map(|one| {
            let [party] = [one.first, one.second]
                .into_iter()
                .filter(|party| party.object_id == both[0])
                .collect::<Vec<_>>()
                .try_into()
                .unwrap();
            party.claims.join(", ")
        });
        a.collect::<Vec<String>>()
    };
    let all = said(None);
    assert_eq!(
        all[..3],
        ["port == 80", "port == 80", "port == 81"],
        "{all:?}"
    );
    assert_eq!(all.last().unwrap(), "port == 82, port == 83");
    // Who might not see what was claimed then is not told of it.
    let sees = |objects: &[Arc<ContextObject>]| {
        let open = objects
            .iter()
            .map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    let open = said(Some(&sees));
    assert!(!open.iter().any(|claim| claim.contains("81")), "{open:?}");
    assert_eq!(open.first().unwrap(), "port == 80");
    let then = acme.conflicts(first, None).unwrap();
    let shown = [&then[0].first, &then[0].second];
    let shown: BTreeSet<&str> = shown
        .iter()
        .flat_map(|one| &one.claims)
        .map(String::as_str)
        .collect();
    assert_eq!(shown, BTreeSet::from(["port == 443", "port == 80"]));
    // A part of an object that may not be seen is not shown beside one that may.
    put(
        &acme,
        vec![ObjectDocument {
            user_id: Some("eve".into()),
            ..since("b", 9, "port == 444")
        }],
    );
    let page = acme.conflicts(None, Some(&sees)).unwrap();
    assert!(!format!("{page:?}").contains("444"), "{page:?}");
    assert!(format!("{:?}", conflicts(&acme)).contains("444"));
}

fn a_decision_that_rests_stays_as_it_is(home: &Home) {
    let acme = home.tenant("acme");
    let all = ids(
        &acme,
        vec![
            about("a", "desk", "port == 80"),
            about("b", "table", "port == 443"),
        ],
    );
    for id in ["desk", "table"] {
        change(&acme, create(id), None);
    }
    change(&acme, merge("table", "desk"), None);
    decide(&acme, all[0], all[1]).unwrap();
    change(&acme, EntityOp::Split { id: "table".into() }, None);
    put(
        &acme,
        vec![ObjectDocument {
            canonical_entity_ids: vec!["desk".into(), "table".into()],
            ..claims("b", "port == 443")
        }],
    );
    assert_eq!(conflicts(&acme)[0].ground, Ground::Tie);
    decide(&acme, all[1], all[0]).unwrap();
    assert_eq!(stands(&conflicts(&acme)[0]), Some("b"));
    // With the merge, what was decided then is found as it was.
    change(&acme, merge("table", "desk"), None);
    let found = conflicts(&acme);
    let resting = found.iter().find(|one| one.merged.is_some()).unwrap();
    assert_eq!(stands(resting), Some("a"));
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn conflicts_come_in_pages(home: &Home) {
    let acme = home.tenant("acme");
    let mut documents: Vec<ObjectDocument> = (0..20)
        .map(|number| ObjectDocument {
            user_id: (number % 4 == 3).then(|| "eve".into()),
            ..claims(&format!("c{number}"), &format!("port == {number}"))
        })
        .collect();
    documents.extend((0..5).map(|number| {
        about(
            &format!("t{number}"),
            "table",
            &format!("port == {}", number + 50),
        )
    }));
    documents.extend((0..2).map(|number| ObjectDocument {
        canonical_entity_ids: vec!["desk".into(), "lamp".into()],
        ..claims(&format!("l{number}"), &format!("size == {number}"))
    }));
    put(&acme, documents);
    for id in ["desk", "table", "lamp"] {
        change(&acme, create(id), None);
    }
    change(&acme, merge("table", "desk"), None);
    let sees = |objects: &[Arc<ContextObject>]| {
        let open = objects
            .iter()
            .map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    let pages = |query: &ConflictQuery<'_>, most: usize| {
        let (mut query, mut found) = (*query, Vec::new());
        loop {
            let page = acme.conflict_page(&query, most).unwrap();
            assert!(!page.conflicts.is_empty() || page.next.is_none());
            // Two judgements are of the same two objects at most.
            assert!(page.conflicts.len() <= most + 1);
            found.extend(page.conflicts);
            query.after = page.next;
            if query.after.is_none() {
                return found;
            }
        }
    };
    for sees in [None, Some(&sees as &tenure_store::Sees<'_>)] {
        let all = acme.conflicts(None, sees).unwrap();
        let objects = if sees.is_some() { 20 } else { 25 };
        assert_eq!(all.len(), objects * (objects - 1) / 2 + 2);
        let query = ConflictQuery {
            sees,
            ..ConflictQuery::default()
        };
        for most in [1, 2, 7, 64, 1_000] {
            assert_eq!(pages(&query, most), all, "{most}");
        }
        let of = |entity, slot| ConflictQuery {
            entity,
            slot,
            ..query
        };
        let lamp: Vec<Conflict> = all
            .iter()
            .filter(|one| one.entity == "lamp")
            .cloned()
            .collect();
        assert_eq!(pages(&of(Some("lamp"), None), 7), lamp);
        assert_eq!(pages(&of(Some("lamp"), Some("port")), 7), []);
        assert_eq!(pages(&of(None, Some("size")), 1).len(), 2);
        // One that is merged stands for the other.
        assert_eq!(
            pages(&of(Some("desk"), Some("port")), 7).len(),
            all.len() - 2
        );
        assert!(!pages(&of(Some("table"), None), 7).is_empty());
    }
    let first = &conflicts(&acme)[0];
    decide(&acme, first.first.object_id, first.second.object_id).unwrap();
    let waiting = ConflictQuery {
        waiting: true,
        ..ConflictQuery::default()
    };
    assert_eq!(pages(&waiting, 7).len(), conflicts(&acme).len() - 1);
}

/// One write of a history.
#[derive(Clone, Debug)]
struct Step {
    object: u8,
    entity: &'static str,
    claim: String,
    from: Option<i64>,
    until: Option<i64>,
    level: Authority,
    multiple: bool,
    /// Retracted after.
    gone: bool,
    origin: u8,
    quality: u32,
    policy: Option<ConflictPolicy>,
}

fn entity() -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just("desk"), 1 => Just("table"), 1 => Just("bench")]
}

/// Merges and splits, of which those that cannot be are refused.
fn moves() -> impl Strategy<Value = Vec<EntityOp>> {
    let op = prop_oneof![
        3 => (entity(), entity()).prop_map(|(id, into)| merge(id, into)),
        1 => entity().prop_map(|id| EntityOp::Split { id: id.into() }),
    ];
    prop_oneof![Just(Vec::new()), prop::collection::vec(op, 1..5)]
}

fn step() -> impl Strategy<Value = Step> {
    let end = || prop::option::of(0i64..6);
    let claim = (0u8..3, prop_oneof![Just("=="), Just("!="), Just(">")])
        .prop_map(|(value, op)| format!("port {op} {value}"));
    let level = prop_oneof![Just(Authority::Developer), Just(Authority::User)];
    let rare = || prop::bool::weighted(0.15);
    let policy = prop_oneof![
        8 => Just(None),
        1 => Just(Some(ConflictPolicy::GiveWay)),
        1 => Just(Some(ConflictPolicy::Ask))
    ];
    let source = (0u8..3, 0u32..4, policy);
    let place = (0u8..5, entity());
    (place, claim, end(), end(), level, (rare(), rare()), source).prop_map(
        |(
            (object, entity),
            claim,
            from,
            until,
            level,
            (multiple, gone),
            (origin, quality, policy),
        )| Step {
            object,
            entity,
            claim,
            from,
            until: until.filter(|until| from.is_none_or(|from| from < *until)),
            level,
            multiple,
            gone,
            origin,
            quality,
            policy,
        },
    )
}

impl Step {
    fn document(&self) -> ObjectDocument {
        ObjectDocument {
            valid_from: self.from.map(Instant::from_micros),
            valid_until: self.until.map(Instant::from_micros),
            authority_level: Some(self.level),
            slot_cardinality: self.multiple.then_some(SlotCardinality::Multiple),
            conflict_policy: self.policy,
            provenance: Some(Provenance {
                source_id: Some(format!("source {}", self.origin)),
                ..Provenance::default()
            }),
            source_authority: Some(Score::from_millionths(self.quality * 300_000)),
            ..about(&format!("o{}", self.object), self.entity, &self.claim)
        }
    }
}

thread_local! {
    /// A store, and the number of histories in it: a file of its own for each would cost more than the history.
    static STORE: RefCell<(u32, Option<Arc<Home>>)> = const { RefCell::new((0, None)) };
}

/// The number of histories: as many as one says, else few, and more in the full tier.
fn histories() -> u32 {
    let said = std::env::var("TENURE_TEST_HISTORIES").ok();
    said.and_then(|count| count.parse().ok())
        .unwrap_or_else(|| rounds(12, 10_000))
}

/// The histories of one store.
const IN_ONE_STORE: u32 = 500;

fn fresh() -> (Arc<Home>, String) {
    STORE.with_borrow_mut(|(used, home)| {
        if *used % IN_ONE_STORE == 0 {
            *home = None;
        }
        *used += 1;
        let home = home.get_or_insert_with(|| Arc::new(Home::in_memory()));
        (Arc::clone(home), format!("t{used}"))
    })
}

/// The pairs of names that are judged, by the ids that make them a pair, each with the one that stands.
type Pairs = BTreeMap<([String; 2], Vec<String>), Option<String>>;

/// The registry after these; those that cannot be are left out.
fn registry(moves: &[EntityOp]) -> (Vec<EntityOp>, Entities) {
    let mut entities = Entities::default();
    let created = ["desk", "table", "bench"].map(create);
    let all = created.iter().chain(moves).filter(|_| !moves.is_empty());
    let done = all.filter(|does| {
        let entry = EntityEntry {
            at: Instant::from_micros(0),
            by: None,
            source: None,
            does: (*does).clone(),
        };
        entities.apply(&entry).is_ok()
    });
    let done: Vec<EntityOp> = done.cloned().collect();
    (done, entities)
}

/// Writes a history, the merges and splits before one of its writes, and says which pairs of names are judged how.
fn told(steps: &[Step], moves: &[EntityOp], before: usize) -> (Pairs, Tenant, Arc<Home>) {
    let (home, name) = fresh();
    let acme = home.tenant(&name);
    let change = || {
        let moves = moves.iter().map(|op| (op.clone(), None)).collect();
        acme.change_entities(moves, &Writing::default()).unwrap();
    };
    for (at, step) in steps.iter().enumerate() {
        if at == before && !moves.is_empty() {
            change();
        }
        let id = ids(&acme, vec![step.document()])[0];
        if step.gone {
            acme.retract(id, Expect::Any, &Writing::default()).unwrap();
        }
    }
    if before >= steps.len() && !moves.is_empty() {
        change();
    }
    let pairs = conflicts(&acme).into_iter().map(|conflict| {
        let winner = stands(&conflict).map(str::to_owned);
        let mut names = [conflict.first.name, conflict.second.name];
        names.sort_unstable();
        let merged = conflict.merged.iter().flatten().cloned();
        let mut by: Vec<String> = merged.chain([conflict.entity]).collect();
        by.sort_unstable();
        ((names, by), winner)
    });
    (pairs.collect(), acme, home)
}

/// The confidence in each of these objects, from its whole history and that of all others, by the formula as it is
/// printed: floating numbers, one origin after the other.
fn slow_confidence(tenant: &Tenant, all: &[ObjectId]) -> BTreeMap<ObjectId, f64> {
    let latest = |id: &ObjectId| {
        let history = tenant.history(*id).unwrap().into_iter();
        let held = history.filter(|belief| belief.closed.is_none());
        let last = held.max_by_key(|belief| belief.object.valid().from)?;
        Some((*id, last.object))
    };
    let held: Vec<(ObjectId, Arc<ContextObject>)> = all.iter().filter_map(latest).collect();
    let claim = |object: &ContextObject| SlotClaim::of(object).unwrap().1;
    let entity = |object: &ContextObject| SlotClaim::of(object).unwrap().0;
    let vote = |quality: f64| ((1.0 + 0.98 * quality) / (1.0 - 0.98 * quality)).ln();
    let weighed = held.iter().map(|(id, own)| {
        let (about, own) = (entity(own), claim(own));
        let mut best: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (other, object) in held.iter().filter(|(other, _)| other != id) {
            // Evidence is about what an object names, whatever is merged.
            if entity(object) != about {
                continue;
            }
            let theirs = claim(object);
            let side = match own.against(&theirs) {
                Some(_) => 1,
                None if theirs.claim == own.claim => 0,
                None => continue,
            };
            let found = object.revision().provenance().unwrap();
            let origin = found.source_id.clone().unwrap_or(other.to_string());
            let quality = object.revision().source_authority().to_f64();
            let best = &mut best.entry(origin).or_default()[side];
            *best = best.max(quality);
        }
        let sum: f64 = best
            .values()
            .map(|[pro, contra]| vote(*pro) - vote(*contra))
            .sum();
        (*id, 1.0 / (1.0 + (-sum).exp()))
    });
    weighed.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: histories(), ..ProptestConfig::default() })]

    // Whatever comes first, the writes of each object in their order, the same pairs are judged alike in the end; and
    // what is judged is what an oracle says that looks at all that is believed.
    #[test]
    fn histories_end_alike_in_any_order_of_arrival(
        steps in prop::collection::vec(step(), 1..9),
        turns in prop::collection::vec(any::<u8>(), 5),
        moves in moves(),
        before in (0usize..9, 0usize..9),
    ) {
        let (moves, entities) = registry(&moves);
        // Each object has a turn of its own, which keeps its writes in their order.
        let mut turned = steps.clone();
        turned.sort_by_key(|step| turns[usize::from(step.object)]);
        let (one, acme, _home) = told(&steps, &moves, before.0);
        let (other, moved, _other_home) = told(&turned, &moves, before.1);
        prop_assert_eq!(&one, &other);

        let resident = acme.load().unwrap();
        let objects = resident.candidates().objects();
        let meant = |id: &str| entities.meant(id, &|_| true).unwrap_or(id).to_owned();
        let believed: Vec<(&str, String, SlotClaim)> = objects
            .iter()
            .filter_map(|object| {
                let (entity, claim) = SlotClaim::of(object)?;
                Some((object.name(), meant(&entity[0]), claim))
            })
            .collect();
        let mut oracle = BTreeSet::new();
        for (at, (name, entity, ours)) in believed.iter().enumerate() {
            for (other, theirs_of, theirs) in &believed[at + 1..] {
                if name != other && entity == theirs_of && ours.against(theirs).is_some() {
                    let mut pair = [(*name).to_owned(), (*other).to_owned()];
                    pair.sort_unstable();
                    oracle.insert(pair);
                }
            }
        }
        prop_assert_eq!(one.keys().map(|(names, _)| names.clone()).collect::<BTreeSet<_>>(), oracle);
        // So is the confidence, in both orders of arrival.
        let names: BTreeSet<String> = steps.iter().map(|step| format!("o{}", step.object)).collect();
        for tenant in [&acme, &moved] {
            let ids = names.iter().flat_map(|name| tenant.named(name).unwrap());
            let ids: Vec<ObjectId> = ids.collect();
            for (id, slow) in slow_confidence(tenant, &ids) {
                // Before anything is over.
                let at = Instant::from_micros(-10);
                let found = tenant.belief(id, at, None).unwrap().confidence.to_f64();
                prop_assert!((found - slow).abs() < 1e-4, "{} {} {}", id, found, slow);
            }
        }
        // In no view, at no instant, two stand that cannot both hold.
        for at in -1..7 {
            let at = Instant::from_micros(at);
            let held = believed.iter().filter(|(_, _, claim)| {
                let valid = claim.standing.valid;
                valid.from.is_none_or(|from| from <= at) && valid.until.is_none_or(|until| at < until)
            });
            let mut views: BTreeMap<&str, Vec<SlotClaim>> = BTreeMap::new();
            for (_, entity, claim) in held {
                views.entry(entity).or_default().push(claim.clone());
            }
            for view in views.values() {
                let lost = defeats(view, Some(at), &BTreeMap::new());
                for (place, one) in view.iter().enumerate() {
                    for (other, two) in view.iter().enumerate().skip(place + 1) {
                        let both = !lost.contains_key(&place) && !lost.contains_key(&other);
                        prop_assert!(!both || one.agrees_with(two));
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(24, 2_000), ..ProptestConfig::default() })]

    // Whatever is decided, in whatever order: decisions never go round in a circle, and at no instant everything falls.
    #[test]
    fn decisions_leave_something(
        begins in prop::collection::vec(prop::option::of(0i64..4), 3..7),
        decisions in prop::collection::vec((0usize..7, 0usize..7, any_decision()), 1..16),
    ) {
        let (home, name) = fresh();
        let acme = home.tenant(&name);
        let documents = begins.iter().enumerate().map(|(number, from)| ObjectDocument {
            valid_from: from.map(Instant::from_micros),
            ..claims(&format!("o{number}"), &format!("port == {number}"))
        });
        let all = ids(&acme, documents.collect());
        for (one, other, stands) in decisions {
            let (Some(one), Some(other)) = (all.get(one), all.get(other)) else {
                continue;
            };
            let done = acme.resolve_conflict(*one, *other, stands, None, None, &Writing::default());
            prop_assert!(done.is_ok() || done.unwrap_err().kind == ErrorKind::Conflict);
        }
        let mut over: BTreeMap<ObjectId, BTreeSet<ObjectId>> = BTreeMap::new();
        let mut waits = BTreeSet::new();
        for one in conflicts(&acme) {
            let (first, second) = (one.first.object_id, one.second.object_id);
            match (one.ground, one.loser) {
                (Ground::Person, Loser::Second) => drop(over.entry(first).or_default().insert(second)),
                (Ground::Person, Loser::First) => drop(over.entry(second).or_default().insert(first)),
                (Ground::Tie, _) => waits.extend([first, second]),
                _ => {}
            }
        }
        // Who stands over nobody that is left is taken away, until nobody is left: else there is a circle.
        loop {
            let held: BTreeSet<ObjectId> = over.keys().copied().collect();
            let before = held.len();
            over.retain(|_, under| under.iter().any(|one| held.contains(one)));
            if over.len() == before {
                break;
            }
        }
        prop_assert!(over.is_empty(), "{:?}", over);
        for at in -1..5 {
            let at = Instant::from_micros(at);
            let is_held = |place: &usize| begins[*place].is_none_or(|from| Instant::from_micros(from) <= at);
            let held: Vec<usize> = (0..all.len()).filter(is_held).collect();
            let left = !standing_at(&acme, at.micros()).is_empty();
            let waiting = held.iter().any(|place| waits.contains(&all[*place]));
            prop_assert!(held.is_empty() || left || waiting);
        }
    }
}

fn any_decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        3 => Just(Decision::First),
        3 => Just(Decision::Second),
        1 => Just(Decision::Both)
    ]
}
