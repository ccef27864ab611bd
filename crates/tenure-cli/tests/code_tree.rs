//! Trees of source code as artifacts. Runs the real binary.

use std::fs;

use crate::support::{Bench, text};
use serde_json::Value;

fn tree() -> Bench {
    let bench = Bench::new();
    bench
        .file("app/.gitignore", "target/\n*.log\n!keep.log\n")
        .file("app/.ignore", "secrets.txt\n")
        .file("app/src/main.rs", "fn main() { pump::start(); }\n")
        .file("app/src/pump.rs", "\u{FEFF}pub fn start() {}\r\n")
        .file("app/src/gen/.gitignore", "*\n")
        .file("app/src/gen/bindings.rs", "// made\n")
        .file("app/target/debug.rs", "// made\n")
        .file("app/run.log", "noise\n")
        .file("app/keep.log", "a kept line\n")
        .file("app/secrets.txt", "hunter2\n")
        .file("app/empty.rs", "\n\n")
        .file("app/README.md", "# App\n");
    fs::write(bench.folder.path().join("app/logo.png"), b"\x89PNG\0\0").unwrap();
    fs::write(bench.folder.path().join("app/old.c"), b"/* caf\xe9 */").unwrap();
    bench
}

const TASK: [&str; 6] = [
    "--task",
    "Start the pump.",
    "--budget",
    "3000",
    "--format",
    "json",
];

/// The result of a call that warns.
fn warned(bench: &Bench, args: &[&str]) -> Value {
    let output = bench.run(args);
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(out: &Value) -> Vec<String> {
    let verdicts = out["trace"]["verdicts"].as_array().unwrap().iter();
    verdicts
        .map(|verdict| verdict["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn each_file_of_text_that_is_not_ignored_is_an_artifact() {
    let bench = tree();
    let args = [&["compile", "--code", "app"], &TASK[..]].concat();
    let out = warned(&bench, &args);
    assert_eq!(
        names(&out),
        ["README.md", "keep.log", "src/main.rs", "src/pump.rs"]
    );
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert!(
        payload.contains("pump::start()") && !payload.contains("hunter2"),
        "{payload}"
    );
    let section = &out["trace"]["verdicts"][0]["section"];
    assert_eq!(section, "codex");
    let unfetched = out["trace"]["unfetched"].to_string();
    for what in [
        "logo.png",
        "old.c",
        "empty.rs",
        "what its ignore files name",
    ] {
        assert!(unfetched.contains(what), "{what}: {unfetched}");
    }
    let said = text(&bench.run(&args).stderr);
    assert!(
        said.contains("logo.png: left out: not text") && said.contains("old.c"),
        "{said}"
    );
    // The same tree gives the same bytes.
    assert_eq!(warned(&bench, &args)["envelope"], out["envelope"]);
}

#[test]
fn several_trees_stand_beside_each_other() {
    let bench = tree();
    bench.file("lib/src/main.rs", "fn main() {}\n");
    let args = [&["compile", "--code", "app", "--code", "lib"], &TASK[..]].concat();
    let names = names(&warned(&bench, &args));
    assert_eq!(names[0], "app/README.md");
    assert_eq!(names.last().unwrap(), "lib/src/main.rs");
}

#[test]
fn what_is_no_tree_is_refused() {
    let bench = tree();
    for (path, what) in [
        ("nowhere", "cannot read"),
        ("app/README.md", "not a folder"),
    ] {
        let shown = bench.refused(2, &[&["compile", "--code", path], &TASK[..]].concat());
        assert!(shown.contains(what), "{shown}");
    }
}
