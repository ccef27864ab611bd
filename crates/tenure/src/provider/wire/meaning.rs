//! The meaning of a message: the same for two that say the same, however they are written.

use serde_json::value::RawValue;

use super::Format;
use super::json::{Fields, JsonPath, is_list, is_string};
use crate::base::digest::Digest;

/// Values below this are compared as they are written.
const DEPTH: u32 = 48;
/// Marks of a cache: they are the request's and not the message's.
const MARKS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

/// Returns whether a field of an item is an SDK's own, which the API refuses: the OpenAI Agents SDK gives the answers of
/// other models an id that is none, and says in `provider_data` where they are from.
pub(crate) fn is_made_up(key: &str, value: &RawValue) -> bool {
    key == "provider_data"
        || key == "id" && matches!(value.get(), "\"__fake_id__\"" | "\"FAKE_ID\"")
}

/// A digest of what a message says: the same for all its writings that a provider takes for the same. The
/// order of keys, white space, escapes, empty fields, marks of a cache, a bare text in the place of one
/// block of text, and the states of items make no difference.
///
/// The text is as [`Entry::message`](super::Entry::message) holds it.
///
/// ```
/// use tenure::wire::{Format, meaning};
/// let came = r#"{"role": "assistant", "content": "Hi.", "refusal": null}"#;
/// let sent = r#"{"content":[{"text":"H\u0069.","type":"text","cache_control":{"type":"ephemeral"}}],"role":"assistant"}"#;
/// assert_eq!(meaning(Format::OpenAiChat, came), meaning(Format::OpenAiChat, sent));
/// let other = sent.replace("Hi", "No").replace("H\\u0069", "No");
/// assert_ne!(meaning(Format::OpenAiChat, came), meaning(Format::OpenAiChat, &other));
/// ```
pub fn meaning(format: Format, message: &str) -> Digest {
    let list = format!("[{message}]");
    let mut out = String::with_capacity(message.len());
    match serde_json::from_str::<&RawValue>(&list) {
        Ok(list) => Writer { format }.write(list, Within::Message, 0, &mut out),
        Err(_) => out.push_str(message),
    }
    Digest::of(out.as_bytes())
}

/// The place of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Among messages, blocks and their fields.
    Message,
    /// In what a call says: all of it counts.
    Data,
}

struct Writer {
    format: Format,
}

impl Writer {
    fn write(&self, value: &RawValue, within: Within, depth: u32, out: &mut String) {
        let raw = value.get();
        let place = JsonPath::new("");
        match raw.as_bytes().first() {
            _ if depth > DEPTH => out.push_str(raw),
            Some(b'"') if raw.contains('\\') => match place.text(value) {
                Ok(text) => text_into(&text, out),
                Err(_) => out.push_str(raw),
            },
            Some(b'[') => match place.list(value) {
                Ok(items) => {
                    out.push('[');
                    for (at, item) in items.into_iter().enumerate() {
                        if at > 0 {
                            out.push(',');
                        }
                        self.write(item, within, depth + 1, out);
                    }
                    out.push(']');
                }
                Err(_) => out.push_str(raw),
            },
            Some(b'{') => match place.fields(value) {
                Ok(fields) => self.write_object(&fields, within, depth, out),
                // A key stands twice.
                Err(_) => out.push_str(raw),
            },
            _ => out.push_str(raw),
        }
    }

