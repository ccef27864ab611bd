//! The time where no workspace is at hand.

use tenure::time::Instant;
use tenure_workspace::Clock;

/// The instant, on the clock of the machine.
pub(crate) fn now() -> Instant {
    Clock::machine().now()
}
