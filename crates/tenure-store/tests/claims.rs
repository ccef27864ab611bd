//! Claims that cannot both hold, as writes settle them: the same on both engines, in whatever order writes come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::entity::{Entities, EntityEntry, EntityOp};
use tenure::belief::{Ground, Loser, SlotClaim, defeats};
use tenure::num::Score;
use tenure::object::{
    Authority, ConflictPolicy, ContradictionStatus, Decision, Lifecycle, ObjectId, ObjectType,
    Provenance, SlotCardinality, SourceKind,
};
use tenure::time::Instant;
use tenure::{AsOf, ContextObject, ErrorKind, ObjectDocument, Policy};
use tenure_store::{
    Conflict, Expect, MOST_OPPONENTS, Put, ResolverAction, Store, Tenant, WriteNote, Writing,
};

use crate::common::{Home, document, fresh, histories, now, put};
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
    let listed: BTreeMap<Ground, ContradictionStatus> = conflicts(&acme)
        .into_iter()
        .map(|one| (one.ground, one.status))
        .collect();
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
        assert!(
            status("worse")
                .sentence()
                .starts_with("disputed, and `better` stands")
        );
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

/// The one of two objects that stands where they cannot both hold, or none: as the documents say, word by word. What counts
/// is since when its author says that it holds, and not what other writes have left of that.
fn prevails<'o>(one: &'o ContextObject, other: &'o ContextObject) -> Option<&'o str> {
    let policy = |object: &ContextObject| object.revision().conflict_policy();
    let yields = |object: &ContextObject| policy(object) == Some(ConflictPolicy::GiveWay);
    let first = |object: &ContextObject| {
        let authority = object.revision().authority_level().level();
        (!yields(object), std::cmp::Reverse(authority))
    };
    let then = |object: &ContextObject| {
        let revision = object.revision();
        (revision.valid().from, revision.source_authority())
    };
    let asks = [one, other]
        .iter()
        .any(|object| policy(object) == Some(ConflictPolicy::Ask));
    let order = match first(one).cmp(&first(other)) {
        std::cmp::Ordering::Equal if asks => return None,
        order => order.then_with(|| then(one).cmp(&then(other))),
    };
    match order {
        std::cmp::Ordering::Greater => Some(one.name()),
        std::cmp::Ordering::Less => Some(other.name()),
        std::cmp::Ordering::Equal => None,
    }
}

/// Of two objects that name one entity, who stands in the last time for which they cannot both hold.
fn last_word(
    believed: &[(&ContextObject, String, SlotClaim)],
    names: &[String; 2],
    entity: &str,
) -> Option<String> {
    let parts = |name: &str| {
        let name = name.to_owned();
        believed
            .iter()
            .filter(move |(object, about, _)| object.name() == name && about == entity)
    };
    let both = parts(&names[0]).flat_map(|one| parts(&names[1]).map(move |other| (one, other)));
    let collide = both.filter(|(one, other)| one.2.against(&other.2).is_some());
    let begins = |part: &(&ContextObject, String, SlotClaim)| part.2.standing.valid.from;
    let last = collide.max_by_key(|(one, other)| begins(one).max(begins(other)));
    let (one, other) = last?;
    prevails(one.0, other.0).map(str::to_owned)
}

proptest! {
    #![proptest_config(histories(12, 10_000))]

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
        let believed: Vec<(&ContextObject, String, SlotClaim)> = objects
            .iter()
            .filter_map(|object| {
                let (entity, claim) = SlotClaim::of(object)?;
                Some((&**object, meant(&entity[0]), claim))
            })
            .collect();
        let mut oracle = BTreeSet::new();
        for (at, (object, entity, ours)) in believed.iter().enumerate() {
            for (other, theirs_of, theirs) in &believed[at + 1..] {
                let (name, other) = (object.name(), other.name());
                if name != other && entity == theirs_of && ours.against(theirs).is_some() {
                    let mut pair = [name.to_owned(), other.to_owned()];
                    pair.sort_unstable();
                    oracle.insert(pair);
                }
            }
        }
        prop_assert_eq!(one.keys().map(|(names, _)| names.clone()).collect::<BTreeSet<_>>(), oracle);
        // So is who stands.
        for ((names, by), winner) in one.iter().filter(|_| moves.is_empty()) {
            prop_assert_eq!(winner, &last_word(&believed, names, &by[0]), "{:?} {:?}", names, by);
        }
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
