//! Ages: what makes an object younger, and what does not; what waits for a person, with the commands that decide it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant as Clock};

use tenure::error::ErrorKind;
use tenure::num::Score;
use tenure::object::{
    Classification, ContradictionStatus, Decision, ObjectId, ObjectType, OutcomeDecision,
    OutcomeKind, RetirementRule,
};
use tenure::time::Instant;
use tenure::{
    AsOf, Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Reason, Request, World,
    compile,
};
use tenure_store::{
    Expect, HardDelete, Proposal, Put, Retention, Tenant, Waiting, WaitingKind, Writing,
};

use crate::common::{Dice, Home, document, now, put, put_one, rounds};

on_both_engines!(
    nothing_but_its_author_makes_an_object_younger,
    what_was_proposed_to_be_erased_is_found_by_the_sweep_that_erases,
    what_an_object_said_of_the_past_makes_it_no_older,
    what_stands_on_what_is_over_is_stale,
    what_stands_on_a_claim_that_lost_is_stale,
    what_was_fresh_is_fresh_in_a_replay_of_then,
    what_took_the_place_of_what_it_was_made_from_is_not_stale,
    proposals_have_for_stale_what_a_compile_leaves_out,
    a_proposal_to_erase_is_one_whatever_is_to_be_erased,
    a_command_names_the_tenant_and_all_parents,
    a_decision_holds_for_what_was_seen,
    a_compile_leaves_out_what_a_sweep_would_retire,
    a_sweep_takes_the_ages_of_types_that_the_tenant_keeps,
    what_was_judged_along_with_something_clean_is_a_proposal,
);

fn quietly() -> Writing {
    Writing::default()
}

/// A year after every write of these tests, by the machine's clock.
fn later() -> Instant {
    after(366 * 86_400)
}

fn after(seconds: i64) -> Instant {
    Instant::from_micros(now().micros() + seconds * 1_000_000)
}

/// An object that is too old when it is half a year old.
fn ageing(name: &str, rule: RetirementRule) -> ObjectDocument {
    ageing_in(182.0, name, rule)
}

/// The same of one that is as old in so many days.
fn ageing_in(half_life: f64, name: &str, rule: RetirementRule) -> ObjectDocument {
    let decay = serde_json::json!({ "half_life_days": half_life, "minimum_threshold": 0.5 });
    ObjectDocument {
        decay_rule: Some(serde_json::from_value(decay).unwrap()),
        retirement_rule: Some(rule),
        ..document(name, name)
    }
}

fn too_old(tenant: &Tenant, at: Instant) -> Vec<(String, Score)> {
    let found = tenant.sweep(at, Retention::default(), true, &quietly());
    let found = found.unwrap().retired.into_iter();
    found.map(|one| (one.name, one.freshness)).collect()
}

fn nothing_but_its_author_makes_an_object_younger(home: &Home) {
    let acme = home.tenant("acme");
    // Within 86 seconds, so that a second is seen.
    let ageing = |name: &str| ageing_in(0.001, name, RetirementRule::Archive);
    put(&acme, vec![ageing("judged")]);
    put(&acme, vec![ageing("parted")]);
    let evidence = |name: &str| ObjectDocument {
        source_origin: Some(format!("chat://{name}")),
        source_authority: Some(Score::HALF),
        ..document(name, name)
    };
    let sources = put(&acme, vec![evidence("a"), evidence("b"), evidence("c")]);
    let sources: Vec<ObjectId> = sources.objects.iter().map(|one| one.object_id).collect();
    let inferred = ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        normalized_claim: Some("port == 443".into()),
        canonical_entity_ids: vec!["desk".into()],
        confidence_score: Some(Score::from_millionths(950_000)),
        derived_from: sources.clone(),
        ..ageing("inferred")
    };
    put(&acme, vec![inferred]);
    let (before, at) = (now(), after(200));
    let young = too_old(&acme, at);
    assert_eq!(young.len(), 3, "{young:?}");

    // Time goes on; judgements, a write about another time and evidence that falls come later.
    std::thread::sleep(Duration::from_millis(1_500));
    let judged = acme.named("judged").unwrap()[0];
    for status in [ContradictionStatus::Disputed, ContradictionStatus::Clean] {
        acme.judge(judged, status, None, &quietly()).unwrap();
    }
    let past = ObjectDocument {
        content: "What it was.".into(),
        valid_until: Some("2020-01-01".parse().unwrap()),
        decay_rule: None,
        ..ageing("parted")
    };
    put(&acme, vec![past]);
    acme.retract(sources[0], Expect::Any, &quietly()).unwrap();
    let held = acme.named("inferred").unwrap()[0];
    let held = &acme.get(held).unwrap()[0];
    assert!(held.object.status().transaction.from.unwrap() > before);
    assert!(held.object.revision().confidence() < Score::from_millionths(950_000));
    assert_eq!(too_old(&acme, at), young);

    // Its author does.
    let again = ObjectDocument {
        content: "It is so, still.".into(),
        ..ageing("judged")
    };
    put(&acme, vec![again]);
    let fresher = too_old(&acme, at);
    assert!(fresher[0].1 > young[0].1, "{fresher:?} {young:?}");
    assert_eq!(fresher[1..], young[1..]);
}

