//! Evidence whose time ends: a sweep ends what stood on it alone, and lowers the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use tenure::ObjectDocument;
use tenure::num::Score;
use tenure::object::{ContradictionStatus, ObjectId, ObjectType};
use tenure::time::Instant;
use tenure_store::{Expect, HardDelete, Retention, Sweep, Tenant, WaitingKind, Weakening, Writing};

use crate::common::{Home, document, fresh, histories, now, put};
use crate::damage::alter;

on_both_engines!(
    evidence_that_expires_lowers_the_rest,
    what_stood_on_expired_evidence_alone_ends_with_it,
    a_late_sweep_is_as_good_as_many,
    what_was_over_when_a_belief_was_written_changes_nothing,
    what_holds_only_later_counts_from_when_it_is_written,
    what_is_only_proposed_is_left_as_it_is,
    of_several_nodes_one_lowers_what_is_over,
    a_caller_is_told_of_what_may_be_seen,
    what_is_damaged_holds_up_no_sweep,
);

fn quietly() -> Writing {
    Writing::default()
}

/// A day that no write of a test reaches.
fn day(number: i64) -> Instant {
    let first: Instant = "2090-01-01".parse().unwrap();
    Instant::from_micros(first.micros() + number * 86_400_000_000)
}

fn id(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    put(tenant, vec![document]).objects[0].object_id
}

/// A source of this quality, of an origin of its own.
fn source(name: &str, quality: u32, until: Option<i64>) -> ObjectDocument {
    ObjectDocument {
        source_origin: Some(format!("chat://{name}")),
        source_authority: Some(Score::from_millionths(quality)),
        valid_until: until.map(day),
        ..document(name, name)
    }
}

fn claiming(claim: &str, document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        normalized_claim: Some(claim.into()),
        canonical_entity_ids: vec!["desk".into()],
        ..document
    }
}

/// A belief that was inferred from these.
fn inferred(name: &str, claim: &str, from: &[ObjectId]) -> ObjectDocument {
    let document = ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        confidence_score: Some(Score::from_millionths(980_000)),
        derived_from: from.to_vec(),
        ..document(name, name)
    };
    claiming(claim, document)
}

/// The same, as a person confirmed it, whatever speaks for it.
fn confirmed(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    let id = id(tenant, document);
    let at = "2026-01-01".parse().unwrap();
    tenant.confirm(vec![id], at, &quietly()).unwrap();
    id
}

fn sweep(tenant: &Tenant, at: Instant) -> Sweep {
    let keep = Retention::default();
    tenant.sweep(at, keep, false, &quietly()).unwrap()
}

/// The confidence that is stored, and the end of the time for which it is believed.
fn stored(tenant: &Tenant, id: ObjectId) -> Option<(Score, Option<Instant>)> {
    let held = tenant.get(id).unwrap();
    let last = held.last()?;
    Some((
        last.object.revision().confidence(),
        last.object.valid().until,
    ))
}

fn weakened(sweep: &Sweep) -> Vec<(&str, Weakening)> {
    let all = sweep.weakened.iter();
    all.map(|one| (&*one.name, one.becomes)).collect()
}

/// What the proposals of an instant say of beliefs of which evidence is over.
fn proposed(tenant: &Tenant, at: Instant) -> Vec<(Option<ObjectId>, Option<ObjectId>)> {
    let all = tenant.proposals(at, None).unwrap().into_iter();
    let all = all.filter(|one| one.kind == WaitingKind::Weakened);
    all.map(|one| (one.object_id, one.other_id)).collect()
}

