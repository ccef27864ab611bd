//! Reading the tools of a request.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::JsonPath;
use super::tool::Tool;
use super::{Conversation, Format, Wire};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::object::{ObjectDocument, ObjectType, canonical_schema, empty_schema};
use crate::provider::formats::dialect;

/// Returns whether an object says what a tool's JSON says.
pub(crate) fn says(object: &ObjectDocument, tool: &Tool) -> bool {
    let schema = |schema: &Option<Value>| match schema {
        Some(schema) => canonical_schema(schema.clone()),
        None => empty_schema(),
    };
    object.name == tool.name
        && object.content == tool.content()
        && schema(&object.input_schema) == schema(&tool.schema)
}

/// Reads the tools of a request into objects, and keeps those that the provider runs itself.
pub(crate) fn read(conversation: &mut Conversation, tools: &RawValue) -> Result<(), Error> {
    let format = conversation.format;
    let place = JsonPath::new("tools");
    if super::json::is_null(tools) {
        return Ok(());
    }
    for (at, tool) in place.list(tools)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(tool)?;
        if let [key, ..] = dialect(format).tool_lists
            && let Some(declared) = fields.any(dialect(format).tool_lists)
        {
            let place = place.key(key);
            for (at, tool) in place.list(declared)?.into_iter().enumerate() {
                take(conversation, &place.at(at), tool)?;
            }
        } else {
            take(conversation, &place, tool)?;
        }
    }
    Ok(())
}

fn take(conversation: &mut Conversation, place: &JsonPath, json: &RawValue) -> Result<(), Error> {
    let format = conversation.format;
    let Some(tool) = (dialect(format).tool)(place, &place.fields(json)?)? else {
        conversation.server_tools.push(json.get().to_owned());
        return Ok(());
    };
    let content = tool.content().to_owned();
    conversation.tools.push(ObjectDocument {
        object_type: Some(ObjectType::ToolSchema),
        input_schema: tool.schema,
        wire: Some(Wire {
            digest: Digest::of(json.get().as_bytes()),
            format,
            message: Some(json.get().to_owned()),
            part: 0,
            parts: 1,
        }),
        ..ObjectDocument::named(tool.name, content)
    });
    Ok(())
}

/// The tool that this JSON describes; none where the provider runs it itself.
pub(crate) fn one(format: Format, json: &str) -> Result<Option<Tool>, Error> {
    let json: &RawValue = serde_json::from_str(json)
        .map_err(|_| Error::input("the tool is no JSON").expected("a tool's definition"))?;
    let place = JsonPath::new("tool");
    (dialect(format).tool)(&place, &place.fields(json)?)
}
