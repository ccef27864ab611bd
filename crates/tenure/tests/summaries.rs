//! Runs the golden cases of `tests/summaries/*.md` at the root of the repository: what a summary says of a result
//! of a tool, and what stays of what was said around it.
//!
//! A case is a chapter (`## title`) of prose and blocks fenced by `~~~`. The word after the fence says what a block
//! is, in the order of the conversation: `user`, `assistant`, `call NAME` with its arguments in JSON, `result`;
//! `task` is what the model is about to do, `summary` the text expected.
//!
//! `UPDATE_CASES=1 cargo test -p tenure --test runner summaries::` writes what came out into the blocks that are there; read
//! the difference before you keep it.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tenure::condense::turns::{Speaker, Standing};
use tenure::object::ToolCall;
use tenure::session::{Checkpoint, Said, SessionPolicy, Shown, Summarizing};
use tenure::time::Instant;

struct Block {
    head: String,
    text: String,
}

/// The parts of a file: what stands between blocks, and the blocks.
enum Part {
    Prose(String),
    Block(Block),
}

fn parts(file: &str) -> Vec<Part> {
    let mut parts = vec![Part::Prose(String::new())];
    let mut open = false;
    for line in file.split_inclusive('\n') {
        match (open, line.strip_prefix("~~~"), parts.last_mut()) {
            (true, Some(_), _) => {
                open = false;
                parts.push(Part::Prose(String::new()));
            }
            (true, None, Some(Part::Block(block))) => block.text.push_str(line),
            (false, Some(head), _) => {
                open = true;
                let head = head.trim().to_owned();
                let text = String::new();
                parts.push(Part::Block(Block { head, text }));
            }
            (false, None, Some(Part::Prose(prose))) => prose.push_str(line),
            _ => unreachable!("a block is open or prose is"),
        }
    }
    parts
}

fn summary(blocks: &[&Block]) -> String {
    let calls: Vec<Option<ToolCall>> = blocks
        .iter()
        .map(|block| {
            let name = block.head.strip_prefix("call ")?;
            Some(ToolCall {
                id: "call".to_owned(),
                name: name.to_owned(),
                arguments: serde_json::from_str(&block.text).unwrap(),
            })
        })
        .collect();
    let mut task = "";
    let mut said: Vec<Said<'_>> = Vec::new();
    let mut call = None;
    for (block, called) in blocks.iter().zip(&calls) {
        let speaker = match block.head.as_str() {
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            "result" => Speaker::Tool,
            "task" => {
                task = block.text.trim();
                continue;
            }
            _ => {
                call = called.as_ref().or(call);
                continue;
            }
        };
        said.push(Said {
            turn: said.len() as u64 + 1,
            speaker,
            text: block.text.trim_end(),
            pinned: false,
            call: call.filter(|_| speaker == Speaker::Tool),
        });
    }
    let count = |text: &str| text.len().div_ceil(4);
    let from = said.iter().map(|said| count(said.text) as u64).sum();
    let policy = SessionPolicy {
        least: 220,
        ..SessionPolicy::default()
    };
    let how = Summarizing {
        policy: &policy,
        task,
        count: &count,
        at: Some(Instant::from_micros(1_790_000_000_000_000)),
        shown: &Shown::NOTHING,
    };
    let made = Checkpoint::of_turns(&said, from, &how).unwrap();
    let demands = made.demands().map(|statement| statement.line() + "\n");
    demands.collect::<String>() + &made.text(Some(("rehydrate", 9)))
}

#[test]
fn the_golden_summaries() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/summaries");
    let files = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut checked = 0;
    for path in files {
        let file = fs::read_to_string(&path).unwrap();
        let mut written = String::new();
        let mut blocks: Vec<Block> = Vec::new();
        for part in parts(&file) {
            let block = match part {
                Part::Prose(prose) => {
                    if prose.contains("\n## ") || prose.starts_with("## ") {
                        blocks.clear();
                    }
                    written.push_str(&prose);
                    continue;
                }
                Part::Block(block) => block,
            };
            let mut text = block.text.clone();
            if block.head == "summary" {
                checked += 1;
                let found = summary(&blocks.iter().collect::<Vec<_>>());
                if std::env::var_os("UPDATE_CASES").is_some() {
                    text = found;
                } else {
                    assert_eq!(found, text, "{}", path.display());
                }
            }
            written.push_str(&format!("~~~{}\n{text}~~~\n", block.head));
            blocks.push(block);
        }
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&path, written).unwrap();
        }
    }
    assert!(checked > 0);
}

/// Words with a letter in them.
fn words(text: &str) -> usize {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.filter(|run| run.contains(char::is_alphabetic)).count()
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: "call".to_owned(),
        name: name.to_owned(),
        arguments: arguments.into(),
    }
}

