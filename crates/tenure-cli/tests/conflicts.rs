//! Claims that cannot both hold: what a write says of them, a compile leaves out, and a person decides.

use serde_json::{Value, json};

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
        verdict.unwrap()["reason"]["code"].as_str().unwrap().to_owned()
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
    let named = bench.ok(&["conflicts", "list", "--slot", "OFFICE"]);
    assert!(named.starts_with("office of ada\n"), "{named}");
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
        "no conflict matches: waiting for a decision\n"
    );
    let shown = bench.ok(&["conflicts", "show", "badge", "lease", "--format", "json"]);
    let shown = serde_json::from_str::<Value>(&shown).unwrap()["conflicts"].take();
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

#[test]
fn a_filter_that_matches_nothing_is_named() {
    let bench = Bench::new();
    bench.file("offices.jsonl", OFFICES);
    bench.ok(&["store", "put", "offices.jsonl"]);
    let list = |more: &[&str]| bench.ok(&[&["conflicts", "list"], more].concat());
    assert_eq!(
        list(&["--slot", "desk", "--entity", "bob"]),
        "no conflict matches: of the entity `bob`, on the slot `desk`\n"
    );
    assert_eq!(
        list(&["--as-of", "2020-01-01"]),
        "no conflict matches: as of 2020-01-01T00:00:00Z\n"
    );
    let last = "ffffffff-ffff-4fff-8fff-ffffffffffff";
    assert_eq!(
        list(&["--after", &format!("{last}/{last}")]),
        "no more pairs come after that one\n"
    );
    // Errors call objects as they were called.
    let said = bench.refused(
        5,
        &[
            "conflicts",
            "resolve",
            "badge",
            "weight",
            "--stands",
            "first",
        ],
    );
    assert!(said.contains("between `badge` and `weight`"), "{said}");
    let said = bench.refused(2, &["outcome", "accept", "badge", "--by", "ada"]);
    assert!(said.contains("`badge` is no outcome"), "{said}");
    assert_eq!(
        bench.ok(&["outcome", "list", "--state", "accepted"]),
        "no outcome is accepted\n"
    );
}

#[test]
fn an_object_says_itself_what_a_contradiction_does_to_it() {
    let bench = Bench::new();
    let policies = |badge: &str, lease: &str| {
        OFFICES.replacen("\"canonical", &format!("{badge}\"canonical"), 1).replacen(
            "Denver\",\"canonical",
            &format!("Denver\",{lease}\"canonical"),
            1,
        )
    };
    let gives = "\"conflict_policy\":\"give_way\",";
    bench.file("offices.jsonl", policies(gives, ""));
    bench.ok(&["store", "put", "offices.jsonl"]);
    assert_eq!(reasons(&bench), ["overridden", "fits"]);
    let listed = bench.ok(&["conflicts", "list"]);
    assert!(
        listed.contains("out     badge") && listed.contains("by gave_way, since "),
        "{listed}"
    );
    // The policy is kept with the object, and goes by its revision.
    let shown: Value =
        serde_json::from_str(&bench.ok(&["store", "get", "badge", "--format", "json"])).unwrap();
    assert_eq!(shown[0]["object"]["conflict_policy"], "give_way");
    // The later one would stand, but the other leaves it to a person.
    let bench = Bench::new();
    let asks = "\"conflict_policy\":\"ask\",\"valid_from\":\"2026-01-01\",";
    bench.file(
        "offices.jsonl",
        policies("\"valid_from\":\"2026-02-01\",", asks),
    );
    bench.ok(&["store", "put", "offices.jsonl"]);
    let unresolved = "conflicting_claim_unresolved";
    assert_eq!(reasons(&bench), [unresolved, unresolved]);
    let listed = bench.ok(&["conflicts", "list", "--unresolved"]);
    assert!(listed.contains("by asks, since "), "{listed}");
    bench.file(
        "offices.jsonl",
        policies("\"conflict_policy\":\"fight\",", ""),
    );
    let said = bench.refused(2, &["store", "put", "offices.jsonl"]);
    assert!(
        said.contains("fight") && said.contains("give_way"),
        "{said}"
    );
}

