//! Preferences, their scopes and when they were said: what stands, in the store's judgements and in a compile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use tenure::belief::{Ground, Loser};
use tenure::num::Score;
use tenure::object::{
    Authority, Classification, ContradictionStatus, Lifecycle, ObjectId, ObjectType,
};
use tenure::time::Instant;
use tenure::{
    AsOf, Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Principal, Reason, Request,
    World, compile,
};
use tenure_store::{Conflict, Expect, Tenant, WriteNote, Writing};

use crate::common::{Home, document, exported, fresh, histories, put};

on_both_engines!(
    what_renews_a_belief_brings_nothing_back,
    what_is_said_now_goes_before_what_was_to_hold_since_a_day,
    a_preference_of_a_project_is_an_exception_there,
    a_claim_about_nobody_is_noted_and_listed,
    data_exempts_no_claim,
);

fn prefers(name: &str, value: &str) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::Preference),
        user_id: Some("ada".into()),
        normalized_claim: Some(format!("answers == {value}")),
        ..document(name, &format!("Ada wants {value} answers."))
    }
}

fn written(tenant: &Tenant, document: ObjectDocument) -> ObjectId {
    put(tenant, vec![document]).objects[0].object_id
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

/// The names that a compile for Ada in a project leaves in as claims go, at an instant of valid time.
fn standing(tenant: &Tenant, project: Option<&str>, valid: Option<i64>) -> BTreeSet<String> {
    let resident = tenant.load().unwrap();
    standing_in(resident.candidates(), tenant.name(), project, valid)
}

/// The model and the policy that all compiles share.
static ROOM: LazyLock<(World, Policy)> = LazyLock::new(|| {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    (world, Policy::preset("standard").unwrap())
});

fn standing_in(
    candidates: &Candidates,
    tenant: &str,
    project: Option<&str>,
    valid: Option<i64>,
) -> BTreeSet<String> {
    let request = Request {
        principal: Principal {
            tenant: tenant.to_owned(),
            user: Some("ada".into()),
            project: project.map(str::to_owned),
            clearance: Classification::HighlyRestricted,
            pii_authorized: true,
            ..Principal::default()
        },
        as_of: AsOf {
            valid: valid.map(Instant::from_micros),
            ..AsOf::default()
        },
        ..Request::new("Answer Ada.", Budget::tokens(4000))
    };
    let (world, policy) = &*ROOM;
    let outcome = compile(world, policy, &request, candidates, &Facts::none());
    let outcome = outcome.unwrap();
    let verdicts = outcome.single().unwrap().trace.verdicts.iter();
    let out = |reason: &Reason| {
        matches!(
            reason,
            Reason::OtherUser
                | Reason::OtherProject
                | Reason::Contradicted { .. }
                | Reason::Superseded { .. }
                | Reason::Overridden { .. }
                | Reason::ConflictingClaimUnresolved { .. }
                | Reason::NotYetValid { .. }
                | Reason::ExpiredValidTime { .. }
        )
    };
    let left = verdicts.filter(|verdict| !out(&verdict.reason));
    left.map(|verdict| verdict.name.to_string()).collect()
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn what_renews_a_belief_brings_nothing_back(home: &Home) {
    let acme = home.tenant("acme");
    let writing = Writing::default();
    let old = written(&acme, prefers("old", "long"));
    written(&acme, prefers("new", "short"));
    let newer = |what: &str| {
        let found = conflicts(&acme);
        assert_eq!(found.len(), 1, "{what}");
        assert_eq!(stands(&found[0]), Some("new"), "{what}");
        assert_eq!(found[0].ground, Ground::Recorded, "{what}");
        assert_eq!(standing(&acme, None, None), names(&["new"]), "{what}");
    };
    newer("as written");
    let known = Arc::new(acme.load().unwrap());
    for status in [ContradictionStatus::Quarantined, ContradictionStatus::Clean] {
        acme.judge(old, status, None, &writing).unwrap();
    }
    newer("judged and judged clean");
    for life in [Lifecycle::Archived, Lifecycle::Active] {
        acme.age(vec![old], life, &writing).unwrap();
    }
    newer("archived and taken back");
    let now = acme.written(acme.version().unwrap()).unwrap().unwrap().at;
    acme.revise_belief(old, now, None, &writing).unwrap();
    newer("its confidence revised");
    let tagged = ObjectDocument {
        tags: vec!["style".into()],
        confidence_score: Some(Score::HALF),
        ..prefers("old", "long")
    };
    written(&acme, tagged);
    newer("other words about it");
    let before = acme.written(2).unwrap().unwrap().at;
    let then = acme.load_as_of(before).unwrap();
    let recorded = |resident: &tenure_store::Resident| {
        let objects = resident.candidates().objects().iter();
        let own = objects.filter(|object| object.name() == "old");
        own.map(|object| object.status().recorded.or(object.status().transaction.from))
            .collect::<Vec<_>>()
    };
    // Whoever holds what is believed in memory is told the same, and so is who looks at the past.
    let fresh = acme.refresh(&known).unwrap();
    assert_eq!(recorded(&fresh), recorded(&acme.load().unwrap()));
    assert_eq!(recorded(&fresh), recorded(&then));
    // So is another store, to which all of it is moved.
    let moved = home.tenant("moved");
    let mut lines = exported(&acme);
    lines.iter_mut().for_each(|line| {
        line.object.tenant_id = None;
        line.revision = None;
    });
    moved.import(lines, &writing).unwrap();
    assert_eq!(recorded(&fresh), recorded(&moved.load().unwrap()));
    assert_eq!(stands(&conflicts(&moved)[0]), Some("new"));
    // What is said anew is new: another value, or the same after it was taken back.
    written(&acme, prefers("old", "rhymed"));
    assert_eq!(standing(&acme, None, None), names(&["old"]));
    written(&acme, prefers("new", "terse"));
    assert_eq!(standing(&acme, None, None), names(&["new"]));
    acme.retract(old, Expect::Any, &writing).unwrap();
    written(&acme, prefers("old", "rhymed"));
    assert_eq!(standing(&acme, None, None), names(&["old"]));
}

fn what_is_said_now_goes_before_what_was_to_hold_since_a_day(home: &Home) {
    let acme = home.tenant("acme");
    let since = |name: &str, value: &str, day: i64| ObjectDocument {
        valid_from: Some(Instant::from_micros(day * 86_400_000_000)),
        ..prefers(name, value)
    };
    written(&acme, since("old", "long", 20_000));
    written(&acme, prefers("new", "short"));
    assert_eq!(stands(&conflicts(&acme)[0]), Some("new"));
    assert_eq!(standing(&acme, None, None), names(&["new"]));
    // What is written late, and says that it began before, does not come back.
    written(&acme, since("late", "rhymed", 20_100));
    assert_eq!(standing(&acme, None, None), names(&["new"]));
}

fn a_preference_of_a_project_is_an_exception_there(home: &Home) {
    let acme = home.tenant("acme");
    let of = |name: &str, value: &str, project: &str| ObjectDocument {
        project_id: Some(project.into()),
        ..prefers(name, value)
    };
    written(&acme, of("garden", "long", "garden"));
    written(&acme, prefers("general", "short"));
    written(&acme, of("roof", "rhymed", "roof"));
    let found = conflicts(&acme);
    // The two projects are no conflict: nobody is in both.
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one.ground == Ground::Scope));
    assert!(found.iter().all(|one| stands(one) != Some("general")));
    assert_eq!(standing(&acme, Some("garden"), None), names(&["garden"]));
    assert_eq!(standing(&acme, Some("roof"), None), names(&["roof"]));
    assert_eq!(standing(&acme, Some("cellar"), None), names(&["general"]));
    assert_eq!(standing(&acme, None, None), names(&["general"]));
    // Nor are other claims, and nobody is asked about them.
    let port = |name: &str, port: u16, project: &str| ObjectDocument {
        normalized_claim: Some(format!("port == {port}")),
        canonical_entity_ids: vec!["pump".into()],
        project_id: Some(project.into()),
        ..document(name, "A port.")
    };
    written(&acme, port("a", 80, "garden"));
    written(&acme, port("b", 90, "roof"));
    assert_eq!(conflicts(&acme).len(), 2);
    let now = acme.written(acme.version().unwrap()).unwrap().unwrap().at;
    assert_eq!(acme.proposals(now, None).unwrap().len(), 0);
    written(&acme, port("c", 91, "roof"));
    assert_eq!(conflicts(&acme).len(), 3);
}

