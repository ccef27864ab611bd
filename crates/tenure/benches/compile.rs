//! What a compile costs as the work grows, beside the floor "gather the bytes and hash them".
//!
//! `cargo bench -p tenure --bench compile`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;

use divan::Bencher;
use tenure::{
    Budget, Candidates, Digest, Facts, FrameKey, ObjectDocument, Policy, Request, World, compile,
};

/// The paper's library, and three powers of ten.
const SIZES: [usize; 4] = [31, 1_000, 10_000, 100_000];

/// Words in about the mix of the example's rules: 4.3 bytes a token.
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
    let mut words = Vec::with_capacity(122);
    words.push(format!("Rule {number} says that"));
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
    Candidates::new((0..count).map(seal).collect::<Result<_, _>>().expect("sound objects"))
}

fn world() -> World {
    World::for_model("gpt-4o", FrameKey::new("bench", [7; 32])).expect("a known model")
}

/// A budget that everything fits, or a share of it.
fn request(count: usize, dry_run: bool) -> Request {
    let tokens = (count as u32 + 10) * 200;
    let budget = Budget {
        tokens: Some(tokens),
        window: Some(tokens),
        reserve: None,
    };
    Request {
        dry_run,
        ..Request::new(
            "Configure the PWM timer channel on pin PB7 before the flash reset.",
            budget,
        )
    }
}

/// Gather the bytes and hash them: what nobody can do without.
#[divan::bench(args = SIZES)]
fn floor(bencher: Bencher<'_, '_>, count: usize) {
    let candidates = candidates(count);
    bencher.bench_local(|| {
        let bytes = candidates
            .objects()
            .iter()
            .map(|object| object.revision().content().len() + 1)
            .sum();
        let mut out = String::with_capacity(bytes);
        for object in candidates.objects() {
            out.push_str(object.revision().content());
            out.push('\n');
        }
        let digest = Digest::of(out.as_bytes());
        black_box((out, digest))
    });
}

/// What a user would write instead: concatenate, and count the tokens of the whole.
#[divan::bench(args = [31, 1_000, 10_000], sample_count = 20)]
fn concatenate_and_count(bencher: Bencher<'_, '_>, count: usize) {
    let (world, candidates) = (world(), candidates(count));
    world.tokenizer().count("load");
    bencher.bench_local(|| {
        let mut out = String::new();
        for object in candidates.objects() {
            out.push_str(object.revision().content());
            out.push('\n');
        }
        let tokens = world.tokenizer().count(&out);
        black_box((out, tokens))
    });
}

fn warm(bencher: Bencher<'_, '_>, count: usize, preset: &str, request: &Request) {
    let (world, candidates) = (world(), candidates(count));
    let policy = Policy::preset(preset).expect("a preset");
    let run = || compile(&world, &policy, request, &candidates, &Facts::none()).expect("a compile");
    let first = run();
    assert!(first.single().expect("one payload").envelope.total_tokens > 0);
    bencher.bench_local(run);
}

#[divan::bench(args = SIZES)]
fn warm_standard(bencher: Bencher<'_, '_>, count: usize) {
    warm(bencher, count, "standard", &request(count, false));
}

#[divan::bench(args = SIZES)]
fn warm_ordered(bencher: Bencher<'_, '_>, count: usize) {
    warm(bencher, count, "ordered", &request(count, false));
}

#[divan::bench(args = SIZES)]
fn warm_dry_run(bencher: Bencher<'_, '_>, count: usize) {
    warm(bencher, count, "standard", &request(count, true));
}

/// Short guidance of which every other one forbids what the one before it asks, as in a book of rules.
#[divan::bench(args = [100, 1_000, 10_000, 100_000])]
fn warm_prohibitions(bencher: Bencher<'_, '_>, count: usize) {
    let seal = |number: usize| {
        let how = ["Always", "Never"][number % 2];
        let text = content(number / 2);
        let about = text.split(' ').skip(4).take(20).collect::<Vec<_>>().join(" ");
        ObjectDocument::named(format!("rule-{number}"), format!("{how} see to {about}."))
            .seal()
            .expect("a sound object")
    };
    let candidates = Candidates::new((0..count).map(seal).collect());
    let (world, policy) = (world(), Policy::preset("standard").expect("a preset"));
    let request = request(count, false);
    let run =
        || compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile");
    run();
    bencher.bench_local(run);
}

