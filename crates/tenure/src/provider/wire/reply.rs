//! A provider's answer as the message that its client sends back: taken out of a whole answer, or put
//! together from the events of a stream.
//!
//! What was given whole keeps its bytes. An answer that is not at its end makes no message.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::Format;
use super::json::{Fields, Place, is_list};
use crate::base::error::Error;

/// The message in a whole answer: for the responses format the items of the turn, with commas between.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no answer of this form, is not at its end, or
/// offers several messages to choose from.
///
/// ```
/// use tenure::wire::{Format, reply};
/// let answer = r#"{"id":"c","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Hi.","refusal":null}}]}"#;
/// assert_eq!(reply(Format::OpenAiChat, answer)?, r#"{"role":"assistant","content":"Hi."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn reply(format: Format, answer: &str) -> Result<String, Error> {
    let place = Place::new("answer");
    let whole = json(&place, answer)?;
    let fields = place.fields(whole)?;
    match format {
        Format::OpenAiChat => {
            let choices = place.key("choices");
            let message = only_choice(&choices, &fields)?
                .and_then(|choice| choice.get("message"))
                .ok_or_else(|| choices.wrong("there is no message", "one choice with a message"))?;
            let mut message: Vec<(String, String)> = choices
                .fields(message)?
                .iter()
                .filter(|(key, value)| *key != "role" && !is_empty(value))
                .map(|(key, value)| (key.to_owned(), value.get().to_owned()))
                .collect();
            message.insert(0, ("role".into(), "\"assistant\"".into()));
            Ok(object(&message))
        }
        Format::Anthropic => match fields.get("content").filter(|content| is_list(content)) {
            Some(content) if fields.get("stop_reason").is_some() => Ok(assistant(content.get())),
            Some(_) => Err(unfinished(&place)),
            None => Err(place.wrong("there is no content", "a list of blocks")),
        },
        Format::OpenAiResponses => output(&place, &fields),
        Format::Gemini => Err(unknown()),
    }
}

/// The message that the events of a stream make: the text as it was sent, with `data:` lines.
///
/// # Errors
///
/// As [`reply`], and when the stream holds an event that says that the answer failed, or a piece of a
/// kind that is not known.
///
/// ```
/// use tenure::wire::{Format, streamed_reply};
/// let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"It \"}}]}\n\n\
///     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"runs.\"},\"finish_reason\":\"stop\"}]}\n\n\
///     data: [DONE]\n\n";
/// assert_eq!(streamed_reply(Format::OpenAiChat, events)?, r#"{"role":"assistant","content":"It runs."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn streamed_reply(format: Format, events: &str) -> Result<String, Error> {
    let mut stream: Box<dyn Stream> = match format {
        Format::OpenAiChat => Box::new(Chat::default()),
        Format::Anthropic => Box::new(Blocks::default()),
        Format::OpenAiResponses => Box::new(Items::default()),
        Format::Gemini => return Err(unknown()),
    };
    for (at, data) in data(events).enumerate() {
        if data.trim() == "[DONE]" {
            break;
        }
        let place = Place::new("events").at(at);
        let event = json(&place, &data)?;
        let fields = place.fields(event)?;
        if fields.get("error").is_some() {
            return Err(place.wrong("the answer failed", "an answer that came to its end"));
        }
        stream.take(&place, &fields)?;
    }
    stream.end(&Place::new("events"))
}

fn unknown() -> Error {
    Error::unsupported("answers of this format")
}

fn json<'t>(place: &Place, text: &'t str) -> Result<&'t RawValue, Error> {
    serde_json::from_str(text)
        .map_err(|error| place.wrong(format!("not JSON: {error}"), "what a provider answers"))
}

fn unfinished(place: &Place) -> Error {
    place.wrong("the answer is not at its end", "a whole answer")
}

fn is_empty(value: &RawValue) -> bool {
    matches!(value.get(), "null" | "[]")
}

