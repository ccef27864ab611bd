//! The use cases of `tests/packages/`: what one sees in a terminal, run as printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Bench, text};

/// The fence of what one sees: longer than those within it.
const FENCE: &str = "````";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of the handbook.
fn handbook() -> Bench {
    let bench = Bench::new();
    let copied = Command::new("cp")
        .args([
            "-a",
            &format!("{}/.", root().join("examples/handbook").display()),
        ])
        .arg(bench.folder.path())
        .status();
    assert!(copied.unwrap().success());
    bench
}

/// Runs a line as a shell does, and returns its output: that for programs first.
fn run(bench: &Bench, line: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_tenure"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let ours = bench.command(&[]);
    let mut shell = Command::new("sh");
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let shell = shell.current_dir(bench.folder.path()).env("PATH", path);
    let done = shell.args(["-c", line]).output().unwrap();
    format!("{}{}", text(&done.stdout), text(&done.stderr))
}

#[test]
fn the_use_cases_are_as_printed() {
    let path = root().join("tests/packages/use-cases.md");
    let told = fs::read_to_string(&path).unwrap();
    let mut out = String::new();
    let mut bench = handbook();
    let mut commands = 0;
    let mut lines = told.lines().peekable();
    let mut is_console = false;
    while let Some(line) = lines.next() {
        if line.starts_with("## ") {
            bench = handbook();
        }
        if line.starts_with(FENCE) {
            is_console = line == format!("{FENCE}console");
        }
        out.push_str(line);
        out.push('\n');
        let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) else {
            continue;
        };
        commands += 1;
        while lines.peek().is_some_and(|next| !next.starts_with("$ ") && *next != FENCE) {
            lines.next();
        }
        out.push_str(run(&bench, command).trim_end());
        out.push('\n');
        if out.ends_with("\n\n") {
            out.pop();
        }
    }
    if std::env::var("UPDATE_CASES").is_ok_and(|value| value == "1") {
        fs::write(&path, &out).unwrap();
        return;
    }
    assert!(commands > 20, "{commands}");
    assert!(
        out == told,
        "tests/packages/use-cases.md says otherwise:\n{out}"
    );
}
