//! What a record says of a request and its answer, read from their bytes after both have gone.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value;
use tenure::trace::ProviderUsage;
use tenure::{Digest, World};

use super::Protocol;
use crate::log::bounded;

/// The largest that an answer may become when it is unpacked.
pub(super) const MAX_UNPACKED: u64 = 64 << 20;

/// The most bytes of a model's name that are kept.
const MAX_MODEL: usize = 256;
/// Texts of fewer bytes are counted sooner than found.
const SHORT: usize = 256;
/// How many prices are remembered, twice: a few MiB.
const PRICES: usize = 32 << 10;

/// What texts cost that came before: agents send their whole history each time. When the younger half is full it
/// becomes the older, which is let go.
#[derive(Default)]
pub(super) struct Prices {
    young: HashMap<Digest, u32>,
    old: HashMap<Digest, u32>,
}

impl Prices {
    fn of(&mut self, world: &World, text: &str) -> u32 {
        if text.len() < SHORT {
            return world.price(text);
        }
        let key = Digest::of_parts([world.model_name().as_bytes(), text.as_bytes()]);
        if let Some(price) = self.young.get(&key) {
            return *price;
        }
        let price = self.old.get(&key).copied();
        let price = price.unwrap_or_else(|| world.price(text));
        self.keep(key, price);
        price
    }

    fn keep(&mut self, key: Digest, price: u32) {
        if self.young.len() >= PRICES {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, price);
    }
}

/// What a request says of itself.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) model: Option<String>,
    pub(super) streamed: bool,
    pub(super) body: Value,
}

impl Asked {
    /// Reads a body; nothing of one that is not JSON.
    pub(super) fn read(body: &[u8]) -> Asked {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return Asked::default();
        };
        Asked {
            model: body["model"]
                .as_str()
                .map(|model| bounded(model, MAX_MODEL).into_owned()),
            streamed: body["stream"].as_bool().unwrap_or(false),
            body,
        }
    }

    /// Reads what says what the answer must be, alone; nothing where that cannot be told, as where a field stands twice.
    pub(super) fn demands(body: &[u8]) -> Asked {
        #[derive(Default, serde::Deserialize, serde::Serialize)]
        #[serde(default)]
        struct Demands {
            tools: Value,
            functions: Value,
            prompt: Value,
            tool_choice: Value,
            response_format: Value,
            text: Value,
            output_config: Value,
            output_format: Value,
        }
        let read = || {
            let demands: Demands = serde_json::from_slice(body).ok()?;
            let mut demands = serde_json::to_value(demands).ok()?;
            add_late_tools(body, &mut demands)?;
            Some(demands)
        };
        Asked {
            body: read().unwrap_or_default(),
            ..Asked::default()
        }
    }

    /// The tokens of its texts, tools and calls. Not of images, of what is opaque, nor of what a
    /// provider puts around messages.
    pub(super) fn tokens(&self, world: &World, prices: &mut Prices) -> u64 {
        let mut count = |text: &str| u64::from(prices.of(world, text));
        let mut total = 0;
        for part in ["system", "instructions", "messages", "input"] {
            total += texts(&self.body[part], &mut count);
        }
        for tools in ["tools", "functions"] {
            for tool in self.body[tools].as_array().into_iter().flatten() {
                total += count(&tool.to_string());
            }
        }
        total
    }
}

/// Adds the messages that offer tools to what a request demands, where they can be read.
fn add_late_tools(body: &[u8], demands: &mut Value) -> Option<()> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Messages {
        input: Value,
        messages: Value,
    }
    let words = ["\"additional_tools\"", "\"tool_addition\""];
    if !words.iter().any(|word| holds(body, word.as_bytes())) {
        return Some(());
    }
    let said: Messages = serde_json::from_slice(body).ok()?;
    for (name, mut messages) in [("input", said.input), ("messages", said.messages)] {
        if let Value::Array(all) = &mut messages {
            all.retain(|message| late_tools(message).next().is_some());
            demands[name] = messages;
        }
    }
    Some(())
}

