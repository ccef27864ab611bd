//! A recorded session of 200 turns at a window of 64k: whether every request is legal, whether what was said
//! can be had, how much of each request the provider has already seen; and what a turn costs as the session
//! grows.
//!
//! `cargo bench -p tenure-workspace --bench sessions`; figures in `docs/internals/benchmarks-servers.md`.

#![allow(clippy::unwrap_used, dead_code)] // a benchmark stops at the first thing that is wrong

#[path = "../tests/support/recorded.rs"]
mod recorded;

use std::time::{Duration, Instant as Clock};

use serde_json::{Value, json};
use tenure::object::ObjectType;
use tenure::time::Instant;
use tenure::trace::EpochCause;
use tenure::wire::{self, Format};
use tenure::{
    Budget, Candidates, FrameKey, ObjectDocument, Policy, Request, Target, World, conform,
};
use tenure_store::{Store, Tenant};
use tenure_workspace::sessions::{Session, SessionCompiled, SessionJob, Wanted};
use tenure_workspace::{Gathered, Workspace};

use recorded::{Recording, recording};

const WINDOW: u32 = 64_000;
const TARGETS: [Target; 4] = [
    Target::OpenAiChat,
    Target::OpenAiResponses,
    Target::AnthropicMessages,
    Target::Gemini,
];

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    policy: Policy,
    beside: Gathered,
}

fn main() {
    let workspace = Workspace::new(FrameKey::new("bench", [7; 32])).unwrap();
    let rule = ObjectDocument::named("units", "Report times in milliseconds.");
    let bench = Bench {
        folder: tempfile::tempdir().unwrap(),
        world: workspace.world("gpt-4o").unwrap(),
        policy: Policy::preset("standard").unwrap(),
        workspace,
        beside: Gathered::of_sources(Candidates::new(vec![rule.seal().unwrap()])),
    };
    let wanted = std::env::args().nth(1).filter(|name| !name.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    if runs("recorded") {
        let recording = recording(200, 1_250);
        naive(&bench, &recording);
        for target in TARGETS {
            recorded_session(&bench, &recording, target);
        }
    }
    if runs("growth") {
        growth(&bench);
    }
    if runs("beside") {
        beside(&bench);
    }
}

impl Bench {
    fn tenant(&self, name: &str) -> Tenant {
        let path = self.folder.path().join(format!("{name}.db"));
        Store::sqlite(&path).unwrap().tenant("local").unwrap()
    }

    fn compile(&self, session: &mut Session, target: Target) -> SessionCompiled {
        let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(WINDOW));
        request.target = target;
        let job = SessionJob {
            world: &self.world,
            policy: &self.policy,
            request: &request,
            beside: &self.beside,
            instructions: true,
            now: at(9_000),
        };
        self.workspace.compile_session(session, &job).unwrap()
    }

    fn count(&self, text: &str) -> u64 {
        self.world.tokenizer().count(text) as u64
    }
}

fn at(seconds: i64) -> Instant {
    Instant::from_micros(1_790_000_000_000_000 + seconds * 1_000_000)
}

fn session(tenant: Tenant) -> Session {
    Session::create(tenant, None, at(0), (None, None), None).unwrap()
}

fn append(session: &mut Session, messages: &[Value]) {
    let json = json!({ "messages": messages, "tools": recorded::tools() }).to_string();
    let conversation = wire::read(Format::OpenAiChat, &json).unwrap();
    session.append(conversation, at(60)).unwrap();
}

/// Whether the model speaks after this message.
fn asks(messages: &[Value], at: usize) -> bool {
    messages[at]["role"] == "user"
        || (messages[at]["role"] == "tool" && messages[at + 1]["role"] != "tool")
}

/// The request in the order in which providers read it: tools, what stands before the history, messages.
fn rendered(body: &Value) -> Vec<String> {
    let mut parts = Vec::new();
    for key in [
        "tools",
        "system",
        "systemInstruction",
        "instructions",
        "messages",
        "input",
        "contents",
    ] {
        match body.get(key) {
            Some(Value::Array(items)) => {
                for item in items {
                    let blocks =
                        item.get("content").or(item.get("parts")).and_then(Value::as_array);
                    match blocks {
                        Some(blocks) => parts
                            .extend(blocks.iter().map(|block| format!("{} {block}", item["role"]))),
                        None => parts.push(item.to_string()),
                    }
                }
            }
            Some(other) => parts.push(other.to_string()),
            None => {}
        }
    }
    parts
}

