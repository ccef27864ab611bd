//! What `query` costs over a store that is kept in memory, and the parts of it.
//!
//! `cargo bench -p tenure-workspace --bench query`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use tenure::object::{ContextObject, ObjectDocument};
use tenure::{Budget, Candidates, FrameKey, Policy, Request};
use tenure_workspace::Workspace;
use tenure_workspace::archive::Ask;

const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// As many as share a layer of what a store holds in memory.
const LAYER: usize = 1_024;

fn object(number: usize) -> Arc<ContextObject> {
    let text = format!(
        "Passage {number}: timer {} drives channel {} of bus {}. Check the level before the driver is \
         enabled, and return the fault where the prescaler has no value; the queue must never be \
         longer than {} entries, with or without the peripheral clock, as the settings of the \
         controller say after each start.",
        number % 17,
        number % 5,
        number % 3,
        number % 1000
    );
    let object = ObjectDocument::named(format!("passage-{number}"), text).seal();
    object.expect("a sound object")
}

fn layers(count: usize) -> Vec<Arc<Candidates>> {
    let objects: Vec<_> = (0..count).map(object).collect();
    let layers = objects.chunks(LAYER);
    layers.map(|part| Arc::new(Candidates::new(part.to_vec()))).collect()
}

fn ask(workspace: &Workspace, candidates: &Candidates, text: &str) -> usize {
    let world = workspace.world("gpt-4o").expect("a world");
    let policy = Policy::preset("standard").expect("a policy");
    let request = Request::new(text, Budget::default());
    let found = workspace.query(&world, &policy, &request, candidates, &Ask::new(text));
    found.expect("an answer").passages.len()
}

fn workspace() -> Workspace {
    Workspace::new(FrameKey::new("bench", [7; 32])).expect("a workspace")
}

const QUESTION: &str = "Which timer drives channel 3 where the prescaler has no value?";

/// What is kept is there.
#[divan::bench(args = SIZES, sample_count = 31, sample_size = 1)]
fn again(bencher: Bencher<'_, '_>, count: usize) {
    let (workspace, candidates) = (workspace(), Candidates::layered(layers(count)));
    ask(&workspace, &candidates, QUESTION);
    bencher.bench_local(|| ask(&workspace, black_box(&candidates), QUESTION));
}

/// The first question after what is believed was read: all that is kept is made.
#[divan::bench(args = SIZES, sample_count = 3, sample_size = 1)]
fn first(bencher: Bencher<'_, '_>, count: usize) {
    let workspace = workspace();
    ask(&workspace, &Candidates::layered(layers(10)), QUESTION);
    bencher
        .with_inputs(|| Candidates::layered(layers(count)))
        .bench_local_values(|candidates| (ask(&workspace, &candidates, QUESTION), candidates));
}

/// The first question after a write: one layer is another.
#[divan::bench(args = SIZES, sample_count = 11, sample_size = 1)]
fn after_a_write(bencher: Bencher<'_, '_>, count: usize) {
    let workspace = workspace();
    let layers = layers(count);
    ask(&workspace, &Candidates::layered(layers.clone()), QUESTION);
    bencher
        .with_inputs(|| {
            let mut layers = layers.clone();
            let last = layers.pop().map_or_else(Vec::new, |last| last.objects().to_vec());
            let more = last.into_iter().chain([object(count)]);
            layers.push(Arc::new(Candidates::new(more.collect())));
            Candidates::layered(layers)
        })
        .bench_local_values(|candidates| (ask(&workspace, &candidates, QUESTION), candidates));
}

fn main() {
    divan::main();
}
