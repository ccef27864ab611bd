//! `tenure log` through the real binary: a conversation as its records have it.

use crate::support::Bench;
use serde_json::{Value, json};
use tenure::Digest;
use tenure::time::Instant;
use tenure_store::Store;
use tenure_store::engine::RecordRow;

/// A record of the version before anything was said of what is sent.
const BEFORE: &str = r#"{"version":1,"record_id":"gw-0","at":"2026-11-22T09:00:00Z","mode":"observe","protocol":"openai","path":"/v1/responses","key":"k1","model":"gpt-4o","streamed":true,"request_bytes":2048,"request_digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","request_tokens":512,"count":"exact","status":200,"response_bytes":9,"head_latency_us":1000,"latency_us":2000,"ending":"whole"}"#;

fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn record(number: u64, changes: &Value) -> Value {
    let mut record = json!({
        "version": 1, "record_id": format!("gw-{number}"), "at": format!("2026-11-23T01:04:0{number}Z"),
        "mode": "full", "client": "claude-cli/2.1.197 (external, cli)", "protocol": "anthropic",
        "path": "/v1/messages", "session": "ses-1", "model": "claude-opus-4-8", "streamed": true,
        "request_bytes": 52_000, "request_digest": digest("came"), "request_tokens": 12_345,
        "count": "bounded", "sent_bytes": 52_000, "sent_digest": digest("came"), "sent_tokens": 12_345,
        "status": 200, "response_bytes": 100, "head_latency_us": 400_000, "latency_us": 1_500_000,
        "ending": "whole",
    });
    let fields = record.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        fields.insert(name.clone(), value.clone());
    }
    record
}

fn compile(epoch: u32, cause: &str, changes: &Value) -> Value {
    let chosen = |name: &str, code: &str, beside: bool| {
        json!({
            "object_id": "00000000-0000-0000-0000-000000000000", "name": name, "code": code, "tokens": 61, "beside": beside,
        })
    };
    let zero = digest("");
    let mut compile = json!({
        "compiler": tenure::COMPILER, "model": "claude-opus", "after": 90, "request": tenure::Request::default(),
        "policy": zero, "inputs": { "policy": zero, "request": zero, "candidates": zero, "facts": zero, "world": zero },
        "payload_tokens": 61_000, "epoch": epoch, "cause": cause,
        "included": { "reasons": { "fits": 2 }, "named": [chosen("pump-limits", "fits", true), chosen("t82.0", "fits", false)] },
        "omitted": { "reasons": { "below_floor": 1 }, "named": [chosen("old-news", "below_floor", true)] },
    });
    let fields = compile.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        fields.insert(name.clone(), value.clone());
    }
    compile
}

