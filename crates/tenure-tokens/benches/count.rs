//! What counting costs: ordinary text, and text that is made to cost much, 20 MB without a break.

use divan::counter::BytesCount;
use tenure_tokens::Vocabulary;

fn main() {
    divan::main();
}

const ORDINARY: [&str; 3] = ["prose", "code", "json"];
const HOSTILE: [&str; 6] = ["=", " ", "a", "abcdefgh", "漢字", "letters"];
const LARGE: usize = 20_000_000;

fn ordinary(kind: &str) -> String {
    let part = match kind {
        "prose" => include_str!("../../../README.md").to_owned(),
        "code" => include_str!("../src/cut.rs").to_owned(),
        _ => {
            let row = |at: usize| {
                format!(
                    "{{\"id\":{at},\"name\":\"pump {}\",\"ok\":true}},",
                    at * 7_919 % 1_000
                )
            };
            (0..2_000).map(row).collect()
        }
    };
    part.repeat(1_000_000 / part.len() + 1)
}

/// Letters in no order.
fn letters(length: usize) -> String {
    let mut state = 1_u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    (0..length).map(letter).collect()
}

#[divan::bench(args = ORDINARY)]
fn o200k(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let text = ordinary(kind);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Vocabulary::O200k.count(&text));
}

#[divan::bench(args = ORDINARY)]
fn o200k_by_tiktoken(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let text = ordinary(kind);
    let Some(other) = tiktoken::get_encoding("o200k_base") else {
        return;
    };
    bencher.counter(BytesCount::of_str(&text)).bench(|| other.count(&text));
}

#[divan::bench(args = HOSTILE, sample_count = 3)]
fn without_a_break(bencher: divan::Bencher<'_, '_>, kind: &str) {
    let text = match kind {
        "letters" => letters(LARGE),
        part => part.repeat(LARGE / part.len()),
    };
    bencher
        .counter(BytesCount::of_str(&text))
        .bench(|| Vocabulary::O200k.count(&text));
}