fn evidence_that_expires_lowers_the_rest(home: &Home) {
    let acme = home.tenant("acme");
    let ends = id(&acme, source("ends", 900_000, Some(0)));
    let (a, b) = (
        id(&acme, source("a", 700_000, None)),
        id(&acme, source("b", 700_000, None)),
    );
    let belief = id(&acme, inferred("belief", "port == 443", &[ends, a, b]));
    let other = id(&acme, inferred("other", "host == x", &[a, b]));
    let full = Score::from_millionths(980_000);
    // Until then nothing is to be done.
    let version = acme.version().unwrap();
    assert_eq!(sweep(&acme, day(-1)).weakened, []);
    assert_eq!(proposed(&acme, day(-1)), []);
    let shown = acme.belief(belief, day(-1), None).unwrap();
    assert_eq!((shown.weakened, shown.evidence.len()), (None, 3));
    assert_eq!(acme.version().unwrap(), version);

    // From then on, what shows it, the proposals and the sweep say one thing.
    let shown = acme.belief(belief, day(0), None).unwrap();
    assert!(shown.confidence < full);
    let becomes = Weakening::LoweredTo(shown.confidence);
    assert_eq!(shown.weakened, Some(becomes));
    assert_eq!(proposed(&acme, day(0)), [(Some(belief), Some(ends))]);
    let dry = acme.sweep(day(0), Retention::default(), true, &quietly());
    assert_eq!(weakened(&dry.unwrap()), [("belief", becomes)]);
    assert_eq!(stored(&acme, belief), Some((full, None)));

    let done = sweep(&acme, day(0));
    assert_eq!(weakened(&done), [("belief", becomes)]);
    assert_eq!(
        (done.weakened[0].stated, done.weakened[0].over),
        (full, ends)
    );
    assert_eq!(stored(&acme, belief), Some((shown.confidence, None)));
    assert_eq!(stored(&acme, other), Some((full, None)));
    // The log has both, and a replay of before holds what was held then.
    let history = acme.history(belief).unwrap();
    assert_eq!(history.len(), 2);
    let then = history[0].object.status().transaction.from.unwrap();
    let then = acme.as_of(belief, then).unwrap();
    assert_eq!(then[0].object.revision().confidence(), full);

    // A second sweep changes nothing, nor do later ones.
    let version = acme.version().unwrap();
    for at in [day(0), day(9)] {
        assert_eq!(sweep(&acme, at).weakened, []);
        assert_eq!(proposed(&acme, at), []);
    }
    assert_eq!(acme.version().unwrap(), version);
    assert_eq!(acme.belief(belief, day(9), None).unwrap().weakened, None);
    assert!(acme.check().unwrap().is_empty());
}

