//! The contract that scripts rely on: output, messages, exit codes. Runs the real binary.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Bench, text};
use serde_json::Value;

const RULES: &str = "---\nname: brief\nprotection: pinned\n---\nBe brief about the pump.\n\
     ---\nname: metric\nprotection: pinned\n---\nUse metric units.\n";

const COMPILE: [&str; 8] = [
    "compile",
    "--as",
    "guidance",
    "rules.md",
    "--task",
    "Describe the pump.",
    "--as-of",
    "2026-06-06",
];

fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    args.iter().chain(more).copied().collect()
}

#[test]
fn json_has_the_promised_keys() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let out = bench.json(&with(&COMPILE, &["--budget", "300", "--format", "json"]));
    assert_eq!(out["outcome"], "complete");
    let envelope = &out["envelope"];
    assert!(envelope["payload"].as_str().unwrap().contains("Be brief about the pump.\n"));
    assert!(envelope["total_tokens"].as_u64().unwrap() <= 300);
    assert_eq!(envelope["budget"], 300);
    assert!(envelope["payload_digest"].as_str().unwrap().starts_with("sha256:"));
    let section = &envelope["sections"][0];
    for key in ["name", "zone", "tokens", "items"] {
        assert!(!section[key].is_null(), "{key}");
    }
    let trace = &out["trace"];
    assert!(trace["input_digest"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(trace["tokenizer"]["count"], "exact");
    let verdict = &trace["verdicts"][0];
    assert_eq!(verdict["name"], "brief");
    assert_eq!(verdict["verdict"], "included");
    assert_eq!(verdict["reason"]["code"], "fits");
    for key in ["section", "tokens", "score"] {
        assert!(!verdict[key].is_null(), "{key}");
    }
}

#[test]
fn the_payload_is_its_own_count_and_digest() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let out = bench.json(&with(&COMPILE, &["--budget", "300", "--format", "json"]));
    bench.file("payload.txt", out["envelope"]["payload"].as_str().unwrap());
    let count = bench.run(&["tokens", "payload.txt"]);
    assert_eq!(
        text(&count.stdout).trim(),
        out["envelope"]["total_tokens"].to_string()
    );
    assert!(count.stderr.is_empty());
}

#[test]
fn the_same_call_gives_the_same_bytes() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let args = with(
        &COMPILE,
        &[
            "--budget",
            "300",
            "--format",
            "json",
            "--target",
            "openai-chat",
        ],
    );
    assert_eq!(bench.run(&args).stdout, bench.run(&args).stdout);
    let body = bench.json(&args);
    assert_eq!(body["envelope"]["payload"]["messages"][0]["role"], "system");
    assert_eq!(body["trace"]["tokenizer"]["count"], "published");
}

#[test]
fn an_anthropic_body_names_the_room_for_the_answer() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let more = [
        "--budget",
        "400",
        "--reserve",
        "500",
        "--format",
        "json",
        "--target",
        "anthropic-messages",
        "--model",
        "claude-opus-5-5",
    ];
    let body = bench.json(&with(&COMPILE, &more));
    let payload = &body["envelope"]["payload"];
    assert_eq!(payload["max_tokens"], 500);
    assert_eq!(payload["model"], "claude-opus-5-5");
    assert_eq!(payload["messages"][0]["role"], "user");
    assert_eq!(body["trace"]["tokenizer"]["count"], "bounded");
    let span = &body["envelope"]["sections"][0]["items"][0]["span"];
    assert_eq!(
        (span["block"].as_u64(), span.get("message")),
        (Some(0), None)
    );
}

#[test]
fn a_dry_run_says_the_same_numbers() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let args = with(&COMPILE, &["--budget", "300", "--format", "json"]);
    let wet = bench.json(&args);
    let dry = bench.json(&with(&args, &["--dry-run"]));
    assert!(dry["envelope"]["payload"].is_null());
    assert_eq!(
        dry["envelope"]["total_tokens"],
        wet["envelope"]["total_tokens"]
    );
    assert_eq!(dry["trace"]["verdicts"], wet["trace"]["verdicts"]);
}

