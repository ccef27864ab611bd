//! What finding mentions costs: a text of one megabyte against aliases of a registry; and claims on one slot.
//!
//! `cargo bench -p tenure --bench entities`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::collections::BTreeMap;
use std::hint::black_box;

use divan::Bencher;
use tenure::ObjectDocument;
use tenure::belief::entity::MentionFinder;
use tenure::belief::{SlotClaim, defeats};
use tenure::time::Instant;

fn main() {
    divan::main();
}

/// Words of a text, some of which are parts of aliases.
fn word(seed: &mut u64) -> String {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let number = (*seed >> 40) % 20_000;
    format!("word{number}")
}

#[divan::bench(args = [1_000, 100_000])]
fn one_megabyte(bencher: Bencher<'_, '_>, aliases: usize) {
    let mut seed = 7;
    let names: Vec<String> = (0..aliases)
        .map(|_| format!("{} {}", word(&mut seed), word(&mut seed)))
        .collect();
    let finder = MentionFinder::new(&names).expect("a finder");
    let mut text = String::new();
    while text.len() < 1 << 20 {
        text.push_str(&word(&mut seed));
        text.push(' ');
    }
    bencher.bench(|| black_box(finder.find(black_box(&text))));
}

#[divan::bench(args = [1_000, 10_000])]
fn claims_on_one_slot(bencher: Bencher<'_, '_>, count: i64) {
    let claims: Vec<SlotClaim> = (0..count)
        .map(|value| {
            let document = ObjectDocument {
                valid_from: Some(Instant::from_micros(value)),
                normalized_claim: Some(format!("port == {value}")),
                canonical_entity_ids: vec!["desk".into()],
                ..ObjectDocument::rule("claim", "A claim.")
            };
            let object = document.seal().expect("an object");
            SlotClaim::of(&object).expect("a claim").1
        })
        .collect();
    bencher.bench(|| black_box(defeats(black_box(&claims), None, &BTreeMap::new())));
}