/// What is asserted of every summary.
fn check(said: &[Said<'_>], task: &str) {
    let count = |text: &str| text.len().div_ceil(4);
    let policy = SessionPolicy::default();
    let how = Summarizing {
        policy: &policy,
        task,
        count: &count,
        at: None,
        shown: &Shown::NOTHING,
    };
    let from: u64 = said.iter().map(|said| count(said.text) as u64).sum();
    let made = Checkpoint::of_turns(said, from, &how).unwrap();
    assert_eq!(made, Checkpoint::of_turns(said, from, &how).unwrap());
    let cost = |statements: &[tenure::session::Statement]| {
        let each = statements.iter().map(|one| count(&one.line()) + 1);
        each.sum::<usize>()
    };
    assert!(
        cost(&made.said) <= policy.most as usize,
        "{}",
        made.text(Some(("rehydrate", 1)))
    );
    assert!(
        cost(&made.kept) <= policy.kept_most as usize,
        "{}",
        made.text(Some(("rehydrate", 1)))
    );
    for statement in made.kept.iter().chain(&made.said) {
        assert!(!statement.text.contains(['\n', '\r']), "{statement:?}");
        let by_tool = statement.speaker == Speaker::Tool;
        assert!(!by_tool || statement.standing == Standing::Scored);
        let binds = matches!(statement.speaker, Speaker::User | Speaker::System);
        assert!(
            binds || statement.standing != Standing::Constraint,
            "{statement:?}"
        );
    }
    for statement in &made.said {
        assert!(words(&statement.text) > 2, "{statement:?}");
    }
    let turns: std::collections::BTreeSet<u64> = said.iter().map(|said| said.turn).collect();
    let ids: Vec<String> = turns.iter().map(|turn| format!("t{turn}")).collect();
    assert_eq!(made.source_ids, ids);
    assert!(made.compression_ratio.is_some());
    // What it says is said once, also by what summarises it.
    let merged = Checkpoint::of_checkpoints(&[(7, made.clone()), (8, made)], &how).unwrap();
    assert_eq!(merged.source_ids, ["c7", "c8"]);
    assert!(cost(&merged.said) <= policy.most as usize);
    let mut seen = std::collections::BTreeSet::new();
    assert!(merged.said.iter().all(|said| seen.insert(said.text.clone())));
    let shown = Shown::of(said.iter().map(|said| said.text));
    let how = Summarizing {
        shown: &shown,
        ..how
    };
    let quiet = Checkpoint::of_turns(said, from, &how).unwrap();
    assert!(quiet.said.iter().all(|said| !shown.says(&said.text)));
}

/// Texts as large and as strange as a tool returns them.
#[test]
fn hostile_results_are_summarised_in_bounds() {
    let long = "pump word ".repeat(8_000);
    let texts = [
        long.clone(),
        long.replace(' ', ""),
        "漢字".repeat(10_000),
        "1\t2\t3\n".repeat(20_000),
        "[".repeat(200_000),
        format!("[{}1]", "{\"a\": [1, \"x\"]},".repeat(15_000)),
        "\"\"\"\n# A sentence that never ends\n".repeat(10_000),
        "fn impl struct class <<<(((\n".repeat(10_000),
        (0..20_000).map(|at| format!("{at:6}→\n")).collect(),
        "\u{200D}\u{301}👩\r\0".repeat(20_000),
        "at a.b(C.java:1)\nCaused by: x\n".repeat(8_000),
        "a/b.rs:1:x\n".repeat(15_000),
    ];
    let calls = [
        call("Read", r#"{"file_path": "a.py"}"#),
        call(
            "shell",
            &format!(r#"{{"command": "cat {}"}}"#, "x".repeat(100_000)),
        ),
        call(
            "Bash",
            r#"{"command": "sed -n '5,99999999999p' y.rs | nl"}"#,
        ),
        call("", "not json"),
    ];
    for text in &texts {
        for call in calls.iter().map(Some).chain([None]) {
            let said = Said {
                turn: 3,
                speaker: Speaker::Tool,
                text,
                pinned: false,
                call,
            };
            check(&[said], "mend pump 12");
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        (0u32..99)
            .prop_map(|at| format!("2026-06-06T12:00:{at:02}Z INFO worker {at} did its job.")),
        (0u32..99).prop_map(|at| format!("{at:6}→pub fn step_{at}() {{")),
        (0u32..99).prop_map(|at| format!("{at},name {at},must never be")),
        (0u32..99).prop_map(|at| format!("test case_{at} ... FAILED")),
        Just("/// A doc sentence that says why, because it must.".to_owned()),
        Just("No, that is wrong. Use 8443. Never do it again.".to_owned()),
        "[A-Za-z0-9 .,;:#|`{}\"'\\t-]{0,60}",
    ]
}

proptest! {
    #[test]
    fn summaries_keep_their_bounds(
        turns in prop::collection::vec((prop::collection::vec(line(), 0..40), 0usize..4), 1..8),
        named in 0usize..4,
    ) {
        let calls = [
            call("Read", r#"{"path": "src/a.rs", "offset": 12}"#),
            call("bash", r#"{"cmd": "cat notes.md"}"#),
            call("edit_file", r#"{"path": "b.py", "text": "x"}"#),
            call("query", "{\"sql\": \"select 1\"}"),
        ];
        let texts: Vec<String> = turns.iter().map(|(lines, _)| lines.join("\n")).collect();
        let said: Vec<Said<'_>> = texts
            .iter()
            .zip(&turns)
            .enumerate()
            .map(|(at, (text, (_, speaker)))| Said {
                turn: at as u64 + 1,
                speaker: Speaker::ALL[*speaker],
                text,
                pinned: false,
                call: (*speaker == 3).then_some(&calls[named]),
            })
            .collect();
        check(&said, "what did worker 7 do in step 12");
    }
}
