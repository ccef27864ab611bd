//! Writes under an idempotency key: made again, they are answered as before.

use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind};

use crate::engine::Answered;

/// The longest idempotency key, in bytes.
const MAX_KEY: usize = 256;

pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Error::input("the idempotency key is empty or too long")
            .expected(format!("1 to {MAX_KEY} bytes")));
    }
    Ok(())
}

/// The answer that is kept under a key, if it is that of the same write.
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
        .expected("a key of its own for each write"));
    }
    Ok(&before.answer)
}
