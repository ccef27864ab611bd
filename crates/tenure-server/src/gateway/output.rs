//! What a model answered: its message, and what is wrong with it: calls of tools that were not offered, a text
//! that is not what the request asks for, constraints that it breaks. Nothing is altered by it.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;
use tenure::error::unknown_name;
use tenure::object::{AnswerCheck, ObjectId, Polarity};
use tenure::wire::{self, Format};
use tenure::{ContextObject, Error};

use super::schema::Steps;

/// The most that is held against constraints of one answer, in bytes.
const MAX_HELD: usize = 1 << 20;

/// What may be wrong with an answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OutputFault {
    /// It calls a tool that the request does not offer.
    ToolNotOffered,
    /// The arguments of a call are no JSON object.
    ArgumentsNoObject,
    /// The arguments of a call are not what the tool's schema says.
    ArgumentsSchema,
    /// The request forces a call, and there is none.
    ToolNotCalled,
    /// The text is not the JSON that the request asks for.
    ResponseSchema,
    /// It breaks a hard constraint that stands in the request.
    ConstraintBroken,
}

impl OutputFault {
    /// All of them.
    pub const ALL: [OutputFault; 6] = [
        OutputFault::ToolNotOffered,
        OutputFault::ArgumentsNoObject,
        OutputFault::ArgumentsSchema,
        OutputFault::ToolNotCalled,
        OutputFault::ResponseSchema,
        OutputFault::ConstraintBroken,
    ];

    /// Its name.
    pub fn term(self) -> &'static str {
        match self {
            OutputFault::ToolNotOffered => "tool_not_offered",
            OutputFault::ArgumentsNoObject => "arguments_no_object",
            OutputFault::ArgumentsSchema => "arguments_schema",
            OutputFault::ToolNotCalled => "tool_not_called",
            OutputFault::ResponseSchema => "response_schema",
            OutputFault::ConstraintBroken => "constraint_broken",
        }
    }
}

impl FromStr for OutputFault {
    type Err = Error;

    fn from_str(text: &str) -> Result<OutputFault, Error> {
        let found = OutputFault::ALL
            .into_iter()
            .find(|fault| fault.term() == text);
        let names = OutputFault::ALL.into_iter().map(OutputFault::term);
        found.ok_or_else(|| unknown_name("fault of an answer", text, names))
    }
}

/// A constraint that answers are held against.
#[derive(Debug)]
pub(super) struct Constraint {
    pub(super) id: ObjectId,
    pub(super) name: String,
    check: AnswerCheck,
}

impl Constraint {
    /// What an object demands of every answer; none where it demands nothing that a machine can check.
    pub(super) fn of(object: &ContextObject) -> Option<Constraint> {
        let revision = object.revision();
        let commands = revision.authority_level() != tenure::object::Authority::Data;
        let constraint = revision
            .constraint()
            .filter(|_| commands && revision.is_hard_constraint())?;
        Some(Constraint {
            id: revision.object_id(),
            name: object.name().to_owned(),
            check: constraint.answer_check().ok().flatten()?,
        })
    }
}

/// What an answer is held against.
#[derive(Clone, Copy)]
pub(super) struct Demands<'r> {
    pub(super) format: Format,
    /// The request, or of it what says what the answer must be.
    pub(super) request: &'r Value,
    /// The constraints that stand in it.
    pub(super) constraints: &'r [Arc<Constraint>],
}

/// What is wrong with an answer.
#[derive(Clone, Default, Debug)]
pub(super) struct Found {
    /// Each fault once.
    pub(super) faults: Vec<OutputFault>,
    /// The constraints that it breaks.
    pub(super) broken: Vec<Arc<Constraint>>,
}

/// What the text of an answer must be.
enum Shape<'r> {
    Object,
    Schema(&'r Value),
}

impl<'r> Demands<'r> {
    /// Whether there is anything to look at.
    pub(super) fn are_any(&self) -> bool {
        let tools = self.request["tools"].as_array();
        tools.is_some_and(|tools| !tools.is_empty())
            || self.shape().is_some()
            || !self.constraints.is_empty()
    }

