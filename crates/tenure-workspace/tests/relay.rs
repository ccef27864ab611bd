//! Requests on their way: what fits goes on as it came, what does not is cut, and sessions are found again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recorded.rs"]
mod recorded;

use serde_json::{Value, json};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{FrameKey, World, conform};
use tenure_store::{Store, Tenant};
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Relay, Relayed, Relaying};
use tenure_workspace::sessions::Wanted;

use recorded::recording;

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
}

impl Bench {
    /// A model with a window of so many tokens.
    fn new(window: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path().join("models.toml");
        let text =
            format!("models.mine = {{ extends = \"gpt-4o\", window = {window}, reserve = 500 }}\n");
        std::fs::write(&models, text).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let workspace = workspace.load_catalogue(&models).unwrap();
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            folder,
            relay: Relay::default(),
        }
    }

    fn tenant(&self) -> Tenant {
        let path = self.folder.path().join("store.db");
        Store::sqlite(&path).unwrap().tenant("local").unwrap()
    }

    fn relay(&self, body: &str, key: &str) -> Relayed {
        let asked = Relaying {
            format: Format::OpenAiChat,
            body,
            key,
            session: None,
            now: NOW,
            beside: None,
        };
        self.relay
            .relay(&self.workspace, &self.tenant(), &self.world, &asked)
            .unwrap()
    }
}

const NOW: Instant = Instant::from_micros(1_790_000_000_000_000);

fn session(relayed: &Relayed) -> String {
    relayed.place.as_ref().unwrap().session.clone()
}

/// A request with odd bytes around these messages.
fn request(messages: &[Value]) -> String {
    let system = json!({ "role": "system", "content": "You watch over a fleet." });
    let all: Vec<String> = std::iter::once(&system)
        .chain(messages)
        .map(Value::to_string)
        .collect();
    format!(
        "{{\"stream\": true,  \"messages\": [{}], \"temperature\": 0.50, \"seed\": 12345678901234567890, \"max_tokens\": 400, \"tools\": {}}}",
        all.join(", "),
        recorded::tools()
    )
}

/// The bytes around the messages.
fn around(body: &str) -> (String, String) {
    let (before, rest) = body.split_once("\"messages\":").unwrap();
    let (_, after) = rest.split_once("], \"temperature\"").unwrap();
    (before.to_owned(), after.to_owned())
}

#[test]
fn what_fits_goes_on_as_it_came_and_its_session_is_found_again() {
    let bench = Bench::new(60_000);
    let messages = recording(4, 100).messages;
    let mut sessions = Vec::new();
    for end in [1, 4, messages.len() - 1] {
        let relayed = bench.relay(&request(&messages[..end]), "key");
        assert_eq!((&relayed.body, relayed.saved), (&None, 0));
        sessions.push(session(&relayed));
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
    // A retry is the same session; another key, another beginning and another way on are not.
    let retried = bench.relay(&request(&messages[..messages.len() - 1]), "key");
    assert_eq!(session(&retried), sessions[0]);
    let elsewhere = [
        bench.relay(&request(&messages[..4]), "other key"),
        bench.relay(&request(&messages[1..4]), "key"),
        bench.relay(
            &request(&[
                messages[0].clone(),
                json!({ "role": "user", "content": "No." }),
            ]),
            "key",
        ),
    ];
    for relayed in elsewhere {
        assert_ne!(session(&relayed), sessions[0]);
    }
    // A process that knows nothing finds it in the store.
    let anew = Bench {
        relay: Relay::default(),
        ..bench
    };
    let again = anew.relay(&request(&messages[..messages.len() - 1]), "key");
    assert_eq!(session(&again), sessions[0]);
}

#[test]
fn what_does_not_fit_is_cut_and_nothing_else_changes() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let mut cut = 0;
    let mut before: Option<Vec<Value>> = None;
    for (at, message) in messages.iter().enumerate() {
        let asks = message["role"] == "user"
            || (message["role"] == "tool" && messages[at + 1]["role"] != "tool");
        if !asks {
            continue;
        }
        let body = request(&messages[..=at]);
        let relayed = bench.relay(&body, "key");
        let Some(sent) = relayed.body else {
            assert_eq!(cut, 0, "once cut, it stays cut");
            continue;
        };
        cut += 1;
        assert_eq!(around(&sent), around(&body));
        assert!(bench.world.tokenizer().count(&sent) < 6_000 + 400);
        let broken = conform::check(Format::OpenAiChat, &sent, None).unwrap();
        assert!(broken.is_empty(), "{broken:?}\n{sent}");
        let parsed: Value = serde_json::from_str(&sent).unwrap();
        let list = parsed["messages"].as_array().unwrap().clone();
        assert_eq!(list[0]["content"], "You watch over a fleet.");
        assert_eq!(list.last().unwrap(), message, "what was asked last stands");
        if let Some(before) = before.replace(list.clone()) {
            let same = before.iter().zip(&list).take_while(|(a, b)| a == b).count();
            // Either it goes on, or an epoch ended.
            assert!(same == before.len() || same >= 1);
        }
    }
    assert!(cut > 10, "{cut}");
}

#[test]
fn a_provider_that_keeps_the_history_is_left_alone() {
    let bench = Bench::new(2_000);
    let long = "word ".repeat(5_000);
    let body = json!({ "model": "m", "input": long, "previous_response_id": "r1" }).to_string();
    let asked = Relaying {
        format: Format::OpenAiResponses,
        body: &body,
        key: "key",
        session: None,
        now: Instant::from_micros(0),
        beside: None,
    };
    let relayed = bench
        .relay
        .relay(&bench.workspace, &bench.tenant(), &bench.world, &asked)
        .unwrap();
    assert_eq!(
        relayed,
        Relayed {
            body: None,
            place: None,
            saved: 0
        }
    );
}