fn object(fields: &[(String, String)]) -> String {
    let fields = fields
        .iter()
        .map(|(key, value)| format!("{}:{value}", text(key)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn assistant(content: &str) -> String {
    format!("{{\"role\":\"assistant\",\"content\":{content}}}")
}

/// The data of the events, one after the other.
fn data(events: &str) -> impl Iterator<Item = String> {
    let mut lines = events.lines();
    std::iter::from_fn(move || {
        let mut data: Option<String> = None;
        for line in lines.by_ref() {
            match line.strip_prefix("data:") {
                Some(more) => {
                    let more = more.strip_prefix(' ').unwrap_or(more);
                    match &mut data {
                        Some(data) => {
                            data.push('\n');
                            data.push_str(more);
                        }
                        None => data = Some(more.to_owned()),
                    }
                }
                None if line.is_empty() && data.is_some() => break,
                None => {}
            }
        }
        data
    })
}

/// The one choice that there is; none where an event has none.
fn only_choice<'a>(place: &Place, fields: &Fields<'a>) -> Result<Option<Fields<'a>>, Error> {
    let Some(choices) = fields.get("choices") else {
        return Ok(None);
    };
    match place.list(choices)?.as_slice() {
        [] => Ok(None),
        [choice] => {
            let choice = place.fields(choice)?;
            match choice.get("index").map(RawValue::get) {
                None | Some("0") => Ok(Some(choice)),
                Some(_) => Err(several(place)),
            }
        }
        _ => Err(several(place)),
    }
}

fn several(place: &Place) -> Error {
    place.wrong("there are several choices", "one")
}

/// A stream in the taking.
trait Stream {
    fn take(&mut self, place: &Place, event: &Fields<'_>) -> Result<(), Error>;
    fn end(self: Box<Self>, place: &Place) -> Result<String, Error>;
}

// --- OpenAI chat ----------------------------------------------------------------------------------

/// A chat message: texts that grow, calls by their index, and what comes whole.
#[derive(Default)]
struct Chat {
    /// In the order of their first pieces.
    fields: Vec<(String, Growing)>,
    finished: bool,
}

/// A value of which pieces come.
enum Growing {
    Text(String),
    /// Lists by the index of their parts.
    Parts(BTreeMap<u64, Vec<(String, Growing)>>),
    /// Several that came whole.
    Whole(String),
    Object(Vec<(String, Growing)>),
}

impl Stream for Chat {
    fn take(&mut self, place: &Place, event: &Fields<'_>) -> Result<(), Error> {
        let place = place.key("choices");
        let Some(choice) = only_choice(&place, event)? else {
            return Ok(());
        };
        if let Some(delta) = choice.get("delta") {
            let place = place.key("delta");
            grow(&place, &mut self.fields, &place.fields(delta)?, 0)?;
        }
        self.finished |= choice.get("finish_reason").is_some();
        Ok(())
    }

    fn end(self: Box<Self>, place: &Place) -> Result<String, Error> {
        if !self.finished {
            return Err(unfinished(place));
        }
        let mut message = vec![("role".to_owned(), "\"assistant\"".to_owned())];
        let fields = self.fields.iter().filter(|(key, _)| key != "role");
        message.extend(
            fields
                .map(|(key, value)| (key.clone(), value.json()))
                .filter(|(_, json)| !matches!(json.as_str(), "[]" | "\"\"")),
        );
        Ok(object(&message))
    }
}

/// So deep may a piece be nested.
const DEEPEST: usize = 64;

/// Adds the pieces of a delta.
fn grow(
    place: &Place,
    fields: &mut Vec<(String, Growing)>,
    delta: &Fields<'_>,
    deep: usize,
) -> Result<(), Error> {
    if deep > DEEPEST {
        return Err(place.wrong("a piece is nested too deep", "at most 64 levels"));
    }
    for (key, piece) in delta.iter() {
        let place = place.key(key);
        if piece.get() == "null" {
            continue;
        }
        let known = fields.iter_mut().find(|(known, _)| known == key);
        let first = piece.get().as_bytes().first();
        let value = match (known, first) {
            // Said once, however often it is repeated.
            (Some((_, Growing::Text(_))), Some(b'"')) if matches!(key, "role" | "id" | "type") => {
                continue;
            }
            (Some((_, Growing::Text(text))), Some(b'"')) => {
                text.push_str(&place.text(piece)?);
                continue;
            }
            (Some((_, Growing::Object(known))), Some(b'{')) => {
                grow(&place, known, &place.fields(piece)?, deep + 1)?;
                continue;
            }
            (Some((_, Growing::Parts(known))), Some(b'[')) => {
                parts(&place, known, piece, deep + 1)?;
                continue;
            }
            (Some((_, known)), _) => {
                *known = Growing::Whole(piece.get().to_owned());
                continue;
            }
            (None, Some(b'"')) => Growing::Text(place.text(piece)?),
            (None, Some(b'{')) => {
                let mut inner = Vec::new();
                grow(&place, &mut inner, &place.fields(piece)?, deep + 1)?;
                Growing::Object(inner)
            }
            (None, Some(b'[')) => {
                let mut known = BTreeMap::new();
                parts(&place, &mut known, piece, deep + 1)?;
                Growing::Parts(known)
            }
            (None, _) => Growing::Whole(piece.get().to_owned()),
        };
        fields.push((key.to_owned(), value));
    }
    Ok(())
}

fn parts(
    place: &Place,
    known: &mut BTreeMap<u64, Vec<(String, Growing)>>,
    list: &RawValue,
    deep: usize,
) -> Result<(), Error> {
    for (at, part) in place.list(list)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(part)?;
        let index = fields.get("index").and_then(|at| at.get().parse().ok());
        let index = index.ok_or_else(|| place.wrong("a piece has no index", "`index`"))?;
        grow(&place, known.entry(index).or_default(), &fields, deep + 1)?;
    }
    Ok(())
}

impl Growing {
    fn json(&self) -> String {
        let fields = |fields: &[(String, Growing)]| {
            let fields = fields.iter().filter(|(key, _)| key != "index");
            object(
                &fields
                    .map(|(key, value)| (key.clone(), value.json()))
                    .collect::<Vec<_>>(),
            )
        };
        match self {
            Growing::Text(said) => text(said),
            Growing::Whole(json) => json.clone(),
            Growing::Object(inner) => fields(inner),
            Growing::Parts(parts) => {
                let parts: Vec<String> = parts.values().map(|part| fields(part)).collect();
                format!("[{}]", parts.join(","))
            }
        }
    }
}

// --- Anthropic ------------------------------------------------------------------------------------

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

    fn take(&mut self, place: &Place, delta: &Fields<'_>) -> Result<(), Error> {
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

    fn end(mut self, place: &Place) -> Result<String, Error> {
        if !self.stopped {
            return Err(unfinished(place));
        }
        for (key, more) in std::mem::take(&mut self.texts) {
            let known = self.fields.iter().find(|(known, _)| known == key);
            let begun = known.and_then(|(_, json)| serde_json::from_str::<String>(json).ok());
            self.set(key, text(&(begun.unwrap_or_default() + &more)));
        }
        if !self.input.is_empty() {
            let input = json(place, &self.input)?.get().to_owned();
            self.set("input", input);
        }
        if !self.citations.is_empty() {
            let known = self.fields.iter().find(|(key, _)| key == "citations");
            let begun = known.map_or("", |(_, json)| json.as_str());
            let begun = begun
                .strip_prefix('[')
                .and_then(|json| json.strip_suffix(']'));
            let begun = begun.filter(|json| !json.trim().is_empty());
            let all: Vec<&str> = begun
                .into_iter()
                .chain(self.citations.iter().map(String::as_str))
                .collect();
            let all = format!("[{}]", all.join(","));
            self.set("citations", all);
        }
        Ok(object(&self.fields))
    }
}

impl Stream for Blocks {
    fn take(&mut self, place: &Place, event: &Fields<'_>) -> Result<(), Error> {
        let kind = place.maybe(event, "type")?;
        let index = || {
            let index = event.get("index").and_then(|at| at.get().parse().ok());
            index.ok_or_else(|| place.wrong("an event has no index", "`index`"))
        };
        match kind.as_deref() {
            Some("content_block_start") => {
                let block = event.get("content_block");
                let block = block.ok_or_else(|| place.wrong("there is no block", "a block"))?;
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
                let begun = self.blocks.get_mut(&index()?);
                let block =
                    begun.ok_or_else(|| place.wrong("a block did not begin", "its beginning"))?;
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

    fn end(self: Box<Self>, place: &Place) -> Result<String, Error> {
        if !self.stopped {
            return Err(unfinished(place));
        }
        let blocks = self.blocks.into_values().map(|block| block.end(place));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        Ok(assistant(&format!("[{}]", blocks.join(","))))
    }
}

// --- OpenAI responses -----------------------------------------------------------------------------

/// The items of a turn, as each was done.
#[derive(Default)]
struct Items {
    done: BTreeMap<u64, String>,
    /// What the last event says that they are.
    last: Option<String>,
    finished: bool,
}

impl Stream for Items {
    fn take(&mut self, place: &Place, event: &Fields<'_>) -> Result<(), Error> {
        match place.maybe(event, "type")?.as_deref() {
            Some("response.output_item.done") => {
                let index = event.get("output_index");
                let index = index.and_then(|index| index.get().parse().ok());
                if let (Some(index), Some(item)) = (index, event.get("item")) {
                    self.done.insert(index, item.get().to_owned());
                }
            }
            Some("response.completed" | "response.incomplete") => {
                self.finished = true;
                if let (true, Some(response)) = (self.done.is_empty(), event.get("response")) {
                    let place = place.key("response");
                    self.last = Some(output(&place, &place.fields(response)?)?);
                }
            }
            Some("response.failed" | "response.cancelled" | "error") => {
                return Err(place.wrong("the answer failed", "a whole answer"));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(self: Box<Self>, place: &Place) -> Result<String, Error> {
        if !self.finished {
            return Err(unfinished(place));
        }
        let done: Vec<String> = self.done.into_values().collect();
        self.last
            .or_else(|| Some(done.join(",")))
            .filter(|items| !items.is_empty())
            .ok_or_else(|| place.wrong("there are no items", "at least one"))
    }
}

/// The items of a whole response.
fn output(place: &Place, fields: &Fields<'_>) -> Result<String, Error> {
    let status = place.maybe(fields, "status")?;
    if !matches!(status.as_deref(), None | Some("completed" | "incomplete")) {
        return Err(unfinished(place));
    }
    let place = place.key("output");
    let items = match fields.get("output") {
        Some(output) => place.list(output)?,
        None => Vec::new(),
    };
    if items.is_empty() {
        return Err(place.wrong("there are no items", "at least one"));
    }
    let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
    Ok(items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_its_message() {
        let chat = r#"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"role":"assistant","annotations":[],
            "tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 12345678901234567890}"}}]}}]}"#;
        assert_eq!(
            reply(Format::OpenAiChat, chat).unwrap(),
            r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 12345678901234567890}"}}]}"#
        );
        let content =
            r#"[{"type":"thinking","thinking":"Hm.","signature":"c2ln"}, {"type":"new","x":1.50}]"#;
        let message = format!(r#"{{"content":{content},"stop_reason":"end_turn"}}"#);
        assert_eq!(
            reply(Format::Anthropic, &message).unwrap(),
            format!(r#"{{"role":"assistant","content":{content}}}"#)
        );
        let response = r#"{"status":"completed","output":[{"type":"reasoning","id":"r"}, {"type":"message","role":"assistant","content":[]}]}"#;
        assert_eq!(
            reply(Format::OpenAiResponses, response).unwrap(),
            r#"{"type":"reasoning","id":"r"},{"type":"message","role":"assistant","content":[]}"#
        );
    }

    #[test]
    fn what_is_no_whole_answer_makes_no_message() {
        let two =
            r#"{"choices":[{"message":{"role":"assistant"}},{"message":{"role":"assistant"}}]}"#;
        for (format, text) in [
            (Format::OpenAiChat, two),
            (Format::OpenAiChat, r#"{"error":{"message":"no"}}"#),
            (Format::OpenAiChat, "Bad gateway"),
            (Format::Anthropic, r#"{"content":[],"stop_reason":null}"#),
            (Format::Anthropic, r#"{"type":"error"}"#),
            (
                Format::OpenAiResponses,
                r#"{"status":"queued","output":[{}]}"#,
            ),
            (
                Format::OpenAiResponses,
                r#"{"status":"completed","output":[]}"#,
            ),
            (Format::Gemini, "{}"),
        ] {
            assert!(reply(format, text).is_err(), "{text}");
        }
    }

    fn sse(events: &[&str]) -> String {
        let events = events.iter().map(|event| format!("data: {event}\n\n"));
        events.collect()
    }

    #[test]
    fn a_chat_message_grows() {
        let events = [
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"H"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"m","content":"He"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"llo é","tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"go","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"b","function":{"arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        ];
        let all = sse(&events) + "data: [DONE]\n\n";
        assert_eq!(
            streamed_reply(Format::OpenAiChat, &all).unwrap(),
            r#"{"role":"assistant","reasoning_content":"Hm","content":"Hello é","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}},{"id":"b","type":"function","function":{"name":"go","arguments":"{}"}}]}"#
        );
        // Without its end it is none.
        assert!(streamed_reply(Format::OpenAiChat, &sse(&events[..5])).is_err());
        let failed = sse(&events[..2]) + "data: {\"error\":{\"message\":\"no\"}}\n\n";
        assert!(streamed_reply(Format::OpenAiChat, &failed).is_err());
        // However deep a piece is nested, it is refused and not followed.
        let deep = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
        let deep = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{deep}}}]}}\n\n");
        let error = streamed_reply(Format::OpenAiChat, &deep).unwrap_err();
        assert!(error.to_string().contains("too deep"), "{error}");
    }

    #[test]
    fn blocks_grow_and_keep_what_they_began_with() {
        let events = [
            r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_made","odd":1.50}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\": 123456789"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"01234567890}"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        assert_eq!(
            streamed_reply(Format::Anthropic, &sse(&events)).unwrap(),
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"server_made","odd":1.50},{"type":"tool_use","id":"t","name":"look","input":{"n": 12345678901234567890}}]}"#
        );
        for end in 1..events.len() {
            assert!(streamed_reply(Format::Anthropic, &sse(&events[..end])).is_err());
        }
        let strange = [
            events[1],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_stop"}"#,
        ];
        assert!(streamed_reply(Format::Anthropic, &sse(&strange)).is_err());
    }

    #[test]
    fn items_are_those_that_were_done() {
        let reasoning = r#"{"type":"reasoning","id":"r","encrypted_content":"xx","summary":[]}"#;
        let call =
            r#"{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{}"}"#;
        let done = |at: u32, item: &str| {
            format!(r#"{{"type":"response.output_item.done","output_index":{at},"item":{item}}}"#)
        };
        let end = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
        let all = sse(&[&done(1, call), &done(0, reasoning), end]);
        assert_eq!(
            streamed_reply(Format::OpenAiResponses, &all).unwrap(),
            format!("{reasoning},{call}")
        );
        let last = format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","output":[{call}]}}}}"#
        );
        assert_eq!(
            streamed_reply(Format::OpenAiResponses, &sse(&[&last])).unwrap(),
            call
        );
        let cut = sse(&[&done(0, reasoning)]);
        assert!(streamed_reply(Format::OpenAiResponses, &cut).is_err());
        let failed = sse(&[
            &done(0, call),
            r#"{"type":"response.failed","response":{}}"#,
        ]);
        assert!(streamed_reply(Format::OpenAiResponses, &failed).is_err());
    }
}
