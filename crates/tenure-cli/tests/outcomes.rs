//! Outcomes and corrections: proposed, accepted by a person, compiled from then on, and withdrawn again.

use serde_json::{Value, json};

use crate::support::Bench;

const TEXT: &str = "Valves are listed in bar, never in psi.";

fn compiled(bench: &Bench) -> Value {
    bench.json(&[
        "compile",
        "--task",
        "List the valves in bar.",
        "--budget",
        "2000",
        "--format",
        "json",
    ])
}

/// The section that an object stands in, of a compile or of a session's request.
fn section(out: &Value, name: &str) -> Option<String> {
    let verdicts = out["trace"]["verdicts"].as_array().unwrap();
    let verdict = verdicts.iter().find(|verdict| verdict["name"] == name)?;
    let is_in = verdict["verdict"] == "included";
    is_in.then(|| verdict["section"].as_str().unwrap().to_owned())
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("tone.md", "# tone\n\nList the valves in one sentence.\n");
    bench.ok(&["store", "put", "--as", "guidance", "tone.md"]);
    bench
}

fn propose(bench: &Bench, more: &[&str]) -> Value {
    let args = ["outcome", "propose", "--text", TEXT, "--format", "json"];
    bench.json(&[&args[..], more].concat())
}

fn listed(bench: &Bench) -> Value {
    bench.json(&["outcome", "list", "--format", "json"])["outcomes"].take()
}

#[test]
fn only_what_a_person_accepted_is_compiled() {
    let bench = bench();
    let record = bench.json(&[
        "compile",
        "--task",
        "List the valves.",
        "--budget",
        "2000",
        "--record",
        "--format",
        "json",
    ]);
    let record = record["record_ids"][0].as_str().unwrap().to_owned();
    let of = ["--name", "bars", "--record", &record, "--author", "agent 7"];
    assert_eq!(propose(&bench, &of)["objects"][0]["outcome"], "created");
    // A proposal is shown, and not compiled.
    let out = compiled(&bench);
    assert_eq!(section(&out, "bars"), None);
    let unfetched = out["trace"]["unfetched"].as_array().unwrap();
    let left = json!({ "what": "bars", "why": "awaiting_confirmation" });
    assert!(unfetched.contains(&left), "{unfetched:?}");
    let shown = bench.ok(&["review", "list"]);
    assert!(
        shown.starts_with("accept or reject") && shown.contains("bars"),
        "{shown}"
    );
    let said = bench.refused(5, &["store", "confirm", "bars"]);
    assert!(said.contains("tenure review accept"), "{said}");
    let said = bench.refused(5, &["outcome", "withdraw", "bars", "--by", "ada"]);
    assert!(said.contains("not accepted yet"), "{said}");
    let said = bench.refused(2, &["outcome", "accept", "bars", "--by", " "]);
    assert!(said.contains("no name"), "{said}");

    bench.ok(&["outcome", "accept", "bars", "--by", "ada"]);
    assert_eq!(section(&compiled(&bench), "bars").as_deref(), Some("karma"));
    let line = &listed(&bench)[0];
    assert_eq!(
        (&line["state"], &line["decided_by"], &line["proposed_by"]),
        (&json!("accepted"), &json!("ada"), &json!("agent 7"))
    );
    assert_eq!(
        (&line["record"], &line["content"]),
        (&json!(record), &json!(TEXT))
    );
    assert!(line["decided_at"].as_str() > line["proposed_at"].as_str());
    let said = bench.refused(5, &["outcome", "accept", "bars", "--by", "ada"]);
    assert!(said.contains("withdraw it instead"), "{said}");
    let said = bench.refused(5, &["outcome", "propose", "--text", "x", "--name", "bars"]);
    assert!(said.contains("is there already"), "{said}");

    bench.ok(&["outcome", "withdraw", "bars", "--by", "eve"]);
    assert_eq!(section(&compiled(&bench), "bars"), None);
    // What was withdrawn may be proposed anew, and is rejected.
    propose(&bench, &["--name", "bars"]);
    bench.ok(&["outcome", "reject", "bars", "--by", "ada"]);
    let text = bench.ok(&["outcome", "list", "--state", "rejected"]);
    assert!(
        text.starts_with("rejected  outcome  bars\n") && text.contains(" by ada\n"),
        "{text}"
    );
    assert_eq!(section(&compiled(&bench), "bars"), None);
    for (args, said) in [
        (&["accept", "tone", "--by", "ada"][..], "is no outcome"),
        (&["accept", "nothing", "--by", "ada"], "no object named"),
        (
            &["propose", "--text", "x", "--record", "rec-1"],
            "there is no record",
        ),
        (&["propose", "--text", ""], "content"),
        (&["list", "--state", "accept"], "did you mean `accepted`?"),
        (&["repeat", "bars"], "corrects no mistake"),
    ] {
        let run = bench.run(&[&["outcome"], args].concat());
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(
            !run.status.success() && error.contains(said),
            "{args:?}: {error}"
        );
    }
}

