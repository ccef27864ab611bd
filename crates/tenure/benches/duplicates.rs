//! What finding near-duplicates costs as the texts grow in number, beside comparing all pairs.
//!
//! `cargo bench -p tenure --bench duplicates`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;

use divan::Bencher;
use tenure::condense::near_duplicates;
use tenure::num::Score;
use tenure::object::{ObjectType, Provenance};
use tenure::{
    Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, World, compile,
};

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

const WORDS: [&str; 32] = [
    "timer",
    "channel",
    "pin",
    "route",
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
    "settings",
    "peripheral",
    "controller",
    "prescaler",
    "bus",
    "84",
];

/// A text of about 140 tokens, different for each number; each tenth repeats the one before it, with
/// one word changed.
fn content(number: usize) -> String {
    let repeats = number % 10 == 9;
    let subject = number - usize::from(repeats);
    let mut state = subject as u64 * 2_654_435_761 + 12_345;
    let mut words = vec![format!("Rule {subject} says that")];
    for _ in 0..118 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        words.push(WORDS[(state >> 33) as usize % WORDS.len()].to_owned());
    }
    if repeats {
        // Not the number: another value would be another fact.
        let at = (60..).find(|at| words[*at] != "84").unwrap_or_default();
        words[at] = "indeed".to_owned();
    }
    words.join(" ") + "."
}

fn contents(count: usize) -> Vec<String> {
    (0..count).map(content).collect()
}

fn threshold() -> Score {
    Score::from_millionths(900_000)
}

#[divan::bench(args = SIZES, max_time = 4)]
fn near(bencher: Bencher<'_, '_>, count: usize) {
    let texts = contents(count);
    bencher.bench(|| near_duplicates(texts.iter().map(String::as_str), threshold(), |at| at));
}

/// All texts are the same but for one word: one group.
#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn one_group(bencher: Bencher<'_, '_>, count: usize) {
    let base = content(1);
    let word = |at: usize| char::from(b'a' + (at % 26) as u8);
    let text = |at: usize| format!("{base} {}{}{}", word(at), word(at / 26), word(at / 676));
    let texts: Vec<String> = (0..count).map(text).collect();
    bencher.bench(|| near_duplicates(texts.iter().map(String::as_str), threshold(), |at| at));
}

/// What one would write instead: the sets of shingles, each pair compared.
#[allow(clippy::disallowed_types)] // what a user would take; nothing iterates it
#[divan::bench(args = [100, 1_000], max_time = 4)]
fn all_pairs(bencher: Bencher<'_, '_>, count: usize) {
    use std::collections::HashSet;
    let texts = contents(count);
    bencher.bench(|| {
        let words: Vec<Vec<&str>> =
            texts.iter().map(|text| text.split_whitespace().collect()).collect();
        let sets: Vec<HashSet<&[&str]>> =
            words.iter().map(|words| words.windows(4).collect()).collect();
        let near = |a: &HashSet<&[&str]>, b: &HashSet<&[&str]>| {
            let common = a.intersection(b).count();
            common * 10 >= (a.len() + b.len() - common) * 9
        };
        let of = |at: usize| (0..at).find(|other| near(&sets[*other], &sets[at]));
        (0..sets.len()).map(of).collect::<Vec<_>>()
    });
}

/// A warm or cold compile of evidence, with and without the search.
fn evidence(bencher: Bencher<'_, '_>, count: usize, key: &str, warm: bool, repeats: bool) {
    let seal = |number: usize| {
        let number = if repeats { number } else { number * 10 };
        ObjectDocument {
            object_type: Some(ObjectType::RetrievedPassage),
            provenance: Some(Provenance {
                source_id: Some("manual".into()),
                retrieved_at: Some("2026-06-01".parse().expect("a date")),
                ..Provenance::default()
            }),
            ..ObjectDocument::named(format!("p{number}"), content(number))
        }
        .seal()
    };
    let objects: Vec<_> = (0..count).map(seal).collect::<Result<_, _>>().expect("sound objects");
    let policy = format!("near_duplicates = {key}\n[sections.evidence]\nrelevance_floor = 0.0");
    let policy = Policy::from_toml(&policy).expect("a sound policy");
    let tokens = (count as u32 + 10) * 300;
    let budget = Budget {
        tokens: Some(tokens),
        window: Some(tokens),
        reserve: None,
    };
    let request = Request::new("Configure the timer channel on the pin.", budget);
    let world = World::for_model("gpt-4o", FrameKey::new("bench", [7; 32])).expect("a known model");
    let run = |candidates: &Candidates| {
        compile(&world, &policy, &request, candidates, &Facts::none()).expect("it compiles")
    };
    let kept = Candidates::new(objects.clone());
    black_box(run(&kept));
    if warm {
        bencher.bench(|| run(&kept));
    } else {
        bencher
            .with_inputs(|| Candidates::new(objects.clone()))
            .bench_refs(|fresh| run(fresh));
    }
}

#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn warm_evidence_without(bencher: Bencher<'_, '_>, count: usize) {
    evidence(bencher, count, "0.0", true, false);
}

#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn warm_evidence(bencher: Bencher<'_, '_>, count: usize) {
    evidence(bencher, count, "0.9", true, false);
}

#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn warm_evidence_with_repeats(bencher: Bencher<'_, '_>, count: usize) {
    evidence(bencher, count, "0.9", true, true);
}

#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn fresh_evidence_without(bencher: Bencher<'_, '_>, count: usize) {
    evidence(bencher, count, "0.0", false, true);
}

#[divan::bench(args = [1_000, 10_000], max_time = 4)]
fn fresh_evidence(bencher: Bencher<'_, '_>, count: usize) {
    evidence(bencher, count, "0.9", false, true);
}

fn main() {
    let texts = contents(10_000);
    let near = near_duplicates(texts.iter().map(String::as_str), threshold(), |at| at);
    println!(
        "{} of 1000 near-duplicates found",
        near.iter().flatten().count()
    );
    divan::main();
}