fn a_claim_about_nobody_is_noted_and_listed(home: &Home) {
    let acme = home.tenant("acme");
    let claims = |name: &str, port: u16| ObjectDocument {
        normalized_claim: Some(format!("port == {port}")),
        ..ObjectDocument::rule(name, format!("{name} listens on {port}."))
    };
    let found = put(&acme, vec![claims("pump", 80), claims("fan", 90)]);
    for object in &found.objects {
        assert_eq!(object.note, Some(WriteNote::ClaimAboutNobody));
    }
    let listed = acme.claims_about_nobody().unwrap().into_iter();
    assert_eq!(listed.collect::<BTreeSet<_>>(), names(&["pump", "fan"]));
    assert_eq!(conflicts(&acme), []);
    assert_eq!(standing(&acme, None, None), names(&["pump", "fan"]));
    let named = ObjectDocument {
        canonical_entity_ids: vec!["pump".into()],
        ..claims("pump", 80)
    };
    assert_eq!(put(&acme, vec![named]).objects[0].note, None);
    assert_eq!(acme.claims_about_nobody().unwrap(), ["fan"]);
    let written = put(&acme, vec![prefers("own", "short")]);
    assert_eq!(written.objects[0].note, None);
}

fn data_exempts_no_claim(home: &Home) {
    let acme = home.tenant("acme");
    let port = |name: &str, port: u16| ObjectDocument {
        normalized_claim: Some(format!("port == {port}")),
        canonical_entity_ids: vec!["pump".into()],
        ..document(name, "A port.")
    };
    let data = |name: &str, number: u16| ObjectDocument {
        authority_level: Some(Authority::Data),
        ..port(name, number)
    };
    let several = ObjectDocument {
        slot_cardinality: Some(tenure::object::SlotCardinality::Multiple),
        ..data("several", 80)
    };
    let asks = ObjectDocument {
        conflict_policy: Some(tenure::object::ConflictPolicy::Ask),
        ..data("asks", 90)
    };
    let yields = ObjectDocument {
        conflict_policy: Some(tenure::object::ConflictPolicy::GiveWay),
        ..port("yields", 443)
    };
    put(&acme, vec![port("rule", 443), several, asks, yields]);
    let lost: BTreeSet<String> = conflicts(&acme)
        .iter()
        .filter(|one| stands(one) == Some("rule"))
        .map(|one| match one.loser {
            Loser::First => one.first.name.clone(),
            _ => one.second.name.clone(),
        })
        .collect();
    assert_eq!(lost, names(&["several", "asks"]));
}

