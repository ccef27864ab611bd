//! House rules, run as a test: documents name only what exists and are short enough to be read, every module says what
//! it is for, no file is too long, habits get rarer, test files are run, decisions are listed, the changelog is short lines.

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
    ("tenure", [0, 171, 15, 0]),
    ("tenure-adapters", [0, 11, 0, 0]),
    ("tenure-cli", [0, 15, 0, 7]),
    ("tenure-inspector", [0, 9, 0, 0]),
    ("tenure-node", [0, 13, 0, 0]),
    ("tenure-python", [0, 0, 0, 0]),
    ("tenure-server", [5, 15, 4, 124]),
    ("tenure-store", [0, 58, 3, 0]),
    ("tenure-tokens", [0, 2, 0, 0]),
    ("tenure-workspace", [1, 60, 6, 35]),
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
        let file = runners.iter().find(|path| path.ends_with(format!("tests/{module}.rs")));
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

/// The most words of a page, of a page on concepts, of the README, of a paragraph and of a sentence.
const PAGE: usize = 3_000;
const CONCEPT: usize = 1_500;
const README: usize = 900;
const PARAGRAPH: usize = 120;
const SENTENCE: usize = 45;

/// The pages that have limits; the changelog has its own.
fn pages() -> Vec<PathBuf> {
    files(&root().join("docs"), "md")
        .into_iter()
        .chain(["README.md", "ARCHITECTURE.md", "STYLE.md"].map(|name| root().join(name)))
        .collect()
}

/// The most words that a page may have.
fn most_words(path: &Path) -> usize {
    if path == root().join("README.md") {
        README
    } else if path.starts_with(root().join("docs/concepts")) {
        CONCEPT
    } else {
        PAGE
    }
}

fn begins_an_item(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || rest != line && rest.starts_with(". ")
}

/// The paragraphs of a page, each item of a list being one: no tables, code, headings, pictures or comments.
fn paragraphs(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut in_code = false;
    for line in text.lines() {
        let words = line.trim();
        let is_fence = words.starts_with("```");
        in_code ^= is_fence;
        let is_prose = !words.is_empty() && !words.starts_with(['|', '#', '!', '<']);
        if is_fence || in_code || !is_prose || line.starts_with("    ") {
            found.push(String::new());
            continue;
        }
        if begins_an_item(words) {
            found.push(String::new());
        }
        let last = found.last_mut().unwrap();
        last.push_str(words);
        last.push('\n');
    }
    found.retain(|paragraph| !paragraph.is_empty());
    found
}

/// The words of a text, each span of code being one.
fn words(text: &str) -> Vec<String> {
    let spans = text.split('`').enumerate();
    let plain: String = spans.map(|(at, span)| if at % 2 == 0 { span } else { "code" }).collect();
    plain.split_whitespace().map(str::to_owned).collect()
}

/// The numbers of words of the sentences of a paragraph.
fn sentences(paragraph: &str) -> Vec<usize> {
    let mut lengths = vec![0];
    for word in words(paragraph) {
        *lengths.last_mut().unwrap() += 1;
        if word.trim_end_matches(['"', '”', ')', '*', '_', ']']).ends_with(['.', '!', '?']) {
            lengths.push(0);
        }
    }
    lengths
}

#[test]
fn what_counts_as_a_paragraph_and_a_sentence() {
    let text = "# A heading\n\n| a | table |\n\n```sh\nsome code\n```\n\nOne is. Two\nare (`a. b`).\n- An item\n  of two\n- Another\n\n    code\n";
    assert_eq!(
        paragraphs(text),
        [
            "One is. Two\nare (`a. b`).\n",
            "- An item\nof two\n",
            "- Another\n"
        ]
    );
    assert_eq!(sentences("One is. Two are (`a. b`)."), [2, 3, 0]);
}

/// A page, a paragraph or a sentence, and how long it is.
struct Measure {
    what: &'static str,
    words: usize,
    most: usize,
    begin: String,
}

impl Measure {
    fn new(what: &'static str, words: usize, most: usize, text: &str) -> Measure {
        let begin = text.chars().take(60).collect();
        Measure {
            what,
            words,
            most,
            begin,
        }
    }
}

/// The page as a whole, its paragraphs and their sentences.
fn measures(path: &Path) -> Vec<Measure> {
    let text = fs::read_to_string(path).unwrap();
    let whole = text.split_whitespace().count();
    let mut found = vec![Measure::new("a page", whole, most_words(path), &text)];
    for paragraph in paragraphs(&text) {
        let whole = words(&paragraph).len();
        found.push(Measure::new("a paragraph", whole, PARAGRAPH, &paragraph));
        for length in sentences(&paragraph) {
            found.push(Measure::new("a sentence", length, SENTENCE, &paragraph));
        }
    }
    found
}

#[test]
fn documents_are_short_enough_to_be_read() {
    let mut faults = Vec::new();
    let mut checked = 0;
    for path in pages() {
        for Measure {
            what,
            words,
            most,
            begin,
        } in measures(&path)
        {
            checked += 1;
            if words > most {
                let path = path.display();
                faults.push(format!(
                    "{path}: {what} of {words} words, at most {most}: {begin}"
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 1_000, "{checked}");
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

/// The most files of decisions, index included: one record for a subject, which changes with it.
const MOST_RECORDS: usize = 60;

/// The files that the links of a Markdown text name, without places in them.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let ends = text.split("](").skip(1);
    let links = ends.filter_map(|end| end.split([')', '#']).next());
    links.filter(|link| !link.is_empty() && !link.contains("://"))
}

#[test]
fn decisions_are_listed_and_their_links_exist() {
    let folder = root().join("docs/decisions");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let records = files(&folder, "md");
    assert!(
        records.len() <= MOST_RECORDS,
        "docs/decisions has {} files: fold a record into that of its subject",
        records.len()
    );
    for path in &records {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = fs::read_to_string(path).unwrap();
        assert!(text.starts_with("# "), "docs/decisions/{name} has no title");
        assert!(
            name == "README.md" || links(&index).any(|link| link == name),
            "docs/decisions/README.md does not list {name}"
        );
        for link in links(&text) {
            assert!(
                folder.join(link).exists(),
                "docs/decisions/{name} links to `{link}`, which does not exist"
            );
        }
    }
}

/// The headings of a release in the changelog.
const CHANGES: [&str; 5] = ["Added", "Changed", "Fixed", "Removed", "Security"];

/// The most words of one line of the changelog.
const MOST_WORDS: usize = 20;

/// A changelog is read in passing. An item of it is one line, however many it is written on.
#[test]
fn the_changelog_has_short_lines_under_known_headings() {
    let text = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let (_, releases) = text.split_once("\n## ").unwrap();
    let mut items = 0;
    // The first block is the rest of a heading: the name of a release.
    for block in releases.split("\n\n").skip(1).map(str::trim) {
        if let Some(change) = block.strip_prefix("### ") {
            assert!(CHANGES.contains(&change), "CHANGELOG.md: `{block}`");
        } else if let Some(list) = block.strip_prefix("- ") {
            for item in list.split("\n- ") {
                let words = item.split_whitespace().count();
                assert!(
                    words <= MOST_WORDS,
                    "CHANGELOG.md: {words} words in `{item}`"
                );
                items += 1;
            }
        } else {
            let is_group = block.starts_with("**") && block.ends_with("**");
            assert!(
                block.starts_with("## ") || is_group,
                "CHANGELOG.md: `{block}` is neither a heading, a group nor a list"
            );
        }
    }
    assert!(items > 30, "only {items} lines were found");
}
