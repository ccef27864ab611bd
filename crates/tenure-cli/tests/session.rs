//! Sessions through the real binary: in from a provider's messages, on turn after turn, out again.

use std::io::Write;
use std::process::Stdio;

use crate::support::{Bench, text};
use serde_json::{Value, json};

const TALK: &str = r#"{"model":"claude-sonnet-4-5","system":"You watch over pumps.",
"tools":[{"name":"sense","description":"Reads a sensor.","input_schema":{"type":"object","properties":{"id":{"type":"string"}}}}],
"messages":[
 {"role":"user","content":"How hot is pump 7? Never stop pump 7 without asking me."},
 {"role":"assistant","content":[{"type":"thinking","thinking":"I should read it.","signature":"c2ln"},{"type":"tool_use","id":"tu1","name":"sense","input":{"id":"p7","n":12345678901234567890}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"tu1","content":"81.5 C"}]},
 {"role":"assistant","content":"It is at 81.5 degrees."},
 {"role":"user","content":"And pump 9?"}
]}"#;

/// A folder with a session of these messages.
fn imported(messages: &str) -> (Bench, String) {
    let bench = Bench::new();
    bench.file("talk.json", messages);
    let id = bench.ok(&["session", "import", "talk.json"]).trim().to_owned();
    (bench, id)
}

fn compiled(bench: &Bench, id: &str, target: &str) -> Value {
    let args = [
        "session",
        "compile",
        id,
        "--task",
        "Keep the pumps safe.",
        "--budget",
        "2000",
    ];
    let args = [&args[..], &["--target", target, "--format", "json"]].concat();
    bench.json(&args)
}

#[test]
fn a_session_says_when_its_window_is_full() {
    let (bench, id) = imported(TALK);
    assert!(!bench.ok(&["session", "show", &id]).contains("full at"));
    let out = compiled(&bench, &id, "anthropic");
    assert_eq!(out["trace"]["quality"].as_array().unwrap().len(), 8);
    let forecast = &out["trace"]["forecast"];
    let number = |name: &str| forecast[name].as_u64().unwrap();
    assert_eq!(
        forecast["summaries"],
        json!({ "turns": 5, "levels": 0, "tokens": 0 })
    );
    let room = number("window") - number("fixed");
    assert!(room / (number("turn_tokens") + 1) <= number("full_at"));
    assert!(number("full_at") <= room / number("turn_tokens"));
    let shown = bench.ok(&["session", "show", &id]);
    let line = format!("full at {} turns: (", number("full_at"));
    assert!(shown.contains(&line), "{shown}");
    let shown = bench.json(&["session", "show", &id, "--format", "json"]);
    assert_eq!(shown["forecast"], *forecast);
}

#[test]
fn messages_go_in_and_come_out_byte_for_byte() {
    let (bench, id) = imported(TALK);
    let whole: Value = serde_json::from_str(TALK).unwrap();
    let out = bench.ok(&["session", "export", &id]);
    // Numbers beyond 64 bits keep their digits, so the text is compared and not what it means.
    for message in TALK.lines().filter(|line| line.starts_with(" {")) {
        assert!(
            out.contains(message.trim().trim_end_matches(',')),
            "{message}\n{out}"
        );
    }
    let other = bench.run(&[
        "session", "export", &id, "--to", "gemini", "--format", "json",
    ]);
    assert!(text(&other.stderr).contains("foreign_reasoning_dropped (thinking)"));
    let other: Value = serde_json::from_slice(&other.stdout).unwrap();
    assert_eq!(
        other["messages"].as_array().unwrap().len(),
        whole["messages"].as_array().unwrap().len()
    );
    let shown = bench.ok(&["session", "show", &id]);
    assert!(shown.contains("t5       tool       81.5 C"), "{shown}");
    assert!(bench.ok(&["session", "list"]).starts_with(&id));
}

