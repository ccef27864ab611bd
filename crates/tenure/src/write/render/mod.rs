//! One interpreter per wire format. They only lay out pieces that are final and priced.

use std::collections::BTreeMap;

/// The number of times that each rule of a target was applied, by its name in `docs/reference/wire.md`.
pub(crate) type Applied = BTreeMap<&'static str, u32>;

pub(crate) mod anthropic;
pub(crate) mod chat;
pub(crate) mod gemini;
pub(crate) mod legal;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
mod parts;
pub(crate) mod plain;
pub(crate) mod text;