#[test]
fn repeats_of_a_corrected_mistake_are_counted() {
    let bench = bench();
    let mistake = ["--name", "bars", "--mistake", "PSI in the list  of valves"];
    propose(&bench, &mistake);
    // Nobody has accepted it yet, so the mistake is none that was corrected.
    let said = bench.refused(5, &["outcome", "repeat", "bars"]);
    assert!(
        said.contains("before that, a mistake is no repeat"),
        "{said}"
    );
    bench.ok(&["outcome", "accept", "bars", "--by", "ada"]);
    let again = propose(
        &bench,
        &["--name", "other", "--mistake", "psi in the list of valves"],
    );
    assert_eq!(again["objects"][0]["name"], "bars");
    assert_eq!(again["objects"][0]["outcome"], "unchanged");
    bench.ok(&["outcome", "repeat", "bars"]);
    propose(
        &bench,
        &["--name", "third", "--mistake", "psi in another list"],
    );
    let all = listed(&bench);
    let repeats: Vec<(&str, u64)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            (
                line["name"].as_str().unwrap(),
                line["repeats"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(repeats, [("bars", 2), ("third", 0)]);
    assert_eq!(all[0]["kind"], "correction");
    // The log keeps digests of what was said; an erasure takes the entries.
    bench.ok(&["store", "erase", "bars"]);
    let names: Vec<Value> = listed(&bench)
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["name"].clone())
        .collect();
    assert_eq!(names, ["third"]);
}

#[test]
fn a_running_session_gets_it_at_the_tail_and_the_next_epoch_in_karma() {
    let bench = bench();
    bench.ok(&["session", "new", "talk"]);
    let turn = |said: &str| {
        bench.ok(&["session", "append", "talk", "--text", said]);
        bench.json(&[
            "session",
            "compile",
            "talk",
            "--query",
            said,
            "--task",
            "List the valves in bar.",
            "--budget",
            "4000",
            "--format",
            "json",
        ])
    };
    let first = turn("Which valves are there?");
    propose(&bench, &["--name", "bars"]);
    bench.ok(&["outcome", "accept", "bars", "--by", "ada"]);
    let second = turn("And the pressures?");
    assert_eq!(
        section(&second, "bars").as_deref(),
        Some("recall"),
        "{second}"
    );
    let bytes = |out: &Value| out["envelope"]["payload"].to_string();
    assert!(bytes(&second).contains(TEXT));
    let tokens = |out: &Value| out["trace"]["total_tokens"].as_u64().unwrap();
    assert!(tokens(&second) > tokens(&first));
    // The floor loses a rule, so that the epoch ends.
    bench.ok(&["store", "retract", "tone"]);
    let third = turn("And the sizes?");
    assert_eq!(section(&third, "bars").as_deref(), Some("karma"), "{third}");
    // Withdrawn, it ends the epoch in which it stands and is gone.
    bench.ok(&["outcome", "withdraw", "bars", "--by", "ada"]);
    let fourth = turn("And the makers?");
    assert_eq!(section(&fourth, "bars"), None);
    assert!(!bytes(&fourth).contains(TEXT), "{fourth}");
}

#[test]
fn in_a_loop_of_tools_the_very_next_request_has_it() {
    let bench = bench();
    bench.ok(&["session", "new", "talk"]);
    bench.ok(&[
        "session",
        "append",
        "talk",
        "--text",
        "List the valves in bar.",
    ]);
    let task = "List the valves in bar.";
    let compile = || {
        bench.json(&[
            "session",
            "compile",
            "talk",
            "--task",
            task,
            "--budget",
            "4000",
            "--record",
            "--target",
            "anthropic-messages",
            "--format",
            "json",
        ])
    };
    let step = |number: u32| {
        let call = json!({ "role": "assistant", "content": [{
            "type": "tool_use", "id": format!("c{number}"), "name": "list", "input": { "at": number } }] });
        let result = json!({ "role": "user", "content": [{
            "type": "tool_result", "tool_use_id": format!("c{number}"), "content": format!("valve {number}: 4 bar") }] });
        bench.file("step.json", json!([call, result]).to_string());
        bench.ok(&[
            "session",
            "append",
            "talk",
            "step.json",
            "--from",
            "anthropic",
        ]);
        compile()
    };
    let messages = |out: &Value| {
        let body = &out["envelope"]["payload"];
        let body = match body {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            body => body.clone(),
        };
        body["messages"].as_array().unwrap().clone()
    };
    compile();
    let second = step(1);
    propose(&bench, &["--name", "bars"]);
    bench.ok(&["outcome", "accept", "bars", "--by", "ada"]);
    let third = step(2);
    assert_eq!(third["session"]["cause"], "kept");
    assert_eq!(
        section(&third, "bars").as_deref(),
        Some("recall"),
        "{third}"
    );
    // What was sent stays, and it stands behind the result.
    let (before, now) = (messages(&second), messages(&third));
    assert_eq!(now[..before.len()], before[..]);
    let place = now.iter().position(|message| message.to_string().contains(TEXT));
    let place = place.unwrap();
    assert!(place >= before.len(), "{now:?}");
    assert_eq!(
        now[place - 1]["content"][0]["type"],
        "tool_result",
        "{now:?}"
    );
    let fourth = step(3);
    assert_eq!(fourth["session"]["cause"], "kept");
    let again = messages(&fourth);
    assert_eq!(again[..now.len()], now[..], "it stays where it was said");
    let said = again.iter().filter(|message| message.to_string().contains(TEXT));
    assert_eq!(said.count(), 1, "once");
    // Both are made again, each as it was.
    for out in [&third, &fourth] {
        let id = out["record_ids"][0].as_str().unwrap();
        let replay = bench.json(&["replay", id, "--format", "json"]);
        assert_eq!(replay["proof"], "whole", "{replay}");
    }
}
