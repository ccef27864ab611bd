//! The marks of a cache in what is sent, held against a strict simulation of Anthropic's cache: whole tool loops,
//! sent as the agent sends them, made to fit, and compiled with a store beside them.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tenure::object::ObjectType;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, FrameKey, ObjectDocument, Policy, Principal, World, conform};
use tenure_store::{Store, Tenant};
use tenure_workspace::relay::{Relay, Relaying, SideInput};
use tenure_workspace::{Gathered, Workspace};

use crate::support::provider_cache::{Cache, Used};

const NOW: i64 = 1_790_000_000_000_000;
/// The policy of a gateway that compiles with the store beside the conversation.
const FULL: &str = "name = \"gateway\"\nextends = \"standard\"\nrequired = []\n\
[sections.codex]\nmax = 4096\n[sections.karma]\nmax = 1024\n[sections.memory]\nmax = 2048\n\
[sections.evidence]\nmax = 4096\n[sections.recall]\nmax = 1024\n";
const WORDS: &str = "pump valve sensor depot route bearing filter gasket motor relay panel fuse cable meter tank \
hose clamp spring lever piston crate pallet truck driver shift ledger invoice order parcel label scanner gate \
returns checks opens closes warms cools drifts holds reads writes moves stops counts sends keeps drops";

/// Words that depend on the seed alone.
fn prose(seed: u64, words: usize) -> String {
    let all: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = String::new();
    for at in 0..words {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        text.push_str(all[(state >> 33) as usize % all.len()]);
        text.push_str(if at % 12 == 11 { ".\n" } else { " " });
    }
    text
}

/// An agent that marks as Claude Code does: its system's text, and the ends of the last two messages of the user; or
/// leaves the messages to the provider.
struct Agent {
    messages: Vec<Value>,
    marks: Marks,
}

#[derive(Clone, Copy, Debug)]
enum Marks {
    Ends(&'static str),
    Automatic,
}

impl Marks {
    fn mark(self) -> Value {
        match self {
            Marks::Ends(ttl) => json!({ "type": "ephemeral", "ttl": ttl }),
            Marks::Automatic => json!({ "type": "ephemeral" }),
        }
    }
}

impl Agent {
    fn new(marks: Marks) -> Agent {
        let asked = "Find out why depot seven drops parcels, and repair it.";
        let messages =
            vec![json!({ "role": "user", "content": [{ "type": "text", "text": asked }] })];
        Agent { messages, marks }
    }

    /// One step of the loop: what the model says and calls, and what its tools return.
    fn step(&mut self, at: u64, calls: u64, words: usize) -> Value {
        let id = |call: u64| format!("toolu_{at}_{call}");
        let mut said =
            vec![json!({ "type": "text", "text": format!("Step {at}: I look at the next file.") })];
        said.extend((0..calls).map(|call| {
            json!({ "type": "tool_use", "id": id(call), "name": "read_file", "input": { "path": format!("src/{at}/{call}.txt") } })
        }));
        let results = (0..calls).map(|call| {
            let text = prose(at * 100 + call, words / calls as usize);
            json!({ "type": "tool_result", "tool_use_id": id(call), "content": text })
        });
        let reply = json!({ "role": "assistant", "content": said });
        self.messages.push(reply.clone());
        let results: Vec<Value> = results.collect();
        self.messages.push(json!({ "role": "user", "content": results }));
        reply
    }

    fn body(&self) -> String {
        let mark = |text: String| json!({ "type": "text", "text": text, "cache_control": self.marks.mark() });
        let mut messages = self.messages.clone();
        let users = messages.iter_mut().rev().filter(|message| message["role"] == "user");
        let own = match self.marks {
            Marks::Ends(_) => 2,
            Marks::Automatic => 0,
        };
        for message in users.take(own) {
            let last = message["content"].as_array_mut().unwrap().last_mut().unwrap();
            last["cache_control"] = self.marks.mark();
        }
        let tools: Vec<Value> = ["read_file", "edit_file", "run"].iter().map(|name| {
            json!({ "name": name, "description": prose(7, 300), "input_schema": { "type": "object" } })
        }).collect();
        let mut body = json!({
            "model": "mine",
            "max_tokens": 8_000,
            "tools": tools,
            "system": [mark("You are a coding agent.".to_owned()), mark(prose(3, 3_000))],
            "messages": messages,
        });
        if own == 0 {
            body["cache_control"] = self.marks.mark();
        }
        body.to_string()
    }
}

/// How a request goes on its way.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Direct,
    Fit,
    Full,
}

/// What the cache did with each request of a task, before which of them an epoch ended, and which of them were compiled.
#[derive(Default)]
struct Ran {
    used: Vec<Used>,
    ended: Vec<bool>,
    compiled: Vec<bool>,
}

impl Ran {
    /// The share of the input that was read.
    fn share(&self) -> f64 {
        let sum = |of: fn(&Used) -> u64| self.used.iter().map(of).sum::<u64>() as f64;
        sum(|used| used.read) / sum(|used| used.total)
    }

    /// The share that was read of what the request before had sent, where no epoch ended between them.
    fn repeated(&self) -> f64 {
        let pairs = self.used.windows(2).zip(&self.ended[1..]);
        let pairs = pairs.filter(|(_, ended)| !**ended);
        let (read, sent) = pairs.fold((0, 0), |(read, sent), (pair, _)| {
            (read + pair[1].read, sent + pair[0].total)
        });
        read as f64 / sent as f64
    }
}

struct Bench {
    folder: tempfile::TempDir,
    runs: AtomicU32,
    workspace: Workspace,
    world: World,
    policy: Policy,
    gathered: Gathered,
    principal: Principal,
}

