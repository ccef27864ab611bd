//! Decisions by hand between claims: what they do, when they end, which are refused; the lists of conflicts, and what they say of
//! the past.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::entity::EntityOp;
use tenure::belief::{Defeat, Ground, Loser, SlotClaim, defeats};
use tenure::num::Score;
use tenure::object::{ContradictionStatus, Decision, ObjectId};
use tenure::time::Instant;
use tenure::{ContextObject, ErrorKind, ObjectDocument};
use tenure_store::{Conflict, ConflictQuery, Expect, Outcome, Store, Tenant, Writing};

use crate::claims::{about, change, claims, conflicts, create, ids, merge, stands};
use crate::common::{Home, fresh, put, rounds};

on_both_engines!(
    decisions_do_not_go_round_in_a_circle,
    who_decides_closes_what_they_see,
    a_decision_after_which_all_fall_to_persons_is_refused,
    a_decision_after_which_nothing_stands_waits_for_another,
    a_decision_is_tried_out_at_the_last_instants,
    a_claim_that_comes_late_may_leave_nothing,
    a_decision_ends_when_one_says_something_else,
    a_decision_that_is_made_already_changes_nothing,
    a_history_says_what_was_claimed_then,
    a_decision_that_rests_stays_as_it_is,
    conflicts_come_in_pages,
    pages_of_any_size_make_the_list,
);

/// The reason of a refusal for something that the caller may not see.
const HIDDEN: &str = "after this decision nothing would stand, with what you may not see";

fn not_eves(objects: &[Arc<ContextObject>]) -> Vec<bool> {
    let open = objects.iter().map(|object| object.revision().scope().user.is_none());
    open.collect()
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
        refused.what.ends_with("circle: `c` over `a` over `b` over `c`"),
        "{refused}"
    );
    assert!(refused.hint.unwrap().contains("--stands both"));
    // Nothing is in conflict with itself.
    let before = conflicts(&acme);
    let refused = decide(&acme, all[2], all[2]).unwrap_err();
    assert!(
        refused.what.starts_with("there is no open conflict"),
        "{refused}"
    );
    assert_eq!(conflicts(&acme), before);
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
        let open = objects.iter().map(|object| object.revision().scope().user.is_none());
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
    assert_eq!(refused.what, HIDDEN);
    assert!(!refused.to_string().contains('3'), "{refused}");
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

/// The claims of a tenant that are held at an instant, each with its defeat, for who may see all.
fn judged_at(tenant: &Tenant, at: &[i64]) -> Vec<Vec<(String, Option<Defeat>)>> {
    let resident = tenant.load().unwrap();
    let objects = resident.candidates().objects();
    let all: Vec<(&Arc<ContextObject>, SlotClaim)> = objects
        .iter()
        .filter_map(|object| Some((object, SlotClaim::of(object)?.1)))
        .collect();
    let judged_at = |at: &i64| {
        let at = Instant::from_micros(*at);
        let held = all.iter();
        let held = held
            .filter(|(_, claim)| claim.standing.valid.locate(at) == tenure::time::Position::Inside);
        let held: Vec<&(&Arc<ContextObject>, SlotClaim)> = held.collect();
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
        let claims: Vec<&SlotClaim> = held.iter().map(|(_, claim)| claim).collect();
        let mut lost = defeats(&claims, Some(at), &judged);
        let held = held.iter().enumerate();
        held.map(|(place, (object, _))| (object.name().to_owned(), lost.remove(&place)))
            .collect()
    };
    at.iter().map(judged_at).collect()
}

/// The names of the claims that stand at an instant.
fn standing_at(tenant: &Tenant, at: i64) -> Vec<String> {
    let judged = judged_at(tenant, &[at]).into_iter().flatten();
    judged.filter(|(_, defeat)| defeat.is_none()).map(|(name, _)| name).collect()
}