/// The tokens of the parts that two requests begin with, and of all of the second.
fn shared(bench: &Bench, before: &[String], after: &[String]) -> (u64, u64) {
    let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let tokens = |parts: &[String]| parts.iter().map(|part| bench.count(part)).sum::<u64>();
    (tokens(&after[..same]), tokens(after))
}

/// The newest messages that fit, as one would write it: whole exchanges from the end.
fn naive(bench: &Bench, recording: &Recording) {
    let messages = &recording.messages;
    let costs: Vec<u64> =
        messages.iter().map(|message| bench.count(&message.to_string())).collect();
    println!(
        "the recording: {} messages, {} tokens, {} facts",
        messages.len(),
        costs.iter().sum::<u64>(),
        recording.planted.len()
    );
    let (mut stays, mut sent, mut requests) = (0, 0, 0);
    let mut before: Vec<String> = Vec::new();
    let mut reachable = 0;
    for last in 0..messages.len() {
        if !asks(messages, last) {
            continue;
        }
        let mut first = last;
        let mut spent = costs[last];
        while first > 0 && spent + costs[first - 1] <= u64::from(WINDOW) {
            first -= 1;
            spent += costs[first];
        }
        while messages[first]["role"] != "user" && first < last {
            first += 1;
        }
        let parts: Vec<String> = messages[first..=last].iter().map(Value::to_string).collect();
        let (same, all) = shared(bench, &before, &parts);
        stays += same;
        sent += all;
        requests += 1;
        reachable = recording
            .planted
            .iter()
            .filter(|fact| parts.iter().any(|part| part.contains(&fact.answer)))
            .count();
        before = parts;
    }
    println!(
        "sliding window: {requests} requests, {sent} tokens, {:.1} % in an identical prefix, {reachable} facts at the end",
        100.0 * stays as f64 / sent as f64
    );
}

