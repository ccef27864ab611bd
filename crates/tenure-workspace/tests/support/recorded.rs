//! A recorded session, made anew at every run: an agent looks into a fleet of servers, turn after turn,
//! and every few turns somebody says something that must not get lost.

use serde_json::{Value, json};

/// Something that was said once and is asked for much later.
pub(crate) struct Planted {
    /// The words that only this fact has.
    #[allow(dead_code)] // not all tests ask
    pub(crate) answer: String,
    /// How somebody would ask for it.
    #[allow(dead_code)]
    pub(crate) query: String,
}

/// Messages in OpenAI's form, and what is planted among them.
pub(crate) struct Recording {
    pub(crate) messages: Vec<Value>,
    #[allow(dead_code)]
    pub(crate) planted: Vec<Planted>,
}

/// The tools that the agent calls, in OpenAI's form.
pub(crate) fn tools() -> Value {
    let properties = json!({ "service": { "type": "string" }, "lines": { "type": "integer" } });
    let parameters = json!({ "type": "object", "properties": properties, "required": ["service"] });
    let description = "Reads the last lines of a service's log.";
    let function =
        json!({ "name": "inspect", "description": description, "parameters": parameters });
    json!([{ "type": "function", "function": function }])
}

const PARTS: [&str; 12] = [
    "gateway",
    "billing",
    "search",
    "ledger",
    "mailer",
    "cache",
    "indexer",
    "scheduler",
    "auth",
    "storage",
    "metrics",
    "queue",
];
const STATES: [&str; 6] = [
    "healthy",
    "degraded",
    "restarting",
    "draining",
    "saturated",
    "idle",
];
const THINGS: [&str; 8] = [
    "maintenance window",
    "owner",
    "spare disk",
    "retry limit",
    "signing key",
    "backup region",
    "alert threshold",
    "release branch",
];

/// A small generator whose numbers are the same everywhere (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }
}

/// So many turns: each a request, one to three calls with results of about `words` words, and an answer.
pub(crate) fn recording(turns: usize, words: u64) -> Recording {
    let mut numbers = Numbers(7);
    let mut messages = Vec::new();
    let mut planted = Vec::new();
    for turn in 0..turns {
        let part = PARTS[numbers.below(12) as usize];
        let mut request = format!("Look into {part} number {turn} and tell me what it reports.");
        if turn % 5 == 2 {
            let thing = THINGS[(turn / 5) % 8];
            let answer = format!("zq{:06x}", numbers.below(1 << 24));
            request.push_str(&format!(
                " For the record, the {thing} of {part} number {turn} is {answer}."
            ));
            planted.push(Planted {
                query: format!("What is the {thing} of {part} number {turn}?"),
                answer,
            });
        }
        if turn % 40 == 17 {
            request.push_str(&format!(
                " You must never restart {part} without asking me."
            ));
        }
        messages.push(json!({ "role": "user", "content": request }));
        let calls = 1 + numbers.below(3);
        let calls: Vec<Value> = (0..calls)
            .map(|call| {
                let arguments = json!({ "service": part, "lines": 40 + call }).to_string();
                let function = json!({ "name": "inspect", "arguments": arguments });
                json!({ "id": format!("call_{turn}_{call}"), "type": "function", "function": function })
            })
            .collect();
        let results = calls.len();
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        for call in 0..results {
            let mut log = String::new();
            let lines = words / 12 / results as u64;
            for line in 0..lines {
                let state = STATES[numbers.below(6) as usize];
                let (node, time) = (numbers.below(400), numbers.below(90_000));
                log.push_str(&format!(
                    "line {line}: node {node} of {part} is {state} after {time} ms with code {}\n",
                    numbers.below(7_000)
                ));
            }
            if turn % 5 == 4 && call == 0 {
                let answer = format!("xv{:06x}", numbers.below(1 << 24));
                log.push_str(&format!(
                    "the incident ticket of {part} number {turn} is {answer}\n"
                ));
                planted.push(Planted {
                    query: format!("incident ticket of {part} number {turn}"),
                    answer,
                });
            }
            messages.push(json!({
                "role": "tool", "tool_call_id": format!("call_{turn}_{call}"), "content": log,
            }));
        }
        let state = STATES[numbers.below(6) as usize];
        messages.push(json!({
            "role": "assistant",
            "content": format!("Most nodes of {part} number {turn} are {state}. Nothing needs to be done now."),
        }));
    }
    Recording { messages, planted }
}
