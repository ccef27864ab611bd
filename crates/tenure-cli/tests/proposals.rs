//! What waits for a person, and the commands that are shown for it, pasted into a shell.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::Bench;

fn put(bench: &Bench, place: &[&str], objects: &[Value]) {
    let lines: String = objects.iter().map(|object| format!("{object}\n")).collect();
    bench.file("objects.jsonl", lines);
    bench.ok(&[&["store", "put", "objects.jsonl"][..], place].concat());
}

/// One of each kind that waits.
fn scene(place: &[&str]) -> Bench {
    let bench = Bench::new();
    let rule = |name: &str, more: Value| {
        let mut object =
            json!({ "name": name, "content": format!("{name} is so."), "object_type": "rule" });
        let fields = more.as_object().unwrap().clone();
        object.as_object_mut().unwrap().extend(fields);
        object
    };
    let old = |name: &str, retirement: &str| {
        let decay = json!({ "half_life_days": 1, "minimum_threshold": 0.5 });
        rule(
            name,
            json!({ "decay_rule": decay, "retirement_rule": retirement, "valid_from": "2020-01-01" }),
        )
    };
    let claim = |name: &str, value: u32| {
        let claim = format!("port == {value}");
        rule(
            name,
            json!({ "normalized_claim": claim, "canonical_entity_ids": ["desk"] }),
        )
    };
    let guess = json!({ "name": "guess", "content": "It is blue.", "object_type": "inferred_belief",
        "normalized_claim": "colour == blue", "canonical_entity_ids": ["desk"] });
    put(
        &bench,
        place,
        &[
            old("asked", "trigger_user_confirmation"),
            old("erased", "hard_delete"),
            claim("one", 80),
            claim("other", 443),
            rule("source", json!({})),
            rule("second", json!({})),
            guess,
        ],
    );
    let found = bench.json(&[&["store", "get", "source", "--format", "json"], place].concat());
    let source = found[0]["object"]["object_id"].clone();
    let found = bench.json(&[&["store", "get", "second", "--format", "json"], place].concat());
    let second = found[0]["object"]["object_id"].clone();
    let summary = rule("summary", json!({ "derived_from": [source, second] }));
    put(&bench, place, std::slice::from_ref(&summary));
    let newer = rule("source", json!({ "content": "It is otherwise." }));
    put(&bench, place, &[newer]);
    bench.ok(&[&["store", "sweep"], place].concat());
    let proposal = [
        "outcome",
        "propose",
        "--name",
        "bars",
        "--text",
        "Valves are in bar.",
    ];
    bench.ok(&[&proposal, place].concat());
    let add = |id: &str, name: &str| {
        let args = ["entity", "add", id, "--name", name, "--kind", "person"];
        bench.ok(&[&args, place].concat());
    };
    add("chen-1", "Mei Chen");
    add("chen-2", "Mei Chen");
    put(
        &bench,
        place,
        &[rule("mention", json!({ "content": "Mei Chen asked." }))],
    );
    // The object as it says now, which the command for what is stale asks for.
    let found = bench.json(&[&["store", "get", "summary", "--format", "json"], place].concat());
    let id = found[0]["object"]["object_id"].clone();
    let now = json!({ "object_id": id, "name": "summary", "content": "It is otherwise now.", "object_type": "rule" });
    bench.file("FILE.json", format!("{now}\n"));
    bench
}

