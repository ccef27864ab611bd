//! An export, imported into an empty tenant, is the same tenant: it holds, says and compiles the same, now and as of every earlier
//! instant. What a file says that cannot be is refused whole, by its line.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use tenure::belief::entity::{EntityOp, Metadata};
use tenure::num::Score;
use tenure::object::{
    Authority, Classification, ContradictionStatus, Decision, ObjectId, ObjectType,
    OutcomeDecision, OutcomeKind, Usage,
};
use tenure::request::AsOf;
use tenure::time::Instant;
use tenure::{
    Budget, ContextObject, Error, ErrorKind, Facts, FrameKey, ObjectDocument, Policy, Principal,
    Request, World, compile,
};
use tenure_store::{
    Conflict, Expect, ExportLine, Import, NotExported, Proposal, Put, Sees, Tenant, Writing,
};

use crate::claims::{claims, create, merge};
use crate::common::{Dice, Home, document, exported, histories, now, put, rounds};

on_both_engines!(
    a_copy_says_what_the_tenant_says,
    what_contradicts_itself_is_refused_by_its_line,
    what_was_erased_stays_erased,
    the_registry_of_another_is_not_mixed_in,
    a_crowd_on_one_slot_is_copied_as_it_was_judged,
    a_mistake_is_told_of_and_not_copied,
);

fn quietly() -> Writing {
    Writing::default()
}

fn by(author: &str) -> Writing {
    Writing {
        author: Some(author.into()),
        ..quietly()
    }
}

/// The lines of an export.
fn lines(tenant: &Tenant) -> Vec<String> {
    let mut lines = Vec::new();
    tenant
        .export(&mut |line: ExportLine<'_>| {
            lines.push(serde_json::to_string(&line).unwrap());
            Ok(())
        })
        .unwrap();
    lines
}

fn import(tenant: &Tenant, lines: &[String]) -> Result<(), Error> {
    let mut import = Import::default();
    for (number, line) in (1..).zip(lines) {
        import.read(number, line)?;
    }
    tenant.import_whole(import, &quietly()).map(drop)
}

/// The callers of a tenant: nobody, two users, and one who may see what is restricted.
fn callers(tenant: &Tenant) -> [Principal; 3] {
    [
        (None, Classification::Restricted),
        (Some("ada"), Classification::HighlyRestricted),
        (Some("eve"), Classification::Restricted),
    ]
    .map(|(user, clearance)| Principal {
        tenant: tenant.name().to_owned(),
        user: user.map(str::to_owned),
        clearance,
        pii_authorized: true,
        ..Principal::default()
    })
}

fn sees(caller: Principal) -> impl Fn(&[Arc<ContextObject>]) -> Vec<bool> {
    let policy = Policy::preset("standard").unwrap();
    move |objects: &[Arc<ContextObject>]| {
        let candidates = tenure::Candidates::new(objects.to_vec());
        let open: BTreeSet<usize> =
            tenure::admitted(&policy, &caller, &candidates).into_iter().collect();
        (0..objects.len()).map(|at| open.contains(&at)).collect()
    }
}

/// All that a tenant holds at an instant, and what it compiles then for each caller.
fn held(tenant: &Tenant, known: Option<Instant>) -> String {
    thread_local! {
        static WORLD: World = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    }
    let resident = match known {
        None => tenant.load(),
        Some(known) => tenant.load_as_of(known),
    };
    let resident = resident.unwrap();
    let mut held = format!("{:?}\n", resident.entities());
    for object in resident.candidates().objects() {
        writeln!(held, "{object:?} mentions {:?}", resident.mentions(object)).unwrap();
    }
    for caller in callers(tenant) {
        let open = sees(caller.clone());
        let is_open = |id: ObjectId| {
            let parts: Vec<Arc<ContextObject>> = resident.held(id).cloned().collect();
            !parts.is_empty() && open(&parts).into_iter().all(|is_open| is_open)
        };
        let ids = ["ada", "lovelace", "nova", "desk"].into_iter();
        let mut request =
            Request::new("What is the port of Nova, says Ada?", Budget::tokens(4_000));
        request.identities =
            ids.filter_map(|id| resident.entities().identity(id, &is_open)).collect();
        request.as_of = AsOf {
            valid: Some(Instant::from_micros(1 << 51)),
            known,
        };
        request.principal = caller;
        let policy = Policy::preset("standard").unwrap();
        let (candidates, none) = (resident.candidates(), Facts::none());
        let outcome = WORLD.with(|world| compile(world, &policy, &request, candidates, &none));
        let compiled = outcome.unwrap().single().unwrap().clone();
        let envelope = serde_json::to_string(&compiled.envelope).unwrap();
        let trace = serde_json::to_string(&compiled.trace).unwrap();
        writeln!(held, "{envelope}\n{trace}").unwrap();
    }
    held
}