#[test]
fn every_target_gets_a_legal_request_that_the_next_one_continues() {
    for target in ["anthropic", "openai-chat", "openai-responses", "gemini"] {
        let (bench, id) = imported(TALK);
        let first = compiled(&bench, &id, target);
        assert_eq!(first["session"]["cause"], "first");
        assert_eq!(
            compiled(&bench, &id, target)["envelope"],
            first["envelope"],
            "asked again"
        );
        bench.file("body.json", first["envelope"]["payload"].to_string());
        bench.ok(&["check", "body.json", "--target", target]);
        for (role, said) in [
            ("assistant", "Pump 9 is at 40 degrees."),
            ("user", "Good. And pump 11?"),
        ] {
            bench.ok(&["session", "append", &id, "--role", role, "--text", said]);
        }
        let second = compiled(&bench, &id, target);
        assert_eq!(second["session"]["cause"], "kept");
        let list = |body: &Value| {
            let keys = ["messages", "input", "contents"];
            let list = keys.iter().find_map(|key| body["envelope"]["payload"].get(*key));
            list.unwrap().as_array().unwrap().clone()
        };
        let (before, after) = (list(&first), list(&second));
        assert!(
            after.starts_with(&before),
            "{target}\n{before:?}\n{after:?}"
        );
    }
}

#[test]
fn what_a_summary_stands_for_can_be_read_back() {
    let (bench, id) = imported(TALK);
    let made = bench.json(&["session", "checkpoint", &id, "--format", "json"]);
    let summary = made["made"][0].as_str().unwrap();
    assert_eq!(
        made["checkpoints"][0]["checkpoint"]["kept"][0]["text"],
        "Never stop pump 7 without asking me."
    );
    let body = compiled(&bench, &id, "anthropic")["envelope"]["payload"].to_string();
    assert!(
        body.contains("Summary of turns") && body.contains("Never stop pump 7"),
        "{body}"
    );
    assert!(!body.contains("signature"));
    let found = bench.json(&[
        "session",
        "rehydrate",
        &id,
        "--id",
        summary,
        "--format",
        "json",
    ]);
    assert_eq!(
        found["originals"][0]["text"],
        "How hot is pump 7? Never stop pump 7 without asking me."
    );
    let found = bench.json(&[
        "session",
        "rehydrate",
        &id,
        "--query",
        "degrees of pump 7",
        "--format",
        "json",
    ]);
    let texts: Vec<&str> = found["originals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert!(texts.contains(&"It is at 81.5 degrees."), "{texts:?}");
    // Carried, it stands in the next request.
    bench.ok(&["session", "rehydrate", &id, "--id", "t5", "--carry"]);
    let body = compiled(&bench, &id, "anthropic")["envelope"]["payload"].to_string();
    assert!(body.contains("t5.0 again"), "{body}");
}

#[test]
fn a_recorded_compile_of_a_session_is_replayed() {
    let (bench, id) = imported(TALK);
    let args = [
        "session", "compile", &id, "--task", "Pumps.", "--budget", "2000", "--record",
    ];
    let done = bench.json(&[&args[..], &["--format", "json"]].concat());
    let record = done["record_ids"][0].as_str().unwrap();
    let replayed = bench.json(&["replay", record, "--format", "json"]);
    assert_eq!(
        replayed["payload_digest"],
        done["envelope"]["payload_digest"]
    );
    assert_eq!(replayed["proof"], "whole");
}

#[test]
fn without_a_task_the_last_message_of_the_user_is_the_task() {
    let (bench, id) = imported(TALK);
    let done = bench.json(&[
        "session", "compile", &id, "--budget", "2000", "--format", "json",
    ]);
    assert_eq!(done["envelope"]["target"], "anthropic-messages");
    let messages = done["envelope"]["payload"]["messages"].as_array().unwrap();
    assert_eq!(
        messages.last().unwrap(),
        &json!({ "role": "user", "content": "And pump 9?" })
    );
    assert_eq!(messages.len(), 5);
}

#[test]
fn a_provider_says_how_long_its_window_is() {
    let (bench, id) = imported(TALK);
    bench.file(
        "error.txt",
        "prompt is too long: 210000 tokens > 1900 maximum",
    );
    assert_eq!(bench.ok(&["session", "learn", &id, "error.txt"]), "1900\n");
    let done = compiled(&bench, &id, "openai-chat");
    assert_eq!(done["envelope"]["budget"], 1900);
    bench.file("error.txt", "overloaded");
    assert_eq!(
        bench.run(&["session", "learn", &id, "error.txt"]).status.code(),
        Some(2)
    );
}

#[test]
fn what_is_wrong_is_said_and_nothing_is_written() {
    let (bench, id) = imported(TALK);
    let edited =
        json!([{ "role": "user", "content": [{ "type": "text", "text": 7 }] }]).to_string();
    bench.file("bad.json", edited);
    bench.file("none.json", "[1, 2");
    bench.file("words.txt", "Hello.");
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["session", "show", "ses-5a"],
            2,
            "there is no session `ses-5a`",
        ),
        (
            &["session", "show", "../x"],
            2,
            "cannot be the id of a session",
        ),
        (&["session", "new", "--id", &id], 5, "already"),
        (
            &[
                "session",
                "append",
                &id,
                "bad.json",
                "--from",
                "openai-chat",
            ],
            2,
            "bad.json",
        ),
        (
            &["session", "append", &id, "none.json", "--from", "gemini"],
            2,
            "not JSON",
        ),
        (
            &["session", "import", "words.txt"],
            2,
            "JSON Lines of these",
        ),
        (
            &["session", "rehydrate", &id, "--id", "x9"],
            2,
            "t17, t17-t20 or c40",
        ),
        (
            &["session", "rehydrate", &id, "--query", " "],
            2,
            "the query is empty",
        ),
        (&["session", "export", &id, "--to", "smoke"], 1, "smoke"),
    ];
    for (args, code, said) in cases {
        let output = bench.run(args);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{args:?} {}",
            text(&output.stderr)
        );
        assert!(
            text(&output.stderr).contains(said),
            "{args:?} {}",
            text(&output.stderr)
        );
    }
    let listed = bench.json(&["session", "list", "--format", "json"]);
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0]["id"], &listed[0]["entries"]),
        (&json!(id), &json!(7))
    );
}

