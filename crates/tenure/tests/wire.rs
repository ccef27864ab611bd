//! The message arrays of the providers: what goes in comes out, byte for byte, and nothing that is read
//! is lost on the way.

use serde_json::Value;
use tenure::ObjectDocument;
use tenure::object::{ObjectType, Protection, Role, Sealer};
use tenure::wire::{Format, groups, open_chain, read, read_after, write};

/// A conversation with tools in each format, with what only that provider has.
const CHAT: &str = r#"{"model": "gpt-4o", "messages": [
  {"role": "developer", "content": "Be brief."},
  {"role": "user", "name": "ada",
   "content": [{"type": "text", "text": "What is this? 12345678901234567890123 caf\u00e9"}, {"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]},
  {"tool_calls": [{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"n\":  12345678901234567890}"}},
                  {"id":"c2","type":"function","function":{"name":"look","arguments":""}}], "role":"assistant","content":null},
  {"role":"tool","tool_call_id":"c1","content":"a cat"},
  {"role":"tool","tool_call_id":"c2","content":"é"},
  {"role": "assistant", "content": "A cat.", "audio": {"id": "x"}}
 ], "tools": [{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object"},"strict":true}}], "seed": 7}"#;

const RESPONSES: &str = r#"{"instructions": "Be brief.", "input": [
  {"role": "user", "content": "How hot?"},
  {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA=="},
  {"type":"function_call","call_id":"c1","name":"sense","arguments":"{}","id":"fc_1"},
  {"type":"function_call","call_id":"c2","name":"sense","arguments":"{\"unit\":1.00}"},
  {"type":"function_call_output","call_id":"c1","output":"21"},
  {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"294"},{"type":"input_image","image_url":"https://e.org/a.png"}]},
  {"type":"message","role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"21 °C.","annotations":[]}]},
  {"type":"item_reference","id":"msg_9"}
 ], "tools":[{"type":"web_search"},{"type":"function","name":"sense","parameters":null}], "store": false}"#;

const ANTHROPIC: &str = r#"{"system": [{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}], "messages": [
  {"role":"user","content":"How hot?"},
  {"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"I look."},
     {"type":"tool_use","id":"t1","name":"sense","input":{"z":1,"a":12345678901234567890}},{"type":"tool_use","id":"t2","name":"sense","input":{}}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"21"},
     {"type":"tool_result","tool_use_id":"t2","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
     {"type":"text","text":"And now?"}]},
  {"role":"assistant","content":[{"type":"redacted_thinking","data":"xx"},{"type":"mystery","x":[1,2]}]}
 ], "tools":[{"name":"sense","input_schema":{"type":"object"}}], "max_tokens": 10}"#;

const GEMINI: &str = r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]}, "contents": [
  {"role":"user","parts":[{"text":"How hot?"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},
  {"role":"model","parts":[{"text":"Hm","thought":true},{"functionCall":{"name":"sense","args":{"unit":"c","n":12345678901234567890}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"sense","args":{}}}]},
  {"role":"user","parts":[{"functionResponse":{"name":"sense","response":{"result":"21"}}},{"functionResponse":{"name":"sense","response":{"k":[294]}}}]},
  {"parts":[{"text":"21 °C."}],"role":"model"}
 ], "tools":[{"functionDeclarations":[{"name":"sense","description":"Senses.","parameters":{"type":"OBJECT"}}]},{"googleSearch":{}}]}"#;

const ALL: [(Format, &str); 4] = [
    (Format::OpenAiChat, CHAT),
    (Format::OpenAiResponses, RESPONSES),
    (Format::Anthropic, ANTHROPIC),
    (Format::Gemini, GEMINI),
];

fn list(json: &str) -> Vec<String> {
    let whole: Value = serde_json::from_str(json).unwrap();
    let mut keys = ["messages", "input", "contents"].into_iter();
    let key = keys.find(|key| whole.get(key).is_some()).unwrap();
    let raw: std::collections::BTreeMap<String, Box<serde_json::value::RawValue>> =
        serde_json::from_str(json).unwrap();
    let items: Vec<Box<serde_json::value::RawValue>> =
        serde_json::from_str(raw[key].get()).unwrap();
    items.iter().map(|item| item.get().to_owned()).collect()
}

/// The objects once they were sealed, published and sealed again, as a store has them.
fn stored<'a>(objects: impl Iterator<Item = &'a ObjectDocument>) -> Vec<ObjectDocument> {
    let mut sealer = Sealer::default();
    objects
        .map(|object| {
            let sealed = sealer.seal(object.clone()).unwrap();
            let line = serde_json::to_string(&*sealed).unwrap();
            let read: ObjectDocument = serde_json::from_str(&line).unwrap();
            let again = sealer.seal(read.clone()).unwrap();
            assert_eq!(again.revision().id(), sealed.revision().id());
            read
        })
        .collect()
}

