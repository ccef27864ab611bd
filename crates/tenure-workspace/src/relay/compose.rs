//! The body that goes on: the agent's own, with the compiled messages in the place of its messages.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure::answer::{AskedForm, RequestBody};
use tenure::cache::{self, Options};
use tenure::request::MAX_SCHEMA;
use tenure::wire::{self, Conversation, Format, Renewed};
use tenure::{Error, Policy, World};

use super::{Relaying, tools};

/// The parts of a compiled body that are put into the agent's.
#[derive(Deserialize)]
struct Compiled<'b> {
    #[serde(borrow, alias = "input", alias = "contents")]
    messages: &'b RawValue,
    /// The instructions before the history, where the format has a field of its own for it.
    #[serde(borrow, default, alias = "instructions")]
    system: Option<&'b RawValue>,
}

/// Parts of an agent's own body.
#[derive(Deserialize)]
pub(super) struct Own<'b> {
    #[serde(borrow, alias = "input", alias = "contents")]
    pub(super) messages: &'b RawValue,
    #[serde(borrow, default, alias = "instructions")]
    pub(super) system: Option<&'b RawValue>,
    #[serde(borrow, default)]
    pub(super) tools: Option<&'b RawValue>,
}

/// Marks of a cache, as they stand in bodies.
const MARKS: [&str; 2] = ["\"cache_control\"", "\"prompt_cache_breakpoint\""];

/// The agent's body with what was compiled, without the tools that are left out.
pub(super) fn compose(
    asked: &Relaying<'_>,
    conversation: &Conversation,
    payload: &str,
    left_out: &tools::OmittedTools,
    schema: Option<&Value>,
) -> Result<String, Error> {
    let compiled: Compiled<'_> = serde_json::from_str(payload)
        .map_err(|error| Error::assertion(format!("a compiled body has messages: {error}")))?;
    let own: Own<'_> = serde_json::from_str(asked.body)
        .map_err(|error| Error::input(format!("the body has no messages: {error}")))?;
    let mut messages = with_instructions(asked, conversation, &own, compiled.messages.get());
    let mut system = None;
    // Without a side context, everything before the messages is the agent's.
    if let Some(floor) = compiled.system.filter(|_| asked.side.is_some()) {
        match asked.format {
            Format::OpenAiResponses => match joined(own.system, floor) {
                Some(joined) => system = Some(("instructions", joined)),
                None => messages = behind(&system_message(floor), &messages),
            },
            _ => system = Some(("system", blocks(own.system, floor))),
        }
    }
    let mut changes = vec![(field(asked.format), messages.as_str())];
    if let Some((key, value)) = &system {
        changes.push((key, value));
    }
    let offered = own
        .tools
        .filter(|_| !left_out.is_empty())
        .map(|list| tools::offered(conversation, list, left_out));
    if let Some(offered) = &offered {
        changes.push(("tools", offered));
    }
    let form = schema.and_then(|schema| response_form(asked, schema));
    if let Some((key, value)) = &form {
        changes.push((key, value));
    }
    wire::with_fields(asked.body, &changes)
}

/// The field of a body that asks for an answer of this schema, with all else that the agent says there.
fn response_form(asked: &Relaying<'_>, schema: &Value) -> Option<(&'static str, String)> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Own {
        response_format: Value,
        text: Value,
        output_config: Value,
        output_format: Value,
    }
    let mut own: Own = serde_json::from_str(asked.body).ok()?;
    let form = |mut own: Value| {
        if own["type"] != "json_schema" {
            own = json!({ "type": "json_schema", "name": "answer" });
        }
        own["schema"] = schema.clone();
        own
    };
    let (key, value) = match asked.format {
        Format::OpenAiChat => {
            let mut whole = own.response_format;
            if whole["type"] != "json_schema" {
                whole = json!({ "type": "json_schema", "json_schema": { "name": "answer" } });
            }
            whole["json_schema"]["schema"] = schema.clone();
            ("response_format", whole)
        }
        Format::OpenAiResponses => {
            own.text["format"] = form(own.text["format"].take());
            ("text", own.text)
        }
        Format::Anthropic if own.output_format.is_object() => {
            own.output_format["schema"] = schema.clone();
            ("output_format", own.output_format)
        }
        Format::Anthropic => {
            let mut form = form(own.output_config["format"].take());
            form.as_object_mut()?.remove("name");
            own.output_config["format"] = form;
            ("output_config", own.output_config)
        }
        _ => return None,
    };
    Some((key, value.to_string()))
}