#[test]
fn an_error_teaches_the_window() {
    let bench = Bench::new(60_000);
    let messages = recording(20, 300).messages;
    let body = request(&messages[..messages.len() - 1]);
    let relayed = bench.relay(&body, "key");
    assert_eq!(relayed.body, None);
    let place = relayed.place.unwrap();
    let error = "This model's maximum context length is 5000 tokens.";
    assert!(bench.relay.learn(&bench.tenant(), &place, error).unwrap());
    assert!(
        !bench
            .relay
            .learn(&bench.tenant(), &place, "overloaded")
            .unwrap()
    );
    let again = bench.relay(&body, "key");
    assert!(again.saved > 1_000 && bench.world.tokenizer().count(&again.body.unwrap()) < 5_400);
}

#[test]
fn replies_change_nothing_in_what_is_sent() {
    let (without, with) = (Bench::new(6_000), Bench::new(6_000));
    let messages = recording(30, 300).messages;
    let (mut cut, mut added) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let next = messages.get(at + 1);
        let asks = message["role"] == "user"
            || (message["role"] == "tool" && next.is_some_and(|next| next["role"] != "tool"));
        if !asks {
            continue;
        }
        let body = request(&messages[..=at]);
        let (expected, found) = (without.relay(&body, "key"), with.relay(&body, "key"));
        assert_eq!(found.body, expected.body, "message {at}");
        cut += u32::from(found.body.is_some());
        let Some(reply) = next.filter(|next| next["role"] == "assistant") else {
            continue;
        };
        let place = found.place.unwrap();
        // Of three, one does not come in time.
        if at % 3 == 2 {
            continue;
        }
        let reply = reply.to_string();
        let add = || with.relay.reply(&with.tenant(), &place, &reply, NOW);
        assert!(add().unwrap());
        assert!(!add().unwrap(), "only once");
        added += 1;
    }
    assert!(cut > 10 && added > 10, "{cut} {added}");
    // In both it is one session, with each message once.
    let whole = request(&messages);
    let tenants = [(without.tenant(), &without), (with.tenant(), &with)];
    let exported = tenants.map(|(tenant, bench)| {
        let id = session(&bench.relay(&whole, "key"));
        let session = tenure_workspace::sessions::Session::open(tenant, &id).unwrap();
        session.export(Format::OpenAiChat).unwrap().messages
    });
    assert_eq!(exported[0], exported[1]);
}

#[test]
fn the_reply_that_the_agent_took_counts_also_where_it_was_taken_back() {
    let bench = Bench::new(60_000);
    let asked = [json!({ "role": "user", "content": "How warm is it?" })];
    let reply = |relayed: &Relayed, text: &str| {
        let place = relayed.place.as_ref().unwrap();
        let message = json!({ "role": "assistant", "content": text }).to_string();
        bench
            .relay
            .reply(&bench.tenant(), place, &message, NOW)
            .unwrap()
    };
    // Asked twice, answered twice: the later answer stands in the session.
    let first = bench.relay(&request(&asked), "key");
    assert!(reply(&first, "Quite warm."));
    let second = bench.relay(&request(&asked), "key");
    assert!(reply(&second, "Rather cold."));
    assert_eq!(session(&first), session(&second));
    // The agent goes on with the first.
    let mut all = asked.to_vec();
    all.push(json!({ "role": "assistant", "content": "Quite warm." }));
    all.push(json!({ "role": "user", "content": "Then stop the pump." }));
    let third = bench.relay(&request(&all), "key");
    assert_eq!(session(&third), session(&first));
    let kept = tenure_workspace::sessions::Session::open(bench.tenant(), &session(&third)).unwrap();
    let messages = kept.export(Format::OpenAiChat).unwrap().messages;
    assert!(
        messages.contains("Quite warm.") && !messages.contains("Rather cold."),
        "{messages}"
    );
    // What was taken back is no message, on no page and in no range; by its number it can be had.
    let (page, more) = kept.messages_after(0, 10).unwrap();
    assert_eq!((page.len(), more), (3, false));
    for most in 1..=3 {
        let (page, more) = kept.messages_after(0, most).unwrap();
        assert_eq!((page.len(), more), (most, most < 3), "{most}");
        let text = serde_json::to_string(&page).unwrap();
        assert!(!text.contains("Rather cold."), "{text}");
    }
    let range = Wanted::Id(format!("t1-t{}", kept.last_turn()));
    let found = kept.rehydrate(&range, bench.world.tokenizer()).unwrap();
    let said: Vec<&str> = found
        .originals
        .iter()
        .map(|said| said.text.as_str())
        .collect();
    assert_eq!(
        said,
        ["How warm is it?", "Quite warm.", "Then stop the pump."]
    );
}

#[test]
fn tools_take_room_too() {
    let bench = Bench::new(60_000);
    let messages = recording(4, 100).messages;
    let sent = |body: &str| bench.relay(body, "key").place.unwrap().sent();
    let with = sent(&request(&messages[..1]));
    let without = sent(&request(&messages[..1]).replace("\"tools\"", "\"other\""));
    let tools = bench
        .world
        .tokenizer()
        .count(&recorded::tools().to_string()) as u32;
    assert!(with >= without + tools / 2, "{with} {without} {tools}");
}
