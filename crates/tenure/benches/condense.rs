//! What condensing costs as the text grows, and how much smaller the text becomes.
//!
//! `cargo bench -p tenure --bench condense`; figures in `docs/benchmarks.md`. The counts of tokens
//! are printed first, with the facts that were planted and are still there.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::fmt::Write;

use divan::Bencher;
use divan::counter::BytesCount;
use tenure::Tokenizer;
use tenure::condense::{Condensed, ContentType, Goal, condense};
use tenure::tokenizer::{Bpe, Vocabulary};

const SIZES: [usize; 3] = [100, 1_000, 10_000];

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

fn report(what: &str, condensed: &Condensed, bytes: usize, wanted: &[String]) {
    let found = wanted
        .iter()
        .filter(|fact| condensed.text.contains(*fact))
        .count();
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
    let mut facts: Vec<String> = planted(MEGABYTE_OF_JSON)
        .iter()
        .map(|fact| format!(",{fact},"))
        .collect();
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
    divan::main();
}
