//! The retrieval plan of a request and what answers `query_archive`, through the real binary.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use serde_json::{Value, json};
use support::Bench;

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

const COMPILE: [&str; 6] = [
    "compile",
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
    let left = verdicts
        .iter()
        .filter(|verdict| verdict["reason"]["code"] == "not_retrieved");
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
