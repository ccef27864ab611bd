//! Registries: what the primitives do, who may use them, and that the log, a snapshot and a view each
//! hold the whole state.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use tenure::gate::Gate;
use tenure::num::Score;
use tenure::object::{
    AuthorKind, Authority, ContradictionStatus, ObjectType, Overrides, Protection, Role,
};
use tenure::registry::{
    Address, Capability, Critical, Entry, Kind, Library, Op, Place, Registries, RegistryView,
    Secrets, Snapshot, State, Until, retention,
};
use tenure::{
    Budget, Candidates, Compiled, Error, ErrorKind, Facts, FrameKey, ObjectDocument, Policy,
    Reason, Request, Ruling, World, compile,
};

const SIGNING: [u8; 32] = [9; 32];

fn secrets(session: u8) -> Secrets {
    Secrets::new([session; 32], SIGNING)
}

fn rule(name: &str) -> ObjectDocument {
    ObjectDocument::named(name, format!("Rule {name} holds."))
}

fn seeds(names: &[&str]) -> Library {
    let sealed = names.iter().map(|name| ("seeds", rule(name).seal().unwrap()));
    Library::new(sealed).unwrap()
}

/// A registry `main` with these seeds.
fn main_with(names: &[&str]) -> (Registries, Capability) {
    let mut registries = Registries::new(secrets(1));
    let main = registries.create("main", Kind::Agent).unwrap();
    let library = seeds(names);
    for name in names {
        registries.draw(&main, "main", &library, name, Place::Back).unwrap();
    }
    (registries, main)
}

fn names(registries: &mut Registries, label: &str) -> Vec<String> {
    let view = registries.view(label).unwrap();
    view.blocks().map(|block| block.name().to_owned()).collect()
}

fn address(registries: &mut Registries, label: &str, name: &str) -> Address {
    let view = registries.view(label).unwrap();
    let block = view.named(name).unwrap();
    view.address(registries, block)
}

fn promote(
    registries: &mut Registries,
    by: &Capability,
    blocks: &[&str],
    to: Place,
) -> Result<Vec<String>, Error> {
    let blocks = blocks.iter().map(|name| address(registries, "main", name));
    let blocks = blocks.collect();
    registries.apply(by, "main", Op::Promote { blocks, to })?;
    Ok(names(registries, "main"))
}

