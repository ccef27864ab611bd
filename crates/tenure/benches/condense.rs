//! What condensing costs as the text grows, and how much smaller the text becomes.
//!
//! `cargo bench -p tenure --bench condense`; figures in `docs/internals/benchmarks.md`. The counts of tokens
//! are printed first, with the facts that were planted and are still there.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::fmt::Write;

use divan::Bencher;
use divan::counter::BytesCount;
use tenure::Tokenizer;
use tenure::condense::distill::{Aim, distill};
use tenure::condense::fidelity::fidelity;
use tenure::condense::turns::{Speaker, Turn, Weights, summarize};
use tenure::condense::{Condensed, ContentType, Goal, condense};
use tenure::session::{Checkpoint, Said, SessionPolicy, Shown, Summarizing};
use tenure::tokenizer::{Bpe, Vocabulary};

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Of sentences.
const LENGTHS: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// So many records are about a megabyte of JSON.
const MEGABYTE_OF_JSON: usize = 4_200;
/// So many lines are about a megabyte of log.
const MEGABYTE_OF_LOG: usize = 12_600;

const STATES: [&str; 4] = ["settled", "settled", "pending", "settled"];
const REGIONS: [&str; 3] = ["eu-central-1", "us-east-1", "ap-southeast-2"];

/// Payments as a tool returns them, with three that the task names and one that failed.
fn json(records: usize) -> String {
    let mut text = String::from("{\n  \"total\": ");
    let _ = write!(text, "{records},\n  \"payments\": [");
    for at in 0..records {
        let comma = if at == 0 { "" } else { "," };
        let state = match at {
            _ if at == records / 3 => "chargeback_dispute",
            _ => STATES[at * 7 % 4],
        };
        let _ = write!(
            text,
            "{comma}\n    {{\n      \"id\": \"pay_{:08x}\",\n      \"created_at\": \"2026-06-{:02}T{:02}:{:02}:{:02}Z\",\n      \
             \"amount_cents\": {},\n      \"currency\": \"EUR\",\n      \"state\": \"{state}\",\n      \
             \"region\": \"{}\",\n      \"customer_number\": {},\n      \"retries\": {}\n    }}",
            at * 2_654_435_761 % 4_294_967_291,
            1 + at % 28,
            at % 24,
            at * 7 % 60,
            at * 13 % 60,
            100 + at * 7_919 % 99_000,
            REGIONS[at * 5 % 3],
            40_000 + at,
            at % 3,
        );
    }
    text.push_str("\n  ]\n}\n");
    text
}

/// What the task names: the numbers of customers.
fn planted(records: usize) -> [usize; 3] {
    [
        40_000 + records / 7,
        40_000 + records / 2,
        40_000 + records * 9 / 10,
    ]
}

fn json_task(records: usize) -> String {
    let [a, b, c] = planted(records);
    format!("Compare the payments of the customers {a}, {b} and {c}.")
}

const FAULTS: [&str; 12] = [
    "ERROR [db] connection pool exhausted after 30 s",
    "ERROR [auth] token signature is not valid for issuer",
    "FATAL [disk] no space left on device /var/lib/data",
    "WARN [cache] eviction rate above threshold",
    "ERROR [queue] message rejected by consumer group billing",
    "ERROR [http] upstream refused the connection",
    "WARN [clock] drift beyond tolerance",
    "ERROR [tls] certificate expired for edge host",
    "ERROR [cron] nightly job was killed by the scheduler",
    "WARN [gc] pause longer than the limit",
    "ERROR [schema] migration checksum mismatch",
    "ERROR [mail] recipient denied by policy",
];

