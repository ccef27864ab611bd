//! Reading the tools of a request.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{Fields, Place};
use super::{Conversation, Format, Wire};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::object::{ObjectDocument, ObjectType, canonical_schema, empty_schema};

/// A tool, as any provider describes it.
pub(crate) struct Tool {
    name: String,
    description: String,
    schema: Option<Value>,
}

impl Tool {
    /// A tool without a description is described by its name.
    fn content(&self) -> &str {
        match self.description.trim() {
            "" => &self.name,
            _ => &self.description,
        }
    }
}

/// Whether an object says what a tool's JSON says.
pub(super) fn says(object: &ObjectDocument, tool: &Tool) -> bool {
    let schema = |schema: &Option<Value>| match schema {
        Some(schema) => canonical_schema(schema.clone()),
        None => empty_schema(),
    };
    object.name == tool.name
        && object.content == tool.content()
        && schema(&object.input_schema) == schema(&tool.schema)
}

/// Reads the tools of a request into objects, and keeps those that the provider runs itself.
pub(super) fn read(conversation: &mut Conversation, tools: &RawValue) -> Result<(), Error> {
    let format = conversation.format;
    let place = Place::new("tools");
    if super::json::is_null(tools) {
        return Ok(());
    }
    for (at, tool) in place.list(tools)?.into_iter().enumerate() {
        let place = place.at(at);
        let fields = place.fields(tool)?;
        let declared = fields.any(&["functionDeclarations", "function_declarations"]);
        if format == Format::Gemini
            && let Some(declared) = declared
        {
            let place = place.key("functionDeclarations");
            for (at, tool) in place.list(declared)?.into_iter().enumerate() {
                take(conversation, &place.at(at), tool)?;
            }
        } else {
            take(conversation, &place, tool)?;
        }
    }
    Ok(())
}

fn take(conversation: &mut Conversation, place: &Place, json: &RawValue) -> Result<(), Error> {
    let format = conversation.format;
    let Some(tool) = of(format, place, json)? else {
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
        ..ObjectDocument::new(tool.name, content)
    });
    Ok(())
}

/// The tool that this JSON describes; none where the provider runs it itself.
pub(super) fn one(format: Format, json: &str) -> Result<Option<Tool>, Error> {
    let json: &RawValue = serde_json::from_str(json)
        .map_err(|_| Error::input("the tool is no JSON").expected("a tool's definition"))?;
    of(format, &Place::new("tool"), json)
}

fn of(format: Format, place: &Place, json: &RawValue) -> Result<Option<Tool>, Error> {
    let fields = place.fields(json)?;
    let kind = place.maybe(&fields, "type")?;
    match format {
        Format::OpenAiChat => match (kind.as_deref(), fields.get("function")) {
            (Some("function") | None, Some(function)) => {
                let place = place.key("function");
                described(&place, &place.fields(function)?, &["parameters"]).map(Some)
            }
            _ => Ok(None),
        },
        Format::OpenAiResponses => match kind.as_deref() {
            Some("function") => described(place, &fields, &["parameters"]).map(Some),
            _ => Ok(None),
        },
        Format::Anthropic => match kind.as_deref() {
            Some("custom") | None => described(place, &fields, &["input_schema"]).map(Some),
            _ => Ok(None),
        },
        Format::Gemini if fields.get("name").is_none() => Ok(None),
        Format::Gemini => {
            let keys = [
                "parametersJsonSchema",
                "parameters_json_schema",
                "parameters",
            ];
            described(place, &fields, &keys).map(Some)
        }
    }
}

fn described(place: &Place, fields: &Fields<'_>, schema: &[&str]) -> Result<Tool, Error> {
    let read = |json: &RawValue| -> Result<Value, Error> {
        serde_json::from_str(json.get()).map_err(|error| {
            place.wrong(format!("the schema cannot be read: {error}"), "JSON Schema")
        })
    };
    Ok(Tool {
        name: place.needed(fields, "name")?,
        description: place.maybe(fields, "description")?.unwrap_or_default(),
        schema: fields.any(schema).map(read).transpose()?,
    })
}