fn recorded_session(bench: &Bench, recording: &Recording, target: Target) {
    let messages = &recording.messages;
    let mut session = session(bench.tenant(target.term()));
    let (mut stays, mut sent, mut requests, mut epochs, mut illegal) = (0, 0, 0, 0, 0);
    let mut before: Vec<String> = Vec::new();
    let mut times: Vec<Duration> = Vec::new();
    let mut ends: Vec<Duration> = Vec::new();
    let mut last = String::new();
    for (place, message) in messages.iter().enumerate() {
        append(&mut session, std::slice::from_ref(message));
        if !asks(messages, place) {
            continue;
        }
        let started = Clock::now();
        let compiled = bench.compile(&mut session, target);
        let took = started.elapsed();
        let envelope = &compiled.outcome.single().unwrap().envelope;
        assert!(envelope.total_tokens <= WINDOW);
        last = String::from_utf8(envelope.payload.as_ref().unwrap().bytes().to_vec()).unwrap();
        illegal += conform::check(target.format().unwrap(), &last, None).unwrap().len();
        let body: Value = serde_json::from_str(&last).unwrap();
        let parts = rendered(&body);
        let (same, all) = shared(bench, &before, &parts);
        stays += same;
        sent += all;
        requests += 1;
        let kept = matches!(compiled.session.cause, EpochCause::Kept | EpochCause::First);
        if kept {
            times.push(took);
        } else {
            epochs += 1;
            ends.push(took);
            if std::env::var_os("SHOW").is_some() {
                println!(
                    "{place}: {} {} {} {}",
                    compiled.session.cause,
                    compiled.session.history_tokens,
                    envelope.total_tokens,
                    compiled.session.rewritten
                );
            }
        }
        before = parts;
    }
    let mut reachable = 0;
    for fact in &recording.planted {
        let wanted = Wanted::Query {
            text: fact.query.clone(),
            tokens: 8_000,
        };
        let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
        let there = last.contains(&fact.answer)
            || found.originals.iter().any(|original| original.text.contains(&fact.answer));
        reachable += usize::from(there);
        if !there && std::env::var_os("SHOW").is_some() {
            println!(
                "missing {} : {:?}",
                fact.query,
                found
                    .originals
                    .iter()
                    .map(|o| (
                        &o.id,
                        o.text.len(),
                        o.score,
                        o.text.chars().take(60).collect::<String>()
                    ))
                    .collect::<Vec<_>>()
            );
        }
    }
    println!(
        "{target}: {requests} requests, {illegal} rules broken, {sent} tokens, {:.1} % in an identical prefix, \
         {epochs} epochs ended, {reachable} of {} facts in the request or one rehydration away, \
         {} summaries at the end; a compile {:.2?}, one that ends an epoch {:.2?} (medians)",
        100.0 * stays as f64 / sent as f64,
        recording.planted.len(),
        session.checkpoints().len(),
        median(times),
        median(ends),
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// What the next turn costs when so many are stored.
fn growth(bench: &Bench) {
    let mut session = session(bench.tenant("growth"));
    let recording = recording(10_060, 600);
    let messages = &recording.messages;
    let mut turns = 0;
    let marks = [100, 1_000, 10_000];
    let (mut appends, mut compiles) = (Vec::new(), Vec::new());
    for (place, message) in messages.iter().enumerate() {
        let started = Clock::now();
        append(&mut session, std::slice::from_ref(message));
        let appended = started.elapsed();
        turns += usize::from(message["role"] == "user");
        if place + 1 == messages.len() || !asks(messages, place) {
            continue;
        }
        let near = marks.iter().any(|mark| (*mark..mark + 50).contains(&turns));
        let started = Clock::now();
        let compiled = bench.compile(&mut session, Target::OpenAiChat);
        let took = started.elapsed();
        if near && compiled.session.cause == EpochCause::Kept {
            appends.push(appended);
            compiles.push(took);
        }
        if marks.iter().any(|mark| turns == mark + 50) && !compiles.is_empty() {
            let started = Clock::now();
            let reopened = Session::open(bench.tenant("growth"), session.id()).unwrap();
            println!(
                "{turns} turns, {} messages: append {:.2?}, compile {:.2?} (medians of {}), open {:.2?}, {} summaries",
                reopened.len(),
                median(std::mem::take(&mut appends)),
                median(compiles.clone()),
                compiles.len(),
                started.elapsed(),
                reopened.checkpoints().len(),
            );
            compiles.clear();
        }
    }
}

/// What the next turn costs when so many objects are resident beside the session.
fn beside(bench: &Bench) {
    let recording = recording(160, 600);
    for count in [0, 100, 1_000, 10_000] {
        let workspace = Workspace::new(FrameKey::new("bench", [7; 32])).unwrap();
        let resident = Gathered::of_sources(Candidates::new((0..count).map(belief).collect()));
        let mut session = session(bench.tenant(&format!("beside-{count}")));
        let mut times = Vec::new();
        let mut first = Duration::ZERO;
        for (place, message) in recording.messages.iter().enumerate() {
            append(&mut session, std::slice::from_ref(message));
            if place + 1 == recording.messages.len() || !asks(&recording.messages, place) {
                continue;
            }
            let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(WINDOW));
            request.target = Target::OpenAiChat;
            let job = SessionJob {
                world: &bench.world,
                policy: &bench.policy,
                request: &request,
                beside: &resident,
                instructions: true,
                now: at(9_000),
            };
            let started = Clock::now();
            let compiled = workspace.compile_session(&mut session, &job).unwrap();
            let took = started.elapsed();
            match compiled.session.cause {
                EpochCause::First => first = took,
                EpochCause::Kept => times.push(took),
                _ => {}
            }
        }
        println!(
            "{count} objects beside: the first compile {first:.2?}, a later one {:.2?} (median of {})",
            median(times.clone()),
            times.len(),
        );
    }
}

/// A belief of about 140 tokens, different for each number.
fn belief(number: usize) -> std::sync::Arc<tenure::ContextObject> {
    const WORDS: [&str; 24] = [
        "pump", "valve", "the", "pressure", "of", "line", "is", "read", "by", "a", "sensor",
        "before", "after", "shift", "never", "bar", "flow", "checked", "alarm", "relay", "and",
        "north", "tank", "level",
    ];
    let mut state = number as u64 * 2_654_435_761 + 12_345;
    let mut text = format!("Unit {number}:");
    for _ in 0..110 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push(' ');
        text.push_str(WORDS[(state >> 33) as usize % WORDS.len()]);
    }
    let mut document = ObjectDocument::named(format!("unit-{number}"), text);
    document.object_type = Some(ObjectType::ProjectDecision);
    document.seal().unwrap()
}
