//! What the registry's primitives cost as it grows, beside what one would write without it: a vector
//! of pairs, in which a block is searched for and moved.
//!
//! `cargo bench -p tenure --bench registry`; figures in `docs/internals/benchmarks.md`. The view that a compile
//! holds is kept while the registry changes, so that every change pays for copying what it touches.

#![allow(clippy::expect_used, clippy::disallowed_methods)] // a benchmark may panic, and has threads

use std::hint::black_box;
use std::sync::Arc;

use divan::{AllocProfiler, Bencher};
use tenure::object::{AuthorKind, Authority, Sealer};
use tenure::registry::{
    Address, Capability, Kind, Library, Op, Place, Registries, RegistryView, Secrets, Snapshot,
};
use tenure::{ContextObject, ObjectDocument};

/// Counts what is allocated, for the memory of a block.
#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// The text of a rule of about 140 tokens.
fn content(number: usize) -> String {
    format!(
        "Rule {number}: {}",
        "the timer channel must latch before the driver. ".repeat(12)
    )
}

fn document(number: usize, run: Option<&str>) -> ObjectDocument {
    ObjectDocument {
        source_origin: Some("library.md".into()),
        trajectory_id: run.map(str::to_owned),
        ..ObjectDocument::named(format!("rule-{number}"), content(number))
    }
}

struct Fixture {
    registries: Registries,
    main: Capability,
    /// Held while the registry changes, as a compile would.
    view: Arc<RegistryView>,
    addresses: Vec<Address>,
}

/// A registry of so many seeds.
fn fixture(size: usize) -> Fixture {
    let mut registries = Registries::new(Secrets::new([1; 32], [2; 32]));
    let main = registries.create("main", Kind::Agent).expect("a fresh label");
    let mut sealer = Sealer::default();
    let mut seal = |number| sealer.seal(document(number, None)).expect("a legal object");
    let library = Library::new((0..size).map(|number| ("bench", seal(number))));
    let library = library.expect("names of their own");
    for (key, _) in library.iter() {
        let drawn = registries.draw(&main, "main", &library, key, Place::Back);
        drawn.expect("a fresh name");
    }
    let view = registries.view("main").expect("a registry");
    let addresses = view.blocks().map(|block| view.address(&registries, block)).collect();
    Fixture {
        registries,
        main,
        view,
        addresses,
    }
}

impl Fixture {
    fn apply(&mut self, op: Op) {
        let done = self.registries.apply(&self.main, "main", op);
        black_box(done.expect("a legal operation"));
    }

    /// Takes a fresh view and drops the old one, so that all is shared again.
    fn share(&mut self) {
        self.view = self.registries.view("main").expect("a registry");
    }
}

/// Numbers that jump about below `size`.
fn jumps(size: usize) -> impl FnMut() -> usize {
    let mut at = 0;
    move || {
        at = (at + 7_919) % size;
        at
    }
}

#[divan::bench(args = SIZES)]
fn promote_one(bencher: Bencher<'_, '_>, size: usize) {
    let mut fixture = fixture(size);
    let mut next = jumps(size);
    bencher.bench_local(|| {
        let block = fixture.addresses[next()];
        fixture.apply(Op::Promote {
            blocks: vec![block],
            to: Place::Front,
        });
        fixture.share();
    });
}

#[divan::bench(args = SIZES)]
fn promote_group_of_three(bencher: Bencher<'_, '_>, size: usize) {
    let mut fixture = fixture(size);
    let mut next = jumps(size);
    bencher.bench_local(|| {
        let blocks = [(); 3].map(|()| fixture.addresses[next()]).to_vec();
        fixture.apply(Op::Promote {
            blocks,
            to: Place::At(size as u32 / 2),
        });
        fixture.share();
    });
}

/// What one would write without a registry.
#[divan::bench(args = SIZES)]
fn promote_one_in_a_vector_of_pairs(bencher: Bencher<'_, '_>, size: usize) {
    let fixture = fixture(size);
    let objects = fixture.view.objects().cloned();
    let mut pairs: Vec<(Address, Arc<ContextObject>)> =
        fixture.addresses.iter().copied().zip(objects).collect();
    let mut next = jumps(size);
    bencher.bench_local(|| {
        let block = fixture.addresses[next()];
        let at = pairs.iter().position(|pair| pair.0 == block).expect("it is there");
        let pair = pairs.remove(at);
        pairs.insert(0, pair);
        // What a compile may hold meanwhile.
        black_box(pairs.clone())
    });
}