fn what_stood_on_expired_evidence_alone_ends_with_it(home: &Home) {
    let acme = home.tenant("acme");
    let ends = id(&acme, source("ends", 500_000, Some(0)));
    let open = id(&acme, source("open", 500_000, None));
    let alone = confirmed(&acme, inferred("alone", "port == 443", &[ends]));
    let upon = confirmed(&acme, inferred("upon", "zone == y", &[alone]));
    let both = confirmed(&acme, inferred("both", "host == x", &[alone, open]));
    // A summary of it ends by itself, at a compile: its refresh is proposed. What was inferred from that ends.
    let summary = ObjectDocument {
        derived_from: vec![ends],
        ..document("summary", "In short.")
    };
    let summary = id(&acme, summary);
    let far = confirmed(&acme, inferred("far", "rack == 7", &[summary]));
    // What makes no claim stands as long as anything does that it was made from.
    let silent = |name: &str, from: &[ObjectId]| ObjectDocument {
        normalized_claim: None,
        ..inferred(name, "", from)
    };
    let mute = confirmed(&acme, silent("mute", &[ends]));
    let more = confirmed(&acme, silent("more", &[ends, open]));
    // Nothing but claims speaks for what was made from nothing: it ends with them, unless a person confirmed it.
    let says = |slot: &str, name: &str, until| {
        let source = source(name, 500_000, Some(until));
        id(&acme, claiming(&format!("{slot} == 3"), source))
    };
    let said = [says("floor", "says", 2), says("wing", "one", 1)];
    says("wing", "other", 3);
    let bare = confirmed(&acme, inferred("bare", "floor == 3", &[]));
    let unasked = id(&acme, inferred("unasked", "wing == 3", &[]));
    // One that was made from what ends and is claimed besides ends with the last that it was made from, but not after that.
    let last = confirmed(&acme, inferred("last", "desk == 3", &[ends]));
    says("desk", "later", 2);
    let first = confirmed(&acme, inferred("first", "lamp == 3", &[said[0]]));
    says("lamp", "earlier", 0);

    let shown = acme.belief(alone, day(5), None).unwrap();
    assert_eq!(shown.weakened, Some(Weakening::Ends(day(0))));
    let done = sweep(&acme, day(5));
    let mut ended: Vec<(&str, Weakening)> = weakened(&done);
    ended.sort_by_key(|(name, _)| *name);
    let end = |at| Weakening::Ends(day(at));
    let left = acme.belief(both, day(5), None).unwrap().confidence;
    assert_eq!(
        ended,
        [
            ("alone", end(0)),
            ("bare", Weakening::LoweredTo(Score::HALF)),
            ("both", Weakening::LoweredTo(left)),
            ("far", end(0)),
            ("first", end(2)),
            ("last", Weakening::LoweredTo(Score::HALF)),
            ("mute", end(0)),
            ("unasked", end(3)),
            ("upon", end(0)),
        ]
    );
    let full = Score::from_millionths(980_000);
    for (of, until) in [(alone, 0), (upon, 0), (far, 0), (mute, 0)] {
        assert_eq!(stored(&acme, of), Some((full, Some(day(until)))), "{of}");
    }
    for (of, until) in [
        (first, Some(2)),
        (unasked, Some(3)),
        (bare, None),
        (last, None),
    ] {
        let end = stored(&acme, of).and_then(|(_, end)| end);
        assert_eq!(end, until.map(day), "{of}");
    }
    assert_eq!(stored(&acme, both), Some((left, None)));
    assert_eq!(stored(&acme, more), Some((full, None)));
    assert_eq!(stored(&acme, summary).map(|(_, until)| until), Some(None));
    let stale = acme.proposals(day(5), None).unwrap().into_iter();
    let stale = stale.filter(|one| one.kind == WaitingKind::Stale);
    assert!(stale.map(|one| one.name).any(|name| name == "summary"));
    let version = acme.version().unwrap();
    assert_eq!(sweep(&acme, day(5)).weakened, []);
    assert_eq!(acme.version().unwrap(), version);
    assert!(acme.check().unwrap().is_empty());
}

fn a_late_sweep_is_as_good_as_many(home: &Home) {
    let told = |name: &str, days: &[i64]| {
        let tenant = home.tenant(name);
        let first = id(&tenant, source("first", 900_000, Some(0)));
        let second = id(&tenant, source("second", 700_000, Some(2)));
        // What speaks against it ends between both.
        let against = source("against", 900_000, Some(1));
        id(&tenant, claiming("port == 80", against));
        let one = confirmed(&tenant, inferred("one", "port == 443", &[first, second]));
        for at in days {
            sweep(&tenant, day(*at));
        }
        stored(&tenant, one)
    };
    let late = told("late", &[3]);
    assert_eq!(late.map(|(_, until)| until), Some(Some(day(2))));
    assert_eq!(told("often", &[-1, 0, 1, 2, 3, 3]), late);
    assert_eq!(told("twice", &[1, 3]), late);
}

fn what_was_over_when_a_belief_was_written_changes_nothing(home: &Home) {
    let acme = home.tenant("acme");
    let past = ObjectDocument {
        valid_until: Some("2020-01-01".parse().unwrap()),
        ..claiming("port == 443", source("past", 900_000, None))
    };
    id(&acme, past);
    let (a, b) = (
        id(&acme, source("a", 300_000, None)),
        id(&acme, source("b", 300_000, None)),
    );
    // Its author said more than its evidence does.
    let belief = id(&acme, inferred("belief", "port == 443", &[a, b]));
    assert_eq!(sweep(&acme, day(0)).weakened, []);
    let full = Score::from_millionths(980_000);
    assert_eq!(stored(&acme, belief), Some((full, None)));

    // A judgement that is taken back after evidence was over does not hide that.
    let soon = ObjectDocument {
        valid_until: Some(Instant::from_micros(now().micros() + 1_500_000)),
        ..source("soon", 900_000, None)
    };
    let soon = id(&acme, soon);
    let judged = confirmed(&acme, inferred("judged", "host == x", &[soon, a, b]));
    std::thread::sleep(Duration::from_millis(1_600));
    for status in [ContradictionStatus::Disputed, ContradictionStatus::Clean] {
        acme.judge(judged, status, None, &quietly()).unwrap();
    }
    let left = acme.belief(judged, now(), None).unwrap().confidence;
    let done = sweep(&acme, now());
    assert_eq!(weakened(&done), [("judged", Weakening::LoweredTo(left))]);
    assert_eq!(stored(&acme, judged), Some((left, None)));

    // What falls otherwise weighs without it, too.
    acme.retract(a, Expect::Any, &quietly()).unwrap();
    let less = acme.belief(judged, now(), None).unwrap().confidence;
    assert!(less < left);
    assert_eq!(stored(&acme, judged), Some((less, None)));
}