/// All that a tenant says of itself by its verbs.
fn said(tenant: &Tenant) -> String {
    let mut said = String::new();
    let callers = callers(tenant).map(sees);
    let views: Vec<Option<&Sees<'_>>> = std::iter::once(None)
        .chain(callers.iter().map(|sees| Some(sees as &Sees<'_>)))
        .collect();
    // As of one instant: what waits is shown with how old it is.
    let at = Instant::from_micros(1 << 51);
    for view in views {
        writeln!(said, "entities {:?}", tenant.entities(view)).unwrap();
        let conflicts = tenant.conflicts(None, view).unwrap();
        for Conflict { first, second, .. } in &conflicts {
            let (one, other) = (first.object_id, second.object_id);
            let history = tenant.conflict_history(one, other, view);
            writeln!(said, "history {:?}", history.unwrap()).unwrap();
        }
        writeln!(said, "conflicts {conflicts:?}").unwrap();
        writeln!(said, "outcomes {:?}", tenant.outcomes(view).unwrap()).unwrap();
        let mut proposals = tenant.proposals(at, view).unwrap();
        proposals.sort_by_key(|one| format!("{one:?}"));
        writeln!(said, "proposals {proposals:?}").unwrap();
    }
    let every = tenant.entities(None).unwrap();
    for id in every.iter().flat_map(|one| one.merged.iter().chain([&one.id])) {
        writeln!(said, "{id} {:?}", tenant.entity_history(id).unwrap()).unwrap();
    }
    let ids: BTreeSet<ObjectId> =
        exported(tenant).iter().filter_map(|line| line.object.object_id).collect();
    for id in ids {
        let history = tenant.history(id).unwrap();
        let history: Vec<_> = history.iter().map(|one| (&one.object, one.lifecycle)).collect();
        writeln!(said, "{id} {history:?} {:?}", tenant.belief(id, at, None)).unwrap();
    }
    said
}

/// Checks that two texts are the same, line by line: they are long.
fn alike(one: &str, other: &str) -> Result<(), TestCaseError> {
    for (one, other) in one.lines().zip(other.lines()) {
        prop_assert_eq!(one, other);
    }
    prop_assert_eq!(one.lines().count(), other.lines().count());
    Ok(())
}

/// Checks that one tenant is what another is, at these instants.
fn same(tenant: &Tenant, copy: &Tenant, instants: &[Instant]) -> Result<(), TestCaseError> {
    alike(&lines(copy).join("\n"), &lines(tenant).join("\n"))?;
    alike(&said(copy), &said(tenant))?;
    alike(&held(copy, None), &held(tenant, None))?;
    for known in instants {
        let conflicts = |tenant: &Tenant| tenant.conflicts(Some(*known), None).unwrap();
        prop_assert_eq!(conflicts(copy), conflicts(tenant));
        alike(&held(copy, Some(*known)), &held(tenant, Some(*known)))?;
    }
    prop_assert!(copy.check().unwrap().is_empty());
    Ok(())
}

/// What the readers of an object are.
fn labelled(dice: &mut Dice, document: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        user_id: [None, None, Some("ada"), Some("eve")][dice.roll(4) as usize].map(str::to_owned),
        security_classification: [None, Some(Classification::HighlyRestricted)]
            [usize::from(dice.roll(4) == 0)],
        session_id: (dice.roll(3) == 0).then(|| "talk".to_owned()),
        ..document
    }
}

/// A random write; what cannot be is refused, and changes nothing.
fn step(tenant: &Tenant, dice: &mut Dice, turn: u64) {
    let names: Vec<String> = (0..6).map(|at| format!("o{at}")).collect();
    let any = |dice: &mut Dice| {
        let name = &names[dice.roll(6) as usize];
        tenant.named(name).unwrap().first().copied()
    };
    let entity = |dice: &mut Dice| ["ada", "lovelace", "nova", "desk"][dice.roll(4) as usize];
    let outcome = |dice: &mut Dice| {
        let known = tenant.outcomes(None).unwrap();
        let at = dice.roll(known.len().max(1) as u64) as usize;
        known.get(at).map(|one| one.object_id)
    };
    match dice.roll(16) {
        0..5 => {
            let texts = [
                "Ada Lovelace asked Nova for the port.",
                "Lovelace has a desk; mail ada@x.example for more.",
                "Nova is slow. A. Lovelace says so.",
            ];
            let text = texts[dice.roll(3) as usize];
            let about = entity(dice).to_owned();
            let value = dice.roll(3);
            let claim = (dice.roll(4) > 0).then(|| format!("port == {value}"));
            let kinds = [
                ObjectType::ProjectDecision,
                ObjectType::Preference,
                ObjectType::InferredBelief,
            ];
            let kind = kinds[dice.roll(3) as usize];
            let one = ObjectDocument {
                object_type: Some(kind),
                normalized_claim: claim,
                canonical_entity_ids: vec![about],
                aliases: if dice.roll(4) == 0 {
                    vec![format!("Alias {turn}")]
                } else {
                    Vec::new()
                },
                authority_level: (dice.roll(3) == 0).then_some(Authority::User),
                confidence_score: (dice.roll(3) == 0).then_some(Score::from_millionths(250_000)),
                ..document(&names[dice.roll(6) as usize], &format!("{text} ({turn})"))
            };
            let one = labelled(dice, one);
            let parent = if dice.roll(4) == 0 { any(dice) } else { None };
            let one = ObjectDocument {
                derived_from: parent.into_iter().collect(),
                ..one
            };
            tenant.put(vec![Put::new(one)], &by("kim")).ok();
        }
        5 => {
            let id = any(dice);
            id.map(|id| tenant.retract(id, Expect::Any, &quietly()));
        }
        6 => {
            let status =
                [ContradictionStatus::Clean, ContradictionStatus::Disputed][dice.roll(2) as usize];
            any(dice).map(|id| tenant.judge(id, status, None, &quietly()));
        }
        7..9 => {
            let (id, into) = (entity(dice), entity(dice));
            let source = if dice.roll(2) == 0 { any(dice) } else { None };
            let op = if dice.roll(3) == 0 {
                (EntityOp::Split { id: id.into() }, None)
            } else {
                (merge(id, into), source)
            };
            tenant.change_entities(vec![op], &by("kim")).ok();
        }
        9 => {
            let all = tenant.entities(None).unwrap();
            let one = all[dice.roll(all.len() as u64) as usize].clone();
            let op = match dice.roll(3) {
                0 => EntityOp::Alias {
                    id: one.id,
                    alias: format!("By hand {turn}"),
                },
                1 if one.pending => merge(&one.id, "ada"),
                _ => EntityOp::Confirm { id: one.id },
            };
            tenant.change_entities(vec![(op, None)], &by("ada")).ok();
        }
        10..12 => {
            let all = tenant.conflicts(None, None).unwrap();
            if let Some(one) = all.get(dice.roll(all.len().max(1) as u64) as usize) {
                let stands = [
                    Decision::First,
                    Decision::Second,
                    Decision::Both,
                    Decision::Neither,
                ];
                let (first, second) = (one.first.object_id, one.second.object_id);
                let stands = stands[dice.roll(4) as usize];
                tenant
                    .resolve_conflict(first, second, stands, Some("asked"), None, &by("ada"))
                    .ok();
            }
        }
        12 => {
            let name = format!("out{}", dice.roll(3));
            let kinds = [OutcomeKind::Outcome, OutcomeKind::Correction];
            let proposal = Proposal {
                document: labelled(dice, document(&name, &format!("Nova was slow ({turn})."))),
                kind: kinds[dice.roll(2) as usize],
                record: None,
                mistake: None,
            };
            tenant.propose_outcome(proposal, &by("eve")).ok();
        }
        13 => {
            let steps = [
                OutcomeDecision::Accept,
                OutcomeDecision::Reject,
                OutcomeDecision::Withdraw,
            ];
            let step = steps[dice.roll(3) as usize];
            outcome(dice).map(|id| tenant.decide_outcome(id, step, "ada", &quietly()));
        }
        14 => {
            outcome(dice).map(|id| tenant.repeat_mistake(id, None, &by("eve")));
            let usage = Usage {
                access_count: 1 + dice.roll(9),
                last_used: Some(Instant::from_micros(turn as i64)),
                last_confirmed: None,
            };
            any(dice).map(|id| tenant.record_use(vec![(id, usage)]));
        }
        _ => {
            let id = any(dice);
            match dice.roll(3) {
                0 => id.map(|id| tenant.erase(vec![id], &quietly())),
                _ => id.map(|id| tenant.confirm(vec![id], now(), &quietly())),
            };
        }
    }
}

fn entity(id: &str, name: &str) -> (EntityOp, Option<ObjectId>) {
    let op = EntityOp::Create {
        id: id.into(),
        name: name.into(),
        kind: None,
        project: None,
        metadata: Metadata::default(),
        confidence: None,
        pending: false,
        candidates: Vec::new(),
    };
    (op, None)
}

/// A tenant with a random history, and instants of it.
fn random(tenant: &Tenant, seed: u64, steps: u64) -> Vec<Instant> {
    let made = [
        ("ada", "Ada Lovelace"),
        ("lovelace", "Lovelace"),
        ("nova", "Nova"),
        ("desk", "the desk"),
    ];
    let made = made.map(|(id, name)| entity(id, name));
    tenant.change_entities(made.to_vec(), &by("kim")).unwrap();
    let mut dice = Dice(seed);
    let mut instants = Vec::new();
    for turn in 0..steps {
        step(tenant, &mut dice, turn);
        if dice.roll(4) == 0 {
            let version = tenant.version().unwrap();
            instants.extend(tenant.written(version).unwrap().map(|stamp| stamp.at));
        }
    }
    // The first, the last and some between.
    let apart = instants.len() / 4 + 1;
    instants.into_iter().rev().step_by(apart).collect()
}

fn copied(
    home: &Home,
    other: &Home,
    name: &str,
    (seed, steps): (u64, u64),
) -> Result<(), TestCaseError> {
    let (tenant, copy) = (home.tenant(name), other.tenant(name));
    let instants = random(&tenant, seed, steps);
    import(&copy, &lines(&tenant)).unwrap();
    same(&tenant, &copy, &instants)?;
    // Both go on alike: the claims of what is written now are judged against the same.
    for one in [&tenant, &copy] {
        put(one, vec![claims("later", "port == 9")]);
    }
    let judged = |tenant: &Tenant| -> Vec<_> {
        let all = tenant.conflicts(None, None).unwrap().into_iter();
        all.map(|one| {
            (
                one.first.object_id,
                one.second.object_id,
                one.loser,
                one.ground,
            )
        })
        .collect()
    };
    prop_assert_eq!(judged(&copy), judged(&tenant));
    Ok(())
}

proptest! {
    #![proptest_config(histories(16, 2_000))]

    #[test]
    fn a_copy_of_a_random_tenant_is_the_same(seed in any::<u64>(), steps in 1u64..40) {
        copied(&Home::in_memory(), &Home::in_memory(), "acme", (seed, steps))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(2, 60), ..ProptestConfig::default() })]

    #[test]
    fn a_copy_on_postgresql_is_the_same(seed in any::<u64>(), steps in 1u64..40) {
        thread_local! {
            static SERVERS: [Home; 2] = [Home::postgresql(), Home::postgresql()];
            static NEXT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
        }
        let name = format!("t{}", NEXT.replace(NEXT.get() + 1));
        SERVERS.with(|[home, other]| copied(home, other, &name, (seed, steps)))?;
        // From one engine to the other.
        let name = format!("{name}-file");
        SERVERS.with(|[home, _]| copied(&Home::in_memory(), home, &name, (seed, steps)))?;
    }
}

