//! No command waits for who writes to a named pipe, wherever it is named or found.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Bench, text};

/// A command of the debug build may start slowly; one that waits does so for ever.
const LIMIT: Duration = Duration::from_secs(30);

/// Every place in which a file is named, by the code that reads or writes it.
const NAMED: [&[&str]; 29] = [
    &["compile", "pipe", "--task", "pump"],
    &["compile", "note.md", "--task", "pump", "--request", "pipe"],
    &["compile", "note.md", "--task-file", "pipe"],
    &["compile", "note.md", "--task", "pump", "--output", "pipe"],
    &["compile", "note.md", "--task", "pump", "--trace", "pipe"],
    &["compile", "note.md", "--task", "pump", "--previous", "pipe"],
    &[
        "compile",
        "note.md",
        "--task",
        "pump",
        "--chat-template",
        "pipe",
    ],
    &[
        "compile",
        "note.md",
        "--task",
        "pump",
        "--catalogue",
        "pipe",
    ],
    &[
        "compile",
        "note.md",
        "--task",
        "pump",
        "--frame-key",
        "pipe",
    ],
    &[
        "compile",
        "note.md",
        "--task",
        "pump",
        "--store",
        "sqlite://pipe",
    ],
    &["compile", "--as", "guidance", "pipe", "--task", "pump"],
    &["query", "pump", "note.md", "--after", "pipe"],
    &["condense", "pipe", "--to", "100"],
    &["tokens", "pipe"],
    &["check", "pipe"],
    &["lint", "pipe"],
    &["cache", "plan", "pipe"],
    &["diff", "pipe", "pipe"],
    &["import", "note.md", "--snapshot", "pipe"],
    &["registry", "show", "pipe"],
    &["store", "put", "note.md", "--store", "sqlite://pipe"],
    &["store", "import", "pipe"],
    &["store", "policy", "pipe"],
    &["store", "export", "--store", "sqlite://pipe"],
    &["session", "import", "pipe"],
    &["context", "import", "pipe"],
    &["report", "pipe"],
    &["serve", "--audit", "pipe"],
    &["serve", "--jwt", "pipe"],
];

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// The output of a command, which has to end by itself.
fn ended(bench: &Bench, args: &[&str]) -> Output {
    let mut command = bench.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{args:?} waits");
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn a_pipe_that_is_named_is_refused() {
    let bench = Bench::new();
    bench.file("note.md", "The pump is hot.\n");
    pipe(&bench.folder.path().join("pipe"));
    for args in NAMED {
        let output = ended(&bench, args);
        let told = text(&output.stderr);
        assert!(!output.status.success(), "{args:?}: {told}");
        assert!(told.contains("pipe"), "{args:?}: {told}");
        let says = [
            "a named pipe",
            "not a file",
            "a FIFO",
            "nobody reads",
            "no store",
        ];
        assert!(
            says.iter().any(|says| told.contains(says)),
            "{args:?}: {told}"
        );
    }
}

#[test]
fn a_pipe_that_is_found_is_passed_by() {
    let bench = Bench::new();
    bench.file("note.md", "The pump is hot.\n");
    bench.file("sub/code.rs", "pub fn pump() {}\n");
    for name in [
        ".gitignore",
        "sub/.ignore",
        "AGENTS.md",
        "sub/more.md",
        "code.py",
    ] {
        pipe(&bench.folder.path().join(name));
    }
    for args in [
        &["compile", ".", "--task", "pump"][..],
        &["compile", "note.md", "--code", ".", "--task", "pump"],
        &["index", "."],
        &["store", "put", "."],
        &["lint", "."],
    ] {
        let output = ended(&bench, args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn the_pipe_of_a_shell_is_read() {
    let bench = Bench::new();
    let output = bench
        .command(&["tokens", "/dev/stdin"])
        .stdin(
            Command::new("echo")
                .arg("The pump is hot.")
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
                .stdout
                .unwrap(),
        )
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), "5");
}