#[test]
fn an_audit_lists_what_objects_leave_to_their_types() {
    let bench = Bench::new();
    bench.file(
        "offices.jsonl",
        OFFICES.replacen("\"canonical", "\"conflict_policy\":\"ask\",\"canonical", 1),
    );
    bench.ok(&["store", "put", "offices.jsonl"]);
    let said = bench.ok(&["store", "audit"]);
    assert!(
        said.contains("  conflict_policy      protocols\n")
            && said.contains("  retirement_rule      archive\n")
            && said.ends_with("3 of 3 objects leave a question to their type\n"),
        "{said}"
    );
    let asked = [
        "store",
        "audit",
        "--question",
        "conflict_policy",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_str(&bench.ok(&asked)).unwrap();
    let names: Vec<&str> = json["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (names, &json["audited"]),
        (vec!["lease", "weight"], &3.into())
    );
    let one = &json["objects"][0]["by_type"][0];
    assert_eq!(
        (&one["question"], &one["answer"], &one["own"]),
        (
            &"conflict_policy".into(),
            &"protocols".into(),
            &false.into()
        )
    );
    let said = bench.refused(1, &["store", "audit", "--question", "lifespam"]);
    assert!(
        said.contains("--question") && said.contains("did you mean `lifespan`?"),
        "{said}"
    );
    let said = bench.refused(2, &["store", "audit", "nothing"]);
    assert!(said.contains("no object named `nothing`"), "{said}");
}

#[test]
fn claims_that_cannot_be_compared_are_said_to_be_so() {
    let bench = Bench::new();
    let put = |claim: &str, more: &str| {
        let line = format!(
            "{{\"name\":\"bad\",\"object_type\":\"project_decision\",\"content\":\"Bad.\",\"normalized_claim\":\"{claim}\",{more}\"canonical_entity_ids\":[\"ada\"]}}\n"
        );
        bench.file("bad.jsonl", line);
        bench.run(&["store", "put", "bad.jsonl", "--verbose"])
    };
    for claim in [
        "weight == NaN",
        "weight == 30 kg",
        "born == 1445-09-01 AH",
        "born == 2026-02-30",
        "weight ==",
        "== 5",
        "weight = 5",
    ] {
        let done = put(claim, "");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{claim}");
        assert!(said.contains("claim_not_parsed: "), "{claim}: {said}");
    }
    let strict = bench.run(&["store", "check", "--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    // An interval that ends before it begins is no object at all.
    let ends = "\"valid_from\":\"2026-06-06\",\"valid_until\":\"2026-01-01\",";
    let done = put("weight == 5", ends);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("valid_until"), "{said}");
}

#[test]
fn many_pairs_are_shown_in_part() {
    let bench = Bench::new();
    let claims = (0..16).map(|n| {
        format!(
            r#"{{"name":"c{n}","content":"It is {n}.","normalized_claim":"limit == {n}","canonical_entity_ids":["ada"]}}"#
        )
    });
    bench.file("claims.jsonl", claims.collect::<Vec<_>>().join("\n"));
    bench.ok(&["store", "put", "claims.jsonl"]);
    let pairs = |out: &std::process::Output| {
        let out = String::from_utf8_lossy(&out.stdout);
        out.matches("limit of ada").count()
    };
    let shown = bench.run(&["conflicts", "list"]);
    let said = String::from_utf8_lossy(&shown.stderr);
    assert!(
        said.contains("note: there are more pairs: --limit N shows more, --after "),
        "{said}"
    );
    assert_eq!(pairs(&shown), 100);
    let after = said.trim().rsplit_once("--after ").unwrap().1;
    let after = after.split(' ').next().unwrap();
    let rest = bench.run(&["conflicts", "list", "--after", after]);
    assert_eq!((pairs(&rest), rest.stderr.len()), (20, 0));
    let said = bench.refused(2, &["conflicts", "list", "--after", "page 2"]);
    assert!(
        said.contains("--after") && said.contains("FIRST/SECOND"),
        "{said}"
    );
    for (option, value, count) in [
        ("--entity", "ada", 100),
        ("--entity", "bob", 0),
        ("--slot", "limit", 100),
        ("--slot", "limi", 0),
    ] {
        let shown = bench.run(&["conflicts", "list", option, value]);
        assert_eq!(pairs(&shown), count, "{option} {value}");
    }
    let shown = bench.run(&["conflicts", "list", "--limit", "120"]);
    assert_eq!((pairs(&shown), shown.stderr.len()), (120, 0));
    let all: Value =
        serde_json::from_str(&bench.ok(&["conflicts", "list", "--format", "json"])).unwrap();
    assert_eq!(all["conflicts"].as_array().unwrap().len(), 100);
    assert!(all["next"].is_string());
    bench.refused(1, &["conflicts", "list", "--limit", "0"]);
}

#[test]
fn an_import_says_which_claims_it_cannot_read() {
    let bench = Bench::new();
    let object = OFFICES.lines().last().unwrap();
    bench.file("lines.jsonl", format!("{{\"object\":{object}}}\n"));
    let said = bench.ok(&["store", "import", "lines.jsonl"]);
    assert!(said.contains("weight: claim_not_parsed: "), "{said}");
}

#[test]
fn decisions_that_leave_nothing_are_refused() {
    let bench = Bench::new();
    let claims = ["2024", "2025", "2026"].map(|year| {
        format!(
            r#"{{"name":"office-{year}","object_type":"project_decision","content":"It is room {year}.","normalized_claim":"office == {year}","canonical_entity_ids":["ada"],"valid_from":"{year}-01-01"}}"#
        )
    });
    bench.file("offices.jsonl", claims.join("\n"));
    bench.ok(&["store", "put", "offices.jsonl"]);
    let listed = bench.ok(&["conflicts", "list", "--limit", "1"]);
    assert!(
        listed.contains("office == 2025 from 2025-01-01T00:00:00Z")
            && listed.contains("  both from "),
        "{listed}"
    );
    let args = |one, other| ["conflicts", "resolve", one, other, "--stands", "first"];
    let said = bench.refused(5, &args("office-2024", "office-2026"));
    assert!(
        said.contains("`office-2024` falls to `office-2025` by valid_from")
            && said.contains("hint: decide between `office-2024` and `office-2025` first"),
        "{said}"
    );
    bench.ok(&args("office-2024", "office-2025"));
    bench.ok(&args("office-2024", "office-2026"));
    bench.ok(&args("office-2025", "office-2026"));
    let said = bench.refused(5, &args("office-2026", "office-2024"));
    assert!(
        said.contains(
            "circle: `office-2026` over `office-2024` over `office-2025` over `office-2026`"
        ),
        "{said}"
    );
    // What was decided between is said otherwise: the decision has ended, and is shown with what it was about.
    bench.file(
        "offices.jsonl",
        claims[0].replace("office == 2024", "office == 2023"),
    );
    bench.ok(&["store", "put", "offices.jsonl"]);
    let shown = bench.ok(&["conflicts", "show", "office-2024", "office-2025"]);
    let (then, now) = shown.rsplit_once("office of ada").unwrap();
    assert!(
        then.contains("by person")
            && then.contains("office == 2024")
            && !then.contains("office == 2023"),
        "{shown}"
    );
    assert!(
        now.contains("by valid_from") && now.contains("office == 2023"),
        "{shown}"
    );
}

#[test]
fn whom_to_ask_follows_from_where_both_come_from() {
    let bench = Bench::new();
    let from = |kind: &str| {
        let provenance =
            format!("Chicago\",\"provenance\":{{\"source_kind\":\"{kind}\"}},\"canonical");
        let offices: String = OFFICES.lines().take(2).map(|line| format!("{line}\n")).collect();
        offices
            .replace(
                "project_decision\"",
                "project_decision\",\"authority_level\":4,\"source_authority\":0.5",
            )
            .replace("Chicago\",\"canonical", &provenance)
    };
    for (kind, asked) in [
        (
            "system_of_record",
            "  ask: system of record, user question\n",
        ),
        ("tool", "  ask: tool lookup, user question\n"),
        ("document", "  ask: user question\n"),
    ] {
        bench.file("offices.jsonl", from(kind));
        bench.ok(&["store", "put", "offices.jsonl"]);
        let listed = bench.ok(&["conflicts", "list", "--unresolved"]);
        assert!(listed.contains(asked), "{kind}: {listed}");
    }
}

#[test]
fn claims_that_cannot_be_read_are_told_of_without_a_store() {
    let bench = Bench::new();
    let objects: Vec<&str> = OFFICES.lines().collect();
    bench.file("offices.json", format!("[\n{}\n]", objects.join(",\n")));
    bench.file("offices.jsonl", OFFICES);
    let line = 1 + objects.len();
    let compile = [
        "compile",
        "offices.json",
        "--no-store",
        "--task",
        "Where is the office?",
    ];
    let said = bench.run(&compile);
    assert!(said.status.success());
    let told = String::from_utf8(said.stderr).unwrap();
    let of_claims: Vec<&str> =
        told.lines().filter(|line| line.contains("claim_not_parsed")).collect();
    assert_eq!(of_claims.len(), 1, "{told}");
    let start = "warning: weight: claim_not_parsed: `weight == 30 kg`: ";
    assert!(of_claims[0].starts_with(start), "{told}");
    let place = format!("(offices.json:{line})");
    assert!(of_claims[0].ends_with(&place), "{told}");
    // A write says it in its answer, once.
    let said = bench.run(&["store", "put", "offices.jsonl"]);
    let told = [said.stdout, said.stderr].concat();
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.matches("claim_not_parsed").count(), 1, "{told}");
    // Many of them are a few lines.
    let many: Vec<Value> = (0..12)
        .map(|at| json!({ "name": format!("o{at}"), "content": "Nice.", "normalized_claim": "it is nice" }))
        .collect();
    bench.file("many.json", json!(many).to_string());
    let said = bench.run(&["compile", "many.json", "--no-store", "--task", "Is it?"]);
    let told = String::from_utf8(said.stderr).unwrap();
    assert_eq!(told.matches("claim_not_parsed").count(), 5, "{told}");
    let rest = "warning: 7 more about claims that cannot be compared with others\n";
    assert!(told.contains(rest), "{told}");
}
