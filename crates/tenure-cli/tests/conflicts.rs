//! Claims that cannot both hold: what a write says of them, a compile leaves out, and a person decides.

use serde_json::Value;

use crate::support::Bench;

const OFFICES: &str = r#"{"name":"badge","object_type":"project_decision","content":"The office badge says Chicago.","normalized_claim":"office == Chicago","canonical_entity_ids":["ada"]}
{"name":"lease","object_type":"project_decision","content":"The lease of the office says Denver.","normalized_claim":"office == Denver","canonical_entity_ids":["ada"]}
{"name":"weight","object_type":"project_decision","content":"A desk weighs 30 kg.","normalized_claim":"weight == 30 kg","canonical_entity_ids":["desk"]}
"#;

fn compiled(bench: &Bench) -> Value {
    let args = [
        "compile",
        "--task",
        "Where is the office?",
        "--format",
        "json",
    ];
    serde_json::from_str(&bench.ok(&args)).unwrap()
}

/// The reason for each of the two.
fn reasons(bench: &Bench) -> [String; 2] {
    let out = compiled(bench);
    let verdicts = out["trace"]["verdicts"].as_array().unwrap();
    ["badge", "lease"].map(|name| {
        let verdict = verdicts.iter().find(|verdict| verdict["name"] == name);
        verdict.unwrap()["reason"]["code"]
            .as_str()
            .unwrap()
            .to_owned()
    })
}

#[test]
fn a_conflict_is_listed_left_out_and_decided() {
    let bench = Bench::new();
    bench.file("offices.jsonl", OFFICES);
    let said = bench.refused(2, &["conflicts", "list"]);
    assert!(said.contains("there is no store"), "{said}");
    let said = bench.ok(&["store", "put", "offices.jsonl", "--verbose"]);
    assert!(
        said.contains("claim_not_parsed: ") && said.contains("with a unit"),
        "{said}"
    );
    let checked = bench.ok(&["store", "check"]);
    assert!(checked.contains("weight: claim_not_parsed: "), "{checked}");
    let strict = bench.run(&["store", "check", "--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    let listed = bench.ok(&["conflicts", "list", "--unresolved"]);
    assert!(listed.starts_with("office of ada\n"), "{listed}");
    assert!(
        listed.contains("  out     badge  office == \"chicago\"\n"),
        "{listed}"
    );
    assert!(
        listed.contains("by tie, since ") && listed.contains("ask: user question"),
        "{listed}"
    );
    let unresolved = "conflicting_claim_unresolved";
    assert_eq!(reasons(&bench), [unresolved, unresolved]);

    let args = [
        "conflicts",
        "resolve",
        "lease",
        "badge",
        "--stands",
        "first",
        "--note",
        "asked Ada",
    ];
    bench.ok(&args);
    assert_eq!(reasons(&bench), ["overridden", "fits"]);
    assert_eq!(
        bench.ok(&["conflicts", "list", "--unresolved"]),
        "no two claims contradict each other\n"
    );
    let shown = bench.ok(&["conflicts", "show", "badge", "lease", "--format", "json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown[0]["ground"], "tie");
    assert_eq!(
        (&shown[1]["ground"], &shown[1]["note"]),
        (&"person".into(), &"asked Ada".into())
    );

    bench.ok(&["store", "retract", "lease"]);
    assert_eq!(
        bench.ok(&["conflicts", "list"]),
        "no two claims contradict each other\n"
    );
    let late = bench.refused(5, &args);
    assert!(late.contains("there is no open conflict"), "{late}");
}
