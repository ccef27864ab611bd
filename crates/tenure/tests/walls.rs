//! The core is pure: no clock, randomness, environment, file, network or thread of its own. Clippy
//! bans the calls (`clippy.toml`); here the dependencies and the sources are read.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that wait, listen, store, watch, spread work or roll dice.
#[rustfmt::skip]
const FORBIDDEN: [&str; 31] = [
    "async-std", "axum", "chrono", "crossbeam", "curl", "diesel", "fastrand", "getrandom", "hyper",
    "iana-time-zone", "isahc", "libsqlite3-sys", "memmap2", "mio", "notify", "num_cpus", "postgres",
    "rand", "rayon", "reqwest", "rusqlite", "smol", "socket2", "sqlx", "tempfile", "time", "tokio",
    "tonic", "ureq", "walkdir", "web-time",
];

/// Parts of names that give a crate of that kind away.
const TELLING: [&str; 8] = [
    "clock",
    "tokio",
    "sqlite",
    "postgres",
    "http",
    "socket",
    "threadpool",
    "rand_",
];

/// What no source of the crate says outside its tests.
#[rustfmt::skip]
const UNSPEAKABLE: [&str; 14] = [
    "std::fs", "std::net", "std::env::", "std::process", "std::thread::spawn", "std::thread::scope",
    "thread_local!", "SystemTime", "Instant::now", "Timestamp::now", "HashMap::new()",
    "HashSet::new()", "RandomState", "static mut",
];

#[test]
fn p6_pure_by_its_dependencies() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "tenure", "-e", "normal", "--prefix", "none"])
        .args(["--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let crates: BTreeSet<&str> = names.collect();
    assert!(crates.contains("tenure") && crates.contains("sha2"));
    for name in crates {
        let telling = TELLING.iter().any(|part| name.contains(part));
        assert!(
            !FORBIDDEN.contains(&name) && !telling,
            "the core depends on `{name}`"
        );
    }
}

#[test]
fn p6_pure_by_its_sources() {
    let mut files = Vec::new();
    for folder in ["src", "../tenure-tokens/src"] {
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut files,
        );
    }
    assert!(files.len() > 30, "{files:?}");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        // A file's tests stand at its end.
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for word in UNSPEAKABLE {
            assert!(!code.contains(word), "{} says `{word}`", file.display());
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}
