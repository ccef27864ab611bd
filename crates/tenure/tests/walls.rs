//! The core is pure: no clock, randomness, environment, file, network or thread of its own. Clippy
//! bans the calls (`clippy.toml`); here the dependencies and the sources are read.
//!
//! And every crate is a stack: what a file imports stands below it, but for what is listed here.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::support::imports::Imports;

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

/// The rooms of a crate, from the ground up. What a room imports stands below it; `ARCHITECTURE.md` says what each holds.
#[rustfmt::skip]
const ROOMS: [(&str, &[&str]); 2] = [
    ("tenure", &[
        "base", "object", "belief", "rank", "condense", "provider", "input", "session", "write", "compile", "cache",
        "registry", "inspect", "package", "schema",
    ]),
    ("tenure-store", &["rows", "entity", "tenant", "belief", "read", "write", "pending", "copy", "erase"]),
];

/// What looks up, by crate, and why. The list may only get shorter.
const UPWARD: [(&str, &str, &str); 1] = [
    // An object may bring the provider's message that it came in: sealing reads it, to see that both say the same.
    ("tenure", "object::seal", "provider::wire"),
];

/// Files that import each other, near or far, by crate; a module and the one that it stands in are left out of account.
const CIRCLES: [(&str, &[&str]); 8] = [
    ("tenure", &[]),
    ("tenure-store", &[]),
    ("tenure-adapters", &[]),
    ("tenure-workspace", &[]),
    ("tenure-operations", &[]),
    ("tenure-inspector", &[]),
    ("tenure-cli", &[]),
    ("tenure-server", &[]),
];

/// The crates that a crate of ours does not depend on with its default features.
const ABSENT: [(&str, &[&str]); 7] = [
    (
        "tenure-store",
        &[
            "axum", "hyper", "ureq", "reqwest", "tonic", "clap", "tokio", "rustls", "postgres",
        ],
    ),
    (
        "tenure-adapters",
        &[
            "axum",
            "clap",
            "hyper",
            "tokio",
            "rusqlite",
            "ort",
            "tokenizers",
            "tree-sitter",
        ],
    ),
    (
        "tenure-workspace",
        &[
            "axum",
            "clap",
            "hyper",
            "tokio",
            "ort",
            "tokenizers",
            "tree-sitter",
            "postgres",
        ],
    ),
    ("tenure-operations", &["axum", "clap", "hyper", "tokio"]),
    ("tenure-inspector", &["axum", "clap", "hyper", "tokio"]),
    (
        "tenure-server",
        &[
            "clap",
            "maud",
            "ort",
            "rmcp",
            "tokenizers",
            "tree-sitter",
            "postgres",
        ],
    ),
    // `jsonschema` is for tests alone: it and what it brings along took a tenth of a build.
    (
        "tenure-cli",
        &["jsonschema", "ort", "postgres", "rmcp", "tokio-postgres"],
    ),
];

/// The heavy crates that stand behind a Cargo feature, each with the one crate of ours that names it.
const BEHIND_FEATURES: [(&str, &str); 9] = [
    ("ort", "tenure-adapters"),
    ("tokenizers", "tenure-adapters"),
    ("tree-sitter", "tenure-adapters"),
    ("tree-sitter-rust", "tenure-adapters"),
    ("postgres", "tenure-store"),
    ("rusqlite", "tenure-store"),
    ("axum", "tenure-server"),
    ("rmcp", "tenure-server"),
    ("maud", "tenure-inspector"),
];

/// The most crates that the command in the README builds.
const MOST_CRATES: usize = 232;

/// What no source of the crate says outside its tests.
#[rustfmt::skip]
const UNSPEAKABLE: [&str; 14] = [
    "std::fs", "std::net", "std::env::", "std::process", "std::thread::spawn", "std::thread::scope",
    "thread_local!", "SystemTime", "Instant::now", "Timestamp::now", "HashMap::new()",
    "HashSet::new()", "RandomState", "static mut",
];

