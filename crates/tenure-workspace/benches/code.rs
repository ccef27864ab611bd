//! How long it takes to find the parts of a source text, and to condense it by them.
//!
//! `cargo bench -p tenure-workspace --bench code`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::unwrap_used)] // a benchmark stops at the first thing that is wrong

use tenure::condense::Goal;
use tenure::condense::code::{Elidable, condense};
use tenure::{FrameKey, World};
use tenure_workspace::code::outline;

fn main() {
    let world = world();
    let goal = |count| Goal {
        tokens: 32_000,
        task: "Why does drain_valve_17 hang?",
        count,
        lossless_only: false,
    };
    let count = |text: &str| world.tokenizer().count(text);
    for ending in ENDINGS {
        let (text, parts) = source(ending);
        let done = condense(&text, &parts, &goal(&count));
        println!(
            "{ending}: {} bytes, {} parts of {} bytes as JSON, {} tokens become {}",
            text.len(),
            parts.len(),
            serde_json::to_vec(&parts).unwrap().len(),
            done.from,
            done.to,
        );
        assert!(done.fits && done.text.contains("drain_valve_17"));
    }
    divan::main();
}

const ENDINGS: [&str; 4] = ["go", "py", "rs", "ts"];

fn world() -> World {
    World::for_model("gpt-4o", FrameKey::new("bench", [7; 32])).unwrap()
}

/// A megabyte of functions of a language, and its parts.
fn source(ending: &str) -> (String, Vec<Elidable>) {
    let mut text = match ending {
        "go" => "package pump\n\n".to_owned(),
        _ => String::new(),
    };
    let mut at = 0;
    while text.len() < 1 << 20 {
        text.push_str(&function(ending, at));
        at += 1;
    }
    let parts = outline(&text, ending).unwrap();
    (text, parts)
}

fn function(ending: &str, at: usize) -> String {
    let (head, end, doc) = match ending {
        "go" => (
            format!("func drain_valve_{at}(count int) int {{"),
            "}\n\n",
            "// ",
        ),
        "py" => (
            format!("def drain_valve_{at}(count: int) -> int:"),
            "\n\n",
            "# ",
        ),
        "rs" => (
            format!("pub fn drain_valve_{at}(count: u32) -> u32 {{"),
            "}\n\n",
            "/// ",
        ),
        _ => (
            format!("export function drain_valve_{at}(count: number): number {{"),
            "}\n\n",
            "// ",
        ),
    };
    let line = |line: usize| match ending {
        "py" => format!(
            "    count = count + lookup({at}, table[{line}], \"state {}\")\n",
            at * line
        ),
        _ => format!(
            "    count = count + lookup({at}, table[{line}], \"state {}\");\n",
            at * line
        ),
    };
    let body: String = (0..10 + at % 21).map(line).collect();
    format!(
        "{doc}Drains valve {at}.\n{doc}Takes as long as it takes.\n{head}\n{body}    return count\n{end}"
    )
}

#[divan::bench(args = ENDINGS)]
fn parts_of_a_megabyte(bencher: divan::Bencher<'_, '_>, ending: &str) {
    let (text, _) = source(ending);
    bencher.bench_local(|| outline(&text, ending));
}

#[divan::bench(args = ENDINGS)]
fn condense_by_parts(bencher: divan::Bencher<'_, '_>, ending: &str) {
    let (text, parts) = source(ending);
    let world = world();
    let count = |text: &str| world.tokenizer().count(text);
    let goal = Goal {
        tokens: 32_000,
        task: "Why does drain_valve_17 hang?",
        count: &count,
        lossless_only: false,
    };
    bencher.bench_local(|| condense(&text, &parts, &goal));
}

#[divan::bench]
fn one_count_of_the_whole(bencher: divan::Bencher<'_, '_>) {
    let (text, _) = source("rs");
    let world = world();
    bencher.bench_local(|| world.tokenizer().count(&text));
}