/// The tools that a message offers: OpenAI's in an item of their own, Anthropic's in blocks of a message of the system.
pub(super) fn late_tools(message: &Value) -> impl Iterator<Item = &Value> {
    let own = Some(message).filter(|message| message["type"] == "additional_tools");
    let own = own.and_then(|message| message["tools"].as_array());
    let system = Some(message).filter(|message| message["role"] == "system");
    let blocks = system.and_then(|message| message["content"].as_array());
    let added = blocks
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "tool_addition")
        .map(|block| &block["tool"]["definition"]);
    own.into_iter().flatten().chain(added)
}

/// The tokens of the texts in a value.
fn texts(value: &Value, count: &mut impl FnMut(&str) -> u64) -> u64 {
    match value {
        Value::String(text) => count(text),
        Value::Array(items) => items.iter().map(|item| texts(item, count)).sum(),
        Value::Object(fields) => {
            let each = fields
                .iter()
                .map(|(name, value)| match (name.as_str(), value) {
                    // What a call says, which stands as JSON in the prompt.
                    ("input" | "arguments", Value::Object(_)) => count(&value.to_string()),
                    (
                        "content" | "text" | "thinking" | "output" | "summary" | "arguments"
                        | "name" | "input" | "function" | "tool_calls" | "function_call"
                        | "refusal" | "title" | "context",
                        value,
                    ) => texts(value, count),
                    // A document may be a text; all else there is a picture or a file.
                    ("source", source) if source["type"] == "text" => texts(&source["data"], count),
                    ("source", source) if source["type"] == "content" => {
                        texts(&source["content"], count)
                    }
                    _ => 0,
                });
            each.sum()
        }
        _ => 0,
    }
}

/// The parts of an answer that were kept, unpacked as far as `most` bytes; none where they cannot be.
pub(super) fn plain(encoding: Option<&str>, parts: Vec<Vec<u8>>, most: u64) -> Vec<Vec<u8>> {
    match encoding {
        None | Some("identity") => parts,
        // The end of a packed text cannot be read without its beginning.
        Some(encoding) if parts.len() == 1 => {
            unpacked(encoding, &parts[0], most).into_iter().collect()
        }
        Some(_) => Vec::new(),
    }
}

/// What the provider says it used, from the parts of an answer.
pub(super) fn usage(protocol: Protocol, parts: &[Vec<u8>]) -> Option<ProviderUsage> {
    let mut found = Said::default();
    for part in parts {
        if let Ok(whole) = serde_json::from_slice::<Value>(part) {
            found.add(&whole["usage"]);
            continue;
        }
        for line in part.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            if !holds(data, b"\"usage\"") {
                continue;
            }
            let Ok(event) = serde_json::from_slice::<Value>(data) else {
                continue;
            };
            for value in [
                &event["usage"],
                &event["message"]["usage"],
                &event["response"]["usage"],
            ] {
                found.add(value);
            }
        }
    }
    found.usage(protocol)
}

fn holds(data: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(data, word).is_some()
}

fn unpacked(encoding: &str, packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let read = match encoding.trim().to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => flate2::read::MultiGzDecoder::new(packed)
            .take(most)
            .read_to_end(&mut plain),
        "deflate" => flate2::read::ZlibDecoder::new(packed)
            .take(most)
            .read_to_end(&mut plain),
        "zstd" => ruzstd::decoding::StreamingDecoder::new(packed)
            .ok()?
            .take(most)
            .read_to_end(&mut plain),
        _ => return None,
    };
    // What came before an answer broke off is still worth reading.
    (read.is_ok() || !plain.is_empty()).then_some(plain)
}