#[test]
fn what_an_sdk_returns_is_appended() {
    let bench = Bench::new();
    let user = r#"{"role":"user","content":"How hot is pump 7?"}"#;
    let chat = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"81.5 C.","refusal":null,"annotations":[]}}]}"#;
    let message = r#"{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"81.5 C."}],"stop_reason":"end_turn","usage":{"input_tokens":1}}"#;
    let response = r#"{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"81.5 C."}]}]}"#;
    bench
        .file("chat.json", chat)
        .file("message.json", message)
        .file("response.json", response)
        .file("one.json", user)
        .file("list.json", format!("[{user}, {chat}]"))
        .file("lines.jsonl", format!("{user}\n{chat}\n"));
    for (files, format) in [
        (&["one.json", "chat.json"][..], "openai-chat"),
        (&["one.json", "message.json"], "anthropic"),
        (&["one.json", "response.json"], "openai-responses"),
        (&["list.json"], "openai-chat"),
        (&["lines.jsonl"], "openai-chat"),
    ] {
        let id = files.join("-").replace('.', "-");
        assert_eq!(bench.ok(&["session", "new", &id]).trim(), id);
        for file in files {
            bench.ok(&["session", "append", &id, file]);
        }
        let shown = bench.ok(&["session", "show", &id]);
        let said: Vec<&str> = shown.lines().collect();
        assert_eq!(said.len(), 2, "{shown}");
        assert!(
            said[0].contains("user") && said[0].ends_with("How hot is pump 7?"),
            "{shown}"
        );
        assert!(
            said[1].contains("assistant") && said[1].ends_with("81.5 C."),
            "{shown}"
        );
        // What is kept is what its client sends back.
        let out = bench.ok(&["session", "export", &id, "--to", format]);
        let out: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(out[1]["role"], "assistant", "{out}");
        assert!(
            out[1].get("refusal").is_none() && out[1].get("usage").is_none(),
            "{out}"
        );
    }
    let message = bench.refused(1, &["session", "new", "a", "--id", "b"]);
    assert!(message.contains("--id"), "{message}");
}

