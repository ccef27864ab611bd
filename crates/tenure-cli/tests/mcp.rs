//! `tenure mcp`: lines that are no messages, options that make no sense, the price of the tools. What clients do with it
//! stands in `scripts/mcp`.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Bench, text};

fn hello(id: u64) -> Value {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "initialize",
        "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } }
    })
}

fn called(id: u64, tool: &str, arguments: &Value) -> String {
    json!({
        "jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": { "name": tool, "arguments": arguments }
    })
    .to_string()
}

/// The answers to these lines, after which the client leaves.
fn answers(bench: &Bench, args: &[&str], lines: &[String]) -> Vec<Value> {
    let mut child = bench
        .command(&[&["mcp"], args].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = child.stdout.take().unwrap();
    let reading = std::thread::spawn(move || {
        let mut said = String::new();
        output.read_to_string(&mut said).unwrap();
        said
    });
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let said = reading.join().unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
    assert!(ended.stderr.is_empty(), "{}", text(&ended.stderr));
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn answer_to(answers: &[Value], id: u64) -> &Value {
    let found = answers.iter().find(|answer| answer["id"] == id);
    found.unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"))
}

#[test]
fn a_line_that_is_no_message_is_answered_and_the_next_one_is_read() {
    let bench = Bench::new();
    let large = "x".repeat(17 << 20);
    let lines = [
        hello(0).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        "[1, 2]".to_owned(),
        "{\"id\": 3, ".to_owned(),
        json!({ "jsonrpc": "2.0", "id": 4, "nothing": true }).to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/of-tomorrow" }).to_string(),
        json!({ "params": { "id": 99, "large": large }, "jsonrpc": "2.0", "method": "tools/call", "id": 5 }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 6, "method": "no/such" }).to_string(),
        String::new(),
        called(7, "write", &json!({ "name": "<script>", "content": "Two bar." })),
    ];
    let found = answers(&bench, &[], &lines);
    assert_eq!(found.len(), 7, "{found:?}");
    let unnamed: Vec<&Value> = found.iter().filter(|answer| answer["id"].is_null()).collect();
    assert_eq!(unnamed[0]["error"]["code"], -32600);
    assert_eq!(unnamed[1]["error"]["code"], -32700);
    assert_eq!(
        answer_to(&found, 0)["result"]["protocolVersion"],
        "2025-11-25"
    );
    assert_eq!(answer_to(&found, 4)["error"]["code"], -32600);
    let long = answer_to(&found, 5)["error"]["message"].as_str().unwrap();
    assert!(long.contains("longer than 16777216 bytes"), "{long}");
    assert_eq!(answer_to(&found, 6)["error"]["code"], -32601);
    let wrote = &answer_to(&found, 7)["result"]["structuredContent"];
    assert_eq!(wrote["blocks"], json!(["<script>"]));
}

#[test]
fn it_ends_with_its_client() {
    let bench = Bench::new();
    assert_eq!(answers(&bench, &[], &[]), Vec::<Value>::new());
    // A call under way when the input ends is still answered.
    let lines = [
        hello(0).to_string(),
        called(1, "write", &json!({ "name": "a", "content": "b" })),
    ];
    let found = answers(&bench, &[], &lines);
    assert_eq!(answer_to(&found, 1)["result"]["isError"], false);
    // One that takes long is not waited for.
    let lines = [
        hello(0).to_string(),
        called(1, "compile", &json!({ "task": "pump ".repeat(800_000) })),
    ];
    let started = Instant::now();
    answers(&bench, &[], &lines);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn what_belongs_to_others_cannot_be_named() {
    let bench = Bench::new();
    bench.file("a.md", "The plugh of acme is open.\n");
    bench.ok(&["store", "put", "a.md", "--tenant", "acme"]);
    bench.ok(&["session", "new", "ours"]);
    let said = bench.json(&[
        "session", "append", "ours", "--text", "Hi.", "--format", "json",
    ]);
    let message = said["messages"][0].as_str().unwrap();
    let lines = [
        hello(0).to_string(),
        called(1, "search", &json!({ "query": "plugh of acme" })),
        called(
            2,
            "write",
            &json!({ "name": "a", "content": "b", "registry": "other" }),
        ),
        called(3, "rehydrate", &json!({ "id": message })),
    ];
    let found = answers(&bench, &[], &lines);
    let passages = &answer_to(&found, 1)["result"]["structuredContent"]["passages"];
    assert_eq!(passages, &json!([]));
    for id in [2, 3] {
        let refused = &answer_to(&found, id)["result"];
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(
            refused["_meta"]["tenure/error"]["what"].is_string(),
            "{refused}"
        );
    }
    let found = answers(&bench, &["--session", "ours"], &lines);
    let said = &answer_to(&found, 3)["result"]["structuredContent"]["originals"][0];
    assert_eq!(
        (&said["id"], &said["text"]),
        (&json!(message), &json!("Hi."))
    );
    // A tenant that is another's has sessions of its own.
    let found = answers(&bench, &["--session", "ours", "--tenant", "acme"], &lines);
    assert_eq!(answer_to(&found, 3)["result"]["isError"], true);
}

#[test]
fn a_proposal_waits_for_a_person() {
    let bench = Bench::new();
    let lines = [
        hello(0).to_string(),
        called(
            1,
            "propose",
            &json!({ "content": "The plugh opens at two bar.", "name": "plugh" }),
        ),
        called(2, "propose", &json!({ "content": " " })),
    ];
    let found = answers(&bench, &[], &lines);
    let said = &answer_to(&found, 1)["result"]["structuredContent"];
    assert_eq!(
        (&said["name"], &said["state"]),
        (&json!("plugh"), &json!("proposed"))
    );
    assert_eq!(answer_to(&found, 2)["result"]["isError"], true, "{found:?}");
    let listed = || bench.json(&["outcome", "list", "--format", "json"])["outcomes"][0].clone();
    assert_eq!(listed()["proposed_by"], "tenure mcp");
    let compile = [
        hello(0).to_string(),
        called(
            1,
            "compile",
            &json!({ "task": "At what pressure does the plugh open?" }),
        ),
    ];
    let compiled = || {
        let found = answers(&bench, &[], &compile);
        answer_to(&found, 1)["result"]["structuredContent"]["payloads"].to_string()
    };
    assert!(!compiled().contains("two bar"));
    bench.ok(&["outcome", "accept", "plugh", "--by", "ada"]);
    assert_eq!(listed()["decided_by"], "ada");
    assert!(compiled().contains("two bar"));
}

#[test]
fn a_handle_leads_to_the_conversation_of_the_gateway() {
    let bench = Bench::new();
    bench.ok(&["session", "new", "ours"]);
    let said = bench.json(&[
        "session", "append", "ours", "--text", "Hi.", "--format", "json",
    ]);
    let message = said["messages"][0].as_str().unwrap();
    let lines = [
        hello(0).to_string(),
        called(1, "rehydrate", &json!({ "id": message })),
    ];
    let asked = |args: &[&str]| {
        let args = [&["--conversation", "handle.json"], args].concat();
        let found = answers(&bench, &args, &lines);
        answer_to(&found, 1)["result"].clone()
    };
    let refused = |args: &[&str], what: &str| {
        let result = asked(args);
        assert_eq!(result["isError"], true, "{result}");
        assert!(result.to_string().contains(what), "{result}");
    };
    let handle = |tenant: &str, session: &str| {
        let held = json!({ "version": 1, "tenant": tenant, "session": session });
        bench.file("handle.json", held.to_string());
    };
    // Before the first request of the gateway there is no conversation.
    refused(&[], "is not the id of an original");
    handle("local", "ours");
    assert_eq!(
        asked(&[])["structuredContent"]["originals"][0]["text"],
        "Hi."
    );
    // Who is said to be less than the owner has no conversation of the gateway, nor has another tenant.
    refused(&["--user", "ada"], "there is no session `ours`");
    refused(&["--tenant", "acme"], "of another tenant");
    handle("acme", "ours");
    refused(&[], "of another tenant");
    handle("local", "theirs");
    refused(&[], "there is no session `theirs`");
    assert_eq!(
        asked(&["--session", "ours"])["structuredContent"]["originals"][0]["text"],
        "Hi."
    );
    bench.file("handle.json", "<script>");
    refused(&[], "the handle of the conversation is none");
}

#[test]
fn what_cannot_be_offered_is_refused_at_once() {
    let bench = Bench::new();
    let refused = |args: &[&'static str]| {
        let message = bench.run(&[&["mcp"], args].concat());
        assert!(matches!(message.status.code(), Some(1 | 2)), "{message:?}");
        text(&message.stderr)
    };
    assert!(refused(&["--tools", "writ"]).contains("did you mean `write`?"));
    assert!(refused(&["--registry", "a@b"]).contains("a@b"));
    assert!(refused(&["--clearance", "most"]).contains("--clearance"));
    assert!(refused(&["--store", "mysql://x"]).contains("sqlite://"));
}

#[test]
fn the_tokens_in_the_docs_are_those_of_the_tools() {
    let bench = Bench::new();
    let listed = bench.json(&["mcp", "--list", "--format", "json"]);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/mcp.md");
    let docs = fs::read_to_string(docs).unwrap();
    let tools = listed["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 9);
    for tool in tools {
        let name = tool["tool"]["name"].as_str().unwrap();
        let row = format!("| `{name}` | {} |", tool["tokens"]);
        assert!(docs.contains(&row), "docs/reference/mcp.md has no `{row}`");
    }
    let all = format!("| all | {} |", listed["tokens"]);
    assert!(docs.contains(&all), "docs/reference/mcp.md has no `{all}`");
    let fewer = bench.ok(&["mcp", "--list", "--tools", "rehydrate,search,search"]);
    let names: Vec<&str> = fewer.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["search", "rehydrate", "all"]);
}