/// Asserts that an operation is refused for this reason, and that nothing changed.
#[track_caller]
fn refused<T>(
    registries: &mut Registries,
    kind: ErrorKind,
    part: &str,
    act: impl FnOnce(&mut Registries) -> Result<T, Error>,
) {
    let before = registries.snapshot().unwrap();
    let Err(error) = act(registries) else {
        panic!("not refused: {part}");
    };
    assert_eq!(error.kind, kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
    assert_eq!(registries.snapshot().unwrap(), before);
}

fn compiled(candidates: &Candidates, request: &Request) -> Compiled {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("ordered").unwrap();
    let outcome = compile(&world, &policy, request, candidates, &Facts::none()).unwrap();
    outcome.single().unwrap().clone()
}

fn request(task: &str) -> Request {
    Request::new(task, Budget::tokens(2_000))
}

// --- promote --------------------------------------------------------------------------------------

#[test]
fn one_block_goes_where_it_is_sent() {
    let (mut registries, main) = main_with(&["a", "b", "c", "d"]);
    let mut to = |name, place| promote(&mut registries, &main, &[name], place).unwrap().concat();
    assert_eq!(to("c", Place::Front), "cabd");
    assert_eq!(to("c", Place::Back), "abdc");
    assert_eq!(to("a", Place::At(2)), "bdac");
    assert_eq!(to("a", Place::Steps(1)), "badc");
    assert_eq!(to("a", Place::Steps(-1)), "bdac");
    assert_eq!(to("b", Place::Steps(-100)), "dacb");
    let a = address(&mut registries, "main", "a");
    let mut to = |name, place| promote(&mut registries, &main, &[name], place).unwrap().concat();
    assert_eq!(to("b", Place::Before(a)), "dbac");
    assert_eq!(to("d", Place::After(a)), "badc");
}

#[test]
fn a_group_moves_as_one_with_its_inner_order() {
    let (mut registries, main) = main_with(&["a", "b", "c", "d", "e", "f"]);
    let mut to =
        |group: &[&str], place| promote(&mut registries, &main, group, place).unwrap().concat();
    assert_eq!(to(&["e", "b"], Place::Front), "ebacdf");
    assert_eq!(to(&["a", "f"], Place::At(1)), "eafbcd");
    assert_eq!(to(&["a", "f"], Place::At(4)), "ebcdaf");
    assert_eq!(to(&["d", "e"], Place::Steps(1)), "bdecaf");
    let critical = Critical::Last.group("a", &["f", "b"]);
    assert_eq!(to(&critical, Place::Back), "decfba");
    let critical = Critical::First.group("a", &["f", "b"]);
    assert_eq!(to(&critical, Place::Front), "afbdec");
    let critical = Critical::Centre.group("a", &["f", "b"]);
    assert_eq!(to(&critical, Place::Front), "fabdec");
}

#[test]
fn a_reorder_keeps_the_places_that_the_blocks_hold_together() {
    let (mut registries, main) = main_with(&["a", "b", "c", "d"]);
    let blocks = ["d", "a", "c"].map(|name| address(&mut registries, "main", name));
    let op = Op::Reorder {
        blocks: blocks.to_vec(),
    };
    registries.apply(&main, "main", op).unwrap();
    assert_eq!(names(&mut registries, "main").concat(), "dbac");
}

#[test]
fn senseless_moves_are_refused() {
    let (mut registries, main) = main_with(&["a", "b", "c"]);
    let a = address(&mut registries, "main", "a");
    let b = address(&mut registries, "main", "b");
    let mut bad = |part: &str, blocks: Vec<Address>, to: Place| {
        refused(&mut registries, ErrorKind::Input, part, |registries| {
            registries.apply(&main, "main", Op::Promote { blocks, to })
        });
    };
    bad("relative to itself", vec![a], Place::Before(a));
    bad("relative to itself", vec![a, b], Place::After(b));
    bad("named twice", vec![a, a], Place::Front);
    bad("no block is named", vec![], Place::Front);
    bad("no position 3", vec![a], Place::At(3));
    bad("no position 2", vec![a, b], Place::At(2));
    refused(
        &mut registries,
        ErrorKind::Input,
        "a step needs a block",
        |registries| registries.write(&main, "main", rule("n"), Place::Steps(1)),
    );
}

// --- write, revise, override ----------------------------------------------------------------------

#[test]
fn an_agent_writes_guidance_and_revises_its_own() {
    let (mut registries, main) = main_with(&["a", "b"]);
    let heuristic = ObjectDocument {
        trajectory_id: Some("run-1".into()),
        ..ObjectDocument::named("tip", "Check the prescaler first.")
    };
    let done = registries.write(&main, "main", heuristic, Place::At(1)).unwrap();
    assert_eq!(names(&mut registries, "main"), ["a", "tip", "b"]);
    let tip = done.written.unwrap();
    let better = "Check prescaler and period.";
    registries.revise(&main, "main", tip, better).unwrap();
    let view = registries.view("main").unwrap();
    let block = view.named("tip").unwrap();
    let revision = block.object().revision();
    assert_eq!(revision.content(), better);
    assert_eq!(revision.author(), AuthorKind::Agent);
    assert_eq!(revision.authority_level(), Authority::Memory);
    assert_eq!(revision.trajectory(), Some("run-1"));
    assert_eq!(block.writer(), "main");
    assert_eq!(view.written_in("run-1").len(), 1);
    let anonymous = ObjectDocument {
        object_type: Some(ObjectType::RetrievedPassage),
        ..ObjectDocument::named("passage", "PB7 is pin 43.")
    };
    let refused = registries.write(&main, "main", anonymous, Place::Back);
    let what = refused.unwrap_err().what;
    assert_eq!(
        what,
        "`passage` is a retrieved_passage without `provenance.source_id`"
    );
    let read = "2026-05-01".parse().unwrap();
    let passage = ObjectDocument::evidence("board.pdf", read, "PB7 is pin 43.");
    let done = registries.write(&main, "main", passage, Place::Back);
    assert!(done.is_ok(), "data keeps the level of data");
}

#[test]
fn what_an_agent_may_not_write() {
    let (mut registries, main) = main_with(&["a"]);
    let mut bad = |part: &str, document: ObjectDocument| {
        refused(&mut registries, ErrorKind::Policy, part, |registries| {
            registries.write(&main, "main", document, Place::Back)
        });
    };
    let with = |over: ObjectDocument| ObjectDocument {
        name: "n".into(),
        content: "Obey.".into(),
        ..over
    };
    let level = Some(Authority::Developer);
    bad(
        "authority level 1",
        with(ObjectDocument {
            authority_level: level,
            ..Default::default()
        }),
    );
    let kinds = [
        ObjectType::PolicyRule,
        ObjectType::ToolSchema,
        ObjectType::ActionableConstraint,
        ObjectType::Outcome,
        ObjectType::TaskState,
    ];
    for kind in kinds {
        let document = ObjectDocument {
            object_type: Some(kind),
            ..Default::default()
        };
        bad("where no agent writes", with(document));
    }
    // Nor does it put words into anybody's mouth, or speak for the store.
    for role in [Role::System, Role::User, Role::Assistant] {
        let document = ObjectDocument {
            object_type: Some(ObjectType::Turn),
            role: Some(role),
            ..Default::default()
        };
        bad("where no agent writes", with(document));
    }
    let judged = ObjectDocument {
        contradiction_status: Some(ContradictionStatus::Overridden),
        ..Default::default()
    };
    bad("what became of it", with(judged));
    for author in [AuthorKind::Seed, AuthorKind::Orchestrator] {
        let document = ObjectDocument {
            author: Some(author),
            ..Default::default()
        };
        bad("says that its author is", with(document));
    }
    refused(
        &mut registries,
        ErrorKind::Input,
        "already has a block named `a`",
        |registries| registries.write(&main, "main", rule("a"), Place::Back),
    );
    // No agent calls its own text a seed.
    let forged = rule("forged").seal().unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "not drawn from a library",
        |registries| {
            let op = Op::Draw {
                object: forged,
                from: "seeds/forged".into(),
                at: Place::Front,
            };
            registries.apply(&main, "main", op)
        },
    );
    let a = address(&mut registries, "main", "a");
    refused(
        &mut registries,
        ErrorKind::Policy,
        "immutable",
        |registries| registries.revise(&main, "main", a, "Something else."),
    );
}

#[test]
fn overrides_speak_for_the_block_in_a_compile() {
    let (mut registries, main) = main_with(&["a", "b"]);
    let a = address(&mut registries, "main", "a");
    let before = registries.view("main").unwrap();
    let overrides = Overrides {
        name: Some("alpha".into()),
        priority: Some(Score::ONE),
        protection: Some(Protection::Pinned),
        removable: Some(false),
    };
    let op = Op::Override {
        block: a,
        overrides,
    };
    registries.apply(&main, "main", op).unwrap();
    let after = registries.view("main").unwrap();
    assert!(after.named("a").is_err());
    let block = after.named("alpha").unwrap();
    let was = before.named("a").unwrap();
    assert_eq!(block.object().revision().id(), was.object().revision().id());

    let old = compiled(before.candidates(), &request("Do it."));
    let new = compiled(after.candidates(), &request("Do it."));
    assert!(old.trace.verdict("a").is_some());
    let verdict = new.trace.verdict("alpha").unwrap();
    assert!(matches!(verdict.reason, Reason::Mandatory { .. }));
    assert_eq!(verdict.score.unwrap().utility, Score::ONE);
    assert_ne!(old.trace.inputs.candidates, new.trace.inputs.candidates);
    let host = registries.issue("main").unwrap();
    refused(
        &mut registries,
        ErrorKind::Input,
        "already has a block named `b`",
        |registries| {
            let overrides = Overrides {
                name: Some("b".into()),
                ..Overrides::default()
            };
            registries.apply(
                &host,
                "main",
                Op::Override {
                    block: a,
                    overrides,
                },
            )
        },
    );
}

