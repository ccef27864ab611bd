//! What the gate costs, the embedding of the query included, and the parts of it.
//!
//! `cargo bench -p tenure-workspace --bench gate`; figures in `docs/internals/benchmarks.md`. A million blocks
//! take minutes and some 6 GB to make: `cargo bench -p tenure-workspace --bench gate -- --ignored`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;

use divan::Bencher;
use tenure::gate::Gate;
use tenure::{Budget, Candidates, FrameKey, ObjectDocument, Policy, Request, World};
use tenure_workspace::Workspace;
use tenure_workspace::embed::{StaticTable, Vectorizer};

const SIZES: [usize; 4] = [31, 1_000, 10_000, 100_000];

const WORDS: [&str; 48] = [
    "timer",
    "channel",
    "pin",
    "route",
    "irq",
    "register",
    "clock",
    "enable",
    "before",
    "after",
    "driver",
    "value",
    "must",
    "never",
    "check",
    "return",
    "fault",
    "latch",
    "buffer",
    "queue",
    "the",
    "a",
    "of",
    "to",
    "in",
    "with",
    "and",
    "level",
    "is",
    "it",
    "on",
    "settings",
    "peripheral",
    "measured",
    "controller",
    "voltage",
    "not",
    "prescaler",
    "`khal_tim_set()`",
    "PB7,",
    "84",
    "MHz;",
    "0x1F",
    "`psc`",
    "KERR_BUSY",
    "reload",
    "bus",
    "flash.",
];

/// A text of about 140 tokens, different for each number.
fn content(number: usize) -> String {
    let mut state = number as u64 * 2_654_435_761 + 12_345;
    let mut words = vec![format!("Rule {number} says that")];
    for _ in 0..97 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        words.push(WORDS[(state >> 33) as usize % WORDS.len()].to_owned());
    }
    words.join(" ") + "."
}

fn candidates(count: usize) -> Candidates {
    let seal = |number| ObjectDocument::named(format!("rule-{number}"), content(number)).seal();
    let objects: Result<Vec<_>, _> = (0..count).map(seal).collect();
    Candidates::new(objects.expect("sound objects"))
}

/// The whole of `Workspace::gate`: the query embedded, what the caller may see, the ranker, the choice.
#[divan::bench(args = SIZES)]
fn gate(bencher: Bencher<'_, '_>, count: usize) {
    gate_over(bencher, count);
}

/// The same where a flat search is at its limits.
#[divan::bench(ignore, sample_count = 20)]
fn gate_of_a_million(bencher: Bencher<'_, '_>) {
    gate_over(bencher, 1_000_000);
}

fn gate_over(bencher: Bencher<'_, '_>, count: usize) {
    let key = FrameKey::new("bench", [7; 32]);
    let world = World::for_model("gpt-4o", key.clone()).expect("a known model");
    let workspace = Workspace::new(key).expect("a workspace");
    let policy = Policy::preset("ordered").expect("a preset");
    let candidates = candidates(count);
    let request = Request {
        gate: Some(Gate::top(10)),
        ..Request::new(
            "Configure the PWM timer channel on pin PB7 before the flash reset.",
            Budget::default(),
        )
    };
    let run = || workspace.gate(&world, &policy, &request, &candidates).expect("a gate");
    assert_eq!(
        run().gated.iter().filter(|gated| gated.standing.passes).count(),
        10.min(count)
    );
    bencher.bench_local(run);
}

/// The question alone: read, embedded, compared with each vector and each text, the ten nearest taken.
#[divan::bench(args = SIZES)]
fn question(bencher: Bencher<'_, '_>, count: usize) {
    let vectorizer = Vectorizer::default();
    let weights = Policy::preset("standard").expect("a preset").document().ranking.weights();
    let candidates = candidates(count);
    let passages = candidates.passages();
    let seen = passages.of_candidates(0..count);
    let run = || {
        let query = "Configure the PWM timer channel on pin PB7 before the flash reset.";
        let dense = vectorizer.passage_similarities(query, passages, &seen).expect("similarities");
        let asked = vectorizer.question(query).expect("a question");
        let ranked = passages.rank(&asked, &weights, &seen, dense.as_deref());
        ranked.take(10).map(|(at, _)| at).sum::<usize>()
    };
    run();
    bencher.bench_local(run);
}

/// What a question costs before it is compared with anything.
#[divan::bench]
fn prepare_a_question(bencher: Bencher<'_, '_>) {
    let vectorizer = Vectorizer::default();
    vectorizer.question("").expect("a question");
    bencher.bench_local(|| {
        vectorizer.question(black_box(
            "Configure the PWM timer channel on pin PB7 before the flash reset.",
        ))
    });
}

#[divan::bench]
fn embed_a_query(bencher: Bencher<'_, '_>) {
    let table = StaticTable::builtin().expect("a sound table");
    bencher.bench_local(|| {
        table.embed(black_box(
            "Configure the PWM timer channel on pin PB7 before the flash reset.",
        ))
    });
}

#[divan::bench]
fn embed_a_block(bencher: Bencher<'_, '_>) {
    let table = StaticTable::builtin().expect("a sound table");
    let text = content(7);
    bencher.bench_local(|| table.embed(black_box(&text)));
}

#[divan::bench(sample_count = 20)]
fn load_the_table(bencher: Bencher<'_, '_>) {
    const TABLE: &[u8] = include_bytes!("../../../models/static/table.bin");
    bencher.bench_local(|| StaticTable::from_bytes(black_box(TABLE)).expect("a sound table"));
}

fn main() {
    divan::main();
}