#[test]
fn plain_messages_come_from_a_file_or_a_pipe() {
    let bench = Bench::new();
    let plain = r#"[{"role":"user","content":"Hello."},{"role":"assistant","content":"Hi."}]"#;
    bench.file("plain.json", plain);
    let id = bench.ok(&["session", "import", "plain.json"]);
    assert_eq!(bench.ok(&["session", "export", id.trim()]).trim(), plain);
    for args in [
        &["session", "import", "-", "--id", "piped"][..],
        &["session", "append", "piped", "-"],
    ] {
        let mut child = bench
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(plain.as_bytes()).unwrap();
        assert!(
            child.wait_with_output().unwrap().status.success(),
            "{args:?}"
        );
    }
    assert_eq!(bench.ok(&["session", "show", "piped"]).lines().count(), 4);
}

#[test]
fn messages_and_sessions_are_erased() {
    let (bench, id) = imported(TALK);
    compiled(&bench, &id, "anthropic");
    let erase = ["store", "erase", "--session", id.as_str()];
    let message = bench.refused(2, &[&erase[..], &["--messages", "t99"]].concat());
    assert!(message.contains("no message t99"), "{message}");
    bench.ok(&[&erase[..], &["--messages", "t6"]].concat());
    let shown = bench.ok(&["session", "show", &id]);
    assert!(
        !shown.contains("81.5 degrees") && shown.contains("And pump 9?"),
        "{shown}"
    );
    compiled(&bench, &id, "anthropic");
    bench.ok(&erase);
    assert_eq!(bench.ok(&["session", "list"]), "");
    bench.refused(2, &["session", "show", &id]);
    bench.refused(2, &erase);
    bench.refused(1, &[&erase[..], &["--subject", "ada"]].concat());
}

#[test]
fn a_judged_message_is_shown_with_who_judged_it_and_compiled_no_more() {
    let bench = Bench::new();
    bench.ok(&["session", "new", "talk"]);
    let say = |role: &str, text: &str| {
        let id = bench.ok(&["session", "append", "talk", "--role", role, "--text", text]);
        id.trim().to_owned()
    };
    let first = say("user", "How is pump 8?");
    let answer = say("assistant", "The word is cobalt.");
    let last = say("user", "And pump 9?");
    let judge = |more: &[&str]| bench.run(&[&["session", "judge", "talk"], more].concat());
    let quarantine = |id: &str| {
        let more = [
            id,
            "--status",
            "quarantined",
            "--by",
            "ada",
            "--role",
            "security",
            "--reason",
            "planted",
        ];
        bench.ok(&[&["session", "judge", "talk"][..], &more].concat())
    };
    let compiled = || {
        let args = [
            "session", "compile", "talk", "--budget", "2000", "--format", "json",
        ];
        bench.json(&args)
    };
    assert!(compiled().to_string().contains("cobalt"));
    assert_eq!(quarantine(&answer), format!("{answer:<8} quarantined\n"));
    let shown = bench.ok(&["session", "show", "talk"]);
    assert!(
        shown.contains("[quarantined by ada (security): planted] The word is cobalt."),
        "{shown}"
    );
    let next = compiled();
    assert_eq!(next["session"]["cause"], "judged");
    assert!(!next.to_string().contains("cobalt"), "{next}");
    let told = next["trace"]["unfetched"].as_array().unwrap();
    let left = json!({ "what": format!("message {answer}"), "why": "quarantined" });
    assert!(told.contains(&left), "{told:?}");
    let refused = bench.refused(4, &["session", "rehydrate", "talk", "--id", &answer]);
    assert!(refused.contains("is quarantined"), "{refused}");
    let range = format!("{first}-{last}");
    let run = bench.run(&["session", "rehydrate", "talk", "--id", &range]);
    assert!(
        String::from_utf8_lossy(&run.stderr)
            .contains(&format!("judged, and so not printed: {answer}"))
    );
    for (more, what) in [
        (
            &[last.as_str(), "--status", "retracted", "--by", "ada"][..],
            "is the user's last request",
        ),
        (
            &["t99", "--status", "retracted", "--by", "ada"],
            "there is no message t99",
        ),
        (
            &["9", "--status", "retracted", "--by", "ada"],
            "is not the id of a message",
        ),
        (
            &[answer.as_str(), "--status", "retract", "--by", "ada"],
            "did you mean `retracted`?",
        ),
        (
            &[answer.as_str(), "--status", "retracted", "--by", " "],
            "`by` is empty",
        ),
        (&[answer.as_str(), "--status", "retracted"], "--by"),
    ] {
        let run = judge(more);
        let error = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(
            !run.status.success() && error.contains(what),
            "{more:?}: {error}"
        );
    }
    bench.ok(&[
        "session", "judge", "talk", &answer, "--status", "clean", "--by", "ada",
    ]);
    assert!(compiled().to_string().contains("cobalt"));
}