#[test]
fn exit_codes() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    for code_1 in [
        vec![],
        vec!["compile", "--as", "guidance", "rules.md"],
        vec!["compile", "--tsak", "x"],
        vec!["nonsense"],
        with(&COMPILE, &["--budget", "-5"]),
        with(&COMPILE, &["--budget", "1e9"]),
        with(&COMPILE, &["--budget", "99999999999"]),
    ] {
        let output = bench.run(&code_1);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{code_1:?}: {}",
            text(&output.stderr)
        );
        assert!(output.stdout.is_empty());
    }
    bench.refused(
        2,
        &[
            "compile",
            "--as",
            "guidance",
            "missing.md",
            "--task",
            "x",
            "--budget",
            "300",
        ],
    );
    bench.refused(1, &with(&COMPILE, &["--budget", "0"]));
    bench.refused(2, &with(&COMPILE, &["--window", "100", "--reserve", "100"]));
    bench.refused(2, &with(&COMPILE, &["--budget", "999999999"]));
    let message = bench.refused(3, &with(&COMPILE, &["--budget", "20"]));
    assert!(message.contains("tokens  @task  [task]"), "{message}");
    bench.refused(4, &with(&COMPILE, &["--budget", "300", "--tenant", " "]));
    assert_eq!(bench.run(&["--help"]).status.code(), Some(0));
    assert_eq!(bench.run(&["--version"]).status.code(), Some(0));
}

#[test]
fn mistakes_are_named_with_file_and_line_and_nothing_is_written() {
    let bench = Bench::new();
    bench
        .file("latin1.md", b"caf\xe9")
        .file("nul.md", "a\n\0")
        .file("utf16.md", b"\xff\xfea\0b")
        .file("broken.md", "---\nname: a\npriority: [\n---\nx")
        .file("range.md", "---\nname: a\npriority: 1.5\n---\nx")
        .file("nan.md", "---\nname: a\npriority: .nan\n---\nx")
        .file(
            "huge.md",
            format!("---\nname: a\n# {}\n---\nx", "x".repeat(100_000)),
        )
        .file("twice.md", "---\nname: a\n---\nx\n---\nname: a\n---\ny")
        .file(
            "schema.md",
            "---\nname: a\nobject_type: tool_schema\ninput_schema: {type: strin}\n---\nx",
        )
        .file("lone.json", r#"{"name": "a", "content": "\ud800"}"#)
        .file(
            "deep.json",
            format!("{{\"name\": \"a\", \"input_schema\": {}", "[".repeat(5_000)),
        )
        .file(
            "deep.md",
            format!("---\nname: a\ninput_schema: {}\n---\nx", "[".repeat(5_000)),
        )
        .file("a.xyz", "x")
        .file("bad.toml", "name = \"x\"\nheadigns = false\n")
        .file("request.json", "{\n  \"budget\": {\"tokns\": 5}\n}")
        .file("ok.md", "Fine.");
    for (source, what) in [
        ("latin1.md", "latin1.md:1"),
        ("nul.md", "nul.md:2"),
        ("utf16.md", "UTF-16"),
        ("broken.md", "broken.md:"),
        ("range.md", "range.md:3"),
        ("nan.md", "nan.md:3"),
        ("huge.md", "64 KiB"),
        ("twice.md", "twice.md:5"),
        ("schema.md", "not JSON Schema"),
        ("lone.json", "lone.json:1"),
        ("deep.json", "128 levels"),
        ("deep.md", "deep.md:"),
        ("a.xyz", "no known format"),
        (".", "broken.md"),
    ] {
        // Without `--strict`, a walk leaves out what it cannot read.
        let args = [
            "compile",
            "--as",
            "guidance",
            source,
            "--strict",
            "--task",
            "x",
            "--budget",
            "300",
            "--trace",
            "trace.json",
        ];
        let message = bench.refused(2, &args);
        assert!(message.contains(what), "{source}: {message}");
    }
    assert!(
        !bench.folder.path().join("state").exists(),
        "not even a key"
    );
    let ok = [
        "compile",
        "--as",
        "guidance",
        "ok.md",
        "--task",
        "x",
        "--budget",
        "300",
        "--trace",
        "trace.json",
    ];
    for (more, what) in [
        (["--policy", "bad.toml"], "bad.toml:2"),
        (["--policy", "standart"], "did you mean `standard`?"),
        (["--model", "gpt-4oo"], "did you mean `gpt-4o`?"),
        (["--request", "request.json"], "request.json:2"),
    ] {
        let message = bench.refused(2, &with(&ok, &more));
        assert!(message.contains(what), "{more:?}: {message}");
    }
    for (more, what) in [
        (["--target", "opnai-chat"], "did you mean `openai-chat`?"),
        (["--as-of", "yesterday"], "RFC 3339"),
        (["--as-of", "2026-06-06T12:00:00"], "RFC 3339"),
        (["--task-type", "code"], "task type"),
        (["--clearance", "top"], "security classification"),
    ] {
        let message = bench.refused(1, &with(&ok, &more));
        assert!(message.contains(what), "{more:?}: {message}");
    }
    assert!(
        !bench.folder.path().join("trace.json").exists(),
        "nothing is written"
    );
    assert!(bench.run(&ok).status.success());
    assert!(bench.folder.path().join("trace.json").exists());
}

#[test]
fn traces_are_written_and_compared() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    bench.run(&with(
        &COMPILE,
        &["--budget", "300", "--trace", "wide.json"],
    ));
    let whole = bench.run(&with(&COMPILE, &["--budget", "149", "--format", "json"]));
    bench.file("narrow.json", whole.stdout);
    let diff = bench.run(&["diff", "wide.json", "narrow.json"]);
    assert!(
        text(&diff.stdout).contains("- metric"),
        "{}",
        text(&diff.stdout)
    );
    let json = bench.json(&["diff", "wide.json", "narrow.json", "--format", "json"]);
    assert_eq!(json["same_payload"], false);
    let same = bench.json(&["diff", "wide.json", "wide.json", "--format", "json"]);
    assert_eq!(same["same_payload"], true);
    bench.file("not.json", "{}");
    bench.refused(2, &["diff", "wide.json", "not.json"]);
}