fn recorded() -> Bench {
    let bench = Bench::new();
    let path = bench.folder.path().join(".tenure/store.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let store = Store::sqlite(&path).unwrap();
    let cut = json!({
        "cut": true, "from": 82, "summaries": [41, 57, 80], "rewritten": 120_000,
        "words": { "whole": 30, "shortened": 1 }, "media_left_out": 8,
    });
    let records = [
        serde_json::from_str(BEFORE).unwrap(),
        record(1, &json!({})),
        record(
            2,
            &json!({
                "resolved_model": "claude-opus", "request_tokens": 141_200, "sent_tokens": 61_020, "sent_digest": digest("sent"),
                "sent_bytes": 250_000, "saved": 80_241, "added": 61, "compile": compile(2, "high_water", &cut),
                "usage": { "input": 61_900, "cache_read": 7_428, "cache_write": 45_000, "output": 312 },
            }),
        ),
        record(
            3,
            &json!({
                "unmanaged": "provider_edits_history", "status": 200, "ending": "client_left",
                "client": "bad\u{1b}[2Jname\n#9 forged",
            }),
        ),
        record(
            4,
            &json!({
                "unmanaged": "request_missing", "status": 422, "ending": "refused", "sent_bytes": null, "sent_digest": null,
                "sent_tokens": null, "fault": "it would lack what is asked", "client": "bad", "calibrated_percent": 115,
            }),
        ),
    ];
    let row = |record: &Value| RecordRow {
        id: record["record_id"].as_str().unwrap().to_owned(),
        compiled_at: record["at"].as_str().unwrap().parse::<Instant>().unwrap(),
        body: record.to_string(),
        objects: Vec::new(),
    };
    let tenant = store.tenant("local").unwrap();
    tenant.put_records(records.iter().map(row).collect()).unwrap();
    bench.ok(&["trust", "."]);
    bench
}

#[test]
fn a_conversation_is_told_request_by_request() {
    let bench = recorded();
    let expected = "\
ses-1: 4 requests, from 2026-11-23 01:04:01
client claude-cli/2.1.197 (external, cli)
#1   01:04:01  claude-opus-4-8  full  at most 12,345 tokens, as it came  200
#2   01:04:02  claude-opus-4-8 → claude-opus  full  about 143,236 → 61,900 tokens (about 81,336 saved)  200
       messages before t82 are summarised: c41, c57, c80
       the user's words in them stand: 30 messages whole, 1 shortened
       pictures and files left out with them: 8
       evidence added: pump-limits
       epoch 2 begins: the history passed its high-water mark; about 121,730 tokens that were sent before are sent again
       the provider counts 61,900 tokens, 12 % read from the cache, 45,000 written to the cache; 312 in the answer
client bad\\u{1b}[2Jname\\n#9 forged
#3   01:04:03  claude-opus-4-8  full  at most 12,345 tokens, as it came  200, the client left
       not managed: the provider shortens the history itself (provider_edits_history)
client bad
#4   01:04:04  claude-opus-4-8  full  at most 12,345 tokens  422, refused: nothing was sent
       not managed: the compiled body would have lacked the request (request_missing)
       counts are calibrated: at most 115 tokens of the provider for a hundred counted here
";
    assert_eq!(bench.ok(&["log"]), expected);
    assert_eq!(bench.ok(&["log", "--last"]), expected);
    assert_eq!(bench.ok(&["log", "--session", "ses-1"]), expected);
    let shown = bench.json(&["log", "--format", "json"]);
    assert_eq!(shown["requests"].as_array().unwrap().len(), 4);
    assert_eq!(shown["session"], "ses-1");
}

#[test]
fn one_request_is_told_in_full() {
    let bench = recorded();
    let full = bench.ok(&["log", "--request", "2"]);
    for line in [
        "#2   01:04:02  claude-opus-4-8 → claude-opus",
        "  client             claude-cli/2.1.197 (external, cli)",
        "  epoch              2 (high_water)",
        "  made again by      tenure replay gw-2",
        "  item by item       not known: its session is not there any more",
        "    request: 141,200 → 61,020 tokens, condensed: what was done to each of its messages is not known; of its candidates 2 (fits 2) went in and 1 (below_floor 1) stayed out",
        "    pump-limits: 0 → 61 tokens, added: an object of the store was added",
        "    old-news: 0 → 0 tokens, left out: an object of the store, of 61 tokens, stayed out",
    ] {
        assert!(full.contains(line), "{line} is not in\n{full}");
    }
    assert_eq!(bench.ok(&["explain", "gw-2"]), full);
    let json = bench.json(&["log", "--request", "2", "--format", "json"]);
    assert_eq!(json["saved"], 80_241);
    assert_eq!(
        json["tokens"]["came"],
        json!({ "tokens": 143_236, "by": "calibrated" })
    );
    assert_eq!(
        json["tokens"]["sent"],
        json!({ "tokens": 61_900, "by": "provider" })
    );
    assert_eq!(json["items"]["items"][0]["id"], "request");
    assert_eq!(bench.json(&["explain", "gw-2", "--format", "json"]), json);
    bench.refused(2, &["log", "--request", "5"]);
    bench.refused(2, &["log", "--request", "0"]);
    bench.refused(2, &["log", "--session", "ses-2"]);
    bench.refused(2, &["explain", "gw-9"]);
}

#[test]
fn conversations_are_listed_and_imported_ones_are_shown() {
    let bench = recorded();
    let talk = serde_json::json!({ "messages": [
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "How warm is pump 7?" },
        { "role": "assistant", "content": "Warm." },
    ] });
    std::fs::write(bench.folder.path().join("talk.json"), talk.to_string()).unwrap();
    let id = bench.ok(&["session", "import", "talk.json"]);
    let id = id.trim();
    // It is counted by its own model, where that is known.
    let mut named = talk.clone();
    for (model, told) in [
        (
            "claude-sonnet-4-6",
            "counted here as claude-sonnet-4-6+ counts:",
        ),
        ("mine", "counted here, at most, as its model is not known:"),
    ] {
        named["model"] = model.into();
        std::fs::write(bench.folder.path().join("named.json"), named.to_string()).unwrap();
        bench.ok(&["session", "import", "named.json", "--id", model]);
        let shown = bench.ok(&["log", "--session", model]);
        assert!(shown.contains(told), "{shown}");
    }
    let listed = bench.ok(&["log", "--list"]);
    assert!(
        listed.contains("2026-11-23 01:04  ses-1  4 requests  bad  claude-opus-4-8\n"),
        "{listed}"
    );
    assert!(
        listed.contains("no session  1 request  gpt-4o\n"),
        "{listed}"
    );
    assert!(
        listed.contains(&format!("-  {id}  2 messages, no request")),
        "{listed}"
    );
    let json = bench.json(&["log", "--list", "--format", "json"]);
    assert_eq!(json.as_array().unwrap().len(), 5);
    let shown = bench.ok(&["log", "--session", id]);
    for line in [
        "no request, 2 messages",
        "system (messages[0])",
        "t3 to t4 (messages[1] to messages[2])",
    ] {
        assert!(shown.contains(line), "{line} is not in\n{shown}");
    }
    let json = bench.json(&["log", "--session", id, "--format", "json"]);
    assert_eq!(json["items"]["items"][1]["begins"], "How warm is pump 7?");
    let page = bench.ok(&["report", id]);
    assert!(
        page.contains("How warm is pump 7?") && page.contains("no request of it is recorded"),
        "{page}"
    );
    bench.refused(2, &["log", "--session", id, "--request", "1"]);
    bench.refused(1, &["log", "--list", "--session", "ses-1"]);
}

#[test]
fn a_list_of_sessions_says_when_they_went_on_and_whose_they_are() {
    let bench = recorded();
    let talk = json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Go." }] });
    std::fs::write(bench.folder.path().join("talk.json"), talk.to_string()).unwrap();
    // Of a session that goes through the gateway the last request counts, whatever it was imported from.
    bench.ok(&["session", "import", "talk.json", "--id", "ses-1"]);
    bench.ok(&["session", "import", "talk.json", "--id", "brought"]);
    bench.ok(&["session", "new", "empty"]);
    let listed = bench.json(&["session", "list", "--format", "json"]);
    let of = |id: &str| {
        let mut all = listed.as_array().unwrap().iter();
        all.find(|one| one["id"] == id).unwrap()
    };
    let whose = |id: &str| (of(id)["client"].clone(), of(id)["model"].clone());
    assert_eq!(whose("ses-1"), (json!("bad"), json!("claude-opus-4-8")));
    assert_eq!(whose("brought"), (json!("openai-chat"), json!("gpt-4o")));
    assert_eq!(whose("empty"), (Value::Null, Value::Null));
    assert!(
        listed.as_array().unwrap().iter().all(|one| one["last"].is_string()),
        "{listed}"
    );
    let text = bench.ok(&["session", "list"]);
    let day = &of("brought")["last"].as_str().unwrap()[..10];
    let lines = text.lines().filter(|line| line.contains(day)).count();
    assert_eq!(lines, 3, "{text}");
    assert!(text.contains("  openai-chat  gpt-4o\n"), "{text}");
    assert!(text.contains("  -  -\n"), "{text}");
}

#[test]
fn older_records_are_still_read() {
    let bench = recorded();
    let shown = bench.json(&["store", "records", "gw-0"]);
    assert_eq!(shown, serde_json::from_str::<Value>(BEFORE).unwrap());
    let output = bench.run(&["replay", "gw-0"]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(crate::support::text(&output.stderr).contains("does not say what it was made of"));
    let output = bench.run(&["replay", "gw-1"]);
    assert!(crate::support::text(&output.stderr).contains("as it came"));
    let other = bench.json(&["replay", "gw-3", "--format", "json"]);
    assert_eq!(other["proof"], "as_it_came");
    let principle = |id: &str| bench.json(&["store", "records", id, "--form", "principle"]);
    let (plain, cut) = (principle("gw-1"), principle("gw-2"));
    assert_eq!(plain["cache_hit_status"], "UNKNOWN");
    assert_eq!(cut["cache_hit_status"], "PARTIAL_HIT");
    assert_eq!(cut["cached_tokens_read"], 7_428);
}
