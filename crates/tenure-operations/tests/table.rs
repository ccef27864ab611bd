//! Each entry of the table says all that a face needs, and its examples are forms that the operation takes.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_operations::{Caller, Context, Deciders, Entry, Input, Names, call, entry, table};
use tenure_store::{Store, Writing};
use tenure_workspace::Workspace;

/// Calls operations as the owner of an empty store.
pub(crate) fn with_store(calls: impl FnOnce(&Context<'_>)) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let workspace = Workspace::without_key().unwrap();
    calls(&Context {
        store: Some(&store),
        caller: &Caller::owner("local"),
        workspace: &workspace,
        writing: Writing::default(),
        expected: None,
        deciders: Deciders::Named,
    });
}

fn properties(entry: &Entry) -> Vec<(String, Value)> {
    let form = entry.whole_form();
    let properties = form.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.clone(), property.clone()))
        .collect()
}

#[test]
fn each_entry_has_a_name_a_summary_and_a_route_of_its_own() {
    let mut seen = BTreeSet::new();
    for entry in table() {
        assert!(seen.insert(entry.id.to_owned()), "{}", entry.id);
        let route = format!("{} {}", entry.route.method, entry.route.path);
        assert!(seen.insert(route.clone()), "{route}");
        let summary = entry.summary();
        assert!(
            (10..=120).contains(&summary.len()),
            "{}: {summary}",
            entry.id
        );
        assert!(!entry.examples.is_empty(), "{}", entry.id);
        for names in [entry.commands, entry.tools] {
            match names {
                Names::Are(names) => assert!(!names.is_empty(), "{}", entry.id),
                Names::None(why) => assert!(why.len() > 10, "{}", entry.id),
            }
        }
    }
}

#[test]
fn each_field_says_what_it_is_for() {
    for entry in table() {
        for (name, property) in properties(entry) {
            let says = property["description"].as_str().unwrap_or_default();
            assert!(says.len() > 3, "{} {name}: {says:?}", entry.id);
        }
    }
}

#[test]
fn examples_are_forms_with_known_fields() {
    for entry in table() {
        let known: BTreeSet<String> = properties(entry).into_iter().map(|(name, _)| name).collect();
        for example in entry.examples {
            let input: Value = serde_json::from_str(example.input).unwrap();
            for name in input.as_object().unwrap().keys() {
                assert!(known.contains(name), "{} {name}", entry.id);
            }
        }
    }
}

#[test]
fn an_outcome_is_proposed_listed_decided_on_and_repeated_by_name() {
    with_store(|context| {
        let answer = |id: &str, input: Value| -> Value {
            let answer = call(id, input.to_string().as_bytes(), context).unwrap();
            serde_json::from_slice(&answer).unwrap()
        };
        answer(
            "proposeOutcome",
            json!({ "content": "Pressure is in bar.", "name": "bars", "mistake": "psi" }),
        );
        let listed = answer("listOutcomes", json!({ "state": "proposed" }));
        assert_eq!(listed["outcomes"][0]["kind"], "correction");
        let pending = answer("listProposals", json!({}));
        assert_eq!(pending["proposals"][0]["name"], "bars");
        answer(
            "decideOutcome",
            json!({ "outcome": "bars", "decision": "accept", "by": "ada" }),
        );
        answer("repeatMistake", json!({ "outcome": "bars" }));
        let listed = answer("listOutcomes", json!({}));
        let line = &listed["outcomes"][0];
        assert_eq!(
            (&line["decided_by"], &line["repeats"]),
            (&json!("ada"), &json!(1))
        );
        assert_eq!(answer("listProposals", json!({}))["proposals"], json!([]));
    });
}

#[test]
fn an_input_that_is_no_form_names_its_field() {
    with_store(|context| {
        for (id, input, at, said) in [
            ("proposeOutcome", r#"{"content": 3}"#, "content", "string"),
            (
                "proposeOutcome",
                r#"{"contents": "x"}"#,
                "contents",
                "unknown field",
            ),
            ("proposeOutcome", "{}", "content", "a text or an object"),
            ("proposeOutcome", r#"{"content": " "}"#, "content", "empty"),
            (
                "proposeOutcome",
                r#"{"content": "x", "kind": "correction"}"#,
                "kind",
                "correction",
            ),
            (
                "proposeOutcome",
                r#"{"content": "x", "derived_from": ["y"]}"#,
                "derived_from",
                "`y`",
            ),
            (
                "decideOutcome",
                r#"{"outcome": "x", "decision": "accept"}"#,
                "by",
                "nobody decides",
            ),
            (
                "decideOutcome",
                r#"{"outcome": "x", "decision": "accept", "by": "a"}"#,
                "outcome",
                "`x`",
            ),
            ("listOutcomes", "[]", "body", "an array"),
            ("listOutcomes", r#"{"state": "accept"}"#, "state", "accept"),
        ] {
            let error = call(id, input.as_bytes(), context).unwrap_err();
            let found = error.at.as_ref().map(|at| at.source.as_str());
            assert_eq!(found, Some(at), "{id} {input}: {error}");
            assert!(error.to_string().contains(said), "{id} {input}: {error}");
        }
        let error = call("listOutcome", b"", context).unwrap_err();
        assert!(
            error.to_string().contains("did you mean `listOutcomes`?"),
            "{error}"
        );
    });
}

#[test]
fn a_query_is_read_by_the_types_of_the_form() {
    let entry = entry("listOutcomes").unwrap();
    let form = entry.whole_form();
    with_store(|context| {
        let answer = |texts: &[(&str, &str)]| {
            let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
            entry.call(Input::default().with_texts(&form, texts)?, context)
        };
        assert!(answer(&[("state", "proposed")]).is_ok());
        let owner = r#"{"tenant": "local"}"#;
        assert!(answer(&[("principal", owner)]).is_ok());
        for (texts, at) in [
            (&[("state", "proposed"), ("state", "accepted")][..], "state"),
            (&[("principal", "ada")], "principal"),
            (&[("principal", r#"{"tenant": 3}"#)], "principal.tenant"),
            (&[("states", "proposed")], "states"),
        ] {
            let error = answer(texts).unwrap_err();
            assert_eq!(error.at.as_ref().unwrap().source, at, "{error}");
        }
    });
}
