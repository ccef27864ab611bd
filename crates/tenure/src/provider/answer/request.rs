//! The body of a request to a model: the tools it offers, the answer it asks for, the texts it holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

/// The body of a request to a model, as far as a record of it or a check of its answer reads it.
#[derive(Clone, Default, Debug)]
pub struct RequestBody(pub(super) Value);

impl RequestBody {
    /// Reads a body; one that is not JSON is empty.
    pub fn read(body: &[u8]) -> RequestBody {
        RequestBody(serde_json::from_slice(body).unwrap_or_default())
    }

    /// Reads the fields alone that say what the answer must be; none where that cannot be told, as where a field stands
    /// twice.
    pub fn demands(body: &[u8]) -> RequestBody {
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
        RequestBody(read().unwrap_or_default())
    }

    /// Returns the model that it names.
    pub fn model(&self) -> Option<&str> {
        self.0["model"].as_str()
    }

    /// Returns whether it asks for a stream.
    pub fn is_streamed(&self) -> bool {
        self.0["stream"].as_bool().unwrap_or(false)
    }

    /// Returns the key under which OpenAI is to find its prefix cached.
    pub fn cache_key(&self) -> Option<&str> {
        self.0["prompt_cache_key"].as_str()
    }

    /// Returns its texts, tools and calls, each as it is counted in tokens. Not images, what is opaque, nor what a
    /// provider puts around messages.
    pub fn texts(&self) -> Vec<Cow<'_, str>> {
        let mut found = Vec::new();
        for part in ["system", "instructions", "messages", "input"] {
            add_texts(&self.0[part], &mut found);
        }
        for tools in ["tools", "functions"] {
            let tools = self.0[tools].as_array().into_iter().flatten();
            found.extend(tools.map(|tool| Cow::Owned(tool.to_string())));
        }
        found
    }

    pub(super) fn value(&self) -> &Value {
        &self.0
    }

    /// Returns its tools by name, each with the schema of its arguments: also those of the older form, and those that
    /// messages add.
    pub(super) fn offered(&self) -> BTreeMap<&str, Option<&Value>> {
        let mut found: BTreeMap<&str, Option<&Value>> = BTreeMap::new();
        let items = |list: &str| self.0[list].as_array().into_iter().flatten();
        let late = items("input").chain(items("messages"));
        let all = items("tools").chain(items("functions")).chain(late.flat_map(late_tools));
        for tool in all.flat_map(|tool| in_namespace(tool).chain(itself(tool))) {
            // Of a chat completion, in a field of their own.
            let inner = tool.get("function").or(tool.get("custom")).unwrap_or(tool);
            let schema = inner
                .get("parameters")
                .or(inner.get("input_schema"))
                .filter(|schema| schema.is_object());
            let Some(name) = inner["name"].as_str() else {
                continue;
            };
            // Of two tools that are called alike, neither says what the other takes.
            let known = found.entry(name).or_insert(schema);
            *known = known.filter(|known| Some(*known) == schema);
        }
        found
    }

    /// Returns whether all tools that may be called are among those offered by name. A request that could not be read
    /// names none, a stored prompt may bring others, and tools without a name are the provider's, which may call them
    /// as it likes.
    pub(super) fn names_all_tools(&self, offered: &BTreeMap<&str, Option<&Value>>) -> bool {
        let unnamed = self.0["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        self.0.is_object() && self.0["prompt"].is_null() && (!offered.is_empty() || !unnamed)
    }

    /// Returns the tool that it forces the model to call; inside, none where any will do.
    pub(super) fn forced_tool(&self) -> Option<Option<&str>> {
        let choice = &self.0["tool_choice"];
        let name = choice["name"].as_str().or(choice["function"]["name"].as_str());
        match choice.as_str().or(choice["type"].as_str())? {
            "required" | "any" => Some(None),
            "function" | "tool" => name.map(Some),
            _ => None,
        }
    }
}

/// Returns the tools of a namespace, which are called by their own names.
fn in_namespace(tool: &Value) -> impl Iterator<Item = &Value> {
    let tools = tool["tools"].as_array().filter(|_| is_namespace(tool));
    tools.into_iter().flatten()
}

