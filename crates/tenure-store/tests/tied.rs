//! Claims that only their confidence tells apart: whoever is revised first, and however often, the same stand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tenure::belief::{Ground, Loser};
use tenure::num::Score;
use tenure::object::{Authority, ObjectId, ObjectType};
use tenure::time::Instant;
use tenure::{ErrorKind, ObjectDocument};
use tenure_store::{ConflictQuery, Outcome, Silence, Tenant, Writing};

use crate::common::{Home, compiled_for, document, fresh, now, put, rounds};

on_both_engines!(
    a_tie_is_one_whoever_is_revised,
    what_more_sources_claim_stands_whoever_is_revised,
    what_not_the_same_people_may_see_decides_no_tie,
    what_was_inferred_and_waits_is_weighed_with_those_that_it_is_tied_with,
    more_than_can_be_revised_at_once_are_refused,
    the_order_of_revisions_changes_nothing,
);

fn claims(name: &str, value: u8, origin: &str) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some(format!("port == {value}")),
        canonical_entity_ids: vec!["desk".into()],
        source_origin: Some(format!("chat://{origin}")),
        ..document(name, &format!("The port of the desk is {value}."))
    }
}

fn ids(tenant: &Tenant, documents: Vec<ObjectDocument>) -> Vec<ObjectId> {
    let written = put(tenant, documents).objects;
    written.iter().map(|one| one.object_id).collect()
}

fn revise(tenant: &Tenant, id: ObjectId) -> (Outcome, BTreeSet<ObjectId>) {
    let (_, written) = tenant.revise_belief(id, now(), None, &Writing::default()).unwrap();
    assert_eq!(written.objects[0].object_id, id);
    let each = written.objects.iter();
    let revised = each.filter(|one| one.outcome == Outcome::Revised);
    (
        written.objects[0].outcome,
        revised.map(|one| one.object_id).collect(),
    )
}

/// Who loses of each pair, and on what ground.
type Judged = BTreeMap<(String, String), (Loser, Ground)>;

fn judged(tenant: &Tenant) -> Judged {
    let page = tenant.conflict_page(&ConflictQuery::default(), 10_000);
    let each = page.unwrap().conflicts.into_iter().map(|one| {
        let (first, second) = (one.first.name, one.second.name);
        // Ids are of the tenant: the order of the two is not.
        if first < second {
            ((first, second), (one.loser, one.ground))
        } else {
            ((second, first), (one.loser.swapped(), one.ground))
        }
    });
    each.collect()
}

fn unresolved(tenant: &Tenant) -> usize {
    let query = ConflictQuery {
        waiting: true,
        ..ConflictQuery::default()
    };
    tenant.conflict_page(&query, 100).unwrap().conflicts.len()
}

fn confidence(tenant: &Tenant, id: ObjectId) -> Score {
    tenant.get(id).unwrap()[0].object.revision().confidence()
}

fn stand(tenant: &Tenant) -> Vec<String> {
    let mut stand = compiled_for(tenant, "ada", "Which port has the desk?");
    stand.sort();
    stand
}

fn a_tie_is_one_whoever_is_revised(home: &Home) {
    for (at, order) in [[0, 1, 2], [2, 0, 1], [1, 2, 0]].into_iter().enumerate() {
        for parties in [2, 3] {
            let tenant = home.tenant(&format!("t{at}{parties}"));
            let all = (0u8..parties).map(|at| claims(&format!("c{at}"), at, &format!("o{at}")));
            let all = ids(&tenant, all.collect());
            let before = judged(&tenant);
            assert!(before.values().all(|one| *one == (Loser::Both, Ground::Tie)));
            let order = order.into_iter().filter(|at| *at < all.len());
            for (turn, at) in order.enumerate() {
                let (outcome, revised) = revise(&tenant, all[at]);
                // The first revises all of them, and nothing is left for the others.
                let expected = if turn == 0 {
                    (Outcome::Revised, all.iter().copied().collect())
                } else {
                    (Outcome::Unchanged, BTreeSet::new())
                };
                assert_eq!((outcome, revised), expected);
                assert_eq!(judged(&tenant), before);
                assert_eq!(unresolved(&tenant), before.len());
                assert_eq!(stand(&tenant), [""; 0]);
            }
            let all: BTreeSet<Score> = all.iter().map(|id| confidence(&tenant, *id)).collect();
            assert_eq!(all.len(), 1);
            assert!(tenant.check().unwrap().is_empty());
        }
    }
}

