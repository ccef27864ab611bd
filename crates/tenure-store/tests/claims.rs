//! Claims that cannot both hold, as writes settle them: the same on both engines, in whatever order writes come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::entity::EntityOp;
use tenure::belief::{Ground, Loser};
use tenure::num::Score;
use tenure::object::{
    Authority, ContradictionStatus, Decision, Lifecycle, ObjectId, ObjectType, Provenance,
    SlotCardinality, SourceKind,
};
use tenure::time::Instant;
use tenure::{AsOf, ErrorKind, ObjectDocument, Policy};
use tenure_store::{
    Conflict, ConflictQuery, Expect, MOST_OPPONENTS, Put, ResolverAction, Store, Tenant, WriteNote,
    Writing,
};

use crate::common::{Home, compiled_for, document, now, put, rounds};
use crate::retirement::verdicts_under;

on_both_engines!(
    a_conflict_is_judged_decided_and_gone,
    whom_to_ask_follows_from_where_both_come_from,
    what_loses_by_its_source_is_disputed,
    a_claim_that_is_none_is_noted,
    who_may_not_see_both_is_told_of_neither,
    nothing_of_an_erased_claim_is_left,
    an_imported_history_is_settled,
    many_claims_on_one_slot_are_judged_against_the_strongest,
    a_crowd_on_one_slot_is_listed_and_compiled,
    a_decision_on_a_pair_that_is_gone_is_refused,
    two_nodes_settle_one_slot,
    a_pair_that_a_merge_makes_is_listed_decided_and_taken_back,
);

pub(crate) fn claims(name: &str, claim: &str) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some(claim.into()),
        canonical_entity_ids: vec!["desk".into()],
        ..document(name, claim)
    }
}

pub(crate) fn ids(tenant: &Tenant, documents: Vec<ObjectDocument>) -> Vec<ObjectId> {
    let written = put(tenant, documents).objects;
    written.iter().map(|object| object.object_id).collect()
}

pub(crate) fn conflicts(tenant: &Tenant) -> Vec<Conflict> {
    tenant.conflicts(None, None).unwrap()
}

/// The name of the one that stands, or of none.
pub(crate) fn stands(conflict: &Conflict) -> Option<&str> {
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
    assert!(objects.iter().all(|object| object.status().decisions.is_none()));

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
    assert!(history[1].tx_end.is_some_and(|end| end < history[2].tx_start));
    // Neither what is retracted, nor archived, nor judged takes part.
    for gone in 0..3 {
        match gone {
            0 => drop(acme.retract(both[0], Expect::Any, &Writing::default()).unwrap()),
            1 => drop(acme.age(vec![both[0]], Lifecycle::Archived, &Writing::default()).unwrap()),
            _ => {
                let status = ContradictionStatus::Quarantined;
                acme.judge(both[0], status, None, &Writing::default()).unwrap();
            }
        }
        assert_eq!(conflicts(&acme), [], "{gone}");
        acme.age(vec![both[0]], Lifecycle::Active, &Writing::default()).unwrap();
        put(&acme, vec![claims("a", "port == 80")]);
        assert_eq!(conflicts(&acme).len(), usize::from(gone < 2), "{gone}");
    }
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}

fn whom_to_ask_follows_from_where_both_come_from(home: &Home) {
    use ResolverAction::{SystemOfRecord, ToolLookup, UserQuestion};
    let of_kind = |kind: SourceKind| Provenance {
        source_kind: Some(kind),
        ..Provenance::default()
    };
    let from = |kind: SourceKind| ObjectDocument {
        provenance: Some(of_kind(kind)),
        ..ObjectDocument::default()
    };
    let result = ObjectDocument {
        object_type: Some(ObjectType::ToolResult),
        tool_call_id: Some("call-1".into()),
        ..ObjectDocument::default()
    };
    let path = ObjectDocument {
        update_path: Some("https://records.example/desk".into()),
        ..ObjectDocument::default()
    };
    // What is from the web is no system of record by saying so.
    let page = ObjectDocument {
        source_origin: Some("https://evil.example/1".into()),
        ..from(SourceKind::SystemOfRecord)
    };
    let plain = ObjectDocument::default();
    let both = ObjectDocument {
        provenance: Some(of_kind(SourceKind::Tool)),
        ..path.clone()
    };
    for (at, (one, other, actions)) in [
        (&plain, &plain, &[UserQuestion][..]),
        (&from(SourceKind::Document), &plain, &[UserQuestion]),
        (&page, &plain, &[UserQuestion]),
        (
            &from(SourceKind::SystemOfRecord),
            &plain,
            &[SystemOfRecord, UserQuestion],
        ),
        (&path, &plain, &[SystemOfRecord, UserQuestion]),
        (&from(SourceKind::Tool), &plain, &[ToolLookup, UserQuestion]),
        (&result, &plain, &[ToolLookup, UserQuestion]),
        (
            &from(SourceKind::SystemOfRecord),
            &from(SourceKind::Tool),
            &[SystemOfRecord, ToolLookup, UserQuestion],
        ),
        (&both, &plain, &[SystemOfRecord, ToolLookup, UserQuestion]),
    ]
    .into_iter()
    .enumerate()
    {
        let tenant = home.tenant(&format!("t{at}"));
        // Alike in all that a protocol compares.
        let says = |name: &str, claim: &str, of: &ObjectDocument| {
            let own = claims(name, claim);
            ObjectDocument {
                name: own.name,
                content: own.content,
                normalized_claim: own.normalized_claim,
                canonical_entity_ids: own.canonical_entity_ids,
                authority_level: Some(Authority::Data),
                source_authority: Some(Score::HALF),
                ..of.clone()
            }
        };
        ids(
            &tenant,
            vec![
                says("a", "port == 80", one),
                says("b", "port == 443", other),
            ],
        );
        let found = conflicts(&tenant);
        assert_eq!(found.len(), 1, "{at}");
        assert_eq!(found[0].actions, actions, "{at}");
        // Once it is decided, nobody is asked.
        let (first, second) = (found[0].first.object_id, found[0].second.object_id);
        tenant
            .resolve_conflict(
                first,
                second,
                Decision::First,
                None,
                None,
                &Writing::default(),
            )
            .unwrap();
        assert_eq!(conflicts(&tenant)[0].actions, [], "{at}");
    }
}

