//! The ground: errors, digests, keys, numbers, instants, texts and their tokens. Nothing here knows of objects.

pub mod digest;
pub mod error;
pub(crate) mod json;
pub(crate) mod key;
pub mod num;
mod terms;
pub mod text;
pub mod time;
pub mod tokenizer;
