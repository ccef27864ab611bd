//! From a request, or its bare array of messages, to entries and objects.

use serde_json::value::RawValue;

use super::json::{Fields, JsonPath, is_list, is_string};
use super::namer::Namer;
use super::parsed::{Messages, Parsed, Part};
use super::{Conversation, Entry, Format, tools};
use crate::base::error::Error;
use crate::object::{ObjectDocument, Role};
use crate::provider::formats::dialect;
use crate::provider::openai_responses;

/// Reads a request, or its bare array of messages (`messages`, `input`, `contents`).
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) naming the place: when it is no JSON of this form, a
/// key stands twice, a text is not valid Unicode, or a call has no name.
pub fn read(format: Format, json: &str) -> Result<Conversation, Error> {
    read_after(format, json, &[])
}

/// Reads what follows `earlier`: names go on counting, and results whose provider names no calls
/// answer those that are open at its end.
///
/// # Errors
///
/// As [`read`].
pub fn read_after(
    format: Format,
    json: &str,
    earlier: &[&ObjectDocument],
) -> Result<Conversation, Error> {
    let whole: &RawValue = serde_json::from_str(json).map_err(|error| {
        Error::input(format!("not JSON: {error}"))
            .expected(format!("the body of a request, or its messages ({format})"))
    })?;
    let mut namer = Namer::after(earlier);
    let mut conversation = Conversation {
        format,
        instructions: Vec::new(),
        tools: Vec::new(),
        server_tools: Vec::new(),
        entries: Vec::new(),
        rest: Vec::new(),
    };
    let dialect = dialect(format);
    let key = dialect.messages;
    if is_list(whole) {
        let messages = JsonPath::new(key).list(whole)?;
        take_messages(&mut conversation, &messages, &mut namer)?;
        return Ok(conversation);
    }
    let place = JsonPath::new("body");
    let fields = place.fields(whole)?;
    let root = JsonPath::new(key);
    let list = fields.get(key).ok_or_else(|| {
        let error = place.wrong(
            format!("`{key}` is missing"),
            &format!("the messages under `{key}`"),
        );
        match detect(json) {
            Some(other) if other != format => error.hint(format!("this looks like {other}")),
            _ => error,
        }
    })?;
    for (name, value) in fields.iter() {
        if name == key {
            continue;
        }
        if dialect.system.contains(&name) {
            for (json, parsed) in (dialect.read_system)(value)? {
                let entry = namer.instruction(format, json, parsed);
                conversation.instructions.push(entry);
            }
        } else if name == "tools" {
            tools::read(&mut conversation, value)?;
        } else {
            let rest = (name.to_owned(), value.get().to_owned());
            conversation.rest.push(rest);
        }
    }
    if dialect.bare_text && is_string(list) {
        // A bare text is short for one message of the user.
        let message = format!("{{\"role\":\"user\",\"content\":{}}}", list.get());
        let message = RawValue::from_string(message)
            .map_err(|_| root.wrong("not a text", "a text or a list"))?;
        take_messages(&mut conversation, &[&*message], &mut namer)?;
    } else {
        take_messages(&mut conversation, &root.list(list)?, &mut namer)?;
    }
    Ok(conversation)
}

/// Reads the messages: those of the system that stand before all others become instructions.
fn take_messages(
    conversation: &mut Conversation,
    messages: &[&RawValue],
    namer: &mut Namer,
) -> Result<(), Error> {
    let format = conversation.format;
    let mut leads = dialect(format).system_messages && namer.is_first();
    for (message, parsed) in parse(format, messages)? {
        leads &= matches!(
            parsed.parts.as_slice(),
            [Part::Turn {
                role: Role::System,
                ..
            }]
        );
        if leads {
            let entry = namer.instruction(format, message, parsed);
            conversation.instructions.push(entry);
        } else {
            conversation.entries.push(namer.entry(format, message, parsed));
        }
    }
    Ok(())
}

/// Parses each message, with its bytes.
pub(super) fn parse(format: Format, messages: &[&RawValue]) -> Result<Messages, Error> {
    let dialect = dialect(format);
    (dialect.read)(&JsonPath::new(dialect.messages), messages)
}

/// Parses one message: the text as [`Entry::message`] holds it.
pub(crate) fn parse_one(format: Format, message: &str) -> Result<Parsed, Error> {
    let list = format!("[{message}]");
    let broken = |_| {
        Error::input("the message is no JSON").expected(format!("a message as {format} has it"))
    };
    let list: &RawValue = serde_json::from_str(&list).map_err(broken)?;
    let items = JsonPath::new(dialect(format).messages).list(list)?;
    let mut parsed = parse(format, &items)?;
    match (parsed.pop(), parsed.is_empty()) {
        (Some((_, one)), true) => Ok(one),
        _ => Err(Error::input("the message is not one message")
            .expected("one, or the items of one turn of the model")),
    }
}