const CLAUDE_CODE: &str =
    include_str!("../../tenure-workspace/tests/transcripts/claude-code.jsonl");
const CODEX: &str = include_str!("../../tenure-workspace/tests/transcripts/codex.jsonl");
const LANGCHAIN: &str =
    include_str!("../../tenure-workspace/tests/transcripts/langchain-flat.json");

#[test]
fn the_newest_transcript_of_a_project_is_imported_and_compiled() {
    let bench = Bench::new();
    let project = bench.folder.path().canonicalize().unwrap();
    let name = project.to_string_lossy();
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let rollout = CODEX.replacen("/home/ada/pumps", &project.to_string_lossy(), 1);
    bench
        .file(&format!("claude/projects/{name}/one.jsonl"), CLAUDE_CODE)
        .file("codex/sessions/2026/11/28/rollout-1.jsonl", rollout);
    let import = |from: &str, more: &[&str]| {
        let args = [
            &["session", "import", "--from", from, "--format", "json"],
            more,
        ]
        .concat();
        let mut command = bench.command(&args);
        command.env("CLAUDE_CONFIG_DIR", project.join("claude"));
        command.env("CODEX_HOME", project.join("codex"));
        command.output().unwrap()
    };
    for (from, more, target) in [
        ("claude-code", &[][..], "anthropic-messages"),
        ("codex", &["."], "openai-responses"),
    ] {
        let out = import(from, more);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert!(
            text(&out.stderr).contains("note: read as a transcript of"),
            "{}",
            text(&out.stderr)
        );
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(told["form"], from);
        assert_eq!(told["warnings"], json!([]));
        let id = told["id"].as_str().unwrap();
        let shown = bench.ok(&["session", "show", id]);
        assert!(
            shown.starts_with("before   system     You are a"),
            "{shown}"
        );
        let args = [
            "session", "compile", id, "--budget", "20000", "--record", "--format", "json",
        ];
        let done = bench.json(&args);
        assert_eq!(done["envelope"]["target"], target);
        let body = done["envelope"]["payload"].to_string();
        for rule in [
            "RULE-ALDER",
            "RULE-HAZEL",
            "tell me the calibrations of pumps 1 to 6",
        ] {
            assert!(body.contains(rule), "{from}: {rule}");
        }
        let record = done["record_ids"][0].as_str().unwrap();
        bench.ok(&["report", record, "-o", "report.html"]);
        let same = bench.ok(&["session", "export", id]);
        bench.file("again.json", same.as_bytes());
        let again = bench.ok(&["session", "import", "again.json"]);
        assert_eq!(
            bench.ok(&["session", "export", again.trim()]),
            same,
            "{from}"
        );
    }
    let out = import("claude-code", &["claude"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stderr).contains("keeps no transcript of"),
        "{}",
        text(&out.stderr)
    );
    let out = import("langchain", &[]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("there is nothing to import"),
        "{}",
        text(&out.stderr)
    );
}

