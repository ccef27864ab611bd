//! `scripts/archive`: what is in a release, and that it runs. A script that calls our program stands for the one that is
//! packed, which is large and built otherwise.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{Bench, text};

fn archive(args: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/archive");
    Command::new(script).args(args).output().unwrap()
}

/// A program that does what ours does.
fn stand_in(bench: &Bench, name: &str, body: &str) -> PathBuf {
    bench.file(name, format!("#!/bin/sh\n{body}\n"));
    let path = bench.folder.path().join(name);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_release_has_what_it_says_and_runs() {
    let bench = Bench::new();
    let ours = format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_tenure"));
    let program = stand_in(&bench, "program", &ours);
    let out = bench.folder.path().join("release");
    let args = ["--binary", program.to_str().unwrap(), "--out"];
    let made = archive(&[&args[..], &[out.to_str().unwrap()]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let path = text(&made.stdout).trim().to_owned();
    let name = Path::new(&path).file_name().unwrap().to_str().unwrap();
    let name = name.strip_suffix(".tar.gz").unwrap().to_owned();
    let version = env!("CARGO_PKG_VERSION");
    let target = name.strip_prefix(&format!("tenure-{version}-"));
    assert!(
        target.is_some_and(|target| target.split('-').count() >= 3),
        "{name}"
    );
    let sum = Command::new("sha256sum")
        .args(["-c", &format!("{name}.tar.gz.sha256")])
        .current_dir(&out)
        .output()
        .unwrap();
    assert!(sum.status.success(), "{}", text(&sum.stderr));

    let unpacked = bench.folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let tar = Command::new("tar")
        .args(["-xzf", &path, "-C", unpacked.to_str().unwrap()])
        .status();
    assert!(tar.unwrap().success());
    let root = unpacked.join(&name);
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    assert!(read("README.md").starts_with("# Tenure"));
    assert!(read("LICENSE").contains("Apache License"));
    assert!(read("CHANGELOG.md").contains(version));
    assert!(read("man/tenure.1").contains(".TH tenure 1"));
    for file in ["tenure.bash", "_tenure", "tenure.fish", "tenure.ps1"] {
        assert!(
            read(&format!("completions/{file}")).contains("session"),
            "{file}"
        );
    }
    let said = Command::new(root.join("tenure")).arg("--version").output();
    assert_eq!(
        text(&said.unwrap().stdout).trim(),
        format!("tenure {version}")
    );

    // Once more it is the same, byte for byte.
    let again = bench.folder.path().join("again");
    let made = archive(&[&args[..], &[again.to_str().unwrap()]].concat());
    assert!(made.status.success(), "{}", text(&made.stderr));
    let file = format!("{name}.tar.gz");
    assert!(fs::read(out.join(&file)).unwrap() == fs::read(again.join(&file)).unwrap());
}

#[test]
fn what_is_no_program_of_ours_is_not_packed() {
    let bench = Bench::new();
    let out = bench.folder.path().join("release");
    let out = out.to_str().unwrap();
    let other = stand_in(&bench, "other", "echo other 1.2.3");
    for (args, code, what) in [
        (
            &["--binary", "/none/tenure", "--out", out][..],
            2,
            "there is no program",
        ),
        (
            &["--binary", other.to_str().unwrap(), "--out", out],
            2,
            "says `other 1.2.3`",
        ),
        (&["--binary"], 1, "--binary has no value"),
        (&["--fast"], 1, "unknown argument `--fast`"),
    ] {
        let refused = archive(args);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(what), "{args:?}: {said}");
    }
    assert!(!Path::new(out).exists());
    let help = archive(&["--help"]);
    assert!(help.status.success() && text(&help.stdout).starts_with("Usage: scripts/archive"));
}