// --- evict, rollback ------------------------------------------------------------------------------

/// A chair that wrote a protected and a plain block into a table's registry.
fn workshop() -> (Registries, Capability, Capability) {
    let (mut registries, main) = main_with(&["a", "b", "c"]);
    let chair = registries.create("chair", Kind::Orchestrator).unwrap();
    registries.refer(&chair, &main).unwrap();
    let ceiling = ObjectDocument {
        removable: Some(false),
        ..rule("ceiling")
    };
    registries.write(&chair, "main", ceiling, Place::Front).unwrap();
    registries.write(&chair, "main", rule("topic"), Place::Back).unwrap();
    (registries, main, chair)
}

#[test]
fn protection_holds_against_everybody_but_the_author() {
    let (mut registries, main, chair) = workshop();
    let ceiling = address(&mut registries, "main", "ceiling");
    let a = address(&mut registries, "main", "a");
    let evict = |force| Op::Evict {
        blocks: vec![ceiling, a],
        force,
    };
    let overrides = Overrides {
        priority: Some(Score::ZERO),
        ..Overrides::default()
    };
    let attempts = [
        ("evicted", evict(true)),
        ("evicted", evict(false)),
        (
            "moved",
            Op::Promote {
                blocks: vec![ceiling],
                to: Place::Back,
            },
        ),
        (
            "moved",
            Op::Reorder {
                blocks: vec![a, ceiling],
            },
        ),
        (
            "priority",
            Op::Override {
                block: ceiling,
                overrides,
            },
        ),
    ];
    for (part, op) in attempts {
        refused(&mut registries, ErrorKind::Policy, part, |registries| {
            registries.apply(&main, "main", op)
        });
    }
    refused(
        &mut registries,
        ErrorKind::Policy,
        "`force`",
        |registries| {
            registries.apply(
                &chair,
                "main",
                Op::Evict {
                    blocks: vec![ceiling],
                    force: false,
                },
            )
        },
    );
    let op = Op::Evict {
        blocks: vec![ceiling],
        force: true,
    };
    let done = registries.apply(&chair, "main", op).unwrap();
    assert_eq!(done.removed, ["ceiling".into()]);
    // What is removable is anybody's to take out who holds a reference.
    let topic = address(&mut registries, "main", "topic");
    let op = Op::Evict {
        blocks: vec![topic],
        force: false,
    };
    registries.apply(&main, "main", op).unwrap();
    assert_eq!(names(&mut registries, "main"), ["a", "b", "c"]);
}

#[test]
fn an_address_outlives_neither_its_block_nor_its_session() {
    let (mut registries, main, _) = workshop();
    let a = address(&mut registries, "main", "a");
    let evict = |block| Op::Evict {
        blocks: vec![block],
        force: false,
    };
    registries.apply(&main, "main", evict(a)).unwrap();
    refused(
        &mut registries,
        ErrorKind::Input,
        "no longer stands",
        |registries| registries.apply(&main, "main", evict(a)),
    );
    let b = address(&mut registries, "main", "b");
    let text = registries.snapshot().unwrap();
    let mut restored = Registries::restore(&text, secrets(2)).unwrap();
    let main = restored.issue("main").unwrap();
    assert_ne!(address(&mut restored, "main", "b"), b);
    refused(
        &mut restored,
        ErrorKind::Input,
        "in this session",
        |registries| registries.apply(&main, "main", evict(b)),
    );
    let guess: Address = "00000001000080008000000000000000".parse().unwrap();
    refused(
        &mut restored,
        ErrorKind::Input,
        "in this session",
        |registries| registries.apply(&main, "main", evict(guess)),
    );
    // An address of one registry is none of another's.
    let chair = restored.issue("chair").unwrap();
    let in_main = address(&mut restored, "main", "b");
    refused(
        &mut restored,
        ErrorKind::Input,
        "not an address of `chair`",
        |registries| registries.apply(&chair, "chair", evict(in_main)),
    );
}

#[test]
fn a_policy_evicts_the_least_deserving_until_the_limit() {
    let (mut registries, main, _) = workshop();
    let library = seeds(&["dull", "dear"]);
    for (name, priority) in [("dull", 0.1), ("dear", 0.9)] {
        registries.draw(&main, "main", &library, name, Place::Front).unwrap();
        let block = address(&mut registries, "main", name);
        let overrides = Overrides {
            priority: Score::new(priority),
            ..Overrides::default()
        };
        registries.apply(&main, "main", Op::Override { block, overrides }).unwrap();
    }
    let used = address(&mut registries, "main", "a");
    registries.apply(&main, "main", Op::Use { blocks: vec![used] }).unwrap();
    let until = Until::blocks(5);
    let (eviction, done) = registries.evict_until(&main, "main", &until, retention).unwrap();
    assert_eq!(done.unwrap().removed, ["dull".into(), "b".into()]);
    assert_eq!(eviction.short, 0);
    assert_eq!(
        names(&mut registries, "main"),
        ["dear", "ceiling", "a", "c", "topic"]
    );
    // Another function, and a limit that what is protected or another's keeps from being reached.
    let by_name = |block: &tenure::registry::Block<'_>| std::cmp::Reverse(block.name().to_owned());
    let (eviction, done) =
        registries.evict_until(&main, "main", &Until::bytes(1), by_name).unwrap();
    assert_eq!(
        done.unwrap().removed,
        ["dear".into(), "c".into(), "a".into()]
    );
    assert_eq!(
        eviction.short,
        "Rule ceiling holds.Rule topic holds.".len() as u64 - 1
    );
    let chair = registries.issue("chair").unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "by a policy",
        |registries| registries.evict_until(&chair, "main", &until, retention),
    );
}