/// Returns the tool itself, unless it is a namespace: that is not called.
fn itself(tool: &Value) -> Option<&Value> {
    Some(tool).filter(|tool| !is_namespace(tool))
}

fn is_namespace(tool: &Value) -> bool {
    tool["type"] == "namespace"
}

/// Adds the messages that offer tools to the fields that say what an answer must be; none where they cannot be read.
fn add_late_tools(body: &[u8], demands: &mut Value) -> Option<()> {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Messages {
        input: Value,
        messages: Value,
    }
    let text = String::from_utf8_lossy(body);
    let words = ["\"additional_tools\"", "\"tool_addition\""];
    if !words.iter().any(|word| text.contains(word)) {
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

/// Returns the tools that a message offers: OpenAI's in an item of their own, Anthropic's in blocks of a message of the
/// system.
fn late_tools(message: &Value) -> impl Iterator<Item = &Value> {
    let own = Some(message)
        .filter(|message| message["type"] == "additional_tools")
        .and_then(|message| message["tools"].as_array());
    let blocks = Some(message)
        .filter(|message| message["role"] == "system")
        .and_then(|message| message["content"].as_array());
    let added = blocks
        .into_iter()
        .flatten()
        .filter(|block| block["type"] == "tool_addition")
        .map(|block| &block["tool"]["definition"]);
    own.into_iter().flatten().chain(added)
}

/// Adds the texts in a value.
fn add_texts<'v>(value: &'v Value, found: &mut Vec<Cow<'v, str>>) {
    match value {
        Value::String(text) => found.push(Cow::Borrowed(text)),
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    // What a call says, which stands as JSON in the prompt.
                    ("input" | "arguments", Value::Object(_)) => {
                        found.push(Cow::Owned(value.to_string()));
                    }
                    (
                        "content" | "text" | "thinking" | "output" | "summary" | "arguments"
                        | "name" | "input" | "function" | "tool_calls" | "function_call"
                        | "refusal" | "title" | "context",
                        value,
                    ) => add_texts(value, found),
                    // A document may be a text; all else there is a picture or a file.
                    ("source", source) if source["type"] == "text" => {
                        add_texts(&source["data"], found);
                    }
                    ("source", source) if source["type"] == "content" => {
                        add_texts(&source["content"], found);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(body: &RequestBody) -> Vec<String> {
        let texts = body.texts();
        sorted_texts(&texts.iter().map(|text| &**text).collect::<Vec<_>>())
    }

    fn sorted_texts(texts: &[&str]) -> Vec<String> {
        let mut texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        texts.sort();
        texts
    }

    #[test]
    fn the_texts_of_a_request_are_what_is_counted() {
        let body = RequestBody::read(
            br#"{"model":"gpt-4o","stream":true,"prompt_cache_key":"k","messages":[
                {"role":"system","content":"Be brief."},
                {"role":"user","content":[
                    {"type":"text","text":"What is this?"},
                    {"type":"image_url","image_url":{"url":"data:image/png;base64,AAAAAAAAAAAAAAAAAAAA"}}]},
                {"role":"assistant","tool_calls":[{"id":"call_1","function":{"name":"look","arguments":"{\"at\":1}"}}]},
                {"role":"tool","tool_call_id":"call_1","content":"a cat"}]}"#,
        );
        assert_eq!(
            (body.model(), body.cache_key()),
            (Some("gpt-4o"), Some("k"))
        );
        assert!(body.is_streamed());
        let texts = ["Be brief.", "What is this?", "{\"at\":1}", "look", "a cat"];
        assert_eq!(sorted(&body), sorted_texts(&texts));

        let body = RequestBody::read(
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
        assert_eq!(sorted(&body), sorted_texts(&texts));
        assert!(!body.is_streamed());
        let broken = RequestBody::read(b"{\"model\": \"gpt-4o\", \xff");
        assert!(broken.model().is_none() && broken.texts().is_empty());
    }

    #[test]
    fn the_demands_of_a_request_are_read_without_its_messages() {
        let body = br#"{"messages":[1],"tools":[{"name":"look"}],"text":{"format":{}}}"#;
        let demands = RequestBody::demands(body);
        assert_eq!(demands.0["tools"][0]["name"], "look");
        assert!(demands.0["text"]["format"].is_object());
        assert!(demands.0["messages"].is_null());
    }
}