/// A window that holds a part of a large set.
fn into_64k() -> Request {
    let budget = Budget {
        tokens: Some(64_000),
        ..Budget::default()
    };
    Request {
        budget,
        ..request(0, false)
    }
}

/// The common case: a large set, a window that holds a part of it.
#[divan::bench(args = SIZES)]
fn warm_into_64k(bencher: Bencher<'_, '_>, count: usize) {
    warm(bencher, count, "standard", &into_64k());
}

/// The same where every object has two shorter forms.
#[divan::bench(args = [31, 1_000, 10_000, 100_000], sample_count = 20)]
fn forms_into_64k(bencher: Bencher<'_, '_>, count: usize) {
    let seal = |number| {
        let text = content(number);
        let words = |count: usize| text.split(' ').take(count).collect::<Vec<_>>().join(" ");
        let document = ObjectDocument {
            abstract_text: Some(words(8)),
            overview: Some(words(30)),
            ..ObjectDocument::named(format!("rule-{number}"), text.clone())
        };
        document.seal().expect("a sound object")
    };
    let candidates = Candidates::new((0..count).map(seal).collect());
    let (world, policy) = (world(), Policy::preset("standard").expect("a preset"));
    let request = into_64k();
    let run =
        || compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile");
    run();
    bencher.bench_local(run);
}

/// Evidence spread over as many payloads of 64,000 tokens as it needs: 27 for 10⁴ passages.
#[divan::bench(args = [1_000, 10_000], sample_count = 10)]
fn pages_of_64k(bencher: Bencher<'_, '_>, count: usize) {
    let seal = |number| {
        let document = ObjectDocument {
            object_type: Some(tenure::object::ObjectType::RetrievedPassage),
            provenance: Some(tenure::object::Provenance {
                source_id: Some("manual".into()),
                retrieved_at: "2026-05-01".parse().ok(),
                ..Default::default()
            }),
            ..ObjectDocument::named(format!("rule-{number}"), content(number))
        };
        document.seal().expect("a sound object")
    };
    let candidates = Candidates::new((0..count).map(seal).collect());
    let policy =
        "overflow = \"paginate\"\nmax_pages = 64\n[sections.evidence]\nrelevance_floor = 0.0";
    let (world, policy) = (world(), Policy::from_toml(policy).expect("a policy"));
    let request = into_64k();
    let run =
        || compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile");
    assert!(run().compiled().count() > 1);
    bencher.bench_local(run);
}

/// The same with nothing cached, the vocabulary loaded.
#[divan::bench(args = [31, 1_000, 10_000, 100_000], sample_count = 5)]
fn cold_into_64k(bencher: Bencher<'_, '_>, count: usize) {
    let policy = Policy::preset("standard").expect("a preset");
    let request = into_64k();
    world().tokenizer().count("load");
    bencher.with_inputs(|| (world(), candidates(count))).bench_local_values(
        |(world, candidates)| {
            compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile")
        },
    );
}

/// What a user would write instead: count each text, take the best that fit, join them.
#[divan::bench(args = [31, 1_000, 10_000, 100_000], sample_count = 5)]
fn count_and_take_64k(bencher: Bencher<'_, '_>, count: usize) {
    let (world, candidates) = (world(), candidates(count));
    world.tokenizer().count("load");
    bencher.bench_local(|| {
        let mut left = 64_000;
        let mut out = String::new();
        for object in candidates.objects() {
            let tokens = world.tokenizer().count(object.revision().content());
            if tokens <= left {
                left -= tokens;
                out.push_str(object.revision().content());
                out.push('\n');
            }
        }
        black_box(out)
    });
}

/// Nothing cached: rows, postings, framing and counting included, the vocabulary loaded.
#[divan::bench(args = [31, 1_000, 10_000], sample_count = 10)]
fn cold(bencher: Bencher<'_, '_>, count: usize) {
    let policy = Policy::preset("standard").expect("a preset");
    let request = request(count, false);
    world().tokenizer().count("load");
    bencher.with_inputs(|| (world(), candidates(count))).bench_local_values(
        |(world, candidates)| {
            compile(&world, &policy, &request, &candidates, &Facts::none()).expect("a compile")
        },
    );
}

fn main() {
    divan::main();
}