#[test]
fn a_rollback_is_the_authors_own() {
    let (mut registries, main, chair) = workshop();
    let of_run = |name: &str| ObjectDocument {
        trajectory_id: Some("run-7".into()),
        removable: Some(false),
        ..rule(name)
    };
    registries.write(&main, "main", of_run("x"), Place::Front).unwrap();
    registries.write(&chair, "main", of_run("y"), Place::Front).unwrap();
    registries.write(&main, "main", of_run("z"), Place::Back).unwrap();
    let back = |run: &str| Op::Rollback {
        trajectory: run.into(),
    };
    let done = registries.apply(&main, "main", back("run-7")).unwrap();
    assert_eq!(done.removed, ["x".into(), "z".into()]);
    assert_eq!((&*done.kept[0].name, &*done.kept[0].writer), ("y", "chair"));
    refused(
        &mut registries,
        ErrorKind::Policy,
        "wrote no block",
        |registries| registries.apply(&main, "main", back("run-7")),
    );
    refused(
        &mut registries,
        ErrorKind::Input,
        "did you mean `run-7`?",
        |registries| registries.apply(&main, "main", back("run-8")),
    );
}

#[test]
fn an_evicted_tool_is_absent_from_the_next_envelope() {
    let mut registries = Registries::new(secrets(1));
    let chair = registries.create("chair", Kind::Orchestrator).unwrap();
    let tool = |name: &str| ObjectDocument {
        object_type: Some(ObjectType::ToolSchema),
        ..ObjectDocument::named(name, "Flashes the board.")
    };
    for name in ["flash_board", "read_pin"] {
        registries.write(&chair, "chair", tool(name), Place::Back).unwrap();
    }
    let chat = Request {
        target: tenure::Target::OpenAiChat,
        ..request("Flash the board.")
    };
    let body = |registries: &mut Registries| {
        let view = registries.view("chair").unwrap();
        let compiled = compiled(view.candidates(), &chat);
        let payload = compiled.envelope.payload.unwrap();
        String::from_utf8(payload.bytes().to_vec()).unwrap()
    };
    assert!(body(&mut registries).contains("flash_board"));
    let block = address(&mut registries, "chair", "flash_board");
    let op = Op::Evict {
        blocks: vec![block],
        force: false,
    };
    registries.apply(&chair, "chair", op).unwrap();
    let after = body(&mut registries);
    assert!(!after.contains("flash_board") && after.contains("read_pin"));
}

#[test]
fn what_a_protected_block_needs_stays_with_it() {
    let (mut registries, main, chair) = workshop();
    registries.write(&chair, "main", rule("units"), Place::Back).unwrap();
    let cap = ObjectDocument {
        removable: Some(false),
        keep_with: vec!["units".into()],
        ..rule("cap")
    };
    registries.write(&chair, "main", cap, Place::Back).unwrap();
    let units = address(&mut registries, "main", "units");
    let overrides = Overrides {
        name: Some("other".into()),
        ..Overrides::default()
    };
    for by in [&main, &chair] {
        let ops = [
            Op::Evict {
                blocks: vec![units],
                force: true,
            },
            Op::Override {
                block: units,
                overrides: overrides.clone(),
            },
        ];
        for op in ops {
            if by == &main {
                refused(&mut registries, ErrorKind::Policy, "", |registries| {
                    registries.apply(by, "main", op)
                });
            }
        }
    }
    let evict = Op::Evict {
        blocks: vec![units],
        force: false,
    };
    registries.apply(&chair, "main", evict).unwrap();
}

#[test]
fn a_copy_displaces_no_protected_passage() {
    let (mut registries, main, chair) = workshop();
    let passage = |name: &str, removable| ObjectDocument {
        object_type: Some(ObjectType::RetrievedPassage),
        removable: Some(removable),
        provenance: Some(tenure::object::Provenance {
            source_id: Some(name.into()),
            retrieved_at: Some("2026-01-01".parse().unwrap()),
            ..Default::default()
        }),
        ..ObjectDocument::named(name, "The sensor fails above 5 bar.")
    };
    let finding = passage("finding", false);
    registries.write(&chair, "main", finding, Place::Back).unwrap();
    let copy = passage("copy", true);
    registries.write(&main, "main", copy, Place::Back).unwrap();
    let puller = ObjectDocument {
        removable: Some(false),
        keep_with: vec!["copy".into()],
        ..rule("puller")
    };
    registries.write(&main, "main", puller, Place::Back).unwrap();
    let view = registries.view("main").unwrap();
    let compiled = compiled(view.candidates(), &request("Read the sensor."));
    for name in ["finding", "puller", "copy"] {
        let verdict = compiled.trace.verdict(name).unwrap();
        assert_eq!(verdict.verdict, Ruling::Included, "{name}");
    }
}

#[test]
fn a_protected_turn_that_is_torn_from_its_exchange_fails_the_compile() {
    let mut registries = Registries::new(secrets(1));
    let chair = registries.create("chair", Kind::Orchestrator).unwrap();
    let call = ObjectDocument {
        object_type: Some(ObjectType::Turn),
        role: Some(Role::Assistant),
        tool_calls: vec![tenure::object::ToolCall {
            id: "c1".into(),
            name: "read".into(),
            arguments: json!({}),
        }],
        removable: Some(false),
        ..ObjectDocument::named("call", "")
    };
    registries.write(&chair, "chair", call, Place::Back).unwrap();
    let view = registries.view("chair").unwrap();
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("ordered").unwrap();
    let request = request("Read the sensor.");
    let error = compile(&world, &policy, &request, view.candidates(), &Facts::none()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Policy);
    assert!(error.to_string().contains("`call` must go in"), "{error}");
}