fn what_holds_only_later_counts_from_when_it_is_written(home: &Home) {
    let acme = home.tenant("acme");
    let later = ObjectDocument {
        valid_from: Some(day(3)),
        ..source("later", 900_000, Some(5))
    };
    let (later, open) = (id(&acme, later), id(&acme, source("open", 300_000, None)));
    let belief = id(&acme, inferred("belief", "port == 443", &[later, open]));
    let at = |at| acme.belief(belief, day(at), None).unwrap().confidence;
    assert_eq!((at(0), at(2)), (at(4), at(4)));
    assert!(at(5) < at(4));
    for day_of in [0, 3, 4] {
        assert_eq!(sweep(&acme, day(day_of)).weakened, []);
    }
    let becomes = Weakening::LoweredTo(at(5));
    assert_eq!(weakened(&sweep(&acme, day(5))), [("belief", becomes)]);
}

fn what_is_only_proposed_is_left_as_it_is(home: &Home) {
    let acme = home.tenant("acme");
    let ends = id(&acme, source("ends", 500_000, Some(0)));
    let waits = id(&acme, inferred("waits", "port == 443", &[ends]));
    let version = acme.version().unwrap();
    assert_eq!(sweep(&acme, day(1)).weakened, []);
    assert_eq!(proposed(&acme, day(1)), []);
    assert_eq!(acme.version().unwrap(), version);
    let full = Score::from_millionths(980_000);
    assert_eq!(stored(&acme, waits), Some((full, None)));
}

fn of_several_nodes_one_lowers_what_is_over(home: &Home) {
    let acme = home.tenant("acme");
    let ends = id(&acme, source("ends", 900_000, Some(0)));
    let open = id(&acme, source("open", 500_000, None));
    let belief = id(&acme, inferred("belief", "port == 443", &[ends, open]));
    let hour = Duration::from_secs(3_600);
    let in_turn = |at| {
        let proposed = HardDelete::Proposed;
        let swept = acme.sweep_in_turn(at, hour, proposed, &quietly());
        swept.unwrap().map(|swept| swept.weakened.len())
    };
    let version = acme.version().unwrap();
    assert_eq!(in_turn(day(-1)), Some(0));
    assert_eq!(acme.version().unwrap(), version);
    assert_eq!(in_turn(day(0)), Some(1));
    let version = acme.version().unwrap();
    assert_eq!(in_turn(day(0)), Some(0));
    assert_eq!(acme.version().unwrap(), version);
    let left = acme.belief(belief, day(0), None).unwrap().confidence;
    assert_eq!(stored(&acme, belief), Some((left, None)));
}

