//! The answers of the Anthropic messages API as the message that their client sends back.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::provider::wire::json::{Fields, JsonPath, is_list};
use crate::provider::wire::stream::{Stream, json, object, text, unfinished};

/// The message in a whole answer.
pub(super) fn whole(place: &JsonPath, fields: &Fields<'_>) -> Result<String, Error> {
    match fields.get("content").filter(|content| is_list(content)) {
        Some(content) if fields.get("stop_reason").is_some() => Ok(assistant(content.get())),
        Some(_) => Err(unfinished(place)),
        None => Err(place.wrong("there is no content", "a list of blocks")),
    }
}

/// Returns a stream from its beginning.
pub(super) fn stream() -> Box<dyn Stream> {
    Box::new(Blocks::default())
}

fn assistant(content: &str) -> String {
    format!("{{\"role\":\"assistant\",\"content\":{content}}}")
}

/// The blocks of a message.
#[derive(Default)]
struct Blocks {
    blocks: BTreeMap<u64, Block>,
    stopped: bool,
}

#[derive(Default)]
struct Block {
    /// As it began, in order.
    fields: Vec<(String, String)>,
    /// Texts that grew, by their keys.
    texts: BTreeMap<&'static str, String>,
    input: String,
    citations: Vec<String>,
    stopped: bool,
}

impl Block {
    fn set(&mut self, key: &str, json: String) {
        match self.fields.iter_mut().find(|(known, _)| known == key) {
            Some((_, value)) => *value = json,
            None => self.fields.push((key.to_owned(), json)),
        }
    }

    fn take(&mut self, place: &JsonPath, delta: &Fields<'_>) -> Result<(), Error> {
        let kind = place.needed(delta, "type")?;
        let key = match kind.as_str() {
            "text_delta" => "text",
            "thinking_delta" => "thinking",
            "input_json_delta" => {
                self.input.push_str(&place.needed(delta, "partial_json")?);
                return Ok(());
            }
            "signature_delta" => {
                self.set("signature", text(&place.needed(delta, "signature")?));
                return Ok(());
            }
            "citations_delta" => {
                let citation = delta.get("citation").map(RawValue::get);
                self.citations.extend(citation.map(str::to_owned));
                return Ok(());
            }
            "compaction_delta" => {
                for (key, value) in delta.iter().filter(|(key, _)| *key != "type") {
                    if value.get() != "null" {
                        self.set(key, value.get().to_owned());
                    }
                }
                return Ok(());
            }
            _ => return Err(place.wrong("a piece of an unknown kind", "one that is known")),
        };
        let more = place.needed(delta, key)?;
        self.texts.entry(key).or_default().push_str(&more);
        Ok(())
    }

    fn end(mut self, place: &JsonPath) -> Result<String, Error> {
        if !self.stopped {
            return Err(unfinished(place));
        }
        for (key, more) in std::mem::take(&mut self.texts) {
            let known = self.fields.iter().find(|(known, _)| known == key);
            let start = known.and_then(|(_, json)| serde_json::from_str::<String>(json).ok());
            self.set(key, text(&(start.unwrap_or_default() + &more)));
        }
        if !self.input.is_empty() {
            let input = json(place, &self.input)?.get().to_owned();
            self.set("input", input);
        }
        if !self.citations.is_empty() {
            let known = self.fields.iter().find(|(key, _)| key == "citations");
            let start = known
                .map_or("", |(_, json)| json.as_str())
                .strip_prefix('[')
                .and_then(|json| json.strip_suffix(']'))
                .filter(|json| !json.trim().is_empty());
            let all: Vec<&str> =
                start.into_iter().chain(self.citations.iter().map(String::as_str)).collect();
            let all = format!("[{}]", all.join(","));
            self.set("citations", all);
        }
        Ok(object(&self.fields))
    }
}

impl Stream for Blocks {
    fn take(&mut self, place: &JsonPath, event: &Fields<'_>) -> Result<(), Error> {
        let kind = place.maybe(event, "type")?;
        let index = || {
            event
                .get("index")
                .and_then(|at| at.get().parse().ok())
                .ok_or_else(|| place.wrong("an event has no index", "`index`"))
        };
        match kind.as_deref() {
            Some("content_block_start") => {
                let block = event
                    .get("content_block")
                    .ok_or_else(|| place.wrong("there is no block", "a block"))?;
                let fields = place.fields(block)?;
                let block = Block {
                    fields: fields
                        .iter()
                        .map(|(key, value)| (key.to_owned(), value.get().to_owned()))
                        .collect(),
                    ..Block::default()
                };
                self.blocks.insert(index()?, block);
            }
            Some(kind @ ("content_block_delta" | "content_block_stop")) => {
                let block = self
                    .blocks
                    .get_mut(&index()?)
                    .ok_or_else(|| place.wrong("a block did not begin", "its beginning"))?;
                if kind == "content_block_stop" {
                    block.stopped = true;
                } else if let Some(delta) = event.get("delta") {
                    let place = place.key("delta");
                    block.take(&place, &place.fields(delta)?)?;
                }
            }
            Some("message_stop") => self.stopped = true,
            Some("error") => return Err(place.wrong("the answer failed", "a whole answer")),
            _ => {}
        }
        Ok(())
    }

    fn end(self: Box<Self>, place: &JsonPath) -> Result<String, Error> {
        if !self.stopped {
            return Err(unfinished(place));
        }
        let blocks = self
            .blocks
            .into_values()
            .map(|block| block.end(place))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(assistant(&format!("[{}]", blocks.join(","))))
    }
}
