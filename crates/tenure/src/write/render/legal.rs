//! The names and ids that the providers of chats take. What they refuse is refused here,
//! with the object's name, before anything is chosen. The rules on the order of messages are not
//! among them: those hold by construction, and each body asserts them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::error::Error;
use crate::base::text::clip;
use crate::object::{ContextObject, Tool, ToolCall};
use crate::provider::target::Target;

/// The most messages of a request (Anthropic API reference, Messages).
const MAX_MESSAGES: usize = 100_000;

/// A tool or a turn that may stand.
pub(crate) struct Stands<'a> {
    pub(crate) object: &'a ContextObject,
    /// True if it must.
    pub(crate) must: bool,
    /// True if it goes back as it came, and could not be written anew.
    pub(crate) is_fixed: bool,
}

/// Refuses what the provider would: names and ids that it does not take. `objects` are
/// the tools and turns that may stand. What fits decides nothing here,
/// so a larger budget never turns a payload into this failure.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) naming the object.
pub(crate) fn check_objects<'a>(
    target: Target,
    objects: impl Iterator<Item = Stands<'a>>,
) -> Result<(), Error> {
    let anthropic = target == Target::AnthropicMessages;
    let rule = target.call_ids();
    let mut tools: BTreeSet<&str> = BTreeSet::new();
    let mut ids: BTreeSet<&str> = BTreeSet::new();
    let mut offers = false;
    let mut caller: Option<(&str, &str)> = None;
    let mut messages = 0usize;
    for stands in objects {
        let object = stands.object;
        let name = object.name();
        if let Some(tool) = object.revision().tool() {
            offers |= stands.must;
            check_tool(name, tool, target)?;
            if !tools.insert(name) {
                return Err(Error::input(format!("two tools are named `{name}`"))
                    .expected("a name of its own for each tool that is offered"));
            }
            continue;
        }
        messages += 1;
        for call in object.revision().tool_calls() {
            caller.get_or_insert((name, &call.name));
            check_call(name, call, target)?;
            // What goes back as it came cannot be renamed.
            let is_new = ids.insert(&call.id);
            if !is_new && rule.once && stands.is_fixed {
                return Err(Error::input(format!(
                    "`{name}` calls with the id `{}`, which an earlier turn has used",
                    clip(&call.id)
                ))
                .expected("an id of its own for each call of the conversation"));
            }
        }
    }
    if let Some((turn, tool)) = caller
        && anthropic
        && !offers
    {
        return Err(Error::input(format!(
            "`{turn}` calls the tool `{}`, but no tool is sure to be offered",
            clip(tool)
        ))
        .expected("a tool_schema that is not optional: the API takes no calls without tools")
        .hint("offer the tool that was called, or leave the calls out of the conversation"));
    }
    if anthropic && messages > MAX_MESSAGES {
        return Err(
            Error::input(format!("the conversation has {messages} messages"))
                .expected(format!("at most {MAX_MESSAGES}")),
        );
    }
    Ok(())
}

/// The pattern that the providers state for names of tools.
fn is_tool_name(name: &str, target: Target) -> bool {
    name.len() <= 64
        && is_id(&name.replace(|c| target == Target::Gemini && matches!(c, '.' | ':'), "_"))
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn check_tool(name: &str, tool: &Tool, target: Target) -> Result<(), Error> {
    let anthropic = target == Target::AnthropicMessages;
    if !is_tool_name(name, target) {
        return Err(
            Error::input(format!("a tool cannot be named `{}`", clip(name)))
                .expected("1 to 64 letters, digits, `_` or `-`"),
        );
    }
    let schema = &tool.input_schema;
    if anthropic && schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(Error::input(format!(
            "tool `{name}`: the `input_schema` is not of an object"
        ))
        .expected("`type: object` at the top of the schema"));
    }
    let combined = ["oneOf", "allOf", "anyOf"];
    match combined.iter().find(|key| schema.get(**key).is_some()) {
        Some(key) if anthropic => Err(Error::input(format!(
            "tool `{name}`: the `input_schema` has `{key}` at its top"
        ))
        .expected("one object; the API takes `oneOf`, `allOf` and `anyOf` only below it")),
        _ => Ok(()),
    }
}

fn check_call(turn: &str, call: &ToolCall, target: Target) -> Result<(), Error> {
    if !is_tool_name(&call.name, target) {
        return Err(Error::input(format!(
            "`{turn}` calls a tool named `{}`",
            clip(&call.name)
        ))
        .expected("1 to 64 letters, digits, `_` or `-`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::ObjectDocument;

    fn refused(target: Target, objects: &[Value]) -> Option<String> {
        let sealed: Vec<_> = objects
            .iter()
            .map(|value| {
                let document: ObjectDocument = serde_json::from_value(value.clone()).unwrap();
                document.seal().unwrap()
            })
            .collect();
        let must = sealed.iter().map(|object| Stands {
            object,
            must: true,
            is_fixed: false,
        });
        check_objects(target, must).err().map(|error| error.what)
    }

    fn tool(name: &str) -> Value {
        json!({ "name": name, "object_type": "tool_schema", "content": "Looks up." })
    }

    fn turn(name: &str, call: Value) -> Value {
        json!({
            "name": name, "object_type": "turn", "role": "assistant", "content": "", "tool_calls": [call],
        })
    }

    #[test]
    fn two_tools_of_one_name_are_refused() {
        for target in [Target::OpenAiChat, Target::AnthropicMessages] {
            let error = refused(target, &[tool("a"), tool("b"), tool("a")]);
            assert_eq!(error.as_deref(), Some("two tools are named `a`"));
            assert_eq!(refused(target, &[tool("a"), tool("b")]), None);
        }
    }

    #[test]
    fn each_provider_has_its_own_demands() {
        let legal = turn(
            "t",
            json!({ "id": "c1", "name": "a", "arguments": "{\"b\": 1}" }),
        );
        let cases = [
            (json!({ "id": "c", "name": "a b" }), "a tool named `a b`"),
            (json!({ "id": "c", "name": "a".repeat(65) }), "a tool named"),
        ];
        for (call, part) in cases {
            let objects = [tool("a"), legal.clone(), turn("u", call)];
            let error = refused(Target::AnthropicMessages, &objects).unwrap();
            assert!(
                error.contains(part) && error.starts_with("`u` calls"),
                "{error}"
            );
            assert!(refused(Target::OpenAiChat, &objects).is_some(), "{part}");
        }
        assert_eq!(
            refused(Target::AnthropicMessages, &[tool("a"), legal.clone()]),
            None
        );
        let alone = refused(Target::AnthropicMessages, std::slice::from_ref(&legal)).unwrap();
        assert_eq!(
            alone,
            "`t` calls the tool `a`, but no tool is sure to be offered"
        );
        assert_eq!(refused(Target::OpenAiChat, &[legal]), None);
        let mut untyped = tool("a");
        untyped["input_schema"] = json!({});
        let error = refused(Target::AnthropicMessages, &[untyped]).unwrap();
        assert_eq!(error, "tool `a`: the `input_schema` is not of an object");
    }
}
