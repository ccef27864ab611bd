//! A store that is not what was written, one that may only be read, and judgements, through the real binary.

use std::path::{Path, PathBuf};

use crate::support::{Bench, text};

/// A folder with a store of two objects, of which the first is damaged.
fn damaged() -> Bench {
    let bench = Bench::new();
    bench.file("limit.md", "# limit\n\nAt most 10 kW.\n");
    bench.file("note.md", "# note\n\nThe pump is blue.\n");
    bench.ok(&[
        "store", "put", "--as", "guidance", "limit.md", "--as", "guidance", "note.md",
    ]);
    let connection = rusqlite::Connection::open(file(&bench)).unwrap();
    let sql = "DROP TRIGGER revisions_never_change; \
               UPDATE revisions SET body = replace(body, 'At most', 'At least'); \
               CREATE TRIGGER revisions_never_change BEFORE UPDATE ON revisions \
               BEGIN SELECT RAISE(ABORT, 'a revision is immutable'); END; \
               PRAGMA wal_checkpoint(TRUNCATE)";
    connection.execute_batch(sql).unwrap();
    bench
}

fn file(bench: &Bench) -> PathBuf {
    bench.folder.path().join(".tenure/store.db")
}

/// The names and bytes of the files of a folder.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn an_export_fails_by_the_name_of_the_revision() {
    let bench = damaged();
    let said = bench.refused(7, &["store", "export"]);
    assert!(said.contains("sha256:"), "{said}");
    let out = bench.refused(7, &["store", "export", "--out", "lines.jsonl"]);
    assert!(out.contains("is damaged"), "{out}");
    assert!(!bench.folder.path().join("lines.jsonl").exists());
    bench.refused(7, &["store", "get", "limit"]);
    let listed = bench.run(&["store", "list"]);
    assert!(listed.status.success());
    assert!(text(&listed.stderr).contains("is damaged and left out"));
    assert!(!text(&listed.stdout).contains("limit"));
}

#[test]
fn a_check_changes_nothing_and_a_repair_rewrites_no_revision() {
    let bench = damaged();
    let folder = bench.folder.path().join(".tenure");
    let before = files(&folder);
    let run = bench.run(&["store", "check"]);
    assert_eq!(run.status.code(), Some(7));
    let said = text(&run.stdout);
    assert!(
        said.contains("revision") && said.contains("--repair"),
        "{said}"
    );
    assert_eq!(files(&folder), before);
    let bodies = || -> String {
        let connection = rusqlite::Connection::open(file(&bench)).unwrap();
        let sql = "SELECT group_concat(number || body) FROM revisions";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let was = bodies();
    let said = bench.ok(&["store", "check", "--repair"]);
    assert!(said.contains("1 repaired or set aside"), "{said}");
    assert_eq!(bodies(), was);
    assert_eq!(bench.ok(&["store", "check"]), "nothing is damaged\n");
    let lines = bench.ok(&["store", "export"]);
    assert!(lines.contains("blue") && !lines.contains("kW"), "{lines}");
    let task = ["compile", "--task", "What is blue?", "--budget", "600"];
    assert!(bench.ok(&task).contains("blue"));
}

#[test]
fn a_check_makes_no_store() {
    let bench = Bench::new();
    bench.refused(2, &["store", "check"]);
    assert!(!bench.folder.path().join(".tenure").exists());
}

#[test]
fn a_judgement_stays_over_a_write_that_says_nothing_of_it() {
    let bench = Bench::new();
    bench.file("limit.md", "# limit\n\nAt most 10 kW.\n");
    bench.ok(&["store", "put", "--as", "guidance", "limit.md"]);
    bench.ok(&["store", "judge", "limit", "--status", "quarantined"]);
    bench.file("limit.md", "# limit\n\nAt most 99 kW.\n");
    bench.ok(&["store", "put", "--as", "guidance", "limit.md"]);
    let got = bench.json(&["store", "get", "limit", "--format", "json"]);
    assert_eq!(got[0]["object"]["contradiction_status"], "quarantined");
    let task = ["compile", "--task", "What is the limit?", "--budget", "600"];
    assert!(!bench.ok(&task).contains("kW"));
    bench.ok(&["store", "judge", "limit", "--status", "clean"]);
    assert!(bench.ok(&task).contains("99 kW"));
    let said = bench.refused(1, &["store", "judge", "limit", "--status", "fine"]);
    assert!(said.contains("quarantined"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_store_that_may_only_be_read_is_read() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let bench = Bench::new();
    bench.file("limit.md", "# limit\n\nAt most 10 kW.\n");
    bench.ok(&["store", "put", "--as", "guidance", "limit.md"]);
    let store = file(&bench);
    let folder = store.parent().unwrap();
    let is_root = folder.metadata().unwrap().uid() == 0;
    let mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let program = bench.folder.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_tenure"), &program).unwrap();
    mode(bench.folder.path(), 0o755);
    mode(&program, 0o755);
    mode(&store, 0o444);
    mode(folder, 0o555);
    let before = files(folder);
    let url = format!("sqlite://{}", store.display());
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(&program);
        command.args(args).args(["--store", &url]).current_dir("/");
        if is_root {
            // Whom the modes of files bind.
            command.uid(65_534).gid(65_534);
        }
        command.env_remove("TENURE_STORE").output().unwrap()
    };
    for args in [
        &["store", "list"][..],
        &["store", "get", "limit"],
        &["store", "history", "limit"],
        &["store", "export"],
        &["store", "check"],
    ] {
        let output = run(args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
    }
    assert!(text(&run(&["store", "get", "limit"]).stdout).contains("10 kW"));
    let written = run(&["store", "retract", "limit"]);
    assert_eq!(written.status.code(), Some(6), "{}", text(&written.stderr));
    assert!(text(&written.stderr).contains("is read-only"));
    assert_eq!(files(folder), before);
    mode(folder, 0o755);
}