/// Lines of a service, with twelve different ones in which something went wrong.
fn log(lines: usize) -> String {
    let mut text = String::new();
    for at in 0..lines {
        let _ = write!(
            text,
            "2026-06-06T{:02}:{:02}:{:02}.{:03}Z ",
            at / 3_600 % 24,
            at / 60 % 60,
            at % 60,
            at * 7 % 1_000
        );
        let fault = (at + 1) * 13 / lines;
        let is_fault = fault > 0 && fault <= 12 && at * 13 / lines != fault;
        let _ = match at {
            _ if is_fault => writeln!(text, "{}", FAULTS[fault - 1]),
            _ if at % 5 == 0 => writeln!(
                text,
                "DEBUG [pool] connection {} reused from slot {}",
                at * 31 % 997,
                at % 64
            ),
            _ if at % 7 == 0 => writeln!(
                text,
                "INFO [cache] hit for key user:{} in {} us",
                at * 17 % 9_973,
                at % 90
            ),
            _ => writeln!(
                text,
                "INFO [http] GET /api/orders/{} 200 in {} ms from 10.0.{}.{}",
                at * 37 % 99_991,
                1 + at % 340,
                at % 4,
                at % 250
            ),
        };
    }
    text
}

fn counter() -> Bpe {
    let counter = Bpe::new(Vocabulary::O200k);
    counter.count("load");
    counter
}

fn shrink(counter: &Bpe, text: &str, tokens: u32, task: &str, lossless_only: bool) -> Condensed {
    let goal = Goal {
        tokens,
        task,
        count: &|text| counter.count(text),
        lossless_only,
    };
    condense(text, None, &goal)
}

/// Bytes stand for tokens: what is measured is the condensation alone.
fn free(text: &str, content_type: ContentType, lossless_only: bool, tokens: u32) -> Condensed {
    let goal = Goal {
        tokens,
        task: "Compare the payments of the customers 40017, 40021 and 40090.",
        count: &|text| text.len() / 4,
        lossless_only,
    };
    condense(text, Some(content_type), &goal)
}

#[divan::bench(args = SIZES)]
fn json_lossless_without_counting(bencher: Bencher<'_, '_>, records: usize) {
    let text = json(records);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| free(&text, ContentType::Json, true, u32::MAX));
}

#[divan::bench(args = SIZES)]
fn json_into_8k_without_counting(bencher: Bencher<'_, '_>, records: usize) {
    let text = json(records);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| free(&text, ContentType::Json, false, 8_000));
}

#[divan::bench]
fn json_megabyte_lossless(bencher: Bencher<'_, '_>) {
    let (counter, text) = (counter(), json(MEGABYTE_OF_JSON));
    bencher.bench_local(|| shrink(&counter, &text, u32::MAX, "", true));
}

#[divan::bench]
fn json_megabyte_into_8k(bencher: Bencher<'_, '_>) {
    let (counter, text) = (counter(), json(MEGABYTE_OF_JSON));
    let task = json_task(MEGABYTE_OF_JSON);
    bencher.bench_local(|| shrink(&counter, &text, 8_000, &task, false));
}

#[divan::bench]
fn json_megabyte_counted_once(bencher: Bencher<'_, '_>) {
    let (counter, text) = (counter(), json(MEGABYTE_OF_JSON));
    bencher.bench_local(|| counter.count(&text));
}

#[divan::bench(args = SIZES)]
fn log_lossless_without_counting(bencher: Bencher<'_, '_>, lines: usize) {
    let text = log(lines);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| free(&text, ContentType::Log, true, u32::MAX));
}

#[divan::bench]
fn log_megabyte_into_4k(bencher: Bencher<'_, '_>) {
    let (counter, text) = (counter(), log(MEGABYTE_OF_LOG));
    bencher.bench_local(|| shrink(&counter, &text, 4_000, "Why were orders late?", false));
}

#[divan::bench]
fn log_megabyte_counted_once(bencher: Bencher<'_, '_>) {
    let (counter, text) = (counter(), log(MEGABYTE_OF_LOG));
    bencher.bench_local(|| counter.count(&text));
}

/// Sentences about a plant, every seventh without a fact; a decision, a correction or a
/// constraint at times.
fn sentences(count: usize) -> Vec<String> {
    let parts = ["pump", "valve", "boiler", "sensor", "turbine", "mixer"];
    let sentence = |at: usize| {
        let part = parts[at * 5 % 6];
        match at % 7 {
            0 => "It was a long day and everybody in the hall was glad of it.".to_owned(),
            1 => format!("The {part} {at} is rated for {} bar.", at * 37 % 900 + 10),
            2 => format!(
                "Since spring the {part} {at} has run in hall_{}, and the log of it is kept for {} days.",
                at % 40,
                at % 90 + 1
            ),
            3 if at.is_multiple_of(5) => format!(
                "No, that is wrong: the {part} {at} must not be opened above {} bar.",
                at % 30 + 2
            ),
            3 => format!(
                "Nobody has opened the {part} {at} for {} months.",
                at % 48 + 1
            ),
            4 if at.is_multiple_of(3) => format!(
                "We decided to replace the {part} {at} with model X{}.",
                at % 97
            ),
            4 => format!("The {part} {at} reports to station S{}.", at % 61),
            5 => {
                format!("The housing of the {part} {at} is made of steel and was painted in Riga.")
            }
            _ => format!("Maintenance of the {part} {at} took {} hours.", at % 23 + 1),
        }
    };
    (0..count).map(sentence).collect()
}

