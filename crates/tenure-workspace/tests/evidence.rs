//! What a store adds to an agent's loop of tools: once for a request, within a share, and nothing that is unrelated.
use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure::object::{ObjectType, Provenance};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, FrameKey, ObjectDocument, Policy, Principal, World};
use tenure_store::{Store, Tenant};
use tenure_workspace::relay::{Relay, Relaying, SideInput};
use tenure_workspace::{Gathered, Workspace};

/// As the gateway has it.
const FULL: &str = "name = \"gateway\"\nrequired = []\n[sections.codex]\nmax = 4096\n\
[sections.karma]\nmax = 512\nrelevance_floor = 0.02\n[sections.memory]\nmax = 1024\nrelevance_floor = 0.02\n\
[sections.evidence]\nmax = 2048\n[sections.recall]\nmax = 512\nrelevance_floor = 0.02\n";
const NOW: Instant = Instant::from_micros(1_790_000_000_000_000);
const STEPS: usize = 30;
const REQUEST: &str = "The billing service rejects refunds above 500 EUR since the last release. Find out why, fix \
issue 42 and add a test for refunds of large amounts.";

/// A conversation through the relay, with a store of these facts beside it.
struct Loop {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
    tenant: Tenant,
    policy: Policy,
    facts: Gathered,
    messages: Vec<Value>,
    /// The tokens of what the agent sent, and of what went on.
    direct: usize,
    sent: usize,
}

impl Loop {
    fn over(facts: Vec<ObjectDocument>) -> Loop {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let facts = facts.into_iter().map(|fact| fact.seal().unwrap());
        Loop {
            world: workspace.world("claude-opus-4-5").unwrap(),
            tenant: store.tenant("local").unwrap(),
            workspace,
            _folder: folder,
            relay: Relay::default(),
            policy: Policy::from_toml(FULL).unwrap(),
            facts: Gathered::of_sources(Candidates::new(facts.collect())),
            messages: Vec::new(),
            direct: 0,
            sent: 0,
        }
    }

    fn user(&mut self, text: &str) {
        self.messages.push(json!({ "role": "user", "content": text }));
    }

    /// A call of a tool and its result.
    fn step(&mut self, step: usize) {
        let id = format!("toolu_{step}");
        let line = |line: usize| {
            format!("src/billing/part_{step}.rs:{line}: let amount = refund.amount({line})?;\n")
        };
        let result: String = (0..40).map(line).collect();
        let call =
            json!({ "type": "tool_use", "id": id, "name": "read", "input": { "part": step } });
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": result });
        self.messages.push(json!({ "role": "assistant", "content": [call] }));
        self.messages.push(json!({ "role": "user", "content": [result] }));
    }

    /// Sends all that was said, and gives the numbers of the facts that stand in what went on.
    fn send(&mut self) -> BTreeSet<usize> {
        let rules =
            "Read a file before you change it, and say which lines you changed. ".repeat(1_000);
        let body = json!({
            "model": "claude-opus-4-5", "max_tokens": 2000, "system": rules, "messages": self.messages,
            "tools": [{ "name": "read", "description": "Reads a part.", "input_schema": { "type": "object" } }],
        });
        let body = body.to_string();
        let principal = Principal {
            tenant: "local".to_owned(),
            ..Principal::owner()
        };
        let asked = Relaying {
            format: Format::Anthropic,
            model: "claude-opus-4-5",
            body: &body,
            key: "key",
            owner: (None, None),
            session: None,
            now: NOW,
            side: Some(SideInput {
                policy: &self.policy,
                gathered: &self.facts,
                watched: &[],
                known: NOW,
                principal: &principal,
                identities: &[],
            }),
            counted: false,
            max_answer: None,
            window: None,
        };
        let relayed = self.relay.relay(&self.workspace, &self.tenant, &self.world, &asked);
        let sent = relayed.unwrap().body.unwrap_or_else(|| body.clone());
        let count = |text: &str| self.world.tokenizer().count(text);
        self.direct += count(&body);
        self.sent += count(&sent);
        let facts = sent.split("Fact ").skip(1);
        facts.filter_map(|text| text.split(':').next()?.parse().ok()).collect()
    }

    fn ratio(&self) -> f64 {
        self.sent as f64 / self.direct as f64
    }
}

/// What is known of a billing service, or of a garden: of several kinds.
fn facts(of: &str) -> Vec<ObjectDocument> {
    let fact = |at: usize| {
        let text = match of {
            "billing" => {
                let what = [
                    "a refund",
                    "an invoice",
                    "a dunning letter",
                    "a chargeback",
                    "a tax line",
                ][at % 5];
                format!(
                    "Fact {at}: the billing service checks the amount of {what} against limit {at} of its \
                     configuration before it is released to the ledger."
                )
            }
            _ => {
                let what = ["rose", "fern", "apple tree", "hedge", "lawn"][at % 5];
                format!(
                    "Fact {at}: the {what} in row {at} of the garden wants {} litres of water each evening in July, \
                     and bed 42 lies in the shade.",
                    at % 7 + 1
                )
            }
        };
        let mut document = ObjectDocument::named(format!("fact-{at}"), text);
        document.tenant_id = Some("local".to_owned());
        document.object_type = Some(ObjectType::ProjectDecision);
        if at.is_multiple_of(2) {
            document.object_type = Some(ObjectType::RetrievedPassage);
            document.provenance = Some(Provenance {
                source_id: Some("manual".to_owned()),
                retrieved_at: "2026-05-01".parse().ok(),
                ..Provenance::default()
            });
        }
        document
    };
    (0..260).map(fact).collect()
}

#[test]
fn a_loop_of_tools_gets_its_evidence_once() {
    let mut task = Loop::over(facts("billing"));
    task.user(REQUEST);
    let first = task.send();
    assert!(!first.is_empty());
    for step in 0..STEPS {
        task.step(step);
        let now = task.send();
        assert_eq!(now, first, "at step {step}");
    }
    assert!(task.ratio() <= 1.1, "{}", task.ratio());

    // Another request of the same epoch gets what it lacks, within what is left of the share.
    task.messages.push(json!({ "role": "assistant", "content": "Done." }));
    task.user("Now look at dunning letters of the billing service: which limit of its configuration do they have?");
    let second = task.send();
    assert!(second.is_superset(&first));
    // Some thirty-five tokens each: 2048 of evidence, 1024 of memory and 512 of recall.
    assert!(second.len() <= 3584 / 30, "{}", second.len());
    task.step(STEPS);
    assert_eq!(task.send(), second);
}

#[test]
fn an_unrelated_store_adds_nothing() {
    let mut task = Loop::over(facts("garden"));
    task.user(REQUEST);
    for step in 0..STEPS {
        assert_eq!(task.send(), BTreeSet::new(), "at step {step}");
        task.step(step);
    }
    assert!(task.ratio() <= 1.02, "{}", task.ratio());
}

/// A number that both have says nothing.
#[test]
fn a_number_makes_nothing_relevant() {
    for request in [
        "fix issue 42",
        "Look at #42 and 17.",
        "See ticket 42 on line 17",
    ] {
        let mut task = Loop::over(facts("garden"));
        task.user(request);
        assert_eq!(task.send(), BTreeSet::new(), "{request}");
    }
}