    /// What is wrong with a message.
    pub(super) fn look(&self, message: &str) -> Found {
        let mut found = Found::default();
        let Ok(message) = serde_json::from_str::<Value>(&format!("[{message}]")) else {
            return found;
        };
        let mut faults = BTreeSet::new();
        let mut steps = Steps::default();
        let said = Said::of(self.format, &message);
        let tools = offered(self.request);
        if !tools.is_empty() {
            for (name, arguments) in &said.calls {
                faults.extend(fault_of_call(&tools, name, arguments, &mut steps));
            }
        }
        let forced = forced(self.request).filter(|_| !said.refuses);
        let is_called = |name: Option<&str>| match name {
            Some(name) => said.calls.iter().any(|(called, _)| *called == name),
            None => !said.is_final(),
        };
        if forced.is_some_and(|name| !is_called(name)) {
            faults.insert(OutputFault::ToolNotCalled);
        }
        if let Some(shape) = self.shape()
            && said.is_final()
            && !said.refuses
        {
            let value = serde_json::from_str::<Value>(&said.texts[said.last..].concat());
            let is_so = value.is_ok_and(|value| match shape {
                Shape::Object => value.is_object(),
                Shape::Schema(schema) => steps.takes(schema, &value),
            });
            if !is_so {
                faults.insert(OutputFault::ResponseSchema);
            }
        }
        let (texts, all) = said.held();
        for constraint in self.constraints {
            let is_kept = match constraint.check.polarity() {
                // What must be said is said at the end.
                Polarity::Positive => {
                    !said.is_final() || said.refuses || constraint.check.is_kept_by(&texts)
                }
                _ => constraint.check.is_kept_by(&all),
            };
            if !is_kept {
                faults.insert(OutputFault::ConstraintBroken);
                found.broken.push(Arc::clone(constraint));
            }
        }
        found.faults = faults.into_iter().collect();
        found
    }

    fn shape(&self) -> Option<Shape<'r>> {
        let request = self.request;
        let asked = match self.format {
            Format::OpenAiChat => &request["response_format"],
            Format::OpenAiResponses => &request["text"]["format"],
            Format::Anthropic => match &request["output_config"]["format"] {
                Value::Null => &request["output_format"],
                asked => asked,
            },
            _ => return None,
        };
        let named = asked.get("json_schema").unwrap_or(asked);
        match asked["type"].as_str()? {
            "json_object" => Some(Shape::Object),
            "json_schema" => named.get("schema").map(Shape::Schema),
            _ => None,
        }
    }
}

/// What a message says.
#[derive(Default)]
struct Said<'m> {
    texts: Vec<&'m str>,
    /// The first text of the last part.
    last: usize,
    /// The calls that the client is to run, with their arguments where they are JSON.
    calls: Vec<(&'m str, Value)>,
    /// Whether the client is to run anything.
    asks: bool,
    /// Whether it refuses to answer.
    refuses: bool,
}

impl<'m> Said<'m> {
    fn of(format: Format, message: &'m Value) -> Said<'m> {
        let mut said = Said::default();
        for item in message.as_array().into_iter().flatten() {
            match format {
                Format::OpenAiResponses => match item["type"].as_str() {
                    Some("function_call") => said.call(&item["name"], &item["arguments"]),
                    Some("custom_tool_call") => said.asks = true,
                    Some("message") => {
                        if item["phase"] != "commentary" {
                            said.last = said.texts.len();
                        }
                        said.says(&item["content"]);
                    }
                    _ => {}
                },
                Format::Anthropic => {
                    said.says(&item["content"]);
                    for block in item["content"].as_array().into_iter().flatten() {
                        if block["type"] == "tool_use" {
                            said.call(&block["name"], &block["input"]);
                        }
                    }
                }
                Format::OpenAiChat => {
                    said.says(&item["content"]);
                    said.refuses |= item["refusal"].is_string();
                    for call in item["tool_calls"].as_array().into_iter().flatten() {
                        match call.get("function") {
                            Some(function) => said.call(&function["name"], &function["arguments"]),
                            None => said.asks = true,
                        }
                    }
                }
                _ => {}
            }
        }
        said
    }

    fn says(&mut self, content: &'m Value) {
        self.texts.extend(content.as_str());
        for part in content.as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("text" | "output_text") => self.texts.extend(part["text"].as_str()),
                Some("refusal") => self.refuses = true,
                _ => {}
            }
        }
    }

    fn call(&mut self, name: &'m Value, arguments: &Value) {
        let arguments = match arguments {
            // No arguments may be written as nothing.
            Value::String(text) if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
            Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            arguments => arguments.clone(),
        };
        self.asks = true;
        self.calls
            .push((name.as_str().unwrap_or_default(), arguments));
    }

    /// Whether the client is to do nothing more.
    fn is_final(&self) -> bool {
        !self.asks
    }

    /// Its texts, and these with all that the calls say, as much of both as is worth looking at.
    fn held(&self) -> (Vec<&str>, Vec<&str>) {
        let mut left = MAX_HELD;
        let mut held = |text: &'_ str| {
            let mut end = text.len().min(left);
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            left -= end;
            end
        };
        let texts: Vec<&str> = self.texts.iter().map(|text| &text[..held(text)]).collect();
        let mut all = texts.clone();
        for (_, arguments) in &self.calls {
            each_text(arguments, &mut |text| all.push(&text[..held(text)]));
        }
        (texts, all)
    }
}