impl Bench {
    fn new(window: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.toml");
        let text =
            format!("models.mine = {{ extends = \"claude-opus-5-5\", window = {window} }}\n");
        std::fs::write(&models, text).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let workspace = workspace.load_catalogue(&models).unwrap();
        let facts = (0..60).map(|at| {
            let mut document = ObjectDocument::named(
                format!("fact {at}"),
                format!("Fact {at}: {}", prose(9_000 + at, 40)),
            );
            document.object_type = Some(match at % 4 {
                0 => ObjectType::Preference,
                _ => ObjectType::RetrievedPassage,
            });
            document.tenant_id = Some("local".to_owned());
            document.seal_stored().unwrap()
        });
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            folder,
            runs: AtomicU32::new(0),
            policy: Policy::from_toml(FULL).unwrap(),
            gathered: Gathered::of_sources(Candidates::new(facts.collect())),
            principal: Principal {
                tenant: "local".to_owned(),
                ..Principal::owner()
            },
        }
    }

    fn tenant(&self, mode: Mode) -> Tenant {
        // A task has a store of its own.
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{mode:?}{run}.db"));
        Store::sqlite(&path).unwrap().tenant("local").unwrap()
    }

    /// Runs a task of these steps, each so many calls that return so many words in all.
    fn run(&self, mode: Mode, marks: Marks, steps: &[(u64, usize)]) -> Ran {
        let (relay, tenant) = (Relay::default(), self.tenant(mode));
        let (mut agent, mut cache) = (Agent::new(marks), Cache::default());
        let (mut ran, mut epochs) = (Ran::default(), 0);
        for (at, (calls, words)) in steps.iter().enumerate() {
            let now = Instant::from_micros(NOW + at as i64 * 20_000_000);
            let body = agent.body();
            let asked = Relaying {
                format: Format::Anthropic,
                model: "mine",
                body: &body,
                key: "key",
                owner: (None, None),
                session: None,
                now,
                side: (mode == Mode::Full).then_some(SideInput {
                    policy: &self.policy,
                    gathered: &self.gathered,
                    watched: &[],
                    known: now,
                    principal: &self.principal,
                    identities: &[],
                }),
                window: None,
                counted: false,
                max_answer: None,
            };
            let relayed = match mode {
                Mode::Direct => None,
                _ => Some(relay.relay(&self.workspace, &tenant, &self.world, &asked).unwrap()),
            };
            let sent = relayed.as_ref().and_then(|relayed| relayed.body.as_ref()).unwrap_or(&body);
            let broken = conform::check(Format::Anthropic, sent, Some(self.world.model())).unwrap();
            assert!(broken.is_empty(), "{mode:?}, step {at}: {broken:?}");
            ran.used.push(cache.send(sent));
            ran.compiled.push(*sent != body);
            let place = relayed.as_ref().and_then(|relayed| relayed.position.as_ref());
            let log = place
                .map(|place| tenant.entries(&format!("session/{}", place.session), 0).unwrap());
            let ends = log
                .iter()
                .flatten()
                .filter(|(_, entry)| entry.starts_with("{\"epoch\""))
                .count();
            ran.ended.push(ends > epochs);
            epochs = ends;
            let reply = agent.step(at as u64, *calls, *words);
            if let Some(place) = place {
                relay.reply(&tenant, place, &reply.to_string(), now).unwrap();
            }
        }
        ran
    }
}

/// Steps of an agent that reads files: most of one call, some of several.
fn reading(steps: usize) -> Vec<(u64, usize)> {
    let calls = [1, 1, 2, 1, 3, 1, 1];
    (0..steps).map(|at| (calls[at % calls.len()], 2_600 + 431 * (at % 5))).collect()
}

#[test]
fn a_whole_task_reads_what_it_sent() {
    let bench = Bench::new(140_000);
    for steps in [20, 30] {
        let run = |mode| bench.run(mode, Marks::Ends("5m"), &reading(steps));
        let runs = [Mode::Direct, Mode::Fit, Mode::Full].map(run);
        let [direct, fit, full] = runs.each_ref().map(Ran::repeated);
        assert!(
            fit >= direct - 0.01 && full >= fit - 0.03,
            "{steps}: {direct} {fit} {full}"
        );
        let [direct, fit, full] = runs.each_ref().map(Ran::share);
        eprintln!("{steps} steps: direct {direct:.4}, fit {fit:.4}, full {full:.4}");
        assert!(fit >= direct - 0.05, "{steps}: {direct} {fit}");
        let cuts = runs[1].ended.iter().filter(|ended| **ended).count();
        assert!(cuts >= 1, "nothing was cut in {steps} steps");
    }
}

/// Many calls at once, which the agent's marks do not span, lifetimes of an hour, and the provider's own mark.
#[test]
fn each_request_reads_all_of_the_one_before() {
    let bench = Bench::new(60_000);
    let mut steps = reading(14);
    for many in [3, 10] {
        steps[many].0 = 25;
    }
    for marks in [Marks::Ends("5m"), Marks::Ends("1h"), Marks::Automatic] {
        for mode in [Mode::Fit, Mode::Full] {
            let ran = bench.run(mode, marks, &steps);
            let mut looked_at = 0;
            for at in 1..ran.used.len() {
                if ran.compiled[at] && ran.compiled[at - 1] && !ran.ended[at] {
                    let (before, used) = (ran.used[at - 1], ran.used[at]);
                    assert_eq!(used.read, before.total, "{mode:?} {marks:?}, step {at}");
                    looked_at += 1;
                }
            }
            assert!(looked_at > 3, "{mode:?} {marks:?}: {looked_at}");
        }
    }
}
