//! After a cut the provider takes what stays: reasoning that is bound to its beginning, and results that a user
//! interrupted.
use serde_json::{Value, json};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Digest, World, conform};
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Position, Relay, Relayed, Relaying};
use tenure_workspace::sessions::Session;

use crate::support::bench::{self, workspace_like};

/// An agent, its provider, and what is between them.
struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
    /// The conversation as the agent holds it.
    messages: Vec<Value>,
    steps: usize,
    clock: i64,
    position: Option<Position>,
}

impl Bench {
    fn new(model: &str, window: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace_like(folder.path(), model, window);
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            folder,
            relay: Relay::default(),
            messages: vec![json!({ "role": "user", "content": "Find out why the pumps stop." })],
            steps: 0,
            clock: 1_790_000_000_000_000,
            position: None,
        }
    }

    fn tenant(&self) -> Tenant {
        bench::tenant(self.folder.path(), "local")
    }

    /// Sends the conversation; gives what became of it, and the messages that the provider got.
    fn send(&mut self) -> (Relayed, Vec<Value>) {
        let body = json!({
            "model": "mine", "max_tokens": 400, "thinking": { "type": "adaptive" },
            "tools": [{ "name": "read_file", "input_schema": { "type": "object" } }],
            "messages": self.messages,
        });
        let body = body.to_string();
        self.clock += 1_000_000;
        let asked = Relaying {
            format: Format::Anthropic,
            model: "mine",
            body: &body,
            key: "key",
            owner: (None, None),
            session: None,
            now: Instant::from_micros(self.clock),
            side: None,
            window: None,
            counted: false,
            max_answer: None,
        };
        let tenant = self.tenant();
        let relayed = self.relay.relay(&self.workspace, &tenant, &self.world, &asked).unwrap();
        self.position.clone_from(&relayed.position);
        let sent = relayed.body.as_deref().unwrap_or(&body);
        let broken = conform::check(Format::Anthropic, sent, Some(self.world.model())).unwrap();
        assert!(broken.is_empty(), "{broken:?}");
        let sent: Value = serde_json::from_str(sent).unwrap();
        (relayed, sent["messages"].as_array().unwrap().clone())
    }

    /// The provider thinks over what it got and calls a tool, which the agent runs.
    fn answer(&mut self, sent: &[Value]) {
        self.steps += 1;
        let id = format!("call_{}", self.steps);
        let thought =
            json!({ "type": "thinking", "thinking": "The log first.", "signature": signed(sent) });
        let call = json!({ "type": "tool_use", "id": id, "name": "read_file", "input": { "at": self.steps } });
        let text = json!({ "type": "text", "text": format!("I read log {}.", self.steps) });
        let log: String = (0..40)
            .map(|line| {
                format!(
                    "pump {} reports {} units\n",
                    self.steps * 31 + line,
                    line * 7
                )
            })
            .collect();
        let answer = json!({ "role": "assistant", "content": [thought, text, call] });
        let now = Instant::from_micros(self.clock);
        let place = self.position.take().unwrap();
        let taken = self.relay.reply(&self.tenant(), &place, &answer.to_string(), now);
        assert!(taken.unwrap());
        self.messages.push(answer);
        self.messages.push(json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": id, "content": log }] }));
    }
}

/// The signature of what is thought after these messages.
fn signed(before: &[Value]) -> String {
    Digest::of(json!(before).to_string().as_bytes()).to_string()
}

/// The signatures of the reasoning in these messages, each with whether the provider would take it.
fn reasoning(sent: &[Value]) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, message) in sent.iter().enumerate() {
        let blocks = message["content"].as_array().into_iter().flatten();
        for block in blocks.filter(|block| block["type"] == "thinking") {
            let signature = block["signature"].as_str().unwrap().to_owned();
            let holds = signature == signed(&sent[..at]);
            found.push((signature, holds));
        }
    }
    found
}

#[test]
fn reasoning_that_is_bound_to_its_beginning_leaves_at_a_cut_and_only_there() {
    let mut bench = Bench::new("claude-opus-5-5", 12_000);
    let (mut cuts, mut kept, mut before) = (0, 0, Vec::new());
    for step in 0..45 {
        let (_, sent) = bench.send();
        let found = reasoning(&sent);
        let refused = found.iter().filter(|(_, holds)| !holds).count();
        assert_eq!(refused, 0, "step {step}: {} blocks", found.len());
        let is_cut = !sent.starts_with(&before);
        cuts += usize::from(is_cut);
        kept += usize::from(!found.is_empty());
        // Between cuts the model's last reasoning stands on.
        assert_eq!(found.is_empty(), is_cut || step == 0, "step {step}");
        bench.answer(&sent);
        before = sent;
    }
    assert!(cuts > 2 && kept > 10, "{cuts} cuts, {kept} kept");
}