fn what_more_sources_claim_stands_whoever_is_revised(home: &Home) {
    for first in 0..3 {
        let tenant = home.tenant(&format!("t{first}"));
        let all = vec![
            claims("one", 1, "a"),
            claims("also", 1, "b"),
            claims("other", 2, "c"),
        ];
        let all = ids(&tenant, all);
        assert_eq!(stand(&tenant), [""; 0]);
        revise(&tenant, all[first]);
        // Of two that say the same, a compile has one.
        let stand = stand(&tenant);
        assert!(matches!(&stand[..], [one] if one != "other"), "{stand:?}");
        for id in &all {
            assert_eq!(revise(&tenant, *id), (Outcome::Unchanged, BTreeSet::new()));
        }
    }
    // What is decided before the confidence is compared is revised alone.
    let tenant = home.tenant("later");
    let later = ObjectDocument {
        valid_from: Some(Instant::from_micros(1)),
        ..claims("later", 2, "b")
    };
    let all = ids(&tenant, vec![claims("one", 1, "a"), later]);
    let before = judged(&tenant);
    assert_eq!(revise(&tenant, all[0]).1, [all[0]].into());
    assert_eq!(judged(&tenant), before);
    assert_eq!(stand(&tenant), ["later"]);
}

fn what_not_the_same_people_may_see_decides_no_tie(home: &Home) {
    let acme = home.tenant("acme");
    let hers = ObjectDocument {
        user_id: Some("ada".into()),
        ..claims("hers", 2, "b")
    };
    let all = ids(&acme, vec![claims("open", 1, "a"), hers]);
    let version = acme.version().unwrap();
    for id in &all {
        assert_eq!(revise(&acme, *id), (Outcome::Unchanged, BTreeSet::new()));
        assert_eq!(unresolved(&acme), 1);
        assert_eq!(stand(&acme), [""; 0]);
    }
    assert_eq!(acme.version().unwrap(), version);
    let silent = |id| {
        let shown = acme.belief(id, now(), None).unwrap();
        shown.evidence[0].silent
    };
    assert_eq!(silent(all[0]), Some(Silence::NotForAll));
    assert_eq!(silent(all[1]), Some(Silence::OneSided));
    // What only one of them shares with others is revised without the other.
    let third = ids(&acme, vec![claims("third", 3, "c")])[0];
    let (_, revised) = revise(&acme, all[0]);
    assert_eq!(revised, [all[0], third].into());
}

fn what_was_inferred_and_waits_is_weighed_with_those_that_it_is_tied_with(home: &Home) {
    let acme = home.tenant("acme");
    let guess = |name: &str, value, from: &[ObjectId]| ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        source_origin: None,
        derived_from: from.to_vec(),
        ..claims(name, value, name)
    };
    let source = |name: &str| ObjectDocument {
        source_origin: Some(format!("chat://{name}")),
        ..document(name, name)
    };
    let sources = ids(&acme, ["a", "b", "c", "d"].map(source).to_vec());
    let known = ids(&acme, vec![guess("known", 1, &sources[..2])])[0];
    let waits = ids(&acme, vec![guess("waits", 2, &sources[2..3])])[0];
    put(&acme, vec![claims("more", 2, "d")]);
    // It is believed from now on, and speaks against what it is tied with in the same write.
    let (_, revised) = revise(&acme, waits);
    assert_eq!(revised, [waits, known].into());
    let after = [known, waits].map(|id| confidence(&acme, id));
    assert_eq!(revise(&acme, known).0, Outcome::Unchanged);
    assert_eq!([known, waits].map(|id| confidence(&acme, id)), after);
}

fn more_than_can_be_revised_at_once_are_refused(home: &Home) {
    let acme = home.tenant("acme");
    let many = (0u8..65).map(|at| claims(&format!("c{at}"), at, &format!("o{at}")));
    let many = ids(&acme, many.collect());
    let refused = acme.revise_belief(many[7], now(), None, &Writing::default());
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy);
    assert!(refused.expected.unwrap().contains("at most 64"));
    acme.retract(many[0], tenure_store::Expect::Any, &Writing::default()).unwrap();
    assert_eq!(revise(&acme, many[7]).1.len(), 64);
}

/// A claim: its value, its origin, the facts that are compared before the confidence, and what its author gives it.
type Drawn = (u8, u8, bool, bool, bool, u8);

fn any_claim() -> impl Strategy<Value = Drawn> {
    let rare = || prop::bool::weighted(0.2);
    (0u8..3, 0u8..5, rare(), rare(), rare(), 0u8..3)
}