fn what_was_proposed_to_be_erased_is_found_by_the_sweep_that_erases(home: &Home) {
    let acme = home.tenant("acme");
    let id = put(&acme, vec![ageing("old", RetirementRule::HardDelete)]).objects[0].object_id;
    let sweep = |hard| {
        let swept = acme.sweep_with(later(), Retention::default(), hard, false, &quietly());
        swept.unwrap().retired.len()
    };
    assert_eq!(sweep(HardDelete::Proposed), 1);
    assert_eq!(acme.awaiting(now(), None).unwrap().len(), 1);
    assert_eq!(sweep(HardDelete::Proposed), 0);
    assert_eq!(sweep(HardDelete::Done), 1);
    assert!(acme.get(id).unwrap().is_empty());
}

fn what_an_object_said_of_the_past_makes_it_no_older(home: &Home) {
    let acme = home.tenant("acme");
    let price = |content: &str, from: &str| ObjectDocument {
        content: content.into(),
        valid_from: Some(from.parse().unwrap()),
        ..ageing("price", RetirementRule::Archive)
    };
    put(&acme, vec![price("2", "2020-01-01")]);
    assert_eq!(too_old(&acme, "2026-06-01".parse().unwrap()).len(), 1);
    let id = put(&acme, vec![price("3", "2026-05-01")]).objects[0].object_id;
    assert_eq!(acme.get(id).unwrap().len(), 2);
    assert_eq!(too_old(&acme, "2026-06-01".parse().unwrap()), []);
    assert_eq!(too_old(&acme, "2027-06-01".parse().unwrap()).len(), 1);
}

fn stale(tenant: &Tenant, at: Instant) -> Vec<String> {
    let all = tenant.proposals(at, None).unwrap().into_iter();
    let all = all.filter(|one| one.kind == WaitingKind::Stale);
    all.map(|one| one.name).collect()
}

fn made_from(name: &str, parents: &[ObjectId]) -> ObjectDocument {
    ObjectDocument {
        derived_from: parents.to_vec(),
        ..document(name, name)
    }
}

fn what_stands_on_what_is_over_is_stale(home: &Home) {
    let acme = home.tenant("acme");
    let over = ObjectDocument {
        valid_until: Some("2030-01-01".parse().unwrap()),
        ..document("over", "Until 2030.")
    };
    let over = put(&acme, vec![over]).objects[0].object_id;
    let open = put_one(&acme, "open", "For ever.");
    put(
        &acme,
        vec![
            made_from("alone", &[over]),
            made_from("both", &[over, open]),
        ],
    );
    let alone = acme.named("alone").unwrap();
    put(&acme, vec![made_from("upon", &alone)]);
    assert_eq!(stale(&acme, "2029-12-31".parse().unwrap()), [""; 0]);
    let mut found = stale(&acme, "2030-01-01".parse().unwrap());
    found.sort();
    assert_eq!(found, ["alone", "upon"]);
}