#[test]
fn untouched_messages_come_back_byte_for_byte() {
    for (format, body) in ALL {
        let conversation = read(format, body).unwrap();
        let objects = stored(conversation.objects());
        let objects: Vec<&ObjectDocument> = objects.iter().collect();
        let written = write(&objects, format).unwrap();
        let mut expected = list(body);
        if format == Format::OpenAiChat {
            // What leads is an instruction.
            assert_eq!(conversation.instructions[0].message, expected.remove(0));
        }
        assert_eq!(
            written.messages,
            format!("[{}]", expected.join(",")),
            "{format}"
        );
        assert_eq!(written.left_out, []);
        assert_eq!(conversation.instructions[0].objects[0].content, "Be brief.");
        assert_eq!(Format::detect(body), Some(format));
        stored(conversation.tools.iter());
        assert_eq!(conversation.tools.len(), 1);
    }
}

#[test]
fn every_format_means_the_same() {
    for (format, body) in ALL {
        let conversation = read(format, body).unwrap();
        let objects: Vec<_> = conversation.objects().collect();
        let calls: Vec<_> = objects.iter().flat_map(|object| &object.tool_calls).collect();
        assert_eq!(calls.len(), 2, "{format}");
        let results = objects
            .iter()
            .filter(|object| object.object_type == Some(ObjectType::ToolResult));
        let answered: Vec<_> = results.map(|result| result.tool_call_id.clone().unwrap()).collect();
        assert_eq!(
            answered,
            [calls[0].id.clone(), calls[1].id.clone()],
            "{format}"
        );
        let big = calls
            .iter()
            .any(|call| call.arguments.as_str().unwrap().contains("12345678901234567890"));
        assert!(big || format == Format::OpenAiResponses, "{format}");
        let all = groups(&conversation.entries);
        assert_eq!(all.last().unwrap().end, conversation.entries.len());
        assert_eq!(open_chain(&conversation.entries), None, "{format}");
        let caller = conversation
            .entries
            .iter()
            .position(|entry| entry.objects.iter().any(|object| !object.tool_calls.is_empty()));
        assert_eq!(
            open_chain(&conversation.entries[..=caller.unwrap()]).map(|open| open.start),
            caller
        );
    }
}

#[test]
fn what_is_signed_or_unknown_is_kept_and_protected() {
    let conversation = read(Format::Anthropic, ANTHROPIC).unwrap();
    let entry = &conversation.entries[1];
    assert!(entry.signed);
    assert_eq!(entry.opaque, ["thinking"]);
    assert_eq!(entry.objects[0].protection, Some(Protection::Verbatim));
    assert_eq!(entry.objects[0].content, "I look.");
    let last = &conversation.entries[3];
    assert_eq!(last.opaque, ["redacted_thinking", "mystery"]);
    assert_eq!(last.objects[0].content, "");
    assert_eq!(last.objects[0].role, Some(Role::Assistant));

    let mut edited = entry.objects[0].clone();
    edited.content = "I know.".into();
    let error = edited.seal().unwrap_err();
    assert!(error.what.contains("says something else"), "{error}");
    assert!(error.to_string().contains("signed_block_edited"), "{error}");
    let mut edited = entry.objects[0].clone();
    let wire = edited.wire.as_mut().unwrap();
    wire.message = wire.message.as_ref().map(|message| message.replace("Hm.", "Ha."));
    let error = edited.seal().unwrap_err();
    assert!(error.what.contains("digest"), "{error}");
}

#[test]
fn the_name_of_a_message_is_who_says_it() {
    let said_by = |messages: &str| {
        let conversation = read(Format::OpenAiChat, messages).unwrap();
        let entries = conversation.entries.into_iter();
        let objects = entries.flat_map(|entry| entry.objects);
        objects.map(|object| object.said_by).collect::<Vec<_>>()
    };
    assert_eq!(
        said_by(CHAT),
        [Some("ada".to_owned()), None, None, None, None]
    );
    let long = format!(
        r#"[{{"role":"user","name":"{}","content":"Hm."}}]"#,
        "a".repeat(9_999)
    );
    for odd in [
        r#"[{"role":"user","name":" ","content":"Hm."}]"#,
        r#"[{"role":"user","name":7,"content":"Hm."}]"#,
        &long,
    ] {
        assert_eq!(said_by(odd), [None]);
    }
}

