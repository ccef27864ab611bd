//! The provider's own message that an object came in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::vocabulary::vocabulary;
use crate::base::digest::Digest;

vocabulary! {
    /// The provider's format of messages.
    Format ("message format") {
        /// `messages` of an OpenAI chat completion request.
        OpenAiChat = "openai-chat",
        /// `input` items of an OpenAI responses request.
        OpenAiResponses = "openai-responses",
        /// `messages` of an Anthropic messages request.
        Anthropic = "anthropic-messages",
        /// `contents` of a Gemini generateContent request.
        Gemini = "gemini",
    }
}

/// The provider's own message that an object came in: its bytes, and which part of it the object is.
/// The fields stand in the order of their names, as canonical JSON has them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// SHA-256 of the message's bytes: what its parts know each other by.
    pub digest: Digest,
    /// The format of the message.
    pub format: Format,
    /// The message as it came; with the first part only. Of several items that are one turn of the
    /// model, all, with commas between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The part of the message that the object is, counted from 0.
    pub part: u32,
    /// The number of its parts.
    pub parts: u32,
}
