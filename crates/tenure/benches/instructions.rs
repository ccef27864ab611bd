//! Six compiles whose instructions are counted, over texts of several shapes.
//!
//! `scripts/instructions` runs this under Valgrind and compares with `instructions.json`. By itself it only
//! compiles. A function of its own holds each compile, by whose name Valgrind knows when to count.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;

use tenure::object::{ObjectType, Provenance, Role};
use tenure::{
    Budget, Candidates, Facts, FrameKey, ObjectDocument, Outcome, Policy, Request, Target, World,
    compile,
};

/// What is compiled: these objects, for this target, into so many tokens.
struct Case {
    name: &'static str,
    objects: Vec<ObjectDocument>,
    target: Target,
    tokens: u32,
    /// Whether it has been compiled before, so that what is kept with candidates and world is there.
    warm: bool,
}

fn main() {
    for case in cases() {
        let policy = Policy::preset("standard").expect("a preset");
        let request = Request {
            target: case.target,
            ..Request::new(
                "Why does the timer interrupt fire before the pin is routed? Fix driver 42.",
                Budget::tokens(case.tokens),
            )
        };
        let world = World::for_model("gpt-4o", FrameKey::new("bench", [7; 32]));
        let world = world.expect("a known model");
        world.tokenizer().count("load");
        let objects = case.objects.into_iter();
        let objects = objects.map(|document| document.seal().expect("a sound object"));
        let candidates = Candidates::new(objects.collect());
        let run =
            || compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile");
        if case.warm {
            run();
        }
        println!("{}", case.name);
        let outcome = counted(&run);
        let compiled = outcome.single().expect("one payload");
        assert!(compiled.envelope.total_tokens > 0);
    }
}

/// All that is counted.
#[inline(never)]
fn counted(run: &dyn Fn() -> Outcome) -> Outcome {
    black_box(run())
}

fn cases() -> [Case; 6] {
    let case = |name, objects, target, tokens| Case {
        name,
        objects,
        target,
        tokens,
        warm: true,
    };
    [
        Case {
            warm: false,
            ..case("rules, cold", rules(31), Target::Text, 20_000)
        },
        case("rules", rules(31), Target::Text, 20_000),
        case("prohibitions", prohibitions(200), Target::Text, 20_000),
        case("logs", logs(80), Target::OpenAiChat, 4_000),
        case("code", code(60), Target::AnthropicMessages, 4_000),
        case("conversation", turns(120), Target::OpenAiChat, 20_000),
    ]
}

/// The next of a row of numbers that looks like chance.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// So many words of a small vocabulary, the same for the same number.
fn words(number: usize, count: usize) -> String {
    const WORDS: &str = "timer channel pin route interrupt register clock enable before after driver \
        value must never check return fault latch buffer queue the a of to in with and level is not";
    let known: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = number as u64 * 2_654_435_761 + 12_345;
    let words = (0..count).map(|_| known[next(&mut state) % known.len()]);
    words.collect::<Vec<_>>().join(" ")
}

/// Rules of about 140 tokens.
fn rules(count: usize) -> Vec<ObjectDocument> {
    let rule = |at| ObjectDocument::named(format!("rule-{at}"), format!("{}.", words(at, 100)));
    (0..count).map(rule).collect()
}

/// Short guidance of which every other one forbids what the one before it asks.
fn prohibitions(count: usize) -> Vec<ObjectDocument> {
    let guidance = |at: usize| {
        let how = ["Always", "Never"][at % 2];
        let text = format!("{how} write to the {}.", words(at / 2, 12));
        ObjectDocument::named(format!("guidance-{at}"), text)
    };
    (0..count).map(guidance).collect()
}

fn passage(name: String, content: String) -> ObjectDocument {
    ObjectDocument {
        object_type: Some(ObjectType::RetrievedPassage),
        provenance: Some(Provenance {
            source_id: Some("manual".into()),
            retrieved_at: "2026-05-01".parse().ok(),
            ..Provenance::default()
        }),
        ..ObjectDocument::named(name, content)
    }
}

/// Logs of forty lines, of which one in forty is an error.
fn logs(count: usize) -> Vec<ObjectDocument> {
    let log = |at: usize| {
        let line = |line: usize| {
            let level = if line % 40 == at % 40 {
                "ERROR"
            } else {
                "INFO"
            };
            let minute = line % 60;
            format!(
                "2026-05-01T10:{minute:02}:00Z {level} driver[{at}] {}\n",
                words(line, 6)
            )
        };
        passage(format!("log-{at}"), (0..40).map(line).collect())
    };
    (0..count).map(log).collect()
}

/// Files of ten functions.
fn code(count: usize) -> Vec<ObjectDocument> {
    let file = |at: usize| {
        let function = |number: usize| {
            let says = words(at * 10 + number, 8);
            format!(
                "/// {says}\npub fn driver_{at}_{number}(pin: u32) -> Option<u32> {{\n    let clock = \
                 pin.checked_add({number})?;\n    Some(clock * {at})\n}}\n\n"
            )
        };
        passage(format!("file-{at}"), (0..10).map(function).collect())
    };
    (0..count).map(file).collect()
}

/// What two say in turn.
fn turns(count: usize) -> Vec<ObjectDocument> {
    let turn = |at: usize| ObjectDocument {
        object_type: Some(ObjectType::Turn),
        role: Some([Role::User, Role::Assistant][at % 2]),
        ..ObjectDocument::named(format!("turn-{at}"), words(at, 60))
    };
    (0..count).map(turn).collect()
}