const PLANT_TASK: &str = "At which pressure may the boiler 61 be opened?";

/// A fifth of the tokens.
fn plant_goal<'g>(counter: &'g dyn Fn(&str) -> usize, text: &str) -> Goal<'g> {
    Goal {
        tokens: (counter(text) / 5) as u32,
        task: PLANT_TASK,
        count: counter,
        lossless_only: false,
    }
}

fn turns(texts: &[String]) -> Vec<Turn<'_>> {
    let speakers = [Speaker::User, Speaker::Assistant, Speaker::Tool];
    texts
        .iter()
        .enumerate()
        .map(|(at, text)| Turn {
            speaker: speakers[at % 3],
            text,
        })
        .collect()
}

/// Turns of five sentences.
fn said(count: usize) -> Vec<String> {
    sentences(count).chunks(5).map(|turn| turn.join(" ")).collect()
}

#[divan::bench(args = LENGTHS, sample_count = 5)]
fn turns_into_a_fifth(bencher: Bencher<'_, '_>, count: usize) {
    let counter = counter();
    let count_tokens = |text: &str| counter.count(text);
    let texts = said(count);
    let goal = plant_goal(&count_tokens, &texts.join("\n"));
    let turns = turns(&texts);
    bencher.bench_local(|| summarize(&turns, &Weights::default(), &goal));
}

#[divan::bench(args = LENGTHS, sample_count = 5)]
fn distilled_into_a_fifth(bencher: Bencher<'_, '_>, count: usize) {
    let counter = counter();
    let count_tokens = |text: &str| counter.count(text);
    let text = sentences(count).join(" ");
    let goal = plant_goal(&count_tokens, &text);
    let aim = Aim {
        target: Some(goal.tokens),
        ..Aim::default()
    };
    bencher.bench_local(|| distill(&text, &aim, &goal));
}

/// What `condense` makes of prose: it does not look at the fidelity.
#[divan::bench(args = LENGTHS, sample_count = 5)]
fn prose_into_a_fifth(bencher: Bencher<'_, '_>, count: usize) {
    let counter = counter();
    let count_tokens = |text: &str| counter.count(text);
    let text = sentences(count).join(" ");
    let goal = plant_goal(&count_tokens, &text);
    bencher.bench_local(|| condense(&text, Some(ContentType::Prose), &goal));
}

#[divan::bench(args = LENGTHS, sample_count = 5)]
fn distilled_to_its_knee(bencher: Bencher<'_, '_>, count: usize) {
    let counter = counter();
    let count_tokens = |text: &str| counter.count(text);
    let text = sentences(count).join(" ");
    let goal = Goal {
        tokens: u32::MAX,
        ..plant_goal(&count_tokens, &text)
    };
    bencher.bench_local(|| distill(&text, &Aim::default(), &goal));
}

#[divan::bench(args = LENGTHS, sample_count = 5)]
fn fidelity_of_half_a_text(bencher: Bencher<'_, '_>, count: usize) {
    let text = sentences(count).join(" ");
    let half = &text[..text.len() / 2];
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| fidelity(&text, half));
}

fn report(what: &str, condensed: &Condensed, bytes: usize, wanted: &[String]) {
    let found = wanted.iter().filter(|fact| condensed.text.contains(*fact)).count();
    println!(
        "{what}: {bytes} bytes, {} → {} tokens ({:.1} %), {}, {found} of {} planted facts",
        condensed.from,
        condensed.to,
        f64::from(condensed.to) * 100.0 / f64::from(condensed.from),
        condensed.method,
        wanted.len()
    );
}

