//! Each rule is broken once, and named.

use super::*;
use crate::provider::catalogue::{Catalogue, LateTools};

fn broken(format: Format, body: &str, model: Option<&str>) -> Vec<String> {
    let catalogue = Catalogue::builtin().unwrap();
    let model = model.map(|name| catalogue.model(name).unwrap());
    let found = check(format, body, model).unwrap();
    found.into_iter().map(|violation| violation.rule).collect()
}

/// A body of messages written short: `u` and `a` are words of a role, `s` of the system, a digit a
/// call of the model, a digit after `=` its result, `_` blank words; what `+` joins is one message.
fn body(format: Format, short: &str) -> String {
    let mut messages = Vec::new();
    for message in short.split(' ').filter(|message| !message.is_empty()) {
        let blocks: Vec<&str> = message.split('+').collect();
        let role = match blocks[0] {
            "u" | "_" => "user",
            "s" => "system",
            block if block.starts_with('=') => "user",
            _ => "assistant",
        };
        let json = |block: &&str| -> String {
            let digit = block.trim_start_matches('=');
            match (format, *block) {
                (Format::Anthropic, "u" | "a" | "s") => r#"{"type":"text","text":"x"}"#.into(),
                (Format::Anthropic, "_") => r#"{"type":"text","text":" "}"#.into(),
                (Format::Anthropic, block) if block.starts_with('=') => {
                    format!(r#"{{"type":"tool_result","tool_use_id":"{digit}"}}"#)
                }
                (Format::Anthropic, _) => {
                    format!(r#"{{"type":"tool_use","id":"{digit}","name":"f","input":{{}}}}"#)
                }
                (Format::Gemini, "u" | "a" | "_") => r#"{"text":"x"}"#.into(),
                (Format::Gemini, block) if block.starts_with('=') => {
                    format!(r#"{{"functionResponse":{{"name":"f{digit}"}}}}"#)
                }
                (Format::Gemini, _) => format!(r#"{{"functionCall":{{"name":"f{digit}"}}}}"#),
                (_, _) => digit.to_owned(),
            }
        };
        let parts = blocks.iter().map(json).collect::<Vec<String>>().join(",");
        let is_call = |block: &&&str| block.parse::<u8>().is_ok();
        messages.push(match format {
            Format::Anthropic => format!(r#"{{"role":"{role}","content":[{parts}]}}"#),
            Format::Gemini => {
                let role = role.replace("assistant", "model");
                format!(r#"{{"role":"{role}","parts":[{parts}]}}"#)
            }
            Format::OpenAiChat if blocks[0].starts_with('=') => {
                format!(r#"{{"role":"tool","content":"","tool_call_id":"{}"}}"#, &blocks[0][1..])
            }
            Format::OpenAiChat => {
                let calls: Vec<String> = blocks.iter().filter(is_call).map(|id| {
                    format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":""}}}}"#)
                }).collect();
                format!(r#"{{"role":"{role}","content":"x","tool_calls":[{}]}}"#, calls.join(","))
            }
            Format::OpenAiResponses => match blocks[0] {
                "r" => r#"{"type":"reasoning","summary":[]}"#.to_owned(),
                block if block.starts_with('=') => {
                    format!(r#"{{"type":"function_call_output","call_id":"{}","output":""}}"#, &block[1..])
                }
                block if is_call(&&block) => {
                    format!(r#"{{"type":"function_call","call_id":"{block}","name":"f","arguments":""}}"#)
                }
                _ => format!(r#"{{"role":"{role}","content":"x"}}"#),
            },
        });
    }
    let messages = messages.join(",");
    match format {
        Format::Anthropic => {
            format!(r#"{{"max_tokens":1,"tools":[{{"name":"f"}}],"messages":[{messages}]}}"#)
        }
        Format::Gemini => format!(r#"{{"contents":[{messages}]}}"#),
        Format::OpenAiChat => format!(r#"{{"messages":[{messages}]}}"#),
        Format::OpenAiResponses => format!(r#"{{"input":[{messages}]}}"#),
    }
}

#[test]
fn legal_conversations_pass() {
    let cases = [
        (Format::OpenAiChat, "u a u", None),
        (Format::OpenAiChat, "a u 0+1 =1 =0 a+2 =2", None),
        (Format::OpenAiResponses, "u r 0 1 =1 =0 r a u", None),
        (Format::OpenAiResponses, "u 0 a =0", None),
        (Format::Anthropic, "u a u", Some("claude-opus-5-5")),
        (Format::Anthropic, "u a+0 =0+u 0+1", None),
        (Format::Anthropic, "u 1+2 =2+=1+u a u u a", None),
        (Format::Anthropic, "u s a+3 =3 s", Some("claude-opus-5-5")),
        (Format::Gemini, "u 0+1 =1+=0 a u u", None),
    ];
    for (format, short, model) in cases {
        let found = broken(format, &body(format, short), model);
        let open = short == "u a+0 =0+u 0+1";
        let expected: &[&str] = if open {
            &[
                "duplicate_call_id",
                "call_without_result",
                "call_without_result",
            ]
        } else {
            &[]
        };
        assert_eq!(found, expected, "{short}");
    }
}

#[test]
fn each_broken_rule_is_named() {
    let opus = Some("claude-opus-5-5");
    let gemini = Some("gemini-3-pro");
    let cases = [
        (Format::OpenAiChat, "u 0 u", None, "call_without_result"),
        (Format::OpenAiChat, "u 0+1 =1", None, "call_without_result"),
        (Format::OpenAiChat, "u =0", None, "result_without_call"),
        (Format::OpenAiChat, "u 0 =0 =0", None, "result_without_call"),
        (Format::OpenAiChat, "u 0+0 =0 =0", None, "duplicate_call_id"),
        (Format::OpenAiChat, "", None, "no_messages"),
        (Format::OpenAiResponses, "u 0", None, "call_without_result"),
        (Format::OpenAiResponses, "=0 0", None, "result_without_call"),
        (
            Format::OpenAiResponses,
            "u 0 =0 0 =0",
            None,
            "duplicate_call_id",
        ),
        (
            Format::OpenAiResponses,
            "u r u",
            None,
            "reasoning_without_partner",
        ),
        (
            Format::OpenAiResponses,
            "u r",
            None,
            "reasoning_without_partner",
        ),
        (Format::Anthropic, "a u", None, "first_message_is_users"),
        (Format::Anthropic, "u a", opus, "prefill_refused"),
        (Format::Anthropic, "_", None, "empty_content"),
        (Format::Anthropic, "u 0 u", None, "call_without_result"),
        (Format::Anthropic, "u 0+1 =0", None, "call_without_result"),
        (Format::Anthropic, "u 0 u+=0", None, "result_not_first"),
        (Format::Anthropic, "u 0 u =0", None, "result_not_first"),
        (Format::Anthropic, "u 0 =0+=0", None, "result_without_call"),
        (
            Format::Anthropic,
            "u 0 =0 u a =0",
            None,
            "result_without_call",
        ),
        (Format::Anthropic, "u 0 =0 0 =0", None, "duplicate_call_id"),
        (Format::Anthropic, "u s u", opus, "system_position"),
        (Format::Anthropic, "s u", opus, "system_position"),
        (Format::Anthropic, "u+0", None, "call_by_another"),
        (Format::Gemini, "a u", None, "first_message_is_users"),
        (Format::Gemini, "u a", None, "last_message_is_users"),
        (Format::Gemini, "u a 0 =0", None, "call_after_user"),
        (Format::Gemini, "u 0+1 =0", None, "call_without_result"),
        (Format::Gemini, "u 0 u =0", None, "call_without_result"),
        (Format::Gemini, "u =0", None, "result_without_call"),
        (
            Format::Gemini,
            "u 0 =0",
            gemini,
            "thought_signature_missing",
        ),
    ];
    let mut met = BTreeSet::new();
    for (format, short, model, rule) in cases {
        let found = broken(format, &body(format, short), model);
        assert!(
            found.iter().any(|found| found == rule),
            "{format} {short}: {found:?}"
        );
        met.insert(rule);
    }
    let bodies = [
        (
            Format::Anthropic,
            r#"{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a b","name":"f","input":[]}]}]}"#,
            &["call_id", "call_arguments", "tool_undefined"][..],
        ),
        (
            Format::Anthropic,
            r#"{"messages":[{"role":"robot","content":"x"}]}"#,
            &["unknown_role", "max_tokens"],
        ),
        (
            Format::Anthropic,
            r#"{"max_tokens":1,"cache_control":{},"tools":[{"name":"f","cache_control":{}},{"name":"f"},{"name":"g h"}],"system":[{"type":"text","text":"x","cache_control":{"ttl":"1h"}}],
           "messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}},{"type":"text","text":"x","cache_control":{}}]}]}"#,
            &[
                "too_many_breakpoints",
                "ttl_order",
                "duplicate_tool",
                "tool_name",
            ],
        ),
        (
            Format::Anthropic,
            r#"{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}]}]}"#,
            &["late_tool_undefined"],
        ),
    ];
    let marked = [
        r#"{"max_tokens":1,"system":[{"type":"text","text":"","cache_control":{}}],"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"max_tokens":1,"tools":[{"name":"f","defer_loading":true,"cache_control":{}}],"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"max_tokens":1,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"x","cache_control":{}}]}]}"#,
        r#"{"max_tokens":1,"tools":[{"name":"f"}],"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"","cache_control":{}}]}]}]}"#,
    ].map(|body| (Format::Anthropic, body, &["mark_place"][..]));
    for (format, body, rules) in bodies.into_iter().chain(marked) {
        let found = broken(format, body, None);
        for rule in rules {
            assert!(found.iter().any(|found| found == rule), "{body}: {found:?}");
            met.insert(rule);
        }
    }
    let strict = Model {
        late_tools: Some(LateTools::new(LateForm::None)),
        messages: Some(MessageRules {
            merges_same_role: Some(false),
            mid_conversation_system: Some(false),
            ..MessageRules::default()
        }),
        ..Model::new(1_000, 1, "o200k_base")
    };
    let found = check(
        Format::Anthropic,
        &body(Format::Anthropic, "u u s a"),
        Some(&strict),
    )
    .unwrap();
    met.extend(["roles_alternate", "system_refused"]);
    assert_eq!(
        found.iter().map(|found| found.rule.as_str()).collect::<Vec<_>>(),
        ["roles_alternate", "system_refused"]
    );
    let late = r#"{"input":[{"role":"user","content":"x"},{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]}]}"#;
    let found = check(Format::OpenAiResponses, late, Some(&strict)).unwrap();
    assert_eq!(found[0].rule, "late_tools_refused");
    met.insert("late_tools_refused");
    met.insert("too_many_messages");
    // The file and the checker know the same rules.
    let rules = rules().unwrap();
    let named: BTreeSet<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(named, met);
    assert!(rules.iter().all(|rule| !rule.source.is_empty() && rule.dated == "2026-11-20"));
}

#[test]
fn ids_have_the_length_that_each_provider_takes() {
    let chat = |id: &str| {
        format!(
            r#"{{"messages":[{{"role":"user","content":"x"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"{id}","content":"x"}}]}}"#
        )
    };
    let items = |id: &str| {
        format!(
            r#"{{"input":[{{"role":"user","content":"x"}},{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"{id}","output":"x"}}]}}"#
        )
    };
    for (format, longest) in [(Format::OpenAiChat, 40), (Format::OpenAiResponses, 64)] {
        let body = |length: usize| match format {
            Format::OpenAiChat => chat(&"ü".repeat(length)),
            _ => items(&"ü".repeat(length)),
        };
        assert!(broken(format, &body(longest), None).is_empty());
        for length in [longest + 1, 0] {
            assert_eq!(broken(format, &body(length), None), ["call_id"], "{length}");
        }
    }
}

#[test]
fn what_the_provider_keeps_holds_the_call_of_a_result() {
    let output = r#"[{"type":"function_call_output","call_id":"c","output":"x"}]"#;
    let body = |more: &str| format!(r#"{{"model":"m",{more}"input":{output}}}"#);
    for more in [
        r#""previous_response_id":"resp_1","#,
        r#""conversation":{"id":"conv_1"},"#,
    ] {
        assert!(
            broken(Format::OpenAiResponses, &body(more), None).is_empty(),
            "{more}"
        );
    }
    for more in ["", r#""previous_response_id":null,"#] {
        let found = broken(Format::OpenAiResponses, &body(more), None);
        assert_eq!(found, ["result_without_call"], "{more}");
    }
}