/// Reads one message: the text as [`Entry::message`] holds it.
///
/// # Errors
///
/// As [`read`], and when it is not one message.
pub fn read_message(format: Format, message: &str) -> Result<Entry, Error> {
    let parsed = parse_one(format, message)?;
    Ok(Namer::after(&[]).entry(format, message.to_owned(), parsed))
}

/// The format that this seems to have.
pub(super) fn detect(json: &str) -> Option<Format> {
    let whole: &RawValue = serde_json::from_str(json).ok()?;
    let place = JsonPath::new("body");
    if is_list(whole) {
        return of_messages(&place.list(whole).ok()?);
    }
    let fields = place.fields(whole).ok()?;
    let has = |key: &str| fields.get(key).is_some();
    if has("contents") {
        return Some(Format::Gemini);
    }
    if has("input") && !has("messages") {
        return Some(Format::OpenAiResponses);
    }
    let messages = place.list(fields.get("messages")?).ok()?;
    if has("system") || has("stop_sequences") || has("anthropic_version") {
        return Some(Format::Anthropic);
    }
    of_messages(&messages).or_else(|| {
        let tools = fields.get("tools").and_then(|tools| place.list(tools).ok());
        let tool = tools.and_then(|tools| place.fields(tools.first()?).ok());
        match tool {
            Some(tool) if tool.get("input_schema").is_some() => Some(Format::Anthropic),
            _ => Some(Format::OpenAiChat),
        }
    })
}

fn of_messages(messages: &[&RawValue]) -> Option<Format> {
    let place = JsonPath::new("messages");
    messages.iter().find_map(|message| {
        let fields = place.fields(message).ok()?;
        let kind = |fields: &Fields<'_>| fields.get("type").and_then(|kind| place.text(kind).ok());
        if fields.get("parts").is_some_and(is_of_gemini) {
            return Some(Format::Gemini);
        }
        if kind(&fields).is_some_and(|kind| is_item(&kind)) {
            return Some(Format::OpenAiResponses);
        }
        let role = fields.get("role").and_then(|role| place.text(role).ok())?;
        let is_chat = ["tool", "developer"].contains(&role.as_str())
            || fields.any(&["tool_calls", "tool_call_id"]).is_some();
        if is_chat {
            return Some(Format::OpenAiChat);
        }
        let blocks = fields.get("content").filter(|content| is_list(content))?;
        place.list(blocks).ok()?.iter().find_map(|block| {
            let fields = place.fields(block).ok()?;
            match kind(&fields)?.as_str() {
                "input_text" | "output_text" | "input_image" | "input_file" => {
                    Some(Format::OpenAiResponses)
                }
                "image_url" | "input_audio" | "file" | "refusal" => Some(Format::OpenAiChat),
                "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "image"
                | "document" => Some(Format::Anthropic),
                _ if fields.get("cache_control").is_some() => Some(Format::Anthropic),
                _ => None,
            }
        })
    })
}

/// Returns whether these are parts of Gemini's: unlike those of libraries, they say nothing of what they are.
fn is_of_gemini(parts: &RawValue) -> bool {
    let place = JsonPath::new("parts");
    let mut parts = place
        .list(parts)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|part| place.fields(part).ok());
    !parts.any(|part| part.any(&["type", "part_kind"]).is_some())
}

/// Returns whether OpenAI's responses know items of this kind.
///
/// ```
/// use tenure::wire::is_item;
/// assert!(is_item("function_call") && is_item("web_search_call") && !is_item("human"));
/// ```
pub fn is_item(kind: &str) -> bool {
    openai_responses::is_item(kind)
}

/// Returns the number of items in a message of several.
pub(crate) fn items(message: &str) -> u32 {
    let list = format!("[{message}]");
    let items: Vec<&RawValue> = serde_json::from_str(&list).unwrap_or_default();
    items.len() as u32
}

/// The parts of a Gemini content, or the blocks of a message of Anthropic's, as they came.
pub(crate) fn blocks(message: &str) -> Vec<String> {
    let place = JsonPath::new("message");
    let message = serde_json::from_str::<&RawValue>(message).ok();
    let fields = message.and_then(|message| place.fields(message).ok());
    let Some(list) = fields.and_then(|fields| fields.any(&["parts", "content"])) else {
        return Vec::new();
    };
    if is_string(list) {
        return vec![format!("{{\"text\":{},\"type\":\"text\"}}", list.get())];
    }
    let blocks = place.list(list).unwrap_or_default();
    blocks.into_iter().map(|block| block.get().to_owned()).collect()
}