/// All that a crate depends on with its default features.
fn dependencies(of: &str) -> BTreeSet<String> {
    let packages = tree(&["-p", of, "-e", "normal"]);
    let names = packages.iter().filter_map(|line| line.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The packages, with their versions, that `cargo tree` lists for these arguments.
fn tree(arguments: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .arg("tree")
        .args(arguments)
        .args(["--prefix", "none", "--format", "{p}", "--no-dedupe"])
        .args(["--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    tree.lines().map(str::to_owned).collect()
}

#[test]
fn p6_pure_by_its_dependencies() {
    let crates = dependencies("tenure");
    assert!(crates.contains("tenure") && crates.contains("sha2"));
    for name in crates {
        let telling = TELLING.iter().any(|part| name.contains(part));
        assert!(
            !FORBIDDEN.contains(&name.as_str()) && !telling,
            "the core depends on `{name}`"
        );
    }
}

#[test]
fn crates_do_without_what_is_not_theirs() {
    for (of, absent) in ABSENT {
        let crates = dependencies(of);
        assert!(crates.contains("tenure"), "{of}");
        for name in absent {
            assert!(!crates.contains(*name), "{of} depends on `{name}`");
        }
    }
}

#[test]
fn what_is_heavy_stands_behind_a_feature_of_one_crate() {
    let full = tree(&["-p", "tenure-cli", "-e", "normal", "--features", "full"]);
    for (heavy, owner) in BEHIND_FEATURES {
        assert!(
            full.iter().any(|line| line.split(' ').next() == Some(heavy)),
            "`full` builds no `{heavy}`"
        );
        let users = tree(&[
            "-p",
            "tenure-cli",
            "-e",
            "normal",
            "--features",
            "full",
            "--depth",
            "1",
            "-i",
            heavy,
        ]);
        let ours: Vec<&str> = users
            .iter()
            .filter_map(|line| line.split(' ').next())
            .filter(|name| name.starts_with("tenure"))
            .collect();
        assert_eq!(ours, [owner], "{heavy}");
    }
}

#[test]
fn the_command_of_the_readme_builds_few_crates() {
    let crates = tree(&["-p", "tenure-cli", "-e", "normal,build"]);
    assert!(
        (100..=MOST_CRATES).contains(&crates.len()),
        "{} crates, at most {MOST_CRATES}",
        crates.len()
    );
}

/// The imports of a crate of the workspace.
fn imports(of: &str) -> Imports {
    Imports::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of).join("src"))
}

#[test]
fn rooms_import_what_stands_below_them() {
    let mut up = BTreeSet::new();
    for (of, rooms) in ROOMS {
        let imports = imports(of);
        assert!(
            imports.files() > 60 && imports.edges().count() > 200,
            "{of}"
        );
        let floor = |room: &str| {
            let found = rooms.iter().position(|known| *known == room);
            found.unwrap_or_else(|| {
                panic!("`{room}` has no place among the rooms of {of}: say which is below it")
            })
        };
        for (from, to) in imports.edges() {
            if floor(&from[0]) < floor(&to[0]) {
                up.insert((of.to_owned(), from.join("::"), to.join("::")));
            }
        }
    }
    let known = UPWARD.map(|(of, from, to)| (of.to_owned(), from.to_owned(), to.to_owned()));
    assert_eq!(up, BTreeSet::from(known));
}

#[test]
fn no_file_imports_what_imports_it() {
    for (of, known) in CIRCLES {
        let circles = imports(of).circles();
        let known: Vec<BTreeSet<String>> = known
            .iter()
            .map(|circle| circle.split(' ').map(str::to_owned).collect())
            .collect();
        assert_eq!(
            circles, known,
            "{of}: these files import each other, near or far"
        );
    }
}

#[test]
fn no_stage_calls_another() {
    let imports = imports("tenure");
    let stage = |module: &[String]| match module {
        [room, stages, stage, ..] if room == "compile" && stages == "stages" => Some(stage.clone()),
        _ => None,
    };
    let mut named = 0;
    for (from, to, name) in imports.names() {
        let (Some(own), Some(other)) = (stage(from), stage(to)) else {
            continue;
        };
        // `live` is no stage: it travels through all of them.
        if own == other || other == "live" {
            continue;
        }
        named += 1;
        let is_type = name.starts_with(char::is_uppercase);
        assert!(
            is_type,
            "{} names `{name}` of the stage `{other}`",
            from.join("::")
        );
    }
    assert!(named > 10, "{named}");
}

/// The outputs of the stages.
#[rustfmt::skip]
const OUTPUTS: [&str; 9] = [
    "Admitted", "Resolved", "Settled", "Planned", "Ranked", "Rescued", "Contained", "Fitted", "Ordered",
];

#[test]
fn a_stage_hands_on_no_other_stages_output() {
    let mut files = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/compile/stages");
    sources(&folder, &mut files);
    let mut declared = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let line = line.trim();
            if let Some(output) = line.strip_prefix("pub(crate) struct ") {
                let name = output.split(['<', '(']).next().unwrap();
                declared += usize::from(OUTPUTS.contains(&name));
            }
            let Some((_, field)) = line.rsplit_once("pub(crate) ") else {
                continue;
            };
            // A field, in braces or in parentheses.
            if field.starts_with("fn ") {
                continue;
            }
            let kind = field.split_once(": ").map_or(field, |(_, kind)| kind);
            let is_output = |name: &&&str| kind.starts_with(&format!("{name}<"));
            let found = OUTPUTS.iter().find(is_output);
            assert_eq!(found, None, "{}: {line}", file.display());
        }
    }
    assert_eq!(declared, OUTPUTS.len(), "a stage's output has another name");
}

/// The files that name a provider's format, beside the folder that each format has: `ARCHITECTURE.md` says why.
const FORMATS_ARE_NAMED_IN: [&str; 18] = [
    "cache/plan.rs",
    "compile/stages/emit.rs",
    "compile/stages/plan/late.rs",
    "provider/conform/body.rs",
    "provider/conform/mod.rs",
    "provider/conform/unread.rs",
    "provider/formats.rs",
    "provider/target.rs",
    "provider/wire/meaning.rs",
    "provider/wire/read.rs",
    "provider/wire/renewed.rs",
    "provider/wire/without.rs",
    "write/frame/message.rs",
    "write/render/anthropic.rs",
    "write/render/chat.rs",
    "write/render/legal.rs",
    "write/render/openai_chat.rs",
    "write/world.rs",
];

#[test]
fn few_files_name_a_format() {
    let named = Regex::new(r"\b(?:Format|Target)::(?:OpenAi|Anthropic|Gemini)").unwrap();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let mut lines = code.lines();
        if lines.any(|line| !line.trim_start().starts_with("//") && named.is_match(line)) {
            let relative = file.strip_prefix(&src).unwrap();
            found.insert(relative.to_string_lossy().into_owned());
        }
    }
    found.retain(|file| !file.ends_with("tests.rs"));
    let known = FORMATS_ARE_NAMED_IN.map(str::to_owned);
    assert_eq!(found, BTreeSet::from(known));
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