/// Returns the schema that an agent asks its answer to be of, or that it asks for none, where the policy may change that.
pub(super) fn asked_form(asked: &Relaying<'_>, policy: &Policy) -> (Option<Value>, bool) {
    let settings = &policy.document().answers;
    if !settings.relax_schemas && !settings.add_schemas {
        return (None, false);
    }
    let request = RequestBody::demands(asked.body.as_bytes());
    match request.asked_form(asked.format) {
        AskedForm::Schema(schema) if schema.is_object() => {
            let is_small = schema.to_string().len() <= MAX_SCHEMA;
            (is_small.then(|| schema.clone()), false)
        }
        AskedForm::Any => (None, settings.add_schemas),
        _ => (None, false),
    }
}

/// A body with what the agent renews with each request.
pub(super) fn with_renewed(
    asked: &Relaying<'_>,
    renewed: Option<&Renewed>,
    body: String,
) -> Result<String, Error> {
    let Some(renewed) = renewed else {
        return Ok(body);
    };
    let messages = renewed.put_back(messages(&body)?.get())?;
    wire::with_fields(&body, &[(field(asked.format), &messages)])
}

/// The messages of a body.
pub(super) fn messages(body: &str) -> Result<&RawValue, Error> {
    let own: Own<'_> = serde_json::from_str(body)
        .map_err(|error| Error::input(format!("the body has no messages: {error}")))?;
    Ok(own.messages)
}

/// The name of the field with their list.
pub(super) fn field(format: Format) -> &'static str {
    match format {
        Format::OpenAiResponses => "input",
        Format::Gemini => "contents",
        _ => "messages",
    }
}

/// The body with marks where its provider's cache is to hold a prefix: up to its last block, since all of it stands
/// in the next request, too. The agent's own marks on messages stood at messages that may be gone, so they are placed
/// again, except one on the last block; those before the messages stay. Without any of the agent's, marks are only
/// set where the whole body is the compiler's to lay out.
pub(super) fn marked(
    world: &World,
    asked: &Relaying<'_>,
    (conversation, renewed): (&Conversation, Option<&Renewed>),
    body: String,
) -> String {
    let renews = marks_anew(asked, conversation);
    let plans = asked.side.is_some() && !has_marks(asked) && !by_provider(conversation);
    if !(renews || plans) {
        return body;
    }
    let mut options = Options::default();
    options.turn_stays = Some(!renewed.is_some_and(Renewed::closes));
    options.renew = renews;
    if has_marks(asked)
        && let Ok((floor, messages)) = cache::lifetimes(asked.format, asked.body)
    {
        let rules = world.model().cache.as_ref();
        let known = |ttl: &u32| rules.is_some_and(|rules| rules.ttl_seconds.contains(ttl));
        options.ttl = messages.filter(known);
        options.floor_ttl = floor.filter(known).max(options.ttl);
    }
    // A body without marks is as good, and dearer.
    let marked = cache::marked(world, asked.format, &body, &options);
    marked.unwrap_or(body)
}

/// Returns whether the agent's own marks on messages are taken out, for others.
pub(super) fn marks_anew(asked: &Relaying<'_>, conversation: &Conversation) -> bool {
    // OpenAI marks the end by itself where the request does not say that it will.
    let is_openais = !asked.body.contains(MARKS[0]);
    has_marks(asked) && (!is_openais || by_request(conversation))
}

fn has_marks(asked: &Relaying<'_>) -> bool {
    MARKS.iter().any(|mark| asked.body.contains(mark))
}

/// Returns whether the provider sets marks itself.
fn by_provider(conversation: &Conversation) -> bool {
    let mut keys = conversation.rest.iter().map(|(key, _)| key.as_str());
    keys.any(|key| matches!(key, "cache_control" | "prompt_cache_options"))
}

