//! The message of a wire object, and the check that the object still says what its message says.

use super::namer::stands_for;
use super::packed::Packed;
use super::parsed::{Parsed, Part};
use super::read::parse_one;
use super::{Wire, marks, tools};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::text::clip;
use crate::object::{MAX_CONTENT, ObjectDocument, ObjectType, Role};
use crate::provider::formats::dialect;

/// Returns whether an object says what its part of a message says. Ids that the provider did not give are ours.
fn says(object: &ObjectDocument, part: &Part) -> bool {
    let object_type = object.object_type.unwrap_or(ObjectType::Rule);
    match part {
        Part::Turn { role, text, calls } => {
            object_type == ObjectType::Turn
                && object.role == Some(*role)
                && object.content == *text
                && object.tool_calls.len() == calls.len()
                && object.tool_calls.iter().zip(calls).all(|(ours, theirs)| {
                    ours.name == theirs.name
                        && ours.arguments == theirs.arguments
                        && stands_for(&ours.id, &theirs.id)
                })
        }
        Part::Result { id, text, .. } => {
            object_type == ObjectType::ToolResult
                && object.content == *text
                && id.as_ref().is_none_or(|id| {
                    object.tool_call_id.as_deref().is_some_and(|ours| stands_for(ours, id))
                })
        }
    }
}

/// Checks the message that an object brings: that it is what its digest says, can be read, and says
/// what the object says. A part without the message is checked where the message stands beside it.
pub(crate) fn check(object: &ObjectDocument, wire: &Wire) -> Result<(), Error> {
    let broken =
        |what: &str| Error::input(format!("object `{}`: `wire` {what}", clip(&object.name)));
    let object_type = object.object_type.unwrap_or(ObjectType::Rule);
    if !matches!(
        object_type,
        ObjectType::Turn | ObjectType::ToolResult | ObjectType::ToolSchema
    ) {
        return Err(broken("stands in what is no message")
            .expected("`wire` only in a turn, a tool_result or a tool_schema"));
    }
    if wire.part >= wire.parts || (wire.part == 0) != wire.message.is_some() {
        return Err(broken("is not complete")
            .expected("`part` below `parts`, and `message` with part 0 alone"));
    }
    let Some(message) = &wire.message else {
        return Ok(());
    };
    if message.len() > MAX_CONTENT {
        return Err(broken(&format!("has a message of {} bytes", message.len()))
            .expected(format!("at most {MAX_CONTENT}")));
    }
    if Digest::of(message.as_bytes()) != wire.digest {
        return Err(broken("has a message that is not what its digest says")
            .hint("a message that is edited is another: leave `wire` out"));
    }
    if object_type == ObjectType::ToolSchema {
        return match tools::one(wire.format, message)? {
            Some(tool) if tools::says(object, &tool) => Ok(()),
            _ => Err(edited(broken, false)),
        };
    }
    let parsed = parse_one(wire.format, message)?;
    let first = parsed.parts.first();
    if parsed.parts.len() != wire.parts as usize || !first.is_some_and(|part| says(object, part)) {
        return Err(edited(broken, parsed.signed));
    }
    Ok(())
}

fn edited(broken: impl Fn(&str) -> Error, signed: bool) -> Error {
    let error = broken("holds a message that says something else");
    if signed {
        return error
            .expected("what the provider signed, as it is (signed_block_edited)")
            .hint("a signed message is kept whole or left out; to say something else, add a turn");
    }
    error
        .expected("the text, calls and role of its message")
        .hint("to change what a message says, leave `wire` out: it is then written anew")
}

/// Parses `message`, if these objects are its parts, whole and in order; none otherwise.
pub(crate) fn checked_parts<'a>(
    wire: &Wire,
    message: &str,
    objects: impl Iterator<Item = &'a ObjectDocument>,
) -> Option<Parsed> {
    let parsed = parse_one(wire.format, message).ok()?;
    let mut objects = objects;
    let all = parsed
        .parts
        .iter()
        .all(|part| objects.next().is_some_and(|object| says(object, part)));
    (all && objects.next().is_none()).then_some(parsed)
}

/// A message on its way back to its provider.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// Its bytes, less the marks of a cache: where those stand is the request's to say.
    pub(crate) message: Box<str>,
    /// The role that speaks.
    pub(crate) role: Role,
    /// The digest of what each part says, in order, and the call that it answers, where that is given.
    pub(crate) texts: Vec<(Digest, Option<String>)>,
    /// The JSON of what the parts' texts do not cover.
    pub(crate) unread: String,
    /// The parts of it that are no text.
    pub(crate) packed: Packed,
    pub(crate) joints: u32,
    /// True if it offers tools from here on, or takes some away.
    pub(crate) changes_tools: bool,
}

impl Outgoing {
    /// Returns whether parts and their texts are all that it says, so that it can be written anew.
    pub(crate) fn is_plain(&self) -> bool {
        self.unread.is_empty()
            && self.packed == Packed::default()
            && self.joints == 0
            && !self.changes_tools
    }
}

/// Returns the message of an object that was checked when it was sealed; not as it is where it breaks a rule by
/// itself.
pub(crate) fn outgoing(wire: &Wire) -> Option<Outgoing> {
    let message = wire.message.as_deref()?;
    let parsed = parse_one(wire.format, message).ok()?;
    if !parsed.faults.is_empty() || parsed.must_be_renamed(dialect(wire.format).call_ids) {
        return None;
    }
    let role = match parsed.parts.last()? {
        Part::Turn { role, .. } => *role,
        Part::Result { .. } => Role::User,
    };
    let changes = ["tool_addition", "tool_removal", "additional_tools"];
    let changes_tools = parsed.opaque.iter().any(|kind| changes.contains(&&**kind));
    Some(Outgoing {
        message: if parsed.marked {
            marks::without(message).into()
        } else {
            message.into()
        },
        role,
        texts: parsed
            .parts
            .iter()
            .map(|part| match part {
                Part::Turn { text, .. } => (Digest::of(text.as_bytes()), None),
                Part::Result { id, text, .. } => (Digest::of(text.as_bytes()), id.clone()),
            })
            .collect(),
        unread: parsed.unread,
        packed: parsed.packed,
        joints: parsed.joints,
        changes_tools,
    })
}

/// Returns the rest of a message besides the texts and calls of its parts: as JSON that is text, and packed; none where
/// there is no message.
pub(crate) fn besides(wire: &Wire) -> Option<(String, Packed)> {
    let parsed = parse_one(wire.format, wire.message.as_deref()?).ok()?;
    Some((parsed.unread, parsed.packed))
}

impl Wire {
    /// The number of pictures, documents and recordings in its message.
    pub fn media(&self) -> u32 {
        besides(self).map_or(0, |(_, packed)| packed.media())
    }
}

/// The JSON of a tool as its provider takes it, less the marks of a cache.
pub(crate) fn outgoing_tool(wire: &Wire) -> Option<String> {
    wire.message.as_deref().map(marks::without)
}