fn drawn(
    at: usize,
    (value, origin, is_later, is_worse, is_of_user, sure): Drawn,
) -> ObjectDocument {
    ObjectDocument {
        valid_from: is_later.then(|| Instant::from_micros(1)),
        authority_level: is_of_user.then_some(Authority::User),
        source_authority: Some(Score::from_millionths(if is_worse {
            400_000
        } else {
            800_000
        })),
        confidence_score: Some(Score::from_millionths(500_000 + 200_000 * u32::from(sure))),
        ..claims(&format!("c{at}"), value, &format!("o{origin}"))
    }
}

/// The groups of claims that only their confidence tells apart, each with more than one.
fn groups(all: &[Drawn]) -> Vec<BTreeSet<usize>> {
    let is_tied = |a: usize, b: usize| {
        let (a, b) = (all[a], all[b]);
        a.0 != b.0 && (a.2, a.3, a.4) == (b.2, b.3, b.4)
    };
    let mut left: BTreeSet<usize> = (0..all.len()).collect();
    let mut groups = Vec::new();
    while let Some(first) = left.pop_first() {
        let (mut group, mut open) = (BTreeSet::from([first]), vec![first]);
        while let Some(one) = open.pop() {
            let near: Vec<usize> = left.iter().copied().filter(|two| is_tied(one, *two)).collect();
            for two in near {
                left.remove(&two);
                group.insert(two);
                open.push(two);
            }
        }
        if group.len() > 1 {
            groups.push(group);
        }
    }
    groups
}

/// Revises some in some order, and all in their own: of each group that is tied at least one.
fn revised_in_any_order(tenants: [&Tenant; 2], all: &[Drawn], order: &[usize]) {
    let documents = || all.iter().enumerate().map(|(at, one)| drawn(at, *one)).collect();
    let [some, every] = tenants.map(|tenant| (tenant, ids(tenant, documents())));
    assert_eq!(judged(some.0), judged(every.0));
    let mut order: Vec<usize> = order.iter().copied().filter(|at| *at < all.len()).collect();
    for group in groups(all) {
        if !order.iter().any(|at| group.contains(at)) {
            order.extend(group.first());
        }
    }
    for at in order {
        revise(some.0, some.1[at]);
    }
    for id in &every.1 {
        revise(every.0, *id);
    }
    assert_eq!(judged(some.0), judged(every.0));
    // Of two that say the same, a compile has one, whichever that is.
    let values = |tenant: &Tenant| -> BTreeSet<u8> {
        let names = stand(tenant).into_iter();
        let places = names.map(|name| name[1..].parse::<usize>().unwrap());
        places.map(|at| all[at].0).collect()
    };
    assert_eq!(values(some.0), values(every.0));
    // Once more changes nothing.
    for id in &every.1 {
        assert_eq!(revise(every.0, *id), (Outcome::Unchanged, BTreeSet::new()));
    }
}

fn the_order_of_revisions_changes_nothing(home: &Home) {
    let plain = |value, origin, sure| (value, origin, false, false, false, sure);
    let worlds = [
        vec![
            plain(0, 0, 2),
            plain(1, 1, 2),
            plain(1, 0, 2),
            plain(2, 2, 1),
        ],
        vec![
            plain(0, 0, 0),
            plain(1, 1, 2),
            (1, 2, true, false, false, 1),
            (2, 3, true, false, false, 1),
        ],
        vec![
            plain(0, 0, 1),
            plain(1, 1, 1),
            (2, 1, false, false, true, 1),
            (0, 3, false, true, false, 1),
        ],
    ];
    for (number, world) in worlds.iter().enumerate() {
        for (at, order) in [vec![0], vec![3, 1], vec![2, 2, 0, 1]].iter().enumerate() {
            let tenant = |part: &str| home.tenant(&format!("w{number}{at}{part}"));
            revised_in_any_order([&tenant("some"), &tenant("all")], world, order);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(24, 2_000), ..ProptestConfig::default() })]

    #[test]
    fn whoever_is_revised_first_the_same_stand(
        all in prop::collection::vec(any_claim(), 2..8),
        order in prop::collection::vec(0usize..8, 0..8),
    ) {
        let (home, name) = fresh();
        let tenants = ["some", "all"].map(|part| home.tenant(&format!("{name}{part}")));
        revised_in_any_order([&tenants[0], &tenants[1]], &all, &order);
    }
}
