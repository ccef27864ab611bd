//! A user who speaks between a call and its result: in the form of responses they find each other by id, so no cut parts
//! them.
use serde_json::{Value, json};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{FrameKey, conform};
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Relay, Relaying};

fn says(text: String) -> Value {
    json!({ "role": "user", "content": text })
}

/// A step of an agent that reads a log, while its user goes on speaking.
fn step(number: usize) -> [Value; 4] {
    let id = format!("call_{number}");
    let log: String = (0..40)
        .map(|line| format!("pump {} reports {} units\n", number * 31 + line, line * 7))
        .collect();
    let arguments = json!({ "at": number }).to_string();
    [
        json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": arguments }),
        says(format!(
            "{}Mind the north wing, too: {number}.",
            "The wing is old. ".repeat(30)
        )),
        json!({ "type": "function_call_output", "call_id": id, "output": log }),
        json!({ "role": "assistant", "content": format!("I read log {number}.") }),
    ]
}

#[test]
fn a_cut_never_parts_a_call_from_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.toml");
    std::fs::write(
        &models,
        "models.mine = { extends = \"gpt-5\", window = 9000, reserve = 500 }\n",
    )
    .unwrap();
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let workspace = workspace.load_catalogue(&models).unwrap();
    let world = workspace.world("mine").unwrap();
    let tenant = Store::sqlite(&folder.path().join("store.db")).unwrap().tenant("local").unwrap();
    let relay = Relay::default();
    let mut items = vec![says("Find out why the pumps stop.".into())];
    let (mut cuts, mut apart) = (0, 0);
    for number in 0..24 {
        items.extend(step(number));
        // Each request ends with the user or with a result.
        let asked = &items[..items.len() - 1];
        let body = json!({
            "model": "mine", "max_output_tokens": 400, "store": false, "input": asked,
            "tools": [{ "type": "function", "name": "read_file", "parameters": { "type": "object" }, "strict": false }],
        });
        let body = body.to_string();
        let asked = Relaying {
            format: Format::OpenAiResponses,
            model: "mine",
            body: &body,
            key: "key",
            owner: (None, None),
            session: None,
            now: Instant::from_micros(1_790_000_000_000_000 + number as i64 * 1_000_000),
            side: None,
            window: None,
            counted: false,
            max_answer: None,
        };
        let relayed = relay.relay(&workspace, &tenant, &world, &asked).unwrap();
        assert_eq!(relayed.unmanaged, None, "step {number}");
        let sent = relayed.body.as_deref().unwrap_or(&body);
        let broken = conform::check(Format::OpenAiResponses, sent, Some(world.model())).unwrap();
        assert!(broken.is_empty(), "step {number}: {broken:?}");
        let sent: Value = serde_json::from_str(sent).unwrap();
        let sent = sent["input"].as_array().unwrap();
        cuts += usize::from(sent.len() < items.len() - 1);
        apart += sent
            .windows(2)
            .filter(|pair| pair[0]["type"] == "function_call" && pair[1]["role"] == "user")
            .count();
    }
    assert!(cuts > 4 && apart > 24, "{cuts} cuts, {apart} apart");
}
