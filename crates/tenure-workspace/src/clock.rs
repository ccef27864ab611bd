//! The one clock of a process.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tenure::time::Instant;

/// Tells the time: the machine's, or the one that a test sets.
///
/// ```
/// use tenure_workspace::Clock;
///
/// let clock = Clock::at("2026-06-06".parse().unwrap());
/// assert_eq!(clock.now().to_string(), "2026-06-06T00:00:00Z");
/// clock.set("2026-06-07".parse().unwrap());
/// assert_eq!(clock.now().to_string(), "2026-06-07T00:00:00Z");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// The microseconds since 1970 that were set; none for the machine's clock.
    set: Option<Arc<AtomicI64>>,
}

impl Clock {
    /// The machine's clock.
    pub fn machine() -> Clock {
        Clock::default()
    }

    /// A clock that stands at an instant until it is set.
    pub fn at(instant: Instant) -> Clock {
        Clock {
            set: Some(Arc::new(AtomicI64::new(instant.micros()))),
        }
    }

    /// Sets a clock that was made by [`Clock::at`], and all its clones. The machine's clock stays as it is.
    pub fn set(&self, instant: Instant) {
        if let Some(set) = &self.set {
            set.store(instant.micros(), Ordering::Relaxed);
        }
    }

    /// The instant, to the microsecond. A machine whose clock stands before 1970 tells 1970-01-01T00:00:00Z.
    pub fn now(&self) -> Instant {
        if let Some(set) = &self.set {
            return Instant::from_micros(set.load(Ordering::Relaxed));
        }
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
        let micros = elapsed.map_or(0, |elapsed| elapsed.as_micros());
        Instant::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The start of the second that [`Clock::now`] is in: what a request looks from that names no instant, so that the
    /// same request gives the same bytes for a second.
    pub fn second(&self) -> Instant {
        self.now().second()
    }
}
