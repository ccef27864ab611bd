//! What the built-in table costs: to load, and for a query and a block of the usual length.
//!
//! `cargo bench -p tenure-workspace --bench embed`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;

use divan::Bencher;
use tenure_workspace::embed::StaticTable;

static TABLE: &[u8] = include_bytes!("../../../models/static/table.bin");

const QUERY: &str = "What did Melanie's daughter paint at the pottery workshop last week?";

fn main() {
    divan::main();
}

fn table() -> &'static StaticTable {
    StaticTable::builtin().expect("the table is whole")
}

/// Verified and ready for the first text.
#[divan::bench]
fn load() -> StaticTable {
    StaticTable::from_bytes(black_box(TABLE)).expect("the table is whole")
}

/// A question of a dozen words.
#[divan::bench]
fn query(bencher: Bencher<'_, '_>) {
    let table = table();
    bencher.bench(|| table.embed(black_box(QUERY)));
}

/// About 140 tokens.
#[divan::bench]
fn block(bencher: Bencher<'_, '_>) {
    let table = table();
    let text = "Rule 7: check the timer channel before the latch is enabled. ".repeat(10);
    bencher.bench(|| table.embed(black_box(&text)));
}

/// Japanese, which takes the slow way through Unicode.
#[divan::bench]
fn query_of_ideographs(bencher: Bencher<'_, '_>) {
    let table = table();
    bencher.bench(|| table.embed(black_box("先週、陶芸教室で娘さんは何を描きましたか？")));
}

/// A query against a thousand blocks.
#[divan::bench]
fn a_thousand_similarities(bencher: Bencher<'_, '_>) {
    let table = table();
    let blocks = (0..1000).map(|at| table.embed(&format!("block {at} about timers and latches")));
    let blocks: Vec<_> = blocks.collect();
    let query = table.embed(QUERY);
    bencher.bench(|| {
        let scores = blocks.iter().map(|block| query.similarity(block).millionths());
        scores.max()
    });
}
