//! Claims with their evidence: weighed all at once, revised once, and gone with what they stood on.

use serde_json::{Value, json};

use crate::support::Bench;

fn claims(name: &str, value: &str, origin: &str, more: Value) -> String {
    let mut object = json!({
        "name": name, "content": format!("{name} says {value}."), "object_type": "project_decision",
        "normalized_claim": format!("office == {value}"), "canonical_entity_ids": ["ada"],
        "source_origin": origin, "source_authority": 0.6,
    });
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("{object}\n")
}

fn belief(bench: &Bench) -> Value {
    bench.json(&["belief", "show", "guess", "--format", "json"])["belief"].take()
}

#[test]
fn confidence_comes_from_all_evidence_and_falls_with_it() {
    let bench = Bench::new();
    let guess = json!({ "object_type": "inferred_belief" });
    let put = |lines: &[String]| {
        bench.file("claims.jsonl", lines.concat());
        bench.ok(&["store", "put", "claims.jsonl"]);
    };
    put(&[
        claims("guess", "Denver", "notes/guess", guess),
        claims("lease", "Denver", "legal/lease", json!({})),
    ]);
    let one = belief(&bench);
    assert_eq!(one["refused"], "too_little_evidence");
    let refused = bench.refused(4, &["belief", "revise", "guess"]);
    assert!(refused.contains("must not persist"), "{refused}");
    // What comes from one origin has one vote.
    put(&[claims("annex", "Denver", "legal/lease", json!({}))]);
    assert_eq!(belief(&bench)["confidence"], one["confidence"]);
    put(&[claims("badge", "Denver", "security/badge", json!({}))]);
    let two = belief(&bench);
    assert!(two["confidence"].as_f64() > one["confidence"].as_f64());
    assert_eq!(two.get("refused"), None);
    bench.ok(&["belief", "revise", "guess"]);
    let said = bench.ok(&["belief", "revise", "guess"]);
    assert!(said.contains("unchanged"), "{said}");
    assert_eq!(belief(&bench)["stated"], two["confidence"]);
    // What speaks against it weighs as much, and what is retracted nothing.
    put(&[claims("rumour", "Chicago", "chat/rumour", json!({}))]);
    assert_eq!(belief(&bench)["confidence"], one["confidence"]);
    for gone in ["rumour", "lease", "annex"] {
        bench.ok(&["store", "retract", gone]);
    }
    assert!(belief(&bench)["confidence"].as_f64() < two["confidence"].as_f64());
    // Nothing is left that it stands on.
    bench.ok(&["store", "retract", "badge"]);
    bench.refused(2, &["belief", "show", "guess"]);
    let log = bench.ok(&["belief", "log", "guess"]);
    // It was lowered by itself with the last of one origin, and ended with the last of the other.
    assert_eq!(log.lines().count(), 3, "{log}");
    bench.refused(2, &["belief", "show", "rumour"]);
}

#[test]
fn what_is_inferred_waits_until_it_is_confirmed_and_whoever_writes_it_is_told() {
    let bench = Bench::new();
    let guess = claims(
        "guess",
        "Denver",
        "notes/guess",
        json!({ "object_type": "inferred_belief" }),
    );
    bench.file("guess.jsonl", guess);
    let lease =
        json!({ "name": "lease", "content": "The office has a lease.", "object_type": "rule" });
    bench.file("lease.jsonl", format!("{lease}\n"));
    bench.ok(&["store", "put", "lease.jsonl"]);
    // It is told once: what, why, and how it is decided.
    let said = bench.run(&["store", "put", "guess.jsonl"]);
    let told = String::from_utf8_lossy(&said.stdout).into_owned();
    let told = format!("{told}{}", String::from_utf8_lossy(&said.stderr));
    let waits = "guess: awaits_confirmation: too_little_evidence; it is not compiled until `tenure review accept`";
    assert!(said.status.success() && told.starts_with(waits), "{told}");
    assert_eq!(told.lines().count(), 2, "{told}");
    let said = bench.ok(&["store", "put", "guess.jsonl", "-v"]);
    assert!(
        said.contains("awaits_confirmation: too_little_evidence"),
        "{said}"
    );
    let reason = || {
        let out = bench.json(&[
            "compile",
            "--task",
            "Where is the office?",
            "--format",
            "json",
        ]);
        let verdicts = out["trace"]["verdicts"].as_array().unwrap().clone();
        let mut verdicts = verdicts.iter().filter(|verdict| verdict["name"] == "guess");
        let reason = verdicts.next().map(|verdict| verdict["verdict"].clone());
        (reason, out["trace"]["unfetched"].clone())
    };
    let waits = json!([{ "what": "guess", "why": "awaiting_confirmation" }]);
    assert_eq!(reason(), (None, waits));
    bench.ok(&["store", "confirm", "guess"]);
    // It is a candidate as any other now, whatever becomes of it.
    let (verdict, unfetched) = reason();
    assert!(verdict.is_some() && unfetched.as_array().is_none_or(Vec::is_empty));
}

