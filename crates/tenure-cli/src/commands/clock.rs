//! The clock of the machine: what is looked from where nobody names an instant.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure::time::Instant;

/// This instant, on the clock of the machine.
pub(crate) fn this_instant() -> Option<Instant> {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(Instant::from_micros(
        i64::try_from(elapsed.as_micros()).ok()?,
    ))
}

/// This second, on the clock of the machine.
pub(crate) fn now() -> Option<Instant> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(Instant::from_micros(
        i64::try_from(seconds).ok()?.checked_mul(1_000_000)?,
    ))
}