/// Writing and evicting what was written, so that the registry keeps its size.
#[divan::bench(args = SIZES)]
fn write_in_the_middle(bencher: Bencher<'_, '_>, size: usize) {
    let mut fixture = fixture(size);
    let mut number = size;
    let mut sealer = Sealer::default();
    bencher
        .with_inputs(|| {
            number += 1;
            let document = ObjectDocument {
                author: Some(AuthorKind::Agent),
                authority_level: Some(Authority::Memory),
                ..document(number, Some("run"))
            };
            sealer.seal(document).expect("a legal object")
        })
        .bench_local_values(|object| {
            let at = Place::At(size as u32 / 2);
            fixture.apply(Op::Write { object, at });
            fixture.share();
        });
}

#[divan::bench(args = SIZES)]
fn evict_one(bencher: Bencher<'_, '_>, size: usize) {
    let mut fixture = fixture(size);
    let mut at = 0;
    bencher.bench_local(|| {
        let block = fixture.addresses[at % size];
        at += 1;
        if at <= size {
            fixture.apply(Op::Evict {
                blocks: vec![block],
                force: false,
            });
            fixture.share();
        }
    });
}

/// Rolling back a run of so many blocks in a registry of 10⁵.
#[divan::bench(args = [10, 100, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn roll_back_of_100_000(bencher: Bencher<'_, '_>, written: usize) {
    let mut fixture = fixture(100_000);
    let main = fixture.main.clone();
    let mut run = 0;
    let fixture = std::cell::RefCell::new(&mut fixture);
    bencher
        .with_inputs(|| {
            run += 1;
            let label = format!("run-{run}");
            let fixture = &mut *fixture.borrow_mut();
            for number in 0..written {
                let document = ObjectDocument {
                    name: format!("{label}-{number}"),
                    ..document(number, Some(&label))
                };
                let at = Place::At((number * 37 % 100_000) as u32);
                let done = fixture.registries.write(&main, "main", document, at);
                done.expect("a legal write");
            }
            fixture.share();
            label
        })
        .bench_local_values(|label| {
            fixture.borrow_mut().apply(Op::Rollback {
                trajectory: label.into(),
            });
        });
}

#[divan::bench(args = SIZES, sample_count = 1000, sample_size = 1)]
fn take_a_view_after_a_change(bencher: Bencher<'_, '_>, size: usize) {
    let fixture = std::cell::RefCell::new(fixture(size));
    let mut next = jumps(size);
    bencher
        .with_inputs(|| {
            let block = fixture.borrow().addresses[next()];
            let op = Op::Promote {
                blocks: vec![block],
                to: Place::Front,
            };
            fixture.borrow_mut().apply(op);
        })
        .bench_local_values(|()| fixture.borrow_mut().registries.view("main"));
}

#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn write_a_snapshot(bencher: Bencher<'_, '_>, size: usize) {
    let fixture = fixture(size);
    bencher.bench_local(|| fixture.registries.snapshot());
}

#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn restore_a_snapshot(bencher: Bencher<'_, '_>, size: usize) {
    let text = fixture(size).registries.snapshot().expect("a snapshot");
    bencher.bench_local(|| Registries::restore(&text, Secrets::new([3; 32], [2; 32])));
}

/// The same in two threads, as the workspace does.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn restore_a_snapshot_in_two_parts(bencher: Bencher<'_, '_>, size: usize) {
    let text = fixture(size).registries.snapshot().expect("a snapshot");
    bencher.bench_local(|| {
        let snapshot = Snapshot::open(&text).expect("a snapshot");
        let blocks = std::thread::scope(|scope| {
            let parts = snapshot.parts(2).into_iter();
            let readers: Vec<_> = parts.map(|part| scope.spawn(|| part.read())).collect();
            let joined = readers.into_iter().map(|reader| reader.join().expect("a reader"));
            joined.collect::<Result<_, _>>().expect("blocks")
        });
        snapshot.restore(blocks, Secrets::new([3; 32], [2; 32]))
    });
}

#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn seal_documents(bencher: Bencher<'_, '_>, size: usize) {
    bencher
        .with_inputs(|| (0..size).map(|number| document(number, None)).collect::<Vec<_>>())
        .bench_local_values(|documents| {
            let mut sealer = Sealer::default();
            let sealed = documents.into_iter().map(|document| sealer.seal(document));
            sealed.collect::<Result<Vec<_>, _>>()
        });
}

/// The memory of a registry of plain seeds: what is allocated and not freed again, less the text,
/// for each block.
#[divan::bench(args = [10_000, 100_000], sample_count = 1, sample_size = 1)]
fn memory_of_blocks(bencher: Bencher<'_, '_>, size: usize) {
    let text = fixture(size).registries.snapshot().expect("a snapshot");
    bencher.bench_local(|| Registries::restore(&text, Secrets::new([3; 32], [2; 32])));
}

fn main() {
    divan::main();
}