/// Without the lines of any one kind, some copy holds or says something else: no kind could be left out.
#[test]
fn every_kind_of_line_counts() {
    let home = Home::in_memory();
    let mut left: BTreeSet<&str> = ["usage", "entity", "mention", "conflict", "outcome"].into();
    for seed in 0..200 {
        if left.is_empty() {
            return;
        }
        let name = format!("t{seed}");
        let tenant = home.tenant(&name);
        let instants = random(&tenant, seed, 30);
        let (all, known) = (lines(&tenant), instants.first().copied());
        let whole = (said(&tenant), held(&tenant, None), held(&tenant, known));
        left.retain(|kind| {
            let start = format!("{{\"{kind}\"");
            let rest: Vec<String> =
                all.iter().filter(|line| !line.starts_with(&start)).cloned().collect();
            let store = Home::in_memory();
            let copy = store.tenant(&name);
            import(&copy, &rest).unwrap();
            (said(&copy), held(&copy, None), held(&copy, known)) == whole
        });
    }
    assert!(left.is_empty(), "{left:?} change nothing");
}

/// A tenant of each kind of line.
fn told(acme: &Tenant) {
    acme.change_entities(
        vec![
            entity("ada", "Ada Lovelace"),
            entity("nova", "Nova"),
            entity("helix", "Helix"),
        ],
        &by("kim"),
    )
    .unwrap();
    let session = ObjectDocument {
        session_id: Some("talk".into()),
        ..document("note", "Ada Lovelace asked for Nova.")
    };
    let written = put(
        acme,
        vec![session, claims("a", "port == 1"), claims("b", "port == 2")],
    );
    let [_, a, b] = [0, 1, 2].map(|at| written.objects[at].object_id);
    // Whether this is the same Ada, a person is to say.
    put(acme, vec![document("wait", "Ada is late.")]);
    acme.change_entities(vec![(merge("helix", "nova"), Some(a))], &by("kim"))
        .unwrap();
    acme.resolve_conflict(a, b, Decision::First, Some("asked"), None, &by("kim"))
        .unwrap();
    let proposal = Proposal {
        document: document("bars", "Valves are listed in bar."),
        kind: OutcomeKind::Correction,
        record: None,
        mistake: Some("psi in the list".into()),
    };
    let bars = acme.propose_outcome(proposal, &by("eve")).unwrap().objects[0].object_id;
    acme.decide_outcome(bars, OutcomeDecision::Accept, "ada", &quietly()).unwrap();
    let usage = Usage {
        access_count: 3,
        last_used: Some(Instant::from_micros(5)),
        last_confirmed: None,
    };
    acme.record_use(vec![(a, usage)]).unwrap();
}