fn what_stands_on_a_claim_that_lost_is_stale(home: &Home) {
    let acme = home.tenant("acme");
    let claims = |name: &str, value: u32, from: Option<&str>| ObjectDocument {
        normalized_claim: Some(format!("port == {value}")),
        canonical_entity_ids: vec!["desk".into()],
        valid_from: from.map(|from| from.parse().unwrap()),
        ..document(name, &format!("The port is {value}."))
    };
    let old = put(&acme, vec![claims("old", 80, Some("2026-01-01"))]).objects[0].object_id;
    put(&acme, vec![made_from("summary", &[old])]);
    assert_eq!(stale(&acme, later()), [""; 0]);
    put(&acme, vec![claims("new", 443, Some("2026-03-01"))]);
    assert_eq!(stale(&acme, later()), ["summary"]);
    // In February the old one stood.
    assert_eq!(stale(&acme, "2026-02-01".parse().unwrap()), [""; 0]);
}

fn what_was_fresh_is_fresh_in_a_replay_of_then(home: &Home) {
    let acme = home.tenant("acme");
    let of = |name: &str, parents: &[ObjectId], content: &str| ObjectDocument {
        content: content.into(),
        ..made_from(name, parents)
    };
    let page = |content: &str| put(&acme, vec![of("page", &[], content)]);
    let parent = page("It is so, still: cold.").objects[0].object_id;
    put(
        &acme,
        vec![of("summary", &[parent], "It is so, still, they say: cold.")],
    );
    let summary = acme.named("summary").unwrap();
    let upon = of("upon", &summary, "It is so, still, in short.");
    let made = put(&acme, vec![upon]);
    let written = page("It is so, still: hot.");
    assert!(made.at < written.at);
    let told = |known: Instant| {
        let loaded = acme.load_as_of(known).unwrap();
        let as_of = AsOf {
            valid: Some(later()),
            known: Some(known),
        };
        let reasons = verdicts(loaded.candidates(), as_of).into_iter();
        let reasons = reasons.map(|(name, reason)| (name, reason.code().to_owned()));
        let mut reasons: Vec<(String, String)> = reasons.collect();
        reasons.sort_unstable();
        reasons
    };
    let all = |made: &str| {
        [("page", "fits"), ("summary", made), ("upon", made)]
            .map(|(name, code)| (name.to_owned(), code.to_owned()))
    };
    // Up to the write that changed the parent all of it was fresh, whenever that is asked.
    for known in [made.at, Instant::from_micros(written.at.micros() - 1)] {
        assert_eq!(told(known), all("fits"));
    }
    for known in [written.at, later()] {
        assert_eq!(told(known), all("stale"));
    }
    // What is asked without an instant is asked of now.
    assert_eq!(left_out_as_stale(&acme, later()), ["summary", "upon"]);
    // Made again from what the parent says now, it is fresh from then on, and was stale in between.
    let again = put(
        &acme,
        vec![of("summary", &[parent], "It is so, still, they say: hot.")],
    );
    let now: BTreeMap<String, String> = told(again.at).into_iter().collect();
    assert_eq!(now["summary"], "fits");
    assert_eq!(told(written.at), all("stale"));
}

