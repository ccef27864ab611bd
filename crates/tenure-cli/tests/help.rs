//! The examples of `--help`, each run as printed in a folder that has what they name.

use std::path::Path;
use std::process::Command;

use crate::support::{Bench, text};

/// The examples that need a server, a provider's traffic, a secret or a digest: the parser alone is asked about them.
const NOT_RUN: [&str; 9] = [
    "tenure run",
    "--online",
    "tenure serve",
    "tenure log",
    "tenure rehydrate",
    "tenure keys revoke",
    "gw-4f1c",
    "postgres://",
    "--revision",
];

/// The pages, each as the words that name it, from what `-h` lists.
pub(crate) fn pages(bench: &Bench, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("-h");
    let page = bench.ok(&args);
    let lines = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in lines.take_while(|line| !line.is_empty()) {
        // What goes on in a second line is no name.
        let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next());
        if let Some(name) = name.filter(|name| !name.is_empty() && *name != "help") {
            pages(bench, &[path, &[name.to_owned()]].concat(), found);
        }
    }
    found.push((path.to_vec(), page));
}

/// The commands among the examples of a page.
fn examples(page: &str) -> Vec<&str> {
    let lines = page.lines().skip_while(|line| *line != "Examples:").skip(1);
    let commands = lines.map(|line| {
        let line = line.trim();
        line.split_once("  ").map_or(line, |(line, _)| line)
    });
    commands.filter(|line| !line.is_empty()).collect()
}

/// Attention weights of a compile: the same for each item.
fn weights(output: &[u8]) -> String {
    let output: serde_json::Value = serde_json::from_slice(output).unwrap();
    let envelope = &output["envelope"];
    let sections = envelope["sections"].as_array().unwrap().iter();
    let items: usize = sections.map(|section| section["items"].as_array().unwrap().len()).sum();
    serde_json::json!({ "payload": envelope["payload_digest"], "items": vec![1; items] })
        .to_string()
}