#[test]
fn explain_says_what_would_have_let_it_in() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let mut args = COMPILE.to_vec();
    args[0] = "explain";
    let stages = bench.run(&with(&args, &["--budget", "149", "--stages"]));
    for word in ["normalize", "emit", "OMITTED 1", "metric"] {
        assert!(
            text(&stages.stdout).contains(word),
            "{}",
            text(&stages.stdout)
        );
    }
    let why = bench.json(&with(
        &args,
        &["--budget", "149", "--why", "metric", "--format", "json"],
    ));
    let tokens = why["remedy"]["tokens"].as_u64().unwrap().to_string();
    let out = bench.json(&with(&COMPILE, &["--budget", &tokens, "--format", "json"]));
    assert_eq!(out["trace"]["verdicts"][1]["verdict"], "included");
    let message = bench.refused(2, &with(&args, &["--budget", "149", "--why", "metrc"]));
    assert!(message.contains("did you mean `metric`?"), "{message}");
}

#[test]
fn the_callers_view_shows_nothing_that_is_denied() {
    let bench = Bench::new();
    let secret =
        "---\nname: secret\nsecurity_classification: confidential\n---\nThe pump is old.\n";
    bench.file("rules.md", format!("{RULES}{secret}"));
    let args = with(
        &COMPILE,
        &[
            "--budget",
            "300",
            "--format",
            "json",
            "--clearance",
            "restricted",
        ],
    );
    let operator = bench.run(&args);
    assert!(text(&operator.stdout).contains("\"secret\""));
    let caller = bench.run(&with(&args, &["--view", "caller"]));
    assert!(
        !text(&caller.stdout).contains("secret"),
        "{}",
        text(&caller.stdout)
    );
    bench.file("rules.md", RULES);
    assert_eq!(
        bench.run(&with(&args, &["--view", "caller"])).stdout,
        caller.stdout
    );
}