/// Whether something stands or waits at each of these instants.
fn is_left(tenant: &Tenant, at: &[i64]) -> Vec<bool> {
    let is_left = |(_, defeat): &(String, Option<Defeat>)| {
        defeat.as_ref().is_none_or(|defeat| {
            let judgement = &defeat.judgement;
            judgement.loser == Loser::Both && judgement.ground != Ground::Person
        })
    };
    let judged = judged_at(tenant, at).into_iter();
    judged.map(|held| held.iter().any(is_left)).collect()
}

// Of two objects of which a caller sees a part, what is claimed in the other part is not decided, and nothing is said of it.
fn who_decides_closes_what_they_see(home: &Home) {
    let acme = home.tenant("acme");
    let all = ids(
        &acme,
        vec![
            claims("a", "port == 1"),
            claims("b", "port == 2"),
            about("c", "lamp", "port == 3"),
            about("d", "lamp", "port == 3"),
        ],
    );
    let later = |name: &str, at: usize, entity: &str, claim: &str, user: Option<&str>| {
        let document = ObjectDocument {
            object_id: Some(all[at]),
            user_id: user.map(Into::into),
            valid_from: Some(Instant::from_micros(9)),
            ..about(name, entity, claim)
        };
        put(&acme, vec![document]);
    };
    later("a", 0, "desk", "salary == 1", Some("eve"));
    later("b", 1, "desk", "salary == 2", None);
    later("c", 2, "lamp", "salary == 1", Some("eve"));
    later("d", 3, "lamp", "salary == 2", None);
    let sees = not_eves;
    let grounds = |sees: Option<&tenure_store::Sees<'_>>| {
        let found = acme.conflicts(None, sees).unwrap().into_iter();
        let found = found.map(|one| (format!("{} {}", one.entity, one.slot), one.ground));
        found.collect::<BTreeMap<String, Ground>>()
    };
    let tie = |name: &str| (name.to_owned(), Ground::Tie);
    assert_eq!(grounds(Some(&sees)), BTreeMap::from([tie("desk port")]));
    let by = |one: usize, other: usize| {
        let (stands, writing) = (Decision::First, Writing::default());
        acme.resolve_conflict(all[one], all[other], stands, None, Some(&sees), &writing)
    };
    by(0, 1).unwrap();
    let now = [
        ("desk port".to_owned(), Ground::Person),
        tie("desk salary"),
        tie("lamp salary"),
    ];
    assert_eq!(grounds(None), BTreeMap::from(now));
    let refused = by(2, 3).unwrap_err();
    assert!(
        refused.what.starts_with("there is no open conflict"),
        "{refused}"
    );
    // What was decided on one slot says nothing of the other.
    let resident = acme.load().unwrap();
    let objects = resident.candidates().objects().iter();
    let decided = objects.filter(|object| object.status().decisions.is_some());
    let decided = decided.filter_map(|object| Some(SlotClaim::of(object)?.1.claim.to_string()));
    assert_eq!(decided.collect::<Vec<String>>(), ["port == 1", "port == 2"]);
}

fn a_decision_after_which_all_fall_to_persons_is_refused(home: &Home) {
    let acme = home.tenant("acme");
    let all = ids(
        &acme,
        vec![
            claims("a", "port == 1"),
            claims("b", "port == 2"),
            claims("c", "port == 2"),
        ],
    );
    let neither = Decision::Neither;
    acme.resolve_conflict(all[0], all[2], neither, None, None, &Writing::default())
        .unwrap();
    let refused = decide(&acme, all[0], all[1]).unwrap_err();
    assert_eq!(
        refused.what,
        "after this decision no claim on `port` would stand: `a` falls to `c` by person"
    );
    assert_eq!(
        refused.hint.as_deref(),
        Some("decide between `a` and `c` first")
    );
    decide(&acme, all[1], all[0]).unwrap();
    assert_eq!(standing_at(&acme, 5), ["b"]);
}