    fn write_object(&self, fields: &Fields<'_>, within: Within, depth: u32, out: &mut String) {
        let mut known: Vec<(&str, &RawValue)> = fields.iter().collect();
        known.sort_by_key(|(key, _)| *key);
        let kind = fields.get("type").map_or("", RawValue::get);
        let named = self.format == Format::OpenAiResponses
            && matches!(
                kind,
                "" | "\"message\"" | "\"function_call\"" | "\"custom_tool_call\""
            );
        out.push('{');
        let mut first = true;
        for (key, value) in known {
            let mut json = String::new();
            if within == Within::Message {
                let left_out = MARKS.contains(&key)
                    || matches!(value.get(), "null" | "[]" | "\"\"")
                    || named && (key == "status" || is_made_up(key, value))
                    || named && key == "type" && kind == "\"message\""
                    || kind == "\"output_text\"" && matches!(key, "annotations" | "logprobs");
                if left_out {
                    continue;
                }
                match key {
                    "content" | "output" if is_string(value) => {
                        json.push_str("[{\"text\":");
                        self.write(value, within, depth + 1, &mut json);
                        json.push_str(",\"type\":\"text\"}]");
                    }
                    "type" if matches!(kind, "\"input_text\"" | "\"output_text\"") => {
                        json.push_str("\"text\"");
                    }
                    "arguments" if is_string(value) => self.arguments(value, depth, &mut json),
                    "input" | "arguments" => {
                        let within = if is_list(value) {
                            Within::Message
                        } else {
                            Within::Data
                        };
                        self.write(value, within, depth + 1, &mut json);
                    }
                    _ => self.write(value, within, depth + 1, &mut json),
                }
            } else {
                self.write(value, within, depth + 1, &mut json);
            }
            if !first {
                out.push(',');
            }
            first = false;
            text_into(key, out);
            out.push(':');
            out.push_str(&json);
        }
        out.push('}');
    }

    /// Arguments that are a text of JSON, which some clients write anew.
    fn arguments(&self, value: &RawValue, depth: u32, out: &mut String) {
        let text = JsonPath::new("").text(value);
        let inner = text.as_deref().ok().filter(|text| text.trim_start().starts_with('{'));
        match inner.and_then(|text| serde_json::from_str::<&RawValue>(text).ok()) {
            Some(inner) => self.write(inner, Within::Data, depth + 1, out),
            None => self.write(value, Within::Data, depth + 1, out),
        }
    }
}

fn text_into(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(format: Format, one: &str, other: &str) -> bool {
        meaning(format, one) == meaning(format, other)
    }

    #[test]
    fn writings_of_one_message_are_the_same() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"b\":1,\"a\":null}"}}]}"#;
        let again = r#"{"tool_calls":[{"function":{"arguments":"{ \"a\": null, \"b\": 1 }","name":"f"},"type":"function","id":"a"}],"content":null,"role":"assistant","refusal":null,"annotations":[]}"#;
        assert!(same(Format::OpenAiChat, call, again));
        let item = r#"{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"é","annotations":[],"logprobs":[]}]}"#;
        let short = r#"{"role":"assistant","content":"\u00e9","id":"m"}"#;
        assert!(same(Format::OpenAiResponses, item, short));
        let marked = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x","cache_control":{"type":"ephemeral"}}]}"#;
        let plain = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}]}"#;
        assert!(same(Format::Anthropic, marked, plain));
    }

    #[test]
    fn what_differs_is_not_the_same() {
        let input = |input: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"f","input":{input}}}]}}"#
            )
        };
        let differs = [
            (input("{}"), input(r#"{"a":null}"#)),
            (
                input(r#"{"n":12345678901234567890123}"#),
                input(r#"{"n":12345678901234567890124}"#),
            ),
            (input(r#"{"cache_control":1}"#), input("{}")),
            (input(r#"{"a":"[]"}"#), input(r#"{"a":[]}"#)),
        ];
        for (one, other) in differs {
            assert!(!same(Format::Anthropic, &one, &other), "{one} {other}");
        }
        let thought = |id: &str| format!(r#"{{"type":"reasoning","id":"{id}","summary":[]}}"#);
        assert!(!same(Format::OpenAiResponses, &thought("a"), &thought("b")));
        let turn = |kept: &str| format!(r#"{{"role":"assistant","content":"x"{kept}}}"#);
        assert!(!same(
            Format::OpenAiChat,
            &turn(""),
            &turn(r#","reasoning_content":"y""#)
        ));
    }

    #[test]
    fn depth_does_no_harm() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let message = format!(r#"{{"role":"user","content":{deep}}}"#);
        assert!(same(Format::OpenAiChat, &message, &message));
    }
}
