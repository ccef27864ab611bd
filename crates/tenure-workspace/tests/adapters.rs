//! What answers a compile's questions, in compiles: embedders of one's own, endpoints, outlines of source code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure::condense::Method;
use tenure::vectors::VectorModel;
use tenure::{Budget, Candidates, Digest, Error, Facts, FrameKey, ObjectDocument, Policy, Request};
use tenure_workspace::Workspace;
use tenure_workspace::embed::{Embedder, Endpoint};

use crate::answering::server;

fn candidates(texts: &[&str]) -> Candidates {
    let seal = |text: &&str| ObjectDocument::named(*text, *text).seal().unwrap();
    Candidates::new(texts.iter().map(seal).collect())
}

/// Counts what it is asked, and answers with the length of the text, or badly.
struct Lengths {
    asked: Arc<AtomicUsize>,
    bad: Option<f32>,
}

impl Embedder for Lengths {
    fn model(&self) -> VectorModel {
        VectorModel {
            dimensions: 2,
            ..VectorModel::new("lengths", Digest::of(b"lengths"))
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.asked.fetch_add(texts.len(), Ordering::Relaxed);
        let hidden = texts.iter().any(|text| text.contains("secret"));
        assert!(!hidden, "asked about what the caller may not see");
        let vector = |text: &&str| vec![1.0, self.bad.unwrap_or(text.len() as f32)];
        Ok(texts.iter().map(vector).collect())
    }
}

#[test]
fn an_embedder_of_ones_own_sees_what_the_caller_may_see_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let own = Lengths {
        asked: Arc::clone(&asked),
        bad: None,
    };
    let key = || FrameKey::new("test", [7; 32]);
    let workspace = Workspace::new(key()).unwrap().with_embedder(own);
    let world = workspace.world("gpt-4o").unwrap();
    let policy = Policy::preset("standard").unwrap();
    let request = Request::new("Pets.", Budget::tokens(400));
    let mut objects = candidates(&["Feed the cat.", "Walk the dog."]).objects().to_vec();
    let secret = ObjectDocument {
        tenant_id: Some("other".into()),
        ..ObjectDocument::named("s", "A secret.")
    };
    objects.push(secret.seal().unwrap());
    let candidates = Candidates::new(objects);
    let run = || workspace.compile(&world, &policy, &request, &candidates).unwrap();
    let first = run();
    let after = asked.load(Ordering::Relaxed);
    assert_eq!(after, 3, "two texts and the query");
    let again = run();
    assert_eq!(asked.load(Ordering::Relaxed), after + 1, "the query alone");
    let digests = [first, again].map(|outcome| outcome.single().unwrap().envelope.payload_digest);
    assert_eq!(digests[0], digests[1]);

    for bad in [f32::NAN, f32::INFINITY] {
        let own = Lengths {
            asked: Arc::clone(&asked),
            bad: Some(bad),
        };
        let workspace = Workspace::new(key()).unwrap().with_embedder(own);
        let error = workspace.compile(&world, &policy, &request, &candidates).unwrap_err();
        assert!(error.what.contains("`lengths`"), "{error}");
    }
}

fn endpoint(url: &str, more: &str) -> Result<Endpoint, Error> {
    let text = format!("url = \"{url}\"\nmodel = \"mine\"\ndimensions = 2\n{more}");
    Endpoint::from_toml(&text, &|_| None)
}

fn rows(rows: &str) -> (&'static str, String) {
    (
        "200 OK",
        format!("{{\"object\":\"list\",\"data\":[{rows}]}}"),
    )
}

