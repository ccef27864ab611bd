//! A request written from what came: its messages, and what stands before them.

use serde_json::{Value, json};

use super::Format;
use super::convert::{OmittedPart, write};
use crate::base::error::Error;
use crate::object::{ObjectDocument, empty_schema};
use crate::provider::formats::dialect;

/// The room for the answer in a body whose API takes none without.
const ANSWER: u32 = 4_096;

/// The parts of a request that stand before its messages, as they came.
#[derive(Clone, Copy, Default, Debug)]
pub struct Before<'a> {
    /// The format that it came in; none where nobody knows.
    pub format: Option<Format>,
    /// The messages, blocks or fields of the system, as JSON.
    pub messages: &'a [String],
    /// Their meaning, as rules.
    pub instructions: &'a [ObjectDocument],
    /// The tools.
    pub tools: &'a [ObjectDocument],
    /// The tools that the provider runs itself, as JSON.
    pub server_tools: &'a [String],
}

/// A request that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenRequest {
    /// Its fields before the messages, as JSON: the system's text and the tools.
    pub fields: Vec<(&'static str, String)>,
    /// The name of the field that holds the messages.
    pub key: &'static str,
    /// The array of messages, with those of the system where they stand among them.
    pub messages: String,
    /// The parts that could not be said in this format.
    pub left_out: Vec<OmittedPart>,
}

impl WrittenRequest {
    /// Returns the bare messages where there is nothing else, otherwise the body of the request.
    pub fn body(&self) -> String {
        if self.fields.is_empty() {
            return self.messages.clone();
        }
        let fields: String =
            self.fields.iter().map(|(name, json)| format!("\"{name}\":{json},")).collect();
        format!("{{{fields}\"{}\":{}}}", self.key, self.messages)
    }
}

/// Writes what stands before the messages, and the messages, as a request of this format. What came in it is written byte
/// for byte.
///
/// # Errors
///
/// As [`write()`](super::write()).
///
/// ```
/// use tenure::wire::{Before, Format, read, write_request};
/// let body = r#"{"system":"Be brief.","messages":[{"role":"user","content":"Hello."}]}"#;
/// let read = read(Format::Anthropic, body)?;
/// let messages: Vec<String> = read.instructions.iter().map(|entry| entry.message.clone()).collect();
/// let instructions: Vec<_> = read.instructions.iter().flat_map(|entry| entry.objects.clone()).collect();
/// let before = Before { format: Some(Format::Anthropic), messages: &messages, instructions: &instructions, ..Before::default() };
/// let objects: Vec<_> = read.objects().collect();
/// let chat = write_request(&before, &objects, Format::OpenAiChat)?;
/// assert_eq!(chat.body(), r#"[{"role":"system","content":"Be brief."},{"role":"user","content":"Hello."}]"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn write_request(
    before: &Before<'_>,
    objects: &[&ObjectDocument],
    format: Format,
) -> Result<WrittenRequest, Error> {
    let written = write(objects, format)?;
    let (mut fields, leading) = system(before, format);
    let mut left_out = written.left_out;
    let tools = tools(before, format, &mut left_out);
    if !tools.is_empty() {
        fields.push(("tools", format!("[{}]", tools.join(","))));
    }
    if dialect(format).least_answer > 0 && !fields.is_empty() {
        fields.push(("max_tokens", ANSWER.to_string()));
    }
    let rest = written.messages.strip_prefix('[').unwrap_or_default();
    let comma = if leading.is_empty() || rest == "]" {
        ""
    } else {
        ","
    };
    Ok(WrittenRequest {
        fields,
        key: dialect(format).messages,
        messages: format!("[{}{comma}{rest}", leading.join(",")),
        left_out,
    })
}

/// The system's text: the field that holds it, and the messages.
fn system(before: &Before<'_>, format: Format) -> (Vec<(&'static str, String)>, Vec<String>) {
    let dialect = dialect(format);
    let texts: Vec<&str> = before.instructions.iter().map(|rule| &*rule.content).collect();
    let own = before.format == Some(format);
    let (is_message, is_field): (Vec<&String>, Vec<&String>) = before
        .messages
        .iter()
        .partition(|json| dialect.system_messages && json.starts_with('{'));
    let blocks = dialect.cache.system_blocks;
    let json = match (is_field.as_slice(), blocks) {
        _ if dialect.system.is_empty() || !own && texts.is_empty() => None,
        ([], _) if own => None,
        ([only], _) if own && (blocks.is_some() || !only.starts_with('{')) => Some((*only).clone()),
        (several, _) if own => Some(format!("[{}]", strings(several).join(","))),
        (_, Some(blocks)) => {
            let texts: Vec<Value> = texts.iter().map(|text| json!({ "text": text })).collect();
            Some(json!({ blocks: texts }).to_string())
        }
        (_, None) => Some(Value::from(texts.join("\n\n")).to_string()),
    };
    let field = json.and_then(|json| Some((*dialect.system.first()?, json)));
    let leading = if own {
        strings(&is_message)
    } else if dialect.system.is_empty() {
        texts
            .iter()
            .map(|text| {
                let text = Value::from(*text);
                format!("{{\"role\":\"system\",\"content\":{text}}}")
            })
            .collect()
    } else {
        Vec::new()
    };
    (field.into_iter().collect(), leading)
}

fn strings(messages: &[&String]) -> Vec<String> {
    messages.iter().map(|&message| message.clone()).collect()
}

/// The tools, of which those of a provider's own mean nothing to others.
fn tools(before: &Before<'_>, format: Format, left_out: &mut Vec<OmittedPart>) -> Vec<String> {
    let mut tools: Vec<String> = before
        .tools
        .iter()
        .map(|tool| {
            tool.wire
                .as_ref()
                .filter(|wire| wire.format == format)
                .and_then(|wire| wire.message.clone())
                .unwrap_or_else(|| {
                    let schema = tool.input_schema.clone().unwrap_or_else(empty_schema);
                    (dialect(format).write_tool)(&tool.name, &tool.content, &schema).to_string()
                })
        })
        .collect();
    if let [list, ..] = dialect(format).tool_lists
        && !tools.is_empty()
    {
        tools = vec![format!("{{\"{list}\":[{}]}}", tools.join(","))];
    }
    if before.format == Some(format) {
        tools.extend(before.server_tools.iter().cloned());
        return tools;
    }
    left_out.extend(before.server_tools.iter().map(|tool| {
        let kind = serde_json::from_str::<Value>(tool)
            .ok()
            .and_then(|tool| Some(tool.get("type")?.as_str()?.to_owned()));
        OmittedPart {
            name: "tools".to_owned(),
            rule: "foreign_block_dropped",
            what: kind.unwrap_or_else(|| "a tool of the provider's own".to_owned()),
        }
    }));
    tools
}