/// Calls `each` with every text in a value, names of fields included.
fn each_text<'v>(value: &'v Value, each: &mut dyn FnMut(&'v str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, each)),
        Value::Object(fields) => {
            for (name, value) in fields {
                each(name);
                each_text(value, each);
            }
        }
        _ => {}
    }
}

/// The message in an answer, whole or streamed.
pub(super) fn message(format: Format, answer: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(answer)
        .map_err(|error| Error::input(format!("the answer is not text: {error}")))?;
    if text.trim_start().starts_with('{') {
        wire::reply(format, text)
    } else {
        wire::streamed_reply(format, text)
    }
}

/// What is wrong with a call.
fn fault_of_call(
    tools: &BTreeMap<&str, Option<&Value>>,
    name: &str,
    arguments: &Value,
    steps: &mut Steps,
) -> Option<OutputFault> {
    let Some(schema) = tools.get(name) else {
        return Some(OutputFault::ToolNotOffered);
    };
    if !arguments.is_object() {
        return Some(OutputFault::ArgumentsNoObject);
    }
    let is_taken = schema.is_none_or(|schema| steps.takes(schema, arguments));
    (!is_taken).then_some(OutputFault::ArgumentsSchema)
}

/// The tools of a request by name, each with the schema of its arguments.
fn offered(request: &Value) -> BTreeMap<&str, Option<&Value>> {
    let mut found = BTreeMap::new();
    for tool in request["tools"].as_array().into_iter().flatten() {
        // Of a chat completion, in a field of their own.
        let inner = match tool.get("function").or(tool.get("custom")) {
            Some(inner) => inner,
            None => tool,
        };
        let schema = inner.get("parameters").or(inner.get("input_schema"));
        if let Some(name) = inner["name"].as_str() {
            let schema = schema.filter(|schema| schema.is_object());
            found.entry(name).or_insert(schema);
        }
    }
    found
}