#[test]
fn no_agent_stops_the_compiles_of_another() {
    let (mut registries, main) = main_with(&["a"]);
    let other = registries.create("other", Kind::Agent).unwrap();
    registries.refer(&other, &main).unwrap();
    let brick = |needs: &[&str]| ObjectDocument {
        removable: Some(false),
        keep_with: needs.iter().map(|name| (*name).into()).collect(),
        ..rule("brick")
    };
    refused(
        &mut registries,
        ErrorKind::Policy,
        "an agent in another's registry",
        |registries| registries.write(&other, "main", brick(&[]), Place::Back),
    );
    refused(
        &mut registries,
        ErrorKind::Input,
        "must not stand without `nothing`",
        |registries| registries.write(&main, "main", brick(&["nothing"]), Place::Back),
    );
    registries.write(&main, "main", brick(&["a"]), Place::Back).unwrap();
    let library = seeds(&["seed"]);
    refused(
        &mut registries,
        ErrorKind::Policy,
        "may not draw seeds into `main`",
        |registries| registries.draw(&other, "main", &library, "seed", Place::Back),
    );
}

#[test]
fn a_protected_seed_is_the_hosts() {
    let mut registries = Registries::new(secrets(1));
    let main = registries.create("main", Kind::Agent).unwrap();
    let safety = ObjectDocument {
        object_type: Some(ObjectType::PolicyRule),
        removable: Some(false),
        trajectory_id: Some("run-1".into()),
        ..rule("safety")
    };
    let library = Library::new([("seeds", safety.seal().unwrap())]).unwrap();
    registries.draw(&main, "main", &library, "safety", Place::Back).unwrap();
    let safety = address(&mut registries, "main", "safety");
    let overrides = Overrides {
        removable: Some(true),
        ..Overrides::default()
    };
    let evict = Op::Evict {
        blocks: vec![safety],
        force: true,
    };
    let attempts = [
        evict.clone(),
        Op::Override {
            block: safety,
            overrides,
        },
        Op::Promote {
            blocks: vec![safety],
            to: Place::Front,
        },
        Op::Rollback {
            trajectory: "run-1".into(),
        },
    ];
    for op in attempts {
        refused(&mut registries, ErrorKind::Policy, "", |registries| {
            registries.apply(&main, "main", op)
        });
    }
    let host = registries.issue("main").unwrap();
    registries.apply(&host, "main", evict).unwrap();
}

#[test]
fn objects_bring_no_overrides_and_take_no_reserved_names() {
    let (mut registries, main) = main_with(&["a"]);
    let smuggled = Overrides {
        name: Some("a\u{1b}[2J".into()),
        ..Overrides::default()
    };
    let seed = rule("b").seal().unwrap().with_overrides(smuggled);
    let library = Library::new([("seeds", Arc::new(seed))]).unwrap();
    let (key, _) = library.iter().next().unwrap();
    let key = key.to_owned();
    registries.draw(&main, "main", &library, &key, Place::Back).unwrap();
    assert_eq!(names(&mut registries, "main"), ["a", "b"]);
    for name in ["@task", "main:prefix", "main:suffix"] {
        refused(
            &mut registries,
            ErrorKind::Input,
            "a block cannot have",
            |registries| registries.write(&main, "main", rule(name), Place::Back),
        );
    }
}

#[test]
fn the_order_of_writing_survives_a_restore() {
    let (mut registries, main) = main_with(&["old", "new"]);
    let moved = promote(&mut registries, &main, &["new"], Place::Front).unwrap();
    assert_eq!(moved, ["new", "old"]);
    let text = registries.snapshot().unwrap();
    let mut restored = Registries::restore(&text, secrets(2)).unwrap();
    assert_eq!(restored.snapshot().unwrap(), text);
    let main = restored.issue("main").unwrap();
    let even = |_: &tenure::registry::Block<'_>| 0;
    let (_, done) = restored.evict_until(&main, "main", &Until::blocks(1), even).unwrap();
    assert_eq!(done.unwrap().removed, ["old".into()]);
    // Numbers at the end of their range are no reason to panic.
    let huge = text.replace("\"operations\":3", "\"operations\":18446744073709551615");
    let body = &huge[..huge.trim_end().rfind('\n').unwrap() + 1];
    let digest = tenure::Digest::of(body.as_bytes());
    let sealed = format!("{body}{{\"lines\":3,\"sha256\":\"{digest}\"}}\n");
    let mut restored = Registries::restore(&sealed, secrets(2)).unwrap();
    let main = restored.issue("main").unwrap();
    promote(&mut restored, &main, &["old"], Place::Front).unwrap();
}

// --- gate -----------------------------------------------------------------------------------------

