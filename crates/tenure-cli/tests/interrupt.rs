//! Ctrl-C in the middle of long work: what is there afterwards is whole, or as it was. And what long work says of itself.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Bench, text};

const SIGINT: i32 = 2;

/// Runs a command, and interrupts it after a while as Ctrl-C does, unless it is over.
fn interrupted(bench: &Bench, args: &[&str], after: Duration) -> ExitStatus {
    let ours = bench.command(args);
    // The tests themselves may have been started where interrupts are ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(ours.get_program());
    command.args(args).current_dir(bench.folder.path());
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = quiet.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_none() {
        let id = child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
    }
    child.wait().unwrap()
}

/// Runs a command whole, for the time that it takes.
fn timed(bench: &Bench, args: &[&str]) -> Duration {
    let started = Instant::now();
    bench.ok(args);
    started.elapsed()
}

const OBJECTS: usize = 4_000;

#[test]
fn an_interrupted_import_leaves_a_store_that_is_whole() {
    let bench = Bench::new();
    let lines: String = (0..OBJECTS)
        .map(|at| {
            let object = format!("{{\"name\":\"fact-{at}\",\"content\":\"Pump {at} is new.\"}}");
            format!("{{\"object\":{object}}}\n")
        })
        .collect();
    bench.file("facts.jsonl", lines);
    let import = |store: &'static str| ["store", "import", "facts.jsonl", "--store", store];
    let whole = timed(&bench, &import("sqlite://whole.db"));
    let held = |store: &str| bench.ok(&["store", "list", "--store", store]).lines().count();
    assert_eq!(held("sqlite://whole.db"), OBJECTS);
    let mut ended = 0;
    for part in 1..6 {
        let status = interrupted(&bench, &import("sqlite://cut.db"), whole * part / 6);
        ended += usize::from(status.signal() == Some(SIGINT));
        let check = ["store", "check", "--store", "sqlite://cut.db"];
        let checked = bench.command(&check).output().unwrap();
        if !checked.status.success() {
            // Interrupted before the store was made.
            let told = text(&checked.stderr);
            assert!(told.starts_with("error: there is no store"), "{told}");
        } else {
            let found = held("sqlite://cut.db");
            assert!(found == 0 || found == OBJECTS, "{found} objects");
        }
    }
    assert!(ended > 0, "no import was interrupted in {whole:?}");
    bench.ok(&import("sqlite://cut.db"));
    assert_eq!(held("sqlite://cut.db"), OBJECTS);
}

#[test]
fn an_interrupted_compile_writes_its_output_whole_or_not_at_all() {
    let bench = Bench::new();
    for at in 0..600 {
        let said = format!("Pump {at} is hot when the valve is shut. ").repeat(20);
        bench.file(&format!("docs/{at}.md"), format!("# Pump {at}\n\n{said}\n"));
    }
    let compile = |out: &'static str| {
        let args = ["compile", "docs", "--task", "Which pump is hot?", "--as-of"];
        [
            &args[..],
            &["2026-06-06", "--trace", "trace.json", "-o", out],
        ]
        .concat()
    };
    let whole = timed(&bench, &compile("whole.txt"));
    let read = |name: &str| fs::read_to_string(bench.folder.path().join(name));
    let payload = read("whole.txt").unwrap();
    assert!(payload.contains("is hot"));
    let mut ended = 0;
    for part in 1..6 {
        let status = interrupted(&bench, &compile("cut.txt"), whole * part / 6);
        ended += usize::from(status.signal() == Some(SIGINT));
        match read("cut.txt") {
            Ok(written) => assert_eq!(written, payload),
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
        }
    }
    assert!(ended > 0, "no compile was interrupted in {whole:?}");
    // What stood there before stays, or is replaced whole.
    bench.file("cut.txt", "before");
    interrupted(&bench, &compile("cut.txt"), whole / 2);
    let now = read("cut.txt").unwrap();
    assert!(now == "before" || now == payload, "{now}");
}

#[test]
fn long_work_says_nothing_into_a_pipe() {
    let bench = Bench::new();
    for at in 0..600 {
        let said = format!("Pump {at} is hot when the valve is shut. ").repeat(20);
        bench.file(&format!("docs/{at}.md"), format!("# Pump {at}\n\n{said}\n"));
    }
    for args in [
        &["compile", "docs", "--task", "Which pump is hot?"][..],
        &[
            "gate",
            "docs",
            "--task",
            "Which pump is hot?",
            "--top-k",
            "3",
        ],
        &["query", "hot pump", "docs"],
        &["store", "put", "docs"],
        &["store", "search", "hot pump"],
    ] {
        let output = bench.run(args);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        assert!(!said.contains(['\r', '\x1b', '…']), "{args:?}: {said:?}");
    }
}
