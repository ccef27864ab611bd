//! What providers and models are like: the catalogue, the message arrays they read and write, their rules, their chat
//! templates.

pub mod catalogue;
pub mod conform;
pub(crate) mod target;
pub(crate) mod template;
pub mod wire;