/// The tool that a request forces, or that it forces any.
fn forced(request: &Value) -> Option<Option<&str>> {
    let choice = &request["tool_choice"];
    let name = choice["name"]
        .as_str()
        .or(choice["function"]["name"].as_str());
    match choice.as_str().or(choice["type"].as_str())? {
        "required" | "any" => Some(None),
        "function" | "tool" => name.map(Some),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn faults(format: Format, request: &Value, message: &str) -> Vec<OutputFault> {
        let demands = Demands {
            format,
            request,
            constraints: &[],
        };
        demands.look(message).faults
    }

    #[test]
    fn all_calls_of_an_answer_share_their_steps() {
        let again: Vec<Value> = (0..20).map(|_| json!({ "$ref": "#" })).collect();
        let wide = json!({ "allOf": again });
        let tool = json!({ "type": "function", "name": "look", "parameters": wide });
        let call = r#"{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}"#;
        let calls = vec![call; 20_000].join(",");
        let request = json!({ "tools": [tool] });
        assert_eq!(faults(Format::OpenAiResponses, &request, &calls), []);
    }

    #[test]
    fn the_text_is_what_the_request_asks_for() {
        let schema = json!({ "type": "object", "required": ["warm"], "properties": { "warm": { "type": "boolean" } } });
        let chat = json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "w", "schema": schema } } });
        let responses = json!({ "text": { "format": { "type": "json_schema", "name": "w", "schema": schema } } });
        let messages =
            json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
        let older = json!({ "output_format": { "type": "json_schema", "schema": schema } });
        let said = |format, text: &str| match format {
            Format::OpenAiChat => json!({ "role": "assistant", "content": text }).to_string(),
            Format::Anthropic => {
                let (one, other) = text.split_at(text.len() / 2);
                let blocks = [one, other].map(|text| json!({ "type": "text", "text": text }));
                json!({ "role": "assistant", "content": blocks }).to_string()
            }
            _ => {
                let item = |phase: &str, text: &str| json!({ "type": "message", "phase": phase, "content": [{ "type": "output_text", "text": text }] });
                format!(
                    "{},{}",
                    item("commentary", "Let me see."),
                    item("final_answer", text)
                )
            }
        };
        for (format, request) in [
            (Format::OpenAiChat, &chat),
            (Format::OpenAiResponses, &responses),
            (Format::Anthropic, &messages),
            (Format::Anthropic, &older),
        ] {
            let faults = |text: &str| faults(format, request, &said(format, text));
            assert_eq!(faults(r#" {"warm": true} "#), [], "{request}");
            for wrong in [
                "",
                "Yes.",
                "{\"warm\":1}",
                "{\"warm\":true",
                "[]",
                "```json\n{\"warm\":true}\n```",
            ] {
                assert_eq!(
                    faults(wrong),
                    [OutputFault::ResponseSchema],
                    "{wrong} {request}"
                );
            }
        }
        let any = json!({ "response_format": { "type": "json_object" } });
        assert_eq!(
            faults(Format::OpenAiChat, &any, &said(Format::OpenAiChat, "{}")),
            []
        );
        assert_eq!(
            faults(Format::OpenAiChat, &any, &said(Format::OpenAiChat, "[]")),
            [OutputFault::ResponseSchema]
        );
        // A call, and a refusal, come before it.
        let call = json!({ "id": "a", "type": "function", "function": { "name": "look", "arguments": "{}" } });
        let called =
            json!({ "role": "assistant", "content": "Let me look.", "tool_calls": [call] });
        let refused = json!({ "role": "assistant", "content": null, "refusal": "I cannot." });
        for message in [called, refused] {
            assert_eq!(
                faults(Format::OpenAiChat, &chat, &message.to_string()),
                [],
                "{message}"
            );
        }
    }

    #[test]
    fn a_forced_tool_is_called() {
        let tool = |name: &str| json!({ "name": name, "input_schema": { "type": "object" } });
        let request =
            |choice: Value| json!({ "tools": [tool("look"), tool("note")], "tool_choice": choice });
        let said = |blocks: Value| json!({ "role": "assistant", "content": blocks }).to_string();
        let text = said(json!([{ "type": "text", "text": "No." }]));
        let called = said(json!([{ "type": "tool_use", "id": "1", "name": "look", "input": {} }]));
        let of =
            |choice: Value, message: &str| faults(Format::Anthropic, &request(choice), message);
        for choice in [
            json!({ "type": "any" }),
            json!({ "type": "tool", "name": "look" }),
        ] {
            assert_eq!(of(choice.clone(), &called), []);
            assert_eq!(of(choice, &text), [OutputFault::ToolNotCalled]);
        }
        assert_eq!(
            of(json!({ "type": "tool", "name": "note" }), &called),
            [OutputFault::ToolNotCalled]
        );
        for choice in [json!({ "type": "auto" }), json!("auto"), json!(null)] {
            assert_eq!(of(choice, &text), []);
        }
        let chat = json!({ "tool_choice": { "type": "function", "function": { "name": "look" } }, "tools": [{ "function": { "name": "look" } }] });
        let text = r#"{"role":"assistant","content":"No."}"#;
        assert_eq!(
            faults(Format::OpenAiChat, &chat, text),
            [OutputFault::ToolNotCalled]
        );
    }

    #[test]
    fn constraints_are_held_against_what_is_said_and_called() {
        let constraint = |name: &str, constraint: Value| {
            let mut document = tenure::ObjectDocument::new(name, "As it says.");
            document.constraint = Some(serde_json::from_value(constraint).unwrap());
            Constraint::of(&document.seal().unwrap())
        };
        let never = json!({ "rigidity": "hard", "polarity": "negative", "patterns": ["rm -rf"] });
        let always = json!({ "rigidity": "hard", "patterns": ["\\[\\d+\\]"] });
        let soft = json!({ "rigidity": "soft", "patterns": ["x"] });
        let unchecked = json!({ "rigidity": "hard" });
        assert!(constraint("a", soft).is_none() && constraint("a", unchecked).is_none());
        let all = [constraint("never", never), constraint("always", always)];
        let all: Vec<Arc<Constraint>> = all.into_iter().flatten().map(Arc::new).collect();
        let demands = Demands {
            format: Format::OpenAiChat,
            request: &json!({}),
            constraints: &all,
        };
        assert!(demands.are_any());
        let broken = |message: Value| {
            let found = demands.look(&message.to_string());
            assert_eq!(found.broken.is_empty(), found.faults.is_empty());
            found
                .broken
                .iter()
                .map(|broken| broken.name.clone())
                .collect::<Vec<_>>()
        };
        let said = |text: &str| json!({ "role": "assistant", "content": text });
        let calls = |arguments: &str| {
            let call = json!({ "id": "a", "type": "function", "function": { "name": "run", "arguments": arguments } });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        };
        assert!(broken(said("It is warm [1].")).is_empty());
        assert_eq!(broken(said("It is warm.")), ["always"]);
        assert_eq!(broken(said("Run rm -rf / [1]")), ["never"]);
        // However a call writes it. What must be said is not said with a call.
        assert_eq!(
            broken(calls(r#"{"command":["sh","\u0072m -rf /"]}"#)),
            ["never"]
        );
        assert!(broken(calls(r#"{"command":"ls"}"#)).is_empty());
        // No more is looked at than what an answer is worth.
        assert_eq!(
            broken(said(&format!("{}é rm -rf [1]", "x".repeat(MAX_HELD - 1)))),
            ["always"]
        );
    }

    #[test]
    fn calls_are_held_against_what_was_offered() {
        let schema = json!({ "type": "object", "required": ["at"] });
        let chat = json!({ "tools": [{ "type": "function", "function": { "name": "look", "parameters": schema } }] });
        let called = |name: &str, arguments: &str| {
            let call = json!({ "id": "a", "type": "function", "function": { "name": name, "arguments": arguments } });
            json!({ "role": "assistant", "tool_calls": [call] }).to_string()
        };
        let faults_of = |name: &str, arguments: &str| {
            faults(Format::OpenAiChat, &chat, &called(name, arguments))
        };
        assert_eq!(faults_of("look", r#"{"at":"x"}"#), []);
        assert_eq!(faults_of("look", ""), [OutputFault::ArgumentsSchema]);
        assert_eq!(
            faults_of("look", "{\"at\":"),
            [OutputFault::ArgumentsNoObject]
        );
        assert_eq!(faults_of("jump", "{}"), [OutputFault::ToolNotOffered]);
        let messages = json!({ "tools": [{ "name": "look", "input_schema": schema }, { "type": "bash_20250124", "name": "bash" }] });
        let blocks = json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": "1", "name": "bash", "input": { "command": "ls" } },
            { "type": "server_tool_use", "id": "2", "name": "web_search", "input": {} },
            { "type": "tool_use", "id": "3", "name": "look", "input": {} },
        ] });
        assert_eq!(
            faults(Format::Anthropic, &messages, &blocks.to_string()),
            [OutputFault::ArgumentsSchema]
        );
        let responses =
            json!({ "tools": [{ "type": "function", "name": "look", "parameters": schema }] });
        let items = r#"{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"c","name":"peek","arguments":"{}"}"#;
        assert_eq!(
            faults(Format::OpenAiResponses, &responses, items),
            [OutputFault::ToolNotOffered]
        );
    }
}
