//! Processor time, for tests of how time grows.

use std::time::Duration;

/// The processor time of this thread so far: other work on the machine adds none.
pub(crate) fn spent() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = stat.split_whitespace().next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}
