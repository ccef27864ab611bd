//! The clock of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

use tenure::time::Instant;

/// This instant, on the clock of the machine.
pub(crate) fn now() -> Instant {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    let micros = elapsed.map_or(0, |elapsed| elapsed.as_micros());
    Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
}