/// A folder with what the examples name.
pub(crate) fn folder() -> Bench {
    let bench = Bench::new();
    let log: String = (0..400).map(|at| format!("[{at:03}] compiling unit_{at}.c\n")).collect();
    let body = |model: &str, said: &str| {
        format!(
            r#"{{"model":"{model}","max_tokens":100,"messages":[{{"role":"user","content":"{said}"}}]}}"#
        )
    };
    let claims =
        "[[claims]]\nname = \"a\"\ndemand = 9000\n[[claims]]\nname = \"b\"\ndemand = 4000\n";
    bench
        .file("AGENTS.md", "# Rules\n\nFix the parser before all else.\n")
        .file("task.json", r#"{"objective":"Fix the parser"}"#)
        .file("docs/release.md", "# Release\n\nA release is made by the parser's tests.\n")
        .file("docs/team.md", "# Team\n\nAda leads.\n")
        .file("rules/style.md", "---\nname: style\n---\nShort sentences.\n")
        .file("claims.toml", claims)
        .file("build.log", format!("{log}error: the link failed\n"))
        .file("request.json", body("gpt-4o", "Fix the parser"))
        .file("monday.json", body("claude-opus-4-1", "Fix the parser"))
        .file("tuesday.json", body("claude-opus-4-1", "Fix the lexer"))
        .file("models.toml", "")
        .file("tone.md", "Be brief.\n")
        .file(
            "facts.jsonl",
            "{\"name\":\"a\",\"content\":\"Pump 7 is new.\"}\n{\"name\":\"b\",\"content\":\"Pump 9 is old.\"}\n",
        )
        .file(
            "offices.jsonl",
            "{\"name\":\"office-2025\",\"content\":\"Chicago.\",\"normalized_claim\":\"office == Chicago\",\"subjects\":[\"ada\"]}\n\
             {\"name\":\"office-2026\",\"content\":\"Denver.\",\"normalized_claim\":\"office == Denver\",\"subjects\":[\"ada\"]}\n",
        )
        .file("policy.toml", "name = \"ours\"\nversion = \"1.0.0\"\n")
        .file(
            "completion.json",
            r#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"81 C."}}]}"#,
        )
        .file(
            "messages.jsonl",
            "{\"role\":\"assistant\",\"content\":\"81 C.\"}\n{\"role\":\"user\",\"content\":\"And 9?\"}\n",
        )
        .file("messages.json", r#"[{"role":"user","content":"How hot is pump 7?"}]"#)
        .file(
            "error.txt",
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        )
        .file(
            "questions.jsonl",
            "{\"units\":[{\"id\":\"a\",\"text\":\"The pump is hot.\"},{\"id\":\"b\",\"text\":\"The lid is red.\"}],\"queries\":[{\"text\":\"hot pump\",\"relevant\":[\"a\"]}]}\n",
        )
        .file(
            "skills/docx/SKILL.md",
            "---\nname: docx\ndescription: Writes documents.\n---\nWrite.\n",
        )
        .file("norms.md", "# Norms\n\nReview each other's work.\n")
        .file(
            "manifest.yaml",
            "title: Release\nretrieval_recipes:\n- kind: selector\n  query: sections\n  sources: [docs]\n",
        )
        .file("kept.jsonl", "{\"object\":{\"name\":\"c\",\"content\":\"Pump 3 is gone.\"}}\n")
        .file(".local/share/bash-completion/completions/x", "");
    for (name, task) in [("before.json", "Fix the parser"), ("after.json", "Release")] {
        let args = ["compile", ".", "--task", task, "--format", "json", "-o"];
        let made = bench.run(&[&args[..], &["payload"], &["--no-store"]].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        if name == "before.json" {
            bench.file("weights.json", weights(&made.stdout));
        }
        bench.file(name, made.stdout);
    }
    for args in [
        &["store", "put", "docs", "--subject", "ada"][..],
        &["index", "docs"],
        &[
            "context",
            "pack",
            "sections",
            "--source",
            "docs/release.md",
            "--name",
            "release",
        ],
        &[
            "context",
            "pack",
            "sections",
            "--source",
            "docs/team.md",
            "--name",
            "team",
        ],
        &[
            "context",
            "pack",
            "sections",
            "--source",
            "norms.md",
            "--name",
            "norms",
            "--reviewed",
        ],
        &["context", "export", "release", "-o", "package.json"],
        &["context", "activate", "release", "--target", "thread:wp-7"],
        &["store", "put", "offices.jsonl"],
        &["outcome", "propose", "--name", "bars", "--text", "In bar."],
        &[
            "outcome",
            "propose",
            "--name",
            "psi",
            "--text",
            "Not in psi.",
            "--mistake",
            "psi",
        ],
        &["outcome", "accept", "psi", "--by", "ada"],
        &["entity", "add", "ada", "--name", "Ada Lovelace"],
        &["entity", "add", "ada", "--alias", "Ada L."],
        &["entity", "add", "lovelace", "--name", "A. Lovelace"],
        &["entity", "add", "countess", "--name", "The Countess"],
        &["entity", "merge", "countess", "ada"],
        &["session", "new", "talk"],
        &["session", "append", "talk", "--text", "How hot is pump 7?"],
        &[
            "session",
            "append",
            "talk",
            "--role",
            "assistant",
            "--text",
            "It is hot.",
        ],
        &["session", "append", "talk", "--text", "And pump 8?"],
        &["registry", "create", "sqlite://.tenure/store.db", "notes"],
        &[
            "registry",
            "write",
            "sqlite://.tenure/store.db",
            "units",
            "--text",
            "Use bar.",
        ],
        &["registry", "create", "agent.snapshot", "main"],
        &[
            "registry",
            "write",
            "agent.snapshot",
            "units",
            "--text",
            "Use bar.",
        ],
        &[
            "registry",
            "write",
            "agent.snapshot",
            "limits",
            "--text",
            "Stay.",
            "--trajectory",
            "run-7",
        ],
    ] {
        bench.ok(args);
    }
    bench.file("norms.md", "# Norms\n\nReview in pairs.\n");
    bench.ok(&["context", "refresh", "norms"]);
    // They wait for a person.
    let inferred = |name: &str, content: &str, claim: &str, entity: &str| {
        serde_json::json!({
            "name": name, "content": content, "object_type": "inferred_belief",
            "normalized_claim": claim, "canonical_entity_ids": [entity],
        })
    };
    let hunch = inferred("hunch", "Port 80.", "port == 80", "desk");
    let diet = inferred("diet", "No meat.", "diet == vegetarian", "guest");
    bench.file("waiting.jsonl", format!("{hunch}\n{diet}\n"));
    bench.ok(&["store", "put", "waiting.jsonl"]);
    std::fs::remove_file(bench.folder.path().join("waiting.jsonl")).unwrap();
    bench
}

/// A copy of a folder. What was made elsewhere is accepted first.
pub(crate) fn copy(base: &Bench) -> Bench {
    let bench = Bench::new();
    let copy = Command::new("cp")
        .args(["-a", &format!("{}/.", base.folder.path().display())])
        .arg(bench.folder.path())
        .status();
    assert!(copy.unwrap().success());
    bench.ok(&["trust", "."]);
    bench
}

/// Runs a line as a shell does, with our program as `tenure`, and returns what it prints.
pub(crate) fn run(bench: &Bench, line: &str) -> Result<Vec<u8>, String> {
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
    let shell = shell.env("HOME", bench.folder.path());
    let done = shell.args(["-c", line]).output().unwrap();
    if done.status.success() {
        return Ok(done.stdout);
    }
    Err(format!("`{line}`: {}", text(&done.stderr)))
}

#[test]
fn every_example_works_as_printed() {
    let bench = Bench::new();
    let mut found = Vec::new();
    pages(&bench, &[], &mut found);
    assert!(found.len() > 60, "{} pages", found.len());
    let base = folder();
    let mut wrong = String::new();
    let mut ran = 0;
    for (path, page) in &found {
        let own: Vec<&str> = examples(page);
        let own = own.iter().filter(|line| !NOT_RUN.iter().any(|not| line.contains(not)));
        let own: Vec<&&str> = own.collect();
        // Each page begins in a folder of its own.
        let bench = copy(&base);
        if path.first().is_some_and(|first| first == "registry") && path.len() < 3 {
            let _ = std::fs::remove_file(bench.folder.path().join("agent.snapshot"));
            if path.len() == 2 && path[1] != "create" {
                let _ = std::fs::copy(
                    base.folder.path().join("agent.snapshot"),
                    bench.folder.path().join("agent.snapshot"),
                );
            }
        }
        if path.iter().any(|word| word == "new") || path == &["session"] {
            let _ = std::fs::remove_dir_all(bench.folder.path().join(".tenure"));
        }
        for line in own {
            ran += 1;
            if let Err(error) = run(&bench, line) {
                wrong += &format!("{}: {error}\n", path.join(" "));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(ran > 80, "{ran} examples ran");
}
