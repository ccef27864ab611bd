//! What it costs to load blocks from files.
//!
//! `cargo bench -p tenure-workspace --bench collect`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::fs;
use std::hint::black_box;
use std::path::Path;

use divan::Bencher;
use tenure::FrameKey;
use tenure::registry::Kind;
use tenure_workspace::registries::{SeedSource, draw_all};
use tenure_workspace::{Collect, Workspace};

/// The paper's library, and two powers of ten.
const SIZES: [usize; 3] = [31, 1_000, 10_000];
/// Blocks of one seed file.
const IN_A_FILE: usize = 100;

fn main() {
    divan::main();
}

/// A block's text: about 140 tokens.
fn text(at: usize) -> String {
    format!("Rule {at}: check the timer channel before the latch is enabled. ").repeat(10)
}

fn collect(bencher: Bencher<'_, '_>, write: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("a folder for the files");
    write(folder.path());
    let workspace = Workspace::new(FrameKey::new("bench", [7; 32])).expect("a workspace");
    let paths = [folder.path().to_owned()];
    bencher.bench_local(|| {
        let collected = workspace.collect(black_box(&paths), &Collect::default());
        black_box(collected.expect("the files can be read"))
    });
}

/// Seed files of a hundred blocks each.
#[divan::bench(args = SIZES)]
fn seed_blocks(bencher: Bencher<'_, '_>, blocks: usize) {
    collect(bencher, |folder| write_seeds(folder, blocks));
}

fn write_seeds(folder: &Path, blocks: usize) {
    for first in (0..blocks).step_by(IN_A_FILE) {
        let sections = (first..blocks.min(first + IN_A_FILE)).map(|at| {
            let head = format!("name: block-{at}\npriority: 0.6\ntags: [timer, pins]");
            format!("---\n{head}\n---\n{}\n", text(at))
        });
        let path = folder.join(format!("seed-{first}.md"));
        fs::write(path, sections.collect::<String>()).expect("a seed file");
    }
}

/// From seed files to a registry of which a compile can take a view.
#[divan::bench(args = SIZES)]
fn seed_blocks_to_a_view(bencher: Bencher<'_, '_>, blocks: usize) {
    let folder = tempfile::tempdir().expect("a folder for the files");
    write_seeds(folder.path(), blocks);
    let workspace = Workspace::new(FrameKey::new("bench", [7; 32])).expect("a workspace");
    let sources = [SeedSource::all(folder.path())];
    bencher.bench_local(|| {
        let loaded = workspace.library(black_box(&sources), &Collect::default());
        let library = loaded.expect("the files can be read").library;
        let mut registries = workspace.registries().expect("random numbers");
        let main = registries.create("main", Kind::Agent).expect("a label");
        let drawn = draw_all(&mut registries, &main, "main", &library);
        drawn.expect("names of their own");
        registries.view("main").expect("a registry")
    });
}

/// One plain Markdown file for each block.
#[divan::bench(args = SIZES)]
fn plain_files(bencher: Bencher<'_, '_>, blocks: usize) {
    collect(bencher, |folder| {
        for at in 0..blocks {
            fs::write(folder.join(format!("plain-{at}.md")), text(at)).expect("a file");
        }
    });
}

/// One long file that is split at its headings.
#[divan::bench(args = SIZES)]
fn sections(bencher: Bencher<'_, '_>, blocks: usize) {
    collect(bencher, |folder| {
        let sections = (0..blocks).map(|at| format!("## Part {at}\n\n{}\n\n", text(at)));
        let path = folder.join("long.md");
        fs::write(path, sections.collect::<String>()).expect("a file");
    });
}
