//! The list of formats: each is a folder of this room.

use super::dialect::Dialect;
use super::{anthropic, gemini, openai_chat, openai_responses};
use crate::object::Format;

/// The dialect of a format.
pub(crate) const fn dialect(format: Format) -> &'static Dialect {
    match format {
        Format::OpenAiChat => &openai_chat::DIALECT,
        Format::OpenAiResponses => &openai_responses::DIALECT,
        Format::Anthropic => &anthropic::DIALECT,
        Format::Gemini => &gemini::DIALECT,
    }
}
