//! Transcripts of agents and libraries, made by them: read whole, compiled, exported again.

use serde_json::{Value, json};
use tenure::object::{ObjectType, Role};
use tenure::wire::Format;
use tenure_workspace::clients::Places;
use tenure_workspace::sessions::{Brought, read_messages};
use tenure_workspace::transcripts::{FORMS, Finding, Form, Found, MessageForm, Remark, recognise};

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// The transcripts of programs that asked a scripted provider, and dumps of libraries, by form.
const MADE: [(Form, &str); 13] = [
    (
        Form::ClaudeCode,
        include_str!("transcripts/claude-code.jsonl"),
    ),
    (Form::Codex, include_str!("transcripts/codex.jsonl")),
    (Form::Opencode, include_str!("transcripts/opencode.json")),
    (
        Form::GeminiCli,
        include_str!("transcripts/gemini-cli.jsonl"),
    ),
    (
        Form::Aider,
        include_str!("transcripts/aider.chat.history.md"),
    ),
    (
        Form::Langchain,
        include_str!("transcripts/langchain-flat.json"),
    ),
    (
        Form::Langchain,
        include_str!("transcripts/langchain-data.json"),
    ),
    (
        Form::Langchain,
        include_str!("transcripts/langchain-lc.json"),
    ),
    (
        Form::Langchain,
        include_str!("transcripts/langchain-anthropic.json"),
    ),
    (
        Form::PydanticAi,
        include_str!("transcripts/pydantic-ai.json"),
    ),
    (Form::AiSdk, include_str!("transcripts/ai-sdk.json")),
    (Form::AiSdk, include_str!("transcripts/ai-sdk-model.json")),
    (
        Form::OpenaiAgents,
        include_str!("transcripts/openai-agents.json"),
    ),
];

fn read(text: &str) -> Brought {
    read_messages(text, None, Format::OpenAiChat, &[]).unwrap()
}

fn error(text: &str) -> tenure::Error {
    read_messages(text, None, Format::OpenAiChat, &[]).unwrap_err()
}

/// Who says what, with the calls: what a reader of any form comes to.
fn said(brought: &Brought) -> Vec<String> {
    let objects = brought.conversation.objects();
    objects
        .map(|object| {
            let speaker = match object.object_type {
                Some(ObjectType::ToolResult) => "tool".to_owned(),
                _ => object.role.unwrap_or(Role::User).to_string(),
            };
            let calls = object.tool_calls.iter();
            let calls: String = calls
                .map(|call| format!(" {}({})", call.name, call.arguments.as_str().unwrap()))
                .collect();
            let text = object.content.replace('\n', " ");
            format!("{speaker}: {text}{calls}")
        })
        .collect()
}

/// The messages as they are kept, as JSON.
fn messages(brought: &Brought) -> Vec<Value> {
    let entries = brought.conversation.entries.iter();
    let lists = entries.map(|entry| format!("[{}]", entry.message));
    lists
        .flat_map(|list| serde_json::from_str::<Vec<Value>>(&list).unwrap())
        .collect()
}

#[test]
fn every_form_is_known_by_itself_and_by_its_name() {
    for (form, text) in MADE {
        let by_itself = (form != Form::OpenaiAgents).then_some(form);
        assert_eq!(recognise(text), by_itself, "{form:?}");
        let named: MessageForm = form.term().parse().unwrap();
        let named = read_messages(text, Some(named), Format::OpenAiChat, &[]).unwrap();
        assert_eq!(named, read(text), "{form:?}");
        assert_eq!(named.form, by_itself);
        assert!(
            named.remarks.iter().all(|remark| !remark.what.is_lost()),
            "{:?}",
            named.remarks
        );
    }
    let error = "langchan".parse::<MessageForm>().unwrap_err();
    assert!(
        error.to_string().contains("did you mean `langchain`?"),
        "{error}"
    );
}

#[test]
fn the_documentation_lists_the_forms() {
    let page = include_str!("../../../docs/reference/sessions.md");
    for known in FORMS {
        let row = format!(
            "| {} | `{}` | {} | {} |",
            known.name,
            known.form.term(),
            known.from,
            known.sign
        );
        assert!(
            page.contains(&row),
            "docs/reference/sessions.md lacks the row\n{row}"
        );
    }
}