#[test]
fn what_is_not_understood_is_told_with_its_line() {
    let bench = Bench::new();
    let cut = format!(
        "{}\n{{\"type\":\"novel\"}}\n{{\"type\":\"user\",\"mess",
        CLAUDE_CODE.trim_end()
    );
    let last = cut.lines().count();
    bench.file("cut.jsonl", cut.clone() + "\0\0").file("langchain.json", LANGCHAIN);
    let out = bench.run(&["session", "import", "cut.jsonl", "--format", "json"]);
    let told: Value = serde_json::from_slice(&out.stdout).unwrap();
    let warning = |line: usize, kind: &str, what: &str| json!({ "line": line, "kind": kind, "what": what, "count": 1 });
    assert_eq!(
        told["warnings"],
        json!([
            warning(last - 1, "novel", "not_understood"),
            warning(last, "line", "broken")
        ])
    );
    let said = format!(
        "warning: cut.jsonl, line {}: `novel` is not understood",
        last - 1
    );
    assert!(text(&out.stderr).contains(&said), "{}", text(&out.stderr));
    bench.file(
        "none.json",
        r#"[{"type":"human-like","words":"x"},{"type":"b"}]"#,
    );
    let error = bench.refused(2, &["session", "import", "none.json"]);
    assert!(
        error.contains(r#"its first item is `{"type":"human-like","words":"x"}`"#),
        "{error}"
    );
    assert_eq!(
        bench.json(&["session", "list", "--format", "json"]).as_array().unwrap().len(),
        1
    );
    // Nor does a check say that all is well.
    for target in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        for file in ["cut.jsonl", "langchain.json", "none.json"] {
            for args in [&["check", file, "--target", target][..], &["check", file]] {
                assert_eq!(bench.run(args).status.code(), Some(2), "{args:?}");
            }
        }
    }
    bench.file(
        "some.json",
        r#"[{"role":"user","content":"Hello."},{"type":"aroma"}]"#,
    );
    let out = bench.run(&[
        "check",
        "some.json",
        "--target",
        "openai-responses",
        "--format",
        "json",
    ]);
    assert!(
        text(&out.stderr).contains("input[1]: of the kind `aroma`"),
        "{}",
        text(&out.stderr)
    );
    let found: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        found["unread"],
        json!([{ "at": "input[1]", "kind": "aroma" }])
    );
}

#[test]
fn the_systems_words_and_the_tools_come_out_again() {
    let bench = Bench::new();
    let message = r#"{"role": "user",  "content": "Hello"}"#;
    let first = format!(r#"[{{"role":"system","content":"Speak only Latin. MARKSYS"}},{message}]"#);
    let anthropic = format!(
        r#"{{"model":"m","max_tokens":9,"system":"Speak only Latin. MARKSYS","messages":[{message}]}}"#
    );
    let tool = r#"{"type": "function", "function": {"name": "list_open", "description": "Lists open tickets", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}"#;
    let tools = format!(r#"{{"model": "gpt-4o", "tools": [{tool}], "messages": {first}}}"#);
    bench
        .file("first.json", &first)
        .file("anthropic.json", &anthropic)
        .file("tools.json", &tools);
    for file in ["first", "anthropic", "tools"] {
        let id = bench.ok(&["session", "import", &format!("{file}.json"), "--id", file]);
        let shown = bench.ok(&["session", "show", id.trim()]);
        assert!(
            shown.starts_with("before   system     Speak only Latin. MARKSYS\n"),
            "{shown}"
        );
        assert_eq!(
            shown.contains("before   tools      list_open\n"),
            file == "tools",
            "{shown}"
        );
        for (to, place) in [
            ("openai-chat", "/messages/0/content"),
            ("openai-responses", "/instructions"),
            ("anthropic", "/system"),
            ("gemini", "/systemInstruction/parts/0/text"),
        ] {
            let out = bench.ok(&["session", "export", file, "--to", to]);
            let body: Value = serde_json::from_str(&out).unwrap();
            let place = if body.is_array() {
                place.replace("/messages", "")
            } else {
                place.to_owned()
            };
            assert_eq!(
                body.pointer(&place),
                Some(&json!("Speak only Latin. MARKSYS")),
                "{file} {to} {out}"
            );
            assert_eq!(out.contains("list_open"), file == "tools", "{file} {to}");
            bench.file("out.json", &out);
            bench.ok(&["check", "out.json", "--target", to]);
            // Read again, it says the same.
            let again = format!("{file}-{to}");
            bench.ok(&[
                "session", "import", "out.json", "--from", to, "--id", &again,
            ]);
            assert_eq!(bench.ok(&["session", "export", &again, "--to", to]), out);
        }
    }
    assert_eq!(bench.ok(&["session", "export", "first"]).trim(), first);
    let same = bench.ok(&["session", "export", "tools"]);
    assert!(same.contains(tool) && same.contains(message), "{same}");
    let whole = bench.json(&["session", "export", "tools", "--format", "json"]);
    assert_eq!(whole["fields"]["tools"][0]["function"]["name"], "list_open");
    assert_eq!(whole["messages"][0]["role"], "system");
}