fn a_copy_says_what_the_tenant_says(home: &Home) {
    let acme = home.tenant("acme");
    told(&acme);
    let all = lines(&acme);
    for kind in [
        "usage", "entity", "mention", "spoken", "conflict", "outcome",
    ] {
        let start = format!("{{\"{kind}\":{{");
        assert!(all.iter().any(|line| line.starts_with(&start)), "{kind}");
    }
    let other = Home::sqlite();
    let copy = other.tenant("acme");
    let version = copy.version().unwrap();
    import(&copy, &all).unwrap();
    assert_eq!(copy.version().unwrap(), version + 1);
    same(&acme, &copy, &[]).unwrap();
    let outcome = copy.outcomes(None).unwrap().remove(0);
    assert_eq!(outcome.proposed_by.as_deref(), Some("eve"));
    assert_eq!(outcome.decided_by.as_deref(), Some("ada"));
    let decided = copy.conflicts(None, None).unwrap().remove(0);
    assert_eq!(decided.by.as_deref(), Some("kim"));
    // The lines of the beliefs alone are what an earlier version wrote.
    let older = Home::sqlite();
    let older = older.tenant("acme");
    let beliefs: Vec<String> =
        all.iter().filter(|line| line.contains("\"object\":{")).cloned().collect();
    import(&older, &beliefs).unwrap();
    assert_eq!(exported(&older), exported(&acme));
    // The session's next object is bound to whom it has named.
    for tenant in [&acme, &copy] {
        let next = ObjectDocument {
            session_id: Some("talk".into()),
            ..document("next", "Then Ada left.")
        };
        put(tenant, vec![next]);
    }
    let mentions = |tenant: &Tenant| {
        let resident = tenant.load().unwrap();
        let objects = resident.candidates().objects();
        let next = objects.iter().find(|one| one.name() == "next").unwrap();
        resident.mentions(next).to_vec()
    };
    // Who waits in one waits in the other, and is not asked for again.
    for tenant in [&acme, &copy] {
        let before = tenant.entities(None).unwrap();
        assert_eq!(before.iter().filter(|one| one.pending).count(), 1);
        put(tenant, vec![document("again", "Is Ada here?")]);
        assert_eq!(tenant.entities(None).unwrap(), before);
    }
    assert_eq!(mentions(&copy), ["ada"]);
    assert_eq!(mentions(&acme), ["ada"]);
    // The same lines again are the objects that are there.
    let again = import(&copy, &all).unwrap_err();
    assert_eq!(again.kind, ErrorKind::Conflict);
}