fn a_caller_is_told_of_what_may_be_seen(home: &Home) {
    let acme = home.tenant("acme");
    let own = |document: ObjectDocument| ObjectDocument {
        user_id: Some("ada".into()),
        ..document
    };
    let ends = id(&acme, own(source("ends", 900_000, Some(0))));
    let open = id(&acme, own(source("open", 500_000, None)));
    id(&acme, own(inferred("belief", "port == 443", &[ends, open])));
    // What others may not see is no evidence for what they may.
    let (a, b) = (
        id(&acme, source("a", 300_000, None)),
        id(&acme, source("b", 300_000, None)),
    );
    let public = id(&acme, inferred("public", "host == x", &[a, b]));
    id(
        &acme,
        own(claiming("host == x", source("hidden", 900_000, Some(0)))),
    );
    let full = Score::from_millionths(980_000);
    assert_eq!(sweep(&acme, day(-1)).weakened, []);
    let told = |user: Option<&'static str>| {
        let sees = move |objects: &[std::sync::Arc<tenure::ContextObject>]| -> Vec<bool> {
            let open = |owner: Option<&str>| owner.is_none() || owner == user;
            let each = objects.iter();
            each.map(|object| open(object.revision().scope().user.as_deref())).collect()
        };
        let all = acme.proposals(day(0), Some(&sees)).unwrap().into_iter();
        let all = all.filter(|one| one.kind == WaitingKind::Weakened);
        all.map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(told(None), [""; 0]);
    assert_eq!(told(Some("ada")), ["belief"]);
    sweep(&acme, day(0));
    assert_eq!(stored(&acme, public), Some((full, None)));
}

fn what_is_damaged_holds_up_no_sweep(home: &Home) {
    let acme = home.tenant("acme");
    let lost = |document: ObjectDocument| ObjectDocument {
        content: "What will be damaged.".into(),
        ..document
    };
    let ends = id(&acme, source("ends", 900_000, Some(0)));
    let open = id(&acme, source("open", 500_000, None));
    let belief = id(&acme, inferred("belief", "port == 443", &[ends, open]));
    let over = id(&acme, lost(source("over", 900_000, Some(0))));
    let upon = id(&acme, inferred("upon", "host == x", &[over, open]));
    id(&acme, lost(inferred("itself", "zone == y", &[ends, open])));
    alter(
        home,
        "UPDATE revisions SET body = replace(body, 'will be', 'has been')",
    );
    let full = Score::from_millionths(980_000);
    let left = acme.belief(belief, day(0), None).unwrap().confidence;
    assert_eq!(proposed(&acme, day(0)), [(Some(belief), Some(ends))]);
    let becomes = Weakening::LoweredTo(left);
    assert_eq!(weakened(&sweep(&acme, day(0))), [("belief", becomes)]);
    assert_eq!(stored(&acme, belief), Some((left, None)));
    // What the damaged evidence says is not known.
    assert_eq!(stored(&acme, upon), Some((full, None)));
}

/// A source of a history: what it is of use for, its quality, and the day on which its time ends.
#[derive(Clone, Debug)]
struct Step {
    of: usize,
    /// It is what the belief was made from, claims the same, or otherwise.
    side: u8,
    quality: u32,
    until: Option<i64>,
}

fn step() -> impl Strategy<Value = Step> {
    let quality = prop_oneof![Just(300_000u32), Just(500_000), Just(900_000)];
    (
        0..3usize,
        0u8..3,
        quality,
        prop::option::weighted(0.8, 0i64..6),
    )
        .prop_map(|(of, side, quality, until)| Step {
            of,
            side,
            quality,
            until,
        })
}

/// The qualities of two beliefs, and of the one that was made from both.
type Sure = [u32; 3];

fn told(steps: &[Step], stated: &Sure, days: &[i64]) -> Vec<Option<(Score, Option<Instant>)>> {
    let (_home, name) = fresh();
    let acme = _home.tenant(&name);
    let mut parents = vec![Vec::new(); 3];
    for (at, step) in steps.iter().enumerate() {
        let document = source(&format!("s{at}"), step.quality, step.until);
        match step.side {
            0 => parents[step.of].push(id(&acme, document)),
            side => {
                let claim = format!("slot{} == {side}", step.of);
                id(&acme, claiming(&claim, document));
            }
        }
    }
    let mut beliefs: Vec<ObjectId> = Vec::new();
    for (of, mut from) in parents.into_iter().enumerate() {
        if of == 2 {
            from.extend(&beliefs);
        }
        let document = ObjectDocument {
            source_authority: Some(Score::HALF),
            confidence_score: Some(Score::from_millionths(stated[of])),
            ..inferred(&format!("b{of}"), &format!("slot{of} == 1"), &from)
        };
        beliefs.push(confirmed(&acme, document));
    }
    for at in days {
        sweep(&acme, day(*at));
        let again = sweep(&acme, day(*at));
        assert_eq!(again.weakened, []);
    }
    beliefs.iter().map(|id| stored(&acme, *id)).collect()
}