#[test]
fn a_gate_ranks_what_is_removable_and_spares_the_rest() {
    let (mut registries, main) = main_with(&[]);
    let texts = [
        ("pwm", "PWM on TIM4 needs the prescaler."),
        ("uart", "UART needs a baud rate."),
        ("style", "Write comments in English."),
    ];
    for (name, text) in texts {
        registries
            .write(
                &main,
                "main",
                ObjectDocument::named(name, text),
                Place::Back,
            )
            .unwrap();
    }
    let safety = ObjectDocument {
        removable: Some(false),
        ..ObjectDocument::named("safety", "Never block in an interrupt.")
    };
    registries.write(&main, "main", safety, Place::Back).unwrap();
    let view = registries.view("main").unwrap();
    let gated = Request {
        gate: Some(Gate::top(1)),
        ..request("Set up PWM on TIM4.")
    };
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("ordered").unwrap();
    let standings =
        tenure::gate(&world, &policy, &gated, view.candidates(), &Facts::none()).unwrap();
    assert_eq!(standings.spared.len(), 1);
    let ranks: Vec<(&str, u32, bool)> = standings
        .gated
        .iter()
        .map(|gated| {
            let name = view.candidates().objects()[gated.candidate].name();
            (name, gated.standing.rank, gated.standing.passes)
        })
        .collect();
    assert_eq!(ranks[0], ("pwm", 1, true));
    assert_eq!(ranks.len(), 3);
    let compiled = compiled(view.candidates(), &gated);
    for (name, ruling) in [
        ("pwm", Ruling::Included),
        ("safety", Ruling::Included),
        ("uart", Ruling::Omitted),
    ] {
        assert_eq!(
            compiled.trace.verdict(name).unwrap().verdict,
            ruling,
            "{name}"
        );
    }
    let empty = Request {
        gate: Some(Gate::default()),
        ..request("x")
    };
    assert!(empty.validate().is_err());
}

// --- wrap, limit, use, reports --------------------------------------------------------------------

#[test]
fn a_wrap_stands_around_all_blocks() {
    let (mut registries, main) = main_with(&["a", "b"]);
    registries
        .wrap(&main, "main", Some("<rules>"), Some("End of the rules."))
        .unwrap();
    let view = registries.view("main").unwrap();
    let compiled = compiled(view.candidates(), &request("Do it."));
    let payload = compiled.envelope.payload.unwrap();
    let text = std::str::from_utf8(payload.bytes()).unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(at("<rules>") < at("Rule a") && at("Rule b") < at("End of the rules."));
    let chair = registries.create("chair", Kind::Orchestrator).unwrap();
    registries.refer(&chair, &main).unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "wrapped",
        |registries| registries.wrap(&chair, "main", Some("Obey:"), None),
    );
}

#[test]
fn use_is_counted_and_limits_are_soft() {
    let (mut registries, main) = main_with(&["a", "b"]);
    let done = registries.apply(&main, "main", Op::Limit { bytes: Some(20) }).unwrap();
    assert_eq!(done.over_limit, Some(2 * 13 - 20));
    let view = registries.view("main").unwrap();
    let compiled = compiled(view.candidates(), &request("Do it."));
    registries.record_use(&main, "main", &compiled.envelope).unwrap();
    let again = registries.view("main").unwrap();
    assert!(again.blocks().all(|block| (block.uses(), block.idle()) == (1, 0)));
    assert!(
        view.blocks().all(|block| block.uses() == 0),
        "a view never changes"
    );
    assert!(
        std::ptr::eq(view.candidates(), again.candidates()),
        "counting a use makes no new candidates"
    );
    let summary = serde_json::to_value(again.summary()).unwrap();
    assert_eq!(
        summary,
        json!({
            "label": "main", "kind": "agent", "blocks": 2, "bytes": 26, "limit": 20,
            "over_limit": 6, "authors": { "seed": 2 }, "removable": 2, "operations": 4,
        })
    );
    let lineage: Vec<_> = again.provenance().collect();
    assert_eq!(
        (lineage[1].position, &*lineage[1].name, lineage[1].uses),
        (1, "b", 1)
    );
    assert_eq!(
        (lineage[1].author, &*lineage[1].writer),
        (AuthorKind::Seed, "main")
    );
}

#[test]
fn tags_and_names_find_blocks() {
    let mut registries = Registries::new(secrets(1));
    let main = registries.create("main", Kind::Agent).unwrap();
    for (name, tag) in [("one", "pins"), ("two", "timers"), ("three", "pins")] {
        let document = ObjectDocument {
            tags: vec![tag.into()],
            ..rule(name)
        };
        registries.write(&main, "main", document, Place::Front).unwrap();
    }
    let view = registries.view("main").unwrap();
    let found: Vec<&str> = view.tagged("pins").map(|block| block.name()).collect();
    assert_eq!(found, ["three", "one"]);
    let error = view.named("threes").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `three`?"));
}

// --- capabilities and references ------------------------------------------------------------------

#[test]
fn acting_needs_a_capability_and_a_reference() {
    let (mut registries, main) = main_with(&["a"]);
    let other = registries.create("other", Kind::Agent).unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "holds no reference",
        |registries| registries.write(&other, "main", rule("x"), Place::Back),
    );
    registries.refer(&other, &main).unwrap();
    registries.write(&other, "main", rule("x"), Place::Back).unwrap();
    registries.unrefer(&main, "other", "main").unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "holds no reference",
        |registries| registries.write(&other, "main", rule("y"), Place::Back),
    );
    let mut elsewhere = Registries::new(secrets(5));
    let stranger = elsewhere.create("main", Kind::Orchestrator).unwrap();
    refused(
        &mut registries,
        ErrorKind::Policy,
        "not of these registries",
        |registries| registries.write(&stranger, "main", rule("y"), Place::Back),
    );
    let taken = registries.create("main", Kind::Agent).unwrap_err();
    assert!(taken.to_string().contains("there already is"), "{taken}");
}

