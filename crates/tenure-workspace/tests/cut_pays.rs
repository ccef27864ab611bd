//! What cuts leave over a long task, and what they cost beside a client that has its history summarised by its model. That
//! client is a figure of ours: 167,000 tokens at most, then a summary of 4,000 and the last five results.

use std::collections::HashMap;

use serde_json::{Value, json};
use tenure::World;
use tenure::wire::Format;
use tenure_workspace::relay::{Relay, Relaying};
use tenure_workspace::sessions::{PASSAGES, Session, Wanted};

use crate::support::bench::{relaying, tenant, workspace_with};
use crate::support::recorded::Numbers;

const STEPS: usize = 180;
const WINDOW: u32 = 200_000;
/// The provider counts so many tokens for a hundred of o200k's; the catalogue's bound is 170.
const COUNTS: u64 = 125;
const BOUND: u64 = 170;
const RULES: [&str; 3] = [
    "Report every pressure in kilopascal.",
    "Never change a file below vendor/.",
    "Write dates as year, month and day.",
];
const PROMPTS: [&str; 6] = [
    "Read the modules of the stations one after the other, and look at their logs.",
    "The customer wants the report in Danish.",
    "Leave the relay of station 9 alone, it is under warranty until 2027-03-01.",
    "I am allergic to penicillin, so skip the clinic.",
    "The budget is 41,500 kroner.",
    "Go on with the rest of the stations.",
];

/// The tokens of texts as the provider counts them, each text counted once.
struct Counts<'w> {
    world: &'w World,
    known: HashMap<String, u64>,
}

impl Counts<'_> {
    fn of(&mut self, value: &Value) -> u64 {
        match value {
            Value::String(text) => {
                let count = || self.world.tokenizer().count(text) as u64 * COUNTS / BOUND;
                *self.known.entry(text.clone()).or_insert_with(count)
            }
            Value::Array(values) => self.all(values),
            Value::Object(fields) => 3 + fields.values().map(|value| self.of(value)).sum::<u64>(),
            _ => 1,
        }
    }

    fn all(&mut self, values: &[Value]) -> u64 {
        values.iter().map(|value| self.of(value)).sum()
    }
}

/// The input of all requests: how many tokens, and the bill in input tokens: written at 1.25, read at 0.1.
#[derive(Default, Debug)]
struct Input {
    tokens: u64,
    bill: f64,
    cuts: u32,
}

impl Input {
    fn add(&mut self, read: u64, written: u64) {
        self.tokens += read + written;
        self.bill += read as f64 * 0.1 + written as f64 * 1.25;
    }
}

/// The fact that a step's result states.
fn fact(step: usize) -> (String, String) {
    let answer = format!("K{}", Numbers(step as u64 + 77).below(1 << 30));
    (format!("calibration of pump {step}"), answer)
}

/// A call and its result, of some 2,600 tokens by o200k. Every second result states a fact.
fn step(at: usize) -> [Value; 2] {
    let mut numbers = Numbers(at as u64);
    let mut text = String::new();
    for line in 0..62 {
        if line == 30 && at.is_multiple_of(2) {
            let (what, answer) = fact(at);
            text.push_str(&format!("# The {what} is {answer}.\n"));
        }
        let (node, time, code) = (
            numbers.below(400),
            numbers.below(90_000),
            numbers.below(7_000),
        );
        text.push_str(&format!(
            "def valve_{node}_{line}(state): return open(state, {time}, code={code})  # intake {}\n",
            numbers.below(1 << 20)
        ));
    }
    let id = format!("toolu_{at:04}");
    let input = json!({ "path": format!("stations/module_{at}.py") });
    let call = json!({ "type": "tool_use", "id": id, "name": "Read", "input": input });
    let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
    [
        json!({ "role": "assistant", "content": [call] }),
        json!({ "role": "user", "content": [result] }),
    ]
}