#[cfg(unix)]
#[test]
fn a_trace_follows_links_and_keeps_devices() {
    let bench = Bench::new();
    bench.file("rules.md", RULES).file("real.json", "old");
    std::os::unix::fs::symlink("real.json", bench.folder.path().join("link.json")).unwrap();
    let run = |path: &str| bench.run(&with(&COMPILE, &["--budget", "300", "--trace", path]));
    assert!(run("link.json").status.success());
    assert!(
        fs::symlink_metadata(bench.folder.path().join("link.json"))
            .unwrap()
            .is_symlink()
    );
    assert!(
        fs::read_to_string(bench.folder.path().join("real.json"))
            .unwrap()
            .contains("verdicts")
    );
    assert!(run("/dev/null").status.success());
    assert_eq!(run("no/such/folder/trace.json").status.code(), Some(2));
    let mut explain = with(&COMPILE, &["--budget", "300", "--trace", "explained.json"]);
    explain[0] = "explain";
    assert!(bench.run(&explain).status.success());
    assert!(bench.folder.path().join("explained.json").exists());
}

#[test]
fn hostile_names_and_links_end_soon() {
    let bench = Bench::new();
    let many: String = (0..10_000)
        .map(|at| {
            format!(
                "---\nname: n{at}\nkeep_with: [n{}, n{}]\n---\nPump.\n",
                (at + 1) % 10_000,
                (at * 7) % 10_000
            )
        })
        .collect();
    bench
        .file("rules.md", many)
        .file("bidi.md", "---\nname: \"a\\u202Eb\"\n---\nPump.\n");
    let out = bench.json(&with(&COMPILE, &["--budget", "300", "--format", "json"]));
    assert_eq!(
        out["trace"]["verdicts"][7]["reason"]["code"],
        "closure_too_long"
    );
    let shown = bench.run(&[
        "compile", "--as", "guidance", "bidi.md", "--task", "x", "--budget", "300",
    ]);
    assert!(
        !text(&shown.stdout).contains('\u{202E}'),
        "{}",
        text(&shown.stdout)
    );
}

#[test]
fn folders_are_walked_and_what_is_left_out_is_reported() {
    let bench = Bench::new();
    bench
        .file("notes/b.md", "Beta.")
        .file("notes/deep/a.md", "Alpha.")
        .file("notes/README.md", "For people.")
        .file("notes/data.xyz", "1,2")
        .file("notes/.hidden.md", "Hidden.");
    #[cfg(unix)]
    std::os::unix::fs::symlink("..", bench.folder.path().join("notes/loop")).unwrap();
    let out = bench.json(&[
        "compile", "notes", "--task", "x", "--budget", "300", "--format", "json",
    ]);
    let names: Vec<&str> = out["trace"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["README", "b", "deep/a"]);
    let unfetched = out["trace"]["unfetched"].as_array().unwrap();
    assert_eq!(unfetched.len(), if cfg!(unix) { 3 } else { 2 });
}

#[test]
fn the_frame_key_is_made_once_and_kept_private() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let args = with(&COMPILE, &["--budget", "300", "--format", "json"]);
    let first = bench.json(&args)["trace"]["inputs"]["world"].clone();
    assert_eq!(first, bench.json(&args)["trace"]["inputs"]["world"]);
    let key = bench.folder.path().join("state/tenure/frame-key");
    assert_eq!(fs::read_to_string(&key).unwrap().trim().len(), 64);
    bench.file("key", "0".repeat(64));
    let other = bench.json(&with(&args, &["--frame-key", "key"]));
    assert_ne!(first, other["trace"]["inputs"]["world"]);
    bench.file("key", "short");
    bench.refused(2, &with(&args, &["--frame-key", "key"]));
}

#[test]
fn a_tokenizer_json_counts_for_other_models() {
    let bench = Bench::new();
    let tiny = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
        "pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"a":0,"[UNK]":1},"unk_token":"[UNK]"}}"#;
    bench
        .file("rules.md", RULES)
        .file("tokenizer.json", tiny)
        .file("text.txt", "a b c");
    assert_eq!(
        text(&bench.run(&["tokens", "text.txt", "--model", "tokenizer.json"]).stdout),
        "3\n"
    );
    let out = bench.json(&with(
        &COMPILE,
        &[
            "--budget",
            "300",
            "--model",
            "tokenizer.json",
            "--format",
            "json",
        ],
    ));
    bench.file("payload.txt", out["envelope"]["payload"].as_str().unwrap());
    let count = bench.run(&["tokens", "payload.txt", "--model", "tokenizer.json"]);
    assert_eq!(
        text(&count.stdout).trim(),
        out["envelope"]["total_tokens"].to_string()
    );
    let bounded = bench.json(&[
        "tokens",
        "text.txt",
        "--model",
        "claude-opus-5-5",
        "--format",
        "json",
    ]);
    assert_eq!(bounded["count"], "bounded");
}

