//! Random histories of claims: whatever comes first, the same is judged in the end, as an oracle judges that looks at all that is
//! believed; and no view holds two claims that cannot both hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::entity::{Entities, EntityEntry, EntityOp};
use tenure::belief::{SlotClaim, defeats};
use tenure::num::Score;
use tenure::object::{
    Authority, Classification, ConflictPolicy, ObjectId, Provenance, SlotCardinality,
};
use tenure::time::Instant;
use tenure::{
    Budget, Candidates, ContextObject, Facts, FrameKey, ObjectDocument, Policy, Principal, Request,
    World, compile,
};
use tenure_store::{Expect, Tenant, Writing};

use crate::claims::{about, conflicts, create, ids, merge, stands};
use crate::common::{Home, fresh, fresh_on_postgresql, histories, rounds};

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
    fn document(&self, owners: &Owners) -> ObjectDocument {
        ObjectDocument {
            user_id: owners[usize::from(self.object)].map(str::to_owned),
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

/// Two names, the ids that both objects name where a merge makes them one, and the entity.
type Pair = ([String; 2], Option<[String; 2]>, String);

/// The pairs that are judged, each with the one that stands.
type Pairs = BTreeMap<Pair, Option<String>>;

/// The user of each object, where it is of one alone.
type Owners = [Option<&'static str>; 5];

fn owners() -> impl Strategy<Value = Owners> {
    let owner = prop_oneof![3 => Just(None), 1 => Just(Some("ada")), 1 => Just(Some("bob"))];
    prop::collection::vec(owner, 5).prop_map(|all| std::array::from_fn(|at| all[at]))
}

/// Everything that a random history is made of.
#[derive(Clone, Debug)]
struct History {
    steps: Vec<Step>,
    /// The turn of each object in the other order.
    turns: Vec<u8>,
    moves: Vec<EntityOp>,
    /// The number of writes before the moves, in both orders.
    before: (usize, usize),
    owners: Owners,
}

fn history() -> impl Strategy<Value = History> {
    let steps = prop::collection::vec(step(), 1..9);
    let turns = prop::collection::vec(any::<u8>(), 5);
    let parts = (steps, turns, moves(), (0usize..9, 0usize..9), owners());
    parts.prop_map(|(steps, turns, moves, before, owners)| History {
        steps,
        turns,
        moves,
        before,
        owners,
    })
}

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

/// A store of its own for a history, and the name of a tenant that nothing else uses there.
type Fresh = fn() -> (Arc<Home>, String);

/// Writes a history, the merges and splits before one of its writes, and says which pairs of names are judged how.
fn told(
    fresh: Fresh,
    (steps, owners): (&[Step], &Owners),
    moves: &[EntityOp],
    before: usize,
) -> (Pairs, Tenant, Arc<Home>) {
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
        let id = ids(&acme, vec![step.document(owners)])[0];
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
        let mut merged = conflict.merged;
        merged.iter_mut().for_each(|ids| ids.sort_unstable());
        ((names, merged, conflict.entity), winner)
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
    let asks =
        |object: &ContextObject| object.revision().conflict_policy() == Some(ConflictPolicy::Ask);
    let weighed = held.iter().map(|(id, object)| {
        let (own_object, whose) = (object, object.revision().scope().user.clone());
        let (about, own) = (entity(object), claim(object));
        let mut best: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for (other, object) in held.iter().filter(|(other, _)| other != id) {
            // Evidence is about what an object names, whatever is merged.
            if entity(object) != about {
                continue;
            }
            // Nothing counts that somebody may not see who may see the object.
            let theirs = object.revision().scope().user.as_ref();
            if theirs.is_some() && theirs != whose.as_ref() {
                continue;
            }
            // Of two that only their confidence tells apart, both count against each other, or neither does.
            let is_tied = prevails(own_object, object).is_none()
                && ![own_object, object].iter().any(|one| asks(one));
            let is_one_sided = is_tied && whose.is_some() && theirs != whose.as_ref();
            let theirs = claim(object);
            let side = match own.against(&theirs) {
                Some(_) if is_one_sided => continue,
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
        let sum: f64 = best.values().map(|[pro, contra]| vote(*pro) - vote(*contra)).sum();
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
    let asks = [one, other].iter().any(|object| policy(object) == Some(ConflictPolicy::Ask));
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

/// A part of an object that is believed: the id that it names, the entity that this means, and its claim.
type Part<'o> = (&'o ContextObject, String, String, SlotClaim);

/// Of two objects, who stands in the last time for which they cannot both hold: where both name the entity itself, or the ids
/// that a merge makes one.
fn last_word(believed: &[Part<'_>], (names, merged, entity): &Pair) -> Option<String> {
    let parts = |name: &str| {
        let name = name.to_owned();
        believed.iter().filter(move |(object, ..)| object.name() == name)
    };
    let is_of = |one: &Part<'_>, other: &Part<'_>| {
        let mut ids = [one.1.clone(), other.1.clone()];
        ids.sort_unstable();
        match merged {
            None => ids.iter().all(|id| id == entity),
            Some(merged) => ids == *merged,
        }
    };
    let both = parts(&names[0]).flat_map(|one| parts(&names[1]).map(move |other| (one, other)));
    let both = both.filter(|(one, other)| is_of(one, other));
    let collide = both.filter(|(one, other)| one.3.against(&other.3).is_some());
    let begins = |part: &Part<'_>| part.3.standing.valid.from;
    let last = collide.max_by_key(|(one, other)| begins(one).max(begins(other)));
    let (one, other) = last?;
    prevails(one.0, other.0).map(str::to_owned)
}

/// The caller who is this user, or nobody.
fn caller(tenant: &Tenant, user: Option<&str>) -> Principal {
    Principal {
        tenant: tenant.name().to_owned(),
        user: user.map(str::to_owned),
        clearance: Classification::HighlyRestricted,
        ..Principal::default()
    }
}

/// Nothing that one caller sees at an instant stands beside what it cannot hold with: among what is open to them, and in the
/// payload that is compiled for them.
fn check_views(
    tenant: &Tenant,
    believed: &[Part<'_>],
    compiles: bool,
) -> Result<(), TestCaseError> {
    let policy = Policy::preset("standard").unwrap();
    let objects = believed.iter().map(|(object, ..)| Arc::new((*object).clone()));
    let candidates = Candidates::new(objects.collect());
    for user in [None, Some("ada"), Some("bob")] {
        let caller = caller(tenant, user);
        let open = tenure::admitted(&policy, &caller, &candidates);
        for at in -1..7 {
            let at = Instant::from_micros(at);
            let mut views: BTreeMap<&str, Vec<(&str, SlotClaim)>> = BTreeMap::new();
            for place in &open {
                let (object, _, entity, claim) = &believed[*place];
                let valid = claim.standing.valid;
                if valid.from.is_none_or(|from| from <= at)
                    && valid.until.is_none_or(|until| at < until)
                {
                    let view = views.entry(entity).or_default();
                    view.push((object.name(), claim.clone()));
                }
            }
            let told = compiles.then(|| compiled(tenant, &caller, at));
            for view in views.values() {
                let claims: Vec<SlotClaim> = view.iter().map(|(_, claim)| claim.clone()).collect();
                let lost = defeats(&claims, Some(at), &BTreeMap::new());
                for (place, (name, one)) in view.iter().enumerate() {
                    for (other, (second, two)) in view.iter().enumerate().skip(place + 1) {
                        let both = !lost.contains_key(&place) && !lost.contains_key(&other);
                        prop_assert!(!both || one.agrees_with(two));
                        let are_told = |told: &BTreeSet<String>| {
                            told.contains(*name) && told.contains(*second)
                        };
                        let both = told.as_ref().is_some_and(are_told);
                        prop_assert!(
                            !both || one.agrees_with(two),
                            "{} {} at {}",
                            name,
                            second,
                            at
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

/// The names of what a compile for a caller takes in at an instant.
fn compiled(tenant: &Tenant, caller: &Principal, at: Instant) -> BTreeSet<String> {
    thread_local! {
        static WORLD: World = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    }
    let policy = Policy::preset("standard").unwrap();
    let mut request = Request::new("Which port is it?", Budget::tokens(4_000));
    request.as_of.valid = Some(at);
    request.principal = caller.clone();
    let loaded = tenant.load().unwrap();
    // What a compile is told of the registry.
    let known = ["bench", "desk", "table"].into_iter();
    let known = known.filter_map(|id| loaded.entities().identity(id, &|_| true));
    request.identities = known.collect();
    let (candidates, none) = (loaded.candidates(), Facts::none());
    let outcome = WORLD.with(|world| compile(world, &policy, &request, candidates, &none));
    let outcome = outcome.unwrap();
    let sections = outcome.single().unwrap().envelope.sections.iter();
    let items = sections.flat_map(|section| &section.items);
    items.map(|item| item.name.to_string()).collect()
}

/// Whatever comes first, the writes of each object in their order, the same pairs are judged alike in the end; and what is
/// judged, who stands, and how sure each is, is what an oracle says that looks at all that is believed.
fn check_history(fresh: Fresh, history: &History) -> Result<(), TestCaseError> {
    let History {
        steps,
        turns,
        moves,
        before,
        owners,
    } = history;
    let (moves, entities) = registry(moves);
    // Each object has a turn of its own, which keeps its writes in their order.
    let mut turned = steps.clone();
    turned.sort_by_key(|step| turns[usize::from(step.object)]);
    let (one, acme, _home) = told(fresh, (steps, owners), &moves, before.0);
    let (other, moved, _other_home) = told(fresh, (&turned, owners), &moves, before.1);
    prop_assert_eq!(&one, &other);

    let resident = acme.load().unwrap();
    let objects = resident.candidates().objects();
    let meant = |id: &str| entities.meant(id, &|_| true).unwrap_or(id).to_owned();
    let believed: Vec<Part<'_>> = objects
        .iter()
        .filter_map(|object| {
            let (mut entity, claim) = SlotClaim::of(object)?;
            let named = entity.remove(0);
            let meant = meant(&named);
            Some((&**object, named, meant, claim))
        })
        .collect();
    let mut oracle = BTreeSet::new();
    for (at, (object, _, entity, ours)) in believed.iter().enumerate() {
        for (other, _, theirs_of, theirs) in &believed[at + 1..] {
            let (name, other) = (object.name(), other.name());
            if name != other && entity == theirs_of && ours.against(theirs).is_some() {
                let mut pair = [name.to_owned(), other.to_owned()];
                pair.sort_unstable();
                oracle.insert(pair);
            }
        }
    }
    let judged = one.keys().map(|(names, ..)| names.clone());
    prop_assert_eq!(judged.collect::<BTreeSet<_>>(), oracle);
    // So is who stands, whatever makes the two of them one.
    for (pair, winner) in &one {
        prop_assert_eq!(winner, &last_word(&believed, pair), "{:?}", pair);
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
    // In no view, at no instant, two stand that cannot both hold. A compile takes longer than all else: one history of nine.
    check_views(&acme, &believed, before.0 == 0)
}

proptest! {
    #![proptest_config(histories(12, 10_000))]

    #[test]
    fn histories_end_alike_in_any_order_of_arrival(history in history()) {
        check_history(fresh, &history)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(3, 100), ..ProptestConfig::default() })]

    #[test]
    fn postgresql_judges_histories_as_the_oracle_does(history in history()) {
        check_history(fresh_on_postgresql, &history)?;
    }
}