/// The names of what a compile leaves out as stale.
fn left_out_as_stale(tenant: &Tenant, at: Instant) -> Vec<String> {
    let loaded = tenant.load().unwrap();
    let reasons = verdicts(
        loaded.candidates(),
        AsOf {
            valid: Some(at),
            known: None,
        },
    );
    let stale = reasons.into_iter().filter(|(_, reason)| matches!(reason, Reason::Stale { .. }));
    let mut names: Vec<String> = stale.map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn what_took_the_place_of_what_it_was_made_from_is_not_stale(home: &Home) {
    let acme = home.tenant("acme");
    let claims = |name: &str, value: u32, from: &str| ObjectDocument {
        normalized_claim: Some(format!("port == {value}")),
        canonical_entity_ids: vec!["desk".into()],
        valid_from: Some(from.parse().unwrap()),
        ..document(name, &format!("The port is {value}."))
    };
    let old = put(&acme, vec![claims("old", 80, "2026-01-01")]).objects[0].object_id;
    let update = ObjectDocument {
        derived_from: vec![old],
        ..claims("update", 443, "2026-03-01")
    };
    let update = put(&acme, vec![update]).objects[0].object_id;
    put(
        &acme,
        vec![
            made_from("of both", &[old, update]),
            made_from("of the old", &[old]),
        ],
    );
    let agreed = || {
        let mut found = stale(&acme, later());
        found.sort_unstable();
        assert_eq!(found, left_out_as_stale(&acme, later()));
        found
    };
    // The old one fell to the update, which was made from it, and so was what stands on both.
    assert_eq!(agreed(), ["of both", "of the old"]);
    put(&acme, vec![claims("old", 81, "2026-01-01")]);
    assert_eq!(agreed(), ["of both", "of the old", "update"]);
}

/// Random histories of what was made from what, of claims, judgements, decisions and retractions.
fn proposals_have_for_stale_what_a_compile_leaves_out(home: &Home) {
    let mut seen = 0;
    for seed in 0..u64::from(rounds(8, 200)) {
        let (name, mut dice) = (format!("t{seed}"), Dice(seed));
        let tenant = home.tenant(&name);
        let mut ids: Vec<ObjectId> = Vec::new();
        for _ in 0..32 {
            step(&tenant, &mut dice, &mut ids);
        }
        for at in ["2026-02-15".parse().unwrap(), now(), later()] {
            let mut found = stale(&tenant, at);
            found.sort_unstable();
            assert_eq!(found, left_out_as_stale(&tenant, at), "{seed} {at}");
            seen += found.len();
        }
    }
    assert!(seen > 10, "{seen}");
}

fn step(tenant: &Tenant, dice: &mut Dice, ids: &mut Vec<ObjectId>) {
    let (number, parents) = (dice.roll(9), dice.roll(4));
    let mut any = |ids: &[ObjectId]| ids[dice.roll(ids.len().max(1) as u64) as usize];
    if ids.len() < 4 || number < 5 {
        let made: Vec<ObjectId> = match ids.len() {
            0 => Vec::new(),
            _ => (0..parents).map(|_| any(ids)).collect(),
        };
        let claim = format!("port == {}", dice.roll(3));
        let types = [
            ObjectType::Rule,
            ObjectType::Preference,
            ObjectType::InferredBelief,
        ];
        let from = ["2026-01-01", "2026-02-01", "2026-03-01"][dice.roll(3) as usize];
        let document = ObjectDocument {
            object_type: Some(types[dice.roll(3) as usize]),
            normalized_claim: (dice.roll(2) == 0).then_some(claim),
            canonical_entity_ids: vec![["desk", "lamp"][dice.roll(2) as usize].into()],
            valid_from: (dice.roll(2) == 0).then(|| from.parse().unwrap()),
            valid_until: (dice.roll(9) == 0).then(|| "2026-05-01".parse().unwrap()),
            derived_from: made,
            decay_rule: (dice.roll(9) == 0)
                .then(|| ageing("any", RetirementRule::Archive).decay_rule)
                .flatten(),
            ..document(
                &format!("o{}", dice.roll(9)),
                &format!("Text {}.", dice.roll(99)),
            )
        };
        if let Ok(written) = tenant.put(vec![Put::new(document)], &quietly()) {
            ids.push(written.objects[0].object_id);
        }
        return;
    }
    let (one, other) = (any(ids), any(ids));
    // What is refused changes nothing.
    match number {
        5 => drop(tenant.judge(one, ContradictionStatus::Disputed, None, &quietly())),
        6 => drop(tenant.judge(one, ContradictionStatus::Clean, Some(other), &quietly())),
        7 => {
            let stands = [Decision::First, Decision::Both, Decision::Neither];
            let stands = stands[dice.roll(3) as usize];
            drop(tenant.resolve_conflict(one, other, stands, None, None, &quietly()));
        }
        _ => drop(tenant.retract(one, Expect::Any, &quietly())),
    }
}

fn a_proposal_to_erase_is_one_whatever_is_to_be_erased(home: &Home) {
    let acme = home.tenant("acme");
    let of = |object_type, rule, name: &str| ObjectDocument {
        object_type: Some(object_type),
        ..ageing(name, rule)
    };
    put(
        &acme,
        vec![
            of(
                ObjectType::InferredBelief,
                RetirementRule::HardDelete,
                "guess",
            ),
            of(
                ObjectType::InferredBelief,
                RetirementRule::TriggerUserConfirmation,
                "asked",
            ),
            // An outcome that was accepted, and is too old since, is accepted no second time.
            of(
                ObjectType::Outcome,
                RetirementRule::TriggerUserConfirmation,
                "done",
            ),
        ],
    );
    acme.sweep(later(), Retention::default(), false, &quietly()).unwrap();
    let proposal = Proposal {
        document: of(ObjectType::Outcome, RetirementRule::HardDelete, "new"),
        kind: OutcomeKind::Outcome,
        record: None,
        mistake: None,
    };
    acme.propose_outcome(proposal, &quietly()).unwrap();
    let all: Vec<Waiting> = acme.proposals(later(), None).unwrap();
    let kinds: Vec<(&str, WaitingKind)> = all.iter().map(|one| (&*one.name, one.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("guess", WaitingKind::Erasure),
            ("asked", WaitingKind::Inferred),
            ("done", WaitingKind::Confirmation),
            ("new", WaitingKind::Outcome),
        ]
    );
    // While it is young, it waits for another reason: nothing is to be erased.
    let young = acme.proposals(now(), None).unwrap();
    assert_eq!(young[0].kind, WaitingKind::Inferred);
}

fn a_command_names_the_tenant_and_all_parents(home: &Home) {
    for (tenant, more) in [("local", ""), ("the acme", " --tenant 'the acme'")] {
        let tenant = home.tenant(tenant);
        let parents = [put_one(&tenant, "a", "a"), put_one(&tenant, "b", "b")];
        put(&tenant, vec![made_from("summary", &parents)]);
        put_one(&tenant, "b", "b, and more");
        let all = tenant.proposals(now(), None).unwrap();
        let [a, b] = parents;
        let put = format!("tenure store put FILE.json --derived-from {a} --derived-from {b}{more}");
        assert_eq!(all[0].decide, put);
        let retract = format!("tenure review reject {}{more}", all[0].object_id.unwrap());
        assert_eq!(all[0].otherwise, [retract]);
    }
}

fn a_decision_holds_for_what_was_seen(home: &Home) {
    let acme = home.tenant("acme");
    let asks = || ageing("asks", RetirementRule::TriggerUserConfirmation);
    let id = put(&acme, vec![asks()]).objects[0].object_id;
    let sweep = |at| acme.sweep(at, Retention::default(), false, &quietly()).unwrap();
    sweep(later());
    let seen = Expect::Since(acme.awaiting(now(), None).unwrap()[0].since);
    // Somebody else confirms it: who saw it waiting retracts nothing any more.
    acme.confirm_seen(id, now(), (seen, None), &quietly()).unwrap();
    let late = acme.retract(id, seen, &quietly()).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    assert!(late.what.contains("was changed meanwhile"), "{late:?}");
    let late = acme.confirm_seen(id, now(), (seen, None), &quietly());
    assert_eq!(late.unwrap_err().kind, ErrorKind::Conflict);
    // Somebody else writes it again in other words, and it waits again.
    sweep(later());
    let seen = Expect::Since(acme.awaiting(now(), None).unwrap()[0].since);
    let again = ObjectDocument {
        content: "Other words.".into(),
        ..asks()
    };
    put(&acme, vec![again]);
    assert_eq!(
        acme.retract(id, seen, &quietly()).unwrap_err().kind,
        ErrorKind::Conflict
    );
    assert_eq!(acme.get(id).unwrap().len(), 1);

    let propose = |text: &str| {
        let proposal = Proposal {
            document: document("bars", text),
            kind: OutcomeKind::Outcome,
            record: None,
            mistake: None,
        };
        acme.propose_outcome(proposal, &quietly()).unwrap();
        acme.outcomes(None).unwrap()[0].clone()
    };
    let seen = propose("Valves are listed in bar.");
    let newer = propose("Valves are listed in psi.");
    let accept = |at| {
        let accept = OutcomeDecision::Accept;
        acme.decide_proposal(seen.object_id, Some(at), accept, "ada", &quietly())
    };
    let late = accept(seen.proposed_at).unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    assert!(late.what.contains("proposed anew"), "{late:?}");
    accept(newer.proposed_at).unwrap();
}

/// The names of these candidates, each with the reason that a compile gives.
fn verdicts(candidates: &Candidates, as_of: AsOf) -> Vec<(String, Reason)> {
    verdicts_under(&Policy::preset("standard").unwrap(), candidates, as_of)
}

/// The reason for each object in a compile under a policy, by name.
pub(crate) fn verdicts_under(
    policy: &Policy,
    candidates: &Candidates,
    as_of: AsOf,
) -> Vec<(String, Reason)> {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let mut request = Request::new("Is it so, still?", Budget::tokens(4_000)).with_as_of(as_of);
    let first = candidates.objects().first();
    let tenant = first.map_or("acme", |object| &object.revision().scope().tenant);
    request.principal.tenant = tenant.into();
    request.principal.clearance = Classification::HighlyRestricted;
    let outcome = compile(&world, policy, &request, candidates, &Facts::none()).unwrap();
    let verdicts = outcome.single().unwrap().trace.verdicts.iter();
    let each = verdicts.map(|verdict| (verdict.name.to_string(), verdict.reason.clone()));
    each.collect()
}

/// Those of these candidates that a compile has for too old, by name.
fn decayed(candidates: &Candidates, at: Instant) -> Vec<String> {
    let old = verdicts(candidates, AsOf::both(at)).into_iter();
    let old = old.filter(|(_, reason)| {
        matches!(
            reason,
            Reason::Decayed { .. } | Reason::AwaitingConfirmation { .. }
        )
    });
    old.map(|(name, _)| name).collect()
}

fn a_compile_leaves_out_what_a_sweep_would_retire(home: &Home) {
    let acme = home.tenant("acme");
    let rules = [
        RetirementRule::Archive,
        RetirementRule::DemoteToArchival,
        RetirementRule::TriggerUserConfirmation,
        RetirementRule::HardDelete,
    ];
    for (at, rule) in rules.into_iter().enumerate() {
        put(&acme, vec![ageing(&format!("written-{at}"), rule)]);
        let dated = ObjectDocument {
            valid_from: Some("2020-01-01".parse().unwrap()),
            ..ageing(&format!("dated-{at}"), rule)
        };
        put(&acme, vec![dated]);
    }
    let price = |from: &str| ObjectDocument {
        content: format!("Since {from}."),
        valid_from: Some(from.parse().unwrap()),
        ..ageing("price", RetirementRule::Archive)
    };
    put(&acme, vec![price("2020-01-01")]);
    put(&acme, vec![price("2090-01-01")]);
    put(&acme, vec![document("plain", "It does not age.")]);
    let agree = |at: Instant, count: usize| {
        let loaded = acme.load().unwrap();
        let compiled = decayed(loaded.candidates(), at);
        let mut compiled: Vec<&str> = compiled.iter().map(String::as_str).collect();
        let swept = too_old(&acme, at);
        let mut swept: Vec<&str> = swept.iter().map(|(name, _)| name.as_str()).collect();
        compiled.sort_unstable();
        swept.sort_unstable();
        assert_eq!(compiled, swept);
        assert_eq!(compiled.len(), count, "{compiled:?}");
    };
    agree(now(), 4);
    agree(later(), 8);
    // A judgement makes nothing younger; a confirmation does, also to whoever has read it before.
    let (id, dated) = (
        acme.named("written-0").unwrap()[0],
        acme.named("dated-0").unwrap()[0],
    );
    let half = after(182 * 86_400 - 60);
    std::thread::sleep(Duration::from_millis(20));
    for status in [ContradictionStatus::Disputed, ContradictionStatus::Clean] {
        acme.judge(id, status, None, &quietly()).unwrap();
    }
    agree(half, 4);
    agree(later(), 8);
    let known = std::sync::Arc::new(acme.load().unwrap());
    acme.confirm(vec![dated], now(), &quietly()).unwrap();
    agree(now(), 3);
    let fresh = acme.refresh(&known).unwrap();
    assert_eq!(decayed(fresh.candidates(), now()).len(), 3);
}

fn a_sweep_takes_the_ages_of_types_that_the_tenant_keeps(home: &Home) {
    let acme = home.tenant("acme");
    let old = ObjectDocument {
        valid_from: Some("2020-01-01".parse().unwrap()),
        object_type: Some(ObjectType::Preference),
        ..document("old", "Red pumps.")
    };
    put(&acme, vec![old]);
    assert_eq!(too_old(&acme, now()), []);
    let policy = serde_json::json!({ "name": "retirement",
        "half_life_days": { "preference": 180.0 }, "retire_below": { "preference": 0.1 } });
    acme.append_dated("policy/retirement", policy).unwrap();
    assert_eq!(too_old(&acme, now()).len(), 1);
}

fn what_was_judged_along_with_something_clean_is_a_proposal(home: &Home) {
    let acme = home.tenant("acme");
    let parent = put_one(&acme, "parent", "It is so.");
    let guess = ObjectDocument {
        object_type: Some(ObjectType::InferredBelief),
        ..made_from("guess", &[parent])
    };
    let guess = put(&acme, vec![guess]).objects[0].object_id;
    let judged = || {
        let all = acme.proposals(now(), None).unwrap().into_iter();
        let all = all.filter(|one| one.kind == WaitingKind::Judged);
        all.map(|one| (one.object_id, one.other_id, one.decide)).collect::<Vec<_>>()
    };
    let judge = |id, status| acme.judge(id, status, None, &quietly()).unwrap();
    judge(parent, ContradictionStatus::Quarantined);
    assert_eq!(
        acme.get(guess).unwrap()[0].object.status().contradiction,
        ContradictionStatus::Quarantined
    );
    assert_eq!(judged(), []);
    judge(parent, ContradictionStatus::Clean);
    let command = format!("tenure review accept {guess} --tenant acme");
    assert_eq!(judged(), [(Some(guess), Some(parent), command)]);
    judge(guess, ContradictionStatus::Clean);
    assert_eq!(judged(), []);
    // What was judged by itself waits for nobody.
    judge(guess, ContradictionStatus::Disputed);
    assert_eq!(judged(), []);
}

/// A chain in which each is made from the one before, and the first is written again. Each came before what it is made
/// from, so that looking at all of them in their order finds one more each time.
fn chain(tenant: &Tenant, length: usize) -> Duration {
    let id = |at: usize| ObjectId::from_bits(1_000_000 + at as u128);
    let link = |at: usize| ObjectDocument {
        object_id: Some(id(at)),
        ..document(&format!("link-{at}"), &format!("{at}"))
    };
    put(tenant, (0..=length).rev().map(link).collect());
    let made = |at: usize| ObjectDocument {
        derived_from: vec![id(at - 1)],
        ..link(at)
    };
    put(tenant, (1..=length).map(made).collect());
    let again = ObjectDocument {
        content: "Otherwise.".into(),
        ..link(0)
    };
    put(tenant, vec![again]);
    let at = now();
    let begun = Clock::now();
    assert_eq!(stale(tenant, at).len(), length);
    begun.elapsed()
}

#[test]
fn a_chain_of_derived_objects_costs_what_its_length_is() {
    let home = Home::sqlite();
    let [short, long] = [1_000, 10_000].map(|length| {
        let took = chain(&home.tenant(&format!("t{length}")), length);
        println!("a chain of {length}: {took:?}");
        took
    });
    // Ten times as many: what looks at all of them for each takes a hundred times as long.
    assert!(long < short * 40, "{short:?} {long:?}");
}