/// One thing that happens to an object.
#[derive(Clone, Debug)]
enum Step {
    Say(Said),
    /// The same again with another confidence.
    Weigh(u8, u32),
    /// Judged, and judged clean again.
    Judge(u8),
    /// Archived, and taken back.
    Age(u8),
    Retract(u8),
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
struct Said {
    object: u8,
    value: u8,
    /// A preference, or else a rule about Ada.
    preference: bool,
    from: Option<i64>,
    until: Option<i64>,
    project: Option<&'static str>,
    level: Authority,
    quality: u32,
}

fn said() -> impl Strategy<Value = Said> {
    let end = || prop::option::weighted(0.4, 0i64..5);
    let project = prop_oneof![2 => Just(None), 1 => Just(Some("x")), 1 => Just(Some("y"))];
    let level = prop_oneof![3 => Just(Authority::User), 1 => Just(Authority::Memory)];
    let facts = (prop::bool::weighted(0.8), project, level, 0u32..2);
    (0u8..4, 0u8..3, end(), end(), facts).prop_map(
        |(object, value, from, until, (preference, project, level, quality))| Said {
            object,
            value,
            preference,
            from,
            until: until.filter(|until| from.is_none_or(|from| from < *until)),
            project,
            level,
            quality,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => said().prop_map(Step::Say),
        1 => (0u8..4, 1u32..9).prop_map(|(object, tenths)| Step::Weigh(object, tenths)),
        1 => (0u8..4).prop_map(Step::Judge),
        1 => (0u8..4).prop_map(Step::Age),
        1 => (0u8..4).prop_map(Step::Retract),
    ]
}

impl Said {
    fn document(&self, tenths: u32) -> ObjectDocument {
        let object_type = if self.preference {
            ObjectType::Preference
        } else {
            ObjectType::Rule
        };
        ObjectDocument {
            // The id of an object follows from its scope, where it has none of its own.
            object_id: Some(ObjectId::from_bits(u128::from(self.object) + 1)),
            object_type: Some(object_type),
            canonical_entity_ids: vec!["ada".into()],
            valid_from: self.from.map(Instant::from_micros),
            valid_until: self.until.map(Instant::from_micros),
            project_id: self.project.map(str::to_owned),
            authority_level: Some(self.level),
            source_authority: Some(Score::from_millionths(self.quality * 300_000)),
            confidence_score: Some(Score::from_millionths(tenths * 100_000)),
            ..prefers(&format!("o{}", self.object), &self.value.to_string())
        }
    }

    /// Returns whether it says what the other does, however sure and from whatever source.
    fn repeats(&self, other: &Said) -> bool {
        let facts = |said: &Said| Said {
            level: Authority::User,
            quality: 0,
            ..said.clone()
        };
        facts(self) == facts(other)
    }
}

/// The instants of the small world.
const WORLD: std::ops::Range<i64> = -1..6;

/// A statement as the log has it at an instant of valid time: with when it was said, and how sure it is.
#[derive(Clone, Debug)]
struct Held {
    said: Said,
    recorded: usize,
    tenths: u32,
}

/// Each object's statement at each instant, from the log alone.
#[derive(Default)]
struct Log {
    held: BTreeMap<(u8, i64), Held>,
    last: BTreeMap<u8, Said>,
}

impl Log {
    fn says(&mut self, at: usize, said: &Said, tenths: u32) {
        let inside = |instant: &i64| {
            said.from.is_none_or(|from| from <= *instant)
                && said.until.is_none_or(|until| *instant < until)
        };
        let times: Vec<i64> = WORLD.filter(inside).collect();
        let before = times.iter().filter_map(|instant| self.held.get(&(said.object, *instant)));
        let before: Vec<&Held> = before.collect();
        let is_repeated = !before.is_empty() && before.iter().all(|held| said.repeats(&held.said));
        let recorded = before.iter().map(|held| held.recorded).min();
        let recorded = recorded.filter(|_| is_repeated).unwrap_or(at);
        for instant in times {
            let held = Held {
                said: said.clone(),
                recorded,
                tenths,
            };
            self.held.insert((said.object, instant), held);
        }
        self.last.insert(said.object, said.clone());
    }

    /// Returns whether the first of two falls to the second: as the documents say, word by word.
    fn falls(one: &Held, other: &Held) -> bool {
        if one.said.value == other.said.value {
            return false;
        }
        if let (Some(a), Some(b)) = (one.said.project, other.said.project)
            && a != b
        {
            return false;
        }
        if one.said.level != other.said.level {
            return one.said.level > other.said.level;
        }
        let preferences = one.said.preference && other.said.preference;
        if preferences && one.said.project.is_some() != other.said.project.is_some() {
            return one.said.project.is_none();
        }
        // Whatever is recorded here is recorded long after the small world.
        let is_said = |held: &Held| held.said.preference && held.said.from.is_none();
        // What is left of a statement, where another of the same object is about a part of its time, is no newer for it.
        let begins = |held: &Held| match held.said.from {
            _ if is_said(held) => (2, held.recorded as i64),
            Some(from) => (1, from),
            None => (0, 0),
        };
        let strength = |held: &Held| (begins(held), held.said.quality, held.tenths);
        strength(one) <= strength(other)
    }

    fn standing(&self, project: Option<&str>, at: i64) -> BTreeSet<String> {
        let view = self.held.iter().filter(|((_, instant), held)| {
            *instant == at && (held.said.project.is_none() || held.said.project == project)
        });
        let view: Vec<&Held> = view.map(|(_, held)| held).collect();
        let falls = |one: &&&Held| {
            let mut others = view.iter();
            others.any(|other| other.said.object != one.said.object && Log::falls(one, other))
        };
        let stand = view.iter().filter(|one| !falls(one));
        stand.map(|held| format!("o{}", held.said.object)).collect()
    }
}

proptest! {
    #![proptest_config(histories(12, 10_000))]

    // What a compile leaves in, for anybody at any instant, is what an oracle says that reads the log of what was said:
    // judgements that were taken back, and the confidence, bring back nothing.
    #[test]
    fn what_stands_follows_from_what_was_said_alone(steps in prop::collection::vec(step(), 1..9)) {
        let (home, name) = fresh();
        let acme = home.tenant(&name);
        let writing = Writing::default();
        let mut log = Log::default();
        // What waits for a person is let in, with no decision on what it contradicts.
        let let_in = |id: ObjectId| {
            let held = acme.get(id).unwrap();
            if held.iter().any(|held| held.lifecycle == Lifecycle::AwaitingConfirmation) {
                acme.age(vec![id], Lifecycle::Active, &writing).unwrap();
            }
        };
        for (at, step) in (1..).zip(&steps) {
            let of = |object: &u8| ObjectId::from_bits(u128::from(*object) + 1);
            match step {
                Step::Say(said) => {
                    let_in(written(&acme, said.document(5)));
                    log.says(at, said, 5);
                }
                Step::Weigh(object, tenths) => {
                    if let Some(said) = log.last.get(object).cloned() {
                        let_in(written(&acme, said.document(*tenths)));
                        log.says(at, &said, *tenths);
                    }
                }
                Step::Judge(object) => {
                    if log.last.contains_key(object) {
                        for status in [ContradictionStatus::Disputed, ContradictionStatus::Clean] {
                            acme.judge(of(object), status, None, &writing).unwrap();
                        }
                    }
                }
                Step::Age(object) => {
                    if log.last.contains_key(object) {
                        for life in [Lifecycle::Demoted, Lifecycle::Active] {
                            acme.age(vec![of(object)], life, &writing).unwrap();
                        }
                    }
                }
                Step::Retract(object) => {
                    if log.last.contains_key(object) {
                        acme.retract(of(object), Expect::Any, &writing).unwrap();
                        log.held.retain(|(other, _), _| other != object);
                    }
                }
            }
        }
        let resident = acme.load().unwrap();
        for project in [None, Some("x"), Some("y")] {
            for at in WORLD {
                let found = standing_in(resident.candidates(), acme.name(), project, Some(at));
                prop_assert_eq!(found, log.standing(project, at), "{:?} at {}", project, at);
            }
        }
        // The pairs that the store has judged are those that fall somewhere, to somebody who sees both.
        let judged: BTreeSet<[String; 2]> = conflicts(&acme)
            .into_iter()
            .map(|one| {
                let mut names = [one.first.name, one.second.name];
                names.sort_unstable();
                names
            })
            .collect();
        let mut oracle = BTreeSet::new();
        for ((one, at), ours) in &log.held {
            for ((other, instant), theirs) in &log.held {
                if one < other && at == instant && (Log::falls(ours, theirs) || Log::falls(theirs, ours)) {
                    oracle.insert([format!("o{one}"), format!("o{other}")]);
                }
            }
        }
        prop_assert_eq!(judged, oracle);
    }
}