#[test]
fn reasoning_that_is_bound_to_nothing_stays() {
    let mut bench = Bench::new("claude-opus-5", 12_000);
    let mut cuts = 0;
    for _ in 0..20 {
        let (relayed, sent) = bench.send();
        cuts += usize::from(relayed.body.is_some());
        let answers = sent.iter().filter(|message| message["role"] == "assistant");
        assert_eq!(reasoning(&sent).len(), answers.count());
        bench.answer(&sent);
    }
    assert!(cuts > 2);
}

#[test]
fn what_a_user_says_beside_a_result_outlives_the_cut_that_takes_the_call() {
    let mut bench = Bench::new("claude-opus-5", 12_000);
    let words = "Your answer broke off. Go on with the north wing, not with the south wing.";
    let (mut with_result, mut alone) = (0, 0);
    for step in 0..24 {
        let (relayed, sent) = bench.send();
        assert_eq!(relayed.unmanaged, None, "step {step}");
        bench.answer(&sent);
        if step == 3 {
            let last = bench.messages.last_mut().unwrap();
            let blocks = last["content"].as_array_mut().unwrap();
            blocks.push(json!({ "type": "text", "text": words }));
        }
        let says = |message: &&Value| message.to_string().contains(words);
        if let Some(message) = sent.iter().find(says) {
            if message.to_string().contains("tool_result") {
                with_result += 1
            } else {
                alone += 1
            }
        } else {
            assert!(step < 4, "step {step}");
        }
    }
    assert!(with_result > 0 && alone > 3, "{with_result} {alone}");
}

#[test]
fn what_the_model_waits_for_stays_where_the_system_speaks_behind_it() {
    let mut bench = Bench::new("claude-opus-5", 12_000);
    // What is asked, and stands, takes most of what a cut leaves; the result nearly the rest of it.
    let asked = "Say why pump 7 stops, and be brief about the others. ".repeat(150);
    bench.messages[0]["content"] = asked.into();
    let log = |step: usize| {
        let lines = (0..190).map(|line| format!("pump {step} reports {line} units\n"));
        lines.collect::<String>()
    };
    let mut cuts = 0;
    for step in 0..16 {
        let (relayed, sent) = bench.send();
        assert_eq!(relayed.unmanaged, None, "step {step}");
        cuts += usize::from(relayed.body.is_some());
        if step > 0 {
            // Long ones stand shorter.
            let result = format!("\"tool_use_id\":\"call_{step}\"");
            let stands = sent.iter().any(|one| one.to_string().contains(&result));
            assert!(stands, "step {step}");
        }
        bench.answer(&sent);
        let last = bench.messages.last_mut().unwrap();
        last["content"][0]["content"] = log(step + 1).into();
        let left = format!("{} tokens left", 90_000 - step);
        bench.messages.push(json!({ "role": "system", "content": left }));
    }
    assert!(cuts > 8, "{cuts}");
}

#[test]
fn a_client_whose_answer_broke_off_says_more_in_the_same_session() {
    let mut bench = Bench::new("claude-opus-5-5", 12_000);
    let (mut first, mut sent) = bench.send();
    for _ in 0..18 {
        bench.answer(&sent);
        (first, sent) = bench.send();
    }
    assert!(first.body.is_some());
    let last = bench.messages.last_mut().unwrap();
    let blocks = last["content"].as_array_mut().unwrap();
    blocks.push(json!({ "type": "text", "text": "Your answer broke off. Go on from there." }));
    let whole = bench.messages.len();
    let (again, more) = bench.send();
    let session = |relayed: &Relayed| relayed.position.as_ref().unwrap().session.clone();
    assert_eq!(session(&first), session(&again));
    // All before the message stands as it was sent, and the message stands once.
    let before = sent.len() - 1;
    assert_eq!(sent[..before], more[..before]);
    assert!(more[before].to_string().contains("broke off"));
    assert_eq!(more.len(), sent.len());
    bench.answer(&more);
    let (_, next) = bench.send();
    assert!(next.starts_with(&more));
    let found = Session::open(bench.tenant(), &session(&again)).unwrap();
    let mut said = 0;
    found
        .each_message(&mut |_, _| {
            said += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(said, whole + 2);
}