/// The line of this kind, and its place.
fn line_of(all: &[String], part: &str) -> usize {
    all.iter().position(|line| line.contains(part)).unwrap()
}

fn what_contradicts_itself_is_refused_by_its_line(home: &Home) {
    let acme = home.tenant("acme");
    told(&acme);
    let all = lines(&acme);
    let store = if home.is_postgresql() {
        Home::postgresql()
    } else {
        Home::sqlite()
    };
    let other = store.tenant("acme");
    let version = other.version().unwrap();
    let refused = |lines: Vec<String>, at: usize, what: &str| {
        let error = import(&other, &lines).unwrap_err();
        let place = error.at.as_ref().and_then(|place| place.line);
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(place, Some(at + 1), "{error}");
        assert_eq!(other.version().unwrap(), version);
    };
    let with = |at: usize, from: &str, to: &str| {
        let mut lines = all.clone();
        assert!(lines[at].contains(from), "{from} in {}", lines[at]);
        lines[at] = lines[at].replacen(from, to, 1);
        lines
    };
    let twice = |at: usize| {
        let mut lines = all.clone();
        lines.push(all[at].clone());
        (lines, all.len())
    };
    let (usage, conflict) = (
        line_of(&all, "{\"usage\""),
        line_of(&all, "\"ground\":\"person\""),
    );
    let (propose, accept) = (line_of(&all, "\"propose\""), line_of(&all, "\"accept\""));
    let (entity, merged) = (
        line_of(&all, "{\"entity\""),
        line_of(&all, "\"op\":\"merge\""),
    );
    let (mention, spoken) = (line_of(&all, "{\"mention\""), line_of(&all, "{\"spoken\""));
    // Objects that are not there.
    let nobody = "\"object_id\":\"00000000-0000-0000-0000-000000000007\"";
    for at in [usage, mention, spoken, propose] {
        let start = all[at].find("\"object_id\":").unwrap();
        let own = all[at][start..start + nobody.len()].to_owned();
        refused(with(at, &own, nobody), at, "no line before has the object");
    }
    // A line that stands twice.
    let (lines, at) = twice(usage);
    refused(lines, at, "counts the uses");
    let (lines, at) = twice(entity);
    refused(lines, at, "the one before it of");
    let (lines, at) = twice(conflict);
    refused(lines, at, "two judgements on one pair overlap");
    let (lines, at) = twice(accept);
    refused(lines, at, "accepted already");
    let mut lines = all.clone();
    lines.insert(entity + 1, all[entity].clone());
    refused(lines, entity + 1, "there already");
    // Instants that are to come, or out of order.
    let late = "\"at\":\"2999-01-01T00:00:00Z\"";
    let at_of = |at: usize| {
        let start = all[at].find("\"at\":\"").unwrap();
        let end = all[at][start + 6..].find('"').unwrap();
        all[at][start..start + 7 + end].to_owned()
    };
    for at in [mention, accept, merged] {
        refused(with(at, &at_of(at), late), at, "in the future");
    }
    refused(
        with(accept, &at_of(accept), "\"at\":\"1970-01-01T00:00:00Z\""),
        accept,
        "the one before it of",
    );
    refused(
        with(merged, &at_of(merged), "\"at\":\"1970-01-01T00:00:00Z\""),
        merged,
        "the one before it of",
    );
    // A merge in a ring, and entities that are not there.
    let mut lines = all.clone();
    let ring = all[merged].replace(
        "\"id\":\"helix\",\"into\":\"nova\"",
        "\"id\":\"nova\",\"into\":\"helix\"",
    );
    lines.insert(merged + 1, ring);
    refused(lines, merged + 1, "merged into itself");
    refused(
        with(merged, "\"into\":\"nova\"", "\"into\":\"nobody\""),
        merged,
        "no entity `nobody`",
    );
    // What acts for everybody comes from no object.
    let split = r#"{"op":"split","id":"helix"}"#;
    let own = all[merged].find("{\"op\"").unwrap();
    let own = all[merged][own..all[merged].len() - 2].to_owned();
    refused(with(merged, &own, split), merged, "come from no object");
    // Steps that no outcome takes.
    let mut lines = all.clone();
    lines.remove(propose);
    refused(lines, accept - 1, "is no outcome that was proposed");
    refused(
        with(propose, ",\"kind\":\"correction\"", ""),
        propose,
        "has no `kind`",
    );
    refused(
        with(accept, "\"by\":\"ada\"", "\"by\":\" \""),
        accept,
        "no name",
    );
    // Judgements that are none.
    refused(
        with(conflict, "\"ground\":\"person\"", "\"ground\":\"tie\""),
        conflict,
        "`by` and `note`",
    );
    let swapped = all[conflict]
        .replace("\"first\":\"", "\"third\":\"")
        .replace("\"second\":\"", "\"first\":\"")
        .replace("\"third\":\"", "\"second\":\"");
    refused(
        with(conflict, &all[conflict].clone(), &swapped),
        conflict,
        "is not the lower id",
    );
    // Words that are none, fields that there are not, two kinds in one.
    for (at, from, to, what) in [
        (accept, "\"accept\"", "\"applaud\"", "outcome.does"),
        (usage, "\"access_count\"", "\"accesses\"", "accesses"),
        (entity, "{\"entity\"", "{\"usage\":{},\"entity\"", ""),
    ] {
        refused(with(at, from, to), at, what);
    }
    // Objects to write are no history, and what is carried is about a history.
    let new = r#"{"object":{"name":"x","content":"y"}}"#.to_owned();
    let error = import(&other, &[new, all[entity].clone()]).unwrap_err();
    assert!(error.to_string().contains("tx_start"), "{error}");
    // Only the registry.
    import(&other, &all[entity..merged]).unwrap();
    assert_eq!(other.entities(None).unwrap().len(), 3);
}

