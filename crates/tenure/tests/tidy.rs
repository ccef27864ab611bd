//! House rules, run as a test: documents name only what exists, every module says what it is for, no file is too
//! long, habits get rarer, test files are run, decisions are listed.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files below `folder` with this extension, build output left out.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    for path in files(&root().join("crates"), "rs") {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("//! "),
            "{} does not open with `//!`",
            path.display()
        );
    }
}

/// The most of each of [`HABITS`] in the `src` of a crate, of others none; a number only ever falls. `scripts/house`
/// counts them.
#[rustfmt::skip]
const RATCHETS: [(&str, [usize; 4]); 10] = [
    ("tenure", [0, 171, 16, 0]),
    ("tenure-adapters", [0, 11, 0, 0]),
    ("tenure-cli", [5, 14, 0, 7]),
    ("tenure-inspector", [0, 9, 0, 0]),
    ("tenure-node", [0, 13, 0, 0]),
    ("tenure-python", [0, 0, 0, 0]),
    ("tenure-server", [94, 38, 4, 130]),
    ("tenure-store", [0, 60, 5, 0]),
    ("tenure-tokens", [0, 2, 0, 0]),
    ("tenure-workspace", [89, 93, 6, 48]),
];

const HABITS: [&str; 4] = ["shadows", "closures", "long", "docs"];

#[test]
fn habits_only_get_rarer() {
    for (name, figures) in super::house::crates(&root()) {
        let most = RATCHETS
            .iter()
            .find(|(known, _)| *known == name)
            .map_or([0; 4], |(_, most)| *most);
        let found = [
            figures.shadows,
            figures.closures,
            figures.long_functions,
            figures.openings,
        ];
        for ((habit, most), found) in HABITS.iter().zip(most).zip(found) {
            assert!(
                found.len() <= most,
                "{name} may have {most}: `scripts/house {habit}` lists\n{}",
                found.join("\n")
            );
        }
    }
}

/// A test file that no target has is never run, and nothing says so.
#[test]
fn every_test_file_is_run() {
    for crate_folder in fs::read_dir(root().join("crates")).unwrap() {
        let folder = crate_folder.unwrap().path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let Ok(runner) = fs::read_to_string(folder.join("tests/runner.rs")) else {
            assert!(
                !manifest.contains("autotests = false"),
                "{}",
                folder.display()
            );
            continue;
        };
        for file in fs::read_dir(folder.join("tests")).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let name = path.file_stem().unwrap().to_string_lossy();
            let runs = runner.contains(&format!("\nmod {name};\n"))
                || manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            assert!(runs, "{} is in no test program", path.display());
        }
    }
}

/// A filter that matches nothing passes: what `scripts/test` asks for by name is there.
#[test]
fn the_test_command_names_tests_that_exist() {
    let script = fs::read_to_string(root().join("scripts/test")).unwrap();
    let lines = script
        .lines()
        .filter(|line| line.contains("unner --") || line.contains("$runner --"));
    let words = lines.flat_map(|line| line.split_whitespace());
    let filters = words.filter_map(|word| word.trim_matches('"').split_once("::"));
    let runners = files(&root().join("crates"), "rs");
    let mut found = 0;
    for (module, test) in filters {
        let file = runners
            .iter()
            .find(|path| path.ends_with(format!("tests/{module}.rs")));
        let file =
            file.unwrap_or_else(|| panic!("scripts/test runs `{module}::`, which no test file is"));
        let text = fs::read_to_string(file).unwrap();
        assert!(
            test.is_empty() || text.contains(&format!("fn {test}")),
            "{module}::{test}"
        );
        found += 1;
    }
    assert!(found >= 8, "{found}");
}

#[test]
fn documents_name_only_paths_that_exist() {
    let mut checked = 0;
    let folders = [
        "crates/",
        "docs/",
        "tests/",
        "examples/",
        "schemas/",
        "scripts/",
    ];
    for path in files(&root(), "md") {
        let text = fs::read_to_string(&path).unwrap();
        for word in text.split(|c: char| c.is_whitespace() || "`()[]\"'<>|,;".contains(c)) {
            let word = word.trim_end_matches(['.', ':']);
            let is_path = folders.iter().any(|folder| word.starts_with(folder))
                && !word.contains(['*', '{', 'N']);
            if is_path {
                let word = word.split('#').next().unwrap();
                assert!(
                    root().join(word).exists(),
                    "{} names `{word}`, which does not exist",
                    path.display()
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} paths were found");
}

#[test]
fn rooms_are_not_halls() {
    let sources = files(&root().join("crates"), "rs");
    for path in sources
        .iter()
        .filter(|path| path.components().any(|part| part.as_os_str() == "src"))
    {
        let lines = fs::read_to_string(path).unwrap().lines().count();
        assert!(
            lines <= 1_000,
            "{} has {lines} lines: split it",
            path.display()
        );
    }
}

#[test]
fn decisions_are_numbered_and_listed() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut numbers = Vec::new();
    for path in files(&folder, "md") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            continue;
        }
        let number = name
            .get(..3)
            .and_then(|number| number.parse::<usize>().ok());
        let number = number.unwrap_or_else(|| panic!("{name} has no number"));
        let text = fs::read_to_string(&path).unwrap();
        let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
        let title = title.unwrap_or_else(|| panic!("{name} has no title"));
        assert!(
            title.starts_with(&format!("{number}. ")),
            "{name}: `{title}`"
        );
        assert!(
            index.contains(&format!("[{title}]({name})")),
            "docs/decisions/README.md does not list {name} by its title"
        );
        numbers.push(number);
    }
    assert_eq!(
        index.matches(".md)").count(),
        numbers.len(),
        "the index lists what is not there"
    );
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
}