// What a row says is nothing to choose it by while it may be damaged.
#[test]
fn a_damaged_judgement_is_told_of() {
    for (from, to) in [("person", "persom"), ("port", "pert"), ("desk", "dusk")] {
        let home = Home::sqlite();
        let acme = home.tenant("acme");
        let all = ids(
            &acme,
            vec![claims("a", "port == 1"), claims("b", "port == 2")],
        );
        decide(&acme, all[0], all[1]).unwrap();
        crate::damage::alter(
            &home,
            &format!("UPDATE pairs SET body = replace(body, '\"{from}\"', '\"{to}\"')"),
        );
        let acme = Store::open(&home.url).unwrap().tenant("acme").unwrap();
        let waiting = ConflictQuery {
            waiting: true,
            ..ConflictQuery::default()
        };
        let slot = ConflictQuery {
            slot: Some("port"),
            entity: Some("desk"),
            ..ConflictQuery::default()
        };
        for query in [waiting, slot] {
            let error = acme.conflict_page(&query, 7).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Damaged, "{error}");
        }
        assert_eq!(
            acme.load().err().map(|error| error.kind),
            Some(ErrorKind::Damaged)
        );
    }
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
    // Who may not see the one between is told no more than of a hidden circle.
    let lamp = |name: &str, year: i64, claim: &str| ObjectDocument {
        canonical_entity_ids: vec!["lamp".into()],
        ..since(name, year, claim)
    };
    let hidden = ObjectDocument {
        user_id: Some("eve".into()),
        ..lamp("e", 2, "port == 2")
    };
    let (first, last) = (lamp("d", 1, "port == 1"), lamp("f", 3, "port == 3"));
    let all = ids(&acme, vec![first, hidden, last]);
    let stands = Decision::First;
    let refused = acme
        .resolve_conflict(
            all[0],
            all[2],
            stands,
            None,
            Some(&not_eves),
            &Writing::default(),
        )
        .unwrap_err();
    assert_eq!(refused.what, HIDDEN);
}

// A write waits while a decision is tried out, so that is done for so many instants alone.
fn a_decision_is_tried_out_at_the_last_instants(home: &Home) {
    let acme = home.tenant("acme");
    let until = ObjectDocument {
        valid_until: Some(Instant::from_micros(5)),
        ..since("b", 2, "port == 2")
    };
    let (first, last) = (since("a", 1, "port == 1"), since("c", 3, "port == 3"));
    let all = ids(&acme, vec![first, until, last]);
    let refused = decide(&acme, all[0], all[2]).unwrap_err();
    assert!(
        refused.what.ends_with("`a` falls to `b` by valid_from"),
        "{refused}"
    );
    for part in 0..256 {
        let part = ObjectDocument {
            object_id: Some(all[2]),
            content: format!("Part {part}."),
            ..since("c", 10 + part, "port == 3")
        };
        put(&acme, vec![part]);
    }
    decide(&acme, all[0], all[2]).unwrap();
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
    let decided = || conflicts(&acme).iter().any(|one| one.ground == Ground::Person);
    let a = || claims("a", "port == 80");
    let said_otherwise = [
        claims("a", "port == 81"),
        // From then on, and until then, it is another.
        since("a", 9, "port == 81"),
        ObjectDocument {
            valid_until: Some(Instant::from_micros(9)),
            ..claims("a", "port == 81")
        },
        ObjectDocument {
            canonical_entity_ids: vec!["table".into()],
            ..a()
        },
        claims("a", "host == 80"),
    ];
    for other in said_otherwise {
        put(&acme, vec![a()]);
        acme.retract(both[0], Expect::Any, &Writing::default()).unwrap();
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
        acme.judge(both[1], status, None, &Writing::default()).unwrap();
        assert!(decided());
        put(&acme, vec![other.clone()]);
        assert!(!decided(), "{other:?}");
    }
    // The history keeps it, with its end; what comes next is judged by the protocols.
    put(&acme, vec![claims("b", "port == 444")]);
    acme.retract(both[0], Expect::Any, &Writing::default()).unwrap();
    put(&acme, vec![a()]);
    let history = acme.conflict_history(both[0], both[1], None).unwrap();
    let persons: Vec<&Conflict> =
        history.iter().filter(|one| one.ground == Ground::Person).collect();
    assert_eq!(persons.len(), 5);
    assert!(persons.iter().all(|one| one.tx_end.is_some()));
    assert_eq!(history.last().unwrap().ground, Ground::Tie);
    // The claim of the other one counts as much.
    decide(&acme, both[0], both[1]).unwrap();
    put(&acme, vec![claims("b", "port == 443")]);
    assert!(!decided());
}