/// Numbers as providers say them; what is said later stands.
#[derive(Default)]
struct Said {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

impl Said {
    fn add(&mut self, usage: &Value) {
        let number = |names: &[&str]| {
            let found = names.iter().map(|name| match name.split_once('.') {
                Some((outer, inner)) => &usage[outer][inner],
                None => &usage[*name],
            });
            found.filter_map(Value::as_u64).next()
        };
        let say = |field: &mut Option<u64>, said: Option<u64>| *field = said.or(*field);
        say(&mut self.input, number(&["input_tokens", "prompt_tokens"]));
        say(
            &mut self.output,
            number(&["output_tokens", "completion_tokens"]),
        );
        say(
            &mut self.cache_read,
            number(&[
                "cache_read_input_tokens",
                "input_tokens_details.cached_tokens",
                "prompt_tokens_details.cached_tokens",
            ]),
        );
        say(
            &mut self.cache_write,
            number(&[
                "cache_creation_input_tokens",
                "input_tokens_details.cache_write_tokens",
                "prompt_tokens_details.cache_write_tokens",
            ]),
        );
    }

    fn usage(self, protocol: Protocol) -> Option<ProviderUsage> {
        if self.input.is_none() && self.output.is_none() {
            return None;
        }
        let (read, write) = (self.cache_read.unwrap_or(0), self.cache_write.unwrap_or(0));
        let input = self.input.unwrap_or(0);
        Some(ProviderUsage {
            // Anthropic counts what the cache did beside the input, OpenAI within it.
            input: match protocol {
                Protocol::Anthropic => input.saturating_add(read).saturating_add(write),
                Protocol::OpenAi | Protocol::Google => input,
            },
            cache_read: read,
            cache_write: write,
            output: self.output.unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tenure::FrameKey;

    fn of(protocol: Protocol, text: &str) -> Option<[u64; 4]> {
        let usage = usage(protocol, &[text.as_bytes().to_vec()])?;
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
        assert_eq!(of(Protocol::OpenAi, chat), Some([9, 4, 0, 2]));
        let responses = r#"{"usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":3}}}"#;
        assert_eq!(of(Protocol::OpenAi, responses), Some([9, 4, 3, 2]));
        let messages = r#"{"usage":{"input_tokens":9,"output_tokens":2,"cache_read_input_tokens":4,"cache_creation_input_tokens":3}}"#;
        assert_eq!(of(Protocol::Anthropic, messages), Some([16, 4, 3, 2]));
        for none in [
            "",
            "{}",
            r#"{"usage":null}"#,
            "<html>",
            r#"{"usage":{"input_tokens":-1}}"#,
        ] {
            assert_eq!(of(Protocol::OpenAi, none), None, "{none}");
        }
    }

    #[test]
    fn usage_is_read_from_streams() {
        let messages = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":4,\"output_tokens\":1}}}\r\n\r\n\
                        event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":25}}\n\n";
        assert_eq!(of(Protocol::Anthropic, messages), Some([13, 4, 0, 25]));
        let responses = "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n\
                         data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}}\n\n";
        assert_eq!(of(Protocol::OpenAi, responses), Some([9, 0, 0, 2]));
        let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"say \\\"usage\\\"\"}}],\"usage\":null}\n\n\
                    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
        assert_eq!(of(Protocol::OpenAi, chat), Some([3, 0, 0, 1]));
        // Cut in the middle of a line, on both sides.
        let parts = vec![
            b"data: {\"message\":{\"usage\":{\"input_tokens\":9}}}\n\ndata: {\"usage\":{\"outp"
                .to_vec(),
            b"ut\"}}\n\ndata: {\"usage\":{\"output_tokens\":7}}\n\n".to_vec(),
        ];
        let found = usage(Protocol::Anthropic, &parts).unwrap();
        assert_eq!((found.input, found.output), (9, 7));
    }

    #[test]
    fn usage_is_read_from_packed_answers() {
        let text = br#"{"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        let packed = gzip.finish().unwrap();
        let found = usage(
            Protocol::OpenAi,
            &plain(Some("gzip"), vec![packed.clone()], 1 << 10),
        )
        .unwrap();
        assert_eq!((found.input, found.output), (9, 2));
        assert!(
            usage(
                Protocol::OpenAi,
                &plain(Some("br"), vec![packed.clone()], 1 << 10)
            )
            .is_none()
        );
        assert!(
            usage(
                Protocol::OpenAi,
                &plain(Some("gzip"), vec![packed.clone(), packed], 1 << 10)
            )
            .is_none()
        );
        // A text that unpacks to far more than was sent is read up to a limit only.
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let zeros = vec![0; 1 << 20];
        for _ in 0..80 {
            bomb.write_all(&zeros).unwrap();
        }
        let bomb = bomb.finish().unwrap();
        for most in [MAX_UNPACKED, 1 << 20] {
            let plain = plain(Some("gzip"), vec![bomb.clone()], most);
            assert_eq!((plain.len(), plain[0].len() as u64), (1, most));
        }
    }

    #[test]
    fn the_texts_of_a_request_are_counted() {
        let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
        let count = |text: &str| u64::from(world.price(text));
        let asked = Asked::read(
            br#"{"model":"gpt-4o","stream":true,"messages":[
                {"role":"system","content":"Be brief."},
                {"role":"user","content":[
                    {"type":"text","text":"What is this?"},
                    {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"}}]},
                {"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"look","arguments":"{\"at\":1}"}}]},
                {"role":"tool","tool_call_id":"call_1","content":"a cat"}]}"#,
        );
        assert_eq!(asked.model.as_deref(), Some("gpt-4o"));
        assert!(asked.streamed);
        let texts = ["Be brief.", "What is this?", "look", "{\"at\":1}", "a cat"];
        let expected: u64 = texts.iter().map(|text| count(text)).sum();
        assert_eq!(asked.tokens(&world, &mut Prices::default()), expected);

        let asked = Asked::read(
            br#"{"model":"claude","system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
                "tools":[{"name":"look"}],
                "messages":[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"look","input":{"at":1}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a cat"},
                {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAAAAAA"}}]}]}]}"#,
        );
        let texts = [
            "Be brief.",
            "{\"name\":\"look\"}",
            "look",
            "{\"at\":1}",
            "a cat",
        ];
        let expected: u64 = texts.iter().map(|text| count(text)).sum();
        assert_eq!(asked.tokens(&world, &mut Prices::default()), expected);
        let demands =
            Asked::demands(br#"{"messages":[1],"tools":[{"name":"look"}],"text":{"format":{}}}"#);
        assert_eq!(demands.body["tools"][0]["name"], "look");
        assert!(demands.body["text"]["format"].is_object());
        assert!(demands.body["messages"].is_null());
        let broken = Asked::read(b"{\"model\": \"gpt-4o\", \xff");
        assert!(broken.model.is_none() && broken.tokens(&world, &mut Prices::default()) == 0);
    }

    #[test]
    fn a_text_that_came_before_costs_what_it_did() {
        let workspace = tenure_workspace::Workspace::new(tenure::FrameKey::new("test", [7; 32]));
        let workspace = workspace.unwrap();
        let worlds = ["gpt-4o", "gpt-4"].map(|model| workspace.world(model).unwrap());
        let long = |at: usize| format!("Pump {at} is warm, unlike the others. ").repeat(9);
        let mut prices = Prices::default();
        for world in worlds.iter().chain(&worlds) {
            for text in ["", "short", &long(1), &long(2)] {
                assert_eq!(prices.of(world, text), world.price(text), "{text}");
            }
        }
        assert_eq!((prices.young.len(), prices.old.len()), (4, 0));
        // What is asked for again stays, however much comes between.
        for at in 0..3 * PRICES {
            prices.keep(Digest::of(&at.to_le_bytes()), 0);
            prices.of(&worlds[0], &long(1));
            assert!(prices.young.len() <= PRICES && prices.old.len() <= PRICES);
        }
        let first = &worlds[0];
        let key = Digest::of_parts([first.model_name().as_bytes(), long(1).as_bytes()]);
        assert!(prices.young.contains_key(&key));
    }
}
