//! One interpreter per wire format. They only lay out pieces that are final and priced.

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod legal;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod plain;
pub(crate) mod text;
