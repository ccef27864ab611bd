//! The message arrays of the providers: read into objects, written back byte for byte.
//!
//! [`read`] takes the body of a request, or its bare array of messages, in one of four [`Format`]s. Each
//! message becomes an [`Entry`]: its bytes exactly as they came, and the neutral objects that it
//! means, turns and tools' results, each with the field [`Wire`] by which it still knows its message.
//! What has no neutral meaning (reasoning, signatures, images, blocks of unknown kinds) stays in the
//! bytes, opaque, and protects its object to the letter.
//!
//! [`write()`] makes messages of objects again: where all parts of an untouched message stand together and the
//! format is the same, its bytes; otherwise what the objects say, in the other provider's words.
//!
//! ```
//! use tenure::wire::{Format, read, write};
//!
//! let body = r#"{"model": "m", "messages": [{"role": "user",  "content": "Round 12345678901234567890."}]}"#;
//! let conversation = read(Format::OpenAiChat, body)?;
//! assert_eq!(conversation.entries[0].objects[0].content, "Round 12345678901234567890.");
//! let objects: Vec<_> = conversation.objects().collect();
//! assert_eq!(write(&objects, Format::OpenAiChat)?.messages, r#"[{"role": "user",  "content": "Round 12345678901234567890."}]"#);
//! assert_eq!(write(&objects, Format::Gemini)?.messages, r#"[{"role":"user","parts":[{"text":"Round 12345678901234567890."}]}]"#);
//! # Ok::<(), tenure::Error>(())
//! ```

pub(crate) mod answer;
pub(crate) mod block;
pub(crate) mod call_ids;
mod clients;
mod convert;
mod groups;
pub(crate) mod json;
mod marks;
pub(crate) mod meaning;
pub(crate) mod media;
mod namer;
mod objects;
mod packed;
pub(crate) mod parsed;
mod read;
mod renewed;
mod reply;
mod request;
pub(crate) mod stream;
pub(crate) mod tool;
mod tools;
mod without;

use crate::object::ObjectDocument;

pub use crate::object::{Format, Wire};
pub use clients::{ClientBlock, client_blocks};
pub use convert::{OmittedPart, Written, write};
pub use groups::{groups, open_chain};
pub use json::with_fields;
pub use meaning::meaning;
pub(crate) use objects::{Outgoing, besides, check, outgoing, outgoing_tool};
pub use packed::Packed;
pub(crate) use read::{blocks, items};
pub use read::{is_item, read, read_after, read_message};
pub use renewed::Renewed;
pub use reply::{reply, streamed_reply};
pub use request::{Before, WrittenRequest, write_request};

/// The contents of a provider's request.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversation {
    /// The format that it had.
    pub format: Format,
    /// The system's text before the history, message by message or block by block, each with the
    /// rule that it becomes.
    pub instructions: Vec<Entry>,
    /// The tools, as objects of the type `tool_schema`.
    pub tools: Vec<ObjectDocument>,
    /// The tools that the provider runs itself, as they came: they mean nothing elsewhere.
    pub server_tools: Vec<String>,
    /// The messages, in order.
    pub entries: Vec<Entry>,
    /// The other fields of the request, as they came and in order.
    pub rest: Vec<(String, String)>,
}

/// One message of a provider; of the responses format, the items of one turn of the model.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The format of the message.
    pub format: Format,
    /// Its bytes.
    pub message: String,
    /// Its meaning: turns and results in order; of instructions, a rule.
    pub objects: Vec<ObjectDocument>,
    /// True if the provider signed any of it, so that it must go back as it is or not at all.
    pub signed: bool,
    /// The kinds of blocks that are kept unread, in order.
    pub opaque: Vec<String>,
    /// The rules that the message breaks by itself, whatever stands around it: it cannot be sent as
    /// it is.
    pub faults: Vec<&'static str>,
}

impl Conversation {
    /// The objects of the history, in order.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectDocument> {
        self.entries.iter().flat_map(|entry| &entry.objects)
    }

    /// Returns the conversation without its first `count` messages.
    #[must_use]
    pub fn without_first(&self, count: usize) -> Conversation {
        Conversation {
            format: self.format,
            instructions: self.instructions.clone(),
            tools: self.tools.clone(),
            server_tools: self.server_tools.clone(),
            entries: self.entries.iter().skip(count).cloned().collect(),
            rest: self.rest.clone(),
        }
    }

    /// Returns the conversation with this as the instant at which the results came: evidence without one is anonymous
    /// and not compiled.
    #[must_use]
    pub fn received(mut self, at: crate::base::time::Instant) -> Conversation {
        use crate::object::ObjectType;
        let objects = self.entries.iter_mut().flat_map(|entry| &mut entry.objects);
        for object in objects.filter(|object| object.object_type == Some(ObjectType::ToolResult)) {
            let provenance = object.provenance.get_or_insert_default();
            provenance.retrieved_at.get_or_insert(at);
        }
        self
    }
}

impl Format {
    /// The format that a body, or a bare array of messages, seems to have; nothing where it has no
    /// sign of any.
    ///
    /// ```
    /// use tenure::wire::Format;
    /// assert_eq!(Format::detect(r#"{"contents": []}"#), Some(Format::Gemini));
    /// assert_eq!(Format::detect("Hello."), None);
    /// ```
    pub fn detect(json: &str) -> Option<Format> {
        read::detect(json)
    }
}
