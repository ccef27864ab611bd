//! The form of a payload.

use super::formats::dialect;
use super::wire::call_ids::IdRule;
use crate::object::Format;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The form of the payload.
    Target ("target") {
        /// One text.
        Text = "text",
        /// The body of an OpenAI chat completion request.
        OpenAiChat = "openai-chat",
        /// The body of an Anthropic messages request. Its `max_tokens` is what the budget keeps for
        /// the answer.
        AnthropicMessages = "anthropic-messages",
        /// The body of an OpenAI responses request.
        OpenAiResponses = "openai-responses",
        /// The body of a Gemini generateContent request, whose model stands in the URL.
        Gemini = "gemini",
        /// One text through the model's own chat template.
        ChatTemplate = "chat-template",
    }
}

impl From<Format> for Target {
    /// The target whose messages have this format.
    fn from(format: Format) -> Target {
        match format {
            Format::OpenAiChat => Target::OpenAiChat,
            Format::OpenAiResponses => Target::OpenAiResponses,
            Format::Anthropic => Target::AnthropicMessages,
            Format::Gemini => Target::Gemini,
        }
    }
}

impl Target {
    /// The form of its messages; none for a text.
    pub const fn format(self) -> Option<Format> {
        match self {
            Target::Text | Target::ChatTemplate => None,
            Target::OpenAiChat => Some(Format::OpenAiChat),
            Target::OpenAiResponses => Some(Format::OpenAiResponses),
            Target::AnthropicMessages => Some(Format::Anthropic),
            Target::Gemini => Some(Format::Gemini),
        }
    }

    /// The ids of calls that the target takes.
    pub(crate) fn call_ids(self) -> IdRule {
        self.format().map_or(IdRule::ANY, |format| dialect(format).call_ids)
    }

    /// Returns whether a schema says by a keyword of its own that a value may be null, as OpenAPI has it.
    pub(crate) const fn marks_null_by_keyword(self) -> bool {
        matches!(self, Target::Gemini)
    }

    /// Returns whether a result is found by the id of its call, wherever behind the call it stands.
    pub const fn pairs_by_id(self) -> bool {
        match self.format() {
            Some(format) => dialect(format).pairs_by_id,
            None => false,
        }
    }

    /// The least tokens for the answer that a request may name.
    pub(crate) const fn least_answer(self) -> u32 {
        match self.format() {
            Some(format) => dialect(format).least_answer,
            None => 0,
        }
    }

    /// Returns whether messages are lists of blocks, by turns the user's and the model's, and the text of the system
    /// stands beside them.
    pub(crate) const fn has_blocks(self) -> bool {
        matches!(self, Target::AnthropicMessages | Target::Gemini)
    }

    /// Returns whether what is said first and last must be the user's.
    pub(crate) const fn by_turns(self) -> bool {
        self.has_blocks() || matches!(self, Target::ChatTemplate)
    }

    /// Returns whether the payload is made of a chat's messages, and tools beside them.
    pub const fn is_chat(self) -> bool {
        !matches!(self, Target::Text)
    }
}