/// The list, the reason of a compile and what a record says of it are one word.
fn what_loses_by_its_source_is_disputed(home: &Home) {
    let acme = home.tenant("acme");
    let of = |name: &str, claim: &str, authority: Authority, quality: u32| ObjectDocument {
        authority_level: Some(authority),
        source_authority: Some(Score::from_millionths(quality)),
        ..claims(name, claim)
    };
    let user = Authority::User;
    ids(
        &acme,
        vec![
            of("worse", "port == 80", user, 100_000),
            of("better", "port == 443", user, 900_000),
            of("low", "host == x", user, 900_000),
            of("high", "host == y", Authority::Developer, 100_000),
        ],
    );
    let (disputed, overridden) = (
        ContradictionStatus::Disputed,
        ContradictionStatus::Overridden,
    );
    let listed: BTreeMap<Ground, ContradictionStatus> =
        conflicts(&acme).into_iter().map(|one| (one.ground, one.status)).collect();
    let expected = [
        (Ground::Authority, overridden),
        (Ground::SourceAuthority, disputed),
    ];
    assert_eq!(listed, expected.into());

    let loaded = acme.load().unwrap();
    for (rule, low) in [
        ("settle", overridden),
        ("quarantine", ContradictionStatus::Quarantined),
    ] {
        let policy = Policy::from_toml(&format!("contradictions = \"{rule}\"")).unwrap();
        let out = verdicts_under(&policy, loaded.candidates(), AsOf::both(now()));
        let status = |name: &str| out.iter().find(|(own, _)| own == name).unwrap().1.clone();
        assert_eq!(status("worse").contradiction(), Some(disputed), "{rule}");
        assert_eq!(status("low").contradiction(), Some(low), "{rule}");
        assert_eq!(status("worse").code(), "overridden");
        assert!(status("worse").sentence().starts_with("disputed, and `better` stands"));
    }
    // The policy of a compile changes nothing in the list.
    assert!(
        conflicts(&acme)
            .iter()
            .all(|one| one.status != ContradictionStatus::Quarantined)
    );
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
        let open = objects.iter().map(|object| object.revision().scope().user.is_none());
        open.collect::<Vec<bool>>()
    };
    assert_eq!(acme.conflicts(None, Some(&sees)).unwrap(), []);
    assert_eq!(
        acme.conflict_history(both[0], both[1], Some(&sees)).unwrap(),
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

fn a_crowd_on_one_slot_is_listed_and_compiled(home: &Home) {
    let acme = home.tenant("acme");
    // Ten thousand take longer than the other tests where nothing is optimised.
    let many = rounds(200, 10_000);
    let began = std::time::Instant::now();
    let all: Vec<ObjectDocument> = (0..many)
        .map(|number| ObjectDocument {
            valid_from: Some(Instant::from_micros(i64::from(number))),
            ..claims(&format!("c{number}"), &format!("port == {number}"))
        })
        .collect();
    // The newest comes last but one, and something older last.
    for part in all.chunks(1_000) {
        put(&acme, part.to_vec());
    }
    put(&acme, vec![claims("late", "port == 70000")]);
    let wrote = began.elapsed();
    let newest = format!("c{}", many - 1);
    // In pages each pair stands once, in one order, and all that lose are there.
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let query = ConflictQuery {
            after,
            ..ConflictQuery::default()
        };
        let page = acme.conflict_page(&query, 1_000).unwrap();
        assert!(page.conflicts.len() <= 1_000 + 1);
        pages.extend(page.conflicts);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let paged = began.elapsed() - wrote;
    if many <= 1_000 {
        assert_eq!(pages, conflicts(&acme));
    }
    let loser = |conflict: &Conflict| match conflict.loser {
        Loser::First => conflict.first.name.clone(),
        _ => conflict.second.name.clone(),
    };
    let lost: BTreeSet<String> = pages.iter().map(loser).collect();
    let listed = began.elapsed() - wrote;
    println!(
        "{many} claims, {} pairs: written in {wrote:?}, in pages in {paged:?}, listed twice in {listed:?}",
        pages.len()
    );
    // The newest of each write lost to none of that write, and the later ones are judged against the strongest of theirs.
    assert_eq!(lost.len(), many as usize - (all.len().div_ceil(1_000) - 1));
    assert!(!lost.contains(&newest));
    // One of them is told to a model.
    let told = compiled_for(&acme, "kim", "Which port is it?");
    assert_eq!(told, [newest]);
    let took = began.elapsed();
    let compiled = took - wrote - listed;
    println!("{many} claims: compiled in {compiled:?}");
    assert!(took.as_secs() < u64::from(120 + many / 4), "{took:?}");
}

fn a_decision_on_a_pair_that_is_gone_is_refused(home: &Home) {
    let acme = home.tenant("acme");
    let writing = Writing::default();
    let pair = |name: &str| {
        let (a, b) = (format!("{name} a"), format!("{name} b"));
        let of = |object: &str, port: u32| {
            let document = about(object, name, &format!("port == {port}"));
            ObjectDocument {
                valid_from: Some(Instant::from_micros(10)),
                valid_until: Some(Instant::from_micros(20)),
                ..document
            }
        };
        (ids(&acme, vec![of(&a, 80), of(&b, 443)]), of(&a, 80))
    };
    type Goes<'g> = &'g dyn Fn(ObjectId, ObjectDocument);
    let gone: [(&str, Goes<'_>); 6] = [
        ("retracted", &|id, _| {
            acme.retract(id, Expect::Any, &writing).unwrap();
        }),
        ("archived", &|id, _| {
            acme.age(vec![id], Lifecycle::Archived, &writing).unwrap();
        }),
        ("erased", &|id, _| {
            acme.erase(vec![id], &writing).unwrap();
        }),
        ("about another", &|_, document| {
            let elsewhere = ObjectDocument {
                canonical_entity_ids: vec!["elsewhere".into()],
                ..document
            };
            put(&acme, vec![elsewhere]);
        }),
        ("without its claim", &|_, document| {
            let silent = ObjectDocument {
                normalized_claim: None,
                ..document
            };
            put(&acme, vec![silent]);
        }),
        ("of many values", &|_, document| {
            let many = ObjectDocument {
                slot_cardinality: Some(SlotCardinality::Multiple),
                ..document
            };
            put(&acme, vec![many]);
        }),
    ];
    for (name, goes) in gone {
        let (both, document) = pair(name);
        let open = || {
            let all = conflicts(&acme).into_iter();
            all.filter(|one| one.entity == name).count()
        };
        assert_eq!(open(), 1, "{name}");
        goes(both[0], document);
        assert_eq!(open(), 0, "{name}");
        let (version, held) = (acme.version().unwrap(), crate::common::exported(&acme));
        for stands in [Decision::First, Decision::Second, Decision::Both] {
            let refused = acme.resolve_conflict(both[0], both[1], stands, None, None, &writing);
            let refused = refused.unwrap_err();
            let expected = [ErrorKind::Conflict, ErrorKind::NotFound];
            assert!(expected.contains(&refused.kind), "{name}: {refused}");
        }
        assert_eq!(acme.version().unwrap(), version, "{name}");
        assert_eq!(crate::common::exported(&acme), held, "{name}");
        let history = acme.conflict_history(both[0], both[1], None).unwrap();
        assert!(
            history.iter().all(|one| one.ground != Ground::Person),
            "{name}"
        );
    }
    assert!(acme.check().unwrap().is_empty());
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

pub(crate) fn create(id: &str) -> EntityOp {
    let op = serde_json::json!({ "op": "create", "id": id, "name": format!("the {id}") });
    serde_json::from_value(op).unwrap()
}

pub(crate) fn merge(id: &str, into: &str) -> EntityOp {
    EntityOp::Merge {
        id: id.into(),
        into: into.into(),
    }
}

pub(crate) fn change(tenant: &Tenant, op: EntityOp, source: Option<ObjectId>) {
    let done = tenant.change_entities(vec![(op, source)], &Writing::default());
    done.unwrap();
}

pub(crate) fn about(name: &str, entity: &str, claim: &str) -> ObjectDocument {
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
        let open = objects.iter().map(|object| object.revision().scope().user.is_none());
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
        acme.conflict_history(all[one], all[other], sees).unwrap().len()
    };
    assert_eq!((history(0, 2, None), history(0, 2, Some(&sees))), (1, 0));
    acme.retract(all[3], Expect::Any, &Writing::default()).unwrap();
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
        conflicts(&acme).iter().filter(|one| one.merged.is_none()).count(),
        1
    );
    let found = acme.check().unwrap();
    assert!(found.is_empty(), "{found:?}");
}