#[test]
fn another_format_is_written_from_the_meaning() {
    for (from, body) in ALL {
        let conversation = read(from, body).unwrap();
        let objects: Vec<_> = conversation.objects().collect();
        for to in Format::ALL.iter().copied().filter(|to| *to != from) {
            let written = write(&objects, to).unwrap();
            let again = read(to, &written.messages).unwrap();
            let calls = |objects: &[&ObjectDocument]| -> Vec<String> {
                let calls = objects.iter().flat_map(|object| &object.tool_calls);
                calls.map(|call| call.name.clone()).collect()
            };
            let back: Vec<_> = again.objects().collect();
            assert_eq!(
                calls(&objects),
                calls(&back),
                "{from} to {to}: {}",
                written.messages
            );
            let results = |objects: &[&ObjectDocument]| {
                objects.iter().filter(|object| object.tool_call_id.is_some()).count()
            };
            assert_eq!(results(&objects), results(&back));
            for entry in &again.entries {
                assert_eq!(entry.faults, [""; 0], "{from} to {to}: {}", entry.message);
            }
        }
    }
    let conversation = read(Format::Anthropic, ANTHROPIC).unwrap();
    let objects: Vec<_> = conversation.objects().collect();
    let written = write(&objects, Format::OpenAiResponses).unwrap();
    assert!(
        written.messages.contains("data:image/png;base64,AAAA"),
        "{}",
        written.messages
    );
    let rules: Vec<_> =
        written.left_out.iter().map(|left| (left.rule, left.what.as_str())).collect();
    assert_eq!(
        rules,
        [
            ("foreign_reasoning_dropped", "thinking"),
            ("foreign_reasoning_dropped", "redacted_thinking"),
            ("foreign_block_dropped", "mystery"),
        ]
    );
}

#[test]
fn what_follows_goes_on_counting() {
    let calls = r#"[{"role":"user","parts":[{"text":"Go."}]},{"role":"model","parts":[{"functionCall":{"name":"f"}}]}]"#;
    let answers =
        r#"[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}}]}]"#;
    let first = read(Format::Gemini, calls).unwrap();
    let earlier: Vec<_> = first.objects().collect();
    let then = read_after(Format::Gemini, answers, &earlier).unwrap();
    let result = then.objects().next().unwrap();
    assert_eq!(
        result.tool_call_id,
        Some(earlier[1].tool_calls[0].id.clone())
    );
    assert_eq!(result.name, "result-00003");
    let alone = read(Format::Gemini, answers).unwrap();
    let orphan = alone.objects().next().unwrap();
    assert_ne!(orphan.tool_call_id, result.tool_call_id);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        (Format::OpenAiChat, "{", "not JSON", ""),
        (Format::OpenAiChat, "7", "object", "body"),
        (
            Format::OpenAiChat,
            r#"{"contents":[]}"#,
            "`messages` is missing",
            "body",
        ),
        (
            Format::OpenAiChat,
            r#"[{"role":"robot"}]"#,
            "unknown role",
            "messages[0]",
        ),
        (
            Format::OpenAiChat,
            r#"[{"role":"user","role":"system","content":"a"}]"#,
            "stands twice",
            "messages[0]",
        ),
        (
            Format::OpenAiChat,
            r#"[{"role":"user","content":"\ud800"}]"#,
            "hex escape",
            "messages[0].content",
        ),
        (
            Format::OpenAiChat,
            r#"[{"role":"tool","content":"a"}]"#,
            "`tool_call_id` is missing",
            "messages[0]",
        ),
        (
            Format::Anthropic,
            r#"[{"role":"user","content":[{"text":"a"}]}]"#,
            "`type` is missing",
            "messages[0].content[0]",
        ),
        (
            Format::OpenAiResponses,
            r#"[{"type":"function_call","name":"f","arguments":"{}"}]"#,
            "`call_id` is missing",
            "input[0]",
        ),
        (
            Format::Gemini,
            r#"[{"role":"model","parts":[{"functionCall":{}}]}]"#,
            "`name` is missing",
            "contents[0].parts[0].functionCall",
        ),
    ];
    for (format, json, what, place) in cases {
        let error = read(format, json).unwrap_err();
        assert!(error.what.contains(what), "{json}: {error}");
        let at = error.at.clone().map(|at| at.source).unwrap_or_default();
        assert_eq!(at, place, "{json}: {error}");
        assert!(error.expected.is_some());
    }
}