/// Returns whether the request says that it sets all marks itself, in OpenAI's form.
fn by_request(conversation: &Conversation) -> bool {
    let mut rest = conversation.rest.iter();
    rest.find(|(key, _)| key == "prompt_cache_options")
        .and_then(|(_, json)| serde_json::from_str(json).ok())
        .is_some_and(|options: serde_json::Value| options["mode"] == "explicit")
}

/// The compiled messages behind the instructions, where a format has both in one array.
fn with_instructions(
    asked: &Relaying<'_>,
    conversation: &Conversation,
    own: &Own<'_>,
    messages: &str,
) -> String {
    if !matches!(asked.format, Format::OpenAiChat | Format::OpenAiResponses) {
        return messages.to_owned();
    }
    // A text instead of messages has none.
    let own: Vec<&RawValue> = serde_json::from_str(own.messages.get()).unwrap_or_default();
    let before: Vec<&str> = own
        .iter()
        .take_while(|message| {
            let mut before = conversation.instructions.iter();
            before.any(|entry| entry.message == message.get())
        })
        .map(|own| own.get())
        .collect();
    if before.is_empty() {
        messages.to_owned()
    } else {
        behind(&before.join(","), messages)
    }
}

/// A list behind these items.
fn behind(items: &str, list: &str) -> String {
    let rest = list.trim_start_matches('[').trim_start();
    let comma = if rest.starts_with(']') { "" } else { "," };
    format!("[{items}{comma}{rest}")
}

/// The blocks of the system's text: the agent's, then ours.
fn blocks(own: Option<&RawValue>, floor: &RawValue) -> String {
    let all: Vec<String> = own
        .into_iter()
        .chain([floor])
        .map(|value| {
            let json = value.get();
            match json.as_bytes().first() {
                Some(b'[') => json[1..json.len() - 1].trim().to_owned(),
                Some(b'"') if json != "\"\"" => format!("{{\"type\":\"text\",\"text\":{json}}}"),
                _ => String::new(),
            }
        })
        .filter(|blocks| !blocks.is_empty())
        .collect();
    format!("[{}]", all.join(","))
}

/// Two texts as one; none where the agent's is no text.
fn joined(own: Option<&RawValue>, floor: &RawValue) -> Option<String> {
    let text = |value: &RawValue| serde_json::from_str::<Option<String>>(value.get()).ok();
    let (own, floor) = (own.map_or(Some(None), text)?, text(floor)??);
    let own = own.filter(|own| !own.is_empty());
    let all = own.map_or(floor.clone(), |own| format!("{own}\n\n{floor}"));
    Some(serde_json::Value::from(all).to_string())
}

fn system_message(text: &RawValue) -> String {
    format!("{{\"role\":\"system\",\"content\":{}}}", text.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Box<RawValue> {
        RawValue::from_string(json.to_owned()).unwrap()
    }

    #[test]
    fn what_is_ours_stands_behind_what_is_the_agents() {
        let floor = raw(r#"[{"type":"text","text":"ours"}]"#);
        let own = |json: &str| blocks(Some(&raw(json)), &floor);
        let ours = r#"{"type":"text","text":"ours"}"#;
        assert_eq!(blocks(None, &floor), format!("[{ours}]"));
        assert_eq!(own("\"\""), format!("[{ours}]"));
        assert_eq!(own("[]"), format!("[{ours}]"));
        assert_eq!(
            own(r#""Be \u00e9.""#),
            format!(r#"[{{"type":"text","text":"Be \u00e9."}},{ours}]"#)
        );
        assert_eq!(
            own(r#"[ {"a": 1.50} ]"#),
            format!(r#"[{{"a": 1.50}},{ours}]"#)
        );
        let floor = raw("\"ours\"");
        assert_eq!(joined(None, &floor).unwrap(), "\"ours\"");
        assert_eq!(joined(Some(&raw("null")), &floor).unwrap(), "\"ours\"");
        assert_eq!(
            joined(Some(&raw("\"a\"")), &floor).unwrap(),
            r#""a\n\nours""#
        );
        assert_eq!(joined(Some(&raw("[]")), &floor), None);
    }
}