/// Runs a line in a shell, in the bench's folder.
fn pasted(bench: &Bench, line: &str) {
    let tenure = Path::new(env!("CARGO_BIN_EXE_tenure")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let environment = bench.command(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(bench.folder.path())
        .env("PATH", format!("{}:{path}", tenure.display()))
        .env("USER", "ada");
    for (name, value) in environment.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let done = shell.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}\n{said}");
}

fn waiting(bench: &Bench, place: &[&str]) -> Vec<Value> {
    let shown = bench.json(&[&["review", "list", "--format", "json"], place].concat());
    shown["proposals"].as_array().unwrap().clone()
}

#[test]
fn the_commands_that_are_shown_work_when_they_are_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", folder.path().join("its own.db").display());
    for place in [
        &[][..],
        &["--tenant", "acme & sons"],
        &["--store", &url, "--tenant", "acme"],
    ] {
        let bench = scene(place);
        let all = waiting(&bench, place);
        let mut kinds: Vec<&str> = all.iter().map(|one| one["kind"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        let each = [
            "confirmation",
            "conflict",
            "entity",
            "erasure",
            "inferred",
            "outcome",
            "stale",
        ];
        assert_eq!(kinds, each, "{all:?}");
        for one in &all {
            pasted(&bench, one["decide"].as_str().unwrap());
        }
        assert_eq!(waiting(&bench, place), Vec::<Value>::new());
        // So do the others.
        for at in 0..2 {
            if !place.contains(&"--store") {
                let bench = scene(place);
                for one in waiting(&bench, place) {
                    if let Some(line) = one["otherwise"].get(at) {
                        pasted(&bench, line.as_str().unwrap());
                    }
                }
            }
        }
        bench.ok(&[&["store", "check"], place].concat());
    }
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_do() {
    let bench = Bench::new();
    let claim = |name: &str, value: u32| {
        json!({ "name": name, "content": name, "object_type": "rule",
            "normalized_claim": format!("port == {value}"), "canonical_entity_ids": ["desk"] })
    };
    put(&bench, &[], &[claim("a", 80), claim("b", 81)]);
    for (args, what, help) in [
        (
            &["entity", "show", "nobody"][..],
            "no entity `nobody`",
            "`tenure entity list`",
        ),
        (
            &["entity", "split", "nobody"],
            "no entity `nobody`",
            "`tenure entity list`",
        ),
        (
            &["entity", "review", "nobody", "--new"],
            "no entity `nobody`",
            "`tenure entity list`",
        ),
        (
            &["entity", "resolve", " "],
            "the mention is empty",
            "--object",
        ),
        (
            &["conflicts", "show", "a", "a"],
            "both names are of one object",
            "two objects",
        ),
        (
            &["conflicts", "resolve", "a", "a", "--stands", "first"],
            "both names are of one object",
            "two objects",
        ),
        (
            &["belief", "show", "00000000-0000-0000-0000-000000000000"],
            "no belief about",
            "`tenure store history`",
        ),
        (
            &["outcome", "propose", "--text", " "],
            "the content is empty",
            "--text",
        ),
        (
            &["store", "refresh", "--root", "/nowhere/at all"],
            "there is no folder `/nowhere/at all`",
            "the folder of the project",
        ),
        (
            &["index", "/nowhere"],
            "`/nowhere` does not exist",
            "hint: a path starts",
        ),
        (
            &["index", ".", "--root", "/nowhere"],
            "there is no folder `/nowhere`",
            "hint: `.` is",
        ),
        (
            &["store", "sweep", "--records-keep", "-1"],
            "'-1'",
            "--records-keep",
        ),
    ] {
        let run = bench.run(args);
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success(), "{args:?}");
        assert!(
            error.contains(what) && error.contains(help),
            "{args:?}\n{error}"
        );
        assert!(!error.contains("os error"), "{args:?}\n{error}");
    }
    // None of it changed anything: the conflict waits as it did.
    let open =
        bench.json(&["conflicts", "list", "--unresolved", "--format", "json"])["conflicts"].take();
    assert_eq!(open.as_array().unwrap().len(), 1);
}

#[test]
fn an_explanation_says_what_an_object_waits_for_and_who_decides() {
    let bench = scene(&[]);
    let args = |name: &'static str| {
        [
            "explain",
            "--task",
            "Which colour?",
            "--budget",
            "2000",
            "--why",
            name,
        ]
    };
    for (name, asks, verb) in [
        ("guess", "does it hold?", "tenure review accept "),
        ("asked", "does it hold?", "tenure review accept "),
        ("erased", "erase it?", "tenure review accept "),
        ("bars", "accept or reject", "tenure review accept "),
        ("one", "which one stands?", "tenure review accept "),
        ("other", "which one stands?", "tenure review accept "),
        ("summary", "make it anew", "tenure store put FILE.json"),
    ] {
        let said = bench.ok(&args(name));
        let told = format!("waits for a person: {asks}");
        assert!(
            said.contains(&told) && said.contains(verb),
            "{name}: {said}"
        );
    }
    let said = bench.ok(&args("guess"));
    assert!(
        said.contains("too_little_evidence") && said.contains("It is blue."),
        "{said}"
    );
    // The verdict stands before it, where there is one.
    let said = bench.ok(&args("one"));
    assert!(
        said.find("one").unwrap() < said.find("waits for a person").unwrap(),
        "{said}"
    );
    let json = |name| bench.json(&[&args(name)[..], &["--format", "json"]].concat());
    let guess = json("guess");
    assert_eq!(guess["waiting"][0]["why"], "too_little_evidence", "{guess}");
    assert_eq!(guess["verdict"], Value::Null, "{guess}");
    let second = json("second");
    assert!(
        second["waiting"].is_null() && !second["verdict"].is_null(),
        "{second}"
    );
    // What is no object is said to be none; an instant that is past knows of nothing that waits now.
    bench.refused(2, &args("nothing"));
    bench.refused(
        2,
        &[&args("guess")[..], &["--known-at", "2020-01-01"]].concat(),
    );
    bench.refused(2, &[&args("guess")[..], &["--no-store"]].concat());
}

/// The id of the entity that waits.
fn entity(bench: &Bench) -> String {
    let all = bench.json(&["review", "list", "--kind", "entity", "--format", "json"]);
    all["proposals"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn an_entry_is_shown_with_what_each_decision_does() {
    let bench = scene(&[]);
    let mei = entity(&bench);
    for (name, says, verb) in [
        ("guess", "It is blue.", "it counts as confirmed"),
        ("asked", "asked is so.", "it counts as confirmed"),
        ("erased", "erased is so.", "nothing brings it back"),
        ("bars", "Valves are in bar.", "it is compiled from the next"),
        ("one", "port == 443", "`other` stands, and `one` does not"),
        ("summary", "summary is so.", "from what stands now"),
        (&*mei, "waits: is it chen-1", "the two are merged"),
    ] {
        let shown = bench.ok(&["review", "show", name]);
        let has = shown.contains(says) && shown.contains(verb);
        assert!(has && shown.contains("tenure review "), "{name}: {shown}");
    }
    let shown = bench.json(&["review", "show", "guess", "--format", "json"]);
    assert_eq!(shown["proposal"]["kind"], "inferred", "{shown}");
    assert_eq!(
        shown["evidence"]["refused"], "too_little_evidence",
        "{shown}"
    );
    let of_kind = bench.json(&["review", "list", "--kind", "erasure", "--format", "json"]);
    assert_eq!(of_kind["proposals"][0]["name"], "erased", "{of_kind}");
    assert_eq!(of_kind["proposals"].as_array().unwrap().len(), 1);
}

#[test]
fn a_decision_that_a_kind_does_not_know_names_those_that_it_does() {
    let bench = scene(&[]);
    let before = waiting(&bench, &[]);
    let mei = entity(&bench);
    for (args, what, choice) in [
        (
            &["hold", "guess"][..],
            "hold of the kind `inferred`",
            "review reject",
        ),
        (
            &["hold", "erased"],
            "hold of the kind `erasure`",
            "it stays",
        ),
        (
            &["accept", "summary"],
            "accept of the kind `stale`",
            "store put FILE.json",
        ),
        (
            &["reject", &mei],
            "reject of the kind `entity`",
            "--same-as chen-2",
        ),
        (
            &["reject", "one"],
            "reject of the kind `conflict`",
            "--stands first",
        ),
        (&["accept", "one"], "which claim stands", "--stands both"),
        (
            &["accept", "one", "--stands", "neither"],
            "which claim stands",
            "review hold",
        ),
        (
            &["hold", "one", "--stands", "first"],
            "`stands` does not go",
            "review hold",
        ),
        (
            &["accept", "guess", "--note", "x"],
            "`note` does not go",
            "review accept",
        ),
        (&["accept", "bars"], "nobody decides", "the person"),
        (
            &["accept", "second"],
            "nothing of `second` waits",
            "review list",
        ),
        (
            &["accept", "nothing"],
            "nothing that waits is named `nothing`",
            "review list",
        ),
        (
            &["show", "nothing"],
            "nothing that waits is named `nothing`",
            "review list",
        ),
        (
            &["accept", "guess", "--kind", "stale"],
            "nothing of `guess` waits",
            "review list",
        ),
        (&["list", "--kind", "stales"], "`stales`", "`stale`"),
    ] {
        let run = bench.run(&[&["review"], args].concat());
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success(), "{args:?}");
        assert!(
            error.contains(what) && error.contains(choice),
            "{args:?}: {error}"
        );
    }
    assert_eq!(waiting(&bench, &[]), before);
    bench.ok(&["review", "hold", "one"]);
    assert!(waiting(&bench, &[]).iter().all(|one| one["kind"] != "conflict"));
}

#[test]
fn a_decision_is_repeated_under_its_key() {
    let bench = scene(&[]);
    let mei = entity(&bench);
    for (at, args) in [
        &["accept", "guess"][..],
        &["reject", "asked"],
        &["accept", "bars", "--by", "ada"],
        &["accept", &mei],
        &["reject", "summary"],
        &["accept", "erased"],
        &["accept", "one", "--stands", "first"],
    ]
    .into_iter()
    .enumerate()
    {
        let id = bench.json(&["review", "show", args[1], "--format", "json"])["proposal"]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        // A conflict is named by one of its objects.
        let id = if args[1] == "one" {
            "one".to_owned()
        } else {
            id
        };
        let key = format!("k{at}");
        let call = [
            &["review", args[0], &id][..],
            &args[2..],
            &["--idempotency-key", &key, "--format", "json"],
        ]
        .concat();
        let done = bench.json(&call);
        assert_eq!(bench.json(&call), done, "{args:?}");
        // Without it, it is decided already.
        assert!(
            !bench.run(&call[..call.len() - 4]).status.success(),
            "{args:?}"
        );
    }
    // Another write under the key is refused.
    let said = bench.refused(5, &["review", "accept", "one", "--idempotency-key", "k0"]);
    assert!(said.contains("used for another write"), "{said}");
}

#[test]
fn of_two_claims_the_one_that_is_named_is_the_first() {
    for (name, stands) in [("one", "first"), ("other", "second")] {
        let bench = scene(&[]);
        bench.ok(&["review", "accept", name, "--stands", stands]);
        let shown = bench.ok(&["conflicts", "show", "one", "other"]);
        let stood = shown.contains("stands  one ") && shown.contains("by person");
        assert!(stood && !shown.contains("stands  other "), "{shown}");
    }
    // By the id of the entry, its order counts, as in what is shown.
    let bench = scene(&[]);
    let shown = bench.json(&["review", "show", "other", "--format", "json"]);
    let says = shown["choices"][0]["does"].as_str().unwrap();
    pasted(&bench, shown["choices"][0]["command"].as_str().unwrap());
    let first = says.split('`').nth(1).unwrap();
    let now = bench.ok(&["conflicts", "show", "one", "other"]);
    assert!(now.contains(&format!("stands  {first} ")), "{says}: {now}");
}

#[test]
fn one_of_two_proposals_is_named_by_its_revision() {
    let bench = Bench::new();
    let guess = |text: &str, from: &str, until: &str| {
        json!({ "name": "guess", "content": text, "object_type": "inferred_belief",
            "normalized_claim": format!("colour == {text}"), "canonical_entity_ids": ["desk"], "valid_from": from, "valid_until": until })
    };
    put(&bench, &[], &[guess("blue", "2026-01-01", "2026-02-01")]);
    put(&bench, &[], &[guess("red", "2026-02-01", "2026-03-01")]);
    let shown = waiting(&bench, &[]);
    let of = |text: &str| {
        let texts = shown[0]["texts"].as_array().unwrap();
        let at = texts.iter().position(|own| own == text).unwrap();
        shown[0]["revisions"][at].as_str().unwrap().to_owned()
    };
    let (blue, red) = (of("blue"), of("red"));
    let said = bench.ok(&["review", "list"]);
    assert_eq!(said, bench.ok(&["store", "proposals"]));
    assert!(
        said.contains(&format!("  --revision {blue}  blue\n")),
        "{said}"
    );
    bench.ok(&["review", "reject", "guess", "--revision", &blue]);
    assert_eq!(waiting(&bench, &[])[0]["texts"], json!(["red"]));
    let said = bench.refused(5, &["review", "accept", "guess", "--revision", &blue]);
    assert!(
        said.contains("has no proposal") && said.contains(&red),
        "{said}"
    );
    let said = bench.refused(1, &["review", "accept", "guess", "--revision", "blue"]);
    assert!(said.contains("--revision"), "{said}");
    bench.refused(1, &["store", "retract", "guess", "--revision", &red]);
    bench.ok(&["review", "accept", "guess", "--revision", &red]);
    assert!(waiting(&bench, &[]).is_empty());
}