#[test]
fn a_cut_leaves_a_quarter_of_the_window_the_users_words_and_the_rules() {
    let folder = tempfile::tempdir().unwrap();
    let models = format!(
        "[models.mine]\nextends = \"claude-opus-4-5\"\nmargin_percent = 70\nwindow = {WINDOW}\nreserve = 32000\n"
    );
    let workspace = workspace_with(folder.path(), &models);
    let world = workspace.world("mine").unwrap();
    let relay = Relay::default();
    let tenant = tenant(folder.path(), "local");
    let mut counts = Counts {
        world: &world,
        known: HashMap::new(),
    };
    let system = format!(
        "{}\n{}",
        RULES.join("\n"),
        "You work in a terminal, and say what you do. ".repeat(700)
    );
    let tools = json!([{ "name": "Read", "description": "Reads a file. ".repeat(900), "input_schema": { "type": "object" } }]);
    let fixed = counts.of(&tools) + counts.of(&json!(system));
    let (mut ours, mut theirs) = (Input::default(), Input::default());
    let mut messages: Vec<Value> = Vec::new();
    let mut sent_before: Vec<Value> = Vec::new();
    let mut own = 0;
    let (mut last, mut session, mut left) = (String::new(), String::new(), Vec::new());
    for at in 0..STEPS {
        let asks = at.is_multiple_of(STEPS / PROMPTS.len());
        if asks {
            let said = PROMPTS[at / (STEPS / PROMPTS.len())];
            if at > 0 {
                messages.push(json!({ "role": "assistant", "content": "Done so far." }));
            }
            messages.push(json!({ "role": "user", "content": said }));
        }
        let body = json!({
            "model": "mine", "max_tokens": 32_000, "system": system, "tools": tools, "messages": messages,
        })
        .to_string();
        let asked = Relaying {
            ..relaying(Format::Anthropic, "mine", &body)
        };
        let relayed = relay.relay(&workspace, &tenant, &world, &asked).unwrap();
        let position = relayed.position.unwrap();
        last = relayed.body.clone().unwrap_or(body);
        let sent: Value = serde_json::from_str(&last).unwrap();
        let sent = sent["messages"].as_array().unwrap().clone();
        let same = sent.iter().zip(&sent_before).take_while(|(one, other)| one == other).count();
        let (read, written) = (counts.all(&sent[..same]), counts.all(&sent[same..]));
        if same < sent_before.len() {
            ours.cuts += 1;
            left.push(fixed + read + written);
        }
        assert!(
            fixed + read + written + 32_000 <= u64::from(WINDOW),
            "{at}: refused"
        );
        ours.add(
            fixed * u64::from(at > 0) + read,
            fixed * u64::from(at == 0) + written,
        );
        relay.reported(&tenant, &position, fixed + read + written).unwrap();
        session = position.session;
        sent_before = sent;
        // The client: it asks for a summary when 167,000 of the window are full, and goes on with that and the files
        // that it read last.
        let more = counts.all(&messages[messages.len().saturating_sub(2)..]);
        theirs.add(fixed + own, more);
        own += more;
        if fixed + own > 167_000 {
            theirs.add(fixed + own, 600);
            theirs.cuts += 1;
            let files = counts.all(&messages[messages.len() - 10..]);
            own = 4_000 + files;
            theirs.add(fixed, own);
        }
        messages.extend(step(at));
    }
    let facts: Vec<(String, String)> = (0..STEPS).step_by(2).map(fact).collect();
    let asked = facts.iter().step_by(3);
    let stand = facts.iter().filter(|(_, answer)| last.contains(answer)).count();
    let session = Session::open(tenant, &session).unwrap();
    let found = asked.filter(|(what, answer)| {
        let wanted = Wanted::Query {
            text: format!("What is the {what}?"),
            tokens: PASSAGES,
        };
        let found = session.rehydrate(&wanted, world.tokenizer()).unwrap();
        found.originals.first().is_some_and(|one| one.text.contains(answer))
    });
    let found = found.count();
    println!(
        "tokens {:.3} and bill {:.3} of the client's own; {left:?} left; {stand} facts of {} stand, {found} of 30 by question",
        ours.tokens as f64 / theirs.tokens as f64,
        ours.bill / theirs.bill,
        facts.len()
    );
    for said in PROMPTS.iter().chain(&RULES) {
        assert!(last.contains(said), "{said}");
    }
    // A quarter of the window, and what came with the request.
    assert!(
        left.len() == 3 && left.iter().all(|left| *left <= u64::from(WINDOW) * 28 / 100),
        "{left:?}"
    );
    assert!(found >= 20, "{found} facts of 30");
    assert!(
        ours.tokens * 100 <= theirs.tokens * 105,
        "{ours:?} {theirs:?}"
    );
}