/// One talk of pumps, as each library writes it.
#[test]
fn libraries_are_read_with_calls_results_thinking_and_pictures() {
    let cases = [
        ("flat", MADE[5].1, Format::Anthropic),
        ("data", MADE[6].1, Format::Anthropic),
        ("lc", MADE[7].1, Format::Anthropic),
        ("pydantic-ai", MADE[9].1, Format::Anthropic),
        ("ai-sdk", MADE[10].1, Format::OpenAiChat),
        ("ai-sdk-model", MADE[11].1, Format::OpenAiChat),
        ("gemini-cli", MADE[3].1, Format::OpenAiChat),
    ];
    for (name, text, format) in cases {
        let brought = read(text);
        assert_eq!(brought.conversation.format, format, "{name}");
        let lines = said(&brought);
        assert!(
            lines[0]
                .starts_with("user: What does gauge 4 show? [image left out: image/png, 72 bytes]"),
            "{name}: {lines:?}"
        );
        assert!(
            lines[1].starts_with(r#"assistant: I look. read_gauge({"pump":4"#),
            "{name}: {lines:?}"
        );
        assert!(
            lines[1].ends_with(r#" read_log({"pump":4})"#),
            "{name}: {lines:?}"
        );
        assert!(
            lines[2].starts_with("tool: ") && lines[2].contains('8'),
            "{name}: {lines:?}"
        );
        assert!(lines[3].starts_with("tool: "), "{name}: {lines:?}");
        assert!(
            lines.iter().any(|line| line == "assistant: Pump 4 is at 8 bar."),
            "{name}: {lines:?}"
        );
        assert_eq!(lines.last().unwrap(), "user: And pump 5?", "{name}");
        let whole = Value::from(messages(&brought)).to_string();
        // Anthropic takes thinking that is signed, and a tool's picture has a place there alone.
        let is_left = |remark: &Remark| remark.what == Finding::ThinkingLeftOut;
        let left = brought.remarks.iter().any(is_left);
        assert_eq!(left, ["flat", "data", "lc"].contains(&name), "{name}");
        assert_eq!(
            whole.contains("A gauge is read by its tool."),
            !left,
            "{name}: thinking\n{whole}"
        );
        assert!(whole.contains(PNG), "{name}: pictures\n{whole}");
        if name != "gemini-cli" {
            let rules = &brought.conversation.instructions;
            let says = |text: &str| rules.iter().any(|rule| rule.objects[0].content == text);
            assert!(says("Speak of pumps only."), "{name}");
            assert_eq!(says("Be brief."), name == "pydantic-ai");
        }
    }
    // Numbers keep their digits, a tool's picture stands in its result, and a failure is told.
    let flat = messages(&read(MADE[5].1));
    assert!(MADE[5].1.contains("12345678901234567890"));
    let kept = &read(MADE[5].1).conversation.entries[1].message;
    assert!(
        kept.contains(r#""input":{"pump":4,"n":12345678901234567890}"#),
        "{kept}"
    );
    assert_eq!(flat[2]["content"][1]["content"][1]["source"]["data"], PNG);
    assert_eq!(flat[2]["content"][1]["is_error"], true);
}

#[test]
fn unsigned_thinking_stands_where_nothing_needs_blocks() {
    let mut talk: Value = serde_json::from_str(MADE[5].1).unwrap();
    talk[4]["content"] = json!("log of pump 4");
    let brought = read(&talk.to_string());
    assert_eq!(brought.conversation.format, Format::OpenAiChat);
    assert_eq!(brought.remarks, []);
    let thinking = &messages(&brought)[1]["reasoning_content"];
    assert_eq!(thinking, "A gauge is read by its tool.");
}

#[test]
fn a_signature_goes_back_with_its_thinking() {
    for text in [MADE[8].1, MADE[9].1] {
        let all = messages(&read(text));
        let thinking = all.iter().find_map(|message| {
            let blocks = message["content"].as_array()?;
            blocks.iter().find(|block| block["type"] == "thinking")
        });
        assert_eq!(thinking.unwrap()["signature"], "c2ln");
    }
    // Another provider's binds nothing of Anthropic's.
    let other = MADE[9].1.replace("\"anthropic\"", "\"openai\"");
    assert_eq!(read(&other).conversation.format, Format::OpenAiChat);
}

#[test]
fn claude_code_is_read_as_it_asked() {
    let brought = read(MADE[0].1);
    assert_eq!(brought.conversation.format, Format::Anthropic);
    let lines = said(&brought);
    // What the client says stands in the user's message, before his words.
    assert!(
        lines[0].starts_with("user: <system-reminder> # Environment"),
        "{lines:?}"
    );
    assert!(
        lines[0].contains("RULE-HAZEL") && lines[0].ends_with("`python3 show.py N`. "),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("assistant: Step 0: I read stations/station_01.py. Read({"),
        "{lines:?}"
    );
    assert!(lines[2].contains("4137-KB"), "{lines:?}");
    // The blocks of an answer are one message, and so are the results of calls that were made together.
    let pair = messages(&brought).into_iter().position(|message| {
        let blocks = message["content"].as_array();
        blocks.is_some_and(|blocks| {
            blocks.iter().filter(|block| block["type"] == "tool_use").count() == 2
        })
    });
    let pair = pair.unwrap();
    let all = messages(&brought);
    assert_eq!(all[pair]["content"][0]["type"], "thinking");
    assert!(all[pair]["content"][0]["signature"].as_str().unwrap().starts_with("msg_"));
    let results: Vec<&Value> = all[pair + 1]["content"].as_array().unwrap().iter().collect();
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|block| block["type"] == "tool_result"));
    let tools: Vec<&str> = brought.conversation.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(tools, ["Bash", "Edit", "Read"]);
    assert_eq!(brought.conversation.instructions.len(), 2);
}

/// A transcript of Claude Code: a user who is reminded of something, and a result beside which the client says more. The
/// requests are kept where `requests` says so, with what the user is said to have typed in them.
fn reminded(requests: Option<&str>, system: bool) -> String {
    let date = "<system-reminder>\nToday is Friday.\n</system-reminder>";
    let left = "<system-reminder>\n<total_tokens>9 tokens left</total_tokens>\n</system-reminder>";
    let attachment = |text: &str| json!({ "type": "attachment", "renderedRole": "system", "attachment": { "type": "date" }, "rendered": [{ "content": text }] });
    let blob = |hash: &str, role: &str, content: Value| json!({ "type": "api-request-blob", "hash": hash, "message": { "role": role, "content": content, "output_config": {} } });
    let request = |tail: &[&str]| json!({ "type": "api-request", "keep": 0, "tail": tail });
    let mut lines = vec![
        json!({ "type": "user", "uuid": "u1", "message": { "role": "user", "content": "Look at pump 4." } }),
        attachment(date),
    ];
    if let Some(typed) = requests {
        if system {
            lines.push(blob(
                "h1",
                "user",
                json!([{ "type": "text", "text": typed }]),
            ));
            lines.push(blob("h2", "system", json!("Today is Friday.")));
            lines.push(request(&["h1", "h2"]));
        } else {
            let first = json!([{ "type": "text", "text": format!("{date}\n") }, { "type": "text", "text": typed }]);
            lines.push(blob("h1", "user", first));
            lines.push(request(&["h1"]));
        }
    }
    lines.push(json!({ "type": "assistant", "uuid": "u2", "message": { "role": "assistant", "id": "m1", "model": "claude-sonnet-4-6", "content": [{ "type": "tool_use", "id": "c1", "name": "look", "input": {} }] } }));
    lines.push(json!({ "type": "user", "uuid": "u3", "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": "It runs." }] } }));
    lines.push(attachment(left));
    if requests.is_some() {
        if system {
            lines.push(blob(
                "h4",
                "system",
                json!("<total_tokens>9 tokens left</total_tokens>"),
            ));
            // A message that a line holds is not kept again, nor is an answer.
            lines.push(request(&["h1", "h2", "answer", "h3", "h4"]));
        } else {
            let result = json!([{ "type": "tool_result", "tool_use_id": "c1", "content": format!("It runs.\n\n{left}") }]);
            lines.push(blob("h3", "user", result));
            lines.push(request(&["h1", "answer", "h3"]));
        }
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n")
}

