//! Attention weights over a payload: what important text got, and weights that are refused.

use serde_json::{Value, json};
use tenure::{Compiled, Target};
use tenure_inspector::{Attention, Compile, Frame, MOST_WEIGHTS, pages, report};

use crate::hostile::{check, compiled, hostile, view};

const TARGETS: [Target; 4] = [
    Target::Text,
    Target::OpenAiChat,
    Target::AnthropicMessages,
    Target::Gemini,
];

fn pumps(target: Target) -> Compiled {
    let names: Vec<String> = (0..6).map(|at| format!("pump-{at}")).collect();
    compiled(target, &names, 8_000)
}

/// The items of a compile with their sections, in their order.
fn items(compiled: &Compiled) -> Vec<(String, &tenure::Item)> {
    let sections = compiled.envelope.sections.iter();
    sections
        .flat_map(|section| {
            let items = section.items.iter();
            items.map(move |item| (section.name.to_string(), item))
        })
        .collect()
}

fn file(compiled: &Compiled, field: &str, weights: Value) -> String {
    let digest = compiled.envelope.payload_digest.unwrap();
    json!({ "payload": digest, field: weights }).to_string()
}

fn shown(compiled: &Compiled, weights: &str) -> String {
    let attention = Attention::read(weights, &compiled.envelope).unwrap();
    let compile = Compile {
        attention: Some(&attention),
        ..view(compiled, "x")
    };
    let page = pages::payload(&compile, &Frame::default());
    check(&page);
    check(&report(std::slice::from_ref(&compile)));
    page
}

#[test]
fn required_text_that_got_little_is_flagged_and_the_rest_is_not() {
    for target in TARGETS {
        let compiled = pumps(target);
        let items = items(&compiled);
        // As much as its tokens would give, but one that must be there, which got a hundredth.
        let ignored = items.iter().position(|(_, item)| *item.name == *"pump-3");
        let weights = items.iter().enumerate().map(|(at, (_, item))| {
            f64::from(item.tokens) * if Some(at) == ignored { 0.01 } else { 1.0 }
        });
        let weights: Vec<f64> = weights.collect();
        let page = shown(&compiled, &file(&compiled, "items", json!(weights)));
        let flagged = page.split("Important text that got little").nth(1).unwrap();
        let flagged = flagged.split("</table>").next().unwrap();
        assert_eq!(flagged.matches("<tr>").count(), 2, "{target}: {flagged}");
        assert!(
            flagged.contains("pump-3") && flagged.contains("0.01× its share"),
            "{flagged}"
        );
        let even: Vec<u32> = items.iter().map(|(_, item)| item.tokens).collect();
        let page = shown(&compiled, &file(&compiled, "items", json!(even)));
        assert!(page.contains("Nothing important got less"), "{target}");
        assert!(page.contains("1.00× its share"));
    }
}

#[test]
fn spans_say_the_same_as_the_items_that_they_are_of() {
    for target in TARGETS {
        let compiled = pumps(target);
        let items = items(&compiled);
        let by_item: Vec<f64> = (0..items.len()).map(|at| (at % 3) as f64 + 0.25).collect();
        let spans = items.iter().zip(&by_item).flat_map(|((_, item), weight)| {
            let span = serde_json::to_value(item.span.unwrap()).unwrap();
            let (start, end) = (
                span["start"].as_u64().unwrap(),
                span["end"].as_u64().unwrap(),
            );
            // Each in two parts.
            let middle = start + (end - start) / 2;
            [(start, middle), (middle, end)].map(|(from, to)| {
                let mut part = span.clone();
                part["start"] = from.into();
                part["end"] = to.into();
                part["weight"] = json!(weight * (to - from) as f64 / (end - start) as f64);
                part
            })
        });
        let spans: Vec<Value> = spans.collect();
        let of = |field: &str, weights: Value| {
            let page = shown(&compiled, &file(&compiled, field, weights));
            let section = page.split("By section").nth(1).unwrap();
            section.split("</table>").next().unwrap().to_owned()
        };
        assert_eq!(
            of("spans", json!(spans)),
            of("items", json!(by_item)),
            "{target}"
        );
    }
}

#[test]
fn weights_that_are_none_are_refused_with_their_place() {
    let compiled = pumps(Target::OpenAiChat);
    let count = items(&compiled).len();
    let ones = |count: usize| json!(vec![1; count]);
    let why = |text: &str| {
        let error = Attention::read(text, &compiled.envelope).unwrap_err();
        assert!(error.at.is_some(), "{error}");
        error.to_string()
    };
    let of = |field: &str, weights: Value| why(&file(&compiled, field, weights));
    let mut negative = vec![1.0; count];
    negative[2] = -0.5;
    assert!(of("items", json!(negative)).contains("items[2]"));
    assert!(of("items", ones(count + 1)).contains("one for each item"));
    assert!(of("items", json!(vec![0; count])).contains("all weights are 0"));
    assert!(of("items", ones(MOST_WEIGHTS)).contains("1,000,000 weights"));
    let span =
        |start: u64, end: u64| json!({ "message": 0, "start": start, "end": end, "weight": 1 });
    assert!(of("spans", json!([span(0, 9), span(8, 12)])).contains("spans[1]"));
    assert!(of("spans", json!([span(0, 9), span(0, 9)])).contains("overlaps"));
    assert!(of("spans", json!([span(9, 9)])).contains("ends where it begins"));
    assert!(of("spans", json!([span(0, 4_000_000_000)])).contains("ends behind its text"));
    let beyond = json!([{ "message": 4_000_000, "start": 0, "end": 1, "weight": 1 }]);
    assert!(of("spans", beyond).contains("does not have"));
    let many: Vec<Value> = (0..=MOST_WEIGHTS as u64).map(|at| span(at, at + 1)).collect();
    assert!(of("spans", json!(many)).contains("at most 1,000,000"));

    let digest = compiled.envelope.payload_digest.unwrap();
    for number in ["NaN", "1e999", "\"1\"", "null", "[]"] {
        let text = format!("{{\"payload\":\"{digest}\",\"items\":[{number}]}}");
        assert!(why(&text).contains("cannot be read"), "{number}");
    }
    let other = pumps(Target::AnthropicMessages);
    let of_other = file(&other, "items", ones(items(&other).len()));
    let said = why(&of_other);
    assert!(
        said.contains("another payload") && said.contains(&digest.to_string()),
        "{said}"
    );
    assert!(why("{\"payload\":\"x\",\"items\":[]}").contains("no digest"));
    let both = json!({ "payload": digest, "items": [], "spans": [] }).to_string();
    assert!(why(&both).contains("both"));
    assert!(why("{").contains("cannot be read") && why("[]").contains("cannot be read"));
    // Great numbers are compared with each other, and none becomes infinite.
    let great = shown(
        &compiled,
        &file(&compiled, "items", json!(vec![f64::MAX; count])),
    );
    for wrong in ["NaN×", "inf×", "NaN %", "inf %"] {
        assert!(!great.contains(wrong), "{wrong}");
    }
}

#[test]
fn a_million_weights_and_hostile_names_stay_a_page() {
    let mut compiled = compiled(Target::Text, &hostile(), 3_000);
    let long = "a".repeat(MOST_WEIGHTS);
    compiled.envelope.payload = Some(tenure::Payload::Text(long));
    let span = |at: usize| json!({ "start": at, "end": at + 1, "weight": at });
    let spans: Vec<Value> = (0..MOST_WEIGHTS).map(span).collect();
    let page = shown(&compiled, &file(&compiled, "spans", json!(spans)));
    assert!(page.len() < 500_000, "{}", page.len());
}
