//! What finding mentions costs: a text of one megabyte against aliases of a registry; and claims on one slot.
//!
//! `cargo bench -p tenure --bench entities`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::collections::BTreeMap;
use std::hint::black_box;

use divan::Bencher;
use tenure::ObjectDocument;
use tenure::belief::entity::{Entities, EntityEntry, EntityOp, MentionFinder, Metadata};
use tenure::belief::{SlotClaim, defeats};
use tenure::object::ObjectType;
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

/// A registry of so many entities, each with a name of two words and an alias.
fn registry(count: usize) -> Entities {
    let mut seed = 7;
    let mut entities = Entities::default();
    for number in 0..count {
        let id = format!("e{number}");
        let create = EntityOp::Create {
            id: id.clone(),
            name: format!("{} {}", word(&mut seed), word(&mut seed)),
            kind: None,
            project: None,
            metadata: Metadata::default(),
            confidence: None,
            pending: false,
            candidates: Vec::new(),
        };
        let alias = EntityOp::Alias {
            id,
            alias: format!("the {} {}", word(&mut seed), word(&mut seed)),
        };
        for does in [create, alias] {
            let entry = EntityEntry {
                at: Instant::from_micros(0),
                by: None,
                source: None,
                does,
            };
            entities.apply(&entry).expect("an entry");
        }
    }
    entities
}

/// The names that a task of a line, of 10 kB and of 1 MB has.
#[divan::bench(args = [(10_000, 60), (100_000, 60), (100_000, 10_000), (100_000, 1_000_000)])]
fn names_in_a_task(bencher: Bencher<'_, '_>, (count, bytes): (usize, usize)) {
    let entities = registry(count);
    let mut seed = 11;
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(&word(&mut seed));
        text.push(' ');
    }
    bencher.bench(|| black_box(entities.names_in(black_box(&text), None)));
}

/// The same of a task that is made to cost most: 1 MB in which a long name goes on everywhere.
#[divan::bench]
fn names_in_a_hostile_task(bencher: Bencher<'_, '_>) {
    let mut entities = registry(1_000);
    let alias = EntityOp::Alias {
        id: "e0".into(),
        alias: "a ".repeat(120),
    };
    let entry = EntityEntry {
        at: Instant::from_micros(0),
        by: None,
        source: None,
        does: alias,
    };
    entities.apply(&entry).expect("an alias");
    let text = "a ".repeat(500_000);
    bencher.bench(|| black_box(entities.names_in(black_box(&text), None)));
}

fn claims(count: i64, document: fn(i64) -> ObjectDocument) -> Vec<SlotClaim> {
    let claims = (0..count).map(|value| {
        let document = ObjectDocument {
            valid_from: Some(Instant::from_micros(value)),
            canonical_entity_ids: vec!["desk".into()],
            ..document(value)
        };
        let object = document.seal().expect("an object");
        SlotClaim::of(&object).expect("a claim").1
    });
    claims.collect()
}

#[divan::bench(args = [100, 1_000, 10_000])]
fn claims_on_one_slot(bencher: Bencher<'_, '_>, count: i64) {
    let claims = claims(count, |value| ObjectDocument {
        normalized_claim: Some(format!("port == {value}")),
        ..ObjectDocument::rule("claim", "A claim.")
    });
    bencher.bench(|| black_box(defeats(black_box(&claims), None, &BTreeMap::new())));
}

/// Preferences that agree, but for one of a project.
#[divan::bench(args = [100, 1_000, 10_000])]
fn preferences_on_one_slot(bencher: Bencher<'_, '_>, count: i64) {
    let claims = claims(count, |value| ObjectDocument {
        object_type: Some(ObjectType::Preference),
        project_id: (value == 0).then(|| "garden".into()),
        normalized_claim: Some("answers == short".into()),
        ..ObjectDocument::named("claim", "A claim.")
    });
    bencher.bench(|| black_box(defeats(black_box(&claims), None, &BTreeMap::new())));
}

/// The same, where each is of a project of its own.
#[divan::bench(args = [100, 1_000, 10_000])]
fn projects_on_one_slot(bencher: Bencher<'_, '_>, count: i64) {
    let claims = claims(count, |value| ObjectDocument {
        object_type: Some(ObjectType::Preference),
        project_id: Some(value.to_string()),
        normalized_claim: Some(format!("answers == {}", value % 2)),
        ..ObjectDocument::named("claim", "A claim.")
    });
    bencher.bench(|| black_box(defeats(black_box(&claims), None, &BTreeMap::new())));
}
