//! Providers and models: the catalogue, the message arrays they read and write, their answers, their rules, their chat
//! templates.

pub mod answer;
mod anthropic;
pub mod catalogue;
pub mod conform;
pub(crate) mod dialect;
pub(crate) mod formats;
pub(crate) mod gemini;
mod openai_chat;
mod openai_responses;
pub(crate) mod target;
pub(crate) mod template;
pub mod wire;