fn main() {
    let counter = counter();
    let text = json(MEGABYTE_OF_JSON);
    let mut facts: Vec<String> =
        planted(MEGABYTE_OF_JSON).iter().map(|fact| format!(",{fact},")).collect();
    facts.push("chargeback_dispute".into());
    let lossless = shrink(&counter, &text, u32::MAX, "", true);
    report("JSON, lossless", &lossless, text.len(), &facts);
    let task = json_task(MEGABYTE_OF_JSON);
    let lossy = shrink(&counter, &text, 8_000, &task, false);
    report("JSON into 8,000", &lossy, text.len(), &facts);
    let text = log(MEGABYTE_OF_LOG);
    let facts: Vec<String> = FAULTS.iter().map(|fault| (*fault).to_owned()).collect();
    let lossless = shrink(&counter, &text, u32::MAX, "", true);
    report("log, lossless", &lossless, text.len(), &facts);
    let lossy = shrink(&counter, &text, 4_000, "Why were orders late?", false);
    report("log into 4,000", &lossy, text.len(), &facts);
    let count_tokens = |text: &str| counter.count(text);
    for size in LENGTHS {
        let text = sentences(size).join(" ");
        let fifth = plant_goal(&count_tokens, &text);
        let knee = Goal {
            tokens: u32::MAX,
            ..fifth
        };
        for (what, goal) in [("a fifth", &fifth), ("its knee", &knee)] {
            let found = distill(&text, &Aim::default(), goal);
            println!(
                "{size} sentences distilled to {what}: {} → {} tokens, aimed at {}, fidelity {}, {}",
                found.from,
                found.to,
                found.target,
                found.fidelity.score(),
                found.warning.map_or("no warning".into(), |warning| warning.to_string())
            );
        }
        let texts = said(size);
        let found = summarize(&turns(&texts), &Weights::default(), &fifth);
        println!(
            "{size} sentences of turns to a fifth: {} → {} tokens, {} that should stay did not fit",
            found.from,
            found.to,
            found.sacrificed()
        );
    }
    divan::main();
}

/// A file as an agent's reader prints it.
fn file(lines: usize) -> String {
    let line = |at: usize| match at % 6 {
        0 => format!("/// Moves the pump to place {at}, because a dry one breaks."),
        1 => format!("pub fn place_{at}(pump: &mut Pump) -> Result<(), Error> {{"),
        5 => "}".to_owned(),
        _ => format!("    pump.step({at})?;"),
    };
    let lines = (0..lines).map(|at| format!("{:6}→{}\n", at + 1, line(at)));
    lines.collect()
}

/// A summary of one message. What the model says is read as prose, as results were too.
fn summary_of(text: &str, speaker: Speaker) -> Option<Checkpoint> {
    let policy = SessionPolicy::default();
    let how = Summarizing {
        policy: &policy,
        task: "Why were orders late at place 40?",
        count: &|text| text.len() / 4,
        at: None,
        shown: &Shown::NOTHING,
    };
    let said = Said {
        turn: 1,
        speaker,
        text,
        pinned: false,
        call: None,
    };
    Checkpoint::of_turns(&[said], text.len() as u64 / 4, &how)
}

#[divan::bench(args = LENGTHS)]
fn summary_of_a_log(bencher: Bencher<'_, '_>, lines: usize) {
    let text = log(lines);
    bencher.bench_local(|| summary_of(&text, Speaker::Tool));
}

#[divan::bench(args = LENGTHS)]
fn summary_of_a_log_as_prose(bencher: Bencher<'_, '_>, lines: usize) {
    let text = log(lines);
    bencher.bench_local(|| summary_of(&text, Speaker::Assistant));
}

#[divan::bench(args = LENGTHS)]
fn summary_of_a_file(bencher: Bencher<'_, '_>, lines: usize) {
    let text = file(lines);
    bencher.bench_local(|| summary_of(&text, Speaker::Tool));
}

#[divan::bench(args = LENGTHS)]
fn summary_of_a_file_as_prose(bencher: Bencher<'_, '_>, lines: usize) {
    let text = file(lines);
    bencher.bench_local(|| summary_of(&text, Speaker::Assistant));
}
