//! Writes the tables by which tokens are found, so that a program reads them where they are instead of making them at each
//! start. All numbers are 32 bits, the least significant byte first.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used
)] // a build reads and writes files

#[path = "src/place.rs"]
mod place;

use std::path::{Path, PathBuf};

use place::{
    HINT_BITS, NONE, SHORT, first_slot, hash, hash_of_word, hint, id_and_length, pair, tag, word,
};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/place.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for name in ["o200k_base", "cl100k_base"] {
        let path = Path::new("src").join(name).with_extension("tokens");
        println!("cargo::rerun-if-changed={}", path.display());
        let file = std::fs::read(&path).expect("the vocabulary is part of the crate");
        write_tables(&file, &out.join(name));
    }
}

fn write_tables(file: &[u8], out: &Path) {
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(length) = file.get(at) {
        starts.push(at + 1);
        at += 1 + usize::from(*length);
    }
    let token = |start: usize| &file[start..start + usize::from(file[start - 1])];
    let count = |lengths: std::ops::Range<usize>| {
        starts.iter().filter(|start| lengths.contains(&token(**start).len())).count()
    };
    let mut pairs = vec![NONE; 1 << 16];
    let mut hints = vec![0_u8; 1 << (HINT_BITS - 3)];
    // Four fifths full: most of what is no token is not looked for, since the hints say so.
    let mut short = vec![(0_u64, NONE); count(3..SHORT + 1) * 5 / 4];
    let mut long = vec![(NONE, 0_u32); count(SHORT + 1..usize::MAX) * 3 / 2];
    for (id, start) in (0..).zip(&starts) {
        let token = token(*start);
        match *token {
            [] | [_] => {}
            [first, second] => pairs[pair(first, second)] = id,
            _ if token.len() <= SHORT => {
                let hash = hash_of_word(word(token), token.len());
                let (at, bit) = hint(hash);
                hints[at] |= bit;
                let slot = free(&short, hash, |slot| slot.1 == NONE);
                short[slot] = (word(token), id_and_length(id, token.len()));
            }
            _ => {
                let hash = hash(token);
                let slot = free(&long, hash, |slot| slot.0 == NONE);
                long[slot] = (tag(hash) | id, *start as u32);
            }
        }
    }
    let pairs = pairs.iter().flat_map(|id| id.to_le_bytes()).collect();
    let short = short
        .iter()
        .flat_map(|(word, rest)| word.to_le_bytes().into_iter().chain(rest.to_le_bytes()));
    let long = long
        .iter()
        .flat_map(|(id, start)| id.to_le_bytes().into_iter().chain(start.to_le_bytes()));
    for (what, bytes) in [
        ("pairs", pairs),
        ("hints", hints),
        ("short", short.collect()),
        ("long", long.collect::<Vec<u8>>()),
    ] {
        std::fs::write(out.with_extension(what), bytes).expect("OUT_DIR can be written");
    }
}

/// The first free slot for what has this hash.
fn free<Slot>(slots: &[Slot], hash: u64, is_free: impl Fn(&Slot) -> bool) -> usize {
    let mut slot = first_slot(hash, slots.len());
    while !is_free(&slots[slot]) {
        slot = (slot + 1) % slots.len();
    }
    slot
}
