//! The tokens that a provider reports, read from an answer of any of its forms.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::provider::formats::dialect;
use crate::provider::wire::Format;

/// A provider's count of a call's use, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderUsage {
    /// Input, cached tokens included.
    pub input: u64,
    /// Of which read from the cache.
    pub cache_read: u64,
    /// Of which written to the cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

/// The fields that hold each number, the first that is there; a dot leads into an object.
const INPUT: [&str; 2] = ["input_tokens", "prompt_tokens"];
const OUTPUT: [&str; 2] = ["output_tokens", "completion_tokens"];
const CACHE_READ: [&str; 3] = [
    "cache_read_input_tokens",
    "input_tokens_details.cached_tokens",
    "prompt_tokens_details.cached_tokens",
];
const CACHE_WRITE: [&str; 3] = [
    "cache_creation_input_tokens",
    "input_tokens_details.cache_write_tokens",
    "prompt_tokens_details.cache_write_tokens",
];

/// Returns the usage that the parts of an answer report, whole or streamed; parts may begin and end anywhere.
pub fn usage(format: Format, parts: &[Vec<u8>]) -> Option<ProviderUsage> {
    let mut report = Report::default();
    for part in parts {
        if let Ok(whole) = serde_json::from_slice::<Value>(part) {
            report.add(&whole["usage"]);
            continue;
        }
        for line in part.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            if !String::from_utf8_lossy(data).contains("\"usage\"") {
                continue;
            }
            let Ok(event) = serde_json::from_slice::<Value>(data) else {
                continue;
            };
            report.add(&event["usage"]);
            report.add(&event["message"]["usage"]);
            report.add(&event["response"]["usage"]);
        }
    }
    report.usage(format)
}

/// The numbers of a report; later ones stand.
#[derive(Default)]
struct Report {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Report {
    fn add(&mut self, usage: &Value) {
        self.input = number(usage, &INPUT).or(self.input);
        self.output = number(usage, &OUTPUT).or(self.output);
        self.cache_read = number(usage, &CACHE_READ).or(self.cache_read);
        self.cache_write = number(usage, &CACHE_WRITE).or(self.cache_write);
    }

    fn usage(self, format: Format) -> Option<ProviderUsage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let (read, write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let input = self.input.unwrap_or(0);
        Some(ProviderUsage {
            input: if dialect(format).cached_apart {
                input.saturating_add(read).saturating_add(write)
            } else {
                input
            },
            cache_read: read,
            cache_write: write,
            output: self.output.unwrap_or(0),
        })
    }
}

/// Returns the first of these fields that holds a number.
fn number(usage: &Value, names: &[&str]) -> Option<u64> {
    let fields = names.iter().map(|name| match name.split_once('.') {
        Some((outer, inner)) => &usage[outer][inner],
        None => &usage[*name],
    });
    fields.filter_map(Value::as_u64).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(format: Format, text: &str) -> Option<[u64; 4]> {
        let usage = usage(format, &[text.as_bytes().to_vec()])?;
        Some([
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
        ])
    }

    #[test]
    fn usage_is_read_from_whole_answers() {
        let chat = r#"{"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;
        assert_eq!(of(Format::OpenAiChat, chat), Some([9, 4, 0, 2]));
        let responses = r#"{"usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}}"#;
        assert_eq!(of(Format::OpenAiChat, responses), Some([9, 4, 3, 2]));
        let messages = r#"{"usage":{"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":4,"cache_creation_input_tokens":3}}"#;
        assert_eq!(of(Format::Anthropic, messages), Some([16, 4, 3, 2]));
        for none in [
            "",
            "{}",
            r#"{"usage":null}"#,
            "<html>",
            r#"{"usage":{"input_tokens":-1}}"#,
        ] {
            assert_eq!(of(Format::OpenAiChat, none), None, "{none}");
        }
    }

    #[test]
    fn usage_is_read_from_streams() {
        let messages = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\r\n\r\n\
                        event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":25}}\n\n";
        assert_eq!(of(Format::Anthropic, messages), Some([13, 4, 0, 25]));
        let responses = "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n\
                         data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}}\n\n";
        assert_eq!(of(Format::OpenAiChat, responses), Some([9, 0, 0, 2]));
        let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"say \\\"usage\\\"\"}}],\"usage\":null}\n\n\
                    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
        assert_eq!(of(Format::OpenAiChat, chat), Some([3, 0, 0, 1]));
        // Cut in the middle of a line, on both sides.
        let parts = vec![
            b"data: {\"message\":{\"usage\":{\"input_tokens\":9}}}\n\ndata: {\"usage\":{\"outp"
                .to_vec(),
            b"ut\"}}\n\ndata: {\"usage\":{\"output_tokens\":7}}\n\n".to_vec(),
        ];
        let found = usage(Format::Anthropic, &parts).unwrap();
        assert_eq!((found.input, found.output), (9, 7));
    }
}
