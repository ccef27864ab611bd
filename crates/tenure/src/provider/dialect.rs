//! A provider's format, as the code that is common to all formats needs to know it.

use serde_json::Value;
use serde_json::value::RawValue;

use super::catalogue::CacheMark;
use super::wire::answer::Answer;
use super::wire::block::Block;
use super::wire::call_ids::IdRule;
use super::wire::json::{Fields, JsonPath};
use super::wire::media::Source;
use super::wire::parsed::Messages;
use super::wire::stream::Stream;
use super::wire::tool::Tool;
use crate::base::error::Error;
use crate::object::Role;

/// A format: its field names, and the functions that read and write it.
pub(crate) struct Dialect {
    /// The field of a request that holds the messages.
    pub(crate) messages: &'static str,
    /// The fields of a request that may hold the system's text.
    pub(crate) system: &'static [&'static str],
    /// True if the system speaks in messages, each of a role of its own. Elsewhere the user and the model take turns,
    /// and what is said by one of them without a break is one message.
    pub(crate) system_messages: bool,
    /// True if a bare text in the place of the messages is short for one message of the user.
    pub(crate) bare_text: bool,
    /// True if a result is found by the id of its call, wherever behind the call it stands. Elsewhere a call's
    /// results come right after it.
    pub(crate) pairs_by_id: bool,
    pub(crate) call_ids: IdRule,
    /// The least tokens for the answer that a request may name.
    pub(crate) least_answer: u32,
    /// The fields of a tool that hold a list of tools, the one that errors name first.
    pub(crate) tool_lists: &'static [&'static str],
    /// Reads the messages, each with its bytes: of the responses format the items of a turn are one.
    pub(crate) read: fn(&JsonPath, &[&RawValue]) -> Result<Messages, Error>,
    /// Reads a field of [`Dialect::system`], each instruction with its bytes.
    pub(crate) read_system: fn(&RawValue) -> Result<Messages, Error>,
    /// Reads a tool's definition; none where the provider runs the tool itself.
    pub(crate) tool: fn(&JsonPath, &Fields<'_>) -> Result<Option<Tool>, Error>,
    /// Writes the messages that say these blocks.
    pub(crate) write: fn(Role, &[Block]) -> Vec<String>,
    /// Writes a tool of this name, description and schema.
    pub(crate) write_tool: fn(&str, &str, &Value) -> Value,
    /// Tells whether an image from here may stand in a message of the user, or (`true`) in a tool's result.
    pub(crate) takes_image: fn(&Source, bool) -> bool,
    /// True if the input that a provider reports leaves out what its cache read and wrote.
    pub(crate) cached_apart: bool,
    /// Reads answers; none where they are not read.
    pub(crate) replies: Option<Replies>,
    pub(crate) cache: CacheRules,
}

/// The functions that read answers, and make the client's next message of them.
pub(crate) struct Replies {
    /// The message in a whole answer.
    pub(crate) whole: fn(&JsonPath, &Fields<'_>) -> Result<String, Error>,
    /// A stream from its beginning.
    pub(crate) stream: fn() -> Box<dyn Stream>,
    /// Adds a message, or an item, to the content of an answer.
    pub(crate) read: for<'m> fn(&'m Value, &mut Answer<'m>),
    /// The field of a request that says what the text of its answer must be.
    pub(crate) response_format: fn(&Value) -> &Value,
}

/// A request as the provider's cache sees it: blocks, some of which may carry a mark.
pub(crate) struct CacheRules {
    /// The field that marks a block; none where none can be marked.
    pub(crate) mark: Option<CacheMark>,
    /// The types of blocks in a message that take a mark.
    pub(crate) blocks: &'static [&'static str],
    /// True if tools and the system's blocks of text take marks, too.
    pub(crate) before_messages: bool,
    /// The type of the block that a bare text becomes when it is marked.
    pub(crate) text: &'static str,
    /// The fields of a message of this type that hold its blocks.
    pub(crate) content: fn(&str) -> &'static [&'static str],
    /// Tells whether a message may carry no mark: by its place, its fields and its role.
    pub(crate) closed: fn(&JsonPath, &Fields<'_>, &str) -> bool,
    /// The field of the system's text that holds its blocks, where it is no list itself.
    pub(crate) system_blocks: Option<&'static str>,
    /// The prefix of the types of tools that are rendered apart from the others.
    pub(crate) apart: Option<&'static str>,
}
