//! On whose behalf a compile runs: the arguments say what a request says.

use crate::support::Bench;
use serde_json::json;

/// A store with an object for each label that a caller may have.
fn stored() -> Bench {
    let bench = Bench::new();
    let named = |name: &str, more: serde_json::Value| {
        let mut object = json!({ "name": name, "content": format!("The pump of {name} is hot.") });
        let fields = object.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        format!("{object}\n")
    };
    let memory = json!({
        "object_type": "inferred_belief", "authority_level": 3,
        "origins": ["https://a.example/page"],
    });
    let lines = [
        named("everyone", json!({})),
        named("talk", json!({ "session_id": "talk-1" })),
        named("job", json!({ "task_id": "job-1" })),
        named("personal", json!({ "tags": ["pii"] })),
        named("visited", memory),
    ];
    bench.file("objects.jsonl", lines.concat());
    bench.ok(&["store", "put", "objects.jsonl"]);
    bench
}

/// The names that stand in a compile with these arguments.
fn standing(bench: &Bench, more: &[&str]) -> Vec<String> {
    let args = ["compile", "--task", "Is the pump hot?", "--context", "full"];
    let out = bench.json(&[&args[..], &["--format", "json"], more].concat());
    let verdicts = out["trace"]["verdicts"].as_array().unwrap();
    let included = verdicts.iter().filter(|one| one["verdict"] == "included");
    let mut names: Vec<String> =
        included.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn the_arguments_admit_what_a_request_admits() {
    let bench = stored();
    for (args, principal, names) in [
        (&[][..], json!({}), &["everyone", "personal"][..]),
        (
            &["--session", "talk-1"],
            json!({ "session": "talk-1" }),
            &["everyone", "personal", "talk"],
        ),
        (
            &["--task-id", "job-1"],
            json!({ "task": "job-1" }),
            &["everyone", "job", "personal"],
        ),
        (
            &["--origin", "HTTPS://A.example:443/"],
            json!({ "origins": ["https://a.example"] }),
            &["everyone", "personal", "visited"],
        ),
        (
            &["--pii=false"],
            json!({ "pii_authorized": false }),
            &["everyone"],
        ),
        (
            &["--pii", "--session", "another"],
            json!({ "session": "another" }),
            &["everyone", "personal"],
        ),
    ] {
        assert_eq!(standing(&bench, args), names, "{args:?}");
        let owner = json!({ "clearance": "highly_restricted", "pii_authorized": true });
        let mut whole = owner.as_object().unwrap().clone();
        whole.extend(principal.as_object().unwrap().clone());
        let request = json!({ "task": { "objective": "x" }, "principal": whole });
        bench.file("request.json", request.to_string());
        let asked = standing(&bench, &["--request", "request.json"]);
        assert_eq!(asked, names, "{principal}");
    }
    // An argument overrides what the file says.
    let request = json!({
        "task": { "objective": "x" },
        "principal": { "clearance": "highly_restricted", "session": "talk-1" },
    });
    bench.file("request.json", request.to_string());
    let file = ["--request", "request.json"];
    assert_eq!(standing(&bench, &file), ["everyone", "talk"]);
    let over = ["--request", "request.json", "--session", "x", "--pii"];
    assert_eq!(standing(&bench, &over), ["everyone", "personal"]);
}

#[test]
fn a_wrong_value_names_its_flag_and_what_was_expected() {
    let bench = Bench::new();
    for (args, flag, expected) in [
        (&["--session", ""][..], "--session", "value"),
        (&["--task-id="], "--task-id", "value"),
        (
            &["--origin", "example.com"],
            "--origin",
            "https://example.com",
        ),
        (
            &["--origin", "https://a.example/x"],
            "--origin",
            "https://example.com",
        ),
        (
            &["--origin", "ftp://a.example"],
            "--origin",
            "https://example.com",
        ),
        (&["--pii=maybe"], "--pii", "true, false"),
        (
            &["--clearance", "secret"],
            "--clearance",
            "highly_restricted",
        ),
        (&["--task-class", "slow"], "--task-class", "interactive"),
        (&["--task-type", "x"], "--task-type", "code_generation"),
        (&["--context", "some"], "--context", "retrieve"),
        (&["--target", "smoke"], "--target", "gemini"),
        (&["--as-of", "soon"], "--as-of", "RFC 3339"),
    ] {
        let args = [&["compile", "--task", "x"][..], args].concat();
        let message = bench.refused(1, &args);
        assert!(message.contains(flag), "{args:?}: {message}");
        assert!(message.contains(expected), "{args:?}: {message}");
    }
}
