//! Forms of version 1, as they were first published, still load. A fixture is never changed: a form
//! that must change in another way than by new optional fields gets a new version, and fixtures of
//! its own.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure::registry::{Entry, Kind, Registries, RegistryView, Secrets, State};
use tenure::schema::{Form, schema};
use tenure::trace::Note;
use tenure::{Envelope, ObjectDocument, Policy, Reason, Request, Trace};

macro_rules! v1 {
    ($name:literal) => {
        include_str!(concat!("fixtures/v1/", $name))
    };
}

/// Reads `text` and asserts that it is written again as the same JSON.
#[track_caller]
fn check<T: DeserializeOwned + Serialize>(text: &str) -> T {
    let value: T = serde_json::from_str(text).unwrap();
    let again = serde_json::to_string(&value).unwrap();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(json(&again), json(text));
    value
}

/// Asserts that the published schema of the form admits `text`.
#[track_caller]
fn admits(form: Form, text: &str) {
    let schema = schema(form).to_value();
    let json: Value = serde_json::from_str(text).unwrap();
    if let Err(error) = jsonschema::validate(&schema, &json) {
        panic!("{form}: {error} at {}", error.instance_path());
    }
}

#[test]
fn objects() {
    let documents: Vec<ObjectDocument> = check(v1!("objects.json"));
    let ids = include_str!("fixtures/v1/revisions.txt").lines();
    assert_eq!(documents.len(), ids.clone().count());
    for (document, id) in documents.into_iter().zip(ids) {
        admits(Form::Object, &serde_json::to_string(&document).unwrap());
        // Ledgers name revisions: the same document has the same id in every version.
        assert_eq!(document.seal().unwrap().revision().id().to_string(), id);
    }
}

#[test]
fn request() {
    check::<Request>(v1!("request.json"));
    admits(Form::Request, v1!("request.json"));
    assert!(Request::from_json(v1!("request.json")).is_ok());
}

#[test]
fn policy() {
    let policy = Policy::from_toml(v1!("policy.toml")).unwrap();
    assert_eq!(policy.document().name, "fixture");
    admits(
        Form::Policy,
        &serde_json::to_string(policy.document()).unwrap(),
    );
}

#[test]
fn envelopes() {
    for text in [
        v1!("envelope.json"),
        v1!("envelope-chat.json"),
        v1!("envelope-anthropic.json"),
    ] {
        let envelope: Envelope = check(text);
        admits(Form::Envelope, text);
        // The payload is kept byte for byte.
        let payload = envelope.payload.unwrap();
        let digest = tenure::Digest::of(payload.bytes());
        assert_eq!(Some(digest), envelope.payload_digest);
    }
}

#[test]
fn trace() {
    check::<Trace>(v1!("trace.json"));
    admits(Form::Trace, v1!("trace.json"));
    assert!(Trace::from_json(v1!("trace.json")).is_ok());
}

#[test]
fn reasons_and_notes() {
    check::<Vec<Reason>>(v1!("reasons.json"));
    check::<Vec<Note>>(v1!("notes.json"));
}

#[test]
fn log() {
    let entries: Vec<Entry> = check(v1!("log.json"));
    let mut state = State::empty("main".into());
    for entry in entries {
        admits(Form::Op, &serde_json::to_string(&entry).unwrap());
        state.apply(&entry.by, entry.op).unwrap();
    }
    // The registry in the snapshot is what became of it.
    let secrets = Secrets::new([1; 32], [2; 32]);
    let mut restored = Registries::restore(v1!("snapshot.jsonl"), secrets).unwrap();
    assert_eq!(restored.snapshot().unwrap(), v1!("snapshot.jsonl"));
    let folded = RegistryView::new(Kind::Agent, state);
    let restored = restored.view("main").unwrap();
    assert!(folded.provenance().eq(restored.provenance()));
}