#[test]
fn a_request_of_claude_code_is_read_as_it_was_sent() {
    let typed = "Look at pump 4.";
    let sent = messages(&read(&reminded(Some(typed), false)));
    let date = "<system-reminder>\nToday is Friday.\n</system-reminder>\n";
    let left = "It runs.\n\n<system-reminder>\n<total_tokens>9 tokens left</total_tokens>\n</system-reminder>";
    assert_eq!(
        sent[0],
        json!({ "role": "user", "content": [{ "type": "text", "text": date }, { "type": "text", "text": typed }] })
    );
    assert_eq!(
        sent[2],
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c1", "content": left }] })
    );
    assert_eq!(sent.len(), 3);
    // Where the model takes words of the system, they stand as such.
    let sent = messages(&read(&reminded(Some(typed), true)));
    let roles: Vec<&Value> = sent.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "system", "assistant", "user", "system"]);
    assert_eq!(
        sent[1],
        json!({ "role": "system", "content": "Today is Friday." })
    );
    assert_eq!(sent[3]["content"][0]["content"], "It runs.");
}

#[test]
fn reminders_stand_in_the_users_message_where_no_request_is_kept() {
    // Neither is a request believed that has other words than the user's.
    for requests in [
        None,
        Some("Look at pump 5."),
        Some("Look at pump 4. And at pump 5."),
    ] {
        let sent = messages(&read(&reminded(requests, false)));
        let first = sent[0]["content"].as_array().unwrap();
        assert_eq!(
            first[0]["text"],
            "<system-reminder>\nToday is Friday.\n</system-reminder>\n"
        );
        assert_eq!(first[1]["text"], "Look at pump 4.");
        assert!(sent.iter().all(|message| message["role"] != "system"));
        let list = Value::from(sent).to_string();
        let model = tenure::Catalogue::builtin().unwrap();
        let model = model.model("claude-sonnet-4-6").unwrap();
        let broken = tenure::conform::check(Format::Anthropic, &list, Some(model)).unwrap();
        assert_eq!(broken, []);
    }
}

