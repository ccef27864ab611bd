//! Agents that renew parts of each request (files as they are now, examples, closing rules): their requests go on with one
//! session, and what they renew stands whole in all that is sent.
use serde_json::{Value, json};
use tenure::object::{Authority, ObjectType};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, FrameKey, ObjectDocument, Policy, Principal, World, conform};
use tenure_store::{Store, Tenant};
use tenure_workspace::relay::{Relay, Relayed, Relaying, SideInput, Unmanaged};
use tenure_workspace::{Gathered, Workspace};

const NOW: Instant = Instant::from_micros(1_790_000_000_000_000);
const RULES: &str = "# *SEARCH/REPLACE block* Rules:\n\nName the file first, then its old lines and the new ones.\nReply in English.\n";
const CONVENTIONS: &str = "CONVENTIONS.md\n```\n- Report every pressure in kilopascal.\n- Never touch the folder `vendor`.\n```";
const ROUNDS: usize = 16;

/// A conversation as aider sends it, in the words of these tests.
struct Talk {
    format: Format,
    /// What is settled: what was said before the last edit.
    done: Vec<Value>,
    /// What was said since.
    current: Vec<Value>,
    /// The file in the chat.
    file: String,
    /// What closes the newest message.
    rules: &'static str,
}

impl Talk {
    fn new(format: Format) -> Talk {
        Talk {
            format,
            done: Vec::new(),
            current: Vec::new(),
            file: "PRESSURE = 0".to_owned(),
            rules: RULES,
        }
    }

    fn said(&self, role: &str, text: &str) -> Value {
        match self.format {
            Format::Anthropic => {
                json!({ "role": role, "content": [{ "type": "text", "text": text }] })
            }
            _ => json!({ "role": role, "content": text }),
        }
    }

    fn pair(&self, asks: &str, answers: &str) -> [Value; 2] {
        [self.said("user", asks), self.said("assistant", answers)]
    }

    fn files(&self) -> String {
        format!(
            "I have *added these files to the chat* so you can change them.\n\nsettings.py\n```\n{}\n```\n",
            self.file
        )
    }

    fn asks(&mut self, text: &str) {
        let said = self.said("user", text);
        self.current.push(said);
    }

    fn answers(&mut self, text: &str) -> Value {
        let said = self.said("assistant", text);
        self.current.push(said.clone());
        said
    }

    /// The model's edit was made: what was said is settled.
    fn settles(&mut self) {
        self.done.append(&mut self.current);
        let [note, answer] = self.pair("I updated the files.", "Ok.");
        self.done.extend([note, answer]);
    }

    fn body(&self) -> String {
        let mut messages = Vec::new();
        messages.extend(self.pair(
            "Rename the counter.",
            "counter.py\n<<<<<<< SEARCH\nn\n=======\ncount\n>>>>>>> REPLACE",
        ));
        messages.extend(self.pair(
            "I switched to a new code base. Please don't consider the above files or try to edit them any longer.",
            "Ok.",
        ));
        messages.extend(self.pair(
            &format!(
                "Here are some READ ONLY files, provided for your reference.\n\n{CONVENTIONS}"
            ),
            "Ok, I will use these files as references.",
        ));
        messages.extend(self.done.iter().cloned());
        messages.extend(self.pair(
            &self.files(),
            "Ok, any changes I propose will be to those files.",
        ));
        messages.extend(self.current.iter().cloned());
        let last = messages.last_mut().unwrap();
        let text = format!("{}\n\n{}", text_of(last), self.rules);
        *last = self.said("user", &text);
        match self.format {
            Format::Anthropic => json!({ "model": "mine", "max_tokens": 400, "system": "You edit files.", "messages": messages }),
            _ => {
                messages.insert(0, json!({ "role": "system", "content": "You edit files." }));
                json!({ "model": "mine", "max_tokens": 400, "messages": messages })
            }
        }
        .to_string()
    }
}

fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["text"].as_str().unwrap_or_default())
            .collect(),
    }
}

fn texts(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    body["messages"].as_array().unwrap().iter().map(text_of).collect()
}

struct Bench {
    _folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
    tenant: Tenant,
    policy: Policy,
    gathered: Gathered,
}

impl Bench {
    fn new(format: Format, window: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.toml");
        let like = match format {
            Format::Anthropic => "claude-opus-4-5",
            _ => "gpt-4o",
        };
        let text =
            format!("models.mine = {{ extends = \"{like}\", window = {window}, reserve = 500 }}\n");
        std::fs::write(&models, text).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let workspace = workspace.load_catalogue(&models).unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let rule = ObjectDocument {
            object_type: Some(ObjectType::Rule),
            authority_level: Some(Authority::Developer),
            tenant_id: Some("local".into()),
            ..ObjectDocument::named("pressure", "Pumps are never stopped at night.")
        };
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            relay: Relay::default(),
            tenant: store.tenant("local").unwrap(),
            policy: Policy::from_toml("name = \"full\"\nextends = \"standard\"\nrequired = []\n")
                .unwrap(),
            gathered: Gathered::of_sources(Candidates::new(vec![rule.seal().unwrap()])),
            _folder: folder,
        }
    }

    fn relay(&self, talk: &Talk, full: bool) -> Relayed {
        let (body, principal) = (
            talk.body(),
            Principal {
                tenant: "local".into(),
                ..Principal::owner()
            },
        );
        let asked = Relaying {
            format: talk.format,
            model: "mine",
            body: &body,
            key: "key",
            owner: (None, None),
            session: None,
            now: NOW,
            side: full.then_some(SideInput {
                policy: &self.policy,
                gathered: &self.gathered,
                watched: &[0],
                known: NOW,
                principal: &principal,
                identities: &[],
            }),
            window: None,
            counted: false,
            max_answer: None,
        };
        let relayed = self.relay.relay(&self.workspace, &self.tenant, &self.world, &asked);
        relayed.unwrap()
    }
}