/// The confidence in each belief and the day on which it ended, day by day, from the steps alone: floating numbers, by the
/// formula as it is printed.
fn slow(steps: &[Step], stated: &Sure, last: i64) -> Vec<(f64, Option<i64>)> {
    let vote = |quality: f64| ((1.0 + 0.98 * quality) / (1.0 - 0.98 * quality)).ln();
    // The last is at most as sure as those that it was made from.
    let least = stated.iter().copied().min().unwrap_or_default();
    let stated = [stated[0], stated[1], least];
    let mut beliefs = stated.map(|stated| (f64::from(stated) / 1e6, None));
    let speaks = |step: &Step, at: i64| step.until.is_none_or(|until| at < until);
    // What was made from others counts as long as any of them does.
    let counts = |of: usize, ended: Option<i64>, at: i64| {
        let mut parents = steps.iter().filter(|step| step.of == of && step.side == 0);
        let has_parents = parents.clone().next().is_some();
        ended.is_none() && (!has_parents || parents.any(|step| speaks(step, at)))
    };
    let mut before: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for at in -1..=last {
        for of in 0..3 {
            if beliefs[of].1.is_some() {
                continue;
            }
            let mut left: BTreeSet<usize> = BTreeSet::new();
            let mut sum = 0.0;
            for (number, step) in steps.iter().enumerate() {
                if step.of != of || !speaks(step, at) {
                    continue;
                }
                let own = vote(f64::from(step.quality) / 1e6);
                if step.side == 2 {
                    sum -= own;
                } else {
                    sum += own;
                    left.insert(number);
                }
            }
            let upon = (0..2).filter(|upon| of == 2 && counts(*upon, beliefs[*upon].1, at));
            let mut is_unfounded = false;
            for upon in upon {
                left.insert(100 + upon);
                // It is no better a source than those that it was made from.
                let parents = steps.iter().filter(|step| step.of == upon && step.side == 0);
                let least = parents.map(|step| step.quality).min();
                // What was inferred from nothing that is named has one vote together.
                if least.is_some() || !is_unfounded {
                    sum += vote(f64::from(least.unwrap_or(500_000).min(500_000)) / 1e6);
                }
                is_unfounded |= least.is_none();
            }
            let known = before.insert(of, left.clone()).unwrap_or(left.clone());
            if known.is_subset(&left) {
                continue;
            }
            // A person confirmed it: it does not stand on what only claims the same.
            let is_parent = |number: &usize| *number >= 100 || steps[*number].side == 0;
            if left.is_empty() && known.iter().any(is_parent) {
                beliefs[of].1 = Some(at);
            } else {
                beliefs[of].0 = beliefs[of].0.min(1.0 / (1.0 + f64::exp(-sum)));
            }
        }
    }
    beliefs.to_vec()
}

proptest! {
    #![proptest_config(histories(12, 2_000))]

    // Whenever a sweep runs, and however often: the same confidence and the same end in the end, which are those that an
    // oracle finds that goes from day to day.
    #[test]
    fn sweeps_at_any_days_come_to_one_thing(
        steps in prop::collection::vec(step(), 1..9),
        stated in [200_000u32..1_000_000, 200_000..1_000_000, 200_000..1_000_000],
        days in prop::collection::btree_set(-1i64..7, 0..4),
        last in 3i64..8,
    ) {
        let days: Vec<i64> = days.into_iter().filter(|day| *day < last).chain([last]).collect();
        let often = told(&steps, &stated, &days);
        prop_assert_eq!(&often, &told(&steps, &stated, &[last]));
        for (found, (confidence, ended)) in often.iter().zip(slow(&steps, &stated, last)) {
            let (stored, until) = found.unwrap();
            prop_assert_eq!(until, ended.map(day));
            prop_assert!((stored.to_f64() - confidence).abs() < 1e-4, "{} {}", stored, confidence);
        }
    }
}