#[test]
fn tokens_survive_a_restore_and_cannot_be_forged() {
    let (mut registries, main) = main_with(&["a"]);
    let other = registries.create("other", Kind::Agent).unwrap();
    let token = registries.token(&main).unwrap();
    let mut restored = Registries::restore(&registries.snapshot().unwrap(), secrets(2)).unwrap();
    let redeemed = restored.redeem(&token).unwrap();
    assert_eq!(redeemed.label(), "main");
    restored.write(&redeemed, "main", rule("x"), Place::Back).unwrap();

    // Another's signature under this label, a changed digit, another key, other registries.
    let theirs = registries.token(&other).unwrap();
    let (head, _) = token.rsplit_once('.').unwrap();
    let (_, signature) = theirs.rsplit_once('.').unwrap();
    let mut changed = token.clone();
    let last = changed.pop().unwrap();
    changed.push(if last == '0' { '1' } else { '0' });
    for forged in [format!("{head}.{signature}"), changed, format!("{head}.")] {
        let error = restored.redeem(&forged).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Policy, "{error}");
    }
    let foreign = Registries::restore(
        &registries.snapshot().unwrap(),
        Secrets::new([3; 32], [4; 32]),
    );
    assert_eq!(
        foreign.unwrap().redeem(&token).unwrap_err().kind,
        ErrorKind::Policy
    );
    let elsewhere = Registries::new(secrets(6));
    assert_eq!(
        elsewhere.redeem(&token).unwrap_err().kind,
        ErrorKind::Policy
    );
    for nonsense in [
        "",
        "tenure-capability-1.",
        "tenure-capability-1.zz.00",
        "x.y.z",
    ] {
        assert_eq!(
            restored.redeem(nonsense).unwrap_err().kind,
            ErrorKind::Input
        );
    }
}

// --- snapshots ------------------------------------------------------------------------------------

#[test]
fn a_snapshot_holds_everything_but_addresses() {
    let (mut registries, main, _) = workshop();
    registries.wrap(&main, "main", Some("Before."), Some("After.")).unwrap();
    registries.apply(&main, "main", Op::Limit { bytes: Some(9) }).unwrap();
    let b = address(&mut registries, "main", "b");
    registries.apply(&main, "main", Op::Use { blocks: vec![b] }).unwrap();
    let overrides = Overrides {
        name: Some("beta".into()),
        ..Overrides::default()
    };
    registries
        .apply(
            &main,
            "main",
            Op::Override {
                block: b,
                overrides,
            },
        )
        .unwrap();
    let text = registries.snapshot().unwrap();
    let mut restored = Registries::restore(&text, secrets(2)).unwrap();
    assert_eq!(restored.snapshot().unwrap(), text);
    let (old, new) = (
        registries.view("main").unwrap(),
        restored.view("main").unwrap(),
    );
    assert!(old.provenance().eq(new.provenance()));
    assert_eq!(
        restored.references("chair").unwrap().collect::<Vec<_>>(),
        ["main"]
    );
    // Protection and authorship still hold.
    let main = restored.issue("main").unwrap();
    let ceiling = address(&mut restored, "main", "ceiling");
    refused(&mut restored, ErrorKind::Policy, "evicted", |registries| {
        registries.apply(
            &main,
            "main",
            Op::Evict {
                blocks: vec![ceiling],
                force: true,
            },
        )
    });
}

