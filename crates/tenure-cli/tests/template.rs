//! Text through a model's chat template, through the real binary.

use crate::support::Bench;
use serde_json::{Value, json};

const TEMPLATE: &str = "{{ bos_token }}{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content | trim }}\
<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("chat_template.jinja", TEMPLATE);
    let config = json!({ "bos_token": "<bos>" });
    bench.file("tokenizer_config.json", config.to_string());
    bench
}

/// The envelope of this compile.
fn envelope(bench: &Bench, args: &[&str]) -> Value {
    bench.json(&[args, &["--format", "json"]].concat())["envelope"].take()
}

fn payload(envelope: &Value) -> &str {
    envelope["payload"].as_str().unwrap_or_default()
}

#[test]
fn the_payload_is_the_templates_text() {
    let bench = bench();
    bench.file("rule.md", "Be brief.");
    let args = [
        "compile",
        "--as",
        "guidance",
        "rule.md",
        "--task",
        "Stop </start_of_turn> at 3 <end_of_turn> bar.",
        "--budget",
        "400",
    ];
    let with = [&args[..], &["--chat-template", "chat_template.jinja"]].concat();
    let found = envelope(&bench, &with);
    let sent = payload(&found);
    assert!(sent.starts_with("<bos><start_of_turn>"), "{sent}");
    assert!(sent.contains("at 3 &lt;end_of_turn> bar."), "{sent}");
    assert!(sent.ends_with("<start_of_turn>model\n"), "{sent}");
    assert_eq!(found["target"], "chat-template");
    // The count is of the whole text, a dry run's too.
    let dry = envelope(&bench, &[&with[..], &["--dry-run"]].concat());
    assert_eq!(dry["total_tokens"], found["total_tokens"]);
    assert!(dry["payload"].is_null());
    bench.file("sent.txt", sent);
    let counted = bench.json(&["tokens", "sent.txt", "--format", "json"]);
    assert_eq!(counted["tokens"], found["total_tokens"]);
    // A configuration that holds the template does as well.
    let config = json!({ "bos_token": { "content": "<bos>" }, "chat_template": TEMPLATE });
    bench.file("whole.json", config.to_string());
    let whole = ["--target", "text", "--chat-template", "whole.json"];
    let same = envelope(&bench, &[&args[..], &whole].concat());
    assert_eq!(payload(&same), sent);
}

#[test]
fn what_cannot_be_is_said() {
    let bench = bench();
    let refuses = "{% for m in messages %}{{ m.content }}{% if m.content | length > 200 %}\
        {{ raise_exception('Too much for me') }}{% endif %}{% endfor %}";
    bench.file("refuses.jinja", refuses);
    bench.file("broken.jinja", "line\n{% for m in messages %}");
    bench.file("rule.md", "A long rule about pumps. ".repeat(20));
    bench.file(
        "deep.jinja",
        format!("{{{{ {}1 }}}}{TEMPLATE}", "-".repeat(60_000)),
    );
    let config = json!({ "bos_token": "#", "chat_template": TEMPLATE });
    bench.file("hash.json", config.to_string());
    bench.file("look.md", "A rule.");
    let through = |file: &'static str| ["--chat-template", file];
    for (args, code, said) in [
        (
            [&["--target", "gemini"], &through("chat_template.jinja")[..]].concat(),
            1,
            "produces text",
        ),
        (vec!["--target", "chat-template"], 2, "--chat-template FILE"),
        (through("nope.jinja").to_vec(), 2, "nope.jinja"),
        (through("broken.jinja").to_vec(), 2, "broken.jinja:"),
        (
            through("rule.md").to_vec(),
            2,
            "does not show what the user says",
        ),
        (
            [&["rule.md"], &through("refuses.jinja")[..]].concat(),
            2,
            "Too much for me",
        ),
        (
            [&["--budget", "20"], &through("chat_template.jinja")[..]].concat(),
            3,
            "tokens must go in",
        ),
        (
            through("deep.jinja").to_vec(),
            2,
            "too many words and signs",
        ),
        (
            [&["look.md"], &through("hash.json")[..]].concat(),
            2,
            "the control token `#` stands in text",
        ),
    ] {
        let error = bench.refused(code, &[&["compile", "--task", "Work."], &args[..]].concat());
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn a_session_goes_through_a_template_too() {
    let bench = bench();
    let id = bench.ok(&["session", "new"]).trim().to_owned();
    bench.ok(&["session", "append", &id, "--text", "Begin."]);
    let compile = [
        "session",
        "compile",
        &id,
        "--budget",
        "600",
        "--chat-template",
        "chat_template.jinja",
    ];
    let first = envelope(&bench, &compile);
    let first = payload(&first);
    let begun = "<start_of_turn>user\nBegin.<end_of_turn>";
    assert!(first.contains(begun), "{first}");
    let reply = ["--role", "assistant", "--text", "Begun."];
    bench.ok(&[&["session", "append", &id], &reply[..]].concat());
    bench.ok(&["session", "append", &id, "--text", "Go on."]);
    let second = envelope(&bench, &compile);
    let stays = first.trim_end_matches("<start_of_turn>model\n");
    assert!(
        payload(&second).starts_with(stays),
        "{first}\n{}",
        payload(&second)
    );
}

#[test]
fn a_record_holds_the_template_that_it_was_made_through() {
    let bench = bench();
    bench.file("rule.md", "Be brief.");
    bench.ok(&["session", "new"]);
    let compiled = bench.json(&[
        "compile",
        "--as",
        "guidance",
        "rule.md",
        "--task",
        "Work.",
        "--budget",
        "400",
        "--chat-template",
        "chat_template.jinja",
        "--record",
        "--format",
        "json",
    ]);
    let sent = payload(&compiled["envelope"]);
    assert!(sent.starts_with("<bos>"), "{sent}");
    for name in ["chat_template.jinja", "tokenizer_config.json", "rule.md"] {
        std::fs::remove_file(bench.folder.path().join(name)).unwrap();
    }
    let record = compiled["record_ids"][0].as_str().unwrap();
    let replayed = bench.json(&["replay", record, "--format", "json"]);
    assert_eq!(replayed["proof"], "whole");
    assert_eq!(replayed["payload"], compiled["envelope"]["payload"]);
}
