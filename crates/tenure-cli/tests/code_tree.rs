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
    verdicts.map(|verdict| verdict["name"].as_str().unwrap().to_owned()).collect()
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

const WORDS: [&str; 32] = [
    "anchor", "bearing", "boom", "brake", "buoy", "cable", "chain", "clutch", "coil", "crank",
    "diode", "fan", "filter", "gauge", "gear", "hook", "hull", "keel", "laser", "lens", "magnet",
    "mast", "nozzle", "piston", "pulley", "pump", "relay", "rotor", "sail", "shaft", "valve",
    "winch",
];

/// A file of a thousand functions and 2 MiB, one of which parses a header.
fn thousand_functions() -> String {
    let word = |at: usize| WORDS[at % WORDS.len()];
    let function = |at: usize| {
        let (name, mut body) = match at {
            617 => (
                "parse_header".to_owned(),
                "    if not header: return None  # an empty input\n".into(),
            ),
            _ => (
                format!("{}_{}_{}", word(at), word(at / 32), word(at * 7 + 3)),
                String::new(),
            ),
        };
        for line in 0..60 {
            let (one, other) = (word(at + line * line), word(at / 32 + line));
            body += &format!("    {}['{one}_{line}'] = {other} * {line}\n", word(at));
        }
        format!("def {name}({}):\n{body}    return {at}\n\n\n", word(at))
    };
    (0..1000).map(function).collect()
}

#[test]
fn a_large_file_stands_as_its_outline_and_the_function_that_the_task_names() {
    let source = thousand_functions();
    assert!(source.len() > 2 << 20, "{}", source.len());
    let bench = Bench::new();
    bench.file("app/all.py", &source).file("app/main.py", "import all\n");
    let args = [
        "compile",
        "--code",
        "app",
        "--task",
        "Why does parse_header accept an empty input?",
        "--budget",
        "20000",
        "--format",
        "json",
    ];
    let output = bench.run(&args);
    let said = text(&output.stderr);
    assert!(
        said.contains("all.py: larger than 1 MiB: stands as its outline and 2000 parts"),
        "{said}"
    );
    let out: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts = out["trace"]["verdicts"].as_array().unwrap();
    assert_eq!(verdicts.len(), 2002);
    let included: Vec<&str> = verdicts
        .iter()
        .filter(|verdict| verdict["verdict"] == "included")
        .map(|verdict| verdict["name"].as_str().unwrap())
        .collect();
    for name in ["all.py", "all.py/parse_header", "main.py"] {
        assert!(included.contains(&name), "{included:?}");
    }
    // How many of the others are near enough is the ranker's to say.
    assert!(included.len() <= 50, "{included:?}");
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert!(payload.contains("    return 617\n") && !payload.contains("    return 99\n"));
    assert!(
        payload.contains("name=\"all.py/parse_header\" source=\"all.py\""),
        "{payload}"
    );
    assert!(payload.contains("more lines of the outline"), "{payload}");
    // A name is enough, however much else the task says.
    let long = "Customers in Norway see strange invoices when they pay late. Please look at brake_gauge_pulley, which Anna \
        wrote in March, mend whatever is wrong there, and tell me what it was.";
    let mut asked = args;
    asked[4] = long;
    let out: Value = serde_json::from_slice(&bench.run(&asked).stdout).unwrap();
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert!(
        payload.contains("name=\"all.py/brake_gauge_pulley\""),
        "{payload}"
    );
    assert!(!payload.contains("all.py/parse_header"), "{payload}");
    let why = bench.ok(&[&["explain"], &args[1..7], &["--why", "parse_header"]].concat());
    assert!(why.starts_with("all.py/parse_header: included"), "{why}");
    assert!(
        why.contains("  from all.py, bytes ") && why.contains("sha256:"),
        "{why}"
    );
}

#[test]
fn what_is_too_large_or_no_text_ends_in_a_report() {
    let bench = Bench::new();
    let large = "/* caf\u{e9} */ int a;\n".repeat(60_000);
    let latin: Vec<u8> = large.chars().map(|c| c as u8).collect();
    bench.file("app/latin.c", latin).file("app/main.rs", "fn main() {}\n");
    bench.file(
        "app/image.rs",
        [&[0x89, 0][..], &vec![b'x'; 2 << 20]].concat(),
    );
    bench.file("app/five.py", vec![b'#'; 5 << 20]);
    // It takes no room on the disk, and must take none in memory.
    let file = fs::File::create(bench.folder.path().join("app/all.rs")).unwrap();
    file.set_len(2 << 30).unwrap();
    let output = bench.run(&[&["compile", "--code", "app"], &TASK[..]].concat());
    let said = text(&output.stderr);
    for (name, why) in [
        ("all.rs", "larger than 4 MiB"),
        ("five.py", "larger than 4 MiB"),
        ("latin.c", "not text"),
        ("image.rs", "not text"),
    ] {
        assert!(said.contains(&format!("{name}: left out: {why}")), "{said}");
    }
    let out: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(names(&out), ["main.rs"]);
    assert!(out["trace"]["unfetched"].to_string().contains("five.py"));
}
