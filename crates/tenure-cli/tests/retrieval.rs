//! The retrieval plan of a request, what answers `query_archive`, the tools of a step, and a gate by an encoder of
//! one's own, through the real binary.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::Bench;
use serde_json::{Value, json};

fn passages() -> Bench {
    let bench = Bench::new();
    let passage = |name: &str, content: &str| {
        json!({
            "name": name, "content": content, "object_type": "retrieved_passage",
            "provenance": { "source_id": "manual", "retrieved_at": "2026-05-01" },
        })
    };
    let objects = json!([
        passage("valve", "The relief valve opens at two bar."),
        passage("lamp", "The lamp is green while the machine rests."),
        passage("canteen", "Lunch is at noon."),
    ]);
    bench.file("manual.json", objects.to_string());
    bench
}

fn request(bench: &Bench, plan: &Value) {
    let request = json!({
        "task": { "objective": "Mend what drips." },
        "principal": { "clearance": "highly_restricted" },
        "retrieval": plan,
    });
    bench.file("request.json", request.to_string());
}

const COMPILE: [&str; 8] = [
    "compile",
    "--as",
    "guidance",
    "manual.json",
    "--request",
    "request.json",
    "--budget",
    "900",
];

#[test]
fn a_plan_brings_what_it_asks_for_and_says_so() {
    let bench = passages();
    let ask = json!({ "name": "pressure", "text": "When does the relief valve open?", "limit": 1 });
    request(&bench, &json!({ "subqueries": [ask] }));
    let out = bench.json(&[&COMPILE[..], &["--format", "json"]].concat());
    let report = &out["trace"]["retrieval"]["subqueries"][0];
    assert_eq!(report["brought"][0]["name"], "valve");
    assert!(report.get("fell_back").is_none(), "{report}");
    let verdicts = out["trace"]["verdicts"].as_array().unwrap();
    let left = verdicts.iter().filter(|verdict| verdict["reason"]["code"] == "not_retrieved");
    assert_eq!(left.count(), 2);
    let explained = [&["explain"], &COMPILE[1..]].concat();
    let explained = bench.ok(&explained);
    assert!(
        explained.contains("SUBQUERY") && explained.contains("1 of `pressure`"),
        "{explained}"
    );
}

#[test]
fn a_plan_that_makes_no_sense_is_refused() {
    let bench = passages();
    request(&bench, &json!({ "subqueries": [] }));
    let refused = bench.refused(2, &COMPILE);
    assert!(refused.contains("0 subqueries"), "{refused}");
    request(
        &bench,
        &json!({ "subqueries": [{ "name": "a", "strategy": "densee" }] }),
    );
    let refused = bench.refused(2, &COMPILE);
    assert!(refused.contains("dense"), "{refused}");
    request(
        &bench,
        &json!({ "subqueries": [{ "name": "a", "strategy": "dense" }] }),
    );
    bench.file("plain.toml", "name = \"plain\"\nscorer = \"lexical\"\n");
    let refused = bench.refused(2, &[&COMPILE[..], &["--policy", "plain.toml"]].concat());
    assert!(refused.contains("scorer"), "{refused}");
}