#[test]
fn what_waits_beside_what_is_believed_is_retracted_alone() {
    let bench = Bench::new();
    let put = |line: String| {
        bench.file("claims.jsonl", line);
        bench.ok(&["store", "put", "claims.jsonl"])
    };
    put(claims("desk", "Chicago", "notes/desk", json!({})));
    let guess = json!({ "object_type": "inferred_belief", "content": "desk says Denver." });
    let said = put(claims("desk", "Denver", "notes/desk", guess.clone()));
    assert!(said.contains("awaits_confirmation"), "{said}");
    let shown = bench.ok(&["store", "get", "desk"]);
    assert!(
        shown.contains("  believed  ") && shown.contains("  waiting   "),
        "{shown}"
    );
    let compiled = |task: &str| bench.ok(&["compile", "--task", task]);
    let text = compiled("What does the desk say?");
    assert!(
        text.contains("Chicago") && !text.contains("Denver"),
        "{text}"
    );
    // The list has the command that ends it.
    let proposals = bench.ok(&["review", "list"]);
    let ends = proposals.split("tenure review reject ").nth(1).unwrap();
    bench.ok(&["review", "reject", ends.split_whitespace().next().unwrap()]);
    assert!(compiled("What does the desk say?").contains("Chicago"));
    let refused = bench.refused(5, &["store", "retract", "desk", "--waiting"]);
    assert!(refused.contains("waits for nobody"), "{refused}");
    put(claims("desk", "Denver", "notes/desk", guess));
    bench.ok(&["store", "confirm", "desk"]);
    let text = compiled("What does the desk say?");
    assert!(
        text.contains("Denver") && !text.contains("Chicago"),
        "{text}"
    );
}

#[test]
fn evidence_that_expires_is_lowered_by_a_sweep_that_says_so() {
    let bench = Bench::new();
    let until = json!({ "valid_until": "2090-01-01", "source_authority": 0.9 });
    let guess = json!({ "object_type": "inferred_belief", "confidence_score": 0.98 });
    bench.file(
        "claims.jsonl",
        [
            claims("badge", "Denver", "security/badge", until),
            claims("lease", "Denver", "legal/lease", json!({})),
            claims("guess", "Denver", "notes/guess", guess),
        ]
        .concat(),
    );
    bench.ok(&["store", "put", "claims.jsonl"]);
    let sweep =
        |at: &str, more: &[&str]| bench.ok(&[&["store", "sweep", "--at", at], more].concat());
    let nothing = "0 retired, 0 records dropped\n";
    assert_eq!(sweep("2089-12-31", &[]), nothing);
    let dry = sweep("2090-01-01", &["--dry-run"]);
    assert!(
        dry.starts_with("lowered ") && dry.ends_with("0 would be retired, 1 lowered or ended\n"),
        "{dry}"
    );
    assert_eq!(belief(&bench)["stated"], 0.98);
    let done: Value = serde_json::from_str(&sweep("2090-01-01", &["--format", "json"])).unwrap();
    let one = &done["weakened"][0];
    assert_eq!(
        (&one["name"], &one["stated"]),
        (&json!("guess"), &json!(0.98))
    );
    assert_eq!(belief(&bench)["stated"], one["lowered_to"]);
    assert_eq!(sweep("2090-01-01", &[]), nothing);
    let log = bench.ok(&["belief", "log", "guess"]);
    assert_eq!(log.lines().count(), 2, "{log}");
}
