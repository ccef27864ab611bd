//! The board for Grafana: it shows what a server really counts.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_server::Options;

use crate::support::{Bench, Upstream};

const BOARD: &str = include_str!("../../../docs/grafana/tenure.json");

/// Every query of the board.
fn queries(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| queries(one, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "expr" || name == "query" => {
                        found.push(text.clone());
                    }
                    value => queries(value, found),
                }
            }
        }
        _ => {}
    }
}

/// The words of a query that begin as a metric of this server does.
fn metrics(query: &str) -> BTreeSet<&str> {
    let words = query.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words.filter(|word| word.starts_with("tenure_")).collect()
}

/// The labels by which a query groups.
fn labels(query: &str) -> BTreeSet<&str> {
    let groups = query.split("by (").skip(1);
    let groups = groups.filter_map(|rest| rest.split(')').next());
    groups.flat_map(|group| group.split(", ")).collect()
}

#[test]
fn every_metric_and_label_of_the_board_is_exported() {
    let upstream = Upstream::saying(
        "application/json",
        r#"{"model":"gpt-4o","usage":{"prompt_tokens":1000,"completion_tokens":200,"prompt_tokens_details":{"cached_tokens":600}}}"#,
    );
    let bench = Bench::with(&[upstream.url()], |options| Options {
        thresholds: vec!["utilization=0.9".parse().unwrap()],
        ..options
    });
    let call = json!({
        "request": { "task": { "objective": "Report the pressure." }, "budget": { "tokens": 500 } },
        "objects": [{ "name": "units", "content": "Report pressure in pascal." }],
    });
    let reply = bench.post("/api/v1/compile", call.to_string().as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.json());
    let asked = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}"#;
    let reply = bench.post("/v1/chat/completions", asked);
    bench.record("local", &reply.record());

    let text = String::from_utf8(bench.get("/metrics").body).unwrap();
    let board: Value = serde_json::from_str(BOARD).unwrap();
    let mut found = Vec::new();
    queries(&board, &mut found);
    let mut seen = BTreeSet::new();
    for query in &found {
        for metric in metrics(query) {
            let is_of = |line: &&str| {
                let rest = line.strip_prefix(metric);
                rest.is_some_and(|rest| rest.starts_with('{') || rest.starts_with(' '))
            };
            let lines: Vec<&str> = text.lines().filter(is_of).collect();
            assert!(!lines.is_empty(), "`{metric}` is not exported:\n{text}");
            for label in labels(query) {
                let has = lines.iter().all(|line| line.contains(&format!("{label}=\"")));
                assert!(has, "`{metric}` has no label `{label}`: {lines:?}");
            }
            seen.insert(metric.to_owned());
        }
    }
    assert!(seen.len() > 15, "{seen:?}");
    // 400 of the tokens at $2.50 for a million, 600 at $1.25, and 200 at $10.00.
    let spent = bench.metric("tenure_gateway_spend_dollars_total{protocol=\"openai\"}");
    assert!((spent.unwrap() - 0.003_75).abs() < 1e-9, "{spent:?}");
    // What nobody lost or damaged is counted as nothing, and is not unknown.
    let lost = bench.metric("tenure_records_dropped_total{what=\"record\"}");
    assert_eq!(lost, Some(0.0));
    assert!(seen.contains("tenure_store_damaged_total"));
}