/// An explanation of some 400 tokens.
fn explanation(round: usize) -> String {
    let line = |at: usize| {
        format!(
            "Valve {} of station {round} opens at {} kPa.\n",
            round * 31 + at,
            at * 7
        )
    };
    (0..25).map(line).collect::<String>() + "That is all."
}

#[test]
fn requests_of_an_agent_that_renews_its_files_are_one_conversation() {
    for (format, full) in [
        (Format::OpenAiChat, false),
        (Format::OpenAiChat, true),
        (Format::Anthropic, false),
        (Format::Anthropic, true),
    ] {
        let bench = Bench::new(format, 5_000);
        let mut talk = Talk::new(format);
        let (mut sessions, mut cuts) = (Vec::new(), 0);
        for round in 1..=ROUNDS {
            let request = format!("Message {round}: explain é station {round}.");
            talk.asks(&request);
            let came = talk.body();
            let relayed = bench.relay(&talk, full);
            let why = format!("{format:?}, full {full}, round {round}");
            assert_eq!(relayed.unmanaged, None, "{why}");
            let place = relayed.position.clone().unwrap();
            sessions.push(place.session.clone());
            let body = relayed.body.unwrap_or_else(|| came.clone());
            cuts += usize::from(body.len() < came.len() * 3 / 4);
            let broken = conform::check(format, &body, Some(bench.world.model())).unwrap();
            assert!(broken.is_empty(), "{why}: {broken:?}");
            // The file as it is now, once and whole; the conventions; the examples.
            let sent = texts(&body);
            let times = |text: &str| sent.iter().filter(|said| said.contains(text)).count();
            assert_eq!(
                sent.iter().filter(|said| **said == talk.files()).count(),
                1,
                "{why}"
            );
            assert_eq!(times("*added these files"), 1, "{why}");
            assert_eq!(
                (times(CONVENTIONS), times("Rename the counter.")),
                (1, 1),
                "{why}"
            );
            // The closing rules stand at the end of what is asked, and nowhere else.
            assert_eq!(times(RULES), 1, "{why}");
            let asked = sent.iter().position(|said| said.contains(RULES)).unwrap();
            assert_eq!(sent[asked], format!("{request}\n\n{RULES}"), "{why}");
            // Most answers come by the provider, and go on with the request.
            let answer = talk.answers(&explanation(round));
            if round % 3 > 0 {
                let added = bench.relay.reply(&bench.tenant, &place, &answer.to_string(), NOW);
                assert!(added.unwrap(), "{why}");
            }
            if round % 5 == 0 {
                talk.settles();
                talk.file = format!("PRESSURE = {round}");
            }
        }
        sessions.dedup();
        assert_eq!(sessions.len(), 1, "{format:?}, full {full}");
        assert!(cuts > 3, "{format:?}, full {full}");
    }
}

#[test]
fn what_was_sent_stands_until_an_epoch_ends() {
    let bench = Bench::new(Format::OpenAiChat, 5_000);
    let mut talk = Talk::new(Format::OpenAiChat);
    let mut before: Vec<String> = Vec::new();
    let mut repeated = 0;
    for round in 1..=ROUNDS {
        talk.asks(&format!("Message {round}."));
        let relayed = bench.relay(&talk, false);
        let sent = texts(&relayed.body.unwrap_or_else(|| talk.body()));
        // All but the newest message, whose closing rules move on.
        let same = before.iter().zip(&sent).take_while(|(before, now)| before == now);
        if !before.is_empty() && same.count() == before.len() - 1 {
            repeated += 1;
        }
        before = sent;
        talk.answers(&explanation(round));
    }
    // All requests but the first and those that were cut.
    assert!(repeated >= ROUNDS - 5, "{repeated} of {ROUNDS}");
}

#[test]
fn files_of_more_than_half_the_window_are_not_managed() {
    let bench = Bench::new(Format::OpenAiChat, 5_000);
    let mut talk = Talk::new(Format::OpenAiChat);
    talk.file = explanation(1).repeat(8);
    for round in 1..9 {
        talk.asks(&format!("Message {round}."));
        talk.answers(&explanation(round));
    }
    talk.asks("And now?");
    let relayed = bench.relay(&talk, false);
    assert_eq!(
        (relayed.body, relayed.unmanaged),
        (None, Some(Unmanaged::InstructionsTooLong))
    );
}

#[test]
fn what_another_agents_user_says_is_part_of_the_history() {
    // The same words where nothing of that client is shown.
    let bench = Bench::new(Format::OpenAiChat, 5_000);
    let (mut messages, mut sessions) = (Vec::new(), Vec::new());
    for round in 1..=3 {
        messages.push(
            json!({ "role": "user", "content": format!("Message {round}.\n\nReply in English.") }),
        );
        let body = json!({ "model": "mine", "max_tokens": 400, "messages": messages }).to_string();
        let asked = Relaying {
            format: Format::OpenAiChat,
            model: "mine",
            body: &body,
            key: "key",
            owner: (None, None),
            session: None,
            now: NOW,
            side: None,
            window: None,
            counted: false,
            max_answer: None,
        };
        let relayed = bench.relay.relay(&bench.workspace, &bench.tenant, &bench.world, &asked);
        sessions.push(relayed.unwrap().position.unwrap().session);
        messages.push(json!({ "role": "assistant", "content": "Yes." }));
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
}
