//! What is left of an index and of packages where a disk is full or a process is killed.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::{Bench, text};

fn tree(files: usize) -> Bench {
    let bench = Bench::new();
    for at in 0..files {
        let body = format!("Pump {at} rests for {at} seconds. ").repeat(12);
        let file = format!("# Pump {at}\n\n## Decision\n\n{body}\n\n## Notes\n\n{body}\n");
        bench.file(&format!("docs/{at:03}.md"), file);
    }
    bench
}

/// Runs the program where no file may grow beyond so many blocks of the shell's `ulimit`.
fn with_little_room(bench: &Bench, blocks: u32, args: &str) -> Output {
    let ours = bench.command(&[]);
    let mut shell = Command::new("sh");
    for (name, value) in ours.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let program = env!("CARGO_BIN_EXE_tenure");
    // A write beyond the limit fails as one on a full disk does, once its signal is ignored.
    let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{program}' {args}");
    let shell = shell.current_dir(bench.folder.path()).args(["-c", &line]);
    shell.output().unwrap()
}

#[test]
fn a_full_disk_is_said_and_leaves_what_was_there() {
    let bench = tree(80);
    bench.ok(&["index", "docs"]);
    bench.ok(&[
        "context",
        "pack",
        "sections",
        "--source",
        "docs/000.md",
        "--name",
        "old",
    ]);
    let before = bench.json(&["index", "status", "--format", "json"]);
    for at in 0..80 {
        bench.file(
            &format!("docs/{at:03}.md"),
            format!("# Other {at}\n\n{}\n", "Valve. ".repeat(400)),
        );
    }
    let out = with_little_room(&bench, 8, "index docs");
    assert_eq!(out.status.code(), Some(6), "{}", text(&out.stderr));
    assert!(
        text(&out.stderr).starts_with("error: the index cannot be"),
        "{}",
        text(&out.stderr)
    );
    let out = with_little_room(&bench, 8, "context pack sections --source docs --name new");
    assert_eq!(out.status.code(), Some(6), "{}", text(&out.stderr));
    assert!(
        text(&out.stderr).contains("error: cannot write in"),
        "{}",
        text(&out.stderr)
    );
    // What was there is there, and nothing half.
    let listed = bench.json(&["context", "list", "--format", "json"]);
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["old"]);
    bench.ok(&["context", "activate", "old"]);
    let status = bench.json(&["index", "status", "--format", "json"]);
    assert_eq!(status["sections"], before["sections"]);
    assert_eq!(status["changed"].as_array().unwrap().len(), 80);
    bench.ok(&["index", "docs"]);
    let status = bench.json(&["index", "status", "--format", "json"]);
    assert_eq!(status["changed"].as_array().unwrap().len(), 0);
}

#[test]
fn a_process_that_is_killed_leaves_a_whole_index_and_registry() {
    let bench = tree(300);
    let whole = tree(300);
    whole.ok(&["index", "docs"]);
    for (turn, args) in [
        &["index", "docs"][..],
        &[
            "context",
            "pack",
            "sections[heading=Decision]",
            "--source",
            "docs",
            "--name",
            "d",
        ],
    ]
    .into_iter()
    .cycle()
    .take(16)
    .enumerate()
    {
        let mut child =
            bench.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(15 * turn as u64));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    bench.ok(&["index", "docs"]);
    let state = |bench: &Bench| bench.json(&["index", "status", "--format", "json"]);
    let (killed, whole) = (state(&bench), state(&whole));
    assert_eq!(killed["snapshot_id"], whole["snapshot_id"]);
    assert_eq!(killed["sections"], 900);
    bench.ok(&[
        "context",
        "pack",
        "sections[heading=Decision]",
        "--source",
        "docs",
        "--name",
        "d",
    ]);
    let listed = bench.json(&["context", "list", "--format", "json"]);
    assert!(listed[0]["note"].is_null());
    bench.ok(&["context", "activate", "d"]);
    // No half of a file stays where packages lie.
    let folder = bench.folder.path().join(".tenure/context/packages");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.ends_with(".json") || name.starts_with('.'), "{name}");
    }
}
