//! What is told of requests: spans for a collector, quality metrics and their thresholds.

use crate::support::{Bench, Upstream};
use serde_json::{Value, json};
use tenure_server::Options;

fn body() -> Value {
    json!({
        "request": { "task": { "objective": "Report the hushed pressure." }, "budget": { "tokens": 500 } },
        "objects": [{ "name": "units", "content": "Report pressure in pascal, hushed." }],
    })
}

/// The spans that a collector got.
fn spans(collector: &Upstream) -> Vec<Value> {
    let mut all = Vec::new();
    for seen in collector.seen() {
        assert!(seen.line.starts_with("POST /v1/traces "), "{}", seen.line);
        let text = String::from_utf8(seen.body).unwrap();
        assert!(!text.contains("hushed"), "contents were told: {text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let scope = &document["resourceSpans"][0]["scopeSpans"][0];
        all.extend(scope["spans"].as_array().unwrap().iter().cloned());
    }
    all
}

fn attribute<'s>(span: &'s Value, key: &str) -> &'s Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    &found.unwrap_or_else(|| panic!("no `{key}` in {span}"))["value"]
}

#[test]
fn requests_compiles_and_exchanges_are_spans_of_one_trace() {
    let collector = Upstream::saying("application/json", "{}");
    let provider = Upstream::saying(
        "application/json",
        r#"{"model":"gpt-4o","usage":{"prompt_tokens":11,"completion_tokens":2}}"#,
    );
    let mut bench = Bench::with(&[provider.url()], |options| Options {
        otlp: Some(collector.url().parse().unwrap()),
        ..options
    });
    let parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let unsampled = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00";
    let json_type = "content-type: application/json";
    let body = body().to_string();
    for header in [parent, unsampled] {
        let reply = bench.ask(
            "POST",
            "/api/v1/compile",
            &[json_type, header],
            body.as_bytes(),
        );
        assert_eq!(reply.status, 200);
    }
    let asked = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"hushed"}]}"#;
    let reply = bench.post("/v1/chat/completions", asked);
    let record = reply.record();
    bench.get("/healthz");
    bench.stop();

    let spans = spans(&collector);
    let named = |name: &str| {
        let found: Vec<&Value> = spans.iter().filter(|span| span["name"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {spans:?}");
        found[0]
    };
    let request = named("POST /api/v1/compile");
    let compile = named("retrieval tenure.compile");
    assert_eq!(request["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(request["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(
        (&compile["traceId"], &compile["parentSpanId"]),
        (&request["traceId"], &request["spanId"])
    );
    assert_eq!(
        attribute(compile, "gen_ai.request.model")["stringValue"],
        "gpt-4o"
    );
    assert!(
        attribute(compile, "tenure.quality.utilization")["doubleValue"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    let forwarded = named("POST /v1/chat/completions");
    let exchange = named("chat gpt-4o");
    assert_eq!(exchange["parentSpanId"], forwarded["spanId"]);
    assert_eq!(
        attribute(exchange, "tenure.record.id")["stringValue"],
        record
    );
    assert_eq!(
        attribute(exchange, "gen_ai.usage.input_tokens")["intValue"],
        "11"
    );
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
    for span in &spans {
        assert!(time(span, "startTimeUnixNano") <= time(span, "endTimeUnixNano"));
    }
    assert_eq!(spans.len(), 4, "{spans:?}");
}

#[test]
fn a_collector_that_is_away_holds_nobody_up_and_is_counted() {
    let mut bench = Bench::with(&[], |options| Options {
        otlp: Some("http://127.0.0.1:9".parse().unwrap()),
        ..options
    });
    assert_eq!(
        bench.post("/api/v1/compile", body().to_string().as_bytes()).status,
        200
    );
    crate::support::wait_for(|| {
        let dropped = bench.metric("tenure_telemetry_dropped_total{what=\"span\"}")?;
        (dropped >= 2.0).then_some(())
    });
    bench.stop();
}

#[test]
fn payloads_are_held_to_thresholds() {
    let bench = Bench::with(&[], |options| Options {
        thresholds: [
            "signal_density=0.01:reject",
            "utilization=0.9",
            "duplication=0.05:reject",
        ]
        .map(|text| text.parse().unwrap())
        .into(),
        ..options
    });
    let mut call = body();
    call["quality"] = true.into();
    let reply = bench.post("/api/v1/compile", call.to_string().as_bytes());
    assert_eq!(reply.status, 200, "{}", reply.json());
    let quality = &reply.json()["quality"][0];
    assert_eq!(quality.as_object().unwrap().len(), 8, "{quality}");
    assert!(quality["utilization"].as_f64().unwrap() < 0.9);
    assert_eq!(quality["provenance_coverage"], 1.0);
    let missed = |metric: &str| {
        bench.metric(&format!(
            "tenure_compile_quality_missed_total{{what=\"{metric}\"}}"
        ))
    };
    assert_eq!(missed("utilization"), Some(1.0));
    assert_eq!(missed("duplication"), None);

    // The same long line in two objects.
    let line = "The valve at the northern station opens at 300 pascal and closes at 200.";
    call["objects"] = json!([
        { "name": "a", "content": format!("{line}\nIt was replaced last spring by the crew.") },
        { "name": "b", "content": format!("{line}\nIt is painted red, and so is its neighbour.") },
    ]);
    let refused = bench.post("/api/v1/compile", call.to_string().as_bytes());
    let problem = refused.json();
    assert_eq!(refused.status, 422, "{problem}");
    assert!(
        problem["detail"].as_str().unwrap().contains("duplication"),
        "{problem}"
    );
    assert_eq!(problem["expected"], "at most 0.05", "{problem}");
    assert_eq!(missed("duplication"), Some(1.0));
    let counted = bench.metric("tenure_compile_quality_count{metric=\"staleness\"}");
    assert_eq!(counted, Some(2.0));
    assert_eq!(bench.metric("tenure_compile_seconds_count"), Some(2.0));
}