fn own(name: &str, id: ObjectId, claim: &str) -> ObjectDocument {
    ObjectDocument {
        object_id: Some(id),
        ..claims(name, claim)
    }
}

fn a_decision_that_is_made_already_changes_nothing(home: &Home) {
    let acme = home.tenant("acme");
    let both = ids(
        &acme,
        vec![claims("a", "port == 80"), claims("b", "port == 443")],
    );
    let by = |name: &str| Writing {
        author: Some(name.into()),
        ..Writing::default()
    };
    let decide = |stands, note, by: &Writing| {
        acme.resolve_conflict(both[0], both[1], stands, note, None, by).unwrap()
    };
    let history = || acme.conflict_history(both[0], both[1], None).unwrap();
    let said = |one: &Conflict| (one.by.clone(), one.note.clone());
    let told = |by: &str, note: &str| (Some(by.to_owned()), Some(note.to_owned()));
    assert!(!decide(Decision::First, Some("asked Ada"), &by("kim")).nothing_changed);
    let loaded = Arc::new(acme.load().unwrap());
    let (decided, resident) = (history(), loaded.version());
    // Said again, with or without its note, whoever says so.
    for note in [None, Some("asked Ada")] {
        let same = decide(Decision::First, note, &by("bob"));
        assert!(same.nothing_changed);
        assert_eq!(same.objects.len(), 2);
        assert!(same.objects.iter().all(|one| one.outcome == Outcome::Unchanged));
        assert_eq!(history(), decided);
    }
    assert!(acme.version().unwrap() > resident);
    let same = acme.resolve_conflict(both[1], both[0], Decision::Second, None, None, &by("bob"));
    assert!(same.unwrap().nothing_changed);
    assert_eq!(history(), decided);
    // Another note is kept, and so is another decision.
    assert!(!decide(Decision::First, Some("saw the lease"), &by("bob")).nothing_changed);
    assert_eq!(history().len(), decided.len() + 1);
    assert_eq!(
        said(history().last().unwrap()),
        told("bob", "saw the lease")
    );
    assert!(!decide(Decision::Second, None, &by("eve")).nothing_changed);
    assert_eq!(said(history().last().unwrap()), (Some("eve".into()), None));
    assert!(acme.check().unwrap().is_empty());
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
            object_id: Some(both[0]),
            user_id: Some("eve".into()),
            ..claims("a", "port == 81")
        }],
    );
    // Between, both agree.
    put(&acme, vec![own("a", both[0], "port == 443")]);
    put(&acme, vec![own("a", both[0], "port == 82")]);
    let from = ObjectDocument {
        valid_from: Some(Instant::from_micros(4)),
        ..own("a", both[0], "port == 83")
    };
    put(&acme, vec![from]);
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
    // Each says of when its words are; what holds, those of now.
    for one in acme.conflict_history(both[0], both[1], None).unwrap() {
        assert_eq!(one.claimed_at, one.tx_end.map(|_| one.tx_start));
    }
    let all = said(None);
    assert_eq!(
        all[..3],
        ["port == 80", "port == 80", "port == 81"],
        "{all:?}"
    );
    assert_eq!(all.last().unwrap(), "port == 82, port == 83");
    // Who might not see what was claimed then is not told of it.
    let sees = |objects: &[Arc<ContextObject>]| {
        let open = objects.iter().map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    let open = said(Some(&sees));
    assert!(!open.iter().any(|claim| claim.contains("81")), "{open:?}");
    assert_eq!(open.first().unwrap(), "port == 80");
    let then = acme.conflicts(first, None).unwrap();
    assert!(then.iter().all(|one| one.claimed_at == first));
    let shown = [&then[0].first, &then[0].second];
    let shown: BTreeSet<&str> =
        shown.iter().flat_map(|one| &one.claims).map(String::as_str).collect();
    assert_eq!(shown, BTreeSet::from(["port == 443", "port == 80"]));
    // A part of an object that may not be seen is not shown beside one that may.
    put(
        &acme,
        vec![ObjectDocument {
            object_id: Some(both[1]),
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
    // A compile is told of both, with the ids of the one that rests, which comes last.
    let resident = acme.load().unwrap();
    let told = resident.candidates().objects().iter().map(|object| {
        let decisions = object.status().decisions.iter();
        let each = decisions.flat_map(|all| all.iter());
        let each = each.map(|one| (one.stands, one.merged.as_ref().map(|ids| ids.join(" "))));
        (object.name().to_owned(), each.collect())
    });
    type Told = Vec<(Decision, Option<String>)>;
    let told: BTreeMap<String, Told> = told.collect();
    let of = |live, resting, ids: &str| vec![(live, None), (resting, Some(ids.to_owned()))];
    assert_eq!(
        told["a"],
        of(Decision::Second, Decision::First, "desk table")
    );
    assert_eq!(
        told["b"],
        of(Decision::First, Decision::Second, "table desk")
    );
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
    // More judgements than are read at once.
    let mut documents: Vec<ObjectDocument> = (0..14)
        .map(|number| ObjectDocument {
            user_id: (number % 4 == 3).then(|| "eve".into()),
            ..claims(&format!("c{number}"), &format!("port == {number}"))
        })
        .collect();
    documents.extend((0..4).map(|number| {
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
        let open = objects.iter().map(|object| object.revision().scope().user.is_none());
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
        let objects = if sees.is_some() { 15 } else { 18 };
        assert_eq!(all.len(), objects * (objects - 1) / 2 + 2);
        let query = ConflictQuery {
            sees,
            ..ConflictQuery::default()
        };
        for most in [1, 7, 1_000] {
            assert_eq!(pages(&query, most), all, "{most}");
        }
        let of = |entity, slot| ConflictQuery {
            entity,
            slot,
            ..query
        };
        let lamp: Vec<Conflict> = all.iter().filter(|one| one.entity == "lamp").cloned().collect();
        assert_eq!(pages(&of(Some("lamp"), None), 7), lamp);
        assert_eq!(pages(&of(Some("lamp"), Some("port")), 7), []);
        assert_eq!(pages(&of(None, Some("size")), 1).len(), 2);
        // One that is merged stands for the other.
        assert_eq!(
            pages(&of(Some("desk"), Some("port")), 7).len(),
            all.len() - 2
        );
        for slot in [None, Some("port")] {
            assert_eq!(
                pages(&of(Some("table"), slot), 7),
                pages(&of(Some("desk"), slot), 7)
            );
        }
    }
    let first = &conflicts(&acme)[0];
    decide(&acme, first.first.object_id, first.second.object_id).unwrap();
    let waiting = ConflictQuery {
        waiting: true,
        ..ConflictQuery::default()
    };
    assert_eq!(pages(&waiting, 7).len(), conflicts(&acme).len() - 1);
}

/// Whatever a page may hold, and wherever it ends in what is read at once.
fn pages_of_any_size_make_the_list(home: &Home) {
    let acme = home.tenant("acme");
    let mut documents: Vec<ObjectDocument> = (0..17)
        .map(|number| ObjectDocument {
            user_id: (number % 5 == 4).then(|| "eve".into()),
            ..claims(&format!("c{number}"), &format!("port == {}", number % 13))
        })
        .collect();
    // Some pairs have several judgements, and one has more than are read at once.
    let of_many = |name: String, number: u32, entities: u32| ObjectDocument {
        canonical_entity_ids: (0..entities).map(|of| format!("e{of}")).collect(),
        ..claims(&name, &format!("size == {number}"))
    };
    documents.extend((0..7).map(|number| of_many(format!("s{number}"), number, 3)));
    documents.extend((0..2).map(|number| of_many(format!("w{number}"), number + 20, 90)));
    let all = ids(&acme, documents);
    for pair in [[0, 1], [0, 2], [17, 18]] {
        decide(&acme, all[pair[0]], all[pair[1]]).unwrap();
    }
    let whole = conflicts(&acme).len();
    assert!(whole > 280, "{whole}");
    let mut dice = crate::common::Dice(25);
    for round in 0..rounds(40, 400) {
        let query = ConflictQuery {
            sees: (dice.roll(2) == 0).then_some(&not_eves as &tenure_store::Sees<'_>),
            waiting: dice.roll(3) == 0,
            slot: [None, Some("port"), Some("size")][dice.roll(3) as usize],
            entity: [None, None, Some("desk"), Some("e1"), Some("e70")][dice.roll(5) as usize],
            ..ConflictQuery::default()
        };
        let list = acme.conflicts(None, query.sees).unwrap().into_iter();
        let list = list.filter(|one| {
            query.slot.is_none_or(|slot| one.slot == slot)
                && query.entity.is_none_or(|entity| one.entity == entity)
                && (!query.waiting || one.loser == Loser::Both && one.ground != Ground::Person)
        });
        let list: Vec<Conflict> = list.collect();
        // About as many as are read at once, and any other number.
        let most = match round % 3 {
            0 => 60 + dice.roll(8) as usize,
            1 => 1 + dice.roll(70) as usize,
            _ => 1 + dice.roll(400) as usize,
        };
        let pair = |one: &Conflict| (one.first.object_id, one.second.object_id);
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = ConflictQuery { after, ..query };
            let page = acme.conflict_page(&page, most).unwrap();
            // What is more than asked for is of the last two objects.
            let more = page.conflicts.get(most - 1..).unwrap_or_default();
            assert!(more.windows(2).all(|two| pair(&two[0]) == pair(&two[1])));
            let is_full = page.conflicts.len() >= most;
            found.extend(page.conflicts);
            let Some(next) = page.next else { break };
            assert!(is_full && after.is_none_or(|after| after < next));
            after = Some(next);
        }
        assert_eq!(found, list, "{most} {round}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(24, 2_000), ..ProptestConfig::default() })]

    // Whatever is decided, in whatever order: decisions never go round in a circle, and one for either of two takes away nothing that is left at
    // an instant.
    #[test]
    fn decisions_leave_something(
        begins in prop::collection::vec((prop::option::of(0i64..4), 0u8..4), 3..7),
        decisions in prop::collection::vec((0usize..7, 0usize..7, any_decision()), 1..16),
    ) {
        let (home, name) = fresh();
        let acme = home.tenant(&name);
        let documents = begins.iter().enumerate().map(|(number, (from, value))| ObjectDocument {
            valid_from: from.map(Instant::from_micros),
            ..claims(&format!("o{number}"), &format!("port == {value}"))
        });
        let all = ids(&acme, documents.collect());
        let instants: Vec<i64> = (-1..5).collect();
        for (one, other, stands) in decisions {
            let (Some(one), Some(other)) = (all.get(one), all.get(other)) else {
                continue;
            };
            let before = is_left(&acme, &instants);
            match acme.resolve_conflict(*one, *other, stands, None, None, &Writing::default()) {
                Err(error) => prop_assert_eq!(error.kind, ErrorKind::Conflict),
                // That neither stands, or both do, may be what leaves nothing.
                Ok(_) if matches!(stands, Decision::First | Decision::Second) => {
                    for (before, after) in before.into_iter().zip(is_left(&acme, &instants)) {
                        prop_assert!(after || !before);
                    }
                }
                Ok(_) => {}
            }
        }
        let mut over: BTreeMap<ObjectId, BTreeSet<ObjectId>> = BTreeMap::new();
        for one in conflicts(&acme) {
            let (first, second) = (one.first.object_id, one.second.object_id);
            match (one.ground, one.loser) {
                (Ground::Person, Loser::Second) => drop(over.entry(first).or_default().insert(second)),
                (Ground::Person, Loser::First) => drop(over.entry(second).or_default().insert(first)),
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
    }
}

fn any_decision() -> impl Strategy<Value = Decision> {
    prop_oneof![
        3 => Just(Decision::First),
        3 => Just(Decision::Second),
        1 => Just(Decision::Both),
        1 => Just(Decision::Neither)
    ]
}