#[test]
fn a_query_finds_what_no_payload_shows() {
    let bench = passages();
    let ask = |more: &[&str]| {
        let args = [
            "query",
            "At what pressure does the valve open?",
            "manual.json",
            "--format",
            "json",
        ];
        bench.json(&[&args[..], more].concat())
    };
    let found = ask(&[]);
    assert_eq!(found["passages"][0]["name"], "valve");
    assert_eq!(found["among"], 3);
    let most = ask(&["--tokens", "9"]);
    assert!(most["tokens"].as_u64().unwrap() <= 9);
    // What the model has before it is not told again.
    let subquery = json!({ "name": "a", "text": "relief valve", "limit": 1 });
    request(&bench, &json!({ "subqueries": [subquery] }));
    let out = bench.ok(&[&COMPILE[..], &["--format", "json"]].concat());
    bench.file("result.json", out);
    let rest = ask(&["--after", "result.json"]);
    let names: Vec<&str> = rest["passages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|passage| passage["name"].as_str().unwrap())
        .collect();
    assert!(!names.contains(&"valve"), "{names:?}");
    assert_eq!(rest["among"], 2);
    let refused = bench.refused(2, &["query", " ", "manual.json"]);
    assert!(
        refused.contains("query is empty") || refused.contains("empty"),
        "{refused}"
    );
    bench.refused(1, &["query", "anything"]);
}

#[test]
fn a_query_finds_what_is_archived() {
    let bench = Bench::new();
    let old = json!({
        "name": "old-limit", "content": "The limit was nine kilowatts.", "valid_from": "2020-01-01",
        "decay_rule": { "half_life_days": 10.0, "minimum_threshold": 0.5 }, "retirement_rule": "archive",
    });
    bench.file("old.json", json!([old]).to_string());
    bench.ok(&["store", "put", "old.json"]);
    bench.ok(&["store", "sweep", "--at", "2021-01-01"]);
    let list = bench.json(&["store", "list", "--format", "json"]);
    assert_eq!(list["unfetched"][0]["what"], "old-limit");
    let found = bench.json(&["query", "How many kilowatts?", "--format", "json"]);
    assert_eq!(found["passages"][0]["name"], "old-limit");
    let other = [
        "query",
        "How many kilowatts?",
        "--tenant",
        "other",
        "--format",
        "json",
    ];
    assert_eq!(bench.json(&other)["among"], 0);
}

#[test]
fn tools_are_chosen_for_the_step() {
    let bench = Bench::new();
    let tool = |name: &str, says: &str, parameter: &str| {
        json!({
            "name": name, "content": says, "object_type": "tool_schema",
            "input_schema": { "type": "object", "properties": { parameter: { "type": "string" } } },
        })
    };
    let tools = json!([
        tool("tag_commit", "Gives a revision a name.", "revision"),
        tool("run_tests", "Runs the tests.", "filter"),
        tool("set_supply", "Changes an output.", "maxVoltage"),
    ]);
    bench.file("tools.json", tools.to_string());
    let step = json!({
        "objective": "Release 2.0.",
        "subtasks": [{ "title": "raise the voltage", "status": "in_progress" }],
    });
    bench.file("task.json", step.to_string());
    let compile = [
        "compile",
        "--as",
        "guidance",
        "tools.json",
        "--task-file",
        "task.json",
        "--budget",
        "900",
    ];
    let chosen = bench.json(&[&compile[..], &["--tools-top-k", "1", "--format", "json"]].concat());
    let codes: Vec<(&str, &str)> = chosen["trace"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|verdict| {
            (
                verdict["name"].as_str().unwrap(),
                verdict["reason"]["code"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("tag_commit", "gated_out"),
        ("run_tests", "gated_out"),
        ("set_supply", "mandatory"),
    ];
    assert_eq!(codes, expected);
    let why = [
        &["explain"],
        &compile[1..],
        &["--tools-top-k", "1", "--why", "run_tests"],
    ]
    .concat();
    let why = bench.ok(&why);
    assert!(why.contains("a gate for tools"), "{why}");
    let all = bench.json(&[&compile[..], &["--format", "json"]].concat());
    assert!(
        all["trace"]["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .all(|verdict| verdict["verdict"] == "included")
    );
    let gate = [
        "gate",
        "--as",
        "guidance",
        "tools.json",
        "--task",
        "Run the tests.",
        "--tools-top-k",
        "1",
        "--format",
        "json",
    ];
    let gate = bench.json(&gate);
    assert_eq!(gate["kept"][0]["name"], "run_tests");
    assert_eq!(
        (
            gate["kept"].as_array().unwrap().len(),
            gate["left"].as_array().unwrap().len()
        ),
        (1, 2)
    );
    let bad = bench.refused(1, &[&compile[..], &["--tools-threshold", "2"]].concat());
    assert!(bad.contains("--tools-threshold"), "{bad}");
}

/// A real endpoint on the loopback, for which all wasps are zebras. Gives its address.
fn endpoint() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut asked = Vec::new();
            let body: Value = loop {
                let mut buffer = [0; 4096];
                let read = stream.read(&mut buffer).unwrap();
                asked.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&asked);
                let body = text.split_once("\r\n\r\n");
                if let Some(body) = body.and_then(|(_, body)| serde_json::from_str(body).ok()) {
                    break body;
                }
            };
            let near = |text: &Value| {
                let text = text.as_str().unwrap();
                text.contains("Zebras") || text.contains("Wasps")
            };
            let texts = body["input"].as_array().unwrap().iter().enumerate();
            let rows = texts.map(|(at, text)| {
                let (x, y) = if near(text) { (1.0, 0.1) } else { (0.1, 1.0) };
                json!({ "index": at, "embedding": [x, y] })
            });
            let answer = json!({ "object": "list", "data": rows.collect::<Vec<_>>() }).to_string();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
        }
    });
    url
}

#[test]
fn a_gate_takes_an_encoder_of_ones_own() {
    let bench = Bench::new();
    bench.file(
        "rules.md",
        "---\nname: bees\n---\nBees dance.\n---\nname: wasps\n---\nWasps sting.\n",
    );
    let file = format!(
        "url = \"{}\"\nmodel = \"mine\"\ndimensions = 2\n",
        endpoint()
    );
    bench.file("embedder.toml", file);
    let gate = [
        "gate", "--as", "guidance", "rules.md", "--task", "Zebras?", "--top-k", "1", "--format",
        "json",
    ];
    let own = bench.json(&[&gate[..], &["--embedder", "embedder.toml"]].concat());
    assert_eq!(
        (&own["kept"][0]["name"], &own["left"][0]["name"]),
        (&json!("wasps"), &json!("bees"))
    );
    let missing = bench.refused(2, &[&gate[..], &["--embedder", "none.toml"]].concat());
    assert!(missing.contains("none.toml"), "{missing}");
}