#[test]
fn what_an_sdk_makes_up_is_no_part_of_an_item() {
    let made_up = json!([
        { "role": "user", "content": "Look at pump 4." },
        { "id": "__fake_id__", "type": "reasoning", "summary": [], "provider_data": { "model": "other" } },
        { "id": "__fake_id__", "type": "message", "role": "assistant", "status": "completed", "provider_data": { "model": "other" },
          "content": [{ "type": "output_text", "text": "I look.", "annotations": [] }] },
        { "type": "function_call", "id": "FAKE_ID", "call_id": "c1", "name": "look", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c1", "output": "The id __fake_id__ is in provider_data." },
        { "id": "msg_1", "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "It runs." }] },
    ]);
    let brought = read(&made_up.to_string());
    assert_eq!(brought.conversation.format, Format::OpenAiResponses);
    let kept = messages(&brought);
    let kinds: Vec<&str> = kept.iter().filter_map(|item| item["type"].as_str()).collect();
    assert_eq!(
        kinds,
        [
            "message",
            "function_call",
            "function_call_output",
            "message"
        ]
    );
    for item in &kept[..3] {
        assert!(
            item.get("id").is_none() && item.get("provider_data").is_none(),
            "{item}"
        );
    }
    assert_eq!(kept[1]["status"], "completed");
    assert_eq!(kept[3]["output"], made_up[4]["output"]);
    assert_eq!(kept[4]["id"], "msg_1");
}

#[test]
fn codex_is_read_as_it_asked() {
    let brought = read(MADE[1].1);
    assert_eq!(brought.conversation.format, Format::OpenAiResponses);
    let lines = said(&brought);
    assert!(lines[0].contains("RULE-HAZEL"), "{lines:?}");
    assert!(lines[1].starts_with("user: Read the modules"), "{lines:?}");
    assert!(
        lines[2].contains(r#"exec_command({"cmd": "cat stations/station_01.py""#),
        "{lines:?}"
    );
    assert!(lines[3].contains("4137-KB"), "{lines:?}");
    let all = messages(&brought);
    assert!(
        all.iter()
            .any(|item| item["type"] == "reasoning" && item["encrypted_content"].is_string())
    );
    assert!(
        all.iter()
            .all(|item| { item.get("internal_chat_message_metadata_passthrough").is_none() })
    );
    // The base instructions, and the developer's message.
    assert_eq!(brought.conversation.instructions.len(), 2);
}

#[test]
fn the_others_are_read_whole() {
    let lines = said(&read(MADE[2].1));
    assert!(
        lines[1].starts_with("assistant: Step 0: I read stations/station_01.py. read({"),
        "{lines:?}"
    );
    assert!(lines[2].starts_with("tool: <path>"), "{lines:?}");
    let lines = said(&read(MADE[4].1));
    assert_eq!(
        lines[0],
        "user: Message 1: explain what station 1 does, without changing anything."
    );
    assert_eq!(
        lines[1],
        "assistant: Module 1 in short.  The calibration of pump 1 is 4137-KB."
    );
    assert!(
        lines[9].contains("<<<<<<< SEARCH") && !lines[9].contains("Tokens:"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 10);
    let lines = said(&read(MADE[12].1));
    assert_eq!(lines.len(), 5);
    let talk = json!([
        { "from": "system", "value": "Speak of pumps only." },
        { "from": "human", "value": "What does gauge 4 show?" },
        { "from": "function_call", "value": "{\"name\": \"read_gauge\", \"arguments\": {\"pump\": 4}}" },
        { "from": "observation", "value": "8 bar" },
        { "from": "gpt", "value": "Pump 4 is at 8 bar." },
    ]);
    let pumps = [
        "user: What does gauge 4 show?",
        r#"assistant:  read_gauge({"pump":4})"#,
        "tool: 8 bar",
        "assistant: Pump 4 is at 8 bar.",
    ];
    for text in [
        talk.to_string(),
        json!({ "conversations": talk }).to_string(),
        json!([{ "conversations": talk }]).to_string(),
    ] {
        let brought = read(&text);
        assert_eq!(said(&brought), pumps, "{text}");
        assert_eq!(brought.conversation.instructions.len(), 1);
    }
    let two = json!([{ "conversations": talk }, { "conversations": talk }]).to_string();
    assert!(error(&two).to_string().contains("there are 2 conversations"));
}

#[test]
fn what_is_not_understood_is_named_with_its_line() {
    let with = |lines: &[&str]| lines.join("\n");
    let user = r#"{"type":"user","message":{"role":"user","content":"Check pump 4."},"uuid":"a"}"#;
    let model = r#"{"type":"assistant","message":{"role":"assistant","id":"m","content":[{"type":"text","text":"Fine."}]},"uuid":"b"}"#;
    let cases = [
        (with(&[user, "", r#"{"type":"brand-new"}"#, model]), 3, "brand-new", Finding::NotUnderstood),
        (with(&[user, r#"{"type":"user","mess"#, model]), 2, "line", Finding::Broken),
        (with(&[user, model, "", r#"{"type":"us"#]), 4, "line", Finding::Broken),
        (format!("\u{feff}{}", with(&[user, model, r#"{"type":"us"#])), 3, "line", Finding::Broken),
        (with(&[user, r#"{"type":"user","isSidechain":true,"message":{"role":"user","content":"Look."},"uuid":"s"}"#, model]), 2, "user", Finding::SideChain),
        (with(&[user, model, r#"{"type":"system","subtype":"compact_boundary","uuid":"c"}"#]), 3, "compact_boundary", Finding::Compacted),
        (r#"[{"type":"human","content":"Check pump 4."},
          {"type":"martian","content":"?"},
          {"type":"ai","content":"Fine."}]"#.to_owned(), 2, "martian", Finding::NotUnderstood),
        (r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"Check pump 4."}]},
          {"kind":"response","parts":[{"part_kind":"text","content":"Fine."},{"part_kind":"smell"}]}]"#.to_owned(), 2, "smell", Finding::NotUnderstood),
        (r#"[{"type":"user","content":"Check pump 4."},{"type":"gemini","content":"Fine."},
          {"type":"oracle","content":"?"}]"#.to_owned(), 2, "oracle", Finding::NotUnderstood),
        (r#"{"conversations":[{"from":"human","value":"Check pump 4."},{"from":"gpt","value":"Fine."},{"from":"owl","value":"?"}]}"#.to_owned(), 1, "owl", Finding::NotUnderstood),
        (r#"[{"role":"user","parts":[{"type":"text","text":"Check pump 4."}]},{"role":"assistant","parts":[{"type":"text","text":"Fine."},{"type":"scent"}]}]"#.to_owned(), 1, "scent", Finding::NotUnderstood),
        (r#"{"info":{"id":"s"},"messages":[{"info":{"role":"user"},"parts":[{"type":"text","text":"Check pump 4."}]},{"info":{"role":"assistant"},"parts":[{"type":"text","text":"Fine."},{"type":"aura"}]}]}"#.to_owned(), 1, "aura", Finding::NotUnderstood),
        (r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Check pump 4."}]}}
{"type":"response_item","payload":{"type":"aroma"}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fine."}]}}"#.to_owned(), 2, "aroma", Finding::NotUnderstood),
        (r#"[{"role":"user","content":"Check pump 4."},
          {"type":"aroma"},
          {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Fine."}]}]"#.to_owned(), 2, "aroma", Finding::KeptUnread),
    ];
    for (text, line, kind, what) in cases {
        let brought = read(&text);
        let remarks = &brought.remarks;
        let found = remarks.iter().find(|remark| remark.what == what);
        let found = found.unwrap_or_else(|| panic!("{text}: {remarks:?}"));
        assert_eq!(
            (found.line, &*found.kind, found.count),
            (line, kind, 1),
            "{text}"
        );
        let lines: Vec<String> =
            said(&brought).into_iter().filter(|line| line != "user: ").collect();
        assert_eq!(lines, ["user: Check pump 4.", "assistant: Fine."], "{text}");
        assert_eq!(brought.whole().is_err(), what.is_lost());
    }
}

#[test]
fn a_list_of_which_nothing_is_understood_is_an_error_that_shows_its_first_item() {
    for text in [
        r#"[{"type":"human-like","text":"x"},{"type":"b"}]"#,
        "\n\n{\"type\":\"file-history-snapshot\"}\n{\"type\":\"summary\"}",
        r#"[{"kind":"request"},{"kind":"response"}]"#,
        r#"{"question":"x"}"#,
        r#"[["a"],["b"]]"#,
        r#"[{"parts":[{"part_kind":"text","content":"x"}],"kind":"other"}]"#,
    ] {
        let error = error(text);
        let first = text.trim().trim_start_matches('[').get(..9).unwrap();
        assert!(
            error.what.contains("no message was understood"),
            "{text}: {error}"
        );
        assert!(
            error.what.contains(first) || text.starts_with("[["),
            "{text}: {error}"
        );
        assert!(error.expected.is_some());
        assert!(error.at.is_some_and(|at| at.line.is_some()), "{text}");
    }
    // A form that is named and is not there is said.
    let said = Some(MessageForm::Transcript(Form::ClaudeCode));
    let wrong = read_messages(MADE[1].1, said, Format::OpenAiChat, &[]).unwrap_err();
    assert!(
        wrong.to_string().contains("no message of Claude Code is in it"),
        "{wrong}"
    );
    // Only the last line of a provider's messages may be cut.
    let one = r#"{"role":"user","content":"x"}"#;
    let cut = format!("{one}\n{one}\n{{\"role\":");
    assert_eq!(read(&cut).remarks[0].line, 3);
    let torn = format!("{one}\n{{\"role\":\n{one}");
    assert_eq!(error(&torn).at.unwrap().line, Some(2));
    // A fault within a message has the line of that message.
    let wrong = format!("{one}\n\n{{\"role\":\"user\",\"content\":[7]}}");
    assert_eq!(error(&wrong).at.unwrap().line, Some(3));
}

#[test]
fn branches_that_were_left_are_not_said_again() {
    let line = |kind: &str, uuid: &str, parent: &str, message: Value| {
        let parent = if parent.is_empty() {
            Value::Null
        } else {
            json!(parent)
        };
        json!({ "type": kind, "uuid": uuid, "parentUuid": parent, "message": message }).to_string()
    };
    let user = |text: &str| json!({ "role": "user", "content": text });
    let call = |id: &str, call: &str| json!({ "role": "assistant", "id": id, "content": [{ "type": "tool_use", "id": call, "name": "look", "input": {} }] });
    let result = |call: &str| json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": call, "content": call }] });
    let said_by_model = |id: &str, text: &str| json!({ "role": "assistant", "id": id, "content": [{ "type": "text", "text": text }] });
    let text = [
        line("user", "1", "", user("Look at both.")),
        // Two calls of one answer, each with its result behind its own line.
        line("assistant", "2", "1", call("m1", "c1")),
        line("user", "3", "2", result("c1")),
        line("assistant", "4", "2", call("m1", "c2")),
        line("user", "5", "4", result("c2")),
        line("assistant", "6", "5", said_by_model("m2", "Both run.")),
        line("user", "7", "6", user("Stop them.")),
        line("assistant", "8", "7", said_by_model("m3", "Stopped.")),
        // The user went back.
        line("user", "9", "6", user("Leave them.")),
        line("assistant", "10", "9", said_by_model("m4", "As you like.")),
    ];
    let brought = read(&text.join("\n"));
    assert_eq!(
        said(&brought),
        [
            "user: Look at both.",
            "assistant:  look({}) look({})",
            "tool: c1",
            "tool: c2",
            "assistant: Both run.",
            "user: Leave them.",
            "assistant: As you like."
        ]
    );
    let remarks: Vec<String> = brought.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(remarks.len(), 2, "{remarks:?}");
    assert!(
        remarks[0].starts_with("line 7: `user` is of a branch that the user left"),
        "{remarks:?}"
    );
}

#[test]
fn codex_takes_turns_back_and_says_that_it_compacted() {
    let item = |role: &str, text: &str| {
        let kind = if role == "user" {
            "input_text"
        } else {
            "output_text"
        };
        json!({ "type": "response_item", "payload": { "type": "message", "role": role, "content": [{ "type": kind, "text": text }] } }).to_string()
    };
    let text = [
        json!({ "type": "session_meta", "payload": { "id": "x", "instructions": "Be brief." } })
            .to_string(),
        item("user", "<environment_context>\n</environment_context>"),
        item("user", "Check pump 4."),
        item("assistant", "Fine."),
        item("user", "Stop it."),
        item("assistant", "Stopped."),
        json!({ "type": "event_msg", "payload": { "type": "thread_rolled_back", "num_turns": 1 } })
            .to_string(),
        json!({ "type": "compacted", "payload": { "message": "Pump 4 was checked." } }).to_string(),
        item("user", "And pump 5?"),
    ];
    let brought = read(&text.join("\n"));
    let lines = said(&brought);
    assert_eq!(
        lines[1..],
        [
            "user: Check pump 4.",
            "assistant: Fine.",
            "user: Pump 4 was checked.",
            "user: And pump 5?"
        ]
    );
    let found: Vec<Finding> = brought.remarks.iter().map(|remark| remark.what).collect();
    assert_eq!(found, [Finding::Abandoned, Finding::Compacted]);
    assert_eq!(
        brought.conversation.instructions[0].objects[0].content,
        "Be brief."
    );
}

#[test]
fn halves_of_characters_cost_no_words() {
    let text = r#"[{"type":"human","content":"pump \ud83d four"},{"type":"ai","content":"Fine."}]"#;
    let lines = said(&read(text));
    assert!(
        lines[0].starts_with("user: pump ") && lines[0].ends_with(" four"),
        "{lines:?}"
    );
}

#[test]
fn the_transcripts_of_a_project_are_found_newest_first() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().canonicalize().unwrap().join("my.pumps_1");
    std::fs::create_dir(&project).unwrap();
    let places = Places::at(home.path());
    let missing = Found::of(Form::ClaudeCode, &project, &places).unwrap_err();
    assert!(
        missing.to_string().contains("keeps no transcript of"),
        "{missing}"
    );
    let name = project.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let folder = home.path().join(".claude/projects").join(&name);
    std::fs::create_dir_all(&folder).unwrap();
    let write = |path: &std::path::Path, text: &str, age: u64| {
        std::fs::write(path, text).unwrap();
        let then =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 - age);
        std::fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    };
    write(&folder.join("old.jsonl"), MADE[0].1, 100);
    write(&folder.join("new.jsonl"), MADE[0].1, 1);
    write(&folder.join("agent-1.jsonl"), MADE[0].1, 0);
    let found = Found::of(Form::ClaudeCode, &project, &places).unwrap().files;
    assert_eq!(found, [folder.join("new.jsonl"), folder.join("old.jsonl")]);
    let day = home.path().join(".codex/sessions/2026/11/28");
    std::fs::create_dir_all(&day).unwrap();
    let meta = |cwd: &std::path::Path, source: Value| {
        json!({ "type": "session_meta", "payload": { "id": "x", "cwd": cwd, "source": source } })
            .to_string()
            + "\n"
    };
    write(
        &day.join("rollout-a.jsonl"),
        &meta(&project, json!("cli")),
        5,
    );
    write(
        &day.join("rollout-b.jsonl"),
        &meta(home.path(), json!("cli")),
        4,
    );
    write(
        &day.join("rollout-c.jsonl"),
        &meta(&project, json!({ "subagent": "review" })),
        3,
    );
    let found = Found::of(Form::Codex, &project, &places).unwrap().files;
    assert_eq!(found, [day.join("rollout-a.jsonl")]);
    assert!(Found::of(Form::Langchain, &project, &places).is_err());
}