#[test]
fn text_output_is_for_people_and_cannot_steer_a_terminal() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let output = bench.run(&with(&COMPILE, &["--budget", "149"]));
    let shown = text(&output.stdout);
    for word in [
        "SECTION",
        "INCLUDED 1",
        "OMITTED 1",
        "of 149 tokens",
        "PAYLOAD",
    ] {
        assert!(shown.contains(word), "{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn schemas_completions_and_man_page() {
    let bench = Bench::new();
    for form in ["object", "request", "policy", "envelope", "trace"] {
        let schema = bench.json(&["schema", form]);
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        let committed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{form}.json"));
        let committed: Value =
            serde_json::from_str(&fs::read_to_string(committed).unwrap()).unwrap();
        assert_eq!(schema, committed);
    }
    bench.refused(1, &["schema", "objct"]);
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&bench.run(&["completions", shell]).stdout).contains("--budget"));
    }
    let man = text(&bench.run(&["man"]).stdout);
    assert!(man.contains(".TH") && man.contains("known\\-at"), "{man}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let bench = Bench::new();
    let many: String = (0..3_000)
        .map(|n| format!("---\nname: rule-{n}\n---\nRule {n} of the pump.\n"))
        .collect();
    bench.file("rules.md", many);
    let mut child = bench
        .command(&with(&COMPILE, &["--budget", "100000", "--format", "json"]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(
        !text(&output.stderr).contains("panicked"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_example_compiles_as_the_readme_says() {
    let bench = Bench::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path =
        |name: &str| root.join("examples/firmware").join(name).to_string_lossy().into_owned();
    let (folder, task, policy) = (path(""), path("task.json"), path("policy.toml"));
    let out = bench.json(&[
        "compile",
        "--as",
        "guidance",
        &folder,
        "--task-file",
        &task,
        "--policy",
        &policy,
        "--budget",
        "4500",
        "--format",
        "json",
    ]);
    assert!(out["envelope"]["total_tokens"].as_u64().unwrap() <= 4500);
    let verdict = |name: &str| {
        let verdicts = out["trace"]["verdicts"].as_array().unwrap();
        verdicts.iter().find(|one| one["name"] == name).unwrap()["verdict"].clone()
    };
    for name in [
        "init-seal",
        "format-code-fence",
        "vendor-forum-page",
        "watchdog-service",
    ] {
        assert_eq!(verdict(name), "included", "{name}");
    }
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert_eq!(
        payload.matches("</evidence").count(),
        1,
        "the page cannot close its frame"
    );
    assert!(payload.contains("kestrel_seal_init_epoch();"));
}

#[test]
fn a_project_is_compiled_with_what_applies_to_a_file() {
    let bench = Bench::new();
    bench
        .file("p/AGENTS.md", "Root rule.\n")
        .file("p/api/AGENTS.md", "Api rule.\n")
        .file("p/web/AGENTS.md", "Web rule.\n")
        .file("p/CLAUDE.md", "@AGENTS.md\n@~/.claude/me.md\n")
        .file(
            "p/.claude/skills/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Reads PDFs.\n---\nThe body.\n",
        )
        .file("p/.claude/skills/bad/SKILL.md", "---\nname: bad\n---\nx\n");
    let output = bench.run(&[
        "compile",
        "p",
        "--near",
        "p/api/main.rs",
        "--skills",
        "catalogue",
        "--task",
        "x",
        "--as-of",
        "2026-06-06",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = out["trace"]["verdicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["AGENTS", "CLAUDE", "skills/pdf", "api/AGENTS"]);
    let messages = text(&output.stderr);
    assert_eq!(
        messages,
        "warning: bad: not loaded: the skill has no description (p/.claude/skills/bad/SKILL.md:2)\n\
         warning: @~/.claude/me.md: not imported: in the home folder, which is never read (p/CLAUDE.md:2)\n"
    );
    let message = bench.refused(2, &["compile", "p/web", "--near", "p/api", "--task", "x"]);
    assert!(
        message.contains("is outside all named folders"),
        "{message}"
    );
    let message = bench.refused(1, &["compile", "p", "--split", "lots", "--task", "x"]);
    assert!(
        message.contains("`lots` is not a number of bytes"),
        "{message}"
    );
}

#[test]
fn long_objects_are_warned_about_in_one_line() {
    let bench = Bench::new();
    let long: String = (0..9)
        .map(|at| format!("---\nname: rule-{at}\n---\n{}\n", "word ".repeat(300)))
        .collect();
    bench.file("long.md", &long);
    let compile = [
        "compile",
        "--as",
        "guidance",
        "long.md",
        "--task",
        "x",
        "--budget",
        "500",
        "--dry-run",
    ];
    let output = bench.run(&with(&compile, &["--encoder", "all-MiniLM-L6-v2"]));
    let messages = text(&output.stderr);
    assert_eq!(
        messages,
        "warning: 9 objects are long, all-MiniLM-L6-v2 sees the first 256 tokens: `rule-0`, `rule-1`, \
         `rule-2`, `rule-3`, `rule-4` and 4 more\n"
    );
    // An encoder that is not in use has nothing to say.
    assert_eq!(text(&bench.run(&compile).stderr), "");
    for encoder in ["none", "text-embedding-3-small"] {
        let output = bench.run(&with(&compile, &["--encoder", encoder]));
        assert_eq!(text(&output.stderr), "", "{encoder}");
    }
    let message = bench.refused(1, &with(&compile, &["--encoder", "all-minilm"]));
    assert!(message.contains("unknown encoder"), "{message}");
}

#[test]
fn skills_are_checked_against_the_specification() {
    let bench = Bench::new();
    bench.file(
        "skills/pdf/SKILL.md",
        "---\nname: PDF\ndescription: Reads PDFs.\nmetadata:\n  version: 1.0\n---\nRead.\n",
    );
    bench.file(
        "skills/ok/SKILL.md",
        "---\nname: ok\ndescription: Does well.\nmetadata:\n  version: 1.0\n---\nDo.\n",
    );
    let output = bench.run(&["skills", "check", "skills"]);
    assert_eq!(output.status.code(), Some(2));
    let report = text(&output.stdout);
    assert!(
        report.contains(
            "error: the name `PDF` is not in lower case\n  --> skills/pdf/SKILL.md:2\nexpected: "
        ),
        "{report}"
    );
    assert!(
        report.ends_with("2 skills: 2 errors, 2 warnings\n"),
        "{report}"
    );
    assert!(
        text(&output.stderr)
            .contains("error: skills break the Agent Skills specification in 2 places")
    );
    let output = bench.run(&["skills", "check", "skills/pdf", "--format", "json"]);
    assert_eq!(output.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["errors"], 2);
    assert_eq!(report["violations"][0]["rule"], "name");
    assert_eq!(report["violations"][0]["at"]["line"], 2);
    // Warnings are no failure.
    let report = bench.json(&["skills", "check", "skills/ok/SKILL.md", "--format", "json"]);
    assert_eq!(report["warnings"], 1);
    let message = bench.refused(2, &["skills", "check", "gone"]);
    assert!(message.contains("does not exist"), "{message}");
    bench.file("none/x.md", "x");
    let message = bench.refused(2, &["skills", "check", "none"]);
    assert!(message.contains("contains no skill"), "{message}");
}

#[test]
fn a_project_is_compiled_as_a_person_would_choose() {
    let bench = Bench::new();
    let skill =
        |name: &str, what: &str| format!("---\nname: {name}\ndescription: {what}\n---\n{what}\n");
    bench
        .file("AGENTS.md", "Run `make test` before a commit.\n")
        .file("docs/pump.md", "# Pump\nThe pump runs at 300 kPa.\n")
        .file("docs/holiday.md", "# Holiday\nWe flew to Lisbon in June.\n")
        .file(
            ".claude/skills/pdf/SKILL.md",
            skill("pdf", "Reads forms in PDF."),
        )
        .file(
            ".claude/skills/pump/SKILL.md",
            skill("pump", "Says at what pressure a pump runs."),
        );
    let task = [
        "compile",
        ".",
        "--task",
        "At what pressure does the pump run?",
        "--format",
        "json",
    ];
    let verdicts = |args: &[&str]| -> Vec<(String, String)> {
        let out = bench.json(&with(&task, args));
        let row = |one: &Value| {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&one["name"]), text(&one["reason"]["code"]))
        };
        out["trace"]["verdicts"].as_array().unwrap().iter().map(row).collect()
    };
    let expected = [
        ("AGENTS", "mandatory"),
        ("docs/holiday", "below_floor"),
        ("docs/pump", "fits"),
        ("skills/pdf", "mandatory"),
        ("skills/pdf/SKILL.md", "not_near_task"),
        ("skills/pump", "mandatory"),
        ("skills/pump/SKILL.md", "fits"),
    ];
    let sorted = |mut rows: Vec<(String, String)>| {
        rows.sort();
        rows
    };
    let expected: Vec<_> = expected.map(|(name, code)| (name.to_owned(), code.to_owned())).into();
    assert_eq!(sorted(verdicts(&["--budget", "100000"])), expected);
    // What an agent would have read is not left out unseen.
    let message = bench.refused(3, &with(&task, &["--budget", "150"]));
    assert!(
        message.contains("AGENTS") && message.contains("--optional-instructions"),
        "{message}"
    );
    let optional = verdicts(&["--budget", "150", "--optional-instructions"]);
    assert!(
        optional.iter().any(|(name, code)| name == "AGENTS" && code != "mandatory"),
        "{optional:?}"
    );
}

#[test]
fn the_payload_alone_is_printed_or_written() {
    let bench = Bench::new();
    bench.file("rules.md", RULES);
    let args = with(&COMPILE, &["--budget", "300"]);
    let out = bench.json(&with(&args, &["--format", "json"]));
    let payload = out["envelope"]["payload"].as_str().unwrap();
    assert_eq!(bench.ok(&with(&args, &["--payload"])), payload);
    let report = bench.ok(&with(&args, &["-o", "payload.txt"]));
    assert!(
        report.contains("INCLUDED") && !report.contains("PAYLOAD"),
        "{report}"
    );
    let written = fs::read_to_string(bench.folder.path().join("payload.txt")).unwrap();
    assert_eq!(written, payload);
    let explain = with(&["explain"], &args[1..]);
    let message = bench.refused(1, &with(&explain, &["--payload"]));
    assert!(message.contains("makes no payload"), "{message}");
}

#[test]
fn failures_are_json_where_the_output_is() {
    let bench = Bench::new();
    bench.file("bad.md", "---\nname: a\npriority: 7\n---\nx\n");
    let args = ["compile", "--as", "guidance", "bad.md", "--task", "x"];
    let message = bench.refused(2, &with(&args, &["--format", "json"]));
    let error: Value = serde_json::from_str(&message).unwrap();
    let error = &error["error"];
    assert_eq!(error["kind"], "input");
    assert_eq!(
        (&error["at"]["source"], error["at"]["line"].as_u64()),
        (&"bad.md".into(), Some(3))
    );
    assert!(error["what"].as_str().unwrap().contains('7'));
    assert!(bench.refused(2, &args).starts_with("error:"));
}

#[test]
fn what_was_left_out_is_summed_up() {
    let bench = Bench::new();
    bench.file("pump.md", "# Pump\nThe pump runs at 300 kPa.\n");
    for at in 0..30 {
        bench.file(
            &format!("far/{at:02}.md"),
            format!("The {at}th holiday in Lisbon.\n"),
        );
        bench.file(&format!("made/{at:02}.png"), "x");
    }
    let args = [
        "compile",
        ".",
        "--task",
        "At what pressure does the pump run?",
        "--budget",
        "2000",
    ];
    let report = bench.ok(&args);
    assert!(
        report.contains("OMITTED 30") && report.contains("NOT READ 30"),
        "{report}"
    );
    assert!(
        report.contains("30  of no format that is read here (30 .png)"),
        "{report}"
    );
    assert!(report.lines().count() < 40, "{report}");
    let listed = bench.ok(&with(&["explain"], &args[1..]));
    assert!(listed.contains("made/29.png: of no format"), "{listed}");
}
