//! The vocabularies and the counts are those of two independent crates, and no text makes counting dear.
//!
//! `bpe-openai` shares nothing with `tiktoken`, and neither anything with what counts here.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)] // it looks at clocks and memory, and starts itself

mod thread_time;

use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::select;
use tenure_tokens::Vocabulary;
use thread_time::spent;

fn by_tiktoken(vocabulary: Vocabulary) -> &'static tiktoken::CoreBpe {
    tiktoken::get_encoding(vocabulary.name()).unwrap()
}

fn by_bpe(vocabulary: Vocabulary) -> &'static bpe_openai::Tokenizer {
    match vocabulary {
        Vocabulary::O200k => bpe_openai::o200k_base(),
        Vocabulary::Cl100k => bpe_openai::cl100k_base(),
    }
}

#[test]
fn the_tokens_are_those_of_both_crates() {
    for vocabulary in Vocabulary::ALL {
        let (one, other) = (by_tiktoken(vocabulary), &by_bpe(vocabulary).bpe);
        let tokens = vocabulary.tokens();
        assert_eq!(
            (tokens.len(), tokens.len()),
            (one.vocab_size(), other.num_tokens())
        );
        for (id, token) in (0..).zip(tokens) {
            assert_eq!(
                (&*one.decode(&[id]), other.token_bytes(id)),
                (token, token),
                "{vocabulary:?} {id}"
            );
        }
    }
}

/// What makes long pieces, and what changes a long piece at its end or in its middle.
#[rustfmt::skip]
const PARTS: [&str; 40] = [
    "=", "-", "_", "#", "*", ".", "/", "\\", "~", "─", "═", "█", " ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{3000}",
    "a", "ab", "abc", "the", "ing", "A", "AB", "Aa", "漢", "漢字", "の", "한", "é", "e\u{301}", "😀", "👩\u{200d}🚀", "0", "1234",
    "'s", "ß", "\u{301}",
];

fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => (select(&PARTS[..]), 1..3_000_usize).prop_map(|(part, times)| part.repeat(times)),
        2 => (prop::collection::vec(select(&PARTS[..]), 1..8), 1..400_usize).prop_map(|(parts, times)| parts.concat().repeat(times)),
        2 => "[a-z]{1,3000}",
        1 => "[!-/:-@]{1,3000}",
        1 => "[\u{4e00}-\u{4fff}]{1,1000}",
        1 => select(&PARTS[..]).prop_map(str::to_owned),
    ];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn counts_of_hostile_texts_are_those_of_both_crates(text in hostile()) {
        for vocabulary in Vocabulary::ALL {
            let counts = (by_tiktoken(vocabulary).count(&text), by_bpe(vocabulary).count(&text));
            let count = vocabulary.count(&text);
            prop_assert_eq!((count, count), counts, "{:?}", vocabulary);
        }
    }
}

/// One text of each shape that has no break, so long.
fn without_a_break(length: usize) -> Vec<String> {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + ((state >> 33) % 26) as u8)
    };
    let mut texts: Vec<String> = [
        "=",
        " ",
        "\n",
        "a",
        "ab",
        "abcdefgh",
        "漢字",
        "👩\u{200d}",
        "A",
        "\u{301}",
        "ʰB",
        "=-",
    ]
    .iter()
    .map(|part| part.repeat(length / part.len()))
    .collect();
    texts.push((0..length).map(|_| letter()).collect());
    texts
}

/// The shortest of some tries to count a text so many times.
fn fastest(text: &str, times: usize) -> Duration {
    let tries = (0..5).map(|_| {
        let before = spent();
        for _ in 0..times {
            std::hint::black_box(Vocabulary::O200k.count(text));
        }
        spent() - before
    });
    tries.min().unwrap_or_default()
}

#[test]
fn time_grows_with_the_text_and_no_faster() {
    let (short, long) = (without_a_break(100_000), without_a_break(800_000));
    for (short, long) in short.iter().zip(&long) {
        let (parts, whole) = (fastest(short, 8), fastest(long, 1));
        // As much where it is linear, eight times as much where it is quadratic.
        assert!(
            whole < parts * 3,
            "{parts:?} and {whole:?} for {:?}",
            short.chars().next()
        );
    }
}

/// The largest memory that this process had, in KiB.
#[cfg(target_os = "linux")]
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn twenty_megabytes_without_a_break_need_little_memory() {
    const CHILD: &str = "TENURE_TOKENS_PEAK_OF";
    if let Ok(kind) = std::env::var(CHILD) {
        let text = kind.repeat(20_000_000 / kind.len());
        let before = peak();
        std::hint::black_box(Vocabulary::O200k.count(&text));
        println!("grown by {} KiB", peak() - before);
        return;
    }
    for kind in ["=", " ", "ab", "漢"] {
        let name = "twenty_megabytes_without_a_break_need_little_memory";
        let child = Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(CHILD, kind)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        let (_, grown) = said.split_once("grown by ").unwrap();
        let grown: usize = grown.split(' ').next().unwrap().parse().unwrap();
        // What a vocabulary takes, and nothing that grows with the text.
        assert!(grown < 32 << 10, "{kind:?}: {grown} KiB");
    }
}