fn what_was_erased_stays_erased(home: &Home) {
    let acme = home.tenant("acme");
    told(&acme);
    let note = acme.named("note").unwrap()[0];
    acme.erase(vec![note], &quietly()).unwrap();
    acme.erase_subject("ada", &quietly()).unwrap();
    let all = lines(&acme);
    let said = all.join("\n");
    assert!(
        !said.contains("erased") && !said.contains("Lovelace"),
        "{said}"
    );
    let copy = Home::sqlite();
    let copy = copy.tenant("acme");
    import(&copy, &all).unwrap();
    same(&acme, &copy, &[]).unwrap();
    // Of who was erased here, nothing comes with an import.
    let before = lines(&copy);
    copy.change_entities(vec![entity("bob", "Bob")], &quietly()).unwrap();
    let bob = lines(&copy).into_iter().find(|line| line.contains("Bob")).unwrap();
    copy.erase_subject("bob", &quietly()).unwrap();
    assert_eq!(lines(&copy), before);
    for line in [bob.clone(), bob.replace("\"id\":\"bob\"", "\"id\":\"BOB\"")] {
        let refused = import(&copy, &[line]).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Policy, "{refused}");
        assert!(refused.to_string().contains("was erased"), "{refused}");
    }
    let a = copy.named("a").unwrap()[0];
    copy.erase(vec![a], &quietly()).unwrap();
    let source = "\"does\":{\"op\":\"create\",\"id\":\"zoe\",\"name\":\"Zoe\"}";
    let line =
        format!("{{\"entity\":{{\"at\":\"2020-01-01T00:00:00Z\",\"source\":\"{a}\",{source}}}}}");
    let refused = import(&copy, &[line]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Policy, "{refused}");
}