#[test]
fn a_snapshot_can_be_read_in_parts() {
    let (registries, _, _) = workshop();
    let text = registries.snapshot().unwrap();
    for most in [0, 1, 2, 3, 5, 100] {
        let snapshot = Snapshot::open(&text).unwrap();
        let parts = snapshot.parts(most);
        assert!(parts.len() <= most.max(1));
        let blocks = parts.into_iter().map(|part| part.read().unwrap()).collect();
        let restored = snapshot.restore(blocks, secrets(2)).unwrap();
        assert_eq!(restored.snapshot().unwrap(), text);
    }
    let snapshot = Snapshot::open(&text).unwrap();
    let mut parts = snapshot.parts(2);
    let first = parts.remove(0).read().unwrap();
    let error = snapshot.restore(vec![first], secrets(2)).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn a_snapshot_cut_short_anywhere_is_known_for_one() {
    let (registries, _, _) = workshop();
    let text = registries.snapshot().unwrap();
    for end in 0..text.len() {
        let Some(cut) = text.get(..end) else { continue };
        let error = Registries::restore(cut, secrets(2)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Input, "{end}");
    }
    let error = Registries::restore(&text[..text.len() - 1], secrets(2)).unwrap_err();
    assert!(error.to_string().contains("cut short"), "{error}");
}

#[test]
fn what_is_no_snapshot_of_this_version_is_refused() {
    let (registries, _, _) = workshop();
    let text = registries.snapshot().unwrap();
    let refused = |text: &str, part: &str| {
        let error = Registries::restore(text, secrets(2)).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(
        &text.replace("Rule a holds", "Rule a fails"),
        "changed after it was written",
    );
    refused(
        &text.replacen("snapshot\":1", "snapshot\":2", 1),
        "has version 2",
    );
    refused("# Rules\n\nBe brief.\n", "not a snapshot");
    refused("", "not a snapshot");
    // Resealed by hand after a change that makes no sense.
    let reseal = |text: &str| {
        let body = &text[..text.trim_end().rfind('\n').unwrap() + 1];
        let footer = json!({
            "lines": body.lines().count(),
            "sha256": tenure::Digest::of(body.as_bytes()),
        });
        format!("{body}{footer}\n")
    };
    let resealed = |from: &str, to: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        reseal(&changed)
    };
    refused(
        &resealed("\"name\":\"b\"", "\"name\":\"a\""),
        "two blocks named `a`",
    );
    refused(
        &resealed("\"writer\":\"chair\"", "\"writer\":\"chairs\""),
        "did you mean `chair`?",
    );
    refused(
        &resealed("\"blocks\":5", "\"blocks\":4"),
        "the header counts 4 blocks",
    );
    refused(
        &resealed("\"references\":[\"main\"]", "\"references\":[\"x\"]"),
        "unknown registry",
    );
    refused(&resealed("\"name\":\"a\"", "\"title\":\"a\""), "title");
}

// --- the log --------------------------------------------------------------------------------------

/// What a random caller tries.
#[derive(Clone, Debug)]
enum Try {
    Write(u8, Place<usize>, bool, Option<u8>),
    Promote(Vec<usize>, Place<usize>),
    Reorder(Vec<usize>),
    Evict(Vec<usize>, bool),
    Rollback(u8),
    Use(Vec<usize>),
    Rename(usize, u8),
    Revise(usize, u8),
}

fn tries() -> impl Strategy<Value = Vec<(bool, bool, Try)>> {
    let some = || proptest::collection::vec(0usize..12, 0..4);
    let place = || {
        prop_oneof![
            Just(Place::Front),
            Just(Place::Back),
            (0u32..14).prop_map(Place::At),
            (-5i32..6).prop_map(Place::Steps),
            (0usize..12).prop_map(Place::Before),
            (0usize..12).prop_map(Place::After),
        ]
    };
    let run = || proptest::option::of(0u8..3);
    let one = prop_oneof![
        4 => (0u8..20, place(), any::<bool>(), run())
            .prop_map(|(name, at, free, run)| Try::Write(name, at, free, run)),
        3 => (some(), place()).prop_map(|(blocks, to)| Try::Promote(blocks, to)),
        1 => some().prop_map(Try::Reorder),
        2 => (some(), any::<bool>()).prop_map(|(blocks, force)| Try::Evict(blocks, force)),
        1 => (0u8..3).prop_map(Try::Rollback),
        1 => some().prop_map(Try::Use),
        1 => (0usize..12, 0u8..20).prop_map(|(block, name)| Try::Rename(block, name)),
        1 => (0usize..12, any::<u8>()).prop_map(|(block, text)| Try::Revise(block, text)),
    ];
    proptest::collection::vec((any::<bool>(), any::<bool>(), one), 0..40)
}

/// Does as the caller tries; the blocks are picked among those that are there.
fn attempt(
    registries: &mut Registries,
    by: &Capability,
    to: &str,
    tried: Try,
) -> Result<(), Error> {
    let view = registries.view(to)?;
    let all: Vec<Address> = view.blocks().map(|block| view.address(registries, block)).collect();
    let pick = |at: usize| all.get(at).copied();
    let picks = |list: Vec<usize>| list.into_iter().filter_map(pick).collect::<Vec<_>>();
    let place = |place: Place<usize>| match place {
        Place::Before(at) => pick(at).map_or(Place::Front, Place::Before),
        Place::After(at) => pick(at).map_or(Place::Back, Place::After),
        Place::At(at) => Place::At(at),
        Place::Steps(steps) => Place::Steps(steps),
        Place::Front => Place::Front,
        _ => Place::Back,
    };
    let op = match tried {
        Try::Write(name, at, removable, run) => {
            let document = ObjectDocument {
                removable: Some(removable),
                trajectory_id: run.map(|run| format!("run-{run}")),
                ..rule(&format!("n{name}"))
            };
            return registries.write(by, to, document, place(at)).map(drop);
        }
        Try::Revise(at, text) => {
            let Some(block) = pick(at) else { return Ok(()) };
            return registries.revise(by, to, block, format!("Text {text}.")).map(drop);
        }
        Try::Promote(blocks, to) => Op::Promote {
            blocks: picks(blocks),
            to: place(to),
        },
        Try::Reorder(blocks) => Op::Reorder {
            blocks: picks(blocks),
        },
        Try::Evict(blocks, force) => Op::Evict {
            blocks: picks(blocks),
            force,
        },
        Try::Rollback(run) => Op::Rollback {
            trajectory: format!("run-{run}").into(),
        },
        Try::Use(blocks) => Op::Use {
            blocks: picks(blocks),
        },
        Try::Rename(at, name) => {
            let Some(block) = pick(at) else { return Ok(()) };
            let overrides = Overrides {
                name: Some(format!("m{name}").into()),
                ..Overrides::default()
            };
            Op::Override { block, overrides }
        }
    };
    registries.apply(by, to, op).map(drop)
}

proptest! {
    /// The state is the fold of the log, a failed operation changes nothing, a view never changes, a
    /// snapshot restores all of it, and nobody gets rid of what another protected.
    #[test]
    fn the_state_is_the_fold_of_its_log(tries in tries()) {
        let mut registries = Registries::new(secrets(1)).with_log();
        let chair = registries.create("chair", Kind::Orchestrator).unwrap();
        let table = registries.create("table", Kind::Agent).unwrap();
        registries.refer(&chair, &table).unwrap();
        registries.refer(&table, &chair).unwrap();
        for (by_chair, on_chair, tried) in tries {
            let by = if by_chair { &chair } else { &table };
            let to = if on_chair { "chair" } else { "table" };
            let view = registries.view(to).unwrap();
            let before: Vec<_> = view.provenance().collect();
            let text = registries.snapshot().unwrap();
            let done = attempt(&mut registries, by, to, tried);
            prop_assert!(view.provenance().eq(before.iter().cloned()));
            if done.is_err() {
                prop_assert_eq!(registries.snapshot().unwrap(), text);
            }
            let after = registries.view(to).unwrap();
            for line in before.iter().filter(|line| !line.removable && *line.writer != *by.label()) {
                let still = after.named(&line.name);
                prop_assert!(still.is_ok_and(|block| block.object().revision().id() == line.revision));
            }
        }
        for (label, kind) in [("chair", Kind::Orchestrator), ("table", Kind::Agent)] {
            let log = registries.take_log(label).unwrap();
            let json = serde_json::to_string(&log).unwrap();
            let log: Vec<Entry> = serde_json::from_str(&json).unwrap();
            let mut state = State::empty(Arc::from(label));
            for entry in log {
                let done = state.apply(&entry.by, entry.op).unwrap();
                prop_assert_eq!(done.number, entry.number);
            }
            let folded = RegistryView::new(kind, state);
            let live = registries.view(label).unwrap();
            prop_assert!(folded.provenance().eq(live.provenance()));
            prop_assert_eq!(folded.summary(), live.summary());
        }
        let text = registries.snapshot().unwrap();
        let restored = Registries::restore(&text, secrets(2)).unwrap();
        prop_assert_eq!(restored.snapshot().unwrap(), text);
    }
}
