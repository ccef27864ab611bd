//! Providers and models: the catalogue, the message arrays they read and write, their answers, their rules, their chat
//! templates.

pub mod answer;
pub mod catalogue;
pub mod conform;
pub(crate) mod target;
pub(crate) mod template;
pub mod wire;