#[test]
fn a_compile_uses_it_and_its_vectors_never_meet_others() {
    let two = r#"{"index":0,"embedding":[0.1,1.0]},{"index":1,"embedding":[1.0,0.0]}"#;
    let one = r#"{"index":0,"embedding":[1.0,0.5]}"#;
    let (url, _told) = server(vec![rows(two), rows(one)]);
    let key = || FrameKey::new("test", [7; 32]);
    let workspace = Workspace::new(key()).unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    let workspace = workspace.with_embedder(endpoint(&url, "").unwrap());
    let seal = |name: &str, text: &str| ObjectDocument::named(name, text).seal().unwrap();
    let candidates = Candidates::new(vec![seal("a", "Bees."), seal("b", "Wasps.")]);
    let request = Request::new("Zebras.", Budget::tokens(400));
    let policy = Policy::preset("standard").unwrap();
    let facts = workspace.answer(&world, &policy, &request, &candidates).unwrap();
    let model = facts.vectors()[0].model();
    assert_eq!((model.name.as_str(), model.dimensions), ("mine", 2));
    let other = endpoint(&url, "revision = \"2\"").unwrap().model();
    assert_ne!(model.digest, other.digest);
    let mut mixed = facts.clone();
    let others = std::sync::Arc::new(tenure::vectors::Vectors::new(other));
    assert!(mixed.add_vectors(others).is_err());
    let compiled = tenure::compile(&world, &policy, &request, &candidates, &facts).unwrap();
    let trace = &compiled.single().unwrap().trace;
    let relevance = |name: &str| trace.verdict(name).unwrap().score.unwrap().relevance;
    assert!(relevance("b") > relevance("a"));
}

#[test]
fn a_source_in_a_compile_is_condensed_by_its_parts() {
    let function = |at: usize| {
        let name = if at == 31 {
            "drain_valve".to_owned()
        } else {
            format!("step_{at}")
        };
        let body = format!("    count += lookup({at}, table);\n").repeat(8);
        format!("fn {name}(count: &mut u32) {{\n{body}}}\n\n")
    };
    let source: String = (0..60).map(function).collect();
    let passage = |name: &str, content: &str| {
        let document = serde_json::json!({
            "name": name, "content": content, "object_type": "retrieved_passage",
            "provenance": { "source_id": "src/pump.rs", "retrieved_at": "2026-05-01" },
        });
        let document: ObjectDocument = serde_json::from_value(document).unwrap();
        document.seal().unwrap()
    };
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("standard").unwrap();
    let request = Request::new("Why does drain_valve hang?", Budget::tokens(4_400));
    let candidates = Candidates::new(vec![passage("pump", &source)]);

    let world = workspace.world("gpt-4o").unwrap();
    let facts = workspace.answer(&world, &policy, &request, &candidates).unwrap();
    let run = |facts: &Facts| {
        let world = workspace.world("gpt-4o").unwrap();
        let outcome = tenure::compile(&world, &policy, &request, &candidates, facts).unwrap();
        outcome.single().unwrap().clone()
    };
    let compiled = run(&facts);
    let [condensed] = &compiled.trace.condensed[..] else {
        panic!("{:?}", compiled.trace.verdicts);
    };
    assert_eq!(condensed.method, Method::Elided);
    assert!(compiled.trace.notes.is_empty() && condensed.pointer.is_some());
    assert!(compiled.envelope.total_tokens <= 4_400);
    let payload = |compiled: &tenure::Compiled| {
        let payload = compiled.envelope.payload.as_ref().unwrap();
        payload.to_string()
    };
    let text = payload(&compiled);
    assert!(text.contains(function(31).trim_end()), "{text}");
    assert!(
        text.contains("fn step_59(count: &mut u32) { … 8 lines left out }"),
        "{text}"
    );
    assert_eq!(text.matches("; original ").count(), 1);

    // The answers, written and read, give the same bytes; without them nothing is cut, and a note says so.
    let read: Facts = serde_json::from_str(&serde_json::to_string(&facts).unwrap()).unwrap();
    let again = run(&read);
    assert_eq!((payload(&again), &again.trace), (text, &compiled.trace));
    let without = run(&Facts::none());
    assert!(without.trace.condensed.is_empty());
    let notes = serde_json::to_value(&without.trace.notes).unwrap();
    assert_eq!(
        [&notes[0]["code"], &notes[1]["code"]],
        ["no_vectors", "fact_missing"]
    );
    // Nobody asks about the parts of what is short, or no code.
    let workspace = workspace.without_vectors();
    for content in [
        function(1).repeat(3),
        "It rained, and nobody minded. ".repeat(300),
    ] {
        let document = ObjectDocument::named("note", content.as_str());
        let candidates = Candidates::new(vec![document.seal().unwrap()]);
        let facts = workspace.answer(&world, &policy, &request, &candidates).unwrap();
        assert_eq!(facts, Facts::none());
    }
}
