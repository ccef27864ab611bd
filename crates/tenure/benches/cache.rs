//! What planning for a provider's cache costs, and explaining a miss, on a body of 260 KB, beside
//! counting its tokens, which both do.
//!
//! `cargo bench -p tenure --bench cache`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use divan::Bencher;
use tenure::cache::{Options, Sent, explain, plan, strip};
use tenure::wire::Format;
use tenure::{FrameKey, World};

fn main() {
    divan::main();
}

/// 120 exchanges of a tool call and its result, about 2 KB each.
fn body() -> String {
    let line =
        "2026-06-06T12:00:00Z pump=7 pressure=101325 Pa flow=0.42 m3/s state=\\\"open\\\"\\n";
    let mut messages = vec!["{\"role\":\"user\",\"content\":\"Watch the pumps.\"}".to_owned()];
    for at in 0..120 {
        messages.push(format!(
            "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Pump {at}.\"}},\
             {{\"type\":\"tool_use\",\"id\":\"c{at}\",\"name\":\"read\",\"input\":{{\"pump\":{at}}}}}]}}"
        ));
        messages.push(format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{at}\",\"content\":\"{}\"}}]}}",
            line.repeat(23)
        ));
    }
    format!(
        "{{\"model\":\"claude-opus-4-5\",\"max_tokens\":9,\"tools\":[{{\"name\":\"read\",\"input_schema\":{{}}}}],\
         \"system\":\"{}\",\"messages\":[{}]}}",
        "Report pressure in pascal. ".repeat(800),
        messages.join(",")
    )
}

fn world() -> World {
    World::for_model("claude-opus-4-5", FrameKey::new("bench", [7; 32])).expect("a known model")
}

#[divan::bench]
fn count_the_text(bencher: Bencher<'_, '_>) {
    let (world, body) = (world(), body());
    bencher.bench_local(|| world.tokenizer().count(&body));
}

#[divan::bench]
fn read_the_blocks(bencher: Bencher<'_, '_>) {
    let body = body();
    bencher.bench_local(|| Sent::body(Format::Anthropic, &body).map(|sent| sent.format()));
}

#[divan::bench]
fn plan_it(bencher: Bencher<'_, '_>) {
    let (world, body) = (world(), body());
    bencher.bench_local(|| {
        let sent = Sent::body(Format::Anthropic, &body).expect("a body");
        plan(&world, &sent, &Options::default(), None).expect("a plan")
    });
}

#[divan::bench]
fn apply_it(bencher: Bencher<'_, '_>) {
    let (world, body) = (world(), body());
    let sent = Sent::body(Format::Anthropic, &body).expect("a body");
    let plan = plan(&world, &sent, &Options::default(), None).expect("a plan");
    bencher.bench_local(|| plan.apply(&body).expect("marks"));
}

#[divan::bench]
fn strip_it(bencher: Bencher<'_, '_>) {
    let (world, body) = (world(), body());
    let sent = Sent::body(Format::Anthropic, &body).expect("a body");
    let plan = plan(&world, &sent, &Options::default(), None).expect("a plan");
    let marked = plan.apply(&body).expect("marks");
    bencher.bench_local(|| strip(Format::Anthropic, &marked).expect("a body"));
}

#[divan::bench]
fn explain_a_changed_byte(bencher: Bencher<'_, '_>) {
    let (world, body) = (world(), body());
    let at = body.rfind("pump=7").expect("a pump");
    let mut later = body.clone();
    later.replace_range(at..=at, "P");
    bencher.bench_local(|| {
        let before = Sent::body(Format::Anthropic, &body).expect("a body");
        let after = Sent::body(Format::Anthropic, &later).expect("a body");
        explain(&world, &before, &after).expect("a reason")
    });
}
