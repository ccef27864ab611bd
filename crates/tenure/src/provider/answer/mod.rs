//! Answers of models: what one says and passes to tools, what its provider counted, and whether its request allowed it.
//!
//! | what | where |
//! |---|---|
//! | what a message says, provider by provider | `answer.rs` in the folder of each format, into `wire/answer.rs` |
//! | what a request says of its answer: tools, a forced call, a schema | `request.rs` |
//! | faults: calls that were not offered, a text that is no such JSON, broken constraints | `checks.rs`, `fault.rs` |
//! | values against JSON Schemas, in bounded work | `schema.rs` |
//! | schemas that force nothing to be made up | `relax.rs` |
//! | the tokens that a provider reports | `usage.rs` |
//!
//! An answer is read and never altered. The message itself comes out of [`wire`](super::wire), whole or put together from a
//! stream.

mod checks;
mod fault;
mod relax;
mod request;
mod schema;
mod usage;

#[cfg(test)]
mod tests;

use super::wire::{self, Format};
use crate::base::error::Error;

pub use checks::{AnswerConstraint, AskedForm, Broken, Demands, Findings, Source};
pub use fault::OutputFault;
pub(crate) use relax::words_of;
pub use relax::{Nullable, Relaxed, relax};
pub use request::RequestBody;
pub use usage::{ProviderUsage, usage};

/// Returns the message in an answer, whole or streamed.
///
/// # Errors
///
/// As [`wire::reply`] and [`wire::streamed_reply`], and when the answer is not text.
pub fn message(format: Format, answer: &[u8]) -> Result<String, Error> {
    let text = std::str::from_utf8(answer)
        .map_err(|error| Error::input(format!("the answer is not text: {error}")))?;
    if text.trim_start().starts_with('{') {
        wire::reply(format, text)
    } else {
        wire::streamed_reply(format, text)
    }
}
