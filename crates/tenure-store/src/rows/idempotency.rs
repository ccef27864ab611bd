//! Idempotency keys: a write that is repeated under its key gets the answer of the first time.

use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind};

use crate::rows::engine::Answered;

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 256;

/// Checks the length of an idempotency key: 1 to 256 bytes.
///
/// # Errors
///
/// [`ErrorKind::Input`] otherwise.
pub fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Error::input("the idempotency key is empty or too long")
            .expected(format!("1 to {MAX_KEY} bytes")));
    }
    Ok(())
}

/// Returns the answer that is kept under a key.
///
/// # Errors
///
/// [`ErrorKind::Conflict`] when the key was used for another write.
pub(crate) fn repeated<'a>(
    key: &str,
    asked: Digest,
    before: &'a Answered,
) -> Result<&'a str, Error> {
    if before.asked != asked {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "the idempotency key `{}` was used for another write",
                clip(key)
            ),
        )
        .expected("a new key for each write"));
    }
    Ok(&before.answer)
}