fn the_registry_of_another_is_not_mixed_in(home: &Home) {
    let acme = home.tenant("acme");
    acme.change_entities(
        vec![entity("ada", "Ada"), entity("nova", "Nova")],
        &by("kim"),
    )
    .unwrap();
    let all = lines(&acme);
    // What the tenant has by the very same words is there already.
    import(&acme, &all).unwrap();
    assert_eq!(lines(&acme), all);
    // Of an entity that it has otherwise, nothing is taken over.
    let heir = Home::sqlite();
    let heir = heir.tenant("acme");
    heir.change_entities(vec![entity("ada", "Ada")], &by("eve")).unwrap();
    let before = lines(&heir);
    let refused = import(&heir, &all).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert!(
        refused.to_string().contains("has the entity `ada` already"),
        "{refused}"
    );
    assert_eq!(lines(&heir), before);
    // Others are added, however old they are; then an export has them in their order.
    import(&heir, &all[1..]).unwrap();
    let both = lines(&heir);
    assert_eq!(both.len(), 2);
    assert!(
        both[0].contains("nova") && both[1].contains("ada"),
        "{both:?}"
    );
    let copy = Home::sqlite();
    let copy = copy.tenant("acme");
    import(&copy, &both).unwrap();
    assert_eq!(lines(&copy), both);
    assert_eq!(copy.entities(None).unwrap(), heir.entities(None).unwrap());
}

fn a_crowd_on_one_slot_is_copied_as_it_was_judged(home: &Home) {
    let acme = home.tenant("acme");
    // Each is stronger than all before, so that each was judged against others than the last are.
    for at in 0..80i64 {
        let one = ObjectDocument {
            valid_from: Some(Instant::from_micros(at)),
            ..claims(&format!("c{at}"), &format!("port == {at}"))
        };
        put(&acme, vec![one]);
    }
    let copy = Home::sqlite();
    let copy = copy.tenant("acme");
    let all = lines(&acme);
    import(&copy, &all).unwrap();
    assert_eq!(lines(&copy), all);
    assert_eq!(
        copy.conflicts(None, None).unwrap(),
        acme.conflicts(None, None).unwrap()
    );
    // A judgement that the claims do not give ends with the import; one that is left out is made anew.
    let few = Home::sqlite();
    let acme = few.tenant("acme");
    put(
        &acme,
        vec![
            claims("a", "port == 1"),
            claims("b", "port == 2"),
            claims("c", "host == 1"),
        ],
    );
    let all = lines(&acme);
    let at = line_of(&all, "{\"conflict\"");
    let mut forged = all.clone();
    forged[at] = forged[at].replace("\"slot\":\"port\"", "\"slot\":\"host\"");
    let heir = Home::sqlite();
    let heir = heir.tenant("acme");
    import(&heir, &forged).unwrap();
    let now = heir.conflicts(None, None).unwrap();
    assert_eq!(now.len(), 1);
    assert_eq!(now[0].slot, "port");
    let (first, second) = (now[0].first.object_id, now[0].second.object_id);
    let history = heir.conflict_history(first, second, None).unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].tx_end, Some(now[0].tx_start));
}

fn a_mistake_is_told_of_and_not_copied(home: &Home) {
    let acme = home.tenant("acme");
    told(&acme);
    assert_eq!(acme.not_exported().unwrap(), NotExported { mistakes: 1 });
    let all = lines(&acme).join("\n");
    assert!(!all.contains("mistake"), "{all}");
    let copy = Home::sqlite();
    let copy = copy.tenant("acme");
    import(&copy, &lines(&acme)).unwrap();
    assert_eq!(copy.not_exported().unwrap(), NotExported::default());
}

#[test]
fn circles_of_decisions_are_refused() {
    let home = Home::sqlite();
    let acme = home.tenant("acme");
    put(
        &acme,
        vec![
            claims("a", "port == 1"),
            claims("b", "port == 2"),
            claims("c", "port == 3"),
        ],
    );
    let of = |name: &str| acme.named(name).unwrap()[0];
    for (one, other) in [("a", "b"), ("b", "c")] {
        acme.resolve_conflict(of(one), of(other), Decision::First, None, None, &quietly())
            .unwrap();
    }
    let mut all = lines(&acme);
    // The last pair, decided the wrong way round.
    let open = all
        .iter()
        .position(|line| {
            line.contains("{\"conflict\"") && line.contains("\"tie\"") && !line.contains("tx_end")
        })
        .unwrap();
    let (a, c) = (of("a"), of("c"));
    let loser = if a < c { "first" } else { "second" };
    let start = all[open].find("\"loser\":\"").unwrap();
    let end = start + 9 + all[open][start + 9..].find('"').unwrap() + 1;
    all[open].replace_range(start..end, &format!("\"loser\":\"{loser}\""));
    all[open] = all[open].replace("\"tie\"", "\"person\"");
    let heir = Home::sqlite();
    let heir = heir.tenant("acme");
    let refused = import(&heir, &all).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Conflict);
    assert!(
        refused.to_string().contains("round in a circle"),
        "{refused}"
    );
    assert_eq!(heir.version().unwrap(), 0);
}

#[test]
fn many_lines_take_their_time_and_no_more() {
    let home = Home::in_memory();
    let (acme, other) = (home.tenant("acme"), Home::in_memory());
    let copy = other.tenant("acme");
    let many = rounds(1_000, 10_000) as usize;
    let documents: Vec<ObjectDocument> = (0..many)
        .map(|at| document(&format!("o{at}"), &format!("The valve {at} of Nova {at}.")))
        .collect();
    put(&acme, documents);
    let began = std::time::Instant::now();
    let beliefs = lines(&acme);
    let (bare, began) = (began.elapsed(), std::time::Instant::now());
    let heir = Home::in_memory();
    import(&heir.tenant("acme"), &beliefs).unwrap();
    let bare_import = began.elapsed();
    let made = (0..many).map(|at| entity(&format!("e{at}"), &format!("Nova {at}")));
    acme.change_entities(made.collect(), &quietly()).unwrap();
    let chain = (1..many).map(|at| (merge(&format!("e{}", at - 1), &format!("e{at}")), None));
    acme.change_entities(chain.take(100).collect(), &quietly()).unwrap();
    let began = std::time::Instant::now();
    let all = lines(&acme);
    let (whole, began) = (began.elapsed(), std::time::Instant::now());
    import(&copy, &all).unwrap();
    let whole_import = began.elapsed();
    println!(
        "{many} objects: exported in {bare:?}, imported in {bare_import:?}; with as many entities {whole:?}, {whole_import:?}"
    );
    assert_eq!(lines(&copy), all);
}

// `create` makes an entity with its id as its name, which the tests of claims share.
#[test]
fn an_entity_that_is_there_by_the_same_words_is_there() {
    let home = Home::sqlite();
    let acme = home.tenant("acme");
    acme.change_entities(vec![(create("x"), None)], &quietly()).unwrap();
    let all = lines(&acme);
    import(&acme, &all).unwrap();
    assert_eq!(lines(&acme), all);
}
